"""The last lines of the party's audit log, as a page shows them."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["Entry", "last_entries"]

#: Bytes of the file that are read, and lines that are shown.
_MOST_BYTES, _MOST_LINES = 256 * 1024, 100


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of the log.

    Attributes:
        time, event, run, session: what it states; texts, empty where it states none.
        approved: "yes", "no" or "".
        reveals: what it lists as revealed, each with its receivers.
        raw: the line itself, if it is no JSON object.
    """

    time: str = ""
    event: str = ""
    run: str = ""
    session: str = ""
    approved: str = ""
    reveals: tuple[str, ...] = ()
    raw: str = ""


def last_entries(file: Path) -> list[Entry]:
    """Returns the last lines of the log, the newest first.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        begin = max(0, size - _MOST_BYTES)
        log.seek(begin)
        lines = log.read(_MOST_BYTES).split(b"\n")
    whole = lines[1:] if begin else lines
    return [_entry(line) for line in reversed([line for line in whole if line][-_MOST_LINES:])]


def _entry(line: bytes) -> Entry:
    try:
        told = json.loads(line)
        reveals = tuple(_reveal(one) for one in told.get("reveals", ()))
        approved = {True: "yes", False: "no"}.get(told.get("approved"), "")
        time, event, run, session = (str(told.get(name, "")) for name in ("time", "event", "run", "session"))
        return Entry(time, event, run, session, approved, reveals)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Entry(raw=line.decode("utf-8", "replace")[:2000])


def _reveal(one: dict[str, Any]) -> str:
    to = one.get("to")
    who = "all parties" if to == "all" else f"parties {to}"
    return f"{one.get('what', '')}, to {who}, of inputs of {one.get('depends_on', [])}"
