"""Values of a file with operators of `ai.onnx.ml`, as far as they are known during lowering."""

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
    """Raised for a value that is not computed as models are, but as in a network, or from a model's results."""


@dataclasses.dataclass(frozen=True)
class Chain:
    """A column of a record and a rising or falling function of it alone, which the file computes."""

    place: int
    """The place among the columns that the records' owner computes."""
    steps: tuple[tuple[str, float], ...] = ()
    """The steps in order: "sub", "add", "mul" or "div", and the number."""

    def then(self, operator: str, number: float) -> Chain:
        """Returns the chain with one more step."""
        return dataclasses.replace(self, steps=(*self.steps, (operator, float(number))))

    def of(self, values: Floats) -> Floats:
        """Computes the chain on numbers, in their own precision."""
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
    """The chain of each number, if each is computed of one column; None if several columns were added up."""
    kind: str = REAL

    @property
    def width(self) -> int:
        """The number of numbers of a record."""
        return len(self.before.matrix)

    def kept(self, which: Any) -> Features:
        """Returns some of the numbers, in this order."""
        places = np.asarray(which, np.int64).ravel()
        if places.size == 0 or places.min() < -self.width or places.max() >= self.width:
            raise Unsupported(f"it takes columns {places.tolist()[:8]} of {self.width}")
        places = places % self.width
        chains = None if self.chains is None else tuple(self.chains[i] for i in places)
        return dataclasses.replace(self, before=self.before.kept(places), chains=chains)

    def scaled(self, operator: str, numbers: Floats, dtype: np.dtype) -> Features:
        """Applies an operator to each number and one of `numbers`."""
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
        """Returns sums of multiples; the matrix is (numbers, columns)."""
        if self.kind != REAL:
            raise Unsupported("it computes with categories")
        w = np.asarray(matrix, np.float64)
        if w.ndim != 2 or w.shape[0] != self.width or not np.isfinite(w).all():
            raise Unsupported(f"a matrix of shape {w.shape} times {self.width} numbers, or one that is not finite")
        before = self.before.then(w.T, np.zeros(self.width), np.zeros(w.shape[1]))
        return dataclasses.replace(self, before=dataclasses.replace(before, dtype=dtype), chains=None)


def joined(parts: Sequence[Features]) -> Features:
    """Joins the numbers of several arrays side by side."""
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
    """One decision for each pair of classes, each of which is a vote."""

    decisions: PlainLinear
    features: Features


@dataclasses.dataclass(frozen=True)
class Trees:
    """Sums over trees.

    Attributes:
        plain: the trees.
        features: the features that they compare.
        link: how probabilities follow from the sums.
    """

    plain: PlainForest | PlainBoosting
    features: Features
    link: str | None = None


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The result of a regression: linear numbers, or sums over trees."""

    of: PlainLinear | Trees
    features: Features
    targets: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Place:
    """The place of the largest of several numbers, the first of equal ones."""

    of: Features | Risen


@dataclasses.dataclass(frozen=True)
class Label:
    """The class of a record."""

    of: Features | Risen | Pairs | Trees
    classes: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of a classifier."""

    of: Features | Risen | Pairs | Trees


@dataclasses.dataclass(frozen=True)
class Opaque:
    """Another value: a network's numbers, or results of a model's scores, which no question asks for."""


Value = Any
"""One of these, a known numpy array, or None for an optional input that is left out."""
