"""Standing requests over HTTPS: clocks that differ, replays, other keys, lies of server 0, and the commands."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobbing import wait_until
from jobserving import Network, job_network
from quorate import cli
from quorate.jobs import revoke
from quorate_client import (
    ClientKey,
    JobRefused,
    NotStored,
    Schedules,
    StandingRequest,
    StandingState,
    Unreachable,
    ValuesError,
    jobs,
    schedules,
)
from quorate_client.keys import to_text
from quorate_client.schedule import Every, occurrence_id
from test_campaign_serve import problem
from test_job_serve import unchanged

ASKED = {"rows": 5, "region": "north"}


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with job_network(tmp_path) as made:
        yield made


def later() -> tuple[str, int]:
    """Returns times of which none comes during a test, and the next one of them."""
    at = int(time.time()) + 7200
    every = time.strftime("day %H:%M", time.gmtime(at))
    return every, Every.parse(every).at_or_before(at)


def asking(net: Network, folder: Path) -> Schedules:
    return schedules(net.deployment, key=net.key, store=folder / "requests")


def standing(net: Network, key: ClientKey | None = None, **fields: Any) -> StandingRequest:
    now, (every, _) = int(time.time()), later()
    times = {"every": every, "time": now, "since": now, "until": now + 3 * 86_400, **fields}
    return StandingRequest.make(net.deployment, (key or net.key).id, net.program, ASKED, **times)


def send(net: Network, server: int, request: StandingRequest, key: ClientKey | None = None) -> Any:
    signature = to_text(request.sign(key or net.key))
    return net.servers[server].ask("POST", "/standing", request.json, quorate_signature=signature)


def set_clocks(net: Network, **clocks: float) -> None:
    """Sets the clocks of servers, as in s0=..., and has them look."""
    for name, now in clocks.items():
        each = net.jobs(int(name[1:]))
        for part in (each.queue, each.schedules, each.standing):
            part._clock = lambda now=now: now
        each.occur()


def look(net: Network) -> None:
    """Looks at all jobs, also at those that were asked about just now."""
    turns = net.jobs(0)._turns
    turns._later.clear()
    turns.look()


def started(net: Network) -> list[list[bytes]]:
    return [net.runner(server).started for server in range(3)]


def stored(net: Network, server: int) -> list[Any]:
    with contextlib.closing(net.servers[server].store()) as store:
        tables = ("standing", "occurrences", "jobs", "uses")
        return [store.read(lambda c, t=table: c.execute(f"SELECT * FROM {t}").fetchall()) for table in tables]


# ---- the times -----------------------------------------------------------------------------------------------------


def test_all_servers_start_the_same_job_at_its_time(net: Network, tmp_path: Path) -> None:
    every, at = later()
    asks = asking(net, tmp_path)
    asked = asks.ask(net.program, ASKED, every=every)
    job = occurrence_id(asked, at)
    assert [(one.state, one.next) for one in asks.states(asked) if isinstance(one, StandingState)] == [
        ("active", at)
    ] * 3
    look(net)
    assert started(net) == [[], [], []]
    set_clocks(net, s0=at, s1=at + 1, s2=at + 2)
    look(net)
    assert started(net) == [[job]] * 3
    for server in range(3):
        assert len(net.rows(server)[1]) == 1
        net.runner(server).finish(job, b'{"x":3}')
    listed = asks.occurrences(asked)
    assert [[(one["job"], one["at"], one["state"]) for one in each] for each in listed] == [[(job, at, "done")]] * 3
    found = jobs(net.deployment, key=net.key, store=tmp_path / "requests").result(job)
    assert dict(found.values) == {"x": 3} and found.stated["x"] == (0, 1, 2)
    assert [one.next for one in asks.states(asked) if isinstance(one, StandingState)] == [at + 86_400] * 3
    listed = asks.listed()
    assert [[(one["standing"], one["every"], one["state"]) for one in each] for each in listed] == [
        [(asked, every, "active")]
    ] * 3


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_clock_that_is_behind_delays_a_start(net: Network, tmp_path: Path, late: int) -> None:
    every, at = later()
    job = occurrence_id(asking(net, tmp_path).ask(net.program, ASKED, every=every), at)
    set_clocks(net, **{f"s{server}": at - 120 * (server == late) for server in range(3)})
    look(net)
    look(net)
    assert started(net) == [[], [], []]
    states = [getattr(net.jobs(server).queue.job(job), "state", None) for server in range(3)]
    assert states == [None if server == late else "queued" for server in range(3)]
    set_clocks(net, **{f"s{late}": at})
    look(net)
    assert started(net) == [[job]] * 3


def test_a_server_that_was_down_at_the_time_has_it_once_it_is_back(net: Network, tmp_path: Path) -> None:
    every, at = later()
    job = occurrence_id(asking(net, tmp_path).ask(net.program, ASKED, every=every), at)
    net.servers[2].stop()
    set_clocks(net, s0=at, s1=at)
    look(net)
    assert net.runner(1).started == []
    net.servers[2].start()
    set_clocks(net, s2=at + 3600)

    def is_started() -> bool:
        look(net)
        return started(net) == [[job]] * 3

    wait_until(is_started, 20)


def test_server_0_starts_no_time_that_has_not_come(net: Network, tmp_path: Path) -> None:
    every, at = later()
    asked = asking(net, tmp_path).ask(net.program, ASKED, every=every)
    before = stored(net, 1)
    for time_ in (at, at - 86_400, at + 86_400, at + 1):
        for what in ("ask", "start"):
            fields = problem(net.first(1, what, occurrence_id(asked, time_)))
            assert (fields["status"], fields["what"]) == (404, "this server does not have this job")
    assert stored(net, 1) == before and net.runner(1).started == []


def test_a_thread_of_the_server_looks_at_the_times(net: Network) -> None:
    """By the real clock: the newest time has come before the request was sent, and its day is not over."""
    now = int(time.time())
    every = time.strftime("day %H:%M", time.gmtime(now))
    request = standing(net, every=every, time=now - 3600, since=now - 3600)
    for server in range(3):
        assert send(net, server, request).status == 201
    job = occurrence_id(request.id, Every.parse(every).at_or_before(now))
    wait_until(lambda: all(net.jobs(server).queue.job(job) is not None for server in range(3)), 60)
    look(net)
    assert started(net) == [[job]] * 3


# ---- requesters ----------------------------------------------------------------------------------------------------


def test_a_request_that_is_sent_twice_is_one(net: Network) -> None:
    request = standing(net)
    first, second = send(net, 1, request), send(net, 1, request)
    assert (first.status, second.status) == (201, 200) and len(stored(net, 1)[0]) == 1
    state = StandingState.from_json(first.body)
    assert state.is_by(net.servers[1].key.sign, net.deployment.hash) and state.standing == request.id


def test_a_replay_by_another_server_shows_no_job(net: Network, tmp_path: Path) -> None:
    """Server 1 has the request and its signature, which are the same for all servers, and sends them to server 2."""
    request, (_, at) = standing(net), later()
    for server in range(3):
        send(net, server, request)
    job = occurrence_id(request.id, at)
    set_clocks(net, s0=at, s1=at, s2=at)
    look(net)
    for server in range(3):
        net.runner(server).finish(job, b'{"mine":90210}')
    answer = send(net, 2, request)
    assert set(json.loads(answer.body)) == {"changed", "next", "server", "signature", "standing", "state"}
    header = to_text(request.sign(net.key))
    for path in (f"/standing/{to_text(request.id)}/jobs", f"/jobs/{to_text(job)}"):
        replayed = net.servers[2].ask("GET", path, quorate_signature=header)
        assert problem(replayed)["status"] == 401
    assert net.state(2, job).values == {"mine": 90210}


def test_standing_requests_are_shown_to_their_requester_alone(net: Network) -> None:
    request = standing(net)
    send(net, 1, request)
    before, path = net.rows(1), f"/standing/{to_text(request.id)}"
    unknown = problem(net.call(1, "GET", f"/standing/{to_text(bytes(32))}"))
    assert unknown["what"] == "this server does not have this standing request"
    for method, where in (("GET", path), ("GET", f"{path}/jobs"), ("POST", f"{path}/cancel")):
        for key in (net.other, net.servers[0].key, net.servers[1].key, ClientKey.generate()):
            assert unchanged(net, net.call(1, method, where, key), 1, before, 404) == unknown
        assert problem(net.call(1, method, where, to=2))["status"] == 404
        assert problem(net.call(1, method, f"{where}?x=1"))["what"] == "the request has a query"
    assert problem(net.call(1, "GET", "/standing/!"))["status"] == 404
    mine = f"/requesters/{to_text(net.key.id)}/standing"
    assert problem(net.call(1, "GET", mine, net.other))["do"] == "sign the call with this key"
    assert len(json.loads(net.call(1, "GET", mine).body)["standing"]) == 1
    others = net.call(1, "GET", f"/requesters/{to_text(net.other.id)}/standing", net.other)
    assert json.loads(others.body) == {"standing": []}


def test_requests_of_another_kind_or_key_are_refused(net: Network) -> None:
    request, once = standing(net), net.request()
    fields = problem(send(net, 1, request, net.other))
    assert (fields["status"], fields["what"]) == (401, "the request's signature does not fit")
    signature = to_text(request.sign(net.key))
    crossed = net.servers[1].ask("POST", "/jobs", request.json, quorate_signature=signature)
    assert problem(crossed)["do"] == "sign a new request"
    crossed = net.servers[1].ask("POST", "/standing", once.json, quorate_signature=to_text(once.sign(net.key)))
    assert problem(crossed)["status"] == 400
    stranger = ClientKey.generate()
    assert problem(send(net, 1, standing(net, stranger), stranger))["status"] == 403
    assert stored(net, 1) == [[], [], [], []]


def test_a_refusal_of_one_server_cancels_at_the_others(net: Network, tmp_path: Path) -> None:
    with contextlib.closing(net.servers[1].store()) as store:
        revoke(store, bytes.fromhex(net.program))
    asks = asking(net, tmp_path)
    with pytest.raises(JobRefused) as error:
        asks.ask(net.program, ASKED, every=later()[0])
    assert error.value.servers == (1,)
    (kept,) = (tmp_path / "requests").iterdir()
    asked = bytes.fromhex(kept.stem)
    assert kept.suffix == ".standing" and asks.is_kept(asked)
    assert [getattr(one, "state", None) for one in asks.states(asked)] == ["cancelled", None, "cancelled"]
    with pytest.raises(ValuesError, match="every: write"):
        asks.ask(net.program, ASKED, every="daily")


def test_a_server_that_is_down_gets_the_same_bytes_later(net: Network, tmp_path: Path) -> None:
    asks = asking(net, tmp_path)
    asked = asks.make(net.program, ASKED, every=later()[0])
    net.servers[2].stop()
    with pytest.raises(NotStored, match="1 of 3 servers lack the standing request") as error:
        asks.send(asked, wait_s=0)
    assert error.value.servers == (2,)
    assert isinstance(asks.states(asked)[2], Unreachable) and isinstance(asks.listed()[2], Unreachable)
    net.servers[2].start()
    asks.send(asked)
    assert [getattr(one, "state", None) for one in asks.states(asked)] == ["active"] * 3


# ---- commands ------------------------------------------------------------------------------------------------------


def test_schedules_by_the_commands(net: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net.key.save(tmp_path / "me.key")
    by = ("--servers", str(tmp_path / "servers.toml"), "--key", str(tmp_path / "me.key"))
    every, at = later()

    def quorate(*arguments: str) -> str:
        assert cli.main(["job", *arguments, *by]) == 0
        return capsys.readouterr().out

    given = ("--set", "rows=5", "--set", "region=north", "--every", every, "--until", "2100-01-01T00:00:00Z")
    assert cli.main(["job", "schedule", net.program, *given, *by]) == 2
    assert "until must be after from, by at most 366 days" in capsys.readouterr().err
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at + 40 * 86_400))
    asked = quorate("schedule", net.program, *given[:-1], until).strip()
    following = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    line = f"{asked}  active every {every}, next {following}, until {until}  program {net.program[:16]}"
    assert quorate("list") == "".join(f"server {server}  {line}\n" for server in range(3))
    assert quorate("send", asked) == "all servers have the standing request\n"
    set_clocks(net, s0=at, s1=at, s2=at)
    job = occurrence_id(bytes.fromhex(asked), at).hex()
    shown = quorate("show", asked)
    assert f"server 1  {following}  {job}  queued" in shown and shown.startswith("Server 0: active, next ")
    assert quorate("list").count(f"{job}  queued") == 3
    assert quorate("cancel", asked) == "".join(f"Server {server}: cancelled.\n" for server in range(3))
    assert quorate("show", asked).count(f"{job}  cancelled") == 3
    assert quorate("show", job).count(": cancelled.") == 3
    unknown = quorate("cancel", "ab" * 32)
    assert unknown.count("this server does not have this standing request") == 3
