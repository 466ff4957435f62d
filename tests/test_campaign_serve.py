"""Servers over HTTPS: clients that give and ask, requests that are refused, limits, and the end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import select
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from starlette.requests import Request

import quorate_client
from campaigning import STORE_KEY, VALUES
from quorate.campaigns import Limits, Settings, close, find
from quorate.campaigns import Refused as ServerRefused
from quorate.errors import ConfigError
from quorate.serve import _bodies, _listening
from quorate.serve._addresses import holder_of
from quorate.serve._certificates import self_signed
from quorate.serve._run import Serving
from quorate_client import NotStored, Receipt, Refused, _https, wire, words
from quorate_client._https import Links
from quorate_client.keys import to_text
from quorate_client.statements import Hello, sign_request
from serving import SOON, Network, Served, answer_of, network


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with network(tmp_path) as made:
        yield made


def client(net: Network, folder: Path, number: int = 0) -> quorate_client.Client:
    return quorate_client.client(net.campaign, key=net.keys[number], store=folder / f"client{number}")


def packet(net: Network, server: int = 0, number: int = 1, client: int = 0, values: Any = VALUES) -> bytes:
    key, slot = net.keys[client], net.campaign.slots[0]
    header = wire.Header(net.campaign.hash, key.id, client, 0, 0, number, 0, 1, 0, (0, 1))
    encoded = words.encode(slot, values)
    contents = words.split(slot, encoded, (0, 1), wire.fresh_seeds((0, 1)), header.context)
    return wire.make_packets(net.campaign, key, header, contents)[server]


def problem(answer: Any) -> dict[str, Any]:
    """Returns the fields of an answer that refuses, after a check of its form."""
    assert answer.headers["content-type"] == "application/problem+json"
    fields = json.loads(answer.body)
    assert fields["status"] == answer.status
    assert fields["title"] and fields["what"] and fields["do"]
    assert fields["detail"] == f"{fields['what']}: {fields['do']}"
    return fields


# ---- clients -------------------------------------------------------------------------------------------------------


def test_clients_give_replace_withdraw_and_ask(net: Network, tmp_path: Path) -> None:
    one = client(net, tmp_path)
    receipts = one.submit(VALUES)
    assert [r.server for r in receipts] == [0, 1, 2]
    second = one.submit({**VALUES, "age": 3})[0].number
    assert second > receipts[0].number
    gone = one.withdraw()[0].number
    assert [[i.number for i in status.items] for status in one.status()] == [[gone]] * 3
    assert [status.closed for status in one.status()] == [False] * 3


def test_a_server_that_is_down_gets_its_packet_later(net: Network, tmp_path: Path) -> None:
    net.servers[2].stop()
    one = client(net, tmp_path)
    with pytest.raises(NotStored):
        one.submit(VALUES, wait_s=0)
    net.servers[2].start()
    assert len(one.submit(VALUES)) == 3
    for server in net.servers:
        with contextlib.closing(server.store()) as store:
            assert store.read(lambda c: c.execute("SELECT count(*) FROM packets").fetchone()) == (1,)


def test_a_server_that_starts_again_has_what_it_confirmed(net: Network, tmp_path: Path) -> None:
    one = client(net, tmp_path)
    number = one.submit(VALUES)[0].number
    for server in net.servers:
        server.stop()
        server.start()
    assert [status.items[0].number for status in one.status()] == [number] * 3


def test_servers_below_a_path(tmp_path: Path) -> None:
    with network(tmp_path, prefix="/sums/mpc") as net:
        client(net, tmp_path).submit(VALUES)
        assert net.servers[0].ask("GET", f"/sums/mpc{net.path}/hello").status == 200
        for other in ("", "/sums", "/sums/mpc/x", "//sums/mpc"):
            assert problem(net.servers[0].ask("GET", f"{other}{net.path}/hello"))["status"] == 404


def test_a_closed_campaign_refuses_by_name(net: Network, tmp_path: Path) -> None:
    with contextlib.closing(net.servers[1].store()) as store:
        close(store, net.campaign.hash)  # by a command beside the server
    with pytest.raises(Refused, match="closed and takes no packets any more") as error:
        client(net, tmp_path).submit(VALUES, wait_s=0)
    assert (error.value.server, error.value.status) == (1, 410)


def test_what_a_server_states(net: Network) -> None:
    hello = net.servers[1].ask("GET", f"{net.path}/hello")
    assert Hello.from_json(hello.body).differs(net.campaign, 1) is None
    assert net.servers[1].ask("GET", net.path).body == net.campaign.json
    assert (net.servers[0].ask("GET", "/healthz").status, net.servers[0].ask("GET", "/readyz").status) == (200, 200)
    for answer in (hello, net.servers[0].ask("GET", "/healthz"), net.servers[0].ask("GET", "/other")):
        assert answer.headers["cache-control"] == "no-store" and "server" not in answer.headers


# ---- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/campaigns", 404),  # there is no list of campaigns
        ("GET", "/campaigns/", 404),
        ("GET", "/campaigns/%00", 404),
        ("GET", f"/campaigns/{to_text(bytes(32))}/hello", 404),
        ("GET", "/campaigns/x/../hello", 404),
        ("DELETE", "HERE/packets", 405),
        ("GET", "HERE/packets", 405),
        ("POST", "HERE/hello", 405),
        ("GET", "HERE/packets/x", 400),
        ("GET", "HERE/packets/AA", 401),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
    ],
)
def test_paths_and_methods_that_do_not_exist(net: Network, tmp_path: Path, method: str, path: str, status: int) -> None:
    answer = net.servers[0].ask(method, path.replace("HERE", net.path))
    assert problem(answer)["status"] == status
    assert [told.items for told in client(net, tmp_path).status()] == [()] * 3


def test_a_packet_by_hand(net: Network) -> None:
    body = packet(net)
    answer = net.servers[0].ask("POST", f"{net.path}/packets", body)
    assert answer.status == 201
    assert Receipt.from_json(answer.body).confirms(wire.Packet.of(0, body), net.servers[0].key.sign)
    assert problem(net.servers[0].ask("POST", f"{net.path}/packets", packet(net)))["status"] == 409
    changed = body[:-1] + bytes([body[-1] ^ 1])
    assert problem(net.servers[0].ask("POST", f"{net.path}/packets", changed))["status"] == 403


def test_of_packets_that_arrive_together_under_one_number_one_is_stored(net: Network) -> None:
    bodies = [packet(net) for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: net.servers[0].ask("POST", f"{net.path}/packets", body), bodies))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]


def test_lengths_are_checked_before_the_body_is_read(net: Network) -> None:
    head = f"POST {net.path}/packets HTTP/1.1\r\nHost: localhost\r\n"
    for length, status in ((10**12, 413), (300, 400), (0, 400)):
        answer = net.servers[0].send(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert problem(answer)["status"] == status
        assert answer.headers["connection"] == "close"
    answer = net.servers[0].send(f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".encode())
    assert problem(answer)["status"] == 411
    for text in ("-1", "1e3", "9" * 5000):
        assert net.servers[0].send(f"{head}Content-Length: {text}\r\n\r\n".encode()).status == 400
    body = packet(net)
    stated = f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert net.servers[0].send(stated + body).status == 201


def test_a_wrong_clock_is_told(net: Network) -> None:
    key = net.keys[0]
    path = f"{net.path}/packets/{to_text(key.id)}"
    signature = sign_request(key, net.campaign.hash, 0, 5)
    fields = problem(net.servers[0].ask("GET", path, quorate_signature=signature))
    assert fields["status"] == 401 and abs(fields["time"] - time.time()) < 60


def test_browsers_of_the_campaigns_origins_alone(net: Network) -> None:
    own, other = "https://survey.example", "https://elsewhere.example"
    for method, path in (("GET", f"{net.path}/hello"), ("POST", f"{net.path}/packets")):
        answer = net.servers[0].ask(method, path, origin=own)
        assert answer.headers["access-control-allow-origin"] == own
        assert answer.headers["vary"] == "Origin"
        answer = net.servers[0].ask(method, path, origin=other)
        assert "access-control-allow-origin" not in answer.headers
    asked = {"access_control_request_method": "POST", "access_control_request_headers": "quorate-signature"}
    answer = net.servers[0].ask("OPTIONS", f"{net.path}/packets", origin=own, **asked)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (204, own)
    assert answer.headers["access-control-allow-methods"] == "GET, POST"
    assert answer.headers["access-control-max-age"] == "600"
    for header in ("access-control-allow-credentials", "access-control-allow-private-network"):
        assert header not in answer.headers
    private = {**asked, "access_control_request_private_network": "true"}
    answer = net.servers[0].ask("OPTIONS", f"{net.path}/packets", origin=own, **private)
    assert (answer.status, answer.headers["access-control-allow-private-network"]) == (204, "true")
    assert (
        "access-control-allow-private-network"
        not in net.servers[0].ask("OPTIONS", f"{net.path}/packets", origin=other, **private).headers
    )
    near = (f"{own}.evil.example", own.upper(), f"{own}:443", f"{own}/", own.replace("https", "http"), own[:-1], "")
    for origin, path in (
        (other, f"{net.path}/packets"),
        (own, "/healthz"),
        ("null", f"{net.path}/packets"),
        *((one, f"{net.path}/packets") for one in near),
    ):
        answer = net.servers[0].ask("OPTIONS", path, origin=origin, **asked)
        assert "access-control-allow-origin" not in answer.headers
        assert problem(answer)["status"] == 403


def test_pages_may_read_why_an_unknown_campaign_is_refused(net: Network) -> None:
    path = f"/campaigns/{to_text(bytes(32))}/hello"
    answer = net.servers[0].ask("GET", path, origin="https://survey.example")
    assert problem(answer)["status"] == 404
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_name_is_never_taken_for_a_hash(tmp_path: Path) -> None:
    """A campaign whose name is the hash of another one would be found in its place."""
    with network(tmp_path) as net, contextlib.closing(net.servers[0].store()) as store:
        rename = "UPDATE campaigns SET name = ?"
        other = "ab" * 32
        store.write(lambda c: c.execute(rename, (other,))).result()
        hello = net.servers[0].ask("GET", f"/campaigns/{to_text(bytes.fromhex(other))}/hello")
        assert hello.status == 404
        with pytest.raises(ServerRefused, match="no campaign"):
            find(store, other)
        assert find(store, net.campaign.hash.hex().upper()).campaign == net.campaign


# ---- what fails at the server --------------------------------------------------------------------------------------


def test_a_full_disk_is_told_and_the_server_goes_on(tmp_path: Path) -> None:
    columns = [{"name": "age", "dtype": "int(64)", "shape": [20_000]}]
    slots = [{"name": "large", "per_client": 1, "columns": columns}]
    with network(tmp_path, slots=slots) as net:
        server, path = net.servers[1], f"{net.path}/packets"
        serving = server.serving
        assert serving is not None
        writing = serving._store._writing
        (pages,) = writing.execute("PRAGMA page_count").fetchone()
        writing.execute(f"PRAGMA max_page_count = {pages + 20}")
        answer = server.ask("POST", path, packet(net, 1, values={"age": [1] * 20_000}))
        assert problem(answer)["status"] == 507
        assert problem(answer)["what"] == "this server's disk is full, and nothing of the request is stored"
        assert answer.headers["retry-after"] == "10"
        writing.execute("PRAGMA max_page_count = 1000000")
        assert server.ask("POST", path, packet(net, 1, values={"age": [1] * 20_000})).status == 201


def test_a_broken_store_is_not_ready_and_tells_no_paths(net: Network, caplog: pytest.LogCaptureFixture) -> None:
    serving = net.servers[0].serving
    assert serving is not None
    serving._store._broken = f"the store {net.servers[0].folder} failed"
    answer = net.servers[0].ask("POST", f"{net.path}/packets", packet(net))
    assert problem(answer)["status"] == 503 and b"server0" not in answer.body
    assert problem(net.servers[0].ask("GET", "/readyz"))["status"] == 503
    assert net.servers[0].ask("GET", "/healthz").status == 200
    assert "failed" in caplog.text
    net.servers[0].stop()
    net.servers[0].start()
    assert net.servers[0].ask("GET", "/readyz").status == 200


def test_errors_of_the_program_are_told_and_logged_without_values(
    net: Network, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("a secret value")

    monkeypatch.setattr("quorate.campaigns._intake.wire.unpack", fails)
    answer = net.servers[0].ask("POST", f"{net.path}/packets", packet(net))
    assert problem(answer)["what"] == "this server has an error"
    assert "RuntimeError" in caplog.text and "secret" not in caplog.text + answer.body.decode()
    monkeypatch.undo()
    assert net.servers[0].ask("POST", f"{net.path}/packets", packet(net)).status == 201


def test_neither_clients_nor_keys_are_logged(
    net: Network, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG, "quorate.serve"), caplog.at_level(logging.DEBUG, "uvicorn"):
        client(net, tmp_path).submit(VALUES)
        client(net, tmp_path).status()
        net.servers[0].ask("POST", f"{net.path}/packets", b"x" * 372)
    out, err = capfd.readouterr()
    told = caplog.text + out + err
    for key in net.keys:
        assert to_text(key.id)[:20] not in told
    assert STORE_KEY.hex() not in told and "BEGIN" not in told


# ---- limits --------------------------------------------------------------------------------------------------------


def test_only_tls_1_3(net: Network) -> None:
    with net.servers[0].connected() as connection:
        assert connection.version() == "TLSv1.3"
        assert not connection.session_reused
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    address = ("127.0.0.1", net.servers[0].port)
    with socket.create_connection(address) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain)


def wait_until_closed(connection: Any) -> None:
    """Waits until the server closes; a server with its usual limits would keep the connection for longer than this."""
    connection.settimeout(8)
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while connection.recv(4096):
            pass


def test_connections_without_a_request_are_closed(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_listening, "_HEAD_S", 0.4)
    with net.servers[0].connected() as silent:
        wait_until_closed(silent)
    with net.servers[0].connected() as slow:
        slow.sendall(b"GET /")
        with pytest.raises(OSError):  # its time does not begin again with each byte
            for _ in range(300):
                slow.sendall(b"a")
                time.sleep(0.03)
    with net.servers[0].connected() as second:
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        second.settimeout(5)
        assert second.recv(4096).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET /he")
        wait_until_closed(second)


def test_handshakes_that_do_not_end_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_listening, "_HANDSHAKE_S", 0.4)
    with network(tmp_path) as net, socket.create_connection(("127.0.0.1", net.servers[0].port)) as plain:
        plain.sendall(b"\x16\x03\x01")
        wait_until_closed(plain)


def test_slow_bodies_are_given_up(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bodies, "_PATIENCE_S", 0.4)
    body = packet(net)
    with net.servers[0].connected() as slow:
        head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(head.encode() + body[:100])
        answer = answer_of(slow)
    assert problem(answer)["status"] == 408
    assert net.servers[0].ask("POST", f"{net.path}/packets", body).status == 201


def test_a_body_of_another_length_than_it_states_is_refused() -> None:
    """Servers of HTTP cut bodies where their stated length ends, so this takes a request without one."""

    def read(*pieces: bytes) -> bytearray:
        sent = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        sent[-1]["more_body"] = False

        async def receive() -> dict[str, Any]:
            return sent.pop(0)

        with _bodies.Memory(100).held("here") as held:
            return asyncio.run(_bodies.read(Request({"type": "http"}, receive), 10, held))

    for pieces in ((b"",), (b"five.",), (b"five.", b"four"), (b"five.", b"six...")):
        with pytest.raises(ServerRefused, match="does not have the 10 bytes that it states: send the whole request"):
            read(*pieces)
    assert read(b"five.", b"five.") == b"five.five."


def wait_until_answering(server: Served) -> None:
    """Waits until the server takes another connection."""
    until, status = time.monotonic() + SOON, 0
    while status != 200:
        assert time.monotonic() < until
        with contextlib.suppress(OSError):
            status = server.ask("GET", "/healthz").status


def test_connections_are_limited_before_tls(tmp_path: Path) -> None:
    limits = Limits(connections=6, connections_per_address=4)
    with network(tmp_path, limits) as net:
        address = ("127.0.0.1", net.servers[0].port)
        held = [socket.create_connection(address) for _ in range(4)]
        time.sleep(0.1)
        with socket.create_connection(address) as fifth:
            wait_until_closed(fifth)
        others = [socket.create_connection(address, source_address=("127.0.0.2", 0)) for _ in range(2)]
        time.sleep(0.1)
        with socket.create_connection(address, source_address=("127.0.0.3", 0)) as seventh:
            wait_until_closed(seventh)
        for one in held + others:
            one.close()
        wait_until_answering(net.servers[0])  # places are free again
        for _ in range(20):
            assert net.servers[0].ask("GET", "/healthz").status == 200


def test_bodies_in_memory_are_limited(tmp_path: Path) -> None:
    with network(tmp_path, Limits(memory_bytes=500)) as net:
        body = packet(net)
        head = (
            f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with net.servers[0].connected() as first:
            first.sendall(head.encode() + body[:200])
            time.sleep(0.2)
            answer = net.servers[0].ask("POST", f"{net.path}/packets", packet(net, client=1))
            assert problem(answer)["status"] == 503 and answer.headers["retry-after"] == "2"
            first.sendall(body[200:])
            assert answer_of(first).status == 201
        assert net.servers[0].ask("POST", f"{net.path}/packets", packet(net, client=1)).status == 201


LARGE = [{"name": "large", "per_client": 1, "columns": [{"name": "age", "dtype": "int(64)", "shape": [20_000]}]}]


def test_slow_large_bodies_leave_room_for_an_honest_one(tmp_path: Path) -> None:
    """Lengths that are stated take no memory; an address has its share of it, also where its bodies are slow."""
    with network(tmp_path, Limits(memory_bytes=400_000), slots=LARGE) as net, contextlib.ExitStack() as stack:
        body = packet(net, 1, values={"age": [1] * 20_000})
        head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        slow = [stack.enter_context(net.servers[1].connected()) for _ in range(8)]
        for one in slow[2:]:
            one.sendall(head + body[:100])
        slow[0].sendall(head + body[:90_000])
        slow[1].sendall(head + body[:90_000])
        refused = select.select(slow, [], [], SOON)[0]
        assert [answer_of(one).status for one in refused] == [503]  # the others wait for the rest of their bodies
        with net.servers[1].connected("127.0.0.2") as honest:
            honest.sendall(head.replace(b"Host", b"Connection: close\r\nHost") + body)
            assert answer_of(honest).status == 201


def test_bodies_arrive_at_a_least_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bodies, "_PATIENCE_S", 0.4)
    monkeypatch.setattr(_bodies, "_BYTES_PER_S", 5000)
    with network(tmp_path, slots=LARGE) as net:
        body = packet(net, 1, values={"age": [1] * 20_000})
        head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with net.servers[1].connected() as slow:
            slow.sendall(head)
            begun = time.monotonic()
            with contextlib.suppress(OSError):
                for byte in body[:60]:
                    slow.sendall(bytes([byte]))
                    time.sleep(0.02)
            assert problem(answer_of(slow))["status"] == 408
            assert time.monotonic() - begun < 15  # at the least rate, the whole body would take more than 30 s
        with net.servers[1].connected() as steady:
            steady.sendall(head.replace(b"Host", b"Connection: close\r\nHost"))
            for start in range(0, len(body), 16_000):
                steady.sendall(body[start : start + 16_000])
                time.sleep(0.1)
            assert answer_of(steady).status == 201


def test_an_address_holds_a_share_of_the_memory_or_one_body() -> None:
    memory = _bodies.Memory(400)
    with memory.held("a") as first, memory.held("a") as second, memory.held("b") as other:
        first.take(90)
        second.take(10)
        with pytest.raises(ServerRefused, match="reads too many requests now"):
            second.take(1)
        first.take(200)  # one body of an address is always allowed
        other.take(100)
        for one in (first, second, other):
            with pytest.raises(ServerRefused, match="reads too many requests now"):
                one.take(1)
    with memory.held("c") as alone:
        alone.take(1000)  # a larger body is taken while no other is held
        with memory.held("d") as late, pytest.raises(ServerRefused):
            late.take(1)
    assert memory._held == 0 and not memory._of


def test_limits_count_networks_of_ipv6() -> None:
    assert holder_of("2001:db8:1:2:3::4") == holder_of("2001:db8:1:2:ffff::1%eth0") == "2001:db8:1:2::/64"
    assert holder_of("2001:db8:1:3::1") != holder_of("2001:db8:1:2::1")
    assert holder_of("::ffff:192.0.2.1") == holder_of("192.0.2.1") == "192.0.2.1" != holder_of("::ffff:192.0.2.2")
    assert holder_of("") == ""


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET " + b"/a" * 40_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /campaigns/\xc3\x28 HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_malformed_requests_leave_the_server_alive(net: Network, request_bytes: bytes) -> None:
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        assert net.servers[0].send(request_bytes).status in (0, 400, 404, 431)
    assert net.servers[0].ask("GET", "/healthz").status == 200


# ---- start and end -------------------------------------------------------------------------------------------------


def test_a_server_ends_soon_whatever_hangs(net: Network) -> None:
    body = packet(net)
    head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    with net.servers[0].connected() as hanging, net.servers[0].connected() as silent:
        hanging.sendall(head.encode() + body[:50])
        time.sleep(0.1)
        assert net.servers[0].stop() < 8  # a server that waits for a connection takes 10 s and more
        wait_until_closed(silent)


def test_what_cannot_be_used_is_named_at_the_start(net: Network) -> None:
    settings = net.servers[0].settings
    with pytest.raises(Exception, match="serves the store"):
        Serving(settings)
    net.servers[0].stop()
    changed = {**vars(settings), "port": net.servers[1].port}
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{net.servers[1].port}"):
        Serving(Settings(**changed))
    changed = {**vars(settings), "certificate": net.servers[1].file}
    with pytest.raises(ConfigError, match=r"the TLS certificate .* cannot be used"):
        Serving(Settings(**changed))
    net.servers[0].start()


def test_certificates_are_for_addresses_and_names_in_ascii() -> None:
    for wrong in ("z\u00fcrich.example", "127.0.0.\u0661"):
        with pytest.raises(ConfigError, match="is no host: write an address, or a name in ASCII"):
            self_signed([wrong])
    pem, _, _ = self_signed(["xn--zrich-kva.example", "127.0.0.1"])
    names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["xn--zrich-kva.example"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_submission_takes_one_connection_to_each_server(
    net: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, made = _https._Pinned.connect, list[int]()

    def counting(connection: _https._Pinned) -> None:
        made.append(connection.port)
        connect(connection)

    monkeypatch.setattr(_https._Pinned, "connect", counting)
    client(net, tmp_path).submit(VALUES)
    assert len(made) == len(set(made)) == len(net.servers)
    server = net.campaign.servers[0]
    with Links() as links:
        for _ in range(2):
            assert links.ask(0, server, "GET", "/healthz", {}).status == 200
        assert len(made) == len(net.servers) + 1
        links._kept[0].sock.shutdown(socket.SHUT_RDWR)  # as if the server had hung up meanwhile
        assert links.ask(0, server, "GET", "/healthz", {}).status == 200
        assert len(made) == len(net.servers) + 2
