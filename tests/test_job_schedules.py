"""Standing requests: their times, that each time gives one job at most, clocks, and limits."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime
import hashlib
import json
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigning import NOW
from queueing import KEY, OTHER, SERVICES, Office, deployment_of
from quorate.campaigns import Refused
from quorate.jobs import _schedules, revoke
from quorate.jobs._runner import session_of
from quorate_client import JobRequest, StandingRequest, StandingState, ValuesError, WireError
from quorate_client.job import canonical
from quorate_client.keys import to_text, verify
from quorate_client.schedule import Every, occurrence_id

HOUR, DAY = 3600, 86_400
FIRST = int(NOW) + 900  # NOW is a Friday, 08:00; the first "hour :15" of it


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path, times=100, per_day=100)
    yield made
    made.close()


def moment(text: str) -> int:
    return int(datetime.datetime.fromisoformat(f"{text}+00:00").timestamp())


# ---- times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("every", "now", "last", "following"),
    [
        ("hour :15", "2027-01-15 08:14:59", "2027-01-15 07:15:00", "2027-01-15 08:15:00"),
        ("hour :15", "2027-01-15 08:15:00", "2027-01-15 08:15:00", "2027-01-15 09:15:00"),
        ("hour :00", "2026-12-31 23:59:59", "2026-12-31 23:00:00", "2027-01-01 00:00:00"),
        ("day 03:00", "2027-01-15 02:59:59", "2027-01-14 03:00:00", "2027-01-15 03:00:00"),
        ("day 23:59", "2027-01-15 08:00:00", "2027-01-14 23:59:00", "2027-01-15 23:59:00"),
        ("day 03:00", "2028-02-28 03:00:00", "2028-02-28 03:00:00", "2028-02-29 03:00:00"),
        ("day 02:30", "2027-03-28 12:00:00", "2027-03-28 02:30:00", "2027-03-29 02:30:00"),  # Europe's short day
        ("week mon 03:00", "2027-01-15 08:00:00", "2027-01-11 03:00:00", "2027-01-18 03:00:00"),
        ("week fri 09:00", "2027-01-15 08:00:00", "2027-01-08 09:00:00", "2027-01-15 09:00:00"),
        ("week sun 00:00", "2027-01-15 08:00:00", "2027-01-10 00:00:00", "2027-01-17 00:00:00"),
        ("month 1 03:00", "2027-01-01 02:59:59", "2026-12-01 03:00:00", "2027-01-01 03:00:00"),
        ("month 1 03:00", "2026-12-15 00:00:00", "2026-12-01 03:00:00", "2027-01-01 03:00:00"),
        ("month 28 03:00", "2027-02-28 03:00:00", "2027-02-28 03:00:00", "2027-03-28 03:00:00"),
        ("month 15 08:00", "2027-03-31 00:00:00", "2027-03-15 08:00:00", "2027-04-15 08:00:00"),
    ],
)
def test_times_are_those_of_utc(every: str, now: str, last: str, following: str) -> None:
    found = Every.parse(every)
    assert (found.at_or_before(moment(now)), found.after(moment(now))) == (moment(last), moment(following))
    assert found.at_or_before(moment(now) + 0.9) == moment(last)


EVERY = st.one_of(
    st.integers(0, 59).map("hour :{:02}".format),
    st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda t: "day {:02}:{:02}".format(*t)),
    st.tuples(st.sampled_from(["mon", "wed", "sun"]), st.integers(0, 23)).map(lambda t: "week {} {:02}:30".format(*t)),
    st.tuples(st.integers(1, 28), st.integers(0, 23)).map(lambda t: "month {} {:02}:30".format(*t)),
)


@given(every=EVERY, now=st.integers(0, 1 << 37))
@settings(max_examples=300, deadline=None)
def test_times_follow_each_other(every: str, now: int) -> None:
    found = Every.parse(every)
    last, following = found.at_or_before(now), found.after(now)
    assert last <= now < following and found.after(last) == following
    assert found.at_or_before(following) == following and found.at_or_before(following - 1) == last


@pytest.mark.parametrize(
    "text",
    ["", "day", "day 3:00", "day 24:00", "day 03:60", "hour 15", "hour :60", "week 03:00", "week Mon 03:00", "minute",
     "month 03:00", "month 0 03:00", "month 01 03:00", " day 03:00", "day 03:00 ", "day 03:00\n", "year 1 03:00",
     "day \u0660\u0663:00"],
)  # fmt: skip
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'write "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00", in UTC'):
        Every.parse(text)


@pytest.mark.parametrize("day", [29, 30, 31])
def test_days_that_not_each_month_has_are_refused(office: Office, day: int) -> None:
    with pytest.raises(ValuesError, match=rf"every: not each month has a day {day}: write a day from 1 to 28\."):
        office.standing(f"month {day} 03:00")


# ---- what is signed ------------------------------------------------------------------------------------------------


def test_bytes_that_are_signed_are_these(office: Office) -> None:
    """The vectors are written out here, so that another implementation can follow them."""
    request = office.standing("day 03:00")
    text = (
        f'{{"deployment":"{to_text(office.deployment.hash)}","every":"day 03:00","from":1800000000,'
        f'"nonce":"{to_text(request.nonce)}","parameters":{{"region":"north","rows":5}},"program":"{office.program}",'
        f'"requester":"{to_text(KEY.id)}","time":1800000000,"until":1800086400}}'
    ).encode()
    assert request.json == text and StandingRequest.from_json(text) == request
    assert request.id == hashlib.sha256(b"quorate/job/standing/1\0" + text).digest()
    assert verify(KEY.id, b"quorate/job/standing/1\0" + text, request.sign(KEY))
    assert request.is_by(request.sign(KEY)) and not request.is_by(request.sign(OTHER))
    at = request.next(NOW)
    assert at == moment("2027-01-16 03:00:00")
    label = b"quorate/job/occurrence/1\0" + request.id + struct.pack("<Q", at)
    assert occurrence_id(request.id, at) == hashlib.sha256(label).digest()
    state = StandingState(request.id, 1, "active", at, 7).by(SERVICES[1], office.deployment.hash)
    fields = hashlib.sha256(canonical({"changed": 7, "next": at, "state": "active"})).digest()
    label = b"quorate/job/standing-state/1\0" + office.deployment.hash + b"\1" + request.id + fields
    assert StandingState.from_json(state.to_json()) == state and state.is_by(SERVICES[1].sign, office.deployment.hash)
    assert verify(SERVICES[1].sign, label, state.signature)
    for change in ({"next": None}, {"state": "ended"}, {"server": 2}, {"standing": bytes(32)}, {"changed": 8}):
        changed = dataclasses.replace(state, **change)  # type: ignore[arg-type]
        assert not changed.is_by(SERVICES[1].sign, office.deployment.hash)


def test_a_signature_of_one_kind_is_none_of_the_other(office: Office) -> None:
    request, standing = office.request(), office.standing()
    with pytest.raises(WireError, match="A request is an object of deployment, every, from"):
        StandingRequest.from_json(request.json)
    with pytest.raises(WireError, match="A request is an object of deployment, nonce"):
        JobRequest.from_json(standing.json)
    assert not standing.is_by(KEY.sign(b"quorate/job/request/1\0" + standing.json))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"every": 5}, "every must be a text."),
        ({"every": float("nan")}, "every must be a text."),
        ({"every": "day 3:00"}, 'every: write "hour :15"'),
        ({"from": True}, "from must be an integer"),
        ({"from": NOW}, "from must be an integer"),
        ({"from": int(NOW) - 1}, "from must be the time of the request or later, by at most 366 days."),
        (
            {"from": int(NOW) + 366 * DAY + 1, "until": int(NOW) + 367 * DAY},
            "from must be the time of the request or later, by at most 366 days.",
        ),
        ({"until": int(NOW)}, "until must be after from, by at most 366 days."),
        ({"until": int(NOW) + 366 * DAY + 1}, "until must be after from, by at most 366 days."),
        (
            {"time": 1 << 38, "from": 1 << 38, "until": (1 << 38) + DAY},
            "until must be after from, by at most 366 days.",
        ),
        ({"time": 1 << 40, "from": 1 << 40, "until": (1 << 40) + DAY}, "time must be an integer"),
        ({"until": FIRST}, 'until: there is no time "hour :15" from `from` to `until`.'),
        ({"program": "x"}, "program must be the SHA-256"),
        ({"nonce": "!"}, "nonce must be 16 bytes"),
        ({"more": 1}, "A request is an object of"),
    ],
)
def test_malformed_requests_are_refused(office: Office, fields: dict[str, Any], text: str) -> None:
    made = json.loads(office.standing().json)
    with pytest.raises(WireError) as error:
        StandingRequest.from_json(json.dumps({**made, **fields}, separators=(",", ":"), sort_keys=True).encode())
    assert str(error.value).startswith(text)


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_a_flipped_bit_is_another_request_or_none(at: int, bit: int) -> None:
    request = _REQUEST
    data = bytearray(request.json)
    data[at % len(data)] ^= 1 << bit
    try:
        other = StandingRequest.from_json(bytes(data))
    except WireError:
        return
    assert other.id != request.id and not other.is_by(_SIGNATURE)


with tempfile.TemporaryDirectory() as _folder:
    _REQUEST = StandingRequest.make(
        deployment_of(Path(_folder)), KEY.id, "ab" * 32, {"rows": 5}, every="day 03:00", time=1, since=1, until=10**6
    )
_SIGNATURE = _REQUEST.sign(KEY)


# ---- one job at each time ------------------------------------------------------------------------------------------


def test_each_time_gives_one_job(office: Office) -> None:
    asked = office.standing()
    standing = office.stands(asked)
    assert office.stands(asked) == standing  # sent again
    office.clock.now = FIRST - 1
    assert office.occurred() == []
    office.clock.now = FIRST
    (job,) = office.occurred()
    assert job == occurrence_id(standing, FIRST) and office.occurred() == []
    found = office.job(job)
    assert (found.state, found.until, found.at, found.standing) == ("queued", FIRST + HOUR, FIRST, standing)
    assert found.asked == asked and session_of(job) == f"job:{to_text(job)}"
    started = office.queue.start(job)
    assert started is not None and dict(started.job.asked.parameters) == {"rows": 5, "region": "north"}
    assert office.uses_of() == 1
    office.queue.ended(job, "done", result=b"sealed")
    office.clock.now = FIRST + HOUR
    (following,) = office.occurred()
    assert following != job and office.uses_of() == 1
    assert [one.id for one in office.schedules.jobs(standing)] == [following, job]


def test_a_job_that_has_not_started_expires_at_the_next_time(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.clock.now = FIRST + HOUR
    assert str(office.refusal(lambda: office.queue.check(job))) == "the request has expired: sign a new one"
    (following,) = office.occurred()
    office.queue.tidy(30)
    assert office.state(job) == ("expired", "") and office.state(following) == ("queued", "")


def test_times_before_the_first_and_from_the_end_on_give_none(office: Office) -> None:
    standing = office.stands(since=FIRST + 1, until=FIRST + 2 * HOUR + 60)
    for late in (0, HOUR - 1):
        office.clock.now = FIRST + late
        assert office.occurred() == []
    office.clock.now = FIRST + HOUR
    assert len(office.occurred()) == 1
    office.clock.now = FIRST + 2 * HOUR
    (last,) = office.occurred()
    assert office.job(last).until == FIRST + 2 * HOUR + 60  # nothing starts from `until` on
    found = office.schedules.standing(standing)
    assert found is not None and (found.state(office.clock()), found.next(office.clock())) == ("active", None)
    office.clock.now = FIRST + 3 * HOUR
    assert office.occurred() == [] and found.state(office.clock()) == "ended"


def test_a_server_that_was_down_has_the_newest_time_alone(office: Office) -> None:
    office.stands(until=int(NOW) + 7 * DAY)
    office.close()
    office.clock.now = FIRST + 3 * DAY + 1800
    office.open()
    (job,) = office.occurred()
    assert office.job(job).at == FIRST + 3 * DAY and len(office.rows("SELECT id FROM jobs")) == 1
    assert office.queue.start(job) is not None


def test_a_restart_at_the_time_repeats_nothing(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    assert office.queue.start(job) is not None
    office.close()
    office.open()
    office.queue.restarted()
    assert office.occurred() == [] and office.state(job) == ("failed", "Restarted") and office.uses_of() == 1


def test_a_clock_that_is_set_back_repeats_no_time(office: Office) -> None:
    """And times between, which a clock that was ahead passed over, are still had."""
    office.stands()
    office.clock.now = FIRST
    (first,) = office.occurred()
    office.queue.start(first)
    office.queue.ended(first, "done")
    office.clock.now = FIRST + 5 * HOUR
    (ahead,) = office.occurred()
    office.clock.now = FIRST + 60
    assert office.occurred() == []
    refusal = office.refusal(lambda: office.queue.check(ahead))
    assert (refusal.status, str(refusal)) == (425, "the time of this job is 2027-01-15T13:15:00Z: start it then")
    assert office.queue.waiting() == []
    office.clock.now = FIRST + HOUR
    (second,) = office.occurred()
    office.clock.now = FIRST - 60
    assert office.occurred() == []
    office.clock.now = FIRST + 5 * HOUR
    assert office.occurred() == [] and office.queue.start(ahead) is not None
    assert office.state(second) == ("queued", "") and office.uses_of() == 2


def test_a_time_is_not_repeated_after_its_rows_were_removed(office: Office) -> None:
    asked = office.standing()
    standing = office.stands(asked)
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.queue.start(job)
    office.queue.ended(job, "done")
    office.clock.now = NOW + 40 * DAY
    office.queue.tidy(30)
    assert office.queue.job(job) is None and office.rows("SELECT at FROM occurrences") == [(FIRST,)]
    office.schedules.tidy(30)
    assert office.schedules.standing(standing) is None and office.rows("SELECT at FROM occurrences") == []
    assert str(office.refusal(lambda: office.stands(asked))) == "the standing request has ended: sign a new one"
    office.clock.now = FIRST  # set back: the request is taken again, and its first time has run
    office.stands(asked)
    assert office.occurred() == [] and office.queue.job(job) is None and office.uses_of() == 1


def test_a_result_that_is_removed_leaves_its_time(office: Office) -> None:
    office.stands("month 15 08:15", until=int(NOW) + 60 * DAY)
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.queue.cancel(job)
    office.clock.now = FIRST + 32 * DAY
    office.occurred()
    office.queue.tidy(1)
    assert office.queue.job(job) is None
    office.clock.now = FIRST
    assert office.occurred() == []  # cancelled, and not had again


def test_two_at_once_run_one_after_the_other(office: Office) -> None:
    office.stands()
    office.stands()
    office.clock.now = FIRST
    one, two = office.occurred()
    assert office.queue.waiting() == [one, two] and office.queue.start(one) is not None
    assert office.refusal(lambda: office.queue.start(two)).status == 503
    office.clock.now = FIRST + HOUR
    three, _ = office.occurred()
    assert office.refusal(lambda: office.queue.start(three)).status == 503  # the one of the last time still runs
    office.queue.ended(one, "done")
    assert office.queue.start(three) is not None


def test_looks_that_race_queue_one_job(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    gate = threading.Barrier(16)

    def look(_: int) -> int:
        gate.wait(30)
        return len(office.occurred())

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(look, range(16))) == 1
    assert len(office.rows("SELECT id FROM jobs")) == 1


def test_a_start_without_a_session_is_tried_again_until_the_next_time(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.queue.start(job)
    office.queue.unconnected(job)
    assert office.uses_of() == 0
    assert office.refusal(lambda: office.queue.start(job)).status == 425
    office.clock.now = office.job(job).not_before
    assert office.queue.start(job) is not None


# ---- approvals and limits ------------------------------------------------------------------------------------------


def test_a_day_is_waited_for_and_not_refused(tmp_path: Path) -> None:
    """The start of yesterday was some seconds late, so that at the time itself 24 hours are not over."""
    office = Office(tmp_path, per_day=1)
    office.stands("day 08:15", until=int(NOW) + 5 * DAY)
    office.clock.now = FIRST + 7
    (first,) = office.occurred()
    office.queue.start(first)
    office.queue.ended(first, "done")
    office.clock.now = FIRST + DAY
    (second,) = office.occurred()
    refusal = office.refusal(lambda: office.queue.start(second))
    assert refusal.status == 425 and "next after 2027-01-16T08:15:07Z" in refusal.what
    office.queue.settle(second)
    office.queue.tidy(30)
    assert office.state(second) == ("queued", "")
    office.clock.now = FIRST + DAY + 7
    assert office.queue.start(second) is not None and office.uses_of() == 2
    office.close()


def test_uses_that_are_used_refuse_later_times_and_new_ones_let_them_go_on(office: Office) -> None:
    office.approve(times=1, per_day=100)
    standing = office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.queue.start(job)
    office.queue.ended(job, "done")
    for hours in (1, 2):
        office.clock.now = FIRST + hours * HOUR
        (later,) = office.occurred()
        assert office.state(later) == ("refused", "NotCovered")
    assert str(office.refusal(office.stands)) == "1 of 1 use is used: ask this server's operator to approve more"
    office.approve(times=2, per_day=100)
    office.clock.now = FIRST + 3 * HOUR
    (more,) = office.occurred()
    assert office.queue.start(more) is not None and office.uses_of() == 2
    assert len(office.schedules.jobs(standing)) == 4


def test_a_revoked_program_is_refused_at_each_time(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    revoke(office.store, bytes.fromhex(office.program), office.clock())
    assert office.state(job) == ("refused", "Revoked")
    office.clock.now = FIRST + HOUR
    (later,) = office.occurred()
    assert office.state(later) == ("refused", "NotCovered") and office.uses_of() == 0
    assert office.refusal(lambda: office.queue.start(later)).status == 409
    assert office.refusal(office.stands).status == 403
    office.approve(times=100, per_day=100)
    office.clock.now = FIRST + 2 * HOUR
    (again,) = office.occurred()
    assert office.queue.start(again) is not None


def test_another_list_of_servers_starts_none(office: Office) -> None:
    asked = office.standing()
    office.stands(asked)
    elsewhere = dataclasses.replace(asked, deployment=bytes(32))
    assert office.refusal(lambda: office.stands(elsewhere)).do == "compare servers.toml with this server's operator"
    office.queue._deployment = bytes(32)
    office.clock.now = FIRST
    (job,) = office.occurred()
    assert office.state(job) == ("refused", "NotCovered")


def test_what_is_not_approved_is_refused_when_it_is_asked_for(office: Office) -> None:
    office.approve(times=100, per_day=23)
    refusal = office.refusal(office.stands)
    assert str(refusal) == (
        '"hour :15" is 24 times in 24 hours, and 23 starts are approved here: '
        "ask for fewer times, or ask this server's operator"
    )
    office.stands("day 08:15")
    office.stands(until=int(NOW) + 23 * HOUR)
    wide = dataclasses.replace(office.standing("day 03:00"), parameters={"rows": 1001, "region": "north"})
    assert office.refusal(lambda: office.stands(wide)).what == "rows is 1001, and at most 1000 are approved here"
    assert office.refusal(lambda: office.stands(key=OTHER)).status == 403
    early = office.standing("day 08:15")
    office.clock.now = NOW - 301
    assert office.refusal(lambda: office.stands(early)).do == "set the clock"


def test_a_halted_server_skips_times(office: Office) -> None:
    office.stands()
    office.clock.now = FIRST
    (job,) = office.occurred()
    office.queue.start(job)
    office.queue.ended(job, "failed", "CheatingDetected", cheated=True)
    assert office.refusal(office.stands).do == "ask its operator to find the cause"
    for hours in (1, 2, 3):
        office.clock.now = FIRST + hours * HOUR
        assert office.occurred() == []
    office.queue.resume()
    (newest,) = office.occurred()
    assert office.job(newest).at == FIRST + 3 * HOUR and len(office.rows("SELECT id FROM jobs")) == 2


def test_a_cancelled_one_gives_no_more_jobs(office: Office) -> None:
    standing = office.stands()
    office.clock.now = FIRST
    (runs,) = office.occurred()
    office.queue.start(runs)
    office.clock.now = FIRST + HOUR
    (waits,) = office.occurred()
    found = office.schedules.cancel(standing)
    assert found is not None and found.state(office.clock()) == "cancelled" and found.next(office.clock()) is None
    assert office.state(waits) == ("cancelled", "") and office.state(runs) == ("running", "")
    before = office.dump()
    office.clock.now = FIRST + 2 * HOUR
    assert office.occurred() == []
    office.schedules.cancel(standing)
    assert office.dump() == before
    assert office.schedules.cancel(bytes(32)) is None


def test_one_that_has_ended_is_not_cancelled(office: Office) -> None:
    standing = office.stands()
    office.clock.now = NOW + DAY
    found = office.schedules.cancel(standing)
    assert found is not None and found.state(office.clock()) == "ended"


def test_a_thousand_standing_requests_are_too_many(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.approve(times=1000, per_day=1000, requesters=json.dumps([to_text(KEY.id), to_text(OTHER.id)]))
    taken = []
    for _ in range(1000):
        with contextlib.suppress(Refused):
            taken.append(office.stands())
    assert len(taken) == 20
    refusal = office.refusal(office.stands)
    assert (
        str(refusal)
        == "20 standing requests of this key are active here: wait for the end of one of them, or cancel it"
    )
    assert (refusal.status, refusal.retry_after) == (429, 60)
    office.stands(key=OTHER)
    monkeypatch.setattr(_schedules, "MOST_STANDING", 21)
    assert str(office.refusal(lambda: office.stands(key=OTHER))) == "21 standing requests are active here: ask later"
    monkeypatch.setattr(_schedules, "MOST_KEPT", 20)
    office.schedules.cancel(taken[0])
    refusal = office.refusal(office.stands)
    assert (refusal.status, refusal.what) == (429, "20 standing requests of this key are kept here")
    assert refusal.do == "ask again once some of them are over, also those that were cancelled"


def test_jobs_of_standing_requests_take_no_room_of_others(office: Office) -> None:
    office.approve(times=1000, per_day=1000)
    for _ in range(20):
        office.stands()
    office.clock.now = FIRST
    assert len(office.occurred()) == 20
    for _ in range(20):
        office.submit()
    assert office.refusal(office.submit).status == 429
    office.clock.now = FIRST + HOUR
    assert len(office.occurred()) == 20


# ---- bounds --------------------------------------------------------------------------------------------------------


def test_a_standing_request_with_an_error_stops_no_other(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    spoilt, fails, good = (office.stands("hour :15") for _ in range(3))
    office.store.write(lambda c: c.execute("UPDATE standing SET every = 'never' WHERE id = ?", (spoilt,))).result()
    office.store.write(lambda c: c.execute("UPDATE standing SET request = x'00' WHERE id = ?", (fails,))).result()
    office.clock.now += 3600
    for _ in range(3):
        jobs = office.occurred()
        assert {office.job(job).standing for job in jobs} <= {good}
    assert len(office.rows("SELECT id FROM jobs")) == 1
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == 2 and all(f"{one.hex()} gives no job" in " ".join(logged) for one in (spoilt, fails))


def test_the_last_jobs_of_a_standing_request_are_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_schedules, "MOST_LISTED", 3)
    monkeypatch.setattr(_schedules, "MOST_TIMES", 5)
    standing = office.stands("hour :15")
    made = list[bytes]()
    for _ in range(9):
        office.clock.now += 3600
        made += office.occurred()
        office.queue.cancel(made[-1])
    office.clock.now += 3600
    made += office.occurred()
    office.schedules.tidy(30)
    assert [job.id for job in office.schedules.jobs(standing)] == made[:-4:-1]
    assert len(office.rows("SELECT at FROM occurrences")) == 5
    for _ in range(9):  # the clock is set back, over times that had their jobs and are not kept
        office.clock.now -= 3600
        assert office.occurred() == []
    office.clock.now += 10 * 3600
    assert len(office.occurred()) == 1


def test_a_request_that_is_here_is_found_whatever_the_clock_is(office: Office) -> None:
    standing, job = office.standing(), office.request(within_s=60)
    office.stands(standing)
    office.submit(job)
    for office.clock.now in (NOW - 1000, NOW + 86_500):
        assert office.schedules.submit(standing, bytes(64)).result()[1] is False
        assert office.queue.submit(job, bytes(64)).result()[1] is False
