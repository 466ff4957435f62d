"""The nearest record, against numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from applications import SESSIONS, opened
from protocols import USUAL


@pytest.fixture(scope="module", params=SESSIONS, ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param, strict=True) as session:
        yield session


@pytest.fixture(scope="module", params=USUAL, ids=str)
def smallest(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param) as session:
        yield session


def distances(database: Any, queries: Any) -> np.ndarray:
    """Exact squares, (records, queries)."""
    s, c = np.asarray(database).astype(object), np.atleast_2d(queries).astype(object)
    return ((s[:, None] - c[None]) ** 2).sum(axis=2)


def check(mpc: qr.Session, database: Any, queries: Any, **options: Any) -> None:
    index, far = qr.apps.nearest(mpc, database, queries, **options)
    exact = distances(database, queries)
    wanted = np.argmin(exact, axis=0)
    np.testing.assert_array_equal(np.atleast_1d(index), wanted)
    np.testing.assert_array_equal(np.atleast_1d(far).astype(object), exact.min(axis=0))


@pytest.mark.parametrize("records", [1, 2, 3, 5, 8, 33, 100])
def test_random_records(smallest: qr.Session, records: int) -> None:
    rng = np.random.default_rng(records)
    for dtype, low, high in (
        (qr.uint(8), 0, 255),
        (qr.int(8), -128, 127),
        (qr.int(16), -3, 3),
        (qr.uint(29), 0, 2**29 - 1),
    ):
        for coordinates in (1, 4):
            database = rng.integers(low, high + 1, (records, coordinates))
            check(smallest, database, rng.integers(low, high + 1, (30, coordinates)), dtype=dtype)


def test_the_ends_of_every_range(mpc: qr.Session) -> None:
    for dtype, low, high in (
        (qr.uint(5), 0, 31),
        (qr.int(5), -16, 15),
        (qr.uint(1), 0, 1),
        (qr.uint(29), 0, 2**29 - 1),
    ):
        corners = np.array([[x, y] for x in (low, high) for y in (low, high)])
        check(mpc, corners, corners[::-1], dtype=dtype)
        check(mpc, corners[:1], corners[3], dtype=dtype)
    whole = np.arange(-7, 8)
    check(mpc, whole[:, None], whole[:, None], bound=7)
    check(mpc, whole[:, None], whole[:, None])  # as far as distances fit the dtype


def test_the_first_of_equals(mpc: qr.Session) -> None:
    same = np.array([[5, 5], [1, 1], [3, 3], [1, 1], [1, 1]])
    assert qr.apps.nearest(mpc, same, [1, 2], dtype=qr.uint(4)) == (1, 1)
    assert qr.apps.nearest(mpc, same[::-1], [[1, 2], [9, 9]], dtype=qr.uint(4), distance=False).tolist() == [0, 4]


def test_reals(mpc: qr.Session) -> None:
    rng = np.random.default_rng(5)
    database, queries = rng.normal(size=(40, 3)), rng.normal(size=(60, 3))
    for frac, options in (
        (16, {}),
        (10, {"dtype": qr.fixed(32, 10), "bound": 8.0}),
        (20, {"dtype": qr.fixed(40, 20), "bound": 6}),
    ):
        unit = 2.0**-frac
        rounded = [np.rint(x / unit) * unit for x in (database, queries)]
        exact = ((rounded[0][:, None] - rounded[1][None]) ** 2).sum(axis=2)
        index, far = qr.apps.nearest(mpc, database, queries, **options)
        np.testing.assert_array_equal(index, exact.argmin(axis=0))
        np.testing.assert_array_equal(far, exact.min(axis=0))
    assert qr.apps.nearest(mpc, [[0.001]], [0.0], dtype=qr.fixed(20, 12), bound=0.01) == (0, (4 / 4096) ** 2)


def test_what_is_asked_for_and_by_whom(mpc: qr.Session) -> None:
    faces, face = [[1, 9], [4, 4], [8, 0]], [7, 2]
    kind = {"dtype": qr.uint(4), "owners": (mpc.parties - 1, 0)}
    for to in (0, [1, mpc.parties - 1], "owners", None):
        assert qr.apps.nearest(mpc, faces, face, reveal_to=to, **kind) == (2, 5)
    assert qr.apps.nearest(mpc, lambda: faces, lambda: face, shapes=((3, 2), (2,)), index=False, **kind) == 5
    index, far = qr.apps.nearest(mpc, faces, face, reveal_to="nobody", **kind)
    assert (far < 6).reveal() & (index == 2).reveal()
    _, far = qr.apps.nearest(mpc, [[0.5], [2.0]], [1.25], dtype=qr.fixed(16, 4), reveal_to="nobody")
    assert far.dtype.kind == "fixed"
    assert far.reveal() == 0.5625


def test_what_is_not_near(mpc: qr.Session) -> None:
    nearest = qr.apps.nearest
    refused: list[tuple[type[Exception], str, Any, Any, dict[str, Any]]] = [
        (qr.RangeError, r"coordinate 16 \(index \(0, 1\)\) of party 0 is not from 0 to 15", [[1, 16]], [1, 2], {}),
        (qr.RangeError, r"coordinate -1 .* of party 1", [[1, 2]], [-1, 2], {}),
        (qr.RangeError, "not from -3 to 3", [[1, 4]], [1, 2], {"dtype": qr.int(8), "bound": 3}),
        (qr.RangeError, "nan", [[1.0, np.nan]], [1, 2], {"dtype": qr.fixed(16, 4)}),
        (qr.RangeError, "do not fit 64 bits", [[1, 2]], [1, 2], {"dtype": qr.int(64), "bound": 2**40}),
        (qr.RangeError, "bound must be", [[1, 2]], [1, 2], {"bound": -1}),
        (qr.DtypeError, "real numbers do not go into", [[1.5, 2]], [1, 2], {}),
        (qr.DtypeError, "coordinates are numbers", [[1, 2]], [1, 2], {"dtype": qr.bit}),
        (qr.DtypeError, "coordinates are numbers", [[True, False]], [1, 2], {}),
        (qr.ShapeError, "coordinates must match", [[1, 2, 3]], [1, 2], {}),
        (qr.ShapeError, "coordinates must match", np.zeros((0, 2), int), [1, 2], {}),
        (qr.ShapeError, "arrays of dimension 2", [1, 2], [1, 2], {}),
        (qr.ShapeError, "was stated", [[1, 2]], [1, 2], {"shapes": ((2, 2), None)}),
        (qr.ConfigError, "party 0 is here", None, [1, 2], {"shapes": ((2, 2), None)}),
        (qr.ConfigError, "shapes are those", [[1, 2]], [1, 2], {"shapes": 3}),
        (qr.ConfigError, "ask for the index", [[1, 2]], [1, 2], {"index": False, "distance": False}),
    ]
    for error, words, database, query, options in refused:
        with pytest.raises(error, match=words):
            nearest(mpc, database, query, **{"dtype": qr.uint(4), **options})
    assert nearest(mpc, [[1, 2]], [1, 2], dtype=qr.uint(4)) == (0, 0)


def test_bounds_make_comparisons_cheap(smallest: qr.Session) -> None:
    def cost(**options: Any) -> int:
        database = np.arange(256).reshape(64, 4) % 8
        found = qr.apps.nearest(smallest, database, database[:8], reveal_to="nobody", **options)
        return sum(smallest.explain(*found).online.bytes_sent)

    assert 2 * cost(dtype=qr.uint(3)) < cost(dtype=qr.uint(14)) < cost()
    assert cost(dtype=qr.uint(4)) == cost(dtype=qr.int(64), bound=8)
