"""The sums at which a file's scaling of 32-bit sums to 8 bits leaps, and whole numbers that leap there."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite._affine import fit
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import Layer

SUMS = 1 << 31
"""The bound on sums."""

_MOST_DOWN = 40


def thresholds(
    multiplier: int, exponent: int, zero: int, clamps: tuple[int, int], rounding: str = "tflite"
) -> tuple[list[int], int]:
    """Returns the least sums that give at least each number above the lower clamp, and the first of these numbers.

    Sums beyond 32 bits are left out, since they do not occur.
    """
    most = SUMS >> max(exponent, 0)
    wanted = np.arange(clamps[0] + 1, clamps[1] + 1)
    low, high = np.full(len(wanted), -most), np.full(len(wanted), most)
    while (low < high).any():
        middle = (low + high) >> 1
        reached = kernels.ROUNDINGS[rounding](middle, multiplier, exponent) + zero >= wanted
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    inside = (low > -most) & (low < most)
    first = int(wanted[inside][0]) if inside.any() else clamps[0]
    return low[inside].tolist(), first


def scaling_of(layer: Layer, multiplier: int, exponent: int) -> tuple[int, list[int], int]:
    """Returns M, c of negative sums and of the others (or one for all), and T, for a multiplier of the layer."""
    leaps, first = thresholds(multiplier, exponent, layer.target.zero, layer.clamps, layer.rounding)
    if not leaps:
        return 0, [int(clamped(layer, 0, multiplier, exponent)) << 1], 1
    slope = float(np.ldexp(float(multiplier), exponent - 31))
    found = fit([(leaps, first)], slope)
    if found is None and layer.rounding == "float32":
        found = _nearly(leaps, first, layer.target.zero, slope)
    negative = sum(leap <= 0 for leap in leaps)
    if found is None and 0 < negative < len(leaps):
        found = fit([(leaps[:negative], first), (leaps[negative:], first + negative)], slope)
    if found is None:
        raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does, by {slope}")
    return found


def _nearly(leaps: list[int], first: int, zero: int, slope: float) -> tuple[int, list[int], int] | None:
    """Fits M, c and T except at sums that float rounding decides: there the number may be one more or less.

    These sums lie so close to halves that their product in float32, of 24 bits, is a half or beyond it.
    """
    values = first + np.arange(len(leaps))
    halves = (values - zero - 0.5) / slope
    away = np.abs(halves - np.rint(halves))
    for bits in (23, 22, 21, 20):
        kept = away > np.abs(halves) * 2.0**-bits
        if kept.any():
            found = fit([(np.asarray(leaps)[kept].tolist(), values[kept].tolist())], slope)
            if found is not None:
                return found
    return _halves_up(leaps, values - zero, zero, slope)


def _halves_up(leaps: list[int], above: Integers, zero: int, slope: float) -> tuple[int, list[int], int] | None:
    """Fits M, c and T if many sums are halves, as in means of four.

    All halves are rounded up; floats round every second one up.
    """
    for down in range(1, _MOST_DOWN):
        times = round(slope * 2.0**down)
        if times:
            ours = -(-((above << down) - (1 << down - 1)) // times)  # the quotient, rounded up
            if np.abs(ours - leaps).max() <= 1:
                return times, [(zero << down) + (1 << down - 1)], down
    return None


def clamped(layer: Layer, sums: Any, multiplier: Any, exponent: Any) -> Integers:
    """Returns the file's library's results for 32-bit sums."""
    return np.clip(layer.scaled(sums, multiplier, exponent) + layer.target.zero, *layer.clamps)
