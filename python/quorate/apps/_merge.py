"""Merging two sorted arrays by comparators."""

from __future__ import annotations

import numpy as np

from quorate._sorting._odd_even_merge import layers
from quorate.array import SecretArray

__all__ = ["merge"]


def merge(first: SecretArray, second: SecretArray, others: list[tuple[object, object]]) -> list[SecretArray]:
    """Merges two ascending arrays of one axis. Pairs of further arrays of these lengths follow in the same order."""
    mpc = first._session
    rows = [mpc.concatenate([one, other]) for one, other in [(first, second), *others]]
    met, order = layers(len(first), len(second))
    count = len(rows[0])
    place = np.arange(count)  # where each wire's value stands
    for low, high in met:
        used = np.zeros(count, bool)
        used[low] = used[high] = True
        rest = np.flatnonzero(~used)
        swap = rows[0][place[high]] < rows[0][place[low]]
        for i, row in enumerate(rows):
            one, other = row[place[low]], row[place[high]]
            both = mpc.swap(swap, one, other)
            rows[i] = mpc.concatenate([*both, row[place[rest]]] if len(rest) else both)
        place[np.concatenate([low, high, rest])] = np.arange(count)
    return [row[place[order]] for row in rows]
