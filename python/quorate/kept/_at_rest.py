"""What a store has of kept values: which versions of a name there are, and how their forms are sealed."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

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
        state: "current" if all parties are known to have it, "pending" before that, "dead" if its erasure failed.
        made_at: when this party wrote it, in seconds since 1970.
        form: its form; None if it does not open.
        why: why it does not open.
    """

    name: str
    number: int
    state: str
    made_at: int
    form: Form | None
    why: str


def place_of(version: Version, me: int, at: int, count: int) -> bytes:
    """Returns what a chunk is bound to: its version, its party, its number and the number of chunks; -1 is the form."""
    numbers = version.number, me, at, count
    return version.id + b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)


def opened(store: Store, me: int, name: str, version: Version, count: int, sealed: bytes) -> Form:
    """Returns the form of a version.

    Raises:
        Lost: it does not open, or is that of another name or another party.
        StoreError: its key cannot be read now, or it is of another release.
    """
    form = Form.read(store.kept_keys.load(version.id).open(sealed, place_of(version, me, -1, count)))
    if form.name != name:
        raise Lost(f"a version of kept value {form.name!r} was moved to {name!r}: keep it again")
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
    return max(known, key=lambda kept: (kept.state == "current", kept.number)).form if known else None


def listed(config: str | os.PathLike[str]) -> list[Kept]:
    """Returns the versions at a party, by name, then by number, with those whose erasure failed.

    Raises:
        ConfigError: the files cannot be read.
        StoreError: the store cannot be read.
    """
    me, path, key = store_of(config)
    query = """SELECT name, version, id, state, made_at, chunks, form FROM kept WHERE state != 'new'
        ORDER BY name, version"""
    store = Store(path, read_store_key(key), None)
    try:
        rows = store.read(lambda connection: connection.execute(query).fetchall())
        return [kept for row in rows if (kept := _kept(store, me, *row)) is not None]
    finally:
        store.close()


def _kept(
    store: Store, me: int, name: str, number: int, id_: bytes, state: str, made_at: int, *rest: Any
) -> Kept | None:
    """Returns a version; None if it was erased meanwhile."""
    try:
        return Kept(name, number, state, made_at, opened(store, me, name, Version(number, id_), *rest), "")
    except StoreError as error:
        if not store.read(lambda connection: connection.execute("SELECT 1 FROM kept WHERE id = ?", (id_,)).fetchone()):
            return None
        return Kept(name, number, state, made_at, None, str(error))
