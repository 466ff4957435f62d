"""Servers over HTTPS: clients that give and ask, requests that are refused, limits, and the end."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quorate_client
from campaigning import STORE_KEY, VALUES
from quorate.campaigns import Limits, Settings, close
from quorate.errors import ConfigError
from quorate.serve import _bodies, _listening
from quorate.serve._run import Serving
from quorate_client import Campaign, ClientKey, NotStored, Receipt, Refused, ServiceKey, _https, wire, words
from quorate_client._https import Links
from quorate_client.keys import to_text
from quorate_client.statements import Hello, sign_request
from serving import SOON, Network, answer_of, network


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
def test_paths_and_methods_that_do_not_exist(net: Network, method: str, path: str, status: int) -> None:
    answer = net.servers[0].ask(method, path.replace("HERE", net.path))
    assert problem(answer)["status"] == status


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
    for origin, path in ((other, f"{net.path}/packets"), (own, "/healthz"), ("null", f"{net.path}/packets")):
        answer = net.servers[0].ask("OPTIONS", path, origin=origin, **asked)
        assert "access-control-allow-origin" not in answer.headers
        assert problem(answer)["status"] == 403


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
        assert problem(answer)["what"] == "this server's disk is full, and the packet is not stored"
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


def test_errors_of_the_program_are_told_and_logged_without_values(
    net: Network, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("a secret value")

    monkeypatch.setattr("quorate.campaigns._intake.wire.unpack", fails)
    answer = net.servers[0].ask("POST", f"{net.path}/packets", packet(net))
    assert problem(answer)["what"] == "this server has an error"
    assert "RuntimeError" in caplog.text and "secret" not in caplog.text + answer.body.decode()


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


def closes_within(connection: Any, seconds: float) -> float:
    """Waits until the server closes, and returns how long that took."""
    begun = time.monotonic()
    connection.settimeout(seconds)
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while connection.recv(4096):
            pass
    return time.monotonic() - begun


def test_connections_without_a_request_are_closed(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_listening, "_HEAD_S", 0.4)
    with net.servers[0].connected() as silent:
        assert closes_within(silent, 5) < 2
    with net.servers[0].connected() as slow:
        for byte in b"GET /healthz HTTP/1.1":
            with contextlib.suppress(OSError):
                slow.sendall(bytes([byte]))
            time.sleep(0.03)
        assert closes_within(slow, 5) < 2
    with net.servers[0].connected() as second:
        second.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        second.settimeout(5)
        assert second.recv(4096).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET /he")
        assert closes_within(second, 5) < 2


def test_handshakes_that_do_not_end_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_listening, "_HANDSHAKE_S", 0.4)
    with network(tmp_path) as net, socket.create_connection(("127.0.0.1", net.servers[0].port)) as plain:
        plain.sendall(b"\x16\x03\x01")
        assert closes_within(plain, 5) < 2


def test_slow_bodies_are_given_up(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bodies, "_PATIENCE_S", 0.4)
    body = packet(net)
    with net.servers[0].connected() as slow:
        head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
        slow.sendall(head.encode() + body[:100])
        answer = answer_of(slow)
    assert problem(answer)["status"] == 408


def test_connections_are_limited_before_tls(tmp_path: Path) -> None:
    limits = Limits(connections=6, connections_per_address=4)
    with network(tmp_path, limits) as net:
        address = ("127.0.0.1", net.servers[0].port)
        held = [socket.create_connection(address) for _ in range(4)]
        time.sleep(0.1)
        with socket.create_connection(address) as fifth:
            assert closes_within(fifth, 5) < 2
        others = [socket.create_connection(address, source_address=("127.0.0.2", 0)) for _ in range(2)]
        time.sleep(0.1)
        with socket.create_connection(address, source_address=("127.0.0.3", 0)) as seventh:
            assert closes_within(seventh, 5) < 2
        for one in held + others:
            one.close()
        time.sleep(0.3)  # places are free again
        for _ in range(20):
            assert net.servers[0].ask("GET", "/healthz").status == 200


def test_bodies_in_memory_are_limited(tmp_path: Path) -> None:
    with network(tmp_path, Limits(memory_bytes=500)) as net:
        body = packet(net)
        head = (
            f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with net.servers[0].connected() as first:
            first.sendall(head.encode() + body[:100])
            time.sleep(0.2)
            answer = net.servers[0].ask("POST", f"{net.path}/packets", packet(net, client=1))
            assert problem(answer)["status"] == 503 and answer.headers["retry-after"] == "2"
            first.sendall(body[100:])
            assert answer_of(first).status == 201
        assert net.servers[0].ask("POST", f"{net.path}/packets", packet(net, client=1)).status == 201


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


def test_a_server_ends_within_two_seconds_whatever_hangs(net: Network) -> None:
    body = packet(net)
    head = f"POST {net.path}/packets HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    with net.servers[0].connected() as hanging, net.servers[0].connected() as silent:
        hanging.sendall(head.encode() + body[:50])
        time.sleep(0.1)
        assert net.servers[0].stop() < 2
        assert closes_within(silent, 2) < 1


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


QUORATE = [sys.executable, "-P", "-m", "quorate.cli"]


def command(folder: Path, *arguments: str, fails: str = "") -> str:
    done = subprocess.run([*QUORATE, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == (not fails), done.stderr
    assert fails in done.stderr
    return done.stdout


def configured(folder: Path) -> int:
    """Makes keys and configurations of party 0 by commands, and returns the port of its server."""
    command(folder, "campaign", "key", "--dir", "keys", "--host", "127.0.0.1", "--host", "one.example")
    command(folder, "campaign", "key", "--dir", "keys", fails="keys are not overwritten")
    for name in ("service.key", "store.key", "tls.key"):
        assert (folder / "keys" / name).stat().st_mode & 0o777 == 0o600
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    parties = "".join(f'[[party]]\naddress = "127.0.0.1:{9000 + i}"\ncertificate = "{i}.crt"\n' for i in range(3))
    (folder / "party.toml").write_text(f'me = 0\nprotocol = "rss"\nkey = "0.key"\n{parties}')
    files = {"store": "store.db"} | {f"{n}_key": f"keys/{n}.key" for n in ("store", "service")}
    files |= {"certificate": "keys/tls.crt", "key": "keys/tls.key", "listen": f"127.0.0.1:{port}"}
    (folder / "serve.toml").write_text("".join(f'{name} = "{value}"\n' for name, value in files.items()))
    return port


def campaign_in_toml(folder: Path, port: int) -> str:
    """Returns a campaign for a new client whose key is in me.key. Servers 1 and 2 are keys alone."""
    person = command(folder, "campaign", "client-key", "me.key").strip()
    own = json.loads((folder / "keys" / "service.pub").read_text())
    others = [ServiceKey.generate() for _ in range(2)]
    keys = [{"certificate": to_text(bytes([i]) * 32), "seal": to_text(o.seal), "sign": to_text(o.sign)} for i, o in
            enumerate(others)]  # fmt: skip
    servers = "".join(
        f'[[servers]]\nurl = "https://127.0.0.1:{port + i}"\n' + "".join(f'{n} = "{v}"\n' for n, v in key.items())
        for i, key in enumerate([own, *keys])
    )
    return (
        f'name = "ages"\nprotocol = "rss"\nat_least = 1\ncloses = "2099-01-01T00:00:00Z"\nclients = ["{person}"]\n'
        f'{servers}[[slots]]\nname = "person"\n[[slots.columns]]\nname = "age"\ndtype = "uint(7)"\n'
    )


def test_an_operator_from_keys_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "ages.toml").write_text(campaign_in_toml(tmp_path, configured(tmp_path)))
    create = ("campaign", "create", "ages.toml", "--out", "ages.json")
    command(tmp_path, *create, fails="does not name a program")
    digest = command(tmp_path, *create, "--any-program").strip()
    command(tmp_path, *create, "--any-program", fails="is not changed once it was handed out")
    approve = ("campaign", "approve", "ages.json", "--config", "party.toml")
    agreed_to = command(tmp_path, *approve)
    assert digest in agreed_to and "program: ANY" in agreed_to
    command(tmp_path, *approve, "--invitations", "secrets.csv", fails="lists its clients: leave --invitations out")
    with running(tmp_path) as server:
        commands_beside_a_server(tmp_path)
        command(tmp_path, *approve, fails="a hash is approved once")
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(10) == 0
        assert time.monotonic() - begun < 2
        assert server.stderr is not None and server.stderr.read().count("\n") == 1  # "has ended", and nothing else


@contextlib.contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    line = [*QUORATE, "serve", "--config", "party.toml"]
    server = subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        assert "serves clients at" in server.stderr.readline()
        yield server
    finally:
        server.kill()
        server.wait()


def commands_beside_a_server(folder: Path) -> None:
    campaign = Campaign.from_json((folder / "ages.json").read_bytes())
    key = ClientKey.load(folder / "me.key")
    at = f"/campaigns/{to_text(campaign.hash)}/packets"

    def give(number: int) -> int:
        header = wire.Header(campaign.hash, key.id, 0, 0, 0, number, 0, 1, 0, (1, 2))
        body = wire.make_packets(campaign, key, header, {1: bytes(32), 2: bytes(1)})[0]
        return Links().ask(0, campaign.servers[0], "POST", at, {}, body).status

    deadline = time.monotonic() + SOON
    while Links().ask(0, campaign.servers[0], "GET", "/readyz", {}).status != 200:
        assert time.monotonic() < deadline
    assert give(1) == 201
    with pytest.raises(NotStored):
        quorate_client.client(campaign, key=folder / "me.key").submit({"age": 4}, wait_s=0)
    assert "ages  open" in command(folder, "campaign", "list", "--config", "serve.toml")
    exported = json.loads(command(folder, "campaign", "export", "ages", "--config", "party.toml"))
    assert [p["number"] for p in exported["packets"]] == [1] and "sealed" not in exported["packets"][0]
    assert "ages  closed" in command(folder, "campaign", "close", "ages", "--config", "party.toml")
    assert give(2) == 410
    assert "ages  ended" in command(folder, "campaign", "end", "ages", "--config", "party.toml")


def test_invitations_are_written_for_their_operator(tmp_path: Path) -> None:
    text = campaign_in_toml(tmp_path, configured(tmp_path))
    listed = next(line for line in text.splitlines() if line.startswith("clients"))
    (tmp_path / "ages.toml").write_text(text.replace(listed, "invitations = 3"))
    command(tmp_path, "campaign", "create", "ages.toml", "--out", "ages.json", "--any-program")
    approve = ("campaign", "approve", "ages.json", "--config", "party.toml", "--invitations", "secrets.csv")
    command(tmp_path, *approve)
    lines = (tmp_path / "secrets.csv").read_text().splitlines()
    assert lines[0] == "place,secret" and [line.split(",")[0] for line in lines[1:]] == ["0", "1", "2"]
    assert (tmp_path / "secrets.csv").stat().st_mode & 0o777 == 0o600
    command(tmp_path, *approve, fails="exists")
    (tmp_path / "serve.toml").write_text((tmp_path / "serve.toml").read_text().replace("keys/tls.crt", "other.crt"))
    from quorate.serve._certificates import self_signed

    (tmp_path / "other.crt").write_bytes(self_signed()[0])
    command(tmp_path, *approve[:-2], fails="does not have this server's certificate at place 0")


def test_commands_name_what_is_wrong(tmp_path: Path) -> None:
    command(tmp_path, "serve", "--config", "none.toml", fails="there is no file none.toml")
    command(tmp_path, "campaign", "list", "--config", "none.toml", fails="there is no file none.toml")
    command(tmp_path, "campaign", "create", "none.toml", "--out", "x", fails="none.toml cannot be read")
    blocked = "import sys; sys.modules['fastapi'] = None\nfrom quorate.cli import main\n"
    program = f"{blocked}sys.exit(main(['serve', '--config', 'x']))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 2 and "needs fastapi, from the extra `serve`: pip install" in done.stderr


def test_importing_quorate_needs_no_extra() -> None:
    program = (
        "import sys\nfor name in ('cryptography', 'fastapi', 'uvicorn', 'quorate_client'): sys.modules[name] = None\n"
        "import quorate, quorate.cli"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True, timeout=60)


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
