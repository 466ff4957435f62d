"""The tables of a store, and how a store of an older release becomes one of this release."""

from __future__ import annotations

import sqlite3

__all__ = ["APPLICATION", "VERSION", "migrate"]

#: Identifies a store among SQLite files: "QRCS".
APPLICATION = 0x51524353

#: Statements that lead from each version to the next one. Entries are only ever appended.
_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        # The row of a campaign stays for ever: a hash that was ended is never approved afresh. `list_hash` is that of
        # the list of the last look.
        """CREATE TABLE campaigns (
            hash BLOB PRIMARY KEY, name TEXT NOT NULL, json BLOB NOT NULL, approved_at INTEGER NOT NULL,
            closed_at INTEGER, ended_at INTEGER, looks INTEGER NOT NULL DEFAULT 0, list_hash BLOB
        ) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX names ON campaigns (name) WHERE ended_at IS NULL",
        # `place` is that of the client among the campaign's: its index in the list, or that of its invitation.
        """CREATE TABLE packets (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), slot INTEGER NOT NULL, place INTEGER NOT NULL,
            item INTEGER NOT NULL, number INTEGER NOT NULL, kind INTEGER NOT NULL, at_least INTEGER NOT NULL,
            header BLOB NOT NULL, digest BLOB NOT NULL, sealed_digest BLOB NOT NULL, signature BLOB NOT NULL,
            stored_at INTEGER NOT NULL, PRIMARY KEY (campaign, slot, place, item, number)
        )""",
        # A packet has a row here if this server computes with a part of it.
        """CREATE TABLE parts (
            campaign BLOB NOT NULL, slot INTEGER NOT NULL, place INTEGER NOT NULL, item INTEGER NOT NULL,
            number INTEGER NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (campaign, slot, place, item, number),
            FOREIGN KEY (campaign, slot, place, item, number) REFERENCES packets ON DELETE CASCADE
        )""",
        # Which key first showed an invitation.
        """CREATE TABLE invitations (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), place INTEGER NOT NULL, client BLOB NOT NULL,
            PRIMARY KEY (campaign, place), UNIQUE (campaign, client)
        ) WITHOUT ROWID""",
        # How often a client replaced packets within an hour.
        """CREATE TABLE rates (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), place INTEGER NOT NULL, since INTEGER NOT NULL,
            replaced INTEGER NOT NULL, PRIMARY KEY (campaign, place)
        ) WITHOUT ROWID""",
        # Results under the masks of their clients' packets, which servers may see. They outlive the packets.
        """CREATE TABLE results (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), slot INTEGER NOT NULL, place INTEGER NOT NULL,
            item INTEGER NOT NULL, look INTEGER NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL,
            data BLOB NOT NULL, PRIMARY KEY (campaign, slot, place, item, look)
        )""",
        """CREATE TABLE outcomes (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), slot INTEGER NOT NULL, place INTEGER NOT NULL,
            item INTEGER NOT NULL, number INTEGER NOT NULL, outcome TEXT NOT NULL, why TEXT NOT NULL,
            PRIMARY KEY (campaign, slot, place, item)
        ) WITHOUT ROWID""",
    ),
    (
        # Of campaigns whose servers may cheat: how often a slot was entered, and since when a server that was caught
        # keeps the campaign from being read.
        """CREATE TABLE attempts (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), slot INTEGER NOT NULL, made INTEGER NOT NULL,
            PRIMARY KEY (campaign, slot)
        ) WITHOUT ROWID""",
        # Packets that this server has found unfit (see `_attempts`).
        """CREATE TABLE unfit (
            campaign BLOB NOT NULL REFERENCES campaigns (hash), slot INTEGER NOT NULL, place INTEGER NOT NULL,
            item INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (campaign, slot, place, item, number)
        ) WITHOUT ROWID""",
        "ALTER TABLE campaigns ADD COLUMN halted_at INTEGER",
    ),
    (
        # Programs that the operator has approved, with their bytes; `terms` is JSON.
        """CREATE TABLE programs (
            hash BLOB PRIMARY KEY, name TEXT NOT NULL, code BLOB NOT NULL, terms BLOB NOT NULL,
            approved_at INTEGER NOT NULL, revoked_at INTEGER
        ) WITHOUT ROWID""",
        """CREATE TABLE jobs (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, program BLOB NOT NULL,
            requester BLOB NOT NULL, request BLOB NOT NULL, signature BLOB NOT NULL, until INTEGER NOT NULL,
            state TEXT NOT NULL
                CHECK (state IN ('queued', 'running', 'done', 'failed', 'refused', 'cancelled', 'expired')),
            why TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,
            cancel INTEGER NOT NULL DEFAULT 0, changed_at INTEGER NOT NULL, result BLOB
        )""",
        "CREATE UNIQUE INDEX one_running ON jobs (state) WHERE state = 'running'",
        "CREATE INDEX by_state ON jobs (state, number)",
        "CREATE INDEX by_requester ON jobs (requester, number)",
        # Starts of programs, which limits count. A row is removed only if no program got a session here.
        """CREATE TABLE uses (
            job BLOB PRIMARY KEY, program BLOB NOT NULL, at INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX uses_of ON uses (program, at)",
    ),
    (
        # Versions of values that sessions keep; `form` is sealed, as chunks of parts are.
        """CREATE TABLE kept (
            id BLOB PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('new', 'pending', 'current', 'dead')), chunks INTEGER NOT NULL,
            form BLOB NOT NULL, made_at INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX kept_states ON kept (name, state) WHERE state IN ('pending', 'current')",
        """CREATE TABLE kept_chunks (
            id BLOB NOT NULL REFERENCES kept (id), at INTEGER NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (id, at)
        )""",
    ),
    (
        # Requests for jobs at fixed times. A row stays until nothing can repeat its request.
        """CREATE TABLE standing (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, program BLOB NOT NULL,
            requester BLOB NOT NULL, request BLOB NOT NULL, signature BLOB NOT NULL, every TEXT NOT NULL,
            since INTEGER NOT NULL, until INTEGER NOT NULL, taken_at INTEGER NOT NULL, cancelled_at INTEGER
        )""",
        "CREATE INDEX standing_of ON standing (requester, number)",
        # The times that had their job. A row stays as long as its standing request, so that no time has two.
        """CREATE TABLE occurrences (
            standing BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (standing, at)
        ) WITHOUT ROWID""",
        # Of a job that a standing request gave: the id of that request, and its time.
        "ALTER TABLE jobs ADD COLUMN standing BLOB",
        "ALTER TABLE jobs ADD COLUMN at INTEGER",
        "CREATE UNIQUE INDEX jobs_of_standing ON jobs (standing, at) WHERE standing IS NOT NULL",
    ),
    (
        # Several jobs may run at the same time; the change that makes one run counts them.
        "DROP INDEX one_running",
    ),
    (
        # People who sign in at the console; `token` is the hash of theirs.
        """CREATE TABLE operators (
            name TEXT PRIMARY KEY, token BLOB NOT NULL UNIQUE, added_at INTEGER NOT NULL
        ) WITHOUT ROWID""",
        # Programs and campaigns that wait for an operator; `id` is the hash of all of it.
        """CREATE TABLE proposals (
            id BLOB PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('program', 'campaign')), subject BLOB NOT NULL,
            name TEXT NOT NULL, text BLOB NOT NULL, code BLOB NOT NULL, proposed_at INTEGER NOT NULL,
            UNIQUE (kind, subject)
        ) WITHOUT ROWID""",
        # What operators did at the console. A row is written in the transaction of the act.
        """CREATE TABLE acts (
            number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, operator TEXT NOT NULL, act TEXT NOT NULL,
            kind TEXT NOT NULL, name TEXT NOT NULL, subject BLOB NOT NULL
        )""",
        # What a job's process measured, beside what its dry runs predicted: JSON.
        "ALTER TABLE jobs ADD COLUMN measured BLOB",
    ),
    (
        # Acts become lines of a chain (see `auditing._acts`). Those of older releases stay, and have no number; the
        # first line that has one covers the last of them.
        "ALTER TABLE acts RENAME TO acts_before",
        "CREATE TABLE acts (number INTEGER PRIMARY KEY AUTOINCREMENT, line BLOB NOT NULL)",
        """INSERT INTO acts SELECT number, CAST(json_object(
            'time', strftime('%Y-%m-%dT%H:%M:%SZ', at, 'unixepoch'), 'event', 'act', 'operator', operator, 'act', act,
            'kind', kind, 'name', name, 'subject', lower(hex(subject))) AS BLOB) FROM acts_before ORDER BY number""",
        "DROP TABLE acts_before",
    ),
    (
        # Of a making for the pool: the number of starts for which there were to be correlations. NULL for jobs.
        "ALTER TABLE jobs ADD COLUMN making INTEGER",
        "CREATE INDEX makings ON jobs (number) WHERE making IS NOT NULL",
    ),
)

#: The version that this release writes.
VERSION = len(_STEPS)


def migrate(connection: sqlite3.Connection) -> None:
    """Brings a new store, or one of an older release, to this release's version, in one transaction.

    Raises:
        ValueError: the file is another program's, or a newer release's; the text completes "the store PATH ...".
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != APPLICATION and (application, version, tables) != (0, 0, 0):
            raise ValueError("is a database of another program; name another file")
        if version > VERSION:
            raise ValueError(f"has version {version}, and this release reads up to {VERSION}; install the newer one")
        for step in _STEPS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
