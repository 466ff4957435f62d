"""Conventions of scikit-learn's estimators that these follow: `score`, `coef_`, `C=`, `max_iter=`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate.learn import LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).clip(-4, 4)
LABELS = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
TARGETS = X @ [1.0, 2.0, -1.0] + 0.5


def secret(mpc: qr.Session) -> tuple[qr.SecretArray, qr.SecretArray, qr.SecretArray]:
    x, y, t = mpc.input(X, owner=0, bound=4), mpc.input(LABELS, owner=1, bound=1), mpc.input(TARGETS, owner=1, bound=17)
    return x, y, t


def test_scores_are_those_of_the_revealed_model() -> None:
    with qr.local("rss") as mpc:
        x, y, t = secret(mpc)
        two = LogisticRegression(classes=2, epochs=3, batch_size=20).fit(x, y)
        regression = LinearRegression(epochs=5, batch_size=20).fit(x, t)
        for model, wanted, plain in ((two, y, LABELS), (two, y == 1, LABELS), (regression, t, TARGETS)):
            revealed = model.reveal()
            assert revealed is not None
            assert abs(model.score(x, wanted).reveal() - revealed.score(X, plain)) < 2**-12
        right = two.reveal()
        assert right is not None
        assert right.score(X, LABELS) == (right.predict(X) == LABELS).mean()
        with pytest.raises(qr.DtypeError, match="score: labels are whole numbers"):
            two.score(x, t)
        with pytest.raises(qr.ShapeError, match="score: y has shape"):
            two.score(x, y[:3])
        with pytest.raises(qr.ConfigError, match="not fitted"):
            LinearRegression().score(x, t)


def test_a_score_of_small_numbers_keeps_their_digits() -> None:
    rng = np.random.default_rng(5)
    records = rng.normal(size=(60, 2)).clip(-4, 4)
    small = (records @ [0.5, -0.25] + 0.1 * rng.normal(size=60)).clip(-3, 3) * 2.0**-10
    with qr.local("rss", check=False) as mpc:
        x = mpc.input(records, owner=0, bound=4)
        model = LinearRegression(epochs=3, batch_size=20).fit(x, mpc.input(small, owner=0, bound=1))
        revealed = model.reveal()
        assert revealed is not None
        score = model.score(x, mpc.input(small, owner=0, bound=3 * 2.0**-10)).reveal()
        assert abs(score - revealed.score(records, small)) < 2**-8


def test_a_revealed_linear_model_has_the_names_of_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    two, three = (LogisticRegression(classes=n, batch_size=20, epochs=1) for n in (2, 3))
    for model, y in ((two, LABELS), (three, np.arange(60) % 3)):
        found = model.fit_clear(X, y)
        theirs = linear.LogisticRegression(max_iter=300).fit(X, y)
        assert (found.coef_.shape, found.intercept_.shape) == (theirs.coef_.shape, theirs.intercept_.shape)
        assert np.allclose(X @ found.coef_.T + found.intercept_, found.decision_function(X).reshape(60, -1))
    found = LinearRegression(batch_size=20, epochs=1).fit_clear(X, TARGETS)
    assert found.coef_.shape == (3,)
    assert np.allclose(X @ found.coef_ + found.intercept_, found.predict(X))
    deep = MLPClassifier((2,), classes=2, batch_size=20, epochs=1).fit_clear(X, LABELS)
    with pytest.raises(AttributeError, match="see coefs"):
        print(deep.coef_)


def test_C_is_what_it_is_in_scikit_learn() -> None:
    """The optimum is that of scikit-learn, with alpha = 1 / (C records)."""
    linear = pytest.importorskip("sklearn.linear_model")
    schedule: dict[str, Any] = {"classes": 2, "batch_size": 60, "max_iter": 400, "learning_rate": 0.5, "momentum": 0.9}
    found = LogisticRegression(C=0.5, **schedule).fit_clear(X, LABELS)
    assert np.abs(found.coef_ - linear.LogisticRegression(C=0.5).fit(X, LABELS).coef_).max() < 0.01
    same = LogisticRegression(alpha=1 / 30, **schedule).fit_clear(X, LABELS)
    assert np.abs(found.coef_ - same.coef_).max() < 1e-9
    with qr.local("rss") as mpc:
        x, y, _ = secret(mpc)
        short = {**schedule, "max_iter": 2}
        secretly = LogisticRegression(C=0.5, **short).fit(x, y).reveal()
        assert secretly is not None
        assert np.abs(secretly.coef_ - LogisticRegression(C=0.5, **short).fit_clear(X, LABELS).coef_).max() < 1e-3


@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression, MLPClassifier, MLPRegressor])
def test_max_iter_is_how_many_epochs_there_are(kind: Any) -> None:
    needed = {"classes": 2} if kind in (LogisticRegression, MLPClassifier) else {}
    model = kind(max_iter=3, **needed)
    assert (model._schedule.epochs, model.get_params()["max_iter"]) == (3, 3)
    with pytest.raises(qr.ConfigError, match="say one thing"):
        kind(epochs=4, max_iter=3, **needed)
    with pytest.raises(qr.ConfigError, match="whole number"):
        kind(max_iter=0, **needed)


@pytest.mark.parametrize("wrong", [{"C": 0}, {"C": -1.0}, {"C": "1"}, {"C": 1.0, "alpha": 0.1}])
def test_a_wrong_C_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(qr.ConfigError, match=r"C must be a number|state one of them"):
        LogisticRegression(classes=2, **wrong)
