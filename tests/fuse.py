"""Kills of a process that writes a store: the n-th statement or sync does not happen, nor any later one."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from quorate.campaigns import _store


class Killed(BaseException):
    """The end of a process."""


class Fuse:
    """Counts statements and syncs, and ends the process at one of them. After it, nothing happens any more."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.seen = 0
        self.is_blown = False

    def step(self) -> None:
        self.seen += 1
        if self.left is not None:
            self.is_blown = self.is_blown or self.left == 0
            self.left -= 1
        if self.is_blown:
            raise Killed


FUSE = Fuse()


class Fused(sqlite3.Connection):
    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql != "BEGIN" and not sql.startswith(("ROLLBACK", "SELECT", "PRAGMA")):
            FUSE.step()
        done = super().execute(sql, *parameters)
        if sql == "COMMIT":
            FUSE.step()  # killed before anybody hears of it
        return done


@contextlib.contextmanager
def fused() -> Iterator[None]:
    """Lets stores run over the fuse."""
    patch, sync = pytest.MonkeyPatch(), os.fsync

    def synced(file: int) -> None:
        FUSE.step()
        sync(file)

    patch.setattr(os, "fsync", synced)
    patch.setattr(
        _store,
        "_connect",
        lambda path: sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Fused),
    )
    patch.setattr("threading.excepthook", lambda _: None)  # the writer's thread ends as the process does
    FUSE.__init__()  # type: ignore[misc]
    try:
        yield
    finally:
        patch.undo()
