"""The planner of two parties' sharings against what people write down: the mixes of the paper on ABY."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._bench import _applications

LINKS = _applications.LINKS
BY_HAND = {
    name: [mix for mix in mixes if mix != "auto"] for name, mixes in _applications.MIXES.items() if len(mixes) > 1
}


def psi(mpc: qr.Session) -> Any:
    return qr.apps.psi(mpc, np.arange(0, 400, 2), np.arange(0, 600, 3), bits=16, reveal_to="nobody")


def nearest(mpc: qr.Session) -> Any:
    records = np.arange(1024).reshape(256, 4)
    return qr.apps.nearest(mpc, records, np.arange(4), dtype=qr.uint(22), reveal_to="nobody")


def powmod(mpc: qr.Session) -> Any:
    given = (mpc.input([v], owner=i % 2, dtype=qr.uint(8)) for i, v in enumerate((7, 5, 11)))
    return qr.apps.powmod(mpc, *given)


REDUCED = {"psi": psi, "nearest": nearest, "powmod": powmod}
#: As they are measured; nothing is run here.
PAPER = {name: _applications._MADE[name]()[0].plan for name in BY_HAND}


def predicted(arrays: Any, mpc: qr.Session) -> float:
    """Seconds of both phases that follow from what will be done: no clock has a part in them."""
    plan = mpc.explain(*(arrays if isinstance(arrays, Sequence) else [arrays]))
    return sum(phase.seconds - phase.bookkeeping_seconds for phase in (plan.offline, plan.online))


def by_hand(program: Callable[[qr.Session], Any], link: str, mixes: Sequence[str]) -> float:
    """The least time predicted for one request, over several mixes."""

    def seconds(mix: str) -> float:
        with qr.local("aby", network=LINKS[link], sharings=mix) as mpc:
            return predicted(program(mpc), mpc)

    return min(map(seconds, mixes))


def planned(program: Callable[[qr.Session], Any], link: str, enough: float, times: int) -> float:
    """The time predicted for the last of `times` requests to the planner, or for the first that takes `enough`."""
    with qr.local("aby", network=LINKS[link], sharings="auto") as mpc:
        for _ in range(times):
            seconds = predicted(program(mpc), mpc)
            if seconds <= enough:
                break
    return seconds


#: Programs, the largest number of requests, and links. The planner spends a share of the time that requests take, so
#: a short program is planned after many of them.
CASES = [(REDUCED, 400, link) for link in LINKS] + [(PAPER, 80, list(LINKS)[1])]


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize(("programs", "times", "link"), CASES, ids=[*LINKS, "paper"])
def test_plans_are_predicted_to_take_no_longer_than_those_by_hand(
    programs: dict[str, Any], times: int, link: str, name: str
) -> None:
    enough = by_hand(programs[name], link, BY_HAND[name]) * (1 + 1e-9)
    assert planned(programs[name], link, enough, times) <= enough


def test_what_a_clock_measured_is_said_apart() -> None:
    with qr.local("aby", sharings="Y") as mpc:
        seconds = [predicted(powmod(mpc), mpc) for _ in range(3)]
        plan = mpc.explain(powmod(mpc))
    assert all(each == pytest.approx(seconds[0], rel=1e-9) for each in seconds)
    for phase in (plan.offline, plan.online):
        assert 0 < phase.bookkeeping_seconds < phase.compute_seconds
