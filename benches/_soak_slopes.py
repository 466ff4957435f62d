"""Slopes by least squares, with intervals of 95 %."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

__all__ = ["Slope", "slope"]

#: Samples in a row resemble each other. The means of this number of parts of a series count as independent.
BLOCKS = 24


@dataclasses.dataclass(frozen=True)
class Slope:
    """A slope and its interval of 95 %.

    Attributes:
        value: the slope.
        low, high: the ends of the interval.
    """

    value: float
    low: float
    high: float

    def exceeds(self, bound: float) -> bool:
        """Whether the whole interval is above a bound, so that chance does not explain it."""
        return self.low > bound

    def times(self, factor: float) -> Slope:
        """Returns the slope in another unit."""
        return Slope(*(part * factor for part in (self.value, self.low, self.high)))


def slope(x: Sequence[float], y: Sequence[float]) -> Slope | None:
    """Returns the slope of y over x; None if there are fewer than four samples, or one x.

    Args:
        x, y: samples, in the order of x. They are averaged in `BLOCKS` parts first.
    """
    blocks = min(BLOCKS, len(x))
    parts = [range(i * len(x) // blocks, (i + 1) * len(x) // blocks) for i in range(blocks)]
    xs = [statistics.fmean(x[i] for i in part) for part in parts]
    ys = [statistics.fmean(y[i] for i in part) for part in parts]
    if len(xs) < 4 or len(set(xs)) < 2:
        return None
    middle, level = statistics.fmean(xs), statistics.fmean(ys)
    spread = sum((one - middle) ** 2 for one in xs)
    value = sum((one - middle) * (other - level) for one, other in zip(xs, ys, strict=True)) / spread
    rest = [other - level - value * (one - middle) for one, other in zip(xs, ys, strict=True)]
    error = math.sqrt(sum(one * one for one in rest) / (len(xs) - 2) / spread)
    reach = student(len(xs) - 2) * error
    return Slope(value, value - reach, value + reach)


def student(freedom: int) -> float:
    """Returns the 97.5 % point of Student's distribution, by the expansion of Cornish and Fisher (to 1 % from 3 on)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
