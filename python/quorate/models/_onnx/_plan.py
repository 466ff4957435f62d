"""Fixed point for a network: a scale for each array, proven from the input's bound and the weights.

Notation: array a stands as integers A = a 2^u, in one ring for the whole network. Bounds on a, element by element, go
through every step, starting with the input's. With them goes a bound on the distance of A / 2^u from a. A weighted step
takes X (|X| <= 2^e, u) with n terms in a sum. Its weights become W = round(w 2^v) with |W| <= 2^c, where c is at most
`weight_bits` and n 2^(e + c) at most 2^61. Its offsets become B = round(b 2^(u + v)) with |B| <= 2^61. By the weights
themselves W X + B is at most 2^p, which is public, and is divided by 2^k so that `bits` are left: k = p - bits. If
fewer numbers are left behind a ReLU and a maximum of windows, the division comes after these: rounding and they may
change places.

The ring has 3 bits more than the largest of all n 2^(e + c), offsets and results, so that nothing wraps. With real
functions, which take 64 bits, it has 64.

The plan makes public: c of the weights, and p and k of each result, which are powers of two for a whole layer; and the
ring.

Proven bounds grow from layer to layer faster than the values reached, by a few bits each. If there is a sample, and the
proven bound of an array is far beyond the sample's values, the array is clipped before the next layer. The limit is a
power of two at or above four times the sample's largest magnitude; the array has `bits` up to there.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._layers import _kernels as kernels
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._numerics import exponent_above
from quorate.models._onnx import _error_function as error_function
from quorate.models._onnx import _normalise as normalise
from quorate.models._onnx._array_facts import FRACTION, MORE, REALS_RING, ROOM, Tracked, bits_of
from quorate.models._onnx._division_place import Chain
from quorate.models._onnx._reals import planned
from quorate.models._onnx._steps import FUNCTIONS, REALS, WEIGHTED, Step, alone, clear, multiples, placed

__all__ = ["FRACTION", "ROOM", "Planner", "Tracked"]

_SUM = 64 - ROOM  # bits of sums of products, and of offsets
_NARROW = 52  # a wider ring has 64 bits if there are real functions
_USUAL = 24  # default bits of results
_ROOM = 44  # bits of numbers that are only added or compared
_LEAST = 6  # bits of weights; fewer are of no use
_SLOPE = {"sigmoid": 0.25, "tanh": 1.0, "gelu": 1.13, "erf": 1.13, "softmax": 0.5}
_SPAN = {"sigmoid": 1.0, "tanh": 2.0, "erf": 2.0, "softmax": 1.0}
_OFF = {"erf": error_function.UNITS}  # units by which functions are off; 2 for the others
_MULTIPLE = 1.25  # units by which multiples by public reals may be off, for any rounding
_CLIPPED = 1 << 20  # a key beside units, which are smaller
_PUBLIC = 17  # bits of a multiple by a public real, in addition to its operand's
_FAR = 40.0  # a number so far below the largest of a softmax adds less than a unit
_COARSEST = -200  # units; coarser ones mean nothing, and later exceed floating point


@dataclasses.dataclass
class Planner:
    """A walk through a network's steps that collects the program's public steps and the secret integers."""

    bits: int
    weight_bits: int
    reached: Sequence[float] | None = None
    """The largest magnitudes of all arrays in a sample."""
    spreads: Mapping[int, float] = dataclasses.field(default_factory=dict)
    """The least deviations of lines in a sample, by the number of the step that normalises them."""
    steps: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    secrets: list[tuple[Array, Array | None]] = dataclasses.field(default_factory=list)
    rows: list[tuple[str, int, int]] = dataclasses.field(default_factory=list)
    """For each of the network's steps: its name, the place of its result, and its unit."""
    errors: list[float] = dataclasses.field(default_factory=list)
    needed: int = FRACTION
    """A bound on bits: no number of the program, nor a product's or sum's range by its operands, exceeds 2^needed."""
    has_reals: bool = False
    """Whether there are real functions, which take numbers of 64 bits."""
    _scaled: dict[tuple[int, int], Tracked] = dataclasses.field(default_factory=dict)
    _numbers: dict[tuple[Any, ...], int] = dataclasses.field(default_factory=dict)
    """The numbers of secrets, by their weights and scales; steps of a series share them."""
    _name: str = ""
    _now: float = math.inf
    _spread: float | None = None
    _as_function: bool = False
    _chain: Chain | None = None

    @property
    def ring(self) -> int:
        """Bits of the ring in which nothing wraps; 64 where that saves real functions a conversion at little cost."""
        own = min(self.needed, _SUM) + ROOM
        return REALS_RING if self.has_reals and own > _NARROW else own

    def plan(self, steps: Sequence[Step], inputs: Sequence[Tracked]) -> list[Tracked]:
        """Plans all steps from the inputs on; returns the tracked first input and the tracked result of each step."""
        arrays = [inputs[0]]
        self._need(arrays[0].bits)
        wants = _wanted(steps)
        for number, step in enumerate(steps):
            self._name = step.name or step.kind
            self._now = math.inf if self.reached is None else self.reached[number + 1]
            self._spread = self.spreads.get(number)
            if step.kind == "input":
                arrays.append(self._entered(inputs[step.attrs["number"]], step.attrs))
                continue
            given = [arrays[i] for i in step.inputs]
            users = wants[number + 1]
            self._as_function = bool(users) and users <= set(FUNCTIONS)
            self._chain = Chain.behind(steps, number + 1) if step.kind in WEIGHTED else None
            made = self._step(step, given)
            if made.unit < _COARSEST:
                raise self._unbounded(made)
            self._enter(made)
            arrays.append(made)
        return arrays

    def _entered(self, given: Tracked, attrs: dict[str, Any]) -> Tracked:
        """Adds the step of a further input."""
        made = self._emit("input", [], attrs, given)
        self._enter(made)
        return made

    def _enter(self, made: Tracked) -> None:
        self._need(made.bits)
        self.rows.append((self._name, made.place, made.unit))
        self.errors.append(float(made.error.max(initial=0.0)))

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _step(self, step: Step, given: list[Tracked]) -> Tracked:
        kind, attrs = step.kind, step.attrs
        if kind == "embedding":
            return self._embedding(step, given[0])
        if kind in WEIGHTED:
            return self._weighted(step, given[0])
        if kind in FUNCTIONS:
            return self._function(kind, attrs, given[0])
        if kind in MOVES:
            return self._moved(kind, attrs, given)
        if kind in REALS:
            return planned(self, kind, attrs, given)
        if kind in ("add", "sub"):
            return self._sum(kind, attrs, given)
        if kind in ("mul", "matmul2"):
            return self._product(kind, given)
        if kind == "scale":
            return self._scale(attrs, given[0])
        if kind == "blend":
            return self._blend(given)
        if kind == "normalise":
            return self._normalised(attrs["epsilon"], given[0])
        return self._pointwise(kind, attrs, given[0])

    def _emit(self, kind: str, given: Sequence[Tracked], attrs: dict[str, Any], made: Tracked) -> Tracked:
        """Adds a public step, with the range of its result."""
        public = {"kind": kind, "inputs": [t.place for t in given], **attrs}
        if made.bits > _SUM:
            raise self._unbounded(made)
        self._need(made.bits)
        self.steps.append({**public, "bits": made.bits})
        reached = self._now if made.reached is None else made.reached
        return dataclasses.replace(made, place=len(self.steps), reached=reached)

    def _need(self, bits: int) -> None:
        self.needed = max(self.needed, bits)

    def _need_cut(self, bits: int, down: int) -> None:
        """Makes room for a multiple by 2^-down, which has 16 fractional bits before it is cut."""
        self._need(bits + max(FRACTION - down, 0) if down > 0 else bits)

    def _unbounded(self, made: Tracked) -> ModelError:
        largest = float(made.largest.max(initial=0.0))
        instead = (
            "give sample= inputs like those to come, from which it takes how large results become"
            if self.reached is None
            else "use fewer bits=, or scale the weights so that results become smaller"
        )
        return ModelError(
            f"from_onnx: {self._name}: its results may be as large as {largest:.3g}, as far as that is proven, and no "
            f"scale gives them room in 64 bits with the {self.bits} that a layer keeps: {instead}"
        )

    def at(self, x: Tracked, unit: int) -> Tracked:
        """Returns the array in another unit."""
        if x.unit == unit:
            return x
        if (x.place, unit) not in self._scaled:
            finer = unit - x.unit
            error = x.error if finer > 0 else x.error + 2.0**-unit
            self._need_cut(x.bits, -finer)
            held = None if x.held is None else x.held + 2.0**-unit
            made = dataclasses.replace(x, error=error, unit=unit, held=held)
            self._scaled[x.place, unit] = self._emit("rescale", [x], {"up": finer}, made)
        return self._scaled[x.place, unit]

    def _kept(self, x: Tracked) -> Tracked:
        """Returns the array with at most 3 bits more than a layer's results."""
        if x.is_far_beyond:
            x = self._clipped(x)
        return x if x.bits <= self.bits + 3 else self.at(x, x.unit - (x.bits - self.bits))

    def _clipped(self, x: Tracked) -> Tracked:
        """Clips an array to `most`, a power of two at or above four times the sample's largest magnitude.

        Errors of numbers beyond do not count, since inputs are assumed to be like the sample.
        """
        key = x.place, _CLIPPED
        if key not in self._scaled:
            most = x.most
            has_low = float((x.low - x.error).min(initial=0.0)) < -most
            ends = {"low": -math.ldexp(most, x.unit - FRACTION) if has_low else None}
            ends["high"] = math.ldexp(most, x.unit - FRACTION)
            low, high = np.clip(x.low, -most, most), np.clip(x.high, -most, most)
            held = None if x.held is None else np.minimum(x.held, most)
            made = dataclasses.replace(x, low=low, high=high, error=np.minimum(x.error, 2 * most), held=held)
            self._scaled[key] = self._emit("clip", [x], ends, made)
        return self._scaled[key]

    def _aligned(self, given: Sequence[Tracked]) -> list[Tracked]:
        """Returns the arrays in one unit: the finest for which there is room."""
        unit = min(max(t.unit for t in given), min(_ROOM - t.bits + t.unit for t in given))
        return [self.at(t, unit) for t in given]

    def _weighted(self, step: Step, x: Tracked) -> Tracked:
        kind, attrs, w, b = step.kind, step.attrs, step.weights, step.offsets
        assert w is not None  # noqa: S101 - a weighted step has weights
        x = self._kept(x)
        terms = math.prod(w.shape[1:]) if kind == "conv" else w.shape[0] if kind == "matmul" else 1
        if kind == "conv_transpose":
            terms = w.shape[0] // attrs["groups"] * math.prod(w.shape[2:])
        width = min(_SUM - x.bits - (terms - 1).bit_length(), self.weight_bits)
        if width < _LEAST:
            raise self._unbounded(x)
        v = width - exponent_above(float(np.abs(w).max(initial=0.0)))
        if b is not None and b.any():
            v = min(v, _SUM - exponent_above(float(np.abs(b).max())) - x.unit)
            self._need(exponent_above(float(np.abs(b).max())) + x.unit + v)
        self._need(x.bits + width + (terms - 1).bit_length())
        whole = np.rint(np.ldexp(w, v))
        offsets = None if b is None else np.rint(np.ldexp(b, x.unit + v))
        near = np.ldexp(whole, -v)
        made, p = self._weighted_bounds(step, x, near, x.unit + v)
        down = max(0, p - self.bits)
        made = dataclasses.replace(made, reached=self._now)
        if made.is_far_beyond:
            down = max(0, bits_of(made.most, x.unit + v) - self.bits, p - _ROOM)
        elif self._chain and self._chain.is_cheaper_undivided(made.low.shape, p, self.bits):
            down = 0
        if self._as_function and x.unit + v - FRACTION >= 0 and p - (x.unit + v - FRACTION) <= _ROOM:
            down = x.unit + v - FRACTION
        if kind == "prelu":
            down = v  # positive numbers are not multiplied and keep their unit
            if v < 0:
                raise self._unbounded(made)
        self._need_cut(p, down)
        public = dict(attrs, weights=list(w.shape), offsets=None if b is None else list(b.shape))
        public.update(width=width, reach=p, down=down)
        unit = x.unit + v - down
        made = dataclasses.replace(made, unit=unit, error=made.error + (2.0**-unit if down else 0.0))
        made = made.holding(None if made.held is None else made.held + 2.0**-unit)
        public.update(self._secret((id(w), id(b), v, width, None if b is None else x.unit), whole, offsets))
        return self._emit(kind, [x], public, made)

    def _embedding(self, step: Step, x: Tracked) -> Tracked:
        """Plans rows by exact numbers, in the table's unit: between the least and the largest of each column."""
        w, b = step.weights, step.offsets
        assert w is not None  # noqa: S101 - an embedding has a table
        count = (len(w) - 1).bit_length()
        width = min(_SUM - count, self.weight_bits)
        v = width - exponent_above(float(np.abs(w).max()))
        if b is not None and b.any():
            v = min(v, _SUM - 1 - exponent_above(float(np.abs(b).max())))
        self._need(width + count)  # the range of a sum of all rows, though only one row counts
        whole = np.rint(np.ldexp(w, v))
        near = np.ldexp(whole, -v)
        low, high, held = w.min(axis=0), w.max(axis=0), np.abs(near).max(axis=0)
        error = np.abs(w - near).max(axis=0)
        offsets = None if b is None else np.rint(np.ldexp(b, v))
        if b is not None:
            low, high, held = low + b, high + b, held + np.abs(b) + 2.0**-v
            error = error + 2.0 ** (-v - 1) + np.abs(b) * 2.0**-52
        sizes = np.broadcast_shapes((*x.low.shape, w.shape[1]), low.shape)
        low, high, error, held = (np.broadcast_to(of, sizes) for of in (low, high, error, held))
        public = {"weights": list(w.shape), "offsets": None if b is None else list(b.shape), "width": width}
        public.update(self._secret((id(w), id(b), v, width), whole, offsets))
        return self._emit(step.kind, [x], public, Tracked(low, high, error, v, 0).holding(held * MORE))

    def _secret(self, key: tuple[Any, ...], whole: Array, offsets: Array | None) -> dict[str, int]:
        """Keeps the secrets of a step. If an earlier step has the same ones, returns that step's number instead."""
        if key in self._numbers:
            return {"same": self._numbers[key]}
        self._numbers[key] = len(self.secrets)
        self.secrets.append((whole.astype(np.int64), offsets))
        return {}

    def _weighted_bounds(self, step: Step, x: Tracked, near: Array, unit: int) -> tuple[Tracked, int]:
        """Returns bounds on the results, and the bits of the sums, whose unit is given."""
        kind, attrs, w = step.kind, step.attrs, step.weights
        assert w is not None  # noqa: S101
        size = np.maximum(np.abs(x.low), np.abs(x.high))
        if kind == "prelu":
            ends = [clear(step, [e]) for e in (x.low, x.high)]
            low, high = _with_zero(x, ends)
            error = x.error * np.maximum(1.0, np.abs(near)) + size * np.abs(w - near)
            products = x.largest * np.abs(near)
            return Tracked(low, high, error, unit, 0), bits_of(float(products.max()), unit)
        middle, radius = (x.low + x.high) / 2, (x.high - x.low) / 2
        centre = multiples(kind, attrs, middle, w)
        around = multiples(kind, attrs, radius, np.abs(w))
        error = multiples(kind, attrs, x.error, np.abs(near)) + multiples(kind, attrs, size, np.abs(w - near))
        if step.offsets is not None:
            off = placed(kind, step.offsets)
            centre = centre + off
            error = error + 2.0 ** (-unit - 1) + np.abs(off) * 2.0**-52
        held = multiples(kind, attrs, x.largest, np.abs(near))
        if step.offsets is not None:
            held = held + np.abs(placed(kind, step.offsets)) + 2.0**-unit
        made = Tracked(centre - around, centre + around, error, unit, 0).holding(held * MORE)
        return made, bits_of(float(made.largest.max(initial=0.0)), unit)

    def _function(self, kind: str, attrs: dict[str, Any], x: Tracked) -> Tracked:
        self.has_reals = True
        x = self.at(x, FRACTION)
        alpha = attrs.get("alpha", 0.0)
        slope = _SLOPE.get(kind, max(1.0, alpha))
        off = _OFF.get(kind, 2) * 2.0**-FRACTION
        error = np.minimum(slope * x.error, _SPAN.get(kind, math.inf)) + (1 + alpha) * off
        if kind == "softmax":
            attrs = self._hiding(attrs, x)
            error = np.broadcast_to(np.max(error, axis=attrs["axis"], keepdims=True), error.shape)
            low, high = np.zeros_like(x.low), np.ones_like(x.low)
        elif kind == "gelu":
            low = np.where(x.low >= 0, kernels.gelu(x.low), -0.17)
            high = np.maximum(x.high, 0.0)
        else:
            low, high = alone(kind, attrs, x.low), alone(kind, attrs, x.high)
        made = Tracked(low, high, error, FRACTION, 0)
        within = made if kind in ("gelu", "elu") else made.holding(np.full(low.shape, 1 + off))
        return self._emit(kind, [x], attrs, within)

    def _hiding(self, attrs: dict[str, Any], x: Tracked) -> dict[str, Any]:
        """Sets `below`: a number so far below all others of a softmax that its power is nothing, for hidden ones."""
        if "hidden" not in attrs:
            return attrs
        least, largest = float(x.low.min()), float(x.largest.max())
        most = max(float(x.high.max()) + attrs["added"], attrs["put"])
        if most + _FAR > least:
            raise ModelError(
                f"from_onnx: {self._name}: what a mask hides may be as large as {most:.6g}, and other numbers as small "
                f"as {least:.6g}, as far as that is proven, so that nothing is hidden by it: mask with -inf, or state "
                "a smaller bound= of the inputs, where these are no numbers of rows"
            )
        return {"axis": attrs["axis"], "hidden": attrs["hidden"], "below": -math.ceil(largest) - _FAR}

    def _normalised(self, epsilon: float, x: Tracked) -> Tracked:
        x = self._kept(x)
        made = normalise.planned(x.low, x.high, x.error, x.unit, epsilon, self._spread)
        if made is None or x.bits + (x.low.shape[-1] - 1).bit_length() + 1 > _SUM:
            raise self._unbounded(x)
        self.has_reals = True
        ends = np.ones_like(x.low)
        return self._emit("normalise", [x], made.public, Tracked(-ends, ends, made.error * ends, made.unit, 0))

    def _moved(self, kind: str, attrs: dict[str, Any], given: list[Tracked]) -> Tracked:
        move = kernels.move(kind, attrs)
        if kind == "concat":
            given = self._aligned(given)
            parts = ([getattr(t, n) for t in given] for n in ("low", "high", "error", "largest"))
        else:
            parts = (getattr(given[0], n) for n in ("low", "high", "error", "largest"))
        low, high, error, held = (np.asarray(move(part)) for part in parts)
        return self._emit(kind, given, attrs, Tracked(low, high, error, given[0].unit, 0).holding(held))

    def _sum(self, kind: str, attrs: dict[str, Any], given: list[Tracked]) -> Tracked:
        """Plans a sum or a difference; `most` is an upper bound on it that follows from the network."""
        x, y = self._aligned(given)
        low, high = (x.low + y.low, x.high + y.high) if kind == "add" else (x.low - y.high, x.high - y.low)
        high = np.minimum(high, attrs.get("most", math.inf))
        made = Tracked(low, high, x.error + y.error, x.unit, 0).holding(x.largest + y.largest)
        return self._kept(self._emit(kind, [x, y], {}, made))

    def _product(self, kind: str, given: list[Tracked]) -> Tracked:
        x, y = map(self._kept, given)
        x = self.at(x, x.unit + self._spared(x.unit + y.unit - FRACTION))
        times: Any = np.matmul if kind == "matmul2" else np.multiply
        (a, r), (b, s) = (((t.low + t.high) / 2, (t.high - t.low) / 2) for t in (x, y))
        centre = times(a, b)
        around = times(np.abs(a), s) + times(r, np.abs(b)) + times(r, s)
        low, high = centre - around, centre + around
        if kind == "mul" and x.place == y.place:  # a square, which is at least 0
            low, high = np.maximum(low, 0), np.maximum(np.square(x.low), np.square(x.high))
        size = [np.maximum(np.abs(t.low), np.abs(t.high)) for t in (x, y)]
        unit = x.unit + y.unit - FRACTION
        error = times(x.error, size[1]) + times(size[0], y.error) + times(x.error, y.error) + 2.0**-unit
        terms = x.low.shape[-1] if kind == "matmul2" else 1
        made = Tracked(low, high, error, unit, 0)
        made = made.holding(times(x.largest, y.largest) + 2.0**-unit)
        wide = x.bits + y.bits + (terms - 1).bit_length()
        if wide > _SUM:
            raise self._unbounded(made)
        self._need(wide)
        return self._kept(self._emit(kind, [x, y], {}, made))

    def _spared(self, unit: int) -> int:
        """Returns by how many bits a factor is made finer, so that a product has enough bits left.

        A product in this unit loses 16 bits; what is left is judged by the sample's magnitude. With the usual number of
        bits none are needed.
        """
        if self.bits >= _USUAL:
            return 0
        if not math.isfinite(self._now):
            return max(0, FRACTION - self.bits)
        left = bits_of(4 * self._now, unit) if self._now else self.bits
        return min(max(0, self.bits - left), _USUAL - FRACTION)

    def _blend(self, given: list[Tracked]) -> Tracked:
        """Plans share x + (1 - share) y, for a share between 0 and 1 that is within 2 units.

        Errors are shared as the arrays are: near a share of 0 or 1, the error is nearly that of one array.
        """
        share, (x, y) = self.at(given[0], FRACTION), self._aligned(given[1:])
        sizes = np.broadcast_shapes(share.low.shape, x.low.shape, y.low.shape)
        ends = np.minimum(x.low, y.low), np.maximum(x.high, y.high)
        low, high = (np.broadcast_to(end, sizes) for end in ends)
        apart = np.maximum(x.high - y.low, y.high - x.low) + x.error + y.error
        shared = np.maximum(*(y.error + end * (x.error - y.error) for end in (share.low, share.high)))
        error = share.error * apart + shared + 2.0**-x.unit
        wide = share.bits + max(x.bits, y.bits) + 1
        if wide > _SUM:
            raise self._unbounded(x)
        self._need(wide)
        held = np.maximum(x.largest, y.largest) * (1 + 2.0 ** (2 - FRACTION)) + 2.0**-x.unit
        made = Tracked(low, high, error, x.unit, 0).holding(held)
        return self._kept(self._emit("blend", [share, x, y], {}, made))

    def _scale(self, attrs: dict[str, Any], x: Tracked) -> Tracked:
        factor, offset = attrs["factor"], attrs["offset"]
        x = self._roomy(x)
        mantissa, exponent = math.frexp(factor)
        exact = abs(mantissa) == 0.5
        part, unit = (math.copysign(1.0, factor), x.unit - exponent + 1) if exact else (mantissa, x.unit - exponent)
        if offset:  # which needs room, too
            most = _ROOM - exponent_above(abs(offset))
            if unit > most:
                x = self.at(x, x.unit - (unit - most))
                unit = most
        ends = x.low * factor, x.high * factor
        low, high = np.minimum(*ends) + offset, np.maximum(*ends) + offset
        error = x.error * abs(factor) + 2.0 ** -(unit + 1) * ((offset != 0) + (0 if exact else 2 * _MULTIPLE))
        public = {"times": part, "plus": _carried(offset, unit)}
        return self._kept(self._emit("scale", [x], public, Tracked(low, high, error, unit, 0)))

    def _roomy(self, x: Tracked) -> Tracked:
        """Returns the array with room for a multiple by a public real."""
        x = x if x.bits <= _ROOM else self.at(x, x.unit - (x.bits - _ROOM))
        self._need(x.bits + _PUBLIC)
        return x

    def _pointwise(self, kind: str, attrs: dict[str, Any], x: Tracked) -> Tracked:
        """Plans steps of one operand that keep its unit."""
        if kind in ("leaky_relu", "avg_pool", "mean"):
            x = self._roomy(x)
        if kind == "clip":
            attrs = _needed(attrs, float(x.largest.max(initial=0.0)))
            ends = {name: None if v is None else _carried(v, x.unit) for name, v in attrs.items()}
            error = x.error + 2.0 ** -(x.unit + 1)
            made = Tracked(alone(kind, attrs, x.low), alone(kind, attrs, x.high), error, x.unit, 0)
            return self._emit(kind, [x], ends, made)
        if kind == "leaky_relu":
            steep = exponent_above(max(1.0, abs(attrs["slope"])))
            if x.bits + steep > _ROOM:
                x = self.at(x, x.unit - (x.bits + steep - _ROOM))
            self._need(x.bits + steep + _PUBLIC)
            low, high = _with_zero(x, [alone(kind, attrs, e) for e in (x.low, x.high)])
            error = x.error * max(1.0, abs(attrs["slope"])) + _MULTIPLE * 2.0**-x.unit
            return self._emit(kind, [x], attrs, Tracked(low, high, error, x.unit, 0))
        error = x.error if kind == "relu" else alone(kind, attrs, x.error)
        if kind in ("avg_pool", "mean"):
            error = error + _MULTIPLE * 2.0**-x.unit
        made = Tracked(alone(kind, attrs, x.low), alone(kind, attrs, x.high), error, x.unit, 0)
        return self._emit(kind, [x], attrs, made)


def _wanted(steps: Sequence[Step]) -> list[set[str]]:
    """Returns for every array the kinds of steps that take it or a moved copy of it; "move" if no step takes that."""
    found: list[set[str]] = [set() for _ in range(len(steps) + 1)]
    for place in range(len(steps), 0, -1):
        step = steps[place - 1]
        kinds = (found[place] or {"move"}) if step.kind in MOVES else {step.kind}
        for i in step.inputs:
            found[i] |= kinds
    return found


def _carried(value: float, unit: int) -> float:
    """Returns a public number as the program has it for arrays of this unit: in whole units, of 2^-16 each."""
    return math.ldexp(round(math.ldexp(value, unit)), -FRACTION)


def _needed(limits: dict[str, Any], largest: float) -> dict[str, Any]:
    """Drops the limits beyond which there are no values."""
    low, high = limits["low"], limits["high"]
    return {
        "low": None if low is None or low <= -largest else low,
        "high": None if high is None or high >= largest else high,
    }


def _with_zero(x: Tracked, ends: list[Array]) -> tuple[Array, Array]:
    """Returns bounds on an array that is a multiple of x on each side of 0."""
    zero = np.where((x.low < 0) & (x.high > 0), 0.0, ends[0])
    return np.minimum(np.minimum(*ends), zero), np.maximum(np.maximum(*ends), zero)
