"""Counts and sums in public bins, and in groups whose number is public."""

from __future__ import annotations

import fractions
import math
import numbers
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _source
from quorate._source import at
from quorate._statistics._ranges import as_real, in_room, reach, units
from quorate.dtypes import Dtype
from quorate.errors import DtypeError, RangeError, RangeWarning, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray
    from quorate.session import Session

__all__ = ["Groups", "bincount", "digitize", "histogram"]


class Groups:
    """Elements grouped by secret keys from 0 on, in a public number of groups: sums, means and sizes of each group.

    Made by `Session.group_by`. It takes one comparison of each key with each group, which all methods share, and then a
    product of matrices.

    Attributes:
        count: the number of groups.
    """

    def __init__(self, mpc: Session, keys: SecretArray, count: int) -> None:
        self._mpc, self.count = mpc, count
        self._keys = keys.reshape(-1)
        _say_outside(mpc, "group_by", keys, count)
        self._hot = mpc.one_hot(self._keys, count)

    def size(self) -> SecretArray:
        """Returns the number of elements of each group, as int(64). 1 round."""
        return self._hot.sum(axis=0)

    def sum(self, values: Any) -> SecretArray:
        """Returns the sum of the values of each group, 0 for an empty group: (n, ...) values give (groups, ...).

        It costs a product of matrices. Sums have the values' dtype and wrap in its k bits, as `sum` does.
        """
        rows = self._rows(values)
        flat = rows.reshape(len(rows), -1) if rows.size else rows.reshape(len(rows), math.prod(rows.shape[1:]))
        if flat.shape[1] == 1:  # the same product, of which a party can make the terms one after another
            return (flat.reshape(1, -1) @ self._hot).reshape(self.count, *rows.shape[1:])
        return (self._hot.T @ flat).reshape(self.count, *rows.shape[1:])

    def mean(self, values: Any) -> SecretArray:
        """Returns the mean of the values of each group, 0 for an empty group.

        The error is at most 4 units of 2^-f, for integers of 2^-16. With more than 64 bits it is at most that or 2^-28
        of the mean, whichever is more.
        """
        rows = self._rows(values)
        if rows.dtype.kind != "fixed":
            low, high = reach(rows)
            rows = in_room("group_by", rows, max(len(rows), 1) * max(-low, high))
        total = as_real(self.sum(rows))
        size = self._mpc.maximum(self.size(), 1)
        return total / size.reshape(self.count, *(1 for _ in total.shape[1:]))

    def _rows(self, values: Any) -> SecretArray:
        from quorate.array import SecretArray

        rows = values if isinstance(values, SecretArray) else self._mpc.constant(values)
        if not rows.ndim or len(rows) != len(self._keys):
            raise ShapeError(at(f"group_by: {len(self._keys)} keys, and values of shape {rows.shape}"))
        return rows.astype(self._mpc._whole) if rows.dtype.kind == "bit" else rows


def bincount(x: SecretArray, weights: Any, length: Any) -> SecretArray:
    """Counts how often each of the numbers 0 to length - 1 occurs, or sums the weights of its occurrences."""
    if isinstance(length, bool) or not isinstance(length, numbers.Integral) or length < 1:
        raise DtypeError(
            at("numpy.bincount of a secret takes minlength= from 1 on: the length of its result is public")
        )
    if x.ndim != 1 or x.dtype.kind == "fixed":
        raise DtypeError(at(f"numpy.bincount takes integers along one axis, not {x.dtype} of shape {x.shape}"))
    groups = Groups(x._session, x, int(length))
    return groups.size() if weights is None else groups.sum(weights)


def _say_outside(mpc: Session, what: str, x: SecretArray, count: int) -> None:
    """Warns, once for each line, if keys are not proven to be in range. Keys out of range belong to no group.

    Raises:
        RangeError: instead of the warning, in a strict session.
    """
    low, high = reach(x)
    if low >= 0 and high < count:
        return
    place = _source.line()
    told = f"{place[0]} {what}", place[1]
    if told in mpc._told:
        return
    mpc._told.add(told)
    text = at(
        f"{what}: keys from {low} to {high} are possible, and those that are not from 0 to {count - 1} count nowhere; "
        f"mpc.input(..., dtype=qr.uint({max((count - 1).bit_length(), 1)}), bound={count - 1}) says that there are none"
    )
    if mpc._options.strict:
        raise RangeError(text)
    warnings.warn_explicit(text, RangeWarning, *place)


# ---- public bins ---------------------------------------------------------------------------------------------------


def _edges(what: str, bins: Any) -> np.ndarray:
    edges = np.asarray(bins)
    if edges.ndim != 1 or edges.dtype.kind not in "iuf" or np.isnan(edges.astype(float)).any():
        raise DtypeError(at(f"{what}: bins are public numbers along one axis"))
    return edges


def _below(edge: Any, dtype: Dtype, with_it: bool) -> float | int:
    """Returns the least number of units at or above an edge (`with_it`), or above it.

    For fixed point the edge is rounded as inputs and comparisons are, so that the input 0.2 is at the edge 0.2.
    """
    if math.isinf(edge):
        return edge
    exact = fractions.Fraction(edge.item() if isinstance(edge, np.generic) else edge) * (1 << dtype.frac)
    exact = fractions.Fraction(round(exact)) if dtype.kind == "fixed" else exact
    return math.ceil(exact) if with_it else math.floor(exact) + 1


def _reached(x: SecretArray, edges: np.ndarray, closed: list[bool]) -> SecretArray:
    """Returns bits along a new last axis: whether each element is at or above each edge; above it where `closed`.

    It compares units with units, so that results for integers are exact for any edge.
    """
    mpc = x._session
    whole = units(x)
    low, high = reach(whole)
    ends = [_below(e, x.dtype, not c) for e, c in zip(edges, closed, strict=True)]
    asked = [i for i, end in enumerate(ends) if low < end <= high]
    met = whole.reshape(*whole.shape, 1) >= np.array([int(ends[i]) for i in asked], object)
    if len(asked) == len(ends):
        return met
    always = mpc.constant(np.ones((*x.shape, 1), bool))
    parts = mpc.concatenate([met, always, np.zeros((*x.shape, 1), bool)], axis=-1)
    places = np.array([asked.index(i) if i in asked else len(asked) + (end > low) for i, end in enumerate(ends)], int)
    return parts[..., places]


def histogram(x: SecretArray, bins: Any, within: Any, weights: Any) -> tuple[SecretArray, np.ndarray]:
    """Returns counts, or sums of weights, between neighbouring edges, and the edges.

    The last bin includes its upper edge.
    """
    if isinstance(bins, str) or (isinstance(bins, numbers.Integral) and within is None):
        raise DtypeError(
            at("numpy.histogram of a secret takes public bins: bins=[0, 10, 20], or bins=20 and range=(low, high)")
        )
    if isinstance(bins, numbers.Integral):
        try:
            bins = np.histogram_bin_edges(np.zeros(0), int(bins), within)
        except (ValueError, TypeError) as error:
            raise RangeError(at(f"numpy.histogram: {error}")) from None
    edges = _edges("numpy.histogram", bins)
    if np.any(edges[1:] < edges[:-1]) or len(edges) < 2:
        raise RangeError(at("numpy.histogram: bins are two edges or more, and increase"))
    flat = x.reshape(-1)
    reached = _reached(flat, edges, [False] * (len(edges) - 1) + [True])
    if weights is None:
        beyond = reached.sum(axis=0)
    else:
        from quorate.array import SecretArray

        mpc = x._session
        w = weights if isinstance(weights, SecretArray) else mpc.constant(weights)
        if w.shape != x.shape:
            raise ShapeError(at(f"numpy.histogram: weights of shape {w.shape} for an array of shape {x.shape}"))
        beyond = w.reshape(-1) @ reached
    return beyond[:-1] - beyond[1:], edges


def digitize(what: str, x: SecretArray, bins: Any, beyond: bool) -> SecretArray:
    """Returns the bin of each element: the number of ascending edges at or below it, or below it with `beyond`.

    For descending edges it is the number of the others.
    """
    edges = _edges(what, bins)
    rises, falls = np.all(edges[1:] >= edges[:-1]), np.all(edges[1:] <= edges[:-1])
    if not rises and not falls:
        raise RangeError(at(f"{what}: bins increase, or decrease"))
    found = _reached(x, edges, [beyond] * len(edges)).sum(axis=-1)
    return found if rises else len(edges) - found
