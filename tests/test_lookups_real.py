"""Real functions, quotients and softmax by look-ups: all numbers of a range, on every family."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import FORMS, USUAL, Place, among, usual

Numbers = np.ndarray


@pytest.fixture(scope="module", params=[*USUAL, *FORMS], ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with among(request.param) as session:
        yield session


def gelu(x: Numbers) -> Numbers:
    return np.array([v * 0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Numbers], Numbers], float]] = {
    "sigmoid": (qr.sigmoid, lambda x: 1 / (1 + np.exp(-x)), -4),
    "tanh": (qr.tanh, np.tanh, -4),
    "gelu": (qr.gelu, gelu, -4),
    "exp": (qr.exp, np.exp, -4),
    "log": (qr.log, np.log, 2**-4),
    "sqrt": (qr.sqrt, np.sqrt, 0),
    "rsqrt": (qr.rsqrt, lambda x: x**-0.5, 2**-4),
    "reciprocal": (qr.reciprocal, np.reciprocal, 2**-4),
}


def softmax(x: Numbers) -> Numbers:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def within(got: Numbers, wanted: Numbers, frac: int, units: float) -> None:
    off = np.abs(got - wanted).max() * 2.0**frac
    assert off <= units, f"{off} units of 2^-{frac} off"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_of_a_range_within_half_a_unit(mpc: qr.Session, name: str) -> None:
    secret, clear, lowest = FUNCTIONS[name]
    x = np.arange(lowest, 4 + 2**-4, 2**-4)
    number = mpc.input(x, owner=0, dtype=qr.fixed(32, 4), bound=4)
    within(secret(number).reveal(), clear(x), 4, 0.5)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("place", [usual("pika"), usual("aby")], ids=str)
def test_every_number_of_a_large_domain_by_keys(place: Place, name: str) -> None:
    """2^14 places, each of which meets the whole table, in its summed form."""
    secret, clear, lowest = FUNCTIONS[name]
    with among(place) as mpc:
        first = -(2**13) if lowest < 0 else int(lowest > 0)
        x = np.arange(first, 2**13) / 2**11
        within(secret(mpc.input(x, owner=0, dtype=qr.fixed(64, 11), bound=4)).reveal(), clear(x), 11, 0.5)


def test_both_ends_of_a_bound_have_entries() -> None:
    """[-1, 1] has 2^17 + 1 numbers with 16 fractional bits."""
    for place in USUAL:
        with among(place) as mpc:
            x = mpc.input([-1, 0.25, 1], owner=0, bound=1)
            y, z = qr.tanh(x), qr.tanh(mpc.input([0.25] * 3, owner=0, bound=0.25))
            assert mpc.explain(y).online.rounds == mpc.explain(z).online.rounds
            within(y.reveal(), np.tanh([-1, 0.25, 1]), 16, 1)


@pytest.mark.parametrize("by", [qr.int(16), qr.uint(16)], ids=str)
def test_quotients_of_all_pairs_of_a_few_integers(mpc: qr.Session, by: qr.Dtype) -> None:
    low = 0 if by == qr.uint(16) else -6
    x, y = (v.ravel() for v in np.meshgrid(np.arange(low, 7), np.arange(max(low, -5), 6)))
    a, b = mpc.input(x, owner=0, dtype=by, bound=6), mpc.input(y, owner=1, dtype=by, bound=5)
    divided, whole = y != 0, np.where(y == 0, 1, y)
    np.testing.assert_array_equal((a // b).reveal(), np.where(divided, x // whole, 0))
    np.testing.assert_array_equal((a % b).reveal(), np.where(divided, x % whole, 0))


@pytest.mark.parametrize("by", [qr.int(4), qr.uint(3), qr.int(2)], ids=str)
def test_quotients_of_all_pairs_of_narrow_integers(mpc: qr.Session, by: qr.Dtype) -> None:
    """Their place among all pairs has more bits than they have."""
    low = 0 if by == qr.uint(3) else -(2 ** (by.bits - 1))
    x, y = (v.ravel() for v in np.meshgrid(*[np.arange(low, low + 2**by.bits)] * 2))
    a, b = mpc.input(x, owner=0, dtype=by), mpc.input(y, owner=1, dtype=by)
    divided, whole = y != 0, np.where(y == 0, 1, y)
    wraps = (x == low) & (y == -1) & (low < 0)
    np.testing.assert_array_equal((a // b).reveal()[~wraps], np.where(divided, x // whole, 0)[~wraps])
    np.testing.assert_array_equal((a % b).reveal(), np.where(divided, x % whole, 0))


def test_quotients_of_all_pairs_of_a_few_reals(mpc: qr.Session) -> None:
    """Results are to the nearest unit; division by 0 gives the largest number with the sign of the dividend."""
    dtype = qr.fixed(16, 3)
    x, y = (v.ravel() for v in np.meshgrid(np.arange(-8, 9) / 8, np.arange(-8, 9) / 8))
    got = (mpc.input(x, owner=0, dtype=dtype, bound=1) / mpc.input(y, owner=1, dtype=dtype, bound=1)).reveal()
    most = (2**15 - 1) / 8
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(y == 0, np.sign(x) * most, np.divide(x, y))
    within(got, wanted, 3, 0.5)


@pytest.mark.parametrize(
    ("dtype", "bound"), [(qr.fixed(32, 8), 2), (qr.fixed(32, 8), 100), (qr.fixed(64, 16), 1)], ids=str
)
def test_softmax_of_bounded_numbers(mpc: qr.Session, dtype: qr.Dtype, bound: float) -> None:
    rng = np.random.default_rng(5)
    x = np.round(rng.uniform(-bound, bound, (6, 5)) * 256) / 256
    x[0], x[1, 1:] = bound, -bound
    got = qr.softmax(mpc.input(x, owner=0, dtype=dtype, bound=bound), axis=1).reveal()
    within(got, softmax(x), 16 if dtype == qr.fixed(64, 16) else 8, 1)


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_tables_take_fewer_rounds(place: Place) -> None:
    """Compares bounds that make a table worthwhile with bounds that do not."""
    programs: dict[str, Callable[[qr.Session, float], Any]] = {
        "sigmoid": lambda mpc, b: qr.sigmoid(mpc.input([0.5] * 20, owner=0, dtype=qr.fixed(32, 8), bound=b)),
        "softmax": lambda mpc, b: qr.softmax(mpc.input([[0.25] * 4] * 5, owner=0, dtype=qr.fixed(64, 12), bound=b / 4)),
        "quotient": lambda mpc, b: (
            mpc.input([2] * 20, owner=0, dtype=qr.uint(32), bound=int(b) * 10)
            // mpc.input([1] * 20, owner=1, dtype=qr.uint(32), bound=int(b) * 10)
        ),
    }
    for name, program in programs.items():
        with among(place) as mpc:
            few, many = (mpc.explain(program(mpc, bound)) for bound in (1, 2000))
        assert few.online.rounds < many.online.rounds, name
