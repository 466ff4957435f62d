"""`quorate bench scaling`: measures time by batch, bits, parties and network, and writes a table and a picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quorate._display._plots import drawn
from quorate._families import FAMILIES
from quorate.dtypes import int as int_dtype
from quorate.errors import QuorateError
from quorate.session import local

__all__ = ["HEAD", "Point", "draw", "line", "measure", "points"]

BATCHES = (1, 100, 10_000, 100_000)
NETWORKS = (None, "lan", "wan")
BITS = (8, 16, 32, 64)
PROTOCOL = "rss"
PARTIES = FAMILIES[PROTOCOL].parties
#: The number of runs of a point, of which the median counts. If the first takes more than `LONG` seconds, it is the
#: only one.
RUNS = 3
LONG = 1.0

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"x * y": lambda x, y: x * y, "x < y": lambda x, y: x < y}

HEAD = (
    f"{'operation':<10} {'k':>3} {'n':>2} {'batch':>9}  {'network':<8} {'seconds':>10} {'MB/party':>10} {'rounds':>6}"
)


@dataclasses.dataclass(frozen=True)
class Point:
    """One point of the curves.

    Attributes:
        operation: the operation, as Python code.
        bits: the bits of the integers.
        parties: the number of parties.
        batch: the elements of either operand.
        network: the simulated network, or None for links in memory.
    """

    operation: str
    bits: int
    parties: int
    batch: int
    network: str | None


@dataclasses.dataclass(frozen=True)
class Figures:
    """The measured cost of a point, both phases: seconds (median), megabytes sent by an average party, rounds."""

    seconds: float
    megabytes: float
    rounds: int


def points() -> Iterator[Point]:
    """Yields all points: batches for every number of parties and network, rings at the largest batch."""
    for operation in _OPERATIONS:
        for batch in BATCHES:
            yield from (Point(operation, 64, parties, batch, None) for parties in PARTIES)
            yield from (Point(operation, 64, 3, batch, network) for network in NETWORKS[1:])
        yield from (Point(operation, bits, 3, BATCHES[-1], None) for bits in BITS[:-1])


def measure(point: Point) -> Figures:
    """Measures a point, and compares its result with numpy's. Sharing operands and opening the result are not timed."""
    rng = np.random.default_rng(point.batch)
    reach = 2 ** (point.bits - 2)
    x, y = rng.integers(-reach, reach, (2, point.batch))
    kind, work = int_dtype(point.bits), _OPERATIONS[point.operation]
    with np.errstate(over="ignore"):
        exact = work(x, y)
    if exact.dtype.kind == "i":
        exact = exact << (64 - point.bits) >> (64 - point.bits)
    with local(PROTOCOL, parties=point.parties, network=point.network, check=False) as mpc:
        a, b = mpc.input(x, owner=0, dtype=kind), mpc.input(y, owner=1, dtype=kind)
        mpc.reveal_all(a[:1], b[:1])
        taken = []
        for _ in range(RUNS):
            before = _totals(mpc.stats())
            result = work(a, b)
            # Opens one element only; the whole result is computed and kept.
            result[:1].reveal()
            taken.append([now - then for now, then in zip(_totals(mpc.stats()), before, strict=True)])
            if taken[0][0] > LONG:
                break
        if not np.array_equal(result.reveal(), exact):
            raise QuorateError(f"{point}: wrong result; please report this defect")
    seconds = sorted(run[0] for run in taken)
    return Figures(seconds[len(seconds) // 2], taken[-1][1] / 1e6, int(taken[-1][2]))


def _totals(stats: Any) -> tuple[float, float, float]:
    phases = (stats.offline, stats.online)
    sent = sum(sum(phase.bytes_sent) / len(phase.bytes_sent) for phase in phases)
    return sum(phase.seconds for phase in phases), sent, sum(phase.rounds for phase in phases)


def line(point: Point, figures: Figures) -> str:
    """Returns one line of the table."""
    network = point.network or "memory"
    return (
        f"{point.operation:<10} {point.bits:>3} {point.parties:>2} {point.batch:>9,}  {network:<8} "
        f"{figures.seconds:>10.3g} {figures.megabytes:>10.4g} {figures.rounds:>6}"
    )


def draw(rows: dict[Point, Figures], path: Path, machine: str) -> None:
    """Draws three panels for each operation: batch and parties, batch and network, bits.

    Raises:
        ImportError: matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    with drawn():
        _draw_panels(Figure(figsize=(11, 6.2), layout="constrained"), rows, path, machine)


def _draw_panels(figure: Any, rows: dict[Point, Figures], path: Path, machine: str) -> None:
    panels = figure.subplots(len(_OPERATIONS), 3, sharey="row")
    for row, operation in zip(panels, _OPERATIONS, strict=True):
        mine = {point: figures for point, figures in rows.items() if point.operation == operation}
        for parties, colour in zip(PARTIES, ("tab:blue", "tab:orange", "tab:red"), strict=True):
            _curve(row[0], mine, "batch", f"n = {parties}", colour, bits=64, parties=parties, network=None)
        for network, colour in zip(NETWORKS, ("tab:blue", "tab:green", "tab:purple"), strict=True):
            _curve(row[1], mine, "batch", network or "memory", colour, bits=64, parties=3, network=network)
        _curve(row[2], mine, "bits", "n = 3, memory", "tab:blue", parties=3, batch=BATCHES[-1], network=None)
        for panel, title in zip(row, ("by parties, k = 64", "by network, n = 3, k = 64", ""), strict=True):
            panel.set(title=f"{operation}, {title or f'{BATCHES[-1]:,} elements'}", yscale="log", xscale="log")
            panel.grid(alpha=0.3)
            panel.legend(fontsize=8)
        row[2].set_xscale("linear")
        row[2].set_xticks(BITS)
        row[0].set_ylabel("seconds, both phases")
    for panel, label in zip(panels[-1], ("batch", "batch", "bits of the ring, k"), strict=True):
        panel.set_xlabel(label)
    figure.suptitle(f"{machine}; all parties on it, one thread each", fontsize=10)
    figure.savefig(path, dpi=110)


def _curve(panel: Any, rows: dict[Point, Figures], along: str, label: str, colour: str, **fixed: Any) -> None:
    chosen = [
        (getattr(point, along), figures.seconds)
        for point, figures in rows.items()
        if all(getattr(point, name) == value for name, value in fixed.items())
    ]
    chosen.sort()
    panel.plot([x for x, _ in chosen], [y for _, y in chosen], marker=".", color=colour, label=label)
