"""The public schedule of a training: the order of records and the size of steps, the same at all parties."""

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

# The least number of bits of the factors of gradients and of weight decay.
_BITS = 12
_MOST_SHIFT = 40

# Defaults.
EPOCHS = 20
ALPHA = 1e-4

_LARGEST_C = 1e9


@dataclasses.dataclass(frozen=True)
class Multiples:
    """The factors of a step: v <- (velocity * v - gradient * g - weight * w) / 2^shift, to the nearest unit."""

    shift: int
    velocity: int
    gradient: int
    weight: int

    def reals(self) -> tuple[float, float, float]:
        """Returns the three factors divided by 2^shift."""
        unit = 2.0**-self.shift
        return self.velocity * unit, self.gradient * unit, self.weight * unit

    def most(self, gradient: int, weight: int) -> int:
        """Returns the largest velocity in units, for any number of steps, with gradients and weights up to these.

        By induction: |v'| <= m |v| + a gradient + c weight + 1 is at most V where V (1 - m) is at least the rest.
        """
        rest = self.gradient * gradient + self.weight * weight + (1 << self.shift)
        return -(-rest // ((1 << self.shift) - self.velocity))


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The public arguments of a training, except those of the network; the estimators document them."""

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
        """Returns the schedule for `rows` records, with `C`, which weighs all records, converted to `alpha`."""
        return self if self.C is None else dataclasses.replace(self, alpha=1 / (self.C * rows), C=None)

    def check(self, rows: int) -> None:
        """Checks that there are enough records.

        Raises:
            ShapeError: a batch is larger.
        """
        if self.batch_size > rows:
            raise ShapeError(at(f"fit: batch_size={self.batch_size} is more than the {rows} records that there are"))

    def generator(self) -> np.random.Generator:
        """Returns the generator from which initial weights, and then orders, are drawn."""
        return np.random.default_rng(self.random_state)

    def batches(self, rows: int, generator: np.random.Generator) -> Iterator[list[np.ndarray]]:
        """Yields, for each epoch, the positions of the records in each batch; the last batch may be smaller."""
        for _ in range(self.epochs):
            order = generator.permutation(rows) if self.shuffle else np.arange(rows)
            yield [order[start : start + self.batch_size] for start in range(0, rows, self.batch_size)]

    def steps(self, rows: int) -> Counter[int]:
        """Returns the number of steps for each size of batches."""
        whole, rest = divmod(rows, self.batch_size)
        found = Counter({self.batch_size: whole * self.epochs})
        if rest:
            found[rest] += self.epochs
        return found

    def multiples(self, size: int, decays: bool) -> Multiples:
        """Returns the factors of a step by `size` records, for parameters that decay by `alpha` or do not.

        Raises:
            ConfigError: the step is too small to have an effect.
        """
        gradient = self.learning_rate / size
        decay = self.learning_rate * self.alpha if decays else 0.0
        # All batches use the shift of whole ones; else momentum would be rounded to different numbers.
        least = self.learning_rate / self.batch_size
        shift = max(_BITS, math.ceil(_BITS - math.log2(min(least, decay or least))))
        if shift > _MOST_SHIFT:
            raise ConfigError(
                at(f"learning_rate={self.learning_rate} with alpha={self.alpha} and batches of {size} is below 2^-28")
            )
        one = 1 << shift
        return Multiples(shift, round(self.momentum * one), round(gradient * one), round(decay * one))


def epochs_of(epochs: Any, max_iter: Any) -> Any:
    """Returns the number of epochs, from `epochs` or from `max_iter`, its name in scikit-learn.

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
