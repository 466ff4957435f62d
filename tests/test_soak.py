"""`benches/soak.py` with few requests: servers are processes that end once each; and what its oracle finds."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import quorate as qr

ROOT = Path(__file__).resolve().parent.parent
REQUESTS = 400


def read_here(office: Any, name: str, parameters: dict[str, Any]) -> dict[str, int]:
    """Reads a campaign in a session of this process, in the place of a job."""
    assert name == "round"
    (one,) = (one for one in office.rounds if one.campaign.hash.hex() == parameters["campaign"])
    with qr.local("rss", parties=3) as mpc:
        people = mpc.campaign(one.file, config=[server.config for server in office.servers])
        people.answer({"above": people["x"] > 500_000})
        return {"sum": int(people["x"].sum().reveal()), "count": int(people.present.sum().reveal())}


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A run, whose servers have ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", time.time)  # the soak installs its clock, which ends with this
        patch.syspath_prepend(str(ROOT / "benches"))
        import _soak_clients
        import _soak_office
        import soak

        patch.setattr(_soak_clients, "_POLLS", 4)  # more of what changes something
        patch.setattr(_soak_office.Office, "run", read_here)
        small = {"at_once": 6, "members": 8, "rounds": 2, "jobs": 0, "restarts": 3, "days": 1.0, "minutes": 5.0}
        plan = soak.Plan(requests=REQUESTS, seed=5, warm=1.0, **small)
        made = soak.Soak(plan, tmp_path_factory.mktemp("soak"))
        try:
            made.run()
        finally:
            made.stop()
        yield SimpleNamespace(soak=made, module=soak, oracle=sys.modules["_soak_oracle"])


@pytest.fixture
def copied(soaked: Any, tmp_path: Path) -> list[Path]:
    """Copies of the stores, and of what programs wrote, for tests that plant defects."""
    files = []
    for server, store in enumerate(soaked.soak.office.stores):
        files.append(tmp_path / f"store{server}.db")
        shutil.copy(store, files[-1])
    return files


def planted(file: Path, statement: str, *values: object) -> None:
    """Changes a store by SQL."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute(statement, values).rowcount == 1
        connection.commit()


def read(soaked: Any) -> tuple[Any, Any]:
    """Returns a campaign that was read, whose packets are in the stores, and a member whose value counts."""
    one = soaked.soak.office.rounds[0]
    assert one.state == "read"
    counted = zip(one.members, one.counts, strict=True)
    return one, next(member for member, number in counted if number and member.made[number] is not None)


def found(soaked: Any, files: list[Path], told: dict[str, int] | None = None) -> list[str]:
    """Returns what the oracle finds wrong with the campaign in these stores."""
    one, _ = read(soaked)
    problems = soaked.oracle.Problems()
    counts = list(one.counts)
    soaked.oracle.settle(one, files, problems)
    one.counts = counts
    soaked.oracle.read_back(one, files, one.wanted() if told is None else told, problems)
    sentences: list[str] = problems.sentences
    return sentences


def test_nothing_is_lost_or_comes_twice(soaked: Any, capsys: pytest.CaptureFixture[str]) -> None:
    soak = soaked.soak
    assert soaked.module.report(soak, soak.check()) == []
    assert f"{soak.traffic.requests} of {REQUESTS} requests" in capsys.readouterr().out
    assert soak.traffic.requests >= REQUESTS and soak.traffic.broken > 0
    assert [server.kills + server.ends for server in soak.office.servers] == [1 + 1] * 3  # the last one by `stop`
    assert [one.is_answered for one in soak.office.rounds] == [one.wanted()["count"] > 0 for one in soak.office.rounds]
    assert sum(member.receipts for one in soak.office.rounds for member in one.members) > 5
    assert all(len(samples) > 3 and samples[-1].store > 0 for samples in soak.samples)


def test_the_oracle_accepts_what_was_stored(soaked: Any, copied: list[Path]) -> None:
    assert found(soaked, copied) == []


def test_a_lost_packet_is_found(soaked: Any, copied: list[Path]) -> None:
    one, member = read(soaked)
    where = "campaign = ? AND place = ? AND number = ?"
    planted(copied[1], f"DELETE FROM packets WHERE {where}", one.campaign.hash, member.place, member.whole)
    lost = found(soaked, copied)
    assert any(f"server 1 has confirmed packet {member.whole} of place {member.place}" in one for one in lost)
    assert any(f"all servers have confirmed packet {member.whole}" in one and "lost" in one for one in lost)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("number = number + 1", "which its client never made"),
        ("digest = zeroblob(32)", "has another packet"),
        ("place = 100", "where there is no client"),
    ],
)
def test_an_altered_packet_is_found(soaked: Any, copied: list[Path], change: str, sentence: str) -> None:
    one, member = read(soaked)
    where = "campaign = ? AND place = ? AND number = ?"
    planted(copied[2], f"UPDATE packets SET {change} WHERE {where}", one.campaign.hash, member.place, member.whole)
    assert any(sentence in one for one in found(soaked, copied))


def test_a_packet_that_counts_twice_and_wrong_results_are_found(soaked: Any, copied: list[Path]) -> None:
    one, member = read(soaked)
    wanted = one.wanted()
    twice = found(soaked, copied, {**wanted, "count": wanted["count"] + 1})
    assert len(twice) == 1 and twice[0].startswith(f"the program on {one.name} has revealed")
    where = "campaign = ? AND place = ?"
    planted(copied[0], f"DELETE FROM results WHERE {where}", one.campaign.hash, member.place)
    planted(copied[0], f"UPDATE outcomes SET outcome = 'absent' WHERE {where}", one.campaign.hash, member.place)
    wrong = found(soaked, copied)
    assert any("server 0 keeps" in one for one in wrong)
    assert any(f"server 0 says 'absent' of place {member.place}" in one for one in wrong)


def test_jobs_that_ran_twice_or_not_at_all_are_found(soaked: Any, copied: list[Path], tmp_path: Path) -> None:
    jobs, problems, ran = soaked.oracle.Jobs(), soaked.oracle.Problems(), tmp_path / "ran"
    twice, never, unasked = bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32
    with contextlib.closing(sqlite3.connect(copied[0])) as connection:
        connection.execute("INSERT INTO uses VALUES (?, ?, 0)", (twice, bytes(32)))
        connection.commit()
    jobs.asked.update({twice: 1, never: 2})
    jobs.done.update((twice, never))
    ran.write_text("1\n1\n0\n9\n")
    jobs.check(0, copied[0], ran, problems)
    for sentence in ("has run job 01010101", "has called job 02020202", "jobs of schedules 1 times", "nobody asked"):
        assert any(sentence in one for one in problems.sentences), problems.sentences
    assert not any(unasked.hex()[:8] in one for one in problems.sentences)


def test_slopes_and_their_intervals(soaked: Any) -> None:
    slopes = sys.modules["_soak_slopes"]
    x = [float(i) for i in range(240)]
    noise = [((i * 7919) % 101 - 50) / 10 for i in range(240)]
    grows = slopes.slope(x, [3 + 0.5 * a + b for a, b in zip(x, noise, strict=True)])
    assert grows.low < 0.5 < grows.high < 0.6 and grows.exceeds(0.4) and not grows.exceeds(0.5)
    flat = slopes.slope(x, noise)
    assert flat.low < 0 < flat.high and not flat.exceeds(0.0)
    assert slopes.slope(x[:3], x[:3]) is None and slopes.slope([1.0] * 9, x[:9]) is None
    # Tables of Student's distribution: 2.571, 2.228 and 2.042.
    assert [round(slopes.student(n), 2) for n in (5, 10, 30)] == [2.57, 2.23, 2.04]
