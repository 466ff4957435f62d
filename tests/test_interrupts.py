"""Interrupts at any moment: the session can be used again, and no value is mistaken for another."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment, Wire


class _Stop(KeyboardInterrupt):
    """Raised by the progress display of a test."""


def _interrupt_after(ticks: int) -> Any:
    counter = itertools.count(1)

    def show(phase: str, share: float, predicted: int | None) -> None:
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


# Party 0 is interrupted when it has sent all messages of a run, and still waits for the others'.
SEEN = """
class Stop(KeyboardInterrupt): pass
def seen(array, stop=False):
    def show(phase, share, predicted):
        if stop and phase == "online" and share >= 1:
            raise Stop
    try:
        (kind, values), = mpc._native.run([(array._node, None)], show)
        return np.frombuffer(values, np.int64).tolist()
    except (qr.QuorateError, Stop):
        return None
x = mpc.input(np.arange(8) if mpc.me == 0 else None, owner=0, shape=(8,), dtype=qr.int(64), bound=9)
for attempt in range(3):
    y, late = mpc.shuffle(x, x)
    print([seen(y, stop=mpc.me == 0), seen(late), seen(y)])
"""


def test_what_one_process_has_seen_is_what_all_see_wherever_another_is_interrupted(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    wires = [Wire(port, delay=0.15) for port in deployment.ports]
    deployment.addresses = [f"127.0.0.1:{wire.port}" for wire in wires]
    try:
        ended = deployment.run(deployment.script(SEEN))
    finally:
        deployment.stop()
        for wire in wires:
            wire.close()
    assert [party.status for party in ended] == [0, 0, 0], ended
    shown = [[ast.literal_eval(line) for line in party.out.splitlines()] for party in ended]
    attempts = list(zip(*shown, strict=True))
    assert len(attempts) == 3
    assert any(first is None for first, _, _ in shown[0]), "party 0 was not interrupted"
    for attempt in attempts:
        seen = [value for party in attempt for value in party if value is not None]
        assert len(seen) >= 6, "what nobody interrupted was not shown"
        assert all(value == seen[0] for value in seen), attempt


def test_many_dropped_arrays_do_not_wear_a_session_out() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input([5], owner=0)
        for _ in range(3):
            for _ in range(15_000):
                y = x + 1
            assert y.reveal().tolist() == [6]


def test_a_product_that_may_leave_its_dtype_warns() -> None:
    with qr.local("rss") as mpc:
        b = mpc.input([1000], owner=0, dtype=qr.int(16), bound=1000)
        with pytest.warns(qr.RangeWarning, match=r"test_interrupts\.py:\d+"):
            b * b
