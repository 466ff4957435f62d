"""Programs whose values are in several sharings: equal results in all of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from quorate._families import FAMILIES

X = np.arange(-6, 6)
Y = np.arange(12)[::-1] - 3


MIXES = [("rss", mix) for mix in ("A", "B", "A+B")]
MIXES += [("aby", mix) for mix in ("A", "B", "Y", "A+B", "A+Y", "B+Y", "A+B+Y", "auto")]


def program(mpc: qr.Session) -> list[np.ndarray]:
    """Returns one of every operation on bits."""
    x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
    z = mpc.where(x < y, x * y, x + 1)
    small = mpc.input(X * 0.25, owner=0, dtype=qr.fixed(20, 4))
    unsigned = mpc.input(np.arange(12), owner=1, dtype=qr.uint(5))
    grid = z.reshape(3, 4)
    values = [z, x.sum(), -x, x - y, x.max(), grid.min(axis=0), y.argmin(), grid.argmax(axis=1), abs(x), x // 3, x % 5]
    values += [x == y, (x > y) & (y > 0), (x > y) | (y > 0), ~(x > y), (x < 2) ^ (y < 2), x.astype(qr.int(8)), x.sort()]
    values += [x.bits().sum(), grid.sum(axis=0), grid.T[1:, ::2], x >> 1, x << 2, mpc.concatenate([x, y])]
    values += [
        small * small,
        small + 1.5,
        small < 0.25,
        small.astype(qr.int(64)),
        unsigned < 7,
        unsigned >> 1,
        unsigned + 3,
    ]
    values += [mpc.from_bits(unsigned.bits()[:, ::-1], qr.uint(5)), mpc.take(x, unsigned), x.cumsum(), x @ y]
    return mpc.reveal_all(*values)


@pytest.fixture(scope="module")
def expected() -> list[np.ndarray]:
    with qr.local("rss") as mpc:
        return program(mpc)


@pytest.mark.parametrize(("protocol", "sharings"), MIXES)
def test_results_do_not_depend_on_sharings(protocol: str, sharings: str, expected: list[np.ndarray]) -> None:
    with qr.local(protocol, sharings=sharings) as mpc:
        results = program(mpc)
    assert len(results) == len(expected)
    for at, (result, right) in enumerate(zip(results, expected, strict=True)):
        assert (np.asarray(result) == np.asarray(right)).all(), at


@pytest.mark.parametrize(("protocol", "sharings"), [("rss", "B"), ("aby", "B"), ("aby", "Y")])
def test_values_stay_where_they_are_from_run_to_run(protocol: str, sharings: str) -> None:
    with qr.local(protocol, sharings=sharings) as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        less = x < y
        assert (less.reveal() == (X < Y)).all()
        assert (mpc.where(less, x, y).reveal() == np.minimum(X, Y)).all()
        assert ((x @ y).reveal() == X @ Y).all()
        assert ((x + y).reveal() == X + Y).all()


@pytest.mark.parametrize(("protocol", "sharings"), MIXES)
def test_plans_are_what_runs_cost(protocol: str, sharings: str) -> None:
    with qr.local(protocol, sharings=sharings) as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        z = mpc.where(x < y, x * y, x + 1).max()
        plan = mpc.explain(z)
        z.reveal()
        stats = mpc.stats()
    assert (plan.online.rounds, plan.online.bytes_sent) == (stats.online.rounds, stats.online.bytes_sent)
    assert (plan.offline.rounds, plan.offline.bytes_sent) == (stats.offline.rounds, stats.offline.bytes_sent)


def test_users_put_values_into_a_sharing() -> None:
    with qr.local("rss", sharings="A+B") as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        in_bits = x.to("B") + y.to("B")
        back = in_bits.to("A") * 2
        assert (in_bits.reveal() == X + Y).all()
        assert (back.reveal() == 2 * (X + Y)).all()


@pytest.mark.parametrize("protocol", FAMILIES)
def test_what_users_put_into_a_sharing_is_there_without_a_planner(protocol: str) -> None:
    with qr.local(protocol) as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        total = x.to("B") + y.to("B")
        assert mpc.explain(total).online.rounds > mpc.explain(x + y).online.rounds + 4
        assert (total.reveal() == X + Y).all()
        assert ((total * 2).reveal() == 2 * (X + Y)).all()


def test_empty_sums_and_operands_used_twice() -> None:
    for sharings in ("A", "B", "A+B"):
        with qr.local("rss", sharings=sharings) as mpc:
            x = mpc.input(X.reshape(3, 4), owner=0)
            assert (x[:0].sum(axis=0).reveal() == np.zeros(4)).all()
            assert ((x == x) & (x < x + 1)).reveal().all()
            assert ((x * x).reveal() == X.reshape(3, 4) ** 2).all()


def test_an_adder_takes_rounds_where_a_sum_of_summands_takes_none() -> None:
    def rounds(sharing: str) -> int:
        with qr.local("rss", sharings="A+B") as mpc:
            x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
            return mpc.explain(x.to(sharing) + y.to(sharing)).online.rounds

    assert rounds("B") > rounds("A") + 4


def test_the_planner_is_no_worse_than_either_alone() -> None:
    def waits(sharings: str) -> float:
        with qr.local("rss", sharings=sharings, network="wan") as mpc:
            x = mpc.input(np.arange(64), owner=0)
            plan = mpc.explain((x * x).sort())
            return plan.offline.network_seconds + plan.online.network_seconds

    # On this network local computing takes next to no time.
    assert waits("A+B") <= 1.02 * min(waits("A"), waits("B"))


def test_what_a_protocol_has_not_is_refused() -> None:
    with pytest.raises(qr.ConfigError, match="A\\+Y"):
        qr.local("rss", sharings="C")
    with qr.local("rss") as mpc:
        x = mpc.input(X, owner=0)
        with pytest.raises(qr.ConfigError, match='has no sharing "Y"'):
            x.to("Y")
        with pytest.raises(qr.ConfigError, match="no sharing"):
            x.to("G")
    with pytest.raises(qr.ConfigError, match="offline_weight"):
        qr.local("rss", offline_weight=-1)


def test_garbled_programs_wait_for_two_messages_whatever_their_length() -> None:
    def plan(steps: int) -> qr.Plan:
        with qr.local("aby", sharings="Y") as mpc:
            x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
            for _ in range(steps):
                x = mpc.where(x < y, x * y, y - x)
            plan = mpc.explain(x)
            x.reveal()
            assert mpc.stats().online.rounds == plan.online.rounds
            return plan

    # The bit of the evaluator's choice, tables, and the result.
    assert [plan(steps).online.rounds for steps in (1, 4, 8)] == [3, 3, 3]


def test_plans_say_what_was_chosen_and_what_came_next() -> None:
    with qr.local("aby", network="wan") as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        plan = mpc.explain(mpc.where(x < y, x, y).max())
        assert set(plan.sharings) <= {"A", "B", "Y"} and sum(plan.sharings.values()) >= 3
        chosen = [step for step in plan.steps if step.sharing is not None]
        assert chosen and all(step.sharing == "Y" for step in chosen)
        for step in chosen:
            assert step.runner_up is not None and step.runner_up[0] != step.sharing and step.runner_up[1] >= 0
        assert "takes" in str(plan) and "choice of sharing" in str(plan) and "choice of sharing" in plan._repr_html_()
    with qr.local("rss") as mpc:
        plan = mpc.explain(mpc.input(X, owner=0) * 2)
        assert not plan.sharings and "choice of sharing" not in str(plan)


#: A round that is so short that a comparison takes less than its planning, and yet mostly waits.
NEAR = qr.Network(rtt_ms=0.2, mbit=1000)


def lesser(mpc: qr.Session) -> qr.SecretArray:
    """Returns a program of some rounds in A, one and a message in Y, and nearly no computing."""
    x, y = mpc.input([3, 1, 2], owner=0), mpc.input([1, 2, 3], owner=1)
    return mpc.where(x < y, x, y)


def test_short_requests_are_planned_once_there_are_many_of_them() -> None:
    with qr.local("aby", network=NEAR) as mpc:
        first = mpc.explain(lesser(mpc))
        assert set(first.sharings) == {"A"}
        for _ in range(200):
            result = lesser(mpc)
            plan, before = mpc.explain(result), mpc.stats().online
            assert (result.reveal() == [1, 1, 2]).all()
            assert mpc.stats().online.rounds == before.rounds + plan.online.rounds  # both parties follow the plan
            if set(plan.sharings) != {"A"}:
                break
        assert "Y" in plan.sharings and plan.online.rounds < first.online.rounds
        assert all(step.runner_up[1] >= 0 for step in plan.steps if step.runner_up is not None)


def test_what_would_be_faster_is_said() -> None:
    with qr.local("aby") as mpc:
        step = mpc.explain(lesser(mpc)).steps[0]
    told = [dataclasses.replace(step, sharing="A", runner_up=("Y", more)).chosen() for more in (2e-3, -2e-3)]
    assert [text.rsplit(maxsplit=1)[1] for text in told] == ["more", "less"]
    assert told[0].rsplit(maxsplit=1)[0] == told[1].rsplit(maxsplit=1)[0]


APART = """
for _ in range(300):
    x = mpc.input([3, 1, 2] if mpc.me == 0 else None, owner=0, shape=(3,), dtype=qr.int(64))
    y = mpc.input([1, 2, 3] if mpc.me == 1 else None, owner=1, shape=(3,), dtype=qr.int(64))
    less = mpc.where(x < y, x, y)
    if mpc.me == 0:
        print(sorted(mpc.explain(less).sharings))
    assert (less.reveal() == [1, 1, 2]).all()
"""


def test_parties_apart_plan_alike_whoever_asks_what_it_costs(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, parties=2)
    for me in (0, 1):
        text = deployment.config(me).read_text().replace('"rss"', '"aby"\nnetwork = "0.2,1000"')
        deployment.config(me, text)
    script = deployment.script(APART)
    parties = [deployment.start(me, script, config=tmp_path / f"party{me}.toml") for me in (0, 1)]
    try:
        ended = [party.end() for party in parties]
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0], [e.err for e in ended]
    assert "['A']" in ended[0].out and "'Y'" in ended[0].out


def test_offline_time_that_does_not_count_is_there_for_planning() -> None:
    with qr.local("aby", network=NEAR, offline_weight=0) as mpc:
        assert "Y" in mpc.explain(lesser(mpc)).sharings


def test_what_users_say_holds_for_short_requests() -> None:
    with qr.local("aby") as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        pinned = mpc.explain(mpc.where(x.to("Y") < y.to("Y"), x.to("Y"), y.to("Y")).max())
        assert pinned.online.rounds <= 4
    with qr.local("aby", sharings="Y") as mpc:
        assert mpc.explain(lesser(mpc)).online.rounds <= 4


@pytest.mark.parametrize(
    ("count", "network", "sharings"),
    [(100_000, qr.Network(rtt_ms=1, mbit=1000), {"A", "B"}), (1000, qr.Network(rtt_ms=170, mbit=70), {"Y"})],
)
def test_sums_and_products_are_arithmetic_and_comparisons_far_apart_are_garbled(
    count: int, network: qr.Network, sharings: set[str]
) -> None:
    with qr.local("aby", network=network) as mpc:
        x, y = mpc.input(np.arange(count), owner=0), mpc.input(np.arange(count)[::-1], owner=1)
        product = mpc.explain((x * y).sum())
        assert {step.sharing for step in product.steps if step.what.startswith("mul")} == {"A"}
        less = mpc.explain(x < y)
        assert {step.sharing for step in less.steps if step.what.startswith("lt")} <= sharings


def test_labels_are_pinned_by_users() -> None:
    with qr.local("aby") as mpc:
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        less = x.to("Y") < y.to("Y")
        assert {step.sharing for step in mpc.explain(less).steps if step.what.startswith("lt")} <= {"Y", None}
        assert (less.reveal() == (X < Y)).all()
        assert (mpc.where(less, x.to("Y"), y.to("Y")).reveal() == np.minimum(X, Y)).all()
        assert ((x.to("Y").to("B") + y.to("B")).to("A").reveal() == X + Y).all()


def test_plans_made_for_other_results_are_no_plans_of_this_run() -> None:
    def program(mpc: qr.Session) -> tuple[qr.SecretArray, qr.SecretArray]:
        x, y = mpc.input(X, owner=0, bound=10), mpc.input(Y, owner=1, bound=10)
        product = x * y
        return product, mpc.where(product < y, product, y).max()

    with qr.local("aby", network=qr.Network(rtt_ms=100, mbit=10)) as mpc:
        mpc.explain(program(mpc)[1])
        again, other = program(mpc)
        plan = mpc.explain(again, other)
        values = mpc.reveal_all(again, other)
        stats = mpc.stats()
    assert (values[0] == X * Y).all() and values[1] == np.where(X * Y < Y, X * Y, Y).max()
    assert (plan.online.rounds, plan.online.bytes_sent) == (stats.online.rounds, stats.online.bytes_sent)


def test_labels_count_as_memory() -> None:
    with qr.local("aby", sharings="Y") as mpc:
        x, y = mpc.input(np.arange(1000), owner=0), mpc.input(np.arange(1000), owner=1)
        assert mpc.explain(x + y).memory_bytes > 3 * 1000 * 64 * 16
