"""The order of jobs: server 0 asks the others about the oldest job that waits, and tells all to start it.

Jobs may run side by side, so it asks on until a server has no room. A job that a server lacks, or has to wait with, is
asked about again after a pause that doubles.

When no job can start, it proposes makings for the pools. One that runs is told to end when all servers could start a
job without it.

It decides about order alone. Each server checks a job by its own approval before it starts it, and the session, which
the job's id names, begins only if all have started the same job.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Callable

from quorate.campaigns import Refused, StoreError
from quorate.jobs._events import about
from quorate.jobs._pools import Pools
from quorate.jobs._queue import Queue
from quorate.jobs._runner import Runner
from quorate_client import ClientError, Deployment, ServiceKey
from quorate_client._https import Links
from quorate_client.job import sign_call
from quorate_client.keys import from_text, to_text

__all__ = ["Turns", "call"]

LOG = logging.getLogger("quorate.serve")

_LOOK_S = 2.0
_PAUSE_S = 5.0  # after a server did not answer, or could not start a job
_FIRST_S, _LONGEST_S = 0.5, 60.0  # pauses of a job that a server lacks or waits with
_CALL_S = 5.0
_END_S = 0.5

#: Statuses by which a server says that this job cannot start yet: it does not have it, or waits before it tries again.
_OF_THIS_JOB = (404, 425)


def call(deployment: Deployment, key: ServiceKey, server: int, path: str) -> int:
    """Makes a call of server 0 to another server; returns the HTTP status, or 0 if there is no answer."""
    signature = sign_call(key, deployment.hash, server, "POST", path, int(time.time()))
    try:
        with Links(timeout_s=_CALL_S) as links:
            headers = {"Quorate-Signature": signature}
            return links.ask(server, deployment.servers[server], "POST", path, headers, b"", 1 << 16).status
    except ClientError as error:
        LOG.warning("%s", error, extra=about("peer.unreachable", _job_of(path), server=server))
        return 0


def _job_of(path: str) -> str:
    """Returns the id of the job that a path names, as the log has it; nothing for other paths."""
    try:
        return from_text(path.split("/")[2]).hex()
    except ValueError:
        return ""


def _path(job: bytes, what: str) -> str:
    return f"/jobs/{to_text(job)}/{what}"


@dataclasses.dataclass(frozen=True)
class _Later:
    """When a job was last asked about, and for how long it is not asked about again."""

    asked_at: float
    pause_s: float


class Turns:
    """The thread of server 0 that gives jobs their turns.

    Args:
        queue: the jobs.
        runner: what runs them here.
        peers: the numbers of the other servers.
        ask: makes a call: a server's number and a path to an HTTP status, as `call` does.
        is_away: whether another server is known not to answer; then nothing is asked.
        pools: the pool of this server, if its settings have marks.
    """

    def __init__(
        self,
        queue: Queue,
        runner: Runner,
        peers: range,
        ask: Callable[[int, str], int],
        is_away: Callable[[], bool] = lambda: False,
        pools: Pools | None = None,
    ) -> None:
        self._pools = pools
        self._queue, self._runner, self._peers, self._ask, self._is_away = queue, runner, peers, ask, is_away
        self._woken, self._is_over = threading.Event(), False
        self._lock = threading.Lock()
        self._later: dict[bytes, _Later] = {}  # of jobs that wait
        self._full = 0  # how often in a row a server had no room
        self._odd: dict[int, int] = {}  # the last status of each server that cannot run jobs
        self._thread = threading.Thread(target=self._run, name="quorate turns", daemon=True)

    def begin(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def wake(self, job: bytes | None = None) -> None:
        """Has the thread look now, and ends the pauses of a job; those of all jobs without one."""
        with self._lock:
            for each in list(self._later) if job is None else [job]:
                if each in self._later:
                    self._later[each] = _Later(self._later[each].asked_at, _FIRST_S)
        self._woken.set()

    def stop(self) -> None:
        """Ends the thread; after a call that is under way it does nothing more."""
        self._is_over = True
        self._woken.set()

    def join(self) -> None:
        """Waits for the end of the thread, as long as a server may take to end."""
        if self._thread.is_alive():
            self._thread.join(_END_S)

    def _run(self) -> None:
        while not self._is_over:
            pause = _LOOK_S
            try:
                pause = self.look()
            except StoreError as error:
                if not self._is_over:
                    LOG.error("%s", error, extra=about("store.error"))
            except Exception as error:  # one job must not end all turns; its text may hold values
                text = "an error of type %s when jobs got their turns"
                LOG.error(text, type(error).__name__, extra=about("server.error"))
            if pause > _LOOK_S:
                self._woken.clear()
            self._woken.wait(pause)
            self._woken.clear()

    def look(self) -> float:
        """Starts the jobs that all servers are ready for, the oldest first; returns seconds to the next look."""
        waiting = self._queue.waiting()
        with self._lock:
            self._later = {job: self._later[job] for job in waiting if job in self._later}
        if self._is_away():
            return _LOOK_S
        for job in waiting:
            if self._is_over:
                break
            if self._wait_of(job) > 0:
                continue
            is_making = self._pools is not None and self._pools.running() is not None
            try:
                self._runner.check(job)
            except Refused as error:
                if error.status == 503 and not is_making:
                    return self._next_look()
                if error.status == 409:
                    self._queue.settle(job)
                if error.status != 503:
                    continue
            pause = self._turn(job, is_making)
            if pause is not None:
                return pause
        if self._pools is not None and not self._is_over:
            self._make(self._pools)
        return self._next_look()

    def _next_look(self) -> float:
        """Returns the seconds to the next look."""
        waits = [self._wait_of(job) for job in list(self._later)]
        return min([_LOOK_S, *(wait for wait in waits if wait > 0)])  # those that were not asked about wait for a place

    def _wait_of(self, job: bytes) -> float:
        """Returns the seconds until a job is asked about again."""
        with self._lock:
            later = self._later.get(job)
        return 0.0 if later is None else later.asked_at + later.pause_s - time.monotonic()

    def _turn(self, job: bytes, is_making: bool) -> float | None:
        """Starts a job if all servers are ready; returns a pause if none may start now, else None.

        Args:
            job: its id.
            is_making: whether a making ran here before the other servers were asked.
        """
        answers = self._all(_path(job, "ask"))
        if self._is_over:
            return _LOOK_S
        statuses = set(answers.values())
        if 409 in statuses:
            never = next(server for server, status in answers.items() if status == 409)
            fields = about("job.refused_elsewhere", job.hex(), server=never)
            LOG.info("job %s never starts: server %s refuses it", job.hex(), never, extra=fields)
            self._queue.fail(job, "Elsewhere")
            return None
        if is_making and statuses <= {200, 503} and self._pools is not None:
            return _FIRST_S if self._pools.give_way(job) else _PAUSE_S
        if statuses <= {200}:
            self._full = 0
            return self._start(job)
        if statuses <= {200, *_OF_THIS_JOB}:
            with self._lock:
                before = self._later.get(job)
                pause = _FIRST_S if before is None else min(2 * before.pause_s, _LONGEST_S)
                self._later[job] = _Later(time.monotonic(), pause)
            return None
        if statuses <= {200, 503, *_OF_THIS_JOB}:  # such as a server at which the job before has not quite ended
            self._full += 1
            return min(_FIRST_S * 2 ** min(self._full - 1, 10), _PAUSE_S)
        return _PAUSE_S

    def _start(self, job: bytes) -> float | None:
        """Tells the others to start a job, and starts it here if all do; else theirs end without a session."""
        if any(status != 200 for status in self._all(_path(job, "start")).values()):
            return _PAUSE_S
        try:
            self._runner.start(job)
        except Refused as error:
            LOG.warning("job %s was not started here: %s", job.hex(), error, extra=about("job.not_started", job.hex()))
            return _PAUSE_S
        return None

    def _make(self, pools: Pools) -> None:
        """Proposes the making that is due, and starts it if all servers are ready for it."""
        making = pools.due()
        marks = None if making is None else pools.marks_of(making.entry)
        if making is None or marks is None:
            return
        try:
            pools.check(making)
            for what in ("ask", "start"):
                statuses = self._all(f"{making.path}/{what}")
                lacking = {server: status for server, status in statuses.items() if status not in (200, 503)}
                if lacking:
                    answers = [f"server {server} answers {status}" for server, status in lacking.items()]
                    pools.refused(making, ", ".join(answers))
                if set(statuses.values()) != {200}:
                    return
            self._runner.start_making(making, marks.timeout_s)
        except Refused as error:
            if error.status != 503:  # else a job runs here, which is no reason for a pause
                pools.refused(making, str(error))
        else:
            pools.begun(making)

    def _all(self, path: str) -> dict[int, int]:
        """Makes the same call to all other servers at the same time; returns the status of each."""
        answers = dict.fromkeys(self._peers, 0)

        def ask(server: int) -> None:
            answers[server] = self._ask(server, path)

        # Threads that the end of the server does not wait for.
        threads = [threading.Thread(target=ask, args=(server,), daemon=True) for server in self._peers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._log_changes(answers)
        return answers

    def _log_changes(self, answers: dict[int, int]) -> None:
        """Logs which server cannot run jobs, once for each status.

        `call` logs that there is no answer. A server without room answers 503.
        """
        for server, status in answers.items():
            odd = 0 if status in (0, 200, 409, 503, *_OF_THIS_JOB) else status
            if odd not in (0, self._odd.get(server)):
                text = "server %s answers %s about jobs, and they wait: compare its clock, and see its log"
                LOG.warning(text, server, odd, extra=about("peer.odd", server=server, status=odd))
            self._odd[server] = odd
