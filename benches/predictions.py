#!/usr/bin/env python3
"""Compares predicted seconds with measured ones: 22 workloads, each predicted with rates measured just before it.

    .venv/bin/python benches/predictions.py
    .venv/bin/python benches/predictions.py --only sort,argmax --runs 9

All parties are threads of this process. On memory links, the compared seconds are those for which the parties' threads
had cores, so that other programs disturb only by the caches that they take. On a simulated network, they are those of
the wall clock.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import quorate as qr
from quorate import _quorate

RNG = np.random.default_rng(11)


class Workload(NamedTuple):
    """A request, the family and number of parties that compute it, and their network (None: memory links)."""

    ask: Callable[[qr.Session], qr.SecretArray]
    protocol: str = "rss"
    parties: int = 3
    network: qr.Network | None = None


def two(mpc: qr.Session, count: int) -> tuple[qr.SecretArray, qr.SecretArray]:
    x, y = (mpc.input(RNG.integers(-(10**6), 10**6, count), owner=p) for p in (0, 1))
    return x, y


def reals(mpc: qr.Session, count: int) -> qr.SecretArray:
    return mpc.input(RNG.normal(size=count), owner=0)


def product(mpc: qr.Session, count: int) -> qr.SecretArray:
    x, y = two(mpc, count)
    return x * y


def less(mpc: qr.Session, count: int) -> qr.SecretArray:
    x, y = two(mpc, count)
    return x < y


def equal(mpc: qr.Session, count: int) -> qr.SecretArray:
    x, y = two(mpc, count)
    return x == y


def matrix(mpc: qr.Session, side: int) -> qr.SecretArray:
    x, y = two(mpc, side * side)
    return x.reshape(side, side) @ y.reshape(side, side)


def chain(mpc: qr.Session, length: int) -> qr.SecretArray:
    x, y = two(mpc, 10)
    for _ in range(length):
        x = x * y
    return x


@functools.cache
def factor(mpc: qr.Session) -> qr.SecretArray:
    return mpc.input(RNG.integers(-4096, 4096, (3000, 1000)) / 4096, owner=0, dtype=qr.fixed(32, 12)).as_factor()


def line(mpc: qr.Session) -> qr.SecretArray:
    """Multiplies by a factor, which the first run shares and opens; the measured runs use it."""
    return mpc.input(RNG.integers(-4096, 4096, (1, 3000)) / 4096, owner=1, dtype=qr.fixed(32, 12)) @ factor(mpc)


WORKLOADS = {
    "product of a thousand": Workload(lambda mpc: product(mpc, 1000)),
    "product of a million": Workload(lambda mpc: product(mpc, 10**6)),
    "product of five parties": Workload(lambda mpc: product(mpc, 10**5), parties=5),
    "matrices": Workload(lambda mpc: matrix(mpc, 256)),
    "less-than": Workload(lambda mpc: less(mpc, 10**5)),
    "less-than of five parties": Workload(lambda mpc: less(mpc, 2000), parties=5),
    "equality": Workload(lambda mpc: equal(mpc, 10**5)),
    "exact truncation": Workload(lambda mpc: reals(mpc, 50000) * reals(mpc, 50000)),
    "sort": Workload(lambda mpc: two(mpc, 64)[0].sort()),
    "argmax": Workload(lambda mpc: two(mpc, 10**4)[0].argmax()),
    "sigmoid": Workload(lambda mpc: qr.sigmoid(reals(mpc, 10**4))),
    "chain": Workload(lambda mpc: chain(mpc, 50)),
    "slow network": Workload(lambda mpc: product(mpc, 50000), network=qr.Network(rtt_ms=5, mbit=100)),
    "far network": Workload(lambda mpc: less(mpc, 1000), network=qr.Network(rtt_ms=20, mbit=50)),
    "product of two": Workload(lambda mpc: product(mpc, 10**4), "aby", 2),
    "less-than of two": Workload(lambda mpc: less(mpc, 3000), "aby", 2),
    "argmax of two": Workload(lambda mpc: two(mpc, 300)[0].argmax(), "aby", 2),
    "less-than with keys": Workload(lambda mpc: less(mpc, 10**4), "pika"),
    "line by a factor": Workload(line, "pika"),
    "product with MACs": Workload(lambda mpc: product(mpc, 10**4), "spdz2k", 2),
    "less-than with MACs": Workload(lambda mpc: less(mpc, 2000), "spdz2k", 2),
    "equality with MACs": Workload(lambda mpc: equal(mpc, 2000), "spdz2k", 2),
}


def _taken(phase: str, before: qr.Stats, after: qr.Stats) -> tuple[float, float]:
    """Returns the seconds of a phase between two states: for which the parties' threads had cores, and by the clock."""
    then, now = getattr(before, phase), getattr(after, phase)
    return now.compute_seconds - then.compute_seconds, now.seconds - then.seconds


def measured(workload: Workload, runs: int) -> list[tuple[float, float]]:
    """Returns predicted and measured seconds of `runs` runs, after one run that fills caches and memory."""
    found = []
    far = workload.network is not None
    # Products in a row wrap, which costs what others cost.
    place = {
        "parties": workload.parties,
        "network": workload.network,
        "threads": 1,
    }  # measured are those of all threads
    with qr.local(workload.protocol, **place, check=False) as mpc:
        for _ in range(1 + runs):
            _quorate.recalibrate()
            array = workload.ask(mpc)
            plan, before = mpc.explain(array), mpc.stats()
            array.reveal()
            offline, online = (_taken(phase, before, mpc.stats()) for phase in ("offline", "online"))
            predicted = plan.seconds if far else plan.offline.compute_seconds + plan.online.compute_seconds
            found.append((predicted, offline[far] + online[far]))
    return found[1:]


def main() -> None:
    """Prints the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--only", default=",".join(WORKLOADS), help="workloads, separated by commas")
    ask.add_argument("--runs", type=int, default=5, help="of each workload (default: %(default)s)")
    asked = ask.parse_args()
    names = asked.only.split(",")
    if unknown := set(names) - set(WORKLOADS):
        ask.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if asked.runs < 1:
        ask.error("--runs must be 1 or more")
    print(f"{'workload':26} {'protocol':8} {'predicted ms':>12} {'measured ms':>12}   predicted / measured")
    medians = []
    for name in names:
        runs = measured(WORKLOADS[name], asked.runs)
        predicted, took = (1000 * statistics.median(column) for column in zip(*runs, strict=True))
        ratios = [before / after for before, after in runs]
        medians.append(statistics.median(ratios))
        print(
            f"{name:26} {WORKLOADS[name].protocol:8} {predicted:12.2f} {took:12.2f}   "
            f"{medians[-1]:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )
    within = sum(1 / 2 <= median <= 2 for median in medians)
    print(f"median {statistics.median(medians):.2f}; {within} of {len(medians)} within a factor of two")


if __name__ == "__main__":
    main()
