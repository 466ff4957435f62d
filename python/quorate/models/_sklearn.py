"""Import of fitted scikit-learn estimators, with each estimator's own rule for ties."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError
from quorate.models._bayes import read_gaussian, read_multinomial
from quorate.models._columns import bounds_of_columns, bounds_of_sample
from quorate.models._linear import DEFAULT_BOUND, Bounds, PlainLinear, bounds_of, encode_linear
from quorate.models._model import Model
from quorate.models._neighbors import encode_neighbors
from quorate.models._neural_network import PlainNetwork, encode_network
from quorate.models._pipeline import Before, unwrapped
from quorate.models._read_trees import (
    classes_of,
    read_boosting,
    read_boosting_regressor,
    read_forest,
    read_forest_regressor,
    read_histograms,
    read_histograms_regressor,
    read_tree,
    read_tree_regressor,
)
from quorate.models._supported import SUPPORTED
from quorate.models._voting import VotingModel


def from_sklearn(
    estimator: Any, *, bounds: Any = None, sample: Any = None, tolerance: float | None = None
) -> Model | VotingModel:
    """Makes a fitted estimator into a model that can score secret records.

    Args:
        estimator: one of `SUPPORTED`, fitted.
        bounds: for linear models and networks only: the largest magnitude of each feature, or one number for all. It is
            rounded up to a power of two, which is public. Without bounds, the ranges that a pipeline's scaler saw are
            used. Without a scaler, 8192 is assumed for every feature. Linear models then have decisions of 120 bits,
            which takes about twice the bytes. Networks and nearest neighbors are then less precise, the smaller the
            features are.
        sample: instead of bounds: records like those to come, such as the training records. Each feature may reach
            twice its largest magnitude there. Nothing else of them is used.
        tolerance: if given, a model whose `margin_bound` is larger is refused.

    In a local session `predict` warns (`ModelWarning`) if records are so close to a tie that the estimator may have
    decided otherwise. Every method warns if its numbers may have a large error relative to their size. In a deployment
    the model's owner is warned if `margin_bound` is large.

    Raises:
        ModelError: the estimator is not supported or not fitted, has one class or values that are not finite, or its
            margin exceeds the tolerance.
    """
    if sample is not None and bounds is not None:
        raise ModelError("bounds= and sample= both say how large features are: give one of them")
    model = _imported(*unwrapped(estimator), bounds, sample)
    if tolerance is not None and model.margin_bound > tolerance:
        raise ModelError(
            f"the margin is {model.margin_bound:.3g}, more than the tolerance {tolerance:.3g}: state "
            "tighter bounds=, scale the features alike before training, use fewer features, or regularise more"
        )
    return model


def _imported(estimator: Any, before: Before | None, bounds: Any, sample: Any) -> Model | VotingModel:
    """Imports an estimator, with the steps before it."""
    if type(estimator).__name__ in ("VotingClassifier", "VotingRegressor"):
        return _read_voting(estimator, before, bounds, sample)
    if type(estimator).__name__ == "CalibratedClassifierCV":
        return _read_calibrated(estimator, before, bounds, sample)
    return read_behind(estimator, before, bounds, sample, _reader(estimator))


def read_behind(estimator: Any, before: Before | None, bounds: Any, sample: Any, read: Reader) -> Model:
    """Imports one model, with bounds for the columns that the steps before it need."""
    made = None if before is None else before.made
    if sample is not None:
        if before is None or made is None:
            bounds = bounds_of(sample, int(estimator.n_features_in_) if before is None else before.features)
        else:
            bounds = bounds_of_sample(made, sample, before.columns.features)
    if bounds is not None and before is not None and made is not None:
        bounds = bounds_of_columns(made, bounds, before.columns.features)
    if bounds is None and before is not None:
        bounds = before.bounds
    guessed = bounds is None
    if guessed:
        features = before.columns.features if before is not None else 0
        bounds = DEFAULT_BOUND if made is None else bounds_of_columns(made, DEFAULT_BOUND, features)
    model = read(estimator, Bounds(bounds, guessed), before)
    if before is not None and made is not None and model.shape.columns is None:
        model = dataclasses.replace(model, shape=before.shaped(model.shape, made))
    if guessed and model.shape.scales is not None:
        model = dataclasses.replace(model, _guessed=True)
    if before is not None and before.roundings:
        model = dataclasses.replace(model, _scales=True)
    # scikit-learn keeps these names only if all are texts.
    names = getattr(estimator, "feature_names_in_", None) if before is None else before.names
    if names is not None:
        model = dataclasses.replace(model, shape=dataclasses.replace(model.shape, names=tuple(names)))
    return model


Reader = Callable[[Any, Bounds, Before | None], Model]


def _readers() -> list[tuple[Any, Reader]]:
    from sklearn import ensemble
    from sklearn.cluster import KMeans, MiniBatchKMeans
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import (
        ElasticNet,
        ElasticNetCV,
        LassoCV,
        LinearRegression,
        LogisticRegression,
        LogisticRegressionCV,
        Perceptron,
        Ridge,
        RidgeClassifier,
        RidgeClassifierCV,
        RidgeCV,
        SGDClassifier,
        SGDRegressor,
    )
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import GaussianNB, MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    return [
        (DecisionTreeClassifier, read_tree),
        (DecisionTreeRegressor, read_tree_regressor),
        (ensemble.RandomForestClassifier, read_forest),
        (ensemble.RandomForestRegressor, read_forest_regressor),
        (ensemble.ExtraTreesClassifier, read_forest),
        (ensemble.ExtraTreesRegressor, read_forest_regressor),
        (ensemble.GradientBoostingClassifier, read_boosting),
        (ensemble.GradientBoostingRegressor, read_boosting_regressor),
        (ensemble.HistGradientBoostingClassifier, read_histograms),
        (ensemble.HistGradientBoostingRegressor, read_histograms_regressor),
        (KMeans, _read_means),
        (MiniBatchKMeans, _read_means),
        (KNeighborsClassifier, _read_neighbors),
        (KNeighborsRegressor, _read_neighbors_of_numbers),
        (GaussianNB, read_gaussian),
        (MultinomialNB, read_multinomial),
        (LinearDiscriminantAnalysis, _read_discriminant),
        (SVC, _read_svc),
        (LinearSVC, _read_decisions),
        (OneVsRestClassifier, _read_rest),
        (LogisticRegression, _read_logistic),
        (LogisticRegressionCV, _read_logistic),
        (SGDClassifier, _read_decisions),
        (Perceptron, _read_decisions),
        (RidgeClassifier, _read_ridge_classifier),
        (RidgeClassifierCV, _read_ridge_classifier),
        (LinearRegression, _read_regression),
        *((base, _read_regression) for base in (Ridge, RidgeCV, ElasticNet, ElasticNetCV, LassoCV)),
        (SGDRegressor, _read_regression),
        (LinearSVR, _read_regression),
        (SVR, _read_svr),
        (MLPClassifier, _read_network),
        (MLPRegressor, _read_network_regressor),
    ]


def _read_voting(estimator: Any, before: Before | None, bounds: Any, sample: Any) -> VotingModel:
    """Imports each member by itself, behind its own steps."""
    from sklearn.ensemble import VotingClassifier, VotingRegressor

    base: Any = VotingClassifier if isinstance(estimator, VotingClassifier) else VotingRegressor
    if not isinstance(estimator, base) or getattr_static(type(estimator), "predict") is not base.__dict__["predict"]:
        raise ModelError(f"{type(estimator).__name__} predicts in its own way, not as scikit-learn's")
    _check_fitted(estimator)
    how, classes = "numbers", ()
    if base is VotingClassifier:
        how, classes = ("votes" if estimator.voting == "hard" else "probabilities"), classes_of(estimator, 1)
    weights = getattr(estimator, "_weights_not_none", None)
    given = [1.0] * len(estimator.estimators_) if weights is None else weights
    members: list[Model] = []
    counted: list[float] = []
    for member, weight in zip(estimator.estimators_, given, strict=True):
        inner, own = unwrapped(member)
        if own is not None and before is not None:
            raise ModelError(f"steps before a {base.__name__} and inside of it are too many: put all of them inside")
        model = _imported(inner, own or before, bounds, sample)
        parts, shares = _parts_of(model, how, type(inner).__name__)
        members += parts
        counted += [weight * share for share in shares]
    return VotingModel.of(members, how, counted, classes)


def _parts_of(model: Model | VotingModel, how: str, name: str) -> tuple[list[Model], list[float]]:
    """Returns a member's models and their shares in its answer: a mean of means is a mean.

    Raises:
        ModelError: the member joins several models itself, in a way that does not fold into `how`.
    """
    if isinstance(model, Model):
        return [model], [1.0]
    if model.shape.how != how or how == "votes":
        raise ModelError(
            f"a member of this VotingClassifier is a {name} that joins several models itself, which is not supported "
            f"where members vote by {'labels' if how == 'votes' else 'probabilities'}: "
            + ('use voting="soft", or ' if model.shape.how == "probabilities" else "")
            + ("CalibratedClassifierCV(ensemble=False)" if name == "CalibratedClassifierCV" else "put its members here")
        )
    total = sum(model.shape.weights)
    return list(model.members), [weight / total for weight in model.shape.weights]


_PREDICTING = (
    *("predict", "predict_proba", "decision_function", "_predict", "_decision_function", "_raw_predict"),
    *("_joint_log_likelihood", "predict_joint_log_proba", "predict_log_proba", "kneighbors"),
)


_INSTEAD = {
    "Stacking": "import its estimators_ one by one, or fit a GradientBoosting estimator",
    "AdaBoost": "fit GradientBoosting, HistGradientBoosting or RandomForest",
    "Bagging": "fit RandomForest or ExtraTrees",
    "BernoulliNB": "fit LogisticRegression, which decides alike on columns of 0 and 1",
    "QuadraticDiscriminantAnalysis": "fit LinearDiscriminantAnalysis, or GaussianNB",
    "RadiusNeighbors": "fit KNeighborsClassifier; qr.apps.nearest finds the nearest of secret records",
}
"""What to use instead of unsupported estimators, by the beginning of their names."""

_OTHERS = {
    "xgboost": 'from_xgboost(estimator.get_booster().save_raw("json"), classes=...)',
    "lightgbm": "from_lightgbm(estimator.booster_.dump_model(), classes=...)",
}


def _reader(estimator: Any) -> Reader:
    """Returns the function that reads this estimator; refuses a subclass that predicts in its own way."""
    name = type(estimator).__name__
    try:
        readers = _readers()
    except ImportError as error:
        raise ModelError(f"{name}: scikit-learn is not installed: pip install scikit-learn") from error
    if isinstance(estimator, type):
        raise ModelError(f"{estimator.__name__} is a class; give a fitted estimator")
    for base, read in readers:
        if isinstance(estimator, base) and all(
            getattr_static(type(estimator), method, None) is getattr_static(base, method, None)
            for method in _PREDICTING
        ):
            _check_fitted(estimator)
            return read
    for library, instead in _OTHERS.items():
        if type(estimator).__module__.partition(".")[0] == library:
            raise ModelError(f"{name} is one of {library}'s: use qr.models.{instead}")
    hint = next((f": {instead}" for what, instead in _INSTEAD.items() if name.startswith(what)), "")
    raise ModelError(f"{name} is not supported{hint}; from_sklearn takes {', '.join(SUPPORTED)}")


def _check_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise ModelError(f"this {type(estimator).__name__} is not fitted; call fit first") from error


# ---- linear models ------------------------------------------------------------------------------------------------


def _plain_linear(estimator: Any) -> PlainLinear:
    weights = np.atleast_2d(_dense(estimator.coef_))
    intercepts = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), (weights.shape[0],))
    single = getattr(estimator.coef_, "dtype", None) == np.float32  # float32 records are then scored in float32
    dtype = np.dtype(np.float32 if single else np.float64)
    return PlainLinear.direct(weights, intercepts, dtype)


def _read_decisions(estimator: Any, bounds: Bounds, before: Before | None, link: str | None = None) -> Model:
    """Reads linear decisions: `decision > 0` is the second class; of several decisions the first largest wins."""
    plain = _plain_linear(estimator).after(before)
    return Model(*encode_linear(plain, "linear", classes_of(estimator, 1), bounds, link=link))


def _read_logistic(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads decisions with probabilities, except those of one against rest (older releases, liblinear)."""
    several = len(estimator.classes_) > 2
    apart = getattr(estimator, "multi_class", "auto") == "ovr" or estimator.solver == "liblinear"
    return _read_decisions(estimator, bounds, before, (None if apart else "softmax") if several else "logistic")


def _read_discriminant(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    return _read_decisions(estimator, bounds, before, "softmax" if len(estimator.classes_) > 2 else "logistic")


def _read_neighbors(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    outputs = 1 if np.ndim(estimator._y) == 1 else int(np.shape(estimator._y)[1])
    return Model(*encode_neighbors(estimator, classes_of(estimator, outputs), bounds, before))


def _read_neighbors_of_numbers(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    return Model(*encode_neighbors(estimator, (), bounds, before))


def _read_ridge_classifier(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        raise ModelError("this RidgeClassifier has several labels for a record: train one for each label")
    return _read_decisions(estimator, bounds, before)


def _read_regression(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    coefficients = np.shape(estimator.coef_)[:-1]
    plain = _plain_linear(estimator).after(before)
    return Model(*encode_linear(plain, "regression", (), bounds, targets=coefficients))


def _read_svc(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads an SVC by libsvm's own decisions: positive for the first class of a pair, negative or 0 for the second.

    With two classes scikit-learn shows `coef_` and `intercept_` with the other sign, but predicts from libsvm's.
    """
    if estimator.kernel != "linear":
        raise ModelError(f'SVC(kernel={estimator.kernel!r}) is not supported; kernel="linear" is')
    if estimator.break_ties and len(estimator.classes_) > 2 and estimator.decision_function_shape == "ovr":
        raise ModelError("SVC(break_ties=True) is not supported; with break_ties=False ties go as libsvm breaks them")
    sign = -1.0 if len(estimator.classes_) == 2 else 1.0
    plain = _of_vectors(estimator, sign).after(before)
    return Model(*encode_linear(plain, "votes", classes_of(estimator, 1), bounds))


def _read_svr(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    if estimator.kernel != "linear":
        raise ModelError(f'SVR(kernel={estimator.kernel!r}) is not supported; kernel="linear" is')
    return Model(*encode_linear(_of_vectors(estimator, 1.0).after(before), "regression", (), bounds, targets=()))


def _of_vectors(estimator: Any, sign: float) -> PlainLinear:
    """Returns libsvm's decisions, which are sums over the support vectors."""
    weights = sign * _dense(estimator.coef_)
    intercepts = sign * np.asarray(estimator.intercept_, np.float64)
    dual, vectors = np.abs(_dense(estimator.dual_coef_)), np.abs(_dense(estimator.support_vectors_))
    magnitudes = dual.max(axis=0) @ vectors
    return PlainLinear(
        weights,
        intercepts,
        np.dtype(np.float64),
        vectors.shape[0] + vectors.shape[1] + 4,
        2 * np.broadcast_to(magnitudes, weights.shape),  # once in the kernel, once in adding the weights up
        np.abs(intercepts),
    )


def _read_rest(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads one against rest: the class with the largest decision, where each decision has its own estimator.

    The library takes the last of equal decisions; these are within the margin.
    """
    if estimator.multilabel_:
        raise ModelError("this OneVsRestClassifier has several labels for a record: import its estimators_ one by one")
    for part in estimator.estimators_:
        if type(part).__name__ == "_ConstantPredictor":
            raise ModelError("this OneVsRestClassifier met a class that all or no records have: leave that class out")
        if type(part).__name__ == "Pipeline":
            raise ModelError("OneVsRestClassifier of pipelines is not supported: put their steps before it")
        if _reader(part) not in _LINEAR:
            raise ModelError(
                f"OneVsRestClassifier of a {type(part).__name__} is not supported; of {_LINEAR_NAMES} it is"
            )
    parts = [_plain_linear(part) for part in estimator.estimators_]

    def beside(name: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(part, name) for part in parts])

    plain = PlainLinear.direct(beside("weights"), beside("intercepts"), min(part.dtype for part in parts))
    return Model(*encode_linear(plain.after(before), "linear", classes_of(estimator, 1), bounds))


_LINEAR = (_read_decisions, _read_logistic, _read_ridge_classifier)
_LINEAR_NAMES = "LinearSVC, LogisticRegression, SGDClassifier, Perceptron and RidgeClassifier"


def _calibrated(estimator: Any) -> list[Any]:
    """Returns the classifiers inside, as they were fitted, with their calibrations.

    Raises:
        ModelError: the calibration is not by sigmoids, or probabilities of several classes are means over folds.
    """
    parts = list(estimator.calibrated_classifiers_)
    if parts[0].method != "sigmoid":
        raise ModelError(
            f'CalibratedClassifierCV(method={parts[0].method!r}) is not supported: method="sigmoid" is, '
            "and estimators without calibration"
        )
    if len(parts) > 1 and len(estimator.classes_) > 2:
        raise ModelError(
            "CalibratedClassifierCV of several classes and folds is not supported, as means of its probabilities are "
            "no linear decisions: fit it with ensemble=False"
        )
    return parts


def _inside(part: Any) -> Any:
    frozen = type(part.estimator).__name__ == "FrozenEstimator"
    return part.estimator.estimator if frozen else part.estimator


def _read_calibrated(estimator: Any, before: Before | None, bounds: Any, sample: Any) -> Model | VotingModel:
    """Imports one classifier, or the mean probability of several."""
    _check_fitted(estimator)
    parts, classes = _calibrated(estimator), classes_of(estimator, 1)
    members = []
    for part in parts:
        inner, own = unwrapped(_inside(part))
        if own is not None and before is not None:
            raise ModelError("steps before a CalibratedClassifierCV and inside of it are too many: put all inside")
        if _reader(inner) not in _LINEAR:
            raise ModelError(
                f"CalibratedClassifierCV of a {type(inner).__name__} is not supported; of {_LINEAR_NAMES} it is"
            )
        if tuple(np.asarray(inner.classes_).tolist()) != classes:
            raise ModelError("this CalibratedClassifierCV and the classifier inside know different classes; fit anew")
        labels = classes if len(parts) == 1 else (0, 1)
        read = functools.partial(_read_sigmoid, part.calibrators, labels)
        members.append(read_behind(inner, own or before, bounds, sample, read))
    return members[0] if len(members) == 1 else VotingModel.of(members, "probabilities", None, classes)


def _read_sigmoid(
    calibrators: Any, classes: tuple[Any, ...], inner: Any, bounds: Bounds, before: Before | None
) -> Model:
    """Reads a calibration: the logistic function of -(a f + b) for each decision f, linear in the record as f is.

    The logistic function rises, and dividing by the sum keeps the order: of several classes the one with the largest
    -(a f + b) wins.
    """
    plain = _plain_linear(inner).after(before)
    slope, shift = (-np.array([float(getattr(c, name)) for c in calibrators]) for name in ("a_", "b_"))
    folded = PlainLinear(
        slope[:, None] * plain.weights,
        slope * plain.intercepts + shift,
        plain.dtype,
        plain.roundings + 6,
        np.abs(slope)[:, None] * plain.magnitudes,
        np.abs(slope) * plain.offsets + np.abs(shift) + 1,  # 1: probabilities are compared
    )
    link = "logistic" if len(classes) == 2 else "sigmoids"
    return Model(*encode_linear(folded, "linear", classes, bounds, link=link))


def _read_means(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    """Reads k-means: the nearest center c has the largest 2 c x - |c|^2, the first of equal ones, as in the library."""
    centers = np.asarray(estimator.cluster_centers_, np.float64)
    if len(centers) < 2:
        raise ModelError(f"this {type(estimator).__name__} has one cluster; there is nothing to predict")
    weights, squares = 2 * centers, (centers**2).sum(axis=1)
    magnitudes, offsets = np.abs(weights), squares
    if len(centers) == 2:
        weights, squares = weights[1:] - weights[:1], squares[1:] - squares[:1]
        magnitudes, offsets = magnitudes.sum(axis=0, keepdims=True), offsets.sum(keepdims=True)
    dtype = np.dtype(np.float32 if estimator.cluster_centers_.dtype == np.float32 else np.float64)
    plain = PlainLinear(weights, -squares, dtype, 2 * weights.shape[1] + 8, magnitudes, offsets).after(before)
    return Model(*encode_linear(plain, "linear", tuple(range(len(centers))), bounds))


# ---- networks -------------------------------------------------------------------------------------------------------


def _read_network(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    kind = estimator._label_binarizer.y_type_
    multilabel = kind == "multilabel-indicator"
    if multilabel:
        classes = tuple(range(estimator.n_outputs_))
    elif kind in ("binary", "multiclass"):
        classes = classes_of(estimator, 1)
    else:
        raise ModelError(f"MLPClassifier trained on {kind} targets is not supported")
    return Model(*encode_network(_plain_network(estimator, before), classes, bounds, multilabel=multilabel))


def _read_network_regressor(estimator: Any, bounds: Bounds, before: Before | None) -> Model:
    if estimator.out_activation_ != "identity":
        raise ModelError(
            f"MLPRegressor whose last activation is {estimator.out_activation_!r} is not supported: "
            "loss='squared_error' has 'identity', which is"
        )
    outputs = int(estimator.n_outputs_)
    targets = () if outputs == 1 else (outputs,)
    return Model(*encode_network(_plain_network(estimator, before), (), bounds, targets=targets))


def _plain_network(estimator: Any, before: Before | None) -> PlainNetwork:
    single = all(w.dtype == np.float32 for w in estimator.coefs_)
    return PlainNetwork(
        [_dense(w).T for w in estimator.coefs_],
        [np.asarray(b, np.float64) for b in estimator.intercepts_],
        estimator.activation,
        np.dtype(np.float32 if single else np.float64),
        before,
    )


def _dense(values: Any) -> NDArray[np.float64]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
