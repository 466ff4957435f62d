"""Axes as arguments: which there are, and arrays with the named ones first, or joined into one."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._source import at
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Axes", "lined_up", "one_axis", "row_axis", "whole_axis"]

Axes = int | tuple[int, ...] | None


def whole_axis(what: str, axis: Any) -> int | None:
    """Returns an axis as an int, or None for all axes.

    Raises:
        ShapeError: it is something else.
    """
    return None if axis is None else row_axis(what, axis, " or None")


def row_axis(what: str, axis: Any, more: str = "") -> int:
    """Returns an axis as an int, where None is not allowed.

    Raises:
        ShapeError: it is something else.
    """
    if isinstance(axis, bool) or not isinstance(axis, numbers.Integral):
        raise ShapeError(at(f"{what}: axis must be a whole number{more}, not {axis!r}"))
    return int(axis)


def lined_up(what: str, x: SecretArray, axis: Any) -> tuple[SecretArray, Callable[[SecretArray], SecretArray]]:
    """Returns the array with `axis` first, and a function that moves it back; None flattens.

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


def one_axis(what: str, x: SecretArray, axis: Sequence[int], keepdims: bool, reduce: Any) -> SecretArray:
    """Reduces along several axes, which are first joined into one.

    Raises:
        ShapeError: an axis does not exist, or is named twice.
    """
    named = [row_axis(what, a) for a in axis]
    if any(not -x.ndim <= a < x.ndim for a in named) or len({a % x.ndim for a in named}) < len(named):
        raise ShapeError(at(f"{what}: axes {tuple(axis)} of an array of dimension {x.ndim} do not exist, or repeat"))
    gone = [a % x.ndim for a in named]
    kept = [a for a in range(x.ndim) if a not in gone]
    sizes = [x.shape[a] for a in kept]
    rows = x.transpose(kept + gone) if x.ndim else x
    reduced: SecretArray = reduce(rows.reshape([*sizes, math.prod(x.shape[a] for a in gone)]))
    return reduced.reshape([1 if a in gone else n for a, n in enumerate(x.shape)]) if keepdims else reduced
