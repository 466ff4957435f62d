"""Runs jobs: takes a slot, counts a use, and starts the process.

A slot is a lock that the process inherits, and that lasts as long as any process has it. While a slot is taken by a
process that this server does not watch, no job starts: it is one that was left when a server was killed, and may still
work on campaigns.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quorate import errors
from quorate.campaigns import MOST_AT_ONCE, Refused, Store, holders, kept_by
from quorate.errors import ConfigError
from quorate.jobs._events import about
from quorate.jobs._folders import Folder
from quorate.jobs._making import Making
from quorate.jobs._queue import Queue, Started
from quorate.jobs._watch import END_S, Watch, close_pipes, until_stored
from quorate_client.job import JobProgress
from quorate_client.keys import to_text

__all__ = ["OnEnd", "Runner", "check_child", "isolated", "session_of"]

#: Called when a job's process has ended: the program's hash, the job's next state, and the seconds that it ran.
OnEnd = Callable[[bytes, str, float], None]

LOG = logging.getLogger("quorate.serve")

_CHECK_S = 60.0
_LOOK_S = 10.0  # between looks for processes that keep slots

#: Sees the folder that has this server's own packages; `-I` alone does not see those of a user.
_PATH = """import sys
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
"""
_PACKAGES = str(Path(errors.__file__).resolve().parent.parent)
_CHILD = "from quorate.jobs._child import main"
_MAKER = "from quorate._command._makings import main"


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
        self._mutex = threading.Lock()
        self._stopping = threading.Event()
        self._threads: dict[bytes, threading.Thread] = {}  # of the jobs that run
        self._watches: dict[bytes, Watch] = {}
        self._look_at, self._told = 0.0, frozenset[int]()  # for processes that keep slots

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

    def start_making(self, making: Making, timeout_s: int) -> None:
        """Starts the process of a making; does nothing if it runs already.

        Raises:
            Refused: it cannot start: 503 not now; 409 never.
            StoreError: the store cannot be used.
        """
        with self._mutex:
            if self._stopping.is_set():
                raise Refused(503, "this server is about to end", "try later", 10)
            lock = self._take_lock(making.id)
            if lock is None:
                return
            try:
                started = self._queue.start_making(making)
                if started is not None:
                    limited = dataclasses.replace(started.program.terms, timeout_s=timeout_s)
                    program = dataclasses.replace(started.program, terms=limited)
                    self._spawn(dataclasses.replace(started, program=program), lock)
            finally:
                os.close(lock)

    def _take_lock(self, job: bytes) -> int | None:
        """Returns the descriptor of a free slot's lock; None if this very job runs.

        Raises:
            Refused: other jobs' processes have the locks.
        """
        free, taken = list[int](), 0
        with contextlib.ExitStack() as undo:
            for slot in range(MOST_AT_ONCE):
                file = self._slot(slot)
                if slot >= self._queue.at_once and not file.exists():
                    continue
                lock = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
                undo.callback(os.close, lock)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    free.append(lock)
                except OSError:
                    taken += 1
            own = sum(watch.has_process() for watch in self._watches.copy().values())  # each has one lock
            if free and taken <= own and taken < self._queue.at_once:
                return os.dup(free[0])  # with the same lock, which ends with the last copy
        found = self._queue.job(job)
        if found is not None and found.state == "running":
            return None
        if taken > own:
            self._name_holders()
        what = "another job's process runs here" if taken == 1 else f"{taken} jobs' processes run here"
        raise Refused(503, what, "try later", 5)

    def _name_holders(self) -> None:
        """Logs once which processes keep slots, but for those of jobs that are watched."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK_S
        watched = {watch.process for watch in self._watches.copy().values()}
        for file in filter(Path.is_file, map(self._slot, range(MOST_AT_ONCE))):
            found = holders(file.stat())
            numbers = frozenset(one.number for one in found)
            if not found or numbers <= self._told or any(_leader(number) in watched for number in numbers):
                continue
            self._told |= numbers
            text = "%s keeps the lock %s, and was left by a job: no job starts here until it has ended"
            fields = about("job.lock_kept", process=found[0].number)
            LOG.warning(text, kept_by(found), file, extra=fields)

    def _slot(self, slot: int) -> Path:
        """Returns the file of a slot's lock."""
        path = self._store.path
        return path.with_name(f"{path.name}.job{slot or ''}.lock")

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
        """Starts no other job, and has those that run end within 1.6 s."""
        self._stopping.set()

    def stop(self) -> None:
        """Waits for the ends of the jobs that run, as `end` has it."""
        self.end()
        with self._mutex:
            threads = list(self._threads.values())
        until = time.monotonic() + END_S + 2.0
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))

    def progress(self, job: bytes) -> JobProgress | None:
        """Returns how far a job is that runs; None if nothing is known."""
        watch = self._watches.get(job)
        return None if watch is None else watch.progress()

    def _spawn(self, started: Started, lock: int) -> None:
        """Starts the process and its watch. If that fails, no program has run, and the job waits again."""
        job, asked = started.job.id, started.job.asked
        what = (job.hex(), started.program.name, to_text(asked.requester), ", ".join(asked.parameters) or "none")
        with contextlib.ExitStack() as undo:
            try:
                made = Folder(self._store)
                undo.callback(made.cleanup)
                (read, write), (hear, tell) = _pipe(undo), _pipe(undo)
                with os.fdopen(write, "wb"), os.fdopen(tell, "wb"):  # its copies here are closed in each case
                    spec = self._spec(started, Path(made.name))
                    process = self._process(started, made.name, (write, tell), (lock, made.lock))
                undo.callback(_discard, process)
                fields = about("job.started", job.hex(), program=started.program.hash.hex(), process=process.pid)
                LOG.info("job %s of %s starts for %s, parameters: %s, as process %s", *what, process.pid, extra=fields)
                watch = Watch(process, (read, hear), self._queue, started, self._stopping, self._store)
                self._watches[job] = watch
                undo.callback(self._watches.pop, job, None)
                self._begin(job, self._watched, watch, spec, made, started)
            except Exception as error:  # the job must not stay "running" without a process
                fields = about("job.not_started", job.hex(), error_type=type(error).__name__)
                LOG.error("the process of job %s cannot be started: %s", job.hex(), type(error).__name__, extra=fields)
                undo.close()
                self._give_back(job)
                return
            undo.pop_all()

    def _begin(self, job: bytes, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, name="quorate job")
        self._threads[job] = thread
        try:
            thread.start()
        except RuntimeError:
            del self._threads[job]
            raise

    def _give_back(self, job: bytes) -> None:
        """Has a job wait again, in a thread since the store may be busy; in this one if there can be no other one."""
        try:
            self._begin(job, self._waits_again, job)
        except RuntimeError:
            self._waits_again(job)

    def _process(
        self, started: Started, folder: str, reports: tuple[int, int], locks: tuple[int, int]
    ) -> subprocess.Popen[bytes]:
        main = _CHILD if started.job.making is None else _MAKER
        return subprocess.Popen(  # noqa: S603 - the command is this interpreter
            isolated(f"{main}\nsys.exit(main())", *map(str, reports)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,  # what it prints goes to this server's log
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            pass_fds=(*reports, *locks),
        )

    def _waits_again(self, job: bytes) -> None:
        try:
            until_stored(lambda: self._queue.unconnected(job), self._stopping)
        finally:
            self._threads.pop(job, None)
            self._woken()

    def _watched(self, watch: Watch, spec: bytes, folder: Folder, started: Started) -> None:
        begun, job = time.monotonic(), started.job.id
        try:
            state = watch.run(spec)
            if self._on_end is not None and started.job.making is None:
                self._on_end(started.program.hash, state, time.monotonic() - begun)
        finally:
            folder.cleanup()
            self._watches.pop(job, None)
            self._threads.pop(job, None)
            self._woken()

    def _spec(self, started: Started, folder: Path) -> bytes:
        """Writes the files of campaigns, and returns what the process reads."""
        terms, parameters = started.program.terms, dict(started.job.asked.parameters)
        for name, text in started.campaigns.items():
            file = folder / f"{name}.json"
            file.write_bytes(text)
            parameters[name] = str(file)
        fields: dict[str, Any] = {
            "name": started.program.name,
            "code": base64.b64encode(started.program.code).decode(),
            "parameters": parameters,
            "config": str(self._config),
            "session": session_of(started.job.id),
            "runs": None if terms.runs is None else list(terms.runs),
            "options": dict(terms.options),
            "input": terms.input,
        }
        if isinstance(making := started.job.asked, Making):
            fields |= {"times": making.times, "forms": list(making.forms)}
        return json.dumps(fields).encode() + b"\n"


def _pipe(undo: contextlib.ExitStack) -> tuple[int, int]:
    """Makes a pipe. Its end for reading is closed with `undo`."""
    read, write = os.pipe()
    undo.callback(os.close, read)
    return read, write


def _leader(process: int) -> int:
    """Returns the first process of a process's session; 0 if it has ended."""
    try:
        return os.getsid(process)
    except OSError:
        return 0


def _discard(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that has got no work."""
    process.kill()
    process.wait()
    close_pipes(process)
