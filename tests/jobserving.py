"""Servers of jobs over HTTPS in threads of this process, whose jobs are no processes: tests end them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigning import STORE_KEY
from deploying import free_ports
from jobbing import PARAMETERS, approval, listed_servers
from quorate.campaigns import Limits, Refused, Store
from quorate.jobs import Queue, _service, approve, read_approval
from quorate_client import ClientKey, Deployment, JobProgress, JobRequest, JobState
from quorate_client.job import sign_call
from quorate_client.keys import to_text
from serving import Answer, Served

CODE = "def program(mpc, rows, region):\n    return rows\n"


class FakeRunner:
    """A runner whose jobs run until a test ends them."""

    def __init__(self, store: Store, queue: Queue, config: Path, woken: Callable[[], None], on_end: Any = None) -> None:
        self.store, self.queue, self.woken, self.on_end = store, queue, woken, on_end
        self.started: list[bytes] = []
        self.told: dict[bytes, JobProgress] = {}
        self.is_over = False

    def check(self, job: bytes) -> None:
        self.queue.check(job)

    def start(self, job: bytes) -> None:
        if self.is_over:
            raise Refused(503, "this server is about to end", "try later", 10)
        if self.queue.start(job) is not None:
            self.started.append(job)

    def progress(self, job: bytes) -> JobProgress | None:
        return self.told.get(job)

    def finish(self, job: bytes, result: bytes = b'{"x":1}') -> None:
        self.queue.ended(job, "done", result=self.store.job_key.seal(result, job))

    def end(self) -> None:
        self.is_over = True

    def stop(self) -> None:
        self.end()


@dataclasses.dataclass
class Network:
    """Servers of jobs, and requesters."""

    deployment: Deployment
    servers: list[Served]
    key: ClientKey
    other: ClientKey
    program: str

    def jobs(self, server: int) -> Any:
        serving = self.servers[server].serving
        assert serving is not None and serving._jobs is not None
        return serving._jobs

    def runner(self, server: int) -> FakeRunner:
        runner = self.jobs(server).runner
        assert isinstance(runner, FakeRunner)
        return runner

    def request(self, key: ClientKey | None = None, within_s: int = 3600, **parameters: Any) -> JobRequest:
        given = parameters or {"rows": 5, "region": "north"}
        point = (key or self.key).id
        return JobRequest.make(self.deployment, point, self.program, given, int(time.time()), within_s)

    def send(self, server: int, request: JobRequest, key: ClientKey | None = None, body: bytes = b"") -> Answer:
        signature = to_text(request.sign(key or self.key))
        return self.servers[server].ask("POST", "/jobs", body or request.json, quorate_signature=signature)

    def queued(self, request: JobRequest | None = None, servers: tuple[int, ...] = (0, 1, 2)) -> bytes:
        """Sends a request to servers, and returns the job's id."""
        asked = request or self.request()
        for server in servers:
            assert self.send(server, asked).status == 201
        return asked.id

    def call(
        self, server: int, method: str, path: str, key: Any = None, to: int | None = None, at: float | None = None
    ) -> Answer:
        """Makes a signed call; `to` and `at` are the server and the time that are signed."""
        now = int(time.time() if at is None else at)
        signed_for = server if to is None else to
        header = sign_call(key or self.key, self.deployment.hash, signed_for, method, path, now)
        return self.servers[server].ask(method, path, b"" if method == "POST" else None, quorate_signature=header)

    def first(self, server: int, what: str, job: bytes) -> Answer:
        """Makes a call of server 0."""
        return self.call(server, "POST", f"/jobs/{to_text(job)}/{what}", self.servers[0].key)

    def state(self, server: int, job: bytes) -> JobState:
        answer = self.call(server, "GET", f"/jobs/{to_text(job)}")
        assert answer.status == 200, answer
        state = JobState.from_json(answer.body)
        assert state.is_by(self.servers[server].key.sign, self.deployment.hash)
        return state

    def rows(self, server: int) -> list[Any]:
        with contextlib.closing(self.servers[server].store()) as store:
            tables = ("jobs", "uses")
            return [store.read(lambda c, t=table: c.execute(f"SELECT * FROM {t}").fetchall()) for table in tables]


@contextlib.contextmanager
def job_network(
    folder: Path, started: tuple[int, ...] = (0, 1, 2), at_once: tuple[int, ...] = (1, 1, 1), **terms: Any
) -> Iterator[Network]:
    """Makes three servers and starts some of them. Turns are given by calls of `look` alone."""
    patch = pytest.MonkeyPatch()
    patch.setattr(_service, "Runner", FakeRunner)
    patch.setattr(_service, "check_child", lambda: None)
    patch.setattr(_service.Turns, "begin", lambda _: None)
    servers = [Served(folder / f"server{i}", i, port, Limits()) for i, port in enumerate(free_ports(3))]
    listed = folder / "servers.toml"
    listed.write_text(listed_servers("rss", [server.fields("") for server in servers]))
    key, other = ClientKey.generate(), ClientKey.generate()
    keys = json.dumps([to_text(one.id) for one in (key, other)])
    program = read_approval(approval(folder, CODE, key, more=PARAMETERS, requesters=keys, **terms))
    for server in servers:
        (server.folder / "serve.toml").write_text("")
        here = {"party": server.folder / "party.toml", "parties": 3, "jobs": listed, "at_once": at_once[server.me]}
        server.settings = dataclasses.replace(server.settings, **here)
        with contextlib.closing(server.store()) as store:
            approve(store, program)
    try:
        for server in started:
            servers[server].start()
        yield Network(Deployment.load(listed), servers, key, other, program.hash.hex())
    finally:
        for server in servers:
            server.stop()
        patch.undo()


__all__ = ["CODE", "STORE_KEY", "FakeRunner", "Network", "job_network"]
