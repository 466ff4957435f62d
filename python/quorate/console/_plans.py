"""Plans of programs for pages: made by a process of its own, with limits, one at a time.

The process executes the program, so what it reports is the program's word: it is read as text of limited size.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import math
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from quorate.campaigns import Refused, Settings, Store, find_hash
from quorate.jobs import Folder, Program, isolated
from quorate_client.job import Parameter

__all__ = ["Made", "Planned", "Plans"]

#: Seconds that a plan may take, and bytes of its report.
LIMIT_S, MOST_BYTES = 60.0, 4 << 20

#: Plans of jobs that are kept.
_MOST_KEPT = 8

_COLUMNS = 6

#: Variables of the server's environment that the process gets. Others may be secrets.
_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")

_MAIN = "from quorate._command._plans import main\nsys.exit(main())"


@dataclasses.dataclass(frozen=True)
class Planned:
    """The plan of a run, as a process reported it.

    Attributes:
        program: the hash of the run.
        reveals: a row for each value: line, shape, dtype, receivers, owners of the inputs that it depends on, and what
            it is.
        remarks: warnings and announcements.
        seconds: the predicted seconds.
        bytes: the predicted bytes that the busiest party sends.
        rounds: the predicted rounds.
        memory: the predicted peak of a party's memory, in bytes.
        text: the whole plan as text.
    """

    program: str
    reveals: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    seconds: float
    bytes: int
    rounds: int
    memory: int
    text: str

    @staticmethod
    def of(told: Any) -> Planned:
        """Reads what a process reported.

        Raises:
            ValueError, TypeError, KeyError, OverflowError: it has another form, or a number is negative or not finite.
        """
        rows = tuple(tuple(str(cell) for cell in row) for row in told["reveals"])
        if any(len(row) != _COLUMNS for row in rows):
            raise ValueError
        sent, rounds, memory = (int(told[name]) for name in ("bytes", "rounds", "memory"))
        program, remarks, seconds = str(told["program"]), tuple(map(str, told["remarks"])), float(told["seconds"])
        if not math.isfinite(seconds) or min(seconds, sent, rounds, memory) < 0:
            raise ValueError
        return Planned(program, rows, remarks, seconds, sent, rounds, memory, str(told["text"]))


class Made(NamedTuple):
    """The plan of a job: its runs, and when it was made, in seconds since 1970."""

    runs: list[Planned]
    at: int


class Plans:
    """Makes plans for pages, and keeps the last ones of jobs in memory.

    Args:
        store: the store.
        settings: the server's settings.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._busy = threading.Lock()
        self._over = threading.Event()
        self._kept: dict[tuple[bytes, bytes], Made] = {}

    def close(self) -> None:
        """Ends the process that makes a plan."""
        self._over.set()

    def make(self, program: Program, parameters: Mapping[str, Parameter], note: Callable[[], object]) -> list[Planned]:
        """Returns the plans of a program's runs for some parameters.

        Args:
            program: the program.
            parameters: what it is run for.
            note: records that it is executed; called once nothing refuses that, and before.

        Raises:
            Refused: the parameters are outside of the terms, another plan is being made, or there is none.
        """
        program.terms.check(parameters)
        if not self._busy.acquire(blocking=False):
            raise Refused(503, "another plan is being made", "wait a minute, and ask again")
        try:
            note()
            folder = Folder(self._store)
            try:
                return _read(self._run(self._spec(program, parameters, Path(folder.name)), folder))
            finally:
                folder.cleanup()
        finally:
            self._busy.release()

    def make_for(
        self, job: bytes, program: Program, parameters: Mapping[str, Parameter], note: Callable[[], object]
    ) -> None:
        """Makes the plan of a job, for `kept`.

        Raises:
            Refused: as for `make`.
        """
        made = Made(self.make(program, parameters, note), int(time.time()))
        self._kept[job, program.terms.json] = made
        for oldest in [*self._kept][:-_MOST_KEPT]:
            self._kept.pop(oldest, None)

    def kept(self, job: bytes, program: Program) -> Made | None:
        """Returns the plan of a job, if it is among the last ones; terms that were replaced since have none."""
        return self._kept.get((job, program.terms.json))

    def _spec(self, program: Program, parameters: Mapping[str, Parameter], folder: Path) -> bytes:
        arguments = dict(parameters)
        for name, campaign in program.terms.campaigns(parameters).items():
            file = folder / f"{name}.json"
            file.write_bytes(find_hash(self._store, campaign).campaign.json)
            arguments[name] = str(file)
        own, terms = self._settings, program.terms
        fields = {
            "name": program.name,
            "code": base64.b64encode(program.code).decode(),
            "arguments": arguments,
            "options": dict(terms.options),
            "input": terms.input,
            "me": own.me,
            "protocol": own.protocol,
            "parties": own.parties,
            "config": str(own.party.resolve()),
        }
        return json.dumps(fields).encode() + b"\n"

    def _run(self, spec: bytes, folder: Folder) -> bytes:
        """Runs the process, and returns what it reported.

        Raises:
            Refused: it takes too long, or reports too much.
        """
        read, write = os.pipe()
        with os.fdopen(read, "rb", buffering=0) as report:
            with os.fdopen(write, "wb"):
                process = subprocess.Popen(  # noqa: S603 - the command is this interpreter
                    isolated(_MAIN, str(write)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=folder.name,
                    env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                    start_new_session=True,
                    pass_fds=(write, folder.lock),
                )
            try:
                threading.Thread(target=_hand_over, args=(process, spec), daemon=True).start()
                return self._reported(report.fileno())
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                _close(process)

    def _reported(self, report: int) -> bytes:
        data, until, poll = bytearray(), time.monotonic() + LIMIT_S, select.poll()
        poll.register(report, select.POLLIN)
        while time.monotonic() < until and not self._over.is_set():
            if not poll.poll(200):
                continue
            piece = os.read(report, 1 << 16)
            if not piece:
                return bytes(data)
            data += piece
            if len(data) > MOST_BYTES:
                raise Refused(409, f"the plan has more than {MOST_BYTES >> 20} MiB", _AT_SHELL)
        if self._over.is_set():
            raise Refused(503, "this server is about to end", "try later")
        raise Refused(409, f"the plan was not made within {LIMIT_S:g} s", _AT_SHELL)


_AT_SHELL = "make it at a shell, by `quorate program explain`"


def _hand_over(process: subprocess.Popen[bytes], spec: bytes) -> None:
    """Writes what the process reads. The pipe stays open, since its end tells the process to end."""
    with contextlib.suppress(OSError, ValueError):  # it has ended
        if process.stdin is not None:
            process.stdin.write(spec)
            process.stdin.flush()


def _close(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()


def _read(data: bytes) -> list[Planned]:
    """Reads the report of a process.

    Raises:
        Refused: it has none, or reports an error.
    """
    try:
        told = json.loads(data)
        if "error" in told:
            raise Refused(409, f"there is no plan: {told['error']}", _AT_SHELL)
        return [Planned.of(one) for one in told["plans"]]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise Refused(409, "the program's process has reported no plan", _AT_SHELL) from None
