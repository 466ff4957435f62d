"""The commands of programs and jobs: what they lack is said, and operators see and change their own server's jobs."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from campaigning import Servers
from consoling import SUMS
from jobbing import listed_servers
from queueing import Office
from quorate import cli
from quorate._command._programs import parameters_of
from quorate.errors import ConfigError
from quorate.jobs import Queue
from quorate_client import ClientKey


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A server's files, whose store has one program and two jobs."""
    servers = Servers.of(tmp_path)
    file = servers.settings(0)
    servers.close()
    return str(file.with_name("party.toml"))


def office_of(config: str) -> Office:
    """Opens the store of a configuration with an approved program."""
    return Office(Path(config).parent)


def quorate(*arguments: str) -> int:
    return cli.main(list(arguments))


def test_commands_say_what_they_lack(config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, listed = tmp_path / "me.key", tmp_path / "servers.toml"
    ClientKey.generate().save(key)
    office = office_of(config)
    listed.write_bytes((office.folder / "servers-rss.toml").read_bytes())
    office.close()
    requester = ("--servers", str(listed), "--key", str(key))
    program = str(Path(config).parent / "sums.py")
    cases = [
        (("job", "list"), "give --servers and --key as a requester, or --config as an operator"),
        (("job", "run", program, *requester, "--within", "1w"), "--within 1w: write a number and a unit, as in 90s"),
        (("job", "run", program, *requester, "--set", "rows"), "--set rows: give each parameter once, as NAME=VALUE"),
        (("job", "run", "absent.py", *requester), "The program absent.py cannot be read: No such file"),
        (("job", "run", program, *requester, "--set", "x="), "parameter x must be an integer within 2^53"),
        (
            ("job", "schedule", program, *requester, "--every", "day 3:00"),
            'every: write "hour :15", "day 03:00", "week mon 03:00" or "month 1 03:00", in UTC',
        ),
        (
            ("job", "schedule", program, *requester, "--every", "month 31 03:00"),
            "every: not each month has a day 31: write a day from 1 to 28",
        ),
        (
            ("job", "schedule", program, *requester, "--every", "day 03:00", "--from", "2026-12-01"),
            "--from 2026-12-01: write a time in UTC, as in 2026-12-01T00:00:00Z",
        ),
        (("job", "show", "abc", *requester), "abc is no id of a job: it has 64 hexadecimal digits"),
        (("job", "send", "ab" * 32, *requester), "cannot be read: No such file"),
        (("job", "cancel", "ab" * 32, "--config", config), f"there is no job {'ab' * 32} here"),
        (("program", "revoke", "x", "--config", config), "x is no hash: copy one that `quorate program list` prints"),
        (("program", "revoke", "ab" * 32, "--config", config), "is approved here: `quorate program list` lists those"),
    ]
    for arguments, text in cases:
        assert quorate(*arguments) != 0
        assert text in capsys.readouterr().err, arguments
    assert not (tmp_path / "me.key.jobs").exists() or not list((tmp_path / "me.key.jobs").iterdir())


def test_operators_see_and_cancel_their_servers_jobs(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    office = office_of(config)
    job, runs = office.submit(), office.submit()
    office.queue.start(runs)
    office.close()
    assert quorate("job", "cancel", job.hex(), "--config", config) == 0
    assert capsys.readouterr().out == f"job {job.hex()} is cancelled\n"
    assert quorate("job", "cancel", runs.hex(), "--config", config) == 0
    assert capsys.readouterr().out == f"job {runs.hex()} is told to end\n"
    office.open()
    Queue(office.store, b"").ended(runs, "failed", "CheatingDetected", cheated=True)
    office.close()
    assert quorate("job", "list", "--config", config) == 0
    out = capsys.readouterr().out
    assert f"{runs.hex()}  failed (CheatingDetected)" in out and "find the cause, then `quorate job resume`" in out
    assert quorate("job", "resume", "--config", config) == 0
    assert quorate("job", "resume", "--config", config) == 0
    assert capsys.readouterr().out == "jobs run again\njobs were not halted here\n"
    assert quorate("program", "revoke", office.program, "--config", config) == 0
    assert quorate("program", "list", "--config", config) == 0
    out = capsys.readouterr().out
    assert "jobs that waited and are refused: 0" in out and "sums.py  revoked" in out and "1 of 12 used" in out


def test_operators_see_what_a_job_that_waits_will_reveal(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    office = office_of(config)
    office.program = office.approve(SUMS)
    job = office.submit(rows=7, region="south")
    other = office.approve(SUMS + "# again\n", runs='["' + "a" * 64 + '"]')
    not_allowed = office.submit(office.request(program=other))
    office.close()
    assert quorate("job", "show", job.hex(), "--config", config) == 0
    assert "--plan executes its program" in capsys.readouterr().out
    assert quorate("job", "show", job.hex(), "--config", config, "--plan") == 0
    out = capsys.readouterr().out
    for part in (f"{job.hex()}  queued", "requester: ", "parameter rows: 7", "parameter region: south", "(7,)"):
        assert part in out
    assert "all parties" in out and "the terms of sums.py allow these runs" in out
    assert quorate("job", "show", not_allowed.hex(), "--config", config, "--plan") == 0
    assert "the terms of sums.py DO NOT allow these runs" in capsys.readouterr().out
    assert quorate("job", "cancel", job.hex(), "--config", config) == 0
    capsys.readouterr()
    assert quorate("job", "show", job.hex(), "--config", config) == 0
    out = capsys.readouterr().out
    assert "cancelled" in out and "allow" not in out
    assert quorate("job", "show", "ab" * 32, "--config", config) == 2
    assert "`quorate job list` lists them" in capsys.readouterr().err
    assert quorate("job", "cancel", job.hex(), "--config", config) == 0  # it is cancelled already
    capsys.readouterr()
    assert quorate("audit", "acts", "--config", config) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    executed = [("executed for its plan", one.hex()) for one in (job, not_allowed)]
    assert [(line["act"], line["subject"]) for line in lines] == [*executed, ("cancelled", job.hex())]
    assert quorate("job", "show", job.hex(), "--plan") == 2
    assert "--plan is for operators" in capsys.readouterr().err


def test_a_program_is_executed_for_its_plan_alone_and_apart(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A look executes nothing, and a plan is made by a process that has no secret of this one's environment."""
    mark = Path(config).parent / "ran"
    code = f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()) + os.environ.get('QUORATE_TEST_SECRET', ''))\n"
    office = office_of(config)
    office.program = office.approve(code + SUMS)
    job = office.submit(rows=7, region="south")
    office.close()
    assert quorate("job", "show", job.hex(), "--config", config) == 0 and not mark.exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUORATE_TEST_SECRET", "secret")
        assert quorate("job", "show", job.hex(), "--config", config, "--plan") == 0
    assert mark.read_text().isdigit() and mark.read_text() != str(os.getpid())
    assert "the terms of sums.py allow these runs" in capsys.readouterr().out


def test_operators_see_and_cancel_their_servers_schedules(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    office = office_of(config)
    office.clock.now = time.time()
    asked = office.stands("day 03:00").hex()
    office.close()
    assert quorate("job", "list", "--config", config) == 0
    assert capsys.readouterr().out.startswith(f"{asked}  active every day 03:00, next 2")
    for _ in range(2):
        assert quorate("job", "cancel", asked, "--config", config) == 0
        assert capsys.readouterr().out == f"schedule {asked} is cancelled\n"


def test_parameters_are_integers_and_texts() -> None:
    given = ["a=5", "b=-5", 'c="5"', "d=north", "e=x=y", 'f="', "g=--5", "h=12345678901234567890"]
    found = parameters_of(given)
    assert found == {
        "a": 5, "b": -5, "c": "5", "d": "north", "e": "x=y", "f": '"', "g": "--5", "h": "12345678901234567890",
    }  # fmt: skip
    for wrong in (["a"], ["=5"], ["a=1", "a=2"]):
        with pytest.raises(ConfigError, match="give each parameter once"):
            parameters_of(wrong)


def test_approving_needs_the_list_of_servers(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    office = office_of(config)
    office.close()
    approval = str(office.folder / "sums.toml")
    assert quorate("program", "approve", approval, "--config", config) == 2
    assert "serve.toml has no [jobs]: name the list of servers there" in capsys.readouterr().err
    assert listed_servers("rss", []) == 'protocol = "rss"\n'
