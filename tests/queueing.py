"""Queues of jobs for tests: a store, an approved program, requests for it, and a clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaigning import NOW, STORE_KEY, Clock
from clients import server_fields
from jobbing import PARAMETERS, approval, listed_servers
from quorate.campaigns import Refused, Store
from quorate.jobs import Job, Queue, Schedules, approve, read_approval
from quorate_client import ClientKey, Deployment, JobRequest, ServiceKey, StandingRequest

KEY, OTHER = ClientKey.generate(), ClientKey.generate()
SERVICES = [ServiceKey.generate() for _ in range(3)]
CODE = "raise SystemExit('this is not executed')\n\ndef program(mpc, rows, region):\n    return rows\n"


def deployment_of(folder: Path, protocol: str = "rss") -> Deployment:
    """Returns a list of three servers."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"servers-{protocol}.toml"
    file.write_text(listed_servers(protocol, [server_fields(i, key) for i, key in enumerate(SERVICES)]))
    return Deployment.load(file)


class Office:
    """One server's queue, without a network or processes."""

    def __init__(self, folder: Path, at_once: int = 1, **terms: Any) -> None:
        self.folder, self.clock, self.at_once = folder, Clock(), at_once
        self.deployment = deployment_of(folder)
        self.open()
        self.program = self.approve(**terms)

    def open(self) -> None:
        self.store = Store(self.folder / "store.db", STORE_KEY, None)
        self.queue = Queue(self.store, self.deployment.hash, self.clock, self.at_once)
        self.schedules = Schedules(self.store, self.queue, self.clock)

    def approve(self, code: str = CODE, more: str = PARAMETERS, **terms: Any) -> str:
        """Approves a program, and returns its hash."""
        found = read_approval(approval(self.folder, code, KEY, more=more, **terms))
        self.uses = approve(self.store, found, self.clock())
        return found.hash.hex()

    def request(self, within_s: int = 3600, key: ClientKey = KEY, program: str = "", **parameters: Any) -> JobRequest:
        given = parameters or {"rows": 5, "region": "north"}
        return JobRequest.make(self.deployment, key.id, program or self.program, given, int(self.clock.now), within_s)

    def standing(self, every: str = "hour :15", key: ClientKey = KEY, **fields: Any) -> StandingRequest:
        """Returns a standing request, by default from now for a day."""
        now = int(self.clock.now)
        times = {"time": now, "since": now, "until": now + 86_400, **fields}
        given = {"rows": 5, "region": "north"}
        return StandingRequest.make(self.deployment, key.id, self.program, given, every=every, **times)

    def stands(self, every: StandingRequest | str = "hour :15", **fields: Any) -> bytes:
        asked = every if isinstance(every, StandingRequest) else self.standing(every, **fields)
        taken, _ = self.schedules.submit(asked, bytes(64)).result()
        return taken.id

    def occurred(self) -> list[bytes]:
        """Returns the jobs that standing requests give now."""
        return [job.id for job in self.schedules.occur()]

    def submit(self, request: JobRequest | None = None, **fields: Any) -> bytes:
        asked = request or self.request(**fields)
        job, _ = self.queue.submit(asked, bytes(64)).result()
        return job.id

    def refusal(self, call: Callable[[], Any]) -> Refused:
        """Returns the refusal of a call, after a check that it changed nothing."""
        before = self.dump()
        try:
            call()
        except Refused as error:
            assert self.dump() == before
            return error
        raise AssertionError("this was not refused")

    def job(self, job: bytes) -> Job:
        found = self.queue.job(job)
        assert found is not None
        return found

    def state(self, job: bytes) -> tuple[str, str]:
        found = self.job(job)
        return found.state, found.why

    def uses_of(self) -> int:
        return len(self.rows("SELECT job FROM uses"))

    def rows(self, query: str) -> list[Any]:
        return self.store.read(lambda connection: connection.execute(query).fetchall())

    def dump(self) -> list[Any]:
        tables = ("jobs", "uses", "programs", "meta", "campaigns", "standing", "occurrences")
        return [self.rows(f"SELECT * FROM {table}") for table in tables]

    def close(self) -> None:
        self.store.close()


__all__ = ["CODE", "KEY", "NOW", "OTHER", "SERVICES", "Office", "deployment_of"]
