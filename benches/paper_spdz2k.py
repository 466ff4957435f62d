#!/usr/bin/env python3
"""Tables I to V and Fig. 9 of "New Primitives for Actively-Secure MPC over Rings", the paper's figures beside ours.

    .venv/bin/python benches/paper_spdz2k.py                            # all tables; models from files are left out
    .venv/bin/python benches/paper_spdz2k.py --data FOLDER              # with them: FOLDER/tabular, FOLDER/svm
    .venv/bin/python benches/paper_spdz2k.py --tables I,IV --runs 1     # some tables

The paper used two machines of 4 cores each, over 1 Gbit/s. Here both parties are threads of this process, over a
simulated link of 1 Gbit/s. The keys of the paper are `mac=32` (26 bits) over Z_2^32 and `mac=64` (57 bits) over Z_2^64.
"paper" and "auto" are values of the option `bits`: the paper's protocols, and ours. Inputs and results count in the
time of a model, not in that of an operation. Correlations and bytes are those of the plan, which are exact.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from paper_models import Task, svms, trees

import quorate as qr
from quorate._quorate import Bench
from quorate.errors import QuorateError

LAN = qr.Network(rtt_ms=0.1, mbit=1000)
NETWORKS = {
    "memory": None,
    "10 Gbit/s": qr.Network(rtt_ms=0.1, mbit=10_000),
    "1 Gbit/s": LAN,
    "WAN, 76 Mbit/s, 46 ms": "wan",
}
RINGS, FORMS, THREADS = (32, 64), ("paper", "auto"), (1, 2, 4)
KEYS: dict[int, dict[str, Any]] = {32: {"mac": 32, "allow_weak": True}, 64: {"mac": 64}}
MULTIPLICATIONS, COMPARISONS, TRIPLES = 100_000, 5_000, 1024

# The paper's, with what the text of it lost restored: by ring, SPDZ2k then SPDZ.
TABLE_I = {
    "Multiplication": {32: (687041, 141346), 64: (522258, 114071)},
    "Equality": {32: (15334, 3213), 64: (6902, 1282)},
    "Comparison": {32: (9153, 1769), 64: (4514, 756)},
}
#: Milliseconds for a sample, by batch.
TABLES_II_III = {
    "Hill Valley": {1: {32: (21, 24), 64: (26, 34)}, 5: {32: (6, 10), 64: (7, 15)}},
    "Spambase": {1: {32: (48, 104), 64: (56, 128)}, 5: {32: (14, 40), 64: (17, 68)}},
    "Diabetes": {1: {32: (80, 215), 64: (122, 443)}, 5: {32: (41, 185), 64: (78, 376)}},
    "CIFAR": {1: {32: (82, 214), 64: (99, 255)}, 5: {32: (39, 168), 64: (57, 209)}},
    "MIT": {1: {32: (379, 1318), 64: (499, 1582)}, 5: {32: (225, 1101), 64: (294, 1428)}},
    "ALOI": {1: {32: (242, 857), 64: (362, 1312)}, 5: {32: (162, 741), 64: (244, 1220)}},
}
#: Triples, triples of bits, random bits, milliseconds.
TABLE_IV = {
    "Comparison": {32: ((0, 60, 33, 1.43), (60, 0, 58, 4.04)), 64: ((0, 124, 65, 7.22), (124, 0, 121, 14.9))},
    "Equality": {32: ((0, 31, 33, 1.34), (31, 0, 58, 3.04)), 64: ((0, 63, 65, 7.04), (63, 0, 121, 11.2))},
    "Diabetes": {
        32: ((5460, 15300, 8415, 571), (20760, 0, 14790, 1216)),
        64: ((5460, 31620, 16575, 2417), (37080, 0, 30855, 4124)),
    },
    "ALOI": {
        32: ((63332, 27720, 15246, 3055), (91052, 0, 26796, 4030)),
        64: ((63332, 57288, 30030, 10006), (120620, 0, 55902, 10714)),
    },
}
#: Bytes of both parties together, offline and online.
TABLE_V = {
    "Comparison": {32: ((627e3, 46), (148e3, 1.89e3)), 64: ((3.58e6, 94), (508e3, 7.78e3))},
    "Equality": {32: ((486e3, 24), (107e3, 1.01e3)), 64: ((3.08e6, 48), (366e3, 3.97e3))},
    "Diabetes": {32: ((209e6, 131e3), (40.8e6, 705e3)), 64: ((1.10e9, 262e3), (110e6, 2.37e6))},
    "ALOI": {32: ((908e6, 1.44e6), (139e6, 3.24e6)), 64: ((4.06e9, 2.88e6), (341e6, 8.29e6))},
}
NOTES = {
    "IV": "Diabetes of the paper has 255 comparisons, a complete tree of depth 8; ours has depth 9 and 511. Its SPDZ2k "
    "and SPDZ were timed with 4 threads on 10 Gbit/s. Ours: what a plan of one sample, or of many operations, takes.",
    "V": 'ALOI online, k = 32, is printed as "1.44 KB": the other ring and the counts of Table IV give MB.',
    "9": "The paper's curves are a picture, of which its text has no figures. It says: MASCOT and SPDZ2k are alike at "
    "similar sizes, SPDZ2k is faster for k = 32, Overdrive is far ahead on the WAN and level with k = 32 at 10 Gbit/s. "
    "SPDZ2k is bound by the network on the WAN, and on 1 Gbit/s from 2 threads on. Ours: batches of 1,024. "
    "threads= work on transfers, vector OLE and long vectors; a party's protocol runs on one. Both share this machine.",
}


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of a run.

    Attributes:
        correlations: the number of each kind, by plan.
        sent: bytes of both parties together, offline and online, by plan.
        seconds: offline and online, the median of several runs; None if it was not run.
        note: the reason why it was not run.
    """

    correlations: dict[str, int]
    sent: tuple[float, float]
    seconds: tuple[float, float] | None
    note: str = ""

    def by(self, count: int) -> Cost:
        """Returns the cost of one of `count` operations."""
        seconds = None if self.seconds is None else (self.seconds[0] / count, self.seconds[1] / count)
        each = {kind: round(total / count) for kind, total in self.correlations.items()}
        return Cost(each, (self.sent[0] / count, self.sent[1] / count), seconds, self.note)

    def kinds(self, start: str) -> int:
        """Returns the number of correlations whose names begin with `start`."""
        return sum(count for kind, count in self.correlations.items() if kind.startswith(start))


class Measuring:
    """Measurements that several tables share; each runs once."""

    def __init__(self, runs: int, most_seconds: float, data: Path | None) -> None:
        self._runs, self._most = runs, most_seconds
        self.trees = functools.cache(lambda: trees(data))
        self.svms = functools.cache(lambda: svms(data))
        self.operation = functools.cache(self._operation)
        self.model = functools.cache(self._model)

    def _cost(self, mpc: qr.Session, ask: Callable[[], Any], check: Callable[[Any], bool]) -> Cost:
        plan = mpc.explain(ask())
        sent = (float(sum(plan.offline.bytes_sent)), float(sum(plan.online.bytes_sent)))
        predicted = plan.offline.seconds + plan.online.seconds
        if predicted > self._most:
            return Cost(plan.correlations, sent, None, f"predicted to take {predicted:.0f} s: see --most-seconds")
        taken = []
        for _ in range(self._runs):
            before = mpc.stats()
            if not check(ask().reveal()):
                raise QuorateError("wrong result; please report this defect")
            after = mpc.stats()
            phases = ((after.offline, before.offline), (after.online, before.online))
            taken.append([now.seconds - then.seconds for now, then in phases])
        offline, online = np.median(np.array(taken), axis=0)
        return Cost(plan.correlations, sent, (float(offline), float(online)))

    def _operation(self, name: str, bits: int, form: str) -> Cost:
        """Measures many operations at once, on operands shared before; one result is opened."""
        count = MULTIPLICATIONS if name == "Multiplication" else COMPARISONS
        rng = np.random.default_rng(bits)
        # Differences fit the ring, as the paper's do.
        reach = 2 ** (15 if name == "Multiplication" else bits - 2) - 1
        x, y = rng.integers(-reach, reach, (2, count))
        x[::3] = y[::3]
        kind = qr.int(bits)
        work: dict[str, Callable[[Any, Any], Any]] = {
            "Multiplication": lambda a, b: a * b,
            "Equality": lambda a, b: a == b,
            "Comparison": lambda a, b: a < b,
        }
        right = work[name](x[:1], y[:1])
        with session(bits, form, LAN) as mpc:
            a, b = (unknown(mpc, v, kind, reach) for v in (x, y))
            mpc.reveal_all(a[:1], b[:1])

            def ask() -> Any:
                result = work[name](a, b)
                return result[:1] if name == "Multiplication" else result.astype(kind)[:1]

            return self._cost(mpc, ask, lambda found: bool((found == right).all())).by(count)

    def _model(self, name: str, bits: int, form: str, batch: int) -> Cost:
        """Measures predictions, with inputs and results, for each record."""
        task = next(t for t in [*self.trees(), *self.svms()] if isinstance(t, Task) and t.name == name)
        records, wanted = task.records[:batch], task.wanted[..., :batch]
        with session(bits, form, LAN) as mpc:
            mpc.input([1], owner=0, dtype=qr.int(8)).reveal()  # sets up
            return self._cost(
                mpc, lambda: task.build(mpc, bits, records), lambda found: bool((found == wanted).all())
            ).by(batch)


def session(bits: int, form: str, network: Any, **options: Any) -> qr.Session:
    """Opens a session of two parties with the paper's keys."""
    return qr.local("spdz2k", parties=2, bits=form, network=network, check=False, **KEYS[bits], **options)


def unknown(mpc: qr.Session, values: Any, dtype: Any, bound: int) -> Any:
    """Returns secret values that no party knows, since products of known values cost less than a triple."""
    zeros = np.zeros_like(values)
    return mpc.input(values, owner=0, dtype=dtype, bound=bound) + mpc.input(zeros, owner=1, dtype=dtype, bound=0)


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:,.4g}"


def _bytes(count: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.3g} B"


def table_i(measuring: Measuring) -> Iterator[str]:
    """Yields Table I: operations per second, online."""
    yield "Table I: operations a second, online, 1 Gbit/s"
    yield f"{'':<16} {'k':>3} {'paper SPDZ2k':>13} {'paper SPDZ':>11} {'ours, paper':>12} {'ours, auto':>12}"
    for name, by_ring in TABLE_I.items():
        for bits in RINGS:
            ours = [measuring.operation(name, bits, form).seconds for form in FORMS]
            rates = "".join(f" {'-' if s is None else f'{1 / s[1]:,.0f}':>12}" for s in ours)
            yield f"{name:<16} {bits:>3} {by_ring[bits][0]:>13,} {by_ring[bits][1]:>11,}{rates}"


def table_of_models(title: str, tasks: list[Task | str], measuring: Measuring) -> Iterator[str]:
    """Yields milliseconds per sample, online."""
    yield f"{title}: milliseconds a sample, online, 1 Gbit/s"
    head = f"{'':<12} {'size':>10} {'batch':>5} {'k':>3} {'paper SPDZ2k':>13} {'paper SPDZ':>11}"
    yield f"{head} {'ours, paper':>12} {'ours, auto':>12} {'auto offline':>13}"
    for task in tasks:
        if isinstance(task, str):
            yield task
            continue
        for batch, by_ring in TABLES_II_III[task.name].items():
            for bits, (theirs, spdz) in by_ring.items():
                ours = [measuring.model(task.name, bits, form, batch) for form in FORMS]
                times = [None if cost.seconds is None else cost.seconds[1] for cost in ours]
                offline = None if ours[-1].seconds is None else ours[-1].seconds[0]
                row = f"{task.name:<12} {task.size:>10} {batch:>5} {bits:>3} {theirs:>13} {spdz:>11}"
                notes = next((cost.note for cost in ours if cost.note), "")
                yield f"{row} {_ms(times[0]):>12} {_ms(times[1]):>12} {_ms(offline):>13}  {notes}".rstrip()


def table_ii(measuring: Measuring) -> Iterator[str]:
    """Yields Table II: trees."""
    return table_of_models("Table II (depth, features)", measuring.trees(), measuring)


def table_iii(measuring: Measuring) -> Iterator[str]:
    """Yields Table III: SVMs."""
    return table_of_models("Table III (classes, features)", measuring.svms(), measuring)


def both_tables(measuring: Measuring, table: dict[str, Any]) -> Iterator[tuple[str, int, str, Any, Cost | None]]:
    """Yields rows of Tables IV and V: name, ring, whose figures, the figures of the paper, our cost."""
    there = {task.name for task in [*measuring.trees(), *measuring.svms()] if isinstance(task, Task)}
    for name, by_ring in table.items():
        is_model = name in TABLES_II_III
        for bits in RINGS:
            for whose, figures in zip(("paper SPDZ2k", "paper SPDZ"), by_ring[bits], strict=True):
                yield name, bits, whose, figures, None
            for form in FORMS if not is_model or name in there else ():
                cost = measuring.model(name, bits, form, 1) if is_model else measuring.operation(name, bits, form)
                yield name, bits, f"ours, {form}", None, cost


def table_iv(measuring: Measuring) -> Iterator[str]:
    """Yields Table IV: correlations."""
    yield "Table IV: correlations, and milliseconds offline"
    head = f"{'':<12} {'k':>3} {'':<13} {'triples':>8} {'bit triples':>11} {'random bits':>11} {'edaBits':>8}"
    yield f"{head} {'daBits':>7} {'ms':>8}"
    for name, bits, whose, figures, cost in both_tables(measuring, TABLE_IV):
        if cost is None:
            triples, bit_triples, random_bits, ms = figures
            others, time_ = ("-", "-"), f"{ms:,.4g}"
        else:
            bit_triples = cost.kinds("triple of bits") + cost.kinds("triple mod 2^1")
            triples = cost.kinds("triple") - bit_triples
            random_bits = cost.kinds("random bit")
            links = cost.kinds("daBit") + cost.kinds("bit with MACs")
            others = (f"{cost.kinds('edaBit') + cost.kinds('comparison mask'):,}", f"{links:,}")
            time_ = _ms(None if cost.seconds is None else cost.seconds[0])
        row = f"{name:<12} {bits:>3} {whose:<13} {triples:>8,} {bit_triples:>11,} {random_bits:>11,}"
        yield f"{row} {others[0]:>8} {others[1]:>7} {time_:>8}"
    yield NOTES["IV"]


def table_v(measuring: Measuring) -> Iterator[str]:
    """Yields Table V: bytes."""
    yield "Table V: bytes of both parties together"
    yield f"{'':<12} {'k':>3} {'':<13} {'offline':>9} {'online':>9}"
    for name, bits, whose, figures, cost in both_tables(measuring, TABLE_V):
        offline, online = figures if cost is None else cost.sent
        yield f"{name:<12} {bits:>3} {whose:<13} {_bytes(offline):>9} {_bytes(online):>9}"
    yield NOTES["V"]


def figure_9(_: Measuring) -> Iterator[str]:
    """Yields Fig. 9: triples per second, by threads and network."""
    yield "Fig. 9: triples a second, by threads and network"
    yield f"{'network':<22} {'k':>3} " + " ".join(f"{f'{n} threads':>10}" for n in THREADS)
    for place, network in NETWORKS.items():
        for bits in RINGS:
            yield f"{place:<22} {bits:>3} " + " ".join(f"{_triples(network, bits, n):>10,.0f}" for n in THREADS)
    yield NOTES["9"]


def _triples(network: Any, bits: int, threads: int) -> float:
    x = np.arange(TRIPLES)
    with session(bits, "auto", network, threads=threads) as mpc:
        a, b = (unknown(mpc, x, qr.int(bits), TRIPLES) for _ in range(2))
        mpc.reveal_all(a[:1], b[:1])
        before = mpc.stats().offline.seconds
        product = (a * b)[5:6].reveal()
        if product[0] != 25:
            raise QuorateError("wrong result; please report this defect")
        return TRIPLES / (mpc.stats().offline.seconds - before)


TABLES: dict[str, Callable[[Measuring], Iterator[str]]] = {
    "I": table_i,
    "II": table_ii,
    "III": table_iii,
    "IV": table_iv,
    "V": table_v,
    "9": figure_9,
}


def main() -> None:
    """Prints the chosen tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="a folder with tabular/ and svm/")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--runs", type=int, default=1, help="of each cell, of which the median counts")
    parser.add_argument("--most-seconds", type=float, default=60, help="leave out what is predicted to take longer")
    options = parser.parse_args()
    names = options.tables.split(",")
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"there is no table {unknown[0]!r}: {', '.join(TABLES)}")
    machine, started = Bench.machine(), time.monotonic()
    print(f"{machine['processor']}, {machine['cores']} cores; both parties on it, one thread each; {options.runs} runs")
    with session(64, "auto", None) as mpc:
        print(mpc.stats().security)
    measuring = Measuring(options.runs, options.most_seconds, options.data)
    for name in names:
        print()
        for line in TABLES[name](measuring):
            print(line, flush=True)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
