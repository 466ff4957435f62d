"""Selection networks, the largest k, groups; exact means and variances; small systems of equations."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among, stated
from quorate._sorting._selection import _all_sorted, _pruned, _tournament, selection


@pytest.mark.parametrize("count", range(1, 10))
def test_networks_select_of_all_zeros_and_ones(count: int) -> None:
    """A network that is right for all zeros and ones is right for all numbers (Knuth, volume 3, theorem 5.3.4Z)."""
    rows = np.array([*itertools.product([0, 1], repeat=count)]).T
    for k in range(count + 1):
        network, x = selection(count, k), rows.copy()
        for low, high in network.layers:
            assert len({*low, *high}) == 2 * len(low)
            x[low], x[high] = np.minimum(x[low], x[high]), np.maximum(x[low], x[high])
        np.testing.assert_array_equal(x[network.order], np.sort(rows, axis=0)[:k])
        np.testing.assert_array_equal(np.sort(x, axis=0), np.sort(rows, axis=0))


def test_few_take_fewer_comparisons_than_all() -> None:
    whole = sum(len(low) for low, _ in _all_sorted(1000))
    assert [selection(1000, k).comparisons for k in (1, 10, 100)] == [999, 5773, 14694]
    assert all(selection(1000, k).comparisons <= whole for k in (2, 499, 500, 501, 999, 1000))
    with qr.local("spdz2k") as mpc:
        x = mpc.input(np.arange(1000), owner=0)
        some, all_of_them = mpc.explain(x.topk(10)[0]), mpc.explain(x.sort())
        assert 3 * max(some.online.bytes_sent) < max(all_of_them.online.bytes_sent)
        assert some.online.rounds < all_of_them.online.rounds
        middle = mpc.explain(x.median())
        assert max(middle.online.bytes_sent) < max(all_of_them.online.bytes_sent)


@pytest.mark.parametrize("count", [*range(1, 40), 97, 128, 1000])
def test_a_selection_takes_the_fewest_comparisons_of_two_ways(count: int) -> None:
    for k in range(1, count + 1) if count < 40 else (1, 2, 10, count // 4, count // 4 + 1, count // 2, count - 1):
        ways = _pruned(_all_sorted(count), np.arange(k)), _pruned(*_tournament(count, k))
        assert selection(count, k).comparisons == min(way.comparisons for way in ways), f"{k} of {count}"


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_the_largest_and_the_smallest(place: Place) -> None:
    ends = [-(2**63), 2**63 - 1]
    values = np.array([[3, -5, 3, 0, *ends, 3], [1, 1, 1, 1, 1, 1, 1]])
    with among(place) as mpc:
        x = mpc.input(values, owner=0)
        high, where = x.topk(3)
        low, _ = x.topk(2, axis=0, largest=False)
        results = mpc.reveal_all(high, where, low, x.sort(descending=True), x.argsort(descending=True))
        np.testing.assert_array_equal(results[0], [[2**63 - 1, 3, 3], [1, 1, 1]])
        np.testing.assert_array_equal(np.take_along_axis(values, results[1], 1), results[0])
        np.testing.assert_array_equal(results[2], np.sort(values, axis=0))
        np.testing.assert_array_equal(results[3], np.sort(values)[:, ::-1])
        np.testing.assert_array_equal(results[4], [[5, 0, 2, 6, 3, 1, 4], np.arange(7)])


def exact_mean(values: list[int]) -> float:
    """Returns the mean, rounded down to a multiple of 2^-16."""
    return (Fraction(sum(values)) / len(values) * 2**16).__floor__() / 2**16


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_summaries_of_integers_are_exact(place: Place) -> None:
    wide = [2**63 - 1, 2**63 - 1, -(2**63), 2**63 - 5, 2**63 - 1, 7]
    narrow = [2**31 - 1, -(2**31), 5, -(2**31)]
    short = [255, 255, 0, 7, 255]
    with among(place) as mpc:
        x, y = mpc.input(wide, owner=0), mpc.input(narrow, owner=0, dtype=qr.int(32))
        z = mpc.input(short, owner=0, dtype=qr.uint(8))
        found = mpc.reveal_all(x.mean(), y.mean(), z.mean(), y.var(ddof=1), z.var(), z.var(), (z > 9).mean())
    by_hand = [Fraction(sum(v * v for v in w)) - Fraction(sum(w)) ** 2 / len(w) for w in (narrow, short)]
    variances = [(by_hand[0] / 3 * 2**16).__floor__() / 2**16, (by_hand[1] / 5 * 2**16).__floor__() / 2**16]
    assert [float(v) for v in found] == [
        *map(exact_mean, (wide, narrow, short)), *variances, variances[1], exact_mean([1, 1, 0, 0, 1])
    ]  # fmt: skip


def test_sums_of_bounded_integers_are_local() -> None:
    with qr.local("rss") as mpc:
        known, unknown = (mpc.input(np.arange(1024), owner=0, bound=bound) for bound in (1024, None))
        plans = [mpc.explain(known.mean()), mpc.explain(known.sum()), mpc.explain(unknown.mean())]
        sent = [max(plan.online.bytes_sent) for plan in plans]
        assert sent[0] - sent[1] < 200  # one division
        assert 20 * 1024 < sent[2] - sent[1] < 32 * 1024  # a conversion of each element


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_groups(place: Place) -> None:
    keys, values = [1, 0, 1, 1], np.array([[20, 1], [50, 2], [30, 3], [41, 4]])
    with among(place) as mpc:
        k = mpc.input(keys, owner=0, dtype=qr.uint(2), bound=2)
        groups = mpc.group_by(k, 3)
        x, late = mpc.input(values, owner=1), mpc.input([True, False, True, False], owner=1)
        parts = groups.size(), groups.sum(x), groups.mean(x / 2), groups.sum(late), groups.mean(values[:, 0])
        found = mpc.reveal_all(*parts)
    for got, want in zip(
        found,
        [
            [1, 3, 0],
            [[50, 2], [91, 8], [0, 0]],
            [[25, 1], [91 / 6, 4 / 3], [0, 0]],
            [0, 2, 0],
            [50, 91 / 3, 0],
        ],
        strict=True,
    ):
        np.testing.assert_allclose(np.asarray(got, float), want, atol=4 / 65536)


def test_keys_out_of_range_are_told() -> None:
    with qr.local("rss") as mpc, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x = mpc.input([0, 5, -1, 1], owner=0)
        for _ in range(2):
            assert np.bincount(x, minlength=2).reveal().tolist() == [1, 1]
        assert [str(w.message).partition(":")[0] for w in told] == ["group_by"]
        assert "dtype=qr.uint(1), bound=1" in str(told[0].message)
        np.bincount(mpc.input([0, 1], owner=0, dtype=qr.uint(1), bound=1), minlength=2)
        assert len(told) == 1
    with qr.local("rss", strict=True) as mpc, pytest.raises(qr.RangeError, match="count nowhere"):
        mpc.group_by(mpc.input([0, 1], owner=0, bound=1), 2)
    with stated() as mpc:
        x = mpc.input([0, 1], owner=0, dtype=qr.uint(1), bound=1)
        with pytest.raises(qr.ShapeError, match="2 keys, and values of shape"):
            mpc.group_by(x, 2).sum([1, 2, 3])
        with pytest.raises(qr.ShapeError, match="whole number from 1 on, not 0"):
            mpc.group_by(x, 0)
        with pytest.raises(qr.DtypeError, match="takes a secret array of integers"):
            mpc.group_by(x / 2, 2)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_systems_are_solved_however_they_are_conditioned(place: Place) -> None:
    """The determinant is 1, and the condition number about 10^11: floats have three digits left."""
    a = np.array([[63245986, 39088169], [39088169, 24157817]])
    worst = [[1, 1, 1], [1, 1, 2], [1, 2, 1]]
    with among(place) as mpc:
        x = mpc.input(a, owner=0, bound=10**8)
        y = mpc.input(worst, owner=1, bound=2)
        parts = np.linalg.solve(x, [1, 0]), np.linalg.det(x), np.linalg.solve(y, [[3, 0], [4, 1], [4, 2]])
        found = mpc.reveal_all(*parts)
    np.testing.assert_allclose(found[0], [24157817, -39088169], rtol=2**-28)
    assert found[1] == 1
    np.testing.assert_allclose(found[2], [[1, -3], [1, 2], [1, 1]], atol=4 / 65536)


def test_random_systems_are_within_four_units() -> None:
    rng = np.random.default_rng(5)
    with qr.local("rss") as mpc:
        for size in (1, 2, 3, 5):
            a, b = rng.integers(-9, 10, (size, size)), rng.integers(-9, 10, (size, 3)) / 4
            a += 20 * np.eye(size, dtype=int)
            x, y = mpc.input(a, owner=0, bound=30), mpc.input(b, owner=1, bound=3)
            found = mpc.reveal_all(np.linalg.solve(x, y), np.linalg.inv(x), np.linalg.det(x))
            np.testing.assert_allclose(found[0], np.linalg.solve(a, b), atol=4 / 65536)
            np.testing.assert_allclose(found[1], np.linalg.inv(a), atol=4 / 65536)
            np.testing.assert_allclose(found[2], np.linalg.det(a), rtol=1e-9)


def test_a_singular_matrix_saturates_and_its_determinant_is_zero() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([[1, 2], [2, 4]], owner=0, bound=4)
        assert np.linalg.det(x).reveal() == 0
        with pytest.warns(qr.RangeWarning, match="saturation"):
            assert np.abs(np.linalg.inv(x).reveal()).min() > 2**40


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_quantiles_and_means_of_groups_do_not_wrap(place: Place) -> None:
    with among(place) as mpc:
        assert np.median(mpc.input([0, 2**50], owner=0)).reveal() == 2.0**49
        assert np.median(mpc.input([0, 2**39], owner=0, dtype=qr.uint(40))).reveal() == 2.0**38
        assert np.quantile(mpc.input([-(2**62), 2**62], owner=0), 0.25).reveal() == -(2.0**61)
        assert np.median(mpc.input([True, False], owner=0)).reveal() == 0.5
        groups = mpc.group_by(mpc.input([0, 0], owner=0, dtype=qr.uint(1)), 2)
        narrow = mpc.input([200, 100], owner=1, dtype=qr.uint(8))
        assert groups.mean(narrow).reveal().tolist() == [150.0, 0.0]
