"""How far a running job is: from its process to the requester's terminal, as numbers alone."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobbing import wait_until
from jobserving import job_network
from queueing import Office
from quorate._display import _progress
from quorate.jobs import _child, _watch
from quorate.jobs._watch import Watch
from quorate_client import JobProgress, JobState, jobs
from quorate_client._waiting import Line, line_of
from quorate_client.job import canonical
from quorate_client.jobs import reason
from quorate_client.keys import to_text
from test_job_child import Servers

HALF = JobProgress(3, "online", 500, 12, 12)
CODE = """
import time
from quorate._display import _progress

def program(mpc, what):
    # As a run of some minutes does.
    while True:
        _progress.Progress().show("online", 0.25)
        time.sleep(0.1)
"""


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[tuple[Watch, int]]:
    """A watch without a process, and where it hears of progress."""
    office = Office(tmp_path)
    started = office.queue.start(office.submit())
    assert started is not None
    (report, _), (heard, told) = os.pipe(), os.pipe()
    process: Any = SimpleNamespace(pid=0)
    yield Watch(process, (report, heard), office.queue, started, threading.Event(), office.store), told
    os.close(told)
    os.close(heard)
    office.close()


def line(**changed: Any) -> bytes:
    fields = {"run": 3, "phase": "online", "permille": 500, "seconds": 12, "left": 12, **changed}
    return json.dumps(fields).encode() + b"\n"


def test_the_last_whole_line_counts(watch: tuple[Watch, int]) -> None:
    watching, told = watch
    watching._read_progress()
    assert watching.progress() is None
    os.write(told, line(run=1) + line()[:20])
    watching._read_progress()
    assert watching.progress() == JobProgress(1, "online", 500, 12, 12)
    os.write(told, line()[20:])
    watching._read_progress()
    assert watching.progress() == HALF


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n",
        b"90210\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
        line(phase="90210"),
        line(run="x"),
        line(more=1),
        b"[" * 4000 + b"\n",
    ],
)
def test_what_a_program_writes_there_is_numbers_or_nothing(watch: tuple[Watch, int], garbage: bytes) -> None:
    watching, told = watch
    os.write(told, line())
    watching._read_progress()
    os.write(told, garbage)
    watching._read_progress()
    assert watching.progress() == HALF


def test_a_flood_of_progress_takes_no_memory_and_no_time(watch: tuple[Watch, int]) -> None:
    watching, told = watch
    os.set_blocking(told, False)
    for _ in range(50):
        with pytest.raises(BlockingIOError):
            while True:
                os.write(told, b"x" * 5000)
        watching._read_progress()
        assert len(watching._tail) <= 4096
    os.write(told, b"\n" + line())
    for _ in range(3):
        watching._read_progress()
    assert watching.progress() == HALF


def test_progress_is_over_when_nothing_is_reported(watch: tuple[Watch, int], monkeypatch: pytest.MonkeyPatch) -> None:
    watching, told = watch
    os.write(told, line())
    watching._read_progress()
    monkeypatch.setattr(_watch, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 11))
    assert watching.progress() is None


def test_a_process_reports_and_never_waits_for_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    heard, told = os.pipe()
    os.set_blocking(told, False)
    _child.tell_progress(told, 2, "offline", 0.25, 10.4)
    _child.tell_progress(told, 2, "online", 0.0, 0.0)
    one, two = (JobProgress.of(json.loads(text)) for text in os.read(heard, 4096).splitlines())
    assert (one, two) == (JobProgress(2, "offline", 250, 10, 31), JobProgress(2, "online", 0, 0, None))
    for _ in range(2000):  # more than a pipe holds
        _child.tell_progress(told, 2, "online", 0.5, 1.0)
    os.close(heard)
    _child.tell_progress(told, 2, "online", 0.5, 1.0)
    os.close(told)


def test_runs_are_numbered_and_tell_twice_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now, told = [100.0], list[tuple[int, str, float, float]]()
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    _progress.listen(lambda *given: told.append(given))
    try:
        one, two = _progress.Progress(), _progress.Progress()
        for now[0] in (100.0, 100.2, 100.4, 100.6):
            one.show("offline", 0.5)
        two.show("online", 0.1)
    finally:
        _progress.listen(None)
    one.show("online", 1.0)
    (first, *_), (again, *_), (second, *_) = told
    assert [(phase, share, round(seconds, 3)) for _, phase, share, seconds in told] == [
        ("offline", 0.5, 0.0),
        ("offline", 0.5, 0.6),
        ("online", 0.1, 0.6),
    ]
    assert first == again == second - 1


def test_a_running_job_tells_how_far_it_is(tmp_path: Path) -> None:
    """From the program's process to its server."""
    servers = Servers(tmp_path)
    try:
        more = '[parameters.what]\ntype = "text"\nvalues = ["x"]\n'
        for office in servers.offices:
            office.program = office.approve(CODE, more)
        job = servers.start("x")
        wait_until(lambda: all(runner.progress(job) is not None for runner in servers.runners))
        progress = servers.runners[1].progress(job)
        assert progress is not None and (progress.phase, progress.permille) == ("online", 250)
        for office in servers.offices:
            office.queue.cancel(job)
        assert servers.ended(job) == [("cancelled", "")] * 2
        wait_until(lambda: servers.runners[0].progress(job) is None)
    finally:
        servers.stop()


# ---- to the requester ----------------------------------------------------------------------------------------------


def test_progress_is_for_the_requesters_own_call_alone(tmp_path: Path) -> None:
    with job_network(tmp_path, started=(1,)) as net:
        request = net.request()
        job = net.queued(request, servers=(1,))
        net.runner(1).start(job)
        net.runner(1).told[job] = HALF
        assert net.state(1, job).progress == HALF
        assert str(HALF) in reason(net.state(1, job)) and reason(net.state(1, job)).startswith(
            "Server 1: running: run 3,"
        )
        assert JobState.from_json(net.send(1, request).body).progress is None  # another server may have sent it
        listed = net.call(1, "GET", f"/requesters/{to_text(net.key.id)}/jobs")
        assert b"permille" not in listed.body
        assert net.call(1, "GET", f"/jobs/{to_text(job)}", net.other).status == 404
        net.runner(1).finish(job)
        assert net.state(1, job).progress is None


def states_of(*progress: JobProgress | None, **fields: Any) -> list[JobState]:
    return [JobState(bytes(32), i, "running", "", 0, 0, progress=one, **fields) for i, one in enumerate(progress)]


def test_the_line_is_that_of_the_server_that_is_behind() -> None:
    offline = JobProgress(3, "offline", 900, 12, None)
    assert line_of(states_of(HALF, offline, None)) == "running: run 3, offline, 90 %, 12 s"
    assert line_of(states_of(None, None)) == "running"
    assert line_of([]) == ""


def test_a_terminal_shows_a_line_that_goes_with_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_terminal in (True, False):
        shown: Any = io.StringIO()
        shown.isatty = lambda is_terminal=is_terminal: is_terminal
        monkeypatch.setattr(sys, "stderr", shown)
        with Line(True) as written:
            written.show(states_of(HALF))
            written.show(states_of(None))
        first = "running: run 3, online, 50 %, 12 s, 12 s left"
        wanted = f"\r{first}\r{'running'.ljust(len(first))}\r       \r"
        assert shown.getvalue() == (wanted if is_terminal else "")
        with Line(False) as written:
            written.show(states_of(HALF))
        assert shown.getvalue() == (wanted if is_terminal else "")


def test_waiting_shows_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with job_network(tmp_path) as net:
        asks = jobs(net.deployment, key=net.key, store=tmp_path / "requests")
        job = asks.make(net.program, {"rows": 5, "region": "north"})
        asks.send(job)
        shown = list[str]()

        def write(_: Line, text: str) -> None:
            shown.append(text)
            if text == "queued":
                for server in range(3):
                    net.runner(server).start(job)
                    net.runner(server).told[job] = HALF
            elif text:
                for server in range(3):
                    net.runner(server).finish(job, canonical({"x": 1}))

        monkeypatch.setattr(Line, "_write", write)
        assert asks.wait(job, progress=True).values == {"x": 1}
        assert shown[:2] == ["queued", f"running: {HALF}"] and shown[-1] == ""
