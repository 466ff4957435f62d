"""The versions of one kept value in a party's store.

A version is *pending* until all parties have it on the disk, then *current*. A party has at most one of each. A
version that is being written, or erased, is neither; whoever opens its name to change it erases what is left of it.
Whoever opens a name holds its lock: several may read it, or one may change it.

Parts are encrypted under a random key in a file of its own, in chunks that are bound to their places. Chunks are
written in transactions of their own, so that packets of clients need not wait for a large value.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quorate.campaigns import KEPT, KeptKey, Lost, Store, StoreError, read_store_key, store_of
from quorate.kept._at_rest import Version, opened, place_of
from quorate.kept._form import Form
from quorate.kept._words import bytes_of, from_bytes, to_bytes

__all__ = ["Versions"]

_CHUNK = 1 << 20
_CHUNKS = 4  # that a transaction writes or erases
_USABLE = ("pending", "current")


class Versions:
    """The versions of one name at one party, under the lock of the name.

    Args:
        config: the party's `party.toml`, or the `serve.toml` beside it.
        me: the number that the party must have.
        name: the name of the value.
        is_shared: whether others may read the name at the same time, and nothing is changed.

    Attributes:
        faults: why versions are not whole, in sentences; `held` finds out.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be used, another process works on the name, or the files are another party's.
    """

    def __init__(self, config: str | os.PathLike[str], me: int, name: str, is_shared: bool = False) -> None:
        number, path, key = store_of(config)
        if number != me:
            raise StoreError(f"{Path(config)} is that of party {number}, and this is party {me}: name its own file")
        self._name, self._me, self.faults = name, me, list[str]()
        lock = f"{KEPT}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        self._store = Store(path, read_store_key(key), lock, is_shared)
        try:
            if not is_shared:
                self._erase_all(version for version in self._all(("new", "dead")))
        except BaseException:
            self._store.close()
            raise

    def held(self) -> list[Version]:
        """Returns the versions that are here whole, ascending: at most two. All their chunks are read for this.

        Raises:
            StoreError: the store, or a key, cannot be read now.
        """
        return sorted(version for version in self._all(_USABLE) if self._is_whole(version))

    def form(self, version: Version) -> Form:
        """Returns the form of a version.

        Raises:
            Lost: it is not here, or was altered.
            StoreError: it cannot be read now, or is of another release.
        """
        return opened(self._store, self._name, version, *self._row(version))

    def parts(self, version: Version) -> dict[str, npt.NDArray[Any]]:
        """Returns this party's part of each array; nothing where it holds none.

        Raises:
            Lost: it is not here, or was altered.
            StoreError: it cannot be read now, or is of another release.
        """
        form = self.form(version)
        if self._me >= form.holders:
            return {}
        sizes = [bytes_of(array.words, array.elements) for array in form.arrays.values()]
        data, filled = memoryview(bytearray(sum(sizes))), 0
        for chunk in self._chunks(version):
            data[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
        ends = np.cumsum(sizes).tolist()
        return {
            key: from_bytes(data[end - size : end], array.words, array.shape)
            for (key, array), size, end in zip(form.arrays.items(), sizes, ends, strict=True)
        }

    def add(self, version: Version, form: Form, parts: Sequence[npt.NDArray[Any]]) -> None:
        """Writes a version, which is pending; it is on the disk when this returns. Another pending one is erased.

        Raises:
            StoreError: it cannot be written; then nothing of it counts.
        """
        words = [array.words for array in form.arrays.values()]
        data = bytearray().join(to_bytes(part, one) for part, one in zip(parts, words, strict=False))
        count, id_ = -(-len(data) // _CHUNK), version.id
        insert = "INSERT INTO kept (id, name, version, state, chunks, form, made_at) VALUES (?, ?, ?, 'new', ?, ?, ?)"
        self._write(insert, id_, self._name, version.number, count, b"", int(time.time()))
        self._store.kept_keys.create(id_)  # after its row, so that a file without one is never left
        key = self._key(version)
        for first in range(0, count, _CHUNKS):
            rows = [
                (id_, at, key.seal(data[at * _CHUNK : (at + 1) * _CHUNK], place_of(version, at, count)))
                for at in range(first, min(count, first + _CHUNKS))
            ]
            self._store.write(functools.partial(_insert, rows)).result()
        data[:] = bytes(len(data))
        self.drop_pending()
        sealed = key.seal(form.write(), place_of(version, -1, count))
        self._write("UPDATE kept SET state = 'pending', form = ? WHERE id = ?", sealed, id_)

    def make_current(self, version: Version) -> None:
        """Makes the version current that all parties hold, and erases all others.

        Raises:
            Lost: the version is not here any more.
            StoreError: the store cannot be written, or another version's key cannot be erased.
        """

        def change(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE kept SET state = 'dead' WHERE name = ? AND id != ?", (self._name, version.id))
            made = connection.execute("UPDATE kept SET state = 'current' WHERE id = ?", (version.id,)).rowcount
            if made != 1:
                raise self._gone(version)

        self._store.write(change).result()
        self._erase_all(self._all(("dead",)))

    def drop(self, version: Version) -> None:
        """Erases a version.

        Raises:
            StoreError: the store cannot be written, or its key cannot be erased.
        """
        self._erase_all([version])

    def drop_pending(self) -> None:
        """Erases the pending version, which some party does not have, if there is one; errors as for `drop`."""
        self._erase_all(self._all(("pending",)))

    def forget(self) -> None:
        """Erases all versions; errors as for `drop`."""
        self._erase_all(self._all(_USABLE))

    def close(self) -> None:
        """Closes the store, and gives the lock up."""
        self._store.close()

    def __enter__(self) -> Versions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self, states: Sequence[str]) -> list[Version]:
        rows = self._query("SELECT version, id, state FROM kept WHERE name = ?", self._name)
        return [Version(number, id_) for number, id_, state in rows if state in states]

    def _is_whole(self, version: Version) -> bool:
        try:
            self.form(version)
            for _ in self._chunks(version):
                pass
        except Lost as error:
            self.faults.append(str(error))
            return False
        return True

    def _gone(self, version: Version) -> Lost:
        return Lost(f"version {version.number} of kept value {self._name!r} is not in the store any more")

    def _row(self, version: Version) -> tuple[int, bytes]:
        """Returns a version's number of chunks, and its form as it is sealed."""
        found = self._query("SELECT chunks, form FROM kept WHERE id = ? AND name = ?", version.id, self._name)
        if not found:
            raise self._gone(version)
        count, sealed = found[0]
        return count, sealed

    def _chunks(self, version: Version) -> Iterator[bytes]:
        (count, _), key = self._row(version), self._key(version)
        for at in range(count):
            rows = self._query("SELECT sealed FROM kept_chunks WHERE id = ? AND at = ?", version.id, at)
            if not rows:
                raise Lost(f"chunk {at} of kept value {self._name!r} is not in the store: restore it")
            yield key.open(rows[0][0], place_of(version, at, count))

    def _key(self, version: Version) -> KeptKey:
        return self._store.kept_keys.load(version.id)

    def _erase_all(self, versions: Iterable[Version]) -> None:
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
