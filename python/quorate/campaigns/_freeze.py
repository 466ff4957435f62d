"""A closed campaign as a run takes it: what this server holds, its shares of the agreed packets, and marks of looks."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quorate.campaigns._agreed import AT_LEAST, CANDIDATES, DIGEST, KIND, WORDS, History, Words, numbers, present
from quorate.campaigns._approved import close, find_hash
from quorate.campaigns._attempts import attempt, attempts, check_not_halted, halt, note_unfit, unfit_items
from quorate.campaigns._errors import Refused, Spent, StoreError
from quorate.campaigns._parts import LIST, Reader
from quorate.campaigns._results import keep_results, packed
from quorate.campaigns._settings import Settings, read_store_key
from quorate.campaigns._store import Store, run_of
from quorate.campaigns._tagged import TaggedParts
from quorate_client import Campaign
from quorate_client import words as layout

__all__ = ["Frozen", "freeze"]

#: Rows that are read at a time.
_ROWS = 256

_ANEW = "make a new campaign"


class Frozen:
    """A campaign that this server has closed: its packets do not change any more.

    `freeze` returns it.

    Attributes:
        campaign: the campaign.
        me: the number of this server.
        history: the results that may have been seen before.
    """

    def __init__(self, store: Store, campaign: Campaign, me: int, history: History) -> None:
        self.campaign, self.me, self.history = campaign, me, history
        self._store = store

    def rows(self, slot: int) -> int:
        """Returns the rows of a slot: places of clients, times the packets of each."""
        return self.campaign.most_clients * self.campaign.slots[slot].per_client

    def record(self, slot: int) -> Words:
        """Returns which packets of a slot this server has, as `np.int32[rows, 2, 12]`.

        Packets that it found unfit are left out, and so are those that they replaced: a server that made a packet unfit
        and denies it could otherwise bring back a value that the client has replaced.

        Raises:
            StoreError: the store cannot be read, or holds what it cannot hold.
        """
        found = np.zeros((self.rows(slot), CANDIDATES, WORDS), np.int32)
        used = np.zeros(len(found), np.uint8)
        query = "SELECT place, item, number, digest, kind, at_least FROM packets"
        unfit = unfit_items(self._store, self.campaign.hash, slot)
        for place, item, number, digest, kind, at_least in self._packets(query, slot):
            if (place, item) in unfit:
                continue  # the packet before it must not count again either
            row = self._row(slot, place, item)
            if used[row] == CANDIDATES:
                raise StoreError(f"the store has more than {CANDIDATES} packets of one item: restore its file")
            found[row, used[row]] = _candidate(number, digest, kind, at_least)
            used[row] += 1
        return found

    def parts(self, slot: int, words: Words) -> dict[str | tuple[str, int, str], npt.NDArray[Any]]:
        """Returns this server's additive parts of the packets that are agreed, by the name of the column.

        Args:
            slot: the index of the slot.
            words: the agreed list: `np.int32[rows, 12]`.

        Returns:
            For each column an array of shape (rows, *shape): np.uint64 below 2^k, or bool for bits. Zeros where no
            packet is agreed, where it is withdrawn, and where this server is no receiver of it. The mask of a result
            has the name ("result", look, name).

        Raises:
            Refused: `words` has another shape, or names packets that this server does not have; or parts have tags.
            StoreError: a part does not open.
        """
        self._check(slot, words)
        if self.campaign.is_tagged:
            raise Refused(409, "parts of this campaign have tags", "call `tagged` instead")
        columns = self.campaign.slots[slot]
        found = [_zeros(column, len(words)) for column in columns.layout]
        reader = Reader(self._store, self.campaign, slot, words)
        for first in range(0, len(words), _ROWS):
            for row, header, content in reader.read(first, first + _ROWS):
                if content is not None:
                    own = layout.own_words(columns, content, header.receivers, self.me, header.context)
                    for column, part in zip(found, layout.columns(columns, own), strict=True):
                        column[row] = part
        return dict(zip(columns.names, found, strict=True))

    def tagged(self, slot: int, words: Words) -> TaggedParts:
        """Returns this server's parts of the packets that count, where servers may cheat; they are read when asked for.

        Args:
            slot: the index of the slot.
            words: the packets that count: `np.int32[rows, 12]`.

        Raises:
            Refused: `words` has another shape, servers of the family do not cheat, or this server holds no parts.
        """
        self._check(slot, words)
        if not self.campaign.is_tagged or self.me >= self.campaign.holders:
            raise Refused(409, f"server {self.me} holds no parts with tags", "call `parts` in families without tags")
        return TaggedParts(Reader(self._store, self.campaign, slot, words), self.me)

    def seen(self, looks: int, list_hash: bytes) -> None:
        """Marks that a result may be seen from now on. The mark is on the disk when this returns.

        Call it before this server sends anything of the first result.

        Args:
            looks: the number of this look, from 1: one more than `looks_before` returns.
            list_hash: the hash of the agreed list.

        Raises:
            Spent: another list, or a later look, was marked meanwhile; or the campaign allows no further look.
        """
        if not 1 <= looks <= self.campaign.again + 1:
            raise Spent(f"the campaign allows {self.campaign.again + 1} looks, and this would be look {looks}", _ANEW)

        def change(connection: sqlite3.Connection) -> None:
            query = "SELECT looks, list_hash, ended_at FROM campaigns WHERE hash = ?"
            stored, before, ended_at = connection.execute(query, (self.campaign.hash,)).fetchone()
            if ended_at is not None or stored >= looks or (stored and before != list_hash):
                raise Spent("another run of this campaign has seen a result meanwhile", _ANEW)
            update = "UPDATE campaigns SET looks = ?, list_hash = ? WHERE hash = ?"
            connection.execute(update, (looks, list_hash, self.campaign.hash))

        self._store.write(change).result()
        self.history = History(looks, list_hash)

    def attempts(self, slot: int) -> int:
        """Returns how many attempts to enter a slot this server has made, where servers may cheat."""
        return attempts(self._store, self.campaign.hash, slot)

    def attempt(self, slot: int, number: int) -> None:
        """Notes an attempt to enter a slot, which is on the disk when this returns.

        Call it before this server inputs a word of its parts.

        Args:
            slot: the index of the slot.
            number: the number of the attempt, from 1: one more than this server has made.

        Raises:
            Spent: this server has made it before, or packets have masks for no further attempt.
        """
        attempt(self._store, self.campaign.hash, slot, number)

    def unfit(self, slot: int, words: Words, rows: npt.NDArray[np.bool_]) -> None:
        """Notes packets that this server finds unfit. It states no packet of their items again.

        The notes are on the disk when this returns. Call it before this server says so to others.

        Args:
            slot: the index of the slot.
            words: the packets of the run: `np.int32[rows, 12]`.
            rows: which rows are unfit.
        """
        self._check(slot, words)
        each, order = self.campaign.slots[slot].per_client, numbers(words)
        packets = [(*divmod(row, each), int(order[row])) for row in np.flatnonzero(rows & present(words)).tolist()]
        note_unfit(self._store, self.campaign.hash, slot, packets)

    def halt(self) -> None:
        """Keeps the campaign from being read until the operator resumes it, since a server was caught cheating."""
        halt(self._store, self.campaign.hash, time.time())

    def outcomes(
        self,
        slot: int,
        words: Words,
        unfit: npt.NDArray[np.bool_],
        refused: npt.NDArray[np.bool_],
        kept: npt.NDArray[np.bool_],
    ) -> None:
        """Notes what became of each packet of a slot, for clients that ask. It is on the disk when this returns.

        Args:
            slot: the index of the slot.
            words: the agreed list: `np.int32[rows, 12]`.
            unfit: which rows the run left out because what servers showed of the parts does not fit together.
            refused: which rows the run left out because a value is out of its bounds.
            kept: which rows count in the end.
        """
        self._check(slot, words)
        order = numbers(words)
        before = unfit_items(self._store, self.campaign.hash, slot)
        noted = []
        for place, item, newest in self._items(slot):
            row = self._row(slot, place, item)
            is_unfit = bool(unfit[row]) or (place, item) in before
            outcome = _outcome(words[row], is_unfit, bool(refused[row]), bool(kept[row]))
            noted.append((self.campaign.hash, slot, place, item, int(order[row]) or newest, *outcome))
        insert = "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._store.write(lambda connection: connection.executemany(insert, noted)).result()

    def results(self, slot: int, look: int, words: Words, values: Mapping[str, npt.NDArray[Any]]) -> None:
        """Keeps what the run revealed to single clients, under their masks. It is on the disk when this returns.

        Args:
            slot: the index of the slot.
            look: the look, from 0: the masks of `parts` that were used have this number.
            words: the list that the run used: `np.int32[rows, 12]`.
            values: for each result an array of shape (rows, *shape): result plus mask as np.uint64 below 2^k, or their
                xor as bool for bits.

        Raises:
            Refused: the results are not those of the slot, or other ones of this look are kept already.
        """
        self._check(slot, words)
        layout = self.campaign.slots[slot]
        if not 0 <= look < layout.looks:
            raise Refused(409, f"slot {layout.name} has no masks for look {look}", f"it has {layout.looks} looks")
        rows = packed(layout, len(words), values)
        keep_results(self._store, self.campaign.hash, slot, look, words, rows, layout.per_client)

    def close(self) -> None:
        """Closes the store. The campaign stays closed, and its packets stay."""
        self._store.close()

    def _items(self, slot: int) -> list[tuple[int, int, int]]:
        """Returns place, item and newest number of all items of a slot that have a packet."""
        query = "SELECT place, item, max(number) FROM packets WHERE campaign = ? AND slot = ? GROUP BY place, item"
        return self._store.read(lambda c: c.execute(query, (self.campaign.hash, slot)).fetchall())

    def _check(self, slot: int, words: Words) -> None:
        shape = (self.rows(slot), WORDS)
        if words.shape != shape or words.dtype != np.int32:
            raise Refused(409, f"the list of slot {slot} is not np.int32 of shape {shape}", LIST)

    def _row(self, slot: int, place: int, item: int) -> int:
        return int(place) * self.campaign.slots[slot].per_client + int(item)

    def _packets(self, query: str, slot: int) -> Iterator[Any]:
        """Yields the rows of a query that begins with place, item, number; reads a few at a time, in order."""
        page = f"""{query} WHERE campaign = ? AND slot = ? AND (place, item, number) > (?, ?, ?)
            ORDER BY place, item, number LIMIT {_ROWS}"""
        last = (-1, -1, -1)
        while True:
            values = (self.campaign.hash, slot, *last)
            rows = self._store.read(lambda c, values=values: c.execute(page, values).fetchall())  # type: ignore[misc]
            yield from rows
            if len(rows) < _ROWS:
                return
            last = rows[-1][:3]


def _candidate(number: int, digest: bytes, kind: int, at_least: int) -> Words:
    words = np.zeros(WORDS, np.uint32)
    words[0], words[1] = number & 0xFFFFFFFF, number >> 32
    words[DIGEST] = np.frombuffer(digest, "<u4")
    words[KIND], words[AT_LEAST] = kind, at_least
    return words.view(np.int32)


def _zeros(column: Any, rows: int) -> npt.NDArray[Any]:
    return np.zeros((rows, *column.shape), np.bool_ if column.dtype.kind == "bit" else np.uint64)


def _outcome(chosen: Words, is_unfit: bool, is_refused: bool, is_kept: bool) -> tuple[str, str]:
    if is_unfit:
        return "absent", "the servers' parts of it do not fit together: this client or a server has changed them"
    if not numbers(chosen):
        return "absent", "not all servers had it at the closing, or fewer clients took part than it demands"
    if not present(chosen):
        return "withdrawn", "the client withdrew it before the closing"
    if is_refused:
        return "refused", "a value was out of the bounds that the campaign states"
    return ("in", "") if is_kept else ("absent", "fewer clients took part than it demands")


def freeze(campaign: Campaign, settings: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> Frozen:
    """Closes a campaign at this server for ever, and returns what it holds. The closing is on the disk first.

    A server for clients may run beside it. Call `close` on what this returns.

    Args:
        campaign: the campaign.
        settings: the server's `serve.toml`, or the `party.toml` beside it.
        clock: this server's clock.

    Raises:
        ConfigError: the settings cannot be used.
        StoreError: the store cannot be used, or another process runs a program on the campaign.
        Refused: the campaign is not approved here, was ended, or takes packets still.
    """
    read = Settings.read(settings)
    store = Store(read.store, read_store_key(read.store_key), run_of(campaign.hash))
    try:
        return Frozen(store, campaign, read.me, _close(store, campaign, clock()))
    except BaseException:
        store.close()
        raise


def _close(store: Store, campaign: Campaign, now: float) -> History:
    state = find_hash(store, campaign.hash).state(now)
    if state == "ended":
        raise Refused(409, f"the campaign {campaign.name!r} was ended, and its packets are erased", _ANEW)
    if state == "open":
        raise Refused(
            409,
            f"the campaign {campaign.name!r} takes packets until {campaign.closes}",
            "run after that, or close it at every server by `quorate campaign close`",
        )
    check_not_halted(store, campaign.hash, campaign.name)
    close(store, campaign.hash, now)
    return find_hash(store, campaign.hash).history
