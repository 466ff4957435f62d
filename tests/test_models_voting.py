"""Voting models, and nearest points that vote."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import USUAL, Place, among
from quorate.models import Shape, VotingModel, VotingShape, from_sklearn
from quorate.models._questions import Asked

TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}

HARD = [
    ("a", make_pipeline(StandardScaler(), LinearSVC(random_state=0))),
    ("b", RandomForestClassifier(5, max_depth=4, random_state=0)),
    ("c", GaussianNB()),
    ("d", DecisionTreeClassifier(max_depth=2, random_state=0)),
]
SOFT = [("a", make_pipeline(StandardScaler(), LogisticRegression())), *HARD[1:3], ("k", KNeighborsClassifier(4))]

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "votes": lambda: VotingClassifier(HARD),
    "weighed votes": lambda: VotingClassifier(HARD, weights=[2, 1, 1, 2]),
    "probabilities": lambda: VotingClassifier(SOFT, voting="soft"),
    "shares": lambda: VotingClassifier(SOFT, voting="soft", weights=[1, 2.7, 1, 0.3]),
    "scaled": lambda: make_pipeline(StandardScaler(), VotingClassifier([("a", LogisticRegression()), *HARD[2:3]])),
}


@pytest.fixture(autouse=True)
def _records_may_be_on_a_tie() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.ModelWarning)
        yield


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_voters_agree_with_the_estimator(name: str, data: str) -> None:
    X, y = TABLES[data](return_X_y=True)
    labels = np.array(["no", "perhaps", "yes"])[y] if name == "votes" else y
    estimator = CLASSIFIERS[name]().fit(X[::2], labels[::2])
    model = from_sklearn(estimator, sample=X)
    assert isinstance(model, VotingModel) and model.margin_bound < 0.01
    assert (model.predict_clear(X) == estimator.predict(X)).all()
    some = X[1::31]
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, some) == estimator.predict(some)).all()
        hidden = model.predict(mpc, some, reveal=False).reveal()
        assert (hidden == (y[1::31] * 0 + np.searchsorted(estimator.classes_, estimator.predict(some)))).all()
        if model.shape.how == "probabilities":
            off = np.abs(model.predict_proba(mpc, some) - estimator.predict_proba(some)).max()
            assert off <= model.margin_bound
        else:
            with pytest.raises(qr.ModelError, match="no predict_proba"):
                model.predict_proba(mpc, some)


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_voters_on_every_family(place: Place) -> None:
    X, y = load_iris(return_X_y=True)
    estimator = VotingClassifier([*HARD[2:], ("k", KNeighborsClassifier(2))]).fit(X[::5], y[::5])
    model = from_sklearn(estimator, sample=X)
    with among(place) as mpc:
        assert (model.predict(mpc, X[::60]) == estimator.predict(X[::60])).all()


def test_numbers_are_averaged() -> None:
    X, y = load_diabetes(return_X_y=True)
    members = [("a", Ridge()), ("b", RandomForestRegressor(3, max_depth=4, random_state=0)), ("c", LinearRegression())]
    for weights in (None, [1, 2, 0], [0.1, 0.31, 0.7]):
        estimator = VotingRegressor(members, weights=weights).fit(X, y)
        model = from_sklearn(estimator, sample=X)
        wanted = estimator.predict(X[::40])
        with qr.local("rss") as mpc:
            given = model.predict(mpc, X[::40])
        assert given.shape == wanted.shape and np.abs(given - wanted).max() <= model.margin_bound
        assert weights == [0.1, 0.31, 0.7] or model.margin_bound < 1e-3


def test_other_parties_need_the_shape_alone() -> None:
    X, y = load_iris(return_X_y=True)
    model = from_sklearn(VotingClassifier(HARD).fit(X, y), sample=X)
    described = json.dumps(model.shape.describe())
    shape = VotingShape(**json.loads(described))
    assert shape == model.shape and "coef" not in repr(model)
    for fields, message in (
        ({"how": "luck"}, "how is 'luck'"),
        ({"weights": (1, 2)}, "4 members and weights"),
        ({"weights": (1, 1, 1, 0.5)}, "whole numbers"),
        ({"classes": ()}, "have classes"),
        ({"classes": (0, 1)}, "places of classes"),
        ({"how": "probabilities"}, "has no probabilities"),
    ):
        with pytest.raises(qr.ModelError, match=message):
            VotingShape(**{**json.loads(described), **fields})


# Trees take no scaled records.
NUMBERS = [("l", LinearSVC(random_state=0)), ("s", make_pipeline(StandardScaler(), LogisticRegression())), HARD[2]]
INSIDE = [
    (
        name,
        make_pipeline(
            StandardScaler(), *([step for _, step in member.steps] if hasattr(member, "steps") else [member])
        ),
    )
    for name, member in NUMBERS
]
TOGETHER = VotingClassifier(HARD[2:])
SHARES = VotingClassifier([("a", LogisticRegression(max_iter=500)), ("b", GaussianNB())], voting="soft")


@pytest.mark.parametrize(
    ("estimator", "message", "instead"),
    [
        (VotingClassifier([("v", TOGETHER)]), "joins several .*: put its members here", [TOGETHER]),
        (
            VotingClassifier([("v", SHARES)]),
            'joins several .*: use voting="soft", or put its members here',
            [VotingClassifier([("v", SHARES)], voting="soft"), VotingClassifier(SHARES.estimators)],
        ),
        (
            make_pipeline(StandardScaler(), VotingClassifier(NUMBERS)),
            "inside of it are too many: put all of them inside",
            [VotingClassifier(INSIDE)],
        ),
    ],
    ids=["votes", "shares", "steps"],
)
def test_what_is_advised_of_members_works(estimator: Any, message: str, instead: list[Any]) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(qr.ModelError, match=message):
        from_sklearn(estimator.fit(X, y), sample=X)
    for followed in instead:
        model = from_sklearn(followed.fit(X, y), sample=X)
        assert (model.predict_clear(X) == followed.predict(X)).all()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (VotingClassifier(HARD, weights=[0.5, 1, 1, 1]), "weights of votes are whole numbers"),
        (
            VotingClassifier([("v", VotingClassifier(HARD[2:]))]),
            "VotingClassifier that joins several .*put its members here",
        ),
        (make_pipeline(StandardScaler(), VotingClassifier(HARD)), "inside of it are too many"),
        (VotingClassifier([("r", KNeighborsClassifier(metric="manhattan"))]), "'manhattan'.* Euclidean"),
        (KNeighborsClassifier(weights="distance"), "weights='uniform' is"),
        (KNeighborsRegressor(weights="distance"), r"Regressor\(weights='distance'\) .* weights='uniform' is"),
    ],
)
def test_what_does_not_vote_says_so(estimator: Any, message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(qr.ModelError, match=message):
        from_sklearn(estimator.fit(X, y), sample=X)


# ---- nearest points ----------------------------------------------------------------------------------------------

NEAREST: dict[str, Callable[[], Any]] = {
    "five": KNeighborsClassifier,
    "one": lambda: make_pipeline(StandardScaler(), PCA(3, random_state=0), KNeighborsClassifier(1)),
    "all": lambda: KNeighborsClassifier(15),
    "brute": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(6, algorithm="brute")),
}


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("name", NEAREST)
def test_the_nearest_points_vote(name: str, data: str) -> None:
    X, y = TABLES[data](return_X_y=True)
    points = np.random.default_rng(1).permutation(len(X))[: 15 if name == "all" else 40]
    estimator = NEAREST[name]().fit(X[points], y[points])
    model = from_sklearn(estimator, sample=X)
    assert (model.shape.points, model.shape.neighbors) == (len(points), estimator.get_params().get(
        "n_neighbors", estimator.get_params().get("kneighborsclassifier__n_neighbors")))  # fmt: skip
    others = np.setdiff1d(np.arange(len(X)), points)
    assert (model.predict_clear(X[others]) == estimator.predict(X[others])).all()
    some = X[others[::40]]
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, some) == estimator.predict(some)).all()
        np.testing.assert_array_equal(model.predict_proba(mpc, some), estimator.predict_proba(some))
        hidden = model.predict_proba(mpc, some, reveal=False).reveal()
        assert np.abs(hidden - estimator.predict_proba(some)).max() <= 2**-15


def test_points_that_are_equally_far_are_named() -> None:
    estimator = KNeighborsClassifier(1).fit([[0.0], [2.0], [5.0]], [0, 1, 1])
    model = from_sklearn(estimator, bounds=8)
    with warnings.catch_warnings(), qr.local("rss") as mpc:
        warnings.simplefilter("error", qr.ModelWarning)
        assert model.predict(mpc, [[0.9], [1.2]]).tolist() == [0, 1]
        with pytest.raises(qr.ModelWarning, match="1 of 2 records are no further from a tie"):
            model.predict(mpc, [[1.0], [4.0]])


def test_points_that_are_equally_far_share() -> None:
    """All of them vote, and shares still add up to 1."""
    model = from_sklearn(KNeighborsClassifier(1, weights=None).fit([[0.0], [0.0], [1.0]], [0, 1, 1]), bounds=4)
    with qr.local("rss") as mpc:
        assert model.predict_proba(mpc, [[0.1], [0.9]]).tolist() == [[0.5, 0.5], [0, 1]]


def test_the_margin_holds_up_to_the_bound_that_is_public() -> None:
    """A bound of 5 is rounded up to 8: in float32 the squares of larger records are coarser."""
    X = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    estimator = KNeighborsClassifier(3).fit(X, X[:, 0] > 0)
    assert from_sklearn(estimator, bounds=5).margin_bound == from_sklearn(estimator, bounds=8).margin_bound


def test_subclasses_that_decide_in_their_own_way_are_refused() -> None:
    class Turned(GaussianNB):
        def _joint_log_likelihood(self, X: Any) -> Any:
            return -super()._joint_log_likelihood(X)

    class Far(KNeighborsClassifier):
        def kneighbors(self, *args: Any, **kwargs: Any) -> Any:
            return super().kneighbors(*args, **kwargs)

    X, y = load_iris(return_X_y=True)
    for estimator in (Turned(), Far()):
        with pytest.raises(qr.ModelError, match="is not supported"):
            from_sklearn(estimator.fit(X, y), sample=X)


# ---- what is said, and when --------------------------------------------------------------------------------------


def test_numbers_too_large_for_secrets_are_refused_at_once() -> None:
    """They are refused at import, not at a question for which the other parties already wait."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    large = LinearRegression().fit(X, X[:, 0] * 1e13)
    assert from_sklearn(large).predict_clear(X).shape == (20,)
    both = VotingRegressor([("a", Ridge()), ("b", LinearRegression())])
    with pytest.raises(qr.ModelError, match="too large for secret numbers"):
        from_sklearn(both.fit(X, X[:, 0] * 1e13))
    smaller = both.fit(X, X[:, 0] * 1e13 / 1e13)
    with qr.local("rss") as mpc:
        found = from_sklearn(smaller, sample=X).predict(mpc, X)
    assert found == pytest.approx(smaller.predict(X), abs=1e-3)


def test_no_member_is_asked_about_records_that_another_refuses() -> None:
    X, y = load_iris(return_X_y=True)
    estimator = VotingClassifier([("d", DecisionTreeClassifier(max_depth=2)), ("a", LogisticRegression())]).fit(X, y)
    model = from_sklearn(estimator, bounds=8)
    with qr.local("rss") as mpc:
        with pytest.raises(qr.RangeError, match="exceeds the model's bound"):
            model.predict(mpc, X[:2] + 100)
        assert len(mpc._object_cache) == 0
        assert (model.predict(mpc, X[:2]) == estimator.predict(X[:2])).all()


@pytest.mark.parametrize(("me", "options"), [(0, {}), (1, {}), (0, {"bounds": 8})])
def test_owners_of_mean_probabilities_hear_of_margins(me: int, options: dict[str, Any]) -> None:
    """In a deployment no party has both the records and the model, so that no party can count ties."""
    X, y = load_iris(return_X_y=True)
    fitted = VotingClassifier([("a", MLPClassifier((5,), max_iter=2000, random_state=0))], voting="soft").fit(X, y)
    model, session = from_sklearn(fitted, **options), SimpleNamespace(me=me, is_local=False)
    asked = Asked(None, model_owner=0, data_owner=1, reveal_to=1, rows=2, reveal=True)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", qr.ModelWarning)
        model._tell_how_far("predict", session, asked)
        model._tell_how_far("predict_proba", session, asked)
    assert len(heard) == 2 * (me == 0 and not options)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), "1", None, -1])
def test_weights_are_numbers(weight: Any) -> None:
    X, y = load_iris(return_X_y=True)
    described = from_sklearn(VotingClassifier(HARD).fit(X, y), sample=X).shape.describe()
    with pytest.raises(qr.ModelError, match="this is not the shape of a vote"):
        VotingShape(**{**described, "weights": [1, 1, 1, weight]})


@pytest.mark.parametrize("weights", [None, [2, 1], [1, 0.3]])
def test_means_of_means_are_means_of_all(weights: Any) -> None:
    """A member that is calibrated in folds counts as several members."""
    X, y = load_breast_cancer(return_X_y=True)
    folds = make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(random_state=0), cv=3))
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    fitted = VotingClassifier([("a", folds), ("b", plain)], voting="soft", weights=weights).fit(X, y)
    model = from_sklearn(fitted)
    assert isinstance(model, VotingModel) and len(model.members) == 4
    assert (model.predict_clear(X) == fitted.predict(X)).all()
    with qr.local("rss") as mpc:
        given = model.predict_proba(mpc, X[:20])
    assert np.abs(given - fitted.predict_proba(X[:20])).max() <= model.margin_bound
    hard = VotingClassifier([("a", folds), ("b", plain)]).fit(X, y)
    with pytest.raises(qr.ModelError, match=r'voting="soft", or CalibratedClassifierCV\(ensemble=False\)'):
        from_sklearn(hard)
    one = make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False))
    hard = VotingClassifier([("a", one), ("b", plain)]).fit(X, y)
    assert (from_sklearn(hard).predict_clear(X) == hard.predict(X)).all()


def test_regressors_of_regressors() -> None:
    X, y = load_diabetes(return_X_y=True)
    inner = VotingRegressor([("a", LinearRegression()), ("b", Ridge())], weights=[1, 3])
    fitted = VotingRegressor([("i", inner), ("r", Ridge(alpha=3))]).fit(X, y)
    model = from_sklearn(fitted, sample=X)
    assert isinstance(model, VotingModel) and len(model.members) == 3
    assert np.abs(model.predict_clear(X) - fitted.predict(X)).max() <= model.margin_bound


def test_secret_records_are_no_records() -> None:
    """Revealing them would show them to all, so the message does not advise it."""
    X, y = load_iris(return_X_y=True)
    model = from_sklearn(LogisticRegression(max_iter=500).fit(X, y), sample=X)
    with qr.local("rss") as mpc:
        a, b = (mpc.input(X[:5, 2 * i : 2 * i + 2], owner=i) for i in range(2))
        for secret in (mpc.concatenate([a, b], axis=1), mpc.input_frame({"a": X[:3, 0]}, 0, {"a": qr.real})):
            with pytest.raises(qr.ModelError, match=r"predict: X is secret.* at party 1 .*x @ w \+ b") as caught:
                model.predict(mpc, secret)
            assert "reveal" not in str(caught.value)


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_means_of_the_nearest_numbers(place: Place) -> None:
    X, y = load_diabetes(return_X_y=True)
    for targets in (y, np.stack([y, -3 * y], axis=1)):
        fitted = KNeighborsRegressor(5).fit(X[:40], targets[:40])
        model, wanted = from_sklearn(fitted, sample=X), fitted.predict(X[40:60])
        assert np.abs(model.predict_clear(X[40:60]) - wanted).max() < 1e-8
        with among(place) as mpc, warnings.catch_warnings():
            warnings.simplefilter("error", qr.ModelWarning)
            given = model.predict(mpc, X[40:46])
            hidden = model.predict(mpc, X[40:46], reveal=False).reveal()
        assert given.shape == hidden.shape == wanted[:6].shape
        assert np.abs(given - wanted[:6]).max() < 1e-8 and np.abs(hidden - wanted[:6]).max() <= 2.0**-15


def test_nearest_numbers_that_are_equally_far_are_named() -> None:
    fitted = KNeighborsRegressor(1).fit([[-1.0], [1.0], [5.0]], [10.0, 30.0, 7.0])
    model = from_sklearn(fitted, bounds=8)
    with qr.local("rss") as mpc, pytest.warns(qr.ModelWarning, match="1 of 3 records are no further from a tie"):
        given = model.predict(mpc, [[0.0], [4.5], [-2.0]])
    assert given.tolist() == [20.0, 7.0, 10.0]  # of both at distance 1


def test_the_nearest_are_among_voters_of_numbers() -> None:
    X, y = load_diabetes(return_X_y=True)
    fitted = VotingRegressor([("n", KNeighborsRegressor(3)), ("r", Ridge())]).fit(X[:60], y[:60])
    model = from_sklearn(fitted, sample=X)
    assert np.abs(model.predict_clear(X) - fitted.predict(X)).max() <= model.margin_bound
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, X[60:70]) - fitted.predict(X[60:70])).max() <= model.margin_bound
    described = from_sklearn(KNeighborsRegressor(3).fit(X[:9], y[:9]), sample=X).shape
    assert Shape(**json.loads(json.dumps(described.describe()))) == described
