"""What a server remembers of entries where servers may cheat: attempts, unfit packets, and the halt after a cheat.

An attempt takes masks of the clients' packets, which are used once. So a server writes its number down before it takes
part, and never makes an attempt again, whatever became of it.

A server that lies about its part of a packet learns something of another one's key if that one calls the packet unfit.
So each server does that once: from then on it states no packet of the client's item.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from quorate.campaigns._errors import Refused, Spent
from quorate.campaigns._store import Store
from quorate_client.tagged import ATTEMPTS

__all__ = ["attempt", "attempts", "check_attempts", "check_not_halted", "halt", "note_unfit", "resume", "unfit_items"]

_ANEW = "make a new campaign, and ask the clients again"


def attempts(store: Store, campaign: bytes, slot: int) -> int:
    """Returns how many attempts to enter a slot this server has made."""
    query = "SELECT made FROM attempts WHERE campaign = ? AND slot = ?"
    found = store.read(lambda connection: connection.execute(query, (campaign, slot)).fetchone())
    return 0 if found is None else int(found[0])


def check_attempts(made: Sequence[int]) -> None:
    """Checks that packets have masks for one more attempt.

    Args:
        made: how many attempts each server has made, as it states.

    Raises:
        Spent: a server has made all of them.
    """
    for server, number in enumerate(made):
        if number >= ATTEMPTS:
            what = f"server {server} has entered them {number} times, and they have masks for {ATTEMPTS}"
            raise Spent(f"the packets are spent: {what}", _ANEW)


def attempt(store: Store, campaign: bytes, slot: int, number: int) -> None:
    """Notes an attempt, which is on the disk when this returns.

    Args:
        number: its number, from 1: one more than this server has made.

    Raises:
        Spent: this server has made it, or a later one, before; or packets have masks for no further one.
    """
    check_attempts([number - 1])

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


def unfit_items(store: Store, campaign: bytes, slot: int) -> set[tuple[int, int]]:
    """Returns the items, by place and number, of which this server has found a packet unfit."""
    query = "SELECT place, item FROM unfit WHERE campaign = ? AND slot = ?"
    return set(store.read(lambda connection: connection.execute(query, (campaign, slot)).fetchall()))


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
    return store.write(lambda connection: resume_within(connection, campaign)).result()


def resume_within(connection: sqlite3.Connection, campaign: bytes) -> bool:
    """Does what `resume` does, within a change of the store."""
    update = "UPDATE campaigns SET halted_at = NULL WHERE hash = ? AND halted_at IS NOT NULL"
    return connection.execute(update, (campaign,)).rowcount > 0
