"""Sorting by a network of comparisons: Batcher's merge exchange, for any length (Knuth, volume 3, algorithm 5.2.2M)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._public import whole_axis
from quorate._source import at
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["layers", "lined_up", "sort"]


def layers(count: int) -> Iterator[tuple[np.ndarray, int]]:
    """Lower positions and the distance to the upper ones, of the comparisons that run side by side."""
    top = 1 << max(count - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            lower = np.arange(max(count - d, 0))
            yield lower[(lower & p) == r], d
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2


def lined_up(what: str, x: SecretArray, axis: Any) -> tuple[SecretArray, Callable[[SecretArray], SecretArray]]:
    """The array with `axis` first, and the way back; None flattens.

    Raises:
        ShapeError: there is no such axis.
    """
    axis = whole_axis(what, axis)
    if axis is None:
        return x.reshape(-1), lambda y: y
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(at(f"{what}: axis {axis} is out of bounds for an array of dimension {x.ndim}"))
    order = [axis % x.ndim, *(d for d in range(x.ndim) if d != axis % x.ndim)]
    back = np.argsort(order).tolist()
    return x.transpose(order), lambda y: y.transpose(back)


def sort(keys: SecretArray, others: list[SecretArray], stable: bool) -> list[SecretArray]:
    """Keys sorted along axis 0 and whatever goes with them, in the same order.

    With `stable`, equal keys keep their order, and their former positions come second, as int(64).
    """
    mpc, count = keys._session, len(keys)
    rows = [keys]
    if stable:
        places = np.arange(count).reshape(-1, *(1 for _ in keys.shape[1:]))
        rows.append(mpc.constant(np.broadcast_to(places, keys.shape)))
    rows += others
    for lower, distance in layers(count):
        if len(lower) == 0:
            continue
        upper = lower + distance
        rest = np.setdiff1d(np.arange(count), np.concatenate([lower, upper]))
        back = np.argsort(np.concatenate([lower, upper, rest]))
        swap = rows[0][upper] < rows[0][lower]
        if stable:
            swap = swap | ((rows[0][upper] == rows[0][lower]) & (rows[1][upper] < rows[1][lower]))
        for i, x in enumerate(rows):
            bit = swap.reshape(*swap.shape, *(1 for _ in x.shape[swap.ndim :]))
            low, high = x[lower], x[upper]
            moved = [mpc.where(bit, high, low), mpc.where(bit, low, high), x[rest]]
            rows[i] = mpc.concatenate(moved)[back]
    return rows
