"""No prediction differs from the estimator's without a word: local sessions name records within the proved margin."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from deploying import Deployment
from protocols import Place, among, usual


def fitted(estimator: Any, X: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


RSS = usual("rss")


def told(model: Any, X: np.ndarray, place: Place = RSS) -> tuple[np.ndarray, list[str]]:
    """Predictions, and what was said of them."""
    with among(place) as mpc, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted = model.predict(mpc, X)
    return predicted, [str(w.message) for w in caught if issubclass(w.category, qr.ModelWarning)]


@pytest.fixture(scope="module")
def digits() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    X, y = load_digits(return_X_y=True)
    yield X / 16, y


@pytest.mark.parametrize("seed", [1, 2])
def test_a_network_on_digits(digits: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    """Without bounds one of 297 predictions differs for such seeds."""
    X, y = digits
    network = fitted(MLPClassifier((64, 32), random_state=seed, max_iter=30), X[:1500], y[:1500])
    guessed = qr.models.from_sklearn(network)
    assert guessed.margin_bound > 1
    _, words = told(guessed, X[1500:])
    assert len(words) == 1 and "of 297 records are no further from a tie than" in words[0], words
    assert "bounds=" in words[0] and "sample=" in words[0] and "test_models_margins.py:" in words[0]
    close = int(words[0].removeprefix("predict: ").split()[0])
    assert 0 < close < 297
    for model in (qr.models.from_sklearn(network, bounds=1), qr.models.from_sklearn(network, sample=X[:1500])):
        assert model.margin_bound < 0.002
        # Two parties take as long for 20 records as three for all.
        place, last = (usual("aby"), 1520) if seed == 1 else (RSS, len(X))
        predicted, words = told(model, X[1500:last], place=place)
        assert words == [] and (predicted == network.predict(X[1500:last])).all()


def test_whatever_differs_was_named(digits: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = digits
    differing = 0
    for seed in range(2):
        network = fitted(MLPClassifier((64, 32), random_state=seed, max_iter=30), X[:1500], y[:1500])
        # As far from what is known as can be, so that some do differ.
        model = qr.models.from_sklearn(network, bounds=2.0**17)
        predicted, words = told(model, X[1500:])
        differing += int((predicted != network.predict(X[1500:])).sum())
        assert len(words) == 1 and "tighter bounds" in words[0]
    assert differing > 0


@pytest.mark.parametrize("estimator", [LogisticRegression(max_iter=300), SVC(kernel="linear")], ids=["linear", "votes"])
def test_records_on_a_tie(estimator: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = qr.models.from_sklearn(fitted(estimator, X[:100], y[:100]), bounds=8)
    weights, intercept = estimator.coef_[0], estimator.intercept_[0]
    on_it = X[:1] - (X[:1] @ weights + intercept)[:, None] * weights / (weights @ weights)
    _, words = told(model, np.concatenate([X[:9], on_it]))
    assert len(words) == 1 and words[0].startswith("predict: 1 of 10 records are")
    assert told(model, X[:9])[1] == []


def test_what_has_no_margin_says_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    for estimator in (DecisionTreeClassifier(), LinearRegression()):
        assert told(qr.models.from_sklearn(fitted(estimator, X, y)), X[:5])[1] == []


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine], ids=lambda load: load.__name__[5:])
def test_scalers_say_how_large_features_are(load: Any, scaler: Any) -> None:
    """What it was fitted on is within, so that nobody need state bounds, and no prediction differs."""
    X, y = load(return_X_y=True)
    network = MLPClassifier((64, 32), random_state=1, max_iter=20)
    pipeline = fitted(make_pipeline(SimpleImputer(keep_empty_features=True), scaler, network), X, y)
    model = qr.models.from_sklearn(pipeline)
    assert not model._guessed and model.margin_bound < 0.02
    assert model.margin_bound < qr.models.from_sklearn(pipeline, bounds=8192).margin_bound / 100
    predicted, words = told(model, X[:40])
    assert words == [] and (predicted == pipeline.predict(X[:40])).all()
    assert (model.predict_clear(X) == pipeline.predict(X)).all()


def test_scalers_that_know_no_magnitudes() -> None:
    X, y = load_wine(return_X_y=True)
    for steps in (
        [RobustScaler()],
        [PCA(3), StandardScaler()],
        [SelectKBest(k=3), StandardScaler()],
        [StandardScaler(with_std=False)],
    ):
        pipeline = fitted(make_pipeline(*steps, LogisticRegression(max_iter=300)), X, y)
        assert qr.models.from_sklearn(pipeline)._guessed
    constant = np.c_[X, np.zeros(len(X))]
    pipeline = fitted(make_pipeline(MinMaxScaler(), LogisticRegression()), constant, y)
    assert qr.models.from_sklearn(pipeline).shape.scales[-1] == max(qr.models.from_sklearn(pipeline).shape.scales)


def test_samples_that_are_none() -> None:
    X, y = load_iris(return_X_y=True)
    estimator = fitted(LogisticRegression(max_iter=300), X, y)
    assert qr.models.from_sklearn(estimator, sample=X).shape.scales == (4, 4, 4, 3)
    for bad, words in ((X[:, :3], r"\(records, 4\)"), (X[:0], r"\(records, 4\)"), (X * np.nan, "nan"), ("a", "sample")):
        with pytest.raises(qr.ModelError, match=words):
            qr.models.from_sklearn(estimator, sample=bad)
    with pytest.raises(qr.ModelError, match="one of them"):
        qr.models.from_sklearn(estimator, bounds=8, sample=X)


def test_the_owner_of_a_model_without_bounds_is_told(tmp_path: Path) -> None:
    body = """
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
X, y = load_iris(return_X_y=True)
fitted = LogisticRegression(max_iter=300).fit(X, y)
for more in ({}, {"sample": X}):
    model = qr.models.from_sklearn(fitted, **more)
    mine = model if mpc.me == 0 else model.shape
    print(mine.predict(mpc, X[::50] if mpc.me == 1 else None, rows=3))
"""
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(body))
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert [e.err.count("ModelWarning") for e in ended] == [1, 0, 0], ended
    assert "within" in ended[0].err and "sample=" in ended[0].err
    assert ended[1].out.split("\n")[:2] == ["[0 1 2]"] * 2
