"""`quorate preprocess`: makes the correlations of a script's runs, for the pools of all parties."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from quorate import _quorate
from quorate._command._exit_status import OK
from quorate._command._explain import Book, Explaining
from quorate._command._file_options import file_settings
from quorate._display._progress import Progress
from quorate._display._text_tables import number_bytes
from quorate._session._pools import pool_of
from quorate.errors import ConfigError
from quorate.session import Session

__all__ = ["Preprocessing", "Supply", "run_preprocess"]

#: Starts of a script for which correlations may be made at once.
MOST_TIMES = 1 << 16


class Supply:
    """What the sessions of a script are to make.

    Args:
        times: the number of starts of the script.
    """

    def __init__(self, times: int) -> None:
        self.times, self.book = times, Book()
        self.is_made = False


class Preprocessing(Explaining):
    """A party's session that plans every reveal and runs none. At its end the parties make the correlations of all."""

    def __init__(self, session: Session, supply: Supply) -> None:
        super().__init__(session, supply.book)
        self._watches, session._watches = session._watches, None
        self._supply, self._contents = supply, list[_quorate.Content]()

    def _beside(self, native: _quorate.Session, name: str) -> Session:
        raise ConfigError(f"a session with a pool has no branches, and the script makes the branch {name!r}")

    def _noted(self, raw: dict[str, Any]) -> None:
        if raw["content"] is not None:
            self._contents.append(raw["content"])

    def close(self, gave_up: bool = False) -> None:
        """Makes what the runs so far need, unless the script failed, and closes the session."""
        try:
            if not gave_up and self._contents:
                self._make()
        except BaseException:
            gave_up = True
            raise
        finally:
            super().close(gave_up)

    def _make(self) -> None:
        asked = [(content, self._supply.times) for content in self._contents]
        self._contents = []
        with Progress() as progress:
            made = self._native.preprocess(asked, progress.show)
        runs = f"{len(asked)} run{'s' if len(asked) > 1 else ''}"
        new, held = sum(new for new, _, _ in made), sum(new * each for new, _, each in made)
        print(f"{runs} a start: made correlations of {new} runs, {number_bytes(held)} here")
        print(f"the pool is enough for {self._supply.times} starts, if no other script uses them")
        self._supply.is_made = True


def run_preprocess(options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    """Runs `quorate preprocess`; returns its exit status."""
    from quorate._command import _launch

    if not 1 <= options.times <= MOST_TIMES:
        raise ConfigError(f"--times must be from 1 to {MOST_TIMES}")
    pool = pool_of(options.config, options.pool)
    if pool is None:
        raise ConfigError(f"name the folder of the pool: --pool DIR, or `pool` in {options.config}")
    pool.make_key()
    supply = Supply(options.times)
    described = {"config": str(options.config), "pool": str(pool.folder), "explained": supply.book, "making": supply}
    files = file_settings(options)
    status = _launch.in_this_process(
        options.script, options.arguments, session=options.session, options=chosen, **described, **files
    )
    if status == OK and not supply.is_made:
        print("the script's runs need no correlations: nothing was made")
    return status


def add_preprocess(preprocess: argparse.ArgumentParser) -> None:
    """Adds the arguments of `quorate preprocess`, apart from the options of sessions and files."""
    preprocess.add_argument("script", type=Path)
    preprocess.add_argument("--config", type=Path, required=True, help="this party's party.toml")
    preprocess.add_argument("--times", type=int, required=True, metavar="N", help="for how many starts of the script")
    preprocess.add_argument(
        "--pool", metavar="DIR", default=None, help="the folder of this party's pool (default: `pool` in party.toml)"
    )
    preprocess.add_argument(
        "--session", metavar="NAME", default=None, help="the session to open, by the same name at all parties"
    )
