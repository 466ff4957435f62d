"""TFLite's reference kernels on whole numbers, batch first: scaling of 32-bit sums to 8 bits, and layers.

**Source**: `tensorflow/lite/kernels/internal`, `common.h`, `quantization_util.cc` and `reference/`; gemmlowp's
`fixedpoint.h`. Images are (batch, channels, rows, columns) here.

Programs on secrets do not scale by these functions, but by numbers that are fitted to them; tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._clear import _kernels as kernels

Integers = NDArray[np.int64]


def quantised_multiplier(real: float) -> tuple[int, int]:
    """Returns a multiplier as 31 fractional bits and a power of two: `QuantizeMultiplier`.

    >>> quantised_multiplier(0.375)
    (1610612736, -1)
    """
    if real == 0:
        return 0, 0
    mantissa, exponent = math.frexp(real)
    scaled = math.floor(math.ldexp(mantissa, 31) + 0.5)
    if scaled == 1 << 31:
        scaled, exponent = scaled // 2, exponent + 1
    return (0, 0) if exponent < -31 else (scaled, exponent)


def rescaled(x: Any, multiplier: Any, exponent: Any) -> Integers:
    """`MultiplyByQuantizedMultiplier`: a product that rounds halves up, then a shift that rounds them away from 0.

    >>> rescaled(np.array([-3, -1, 0, 1, 3]), 1 << 30, 0)
    array([-1,  0,  0,  1,  2])
    """
    left, right = np.maximum(exponent, 0), np.maximum(-np.asarray(exponent), 0)
    product = (np.asarray(x, np.int64) << left) * multiplier
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    high = np.where(nudged >= 0, nudged >> 31, -(-nudged >> 31))  # a division towards 0
    mask = (np.int64(1) << right) - 1
    return np.asarray((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)))


def nearest(x: Any, multiplier: Any, exponent: Any) -> Integers:
    """Onnxruntime's `MlasRequantizeOutput`: a product in float32, halves to the even number.

    >>> nearest(np.array([-3, -1, 0, 1, 3]), 1 << 30, 0)
    array([-2,  0,  0,  0,  2])
    """
    factor = np.ldexp(np.asarray(multiplier, np.float64), np.asarray(exponent) - 31).astype(np.float32)
    return np.rint(np.asarray(x, np.int64).astype(np.float32) * factor).astype(np.int64)


ROUNDINGS = {"tflite": rescaled, "float32": nearest}
"""The functions that make 8 bits of 32-bit sums, by the library that rounds so."""


def conv(x: Integers, zero: int, w: Integers, attrs: dict[str, Any]) -> Integers:
    """Convolves images less their zero point with filters less theirs; around images there is the zero point.

    Sums of less than 2^53 are exact in double precision.
    """
    sums = kernels.conv(
        (x - zero).astype(np.float64),
        w.astype(np.float64),
        attrs["stride"],
        attrs["dilation"],
        attrs["pads"],
        attrs["groups"],
    )
    return np.rint(sums).astype(np.int64)


def sum_multipliers(one: float, other: float, target: float) -> tuple[list[int], list[int]]:
    """Returns the multipliers and exponents of `add.cc` for two arrays and their sum, by their scales.

    >>> sum_multipliers(0.5, 0.25, 1.0)
    ([1073741824, 1073741824, 1073741824], [0, -1, -19])
    """
    twice = 2 * max(one, other)
    found = [quantised_multiplier(real) for real in (one / twice, other / twice, twice / ((1 << SHIFT) * target))]
    return [m for m, _ in found], [e for _, e in found]


SHIFT = 20
"""The additional bits of numbers that are added."""


def added(x: Integers, y: Integers, layer: Any) -> Integers:
    """Adds two arrays of a `Layer`; the sum is not yet clamped."""
    if layer.rounding == "float32":
        return _added_nearest(x, y, layer)
    shifted = [(v - source.zero) << SHIFT for v, source in zip((x, y), layer.sources, strict=True)]
    *inner, outer = zip(layer.multipliers.tolist(), layer.exponents.tolist(), strict=True)
    total = sum(rescaled(v, *factors) for v, factors in zip(shifted, inner, strict=True))
    return rescaled(total, *outer) + layer.target.zero


def _added_nearest(x: Integers, y: Integers, layer: Any) -> Integers:
    """Adds as onnxruntime's `MlasQLinearAdd`: fused products and sums in float32, halves to the even number."""
    ratios = [np.float32(source.scale) / np.float32(layer.target.scale) for source in layer.sources]
    zeros = [np.float32(source.zero) for source in layer.sources]
    total: Any = np.float32(layer.target.zero) - (ratios[0] * zeros[0] + ratios[1] * zeros[1])
    for value, ratio in zip((x, y), ratios, strict=True):
        total = (value.astype(np.float64) * float(ratio) + np.asarray(total, np.float64)).astype(np.float32)
    return np.rint(total).astype(np.int64)


def counts(attrs: dict[str, Any], sizes: Sequence[int]) -> Integers:
    """Counts the pixels of each window of a pool within the image.

    >>> counts({"size": (2, 2), "stride": (1, 1), "pads": ((0, 1), (0, 0))}, (2, 2))
    array([[4],
           [2]])
    """
    along = []
    for n, window, step, (before, after) in zip(sizes, attrs["size"], attrs["stride"], attrs["pads"], strict=True):
        starts = np.arange((n + before + after - window) // step + 1) * step - before
        along.append(np.minimum(starts + window, n) - np.maximum(starts, 0))
    return np.multiply.outer(along[0], along[1])


def window_sums(x: Integers, attrs: dict[str, Any]) -> Integers:
    """Returns the sum of each window of a pool."""
    window = np.ones((x.shape[1], 1, *attrs["size"]))
    sums = kernels.conv(x.astype(np.float64), window, attrs["stride"], (1, 1), attrs["pads"], x.shape[1])
    return np.rint(sums).astype(np.int64)


def mean(sums: Integers, count: Any) -> Integers:
    """Returns means, rounded half away from 0."""
    half = np.asarray(count) // 2
    return np.where(sums > 0, (sums + half) // count, -((half - sums) // count))
