"""Layer normalisation: lines centred and divided by the root of their squares, planned with a proof.

For a line x of n numbers the step makes z = (x - mean) / sqrt(n (variance + eps)), between -1 and 1. The factor sqrt(n)
goes into the weights behind it.

Notation: d = n (x - mean) = n x - sum x is exact. It stands as integers D = d 2^u of at most B bits, cut if they have
more. With q = |d|^2 + K, K = n^3 eps, z = d / sqrt q. V = |D|^2 2^j / 2^16 + K stands for q in 2^-v, v = 2u + j - 16,
and is at most 2^top. `qr.rsqrt` is within 2 units of 2^-16, which is precise only if its argument is near 1. So V is
multiplied by 2^h wherever it is below 2^(top - h), for each h of `rises`. The results span few bits, and T = V 2^-k + 1
goes into the root. R = rsqrt(T) 2^(h / 2), for the same h, and z = D R / 2^16 has the unit 16 + (k - j) / 2.

Proven bounds, for lines with |d|^2 + K >= q0: the map d -> d / sqrt(|d|^2 + K) has a derivative of norm at most
1 / sqrt q. So an error e of x moves z by at most n |e| / sqrt q0 in any element. V is off by 2 of its units, T by 2,
and the root by 2 of its own. K serves as q0 for all inputs. But eps is small, so a sample gives a better q0: a
sixteenth of the least that it reached. The bound then holds for lines of at least a quarter of the least deviation
there. T is at least 1, so R is never too small, and too large by no more than the root is off: |z| < 1.01 for any
line, and nothing wraps.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from quorate._arrays._proven_ranges import between, stated
from quorate.functions import rsqrt
from quorate.models._layers._kernels import Array
from quorate.models._numerics import exponent_above

__all__ = ["Normalised", "lines", "normalised", "planned", "spread"]

_FRACTION = 16
_SUM = 61  # bits of sums of products
_TOP = 45  # bits of V
_MOST = 27  # bits of D
_FAR = 2.01  # how far apart two numbers of magnitude at most 1.01 and 1 may be
_BELOW = 4  # the bound holds for deviations of at least the sample's least over this
_MORE = 1 + 1e-9


@dataclasses.dataclass(frozen=True)
class Normalised:
    """The plan of a step: its public part, the unit of z, and the bound on z's error."""

    public: dict[str, Any]
    unit: int
    error: float


def lines(x: Array, epsilon: float) -> Array:
    """Computes the step in the clear, along the last axis."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.shape[-1] * (_variance(x) + epsilon))


def spread(x: Array, epsilon: float) -> float:
    """Returns the least root of a line's variance plus epsilon."""
    return float(np.sqrt(_variance(x) + epsilon).min(initial=math.inf))


def _variance(x: Array) -> Array:
    return np.square(x - x.mean(axis=-1, keepdims=True)).mean(axis=-1, keepdims=True)


def planned(low: Array, high: Array, error: Array, unit: int, epsilon: float, least: float | None) -> Normalised | None:
    """Returns the plan of a step on lines between these bounds; None if there is no room for it.

    Args:
        low: the lower bound of each element.
        high: the upper bound of each element.
        error: the bound on the error of each element.
        unit: the unit of the lines.
        epsilon: added to variances.
        least: the smallest `spread` in a sample, None without one.
    """
    n = low.shape[-1]
    total = [bound.sum(axis=-1, keepdims=True) for bound in (low, high, error)]
    off = (n - 2) * error + total[2]
    largest = np.maximum(n * high - high + low - total[0], total[1] - n * low + low - high) + off
    whole = max(exponent_above(float(largest.max()) * _MORE) + unit, 1)
    count = (n - 1).bit_length()
    for bits in range(min(whole, _MOST, (_SUM - count) // 2), 6, -1):
        step = 2.0 ** -(unit - (whole - bits)) if bits < whole else 0.0  # a cut may make numbers larger by this
        squares = float(np.square(largest + step).sum(axis=-1).max()) * _MORE
        found = _Scales.of(n, bits, unit - (whole - bits), squares, epsilon)
        if found is None:
            continue
        moved = n * float(np.sqrt(np.square(error).sum(axis=-1).max())) * _MORE
        moved += math.sqrt(n) * step
        made = found.plan(moved, None if least is None else n**3 * (least / _BELOW) ** 2)
        if made is not None:
            public = {**made.public, "whole": whole, "down": whole - bits, "line": bits}
            return dataclasses.replace(made, public=public)
    return None


@dataclasses.dataclass(frozen=True)
class _Scales:
    """B, u, j, v and top for lines of n numbers; K as a number and as an integer."""

    n: int
    bits: int
    unit: int
    finer: int
    top: int
    added: float
    whole: int

    @property
    def squares_unit(self) -> int:
        return 2 * self.unit + self.finer - _FRACTION

    @staticmethod
    def of(n: int, bits: int, unit: int, squares: float, epsilon: float) -> _Scales | None:
        """Returns the scales with the largest j that has room; None if there is none."""
        added = n**3 * epsilon
        for finer in range(_SUM - 2 * bits - (n - 1).bit_length(), -1, -1):
            v = 2 * unit + finer - _FRACTION
            if exponent_above(squares + added) + v > _TOP - 1:
                continue
            whole = max(1, round(math.ldexp(added, v)))
            top = math.ceil(math.log2(math.ldexp(squares, v) + whole + 2))
            return _Scales(n, bits, unit, finer, top, added, whole)
        return None

    def plan(self, moved: float, floor: float | None) -> Normalised | None:
        """Plans for lines: errors move d by at most `moved`, and q is at least `floor` or K."""
        root = math.sqrt(self.added)
        if floor is not None:
            root = max(root, math.sqrt(floor) - moved)
        least = math.ldexp(root * root, self.squares_unit) / _MORE
        rises = _rises(self.top - math.log2(max(least, 1.0)))
        window = min(rises[-1] if rises else 64.0, self.top - math.log2(max(least, 1.0)))
        cut = max(0, self.top - round(15.3 + 2 * min(window, 24.0) / 3))
        cut += (cut - self.finer) % 2
        lowest = min(least * 2.0 ** sum(rises), 2.0 ** (self.top - rises[-1]) if rises else math.inf)
        highest = 2.0 ** (self.top - cut) + 2
        root_bits = 2.0 ** (24 + cut / 2) / math.sqrt(self.whole) + 2.0 ** (1 + sum(rises) / 2) + 2
        long = math.ceil(math.log2(root_bits))
        if self.bits + long > _SUM or self.top + max(rises, default=0) > _SUM:
            return None
        unit = _FRACTION + (cut - self.finer) // 2
        off = 2 / max(least, 1e-300) + 2 / max(math.ldexp(lowest, -cut), 1e-300)
        relative = math.inf if off >= 1 else (1 + 2.0**-23 * math.sqrt(highest)) / math.sqrt(1 - off) - 1
        error = min((moved / root if root else math.inf) + relative + 2.0**-unit, _FAR)
        public = {"finer": self.finer, "added": self.whole, "top": self.top, "rises": rises, "cut": cut, "root": long}
        return Normalised(public, unit, error * _MORE)


def _rises(bits: float) -> list[int]:
    """Returns the exponents `rises` that bring numbers spanning `bits` bits together; fewer bits are more precise."""
    if bits <= 6:
        return []
    if bits <= 12:
        return [6]
    return [12, 6] if bits <= 24 else [16, 8, 4]


def normalised(mpc: Any, step: dict[str, Any], x: Any) -> Any:
    """Computes the step on secret lines."""
    n = x.shape[-1]
    d = stated(x * n - x.sum(axis=-1, keepdims=True), step["whole"])
    if step["down"]:
        d = stated(d * 2.0 ** -step["down"], step["line"])
    row = d.reshape(-1, 1, n)
    v = (row * (1 << step["finer"])) @ row.transpose(0, 2, 1)
    v = between(v + math.ldexp(step["added"], -_FRACTION), step["added"], 1 << step["top"])
    small = []
    for rise in step["rises"]:
        small.append(v < math.ldexp(1.0, step["top"] - rise - _FRACTION))
        v = between(mpc.where(small[-1], v * (1 << rise), v), 1, 1 << step["top"])
    t = between(v * 2.0 ** -step["cut"] + 2.0**-_FRACTION, 1, (1 << (step["top"] - step["cut"])) + 2)
    r = rsqrt(t)
    for rise, is_small in zip(step["rises"], small, strict=True):
        r = mpc.where(is_small, r * (1 << (rise // 2)), r)
    return (row * between(r, 0, 1 << step["root"])).reshape(*x.shape)
