"""Rising step functions of whole numbers as one product, one sum and one shift: (a M + c) >> T.

Let t_j be the least argument at which the function is at least j, s = M / 2^T and b = c / 2^T. All j of a range are
right if j - s t_j <= b < j - s (t_j - 1). Such a b exists for the slopes s for which, for all pairs i > j,

    (i - j) / (t_i - t_j + 1) < s < (i - j) / (t_i - t_j - 1)

holds. The least T with a whole M in this range is taken, and every threshold is then checked in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_MOST_SHIFT = 62


def _each(values: int | Sequence[int], count: int) -> list[int]:
    return [values + i for i in range(count)] if isinstance(values, int) else [int(value) for value in values]


def slopes(thresholds: Sequence[int], values: int | Sequence[int]) -> tuple[float, float]:
    """Returns approximate bounds on the slope of a function that is at least `values[i]` from `thresholds[i]` on."""
    t = np.asarray(thresholds, np.float64)
    apart = np.subtract.outer(t, t)
    each = np.asarray(_each(values, len(t)))
    steps = np.subtract.outer(each, each)
    rising = steps > 0
    least = (steps[rising] / (apart[rising] + 1)).max(initial=0.0)
    wide = rising & (apart > 1)
    return float(least), float((steps[wide] / (apart[wide] - 1)).min(initial=math.inf))


def offset(thresholds: Sequence[int], values: int | Sequence[int], multiplier: int, shift: int) -> int | None:
    """Returns the least c with (a M + c) >> shift >= `values[i]` exactly for a >= `thresholds[i]`; None if none has.

    >>> offset([2, 5, 8], 1, 3, 3)
    2
    >>> [(a * 3 + 2) >> 3 for a in range(9)]
    [0, 0, 1, 1, 1, 2, 2, 2, 3]
    """
    each = _each(values, len(thresholds))
    gaps = [(value << shift) - int(t) * multiplier for value, t in zip(each, thresholds, strict=True)]
    return max(gaps) if max(gaps) < min(gaps) + multiplier else None


def fit(pieces: Sequence[tuple[Sequence[int], int | Sequence[int]]], near: float) -> tuple[int, list[int], int] | None:
    """Returns M, a c for each piece, and T, the least one from 1 on, for functions of one slope.

    Args:
        pieces: for each function its thresholds, rising, and the values that they lead to: the first value if they
            follow each other, or each value.
        near: a slope to stay near, if few thresholds leave it open.

    >>> fit([([2, 5, 8], 1)], 1 / 3)
    (3, [2], 3)
    """
    bounds = [slopes(found, values) for found, values in pieces]
    low = max(near / 4, *(least for least, _ in bounds))
    high = min(near * 4, *(most for _, most in bounds))
    for shift in range(1, _MOST_SHIFT):
        least, most = math.floor(math.ldexp(low, shift)) + 1, math.ceil(math.ldexp(high, shift)) - 1
        if most < max(least, 1):
            continue
        for multiplier in dict.fromkeys(((least + most) // 2, least, most)):
            offsets = [offset(found, values, multiplier, shift) for found, values in pieces]
            if None not in offsets:
                return multiplier, [c for c in offsets if c is not None], shift
    return None
