"""numpy's trapezoidal rule on secrets: dtypes, accuracy, empty axes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import stated
from quorate._numpy._integrals import INTEGRALS

(TRAPEZOID,) = INTEGRALS  # `np.trapz` before numpy 2


@pytest.mark.parametrize("secret", ["y", "x", "both"])
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 1)], ids=str)
def test_integrals_along_every_axis(shape: tuple[int, ...], axis: int, secret: str) -> None:
    rng = np.random.default_rng(7)
    y = rng.integers(-64, 64, shape) / 8
    with stated("rss") as mpc:
        for x in (rng.integers(-64, 64, shape[axis]) / 8, rng.integers(-64, 64, shape) / 8):
            given = [
                mpc.input(v, owner=o) if secret in ("both", n) else v for o, (n, v) in enumerate((("y", y), ("x", x)))
            ]
            found, meant = TRAPEZOID(*given, axis=axis), TRAPEZOID(y, x, axis=axis)
            assert found.shape == meant.shape
            np.testing.assert_allclose(found.reveal(), meant, atol=2**-13)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
def test_narrow_and_unsigned_integers_do_not_wrap() -> None:
    with stated("rss") as mpc:
        y = mpc.input([100, 100, 100], owner=0, dtype=qr.int(8))
        x = mpc.input([5, 2, 9], owner=1, dtype=qr.uint(8))
        assert TRAPEZOID(y).reveal() == 200
        assert TRAPEZOID(y, x).reveal() == 400
        assert TRAPEZOID(x, dx=y[0]).reveal() == 900
        assert TRAPEZOID(x > 4).reveal() == 1


def test_fixed_point_keeps_its_dtype_and_a_public_step_is_taken_as_written() -> None:
    with stated("rss") as mpc:
        y = mpc.input(np.ones(1001), owner=0, dtype=qr.fixed(32, 8))
        found = TRAPEZOID(y, dx=0.001)
        assert found.dtype == qr.fixed(32, 8)
        assert abs(found.reveal() - 1) <= 1 / 256


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda y: TRAPEZOID(y, dx=[1, 2]), r"dx is one number, not shape \(2,\): x= takes places"),
        (lambda y: TRAPEZOID(y, [1, 2, 3]), "3 places of 4 values along axis -1"),
        (lambda y: TRAPEZOID(y, np.ones((3, 1))), "1 places of 4 values"),
        (lambda y: TRAPEZOID(y, np.ones((2, 4))), "could not be broadcast"),
        (lambda y: TRAPEZOID(y, 2.0), "x has one axis, or as many as y, which has 2, not 0"),
        (lambda y: TRAPEZOID(y, axis=2), "axis 2 is out of bounds for an array of dimension 2"),
        (lambda y: TRAPEZOID(y[0, 0]), "axis -1 is out of bounds for an array of dimension 0"),
        (lambda y: TRAPEZOID(y, axis=None), "axis must be a whole number"),
        (lambda y: TRAPEZOID(y, dx=np.nan), "not a finite number"),
        (lambda y: TRAPEZOID(y, list("abcd")), "are not numbers"),
    ],
)
def test_what_has_no_integral_is_refused(use: Callable[[Any], Any], message: str) -> None:
    with stated("rss") as mpc:
        y = mpc.input(np.ones((3, 4)), owner=0)
        with pytest.raises(qr.QuorateError, match=message) as raised:
            use(y)
        assert "test_numpy_integrals.py:" in str(raised.value)


def test_arrays_of_different_sessions_have_no_integral() -> None:
    with stated("rss") as one, stated("rss") as other, pytest.raises(qr.ConfigError, match="different sessions"):
        TRAPEZOID(one.input([1, 2], owner=0), other.input([1, 2], owner=0))
