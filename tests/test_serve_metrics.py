"""The metrics of servers: counts that move with what happens, and nothing of what clients and requesters gave."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import quorate_client
from campaigning import CLOSES, NOW, VALUES, Servers
from jobbing import wait_until
from jobserving import job_network
from quorate.campaigns import Counts, Settings, close, counts, end
from quorate.errors import ConfigError
from quorate.serve import _run
from quorate_client.keys import to_text
from serving import Network, Served, network

OPEN_METRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def text_of(server: Served) -> str:
    """Returns the metrics of a server, as text."""
    serving = server.serving
    assert serving is not None and serving.metrics_port is not None
    request = urllib.request.Request(f"http://127.0.0.1:{serving.metrics_port}/metrics", headers=OPEN_METRICS)
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
        text: str = answer.read().decode()
    return text


def read(server: Served) -> dict[tuple[str, ...], float]:
    """Returns the samples of a server by their names and the values of their labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text_of(server))
        for sample in family.samples
    }


def with_metrics(server: Served) -> None:
    """Starts a server anew, with metrics on a free port."""
    server.stop()
    server.settings = dataclasses.replace(server.settings, metrics=("127.0.0.1", 0))
    server.start()


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with network(tmp_path) as made:
        with_metrics(made.servers[0])
        yield made


def client(net: Network, folder: Path) -> quorate_client.Client:
    return quorate_client.client(net.campaign, key=net.keys[0], store=folder / "client")


def test_packets_and_answers_are_counted(net: Network, tmp_path: Path) -> None:
    server, route = net.servers[0], "/campaigns/{campaign}/packets"
    before = read(server)
    assert before["quorate_packets_total", "stored"] == before["quorate_submissions",] == 0
    client(net, tmp_path).submit(VALUES)
    client(net, tmp_path).submit(VALUES)  # replaces the first
    assert server.ask("POST", f"{net.path}/packets", b"x" * 10).status == 400
    assert server.ask("POST", f"{net.path}/packets").status == 411
    with contextlib.closing(server.store()) as store:
        close(store, net.campaign.hash)
    with pytest.raises(quorate_client.Refused):
        client(net, tmp_path).submit(VALUES, wait_s=0)
    assert server.ask("BREW", "/coffee").status == 404
    for _ in range(100):  # an answer is counted after it was sent
        now = read(server)
        fates = {name[1]: value for name, value in now.items() if name[0] == "quorate_packets_total" and value}
        if sum(fates.values()) == 5 and now.get(("quorate_http_requests_total", "other", "none", "404")):
            break
        time.sleep(0.1)
    assert fates == {"stored": 2, "malformed": 1, "length": 1, "closed": 1}
    assert (now["quorate_submissions",], now["quorate_campaigns", "open"], now["quorate_campaigns", "closed"]) == (
        1, 0, 1,
    )  # fmt: skip
    assert now["quorate_http_requests_total", "POST", route, "201"] == 2
    assert now["quorate_http_requests_total", "other", "none", "404"] == 1
    assert now["quorate_http_seconds_count", route] == 5


def test_no_client_campaign_or_path_is_told(net: Network, tmp_path: Path) -> None:
    """Whatever arrives, a stranger adds no label, so the number of samples stays."""
    server = net.servers[0]
    client(net, tmp_path).submit(VALUES)
    client(net, tmp_path).status()
    for path in ("/x", "/campaigns/x", "/campaigns/x/hello", "/jobs/x", "/campaigns//packets"):
        server.ask("GET", path)
    samples = len(read(server))
    for i in range(8):
        server.ask(f"M{i}", f"/x{i}")
        server.ask("GET", f"/campaigns/{to_text(bytes([i]) * 32)}/hello", x_y=f"q{i}")
        server.ask("GET", f"/jobs/{i}?{i}={i}")
    text = text_of(server)
    assert len(read(server)) <= samples + 2  # methods that are none, at paths that are none
    for secret in (to_text(net.keys[0].id), net.campaign.name, to_text(net.campaign.hash), net.campaign.hash.hex()):
        assert secret[:12] not in text


def test_times_and_sizes_of_the_process(net: Network) -> None:
    server, now = net.servers[0], read(net.servers[0])
    assert now["quorate_ready",] == 1
    assert 0 < now["process_start_time_seconds",] <= time.time()
    assert now["process_resident_memory_bytes",] > 1 << 20 and now["process_open_fds",] > 3
    assert now["quorate_store_free_bytes",] > 0
    certificate = x509.load_pem_x509_certificate(server.file.read_bytes())
    assert now["quorate_certificate_expiry_timestamp_seconds",] == certificate.not_valid_after_utc.timestamp()
    assert "quorate_job_queue_length" not in {name[0] for name in now}  # it runs no jobs


def test_a_store_that_cannot_be_read_leaves_the_other_metrics(net: Network) -> None:
    serving = net.servers[0].serving
    assert serving is not None
    serving._store._broken = "it failed"
    assert read(net.servers[0])["quorate_ready",] == 0
    serving._store._readers.close()
    assert "quorate_campaigns" not in {name[0] for name in read(net.servers[0])}


def test_jobs_are_counted_by_state_and_program(tmp_path: Path) -> None:
    with job_network(tmp_path, started=()) as net:
        with_metrics(net.servers[0])
        program = net.program[:16]
        assert {name for name in read(net.servers[0]) if name[0] == "quorate_jobs"} == set()
        waiting, done = net.queued(servers=(0,)), net.queued(net.request(rows=6, region="north"), servers=(0,))
        net.runner(0).start(done)
        net.runner(0).finish(done)
        net.jobs(0).runner.on_end(bytes.fromhex(net.program), "done", 42.0)
        now = read(net.servers[0])
        assert (now["quorate_jobs", program, "queued"], now["quorate_jobs", program, "done"]) == (1, 1)
        assert (now["quorate_jobs", program, "failed"], now["quorate_job_queue_length",]) == (0, 1)
        assert now["quorate_job_seconds_sum", program, "done"] == 42 and now["quorate_jobs_halted",] == 0
        net.runner(0).start(waiting)
        net.jobs(0).queue.ended(waiting, "failed", "CheatingDetected", cheated=True)
        assert read(net.servers[0])["quorate_jobs_halted",] == 1
        text = text_of(net.servers[0])
        assert to_text(net.key.id)[:12] not in text and waiting.hex()[:12] not in text and "north" not in text


def test_campaigns_are_counted_by_the_time(tmp_path: Path) -> None:
    servers = Servers.of(tmp_path)
    servers.give(0)
    servers.give(0, 2)
    servers.give(1)
    store = servers.stores[0]
    assert counts(store, NOW) == Counts({"open": 1, "closed": 0, "ended": 0}, 2)
    assert counts(store, CLOSES - 1).campaigns["open"] == counts(store, CLOSES).campaigns["closed"] == 1
    end(store, servers.campaign.hash)
    assert counts(store, NOW) == Counts({"open": 0, "closed": 0, "ended": 1}, 0)
    servers.close()


# ---- where they are served -----------------------------------------------------------------------------------------


def test_strangers_get_no_metrics(net: Network) -> None:
    assert net.servers[0].ask("GET", "/metrics").status == 404
    assert net.servers[1].serving is not None and net.servers[1].serving.metrics_port is None


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "10.1.2.3", "localhost", "metrics.example"])
def test_only_addresses_of_the_loopback(tmp_path: Path, host: str) -> None:
    servers = Servers.of(tmp_path)
    file = servers.settings(0)
    servers.close()
    text = file.read_text()
    file.write_text(f'{text}metrics = "{host}:9100"\n')
    with pytest.raises(ConfigError, match="metrics are served without TLS: write a loopback address, as in"):
        Settings.read(file)
    file.write_text(f'{text}metrics = "[::1]:9100"\n')
    assert Settings.read(file).metrics == ("::1", 9100)
    assert Settings.read(file.with_name("party.toml")).metrics == ("::1", 9100)


def test_a_port_in_use_is_said_and_leaves_nothing_open(net: Network) -> None:
    server = net.servers[1]
    server.stop()
    assert net.servers[0].serving is not None and net.servers[0].serving.metrics_port is not None
    port = net.servers[0].serving.metrics_port
    server.settings = dataclasses.replace(server.settings, metrics=("127.0.0.1", port))
    with pytest.raises(ConfigError, match=f"metrics cannot be served on 127.0.0.1:{port}: Address already in use"):
        _run.Serving(server.settings)
    server.settings = dataclasses.replace(server.settings, metrics=None)
    server.start()  # its own port and store are free


def test_a_missing_library_is_named(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    server = net.servers[0]
    server.stop()
    monkeypatch.setattr(_run.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="needs prometheus-client: pip install prometheus-client"):
        _run.Serving(server.settings)


def test_the_server_ends_in_time_while_metrics_are_read(net: Network) -> None:
    serving = net.servers[0].serving
    assert serving is not None and serving.metrics_port is not None
    with socket.create_connection(("127.0.0.1", serving.metrics_port)) as half:
        half.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert net.servers[0].stop() < 6
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://127.0.0.1:{serving.metrics_port}/metrics", timeout=2)


def test_other_servers_are_up_or_not(tmp_path: Path) -> None:
    with job_network(tmp_path) as net:
        with_metrics(net.servers[0])

        def up() -> list[float]:
            found = read(net.servers[0])
            return [found["quorate_peer_up", str(server)] for server in (1, 2)]

        wait_until(lambda: up() == [1.0, 1.0], 20)
        assert 0 < read(net.servers[0])["quorate_peer_round_trip_seconds", "1"] < 10
        net.servers[2].stop()
        wait_until(lambda: up() == [1.0, 0.0], 20)
        assert read(net.servers[0])["quorate_ready",] == 1.0  # packets do not need the others


def test_silent_connections_keep_nobody_from_the_metrics(net: Network) -> None:
    serving = net.servers[0].serving
    assert serving is not None and serving.metrics_port is not None
    with contextlib.ExitStack() as held:
        silent = [
            held.enter_context(socket.create_connection(("127.0.0.1", serving.metrics_port), 10)) for _ in range(40)
        ]
        assert "quorate_ready" in text_of(net.servers[0])
        assert silent[0].recv(1) == b""  # the oldest ones were closed
        assert len(serving._listener._server._open) <= 17  # type: ignore[union-attr]
