"""Predictions that may differ from the estimator's are warned of: local sessions count records within the margin."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from deploying import ended_of
from protocols import Place, among, usual
from quorate.models._questions import Asked


def fitted(estimator: Any, X: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


RSS = usual("rss")


def told(model: Any, X: np.ndarray, place: Place = RSS) -> tuple[np.ndarray, list[str]]:
    """Returns predictions, and the warnings about them."""
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
    """Without bounds one of 297 predictions differs for these seeds."""
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
        # Two parties take the same time for 20 records as three for all.
        place, last = (usual("aby"), 1520) if seed == 1 else (RSS, len(X))
        predicted, words = told(model, X[1500:last], place=place)
        assert words == [] and (predicted == network.predict(X[1500:last])).all()


def test_whatever_differs_was_named(digits: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = digits
    differing = 0
    for seed in range(2):
        network = fitted(MLPClassifier((64, 32), random_state=seed, max_iter=30), X[:1500], y[:1500])
        # As far from the known range as possible, so that some do differ.
        model = qr.models.from_sklearn(network, bounds=2.0**17)
        predicted, words = told(model, X[1500:])
        differing += int((predicted != network.predict(X[1500:])).sum())
        assert len(words) == 1 and "tighter bounds" in words[0]
        # Of records that are no ties, tighter bounds are enough.
        likely = np.sort(network.predict_log_proba(X[1500:]))
        apart = X[1500:][likely[:, -1] - likely[:, -2] > 0.02]
        assert told(model, apart)[1] != []
        predicted, words = told(qr.models.from_sklearn(network, bounds=1.0), apart)
        assert words == [] and (predicted == network.predict(apart)).all()
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


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-6])
@pytest.mark.parametrize("data", [load_diabetes, load_linnerud], ids=["diabetes", "linnerud"])
def test_numbers_of_small_features_are_right_without_bounds(data: Any, scale: float) -> None:
    """Features may reach 8192, and features of a ten-thousandth have enough bits."""
    X, y = data(return_X_y=True)
    X = X * scale
    for fitted in (LinearRegression().fit(X, y), Ridge(alpha=1e-15).fit(X, y)):
        model = qr.models.from_sklearn(fitted)
        assert model._guessed and model.shape.decision_bits == 120
        for place in (RSS, usual("aby")):
            predicted, words = told(model, X, place=place)
            error = np.abs(predicted - fitted.predict(X)).max()
            assert words == [] and error <= min(model.margin_bound, 1e-5)
            assert (predicted == model.predict_clear(X)).all()
    # As secrets, in units of 2^-16, if they are not too large for these.
    model = qr.models.from_sklearn(LinearRegression().fit(X, y))
    if scale > 1e-5:
        with qr.local("rss") as mpc:
            hidden = model.predict(mpc, X[:9], reveal=False).reveal()
        assert np.abs(hidden - model.predict_clear(X[:9])).max() <= 2.0**-16


def asked(question: str, model: Any, X: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Returns the answer, and the warnings about it."""
    with qr.local("rss") as mpc, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = getattr(model, question)(mpc, X)
    return answer, [str(w.message) for w in caught if issubclass(w.category, qr.ModelWarning)]


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_every_question_is_right_without_bounds(scale: float) -> None:
    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        X = X * scale
        for estimator in (LogisticRegression(max_iter=500), LinearSVC(random_state=0)):
            model = qr.models.from_sklearn(fitted(estimator, X, y))
            assert (model.predict_clear(X) == estimator.predict(X)).all()
            for question in ("predict_proba", "decision_function"):
                if hasattr(estimator, question):
                    answer, words = asked(question, model, X[::7])
                    error = np.abs(answer - getattr(estimator, question)(X[::7])).max()
                    assert words == [] and error <= model.margin_bound < 1e-5


@pytest.mark.parametrize("kind", ["numbers", "probabilities", "means"])
def test_secret_answers_of_120_bits_cannot_leave_them(kind: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]  # a power of two: sums of this number of products may reach their bound
    voters = VotingClassifier([("a", LogisticRegression(max_iter=500))], voting="soft")
    of = {"numbers": LinearRegression(), "probabilities": LogisticRegression(max_iter=500), "means": voters}
    estimator = fitted(of[kind], X, y)
    question = "predict" if kind == "numbers" else "predict_proba"
    with qr.local("rss") as mpc, warnings.catch_warnings():
        warnings.simplefilter("error", qr.RangeWarning)
        secret = getattr(qr.models.from_sklearn(estimator), question)(mpc, X[:9], reveal=False)
        assert np.abs(secret.reveal() - getattr(estimator, question)(X[:9])).max() < 1e-3


def test_numbers_that_may_be_off_by_much_are_named() -> None:
    X, y = load_diabetes(return_X_y=True)
    small = X * 1e-12
    estimator = LinearRegression().fit(small, y)
    model = qr.models.from_sklearn(estimator)
    assert model.margin_bound > 1
    for place in (RSS, usual("aby")):
        _, words = told(model, small[:5], place=place)
        assert len(words) == 1 and words[0].startswith("predict: numbers are within "), words
        for word in ("the largest of these is", "not stated", "bounds=", "sample=", "test_models_margins.py:"):
            assert word in words[0]
    for more in ({"bounds": np.abs(small).max(axis=0)}, {"sample": small}):
        predicted, words = told(qr.models.from_sklearn(estimator, **more), small)
        assert words == [] and np.abs(predicted - estimator.predict(small)).max() < 1e-4
    _, words = told(qr.models.from_sklearn(LinearRegression().fit(X, y), bounds=1e6), X[:5])
    assert len(words) == 1 and "tighter bounds" in words[0], words
    two = VotingRegressor([("a", LinearRegression()), ("b", Ridge())])
    loose = qr.models.from_sklearn(two.fit(X, y), bounds=1e6)
    assert len(told(loose, X[:5])[1]) == 1
    assert told(qr.models.from_sklearn(two.fit(X, y)), X[:5])[1] == []


def test_probabilities_and_decisions_that_may_be_off_by_much_are_named() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    logistic = fitted(LogisticRegression(max_iter=5000), X, y)
    loose, tight = (qr.models.from_sklearn(logistic, bounds=b) for b in (1e8, 5000))
    for question, words in (("predict_proba", "probabilities may be off by up to"), ("decision_function", "within")):
        _, said = asked(question, loose, X[:9])
        assert len(said) == 1 and said[0].startswith(f"{question}: ") and words in said[0], said
        assert asked(question, tight, X)[1] == []
    network = fitted(MLPClassifier((5,), max_iter=20, random_state=0), X, y)
    said = asked("predict_proba", qr.models.from_sklearn(network, bounds=1e8), X[:9])[1]
    assert len(said) == 1 and "tighter bounds" in said[0]
    soft = VotingClassifier([("a", logistic), ("b", network)], voting="soft").fit(X, y)
    said = asked("predict_proba", qr.models.from_sklearn(soft, bounds=1e8), X[:9])[1]
    assert len(said) == 1 and "probabilities may be off" in said[0]


@pytest.mark.parametrize(
    ("me", "scale", "bounds", "is_told"),
    [
        *((0, 1.0, None, False), (1, 1e-12, None, False), (0, 1e-12, None, True)),
        *((0, 1.0, 0.5, False), (0, 1.0, 1 << 15, True), (1, 1.0, 1 << 15, False)),
    ],
)
def test_owners_of_models_hear_of_numbers_that_may_be_off(me: int, scale: float, bounds: Any, is_told: bool) -> None:
    """In a deployment no party has both records and weights; intercepts show the size of numbers."""
    X, y = load_diabetes(return_X_y=True)
    for made in (LinearRegression(), VotingRegressor([("a", LinearRegression())])):
        if scale < 1 and isinstance(made, VotingRegressor):  # is refused
            continue
        model = qr.models.from_sklearn(made.fit(X * scale, y), bounds=bounds)
        session = SimpleNamespace(me=me, is_local=False)
        question = Asked(None, model_owner=0, data_owner=1, reveal_to=1, rows=2, reveal=True)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", qr.ModelWarning)
            model._tell_how_far("predict", session, question)
        assert len(heard) == is_told, [str(w.message) for w in heard]


def test_records_of_float32_before_scalers_are_named() -> None:
    """The library's scalers would compute in float32."""
    X, y = load_wine(return_X_y=True)
    narrow = X.astype(np.float32)
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    soft = VotingClassifier([("a", scaled)], voting="soft").fit(X, y)
    for estimator in (scaled, soft):
        model = qr.models.from_sklearn(estimator)
        _, words = told(model, narrow[:9])
        assert len(words) == 1 and "X is of float32" in words[0] and "X.astype(float)" in words[0], words
        assert told(model, X[:9])[1] == []
    plain = LogisticRegression(max_iter=3000).fit(X, y)
    assert told(qr.models.from_sklearn(plain), narrow[:9])[1] == []


def test_what_has_no_margin_says_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    for estimator in (DecisionTreeClassifier(), LinearRegression()):
        assert told(qr.models.from_sklearn(fitted(estimator, X, y)), X[:5])[1] == []


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine], ids=lambda load: load.__name__[5:])
def test_scalers_say_how_large_features_are(load: Any, scaler: Any) -> None:
    """The training records are within, so that no bounds are needed, and no prediction differs."""
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
from sklearn.neural_network import MLPClassifier
X, y = load_iris(return_X_y=True)
fitted = MLPClassifier((5,), max_iter=2000, random_state=0).fit(X, y)
for more in ({}, {"sample": X}):
    model = qr.models.from_sklearn(fitted, **more)
    mine = model if mpc.me == 0 else model.shape
    print(mine.predict(mpc, X[::50] if mpc.me == 1 else None, rows=3))
"""
    ended = ended_of(tmp_path, body)
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert [e.err.count("ModelWarning") for e in ended] == [1, 0, 0], ended
    assert "within" in ended[0].err and "sample=" in ended[0].err
    assert ended[1].out.split("\n")[:2] == ["[0 1 2]"] * 2


def test_parties_answer_for_features_of_any_size(tmp_path: Path) -> None:
    """Each party uses what it has: the model's owner the model, the others its shape as plain values."""
    body = """
import json
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
X, y = load_diabetes(return_X_y=True)
X = X * 1e-4
for estimator, sample in (
    (LinearRegression().fit(X, y), None), (LogisticRegression(C=1e9).fit(X, y > 150), None),
    (KNeighborsRegressor(3).fit(X[:20], y[:20]), X),
):
    model = qr.models.from_sklearn(estimator, sample=sample)
    shape = qr.models.Shape(**json.loads(json.dumps(model.shape.describe())))
    asked = model if mpc.me == 0 else shape
    for question in ("predict", "predict_proba") if hasattr(estimator, "predict_proba") else ("predict",):
        given = getattr(asked, question)(mpc, X[:4] if mpc.me == 1 else None, rows=4)
        if given is not None:
            print(np.abs(given - getattr(estimator, question)(X[:4]).astype(float)).max() < 1e-6)
"""
    ended = ended_of(tmp_path, body)
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert ended[1].out.split() == ["True"] * 4 and not any("ModelWarning" in e.err for e in ended), ended


def test_whoever_learns_answers_hears_of_points_that_are_equally_far(tmp_path: Path) -> None:
    """In a deployment no party has both records and points."""
    body = """
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
X, y = np.array([[0.0], [2], [2], [9]]), np.array([0, 1, 2, 3])
for estimator, question in ((KNeighborsRegressor(2), "predict"), (KNeighborsClassifier(2), "predict_proba")):
    model = qr.models.from_sklearn(estimator.fit(X, y), bounds=16)
    mine = model if mpc.me == 0 else model.shape
    for records in ([[0.5], [8]], [[1.75], [2.25]]):
        getattr(mine, question)(mpc, np.array(records) if mpc.me == 1 else None, rows=2)
"""
    ended = ended_of(tmp_path, body)
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert [e.err.count("ModelWarning") for e in ended] == [0, 2, 0], ended
    assert ended[1].err.count("for 2 of 2 records points are equally far, and more than 2 count") == 2
