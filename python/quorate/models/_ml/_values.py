"""What is known of the values of a file with operators of `ai.onnx.ml`, which scikit-learn's converter writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.models._ensemble import PlainBoosting, PlainForest
from quorate.models._linear import PlainLinear
from quorate.models._onnx._layout import Unsupported
from quorate.models._pipeline import Before, beside

REAL, WHOLE, TEXT = "real", "whole", "text"
"""Kinds of features: numbers, numbers that were cast to whole ones for an encoder of categories, texts."""

Floats = np.ndarray


class NeuralError(Exception):
    """Something that is computed in another way than models are: as in a network, or of what a model says."""


@dataclasses.dataclass(frozen=True)
class Chain:
    """A column of a record, and what the file computes of it alone: a rising or falling function."""

    place: int
    """Among the columns that the records' owner computes."""
    steps: tuple[tuple[str, float], ...] = ()
    """In order: "sub", "add", "mul" or "div", and by which number."""

    def then(self, operator: str, number: float) -> Chain:
        """One more step."""
        return dataclasses.replace(self, steps=(*self.steps, (operator, float(number))))

    def of(self, values: Floats) -> Floats:
        """What the file computes of such numbers, in their own precision."""
        made = values
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for operator, number in self.steps:
                made = _OPERATORS[operator](made, values.dtype.type(number))
        return made


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}


@dataclasses.dataclass(frozen=True)
class Features:
    """Numbers for each record, (records, numbers), that are linear in the columns of records."""

    before: Before
    chains: tuple[Chain, ...] | None
    """Of each number, where each is of one column; None where several were added up."""
    kind: str = REAL

    @property
    def width(self) -> int:
        """How many numbers a record has here."""
        return len(self.before.matrix)

    def kept(self, which: Any) -> Features:
        """Some of the numbers, in this order."""
        places = np.asarray(which, np.int64).ravel()
        if places.size == 0 or places.min() < -self.width or places.max() >= self.width:
            raise Unsupported(f"it takes columns {places.tolist()[:8]} of {self.width}")
        places = places % self.width
        chains = None if self.chains is None else tuple(self.chains[i] for i in places)
        return dataclasses.replace(self, before=self.before.kept(places), chains=chains)

    def scaled(self, operator: str, numbers: Floats, dtype: np.dtype) -> Features:
        """Each number and one of these, by an operator."""
        if self.kind != REAL:
            raise Unsupported("it computes with categories")
        given = np.broadcast_to(np.asarray(numbers, np.float64).reshape(-1), (self.width,))
        if not np.isfinite(given).all() or (operator == "div" and not given.all()):
            raise Unsupported("its constants are not finite, or divide by 0")
        ones, zeros = np.ones(self.width), np.zeros(self.width)
        factors = given if operator == "mul" else 1 / given if operator == "div" else ones
        shift = given if operator == "add" else -given if operator == "sub" else zeros
        chains = None
        if self.chains is not None:
            chains = tuple(c.then(operator, number) for c, number in zip(self.chains, given, strict=True))
        before = dataclasses.replace(self.before.scaled(factors, 0.0, shift), dtype=dtype)
        return dataclasses.replace(self, before=before, chains=chains)

    def product(self, matrix: Floats, dtype: np.dtype) -> Features:
        """(numbers, columns): sums of multiples."""
        if self.kind != REAL:
            raise Unsupported("it computes with categories")
        w = np.asarray(matrix, np.float64)
        if w.ndim != 2 or w.shape[0] != self.width or not np.isfinite(w).all():
            raise Unsupported(f"a matrix of shape {w.shape} times {self.width} numbers, or one that is not finite")
        before = self.before.then(w.T, np.zeros(self.width), np.zeros(w.shape[1]))
        return dataclasses.replace(self, before=dataclasses.replace(before, dtype=dtype), chains=None)


def joined(parts: Sequence[Features]) -> Features:
    """Numbers of several arrays side by side."""
    kinds = {part.kind for part in parts}
    if len(kinds) > 1:
        raise Unsupported("it joins texts and numbers")
    chains: list[Chain] | None = []
    for part in parts:
        chains = None if chains is None or part.chains is None else [*chains, *part.chains]
    before = beside(parts[0].before, [part.before for part in parts])
    return Features(before, None if chains is None else tuple(chains), kinds.pop())


@dataclasses.dataclass(frozen=True)
class Risen:
    """A rising function of linear numbers: "logistic", "exp" or "1 + exp" of each, or their "softmax"."""

    function: str
    features: Features


@dataclasses.dataclass(frozen=True)
class Pairs:
    """One decision for each pair of classes, of which each is a vote."""

    decisions: PlainLinear
    features: Features


@dataclasses.dataclass(frozen=True)
class Trees:
    """Sums over trees.

    Attributes:
        plain: what they are.
        features: what they compare.
        link: how probabilities follow from the sums.
    """

    plain: PlainForest | PlainBoosting
    features: Features
    link: str | None = None


@dataclasses.dataclass(frozen=True)
class Numbers:
    """What a regression gives: linear numbers, or sums over trees."""

    of: PlainLinear | Trees
    features: Features
    targets: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Place:
    """Which of several numbers is the largest, the first of equal ones."""

    of: Features | Risen


@dataclasses.dataclass(frozen=True)
class Label:
    """The class that a record gets."""

    of: Features | Risen | Pairs | Trees
    classes: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Scores:
    """What a classifier gives beside its label."""

    of: Features | Risen | Pairs | Trees


@dataclasses.dataclass(frozen=True)
class Opaque:
    """Something else: a network's numbers, or what is computed of a model's scores, which no question asks for."""


Value = Any
"""One of these, a numpy array that is known now, or None where an optional input is left out."""
