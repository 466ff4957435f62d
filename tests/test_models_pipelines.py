"""Pipelines and searches: steps before a model are folded into it, and predictions are those of the whole."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_linnerud, load_wine
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LogisticRegression, Perceptron, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import USUAL, Place, among
from quorate.models import from_sklearn

CLASSES = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine}
NUMBERS = {"diabetes": load_diabetes, "linnerud": load_linnerud}

Maker = Callable[[], Any]

CLASSIFIERS: dict[str, Maker] = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "svc": lambda: make_pipeline(MinMaxScaler((-1, 2)), SVC(kernel="linear")),
    "linear svc": lambda: make_pipeline(StandardScaler(), PCA(3, random_state=0), LinearSVC(random_state=0)),
    "whitened": lambda: make_pipeline(StandardScaler(with_std=False), PCA(4, whiten=True), RidgeClassifier()),
    "robust": lambda: make_pipeline(SimpleImputer(), RobustScaler(), Perceptron(random_state=0)),
    "nested": lambda: make_pipeline(StandardScaler(), Pipeline([("inner", RobustScaler()), ("m", SGDClassifier())])),
    "idle": lambda: make_pipeline("passthrough", MaxAbsScaler(), LogisticRegression(max_iter=500)),
    "best": lambda: make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression()),
    "svd": lambda: make_pipeline(RobustScaler(with_centering=False), TruncatedSVD(3, random_state=0), LinearSVC()),
    "search": lambda: GridSearchCV(make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [0.1, 1]}, cv=2),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=80, random_state=0)),
    "tanh": lambda: make_pipeline(MinMaxScaler(), MLPClassifier((6,), activation="tanh", max_iter=80, random_state=0)),
    "clusters": lambda: make_pipeline(StandardScaler(), KMeans(5, n_init=1, random_state=0)),
    "two clusters": lambda: make_pipeline(MinMaxScaler(), PCA(2), KMeans(2, n_init=1, random_state=0)),
    "batches": lambda: MiniBatchKMeans(3, n_init=1, random_state=0),
    "tree": lambda: make_pipeline(SimpleImputer(), VarianceThreshold(0.2), DecisionTreeClassifier(random_state=0)),
    "forest": lambda: make_pipeline(SelectPercentile(percentile=60), RandomForestClassifier(5, random_state=0)),
    "boosting": lambda: make_pipeline(
        SelectFromModel(LogisticRegression(max_iter=5)), GradientBoostingClassifier(n_estimators=4, random_state=0)
    ),
    "eliminated": lambda: make_pipeline(RFE(RidgeClassifier(), n_features_to_select=2), DecisionTreeClassifier()),
}
REGRESSORS: dict[str, Maker] = {
    "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    "lasso": lambda: make_pipeline(RobustScaler(), PCA(2), Lasso()),
    "svr": lambda: make_pipeline(MinMaxScaler(), LinearSVR(random_state=0)),
}


@pytest.fixture(autouse=True)
def _training_need_not_converge() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


@pytest.mark.parametrize("data", CLASSES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_prediction_differs(name: str, data: str) -> None:
    X, y = CLASSES[data](return_X_y=True)
    pipeline = CLASSIFIERS[name]().fit(X[::2], y[::2])
    model = from_sklearn(pipeline, bounds=np.abs(X).max(axis=0))
    assert (model.predict_clear(X) == pipeline.predict(X)).all()


@pytest.mark.parametrize("data", NUMBERS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_within_what_is_stated(name: str, data: str) -> None:
    X, y = NUMBERS[data](return_X_y=True)
    if name == "svr" and y.ndim > 1:
        y = y[:, 0]
    pipeline = REGRESSORS[name]().fit(X, y)
    model = from_sklearn(pipeline, sample=X)
    assert np.abs(model.predict_clear(X) - pipeline.predict(X)).max() <= model.margin_bound
    assert model.margin_bound < 1e-3 * np.abs(y).max()


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_parties_predict_what_a_pipeline_does(place: Place) -> None:
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), PCA(4), LogisticRegression()).fit(X[::2], y[::2])
    model = from_sklearn(pipeline, sample=X)
    with among(place) as mpc:
        assert (model.predict(mpc, X[1:12:2]) == pipeline.predict(X[1:12:2])).all()


def test_what_a_pipeline_changes_does_not_show_in_the_shape() -> None:
    X, y = load_wine(return_X_y=True)
    bounds = np.abs(X).max(axis=0)
    shapes = [
        from_sklearn(make_pipeline(*steps, LogisticRegression()).fit(X, y), bounds=bounds).shape
        for steps in ([StandardScaler()], [RobustScaler(), PCA(2)], [SelectKBest(k=3)])
    ]
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0].features == 13


def test_names_are_those_of_the_records() -> None:
    frame, y = load_wine(return_X_y=True, as_frame=True)
    for steps in (["passthrough", StandardScaler()], [StandardScaler().set_output(transform="pandas"), PCA(2)]):
        for fitted in (make_pipeline(*steps, Ridge()), GridSearchCV(make_pipeline(*steps, Ridge()), {}, cv=2)):
            model = from_sklearn(fitted.fit(frame, y), sample=frame)
            assert model.shape.names == tuple(frame.columns)


def test_the_rounding_of_steps_counts() -> None:
    """A feature far from zero loses digits when the mean is subtracted, and the margin includes that."""
    rng = np.random.default_rng(0)
    X, moved = rng.normal(size=(200, 2)), np.array([1e9, 0])
    y = (X.sum(axis=1) > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    near = from_sklearn(pipeline.fit(X, y), sample=X).margin_bound
    assert from_sklearn(pipeline.fit(X + moved, y), sample=X + moved).margin_bound > 1e5 * near


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        (lambda: make_pipeline(Normalizer(), Ridge()), "'normalizer' of the pipeline, Normalizer, cannot be folded"),
        (lambda: make_pipeline(PolynomialFeatures(2), Ridge()), "PolynomialFeatures, cannot be folded"),
        (lambda: make_pipeline(FunctionTransformer(np.abs), Ridge()), r"Transformer\(func=absolute\) is not supported"),
        (lambda: make_pipeline(MinMaxScaler(clip=True), Ridge()), "clip=False"),
        (lambda: make_pipeline(SimpleImputer(add_indicator=True), Ridge()), "add_indicator=False is"),
        (lambda: make_pipeline(SimpleImputer(missing_values=0), Ridge()), "missing values that are nan"),
        (lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier()), "trees need no scaling"),
        (lambda: make_pipeline(StandardScaler(), RandomForestClassifier(3)), "trees need no scaling"),
        (lambda: make_pipeline(StandardScaler(), "passthrough"), "ends without an estimator"),
        (lambda: GridSearchCV(Ridge(), {"alpha": [1.0]}, refit=False), "refit=True"),
    ],
)
def test_what_cannot_be_folded_is_named(maker: Maker, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(qr.ModelError, match=message):
        from_sklearn(maker().fit(X, y))


COLUMNS: dict[str, Maker] = {
    "two scalers": lambda: ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", MinMaxScaler(), [3, 1])]),
    "the rest": lambda: ColumnTransformer([("a", RobustScaler(), slice(1, 3))], remainder="passthrough"),
    "dropped": lambda: ColumnTransformer([("a", "drop", [0]), ("b", "passthrough", [3]), ("c", PCA(2), [1, 2, 3])]),
    "a chain": lambda: ColumnTransformer(
        [("a", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1, 2]), ("b", StandardScaler(), [3])]
    ),
}


@pytest.mark.parametrize("data", CLASSES)
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_go_different_ways(name: str, data: str) -> None:
    X, y = CLASSES[data](return_X_y=True)
    pipeline = make_pipeline(COLUMNS[name](), LogisticRegression(max_iter=300)).fit(X[::2], y[::2])
    for model in (from_sklearn(pipeline), from_sklearn(pipeline, sample=X)):
        assert model.shape.features == X.shape[1]
        assert (model.predict_clear(X) == pipeline.predict(X)).all()
    # Scalers cover all columns of iris, or no column is held to their ranges.
    assert from_sklearn(pipeline)._guessed == (data != "iris" or name in ("the rest", "dropped"))


def test_columns_before_trees_and_what_does_not_fold() -> None:
    X, y = load_wine(return_X_y=True)
    kept = ColumnTransformer([("b", "passthrough", [7, 3]), ("a", SimpleImputer(), [0])])
    pipeline = make_pipeline(kept, DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert (from_sklearn(pipeline).predict_clear(X) == pipeline.predict(X)).all()
    for refused, message in (
        (ColumnTransformer([("more", PolynomialFeatures(2), [0])]), "'more' of the pipeline, PolynomialFeatures"),
        (ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2}), "transformer_weights"),
    ):
        with pytest.raises(qr.ModelError, match=message):
            from_sklearn(make_pipeline(refused, LogisticRegression(max_iter=300)).fit(X, y))


@pytest.mark.parametrize("whiten", [False, True])
def test_projections_in_parts_and_steps_that_do_nothing(whiten: bool) -> None:
    X, y = load_wine(return_X_y=True)
    steps = (StandardScaler(), FunctionTransformer(), IncrementalPCA(4, whiten=whiten))
    pipeline = make_pipeline(*steps, LogisticRegression()).fit(X, y)
    model = from_sklearn(pipeline)
    assert not model._guessed and (model.predict_clear(X) == pipeline.predict(X)).all()
    alone = make_pipeline(FunctionTransformer(), DecisionTreeClassifier(max_depth=3)).fit(X, y)
    assert (from_sklearn(alone).predict_clear(X) == alone.predict(X)).all()
    with pytest.raises(qr.ModelError, match=r"FunctionTransformer\(func=log1p\) is not supported: transform"):
        from_sklearn(make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(X, y))


def test_one_against_rest() -> None:
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())).fit(X, y)
    model = from_sklearn(pipeline)
    assert (model.predict_clear(X) == pipeline.predict(X)).all()
    labels = np.stack([y == 0, y == 1], axis=1).astype(int)
    for refused, message in (
        (OneVsRestClassifier(LogisticRegression()).fit(X, labels), "several labels"),
        (OneVsRestClassifier(DecisionTreeClassifier()).fit(X, y), "of a DecisionTreeClassifier is not supported"),
        (OneVsRestClassifier(make_pipeline(LogisticRegression())).fit(X, y), "put their steps before it"),
        (SVR().fit(X, y), r"SVR\(kernel='rbf'\) is not supported"),
    ):
        with pytest.raises(qr.ModelError, match=message):
            from_sklearn(refused)


CALIBRATED: dict[str, Maker] = {
    "inside": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), ensemble=False),
    "outside": lambda: make_pipeline(MinMaxScaler(), CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=3)),
    "ridge": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), RidgeClassifier()), ensemble=False),
    "folds": lambda: make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=3)),
}


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("data", CLASSES)
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_classifiers(name: str, data: str, pair: tuple[int, int]) -> None:
    X, y = CLASSES[data](return_X_y=True)
    two = np.isin(y, pair if data != "breast_cancer" else (0, 1))
    fitted = CALIBRATED[name]().fit(X[two], y[two])
    model = from_sklearn(fitted)
    assert all(not member._guessed for member in getattr(model, "members", (model,)))
    assert (model.predict_clear(X[two]) == fitted.predict(X[two])).all()
    with qr.local("rss") as mpc:
        some = X[two][::20]
        assert np.abs(model.predict_proba(mpc, some) - fitted.predict_proba(some)).max() <= model.margin_bound


@pytest.mark.parametrize(
    ("maker", "message"),
    [
        (lambda: CalibratedClassifierCV(LinearSVC(), method="isotonic", ensemble=False), 'method="sigmoid"'),
        (lambda: CalibratedClassifierCV(RandomForestClassifier(2), ensemble=False), "of a RandomForestClassifier"),
        (
            lambda: make_pipeline(
                StandardScaler(), CalibratedClassifierCV(make_pipeline(PCA(2), LinearSVC()), ensemble=False)
            ),
            "too many: put all inside",
        ),
    ],
)
def test_calibrations_that_do_not_fold(maker: Maker, message: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(qr.ModelError, match=message):
        from_sklearn(maker().fit(X[:120], y[:120]))
    X, y = load_iris(return_X_y=True)
    with pytest.raises(qr.ModelError, match=r"several classes and folds .*ensemble=False"):
        from_sklearn(CalibratedClassifierCV(LinearSVC(), cv=2).fit(X, y))


def test_steps_are_put_inside_of_a_calibration() -> None:
    X, y = (part[:120] for part in load_breast_cancer(return_X_y=True))
    outside = CalibratedClassifierCV(make_pipeline(PCA(2), LinearSVC()), ensemble=False)
    with pytest.raises(qr.ModelError, match="inside of it are too many: put all inside"):
        from_sklearn(make_pipeline(StandardScaler(), outside).fit(X, y))
    inside = CalibratedClassifierCV(make_pipeline(StandardScaler(), PCA(2), LinearSVC()), ensemble=False).fit(X, y)
    assert (from_sklearn(inside).predict_clear(X) == inside.predict(X)).all()


@pytest.mark.parametrize("load", [load_wine, load_iris], ids=["wine", "iris"])
@pytest.mark.parametrize("name", ["inside", "outside", "ridge"])
def test_calibrated_classifiers_of_several_classes(name: str, load: Callable[..., Any]) -> None:
    """Shares of logistic functions have the order of their arguments."""
    X, y = load(return_X_y=True)
    fitted = CALIBRATED[name]().fit(X, y)
    model = from_sklearn(fitted)
    assert (model.predict_clear(X) == fitted.predict(X)).all()
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.ModelWarning)
        assert (model.predict(mpc, X) == fitted.predict(X)).all()
        for question in ("predict_proba", "decision_function"):
            with pytest.raises(qr.ModelError, match=f"several classes has no {question} here: .*ask predict"):
                getattr(model, question)(mpc, X[:2])


def test_logistic_functions_that_are_one_float_are_named() -> None:
    """Of decisions beyond 37 they are 1, and the first class wins, whichever is larger."""
    X, y = load_iris(return_X_y=True)
    fitted = CalibratedClassifierCV(LinearSVC(), ensemble=False).fit(X, y)
    for calibrator, shift in zip(fitted.calibrated_classifiers_[0].calibrators, (-50.0, -60.0, -55.0), strict=True):
        calibrator.b_ = shift
    model = from_sklearn(fitted, sample=X)
    assert set(fitted.predict(X)) == {0} and set(model.predict_clear(X)) != {0}
    with qr.local("rss") as mpc, pytest.warns(qr.ModelWarning, match="5 of 5 records are no further from a tie"):
        model.predict(mpc, X[:5])


def test_what_is_not_fitted_is_named() -> None:
    for pipeline in (make_pipeline(StandardScaler(), Ridge()), GridSearchCV(Ridge(), {"alpha": [1.0]})):
        with pytest.raises(qr.ModelError, match="call fit"):
            from_sklearn(pipeline)


def test_a_projection_fitted_on_float32_is_off_by_its_roundings() -> None:
    """It clips its deviations at the eps of its dtype, and subtracts the mean in it."""
    rng = np.random.default_rng(0)
    X, y = np.c_[rng.normal(size=(50, 3)) + 1000, np.full(50, 3.0)], rng.normal(size=50)
    near = X + rng.normal(size=X.shape) * 1e-3
    for solver in ("full", "covariance_eigh"):
        pipeline = make_pipeline(PCA(whiten=True, svd_solver=solver), LinearSVR(random_state=0))
        model = from_sklearn(pipeline.fit(X.astype(np.float32), y), sample=X)
        assert np.abs(model.predict_clear(near) - pipeline.predict(near)).max() <= model.margin_bound


@pytest.mark.parametrize(
    ("scaler", "changed"),
    [
        (StandardScaler, "with_std"),
        (StandardScaler, "with_mean"),
        (RobustScaler, "with_centering"),
        (RobustScaler, "with_scaling"),
    ],
)
def test_what_a_scaler_leaves_out_after_its_fit_is_left_out(scaler: Any, changed: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    pipeline = (
        Pipeline([("scaler", scaler()), ("model", Ridge())]).fit(X, y).set_params(**{f"scaler__{changed}": False})
    )
    model = from_sklearn(pipeline, sample=X)
    assert np.abs(model.predict_clear(X) - pipeline.predict(X)).max() <= model.margin_bound


def test_pipelines_and_searches_that_predict_in_their_own_way_are_refused() -> None:
    class OwnPipeline(Pipeline):  # type: ignore[misc]
        def predict(self, X: Any, **params: Any) -> Any:
            return super().predict(X, **params) + 1

    class OwnSearch(GridSearchCV):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return super().predict(X) + 1

    class OwnSelection(VarianceThreshold):  # type: ignore[misc]
        def _transform(self, X: Any) -> Any:
            return super()._transform(X) * 2

    X, y = load_iris(return_X_y=True)
    for own in (OwnPipeline([("scaler", StandardScaler()), ("model", Ridge())]), OwnSearch(Ridge(), {"alpha": [1.0]})):
        with pytest.raises(qr.ModelError, match="in its own way"):
            from_sklearn(own.fit(X, y))
    with pytest.raises(qr.ModelError, match="OwnSelection, cannot be folded"):
        from_sklearn(make_pipeline(OwnSelection(), Ridge()).fit(X, y))


def test_several_labels_of_a_ridge_classifier_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    labels = np.eye(3, dtype=int)[y]
    for given in (labels, labels[:, :2]):
        with pytest.raises(qr.ModelError, match="several labels for a record"):
            from_sklearn(RidgeClassifier().fit(X, given))


def test_steps_that_transform_in_their_own_way_are_refused() -> None:
    class Own(StandardScaler):  # type: ignore[misc]
        def transform(self, X: Any, copy: Any = None) -> Any:
            return super().transform(X) ** 2

    X, y = load_iris(return_X_y=True)
    with pytest.raises(qr.ModelError, match="Own, cannot be folded"):
        from_sklearn(make_pipeline(Own(), Ridge()).fit(X, y))
