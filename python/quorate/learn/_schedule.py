"""When which records are learnt from, and how far each step goes: all of it public, and alike at all parties."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from quorate._source import at
from quorate.errors import ConfigError, ShapeError

__all__ = ["ALPHA", "EPOCHS", "Multiples", "Schedule", "epochs_of"]

# So many bits at least has what a gradient, and a weight's decay, is multiplied by.
_BITS = 12
_MOST_SHIFT = 40

# Where nothing is stated.
EPOCHS = 20
ALPHA = 1e-4

_LARGEST_C = 1e9


@dataclasses.dataclass(frozen=True)
class Multiples:
    """A step: velocity <- (velocity * v - gradient * g - weight * w) / 2^shift, to the nearest unit."""

    shift: int
    velocity: int
    gradient: int
    weight: int

    def reals(self) -> tuple[float, float, float]:
        """The three as they count."""
        unit = 2.0**-self.shift
        return self.velocity * unit, self.gradient * unit, self.weight * unit

    def most(self, gradient: int, weight: int) -> int:
        """The largest velocity in units, however many steps there are, with gradients and weights up to these.

        By induction: |v'| <= m |v| + a gradient + c weight + 1 is at most V where V (1 - m) is at least the rest.
        """
        rest = self.gradient * gradient + self.weight * weight + (1 << self.shift)
        return -(-rest // ((1 << self.shift) - self.velocity))


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What is public of a training beside the network: see the estimators."""

    epochs: int
    batch_size: int
    learning_rate: float
    momentum: float
    alpha: float
    shuffle: bool
    random_state: int
    C: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("random_state", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
                why = ": all parties draw the same order" if name == "random_state" else ""
                raise ConfigError(at(f"{name} must be a whole number from {least} on, not {value!r}{why}"))
        _number("learning_rate", self.learning_rate, lambda x: 0 < x <= 1000, "above 0, and at most 1000")
        _number("momentum", self.momentum, lambda x: 0 <= x <= 0.999, "from 0 to 0.999")
        _number("alpha", self.alpha, lambda x: 0 <= x <= 1000, "from 0 to 1000")
        if self.C is not None:
            _number("C", self.C, lambda x: 0 < x <= _LARGEST_C, "above 0, and at most 10^9")
            if self.alpha != ALPHA:
                raise ConfigError(at("C and alpha say one thing, alpha = 1 / (C records): state one of them"))

    def of(self, rows: int) -> Schedule:
        """For so many records: `C` says how much the records count together beside the weights, `alpha` for each."""
        return self if self.C is None else dataclasses.replace(self, alpha=1 / (self.C * rows), C=None)

    def check(self, rows: int) -> None:
        """Whether so many records are enough.

        Raises:
            ShapeError: a batch has more.
        """
        if self.batch_size > rows:
            raise ShapeError(at(f"fit: batch_size={self.batch_size} is more than the {rows} records that there are"))

    def generator(self) -> np.random.Generator:
        """What initial weights and then orders are drawn from."""
        return np.random.default_rng(self.random_state)

    def batches(self, rows: int, generator: np.random.Generator) -> Iterator[list[np.ndarray]]:
        """For each epoch the places of the records in each batch; the last one may be smaller."""
        for _ in range(self.epochs):
            order = generator.permutation(rows) if self.shuffle else np.arange(rows)
            yield [order[start : start + self.batch_size] for start in range(0, rows, self.batch_size)]

    def steps(self, rows: int) -> Counter[int]:
        """How many steps there are of each size of batches."""
        whole, rest = divmod(rows, self.batch_size)
        found = Counter({self.batch_size: whole * self.epochs})
        if rest:
            found[rest] += self.epochs
        return found

    def multiples(self, size: int, decays: bool) -> Multiples:
        """Of a step by so many records, of what decays by `alpha` or not.

        Raises:
            ConfigError: the step is too small to be told from none.
        """
        gradient = self.learning_rate / size
        decay = self.learning_rate * self.alpha if decays else 0.0
        # Of all batches the same, that of whole ones: else momentum would be rounded to another number.
        least = self.learning_rate / self.batch_size
        shift = max(_BITS, math.ceil(_BITS - math.log2(min(least, decay or least))))
        if shift > _MOST_SHIFT:
            raise ConfigError(
                at(f"learning_rate={self.learning_rate} with alpha={self.alpha} and batches of {size} is below 2^-28")
            )
        one = 1 << shift
        return Multiples(shift, round(self.momentum * one), round(gradient * one), round(decay * one))


def epochs_of(epochs: Any, max_iter: Any) -> Any:
    """How many epochs, of which scikit-learn's name is `max_iter`.

    Raises:
        ConfigError: both are stated, and differ.
    """
    if max_iter is None:
        return epochs
    if epochs not in (EPOCHS, max_iter):
        raise ConfigError(at(f"epochs={epochs!r} and max_iter={max_iter!r} say one thing: state one of them"))
    return max_iter


def _number(name: str, value: Any, holds: Any, what: str) -> None:
    whole = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not whole or not math.isfinite(value) or not holds(value):
        raise ConfigError(at(f"{name} must be a number {what}, not {value!r}"))
