"""Results of planners: public steps, and the model owner's secrets for each."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class Secret:
    """The secrets of one step, which only the model's owner has."""

    weights: Any = None
    offsets: Any = None
    start: int = 0
    """The number that is added to the step's operand, to make it the operand less its zero point."""
    width: int = 255
    """The largest result of the step."""
    below: Any = None
    above: Any = None
    """The numbers added to negative sums, and to all others, if these differ."""
    first_weights: Any = None
    """For both arrays of a sum, if they are scaled and rounded first; so are the three that follow."""
    first_offsets: Any = None
    first_below: Any = None
    first_above: Any = None


@dataclasses.dataclass
class Plan:
    """A network as a program: the public steps, the secrets, and the bases and units of its arrays."""

    steps: list[dict[str, Any]]
    secrets: list[Secret]
    bases: list[int]
    """For the input and every result: the 8-bit number of the file that 0 stands for."""
    units: list[float]
    """For the input and every result: the difference of 8-bit numbers that 1 stands for."""


def signed_bits(low: int, high: int) -> int:
    """Returns the bits of two's complement numbers between `low` and `high`."""
    return max(int(high).bit_length(), (-int(low) - 1).bit_length() if low < 0 else 0) + 1
