"""Import of scikit-learn's fitted trees, forests and boosting, with each estimator's own rule for ties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._ensemble import PlainBoosting, PlainForest, encode_boosting, encode_forest, encode_means
from quorate.models._model import Model
from quorate.models._pipeline import Before
from quorate.models._tree import PlainTree, encode_tree


def classes_of(estimator: Any, outputs: int) -> tuple[Any, ...]:
    name = type(estimator).__name__
    if outputs != 1:
        raise ModelError(f"this {name} has {outputs} outputs; train one estimator per output")
    classes = tuple(np.asarray(estimator.classes_).tolist())
    if len(classes) < 2:
        raise ModelError(f"this {name} knows only the class {classes}; there is nothing to predict")
    return classes


def _selected(estimator: Any, before: Before | None) -> NDArray[np.int64]:
    """Returns the features of a record that the trees use.

    Raises:
        ModelError: earlier steps change the features, and so what is compared.
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


def read_tree(estimator: Any, _: Any, before: Before | None) -> Model:
    labels = np.argmax(estimator.tree_.value[:, 0, :], axis=1).astype(np.int64)
    classes = classes_of(estimator, estimator.n_outputs_)
    tree = _plain_tree(estimator, _selected(estimator, before))
    return Model(*encode_tree(tree, labels, classes, _features(estimator, before)))


def read_forest(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads a forest: the class with the largest mean share of the training records in the reached leaves wins."""
    classes = classes_of(estimator, estimator.n_outputs_)
    if any(len(tree.classes_) != len(classes) for tree in estimator.estimators_):
        raise ModelError(
            f"the trees of this {type(estimator).__name__} know different classes, as after warm_start on other "
            "labels: scikit-learn cannot predict with it either; fit it anew"
        )
    trees, selected = estimator.estimators_, _selected(estimator, before)
    plain = PlainForest([_plain_tree(tree, selected) for tree in trees], [_shares(tree) for tree in trees])
    return Model(*encode_forest(plain, classes, _features(estimator, before)))


def _shares(tree: Any) -> NDArray[np.float64]:
    """Returns the classes' shares in each node; older releases keep weights, which are divided by their sum here."""
    values = np.asarray(tree.tree_.value[:, 0, :], np.float64)
    sums = values.sum(axis=1, keepdims=True)
    return values if np.allclose(sums, 1, rtol=1e-9, atol=0) else values / np.where(sums == 0, 1.0, sums)


def read_boosting(estimator: Any, _: Any, before: Before | None) -> Model:
    classes = classes_of(estimator, 1)
    plain = _plain_boosting(
        estimator,
        before,
        # Releases before 1.4 take the first of equal probabilities, later ones the second class.
        zero_is_second=not hasattr(getattr(estimator, "_loss", None), "_raw_prediction_to_decision"),
    )
    link = ("logistic" if len(classes) == 2 else "softmax") if estimator.loss == "log_loss" else None
    return Model(*encode_boosting(plain, classes, _features(estimator, before), link))


def _plain_boosting(estimator: Any, before: Before | None, zero_is_second: bool = False) -> PlainBoosting:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    features, selected, initial = int(estimator.n_features_in_), _selected(estimator, before), estimator.init_
    known = isinstance(initial, (DummyClassifier, DummyRegressor)) and initial.strategy != "stratified"
    if initial != "zero" and not known:
        raise ModelError(
            f"{type(estimator).__name__}(init=...) with an estimator of its own is not supported; None and 'zero' are"
        )
    start = np.asarray(estimator._raw_predict_init(np.zeros((1, features), np.float32)), np.float64)[0]
    stages = estimator.estimators_
    return PlainBoosting(
        [[_plain_tree(tree, selected) for tree in stage] for stage in stages],
        [[np.asarray(tree.tree_.value[:, 0, 0], np.float64) for tree in stage] for stage in stages],
        start,
        float(estimator.learning_rate),
        zero_is_second,
    )


# ---- numbers ------------------------------------------------------------------------------------------------------


def read_tree_regressor(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads a tree as a forest of one: the mean of the training records in the leaf that is reached."""
    return _read_means(estimator, [estimator], before)


def read_forest_regressor(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads a forest: the mean of the trees' predictions."""
    return _read_means(estimator, estimator.estimators_, before)


def _read_means(estimator: Any, trees: Any, before: Before | None) -> Model:
    selected, outputs = _selected(estimator, before), int(estimator.n_outputs_)
    values = [np.asarray(tree.tree_.value[:, :, 0], np.float64) for tree in trees]
    plain = PlainForest([_plain_tree(tree, selected) for tree in trees], values)
    return Model(*encode_means(plain, _features(estimator, before), () if outputs == 1 else (outputs,)))


def read_boosting_regressor(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads boosting: the initial number plus the stages' leaves times the learning rate."""
    plain = _plain_boosting(estimator, before)
    return Model(*encode_boosting(plain, (), _features(estimator, before), None, targets=()))


# ---- histograms ---------------------------------------------------------------------------------------------------


def read_histograms(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads histogram boosting.

    Decisions are compared with 0, and not probabilities with each other, which are equal only within the margin.
    """
    classes = classes_of(estimator, 1)
    link = "logistic" if len(classes) == 2 else "softmax"
    return Model(*encode_boosting(_plain_histograms(estimator, before), classes, _features(estimator, before), link))


def read_histograms_regressor(estimator: Any, _: Any, before: Before | None) -> Model:
    """Reads histogram boosting of numbers: the baseline plus the stages' leaves."""
    if estimator.loss not in ("squared_error", "absolute_error", "quantile"):
        raise ModelError(
            f"HistGradientBoostingRegressor(loss={estimator.loss!r}) predicts powers of e and is not supported; "
            "'squared_error', 'absolute_error' and 'quantile' are: fit it on the logarithms of the targets"
        )
    plain = _plain_histograms(estimator, before)
    return Model(*encode_boosting(plain, (), _features(estimator, before), None, targets=()))


def _plain_histograms(estimator: Any, before: Before | None) -> PlainBoosting:
    """Reads histogram boosting; records are compared as float64.

    If values were missing in training, the others still go the same way.
    """
    selected = _selected(estimator, before)
    stages = [[predictor.nodes for predictor in stage] for stage in estimator._predictors]
    categorical = getattr(estimator, "is_categorical_", None)
    if (categorical is not None and np.any(categorical)) or any(
        nodes["is_categorical"].any() for stage in stages for nodes in stage
    ):
        raise ModelError(
            f"{type(estimator).__name__} with categorical features is not supported: encode them as numbers first "
            "(OrdinalEncoder, OneHotEncoder), and fit it with categorical_features=None"
        )
    return PlainBoosting(
        [[_plain_histogram(nodes, selected) for nodes in stage] for stage in stages],
        [[nodes["value"].astype(np.float64) for nodes in stage] for stage in stages],
        np.asarray(estimator._baseline_prediction, np.float64).reshape(-1),
        float64=True,
    )


def _plain_histogram(nodes: Any, selected: NDArray[np.int64]) -> PlainTree:
    leaf = nodes["is_leaf"].astype(bool)
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
    return PlainTree(
        np.where(leaf, -1, left),
        np.where(leaf, -1, right),
        np.where(leaf, -1, selected[np.where(leaf, 0, feature)]),
        np.where(leaf, 0.0, nodes["num_threshold"].astype(np.float64)),
    )
