"""The versions of kept values in a party's store.

A version is *pending* until all parties have it on the disk, then *current*. A party has at most one of each. A
version that is being written, or erased, is neither; the next process that opens its name erases what is left of it.
Whoever opens a name holds its lock, so one process works on a name at a time.

Parts are encrypted under a random key in a file of its own, in chunks that are bound to their places. Chunks are
written in transactions of their own, so that packets of clients need not wait for a large value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from quorate.campaigns import KEPT, Sealed, Store, StoreError, read_store_key, store_of
from quorate.kept._form import Form
from quorate.kept._words import bytes_of, from_bytes, to_bytes

__all__ = ["Kept", "Version", "Versions", "listed", "newest_form", "party_of"]

_CHUNK = 1 << 20
_CHUNKS = 4  # that a transaction writes or erases


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    """The place of a version among those of its name: by number, then by identifier."""

    number: int
    id: bytes


@dataclasses.dataclass(frozen=True)
class Kept:
    """A version in the store, for people.

    Attributes:
        form: its form.
        number: its number, from 1.
        is_current: whether all parties are known to have it.
        made_at: when this party wrote it, in seconds since 1970.
        bytes: of this party's parts.
    """

    form: Form
    number: int
    is_current: bool
    made_at: int
    bytes: int


class Versions:
    """The versions of one name at one party, under the lock of the name.

    Args:
        config: the party's `party.toml`, or the `serve.toml` beside it.
        me: the number that the party must have.
        name: the name of the value.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be used, another process works on the name, or the files are another party's.
    """

    def __init__(self, config: str | os.PathLike[str], me: int, name: str) -> None:
        number, path, key = store_of(config)
        if number != me:
            raise StoreError(f"{Path(config)} is that of party {number}, and this is party {me}: name its own file")
        self._name, self._me = name, me
        self._store = Store(path, read_store_key(key), f"{KEPT}-{hashlib.sha256(name.encode()).hexdigest()[:16]}")
        try:
            for id_, state in self._query("SELECT id, state FROM kept WHERE name = ?", name):
                if state not in ("pending", "current"):
                    self._erase(id_)
        except BaseException:
            self._store.close()
            raise

    def held(self) -> list[Version]:
        """Returns the versions that are here whole, ascending: at most two. All their chunks are read for this."""
        return sorted(version for version in self._all() if self._is_whole(version))

    def form(self, version: Version) -> Form:
        """Returns the form of a version.

        Raises:
            StoreError: it is not here, or was altered.
        """
        ((count, text),) = self._rows(version)
        form = _form(self._store, version.id, version.number, count, text)
        if form.name != self._name:
            raise StoreError(f"a version of kept value {form.name!r} was moved to {self._name!r}: restore the store")
        return form

    def parts(self, version: Version) -> dict[str, npt.NDArray[Any]]:
        """Returns this party's part of each array; nothing where it holds none.

        Raises:
            StoreError: it is not here, or was altered.
        """
        form = self.form(version)
        if self._me >= form.holders:
            return {}
        data, found, first = b"".join(self._chunks(version)), {}, 0
        for key, array in form.arrays.items():
            end = first + bytes_of(array.words, array.elements)
            found[key], first = from_bytes(data[first:end], array.words, array.shape), end
        return found

    def add(self, version: Version, form: Form, parts: Sequence[npt.NDArray[Any]]) -> None:
        """Writes a version, which is pending; it is on the disk when this returns. Another pending one is erased.

        Raises:
            StoreError: it cannot be written; then nothing of it counts.
        """
        data = b"".join(to_bytes(part, array.words) for part, array in zip(parts, form.arrays.values(), strict=False))
        count, id_ = -(-len(data) // _CHUNK), version.id
        insert = "INSERT INTO kept (id, name, version, state, chunks, form, made_at) VALUES (?, ?, ?, 'new', ?, ?, ?)"
        self._write(insert, id_, self._name, version.number, count, b"", int(time.time()))
        self._store.kept_keys.create(id_)  # after its row, so that a file without one is never left
        sealed = self._sealed(version)
        for first in range(0, count, _CHUNKS):
            rows = [
                (id_, at, sealed.seal(data[at * _CHUNK : (at + 1) * _CHUNK], _place(version, at, count)))
                for at in range(first, min(count, first + _CHUNKS))
            ]
            self._store.write(functools.partial(_insert, rows)).result()
        self._drop(other for other in self._all(("pending",)))
        text = sealed.seal(form.write(), _place(version, -1, count))
        self._write("UPDATE kept SET state = 'pending', form = ? WHERE id = ?", text, id_)

    def choose(self, chosen: Version | None) -> None:
        """Makes the version current that all parties hold, and erases all others; without one, erases a pending one.

        Raises:
            StoreError: the version is not here any more.
        """
        if chosen is None:
            return self._drop(self._all(("pending",)))

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE kept SET state = 'dead' WHERE name = ? AND id != ?", (self._name, chosen.id))
            made = connection.execute("UPDATE kept SET state = 'current' WHERE id = ?", (chosen.id,)).rowcount
            if made != 1:
                raise StoreError(f"version {chosen.number} of kept value {self._name!r} is not in the store any more")

        self._store.write(change).result()
        self._drop(self._all(("dead",)))
        return None

    def forget(self) -> None:
        """Erases all versions."""
        self._drop(self._all(("pending", "current")))

    def drop(self, version: Version) -> None:
        """Erases a version."""
        self._drop([version])

    def close(self) -> None:
        """Closes the store, and gives the lock up."""
        self._store.close()

    def __enter__(self) -> Versions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, states: Sequence[str] = ("pending", "current")) -> list[Version]:
        rows = self._query("SELECT version, id, state FROM kept WHERE name = ?", self._name)
        return [Version(number, id_) for number, id_, state in rows if state in states]

    def _is_whole(self, version: Version) -> bool:
        try:
            self.form(version)
            for _ in self._chunks(version):
                pass
        except StoreError:
            return False
        return True

    def _rows(self, version: Version) -> list[tuple[int, bytes]]:
        found = self._query("SELECT chunks, form FROM kept WHERE id = ? AND name = ?", version.id, self._name)
        if not found:
            raise StoreError(f"version {version.number} of kept value {self._name!r} is not in the store any more")
        return found

    def _chunks(self, version: Version) -> Iterator[bytes]:
        ((count, _),), sealed = self._rows(version), self._sealed(version)
        for at in range(count):
            rows = self._query("SELECT sealed FROM kept_chunks WHERE id = ? AND at = ?", version.id, at)
            if not rows:
                raise StoreError(f"chunk {at} of kept value {self._name!r} is not in the store: restore it")
            yield sealed.open(rows[0][0], _place(version, at, count))

    def _sealed(self, version: Version) -> Sealed:
        return self._store.kept_keys.load(version.id)

    def _drop(self, versions: Any) -> None:
        for version in list(versions):
            self._write("UPDATE kept SET state = 'dead' WHERE id = ?", version.id)
            self._erase(version.id)

    def _erase(self, id_: bytes) -> None:
        """Erases a version that is dead: its key, its chunks, then its row."""
        self._store.kept_keys.erase(id_)
        erase = "DELETE FROM kept_chunks WHERE id = ? AND at IN (SELECT at FROM kept_chunks WHERE id = ? LIMIT ?)"
        while self._query("SELECT 1 FROM kept_chunks WHERE id = ? LIMIT 1", id_):
            self._write(erase, id_, id_, _CHUNKS)
        self._write("DELETE FROM kept WHERE id = ?", id_)
        self._store.purge()

    def _query(self, query: str, *values: Any) -> list[Any]:
        return self._store.read(lambda connection: connection.execute(query, values).fetchall())

    def _write(self, statement: str, *values: Any) -> None:
        self._store.write(lambda connection: connection.execute(statement, values)).result()


def _insert(rows: Sequence[tuple[bytes, int, bytes]], connection: sqlite3.Connection) -> None:
    connection.executemany("INSERT INTO kept_chunks VALUES (?, ?, ?)", rows)


def party_of(config: str | os.PathLike[str]) -> int:
    """Returns the number of the party whose files these are."""
    return store_of(config)[0]


def newest_form(config: str | os.PathLike[str], name: str) -> Form | None:
    """Returns the form of the newest version of a name at a party that opens, for plans; None if there is none.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be read.
    """
    _, path, key = store_of(config)
    query = "SELECT id, version, chunks, form FROM kept WHERE name = ? AND state IN ('pending', 'current')"
    store = Store(path, read_store_key(key), None)
    try:
        ordered = f"{query} ORDER BY version DESC, id DESC"
        for row in store.read(lambda connection: connection.execute(ordered, (name,)).fetchall()):
            with contextlib.suppress(StoreError):
                return _form(store, *row)
        return None
    finally:
        store.close()


def listed(config: str | os.PathLike[str]) -> list[Kept]:
    """Returns the versions at a party, by name, then by number.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be read, or a form was altered.
    """
    me, path, key = store_of(config)
    store = Store(path, read_store_key(key), None)
    try:
        query = "SELECT id, version, chunks, form, state, made_at FROM kept WHERE state IN ('pending', 'current')"
        rows = store.read(lambda connection: connection.execute(f"{query} ORDER BY name, version").fetchall())
        found = []
        for id_, number, count, text, state, made_at in rows:
            form = _form(store, id_, number, count, text)
            size = (
                sum(bytes_of(array.words, array.elements) for array in form.arrays.values()) if me < form.holders else 0
            )
            found.append(Kept(form, number, state == "current", made_at, size))
        return found
    finally:
        store.close()


def _form(store: Store, id_: bytes, number: int, count: int, text: bytes) -> Form:
    return Form.read(store.kept_keys.load(id_).open(text, _place(Version(number, id_), -1, count)))


def _place(version: Version, at: int, count: int) -> bytes:
    """Returns what a chunk is bound to: its version, its number and the number of chunks; -1 is the form."""
    return version.id + b"".join(number.to_bytes(8, "little", signed=True) for number in (version.number, at, count))
