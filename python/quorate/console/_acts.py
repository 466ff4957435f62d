"""What operators do at the console. An act and its record are one transaction of the store."""

from __future__ import annotations

import hashlib
import hmac
import logging
import sqlite3
import time
from collections.abc import Callable

from quorate.auditing import Act, record
from quorate.campaigns import Refused, Settings, Store, approve_within, certificate_hash, close_within
from quorate.console._operators import Operator
from quorate.console._proposals import Proposal, load, remove
from quorate.jobs import Queue, about
from quorate.jobs import approve_within as approve_program
from quorate.jobs import revoke_within as revoke_program
from quorate_client import ServiceKey
from quorate_client.job import FINAL

__all__ = ["Acts", "digest_of"]

LOG = logging.getLogger("quorate.serve")


def digest_of(connection: sqlite3.Connection, proposal: Proposal) -> str:
    """Returns the hash of what the page of a proposal shows: the proposal, and the approval that it would replace."""
    query = "SELECT terms, approved_at, revoked_at FROM programs WHERE hash = ?"
    before = connection.execute(query, (proposal.subject,)).fetchone() if proposal.kind == "program" else None
    return hashlib.sha256(repr((proposal.id, before)).encode()).hexdigest()


class Acts:
    """The acts of operators at one server.

    Args:
        store: the store.
        settings: the server's settings.
        service_key: its keys.
        queue: its jobs, if it runs any.
        clock: its clock, in seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        service_key: ServiceKey,
        queue: Queue | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._settings, self._key, self._clock = store, settings, service_key, clock
        self._queue = queue

    def approve(self, operator: Operator, id_: bytes, shown: str) -> None:
        """Approves a proposal.

        Args:
            operator: who approves it.
            id_: its id.
            shown: the hash of what the operator saw, as `digest_of` returns it.

        Raises:
            Refused: it does not wait any more, something that was shown has changed, or it does not fit this server.
        """

        def change(connection: sqlite3.Connection) -> Act:
            proposal = load(connection, id_)
            if not hmac.compare_digest(digest_of(connection, proposal).encode(), shown.encode("utf-8", "replace")):
                raise Refused(409, "what this page showed has changed since", "look at it again, and then decide")
            now = int(self._clock())
            if proposal.kind == "program":
                self._approve_program(connection, proposal, now)
            else:
                self._approve_campaign(connection, proposal, now)
            remove(connection, id_)
            return Act(now, operator.name, "approved", proposal.kind, proposal.name, proposal.subject)

        self._do(operator, change)

    def _approve_program(self, connection: sqlite3.Connection, proposal: Proposal, now: int) -> None:
        if self._queue is None:
            raise Refused(409, "this server runs no programs", "add [jobs] to serve.toml, and start it again")
        approve_program(connection, proposal.program, now)

    def _approve_campaign(self, connection: sqlite3.Connection, proposal: Proposal, now: int) -> None:
        campaign, own = proposal.campaign, self._settings
        if campaign.protocol != own.protocol:
            what = f"the campaign is for {campaign.protocol}, and this party runs {own.protocol}"
            raise Refused(409, what, "make one for this deployment")
        certificate = certificate_hash(own.certificate)
        if own.me < len(campaign.servers) and campaign.servers[own.me].certificate != certificate:
            what = f"the campaign has another certificate for server {own.me} than this server's"
            raise Refused(409, what, "put the certificate of this server's service.pub into the campaign")
        if not approve_within(self._store, connection, campaign, own.me, self._key, now):
            raise Refused(409, "this campaign is approved here already", "refuse the proposal")

    def refuse(self, operator: Operator, id_: bytes) -> None:
        """Removes a proposal.

        Raises:
            Refused: it does not wait any more.
        """

        def change(connection: sqlite3.Connection) -> Act:
            proposal = load(connection, id_)
            remove(connection, id_)
            now = int(self._clock())
            return Act(now, operator.name, "refused", proposal.kind, proposal.name, proposal.subject)

        self._do(operator, change)

    def revoke(self, operator: Operator, program: bytes, name: str) -> None:
        """Revokes a program, and refuses its jobs that wait.

        Raises:
            Refused: it is not approved.
        """

        def change(connection: sqlite3.Connection) -> Act:
            now = int(self._clock())
            revoke_program(connection, program, now)
            return Act(now, operator.name, "revoked", "program", name, program)

        self._do(operator, change)

    def close(self, operator: Operator, campaign: bytes, name: str) -> None:
        """Closes a campaign for ever.

        Raises:
            Refused: it is closed already.
        """

        def change(connection: sqlite3.Connection) -> Act:
            now = int(self._clock())
            if not close_within(connection, campaign, now):
                raise Refused(409, "this campaign is closed already", "look at the list of campaigns")
            return Act(now, operator.name, "closed", "campaign", name, campaign)

        self._do(operator, change)

    def cancel(self, operator: Operator, job: bytes, name: str) -> None:
        """Cancels a job that waits, and has one that runs end.

        Raises:
            Refused: there is none, or it has ended.
        """
        queue = self._queue

        def change(connection: sqlite3.Connection) -> Act:
            before = connection.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()
            if queue is None or before is None or before[0] in FINAL:
                what = "this server does not have this job" if before is None else f"this job has ended: {before[0]}"
                raise Refused(404 if before is None else 409, what, "look at the list of jobs")
            queue.cancel_within(connection, job)
            return Act(int(self._clock()), operator.name, "cancelled", "job", name, job)

        self._do(operator, change)

    def note(self, operator: Operator, act: str, kind: str = "", name: str = "", subject: bytes = b"") -> None:
        """Records what changes nothing in the store: that an operator signed in, or had a program executed for a plan.

        Raises:
            Refused: the operator was removed.
        """
        self._do(operator, lambda _: Act(int(self._clock()), operator.name, act, kind, name, subject))

    def _do(self, operator: Operator, change: Callable[[sqlite3.Connection], Act]) -> None:
        """Runs a change with its record, if the operator is still one.

        Raises:
            Refused: the operator was removed, or what the change raises.
        """

        def whole(connection: sqlite3.Connection) -> Act:
            query = "SELECT 1 FROM operators WHERE name = ? AND token = ?"
            if connection.execute(query, (operator.name, operator.token)).fetchone() is None:
                raise Refused(403, "you are no operator of this server any more", "ask who removed you")
            made = change(connection)
            record(connection, made)
            return made

        act = self._store.write(whole).result()
        fields = about("console.act", operator=act.operator, act=act.act, kind=act.kind, subject=act.subject.hex())
        text = "operator %s %s %s %s %s" if act.kind else "operator %s %s%s%s%s"
        LOG.info(text, act.operator, act.act, act.kind, act.name, act.subject.hex(), extra=fields)
