"""`//`, `%` and `divmod` by public numbers, against Python's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from protocols import among, places

PLENTY = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=places(), ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


def exact(values: Any) -> np.ndarray:
    return np.array(values, dtype=object)


def wrapped(values: Any, k: int, signed: bool = True) -> np.ndarray:
    half = (1 << (k - 1)) if signed else 0
    return (exact(values) + half) % (1 << k) - half


def same(revealed: Any, wanted: Any) -> None:
    assert np.shape(revealed) == np.shape(wanted)
    np.testing.assert_array_equal(exact(revealed), exact(wanted))


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize("signed", [True, False])
def test_every_quotient_of_small_integers(mpc: qr.Session, k: int, signed: bool) -> None:
    if signed and k == 1:
        return
    dtype = qr.int(k) if signed else qr.uint(k)
    low, high = (-(1 << (k - 1)), (1 << (k - 1)) - 1) if signed else (0, (1 << k) - 1)
    a = np.arange(low, high + 1)
    d = np.array([d for d in range(-(1 << k) - 3 if signed else 1, (1 << k) + 4) if d])
    x = mpc.input(a, owner=0, dtype=dtype).reshape(-1, 1)
    same((x // d).reveal(), wrapped(exact(a)[:, None] // exact(d), k, signed))
    fits = d[(abs(d) <= (1 << (k - 1)))] if signed else d
    same((x % fits).reveal(), exact(a)[:, None] % exact(fits))
    if k in (3, 6):
        alone = mpc.reveal_all(*(y for one in d.tolist() for y in [(x // one)]))
        same(np.hstack(alone), wrapped(exact(a)[:, None] // exact(d), k, signed))


@PLENTY
@given(data=st.data(), k=st.sampled_from([20, 32, 33, 62, 63, 64]), signed=st.booleans(), bounded=st.booleans())
def test_quotients_of_large_integers(mpc: qr.Session, data: Any, k: int, signed: bool, bounded: bool) -> None:
    low, high = (-(1 << (k - 1)), (1 << (k - 1)) - 1) if signed else (0, (1 << k) - 1)
    bound = data.draw(st.integers(0, high)) if bounded else None
    if bound is not None:
        low, high = max(low, -bound), bound
    top = (1 << (k - signed)) - 1
    sizes = st.one_of(st.integers(1, 20), st.integers(1, top), st.sampled_from([top, top // 2 + 1, top // 3, top // 2]))
    d = data.draw(st.lists(sizes, min_size=1, max_size=4))
    d = [v * data.draw(st.sampled_from([1, -1] if signed else [1])) for v in d]
    near = st.tuples(st.sampled_from(d), st.integers(0, max(high, 1)), st.integers(-1, 1)).map(
        lambda t: min(max(t[1] // t[0] * t[0] + t[2], low), high)
    )
    a = data.draw(
        st.lists(st.one_of(near, st.sampled_from([low, high]), st.integers(low, high)), min_size=5, max_size=5)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.RangeWarning)
        dtype = qr.int(k) if signed else qr.uint(k)
        x = mpc.input(exact(a), owner=1, dtype=dtype, bound=bound).reshape(-1, 1)
        by = np.array(d, dtype=np.int64 if signed else np.uint64)
        quotient, rest = divmod(x, by)
        one = x // d[0]
    got = mpc.reveal_all(quotient, rest, one)
    same(got[0], wrapped(exact(a)[:, None] // exact(d), k, signed))
    same(got[1], exact(a)[:, None] % exact(d))
    same(got[2], wrapped(exact(a)[:, None] // d[0], k, signed))


@PLENTY
@given(data=st.data(), f=st.integers(0, 20))
def test_fixed_point(mpc: qr.Session, data: Any, f: int) -> None:
    a = np.array(data.draw(st.lists(st.integers(-(2**45), 2**45), min_size=6, max_size=6))) / 2.0**f
    d = data.draw(st.one_of(st.integers(-9, 9), st.integers(-(2**20), 2**20)).filter(bool))
    x = mpc.input(a, owner=0, dtype=qr.fixed(64, f))
    quotient, rest = mpc.reveal_all(*divmod(x, d))
    np.testing.assert_array_equal(quotient, a // d)
    np.testing.assert_array_equal(rest, a % d)


def test_divisors_of_all_sorts(mpc: qr.Session) -> None:
    x = mpc.input([7.5, -7.5], owner=0)
    same((x // 0.5).reveal(), [15, -15])
    same((x % 2.5).reveal(), [0, 0])
    same((x // mpc.constant([2, -2])).reveal(), [3, 3])
    same((x // mpc.constant([2.5, 0.25])).reveal(), [3, -30])
    y = mpc.input([[7], [-7]], owner=0)
    assert (y // [1, 2, 3]).shape == (2, 3)
    same((y // [1, 2, 4]).reveal(), [[7, 3, 1], [-7, -4, -2]])
    same(((y > 0) // 1).reveal(), [[1], [0]])
    same((y // (2**63 - 1)).reveal(), [[0], [-1]])
    same((mpc.input(np.zeros((0, 2), int), owner=0) // 3).reveal(), np.zeros((0, 2), int))
    same((mpc.input(7, owner=0) % -4).reveal(), -1)
    same((mpc.constant([7, -7]) // 2).reveal(), [3, -4])
    same((mpc.constant([7, -7]) % 4).reveal(), [3, 1])


def test_what_has_no_quotient(mpc: qr.Session) -> None:
    x, u = mpc.input([7], owner=0, dtype=qr.int(8)), mpc.input([7], owner=0, dtype=qr.uint(8))
    for divide in (lambda: x // 0, lambda: x % 0, lambda: divmod(x, [1, 0]), lambda: mpc.input([1.5], owner=0) // 1e-9):
        with pytest.raises(qr.RangeError, match=r"zero|becomes 0"):
            divide()
    with pytest.raises(qr.RangeError, match="negative"):
        u // -2
    with pytest.raises(qr.RangeError, match="remainders do not fit"):
        x % 1000
    assert (u % 1000).reveal() == 7
    f = mpc.input([1.5], owner=0)
    for divide in (lambda: f // f, lambda: 3 // f, lambda: 3 % f, lambda: divmod(3, f)):
        with pytest.raises(qr.DtypeError, match="public divisor"):
            divide()
    with pytest.raises(qr.DtypeError, match="float"):
        x // 2.0
    with pytest.raises(qr.ShapeError):
        mpc.input([1, 2], owner=0) // [1, 2, 3]


def test_ranges_of_quotients(mpc: qr.Session) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = mpc.input([100], owner=0, dtype=qr.int(8), bound=100)
        (x // 10) * 12
        (x % 10) * 14
        (mpc.input([100], owner=0, dtype=qr.int(8)) % 10) * 14
        with pytest.warns(qr.RangeWarning, match="floor_div"):
            mpc.input([1], owner=0, dtype=qr.int(8), bound=128) // -1
    short, long = (mpc.input([100], owner=0, bound=b) for b in (1000, None))
    assert sum(mpc.explain(short // 10).online.bytes_sent) < sum(mpc.explain(long // 10).online.bytes_sent)
