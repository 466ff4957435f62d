"""The jobs of a server in one place: its settings, its answers to requesters and to server 0, and its threads."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from quorate.campaigns import Refused, Settings, Store, StoreError, certificate_hash
from quorate.errors import ConfigError
from quorate.jobs._calls import Calls, id_of
from quorate.jobs._events import about
from quorate.jobs._folders import remove_left
from quorate.jobs._health import PeerState, waits_for
from quorate.jobs._making import asked_in
from quorate.jobs._pools import Pools
from quorate.jobs._queue import Job, Queue
from quorate.jobs._runner import OnEnd, Runner, check_child
from quorate.jobs._schedules import Schedules
from quorate.jobs._standing import StandingAnswers
from quorate.jobs._turns import Turns, call
from quorate_client import Deployment, JobProgress, JobRequest, JobState, ServiceKey
from quorate_client.keys import to_text

__all__ = ["Jobs", "check_deployment"]

LOG = logging.getLogger("quorate.serve")

_TIDY_S = 60.0
_MOST_WAITS = 200  # characters of what a job waits for
_OCCUR_S = 1.0  # between looks at the times of standing requests


def check_deployment(settings: Settings, service_key: ServiceKey) -> Deployment:
    """Reads the list of servers of `serve.toml`, and compares it with this server.

    Raises:
        ConfigError: it names another protocol or other keys, or the files do not lie side by side.
        CampaignError: the list cannot be read.
    """
    if settings.jobs is None:
        raise ConfigError("serve.toml has no [jobs]: name the list of servers there, as in the page on jobs")
    deployment, file = Deployment.load(settings.jobs), settings.jobs
    if not (beside := settings.party.with_name("serve.toml")).is_file():
        raise ConfigError(f"there is no file {beside}: with [jobs], serve.toml lies beside {settings.party.name}")
    if deployment.protocol != settings.protocol:
        raise ConfigError(f"{file} is for {deployment.protocol}, and this party runs {settings.protocol}")
    if len(deployment.servers) != settings.parties:
        raise ConfigError(f"{file} lists {len(deployment.servers)} servers, and there are {settings.parties} parties")
    own, certificate = deployment.servers[settings.me], certificate_hash(settings.certificate)
    for name, stated, wanted in (
        ("certificate", own.certificate, certificate),
        ("seal", own.seal, service_key.seal),
        ("sign", own.sign, service_key.sign),
    ):
        if stated != wanted:
            raise ConfigError(f"{file}: `{name}` of server {settings.me} must be {to_text(wanted)}, as in service.pub")
    return deployment


class Jobs:
    """The jobs of one server.

    Args:
        store: the store.
        settings: the server's settings.
        service_key: its keys.
        clock: its clock, in seconds since 1970.
        on_end: called when a job's process has ended: the program's hash, the job's next state, and the seconds.

    Raises:
        ConfigError, CampaignError: as for `check_deployment`, and if processes of jobs cannot import Quorate.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        service_key: ServiceKey,
        clock: Callable[[], float] = time.time,
        on_end: OnEnd | None = None,
    ) -> None:
        self.deployment = check_deployment(settings, service_key)
        check_child()
        self.queue = Queue(store, self.deployment.hash, clock, settings.at_once)
        self.schedules = Schedules(store, self.queue, clock)
        self._calls = Calls(self.queue, self.deployment.hash, settings.me, clock)
        self.standing = StandingAnswers(self.schedules, self._calls, service_key, clock)
        self._store, self._me, self._key = store, settings.me, service_key
        self._days = settings.limits.results_days
        self.runner = Runner(store, self.queue, settings.party, self._wake, on_end)
        servers = self.deployment.servers
        self.pools = Pools(
            store, self.queue, settings.party, settings.marks, self.deployment.hash, servers[0].sign, clock
        )
        self._over = threading.Event()
        self._peers: Callable[[], Sequence[PeerState]] = lambda: ()
        self._turns: Turns | None = None
        if settings.me == 0:
            asked = functools.partial(call, self.deployment, service_key)
            pools, others = self.pools if settings.marks else None, range(1, len(servers))
            away = lambda: bool(waits_for(self._peers()))  # noqa: E731
            self._turns = Turns(self.queue, self.runner, others, asked, away, pools)

    def begin(self) -> None:
        """Ends the jobs that ran when this server was last stopped, and starts the threads."""
        self.queue.restarted()
        deployment = self.deployment.hash.hex()
        fields = about("jobs.begun", deployment=deployment)
        LOG.info("runs jobs of the list of servers with the hash %s", deployment, extra=fields)
        left = (self._store, self._over)
        threading.Thread(target=remove_left, args=left, name="quorate folders", daemon=True).start()
        threading.Thread(target=self._keep_time, name="quorate times", daemon=True).start()
        if self._turns is not None:
            self._turns.begin()

    def end(self) -> None:
        """Starts no other job, and tells those that run to end."""
        self._over.set()
        if self._turns is not None:
            self._turns.stop()
        self.runner.end()

    def stop(self) -> None:
        """Waits for the ends of the jobs that run and of the thread of turns."""
        self.end()
        self.runner.stop()
        if self._turns is not None:
            self._turns.join()

    def _wake(self, job: bytes | None = None) -> None:
        if self._turns is not None:
            self._turns.wake(job)

    def hear(self, peers: Callable[[], Sequence[PeerState]]) -> None:
        """Has the health of the other servers decide whether turns are given. Call it before `begin`.

        Args:
            peers: returns their states.
        """
        self._peers = peers

    def peers_changed(self) -> None:
        """Has jobs that wait looked at again, since the state of another server has changed."""
        self._wake()

    def word(self) -> str:
        """Returns whether this server "accepts" jobs, is "halted", or "ends".

        Raises:
            StoreError: the store cannot be read.
        """
        if self._over.is_set():
            return "ends"
        return "halted" if self.queue.is_halted() else "accepts"

    def _keep_time(self) -> None:
        """Queues jobs at their times, and tidies up once in a while, until the end of this server."""
        tidied = -_TIDY_S
        while not self._over.is_set():
            try:
                if time.monotonic() > tidied + _TIDY_S:
                    tidied = time.monotonic()
                    self.queue.tidy(self._days)
                    self.schedules.tidy(self._days)
                self.occur()
            except StoreError as error:
                if not self._over.is_set():
                    LOG.error("%s", error, extra=about("store.error"))
            except Exception as error:  # one standing request must not end all of them; its text may hold values
                if not self._over.is_set():
                    what = "an error of type %s when times of jobs were looked at"
                    LOG.error(what, type(error).__name__, extra=about("standing.error"))
            self._over.wait(_OCCUR_S)

    def occur(self) -> None:
        """Queues the jobs of standing requests whose times have come; new ones get their turns."""
        for job in self.schedules.occur():
            standing = "" if job.standing is None else job.standing.hex()
            fields = about("job.occurred", job.id.hex(), standing=standing, state=job.state)
            LOG.info("job %s of the standing request %s is %s", job.id.hex(), standing, job.state, extra=fields)
            self._wake(job.id)

    def check_request(self, body: bytes, signature: str) -> tuple[JobRequest, bytes]:
        """Reads a request and checks the signature of its requester.

        Raises:
            Refused: it is malformed, for other servers, or not signed by its requester.
        """
        return self._calls.request(JobRequest.from_json, body, signature)

    def submit(self, request: JobRequest, signature: bytes) -> Future[tuple[Job, bool]]:
        """Queues a checked request: see `Queue.submit`."""
        return self.queue.submit(request, signature)

    def submitted(self, job: Job, is_new: bool) -> bytes:
        """Returns the state of a job that was asked for, as signed JSON; it gets its turn.

        There is neither a result nor progress in it: the request is signed for all servers alike, so another server
        could send it here.
        """
        self._wake(job.id)
        return self.state(job)

    def shown(self, job: str, path: str, signature: str) -> bytes:
        """Returns the state of a job to its requester, as signed JSON.

        The result is in it if it is done, how far it is if it runs, and what it waits for if a server is not there.

        Raises:
            Refused: there is no such job, or it is another requester's; or the call is not signed.
        """
        found = self._of_requester(job, "GET", path, signature)
        result = None if found.result is None else self._store.job_key.open(found.result, found.id)
        progress = self.runner.progress(found.id) if found.state == "running" else None
        return self.state(found, result, progress, waits_for(self._peers()) if found.state == "queued" else "")

    def cancelled(self, job: str, path: str, signature: str) -> bytes:
        """Cancels a job for its requester, unless it has ended; returns its state, as signed JSON.

        Raises:
            Refused: as for `shown`.
        """
        found = self._of_requester(job, "POST", path, signature)
        return self.state(self.queue.cancel(found.id) or found)

    def _of_requester(self, job: str, method: str, path: str, signature: str) -> Job:
        called = self._calls.called(method, path, signature)
        found = self.queue.job(id_of(job, _unknown()))
        if found is None or not called.is_by(found.requester):
            raise _unknown()
        return found

    def listed(self, requester: str, path: str, signature: str) -> bytes:
        """Returns the last jobs of a requester, as JSON.

        Raises:
            Refused: the call is not signed by that key.
        """
        point = self._calls.of_key(requester, path, signature)
        jobs = [
            {
                "job": to_text(job.id),
                "program": job.program.hex(),
                "state": job.state,
                "why": job.why,
                "changed": job.changed_at,
            }
            for job in self.queue.of(point)
        ]
        return json.dumps({"jobs": jobs}).encode()

    def ask(self, job: str, path: str, signature: str) -> None:
        """Answers server 0 whether a job could start now.

        Raises:
            Refused: it cannot, or the call is not server 0's.
        """
        self.runner.check(self._by_first(job, path, signature))

    def start(self, job: str, path: str, signature: str) -> None:
        """Starts a job for server 0.

        Raises:
            Refused: it cannot start, or the call is not server 0's.
        """
        self.runner.start(self._by_first(job, path, signature))

    def ask_making(self, making: tuple[str, str, str], path: str, signature: str) -> None:
        """Answers server 0 whether a making could start now.

        Args:
            making: the entry, the number of starts and the nonce, as the path has them.
            path, signature: those of the call.

        Raises:
            Refused: it cannot, or the call is not server 0's.
        """
        self._check_first(path, signature)
        self.pools.check(self.pools.making(*asked_in(*making)))

    def start_making(self, making: tuple[str, str, str], path: str, signature: str) -> None:
        """Starts a making for server 0.

        Raises:
            Refused: it cannot start, or the call is not server 0's.
        """
        self._check_first(path, signature)
        asked = self.pools.making(*asked_in(*making))
        marks = self.pools.marks_of(asked.entry)
        self.pools.check(asked)
        if marks is not None:
            self.runner.start_making(asked, marks.timeout_s)

    def _by_first(self, job: str, path: str, signature: str) -> bytes:
        """Returns a job's id if server 0 signed the call, and this is another server."""
        self._check_first(path, signature)
        return id_of(job, _unknown())

    def _check_first(self, path: str, signature: str) -> None:
        """Refuses calls that server 0 did not sign, and all at server 0."""
        called = self._calls.called("POST", path, signature)
        if self._me == 0 or not called.is_by(self.deployment.servers[0].sign):
            raise _unknown()

    def state(
        self, job: Job, result: bytes | None = None, progress: JobProgress | None = None, waits: str = ""
    ) -> bytes:
        """Returns the state of a job, as signed JSON."""
        stated = job.id, self._me, job.state, job.why, job.attempts, job.changed_at
        made = JobState(*stated, result, progress, waits[:_MOST_WAITS])
        return made.by(self._key, self.deployment.hash).to_json()


def _unknown() -> Refused:
    return Refused(404, "this server does not have this job", "send the request to this server")
