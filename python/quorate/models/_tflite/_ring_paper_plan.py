"""Plans as in section 6.2 of the ring paper: scales become private bounds, results are cut by private powers of two.

**Source**: rss-ring, section 6.2. Numbers x are carried as v with x - base = d v, for a real d that only the owner has.
A layer adds up S = sum (v + (base - z) / d) w + b / d; its results have the unit 1 / (d m). It cuts off l bits:
v' = S / 2^l, d' = d m 2^l, where l leaves v' `LEVEL` bits. The limits of an activation are private bounds on v'.
**Deviation**: 2^(L - l), for a public L, is folded into weights and offsets, while TruncPriv multiplies by it. The
clamps come behind the cut, where numbers are small. Both orders differ by one rounding. The mean is divided exactly,
not by a power of two. Rings have at most 32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite import _sums as sums
from quorate.models._tflite._layers import WEIGHTED, Layer, Quantised
from quorate.models._tflite._plan import Plan, Secret, signed_bits
from quorate.models._tflite._reference_plan import mean_step

LEVEL = 11
"""Bits of numbers between layers."""

RING = 32
_MEAN = 12


def planned(layers: Sequence[Layer], known: Quantised) -> Plan:
    """Plans the layers."""
    plan = Plan([], [], [known.low], [1.0])
    ranges = [(8, 255)]
    for layer in layers:
        lies = [(plan.bases[i], plan.units[i], ranges[i][1]) for i in layer.inputs]
        (base, unit, _), (level, most) = lies[0], ranges[layer.inputs[0]]
        if layer.kind == "add":
            step, secret, unit = _added(layer, lies, max(ranges[i][0] for i in layer.inputs))
            base, level, most = layer.clamps[0], LEVEL, secret.width
        elif layer.kind in WEIGHTED:
            step, secret, unit = _weighted(layer, base, unit, most)
            base, level, most = layer.clamps[0], LEVEL, secret.width
        elif layer.kind == "avg_pool":
            step, secret = _averaged(layer, level)
        else:
            step, secret = {"kind": layer.kind, **layer.attrs}, Secret()
        plan.steps.append({**step, "level": level, "inputs": list(layer.inputs)})
        ranges.append((level, most))
        plan.secrets.append(secret)
        plan.bases.append(base)
        plan.units.append(unit)
    return plan


def _weighted(layer: Layer, base: int, unit: float, most: int) -> tuple[dict[str, Any], Secret, float]:
    real = np.ldexp(layer.multipliers.astype(np.float64), layer.exponents - 31)
    largest = float(real.max())
    if largest == 0:
        raise ModelError(f"from_tflite: the scales of {layer.name} leave nothing of its sums")
    width = layer.clamps[1] - layer.clamps[0]
    cut = max(1, math.ceil(math.log2(max(width, 1) / (largest * unit * ((1 << LEVEL) - 1)))))
    for down in range(max(cut, 12), cut - 1, -1):
        plan = _folded(layer, (base, unit, most), real / largest * 2.0 ** (down - cut), down)
        if plan[0]["ring"] <= RING:
            break
    else:
        raise ModelError(f"from_tflite: {layer.name} needs more than {RING} bits")
    step, secret = plan
    made = largest * unit * 2.0**cut
    secret.width = math.floor(width / made + 0.5)
    rest = (layer.target.zero - layer.clamps[0]) / made * 2.0**down
    secret.offsets = secret.offsets + round(rest)
    return step, secret, made


def _folded(layer: Layer, given: tuple[int, float, int], factors: Any, down: int) -> tuple[dict[str, Any], Secret]:
    """Returns weights and offsets times the factors, and the ring that holds their sums."""
    base, unit, most = given
    w = layer.weights.reshape(len(factors), -1)
    weights = np.rint(w * factors[:, None]).astype(np.int64)
    offsets = np.rint(layer.offsets / unit * factors).astype(np.int64)
    start = round((base - layer.source.zero) / unit)
    padded = "pads" in layer.attrs and any(map(any, layer.attrs["pads"]))
    low, high = (min(start, 0), max(start + most, 0)) if padded else (start, start + most)
    up, under = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    # The distance from the zero point to the lower clamp is at most the range of all results.
    edge = (1 << (LEVEL + down + 1)) + (1 << down)
    reach = (
        int((up * low + under * high + offsets).min()) - edge,
        int((up * high + under * low + offsets).max()) + edge,
    )
    ring = max(signed_bits(*reach) + 1, down + LEVEL + 3)
    width = int(np.abs(weights).max(initial=0)).bit_length()
    plus = max(*(abs(end) for end in reach), 2 * int(np.abs(offsets).max()) + edge).bit_length()
    far = max(LEVEL, abs(start).bit_length(), abs(start + most).bit_length())
    most = (w.shape[1] << far + width) + (1 << plus)
    step = {"kind": layer.kind, **layer.attrs, "weights": layer.weights.shape, "ring": ring, "down": down}
    step |= {"width": width, "plus": plus, "wide": max(ring, signed_bits(-most, most)), "start": far}
    return step, Secret(weights.reshape(layer.weights.shape), offsets, start)


def _added(layer: Layer, lies: list[tuple[int, float, int]], level: int) -> tuple[dict[str, Any], Secret, float]:
    """Plans a sum of real multiples of both arrays; `lies` has their bases, units and largest numbers."""
    width = layer.clamps[1] - layer.clamps[0]
    made = max(width, 1) / ((1 << LEVEL) - 1)
    ratios = [source.scale / layer.target.scale for source in layer.sources]
    rest = sum(r * (base - source.zero) for r, (base, _, _), source in zip(ratios, lies, layer.sources, strict=True))
    rest = (rest + layer.target.zero - layer.clamps[0]) / made
    for down in range(_MEAN, 0, -1):
        factors = [ratio * unit / made for ratio, (_, unit, _) in zip(ratios, lies, strict=True)]
        weights = np.array([[round(math.ldexp(factor, down))] for factor in factors], np.int64)
        secret = Secret(weights, np.array([round(math.ldexp(rest, down))], np.int64))
        high = sum(int(w) * most for w, (_, _, most) in zip(weights[:, 0], lies, strict=True))
        # The place of the offset is private, so there is room for the range of all results on both sides.
        reach = high + (2 << LEVEL + down) + abs(int(secret.offsets[0]))
        step = sums.step(secret, max(signed_bits(-reach, reach) + 1, down + LEVEL + 3), down, max(level, LEVEL))
        if step["wide"] <= RING:
            secret.width = math.floor(width / made + 0.5)
            return step, secret, made
    raise ModelError(f"from_tflite: {layer.name} needs more than {RING} bits")


def _averaged(layer: Layer, level: int) -> tuple[dict[str, Any], Secret]:
    counts = kernels.counts(layer.attrs, layer.attrs["of"])
    down = _MEAN + int(counts.max()).bit_length()
    times = np.rint(2.0**down / counts).astype(np.int64)
    offsets = np.full(counts.shape, 1 << (down - 1))
    return mean_step(layer, times, down, level), Secret(offsets=offsets)
