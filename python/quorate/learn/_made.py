"""What rules of gradients work on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate._shadow import Step
from quorate.array import SecretArray
from quorate.session import Session

__all__ = ["Factored", "Given", "Made"]


@dataclasses.dataclass(frozen=True)
class Factored:
    """A gradient as an array, of secrets or of numpy's, times a public number.

    That is multiplied once and late: the 1/n of a mean has few bits, and the multiple has all.
    """

    array: Any
    factor: float = 1.0

    def whole(self) -> Any:
        """The gradient itself."""
        return self.array if self.factor == 1.0 else self.array * self.factor

    def plus(self, other: Factored) -> Factored:
        """The sum of both."""
        if self.factor == other.factor:
            return Factored(self.array + other.array, self.factor)
        return Factored(self.whole() + other.whole())


@dataclasses.dataclass(frozen=True)
class Made:
    """A step, its operands as steps where they are public, and which operands want a gradient."""

    session: Session
    step: Step
    constants: Sequence[np.ndarray | None]
    shapes: Sequence[tuple[int, ...]]
    wanted: Sequence[bool]

    def operand(self, place: int) -> SecretArray:
        """An operand, as an array."""
        return SecretArray(self.session, self.step.inputs[place])

    @property
    def result(self) -> SecretArray:
        """What the step makes."""
        return SecretArray(self.session, self.step.node)

    def where(self, place: int, gradient: Callable[[], Factored]) -> Factored | None:
        """A gradient, if that operand wants one."""
        return gradient() if self.wanted[place] else None


Given = list[Factored | None]
