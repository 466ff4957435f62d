"""The integer programs of imported models predict what scikit-learn predicts; no protocol runs here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import SUPPORTED, Model, Shape, from_sklearn
from quorate.models._backend import Clear
from quorate.models._linear import DECISION_BOUND, LinearSecrets, public_bits, vote_matrix
from quorate.models._numerics import (
    ORDERED_BOUND,
    encode_ordered,
    exponent_above,
    quantise,
    round_down_to_float32,
    to_float32,
)
from quorate.models._tree import ring_bits

DATASETS: dict[str, Callable[..., Any]] = {
    "breast_cancer": load_breast_cancer,
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "random tree": lambda: DecisionTreeClassifier(splitter="random", random_state=1),
    "shallow tree": lambda: DecisionTreeClassifier(max_depth=2, random_state=0),
    "LinearSVC": lambda: LinearSVC(random_state=0),
    "LinearSVC without intercept": lambda: LinearSVC(fit_intercept=False, random_state=0),
    "Crammer-Singer": lambda: LinearSVC(multi_class="crammer_singer", max_iter=200, random_state=0),
    "SVC": lambda: SVC(kernel="linear"),
    "LogisticRegression": lambda: LogisticRegression(max_iter=2000),
}


@pytest.fixture(autouse=True)
def _training_need_not_converge() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def margins(estimator: BaseEstimator, X: np.ndarray) -> np.ndarray:
    """Returns how far each record is from a decision that could go the other way, as `Model.margin_bound` counts it."""
    if isinstance(estimator, SVC):
        other = SVC(**{**estimator.get_params(), "decision_function_shape": "ovo"})
        other.__dict__.update({k: v for k, v in estimator.__dict__.items() if k != "decision_function_shape"})
        decisions = np.abs(other.decision_function(X))
        return decisions if decisions.ndim == 1 else decisions.min(axis=1)
    decisions = estimator.decision_function(X)
    if decisions.ndim == 1:
        return np.abs(decisions)
    ordered = np.sort(decisions, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def fit(estimator: Any, X: np.ndarray, y: np.ndarray) -> Any:
    return estimator.fit(X, y)


# ---- encodings ---------------------------------------------------------------------------------------------------

float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(float32s, float32s)
def test_the_encoding_keeps_the_order(a: float, b: float) -> None:
    low, high = encode_ordered(np.array([a, b], np.float32)).tolist()
    assert (low < high, low == high) == (a < b, a == b)
    assert max(abs(low), abs(high)) < ORDERED_BOUND[32] < 2**31


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
@example(-0.0, 0.0)
@example(5e-324, -5e-324)
def test_the_encoding_of_doubles_keeps_the_order(a: float, b: float) -> None:
    low, high = encode_ordered(np.array([a, b])).tolist()
    assert (low < high, low == high) == (a < b, a == b)
    assert max(abs(low), abs(high)) <= ORDERED_BOUND[64] == encode_ordered(np.array([np.inf]))[0]


def test_the_encoding_of_special_values() -> None:
    smallest = np.nextafter(np.float32(0), np.float32(1))
    special = np.array([-np.inf, -np.finfo(np.float32).max, -1, -smallest, -0.0, 0.0, smallest, 1, np.inf], np.float32)
    encoded = encode_ordered(special)
    assert encoded[3:7].tolist() == [-1, 0, 0, 1]
    assert (np.diff(encoded) >= 0).all()
    assert np.abs(encoded).max() == ORDERED_BOUND[32]
    assert encode_ordered(special[::2]).tolist() == encoded[::2].tolist()
    with pytest.raises(RangeError, match="NaN"):
        encode_ordered(np.array([np.nan], np.float32))
    with pytest.raises(TypeError, match="float64"):
        encode_ordered(np.zeros(1, int))


@given(st.floats(allow_nan=False, allow_infinity=False), float32s)
def test_rounding_a_threshold_down_changes_no_comparison(threshold: float, x: float) -> None:
    rounded = round_down_to_float32(np.array([threshold]))
    assert (np.float32(x) <= rounded[0]) == (np.float64(np.float32(x)) <= threshold)
    limit = encode_ordered(rounded)[0]
    assert (encode_ordered(np.array([x], np.float32))[0] <= limit) == (x <= threshold)


@given(float32s)
@example(-float(np.finfo(np.float32).max))
@example(float(np.finfo(np.float32).max))
def test_a_threshold_beside_a_float32_is_rounded_to_the_right_side(x: float) -> None:
    around = np.array([np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf)])
    assert (np.float32(x) <= round_down_to_float32(around)).tolist() == [False, True, True]


def test_exponents_and_quantisation() -> None:
    for magnitude in (1e-300, 0.25, 0.3, 1.0, 4095.0, 4096.0, 4097.0, 1e300):
        exponent = exponent_above(magnitude)
        assert np.ldexp(1.0, exponent - 1) < magnitude <= np.ldexp(1.0, exponent)
    assert quantise(np.array([0.5, 1.5, -0.5, 2.49]), 0).tolist() == [0, 2, 0, 2]
    assert quantise(np.array([0.1, 0.1]), np.array([3, 40])).tolist() == [1, round(0.1 * 2**40)]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39, -1e300])
def test_records_that_float32_cannot_hold(bad: float) -> None:
    with pytest.raises(RangeError, match=r"\(1, 0\)"):
        to_float32([[1.0], [bad]], "records")


def test_a_record_of_words() -> None:
    with pytest.raises(RangeError, match="numbers"):
        to_float32([["high"]], "records")


# ---- real data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("data", DATASETS, ids=str)
@pytest.mark.parametrize("labels", ["numbers", "words"])
def test_predictions_equal_the_estimators(data: str, estimator: str, labels: str) -> None:
    X, y = DATASETS[data](return_X_y=True)
    if labels == "words":
        y = np.array([f"{'zyxwvutsrq'[c]}-{c}" for c in y])
    train, _, y_train, _ = train_test_split(X, y, test_size=0.3, random_state=3)
    fitted = fit(ESTIMATORS[estimator](), train, y_train)
    for bounds in (None, 2 * np.abs(train).max(axis=0)):
        model = from_sklearn(fitted, bounds=bounds)
        predicted = model.predict_clear(X)
        expected = fitted.predict(X)
        assert predicted.dtype == expected.dtype
        assert (predicted != expected).sum() == 0


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if "tree" not in e], ids=str)
@pytest.mark.parametrize("data", DATASETS, ids=str)
def test_the_margin_bound_is_small_where_bounds_are_given(data: str, estimator: str) -> None:
    X, y = DATASETS[data](return_X_y=True)
    fitted = fit(ESTIMATORS[estimator](), X, y)
    model = from_sklearn(fitted, bounds=np.abs(X).max(axis=0))
    assert 0 < model.margin_bound < 1e-4
    assert (margins(fitted, X) > model.margin_bound).all()


def test_a_model_of_float32_weights_allows_for_its_own_rounding() -> None:
    X, y = load_wine(return_X_y=True)
    narrow = X.astype(np.float32)
    fitted = LogisticRegression(max_iter=200).fit(narrow, y)
    assert fitted.coef_.dtype == np.float32
    model = from_sklearn(fitted, bounds=np.abs(X).max(axis=0))
    wide = LogisticRegression(max_iter=200).fit(X, y)
    assert model.margin_bound > 10 * from_sklearn(wide, bounds=np.abs(X).max(axis=0)).margin_bound
    sure = margins(fitted, narrow) > model.margin_bound
    assert sure.mean() > 0.9
    assert (model.predict_clear(narrow) == fitted.predict(narrow))[sure].all()


def test_sparse_training_data_and_weights() -> None:
    X, y = load_digits(return_X_y=True)
    for estimator in (SVC(kernel="linear"), LinearSVC(max_iter=50, random_state=0)):
        fitted = estimator.fit(csr_matrix(X), y)
        if isinstance(fitted, LinearSVC):
            fitted.sparsify()
        assert (from_sklearn(fitted, bounds=16).predict_clear(X) == fitted.predict(X)).all()


def test_float32_records_and_deep_trees() -> None:
    X, y = load_digits(return_X_y=True)
    fitted = DecisionTreeClassifier(random_state=0, max_features=1).fit(X, y)
    assert fitted.get_depth() > 12
    model = from_sklearn(fitted)
    assert (model.shape.depth, model.shape.nodes) == (None, fitted.get_n_leaves() - 1)
    for records in (X.astype(np.float32), X.astype(np.int64), X.tolist()):
        assert (model.predict_clear(records) == fitted.predict(X)).all()


@pytest.mark.parametrize("depth", range(1, 15))
def test_every_depth(depth: int) -> None:
    rng = np.random.default_rng(depth)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 5, 600)
    fitted = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
    model = from_sklearn(fitted)
    assert model.shape.depth == (fitted.get_depth() if depth <= 12 else None)
    fresh = rng.normal(size=(500, 3))
    assert (model.predict_clear(fresh) == fitted.predict(fresh)).all()


def test_a_tree_that_never_asks() -> None:
    fitted = DecisionTreeClassifier().fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    model = from_sklearn(fitted)
    assert model.shape.depth == 1
    assert (model.predict_clear(np.eye(2)) == 1).all()


# ---- drawn data: ties, huge and tiny values ----------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws training records, labels of at least two classes, and records to score, which may be training records."""
    rows, features = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["small integers", "floats", "one scale"]))
    scale = draw(st.sampled_from([1e-30, 1e-5, 1.0, 1e6, 1e30])) if kind == "one scale" else 1.0
    element = float32s if kind == "floats" else st.integers(-3, 3).map(lambda v: v * scale)
    X = draw(hnp.arrays(np.float64, (rows, features), elements=element))
    y = draw(hnp.arrays(np.int64, rows, elements=st.integers(0, draw(st.integers(1, 4)))))
    y[:2] = (0, 1)
    other = draw(hnp.arrays(np.float64, (5, features), elements=element))
    return X, y, np.concatenate([X, other])


@settings(max_examples=50, deadline=None)
@given(tables(), st.integers(0, 3))
def test_drawn_trees(table: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int) -> None:
    X, y, records = table
    splitter = "random" if seed % 2 else "best"
    fitted = DecisionTreeClassifier(splitter=splitter, random_state=seed).fit(X, y)
    assert (from_sklearn(fitted).predict_clear(records) == fitted.predict(records)).all()


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["LinearSVC", "LogisticRegression", "SVC"]))
def test_drawn_linear_models_beyond_the_margin(table: tuple[np.ndarray, np.ndarray, np.ndarray], name: str) -> None:
    X, y, records = table
    if np.abs(records).max() > 1e3:  # trainers do not converge on larger ones; see the next test
        X, records = X / np.abs(records).max(), records / np.abs(records).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = SVC(kernel="linear", max_iter=500) if name == "SVC" else ESTIMATORS[name]().set_params(max_iter=50)
        fitted = fit(estimator, X, y)
    model = from_sklearn(fitted, bounds=np.abs(records).max(axis=0))
    sure = margins(fitted, records) > model.margin_bound
    assert (model.predict_clear(records) == fitted.predict(records))[sure].all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 6), st.sampled_from(["ovr", "votes"]))
def test_drawn_weights_of_any_magnitude(seed: int, classes: int, features: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, features))
    y = np.arange(40) % classes
    fitted = fit(SVC(kernel="linear", max_iter=5) if kind == "votes" else LogisticRegression(max_iter=3), X, y)
    magnitude = 10.0 ** rng.uniform(-12, 12, features)
    records = rng.normal(size=(60, features)) * magnitude
    if kind == "ovr":
        fitted.coef_ = fitted.coef_ * 10.0 ** rng.uniform(-6, 6) / magnitude
        fitted.intercept_ = rng.normal(size=fitted.intercept_.shape) * 10.0 ** rng.uniform(-3, 9)
    model = from_sklearn(fitted, bounds=np.abs(records).max(axis=0))
    sure = margins(fitted, records) > model.margin_bound
    assert (model.predict_clear(records) == fitted.predict(records))[sure].all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 100))
def test_decisions_just_beyond_the_margin_are_right(seed: int, features: int) -> None:
    """The intercept is moved until a record's decision is slightly beyond the bound, on either side."""
    rng = np.random.default_rng(seed)
    fitted = LogisticRegression(max_iter=1).fit(rng.normal(size=(10, features)), np.arange(10) % 2)
    magnitude = 10.0 ** rng.uniform(-6, 6, features)
    record = rng.uniform(-1, 1, (1, features)) * magnitude
    fitted.coef_ = rng.normal(size=(1, features)) / magnitude * 10.0 ** rng.uniform(-6, 6)
    fitted.intercept_ = -(fitted.coef_ @ record[0])
    bound = from_sklearn(fitted, bounds=magnitude).margin_bound
    assert bound < 2.0**-14 * np.abs(fitted.coef_ * magnitude).sum() / np.sqrt(features)
    middle = fitted.intercept_.copy()
    for side in (-1.01, 1.01):
        fitted.intercept_ = middle + side * bound
        assert abs(fitted.decision_function(record)[0]) > (model := from_sklearn(fitted, bounds=magnitude)).margin_bound
        assert model.predict_clear(record) == fitted.predict(record) == (side > 0)


def test_the_encoded_decision_is_as_close_as_the_bound_says() -> None:
    """Compares the integers with exact rational arithmetic, for all decisions of a model with ten classes."""
    X, y = load_digits(return_X_y=True)
    fitted = fit(ESTIMATORS["LinearSVC"](), X[:600], y[:600])
    model = from_sklearn(fitted, bounds=16)
    secrets, shape = model._secrets, model.shape
    assert isinstance(secrets, LinearSecrets) and shape.data_bits
    j, i = np.unravel_index(np.argmax(np.abs(fitted.coef_)), fitted.coef_.shape)
    unit = round(np.log2(abs(int(secrets.weights[j, i]) / fitted.coef_[j, i])))  # a decision of 1, in bits
    unit += shape.data_bits - 4
    for record in X[600:640] + 1e-3:
        integers = [int(v) for v in quantise(record, shape.data_bits - 4)]
        for weights, intercept, row, constant in zip(
            secrets.weights.tolist(), secrets.intercepts.tolist(), fitted.coef_, fitted.intercept_, strict=True
        ):
            computed = sum(w * x for w, x in zip(weights, integers, strict=True)) + intercept
            exact = sum(Fraction(w) * Fraction(x) for w, x in zip(row, record, strict=True)) + Fraction(constant)
            assert abs(Fraction(computed, 2**unit) - exact) < Fraction(model.margin_bound) / 2


# ---- ties, as each library breaks them ---------------------------------------------------------------------------


def test_a_decision_of_exactly_zero() -> None:
    X, y, middle = np.array([[-1.0], [1.0]]), np.array([3, 7]), np.array([[0.0]])
    for fitted in (SVC(kernel="linear").fit(X, y), LinearSVC(fit_intercept=False).fit(X, y)):
        assert fitted.decision_function(middle)[0] == 0
        assert from_sklearn(fitted).predict_clear(middle) == fitted.predict(middle)
    logistic = LogisticRegression(fit_intercept=False).fit(X, y)
    assert from_sklearn(logistic).predict_clear(middle) == logistic.predict(middle) == [3]


def test_equal_votes_and_equal_decisions_go_to_the_first() -> None:
    angles = 2 * np.pi * np.arange(3) / 3
    X = np.repeat(np.stack([np.cos(angles), np.sin(angles)], axis=1), 4, axis=0)
    y = np.repeat([5, 1, 3], 4)
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)), axis=-1).reshape(-1, 2)
    fitted = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    model = from_sklearn(fitted, bounds=1)
    sure = margins(fitted, grid) > model.margin_bound
    assert (model.predict_clear(grid) == fitted.predict(grid))[sure].all()
    assert sure.sum() > 1000
    logistic = LogisticRegression().fit(X, y)
    logistic.coef_, logistic.intercept_ = np.ones((3, 2)), np.zeros(3)
    assert (from_sklearn(logistic).predict_clear(grid) == logistic.predict(grid)).all()


def test_votes_that_go_in_a_circle() -> None:
    """Pairs (0, 1), (0, 2), (1, 2) are won by 0, 2, 1: one vote each, and the first class wins."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), np.arange(90) % 3
    records = rng.normal(size=(4000, 6))
    fitted = SVC(kernel="linear").fit(X, y)
    wins = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y).decision_function(records) > 0
    circles = (wins == (True, False, True)).all(axis=1) | (wins == (False, True, False)).all(axis=1)
    assert circles.sum() > 10
    predicted = from_sklearn(fitted, bounds=10).predict_clear(records)
    assert (predicted == fitted.predict(records)).all()
    assert (predicted[circles] == 0).all()


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree", "LinearSVC", "SVC", "LogisticRegression"])
def test_an_unfitted_estimator(name: str) -> None:
    with pytest.raises(ModelError, match="not fitted; call fit"):
        from_sklearn(ESTIMATORS[name]())


def test_estimators_that_are_not_supported() -> None:
    class Contrarian(LogisticRegression):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return super().predict(X)[::-1]

    for estimator in (HistGradientBoostingClassifier(), Contrarian(), 3, LinearSVC):
        with pytest.raises(ModelError) as caught:
            from_sklearn(estimator)
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        assert name in str(caught.value)
    with pytest.raises(ModelError) as caught:
        from_sklearn(object())
    assert all(name in str(caught.value) for name in SUPPORTED)


def test_kernels_and_options_of_svc() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelError, match="rbf"):
        from_sklearn(SVC().fit(X, y))
    with pytest.raises(ModelError, match="break_ties"):
        from_sklearn(SVC(kernel="linear", break_ties=True).fit(X, y))


def test_one_class_and_many_outputs() -> None:
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ModelError, match="only the class"):
        from_sklearn(DecisionTreeClassifier().fit(X, [4, 4, 4]))
    with pytest.raises(ModelError, match="2 outputs"):
        from_sklearn(DecisionTreeClassifier().fit(X, [[0, 1], [1, 0], [1, 1]]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_parameters_that_are_not_finite(bad: float) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = LogisticRegression(max_iter=10).fit(X, y)
    fitted.coef_[0, 0] = bad
    with pytest.raises(ModelError, match="not finite"):
        from_sklearn(fitted)
    holes = np.array([[0.0], [0.0], [np.nan], [np.nan]])
    with pytest.raises(ModelError, match="trained with missing values: impute them"):
        from_sklearn(DecisionTreeClassifier().fit(holes, [0, 0, 1, 1]))
    filled = np.nan_to_num(holes, nan=9.0)
    assert from_sklearn(DecisionTreeClassifier().fit(filled, [0, 0, 1, 1])).predict_clear(filled).tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_bounds_and_tolerance() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = LogisticRegression(max_iter=200).fit(X, y)
    for bad in (-1.0, np.nan, [1.0, 2.0], "wide", 1e300):
        with pytest.raises(ModelError, match="bounds"):
            from_sklearn(fitted, bounds=bad)
    with pytest.raises(ModelError, match="tighter bounds"):
        from_sklearn(fitted, bounds=8192, tolerance=1e-5)
    assert from_sklearn(fitted, tolerance=1e-5).margin_bound < 1e-9
    assert from_sklearn(fitted, bounds=8, tolerance=1e-5).shape.scales == (3, 3, 3, 3)


def test_records_that_do_not_fit() -> None:
    X, y = load_iris(return_X_y=True)
    tree, linear = from_sklearn(DecisionTreeClassifier().fit(X, y)), from_sklearn(LogisticRegression().fit(X, y))
    for model in (tree, linear):
        for wrong in (X[0], X[:, :3], X[:0], X[None]):
            with pytest.raises(ShapeError, match=r"\(records, 4\)"):
                model.predict_clear(wrong)
        for bad in (np.nan, np.inf, 1e39):
            with pytest.raises(RangeError):
                model.predict_clear(np.full((2, 4), bad))
    with pytest.raises(RangeError, match=r"8193.0 at record 0, feature 0.*bounds="):
        linear.predict_clear(np.full((2, 4), 8193.0))


def test_a_model_does_not_print_its_secrets() -> None:
    X, y = load_iris(return_X_y=True)
    model = from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, y))
    assert "threshold" not in repr(model) and "array" not in repr(model)
    assert "array" not in repr(model._secrets)


# ---- shapes ------------------------------------------------------------------------------------------------------


def test_shapes_go_through_plain_values() -> None:
    X, y = load_iris(return_X_y=True)
    for name, make in ESTIMATORS.items():
        shape = from_sklearn(fit(make(), X, y)).shape
        assert Shape(**shape.describe()) == shape, name


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "bush"}, "kind"),
        ({"classes": (1,)}, "at least two"),
        ({"features": 0}, "0 features"),
        ({"depth": None}, "either a depth"),
        ({"nodes": 9}, "either a depth"),
        ({"depth": 13}, "13"),
        ({"depth": None, "nodes": 0}, "0 nodes"),
        ({"kind": "linear"}, "scales"),
        ({"kind": "votes", "scales": (1, 2, 3)}, "data_bits"),
        ({"kind": "votes", "scales": (1, 2, 3), "data_bits": 61, "weight_bits": 58}, "119 bits"),
        ({"kind": "votes", "scales": (1, 2, 3), "data_bits": 62, "weight_bits": 9}, "119 bits"),
        (
            {"kind": "neighbors", "scales": (1, 2, 3), "data_bits": 40, "weight_bits": 30, "points": 3, "neighbors": 1},
            "63",
        ),
    ],
)
def test_shapes_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"kind": "tree", "classes": (0, 1), "features": 3, "depth": 4}
    Shape(**good)
    with pytest.raises(ModelError, match=message):
        Shape(**{**good, **fields})


def test_decisions_fit_the_ring() -> None:
    for features in range(1, 3000):
        for known in (False, True):
            data_bits, weight_bits = public_bits(features, known)
            assert min(data_bits, weight_bits) >= 20
            largest_sum = features * 2 ** (data_bits + weight_bits)
            largest_intercept = 2 ** ((features - 1).bit_length() + data_bits + weight_bits)
            assert largest_sum + largest_intercept - 1 < DECISION_BOUND
        data_bits, weight_bits = public_bits(features, False, wide=True)
        assert data_bits == 61 and 40 < weight_bits <= 61
        assert 2 << ((features - 1).bit_length() + data_bits + weight_bits) <= 1 << 118
    assert Shape("votes", range(5), 1, scales=(0,), data_bits=9, weight_bits=9).decisions == 10


def test_what_range_analysis_finds_fits_the_ring() -> None:
    for features in range(1, 3000):
        for bits, bound in ORDERED_BOUND.items():
            assert (features + 1) * bound < 1 << (ring_bits(features, bits) - 1)


def test_every_pair_gives_one_vote() -> None:
    for classes in range(2, 12):
        matrix, offset = vote_matrix(classes)
        wins = np.random.default_rng(classes).integers(0, 2, (50, len(matrix)))
        votes = wins @ matrix + offset
        assert (votes.sum(axis=1) == len(matrix)).all()
        assert votes.min() >= 0 and votes.max() <= classes - 1


@given(
    hnp.arrays(np.int64, st.tuples(st.integers(0, 4), st.integers(1, 3)), elements=st.integers(-1, 2)), st.booleans()
)
def test_products_with_rows_that_select_are_products(left: np.ndarray, is_one_hot: bool) -> None:
    if is_one_hot:
        left = np.eye(left.shape[1], dtype=np.int64)[left.argmax(axis=1)]
    right = np.arange(-5, left.shape[1] * 4 - 5).reshape(4, -1).T
    product = Clear().product(left, right, 1000)
    assert product.dtype == right.dtype
    assert np.array_equal(product, left @ right)


def test_the_clear_backend_checks_the_bounds_that_programs_state() -> None:
    on = Clear()
    assert on.integers([3, -4], 0, (2,), 4, 4).tolist() == [3, -4]
    with pytest.raises(RangeError, match="exceeds"):
        on.integers([3, -5], 0, (2,), 4, 4)
    with pytest.raises(RangeError, match="does not fit"):
        on.integers([3], 0, (1,), 4, 8)
    with pytest.raises(RangeError, match="exceeds"):
        on.product(np.full((1, 2), 3), np.full((2, 1), 3), 17)


def test_models_are_what_the_package_says() -> None:
    assert isinstance(from_sklearn(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])), Model)
