"""The commands of `quorate operator`: people who sign in at the console of this party's server."""

from __future__ import annotations

import argparse
import time
from typing import Any

from quorate._command._campaigns import add_config, client_errors, opened, require_serve
from quorate._command._exit_status import OK

__all__ = ["add_operator", "run_operator"]


def add_operator(operator: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate operator`."""
    commands = operator.add_subparsers(dest="operator_command", required=True, metavar="COMMAND")
    for name, about in (
        ("add", "lets a person sign in, and prints the token for that, once"),
        ("remove", "ends a person's sessions, and lets the person sign in no more"),
    ):
        one = commands.add_parser(name, help=about)
        one.add_argument("name", help="the name that records of the person's acts have")
        add_config(one)
    add_config(commands.add_parser("list", help="lists the people who may sign in"))


def run_operator(options: argparse.Namespace) -> int:
    """Runs a command of `quorate operator`."""
    require_serve()
    with client_errors():
        _COMMANDS[options.operator_command](options)
    return OK


def _add(options: argparse.Namespace) -> None:
    from quorate.console import add_operator

    with opened(options) as (_, store):
        print(add_operator(store, options.name))


def _remove(options: argparse.Namespace) -> None:
    from quorate.console import remove_operator

    with opened(options) as (_, store):
        remove_operator(store, options.name)
        print(f"removed {options.name}")


def _list(options: argparse.Namespace) -> None:
    from quorate.console import operators

    with opened(options) as (_, store):
        for one in operators(store):
            print(f"{one.name}  added {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(one.added_at))}")


_COMMANDS: dict[str, Any] = {"add": _add, "list": _list, "remove": _remove}
