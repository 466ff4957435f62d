"""The commands of `quorate job`: for requesters, who ask servers for runs, and for operators, at their own store.

Modules that need the extra `serve` are imported when a command runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._command._campaigns import client_errors, opened, require_client, require_serve, write_text
from quorate._command._exit_status import FAILED, OK, PEER_LOST
from quorate._command._programs import parameters_of
from quorate._command._schedules import Requester, is_job, line_of, lost, time_of
from quorate.errors import ConfigError

if TYPE_CHECKING:
    import sqlite3

    from quorate.campaigns import Settings, Store
    from quorate.jobs import Job, Queue, Schedules, Standing
    from quorate_client import JobResult

__all__ = ["add_job", "run_job"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def add_job(job: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate job`."""
    commands = job.add_subparsers(dest="job_command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="asks all servers for a run of a program, and prints its results")
    run.add_argument("program", help="the program's file, or its hash")
    _add_requester(run)
    run.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a parameter; may be given again")
    run.add_argument("--within", metavar="TIME", default="1h", help="when it has to start, as in 90s, 30m, 12h or 7d")
    run.add_argument("--no-wait", action="store_true", help="only ask, and print the job's id")
    run.add_argument("--out", type=Path, default=None, help="file for the results instead of the terminal")

    _add_schedule(commands.add_parser("schedule", help="asks all servers for runs of a program at fixed times"))
    for name, about in (
        ("send", "sends a kept request again to all servers, as the same bytes"),
        (
            "show",
            "prints a job's state at each server, and its results once it is done; or the jobs of a schedule; "
            "with --config, a job at this party's server",
        ),
        ("cancel", "cancels a job or a schedule at all servers; with --config, at this party's server alone"),
    ):
        one = commands.add_parser(name, help=about)
        one.add_argument("id", help="the id, which `run` or `schedule` printed")
        _add_requester(one, is_required=name == "send")
        if name != "send":
            _add_operator(one)
        if name == "show":
            what = "with --config: executes the program of a job that waits, to print what it will reveal and cost"
            one.add_argument("--plan", action="store_true", help=what)
    about = "lists a key's jobs and schedules at each server; with --config, all at this party's"
    listed = commands.add_parser("list", help=about)
    _add_requester(listed, is_required=False)
    _add_operator(listed)
    peers = commands.add_parser("peers", help="asks the other servers once what they are, for this party's operator")
    _add_operator(peers, is_required=True)
    resume = commands.add_parser("resume", help="lets this party's server run jobs again after cheating was detected")
    _add_operator(resume, is_required=True)


def _add_schedule(command: argparse.ArgumentParser) -> None:
    command.add_argument("program", help="the program's file, or its hash")
    _add_requester(command)
    command.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="as for `run`")
    command.add_argument(
        "--every",
        required=True,
        metavar="WHEN",
        help='the times in UTC: "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00"',
    )
    command.add_argument("--from", dest="since", metavar="TIME", help="the first, as in 2026-12-01T00:00:00Z; else now")
    command.add_argument("--until", metavar="TIME", help="no run starts from then on; else 366 days later, the most")


def _add_requester(command: argparse.ArgumentParser, is_required: bool = True) -> None:
    command.add_argument("--servers", type=Path, required=is_required, help="the list of servers, servers.toml")
    command.add_argument(
        "--key", type=Path, required=is_required, help="the requester's key, as `quorate campaign client-key` writes it"
    )


def _add_operator(command: argparse.ArgumentParser, is_required: bool = False) -> None:
    command.add_argument("--config", type=Path, required=is_required, help="this party's party.toml, for its operator")


def run_job(options: argparse.Namespace) -> int:
    """Runs a command of `quorate job`; returns 0 if it did what was asked, 1 after a refusal, 3 for a lost server."""
    if getattr(options, "config", None) is not None:
        require_serve()
        with client_errors():
            return _OPERATORS[options.job_command](options)
    require_client()
    from quorate_client import JobFailed, JobRefused, NoResult, NotStored, Refused, Unreachable

    if getattr(options, "plan", False):
        raise ConfigError("--plan is for operators, who execute the program at their own server: give --config, too")
    if options.servers is None or options.key is None:
        raise ConfigError("give --servers and --key as a requester, or --config as an operator")
    with client_errors():
        try:
            return _REQUESTERS[options.job_command](options, Requester.of(options.servers, options.key))
        except (JobFailed, JobRefused, NoResult, Refused) as error:
            print(f"quorate: {error}", file=sys.stderr)
            return FAILED
        except (NotStored, Unreachable) as error:
            print(f"quorate: {error}", file=sys.stderr)
            return PEER_LOST


def _id(text: str) -> bytes:
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise ConfigError(f"{text} is no id of a job: it has 64 hexadecimal digits, as `quorate job run` prints it")
    return bytes.fromhex(text)


def _seconds(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text)
    if not found:
        raise ConfigError(f"--within {text}: write a number and a unit, as in 90s, 30m, 12h or 7d")
    return int(found[1]) * _UNITS[found[2]]


def _run(options: argparse.Namespace, by: Requester) -> int:
    if options.out is not None and not options.out.parent.is_dir():
        raise ConfigError(f"--out: there is no folder {options.out.parent}")
    jobs = by.jobs
    job = jobs.make(options.program, parameters_of(options.set), within_s=_seconds(options.within))
    if not options.no_wait:
        print(f"job {job.hex()}", file=sys.stderr)
    jobs.send(job)
    if options.no_wait:
        print(job.hex())
        return OK
    _show_result(jobs.wait(job, progress=True), jobs.servers, options.out)
    return OK


def _show_result(result: JobResult, servers: int, out: Path | None = None) -> None:
    """Prints results as JSON, and on the error output which of them not all servers state."""
    some = {name: stated for name, stated in result.stated.items() if len(stated) < servers}
    text = json.dumps({**result.values}, indent=1)
    if out is None:
        print(text)
    else:
        write_text(out, f"{text}\n")
    for name, stated in some.items():
        print(f"{name} is stated by server {', '.join(map(str, stated))} alone", file=sys.stderr)


def _schedule(options: argparse.Namespace, by: Requester) -> int:
    since, until = time_of("--from", options.since), time_of("--until", options.until)
    times = {"every": options.every, "since": since, "until": until}
    print(by.schedules.ask(options.program, parameters_of(options.set), **times).hex())
    return OK


def _send(options: argparse.Namespace, by: Requester) -> int:
    asked = _id(options.id)
    if by.schedules.is_kept(asked):
        by.schedules.send(asked)
        print("all servers have the standing request")
        return OK
    by.jobs.send(asked)
    print("all servers have the job")
    return OK


def _show(options: argparse.Namespace, by: Requester) -> int:
    from quorate_client import JobState
    from quorate_client.jobs import reason

    asked = _id(options.id)
    told = by.jobs.states(asked)
    if not is_job(told):
        return by.show(asked)
    for one in told:
        print(reason(one) if isinstance(one, JobState) else str(one), flush=True)
    if all(isinstance(one, JobState) and one.state == "done" for one in told):
        _show_result(by.jobs.result(asked), by.jobs.servers)
    return lost(told)


def _cancel(options: argparse.Namespace, by: Requester) -> int:
    from quorate_client import JobState
    from quorate_client.jobs import reason

    asked = _id(options.id)
    told = by.jobs.cancel(asked)
    if not is_job(told):
        return by.cancel(asked)
    for one in told:
        print(reason(one) if isinstance(one, JobState) else str(one))
    return lost(told)


def _list(_: argparse.Namespace, by: Requester) -> int:
    status = OK
    for server, listed in enumerate(by.jobs.listed()):
        if isinstance(listed, Exception):
            print(listed)
            status = PEER_LOST
            continue
        for one in listed:
            print(
                f"server {server}  {_line(one['job'].hex(), one['program'], one['state'], one['why'], one['changed'])}"
            )
    return max(status, by.list())


def _line(job: str, program: str, state: str, why: str, changed: int) -> str:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(changed))
    return f"{job}  {state}{f' ({why})' if why else ''} {when}  program {program[:16]}"


def _list_here(options: argparse.Namespace) -> int:
    now = time.time()
    with _queue(options) as (queue, schedules):
        for job in queue.all():
            print(_line(job.id.hex(), job.program.hex(), job.state, job.why, job.changed_at))
        for one in schedules.all():
            print(line_of(one.id.hex(), one.program.hex(), one.asked.every, one.state(now), one.next(now), one.until))
        if queue.is_halted():
            print("cheating was detected here, and no job runs: find the cause, then `quorate job resume`")
    return OK


def _show_here(options: argparse.Namespace) -> int:
    """Prints a job of this party's store; with --plan, executes the program of one that waits, without values."""
    from quorate.jobs import Queue
    from quorate_client.keys import to_text

    with opened(options) as (settings, store):
        job = Queue(store, b"").job(_id(options.id))
        if job is None:
            raise ConfigError(f"there is no job {options.id} here: `quorate job list` lists them")
        print(_line(job.id.hex(), job.program.hex(), job.state, job.why, job.changed_at))
        print(f"requester: {to_text(job.requester)}")
        for name, value in job.asked.parameters.items():
            print(f"parameter {name}: {value}")
        if job.state == "queued" and options.plan:
            _show_plan(settings, store, job)
        elif job.state == "queued":
            print("it waits: --plan executes its program without values, and prints what it will reveal and cost")
    return OK


def _show_plan(settings: Settings, store: Store, job: Job) -> None:
    """Executes the program of a job as the console does: in a process of its own, with limits and a record.

    Raises:
        Refused: the program is not approved any more, or there is no plan.
    """
    from quorate.auditing import act_here, record
    from quorate.console import Plans, seen
    from quorate.jobs import load

    program = store.read(lambda connection: load(connection, job.program, job.requester))
    act = act_here("executed for its plan", "job", program.name, job.id)
    plans = Plans(store, settings).make(
        program, job.asked.parameters, lambda: store.write(lambda connection: record(connection, act)).result()
    )
    for number, plan in enumerate(plans, start=1):
        lines = (seen(line) for line in plan.text.split("\n"))
        print(f"--- run {number} of {len(plans)} ---", *lines, "", sep="\n")
    runs = ",".join(plan.program for plan in plans)
    is_covered = program.terms.runs is None or runs in program.terms.runs
    print(f"the terms of {program.name} {'allow' if is_covered else 'DO NOT allow'} these runs")


def _cancel_here(options: argparse.Namespace) -> int:
    from quorate.auditing import act_here, record
    from quorate.jobs import Job, Queue, Schedules

    asked = _id(options.id)
    of_job, of_schedule = (act_here("cancelled", kind, "", asked) for kind in ("job", "schedule"))
    with opened(options) as (_, store):
        queue = Queue(store, b"")
        schedules = Schedules(store, queue)

        def cancel(connection: sqlite3.Connection) -> Job | Standing:
            before = connection.total_changes
            schedule = schedules.cancel_within(connection, asked)
            found = queue.cancel_within(connection, asked) if schedule is None else schedule
            if found is None:
                raise ConfigError(f"there is no job {options.id} here: `quorate job list` lists them")
            if connection.total_changes != before:  # else it had ended
                record(connection, of_job if schedule is None else of_schedule)
            return found

        found = store.write(cancel).result()
        if not isinstance(found, Job):
            print(f"schedule {options.id} is {found.state(time.time())}")
            return OK
        state = "is told to end" if found.state == "running" else f"is {found.state}"
        print(f"job {options.id} {state}")
    return OK


def _peers(options: argparse.Namespace) -> int:
    """Prints the states of the other servers; returns 0 if all are up, 3 if one is unreachable, 1 if one differs."""
    from quorate.campaigns import Settings
    from quorate.jobs import check_deployment
    from quorate.serve._peers import Peers
    from quorate_client import ServiceKey

    settings = Settings.read(options.config)
    key = ServiceKey.load(settings.service_key)
    listed, own = check_deployment(settings, key), (True, "accepts")
    states = Peers(listed, key, settings.me, settings.peer_timeout_s, lambda: own, lambda: None).look()
    for one in states:
        took = "" if one.round_trip_s is None else f"{1000 * one.round_trip_s:.0f} ms"
        print(f"server {one.server}  {one.state}  {one.detail or took}")
    if any(one.state in ("unreachable", "unknown") for one in states):
        return PEER_LOST
    return OK if all(one.state == "up" for one in states) else FAILED


def _resume(options: argparse.Namespace) -> int:
    from quorate.auditing import act_here, record
    from quorate.jobs import resume_within

    act = act_here("resumed", "jobs", "")

    def resume(connection: sqlite3.Connection) -> bool:
        is_resumed = resume_within(connection)
        if is_resumed:
            record(connection, act)
        return is_resumed

    with opened(options) as (_, store):
        print("jobs run again" if store.write(resume).result() else "jobs were not halted here")
    return OK


@contextlib.contextmanager
def _queue(options: argparse.Namespace) -> Iterator[tuple[Queue, Schedules]]:
    """Opens the jobs and schedules of a configuration's store. A server may use it at the same time."""
    from quorate.jobs import Queue, Schedules

    with opened(options) as (_, store):
        queue = Queue(store, b"")
        yield queue, Schedules(store, queue)


_REQUESTERS: dict[str, Any] = {
    "run": _run,
    "schedule": _schedule,
    "send": _send,
    "show": _show,
    "cancel": _cancel,
    "list": _list,
}
_OPERATORS: dict[str, Any] = {
    "list": _list_here,
    "show": _show_here,
    "cancel": _cancel_here,
    "peers": _peers,
    "resume": _resume,
}
