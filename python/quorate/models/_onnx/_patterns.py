"""Patterns: several nodes of a file that are one step, found when the last of them is lowered.

GELU is x (1 + erf(x / sqrt 2)) times a number. Layer normalisations are of lines x with the mean m and the variance v:
(x - m) / sqrt(f v + e), or a product by the inverse root r, or x r + (b - m r). The variance is the mean of (x - m)^2,
or the mean of x^2 less m^2. Without means a normalisation is x / sqrt(f s + e) with the mean s of x^2. A softmax is e^x
by its sum along an axis. A pattern has to match term by term; an Erf that is left over is a step of its own.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from quorate.models._layers._kernels import Array
from quorate.models._onnx._layout import Tensor, Unsupported
from quorate.models._onnx._lower import Lowering
from quorate.models._onnx._steps import Step

_NEGATIVE = {"factor": -1.0, "offset": 0.0}


@dataclasses.dataclass(frozen=True)
class _Lines:
    """Lines of the array at `x` along `axes`, centred by their mean or as they are."""

    x: int
    axes: tuple[int, ...]
    centred: bool = True


@dataclasses.dataclass(frozen=True)
class _Deviation:
    """The root of `factor` times the mean square of lines, plus `added`."""

    lines: _Lines
    factor: float
    added: float


class Patterns:
    """A search for patterns among the steps so far."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering

    def quotient(self, one: Tensor, other: Tensor) -> Tensor | None:
        """Returns the step for a quotient of lines by their deviation, or of powers of e by their sum; else None."""
        if (made := self._shares(one.place, other.place)) is not None:
            return made
        for deviation in self._deviations(other.place):
            sign = self._sign(one.place, deviation.lines)
            if sign:
                return self._normalised(deviation, np.full(1, sign), None)
        return None

    def product(self, one: Tensor, other: Tensor) -> Tensor | None:
        """Returns the step for a product that is GELU, or lines times the inverse of their deviation and constants."""
        for a, b in ((one.place, other.place), (other.place, one.place)):
            made = self._gelu(a, b)
            if made is not None:
                return made
            for deviation, weights in self._inverses(b):
                sign = self._sign(a, deviation.lines)
                if sign:
                    return self._normalised(deviation, weights * sign, None)
        return None

    def total(self, one: Tensor, other: Tensor, sign: float) -> Tensor | None:
        """Returns the step for one array plus `sign` times another if that is x r + (b - m r); else None."""
        ways = [(one.place, other.place, sign)] + ([(other.place, one.place, 1.0)] if sign == 1.0 else [])
        for a, b, times in ways:
            *_, (base, factor, offset) = self._multiples(b)
            for x, r in self._factors(a):
                for m in (m for m, same in self._factors(base) if same == r):
                    *_, (of, by, more) = self._multiples(m)
                    for deviation, weights in self._inverses(r):
                        is_less = times * factor * by == -1.0 and not more.any()
                        lines = _Lines(*self._mean(of))
                        if is_less and lines.x == x and lines == deviation.lines:
                            return self._normalised(deviation, weights, times * offset)
        return None

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _step(self, place: int, *kinds: str) -> Step | None:
        step = self._lowering.steps[place - 1] if place > 0 else None
        return step if step is not None and step.kind in kinds else None

    def _multiples(self, place: int) -> Iterator[tuple[int, float, Array]]:
        """Yields arrays of which this one is a multiple by one number plus constants; the array itself first."""
        factor, offset = 1.0, np.zeros(1)
        while True:
            yield place, factor, offset
            step = self._step(place, "affine", "scale")
            if step is None:
                return
            times = np.asarray(step.attrs["factor"] if step.weights is None else step.weights)
            plus = step.attrs["offset"] if step.weights is None else step.offsets
            if times.size != 1:
                return
            offset = offset + factor * np.asarray(0.0 if plus is None else plus)
            factor, place = factor * float(times.ravel()[0]), step.inputs[0]

    def _factors(self, place: int) -> list[tuple[int, int]]:
        """Returns the factors of a product, in either order."""
        step = self._step(place, "mul")
        return [] if step is None else [(step.inputs[0], step.inputs[1]), (step.inputs[1], step.inputs[0])]

    def _square(self, place: int) -> int:
        """Returns the array of which another is the square, or -1."""
        step = self._step(place, "mul")
        return step.inputs[0] if step and step.inputs[0] == step.inputs[1] else -1

    def _mean(self, place: int, shape: tuple[int, ...] | None = None) -> tuple[int, tuple[int, ...]]:
        """Returns the array, and the axes, of which another is the mean; these axes have one place. Else -1.

        A mean without these axes that gets them back is the same: reshaping leaves the order of elements as it is.
        """
        shape = self._lowering.shapes[place] if shape is None else shape
        while (step := self._step(place, "reshape")) is not None:
            place = step.inputs[0]
        step = self._step(place, "mean")
        if step is not None:
            axes = tuple(step.attrs["axes"])
            whole = self._lowering.shapes[step.inputs[0]]
            if shape == tuple(1 if axis in axes else n for axis, n in enumerate(whole)):
                return step.inputs[0], axes
        return -1, ()

    def _centred(self, place: int) -> tuple[_Lines, float] | None:
        """Returns the lines and 1 for x - m, the lines and -1 for m - x; else None."""
        step = self._step(place, "sub")
        one, other = step.inputs if step else (-1, -1)
        for x, m, sign in ((one, other, 1.0), (other, one, -1.0)) if step else ():
            of, axes = self._mean(m)
            if of == x:
                return _Lines(x, axes), sign
        return None

    def _sign(self, place: int, lines: _Lines) -> float:
        """Returns 1 or -1 if an array is these lines or their negative, else 0."""
        if not lines.centred:
            return float(place == lines.x)
        found = self._centred(place)
        return found[1] if found is not None and found[0] == lines else 0.0

    def _deviations(self, place: int) -> Iterator[_Deviation]:
        """Yields the deviations that an array may be."""
        root = self._step(place, "sqrt")
        if root is None:
            return
        place, factor, offset = root.inputs[0], 1.0, np.zeros(1)
        while True:
            *_, (place, times, plus) = self._multiples(place)
            factor, offset = factor * times, offset + factor * plus
            step = self._step(place, "reshape", "clip")
            # A variance is at least 0, which some files ensure by a Clip.
            if step is None or offset.size != 1:
                break
            if step.kind == "clip" and step.attrs != {"low": 0.0, "high": None}:
                break
            place = step.inputs[0]
        added = float(offset.ravel()[0])
        if offset.size == 1 and factor > 0 and 0 < added < math.inf:
            for lines in self._mean_squares(place, self._lowering.shapes[root.inputs[0]]):
                yield _Deviation(lines, factor, added)

    def _mean_squares(self, place: int, shape: tuple[int, ...]) -> Iterator[_Lines]:
        """Yields the lines of which an array, once it has that shape, may be the mean square."""
        squares, axes = self._mean(place, shape)
        inner = self._square(squares)
        if inner >= 0:
            centred = self._centred(inner)
            if centred is not None and centred[0].axes == axes:
                yield centred[0]
            yield _Lines(inner, axes, False)
        step = self._step(place, "sub")
        if step is not None:
            (squares, axes), mean = self._mean(step.inputs[0], shape), self._square(step.inputs[1])
            x = self._square(squares)
            if x >= 0 and mean >= 0 and self._mean(mean, shape) == (x, axes):
                yield _Lines(x, axes)

    def _inverses(self, place: int) -> Iterator[tuple[_Deviation, Array]]:
        """Yields the deviations of which an array may be the inverse, with constant factors."""
        weights = np.ones(1)
        while (step := self._step(place, "affine", "scale")) is not None:
            if step.attrs.get("offset") or step.offsets is not None:
                return
            weights = weights * (step.attrs["factor"] if step.weights is None else step.weights)
            place = step.inputs[0]
        step = self._step(place, "inverse")
        for deviation in self._deviations(step.inputs[0]) if step else ():
            yield deviation, weights

    def _shares(self, place: int, other: int) -> Tensor | None:
        """Returns the softmax if the arrays are powers of e and their sum along an axis, else None.

        A number subtracted from a whole line makes no difference.
        """
        powers = self._step(place, "exp")
        *_, (total, count, offset) = self._multiples(other)
        shape = self._lowering.shapes[other]
        while (step := self._step(total, "reshape")) is not None:
            *_, (total, times, more) = self._multiples(step.inputs[0])
            count, offset = count * times, offset + more
        of, axes = self._mean(total, shape)
        if powers is None or of != place or len(axes) != 1 or offset.any():
            return None
        x, whole = powers.inputs[0], self._lowering.shapes[place]
        if count != whole[axes[0]]:
            return None
        less = self._step(x, "sub")
        if less is not None and self._lowering.shapes[less.inputs[0]] == whole:
            line = (1,) * (len(whole) - len(self._lowering.shapes[less.inputs[1]])) + self._lowering.shapes[
                less.inputs[1]
            ]
            x = less.inputs[0] if line[axes[0]] == 1 else x
        return self._lowering.emit("softmax", Tensor(x, whole), {"axis": axes[0] - len(whole)})

    # ---- results ----------------------------------------------------------------------------------------------------

    def _gelu(self, place: int, other: int) -> Tensor | None:
        *_, (base, factor, offset) = self._multiples(other)
        step = self._step(base, "erf")
        if step is None or offset.size != 1 or factor != float(offset.ravel()[0]):
            return None
        roots = self._multiples(step.inputs[0])
        inner = {x for x, by, more in roots if not more.any() and math.isclose(by, math.sqrt(0.5), rel_tol=1e-6)}
        for x, times, more in self._multiples(place):
            if x in inner and not more.any():
                made = self._lowering.emit("gelu", Tensor(x, self._lowering.shapes[x]))
                return self._lowering.emit("scale", made, {"factor": 2 * times * factor, "offset": 0.0})
        return None

    def _normalised(self, of: _Deviation, weights: Array, offsets: Array | None) -> Tensor:
        """Adds steps for lines divided by their deviation, times weights, plus offsets."""
        lowering, lines = self._lowering, of.lines
        shape = lowering.shapes[lines.x]
        x, others = Tensor(lines.x, shape), [axis for axis in range(len(shape)) if axis not in lines.axes]
        order, n = [*others, *lines.axes], math.prod(shape[axis] for axis in lines.axes)
        if n == 1:
            raise Unsupported("a layer normalisation of lines of one number, which leaves nothing of it")
        turned = x if order == sorted(order) else lowering.emit("transpose", x, {"axes": order})
        made = lowering.reshape(turned, (*(shape[axis] for axis in others), n))
        if not lines.centred:  # with their negatives beside them lines have a mean of 0, and the same mean square
            made = lowering.emit("concat", [made, lowering.emit("scale", made, _NEGATIVE)], {"axis": len(others)})
        made = lowering.emit("normalise", made, {"epsilon": of.added / of.factor})
        if not lines.centred:
            made = lowering.emit("slice", made, {"axes": [len(others)], "ranges": [[0, n, 1]]})
        made = lowering.reshape(made, turned.shape)
        if turned is not x:
            made = lowering.emit("transpose", made, {"axes": [order.index(axis) for axis in range(len(order))]})
        factor = weights * math.sqrt((n if lines.centred else 2 * n) / of.factor)
        if factor.size == 1 and (offsets is None or offsets.size == 1):
            offset = 0.0 if offsets is None else float(offsets.ravel()[0])
            return lowering.emit("scale", made, {"factor": float(factor.ravel()[0]), "offset": offset})
        return lowering.emit("affine", made, None, factor, offsets)
