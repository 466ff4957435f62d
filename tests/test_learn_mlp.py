"""Networks with hidden layers that learn from secrets, against the same schedule in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import datasets

import quorate as qr
from protocols import FORMS, USUAL, Place, among
from quorate.learn import MLPClassifier, MLPRegressor
from test_learn import LABELS, NUMBERS, X, furthest, pooled, scaled


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_every_protocol_learns_what_numpy_learns(place: Place) -> None:
    model = MLPClassifier((4,), classes=2, epochs=1, batch_size=6, learning_rate=0.25, alpha=0.01)
    with among(place, check=True) as mpc:
        revealed = model.fit(pooled(mpc, X, 2), pooled(mpc, LABELS)).reveal()
        assert furthest(revealed, model.fit_clear(X, LABELS)) < 1e-3
        found = model.predict_proba(mpc.input(X[:4], owner=0, bound=2)).reveal()
        assert np.allclose(found, revealed.predict_proba(X[:4]), atol=1e-3)
        assert [w.shape for w in model.coefs_] == [(3, 4), (4, 1)]


@pytest.mark.parametrize("activation", ["tanh", "logistic", "identity"])
@pytest.mark.parametrize("model", [MLPClassifier, MLPRegressor])
def test_activations_and_layers(model: Any, activation: str) -> None:
    given = {"classes": 3} if model is MLPClassifier else {"error_bound": 0.5}
    y = LABELS + (X[:, 0] > 1) if model is MLPClassifier else NUMBERS
    one = model((4, 3), activation=activation, epochs=2, batch_size=5, learning_rate=0.25, weight_bound=2.0, **given)
    with qr.local("rss") as mpc:
        revealed = one.fit(pooled(mpc, X, 2), pooled(mpc, y, 4)).reveal()
        assert furthest(revealed, one.fit_clear(X, y)) < 1e-3
        assert np.abs(one.predict(pooled(mpc, X, 2)).reveal() - revealed.predict(X)).max() < 1e-3


def test_digits_are_learnt_as_in_the_clear() -> None:
    x, y = datasets.load_digits(return_X_y=True)
    x, y = x[:500] / 16, y[:500]
    model = MLPClassifier((16,), classes=10, epochs=3, batch_size=50, learning_rate=0.2)
    with qr.local("rss") as mpc:
        revealed, clear = model.fit(pooled(mpc, x, 1), pooled(mpc, y)).reveal(), model.fit_clear(x, y)
    assert furthest(revealed, clear) < 5e-3
    right, wanted = (float((m.predict(x) == y).mean()) for m in (revealed, clear))
    assert right > 0.85
    assert abs(right - wanted) <= 0.004


def test_numbers_are_learnt_as_in_the_clear() -> None:
    x, y = datasets.load_diabetes(return_X_y=True)
    x, y = scaled(x), (y - y.mean()) / y.std()
    model = MLPRegressor((8,), epochs=2, batch_size=64, learning_rate=0.05)
    with qr.local("rss") as mpc:
        revealed = model.fit(pooled(mpc, x, 8), pooled(mpc, y, 4)).reveal()
    assert furthest(revealed, model.fit_clear(x, y)) < 2e-3


def test_nothing_wraps_at_the_corners() -> None:
    """Features are as large as allowed, and steps exceed every bound; every operation is compared with numpy."""
    x = np.where(np.random.default_rng(2).random((4, 2)) < 0.5, -4.0, 4.0)
    y = np.array([0, 1, 1, 0])
    model = MLPClassifier((3,), classes=2, epochs=2, batch_size=2, learning_rate=50.0, momentum=0.99, weight_bound=16.0)
    with qr.local("rss", shadow=True) as mpc:
        revealed = model.fit(pooled(mpc, x, 4), pooled(mpc, y)).reveal()
    assert model.weights_clipped_
    assert np.abs(revealed.coefs[0]).max() == 16.0
    with qr.local("rss", strict=True) as mpc:
        again = model.fit(pooled(mpc, x, 4), pooled(mpc, y, 1)).reveal()
    assert furthest(revealed, again) == 0.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: MLPClassifier((), classes=2), "hidden_layer_sizes"),
        (lambda: MLPClassifier((0,), classes=2), "hidden_layer_sizes"),
        (lambda: MLPClassifier((2,), classes=2, activation="gelu"), "activation must be one of"),
        (lambda: MLPRegressor((2,), error_bound=0), "error_bound must be"),
    ],
)
def test_networks_that_make_no_sense_are_refused(make: Any, named: str) -> None:
    with pytest.raises(qr.ConfigError, match=named):
        make()


def test_what_is_not_proven_to_fit_is_refused() -> None:
    model = MLPClassifier((64, 64), classes=2, batch_size=4, weight_bound=100.0)
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match="the sums of layer 2 may leave"):
        model.fit(pooled(mpc, X, 2), pooled(mpc, LABELS))
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match="initial weights up to"):
        MLPClassifier((4,), classes=2, batch_size=4, weight_bound=0.01).fit(pooled(mpc, X, 2), pooled(mpc, LABELS))


def test_numbers_whose_difference_may_wrap_are_refused_though_it_is_clipped() -> None:
    """A y without bounds may be as large as the dtype holds, and a score is added to it."""
    with qr.local("rss") as mpc:
        x = mpc.input(np.ones((4, 2)), owner=0, bound=1.0)
        for y in (
            mpc.input(np.full(4, -(2.0**43) + 1), owner=1, dtype=qr.fixed(64, 20)),
            mpc.input(np.full(4, 1 << 50), owner=1, dtype=qr.int(64)),
        ):
            with pytest.raises(qr.RangeError, match=r"the difference of outputs and y may leave|does not hold"):
                qr.learn.MLPRegressor((2,), batch_size=4, epochs=1).fit(x, y)
        assert mpc.stats().online.rounds == 0
