"""Runs one job at a time: takes the lock, counts a use, and starts the process.

The process inherits a lock, which lasts as long as any process has it. So no two jobs run at the same time, not even
after the server was killed while one ran.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate import errors
from quorate.campaigns import Refused, Store
from quorate.errors import ConfigError
from quorate.jobs._events import about
from quorate.jobs._queue import Queue, Started
from quorate.jobs._watch import END_S, Watch, close_pipes, until_stored
from quorate_client.keys import to_text

__all__ = ["OnEnd", "Runner", "check_child", "isolated", "session_of"]

#: Called when a job's process has ended: the program's hash, the job's next state, and the seconds that it ran.
OnEnd = Callable[[bytes, str, float], None]

LOG = logging.getLogger("quorate.serve")

_CHECK_S = 60.0

#: Sees the folder that has this server's own packages; `-I` alone does not see those of a user.
_PATH = """import sys
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
"""
_PACKAGES = str(Path(errors.__file__).resolve().parent.parent)
_CHILD = "from quorate.jobs._child import main"


def isolated(code: str, *arguments: str) -> list[str]:
    """Returns the command of a process of this Python, in isolated mode, which can import Quorate.

    Args:
        code: what it runs, after `import sys`.
        arguments: the last of its arguments.
    """
    return [sys.executable, "-I", "-c", f"{_PATH}{code}", _PACKAGES, *arguments]


def check_child() -> None:
    """Checks that the process of a job can import what it needs.

    Raises:
        ConfigError: it cannot.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the command is this interpreter
            isolated(_CHILD),
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
        on_end: called when a job's process has ended.
    """

    def __init__(
        self, store: Store, queue: Queue, config: Path, woken: Callable[[], None], on_end: OnEnd | None = None
    ) -> None:
        self._store, self._queue, self._config, self._woken = store, queue, config.resolve(), woken
        self._on_end = on_end
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
            thread.join(END_S + 2.0)

    def _spawn(self, started: Started, lock: int) -> None:
        """Starts the process and its watch. If that fails, no program has run, and the job waits again."""
        job, asked = started.job.id, started.job.asked
        what = (job.hex(), started.program.name, to_text(asked.requester), ", ".join(asked.parameters) or "none")
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
                fields = about("job.started", job.hex(), program=started.program.hash.hex(), process=process.pid)
                LOG.info("job %s of %s starts for %s, parameters: %s, as process %s", *what, process.pid, extra=fields)
                watch = Watch(process, read, self._queue, started, self._stopping, self._store)
                self._begin(self._watched, watch, spec, made, started.program.hash)
            except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: there can be no other thread
                fields = about("job.not_started", job.hex(), error_type=type(error).__name__)
                LOG.error("the process of job %s cannot be started: %s", job.hex(), type(error).__name__, extra=fields)
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
            isolated(f"{_CHILD}\nsys.exit(main())", str(report)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,  # what it prints goes to this server's log
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            pass_fds=(report, lock),
        )

    def _waits_again(self, job: bytes) -> None:
        until_stored(lambda: self._queue.unconnected(job), self._stopping)
        self._woken()

    def _watched(self, watch: Watch, spec: bytes, folder: tempfile.TemporaryDirectory[str], program: bytes) -> None:
        begun = time.monotonic()
        try:
            state = watch.run(spec)
            if self._on_end is not None:
                self._on_end(program, state, time.monotonic() - begun)
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
    close_pipes(process)
