"""The commands `quorate serve` and `quorate campaign`: keys, campaigns and their approval at one party.

Modules that need the extra `serve` are imported when a command runs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate._command._campaign_summary import summary
from quorate._command._exit_status import INTERRUPTED, OK, exit_status
from quorate._session._signals import TERMINATED, Terminated
from quorate.clients import require_cryptography
from quorate.errors import ConfigError, QuorateError

if TYPE_CHECKING:
    import sqlite3

    from quorate.campaigns import Approved, Settings, Store
    from quorate.serve._run import Beside, Closing
    from quorate_client import Campaign

__all__ = [
    "add_campaign",
    "add_config",
    "add_serve",
    "client_errors",
    "opened",
    "require_client",
    "require_serve",
    "run_campaign",
    "run_serve",
    "write_text",
]

#: What `quorate campaign key` writes.
_KEY_FILES = ("service.key", "service.pub", "store.key", "tls.key", "tls.crt")


def add_serve(serve: argparse.ArgumentParser) -> None:
    """Adds the options of `quorate serve`."""
    add_config(serve)
    serve.add_argument(
        "--log", choices=("text", "json"), default="text", help="lines of text, or one JSON object a line"
    )
    serve.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info", help="the least that is logged"
    )


def add_campaign(campaign: argparse.ArgumentParser) -> None:
    """Adds the commands of `quorate campaign`."""
    commands = campaign.add_subparsers(dest="campaign_command", required=True, metavar="COMMAND")

    key = commands.add_parser("key", help="creates the keys of a server for clients, and prints the public ones")
    key.add_argument("--dir", type=Path, required=True, help="folder for the files")

    key.add_argument(
        "--host", action="append", default=[], help="a name or address in the TLS certificate; may be given again"
    )

    client = commands.add_parser("client-key", help="creates the key of a client, and prints the public one")
    client.add_argument("file", type=Path, help="the file to write")

    create = commands.add_parser("create", help="checks a campaign that a person wrote, and prints its hash")
    create.add_argument("file", type=Path, help="the campaign, in TOML")
    create.add_argument("--out", type=Path, required=True, help="file for the campaign that servers and clients get")
    create.add_argument(
        "--any-program", action="store_true", help="allow a campaign that does not name the hash of its program"
    )

    approve = commands.add_parser("approve", help="lets this party's server take packets of a campaign")
    approve.add_argument("file", type=Path, help="the campaign that `create` wrote")
    add_config(approve)
    approve.add_argument(
        "--invitations", type=Path, default=None, help="file for this server's part of each invitation"
    )

    propose = commands.add_parser("propose", help="has a campaign wait at the console for an operator")
    propose.add_argument("file", type=Path, help="the campaign that `create` wrote")
    add_config(propose)

    joined = commands.add_parser("invitations", help="joins the servers' parts of invitations into one text for each")
    joined.add_argument("files", type=Path, nargs="+", metavar="FILE", help="what each server's `approve` wrote")
    joined.add_argument(
        "--out", type=Path, required=True, help="a file for all texts, or a folder for one file an invitation"
    )

    add_config(commands.add_parser("list", help="lists the campaigns that are approved at this party"))
    for name, about in (
        ("close", "stops taking packets of a campaign, before its time"),
        ("resume", "lets programs read a campaign again after a server was caught cheating"),
        ("end", "erases the packets of a campaign for ever"),
        ("export", "prints a campaign and the headers of its packets, without their values, as JSON"),
    ):
        one = commands.add_parser(name, help=about)
        one.add_argument("name", help="the campaign's name, or its hash")
        add_config(one)
        if name == "export":
            one.add_argument("--out", type=Path, default=None, help="file to write instead of the terminal")


def add_config(command: argparse.ArgumentParser) -> None:
    """Adds the option that names this party's files."""
    command.add_argument(
        "--config", type=Path, required=True, help="this party's party.toml, beside serve.toml; or serve.toml"
    )


def require_client() -> None:
    """Checks that the modules are there which clients need.

    Raises:
        ConfigError: one is missing.
    """
    _require(*(["tomli"] if sys.version_info < (3, 11) else []))


def require_serve() -> None:
    """Checks that the modules are there which servers need.

    Raises:
        ConfigError: one is missing.
    """
    _require("fastapi", "uvicorn")
    require_client()


def _require(*modules: str) -> None:
    require_cryptography()
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    if lacking:
        raise ConfigError(
            f"this command needs {', '.join(lacking)}, from the extra `serve`: pip install cryptography fastapi uvicorn"
        )


@contextlib.contextmanager
def client_errors() -> Iterator[None]:
    """Turns errors of the client's library into configuration errors."""
    from quorate_client import ClientError

    try:
        yield
    except ClientError as error:
        text = str(error)
        raise ConfigError(text.rstrip(".")) from None


def run_serve(options: argparse.Namespace) -> int:
    """Runs `quorate serve` until it is told to end; returns the status for the signal that did."""
    _require("fastapi", "uvicorn")
    from quorate.serve._logs import begin, failed
    from quorate.serve._run import serve

    begin(options.log, options.log_level)
    try:
        with client_errors():
            return serve(options.config, _console)
    except (QuorateError, KeyboardInterrupt, Terminated) as error:
        if options.log == "text":
            raise
        failed(error)
        if isinstance(error, QuorateError):
            return exit_status(error)
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


def _console(beside: Beside) -> Closing:
    """Starts the console of a server.

    Raises:
        ConfigError: the library for pages is missing, or the console's settings cannot be used.
    """
    if importlib.util.find_spec("jinja2") is None:
        raise ConfigError("[console] in serve.toml needs jinja2: pip install jinja2")
    from quorate.console._run import begin

    return begin(beside)


def run_campaign(options: argparse.Namespace) -> int:
    """Runs a command of `quorate campaign`."""
    require_client()
    with client_errors():
        _COMMANDS[options.campaign_command](options)
    return OK


def _key(options: argparse.Namespace) -> None:
    import secrets

    from quorate.serve._certificates import self_signed
    from quorate_client import ServiceKey
    from quorate_client.keys import to_text, write_private

    _make_folder(options.dir)
    for name in _KEY_FILES:
        if (options.dir / name).exists():
            raise ConfigError(f"{options.dir / name} exists, and keys are not overwritten: name another folder")
    key = ServiceKey.generate()
    certificate, pin, private = self_signed(options.host)
    public = json.dumps({"certificate": to_text(pin), "seal": to_text(key.seal), "sign": to_text(key.sign)})
    key.save(options.dir / "service.key")
    write_private(options.dir / "store.key", secrets.token_bytes(32))
    write_private(options.dir / "tls.key", private)
    write_text(options.dir / "tls.crt", certificate.decode("ascii"))
    write_text(options.dir / "service.pub", f"{public}\n")
    print(public)


def _client_key(options: argparse.Namespace) -> None:
    from quorate_client import new_key
    from quorate_client.keys import to_text

    print(to_text(new_key(options.file).id))


def _create(options: argparse.Namespace) -> None:
    from quorate_client import Campaign

    campaign = Campaign.from_toml(options.file)
    if not campaign.program and not options.any_program:
        raise ConfigError(
            f"{options.file}: the campaign does not name a program, so servers may run any on its packets: set "
            "`program` to the hash that `quorate explain` prints, or give --any-program"
        )
    _check_new(options.out, "a campaign is not changed once it was handed out")
    write_text(options.out, campaign.json.decode("ascii"))
    print(campaign.hash.hex())


def _approve(options: argparse.Namespace) -> None:
    from quorate._command._invitations import of_server
    from quorate.auditing import act_here, record
    from quorate.campaigns import approve_within, invitations
    from quorate_client import Campaign, ServiceKey
    from quorate_client.keys import write_private

    campaign = Campaign.from_file(options.file)
    if options.invitations is not None:
        if not campaign.invitations:
            raise ConfigError(f"the campaign {campaign.name} lists its clients: leave --invitations out")
        _check_new(options.invitations, "files of secrets are not overwritten")
    with opened(options) as (settings, store):
        _compare(campaign, settings)
        print(summary(campaign), flush=True)
        key = ServiceKey.load(settings.service_key)
        act = act_here("approved", "campaign", campaign.name, campaign.hash)

        def approve(connection: sqlite3.Connection) -> None:
            if approve_within(store, connection, campaign, settings.me, key, int(time.time())):
                record(connection, act)

        store.write(approve).result()
        if options.invitations is not None:
            text = of_server(campaign, settings.me, invitations(store, campaign))
            write_private(options.invitations, text.encode())


def _propose(options: argparse.Namespace) -> None:
    from quorate.console import propose_campaign
    from quorate_client import Campaign

    campaign = Campaign.from_file(options.file)
    with opened(options) as (settings, store):
        _compare(campaign, settings)
        made = propose_campaign(store, campaign)
    print(f"campaign {campaign.name} waits at the console\n  hash: {campaign.hash.hex()}\n  proposal: {made.id.hex()}")


def _invitations(options: argparse.Namespace) -> None:
    from quorate._command._invitations import joined
    from quorate_client.keys import write_private

    texts = joined(options.files)
    if not options.out.is_dir():
        _check_new(options.out, "files of secrets are not overwritten")
        write_private(options.out, "".join(f"{text}\n" for text in texts).encode())
        return
    digits = len(str(len(texts) - 1))
    files = [options.out / f"invitation-{place:0{digits}}.txt" for place in range(len(texts))]
    for file in files:
        _check_new(file, "files of secrets are not overwritten")
    for file, text in zip(files, texts, strict=True):
        write_private(file, f"{text}\n".encode())


def _compare(campaign: Campaign, settings: Settings) -> None:
    """Compares a campaign with this party.

    Raises:
        ConfigError: it has another protocol, or another certificate for this server.
    """
    from quorate.campaigns import certificate_hash

    if campaign.protocol != settings.protocol:
        raise ConfigError(f"the campaign is for {campaign.protocol}, and this party runs {settings.protocol}")
    certificate = certificate_hash(settings.certificate)
    if settings.me >= len(campaign.servers) or campaign.servers[settings.me].certificate != certificate:
        from quorate_client.keys import to_text

        raise ConfigError(
            f"the campaign does not have this server's certificate at place {settings.me}: its `certificate` must be "
            f"{to_text(certificate)}"
        )


def _list(options: argparse.Namespace) -> None:
    from quorate.campaigns import approved

    with opened(options) as (_, store):
        for one in approved(store):
            print(_line(one))


def _line(one: Approved) -> str:
    campaign = one.campaign
    return (
        f"{campaign.name}  {one.state(time.time())}  closes {campaign.closes}  packets {one.packets}  "
        f"looks {one.history.looks} of {campaign.again + 1}  {campaign.hash.hex()}"
    )


def _close(options: argparse.Namespace) -> None:
    from quorate.auditing import act_here, record
    from quorate.campaigns import close_within, find

    with opened(options) as (_, store):
        campaign = find(store, options.name).campaign
        act = act_here("closed", "campaign", campaign.name, campaign.hash)

        def close(connection: sqlite3.Connection) -> None:
            if close_within(connection, campaign.hash, int(time.time())):
                record(connection, act)

        store.write(close).result()
        print(_line(find(store, options.name)))


def _resume(options: argparse.Namespace) -> None:
    from quorate.auditing import act_here, record
    from quorate.campaigns import find, resume_within

    with opened(options) as (_, store):
        campaign = find(store, options.name).campaign
        act = act_here("resumed", "campaign", campaign.name, campaign.hash)

        def resume(connection: sqlite3.Connection) -> bool:
            is_resumed = resume_within(connection, campaign.hash)
            if is_resumed:
                record(connection, act)
            return is_resumed

        if not store.write(resume).result():
            print("no server was caught: nothing to resume", file=sys.stderr)
        print(_line(find(store, options.name)))


def _end(options: argparse.Namespace) -> None:
    from quorate.auditing import act_here, record
    from quorate.campaigns import end, find, find_hash

    with opened(options) as (_, store):
        found = find(store, options.name).campaign
        act = act_here("ended", "campaign", found.name, found.hash)
        end(store, found.hash, also=lambda connection: record(connection, act))
        print(_line(find_hash(store, found.hash)))


def _export(options: argparse.Namespace) -> None:
    from quorate.campaigns import exported, find

    with opened(options) as (_, store):
        text = json.dumps(exported(store, find(store, options.name)), indent=1)
    if options.out is None:
        print(text)
    else:
        write_text(options.out, f"{text}\n")


@contextlib.contextmanager
def opened(options: argparse.Namespace) -> Iterator[tuple[Settings, Store]]:
    """Opens the store of a configuration. A server may use it at the same time."""
    from quorate.campaigns import Settings, Store, read_store_key

    settings = Settings.read(options.config)
    store = Store(settings.store, read_store_key(settings.store_key), None)
    try:
        yield settings, store
    finally:
        store.close()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the folder {folder} cannot be made: {error.strerror}") from None


def _check_new(file: Path, why: str) -> None:
    """Checks that a file can be written, before anything is changed.

    Raises:
        ConfigError: it exists, or its folder does not.
    """
    if file.exists():
        raise ConfigError(f"{file} exists; {why}: name another file")
    if not file.parent.is_dir():
        raise ConfigError(f"{file} cannot be written: there is no folder {file.parent}")


def write_text(file: Path, text: str) -> None:
    """Writes a file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None


_COMMANDS: dict[str, Any] = {
    "key": _key,
    "client-key": _client_key,
    "create": _create,
    "approve": _approve,
    "propose": _propose,
    "invitations": _invitations,
    "list": _list,
    "close": _close,
    "resume": _resume,
    "end": _end,
    "export": _export,
}
