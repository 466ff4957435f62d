#!/usr/bin/env python3
"""Measures the time of planning: seconds of building a program and of `explain`, by family, program and elements.

    .venv/bin/python benches/plans.py
    .venv/bin/python benches/plans.py --only product,sort --families "aby;rss" --sizes 1e6,1e7
    .venv/bin/python benches/plans.py --json plans.json

Nothing is sent and there are no values. Each cell is a process of its own, ended after `--most` seconds. Compare
`--json` before and after a change: bytes, rounds, correlations and memory of a plan must stay the same.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rss": ("rss", {}),
    "aby": ("aby", {}),
    "spdz2k": ("spdz2k", {}),
    "pika": ("pika", {}),
    "pika malicious": ("pika", {"malicious": True}),
}
INT = qr.int(64)
#: Seconds that a plan may take, by the largest number of elements.
LIMITS = ((10**7, 5.0), (10**9, 10.0))


def inputs(mpc: qr.Session, *shapes: int | tuple[int, ...], dtype: qr.Dtype = INT, **bound: Any) -> list[Any]:
    return [mpc.input(shape=shape, owner=i % 2, dtype=dtype, **bound) for i, shape in enumerate(shapes)]


def tree(mpc: qr.Session, records: int) -> qr.SecretArray:
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(1)
    model = RandomForestClassifier(10, max_depth=6, random_state=1)
    model.fit(rng.normal(size=(500, 10)), rng.integers(0, 2, 500))
    shared = qr.models.from_sklearn(model)
    return shared.predict(mpc, np.zeros((records, 10)), model_owner=0, data_owner=1, reveal=False)


def matrices(mpc: qr.Session, elements: int) -> qr.SecretArray:
    x, y = inputs(mpc, (max(elements // 1000, 1), 1000), (1000, 100))
    return x @ y


def joined(mpc: qr.Session, rows: int) -> qr.SecretArray:
    left, right, values = inputs(mpc, rows, rows, rows, dtype=qr.int(32))
    return mpc.join(left, right, values).values[0]


def grouped(mpc: qr.Session, rows: int) -> qr.SecretArray:
    keys, values = inputs(mpc, rows, rows, dtype=qr.int(32), bound=(0, 9))
    return mpc.group_by(keys, 10).sum(values)


def two(function: Callable[[Any, Any], Any], dtype: qr.Dtype = INT, **bound: Any) -> Any:
    return lambda mpc, n: function(*inputs(mpc, n, n, dtype=dtype, **bound))


def one(function: Callable[[Any], Any], dtype: qr.Dtype = INT, **bound: Any) -> Any:
    return lambda mpc, n: function(*inputs(mpc, n, dtype=dtype, **bound))


MANY, FEWER = (10**6, 10**7, 10**9), (10**5, 10**6)
PROGRAMS: dict[str, tuple[Callable[[qr.Session, int], Any], tuple[int, ...]]] = {
    "sum": (one(lambda x: x.sum()), MANY),
    "product": (two(lambda x, y: x * y), MANY),
    "comparison": (two(lambda x, y: x < y), MANY),
    "equality": (two(lambda x, y: x == y), MANY),
    "fixed product": (two(lambda x, y: x * y, qr.real, bound=100), MANY),
    "division": (two(lambda x, y: x / y, qr.real, bound=(1, 100)), MANY),
    "sigmoid": (one(qr.sigmoid, qr.real, bound=100), MANY),
    "exp": (one(qr.exp, qr.real, bound=(-20, 5)), MANY),
    "matrices": (matrices, MANY),
    "max": (one(lambda x: x.max()), MANY),
    "argmax": (one(lambda x: x.argmax()), MANY),
    "group_by": (grouped, MANY),
    "trees": (tree, FEWER),
    "sort": (one(lambda x: x.sort()), FEWER),
    "join": (joined, FEWER),
    "shuffle": (lambda mpc, n: mpc.shuffle(*inputs(mpc, n)), (10**6, 10**7)),
}


def cell(family: str, program: str, size: int) -> dict[str, Any]:
    """Builds a program and explains it."""
    protocol, options = FAMILIES[family]
    with qr.local(protocol, check=False, **options) as mpc, mpc._without_values():
        mpc.explain(mpc.constant(1))  # measures the machine
        started = time.perf_counter()
        result = PROGRAMS[program][0](mpc, size)
        built = time.perf_counter()
        plan = mpc.explain(result)
        explained = time.perf_counter()
        str(plan)
        printed = time.perf_counter()
    phases = {name: (phase.rounds, phase.bytes_sent) for name, phase in (("off", plan.offline), ("on", plan.online))}
    return {
        "build": built - started,
        "explain": explained - built,
        "print": printed - explained,
        "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "figures": {
            **phases,
            "correlations": dict(plan.correlations),
            "memory": plan.memory_bytes,
            "refused": plan.refusal is not None,
            "steps": len(plan.steps),
        },
    }


def measured(family: str, program: str, size: int, most: float) -> dict[str, Any]:
    """Runs a cell in a process of its own, for at most `most` seconds."""
    command = [sys.executable, __file__, "--cell", json.dumps([family, program, size])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"over {most:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        return {"error": last[:100]}
    return json.loads(done.stdout.splitlines()[-1])


def line(family: str, program: str, size: int, found: dict[str, Any]) -> str:
    start = f"{program:14} {family:16} {size:>7.0e}"
    if "error" in found:
        return f"{start}  {found['error']}"
    most = next((seconds for elements, seconds in LIMITS if size <= elements), LIMITS[-1][1])
    seconds = found["build"] + found["explain"] + found["print"]
    over = f"  over {most:.0f} s" if seconds > most else ""
    times = "".join(f"{found[name]:9.2f}" for name in ("build", "explain", "print"))
    return f"{start}{times}{found['resident_mb']:9.0f}{over}"


def main() -> None:
    """Prints the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--only", default=",".join(PROGRAMS), help="programs, separated by commas")
    ask.add_argument("--families", default=";".join(FAMILIES), help="families, separated by semicolons")
    ask.add_argument("--sizes", help="numbers of elements, separated by commas; those of each program unless said")
    ask.add_argument("--most", type=float, default=30, help="seconds of a cell (default: %(default)s)")
    ask.add_argument("--json", type=Path, help="a file for all figures")
    ask.add_argument("--cell", help=argparse.SUPPRESS)
    asked = ask.parse_args()
    if asked.cell:
        print(json.dumps(cell(*json.loads(asked.cell))))
        return
    programs, families = asked.only.split(","), asked.families.split(";")
    for name, known in (*((name, PROGRAMS) for name in programs), *((name, FAMILIES) for name in families)):
        if name not in known:
            ask.error(f"no {name!r}; there are {', '.join(known)}")
    sizes = asked.sizes and [int(float(size)) for size in asked.sizes.split(",")]
    print(f"{'program':14} {'family':16} {'size':>7}{'build':>9}{'explain':>9}{'print':>9}{'MB':>9}", flush=True)
    cells = []
    for program in programs:
        for family in families:
            for size in sizes or PROGRAMS[program][1]:
                found = measured(family, program, size, asked.most)
                cells.append({"program": program, "family": family, "size": size, **found})
                print(line(family, program, size, found), flush=True)
                if asked.json:
                    asked.json.write_text(json.dumps(cells, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
