"""The pages of the console: what each one shows, as fields for its template. No page has a value of anyone."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quorate._quorate import __version__
from quorate.auditing import Check, acts, check_of_acts, check_of_log
from quorate.campaigns import Approved as ApprovedCampaign
from quorate.campaigns import Refused, Settings, Store, approved, certificate_hash, counts, find_hash
from quorate.console._acts import digest_of
from quorate.console._audit import last_entries
from quorate.console._history import plots
from quorate.console._plans import Planned, Plans
from quorate.console._pools import pool_fields
from quorate.console._proposals import Proposal, load, waiting
from quorate.console._source import lines_of
from quorate.errors import ConfigError
from quorate.jobs import Approved as ApprovedProgram
from quorate.jobs import Job, Jobs, Limit, PeerState, Program, Queue, Terms, code_of
from quorate.jobs import approved as approved_programs
from quorate.jobs import load as load_program
from quorate_client import JobRequest
from quorate_client.job import Parameter
from quorate_client.keys import to_text

__all__ = ["Pages", "parameters_of"]

_LISTS = "look at the list for those that are"

#: Jobs that a page lists.
_MOST_JOBS = 200


@dataclasses.dataclass(frozen=True)
class Pages:
    """What the pages of one server show.

    Attributes:
        store: the store.
        settings: the server's settings.
        jobs: its jobs, if it runs any.
        ready: whether requests should be sent to it.
        clock: its clock, in seconds since 1970.
        peers: returns the health of the other servers; nothing where they are not watched.
        plans: keeps plans of jobs.
    """

    store: Store
    settings: Settings
    jobs: Jobs | None
    ready: Callable[[], bool]
    clock: Callable[[], float] = time.time
    peers: Callable[[], list[PeerState]] = list
    plans: Plans | None = None

    def overview(self) -> dict[str, Any]:
        """The server, its peers, and counts."""
        states: dict[str, int] = {}
        for (_, state), number in ({} if self.jobs is None else self.jobs.queue.counts()).items():
            states[state] = states.get(state, 0) + number
        return {
            "settings": self.settings,
            "version": __version__,
            "is_ready": self.ready(),
            "certificate": to_text(certificate_hash(self.settings.certificate)),
            "deployment": None if self.jobs is None else self.jobs.deployment,
            "is_halted": self.jobs is not None and self.jobs.queue.is_halted(),
            "counts": counts(self.store, self.clock()),
            "states": states,
            "waiting": len(waiting(self.store)),
            "peers": self.peers(),
        }

    def campaigns(self) -> dict[str, Any]:
        """All campaigns."""
        return {"campaigns": [(one, one.state(self.clock())) for one in reversed(approved(self.store))]}

    def campaign(self, hash_: bytes) -> dict[str, Any]:
        """One campaign.

        Raises:
            Refused: there is none.
        """
        found: ApprovedCampaign = find_hash(self.store, hash_)
        return {"one": found, "campaign": found.campaign, "state": found.state(self.clock())}

    def programs(self) -> dict[str, Any]:
        """All programs."""
        return {"programs": list(reversed(approved_programs(self.store))), "jobs": self.jobs}

    def program(self, hash_: bytes) -> dict[str, Any]:
        """One program, with its code.

        Raises:
            Refused: there is none.
        """
        found = self._program(hash_)
        lines = lines_of(code_of(self.store, hash_))
        return {"one": found, "terms": _terms(found.terms), "lines": lines, "foreign": _foreign(lines)}

    def _program(self, hash_: bytes) -> ApprovedProgram:
        for one in approved_programs(self.store):
            if one.hash == hash_:
                return one
        raise Refused(404, "no such program is approved here", _LISTS)

    def proposals(self) -> dict[str, Any]:
        """What waits for an operator."""
        return {"proposals": waiting(self.store)}

    def proposal(
        self, id_: bytes, plans: list[Planned] | None = None, given: Mapping[str, str] | None = None, trouble: str = ""
    ) -> dict[str, Any]:
        """One proposal: all that an operator agrees to, and the hash of it.

        Args:
            id_: its id.
            plans: its plans, if they were asked for.
            given: the parameters that they are for, as they were typed.
            trouble: why there is no plan.

        Raises:
            Refused: it does not wait any more.
        """
        found, shown = self.store.read(lambda connection: _shown(connection, id_))
        fields: dict[str, Any] = {
            "proposal": found,
            "id": found.id.hex(),
            "shown": shown,
            "is_program": found.kind == "program",
        }
        if found.kind == "campaign":
            return {**fields, "campaign": found.campaign}
        program = found.program
        lines = lines_of(program.code)
        before = next((one for one in approved_programs(self.store) if one.hash == found.subject), None)
        return {
            **fields,
            "terms": _terms(program.terms),
            "limits": program.terms.parameters,
            "campaigns": [one.campaign for one in approved(self.store) if one.ended_at is None],
            "lines": lines,
            "foreign": _foreign(lines),
            "before": before,
            "before_terms": None if before is None else _terms(before.terms),
            "deployment": None if self.jobs is None else self.jobs.deployment.hash.hex(),
            "plans": plans,
            "is_any": program.terms.runs is None,
            "is_covered": plans is not None and _is_covered(program.terms, plans),
            "given": given or {},
            "trouble": trouble,
        }

    def jobs_page(self) -> dict[str, Any]:
        """The last jobs, and standing requests that are active."""
        names = {one.hash: one.name for one in approved_programs(self.store)}
        now = self.clock()
        standing = [] if self.jobs is None else [one for one in self.jobs.schedules.all() if one.state(now) == "active"]
        jobs = [_job_fields(job, names) for job in reversed(self._last_jobs())]
        return {"jobs": jobs, "standing": [(one, names.get(one.program, ""), one.next(now)) for one in standing]}

    def pools(self) -> dict[str, Any]:
        """The levels of the pool, and the last makings."""
        return pool_fields(self.jobs, {one.hash: one.name for one in approved_programs(self.store)})

    def job(self, id_: bytes, trouble: str = "") -> dict[str, Any]:
        """One job, without its result; what it will reveal if it waits and its plan was made.

        Args:
            id_: its id.
            trouble: why there is no plan.

        Raises:
            Refused: there is none.
        """
        queue, found = self._job(id_)
        names = {one.hash: one.name for one in approved_programs(self.store)}
        fields = {**_job_fields(found, names), "started_at": queue.started_at(id_)}
        program = None
        if found.state == "queued":
            try:
                program = self._program_of(found)
            except Refused as error:  # it was revoked or altered since
                trouble = trouble or str(error)
        made = None if program is None or self.plans is None else self.plans.kept(id_, program)
        is_covered = program is not None and made is not None and _is_covered(program.terms, made.runs)
        is_any = program is not None and program.terms.runs is None
        plan = {"program": program, "plans": made, "is_any": is_any, "is_covered": is_covered, "trouble": trouble}
        return {**fields, **plan}

    def waiting_job(self, id_: bytes) -> tuple[Job, Program]:
        """Returns a job that waits, and its program as it is approved.

        Raises:
            Refused: there is none, it does not wait, or its program is not approved any more.
        """
        _, found = self._job(id_)
        if found.state != "queued":
            raise Refused(409, f"this job does not wait any more: it is {found.state}", "look at its page")
        return found, self._program_of(found)

    def _job(self, id_: bytes) -> tuple[Queue, Job]:
        found = None if self.jobs is None else self.jobs.queue.job(id_)
        if self.jobs is None or found is None:
            raise Refused(404, "this server does not have this job", _LISTS)
        return self.jobs.queue, found

    def _program_of(self, job: Job) -> Program:
        return self.store.read(lambda connection: load_program(connection, job.program, job.requester))

    def _last_jobs(self) -> list[Job]:
        return [] if self.jobs is None else self.jobs.queue.last(_MOST_JOBS)

    def metrics(self) -> dict[str, Any]:
        """Counts over time."""
        return {"plots": plots(self.store, self._last_jobs(), self.clock()), "address": self.settings.metrics}

    def audit(self) -> dict[str, Any]:
        """The last lines of the party's audit log."""
        file = self.settings.audit
        fields: dict[str, Any] = {"file": file, "entries": [], "trouble": "", "verdict": None}
        if file is None:
            return fields
        try:
            fields["entries"], fields["verdict"] = last_entries(file), self._log_check.verdict()
        except (OSError, ConfigError) as error:
            fields["trouble"] = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return fields

    def acts(self) -> dict[str, Any]:
        """What operators did here."""
        return {"acts": acts(self.store), "verdict": self._acts_check.verdict()}

    @functools.cached_property
    def _acts_check(self) -> Check:
        return check_of_acts(self.store)

    @functools.cached_property
    def _log_check(self) -> Check:
        return check_of_log(self.settings.audit or Path())

    def close(self) -> None:
        """Ends what is verified in the background."""
        for check in (self._acts_check, self._log_check):
            check.close()


def _job_fields(job: Job, names: Mapping[bytes, str]) -> dict[str, Any]:
    """Returns what pages show of a job, without its result."""
    asked = job.asked
    return {
        "job": job,
        "id": job.id.hex(),
        "name": names.get(job.program, ""),
        "requester": to_text(job.requester),
        "parameters": asked.parameters,
        "asked_at": asked.time if isinstance(asked, JobRequest) else job.at,
        "measured": None if job.measured is None else json.loads(job.measured),
    }


def _shown(connection: Any, id_: bytes) -> tuple[Proposal, str]:
    found = load(connection, id_)
    return found, digest_of(connection, found)


def _terms(terms: Terms) -> list[tuple[str, str]]:
    """Returns what an operator agrees to about a program, as pairs of a name and a text."""
    starts = f"{terms.times:,} in all, {terms.per_day:,} within any 24 hours, each at most {terms.timeout_s:,} s"
    runs = ["ANY: whatever the program reveals"] if terms.runs is None else terms.runs
    return [
        *(("Requester", to_text(point)) for point in terms.requesters),
        ("Starts", starts),
        *(("Approved runs", run) for run in runs),
        ("File of this party", terms.input or "none"),
        ("Options of the session", ", ".join(f"{name}={value}" for name, value in terms.options.items()) or "none"),
        *((f"Parameter {name}", _limit(limit)) for name, limit in terms.parameters.items()),
    ]


def _limit(limit: Limit) -> str:
    if limit.type == "integer":
        return f"an integer from {limit.low:,} to {limit.high:,}"
    values = ", ".join(limit.values) or "any that is approved here"
    return f"a campaign: {values}" if limit.type == "campaign" else f"one of: {values}"


def _foreign(lines: list[Any]) -> list[int]:
    return [line.number for line in lines if line.is_foreign]


def _is_covered(terms: Terms, plans: list[Planned]) -> bool:
    """Whether the terms allow these runs."""
    return terms.runs is None or ",".join(plan.program for plan in plans) in terms.runs


def parameters_of(limits: Mapping[str, Limit], form: Mapping[str, str]) -> dict[str, Parameter]:
    """Returns the parameters that a form states.

    Raises:
        Refused: an integer is none.
    """
    found: dict[str, Parameter] = {}
    for name, limit in limits.items():
        text = form.get(f"parameter.{name}", "")
        if limit.type != "integer":
            found[name] = text
            continue
        digits = text.strip().removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 16):
            raise Refused(409, f"parameter {name} must be an integer", "type digits alone")
        found[name] = int(text)
    return found
