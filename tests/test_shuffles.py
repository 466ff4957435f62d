"""Random orders, and orders by key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import quorate as qr
from protocols import among, places


@pytest.fixture(scope="module", params=places(), ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


def test_rows_of_all_dtypes_move_together(mpc: qr.Session) -> None:
    count = 40
    whole = np.arange(count)
    others = [
        (whole[:, None] * 3 + np.arange(2), None),
        (whole / 4, None),
        (whole % 3 == 0, None),
        (np.uint64(2**63) + whole.astype(np.uint64), qr.uint(64)),
        (whole[:, None, None] * np.ones((1, 2, 2), int) % 8, qr.int(5)),
        (np.zeros((count, 0), int), None),
    ]
    x = mpc.input(whole, owner=0)
    given = [mpc.input(a, owner=1, dtype=dtype) for a, dtype in others]
    mixed = mpc.shuffle(x, *given)
    assert isinstance(mixed, tuple)
    assert [y.dtype for y in mixed] == [y.dtype for y in (x, *given)]
    order, *rest = mpc.reveal_all(*mixed)
    assert sorted(order.tolist()) == list(range(count))
    assert order.tolist() != list(range(count))
    for value, (a, _) in zip(rest, others, strict=True):
        assert value.dtype == a.dtype
        np.testing.assert_array_equal(value, a[order])


def test_other_axes_and_short_ones(mpc: qr.Session) -> None:
    a = np.arange(12).reshape(3, 4)
    x = mpc.input(a, owner=0)
    for axis in (0, 1, -1):
        y = mpc.shuffle(x, axis=axis)
        assert isinstance(y, qr.SecretArray)
        got = y.reveal()
        assert got.shape == a.shape
        np.testing.assert_array_equal(np.sort(got, axis), a)
    for shape in ((1, 3), (0, 2), (0,)):
        nothing = mpc.input(np.zeros(shape, int), owner=0)
        np.testing.assert_array_equal(mpc.shuffle(nothing).reveal(), np.zeros(shape, int))  # type: ignore[union-attr]
    public = mpc.shuffle(mpc.constant([1, 2, 3])).reveal()  # type: ignore[union-attr]
    assert sorted(public.tolist()) == [1, 2, 3]


def test_every_order_comes_up(mpc: qr.Session) -> None:
    repeats = 240 if mpc.parties == 3 else 126  # an order is missing once in 10^9 runs of 126
    x = mpc.input([0, 1, 2], owner=0)
    orders = mpc.reveal_all(*(mpc.shuffle(x) for _ in range(repeats)))  # type: ignore[arg-type]
    seen, counts = np.unique(np.array(orders) @ [9, 3, 1], return_counts=True)
    assert len(seen) == 6
    assert counts.max() < repeats / 6 + 8 * (repeats / 6) ** 0.5  # not once in 10^10 runs


def test_one_order_holds_from_run_to_run(mpc: qr.Session) -> None:
    x = mpc.input(np.arange(50), owner=0)
    left, right = mpc.shuffle(x, x)
    doubled = right * 2
    del right
    first = left.reveal()
    del left, x
    mpc.input([1], owner=0).reveal()
    np.testing.assert_array_equal(doubled.reveal(), first * 2)


def test_what_does_not_shuffle(mpc: qr.Session) -> None:
    x = mpc.input([[1, 2]], owner=0)
    with pytest.raises(qr.ShapeError, match="equally many rows"):
        mpc.shuffle(x, mpc.input([1, 2], owner=0))
    with pytest.raises(qr.ShapeError, match="axis"):
        mpc.shuffle(x.sum())
    with pytest.raises(qr.ShapeError, match="axis"):
        mpc.shuffle(x, axis=2)
    for arrays in ((), (np.zeros(3),)):
        with pytest.raises(qr.DtypeError, match="secret"):
            mpc.shuffle(*arrays)  # type: ignore[arg-type]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting_by_key(mpc: qr.Session, axis: int) -> None:
    rng = np.random.default_rng(3)
    keys, far = rng.integers(0, 4, (5, 3)), rng.integers(0, 99, (5, 3, 2)) / 4
    k, f, late = mpc.input(keys, owner=0), mpc.input(far, owner=1), mpc.input(keys > 1, owner=mpc.parties - 1)
    order = np.argsort(keys, axis, kind="stable")
    got = mpc.reveal_all(*mpc.sort(k, f, late, axis=axis))
    np.testing.assert_array_equal(got[0], np.sort(keys, axis))
    np.testing.assert_array_equal(got[1], np.take_along_axis(far, order[..., None], axis % 2))
    np.testing.assert_array_equal(got[2], np.take_along_axis(keys > 1, order, axis))


def test_sorting_by_key_without_its_order(mpc: qr.Session) -> None:
    keys = np.array([2, 0, 1, 0, 2, 1, 0])
    k, v = mpc.input(keys, owner=0), mpc.input(np.arange(7), owner=1)
    ordered, places = mpc.sort(k, v, stable=False)
    stable, unstable = (mpc.explain(*arrays).online.bytes_sent for arrays in (mpc.sort(k, v), (ordered, places)))
    assert sum(unstable) <= sum(stable)  # orders are stable at no cost
    values = mpc.reveal_all(ordered, places)
    np.testing.assert_array_equal(values[0], np.sort(keys))
    np.testing.assert_array_equal(keys[values[1]], np.sort(keys))
    with pytest.raises(qr.ShapeError, match="begin"):
        mpc.sort(k, mpc.input([1, 2], owner=0))
    with pytest.raises(qr.ShapeError, match="axis"):
        mpc.sort(k, axis=1)
    with pytest.raises(qr.DtypeError, match="secret"):
        mpc.sort(k, np.arange(7))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("protocol", "options"), [("rss", {"sharings": "A+B"}), ("aby", {}), ("aby", {"sharings": "Y"})]
)
def test_bits_are_shuffled_with_numbers_in_either_order(protocol: str, options: dict[str, str]) -> None:
    numbers = np.arange(12)
    with qr.local(protocol, **options) as mpc:
        x = mpc.input(numbers, owner=0)
        large, kept = mpc.shuffle(x > 5, x)
        assert sorted(kept.reveal()) == list(numbers)  # the other part is revealed in a run of its own
        assert (large.reveal() == (kept.reveal() > 5)).all()
        kept, large = mpc.shuffle(x, x > 5)
        values, bits = mpc.reveal_all(kept, large)
        assert (bits == (values > 5)).all()
