"""Products and quotients of slopes that keep their digits.

A slope by something that many records are summed up in is 1/n of what it is elsewhere, and a dtype of few fractional
bits keeps nothing of it. So an operand that is proven to make a slope smaller by up to e bits gets slopes that are 2^e
times as large, and the factor 2^-e waits until the end (`Factored`). That is local; what it costs is room, which range
analysis gives. Where nothing is proven, slopes are as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate import _source
from quorate.array import SecretArray
from quorate.learn._made import Factored, Made, most_of, normalised, plain

__all__ = ["broadcast_to", "divided", "growth", "multiplied", "negated", "over", "quotient", "times_public", "with_operand"]

# A factor or divisor that makes slopes smaller by fewer bits leaves them as they are.
_FEW_BITS = 3

# An inverse that multiplies many slopes has this many bits more than a single quotient.
_GUARD_BITS = 2


def growth(x: SecretArray) -> int:
    """By how many bits quotients by x may be smaller than what is divided, as far as it is proven and worth a shift."""
    most = most_of(x)
    return 0 if most is None or most <= 2**_FEW_BITS else math.floor(math.log2(most))


def shrinkage(x: SecretArray) -> int:
    """By how many bits products with x are smaller at least than what is multiplied."""
    most = most_of(x)
    return 0 if most is None or not 0 < most < 2.0**-_FEW_BITS else -math.ceil(math.log2(most))


def negated(g: Factored) -> Factored:
    """The gradient with the other sign. Local."""
    return g.of(-g.array)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """An array of secrets or of numpy's in a shape. Local."""
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, shape)
    return x._new(x._session._native.broadcast_to(x._node, list(shape), _source.line()))


def _the_one(values: np.ndarray) -> float | None:
    """The number that all are; None where they differ."""
    return float(values.flat[0]) if values.size and (values == values.flat[0]).all() else None


def times_public(g: Factored, numbers: Any) -> Factored:
    """The gradient times public numbers, which wait if they are one."""
    numbers = np.asarray(numbers, float)
    one = _the_one(numbers)
    if one == 0.0:
        return Factored(np.zeros(g.array.shape))
    if one is not None:
        return g.of(g.array, one)
    if g.is_public:
        return g.of(g.array * numbers)
    # With the factor, which may undo them: integers of 2^40 stand for a matrix whose product is divided by 2^40.
    multiples, power = normalised(numbers * g.factor)
    return Factored(g.array * plain(multiples), 2.0**power, max(-power, 0))


def multiplied(made: Made, g: Factored, by: SecretArray) -> Factored:
    """The gradient times secrets, element by element."""
    if not g.is_public:
        g = g.up(min(shrinkage(by), made.spare))
        return g.of(g.array * by)
    one = _the_one(g.array)
    if one == 0.0:
        return Factored(np.zeros(by.shape))
    if one is not None:
        return Factored(by, g.factor * one)
    even = g.even()
    return even.of(by * plain(even.array))


def over(made: Made, place: int) -> Factored:
    """1 over an operand, or over the smaller array that broadcasts to it; made once for each step."""
    if place not in made.inverses:
        by = made.source(place)
        most = most_of(by)
        bits = 0 if not most else max(math.ceil(math.log2(most)) + _GUARD_BITS, 0)
        bits = min(bits, made.spare)
        made.inverses[place] = Factored(2.0**bits / by).raised(bits)
    return made.inverses[place]


def divided(made: Made, g: Factored, place: int) -> Factored:
    """The gradient over an operand: times its inverse, where that is of fewer elements or there already."""
    if made.sources[place] is None and place not in made.inverses:
        return quotient(made, g, made.operand(place))
    inverse = over(made, place)
    if g.is_public and _the_one(g.array) is not None:
        return multiplied(made, g, broadcast_to(inverse.array, g.array.shape)).scaled_as(inverse)
    even = g.even()
    slopes = plain(even.array) if even.is_public else even.array
    return even.of(inverse.array * slopes).scaled_as(inverse)


def quotient(made: Made, g: Factored, by: SecretArray) -> Factored:
    """The gradient over secrets, element by element."""
    bits = min(growth(by), made.spare)
    one = _the_one(g.array) if g.is_public else None
    if one is not None:
        return Factored(2.0**bits / by, g.factor * one).raised(bits)
    g = g.even()
    if not g.is_public and g.array.dtype.kind != "fixed":
        g = g.of(g.array.astype(by.dtype))
    g = g.up(bits)
    return g.of(g.array / by)


def with_operand(made: Made, g: Factored, place: int) -> tuple[Factored, Any]:
    """The gradient and an operand, for a product of both that adds up; public operands take the gradient's factor."""
    constant = made.constants[place]
    if constant is None:
        by = made.operand(place)
        even = g.even() if g.is_public else g.up(min(shrinkage(by), made.spare))
        return even, by
    factors, power = normalised(constant.reshape(made.shapes[place]) * g.factor)
    return Factored(g.array, 2.0**power, 0 if g.is_public else max(-power, 0)), factors
