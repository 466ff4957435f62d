"""Commands of the console, and `quorate serve` with one, as processes."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import pwd
import re
import ssl
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quorate.jobs
from campaigning import STORE_KEY, campaign_of
from deploying import free_ports
from jobbing import approval
from quorate._command import _campaigns
from quorate.auditing import Act, _acts, _checks, acts, check_of_acts, check_of_log
from quorate.campaigns import ConsoleSettings, Limits, Settings, Store, _schema, approved
from quorate.cli import main
from quorate.console import add_operator, operators
from quorate.console._run import begin
from quorate.errors import ConfigError
from quorate.serve._run import Beside
from quorate_client import ClientKey, ServiceKey
from serving import SOON, Served, as_process

PROGRAM = "def program(mpc):\n    return 1\n"


class Commands:
    """Commands in this process, at a server that does not run."""

    def __init__(self, folder: Path, output: pytest.CaptureFixture[str]) -> None:
        self.folder, self._output = folder, output
        self.server = server = Served(folder, 0, 1, Limits())
        console_of(folder, "")
        text = (folder / "serve.toml").read_text()
        own = server.settings
        for name, file in (("a", server.file), ("c", own.store), ("d", own.store_key), ("e", own.service_key)):
            text = text.replace(f'"{name}"', f'"{file}"')
        (folder / "serve.toml").write_text(text)

    def __call__(self, *arguments: str, status: int = 0) -> str:
        assert main([*arguments, "--config", str(self.folder / "party.toml")]) == status
        told = self._output.readouterr()
        return told.err if status else told.out


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path, capsys)


def test_operators_are_added_listed_and_removed(command: Commands) -> None:
    token = command("operator", "add", "ada").strip()
    assert re.fullmatch(r"qo_[A-Za-z0-9_-]{43}", token)
    listed = command("operator", "list")
    assert re.fullmatch(r"ada  added \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", listed)
    again = command("operator", "add", "ada", status=2)
    assert "remove that one first, or give this one another name" in again
    assert "take up to 64 letters" in command("operator", "add", "a b", status=2)
    assert command("operator", "remove", "ada") == "removed ada\n"
    gone = command("operator", "remove", "ada", status=2)
    assert "`quorate operator list` lists those that are" in gone
    assert command("operator", "list") == ""


# ---- the record of acts --------------------------------------------------------------------------------------------


def store_of(command: Commands) -> contextlib.closing[Store]:
    return contextlib.closing(Store(command.server.settings.store, STORE_KEY, None))


def verified(command: Commands, *heads: str, status: int = 0) -> str:
    """Verifies the acts, and returns what was printed."""
    words = [word for head in heads for word in ("--head", head)]
    assert main(["audit", "verify", "--acts", str(command.folder / "party.toml"), *words]) == status
    return command._output.readouterr().out


def changed(command: Commands, statement: str, *given: object) -> None:
    with store_of(command) as store:
        store.write(lambda c: c.execute(statement, given)).result()


def test_acts_at_a_shell_are_recorded_with_them(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")  # what anybody may set says nothing
    services = [ServiceKey.generate() for _ in range(3)]
    others = json.loads(campaign_of(services, 2).json)["servers"]
    made = campaign_of(services, 2, servers=[command.server.fields(""), *others[1:]])
    (command.folder / "pay.json").write_bytes(made.json)
    command("operator", "add", "ada")
    command("operator", "remove", "ada")
    command("operator", "remove", "ada", status=2)  # what fails is none
    command("campaign", "approve", str(command.folder / "pay.json"))
    command("campaign", "approve", str(command.folder / "pay.json"))  # it is approved already
    command("campaign", "resume", "salaries")  # it was not halted
    command("campaign", "close", "salaries")
    command("campaign", "close", "salaries")  # it is closed already
    command("campaign", "end", "salaries")
    command("campaign", "end", made.hash.hex())  # it has ended already
    with store_of(command) as store:
        assert store.write(lambda c: c.execute("INSERT INTO meta VALUES ('jobs halted', x'00')").rowcount).result()
    command("job", "resume")
    command("job", "resume")
    lines = [json.loads(line) for line in command("audit", "acts").splitlines()]
    told = [(line["act"], line["kind"], line["name"], line["subject"]) for line in lines]
    pay = ("campaign", "salaries", made.hash.hex())
    assert told == [
        ("added", "operator", "ada", ""),
        ("removed", "operator", "ada", ""),
        *((act, *pay) for act in ("approved", "closed", "ended")),
        ("resumed", "jobs", "", ""),
    ]
    assert {line["operator"].partition(",")[0] for line in lines} == {f"shell:{pwd.getpwuid(os.geteuid()).pw_name}"}
    assert "mallory" not in str(lines) and [line["sequence"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "6 lines, the last of which has number 6" in verified(command)
    (command.folder / "acts").write_text(command("audit", "acts"))
    assert main(["audit", "verify", str(command.folder / "acts")]) == 0, "lines are those of a log"


def test_a_program_is_approved_and_revoked_with_a_record(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = type("Listed", (), {"hash": b"x" * 32})()
    monkeypatch.setattr(quorate.jobs, "check_deployment", lambda *_: listed)
    file = approval(command.folder, PROGRAM, ClientKey.generate(), "one", more="")
    command("program", "approve", str(file))
    (hash_,) = re.findall("[0-9a-f]{64}", command("program", "list"))
    command("program", "revoke", hash_)
    command("program", "revoke", hash_, status=1)
    lines = [json.loads(line) for line in command("audit", "acts").splitlines()]
    assert [(line["act"], line["name"], line["subject"]) for line in lines] == [
        ("approved", "one.py", hash_),
        ("revoked", "one.py", hash_),
    ]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE acts SET line = replace(line, 'eve', 'bob') WHERE number = 2", "line 3 of .* does not follow"),
        ("DELETE FROM acts WHERE number = 2", "line 2 of .* does not follow"),
        ("DELETE FROM acts WHERE number <= 2", "line 1 of .* with a number, 3 instead of 1"),
        ("INSERT INTO acts VALUES (5, '{}')", "line 5 of .* has no number, and lines before it have one"),
        ("INSERT INTO acts SELECT -1, line FROM acts WHERE number = 2", "line 1 of .* a number, 2 instead of 1"),
        (f"INSERT INTO acts SELECT {-(2**63)}, line FROM acts WHERE number = 2", "line 1 of .*, 2 instead of 1"),
        ("UPDATE acts SET line = x'ff0a00' WHERE number = 2", "line 2 of .* has no number"),
        ("INSERT INTO acts SELECT 9, line FROM acts WHERE number = 2", "line 5 of .* does not follow"),
        ("DELETE FROM acts WHERE number = 4", "no line of .* has the head"),
        ("DELETE FROM acts", "no line of .* has the hash of another one"),
    ],
)
def test_acts_that_were_altered_are_found(statement: str, found: str, command: Commands) -> None:
    for name in ("ada", "eve", "joe", "kim"):
        command("operator", "add", name)
    head = re.findall("head ([0-9a-f]{64})", verified(command))[0]
    verified(command, head)
    changed(command, statement)
    assert re.search(found, verified(command, head, status=1))
    with store_of(command) as store:
        check_of_acts(store).verdict()
        assert len(acts(store)) >= 0  # no page breaks
    command("operator", "add", "zoe")  # it goes on, and the break stays
    assert verified(command, head, status=1)


def test_acts_up_to_a_noted_head_cannot_be_removed(command: Commands) -> None:
    for name in ("ada", "eve"):
        command("operator", "add", name)
    head = re.findall("head ([0-9a-f]{64})", verified(command))[0]
    command("operator", "add", "joe")
    verified(command, head)
    changed(command, "DELETE FROM acts WHERE number <= 2")
    assert "3 instead of 1: those before were removed" in verified(command, head, status=1)
    continued = """CAST('{"time": "2026-12-01T00:00:00Z", "event": "continued", "process": 1, "file": "x' """
    changed(command, f"UPDATE acts SET line = {continued} || substr(line, instr(line, '\", \"sequence')) AS BLOB)")
    assert "3 instead of 1" in verified(command, head, status=1)
    with store_of(command) as store:
        assert check_of_acts(store).verdict().is_whole is False


def test_a_server_without_acts_is_in_order(command: Commands) -> None:
    assert "nothing was verified" in verified(command)
    assert "nothing was verified" in verified(command, "0" * 64, status=1), "a head was noted, so there were some"


def test_a_system_that_names_nobody_refuses_no_act(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    """An urgent act must not fail, or hold up other changes, because of the record's name."""

    def lookup(_: int) -> object:
        with store_of(command) as store:  # it would fail within the transaction of the act
            store._writing.execute("PRAGMA busy_timeout = 0")
            store._writing.execute("BEGIN IMMEDIATE")
        raise OSError("the directory of users is away")

    monkeypatch.setattr(pwd, "getpwuid", lookup)
    login = command.folder / "loginuid"
    login.write_text("nobody")
    for file in (login, command.folder):
        monkeypatch.setattr(_acts, "_LOGIN", file)
        command("operator", "add", "ada")
        command("operator", "remove", "ada")
    lines = [json.loads(line) for line in command("audit", "acts").splitlines()]
    assert {line["operator"] for line in lines} == {f"shell:{os.geteuid()}"} and len(lines) == 4


def test_a_log_that_fails_otherwise_has_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Path) -> Iterator[Any]:
        raise PermissionError(13, "A-SECRET")

    monkeypatch.setattr(_checks, "read", failing)
    told = check_of_log(tmp_path / "no" / "log").verdict()
    assert told == (False, "it could not be verified: PermissionError")


def test_verify_takes_files_or_acts(command: Commands, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["x", "--acts", str(command.folder / "party.toml")]):
        assert main(["audit", "verify", *words]) == 2
        assert "either the log's files, or --acts with the party.toml of a server" in capsys.readouterr().err


def test_acts_of_an_older_release_are_kept_before_the_chain(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_schema, "_STEPS", (steps := _schema._STEPS)[:7])
    monkeypatch.setattr(_schema, "VERSION", 7)
    row = (1_764_547_200, "ada", "approved", "program", 'a "b"\u202e.py', b"\xab\x01")
    changed(command, "INSERT INTO acts (at, operator, act, kind, name, subject) VALUES (?, ?, ?, ?, ?, ?)", *row)
    monkeypatch.setattr(_schema, "_STEPS", steps)
    monkeypatch.setattr(_schema, "VERSION", len(steps))
    command("operator", "add", "eve")
    with store_of(command) as store:
        after, before = acts(store)
        assert before == Act(*row) and (after.act, after.name) == ("added", "eve")
    out = verified(command)
    assert "line 1 of the acts of store.db has no number" in out.replace(f"{command.folder}/", "") and "\nhead" in out
    changed(command, "UPDATE acts SET line = replace(line, 'ada', 'bob') WHERE number = 1")
    assert "does not follow" in verified(command, status=1), "the first line with a number covers it"


def test_programs_are_proposed_and_not_approved(command: Commands) -> None:
    file = approval(command.folder, PROGRAM, ClientKey.generate(), "one", more="")
    told = command("program", "propose", str(file))
    assert re.fullmatch(r"program one.py waits at the console\n  hash: [0-9a-f]{64}\n  proposal: [0-9a-f]{64}\n", told)
    assert command("program", "list") == ""
    (command.folder / "one.py").write_bytes(b"# coding: latin-1\n" + PROGRAM.encode())
    assert "save it as UTF-8" in command("program", "propose", str(file), status=2)
    (command.folder / "one.py").write_bytes(PROGRAM.encode() + b"#" * 300_000)
    assert "approve it by `quorate program approve`" in command("program", "propose", str(file), status=2)


def test_campaigns_are_proposed_if_they_fit(command: Commands) -> None:
    file = command.folder / "pay.json"
    file.write_bytes(campaign_of([ServiceKey.generate() for _ in range(3)], 2).json)
    assert "does not have this server's certificate" in command("campaign", "propose", str(file), status=2)
    services = [ServiceKey.generate() for _ in range(3)]
    others = json.loads(campaign_of(services, 2).json)["servers"]
    file.write_bytes(campaign_of(services, 2, servers=[command.server.fields(""), *others[1:]]).json)
    assert "campaign salaries waits at the console" in command("campaign", "propose", str(file))
    assert command("campaign", "list") == ""


def console_of(folder: Path, text: str) -> ConsoleSettings | None:
    """Reads a `serve.toml` with these lines after the others."""
    files = {"certificate": "a", "key": "b", "store": "c", "store_key": "d", "service_key": "e"}
    lines = ['listen = "127.0.0.1:1"', *(f'{name} = "{file}"' for name, file in files.items())]
    (folder / "serve.toml").write_text("\n".join([*lines, text]))
    (folder / "party.toml").write_text('me = 0\nprotocol = "rss"\naudit = "log"\n[[party]]\nname = "x"\n')
    settings = Settings.read(folder / "party.toml")
    assert settings.audit == folder / "log"
    return settings.console


def test_settings_of_the_console(tmp_path: Path) -> None:
    assert console_of(tmp_path, "") is None, "it is off unless it is asked for"
    own = console_of(tmp_path, '[console]\nlisten = "127.0.0.1:9600"\nnames = ["One.localhost", "[::2]"]')
    assert own == ConsoleSettings("127.0.0.1", 9600, ("one.localhost", "[::2]"), tmp_path / "a", tmp_path / "b")
    own = console_of(tmp_path, '[console]\nlisten = "[::1]:9600"\ncertificate = "x"\nkey = "y"')
    assert own == ConsoleSettings("::1", 9600, (), tmp_path / "x", tmp_path / "y")
    for text, what in (
        ("", "`console.listen` is missing"),
        ("listen = 9600", "`console.listen` must be a text"),
        ('listen = "9600"', "`console.listen` must be HOST:PORT"),
        ('listen = "x:1"\nnames = "one"', "must be a list of names of hosts, without ports"),
        ('listen = "x:1"\nnames = ["one:9600"]', "must be a list of names of hosts, without ports"),
        ('listen = "x:1"\nnames = ["https://one"]', "must be a list of names of hosts, without ports"),
        ('listen = "x:1"\ncertificate = "x"', "go together: name both, or neither"),
        ('listen = "x:1"\nport = 1', "there is no key `console.port`"),
    ):
        with pytest.raises(ConfigError, match=re.escape(what)):
            console_of(tmp_path, f"[console]\n{text}")


def test_a_console_needs_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jinja2" else found(name))
    with pytest.raises(ConfigError, match="needs jinja2: pip install jinja2"):
        _campaigns._console(None)  # type: ignore[arg-type]


def test_a_console_needs_its_table(tmp_path: Path) -> None:
    """`Serving` starts none without it; who starts one by hand is told."""
    settings = Served(tmp_path, 0, 1, Limits()).settings
    beside = Beside(settings, ServiceKey.generate(), None, None, lambda: True, list)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"serve.toml has no \[console\]: state where it listens"):
        begin(beside)


def test_a_server_serves_a_console_and_ends_in_time(tmp_path: Path) -> None:
    """Also while a browser holds a connection open."""
    server = Served(tmp_path, 0, free_ports(1)[0], Limits())
    with contextlib.closing(Store(server.settings.store, STORE_KEY, None)) as store:
        assert not approved(store) and not operators(store)
    with as_process(server, "--log", "json", more='[console]\nlisten = "127.0.0.1:0"\n') as process:
        log = (tmp_path / "log").read_text()
        lines = [json.loads(line) for line in log.splitlines()]
        (port,) = [line["port"] for line in lines if line["event"] == "console.started"]
        with contextlib.closing(Store(server.settings.store, STORE_KEY, None)) as store:
            token = add_operator(store, "ada")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        browser = http.client.HTTPSConnection("127.0.0.1", port, timeout=SOON, context=context)
        kind = {"Origin": f"https://127.0.0.1:{port}", "Content-Type": "application/x-www-form-urlencoded"}
        browser.request("POST", "/sign-in", urllib.parse.urlencode({"name": "ada", "token": token}), kind)
        answer = browser.getresponse()
        assert answer.status == 303 and answer.read() == b""
        cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        browser.request("GET", "/", headers={"Cookie": cookie})
        assert b"<h1>Overview</h1>" in browser.getresponse().read()
        process.terminate()
        assert process.wait(SOON) == 143
        log = (tmp_path / "log").read_text()
        assert '"event": "console.act"' in log and token not in log and cookie.partition("=")[2] not in log


def test_two_servers_cannot_have_one_address(tmp_path: Path) -> None:
    server = Served(tmp_path, 0, free_ports(1)[0], Limits())
    own = f'[console]\nlisten = "127.0.0.1:{server.port}"\n'
    with pytest.raises(AssertionError, match=r"cannot listen on 127\.0\.0\.1"), as_process(server, more=own):
        pass
