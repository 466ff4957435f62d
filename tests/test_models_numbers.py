"""Trees, forests, boosting and networks that predict numbers, and boosting by histograms, against scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud, load_wine
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import quorate as qr
from protocols import USUAL, Place, among
from quorate.models import Shape, from_sklearn

Maker = Callable[[], Any]


def petals() -> tuple[np.ndarray, np.ndarray]:
    """Returns widths of petals, and all other lengths."""
    X, _ = load_iris(return_X_y=True)
    return X[:, :3], X[:, 3]


NUMBERS: dict[str, Callable[[], Any]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "linnerud": lambda: load_linnerud(return_X_y=True),
    "petals": petals,
}
REGRESSORS: dict[str, Maker] = {
    "tree": lambda: DecisionTreeRegressor(random_state=0),
    "small tree": lambda: DecisionTreeRegressor(max_depth=3, criterion="absolute_error"),
    "forest": lambda: RandomForestRegressor(12, random_state=0),
    "complete forest": lambda: RandomForestRegressor(12, max_depth=5, random_state=0, n_jobs=2),
    "extra trees": lambda: ExtraTreesRegressor(8, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=20, random_state=0),
    "quantiles": lambda: GradientBoostingRegressor(loss="quantile", n_estimators=9, init="zero", random_state=0),
    "huber": lambda: GradientBoostingRegressor(loss="huber", n_estimators=9, subsample=0.6, random_state=0),
    "histograms": lambda: HistGradientBoostingRegressor(max_iter=12),
    "absolute": lambda: HistGradientBoostingRegressor(max_iter=6, loss="absolute_error", max_leaf_nodes=None),
    "selected": lambda: make_pipeline(SelectKBest(k=2), RandomForestRegressor(3, random_state=0)),
    "network": lambda: make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(12, 6), random_state=0)),
    "tanh": lambda: MLPRegressor(hidden_layer_sizes=(8,), activation="tanh", random_state=0),
}
CLASSES = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine, "digits": load_digits}


@pytest.fixture(autouse=True)
def _training_need_not_converge() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def one_number(fitted: Any) -> bool:
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    return "Boosting" in type(last).__name__ or hasattr(fitted, "steps")


@pytest.mark.parametrize("data", NUMBERS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_are_within_what_is_stated(name: str, data: str) -> None:
    X, y = NUMBERS[data]()
    fitted = REGRESSORS[name]()
    if one_number(fitted) and y.ndim > 1:
        y = y[:, 0]
    fitted.fit(X[::2], y[::2])
    model = from_sklearn(fitted, sample=X)
    given, wanted = model.predict_clear(X), fitted.predict(X)
    assert given.shape == wanted.shape
    assert np.abs(given - wanted).max() <= model.margin_bound
    assert model.margin_bound < (1e-3 if name in ("network", "tanh") else 1e-12) * np.abs(y).max()


@pytest.mark.parametrize("data", CLASSES)
def test_histograms_predict_the_same_classes(data: str) -> None:
    X, y = CLASSES[data](return_X_y=True)
    fitted = HistGradientBoostingClassifier(max_iter=8 if y.max() < 9 else 3).fit(X[::2], y[::2])
    model = from_sklearn(fitted)
    assert model.shape.float64
    assert (model.predict_clear(X) == fitted.predict(X)).all()


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_parties_predict_numbers(place: Place) -> None:
    X, y = load_diabetes(return_X_y=True)
    for fitted in (
        RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, np.stack([y, -y], axis=1)),
        HistGradientBoostingRegressor(max_iter=2, max_depth=3).fit(X, y),
    ):
        model = from_sklearn(fitted)
        with among(place) as mpc:
            given = model.predict(mpc, X[:3])
            hidden = model.predict(mpc, X[:3], reveal=False).reveal()
        wanted = fitted.predict(X[:3])
        assert given.shape == hidden.shape == wanted.shape
        assert np.abs(given - wanted).max() <= model.margin_bound
        assert np.abs(hidden - wanted).max() <= model.margin_bound + 2**-16


def test_doubles_beside_a_threshold_are_told_apart() -> None:
    """Numbers that are equal in float32 lie on both sides of a threshold: histograms compare them as they are."""
    column = np.repeat([0.1, 0.1 + 2**-50, 0.3, 0.3 + 2**-50], 30)
    fitted = HistGradientBoostingClassifier(max_iter=3).fit(column[:, None], np.arange(120) // 30 % 2)
    assert len(set(column.astype(np.float32))) == 2
    records = np.concatenate([column[::30], [-1e300, 1e300, -0.0, 5e-324]])[:, None]
    model = from_sklearn(fitted)
    wanted = fitted.predict(records)
    assert wanted[:4].tolist() == [0, 1, 0, 1] and (model.predict_clear(records) == wanted).all()
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, records) == wanted).all()


def test_values_missing_in_training_only() -> None:
    X, y = load_wine(return_X_y=True)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    holes[y == 1, 0] = np.nan  # so that a split depends on missing values
    fitted = HistGradientBoostingClassifier(max_iter=8).fit(holes, y)
    model = from_sklearn(fitted)
    assert any(np.isinf(nodes.nodes["num_threshold"]).any() for stage in fitted._predictors for nodes in stage)
    assert (model.predict_clear(X) == fitted.predict(X)).all()
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match=r"nan at index .*impute"):
        model.predict(mpc, holes)


def test_what_is_refused_says_what_is_not() -> None:
    X, y = load_diabetes(return_X_y=True)
    codes = np.c_[X[:, :2], np.arange(len(X)) % 4]
    with pytest.raises(qr.ModelError, match="categorical features is not supported: encode them"):
        from_sklearn(HistGradientBoostingRegressor(max_iter=2, categorical_features=[2]).fit(codes, y))
    assert from_sklearn(HistGradientBoostingRegressor(max_iter=2).fit(codes, y)).shape.targets == ()
    for loss in ("poisson", "gamma"):
        with pytest.raises(qr.ModelError, match="logarithms of the targets"):
            from_sklearn(HistGradientBoostingRegressor(max_iter=2, loss=loss).fit(X, y))
    with pytest.raises(qr.ModelError, match="estimator of its own"):
        from_sklearn(GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(X, y))
    with pytest.raises(qr.ModelError, match="trees need no scaling"):
        from_sklearn(make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=2)).fit(X, y))
    broken = DecisionTreeRegressor(max_depth=2).fit(X, y)
    broken.tree_.value[3] = np.nan
    with pytest.raises(qr.ModelError, match="not finite"):
        from_sklearn(broken)


def test_a_network_of_powers_is_refused() -> None:
    X, y = load_diabetes(return_X_y=True)
    try:
        network = MLPRegressor(loss="poisson", hidden_layer_sizes=(3,), max_iter=3).fit(X, y)
    except TypeError:
        pytest.skip("this release of scikit-learn has no such loss")
    except Exception as error:
        if "loss" not in str(error):
            raise
        pytest.skip("this release of scikit-learn has no such loss")
    with pytest.raises(qr.ModelError, match="squared_error"):
        from_sklearn(network)


def test_networks_without_bounds_say_how_far_numbers_are_off() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = from_sklearn(MLPRegressor(hidden_layer_sizes=(4,), max_iter=5, random_state=0).fit(X, y))
    with qr.local("rss") as mpc, pytest.warns(qr.ModelWarning, match="numbers are within .* sample="):
        model.predict(mpc, X[:2])


def test_forests_name_ties_that_rounding_may_break() -> None:
    """For trees whose leaves are not pure, scikit-learn adds up shares in any order."""
    X = np.arange(12.0)[:, None] % 2
    y = np.tile([0, 1, 1, 0, 0, 1], 2)
    fitted = RandomForestClassifier(6, max_depth=1, bootstrap=False, random_state=0).fit(X, y)
    fitted.estimators_[0].tree_.value[:] = 1 / 3, 2 / 3
    fitted.estimators_[1].tree_.value[:] = 2 / 3, 1 / 3
    for tree in fitted.estimators_[2:]:
        tree.tree_.value[:] = 0.5, 0.5
    model = from_sklearn(fitted)
    assert model.margin_bound > 0
    with qr.local("rss") as mpc, pytest.warns(qr.ModelWarning, match="2 of 2 records"):
        model.predict(mpc, X[:2])


def test_shapes_of_numbers() -> None:
    for good in ({"kind": "forest"}, {"kind": "boosting"}):
        assert Shape(classes=(), features=2, depth=2, trees=3, targets=(), **good).decisions == 1
    for bad, message in (
        ({"kind": "forest", "classes": (0, 1), "targets": ()}, "no classes"),
        ({"kind": "forest", "classes": (), "targets": (0,)}, "targets"),
        ({"kind": "tree", "classes": (0, 1), "targets": ()}, "no targets"),
        ({"kind": "forest", "classes": ()}, "at least two"),
    ):
        with pytest.raises(qr.ModelError, match=message):
            Shape(features=2, depth=2, trees=3, **bad)  # type: ignore[arg-type]
