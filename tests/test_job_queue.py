"""The states of jobs: every arrow and no other, kills at every write, limits under races, stores of old releases."""

from __future__ import annotations

import concurrent.futures
import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from campaigning import NOW, STORE_KEY
from fuse import FUSE, Killed, fused
from queueing import KEY, OTHER, Office, deployment_of
from quorate.campaigns import Refused, Store, StoreError, _schema
from quorate.jobs import _queue
from quorate_client import ClientKey
from quorate_client.job import FINAL, JobRequest

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
DAY = 86_400


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path)
    yield made
    made.close()


def running(office: Office) -> bytes:
    job = office.submit()
    assert office.queue.start(job) is not None
    return job


# ---- arrows --------------------------------------------------------------------------------------------------------


def test_a_job_that_is_asked_for_twice_is_one(office: Office) -> None:
    request = office.request()
    assert [office.queue.submit(request, bytes(64)).result()[1] for _ in range(2)] == [True, False]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        again = office.request()
        taken = list(pool.map(lambda _: office.queue.submit(again, bytes(64)).result()[1], range(16)))
    assert sorted(taken) == [False] * 15 + [True]
    assert len(office.rows("SELECT id FROM jobs")) == 2


def test_requests_of_other_times_and_servers_are_refused(office: Office) -> None:
    elsewhere = deployment_of(office.folder, "pika")
    other = JobRequest.make(elsewhere, KEY.id, office.program, {"rows": 5, "region": "north"}, int(NOW), 60)
    refusal = office.refusal(lambda: office.submit(other))
    assert refusal.status == 409 and refusal.do == "compare servers.toml with this server's operator"
    assert elsewhere.hash.hex() in refusal.what and office.deployment.hash.hex() in refusal.what
    request = office.request(within_s=3600)
    office.clock.now = NOW - 301
    refusal = office.refusal(lambda: office.submit(request))
    assert (refusal.status, refusal.do) == (401, "set the clock")
    office.clock.now = NOW + 3600
    assert str(office.refusal(lambda: office.submit(request))) == "the request has expired: sign a new one"
    office.clock.now = NOW + 3599
    office.submit(request)


def test_a_job_that_has_ended_stays_as_it_is(office: Office) -> None:
    """Each call on a job in each final state changes nothing."""
    for state in FINAL:
        job = office.submit()
        office.store.write(
            lambda c, s=state, j=job: c.execute("UPDATE jobs SET state = ? WHERE id = ?", (s, j))
        ).result()
        before = office.dump()
        office.queue.cancel(job)
        office.queue.fail(job, "Elsewhere")
        office.queue.settle(job)
        office.queue.ended(job, "done", result=b"x")
        office.queue.unconnected(job)
        office.queue.restarted()
        office.queue.tidy(30)
        assert office.refusal(lambda j=job: office.queue.start(j)).what.startswith(f"the job has ended here: {state}")
        assert office.dump() == before


def test_jobs_start_once_and_one_at_a_time(office: Office) -> None:
    first, second = office.submit(), office.submit()
    assert office.queue.start(first) is not None
    assert office.queue.start(first) is None  # it runs already
    assert office.refusal(lambda: office.queue.start(second)).status == 503
    office.queue.ended(first, "done", result=b"sealed")
    assert office.refusal(lambda: office.queue.start(first)).status == 409
    assert office.queue.start(second) is not None
    assert office.uses_of() == 2
    assert office.refusal(lambda: office.queue.start(bytes(32))).do == "send the request to this server"


def test_a_use_is_given_back_if_no_program_had_a_session(office: Office) -> None:
    job = running(office)
    assert office.uses_of() == 1
    office.queue.unconnected(job)
    found = office.job(job)
    assert (found.state, found.attempts, found.not_before, office.uses_of()) == ("queued", 1, int(NOW) + 20, 0)
    refusal = office.refusal(lambda: office.queue.start(job))
    assert str(refusal) == "the servers have failed to connect for this job: try later" and refusal.status == 425
    assert office.queue.waiting() == []
    for attempt in range(2, 15):
        office.clock.now = office.job(job).not_before
        assert office.queue.start(job) is not None
        office.queue.unconnected(job)
        found = office.job(job)
        assert (found.attempts, found.not_before - office.clock.now) == (attempt, min(10 * 2**attempt, 300))
    office.queue.unconnected(job)  # it does not run
    assert office.job(job).attempts == 14


def test_a_job_that_is_cancelled_while_its_process_ends_is_not_queued_again(office: Office) -> None:
    job = running(office)
    office.queue.cancel(job)
    office.queue.unconnected(job)
    assert office.state(job) == ("cancelled", "") and office.uses_of() == 0


def test_a_stranger_learns_nothing_of_what_has_happened(office: Office) -> None:
    job, stranger = running(office), ClientKey.generate()
    office.queue.ended(job, "failed", "CheatingDetected", cheated=True)
    assert office.refusal(lambda: office.submit(office.request(key=stranger))).status == 403
    assert office.refusal(lambda: office.submit()).status == 409


def test_a_restart_keeps_the_use_of_what_ran(office: Office) -> None:
    job, waits = running(office), office.submit()
    office.queue.restarted()
    assert office.state(job) == ("failed", "Restarted") and office.state(waits) == ("queued", "")
    assert office.uses_of() == 1


def test_cheating_halts_all_jobs_until_the_operator_says_so(office: Office) -> None:
    job, waits = running(office), office.submit()
    office.queue.ended(job, "cancelled", cheated=True)  # cancelled just then, and it halts all the same
    assert office.queue.is_halted()
    text = "cheating was detected at this server, and it runs no jobs: ask its operator to find the cause"
    for call, status in ((office.submit, 409), (lambda: office.queue.start(waits), 503)):
        refusal = office.refusal(call)
        assert (refusal.status, str(refusal)) == (status, text)
    office.queue.settle(waits)
    office.queue.tidy(30)
    assert office.state(waits) == ("queued", "")
    assert office.queue.resume() and not office.queue.resume()
    assert office.queue.start(waits) is not None
    office.queue.unconnected(waits, "failed", "CheatingDetected", cheated=True)
    assert office.queue.is_halted() and office.uses_of() == 1


def test_jobs_that_wait_too_long_expire(office: Office) -> None:
    job = office.submit(within_s=60)
    office.clock.now += 60
    with pytest.raises(Refused, match="the request has expired: sign a new one"):
        office.queue.check(job)
    assert office.state(job) == ("queued", "")  # a question changes nothing
    office.queue.tidy(30)
    assert office.state(job) == ("expired", "")


def test_rows_are_removed_when_nothing_can_repeat_them(office: Office) -> None:
    request = office.request(within_s=7 * DAY)
    job = office.submit(request)
    office.queue.cancel(job)
    office.clock.now += 3 * DAY
    office.queue.tidy(1)
    assert office.state(job) == ("cancelled", "")  # its request could be sent again
    office.clock.now = NOW + 7 * DAY
    office.queue.tidy(1)
    assert office.queue.job(job) is None
    assert str(office.refusal(lambda: office.submit(request))) == "the request has expired: sign a new one"


def test_a_clock_that_is_set_back_repeats_no_job(office: Office) -> None:
    request = office.request(within_s=60)
    job = office.submit(request)
    office.queue.start(job)
    office.queue.ended(job, "done")
    office.clock.now += 40 * DAY
    office.queue.tidy(30)
    office.clock.now = NOW
    text = "this job has run here, and its result was removed: sign a new request"
    assert str(office.refusal(lambda: office.submit(request))) == text
    queued = office.submit()
    office.store.write(lambda c: c.execute("INSERT INTO uses VALUES (?, ?, ?)", (queued, b"", 1))).result()
    with pytest.raises(Refused, match="this job has run here: sign a new request"):
        office.queue.start(queued)
    assert office.state(queued) == ("refused", "NotCovered")


# ---- limits --------------------------------------------------------------------------------------------------------


def test_the_queue_of_one_key_is_full_while_anothers_is_not(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate_client.keys import to_text

    office.approve(requesters=f'["{to_text(KEY.id)}", "{to_text(OTHER.id)}"]', times=1000, per_day=1000)
    for _ in range(_queue.MOST_OF_ONE):
        last = office.submit()
    refusal = office.refusal(office.submit)
    assert str(refusal) == "20 jobs of this key wait here: wait for one of them, or cancel it"
    assert (refusal.status, refusal.retry_after) == (429, 60)
    office.submit(key=OTHER)
    office.queue.cancel(last)
    office.submit()
    monkeypatch.setattr(_queue, "MOST_JOBS", 21)
    assert str(office.refusal(lambda: office.submit(key=OTHER))) == "21 jobs wait here: ask later"
    monkeypatch.setattr(_queue, "MOST_JOBS", 200)
    monkeypatch.setattr(_queue, "MOST_KEPT", 21)
    office.queue.cancel(last := office.queue.waiting()[0])
    refusal = office.refusal(office.submit)
    assert (refusal.status, str(refusal)) == (429, "21 jobs of this key are kept here: ask again in some days")


def test_of_requests_that_race_as_many_pass_as_are_allowed(tmp_path: Path) -> None:
    office = Office(tmp_path, times=3)
    gate = threading.Barrier(32)

    def ask(_: int) -> bool:
        request = office.request()
        gate.wait(30)
        try:
            office.submit(request)
        except Refused:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(ask, range(32))) == 3
    assert len(office.rows("SELECT id FROM jobs")) == 3
    office.close()


def test_of_starts_that_race_one_runs_and_counts(office: Office) -> None:
    jobs = [office.submit() for _ in range(4)]
    gate = threading.Barrier(16)

    def start(number: int) -> bool:
        gate.wait(30)
        try:
            return office.queue.start(jobs[number % 4]) is not None
        except Refused as error:
            assert error.status == 503
            return False

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(start, range(16))) == 1
    assert office.uses_of() == 1
    assert [state for (state,) in office.rows("SELECT state FROM jobs")].count("running") == 1


# ---- several at once -----------------------------------------------------------------------------------------------


def test_of_starts_that_race_as_many_run_as_may(tmp_path: Path) -> None:
    office = Office(tmp_path, 3, per_day=100, times=100)
    jobs = [office.submit() for _ in range(6)]
    gate = threading.Barrier(18)

    def start(number: int) -> bool:
        gate.wait(30)
        try:
            return office.queue.start(jobs[number % 6]) is not None
        except Refused as error:
            assert (error.status, error.what) == (503, "3 jobs run here")
            return False

    with concurrent.futures.ThreadPoolExecutor(18) as pool:
        assert sum(pool.map(start, range(18))) == 3
    assert office.uses_of() == 3
    office.queue.restarted()
    states = [office.state(job) for job in jobs]
    assert sorted(states) == [("failed", "Restarted")] * 3 + [("queued", "")] * 3
    office.close()


@pytest.mark.parametrize("limit", ["times", "per_day"])
def test_limits_hold_for_jobs_at_the_same_time(tmp_path: Path, limit: str) -> None:
    office = Office(tmp_path, 4, **{"times": 100, "per_day": 100, limit: 4})
    jobs = [office.submit() for _ in range(4)]
    office.approve(**{"times": 100, "per_day": 100, limit: 3})  # the operator allows fewer
    gate = threading.Barrier(4)

    def start(job: bytes) -> bool:
        gate.wait(30)
        with contextlib.suppress(Refused):
            return office.queue.start(job) is not None
        return False

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(start, jobs)) == 3
    assert office.uses_of() == 3
    office.close()


def test_lists_have_no_results(office: Office) -> None:
    job = running(office)
    office.queue.ended(job, "done", result=b"sealed")
    assert office.job(job).result == b"sealed"
    assert [one.result for one in (*office.queue.all(), *office.queue.of(KEY.id))] == [None, None]


# ---- kills ---------------------------------------------------------------------------------------------------------


class Life:
    """A server's jobs from the first request to the last end, over kills.

    `connected` notes the programs that had a session.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.lives = folder, 0
        self.office = Office(folder / "0")
        self.requests = [self.office.request() for _ in range(3)]
        self.connected: list[bytes] = []

    def steps(self) -> Iterator[Callable[[], object]]:
        one, two, three = self.requests

        def starts(job: bytes) -> None:
            with contextlib.suppress(Refused):
                if self.office.queue.start(job) is not None:
                    self.connected.append(job)

        yield lambda: self.office.submit(one)
        yield lambda: self.office.submit(two)
        yield lambda: starts(one.id)
        yield lambda: self.office.queue.ended(one.id, "done", result=b"sealed")
        yield lambda: starts(two.id)
        yield lambda: self.office.queue.ended(two.id, "failed", "CheatingDetected", cheated=True)
        yield lambda: self.office.queue.resume()
        yield lambda: self.office.submit(three)
        yield lambda: self.office.queue.cancel(three.id)

    def restart(self) -> None:
        """Takes the files as a kill leaves them, and starts as a server does."""
        last = self.folder / str(self.lives)
        self.lives += 1
        now = self.folder / str(self.lives)
        shutil.copytree(last, now, ignore=shutil.ignore_patterns("*.lock", "*-shm"))
        FUSE.left, FUSE.is_blown = None, False
        with contextlib.suppress(StoreError):
            self.office.close()
        self.office.folder = now
        self.office.open()
        self.office.queue.restarted()

    def check(self) -> None:
        uses = {job for (job,) in self.office.rows("SELECT job FROM uses")}
        assert uses >= set(self.connected), "a program had a session, and its use is not counted"
        states = dict(self.office.rows("SELECT id, state FROM jobs"))
        assert all(job in states for job in uses)
        for request in self.requests:
            state, started = states.get(request.id), request.id in uses
            assert state not in ("done", "running") or started
            assert state not in ("queued", "cancelled", "refused", "expired", None) or not started

    def live(self) -> None:
        for step in self.steps():
            while True:
                try:
                    step()
                    break
                except (Killed, StoreError):
                    if not FUSE.is_blown:
                        raise
                    self.restart()
                    self.check()
        self.check()


def test_a_kill_at_every_write_of_jobs() -> None:
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        with fused():
            life = Life(folder / "whole")
            begun = FUSE.seen
            life.live()
            writes = FUSE.seen - begun
            life.office.close()
        assert writes > 40
        killed_states: set[tuple[str, ...]] = set()
        for at in range(writes):
            with fused():
                life = Life(folder / str(at))
                FUSE.left = at
                life.live()
                assert life.lives == 1, f"nothing was killed at write {at}"
                killed_states.add(tuple(s for (s,) in life.office.rows("SELECT state FROM jobs ORDER BY number")))
                life.office.close()
            shutil.rmtree(folder / str(at))
        assert ("done", "failed", "cancelled") in killed_states and ("failed", "failed", "cancelled") in killed_states
    finally:
        shutil.rmtree(folder)


class Jobs(RuleBasedStateMachine):
    """Calls in any order with restarts, compared with a model."""

    at_once = 1

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.office = Office(self.folder, self.at_once, times=6)
        self.states: dict[bytes, str] = {}
        self.used: set[bytes] = set()
        self.marked: set[bytes] = set()  # to be cancelled while they run

    def teardown(self) -> None:
        self.office.close()
        shutil.rmtree(self.folder)

    def chosen(self, number: int) -> bytes | None:
        return list(self.states)[number % len(self.states)] if self.states else None

    @rule()
    def submit(self) -> None:
        fits = len(self.used) + sum(state == "queued" for state in self.states.values()) < 6
        try:
            self.states[self.office.submit()] = "queued"
            assert fits
        except Refused:
            assert not fits

    @rule(number=st.integers(0, 9))
    def start(self, number: int) -> None:
        job = self.chosen(number)
        if job is None:
            return
        can = self.states[job] == "queued" and list(self.states.values()).count("running") < self.at_once
        try:
            started = self.office.queue.start(job)
            assert (started is not None) == can and (can or self.states[job] == "running")
        except Refused:
            assert not can and self.states[job] != "running"
        if can:
            self.states[job] = "running"
            self.used.add(job)

    @rule(number=st.integers(0, 9), call=st.sampled_from(["done", "failed", "lost", "cancel", "elsewhere"]))
    def end(self, number: int, call: str) -> None:
        job = self.chosen(number)
        if job is None:
            return
        before = self.states[job]
        if call == "cancel":
            self.office.queue.cancel(job)
            self.states[job] = "cancelled" if before == "queued" else before
            if before == "running":
                self.marked.add(job)
        elif call == "elsewhere":
            self.office.queue.fail(job, "Elsewhere")
            self.states[job] = "failed" if before == "queued" else before
        elif call == "lost":
            self.office.queue.unconnected(job)
            if before == "running":
                self.states[job] = "cancelled" if job in self.marked else "queued"
                self.used.discard(job)
                self.office.clock.now = max(self.office.clock.now, self.office.job(job).not_before)
        else:
            self.office.queue.ended(job, call)
            self.states[job] = call if before == "running" else before

    @rule()
    def restart(self) -> None:
        self.office.close()
        self.office.open()
        self.office.queue.restarted()
        self.states = {job: "failed" if state == "running" else state for job, state in self.states.items()}

    @invariant()
    def what_is_stored_is_what_the_model_has(self) -> None:
        now = self.office.clock.now
        found = dict(self.office.rows("SELECT id, state FROM jobs"))
        if any(state == "queued" and self.office.job(job).until <= now for job, state in self.states.items()):
            self.office.clock.now = NOW
        assert found == self.states
        assert {job for (job,) in self.office.rows("SELECT job FROM uses")} == self.used


class TwoJobs(Jobs):
    """The calls of `Jobs` where two jobs may run at the same time."""

    at_once = 2


Jobs.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TwoJobs.TestCase.settings = Jobs.TestCase.settings
TestJobs = Jobs.TestCase
TestTwoJobs = TwoJobs.TestCase


# ---- stores of older releases --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(len(_schema._STEPS)))
def test_a_store_of_an_older_release_keeps_what_it_has(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(_schema, "_STEPS", _schema._STEPS[: max(version, 1)])
        older.setattr(_schema, "VERSION", max(version, 1))
        store = Store(tmp_path / "store.db", STORE_KEY, None)
        store.write(lambda c: c.execute("INSERT INTO meta VALUES ('kept', 'here')")).result()
        store.close()
    office = Office(tmp_path)
    assert office.rows("SELECT value FROM meta WHERE name = 'kept'") == [("here",)]
    assert office.rows("PRAGMA user_version") == [(_schema.VERSION,)]
    running(office)
    office.close()


def test_results_open_for_their_own_job_alone(office: Office) -> None:
    sealed: Any = office.store.job_key.seal(b"result", b"a" * 32)
    assert office.store.job_key.open(sealed, b"a" * 32) == b"result" and b"result" not in sealed
    with pytest.raises(StoreError, match="altered or moved: restore this server's store"):
        office.store.job_key.open(sealed, b"b" * 32)
