"""A server of jobs with a console, and requests to it by hand and by a browser."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import re
import ssl
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import serving
from campaigning import campaign_of
from jobbing import PARAMETERS, approval
from jobserving import Network, job_network
from quorate.campaigns import ConsoleSettings
from quorate.console import add_operator, propose_campaign, propose_program
from quorate.jobs import Program, read_approval
from quorate_client import Campaign, ClientKey, ServiceKey
from serving import Answer

#: A program that a console shows: it reveals a sum, and names a region.
SUMS = """import numpy as np
import quorate as qr


def program(mpc, rows, region):
    own = [np.arange(rows) if mpc.me == party else None for party in range(3)]
    each = [mpc.input(own[i], shape=(rows,), dtype=qr.int(32), bound=1000, owner=i) for i in range(3)]
    return {"total": (each[0] + each[1] + each[2]).sum().reveal()}
"""


@dataclasses.dataclass
class Desk:
    """A server's console, an operator's token, and requests.

    Attributes:
        net: the servers, of which the first one runs.
        token: the token of the operator "ada".
        cookie: what a browser that has signed in sends.
    """

    net: Network
    token: str
    cookie: str = ""

    @property
    def console(self) -> Any:
        running = self.net.servers[0].serving
        assert running is not None and running._console is not None
        return running._console

    @property
    def origin(self) -> str:
        return f"https://localhost:{self.console.port}"

    def store(self) -> Any:
        return contextlib.closing(self.net.servers[0].store())

    @contextlib.contextmanager
    def connected(self) -> Iterator[ssl.SSLSocket]:
        server = copy.copy(self.net.servers[0])
        server.port = self.console.port
        with server.connected() as connection:
            yield connection

    def send(self, request: bytes) -> Answer:
        """Sends bytes, and reads the answer until the console closes."""
        with self.connected() as connection:
            connection.sendall(request)
            return serving.answer_of(connection)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        """Makes a request as a browser would; headers replace those that it sends, and None leaves one out."""
        given: dict[str, str | None] = {"host": self.origin.partition("//")[2], "connection": "close"}
        if self.cookie:
            given["cookie"] = self.cookie
        if body is not None:
            given |= {
                "origin": self.origin,
                "sec-fetch-site": "same-origin",
                "content-type": "application/x-www-form-urlencoded",
                "content-length": str(len(body)),
            }
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
        return self.send("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode() + (body or b""))

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: dict[str, str] | None = None, **headers: str | None) -> Answer:
        """Sends a form. Forms of acts have the operator's token, unless the fields have another one."""
        given = {"token": self.token, **(fields or {})} if "csrf" in (fields or {}) else fields or {}
        return self.ask("POST", path, urllib.parse.urlencode(given).encode(), **headers)

    def sign_in(self, token: str = "", name: str = "ada") -> None:
        answer = self.post("/sign-in", {"name": name, "token": token or self.token})
        assert answer.status == 303, answer
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def csrf(self, path: str = "/") -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(path).body.decode())
        assert found is not None
        return found[1]

    def shown(self, path: str) -> str:
        found = re.search(r'name="shown" value="([^"]+)"', self.get(path).body.decode())
        assert found is not None
        return found[1]

    def program(self, folder: Path, code: str = SUMS, more: str = PARAMETERS, **terms: Any) -> tuple[Program, str]:
        """Proposes a program; returns it, and the path of its page."""
        program = read_approval(approval(folder, code, self.net.key, more=more, **terms))
        with self.store() as store:
            return program, f"/proposals/{propose_program(store, program).id.hex()}"

    def campaign(self, clients: list[ClientKey] | int = 3, **fields: Any) -> tuple[Campaign, str]:
        """Proposes a campaign; returns it, and the path of its page."""
        servers = [server.fields("") for server in self.net.servers]
        services = [ServiceKey.generate() for _ in servers]
        made = campaign_of(services, clients, **{"closes": "2099-01-01T00:00:00Z", "servers": servers, **fields})
        with self.store() as store:
            return made, f"/proposals/{propose_campaign(store, made).id.hex()}"


@contextlib.contextmanager
def desk(folder: Path, names: tuple[str, ...] = (), **settings: Any) -> Iterator[Desk]:
    """Starts a server with a console, which has the operator "ada"."""
    with job_network(folder, ()) as net:
        server = net.servers[0]
        own = ConsoleSettings("127.0.0.1", 0, names, server.file, server.file)
        server.settings = dataclasses.replace(server.settings, console=own, **settings)
        with contextlib.closing(server.store()) as store:
            token = add_operator(store, "ada")
        server.start()
        yield Desk(net, token)
