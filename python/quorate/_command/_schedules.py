"""What the commands of `quorate job` do with standing requests, which they call schedules."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._command._exit_status import OK, PEER_LOST
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate_client import Jobs, Schedules

__all__ = ["Requester", "is_job", "line_of", "lost", "time_of"]


@dataclasses.dataclass(frozen=True)
class Requester:
    """The jobs and schedules of a requester."""

    jobs: Jobs
    schedules: Schedules

    @staticmethod
    def of(servers: Path, key: Path) -> Requester:
        """Reads the list of servers and the key."""
        from quorate_client import jobs, schedules

        return Requester(jobs(servers, key=key), schedules(servers, key=key))

    def show(self, asked: bytes) -> int:
        """Prints what each server states of a schedule, and the last jobs that it gave there."""
        told = self.schedules.states(asked)
        self._print_states(told)
        if not is_job(told):
            return lost(told)
        for server, jobs in enumerate(self.schedules.occurrences(asked)):
            if isinstance(jobs, Exception):
                continue  # it was named above
            for one in jobs:
                why = f" ({one['why']})" if one["why"] else ""
                print(f"server {server}  {_text(one['at'])}  {one['job'].hex()}  {one['state']}{why}")
        return lost(told)

    def cancel(self, asked: bytes) -> int:
        """Cancels a schedule at all servers."""
        told = self.schedules.cancel(asked)
        self._print_states(told)
        return lost(told)

    def _print_states(self, told: Iterable[Any]) -> None:
        from quorate_client import StandingState

        for one in told:
            if isinstance(one, StandingState):
                following = "" if one.next is None else f", next {_text(one.next)}"
                print(f"Server {one.server}: {one.state}{following}.", flush=True)
            else:
                print(one, flush=True)

    def list(self) -> int:
        """Prints the schedules of the key at each server."""
        listed = self.schedules.listed()
        for server, each in enumerate(listed):
            if isinstance(each, Exception):
                continue  # the list of jobs has named it
            for one in each:
                times = (one["every"], one["state"], one["next"], one["until"])
                print(f"server {server}  {line_of(one['standing'].hex(), one['program'], *times)}")
        return lost(listed)


def is_job(told: Iterable[object]) -> bool:
    """Whether a server has what was asked for."""
    return any(not isinstance(one, Exception) for one in told)


def lost(told: Iterable[object]) -> int:
    """Returns the exit status for what servers answered."""
    from quorate_client import Unreachable

    return PEER_LOST if any(isinstance(one, Unreachable) for one in told) else OK


def line_of(id_: str, program: str, every: str, state: str, following: int | None, until: int) -> str:
    """Returns a line of a list of schedules."""
    times = f"every {every}{'' if following is None else f', next {_text(following)}'}, until {_text(until)}"
    return f"{id_}  {state} {times}  program {program[:16]}"


def time_of(option: str, text: str | None) -> int | None:
    """Reads a time of the command line, in seconds since 1970.

    Raises:
        ConfigError: it is none.
    """
    if text is None:
        return None
    try:
        read = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        raise ConfigError(f"{option} {text}: write a time in UTC, as in 2026-12-01T00:00:00Z") from None
    return int(read.replace(tzinfo=datetime.timezone.utc).timestamp())


def _text(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
