"""The `quorate` command."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorate._command._audit import add_audit, run_audit
from quorate._command._campaigns import add_campaign, add_serve, run_campaign, run_serve
from quorate._command._completion import SHELLS
from quorate._command._completion import script as completion_script
from quorate._command._core_dumps import forbid_core_dumps
from quorate._command._doctor import add_doctor, run_doctor
from quorate._command._ending import end_in_time
from quorate._command._exit_status import FAILED, INTERRUPTED, OK, UNREAD, exit_status
from quorate._command._file_options import add_file_options, file_settings
from quorate._command._jobs import add_job, run_job
from quorate._command._kept import add_kept, run_kept
from quorate._command._keygen import keygen
from quorate._command._operators import add_operator, run_operator
from quorate._command._pools import add_pool, run_pool
from quorate._command._preprocess import add_preprocess, run_preprocess
from quorate._command._programs import add_program, run_program
from quorate._families import DEFAULT, FAMILIES, choices, description, listed
from quorate._session._options import LOCAL, OPTIONS
from quorate._session._signals import TERMINATED, Terminated
from quorate.errors import (
    QuorateError,
)

__all__ = ["main"]

# Unknown options belong to the script, so the command's own must not be abbreviated.
_SCRIPT: dict[str, Any] = {
    "allow_abbrev": False,
    "epilog": "Other options that are like none of these, and all after --, are the script's own.",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quorate", description="Computes on data that parties do not show to each other."
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="a demonstration on this machine: scores secret records with secret models")
    demo.add_argument("--protocol", default=DEFAULT, help=listed(tuple(FAMILIES)))
    demo.add_argument("--plot", type=Path, default=Path("quorate-demo.png"), help="the file for the picture")
    _add_options(demo)

    _add_run(
        commands.add_parser(
            "run", help="runs all parties of a script on this machine, as separate processes over TLS", **_SCRIPT
        )
    )
    _add_party(commands.add_parser("party", help="runs one party of a deployment", **_SCRIPT))

    preprocess = commands.add_parser(
        "preprocess", help="makes the correlations of a script's runs ahead, for the parties' pools", **_SCRIPT
    )
    add_preprocess(preprocess)
    add_file_options(preprocess, one_party=True)
    _add_options(preprocess)

    add_pool(commands.add_parser("pool", help="what this party's pool has, and certificates that change"))

    keygen = commands.add_parser(
        "keygen", help="creates the TLS key and certificate of a party, and prints the fingerprint"
    )
    keygen.add_argument("--party", type=int, required=True, help="the party's number, from 0")
    keygen.add_argument("--dir", type=Path, required=True, help="folder for the two files")
    keygen.add_argument("--renew", action="store_true", help="make another pair beside the one that is there")

    add_audit(commands.add_parser("audit", help="verifies logs of reveals, and puts them aside"))

    doctor = commands.add_parser("doctor", help="looks at a deployment from one party, and says whose fault it is")
    add_doctor(doctor)
    _add_options(doctor)

    _add_explain(
        commands.add_parser("explain", help="prints the plan of a script and its cost; nothing is sent", **_SCRIPT)
    )
    _add_bench(
        commands.add_parser(
            "bench", help="measures the standard workloads, and prints published figures of other programs beside them"
        )
    )

    add_campaign(commands.add_parser("campaign", help="keys, campaigns and approvals, where clients give their data"))
    add_serve(commands.add_parser("serve", help="takes packets of clients and requests for jobs, at one party"))
    add_program(commands.add_parser("program", help="programs that this party's server runs on request"))
    add_operator(commands.add_parser("operator", help="people who sign in at the console of this party's server"))
    add_job(commands.add_parser("job", help="asks the servers of a deployment for runs of approved programs"))
    add_kept(commands.add_parser("kept", help="values that sessions have kept at this party"))

    commands.add_parser("models", help="lists what qr.models.from_sklearn, from_onnx and from_tflite support")
    commands.add_parser("protocols", help="lists the protocols, their numbers of parties, and their options")

    completion = commands.add_parser("completion", help="prints a script for shell completion")
    completion.add_argument("shell", choices=SHELLS, help="as in: quorate completion bash > ~/.quorate-completion")
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("script", type=Path)
    run.add_argument("--protocol", default=DEFAULT, help=listed(tuple(FAMILIES)))
    run.add_argument("--parties", type=int, default=None, help=_parties())
    run.add_argument("--network", default=None, help="lan, wan or RTT_MS,MBIT: simulated, in one process")

    add_file_options(run, one_party=False)
    _add_options(run)


def _add_party(party: argparse.ArgumentParser) -> None:
    party.add_argument("script", type=Path)
    party.add_argument("--config", type=Path, required=True, help="this party's party.toml")

    party.add_argument(
        "--session",
        metavar="NAME",
        default=None,
        help="the session to open, by the same name at all parties (default: the script's name, and its options)",
    )
    party.add_argument(
        "--approve",
        metavar="HASH",
        action="append",
        default=None,
        help="refuse all other runs than these: hashes that `quorate explain` prints, separated by commas",
    )
    party.add_argument(
        "--audit",
        metavar="FILE",
        default=None,
        help="log reveals, with recipients and times, to this file, as JSON lines",
    )
    party.add_argument(
        "--pool", metavar="DIR", default=None, help="take correlations from this folder of `quorate preprocess`"
    )

    add_file_options(party, one_party=True)
    _add_options(party)


def _add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("script", type=Path)
    explain.add_argument("--protocol", default=DEFAULT, help=listed(tuple(FAMILIES)))
    explain.add_argument("--parties", type=int, default=None)
    explain.add_argument("--config", type=Path, default=None, help="a party.toml, whose store has kept values")
    explain.add_argument(
        "--network", default="lan", help="lan, wan or RTT_MS,MBIT: the network for the predicted seconds"
    )
    explain.add_argument("--plot", type=Path, default=None, help="also draw it: FILE.png, .svg, .pdf or .html")
    explain.add_argument("--json", action="store_true", help="print the plans as JSON, and nothing else")
    explain.add_argument("--correlations", action="store_true", help="also list correlations by kind and by line")

    add_file_options(explain, one_party=False)
    _add_options(explain)


def _add_bench(bench: argparse.ArgumentParser) -> None:
    bench.add_argument("names", nargs="*", metavar="NAME", help="workloads to measure; all if none is named")
    bench.add_argument("--protocol", default=DEFAULT, help=f"{', '.join(FAMILIES)}, or ot: oblivious transfers")
    bench.add_argument(
        "--parties",
        type=_numbers,
        default=(),
        help="numbers of parties, as in 2,3,4 (default: those that the protocol is tested with)",
    )
    bench.add_argument(
        "--links",
        type=_names,
        default=(),
        help="some of memory, tls, lan, wan and RTT_MS/MBIT, as in memory,70/100 (default: memory,tls)",
    )
    bench.add_argument("--rings", type=_numbers, default=(), help="bits of the rings, as in 32,64")
    bench.add_argument(
        "--batches", type=_numbers, default=(), help="batches, instead of the usual ones, as in 100,5000"
    )
    _add_choices(bench)
    bench.add_argument("--json", type=Path, default=None, help="also write the rows as JSON")
    bench.add_argument("--plot", type=Path, default=None, help="also draw the rows, to this file")


def _parties() -> str:
    return ", ".join(f"{family.takes} for {name}" for name, family in FAMILIES.items())


def _add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of a session; only those that are given are passed on to the script's session."""
    absent = argparse.SUPPRESS
    command.add_argument(
        "--strict", action="store_true", default=absent, help="refuse programs whose values may leave their dtype"
    )
    command.add_argument(
        "--threads",
        metavar="N",
        default=absent,
        help="threads on which a party computes (default: the cores, at most 8)",
    )
    command.add_argument(
        "--max-memory",
        metavar="BYTES",
        default=absent,
        help='memory that a party may use, such as "4GB" (default: the free memory)',
    )
    command.add_argument("--trunc", default=absent, help="exact or probabilistic: how products are rounded")
    command.add_argument("--sharings", default=absent, help='auto, or some of A, B and Y as in "A+Y"')
    command.add_argument(
        "--offline-weight",
        metavar="W",
        default=absent,
        help="weight of a second of the offline phase relative to one online",
    )
    _add_choices(command)


def _add_choices(command: argparse.ArgumentParser) -> None:
    """Adds the options that only some families have."""
    absent = argparse.SUPPRESS
    for option in choices().values():
        families = listed(tuple(name for name, family in FAMILIES.items() if option in family.options), "and")
        text = f"{option.listed}, with {families}: {option.help}".replace("%", "%%")
        flag = f"--{option.name.replace('_', '-')}"
        if option.is_switch:
            command.add_argument(flag, action="store_true", default=absent, help=text)
        else:
            command.add_argument(flag, default=absent, help=text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    numbers = tuple(int(number) for number in text.split(","))
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("numbers from 1 on, as in 2,3,4")
    return numbers


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in OPTIONS if hasattr(options, name)}


def _as_arguments(chosen: dict[str, Any]) -> list[str]:
    """Returns session options as arguments for another `quorate` process."""
    flags = [f"--{name.replace('_', '-')}" for name, value in chosen.items() if value is True]
    valued = [(f"--{name.replace('_', '-')}", str(value)) for name, value in chosen.items() if value is not True]
    return [*flags, *(part for pair in valued for part in pair)]


def _version() -> str:
    from quorate._command import _build_remarks
    from quorate._quorate import __version__

    return "; ".join([f"quorate {__version__}", *_build_remarks.remarks()])


def _options(given: list[str]) -> argparse.Namespace:
    """Parses the command's options; all other arguments are passed on to the script, in order."""
    end = given.index("--") if "--" in given else len(given)
    parser = _parser()
    options, others = parser.parse_known_args(_switched(given[:end]))
    options.arguments = others + given[end + 1 :]
    if options.arguments and options.command not in ("run", "party", "explain", "preprocess"):
        parser.error(f"unrecognized arguments: {' '.join(options.arguments)}")
    for other in others:
        if meant := _meant(other, options):
            parser.error(f"{other}: {meant}; what is the script's own goes after --")
    return options


def _switched(given: list[str]) -> list[str]:
    """Replaces `--malicious yes` and `--malicious=yes` by `--malicious`, and removes it where it is `no`.

    >>> _switched(["bench", "mul", "--malicious", "yes"]), _switched(["demo", "--malicious", "--malicious=no"])
    (['bench', 'mul', '--malicious'], ['demo'])
    """
    switches = [f"--{option.name.replace('_', '-')}" for option in choices().values() if option.is_switch]
    found: list[str] = []
    for argument in given:
        flag, _, value = argument.partition("=")
        if argument in ("yes", "no") and found[-1:] and found[-1] in switches:
            flag, value = found.pop(), argument
        if flag not in switches or value not in ("yes", "no"):
            found.append(argument)
        else:
            found = [other for other in found if other != flag] + [flag] * (value == "yes")
    return found


# The similarity from which an option counts as mistyped: --max-memroy does, --format for --form does not.
_ALIKE = 0.82


def _meant(argument: str, options: argparse.Namespace) -> str | None:
    """Returns a hint if an argument for the script looks like an option of the command; else None."""
    name = argument.lstrip("-").partition("=")[0].lower().replace("_", "-")
    if not argument.startswith("-") or len(name) < 3:
        return None
    if name in ("approve", "audit", "session", "pool"):
        return "this is for one party of a deployment: quorate party"
    if name in LOCAL:
        return f"this is no option of the command, but of local sessions in a script: qr.local({name}=...)"
    positional = {"script", "arguments", "command"}
    known = [other.replace("_", "-") for other in {*vars(options), *OPTIONS} - positional]
    close = difflib.get_close_matches(name, sorted(known), 1, _ALIKE)
    return f"did you mean --{close[0]}?" if close else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status.

    0: success; 1: another error; 2: bad arguments or configuration; 3: a peer was lost; 4: cheating was detected; 5: a
    peer ended the run; 130: Ctrl-C; 141: the output was closed by its reader; 143: ended by SIGTERM.
    """
    started_by = os.path.basename(sys.argv[0])
    options = _options(list(sys.argv[1:] if arguments is None else arguments))
    try:
        if options.command in ("party", "preprocess", "serve"):
            forbid_core_dumps()
            end_in_time(always=options.command == "serve")
        status = _COMMANDS[options.command](options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # as of `quorate explain SCRIPT | head`
        with contextlib.suppress(OSError, ValueError):  # the rest of the buffer would raise the error again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except QuorateError as error:
        print(f"quorate: {_without_line_of(started_by, str(error))}", file=sys.stderr)
        return exit_status(error)
    except KeyboardInterrupt:
        print("quorate: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Terminated:
        print("quorate: told to end (SIGTERM)", file=sys.stderr)
        return TERMINATED


def _without_line_of(command: str, message: str) -> str:
    """Removes the place of a call from a message if it is in the command itself, where users have no line."""
    return re.sub(rf" \(at {re.escape(command)}:\d+\)", "", message)


def _demo(options: argparse.Namespace) -> int:
    from quorate.demo import run_demo

    return FAILED if run_demo(options.protocol, options.plot, _chosen(options)) else OK


def _run(options: argparse.Namespace) -> int:
    from quorate._command import _launch

    if options.network is not None:
        return _launch.in_this_process(
            options.script,
            options.arguments,
            protocol=options.protocol,
            parties=options.parties,
            network=options.network,
            options=_chosen(options),
            **file_settings(options),
        )
    chosen, files = _as_arguments(_chosen(options)), file_settings(options)
    return _launch.as_processes(options.script, options.arguments, options.protocol, options.parties, chosen, files)


def _party(options: argparse.Namespace) -> int:
    from quorate._command import _launch

    return _launch.in_this_process(
        options.script,
        options.arguments,
        config=str(options.config),
        session=options.session,
        approve=options.approve,
        audit=options.audit,
        pool=options.pool,
        options=_chosen(options),
        **file_settings(options),
    )


def _explain(options: argparse.Namespace) -> int:
    from quorate._command import _build_remarks, _launch
    from quorate._command._explain import Book

    book = Book()
    # With --json, the script's own output goes to stderr, so that stdout holds the plan alone.
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        status = _launch.in_this_process(
            options.script,
            options.arguments,
            protocol=options.protocol,
            parties=options.parties,
            network=options.network,
            config=None if options.config is None else str(options.config),
            options=_chosen(options),
            explained=book,
            **file_settings(options),
        )
    if options.json:
        print(json.dumps([plan.as_dict() for plan in book.plans], indent=1))
    else:
        for number, plan in enumerate(book.plans, start=1):
            print(f"--- run {number} of {len(book.plans)} ---\n{plan}\n")
            if options.correlations and plan.correlations:
                print(f"{plan.correlation_table()}\n")
        if status == OK and book.plans:
            print(f"to approve all of it: --approve {','.join(plan.program for plan in book.plans)}")
        for remark in _build_remarks.remarks():
            print(remark, file=sys.stderr)
    if options.plot is not None and status == OK:
        from quorate._display._plots import draw_plans

        draw_plans(book.plans, options.plot)
        print(f"picture of the plan: {options.plot}", file=sys.stderr)
    return status


def _keygen(options: argparse.Namespace) -> int:
    print(keygen(options.dir, options.party, options.renew))
    return OK


def _preprocess(options: argparse.Namespace) -> int:
    return run_preprocess(options, _chosen(options))


def _doctor(options: argparse.Namespace) -> int:
    return run_doctor(options, _chosen(options))


def _bench(options: argparse.Namespace) -> int:
    from quorate._bench import _measurements as bench

    narrowed = {"rings": options.rings, "batches": options.batches}
    asked = bench.Asked(options.protocol, options.parties, options.links, _chosen(options), **narrowed)
    return bench.run(options.names, asked, options.json, options.plot)


def _models(_: argparse.Namespace) -> int:
    from quorate.models import listing, operators, quantised_operators

    print(f"{listing()}\n\n{operators()}\n\n{quantised_operators()}")
    return OK


def _protocols(_: argparse.Namespace) -> int:
    print(description())
    return OK


def _completion(options: argparse.Namespace) -> int:
    print(completion_script(_parser(), options.shell))
    return OK


_COMMANDS = {
    "demo": _demo,
    "run": _run,
    "party": _party,
    "preprocess": _preprocess,
    "keygen": _keygen,
    "audit": run_audit,
    "doctor": _doctor,
    "explain": _explain,
    "bench": _bench,
    "campaign": run_campaign,
    "serve": run_serve,
    "program": run_program,
    "operator": run_operator,
    "job": run_job,
    "pool": run_pool,
    "kept": run_kept,
    "models": _models,
    "protocols": _protocols,
    "completion": _completion,
}

if __name__ == "__main__":
    sys.exit(main())
