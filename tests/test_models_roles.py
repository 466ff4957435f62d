"""Each party of a deployment declares the same inputs to its session, with values only at their owners."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from quorate._session._object_cache import ObjectCache
from quorate.errors import ModelError, ShapeError
from quorate.models import Shape, from_sklearn
from quorate.tables import Table

MODEL_OWNER, DATA_OWNER, HELPER = 2, 0, 1


class Plain(np.ndarray):
    """A stand-in for a secret array."""

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Plain:  # type: ignore[override]
        return np.asarray(self).astype(np.int64).view(Plain)

    def assert_one_hot(self, axis: int = -1) -> Plain:
        assert (np.asarray(self).sum(axis=axis) <= 1).all()
        return self

    def as_factor(self) -> Plain:
        return self

    def _is_factor(self) -> bool:
        return False

    def topk(self, k: int, axis: int) -> tuple[Plain]:
        return (-np.sort(-self, axis=axis)[:, :k],)

    def reveal(self, to: int | None = None) -> np.ndarray:
        self.revealed_to.append(to)
        return np.asarray(self)

    revealed_to: list[int | None] = []  # noqa: RUF012 - read and emptied by the tests


class Recorder:
    """A stand-in for a session that records declared inputs, and whether values came with them."""

    def __init__(self, me: int | None) -> None:
        self.me, self.is_local = me, me is None
        self._nothing_is_sent = False
        self._object_cache = ObjectCache()
        self._options = SimpleNamespace(max_memory=None)
        self.declared: list[tuple[Any, ...]] = []
        self.given: list[tuple[int, bool]] = []

    def input(self, values: Any, *, owner: int, shape: tuple[int, ...], dtype: Any, bound: Any = None) -> Plain:
        self.declared.append((owner, shape, str(dtype), bound))
        self.given.append((owner, values is not None))
        wide = object if str(dtype) == "int(120)" else None  # decisions of features without stated bounds
        array = np.zeros(shape, wide or np.int64) if values is None else np.array(values, wide)
        assert array.shape == shape
        return array.view(Plain)

    @staticmethod
    def _errors_are_stated() -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @staticmethod
    def reveal_all(*arrays: Plain, to: int | None, units: bool) -> list[np.ndarray]:
        return [array.reveal(to) for array in arrays]

    @staticmethod
    def stack(arrays: list[Plain], axis: int = 0) -> Plain:
        return np.stack(arrays, axis=axis).view(Plain)

    @staticmethod
    def concatenate(arrays: list[Plain], axis: int = 0) -> Plain:
        return np.concatenate(arrays, axis=axis).view(Plain)


CASES: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "complete tree": lambda: trained(DecisionTreeClassifier(random_state=0), load_iris),
    "deep tree": lambda: trained(DecisionTreeClassifier(random_state=0, max_features=1), load_digits),
    "votes": lambda: trained(SVC(kernel="linear"), load_iris),
    "linear": lambda: trained(LogisticRegression(max_iter=500), load_iris),
    "forest": lambda: trained(RandomForestClassifier(5, max_depth=4, random_state=0), load_iris),
    "deep forest": lambda: trained(RandomForestClassifier(5, random_state=0), load_digits),
    "boosting": lambda: trained(GradientBoostingClassifier(n_estimators=3, random_state=0), load_iris),
    "regression": lambda: trained(LinearRegression(), load_iris),
    "forest of numbers": lambda: trained(RandomForestRegressor(3, max_depth=4, random_state=0), load_iris),
    "doubles": lambda: trained(HistGradientBoostingClassifier(max_iter=3), load_iris),
    "network": lambda: trained(MLPClassifier((6,), activation="identity", max_iter=40, random_state=0), load_iris),
    "categories": lambda: trained(make_pipeline(OneHotEncoder(handle_unknown="ignore"), RidgeClassifier()), load_iris),
    "likelihoods": lambda: trained(GaussianNB(var_smoothing=1.0), load_iris),
    "nearest": lambda: trained(KNeighborsClassifier(1), load_iris),
    "nearest numbers": lambda: trained(KNeighborsRegressor(1), load_iris),
    "voters": lambda: trained(
        VotingClassifier([("a", GaussianNB(var_smoothing=1.0)), ("b", SVC(kernel="linear"))]), two
    ),
}


def two(return_X_y: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns two classes of iris."""
    X, y = load_iris(return_X_y=return_X_y)
    return X, y == 1


def trained(estimator: Any, load: Callable[..., Any]) -> tuple[Any, np.ndarray]:
    X, y = load(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y), X[::7]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_local_session_has_everything(case: str) -> None:
    estimator, records = CASES[case]()
    session = Recorder(None)
    Plain.revealed_to.clear()
    predicted = from_sklearn(estimator).predict(session, records, MODEL_OWNER, DATA_OWNER, reveal_to=HELPER)
    assert predicted == pytest.approx(
        estimator.predict(records), abs=1e-6 if case in ("regression", "forest of numbers") else 0
    )
    assert all(given for _, given in session.given)
    assert set(Plain.revealed_to) == {HELPER}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_parties_declare_the_same_and_owners_alone_give_values(case: str) -> None:
    estimator, records = CASES[case]()
    model = from_sklearn(estimator)
    sessions = {me: Recorder(me) for me in (MODEL_OWNER, DATA_OWNER, HELPER)}
    owners = {"model_owner": MODEL_OWNER, "data_owner": DATA_OWNER}
    model.predict(sessions[MODEL_OWNER], None, rows=len(records), **owners)
    model.shape.predict(sessions[DATA_OWNER], records, **owners)
    model.shape.predict(sessions[HELPER], np.empty_like(records), **owners)
    assert len({tuple(s.declared) for s in sessions.values()}) == 1
    for me, session in sessions.items():
        assert len(session.given) >= 3
        assert [given for _, given in session.given] == [owner == me for owner, _ in session.given]


def test_a_party_without_the_records_never_looks_at_what_stands_for_them() -> None:
    estimator, records = CASES["linear"]()
    from_sklearn(estimator).predict(Recorder(MODEL_OWNER), np.full_like(records, np.nan), MODEL_OWNER, DATA_OWNER)


NAMES = ["sl", "sw", "columns", "names"]


def named() -> tuple[Any, Any, Any, np.ndarray]:
    """Returns a model that was fitted on a table, pandas, records, and the tree's predictions."""
    pd = pytest.importorskip("pandas", reason="pandas is among the development requirements: make test installs it")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, y)
    return from_sklearn(fitted), pd, frame[::9], fitted.predict(frame[::9])


def arrow_table(frame: Any) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


def test_records_with_the_models_names_or_without_any() -> None:
    model, pd, records, wanted = named()
    assert model.shape.names == tuple(NAMES)
    assert Shape(**model.shape.describe()) == model.shape
    values = records.to_numpy()
    tables = (records, values, Table(values, tuple(NAMES)), Table(values), arrow_table(records))
    for given in (*tables, pd.DataFrame(values), values.tolist()):
        assert (model.predict(Recorder(None), given) == wanted).all()
        assert (model.predict_clear(given) == wanted).all()
    unnamed = from_sklearn(DecisionTreeClassifier(max_depth=2).fit(values, wanted))
    assert unnamed.shape.names is None
    assert unnamed.predict_clear(records).shape == wanted.shape
    with pytest.raises(ModelError, match="2 names for 4 features"):
        Shape("tree", (0, 1), 4, depth=2, names=("a", "b"))


def test_other_columns_are_named() -> None:
    model, _, records, _ = named()
    values = records.to_numpy()
    for given, words in (
        (records[NAMES[::-1]], "column 0 is 'names' where the model has 'sl'"),
        (arrow_table(records[NAMES[::-1]]), "column 0 is 'names' where the model has 'sl'"),
        (records.rename(columns={"sl": "x"}), "there is no column 'sl'; the model does not know 'x'"),
        (Table(values, ("sw", "sw", "columns", "names")), "there is no column 'sl'"),
    ):
        session = Recorder(None)
        with pytest.raises(ModelError, match=words):
            model.predict(session, given)
        assert not session.declared
        model.predict(Recorder(0), given)  # only the shape is used


def test_sparse_records_say_what_to_do() -> None:
    model, _, records, _ = named()
    with pytest.raises(ShapeError, match=r"X\.toarray\(\)"):
        model.predict(Recorder(None), csr_matrix(records.to_numpy()))


def test_what_is_missing_is_said() -> None:
    estimator, records = CASES["complete tree"]()
    model = from_sklearn(estimator)
    with pytest.raises(ModelError, match="party 2 owns the model"):
        model.shape.predict(Recorder(MODEL_OWNER), records, MODEL_OWNER, DATA_OWNER)
    with pytest.raises(ModelError, match="party 0 owns the records"):
        model.predict(Recorder(DATA_OWNER), None, MODEL_OWNER, DATA_OWNER, rows=3)
    for rows in (None, 0):
        with pytest.raises(ShapeError, match="rows"):
            model.predict(Recorder(MODEL_OWNER), None, MODEL_OWNER, DATA_OWNER, rows=rows)


def test_a_question_without_a_session_says_where_it_goes() -> None:
    """A user may call `predict(X)` as on an estimator."""
    X, y = load_iris(return_X_y=True)
    model = from_sklearn(LogisticRegression(max_iter=1000).fit(X, y), bounds=8)
    for asked in (model, model.shape):
        for question in ("predict", "predict_proba", "decision_function"):
            for first in ((X,), (None, X)):
                with pytest.raises(
                    ModelError, match=rf"{question}: the first argument is a session.*{question}\(mpc, X"
                ):
                    getattr(asked, question)(*first)
