"""Asks the servers of a deployment for runs of programs that their operators approved, and compares what they answer.

Each server answers for itself. Nothing that one server says about another one is believed: results count if all servers
state them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate_client._asking import LOST_S, PAUSE_S, Asking, opened
from quorate_client._waiting import Line
from quorate_client.deployment import Deployment
from quorate_client.errors import JobFailed, NoResult, OutboxError, Refused, Unreachable
from quorate_client.job import FINAL, WHY, JobRequest, JobState, Parameter, canonical
from quorate_client.keys import ClientKey, from_text, to_text
from quorate_client.statements import printable

__all__ = ["JobResult", "Jobs", "jobs", "listed_job", "program_hash", "reason"]

_GRACE_S = 5.0  # after a server has failed, the others may still say why they did

#: What is said of the name of an error of Quorate.
_ERROR = "an error of Quorate, whose message is in that server's log"

#: Reasons that follow from another server's.
_FOLLOWS = ("Elsewhere", "PeerEnded", "PeerLost", "PeerTimeout", "RunAborted", "")


@dataclasses.dataclass(frozen=True)
class JobResult:
    """The results of a job.

    Attributes:
        values: the results by name.
        stated: the servers that state each of them. A value that was revealed to some parties is stated by these alone:
            one server that lies about it is not noticed if no other one states it.
    """

    values: Mapping[str, Any]
    stated: Mapping[str, tuple[int, ...]]


def program_hash(program: str | os.PathLike[str]) -> str:
    """Returns the hash of a program: that of a file, or the 64 hexadecimal digits that are given.

    Raises:
        OutboxError: there is no such file.
    """
    if isinstance(program, str) and re.fullmatch(r"[0-9a-f]{64}", program):
        return program
    try:
        return hashlib.sha256(Path(program).read_bytes()).hexdigest()
    except OSError as error:
        raise OutboxError(f"The program {program} cannot be read: {error.strerror}.") from None


def jobs(
    deployment: Deployment | str | os.PathLike[str],
    *,
    key: ClientKey | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
) -> Jobs:
    """Returns what asks for jobs. Nothing is sent.

    Arguments:
        deployment: the servers, or the file that lists them.
        key: the requester's key, or the file that `quorate campaign client-key` wrote.
        store: a folder for the requests that were sent; by default beside the key's file.

    Raises:
        CampaignError: the list of servers cannot be read.
        KeyFileError: the key cannot be read.
        OutboxError: the key is no file, and no folder is named.
    """
    return Jobs(*opened(deployment, key, store))


class Jobs(Asking[JobState]):
    """The jobs of one requester at a deployment."""

    _path, _called, _suffix = "/jobs", "job", ".job"

    def _read(self, data: bytes) -> tuple[bytes, JobState]:
        state = JobState.from_json(data)
        return state.job, state

    def ask(
        self,
        program: str | os.PathLike[str],
        parameters: Mapping[str, Parameter] | None = None,
        *,
        within_s: int = 3600,
        wait_s: float = LOST_S,
    ) -> bytes:
        """Asks all servers for a run of a program, and returns the job's id, 32 bytes.

        The request is on this disk before it is sent. If a server refuses, it is cancelled at the others.

        Arguments:
            program: the program's file or its hash.
            parameters: its arguments by name, all of them: integers and texts.
            within_s: seconds within which the job has to start, at most a week.
            wait_s: seconds for which the request is sent to servers that do not answer.

        Raises:
            ValuesError: a parameter or the time cannot be sent; nothing was.
            JobRefused: one or more servers refused it.
            NotStored: a server could not be reached; `send` sends the same request again.
        """
        job = self.make(program, parameters, within_s=within_s)
        self.send(job, wait_s=wait_s)
        return job

    def make(
        self,
        program: str | os.PathLike[str],
        parameters: Mapping[str, Parameter] | None = None,
        *,
        within_s: int = 3600,
    ) -> bytes:
        """Signs a request as `ask` does, and keeps it on the disk for `send`; returns the job's id. Nothing is sent.

        Raises:
            ValuesError: a parameter or the time cannot be sent.
            OutboxError, KeyFileError: the request cannot be kept.
        """
        now = int(time.time())
        asked = program_hash(program), parameters or {}
        request = JobRequest.make(self._deployment, self._key.id, *asked, now, within_s)
        self._keep(request)
        return request.id

    def listed(self) -> tuple[list[dict[str, Any]] | Refused | Unreachable, ...]:
        """Returns what each server lists as this key's last jobs, without results; or the error of that server."""
        return self._lists(f"/requesters/{to_text(self._key.id)}/jobs", "jobs", listed_job)

    def wait(self, job: bytes, *, wait_s: float | None = None, progress: bool = False) -> JobResult:
        """Waits for the end of a job, and returns its results as `result` does.

        A job that ended without a result at one server is cancelled where it has not started.

        Arguments:
            job: its id.
            wait_s: seconds to wait at most; without it, until the job ends or a server is lost.
            progress: whether a terminal shows how far the job is.

        Raises:
            JobFailed: it ended without a result.
            NoResult: it has not ended in time, or the servers do not agree on its result.
            Unreachable: a server did not answer for a minute.
            Refused: a server does not have the job.
        """
        with Line(progress) as line:
            return self._wait(job, wait_s, line)

    def _wait(self, job: bytes, wait_s: float | None, line: Line) -> JobResult:
        begun = time.monotonic()
        heard = [begun] * self.servers
        failed_at: float | None = None
        while True:
            told, now = self.states(job), time.monotonic()
            for server, one in enumerate(told):
                if isinstance(one, Refused):
                    raise one
                if isinstance(one, JobState):
                    heard[server] = now
                elif now - heard[server] > LOST_S:
                    raise one
            states = [one for one in told if isinstance(one, JobState)]
            line.show(states)
            if any(one.state in FINAL and one.state != "done" for one in states):
                failed_at = now if failed_at is None else failed_at
                queued = {one.server for one in states if one.state == "queued"}
                over = now > failed_at + _GRACE_S
                self._cancel(job, {one.server for one in states if one.state not in FINAL} if over else queued)
            if len(states) == self.servers and all(one.state in FINAL for one in states):
                return _results(states)
            if failed_at is not None and now > failed_at + 2 * _GRACE_S:
                raise _failure(states)
            if wait_s is not None and now > begun + wait_s:
                raise NoResult("The job has not ended yet. It goes on at the servers: ask for its result later.")
            time.sleep(PAUSE_S)

    def result(self, job: bytes) -> JobResult:
        """Returns the results of a job, compared between all servers.

        A value that was revealed to one party is None at the others. All other values have to be equal.

        Raises:
            JobFailed: the job ended without a result at a server.
            NoResult: a server has not ended it, or the servers differ; the message names them.
            Unreachable, Refused: a server did not answer, or does not have the job.
        """
        states = []
        for one in self.states(job):
            if not isinstance(one, JobState):
                raise one
            states.append(one)
        return _results(states)


def listed_job(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns one job of a server's list; its id as bytes."""
    texts = {name: printable(fields[name], 64) for name in ("program", "state", "why")}
    return {"job": from_text(fields["job"]), **texts, "changed": int(fields["changed"])}


def reason(state: JobState) -> str:
    """Returns a sentence on a state, such as "Server 1: failed (TimeLimit): the program ran longer than ..."."""
    why = f" ({state.why})" if state.why else ""
    text = f": {WHY.get(state.why, _ERROR)}" if state.why else ""
    if state.progress is not None or state.waits:
        text = f": {state.progress or state.waits}"
    return f"Server {state.server}: {state.state}{why}{text}."


def _failure(states: list[JobState]) -> JobFailed:
    """Returns the error of a job that some server has ended without a result: the first one that has its own cause."""
    failed = [one for one in states if one.state in FINAL and one.state != "done"]
    first = min(failed, key=lambda one: (one.why in _FOLLOWS, one.server))
    ask = f"Ask the operator of server {first.server} about job {first.job.hex()}."
    return JobFailed(first.server, first.state, first.why, f"{' '.join(reason(one) for one in states)} {ask}")


def _results(states: list[JobState]) -> JobResult:
    """Compares the results of all servers.

    Raises:
        JobFailed, NoResult: as for `Jobs.result`.
    """
    if any(one.state in FINAL and one.state != "done" for one in states):
        raise _failure(states)
    waiting = [str(one.server) for one in states if one.state != "done"]
    if waiting:
        raise NoResult(f"The job has not ended at server {', '.join(waiting)}: ask again later.")
    each = [one.values for one in states]
    differ = [str(server) for server, one in enumerate(each) if set(one) != set(each[0])]
    if differ:
        raise NoResult(f"Servers 0 and {', '.join(differ)} state results of unlike names. Ask their operators.")
    values: dict[str, Any] = {}
    stated: dict[str, tuple[int, ...]] = {}
    for name in sorted(each[0]):
        values[name], stated[name] = _agreed(name, [one[name] for one in each])
    return JobResult(values, stated)


def _agreed(name: str, values: list[Any]) -> tuple[Any, tuple[int, ...]]:
    """Returns the value on which all servers agree that state one, and these servers."""
    texts = {server: canonical(value) for server, value in enumerate(values) if value is not None}
    if not texts:
        raise NoResult(f"No server states a value of {name!r}: the program returned none to any party.")
    groups: dict[bytes, list[int]] = {}
    for server, text in texts.items():
        groups.setdefault(text, []).append(server)
    if len(groups) > 1:
        sets = " and ".join(f"server {', '.join(map(str, servers))}" for servers in groups.values())
        raise NoResult(f"The servers differ in {name!r}: {sets} state unlike values. Ask their operators.")
    return values[min(texts)], tuple(texts)
