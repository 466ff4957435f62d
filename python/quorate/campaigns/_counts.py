"""Counts of a store's campaigns and packets, for its operator: numbers without names."""

from __future__ import annotations

import dataclasses
import sqlite3

from quorate.campaigns._store import Store

__all__ = ["Counts", "counts"]


@dataclasses.dataclass(frozen=True)
class Counts:
    """What a store holds.

    Attributes:
        campaigns: the number of campaigns in each state: "open", "closed" and "ended".
        submissions: the number of clients' items that have a packet, in campaigns that were not ended.
    """

    campaigns: dict[str, int]
    submissions: int


# The closing time of a campaign is text of one form in its canonical JSON, so texts compare as times do.
_STATES = """SELECT CASE WHEN ended_at IS NOT NULL THEN 'ended'
    WHEN closed_at IS NULL AND strftime('%Y-%m-%dT%H:%M:%SZ', ?, 'unixepoch')
        < json_extract(CAST(json AS TEXT), '$.closes') THEN 'open'
    ELSE 'closed' END AS state, count(*) FROM campaigns GROUP BY state"""
_SUBMISSIONS = "SELECT count(*) FROM (SELECT DISTINCT campaign, slot, place, item FROM packets)"


def counts(store: Store, now: float) -> Counts:
    """Returns what a store holds.

    Args:
        store: the store.
        now: this server's clock, in seconds since 1970.

    Raises:
        StoreError: the store cannot be read.
    """

    def look(connection: sqlite3.Connection) -> Counts:
        states = dict.fromkeys(("open", "closed", "ended"), 0)
        states.update(connection.execute(_STATES, (int(now),)).fetchall())
        return Counts(states, int(connection.execute(_SUBMISSIONS).fetchone()[0]))

    return store.read(look)
