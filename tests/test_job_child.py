"""Processes of jobs: what they report, how they end, and what they leave; they are the real ones."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deploying import Deployment
from jobbing import wait_until
from queueing import Office
from quorate._session._signals import Terminated
from quorate.campaigns import Refused, StoreError, StoreFull
from quorate.errors import CheatingDetected, ConfigError, NotApproved, PeerTimeout
from quorate.jobs import Queue, _runner, _watch
from quorate.jobs._child import PoolInUse, connected, named, plain
from quorate.jobs._runner import Runner, check_child, session_of
from quorate.jobs._watch import Report
from quorate_client.job import MOST_RESULT_BYTES

CODE = """
import os, signal, sys, time
import numpy as np
import quorate as qr

open({marker!r}, "a").write("top level\\n")

def program(mpc, what):
    x = mpc.input(np.array([41]) if mpc.me == 0 else None, shape=(1,), dtype=qr.int(32), bound=100, owner=0)
    if what == "sum":
        return {{"sum": (x + 1).reveal(), "mine": x.reveal(to=1), "where": os.listdir("."), "main": __name__}}
    if what == "value":
        raise ValueError("the salary is 90210")
    if what == "exit":
        os._exit(0)
    if what == "large":
        print("a flood\\n" * 10_000)
        return "x" * (600 << 10)
    if what == "left":
        if os.fork() == 0:
            time.sleep(100)
        return {{"left": 1}}
    if what == "neighbour":
        import neighbour
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open({marker!r}, "a").write("deaf\\n")
    while True:
        time.sleep(0.1)
"""

PARAMETER = """
[parameters.what]
type = "text"
values = ["sum", "value", "exit", "large", "left", "neighbour", "deaf", "sleep"]
"""


class Servers:
    """Queues and runners of the parties of one deployment, in this process; their jobs are processes."""

    def __init__(self, folder: Path, at_once: int = 1, **terms: object) -> None:
        self.deployment = Deployment(folder, 2)
        self.marker = folder / "marker"
        self.offices, self.runners = list[Office](), list[Runner]()
        for party in range(2):
            office = Office(folder / f"store{party}", at_once)
            text = self.deployment.config(party).read_text().replace('"rss"', '"aby"')
            config = self.deployment.config(party, text)
            office.program = office.approve(CODE.format(marker=str(self.marker)), PARAMETER, **terms)
            self.offices.append(office)
            self.runners.append(Runner(office.store, office.queue, config, lambda: None))

    def start(self, what: str) -> bytes:
        request = self.offices[0].request(what=what)
        for office in self.offices:
            office.submit(request)
        for runner in self.runners:
            runner.start(request.id)
        return request.id

    def ended(self, job: bytes, free: bool = True) -> list[tuple[str, str]]:
        """Waits for the ends of a job's processes, by default of all jobs', and returns its states."""
        wait_until(lambda: all(office.job(job).state != "running" for office in self.offices))
        wait_until(lambda: not free or all(is_free(office) for office in self.offices))
        return [office.state(job) for office in self.offices]

    def run(self, what: str) -> list[tuple[str, str]]:
        return self.ended(self.start(what))

    def stop(self) -> None:
        for runner in self.runners:
            runner.end()
        for runner, office in zip(self.runners, self.offices, strict=True):
            runner.stop()
            office.close()
        self.deployment.stop()


def is_free(office: Office) -> bool:
    """Whether no process has the lock of jobs."""
    file = os.open(office.folder / "store.db.job.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("servers")
    (folder / "neighbour.py").write_text("")
    made = Servers(folder, times=100, per_day=100, timeout_s=100)
    yield made
    made.stop()


# ---- with a session ------------------------------------------------------------------------------------------------


def test_results_are_kept_sealed(servers: Servers) -> None:
    job = servers.start("sum")
    assert servers.ended(job) == [("done", "")] * 2
    found = []
    for office in servers.offices:
        sealed = office.job(job).result
        assert sealed is not None and b"sum" not in sealed
        found.append(json.loads(office.store.job_key.open(sealed, job)))
    assert found[0] == {"sum": [42], "mine": None, "where": [], "main": "program"}
    assert found[1] == {**found[0], "mine": [41]}
    assert [office.uses_of() for office in servers.offices] == [1, 1]


@pytest.mark.parametrize(
    ("what", "why"),
    [("value", "ProgramError"), ("exit", "Ended"), ("large", "TooLarge"), ("neighbour", "ProgramError")],
)
def test_failures_have_a_word_and_no_value(
    servers: Servers, what: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = [office.uses_of() for office in servers.offices]
    with caplog.at_level("INFO", "quorate.serve"):
        job = servers.start(what)
        assert servers.ended(job) == [("failed", why)] * 2
    assert [office.uses_of() for office in servers.offices] == [uses + 1 for uses in before]
    for office in servers.offices:
        assert "90210" not in repr(office.rows("SELECT * FROM jobs"))
    err = caplog.text
    assert what != "value" or "the salary is 90210" in err  # the operator's log has it
    assert what != "neighbour" or "No module named 'neighbour'" in err  # the working folder is not searched


def test_what_a_program_leaves_ends_with_it(servers: Servers) -> None:
    begun = time.monotonic()
    assert servers.run("left") == [("done", "")] * 2  # with the lock free, which a child of the program had
    assert time.monotonic() - begun < 30


def test_a_job_is_cancelled_while_it_runs(servers: Servers) -> None:
    servers.marker.touch()
    job = servers.start("sleep")
    wait_until(lambda: servers.marker.read_text().count("top") % 2 == 0)
    with pytest.raises(Refused, match="another job's process runs here: try later"):
        servers.runners[0].start(servers.offices[0].submit(what="sum"))
    servers.runners[0].start(job)  # it runs already
    servers.offices[0].queue.cancel(servers.offices[0].queue.waiting()[0])
    for office in servers.offices:
        office.queue.cancel(job)
    assert servers.ended(job) == [("cancelled", "")] * 2


def test_a_program_that_ignores_its_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + skipped[0], sleep=time.sleep)
    monkeypatch.setattr(_watch, "time", clock)
    servers = Servers(tmp_path, timeout_s=1000)
    marker = servers.marker
    marker.touch()
    try:
        job = servers.start("deaf")
        wait_until(lambda: marker.read_text().count("deaf") == 2)
        skipped[0] = 1001.0
        assert servers.ended(job) == [("failed", "TimeLimit")] * 2
        assert [office.uses_of() for office in servers.offices] == [1, 1]
        job = servers.start("sleep")
        wait_until(lambda: marker.read_text().count("top") == 4)
        servers.stop()  # it gives up waiting before a process would be killed that is not told to be quick
        for office in servers.offices:
            office.open()
            assert office.state(job)[0] == "failed" and office.uses_of() == 2
            office.close()
    finally:
        with contextlib.suppress(Exception):
            servers.stop()


def test_a_process_that_is_told_to_end_by_others_has_ended(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by systemd, which tells all processes of a service."""
    servers.marker.touch()  # other tests may have written into it, or none
    made, before = list[int](), servers.marker.read_text().count("top")
    real = Runner._process

    def process(*arguments: Any) -> subprocess.Popen[bytes]:
        found = real(*arguments)
        made.append(found.pid)
        return found

    monkeypatch.setattr(Runner, "_process", process)
    job = servers.start("sleep")
    wait_until(lambda: servers.marker.read_text().count("top") == before + 2)
    os.kill(made[0], signal.SIGTERM)
    wait_until(lambda: servers.offices[0].job(job).state != "running")
    servers.offices[1].queue.cancel(job)  # its program sleeps, and does not hear of that
    assert servers.ended(job) == [("failed", "Ended"), ("cancelled", "")]


def test_a_store_that_cannot_be_read_does_not_end_a_job(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise StoreError("the store cannot be read: database is locked")

    with monkeypatch.context() as patch:
        job = servers.start("sum")
        patch.setattr(servers.offices[1].queue, "job", fails)
        wait_until(lambda: all(is_free(office) for office in servers.offices))
    assert servers.ended(job) == [("done", "")] * 2


def test_a_watch_that_fails_keeps_what_was_reported_and_the_use(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch breaks off before it has read anything, and the process has its session meanwhile."""
    before = [office.uses_of() for office in servers.offices]

    def fails(self: _watch.Watch) -> bool:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        raise ZeroDivisionError

    monkeypatch.setattr(_watch.Watch, "_has_ended", fails)
    assert servers.run("sum") == [("done", "")] * 2
    assert [office.uses_of() for office in servers.offices] == [uses + 1 for uses in before]


# ---- without a session ---------------------------------------------------------------------------------------------


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Servers]:
    """The first of two servers; the other one never starts a job."""
    made = Servers(tmp_path)
    made.deployment.limits["connect_timeout_s"] = 1.0
    text = made.deployment.config(0).read_text().replace('"rss"', '"aby"')
    made.deployment.config(0, text)
    other = made.offices.pop()
    other.close()
    made.runners.pop()
    yield made
    made.stop()


def test_a_job_whose_peers_are_absent_waits_again_and_counts_nothing(alone: Servers) -> None:
    job = alone.start("sum")
    assert alone.ended(job) == [("queued", "")]
    assert alone.offices[0].uses_of() == 0 and alone.offices[0].job(job).attempts == 1
    assert not alone.marker.exists(), "no byte of the program runs before there is a session"


def test_an_error_before_the_session_is_final_and_counts_nothing(alone: Servers) -> None:
    alone.deployment.config(0, "me = 0\n")
    job = alone.start("sum")
    assert alone.ended(job) == [("failed", "ConfigError")]
    assert alone.offices[0].uses_of() == 0 and not alone.marker.exists()


def test_a_process_that_cannot_be_started_leaves_the_job_waiting(
    alone: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(12, "no memory")

    monkeypatch.setattr(_runner.subprocess, "Popen", fails)
    job = alone.start("sum")
    assert alone.ended(job) == [("queued", "")] and alone.offices[0].uses_of() == 0


@pytest.mark.parametrize(("name", "state", "uses"), [("quorate job", "queued", 0), ("_hand_over", "failed", 1)])
def test_a_job_without_a_thread_ends(
    alone: Servers, monkeypatch: pytest.MonkeyPatch, name: str, state: str, uses: int
) -> None:
    real = threading.Thread.start

    def fails(self: threading.Thread) -> None:
        if name in self.name:
            raise RuntimeError("can't start new thread")
        real(self)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fails)
        job = alone.start("sum")
        assert alone.ended(job)[0][0] == state and alone.offices[0].uses_of() == uses
    assert not alone.marker.exists()


def test_a_job_ends_while_many_descriptors_are_open(alone: Servers) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096 if hard == resource.RLIM_INFINITY else min(hard, 4096), hard))
    with contextlib.ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        assert alone.ended(alone.start("sum")) == [("queued", "")]
    assert alone.offices[0].uses_of() == 0


def test_the_end_of_a_job_is_stored_once_the_disk_has_room(alone: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first writes of the end fail; the job runs until one succeeds, and no other one starts."""
    left, real = [2], Queue.unconnected

    def fails(*arguments: Any, **words: Any) -> None:
        if left[0]:
            left[0] -= 1
            assert alone.offices[0].state(job)[0] == "running"
            raise StoreFull("the disk is full")
        real(*arguments, **words)

    monkeypatch.setattr(_watch, "_RETRY_S", 0.05)
    monkeypatch.setattr(Queue, "unconnected", fails)
    job = alone.offices[0].submit(what="sum")
    alone.runners[0].start(job)
    assert alone.ended(job) == [("queued", "")] and left == [0] and alone.offices[0].uses_of() == 0


def test_a_job_that_can_never_start_is_ended_by_the_call_to_start_it(alone: Servers) -> None:
    job = alone.offices[0].submit(what="sum")
    alone.offices[0].clock.now += 3600
    with pytest.raises(Refused, match="the request has expired"):
        alone.runners[0].start(job)
    assert alone.offices[0].state(job) == ("expired", "") and is_free(alone.offices[0])


def test_the_process_ends_with_its_server(tmp_path: Path) -> None:
    """The server is killed while the process waits for its peers."""
    servers = Servers(tmp_path)
    job = servers.offices[0].submit(what="sum")
    config, store = tmp_path / "party0.toml", servers.offices[0].store.path
    servers.offices[0].close()
    script = f"""
import sys, time
from pathlib import Path
from typing import Any
from campaigning import STORE_KEY, Clock
from quorate.campaigns import Store
from quorate.jobs import Queue
from quorate.jobs._runner import Runner
store = Store({str(store)!r}, STORE_KEY)
queue = Queue(store, bytes.fromhex({servers.offices[0].deployment.hash.hex()!r}), Clock())
Runner(store, queue, Path({str(config)!r}), lambda: None).start(bytes.fromhex({job.hex()!r}))
print("started", flush=True)
time.sleep(100)
"""
    path = os.pathsep.join([*sys.path])
    server = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}, text=True
    )
    assert server.stdout is not None and server.stdout.readline() == "started\n"
    assert not is_free(servers.offices[0])
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    wait_until(lambda: is_free(servers.offices[0]), 30)
    servers.offices[0].open()
    servers.offices[0].queue.restarted()
    assert servers.offices[0].state(job) == ("failed", "Restarted") and servers.offices[0].uses_of() == 1
    servers.stop()


# ---- words ---------------------------------------------------------------------------------------------------------


def test_errors_are_named_from_a_closed_list() -> None:
    class Own(NotApproved):
        """An error of another module."""

    assert [named(error) for error in (PeerTimeout("x"), CheatingDetected("x"), Own("x"), KeyError("x"))] == [
        "PeerTimeout",
        "CheatingDetected",
        "NotApproved",
        "ProgramError",
    ]
    assert named(SystemExit(0)) == "ProgramError" and named(Terminated(143)) == "Ended"
    assert named(Refused(409, "a", "b")) == "SubmissionError"


def test_cheating_is_named_whatever_a_program_makes_of_it() -> None:
    for cause in (CheatingDetected("x"), None):
        found: list[BaseException] = []
        try:
            try:
                raise CheatingDetected("x")
            except CheatingDetected:
                raise RuntimeError("wrapped") from cause
        except RuntimeError as error:
            found.append(error)
        assert named(found[0]) == "CheatingDetected"
    own = KeyError("x")
    own.__context__, own.__cause__ = RuntimeError("y"), own
    own.__context__.__context__ = own
    assert named(own) == "ProgramError"


def test_a_job_that_fails_to_start_for_any_reason_waits_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(tmp_path)
    runner = Runner(office.store, office.queue, tmp_path / "party.toml", lambda: None)

    def broken(*_: object) -> bytes:
        raise KeyError("x")

    monkeypatch.setattr(runner, "_spec", broken)
    job = office.submit()
    runner.start(job)
    wait_until(lambda: office.state(job) == ("queued", ""))
    runner.stop()
    office.close()


def test_a_thread_without_a_process_has_no_lock(tmp_path: Path) -> None:
    """What a killed server left has the lock then, and nothing starts beside it."""
    office = Office(tmp_path, at_once=2)
    runner = Runner(office.store, office.queue, tmp_path / "party.toml", lambda: None)
    job = office.submit()
    runner._threads[bytes(32)] = threading.Thread()  # of a job that waits for the store
    with (tmp_path / "store.db.job1.lock").open("wb") as left:
        fcntl.flock(left, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another job's process runs here"):
            runner.check(job)
    runner.check(job)
    office.close()


def test_a_pool_in_use_queues_the_job_again(tmp_path: Path) -> None:
    config, folder = tmp_path / "party.toml", tmp_path / "pool"
    config.write_text('pool = "pool"\n')  # the native module refuses the rest of it
    folder.mkdir()
    spec = {"config": str(config), "session": "x", "options": {}}
    with (folder / "lock").open("wb") as lock:
        with pytest.raises(ConfigError):
            connected(spec)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(PoolInUse) as caught:
            connected(spec)
    assert named(caught.value) == "PoolInUse" and "PoolInUse" in _watch._UNCONNECTED
    assert Report.of(b'{"error": "PoolInUse"}\n') == Report(False, "PoolInUse", None)


COSTS = {"seconds": 1.5, "bytes": 7, "rounds": 3}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({**COSTS, "predicted_rounds": 3}, True),
        ({}, False),
        ({"rounds": 1}, False),
        ({"seconds": 1.5, "bytes": 7}, False),
        ({**COSTS, "seconds": -1}, False),
        ({**COSTS, "seconds": 1e18}, False),
        ({**COSTS, "seconds": float("nan")}, False),
        ({**COSTS, "bytes": True}, False),
        ({**COSTS, "bytes": "7"}, False),
        ({**COSTS, "salary": 90210}, False),
        ([7], False),
        (None, False),
    ],
)
def test_what_is_measured_is_a_few_numbers(told: object, kept: bool) -> None:
    line = json.dumps({"result": "{}", "measured": told}).encode()
    report = Report.of(b'{"connected": true}\n' + line + b"\n")
    assert report.result == b"{}"
    assert (report.measured is not None and json.loads(report.measured) == told) is kept
    without = json.dumps({"measured": told}).encode()
    assert Report.of(b'{"connected": true}\n' + without + b"\n").measured is None


@pytest.mark.parametrize(
    ("data", "connected", "error", "result"),
    [
        (b"", False, "Ended", None),
        (b'{"error": "PeerTimeout"}\n', False, "PeerTimeout", None),
        (b'{"error": "PeerTimeout"}', True, "Ended", None),  # cut off: it cannot be read, so it counts
        (b'{"error": "the salary is 90210"}\n', True, "Ended", None),
        (b'{"error": "PeerTimeout", "x": 1}\n', True, "PeerTimeout", None),
        (b'{"error": "PeerTimeout"}\n{"error": "PeerTimeout"}\n', True, "PeerTimeout", None),
        (b"garbage\n", True, "Ended", None),
        (b'{"connected": true}\n', True, "Ended", None),
        (b'{"connected": true}\n{"error": "RunAborted"}\n', True, "RunAborted", None),
        (b'{"connected": true}\n{"error": "Other"}\n', True, "Ended", None),
        (b'{"connected": true}\n{"result": "{}"}\n', True, "Ended", b"{}"),
        (b'{"connected": true}\n{"result": 5}\n', True, "Ended", None),
        (b'{"connected": true}\n{"result": "' + b"1" * (MOST_RESULT_BYTES + 1) + b'"}\n', True, "TooLarge", None),
    ],
)
def test_what_is_reported_decides_about_a_use(data: bytes, connected: bool, error: str, result: bytes | None) -> None:
    assert Report.of(data) == Report(connected, error, result)


def test_results_are_plain_values() -> None:
    results = {
        "a": np.arange(3),
        "b": np.float64(0.5),
        "c": np.array(["x"]),
        "d": None,
        "e": np.bool_(True),
        "f": 2**64,
    }
    assert plain(results) == {"a": [0, 1, 2], "b": 0.5, "c": ["x"], "d": None, "e": True, "f": 2**64}
    assert plain(np.array([2**70], dtype=object)) == {"result": [2**70]}
    for value in (float("nan"), np.array([np.inf]), [float("-inf")]):
        with pytest.raises(ValueError, match="is not finite"):
            plain(value)
    for value in (object(), {"a": {"b": 1}}, {1: 2}, b"bytes", 1j):
        with pytest.raises(TypeError):
            plain(value)


def test_the_process_is_checked_when_the_server_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    check_child()
    monkeypatch.setattr(_runner, "_CHILD", "import absent_package")
    with pytest.raises(_runner.ConfigError, match=r"absent_package.*install Quorate and its packages in one"):
        check_child()
    monkeypatch.setattr(_runner, "_CHILD", "import time; time.sleep(10)")
    monkeypatch.setattr(_runner, "_CHECK_S", 0.1)
    with pytest.raises(_runner.ConfigError, match=r"not imported Quorate within 0\.1 s: start the server again"):
        check_child()


def test_names_of_sessions_have_room() -> None:
    assert len(session_of(bytes(32))) == 47 and session_of(bytes(32)) != session_of(b"\1" * 32)
