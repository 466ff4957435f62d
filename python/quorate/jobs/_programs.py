"""The programs that a server's operator has approved: adding, listing and revoking them, and what their terms allow."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping

from quorate.campaigns import Refused, Store
from quorate.jobs._terms import Program, Terms, check_campaign, time_text
from quorate_client.job import Parameter

__all__ = [
    "Approved",
    "TooOften",
    "approve",
    "approve_within",
    "approved",
    "check_covered",
    "check_makes",
    "check_terms",
    "code_of",
    "load",
    "revoke",
    "revoke_within",
]

_DAY_S = 86_400


class TooOften(Refused):
    """A start that the approval allows later, when fewer are within 24 hours."""


@dataclasses.dataclass(frozen=True)
class Approved:
    """A program in a store.

    Attributes:
        hash: the SHA-256 of its bytes.
        name: the name of its file.
        terms: its terms.
        approved_at: when it was last approved, in seconds since 1970.
        revoked_at: when it was revoked, or None.
        uses: the number of starts that count.
    """

    hash: bytes
    name: str
    terms: Terms
    approved_at: int
    revoked_at: int | None
    uses: int


def approve(store: Store, program: Program, now: float | None = None) -> int:
    """Adds a program, or replaces the terms of one that is there. Returns the uses so far, which stay.

    Raises:
        StoreError: it could not be stored.
    """
    at = int(time.time() if now is None else now)
    return store.write(lambda connection: approve_within(connection, program, at)).result()


def approve_within(connection: sqlite3.Connection, program: Program, now: int) -> int:
    """Does what `approve` does, within a change of the store."""
    row = (program.hash, program.name, program.code, program.terms.json, now)
    query = """INSERT INTO programs VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT (hash) DO UPDATE SET
        name = excluded.name, terms = excluded.terms, approved_at = excluded.approved_at, revoked_at = NULL"""
    connection.execute(query, row)
    return _uses(connection, program.hash, 0)


def revoke(store: Store, program: bytes, now: float | None = None) -> int:
    """Revokes a program, and refuses its jobs that wait. Returns their number. A job that runs goes on.

    Raises:
        Refused: no such program is approved.
    """
    at = int(time.time() if now is None else now)
    return store.write(lambda connection: revoke_within(connection, program, at)).result()


def revoke_within(connection: sqlite3.Connection, program: bytes, now: int) -> int:
    """Does what `revoke` does, within a change of the store.

    Raises:
        Refused: no such program is approved.
    """
    query = "UPDATE programs SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL"
    if connection.execute(query, (now, program)).rowcount == 0:
        raise Refused(404, f"no program {program.hex()} is approved here", "`quorate program list` lists those")
    query = """UPDATE jobs SET state = 'refused', why = 'Revoked', changed_at = ?
        WHERE program = ? AND state = 'queued'"""
    return connection.execute(query, (now, program)).rowcount


def approved(store: Store) -> list[Approved]:
    """Returns all programs, in the order of their approval."""
    query = """SELECT hash, name, terms, approved_at, revoked_at,
        (SELECT count(*) FROM uses WHERE program = hash) FROM programs ORDER BY approved_at, hash"""
    rows = store.read(lambda connection: connection.execute(query).fetchall())
    return [Approved(hash_, name, _terms(terms), *rest) for hash_, name, terms, *rest in rows]


def code_of(store: Store, program: bytes) -> bytes:
    """Returns the bytes of a program in a store.

    Raises:
        Refused: there is none, or it was altered.
    """
    query = "SELECT code FROM programs WHERE hash = ?"
    row = store.read(lambda connection: connection.execute(query, (program,)).fetchone())
    if row is None:
        raise Refused(404, f"no program {program.hex()} is approved here", "`quorate program list` lists those")
    if hashlib.sha256(row[0]).digest() != program:
        raise Refused(409, "the program was altered in this server's store", "approve its file again")
    return bytes(row[0])


def load(connection: sqlite3.Connection, program: bytes, requester: bytes) -> Program:
    """Returns a program that is approved for a requester.

    Raises:
        Refused: 403 there is none, with the same text for programs that are unknown and for keys that are not listed;
            409 the program in the store was altered.
    """
    query = "SELECT name, code, terms FROM programs WHERE hash = ? AND revoked_at IS NULL"
    row = connection.execute(query, (program,)).fetchone()
    if row is not None:
        found = Program(row[0], row[1], _terms(row[2]))
        if requester in found.terms.requesters:
            if found.hash != program:
                raise Refused(409, "the program was altered in this server's store", "ask its operator to approve it")
            return found
    raise Refused(
        403,
        f"no program with the hash {program.hex()} is approved here for this key",
        "compare the file with this server's operator, line ends too, and ask for an approval",
    )


def check_makes(connection: sqlite3.Connection, program: bytes, parameters: Mapping[str, Parameter]) -> Program:
    """Checks that a program is approved with some parameters for anybody, and may start again; returns it.

    Raises:
        Refused: it is not, or it reads a campaign, whose clients are not there before it is read.
    """
    query = "SELECT name, code, terms FROM programs WHERE hash = ? AND revoked_at IS NULL"
    row = connection.execute(query, (program,)).fetchone()
    if row is None:
        raise Refused(409, f"no program {program.hex()} is approved here", "ask this server's operator to approve it")
    found = Program(row[0], row[1], _terms(row[2]))
    if found.hash != program:
        raise Refused(409, "the program was altered in this server's store", "ask its operator to approve it")
    found.terms.check(parameters)
    if found.terms.campaigns(parameters):
        raise Refused(409, "the program reads a campaign, for which no pool is made", "leave it out of [[pool]]")
    if _uses(connection, program, 0) >= found.terms.times:
        raise Refused(409, "all uses of the program are used", "ask this server's operator to approve more")
    return found


def check_terms(
    connection: sqlite3.Connection,
    program: bytes,
    requester: bytes,
    parameters: Mapping[str, Parameter],
    waiting: int = 0,
) -> Program:
    """Checks what of an approval holds at any time: the requester, the parameters and the uses; returns the program.

    Args:
        connection: the store's, within a transaction.
        program: the program's hash.
        requester: the public key that asks.
        parameters: the parameters.
        waiting: jobs of this program that wait and count as uses.

    Raises:
        Refused: they are not approved; the message names the limit.
    """
    found = load(connection, program, requester)
    terms = found.terms
    terms.check(parameters)
    used = _uses(connection, program, 0)
    if used + waiting >= terms.times:
        all_, many = f"{terms.times} use{'s' if terms.times > 1 else ''}", terms.times > 1
        also = f", with {waiting} that wait{'s' if waiting == 1 else ''}" if waiting else ""
        raise Refused(
            409,
            f"{used + waiting} of {all_} {'are' if many else 'is'} used{also}",
            "ask this server's operator to approve more",
        )
    return found


def check_covered(
    connection: sqlite3.Connection, program: bytes, requester: bytes, parameters: Mapping[str, Parameter], now: float,
    waiting: int,
) -> tuple[Program, dict[str, bytes]]:  # fmt: skip
    """Checks that a program may start for a requester; returns it, and the JSON of its campaigns by parameter.

    Args:
        connection, program, requester, parameters, waiting: as for `check_terms`.
        now: this server's clock.

    Raises:
        TooOften: it may not start now, but later.
        Refused: it may not; the message names the limit.
    """
    found = check_terms(connection, program, requester, parameters, waiting)
    terms = found.terms
    hashes = terms.campaigns(parameters).items()
    campaigns = {name: check_campaign(connection, campaign, now) for name, campaign in hashes}
    today = _uses(connection, program, int(now) - _DAY_S)
    if today + waiting >= terms.per_day:
        often = "once" if terms.per_day == 1 else f"{terms.per_day} times"
        raise TooOften(
            409, f"this program starts {often} in 24 hours here, {_next(connection, program, today, terms, now)}",
            "ask then, or ask this server's operator",
        )  # fmt: skip
    return found, campaigns


def _next(connection: sqlite3.Connection, program: bytes, today: int, terms: Terms, now: float) -> str:
    """Returns when a start is free again, as text."""
    if today < terms.per_day:
        return "and jobs that wait take the next ones"
    query = "SELECT at FROM uses WHERE program = ? AND at > ? ORDER BY at LIMIT 1 OFFSET ?"
    (at,) = connection.execute(query, (program, int(now) - _DAY_S, today - terms.per_day)).fetchone()
    return f"next after {time_text(at + _DAY_S)}"


def _uses(connection: sqlite3.Connection, program: bytes, since: int) -> int:
    """Returns the number of starts after a time."""
    query = "SELECT count(*) FROM uses WHERE program = ? AND at > ?"
    return int(connection.execute(query, (program, since)).fetchone()[0])


def _terms(text: bytes) -> Terms:
    return Terms.of(json.loads(text))
