"""Steps of stochastic gradient descent, on secrets and in the clear.

Notation: a step has gradients g of a batch, summed, velocities v and weights w: v <- m v - a g - c w, w <- w + v, with
a = learning_rate / records, c = learning_rate alpha (0 for intercepts), m = momentum. All three are whole multiples of
2^-shift, so that a step truncates once: m v - a g - c w is exact, and is rounded to the nearest unit.

Nothing wraps; the proof: a step begins with weights in [-W, W]. Ranges are derived from there through the step,
including that of the gradient, G. So |v| is at most V = (a G + c W + 1 unit) / (1 - m) at any step, and |w| is at most
the largest initial weight plus V for each step. Where that is at most W, it is stated as a range; elsewhere weights are
clipped to [-W, W].
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate import _source
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype
from quorate.errors import QuorateError, RangeError, RangeWarning
from quorate.learn._dense_network import Reals, Shape
from quorate.learn._gradient import gradient
from quorate.learn._schedule import Schedule
from quorate.session import Session

__all__ = ["Steps", "clear_step", "nothing_of"]


@dataclasses.dataclass(frozen=True)
class State:
    """Parameters and their velocities, as secrets."""

    parameters: list[SecretArray]
    velocities: list[SecretArray]


class Steps:
    """The steps of a training, with the bounds and constants that they share."""

    def __init__(self, session: Session, shape: Shape, schedule: Schedule, dtype: Dtype, weight_bound: float) -> None:
        self._session, self._shape, self._schedule, self._dtype = session, shape, schedule, dtype
        self._most_weight = int(weight_bound * 2**dtype.frac)
        self.weight_bound = self._most_weight / 2**dtype.frac
        self._most_velocity: list[int] = []
        self._clips: list[bool] = []

    def begin(self, x: SecretArray, initial: list[Reals], steps: int) -> State:
        """Returns the public initial weights as secrets, like later weights, so that all steps are the same program."""
        largest = max(float(np.abs(w).max(initial=0.0)) for w in initial)
        if largest > self.weight_bound:
            raise RangeError(
                at(f"fit: initial weights up to {largest:.3g} are beyond weight_bound={self.weight_bound}")
            )
        self._steps, self._initial = steps, int(largest * 2**self._dtype.frac) + 1
        nothing = self._nothing(x)
        parameters = [self._stated(nothing + w, self._most_weight) for w in initial]
        return State(parameters, [nothing + np.zeros(w.shape) for w in initial])

    def _nothing(self, x: SecretArray) -> SecretArray:
        """Returns a secret 0 whose proven range is at least as wide as that of weights. Local."""
        one = x.reshape(-1)[:1]
        low, high = self._range(one)
        by = -(-2 * self._most_weight // max(high - low, 1)) + 1
        return one * by - one * by

    def step(self, state: State, x: SecretArray, targets: SecretArray) -> State:
        """Returns the state after one more step. Nothing is run yet.

        Raises:
            RangeError: the proven range of x does not prove that nothing wraps.
        """
        with warnings.catch_warnings(), x._session._errors_are_stated():
            warnings.simplefilter("ignore", RangeWarning)  # `_proven` checks every range
            sums = self._shape.scores(x, self._shape.layers(state.parameters))
            for place, scores in enumerate(sums):
                self._proven(scores, f"the sums of layer {place}", x)
            errors = self._shape.errors(sums[-1], targets)
            self._proven(errors, "the difference of outputs and y", x)
            gradients = gradient(sums[-1], state.parameters, along=self._shape.slopes(errors))
            return self._moved(state, gradients, x)

    def _moved(self, state: State, gradients: list[SecretArray], x: SecretArray) -> State:
        size = x.shape[0]
        reaches = [self._proven(g, "a gradient", x) for g in gradients]
        multiples = [self._schedule.multiples(size, decays=g.ndim == 2) for g in gradients]
        most = [m.most(reach, self._most_weight) for m, reach in zip(multiples, reaches, strict=True)]
        first = not self._most_velocity
        if first:  # smaller batches have the same bound, up to the rounding of factors: hence 1/64 more
            self._most_velocity = [velocity + velocity // 64 for velocity in most]
            reached = [self._initial + self._steps * velocity for velocity in self._most_velocity]
            self._clips = [most_weight > self._most_weight for most_weight in reached]
        if any(now > before for now, before in zip(most, self._most_velocity, strict=True)):
            raise QuorateError(at("fit: a velocity was bounded too tightly; please report this defect"))
        state = State(state.parameters, self._all_stated(state.velocities)) if first else state
        velocities, parameters = [], []
        for place, (g, v, w) in enumerate(zip(gradients, state.velocities, state.parameters, strict=True)):
            by = multiples[place]
            half = 2.0 ** (by.shift - 1 - self._dtype.frac)
            moved = v * by.velocity - g * by.gradient + half
            moved = moved - w * by.weight if by.weight else moved
            self._proven(moved, "a step", x)
            velocities.append(self._stated(moved >> by.shift, self._most_velocity[place]))
            after = w + velocities[-1]
            self._proven(after, "a weight", x)
            if self._clips[place]:
                after = after.clip(-self.weight_bound, self.weight_bound)
            parameters.append(self._stated(after, self._most_weight))
        return State(parameters, velocities)

    def _all_stated(self, velocities: list[SecretArray]) -> list[SecretArray]:
        return [self._stated(v, most) for v, most in zip(velocities, self._most_velocity, strict=True)]

    def _range(self, x: SecretArray) -> tuple[int, int]:
        low, high = self._session._native.range(x._node)
        return int(low), int(high)

    def _proven(self, x: SecretArray, what: str, records: SecretArray) -> int:
        """Returns the largest magnitude that an array is proven to have, in units.

        Raises:
            RangeError: nothing proves that the array does not wrap.
        """
        low, high = self._range(x)
        most = max(-low, high)
        if most >= 1 << (self._dtype.bits - 1) or x.dtype != self._dtype:
            known = max(abs(end) for end in self._range(records)) / 2.0**records.dtype.frac
            raise RangeError(
                at(
                    f"fit: {what} may leave {self._dtype}, in which it is computed: features may be as large as "
                    f"{known:.6g}, weights as {self.weight_bound:.6g}. State how large features are (bound= of inputs, "
                    "X.clip(low, high)) and y, scale them to about 1, or choose a smaller weight_bound= or "
                    "fraction_bits="
                )
            )
        return most

    def _stated(self, x: SecretArray, most: int) -> SecretArray:
        return x._new(self._session._native.stated(x._node, -most, most, _source.line()))

    @property
    def clips(self) -> bool:
        """Whether weights are clipped in every step, because no proof makes that unnecessary."""
        return any(self._clips)


def nothing_of(arrays: Sequence[SecretArray]) -> SecretArray:
    """Returns an empty array whose reveal computes all of the arrays, and discloses nothing."""
    session = arrays[0]._session
    return session.concatenate([array.reshape(-1)[:0] for array in arrays])


def clear_step(
    shape: Shape, schedule: Schedule, weight_bound: float, state: tuple[list[Reals], list[Reals]], x: Any, targets: Any
) -> tuple[list[Reals], list[Reals]]:
    """Computes a step in the clear, in float64.

    Its gradients are written out, and not derived from the program by `gradient`: so the comparison of `fit_clear` with
    `fit` tests `gradient`.
    """
    parameters, velocities = state
    layers = shape.layers(parameters)
    sums = shape.scores(x, layers)
    delta: Reals = shape.slopes(shape.errors(sums[-1], targets))
    gradients: list[Reals] = []
    for place in range(len(layers) - 1, -1, -1):
        inputs = shape.activated(sums[place - 1]) if place else x
        gradients = [inputs.T @ delta, *([delta.sum(axis=0)] if shape.intercepts else []), *gradients]
        if place:
            delta = delta @ layers[place][0].T * _slope(shape.activation, sums[place - 1], inputs)
    after: tuple[list[Reals], list[Reals]] = ([], [])
    for w, v, g in zip(parameters, velocities, gradients, strict=True):
        m, a, c = schedule.multiples(len(x), decays=w.ndim == 2).reals()
        after[1].append(m * v - a * g - c * w)
        after[0].append(np.clip(w + after[1][-1], -weight_bound, weight_bound))
    return after


def _slope(activation: str, x: Reals, y: Reals) -> Reals:
    """Returns the derivative of an activation at x, where it is y."""
    slopes = {"relu": lambda: (x > 0) * 1.0, "tanh": lambda: 1 - y * y, "logistic": lambda: y * (1 - y)}
    return np.asarray(slopes[activation]()) if activation in slopes else np.ones_like(x)
