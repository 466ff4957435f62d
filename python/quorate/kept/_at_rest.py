"""What a store has of kept values: which versions of a name there are, and how their forms are sealed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from quorate.campaigns import Lost, Store, StoreError, read_store_key, store_of
from quorate.kept._form import Form

__all__ = ["Kept", "Version", "listed", "newest_form", "opened", "party_of", "place_of"]


@dataclasses.dataclass(frozen=True, order=True)
class Version:
    """The place of a version among those of its name: by number, then by identifier."""

    number: int
    id: bytes


@dataclasses.dataclass(frozen=True)
class Kept:
    """A version in the store, for people.

    Attributes:
        name: its name.
        number: its number, from 1.
        is_current: whether all parties are known to have it.
        made_at: when this party wrote it, in seconds since 1970.
        form: its form; None if it does not open.
        why: why it does not open.
    """

    name: str
    number: int
    is_current: bool
    made_at: int
    form: Form | None
    why: str


def place_of(version: Version, at: int, count: int) -> bytes:
    """Returns what a chunk is bound to: its version, its number and the number of chunks; -1 is the form."""
    return version.id + b"".join(number.to_bytes(8, "little", signed=True) for number in (version.number, at, count))


def opened(store: Store, name: str, version: Version, count: int, sealed: bytes) -> Form:
    """Returns the form of a version.

    Raises:
        Lost: it does not open, or is that of another name.
        StoreError: its key cannot be read now, or it is of another release.
    """
    form = Form.read(store.kept_keys.load(version.id).open(sealed, place_of(version, -1, count)))
    if form.name != name:
        raise Lost(f"a version of kept value {form.name!r} was moved to {name!r}: restore the store")
    return form


def party_of(config: str | os.PathLike[str]) -> int:
    """Returns the number of the party whose files these are.

    Raises:
        ConfigError: the files cannot be read.
    """
    return store_of(config)[0]


def newest_form(config: str | os.PathLike[str], name: str) -> Form | None:
    """Returns the form of a name that a plan is made with: the current one, or else one that may become it.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be read.
    """
    known = [kept for kept in listed(config) if kept.name == name and kept.form is not None]
    return max(known, key=lambda kept: (kept.is_current, kept.number)).form if known else None


def listed(config: str | os.PathLike[str]) -> list[Kept]:
    """Returns the versions at a party, by name, then by number.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be read.
    """
    with _reading(config) as store:
        query = "SELECT name, version, id, chunks, form, state, made_at FROM kept WHERE state IN ('pending', 'current')"
        rows = store.read(lambda connection: connection.execute(f"{query} ORDER BY name, version").fetchall())
        return [_kept(store, *row) for row in rows]


@contextlib.contextmanager
def _reading(config: str | os.PathLike[str]) -> Iterator[Store]:
    _, path, key = store_of(config)
    store = Store(path, read_store_key(key), None)
    try:
        yield store
    finally:
        store.close()


def _kept(
    store: Store, name: str, number: int, id_: bytes, count: int, sealed: bytes, state: str, made_at: int
) -> Kept:
    form, why = None, ""
    try:
        form = opened(store, name, Version(number, id_), count, sealed)
    except StoreError as error:
        why = str(error)
    return Kept(name, number, state == "current", made_at, form, why)
