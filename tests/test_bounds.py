"""Bounds that users state and facts proven from them: lowest and highest values, look-ups by secret positions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import quorate as qr
from protocols import stated
from quorate._families import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lowest_and_a_highest_value(family: str) -> None:
    with stated(family) as mpc:
        x = mpc.input([0, 3, 2], owner=0, bound=(0, 3))
        y = mpc.input([-0.5, 2.0], owner=0, bound=[-0.5, 2])
        assert x._session._native.range(x._node) == (0, 3)
        assert y._session._native.range(y._node) == (-(2**15), 2 << 16)
        assert (x * 2).reveal().tolist() == [0, 6, 4]
        assert (y < 0).reveal().tolist() == [True, False]
        with pytest.raises(qr.RangeError, match=r"value -1 .* none from 0 to 3.*bound=.-1, 3. holds all"):
            mpc.input([-1, 3], owner=0, bound=(0, 3))


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ((3, 0), r"write the lowest value first, bound=\(0, 3\)"),
        ((0, 1, 2), "or the lowest and the highest value"),
        ((0, "3"), "or the lowest and the highest value"),
        ((0, float("nan")), "finite"),
        ((-300, 5), "not a lowest and a highest value that int.8. can hold"),
        (-1, "from 0 on"),
    ],
)
def test_bounds_that_are_none(bound: object, message: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match=message):
        mpc.input([1, 2], owner=0, dtype=qr.int(8), bound=bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_picked_lies_where_the_table_does(family: str) -> None:
    """At most one position is hot, so no value leaves the dtype, for tables of any size."""
    table, places = np.array([2**62, -(2**62), 5, 7] * 25), np.array([3, 99, 0, 1000])
    right = [7, 7, 2**62, 0]
    with qr.local(family, strict=True) as mpc, warnings.catch_warnings():
        warnings.simplefilter("error")
        x, i = mpc.input(table, owner=0, bound=2**62), mpc.input(places, owner=1, bound=1000)
        ways = [
            mpc.take(x, i),
            mpc.one_hot(i, 100) @ x,
            (mpc.one_hot(i, 100) * x).sum(axis=1),
            mpc.where(mpc.one_hot(i, 100), x, 0).sum(axis=1),
            qr.lookup(i, x),
        ]
        for picked in ways:
            assert picked._session._native.range(picked._node) == (-(2**62), 2**62)
        assert [values.tolist() for values in mpc.reveal_all(*ways)] == [right] * len(ways)
        rows = mpc.take(x.reshape(50, 2), i, axis=0)
        assert rows.reveal().tolist() == [[5, 7], [0, 0], [2**62, -(2**62)], [0, 0]]


def test_comparisons_behind_a_look_up_cost_what_the_table_takes() -> None:
    with qr.local("rss") as mpc:
        x, i = mpc.input(np.arange(50), owner=0, bound=50), mpc.input([3, 7], owner=1)
        plain = mpc.input([3, 7], owner=0, bound=50)
        looked_up, compared = (mpc.explain(mpc.take(x, i) > 9), mpc.explain(mpc.take(x, i)))
        behind = max(looked_up.online.bytes_sent) - max(compared.online.bytes_sent)
        alone = max(mpc.explain(plain > 9).online.bytes_sent) - max(mpc.explain(plain).online.bytes_sent)
        assert behind <= alone + 8


def test_a_matrix_without_an_axis_is_said_to_be_flattened() -> None:
    with qr.local("rss") as mpc:
        x, i = mpc.input([[1, 2], [3, 4]], owner=0), mpc.input([1, 2], owner=1)
        with pytest.warns(qr.InputWarning, match="flattened array, as in numpy.*write axis=0 for rows") as said:
            for _ in range(3):
                assert mpc.take(x, i).reveal().tolist() == [2, 3]
        assert len(said) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert mpc.take(x, i - 1, axis=0).reveal().tolist() == [[1, 2], [3, 4]]
            assert mpc.take(x.reshape(-1), i).reveal().tolist() == [2, 3]


def test_a_loop_is_warned_of_once() -> None:
    with qr.local("rss", check=False) as mpc:
        x = mpc.input([3], owner=0, dtype=qr.int(16), bound=100)
        y = mpc.input([2.0], owner=0, dtype=qr.fixed(64, 16))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(20):
                x = x * 7
            for _ in range(20):
                y = y * mpc.constant([1.0]) + 1e-7
        assert [str(w.message).split()[0] for w in said] == ["mul", "value"]
    with qr.local("rss") as mpc:
        zero = mpc.input([0.0], owner=0, dtype=qr.fixed(64, 16))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(5):
                (mpc.input([k + 1.0], owner=0, dtype=qr.fixed(64, 16)) / zero).reveal()
        assert sorted(str(w.message).split()[0] for w in said) == ["divide", "reveal:"]
    for shadow in (False, True):
        with qr.local("rss", shadow=shadow) as mpc:
            small = mpc.input([0.004, -0.0065, 0.005], owner=0)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                for k in range(1, 5):
                    (small * (small * k)).reveal()
            assert [str(w.message).split()[0] for w in said] == ["mul"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda x: (x, 1), r"1, argument 2 of 2, is no secret array: write to=1"),
        (lambda x: ([x, x],), r"not a list: write reveal_all\(\*arrays\)"),
        (lambda x: (x, x, "age"), "here is a str, argument 3 of 3: leave it out"),
        (lambda x: (x, [3]), "^reveal_all takes secret arrays, and here is a list, argument 2 of 2: leave it out"),
    ],
)
def test_what_is_not_revealed_is_named(arguments: object, message: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.DtypeError, match=message):
        mpc.reveal_all(*arguments(mpc.input([3], owner=0)))  # type: ignore[operator]


def test_terciles_of_integers() -> None:
    values = np.array([2**62, -(2**61), 7, 5, 2**40, 12, -3])
    with qr.local("rss") as mpc:
        wide = mpc.input(values, owner=0).quantile([1 / 3, 2 / 3]).reveal()
        np.testing.assert_array_equal(wide, np.quantile(values, [1 / 3, 2 / 3]))
        few = mpc.input([1, 2, 4, 9, 11], owner=0, bound=100)
        np.testing.assert_allclose(
            few.quantile([1 / 3, 0.1, 0.123456789]).reveal(), [8 / 3, 1.4, 1.493827156], atol=2**-15
        )


def test_what_is_swapped_may_be_in_rings_of_their_own() -> None:
    """The smaller of both is proven to fit 64 bits, the larger is not."""
    with qr.local("rss") as mpc:
        x, y = mpc.input([1e18, 2.0], owner=0, bound=(0, 2**70)), mpc.input([3.0, -1.0], owner=1, bound=(-1, 3))
        low, high = mpc.swap(y < x, x, y)
        assert (low.dtype.bits, high.dtype.bits) == (64, 96)
        assert low.reveal().tolist() == [3.0, -1.0]
        assert high.reveal().tolist() == [1e18, 2.0]
