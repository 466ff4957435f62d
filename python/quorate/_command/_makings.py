"""The process of a making: runs a program's plan as `quorate preprocess` does, and fills the party's pool.

It speaks with the server as the process of a job does: see `quorate.jobs._child`. Its result is how many bundles of
each lot of the pool a start of the program takes, and the number of bundles that were made.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any

from quorate._command._preprocess import Preprocessing, Supply
from quorate._display._progress import Progress, listen
from quorate._session._pools import pool_of
from quorate._session._settings import settings
from quorate.errors import ConfigError
from quorate.jobs._child import connected, program_of, received, tell, tell_error, tell_progress
from quorate.session import Session
from quorate.tables._inputs import MINE, parse_owned
from quorate_client.job import canonical

__all__ = ["main", "portions"]

#: The lowest priority of a process.
_NICE = 19

#: Portions in which a pool that can be added to is filled. What is made when the process ends midway stays.
_PORTIONS = 10


def main() -> int:
    """Makes correlations, and returns the exit status: 0 if there are as many as were asked for."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
    try:
        return _run()
    except BrokenPipeError:  # the server has ended, and nothing reads the report
        return 1


def _run() -> int:
    spec, report, told = received()
    try:
        program = program_of(spec)
        filling = _opened(spec)
        with filling as mpc:
            tell(report, {"connected": True})
            listen(functools.partial(tell_progress, told))
            program(mpc)
    except BaseException as error:
        tell_error(report, error)
        return 1
    tell(report, {"result": canonical({"lots": filling.lots, "made": filling.made}).decode("ascii")})
    return 0


def _opened(spec: dict[str, Any]) -> Filling:
    """Opens the session that fills the pool.

    Raises:
        ConfigError: `party.toml` names no pool.
    """
    pool = pool_of(spec["config"], None)
    if pool is None:
        raise ConfigError(f'{spec["config"]} names no pool: write its folder, as in pool = "pool"')
    pool.make_key()
    supply = Supply(spec["times"])
    settings.approve, settings.making = spec["runs"], supply
    settings.forms = parse_owned(spec["forms"], "form")
    settings.inputs = {} if spec["input"] is None else {MINE: spec["input"]}
    session = connected(spec)
    held = pool.held()
    return Filling(session, supply, held is None or held.can_stop())


class Filling(Preprocessing):
    """A session that plans every reveal and runs none. At its end the parties make the correlations in portions.

    Args:
        session: the session.
        supply: the number of starts.
        can_stop: whether a making that is interrupted can go on later.

    Attributes:
        lots: the bundles of each lot that a start takes.
        made: the bundles that were made.
    """

    def __init__(self, session: Session, supply: Supply, can_stop: bool) -> None:
        super().__init__(session, supply)
        self._can_stop, self.made = can_stop, 0
        self.lots: dict[str, int] = {}

    def _make(self) -> None:
        for content in self._contents:
            self.lots[content.lot()] = self.lots.get(content.lot(), 0) + 1
        for times in portions(self._supply.times, _PORTIONS if self._can_stop else 1):
            asked = [(content, times) for content in self._contents]
            with Progress() as progress:
                self.made += sum(new for new, _, _ in self._native.preprocess(asked, progress.show))
        self._contents = []


def portions(times: int, count: int) -> list[int]:
    """Returns growing numbers of starts up to `times`, the same at all parties.

    >>> portions(100, 4), portions(2, 4)
    ([25, 50, 75, 100], [1, 2])
    """
    return sorted({max(times * (at + 1) // count, 1) for at in range(count)})
