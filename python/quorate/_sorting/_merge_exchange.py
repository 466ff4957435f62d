"""Sorting by comparators: Batcher's merge exchange, for any length (Knuth, volume 3, algorithm 5.2.2M)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from quorate import _source

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["layers", "places", "sort"]


def layers(count: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields the layers of comparators, each of which runs in parallel: `count`, p, r and d.

    Row i is compared with row i + d where i & p == r; some layers have no such rows.
    """
    top = 1 << max(count - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            yield count, p, r, d
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def sort(keys: SecretArray, others: list[SecretArray], stable: bool, descending: bool = False) -> list[SecretArray]:
    """Returns the keys sorted along axis 0, and the other arrays in the same order.

    With `stable`, equal keys keep their order, and the second array of the result is their former positions, as
    int(64).
    """
    mpc, count = keys._session, len(keys)
    rows = [keys]
    if stable:
        rows.append(places(keys))
    rows += others
    for layer in layers(count):
        low, high, rest = ([_side(x, layer, side) for x in rows] for side in ("lower", "upper", "rest"))
        if len(low[0]) == 0:
            continue
        swap = low[0] < high[0] if descending else high[0] < low[0]
        if stable:
            swap = swap | ((high[0] == low[0]) & (high[1] < low[1]))
        for i, (one, other, left) in enumerate(zip(low, high, rest, strict=True)):
            bit = swap.reshape(*swap.shape, *(1 for _ in one.shape[swap.ndim :]))
            met = mpc.swap(bit, one, other)
            rows[i] = _side(mpc.concatenate([*met, left] if len(left) else met), layer, "back")
    return rows


def places(keys: SecretArray) -> SecretArray:
    """Returns the position of each row, as a whole number.

    A single row's position is made secret, so that it has a fixed dtype, as positions after a sort do. A public
    number would take the dtype of the other operand.
    """
    if len(keys) == 0:
        return keys.astype(keys._session._whole)
    if len(keys) == 1:
        return keys.argmin(axis=0, keepdims=True)
    numbered = np.arange(len(keys)).reshape(-1, *(1 for _ in keys.shape[1:]))
    return keys._session.constant(np.broadcast_to(numbered, keys.shape))


def _side(x: SecretArray, layer: tuple[int, int, int, int], side: str) -> SecretArray:
    return x._new(x._session._native.exchange(x._node, layer, side, _source.line()))
