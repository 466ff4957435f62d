"""Acts of operators: lines of a chain in the store, so that an act and its record are one transaction."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.auditing._chain import Line, after, line_of, linked

if TYPE_CHECKING:
    import sqlite3

    from quorate.campaigns import Store

__all__ = ["Act", "act_here", "acts", "acts_of", "count_of_acts", "lines_of_acts", "name_of_acts", "record"]

#: Acts that a page shows, and lines that are read from the store at once.
_MOST_SHOWN, _AT_ONCE = 200, 500

_LINE = "CAST(line AS BLOB)"  # a line that was altered may be a text

_LOGIN = Path("/proc/self/loginuid")
_NOBODY = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class Act:
    """What an operator did.

    Attributes:
        at: when, in seconds since 1970.
        operator: the operator's name at the console, or "shell:" and the system's user.
        act: a past participle, such as "signed in", "approved", "refused", "revoked", "closed" or "added".
        kind, name, subject: what it was done to: "program", "campaign", "job", "schedule" or "operator", its name, and
            its hash or id.
    """

    at: int
    operator: str
    act: str
    kind: str = ""
    name: str = ""
    subject: bytes = b""

    @property
    def fields(self) -> str:
        """What a line states, as JSON without the last brace."""
        told: dict[str, Any] = {"time": f"{_time(self.at):%Y-%m-%dT%H:%M:%SZ}", "event": "act"}
        told |= {"operator": self.operator, "act": self.act, "kind": self.kind, "name": self.name}
        return json.dumps({**told, "subject": self.subject.hex()}).removesuffix("}")

    @staticmethod
    def of(line: bytes) -> Act:
        """Reads a line. One that was altered, so that it states no act, becomes an act named "altered"."""
        try:
            told = json.loads(line)
            at = int(datetime.datetime.fromisoformat(str(told["time"]).replace("Z", "+00:00")).timestamp())
            operator, act, kind, name = (str(told[field]) for field in ("operator", "act", "kind", "name"))
            return Act(at, operator, act, kind, name, bytes.fromhex(told["subject"]))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return Act(0, "", "altered", "", line.decode("utf-8", "replace")[:200])


def _time(at: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc)


def record(connection: sqlite3.Connection, act: Act) -> None:
    """Writes a record of an act, within the transaction of the act. It follows the last record."""
    query = f"SELECT {_LINE} FROM acts ORDER BY number DESC LIMIT 1"  # noqa: S608
    last = connection.execute(query).fetchone()
    line = linked(act.fields, after(None if last is None else last[0])).removesuffix(b"\n")
    connection.execute("INSERT INTO acts (line) VALUES (?)", (line,))


def act_here(act: str, kind: str, name: str, subject: bytes = b"") -> Act:
    """Returns an act of this process's user, who works at a shell.

    It is made before the transaction of the act: a directory of users may answer late, and other changes would wait.
    """
    return Act(int(time.time()), _own_name(), act, kind, name, subject)


def _own_name() -> str:
    """Returns the name of this process's user, and of who signed in to the system if that is another one.

    Variables of the environment have no part in it.
    """
    own, login = os.geteuid(), _NOBODY
    with contextlib.suppress(OSError, ValueError):  # a system without it, or one that does not let it be read
        login = int(_LOGIN.read_text(encoding="ascii"))
    name = f"shell:{_user(own)}"
    return name if login in (own, _NOBODY) else f"{name}, signed in as {_user(login)}"


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OSError):
        return str(number)


def acts(store: Store) -> list[Act]:
    """Returns the last acts, the newest first."""
    query = f"SELECT {_LINE} FROM acts ORDER BY number DESC LIMIT ?"  # noqa: S608
    rows = store.read(lambda connection: connection.execute(query, (_MOST_SHOWN,)).fetchall())
    return [Act.of(line) for (line,) in rows]


def lines_of_acts(store: Store) -> Iterator[bytes]:
    """Reads the lines of all acts, the oldest first, without the ends of lines. Some of them are in memory at once.

    Raises:
        StoreError: the store cannot be read.
    """
    query, last = f"SELECT number, {_LINE} FROM acts WHERE number > ? ORDER BY number LIMIT ?", -math.inf  # noqa: S608
    while rows := _read(store, query, (last, _AT_ONCE)):
        last = rows[-1][0]
        yield from (line for _, line in rows)


def count_of_acts(store: Store) -> int:
    """Returns the number of acts."""
    query = "SELECT count(*) FROM acts"
    return int(store.read(lambda connection: connection.execute(query).fetchone()[0]))


def _read(store: Store, query: str, given: tuple[float, int]) -> list[tuple[int, bytes]]:
    return store.read(lambda connection: connection.execute(query, given).fetchall())


def name_of_acts(store: Store) -> Path:
    """Returns what sentences call the acts of a store."""
    return Path(f"the acts of {store.path}")


def acts_of(store: Store) -> Iterator[Line]:
    """Reads the acts as lines of a chain; the place of a line is that among all acts."""
    for place, line in enumerate(lines_of_acts(store), start=1):
        yield line_of(line, place)
