"""Rules for `LinearClassifier`, `LinearRegressor`, and SVMs with linear kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate.models._linear import PlainLinear
from quorate.models._ml._values import Features, Label, Numbers, Pairs, Risen, Scores
from quorate.models._onnx._layout import Unsupported

_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX")


def _floats(attrs: Mapping[str, Any], name: str, missing: Any = ()) -> np.ndarray:
    found = np.asarray(attrs.get(name, missing), np.float64).reshape(-1)
    if not np.isfinite(found).all():
        raise Unsupported(f"{name} are not finite: the file is damaged")
    return found


def _rows(attrs: Mapping[str, Any], x: Features, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns weights, (decisions, numbers), and offsets."""
    given = _floats(attrs, "coefficients")
    if given.size != count * x.width:
        raise Unsupported(f"{given.size} coefficients for {count} decisions of {x.width} numbers")
    offsets = _floats(attrs, "intercepts", np.zeros(count))
    if offsets.size != count:
        raise Unsupported(f"{offsets.size} intercepts for {count} decisions")
    return given.reshape(count, x.width), offsets


def _applied(x: Features, weights: np.ndarray, offsets: np.ndarray, dtype: np.dtype) -> Features:
    return x.product(weights.T, dtype).scaled("add", offsets, dtype)


def classifier(attrs: Mapping[str, Any], classes: tuple[Any, ...], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns the label of the largest decision, the first of equal ones, and the scores."""
    transform = str(attrs.get("post_transform", "NONE"))
    if transform not in _TRANSFORMS:
        raise Unsupported(f"post_transform {transform!r}; {', '.join(_TRANSFORMS)} are")
    count = len(_floats(attrs, "intercepts")) or len(classes)
    decisions = _applied(x, *_rows(attrs, x, count), dtype)
    if count == 1 and len(classes) == 2:  # a decision above 0 is the second class
        decisions = decisions.product(np.array([[-1.0, 1.0]]), dtype)
    elif count != len(classes):
        raise Unsupported(f"{count} decisions for {len(classes)} classes")
    risen: dict[str, Any] = {
        "NONE": decisions,
        "LOGISTIC": Risen("logistic", decisions),
        "SOFTMAX": Risen("softmax", decisions),
    }
    return [Label(decisions, classes), Scores(risen[transform])]


def regressor(attrs: Mapping[str, Any], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns linear numbers."""
    _plain_transform(attrs)
    return [_applied(x, *_rows(attrs, x, int(attrs.get("targets", 1))), dtype)]


def _plain_transform(attrs: Mapping[str, Any]) -> None:
    if attrs.get("post_transform", "NONE") != "NONE":
        raise Unsupported(f"post_transform {attrs['post_transform']!r}; NONE is")


def _vectors(attrs: Mapping[str, Any], x: Features) -> tuple[np.ndarray, np.ndarray]:
    """Returns support vectors and their coefficients, (sets, vectors)."""
    kernel = attrs.get("kernel_type", "LINEAR")
    if kernel != "LINEAR":
        raise Unsupported(f"kernel_type {kernel!r}; LINEAR is: fit with kernel='linear'")
    given = _floats(attrs, "support_vectors")
    if x.width == 0 or given.size % x.width or not given.size:
        raise Unsupported(f"{given.size} numbers of support vectors of {x.width}; SVMs of vectors are")
    vectors, coefficients = given.reshape(-1, x.width), _floats(attrs, "coefficients")
    if coefficients.size % len(vectors):
        raise Unsupported(f"{coefficients.size} coefficients for {len(vectors)} support vectors")
    return vectors, coefficients.reshape(-1, len(vectors))


def svm_regressor(attrs: Mapping[str, Any], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns the sum over support vectors plus an offset."""
    _plain_transform(attrs)
    if attrs.get("one_class", 0):
        raise Unsupported("of one class, as OneClassSVM writes it")
    vectors, duals = _vectors(attrs, x)
    rho = _floats(attrs, "rho")
    if len(duals) != 1 or rho.size != 1:
        raise Unsupported("several sets of coefficients for a regression")
    return [Numbers(_added_up(duals, vectors, rho, dtype), x, ())]


def _added_up(duals: np.ndarray, vectors: np.ndarray, rho: np.ndarray, dtype: np.dtype) -> PlainLinear:
    """Returns decisions as the library adds them up: first products with all vectors, then multiples of these."""
    return PlainLinear(
        duals @ vectors,
        rho,
        np.dtype(dtype),
        vectors.shape[0] + vectors.shape[1] + 6,
        np.abs(duals) @ np.abs(vectors),
        np.abs(rho),
    )


def svm_classifier(attrs: Mapping[str, Any], classes: tuple[Any, ...], x: Features, dtype: np.dtype) -> list[Any]:
    """Returns one decision for each pair of classes: a vote for the first one if it is above 0, else for the second."""
    _plain_transform(attrs)
    if len(_floats(attrs, "prob_a")):
        raise Unsupported("probabilities of an SVM, by which onnxruntime decides: fit SVC(probability=False)")
    vectors, duals = _vectors(attrs, x)
    sizes = [int(n) for n in attrs["vectors_per_class"]]
    rho = _floats(attrs, "rho")
    pairs = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    if len(sizes) != len(classes) or sum(sizes) != len(vectors) or len(duals) != len(classes) - 1:
        raise Unsupported("support vectors and coefficients that do not go with the classes: the file is damaged")
    if len(rho) != len(pairs):
        raise Unsupported(f"{len(rho)} values of rho for {len(pairs)} pairs of classes: the file is damaged")
    ends = np.cumsum([0, *sizes])
    weights = np.zeros((len(pairs), len(vectors)))
    for row, (i, j) in enumerate(pairs):
        weights[row, ends[i] : ends[i + 1]] = duals[j - 1, ends[i] : ends[i + 1]]
        weights[row, ends[j] : ends[j + 1]] = duals[i, ends[j] : ends[j + 1]]
    votes = Pairs(_added_up(weights, vectors, rho, dtype), x)
    return [Label(votes, classes), Scores(votes)]
