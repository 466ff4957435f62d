"""Watches the process of a job: hands it its work, ends it when it is due, and keeps what it reported."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

from quorate.campaigns import Store, StoreError
from quorate.errors import __all__ as names_of_errors
from quorate.jobs._events import about
from quorate.jobs._queue import Queue, Started
from quorate_client.job import MOST_RESULT_BYTES, JobProgress

__all__ = ["END_S", "Report", "Watch", "close_pipes", "until_stored"]

LOG = logging.getLogger("quorate.serve")

#: Seconds from SIGTERM to SIGKILL when the server ends.
END_S = 1.2

_POLL_S = 0.2
_GRACE_S = 5.0  # the same at other times
_MOST_REPORT_BYTES = 2 * MOST_RESULT_BYTES + (1 << 16)  # a text within a text has more characters
_RETRY_S = 1.0
_MOST_LINE_BYTES = 8192  # of what it prints; longer lines are logged as several
_MOST_TAIL_BYTES = 4096  # of progress that is not read yet
_STALE_S = 10.0  # after which progress is that of a run that has ended
_OUTPUT_S = 1.0  # for the end of what it printed, which a process that was left behind may hold open

#: What a process reports of its session: seconds, bytes that this party sent, and rounds; and what it may add.
_COSTS = frozenset({"seconds", "bytes", "rounds"})
MEASURED = _COSTS | {f"predicted_{what}" for what in _COSTS}
_MOST_MEASURED = 1e18

#: Reasons that a process may report.
_REPORTED = frozenset({*names_of_errors, "PoolInUse", "ProgramError", "TooLarge"})

#: Errors of a process that got no session: the others have not connected, or the pool is in use.
#: The job is tried again.
_UNCONNECTED = ("PoolInUse", "PeerEnded", "PeerLost", "PeerTimeout", "RunAborted")


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Closes what the process reads, which tells it to end, and what it prints."""
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


class Watch:
    """Watches a process until it has ended, and moves its job on."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reports: tuple[int, int],
        queue: Queue,
        started: Started,
        stopping: threading.Event,
        store: Store,
    ) -> None:
        self._process, self._queue, self._stopping, self._store = process, queue, stopping, store
        self._report, self._heard = reports
        os.set_blocking(self._heard, False)
        self._progress: tuple[JobProgress, float] | None = None  # and when it was reported
        self._tail = b""
        self._job, self._terms = started.job.id, started.program.terms
        self._is_making = started.job.making is not None
        self._data = bytearray()
        self._told_at: float | None = None
        self._reason, self._is_lost = "", False
        self._begun = time.monotonic()
        self._output: threading.Thread | None = None

    def run(self, spec: bytes) -> str:
        """Hands the process its work, waits for its end, and keeps what it reported. Returns the job's next state."""
        try:
            try:
                self._watch(spec)
            finally:
                self._kill(signal.SIGKILL)  # what is left of its group; once it is reaped, the number may be another's
                self._process.wait()
                self._read(0.0)
        except Exception as error:  # the job must not stay without a watch
            fields = about("job.unwatched", self._job.hex(), error_type=type(error).__name__)
            LOG.error(
                "the process of job %s cannot be watched: %s", self._job.hex(), type(error).__name__, extra=fields
            )
            self._is_lost = True
        finally:
            os.close(self._report)
            os.close(self._heard)
            if self._output is not None:
                self._output.join(_OUTPUT_S)
            if self._output is None or not self._output.is_alive():
                close_pipes(self._process)
        return self._settle()

    def _watch(self, spec: bytes) -> None:
        begun = self._begun = time.monotonic()
        threading.Thread(target=self._hand_over, args=(spec,), daemon=True).start()
        self._output = threading.Thread(target=self._log_output, daemon=True)
        self._output.start()
        while not self._has_ended():
            self._read(_POLL_S)
            self._read_progress()
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

    def _log_output(self) -> None:
        """Logs the lines that the process prints, to the end."""
        job, pipe = self._job.hex(), self._process.stdout
        while pipe is not None and (line := pipe.readline(_MOST_LINE_BYTES)):
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            LOG.info("job %s prints: %s", job, text, extra=about("job.output", job))

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

    def _read_progress(self) -> None:
        """Keeps the last whole line of progress. Lines are a program's word, and of use only if they are numbers."""
        with contextlib.suppress(BlockingIOError):
            self._tail = (self._tail + os.read(self._heard, 1 << 16))[-_MOST_TAIL_BYTES:]
        lines, _, self._tail = self._tail.rpartition(b"\n")
        if lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                self._progress = JobProgress.of(json.loads(lines.rpartition(b"\n")[2])), time.monotonic()

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    def has_process(self) -> bool:
        """Whether the process has not ended, or its end has not been seen."""
        return self._process.returncode is None

    def progress(self) -> JobProgress | None:
        """Returns how far the program is; None if it has reported nothing yet, or nothing for a while."""
        told = self._progress
        return None if told is None or time.monotonic() - told[1] > _STALE_S else told[0]

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
        elif time.monotonic() - self._told_at > (END_S if self._stopping.is_set() else _GRACE_S):
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

    def _settle(self) -> str:
        """Moves the job on: by this server's own reason, else by what was reported. Returns its next state."""
        report = Report.of(bytes(self._data))
        if self._is_lost:  # some of the report may be lost too, so the use counts
            report = dataclasses.replace(report, connected=True)
        outcome = self._reason or ("done" if report.result is not None else report.error)
        state, why, result = self._outcome(report)
        seconds = round(time.monotonic() - self._begun, 3)
        fields = about("job.ended", self._job.hex(), state=state, why=outcome, seconds=seconds)
        level = logging.WARNING if state == "failed" else logging.INFO
        LOG.log(level, "job %s of process %s has ended: %s", self._job.hex(), self._process.pid, outcome, extra=fields)
        cheated = report.error == "CheatingDetected"
        if report.connected:
            measured = report.measured if state == "done" else None
            until_stored(
                lambda: self._queue.ended(self._job, state, why, result, measured, cheated=cheated), self._stopping
            )
        else:
            until_stored(lambda: self._queue.unconnected(self._job, state, why, cheated=cheated), self._stopping)
        return state

    def _outcome(self, report: Report) -> tuple[str, str, bytes | None]:
        """Returns the next state of the job, why, and the sealed result."""
        if self._reason == "Cancelled":
            return "cancelled", "", None
        if self._is_making and report.result is None and not self._reason:
            return "failed", report.error, None  # server 0 proposes another one
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
            LOG.error("the next state of a job is not stored yet: %s", error, extra=about("store.error"))
        if stopping.wait(_RETRY_S):
            return


@dataclasses.dataclass(frozen=True)
class Report:
    """What a process reported.

    Attributes:
        connected: whether its program may have had a session. It had none if nothing was reported, or one error alone.
        error: the word for its error; "Ended" without one.
        result: its result, JSON; None without one.
        measured: what it says that its session took, JSON; None without a result.
    """

    connected: bool
    error: str
    result: bytes | None
    measured: bytes | None = None

    @staticmethod
    def of(data: bytes) -> Report:
        """Reads all that was reported."""
        lines = [_object(line) for line in data.split(b"\n")[:-1]]
        error = next((str(one["error"]) for one in lines if one.get("error") in _REPORTED), "Ended")
        before = not data or (
            len(lines) == 1 and data.endswith(b"\n") and set(lines[0]) == {"error"} and error != "Ended"
        )
        result = next((one["result"] for one in lines if isinstance(one.get("result"), str)), None)
        kept = None if before or result is None or error != "Ended" else result.encode("ascii", "replace")
        if kept is not None and len(kept) > MOST_RESULT_BYTES:
            return Report(True, "TooLarge", None)
        measured = next((_measured(one["measured"]) for one in lines if "measured" in one), None)
        return Report(not before, error, kept, None if kept is None else measured)


def _measured(told: Any) -> bytes | None:
    """Returns the numbers that the console shows; None if the process reports others, or fewer."""
    if not isinstance(told, dict) or not _COSTS <= set(told) <= MEASURED:
        return None
    if any(type(one) not in (int, float) or not 0 <= one < _MOST_MEASURED for one in told.values()):
        return None
    return json.dumps(told).encode()


def _object(line: bytes) -> dict[str, Any]:
    """Returns the object of a line of JSON; an empty one for other lines."""
    with contextlib.suppress(ValueError, RecursionError):
        one = json.loads(line)
        if isinstance(one, dict):
            return one
    return {}
