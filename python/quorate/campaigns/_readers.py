"""Connections of a store that read: one that waits for a slow disk does not hold up the others."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator

__all__ = ["MOST", "Readers"]

#: Reads at the same time; others wait.
MOST = 4

#: Seconds that they wait.
PATIENCE_S = 10.0


class Readers:
    """Connections for reads. They are opened as they are needed, and kept.

    Args:
        connect: opens a connection.

    Raises:
        sqlite3.Error: the first one cannot be opened.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._room = threading.Semaphore(MOST)
        self._alone = threading.Lock()
        self._free = [self._opened()]

    def _opened(self) -> sqlite3.Connection:
        made = self._connect()
        made.execute("PRAGMA query_only = 1")
        return made

    @contextlib.contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """Has a connection for one read.

        Raises:
            sqlite3.Error: it cannot be opened, or the reads that go on do not end in time.
        """
        with self._place():
            try:
                connection = self._free.pop()
            except IndexError:
                connection = self._opened()
            try:
                yield connection
            finally:
                self._free.append(connection)

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        if not self._room.acquire(timeout=PATIENCE_S):
            raise sqlite3.OperationalError(f"{MOST} reads have not ended in {PATIENCE_S:g} s: look at its disk")
        try:
            yield
        finally:
            self._room.release()

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Has a connection while no other read goes on here.

        Raises:
            sqlite3.Error: as for `one`.
        """
        with self._alone, contextlib.ExitStack() as rooms:
            for _ in range(MOST - 1):
                rooms.enter_context(self._place())
            yield rooms.enter_context(self.one())

    def close(self) -> None:
        """Waits for the reads that go on, and closes all connections. Those of reads that are stuck stay open."""
        with contextlib.suppress(sqlite3.OperationalError), self.alone() as last:
            for connection in (*self._free, last):
                connection.close()
