"""Interrupts at any moment: the session can be used again, and no value is taken for another."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import quorate as qr


class _Stop(KeyboardInterrupt):
    """Raised by the progress display of a test."""


def _interrupt_after(ticks: int) -> Any:
    counter = itertools.count(1)

    def show(phase: str, share: float) -> None:
        if next(counter) >= ticks:
            raise _Stop

    return show


@pytest.mark.parametrize("to", [None, 0])
def test_the_next_reveal_is_right_whenever_the_last_one_was_interrupted(to: int | None) -> None:
    interrupted = 0
    with qr.local("rss", parties=3, network=qr.Network(rtt_ms=150, mbit=1000)) as mpc:
        x = mpc.input([1, 2, 3], owner=1)
        kept: list[tuple[qr.SecretArray, np.ndarray]] = []
        for attempt in range(10):
            y = x * x + attempt
            try:
                mpc._native.run([(y._node, to)], _interrupt_after(1 + attempt % 4))
            except _Stop:
                interrupted += 1
            kept.append((y, np.array([1, 4, 9]) + attempt))
            other = (x + 100 * attempt).reveal()
            assert other.tolist() == [1 + 100 * attempt, 2 + 100 * attempt, 3 + 100 * attempt]
        for y, expected in kept:
            assert y.reveal().tolist() == expected.tolist()
    assert interrupted >= 4


def test_many_dropped_arrays_do_not_wear_a_session_out() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([5], owner=0)
        for _ in range(3):
            for _ in range(50_000):
                y = x + 1
            assert y.reveal().tolist() == [6]


def test_a_product_that_may_leave_its_dtype_warns() -> None:
    with qr.local("rss") as mpc:
        b = mpc.input([1000], owner=0, dtype=qr.int(16), bound=1000)
        with pytest.warns(qr.RangeWarning, match=r"test_interrupts\.py:\d+"):
            b * b
