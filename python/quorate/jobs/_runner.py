"""Runs one job at a time: starts its process, watches it, and keeps what it reports.

The process inherits a lock, which lasts as long as any process has it. So no two jobs run at the same time, not even
after the server was killed while one ran.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import fcntl
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate import errors
from quorate.campaigns import Refused, Store, StoreError
from quorate.errors import ConfigError
from quorate.errors import __all__ as names_of_errors
from quorate.jobs._queue import Queue, Started
from quorate_client.job import MOST_RESULT_BYTES
from quorate_client.keys import to_text

__all__ = ["Runner", "check_child", "session_of"]

LOG = logging.getLogger("quorate.serve")

_POLL_S = 0.2
_GRACE_S = 5.0  # from SIGTERM to SIGKILL
_END_S = 1.2  # the same when the server ends
_MOST_REPORT_BYTES = 2 * MOST_RESULT_BYTES + (1 << 16)  # a text within a text has more characters
_RETRY_S = 1.0
_CHECK_S = 60.0

#: Reasons that a process may report.
_REPORTED = frozenset({*names_of_errors, "ProgramError", "TooLarge"})

#: Errors by which a process says that the others have not connected, so that the job may be tried again.
_UNCONNECTED = ("PeerLost", "PeerTimeout", "RunAborted")

#: Imports the child from the folder that has this server's own packages; `-I` alone does not see those of a user.
_IMPORT = """import sys
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
from quorate.jobs._child import main
"""
_PACKAGES = str(Path(errors.__file__).resolve().parent.parent)


def check_child() -> None:
    """Checks that the process of a job can import what it needs.

    Raises:
        ConfigError: it cannot.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the command is this interpreter
            [sys.executable, "-I", "-c", _IMPORT, _PACKAGES],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(
            f"a process of jobs has not imported Quorate within {_CHECK_S:g} s: start the server again once this "
            "machine is less busy"
        ) from None
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ConfigError(
            f"processes of jobs cannot import Quorate ({last}): they run by `{sys.executable} -I`, which sees neither "
            "PYTHONPATH nor packages of a user; install Quorate and its packages in one environment"
        )


def session_of(job: bytes) -> str:
    """Returns the name of a job's session, by which the servers' processes meet."""
    return f"job:{to_text(job)}"


class Runner:
    """What runs the jobs of a server.

    Args:
        store: the store; the lock lies beside it.
        queue: the jobs.
        config: the file of the party, `party.toml`.
        woken: called after each end of a job.
    """

    def __init__(self, store: Store, queue: Queue, config: Path, woken: Callable[[], None]) -> None:
        self._store, self._queue, self._config, self._woken = store, queue, config.resolve(), woken
        self._lock_file = store.path.with_name(f"{store.path.name}.job.lock")
        self._mutex = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, job: bytes) -> None:
        """Counts a use and starts the process of a job; does nothing if it runs already.

        Raises:
            Refused: it cannot start: 404 it is not here; 503 no job can now; 425 this one not yet; 409 never.
            StoreError: the store cannot be used.
        """
        with self._mutex:
            if self._stopping.is_set():
                raise Refused(503, "this server is about to end", "try later", 10)
            lock = self._take_lock(job)
            if lock is None:
                return
            try:
                started = self._queue.start(job)
                if started is not None:
                    self._spawn(started, lock)
            finally:
                os.close(lock)

    def _take_lock(self, job: bytes) -> int | None:
        """Returns the descriptor of the lock; None if this very job runs.

        Raises:
            Refused: another job's process has the lock.
        """
        lock = os.open(self._lock_file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            found = self._queue.job(job)
            if found is not None and found.state == "running":
                return None
            raise Refused(503, "another job's process runs here", "try later", 5) from None
        return lock

    def check(self, job: bytes) -> None:
        """Checks that a job could start now, and changes nothing. A job that runs already passes.

        Raises:
            Refused: as for `start`.
        """
        with self._mutex:
            self._queue.check(job)
            lock = self._take_lock(job)
            if lock is not None:
                os.close(lock)

    def end(self) -> None:
        """Starts no other job, and has the one that runs end within 1.6 s."""
        self._stopping.set()

    def stop(self) -> None:
        """Waits for the end of the job that runs, as `end` has it."""
        self.end()
        with self._mutex:
            thread = self._thread
        if thread is not None:
            thread.join(_END_S + 2.0)

    def _spawn(self, started: Started, lock: int) -> None:
        """Starts the process and its watch. If that fails, no program has run, and the job waits again."""
        job, asked = started.job.id, started.job.asked
        about = (job.hex(), started.program.name, to_text(asked.requester), ", ".join(asked.parameters) or "none")
        with contextlib.ExitStack() as undo:
            try:
                made = tempfile.TemporaryDirectory(prefix="quorate-job-", ignore_cleanup_errors=True)
                undo.callback(made.cleanup)
                read, write = os.pipe()
                undo.callback(os.close, read)
                with os.fdopen(write, "wb"):  # its copy here is closed in each case
                    spec = self._spec(started, Path(made.name))
                    process = self._process(made.name, write, lock)
                undo.callback(_discard, process)
                LOG.info("job %s of %s starts for %s, parameters: %s, as process %s", *about, process.pid)
                watch = _Watch(process, read, self._queue, started, self._stopping, self._store)
                self._begin(self._watched, watch, spec, made)
            except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: there can be no other thread
                LOG.error("the process of job %s cannot be started: %s", job.hex(), type(error).__name__)
                undo.close()
                self._give_back(job)
                return
            undo.pop_all()

    def _begin(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="quorate job")
        thread.start()
        self._thread = thread

    def _give_back(self, job: bytes) -> None:
        """Has a job wait again, in a thread since the store may be busy; in this one if there can be no other one."""
        try:
            self._begin(self._waits_again, job)
        except RuntimeError:
            self._waits_again(job)

    def _process(self, folder: str, report: int, lock: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the command is this interpreter
            [sys.executable, "-I", "-c", f"{_IMPORT}sys.exit(main())", _PACKAGES, str(report)],
            stdin=subprocess.PIPE,
            stdout=2,  # what it prints goes to this server's log
            cwd=folder,
            start_new_session=True,
            pass_fds=(report, lock),
        )

    def _waits_again(self, job: bytes) -> None:
        until_stored(lambda: self._queue.unconnected(job), self._stopping)
        self._woken()

    def _watched(self, watch: _Watch, spec: bytes, folder: tempfile.TemporaryDirectory[str]) -> None:
        try:
            watch.run(spec)
        finally:
            folder.cleanup()
            self._woken()

    def _spec(self, started: Started, folder: Path) -> bytes:
        """Writes the files of campaigns, and returns what the process reads."""
        terms, parameters = started.program.terms, dict(started.job.asked.parameters)
        for name, text in started.campaigns.items():
            file = folder / f"{name}.json"
            file.write_bytes(text)
            parameters[name] = str(file)
        fields = {
            "name": started.program.name,
            "code": base64.b64encode(started.program.code).decode(),
            "parameters": parameters,
            "config": str(self._config),
            "session": session_of(started.job.id),
            "runs": None if terms.runs is None else list(terms.runs),
            "options": dict(terms.options),
            "input": terms.input,
        }
        return json.dumps(fields).encode() + b"\n"


def _discard(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that has got no work."""
    process.kill()
    process.wait()
    _close_input(process)


def _close_input(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()


class _Watch:
    """Watches a process until it has ended, and moves its job on."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        report: int,
        queue: Queue,
        started: Started,
        stopping: threading.Event,
        store: Store,
    ) -> None:
        self._process, self._report, self._queue, self._stopping, self._store = process, report, queue, stopping, store
        self._job, self._terms = started.job.id, started.program.terms
        self._data = bytearray()
        self._told_at: float | None = None
        self._reason, self._is_lost = "", False

    def run(self, spec: bytes) -> None:
        """Hands the process its work, waits for its end, and keeps what it reported."""
        try:
            try:
                self._watch(spec)
            finally:
                self._kill(signal.SIGKILL)  # what is left of its group; once it is reaped, the number may be another's
                self._process.wait()
                self._read(0.0)
        except Exception as error:  # the job must not stay without a watch
            LOG.error("the process of job %s cannot be watched: %s", self._job.hex(), type(error).__name__)
            self._is_lost = True
        finally:
            os.close(self._report)
            _close_input(self._process)
        self._settle()

    def _watch(self, spec: bytes) -> None:
        begun = time.monotonic()
        threading.Thread(target=self._hand_over, args=(spec,), daemon=True).start()
        while not self._has_ended():
            self._read(_POLL_S)
            if len(self._data) > _MOST_REPORT_BYTES:
                self._kill(signal.SIGKILL)
            self._end_if_due(time.monotonic() - begun)

    def _has_ended(self) -> bool:
        """Whether the process has ended; it is not reaped by this."""
        if not hasattr(os, "waitid"):  # some systems lack it
            return self._process.poll() is not None
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def _hand_over(self, spec: bytes) -> None:
        """Writes what the process reads; the pipe stays open, since its end tells the process to end."""
        with contextlib.suppress(OSError, ValueError):  # the process has ended
            if self._process.stdin is not None:
                self._process.stdin.write(spec)
                self._process.stdin.flush()

    def _read(self, wait_s: float) -> None:
        """Reads what has been reported; not to its end, which a process that was left behind may hold open."""
        until, poll = time.monotonic() + wait_s, select.poll()  # select() refuses descriptors of 1024 and more
        poll.register(self._report, select.POLLIN)
        while poll.poll(1000 * max(until - time.monotonic(), 0.0)):
            piece = os.read(self._report, 1 << 16)
            if not piece:  # it is closed, and the process is about to end
                time.sleep(min(max(until - time.monotonic(), 0.0), _POLL_S / 10))
                return
            self._data += piece
            if len(self._data) > _MOST_REPORT_BYTES:
                self._reason = self._reason or "TooLarge"
                return

    def _end_if_due(self, seconds: float) -> None:
        """Tells the process to end if it is stopped, cancelled or late; and ends it if it does not."""
        if self._told_at is None:
            if self._stopping.is_set():
                self._reason = "Stopped"
            elif self._is_cancelled():
                self._reason = "Cancelled"
            elif seconds > self._terms.timeout_s:
                self._reason = "TimeLimit"
            if self._reason:
                self._told_at = time.monotonic()
                self._kill(signal.SIGTERM)
        elif time.monotonic() - self._told_at > (_END_S if self._stopping.is_set() else _GRACE_S):
            self._kill(signal.SIGKILL)

    def _is_cancelled(self) -> bool:
        """Whether the job was cancelled; not while the store cannot be read."""
        try:
            found = self._queue.job(self._job)
        except StoreError:
            return False
        return found is not None and found.cancel != 0

    def _kill(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _settle(self) -> None:
        """Moves the job on: by this server's own reason, else by what was reported."""
        report = _Report.of(bytes(self._data))
        if self._is_lost:  # some of the report may be lost too, so the use counts
            report = dataclasses.replace(report, connected=True)
        outcome = self._reason or ("done" if report.result is not None else report.error)
        LOG.info("job %s of process %s has ended: %s", self._job.hex(), self._process.pid, outcome)
        state, why, result = self._outcome(report)
        cheated = report.error == "CheatingDetected"
        if report.connected:
            until_stored(lambda: self._queue.ended(self._job, state, why, result, cheated=cheated), self._stopping)
        else:
            until_stored(lambda: self._queue.unconnected(self._job, state, why, cheated=cheated), self._stopping)

    def _outcome(self, report: _Report) -> tuple[str, str, bytes | None]:
        """Returns the next state of the job, why, and the sealed result."""
        if self._reason == "Cancelled":
            return "cancelled", "", None
        if self._reason == "Stopped" and not report.connected:
            return "queued", "", None
        if self._reason:
            return "failed", self._reason, None
        if report.result is not None:
            return "done", "", self._store.job_key.seal(report.result, self._job)
        if not report.connected and report.error in (*_UNCONNECTED, "Ended"):
            return "queued", "", None
        return "failed", report.error, None


def until_stored(write: Callable[[], None], stopping: threading.Event) -> None:
    """Writes the next state of a job, again and again until it is on the disk; until then no other job starts.

    If the server ends before that, its next start ends the job.
    """
    while True:
        try:
            write()
            return
        except StoreError as error:
            LOG.error("the next state of a job is not stored yet: %s", error)
        if stopping.wait(_RETRY_S):
            return


@dataclasses.dataclass(frozen=True)
class _Report:
    """What a process reported.

    Attributes:
        connected: whether its program may have had a session. It had none if nothing was reported, or one error alone.
        error: the word for its error; "Ended" without one.
        result: its result, JSON; None without one.
    """

    connected: bool
    error: str
    result: bytes | None

    @staticmethod
    def of(data: bytes) -> _Report:
        """Reads all that was reported."""
        lines = [_object(line) for line in data.split(b"\n")[:-1]]
        error = next((str(one["error"]) for one in lines if one.get("error") in _REPORTED), "Ended")
        before = not data or (
            len(lines) == 1 and data.endswith(b"\n") and set(lines[0]) == {"error"} and error != "Ended"
        )
        result = next((one["result"] for one in lines if isinstance(one.get("result"), str)), None)
        kept = None if before or result is None or error != "Ended" else result.encode("ascii", "replace")
        if kept is not None and len(kept) > MOST_RESULT_BYTES:
            return _Report(True, "TooLarge", None)
        return _Report(not before, error, kept)


def _object(line: bytes) -> dict[str, Any]:
    """Returns the object of a line of JSON; an empty one for other lines."""
    with contextlib.suppress(ValueError, RecursionError):
        one = json.loads(line)
        if isinstance(one, dict):
            return one
    return {}
