"""The rules of gradients, one for each operation of a program, under the operation's name.

A rule gets a step and the gradient g of the loss by its result, and returns the gradients by its operands (None where
none is needed). All rules are linear in g, so that a public factor of all of g may be applied at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate._arrays._proven_ranges import between
from quorate.array import SecretArray
from quorate.functions import exp, rsqrt, sqrt
from quorate.learn import _window_rules
from quorate.learn._gradient_values import Factored, Given, Made, ceil_log2, most_of
from quorate.learn._slopes import (
    broadcast_to,
    divided,
    few_digits,
    inverse_of,
    multiplied,
    negated,
    over,
    quotient,
    times_operand,
    times_public,
    with_operand,
)

__all__ = ["EXACT", "PIECEWISE", "RULES", "Rule", "log_softmax"]

PIECEWISE = ("argmax", "argmin")
"""Operations with whole results that small changes of operands do not change, as bits do not; their gradient is 0."""

EXACT = ("mul", "sum", "reshape", "broadcast", "astype", "to", "assert_within", "behind")
"""Operations of whole numbers that have derivatives, where these numbers are fixed point times 2^f, as in `std`."""

# More shares of a softmax than this are small, with few digits.
_MANY = 32

# Powers that are shares of a softmax are computed this many bits larger, so that small ones keep their digits.
_POWER_BITS = 4

# Slopes that are multiplied by few shares are scaled up by this many bits.
_SHARE_BITS = 8

# An upper bound on the sum of shares: 1 and the errors of all shares.
_MOST_OF_SHARES = 1.25

# An upper bound on the error of a share, in units. A share is a power of at most 2^4 times an inverse. Quotients are
# within 4 units, which makes 64 units, and the product is rounded by one. Errors of powers cancel: the inverse is that
# of their sum.
_ERROR_UNITS = 128

# Results of at least 1 over this are precise enough for slopes; smaller ones are computed again, scaled up.
_FEW = 8.0

Rule = Callable[[Made, Factored], Given]


def _add(made: Made, g: Factored) -> Given:
    return [g if wanted else None for wanted in made.wanted]


def _sub(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g), made.where(1, lambda: negated(g))]


def _neg(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: negated(g))]


def _mul(made: Made, g: Factored) -> Given:
    def by(other: int) -> Factored:
        constant = made.constants[other]
        return times_operand(made, g, other) if constant is None else times_public(g, constant)

    return [made.where(0, lambda: by(1)), made.where(1, lambda: by(0))]


def _matmul(made: Made, g: Factored) -> Given:
    batch, m, k, n = made.step.numbers
    alone = batch == 1
    shapes = [(m, k) if alone else (batch, m, k), (k, n) if alone else (batch, k, n)]
    turned = (1, 0) if alone else (0, 2, 1)

    def beside(place: int) -> tuple[Factored, Any]:
        """Returns the gradient, and the transposed operand that it is multiplied by."""
        slopes, factors = with_operand(made, g, place)
        slopes = slopes.of(slopes.array.reshape((m, n) if alone else (batch, m, n)))
        return slopes, factors.reshape(shapes[place]).transpose(turned)

    def first() -> Factored:
        slopes, right = beside(1)
        return slopes.of((slopes.array @ right).reshape(made.shapes[0]))

    def second() -> Factored:
        slopes, left = beside(0)
        return slopes.of((left @ slopes.array).reshape(made.shapes[1]))

    return [made.where(0, first), made.where(1, second)]


def _sum(made: Made, g: Factored) -> Given:
    outer, length, inner = made.step.numbers

    def spread() -> Factored:
        rows = broadcast_to(g.array.reshape(outer, 1, inner), (outer, length, inner))
        return g.of(rows.reshape(made.shapes[0]))

    return [made.where(0, spread)]


def _shl(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g.of(g.array, _unit(made) * 2.0 ** made.step.numbers[0]))]


def _shr(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g.of(g.array, _unit(made) * 2.0 ** -made.step.numbers[0]))]


def _scale(made: Made, g: Factored) -> Given:
    ratios = 0.0 if made.step.scaling is None else made.step.scaling.reals
    return [made.where(0, lambda: times_public(g, np.asarray(ratios) * _unit(made)))]


def _floor_div(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: times_public(g, _unit(made) / np.asarray(made.step.divisors, float)))]


def _unit(made: Made) -> float:
    """Returns the size of a unit of the result in units of the operand; results may have more fractional bits."""
    return 2.0 ** (made.operand(0).dtype.frac - made.step.dtype.frac)


def _remainder(made: Made, g: Factored) -> Given:
    """Returns the gradient of a remainder.

    In `x % c` the quotient is a whole number, and a constant for derivatives. In a quotient `x / c` a remainder occurs
    together with its real quotient, and the gradients of both cancel.
    """
    whole = made.operand(1).dtype.kind != "fixed"
    return [made.where(0, lambda: g) if whole else None, None]


def _divide(made: Made, g: Factored) -> Given:
    few = made.spare > 0 and few_digits(made.source(1), made.step)
    if made.wanted[1] and few:  # the quotients have lost digits, so their slopes need the inverse
        over(made, 1)
    share = divided(made, g, 1)

    def second() -> Factored:
        if not few:
            return negated(multiplied(made, share, made.result))
        constant = made.constants[0]
        whole = divided(made, Factored(made.operand(0) if constant is None else constant), 1)
        return negated(multiplied(made, share, whole.array).scaled_as(whole))

    return [made.where(0, lambda: share), made.where(1, second)]


def _select(made: Made, g: Factored) -> Given:
    # The gradient is chosen in the result's dtype: choosing integers and scaling them later would leave few bits.
    g = g.even()
    array = made.session.constant(g.array, dtype=made.result.dtype) if g.is_public else g.array
    chosen = g.of(made.session.where(made.operand(0), array, 0))
    return [
        None,
        made.where(1, lambda: chosen),
        made.where(2, lambda: g.of(array - chosen.array)),
    ]


def _gather(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g.of(_scattered(made, g.array).reshape(made.shapes[0])))]


def _scattered(made: Made, g: Any) -> Any:
    """Returns, for each element of the operand, the sum of g at all positions to which it was gathered. Local."""
    places = np.asarray(made.step.index, np.int64)
    size, flat = int(np.prod(made.shapes[0], dtype=np.int64)), g.reshape(-1)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    rank = np.arange(len(ordered)) - starts
    table = np.full((int(rank.max(initial=0)) + 1, size), len(places), np.int64)
    table[rank, ordered] = order
    if (table == len(places)).any():
        none = np.zeros(1, np.int64)
        flat = np.append(flat, none) if isinstance(flat, np.ndarray) else made.session.concatenate([flat, none])
    return flat[table[0]] if len(table) == 1 else flat[table].sum(axis=0)


def _reshape(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g.of(g.array.reshape(made.shapes[0])))]


def _broadcast(made: Made, g: Factored) -> Given:
    before, after = made.shapes[0], made.step.shape
    lead = len(after) - len(before)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(before) if n != after[lead + i])
    return [made.where(0, lambda: g.of((g.array.sum(axis=axes) if axes else g.array).reshape(before)))]


def _concat(made: Made, g: Factored) -> Given:
    flat, taken = g.array.reshape(-1), 0
    given: Given = []
    for place, shape in enumerate(made.shapes):
        size = int(np.prod(shape, dtype=np.int64))
        part = slice(taken, taken + size)
        given.append(g.of(flat[part].reshape(shape)) if made.wanted[place] else None)
        taken += size
    return given


def _same(made: Made, g: Factored) -> Given:
    """Returns the gradient of a step that only converts its first operand, or proves something; others are proofs."""
    return [made.where(0, lambda: g)] + [None] * (len(made.step.inputs) - 1)


def _cumsum(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        rows = g.array.reshape(made.step.numbers)[:, ::-1].cumsum(axis=1)[:, ::-1]
        return g.of(rows.reshape(made.shapes[0]))

    return [made.where(0, back)]


def _shares(made: Made) -> Factored:
    """Returns the shares of a softmax; many of them, which are small, are computed again with more digits."""
    shares = made.result.reshape(made.step.numbers)
    if made.spare == 0 or shares.shape[1] <= _MANY:
        return Factored(shares)
    x = made.operand(0).reshape(made.step.numbers)
    most = 2.0**_POWER_BITS
    powers = exp(made.session.minimum(x - x.max(axis=1, keepdims=True), 0.0) + _POWER_BITS * math.log(2))
    sums = powers.sum(axis=1, keepdims=True).clip(most * 0.99, most * 1.01 * shares.shape[1])
    inverse = inverse_of(sums, made.spare)
    return inverse.of(powers * inverse.array)


def _softmax(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        shares = _shares(made)
        slopes = g.of(g.array.reshape(made.step.numbers))
        if shares.lifted == 0:  # products with shares below 1 have digits left
            slopes = slopes.up(min(_SHARE_BITS, made.spare))
        by = multiplied(made, slopes, shares.array).scaled_as(shares)
        if by.is_public:  # all zeros
            return by.of(by.array.reshape(made.shapes[0]))
        total = by.of(_of_shares(by, slopes, shares))
        taken = total.of(total.array * shares.array).scaled_as(shares)
        found = by.plus(negated(taken))
        return found.of(found.array.reshape(made.shapes[0]))

    return [made.where(0, back)]


def _of_shares(by: Factored, g: Factored, shares: Factored) -> SecretArray:
    """Returns the sums of the rows of `by`, slopes times shares: at most the largest slope, since shares add up to 1.

    Ranges say less: that a sum is at most the number of shares times the largest of them times the largest slope.
    """
    parts, count = by.array, shares.array.shape[1]
    total = parts.sum(axis=1, keepdims=True)
    most = float(np.abs(g.array).max(initial=0.0)) if g.is_public else most_of(g.array)
    one = 2.0**shares.array.dtype.frac / abs(shares.factor)
    if most is None or count * _ERROR_UNITS > (_MOST_OF_SHARES - 1) / 2 * one:
        return total
    most *= _MOST_OF_SHARES * abs(g.factor / by.factor)
    units = math.ceil(most * 2.0**total.dtype.frac) + count
    return between(total, -units, units)


def log_softmax(made: Made, g: Factored) -> Given:
    """Returns the gradient of logarithms of a softmax by its operand: no share divides, however small it is."""

    def back() -> Factored:
        shares, even = _shares(made), g.even()
        rows = even.of(even.array.reshape(made.step.numbers))
        total = even.of(rows.array.sum(axis=1, keepdims=True))
        spread = total.of(broadcast_to(total.array, rows.array.shape))
        taken = multiplied(made, spread, shares.array).scaled_as(shares)
        found = rows.plus(negated(taken))
        return found.of(found.array.reshape(made.shapes[0]))

    return [made.where(0, back)]


def _slope(slope: Callable[[Made], SecretArray]) -> Rule:
    """Returns the rule of an element-wise function, from its derivative."""
    return lambda made, g: [made.where(0, lambda: multiplied(made, g, slope(made)))]


def _log(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: divided(made, g, 0))]


def _sigmoid_slope(made: Made) -> SecretArray:
    y = made.result
    return y * (1 - y)


def _tanh_slope(made: Made) -> SecretArray:
    y = made.result
    return 1 - y * y


def _known_most(made: Made) -> float | None:
    """Returns the largest magnitude of the operand, if it is proven and slopes may be scaled up; else None."""
    return most_of(made.operand(0)) if made.spare > 0 else None


def _sqrt(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        most = _known_most(made)
        if most is None or most <= _FEW**2:
            return multiplied(made, g, rsqrt(made.operand(0))).of_half()
        return quotient(made, g, made.result).of_half()  # an inverse root would have few digits

    return [made.where(0, back)]


def _rsqrt(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        x, most = made.operand(0), _known_most(made)
        if most is None or most <= _FEW**2:
            return negated(_powers(made, g, 3, 1.0 if most is None else most**0.5)).of_half()
        return negated(quotient(made, quotient(made, g, x), sqrt(x))).of_half()

    return [made.where(0, back)]


def _reciprocal(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        most = _known_most(made)
        if most is None or most <= _FEW:
            return negated(_powers(made, g, 2, 1.0 if most is None else most))
        inverse = over(made, 0)
        once = multiplied(made, g, inverse.array).scaled_as(inverse)
        return negated(multiplied(made, once, inverse.array).scaled_as(inverse))

    return [made.where(0, back)]


def _powers(made: Made, g: Factored, count: int, most: float) -> Factored:
    """Returns the gradient times a power of the step's result, which is at least 1 / `most`."""
    bits = min(ceil_log2(max(most, 1.0)), made.spare)
    factor = made.result << bits
    for _ in range(count):
        g = multiplied(made, g, factor).raised(bits)
    return g


RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "matmul": _matmul,
    "conv": _window_rules.conv,
    "max": _window_rules.largest,
    "min": _window_rules.largest,
    "sum": _sum,
    "cumsum": _cumsum,
    "shl": _shl,
    "shr": _shr,
    "scale": _scale,
    "floor_div": _floor_div,
    "remainder": _remainder,
    "divide": _divide,
    "select": _select,
    "gather": _gather,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "concat": _concat,
    "astype": _same,
    "to": _same,
    "as_factor": _same,
    "assert_within": _same,
    "behind": _same,
    "softmax": _softmax,
    "sigmoid": _slope(_sigmoid_slope),
    "tanh": _slope(_tanh_slope),
    "exp": _slope(lambda made: made.result),
    "log": _log,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": _reciprocal,
}
