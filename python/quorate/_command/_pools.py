"""The commands of `quorate pool`: what this party's pool has, and certificates that change."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate import _quorate
from quorate._command._exit_status import OK
from quorate._display._text_tables import number_bytes
from quorate._session._pools import PoolFolder, pool_of
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate.jobs import Job, Level

__all__ = ["add_pool", "run_pool"]

_SHOWN_MAKINGS = 10


def add_pool(pool: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate pool`."""
    commands = pool.add_subparsers(dest="pool_command", required=True, metavar="COMMAND")
    about = "prints what this party's pool has, and the levels of programs that have marks; any process may use it"
    listed = commands.add_parser("list", help=about)
    listed.add_argument("--config", type=Path, required=True, help="this party's party.toml")
    _add_folder(listed)
    rebind = commands.add_parser("rebind", help="keeps the pool after certificates in party.toml have changed")
    rebind.add_argument("old", type=Path, help="a copy of party.toml from before the change")
    rebind.add_argument("new", type=Path, help="this party's party.toml")
    _add_folder(rebind)


def _add_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--pool", metavar="DIR", default=None, help="the folder of this party's pool (default: `pool` in party.toml)"
    )


def run_pool(options: argparse.Namespace) -> int:
    """Runs a command of `quorate pool`."""
    _COMMANDS[options.pool_command](options)
    return OK


def _folder(options: argparse.Namespace, config: Path) -> PoolFolder:
    _quorate.read_config(str(config))
    folder = pool_of(config, options.pool)
    if folder is None:
        raise ConfigError(f"name the folder of the pool: --pool DIR, or `pool` in {config}")
    return folder


def _list(options: argparse.Namespace) -> None:
    folder = _folder(options, options.config)
    held = folder.held() if folder.key_file.exists() else None
    if held is None:
        print(f"there is no pool in {folder.folder}")
    else:
        used = ", a process uses it" if folder.is_used() else ""
        state = "" if held.state == "free" else f", {held.state}"
        print(f"pool {held.id[:16]} in {folder.folder}{state}{used}")
        for lot, (left, gone, size, contents) in sorted(held.lots.items()):
            what = ", ".join(f"{count} x {kind}" for kind, count in sorted(contents.items()))
            print(f"  lot {lot[:16]}  {left} left  {gone} used or given up  {number_bytes(size)} each: {what}")
    if (options.config.with_name("serve.toml")).is_file() and options.pool is None:
        _list_levels(options)


def _list_levels(options: argparse.Namespace) -> None:
    """Prints the levels of programs, and the last makings."""
    from quorate._command._campaigns import client_errors, opened, require_serve

    require_serve()
    from quorate.jobs import Pools, Queue

    with client_errors(), opened(options) as (settings, store):
        pools = Pools(store, Queue(store, b""), settings.party, settings.marks, b"", b"")
        for level in pools.levels():
            print(line_of(level))
        for job in pools.makings()[:_SHOWN_MAKINGS]:
            print(f"making {job.id.hex()}  {_ending(job)}  for {job.making} starts of program {job.program.hex()[:16]}")


def line_of(level: Level) -> str:
    """Returns the line of a program's level."""
    given = "".join(f" {name}={value}" for name, value in level.marks.parameters.items())
    has = "level not known before the first making" if level.starts is None else f"{level.starts} starts left"
    marks = f"made below {level.marks.low} up to {level.marks.high}"
    return f"program {level.marks.program[:16]}{given}  {has}, {marks}"


def _ending(job: Job) -> str:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(job.changed_at))
    return f"{job.state}{f' ({job.why})' if job.why else ''} {when}"


def _rebind(options: argparse.Namespace) -> None:
    folder = _folder(options, options.new)
    changed = _quorate.rebind_pool(str(folder.folder), folder.key(), str(options.old), str(options.new))
    if changed is None:
        raise ConfigError(f"there is no pool in {folder.folder}")
    done = "is bound to the certificates of" if changed else "was bound already to those of"
    print(f"the pool {folder.folder} {done} {options.new}; do this at all parties")


_COMMANDS: dict[str, Any] = {"list": _list, "rebind": _rebind}
