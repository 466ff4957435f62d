"""Several jobs at the same time: their slots, servers that differ, and pauses of jobs that a server lacks."""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobbing import PROGRAM, approval, quorate, wait_until
from jobbing import Office as Deployed
from jobserving import Network, job_network
from queueing import Office
from quorate.campaigns import Refused
from quorate.jobs import _turns
from quorate.jobs._runner import Runner
from quorate.jobs._turns import Turns
from quorate_client import NotStored
from test_job_child import Servers, is_free
from test_job_serve import problem
from test_jobs_deployed import WAITS, in_session, states, uses


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with job_network(tmp_path, at_once=(2, 2, 2)) as made:
        yield made


def started(net: Network) -> list[list[bytes]]:
    return [net.runner(server).started for server in range(3)]


# ---- turns ---------------------------------------------------------------------------------------------------------


def test_a_long_job_does_not_hold_up_short_ones(net: Network) -> None:
    jobs = [net.queued() for _ in range(4)]
    turns = net.jobs(0)._turns
    turns.look()
    assert started(net) == [jobs[:2]] * 3  # one look starts all that may run
    for short in (1, 2):
        turns.look()
        assert started(net) == [jobs[: short + 1]] * 3
        for server in range(3):
            net.runner(server).finish(jobs[short])
        turns.look()
        assert started(net) == [jobs[: short + 2]] * 3
    assert [net.state(server, jobs[0]).state for server in range(3)] == ["running"] * 3


def test_the_least_number_of_all_servers_counts(tmp_path: Path) -> None:
    with job_network(tmp_path, at_once=(3, 1, 2)) as net:
        jobs = [net.queued() for _ in range(3)]
        turns = net.jobs(0)._turns
        for number, job in enumerate(jobs):
            pauses = [turns.look() for _ in range(5)]
            assert pauses == ([0.5, 1.0, 2.0, 4.0, 5.0] if number < 2 else [2.0] * 5)
            assert started(net) == [jobs[: number + 1]] * 3  # nothing started at some of them alone
            for server in (2, 0, 1):
                net.runner(server).finish(job)
        assert [len(net.rows(server)[1]) for server in range(3)] == [3] * 3


def test_servers_that_run_other_jobs_refuse_and_go_on(tmp_path: Path) -> None:
    """Server 0 has lied: servers 1 and 2 run two jobs each, of which none has all servers."""
    with job_network(tmp_path, started=(1, 2), at_once=(2, 2, 2)) as net:
        a, b, c, d = (net.queued(servers=(1, 2)) for _ in range(4))
        for server, job in ((1, a), (1, b), (2, c), (2, d)):
            assert net.first(server, "start", job).status == 200
        for server, job in ((1, c), (1, d), (2, a), (2, b)):
            fields = problem(net.first(server, "ask", job))
            assert (fields["status"], fields["what"]) == (503, "2 jobs run here")
            assert problem(net.first(server, "start", job))["status"] == 503
        assert [len(net.rows(server)[1]) for server in (1, 2)] == [2, 2]
        for server, job in ((1, a), (1, b), (2, c), (2, d)):  # they do not connect, and wait again
            net.jobs(server).queue.unconnected(job)
        assert [len(net.rows(server)[1]) for server in (1, 2)] == [0, 0]
        for server in (1, 2):
            assert problem(net.first(server, "start", a if server == 1 else c))["status"] == 425
            assert net.first(server, "start", c if server == 1 else a).status == 200


def test_a_start_that_one_server_refuses_leaves_room_for_others(net: Network) -> None:
    """Between the question and the start, server 2 has taken another job."""
    job, other = net.queued(), net.queued()
    jobs = net.jobs(0)
    answers = {"ask": (200, 200), "start": (200, 503)}
    turns = Turns(
        jobs.queue, jobs.runner, range(1, 3), lambda server, path: answers[path.rpartition("/")[2]][server - 1]
    )
    assert turns.look() == 5.0 and net.runner(0).started == []
    answers["start"] = (200, 200)
    turns.look()
    assert net.runner(0).started == [job, other]


def test_a_job_that_a_server_lacks_is_asked_about_ever_more_rarely(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = [0.0], list[float]()
    monkeypatch.setattr(_turns, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: 0.0))
    lacking = net.queued(servers=(0,))
    jobs = net.jobs(0)

    def answer(server: int, _: str) -> int:
        if server == 1:
            asked.append(now[0])
        return 404

    turns = Turns(jobs.queue, jobs.runner, range(1, 3), answer)
    while now[0] < 300:
        now[0] += turns.look()
    pauses = [round(later - before, 3) for before, later in itertools.pairwise(asked)]
    assert pauses[:8] == [0.5, 1, 2, 4, 8, 16, 32, 60] and set(pauses[8:]) == {60}
    net.runner(0).check = lambda _: (_ for _ in ()).throw(Refused(503, "another job runs here", "try later"))
    now[0] += 100
    assert turns.look() == 2.0  # it is due, and there is no room: that is no reason to look all the time
    del net.runner(0).check
    turns.wake(lacking)
    turns.look()
    assert asked[-1] == now[0]  # its request came again
    for _ in range(20):  # which a requester may send all the time
        turns.wake(lacking)
        turns.look()
    assert asked[-1] == now[0] and asked.count(now[0]) == 1
    jobs.queue.cancel(lacking)
    turns.look()
    assert turns._later == {}


def test_a_server_that_comes_back_ends_all_pauses(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [net.queued(servers=(0,)) for _ in range(2)]
    turns = net.jobs(0)._turns
    with monkeypatch.context() as patched:  # a server that is slow looks as if it was away and came back
        patched.setattr(turns, "_is_away", lambda: False)
        patched.setattr(turns, "wake", lambda: None)
        for _ in range(4):
            turns.look()
            for job in lacking:
                turns._later[job] = _turns._Later(turns._later[job].asked_at - 100, turns._later[job].pause_s)
    assert all(later.pause_s > 1 for later in turns._later.values())
    net.jobs(0).peers_changed()
    assert {later.pause_s for later in turns._later.values()} == {0.5}


# ---- processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path, at_once=2, times=100, per_day=100, timeout_s=100)
    yield made
    made.stop()


def test_one_of_two_jobs_is_cancelled(servers: Servers) -> None:
    marker = servers.marker
    one, two = servers.start("sleep"), servers.start("sleep")
    wait_until(lambda: marker.exists() and marker.read_text().count("top") == 4)
    third = servers.offices[0].submit(what="sum")
    with pytest.raises(Refused, match="2 jobs' processes run here: try later"):
        servers.runners[0].start(third)
    servers.runners[0].start(one)  # it runs already
    for office in servers.offices:
        office.queue.cancel(one)
    wait_until(lambda: all(office.state(one) == ("cancelled", "") for office in servers.offices))
    assert [office.state(two) for office in servers.offices] == [("running", "")] * 2
    servers.offices[0].queue.cancel(third)
    assert servers.ended(servers.start("sum"), free=False) == [("done", "")] * 2
    assert [office.state(two) for office in servers.offices] == [("running", "")] * 2
    assert [office.uses_of() for office in servers.offices] == [3] * 2


def test_the_end_of_a_server_ends_all_its_jobs(servers: Servers) -> None:
    jobs = [servers.start("sleep"), servers.start("sleep")]
    wait_until(lambda: servers.marker.exists() and servers.marker.read_text().count("top") == 4)
    servers.runners[0].stop()
    assert [servers.offices[0].state(job) for job in jobs] == [("failed", "Stopped")] * 2
    assert is_free(servers.offices[0])


def test_what_a_killed_server_left_keeps_all_slots_closed(tmp_path: Path) -> None:
    """Its process may still work on a campaign, so nothing starts beside it, in whatever slot it is."""
    office = Office(tmp_path, at_once=2)
    runner = Runner(office.store, office.queue, tmp_path / "party.toml", lambda: None)
    job = office.submit()
    for name in ("store.db.job.lock", "store.db.job1.lock", "store.db.job5.lock"):
        left = os.open(tmp_path / name, os.O_RDWR | os.O_CREAT)
        fcntl.flock(left, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another job's process runs here"):
            runner.check(job)
        os.close(left)
        runner.check(job)
    assert threading.active_count() < 50
    office.close()


def test_two_long_jobs_and_short_ones_at_servers_of_which_one_is_killed(tmp_path: Path) -> None:
    """All are processes. What ran ends by name, and what waits says for whom and runs once the server is back."""
    office = Deployed(tmp_path, at_once=3)
    try:
        office.approve(approval(tmp_path, PROGRAM, office.key))
        office.approve(approval(tmp_path, WAITS, office.key, "waits", times=20, per_day=20))
        office.start()
        long = [in_session(office), in_session(office)]
        asks = office.jobs()
        short = asks.ask(tmp_path / "sums.py", {"rows": 3, "region": "north"})
        assert asks.wait(short, wait_s=60).values["total"] == 99
        assert [states(office, job) for job in long] == [[("running", "")] * 3] * 2
        killed = office.serving[1]
        assert killed is not None
        killed.kill()
        killed.wait()
        wait_until(lambda: "server 1 is unreachable" in office.log(0))
        waits = asks.make(tmp_path / "sums.py", {"rows": 5, "region": "north"}, within_s=600)
        with pytest.raises(NotStored):
            asks.send(waits, wait_s=0)
        shown = quorate(tmp_path, "job", "show", waits.hex(), "--servers", "servers.toml", "--key", "me.key", status=3)
        assert "Server 0: queued: server 1 does not answer since 20" in shown
        listed = quorate(tmp_path, "job", "peers", "--config", office.config(0), status=3)
        assert "server 1  unreachable" in listed and "server 2  up" in listed
        office.start(1)
        for job in long:
            wait_until(lambda job=job: "running" not in dict(states(office, job)))  # type: ignore[misc]
            ended = states(office, job)
            assert ended[1] == ("failed", "Restarted")
            assert {ended[0], ended[2]} <= {("failed", "PeerLost"), ("failed", "PeerEnded")}
            assert uses(office, job) == [1, 1, 1]
        asks.send(waits)
        assert asks.wait(waits, wait_s=60).values["total"] > 0
        assert uses(office, waits) == [1, 1, 1]
    finally:
        office.stop()
