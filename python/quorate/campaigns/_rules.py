"""The rules for packets that a server stores. They run inside the transaction that stores a packet."""

from __future__ import annotations

import dataclasses
import sqlite3

from quorate.campaigns._errors import Refused
from quorate_client import wire

__all__ = ["HOUR_S", "MOST_REPLACED", "Offer", "keep", "refuse_closed"]

#: Packets of a client that may replace others within an hour. First packets of items do not count.
MOST_REPLACED, HOUR_S = 60, 3600

_ROW = "(campaign, slot, place, item) = (?, ?, ?, ?)"


@dataclasses.dataclass(frozen=True)
class Offer:
    """A packet whose form and signature were checked.

    Attributes:
        packet: the packet as the client sent it.
        part: its content, sealed for the store; None if this server computes with none.
    """

    packet: wire.Packet = dataclasses.field(repr=False)
    part: bytes | None = dataclasses.field(repr=False)

    @property
    def row(self) -> tuple[bytes, int, int, int]:
        """Campaign, slot, place and item."""
        header = self.packet.header
        return header.campaign, header.slot, header.place, header.item


def keep(connection: sqlite3.Connection, offer: Offer, invited: bool, closes_at: float, now: float) -> int:
    """Stores a packet, and returns when it was stored first, in seconds since 1970.

    A server keeps two packets of a client's item: the newest, and the one that the newest names as its base, because
    all servers have that one. A packet that is stored already is stored once.

    Args:
        connection: the store's, within a transaction.
        offer: the packet.
        invited: whether the campaign has invitations instead of a list of clients.
        closes_at: the closing time, in seconds since 1970.
        now: this server's clock.

    Raises:
        Refused: a rule does not allow the packet; the change must be undone.
    """
    header, part_digest = offer.packet.header, offer.packet.part_digest
    query = f"SELECT number, digest, sealed_digest, stored_at FROM packets WHERE {_ROW}"  # noqa: S608
    stored = connection.execute(query, offer.row).fetchall()
    for number, digest, sealed_digest, stored_at in stored:
        if number == header.number:
            if (digest, sealed_digest) == (header.digest, part_digest):
                return int(stored_at)
            raise Refused(
                409,
                f"another packet with number {number} is stored for this item",
                "send the bytes that were sent first, or values under a higher number",
            )
    refuse_closed(connection, header.campaign, closes_at, now)
    newest = max((number for number, *_ in stored), default=0)
    if header.number < newest:
        raise Refused(
            409, f"the packet is older than number {newest}, which is stored for this item", "use a higher number"
        )
    if invited:
        _bind(connection, header)
    if stored:
        _count(connection, header, int(now))
    connection.execute(
        "DELETE FROM packets WHERE (campaign, slot, place, item) = (?, ?, ?, ?) AND number != ?",
        (*offer.row, header.base),
    )
    values = (*offer.row, header.number, header.kind, header.at_least)
    proof = (header.pack(), header.digest, part_digest, offer.packet.signature)
    connection.execute(f"INSERT INTO packets VALUES ({', '.join('?' * 12)})", (*values, *proof, int(now)))  # noqa: S608
    if offer.part is not None:
        connection.execute("INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?)", (*offer.row, header.number, offer.part))
    return int(now)


def refuse_closed(connection: sqlite3.Connection, campaign: bytes, closes_at: float, now: float) -> None:
    """Refuses packets of a campaign that is closed, or not approved.

    Raises:
        Refused: it is.
    """
    row = connection.execute("SELECT closed_at, ended_at FROM campaigns WHERE hash = ?", (campaign,)).fetchone()
    if row is None:
        raise Refused(404, "the campaign is not approved here", "ask its operators to approve it")
    if row != (None, None) or now >= closes_at:
        raise Refused(410, "the campaign is closed and takes no packets any more", "ask its operators for a new one")


def _bind(connection: sqlite3.Connection, header: wire.Header) -> None:
    """Binds an invitation to the first key that shows it."""
    query = "SELECT place, client FROM invitations WHERE campaign = ? AND (place = ? OR client = ?)"
    for place, client in connection.execute(query, (header.campaign, header.place, header.client)).fetchall():
        if place != header.place:
            raise Refused(403, "this key was used with another invitation", "make a key for each invitation")
        if client != header.client:
            raise Refused(403, "the invitation was used with another key", "use that key, or ask for an invitation")
        return
    if header.kind == wire.WITHDRAWN:
        raise Refused(403, "there is nothing to withdraw: the invitation was not used", "send values first")
    connection.execute("INSERT INTO invitations VALUES (?, ?, ?)", (header.campaign, header.place, header.client))


def _count(connection: sqlite3.Connection, header: wire.Header, now: int) -> None:
    """Counts a packet that replaces another, and refuses it if the client's hour is full."""
    place = (header.campaign, header.place)
    row = connection.execute("SELECT since, replaced FROM rates WHERE (campaign, place) = (?, ?)", place).fetchone()
    since, replaced = row if row is not None and 0 <= now - row[0] < HOUR_S else (now, 0)
    if replaced >= MOST_REPLACED:
        raise Refused(
            429,
            f"this client replaced {MOST_REPLACED} packets within an hour",
            "send the last one again when the hour is over",
            retry_after=since + HOUR_S - now,
        )
    connection.execute("INSERT OR REPLACE INTO rates VALUES (?, ?, ?, ?)", (*place, since, replaced + 1))
