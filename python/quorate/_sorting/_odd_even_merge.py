"""Batcher's odd-even merge of two sorted arrays, for any two lengths (Knuth, volume 3, section 5.3.4)."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

__all__ = ["layers"]

Wires = np.ndarray
Pairs = tuple[Wires, Wires]
Comparators = tuple[list[Pairs], Wires]

_NONE: Pairs = (np.arange(0), np.arange(0))


def layers(first: int, second: int) -> Comparators:
    """Returns the comparators that merge two sorted arrays of these lengths, which stand one after the other.

    Returns:
        Layers of pairs of wires, where the lower value goes to the first wire of a pair; and the wires in sorted order.
    """
    return _comparators(first, second, {})


def _comparators(m: int, n: int, known: dict[tuple[int, int], Comparators]) -> Comparators:
    """Returns the comparators for lengths m and n; `known` holds those that were made already.

    Elements 0, 2, 4... of both arrays are merged, and elements 1, 3, 5...; then neighbours of the two results are
    compared. At most four pairs of lengths occur on each level of the recursion, so `known` keeps it short.
    """
    if m == 0 or n == 0:
        return [], np.arange(m + n)
    if m == n == 1:
        return [(np.array([0]), np.array([1]))], np.arange(2)
    if (m, n) in known:
        return known[m, n]
    halves = []
    for start in (0, 1):
        wires = np.concatenate([np.arange(start, m, 2), np.arange(m + start, m + n, 2)])
        met, order = _comparators(len(range(start, m, 2)), len(range(start, n, 2)), known)
        halves.append(([(wires[low], wires[high]) for low, high in met], wires[order]))
    (met_v, v), (met_w, w) = halves
    met = [
        (np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))
        for one, other in zip_longest(met_v, met_w, fillvalue=_NONE)
    ]
    pairs = min(len(w), len(v) - 1)
    met.append((w[:pairs], v[1 : pairs + 1]))
    between = np.stack([w[:pairs], v[1 : pairs + 1]], axis=1).ravel()
    order = np.concatenate([v[:1], between, w[pairs:], v[pairs + 1 :]])
    known[m, n] = met, order
    return met, order
