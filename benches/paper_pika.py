#!/usr/bin/env python3
"""Tables 1, 2 and 5 to 8 of "Pika: Secure Computation using Function Secret Sharing over Rings", beside ours.

    .venv/bin/python benches/paper_pika.py                       # all tables
    .venv/bin/python benches/paper_pika.py --tables 1,5 --most 1000

The paper used machines of 36 cores with 16 threads each, over links of 10 Gbit/s and 0.2 ms (LAN) and of 100 Mbit/s
and 70 ms (WAN). Here all parties are threads of this process, over simulated links like these. The sigmoid of the paper
has 16 bits and an error of some units; ours is the nearest representable number. Times are of both phases, with inputs
and results. Bytes are those of the parties that compute; the bytes of P2, which the paper leaves out, have a column.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import quorate as qr
from quorate._quorate import Bench
from quorate.errors import QuorateError

NETWORKS = {"LAN": qr.Network(rtt_ms=0.2, mbit=10_000), "WAN": qr.Network(rtt_ms=70, mbit=100)}
BATCHES = tuple(10**e for e in range(6))
DOMAINS = range(16, 25)

Figures = tuple[float | None, ...]
#: Seconds by batch, and MB of a party, as printed.
SEMI: dict[str, dict[str, Figures]] = {
    "LAN": {
        "MP-SPDZ": (0.018, 0.018, 0.110, 0.935, 9.575, 93.199),
        "ABY3": (0.090, 0.092, 0.096, 0.104, 0.221, 1.445),
        "SiRNN": (None, 0.115, 0.116, 0.147, 0.289, 2.089),
        "FALCON": (0.024, 0.021, 0.022, 0.041, 0.159, 1.228),
        "Pika": (0.0007, 0.001, 0.006, 0.059, 0.539, 5.329),
    },
    "WAN": {
        "MP-SPDZ": (3.225, 3.327, 16.903, 160.293, 1605.170, None),
        "ABY3": (1.487, 1.489, 1.493, 1.501, 1.619, 2.851),
        "SiRNN": (None, 7.683, 7.690, 7.816, 9.313, 32.702),
        "FALCON": (3.226, 3.232, 3.253, 3.373, 4.340, 13.577),
        "Pika": (0.183, 0.195, 0.198, 0.356, 1.375, 9.030),
    },
    "MB": {
        "MP-SPDZ": (0.163, 0.183, 1.271, 12.705, 126.493, 1265.160),
        "ABY3": (0.046, 0.124, 0.945, 9.234, 92.327, 923.252),
        "SiRNN": (None, 0.897, 0.988, 2.159, 23.8, 238.085),
        "FALCON": (0.0014, 0.014, 0.137, 1.396, 13.96, 139.6),
        "Pika": (0.0002, 0.002, 0.017, 0.174, 1.745, 17.452),
    },
}
MALICIOUS: dict[str, dict[str, Figures]] = {
    "LAN": {
        "MP-SPDZ": (0.069, 0.070, 0.391, 3.717, 36.853, 368.547),
        "FALCON": (0.0453, 0.0473, 0.0477, 0.0867, 0.4673, 4.0399),
        "Pika": (0.003, 0.018, 0.168, 1.670, 17.033, 170.865),
    },
    "WAN": {
        "MP-SPDZ": (4.988, 4.993, 27.682, 250.803, 2513.140, None),
        "FALCON": (7.6574, 7.6630, 7.6686, 7.8132, 11.0553, 36.8217),
        "Pika": (0.203, 0.218, 0.370, 2.299, 25.186, 196.726),
    },
    "MB": {
        "MP-SPDZ": (0.905, 0.945, 5.697, 54.777, 544.556, 5445.560),
        "FALCON": (0.01, 0.1004, 1.0036, 10.036, 100.36, 1003.6),
        "Pika": (0.0004, 0.004, 0.045, 0.448, 4.483, 44.835),
    },
}
TWO_PARTIES: dict[str, dict[str, Figures]] = {
    "LAN": {
        "Pika-2PC": (0.0009, 0.0019, 0.0122, 0.1197, 1.1642, 11.6794),
        "SiRNN": (None, 0.1147, 0.1158, 0.1471, 0.2886, 2.0887),
    },
    "WAN": {
        "Pika-2PC": (0.2337, 0.2482, 0.2761, 0.6721, 4.0554, 33.9804),
        "SiRNN": (None, 7.6830, 7.6904, 7.8164, 9.3129, 32.7022),
    },
}
#: By bits of the domain, a batch of 100: kB, and milliseconds of the evaluation and in all on the LAN.
TABLE_5 = {
    16: (18.71, 3.98, 5.25),
    17: (20.33, 7.17, 8.40),
    18: (21.96, 10.89, 12.51),
    19: (23.58, 15.15, 22.62),
    20: (25.21, 25.90, 43.93),
    21: (26.83, 48.34, 83.39),
    22: (28.46, 120.07, 169.13),
    23: (30.08, 196.50, 345.06),
    24: (31.71, 365.56, 685.96),
}
#: By bits and batch of a table that is no function: what the tables' columns are of.
NOTES = {
    "7": "FALCON and SiRNN are of other models: FALCON tells the size of the argument, SiRNN has two parties.",
    "8": "The paper's keys are made one after the other, by Doerner and shelat's protocol.",
}


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


class Measured:
    """The cost of a batch.

    Attributes:
        seconds: both phases, the median of several runs.
        megabytes: sent by each party, both phases.
    """

    def __init__(self, seconds: float, sent: tuple[float, ...]) -> None:
        self.seconds = seconds
        self.megabytes = [bytes_ / 1e6 for bytes_ in sent]


def measured(
    runs: int, batch: int, place: str | None, protocol: str = "pika", bits: int = 16, **options: Any
) -> Measured:
    """Measures a sigmoid in a ring of 32 bits, on numbers of `bits` bits with 12 fractional ones."""
    rng = np.random.default_rng(batch)
    reach = (1 << (bits - 1)) - 1
    x = rng.integers(-reach, reach, batch, endpoint=True) / 4096
    wanted = np.rint(_sigmoid(x) * 4096) / 4096
    with qr.local(protocol, network=NETWORKS[place] if place else None, check=False, **options) as mpc:
        secret = mpc.input(x, owner=0, dtype=qr.fixed(32, 12), bound=reach / 4096)
        domain = (-reach / 4096, (reach + 1) / 4096)
        taken, before = [], mpc.stats()
        for _ in range(runs + 1):
            before = mpc.stats()
            found = qr.lookup(secret, _sigmoid, domain).reveal()
            after = mpc.stats()
            phases = ((after.offline, before.offline), (after.online, before.online))
            taken.append(sum(now.seconds - then.seconds for now, then in phases))
            sent = [sum(part) for part in zip(after.offline.bytes_sent, after.online.bytes_sent, strict=True)]
            was = [sum(part) for part in zip(before.offline.bytes_sent, before.online.bytes_sent, strict=True)]
        if not (found == wanted).all():
            raise QuorateError("wrong result; please report this defect")
    # The first run makes the table.
    return Measured(float(np.median(taken[1:])), tuple(now - then for now, then in zip(sent, was, strict=True)))


def _shown(value: float | None) -> str:
    return f"{'-':>10}" if value is None else f"{value:>10.4g}"


def compared(
    title: str, table: dict[str, dict[str, Figures]], most: int, measure: Callable[[int, str], Measured]
) -> Iterator[str]:
    """Yields the paper's rows and ours, by network."""
    batches = [batch for batch in BATCHES if batch <= most]
    yield f"{title}: seconds by batch, and MB of a party that computes"
    yield f"{'':<6} {'':<10}" + "".join(f"{batch:>10,}" for batch in batches)
    ours: dict[str, list[Measured]] = {}
    for place in NETWORKS:
        ours[place] = [measure(batch, place) for batch in batches]
        for name, figures in table[place].items():
            yield f"{place:<6} {name:<10}" + "".join(_shown(f) for f in figures[: len(batches)])
        yield f"{place:<6} {'ours':<10}" + "".join(_shown(m.seconds) for m in ours[place])
    for name, figures in table.get("MB", {}).items():
        yield f"{'MB':<6} {name:<10}" + "".join(_shown(f) for f in figures[: len(batches)])
    sent = [m.megabytes for m in ours["LAN"]]
    yield f"{'MB':<6} {'ours':<10}" + "".join(_shown(max(megabytes[:2])) for megabytes in sent)
    if len(sent[0]) > 2:
        yield f"{'MB':<6} {'ours, P2':<10}" + "".join(_shown(megabytes[2]) for megabytes in sent)


def table_5(runs: int, most: int) -> Iterator[str]:
    """Yields Table 5: a batch of 100 by the bits of the domain."""
    yield "Table 5: a batch of 100 by bits of the domain: kB of P2 to both, milliseconds in all"
    yield f"{'bits':<6} {'paper kB':>10} {'EvalAll':>10} {'in all':>10} {'ours kB':>10} {'in all':>10}"
    for bits in DOMAINS:
        kilobytes, evaluation, whole = TABLE_5[bits]
        row = f"{bits:<6} {_shown(kilobytes)} {_shown(evaluation)} {_shown(whole)}"
        if (1 << bits) > 1000 * most:
            yield row
            continue
        found = measured(runs, 100, None, bits=bits)
        yield f"{row} {_shown(1e3 * found.megabytes[2])} {_shown(1e3 * found.seconds)}"


def table_1(runs: int, most: int) -> Iterator[str]:
    """Yields Tables 1 and 6: the semi-honest protocol."""
    yield from compared("Tables 1 and 6, semi-honest", SEMI, most, lambda n, place: measured(runs, n, place))


def table_2(runs: int, most: int) -> Iterator[str]:
    """Yields Tables 2 and 7: the malicious protocol."""
    measure = lambda n, place: measured(runs, n, place, malicious="yes")  # noqa: E731
    yield from compared("Tables 2 and 7, malicious", MALICIOUS, min(most, 10_000), measure)
    yield NOTES["7"]


def table_8(runs: int, most: int) -> Iterator[str]:
    """Yields Table 8: two parties without a dealer."""
    measure = lambda n, place: measured(runs, n, place, protocol="aby", sharings="A")  # noqa: E731
    yield from compared("Table 8, two parties", TWO_PARTIES, most, measure)
    yield NOTES["8"]


TABLES: dict[str, Callable[[int, int], Iterator[str]]] = {"1": table_1, "2": table_2, "5": table_5, "8": table_8}
# Tables of the paper that stand beside others.
BESIDE = {"6": "1", "7": "2"}


def main() -> None:
    """Prints the chosen tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {','.join([*TABLES, *BESIDE])}")
    parser.add_argument("--runs", type=int, default=3, help="of each cell, of which the median counts")
    parser.add_argument("--most", type=int, default=100_000, help="the largest batch")
    options = parser.parse_args()
    names = list(dict.fromkeys(BESIDE.get(name, name) for name in options.tables.split(",")))
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"there is no table {unknown[0]!r}: {', '.join([*TABLES, *BESIDE])}")
    machine, started = Bench.machine(), time.monotonic()
    print(f"{machine['processor']}, {machine['cores']} cores; all parties on it, one thread each; {options.runs} runs")
    for name in names:
        print()
        for line in TABLES[name](options.runs, options.most):
            print(line, flush=True)
    print(f"\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
