"""Prefix operations along an axis, such as cumulative products: log2(n) operations deep (Sklansky, 1960)."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._values._axes import lined_up

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["ACCUMULATED", "scanned"]

Op = Callable[[Any, Any], Any]


def scanned(what: str, op: Op, x: SecretArray, axis: Any) -> SecretArray:
    """Combines, for each element of an axis, all elements up to it by the associative `op`; None flattens.

    Step l works on pairs of blocks of 2^l elements: it combines the result of the first block with each element of the
    second. That is n / 2 operations a step.

    Raises:
        ShapeError: there is no such axis.
    """
    rows, back = lined_up(what, x, axis)
    places = np.arange(len(rows))
    for level in range(max(len(rows) - 1, 0).bit_length()):
        later = places[places >> level & 1 == 1]
        first = places[places >> level & 1 == 0]
        met = op(rows[(later >> level << level) - 1], rows[later])
        order = np.argsort(np.concatenate([first, later]))
        rows = x._session.concatenate([rows[first], met])[order]
    return back(rows)


def _of_numbers(name: str, op: Op) -> Callable[..., Any]:
    def accumulate(x: Any, axis: Any = 0, dtype: Any = None) -> Any:
        return scanned(f"numpy.{name}.accumulate", op, x._typed(dtype), axis)

    return accumulate


def _of_bits(name: str, op: Op) -> Callable[..., Any]:
    def accumulate(x: Any, axis: Any = 0) -> Any:
        return scanned(f"numpy.{name}.accumulate", op, x._truth(), axis)

    return accumulate


#: The functions that `accumulate` of a ufunc stands for, as in `np.maximum.accumulate(x)`.
ACCUMULATED: dict[Any, Callable[..., Any]] = {
    np.add: lambda x, axis=0, dtype=None: x.cumsum(axis, dtype=dtype),
    np.multiply: lambda x, axis=0, dtype=None: x.cumprod(axis, dtype=dtype),
    np.maximum: _of_numbers("maximum", lambda x, y: x._session.maximum(x, y)),
    np.minimum: _of_numbers("minimum", lambda x, y: x._session.minimum(x, y)),
    np.logical_and: _of_bits("logical_and", operator.and_),
    np.logical_or: _of_bits("logical_or", operator.or_),
}
