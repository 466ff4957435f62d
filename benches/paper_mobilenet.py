"""Tables 11 and 12 of the ring paper beside ours: quantised MobileNet V1 of every width and resolution.

Weights are random. They cost as much as trained ones, since programs depend on sizes and on the number of bits of sums
only. All parties share this machine. Each result is compared with that of the clear network.

    .venv/bin/python benches/paper_mobilenet.py                      # rss of three and five parties, on memory links
    .venv/bin/python benches/paper_mobilenet.py --parties 3 --widths 0.25,1.0 --resolutions 128 --modes exact
    .venv/bin/python benches/paper_mobilenet.py --protocols pika,aby,spdz2k --resolutions 128 --links memory,lan

`--parties` applies to rss. A network is not run if the prediction exceeds `--most` seconds or the memory of the
machine; its line has the prediction.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from _links import network

import quorate as qr
from quorate._bench._mobilenet import mobilenet
from quorate._families import DEFAULT, FAMILIES
from quorate.models._tflite._model import QuantisedNetwork
from quorate.models._tflite._run import Owned

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


def measured(net: QuantisedNetwork, place: Place, asked: argparse.Namespace) -> dict[str, Any]:
    """Measures the first request of a session, which shares the weights.

    Returns the predicted seconds and, if it may run, the measured median, the megabytes of the busiest party, rounds
    and the largest error.
    """
    picture = np.random.default_rng(8).integers(0, 256, (1, *net.shape.sizes)).astype(np.uint8)
    exact = net.shape.mode == "exact"
    seconds = []
    for _ in range(asked.runs):
        with place.opened(trunc="exact" if exact else "probabilistic") as mpc:
            if not seconds:
                plan = mpc.explain(net.shape.program(mpc, Owned(mpc, net, net._plan, 0), picture, 1, 1)[-1])
                predicted = {"predicted": plan.offline.seconds + plan.online.seconds}
                if plan.refusal:
                    return {**predicted, "why": plan.refusal}
                if predicted["predicted"] > asked.most:
                    return {**predicted, "why": f"longer than {asked.most:g} s"}
            before, started = mpc.stats(), time.perf_counter()
            scores = net.decision_function(mpc, picture)
            seconds.append(time.perf_counter() - started)
            after = mpc.stats()
    wrong = float(np.abs(scores - net.decision_function_clear(picture)).max())
    if exact and wrong:
        raise SystemExit(f"a wrong result, by {wrong}: please report this defect")
    online, offline = (sent(before.online, after.online), sent(before.offline, after.offline))
    return {
        **predicted,
        "seconds": float(np.median(seconds)),
        "online_mb": online,
        "offline_mb": offline,
        "rounds": after.online.rounds - before.online.rounds,
        "error": wrong,
    }


def sent(before: Any, after: Any) -> float:
    """Returns the megabytes that the busiest party sent."""
    return max(now - then for then, now in zip(before.bytes_sent, after.bytes_sent, strict=True)) / 1e6


@dataclasses.dataclass(frozen=True)
class Place:
    """A setting: a family, a number of parties, and the link between them."""

    protocol: str
    parties: int
    link: str

    def opened(self, **options: Any) -> Any:
        """Returns a session in this setting."""
        return qr.local(self.protocol, self.parties, network(self.link), check=False, **options)


def places(asked: argparse.Namespace) -> list[Place]:
    """Returns the settings that the command line selects."""
    chosen = list(map(int, asked.parties.split(",")))
    return [
        Place(protocol, parties, link)
        for protocol in asked.protocols.split(",")
        for parties in (chosen if protocol == DEFAULT else FAMILIES[protocol].parties[:1])
        for link in asked.links.split(",")
    ]


def said(row: dict[str, Any]) -> str:
    """Returns the figures of a line."""
    if "seconds" not in row:
        return f"{'':7}  {row['predicted']:9.2f}  not run: {row['why']}"
    return (
        f"{row['seconds']:7.2f}  {row['predicted']:9.2f}  {row['online_mb']:9.1f}  {row['offline_mb']:7.1f}  "
        f"{row['rounds']:6}  {row['error']:6.2f}"
    )


def main() -> None:
    """Prints a line for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocols", default=DEFAULT)
    parser.add_argument("--parties", default="3,5", help="of rss")
    parser.add_argument("--links", default="memory", help="memory, lan, wan, RTT_MS/MBIT")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--resolutions", default=",".join(map(str, RESOLUTIONS)))
    parser.add_argument("--modes", default="exact,paper")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--most", type=float, default=600.0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = []
    print(
        "protocol  parties  link     width  resolution  mode   paper s  MP-SPDZ s  seconds  predicted  MB online  "
        "offline  rounds   error",
        flush=True,
    )
    for place in places(asked):
        for resolution in map(int, asked.resolutions.split(",")):
            for width in map(float, asked.widths.split(",")):
                theirs = PAPER.get(place.parties, {}).get(resolution) if place.protocol == DEFAULT else None
                known = [each[WIDTHS.index(width)] for each in theirs] if theirs and width in WIDTHS else ["", ""]
                for mode in asked.modes.split(","):
                    row = measured(mobilenet(width, resolution, mode), place, asked)
                    what = {"width": width, "resolution": resolution, "mode": mode}
                    found.append({**dataclasses.asdict(place), **what, **row})
                    print(
                        f"{place.protocol:8}  {place.parties:7}  {place.link:7}  {width:5}  {resolution:10}  {mode:5}  "
                        f"{known[0]:>7}  {known[1]:>9}  {said(row)}",
                        flush=True,
                    )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
