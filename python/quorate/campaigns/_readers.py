"""Connections of a store that read: one that waits for a slow disk does not hold up the others."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator

__all__ = ["MOST", "Readers"]

#: Reads at the same time; others wait.
MOST = 4


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
            sqlite3.Error: it cannot be opened.
        """
        with self._room:
            try:
                connection = self._free.pop()
            except IndexError:
                connection = self._opened()
            try:
                yield connection
            finally:
                self._free.append(connection)

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Has a connection while no other read goes on here."""
        with self._alone, contextlib.ExitStack() as rooms:
            for _ in range(MOST - 1):
                self._room.acquire()
                rooms.callback(self._room.release)
            yield rooms.enter_context(self.one())

    def close(self) -> None:
        """Waits for the reads that go on, and closes all connections."""
        with self.alone() as last:
            for connection in (*self._free, last):
                connection.close()
