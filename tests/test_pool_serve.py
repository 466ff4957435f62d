"""Pools that servers keep between two marks: servers, makings and jobs are processes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobbing import PARAMETERS, Office, approval, quorate, wait_until
from quorate._session._pools import pool_of
from quorate.campaigns import Settings
from quorate.jobs import Level, Pools, Queue

#: One run, which needs correlations.
COMPARES = """
import numpy as np
import quorate as qr

def program(mpc, rows, region):
    def of(party):
        own = np.arange(rows) + 10 * party if mpc.me == party else None
        return mpc.input(own, shape=(rows,), dtype=qr.int(32), bound=100_000, owner=party)

    return {"above": (of(0) * of(1) > of(2)).sum().reveal()}
"""

#: A making that takes long: many runs of one kind.
SLOW = COMPARES.replace("arange(rows)", "arange(1000 * rows)").replace("shape=(rows,)", "shape=(1000 * rows,)")

ASKED = {"rows": 3, "region": "north"}
TABLE = """
[[pool]]
program = "{program}"
low = {low}
high = {high}
parameters = {{ rows = 3, region = "north" }}
"""


class Kept(Office):
    """Servers whose pools are kept between marks."""

    is_hurried = True

    def keep(self, program: str, low: int = 2, high: int = 4, parties: tuple[int, ...] = (0, 1, 2)) -> None:
        for party in parties:
            serve = self.folder / f"server{party}" / "serve.toml"
            serve.write_text(serve.read_text() + TABLE.format(program=program, low=low, high=high))

    def name_pools(self) -> None:
        for party in range(3):
            config = self.folder / f"server{party}" / "party.toml"
            config.write_text('pool = "pool"\n' + config.read_text())

    def levels(self, party: int) -> list[Level]:
        store = self.store(party)
        try:
            settings = Settings.read(self.config(party))
            return Pools(store, Queue(store, b""), settings.party, settings.marks, b"", b"").levels()
        finally:
            store.close()

    def starts(self, party: int) -> int | None:
        (level,) = self.levels(party)
        return level.starts

    def makings(self, party: int) -> list[Any]:
        query = "SELECT state, why, making FROM jobs WHERE making IS NOT NULL ORDER BY number"
        return self.rows(party, query)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Kept]:
    made, is_over = Kept(tmp_path), threading.Event()
    made.name_pools()
    hurrying = threading.Thread(target=hurry, args=(made, is_over))
    hurrying.start()
    try:
        yield made
    finally:
        is_over.set()
        hurrying.join()
        made.stop()


def hurry(office: Kept, is_over: threading.Event) -> None:
    """Gives makings the usual priority, where this user may: with the lowest one they wait for all other tests."""
    while not is_over.wait(0.1):
        if office.is_hurried:
            for process in [found for party in range(3) for found in making_processes(office, party)]:
                with contextlib.suppress(OSError):  # it has ended, or this user may not
                    for thread in Path(f"/proc/{process}/task").iterdir():
                        if os.getpriority(os.PRIO_PROCESS, int(thread.name)) == 19:
                            os.setpriority(os.PRIO_PROCESS, int(thread.name), 0)


def approve(office: Kept, code: str, name: str = "compares", **fields: Any) -> str:
    """Has all servers approve a program, and returns its hash."""
    from quorate.jobs import read_approval

    file = approval(office.folder, code, office.key, name, more=PARAMETERS, **fields)
    office.approve(file)
    return read_approval(file).hash.hex()


def making_processes(office: Kept, party: int) -> list[int]:
    """Returns the processes of makings whose parent is a server."""
    server = office.serving[party]
    found: list[int] = []
    if server is None:
        return found
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == server.pid and b"_command._makings" in command:
                found.append(int(entry.name))
    return found


def test_pools_are_made_to_the_high_mark_and_again_below_the_low_one(office: Kept) -> None:
    office.keep(approve(office, COMPARES), 2, 3)
    office.start()
    wait_until(lambda: all(office.starts(party) == 3 for party in range(3)))
    jobs = office.jobs()
    for _ in range(2):  # two are left after the first one, and one after the second one
        assert jobs.wait(jobs.ask(office.folder / "compares.py", ASKED)).values == {"above": 1}
    wait_until(lambda: all(office.makings(party) == [("done", "", 3)] * 2 for party in range(3)))
    assert [office.starts(party) for party in range(3)] == [3, 3, 3]
    assert office.rows(0, "SELECT count(*) FROM uses") == [(2,)], "makings count no uses"
    listed = quorate(office.folder, "pool", "list", "--config", office.config(1))
    assert "3 starts left, made below 2 up to 3" in listed and listed.count("  done ") == 2, listed
    assert quorate(office.folder, "job", "list", "--config", office.config(1)).count(" done ") == 2


def test_a_making_has_the_lowest_priority_and_ends_for_a_job(office: Kept) -> None:
    slow = approve(office, SLOW, "slow")
    other = approve(office, COMPARES)
    office.keep(other, 1, 1)
    office.start()
    wait_until(lambda: all(office.starts(party) == 1 for party in range(3)))
    for party in range(3):
        process = office.serving[party]
        assert process is not None
        process.terminate()
        process.wait()
    office.keep(slow, 2000, 4000)
    office.is_hurried = False
    office.start()
    wait_until(lambda: all(making_processes(office, party) for party in range(3)))
    (process,) = making_processes(office, 0)
    wait_until(lambda: os.getpriority(os.PRIO_PROCESS, process) == 19)
    office.is_hurried = True
    wait_until(lambda: (held := pool_of(office.config(0), None)) is not None and held.is_used())
    jobs = office.jobs()
    assert jobs.wait(jobs.ask(office.folder / "compares.py", ASKED)).values == {"above": 1}
    assert office.makings(0)[1][0] == "cancelled"
    assert not any(state == "done" and times == 4000 for state, _, times in office.makings(0))
    pool = pool_of(office.config(0), None)
    assert pool is not None
    wait_until(lambda: len(office.makings(0)) == 3)  # it goes on after a pause


def test_a_server_that_is_killed_while_it_makes(office: Kept) -> None:
    office.keep(approve(office, SLOW, "slow"), 300, 300)
    office.start()
    wait_until(lambda: all(making_processes(office, party) for party in range(3)))
    time.sleep(1.0)
    killed = office.serving[1]
    assert killed is not None
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    wait_until(lambda: office.makings(0)[0][0] == "failed")
    office.start(1)
    wait_until(lambda: office.makings(1)[0][:2] == ("failed", "Restarted"))
    wait_until(lambda: all(office.starts(party) == 300 for party in range(3)), 120)


def test_servers_that_do_not_agree_make_nothing(office: Kept) -> None:
    program = approve(office, COMPARES)
    office.keep(program, 2, 4, (0, 1))
    office.keep(program, 2, 3, (2,))
    office.start()
    wait_until(lambda: "are not made now: server 2 answers 409" in office.log(0))
    assert [office.makings(party) for party in range(3)] == [[], [], []]
    assert not (office.folder / "server0" / "pool").exists()
