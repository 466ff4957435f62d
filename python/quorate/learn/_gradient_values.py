"""The values that rules of gradients work on: gradients with a public factor, and steps with their operands."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate import _source
from quorate._clear._steps import Step
from quorate.array import SecretArray
from quorate.session import Session

__all__ = ["Factored", "Given", "Made", "ceil_log2", "floor_log2", "most_of", "normalised", "of_node", "plain"]

# Public numbers at least this large lose at most three bits in a product, and are not scaled.
_LARGE_ENOUGH = 2.0**-3

# Public numbers that differ in size are scaled so that the largest is below 2^(_MOST_SPREAD + 1).
_MOST_SPREAD = 10


@dataclasses.dataclass(frozen=True)
class Factored:
    """A gradient as an array, secret or numpy's, times a public factor.

    The factor is applied once and late, because products by a small number such as 1/n lose digits. Small slopes are
    kept multiplied by a power of two, for which the factor compensates.

    Attributes:
        array: the array, secret or numpy's.
        factor: the public factor.
        lifted: the bits by which secrets are scaled up by such powers of two; they can be dropped again.
    """

    array: Any
    factor: float = 1.0
    lifted: int = 0

    def __post_init__(self) -> None:
        if self.is_public:  # operators turn numpy's arrays without axes into numbers
            object.__setattr__(self, "array", np.asarray(self.array))

    @property
    def is_public(self) -> bool:
        """Whether the array is public."""
        return not isinstance(self.array, SecretArray)

    def of(self, array: Any, factor: float = 1.0) -> Factored:
        """Returns a gradient with another array, whose factor is multiplied by `factor`."""
        return Factored(array, self.factor * factor, self.lifted)

    def up(self, bits: int) -> Factored:
        """Returns the gradient with its array scaled up by some bits, and the factor scaled down. Local."""
        if bits == 0:
            return self
        return self.of(self.array * 2.0**bits if self.is_public else self.array << bits).raised(bits)

    def of_half(self) -> Factored:
        """Returns half of the gradient."""
        return self.of(self.array, 0.5)

    def raised(self, bits: int) -> Factored:
        """Returns the gradient if its array was scaled up by some bits already: adjusts the factor."""
        return Factored(self.array, self.factor * 2.0**-bits, self.lifted + bits)

    def scaled_as(self, other: Factored) -> Factored:
        """Returns the gradient if its array was multiplied by the array of another one: multiplies the factors."""
        return Factored(self.array, self.factor * other.factor, self.lifted + other.lifted)

    def down(self, bits: int) -> Factored:
        """Returns the gradient with its array scaled down by some bits, which are lost.

        It is rounded to the nearest: if each of many slopes were rounded down, their sum would be off by half a unit
        for each.
        """
        return Factored(self.array * 2.0**-bits, self.factor * 2.0**bits, self.lifted - bits)

    def whole(self, digits: int = 0) -> Any:
        """Returns the gradient with the factor applied.

        Args:
            digits: the number of fractional bits that a gradient which was scaled up keeps beyond the usual ones, if
                its dtype grows.
        """
        if self.factor == 1.0:
            return self.array
        # Bits above those by which the factor makes results smaller would be 0, and those that were not lifted unknown.
        kept = min(digits, self.lifted, -floor_log2(abs(self.factor)))
        if kept <= 0 or self.is_public or not self.array.dtype.grows:
            return self.array * self.factor
        native, line = self.array._session._native, _source.line()
        return self.array._new(native.finer_multiple(self.array._node, self.factor, kept, line))

    def even(self) -> Factored:
        """Scales public numbers to a size that keeps digits in fixed point; the factor compensates."""
        if not self.is_public:
            return self
        numbers, power = normalised(self.array)
        return Factored(numbers, self.factor * 2.0**power, self.lifted)

    def plus(self, other: Factored) -> Factored:
        """Returns the sum of both gradients, in the smaller one's units if there is room."""
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
        """Whether the gradient is public, and 0."""
        return self.is_public and not self.array.any()

    @property
    def is_known(self) -> bool:
        """Whether the gradient is public or has a proven range."""
        return self.is_public or most_of(self.array) is not None


def most_of(x: SecretArray) -> float | None:
    """Returns the largest magnitude that an array is proven to have; None if nothing is proven."""
    proven = x._session._native.proven(x._node)
    return None if proven is None else float(max(-proven[0], proven[1])) / 2.0**x.dtype.frac


def normalised(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Splits values into numbers, of a size that keeps digits in a dtype of few fractional bits, and a power of two.

    The power is returned as its exponent. Whole numbers, and values most of which are large enough, are not scaled.
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
    """Returns the binary logarithm of a number above 0, rounded down exactly, so that all parties agree."""
    return math.frexp(x)[1] - 1


def ceil_log2(x: float) -> int:
    """Returns the binary logarithm of a number above 0, rounded up exactly, so that all parties agree."""
    share, power = math.frexp(x)
    return power - 1 if share == 0.5 else power


def _are_whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all() and (np.abs(values) < 1 << 31).all())


def plain(values: np.ndarray) -> Any:
    """Returns whole numbers as integers, because products by them are local, and equal numbers as a single one."""
    values = np.asarray(values, float)
    if values.size and (values == values.flat[0]).all():
        values = np.asarray(values.flat[0])
    return values.astype(np.int64) if _are_whole(values) else values


def of_node(session: Session, node: int) -> SecretArray:
    """Returns a node of the session's program as an array."""
    return SecretArray(session, session._native.array(node))


@dataclasses.dataclass(frozen=True)
class Made:
    """A step of the program, with its operands, as rules of gradients need it.

    Attributes:
        session: the step's session.
        step: the operation.
        constants: the values of public operands.
        shapes: the shapes of the operands.
        wanted: whether each operand needs a gradient.
        sources: for operands that broadcast a smaller array, that array's node.
        before: the steps that made the operands, or the arrays that they broadcast; None for parameters.
        reals: for whole operands that are fixed point times 2^f, the node of that fixed point.
        spare: the largest number of bits by which slopes may be scaled up.
        inverses: inverses of operands that rules have computed, by position.
    """

    session: Session
    step: Step
    constants: Sequence[np.ndarray | None]
    shapes: Sequence[tuple[int, ...]]
    wanted: Sequence[bool]
    sources: Sequence[int | None]
    before: Sequence[Step | None]
    reals: Sequence[int | None]
    spare: int
    inverses: dict[int, Factored] = dataclasses.field(default_factory=dict)

    def operand(self, place: int) -> SecretArray:
        """Returns an operand as an array."""
        return of_node(self.session, self.step.inputs[place])

    def source(self, place: int) -> SecretArray:
        """Returns an operand, or the smaller array that broadcasts to it."""
        source = self.sources[place]
        return self.operand(place) if source is None else of_node(self.session, source)

    @property
    def result(self) -> SecretArray:
        """The step's result."""
        return of_node(self.session, self.step.node)

    def where(self, place: int, gradient: Callable[[], Factored]) -> Factored | None:
        """Returns the gradient of an operand if it is needed, else None."""
        return gradient() if self.wanted[place] else None


Given = list[Factored | None]
