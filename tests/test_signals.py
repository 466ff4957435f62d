"""SIGTERM: a party that has to end informs the others, as on Ctrl-C; users' own signal handlers stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import LIMIT_SECONDS, QUORATE, Deployment, Ended, Party, error_of

PRODUCT = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=(3,), dtype=qr.int(64), bound=9)
print((x * x).reveal())
"""

# Runs one product after another, and prints "running" once the run has begun.
LONG = """
from quorate._display._progress import Progress
told = []
def show(self, phase, share, predicted):
    if share > 0.01 and not told:
        told.append(phase)
        print("running\\n", end="")
Progress.show = show
x = mpc.input(np.arange(1_000_000) if mpc.me == 0 else None, owner=0, shape=1_000_000, dtype=qr.int(64), bound=1e6)
for _ in range(400): x = x * x
x.sum().reveal()
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties."""
    made = Deployment(tmp_path, warm=False)
    yield made
    made.stop()


def statuses(ended: list[Ended]) -> list[int]:
    return [e.status for e in ended]


def test_a_party_that_is_told_to_end_tells_the_others(deployment: Deployment) -> None:
    running = deployment.start_all(deployment.script(LONG))
    for party in running:
        party.wait_for("running")
    started = time.monotonic()
    running[1].signal(signal.SIGTERM)
    told = running[1].end()
    assert told.status == 143, told
    assert "told to end" in error_of(told)
    for party in (running[0], running[2]):
        ended = party.end()
        assert ended.status == 5, ended
        assert "PeerEnded: party 1 stopped the run: its user interrupted it" in error_of(ended)
    assert time.monotonic() - started < 20


def test_a_script_that_is_told_to_end_cleans_up(deployment: Deployment) -> None:
    body = "with qr.connect(sys.argv[1], session='one') as mpc:\n"
    body += "    try:\n        print('up')\n        time.sleep(100)\n    finally:\n        print('cleaned up')\n"
    alone = deployment.folder / "alone.py"
    alone.write_text("import sys, time\nimport quorate as qr\n" + body)
    script = deployment.script("print('up')\n" + PRODUCT)
    others = [deployment.start(me, script, "--session", "one") for me in (0, 2)]
    command = [sys.executable, str(alone), str(deployment.config(1))]
    party = Party(command, deployment.folder)
    deployment.running.append(party)
    for process in (party, *others):
        process.wait_for("up")
    party.signal(signal.SIGTERM)
    ended = party.end()
    assert (ended.status, ended.err) == (143, "") and "cleaned up" in ended.out, ended
    for other in others:
        assert "party 1" in error_of(other.end())


def test_handlers_of_the_user_stay(deployment: Deployment) -> None:
    heard = "heard = []\nsignal.signal(signal.SIGTERM, lambda *_: heard.append(print('heard', flush=True)))\n"
    # The signal may come before the script waits for it.
    script = deployment.script("print('up')\nwhile not heard: time.sleep(0.01)\n" + PRODUCT)
    script.write_text(script.read_text().replace("with qr", heard + "with qr"))
    running = deployment.start_all(script)
    for party in running:
        party.wait_for("up")
        party.signal(signal.SIGTERM)
    ended = [party.end() for party in running]
    assert statuses(ended) == [0, 0, 0], ended
    assert all("heard" in e.out and "[1 4 9]" in e.out for e in ended), ended


def test_sigterm_does_after_a_session_what_it_did_before(deployment: Deployment) -> None:
    script = deployment.script(PRODUCT)
    before, after = "was = signal.getsignal(signal.SIGTERM)\n", "print(signal.getsignal(signal.SIGTERM) is was)\n"
    script.write_text(script.read_text().replace("with qr", f"{before}with qr") + after)
    ended = deployment.run(script)
    assert all(e.status == 0 and e.out.endswith("True\n") for e in ended), ended


@pytest.mark.parametrize("when", ["connecting", "connected"])
def test_a_party_that_waits_ends_when_it_is_told_to(deployment: Deployment, when: str) -> None:
    body = "if mpc.me != 0: time.sleep(100)\nprint('up')\n" + PRODUCT
    script = deployment.script(body)
    party = deployment.start(0, script)
    if when == "connecting":
        deployment.wait_until_listening(0)
    else:
        deployment.start(1, script)
        deployment.start(2, script)
        party.wait_for("up")
    started = time.monotonic()
    party.signal(signal.SIGTERM)
    assert party.end().status == 143
    assert time.monotonic() - started < 20


def test_run_passes_it_on_to_every_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    body = "    try:\n        print('up')\n        time.sleep(100)\n    finally:\n        print('cleaned up')\n"
    script.write_text("import time\nimport quorate as qr\nwith qr.session() as mpc:\n" + body)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [QUORATE, "run", str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert "up" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 143, errors
    assert out.count("cleaned up") == 3 and "Traceback" not in out + errors
    assert "told to end" in errors
