"""The process of one job: opens the session that is named by the job's id, runs the program, and reports.

No byte of the program runs before `{"connected": true}` is reported. So a server that has no such report may run the
job again: nothing of it can have been revealed here.

It reads what to do from its standard input, one line of JSON, and writes to the descriptor that is its last argument
but one: `{"connected": true}` before the program gets the session, then `{"result": ..., "measured": ...}` or
`{"error": NAME}`. The names are a closed list; messages of exceptions may contain values, and go to the standard error
output alone. To the descriptor that is its last argument it writes how far it is, as lines of JSON that may be lost.

Its standard input ends when the server does, and this process ends with it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate import errors
from quorate._display._progress import listen
from quorate._session._pools import pool_of
from quorate._session._settings import settings
from quorate._session._signals import Terminated
from quorate.campaigns import holders, kept_by
from quorate.jobs._code import function_of
from quorate.session import Session, connect
from quorate.stats import Stats
from quorate.tables._inputs import MINE
from quorate_client.job import MOST_RESULT_BYTES, canonical

__all__ = [
    "PoolInUse", "connected", "first_line", "main", "named", "own_input", "plain", "program_of", "received", "tell",
    "tell_error", "tell_progress",
]  # fmt: skip

_GRACE_S = 5.0


def main() -> int:
    """Runs the job and returns the exit status: 0 if there is a result."""
    try:
        return _run()
    except BrokenPipeError:  # the server has ended, and nothing reads the report
        return 1


def _run() -> int:
    spec, report, told = received()
    try:
        program = program_of(spec)
        settings.approve = spec["runs"]
        settings.inputs = {} if spec["input"] is None else {MINE: spec["input"]}
        with connected(spec) as mpc:
            tell(report, {"connected": True})
            listen(functools.partial(tell_progress, told))
            result = canonical(plain(program(mpc)))
            measured = _measured(mpc.stats())
    except BaseException as error:
        tell_error(report, error)
        return 1
    if len(result) > MOST_RESULT_BYTES:
        sys.stderr.write(f"the results have {len(result)} bytes, and at most {MOST_RESULT_BYTES} are kept\n")
        tell(report, {"error": "TooLarge"})
        return 1
    tell(report, {"result": result.decode("ascii"), "measured": measured})
    return 0


def received() -> tuple[dict[str, Any], int, int]:
    """Returns what the server states, and the descriptors for the report and for progress, for this process alone."""
    report, told = (int(text) for text in sys.argv[-2:])
    spec = json.loads(first_line(own_input()))
    for descriptor in (report, told):
        os.set_inheritable(descriptor, False)
    os.set_blocking(told, False)
    return spec, report, told


def program_of(spec: dict[str, Any]) -> Callable[[Session], Any]:
    """Compiles the program, and returns what executes it in a session, with the parameters."""
    code, name = b64decode(spec["code"]), spec["name"]
    compiled = compile(code, name, "exec", dont_inherit=True)
    return lambda mpc: function_of(name, code, compiled)(mpc, **spec["parameters"])


def connected(spec: dict[str, Any]) -> Session:
    """Opens the session of the job.

    Raises:
        PoolInUse: another process uses the party's pool, as `quorate preprocess` does.
    """
    try:
        return connect(spec["config"], spec["session"], **spec["options"])
    except errors.ConfigError as error:
        pool = pool_of(spec["config"], None)
        if pool is not None and pool.is_used():
            left = kept_by(holders((pool.folder / "lock").stat()))
            raise PoolInUse(f"{error} {left} keeps it." if left else str(error)) from error
        raise


class PoolInUse(Exception):
    """Another process uses the party's pool, so that the job may be tried again."""


def _measured(stats: Stats) -> dict[str, float]:
    """Returns what the session's runs took at this party, and what dry runs predicted."""
    phases, predicted = (stats.offline, stats.online), stats.predicted
    told = {
        "seconds": sum(phase.seconds for phase in phases),
        "bytes": sum(sum(phase.bytes_sent) for phase in phases),
        "rounds": sum(phase.rounds for phase in phases),
    }
    if predicted is not None:
        plans = (predicted.offline, predicted.online)
        told["predicted_seconds"] = sum(plan.seconds for plan in plans)
        told["predicted_bytes"] = sum(sum(plan.bytes_sent) for plan in plans)
        told["predicted_rounds"] = sum(plan.rounds for plan in plans)
    return told


def own_input() -> int:
    """Takes the standard input away from the program, and returns it as another descriptor."""
    own, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for the life of the process
    return own


def first_line(own: int) -> bytes:
    """Reads one line, and lets a thread watch what follows: the end, when the server has ended."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(own, 1 << 16)
        if not piece:
            os._exit(1)
        line += piece
    threading.Thread(target=_watch, args=(own,), daemon=True).start()
    return line


def _watch(own: int) -> None:
    while os.read(own, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)


def plain(results: Any) -> dict[str, Any]:
    """Returns results as JSON has them, by name; a program that returns no dict has one result, named "result".

    Raises:
        TypeError: a result is none of None, bool, int, float, text and numpy arrays of these.
        ValueError: a number is not finite.
    """
    named_ = results if isinstance(results, dict) else {"result": results}
    if not all(isinstance(name, str) for name in named_):
        raise TypeError("names of results must be texts")
    return {name: _value(name, value) for name, value in named_.items()}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _value(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [_value(name, one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"result {name!r} has a number that is not finite")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"result {name!r} is a {type(value).__name__}: return numbers, texts or arrays, as reveal() does")


def named(error: BaseException) -> str:
    """Returns the word for an exception: the name of an error of Quorate, else "ProgramError".

    SIGTERM is "Ended", as if the process had not caught it. Cheating is named even if another exception followed it.
    """
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if isinstance(one, errors.CheatingDetected):
            return "CheatingDetected"
        seen.add(id(one))
        left += [more for more in (one.__cause__, one.__context__) if more is not None and id(more) not in seen]
    if isinstance(error, Terminated):
        return "Ended"
    if isinstance(error, PoolInUse):
        return "PoolInUse"
    names = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(names, "ProgramError")


def tell_progress(told: int, run: int, phase: str, share: float, seconds: float) -> None:
    """Reports how far a run is; the report is dropped if the server has not read those before."""
    left = round(seconds / share * (1 - share)) if share > 0 else None
    fields = {"run": run, "phase": phase, "permille": int(1000 * share), "seconds": round(seconds), "left": left}
    with contextlib.suppress(OSError):
        os.write(told, json.dumps(fields).encode() + b"\n")


def tell_error(report: int, error: BaseException) -> None:
    """Logs an error, and reports its name unless the server has ended the process."""
    traceback.print_exception(error)
    word = named(error)
    if word != "Ended":
        tell(report, {"error": word})


def tell(report: int, fields: dict[str, Any]) -> None:
    """Writes a line of the report."""
    view = memoryview(json.dumps(fields).encode() + b"\n")
    while view:
        view = view[os.write(report, view) :]
