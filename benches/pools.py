"""Runs with and without a pool: seconds of both phases at a party, bytes, and the pool on the disk.

The parties are processes that `quorate` starts, over TLS on the loopback; all share the cores of this machine.

    .venv/bin/python benches/pools.py --elements 10000 --times 5
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

from quorate._command._launch import write_deployment

FAMILIES = {"rss": 3, "aby": 2, "pika": 3, "spdz2k": 2}


class Workload(NamedTuple):
    """What is measured: statements, an expression of what they define, and the default of `n`."""

    given: str
    work: str
    elements: int = 10_000


ARRAYS = """
def given(owner, seed):
    mine = np.random.default_rng(seed).uniform(-4, 4, n) if mpc.me in (None, owner) else None
    return mpc.input(mine, owner=owner, shape=(n,), dtype=qr.fixed(32, 12), bound=4)
x, y = given(0, 1), given(1, 2)
"""
MODEL = """
import warnings
from sklearn.{module} import {model}
rng = np.random.default_rng(1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it has not converged
    rows, classes = rng.normal(size=({rows}, {features})), rng.integers(0, {classes}, {rows})
    fitted = {model}({options}, random_state=1).fit(rows, classes)
model, x = qr.models.from_sklearn(fitted), rng.normal(size=(n, {features}))
"""
PREDICT = "model.predict(mpc, x, model_owner=0, data_owner=1, reveal=False)"

TREE = {"module": "tree", "model": "DecisionTreeClassifier", "options": "max_depth=9"}
NETWORK = {"module": "neural_network", "model": "MLPClassifier", "options": "(128, 128), max_iter=1"}

#: Two fixed-point arrays; a tree as in `quorate bench tree`; a network of the size of those for MNIST.
WORKLOADS = {
    "comparisons": Workload(ARRAYS, "(x < y).sum()"),
    "products": Workload(ARRAYS, "(x * y).sum()"),
    "sigmoids": Workload(ARRAYS, "qr.sigmoid(x).sum()"),
    "tree": Workload(MODEL.format(**TREE, rows=3000, features=8, classes=2), PREDICT, 1),
    "network": Workload(MODEL.format(**NETWORK, rows=1000, features=784, classes=10), PREDICT, 1),
}

SCRIPT = """
import json, sys, time
import numpy as np, quorate as qr
with qr.session() as mpc:
    n = int(sys.argv[1])
{given}
    begun = time.perf_counter()
    ({work}).reveal()
    whole = time.perf_counter() - begun
    stats = mpc.stats()
    phases = [[one.seconds, one.rounds, max(one.bytes_sent)] for one in (stats.offline, stats.online)]
    print("MEASURED", json.dumps([*phases, whole]))
"""


def run(command: str, configs: list[Path], script: Path, *arguments: str) -> list[str]:
    """Runs a command at all parties and returns what they print."""
    start = [sys.executable, "-P", "-m", "quorate.cli", command, str(script)]
    processes = [
        subprocess.Popen(
            [*start, "--config", str(config), *(text.replace("@", str(me)) for text in arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=script.parent,
        )
        for me, config in enumerate(configs)
    ]
    printed = []
    for process in processes:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        printed.append(out)
    return printed


def measured(printed: list[str]) -> tuple[list[list[float]], float]:
    """Returns the slowest party's phases, each with seconds, rounds and bytes, and its seconds in all."""
    each = [json.loads(out.split("MEASURED", 1)[1]) for out in printed]
    phases = [[max(one[phase][i] for one in each) for i in range(3)] for phase in range(2)]
    return phases, max(one[2] for one in each)


def ratio(plain: list[tuple[list[list[float]], float]], pooled: list[tuple[list[list[float]], float]]) -> float:
    """Returns the online seconds with a pool, divided by those without one."""
    with_pool, without = ([one[0][1][0] for one in runs] for runs in (pooled, plain))
    return statistics.median(with_pool) / statistics.median(without)


def bench(protocol: str, name: str, elements: int | None, times: int) -> None:
    """Prints a row for one workload under one protocol."""
    workload = WORKLOADS[name]
    elements = elements or workload.elements
    with tempfile.TemporaryDirectory() as folder:
        configs = write_deployment(Path(folder), protocol, FAMILIES[protocol])
        script = Path(folder) / "work.py"
        given = textwrap.indent(workload.given, "    ")
        script.write_text(SCRIPT.replace("{given}", given).replace("{work}", workload.work))
        size = ("--", str(elements))
        plain, pooled = [], []
        run("preprocess", configs, script, "--pool", "pool@", "--times", str(times), *size)
        made = sum(file.stat().st_size for file in (Path(folder) / "pool0").iterdir())
        for _ in range(times):  # in turn, so that a change of the machine's load meets both
            plain.append(measured(run("party", configs, script, *size)))
            pooled.append(measured(run("party", configs, script, "--pool", "pool@", *size)))
        shutil.rmtree(Path(folder) / "pool0")
    row = [protocol, name, f"{elements}", f"{ratio(plain, pooled):.2f}"]
    for runs in (plain, pooled):
        for phase in range(2):
            seconds = statistics.median(one[0][phase][0] for one in runs)
            row.append(f"{1e3 * seconds:.1f} ms, {runs[0][0][phase][1]:.0f} r, {runs[0][0][phase][2] / 1e3:.0f} kB")
        row.append(f"{1e3 * statistics.median(one[1] for one in runs):.1f} ms")
    print("| " + " | ".join([*row, f"{made / times / 1e3:.0f} kB"]) + " |", flush=True)


def main() -> None:
    """Runs all workloads that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocols", nargs="*", default=list(FAMILIES))
    parser.add_argument("--workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--elements", type=int, help="elements, or records of a model; a default for each workload")
    parser.add_argument("--times", type=int, default=5, help="runs of each; medians are printed")
    options = parser.parse_args()
    phases = ("offline", "online", "in all")
    head = [
        "protocol",
        "workload",
        "elements",
        "online, ratio",
        *phases,
        *(f"{one}, pool" for one in phases),
        "on disk, a run",
    ]
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for protocol in options.protocols:
        for name in options.workloads:
            bench(protocol, name, options.elements, options.times)


if __name__ == "__main__":
    main()
