"""Training on secrets against the same schedule in numpy: on every protocol, on data sets, at the ends of ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets, linear_model
from sklearn.base import clone

import quorate as qr
from deploying import Deployment
from protocols import FORMS, USUAL, Place, among
from quorate.learn import LinearRegression, LogisticRegression

RNG = np.random.default_rng(8)
X = RNG.uniform(-2, 2, (12, 3))
LABELS = (X @ [1.0, -2.0, 0.5] > 0.2).astype(int)
NUMBERS = X @ [0.5, -0.25, 0.125] + 0.75


def pooled(mpc: qr.Session, x: np.ndarray, bound: float | None = None, dtype: qr.Dtype | None = None) -> qr.SecretArray:
    """Records of two owners."""
    half = len(x) // 2
    parts = [mpc.input(part, owner=i, bound=bound, dtype=dtype) for i, part in enumerate((x[:half], x[half:]))]
    return mpc.concatenate(parts)


def furthest(one: qr.learn.Trained, other: qr.learn.Trained) -> float:
    """Returns the largest difference of two models' parameters."""
    pairs = zip((*one.coefs, *one.intercepts), (*other.coefs, *other.intercepts), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def scaled(x: np.ndarray) -> np.ndarray:
    spread = x.std(axis=0)
    return ((x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)).clip(-8, 8)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_every_protocol_learns_what_numpy_learns(place: Place, kind: str) -> None:
    common: dict[str, Any] = {"epochs": 1, "batch_size": 5, "learning_rate": 0.25, "alpha": 0.01}
    y = {"two": LABELS, "three": LABELS + (X[:, 0] > 1), "numbers": NUMBERS}[kind]
    model: Any = LinearRegression(**common)
    if kind != "numbers":
        model = LogisticRegression(classes=2 if kind == "two" else 3, **common)
    with among(place, check=True) as mpc:
        fitted = model.fit(pooled(mpc, X, 2), pooled(mpc, y, 4))
        assert fitted is model
        revealed, wanted = model.reveal(), model.fit_clear(X, y)
        assert furthest(revealed, wanted) < 2e-4
        found, exact = model.predict(mpc.input(X, owner=0, bound=2)).reveal(), revealed.predict(X)
        assert np.abs(found - exact).max() < 1e-3
        assert model.coef_.shape == {"two": (1, 3), "three": (3, 3), "numbers": (3,)}[kind]


SETS = {
    "breast cancer": (datasets.load_breast_cancer, LogisticRegression(classes=2, epochs=4, batch_size=64), 0.97),
    "iris": (datasets.load_iris, LogisticRegression(classes=3, epochs=6, batch_size=50), 0.85),
    "digits": (datasets.load_digits, LogisticRegression(classes=10, epochs=1, batch_size=100, learning_rate=0.5), 0.85),
}


@pytest.mark.parametrize("name", SETS)
def test_data_sets_are_learnt_as_in_the_clear(name: str) -> None:
    load, model, least = SETS[name]
    x, y = load(return_X_y=True)
    x, y = scaled(x)[:600], y[:600]
    with qr.local("rss") as mpc:
        model.fit(pooled(mpc, x, 8), pooled(mpc, y))
        revealed, wanted = model.reveal(), model.fit_clear(x, y)
        assert furthest(revealed, wanted) < 1e-3
        right, clear = (float((m.predict(x) == y).mean()) for m in (revealed, wanted))
        assert right >= least
        assert abs(right - clear) <= 1 / len(x)
        some = mpc.input(x[:50], owner=0, bound=8)
        assert np.allclose(model.predict_proba(some).reveal(), revealed.predict_proba(x[:50]), atol=1e-3)
        assert np.allclose(model.decision_function(some).reveal(), revealed.decision_function(x[:50]), atol=1e-3)


def test_diabetes_is_learnt_as_by_least_squares() -> None:
    x, y = datasets.load_diabetes(return_X_y=True)
    x, y = scaled(x), (y - y.mean()) / y.std()
    model = LinearRegression(learning_rate=0.05, epochs=8, batch_size=64)
    with qr.local("rss") as mpc:
        revealed = model.fit(pooled(mpc, x, 8), pooled(mpc, y, 4)).reveal()
    assert furthest(revealed, model.fit_clear(x, y)) < 1e-3
    best = linear_model.LinearRegression().fit(x, y).score(x, y)
    assert 1 - float(((revealed.predict(x) - y) ** 2).sum() / (y**2).sum()) > best - 0.02


@pytest.mark.parametrize("momentum", [0.0, 0.99])
def test_nothing_wraps_at_the_corners(momentum: float) -> None:
    """Features are as large as allowed, and steps exceed every bound; every operation is compared with numpy."""
    x = np.where(RNG.random((6, 2)) < 0.5, -4.0, 4.0)
    y = (x[:, 0] > 0).astype(int)
    model = LogisticRegression(
        classes=2, epochs=3, batch_size=3, learning_rate=20.0, momentum=momentum, weight_bound=100.0
    )
    with qr.local("rss", shadow=True) as mpc:
        revealed = model.fit(pooled(mpc, x, 4), pooled(mpc, y)).reveal()
    assert model.weights_clipped_
    assert furthest(revealed, model.fit_clear(x, y)) < 1e-2
    with qr.local("rss", strict=True) as mpc:
        again = model.fit(pooled(mpc, x, 4), pooled(mpc, y, 1)).reveal()
    assert furthest(revealed, again) < 1e-3


def test_weights_stay_within_their_bound() -> None:
    model = LogisticRegression(classes=2, epochs=4, batch_size=6, learning_rate=2.0, weight_bound=0.5)
    with qr.local("rss") as mpc:
        revealed = model.fit(pooled(mpc, X, 2), pooled(mpc, LABELS)).reveal()
    assert np.abs(revealed.coefs[0]).max() == 0.5
    assert furthest(revealed, model.fit_clear(X, LABELS)) < 1e-3
    short = LogisticRegression(classes=2, epochs=1, batch_size=6, momentum=0.0, learning_rate=0.01)
    with qr.local("rss") as mpc:
        assert not short.fit(pooled(mpc, X, 2), pooled(mpc, LABELS)).weights_clipped_


def test_labels_may_be_bits_or_any_numbers_and_columns_of_a_frame() -> None:
    names = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(names, owner=0, columns={"a": qr.fixed(32, 16), "b": qr.fixed(32, 16)})
        bits = LogisticRegression(batch_size=4, epochs=1, fit_intercept=False)
        with pytest.raises(qr.DtypeError, match="column_stack"):
            bits.fit(frame, mpc.input(LABELS == 1, owner=1))
        x = np.column_stack([frame[name].clip(-2, 2) for name in frame.columns])
        secret = bits.fit(x, mpc.input(LABELS == 1, owner=1))
        assert furthest(secret.reveal(), bits.fit_clear(X[:, :2], LABELS == 1)) < 1e-3
        named = LogisticRegression(classes=[7, 3, 5], batch_size=4, epochs=1)
        labels = np.array([7, 3, 5])[LABELS + (X[:, 0] > 1)]
        secret = named.fit(mpc.input(X, owner=0, bound=2), mpc.input(labels, owner=1))
        wanted = named.fit_clear(X, labels).predict(X)
        assert (secret.predict(mpc.input(X, owner=0, bound=2)).reveal() == wanted).all()
        assert named.classes_.tolist() == [7, 3, 5]


def test_what_it_costs_is_predicted_and_nothing_is_revealed() -> None:
    model = LogisticRegression(classes=2, epochs=2, batch_size=5)
    with qr.local("rss") as mpc:
        x, y = pooled(mpc, X, 2), pooled(mpc, LABELS)
        plan = model.explain(x, y)
        assert [count for count, _ in plan.steps] == [4, 2]
        assert all(reveal.shape == (0,) for _, one in plan.steps for reveal in one.reveals)
        model.fit(x, y)
        stats = mpc.stats()
        sent = max(map(sum, zip(stats.online.bytes_sent, stats.offline.bytes_sent, strict=True)))
        assert plan.bytes_sent == pytest.approx(sent, rel=0.02)
        assert plan.rounds == pytest.approx(stats.online.rounds, rel=0.02)
        assert "6 steps" in str(plan)


def test_parties_of_a_deployment_learn_together(tmp_path: Path) -> None:
    here = Deployment(tmp_path)
    script = here.script(
        """
x = np.random.default_rng(1).uniform(-1, 1, (8, 2))
mine = lambda owner, values, dtype, bound: mpc.input(
    values if mpc.me == owner else None, owner, values.shape, dtype, bound)
X = mpc.concatenate([mine(i, x[4 * i:4 * i + 4], qr.fixed(64, 16), 1) for i in (0, 1)])
y = mpc.concatenate([mine(i, (x[4 * i:4 * i + 4, 0] > 0).astype(int), qr.int(64), 1) for i in (0, 1)])
model = qr.learn.LogisticRegression(classes=2, epochs=2, batch_size=4).fit(X, y)
given = model.reveal(to=2)
clear = model.fit_clear(x, (x[:, 0] > 0).astype(int))
print(mpc.me, None if given is None else np.abs(given.coefs[0] - clear.coefs[0]).max() < 1e-3)
"""
    )
    started = [here.start(me, script) for me in range(3)]
    ended = [party.end() for party in started]
    assert [one.out.strip() for one in ended] == ["0 None", "1 None", "2 True"], ended


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"learning_rate": 1e-9, "alpha": 0.0}, "below 2"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"batch_size": 2.5}, "batch_size must be"),
        ({"random_state": None}, "all parties draw the same order"),
        ({"weight_bound": 0}, "weight_bound must be"),
        ({"fraction_bits": 30}, "fraction_bits must be"),
        ({"classes": [1]}, "two or more different"),
        ({"classes": [1, 1]}, "two or more different"),
        ({"classes": None}, "say which there are"),
    ],
)
def test_schedules_that_make_no_sense_are_refused(options: dict[str, Any], named: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.ConfigError, match=named):
        LogisticRegression(**{"classes": 2, "batch_size": 4, **options}).fit(pooled(mpc, X, 2), pooled(mpc, LABELS))


def test_records_that_do_not_fit_are_refused() -> None:
    model = LogisticRegression(classes=2, batch_size=4)
    with qr.local("rss") as mpc:
        x, y = pooled(mpc, X, 2), pooled(mpc, LABELS)
        with pytest.raises(qr.ConfigError, match="not fitted yet"):
            model.predict(x)
        with pytest.raises(qr.ConfigError, match="not fitted yet"):
            model.reveal()
        with pytest.raises(qr.ShapeError, match="12 records"):
            model.fit(x, y[:-1])
        with pytest.raises(qr.ShapeError, match="more than the 12 records"):
            LogisticRegression(classes=2).fit(x, y)
        with pytest.raises(qr.ShapeError, match="records, features"):
            model.fit(x[0], y)
        with pytest.raises(qr.DtypeError, match="secret array"):
            model.fit(X, y)
        with pytest.raises(qr.DtypeError, match="secret labels"):
            model.fit(x, LABELS)
        with pytest.raises(qr.DtypeError, match="whole numbers or bits"):
            model.fit(x, x[:, 0])
        with pytest.raises(qr.RangeError, match="State how large features are"):
            model.fit(pooled(mpc, X), y)
        with pytest.raises(qr.RangeError, match="State how large features are"):
            model.fit(pooled(mpc, X, dtype=qr.fixed(64, 16)), y)
        with pytest.raises(qr.RangeError, match="NaN"):
            mpc.input([[float("nan")]], owner=0)
        with pytest.raises(qr.RangeError, match="none of the classes"):
            model.fit_clear(X, LABELS + 1)
        model.fit(x, y)
        model.fit_clear(X[:, :1], LABELS)  # which does not change the model
        with pytest.raises(qr.ShapeError, match="2 features"):
            model.predict(x[:, :2])
        with qr.local("rss") as other, pytest.raises(qr.ConfigError, match="another session"):
            model.predict(pooled(other, X, 2))


@pytest.mark.parametrize(
    ("rows", "batch", "rate", "momentum"), [(9, 8, 1.0, 0.999), (33, 32, 0.5, 0.999), (3, 2, 1.0, 0.995)]
)
def test_a_last_batch_of_few_records_is_as_any(rows: int, batch: int, rate: float, momentum: float) -> None:
    """Momentum is rounded alike in both, and the bound on velocities holds for both; `explain` plans both."""
    r = np.random.default_rng(rows)
    x, y = r.uniform(-1, 1, (rows, 2)), r.integers(0, 2, rows)
    model = qr.learn.LogisticRegression(classes=2, learning_rate=rate, momentum=momentum, batch_size=batch, epochs=2)
    with qr.local("rss") as mpc:
        secret = mpc.input(x, owner=0, bound=1.0), mpc.input(y, owner=1)
        model.explain(*secret)
        found = model.fit(*secret).reveal()
    clear = model.fit_clear(x, y)
    assert np.abs(found.coefs[0] - clear.coefs[0]).max() < 1e-2
    with pytest.raises(qr.errors.ConfigError, match="a regression has no probabilities"):
        qr.learn.LinearRegression(batch_size=batch).fit_clear(x, y * 1.0).predict_proba(x)


def test_estimators_are_cloned_as_scikit_learn_clones() -> None:
    models = [
        LogisticRegression([1, 2, 5], epochs=3, momentum=0.5),
        LinearRegression(alpha=0.25, fit_intercept=False),
        qr.learn.MLPClassifier((4, 3), classes=2),
        qr.learn.MLPRegressor(8, error_bound=2.0),
    ]
    for model in models:
        other: Any = clone(model)
        assert type(other) is type(model)
        assert other is not model
        assert other.get_params() == model.get_params(deep=False)
    assert models[0].get_params()["classes"] == [1, 2, 5]
    assert models[0].get_params()["batch_size"] == 32
    with pytest.raises(TypeError, match="unexpected keyword"):
        LinearRegression(epoch=3)  # type: ignore[call-arg]


def test_other_arguments_are_taken_and_what_was_learnt_is_forgotten() -> None:
    model = LinearRegression(epochs=1, batch_size=4)
    with qr.local("rss", check=False) as mpc:
        x, y = mpc.input(X, owner=0, bound=2), mpc.input(NUMBERS, owner=1, bound=4)
        model.fit(x, y)
        for wrong, words in (({"epoch": 2}, "no argument 'epoch'; there are epochs,"), ({"epochs": 0}, "whole number")):
            with pytest.raises(qr.ConfigError, match=words):
                model.set_params(**wrong)
        assert model.set_params() is model
        model.predict(x)
        assert model.set_params(epochs=2, fraction_bits=16) is model
        assert model.get_params() == LinearRegression(epochs=2, batch_size=4, fraction_bits=16).get_params()
        with pytest.raises(qr.ConfigError, match="not fitted"):
            model.predict(x)
        assert model.fit(x, y).n_iter_ == 2


def test_a_session_given_to_an_estimator_is_refused_in_words() -> None:
    model = LogisticRegression(classes=2)
    with qr.local("rss", check=False) as mpc:
        x, y = mpc.input(X, owner=0, bound=2), mpc.input(LABELS, owner=0)
        for ask, words in (
            (lambda: model.fit(mpc, x, y), r"fit takes no session: .*write model\.fit\(X, y\), .*at test_learn.py:"),
            (lambda: model.explain(mpc, x, y), r"model\.explain\(X, y\)"),
            (lambda: model.predict(mpc, x), r"write model\.predict\(X\), with"),
            (lambda: model.predict_proba(mpc, x), r"model\.predict_proba\(X\)"),
        ):
            with pytest.raises(qr.DtypeError, match=words):
                ask()  # type: ignore[no-untyped-call]
