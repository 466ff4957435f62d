"""Joins and groups by secret keys: rows are sorted by key, then values are passed on along rows of equal keys.

Values move 1, 2, 4 ... rows further in turn (Hillis and Steele, "Data parallel algorithms", 1986), so that n rows take
log2(n) selections in sequence. Every step depends on the numbers of rows alone: nothing is opened, and neither the
number of matching keys nor the number of groups is disclosed.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._source import at
from quorate._statistics._ranges import reach, within_dtype
from quorate.dtypes import int as int_dtype
from quorate.errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Joined", "SortedGroups", "join", "sorted_groups"]


@dataclasses.dataclass(frozen=True)
class Joined:
    """The result of a join: what each row of the left side finds on the right side.

    Attributes:
        matched: a bit for each row of the left side: whether its key is on the right side.
        values: the right side's values in the left side's order; 0 where nothing matched.
        unique: a bit: whether the keys of the right side are distinct. If not, the values are those of an arbitrary row
            with the key.
    """

    matched: SecretArray
    values: tuple[SecretArray, ...]
    unique: SecretArray


@dataclasses.dataclass(frozen=True)
class SortedGroups:
    """Sums by key. There is a row for each element, and one row of each group holds its results.

    Attributes:
        counts: a bit for each row: whether it holds a group.
        keys: the groups' keys, ascending; 0 in other rows.
        sizes: the number of elements of the group; 0 in other rows.
        sums: the sum of each of the values; 0 in other rows.
    """

    counts: SecretArray
    keys: SecretArray
    sizes: SecretArray
    sums: tuple[SecretArray, ...]


def _keys(what: str, *arrays: Any) -> None:
    from quorate.array import SecretArray

    for x in arrays:
        if not isinstance(x, SecretArray) or x.dtype.kind not in ("int", "uint"):
            raise DtypeError(at(f"{what}: keys are secret integers; of words their codes, of dates their days"))
        if x.ndim != 1:
            raise ShapeError(at(f"{what}: keys have one axis, not shape {x.shape}"))


def _rows(what: str, values: tuple[Any, ...], count: int) -> None:
    from quorate.array import SecretArray

    for x in values:
        if not isinstance(x, SecretArray):
            raise DtypeError(at(f"{what}: values are secret arrays: public numbers become some by mpc.constant"))
        if x.shape != (count,):
            raise ShapeError(at(f"{what}: {count} keys, and values of shape {x.shape}"))


def _missing(key: Any) -> None:
    if key is not None and (isinstance(key, bool) or not isinstance(key, (int, np.integer))):
        raise DtypeError(at(f"join: missing= is the whole number that stands for no key, or None, not {key!r}"))


def _there(keys: SecretArray, missing: Any) -> SecretArray | None:
    """Returns bits that say which keys are not `missing`; None where range analysis proves that no key can be.

    For columns of dates and words it returns None, too: all their numbers are keys, and -1 is a date.
    """
    low, high = reach(keys)
    if missing is None or keys._session._native.column(keys._node) is not None or not low <= missing <= high:
        return None
    return keys != int(missing)


def join(left: SecretArray, right: SecretArray, values: tuple[SecretArray, ...], missing: Any) -> Joined:
    """Returns, for each key of the left side, the values of its row on the right side; `missing` matches nothing."""
    _keys("join", left, right)
    _missing(missing)
    _rows("join", values, len(right))
    mpc, n, m = left._session, len(left), len(right)
    if n == 0 or m == 0:
        nothing = mpc.constant(np.zeros(n, bool))
        zeros = tuple(mpc.constant(np.zeros(n, np.int64), x.dtype) for x in values)
        keys = right.sort()
        if m < 2:
            return Joined(nothing, zeros, mpc.constant(True))
        again = keys[1:] == keys[:-1]
        there = _there(keys[1:], missing)
        return Joined(nothing, zeros, ~(again if there is None else again & there).any())
    both = within_dtype(mpc.concatenate([right, left]))
    low, high = reach(both)
    bits = max(low.bit_length(), high.bit_length()) + 2
    from_left = np.arange(n + m) >= m
    # The lowest bit puts the right side's row before the left side's rows of the same key.
    tagged = both.astype(int_dtype(bits)) * 2 + from_left.astype(np.int64)
    padded = [mpc.concatenate([x, np.zeros(n, bool if x.dtype.kind == "bit" else np.int64)]) for x in values]
    moved = [both, mpc.constant(from_left), mpc.constant(np.arange(n + m)), *padded]
    _, keys, of_left, place, *carried = mpc.sort(tagged, *moved, stable=False)
    again = (keys[1:] == keys[:-1]) & ~of_left[1:] & ~of_left[:-1]
    there = _there(keys, missing)
    if there is not None:
        again = again & there[1:]
    has, carried = ~of_left, [keys, *carried]
    step = 1
    while step < n + m:
        before = [mpc.concatenate([x[:step], x[:-step]]) for x in carried]
        carried = [mpc.where(has, x, y) for x, y in zip(carried, before, strict=True)]
        has = mpc.concatenate([has[:step], has[step:] | has[:-step]])
        step *= 2
    found = (has if there is None else has & there) & (carried[0] == keys)
    kept = [mpc.where(found, x, 0) for x in carried[1:]]
    _, found, *kept = mpc.sort(place, found, *kept, stable=False)
    return Joined(found[m:], tuple(x[m:] for x in kept), ~again.any())


def sorted_groups(keys: SecretArray, values: tuple[SecretArray, ...]) -> SortedGroups:
    """Sums the values of equal keys."""
    _keys("group_sums", keys)
    _rows("group_sums", values, len(keys))
    mpc, n = keys._session, len(keys)
    if n == 0:
        return SortedGroups(mpc.constant(np.zeros(0, bool)), keys, mpc.constant(np.zeros(0, np.int64)), values)
    whole = [x.astype(mpc._whole) if x.dtype.kind == "bit" else x for x in values]
    ordered, *sums = mpc.sort(keys, *whole, stable=False)
    sums.insert(0, mpc.constant(np.ones(n, np.int64)))
    step = 1
    while step < n:
        same = ordered[step:] == ordered[:-step]
        sums = [mpc.concatenate([x[:step], x[step:] + mpc.where(same, x[:-step], 0)]) for x in sums]
        step *= 2
    last = mpc.concatenate([ordered[1:] != ordered[:-1], mpc.constant(np.ones(1, bool))])
    shown = [mpc.where(last, x, 0) for x in (ordered, *sums)]
    return SortedGroups(last, shown[0], shown[1], tuple(shown[2:]))
