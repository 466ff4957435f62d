"""A disk that does not answer: other pages, other operators and checks of health go on."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from consoling import Desk, desk
from quorate.campaigns import Store, StoreError, _readers
from quorate.console import _app, add_operator


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    patch = pytest.MonkeyPatch()
    patch.setattr(_app, "PATIENCE_S", 0.7)
    with desk(tmp_path_factory.mktemp("desk")) as made:
        made.sign_in()
        yield made
    patch.undo()


def store_of(own: Desk) -> Store:
    serving = own.net.servers[0].serving
    assert serving is not None
    return serving._store


@contextlib.contextmanager
def blocked(store: Store, reads: int) -> Iterator[None]:
    """Has reads of a server's store wait, as for a disk, within SQLite."""
    begun, over = threading.Semaphore(0), threading.Event()

    def wait() -> int:
        begun.release()
        over.wait(30)
        return 1

    def query(connection: sqlite3.Connection) -> object:
        connection.create_function("wait", 0, wait)
        return connection.execute("SELECT wait()").fetchone()

    threads = [threading.Thread(target=store.read, args=(query,)) for _ in range(reads)]
    for thread in threads:
        thread.start()
        assert begun.acquire(timeout=10)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def timed(call: Any, *given: Any) -> tuple[int, float]:
    begun = time.monotonic()
    return call(*given).status, time.monotonic() - begun


def health(own: Desk) -> int:
    return int(own.net.servers[0].ask("GET", "/healthz").status)


def test_a_read_that_waits_holds_up_no_other_one(shared: Desk) -> None:
    with shared.store() as store:
        token = add_operator(store, "bob")
    other = Desk(shared.net, token)
    with blocked(store_of(shared), 1):
        assert health(shared) == 200
        for path in ("/", "/jobs", "/programs", "/acts", "/metrics"):
            assert shared.get(path).status == 200
        other.sign_in(token, "bob")
        assert other.get("/").status == 200


def test_a_disk_that_does_not_answer_stops_no_check_of_health(shared: Desk) -> None:
    """Also while more pages wait than there are threads, and while the page of an error looks for its session."""
    answers: list[tuple[int, float]] = []
    with blocked(store_of(shared), _readers.MOST):
        paths = ["/", "/jobs", "/nothing", f"/jobs/{'0' * 64}"] * 4
        threads = [threading.Thread(target=lambda p=path: answers.append(timed(shared.get, p))) for path in paths]
        for thread in threads:
            thread.start()
        for _ in range(5):
            for call, path in ((shared.get, "/style.css"), (shared.get, "/sign-in"), (shared.get, "/icon.svg")):
                status, seconds = timed(call, path)
                assert status == 200 and seconds < 0.6, (path, seconds)
            begun = time.monotonic()
            assert health(shared) == 200 and time.monotonic() - begun < 0.6
        for thread in threads:
            thread.join()
    assert sorted({status for status, _ in answers}) == [404, 503] and len(answers) == len(paths)
    assert max(seconds for _, seconds in answers) < 5
    until = time.monotonic() + 10
    while shared.get("/").status != 200:
        assert time.monotonic() < until, "it goes on with the disk"
    assert b"<h1>Overview</h1>" in shared.get("/").body


def test_the_page_of_a_slow_disk_says_so(shared: Desk) -> None:
    with blocked(store_of(shared), _readers.MOST):
        answer = shared.get("/jobs")
        assert answer.status == 503 and b"the store or a file has not answered in time" in answer.body
        assert shared.post("/sign-out", {"csrf": "x"}).status == 503
    assert shared.get("/jobs").status == 200, "a session outlives a slow disk"


def test_reads_do_not_wait_for_ever_for_reads_that_are_stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_readers, "PATIENCE_S", 0.1)
    store = Store(tmp_path / "store.db", b"k" * 32, None)
    with contextlib.closing(store), blocked(store, _readers.MOST):
        for call in (lambda: store.read(lambda _: 1), store.purge):
            with pytest.raises(StoreError, match=r"4 reads have not ended in 0\.1 s: look at its disk"):
                call()
        store.close()  # it does not wait, either
        with pytest.raises(StoreError, match="is closed"):
            store.write(lambda _: 1)


def test_a_change_that_comes_as_the_store_closes_is_answered(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", b"k" * 32, None)
    put = store._jobs.put_nowait

    def late(one: Any) -> None:
        store.close()
        put(one)

    store._jobs.put_nowait = late  # type: ignore[method-assign]
    with pytest.raises(StoreError, match="is closed"):
        store.write(lambda _: 1).result(timeout=5)


def test_a_page_that_is_stuck_does_not_keep_the_process_alive() -> None:
    code = """import asyncio, threading
from quorate.campaigns import StoreError, Refused
from quorate.console._aside import Aside
aside = Aside(2, 0.1)
async def main():
    assert await aside.run(max, 1, 2) == 2
    try:
        await aside.run(threading.Event().wait)
    except Refused:
        print("refused")
    aside.close()
    try:
        await aside.run(max, 1, 2)
    except Refused:
        print("over")
asyncio.run(main())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused\nover\n" and done.returncode == 0, done.stderr


def test_nothing_of_a_read_is_left_for_the_next_one(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", b"k" * 32, None)
    with contextlib.closing(store):
        for _ in range(2 * _readers.MOST):
            with pytest.raises(ZeroDivisionError):
                store.read(lambda connection: connection.execute("SELECT 1").fetchone()[0] / 0)
        assert store.read(lambda connection: connection.in_transaction)
        threads = [
            threading.Thread(target=lambda: [store.read(lambda c: c.execute("SELECT 1").fetchall()) for _ in range(50)])
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for _ in range(20):
            store.purge()
        for thread in threads:
            thread.join()
        assert len(store._readers._free) <= _readers.MOST
        with pytest.raises(sqlite3.Error):
            store._readers._free[0].execute("INSERT INTO meta VALUES ('x', 'y')")
