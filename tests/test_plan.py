"""Plans equal the costs of runs: rounds and bytes of every party, in both phases."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from protocols import USUAL, Place, among, places
from quorate._display import _progress
from quorate._families import FAMILIES
from quorate._session._placeholder import Placeholder
from quorate.demo import breast_cancer_jobs
from warm import quorate

ROOT = Path(__file__).resolve().parent.parent


def costs(phase: Any) -> tuple[int, list[int]]:
    return phase.rounds, list(phase.bytes_sent)


def gained(after: qr.Stats, before: qr.Stats | None, name: str) -> tuple[int, list[int]]:
    rounds, sent = costs(getattr(after, name))
    if before is not None:
        earlier = costs(getattr(before, name))
        return rounds - earlier[0], [now - then for now, then in zip(sent, earlier[1], strict=True)]
    return rounds, sent


def lines(of: Any) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Returns rounds, and bytes by party, of every line that sends or waits."""
    return {line.line: (line.rounds, line.bytes_sent) for line in of if line.rounds or any(line.bytes_sent)}


def gained_lines(after: qr.Stats, before: qr.Stats) -> dict[str, tuple[int, tuple[int, ...]]]:
    nothing = (0, (0,) * after.parties)
    earlier = {name: (line.rounds, line.bytes_sent) for name, line in before.by_line.items()}
    gains = {}
    for name, line in after.by_line.items():
        rounds, sent = earlier.get(name, nothing)
        gains[name] = (line.rounds - rounds, tuple(now - then for now, then in zip(line.bytes_sent, sent, strict=True)))
    return gains


def assert_exact(mpc: qr.Session, *arrays: qr.SecretArray) -> None:
    """Reveals arrays and compares the cost with the plan."""
    before = mpc.stats()
    plan = mpc.explain(*arrays)
    assert mpc.stats() == before, "explaining sent something"
    mpc.reveal_all(*arrays)
    after = mpc.stats()
    assert gained(after, before, "offline") == costs(plan.offline)
    assert gained(after, before, "online") == costs(plan.online)
    made = {k: n - before.offline.correlations.get(k, 0) for k, n in after.offline.correlations.items()}
    assert {k: n for k, n in made.items() if n} == plan.correlations
    of_steps = [sum(sent) for sent in zip(*(step.bytes_sent for step in plan.steps), strict=True)]
    assert of_steps == [sent for sent in plan.online.bytes_sent if of_steps]
    ran = {line: now for line, now in gained_lines(after, before).items() if any(now[1]) or now[0]}
    planned = lines(plan.lines)
    assert {line: sent for line, (_, sent) in planned.items() if any(sent)} == {
        line: sent for line, (_, sent) in ran.items() if any(sent)
    }
    for line, (rounds, _) in planned.items():
        # Statistics over runs are those of the party with the most bytes in total, which may have fewer in one run.
        fewer = ran.get(line, (0,))[0]
        assert fewer == rounds or (fewer < rounds and line in before.by_line), line


def program(data: Any, mpc: qr.Session, dtype: qr.Dtype, bound: int | None) -> list[qr.SecretArray]:
    """Some arrays that depend on each other."""
    rows = data.draw(st.integers(1, 40))
    values = np.arange(rows * 3).reshape(rows, 3) % 2
    x = mpc.input(values, owner=0, dtype=dtype, bound=bound)
    y = mpc.input(values[::-1], owner=1, dtype=dtype, bound=bound)
    pool = [x, y]
    steps = {
        "product": lambda a, b: a * b,
        "sum": lambda a, b: (a + b).sum(axis=-1, keepdims=True) + b,
        "matrix": lambda a, b: (a.T @ b).sum() + a,
        "choice": lambda a, b: mpc.where(a < b, a, b),
        "equal": lambda a, b: mpc.where((a == b) & (a > 0), 1, b),
        "shift": lambda a, b: (a >> 1) - b,
        "largest": lambda a, b: a.max(axis=0) + b,
        "place": lambda a, b: mpc.where(a.argmax(axis=0) == 1, a, b),
        "public": lambda a, b: (a + 1) * np.ones(3, int) - b,
    }
    for name in data.draw(st.lists(st.sampled_from(sorted(steps)), min_size=1, max_size=6)):
        a, b = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        pool.append(steps[name](a, b))
    return pool


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), place=st.sampled_from([*USUAL, *USUAL, *places()]), k=st.integers(4, 64), bounded=st.booleans())
def test_plans_of_random_programs_are_exact(data: Any, place: Place, k: int, bounded: bool) -> None:
    dtype = qr.fixed(k, k // 3) if data.draw(st.booleans()) else qr.int(k)
    with among(place) as mpc:
        pool = program(data, mpc, dtype, 1 if bounded else None)
        first = data.draw(st.sampled_from(pool))
        assert_exact(mpc, first)
        assert_exact(mpc, *pool)  # results that were computed are not computed again
        assert_exact(mpc, pool[-1])


@pytest.mark.parametrize("place", places(5), ids=str)
def test_plans_of_array_operations_are_exact(place: Place) -> None:
    with among(place) as mpc:
        x = mpc.input(np.arange(-6, 6), owner=0)
        short = mpc.input(np.arange(12), owner=1, bound=100)
        u = mpc.input(np.arange(12), owner=place.parties - 1, dtype=qr.uint(40))
        z = mpc.input(np.arange(12) / 4, owner=0)
        assert_exact(mpc, *divmod(x, 7), short // 10, u // 3, z // 2, x // np.arange(1, 13), x % -5)
        assert_exact(mpc, u < 5, u >> 3, u.max(), u.astype(qr.fixed(64, 16)), u.astype(qr.int(8)))
        assert_exact(mpc, mpc.from_bits(u.bits(), u.dtype), (x > 0).max(), (x > 0).min())
        mixed = mpc.shuffle(x, x > 0, z)
        assert isinstance(mixed, tuple)
        assert_exact(mpc, mixed[0])
        assert_exact(mpc, *mixed[1:])  # the shuffle has run before
        assert_exact(mpc, *mpc.sort(u, z))


@pytest.mark.parametrize("job", breast_cancer_jobs(), ids=lambda job: job.name)
def test_plans_of_models_are_exact(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    original = qr.Session.reveal_all

    def explained(self: qr.Session, *arrays: qr.SecretArray, to: int | None = None, units: bool = False) -> list[Any]:
        plans.append(self.explain(*arrays, to=to))
        return original(self, *arrays, to=to, units=units)

    monkeypatch.setattr(qr.Session, "reveal_all", explained)
    with qr.local("rss") as mpc:
        job.model.predict(mpc, job.records, model_owner=0, data_owner=1)
        (plan,) = plans
        stats = mpc.stats()
    assert (costs(stats.offline), costs(stats.online)) == (costs(plan.offline), costs(plan.online))


def test_a_reveal_to_one_party_is_planned_as_such() -> None:
    plans = {}
    for to in (None, 1):
        with qr.local() as mpc:
            x = mpc.input(np.arange(1000), owner=0)
            plan = mpc.explain(x, to=to)
            x.reveal(to=to)
            plans[to] = costs(mpc.stats().online)
            assert plans[to] == costs(plan.online)
    assert sum(plans[1][1]) < sum(plans[None][1])


def test_bounds_make_comparisons_cheaper() -> None:
    def cost(bound: int | None) -> Any:
        with qr.local() as mpc:
            x, y = (mpc.input(np.arange(100), owner=p, bound=bound) for p in (0, 1))
            return mpc.explain(x < y)

    wide, narrow = cost(None), cost(1000)
    assert narrow.online.rounds < wide.online.rounds
    assert max(narrow.online.bytes_sent) < max(wide.online.bytes_sent)
    assert sum(narrow.offline.bytes_sent) <= sum(wide.offline.bytes_sent)


def test_independent_work_shares_rounds() -> None:
    with qr.local() as mpc:
        x, y = mpc.input(np.arange(5), owner=0), mpc.input(np.arange(5), owner=1)
        one = mpc.explain(x < y)
        two = mpc.explain(x < y, y < x, x * y)
        assert two.online.rounds == one.online.rounds
        assert two.offline.rounds == one.offline.rounds


def test_what_a_plan_says() -> None:
    with qr.local() as mpc:
        x, y = mpc.input(np.arange(5), owner=0), mpc.input(np.arange(5), owner=1)
        plan = mpc.explain((x < y).sum(), network="wan")
        text = str(plan)
        for word in (
            "rss",
            "3 parties",
            "wan",
            "semi-honest",
            "offline",
            "online",
            Path(__file__).name,
            ": lt, cast, sum",
        ):
            assert word in text, f"{word!r} is not in {text}"
        assert repr(plan) == text
        html = plan._repr_html_()
        assert "<b>rss</b>, 3 parties, on wan" in html
        assert ": lt, cast, sum" in html
        assert plan.memory_bytes > 0
        assert mpc.stats().online.rounds == 0


@pytest.mark.parametrize(
    ("network", "rtt_ms", "mbit"),
    [("lan", 0.106, 1000), ("wan", 46, 76), ("70,100", 70, 100), (qr.Network(rtt_ms=5, mbit=2), 5, 2)],
    ids=str,
)
def test_networks_price_plans(network: Any, rtt_ms: float, mbit: float) -> None:
    with qr.local() as mpc:
        x = mpc.input(np.arange(10000), owner=0)
        plan = mpc.explain(x * x, network=network)
    for phase, last_word in ((plan.offline, 0), (plan.online, 1)):
        wanted = (phase.rounds + last_word) * rtt_ms / 2000 + max(phase.bytes_sent, default=0) * 8 / (mbit * 1e6)
        assert phase.network_seconds == pytest.approx(wanted)
        assert phase.seconds == phase.network_seconds + phase.compute_seconds
        assert phase.compute_seconds > 0


def test_without_a_network_the_seconds_are_those_of_this_session() -> None:
    with qr.local() as mpc:
        plan = mpc.explain(mpc.input([1], owner=0))
        assert plan.network is None
        assert 0 < plan.online.seconds < 0.1


def test_a_session_on_a_network_plans_for_it() -> None:
    with qr.local(network=qr.Network(rtt_ms=20, mbit=1000)) as mpc:
        x, y = mpc.input([1, 2], owner=0), mpc.input([2, 1], owner=1)
        plan = mpc.explain(x < y)
        assert plan.online.network_seconds == pytest.approx((plan.online.rounds + 1) * 0.01, rel=0.1)
        assert plan.network == "20.0,1000.0"


def test_what_was_computed_before_is_opened_without_a_last_word() -> None:
    with qr.local(network=qr.Network(rtt_ms=20, mbit=1000)) as mpc:
        x = mpc.input([1, 2], owner=0) * 2
        x.reveal()
        again = mpc.explain(x).online
        assert again.rounds > 0
        assert again.network_seconds == pytest.approx(again.rounds * 0.01, rel=0.1)


# ---- simulated networks --------------------------------------------------------------------------------------------


def test_a_simulated_network_really_delays() -> None:
    with qr.local(network=qr.Network(rtt_ms=30, mbit=1000)) as mpc:
        x, y = mpc.input([3, -5, 7], owner=0), mpc.input([2, 9, 7], owner=1)
        started = time.monotonic()
        assert mpc.where(x < y, x * y, x + 1).reveal().tolist() == [4, -45, 8]
        took = time.monotonic() - started
        stats = mpc.stats()
    rounds = stats.offline.rounds + stats.online.rounds
    assert rounds > 10
    assert took >= rounds * 0.015
    assert took < 3 * rounds * 0.015 + 20
    assert stats.online.seconds >= stats.online.rounds * 0.015 * 0.9


def test_a_slow_network_takes_its_time_for_bytes() -> None:
    values = np.arange(20000)
    with qr.local(network=qr.Network(rtt_ms=0, mbit=8)) as mpc:
        x = mpc.input(values, owner=0)
        started = time.monotonic()
        assert (x.reveal() == values).all()
        took = time.monotonic() - started
        busiest = max(mpc.stats().online.bytes_sent)
    # Two of its links share the busiest party's bytes, and each has the bandwidth for itself.
    assert took >= busiest / 1e6 / 2 * 0.9


# ---- quorate explain -----------------------------------------------------------------------------------------------


def explain(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return quorate("explain", *arguments, cwd=cwd)


@pytest.mark.parametrize("model", ["tree", "svm"])
def test_explain_an_example(model: str) -> None:
    done = explain("examples/score.py", "--network", "wan", "--model", model, "--records", "10")
    assert done.returncode == 0, done.stderr
    assert "run 1 of 1" in done.stdout
    assert "on wan" in done.stdout
    assert "score.py:" in done.stdout


def test_explained_rounds_are_those_of_the_run(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    script.write_text(
        "import quorate as qr\nwith qr.session() as mpc:\n    x = mpc.input([1, 2], owner=0)\n    y = x * x\n"
        "    y.reveal()\n    (y < 3).reveal()\n    print('ran', mpc.stats().online.rounds)\n"
    )
    done = explain(str(script))
    assert done.returncode == 0, done.stderr
    assert "ran 0" in done.stdout
    assert "run 2 of 2" in done.stdout
    planned = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("online   ")]
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == ["ran", str(sum(planned))]


@pytest.mark.parametrize(
    "use", ["if v[0] > 1: pass", "int(v)", "for e in v: pass", "v + 1", "bool(v)", "len(v)", "v.sum()", "np.asarray(v)",
            "v == 3", "f = float(v)", "v[0]", "v @ v", "-v", "v / 2", "3 * v", "np.ones(2) * v",
            "np.sum(v)", "1 in v", "v & 1", "abs(v)", "v % 2"],
)  # fmt: skip
def test_what_was_not_computed_decides_nothing(tmp_path: Path, use: str) -> None:
    script = tmp_path / "branching.py"
    script.write_text(
        "import numpy as np, quorate as qr\nwith qr.session() as mpc:\n    v = mpc.input([1, 2], owner=0).reveal()\n"
        f"    print(v)\n    {use}\n"
    )
    done = explain(str(script))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "branching.py:5" in done.stderr
    assert "not computed" in done.stdout
    assert "nothing is computed" in done.stderr
    assert "run 1 of 1" in done.stdout


def test_placeholders_know_their_shape() -> None:
    assert Placeholder((2, 3)).shape == (2, 3)
    with pytest.raises(TypeError):
        hash(Placeholder(()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--network", "dsl"], "dsl"), (["--protocol", "bgw"], "bgw"), (["--parties", "4"], "3, 5 or 7"),
     (["--parties", "x"], "invalid int")],
    ids=str,
)  # fmt: skip
def test_bad_arguments(arguments: list[str], words: str) -> None:
    done = explain("examples/score.py", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize("protocol", FAMILIES)
def test_the_online_phase_begins_when_the_slowest_party_is_done_with_the_offline_phase(protocol: str) -> None:
    """In each run the wait for others' offline phases is no part of the online phase."""
    with qr.local(protocol) as mpc:
        x, y = (mpc.input(np.arange(100), owner=owner) for owner in (0, 1))
        (x < y).reveal()
        before = mpc.stats()
        for _ in range(10):
            (x < y).reveal()
            after = mpc.stats()
            took = [
                tuple(after.timeline[party][phase] - before.timeline[party][phase] for phase in ("offline", "online"))
                for party in after.timeline
            ]
            ended = max(offline for offline, _ in took)
            whole = max(sum(both) for both in took)
            assert after.offline.seconds - before.offline.seconds == pytest.approx(ended)
            assert after.online.seconds - before.online.seconds == pytest.approx(whole - ended)
            before = after


def test_a_run_that_sends_much_says_so_as_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_MUCH_BYTES", 10**6)
    with qr.local("rss") as mpc:
        x = mpc.input(np.arange(10**6), owner=0, bound=10**6)
        y = mpc.input(np.arange(10**6), owner=1, bound=10**6)
        with warnings.catch_warnings():
            warnings.simplefilter("error", qr.CostWarning)
            with pytest.raises(qr.CostWarning, match=r"predicted to send .* MB .*test_plan\.py") as told:
                for _ in range(100):
                    (x < y).reveal()
        assert "Ctrl-C" in str(told.value)
        assert (x < y).sum().reveal() == 0, "the session goes on"


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_plans_of_many_chunks_are_what_the_run_costs(place: Place) -> None:
    """Equal chunks are run dry once; 40,000 comparisons and products are five chunks and more."""
    with among(place) as mpc:
        x, y = (mpc.input(np.arange(40_000) % (97 + owner), owner=owner, dtype=qr.int(32)) for owner in (0, 1))
        z = mpc.where(x < y, x * y, x).sum()
        plan = mpc.explain(z)
        z.reveal()
        stats = mpc.stats()
    for planned, measured in ((plan.offline, stats.offline), (plan.online, stats.online)):
        assert costs(planned) == costs(measured)
    assert {kind: count for kind, count in stats.offline.correlations.items() if count} == plan.correlations
