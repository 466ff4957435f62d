"""`//`, `%` and `divmod` of integers by secret integers, against Python's; 0 where the divisor is 0."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from applications import SESSIONS, garbles, opened

PLENTY = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=SESSIONS, ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    # The least number divided by -1 wraps, and is compared, too.
    with opened(request.param, check=False) as session:
        yield session


def exact(values: Any) -> np.ndarray:
    return np.array(values, dtype=object)


def wrapped(values: Any, dtype: qr.Dtype) -> np.ndarray:
    half = 0 if dtype.kind == "uint" else 1 << (dtype.bits - 1)
    return (exact(values) + half) % (1 << dtype.bits) - half


def divided(a: Any, b: Any, dtype: qr.Dtype) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.broadcast_arrays(exact(a), exact(b))
    whole = [p // q if q else 0 for p, q in zip(x.ravel(), y.ravel(), strict=True)]
    rest = [p % q if q else 0 for p, q in zip(x.ravel(), y.ravel(), strict=True)]
    return tuple(wrapped(v, dtype).reshape(x.shape) for v in (whole, rest))  # type: ignore[return-value]


def same(revealed: Any, wanted: Any) -> None:
    assert np.shape(revealed) == np.shape(wanted)
    np.testing.assert_array_equal(exact(revealed), exact(wanted))


@pytest.mark.parametrize("dtype", [qr.int(2), qr.int(4), qr.int(6), qr.uint(1), qr.uint(3), qr.uint(5)], ids=str)
def test_all_pairs_of_small_integers(mpc: qr.Session, dtype: qr.Dtype) -> None:
    signed = dtype.kind == "int"
    all_ = np.arange(1 << dtype.bits) - (1 << (dtype.bits - 1) if signed else 0)
    x = mpc.input(all_[:, None], owner=0, dtype=dtype)
    y = mpc.input(all_, owner=1, dtype=dtype)
    wanted = divided(all_[:, None], all_, dtype)
    both = divmod(x, y)
    got = mpc.reveal_all(x // y, x % y, *both)
    for value, clear in zip(got, [*wanted, *wanted], strict=True):
        same(value, clear)


@PLENTY
@given(data=st.data(), k=st.sampled_from([8, 20, 32, 33, 63, 64]), signed=st.booleans(), bounded=st.booleans())
def test_random_integers(mpc: qr.Session, data: Any, k: int, signed: bool, bounded: bool) -> None:
    dtype = qr.int(k) if signed else qr.uint(k)
    top = (1 << (k - signed)) - 1
    bounds = [data.draw(st.integers(0, top)) if bounded else None for _ in range(2)]
    values = []
    for bound in bounds:
        high = top if bound is None else bound
        low = -high - (bound is None) if signed else 0
        drawn = st.one_of(
            st.sampled_from([low, high, 0]), st.integers(low, high), st.integers(0, 40).map(lambda v, h=high: min(v, h))
        )
        values.append(data.draw(st.lists(drawn, min_size=12, max_size=12)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.RangeWarning)
        x, y = (
            mpc.input(exact(v), owner=i, dtype=dtype, bound=bound)
            for i, (v, bound) in enumerate(zip(values, bounds, strict=True))
        )
        got = mpc.reveal_all(*divmod(x, y), x % y)
    quotient, rest = divided(*values, dtype)
    for value, clear in zip(got, (quotient, rest, rest), strict=True):
        same(value, clear)


def test_public_dividends_shapes_and_bits(mpc: qr.Session) -> None:
    y = mpc.input([[2], [0], [-3]], owner=0)
    same((7 // y).reveal(), [[3], [0], [-3]])
    same((np.array([7, -7]) % y).reveal(), [[1, 1], [0, 0], [-2, -1]])
    quotient, rest = divmod(100, mpc.input(7, owner=1))
    assert (quotient.shape, int(quotient.reveal()), int(rest.reveal())) == ((), 14, 2)
    assert (y // mpc.constant(2)).reveal().tolist() == [[1], [0], [-2]]
    bit = mpc.input([True, False], owner=mpc.parties - 1)
    same((bit // bit).reveal(), [1, 0])
    assert (mpc.input(np.zeros((0, 2), int), owner=0) // y[0]).reveal().shape == (0, 2)


def test_what_has_no_secret_quotient(mpc: qr.Session) -> None:
    x, f = mpc.input([7], owner=0, dtype=qr.int(8)), mpc.input([1.5], owner=0)
    for quotient in (lambda: f // f, lambda: 2.5 // x, lambda: f // x, lambda: x // f):
        with pytest.raises(qr.DtypeError, match="fixed point takes a public divisor"):
            quotient()
    with pytest.raises(qr.DtypeError, match="float"):
        x // 2.5


def test_quotients_of_unlike_dtypes_have_the_wider(mpc: qr.Session) -> None:
    x, wide = mpc.input([7, -128], owner=0, dtype=qr.int(8)), mpc.input([-5, 300], owner=0)
    for value, clear in ((x % wide, [-3, 172]), (x // wide, [-2, -1]), (1000 // x, [142, -8]), (x // 1000, [0, -1])):
        same(value.reveal(), clear)


def test_bounds_make_quotients_cheap(mpc: qr.Session) -> None:
    def rounds(x: int | None, y: int | None) -> int:
        a, b = (mpc.input([9], owner=0, bound=bound) for bound in (x, y))
        return mpc.explain(a // b).online.rounds

    if not garbles(mpc):  # see NO_ROUNDS
        assert rounds(1000, 10) < rounds(1000, 2**40) < rounds(2**40, 2**40) < rounds(None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, y = (mpc.input([9], owner=0, dtype=qr.int(8), bound=b) for b in (100, 10))
        (x // y) + 20
        (x % y) * 14


def test_a_shadow_divides_and_swaps() -> None:
    with qr.local("rss", shadow=True) as mpc:
        x, y = mpc.input([7, -7, 3], owner=0), mpc.input([2, -2, 0], owner=1)
        same((x // y).reveal(), [3, 3, 0])
        same((x % y).reveal(), [1, -1, 0])
        same(divmod(x, y)[1].reveal(), [1, -1, 0])
        same(mpc.swap(x < y, x, y)[0].reveal(), [7, -2, 3])
        lowest = mpc.input([-128], owner=0, dtype=qr.int(8))
        with pytest.raises(qr.ShadowError, match="wrapped"):
            (lowest // mpc.input([-1], owner=1, dtype=qr.int(8))).reveal()


@pytest.mark.parametrize("dtype", [qr.real, qr.fixed(64, 16), qr.fixed(120, 40)], ids=str)
@pytest.mark.parametrize("trunc", ["probabilistic", "exact"])
def test_a_shadow_multiplies_and_divides_single_numbers(dtype: qr.Dtype, trunc: str) -> None:
    with qr.local("rss", shadow=True, trunc=trunc) as mpc:
        x, y = (mpc.input(value, owner=0, dtype=dtype) for value in (1.5, 2.5))
        made = [x * y, x / y, x * 0.25, x / 3, 1 / x, qr.reciprocal(x), qr.rsqrt(y), x.astype(qr.fixed(64, 8))]
        wanted = [3.75, 0.6, 0.375, 0.5, 2 / 3, 2 / 3, 2.5**-0.5, 1.5]
        assert [float(one.reveal()) for one in made] == pytest.approx(wanted, abs=2**-13)
        with pytest.warns(qr.RangeWarning):
            assert (x / mpc.input(0.0, owner=0, dtype=dtype)).reveal() > 1e9


def test_swaps(mpc: qr.Session) -> None:
    x, y = mpc.input([[1.5, 2], [3, 4]], owner=0), mpc.input([9.0, 8], owner=1)
    low, high = mpc.swap(y < x, x, y)
    same(low.reveal(), [[1.5, 2], [3, 4]])
    same(high.reveal(), [[9, 8], [9, 8]])
    one, other = mpc.swap(mpc.input([True, False], owner=mpc.parties - 1), x, 0)
    same(one.reveal(), [[0, 2], [0, 4]])
    same(other.reveal(), [[1.5, 0], [3, 0]])
    p, q = mpc.swap(x > 1.75, x > 2.5, mpc.constant([True, False]))
    same(p.reveal(), [[False, False], [True, False]])
    same(q.reveal(), [[True, False], [True, True]])
    with pytest.raises(qr.DtypeError, match="must be a bit"):
        mpc.swap(x, x, y)
    both, twice = mpc.swap(y < x, x, y), (mpc.where(y < x, y, x), mpc.where(y < x, x, y))
    cost = [sum(mpc.explain(*pair).online.bytes_sent) for pair in (both, twice)]
    assert cost[0] < cost[1]
