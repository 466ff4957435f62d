"""Naive Bayes: log-likelihoods that are linear in a record, or in a record and its squares.

Of normal features with mean m and variance v, log p(x) = -(x^2 - 2 m x + m^2) / (2 v) - log(2 pi v) / 2. The squares
are computed by the records' owner, who has the record in the clear.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._columns import SQUARE, VALUE, Column
from quorate.models._linear import Bounds, PlainLinear, encode_linear
from quorate.models._model import Model
from quorate.models._numerics import each_feature
from quorate.models._pipeline import Before
from quorate.models._read_trees import classes_of

Floats = NDArray[np.float64]

_LOGARITHMS = 16
"""The number of roundings outside the sums: of logarithms, products, and the squares at the records' owner."""


def read_multinomial(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads multinomial naive Bayes: counts times logarithms of probabilities."""
    weights = np.asarray(estimator.feature_log_prob_, np.float64)
    plain = PlainLinear.direct(weights, np.asarray(estimator.class_log_prior_, np.float64), weights.dtype)
    classes = classes_of(estimator, 1)
    return Model(*encode_linear(_compared(plain).after(before), "linear", classes, bounds, link=_link(classes)))


def read_gaussian(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads Gaussian naive Bayes.

    Steps before may scale features, but not mix them: squares of sums are products of features.
    """
    classes, features = classes_of(estimator, 1), int(estimator.n_features_in_)
    before = Before.nothing(features) if before is None else before
    if ((before.matrix != 0).sum(axis=1) > 1).any():
        raise ModelError(
            "GaussianNB behind steps that mix features, such as PCA, is not supported: squares of sums would be "
            "needed; behind scalers and selections it is"
        )
    means, variances = np.asarray(estimator.theta_, np.float64), np.asarray(estimator.var_, np.float64)
    with np.errstate(divide="ignore"):
        priors = np.log(np.asarray(estimator.class_prior_, np.float64))
    logs = 0.5 * np.log(2 * np.pi * variances)
    # The steps before make y = a x + t of a record x. Then log p has -y^2 / (2 v) + m y / v - m^2 / (2 v).
    inverse = 1 / variances
    square, slope = -0.5 * inverse, means * inverse
    shift, sizes, offsets = before.shift, before.sizes, before.offsets
    columns = list(before.columns.all)
    places = _squares(columns, before)
    values = (2 * square * shift + slope) @ before.matrix
    squares = square @ before.matrix**2
    constants = priors - (logs + 0.5 * inverse * means**2 - slope * shift - square * shift**2).sum(axis=1)
    # The library adds up (|a x| + |t| + |m|)^2 / (2 v), each part rounded.
    reach = offsets + np.abs(means)
    magnitudes = (inverse * reach) @ sizes, (0.5 * inverse) @ sizes**2
    plain = PlainLinear(
        _spread(values, squares, places),
        constants,
        before.coarser(np.dtype(np.float64)),
        features + 2 * before.roundings + _LOGARITHMS,
        _spread(*magnitudes, places),
        np.abs(priors) + (np.abs(logs) + 0.5 * inverse * reach**2).sum(axis=1),
    )
    largest = each_feature(bounds.largest, before.features)
    largest = np.concatenate([largest, [largest[of] ** 2 for of in _numbers(before.columns.all)]])
    squared = Bounds(largest, bounds.guessed)
    shape, secrets, margin = encode_linear(_compared(plain), "linear", classes, squared, link=_link(classes))
    if margin >= 1:
        tighter = "give sample= records like those to come" if bounds.guessed else "state tighter bounds="
        raise ModelError(
            f"{shape.decision_bits - 2} bits tell log-likelihoods of this GaussianNB apart to {margin:.3g} only, as "
            f"features may reach far beyond what they vary by: {tighter}; of features that hardly vary, fit it with a "
            "larger var_smoothing= or leave them out"
        )
    return Model(before.shaped(shape, columns), secrets, margin)


def _numbers(columns: list[Column]) -> list[int]:
    """Returns the places of columns whose squares are new columns; a column of 0 and 1 is its own square."""
    return [place for place, (_, what) in enumerate(columns) if what == VALUE]


def _squares(columns: list[Column], before: Before) -> NDArray[np.int64]:
    """Adds columns of squares, and returns the place of each column's square."""
    places = np.arange(before.features)
    for place in _numbers(before.columns.all):
        places[place] = len(columns)
        columns.append((columns[place][0], SQUARE))
    return places


def _spread(values: Floats, squares: Floats, places: NDArray[np.int64]) -> Floats:
    """Returns the factors of all columns, from those of the values and of their squares."""
    count = max(int(places.max()) + 1, values.shape[1])
    spread = np.zeros((len(values), count))
    spread[:, : values.shape[1]] = values
    for column, place in enumerate(places):
        spread[:, place] += squares[:, column]
    return spread


def _compared(plain: PlainLinear) -> PlainLinear:
    """Makes two classes' decisions their difference, positive for the second; the first of equal ones wins."""
    if len(plain.weights) != 2:
        return plain
    return dataclasses.replace(
        plain,
        weights=plain.weights[1:] - plain.weights[:1],
        intercepts=plain.intercepts[1:] - plain.intercepts[:1],
        roundings=plain.roundings + 2,
        magnitudes=plain.magnitudes.sum(axis=0, keepdims=True),
        offsets=plain.offsets.sum(axis=0, keepdims=True),
    )


def _link(classes: tuple[Any, ...]) -> str:
    return "logistic" if len(classes) == 2 else "softmax"
