"""Neural networks as integers, layer by layer, with all bits of a ring of 64 and a proven bound on the error.

Notation: layer l takes n inputs A_i, integers below 2**P that stand for A_i / 2**s. Weights become
W_ji = round(w_ji * 2**(Q - c)) with |W_ji| <= 2**Q, and intercepts B_j = round(b_j * 2**(s + Q - c)). Let n' be the
power of two at or above n, and P + Q + log2(n') = 60. Then D_j = sum_i W_ji A_i + B_j is at most 2**61 in magnitude,
and stands for D_j / 2**(s + Q - c). The layer's results are shifted right exactly, to the next layer's bits.

With relu and identity the scale passes through the activation: every c is secret, and decisions are scaled by one
positive number, which changes neither signs nor their order. With tanh and logistic the results are shifted to 16
fractional bits, fixed point; the c of hidden layers, one power of two each, are then public.

The error is propagated with the trained weights, starting from the features' bounds. It is |w| times the error of the
inputs, plus the rounding of weights, intercepts and shifts, plus the errors of tanh and logistic that their docstrings
state.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._backend import Array, Backend
from quorate.models._linear import Bounds, scales_of
from quorate.models._numerics import Integers, gamma, quantise
from quorate.models._pipeline import Before
from quorate.models._shape import Shape

FRACTION = 16
"""Fractional bits of the arguments and results of tanh and logistic."""

SATURATING = ("tanh", "logistic")

_TOTAL = 60
_SLOPE = {"relu": 1.0, "identity": 1.0, "tanh": 1.0, "logistic": 0.25}
_UNITS = {"tanh": 2.0, "logistic": 1.5}  # the error of the function, in units of 2**-FRACTION


@dataclasses.dataclass(frozen=True, repr=False)
class NetworkSecrets:
    """The secret part: per layer weights (outputs, inputs) and intercepts (outputs,), and the decisions' units."""

    weights: tuple[Integers, ...]
    intercepts: tuple[Integers, ...]
    units: Integers


@dataclasses.dataclass(frozen=True)
class PlainNetwork:
    """Trained layers, weights (outputs, inputs), and the dtype that the trainer's library computes in."""

    weights: Sequence[NDArray[np.float64]]
    intercepts: Sequence[NDArray[np.float64]]
    activation: str
    dtype: np.dtype
    before: Before | None = None
    """The steps before the first layer: see `folded`."""

    def folded(self) -> PlainNetwork:
        """Returns the network with the steps before folded into the first layer."""
        if self.before is None:
            return self
        first, own = self.weights[0] @ self.before.matrix, self.intercepts[0] + self.weights[0] @ self.before.shift
        return dataclasses.replace(
            self, weights=[first, *self.weights[1:]], intercepts=[own, *self.intercepts[1:]], before=None
        )

    def rounding_before(self, feature_bounds: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Returns a bound on the first layer's error from earlier steps: of the trainer's library and our folding."""
        if self.before is None:
            return 0.0
        reached = self.before.sizes @ feature_bounds + self.before.offsets
        operations = 2 * self.before.roundings + self.weights[0].shape[1] + 4
        return gamma(operations, self.before.coarser(self.dtype)) * (
            np.abs(self.weights[0]) @ reached + np.abs(self.intercepts[0])
        )


class Layer(NamedTuple):
    """The public arithmetic of a layer: sizes, and bits of inputs and weights."""

    inputs: int
    outputs: int
    data_bits: int
    weight_bits: int

    @property
    def largest(self) -> int:
        """A bound on the product with the weights, and on the intercepts."""
        return 1 << ((self.inputs - 1).bit_length() + self.data_bits + self.weight_bits)


def layers_of(shape: Shape) -> list[Layer]:
    """Returns the arithmetic of each layer, from the public shape alone."""
    sizes = [shape.width, *(shape.layers or ()), shape.decisions]
    found: list[Layer] = []
    for place, (inputs, outputs) in enumerate(pairwise(sizes)):
        total = _TOTAL - (inputs - 1).bit_length()
        if place == 0:
            weight_bits = total - (shape.data_bits or 0)
        elif shape.activation in SATURATING:
            weight_bits = total - FRACTION
        else:
            weight_bits = total // 2 - 3  # results are far below their bound and get more bits
        found.append(Layer(inputs, outputs, total - weight_bits, weight_bits))
    return found


def shifts_of(shape: Shape) -> list[int]:
    """Returns the number of bits by which the results of each hidden layer are shifted right."""
    layers = layers_of(shape)
    if shape.layer_scales is None:
        return [layer.largest.bit_length() - after.data_bits for layer, after in pairwise(layers)]
    fractions = [layers[0].data_bits] + [FRACTION] * len(layers)
    scaled = zip(fractions, layers, shape.layer_scales, strict=False)
    return [unit + layer.weight_bits - c - FRACTION for unit, layer, c in scaled]


def encode_network(
    plain: PlainNetwork,
    classes: tuple,
    bounds: Bounds,
    multilabel: bool = False,
    targets: tuple[int, ...] | None = None,
) -> tuple[Shape, NetworkSecrets, float]:
    """Returns the shape, the secret integers, and the margin (for numbers the error).

    A prediction may differ from the estimator's if the record's margin is at or below the returned one.
    """
    if not all(np.isfinite(a).all() for a in (*plain.weights, *plain.intercepts)):
        raise ModelError("the model has weights that are not finite; train it again")
    trained, plain = plain, plain.folded()
    features = plain.weights[0].shape[1]
    scales = np.array(scales_of(bounds.largest, features), dtype=np.int64)
    weights = [np.ldexp(plain.weights[0], scales), *plain.weights[1:]]  # for records divided by their bounds
    total = _TOTAL - (features - 1).bit_length()
    hidden = tuple(w.shape[0] for w in weights[:-1])
    shape = Shape(
        "network",
        classes,
        features,
        scales=tuple(scales.tolist()),
        data_bits=total - (total // 2 - (3 if bounds.guessed else 0)),
        layers=hidden,
        activation=plain.activation,
        layer_scales=_public_exponents(weights, plain) if plain.activation in SATURATING else None,
        multilabel=multilabel or None,
        link=None if targets is not None else "softmax" if len(classes) > 2 and not multilabel else "logistic",
        targets=targets,
    )
    if min(shifts_of(shape), default=0) < 0:
        raise ModelError("weights times the largest features are too large for tanh and logistic; rescale the features")
    secrets, error = _encode_layers(shape, weights, plain, trained.rounding_before(np.ldexp(1.0, scales)))
    compared = 2 if shape.link == "softmax" else 1
    return shape, secrets, float(error.max()) * compared * (1 + 1e-9)


def _exponent(weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> int:
    """Returns the least c with all weights at most 2**c and all intercepts below the number of inputs times that."""
    sum_bits = (weights.shape[1] - 1).bit_length()
    largest = max(float(np.abs(weights).max()), float(np.abs(intercepts).max()) / 2**sum_bits)
    if not math.isfinite(largest) or largest > 2.0**400:
        raise ModelError("weights times the largest features are too large; rescale the features")
    return max(math.frexp(largest)[1], -400)


def _public_exponents(weights: Sequence[NDArray[np.float64]], plain: PlainNetwork) -> tuple[int, ...]:
    return tuple(_exponent(w, b) for w, b in zip(weights[:-1], plain.intercepts, strict=False))


def _encode_layers(
    shape: Shape,
    weights: Sequence[NDArray[np.float64]],
    plain: PlainNetwork,
    rounding_before: NDArray[np.float64] | float,
) -> tuple[NetworkSecrets, NDArray[np.float64]]:
    """Returns the integers of all layers, and the error of each decision, including the trainer's own rounding."""
    shifts, encoded = shifts_of(shape), []
    unit = shape.data_bits or 0  # an input x stands for x / 2**unit
    tracked = _Tracked.records(shape.width, unit)
    for place, (layer, w, b) in enumerate(zip(layers_of(shape), weights, plain.intercepts, strict=True)):
        reach = math.ldexp(1.0, layer.data_bits - unit)  # the bound on inputs that range analysis proves
        c = _exponent(w, b / reach) if shape.layer_scales is None else _exponent(w, b)
        if shape.layer_scales is not None and place < len(shifts):
            c = shape.layer_scales[place]
        integers = quantise(w, layer.weight_bits - c), quantise(b, unit + layer.weight_bits - c)
        encoded.append(integers)
        rounded = np.ldexp(integers[0].astype(np.float64), c - layer.weight_bits)
        intercept_error = math.ldexp(1.0, c - unit - layer.weight_bits - 1)
        tracked = tracked.through(w, rounded, b, intercept_error, plain.dtype)
        if place == 0:
            tracked = tracked._replace(rounding=tracked.rounding + rounding_before)
        unit += layer.weight_bits - c
        if place < len(shifts):
            unit -= shifts[place]
            tracked = tracked.activated(plain.activation, math.ldexp(1.0, -unit), plain.dtype)
    units = np.full(shape.decisions, unit)
    all_weights, all_intercepts = zip(*encoded, strict=True)
    last = 0.0 if shape.targets is None else 2.0**-52 * tracked.largest  # numbers are rounded to float64 once more
    return NetworkSecrets(all_weights, all_intercepts, units), tracked.error + tracked.rounding + last


class _Tracked(NamedTuple):
    """Bounds on a layer's real results, and on how far our integers and the trainer's floats are from them."""

    largest: NDArray[np.float64]
    error: NDArray[np.float64]
    rounding: NDArray[np.float64]

    @classmethod
    def records(cls, features: int, unit: int) -> _Tracked:
        ones = np.ones(features)
        return cls(ones, ones * math.ldexp(1.0, -unit - 1), 0 * ones)

    def through(
        self,
        weights: NDArray[np.float64],
        rounded: NDArray[np.float64],
        intercepts: NDArray[np.float64],
        intercept_error: float,
        dtype: np.dtype,
    ) -> _Tracked:
        """Returns the bounds after a layer's sums."""
        size, off = np.abs(weights), np.abs(weights - rounded)
        largest = size @ self.largest + np.abs(intercepts)
        error = np.abs(rounded) @ self.error + off @ self.largest + intercept_error
        seen = size @ (self.largest + self.rounding) + np.abs(intercepts)
        return _Tracked(largest, error, size @ self.rounding + gamma(weights.shape[1] + 3, dtype) * seen)

    def activated(self, activation: str, unit: float, dtype: np.dtype) -> _Tracked:
        """Returns the bounds after the shift and the activation."""
        slope, own = _SLOPE[activation], _UNITS.get(activation, 0.0) * 2.0**-FRACTION
        error = slope * (self.error + unit) + own
        if activation not in SATURATING:
            return _Tracked(self.largest, error, self.rounding)
        rounding = slope * self.rounding + 8 * float(np.finfo(dtype).eps)
        return _Tracked(np.minimum(self.largest, 1.0) if activation == "tanh" else np.ones_like(error), error, rounding)


def run_network(on: Backend, shape: Shape, secrets: NetworkSecrets | None, records: Array, model_owner: int) -> Array:
    """Returns the decisions, (records, decisions), from scaled records; fixed point with tanh and logistic."""
    shifts, x = shifts_of(shape), records
    fraction = fraction_of(shape)
    for place, layer in enumerate(layers_of(shape)):
        w, b = _shared(on, layer, place, secrets, model_owner, fraction)
        x = on.turned_product(x, w, layer.largest) + b
        if place < len(shifts):
            x = on.activation(shape.activation or "", on.shift_right(x, shifts[place]), fraction)
    return x


def _shared(
    on: Backend, layer: Layer, place: int, secrets: NetworkSecrets | None, owner: int, fraction: int
) -> tuple[Array, Array]:
    """Shares a layer's weights and intercepts."""
    weights, intercepts = (None, None) if secrets is None else (secrets.weights[place], secrets.intercepts[place])
    size, bound = (layer.outputs, layer.inputs), 1 << layer.weight_bits
    w = on.keep(f"weights {place}", lambda: on.factor(on.integers(weights, owner, size, 64, bound)))
    b = on.keep(f"intercepts {place}", lambda: on.units(intercepts, owner, (layer.outputs,), fraction, layer.largest))
    return w, b


def fraction_of(shape: Shape) -> int:
    """Returns the fractional bits of a network's arrays, which are fixed point if its activation needs that."""
    return FRACTION if shape.activation in SATURATING else 0
