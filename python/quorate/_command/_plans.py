"""Plans of approved programs, in this process or in one of their own. Nothing is sent.

A program is executed for its plan: it is code with the rights of this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._command._explain import Book
from quorate._command._script import session
from quorate._session._settings import settings
from quorate.errors import QuorateError
from quorate.jobs._child import first_line, own_input
from quorate.jobs._code import function_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quorate.plan import Plan

__all__ = ["main", "plans_of"]

_MOST_TEXT = 100_000  # characters of a plan, and of a message

#: Bytes of address space and of a file, and seconds of all processors together, that a plan may take.
_MOST_MEMORY, _MOST_FILE, _MOST_CPU_S = 8 << 30, 64 << 20, 600


def plans_of(
    name: str, code: bytes, arguments: Mapping[str, Any], options: Mapping[str, Any], **described: Any
) -> list[Plan]:
    """Executes a program without values, and returns the plan of each run that it makes.

    Args:
        name: the name of the program's file.
        code: its bytes.
        arguments: its arguments beside the session.
        options: the options of the session.
        described: the session, as the command line's settings have it: `protocol`, `parties`, `config`, `inputs` and
            `forms`.

    Raises:
        Exception: what the program raises.
    """
    book = Book()
    settings.explained = book
    for field, value in described.items():
        setattr(settings, field, value)
    function = function_of(name, code, compile(code, name, "exec", dont_inherit=True))
    with session(**options) as mpc:
        function(mpc, **arguments)
    return book.plans


def main() -> int:
    """Makes the plans that the standard input describes, and writes them to the descriptor that is the last argument.

    Both are JSON, and the input is one line. The console starts this as a process of its own, which ends with the
    input, and so with the server.
    """
    report, spec = int(sys.argv[-1]), json.loads(first_line(own_input()))
    os.set_inheritable(report, False)
    _limit()
    described = {name: spec[name] for name in ("protocol", "parties", "config")}
    inputs = {} if spec["input"] is None else {spec["me"]: spec["input"]}
    try:
        code = b64decode(spec["code"])
        made = plans_of(spec["name"], code, spec["arguments"], spec["options"], inputs=inputs, **described)
        told: dict[str, Any] = {"plans": [_told(plan) for plan in made]}
    except QuorateError as error:
        told = {"error": str(error)[:_MOST_TEXT]}
    except Exception as error:
        told = {"error": f"the program raises {type(error).__name__}"}
    with os.fdopen(report, "w") as file:
        json.dump(told, file)
    return 0


def _limit() -> None:
    """Limits what the process takes of the machine. The server should not be ended for memory in its place."""
    import resource

    for limit, value in (("AS", _MOST_MEMORY), ("CPU", _MOST_CPU_S), ("FSIZE", _MOST_FILE), ("CORE", 0)):
        number = getattr(resource, f"RLIMIT_{limit}")
        hard = resource.getrlimit(number)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (least, least))
    with contextlib.suppress(OSError):  # of Linux
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _told(plan: Plan) -> dict[str, Any]:
    """Returns what the console shows of a plan."""
    sent = zip(plan.offline.bytes_sent, plan.online.bytes_sent, strict=True)
    return {
        "program": plan.program,
        "reveals": [reveal.row() for reveal in plan.reveals],
        "remarks": list(plan._remarks),
        "seconds": plan.seconds,
        "bytes": max((offline + online for offline, online in sent), default=0),
        "rounds": plan.offline.rounds + plan.online.rounds,
        "memory": plan.memory_bytes,
        "text": str(plan)[:_MOST_TEXT],
    }
