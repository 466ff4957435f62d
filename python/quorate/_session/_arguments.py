"""Arguments of inputs: shapes and bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate.errors import RangeError, ShapeError

__all__ = ["as_shape", "checked_bound"]


def as_shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    """Returns a shape as a tuple.

    Raises:
        ShapeError: it has something else than whole numbers from 0 on.
    """
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in sizes):
        raise ShapeError(at(f"shape {shape!r} must consist of whole numbers from 0 on"))
    return tuple(int(n) for n in sizes)


def checked_bound(bound: Any) -> Any:
    """Returns a bound, a largest magnitude or the lowest and the highest value, as Python's numbers."""
    if bound is None:
        return None
    ends = tuple(bound) if isinstance(bound, (tuple, list, np.ndarray)) and np.ndim(bound) == 1 else (bound,)
    numbers = (int, float, np.integer, np.floating)
    if len(ends) > 2 or not all(isinstance(end, numbers) and not isinstance(end, bool) for end in ends):
        raise RangeError(
            at(f"bound must be a number, or the lowest and the highest value, as in bound=(0, 3), not {bound!r}")
        )
    if not all(math.isfinite(end) for end in ends) or (len(ends) == 1 and ends[0] < 0):
        raise RangeError(at(f"bound must be a finite number from 0 on, or two finite numbers, not {bound!r}"))
    if len(ends) == 2 and ends[0] > ends[1]:
        raise RangeError(at(f"bound={bound!r}: write the lowest value first, bound=({ends[1]!r}, {ends[0]!r})"))
    whole = all(isinstance(end, (int, np.integer)) for end in ends)
    plain = tuple(int(end) if whole else float(end) for end in ends)
    return plain[0] if len(plain) == 1 else plain
