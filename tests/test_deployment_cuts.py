"""Parties over wires that lose every connection again and again: runs go on, and their results are right."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from deploying import Deployment, error_of, wires
from protocols import FORMS, USUAL, Place

SIZE = 300
RUNS = 12
PAUSE_S = 0.25

PROGRAM = f"""
def secret(owner):
    values = np.random.default_rng(owner).integers(-1000, 1000, {SIZE})
    return mpc.input(values if mpc.me == owner else None, owner=owner, shape={SIZE}, dtype=qr.int(32), bound=1000)
x, y = secret(0), secret(1)
print(x.sum().reveal())
print("running", flush=True)
for run in range({RUNS}):
    print(((x - run) * y).sum().reveal(), (x < y + run).sum().reveal(), x.max().reveal())
    time.sleep(0.3)
"""


def expected() -> str:
    x, y = (np.random.default_rng(owner).integers(-1000, 1000, SIZE) for owner in (0, 1))
    lines = [f"{x.sum()}", "running"]
    lines += [f"{((x - run) * y).sum()} {(x < y + run).sum()} {x.max()}" for run in range(RUNS)]
    return "\n".join(lines)


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_runs_over_resets_give_the_right_results(place: Place, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, place.parties)
    deployment.limits = {"connect_timeout_s": 60.0, "peer_timeout_s": 20.0, "reconnect_timeout_s": 20.0}
    over, resets = threading.Event(), []
    with wires(deployment) as made:

        def reset() -> None:
            while not over.wait(PAUSE_S):
                resets.append(sum(wire.reset() for wire in made))

        try:
            script = deployment.script(PROGRAM)
            for me in range(place.parties):
                config = deployment.config(me)
                config.write_text(config.read_text().replace('protocol = "rss"', f'protocol = "{place.protocol}"'))
            options = [f"--{name}" for name, _ in place.options]
            parties = [
                deployment.start(me, script, *options, config=deployment.folder / f"party{me}.toml")
                for me in range(place.parties)
            ]
            for party in parties:
                party.wait_for("running")
            threading.Thread(target=reset, daemon=True).start()
            ended = [party.end() for party in parties]
        finally:
            over.set()
            deployment.stop()
    assert [(e.status, e.out.strip()) for e in ended] == [(0, expected())] * place.parties, ended
    assert len([count for count in resets if count]) >= 5, resets


def test_a_run_ends_where_no_connection_may_be_replaced(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    deployment.limits["reconnect_timeout_s"] = 0.0
    with wires(deployment) as made:
        try:
            parties = deployment.start_all(deployment.script(PROGRAM))
            for party in parties:
                party.wait_for("running")
            started = time.monotonic()
            for wire in made:
                wire.reset()
            for party in parties:
                ended = party.end()
                assert ended.status == 3, ended
                assert "PeerLost" in error_of(ended)
            assert time.monotonic() - started < 20
        finally:
            deployment.stop()


TWO = """
with qr.session() as other:
    first, second = mpc.input(3, owner=1, dtype=qr.int(32)), other.input(2, owner=0, dtype=qr.int(32))
    print(int(second.reveal()), int(first.reveal()))
"""


def test_two_sessions_of_one_script_may_be_open(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    del deployment.limits["reconnect_timeout_s"]  # its default
    try:
        ended = deployment.run(deployment.script(TWO))
    finally:
        deployment.stop()
    assert [(e.status, e.out.strip()) for e in ended] == [(0, "2 3")] * 3, ended
