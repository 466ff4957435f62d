"""Standing requests in a store, and the jobs that they give at their times.

This server derives the times on its own clock, and a time gives one job for ever: the change that queues the job keeps
the time. Only the newest time that has come gives a job, and only until the next one. So a server that was down skips
the others, and one whose clock was set back repeats none.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future

from quorate.campaigns import Refused, Store, StoreError
from quorate.jobs._events import about
from quorate.jobs._programs import check_terms
from quorate.jobs._queue import CLOCK_S, Job, Queue, halted, is_halted
from quorate_client.schedule import Every, StandingRequest, occurrence_id

__all__ = ["Schedules", "Standing"]

LOG = logging.getLogger("quorate.serve")

#: Standing requests that are active, of one requester and in all; and those of one requester that are kept.
MOST_OF_ONE, MOST_STANDING, MOST_KEPT = 20, 200, 500

#: Standing requests that a requester may list, and jobs of one of them; of those that ended, no more are kept.
MOST_LISTED = 100

#: Times of a standing request that are kept, so that none has two jobs.
MOST_TIMES = 1000

_DAY_S = 86_400
_ACTIVE = "cancelled_at IS NULL AND until > ?"


@dataclasses.dataclass(frozen=True)
class Standing:
    """A standing request in the store.

    Attributes:
        number: its place in the order of arrival.
        id: its id, 32 bytes.
        program: the program's hash.
        requester: the public key that asked.
        request: the bytes of the request.
        until: when it ends.
        taken_at: when it arrived.
        cancelled_at: when it was cancelled, or None.
    """

    number: int
    id: bytes
    program: bytes
    requester: bytes
    request: bytes = dataclasses.field(repr=False)
    until: int
    taken_at: int
    cancelled_at: int | None

    @functools.cached_property
    def asked(self) -> StandingRequest:
        """The request."""
        return StandingRequest.from_json(self.request)

    def state(self, now: float) -> str:
        """Returns "active", "cancelled" or "ended"."""
        if self.cancelled_at is not None:
            return "cancelled"
        return "active" if now < self.until else "ended"

    def next(self, now: float) -> int | None:
        """Returns the time of the next occurrence, or None if there is none any more."""
        return self.asked.next(now) if self.cancelled_at is None else None


@dataclasses.dataclass(frozen=True)
class _Times:
    """The id of a standing request, its times, and the first of them."""

    standing: bytes
    every: Every
    since: int


_COLUMNS = ", ".join(field.name for field in dataclasses.fields(Standing))


class Schedules:
    """The standing requests of one server.

    Args:
        store: the store.
        queue: the jobs.
        clock: this server's clock, in seconds since 1970.
    """

    def __init__(self, store: Store, queue: Queue, clock: Callable[[], float] = time.time) -> None:
        self._store, self._queue, self._clock = store, queue, clock
        self._odd: set[bytes] = set()  # standing requests whose error is in the log

    def submit(self, request: StandingRequest, signature: bytes) -> Future[tuple[Standing, bool]]:
        """Keeps a request whose signature was checked. The future has its row, and whether it is new.

        The future's exception is a `Refused` if the request is from the future or over, the approval does not cover it,
        or there is no room. One that is here already is found first.

        Raises:
            Refused: the request is for another deployment.
        """
        self._queue.check_deployment(request)
        return self._store.write(lambda connection: self._take(connection, request, signature))

    def _take(
        self, connection: sqlite3.Connection, request: StandingRequest, signature: bytes
    ) -> tuple[Standing, bool]:
        known = _find(connection, request.id)
        if known is not None:
            return known, False
        now = self._clock()
        if request.time > now + CLOCK_S:
            raise Refused(401, f"the request is from the future; this server's time is {int(now)}", "set the clock")
        if request.until <= now:
            raise Refused(409, "the standing request has ended", "sign a new one")
        program = bytes.fromhex(request.program)
        terms = check_terms(connection, program, request.requester, request.parameters).terms
        if is_halted(connection):
            raise halted(409)
        if request.most_per_day > terms.per_day:
            starts = "1 start is" if terms.per_day == 1 else f"{terms.per_day} starts are"
            what = f'"{request.every}" is {request.most_per_day} times in 24 hours, and {starts} approved here'
            raise Refused(409, what, "ask for fewer times, or ask this server's operator")
        self._check_room(connection, request.requester)
        row = (
            request.id, program, request.requester, request.json, signature, request.every, request.since,
            request.until, int(self._clock()),
        )  # fmt: skip
        query = """INSERT INTO standing (id, program, requester, request, signature, every, since, until, taken_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        connection.execute(query, row)
        taken = _find(connection, request.id)
        if taken is None:
            raise LookupError("a standing request that was just stored")
        return taken, True

    def _check_room(self, connection: sqlite3.Connection, requester: bytes) -> None:
        """Checks that another standing request may be kept.

        Raises:
            Refused: it may not.
        """
        query = f"SELECT count(*), coalesce(sum(requester = ?), 0) FROM standing WHERE {_ACTIVE}"  # noqa: S608
        in_all, of_one = connection.execute(query, (requester, int(self._clock()))).fetchone()
        (kept,) = connection.execute("SELECT count(*) FROM standing WHERE requester = ?", (requester,)).fetchone()
        if of_one >= MOST_OF_ONE:
            what = f"{MOST_OF_ONE} standing requests of this key are active here"
            raise Refused(429, what, "wait for the end of one of them, or cancel it", 60)
        if kept >= MOST_KEPT:
            what = f"{MOST_KEPT} standing requests of this key are kept here"
            raise Refused(429, what, "ask again once some of them are over, also those that were cancelled", 3600)
        if in_all >= MOST_STANDING:
            raise Refused(429, f"{MOST_STANDING} standing requests are active here", "ask later", 3600)

    def standing(self, standing: bytes) -> Standing | None:
        """Returns a standing request, or None."""
        return self._store.read(lambda connection: _find(connection, standing))

    def of(self, requester: bytes) -> list[Standing]:
        """Returns the last standing requests of a requester, the newest first."""
        query = f"SELECT {_COLUMNS} FROM standing WHERE requester = ? ORDER BY number DESC LIMIT ?"  # noqa: S608
        given = (requester, MOST_LISTED)
        return [Standing(*row) for row in self._store.read(lambda c: c.execute(query, given).fetchall())]

    def all(self) -> list[Standing]:
        """Returns all standing requests, in the order of their arrival."""
        query = f"SELECT {_COLUMNS} FROM standing ORDER BY number"  # noqa: S608
        return [Standing(*row) for row in self._store.read(lambda c: c.execute(query).fetchall())]

    def jobs(self, standing: bytes) -> list[Job]:
        """Returns the last jobs of a standing request, the newest first."""
        return self._queue.of_standing(standing, MOST_LISTED)

    def cancel(self, standing: bytes) -> Standing | None:
        """Ends a standing request, with its job that waits; returns it, or None if there is none.

        A job that runs goes on, and a standing request that has ended stays as it is.
        """
        return self._store.write(lambda connection: self.cancel_within(connection, standing)).result()

    def cancel_within(self, connection: sqlite3.Connection, standing: bytes) -> Standing | None:
        """Does what `cancel` does, within a change of the store."""
        now = int(self._clock())
        query = f"UPDATE standing SET cancelled_at = ? WHERE id = ? AND {_ACTIVE}"  # noqa: S608
        if connection.execute(query, (now, standing, now)).rowcount:
            query = """UPDATE jobs SET state = 'cancelled', changed_at = ?
                WHERE standing = ? AND state = 'queued'"""
            connection.execute(query, (now, standing))
        return _find(connection, standing)

    def occur(self) -> list[Job]:
        """Queues the jobs whose times have come, each once; returns them.

        A job that its approval does not cover any more is refused at once. While cheating is not cleared up, no job is
        queued. Each standing request has a change of its own: an error with one is logged, and stops no other.

        Raises:
            StoreError: the store cannot be used.
        """
        due = self._store.read(self._due)
        changes = [(one, self._store.write(functools.partial(self._occur, one=one))) for one in due]
        queued = list[Job]()
        for one, change in changes:
            try:
                queued += change.result()
                self._odd.discard(one.standing)
            except StoreError:
                raise
            except Exception as error:
                self._log(one.standing, error)
        return queued

    def _due(self, connection: sqlite3.Connection) -> list[_Times]:
        """Returns the standing requests whose newest time has no job yet."""
        due = []
        for standing, text, since in self._active(connection):
            try:
                one = _Times(standing, Every.parse(text), since)
            except (ValueError, KeyError, TypeError, IndexError) as error:
                self._log(standing, error)
                continue
            if self._time_of(connection, one) is not None:
                due.append(one)
        return due

    def _log(self, standing: bytes, error: Exception) -> None:
        """Logs once that a standing request gives no job. The text of the error may hold values."""
        if standing not in self._odd:
            self._odd.add(standing)
            fields = about("standing.error", standing=standing.hex(), error_type=type(error).__name__)
            what = "the standing request %s gives no job: an error of type %s"
            LOG.error(what, standing.hex(), type(error).__name__, extra=fields)

    def _active(self, connection: sqlite3.Connection) -> list[tuple[bytes, str, int]]:
        """Returns the standing requests that may have a time now, with their times and the first one."""
        if is_halted(connection):
            return []
        now = int(self._clock())
        query = f"SELECT id, every, since FROM standing WHERE {_ACTIVE} AND since <= ? ORDER BY number"  # noqa: S608
        return connection.execute(query, (now, now)).fetchall()

    def _time_of(self, connection: sqlite3.Connection, one: _Times) -> int | None:
        """Returns the newest time of a standing request if it has no job yet."""
        at = one.every.at_or_before(int(self._clock()))
        query = "SELECT 1 FROM occurrences WHERE standing = ? AND at = ?"
        if at < one.since or connection.execute(query, (one.standing, at)).fetchone() is not None:
            return None
        query = "SELECT count(*), min(at) FROM occurrences WHERE standing = ?"
        kept, oldest = connection.execute(query, (one.standing,)).fetchone()
        return None if kept >= MOST_TIMES and at < oldest else at  # times before those that are kept may have had jobs

    def _occur(self, connection: sqlite3.Connection, one: _Times) -> list[Job]:
        at = self._time_of(connection, one)
        if at is None:
            return []
        connection.execute("INSERT INTO occurrences VALUES (?, ?)", (one.standing, at))
        job = occurrence_id(one.standing, at)
        if self._queue.is_known(connection, job):  # of a standing request that was removed and sent again
            return []
        query = """INSERT INTO jobs
            (id, program, requester, request, signature, until, state, not_before, changed_at, standing, at)
            SELECT ?, program, requester, request, signature, min(?, until), 'queued', ?, ?, id, ?
            FROM standing WHERE id = ?"""
        connection.execute(query, (job, one.every.after(at), at, int(self._clock()), at, one.standing))
        return [self._queue.settled(connection, job)]

    def tidy(self, days: int) -> None:
        """Removes standing requests that ended `days` ago, and all but the last jobs and times of the others."""

        def change(connection: sqlite3.Connection) -> None:
            over = int(self._clock()) - days * _DAY_S
            query = "DELETE FROM occurrences WHERE standing IN (SELECT id FROM standing WHERE until <= ?)"
            connection.execute(query, (over,))
            connection.execute("DELETE FROM standing WHERE until <= ?", (over,))
            for (standing,) in connection.execute("SELECT id FROM standing").fetchall():
                query = """DELETE FROM jobs WHERE standing = ? AND state NOT IN ('queued', 'running') AND at <
                    (SELECT at FROM jobs WHERE standing = ? ORDER BY at DESC LIMIT 1 OFFSET ?)"""
                connection.execute(query, (standing, standing, MOST_LISTED - 1))
                query = """DELETE FROM occurrences WHERE standing = ? AND at <
                    (SELECT at FROM occurrences WHERE standing = ? ORDER BY at DESC LIMIT 1 OFFSET ?)"""
                connection.execute(query, (standing, standing, MOST_TIMES - 1))

        self._store.write(change).result()


def _find(connection: sqlite3.Connection, standing: bytes) -> Standing | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM standing WHERE id = ?", (standing,)).fetchone()  # noqa: S608
    return None if row is None else Standing(*row)
