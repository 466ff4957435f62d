"""Nearest neighbors: distances as linear decisions, and votes or mean numbers of the points that are near enough.

|x - p|^2 = |x|^2 - (2 p x - |p|^2): the nearest point p has the largest 2 p x - |p|^2. A selection network on secrets
finds the k-th largest, and all decisions are compared with it. If two points are equally far, both vote.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._answers import as_reals
from quorate.models._backend import Array, Backend
from quorate.models._linear import Bounds, LinearSecrets, PlainLinear, encode_linear, largest_of
from quorate.models._numerics import Integers, exponent_above, finite_float64, quantise
from quorate.models._pipeline import Before
from quorate.models._shape import Shape


def encode_neighbors(
    estimator: Any, classes: tuple[Any, ...], bounds: Bounds, before: Before | None
) -> tuple[Shape, LinearSecrets, float]:
    """Encodes fitted nearest neighbors: returns the shape, the secrets, and the margin.

    The estimator is a KNeighborsClassifier or, without classes, a KNeighborsRegressor. Distances are Euclidean, and all
    votes count alike.

    Raises:
        ModelError: the estimator has another metric, or weighted votes.
    """
    name = type(estimator).__name__
    if estimator.effective_metric_ != "euclidean":
        raise ModelError(
            f"{name}(metric={estimator.effective_metric_!r}) is not supported: Euclidean distances are "
            "(metric='minkowski' with p=2)"
        )
    if estimator.weights not in ("uniform", None):
        raise ModelError(f"{name}(weights={estimator.weights!r}) is not supported: weights='uniform' is")
    fitted = estimator._fit_X
    points = np.asarray(fitted.toarray() if hasattr(fitted, "toarray") else fitted, np.float64)
    if not 1 <= estimator.n_neighbors <= len(points):
        raise ModelError(f"{estimator.n_neighbors} neighbors of {len(points)} records: fit it on as many at least")
    before = Before.nothing(points.shape[1]) if before is None else before
    weights, squares = 2 * points, (points**2).sum(axis=1)
    # The library squares differences, or adds up |x|^2 as well.
    reach = before.sizes @ largest_of(bounds, before.features) + before.offsets
    plain = PlainLinear(
        weights,
        -squares,
        np.dtype(np.float32 if getattr(fitted, "dtype", None) == np.float32 else np.float64),
        points.shape[1] + 6,
        np.abs(weights),
        squares + (reach**2).sum(),
    ).after(before)
    public: dict[str, Any] = {"points": len(points), "neighbors": int(estimator.n_neighbors)}
    known = np.asarray(estimator._y)
    if classes:
        shape, secrets, margin = encode_linear(plain, "neighbors", classes, bounds, link="share", **public)
        labels = (known[:, None] == np.arange(len(classes))).astype(np.int64)
        return shape, dataclasses.replace(secrets, labels=labels), margin
    shape, secrets, margin = encode_linear(plain, "neighbors", (), bounds, targets=known.shape[1:], **public)
    numbers = finite_float64(known.reshape(len(known), -1), "targets")
    units = value_bits(len(points)) - np.array([exponent_above(float(x)) for x in np.abs(numbers).max(axis=0)])
    values = np.hstack([quantise(numbers, units), np.ones((len(known), 1), np.int64)])
    return shape, dataclasses.replace(secrets, labels=values, value_units=units), margin


def value_bits(points: int) -> int:
    """Returns the bits of a point's number, so that the sum over all points fits in 62 bits."""
    return min(40, 61 - points.bit_length())


def sums(on: Backend, shape: Shape, decisions: Array, secrets: LinearSecrets | None, owner: int) -> Array:
    """Returns the sums of the nearest points' numbers and, in the last column, the number of these points."""
    points, bits = shape.points or 0, value_bits(shape.points or 0)
    size = points, (shape.targets[0] if shape.targets else 1) + 1
    values = None if secrets is None else secrets.labels
    of_points = on.keep("labels", lambda: on.integers(values, owner, size, 64, 1 << bits))
    near = ~(decisions < on.largest(decisions, shape.neighbors or 0))
    return on.product(on.as_integers(near, 64), of_points, points << bits)


def means(shape: Shape, found: np.ndarray, units: Integers | None) -> NDArray[np.float64]:
    """Returns the means from `sums`; if points are equally far, more of them may count than `neighbors`."""
    with np.errstate(divide="ignore", invalid="ignore"):  # the count is 0 only if the model's owner cheats
        numbers = as_reals(found[:, :-1], units) / np.asarray(found[:, -1:], np.float64)
    return numbers.reshape(len(found), *(shape.targets or ()))


def votes(on: Backend, shape: Shape, decisions: Array, secrets: LinearSecrets | None, owner: int) -> Array:
    """Counts the nearest points of each class, (records, classes)."""
    points, neighbors = shape.points or 0, shape.neighbors or 0
    width = (4 * points).bit_length() + 1  # the proven bound of a difference of two counts
    size = points, len(shape.classes)
    labels = None if secrets is None else secrets.labels
    of_points = on.keep("labels", lambda: on.integers(labels, owner, size, width, 1))
    near = ~(decisions < on.largest(decisions, neighbors))
    return on.product(on.as_integers(near, width), of_points, points)
