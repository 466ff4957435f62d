"""Plans of real functions: roots, logarithms, powers of e, quotients, comparisons, elements by their order.

The notation is that of `_plan`: an array a stands as A = a 2^u. It is kept as fixed point of 16 fractional bits, so
that the number is A 2^-16. Functions take and give numbers of 16 fractional bits, off by a stated number of units. If a
function of a multiple follows from the function of the number, the multiple with the smallest proven error is taken:

- the root of a 2^2m is that of a, times 2^m;
- e^(a - m ln 2) is e^a 2^-m;
- the logarithm of a 2^m is that of a and m ln 2 more;
- the inverse of a 2^m is that of a, times 2^-m.

Comparisons with 0 give 1 or 0. They may be wrong if the integer that stands for a number is nearer to 0 than its error:
the bound on the error is 1 there, and 0 elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._layers._kernels import Array
from quorate.models._numerics import exponent_above
from quorate.models._onnx._array_facts import FRACTION, ROOM, Tracked

if TYPE_CHECKING:
    from quorate.models._onnx._plan import Planner

LEAST = ("log", "inverse", "quotient")
"""The functions for which a sample gives the least distance of their argument from 0."""

_UNITS = 2.0 ** (1 - FRACTION)  # two units, the error of functions
_SUM = 64 - ROOM  # bits of sums, if there are functions
_ROOM = 44
_POWERS = 11  # e^8 is above 2^11: powers below are within two units
_BELOW = 4  # a quotient's bound holds for divisors of at least the sample's least over this
_MOST = 300.0  # no ring holds larger powers of e


def planned(planner: Planner, kind: str, attrs: dict[str, Any], given: list[Tracked]) -> Tracked:
    """Adds the step of a real function."""
    if kind in ("maximum", "minimum"):
        return _either(planner, kind, given)
    if kind == "quotient":
        return planner._product("mul", [given[0], _inverse(planner, given[1])])
    x = given[0]
    if kind == "top":
        return _top(planner, attrs, x)
    if kind == "compare":
        return _compared(planner, attrs, x)
    planner.has_reals = True
    if kind == "floor":
        return _floor(planner, attrs, x)
    if kind == "sqrt":
        return _root(planner, x)
    if kind == "exp":
        return _power(planner, x)
    return _log(planner, x) if kind == "log" else _inverse(planner, x)


def reached_least(kind: str, arrays: list[Array]) -> float:
    """Returns the least distance from 0 of the number that such a step divides by or takes the logarithm of."""
    x = arrays[-1]
    return float((x if kind == "log" else np.abs(x)).min(initial=math.inf))


def _fitting(planner: Planner, x: Tracked, unit: int) -> Tracked:
    """Returns the array in a unit, or in the finest one for which there is room."""
    return planner.at(x, min(unit, x.unit + _ROOM - x.bits))


def _root(planner: Planner, x: Tracked) -> Tracked:
    unit = x.unit + _ROOM - x.bits
    x = planner.at(x, unit - (unit - FRACTION) % 2)
    unit = FRACTION + (x.unit - FRACTION) // 2
    low, high = (np.sqrt(np.maximum(end, 0)) for end in (x.low, x.high))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.fmin(np.sqrt(x.error), np.where(low > 0, x.error / low, math.inf))
    made = Tracked(low, high, moved + 2.0 ** (1 - unit), unit, 0).holding(np.sqrt(x.largest) + 2.0 ** (2 - unit))
    return planner._kept(planner._emit("sqrt", [x], {}, made))


def _power(planner: Planner, x: Tracked) -> Tracked:
    x = planner.at(planner._clipped(x) if x.is_far_beyond else x, FRACTION)
    largest = float(np.minimum(x.high + x.error, x.largest).max())
    if largest > _MOST:
        raise planner._unbounded(x)
    shift = math.ceil(largest / math.log(2)) - _POWERS
    plus = -round(math.ldexp(shift * math.log(2), FRACTION)) / 2**FRACTION
    off = x.error + 2.0 ** (-FRACTION - 1)
    unit = FRACTION - shift
    low, high = np.exp(np.minimum(x.low, _MOST)), np.exp(np.minimum(x.high, _MOST))
    error = high * np.expm1(np.minimum(off, _MOST)) + 2.0 ** (1 - unit)
    made = Tracked(low, high, error, unit, 0).holding(np.full(x.low.shape, 2.0**_POWERS * 2.0 ** (FRACTION - unit) * 2))
    return planner._kept(planner._emit("exp", [x], {"plus": plus}, made))


def _least(planner: Planner, kind: str, low: Array) -> Array:
    """Returns a positive lower bound on numbers: the larger one of the proven bound and the sample's."""
    reached = planner._spread or 0.0
    floor = 2.0 ** (exponent_above(reached / _BELOW) - 1) if reached > 0 else 0.0
    if not (np.maximum(low, floor) > 0).all():
        if planner.reached is None:
            why = "as far as that is proven"
            instead = "give sample= inputs like those to come, none of which comes near to 0 there"
        else:
            why = "as far as that is proven, and in the sample as well,"
            instead = "leave inputs out of the sample that come to 0 there, if none of these will be asked for"
        raise ModelError(
            f"from_onnx: {planner._name}: {why} it may {kind} 0, or numbers on both sides of it: {instead}, or let the "
            "network add a constant before it (Add, Clip)"
        )
    return np.maximum(low, floor)


def _log(planner: Planner, x: Tracked) -> Tracked:
    least = _least(planner, "take the logarithm of", x.low)
    lowest = np.where(x.low > 0, x.low, least)  # proven bounds hold for all inputs, the error for those like the sample
    x = _fitting(planner, x, 60)
    floor = max(1, math.floor(math.ldexp(float(lowest.min()), x.unit)))
    smallest = float((lowest - x.error).min())
    low, high = np.log(lowest), np.log(np.maximum(x.high, lowest))
    plus = round((FRACTION - x.unit) * math.log(2) * 2**FRACTION) / 2**FRACTION
    # The integer may be too small by the error, but is at least the floor.
    nearest = math.ldexp(floor, -x.unit)
    error = np.log1p(x.error / np.maximum(least - x.error, nearest)) + 1.5 * 2.0**-FRACTION
    error = np.maximum(error, np.log(np.maximum(nearest / lowest, 1)) + 1.5 * 2.0**-FRACTION)  # the floor is a unit
    attrs = {"plus": plus, "floor": floor if math.ldexp(smallest, x.unit) < floor else None}
    most = np.maximum(np.abs(math.log(floor) - x.unit * math.log(2)), np.abs(high) + x.error / least) + 2.0**-14
    return planner._kept(planner._emit("log", [x], attrs, Tracked(low, high, error, FRACTION, 0).holding(most)))


def _inverse(planner: Planner, x: Tracked) -> Tracked:
    sign = -1.0 if (x.high <= 0).all() else 1.0
    nearest = np.maximum(x.low, -x.high)
    is_split = bool((x.low < 0).any() and (x.high > 0).any())
    least = _least(planner, "divide by", np.maximum(nearest, 0))
    smallest = float(least.min())
    x = _fitting(planner, x, round(15 - math.log2(smallest)))  # both roundings weigh the same for the smallest
    unit = 2 * FRACTION - x.unit
    near = 1 / least
    most = math.ldexp(1.0, math.ceil(math.log2(float(near.max())) + 0.01))
    moved = x.error / (least * np.maximum(least - x.error, 1 / most))
    error = np.where(x.error < least, moved, 2 * most) + 2.0 ** (1 - unit)  # or on the other side of 0
    far = 1 / np.maximum(np.maximum(np.abs(x.low), np.abs(x.high)), least)
    ends = (-near, near) if is_split else (far, near) if sign > 0 else (-near, -far)
    # The integer may be nearer to 0 than its number, or on the other side.
    is_near = float((nearest - x.error).min()) < 1 / most
    limits = {"most": math.ldexp(most, unit - FRACTION) if is_near else None}
    made = Tracked(ends[0], ends[1], error, unit, 0)
    made = made.holding(np.full(x.low.shape, most + 2.0 ** (1 - unit)))
    return planner._kept(planner._emit("inverse", [x], limits, made))


def _compared(planner: Planner, attrs: dict[str, Any], x: Tracked) -> Tracked:
    low, high = x.low - x.error, x.high + x.error
    is_known = (low > 0) | (high < 0)
    if attrs["than"] == "ge":
        is_known |= low >= 0
    elif attrs["than"] == "gt":
        is_known |= high <= 0
    error = np.where(is_known | (x.error == 0), 0.0, 1.0)
    made = Tracked(np.zeros_like(low), np.ones_like(low), error, FRACTION, 0).holding(np.ones_like(low))
    return planner._emit("compare", [x], attrs, made)


def _floor(planner: Planner, attrs: dict[str, Any], x: Tracked) -> Tracked:
    """Adds the step that rounds to whole numbers: down, or to the nearest, halves to the even number."""
    nearest = bool(attrs.get("nearest"))
    rounded = np.rint if nearest else np.floor
    low, high, is_exact = rounded(x.low), rounded(x.high), (x.error == 0) & (x.unit <= FRACTION)
    x = planner.at(x, FRACTION)
    same = rounded(x.low - x.error) == rounded(x.high + x.error)
    error = np.where(same | is_exact, 0.0, np.floor(x.error) + 1)
    made = Tracked(low, high, error, FRACTION, 0).holding(x.largest + 1)
    return planner._emit("floor", [x], {"nearest": True} if nearest else {}, made)


def _top(planner: Planner, attrs: dict[str, Any], x: Tracked) -> Tracked:
    """Adds the step that takes the first elements of an axis by size; the j-th lies between the j-th bounds."""
    axis, count = attrs["axis"], attrs["count"]
    size = x.low.shape[axis]

    def first(values: Array) -> Array:
        ordered = np.sort(values, axis=axis)
        return np.take(ordered if not attrs["largest"] else np.flip(ordered, axis), range(count), axis=axis)

    if attrs["places"]:
        zeros = np.zeros_like(first(x.low))
        made = Tracked(zeros, zeros + size - 1, zeros + size - 1, FRACTION, 0).holding(zeros + size - 1)
        return planner._emit("top", [x], attrs, made)
    error = np.broadcast_to(x.error.max(axis=axis, keepdims=True), first(x.low).shape)
    held = np.broadcast_to(x.largest.max(axis=axis, keepdims=True), first(x.low).shape)
    return planner._emit("top", [x], attrs, Tracked(first(x.low), first(x.high), error, x.unit, 0).holding(held))


def _either(planner: Planner, kind: str, given: list[Tracked]) -> Tracked:
    x, y = planner._aligned(given)
    of = np.maximum if kind == "maximum" else np.minimum
    held = np.maximum(x.largest, y.largest)
    made = Tracked(of(x.low, y.low), of(x.high, y.high), np.maximum(x.error, y.error), x.unit, 0)
    shape = np.broadcast_shapes(x.low.shape, y.low.shape)
    made = dataclasses.replace(made, low=np.broadcast_to(made.low, shape), high=np.broadcast_to(made.high, shape))
    return planner._emit(kind, [x, y], {}, made.holding(held))
