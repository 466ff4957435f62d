"""Results for single clients: what a run reveals under the masks of their packets, kept until they have fetched it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quorate.campaigns._agreed import DIGEST, Words, numbers, present
from quorate.campaigns._errors import Refused
from quorate.campaigns._store import Store
from quorate_client.campaign import Column, Slot

__all__ = ["DAY_S", "expire", "keep_results", "packed"]

DAY_S = 86_400


def packed(slot: Slot, rows: int, values: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.uint8]:
    """Returns masked results in the layout of words: bytes of shape (rows, bytes of a row).

    Args:
        slot: the slot, whose results are packed.
        rows: the rows of the slot.
        values: for each result an array of shape (rows, *shape): np.uint64 below 2^k, or bool for bits.

    Raises:
        Refused: a result is missing or unknown, or its array has another shape, type or range.
    """
    if set(values) != {column.name for column in slot.results}:
        listed = ", ".join(column.name for column in slot.results) or "none"
        raise Refused(409, f"the results are not those of slot {slot.name}", f"give these: {listed}")
    return np.concatenate([_bytes(column, rows, values[column.name]) for column in slot.results], axis=1)


def _bytes(column: Column, rows: int, array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    is_bit = column.dtype.kind == "bit"
    dtype = np.dtype(np.bool_ if is_bit else np.uint64)
    shape = (rows, *column.shape)
    if array.shape != shape or array.dtype != dtype:
        raise Refused(409, f"result {column.name} is not {dtype} of shape {shape}", "give such an array")
    flat = np.ascontiguousarray(array).reshape(rows, column.elements)
    if is_bit:
        return np.packbits(flat, axis=1, bitorder="little")
    if column.dtype.bits < 64 and (flat >> np.uint64(column.dtype.bits)).any():
        raise Refused(
            409, f"result {column.name} has words of more than {column.dtype.bits} bits", "reduce them mod 2^k"
        )
    return flat.astype(f"<u{column.dtype.word_bytes}").view(np.uint8)


def keep_results(store: Store, campaign: bytes, slot: int, look: int, words: Words, rows: npt.NDArray[np.uint8],
                 per_client: int) -> None:  # fmt: skip
    """Keeps the results of one look, for each row that is present. They are on the disk when this returns.

    Args:
        store: the store.
        campaign: the campaign's hash.
        slot: the index of the slot.
        look: the look, from 0.
        words: the agreed list: `np.int32[rows, 12]`.
        rows: what `packed` returns.
        per_client: the rows of a place.

    Raises:
        Refused: other results of this look are kept already. A mask hides one result only.
    """
    order = numbers(words)
    kept = [
        (
            campaign,
            slot,
            *divmod(row, per_client),
            look,
            int(order[row]),
            words[row, DIGEST].tobytes(),
            rows[row].tobytes(),
        )
        for row in np.flatnonzero(present(words)).tolist()
    ]

    def change(connection: sqlite3.Connection) -> None:
        query = """SELECT campaign, slot, place, item, look, number, digest, data FROM results
            WHERE (campaign, slot, look) = (?, ?, ?) ORDER BY place, item"""
        before = connection.execute(query, (campaign, slot, look)).fetchall()
        if before and before != kept:
            raise Refused(409, f"other results of look {look} are kept already", "give the results of another look")
        if not before:
            connection.executemany("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kept)

    store.write(change).result()


def expire(store: Store, days: int, now: float) -> int:
    """Removes results of campaigns that ended more than `days` ago, and returns how many there were."""
    query = "DELETE FROM results WHERE campaign IN (SELECT hash FROM campaigns WHERE ended_at < ?)"
    last = int(now) - days * DAY_S
    return store.write(lambda connection: connection.execute(query, (last,)).rowcount).result()
