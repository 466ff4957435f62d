"""Networks of the papers beside ours: MNIST (ring, Tables 9, 10), activations, networks (Pika, Table 3), depth.

    .venv/bin/python benches/paper_networks.py mnist                              # rss, on memory, local and wide links
    .venv/bin/python benches/paper_networks.py mnist --protocols rss,aby,pika --links memory
    .venv/bin/python benches/paper_networks.py mnist --links wan,70/100           # a round trip in ms and Mbit/s
    .venv/bin/python benches/paper_networks.py growth --plot growth.png           # of the figures in docs/networks.md
    .venv/bin/python benches/paper_networks.py lookups --protocols pika
    .venv/bin/python benches/paper_networks.py lstm --protocols pika,rss,aby --links memory
    .venv/bin/python benches/paper_networks.py sensors --protocols pika --links memory
    .venv/bin/python benches/paper_networks.py depth --data FOLDER --plot depth.png    # FOLDER has MNIST's test images
    .venv/bin/python benches/paper_networks.py depth --data FOLDER --protocols rss,pika,aby,spdz2k --links memory,lan

What is predicted to take longer than `--most` seconds is not run: its line has the prediction.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _depth import depth
from _growth import PAGE, growth
from _links import LINKS, network
from _pika_networks import Lstm, Network, Sensors

import quorate as qr
from quorate._bench import _applications
from quorate._families import DEFAULT, FAMILIES

#: How many images at once, by parties, and milliseconds an image of the ring paper on three and five machines.
MNIST = {2: (1, 5, 10, 50), 3: (1, 5, 10, 50), 5: (1, 5, 10, 25), 7: (1,)}
PAPER = {3: {1: 82.5, 5: 68.8, 10: 67.4, 50: 67.6}, 5: {1: 414.0, 5: 370.0, 10: 367.0, 25: 355.0}}

#: How many sigmoids and tanhs, and what others take: seconds and megabytes.
LOOKUPS = {
    "LSTM": ((800, 200), "MiniONN 1.1 s, 182 MB; SiRNN 0.48 s, 9.3 MB; Pika 0.059 s, 0.17 MB"),
    "DeepSecure B4": ((0, 2500), "DeepSecure 465 s, 83.7 GB; SiRNN 5.3 s, 1.9 GB; Pika 0.149 s, 0.44 MB"),
}

HEAD = (
    f"{'what':<26} {'protocol':<9} {'link':<7} {'ms':>9} {'phases':>9} {'predicted':>9} {'MB a party':>10} "
    f"{'rounds':>6}  theirs"
)


def row(what: str, protocol: str, link: str, place: dict[str, Any], asked: argparse.Namespace, work: Any) -> None:
    """Measures `work.plan` and `work.ask`, and prints a line: the median of several requests of one session.

    The first time is that of the whole request. The time of its two phases, which is predicted, leaves out the work of
    Python before and after.
    """
    with qr.local(protocol, network=network(link), check=False, **place) as mpc:

        def seconds_of_a_question() -> float:
            plan = mpc.explain(*work.plan(mpc))
            return plan.offline.seconds + plan.online.seconds

        predicted = seconds_of_a_question()
        head = f"{what:<26} {protocol:<9} {link:<7}"
        if predicted > asked.most:
            print(f"{head} {'':>9} {'':>9} {predicted * 1e3:9.1f} {'':>10} {'':>6}  {work.theirs}", flush=True)
            return
        seconds, phases = [], []
        for _ in range(1 + asked.runs):
            before, started = mpc.stats(), time.perf_counter()
            work.ask(mpc)
            seconds.append(time.perf_counter() - started)
            after = mpc.stats()
            phases.append(spent(before.offline, after.offline)[0] + spent(before.online, after.online)[0])
        predicted = seconds_of_a_question()  # of those that follow the first, which tabulates functions, too
    (_, sent, _), (_, sent_online, rounds) = (
        spent(before.offline, after.offline),
        spent(before.online, after.online),
    )
    megabytes = (sent + sent_online) / len(after.online.bytes_sent)
    median, both = (float(np.median(each[1:])) * 1e3 for each in (seconds, phases))
    print(
        f"{head} {median:9.1f} {both:9.1f} {predicted * 1e3:9.1f} {megabytes:10.2f} {rounds:6}  {work.theirs}",
        flush=True,
    )


class Work:
    """A program: the arrays to plan, the request, and the published figures of others."""

    def __init__(self, plan: Callable[[Any], Sequence[Any]], ask: Callable[[Any], Any], theirs: str = "") -> None:
        self.plan, self.ask, self.theirs = plan, ask, theirs


def mnist(asked: argparse.Namespace) -> None:
    """Measures MiniONN's network with random weights; labels are revealed."""
    print(HEAD, flush=True)
    for protocol in asked.protocols:
        for parties in FAMILIES[protocol].parties if protocol == DEFAULT else (None,):
            for images in MNIST[parties or 2]:
                application = _applications._mnist(images, [])
                theirs = PAPER.get(parties or 0, {}).get(images)
                said = f"the paper {theirs * images:.0f}" if theirs else ""
                for link in asked.links:
                    place = {} if parties is None else {"parties": parties}
                    what = f"MNIST, {images} images" + (f", {parties} parties" if parties else "")
                    row(what, protocol, link, place, asked, Work(application.plan, application.ask, said))


def lookups(asked: argparse.Namespace) -> None:
    """Measures the activations alone, on numbers of 32 bits with 12 fractional ones; reveals only sums of results."""
    print(HEAD, flush=True)
    r = np.random.default_rng(3)
    for name, ((sigmoids, tanhs), theirs) in LOOKUPS.items():
        x = r.normal(0, 2, sigmoids + tanhs)

        def plan(mpc: Any, x: np.ndarray = x, sigmoids: int = sigmoids) -> list[Any]:
            given = mpc.input(x, owner=0, dtype=qr.fixed(32, 12))
            made = [qr.sigmoid(given[:sigmoids])] if sigmoids else []
            return [*made, qr.tanh(given[sigmoids:])]

        def ask(mpc: Any, plan: Callable[[Any], list[Any]] = plan) -> None:
            mpc.reveal_all(*(made.sum() for made in plan(mpc)))

        for protocol in asked.protocols:
            for link in asked.links:
                row(f"{name}, {len(x)} look-ups", protocol, link, {}, asked, Work(plan, ask, theirs))


def whole(net: Network, asked: argparse.Namespace) -> None:
    """Measures a network on every protocol and link.

    The first request shares the weights; the other columns are medians of the later ones.
    """
    print(
        f"{'what':<8} {'protocol':<9} {'link':<7} {'first ms':>9} {'others':>9} {'offline':>9} {'online':>9} "
        f"{'MB offline':>10} {'online':>8} {'rounds':>6}  {'predicted offline':>17} {'online':>9}  theirs",
        flush=True,
    )
    wanted = net.clear()
    for protocol, link in itertools.product(asked.protocols, asked.links):
        with qr.local(protocol, network=network(link), check=False) as mpc:
            head = f"{net.name:<8} {protocol:<9} {link:<7}"
            weights = net.share(mpc)
            first = mpc.explain(net.ask(mpc, weights))
            if first.offline.seconds + first.online.seconds > asked.most:
                print(f"{head} predicted {first.offline.seconds:.0f} s, {first.online.seconds:.0f} s", flush=True)
                continue
            walls, taken = [], []
            for _ in range(1 + asked.runs):
                question = net.ask(mpc, weights)
                predicted = mpc.explain(question) if walls else first
                before, started = mpc.stats(), time.perf_counter()
                found = question.reveal()
                walls.append(time.perf_counter() - started)
                after = mpc.stats()
                taken.append([spent(*of) for of in ((before.offline, after.offline), (before.online, after.online))])
                if np.abs(found - wanted).max() > net.close:
                    raise SystemExit(f"{net.name} on {protocol}: results are off by {np.abs(found - wanted).max()}")
        figures = np.median(np.array(taken[1:]), axis=0)
        (offline, megabytes, _), (online, online_megabytes, rounds) = figures
        print(
            f"{head} {walls[0] * 1e3:9.1f} {np.median(walls[1:]) * 1e3:9.1f} {offline * 1e3:9.1f} {online * 1e3:9.1f} "
            f"{megabytes:10.3f} {online_megabytes:8.3f} {rounds:6.0f}  {predicted.offline.seconds * 1e3:17.1f} "
            f"{predicted.online.seconds * 1e3:9.1f}  {net.theirs}",
            flush=True,
        )


def spent(before: Any, after: Any) -> tuple[float, float, int]:
    """Returns seconds, megabytes of all parties together, and rounds of a phase."""
    sent = sum(after.bytes_sent) - sum(before.bytes_sent)
    return after.seconds - before.seconds, sent / 1e6, after.rounds - before.rounds


EXPERIMENTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "mnist": mnist,
    "growth": growth,
    "lookups": lookups,
    "lstm": lambda asked: whole(Lstm(), asked),
    "sensors": lambda asked: whole(Sensors(), asked),
    "depth": depth,
}


def main() -> None:
    """Runs an experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=EXPERIMENTS)
    parser.add_argument("--protocols", type=lambda text: text.split(","), default=None)
    parser.add_argument(
        "--links", type=lambda text: text.split(","), default=None, help="memory, lan, wan, RTT_MS/MBIT"
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=float, default=600.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE, help="whose tables `growth` draws")
    asked = parser.parse_args()
    asked.protocols = asked.protocols or (["pika"] if asked.experiment in ("lookups", "lstm", "sensors") else ["rss"])
    asked.links = asked.links or (["memory"] if asked.experiment == "depth" else list(LINKS))
    EXPERIMENTS[asked.experiment](asked)


if __name__ == "__main__":
    main()
