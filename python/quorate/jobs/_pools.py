"""What a server knows of its pool: the level of each program, the marks, the makings so far, and which one is due.

The level of a program is the number of its starts for which the pool has correlations. A making reports how many lots
of the pool a start takes; the level follows from these and from the pool's ledgers, which are read without a lock.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate._session._pools import PoolFolder, PoolHeld, pool_of
from quorate.campaigns import Marks, Refused, Store
from quorate.errors import ConfigError
from quorate.jobs._events import about
from quorate.jobs._making import Making
from quorate.jobs._queue import Job, Queue

__all__ = ["Level", "Pools"]

LOG = logging.getLogger("quorate.serve")

#: Seconds for which what was read of the pool is taken as it is.
_READ_S = 3.0

#: Seconds after a making or a refusal before the next proposal; they double with each failure in a row.
_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 1800.0

_MOST_MAKINGS = 100


@dataclasses.dataclass(frozen=True)
class Level:
    """The level of a program at this server.

    Attributes:
        marks: its marks.
        starts: the starts for which this party's pool has correlations; None before the first making that was done, and
            while the pool cannot be read.
        last: the last making; None if there was none, or if it was long ago.
    """

    marks: Marks
    starts: int | None
    last: Job | None


@dataclasses.dataclass(frozen=True)
class _Refusals:
    """How often in a row a making was refused, when last, and why."""

    last_at: float
    times: int
    why: str


class Pools:
    """The pool of a server, and its marks.

    Args:
        store: the store, which has the makings.
        queue: the jobs.
        config: the file of the party, `party.toml`.
        marks: the marks of the programs.
        deployment: the hash of the deployment.
        first: the public key of server 0.
        clock: this server's clock, in seconds since 1970.
    """

    def __init__(
        self, store: Store, queue: Queue, config: Path, marks: tuple[Marks, ...], deployment: bytes, first: bytes,
        clock: Any = time.time,
    ) -> None:  # fmt: skip
        self._store, self._queue, self._config, self.marks = store, queue, config, marks
        self._deployment, self._first, self._clock = deployment, first, clock
        self._lock = threading.Lock()
        self._read: tuple[float, PoolHeld | None] | None = None
        self._needs: dict[bytes, Mapping[str, int] | None] = {}  # by the id of a making that was done
        self._refused: dict[bytes, _Refusals] = {}  # by entry

    def folder(self) -> PoolFolder | None:
        """Returns the pool's place.

        Raises:
            ConfigError: `party.toml` states something else than texts.
        """
        return pool_of(self._config, None)

    def held(self) -> PoolHeld | None:
        """Returns what the pool has, as it was a few seconds ago; None if there is none, or it cannot be read."""
        with self._lock:
            if self._read is None or time.monotonic() > self._read[0] + _READ_S:
                before = None if self._read is None else self._read[1]
                self._read = time.monotonic(), self._read_now(before)
            return self._read[1]

    def _read_now(self, before: PoolHeld | None) -> PoolHeld | None:
        try:
            folder = self.folder()
            return None if folder is None or not folder.key_file.exists() else folder.held()
        except ConfigError as error:
            if before is not None or self._read is None:  # once
                LOG.warning("the level of the pool is not known: %s", error, extra=about("pool.unread"))
            return None

    def levels(self) -> list[Level]:
        """Returns the level of each program that has marks, in the order of `serve.toml`."""
        if not self.marks:
            return []
        made, held = self._queue.makings(_MOST_MAKINGS), self.held()
        return [self._level(marks, made, held) for marks in self.marks]

    def _level(self, marks: Marks, made: list[Job], held: PoolHeld | None) -> Level:
        own = [job for job in made if _entry_of(job) == marks.entry]
        done = next((job for job in own if job.state == "done" and job.result is not None), None)
        last = own[0] if own else None
        if done is None:
            return Level(marks, None, last)
        needs = self._needs_of(done)
        if needs is None or (needs and held is None):
            return Level(marks, None, last)
        left = [held.left(lot) // count for lot, count in needs.items()] if held is not None else []
        return Level(marks, min(left, default=marks.high), last)

    def _needs_of(self, done: Job) -> Mapping[str, int] | None:
        """Returns how many bundles of each lot a start takes, as a making reported; None if its report is malformed."""
        if done.id not in self._needs and done.result is not None:
            self._needs[done.id] = _needs(self._store.job_key.open(done.result, done.id))
        return self._needs.get(done.id)

    def makings(self) -> list[Job]:
        """Returns the last makings, the newest first."""
        return self._queue.makings(_MOST_MAKINGS)

    def marks_of(self, entry: bytes) -> Marks | None:
        """Returns the marks of an entry."""
        return next((one for one in self.marks if one.entry == entry), None)

    def making(self, entry: bytes, times: int, nonce: bytes) -> Making:
        """Returns the making that server 0 asks about, by this server's own settings.

        Raises:
            Refused: this server has no such entry, or agrees to fewer starts.
        """
        marks = self.marks_of(entry)
        if marks is None:
            do = "write the same program, parameters and form into its serve.toml"
            raise Refused(404, "this server has no such [[pool]]", do)
        if times > marks.high:
            what = f"a pool for {times} starts is asked for, and at most {marks.high} are agreed to here"
            raise Refused(409, what, "state the same `high` at all servers")
        return Making.of(self._deployment, self._first, marks, times, nonce)

    def check(self, making: Making) -> None:
        """Checks that a making could start here now.

        Raises:
            Refused: it cannot: 503 not now; 409 not as things are.
        """
        self._queue.check_making(making)
        folder = self.folder()
        if folder is None:
            raise Refused(409, "this server has no pool", "name its folder in party.toml")
        if folder.is_used():
            raise Refused(503, "another process uses the pool here", "try later", 10)
        held, own = self.held(), [level for level in self.levels() if level.marks.entry == making.entry]
        if any(self._pause_of(level) > 0 for level in own):  # server 0 would propose none, unless it lies
            raise Refused(503, "the last making for this program has just ended here", "try later", 10)
        if held is not None and not held.takes_more():
            if any(level.starts == 0 for level in own):
                what = "the pool here has correlations, but not all that this program needs, and cannot be added to"
                raise Refused(409, what, "remove the pool's folder at all servers")
            raise Refused(503, "the pool here cannot be added to until it is used up", "try later", 60)

    # ---- server 0 ------------------------------------------------------------------------------------------------

    def due(self) -> Making | None:
        """Returns the making that is to be proposed now: of the first program that is below its low mark."""
        for level in self.levels():
            marks = level.marks
            if (level.starts is None or level.starts < marks.low) and self._pause_of(level) <= 0:
                return Making.of(self._deployment, self._first, marks, marks.high)
        return None

    def _pause_of(self, level: Level) -> float:
        """Returns the seconds until a program may have its next making."""
        entry = level.marks.entry
        refusals = self._refused.get(entry)
        wait = 0.0 if refusals is None else _pause(refusals.times) - (time.monotonic() - refusals.last_at)
        own = [job for job in self._queue.makings(_MOST_MAKINGS) if _entry_of(job) == entry]
        failures = next((at for at, job in enumerate(own) if job.state != "failed"), len(own))
        if own:
            since = abs(self._clock() - own[0].changed_at)  # the clock may have been set back
            wait = max(wait, _pause(max(failures, 1)) - since)
        return wait

    def refused(self, making: Making, why: str) -> None:
        """Notes that not all servers start a making, and that it is proposed again after a pause."""
        before = self._refused.get(making.entry, _Refusals(0.0, 0, ""))
        self._refused[making.entry] = _Refusals(time.monotonic(), before.times + 1, why)
        if why != before.why:
            text = "correlations of program %s are not made now: %s"
            LOG.warning(text, making.program[:16], why, extra=about("pool.refused", program=making.program))

    def begun(self, making: Making) -> None:
        """Notes that all servers start a making."""
        self._refused.pop(making.entry, None)

    def running(self) -> Job | None:
        """Returns the making that runs here."""
        return next((job for job in self._queue.makings(_MOST_MAKINGS) if job.state == "running"), None)

    def give_way(self, waiting: bytes) -> bool:
        """Tells a making to end for a job that could start otherwise; returns whether it was told so.

        It goes on in a pool that an interrupted making ends. It also goes on until the pool has correlations for one
        start, if the job is of the very program for which it makes them.
        """
        making, job, held = self.running(), self._queue.job(waiting), self.held()
        if making is None or job is None or held is None or not held.can_stop():
            return False
        is_own = (job.program, dict(job.asked.parameters)) == (making.program, dict(making.asked.parameters))
        if is_own and not self._has_one(making):
            return False
        self._queue.cancel(making.id)
        return True

    def _has_one(self, making: Job) -> bool:
        entry = _entry_of(making)
        return any(one.starts is not None and one.starts > 0 for one in self.levels() if one.marks.entry == entry)


def _entry_of(job: Job) -> bytes:
    asked = job.asked
    return asked.entry if isinstance(asked, Making) else b""


def _needs(report: bytes) -> Mapping[str, int] | None:
    """Returns how many bundles of each lot a start takes; None for a malformed report, since a program can write it."""
    try:
        return {str(lot): max(int(count), 1) for lot, count in json.loads(report)["lots"].items()}
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
        return None


def _pause(failures: int) -> float:
    return float(min(_PAUSE_S * 2 ** min(failures - 1, 10), _LONGEST_PAUSE_S))
