#!/usr/bin/env python3
"""Lets three servers work for simulated days while clients come and go and servers are killed and started again.

    .venv/bin/python benches/soak.py                                  # 3,000 requests: some minutes
    nice .venv/bin/python benches/soak.py --requests 100000 --seed 1

Servers of `rss` with jobs are processes; clients, strangers and operators are here. Campaigns, of listed clients and
with invitations in turn, open and close all the time, and each is read by a job. An oracle keeps what each client was
told. In the first part of the requests (`--warm`), all servers are killed (SIGKILL) or told to end (SIGTERM) at random;
after that server 0 is left alone, so that its memory, descriptors and threads have a slope. The clock of all processes
goes some hours ahead after each few hundred requests.

All choices follow from `--seed`; which of them meet at the same moment does not. The exit status is 1 if a packet, a
result or a job was lost or came twice, if a server answered 500, or if a slope is above its bound.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import itertools
import random
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _soak_clients import Traffic, visit
from _soak_clock import Clock
from _soak_office import Office
from _soak_oracle import Round
from _soak_servers import Sample, Server
from _soak_slopes import Slope, slope

#: Requests between two steps of the clock.
_STEP = 250

#: Requests at which samples are taken, at least; and seconds, at least.
_SAMPLE_REQUESTS, _SAMPLE_S = 20, 1.0

#: What a slope may be for 10^4 requests: above it, the run fails. In shorter runs than `_LONG`, slopes are those of
#: processes that have just started, and only printed.
BOUNDS = {"memory": 1e6, "descriptors": 0.5, "threads": 0.5, "store": 1.5e6, "log": 0.5e6, "files": 8.0}

_LONG = 20_000

#: The part of the requests that follows the warm-up and has no samples either: a process grows after its start.
_SETTLING = 0.1

#: Campaigns whose clients still come after the packets were erased.
_REMEMBERED = 2


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a soak is to do.

    Attributes:
        requests: the number of requests that servers answer.
        seed: of all choices.
        warm: the part of the requests before server 0 is left alone.
        at_once: visits at a time.
        members: clients of a campaign.
        rounds: campaigns in all.
        jobs: jobs on request, besides those of campaigns.
        restarts: ends of servers.
        days: simulated days in all.
        minutes: when it ends at the latest, with fewer requests.
    """

    requests: int
    seed: int
    warm: float
    at_once: int
    members: int
    rounds: int
    jobs: int
    restarts: int
    days: float
    minutes: float


class Soak:
    """A run.

    Args:
        plan: what is to be done.
        folder: a folder for all files.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.traffic = plan, Traffic()
        self.clock = Clock(folder / "clock")
        self.clock.install()
        self.office = Office(folder, self.clock, self.traffic, plan.members, 1.7 * self._period_s)
        self.samples: list[list[Sample]] = [[], [], []]
        self.seconds = 0.0
        self._visits = itertools.count()
        self._until = float("inf")
        self._over = threading.Event()
        self._present: list[Round] = []

    @property
    def _period_s(self) -> float:
        return self.plan.days * 86_400 / self.plan.rounds

    def run(self) -> None:
        """Does all requests, closes and reads all campaigns, and leaves the servers up."""
        begun, undo = time.monotonic(), self.traffic.installed()
        self._until = begun + self.plan.minutes * 60
        try:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                list(pool.map(Server.start, self.office.servers))
            self._present = [self.office.open(self._rng("campaign", 0))]
            tasks = [*[self._visiting] * self.plan.at_once, self._campaigns, self._jobs, self._ending, self._sampling]
            with concurrent.futures.ThreadPoolExecutor(len(tasks) + 1) as pool:
                running = [pool.submit(self._guarded, task) for task in tasks]
                ticking = pool.submit(self._guarded, self._ticking)
                concurrent.futures.wait(running[: self.plan.at_once + 2])
                self._over.set()
                concurrent.futures.wait([*running, ticking])
        finally:
            self._over.set()
            undo()
        self.seconds = time.monotonic() - begun

    def check(self) -> list[int]:
        """Compares what jobs ran with what was told; returns the jobs that ran at each server."""
        return self.office.check_jobs()

    def stop(self) -> None:
        """Ends the servers."""
        for server in self.office.servers:
            server.end(kill=False)

    def _rng(self, *what: object) -> random.Random:
        return random.Random(f"{self.plan.seed} {what}")

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException:
            self.office.problems.add(f"the soak has ended early: {traceback.format_exc()}")
            self._over.set()

    def _reached(self, requests: float) -> bool:
        """Waits until this number of requests was sent; returns whether it was before the end."""
        while self.traffic.requests < requests:
            if self._over.wait(0.05) or self._is_done:
                return False
        return True

    @property
    def _is_done(self) -> bool:
        is_late = time.monotonic() > self._until
        return is_late or self.traffic.requests >= self.plan.requests or self._over.is_set()

    def _visiting(self) -> None:
        while not self._is_done:
            rng = self._rng("visit", next(self._visits))
            present = self._present
            visit(rng.choices(present, range(1, len(present) + 1))[0], rng, self.traffic, self.office.problems)

    def _ticking(self) -> None:
        """Sets the clock ahead, step by step."""
        each = self.plan.days * 86_400 * _STEP / self.plan.requests
        for step in itertools.count(1):
            if not self._reached(step * _STEP):
                return
            self.clock.ahead = step * each

    def _campaigns(self) -> None:
        """Opens campaigns; closes, reads and ends those that were opened before."""
        each = self.plan.requests / self.plan.rounds
        with concurrent.futures.ThreadPoolExecutor(1) as reading:
            done = []
            for number in range(1, self.plan.rounds):
                if not self._reached(number * each):
                    break
                self._present = [*self._present, self.office.open(self._rng("campaign", number))]
                if number >= 2:
                    done.append(reading.submit(self._finish, self.office.rounds[number - 2]))
            self._reached(self.plan.requests)
            done += [reading.submit(self._finish, one) for one in self.office.rounds if one.state == "open"]
            for one in done:
                one.result()

    def _finish(self, one: Round) -> None:
        """Closes a campaign and reads it; ends the one whose clients had time to fetch their results."""
        if one.state != "open":
            return
        self.office.close(one)
        self.office.read(one)
        place = self.office.rounds.index(one)
        if place >= 1 and not self._is_done:
            self.office.end(self.office.rounds[place - 1])
        if place > _REMEMBERED:
            gone = self.office.rounds[place - _REMEMBERED - 1]
            self._present = [other for other in self._present if other is not gone]

    def _jobs(self) -> None:
        """Asks for jobs, and for a schedule at the beginning."""
        if self.plan.jobs:
            self.office.schedule()
        for number in range(self.plan.jobs):
            if not self._reached(number * self.plan.requests / self.plan.jobs):
                return
            self.office.run("sum", {})

    def _ending(self) -> None:
        """Ends servers at random, as long as they are left to be ended, and starts them again."""
        rng = self._rng("ends")
        turns: list[Server] = []
        for at in sorted(rng.uniform(0.02, 0.98) for _ in range(self.plan.restarts)):
            turns = [server for server in turns if server.me or at < self.plan.warm]
            if not turns:
                turns = self.office.servers[0 if at < self.plan.warm else 1 :]
                rng.shuffle(turns)
            server = turns.pop()
            kill, pause = rng.random() < 0.6, rng.choice((0.0, 0.0, 1.0, 4.0))
            if not self._reached(at * self.plan.requests):
                return
            server.end(kill=kill)
            self._over.wait(pause)
            server.start()

    def _sampling(self) -> None:
        last = -_SAMPLE_REQUESTS
        while not self._over.wait(_SAMPLE_S):
            now = self.traffic.requests
            if now >= last + _SAMPLE_REQUESTS and not self._is_done:
                last = now
                for server, samples in zip(self.office.servers, self.samples, strict=True):
                    samples.append(server.sample(now))


# ---- the report ----------------------------------------------------------------------------------------------------


def slopes(soak: Soak) -> Iterator[tuple[str, int, Slope]]:
    """Yields slopes for 10^4 requests after the warm-up: what is measured, the server, and the slope.

    What a process takes has a slope at server 0, in its last life; what is on the disk has one at all servers.
    """
    warm = (soak.plan.warm + _SETTLING) * soak.plan.requests
    for server, samples in enumerate(soak.samples):
        used = [one for one in samples if one.requests >= warm]
        for name in BOUNDS:
            of_process = name in ("memory", "descriptors", "threads")
            if of_process and server:
                continue
            taken = [one for one in used if not of_process or one.life == samples[-1].life]
            pairs = [(one.requests, getattr(one, name)) for one in taken if getattr(one, name) is not None]
            found = slope([x for x, _ in pairs], [y for _, y in pairs])
            if found is not None:
                yield name, server, found.times(1e4)


def report(soak: Soak, ran: list[int]) -> list[str]:
    """Prints the figures, and returns what is wrong."""
    office, traffic, plan = soak.office, soak.traffic, soak.plan
    members = [member for one in office.rounds for member in one.members]
    ends = [(server.kills, server.ends) for server in office.servers]
    rate = traffic.requests / soak.seconds
    print(f"{traffic.requests} of {plan.requests} requests in {soak.seconds:.0f} s, {rate:.0f} a second; "
          f"{soak.clock.ahead / 86_400:.1f} simulated days")  # fmt: skip
    print("answers: " + ", ".join(f"{n} x {status or 'none'}" for status, n in sorted(traffic.answers.items())))
    print(f"{traffic.broken} connections reset; servers killed, told to end: {ends}")
    print(f"{len(office.rounds)} campaigns with {len(members)} clients, {sum(m.receipts for m in members)} receipts, "
          f"{sum(bool(number) for one in office.rounds for number in one.counts)} packets in the lists; "
          f"{sum(one.is_answered for one in office.rounds)} campaigns read, {office.unread} not")  # fmt: skip
    print(f"jobs: {len(office.jobs.asked)} asked for, {len(office.jobs.done)} done, others: "
          f"{dict(office.jobs.failed)}; ran at the servers, with those of the schedule: {ran}")  # fmt: skip
    for server, samples in enumerate(soak.samples):
        up = [one for one in samples if one.memory is not None]
        if up:
            last = up[-1]
            print(f"server {server} at the end: {(last.memory or 0) / 1e6:.1f} MB, {last.descriptors} descriptors, "
                  f"{last.threads} threads, store {last.store / 1e6:.2f} MB in {last.files} files, "
                  f"{last.left} folders of jobs left")  # fmt: skip
    wrong = list(office.problems.sentences)
    wrong += [f"{n} answers with status 500" for status, n in traffic.answers.items() if status == 500]
    print("\n| | server | slope for 10^4 requests | interval of 95 % | bound |\n|---|---|---|---|---|")
    for name, server, found in slopes(soak):
        low, value, high = (f"{part / 1e3:,.1f} kB" if abs(BOUNDS[name]) > 1e3 else f"{part:.3f}"
                            for part in (found.low, found.value, found.high))  # fmt: skip
        print(f"| {name} | {server} | {value} | {low} to {high} | {BOUNDS[name]:g} |")
        if traffic.requests >= _LONG and found.exceeds(BOUNDS[name]):
            wrong.append(f"the {name} of server {server} grows by {value} for 10^4 requests ({low} to {high})")
    return wrong


def planned(options: argparse.Namespace) -> Plan:
    """Returns the plan of the arguments; what they leave out grows with the requests."""
    requests = options.requests
    return Plan(
        requests=requests,
        seed=options.seed,
        warm=options.warm,
        at_once=options.at_once,
        members=options.members,
        rounds=options.rounds or max(3, requests // 5000),
        jobs=requests // 10000 if options.jobs is None else options.jobs,
        restarts=max(3, requests // 2000) if options.restarts is None else options.restarts,
        days=options.days or max(2, requests / 5000),
        minutes=options.minutes,
    )


def main(arguments: list[str] | None = None) -> int:
    """Runs a soak, and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm", type=float, default=0.4, help="the part in which server 0 is ended too (%(default)s)")
    parser.add_argument("--at-once", type=int, default=8, help="visits at a time (%(default)s)")
    parser.add_argument("--members", type=int, default=60, help="clients of a campaign (%(default)s)")
    parser.add_argument("--rounds", type=int, help="campaigns; one for 5,000 requests by default")
    parser.add_argument("--jobs", type=int, help="jobs on request; one for 10,000 requests by default")
    parser.add_argument("--restarts", type=int, help="ends of servers; one for 2,000 requests by default")
    parser.add_argument("--days", type=float, help="simulated days; one for 5,000 requests by default")
    parser.add_argument("--minutes", type=float, default=1e9, help="ends by then, with fewer requests")
    parser.add_argument("--samples", type=Path, help="a file for all samples, as CSV")
    parser.add_argument("--folder", type=Path, help="an empty folder for all files, which stay there")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = options.folder
        if folder is None:
            made = tempfile.TemporaryDirectory(prefix="quorate-soak-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(planned(options), folder)
        stack.callback(soak.stop)
        soak.run()
        wrong = report(soak, soak.check())
        if options.samples is not None:
            write(soak, options.samples)
    for sentence in wrong[:50]:
        print(f"wrong: {sentence}")
    return 1 if wrong else 0


def write(soak: Soak, file: Path) -> None:
    """Writes all samples."""
    names = [field.name for field in dataclasses.fields(Sample)]
    rows: list[list[Any]] = [["server", *names]]
    rows += [[server, *dataclasses.astuple(one)] for server, samples in enumerate(soak.samples) for one in samples]
    file.write_text("".join(",".join("" if value is None else str(value) for value in row) + "\n" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
