"""Wrong input raises the right exception before anything is sent: what, where, and what to do."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as qr

HERE = Path(__file__).name


@pytest.fixture
def mpc() -> Iterator[qr.Session]:
    """A session that must work after the error as before, and must not have sent anything because of it."""
    with qr.local("rss", parties=3) as session:
        x = session.input([1, 2], owner=0)
        before = x.reveal()
        sent = session.stats()
        yield session
        after = session.stats()
        assert (after.online.bytes_sent, after.offline.bytes_sent) == (sent.online.bytes_sent, sent.offline.bytes_sent)
        assert ((x * x).reveal() == before * before).all()


def refused(kind: type[BaseException], builtin: type[BaseException], call: Callable[[], Any], *words: str) -> str:
    """Checks the exception's classes and the words in its message; returns the message."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, builtin)
    message = str(caught.value)
    for word in words:
        assert re.search(word, message), f"{word!r} is not in {message!r}"
    return message


def located(kind: type[BaseException], builtin: type[BaseException], call: Callable[[], Any], *words: str) -> None:
    """Checks the exception as `refused` does, and that the message names the line of this file."""
    message = refused(kind, builtin, call, *words)
    line = call.__code__.co_firstlineno
    assert f"at {HERE}:{line}" in message, f"no line {line} in {message!r}"


# ---- inputs --------------------------------------------------------------------------------------------------------

BAD_VALUES: dict[str, tuple[Any, dict[str, Any], type[Exception], type[Exception], str]] = {
    "ragged": ([[1, 2], [3]], {}, qr.ShapeError, ValueError, "equally long"),
    "ragged, deep": ([[[1], [2, 3]]], {}, qr.ShapeError, ValueError, "equally long"),
    "text": (["a", "b"], {}, qr.DtypeError, TypeError, "integers, reals or booleans"),
    "complex": ([1j], {}, qr.DtypeError, TypeError, "complex128"),
    "objects": ([object()], {}, qr.DtypeError, TypeError, "integers, reals or booleans"),
    "a date": (np.array(["2020-01-01"], "datetime64[D]"), {}, qr.DtypeError, TypeError, "not numbers"),
    "NaN": ([1.0, np.nan], {}, qr.RangeError, ValueError, r"index 1\) is not a finite"),
    "infinity": ([np.inf], {}, qr.RangeError, ValueError, "not a finite"),
    "-infinity": ([[1.0], [-np.inf]], {}, qr.RangeError, ValueError, "not a finite"),
    "too large": ([128], {"dtype": qr.int(8)}, qr.RangeError, ValueError, "128.*int.8.*qr.int.16"),
    "too small": ([-129], {"dtype": qr.int(8)}, qr.RangeError, ValueError, "-129.*int.8"),
    "beyond fixed": ([1e9], {"dtype": qr.fixed(32, 8)}, qr.RangeError, ValueError, "fixed.32, 8"),
    "beyond 64 bits": ([2**63], {}, qr.RangeError, ValueError, "64 bits"),
    "far beyond 64 bits": ([2**70], {}, qr.RangeError, ValueError, "64 bits"),
    "unsigned": (np.array([2**64 - 1], np.uint64), {}, qr.RangeError, ValueError, "64 bits"),
    "beyond the bound": ([5, -7], {"bound": 6}, qr.RangeError, ValueError, "-7.*bound"),
    "reals as integers": ([1.5], {"dtype": qr.int(8)}, qr.DtypeError, TypeError, "qr.fixed"),
    "reals as bits": ([1.0], {"dtype": qr.bit}, qr.DtypeError, TypeError, "bit"),
    "2 as a bit": ([0, 2], {"dtype": qr.bit}, qr.RangeError, ValueError, "0 or 1"),
    "numpy's dtype": ([1], {"dtype": np.int32}, qr.DtypeError, TypeError, r"qr\.int\(k\)"),
    "bound of words": ([1], {"bound": "6"}, qr.RangeError, ValueError, "bound"),
    "negative bound": ([1], {"bound": -1}, qr.RangeError, ValueError, "bound"),
    "NaN bound": ([1], {"bound": float("nan")}, qr.RangeError, ValueError, "bound"),
    "bound beyond the dtype": ([1], {"bound": 1000, "dtype": qr.int(8)}, qr.RangeError, ValueError, "bound"),
    "another shape": ([1, 2], {"shape": (3,)}, qr.ShapeError, ValueError, r"\(2,\).*\(3,\)"),
    "negative shape": ([1, 2], {"shape": (-2,)}, qr.ShapeError, ValueError, "shape"),
    "nothing": (None, {}, qr.ConfigError, ValueError, "give its values"),
}


@pytest.mark.parametrize("case", BAD_VALUES)
def test_values(mpc: qr.Session, case: str) -> None:
    values, more, kind, builtin, words = BAD_VALUES[case]
    located(kind, builtin, lambda: mpc.input(values, owner=1, **more), words)


@pytest.mark.parametrize("owner", [3, 7, -1, None, "1", 1.0, True, 2**70], ids=repr)
def test_owners(mpc: qr.Session, owner: Any) -> None:
    located(qr.ConfigError, ValueError, lambda: mpc.input([1], owner=owner), "owner|party")


def test_a_refused_input_leaves_no_trace(mpc: qr.Session) -> None:
    with pytest.raises(qr.RangeError):
        mpc.input([300], owner=0, dtype=qr.int(8))
    after = mpc.input([3], owner=0, dtype=qr.int(8))
    assert after._node == newest(mpc) - 1


def newest(mpc: qr.Session) -> int:
    """Returns the number of nodes of the session's program, which is that of the next one."""
    return mpc.constant(12345)._node


def test_secrets_are_no_input(mpc: qr.Session) -> None:
    x = mpc.input([1], owner=0)
    located(qr.DtypeError, TypeError, lambda: mpc.input(x, owner=0), "public")
    refused(TypeError, TypeError, lambda: mpc.input([x, x], owner=0), "reveal")


# ---- dtypes and sessions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1, 121, -3, 8.0, "8", True, None], ids=repr)
def test_widths(k: Any) -> None:
    refused(qr.DtypeError, TypeError, lambda: qr.int(k), "bits")
    refused(qr.DtypeError, TypeError, lambda: qr.fixed(k, 0), "bits")


@pytest.mark.parametrize("f", [-1, 32, 33, 1.5], ids=repr)
def test_fractions(f: Any) -> None:
    refused(qr.DtypeError, TypeError, lambda: qr.fixed(32, f), "fractional bits")


@pytest.mark.parametrize("parties", [0, 1, 2, 4, 6, 8, 9])
def test_numbers_of_parties(parties: int) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.local("rss", parties=parties), "3, 5 or 7", str(parties))


@pytest.mark.parametrize("parties", [0, 1, 3, 5])
def test_two_parties(parties: int) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.local("aby", parties=parties), "`aby` runs with 2", str(parties))


@pytest.mark.parametrize("parties", [-3, 3.0, "3", True], ids=repr)
def test_what_is_no_number_of_parties(parties: Any) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.local("rss", parties=parties), "parties")


@pytest.mark.parametrize("protocol", ["ABY", "bgw", "RSS", "", None], ids=repr)
def test_protocols(protocol: Any) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.local(protocol), "rss")


@pytest.mark.parametrize("network", ["dsl", "70", "70,", "70,0", "nan,1", "-1,5", 7, ("lan",)], ids=repr)
def test_networks(network: Any) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.local(network=network), "network")


@pytest.mark.parametrize(
    "options",
    [{"parties": 4}, {"protocol": "bgw"}, {"network": "dsl"}, {"network": "70,0"}, {"mac": 32, "protocol": "spdz2k"}],
    ids=str,
)
def test_what_local_refuses_is_placed(options: dict[str, Any]) -> None:
    located(qr.ConfigError, ValueError, lambda: qr.local(**options))


@pytest.mark.parametrize("numbers", [(-1, 5), (1, 0), (1, float("inf")), (float("nan"), 1)], ids=repr)
def test_network_numbers(numbers: tuple[float, float]) -> None:
    refused(qr.ConfigError, ValueError, lambda: qr.Network(*numbers), "network")


@pytest.mark.parametrize(
    "options",
    [{"k": 32}, {"stat_sec": 40}, {"partys": 3}, {"triple": "ot"}],
    ids=str,
)  # fmt: skip
def test_options_of_other_releases_are_refused_by_name(options: dict[str, Any]) -> None:
    (name,) = options
    refused(qr.ConfigError, ValueError, lambda: qr.local(**options), name, "protocol, parties, network, strict, trunc")
    refused(
        qr.ConfigError, ValueError, lambda: qr.connect("party.toml", **options), name, "path, session, pool, strict"
    )


@pytest.mark.parametrize(
    "options",
    [{"trunc": "fast"}, {"trunc": None}, {"strict": 1}, {"forms": "bits"}, {"seed": -1}, {"seed": 1.5}, {"seed": True},
     {"shadow": "yes"}, {"threads": 0}, {"max_memory": "much"}],
    ids=str,
)  # fmt: skip
def test_values_that_an_option_does_not_have(options: dict[str, Any]) -> None:
    (name,) = options
    refused(qr.ConfigError, ValueError, lambda: qr.local(**options), f"{name} must be")


def test_options_that_change_nothing_are_accepted() -> None:
    with qr.local(seed=None, trunc="exact", shadow=False, threads=1, max_memory=None) as mpc:
        assert mpc.input(3, owner=0).reveal() == 3


def test_strict_sessions_want_bounds() -> None:
    with qr.local(strict=True) as mpc:
        located(qr.RangeError, ValueError, lambda: mpc.input([1], owner=0), "bound=")
        x = mpc.input([100], owner=0, bound=100, dtype=qr.int(8))
        located(qr.RangeError, ValueError, lambda: x * x, "10000", "wider dtype")
        assert (x + 27).reveal() == 127


def test_results_that_may_wrap_warn_where_a_bound_was_stated(mpc: qr.Session) -> None:
    x = mpc.input([100], owner=0, bound=100, dtype=qr.int(8))
    with pytest.warns(qr.RangeWarning, match=f"may leave int.8.*wider dtype.*{HERE}"):
        y = x * x
    unknown = mpc.input([100], owner=0, dtype=qr.int(8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (unknown * unknown + y).shape == (1,)
        assert (x + 27).shape == (1,)


# ---- operations ----------------------------------------------------------------------------------------------------


def test_shapes_that_do_not_fit(mpc: qr.Session) -> None:
    x, y = mpc.input(np.ones((3, 4), int), owner=0), mpc.input(np.ones((2, 4), int), owner=1)
    located(qr.ShapeError, ValueError, lambda: x + y, r"\(3, 4\) \(2, 4\)", "equal or 1")
    located(qr.ShapeError, ValueError, lambda: x < [1, 2], "broadcast")
    located(qr.ShapeError, ValueError, lambda: np.ones(3, int) * x, "broadcast")
    located(qr.ShapeError, ValueError, lambda: mpc.where(x > 0, x, y), "broadcast")
    located(qr.ShapeError, ValueError, lambda: x @ y, "inner sizes 4 and 2", "transpose")
    located(qr.ShapeError, ValueError, lambda: x @ 3, r"use \*")
    located(qr.ShapeError, ValueError, lambda: x.reshape(5, -1), "12")
    located(qr.ShapeError, ValueError, lambda: x.reshape(-1, -1), "-1")
    located(qr.ShapeError, ValueError, lambda: x.reshape(2.5, 2), "whole numbers")
    located(qr.ShapeError, ValueError, lambda: x.transpose(0, 0), "axes")
    located(qr.ShapeError, ValueError, lambda: x.sum(axis=2), "axis 2", "-2 and 1")
    located(qr.ShapeError, ValueError, lambda: x.max(axis=(0, 2)), "axes")
    located(qr.ShapeError, ValueError, lambda: mpc.concatenate([x, y], axis=1), "array 1")
    located(qr.ShapeError, ValueError, lambda: mpc.concatenate([x, y], axis=2), "axis 2")
    located(qr.ShapeError, ValueError, lambda: mpc.stack([x, y]), "array 1")
    located(qr.ShapeError, ValueError, lambda: x.at[0].set([1, 2, 3]), "broadcast")
    located(qr.ShapeError, ValueError, lambda: x[:0].max(), "empty")
    located(qr.DtypeError, TypeError, lambda: mpc.concatenate([[1], [2]]), "constant")
    refused(qr.ShapeError, ValueError, lambda: x.at.set(3), "pick")


def test_indices(mpc: qr.Session) -> None:
    x = mpc.input(np.ones((3, 4), int), owner=0)
    for key in (3, -4, (0, 4), (0, 0, 0), [0, 5], np.array([True, False]), "a", 1.0, (1, 1.5)):
        located(qr.ShapeError, IndexError, lambda: x[key], r"\(3, 4\)")  # noqa: B023
        located(qr.ShapeError, ValueError, lambda: x.at[key].set(0), r"\(3, 4\)")  # noqa: B023
    for secret in (x[0, 0], x > 0, (0, x[0])):
        located(qr.DtypeError, TypeError, lambda: x[secret], "public", "where")  # noqa: B023


def test_dtypes_that_do_not_go_together(mpc: qr.Session) -> None:
    x, y = mpc.input([1], owner=0, dtype=qr.int(32)), mpc.input([1], owner=1)
    z, b = mpc.input([0.5], owner=0), mpc.input([True], owner=1)
    wide = mpc.input([1], owner=0, dtype=qr.int(120))
    located(qr.DtypeError, TypeError, lambda: wide + z, r"int\(120\)", "136 bits", r"astype\(qr.int\(104\)\)")
    assert (wide.astype(qr.int(104)) + z).dtype == qr.fixed(120, 16)  # the advice, followed
    located(qr.DtypeError, TypeError, lambda: mpc.where(x, y, y), "condition", "!= 0")
    located(qr.DtypeError, TypeError, lambda: mpc.where([0, 2], y, y), "condition")
    located(qr.DtypeError, TypeError, lambda: z & z, "bits")
    located(qr.DtypeError, TypeError, lambda: ~z, "bits")
    located(qr.DtypeError, TypeError, lambda: y.astype(qr.bit), "compare")
    located(qr.DtypeError, TypeError, lambda: y.astype(int), r"qr\.int\(k\)")
    located(qr.DtypeError, TypeError, lambda: b.astype(qr.fixed(8, 7)), "1.0")
    located(qr.DtypeError, TypeError, lambda: x + "a", "numbers")
    located(qr.DtypeError, TypeError, lambda: x + None, "numbers")
    located(qr.DtypeError, TypeError, lambda: x == None, "numbers")  # noqa: E711
    located(qr.DtypeError, TypeError, lambda: x << 1.5, "whole number")
    located(qr.DtypeError, TypeError, lambda: x << y, "whole number")
    located(qr.DtypeError, TypeError, lambda: 1 << x, "whole number")
    located(qr.RangeError, ValueError, lambda: x << 32, "0 and 31")
    located(qr.RangeError, ValueError, lambda: x >> -1, "0 and 31")
    located(qr.RangeError, ValueError, lambda: x + 2**120, "120 bits")
    located(qr.RangeError, ValueError, lambda: z * np.nan, "finite")
    located(qr.RangeError, ValueError, lambda: mpc.constant([np.inf]), "finite")


def test_what_numpy_has_and_this_release_has_not(mpc: qr.Session) -> None:
    x = mpc.input([4, -5], owner=0)
    located(qr.DtypeError, TypeError, lambda: x**x, "public whole number")
    refused(AttributeError, AttributeError, lambda: x.item(), "reveal")
    refused(AttributeError, AttributeError, lambda: x.nonsense, "nonsense")
    assert not hasattr(x, "argwhere")


def test_numpys_traps(mpc: qr.Session) -> None:
    x = mpc.input([777, -5], owner=0)
    for call in (bool, int, float, np.asarray, np.array, range, complex):
        refused(TypeError, TypeError, lambda: call(x[0]), "reveal|float")  # noqa: B023
    refused(TypeError, TypeError, lambda: 1 if x[0] > 0 else 0, "where", "reveal")
    refused(TypeError, TypeError, lambda: x[0] > 0 and x[1] > 0, "where", "reveal")
    refused(TypeError, TypeError, lambda: 777 in x, "where", "reveal")
    refused(TypeError, TypeError, lambda: max(x), "where", "reveal")
    refused(TypeError, TypeError, lambda: sorted(x), "where", "reveal")
    refused(TypeError, TypeError, lambda: [1, 2, 3][x[0]], "mpc.take", "reveal")
    refused(TypeError, TypeError, lambda: hash(x), "unhashable")
    refused(TypeError, TypeError, lambda: {x: 1}, "unhashable")
    refused(TypeError, TypeError, lambda: x.__setitem__(0, 1), r"x\.at\[i\]\.set\(v\)")
    refused(TypeError, TypeError, lambda: np.where(x > 0), "three arguments")
    refused(TypeError, TypeError, lambda: np.unique(x), "would reveal", "sort")
    refused(TypeError, TypeError, lambda: np.add(x, 1, out=np.zeros(2)), "x = x")
    refused(TypeError, TypeError, lambda: __import__("pickle").dumps(x), "pickled")
    array = np.zeros(2, int)
    refused(TypeError, TypeError, lambda: array.__setitem__(slice(None), x), "reveal")
    assert "777" not in f"{x!r} {x!s} {x} {x[0]!r}"


def test_no_message_of_a_secret_array_shows_a_value(mpc: qr.Session) -> None:
    x = mpc.input([123456789, -5], owner=0)
    for call in (lambda: x + "a", lambda: x[7], lambda: x @ x.reshape(1, 2), lambda: x % 0, lambda: bool(x)):
        with pytest.raises((TypeError, ValueError, IndexError)) as caught:
            call()
        assert "123456789" not in str(caught.value)


# ---- reveals and sessions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [3, 99, -1, "0", 1.0, True, [], [0, 3], (1, False)], ids=repr)
def test_reveal_to_a_party_that_does_not_exist(mpc: qr.Session, to: Any) -> None:
    x = mpc.input([1], owner=0)
    refused(qr.ConfigError, ValueError, lambda: x.reveal(to=to), "party")
    refused(qr.ConfigError, ValueError, lambda: mpc.reveal_all(x, to=to), "party")


def test_the_place_of_an_error_is_outside_of_numpy(mpc: qr.Session) -> None:
    internals = compile("np.diff(x, axis=2)", "<__array_function__ internals>", "eval")  # of numpy before 1.25
    x = mpc.input([1, 2], owner=0)
    located(qr.ShapeError, ValueError, lambda: eval(internals, {"np": np, "x": x}), "axis 2 is one of 1")


def test_two_sessions_do_not_mix(mpc: qr.Session) -> None:
    with qr.local() as other:
        x, y = mpc.input([1], owner=0), other.input([1], owner=0)
        located(qr.ConfigError, ValueError, lambda: x + y, "different sessions")
        located(qr.ConfigError, ValueError, lambda: mpc.where(y > 0, x, x), "different sessions")
        located(qr.ConfigError, ValueError, lambda: x.at[0].set(y), "different sessions")
        located(qr.ConfigError, ValueError, lambda: x @ y, "different sessions")
        located(qr.ConfigError, ValueError, lambda: mpc.concatenate([x, y]), "different sessions")
        located(qr.DtypeError, TypeError, lambda: mpc.reveal_all(x, y), "argument 2 of 2", "another session")
        located(qr.DtypeError, TypeError, lambda: mpc.explain(y), "another session: explain it there")
        located(qr.DtypeError, TypeError, lambda: mpc.reveal_all([x]), "write reveal_all")


def test_use_after_close() -> None:
    with qr.local() as mpc:
        x = mpc.input([1], owner=0)
        x.reveal()
    for call in (x.reveal, lambda: x + 1, lambda: mpc.input([1], owner=0), lambda: mpc.explain(x), lambda: x[0]):
        refused(qr.SessionClosed, RuntimeError, call, "open a new one")
    assert mpc.stats().online.rounds > 0
    mpc.close()
    assert "int(64)" in repr(x)


def test_sessions_in_many_threads() -> None:
    results: dict[int, int] = {}

    def work(number: int) -> None:
        with qr.local() as mpc:
            results[number] = int((mpc.input(number, owner=0) * mpc.input(3, owner=1)).reveal())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {i: 3 * i for i in range(6)}


def test_an_exception_in_the_block_is_the_users() -> None:
    with pytest.raises(ZeroDivisionError), qr.local() as mpc:
        mpc.input([1], owner=0).reveal()
        1 / 0  # noqa: B018


def test_values_from_a_callable_that_fails(mpc: qr.Session) -> None:
    def broken() -> Any:
        raise FileNotFoundError("records.csv")

    with pytest.raises(FileNotFoundError, match=r"records\.csv"):
        mpc.input(broken, owner=0)


# ---- models --------------------------------------------------------------------------------------------------------


def fitted(estimator: Any, classes: int = 2) -> Any:
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X[y < classes], y[y < classes])


BAD_MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "one class": (lambda: fitted(DecisionTreeClassifier(), classes=1), "class"),
    "unfitted": (lambda: DecisionTreeClassifier(), "fit"),
    "unfitted SVM": (lambda: LinearSVC(), "fit"),
    "not supported": (lambda: fitted(AdaBoostClassifier(n_estimators=2)), "DecisionTreeClassifier"),
    "no classifier": (lambda: DBSCAN(), "DecisionTreeClassifier"),
    "another kernel": (lambda: fitted(SVC(kernel="rbf")), "linear"),
    "no estimator": (lambda: "a tree", "DecisionTreeClassifier"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_models(case: str) -> None:
    make, words = BAD_MODELS[case]
    estimator = make()
    refused(qr.ModelError, ValueError, lambda: qr.models.from_sklearn(estimator), words)


def test_records_that_do_not_fit_the_model(mpc: qr.Session) -> None:
    tree = qr.models.from_sklearn(fitted(DecisionTreeClassifier()))
    words = r"\(records, 4\)|records, rows="
    for records in (np.ones((3, 5)), np.ones(4), np.ones((0, 4))):
        refused(qr.ShapeError, ValueError, lambda: tree.predict(mpc, records), words)  # noqa: B023
    for value in (np.nan, np.inf):
        refused(qr.RangeError, ValueError, lambda: tree.predict(mpc, np.full((2, 4), value)), "nan|inf")  # noqa: B023
    refused(qr.ConfigError, ValueError, lambda: tree.predict(mpc, np.ones((2, 4)), model_owner=5), "party|owner")
    refused(qr.ConfigError, ValueError, lambda: tree.predict(mpc, np.ones((2, 4)), data_owner=3), "party|owner")


# ---- the classes themselves ----------------------------------------------------------------------------------------


def test_every_error_is_of_the_family() -> None:
    builtins = {
        "ShapeError": ValueError, "DtypeError": TypeError, "RangeError": ValueError, "ModelError": ValueError,
        "ConfigError": ValueError, "ProgramMismatch": RuntimeError, "PeerLost": ConnectionError,
        "PeerTimeout": TimeoutError, "CheatingDetected": RuntimeError, "PoolExhausted": RuntimeError,
        "RunAborted": RuntimeError, "PeerEnded": RuntimeError, "SubmissionError": RuntimeError,
        "KeptError": RuntimeError,
        "SessionClosed": RuntimeError, "SessionBusy": RuntimeError,
        "NotApproved": ValueError, "ShadowError": ArithmeticError, "CircuitError": ValueError,
        "ResourceError": MemoryError,
    }  # fmt: skip
    assert set(qr.errors.__all__) == {
        *builtins,
        "QuorateError",
        "RangeWarning",
        "InputWarning",
        "ModelWarning",
        "CostWarning",
    }
    assert all(issubclass(kind, UserWarning) for kind in (qr.RangeWarning, qr.InputWarning, qr.ModelWarning))
    for name, builtin in builtins.items():
        assert issubclass(getattr(qr, name), qr.QuorateError)
        assert issubclass(getattr(qr, name), builtin)


def test_indices_and_powers_that_python_allows() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([3, 5], owner=0)
        with pytest.raises(qr.ShapeError, match="slice step cannot be zero; sizes are"):
            x[::0]
        with pytest.raises(qr.DtypeError, match="takes one public whole number: multiply"):
            pow(x, 2, 5)
        with pytest.raises(IndexError) as caught:
            x[2]
        assert type(caught.value).__name__ == "ShapeError" and isinstance(caught.value, qr.ShapeError)
