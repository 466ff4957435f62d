"""The campaigns that a server's operator has approved: adding, finding, closing and ending them."""

from __future__ import annotations

import dataclasses
import json
import re
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from quorate.campaigns._agreed import History
from quorate.campaigns._errors import Refused, StoreError
from quorate.campaigns._store import Store
from quorate_client import Campaign, ServiceKey
from quorate_client.keys import to_text

__all__ = [
    "Approved",
    "approve",
    "approve_within",
    "approved",
    "close",
    "close_within",
    "end",
    "exported",
    "find",
    "find_hash",
    "invitations",
]

_HASH = re.compile(r"[0-9a-fA-F]{64}")


@dataclasses.dataclass(frozen=True)
class Approved:
    """A campaign in a store.

    Attributes:
        campaign: what was approved.
        approved_at: when, in seconds since 1970.
        closed_at: when this server closed it, or None.
        ended_at: when its packets were erased, or None.
        history: the results that may have been seen.
        packets: the number of stored packets.
    """

    campaign: Campaign
    approved_at: int
    closed_at: int | None
    ended_at: int | None
    history: History
    packets: int

    def state(self, now: float) -> str:
        """Returns "open", "closed" or "ended"."""
        if self.ended_at is not None:
            return "ended"
        return "open" if self.closed_at is None and now < self.campaign.closes_at else "closed"


def approve(store: Store, campaign: Campaign, me: int, service_key: ServiceKey, now: float | None = None) -> bool:
    """Adds a campaign, with a new key for its packets. Returns whether it is new: approving again changes nothing.

    Raises:
        Refused: the campaign has other keys for this server, was ended, or has the name of another one.
    """
    at = int(time.time() if now is None else now)
    return store.write(lambda connection: approve_within(store, connection, campaign, me, service_key, at)).result()


def approve_within(
    store: Store, connection: sqlite3.Connection, campaign: Campaign, me: int, service_key: ServiceKey, now: int
) -> bool:
    """Does what `approve` does, within a change of the store.

    Raises:
        Refused: as for `approve`.
    """
    if me >= len(campaign.servers):
        raise Refused(
            409,
            f"the campaign has {len(campaign.servers)} servers, and this is party {me}",
            "list this server in the campaign, or correct `me` in party.toml",
        )
    own = campaign.servers[me]
    if (own.seal, own.sign) != (service_key.seal, service_key.sign):
        raise Refused(
            409,
            f"the campaign has other keys for server {me} than this server's",
            "put the keys of this server's service.pub into the campaign",
        )
    return _add(store, connection, campaign, now)


def _add(store: Store, connection: sqlite3.Connection, campaign: Campaign, now: int) -> bool:
    """Adds a campaign. Its key is written within the transaction, so that no other process makes another one."""
    known = connection.execute("SELECT ended_at FROM campaigns WHERE hash = ?", (campaign.hash,)).fetchone()
    if known == (None,):
        return False
    if known is not None:
        raise Refused(409, "the campaign was ended here, and a hash is approved once", "make a new campaign")
    others = connection.execute("SELECT 1 FROM campaigns WHERE name = ? AND ended_at IS NULL", (campaign.name,))
    if others.fetchone() is not None:
        raise Refused(
            409,
            f"another campaign named {campaign.name!r} is approved here",
            "end that one, or give this one another name",
        )
    store.keys.create(campaign.hash)
    row = (campaign.hash, campaign.name, campaign.json, now)
    connection.execute("INSERT INTO campaigns (hash, name, json, approved_at) VALUES (?, ?, ?, ?)", row)
    return True


def approved(store: Store) -> list[Approved]:
    """Returns all campaigns, in the order of their approval."""
    rows = store.read(lambda c: c.execute(f"{_QUERY} ORDER BY approved_at, hash").fetchall())
    return [_read(row) for row in rows]


def find(store: Store, text: str) -> Approved:
    """Returns the campaign that an operator names: 64 hexadecimal digits are a hash, other texts a name.

    A name is that of a campaign which has not ended. No name has 64 characters.

    Raises:
        Refused: there is none.
    """
    if _HASH.fullmatch(text):
        return find_hash(store, bytes.fromhex(text))
    return _found(store, "WHERE name = ? AND ended_at IS NULL", text, text)


def find_hash(store: Store, campaign: bytes) -> Approved:
    """Returns the campaign of a hash, also if it has ended.

    Raises:
        Refused: there is none.
    """
    return _found(store, "WHERE hash = ?", campaign, campaign.hex())


def _found(store: Store, where: str, value: str | bytes, shown: str) -> Approved:
    row = store.read(lambda c: c.execute(f"{_QUERY} {where}", (value,)).fetchone())
    if row is None:
        raise Refused(404, f"no campaign {shown!r} is approved here", "`quorate campaign list` lists those that are")
    return _read(row)


def invitations(store: Store, campaign: Campaign) -> list[bytes]:
    """Returns this server's secret for each invitation, in order; each goes to one client alone.

    Raises:
        StoreError: the campaign's key cannot be read.
    """
    key = store.keys.load(campaign.hash)
    return [key.invitation(place) for place in range(campaign.invitations)]


def close(store: Store, campaign: bytes, now: float | None = None) -> int:
    """Closes a campaign for ever, and returns when it was closed first, in seconds since 1970. It is synced."""
    at = int(time.time() if now is None else now)

    def change(connection: sqlite3.Connection) -> int:
        close_within(connection, campaign, at)
        (closed_at,) = connection.execute("SELECT closed_at FROM campaigns WHERE hash = ?", (campaign,)).fetchone()
        return int(closed_at)

    return store.write(change).result()


def close_within(connection: sqlite3.Connection, campaign: bytes, now: int) -> bool:
    """Closes a campaign within a change of the store; returns whether it was open."""
    query = "UPDATE campaigns SET closed_at = ? WHERE hash = ? AND closed_at IS NULL"
    return connection.execute(query, (now, campaign)).rowcount == 1


def end(
    store: Store,
    campaign: bytes,
    now: float | None = None,
    also: Callable[[sqlite3.Connection], None] | None = None,
) -> None:
    """Ends a campaign: its packets are removed, and the key that opens them is erased.

    What became of each packet is kept. If the process is stopped on the way, the next one to open the store finishes.

    Args:
        store: the store.
        campaign: the campaign's hash.
        now: the time, in seconds since 1970; that of the system if it is not stated.
        also: what is done in the same transaction if it had not ended, such as a record of who ended it.
    """
    at = int(time.time() if now is None else now)

    def change(connection: sqlite3.Connection) -> None:
        ended = (
            "UPDATE campaigns SET ended_at = ?, closed_at = ifnull(closed_at, ?) WHERE hash = ? AND ended_at IS NULL"
        )
        is_ended_now = connection.execute(ended, (at, at, campaign)).rowcount == 1
        for table in ("packets", "rates"):
            connection.execute(f"DELETE FROM {table} WHERE campaign = ?", (campaign,))  # noqa: S608
        if is_ended_now and also is not None:
            also(connection)

    store.write(change).result()
    store.forget(campaign)
    store.purge()


def exported(store: Store, one: Approved) -> dict[str, Any]:
    """Returns a campaign and the signed headers of its packets, for an auditor. No part of a value is among it."""
    query = """SELECT slot, place, item, number, header, signature, sealed_digest, stored_at FROM packets
        WHERE campaign = ? ORDER BY slot, place, item, number"""
    rows = store.read(lambda connection: connection.execute(query, (one.campaign.hash,)).fetchall())
    names = ("slot", "place", "item", "number", "header", "signature", "part", "time")
    texts = [[to_text(value) if isinstance(value, bytes) else value for value in row] for row in rows]
    return {
        "campaign": json.loads(one.campaign.json),
        "hash": to_text(one.campaign.hash),
        "looks": one.history.looks,
        "list_hash": to_text(one.history.list_hash),
        "packets": [dict(zip(names, row, strict=True)) for row in texts],
    }


_QUERY = """SELECT json, approved_at, closed_at, ended_at, looks, list_hash,
    (SELECT count(*) FROM packets WHERE campaign = hash) FROM campaigns"""


def _read(row: tuple[bytes, int, int | None, int | None, int, bytes | None, int]) -> Approved:
    text, approved_at, closed_at, ended_at, looks, list_hash, packets = row
    try:
        campaign = Campaign.from_json(text)
    except ValueError as error:
        raise StoreError(f"a campaign in the store was altered, or is of another release: {error}") from None
    return Approved(campaign, approved_at, closed_at, ended_at, History(looks, list_hash or b""), packets)
