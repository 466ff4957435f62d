"""Threads and memory of a party: equal results, plans that hold, limits that are kept or refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._families import DEFAULT, FAMILIES

MB = 10**6

# The largest resident memory of a process. ru_maxrss would include the memory of the process that started it.
PEAK = """
def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024
"""

# Compares in five parties and prints the largest resident memory of the process, in bytes, before and after. The plan
# is that of another session, made afterwards: the first plan of a process measures the machine, in memory that is no
# party's.
SCRIPT = """
import sys
import numpy as np
import quorate as qr
PEAK
limit = None if sys.argv[1] == "none" else sys.argv[1]
rng = np.random.default_rng(1)
x, y = rng.integers(-(2**40), 2**40, (2, 150_000))
with qr.local("rss", parties=5, max_memory=limit) as mpc:
    a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
    before = peak()
    assert ((a < b).reveal() == (x < y)).all()
    after, stats = peak(), mpc.stats()
with qr.local("rss", parties=5, max_memory=limit) as mpc:
    plan = mpc.explain(mpc.input(x, owner=0) < mpc.input(y, owner=1))
print(before, after, plan.memory_bytes)
for phase in ("offline", "online"):
    planned, measured = getattr(plan, phase), getattr(stats, phase)
    assert (planned.rounds, tuple(planned.bytes_sent)) == (measured.rounds, tuple(measured.bytes_sent)), phase
"""


def memory(tmp_path: Path, limit: str) -> tuple[int, int]:
    """Returns the bytes by which the process grew, and those that the plan predicted for one party."""
    script = tmp_path / "compare.py"
    script.write_text(SCRIPT.replace("PEAK", PEAK), encoding="utf-8")
    run = subprocess.run([sys.executable, str(script), limit], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    before, after, planned = map(int, run.stdout.split()[:3])
    return after - before, planned


def test_memory_stays_within_its_limit_and_costs_stay_those_of_the_plan(tmp_path: Path) -> None:
    free, planned = memory(tmp_path, "none")
    bound, planned_bound = memory(tmp_path, "110MB")
    assert planned > 110 * MB >= planned_bound
    assert bound < 5 * planned_bound + 30 * MB
    assert bound < free - 100 * MB


MANY = """
import numpy as np
import quorate as qr
PEAK
with qr.local("rss") as mpc:
    x, y = mpc.input(np.arange(10**6), owner=0), mpc.input(np.arange(10**6), owner=1)
    sums = [(x * (y + i)).sum() for i in range(40)]
    mpc.reveal_all(*sums)
    print(peak())
"""


def test_independent_large_steps_do_not_pile_up_without_a_limit(tmp_path: Path) -> None:
    script = tmp_path / "many.py"
    script.write_text(MANY.replace("PEAK", PEAK), encoding="utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    # Forty sums y + i and forty products of 16 MB a party are 3.8 GB.
    assert int(run.stdout) < 1800 * MB


def test_sizes_in_words() -> None:
    for given, count in (
        ("1e9", 10**9),
        ("1.5e9", 15 * 10**8),
        ("2E+6 kB", 2 * 10**9),
        (1e16, 10**16),
        ("4 GiB", 2**32),
    ):
        with qr.local("rss", max_memory=given) as mpc:
            assert mpc._options.max_memory == count
    for given in ("1e99", "9" * 400, "e9", "1e", "-1e9", float("inf")):
        with pytest.raises(qr.ConfigError, match="max_memory must be"):
            qr.local("rss", max_memory=given)


def test_little_memory_is_shown_in_kilobytes() -> None:
    with qr.local("rss", max_memory="1 kB") as mpc:
        x = mpc.input(np.arange(400), owner=0)
        with pytest.raises(qr.ConfigError, match=r"needs \d+ kB .* max_memory is 1 kB"):
            (x * x).reveal()


def test_what_cannot_fit_is_refused_before_anything_is_sent() -> None:
    with qr.local("rss", max_memory="8 MiB") as mpc:
        x = mpc.input(np.arange(400_000), owner=0)
        plan = mpc.explain(x * x)
        assert plan.refusal is not None and "REFUSED" in str(plan) and "Refused" in plan._repr_html_()
        with pytest.raises(qr.ConfigError, match=r"of \(400000,\).*at test_resources.py:\d+ needs \d+ MB.*is 8388 kB"):
            (x * x).reveal()
        assert mpc.stats().online.rounds == 0
        small = mpc.input([3, -5], owner=0)
        assert (small * small).reveal().tolist() == [9, 25]


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 2.0])
def test_plans_under_a_limit_know_what_is_dropped(share: float) -> None:
    """Lengths that fill no byte, temporaries that are freed: correlations made ahead differ in bytes from others."""

    def planned_and_measured(limit: int | None) -> tuple[int, list[int], list[int]]:
        with qr.local("rss", parties=5, forms="edabits", max_memory=limit) as mpc:
            x, y = mpc.input(np.arange(1001), owner=0), mpc.input(np.arange(1001)[::-1].copy(), owner=1)
            z = x
            for _ in range(60):
                z = z + y
            count = sum((((z + i) < y).sum() for i in range(2)), start=mpc.constant(0))
            del z
            plan = mpc.explain(count)
            if plan.refusal is None:
                count.reveal()
            stats = mpc.stats()
        sent = [sum(n or 0 for n in phase.bytes_sent) for phase in (plan.offline, plan.online)]
        return plan.memory_bytes, sent, [sum(p.bytes_sent) for p in (stats.offline, stats.online)]

    whole, planned, measured = planned_and_measured(None)
    assert planned == measured
    _, planned, measured = planned_and_measured(int(whole * share))
    assert planned == measured or measured == [0, 0]
    assert share < 0.9 or measured != [0, 0]


@pytest.mark.parametrize("given", [0, -1, True, "much", "4 TB", "GB", 2**70])
def test_limits_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(qr.ConfigError, match="max_memory must be a number of bytes"):
        qr.local("rss", max_memory=given)


@pytest.mark.parametrize("given", [0, -1, True, "two", 1.5, 257])
def test_threads_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(qr.ConfigError, match="threads must be a whole number from 1 to 256"):
        qr.local("rss", threads=given)


@pytest.mark.parametrize("parties", [3, 5])
def test_threads_change_no_result_and_no_cost(parties: int) -> None:
    rng = np.random.default_rng(parties)
    x, y = rng.integers(-(2**62), 2**62, (2, 160, 160))
    seen = []
    for threads in (1, 3):
        with qr.local("rss", parties=parties, threads=threads, check=False) as mpc:
            a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
            got = mpc.reveal_all(a @ b, a * b, a < b)
            stats = mpc.stats()
            seen.append((stats.offline.bytes_sent, stats.online.bytes_sent, stats.online.rounds))
        with np.errstate(over="ignore"):
            for result, expected in zip(got, (x @ y, x * y, x < y), strict=True):
                np.testing.assert_array_equal(result, expected)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("family", "options"),
    [("aby", {"sharings": "Y"}), ("aby", {}), ("spdz2k", {}), ("pika", {}), ("pika", {"malicious": True})],
)
def test_threads_change_nothing_in_any_family(family: str, options: dict[str, Any]) -> None:
    """With sharing Y, products are circuits that are garbled ahead, more of them than a stream has under way."""
    rng = np.random.default_rng(7)
    x, y = rng.integers(-(2**31), 2**31, (2, 400))
    seen = []
    for threads in (1, 2):
        with qr.local(family, threads=threads, check=False, **options) as mpc:
            a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
            got = mpc.reveal_all(a * b, a < b)
            stats = mpc.stats()
            assert stats.online.compute_seconds >= 0 and stats.offline.compute_seconds >= 0
            seen.append((stats.offline.bytes_sent, stats.online.bytes_sent, stats.online.rounds))
        np.testing.assert_array_equal(got[0], x * y)
        np.testing.assert_array_equal(got[1], x < y)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_far_lines_have_more_under_way_which_counts(family: str) -> None:
    """More chunks run at a time if round trips are long, unless users set a limit or chunks are large."""
    r = np.random.default_rng(4)
    x, y = r.integers(-(10**6), 10**6, (2, 70_000))

    def planned(rtt_ms: float, *, run: bool = False, **options: Any) -> int:
        with qr.local(family, network=qr.Network(rtt_ms=rtt_ms, mbit=10_000), **options) as mpc:
            less = mpc.input(x, owner=0, dtype=qr.int(24)) < mpc.input(y, owner=1, dtype=qr.int(24))
            plan = mpc.explain(less)
            if run:
                assert (less.reveal() == (x < y)).all()
        return plan.memory_bytes

    near, far = planned(1), planned(12, run=True)
    assert near + (family == DEFAULT) <= far <= near + 128 * 2**20
    assert planned(12, max_memory="2GB") <= near
