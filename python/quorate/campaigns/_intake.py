"""The intake of a campaign at one server: packets are checked, stored and confirmed, and clients hear of theirs."""

from __future__ import annotations

import dataclasses
import functools
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from quorate.campaigns._errors import Refused
from quorate.campaigns._rules import Offer, keep, refuse_closed
from quorate.campaigns._sealing import CampaignKey, place_of_part
from quorate.campaigns._store import Store
from quorate_client import Campaign, ServiceKey, WireError, wire
from quorate_client.keys import from_text
from quorate_client.statements import Hello, ItemStatus, Receipt, Result, Status, check_request

__all__ = ["Intake"]

#: Fields of a packet that say who sent it. If one of them is wrong, the sender has no right to send it.
_WHO = ("client", "place", "tag", "signature")


class Intake:
    """The intake of one campaign.

    Args:
        store: the store; the campaign is approved in it.
        campaign: the campaign.
        me: the number of this server.
        service_key: this server's keys.
        clock: this server's clock, in seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        campaign: Campaign,
        me: int,
        service_key: ServiceKey,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.campaign, self.me = campaign, me
        self._store, self._service_key, self._clock = store, service_key, clock
        self._loaded: CampaignKey | None = None
        self._hello = Hello.of(campaign, me, service_key).to_json()

    def hello(self) -> bytes:
        """Returns the signed statement, as JSON, by which a client compares servers before it sends anything."""
        return self._hello

    @property
    def _key(self) -> CampaignKey:
        if self._loaded is None:
            self._loaded = self._store.keys.load(self.campaign.hash)
        return self._loaded

    def packet(self, body: bytes | memoryview) -> Receipt:
        """Checks and stores a packet. The receipt says that it is on the disk.

        Raises:
            Refused: a rule does not allow the packet. Nothing of it is stored.
            StoreError: it could not be stored.
        """
        offer = self.check(body)
        return self.receipt(offer, self.store(offer).result())

    def check(self, body: bytes | memoryview) -> Offer:
        """Checks all of a packet that does not depend on stored ones: the first, expensive part of `packet`.

        The order is: length, whether the campaign is open, the client's place and key, the invitation's tag, the
        signature, the sealed part.

        Raises:
            Refused: the packet is not acceptable.
            StoreError: the campaign's key cannot be read.
        """
        try:
            self._refuse_late(wire.Header.unpack(body))
            key = self._key
            packet = wire.unpack(self.campaign, self.me, body, key.invitation)
            content = wire.open_part(self._service_key, packet)
            wire.check_content(self.campaign, packet, content)
        except WireError as error:
            raise _refused(error) from None
        header = packet.header
        item = (header.slot, header.item, header.number)
        bound_to = place_of_part(header.campaign, header.place, header.client, *item, header.digest)
        part = key.seal_part(content, bound_to) if packet.sealed else None
        return Offer(dataclasses.replace(packet, sealed=bytes(packet.sealed)), part)

    def _refuse_late(self, header: wire.Header) -> None:
        """Refuses packets after the closing, except those that are stored: their client may lack the receipt."""
        query = "SELECT 1 FROM packets WHERE (campaign, slot, place, item, number, digest) = (?, ?, ?, ?, ?, ?)"
        row = (self.campaign.hash, header.slot, header.place, header.item, header.number, header.digest)

        def look(connection: sqlite3.Connection) -> None:
            try:
                refuse_closed(connection, self.campaign.hash, self.campaign.closes_at, self._clock())
            except Refused:
                if header.number > wire.MOST_NUMBER or connection.execute(query, row).fetchone() is None:
                    self._loaded = None  # the key of a campaign that has ended stays in no memory
                    raise

        self._store.read(look)

    def store(self, offer: Offer) -> Future[int]:
        """Stores a checked packet; the future's result is when it was stored first, in seconds since 1970.

        Raises:
            StoreError: the store takes no changes now.
        """
        invited, closes_at = bool(self.campaign.invitations), self.campaign.closes_at
        return self._store.write(lambda connection: keep(connection, offer, invited, closes_at, self._clock()))

    def receipt(self, offer: Offer, stored_at: int) -> Receipt:
        """Returns the signed receipt of a packet that is stored."""
        return Receipt.of(offer.packet, stored_at, self._service_key)

    def status(self, client: str, signature: str) -> Status:
        """Returns what this server knows of a client's packets, to the client alone.

        Args:
            client: its public key, as base64url.
            signature: the header `Quorate-Signature`.

        Raises:
            Refused: the request is not the client's, or its clock is wrong.
        """
        point = self._asking(client, signature)
        return self._store.read(lambda connection: self._status(connection, self._place(connection, point)))

    def results(self, client: str, signature: str) -> list[Result]:
        """Returns the signed results for a client, under its masks, to the client alone.

        Args:
            client: its public key, as base64url.
            signature: the header `Quorate-Signature`.

        Raises:
            Refused: the request is not the client's, or its clock is wrong.
        """
        point = self._asking(client, signature)
        query = """SELECT slot, item, number, look, data FROM results WHERE campaign = ? AND place = ?
            ORDER BY slot, item, look"""

        def look(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(query, (self.campaign.hash, self._place(connection, point))).fetchall()

        rows = self._store.read(look)
        return [Result(self.campaign.hash, point, self.me, *row).by(self._service_key) for row in rows]

    def _asking(self, client: str, signature: str) -> bytes:
        """Returns the public key of a client that signed its request.

        Raises:
            Refused: the request is not the client's, or its clock is wrong.
        """
        try:
            point = from_text(client)
            check_request(point, self.campaign.hash, self.me, signature, self._clock())
        except WireError as error:
            time_of_server = f"; this server's time is {int(self._clock())}" if error.field == "time" else ""
            raise Refused(401, _sentence(error) + time_of_server, "sign the request again") from None
        except ValueError:
            raise Refused(400, "the client's public key is not base64url", "send 65 bytes without padding") from None
        return point

    def _place(self, connection: sqlite3.Connection, client: bytes) -> int:
        place = self.campaign.client_index(client)
        if place is None:
            bound = "SELECT place FROM invitations WHERE campaign = ? AND client = ?"
            row = connection.execute(bound, (self.campaign.hash, client)).fetchone()
            if row is None:
                raise Refused(404, "this key has no place in the campaign", "use the key that gave values to it")
            place = int(row[0])
        return place

    def _status(self, connection: sqlite3.Connection, place: int) -> Status:
        newest = """SELECT slot, item, max(number), 'stored', '' FROM packets WHERE campaign = ? AND place = ?
            GROUP BY slot, item"""
        ended = "SELECT slot, item, number, outcome, why FROM outcomes WHERE campaign = ? AND place = ?"
        found = {}
        for query in (newest, ended):
            rows = connection.execute(query, (self.campaign.hash, place)).fetchall()
            found.update({row[:2]: ItemStatus(*row) for row in rows})
        query = "SELECT closed_at FROM campaigns WHERE hash = ?"
        (closed_at,) = connection.execute(query, (self.campaign.hash,)).fetchone()
        is_closed = closed_at is not None or self._clock() >= self.campaign.closes_at
        return Status(is_closed, tuple(found[item] for item in sorted(found)))

    @functools.cached_property
    def lengths(self) -> frozenset[int]:
        """The lengths that packets for this server may have."""
        return wire.lengths(self.campaign, self.me)


def _refused(error: WireError) -> Refused:
    if error.field == "campaign":
        return Refused(404, _sentence(error), "send it to its own campaign")
    return Refused(403 if error.field in _WHO else 400, _sentence(error), "nothing was stored")


def _sentence(error: WireError) -> str:
    return str(error).rstrip(".")
