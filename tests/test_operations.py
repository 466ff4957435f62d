"""The array operations beyond arithmetic, and real functions, against numpy."""

from __future__ import annotations

import math
import operator
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among, places, stated, usual
from quorate._sorting._merge_exchange import layers


@pytest.fixture(scope="module", params=places(5), ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


@pytest.fixture(scope="module")
def three() -> Iterator[qr.Session]:
    with stated("rss", parties=3) as session:
        yield session


def same(revealed: Any, wanted: Any) -> None:
    """Checks that values, shapes and kinds of numbers are equal."""
    wanted = np.asarray(wanted)
    assert np.shape(revealed) == wanted.shape
    assert np.asarray(revealed).dtype == wanted.dtype
    np.testing.assert_array_equal(revealed, wanted)


def some(*shape: int, seed: int = 1, reach: int = 50) -> np.ndarray:
    return np.random.default_rng(seed).integers(-reach, reach, shape)


# ---- elementwise ----------------------------------------------------------------------------------------------------


def test_magnitudes_and_bounds(mpc: qr.Session) -> None:
    a, b = some(3, 4), some(4, seed=2)
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    same(abs(x).reveal(), abs(a))
    same(abs(mpc.input(a / 4, owner=0)).reveal(), abs(a / 4))
    same(abs(mpc.input([True, False], owner=0)).reveal(), [True, False])
    lowest = -(2**63)
    same(abs(mpc.input([lowest], owner=0)).reveal(), [lowest])
    for left, right in ((x, y), (x, b), (b, x), (x, 3), (-7, y)):
        clear = [v if isinstance(v, (int, np.ndarray)) else a if v is x else b for v in (left, right)]
        same(mpc.minimum(left, right).reveal(), np.minimum(*clear))
        same(mpc.maximum(left, right).reveal(), np.maximum(*clear))
    same(x.clip(-10, 10).reveal(), a.clip(-10, 10))
    same(x.clip(max=y).reveal(), a.clip(max=b))
    same(x.clip(b, None).reveal(), a.clip(b, None))
    assert x.clip() is x
    with pytest.raises(qr.DtypeError, match="secret"):
        mpc.minimum(a, b)


def test_not_of_integers(mpc: qr.Session) -> None:
    a = np.array([0, -1, 5, 2**63 - 1, -(2**63)])
    same((~mpc.input(a, owner=0)).reveal(), ~a)
    same((~mpc.input([7, -8], owner=0, dtype=qr.int(4))).reveal(), [-8, 7])


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor], ids=lambda op: op.__name__)
@pytest.mark.parametrize("k", [3, 40, 64])
def test_bitwise_operations_on_integers(mpc: qr.Session, op: Callable[..., Any], k: int) -> None:
    low, high = -(2 ** (k - 1)), 2 ** (k - 1) - 1
    a, b = np.array([[low], [high], [-1], [2]]), np.array([low, high, 0, 3, -2])
    x, y = mpc.input(a, owner=0, dtype=qr.int(k)), mpc.input(b, owner=1, dtype=qr.int(k))
    for left, right in ((x, y), (x, b), (a, y)):
        same(op(left, right).reveal(), op(a, b))
    same(op(x, mpc.input([True], owner=mpc.parties - 1)).reveal(), op(a, 1))
    same(op(mpc.input(a[:0], owner=0, dtype=qr.int(k)), 1).reveal(), a[:0])
    with pytest.raises(qr.DtypeError, match="integers"):
        op(mpc.input([0.5], owner=0), 1)


# ---- along an axis --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_running_sums_and_first_minima(mpc: qr.Session, axis: int | None) -> None:
    a = some(3, 5, 2, reach=4)
    x = mpc.input(a, owner=1)
    same(x.cumsum(axis).reveal(), a.cumsum(axis))
    same((x > 0).cumsum(axis).reveal(), (a > 0).cumsum(axis))
    same(mpc.input(a / 8, owner=0).cumsum(axis=axis).reveal(), (a / 8).cumsum(axis))
    same(x.argmin(axis).reveal(), a.argmin(axis))
    same(x.argmin(axis, keepdims=True).reveal(), a.argmin(axis, keepdims=True))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64])
def test_running_sums_of_any_number(three: qr.Session, count: int) -> None:
    a = some(count)
    same(three.input(a, owner=0).cumsum().reveal(), a.cumsum())


def test_running_sums_are_local(three: qr.Session) -> None:
    x = three.input(some(100), owner=0)
    assert three.explain(x.cumsum()).online.rounds == three.explain(x).online.rounds


def test_means(mpc: qr.Session) -> None:
    a = some(4, 6) / 8
    x = mpc.input(a, owner=0)
    for axis, count in ((None, 24), (0, 4), (1, 6)):
        same(x.mean(axis=axis).reveal(), np.floor(a.sum(axis=axis) * 2**16 / count) / 2**16)
    same(x[:, :1].mean(axis=1).reveal(), a[:, 0])
    assert x.mean(axis=1, keepdims=True).shape == (4, 1)
    same(mpc.input([1, 2], owner=0).mean().reveal(), np.float64(1.5))
    with pytest.raises(qr.ShapeError, match="empty"):
        x[:0].mean()


@pytest.mark.parametrize("count", [200, 255, 256, 70_000])
def test_means_of_more_elements_than_the_dtype_can_count(three: qr.Session, count: int) -> None:
    units = np.resize([5, -7, 3, 1, -2], count)
    x = three.input(units / 2**9, owner=0, dtype=qr.fixed(16, 9))
    same(x.mean().reveal(), np.floor(units.sum() / count) / 2**9)


def test_dtype_converts_before_a_sum(mpc: qr.Session) -> None:
    a = np.array([[100, 100], [-128, 127]], np.int8)
    x, wide = mpc.input(a, owner=0, dtype=qr.int(8)), qr.int(64)
    same(x.sum(axis=1).reveal(), a.sum(axis=1, dtype=np.int8).astype(np.int64))
    same(x.sum(axis=1, dtype=wide).reveal(), a.sum(axis=1))
    same(x.cumsum(dtype=wide).reveal(), a.cumsum())
    same(x.sum(axis=0, keepdims=True, dtype=wide).reveal(), a.sum(axis=0, keepdims=True))
    same(x[0].dot(x[1], dtype=wide).reveal(), a[0].astype(np.int64) @ a[1])
    same(x[0].dot(np.array([3, 4]), dtype=wide).reveal(), 700)
    same(x.mean(axis=1, dtype=qr.fixed(64, 16)).reveal(), a.mean(axis=1))
    late = x > 0
    same(late.sum(dtype=qr.int(8)).reveal(), 3)
    assert late.sum(dtype=qr.int(8)).dtype == qr.int(8)
    reals = mpc.input([60.5, 60.5], owner=0, dtype=qr.fixed(16, 9))
    same(reals.sum(dtype=qr.fixed(32, 9)).reveal(), 121.0)
    with pytest.raises(qr.DtypeError):
        x.sum(dtype="int64")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0.9, True, "0", [0], np.float64(1)])
def test_axes_are_whole_numbers(three: qr.Session, bad: Any) -> None:
    x = three.input([[1.0, 2.0], [3.0, 4.0]], owner=0)
    i = three.input(1, owner=0)
    calls: list[Callable[[], Any]] = [
        lambda: qr.softmax(x, axis=bad), lambda: three.concatenate([x, x], axis=bad),
        lambda: three.stack([x, x], axis=bad), lambda: three.shuffle(x, axis=bad),
        lambda: three.sort(x, axis=bad), lambda: three.take(x, i, axis=bad), lambda: x.sum(axis=bad),
        lambda: x.mean(axis=bad), lambda: x.max(axis=bad), lambda: (x > 1).max(axis=bad),
        lambda: x.argmin(axis=bad), lambda: x.cumsum(axis=bad), lambda: x.sort(axis=bad), lambda: x.argsort(axis=bad),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(qr.ShapeError, match="axis must be a whole number"):
            call()


def test_public_reals_that_the_dtype_changes_are_reported(three: qr.Session) -> None:
    x = three.input([0.0, 1.5], owner=0)
    with pytest.warns(qr.RangeWarning, match=r"value 0.000001 .* becomes 0 in fixed\(64, 16\).*test_operations.py"):
        small = x < 1e-6
    assert not small.reveal().any()
    programs: list[Callable[[], Any]] = [  # a line is warned of once
        lambda: x + 1e-6,
        lambda: 1e-5 / x,
        lambda: x // 0.0001,
        lambda: three.constant([1.0, 1e-5]),
        lambda: three.where(x > 0, x, 1e-7),
        lambda: x.clip(1e-7, None),
        lambda: x @ np.array([1e-3, 1.0]),
        lambda: three.concatenate([x, [1e-9]]),
        lambda: x.at[0].set(1e-9),
    ]
    for program in programs:
        with pytest.warns(qr.RangeWarning, match="becomes"):
            program()
    with pytest.raises(qr.RangeError, match="becomes 0"):
        _ = x // 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0.1, 0.0, 1 / 3, -2.0, 0.01, 7):
            _ = (x * value, x < value)


def test_owners_are_told_of_columns_that_lose_digits(three: qr.Session) -> None:
    normal = np.random.default_rng(0).normal(size=(2000, 5))
    small = normal * [1, 1, 1, 1e-3, 1]
    for values in ([1e-9], small, small[0] * 1e-4, small.T[3]):
        with pytest.warns(qr.RangeWarning, match="becomes .* in fixed.*scale the values"):
            three.input(values, owner=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (normal, normal.ravel(), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(4), 0.25):
            three.input(values, owner=0)  # single values near 0 lose digits in any data


def test_strict_programs_refuse_public_reals_that_change() -> None:
    with stated("rss", strict=True) as strict:
        x = strict.input([0.0, 1.5], owner=0, bound=2)
        for program in (lambda: x < 1e-6, lambda: strict.constant(1e-6), lambda: x // 0.0001):
            with pytest.raises(qr.RangeError, match="becomes"):
                program()
        same((x < 0.5).reveal(), [True, False])


# ---- secret positions -----------------------------------------------------------------------------------------------


def test_lines_with_a_single_one(mpc: qr.Session) -> None:
    """Right ones pass on every family, for any axis and dtype."""
    a = np.eye(4, dtype=int)[[2, 0, 3]]
    same(mpc.input(a, owner=0).assert_one_hot().reveal(), a)
    same(mpc.input(a.T, owner=1, bound=1).assert_one_hot(axis=0).reveal(), a.T)
    same(mpc.input(a, owner=0, dtype=qr.uint(2)).assert_one_hot(axis=-1).reveal(), a.astype(np.uint64))
    x = mpc.input(a / 2, owner=0)
    with pytest.raises(qr.DtypeError, match="assert_one_hot takes integers, not fixed"):
        x.assert_one_hot()
    with pytest.raises(qr.ShapeError, match="out of bounds"):
        mpc.input(a, owner=0).assert_one_hot(axis=2)


CHECKED = [
    usual("spdz2k"),
    Place("spdz2k", 3, (("mac", 48),)),
    Place("spdz2k", 4),
    Place("spdz2k", 2, (("bits", "paper"),)),
    Place("spdz2k", 3, (("bits", "paper"),)),
    Place("spdz2k", 2, (("triples", "bucket"), ("random_bits", "sqrt"))),
    Place("spdz2k", 3, (("triples", "twokeys"),)),
    Place("spdz2k", 2, (("matrices", "experimental"), ("max_memory", "50MB"))),
    *FORMS,
]


@pytest.mark.parametrize("place", CHECKED, ids=str)
@pytest.mark.parametrize("row", [[0, 2, 0], [2, -1, 0], [1, 1, 0], [0, 0, 0]], ids=str)
def test_a_cheater_proves_no_other_lines(place: Place, row: list[int]) -> None:
    for owner in (0, 1):
        with among(place) as mpc:
            choice = mpc.input([[0, 0, 1], row], owner=owner).assert_one_hot()
            numbers = mpc.input([5, 6, 7], owner=1 - owner)
            with pytest.raises(qr.CheatingDetected, match="one element of each row is 1"):
                (choice @ numbers).reveal()


@pytest.mark.parametrize("place", FORMS, ids=str)
def test_who_deals_proves_no_choice(place: Place) -> None:
    a = np.eye(3, dtype=int)
    with among(place) as mpc:
        same(mpc.input(a, owner=0).assert_one_hot().reveal(), a)
        with pytest.raises(qr.ConfigError, match=r"party 2 deals, and cannot prove a choice.*test_operations"):
            mpc.input(a, owner=2).assert_one_hot()


def test_one_hot(mpc: qr.Session) -> None:
    index = np.array([[2, 0], [1, 3]])
    i = mpc.input(index, owner=1)
    same(mpc.one_hot(i, 4).reveal(), np.eye(4, dtype=bool)[index])
    same(mpc.one_hot(i, 2).reveal(), index[..., None] == np.arange(2))
    same(
        mpc.one_hot(mpc.input([1, -2], owner=0, dtype=qr.int(2)), 4).reveal(),
        np.eye(4, dtype=bool)[[1, 2]] & [[1], [0]] > 0,
    )
    with pytest.raises(qr.DtypeError):
        mpc.one_hot(mpc.input([0.5], owner=0), 3)
    with pytest.raises(qr.ShapeError):
        mpc.one_hot(i, -1)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take(mpc: qr.Session, axis: int | None) -> None:
    a, index = some(3, 4, 3), np.array([[2, 0], [1, 1]])
    x, i = mpc.input(a, owner=0), mpc.input(index, owner=1)
    same(mpc.take(x, i, axis=axis).reveal(), np.take(a, index, axis=axis))
    same(mpc.take(a, i, axis=axis).reveal(), np.take(a, index, axis=axis))
    same(mpc.take(x > 0, i, axis=axis).reveal(), np.take(a > 0, index, axis=axis))
    same(mpc.take(mpc.input(a / 4, owner=mpc.parties - 1), i, axis=axis).reveal(), np.take(a / 4, index, axis=axis))


def test_take_of_nothing_is_zero(three: qr.Session) -> None:
    x = three.input([5, 6], owner=0)
    same(three.take(x, three.input([2, -1, 1], owner=1)).reveal(), [0, 0, 6])
    same(three.take(x, three.input(1, owner=1)).reveal(), 6)


# ---- sorting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 11))
def test_the_network_sorts_everything_of_zeros_and_ones(count: int) -> None:
    a = (np.arange(1 << count) >> np.arange(count)[:, None]) & 1
    wanted = np.sort(a, axis=0)
    for rows, p, r, distance in layers(count):
        lower = np.array([i for i in range(rows - distance) if i & p == r], int)
        upper = lower + distance
        a[lower], a[upper] = np.minimum(a[lower], a[upper]), np.maximum(a[lower], a[upper])
    np.testing.assert_array_equal(a, wanted)


def test_large_sorts_are_built_at_once_and_keep_little() -> None:
    script = """
import time
import numpy as np
import quorate as qr
peak = lambda: int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024
with qr.local("rss") as mpc:
    x = mpc.input(np.zeros(1 << 18, int), owner=0)
    before, start = peak(), time.process_time()
    y = x.sort(), x.argsort()
    print(time.process_time() - start, peak() - before)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    seconds, grown = map(float, run.stdout.split())
    assert seconds < 10 and grown < 60e6


@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (16,), (3, 4), (2, 3, 5)], ids=str)
def test_sorting(mpc: qr.Session, shape: tuple[int, ...]) -> None:
    a = some(*shape, reach=4)
    x = mpc.input(a, owner=0)
    for axis in (None, *range(-1, len(shape))):
        same(x.sort(axis).reveal(), np.sort(a, axis))
        same(x.argsort(axis).reveal(), np.argsort(a, axis, kind="stable"))


def test_sorting_other_numbers(three: qr.Session) -> None:
    a = some(6, reach=9)
    same(three.input(a / 4, owner=0).sort().reveal(), np.sort(a / 4))
    same(three.input(a > 0, owner=0).sort().reveal(), np.sort(a > 0))
    ends = np.array([2**63 - 1, -(2**63), 0, 2**63 - 1, -1])
    same(three.input(ends, owner=0).sort().reveal(), np.sort(ends))
    same(three.input(np.zeros(0, int), owner=0, dtype=qr.int(8)).sort().reveal(), np.zeros(0, int))
    with pytest.raises(qr.ShapeError, match="axis"):
        three.input(a, owner=0).sort(axis=1)


@pytest.mark.parametrize("shape", [(1,), (3, 1), (1, 2), (0,), (1, 0)], ids=str)
@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("place", USUAL, ids=str)
def test_positions_along_short_axes_are_what_they_are_along_long_ones(
    place: Place, shadow: bool, shape: tuple[int, ...]
) -> None:
    a = some(*shape, reach=4)
    dtypes = [(qr.int(8), a), (qr.uint(16), abs(a).astype(np.uint64)), (qr.fixed(32, 8), a / 4), (qr.bit, a > 0)]
    with among(place, shadow=shadow) as mpc:
        for dtype, values in dtypes:
            x = mpc.input(values, owner=0, dtype=dtype)
            for axis in (None, *range(len(shape))):
                order = x.argsort(axis)
                assert order.dtype == qr.int(64) and order._is_secret
                same((order + 3).reveal(), np.argsort(values, axis) + 3)
                same(x.sort(axis).reveal(), np.sort(values, axis))
            keys, moved = mpc.sort(x, x)
            assert keys.dtype == moved.dtype == dtype
            same(moved.reveal(), np.sort(values, 0).astype(keys.reveal().dtype))
            if x.size:
                narrow = mpc.input(np.ones(shape, int), owner=1, dtype=qr.int(8))
                longer = mpc.concatenate([x, x]).argsort(0)[: shape[0]]
                assert outcome(lambda: x.argsort(0) + narrow) == outcome(lambda: longer + narrow)  # noqa: B023


def outcome(build: Callable[[], qr.SecretArray]) -> str:
    """Returns the dtype of an operation's result, or the class of its refusal."""
    try:
        return repr(build().dtype)
    except qr.QuorateError as error:
        return type(error).__name__


# ---- conversions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 20, 63, 64])
def test_bits(mpc: qr.Session, k: int) -> None:
    low, high = -(2 ** (k - 1)), 2 ** (k - 1) - 1
    a = np.array([[0, 1, -1], [low, high, low + 1]])
    wanted = (a[..., None] >> np.arange(k)) & 1 > 0
    same(mpc.input(a, owner=0, dtype=qr.int(k)).bits().reveal(), wanted)
    same(mpc.input([True, False], owner=0).bits().reveal(), [[True], [False]])


@pytest.mark.parametrize(("k", "wider"), [(8, 64), (8, 9), (2, 40), (63, 64), (20, 33)])
def test_integers_of_other_sizes(mpc: qr.Session, k: int, wider: int) -> None:
    a = np.array([0, 1, -1, -(2 ** (k - 1)), 2 ** (k - 1) - 1])
    up = mpc.input(a, owner=0, dtype=qr.int(k)).astype(qr.int(wider))
    assert up.dtype == qr.int(wider)
    same(up.reveal(), a)
    same(up.astype(qr.int(k)).reveal(), a)
    half = 1 << (k - 1)
    wide = np.array([half, -half - 1])
    if wider < 64:
        same(mpc.input(wide, owner=0, dtype=qr.int(wider)).astype(qr.int(k)).reveal(), [-half, half - 1])


def test_integers_and_fixed_point(mpc: qr.Session) -> None:
    a = np.array([3, -4, 0, 100])
    x = mpc.input(a, owner=0, dtype=qr.int(20))
    same(x.astype(qr.fixed(64, 16)).reveal(), a.astype(float))
    same(x.astype(qr.fixed(20, 4)).reveal(), a.astype(float))
    reals = np.array([2.5, -2.5, -0.0625, 7.0])
    r = mpc.input(reals, owner=1, dtype=qr.fixed(32, 8))
    same(r.astype(qr.int(64)).reveal(), np.floor(reals).astype(int))
    same(r.astype(qr.int(10)).reveal(), np.floor(reals).astype(int))
    same(r.astype(qr.fixed(64, 16)).reveal(), reals)
    same(r.astype(qr.fixed(16, 2)).reveal(), np.floor(reals * 4) / 4)
    with pytest.raises(qr.DtypeError, match="bits"):
        x.astype(qr.bit)


def test_what_may_not_fit_is_said(three: qr.Session) -> None:
    x = three.input([3], owner=0, bound=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.astype(qr.int(8))
    with pytest.warns(qr.RangeWarning, match="astype"):
        x.astype(qr.int(7))
    with stated("rss", strict=True) as mpc, pytest.raises(qr.RangeError, match="astype"):
        mpc.input([3], owner=0, bound=100).astype(qr.fixed(16, 10))


# ---- real functions -------------------------------------------------------------------------------------------------


def near(revealed: Any, wanted: Any, units: float, frac: int = 16, relative: float = 0.0) -> None:
    """Checks that results are within this number of units of 2^-frac, or a relative error."""
    assert np.shape(revealed) == np.shape(wanted)
    allowed = np.maximum(units * 2.0**-frac, relative * np.abs(wanted))
    assert (np.abs(np.asarray(revealed) - wanted) <= allowed).all()


def gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


FUNCTIONS: list[tuple[Callable[..., Any], Callable[..., Any], float, float, float]] = [
    (qr.sigmoid, lambda x: 1 / (1 + np.exp(-x)), -20, 20, 1.5),
    (qr.tanh, np.tanh, -9, 9, 2),
    (qr.gelu, gelu, -9, 9, 1.5),
    (qr.exp, np.exp, -15, 8, 2),
    (qr.log, np.log, 0.001, 5000, 1),
    (qr.sqrt, np.sqrt, 0, 30000, 2),
    (qr.rsqrt, lambda x: 1 / np.sqrt(x), 0.001, 5000, 2),
    (qr.reciprocal, lambda x: 1 / x, 0.001, 300, 2),
    (qr.relu, lambda x: np.maximum(x, 0), -5, 5, 0),
]


@pytest.mark.parametrize(
    ("secret", "clear", "low", "high", "units"), FUNCTIONS, ids=lambda v: getattr(v, "__name__", "")
)
@pytest.mark.parametrize(("k", "f"), [(64, 16), (40, 10)])
def test_real_functions(
    mpc: qr.Session, secret: Any, clear: Any, low: float, high: float, units: float, k: int, f: int
) -> None:
    a = np.round(np.random.default_rng(3).uniform(low, high, (2, 60)) * 2**f) / 2**f
    a = np.where(a == 0, 2.0**-f, a)
    revealed = secret(mpc.input(a, owner=0, dtype=qr.fixed(k, f))).reveal()
    near(revealed, clear(a), units, f)


def test_division(mpc: qr.Session) -> None:
    rng = np.random.default_rng(4)
    a, b = (np.round(rng.uniform(-40, 40, 50) * 2**16) / 2**16 for _ in range(2))
    x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
    for left, right in ((x, y), (x, b), (a, y)):
        near((left / right).reveal(), a / b, 1)
    same((x / 2).reveal()[a > 0], np.floor(a[a > 0] * 2**15) / 2**16)
    same((1 / mpc.input([0.5, -4.0], owner=0)).reveal(), [2.0, -0.25])
    same((mpc.input([5], owner=0) / 2).reveal(), np.array([2.5]))
    with pytest.raises(qr.RangeError, match="by zero"):
        x / 0


def test_long_quotients_and_roots(mpc: qr.Session) -> None:
    rng = np.random.default_rng(8)
    units = np.concatenate([2.0 ** rng.uniform(0, 62.9, 60), [1, 2**62, 2**63 - 1024]]).astype(np.int64)
    by = units[::-1] >> rng.integers(0, 40, len(units)) | 1
    x = mpc.input(units / 2**16, owner=0)
    units, by = ((v / 2**16 * 2**16).astype(np.int64) for v in (units, by))
    wanted = [min(int(a) * 2**16 // int(b), 2**63 - 1) for a, b in zip(units, by, strict=True)]
    got = (x / mpc.input(by / 2**16, owner=1)).reveal() * 2**16
    assert [float(v) for v in got] == [float(v) for v in wanted]
    near(qr.sqrt(x).reveal(), np.sqrt(units / 2**16), 2)


def test_bounds_make_functions_cheaper(three: qr.Session) -> None:
    values = np.array([1.0, 250.0])
    free, bounded = three.input(values, owner=0), three.input(values, owner=0, bound=255)
    for function in (qr.sqrt, lambda x: x / (x + 512)):
        cost = [three.explain(function(x)).online.rounds for x in (free, bounded)]
        assert cost[1] < cost[0]
    near((bounded / (bounded + 512)).reveal(), values / (values + 512), 4)


def test_what_cannot_have_a_result_is_refused(three: qr.Session) -> None:
    x = three.input([1.0], owner=0, bound=1)
    with pytest.raises(qr.RangeError, match="/ by zero has no value"):
        x / three.input([0.0], owner=0, bound=0)
    with pytest.raises(qr.RangeError, match="no result of exp fits"):
        qr.exp(x + 40)
    with pytest.raises(qr.RangeError, match="sqrt is not defined"):
        qr.sqrt(x - 2)
    with pytest.raises(qr.RangeError, match="rsqrt is not defined"):
        qr.rsqrt(x - 2)
    with pytest.raises(qr.RangeError, match="no result of divide fits"):
        (x + 2**46) / (x * 2.0**-10)
    with pytest.raises(qr.RangeError, match="reciprocal is not defined"):
        qr.reciprocal(x * 0)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(mpc: qr.Session, axis: int) -> None:
    a = some(3, 4, 2, reach=64) / 16
    powers = np.exp(a - a.max(axis=axis, keepdims=True))
    near(qr.softmax(mpc.input(a, owner=0), axis=axis).reveal(), powers / powers.sum(axis=axis, keepdims=True), 1)


def test_outside_the_domain(three: qr.Session) -> None:
    largest, lowest = float(2**47), -float(2**47)
    x = three.input([0.0, -1.0], owner=0)
    same(qr.log(x).reveal(), [lowest, lowest])
    same(qr.sqrt(x).reveal(), [0.0, 0.0])
    same(qr.rsqrt(x).reveal(), [largest, largest])
    same(qr.exp(x + 100).reveal(), [largest, largest])
    same((x / three.input([0.0, 0.0], owner=1)).reveal(), [0.0, -largest])
    with pytest.raises(qr.RangeError, match="log"):
        qr.log(three.input([0.0], owner=0, bound=0))


@pytest.mark.parametrize("function", [f[0] for f in FUNCTIONS if f[0] is not qr.relu], ids=lambda f: f.__name__)
def test_real_functions_want_fixed_point(three: qr.Session, function: Any) -> None:
    with pytest.raises(qr.DtypeError, match="astype"):
        function(three.input([1], owner=0))
    x = three.input([1.0], owner=0, dtype=qr.fixed(60, 20))
    if function in (qr.log, qr.sqrt, qr.rsqrt, qr.reciprocal):
        assert function(x).dtype == qr.fixed(60, 20)
    else:
        with pytest.raises(qr.DtypeError, match="16"):
            function(x)
    with pytest.raises(qr.DtypeError, match="secret"):
        function(np.array([1.0]))


def test_real_functions_of_public_numbers(three: qr.Session) -> None:
    near(qr.exp(three.constant([1.0, 2.0])).reveal(), np.exp([1.0, 2.0]), 2)


def test_proven_ranges_follow_real_functions() -> None:
    with warnings.catch_warnings(), stated("rss") as mpc:
        warnings.simplefilter("error")
        x = mpc.input([0.5, 3.0], owner=0, bound=8, dtype=qr.fixed(32, 8))
        assert qr.exp(x).reveal().shape == (2,)
        qr.sigmoid(x) * 1000
        qr.tanh(x) + 3
        with pytest.warns(qr.RangeWarning):
            qr.exp(x) * 4096


# ---- numpy's edges --------------------------------------------------------------------------------------------------

ALONG = ["sum", "max", "min", "argmax", "argmin", "cumsum", "sort", "argsort"]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3), (0, 3), (2, 0, 3), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("kind", ["int", "uint", "fixed", "bit"])
def test_every_axis_of_every_shape(three: qr.Session, shape: tuple[int, ...], kind: str) -> None:
    """Shapes, values and kinds of numbers are numpy's; where numpy refuses, a secret array does too."""
    a = some(*shape, reach=9)
    a = {"int": a, "uint": abs(a).astype(np.uint64), "fixed": a / 4, "bit": np.asarray(a > 0)}[kind]
    x = three.input(a, owner=0, dtype=qr.uint(64) if kind == "uint" else None)
    secret, clear = [], []
    for name in ALONG:
        for axis in (None, *range(-len(shape), len(shape)), 7):
            for keepdims in (False, True) if name in ALONG[:5] else (None,):
                options = {} if keepdims is None else {"keepdims": keepdims}
                stable = {"kind": "stable"} if name == "argsort" else {}
                try:
                    clear.append(getattr(np, name)(a, axis=axis, **options, **stable))
                except (ValueError, IndexError):
                    with pytest.raises(qr.ShapeError):
                        getattr(x, name)(axis=axis, **options)
                else:
                    secret.append(getattr(x, name)(axis=axis, **options))
    for value, wanted in zip(three.reveal_all(*secret), clear, strict=True):
        same(value, wanted)
