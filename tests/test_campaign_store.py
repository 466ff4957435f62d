"""The store of packets: what is written stays, what fails leaves nothing, and one process has it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorate.campaigns import SERVE, Store, StoreError, StoreFull, _schema, _store, run_of
from quorate.campaigns._schema import VERSION

KEY = bytes(range(32))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store.db", KEY)
    yield made
    made.close()


def note(name: str, value: bytes = b"") -> Any:
    """Returns a change that writes one row."""
    return lambda connection: connection.execute("INSERT INTO meta VALUES (?, ?)", (name, value)) and name


def names(store: Store) -> set[str]:
    rows = store.read(lambda c: c.execute("SELECT name FROM meta WHERE name != 'key mark'").fetchall())
    return {name for (name,) in rows}


def test_what_was_written_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "store.db", KEY)
    assert store.write(note("one")).result() == "one"
    assert names(store) == {"one"}
    store.close()
    again = Store(tmp_path / "new" / "store.db", KEY)
    assert names(again) == {"one"}
    again.close()


def test_files_are_closed_to_others(store: Store) -> None:
    store.write(note("one")).result()
    files = list(store.path.parent.iterdir())
    assert len(files) >= 3  # the file, its log, the lock
    assert [f.name for f in files if f.stat().st_mode & 0o077] == []


def test_changes_are_synced_in_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(_: sqlite3.Connection) -> None:
        begun.set()
        go.wait(10)

    commits: list[str] = []
    first = store.write(slow)
    assert begun.wait(10)
    store._writing.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
    futures = [store.write(note(f"name {i}")) for i in range(500)]
    go.set()
    first.result()
    assert [f.result() for f in futures] == [f"name {i}" for i in range(500)]
    assert len(commits) == 3  # that of `slow`, then groups of 256 and 244
    store._writing.set_trace_callback(None)


def test_a_log_is_synced_at_each_commit(store: Store) -> None:
    (level,) = store.write(lambda c: c.execute("PRAGMA synchronous").fetchone()).result()
    (mode,) = store.write(lambda c: c.execute("PRAGMA journal_mode").fetchone()).result()
    assert (level, mode) == (2, "wal")


def test_a_change_that_is_refused_is_undone_alone(store: Store) -> None:
    def half(connection: sqlite3.Connection) -> None:
        note("half")(connection)
        raise KeyError("refused")

    futures = [store.write(job) for job in (note("one"), half, note("two"), note("one"), note("three"))]
    done = [f.exception() for f in futures]
    assert done[0] is done[2] is done[4] is None
    assert isinstance(done[1], KeyError)
    assert isinstance(done[3], sqlite3.IntegrityError)
    assert names(store) == {"one", "two", "three"}


def test_a_full_disk_is_named_and_leaves_nothing_half_stored(store: Store) -> None:
    (pages,) = store.write(lambda c: c.execute("PRAGMA page_count").fetchone()).result()
    store._writing.execute(f"PRAGMA max_page_count = {pages + 5}")
    assert store.write(note("small")).result() == "small"

    def large(connection: sqlite3.Connection) -> None:
        note("first half")(connection)
        note("second half", bytes(100_000))(connection)

    with pytest.raises(StoreFull, match=r"the disk of the store .* is full: free space"):
        store.write(large).result()
    assert names(store) == {"small"}
    assert store.broken is None
    store._writing.execute("PRAGMA max_page_count = 1000000")
    store.write(large).result()
    assert names(store) == {"small", "first half", "second half"}


class Faulty(sqlite3.Connection):
    """A connection on which a statement fails, or ends the process, before it runs."""

    fails_at: dict[str, BaseException] = {}  # noqa: RUF012

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        for beginning, error in Faulty.fails_at.items():
            if sql.startswith(beginning):
                raise error
        return super().execute(sql, *parameters)


def faulty(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Faulty)


def test_after_a_failed_sync_the_store_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_store, "_connect", faulty)
    store = Store(tmp_path / "store.db", KEY)
    store.write(note("one")).result()
    monkeypatch.setattr(Faulty, "fails_at", {"COMMIT": sqlite3.OperationalError("disk I/O error")})
    with pytest.raises(StoreError, match=r"failed \(disk I/O error\): check its disk, then start again"):
        store.write(note("two")).result()
    monkeypatch.setattr(Faulty, "fails_at", {})
    with pytest.raises(StoreError, match="disk I/O error"):
        store.write(note("three")).result()
    assert "disk I/O error" in str(store.broken)
    store.close()
    again = Store(tmp_path / "store.db", KEY)
    assert names(again) == {"one"}
    again.close()


def test_a_change_waits_for_another_process_and_says_so_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_store, "_BUSY_MS", 100)
    store = Store(tmp_path / "store.db", KEY)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"another process writes to the store .* for long: send again later"):
        store.write(note("one")).result()
    other.close()
    store.write(note("one")).result()
    assert names(store) == {"one"}
    store.close()


@pytest.mark.parametrize("lock", [SERVE, run_of(b"one")])
def test_a_second_process_with_one_lock_is_refused_by_name(tmp_path: Path, lock: str) -> None:
    program = (
        "import sys; from quorate.campaigns import Store; "
        f"s = Store(sys.argv[1], bytes(range(32)), {lock!r}); print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path / "store.db")]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ})
    assert other.stdout is not None and other.stdin is not None
    assert other.stdout.readline() == b"open\n"
    with pytest.raises(StoreError, match=rf"process {other.pid} .* the store .*: wait for it, or stop it first"):
        Store(tmp_path / "store.db", KEY, lock)
    beside = Store(tmp_path / "store.db", KEY, run_of(b"two") if lock == SERVE else SERVE)
    command_line = Store(tmp_path / "store.db", KEY, None)
    beside.write(note("one")).result()
    assert names(command_line) == {"one"}
    beside.close()
    command_line.close()
    other.send_signal(signal.SIGKILL)
    other.wait()
    Store(tmp_path / "store.db", KEY, lock).close()


def test_a_process_that_is_killed_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    program = (
        "import sys; from quorate.campaigns import Store\n"
        "s = Store(sys.argv[1], bytes(range(32)))\n"
        "for i in range(10**6):\n"
        "    s.write(lambda c: [c.execute('INSERT INTO meta VALUES (?, ?)', (f'{i} {h}', bytes(3000)))"
        " for h in 'ab']).result()\n"
        "    print(i, flush=True)\n"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path / "store.db")]
    other = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert other.stdout is not None
    last = b""
    for _ in range(20):
        last = other.stdout.readline()
    time.sleep(0.02)
    other.kill()
    confirmed = int((other.stdout.read().split() or [last])[-1])
    other.wait()
    store = Store(tmp_path / "store.db", KEY)
    kept = names(store)
    assert kept >= {f"{i} {half}" for i in range(confirmed + 1) for half in "ab"}
    assert len(kept) % 2 == 0
    store.close()


def test_another_key_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "store.db", KEY).close()
    with pytest.raises(StoreError, match="was made with another key: name the file of its own key"):
        Store(tmp_path / "store.db", bytes(32))
    with pytest.raises(StoreError, match="has 31 bytes instead of 32"):
        Store(tmp_path / "store.db", bytes(31))
    Store(tmp_path / "store.db", KEY).close()


def test_files_that_are_no_stores_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 30)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(tmp_path / "text", KEY)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (a)")
    other.commit()
    other.close()
    with pytest.raises(StoreError, match="is a database of another program"):
        Store(tmp_path / "other.db", KEY)
    Store(tmp_path / "newer.db", KEY).close()
    newer = sqlite3.connect(tmp_path / "newer.db")
    newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    newer.close()
    with pytest.raises(StoreError, match=f"has version {VERSION + 1}, and this release reads up to {VERSION}"):
        Store(tmp_path / "newer.db", KEY)
    with monkeypatch.context() as newer_release:
        newer_release.setattr(_schema, "VERSION", VERSION + 1)
        Store(tmp_path / "newer.db", KEY).close()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "folder", KEY)


def test_too_many_changes_are_refused_and_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", KEY)
    go = threading.Event()
    store.write(lambda _: go.wait(10))
    with pytest.raises(StoreError, match="changes wait for the store"):
        for i in range(4000):
            last = store.write(note(f"name {i}"))
    go.set()
    last.result()
    store.write(note("again")).result()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.write(note("late"))
    again = Store(tmp_path / "store.db", KEY)
    assert len(names(again)) >= 2000
    again.close()


def test_a_query_changes_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match="readonly"):
        store.read(note("one"))
    assert names(store) == set()


def test_a_change_whose_sender_gave_up_before_it_began_is_left_out(store: Store) -> None:
    go = threading.Event()
    store.write(lambda _: go.wait(10))
    time.sleep(0.05)
    given_up = store.write(note("one"))
    assert given_up.cancel()
    go.set()
    store.write(note("two")).result()
    assert names(store) == {"two"}
