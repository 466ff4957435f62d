"""Products and quotients of slopes (gradients of single values) that keep their digits.

Slopes of a mean over n records have a factor 1/n, and a dtype of few fractional bits would lose all their digits. Where
an operand is proven to make slopes smaller by up to e bits, the slopes are therefore multiplied by 2^e first. The
factor 2^-e is applied at the end (`Factored`). This is local. It takes room, which range analysis finds. Where nothing
is proven, slopes are not scaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import _source
from quorate._clear._steps import Step
from quorate.array import SecretArray
from quorate.functions import sqrt
from quorate.learn._gradient_values import Factored, Made, ceil_log2, floor_log2, most_of, normalised, of_node, plain

__all__ = [
    "broadcast_to",
    "divided",
    "few_digits",
    "inverse_of",
    "multiplied",
    "negated",
    "over",
    "quotient",
    "times_operand",
    "times_public",
    "with_operand",
]

# Slopes are not scaled for a factor or divisor that makes them smaller by at most this number of bits.
_FEW_BITS = 3

# Quotients are precise enough to be used again if they are smaller than dividends by at most this number of bits.
_FEW_LOST = 4

# Extra bits of an inverse that multiplies many slopes, compared with a single quotient.
_GUARD_BITS = 2


def growth(x: SecretArray) -> int:
    """Returns the proven number of bits by which quotients by x may be smaller than dividends; 0 if few or unproven."""
    most = most_of(x)
    return 0 if most is None or most <= 2**_FEW_BITS else floor_log2(most)


def shrinkage(x: SecretArray) -> int:
    """Returns the proven number of bits by which products with x are at least smaller; 0 if few or unproven."""
    most = most_of(x)
    return 0 if most is None or not 0 < most < 2.0**-_FEW_BITS else -ceil_log2(most)


def negated(g: Factored) -> Factored:
    """Returns the gradient with the opposite sign. Local."""
    return g.of(-g.array)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts an array, secret or numpy's, to a shape. Local."""
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, shape)
    return x._new(x._session._native.broadcast_to(x._node, list(shape), _source.line()))


def _the_one(values: np.ndarray) -> float | None:
    """Returns the value of all elements if they are equal, else None."""
    return float(values.flat[0]) if values.size and (values == values.flat[0]).all() else None


def times_public(g: Factored, numbers: Any) -> Factored:
    """Multiplies the gradient by public numbers; a single number goes into the factor."""
    numbers = np.asarray(numbers, float)
    one = _the_one(numbers)
    if one == 0.0:
        return Factored(np.zeros(g.array.shape))
    if one is not None:
        return g.of(g.array, one)
    if g.is_public:
        return g.of(g.array * numbers)
    # The numbers are multiplied by the factor first, which may cancel them: a matrix of reals may be integers times
    # 2^40, whose product is divided by 2^40.
    multiples, power = normalised(numbers * g.factor)
    return Factored(g.array * plain(multiples), 2.0**power, max(-power, 0))


def multiplied(made: Made, g: Factored, by: SecretArray) -> Factored:
    """Multiplies the gradient by secrets, element by element."""
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


def times_operand(made: Made, g: Factored, place: int) -> Factored:
    """Multiplies the gradient by an operand; one that lost digits by a division is computed again with more digits."""
    real = made.reals[place]
    if real is not None:  # whole numbers of many bits, whose products would leave no room
        x = of_node(made.session, real)
        g = multiplied(made, g, x)
        return g.of(g.array, 2.0**x.dtype.frac)
    step = made.before[place]
    anew = None if step is None or made.spare == 0 else _anew(made, step)
    if anew is None:
        return multiplied(made, g, made.operand(place))
    return multiplied(made, g, broadcast_to(anew.array, g.array.shape)).scaled_as(anew)


def _anew(made: Made, step: Step) -> Factored | None:
    """Returns the results of a step, scaled so that they keep their digits; None for a step that loses none."""
    if step.op not in ("divide", "reciprocal", "rsqrt"):
        return None
    operands = [of_node(made.session, node) for node in step.inputs]
    by = operands[-1]
    if not few_digits(by, step):
        return None
    if step.op == "divide":
        inverse = inverse_of(by, made.spare)
        return inverse.of(operands[0] * inverse.array)
    return inverse_of(by if step.op == "reciprocal" else sqrt(by), made.spare)


def few_digits(by: SecretArray, step: Step) -> bool:
    """Whether the results of a step that divides by these numbers, or by their roots, have lost digits."""
    bits = growth(by) // (2 if step.op == "rsqrt" else 1)
    return bits > _FEW_LOST + max(step.dtype.frac - by.dtype.frac, 0)


def over(made: Made, place: int) -> Factored:
    """Returns 1 over an operand, or over the smaller array that broadcasts to it; computed once for each step."""
    if place not in made.inverses:
        made.inverses[place] = inverse_of(made.source(place), made.spare)
    return made.inverses[place]


def inverse_of(by: SecretArray, spare: int) -> Factored:
    """Returns 1 over secrets, element by element, scaled so that it keeps digits."""
    most = most_of(by)
    bits = 0 if not most else max(ceil_log2(most) + _GUARD_BITS, 0)
    bits = min(bits, spare)
    return Factored(_bounded(2.0**bits / by, by, 2.0**bits, bits)).raised(bits)


def _bounded(quotients: SecretArray, by: SecretArray, most: float | None, bits: int) -> SecretArray:
    """Limits quotients of numbers up to `most` to the largest quotient by one unit, unless that is proven already.

    Quotients by 0 saturate at the largest number of the dtype, which would leave no room for products with them.
    """
    proven = by._session._native.proven(by._node)
    if bits == 0 or most is None or proven is None or not proven[0] <= 0 <= proven[1]:
        return quotients
    largest = most * 2.0**by.dtype.frac
    found = most_of(quotients)
    return quotients.clip(-largest, largest) if found is not None and found > 2 * largest else quotients


def divided(made: Made, g: Factored, place: int) -> Factored:
    """Divides the gradient by an operand; multiplies by its inverse instead if that exists or has fewer elements."""
    if made.spare == 0 or (made.sources[place] is None and place not in made.inverses):
        return quotient(made, g, made.operand(place))
    inverse = over(made, place)
    if g.is_public and _the_one(g.array) is not None:
        return multiplied(made, g, broadcast_to(inverse.array, g.array.shape)).scaled_as(inverse)
    even = g.even()
    slopes = plain(even.array) if even.is_public else even.array
    return even.of(inverse.array * slopes).scaled_as(inverse)


def quotient(made: Made, g: Factored, by: SecretArray) -> Factored:
    """Divides the gradient by secrets, element by element."""
    bits = min(growth(by), made.spare)
    one = _the_one(g.array) if g.is_public else None
    if one is not None:
        return Factored(_bounded(2.0**bits / by, by, 2.0**bits, bits), g.factor * one).raised(bits)
    g = g.even()
    if not g.is_public and g.array.dtype.kind != "fixed":
        g = g.of(g.array.astype(by.dtype))
    g = g.up(bits)
    most = float(np.abs(g.array).max(initial=0.0)) if g.is_public else most_of(g.array)
    return g.of(_bounded(g.array / by, by, most, bits))


def with_operand(made: Made, g: Factored, place: int) -> tuple[Factored, Any]:
    """Returns the gradient and an operand for a product that sums up; a public operand takes the gradient's factor."""
    constant = made.constants[place]
    if constant is None:
        by = made.operand(place)
        even = g.even() if g.is_public else g.up(min(shrinkage(by), made.spare))
        return even, by
    factors, power = normalised(constant.reshape(made.shapes[place]) * g.factor)
    return Factored(g.array, 2.0**power, 0 if g.is_public else max(-power, 0)), factors
