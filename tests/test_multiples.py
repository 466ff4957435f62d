"""Products with public reals, and quotients by them, are close to the real results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from protocols import stated

PLENTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
KINDS = [(64, 16), (64, 30), (40, 8), (20, 12), (12, 0)]


@pytest.fixture(scope="module", params=[3, 5, 7], ids="{} parties".format)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with stated("rss", parties=request.param) as session:
        yield session


@pytest.fixture(scope="module")
def three() -> Iterator[qr.Session]:
    with stated("rss") as session:
        yield session


def reals(largest: float) -> st.SearchStrategy[float]:
    small = st.sampled_from([0.1, 0.7, 1 / 3, 1.1, 1e-5, 0.5, 2.5, 3.0, 255.0, 1e-9])
    size = st.one_of(small, st.floats(1e-6, 1e6)).filter(lambda c: c <= largest)
    return st.builds(lambda c, sign: c * sign, size, st.sampled_from([1.0, -1.0]))


def units_of(x: float, f: int) -> Fraction:
    return Fraction(x) * 2**f


@PLENTY
@given(data=st.data(), kind=st.sampled_from(KINDS), bounded=st.booleans())
def test_results_are_within_a_unit(mpc: qr.Session, data: Any, kind: tuple[int, int], bounded: bool) -> None:
    k, f = kind
    most = (1 << (k - 1)) - 1
    reach = data.draw(st.integers(1, min(most, 1 << 50))) if bounded else min(most, 1 << 52)
    units = [*data.draw(st.lists(st.integers(-reach, reach), min_size=3, max_size=6)), reach, -reach, 0, 1, -1]
    x = mpc.input(np.array(units) / 2.0**f, owner=0, dtype=qr.fixed(k, f), bound=reach / 2**f if bounded else None)
    shape = data.draw(st.sampled_from([(), (1,), (2, 1)]))
    c = np.array(data.draw(st.lists(reals(most / 2**f), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))))
    c = c.reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qr.RangeWarning)
        answers = mpc.reveal_all(c * x, x / c)
    every = np.broadcast_to(c, answers[0].shape)
    held = all(units_of(v, f).denominator == 1 for v in c.ravel())
    for place in np.ndindex(answers[0].shape):
        unit, by = units[place[-1]], Fraction(float(every[place]))
        product, quotient = (units_of(float(answer[place]), f) for answer in answers)
        if abs(unit * by) * (2**f if held else 1) < most and abs(unit * by) < 1 << 52:
            assert abs(product - unit * by) <= (1 if held else Fraction(3, 4)), (unit, by)
        if abs(unit / by) < 1 << 52:
            exact = max(min(unit / by, Fraction(most)), Fraction(-most))
            assert abs(quotient - exact) <= 1, (unit, by)


def test_what_users_expect_of_tenths(mpc: qr.Session) -> None:
    x = mpc.input([10.0, -10.0, 123456.75, 1.0, 0.0], owner=0)
    np.testing.assert_array_equal((x * 0.7).reveal()[:2], [7, -7])
    np.testing.assert_array_equal((x / 0.1).reveal(), [100, -100, 1234567.5, 10, 0])
    np.testing.assert_array_equal((x / 10).reveal()[[0, 1, 4]], [1, -1, 0])
    np.testing.assert_array_equal((x * 1e-6 / 1e-6).reveal()[4:], [0])
    np.testing.assert_array_equal((x / [2.5, 5, 3, 0.25, 0.1]).reveal(), [4, -2, 41152.25, 4, 0])
    large = mpc.input([1e9, -3.0], owner=1) * 0.001
    assert abs(large.reveal() - [1e6, -0.003]).max() <= 2.0**-16
    same = (mpc.input(2.0, owner=0) * np.float32(0.1)).reveal()
    assert abs(same - 2.0 * float(np.float32(0.1))) <= 2.0**-16


def test_quotients_of_fine_numbers_without_room_are_near(mpc: qr.Session) -> None:
    values, by = np.array([1.5, -2.25, 2.0**20]), 32 + 381 / 2.0**30
    x = mpc.input(values, owner=0, dtype=qr.fixed(64, 30))
    assert np.abs((x / by).reveal() - values / by).max() <= 2.0**-30


def test_quotients_that_do_not_fit_are_the_largest_element(mpc: qr.Session) -> None:
    x = mpc.input([2.0**46, -(2.0**46), 2.0**43, -1.0, -(2.0**47)], owner=0)
    largest = (2**63 - 1) / 2**16
    for c in (0.1, 0.25):
        wanted = np.array([largest, -largest, 2.0**43 / c, -1 / c, -largest])
        np.testing.assert_allclose((x / c).reveal(), wanted, rtol=2.0**-50)
        np.testing.assert_allclose((x / -c).reveal(), -wanted, rtol=2.0**-50)
    mixed = (x / [0.1, 1.0, 0.1, -2.0, 1.5]).reveal()
    np.testing.assert_allclose(mixed, [largest, -(2.0**46), 2.0**43 / 0.1, 0.5, -(2.0**47) / 1.5], rtol=2.0**-50)


def test_bounds_keep_multiples_in_their_ring(three: qr.Session) -> None:
    def sent(y: qr.SecretArray) -> int:
        return sum(three.explain(y).online.bytes_sent)

    free, bounded = (three.input(np.ones(1000), owner=0, bound=bound) for bound in (None, 1000))
    held = sent(bounded * 0.5)
    for y in (bounded * 0.1, bounded / 10, bounded * 1000.1, bounded / 3.3):
        assert sent(y) == pytest.approx(held, rel=0.02), "a truncation, by a few bits more or less"
    assert three.explain(bounded / 0.1).online.bytes_sent == three.explain(bounded * 10).online.bytes_sent
    assert held < sent(free * 0.1) < 3 * held
    assert three.explain(free / 7).online.rounds < three.explain(free / 2.5).online.rounds < 40


def test_multiples_cost_what_was_planned() -> None:
    for bound in (None, 1000):
        with stated("rss") as mpc:
            x = mpc.input(np.ones(100), owner=0, bound=bound)
            mpc.reveal_all(x * 0.1, x / 0.1, x / 2.5, x / 7, x / 0.25, x @ np.full(100, 0.3))
            stats = mpc.stats()
            assert stats.predicted is not None
            assert stats.online.bytes_sent == stats.predicted.online.bytes_sent
            assert stats.online.rounds == stats.predicted.online.rounds
            assert stats.offline.bytes_sent == stats.predicted.offline.bytes_sent


@pytest.mark.parametrize("trunc", ["exact", "probabilistic"])
def test_numpy_beside_multiples(trunc: Any) -> None:
    with stated("rss", shadow=True, trunc=trunc) as mpc:
        a, by, times = np.array([[1.5, -999.25, 0.0], [3.0, 2.0**-9, 1000.0]]), [0.3, 2.5, 7], np.array([[0.1], [1e-4]])
        for bound in (None, 1000):
            x = mpc.input(a, owner=0, bound=bound)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                y = (x * 0.1).sum() + (x / by).sum() + (x * times).sum()
            assert abs(y.reveal() - ((a * 0.1).sum() + (a / by).sum() + (a * times).sum())) < 20 / 2**16
        x = mpc.input([2.0**46], owner=0)
        with pytest.warns(qr.RangeWarning, match="do not fit"):
            (x / 0.1).reveal()
        with pytest.raises(qr.ShadowError, match="wrapped"):
            (x * 3.3).reveal()


def test_probabilistic_multiples_are_counted() -> None:
    with stated("rss", trunc="probabilistic") as mpc:
        free, bounded = (mpc.input(np.ones(10), owner=0, bound=bound) for bound in (None, 1000))
        plan = mpc.explain(free * 0.1 + bounded * 0.1)
        assert plan.truncations.probabilistic == 20
        assert plan.truncations.assumed == 0, "the ring is chosen so that products are proven to fit"
        assert plan.truncations.failure_probability == 0


def test_matrices_of_public_reals(mpc: qr.Session) -> None:
    rng = np.random.default_rng(5)
    a, w = rng.uniform(-1, 1, (6, 8)), rng.uniform(-1, 1, (8, 3))
    a = np.rint(a * 2**16) / 2**16
    for bound, units in ((1, 0.75), (None, 8)):
        x = mpc.input(a, owner=0, bound=bound)
        assert abs((x @ w).reveal() - a @ w).max() * 2**16 <= units + 1e-6
        assert abs((w.T @ x.T).reveal() - w.T @ a.T).max() * 2**16 <= units + 1e-6
    assert abs((mpc.input(a[0], owner=0, bound=1).dot(w)).reveal() - a[0] @ w).max() * 2**16 <= 0.75 + 1e-6
    with pytest.warns(qr.RangeWarning, match="becomes 0"):
        mpc.input(a, owner=0) @ (w * 1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = mpc.input(a, owner=0, bound=1) @ (w * 1e-3)
    assert abs(small.reveal() - a @ w * 1e-3).max() * 2**16 <= 0.75 + 1e-6


def test_only_what_is_rounded_is_warned_of(three: qr.Session) -> None:
    x = three.input([1.5], owner=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x * 1e-6, x / 1e-6, x / 1e-9, x * 1e-300
    with pytest.warns(qr.RangeWarning, match="becomes 0"):
        x + 1e-6
    with pytest.raises(qr.RangeError, match=r"value 1.00000e-300 \(index 0\) becomes 0 in fixed\(64, 16\)"):
        x / 1e-300
    with pytest.raises(qr.RangeError, match="/ by zero has no value: check the divisors"):
        x / 0
    assert (x * 1e18).dtype.bits > 64  # a dtype that holds both
    with stated("rss", strict=True) as strict:
        y = strict.input([1.5], owner=0, bound=1000)
        (y * 0.1 + y / 0.1 + y / 1e-6).reveal()
        with pytest.raises(qr.RangeError, match="scale may leave"):
            strict.input([1.5], owner=0, bound=2**40) * 1000.1


def test_more_fractional_bits_than_real_functions_take(mpc: qr.Session) -> None:
    x = mpc.input([1.0, -1.0], owner=0, dtype=qr.fixed(64, 40))
    np.testing.assert_array_equal((x / 10).reveal(), np.floor(np.array([1, -1]) * 2**40 / 10) / 2**40)
    assert abs((x * 0.1).reveal() - [0.1, -0.1]).max() <= 2.0**-41
    assert (x / x).reveal().tolist() == [1.0, 1.0]
    with pytest.raises(qr.DtypeError, match="at most 16 fractional bits"):
        qr.exp(x)


def test_rounding_is_numpys(mpc: qr.Session) -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.499, -0.501, 7.25, -7.75, 0.0, 1e9 + 0.5, 123456.5])
    values = np.rint(values * 2**16) / 2**16
    for bound in (None, 2e9):
        x = mpc.input(values, owner=0, bound=bound)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rounded = x.round()
        assert rounded.dtype == x.dtype
        np.testing.assert_array_equal(rounded.reveal(), np.round(values))
    np.testing.assert_array_equal(round(x[:3]).reveal(), [0, 2, 2])
    assert round(x[0], 0).reveal() == 0
    assert mpc.input(3, owner=0).round().reveal() == 3
    assert (mpc.input(3, owner=0) > 1).round().dtype == qr.bit
    with pytest.raises(qr.RangeError, match="decimals must be 0, not 2"):
        x.round(2)


def test_arrays_without_axes_have_no_length(three: qr.Session) -> None:
    x = three.input(2.5, owner=0)
    with pytest.raises(TypeError, match="of an array without axes"):
        len(x)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        iter(x)


def test_rounding_under_a_shadow_and_strict_rules() -> None:
    with stated("rss", shadow=True) as mpc:
        x = mpc.input([2.5, -3.5, 4.25], owner=0, bound=100)
        np.testing.assert_array_equal(x.round().reveal(), [2, -4, 4])
    with stated("rss", strict=True) as mpc:
        x = mpc.input([2.5, -3.5, 4.25], owner=0, bound=100)
        np.testing.assert_array_equal((x.round() * 1000).reveal(), [2000, -4000, 4000])
