"""What planners make: public steps, and what only the model's owner knows of each."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class Secret:
    """Of one step: what only the model's owner knows."""

    weights: Any = None
    offsets: Any = None
    start: int = 0
    """What is added to what the step takes, so that it is that less its zero point."""
    width: int = 255
    """The largest number that the step gives."""
    below: Any = None
    above: Any = None
    """What is added to negative sums, and to others, where that is not the same."""
    first_weights: Any = None
    """Of both arrays of a sum, where they are scaled and rounded before; so are the three that follow."""
    first_offsets: Any = None
    first_below: Any = None
    first_above: Any = None


@dataclasses.dataclass
class Plan:
    """A network as a program: what is public of each step, what is secret, and what numbers are carried less of."""

    steps: list[dict[str, Any]]
    secrets: list[Secret]
    bases: list[int]
    """For the input and every result, in 8-bit numbers of the file: the number that 0 stands for."""
    units: list[float]
    """The same: what 1 stands for."""


def signed_bits(low: int, high: int) -> int:
    """Of two's complement numbers between both."""
    return max(int(high).bit_length(), (-int(low) - 1).bit_length() if low < 0 else 0) + 1
