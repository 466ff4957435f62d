"""The commands of `quorate program`: what this party's server runs on request.

Modules that need the extra `serve` are imported when a command runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._command._campaigns import add_config, client_errors, opened, require_serve
from quorate._command._exit_status import OK
from quorate._command._file_options import add_form
from quorate.errors import ConfigError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

    from quorate.jobs import Limit, Program
    from quorate.plan import Plan
    from quorate_client.job import Parameter

__all__ = ["add_program", "parameters_of", "plans_for", "run_program"]


def add_program(program: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate program`."""
    commands = program.add_subparsers(dest="program_command", required=True, metavar="COMMAND")
    approve = commands.add_parser("approve", help="lets requesters run a program at this party, within limits")
    approve.add_argument("file", type=Path, help="the approval, in TOML; it names the program's file")
    add_config(approve)

    propose = commands.add_parser("propose", help="has a program wait at the console for an operator")
    propose.add_argument("file", type=Path, help="the approval, in TOML; it names the program's file")
    add_config(propose)

    add_config(commands.add_parser("list", help="lists the programs that are approved at this party"))

    revoke = commands.add_parser("revoke", help="refuses a program, and its jobs that wait")
    revoke.add_argument("hash", help="the program's hash, which `list` prints")
    add_config(revoke)

    explain = commands.add_parser("explain", help="prints the plan of a program for some parameters; nothing is sent")
    explain.add_argument("file", type=Path, help="the approval, in TOML")
    add_config(explain)
    explain.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter; may be given again"
    )
    add_form(explain)


def run_program(options: argparse.Namespace) -> int:
    """Runs a command of `quorate program`."""
    require_serve()
    with client_errors():
        _COMMANDS[options.program_command](options)
    return OK


def parameters_of(given: list[str]) -> dict[str, Parameter]:
    """Returns parameters from texts NAME=VALUE: integers, and texts; a text of digits stands in double quotes.

    Raises:
        ConfigError: a text has no name, or a name stands twice.
    """
    found: dict[str, Parameter] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals or name in found:
            raise ConfigError(f"--set {text}: give each parameter once, as NAME=VALUE")
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= 16:
            found[name] = int(value)
        else:
            is_quoted = len(value) > 1 and value[0] == value[-1] == '"'
            found[name] = value[1:-1] if is_quoted else value
    return found


def _approve(options: argparse.Namespace) -> None:
    from quorate.auditing import act_here, record
    from quorate.jobs import approve_within, check_deployment, read_approval
    from quorate_client import ServiceKey

    program = read_approval(options.file)
    act = act_here("approved", "program", program.name, program.hash)

    def approve(connection: sqlite3.Connection) -> int:
        record(connection, act)
        return approve_within(connection, program, int(time.time()))

    with opened(options) as (settings, store):
        deployment = check_deployment(settings, ServiceKey.load(settings.service_key))
        print(_summary(program, deployment.hash.hex()), flush=True)
        uses = store.write(approve).result()
        print(f"  {uses} of {program.terms.times} used")


def _propose(options: argparse.Namespace) -> None:
    from quorate.console import propose_program
    from quorate.jobs import read_approval

    program = read_approval(options.file)
    with opened(options) as (_, store):
        made = propose_program(store, program)
    print(f"program {program.name} waits at the console\n  hash: {program.hash.hex()}\n  proposal: {made.id.hex()}")


def _summary(program: Program, servers: str) -> str:
    """Returns what an operator agrees to, a line for each point."""
    from quorate_client.keys import to_text

    terms = program.terms
    runs = ["ANY: whatever the program reveals"] if terms.runs is None else [*terms.runs]
    options = ", ".join(f"{name}={value}" for name, value in terms.options.items()) or "none"
    lines = [
        f"program {program.name}",
        f"  hash: {program.hash.hex()}",
        f"  list of servers: {servers}",
        *(f"  requester: {to_text(point)}" for point in terms.requesters),
        f"  starts: {terms.times} in all, {terms.per_day} in 24 hours; each at most {terms.timeout_s} s",
        *(f"  runs: {run}" for run in runs),
        f"  this party's file: {terms.input or 'none'}",
        f"  options of the session: {options}",
        *(f"  parameter {name}: {_limit(limit)}" for name, limit in terms.parameters.items()),
        "  the requester gets whatever the program returns, this party's own rows too, if it returns them",
        "  the program is code with the rights of this server's user: read it",
    ]
    return "\n".join(lines)


def _limit(limit: Limit) -> str:
    if limit.type == "integer":
        return f"an integer from {limit.low} to {limit.high}"
    values = ", ".join(limit.values) or "any that is approved here"
    return f"a campaign: {values}" if limit.type == "campaign" else f"one of {values}"


def _list(options: argparse.Namespace) -> None:
    from quorate.jobs import approved

    with opened(options) as (_, store):
        for one in approved(store):
            state = "approved" if one.revoked_at is None else "revoked"
            used = f"{one.uses} of {one.terms.times} used"
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.revoked_at or one.approved_at))
            print(f"{one.name}  {state} {since}  {used}  {one.hash.hex()}")


def _revoke(options: argparse.Namespace) -> None:
    from quorate.auditing import act_here, record
    from quorate.jobs import approved, revoke_within

    try:
        program = bytes.fromhex(options.hash)
    except ValueError:
        raise ConfigError(f"{options.hash} is no hash: copy one that `quorate program list` prints") from None
    with opened(options) as (_, store):
        name = next((one.name for one in approved(store) if one.hash == program), "")
        act = act_here("revoked", "program", name, program)

        def revoke(connection: sqlite3.Connection) -> int:
            record(connection, act)
            return revoke_within(connection, program, int(time.time()))

        refused = store.write(revoke).result()
        print(f"revoked {program.hex()}; jobs that waited and are refused: {refused}")


def _explain(options: argparse.Namespace) -> None:
    from quorate.jobs import read_approval

    program = read_approval(options.file)
    plans = plans_for(program, parameters_of(options.set), options, options.form)
    print(f'to approve these runs alone: runs = ["{",".join(plan.program for plan in plans)}"]')


def plans_for(
    program: Program, parameters: Mapping[str, Parameter], options: argparse.Namespace, form: list[str]
) -> list[Plan]:
    """Executes a program without values for its plan, and prints the plan of each run.

    Args:
        program: the program.
        parameters: what it is run for.
        options: those of the command, of which `config` names this party's files.
        form: the forms of owners' tables, as `--form` has them.

    Raises:
        Refused: the parameters are outside of the terms.
    """
    from quorate._command._plans import plans_of
    from quorate.campaigns import find
    from quorate.tables._inputs import parse_owned

    arguments: dict[str, Any] = dict(parameters)
    program.terms.check(arguments)
    with tempfile.TemporaryDirectory(prefix="quorate-explain-") as folder:
        with opened(options) as (own, store):
            for name, campaign in program.terms.campaigns(arguments).items():
                file = Path(folder) / f"{name}.json"
                file.write_bytes(find(store, campaign.hex()).campaign.json)
                arguments[name] = str(file)
        plans = plans_of(
            program.name,
            program.code,
            arguments,
            program.terms.options,
            protocol=own.protocol,
            parties=own.parties,
            config=str(options.config),
            forms=parse_owned(form, "--form"),
            inputs={} if program.terms.input is None else {own.me: program.terms.input},
        )
    for number, plan in enumerate(plans, start=1):
        print(f"--- run {number} of {len(plans)} ---\n{plan}\n")
    return plans


_COMMANDS: dict[str, Any] = {
    "approve": _approve,
    "propose": _propose,
    "list": _list,
    "revoke": _revoke,
    "explain": _explain,
}
