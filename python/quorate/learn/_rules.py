"""What each operation of a program makes of a gradient: one rule for each, in the operation's own name.

A rule gets a step and the gradient g of the loss by its result, and gives those by its operands (None where none is
wanted). All rules are linear in g, so that a public factor of all of g may wait until the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quorate import _source
from quorate.array import SecretArray
from quorate.functions import rsqrt
from quorate.learn import _windows
from quorate.learn._made import Factored, Given, Made

__all__ = ["PIECEWISE", "RULES", "Factored", "Made"]

PIECEWISE = ("argmax", "argmin")
"""Whole numbers that stay as they are where their operands change a little; so do bits."""


Rule = Callable[[Made, Factored], Given]


def _times(g: Factored, by: Any) -> Factored:
    """By an array, secret or public."""
    if isinstance(g.array, np.ndarray) and (g.array == 1).all():
        return Factored(by, g.factor)
    return Factored(g.array * by, g.factor)


def _add(made: Made, g: Factored) -> Given:
    return [g if wanted else None for wanted in made.wanted]


def _negated(g: Factored) -> Factored:
    return Factored(-g.array, g.factor)


def _sub(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g), made.where(1, lambda: _negated(g))]


def _neg(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: _negated(g))]


def _mul(made: Made, g: Factored) -> Given:
    def by(other: int) -> Factored:
        constant = made.constants[other]
        if constant is None:
            return _times(g, made.operand(other))
        if isinstance(g.array, np.ndarray):
            return Factored(g.array * constant, g.factor)
        return Factored(g.array * _plain(constant * g.factor))  # at once: a factor of 2^-40 undoes integers of 2^40

    return [made.where(0, lambda: by(1)), made.where(1, lambda: by(0))]


def _plain(values: np.ndarray) -> Any:
    """Whole numbers as such: multiples by them are local. One number for all that are equal."""
    values = np.asarray(values, float)
    if values.size and (values == values.flat[0]).all():
        values = np.asarray(values.flat[0])
    if (values == np.rint(values)).all() and (np.abs(values) < 1 << 31).all():
        return values.astype(np.int64)
    return values


def _matmul(made: Made, g: Factored) -> Given:
    batch, m, k, n = made.step.numbers
    alone = batch == 1
    shapes = [(m, k) if alone else (batch, m, k), (k, n) if alone else (batch, k, n)]
    turned = (1, 0) if alone else (0, 2, 1)
    out = g.array.reshape((m, n) if alone else (batch, m, n))

    def matrix(place: int) -> tuple[Any, float]:
        constant = made.constants[place]
        if constant is None:
            return made.operand(place).reshape(shapes[place]).transpose(turned), g.factor
        return np.transpose(constant.reshape(shapes[place]), turned) * g.factor, 1.0

    def first() -> Factored:
        right, factor = matrix(1)
        return Factored((out @ right).reshape(made.shapes[0]), factor)

    def second() -> Factored:
        left, factor = matrix(0)
        return Factored((left @ out).reshape(made.shapes[1]), factor)

    return [made.where(0, first), made.where(1, second)]


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(x, np.ndarray):
        return np.broadcast_to(x, shape)
    return x._new(x._session._native.broadcast_to(x._node, list(shape), _source.line()))


def _sum(made: Made, g: Factored) -> Given:
    outer, length, inner = made.step.numbers

    def spread() -> Factored:
        rows = _broadcast_to(g.array.reshape(outer, 1, inner), (outer, length, inner))
        return Factored(rows.reshape(made.shapes[0]), g.factor)

    return [made.where(0, spread)]


def _shl(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: Factored(g.array, g.factor * 2.0 ** made.step.numbers[0]))]


def _shr(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: Factored(g.array, g.factor * 2.0 ** -made.step.numbers[0]))]


def _by(g: Factored, factors: np.ndarray) -> Factored:
    """Times public numbers, which wait if they are one."""
    factors = np.asarray(factors, float)
    if factors.size and (factors == factors.flat[0]).all():
        return Factored(g.array, g.factor * float(factors.flat[0]))
    return _times(g, factors)


def _scale(made: Made, g: Factored) -> Given:
    whole, factors, _ = made.step.scaling or (0, 0, 0)
    ratios = np.asarray(whole, float) + np.asarray(factors, float) * 2.0 ** -made.step.numbers[0]
    return [made.where(0, lambda: _by(g, ratios))]


def _floor_div(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: _by(g, 1.0 / np.asarray(made.step.divisors, float)))]


def _remainder(made: Made, g: Factored) -> Given:
    """Of `x % c`, whose quotient is whole and stays as it is. In a quotient `x / c` it is what a real one leaves, which
    counts together with the rest of that: there both gradients cancel."""
    whole = made.operand(1).dtype.kind != "fixed"
    return [made.where(0, lambda: g) if whole else None, None]


def _divide(made: Made, g: Factored) -> Given:
    share = Factored(_divided(g.array, made.operand(1)), g.factor)
    return [made.where(0, lambda: share), made.where(1, lambda: _negated(_times(share, made.result)))]


def _select(made: Made, g: Factored) -> Given:
    # In the dtype of what is chosen: a multiple of chosen integers would have its bits, and few.
    array = made.session.constant(g.array, dtype=made.result.dtype) if isinstance(g.array, np.ndarray) else g.array
    chosen = Factored(made.session.where(made.operand(0), array, 0), g.factor)
    return [
        None,
        made.where(1, lambda: chosen),
        made.where(2, lambda: Factored(array - chosen.array, g.factor)),
    ]


def _gather(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: Factored(_scattered(made, g.array).reshape(made.shapes[0]), g.factor))]


def _scattered(made: Made, g: Any) -> Any:
    """For each element of the operand the sum of g at all places that it went to. Local."""
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
    return [made.where(0, lambda: Factored(g.array.reshape(made.shapes[0]), g.factor))]


def _broadcast(made: Made, g: Factored) -> Given:
    before, after = made.shapes[0], made.step.shape
    lead = len(after) - len(before)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(before) if n != after[lead + i])
    return [made.where(0, lambda: Factored((g.array.sum(axis=axes) if axes else g.array).reshape(before), g.factor))]


def _concat(made: Made, g: Factored) -> Given:
    flat, taken = g.array.reshape(-1), 0
    given: Given = []
    for place, shape in enumerate(made.shapes):
        size = int(np.prod(shape, dtype=np.int64))
        part = slice(taken, taken + size)
        given.append(Factored(flat[part].reshape(shape), g.factor) if made.wanted[place] else None)
        taken += size
    return given


def _same(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: g)]


def _cumsum(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        rows = g.array.reshape(made.step.numbers)[:, ::-1].cumsum(axis=1)[:, ::-1]
        return Factored(rows.reshape(made.shapes[0]), g.factor)

    return [made.where(0, back)]


def _softmax(made: Made, g: Factored) -> Given:
    def back() -> Factored:
        shares = made.result.reshape(made.step.numbers)
        by = g.array.reshape(made.step.numbers) * shares
        return Factored((by - shares * by.sum(axis=1, keepdims=True)).reshape(made.shapes[0]), g.factor)

    return [made.where(0, back)]


def _slope(slope: Callable[[Made], SecretArray]) -> Rule:
    """Of a function of each element, by its derivative."""
    return lambda made, g: [made.where(0, lambda: _times(g, slope(made)))]


def _log(made: Made, g: Factored) -> Given:
    return [made.where(0, lambda: Factored(_divided(g.array, made.operand(0)), g.factor))]


def _divided(g: Any, by: SecretArray) -> SecretArray:
    if isinstance(g, np.ndarray) or g.dtype.kind == "fixed":
        return g / by  # type: ignore[no-any-return]
    return g.astype(by.dtype) / by  # type: ignore[no-any-return]


def _sigmoid_slope(made: Made) -> SecretArray:
    y = made.result
    return y * (1 - y)


def _tanh_slope(made: Made) -> SecretArray:
    y = made.result
    return 1 - y * y


def _root_slope(made: Made) -> SecretArray:
    return rsqrt(made.operand(0)) * 0.5


def _inverse_root_slope(made: Made) -> SecretArray:
    y = made.result
    return y * y * y * -0.5


def _reciprocal_slope(made: Made) -> SecretArray:
    y = made.result
    return -(y * y)


RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "matmul": _matmul,
    "conv": _windows.conv,
    "max": _windows.largest,
    "min": _windows.largest,
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
    "softmax": _softmax,
    "sigmoid": _slope(_sigmoid_slope),
    "tanh": _slope(_tanh_slope),
    "exp": _slope(lambda made: made.result),
    "log": _log,
    "sqrt": _slope(_root_slope),
    "rsqrt": _slope(_inverse_root_slope),
    "reciprocal": _slope(_reciprocal_slope),
}
