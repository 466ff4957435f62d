"""Look-ups of secret numbers in public tables, on every family."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, among


@pytest.fixture(scope="module", params=[*USUAL, *FORMS], ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def units(values: Any, frac: int) -> np.ndarray:
    return np.asarray(np.rint(np.asarray(values) * 2.0**frac))


def test_a_whole_domain_is_within_half_a_unit(mpc: qr.Session) -> None:
    """All numbers of 10 bits, and some beyond: at most 0.5 units from the function."""
    x = np.arange(-700, 700) / 64
    secret = mpc.input(x, owner=0, dtype=qr.fixed(32, 6))
    found = qr.lookup(secret, sigmoid, domain=(-8, 8), dtype=qr.fixed(32, 20)).reveal()
    exact = sigmoid(np.clip(x, -8, 8 - 1 / 64))
    assert np.abs(found - exact).max() * 2**20 <= 0.5
    np.testing.assert_array_equal(found * 2**20, units(exact, 20))


def test_what_is_proven_needs_no_domain(mpc: qr.Session) -> None:
    x = np.array([[0, 1, 255], [7, 200, 128]])
    secret = mpc.input(x, owner=1, dtype=qr.uint(8))
    squares = qr.lookup(secret, lambda v: v * v % 251)
    assert squares.dtype == qr.uint(8)
    np.testing.assert_array_equal(squares.reveal(), x * x % 251)
    bounded = mpc.input([-3, 0, 3], owner=0, bound=3)
    np.testing.assert_array_equal(qr.lookup(bounded, np.abs).reveal(), [3, 0, 3])


def test_tables_give_bits_and_take_them(mpc: qr.Session) -> None:
    x = mpc.input([1, 2, 7, 11], owner=0, dtype=qr.int(8))
    primes = [n > 1 and all(n % d for d in range(2, n)) for n in range(16)]
    prime = qr.lookup(x, primes)
    assert prime.dtype == qr.bit
    np.testing.assert_array_equal(prime.reveal(), [False, True, True, True])
    chosen = qr.lookup(prime, lambda bit: 40 + 2 * bit, dtype=qr.int(16))
    np.testing.assert_array_equal(chosen.reveal(), [40, 42, 42, 42])


def test_functions_of_one_number(mpc: qr.Session) -> None:
    x = np.array([1.0, 2.5, 3.75])
    secret = mpc.input(x, owner=0, dtype=qr.fixed(24, 4))
    found = qr.lookup(secret, math.lgamma, domain=(1, 4))
    np.testing.assert_array_equal(units(found.reveal(), 4), units([math.lgamma(v) for v in x], 4))


def test_wide_and_constant_tables(mpc: qr.Session) -> None:
    x = mpc.input([0, 3, 9], owner=0, dtype=qr.int(16))
    wide = qr.lookup(x, lambda v: int(v) ** 25, domain=(0, 10), dtype=qr.int(96))
    assert wide.reveal().tolist() == [0, 3**25, 9**25]
    same = qr.lookup(x, lambda v: 5, domain=(0, 10))
    np.testing.assert_array_equal(same.reveal(), [5, 5, 5])
    lone = qr.lookup(x, [7], domain=(4, 5))
    np.testing.assert_array_equal(lone.reveal(), [7, 7, 7])


def test_fewer_bits_of_a_number(mpc: qr.Session) -> None:
    x = np.array([-4.0, -0.0625, 0.0, 0.0624, 0.0625, 3.999])
    secret = mpc.input(x, owner=0, dtype=qr.fixed(32, 16))
    found = qr.lookup(secret, np.exp, domain=(-4, 4), dtype=qr.fixed(32, 12), input_bits=7)
    cells = np.floor(x * 16) / 16
    np.testing.assert_array_equal(units(found.reveal(), 12), units(np.exp(cells), 12))


def test_tables_of_two_numbers(mpc: qr.Session) -> None:
    x, y = np.array([[0.0], [1.5], [-2.0]]), np.array([0, 3, 9])
    a = mpc.input(x, owner=0, dtype=qr.fixed(16, 4))
    b = mpc.input(y, owner=mpc.parties - 1, dtype=qr.uint(8))
    found = qr.lookup((a, b), lambda u, v: u * v - u, domain=((-2, 2), (0, 5)), dtype=qr.fixed(24, 4))
    inside = np.clip(y, 0, 4)
    np.testing.assert_array_equal(found.reveal(), x * inside - x)
    matrix = np.arange(12).reshape(3, 4) ** 2
    rows, columns = (mpc.input(v, owner=0, dtype=qr.int(8)) for v in ([0, 1, 2, 2], [3, 0, 1, 3]))
    np.testing.assert_array_equal(qr.lookup((rows, columns), matrix, dtype=qr.int(16)).reveal(), [9, 16, 81, 121])
    with pytest.raises(qr.RangeError, match=r"entry of \(0\.0, 0\) is nan"):
        qr.lookup((a, b), lambda u, v: u / v, domain=((0, 1), (0, 5)))
    with pytest.raises(qr.ShapeError, match="one for each"):
        qr.lookup((a, b), lambda u, v: u, domain=((0, 1),))
    with pytest.raises(qr.ShapeError, match="an axis for each of 2"):
        qr.lookup((rows, columns), [1, 2, 3])


def test_tables_that_are_secret(mpc: qr.Session) -> None:
    table = mpc.input([7, -2, 11], owner=mpc.parties - 1)
    place = mpc.input([[2], [0]], owner=0, dtype=qr.uint(4))
    np.testing.assert_array_equal(qr.lookup(place, table).reveal(), [[11], [7]])
    with pytest.raises(qr.RangeError, match="count from 0"):
        qr.lookup(place, table, domain=(0, 3))


def test_mistakes_are_told_when_the_program_is_built(mpc: qr.Session) -> None:
    x = mpc.input([1.0], owner=0, dtype=qr.fixed(32, 8))
    n = mpc.input([1], owner=0, dtype=qr.int(32))
    with pytest.raises(qr.RangeError, match=r"entry of 0\.0 is -inf, not a finite number"):
        qr.lookup(x, np.log, domain=(0, 1))
    with pytest.raises(qr.RangeError, match=r"no value at -1\.0 \(ValueError: .*domain"):
        qr.lookup(x, math.log, domain=(-1, 1))
    with pytest.raises(qr.RangeError, match="does not fit fixed"):
        qr.lookup(x, lambda v: 1e9 * v, domain=(0, 1))
    with pytest.raises(qr.DtypeError, match=r"lookup of 5: give a function, an array of entries.*test_lookups"):
        qr.lookup(n, 5, domain=(0, 2))  # type: ignore[arg-type]
    with pytest.raises(qr.RangeError, match="state domain"):
        qr.lookup(x, np.exp)
    with pytest.raises(qr.RangeError, match=r"268435456 entries.*smaller domain"):
        qr.lookup(n, np.abs, domain=(0, 1 << 28))
    with pytest.raises(qr.RangeError, match="no number of"):
        qr.lookup(n, np.abs, domain=(3, 3))
    with pytest.raises(qr.RangeError, match="lowest number, and the number"):
        qr.lookup(n, np.abs, domain=(3,))  # type: ignore[arg-type]
    with pytest.raises(qr.RangeError, match="1 to 26 bits"):
        qr.lookup(n, np.abs, domain=(0, 4), input_bits=40)
    with pytest.raises(qr.DtypeError, match="real results"):
        qr.lookup(n, np.exp, domain=(0, 3))
    with pytest.raises(qr.ShapeError, match="3 entries: the domain has 4 numbers"):
        qr.lookup(n, [1, 2, 3], domain=(0, 4))
    with pytest.raises(qr.DtypeError, match="secret array"):
        qr.lookup([1, 2], np.abs)  # type: ignore[arg-type]


def test_the_shadow_knows_tables() -> None:
    with qr.local("rss", shadow=True) as mpc:
        x = mpc.input([1, 2, 3], owner=0, dtype=qr.int(8))
        np.testing.assert_array_equal(qr.lookup(x, [4, 5, 6, 7]).reveal(), [5, 6, 7])
