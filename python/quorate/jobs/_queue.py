"""The jobs of a server and their states. Each arrow is one change of the store, and final states never change.

    (request) -> queued -> running -> done | failed | cancelled
                 queued -> cancelled | expired | refused
                 running -> queued      if no program got a session here
    (making)  -> running -> done | failed | cancelled

A use is counted in the change that makes a job run, before its process exists. So a server that is killed may count a
use of a program that never ran, and never runs one that it did not count.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future

from quorate.campaigns import Refused, Store
from quorate.jobs._making import Making
from quorate.jobs._programs import TooOften, check_covered, check_makes, load
from quorate.jobs._terms import Program, time_text
from quorate_client.job import FINAL, JobRequest
from quorate_client.schedule import StandingRequest

__all__ = ["Job", "Queue", "Started", "halted", "is_halted", "resume_within"]

#: Seconds before the servers try again to connect for a job.
_PAUSE_S, _LONGEST_PAUSE_S = 10, 300

#: Jobs that wait or run, of one requester and in all; and jobs of one requester that are kept.
MOST_OF_ONE, MOST_JOBS, MOST_KEPT = 20, 200, 500

#: Jobs that a requester may list.
MOST_LISTED = 100

#: Seconds that a request's time may be ahead of this server's clock.
CLOCK_S = 300

_DAY_S = 86_400
_HALTED = "jobs halted"
_ACTIVE = "('queued', 'running')"


@dataclasses.dataclass(frozen=True)
class Job:
    """A job in the store.

    Attributes:
        number: its place in the order of arrival.
        id: its id, 32 bytes.
        program: the program's hash.
        requester: the public key that asked.
        request: the bytes of the request.
        until: when it ends if it has not started.
        state, why: its state, and why it ended without a result.
        attempts: how often the servers failed to connect.
        not_before: when it may start.
        cancel: whether a running job is to be cancelled.
        changed_at: when its state last changed.
        result: its result, sealed; None in lists.
        standing, at: the id of the standing request that gave it, and its time; None for other jobs.
        measured: what its session took, as its process reported: JSON, or None.
        making: of a making, the number of starts for which there were to be correlations; None for jobs.
    """

    number: int
    id: bytes
    program: bytes
    requester: bytes
    request: bytes = dataclasses.field(repr=False)
    until: int
    state: str
    why: str
    attempts: int
    not_before: int
    cancel: int
    changed_at: int
    result: bytes | None = dataclasses.field(repr=False)
    standing: bytes | None
    at: int | None
    measured: bytes | None
    making: int | None

    @property
    def asked(self) -> JobRequest | StandingRequest | Making:
        """The request."""
        if self.making is not None:
            return Making.from_json(self.request)
        return (JobRequest if self.standing is None else StandingRequest).from_json(self.request)


_COLUMNS = ", ".join(field.name for field in dataclasses.fields(Job))

#: The columns of lists: without results, which may have half a megabyte each.
_LISTED = ", ".join("NULL" if field.name == "result" else field.name for field in dataclasses.fields(Job))


@dataclasses.dataclass(frozen=True)
class Started:
    """What runs: a job with its program, and the JSON of the campaigns that its parameters name."""

    job: Job
    program: Program
    campaigns: dict[str, bytes]


class Queue:
    """The jobs of one server.

    Args:
        store: the store.
        deployment: the hash of the deployment; requests for another one are void.
        clock: this server's clock, in seconds since 1970.
        at_once: jobs that may run at the same time.
    """

    def __init__(
        self, store: Store, deployment: bytes, clock: Callable[[], float] = time.time, at_once: int = 1
    ) -> None:
        self._store, self._deployment, self._clock, self.at_once = store, deployment, clock, at_once

    def submit(self, request: JobRequest, signature: bytes) -> Future[tuple[Job, bool]]:
        """Queues a request whose signature was checked. The future has the job, and whether it is new.

        The future's exception is a `Refused` if the request is from the future or over, the approval does not cover it,
        or there is no room. One that is here already is found first.

        Raises:
            Refused: the request is for another deployment.
        """
        self.check_deployment(request)
        return self._store.write(lambda connection: self._take(connection, request, signature))

    def _take(self, connection: sqlite3.Connection, request: JobRequest, signature: bytes) -> tuple[Job, bool]:
        known = _find(connection, request.id)
        if known is not None:
            return known, False
        now, program = self._clock(), bytes.fromhex(request.program)
        if request.time > now + CLOCK_S:
            raise Refused(401, f"the request is from the future; this server's time is {int(now)}", "set the clock")
        if request.until <= now:
            raise Refused(409, "the request has expired", "sign a new one")
        load(connection, program, request.requester)  # others learn nothing of what has happened here
        if _is_used(connection, request.id):
            raise Refused(409, "this job has run here, and its result was removed", "sign a new request")
        if is_halted(connection):
            raise halted(409)
        query = "SELECT count(*) FROM jobs WHERE state = 'queued' AND program = ?"
        (waiting,) = connection.execute(query, (program,)).fetchone()
        check_covered(connection, program, request.requester, request.parameters, now, waiting)
        # Jobs of standing requests are limited by these alone, so that neither kind takes the room of the other.
        query = f"""SELECT count(*), coalesce(sum(requester = ?), 0) FROM jobs
            WHERE standing IS NULL AND making IS NULL AND state IN {_ACTIVE}"""  # noqa: S608
        in_all, of_one = connection.execute(query, (request.requester,)).fetchone()
        query = "SELECT count(*) FROM jobs WHERE requester = ? AND standing IS NULL"
        (kept,) = connection.execute(query, (request.requester,)).fetchone()
        if kept >= MOST_KEPT:
            raise Refused(429, f"{MOST_KEPT} jobs of this key are kept here", "ask again in some days", 3600)
        if of_one >= MOST_OF_ONE:
            raise Refused(429, f"{MOST_OF_ONE} jobs of this key wait here", "wait for one of them, or cancel it", 60)
        if in_all >= MOST_JOBS:
            raise Refused(429, f"{MOST_JOBS} jobs wait here", "ask later", 60)
        row = (request.id, program, request.requester, request.json, signature, request.until, int(now))
        query = """INSERT INTO jobs (id, program, requester, request, signature, until, state, changed_at)
            VALUES (?, ?, ?, ?, ?, ?, 'queued', ?)"""
        connection.execute(query, row)
        return _known(connection, request.id), True

    def job(self, job: bytes) -> Job | None:
        """Returns a job, or None."""
        return self._store.read(lambda connection: _find(connection, job))

    def of(self, requester: bytes) -> list[Job]:
        """Returns the last jobs of a requester, the newest first."""
        where = "requester = ? AND making IS NULL"
        query = f"SELECT {_LISTED} FROM jobs WHERE {where} ORDER BY number DESC LIMIT ?"  # noqa: S608
        given = (requester, MOST_LISTED)
        return [Job(*row) for row in self._store.read(lambda c: c.execute(query, given).fetchall())]

    def of_standing(self, standing: bytes, most: int) -> list[Job]:
        """Returns the last jobs of a standing request, the newest first."""
        query = f"SELECT {_LISTED} FROM jobs WHERE standing = ? ORDER BY at DESC LIMIT ?"  # noqa: S608
        return [Job(*row) for row in self._store.read(lambda c: c.execute(query, (standing, most)).fetchall())]

    def all(self) -> list[Job]:
        """Returns all jobs, in the order of their arrival."""
        query = f"SELECT {_LISTED} FROM jobs WHERE making IS NULL ORDER BY number"  # noqa: S608
        return [Job(*row) for row in self._store.read(lambda c: c.execute(query).fetchall())]

    def last(self, most: int) -> list[Job]:
        """Returns the last jobs, in the order of their arrival, without their results."""
        query = f"SELECT {_LISTED} FROM jobs WHERE making IS NULL ORDER BY number DESC LIMIT ?"  # noqa: S608
        rows = self._store.read(lambda c: c.execute(query, (most,)).fetchall())
        return [Job(*row) for row in reversed(rows)]

    def started_at(self, job: bytes) -> int | None:
        """Returns when a job started, in seconds since 1970; None if it has not, or its use was given back."""
        row = self._store.read(lambda c: c.execute("SELECT at FROM uses WHERE job = ?", (job,)).fetchone())
        return None if row is None else int(row[0])

    def waiting(self) -> list[bytes]:
        """Returns the ids of the jobs that may start by their time, in the order of their arrival."""
        query = "SELECT id FROM jobs WHERE state = 'queued' AND not_before <= ? ORDER BY number"
        return [job for (job,) in self._store.read(lambda c: c.execute(query, (int(self._clock()),)).fetchall())]

    def counts(self) -> dict[tuple[bytes, str], int]:
        """Returns the number of jobs for each program that has any, and each state."""
        query = "SELECT program, state, count(*) FROM jobs WHERE making IS NULL GROUP BY program, state"
        rows = self._store.read(lambda c: c.execute(query).fetchall())
        return {(program, state): number for program, state, number in rows}

    def makings(self, most: int) -> list[Job]:
        """Returns the last makings with their results, the newest first."""
        query = f"SELECT {_COLUMNS} FROM jobs WHERE making IS NOT NULL ORDER BY number DESC LIMIT ?"  # noqa: S608
        return [Job(*row) for row in self._store.read(lambda c: c.execute(query, (most,)).fetchall())]

    def check_making(self, making: Making) -> None:
        """Checks that a making could start now, and changes nothing. One that runs already passes.

        Raises:
            Refused: it cannot: 503 not now; 409 it has run, or this server's approval does not cover it.
        """
        self._store.read(lambda connection: self._makeable(connection, making))

    def _makeable(self, connection: sqlite3.Connection, making: Making) -> Program | None:
        """Returns the program of a making that may start; None if it runs already.

        Raises:
            Refused: as for `check_making`.
        """
        found = _find(connection, making.id)
        if found is not None and found.state == "running":
            return None
        if found is not None:
            raise Refused(409, "this making has ended here", "propose another one")
        if connection.execute("SELECT 1 FROM jobs WHERE making IS NOT NULL AND state = 'running'").fetchone():
            raise Refused(503, "another making runs here", "try later")
        if is_halted(connection):
            raise halted(503)
        program = check_makes(connection, bytes.fromhex(making.program), making.parameters)
        self._check_slot(connection, ())
        return program

    def start_making(self, making: Making) -> Started | None:
        """Makes a making run, on the disk; returns None if it runs already.

        Raises:
            Refused: as for `check_making`.
        """

        def change(connection: sqlite3.Connection) -> Started | None:
            program, now = self._makeable(connection, making), int(self._clock())
            if program is None:
                return None
            row = (making.id, program.hash, making.requester, making.json, b"", now, now, making.times)
            query = """INSERT INTO jobs (id, program, requester, request, signature, until, state, changed_at, making)
                VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?)"""
            connection.execute(query, row)
            return Started(_known(connection, making.id), program, {})

        return self._store.write(change).result()

    def check_deployment(self, request: JobRequest | StandingRequest | Making) -> None:
        """Compares the deployment that a request is for with this one.

        Raises:
            Refused: it is another one.
        """
        if request.deployment != self._deployment:
            hashes = f"for {request.deployment.hex()}, and this server's is {self._deployment.hex()}"
            what = f"the request is for another list of servers: {hashes}"
            raise Refused(409, what, "compare servers.toml with this server's operator")

    def check(self, job: bytes) -> None:
        """Checks that a job could start now, and changes nothing. A job that runs already passes.

        Raises:
            Refused: it cannot: 404 it is not here; 503 no job can now; 425 this one not yet; 409 never.
        """
        self._store.read(lambda connection: self._startable(connection, job))

    def _startable(self, connection: sqlite3.Connection, job: bytes) -> Started | None:
        """Returns what would start; None if the job runs already.

        Raises:
            Refused: as for `check`.
        """
        found, now = _find(connection, job), self._clock()
        if found is None:
            raise Refused(404, "this server does not have this job", "send the request to this server")
        if found.state == "running":
            return None
        if found.state in FINAL:
            why = f" ({found.why})" if found.why else ""
            raise Refused(409, f"the job has ended here: {found.state}{why}", "ask for a new one")
        if found.until <= now:
            raise Refused(409, "the request has expired", "sign a new one")
        if found.at is not None and found.at > now:  # the clock was set back
            raise Refused(425, f"the time of this job is {time_text(found.at)}", "start it then")
        request = found.asked
        self.check_deployment(request)
        if is_halted(connection):
            raise halted(503)
        if _is_used(connection, job):
            raise Refused(409, "this job has run here", "sign a new request")
        try:
            covered = check_covered(connection, found.program, found.requester, request.parameters, now, 0)
        except Refused as error:
            # A job of a standing request waits for its turn among those of 24 hours.
            waits = found.at is not None and isinstance(error, TooOften)
            raise Refused(425 if waits else 409, error.what, error.do) from None
        if found.not_before > now:
            raise Refused(425, "the servers have failed to connect for this job", "try later", 10)
        self._check_slot(connection, {str(request.parameters[name]) for name in covered[1]})
        return Started(found, *covered)

    def _check_slot(self, connection: sqlite3.Connection, campaigns: Collection[str]) -> None:
        """Checks that another job may run beside those that do.

        Args:
            connection: the store's.
            campaigns: the hashes of the job's campaigns. Two runs on one campaign are never side by side, so that each
                sees the looks of the one before.

        Raises:
            Refused: as for `check`.
        """
        query = f"SELECT {_LISTED} FROM jobs WHERE state = 'running'"  # noqa: S608
        running = [Job(*row) for row in connection.execute(query).fetchall()]
        if len(running) >= self.at_once:
            what = "another job runs here" if len(running) == 1 else f"{len(running)} jobs run here"
            raise Refused(503, what, "try later", 5)
        if not set(campaigns).isdisjoint(value for job in running for value in job.asked.parameters.values()):
            raise Refused(425, "another job works on the same campaign here", "try later", 10)

    def start(self, job: bytes) -> Started | None:
        """Counts a use and makes a job run, on the disk; returns None if it runs already.

        A job that waits and can never start is refused for ever.

        Raises:
            Refused: as for `check`.
        """

        def change(connection: sqlite3.Connection) -> Started | Refused | None:
            try:
                started = self._startable(connection, job)
            except Refused as error:
                if error.status == 409:
                    self._settle(connection, job)
                return error  # not raised, so that the refusal is kept
            if started is not None:
                now = int(self._clock())
                connection.execute("INSERT INTO uses VALUES (?, ?, ?)", (job, started.job.program, now))
                self._move(connection, job, "queued", "running")
            return started

        outcome = self._store.write(change).result()
        if isinstance(outcome, Refused):
            raise outcome
        return outcome

    def _settle(self, connection: sqlite3.Connection, job: bytes) -> None:
        """Ends a job that waits and can never start; a server that is halted keeps it."""
        found = _find(connection, job)
        if found is None or found.state != "queued" or is_halted(connection):
            return
        if found.until <= self._clock():
            self._move(connection, job, "queued", "expired")
            return
        try:
            self._startable(connection, job)
        except Refused as error:
            if error.status == 409:
                self._move(connection, job, "queued", "refused", "NotCovered")

    def settle(self, job: bytes) -> None:
        """Ends a job that waits and can never start, because its time is over or its approval has changed."""
        self._store.write(lambda connection: self._settle(connection, job)).result()

    def settled(self, connection: sqlite3.Connection, job: bytes) -> Job:
        """Does what `settle` does, within a change of the store; returns the job."""
        self._settle(connection, job)
        return _known(connection, job)

    def is_known(self, connection: sqlite3.Connection, job: bytes) -> bool:
        """Whether a job is here, or has run here."""
        return _find(connection, job) is not None or _is_used(connection, job)

    def fail(self, job: bytes, why: str) -> None:
        """Ends a job that waits, since another server never starts it."""
        self._store.write(lambda connection: self._move(connection, job, "queued", "failed", why)).result()

    def ended(
        self, job: bytes, state: str, why: str = "", result: bytes | None = None, measured: bytes | None = None,
        *, cheated: bool = False,
    ) -> None:  # fmt: skip
        """Ends a job whose program had a session.

        Args:
            job: its id.
            state: "done", "failed" or "cancelled".
            why: the reason, if it failed.
            result: its result, sealed.
            measured: what its session took, JSON.
            cheated: whether cheating was detected. Then this server takes and starts no job until its operator says so.
        """

        def change(connection: sqlite3.Connection) -> None:
            if self._move(connection, job, "running", state, why):
                connection.execute("UPDATE jobs SET result = ?, measured = ? WHERE id = ?", (result, measured, job))
            if cheated:
                _halt(connection, job)

        self._store.write(change).result()

    def unconnected(self, job: bytes, state: str = "queued", why: str = "", *, cheated: bool = False) -> None:
        """Gives the use of a job back whose program got no session here, and queues the job again.

        A job that was cancelled meanwhile is not queued again.

        Args:
            job: its id.
            state: "failed" or "cancelled", if it is not to be queued again.
            why: the reason, if it failed.
            cheated: as for `ended`.
        """

        def change(connection: sqlite3.Connection) -> None:
            if cheated:
                _halt(connection, job)
            found = _find(connection, job)
            if found is None or found.state != "running":
                return
            connection.execute("DELETE FROM uses WHERE job = ?", (job,))
            attempts = found.attempts + 1
            pause = min(_PAUSE_S << min(attempts, 8), _LONGEST_PAUSE_S)
            next_ = state
            if state == "queued" and found.cancel != 0:
                next_ = "cancelled"
            elif state == "queued" and found.making is not None:
                next_ = "failed"  # server 0 proposes another one
            self._move(connection, job, "running", next_, why)
            query = "UPDATE jobs SET attempts = ?, not_before = ? WHERE id = ?"
            connection.execute(query, (attempts, int(self._clock()) + pause, job))

        self._store.write(change).result()

    def cancel(self, job: bytes) -> Job | None:
        """Cancels a job that waits, and marks one that runs; returns the job, or None if there is none."""
        return self._store.write(lambda connection: self.cancel_within(connection, job)).result()

    def cancel_within(self, connection: sqlite3.Connection, job: bytes) -> Job | None:
        """Does what `cancel` does, within a change of the store."""
        self._move(connection, job, "queued", "cancelled")
        connection.execute("UPDATE jobs SET cancel = 1 WHERE id = ? AND state = 'running'", (job,))
        return _find(connection, job)

    def restarted(self) -> None:
        """Ends the jobs that ran when this server ended. Uses stay, since programs may have had their sessions."""
        now = int(self._clock())
        query = "UPDATE jobs SET state = 'failed', why = 'Restarted', changed_at = ? WHERE state = 'running'"
        self._store.write(lambda connection: connection.execute(query, (now,))).result()

    def tidy(self, days: int) -> None:
        """Ends jobs that wait and can never start; removes those that ended `days` ago and whose request is over."""

        def change(connection: sqlite3.Connection) -> None:
            for (job,) in connection.execute("SELECT id FROM jobs WHERE state = 'queued'").fetchall():
                self._settle(connection, job)
            now = int(self._clock())
            query = f"DELETE FROM jobs WHERE state NOT IN {_ACTIVE} AND changed_at < ? AND until <= ?"  # noqa: S608
            connection.execute(query, (now - days * _DAY_S, now))

        self._store.write(change).result()

    def is_halted(self) -> bool:
        """Whether cheating was detected, and the operator has not said that jobs may go on."""
        return self._store.read(is_halted)

    def resume(self) -> bool:
        """Lets jobs go on after cheating was detected; returns whether they were halted."""
        return self._store.write(resume_within).result()

    def _move(self, connection: sqlite3.Connection, job: bytes, before: str, state: str, why: str = "") -> bool:
        """Changes the state of a job, if it is `before`; returns whether it was."""
        query = "UPDATE jobs SET state = ?, why = ?, changed_at = ? WHERE id = ? AND state = ?"
        return connection.execute(query, (state, why, int(self._clock()), job, before)).rowcount == 1


def _find(connection: sqlite3.Connection, job: bytes) -> Job | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (job,)).fetchone()  # noqa: S608
    return None if row is None else Job(*row)


def _known(connection: sqlite3.Connection, job: bytes) -> Job:
    found = _find(connection, job)
    if found is None:
        raise LookupError("a job that was just stored")
    return found


def is_halted(connection: sqlite3.Connection) -> bool:
    """Whether cheating was detected, and the operator has not said that jobs may go on."""
    return connection.execute("SELECT 1 FROM meta WHERE name = ?", (_HALTED,)).fetchone() is not None


def resume_within(connection: sqlite3.Connection) -> bool:
    """Does what `Queue.resume` does, within a change of the store."""
    return connection.execute("DELETE FROM meta WHERE name = ?", (_HALTED,)).rowcount > 0


def _halt(connection: sqlite3.Connection, job: bytes) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_HALTED, job))


def halted(status: int) -> Refused:
    """Returns the refusal of a server whose jobs are halted."""
    what = "cheating was detected at this server, and it runs no jobs"
    return Refused(status, what, "ask its operator to find the cause")


def _is_used(connection: sqlite3.Connection, job: bytes) -> bool:
    return connection.execute("SELECT 1 FROM uses WHERE job = ?", (job,)).fetchone() is not None
