"""numpy's functions on secrets: each supported one, against numpy on every protocol; the table of all in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from numpy_cases import BITS, CASES, GIVEN, STATED, WHOLE
from protocols import FORMS, USUAL, Place, among, stated
from quorate._numpy._functions import FUNCTIONS, UFUNCS
from quorate._numpy._unsupported import instead

DOCS = Path(__file__).resolve().parent.parent / "docs" / "numpy.md"
TABLE = re.compile(r"\| function \|.*\n\|---.*\n(?:\|.*\n)+")

# The error of real functions and of quotients: 8 units of 2^-16.
CLOSE = 8 / 65536


class Values:
    """The arrays by name, secret or not."""

    def __init__(self, **arrays: Any) -> None:
        self.__dict__.update(arrays)

    i: Any
    r: Any
    p: Any
    b: Any
    s: Any
    k: Any
    q: Any


def parts(value: Any) -> list[Any]:
    """Returns the results of a function, one by one."""
    return list(value) if isinstance(value, (list, tuple)) and not isinstance(value, np.ndarray) else [value]


def test_every_function_that_works_has_cases() -> None:
    assert {*FUNCTIONS, *UFUNCS} == {*CASES}


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_functions_give_what_numpy_gives(place: Place) -> None:
    plain = Values(**GIVEN)
    with among(place) as mpc:
        secret = Values(**{name: mpc.input(values, owner=0, **STATED.get(name, {})) for name, values in GIVEN.items()})
        results, wanted, names = [], [], []
        for function, cases in CASES.items():
            for at, case in enumerate(cases):
                for result, want in zip(parts(case(secret)), parts(case(plain)), strict=True):
                    if not isinstance(result, qr.SecretArray):
                        np.testing.assert_array_equal(result, want, function.__name__)
                        continue
                    results.append(result)
                    wanted.append(np.asarray(want))
                    names.append(f"{function.__name__} {at}")
                    assert result.shape == wanted[-1].shape, names[-1]
        for name, revealed, want in zip(names, mpc.reveal_all(*results), wanted, strict=True):
            np.testing.assert_allclose(
                np.asarray(revealed, float), np.asarray(want, float), atol=CLOSE, rtol=1e-4, err_msg=name
            )


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: np.sin(x), "a bounded argument can be looked up: qr.lookup"),
        (lambda x: np.nonzero(x), "would reveal something about the secret"),
        (lambda x: np.linalg.svd(x), "not in this release"),
        (lambda x: np.where(x > 0), "three arguments"),
        (lambda x: np.max(x, initial=3), "numpy.max of secret arrays takes no initial=: np.maximum.result, v."),
        (lambda x: np.mean(x, where=BITS), r"takes no where=: mpc.where\(mask, x, v\)"),
        (lambda x: np.quantile(x, 0.5, method="lower"), "the method is 'linear', not 'lower': x.partition"),
        (lambda x: np.cov(x, fweights=[1, 2, 3, 4]), r"takes no fweights=: np.repeat\(x, fweights"),
        (lambda x: np.sum(x, 0, None, np.zeros(4)), "name the arguments, as in keepdims="),
        (lambda x: np.std(x, 0, None, None, 1), "name the arguments, as in ddof="),
        (lambda x: np.sum(x, out=np.zeros(4)), "use what is returned"),
        (lambda x: np.add(x, 1, out=np.zeros((3, 4))), "write x = x \\+ y"),
        (lambda x: np.add(x, 1, where=BITS), "takes no where"),
        (lambda x: np.minimum.reduce(x, initial=5), "numpy.minimum.reduce of secret arrays takes no initial="),
        (lambda x: np.maximum.reduce(x, where=BITS, initial=0), "takes no (where|initial)="),
        (lambda x: np.subtract.accumulate(x), "np.stack of x.0., f"),
        (lambda x: np.multiply.outer(x, x), "multiply.outer"),
        (lambda x: np.roll(x, x[0, 0]), "must be public"),
        (lambda x: np.split(x, 5, axis=1), "equal division.* shapes are \\(3, 4\\)"),
        (lambda x: np.pad(x, 1, mode="mean"), "numpy.pad of secret arrays takes mode='constant', 'edge'"),
        (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), "not odd reflection"),
        (lambda x: np.pad(x, 1, constant_values=7), "np.pad\\(x - v, width\\) \\+ v puts v"),
        (
            lambda x: np.pad(x, 1, mode="linear_ramp", end_values=3),
            "takes no end_values=: it takes mode, constant_values",
        ),
        (lambda x: np.average(x, axis=0, weights=[1, 2, 3, 4]), "fit neither the array"),
        (lambda x: np.average(x, weights=[1, 2, 3, 4]), "fit neither the array"),
        (lambda x: np.average(x, axis=1, weights=[1, -1, 2, -2]), "the weights add up to 0"),
        (lambda x: np.average(x, axis=1, weights=[1, np.inf, 2, 3]), "weights are finite numbers"),
        (lambda x: np.full_like(x, x[0, 0].astype(qr.fixed(64, 16))), "convert the value first"),
        (lambda x: np.full_like(WHOLE, x[0, 0]), "numpy.copyto does not take secret arrays"),
        (lambda x: np.diff(x > 0), "does not take bits"),
        (lambda x: np.diff(x, -1), "from 0 on"),
        (lambda x: np.diff(x[0, 0]), "is one of 0"),
        (lambda x: np.int64(1) << x, "a public whole number of bits"),
        (lambda x: WHOLE >> x, "a public whole number of bits"),
        (lambda x: x**0.5, "a whole number from 0 on, not 0.5"),
        (lambda x: 2**x, "a secret is no exponent"),
        (lambda x: np.sum(x, axis=(0, 0)), "do not exist, or repeat"),
        (lambda x: np.sum(x, axis=(0, 2)), "do not exist, or repeat"),
        (lambda x: np.corrcoef(x), "corrcoef: with 14[0-9] bits .* dtypes have up to 120: .*bound=.*dtype=qr.real"),
        (
            lambda x: np.linalg.solve(x[:, :3], x[:, 3]),
            "numpy.linalg.solve: 3 rows of .* bits, .* clip a and b to what the numbers can be, up to",
        ),
        (lambda x: np.linalg.inv(x), "one square matrix, not shape \\(3, 4\\)"),
        (lambda x: np.linalg.solve(x[:, :3], [1, 2]), "b is \\(3,\\) or \\(3, m\\)"),
        (lambda x: np.linalg.det(np.zeros_like(x, shape=(11, 11))), "up to 10 rows, not 11"),
        (lambda x: np.cov(x, ddof=4), "4 observations have no covariance where ddof is 4"),
        (lambda x: np.cov(x, WHOLE[:, 1:]), "4 observations of one, and 3 of the other"),
        (lambda x: np.corrcoef(x[:, :0]), "no observations"),
        (lambda x: np.mean(x[:0]), "mean: there are no elements"),
        (lambda x: np.bincount(x[0]), "takes minlength="),
        (lambda x: np.bincount(x, minlength=3), "integers along one axis, not int\\(64\\) of shape"),
        (lambda x: np.histogram(x), "takes public bins"),
        (lambda x: np.histogram(x, 10), "takes public bins"),
        (lambda x: np.histogram(x, "auto"), "takes public bins"),
        (lambda x: np.histogram(x, 10, (3, 1)), "max must be larger than min"),
        (lambda x: np.histogram(x, [0, 2, 1]), "two edges or more, and increase"),
        (lambda x: np.histogram(x, [0, np.nan]), "bins are public numbers"),
        (lambda x: np.histogram(x, x[0]), "must be public"),
        (lambda x: np.histogram(x, [0, 1], density=True), "density is counts"),
        (lambda x: np.histogram(x, [0, 1], weights=[1, 2]), "weights of shape \\(2,\\)"),
        (lambda x: np.digitize(x, [0, 2, 1]), "bins increase, or decrease"),
        (lambda x: np.searchsorted([1, 0], x), "is not sorted"),
        (lambda x: np.searchsorted(x, 3), "in one axis"),
        (lambda x: np.partition(x, 4), "kth 4 is out of bounds for 4 elements"),
        (lambda x: np.argpartition(x, x[0, 0]), "must be public"),
        (lambda x: x.topk(5), "from 0 to the 4 elements of the axis, not 5"),
        (lambda x: x.topk(2.0), "not 2.0"),
        (lambda x: np.sum(a=x, axis=3), "axis 3"),
        (lambda x: np.matrix(WHOLE) * x, "product of matrices: write np.asarray\\(m\\) @ x"),
        (lambda x: x * np.matrix(WHOLE), "product of matrices"),
        (lambda x: x * np.ma.array(WHOLE, mask=BITS), "masked"),
        (lambda x: x.quantile(1.5), "from 0 to 1"),
        (lambda x: np.median(x[:0]), "no elements"),
        (lambda x: x.astype(qr.fixed(64, 16)).var(ddof=12), "no variance where ddof is 12"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_has_no_meaning_is_told_so(use: Callable[[Any], Any], message: str) -> None:
    with stated("rss") as mpc:
        x = mpc.input(WHOLE, owner=0)
        with pytest.raises(qr.QuorateError, match=message) as raised:
            use(x)
        assert "test_numpy.py:" in str(raised.value)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_edges_are_rounded_as_numbers_are(place: Place) -> None:
    values, edges = np.array([0.1, 0.2, 0.3]), [0.1, 0.2, 0.3]
    whole, between = np.array([1, 2, 3]), [1.000001, 2, 2.9999999]
    with among(place) as mpc:
        x, n = mpc.input(values, owner=0), mpc.input(whole, owner=0)
        found = [
            (np.digitize(x, edges), np.digitize(values, edges)),
            (np.digitize(x, edges, right=True), np.digitize(values, edges, right=True)),
            (np.histogram(x, edges)[0], np.histogram(values, edges)[0]),
            (np.searchsorted(edges, x, side="right"), np.searchsorted(edges, values, side="right")),
            (np.digitize(n, between), np.digitize(whole, between)),
        ]
        for got, want in zip(mpc.reveal_all(*(one for one, _ in found)), found, strict=True):
            np.testing.assert_array_equal(got, want[1])
        for edge in (0.1, 0.2, 0.200001, 0.25):
            reached, compared = mpc.reveal_all(np.digitize(x, [edge]), x >= edge)
            np.testing.assert_array_equal(reached, compared)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_averages_have_the_room_that_they_take(place: Place) -> None:
    weights = np.sqrt(np.arange(1, 7))
    with among(place, check=True) as mpc:
        given = [
            mpc.input([100, -128, 127, 100, 3, 5], owner=0, dtype=qr.int(8)),
            mpc.input([100.0, -128.0, 127.0, 100.0, 3.0, 5.0], owner=0, dtype=qr.fixed(16, 8)),
            mpc.input([2**62, -(2**63), 2**63 - 1, 1, 0, 5], owner=0),
        ]
        found = mpc.reveal_all(*(np.average(x, weights=weights) for x in given), *given)
        for average, values, unit in zip(found[:3], found[3:], (2**-16, 2**-8, 2**24), strict=True):
            assert abs(average - np.average(values.astype(float), weights=weights)) <= unit
        assert np.average(given[1], weights=weights).dtype == qr.fixed(16, 8)


@pytest.mark.parametrize(
    ("function", "rows", "given"),
    [
        ("inv", 5, {"bound": 100}),
        ("inv", 5, {}),
        ("inv", 10, {"bound": 1}),
        ("solve", 5, {"bound": 100}),
        ("solve", 6, {"dtype": qr.int(64)}),
        ("det", 5, {"bound": 1000}),
    ],
)
def test_systems_without_room_say_what_has_it(function: str, rows: int, given: dict[str, Any]) -> None:
    rng = np.random.default_rng(rows)
    whole = given.get("dtype") == qr.int(64)
    values = rng.integers(-1, 2, (rows, rows)) + (2 if whole else 2.5) * np.eye(rows, dtype=int if whole else float)
    of = getattr(np.linalg, function)
    with qr.local("rss") as mpc:

        def computed(scale: float, **stated: Any) -> tuple[Any, Any]:
            used = values * int(scale) if whole else np.round(values * scale * 256) / 256
            a, b = (mpc.input(part, owner=owner, **stated) for owner, part in enumerate((used, used[0])))
            parts = ((a, b), (used, used[0])) if function == "solve" else ((a,), (used,))
            return of(*parts[0]), of(*parts[1])

        with pytest.raises(qr.DtypeError, match=f"numpy.linalg.{function}: {rows} rows of .* state ") as refused:
            computed(0.25 if not whole else 1, **given)
        said = re.findall(r"mpc\.input\(\.\.\., (.*?bound=\d+)\)", str(refused.value))
        assert said
        for keywords in said:
            stated: dict[str, Any] = eval(f"dict({keywords})", {"qr": qr})
            found, meant = computed(1 if whole else stated["bound"] / 4, **stated)
            np.testing.assert_allclose(found.reveal(), meant, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_products_of_long_integers_have_the_room_of_quotients(place: Place) -> None:
    values = np.array([2**60 + 1, -(2**63), 2**63 - 1, 3])
    with among(place) as mpc:
        x = mpc.input(values, owner=0)
        found = [x * 0.5, 0.5 * x, x * 3.0, x @ np.full(4, 0.5), np.full((2, 4), 0.25) @ x, x / 2]
        meant = [values * 0.5, values * 0.5, values * 3.0, values @ np.full(4, 0.5), np.full((2, 4), 0.25) @ values]
        for got, want in zip(mpc.reveal_all(*found), [*meant, values / 2], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-15)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_statistics_of_integers_that_fit_warn_of_nothing(bits: int) -> None:
    values = np.array([[-1 << bits - 1, 3, (1 << bits - 1) - 1, 5, 7], [1, -1 << bits - 1, 0, 9, 2]])
    with stated("rss") as mpc:
        x = mpc.input(values, owner=0, dtype=qr.int(bits))
        functions = [np.cov, np.corrcoef, np.var, np.std, np.mean, lambda v: np.average(v, axis=1, weights=range(1, 6))]
        for got, of in zip(mpc.reveal_all(*(of(x) for of in functions)), functions, strict=True):
            np.testing.assert_allclose(got, of(values), rtol=1e-6, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*may leave fixed")  # numbers beyond 2^43 are not excluded
@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_statistics_of_long_integers_are_those_of_reals(place: Place) -> None:
    values = np.array([[10**7, 2 * 10**7 + 1, 3 * 10**7, 5], [7, 10**6, 10**9, -3]])
    with among(place) as mpc:
        x = mpc.input(values, owner=0)
        functions = [np.cov, np.var, np.std, lambda v: np.std(v, axis=1, ddof=1)]
        found = mpc.reveal_all(*(of(x) for of in functions), np.var(x, dtype=qr.real), np.std(x, dtype=qr.real))
        for got, want in zip(found, [of(values) for of in [*functions, np.var, np.std]], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_rings_of_32_bits_have_averages_and_deviations() -> None:
    values = np.array([1.0, 2.0, 4.5])
    with qr.local("spdz2k", mac=48) as mpc:
        for stated in ({}, {"bound": 100}):
            x = mpc.input(values, owner=0, dtype=qr.fixed(32, 8), **stated)
            found = np.average(x, weights=[1e-6, 2e-6, 4e-6])
            assert found.dtype == qr.fixed(32, 8)
            assert abs(found.reveal() - 23 / 7) <= 1 / 256
        # The sum of its squares would fit, but not as reals of 64 bits.
        assert abs(mpc.input(values, owner=0, dtype=qr.fixed(16, 4), bound=5).std().reveal() - values.std()) <= 1 / 8


def test_arrays_of_different_sessions_do_not_mix() -> None:
    with stated("rss") as one, stated("rss") as other:
        x, y = one.input(WHOLE, owner=0), other.input(WHOLE, owner=0)
        with pytest.raises(qr.ConfigError, match="different sessions"):
            np.maximum(x, y)


def table() -> str:
    """All functions of numpy that dispatch, in three columns of the docs."""
    overrides = pytest.importorskip("numpy.testing.overrides", reason="the table is that of numpy 1.25 and later")
    rows = {}
    for function in {*overrides.get_overridable_numpy_array_functions(), *overrides.get_overridable_numpy_ufuncs()}:
        module = getattr(function, "__module__", None) or "numpy"
        name = f"{module}.{function.__name__}".removeprefix("numpy.")
        # Records, functions of text, and functions without a name of their own in numpy.
        if "recfunctions" in name or (module == "numpy" and not hasattr(np, name)) or not module.startswith("numpy"):
            continue
        if module in ("numpy", "numpy.linalg") or module.startswith("numpy.lib."):
            works = function in FUNCTIONS or function in UFUNCS or rows.get(name) == "works"
            rows[name] = "works" if works else instead(name)
    lines = ["| function | |", "|---|---|"]
    lines += [f"| `{name}` | {text} |" for name, text in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def test_the_table_of_the_docs_is_what_is_so() -> None:
    text = DOCS.read_text()
    found = TABLE.search(text)
    assert found, "docs/numpy.md has no table"
    assert found.group(0) == table(), "write it anew: .venv/bin/python tests/test_numpy.py"


if __name__ == "__main__":
    DOCS.write_text(TABLE.sub(lambda _: table(), DOCS.read_text()))
