"""Categories and squares, which the records' owner computes of a record before it is input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import quorate as qr
from protocols import USUAL, Place, among
from quorate.models import Shape, from_sklearn

RNG = np.random.default_rng(0)
RECORDS = np.empty((200, 4), object)
RECORDS[:, 0] = RNG.choice(["red", "blue", "green", "mauve"], 200, p=[0.4, 0.4, 0.18, 0.02])
RECORDS[:, 1] = RNG.normal(3, 2, 200).round(2)
RECORDS[:, 2] = RNG.choice([1, 2, 5], 200)
RECORDS[:, 3] = RNG.normal(0, 1, 200)
TARGETS = ((RECORDS[:, 0] == "red") * 1.0 + RECORDS[:, 1].astype(float) * 0.3 - (RECORDS[:, 2] == 2) > 1).astype(int)

ENCODERS: dict[str, Callable[[], Any]] = {
    "all": OneHotEncoder,
    "first left out": lambda: OneHotEncoder(drop="first", sparse_output=False),
    "unknown ignored": lambda: OneHotEncoder(handle_unknown="ignore"),
    "unknown are rare": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20),
    "unknown, all are rare": lambda: OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=1),
    "rare together, first left out": lambda: OneHotEncoder(min_frequency=20, drop="first"),
    "behind an imputer": lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    "before a selection": lambda: make_pipeline(OneHotEncoder(), SelectKBest(k=4)),
}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "logistic": LogisticRegression,
    "ridge": Ridge,
    "network": lambda: MLPClassifier((6,), max_iter=20, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(4, max_depth=5, random_state=0),
}


def fitted(encoder: str, estimator: str) -> Any:
    numbers = "passthrough" if estimator in ("tree", "forest") else StandardScaler()
    columns = ColumnTransformer([("codes", ENCODERS[encoder](), [0, 2]), ("numbers", numbers, [1, 3])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(columns, ESTIMATORS[estimator]()).fit(RECORDS, TARGETS)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_categories_are_encoded_as_the_pipeline_does(encoder: str, estimator: str) -> None:
    pipeline, records = fitted(encoder, estimator), RECORDS.copy()
    model = from_sklearn(pipeline)
    if encoder.startswith("unknown"):
        records[:9, 0], records[5:14, 2] = "puce", 7
    given, wanted = model.predict_clear(records), pipeline.predict(records)
    if estimator == "ridge":
        assert np.abs(given - wanted).max() <= model.margin_bound <= 1e-6
    else:
        assert (given == wanted).all()
    assert Shape(**model.shape.describe()) == model.shape
    if not encoder.startswith("unknown"):
        records[3, 0] = "puce"
        with pytest.raises(qr.RangeError, match=r"'puce' at record 3, feature 0, is none of .*'blue', 'green'"):
            model.predict_clear(records)


@pytest.mark.parametrize("place", USUAL, ids=str)
@pytest.mark.parametrize("estimator", ["logistic", "tree"])
def test_categories_on_every_family(estimator: str, place: Place) -> None:
    pipeline = fitted("all", estimator)
    model = from_sklearn(pipeline, sample=RECORDS)
    with among(place) as mpc:
        assert (model.predict(mpc, RECORDS[:3]) == pipeline.predict(RECORDS[:3])).all()


def test_what_is_public_of_categories() -> None:
    """All categories are public, as columns. Features that are only categories are no numbers, and have no bound."""
    shape = from_sklearn(fitted("all", "logistic"), bounds=[0, 16, 0, 4]).shape
    assert shape.features == 4 and shape.width == 9
    assert shape.columns is not None and shape.columns[:4] == (
        (1, ("value",)), (3, ("value",)), (0, ("in", "blue")), (0, ("in", "green"))
    )  # fmt: skip
    assert shape.known == ((0, ("blue", "green", "mauve", "red")), (2, (1, 2, 5)))
    assert shape.scales == (4, 2, *[0] * 7)
    too_large = RECORDS[:2].copy()
    too_large[1, 1] = 17.0
    with pytest.raises(qr.RangeError, match=r"17.0 at record 1, feature 1, exceeds"):
        from_sklearn(fitted("all", "logistic"), bounds=[0, 16, 0, 4]).predict_clear(too_large)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            lambda: make_pipeline(StandardScaler(), OneHotEncoder(handle_unknown="ignore")),
            "OneHotEncoder behind steps that change features",
        ),
        (lambda: OneHotEncoder(handle_unknown="ignore"), r"a category nan is not supported"),
    ],
)
def test_what_is_not_encoded_says_so(steps: Callable[[], Any], message: str) -> None:
    X = np.array([[1.0], [2.0], [np.nan], [2.0]])
    with pytest.raises(qr.ModelError, match=message):
        from_sklearn(make_pipeline(steps(), LogisticRegression()).fit(X, [0, 1, 0, 1]))


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": [(9, ("value",))]},
        {"columns": [(0, ("cube",))]},
        {"columns": [(0, ("in",))]},
        {"columns": []},
        {"columns": 5},
        {"columns": [5]},
        {"columns": [("x", ("value",))]},
        {"columns": [(0, ("in", [1, 2]))]},
        {"columns": [(0, ("in", None))]},
        {"known": [(3, (1,))], "columns": [(0, ("value",))]},
    ],
)
def test_shapes_of_no_columns_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(qr.ModelError, match="this is not the shape of a model"):
        Shape("linear", classes=(0, 1), features=2, scales=(0,), data_bits=9, weight_bits=9, **fields)


def behind(encoder: Any, records: np.ndarray = RECORDS) -> Any:
    """An encoder of features 0 and 2, before a logistic regression."""
    columns = ColumnTransformer([("codes", encoder, [0, 2]), ("numbers", StandardScaler(), [1, 3])])
    return make_pipeline(columns, LogisticRegression()).fit(records, TARGETS)


def test_records_in_lists_keep_their_numbers() -> None:
    """numpy makes texts of such lists, and no text equals a category that is a number."""
    pipeline = behind(OneHotEncoder(handle_unknown="ignore"))
    model = from_sklearn(pipeline, sample=RECORDS.tolist())
    assert (model.predict_clear(RECORDS.tolist()) == pipeline.predict(RECORDS.tolist())).all()


@pytest.mark.parametrize("missing", [None, np.nan, pytest.param("NA", id="pandas.NA")])
def test_missing_categories_are_refused(missing: Any) -> None:
    """The imputer fills them in; an encoder alone makes zeros of them."""
    if missing == "NA":
        missing = pytest.importorskip("pandas", reason="pandas is among the development requirements").NA
    records = RECORDS[:9].copy()
    records[4, 2] = missing
    imputer = SimpleImputer(strategy="most_frequent")
    for encoder in (make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore")), OneHotEncoder()):
        with pytest.raises(qr.RangeError, match="at record 4, feature 2; impute or drop"):
            from_sklearn(behind(encoder)).predict_clear(records)


def test_values_that_are_no_categories_are_refused() -> None:
    records = RECORDS[:9].copy()
    records[4, 2] = "2"  # an imputer of medians makes a number of it, and an encoder an unknown value
    with pytest.raises(qr.RangeError, match="'2' at record 4, feature 2, is a text; categories are numbers"):
        from_sklearn(behind(OneHotEncoder(handle_unknown="ignore"))).predict_clear(records)
    records[4, 0] = ["red"]
    with pytest.raises(qr.RangeError, match=r"\['red'\] at record 4, feature 0, is no text"):
        from_sklearn(behind(OneHotEncoder(handle_unknown="ignore"))).predict_clear(records)


def test_unknown_ones_are_rare_with_a_warning() -> None:
    """Warns as scikit-learn does, and only where it does."""
    try:
        pipeline = behind(OneHotEncoder(handle_unknown="warn", min_frequency=55))
    except ValueError:
        pytest.skip("this scikit-learn has no handle_unknown='warn'")
    records = RECORDS.copy()
    records[:90, 0] = "puce"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = pipeline.predict_proba(records)
    with qr.local("rss") as mpc:
        assert np.abs(from_sklearn(pipeline).predict_proba(mpc, records[::9]) - wanted[::9]).max() < 1e-3


def test_categories_beyond_doubles() -> None:
    X = np.array([[2**53 + 1], [2**53], [2**53 + 2]] * 20)
    pipeline = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X, [0, 1, 0] * 20)
    assert (from_sklearn(pipeline).predict_clear(X) == pipeline.predict(X)).all()


def test_every_encoder_of_a_feature_refuses() -> None:
    few, more = ["blue", "green", "mauve", "red"], ["blue", "green", "mauve", "red", "puce"]
    encoders = [("few", OneHotEncoder(categories=[few]), [0]), ("more", OneHotEncoder(categories=[more]), [0])]
    records = RECORDS.copy()
    records[3, 0] = "puce"
    for order in (encoders, encoders[::-1]):
        pipeline = make_pipeline(ColumnTransformer(order), LogisticRegression()).fit(RECORDS, TARGETS)
        with pytest.raises(qr.RangeError, match="'puce' at record 3, feature 0, is none of"):
            from_sklearn(pipeline).predict_clear(records)


def test_what_a_selection_leaves_out_stays_secret() -> None:
    """Feature 2 is a category and a number: its columns do not show which of both was taken."""
    columns = ColumnTransformer([("codes", OneHotEncoder(), [2]), ("numbers", "passthrough", [1, 2, 3])])
    shapes = []
    for k in (1, 5):
        pipeline = make_pipeline(columns, SelectKBest(k=k), LogisticRegression()).fit(RECORDS, TARGETS)
        with pytest.raises(qr.RangeError, match="feature 0: not a"):  # no step uses it, and it has to be a number, too
            from_sklearn(pipeline, bounds=8).predict_clear(RECORDS)
        shapes.append(from_sklearn(pipeline, bounds=8).shape)
    assert shapes[0] == shapes[1]


def test_categories_without_columns_are_no_numbers() -> None:
    records = RECORDS.copy()
    records[:, 0] = "red"
    pipeline = behind(OneHotEncoder(drop="first"), records)
    assert (from_sklearn(pipeline).predict_clear(records) == pipeline.predict(records)).all()


# ---- squares -----------------------------------------------------------------------------------------------------

BAYES: dict[str, Callable[[], Any]] = {
    "alone": GaussianNB,
    "scaled": lambda: make_pipeline(MinMaxScaler((-2, 1)), GaussianNB()),
    "selected": lambda: make_pipeline(StandardScaler(), SelectKBest(k=3), GaussianNB()),
}
TABLES = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("name", BAYES)
def test_likelihoods_are_linear_in_records_and_squares(name: str, data: str) -> None:
    X, y = TABLES[data](return_X_y=True)
    estimator = BAYES[name]().fit(X, y)
    model = from_sklearn(estimator, sample=X)
    assert model.shape.width == 2 * X.shape[1] and model.margin_bound < 0.005
    assert (model.predict_clear(X) == estimator.predict(X)).all()
    with qr.local("rss") as mpc:
        some = X[::29]
        given, wanted = model.predict_proba(mpc, some), estimator.predict_proba(some)
        assert np.abs(given - wanted).max() <= model.margin_bound
        with pytest.raises(qr.RangeError, match="feature 0, exceeds"):
            model.predict(mpc, np.where(np.arange(X.shape[1]) == 0, 1e5, X[:1]))


def test_likelihoods_of_categories() -> None:
    columns = ColumnTransformer(
        [("codes", OneHotEncoder(sparse_output=False), [0]), ("as they are", "passthrough", [3])]
    )
    estimator = make_pipeline(columns, GaussianNB(var_smoothing=1e-3)).fit(RECORDS, TARGETS)
    model = from_sklearn(estimator, bounds=16)
    assert (model.predict_clear(RECORDS) == estimator.predict(RECORDS)).all()
    assert model.shape.columns is not None and model.shape.columns[-1] == (3, ("square",))


def test_likelihoods_that_cannot_be_told_apart_are_refused() -> None:
    X, y = load_digits(return_X_y=True)
    with pytest.raises(qr.ModelError, match=r"apart to .* only, .*bounds=.*var_smoothing"):
        from_sklearn(GaussianNB().fit(X, y), sample=X)
    smooth = GaussianNB(var_smoothing=0.01).fit(X, y)
    assert (from_sklearn(smooth, bounds=16).predict_clear(X) == smooth.predict(X)).all()
    for estimator in (smooth, KNeighborsClassifier().fit(X, y)):
        for bounds in ([1, 2], "x", -1):
            with pytest.raises(qr.ModelError, match="bounds"):
                from_sklearn(estimator, bounds=bounds)
    with pytest.raises(qr.ModelError, match="mix features"):
        from_sklearn(make_pipeline(PCA(2), GaussianNB()).fit(X, y))
