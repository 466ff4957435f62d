"""Deployments that run jobs: keys, lists of servers, approvals, and servers as processes on the loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import warm
from deploying import Deployment, free_ports
from quorate.campaigns import Store
from quorate_client import ClientKey, Jobs, jobs
from quorate_client.keys import to_text
from warm import QUORATE, Command

PROGRAM = """
import numpy as np
import quorate as qr

def program(mpc, rows, region):
    def of(party):
        own = np.arange(rows) + 10 * party if mpc.me == party else None
        return mpc.input(own, shape=(rows,), dtype=qr.int(32), bound=100_000, owner=party)

    total = of(0) + of(1) + of(2)
    return {"total": total.sum().reveal(), "mine": total[0].reveal(to=1), "region": region}
"""

TERMS = """
program = "{program}"
requesters = {requesters}
times = {times}
per_day = {per_day}
timeout_s = {timeout_s}
runs = {runs}
{more}
"""

PARAMETERS = """
[parameters.rows]
type = "integer"
low = 1
high = 1000
[parameters.region]
type = "text"
values = ["north", "south"]
"""


def approval(
    folder: Path, code: str, key: ClientKey, name: str = "sums", more: str = PARAMETERS, **fields: object
) -> Path:
    """Writes a program and its approval; returns the approval."""
    (folder / f"{name}.py").write_text(code)
    given = {"times": 12, "per_day": 12, "timeout_s": 60, "runs": '"any"', **fields}
    listed = given.pop("requesters", json.dumps([to_text(key.id)]))
    file = folder / f"{name}.toml"
    file.write_text(TERMS.format(program=f"{name}.py", requesters=listed, more=more, **given))
    return file


def listed_servers(protocol: str, fields: list[dict[str, str]]) -> str:
    """Returns the text of a list of servers."""
    tables = ["\n".join(f'{name} = "{value}"' for name, value in one.items()) for one in fields]
    return f'protocol = "{protocol}"\n' + "".join(f"\n[[servers]]\n{table}\n" for table in tables)


def quorate(folder: Path, *arguments: str, status: int = 0) -> str:
    """Runs a command to its end, and returns what it printed."""
    done = warm.quorate(*arguments, cwd=folder)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + (done.stderr if status else "")


def wait_until(check: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until something holds."""
    until = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < until, "this did not come true in time"
        time.sleep(0.05)


class Office:
    """Three servers of jobs as processes, and one requester."""

    def __init__(self, folder: Path, at_once: int = 1) -> None:
        self.folder, self.ports, self.at_once = folder, free_ports(3), at_once
        self.deployment = Deployment(folder, 3)
        self.deployment.limits["connect_timeout_s"] = 3.0
        self.key_file = folder / "me.key"
        quorate(folder, "campaign", "client-key", str(self.key_file))
        self.key = ClientKey.load(self.key_file)
        self.serving: list[Command | None] = [None] * 3
        self.logs: list[Path] = []
        self.options: list[str] = []  # of `quorate serve`
        fields = [self._server(party) for party in range(3)]
        self.servers = folder / "servers.toml"
        self.servers.write_text(listed_servers("rss", fields))

    def _server(self, party: int) -> dict[str, str]:
        own = self.folder / f"server{party}"
        quorate(self.folder, "campaign", "key", "--dir", str(own), "--host", "127.0.0.1")
        config = own / "party.toml"
        config.write_text(self.deployment.config(party).read_text().replace('"party', '"../party'))
        (own / "serve.toml").write_text(
            f'listen = "127.0.0.1:{self.ports[party]}"\nstore = "packets.db"\nstore_key = "store.key"\n'
            'service_key = "service.key"\ncertificate = "tls.crt"\nkey = "tls.key"\n'
            f'[jobs]\nservers = "../servers.toml"\nat_once = {self.at_once}\n'
        )
        self.logs.append(own / "log")
        return {"url": f"https://127.0.0.1:{self.ports[party]}", **json.loads((own / "service.pub").read_text())}

    def config(self, party: int) -> str:
        return str(self.folder / f"server{party}" / "party.toml")

    def approve(self, file: Path, *parties: int) -> None:
        for party in parties or range(3):
            quorate(self.folder, "program", "approve", str(file), "--config", self.config(party))

    def start(self, *parties: int) -> None:
        for party in parties or range(3):
            with self.logs[party].open("a") as log:
                command = [QUORATE, "serve", "--config", self.config(party), *self.options]
                self.serving[party] = Command(command, self.folder, log=log)
        for party in parties or range(3):
            wait_until(lambda party=party: "serves clients at" in self.log(party).rpartition("has ended")[2])

    def log(self, party: int) -> str:
        return self.logs[party].read_text() if self.logs[party].exists() else ""

    def jobs(self) -> Jobs:
        return jobs(self.servers, key=self.key_file)

    def store(self, party: int) -> Store:
        own = self.folder / f"server{party}"
        return Store(own / "packets.db", (own / "store.key").read_bytes(), None)

    def rows(self, party: int, query: str) -> list[object]:
        store = self.store(party)
        try:
            return store.read(lambda connection: connection.execute(query).fetchall())
        finally:
            store.close()

    def stop(self) -> None:
        for process in self.serving:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self.deployment.stop()
