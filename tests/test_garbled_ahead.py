"""Circuits between two parties that are garbled in the offline phase, before there are inputs."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from predicted import ran

RNG = np.random.default_rng(5)
AND = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n"


def tables(plan: qr.Plan) -> int:
    return plan.correlations.get("garbled AND", 0)


@pytest.mark.parametrize("count", [0, 1, 17, 3000])
@pytest.mark.parametrize("owners", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_tables_go_offline_and_labels_online(count: int, owners: tuple[int, int]) -> None:
    x, y = RNG.integers(-100, 100, (2, count))
    with qr.local("aby", sharings="Y") as mpc:
        a, b = (mpc.input(v, owner=owner, dtype=qr.int(16)) for v, owner in zip((x, y), owners, strict=True))
        ((result,), plan) = ran(mpc, mpc.where(a * b < 50, a * a, b - 3))
    assert (result == np.where(x * y < 50, x * x, y - 3)).all()
    # A label for each bit that enters, and the bits of the evaluator; no tables.
    assert sum(plan.online.bytes_sent) <= 2 * 16 * 16 * count + 3 * 2 * 16 * count + 100
    assert max(plan.offline.bytes_sent) >= 32 * tables(plan) > 300 * 32 * count - 1


def test_numbers_become_labels_ahead_for_several_steps() -> None:
    x, y = RNG.integers(-(2**30), 2**30, (2, 3000))
    with qr.local("aby") as mpc:
        a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
        total = a + b
        labels = total.to("Y")
        values = labels * labels, mpc.where(labels < 5, labels, 7), total * 3, labels + 0
        results, plan = ran(mpc, *values)
    whole = x + y
    for got, right in zip(results, (whole * whole, np.where(whole < 5, whole, 7), whole * 3, whole), strict=True):
        assert (got == right).all()
    assert tables(plan) > 3000 * 64


def test_labels_of_earlier_runs_enter_circuits() -> None:
    x, y = RNG.integers(-1000, 1000, (2, 50))
    with qr.local("aby", sharings="Y") as mpc:
        a, b = mpc.input(x, owner=0).to("Y"), mpc.input(y, owner=1).to("Y")
        kept = a * b
        ((result,), plan) = ran(mpc, kept)
        assert (result == x * y).all() and tables(plan) > 0
        # They are all that enters. Then they meet an input, public numbers, and a value without labels.
        ((result,), plan) = ran(mpc, kept * kept)
        assert (result == (x * y) ** 2).all() and tables(plan) > 0
        fresh = mpc.input(x, owner=1).to("Y")
        (first, second), plan = ran(mpc, mpc.where(kept < fresh, kept * fresh, 11), mpc.input(y, owner=0) * 2)
        assert (first == np.where(x * y < x, x * y * x, 11)).all() and (second == 2 * y).all()
        assert tables(plan) > 0


def test_many_circuits_in_a_row_beside_other_steps() -> None:
    circuit = qr.Circuit.from_text(AND)
    with qr.local("aby") as mpc:
        before = mpc.input(np.arange(5), owner=0) * mpc.input(np.arange(5), owner=1)
        bits = mpc.input(np.ones((3, 1), bool), owner=0).to("Y")
        result = bits
        for _ in range(30):
            result = mpc.run_circuit(circuit, result, bits)
        (squares, ones), plan = ran(mpc, before * before, result)
    assert (squares == np.arange(5) ** 4).all() and ones.all() and tables(plan) == 90


def test_what_counts_offline_decides_what_is_garbled_there() -> None:
    x, y = RNG.integers(-1000, 1000, (2, 100))
    counts = {}
    for weight in (0.0, 1.0):
        with qr.local("aby", sharings="Y", offline_weight=weight) as mpc:
            ((less,), plan) = ran(mpc, mpc.input(x, owner=0) < mpc.input(y, owner=1))
            assert (less == (x < y)).all()
            counts[weight] = tables(plan)
    # Labels take as many bytes as tables: circuits are garbled ahead only where labels cost nothing.
    assert counts[0.0] > 0 == counts[1.0]


def test_labels_are_right_beside_numpy_and_after_inputs_that_were_refused() -> None:
    with qr.local("aby", sharings="Y", shadow=True) as mpc:
        x = mpc.input(np.arange(20), owner=0)
        square = x * x
        with pytest.raises(qr.QuorateError):
            (mpc.input(np.arange(20), owner=1, dtype=qr.int(64), bound=3) * square).reveal()
        assert (square.reveal() == np.arange(20) ** 2).all()
        assert ((square * x).reveal() == np.arange(20) ** 3).all()


class _Stop(KeyboardInterrupt):
    """Raised by the progress display of a test."""


def stop_in(phase: str, ticks: int) -> Any:
    """Returns a progress display that interrupts the run after this number of reports."""
    seen = []

    def show(now: str, share: float, predicted: int | None) -> None:
        seen.append(now)
        if seen.count(phase) >= ticks:
            raise _Stop

    return show


def test_runs_that_were_interrupted_are_right_when_they_are_asked_for_again() -> None:
    x, y = RNG.integers(-100, 100, (2, 40))
    stopped = []
    with qr.local("aby", sharings="Y", network=qr.Network(rtt_ms=200, mbit=100)) as mpc:
        a, b = mpc.input(x, owner=0, dtype=qr.int(16)), mpc.input(y, owner=1, dtype=qr.int(16))
        kept, expected = a.to("Y"), x
        for attempt in range(8):
            phase = ("offline", "online")[attempt % 2]
            wanted = mpc.where(kept < b, kept + attempt, b)
            assert tables(mpc.explain(wanted)) > 0
            try:
                mpc._native.run([(wanted._node, None)], stop_in(phase, 1 + attempt // 2))
            except _Stop:
                stopped.append(phase)
            kept, expected = wanted, np.where(expected < y, expected + attempt, y)
            ((result,), _) = ran(mpc, kept)
            assert (result == expected).all(), attempt
    assert {"offline", "online"} <= set(stopped), stopped


AGAIN = """
from quorate._display._progress import Progress
told = []
def show(self, phase, share, predicted):
    if phase == "offline" and share > {share} and not told:
        told.append(phase)
        print("running\\n", end="")
Progress.show = show
x = mpc.input(np.arange(2_500) % 50 if mpc.me == 0 else None, owner=0, shape=2_500, dtype=qr.int(32))
y = mpc.input(np.arange(2_500) % 70 if mpc.me == 1 else None, owner=1, shape=2_500, dtype=qr.int(32))
for _ in range(4):
    x = mpc.where(x < y, x * y, x + 1)
try:
    x.reveal()
    print("not interrupted")
except (KeyboardInterrupt, qr.RunAborted) as error:
    print(type(error).__name__)
right, other = np.arange(2_500, dtype=np.int32) % 50, np.arange(2_500, dtype=np.int32) % 70
with np.errstate(over="ignore"):
    for _ in range(4):
        right = np.where(right < other, right * other, right + 1)
print("right" if (x.reveal() == right).all() else "wrong", mpc.stats().offline.correlations["garbled AND"] > 10**6)
"""


@pytest.mark.parametrize(("who", "share"), [(0, 0.01), (1, 0.1)])
def test_a_party_that_interrupts_a_run_garbled_ahead_can_ask_again(tmp_path: Path, who: int, share: float) -> None:
    deployment = Deployment(tmp_path, parties=2)
    files = [deployment.config(me) for me in (0, 1)]
    for file in files:
        file.write_text(file.read_text().replace('"rss"', '"aby"'))
    script = deployment.script(AGAIN.format(share=share))
    script.write_text(script.read_text().replace("qr.session()", 'qr.session(sharings="Y")'))
    try:
        running = [deployment.start(me, script, config=files[me]) for me in (0, 1)]
        running[who].wait_for("running")
        running[who].signal(signal.SIGINT)
        ended = [party.end() for party in running]
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0], ended
    assert [e.out.splitlines()[-1] for e in ended] == ["right True"] * 2, ended
    told = [line for e in ended for line in e.out.splitlines() if line in ("KeyboardInterrupt", "PeerEnded")]
    assert sorted(told) == ["KeyboardInterrupt", "PeerEnded"], ended
