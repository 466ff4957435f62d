"""What a server remembers of entries where servers may cheat: attempts, unfit packets, and the halt after a cheat.

An attempt takes masks of the clients' packets, which are used once. So a server makes its number last before it takes
part, and never makes an attempt again, whatever became of it. A server that lies about its part of a packet learns
something of another's key from whether that one finds it unfit. So that one says it once, and then lacks the packet.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from quorate.campaigns._errors import Refused, Spent
from quorate.campaigns._store import Store
from quorate_client.tagged import ATTEMPTS

__all__ = ["attempt", "attempts", "check_not_halted", "halt", "newest_unfit", "note_unfit", "resume"]

_ANEW = "make a new campaign, and ask the clients again"


def attempts(store: Store, campaign: bytes, slot: int) -> int:
    """Returns how many attempts to enter a slot this server has made."""
    query = "SELECT made FROM attempts WHERE campaign = ? AND slot = ?"
    found = store.read(lambda connection: connection.execute(query, (campaign, slot)).fetchone())
    return 0 if found is None else int(found[0])


def attempt(store: Store, campaign: bytes, slot: int, number: int) -> None:
    """Notes an attempt, which is on the disk when this returns.

    Args:
        number: its number, from 1: one more than this server has made.

    Raises:
        Spent: this server has made it, or a later one, before; or packets have masks for no further one.
    """
    if not 1 <= number <= ATTEMPTS:
        raise Spent(f"the packets are spent: they can be entered {ATTEMPTS} times, and this is time {number}", _ANEW)

    def change(connection: sqlite3.Connection) -> None:
        query = "SELECT made FROM attempts WHERE campaign = ? AND slot = ?"
        found = connection.execute(query, (campaign, slot)).fetchone()
        if found is not None and found[0] >= number:
            raise Spent(f"this server has made attempt {number} before", "run the program again")
        connection.execute("INSERT OR REPLACE INTO attempts VALUES (?, ?, ?)", (campaign, slot, number))

    store.write(change).result()


def note_unfit(store: Store, campaign: bytes, slot: int, packets: Iterable[tuple[int, int, int]]) -> None:
    """Notes unfit packets, by place, item and number; they are on the disk when this returns."""
    rows = [(campaign, slot, *packet) for packet in packets]
    insert = "INSERT OR IGNORE INTO unfit VALUES (?, ?, ?, ?, ?)"
    store.write(lambda connection: connection.executemany(insert, rows)).result()


def newest_unfit(store: Store, campaign: bytes, slot: int) -> dict[tuple[int, int], int]:
    """Returns the highest number among the packets that this server has found unfit, by place and item."""
    query = "SELECT place, item, max(number) FROM unfit WHERE campaign = ? AND slot = ? GROUP BY place, item"
    found = store.read(lambda connection: connection.execute(query, (campaign, slot)).fetchall())
    return {(place, item): number for place, item, number in found}


def halt(store: Store, campaign: bytes, now: float) -> None:
    """Keeps the campaign from being read until its operator resumes it; it is on the disk when this returns."""
    update = "UPDATE campaigns SET halted_at = ? WHERE hash = ? AND halted_at IS NULL"
    store.write(lambda connection: connection.execute(update, (int(now), campaign))).result()


def check_not_halted(store: Store, campaign: bytes, name: str) -> None:
    """Refuses a campaign that is halted.

    Raises:
        Refused: a server was caught, and this server's operator has not resumed the campaign.
    """
    query = "SELECT halted_at FROM campaigns WHERE hash = ?"
    (halted_at,) = store.read(lambda connection: connection.execute(query, (campaign,)).fetchone())
    if halted_at is not None:
        raise Refused(
            409,
            f"a server was caught cheating when clients' values of campaign {name!r} were entered",
            f"find out which, with the other operators; then allow another attempt by `quorate campaign resume {name}`",
        )


def resume(store: Store, campaign: bytes) -> bool:
    """Allows a halted campaign to be read again. Returns whether it was halted."""
    update = "UPDATE campaigns SET halted_at = NULL WHERE hash = ? AND halted_at IS NOT NULL"
    return store.write(lambda connection: connection.execute(update, (campaign,)).rowcount > 0).result()
