#!/usr/bin/env python3
"""Measures small requests of several threads to one local session, alone and beside a large one.

    .venv/bin/python benches/requests.py
    .venv/bin/python benches/requests.py --families rss --threads 1,16 --requests 2000

A small request compares 50 numbers with 50 others and reveals the bits to all. The tables give requests a second and
processor seconds of the process by threads; the seconds of 64 requests in flight over a round trip of 70 ms, and of one
alone; and the median seconds of a small request beside a sort of 10^5 numbers, and alone. The last table gives requests
a second of a deployment on the loopback, a process for each party, by the number of branches.
"""

from __future__ import annotations

import argparse
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import quorate as qr
from quorate._families import FAMILIES

ELEMENTS = 50
IN_FLIGHT = 64
FAR = qr.Network(rtt_ms=70, mbit=1000)


class Small:
    """A small request to a session, which any thread may repeat."""

    def __init__(self, mpc: qr.Session) -> None:
        numbers = np.arange(ELEMENTS)
        self.wanted = numbers < numbers[::-1]
        self.x, self.y = mpc.input(numbers, owner=0), mpc.input(numbers[::-1].copy(), owner=1)
        for _ in range(5):
            self()

    def __call__(self) -> None:
        """Asks for the values, and checks them."""
        if not np.array_equal((self.x < self.y).reveal(), self.wanted):
            raise SystemExit("a request gave wrong values")


def processor_seconds() -> float:
    """Returns the processor seconds of the process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def seconds_of(work: Callable[[], object]) -> float:
    """Returns the seconds that the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def side_by_side(work: Callable[[], object], threads: int) -> float:
    """Returns the seconds until each of the threads has done the work."""
    all_threads = [threading.Thread(target=work) for _ in range(threads)]

    def run() -> None:
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join()

    return seconds_of(run)


def throughput(family: str, threads: list[int], requests: int, sharings: str | None) -> None:
    """Prints requests a second by the number of threads."""
    options: dict[str, Any] = {"sharings": sharings} if sharings else {}
    with qr.local(family, **options) as mpc:
        small = Small(mpc)
        for count in threads:
            each = requests // count

            def ask(each: int = each) -> None:
                for _ in range(each):
                    small()

            side_by_side(ask, count)  # the seats beside the main one are made once
            began = processor_seconds()
            seconds = side_by_side(ask, count)
            used = processor_seconds() - began
            done = each * count
            print(f"{family:6} {count:4} threads {done / seconds:8.0f} a second", end=" ")
            print(f"{1e3 * used / done:8.3f} ms of a core each")


def in_flight(family: str) -> None:
    """Prints the seconds of many requests in flight over a long line, and of one."""
    with qr.local(family, network=FAR) as mpc:
        small = Small(mpc)
        side_by_side(small, IN_FLIGHT)
        alone = statistics.median(seconds_of(small) for _ in range(5))
        together = statistics.median(side_by_side(small, IN_FLIGHT) for _ in range(3))
        print(
            f"{family:6} 70 ms: one {alone:.3f} s, {IN_FLIGHT} in flight {together:.3f} s: {together / alone:.2f} times"
        )


def beside_a_sort(family: str, elements: int) -> None:
    """Prints the median seconds of a small request beside a sort, and alone."""
    with qr.local(family) as mpc:
        small = Small(mpc)
        alone = statistics.median(seconds_of(small) for _ in range(200))
        many = mpc.input(np.random.default_rng(1).permutation(elements), owner=0)
        sorting = threading.Thread(target=lambda: np.sort(many)[:1].reveal())
        sorting.start()
        time.sleep(0.5)
        taken = []
        while sorting.is_alive():
            taken.append(seconds_of(small))
            time.sleep(0.01)
        sorting.join()
        beside = statistics.median(taken[:-1] or taken)
        times = f"{1e3 * alone:.2f} ms alone, {1e3 * beside:.2f} ms beside a sort of {elements:,}"
        print(f"{family:6} {times}: {beside / alone:.1f} times; {len(taken)} requests")


PARTY = """
import sys, threading, time
import numpy as np, quorate as qr
branches, each = int(sys.argv[1]), int(sys.argv[2])
numbers = np.arange({elements})
with qr.session() as mpc:
    given = [(numbers, 0), (numbers[::-1].copy(), 1)]
    x, y = (mpc.input(v if mpc.me == o else None, owner=o, shape={elements}, dtype=qr.int(64)) for v, o in given)
    (x < y).reveal()
    own = [mpc.branch(f"worker {{i}}") for i in range(branches)] or [mpc]
    def ask(session):  # a thread whose parties all end well: its session is closed below
        a, b = (x, y) if session is mpc else (session.adopt(x), session.adopt(y))
        for _ in range(each):
            if not np.array_equal((a < b).reveal(), numbers < numbers[::-1]):
                raise SystemExit("a request gave wrong values")
    for repeat in range(2):
        threads = [threading.Thread(target=ask, args=(session,)) for session in own]
        started = time.perf_counter()
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        seconds = time.perf_counter() - started
    print(len(own) * each / seconds)
    [session.close() for session in own if session is not mpc]
"""


def deployed(family: str, branches: list[int], requests: int) -> None:
    """Prints requests a second of parties in processes of their own, by the number of branches."""
    parties = FAMILIES[family].parties[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ask.py").write_text(PARTY.format(elements=ELEMENTS))
        quorate = [sys.executable, "-P", "-c", "import sys; from quorate.cli import main; sys.exit(main())"]
        entries = []
        for me in range(parties):
            keygen = [*quorate, "keygen", "--party", str(me), "--dir", name]
            subprocess.run(keygen, check=True, stdout=subprocess.DEVNULL)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                address = f"127.0.0.1:{free.getsockname()[1]}"
            entries.append(f'[[party]]\naddress = "{address}"\ncertificate = "party{me}.crt"\n')
        for me in range(parties):
            head = f'me = {me}\nprotocol = "{family}"\nkey = "party{me}.key"\n'
            (folder / f"party{me}.toml").write_text(head + "".join(entries))
        for count in branches:
            each = str(requests // max(count, 1))
            command = [*quorate, "party", "ask.py", "--threads", "1"]
            running = [
                subprocess.Popen(
                    [*command, "--config", f"party{me}.toml", "--", str(count), each],
                    cwd=folder,
                    stdout=subprocess.PIPE,
                )
                for me in range(parties)
            ]
            rates = [float(party.communicate()[0]) for party in running]
            print(f"{family:6} {count:4} branches {statistics.median(rates):8.0f} a second")


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="rss,aby")
    parser.add_argument("--threads", default="1,4,16")
    parser.add_argument("--requests", type=int, default=3200)
    parser.add_argument("--sort", type=int, default=100_000)
    parser.add_argument("--sharings", help="the sharings of the first table, such as Y")
    chosen = parser.parse_args()
    for family in chosen.families.split(","):
        throughput(family, [int(count) for count in chosen.threads.split(",")], chosen.requests, chosen.sharings)
        in_flight(family)
        beside_a_sort(family, chosen.sort)
        deployed(family, [0, 1, 4, 16], chosen.requests)


if __name__ == "__main__":
    main()
