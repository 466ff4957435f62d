"""A server's store: campaigns and packets in one SQLite file, written by one thread that syncs groups of changes.

A change is a function that runs inside a transaction. It is over when its transaction is on the disk: the write-ahead
log is synced at each commit (`synchronous=FULL`). Changes that arrive while the disk syncs form the next group and
share one sync. A change that raises an error is undone alone; if the disk fails, the whole group is undone.

Rules of campaigns are not written here. They run inside changes, so no two of them overlap.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from quorate._syncing import sync_folder
from quorate.campaigns._errors import StoreError, StoreFull
from quorate.campaigns._holders import holders, kept_by
from quorate.campaigns._readers import Readers
from quorate.campaigns._schema import migrate
from quorate.campaigns._sealing import KEY_BYTES, CampaignKeys, JobKey, KeptKeys

__all__ = ["KEPT", "SERVE", "Store", "run_of"]

#: The lock of the process that serves a store.
SERVE = "serve"

#: How the locks of names of kept values begin.
KEPT = "kept"

_RUNS = "runs a program on a campaign of"

T = TypeVar("T")
Change = Callable[[sqlite3.Connection], T]

_GROUP = 256  # changes that share a sync; a group of these takes about 20 ms
_WAITING = 2048  # changes that may wait for the writer
_BUSY_MS = 10_000  # how long a change waits for another process's transaction


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False)


class Store:
    """An open store.

    Attributes:
        path: its file.
        keys: the files of the campaigns' keys.
        kept_keys: the files of the keys of kept values.
        job_key: the key of the results of jobs.

    Args:
        path: the file; it is created if it does not exist, readable by this user alone. A log, a lock and the folder of
            the campaigns' keys lie beside it.
        store_key: 32 bytes, under which parts of packets are encrypted.
        lock: what one process may do at a time: `SERVE`, `run_of` a campaign, or `KEPT` and a name. They do not exclude
            each other, since every rule is checked within a transaction. None locks nothing, for commands of a
            transaction or two.
        is_shared: whether processes that share the lock may have it at the same time.

    Raises:
        StoreError: the file cannot be used, another process has the lock, or the key is not the store's.
    """

    def __init__(self, path: Path | str, store_key: bytes, lock: str | None = SERVE, is_shared: bool = False) -> None:
        if len(store_key) != KEY_BYTES:
            raise StoreError(
                f"the store's key has {len(store_key)} bytes instead of {KEY_BYTES}: name the key's file as `store_key`"
            )
        self.path = Path(path)
        self.keys = CampaignKeys(self.path.with_name(f"{self.path.name}.keys"), store_key)
        self.kept_keys = KeptKeys(self.path.with_name(f"{self.path.name}.kept"), store_key)
        self.job_key = JobKey(store_key)
        self._broken: str | None = None
        self._lock = None if lock is None else _lock(self.path, lock, is_shared)
        try:
            self._writing, self._readers = self._open(), Readers(lambda: _connect(self.path))
        except BaseException:
            self._unlock()
            raise
        self._jobs: queue.Queue[tuple[Change[Any], Future[Any]] | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._write_groups, name="quorate store", daemon=True)
        self._thread.start()

    def _open(self) -> sqlite3.Connection:
        try:
            if not self.path.exists():
                _create(self.path)
            connection = _connect(self.path)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the store {self.path} cannot be opened: {error}") from None
        try:
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1", "secure_delete = 1"):
                connection.execute(f"PRAGMA {pragma}")
            migrate(connection)
            self._recognise(connection)
            for (campaign,) in connection.execute("SELECT hash FROM campaigns WHERE ended_at IS NOT NULL").fetchall():
                self.forget(campaign)  # a crash may have come between the end of the campaign and this
        except (sqlite3.Error, ValueError) as error:
            connection.close()
            does = str(error) if isinstance(error, ValueError) else f"cannot be read: {error}"
            raise StoreError(f"the store {self.path} {does}") from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _recognise(self, connection: sqlite3.Connection) -> None:
        """Compares the key with the store's mark; a new store gets a mark of this key."""
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('key mark', ?)", (self.keys.mark(),))
        (mark,) = connection.execute("SELECT value FROM meta WHERE name = 'key mark'").fetchone()
        if not self.keys.made(mark):
            raise ValueError("was made with another key: name the file of its own key as `store_key`")

    @property
    def broken(self) -> str | None:
        """Why the store takes no changes any more, or None."""
        return self._broken

    def write(self, change: Change[T]) -> Future[T]:
        """Runs a change in a transaction. The future has its result once the transaction is on the disk.

        The future's exception is what `change` raised, or a StoreError. In both cases nothing of it is stored. A change
        may only use its connection.

        Raises:
            StoreError: too many changes are waiting, or the store is closed or broken.
        """
        if self._broken is not None:
            raise StoreError(self._broken)
        future: Future[T] = Future()
        try:
            self._jobs.put_nowait((change, future))
        except queue.Full:
            raise StoreError(f"{_WAITING} changes wait for the store {self.path}: send again later") from None
        if self.broken is not None:  # since the look above: the thread may have ended
            self._refuse_waiting()
        return future

    def read(self, query: Change[T]) -> T:
        """Runs a query on what is committed; the query sees one state, and cannot change it.

        A few reads go on at the same time.

        Raises:
            StoreError: the store cannot be read.
        """
        try:
            with self._readers.one() as connection:
                connection.execute("BEGIN")
                try:
                    return query(connection)
                finally:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.path} cannot be read: {error}") from None

    def purge(self, waits: bool = True) -> None:
        """Moves the write-ahead log into the file and empties it, so that erased rows are on the disk no more.

        Args:
            waits: whether to wait for other processes that read the store. Otherwise the log is emptied later if one
                does.
        """
        self.write(lambda _: None).result()
        try:
            with self._readers.alone() as connection:
                try:
                    connection.execute("PRAGMA query_only = 0")
                    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS if waits else 0}")
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
                    connection.execute("PRAGMA query_only = 1")
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.path} cannot be emptied of erased rows: {error}") from None

    def forget(self, campaign: bytes) -> None:
        """Erases the key of a campaign that has ended, and removes the file of the lock of its runs.

        A process may have that lock still. No other one runs a program on the campaign: that is refused for ever.
        """
        self.keys.erase(campaign)
        with contextlib.suppress(OSError):
            _lock_file(self.path, run_of(campaign)).unlink()

    def close(self) -> None:
        """Finishes the changes that wait, and closes the store."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self._broken = self._broken or f"the store {self.path} is closed"
        self._refuse_waiting()
        self._readers.close()
        self._writing.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _write_groups(self) -> None:
        is_last = False
        while not is_last and self._broken is None:
            group: list[tuple[Change[Any], Future[Any]]] = []
            job = self._jobs.get()
            while job is not None and len(group) < _GROUP:
                if job[1].set_running_or_notify_cancel():
                    group.append(job)
                try:
                    job = self._jobs.get_nowait() if len(group) < _GROUP else None
                except queue.Empty:
                    break
            else:
                is_last = job is None and len(group) < _GROUP
            if group:
                self._write_group(group)
        self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        """Answers changes that no thread will run."""
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job[1].set_running_or_notify_cancel():
                    job[1].set_exception(StoreError(self._broken or f"the store {self.path} is closed"))

    def _write_group(self, group: list[tuple[Change[Any], Future[Any]]]) -> None:
        results: list[tuple[Any, Exception | None]] = []
        try:
            self._writing.execute("BEGIN IMMEDIATE")
            for change, _ in group:
                results.append(self._apply(change))
            self._writing.execute("COMMIT")
        except BaseException as error:
            failure = self._undone(error)
            for _, future in group:
                future.set_exception(failure)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), (result, refusal) in zip(group, results, strict=True):
            if refusal is None:
                future.set_result(result)
            else:
                future.set_exception(refusal)

    def _apply(self, change: Change[T]) -> tuple[T | None, Exception | None]:
        """Runs one change of a group; what it raises undoes it alone, except errors of the disk."""
        self._writing.execute("SAVEPOINT change")
        try:
            result, refusal = change(self._writing), None
        except Exception as error:
            if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
                raise
            result, refusal = None, error
            self._writing.execute("ROLLBACK TO change")
        self._writing.execute("RELEASE change")
        return result, refusal

    def _undone(self, error: BaseException) -> StoreError:
        """Undoes a group that failed. After other errors than a full disk, the store takes no changes any more.

        After a failed sync, the system may have dropped pages that it holds for written, so that a later sync says
        nothing about them. A new process reads what is on the disk.
        """
        is_undone = True
        try:
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")
        except sqlite3.Error:
            is_undone = False
        text = str(error)
        if is_undone and "disk is full" in text:
            return StoreFull(f"the disk of the store {self.path} is full: free space there, then send again")
        if is_undone and "locked" in text:
            return StoreError(f"another process writes to the store {self.path} for long: send again later")
        self._broken = (
            f"the store {self.path} failed ({text or type(error).__name__}): check its disk, then start again"
        )
        return StoreError(self._broken)


def _create(path: Path) -> None:
    """Creates an empty file, and syncs its folder: the store must not vanish with all packets in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    sync_folder(path.parent)


def run_of(campaign: bytes) -> str:
    """Returns the lock of the process that runs a program on a campaign."""
    return f"run-{campaign.hex()[:16]}"


def _lock_file(path: Path, lock: str) -> Path:
    return path.with_name(f"{path.name}.{lock}.lock")


def _lock(path: Path, lock: str, is_shared: bool = False) -> int:
    """Takes a lock, which ends with the process. Returns its descriptor.

    Raises:
        StoreError: another process has it; the message has its number.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(_lock_file(path, lock), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise StoreError(f"the store {path} cannot be locked: {error}") from None
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(file, 20, 0).decode("ascii", "replace")
        keep = holders(os.fstat(file))
        os.close(file)
        does = {SERVE: "serves", KEPT: "works on this kept value in"}.get(lock.split("-")[0], _RUNS)
        if owner == str(os.getpid()):
            raise StoreError(f"this process {does} the store {path} already: wait until it has ended that") from None
        named = f"process {owner}" if owner else "another process"
        if keep and owner not in {str(one.number) for one in keep}:  # it has handed the lock on by a fork, and ended
            named = f"{kept_by(keep)} keeps the lock that process {owner} took, and so"
        raise StoreError(f"{named} {does} the store {path}: wait for it, or stop it first") from None
    with contextlib.suppress(OSError):  # the number is for messages alone
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
    return file
