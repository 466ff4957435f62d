"""The steps of a program, as the native module describes them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._clear._integers import exact, limits
from quorate.dtypes import Dtype

if TYPE_CHECKING:
    from quorate import _quorate

__all__ = ["Product", "Scaling", "Step"]


@dataclasses.dataclass
class Product:
    """Multiples by whole + factors / 2^shift."""

    whole: np.ndarray
    factors: np.ndarray
    shift: int

    def ends(self, x: np.ndarray, either_way: bool) -> list[np.ndarray]:
        """Of integers: to the nearest, and rounded either way."""
        whole, rest = self.whole * x, self.factors * x
        ends = [whole + ((rest + ((1 << self.shift) >> 1)) >> self.shift)]
        return [*ends, whole + (rest >> self.shift), whole - (-rest >> self.shift)] if either_way else ends


@dataclasses.dataclass
class Scaling:
    """What a scaling multiplies by.

    Attributes:
        lower: for all numbers, or for their low bits where there is an upper one.
        limits: the magnitudes beyond which it saturates (the largest element where it does not).
        reals: the numbers themselves.
        from_bit: how many low bits there are.
        upper: for the other bits.
    """

    lower: Product
    limits: np.ndarray
    reals: np.ndarray
    from_bit: int | None
    upper: Product | None

    def ends(self, x: np.ndarray, either_way: bool) -> list[np.ndarray]:
        """Of integers, what the multiples may be: to the nearest first."""
        if self.upper is None or self.from_bit is None:
            return self.lower.ends(x, either_way)
        high = x >> self.from_bit
        both = zip(
            self.lower.ends(x - (high << self.from_bit), either_way), self.upper.ends(high, either_way), strict=True
        )
        return [low + high for low, high in both]


@dataclasses.dataclass
class Step:
    """One node of the program.

    Attributes:
        node: its number.
        op: the operation, by the name that plans use.
        inputs: the numbers of its operands' nodes.
        shape, dtype: the shape and dtype of its result.
        numbers: further arguments of the operation, such as an axis or a shift.
        index: the positions of a gather.
        units: the values of a constant, in ring units.
        divisors: the divisors of a floor division or a remainder.
        circuit: the circuit of a circuit's evaluation.
        table: for a look-up, the number that the first entry belongs to, and all entries, in ring units.
        scaling: the factors of a scaling.
        what: a description of the step, with its place.
        line: file and line.
        error_is_stated: whether lost digits are not reported.
        grows: whether the result is a real without a stated dtype.
    """

    node: int
    op: str
    inputs: list[int]
    shape: tuple[int, ...]
    dtype: Dtype
    numbers: list[int]
    index: np.ndarray | None
    units: np.ndarray | None
    divisors: np.ndarray | None
    circuit: _quorate.Circuit | None
    table: tuple[int, np.ndarray] | None
    scaling: Scaling | None
    what: str
    line: tuple[str, int]
    error_is_stated: bool
    grows: bool

    @staticmethod
    def of(raw: dict[str, Any]) -> Step:
        """Makes a step from the native module's dictionary."""
        shape = tuple(raw["shape"])
        units, divisors = (_spread(raw.get(name), shape) for name in ("units", "divisors"))
        index = np.frombuffer(raw["index"], "<u4") if "index" in raw else None
        dtype = Dtype(*raw["dtype"])
        same = ("node", "op", "inputs", "numbers", "what", "line", "error_is_stated", "grows")
        named = {name: raw[name] for name in same}
        return Step(
            shape=shape,
            dtype=dtype,
            index=index,
            units=units,
            divisors=divisors,
            circuit=raw.get("circuit"),
            table=(raw["table"][0], exact(raw["table"][1])) if "table" in raw else None,
            scaling=_scaling(raw, shape, dtype) if "whole" in raw else None,
            **named,
        )


def _scaling(raw: dict[str, Any], shape: tuple[int, ...], dtype: Dtype) -> Scaling:
    def product(whole: list[int], factors: list[int], shift: int) -> Product:
        return Product(_every(whole, shape), _every(factors, shape), shift)

    lower = product(raw["whole"], raw["factors"], raw["numbers"][0])
    largest = _every(raw.get("limits", [limits(dtype)[1]]), shape)
    reals = np.asarray(raw["reals"], float)
    reals = np.full(shape, reals[0]) if len(reals) == 1 else reals.reshape(shape)
    from_bit, *upper = raw.get("upper", (None,))
    return Scaling(lower, largest, reals, from_bit, product(*upper) if upper else None)


def _spread(values: list[int] | None, shape: tuple[int, ...]) -> np.ndarray | None:
    return None if values is None else _every(values, shape)


def _every(values: list[int], shape: tuple[int, ...]) -> np.ndarray:
    """Returns an array with a value for each element; a single value is repeated."""
    array = exact(values)
    return np.full(shape, array[0], array.dtype) if len(array) == 1 else array.reshape(shape)
