"""Running results: products, minima, maxima and bits of all elements up to each, in few rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import stated
from quorate._families import FAMILIES

VALUES = np.array([[3, -5, 2, 2, -1, 7, 0], [1, 1, 2, -3, 5, -8, 4]])


@pytest.mark.parametrize("family", FAMILIES)
def test_running_results_are_numpys(family: str) -> None:
    with stated(family) as mpc:
        x, late = mpc.input(VALUES, owner=0, bound=8), mpc.input(VALUES > 0, owner=1)
        found = mpc.reveal_all(
            x.cumprod(axis=1),
            x[0, :3].cumprod(),
            np.maximum.accumulate(x, axis=1),
            np.minimum.accumulate(x),
            np.logical_and.accumulate(late, axis=1),
            np.logical_or.accumulate(late),
            np.add.accumulate(x),
        )
    wanted: list[Any] = [
        np.cumprod(VALUES, axis=1),
        np.cumprod(VALUES[0, :3]),
        np.maximum.accumulate(VALUES, axis=1),
        np.minimum.accumulate(VALUES),
        np.logical_and.accumulate(VALUES > 0, axis=1),
        np.logical_or.accumulate(VALUES > 0),
        np.add.accumulate(VALUES),
    ]
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 13])
def test_any_number_of_elements(count: int) -> None:
    values = np.arange(1, count + 1) / 4
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0, bound=4)
        np.testing.assert_allclose(x.cumprod().reveal(), np.cumprod(values), atol=2**-10)
        np.testing.assert_array_equal(np.maximum.accumulate(-x).reveal(), np.maximum.accumulate(-values))


def test_rounds_grow_with_the_logarithm() -> None:
    with qr.local("rss") as mpc:
        rounds = [mpc.explain(mpc.input(np.ones(n, int), owner=0).cumprod()).online.rounds for n in (2, 4, 16, 256)]
        assert np.diff(rounds).tolist() == [1, 2, 4]
        best = np.maximum.accumulate(mpc.input(np.arange(64), owner=0, bound=64))
        chain = mpc.explain(mpc.maximum(mpc.input(1, owner=0, bound=64), 3)).online.rounds
        assert mpc.explain(best).online.rounds <= 6 * chain


def test_survivals_are_shares() -> None:
    """Kaplan and Meier: products of shares in [0, 1] stay in 64 bits, for any number of shares."""
    died, n = np.array([1, 0, 2, 1, 0, 3] * 10), 200
    at_risk = n - np.concatenate([[0], np.cumsum(died)[:-1]])
    with qr.local("rss", strict=True) as mpc:
        shares = 1 - mpc.input(died / at_risk, owner=0, bound=(0, 1))
        survival = shares.cumprod()
        assert survival.dtype.bits == 64
        np.testing.assert_allclose(survival.reveal(), np.cumprod(1 - died / at_risk), atol=1e-3)
