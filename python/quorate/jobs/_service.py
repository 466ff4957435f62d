"""The jobs of a server in one place: its settings, its answers to requesters and to server 0, and its threads."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from quorate.campaigns import Refused, Settings, Store, StoreError, certificate_hash
from quorate.errors import ConfigError
from quorate.jobs._events import about
from quorate.jobs._queue import Job, Queue
from quorate.jobs._runner import OnEnd, Runner, check_child
from quorate.jobs._turns import Turns, call
from quorate_client import Deployment, JobRequest, JobState, ServiceKey, WireError
from quorate_client.job import Call, read_call
from quorate_client.keys import SIGNATURE_BYTES, from_text, to_text

__all__ = ["Jobs", "check_deployment"]

LOG = logging.getLogger("quorate.serve")

_TIDY_S = 60.0


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
        self.queue = Queue(store, self.deployment.hash, clock)
        self._store, self._me, self._key, self._clock = store, settings.me, service_key, clock
        self._days = settings.limits.results_days
        self.runner = Runner(store, self.queue, settings.party, self._wake, on_end)
        self._over = threading.Event()
        self._turns: Turns | None = None
        if settings.me == 0:
            asked = functools.partial(call, self.deployment, service_key)
            self._turns = Turns(self.queue, self.runner, range(1, len(self.deployment.servers)), asked)

    def begin(self) -> None:
        """Ends the job that ran when this server was last stopped, and starts the threads."""
        self.queue.restarted()
        deployment = self.deployment.hash.hex()
        fields = about("jobs.begun", deployment=deployment)
        LOG.info("runs jobs of the list of servers with the hash %s", deployment, extra=fields)
        threading.Thread(target=self._tidy, name="quorate tidy", daemon=True).start()
        if self._turns is not None:
            self._turns.begin()

    def end(self) -> None:
        """Starts no other job, and tells the one that runs to end."""
        self._over.set()
        if self._turns is not None:
            self._turns.stop()
        self.runner.end()

    def stop(self) -> None:
        """Waits for the ends of the job that runs and of the thread of turns."""
        self.end()
        self.runner.stop()
        if self._turns is not None:
            self._turns.join()

    def _wake(self) -> None:
        if self._turns is not None:
            self._turns.wake()

    def _tidy(self) -> None:
        while not self._over.is_set():
            try:
                self.queue.tidy(self._days)
            except StoreError as error:
                if not self._over.is_set():
                    LOG.error("%s", error, extra=about("store.error"))
            self._over.wait(_TIDY_S)

    def check_request(self, body: bytes, signature: str) -> tuple[JobRequest, bytes]:
        """Reads a request and checks the signature of its requester.

        Raises:
            Refused: it is malformed, for other servers, or not signed by its requester.
        """
        try:
            request = JobRequest.from_json(body)
        except WireError as error:
            raise Refused(400, _sentence(error), "sign a new request") from None
        self.queue.check_deployment(request)
        try:
            raw = from_text(signature[:100])
        except ValueError:
            raw = b""
        if len(raw) != SIGNATURE_BYTES or not request.is_by(raw):
            raise Refused(401, "the request's signature does not fit", "sign the request with the requester's key")
        return request, raw

    def submit(self, request: JobRequest, signature: bytes) -> Future[tuple[Job, bool]]:
        """Queues a checked request: see `Queue.submit`."""
        return self.queue.submit(request, signature)

    def submitted(self, job: Job, is_new: bool) -> bytes:
        """Returns the state of a job that was asked for, as signed JSON; a new one gets its turn.

        There is no result in it: the request is signed for all servers alike, so another server could send it here.
        """
        if is_new:
            self._wake()
        return self.state(job)

    def shown(self, job: str, path: str, signature: str) -> bytes:
        """Returns the state of a job to its requester, as signed JSON, with the result if it is done.

        Raises:
            Refused: there is no such job, or it is another requester's; or the call is not signed.
        """
        found = self._of_requester(job, "GET", path, signature)
        return self.state(found, None if found.result is None else self._store.job_key.open(found.result, found.id))

    def cancelled(self, job: str, path: str, signature: str) -> bytes:
        """Cancels a job for its requester, unless it has ended; returns its state, as signed JSON.

        Raises:
            Refused: as for `shown`.
        """
        found = self._of_requester(job, "POST", path, signature)
        return self.state(self.queue.cancel(found.id) or found)

    def _of_requester(self, job: str, method: str, path: str, signature: str) -> Job:
        called = self._called(method, path, signature)
        found = self.queue.job(_id(job))
        if found is None or not called.is_by(found.requester):
            raise _unknown()
        return found

    def listed(self, requester: str, path: str, signature: str) -> bytes:
        """Returns the last jobs of a requester, as JSON.

        Raises:
            Refused: the call is not signed by that key.
        """
        try:
            point = from_text(requester)
        except ValueError:
            raise Refused(400, "the public key is not base64url", "send 65 bytes without padding") from None
        if not self._called("GET", path, signature).is_by(point):
            raise Refused(401, "the call's signature does not fit", "sign the call with this key")
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

    def _by_first(self, job: str, path: str, signature: str) -> bytes:
        """Returns a job's id if server 0 signed the call, and this is another server."""
        called = self._called("POST", path, signature)
        if self._me == 0 or not called.is_by(self.deployment.servers[0].sign):
            raise _unknown()
        return _id(job)

    def _called(self, method: str, path: str, signature: str) -> Call:
        """Reads the header of a call.

        Raises:
            Refused: it has another form, or its time is not this server's.
        """
        try:
            return read_call(self.deployment.hash, self._me, method, path, signature, self._clock())
        except WireError as error:
            time_here = f"; this server's time is {int(self._clock())}" if error.field == "time" else ""
            raise Refused(401, f"{_sentence(error)}{time_here}", "sign the call again") from None

    def state(self, job: Job, result: bytes | None = None) -> bytes:
        """Returns the state of a job, as signed JSON."""
        made = JobState(job.id, self._me, job.state, job.why, job.attempts, job.changed_at, result)
        return made.by(self._key, self.deployment.hash).to_json()


def _id(text: str) -> bytes:
    try:
        return from_text(text)
    except ValueError:
        raise _unknown() from None


def _unknown() -> Refused:
    return Refused(404, "this server does not have this job", "send the request to this server")


def _sentence(error: WireError) -> str:
    return str(error).rstrip(".")
