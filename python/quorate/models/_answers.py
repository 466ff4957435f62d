"""Decoding of revealed arrays into the answers that an estimator returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._clear import _kernels as kernels
from quorate.models._numerics import Integers
from quorate.models._shape import Shape

_FEW_ULPS = 1e-15


def named(names: Sequence[Any], places: np.ndarray) -> np.ndarray:
    """Returns the labels at these places."""
    return np.asarray(np.asarray(names)[places.astype(np.int64)])


def decode(shape: Shape, index: np.ndarray) -> np.ndarray:
    """Returns labels from the revealed index; for a multilabel model, a column of 0 and 1 for each label."""
    numbers = np.asarray(index).astype(np.int64)
    if shape.multilabel:
        return numbers
    if shape.kind == "tree":
        numbers = (numbers << np.arange(shape.label_bits)[:, None]).sum(axis=0)
    return named(shape.classes, numbers)


def as_reals(decisions: np.ndarray, units: Integers | None) -> NDArray[np.float64]:
    """Returns decisions as floats; decision j is in units of 2**-units[j]."""
    return np.asarray(np.ldexp(np.asarray(decisions).astype(np.float64), -np.asarray(units, np.int64)), np.float64)


def decode_numbers(question: str, shape: Shape, decisions: np.ndarray, units: Integers | None) -> NDArray[np.float64]:
    """Returns numbers, probabilities or decisions from integers; decision j is in units of 2**-units[j]."""
    reals = as_reals(decisions, units)
    if shape.targets is not None:
        return reals.reshape(reals.shape[0], *(shape.targets or ()))
    if question == "predict_proba":
        return probabilities(shape, reals)
    return reals[:, 0] if shape.decisions == 1 else reals


def margins(shape: Shape, decisions: np.ndarray, units: Integers) -> NDArray[np.float64]:
    """Returns how far each record is from a tie.

    That is the magnitude of the decision nearest to 0, or the gap of the two largest decisions if the largest wins.

    >>> shape = Shape("linear", classes=(1, 2, 3), features=1, scales=(0,), data_bits=9, weight_bits=9)
    >>> margins(shape, np.array([[8, 2, 7]]), np.array([1, 1, 1]))
    array([0.5])
    """
    reals = as_reals(decisions, units)
    if shape.kind == "forest":
        reals = reals / (shape.trees or 1)
    if shape.kind == "neighbors":  # between the last point that votes and the first that does not
        inside = len(reals[0]) - (shape.neighbors or 0)
        if inside == 0:
            return np.full(len(reals), np.inf)
        ordered = np.partition(reals, [inside - 1, inside], axis=1)
        return ordered[:, inside] - ordered[:, inside - 1]
    if shape.kind == "votes" or shape.multilabel or shape.decisions == 1:
        return np.abs(reals).min(axis=1)
    largest = np.partition(reals, -2, axis=1)[:, -2:]
    apart = np.asarray(largest[:, 1] - largest[:, 0], np.float64)
    if shape.link == "sigmoids":
        # Logistic functions near 1, or all 0, may be the same float: they differ by (1 - e^-apart) e^-second.
        second = np.clip(largest[:, 0], -700, 700)
        apart[(-np.expm1(-apart) <= _FEW_ULPS * np.exp(second)) | (largest[:, 1] < -700)] = 0
    return apart


def shares(votes: np.ndarray) -> NDArray[np.float64]:
    """Returns each class's share of all votes; if points are equally far, more of them may vote than `neighbors`."""
    return np.asarray(votes / votes.sum(axis=1, keepdims=True), np.float64)


def probabilities(shape: Shape, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the probabilities, a column for each class.

    >>> shape = Shape("boosting", classes=(0, 1), features=1, depth=1, trees=1, link="logistic")
    >>> probabilities(shape, np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if shape.link == "softmax":
        return kernels.softmax(decisions)
    if shape.link == "share":
        shares = decisions / (shape.trees or 1)
        second = (1 + shares) / 2
    else:
        shares = second = kernels.sigmoid(decisions)
    return np.hstack([1 - second, second]) if shape.decisions == 1 and not shape.multilabel else shares
