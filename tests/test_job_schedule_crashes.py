"""Kills of a server at every write of its standing requests and their jobs."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from campaigning import NOW
from fuse import FUSE, Killed, fused
from queueing import Office
from quorate.campaigns import Refused, StoreError
from quorate_client.schedule import occurrence_id

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
HOUR = 3600
FIRST = int(NOW) + 900  # the first "hour :15"


class Life:
    """A server's standing request from its arrival to its end, over kills. `connected` notes the programs that ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lives = folder, 0
        self.office = Office(folder / "0", times=100, per_day=100)
        self.asked = self.office.standing()
        self.connected: list[bytes] = []

    def steps(self) -> Iterator[Callable[[], object]]:
        ids = [occurrence_id(self.asked.id, FIRST + hours * HOUR) for hours in range(3)]

        def at(hours: int) -> None:
            self.office.clock.now = FIRST + hours * HOUR
            self.office.occurred()

        def starts(job: bytes) -> None:
            with contextlib.suppress(Refused):
                if self.office.queue.start(job) is not None:
                    self.connected.append(job)

        yield lambda: self.office.stands(self.asked)
        yield lambda: at(0)
        yield lambda: starts(ids[0])
        yield lambda: self.office.queue.ended(ids[0], "done", result=b"sealed")
        yield lambda: at(1)
        yield lambda: starts(ids[1])
        yield lambda: at(2)
        yield lambda: self.office.schedules.cancel(self.asked.id)
        yield lambda: at(3)

    def restart(self) -> None:
        """Takes the files as a kill leaves them, and starts as a server does."""
        last, self.lives = self.folder / str(self.lives), self.lives + 1
        now = self.folder / str(self.lives)
        shutil.copytree(last, now, ignore=shutil.ignore_patterns("*.lock", "*-shm"))
        FUSE.left, FUSE.is_blown = None, False
        with contextlib.suppress(StoreError):
            self.office.close()
        self.office.folder = now
        self.office.open()
        self.office.queue.restarted()

    def check(self) -> None:
        uses = [job for (job,) in self.office.rows("SELECT job FROM uses")]
        assert set(uses) >= set(self.connected) and len(set(self.connected)) == len(self.connected)
        jobs = self.office.rows("SELECT standing, at FROM jobs ORDER BY at")
        assert jobs == self.office.rows("SELECT standing, at FROM occurrences ORDER BY at")
        assert len(set(jobs)) == len(jobs)

    def live(self) -> None:
        for step in self.steps():
            while True:
                try:
                    step()
                    break
                except (Killed, StoreError):
                    if not FUSE.is_blown:
                        raise
                    self.restart()
                    self.check()
        self.check()


def test_a_kill_at_every_write_of_standing_requests() -> None:
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        with fused():
            life = Life(folder / "whole")
            begun = FUSE.seen
            life.live()
            writes = FUSE.seen - begun
            whole = life.office.rows("SELECT at, state FROM jobs ORDER BY at")
            life.office.close()
        assert whole == [(FIRST, "done"), (FIRST + HOUR, "running"), (FIRST + 2 * HOUR, "cancelled")] and writes > 30
        for at in range(writes):
            with fused():
                life = Life(folder / str(at))
                FUSE.left = at
                life.live()
                assert life.lives == 1, f"nothing was killed at write {at}"
                found = life.office.rows("SELECT at FROM jobs ORDER BY at")
                assert found == [(FIRST + hours * HOUR,) for hours in range(3)]  # none is lost, and none is double
                assert life.office.rows("SELECT count(*) FROM jobs WHERE state = 'queued'") == [(0,)]
                life.office.close()
            shutil.rmtree(folder / str(at))
    finally:
        shutil.rmtree(folder)
