"""Proven facts about an array of a network: bounds, errors, and its unit."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from quorate.models._layers._kernels import Array
from quorate.models._numerics import exponent_above

FRACTION = 16
"""Fractional bits of the dtype in which arrays are kept, and of the arguments and results of functions."""

ROOM = 3
"""Bits that the ring has above the largest sum: for its sign, and for that of a sum and an offset."""

REALS_RING = 64
"""Bits of the ring in which real functions are computed."""

MORE = 1 + 1e-9
"""Bounds are themselves computed with rounding."""

_BEYOND = 4  # times the sample's largest magnitude, where numbers are clipped
_SLACK = 4  # bits by which a proven bound may exceed that without a clip


@dataclasses.dataclass
class Tracked:
    """An array: bounds on its real values and on the error of the integers for them, the unit, and its place."""

    low: Array
    high: Array
    error: Array
    unit: int
    place: int
    reached: float | None = None
    """The largest magnitude in the sample; infinite without one."""
    held: Array | None = None
    """A bound on magnitudes of the integers that stand for the values, whatever their error; None if only `largest` is
    known. Without it, a step of a series would take its errors for larger numbers, and derive larger errors from these.
    """

    @property
    def most(self) -> float:
        """The power of two to which the array may be clipped."""
        if self.reached is None or not math.isfinite(self.reached):
            return math.inf
        return 2.0 ** exponent_above(_BEYOND * self.reached)

    @property
    def is_far_beyond(self) -> bool:
        """Whether the proven bound is far above the magnitudes in the sample."""
        return float(self.largest.max(initial=0.0)) > self.most * 2**_SLACK

    @property
    def largest(self) -> Array:
        """A bound on magnitudes of the values, and of the integers that stand for them."""
        found = self.clear + self.error
        return (found if self.held is None else np.minimum(found, self.held)) * MORE

    @property
    def clear(self) -> Array:
        """A bound on magnitudes of the values."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def holding(self, held: Array | None) -> Tracked:
        """Returns the array with such a bound; an error is at most the sum of the bounds on values and on integers."""
        if held is None:
            return dataclasses.replace(self, held=None)
        held = np.broadcast_to(held, self.low.shape)
        return dataclasses.replace(self, held=held, error=np.minimum(self.error, self.clear + held))

    @property
    def bits(self) -> int:
        """The least e with all integers at most 2^e."""
        return bits_of(float(self.largest.max(initial=0.0)), self.unit)


def bits_of(largest: float, unit: int) -> int:
    """Returns the least e, at least 1, with `largest` 2^unit at most 2^e."""
    if not math.isfinite(largest):
        return 1 << 20
    return max(exponent_above(largest) + unit, 1) if largest else 1
