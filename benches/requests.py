#!/usr/bin/env python3
"""Measures small requests of several threads to one local session, alone and beside a large one.

    .venv/bin/python benches/requests.py
    .venv/bin/python benches/requests.py --families rss --threads 1,16 --requests 2000

A small request compares 50 numbers with 50 others and reveals the bits to all. The tables give requests a second and
processor seconds of the process by threads; the seconds of 64 requests in flight over a round trip of 70 ms, and of one
alone; and the median seconds of a small request beside a sort of 10^5 numbers, and alone.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import threading
import time
from collections.abc import Callable

import numpy as np

import quorate as qr

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


def throughput(family: str, threads: list[int], requests: int) -> None:
    """Prints requests a second by the number of threads."""
    with qr.local(family) as mpc:
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


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="rss,aby")
    parser.add_argument("--threads", default="1,4,16")
    parser.add_argument("--requests", type=int, default=3200)
    parser.add_argument("--sort", type=int, default=100_000)
    chosen = parser.parse_args()
    for family in chosen.families.split(","):
        throughput(family, [int(count) for count in chosen.threads.split(",")], chosen.requests)
        in_flight(family)
        beside_a_sort(family, chosen.sort)


if __name__ == "__main__":
    main()
