"""What rules of gradients work on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate._shadow import Step
from quorate.array import SecretArray
from quorate.session import Session

__all__ = ["Factored", "Given", "Made", "ceil_log2", "floor_log2", "most_of", "normalised", "plain"]

# Public numbers of this size and more lose no more than three bits in a product, and stay as they are.
_LARGE_ENOUGH = 2.0**-3

# Public numbers that differ in size: the largest is at most two to this.
_MOST_SPREAD = 10


@dataclasses.dataclass(frozen=True)
class Factored:
    """A gradient as an array, of secrets or of numpy's, times a public number.

    The number is multiplied once and late: the 1/n of a mean has few bits, and the multiple has all. Slopes that would
    be 1/n of something are kept as that times a power of two, which the factor undoes.

    Attributes:
        array: of secrets, or of numpy's.
        factor: public.
        lifted: by how many bits secrets are larger than without those powers of two; they can be given back.
    """

    array: Any
    factor: float = 1.0
    lifted: int = 0

    def __post_init__(self) -> None:
        if self.is_public:  # operators of numpy's arrays without axes give numbers
            object.__setattr__(self, "array", np.asarray(self.array))

    @property
    def is_public(self) -> bool:
        """Whether nothing secret is in it."""
        return not isinstance(self.array, SecretArray)

    def of(self, array: Any, factor: float = 1.0) -> Factored:
        """Another array in its place, times another factor on top."""
        return Factored(array, self.factor * factor, self.lifted)

    def up(self, bits: int) -> Factored:
        """The same gradient, in numbers that are larger by some bits. Local."""
        if bits == 0:
            return self
        return self.of(self.array * 2.0**bits if self.is_public else self.array << bits).raised(bits)

    def of_half(self) -> Factored:
        """Half of the gradient."""
        return self.of(self.array, 0.5)

    def raised(self, bits: int) -> Factored:
        """What this array is the gradient of if its numbers are larger by some bits already."""
        return Factored(self.array, self.factor * 2.0**-bits, self.lifted + bits)

    def scaled_as(self, other: Factored) -> Factored:
        """What this array is the gradient of if the numbers of another one are factors of it."""
        return Factored(self.array, self.factor * other.factor, self.lifted + other.lifted)

    def down(self, bits: int) -> Factored:
        """The same gradient, in numbers that are smaller by some bits, which are lost."""
        return Factored(self.array >> bits, self.factor * 2.0**bits, self.lifted - bits)

    def whole(self) -> Any:
        """The gradient itself."""
        return self.array if self.factor == 1.0 else self.array * self.factor

    def even(self) -> Factored:
        """Public numbers of a size that dtypes hold well: the rest is in the factor."""
        if not self.is_public:
            return self
        numbers, power = normalised(self.array)
        return Factored(numbers, self.factor * 2.0**power)

    def plus(self, other: Factored) -> Factored:
        """The sum of both, in the smaller one's units, if there is room."""
        lifted = max(self.lifted, other.lifted)
        if self.factor == other.factor:
            return Factored(self.array + other.array, self.factor, lifted)
        if self.is_public and other.is_public:
            return Factored(self.array * self.factor + other.array * other.factor)
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        coarse, fine = self.even(), other.even()
        if abs(coarse.factor) < abs(fine.factor):
            coarse, fine = fine, coarse
        for lost in range(0, max(fine.lifted, 0) + 8, 8):
            lower = fine if lost == 0 else fine.down(min(lost, fine.lifted))
            if lost and abs(lower.factor) > abs(coarse.factor):
                break
            ratio = coarse.factor / lower.factor
            array = coarse.array * plain(np.asarray(ratio)) + lower.array
            if most_of(array) is not None or not (coarse.is_known and lower.is_known):
                return Factored(array, lower.factor, lifted)
        return Factored(self.whole() + other.whole())

    @property
    def is_zero(self) -> bool:
        """Whether it is public, and 0."""
        return self.is_public and not self.array.any()

    @property
    def is_known(self) -> bool:
        """Whether it is proven how large it may be."""
        return self.is_public or most_of(self.array) is not None


def most_of(x: SecretArray) -> float | None:
    """The largest magnitude that an array is proven to have; None where nothing is proven."""
    proven = x._session._native.proven(x._node)
    return None if proven is None else float(max(-proven[0], proven[1])) / 2.0**x.dtype.frac


def normalised(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers and a power of two, whose product is `values`: numbers that a dtype of few fractional bits holds well.

    Whole numbers, and those of which most are large enough, stay as they are.
    """
    values = np.asarray(values, float)
    sizes = np.abs(values[values != 0])
    if not sizes.size or _are_whole(values):
        return values, 0
    usual, most = float(np.median(sizes)), float(sizes.max())
    if usual >= _LARGE_ENOUGH:
        return values, 0
    power = max(floor_log2(usual), floor_log2(most) - _MOST_SPREAD)
    return values * 2.0**-power, power


def floor_log2(x: float) -> int:
    """The logarithm of a number above 0, rounded down: exactly, so that it is one at all parties."""
    return math.frexp(x)[1] - 1


def ceil_log2(x: float) -> int:
    """The logarithm of a number above 0, rounded up: exactly, so that it is one at all parties."""
    share, power = math.frexp(x)
    return power - 1 if share == 0.5 else power


def _are_whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all() and (np.abs(values) < 1 << 31).all())


def plain(values: np.ndarray) -> Any:
    """Whole numbers as such: multiples by them are local. One number for all that are equal."""
    values = np.asarray(values, float)
    if values.size and (values == values.flat[0]).all():
        values = np.asarray(values.flat[0])
    return values.astype(np.int64) if _are_whole(values) else values


@dataclasses.dataclass(frozen=True)
class Made:
    """A step, its operands as steps where they are public, and which operands want a gradient.

    Attributes:
        session: of the step.
        step: the operation.
        constants: operands that are public.
        shapes: of the operands.
        wanted: which operands want a gradient.
        sources: of operands that repeat the elements of a smaller array, that array's node.
        before: the steps that made the operands, or what they repeat the elements of; None of parameters.
        spare: by how many bits slopes may be made larger, at most.
        inverses: of operands, by their places, as far as rules asked for them.
    """

    session: Session
    step: Step
    constants: Sequence[np.ndarray | None]
    shapes: Sequence[tuple[int, ...]]
    wanted: Sequence[bool]
    sources: Sequence[int | None]
    before: Sequence[Step | None]
    spare: int
    inverses: dict[int, Factored] = dataclasses.field(default_factory=dict)

    def operand(self, place: int) -> SecretArray:
        """An operand, as an array."""
        return SecretArray(self.session, self.step.inputs[place])

    def source(self, place: int) -> SecretArray:
        """An operand, or the smaller array that broadcasts to it."""
        source = self.sources[place]
        return self.operand(place) if source is None else SecretArray(self.session, source)

    @property
    def result(self) -> SecretArray:
        """What the step makes."""
        return SecretArray(self.session, self.step.node)

    def where(self, place: int, gradient: Callable[[], Factored]) -> Factored | None:
        """A gradient, if that operand wants one."""
        return gradient() if self.wanted[place] else None


Given = list[Factored | None]
