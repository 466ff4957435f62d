"""From fitted scikit-learn estimators to models, with each estimator's own rule for ties."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._ensemble import PlainBoosting, PlainForest, encode_boosting, encode_forest
from quorate.models._linear import PlainLinear, bounds_of, encode_linear
from quorate.models._model import Model
from quorate.models._network import PlainNetwork, encode_network
from quorate.models._pipeline import Before, unwrapped
from quorate.models._supported import SUPPORTED
from quorate.models._tree import PlainTree, encode_tree


def from_sklearn(estimator: Any, *, bounds: Any = None, sample: Any = None, tolerance: float | None = None) -> Model:
    """Makes a fitted estimator into a model that can score secret records.

    Args:
        estimator: one of `SUPPORTED`, fitted.
        bounds: linear models and networks only: the largest magnitude of each feature, or one number for all. It is
            rounded up to a power of two, which is public. Without it 8192 is taken for every feature, and the smaller
            the features are, the less precise are they. Tight bounds make `Model.margin_bound` small.
        sample: instead of bounds, records like those to come, such as what the estimator was fitted on: each feature
            may reach twice its largest magnitude there. Nothing else of them is used.
        tolerance: refuse the model if its `margin_bound` is larger.

    In a local session `predict` warns (`ModelWarning`) where records are so close to a tie that the estimator may have
    decided otherwise; in a deployment the model's owner is warned where neither bounds nor a sample were given.

    Raises:
        ModelError: the estimator is not supported or not fitted, has one class or values that are not finite, or 63
            bits do not give the tolerance.
    """
    estimator, before = unwrapped(estimator)
    read = _reader(estimator)
    if sample is not None:
        if bounds is not None:
            raise ModelError("bounds= and sample= both say how large features are: give one of them")
        bounds = bounds_of(sample, int(estimator.n_features_in_) if before is None else before.features)
    model = read(estimator, bounds, before)
    if bounds is None and model.shape.scales is not None:
        model = dataclasses.replace(model, _guessed=True)
    # Which scikit-learn keeps where all are texts.
    names = getattr(estimator, "feature_names_in_", None) if before is None else before.names
    if names is not None:
        model = dataclasses.replace(model, shape=dataclasses.replace(model.shape, names=tuple(names)))
    if tolerance is not None and model.margin_bound > tolerance:
        raise ModelError(
            f"63 bits give a margin of {model.margin_bound:.3g}, more than the tolerance {tolerance:.3g}: state "
            "tighter bounds=, scale the features alike before training, use fewer features, or regularise more"
        )
    return model


Reader = Callable[[Any, Any, Before | None], Model]


def _readers() -> list[tuple[Any, Reader]]:
    from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import (
        ElasticNet,
        LinearRegression,
        LogisticRegression,
        Perceptron,
        Ridge,
        RidgeClassifier,
        SGDClassifier,
        SGDRegressor,
    )
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, LinearSVC, LinearSVR
    from sklearn.tree import DecisionTreeClassifier

    return [
        (DecisionTreeClassifier, _read_tree),
        (RandomForestClassifier, _read_forest),
        (ExtraTreesClassifier, _read_forest),
        (GradientBoostingClassifier, _read_boosting),
        (SVC, _read_svc),
        (LinearSVC, _read_decisions),
        (LogisticRegression, _read_logistic),
        (SGDClassifier, _read_decisions),
        (Perceptron, _read_decisions),
        (RidgeClassifier, _read_ridge_classifier),
        (LinearRegression, _read_regression),
        (Ridge, _read_regression),
        (ElasticNet, _read_regression),
        (SGDRegressor, _read_regression),
        (LinearSVR, _read_regression),
        (MLPClassifier, _read_network),
    ]


_PREDICTING = ("predict", "predict_proba", "decision_function", "_predict", "_decision_function", "_raw_predict")


def _reader(estimator: Any) -> Reader:
    """The function that reads this estimator; a subclass that predicts in its own way is not supported."""
    name = type(estimator).__name__
    try:
        readers = _readers()
    except ImportError as error:
        raise ModelError(f"{name}: scikit-learn is not installed; pip install 'quorate[sklearn]'") from error
    if isinstance(estimator, type):
        raise ModelError(f"{estimator.__name__} is a class; give a fitted estimator")
    for base, read in readers:
        if isinstance(estimator, base) and all(
            getattr_static(type(estimator), method, None) is getattr_static(base, method, None)
            for method in _PREDICTING
        ):
            _check_fitted(estimator)
            return read
    raise ModelError(f"{name} is not supported; from_sklearn takes {', '.join(SUPPORTED)}")


def _check_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise ModelError(f"this {type(estimator).__name__} is not fitted; call fit first") from error


def _classes(estimator: Any, outputs: int) -> tuple[Any, ...]:
    name = type(estimator).__name__
    if outputs != 1:
        raise ModelError(f"this {name} has {outputs} outputs; train one estimator per output")
    classes = tuple(np.asarray(estimator.classes_).tolist())
    if len(classes) < 2:
        raise ModelError(f"this {name} knows only the class {classes}; there is nothing to predict")
    return classes


# ---- trees ------------------------------------------------------------------------------------------------------


def _selected(estimator: Any, before: Before | None) -> NDArray[np.int64]:
    """Which features of a record the trees see.

    Raises:
        ModelError: steps before change the features, and with them what is compared.
    """
    if before is None:
        return np.arange(int(estimator.n_features_in_))
    if before.selected is None:
        raise ModelError(
            f"a {type(estimator).__name__} behind steps that change features is not supported: trees need no scaling, "
            "so fit the estimator on the records themselves; steps that only select features are folded in"
        )
    return before.selected


def _plain_tree(estimator: Any, selected: NDArray[np.int64]) -> PlainTree:
    tree = estimator.tree_
    feature = np.asarray(tree.feature, np.int64)
    return PlainTree(
        np.asarray(tree.children_left, np.int64),
        np.asarray(tree.children_right, np.int64),
        np.where(feature < 0, feature, selected[np.maximum(feature, 0)]),  # negative at leaves
        np.asarray(tree.threshold, np.float64),
    )


def _features(estimator: Any, before: Before | None) -> int:
    return int(estimator.n_features_in_) if before is None else before.features


def _read_tree(estimator: Any, _: Any, before: Before | None) -> Model:
    labels = np.argmax(estimator.tree_.value[:, 0, :], axis=1).astype(np.int64)
    classes = _classes(estimator, estimator.n_outputs_)
    tree = _plain_tree(estimator, _selected(estimator, before))
    return Model(*encode_tree(tree, labels, classes, _features(estimator, before)))


def _read_forest(estimator: Any, _: Any, before: Before | None) -> Model:
    """The class with the largest mean share of the reached leaves' training records."""
    classes = _classes(estimator, estimator.n_outputs_)
    if any(len(tree.classes_) != len(classes) for tree in estimator.estimators_):
        raise ModelError(
            f"the trees of this {type(estimator).__name__} know different classes, as after warm_start on other "
            "labels: scikit-learn cannot predict with it either; fit it anew"
        )
    trees, selected = estimator.estimators_, _selected(estimator, before)
    plain = PlainForest([_plain_tree(tree, selected) for tree in trees], [_shares(tree) for tree in trees])
    return Model(*encode_forest(plain, classes, _features(estimator, before)))


def _shares(tree: Any) -> NDArray[np.float64]:
    """The classes' shares in each node; older releases keep weights, which they divide by their sum."""
    values = np.asarray(tree.tree_.value[:, 0, :], np.float64)
    sums = values.sum(axis=1, keepdims=True)
    return values if np.allclose(sums, 1, rtol=1e-9, atol=0) else values / np.where(sums == 0, 1.0, sums)


def _read_boosting(estimator: Any, _: Any, before: Before | None) -> Model:
    from sklearn.dummy import DummyClassifier

    classes = _classes(estimator, 1)
    features, selected = int(estimator.n_features_in_), _selected(estimator, before)
    initial = estimator.init_
    if initial != "zero" and (not isinstance(initial, DummyClassifier) or initial.strategy == "stratified"):
        raise ModelError(
            "GradientBoostingClassifier(init=...) with an estimator of its own is not supported; None and 'zero' are"
        )
    start = np.asarray(estimator._raw_predict_init(np.zeros((1, features), np.float32)), np.float64)[0]
    stages = estimator.estimators_
    plain = PlainBoosting(
        [[_plain_tree(tree, selected) for tree in stage] for stage in stages],
        [[np.asarray(tree.tree_.value[:, 0, 0], np.float64) for tree in stage] for stage in stages],
        start,
        float(estimator.learning_rate),
        # Releases before 1.4 take the first of equal probabilities, later ones the second class.
        zero_is_second=not hasattr(getattr(estimator, "_loss", None), "_raw_prediction_to_decision"),
    )
    link = ("logistic" if len(classes) == 2 else "softmax") if estimator.loss == "log_loss" else None
    return Model(*encode_boosting(plain, classes, _features(estimator, before), link))


# ---- linear models ------------------------------------------------------------------------------------------------


def _plain_linear(estimator: Any) -> PlainLinear:
    weights = np.atleast_2d(_dense(estimator.coef_))
    intercepts = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), (weights.shape[0],))
    single = getattr(estimator.coef_, "dtype", None) == np.float32  # records of float32 are then scored in float32
    dtype = np.dtype(np.float32 if single else np.float64)
    return PlainLinear.direct(weights, intercepts, dtype)


def _read_decisions(estimator: Any, bounds: Any, before: Before | None, link: str | None = None) -> Model:
    """`decision > 0` is the second class; of several decisions the first largest wins."""
    plain = _plain_linear(estimator).after(before)
    return Model(*encode_linear(plain, "linear", _classes(estimator, 1), bounds, link=link))


def _read_logistic(estimator: Any, bounds: Any, before: Before | None) -> Model:
    """Probabilities too, but for the one-against-rest ones of older releases."""
    several = len(estimator.classes_) > 2
    apart = getattr(estimator, "multi_class", "auto") == "ovr" or estimator.solver == "liblinear"
    return _read_decisions(estimator, bounds, before, (None if apart else "softmax") if several else "logistic")


def _read_ridge_classifier(estimator: Any, bounds: Any, before: Before | None) -> Model:
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        raise ModelError("this RidgeClassifier has several labels for a record: train one for each label")
    return _read_decisions(estimator, bounds, before)


def _read_regression(estimator: Any, bounds: Any, before: Before | None) -> Model:
    coefficients = np.shape(estimator.coef_)[:-1]
    plain = _plain_linear(estimator).after(before)
    return Model(*encode_linear(plain, "regression", (), bounds, targets=coefficients))


def _read_svc(estimator: Any, bounds: Any, before: Before | None) -> Model:
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
    plain = PlainLinear(
        weights,
        intercepts,
        np.dtype(np.float64),
        vectors.shape[0] + vectors.shape[1] + 4,
        2 * np.broadcast_to(magnitudes, weights.shape),  # once in the kernel, once in adding the weights up
        np.abs(intercepts),
    ).after(before)
    return Model(*encode_linear(plain, "votes", _classes(estimator, 1), bounds))


# ---- networks -------------------------------------------------------------------------------------------------------


def _read_network(estimator: Any, bounds: Any, before: Before | None) -> Model:
    kind = estimator._label_binarizer.y_type_
    multilabel = kind == "multilabel-indicator"
    if multilabel:
        classes = tuple(range(estimator.n_outputs_))
    elif kind in ("binary", "multiclass"):
        classes = _classes(estimator, 1)
    else:
        raise ModelError(f"MLPClassifier trained on {kind} targets is not supported")
    single = all(w.dtype == np.float32 for w in estimator.coefs_)
    plain = PlainNetwork(
        [_dense(w).T for w in estimator.coefs_],
        [np.asarray(b, np.float64) for b in estimator.intercepts_],
        estimator.activation,
        multilabel,
        np.dtype(np.float32 if single else np.float64),
        before,
    )
    return Model(*encode_network(plain, classes, bounds))


def _dense(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
