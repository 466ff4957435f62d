"""From fitted scikit-learn estimators to models, with each estimator's own rule for ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._linear import PlainLinear, encode_linear
from quorate.models._model import Model
from quorate.models._tree import PlainTree, encode_tree

SUPPORTED = {
    "DecisionTreeClassifier": "binary and multi-class; one output; records are compared as float32, without NaN",
    "LinearSVC": "binary and multi-class; one decision per class, the largest wins",
    'SVC(kernel="linear")': "binary and multi-class; one against one, as libsvm votes; break_ties=False",
    "LogisticRegression": "classes, binary and multi-class; no probabilities",
}
"""What `from_sklearn` takes, and with which restrictions."""


def from_sklearn(estimator: Any, *, bounds: Any = None, tolerance: float | None = None) -> Model:
    """Makes a fitted estimator into a model that can score secret records.

    Args:
        estimator: one of `SUPPORTED`, fitted.
        bounds: linear models only: the largest magnitude of each feature, or one number for all. It is rounded up to
            a power of two, which is public. Without it 8192 is taken for every feature, and the smaller the features
            are, the less precise are they. Tight bounds make `Model.margin_bound` small.
        tolerance: linear models only: refuse the model if its `margin_bound` is larger.

    Raises:
        ModelError: the estimator is not supported or not fitted, has one class or values that are not finite, or 63
            bits do not give the tolerance.
    """
    read = _reader(estimator)
    classes = _classes(estimator)
    if isinstance(plain := read(estimator), PlainTree):
        return Model(*encode_tree(plain, classes, int(estimator.n_features_in_)))
    kind = "votes" if read is _read_svc else "linear"
    shape, secrets, margin = encode_linear(plain, kind, classes, bounds)
    if tolerance is not None and margin > tolerance:
        raise ModelError(
            f"63 bits give a margin of {margin:.3g}, more than the tolerance {tolerance:.3g}: state tighter bounds=, "
            "scale the features alike before training, use fewer features, or regularise more"
        )
    return Model(shape, secrets, margin)


def _reader(estimator: Any) -> Callable[[Any], PlainTree | PlainLinear]:
    """The function that reads this estimator; a subclass that predicts in its own way is not supported."""
    name = type(estimator).__name__
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC, LinearSVC
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise ModelError(f"{name}: scikit-learn is not installed; pip install 'quorate[sklearn]'") from error
    readers: list[tuple[Any, Callable[[Any], PlainTree | PlainLinear]]] = [
        (DecisionTreeClassifier, _read_tree),
        (SVC, _read_svc),
        (LinearSVC, _read_linear),
        (LogisticRegression, _read_linear),
    ]
    if isinstance(estimator, type):
        raise ModelError(f"{estimator.__name__} is a class; give a fitted estimator")
    for base, read in readers:
        if isinstance(estimator, base) and type(estimator).predict is base.predict:
            return read
    raise ModelError(f"{name} is not supported; from_sklearn takes {', '.join(SUPPORTED)}")


def _classes(estimator: Any) -> tuple[Any, ...]:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name = type(estimator).__name__
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise ModelError(f"this {name} is not fitted; call fit first") from error
    if getattr(estimator, "n_outputs_", 1) != 1:
        raise ModelError(f"this {name} has {estimator.n_outputs_} outputs; train one estimator per output")
    classes = tuple(np.asarray(estimator.classes_).tolist())
    if len(classes) < 2:
        raise ModelError(f"this {name} knows only the class {classes}; there is nothing to predict")
    return classes


def _read_tree(estimator: Any) -> PlainTree:
    tree = estimator.tree_
    return PlainTree(
        np.asarray(tree.children_left, np.int64),
        np.asarray(tree.children_right, np.int64),
        np.asarray(tree.feature, np.int64),
        np.asarray(tree.threshold, np.float64),
        np.argmax(tree.value[:, 0, :], axis=1).astype(np.int64),
    )


def _read_linear(estimator: Any) -> PlainLinear:
    """`decision > 0` is the second class; of several decisions the first largest wins."""
    weights = _dense(estimator.coef_)
    intercepts = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), (weights.shape[0],))
    single = getattr(estimator.coef_, "dtype", None) == np.float32  # records of float32 are then scored in float32
    dtype = np.dtype(np.float32 if single else np.float64)
    return PlainLinear(weights, intercepts, dtype, roundings=weights.shape[1] + 2)


def _read_svc(estimator: Any) -> PlainLinear:
    """SVC: libsvm's own decisions, positive for the first class of a pair, negative or 0 for the second.

    With two classes scikit-learn shows `coef_` and `intercept_` with the other sign, but predicts from libsvm's.
    """
    if estimator.kernel != "linear":
        raise ModelError(f'SVC(kernel={estimator.kernel!r}) is not supported; kernel="linear" is')
    if estimator.break_ties and len(estimator.classes_) > 2 and estimator.decision_function_shape == "ovr":
        raise ModelError("SVC(break_ties=True) is not supported; with break_ties=False ties go as libsvm breaks them")
    sign = -1.0 if len(estimator.classes_) == 2 else 1.0
    weights = sign * _dense(estimator.coef_)
    intercepts = sign * np.asarray(estimator.intercept_, np.float64)
    dual, vectors = np.abs(_dense(estimator.dual_coef_)), np.abs(_dense(estimator.support_vectors_))
    magnitudes = dual.max(axis=0) @ vectors
    return PlainLinear(
        weights,
        intercepts,
        np.dtype(np.float64),
        roundings=vectors.shape[0] + vectors.shape[1] + 4,
        dual=np.broadcast_to(magnitudes, weights.shape),
    )


def _dense(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
