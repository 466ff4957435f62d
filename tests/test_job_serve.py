"""Requests for jobs over HTTPS: replays, other keys, lies of server 0, and limits."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobbing import listed_servers, wait_until
from jobserving import Network, job_network
from quorate.campaigns import Settings
from quorate.errors import ConfigError
from quorate.jobs import _queue, _service, check_deployment, revoke
from quorate.jobs._turns import Turns, call
from quorate.serve import _bodies
from quorate_client import ClientKey, JobState
from quorate_client.job import canonical
from quorate_client.keys import to_text
from serving import network
from test_campaign_serve import problem


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with job_network(tmp_path) as made:
        yield made


@pytest.fixture
def peers(tmp_path: Path) -> Iterator[Network]:
    """Servers 1 and 2; a test has the key of server 0."""
    with job_network(tmp_path, started=(1, 2)) as made:
        yield made


def unchanged(net: Network, answer: Any, server: int, before: list[Any], status: int) -> dict[str, Any]:
    """Returns the problem of an answer, after a check that the server's jobs are as before."""
    assert net.rows(server) == before
    fields = problem(answer)
    assert fields["status"] == status, fields
    return fields


# ---- requesters ----------------------------------------------------------------------------------------------------


def test_a_request_that_is_sent_twice_is_one_job(net: Network) -> None:
    request = net.request()
    first, second = net.send(1, request), net.send(1, request)
    assert (first.status, second.status) == (201, 200)
    again = net.request()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: net.send(1, again).status, range(8)))
    assert sorted(answers) == [200] * 7 + [201]
    assert len(net.rows(1)[0]) == 2


def test_states_are_signed_and_shown_to_the_requester_alone(net: Network) -> None:
    job = net.queued()
    assert net.state(1, job).state == "queued"
    path = f"/jobs/{to_text(job)}"
    before = net.rows(1)
    unknown = problem(net.call(1, "GET", f"/jobs/{to_text(bytes(32))}"))
    for method, where in (("GET", path), ("POST", f"{path}/cancel")):
        for key in (net.other, net.servers[0].key, net.servers[1].key, ClientKey.generate()):
            assert unchanged(net, net.call(1, method, where, key), 1, before, 404) == unknown
    malformed = net.servers[1].ask("GET", path)
    fields, others = unchanged(net, malformed, 1, before, 401), problem(net.servers[1].ask("GET", f"/jobs/{'A' * 43}"))
    assert {**fields, "time": 0} == {**others, "time": 0}


def test_a_call_passes_nowhere_else(net: Network) -> None:
    job, other = net.queued(), net.queued()
    path, before = f"/jobs/{to_text(job)}", net.rows(1)
    from quorate_client.job import sign_call

    header = sign_call(net.key, net.deployment.hash, 1, "GET", path, int(time.time()))

    def replayed(server: int, method: str, where: str) -> Any:
        return net.servers[server].ask(method, where, b"" if method == "POST" else None, quorate_signature=header)

    assert replayed(1, "GET", path).status == 200
    assert unchanged(net, replayed(1, "GET", f"/jobs/{to_text(other)}"), 1, before, 404)
    assert unchanged(net, replayed(1, "POST", f"{path}/cancel"), 1, before, 404)
    assert problem(replayed(2, "GET", path))["status"] == 404
    assert unchanged(net, replayed(1, "GET", f"{path}?x=1"), 1, before, 400)["what"] == "the request has a query"
    fields = unchanged(net, net.call(1, "GET", path, at=time.time() - 301), 1, before, 401)
    assert abs(fields["time"] - time.time()) < 60 and fields["do"] == "sign the call again"


def test_only_the_answer_to_the_requesters_call_has_the_result(net: Network) -> None:
    """Server 1 has the request and its signature, which are the same for all servers, and sends them to server 2."""
    request = net.request()
    job = net.queued(request)
    for server in range(3):
        net.runner(server).start(job)
        net.runner(server).finish(job, canonical({"mine": [server]}))
    assert net.state(2, job).values == {"mine": [2]}
    assert JobState.from_json(net.send(2, request).body).result is None
    cancelled = net.call(2, "POST", f"/jobs/{to_text(job)}/cancel")
    assert JobState.from_json(cancelled.body).state == "done" and JobState.from_json(cancelled.body).result is None
    listed = net.call(2, "GET", f"/requesters/{to_text(net.key.id)}/jobs")
    assert [one["state"] for one in json.loads(listed.body)["jobs"]] == ["done"] and b"mine" not in listed.body


def test_lists_are_for_their_key_alone(net: Network) -> None:
    net.queued()
    path = f"/requesters/{to_text(net.key.id)}/jobs"
    assert len(json.loads(net.call(1, "GET", path).body)["jobs"]) == 1
    answer = problem(net.call(1, "GET", path, net.other))
    assert (answer["status"], answer["do"]) == (401, "sign the call with this key")
    assert json.loads(net.call(1, "GET", f"/requesters/{to_text(net.other.id)}/jobs", net.other).body) == {"jobs": []}
    assert problem(net.call(1, "GET", "/requesters/!/jobs"))["status"] == 400


def test_an_altered_request_is_refused(net: Network) -> None:
    request, before = net.request(), net.rows(1)
    altered = dataclasses.replace(request, parameters={"rows": 6, "region": "north"})
    fields = unchanged(net, net.send(1, request, body=altered.json), 1, before, 401)
    assert str(fields["detail"]) == "the request's signature does not fit: sign the request with the requester's key"
    unchanged(net, net.send(1, request, net.other), 1, before, 401)
    malformed = unchanged(net, net.send(1, request, body=b"{" + request.json[1:] + b" "), 1, before, 400)
    assert malformed["do"] == "sign a new request"


def test_requests_that_differ_at_two_servers_start_nowhere(net: Network) -> None:
    """A requester signs unlike requests for two servers: they are two jobs, and each lacks a server."""
    one, two = net.request(), net.request(rows=6, region="south")
    for server, request in ((0, one), (1, two), (2, one)):
        assert net.send(server, request).status == 201
    net.jobs(0)._turns.look()
    assert [net.runner(server).started for server in range(3)] == [[], [], []]
    assert all(net.rows(server)[1] == [] for server in range(3))


def test_the_refusals_of_an_approval_are_told(net: Network) -> None:
    before = net.rows(1)
    fields = unchanged(net, net.send(1, net.request(rows=1001, region="north")), 1, before, 409)
    assert fields["what"] == "rows is 1001, and at most 1000 are approved here"
    stranger = ClientKey.generate()
    unchanged(net, net.send(1, net.request(stranger), stranger), 1, before, 403)


def test_a_full_queue_of_one_key_leaves_room_for_another(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_queue, "MOST_OF_ONE", 2)
    for _ in range(2):
        net.queued(servers=(1,))
    answer = net.send(1, net.request())
    assert problem(answer)["status"] == 429 and answer.headers["retry-after"] == "60"
    assert net.send(1, net.request(net.other), net.other).status == 201


def test_a_job_is_cancelled_once(net: Network) -> None:
    job = net.queued()
    path = f"/jobs/{to_text(job)}/cancel"
    assert [JobState.from_json(net.call(1, "POST", path).body).state for _ in range(2)] == ["cancelled"] * 2
    net.jobs(0)._turns.look()
    assert (net.state(0, job).state, net.state(0, job).why) == ("failed", "Elsewhere")
    net.runner(2).start(job)
    assert JobState.from_json(net.call(2, "POST", path).body).state == "running"  # its process is told to end
    assert net.jobs(2).queue.job(job).cancel == 1


# ---- lies of server 0, and calls of others -------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["ask", "start"])
def test_only_server_0_gives_turns(peers: Network, what: str) -> None:
    job = peers.queued(servers=(1, 2))
    before = peers.rows(1)
    for key in (peers.key, peers.servers[1].key, peers.servers[2].key, ClientKey.generate()):
        answer = peers.call(1, "POST", f"/jobs/{to_text(job)}/{what}", key)
        fields = unchanged(peers, answer, 1, before, 404)
        assert fields["what"] == "this server does not have this job"
    elsewhere = peers.call(1, "POST", f"/jobs/{to_text(job)}/{what}", peers.servers[0].key, to=2)
    unchanged(peers, elsewhere, 1, before, 404)
    late = peers.call(1, "POST", f"/jobs/{to_text(job)}/{what}", peers.servers[0].key, at=time.time() - 301)
    unchanged(peers, late, 1, before, 401)


def test_server_0_takes_no_turn_from_anybody(net: Network) -> None:
    job = net.queued()
    assert problem(net.first(0, "start", job))["status"] == 404


def test_a_start_is_counted_once_however_often_it_is_sent(peers: Network) -> None:
    job = peers.queued(servers=(1, 2))
    assert peers.first(1, "ask", job).status == 200 and peers.rows(1)[1] == []  # a question counts nothing
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: peers.first(1, "start", job).status, range(24)))
    assert answers == [200] * 24
    assert peers.runner(1).started == [job] and len(peers.rows(1)[1]) == 1
    peers.runner(1).finish(job)
    fields = problem(peers.first(1, "start", job))
    assert fields["status"] == 409 and fields["what"] == "the job has ended here: done"
    assert len(peers.rows(1)[1]) == 1


def test_what_server_0_cannot_start(peers: Network) -> None:
    unknown = peers.first(1, "start", bytes(32))
    assert problem(unknown)["status"] == 404
    cancelled, expires, revoked = (peers.queued(servers=(1,)) for _ in range(3))
    peers.jobs(1).queue.cancel(cancelled)
    assert problem(peers.first(1, "start", cancelled))["what"] == "the job has ended here: cancelled"
    peers.jobs(1).queue._clock = lambda: time.time() + 3700
    assert problem(peers.first(1, "start", expires))["what"] == "the request has expired"
    assert peers.jobs(1).queue.job(expires).state == "expired"
    peers.jobs(1).queue._clock = time.time
    with contextlib.closing(peers.servers[1].store()) as store:
        revoke(store, bytes.fromhex(peers.program))
    assert problem(peers.first(1, "start", revoked))["what"] == "the job has ended here: refused (Revoked)"
    assert peers.runner(1).started == [] and peers.rows(1)[1] == []


def test_server_0_may_lie_about_the_order_and_no_two_jobs_meet(peers: Network) -> None:
    """It starts A at one server and B at the other: each counts its own use, and the names of sessions differ."""
    a, b = peers.queued(servers=(1, 2)), peers.queued(servers=(1, 2))
    assert peers.first(1, "start", b).status == 200  # without a question, and the newer one first
    assert peers.first(2, "start", a).status == 200
    assert (peers.runner(1).started, peers.runner(2).started) == ([b], [a])
    assert problem(peers.first(1, "start", a))["status"] == 503  # one job runs at a time
    peers.runner(1).finish(b)
    assert peers.first(1, "start", a).status == 200  # an older one after a newer one
    assert len(peers.rows(1)[1]) == 2


# ---- turns ---------------------------------------------------------------------------------------------------------


def test_jobs_start_in_order_at_all_servers(net: Network) -> None:
    jobs = [net.queued(), net.queued()]
    turns = net.jobs(0)._turns
    turns.look()
    turns.look()  # one runs, and the next one waits
    assert [net.runner(server).started for server in range(3)] == [jobs[:1]] * 3
    for server in range(3):
        net.runner(server).finish(jobs[0])
    turns.look()
    assert [net.runner(server).started for server in range(3)] == [jobs] * 3


def test_a_server_that_is_down_delays_a_start(net: Network) -> None:
    job = net.queued()
    net.servers[2].stop()
    assert net.jobs(0)._turns.look() in (2.0, 5.0)  # the first while it is known to be unreachable
    assert net.runner(1).started == []
    net.servers[2].start()
    wait_until(lambda: net.jobs(0)._turns.look() == 2.0 and net.runner(2).started == [job], 20)


@pytest.mark.parametrize(
    ("asked", "started", "seconds", "state"),
    [
        ((200, 200), (200, 200), 2.0, "running"),
        ((200, 404), (), 0.5, "queued"),
        ((200, 425), (), 0.5, "queued"),
        ((200, 503), (), 0.5, "queued"),
        ((200, 0), (), 5.0, "queued"),
        ((200, 401), (), 5.0, "queued"),
        ((200, 500), (), 5.0, "queued"),
        ((503, 409), (), 2.0, "failed"),
        ((200, 200), (200, 503), 5.0, "queued"),
    ],
)
def test_the_answers_of_others_decide(
    net: Network, asked: tuple[int, ...], started: tuple[int, ...], seconds: float, state: str
) -> None:
    answers = {"ask": asked, "start": started}
    job = net.queued(servers=(0,))
    jobs = net.jobs(0)

    def answer(server: int, path: str) -> int:
        return answers[path.rpartition("/")[2]][server - 1]

    turns = Turns(jobs.queue, jobs.runner, range(1, 3), answer)
    assert turns.look() == pytest.approx(seconds, abs=0.2)
    assert jobs.queue.job(job).state == state
    turns.stop()


def test_a_server_that_cannot_run_jobs_is_logged_once(net: Network, caplog: pytest.LogCaptureFixture) -> None:
    net.queued(servers=(0,))
    jobs, status = net.jobs(0), [401]
    turns = Turns(jobs.queue, jobs.runner, range(1, 3), lambda server, _: status[0] if server == 2 else 404)
    for status[0] in (401, 401, 500, 500, 404, 503, 500, 0):
        turns.wake()
        turns._later.clear()
        turns.look()
    logged = [record.getMessage() for record in caplog.records if "about jobs" in record.getMessage()]
    assert [text.partition(" about")[0] for text in logged] == [f"server 2 answers {s}" for s in (401, 500, 500)]


def test_a_job_that_a_server_lacks_does_not_delay_the_next_one(net: Network) -> None:
    lacking = net.queued(servers=(0, 1))
    whole = net.queued()
    net.jobs(0)._turns.look()
    assert net.runner(2).started == [whole] and net.state(0, lacking).state == "queued"


def test_turns_are_given_by_a_thread(net: Network) -> None:
    seen: list[bytes] = []
    jobs = net.jobs(0)
    turns = Turns(jobs.queue, jobs.runner, range(1, 3), lambda *_: 200)
    turns._thread.start()
    job = net.queued(servers=(0,))
    turns.wake()
    wait_until(lambda: jobs.queue.job(job).state == "running", 5)
    turns.stop()
    turns.join()
    assert not turns._thread.is_alive() and seen == []


def test_a_call_without_an_answer_is_none(net: Network) -> None:
    net.servers[1].stop()
    assert call(net.deployment, net.servers[0].key, 1, "/jobs/x/ask") == 0


# ---- the server ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/jobs", "/standing"])
def test_bodies_are_limited(net: Network, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    server, head = net.servers[1], f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
    for length, status in ((4097, 413), (10**12, 413), (0, 400)):
        answer = server.send(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert problem(answer)["status"] == status
    assert problem(server.send(f"{head}Content-Length: 4097\r\n\r\n".encode()))["do"] == "send a shorter one"
    assert problem(server.send(f"{head}\r\n".encode()))["status"] == 411
    monkeypatch.setattr(_bodies, "_PATIENCE_S", 0.2)
    slow = problem(server.send(f"{head}Content-Length: 100\r\n\r\n{{".encode()))
    assert slow["status"] == 408 and slow["what"] == "the request did not arrive in time"


def test_without_jobs_there_are_none(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        job = to_text(bytes(32))
        for method, path in (
            ("GET", "/openapi.json"),
            ("POST", "/jobs"),
            ("GET", f"/jobs/{job}"),
            ("POST", f"/jobs/{job}/cancel"),
            ("POST", f"/jobs/{job}/ask"),
            ("POST", f"/jobs/{job}/start"),
            ("GET", f"/requesters/{job}/jobs"),
            ("POST", "/standing"),
            ("GET", f"/standing/{job}"),
            ("GET", f"/standing/{job}/jobs"),
            ("POST", f"/standing/{job}/cancel"),
            ("GET", f"/requesters/{job}/standing"),
        ):
            fields = problem(net.servers[0].ask(method, path, b"" if method == "POST" else None))
            assert fields["status"] == 404
            assert fields["detail"] == "this server runs no jobs: ask its operator for [jobs] in serve.toml"


def test_a_server_that_ends_starts_nothing(net: Network) -> None:
    job = net.queued()
    net.jobs(1).end()
    assert problem(net.first(1, "start", job))["status"] == 503
    assert net.servers[1].stop() < 2


def test_settings_that_do_not_fit_the_list_are_named(net: Network) -> None:
    server = net.servers[1]
    settings = server.settings
    check_deployment(settings, server.key)
    listed = [one.fields("") for one in net.servers]

    def refusal(changed: Settings, text: str | None = None, name: str = "other.toml") -> str:
        if text is not None:
            file = server.folder / name
            file.write_text(text)
            changed = dataclasses.replace(changed, jobs=file)
        with pytest.raises(ConfigError) as error:
            check_deployment(changed, server.key)
        return str(error.value)

    assert "serve.toml has no [jobs]: name the list of servers there" in refusal(
        dataclasses.replace(settings, jobs=None)
    )
    elsewhere = dataclasses.replace(settings, party=server.folder.parent / "party.toml")
    assert "with [jobs], serve.toml lies beside party.toml" in refusal(elsewhere)
    assert "is for pika, and this party runs rss" in refusal(settings, listed_servers("pika", listed))
    assert "lists 2 servers, and there are 3 parties" in refusal(settings, listed_servers("rss", listed[:2]))
    for name in ("certificate", "seal", "sign"):
        wrong = [listed[0], {**listed[1], name: to_text(bytes(32)) if name == "certificate" else ""}, listed[2]]
        if name != "certificate":
            wrong[1][name] = to_text(ClientKey.generate().id)
        text = refusal(settings, listed_servers("rss", wrong))
        assert f"`{name}` of server 1 must be {listed[1][name]}, as in service.pub" in text


def test_results_and_keys_are_not_logged(net: Network, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        job = net.queued()
        for server in range(3):
            net.runner(server).start(job)
            net.runner(server).finish(job, b'{"x":90210}')
        net.state(1, job)
    assert "90210" not in caplog.text and to_text(net.key.id) not in caplog.text
    assert _service.LOG.name == "quorate.serve"
