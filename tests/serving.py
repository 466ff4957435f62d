"""Servers for clients over HTTPS on the loopback, in threads of this process; and requests by hand."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import clients
from campaigning import STORE_KEY, campaign_of
from quorate.campaigns import Limits, Settings, Store, approve
from quorate.serve._run import Serving
from quorate_client import Campaign, ClientKey, ServiceKey
from quorate_client.keys import to_text, write_private
from warm import QUORATE

SOON = 20.0  # beyond this a server counts as hung


class Answer(NamedTuple):
    """An answer of a server."""

    status: int
    headers: dict[str, str]
    body: bytes


class Served:
    """One server in a thread."""

    def __init__(self, folder: Path, me: int, port: int, limits: Limits, protocol: str = "rss") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.me, self.port = folder, me, port
        self.file, self.certificate = clients.certificate(folder)
        self.key = ServiceKey.generate()
        self.key.save(folder / "service.key")
        write_private(folder / "store.key", STORE_KEY)
        files = (self.file, self.file, folder / "store.db", folder / "store.key", folder / "service.key")
        self.settings = Settings(me, protocol, "127.0.0.1", port, *files, limits=limits)
        self.serving: Serving | None = None

    def fields(self, prefix: str) -> dict[str, str]:
        keys = {"certificate": self.certificate, "seal": self.key.seal, "sign": self.key.sign}
        url = f"https://127.0.0.1:{self.port}{prefix}"
        return {"url": url, **{name: to_text(value) for name, value in keys.items()}}

    def start(self) -> None:
        from quorate.console._run import begin

        self.serving = Serving(self.settings, begin)
        self.thread = threading.Thread(target=self.serving.run)
        self.thread.start()
        deadline = time.monotonic() + SOON
        while not self.serving.is_started:
            assert self.thread.is_alive() and time.monotonic() < deadline
            time.sleep(0.005)

    def stop(self) -> float:
        """Ends the server, and returns the seconds that it took."""
        if self.serving is None:
            return 0.0
        begun = time.monotonic()
        self.serving.stop()
        self.thread.join(SOON)
        assert not self.thread.is_alive()
        self.serving = None
        return time.monotonic() - begun

    def store(self) -> Store:
        """Opens the store beside the server."""
        return Store(self.settings.store, STORE_KEY, None)

    @contextlib.contextmanager
    def connected(self, source: str = "127.0.0.1") -> Iterator[ssl.SSLSocket]:
        """A connection by TLS from an address; its peer is not checked."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        address = ("127.0.0.1", self.port)
        with socket.create_connection(address, SOON, (source, 0)) as plain, context.wrap_socket(plain) as secured:
            yield secured

    def send(self, request: bytes) -> Answer:
        """Sends bytes of one request, and reads the answer until the server closes."""
        with self.connected() as connection:
            connection.sendall(request)
            return answer_of(connection)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}"] if body is not None else []
        return self.send("\r\n".join([*lines, "", ""]).encode() + (body or b""))


@contextlib.contextmanager
def as_process(server: Served, *options: str, more: str = "") -> Iterator[subprocess.Popen[str]]:
    """Runs a server that is not started as `quorate serve`; its log is the file `log` of its folder.

    `more` are lines of its `serve.toml`.
    """
    files = {name: getattr(server.settings, name) for name in ("certificate", "key", "store", "store_key")}
    lines = [f'listen = "127.0.0.1:{server.port}"', *(f'{name} = "{file}"' for name, file in files.items())]
    text = "\n".join([*lines, f'service_key = "{server.settings.service_key}"', more])
    (server.folder / "serve.toml").write_text(text)
    parties = "".join(f'[[party]]\naddress = "127.0.0.1:{i}"\ncertificate = "x"\n' for i in range(1, 4))
    config = server.folder / "party.toml"
    config.write_text(f'me = {server.me}\nprotocol = "rss"\nkey = "x"\n{parties}')
    log = server.folder / "log"
    with log.open("w") as file:
        command = [QUORATE, "serve", "--config", str(config), *options]
        process = subprocess.Popen(command, stdout=file, stderr=file, text=True)
    try:
        deadline = time.monotonic() + 3 * SOON
        while "serves clients at" not in log.read_text():
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def answer_of(connection: ssl.SSLSocket) -> Answer:
    """Reads an answer until the server closes."""
    data = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while piece := connection.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(": ") for line in lines]
    status = int(first.split(" ")[1]) if first else 0
    return Answer(status, {name.lower(): value for name, _, value in pairs}, body)


@dataclasses.dataclass
class Network:
    """Servers with one campaign, and its clients."""

    campaign: Campaign
    servers: list[Served]
    keys: list[ClientKey]

    @property
    def path(self) -> str:
        return f"/campaigns/{to_text(self.campaign.hash)}"


@contextlib.contextmanager
def network(
    folder: Path,
    limits: Limits | None = None,
    prefix: str = "",
    clients: int = 2,
    *,
    parties: int = 3,
    invited: bool = False,
    **fields: Any,
) -> Iterator[Network]:
    """Starts servers; clients are listed, or invited."""
    protocol = fields.get("protocol", "rss")
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(parties)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in held]
    limits = limits or Limits()
    servers = [Served(folder / f"server{i}", i, port, limits, protocol) for i, port in enumerate(ports)]
    keys = sorted((ClientKey.generate() for _ in range(clients)), key=lambda key: to_text(key.id))
    listed = [server.fields(prefix) for server in servers]
    fields = {"closes": "2099-01-01T00:00:00Z", "servers": listed, **fields}
    campaign = campaign_of([server.key for server in servers], clients if invited else keys, **fields)
    for server in servers:
        with contextlib.closing(server.store()) as store:
            approve(store, campaign, server.me, server.key)
    try:
        for server in servers:
            server.start()
        yield Network(campaign, servers, keys)
    finally:
        for server in servers:
            if server.serving is not None:
                server.serving.stop()
        for server in servers:
            server.stop()
