"""Programs and campaigns that wait in the store until an operator approves or refuses them.

Who writes to the store proposes: a person at a shell of the server. Nothing that arrives by a network is a proposal.
The id of a proposal is the hash of all of it, so what is approved by its id is what was shown under that id.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import sqlite3
import time
import tokenize
from typing import NamedTuple

from quorate.campaigns import Refused, Store
from quorate.errors import ConfigError
from quorate.jobs import Program, Terms
from quorate_client import Campaign

__all__ = ["Proposal", "Waiting", "load", "propose_campaign", "propose_program", "remove", "waiting"]

#: Proposals that wait, and bytes of a program that a page shows.
MOST, MOST_CODE_BYTES = 100, 256 * 1024

_LABEL = b"quorate/proposal/1\0"


@dataclasses.dataclass(frozen=True)
class Proposal:
    """A program with its terms, or a campaign.

    Attributes:
        kind: "program" or "campaign".
        subject: the hash of the program or the campaign.
        name: the name of the program's file, or of the campaign.
        text: the terms, or the campaign: canonical JSON.
        code: the bytes of the program; empty for a campaign.
        proposed_at: when it was proposed, in seconds since 1970.
    """

    kind: str
    subject: bytes
    name: str
    text: bytes = dataclasses.field(repr=False)
    code: bytes = dataclasses.field(repr=False)
    proposed_at: int

    @property
    def id(self) -> bytes:
        """The SHA-256 of all of it but its time."""
        parts = [self.kind.encode(), self.subject, self.name.encode(), self.text, self.code]
        return hashlib.sha256(_LABEL + b"".join(hashlib.sha256(part).digest() for part in parts)).digest()

    @property
    def program(self) -> Program:
        """The program, if it is one.

        Raises:
            Refused: the store was altered.
        """
        found = Program(self.name, self.code, Terms.of(json.loads(self.text)))
        if self.kind != "program" or found.hash != self.subject:
            raise _altered()
        return found

    @property
    def campaign(self) -> Campaign:
        """The campaign, if it is one.

        Raises:
            Refused: the store was altered.
        """
        try:
            found = Campaign.from_json(self.text)
        except ValueError:
            raise _altered() from None
        if self.kind != "campaign" or found.hash != self.subject:
            raise _altered()
        return found


def propose_program(store: Store, program: Program, now: float | None = None) -> Proposal:
    """Adds a program to what waits. One that is proposed again takes the place of the earlier proposal.

    Raises:
        ConfigError: a page could not show the program as Python reads it, or too many proposals wait.
    """
    _check_shown(program)
    return _add(store, "program", program.hash, program.name, program.terms.json, program.code, now)


def propose_campaign(store: Store, campaign: Campaign, now: float | None = None) -> Proposal:
    """Adds a campaign to what waits.

    Raises:
        ConfigError: too many proposals wait.
    """
    return _add(store, "campaign", campaign.hash, campaign.name, campaign.json, b"", now)


class Waiting(NamedTuple):
    """A line of the list of proposals: the proposal's id, and its fields but for the long ones."""

    id: bytes
    kind: str
    subject: bytes
    name: str
    proposed_at: int


def waiting(store: Store) -> list[Waiting]:
    """Returns what waits, in the order of proposal."""
    query = "SELECT id, kind, subject, name, proposed_at FROM proposals ORDER BY proposed_at, id"
    return [Waiting(*row) for row in store.read(lambda connection: connection.execute(query).fetchall())]


def load(connection: sqlite3.Connection, id_: bytes) -> Proposal:
    """Returns a proposal.

    Raises:
        Refused: 404 there is none: it was approved, refused or replaced; 409 it was altered in the store.
    """
    query = "SELECT kind, subject, name, text, code, proposed_at FROM proposals WHERE id = ?"
    row = connection.execute(query, (id_,)).fetchone()
    if row is None:
        raise Refused(404, "this proposal does not wait any more", "look at the list: it may have been replaced")
    found = Proposal(*row)
    if found.id != id_:
        raise _altered()
    return found


def remove(connection: sqlite3.Connection, id_: bytes) -> None:
    """Removes a proposal, within a change of the store."""
    connection.execute("DELETE FROM proposals WHERE id = ?", (id_,))


def _add(
    store: Store, kind: str, subject: bytes, name: str, text: bytes, code: bytes, now: float | None
) -> Proposal:  # fmt: skip
    made = Proposal(kind, subject, name, text, code, int(time.time() if now is None else now))

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM proposals WHERE kind = ? AND subject = ?", (kind, subject))
        (waiting,) = connection.execute("SELECT count(*) FROM proposals").fetchone()
        if waiting >= MOST:
            raise ConfigError(f"{MOST} proposals wait at this server: approve or refuse some at its console first")
        row = (made.id, kind, subject, name, text, code, made.proposed_at)
        connection.execute("INSERT INTO proposals VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    store.write(change).result()
    return made


def _check_shown(program: Program) -> None:
    """Checks that the lines of a page are what Python reads: a program may name another encoding in its first lines.

    Raises:
        ConfigError: they would not be.
    """
    if len(program.code) > MOST_CODE_BYTES:
        raise ConfigError(
            f"{program.name} has {len(program.code)} bytes, and the console shows {MOST_CODE_BYTES}: approve it by "
            "`quorate program approve`"
        )
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(program.code).readline)[0]
        program.code.decode("utf-8")
    except (SyntaxError, UnicodeDecodeError):
        encoding = "another encoding"
    if encoding not in ("utf-8", "utf-8-sig"):
        raise ConfigError(f"{program.name} is not in UTF-8, and the console would show other text: save it as UTF-8")


def _altered() -> Refused:
    return Refused(409, "the proposal was altered in this server's store", "remove it, and propose the file again")
