"""The k nearest of a model's records vote: distances as linear decisions, and a count of those that are near enough.

|x - p|^2 = |x|^2 - (2 p x - |p|^2): the nearest point p has the largest 2 p x - |p|^2. The k-th largest is found by a
selection network on secrets, and all decisions are compared with it; where two points are equally far, both vote.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._backend import Array, Backend
from quorate.models._linear import Bounds, LinearSecrets, PlainLinear, encode_linear, largest_of
from quorate.models._pipeline import Before
from quorate.models._shape import Shape


def encode_neighbors(
    estimator: Any, classes: tuple[Any, ...], bounds: Bounds, before: Before | None
) -> tuple[Shape, LinearSecrets, float]:
    """KNeighborsClassifier of Euclidean distances, all votes alike: the shape, the secrets, and the margin.

    Raises:
        ModelError: another metric, or votes that are weighed.
    """
    if estimator.effective_metric_ != "euclidean":
        raise ModelError(
            f"KNeighborsClassifier(metric={estimator.effective_metric_!r}) is not supported: Euclidean distances are "
            "(metric='minkowski' with p=2)"
        )
    if estimator.weights not in ("uniform", None):
        raise ModelError(f"KNeighborsClassifier(weights={estimator.weights!r}) is not supported: weights='uniform' is")
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
    public: dict[str, Any] = {"points": len(points), "neighbors": int(estimator.n_neighbors), "link": "share"}
    shape, secrets, margin = encode_linear(plain, "neighbors", classes, bounds, **public)
    labels = (np.asarray(estimator._y)[:, None] == np.arange(len(classes))).astype(np.int64)
    return shape, dataclasses.replace(secrets, labels=labels), margin


def votes(on: Backend, shape: Shape, decisions: Array, secrets: LinearSecrets | None, owner: int) -> Array:
    """How many of the nearest points are of each class, (records, classes)."""
    points, neighbors = shape.points or 0, shape.neighbors or 0
    width = (4 * points).bit_length() + 1  # what is proved of a difference of two counts
    size = points, len(shape.classes)
    labels = None if secrets is None else secrets.labels
    of_points = on.keep("labels", lambda: on.integers(labels, owner, size, width, 1))
    near = ~(decisions < on.largest(decisions, neighbors))
    return on.product(on.as_integers(near, width), of_points, points)
