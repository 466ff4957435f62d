"""Modular powers, against Python's `pow`."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from applications import NO_ROUNDS, SESSIONS, garbles, opened
from protocols import USUAL

SECRET = [which for which in itertools.product([False, True], repeat=3) if any(which)]
"""The secret ones of base, exponent and modulus."""


@pytest.fixture(scope="module", params=SESSIONS, ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param) as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        yield session


@pytest.fixture(scope="module", params=USUAL, ids=str)
def smallest(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param) as session:
        yield session


def powers(base: Any, exponent: Any, modulus: Any) -> np.ndarray:
    def one(b: Any, e: Any, m: Any) -> int:
        return pow(int(b), int(e), int(m)) if m else 0

    return np.vectorize(one, otypes=[object])(base, exponent, modulus)


def check(mpc: qr.Session, values: list[Any], widths: list[int], secret: tuple[bool, ...]) -> None:
    operands = [
        mpc.input(value, owner=i % mpc.parties, dtype=qr.uint(bits)) if is_secret else value
        for i, (value, bits, is_secret) in enumerate(zip(values, widths, secret, strict=True))
    ]
    power = qr.apps.powmod(mpc, *operands)
    assert power.dtype.kind == "uint"
    np.testing.assert_array_equal(power.reveal().astype(object), powers(*values))


@pytest.mark.parametrize("secret", SECRET, ids=str)
def test_all_small_powers(mpc: qr.Session, secret: tuple[bool, ...]) -> None:
    base, exponent, modulus = np.meshgrid(np.arange(8), np.arange(4), np.arange(16), indexing="ij")
    check(mpc, [base.ravel(), exponent.ravel(), modulus.ravel()], [3, 2, 4], secret)


# Eight bits cover all combinations of secrets; sixteen bits repeat the same steps.
@pytest.mark.parametrize(("secret", "width"), [*((secret, 8) for secret in SECRET), ((True, True, True), 16)], ids=str)
def test_random_powers(smallest: qr.Session, secret: tuple[bool, ...], width: int) -> None:
    rng = np.random.default_rng(width)
    top, count = 1 << width, 60 if width == 8 else 10
    values = [rng.integers(0, top, count) >> rng.integers(0, width, count) for _ in range(3)]
    values[0][:4], values[1][:4], values[2][:4] = top - 1, [0, 1, top - 1, 5], [top - 1, 1, top - 1, top // 2]
    check(smallest, values, [width] * 3, secret)


def test_powers_of_32_bits(smallest: qr.Session) -> None:
    rng = np.random.default_rng(3)
    top = 1 << 32
    values = [rng.integers(0, top, 4) for _ in range(3)]
    values[0][:3], values[1][:3], values[2][:3] = top - 1, top - 1, [top - 1, top // 2 + 1, 3]
    check(smallest, values, [32] * 3, (True, True, True))
    check(smallest, [values[0], np.full(1, 65537), values[2]], [32] * 3, (True, False, False))


def test_shapes_and_widths_that_differ(mpc: qr.Session) -> None:
    check(mpc, [np.array([[3], [200]]), np.array([0, 1, 6]), np.array(11)], [8, 3, 4], (True, True, True))
    check(mpc, [np.array([2**40 + 3, 5]), 6, np.array([7, 100])], [41, 3, 7], (True, False, True))
    check(mpc, [2, np.arange(5), np.array([[9], [1]])], [2, 3, 4], (False, True, True))
    check(mpc, [2, np.arange(5), 1], [2, 3, 1], (False, True, False))
    check(mpc, [np.arange(4), 0, np.array([5])], [2, 1, 3], (True, False, False))
    late = mpc.input([5, 2], owner=0) > 3
    assert qr.apps.powmod(mpc, 3, late, 7).reveal().tolist() == [3, 1]
    nothing = qr.apps.powmod(mpc, mpc.input(np.zeros(0, int), owner=0, dtype=qr.uint(4)), [3], 5)
    assert nothing.reveal().shape == (0,)


def test_what_has_no_power(mpc: qr.Session) -> None:
    x = mpc.input([3, 4], owner=0, dtype=qr.uint(8))
    signed, real = mpc.input([3, 4], owner=0), mpc.input([0.5, 1.5], owner=0)
    wide = mpc.input([3, 4], owner=0, dtype=qr.uint(40))
    refused: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (qr.DtypeError, "all public", (2, 3, 5)),
        (qr.DtypeError, r"no sign: x.astype\(qr.uint\(64\)\)", (signed, 3, 5)),
        (qr.DtypeError, "no sign: dtype=", (2, real, 5)),
        (qr.DtypeError, "whole numbers", (x, 0.5, 5)),
        (qr.RangeError, "exponent -1 is negative", (x, -1, 5)),
        (qr.RangeError, "modulus of 33 bits", (x, 3, 2**32)),
        (qr.DtypeError, "modulus of 40 bits", (2, 3, wide)),
        (qr.ShapeError, "do not broadcast", (x, [1, 2, 3], 5)),
    ]
    for error, words, arguments in refused:
        with pytest.raises(error, match=words):
            qr.apps.powmod(mpc, *arguments)
    with qr.local("rss") as other, pytest.raises(qr.ConfigError, match="different sessions"):
        qr.apps.powmod(other, x, 3, 5)


def test_what_is_public_makes_it_cheaper(smallest: qr.Session) -> None:
    if garbles(smallest):
        pytest.skip(NO_ROUNDS)

    def rounds(*which: bool) -> int:
        operands = [smallest.input([7], owner=0, dtype=qr.uint(8)) if is_secret else 201 for is_secret in which]
        return smallest.explain(qr.apps.powmod(smallest, *operands)).online.rounds

    assert rounds(False, True, False) < rounds(True, True, False) < rounds(True, True, True)
    assert rounds(True, False, False) < rounds(True, True, False)
