"""Sums of two arrays, which TFLite computes from numbers with scales of their own.

TFLite multiplies both by 2^20 and by their scales over twice the larger one, rounds, adds, multiplies by the factor to
the result's scale, and rounds again. That is nearly linear in both. The owner looks for whole numbers M1, M2, c and T
with which (M1 (x - zero) + M2 (y - zero) + c) >> T gives the same between the clamps. It has to hold for all pairs of
numbers that there are, at most 65,536. Beyond the clamps the result has to be clamped, too. Halves are rounded away
from 0, for which sums from 0 on may get another c, as in `_reference_plan`.

If the ratio of scales is nearly one of small whole numbers, many sums lie within 2^-18 of a half, and TFLite's
roundings decide about each by itself. Then no such numbers exist, and TFLite's own steps are followed: each array is
scaled and rounded first, by whole numbers of its own; the results are added, scaled and rounded again.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite import _kernels as kernels
from quorate.models._tflite._kernels import Integers
from quorate.models._tflite._layers import Layer
from quorate.models._tflite._plan import Secret, signed_bits
from quorate.models._tflite._thresholds import scaling_of

_MOST_SHIFT = 26  # larger ones make larger numbers than TFLite's own steps
_FAR = 1 << 62


@dataclasses.dataclass(frozen=True)
class Fit:
    """M of each array, c of negative sums and of the others, and T."""

    times: tuple[int, int]
    below: int
    above: int
    down: int

    @property
    def only(self) -> int:
        """M, if there is one array."""
        return self.times[0]


def planned(layer: Layer, bases: tuple[int, int], ends: tuple[tuple[int, int], tuple[int, int]]) -> Any:
    """Returns the step and the secrets of mode "exact", for both arrays' numbers between `ends`, less `bases`."""
    found = fit(layer, ends)
    if found is None and layer.rounding == "float32":
        found = _near(layer, ends)
    if found is None:
        return _in_steps(layer, bases, ends)
    zeros = [layer.sources[i].zero for i in range(2)]
    centred = sum(m * (base - zero) for m, base, zero in zip(found.times, bases, zeros, strict=True))
    reach = [[m * (end - zero) for end in pair] for m, pair, zero in zip(found.times, ends, zeros, strict=True)]
    low, high = sum(min(pair) for pair in reach), sum(max(pair) for pair in reach)
    least, most = low + min(found.below, found.above, 0), high + max(found.below, found.above, 0)
    turns = found.below != found.above
    secret = Secret(np.array(found.times, np.int64)[:, None], np.array([centred], np.int64))
    if turns:
        secret.below, secret.above = np.array([found.below]), np.array([found.above])
    else:
        secret.offsets = secret.offsets + found.below
    secret.width = layer.clamps[1] - layer.clamps[0]
    return step(secret, max(signed_bits(least, most), found.down + 10), found.down, 8) | {"turns": turns}, secret


def step(secret: Secret, ring: int, down: int, level: int) -> dict[str, Any]:
    """Returns the public part of a sum of arrays whose numbers have `level` bits."""
    added = [v for v in (secret.offsets, secret.below, secret.above) if v is not None]
    known: dict[str, Any] = {"kind": "add", "weights": (2, 1), "ring": ring, "down": down, "start": 0}
    powers = _public(secret.weights, added, 2, level)
    return known | powers | {"wide": max(ring, powers["wide"])}


def _public(weights: Integers, added: list[Any], terms: int, level: int) -> dict[str, int]:
    """Returns powers of two above secret numbers, and the bits of sums of `terms` products with `level`-bit numbers."""
    width = int(np.abs(weights).max(initial=0)).bit_length()
    plus = max(int(np.abs(v).max()).bit_length() for v in added)
    most = (terms << level + width) + (len(added) << plus)
    return {"width": width, "plus": plus, "wide": signed_bits(-most, most)}


def fit(layer: Layer, ends: tuple[tuple[int, int], tuple[int, int]]) -> Fit | None:
    """Returns the numbers of least T that equal TFLite's sums for all pairs; with one c for all sums if possible."""
    x, y = _pairs(ends)
    low, high = layer.clamps
    wanted = np.clip(kernels.added(x, y, layer), low, high) - low
    x, y = x - layer.sources[0].zero, y - layer.sources[1].zero
    ratios = [source.scale / layer.target.scale for source in layer.sources]
    for may_turn in (False, True):
        for down in range(6, _MOST_SHIFT):
            near = [round(math.ldexp(ratio, down)) for ratio in ratios]
            for more in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)):
                times = near[0] + more[0], near[1] + more[1]
                found = _offsets(times[0] * x + times[1] * y, wanted, high - low, down, may_turn)
                if found is not None:
                    return Fit(times, *found, down)
    return None


def _near(layer: Layer, ends: tuple[tuple[int, int], tuple[int, int]]) -> Fit:
    """Returns numbers whose sums differ from the file's by one at most, if none are equal for all pairs.

    Sums of floats decide about halves by their last bits, and exact sums do not.
    """
    x, y = _pairs(ends)
    wanted, zeros = np.clip(kernels.added(x, y, layer), *layer.clamps), [source.zero for source in layer.sources]
    ratios = [source.scale / layer.target.scale for source in layer.sources]
    for down in range(_MOST_SHIFT - 1, 6, -1):
        times = [round(math.ldexp(ratio, down)) for ratio in ratios]
        plus = ((layer.target.zero - layer.clamps[0]) << down) + (1 << down - 1)
        made = (times[0] * (x - zeros[0]) + times[1] * (y - zeros[1]) + plus) >> down
        if np.abs(np.clip(made + layer.clamps[0], *layer.clamps) - wanted).max() <= 1:
            return Fit((times[0], times[1]), plus, plus, down)
    raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does: its scales are too extreme")


def _pairs(ends: tuple[tuple[int, int], tuple[int, int]]) -> list[Integers]:
    """Returns all pairs of numbers between these ends."""
    every = np.meshgrid(*(np.arange(low, high + 1) for low, high in ends), indexing="ij")
    return [values.ravel() for values in every]


def _in_steps(layer: Layer, bases: tuple[int, int], ends: tuple[tuple[int, int], tuple[int, int]]) -> Any:
    """Plans a sum in TFLite's own steps: both arrays are scaled and rounded, then their sum is."""
    zeros = [source.zero for source in layer.sources]
    fits = [_multiple(layer, i, ends[i]) for i in range(2)]
    down = max(found.down for found in fits)
    times, below, above = (
        np.array([getattr(found, name) << (down - found.down) for found in fits], object)
        for name in ("only", "below", "above")
    )
    centred = times * [base - zero for base, zero in zip(bases, zeros, strict=True)]
    secret, turns = Secret(first_weights=times.astype(np.int64)), bool((below != above).any())
    secret.first_offsets = (centred + (0 if turns else below)).astype(np.int64)
    if turns:
        secret.first_below, secret.first_above = below.astype(np.int64), above.astype(np.int64)
    reach = np.array([[m * (end - zero) for end in pair] for m, pair, zero in zip(times, ends, zeros, strict=True)])
    low = min(0, *reach.min(axis=1), *(reach.min(axis=1) + below))
    high = max(0, *reach.max(axis=1), *(reach.max(axis=1) + above))
    first = _public(secret.first_weights, [secret.first_offsets, *((below, above) if turns else ())], 1, 8)
    first |= {"ring": signed_bits(low, high), "down": down, "turns": turns}
    first["wide"] = max(first["wide"], first["ring"])
    x, y = _pairs(ends)
    total = sum(
        _divided(m * (v - z), b, a, down) for m, v, z, b, a in zip(times, (x, y), zeros, below, above, strict=True)
    )
    m, plus, shift = scaling_of(layer, int(layer.multipliers[2]), int(layer.exponents[2]))
    lower = layer.clamps[0] << shift
    secret.weights = np.array([[m], [m]], np.int64)
    secret.offsets = np.array([plus[0] - lower if len(plus) == 1 else 0], np.int64)
    if len(plus) == 2:
        secret.below, secret.above = (np.array([c - lower], np.int64) for c in plus)
    secret.width = layer.clamps[1] - layer.clamps[0]
    far = int(np.abs(total).max()) * m + max(abs(c - lower) for c in plus)
    made = step(secret, max(signed_bits(-far, far), shift + 10), shift, first["ring"] - down - 1)
    ours = _divided(total * m, plus[0] - lower, plus[-1] - lower, shift)
    wanted = np.clip(kernels.added(x, y, layer), *layer.clamps) - layer.clamps[0]
    if (np.clip(ours, 0, secret.width) != wanted).any():
        raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does: its scales are too extreme")
    if made["wide"] > 64 or first["wide"] > 64:
        raise ModelError(f"from_tflite: {layer.name} needs numbers of more than 64 bits")
    return made | {"turns": len(plus) == 2, "first": first}, secret


def _multiple(layer: Layer, place: int, ends: tuple[int, int]) -> Fit:
    """Returns the fit that scales one array, 2^20 times as fine, and rounds as TFLite does for all of its numbers."""
    source, factors = layer.sources[place], (int(layer.multipliers[place]), int(layer.exponents[place]))
    x = np.arange(ends[0], ends[1] + 1) - source.zero
    wanted = kernels.rescaled(x << kernels.SHIFT, *factors)
    above_all, lift = int(np.ptp(wanted)) + 2, 1 - int(wanted.min())  # so that no number is at an end
    for may_turn in (False, True):
        for down in range(1, _MOST_SHIFT):
            near = round(math.ldexp(factors[0], factors[1] + kernels.SHIFT - 31 + down))
            for times in (near, near + 1, near - 1):
                found = _offsets(times * x, wanted + lift, above_all, down, may_turn)
                if found is not None:
                    below, above = (c - (lift << down) for c in found)
                    return Fit((times, 0), below, above, down)
    raise ModelError(f"from_tflite: no whole numbers scale as {layer.name} does: its scales are too extreme")


def _divided(sums: Any, below: int, above: int, down: int) -> Integers:
    """Adds c to sums that fit 64 bits, and shifts them right."""
    values = np.asarray(sums, np.int64)
    return (values + np.where(values < 0, int(below), int(above))) >> down


def _offsets(sums: Integers, wanted: Integers, most: int, down: int, may_turn: bool) -> tuple[int, int] | None:
    """Returns c of negative sums and of others so that (sum + c) >> down, clamped to 0 and `most`, is as wanted."""
    parts = (sums < 0, sums >= 0) if may_turn else (np.ones(len(sums), np.bool_),)
    found = []
    for part in parts:
        at_least, at_most = part & (wanted > 0), part & (wanted < most)
        low = int(((wanted[at_least] << down) - sums[at_least]).max(initial=-_FAR))
        high = int((((wanted[at_most] + 1) << down) - 1 - sums[at_most]).min(initial=_FAR))
        if low > high:
            return None
        found.append(low if low > -_FAR else min(high, 0))
    return found[0], found[-1]
