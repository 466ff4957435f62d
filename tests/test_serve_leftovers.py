"""Servers that live long: what connections and requests leave in memory, without the collector of cycles."""

from __future__ import annotations

import contextlib
import gc
import random
import secrets
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quorate_client._https import Links
from quorate_client.keys import to_text
from quorate_client.statements import sign_request
from serving import SOON, Network, Served, network

#: Of each kind of connection, how many there are.
_TIMES = 20


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with network(tmp_path) as made:
        yield made


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tls_objects() -> int:
    """Returns how many connections of servers are in memory; those of clients are of another type here."""
    return sum(type(one) is ssl.SSLObject for one in gc.get_objects())


def no_handshake(server: Served) -> None:
    with socket.create_connection(("127.0.0.1", server.port), SOON) as connection, contextlib.suppress(OSError):
        connection.sendall(bytes(200))
        connection.recv(100)


def closed_at_once(server: Served) -> None:
    socket.create_connection(("127.0.0.1", server.port), SOON).close()


def no_request(server: Served) -> None:
    with server.connected() as connection, contextlib.suppress(OSError):
        connection.sendall(b"this is no request\r\n\r\n")
        connection.recv(100)


def half_a_head(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(b"POST /campaigns/x/packets HTTP/1.1\r\nHost: x")


def half_a_body(server: Served) -> None:
    with server.connected() as connection:
        connection.sendall(b"POST /campaigns/x/packets HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n1")


def whole(server: Served) -> None:
    assert server.ask("GET", "/healthz").status == 200


KINDS = (no_handshake, closed_at_once, no_request, half_a_head, half_a_body, whole)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_connections_leave_no_tls_behind(net: Network, kind: Callable[[Served], None]) -> None:
    kind(net.servers[0])
    with uncollected():
        before = tls_objects()
        for _ in range(_TIMES):
            kind(net.servers[0])
        deadline = time.monotonic() + SOON
        while tls_objects() > before + 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert tls_objects() <= before + 1


def test_a_thousand_requests_leave_nothing_behind(net: Network) -> None:
    rng, key, server, path = random.Random(1), net.keys[0], net.campaign.servers[0], net.path
    signed = {"Quorate-Signature": sign_request(key, net.campaign.hash, 0, int(time.time()))}

    def ask(times: int) -> None:
        with Links() as links:
            for _ in range(times):
                state = f"{path}/packets/{to_text(key.id)}"
                strange = f"/campaigns/{to_text(secrets.token_bytes(32))}"
                method, where, headers, body, wanted = rng.choice(
                    (
                        ("GET", path, {}, None, 200),
                        ("GET", f"{path}/hello", {}, None, 200),
                        ("GET", state, signed, None, 200),
                        ("GET", state, {}, None, 401),
                        ("GET", strange, {}, None, 404),
                        ("GET", f"/{secrets.token_hex(8)}", {}, None, 404),
                        ("DELETE", path, {}, None, 405),
                        ("POST", f"{path}/packets", {}, bytes(300), 400),
                    )
                )
                assert links.ask(0, server, method, where, headers, body).status == wanted

    ask(300)
    gc.collect()
    before = len(gc.get_objects())
    ask(1000)
    gc.collect()
    assert len(gc.get_objects()) - before < 300


def test_old_objects_of_a_server_are_out_of_the_collectors_sight() -> None:
    program = (
        "import gc\n"
        "from quorate.serve import _run\n"
        "class Serving:\n"
        "    port = metrics_port = 1\n"
        "    def __init__(self, *_): pass\n"
        "    def run(self):\n"
        "        print(gc.get_freeze_count(), sum(len(gc.get_objects(generation=i)) for i in range(3)))\n"
        "class Settings:\n"
        "    host, me, metrics = 'x', 0, None\n"
        "    read = staticmethod(lambda _: Settings)\n"
        "_run.Serving, _run.Settings = Serving, Settings\n"
        "_run.serve('x')\n"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", program], check=True, capture_output=True, text=True)
    frozen, seen = map(int, ran.stdout.split())
    assert frozen > 20 * seen
