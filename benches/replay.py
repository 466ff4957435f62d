#!/usr/bin/env python3
"""What more cores would give: one party computes again, alone, against a record of what its peers sent.

    make build FEATURES=replay
    .venv/bin/python benches/replay.py sort mnist --threads 1,2 --repeat 5

A machine with two cores does not show what three parties gain from cores. So a local session runs a program and records
what one party receives. Then that party runs the program alone, on 1, 2, ... threads. The messages of the record are
there when the run begins, up to some megabytes ahead; what the party sends is dropped. Before the times are taken, each
number of threads has a replay in which all that the party sends is compared with the record, byte for byte. The replays
whose times are taken count messages and bytes. A replay that differs is an error.

The table has medians of the party's seconds, from the call that asks for the result to the result: building and
planning of the program, the offline and the online phase; not the setup of the session. Amdahl's law is fitted to them:
with a serial share s, W threads take s + (1 - s) / W of the time of one. "At most" is the speedup that follows for
each number of cores. It holds for this part of a party's work: the network, and TLS, are not in it.

The recording links exist only under the cargo feature `replay`, which no wheel has (crates/session/src/replay.rs,
crates/engine/src/testing/replay.rs). All random numbers come from a known seed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from figures import Watch, machine, number

import quorate as qr
from quorate import _quorate
from quorate._bench import _applications
from quorate._session._options import Options

CORES = (8, 16, 64)
PHASES = ("offline", "online", "whole")


class Program(NamedTuple):
    """A program, its right result, and the family that runs it; a result may be off by `off`."""

    ask: Callable[[qr.Session], Any]
    wanted: Any
    family: str = "rss"
    party: int = 0
    options: Mapping[str, Any] = MappingProxyType({})
    off: float = 0.0


def _application(application: Any) -> Program:
    return Program(application.ask, application.wanted)


def _sort(count: int) -> Program:
    values = np.random.default_rng(1).integers(-(10**6), 10**6, count)
    return Program(lambda mpc: mpc.input(values, owner=0).sort().reveal(), np.sort(values))


def _less(count: int, family: str = "rss") -> Program:
    x, y = np.random.default_rng(2).integers(-(10**6), 10**6, (2, count))
    return Program(lambda mpc: (mpc.input(x, owner=0) < mpc.input(y, owner=1)).reveal(), x < y, family)


def _reals(count: int, low: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(3).uniform(low, 100, (2, count))
    return np.rint(x * 2**16) / 2**16, np.rint(y * 2**16) / 2**16


FIXED = qr.fixed(64, 16)


def _products(count: int, family: str = "rss") -> Program:
    x, y = _reals(count)

    def ask(mpc: qr.Session) -> Any:
        a, b = (mpc.input(values, owner=i, dtype=FIXED, bound=100) for i, values in enumerate((x, y)))
        return (a * b).reveal()

    return Program(ask, x * y, family, off=2**-15)


def _divide(count: int) -> Program:
    x, y = _reals(count)

    def ask(mpc: qr.Session) -> Any:
        a, b = (mpc.input(values, owner=i, dtype=FIXED, bound=100) for i, values in enumerate((x, y)))
        return (a / b).reveal()

    return Program(ask, x / y, off=2**-12)


def _sigmoid(count: int) -> Program:
    x = _reals(count, -8)[0] / 16

    def ask(mpc: qr.Session) -> Any:
        return qr.sigmoid(mpc.input(x, owner=0, dtype=FIXED, bound=8)).reveal()

    return Program(ask, 1 / (1 + np.exp(-x)), "pika", 1, {"malicious": True}, 2**-8)


def _triples(count: int) -> Program:
    x, y = np.random.default_rng(4).integers(-(2**20), 2**20, (2, count))
    return Program(lambda mpc: (mpc.input(x, owner=0) * mpc.input(y, owner=1)).reveal(), x * y, "spdz2k")


def _aes(blocks: int) -> Program:
    circuit = qr.Circuit(_quorate.Circuit.aes128())
    keys, texts = np.random.default_rng(5).integers(0, 2, (2, blocks, 128)).astype(bool)

    def ask(mpc: qr.Session) -> Any:
        return mpc.run_circuit(circuit, mpc.input(keys, owner=0), mpc.input(texts, owner=1)).reveal()

    return Program(ask, circuit.evaluate(keys, texts), "aby", 1, {"sharings": "A+Y"})


PROGRAMS: dict[str, Callable[[], Program]] = {
    "sort of 10^5": lambda: _sort(10**5),
    "mnist, 50 images": lambda: _application(_applications._mnist(50, [])),
    "tree, 10^4 records": lambda: _application(_applications._tree(records=10**4)),
    "products of fixed point, 10^6": lambda: _products(10**6),
    "less-than, 10^6": lambda: _less(10**6),
    "division, 10^5": lambda: _divide(10**5),
    "aes, 1000 blocks": lambda: _aes(1000),
    "triples, 20000": lambda: _triples(20_000),
    "sigmoid, 10^4": lambda: _sigmoid(10**4),
}


class Replayed(NamedTuple):
    """The seconds of a party's phases, and of the whole."""

    offline: float
    online: float
    whole: float


class Differs(Exception):
    """A replay that computed something else than the recorded party."""


def timed(mpc: qr.Session, program: Program) -> Replayed:
    """Runs the program once, checks the result where the party has it, and returns the party's seconds."""
    began = time.perf_counter()
    result = program.ask(mpc)
    whole = time.perf_counter() - began
    if result is not None and not np.allclose(result, program.wanted, rtol=0, atol=program.off):
        raise Differs("a wrong result; please report this defect")
    stats = mpc.stats()
    return Replayed(stats.offline.seconds, stats.online.seconds, whole)


def replays(
    program: Program, family: str, party: int, threads: list[int], repeat: int
) -> tuple[dict[int, list[Replayed]], tuple[int, int]]:
    """Records the party, and returns the seconds of its replays by threads; also the frames and bytes that it received.

    Raises:
        Differs: a replay sent something else, or has another result.
    """
    options = Options.of({**program.options, "check": False, "threads": 1}, (), local=True)
    native, recording = _quorate.Recording.record(family, None, options.parts, party)
    with qr.Session(native, None, options) as mpc:
        timed(mpc, program)
    taken: dict[int, list[Replayed]] = {workers: [] for workers in threads}
    for turn in range(1 + repeat):
        for workers in threads:
            with qr.Session(recording.replay(workers, turn == 0), None, options) as mpc:
                seconds = timed(mpc, program)
            try:
                recording.check()
            except RuntimeError as error:
                raise Differs(f"with {workers} threads {error}") from None
            if turn > 0:
                taken[workers].append(seconds)
    return taken, recording.frames()


def serial_share(seconds: dict[int, float]) -> float:
    """Returns the serial share in Amdahl's law that fits the seconds by threads best, in least squares.

    >>> serial_share({1: 10, 2: 6})
    0.2
    >>> round(serial_share({1: 10, 2: 6, 4: 4}), 9)
    0.2
    """
    saved = {workers: 1 - 1 / workers for workers in seconds}
    gained = sum(saved[w] * (1 - seconds[w] / seconds[1]) for w in seconds)
    return min(1.0, max(0.0, 1 - gained / sum(share**2 for share in saved.values())))


def speedup(serial: float, cores: int) -> float:
    """Returns the speedup on this number of cores by Amdahl's law.

    >>> speedup(0.2, 8)
    3.333333333333333
    """
    return 1 / (serial + (1 - serial) / cores)


def row(name: str, taken: dict[int, list[Replayed]], phase: str) -> dict[str, Any]:
    """Returns the figures of a phase."""
    seconds = {w: statistics.median(getattr(one, phase) for one in each) for w, each in taken.items()}
    serial = serial_share(seconds)
    bounds = {cores: speedup(serial, cores) for cores in CORES}
    return {"program": name, "phase": phase, "seconds": seconds, "serial": serial, "speedup": bounds}


def shown(found: dict[str, Any]) -> str:
    """Returns a line of the table."""
    seconds, others = found["seconds"], list(found["seconds"])[1:]
    cells = [found["program"], found["phase"], *(f"{seconds[w]:.3f}" for w in seconds)]
    cells += [f"{seconds[w] / seconds[1]:.2f}" for w in others]
    cells += [f"{found['serial']:.2f}", ", ".join(number(found["speedup"][cores]) for cores in CORES)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measures, and prints the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("programs", nargs="*", help=f"the first words of some of: {'; '.join(PROGRAMS)} (default: all)")
    ask.add_argument("--family", help="the family that runs them (default: each program's own)")
    ask.add_argument("--party", type=int, help="the party that is replayed (default: 0; aes, sigmoid: 1)")
    ask.add_argument("--threads", default="1,2", help="numbers of threads, the first of which is 1")
    ask.add_argument("--repeat", type=int, default=5, help="replays of each number of threads")
    ask.add_argument("--phases", action="store_true", help="also the offline and the online phase by themselves")
    ask.add_argument("--json", help="a file for the figures")
    asked = ask.parse_args()
    names = [name for name in PROGRAMS if not asked.programs or name.startswith(tuple(asked.programs))]
    if unknown := [word for word in asked.programs if not any(name.startswith(word) for name in PROGRAMS)]:
        ask.error(f"no program {unknown[0]!r}; there are {'; '.join(PROGRAMS)}")
    threads = [int(text) for text in asked.threads.split(",")]
    if threads[0] != 1 or len(set(threads)) != len(threads) or len(threads) < 2 or asked.repeat < 1:
        ask.error("--threads is 1 and other numbers, each once, such as 1,2,4, and --repeat 1 or more")
    if not hasattr(_quorate, "Recording"):
        ask.error("this module has no recording links: make build FEATURES=replay")
    watch, began, found = Watch(), time.monotonic(), []
    heads = ["program", "phase", *(f"{w} threads" if w > 1 else "1 thread" for w in threads)]
    heads += [f"{w} of 1" for w in threads[1:]] + ["serial share", f"at most, {', '.join(map(str, CORES))} cores"]
    print(f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), sep="\n", flush=True)
    for name in names:
        program = PROGRAMS[name]()
        family = asked.family or program.family
        party = program.party if asked.party is None else asked.party
        try:
            taken, (frames, size) = replays(program, family, party, threads, asked.repeat)
        except Differs as error:
            sys.exit(f"{name}, {family}, party {party}: {error}")
        for phase in PHASES if asked.phases else PHASES[-1:]:
            one = row(f"`{family}`, {name}", taken, phase)
            found.append({**one, "family": family, "party": party, "frames": frames, "bytes": size})
            print(shown(one), flush=True)
    print(f"\n{machine()}; {watch.told(time.monotonic() - began)}")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
