"""The health of other servers: dead, hanging, lying and differing ones; strangers; and jobs that wait for them."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigning import NOW, Clock
from jobbing import wait_until
from jobserving import Network, job_network
from peering import ACCEPTS, Ring
from quorate._quorate import __version__
from quorate.campaigns import Refused
from quorate.jobs import PeerState, waits_for
from quorate.serve import _peers
from quorate.serve._peers import Facts, Peers
from quorate_client import ClientError, OtherCampaign, ServiceKey, Unreachable
from quorate_client._https import Answer
from quorate_client.keys import to_text
from test_campaign_serve import problem


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path)


def fails(error: ClientError) -> Callable[[str], Answer]:
    def answer(_: str) -> Answer:
        raise error

    return answer


# ---- states --------------------------------------------------------------------------------------------------------


def test_servers_see_each_other(ring: Ring) -> None:
    assert [one.state for one in ring.all[0].peers()] == ["unknown"] * 2
    assert [ring.told(0, 1), ring.told(0, 2), ring.told(2, 0)] == [("up", "")] * 3
    assert [one.server for one in ring.all[1].peers()] == [0, 2]
    assert ring.all[0].peers()[0].round_trip_s == 0.0


def test_a_dead_server_is_seen_within_the_time_out(ring: Ring) -> None:
    ring.told(0, 1)
    ring.behind[1] = fails(Unreachable(1, "Server 1 (https://x) cannot be reached: refused."))
    ring.clock.now += 3
    assert ring.told(0, 1)[0] == "up"  # one lost question is no death
    assert ring.told(0, 1) == ("unreachable", "Server 1 (https://x) cannot be reached: refused.")
    assert ring.all[0].peers()[0].since == NOW  # of its last answer
    own = ring.all[0]
    peer = own._peers[1]
    assert 2 * (own._interval_s + ring.timeout_s / 4) <= 0.7 * ring.timeout_s
    pauses = []
    for peer.failures in range(1, 9):
        pauses.append(own._pause(peer))
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    del ring.behind[1]
    assert ring.told(0, 1) == ("up", "") and own._pause(peer) == 1.0


def test_a_server_that_never_ends_its_answer_is_seen_and_cut(ring: Ring) -> None:
    """It holds its own thread; the state is that of the clock."""
    ring.told(0, 1)
    hangs, asked = threading.Event(), threading.Event()

    def answer(_: str) -> Answer:
        asked.set()
        hangs.wait(20)
        raise Unreachable(1, "cut")

    ring.behind[1] = answer
    thread = threading.Thread(target=ring.all[0].ask, args=(1,))
    thread.start()
    assert asked.wait(20)
    line: Any = ring.all[0]._peers[1].links
    for ring.steady[0], state, cuts in ((5.0, "up", 0), (6.0, "up", 1), (10.1, "unreachable", 2)):
        assert ring.seen(0, 1)[0] == state and line.cuts == cuts
    assert ring.seen(0, 1)[1].startswith("Server 1 takes calls and does not answer in time: see its log.")
    hangs.set()
    thread.join(20)


def test_a_network_of_its_own_that_is_down_is_named(ring: Ring) -> None:
    for server in (1, 2):
        ring.behind[server] = fails(Unreachable(server, f"Server {server} cannot be reached."))
    ring.told(0, 1)
    ring.told(0, 1)
    assert ring.seen(0, 1)[1] == "Server 1 cannot be reached."
    ring.told(0, 2)
    ring.told(0, 2)
    for server in (1, 2):
        alone = "No other server answers: look at this server's own network first."
        assert ring.seen(0, server) == ("unreachable", f"Server {server} cannot be reached. {alone}")


def test_a_server_that_differs_is_told_apart(ring: Ring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ring.listed(tmp_path / "other.toml", certificate=to_text(b"\7" * 32))
    ring.all[1] = ring.made(1, other)
    state, detail = ring.told(0, 1)
    lists = f"{other.hash.hex()[:16]}, and this server {ring.deployment.hash.hex()[:16]}"
    assert (state, detail) == (
        "differs",
        f"Server 1 has the list of servers {lists}: compare servers.toml with its operator.",
    )
    assert ring.told(1, 0)[0] == "differs"  # both see it
    ring.all[1] = ring.made(1)
    facts = Facts(__version__, "rss", ring.deployment.hash.hex(), int(NOW * 1000), True, "accepts")
    for change, wanted in (
        ({"version": "0.0.1"}, f"Server 1 runs release 0.0.1, and this server {__version__}: install one at both."),
        ({"protocol": "pika"}, "Server 1 runs pika, and this server rss."),
        ({"time_ms": int(NOW - 61) * 1000}, "The clock of server 1 is 61 s behind this server's: set the one that is"),
    ):
        body = Facts(**{**vars(facts), **change}).to_json()
        ring.behind[1] = lambda _, body=body: Answer(200, body, None)  # type: ignore[misc]
        state, detail = ring.told(0, 1)
        assert state == "differs" and detail.startswith(wanted)
    ring.behind[1] = lambda _: Answer(200, facts.to_json(), None)
    assert ring.told(0, 1) == ("up", "")


def test_a_clock_far_off_is_told_apart_and_whose_it_is(ring: Ring) -> None:
    late = Clock()
    late.now = NOW + 4000
    ring.all[1] = ring.made(1, clock=late)
    assert ring.told(0, 2) == ("up", "")
    wrong = "The clock of server 1 is 4000 s ahead of this server's: set the one that is wrong."
    assert ring.told(0, 1) == ("differs", wrong)
    ring.told(1, 0)
    ring.told(1, 2)
    text = "The clock of server 2 is 4000 s behind this server's: those of all others differ: set this server's."
    assert ring.seen(1, 2) == ("differs", text)


def test_a_server_that_is_up_and_takes_no_jobs_says_so(ring: Ring) -> None:
    for state, wanted in (
        ((False, "accepts"), "Server 1 cannot use its store: see its log."),
        ((True, "halted"), "Server 1 has detected cheating, and runs no jobs until its operator says so."),
        ((True, "ends"), "Server 1 is about to end."),
    ):
        ring.all[1] = ring.made(1, state=lambda state=state: state)
        assert ring.told(0, 1) == ("up", wanted)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 4000,
        b'{"version":"1","protocol":"rss","deployment":"x","time_ms":1,"ready":1,"jobs":"accepts"}',
        b'{"version":"1","protocol":"rss","deployment":"x","time_ms":1,"ready":true,"jobs":"maybe"}',
        b'{"version":"1","protocol":"rss","deployment":"x","time_ms":-1,"ready":true,"jobs":"accepts"}',
        b'{"version":1,"protocol":"rss","deployment":"x","time_ms":1,"ready":true,"jobs":"accepts"}',
        b'{"version":"1","protocol":"rss","deployment":"x","time_ms":1e999,"ready":true,"jobs":"accepts"}',
    ],
)
def test_an_answer_that_is_none_differs(ring: Ring, body: bytes) -> None:
    ring.behind[1] = lambda _: Answer(200, body, None)
    assert ring.told(0, 1)[0] == "differs" and "answers with what is no state" in ring.seen(0, 1)[1]


def test_what_a_server_says_begins_no_line(ring: Ring) -> None:
    facts = Facts("1\n2026 ERROR " + "x" * 500, "rss", ring.deployment.hash.hex(), int(NOW * 1000), True, "accepts")
    ring.behind[1] = lambda _: Answer(200, facts.to_json(), None)
    detail = ring.told(0, 1)[1]
    assert "\n" not in detail and len(detail) < 200


def test_other_answers(ring: Ring) -> None:
    ring.behind[1] = lambda _: Answer(404, b"", None)
    assert ring.told(0, 1) == (
        "differs",
        "Server 1 (https://server1.example:9443) runs no jobs, or an older release: ask its operator.",
    )
    ring.behind[1] = lambda _: Answer(401, b'{"time":1e9}', None)
    assert "does not take this server's key: compare servers.toml" in ring.told(0, 1)[1]
    ring.behind[1] = fails(OtherCampaign(1, "Server 1 has another certificate."))
    assert ring.told(0, 1) == ("differs", "Server 1 has another certificate.")
    ring.behind[1] = lambda _: Answer(503, b"", None)
    ring.told(0, 1)
    assert ring.told(0, 1) == ("unreachable", "Server 1 (https://server1.example:9443) answers 503: see its log.")


# ---- the log -------------------------------------------------------------------------------------------------------


def test_changes_are_logged_once_and_never_flood(ring: Ring, caplog: pytest.LogCaptureFixture) -> None:
    down, own = fails(Unreachable(1, "Server 1 cannot be reached.")), ring.all[0]
    with caplog.at_level("INFO", "quorate.serve"):
        for _ in range(5):
            ring.told(0, 1)
        assert [one.getMessage() for one in caplog.records] == ["server 1 is up"]
        assert ring.changes == 1
        ring.all[0].peers()
        for _ in range(100):  # it is lost and back again within a second, a hundred times
            ring.behind[1] = down
            ring.told(0, 1)
            own.ask(1)
            own.peers()  # who reads a state first does not keep others from hearing of it
            ring.seen(0, 1)
            del ring.behind[1]
            ring.told(0, 1)
        assert len(caplog.records) == 1 and ring.changes == 201
        ring.behind[1] = down
        ring.told(0, 1)
        ring.told(0, 1)
        ring.steady[0] += 10
        own.settle()
        own.settle()
    (_, last) = caplog.records
    assert (
        last.getMessage() == "server 1 is unreachable: Server 1 cannot be reached." and last.levelno == logging.WARNING
    )
    assert last.quorate_fields == {"server": 1, "state": "unreachable"}  # type: ignore[attr-defined]


def test_a_server_that_halts_is_logged_though_it_is_up(ring: Ring, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "quorate.serve"):
        for state in (ACCEPTS, (True, "ends"), (True, "halted"), (True, "halted"), (False, "accepts"), ACCEPTS):
            ring.steady[0] += 20
            ring.all[1] = ring.made(1, state=lambda state=state: state)
            ring.told(0, 1)
    halted = "Server 1 has detected cheating, and runs no jobs until its operator says so."
    assert [one.getMessage() for one in caplog.records if "server 1 is" in one.getMessage()] == [
        "server 1 is up",
        f"server 1 is up: {halted}",
        "server 1 is up: Server 1 cannot use its store: see its log.",
        "server 1 is up",
    ]


# ---- strangers -----------------------------------------------------------------------------------------------------


def header(key: ServiceKey, caller: int, called: ServiceKey, at: float = NOW) -> str:
    message = _peers._signed(key.sign, called.sign, int(at))
    return f"{caller}.{int(at)}.{to_text(key.sign_message(message))}"


def test_only_servers_of_the_list_are_answered(ring: Ring, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, own = ring.keys, ring.all[1]
    good = header(keys[0], 0, keys[1])
    assert json.loads(own.answer(good))["version"] == __version__
    stranger = ServiceKey.generate()
    for bad in (
        header(stranger, 0, keys[1]),
        header(keys[2], 0, keys[1]),
        header(keys[0], 2, keys[1]),
        header(keys[0], 0, keys[2]),  # for another server, which passes it on
        header(keys[1], 1, keys[1]),
        header(keys[0], 7, keys[1]),
        good.replace(f".{int(NOW)}.", f".{int(NOW) + 1}."),
    ):
        with pytest.raises(Refused, match="no server of this list signed the call"):
            own.answer(bad)
    for late in (NOW - 301, NOW + 301):
        with pytest.raises(Refused, match="set the clock"):
            own.answer(header(keys[0], 0, keys[1], late))
    monkeypatch.setattr(_peers, "verify", lambda *_: pytest.fail("arithmetic for a stranger"))
    for cheap in ("", "x", "0", "0.1", f"{'9' * 5000}.1.x", f"0.{'9' * 5000}.x", good + "A" * 100, "0.1.!", "٣.1.AA"):
        with pytest.raises(Refused):
            own.answer(cheap)


def test_a_call_wakes_the_asking_of_a_lost_server_at_most_once_in_an_interval(ring: Ring) -> None:
    ring.behind[0] = fails(Unreachable(0, "Server 0 cannot be reached."))
    peer = ring.all[1]._peers[0]
    ring.told(1, 0)
    ring.told(1, 0)
    call = header(ring.keys[0], 0, ring.keys[1])
    ring.all[1].answer(call)
    assert not peer.woken.is_set()  # it was asked just now
    ring.steady[0] += 1.1
    ring.all[1].answer(call)
    assert peer.woken.is_set()


def test_reasons_to_wait_name_servers_and_times_alone() -> None:
    away = PeerState(2, "unreachable", 86_400, "a detail")
    assert waits_for([PeerState(1, "differs", 0, "x"), away]) == "server 2 does not answer since 1970-01-02T00:00:00Z"
    assert waits_for([PeerState(1, "differs", 0, "x"), PeerState(2, "unknown", 0, "")]) == ""


# ---- over HTTPS ----------------------------------------------------------------------------------------------------


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with job_network(tmp_path) as made:
        yield made


def peers_of(net: Network, server: int) -> Peers:
    serving = net.servers[server].serving
    assert serving is not None and serving._peers is not None
    return serving._peers


def states(net: Network, server: int) -> list[str]:
    serving = net.servers[server].serving
    assert serving is not None
    return [one.state for one in serving.peers()]


def test_a_job_says_which_server_it_waits_for(net: Network) -> None:
    wait_until(lambda: all(states(net, server) == ["up", "up"] for server in range(3)), 20)
    kept = [peer.links._kept for peer in peers_of(net, 0)._peers.values()]
    assert all(len(one) <= 1 for one in kept)
    net.servers[2].stop()
    begun = time.monotonic()
    wait_until(lambda: states(net, 0) == ["up", "unreachable"], 20)
    assert time.monotonic() - begun < 10.0
    job = net.queued(servers=(0, 1))
    assert net.state(0, job).waits.startswith("server 2 does not answer since 20")
    calls: list[object] = []
    turns = net.jobs(0)._turns
    turns._ask = lambda *given: calls.append(given) or 200
    assert turns.look() == 2.0 and calls == []  # nothing is asked meanwhile
    request = net.jobs(0).queue.job(job).asked
    answer = json.loads(net.send(0, request).body)
    assert answer["waits"] == ""  # another server may have sent that
    net.servers[2].start()
    wait_until(lambda: states(net, 0) == ["up", "up"], 20)
    assert net.state(0, job).waits == ""


def test_an_operator_asks_all_others_once(net: Network) -> None:
    net.servers[2].stop()
    peers = Peers(net.deployment, net.servers[0].key, 0, 5.0, lambda: ACCEPTS, lambda: None)
    begun = time.monotonic()
    assert [one.state for one in peers.look()] == ["up", "unreachable"]
    assert time.monotonic() - begun < 10


def test_strangers_learn_nothing_at_the_path(net: Network) -> None:
    for text in ("", "0.1.x", header(ServiceKey.generate(), 0, net.servers[1].key, time.time())):
        answer = net.servers[1].ask("GET", "/peer", quorate_signature=text)
        fields = problem(answer)
        assert fields["status"] == 401 and __version__ not in json.dumps(fields)
    own = header(net.servers[0].key, 0, net.servers[1].key, time.time())
    assert json.loads(net.servers[1].ask("GET", "/peer", quorate_signature=own).body)["version"] == __version__
    assert net.servers[1].ask("GET", "/peer?x", quorate_signature=own).status == 400


@contextlib.contextmanager
def listening(port: int, file: Path | None, sends: bytes) -> Iterator[None]:
    """A server that accepts calls and answers byte after byte without an end; without a certificate, nothing at all."""
    over, held = threading.Event(), list[socket.socket]()

    def drips(plain: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with contextlib.suppress(OSError):
            if file is None:
                over.wait(30)
                return
            context.load_cert_chain(file, file)
            secured = context.wrap_socket(plain, server_side=True)
            held.append(secured)
            secured.recv(1 << 16)
            secured.sendall(sends)
            while not over.wait(0.05):
                secured.sendall(b"x")

    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(0.1)

        def accepts() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    plain, _ = server.accept()
                    plain.settimeout(None)
                    held.append(plain)
                    threading.Thread(target=drips, args=(plain,), daemon=True).start()

        thread = threading.Thread(target=accepts)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for one in held:
                one.close()


@pytest.mark.parametrize(
    "sends", [None, b"", b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n"]
)
def test_a_server_that_accepts_and_never_answers(
    tmp_path: Path, sends: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    with job_network(tmp_path, started=()) as net:
        file = net.servers[1].file if sends is not None else None
        peers = Peers(net.deployment, net.servers[0].key, 0, 1.0, lambda: ACCEPTS, lambda: None)
        with listening(net.servers[1].port, file, sends or b""):
            begun = time.monotonic()
            peers.begin()
            wait_until(lambda: peers.peers()[0].state == "unreachable", 20)
            assert time.monotonic() - begun < 2.0
            peer = peers._peers[1]
            wait_until(lambda: peer.failures >= 2, 20)  # its thread is not held up for ever
            assert "differs" not in caplog.text
        peers.end()


def test_another_certificate_is_no_server(net: Network, tmp_path: Path) -> None:
    import clients

    (tmp_path / "other").mkdir()
    file, _ = clients.certificate(tmp_path / "other")
    net.servers[1].stop()
    peers = Peers(net.deployment, net.servers[0].key, 0, 2.0, lambda: ACCEPTS, lambda: None)
    with listening(net.servers[1].port, file, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
        peers.ask(1)
    state = peers.peers()[0]
    assert state.state == "differs" and "has another certificate than the list of servers states" in state.detail
