"""Operators who may sign in at the console: their names, and the hashes of their tokens.

A token has 32 random bytes, so its plain SHA-256 says nothing of it and cannot be searched for.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
import secrets
import sqlite3
import time

from quorate.auditing import act_here, record
from quorate.campaigns import Store
from quorate.errors import ConfigError

__all__ = ["Operator", "add_operator", "is_token", "operator_of", "operators", "remove_operator"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"qo_[A-Za-z0-9_-]{43}")
_TOKEN_BYTES = 32


@dataclasses.dataclass(frozen=True)
class Operator:
    """A person who may sign in.

    Attributes:
        name: the name that records of acts have.
        token: the SHA-256 of the token.
        added_at: when the operator was added, in seconds since 1970.
    """

    name: str
    token: bytes = dataclasses.field(repr=False)
    added_at: int

    def has(self, token: str) -> bool:
        """Whether a token is this operator's."""
        return is_token(token) and hmac.compare_digest(_hash(token), self.token)


def add_operator(store: Store, name: str, now: float | None = None) -> str:
    """Adds an operator, and returns the token. It is not kept, so it cannot be shown again.

    Raises:
        ConfigError: the name has other characters than a name may have, or is taken.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} is no name of an operator: take up to 64 letters, digits and . _ @ -, a letter or digit first"
        )
    token = f"qo_{secrets.token_urlsafe(_TOKEN_BYTES)}"
    row = (name, _hash(token), int(time.time() if now is None else now))
    act = act_here("added", "operator", name)

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO operators VALUES (?, ?, ?)", row)
        record(connection, act)

    try:
        store.write(change).result()
    except sqlite3.IntegrityError:
        raise ConfigError(
            f"there is an operator {name} already: remove that one first, or give this one another name"
        ) from None
    return token


def remove_operator(store: Store, name: str) -> None:
    """Removes an operator, whose sessions end with this. Records of acts stay.

    Raises:
        ConfigError: there is none of that name.
    """
    act = act_here("removed", "operator", name)

    def change(connection: sqlite3.Connection) -> None:
        if connection.execute("DELETE FROM operators WHERE name = ?", (name,)).rowcount == 0:
            raise ConfigError(f"there is no operator {name}: `quorate operator list` lists those that are")
        record(connection, act)

    store.write(change).result()


def operators(store: Store) -> list[Operator]:
    """Returns all operators, by name."""
    query = "SELECT name, token, added_at FROM operators ORDER BY name"
    return [Operator(*row) for row in store.read(lambda connection: connection.execute(query).fetchall())]


def is_token(text: str) -> bool:
    """Whether a text has the form of a token."""
    return _TOKEN.fullmatch(text) is not None


def operator_of(store: Store, token: str) -> Operator | None:
    """Returns the operator of a token, or None. It is found by its hash, so that times say nothing of tokens."""
    query = "SELECT name, token, added_at FROM operators WHERE token = ?"
    row = store.read(lambda connection: connection.execute(query, (_hash(token),)).fetchone())
    return None if row is None else Operator(*row)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
