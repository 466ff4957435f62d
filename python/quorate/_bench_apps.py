"""`quorate bench psi nearest powmod`: applications as users call them, in the sizes of the paper on ABY."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from quorate import apps
from quorate._families import FAMILIES
from quorate.dtypes import uint
from quorate.errors import ConfigError, QuorateError
from quorate.session import Network, Session, local

__all__ = ["NAMES", "rows"]

#: Links of memory, a local network, and the cloud setting of the paper.
LINKS: dict[str, Network | None] = {
    "memory": None,
    "1 Gbit/s, 1 ms": Network(rtt_ms=1, mbit=1000),
    "70 Mbit/s, 170 ms": Network(rtt_ms=170, mbit=70),
}
#: Between two parties: the sharings of the paper's hand assignments, and what the planner makes of all of them. Where A
#: is allowed, products are there.
MIXES: dict[str, tuple[str, ...]] = {
    "psi": ("B", "Y", "B+Y", "auto"),
    "nearest": ("A+B", "A+Y", "Y", "auto"),
    "powmod": ("A+B", "A+Y", "Y", "auto"),
}
#: Rows of more predicted seconds are left out; of more than `LONG` are run once.
MOST, LONG, RUNS = 60.0, 4.0, 3
_PAPER = "paper, two parties, local network"


@dataclasses.dataclass(frozen=True)
class _Application:
    """A program with its result in the clear.

    Attributes:
        bits, batch: as the table has them.
        plan: the arrays that it reveals.
        ask: runs it; gives what is compared with `wanted`.
        wanted: what is right.
        peers: published figures.
    """

    bits: int
    batch: int
    plan: Callable[[Session], Sequence[Any]]
    ask: Callable[[Session], Any]
    wanted: Any
    peers: list[dict[str, Any]]


def _peer(name: str, seconds: float, note: str) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "bytes_per_party": None, "note": note}


def _psi() -> _Application:
    rng = np.random.default_rng(1)
    common = rng.choice(2**32, 1024, replace=False)
    a, b = (np.unique(np.concatenate([common, rng.integers(0, 2**32, 9000)]))[:4096] for _ in range(2))

    def ask(mpc: Session, to: Any = 1) -> Any:
        return apps.psi(mpc, a, b, bits=32, reveal_to=to)

    peers = [
        _peer("ABY, B", 2.6, f"163 MB in all; {_PAPER}"),
        _peer("ABY, Y", 4.3, f"247 MB in all; {_PAPER}"),
        _peer("ABY, B + Y", 3.3, f"182 MB in all; {_PAPER}"),
    ]
    return _Application(32, 4096, lambda mpc: ask(mpc, "nobody"), ask, np.intersect1d(a, b), peers)


def _nearest() -> _Application:
    rng = np.random.default_rng(2)
    records, query = rng.integers(0, 2**14, (512, 4)), rng.integers(0, 2**14, 4)

    def ask(mpc: Session, to: Any = 1) -> Any:
        return apps.nearest(mpc, records, query, dtype=uint(14), reveal_to=to)

    far = ((records - query) ** 2).sum(axis=1)
    peers = [
        _peer("ABY, A + Y", 0.19, f"5.0 MB in all; {_PAPER}"),
        _peer("ABY, A + B", 0.21, f"4.6 MB in all; {_PAPER}"),
    ]
    return _Application(32, 512, lambda mpc: ask(mpc, "nobody"), ask, (far.argmin(), far.min()), peers)


def _powmod() -> _Application:
    base, exponent, modulus = (np.array([v], np.uint64) for v in (0xDEADBEEF, 0xC0FFEE11, 0xFFFFFFFB))

    def power(mpc: Session) -> Any:
        given = (mpc.input(v, owner=i % 2, dtype=uint(32)) for i, v in enumerate((base, exponent, modulus)))
        return apps.powmod(mpc, *given)

    wanted = [pow(int(base[0]), int(exponent[0]), int(modulus[0]))]
    peers = [
        _peer("ABY, A + B + Y", 0.9, f"18.7 MB in all; {_PAPER}"),
        _peer("ABY, Y", 1.3, f"27.1 MB in all; {_PAPER}"),
    ]
    return _Application(32, 1, lambda mpc: [power(mpc)], lambda mpc: power(mpc).reveal(to=1), wanted, peers)


_MADE: dict[str, Callable[[], _Application]] = {"psi": _psi, "nearest": _nearest, "powmod": _powmod}
NAMES = tuple(_MADE)


def rows(names: Sequence[str], protocol: str) -> Iterator[dict[str, Any]]:
    """A row for each application, link and choice of sharings, like those of the other workloads.

    Inputs and results are timed with it; planning is not, where there are several runs: what was run once is planned.
    """
    if protocol not in FAMILIES:
        raise ConfigError(f'no applications for protocol "{protocol}"; there are some for {", ".join(FAMILIES)}')
    for name in names:
        application = _MADE[name]()
        for link, network in LINKS.items():
            for sharings in MIXES[name] if "Y" in FAMILIES[protocol].sharings else ("auto",):
                called = name if sharings == "auto" else f"{name} in {sharings}"
                with local(protocol, network=network, sharings=sharings, check=False) as mpc:
                    yield _row(called, application, link, mpc)


def _row(name: str, application: _Application, link: str, mpc: Session) -> dict[str, Any]:
    plan = mpc.explain(*application.plan(mpc))
    predicted = plan.offline.seconds + plan.online.seconds
    measured: dict[str, Any] = dict.fromkeys(("runs", "seconds", "offline", "online", "bytes_per_party", "rounds"))
    skipped = f"skipped: predicted to take {predicted:.0f} s" if predicted > MOST else None
    if skipped is None:
        measured = _measured(application, mpc, 1 if predicted > LONG else RUNS)
    seconds = measured["seconds"]
    return {
        "workload": name,
        "protocol": mpc.protocol,
        "k": application.bits,
        "parties": mpc.parties,
        "batch": application.batch,
        "link": link,
        "threads_per_party": 1,
        "input_timed": True,
        "reveal_timed": True,
        "skipped": skipped,
        **measured,
        "results_per_second": None if seconds is None else application.batch / seconds["median"],
        "processor_seconds": None,
        "chain": None,
        "target": None,
        "target_reached": None,
        "peers": application.peers,
    }


def _measured(application: _Application, mpc: Session, runs: int) -> dict[str, Any]:
    """Figures of so many runs, after one that is not counted where there are several."""
    taken, walls = [], []
    for _ in range(runs + (runs > 1)):
        before, started = _phases(mpc), time.perf_counter()
        result = application.ask(mpc)
        walls.append(time.perf_counter() - started)
        if not np.array_equal(result, application.wanted):
            raise QuorateError(f"wrong result {result}; please report this defect")
        taken.append(_phases(mpc) - before)
    figures = np.array(taken[-runs:])
    phases = {}
    for place, phase in enumerate(("offline", "online")):
        seconds, sent, wire, rounds = figures[:, place].T
        phases[phase] = {
            "seconds": _seconds(seconds),
            "rounds": int(rounds[-1]),
            "bytes_per_party": float(sent[-1]),
            "wire_bytes_per_party": float(wire[-1]),
        }
    both = figures.sum(axis=1)
    return {
        "runs": runs,
        # Not the sum of the phases: one party may be online while another is still offline.
        "seconds": _seconds(np.array(walls[-runs:])),
        **phases,
        "bytes_per_party": float(both[-1, 1]),
        "rounds": int(both[-1, 3]),
    }


def _seconds(values: np.ndarray) -> dict[str, float]:
    return {"median": float(np.median(values)), "min": float(values.min())}


def _phases(mpc: Session) -> np.ndarray:
    """Seconds, bytes and wire bytes of an average party, and rounds, of offline and online so far."""
    stats = mpc.stats()

    def average(values: Sequence[int | None]) -> float:
        return sum(value or 0 for value in values) / len(values)

    return np.array(
        [
            (phase.seconds, average(phase.bytes_sent), average(phase.wire_bytes), phase.rounds)
            for phase in (stats.offline, stats.online)
        ]
    )
