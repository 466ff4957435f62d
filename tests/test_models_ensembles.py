"""Forests, boosting, regressions and networks against scikit-learn: ties, errors within bounds, costs, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import quorate as qr
from protocols import Place, among, places, usual
from quorate.models import Shape, from_sklearn
from quorate.models._ensemble import value_bits
from quorate.models._neural_network import Layer, layers_of, shifts_of
from quorate.models._shape import ACTIVATIONS

DATASETS = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine, "digits": load_digits}
SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _training_need_not_converge() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def split(data: str, scaled: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records and classes to train with, and fresh records."""
    X, y = DATASETS[data](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    if scaled:
        X = StandardScaler().fit_transform(X)
    half = min(len(X) // 2, 500)
    return X[:half], y[:half], X[half : half + 300]


def logits(network: MLPClassifier, X: np.ndarray) -> np.ndarray:
    """Returns the sums of the network's last layer."""
    functions = {"relu": lambda z: np.maximum(z, 0), "identity": lambda z: z, "tanh": np.tanh}
    functions["logistic"] = lambda z: 1 / (1 + np.exp(-z))
    for w, b in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        X = functions[network.activation](X @ w + b)
    return X @ network.coefs_[-1] + network.intercepts_[-1]


def margins(decisions: np.ndarray, multilabel: bool = False) -> np.ndarray:
    if multilabel or decisions.shape[1] == 1:
        return np.abs(decisions).min(axis=1)
    ordered = np.sort(decisions, axis=1)
    return ordered[:, -1] - ordered[:, -2]


# ---- real data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [None, 3, 8], ids=str)
@pytest.mark.parametrize("data", DATASETS, ids=str)
def test_forests(data: str, depth: int | None) -> None:
    X, y, fresh = split(data)
    words = np.array([f"class {chr(106 - c)}" for c in y])
    forest = RandomForestClassifier(40, max_depth=depth, random_state=1).fit(X, words)
    model = from_sklearn(forest)
    assert model.margin_bound < (1e-300 if depth is None else 1e-12)
    assert (model.predict_clear(fresh) == forest.predict(fresh)).all()


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("data", DATASETS, ids=str)
def test_boosting(data: str, loss: str) -> None:
    X, y, fresh = split(data)
    if loss == "exponential":
        y = y % 2
    boosting = GradientBoostingClassifier(n_estimators=12, loss=loss, learning_rate=0.3, random_state=0)
    model = from_sklearn(boosting.fit(X, y))
    assert 0 < model.margin_bound < 1e-9
    assert (model.predict_clear(fresh) == boosting.predict(fresh)).all()
    assert model.shape.link == (None if loss == "exponential" else "logistic" if y.max() == 1 else "softmax")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("data", DATASETS, ids=str)
def test_networks(data: str, activation: str) -> None:
    X, y, fresh = split(data, scaled=True)
    network = MLPClassifier((16, 8), activation=activation, max_iter=60, random_state=0).fit(X, y)
    model = from_sklearn(network, bounds=np.abs(np.concatenate([X, fresh])).max(axis=0))
    sure = margins(logits(network, fresh)) > model.margin_bound
    assert model.margin_bound < 0.05 and sure.mean() > 0.95
    assert (model.predict_clear(fresh) == network.predict(fresh))[sure].all()


@pytest.mark.parametrize("data", DATASETS, ids=str)
def test_regressions(data: str) -> None:
    X, y, fresh = split(data)
    targets = np.stack([y, 1000.0 * y + X[:, 0], X @ np.arange(X.shape[1]) * 1e-6], axis=1)
    for wanted in (targets, targets[:, 1], targets[:, :1]):
        regression = LinearRegression().fit(X, wanted)
        model = from_sklearn(regression, bounds=2 * np.abs(X).max(axis=0) + 1)
        predicted = model.predict_clear(fresh)
        assert predicted.shape == regression.predict(fresh).shape
        assert np.abs(predicted - regression.predict(fresh)).max() <= model.margin_bound
        assert model.margin_bound < 1e-5 * np.abs(wanted).max()


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Reads a table of the shared data sets: records, and the last column as classes."""
    if not (path := SHARED / name).is_file():
        pytest.skip(f"no data set {name} beside the repository")
    table = np.random.default_rng(0).permutation(qr.read(path).array)
    return table[:, :-1], table[:, -1].astype(int)


@pytest.mark.parametrize(
    "name", ["tabular/spambase.data", "tabular/pima-indians-diabetes.csv", "multiclass/optdigits.csv"]
)
def test_tables_from_elsewhere(name: str) -> None:
    X, y = read(name)
    half = min(len(X) // 2, 900)
    fresh = X[half : half + 300]
    boosting = GradientBoostingClassifier(n_estimators=30 if y.max() == 1 else 4, random_state=0)
    for estimator in (RandomForestClassifier(20, random_state=0), boosting, MLPClassifier((10,), random_state=0)):
        model = from_sklearn(estimator.fit(X[:half], y[:half]), bounds=np.abs(X).max(axis=0))
        assert (model.predict_clear(fresh) == estimator.predict(fresh)).all(), estimator


# ---- among parties -----------------------------------------------------------------------------------------------


RSS = usual("rss")


def among_parties(model: Any, records: np.ndarray, place: Place = RSS) -> tuple[np.ndarray, Any]:
    with among(place, strict=True) as mpc:
        return model.predict(mpc, records), mpc.stats().online


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("target", ["binary", "multi-class", "multi-label"])
def test_networks_among_parties(activation: str, target: str) -> None:
    X, y, fresh = split("wine", scaled=True)
    y = {"binary": y > 0, "multi-class": y, "multi-label": np.stack([y > 0, y < 2], axis=1).astype(int)}[target]
    network = MLPClassifier((8, 6), activation=activation, max_iter=60, random_state=0).fit(X, y)
    model = from_sklearn(network, bounds=8)
    predicted, _ = among_parties(model, fresh[:30])
    sure = margins(logits(network, fresh[:30]), target == "multi-label") > model.margin_bound
    assert sure.mean() > 0.8
    assert (predicted == network.predict(fresh[:30]))[sure].all()
    with qr.local("rss") as mpc:
        shares = model.predict_proba(mpc, fresh[:30])
    assert np.abs(shares - network.predict_proba(fresh[:30])).max() < model.margin_bound


def test_other_numbers_of_parties() -> None:
    X, y, fresh = split("iris")
    for estimator in (RandomForestClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=3)):
        wanted = estimator.fit(X, y).predict(fresh[:10])
        for place in places(5):
            predicted, _ = among_parties(from_sklearn(estimator), fresh[:10], place)
            assert (predicted == wanted).all(), place


def test_rounds_do_not_grow_with_trees_or_records() -> None:
    X, y, fresh = split("digits")
    for form in ({"max_depth": 4}, {"max_leaf_nodes": 60}):  # complete trees, and lists of 59 nodes
        costs = []
        for trees, count in ((2, 1), (25, 20)):
            model = from_sklearn(RandomForestClassifier(trees, random_state=0, **form).fit(X, y))
            assert (model.shape.depth, model.shape.nodes) == ((4, None) if "max_depth" in form else (None, 59))
            costs.append(among_parties(model, fresh[:count])[1].rounds)
        assert costs[0] == costs[1]


def test_cost_of_a_forest_depends_on_the_shape_alone() -> None:
    X, y, fresh = split("breast_cancer")
    forests = [RandomForestClassifier(6, max_depth=4, random_state=s).fit(X, y) for s in range(3)]
    models = [from_sklearn(f) for f in forests]
    assert len({m.shape for m in models}) == 1
    costs = {(c.rounds, tuple(c.bytes_sent)) for m in models for _, c in [among_parties(m, fresh[:9])]}
    assert len(costs) == 1


# ---- ties --------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 9))
def test_equal_votes_of_pure_trees_go_to_the_first(seed: int, classes: int, trees: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (40, 3)).astype(float), rng.integers(0, classes, 40)
    y[:classes] = np.arange(classes)
    X, kept = np.unique(X, axis=0, return_index=True)
    forest = RandomForestClassifier(trees, random_state=seed % 100, bootstrap=True).fit(X, y[kept])
    if len(forest.classes_) < 2:
        return
    model = from_sklearn(forest)
    grid = np.stack(np.meshgrid(*[np.arange(-2.5, 3)] * 3), axis=-1).reshape(-1, 3)
    assert model.margin_bound == 0
    assert (model.predict_clear(grid) == forest.predict(grid)).all()


def test_a_boosted_decision_of_zero_is_the_second_class() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([4, 9])
    boosting = GradientBoostingClassifier(n_estimators=1, init="zero", learning_rate=1.0, min_samples_leaf=2)
    boosting.fit(X, y)  # a single leaf, which adds 0
    assert boosting.decision_function(X).tolist() == [0, 0]
    assert from_sklearn(boosting).predict_clear(X).tolist() == boosting.predict(X).tolist()


# ---- bounds ------------------------------------------------------------------------------------------------------


def test_decisions_are_within_the_bound() -> None:
    """Compares integers with the estimators, for weights and records drawn over many magnitudes."""
    rng = np.random.default_rng(5)
    for seed in range(30):
        features = int(rng.integers(1, 40))
        X, y = rng.normal(size=(60, features)), np.arange(60) % 3
        activation = ACTIVATIONS[seed % 4]
        network = MLPClassifier((5, 4), activation=activation, max_iter=3, random_state=seed).fit(X, y)
        for layer in network.coefs_:
            layer *= 10.0 ** rng.uniform(-1, 1)
        model = from_sklearn(network, bounds=np.abs(X).max(axis=0))
        sure = margins(logits(network, X)) > model.margin_bound
        assert (model.predict_clear(X) == network.predict(X))[sure].all(), (activation, seed)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_networks_bound_is_not_far_off(activation: str) -> None:
    X, y, fresh = split("wine", scaled=True)
    network = MLPClassifier((10,), activation=activation, max_iter=80, random_state=0).fit(X, y > 0)
    model = from_sklearn(network, bounds=np.abs(np.concatenate([X, fresh])).max(axis=0))
    with qr.local("rss") as mpc:
        shares = model.predict_proba(mpc, fresh)[:, 1]
    given, wanted = np.log(shares / (1 - shares)), logits(network, fresh)[:, 0]
    error = np.abs(given - wanted)[np.abs(wanted) < 8].max()
    assert model.margin_bound / 100 < error < model.margin_bound


def test_the_arithmetic_of_networks_fits_the_ring() -> None:
    for activation in ACTIVATIONS:
        for features in (1, 2, 3, 30, 784, 2048):
            for hidden in ((), (1,), (100,), (300, 100, 50)):
                saturating = activation in ("tanh", "logistic")
                shape = Shape(
                    "network", (0, 1, 2), features, scales=(0,) * features, data_bits=20, layers=hidden,
                    activation=activation, layer_scales=(2,) * len(hidden) if saturating else None,
                )  # fmt: skip
                layers = layers_of(shape)
                assert [layer.outputs for layer in layers] == [*hidden, 3]
                assert all(layer.largest == 1 << 60 and layer.weight_bits > 10 for layer in layers)
                assert len(shifts_of(shape)) == len(hidden) and min(shifts_of(shape), default=0) >= 0
    assert Layer(3, 1, 20, 20).largest == 1 << 42
    for trees in (1, 3, 100, 5000):
        for leaves in (2, 256, 5000):
            assert trees * leaves << value_bits(trees, leaves) <= 1 << 60


# ---- what is refused ---------------------------------------------------------------------------------------------


def test_what_ensembles_cannot_be() -> None:
    X, y, _ = split("iris")
    for estimator in (RandomForestClassifier(), GradientBoostingClassifier(), MLPClassifier(), LinearRegression()):
        with pytest.raises(qr.ModelError, match="not fitted"):
            from_sklearn(estimator)
    with pytest.raises(qr.ModelError, match="init"):
        from_sklearn(GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(X, y))
    with pytest.raises(qr.ModelError, match="2 outputs"):
        from_sklearn(RandomForestClassifier(3).fit(X, np.stack([y, y], axis=1)))
    grown = RandomForestClassifier(2, warm_start=True).fit(X, y).set_params(n_estimators=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown.fit(X[y < 2], y[y < 2])
    with pytest.raises(qr.ModelError, match="know different classes"):
        from_sklearn(grown)
    with pytest.raises(qr.ModelError, match="only the class"):
        from_sklearn(RandomForestClassifier(3).fit(X, 0 * y))
    with pytest.raises(qr.ModelError, match="tolerance"):
        from_sklearn(MLPClassifier((3,), max_iter=5).fit(X, y), tolerance=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_parameters_that_are_not_finite(bad: float) -> None:
    X, y, _ = split("iris")
    network = MLPClassifier((3,), max_iter=5).fit(X, y)
    network.coefs_[1][0, 0] = bad
    boosting = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    boosting.learning_rate = bad
    for estimator in (network, boosting):
        with pytest.raises(qr.ModelError, match="not finite"):
            from_sklearn(estimator)


def test_weights_too_large_for_tanh() -> None:
    X, y, _ = split("iris")
    network = MLPClassifier((3,), activation="tanh", max_iter=5).fit(X, y)
    network.coefs_[0] *= 1e15
    with pytest.raises(qr.ModelError, match="rescale"):
        from_sklearn(network)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"trees": None}, "None trees"),
        ({"depth": 9}, "8"),
        ({"link": "probit"}, "link"),
        ({"kind": "regression"}, "targets"),
        ({"kind": "regression", "classes": (), "targets": (0,)}, "targets"),
        ({"kind": "regression", "classes": (), "targets": ()}, "scales"),
        ({"kind": "network"}, "scales"),
        ({"kind": "network", "scales": (1, 2)}, "layers"),
        ({"kind": "network", "scales": (1, 2), "layers": (4, 0)}, "layers"),
        ({"kind": "network", "scales": (1, 2), "layers": (4,), "activation": "gelu"}, "activation"),
        ({"kind": "network", "scales": (1, 2), "layers": (4,), "activation": "relu", "data_bits": 60}, "data_bits"),
        ({"kind": "network", "scales": (1, 2), "layers": (4,), "activation": "tanh", "data_bits": 9}, "layer_scales"),
    ],
)
def test_shapes_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"kind": "forest", "classes": (0, 1), "features": 2, "depth": 4, "trees": 3}
    assert Shape(**Shape(**good).describe()) == Shape(**good)
    with pytest.raises(qr.ModelError, match=message):
        Shape(**{**good, **fields})
