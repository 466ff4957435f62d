"""Linear models: integers chosen so that no product is truncated, with a proved bound on what rounding can change.

Notation: record x, weights w_j and intercept b_j of decision j, n features; 2**e_i bounds |x_i| (public scales).
Records become X_i = round(x_i * 2**(d - e_i)), with |X_i| <= 2**d. A secret exponent c is chosen so that all
|w_ji| * 2**e_i < 2**c and |b_j| < n' * 2**c, n' the power of two at or above n. Weights become
W_ji = round(w_ji * 2**(e_i + v - c)), with |W_ji| <= 2**v, and B_j = round(b_j * 2**(d + v - c)).
So D_j = sum_i W_ji X_i + B_j is below 2 n' 2**(d+v) <= 2**62 in magnitude. Differences of two decisions fit in 64
bits, which the range analysis finds too. D_j / 2**(d+v-c) differs from the real decision by at most

    sum_i |w_ji| 2**(e_i - d - 1)  +  n 2**(c - v - 1)  +  2**(c - d - v - 1).

Scaling all decisions by one positive number changes neither signs nor the order, so that c need not be known.

If no bounds were stated for features, most are far below the assumed one, and 62 bits may leave them none of their own.
Then decisions have 120 bits, 61 of which are for records: a record is as precise as if it were 2**29 times larger.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError, RangeError
from quorate.models._backend import Array, Backend
from quorate.models._numerics import (
    Integers,
    each_feature,
    exponent_above,
    finite_float64,
    gamma,
    quantise,
    quantise_wide,
)
from quorate.models._pipeline import Before
from quorate.models._shape import NARROW, WIDE, Shape

DECISION_BOUND = 1 << 62
DEFAULT_BOUND = 8192.0

_EXPONENT_LIMIT = 900
_WIDE_DATA_BITS = 61  # fits in numpy's 64-bit integers


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The largest magnitudes of features, one number or one for each, and whether they are a guess."""

    largest: Any = DEFAULT_BOUND
    guessed: bool = False


@dataclasses.dataclass(frozen=True, repr=False)
class LinearSecrets:
    """The secret part: integers of weights (decisions, features), intercepts and units (decisions,).

    Intercepts of 120-bit decisions are Python's integers.
    """

    weights: Integers
    intercepts: Integers
    units: Integers  # decision j is in units of 2**-units[j]
    labels: Integers | None = None  # for neighbors (points, classes): 1 at each one's class; or its numbers and 1
    value_units: Integers | None = None  # of those numbers, (targets,)


@dataclasses.dataclass(frozen=True)
class PlainLinear:
    """Trained decisions `weights @ x + intercepts`, with bounds for the rounding errors of the trainer's arithmetic.

    The magnitudes of a decision's summands add up to at most `magnitudes @ |x| + offsets`, in `roundings` operations in
    `dtype`.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    dtype: np.dtype
    roundings: int
    magnitudes: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @classmethod
    def direct(cls, weights: NDArray[np.float64], intercepts: NDArray[np.float64], dtype: np.dtype) -> PlainLinear:
        """Returns decisions that are sums of weights times features."""
        return cls(weights, intercepts, dtype, weights.shape[1] + 2, np.abs(weights), np.abs(intercepts))

    def after(self, before: Before | None) -> PlainLinear:
        """Folds steps before the model into the weights; their rounding errors count like the library's."""
        if before is None:
            return self
        return PlainLinear(
            self.weights @ before.matrix,
            self.intercepts + self.weights @ before.shift,
            before.coarser(self.dtype),
            self.roundings + 2 * before.roundings + self.weights.shape[1] + 4,
            self.magnitudes @ before.sizes,
            self.magnitudes @ before.offsets + self.offsets,
        )

    def rounding_error(self, feature_bounds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns a bound, per decision, on the error of the decision that the trainer's library computes."""
        return gamma(self.roundings, self.dtype) * (self.magnitudes @ feature_bounds + self.offsets)


def public_bits(features: int, known_scales: bool, wide: bool = False) -> tuple[int, int]:
    """Returns the bits of a scaled record and of a weight; with the sum over features they fill 62 bits, 118 if `wide`.

    If the scales are a guess, most features are far below their bound, and the record gets more of the bits.
    """
    sum_bits = (features - 1).bit_length()
    if wide:
        return _WIDE_DATA_BITS, WIDE - 3 - sum_bits - _WIDE_DATA_BITS
    total = NARROW - 3 - sum_bits
    weight_bits = total // 2 - (0 if known_scales else 3)
    return total - weight_bits, weight_bits


def scales_of(bounds: object, features: int) -> tuple[int, ...]:
    """Returns the exponents of the least powers of two at or above each feature's largest magnitude."""
    largest = each_feature(bounds, features)
    if (largest < 0).any():
        raise ModelError("bounds are magnitudes and cannot be negative")
    exponents = tuple(exponent_above(float(b)) for b in largest)
    if max(map(abs, exponents)) > _EXPONENT_LIMIT:
        raise ModelError(f"bounds: magnitudes beyond 2**{_EXPONENT_LIMIT} or below its inverse; rescale the features")
    return exponents


def largest_of(bounds: Bounds, features: int) -> NDArray[np.float64]:
    """Returns the largest magnitudes that records may have under these bounds."""
    return np.ldexp(1.0, np.array(scales_of(bounds.largest, features), np.int64))


def bounds_of(sample: object, features: int) -> NDArray[np.float64]:
    """Returns twice the largest magnitude of each feature in a sample, so that other records have room."""
    try:
        values = finite_float64(sample, "sample")
    except RangeError as error:
        raise ModelError(str(error)) from error
    if values.ndim != 2 or values.shape[1] != features or values.shape[0] == 0:
        raise ModelError(f"sample has shape {values.shape}; records like those to come are (records, {features})")
    return 2 * np.abs(values).max(axis=0)


def encode_linear(
    plain: PlainLinear, kind: str, classes: tuple, bounds: Bounds, **public: Any
) -> tuple[Shape, LinearSecrets, float]:
    """Returns the shape, the secret integers, and the margin (for numbers the error).

    A prediction may differ from the estimator's if the record's margin is at or below the returned one.
    """
    features = plain.weights.shape[1]
    if not (np.isfinite(plain.weights).all() and np.isfinite(plain.intercepts).all()):
        raise ModelError("the model has weights that are not finite; train it again")
    scales = np.array(scales_of(bounds.largest, features), dtype=np.int64)
    wide = bounds.guessed and kind != "neighbors"  # neighbors compare many pairs, at a cost per bit
    data_bits, weight_bits = public_bits(features, not bounds.guessed, wide)
    shape = Shape(
        kind, classes, features, scales=tuple(scales.tolist()), data_bits=data_bits, weight_bits=weight_bits, **public
    )
    c = _secret_exponents(plain, scales, alike=kind != "regression")
    units = data_bits + weight_bits - c
    secrets = LinearSecrets(
        quantise(plain.weights, scales + (weight_bits - c)[:, None]),
        quantise_wide(plain.intercepts, units) if wide else quantise(plain.intercepts, units),
        units,
    )
    error = (
        np.abs(np.ldexp(plain.weights, scales)).sum(axis=1) * 2.0 ** (-data_bits - 1)
        + features * np.ldexp(1.0, c - weight_bits - 1)
        + np.ldexp(1.0, -units - 1)
        + plain.rounding_error(np.ldexp(1.0, scales))
    )
    if kind == "regression":  # the result is rounded to a float64 once more
        error = error + np.ldexp(1.0, (features - 1).bit_length() + 1 + c - 53)
    decisions_compared = 2 if kind == "neighbors" or (kind == "linear" and len(classes) > 2) else 1
    margin = float(error.max()) * decisions_compared * (1 + 1e-9)  # the bound itself is computed with rounding
    return shape, secrets, margin


def _secret_exponents(plain: PlainLinear, scales: Integers, alike: bool) -> Integers:
    """Returns the secret c of each decision; one for all if decisions are compared with each other."""
    sum_bits = (plain.weights.shape[1] - 1).bit_length()
    with np.errstate(over="ignore"):
        scaled = np.abs(np.ldexp(plain.weights, scales)).max(axis=1)
    largest = np.maximum(scaled, np.abs(plain.intercepts) / 2**sum_bits)
    if not np.isfinite(largest).all():
        raise ModelError("weights times the largest features exceed the range of float64; rescale the features")
    if alike:
        largest = np.broadcast_to(largest.max(), largest.shape)
    if largest.max() >= 2.0**_EXPONENT_LIMIT:
        raise ModelError(f"weights times the largest features exceed 2**{_EXPONENT_LIMIT}; rescale the features")
    return np.maximum(np.frexp(largest)[1].astype(np.int64), -_EXPONENT_LIMIT)


def encode_records(records: object, shape: Shape) -> Integers:
    """Scales and rounds records as the shape states; raises `RangeError` if a feature exceeds its scale."""
    values = finite_float64(records, "records")
    scales = np.array(shape.scales, dtype=np.int64)
    beyond = np.abs(values) > np.ldexp(1.0, scales)
    if beyond.any():
        row, feature = (int(i) for i in np.argwhere(beyond)[0])
        raise RangeError(
            f"records: {values[row, feature]} at record {row}, {shape.column(feature)}, exceeds the model's bound "
            f"{np.ldexp(1.0, int(scales[feature]))}; the model's owner states larger ones: from_sklearn(..., bounds=), "
            "or from_onnx(..., bound=)"
        )
    return quantise(values, (shape.data_bits or 0) - scales)


def run_linear(on: Backend, shape: Shape, secrets: LinearSecrets | None, records: Array, model_owner: int) -> Array:
    """Returns the decisions, (records, decisions), from records of `shape.decision_bits` bits."""
    count, bits = shape.decisions, shape.decision_bits
    data_bits, weight_bits = shape.data_bits or 0, shape.weight_bits or 0
    sum_bits = (shape.width - 1).bit_length()
    largest = 1 << (sum_bits + data_bits + weight_bits)
    w, b = (None, None) if secrets is None else (secrets.weights, secrets.intercepts)
    size = count, shape.width
    weights = on.keep("weights", lambda: on.factor(on.integers(w, model_owner, size, bits, 1 << weight_bits)))
    intercepts = on.keep("intercepts", lambda: on.integers(b, model_owner, (count,), bits, largest - 1))
    return on.turned_product(records, weights, largest) + intercepts


def choose(on: Backend, shape: Shape, decisions: Array) -> Array:
    """Returns the index of the predicted class, (records,), as integers or bits; for labels bits, (records, labels)."""
    if shape.kind == "votes":
        return _count_votes(on, decisions > 0, len(shape.classes))
    if shape.multilabel:
        return decisions > 0
    if shape.decisions == 1:
        return (decisions > 0).reshape(decisions.shape[0])
    return decisions.argmax(axis=1)


def _count_votes(on: Backend, wins: Array, classes: int) -> Array:
    """Chooses a class by libsvm's votes; of equal counts the first class wins.

    A pair votes for its first class if its decision is positive, else for its second.
    """
    if classes == 2:
        return (~wins).reshape(wins.shape[0])
    matrix, offset = vote_matrix(classes)
    width = (2 * (len(matrix) + classes)).bit_length() + 1  # the proven bound of a difference of two counts
    return on.counts(on.as_integers(wins, width), matrix, offset, classes - 1).argmax(axis=1)


def vote_matrix(classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns `matrix` and `offset` such that votes are `wins @ matrix + offset`.

    A pair that its first class loses is won by its second.

    >>> matrix, offset = vote_matrix(3)
    >>> matrix.tolist(), offset.tolist()
    ([[1, -1, 0], [1, 0, -1], [0, 1, -1]], [0, 1, 2])
    """
    first, second = np.triu_indices(classes, 1)
    pairs = np.arange(len(first))
    matrix = np.zeros((len(first), classes), np.int64)
    matrix[pairs, first], matrix[pairs, second] = 1, -1
    return matrix, (matrix == -1).sum(axis=0)
