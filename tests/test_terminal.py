"""The terminal as users see it: progress of long runs, Ctrl-C, and the examples in the documentation."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quorate as qr
from quorate._display._progress import Progress

ROOT = Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 60.0

LONG_RUN = """
import numpy as np, quorate as qr
with qr.local(network=qr.Network(rtt_ms=200, mbit=1000)) as mpc:
    x, y = mpc.input(np.arange(4), owner=0), mpc.input(np.arange(4)[::-1], owner=1)
    print((x < y).reveal())
"""

MANY_PRODUCTS = """
import time
import numpy as np, quorate as qr
with qr.local() as mpc:
    values = np.arange(2_000_000)
    x, y = mpc.input(values, owner=0), mpc.input(values, owner=1)
    small = mpc.input([1, 2, 3], owner=0)
    z = x
    for _ in range(200):
        z = z * y
    print("running", flush=True)
    try:
        z.sum().reveal()
        print("finished")
    except KeyboardInterrupt:
        print("interrupted", time.time())
    print((small * small).reveal(), x[:3].sum().reveal())
"""


def on_a_terminal(script: str) -> str:
    """Returns the output of a script on a terminal."""
    leader, follower = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", script], stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        shown, deadline = b"", time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            ready, _, _ = select.select([leader], [], [], 0.1)
            if ready:
                with contextlib.suppress(OSError):  # Linux raises this at the end
                    piece = os.read(leader, 65536)
                    shown += piece
                    if piece:
                        continue
                break
        process.kill() if process.poll() is None and time.monotonic() >= deadline else process.wait(LIMIT_SECONDS)
    os.close(leader)
    return shown.decode()


def test_progress_on_a_terminal() -> None:
    shown = on_a_terminal(LONG_RUN)
    assert "[False" in shown or "[ True" in shown
    bars = re.findall(r"(offline|online) \[[#-]{24}\] +\d+ %  +\d+ s, +(?:\d+|nan) s left", shown)
    assert bars, shown
    assert shown.rstrip().endswith("]")


def test_no_progress_in_logs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LONG_RUN], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert done.stdout.strip() == "[ True  True False False]"
    assert done.stderr == ""


def test_a_broken_terminal_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    progress = Progress()
    progress._wanted, progress._started = True, time.monotonic() - 10
    with progress:
        progress.show("online", 0.0)
        progress.show("online", 0.5)
        progress.show("online", 1.0)
        assert "50 %" in sys.stderr.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("after", [0.1, 1.5])
def test_ctrl_c_in_a_local_session(after: float) -> None:
    with subprocess.Popen([sys.executable, "-c", MANY_PRODUCTS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(after)
        pressed = time.time()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0
    assert "finished" not in rest, "the run was too short for this test"
    word, when, *results = rest.split()
    assert word == "interrupted"
    assert float(when) - pressed < 15
    assert " ".join(results) == "[1 4 9] 3"


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


def test_the_example_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    first = blocks(ROOT / "README.md")[0]
    assert len(first.strip().splitlines()) <= 10
    exec(compile(first, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("[  4 -45   8]\n")
    assert "rounds" in shown


def test_every_public_thing_has_an_example_or_a_docstring() -> None:
    for name in qr.__all__:
        thing = getattr(qr, name)
        if name not in ("__version__", "bit"):
            assert thing.__doc__, name
    for owner in (qr.Session, qr.SecretArray):
        for name in dir(owner):
            if not name.startswith("_") and callable(getattr(owner, name)):
                assert getattr(owner, name).__doc__, f"{owner.__name__}.{name}"
