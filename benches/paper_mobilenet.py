"""Tables 11 and 12 of the ring paper beside ours: quantised MobileNet V1 of every width and resolution.

Weights are random, which costs what trained ones cost: programs depend on sizes, and on how many bits sums have. All
parties share this machine, over memory links. Each result is compared with the clear network's.

    .venv/bin/python benches/paper_mobilenet.py                                  # all, three and five parties
    .venv/bin/python benches/paper_mobilenet.py --parties 3 --widths 0.25,1.0 --resolutions 128 --modes exact
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr
from quorate._bench_mobilenet import mobilenet
from quorate.models._tflite._model import QuantisedNetwork

WIDTHS, RESOLUTIONS = (0.25, 0.5, 0.75, 1.0), (128, 160, 192, 224)

#: Seconds of the paper, by parties, resolution and width: its own, and MP-SPDZ on its machines.
PAPER: dict[int, dict[int, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    3: {
        128: ((3.19, 6.47, 9.92, 13.3), (3.19, 6.26, 9.88, 14.0)),
        160: ((4.94, 10.0, 15.1, 20.7), (4.15, 8.17, 13.6, 19.3)),
        192: ((7.17, 14.3, 22.0, 29.7), (5.00, 11.0, 17.8, 26.7)),
        224: ((9.71, 19.9, 30.0, 40.9), (6.57, 14.1, 23.1, 34.9)),
    },
    5: {
        128: ((23.7, 48.0, 73.1, 98), (442, 688, 992, 1343)),
        160: ((37.4, 75.1, 113, 151), (904, 1414, 2031, 2765)),
        192: ((52.8, 107, 162, 219), (1398, 2182, 3156, 4269)),
        224: ((72.7, 145, 220, 297), (1919, 3005, 4324, 5877)),
    },
}


def measured(network: QuantisedNetwork, parties: int, runs: int) -> dict[str, Any]:
    """Seconds of a prediction, the median of some, and megabytes of the busiest party."""
    size = network.shape.sizes
    picture = np.random.default_rng(8).integers(0, 256, (1, *size)).astype(np.uint8)
    exact = network.shape.mode == "exact"
    seconds = []
    for _ in range(runs):
        with qr.local("rss", parties, check=False, trunc="exact" if exact else "probabilistic") as mpc:
            started = time.perf_counter()
            scores = network.decision_function(mpc, picture)
            seconds.append(time.perf_counter() - started)
            stats = mpc.stats()
    wrong = float(np.abs(scores - network.decision_function_clear(picture)).max())
    if exact and wrong:
        raise SystemExit(f"a wrong result, by {wrong}: please report this defect")
    sent = [max(phase.bytes_sent) / 1e6 for phase in (stats.online, stats.offline)]
    return {"seconds": float(np.median(seconds)), "online_mb": sent[0], "offline_mb": sent[1], "error": wrong}


def main() -> None:
    """Prints a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parties", default="3,5")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--resolutions", default=",".join(map(str, RESOLUTIONS)))
    parser.add_argument("--modes", default="exact,paper")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = []
    print("parties  width  resolution  mode    seconds  MB online  offline   error  paper s  MP-SPDZ s", flush=True)
    for parties in map(int, asked.parties.split(",")):
        for resolution in map(int, asked.resolutions.split(",")):
            for width in map(float, asked.widths.split(",")):
                theirs = PAPER.get(parties, {}).get(resolution)
                known = [each[WIDTHS.index(width)] for each in theirs] if theirs and width in WIDTHS else ["", ""]
                for mode in asked.modes.split(","):
                    row = measured(mobilenet(width, resolution, mode), parties, asked.runs)
                    found.append({"parties": parties, "width": width, "resolution": resolution, "mode": mode, **row})
                    print(
                        f"{parties:7}  {width:5}  {resolution:10}  {mode:6}  {row['seconds']:7.2f}  "
                        f"{row['online_mb']:9.1f}  {row['offline_mb']:7.1f}  {row['error']:6.2f}  "
                        f"{known[0]:>7}  {known[1]:>9}",
                        flush=True,
                    )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
