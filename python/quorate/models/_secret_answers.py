"""Answers that stay secret: labels, numbers and probabilities as arrays for further computation.

A decision stands for D / 2**u, |D| < 2**62, where u is secret: only the model's owner has it. The owner inputs 2**m,
m = F + K - u. The product D 2**m fits 120 bits. Shifted right by K, it is the decision with F = 16 fractional bits,
rounded down. With K = 62 a decision that would need m < 0 is below 2**-F, and becomes 0 or -1 unit; m > 57 is refused.
Decisions of 120 bits lose their last 57 bits first, and K is 61: rounded down to 62 bits they could be -2**62, and
times 2**57 leave 120 bits.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

import quorate as qr
from quorate.errors import ModelError
from quorate.models._backend import Array, Secret
from quorate.models._ensemble import value_bits
from quorate.models._neural_network import FRACTION
from quorate.models._numerics import Integers
from quorate.models._shape import NARROW, Shape
from quorate.models._tree import leaves_of


class Labelled(Protocol):
    """The properties of a model that predicts labels."""

    @property
    def kind(self) -> str: ...
    @property
    def classes(self) -> tuple[Any, ...]: ...
    @property
    def multilabel(self) -> bool | None: ...
    @property
    def label_bits(self) -> int: ...


ANSWERS = qr.fixed(64, FRACTION)

_SHIFT = 62
_MOST = 57
_WIDE = 120


def labels(on: Secret, shape: Labelled, index: Array) -> Array:
    """Returns the predicted labels: whole numbers as they are, truth values as bits, all others as their places."""
    if shape.multilabel:
        return index
    count, classes = index.shape[-1], np.asarray(shape.classes)
    if shape.kind == "tree" and shape.label_bits == 1:
        index = index.reshape(count)
    if classes.dtype == bool and classes.tolist() == [False, True]:
        return index if index.dtype == qr.bit else index > 0
    if not (_whole(shape.classes) and np.abs(classes).max() < 1 << 31):
        classes = np.arange(len(classes))
    numbers = classes.astype(np.int64)
    if len(numbers) == 2:
        return index * int(numbers[1] - numbers[0]) + int(numbers[0])
    if shape.kind == "tree":
        index = (index.astype(on.whole).T * (1 << np.arange(shape.label_bits))).sum(axis=1)
    if (numbers == np.arange(len(numbers))).all():
        return index
    # The bits of a tree's index can exceed the number of classes.
    table = np.pad(numbers, (0, (1 << shape.label_bits) - len(numbers)), mode="edge")
    return qr.lookup(index, table, dtype=on.whole)


def _whole(classes: tuple[Any, ...]) -> bool:
    return all(isinstance(c, (int, float)) and not isinstance(c, bool) and c == int(c) for c in classes)


def numbers(on: Secret, shape: Shape, decisions: Array, units: Integers | None, owner: int) -> Array:
    """Returns the decisions, (records, decisions), in `qr.fixed(64, 16)`; `units` are given where the model is."""
    powers = None if units is None else _powers(shape, units)
    shift = _SHIFT
    if shape.decision_bits > NARROW:
        decisions = decisions >> (shape.decision_bits - NARROW + 1)
        shift -= 1
    size, most = (decisions.shape[1],), 1 << _MOST
    if decisions.dtype.frac:  # networks with tanh and logistic
        factors = on.keep("factors", lambda: on.integers(powers, owner, size, 64, most))
    else:
        factors = on.keep("factors", lambda: on.units(powers, owner, size, FRACTION, most))
    return _scaled(decisions, factors, shift)


def check_numbers(shape: Shape, units: Integers) -> None:
    """Refuses a model whose probabilities or numbers would be too large as secrets, before any question."""
    if shape.link != "share":
        _powers(shape, units)


def units_of_62(shape: Shape, units: Integers) -> Integers:
    """Returns the units that decisions have in 62 bits: those of 120 bits have 56 more."""
    return np.asarray(units, np.int64) - (shape.decision_bits - NARROW)


def _powers(shape: Shape, units: Integers) -> Integers:
    powers = FRACTION + _SHIFT - units_of_62(shape, units)
    if powers.max() > _MOST:
        raise ModelError(
            f"decisions of this model may exceed 2**{_MOST - FRACTION}, too large for secret numbers: state "
            "tighter bounds=, or fit the estimator on targets and features of smaller units"
        )
    return np.where(powers < 0, 0, 1 << np.maximum(powers, 0))


def _scaled(decisions: Array, factors: Array, shift: int = _SHIFT) -> Array:
    """Multiplies, and shifts right. One factor is fixed point: the product has its fractional bits and loses none."""
    wide = [x.astype(qr.fixed(_WIDE, FRACTION) if x.dtype.frac else qr.int(_WIDE)) for x in (decisions, factors)]
    return ((wide[0] * wide[1]) >> shift).astype(ANSWERS)


def probabilities(on: Secret, shape: Shape, decisions: Array, units: Integers | None, owner: int) -> Array:
    """Returns the probabilities, a column for each class, in `qr.fixed(64, 16)`."""
    if shape.link == "softmax":
        return qr.softmax(numbers(on, shape, decisions, units, owner), axis=1)
    two = shape.decisions == 1 and not shape.multilabel
    if shape.link == "share":
        factor = np.ldexp(1.0, _SHIFT - value_bits(shape.trees or 1, leaves_of(shape))) / (shape.trees or 1)
        factors = on.constant(factor / (2 if two else 1), qr.fixed(_WIDE, FRACTION))
        shares = _scaled(decisions, factors) + (0.5 if two else 0.0)
    else:
        shares = qr.sigmoid(numbers(on, shape, decisions, units, owner))
    return on.columns([1 - shares, shares]) if two else shares
