"""Imported models score secret records among real parties and predict what the estimators predict in the clear."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import FORMS, Place, among, places, usual
from quorate.demo import breast_cancer_jobs, compare

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "LinearSVC": lambda: LinearSVC(random_state=0),
    "SVC": lambda: SVC(kernel="linear"),
    "LogisticRegression": lambda: LogisticRegression(max_iter=500),
}


def fitted(name: str, X: np.ndarray, y: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ESTIMATORS[name]().fit(X, y)


def rounds_and_bytes(mpc: Any) -> tuple[int, int]:
    online = mpc.stats().online
    return online.rounds, max(sent or 0 for sent in online.bytes_sent)


@pytest.mark.parametrize("job", breast_cancer_jobs(), ids=lambda job: job.name)
def test_the_main_job(job: Any) -> None:
    with qr.local("rss", parties=3) as mpc:
        predicted = job.model.predict(mpc, job.records, model_owner=0, data_owner=1)
    outcome = compare(job, predicted)
    assert outcome.differing == 0
    assert outcome.accuracy_private == outcome.accuracy_clear


@pytest.mark.parametrize("place", [*places(5), *FORMS], ids=str)
@pytest.mark.parametrize("name", ESTIMATORS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_binary_and_multi_class(name: str, classes: int, place: Place) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], np.array(["setosa", "versicolor", "virginica"])[y[y < classes]]
    estimator = fitted(name, X, y)
    model = qr.models.from_sklearn(estimator, bounds=8)
    records = X[:: 5 if place == usual("rss") else 25]
    owner = 1 if place in FORMS else place.parties - 1  # a dealer proves no choices of features
    with among(place) as mpc:
        predicted = model.predict(mpc, records, model_owner=owner, data_owner=0, reveal_to=1)
    assert predicted.tolist() == estimator.predict(records).tolist()


@pytest.mark.parametrize("name", ESTIMATORS, ids=str)
def test_ten_classes_of_digits(name: str) -> None:
    X, y = load_digits(return_X_y=True)
    estimator = fitted(name, X[:1000], y[:1000])
    model = qr.models.from_sklearn(estimator, bounds=16)
    records = X[1000:1030]
    with qr.local("rss", parties=3) as mpc:
        predicted = model.predict(mpc, records)
    assert (predicted == estimator.predict(records)).all()


def test_a_tree_too_deep_to_be_completed() -> None:
    X, y = load_digits(return_X_y=True)
    estimator = DecisionTreeClassifier(random_state=0, max_features=1).fit(X[:400], y[:400])
    model = qr.models.from_sklearn(estimator)
    assert estimator.get_depth() > 12 and model.shape.nodes == estimator.get_n_leaves() - 1
    with qr.local("rss", parties=3) as mpc:
        predicted = model.predict(mpc, X[400:440])
    assert (predicted == estimator.predict(X[400:440])).all()


def test_values_at_thresholds_and_at_the_ends_of_float32() -> None:
    largest = float(np.finfo(np.float32).max)
    column = np.array([-largest, -1.5, -1e-45, -0.0, 0.0, 1e-45, 1.5, largest])
    estimator = DecisionTreeClassifier(random_state=0).fit(column[:, None], [0, 1, 0, 1, 1, 0, 1, 0])
    records = np.concatenate([column, estimator.tree_.threshold[estimator.tree_.feature >= 0]])[:, None]
    with qr.local("rss", parties=3) as mpc:
        predicted = qr.models.from_sklearn(estimator).predict(mpc, records)
    assert (predicted == estimator.predict(records)).all()


@pytest.mark.parametrize("name", ESTIMATORS, ids=str)
def test_rounds_do_not_grow_with_the_records(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = qr.models.from_sklearn(fitted(name, X, y), bounds=8)
    costs = []
    for count in (1, 150):
        with qr.local("rss", parties=3) as mpc:
            model.predict(mpc, X[:count])
            costs.append(rounds_and_bytes(mpc))
    assert costs[0][0] == costs[1][0]
    assert costs[0][1] < costs[1][1]


def test_cost_depends_on_the_shape_alone() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    trees = [DecisionTreeClassifier(max_depth=4, random_state=s, splitter="random").fit(X, y) for s in range(3)]
    models = [qr.models.from_sklearn(t) for t in trees]
    assert len({m.shape for m in models}) == 1
    assert len({t.get_n_leaves() for t in trees}) > 1
    costs = set()
    for model, records in zip(models, (X[:20], X[20:40], X[:20] * 0), strict=True):
        with qr.local("rss", parties=3) as mpc:
            model.predict(mpc, records)
            costs.add(rounds_and_bytes(mpc))
    assert len(costs) == 1


def test_many_models_in_one_session() -> None:
    X, y = load_iris(return_X_y=True)
    with qr.local("rss", parties=3) as mpc:
        for name in ESTIMATORS:
            estimator = fitted(name, X, y)
            predicted = qr.models.from_sklearn(estimator, bounds=8).predict(mpc, X[::10])
            assert (predicted == estimator.predict(X[::10])).all(), name


# ---- what is refused, before anything is sent --------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])
@pytest.mark.parametrize("name", ["tree", "LogisticRegression"])
def test_records_that_do_not_fit(name: str, bad: float) -> None:
    X, y = load_iris(return_X_y=True)
    model = qr.models.from_sklearn(fitted(name, X, y), bounds=8)
    with qr.local("rss", parties=3) as mpc:
        with pytest.raises(qr.RangeError):
            model.predict(mpc, np.full((2, 4), bad))
        with pytest.raises(qr.ShapeError):
            model.predict(mpc, X[:, :3])
        assert rounds_and_bytes(mpc) == (0, 0)
        assert model.predict(mpc, X[:3]).shape == (3,)


def test_owners_and_what_they_must_bring() -> None:
    X, y = load_iris(return_X_y=True)
    model = qr.models.from_sklearn(fitted("tree", X, y))
    shape = qr.models.Shape(**json.loads(json.dumps(model.shape.describe())))
    with qr.local("rss", parties=3) as mpc:
        with pytest.raises(qr.ModelError, match="owns the model"):
            shape.predict(mpc, X)
        with pytest.raises(qr.ModelError, match="owns the records"):
            model.predict(mpc, rows=4)
        assert (model.predict(mpc, X[::20]) == fitted("tree", X, y).predict(X[::20])).all()
        with pytest.raises(qr.ShapeError, match="rows"):
            model.predict(mpc, X, rows=4)
        for owners in ({"model_owner": 3}, {"data_owner": -1}, {"reveal_to": 3}):
            with pytest.raises((ValueError, qr.QuorateError), match="part"):
                model.predict(mpc, X[:2], **owners)


def test_the_package_re_exports_what_models_needs() -> None:
    assert issubclass(qr.ModelError, ValueError)
