"""Means, variances, covariances and correlations of integers: exact sums, and one division that rounds.

Integers get the bits that their proven ranges take, so that nothing wraps. The result is a real (`qr.real`): the exact
result, rounded down to a multiple of 2^-16. A result that 120 bits do not hold is refused.
"""

from __future__ import annotations

import fractions
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _source
from quorate._source import at
from quorate._statistics._ranges import as_real, in_room, most_bits, reach, units, within_dtype
from quorate._values._axes import Axes, lined_up, one_axis
from quorate.dtypes import MOST_BITS, fixed, real
from quorate.errors import RangeError, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["average", "corrcoef", "cov", "mean", "std", "var", "weighted"]


def mean(x: SecretArray, axis: Axes, keepdims: bool) -> SecretArray:
    """Returns the mean of integers or bits, rounded down to a multiple of 2^-16."""
    if isinstance(axis, tuple):
        return one_axis("mean", x, axis, keepdims, lambda rows: mean(rows, -1, False))
    count = _counted("mean", x, axis, 0)
    if x.dtype.kind != "bit":
        low, high = reach(x)
        x = in_room("mean", x, count * max(-low, high))
    return x.sum(axis, keepdims).astype(real) / count


def between(what: str, low: SecretArray, high: SecretArray, part: fractions.Fraction) -> SecretArray:
    """Returns the real at a public fraction `part` of the way from the integers `low` to `high`.

    It is rounded down to a multiple of 2^-16. If the denominator of `part` has more bits than the integers leave room
    for, the nearest fraction with a smaller denominator takes its place.
    """
    most = max(max(-least, largest) for least, largest in (reach(low), reach(high)))
    room = max(MOST_BITS - real.frac - 2 - most.bit_length(), 1)
    near = part.limit_denominator(1 << room)
    return weighted(what, [(low, near.denominator - near.numerator), (high, near.numerator)])


def weighted(what: str, parts: list[tuple[SecretArray, int]]) -> SecretArray:
    """Returns the mean of integers or bits with public weights, rounded down to a multiple of 2^-16."""
    total = sum(weight for _, weight in parts)
    most = total * max(max(-low, high) for low, high in (reach(x) for x, _ in parts))
    wide = [in_room(what, x.astype(x._session._whole) if x.dtype.kind == "bit" else x, most) for x, _ in parts]
    added = [x * weight for x, (_, weight) in zip(wide, parts, strict=True)]
    return sum(added[1:], added[0]).astype(real) / total


def average(x: SecretArray, weights: np.ndarray, axis: Axes, keepdims: bool) -> SecretArray:
    """Returns the mean with public weights that broadcast to x, by products with whole numbers and one division."""
    x = x.astype(x._session._whole) if x.dtype.kind == "bit" else x
    low, high = reach(x)
    most, stated = max(-low, high, 1), x.dtype
    room = MOST_BITS - 1 - most.bit_length() - (0 if stated.kind == "fixed" else real.frac)
    spread = np.broadcast_to(_whole_weights(weights, x.size, max(min(room, _WEIGHT_BITS), _FEWEST_BITS)), x.shape)
    total = np.asarray(spread.sum(axis=axis, keepdims=keepdims))
    if not np.all(total != 0):
        raise RangeError(at("numpy.average: the weights add up to 0"))
    # An upper bound on the magnitude of sums, from the largest weight; range analysis proves no better one.
    largest = most * (x.size // max(total.size, 1)) * int(np.abs(spread).max(initial=0))
    if stated.kind != "fixed":
        return as_real((in_room("numpy.average", x, largest) * spread).sum(axis, keepdims)) / total
    bits = largest.bit_length() + 1
    if bits > max(most_bits(x), stated.bits):
        # As in `mean`, the sum must fit. Each product is rounded by itself only where weights add up to 256 or more.
        if int(np.abs(total).max()) < _SMALL_SUM:
            return (x * spread).sum(axis, keepdims) / total
        shares = spread / np.broadcast_to(spread.sum(axis=axis, keepdims=True), x.shape)
        return (x * shares.astype(float)).sum(axis, keepdims)
    wide = x if stated.grows or bits <= stated.bits else x.astype(fixed(bits, stated.frac))
    found = (wide * spread).sum(axis, keepdims) / total
    if np.all(spread >= 0) and most + 1 < 1 << stated.bits - 1:
        # With weights from 0 on, the mean lies between the lowest and the highest number, up to a unit by rounding.
        found = found._new(found._session._native.stated(found._node, low - 1, high + 1, _source.line()))
    return found if stated.grows else found.astype(stated)


# Weights that are not small multiples of one number are rounded to `_WEIGHT_BITS` bits, or fewer where room is short.
_WEIGHT_BITS = 40
_FEWEST_BITS = 16
_SMALL_SUM = 256


def _whole_weights(weights: np.ndarray, count: int, bits: int) -> np.ndarray:
    """Returns whole numbers in the proportions of the weights; a weight written 0.1 counts as one tenth.

    If exact proportions would take too many bits, they are rounded so that `count` times the largest number is at most
    2^bits.

    Raises:
        RangeError: a weight is not finite.
    """
    given = weights.ravel().tolist()
    if not all(math.isfinite(w) for w in given):
        raise RangeError(at("numpy.average: weights are finite numbers"))
    exact = [fractions.Fraction(repr(w)) if isinstance(w, float) else fractions.Fraction(int(w)) for w in given]
    highest = max((abs(w) for w in exact), default=fractions.Fraction(0))
    scale = math.lcm(*(w.denominator for w in exact))
    unit = fractions.Fraction(math.gcd(*(int(w * scale) for w in exact)), scale)
    if unit == 0:
        return np.zeros(weights.shape, int)
    unit = max(unit, highest * count / (1 << bits))
    return np.array([round(w / unit) for w in exact], object).reshape(weights.shape)


def var(x: SecretArray, axis: Axes, keepdims: bool, ddof: int) -> SecretArray:
    """Returns (n sum(x^2) - sum(x)^2) / (n (n - ddof)) of integers or bits, rounded down to a multiple of 2^-16."""
    if isinstance(axis, tuple):
        return one_axis("var", x, axis, keepdims, lambda rows: var(rows, -1, False, ddof))
    count = _counted("var", x, axis, ddof)
    if not _has_room(x, count):
        return as_real(x).var(axis, keepdims, ddof=ddof)
    return _spread("var", x, axis, keepdims, count).astype(real) / (count * (count - ddof))


def _spread(what: str, x: SecretArray, axis: int | None, keepdims: bool, count: int) -> SecretArray:
    """Returns n sum(x^2) - sum(x)^2 of integers, which is n^2 times their variance."""
    y, most = _centred(what, x, count)
    squares, total = (y * y).sum(axis, keepdims), y.sum(axis, keepdims)
    squares, total = (in_room(what, part, most) for part in (squares, total))
    return count * squares - total * total


def std(x: SecretArray, axis: Axes, keepdims: bool, ddof: int) -> SecretArray:
    """Returns the standard deviation, as the root of the sum of squares where that has room, else of `var`.

    The root of the sum of squares has the precision of a root; that of `var` is limited by the variance's rounding.
    """
    from quorate.functions import sqrt

    if isinstance(axis, tuple):
        return one_axis("std", x, axis, keepdims, lambda rows: std(rows, -1, False, ddof))
    count = _counted("std", x, axis, ddof)
    if x.dtype.kind != "fixed":
        if not _has_room(x, count):
            return std(as_real(x), axis, keepdims, ddof)
        return sqrt(_spread("std", x, axis, keepdims, count).astype(real)) * (1 / math.sqrt(count * (count - ddof)))
    off = within_dtype(units(x - x.mean(axis, keepdims=True)))
    most = count * max(map(abs, reach(off))) ** 2
    if most_bits(x) < real.bits or most.bit_length() + 1 + real.frac > MOST_BITS:
        return sqrt(x.var(axis, keepdims, ddof=ddof))
    off = in_room("std", off, most)
    roots = sqrt((off * off).sum(axis, keepdims).astype(real)) * (2.0**-x.dtype.frac / math.sqrt(count - ddof))
    return roots if x.dtype.grows else roots.astype(x.dtype)


def _counted(what: str, x: SecretArray, axis: int | None, ddof: int) -> int:
    """Returns the number of elements that are summarised.

    Raises:
        ShapeError: there are too few.
    """
    count = len(lined_up(what, x, axis)[0])
    if count == 0:
        raise ShapeError(at(f"{what}: there are no elements"))
    if count <= ddof:
        raise ShapeError(at(f"{what}: {count} elements have no variance where ddof is {ddof}"))
    return count


def _has_room(x: SecretArray, count: int) -> bool:
    """Whether n^2 squares of integers, and a difference of two such sums, have room as reals."""
    _, most = _middle(x)
    return (2 * count * count * most * most).bit_length() + 1 + real.frac <= MOST_BITS


def _middle(x: SecretArray) -> tuple[int, int]:
    """Returns the middle of the range of integers (0 if the range contains 0), and the largest distance from it."""
    low, high = reach(units(x))
    middle = (low + high) // 2 if low >= 0 or high <= 0 else 0
    return middle, max(high - middle, middle - low, abs(middle))


def _centred(what: str, x: SecretArray, count: int) -> tuple[SecretArray, int]:
    """Returns integers less the middle of their range, in a dtype that holds the sum of `count` squares.

    The second result is the largest magnitude of a difference of two sums of n^2 squares.
    """
    middle, most = _middle(x)
    x = units(x)
    low, high = reach(x)
    y = in_room(what, x, max(count * most * most, max(-low, high)))
    return (y - middle if middle else y), 2 * count * count * most * most


# ---- of several variables --------------------------------------------------------------------------------------------


def cov(m: Any, y: Any, rowvar: bool, bias: bool, ddof: int | None) -> SecretArray:
    """Returns `numpy.cov`: of integers exact, rounded down to a multiple of 2^-16; of fixed point rounded as `var`."""
    x = _variables("cov", m, y, rowvar)
    count = x.shape[1]
    ddof = (0 if bias else 1) if ddof is None else ddof
    if count <= ddof:
        raise ShapeError(at(f"cov: {count} observations have no covariance where ddof is {ddof}"))
    if x.dtype.kind != "fixed" and not _has_room(x, count):
        x = as_real(x)
    if x.dtype.kind == "fixed":
        off = x - x.mean(axis=1, keepdims=True)
        found = _small_covariances(off, count - ddof) if _is_small(off) else (off @ off.T) / (count - ddof)
    else:
        found = _times_squared("cov", x).astype(real) / (count * (count - ddof))
    return found if len(x) > 1 else found.reshape(())


def _is_small(off: SecretArray) -> bool:
    """Whether squares of these deviations have fewer than 12 bits, so that results get more (docs/decisions/0077)."""
    largest = max(map(abs, reach(units(off))))
    return off.dtype.grows and 0 < largest**2 >> off.dtype.frac < 1 << 12


def _small_covariances(off: SecretArray, divisor: int) -> SecretArray:
    """Returns the products of every two rows over the divisor, from exact sums: rounded ones would have few digits."""
    return _times_units(off).astype(real) * (2.0 ** (-2 * off.dtype.frac) / divisor)


def corrcoef(m: Any, y: Any, rowvar: bool) -> SecretArray:
    """Returns `numpy.corrcoef`; correlations with a constant variable are 0, where numpy returns NaN."""
    x = _variables("corrcoef", m, y, rowvar)
    if x.shape[1] == 0:
        raise ShapeError(at("corrcoef: there are no observations"))
    from quorate.functions import sqrt

    mpc, size = x._session, len(x)
    if x.dtype.kind == "fixed":
        products = _times_units(x - x.mean(axis=1, keepdims=True))
    else:
        products = _times_squared("corrcoef", x)
    squares = products[np.arange(size), np.arange(size)]
    varies = squares > 0
    roots = mpc.maximum(sqrt(squares.astype(real)), 1)  # squares are whole numbers: roots are 0, or at least 1
    one, other = np.triu_indices(size, 1)
    found = varies.astype(real)
    if len(one):
        pairs = (products[one, other].astype(real) / roots[one] / roots[other]).clip(-1, 1)
        found = mpc.concatenate([found, pairs])
    places = np.zeros((size, size), np.int64)
    places[np.arange(size), np.arange(size)] = np.arange(size)
    places[one, other] = places[other, one] = size + np.arange(len(one))
    return found[places] if size > 1 else found.reshape(())


def _times_units(off: SecretArray) -> SecretArray:
    """Returns the products of every two rows of fixed point, as integers; rounded where exact ones have no room."""
    whole = within_dtype(units(off))
    most = off.shape[1] * max(map(abs, reach(whole))) ** 2
    if most.bit_length() + 1 + real.frac > MOST_BITS:
        return units(off @ off.T)
    whole = in_room("corrcoef", whole, most)
    return whole @ whole.T


def _times_squared(what: str, x: SecretArray) -> SecretArray:
    """Returns n sum(x y) - sum(x) sum(y) of every two rows, which is n^2 times their covariance."""
    count = x.shape[1]
    y, most = _centred(what, x, count)
    products, total = y @ y.T, y.sum(axis=1)
    products, total = (in_room(what, part, most) for part in (products, total))
    return count * products - total.reshape(-1, 1) * total.reshape(1, -1)


def _variables(what: str, m: Any, y: Any, rowvar: bool) -> SecretArray:
    """Returns variables in rows and observations in columns, from numpy's arguments.

    Raises:
        ShapeError: there are more than two axes.
    """
    from quorate.array import SecretArray

    arrays: list[Any] = [v if isinstance(v, SecretArray) else np.asarray(v) for v in (m, y) if v is not None]
    if any(v.ndim > 2 for v in arrays):
        raise ShapeError(at(f"{what}: an array has at most two axes, not {max(v.ndim for v in arrays)}"))
    mpc = next(v for v in arrays if isinstance(v, SecretArray))._session
    lined = [v.reshape(1, -1) if v.ndim < 2 else (v if rowvar or len(v) == 1 else v.T) for v in arrays]
    if len({v.shape[1] for v in lined}) > 1:
        raise ShapeError(at(f"{what}: {lined[0].shape[1]} observations of one, and {lined[1].shape[1]} of the other"))
    x: SecretArray = mpc.concatenate(lined) if len(lined) > 1 else lined[0]
    return x.astype(mpc._whole) if x.dtype.kind == "bit" else x
