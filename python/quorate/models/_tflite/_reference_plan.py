"""Plans that equal TFLite's reference kernels bit for bit.

A sum a of a layer becomes z + (a times a real number, rounded twice), between two clamps: a rising function of a with
at most 255 leaps. The owner finds M, c and T so that (a M + c) >> T leaps at the same a. It multiplies weights and
offsets by M and adds c. Then the layer's sums need one shift by T and the clamps. Between the clamps every sum gives
TFLite's number; beyond them it gives a number that is clamped. The numbers of a layer are carried less the lower clamp,
so that the clamps are 0 and a secret width.

TFLite rounds halves away from 0. If numbers on both sides of the zero point are not clamped, as in a layer without
activation, no c is right for both: sums from 0 on then get another c, by one more comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite import _sums
from quorate.models._tflite._affine import fit
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import WEIGHTED, Layer, Quantised
from quorate.models._tflite._plan import Plan, Secret, signed_bits
from quorate.models._tflite._thresholds import SUMS, clamped, scaling_of

_MOST_RING = 64


def planned(layers: Sequence[Layer], known: Quantised) -> Plan:
    """Plans the layers."""
    plan = Plan([], [], [known.low], [1.0])
    all_ends = [(known.low, known.high)]
    for layer in layers:
        base, ends = plan.bases[layer.inputs[0]], all_ends[layer.inputs[0]]
        if layer.kind in WEIGHTED:
            step, secret = _weighted(layer, base, ends)
            base, ends = layer.clamps[0], layer.clamps
        elif layer.kind == "add":
            other = layer.inputs[1]
            step, secret = _sums.planned(layer, (base, plan.bases[other]), (ends, all_ends[other]))
            base, ends = layer.clamps[0], layer.clamps
        elif layer.kind == "avg_pool":
            step, secret = averaged(layer, base)
        else:
            step, secret = {"kind": layer.kind, **layer.attrs}, Secret()
        plan.steps.append({**step, "level": 8, "inputs": list(layer.inputs)})
        plan.secrets.append(secret)
        plan.bases.append(base)
        plan.units.append(1.0)
        all_ends.append(ends)
    return plan


def span(layer: Layer, ends: tuple[int, int]) -> tuple[Integers, Integers]:
    """Returns the least and the largest sum of each filter.

    Numbers lie between `ends`; around images there are zero points.
    """
    low, high = (end - layer.source.zero for end in ends)
    if "pads" in layer.attrs and any(map(any, layer.attrs["pads"])):
        low, high = min(low, 0), max(high, 0)
    w = layer.weights.reshape(len(layer.weights), -1)
    up, down = np.maximum(w, 0).sum(axis=1), np.minimum(w, 0).sum(axis=1)
    least, most = up * low + down * high + layer.offsets, up * high + down * low + layer.offsets
    if max(-int(least.min()), int(most.max())) >= SUMS:
        raise ModelError(f"from_tflite: sums of {layer.name} may not fit 32 bits, in which TFLite adds them up")
    return least, most


Scaled = tuple[Any, Any, Any, int]
"""For each filter M, c of negative sums, and c of the others; and the T of all."""


def _scaling(layer: Layer, sums: tuple[Integers, Integers]) -> Scaled:
    known: dict[tuple[int, int], tuple[int, list[int], int]] = {}
    pairs = list(zip(layer.multipliers.tolist(), layer.exponents.tolist(), strict=True))
    for pair in dict.fromkeys(pairs):
        known[pair] = scaling_of(layer, *pair)
    down = max(shift for _, _, shift in known.values())
    found = [known[pair] for pair in pairs]
    times = np.array([m << (down - shift) for m, _, shift in found], object)
    below = np.array([c[0] << (down - shift) for _, c, shift in found], object)
    above = np.array([c[-1] << (down - shift) for _, c, shift in found], object)
    scaled = times, below, above, down
    _check(layer, sums, scaled)
    return scaled


def _check(layer: Layer, sums: tuple[Integers, Integers], scaled: Scaled) -> None:
    """Checks both ends of the range of sums, and 0 and -1.

    Between these, `fit` has checked every leap, and both functions rise. With float32 rounding, numbers near halves may
    be one more or less.
    """
    times, below, above, down = scaled
    off = 0 if layer.rounding == "tflite" else 1
    for end in (*sums, np.zeros_like(sums[0]), np.full_like(sums[0], -1)):
        plus = np.where(end < 0, below, above)
        ours = np.clip(((end.astype(object) * times + plus) >> down).astype(object), *layer.clamps)
        if (np.abs(ours - clamped(layer, end, layer.multipliers, layer.exponents)) > off).any():
            raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does: its scales are too extreme")


def _weighted(layer: Layer, base: int, ends: tuple[int, int]) -> tuple[dict[str, Any], Secret]:
    sums = span(layer, ends)
    times, below, above, down = _scaling(layer, sums)
    lower = layer.clamps[0] << down
    turns = bool((above != below).any())
    reach = [end.astype(object) * times for end in sums]
    least = min((reach[0] + np.minimum(below, above)).min() - lower, reach[0].min())
    most = max((reach[1] + np.maximum(below, above)).max() - lower, reach[1].max())
    ring = max(signed_bits(least, most), down + 10)
    if ring > _MOST_RING:
        raise ModelError(f"from_tflite: {layer.name} needs numbers of {ring} bits; {_MOST_RING} are supported")
    weights = (layer.weights.astype(object).reshape(len(times), -1) * times[:, None]).astype(np.int64)
    width = int(np.abs(weights).max(initial=0)).bit_length()
    step = {"kind": layer.kind, **layer.attrs, "weights": layer.weights.shape}
    secret = Secret(weights.reshape(layer.weights.shape), layer.offsets.astype(object) * times)
    if turns:
        secret.below, secret.above = ((c - lower).astype(np.int64) for c in (below, above))
    else:
        secret.offsets = secret.offsets + below - lower
    secret.offsets = secret.offsets.astype(np.int64)
    added = [v for v in (secret.offsets, secret.below, secret.above) if v is not None]
    plus = max(int(np.abs(v).max()).bit_length() for v in added)
    most = (layer.weights[0].size * 256 << width) + (len(added) << plus)
    step |= {"ring": ring, "down": down, "width": width, "plus": plus, "wide": max(ring, signed_bits(-most, most))}
    step |= {"start": 8, "turns": turns}
    secret.start, secret.width = base - layer.source.zero, layer.clamps[1] - layer.clamps[0]
    return step, secret


def averages(count: int, low: int) -> tuple[int, int, int]:
    """Returns M, c and T so that (s M + c) >> T is the mean of `count` 8-bit numbers from `low` on, for their sum s."""
    half = count // 2
    wanted = range(low, low + 257)  # both ends are checked: means are not clamped
    leaps = [j * count - half if j > 0 else half + (j - 1) * count + 1 for j in wanted]
    found = fit([(leaps, low)], 1 / count)
    if found is None:
        raise ModelError(f"from_tflite: means of {count} numbers are not supported")
    times, (plus,), shift = found
    return times, plus, shift


def averaged(layer: Layer, base: int) -> tuple[dict[str, Any], Secret]:
    """Plans a mean. M and T are public, as they follow from sizes; the base of the numbers is secret."""
    counts = kernels.counts(layer.attrs, layer.attrs["of"])
    found = {int(n): averages(int(n), layer.source.low) for n in np.unique(counts)}
    down = max(shift for _, _, shift in found.values())
    times, offsets = np.zeros(counts.shape, np.int64), np.zeros(counts.shape, np.int64)
    for n, (m, c, shift) in found.items():
        at = counts == n
        times[at] = m << (down - shift)
        offsets[at] = (c << (down - shift)) + (m << (down - shift)) * n * base - (base << down)
    return mean_step(layer, times, down, 8), Secret(offsets=offsets)


def mean_step(layer: Layer, times: Integers, down: int, level: int) -> dict[str, Any]:
    """Returns the public part of a mean of numbers of `level` bits."""
    step = {"kind": "avg_pool", **layer.attrs, "ring": down + level + 2, "down": down, "times": times.tolist()}
    size = math.prod(layer.attrs["size"])
    # Offsets follow from zero points, but their bound does not.
    plus = signed_bits(-(size << level), size << level) + int(times.max()).bit_length()
    most = (size << level) * int(times.max()) + (1 << plus)
    return step | {"plus": plus, "wide": max(down + level + 2, signed_bits(-most, most))}
