"""Where TFLite's scaling of 32-bit sums to 8 bits leaps, and whole numbers that leap there."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite._affine import fit
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import Layer

SUMS = 1 << 31
"""No sum is larger."""


def thresholds(multiplier: int, exponent: int, zero: int, clamps: tuple[int, int]) -> tuple[list[int], int]:
    """The least sums that give at least each number above the lower clamp, and the first of these numbers.

    Those beyond 32 bits are left out: no sum gets there.
    """
    most = SUMS >> max(exponent, 0)
    wanted = np.arange(clamps[0] + 1, clamps[1] + 1)
    low, high = np.full(len(wanted), -most), np.full(len(wanted), most)
    while (low < high).any():
        middle = (low + high) >> 1
        reached = kernels.rescaled(middle, multiplier, exponent) + zero >= wanted
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    inside = (low > -most) & (low < most)
    first = int(wanted[inside][0]) if inside.any() else clamps[0]
    return low[inside].tolist(), first


def scaling_of(layer: Layer, multiplier: int, exponent: int) -> tuple[int, list[int], int]:
    """M, c of negative sums and of the others (or one for all), and T, for a multiplier of the layer."""
    leaps, first = thresholds(multiplier, exponent, layer.target.zero, layer.clamps)
    if not leaps:
        return 0, [int(clamped(layer, 0, multiplier, exponent)) << 1], 1
    slope = float(np.ldexp(float(multiplier), exponent - 31))
    found = fit([(leaps, first)], slope)
    negative = sum(leap <= 0 for leap in leaps)
    if found is None and 0 < negative < len(leaps):
        found = fit([(leaps[:negative], first), (leaps[negative:], first + negative)], slope)
    if found is None:
        raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does, by {slope}")
    return found


def clamped(layer: Layer, sums: Any, multiplier: Any, exponent: Any) -> Integers:
    """What TFLite makes of 32-bit sums."""
    return np.clip(kernels.rescaled(sums, multiplier, exponent) + layer.target.zero, *layer.clamps)
