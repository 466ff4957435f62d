"""Asks the servers of a deployment to run programs at fixed times, by requests that are signed once."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from quorate_client._asking import LOST_S, Asking, opened
from quorate_client.deployment import Deployment
from quorate_client.errors import Refused, Unreachable
from quorate_client.job import Parameter, is_time
from quorate_client.jobs import program_hash
from quorate_client.keys import ClientKey, from_text, to_text
from quorate_client.schedule import MOST_AHEAD_S, StandingRequest, StandingState, occurrence_id
from quorate_client.statements import printable

__all__ = ["Schedules", "schedules"]


def schedules(
    deployment: Deployment | str | os.PathLike[str],
    *,
    key: ClientKey | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
) -> Schedules:
    """Returns what asks for runs at fixed times. Nothing is sent.

    Arguments:
        deployment: the servers, or the file that lists them.
        key: the requester's key, or the file that `quorate campaign client-key` wrote.
        store: a folder for the requests that were sent; by default beside the key's file.

    Raises:
        CampaignError: the list of servers cannot be read.
        KeyFileError: the key cannot be read.
        OutboxError: the key is no file, and no folder is named.
    """
    return Schedules(*opened(deployment, key, store))


class Schedules(Asking[StandingState]):
    """The standing requests of one requester at a deployment.

    The jobs that they give are like others: `quorate_client.jobs` returns their states and results, by the ids that
    `occurrences` lists.
    """

    _path, _called, _suffix = "/standing", "standing request", ".standing"

    def _read(self, data: bytes) -> tuple[bytes, StandingState]:
        state = StandingState.from_json(data)
        return state.standing, state

    def ask(
        self,
        program: str | os.PathLike[str],
        parameters: Mapping[str, Parameter] | None = None,
        *,
        every: str,
        since: int | None = None,
        until: int | None = None,
        wait_s: float = LOST_S,
    ) -> bytes:
        """Asks all servers to run a program at fixed times, and returns the id of the standing request, 32 bytes.

        The request is on this disk before it is sent. If a server refuses, it is cancelled at the others.

        Arguments:
            program: the program's file or its hash.
            parameters: its arguments by name, all of them: integers and texts.
            every: the times in UTC: "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00".
            since: no run is due before this, in seconds since 1970; by default now.
            until: no run starts from then on; by default 366 days after `since`, which is the most.
            wait_s: seconds for which the request is sent to servers that do not answer.

        Raises:
            ValuesError: a parameter or a time cannot be sent; nothing was.
            JobRefused: one or more servers refused it.
            NotStored: a server could not be reached; `send` sends the same request again.
        """
        asked = self.make(program, parameters, every=every, since=since, until=until)
        self.send(asked, wait_s=wait_s)
        return asked

    def make(
        self,
        program: str | os.PathLike[str],
        parameters: Mapping[str, Parameter] | None = None,
        *,
        every: str,
        since: int | None = None,
        until: int | None = None,
    ) -> bytes:
        """Signs a standing request as `ask` does, and keeps it on the disk for `send`; returns its id.

        Nothing is sent.

        Raises:
            ValuesError: a parameter or a time cannot be sent.
            OutboxError, KeyFileError: the request cannot be kept.
        """
        now = int(time.time())
        begin = now if since is None else since
        request = StandingRequest.make(
            self._deployment,
            self._key.id,
            program_hash(program),
            parameters or {},
            every=every,
            time=now,
            since=begin,
            until=begin + MOST_AHEAD_S if until is None else until,
        )
        self._keep(request)
        return request.id

    def listed(self) -> tuple[list[dict[str, Any]] | Refused | Unreachable, ...]:
        """Returns what each server lists as this key's last standing requests; or the error of that server."""
        return self._lists(f"/requesters/{to_text(self._key.id)}/standing", "standing", _standing)

    def occurrences(self, asked: bytes) -> tuple[list[dict[str, Any]] | Refused | Unreachable, ...]:
        """Returns the last jobs that a standing request gave at each server, without results; or that server's error.

        Times that a server was down at have no job there. A job that is not the one of its time makes the server's
        answer an error.
        """

        def read(fields: Mapping[str, Any]) -> dict[str, Any]:
            found = _occurrence(fields)
            if found["job"] != occurrence_id(asked, found["at"]):
                raise ValueError
            return found

        return self._lists(f"/standing/{to_text(asked)}/jobs", "jobs", read)


def _standing(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns one standing request of a server's list; its id as bytes.

    Raises:
        ValueError: it is none.
    """
    next_, until = fields["next"], fields["until"]
    if not (is_time(until) and (next_ is None or is_time(next_))):
        raise ValueError
    texts = {name: printable(fields[name], 64) for name in ("program", "state", "every")}
    return {"standing": from_text(fields["standing"]), **texts, "next": next_, "until": until}


def _occurrence(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns one job of a standing request; its id as bytes.

    Raises:
        ValueError: it is none.
    """
    if not is_time(fields["at"]):
        raise ValueError
    texts = {name: printable(fields[name], 64) for name in ("state", "why")}
    return {"job": from_text(fields["job"]), "at": fields["at"], **texts}
