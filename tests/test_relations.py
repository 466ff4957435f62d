"""Joins and groups by secret keys, against dictionaries."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_a_join_and_sums(place: Place) -> None:
    left, right = [7, 9, -(2**63), 7, 2**63 - 1], [5, 7, 2**63 - 1, -(2**63)]
    values, late = [1.5, 2.5, -3.0, 4.0], [True, False, True, True]
    with among(place) as mpc:
        x, y = mpc.input(left, owner=0), mpc.input(right, owner=1)
        joined = mpc.join(x, y, mpc.input(values, owner=1), mpc.input(late, owner=1))
        sums = mpc.group_sums(x, mpc.input([1, 2, 3, 4, 5], owner=1), mpc.input([True] * 5, owner=1))
        parts = joined.matched, *joined.values, joined.unique, sums.counts, sums.keys, sums.sizes, *sums.sums
        found = [np.asarray(v).tolist() for v in mpc.reveal_all(*parts)]
    assert found[:4] == [
        [True, False, True, True, True], [2.5, 0, 4, 2.5, -3], [False, False, True, False, True], True
    ]  # fmt: skip
    assert found[4:] == [
        [True, False, True, True, True], [-(2**63), 0, 7, 9, 2**63 - 1],
        [1, 0, 2, 1, 1], [3, 0, 5, 2, 5], [1, 0, 2, 1, 1],
    ]  # fmt: skip


def test_random_ones_of_every_size() -> None:
    rng = np.random.default_rng(3)
    with qr.local("rss") as mpc:
        for n, m in [(0, 3), (3, 0), (1, 1), (2, 5), (9, 4), (6, 13)]:
            left, right = rng.integers(0, 12, n), rng.permutation(14)[:m]
            values = rng.integers(-9, 10, m)
            x, y = (mpc.input(v, owner=0, dtype=qr.uint(4)) for v in (left, right))
            joined = mpc.join(x, y, mpc.input(values, owner=1, dtype=qr.int(64)))
            table = dict(zip(right.tolist(), values.tolist(), strict=True))
            assert joined.matched.reveal().tolist() == [k in table for k in left.tolist()]
            assert joined.values[0].reveal().tolist() == [table.get(k, 0) for k in left.tolist()]
            assert joined.unique.reveal()
            by_key = mpc.group_sums(x, x.astype(qr.int(64)))
            keys, counts = np.unique(left, return_counts=True)
            shown = by_key.counts.reveal()
            assert by_key.keys.reveal()[shown].tolist() == keys.tolist()
            assert by_key.sizes.reveal()[shown].tolist() == counts.tolist()
            assert by_key.sums[0].reveal()[shown].tolist() == (keys * counts).tolist()


def test_keys_that_are_there_twice_are_told() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([1, 1, 2], owner=0)
        assert not mpc.join(x, x).unique.reveal()
        assert mpc.join(x, x[1:]).unique.reveal()
        # Without left rows, right keys are still checked for duplicates.
        for right, unique in ((x, False), (x[1:], True), (x[:1], True), (x[:0], True)):
            joined = mpc.join(x[:0], right, right)
            assert bool(joined.unique.reveal()) is unique and joined.matched.shape == joined.values[0].shape == (0,)


def test_what_is_refused() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([1, 2], owner=0)
        for bad, message in [
            (lambda: mpc.join(x / 2, x), "keys are secret integers"),
            (lambda: mpc.join(x, [1, 2]), "keys are secret integers"),
            (lambda: mpc.join(x.reshape(1, 2), x), "one axis"),
            (lambda: mpc.join(x, x, x[:1]), "2 keys, and values of shape"),
            (lambda: mpc.group_sums(x, [1, 2]), "values are secret arrays"),
        ]:
            with pytest.raises(qr.QuorateError, match=message):
                bad()


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_missing_keys_match_nothing(place: Place) -> None:
    left, right = [-1, 7, -1, 5], [-1, 7, -1]
    with among(place) as mpc:
        x, y = mpc.input(left, owner=0), mpc.input(right, owner=1)
        found = mpc.join(x, y, mpc.input([10, 20, 30], owner=1))
        assert [v.reveal().tolist() for v in (found.matched, *found.values, found.unique)] == [
            [False, True, False, False], [0, 20, 0, 0], True
        ]  # fmt: skip


def test_which_number_is_a_missing_key_can_be_stated() -> None:
    with qr.local("rss") as mpc:
        x, y = mpc.input([-1, 0, 7], owner=0), mpc.input([0, -1, 0], owner=1)
        for missing, matched, unique in ((0, [True, False, False], True), (None, [True, True, False], False)):
            found = mpc.join(x, y, missing=missing)
            assert found.matched.reveal().tolist() == matched
            assert bool(found.unique.reveal()) is unique
            assert bool(mpc.join(x[:0], y, missing=missing).unique.reveal()) is unique
        with pytest.raises(qr.DtypeError, match="stands for no key"):
            mpc.join(x, y, missing="none")


def test_keys_that_cannot_be_missing_cost_nothing_for_it() -> None:
    def plan(**options: int | None) -> qr.Plan:
        with qr.local("rss") as mpc:
            x = mpc.input([3, 1], owner=0, dtype=qr.uint(8))
            return mpc.explain(mpc.join(x, x, **options).matched)

    assert plan().online.bytes_sent == plan(missing=None).online.bytes_sent


def test_a_date_before_1970_is_a_key() -> None:
    days = {"day": ["1969-12-31", "1970-01-02"]}
    with qr.local("rss") as mpc:
        one, other = (mpc.input_frame(days, owner=i, columns={"day": datetime.date}) for i in (0, 1))
        assert mpc.join(one["day"], other["day"]).matched.reveal().all()
