"""The `quorate` command: statuses, arguments, the demo, and scripts run by all parties at once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import quorate as qr
from protocols import Place, places
from quorate import cli
from quorate._command import _build_remarks
from quorate._command._exit_status import exit_status
from quorate._session._options import OPTIONS
from quorate.cli import _options
from warm import QUORATE, quorate

LIMIT_SECONDS = 90.0

PRODUCT = """
import sys, time
import quorate as qr
with qr.session() as mpc:
    x = mpc.input([2, 3] if mpc.me == 0 else None, owner=0, shape=(2,), dtype=qr.int(64), bound=9)
    print(mpc.me, sys.argv[1:], (x * x).reveal(), flush=True)
"""


def script(folder: Path, body: str = "") -> str:
    path = folder / "script.py"
    path.write_text(PRODUCT + body)
    return str(path)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (qr.CheatingDetected("a check failed"), 4), (qr.PeerLost("gone"), 3), (qr.PeerTimeout("silent"), 3),
        (qr.ConfigError("no such party"), 2), (qr.ProgramMismatch("differs"), 1), (qr.RangeError("too large"), 1),
        (qr.RunAborted("stopped"), 1), (qr.PeerEnded("stopped"), 5), (qr.SessionClosed("closed"), 1),
        (ValueError("a user's"), 1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_statuses(error: BaseException, status: int) -> None:
    assert exit_status(error) == status


@pytest.mark.parametrize(
    "arguments",
    [[], ["dance"], ["run"], ["party", "x.py"], ["keygen", "--dir", "."], ["keygen", "--party", "x", "--dir", "."],
     ["keygen", "--party", "-1", "--dir", "keys"], ["demo", "--nonsense"], ["models", "more"], ["run", "nowhere.py"],
     ["demo", "--protocol", "bgw"], ["explain", "nowhere.py"]],
    ids=str,
)  # fmt: skip
def test_bad_arguments(arguments: list[str], tmp_path: Path) -> None:
    done = quorate(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_version_and_models() -> None:
    assert quorate("--version").stdout.startswith(f"quorate {qr.__version__}")
    listed = quorate("models").stdout
    for name in ("DecisionTreeClassifier", "LinearSVC", "SVC", "LogisticRegression"):
        assert name in listed


@pytest.mark.parametrize("optimised", [True, False])
def test_a_build_for_trying_out_says_so_where_it_tells_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, optimised: bool
) -> None:
    monkeypatch.setattr(_build_remarks, "OPTIMISED", optimised)
    script = tmp_path / "script.py"
    script.write_text("import quorate as qr\nqr.session().input([1, 2], owner=0).sum().reveal()\n")
    demos = [] if optimised else [["demo"]]  # another test runs the demo without -O
    bench = ["bench", "chain", "--links", "memory", "--parties", "3"]
    for arguments in (["--version"], *demos, ["explain", str(script)], bench):
        monkeypatch.chdir(tmp_path)
        with contextlib.suppress(SystemExit):
            assert cli.main(arguments) == 0
        printed = "".join(capsys.readouterr())
        assert ("`make build` makes the fast one" in printed) is not optimised, (arguments, printed)


@pytest.mark.parametrize("options", [[], ["--protocol", "pika", "--malicious"]], ids=str)
def test_the_demo(tmp_path: Path, options: list[str]) -> None:
    done = quorate("demo", *options, "--plot", str(tmp_path / "new" / "run.png"))
    assert done.returncode == 0, done.stderr
    differing = [line.split()[-1] for line in done.stdout.splitlines() if "predictions that differ" in line]
    assert differing == ["0", "0"], done.stdout
    for word in ("tree", "SVM", "accuracy in the clear", "accuracy under MPC", "rounds", "megabytes", "offline"):
        assert word.lower() in done.stdout.lower(), word
    assert (tmp_path / "new" / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "run.png" in done.stdout


@pytest.mark.parametrize("options", [["--mac", "40"], ["--mac", "48"]], ids=str)
def test_errors_of_the_demo_name_no_line_of_the_command(options: list[str]) -> None:
    done = quorate("demo", "--protocol", "pika", "--malicious", *options)
    assert done.returncode in (1, 2) and "mac" in done.stderr and "(at " not in done.stderr, done


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_sessions_is_one_of_each_command(name: str) -> None:
    """Every command takes every option; none is refused with advice to write it."""
    flag = f"--{name.replace('_', '-')}"
    alone: dict[str, list[str]] = {"strict": [], "allow_weak": [], "malicious": []}
    values = {**alone, "offline_weight": ["0.5"], "sharings": ["A+Y"]}.get(name, ["1"])
    for command in (["demo"], ["run", "x.py"], ["party", "x.py", "--config", "p.toml"], ["explain", "x.py"]):
        options = _options([*command, flag, *values])
        assert options.arguments == [] and getattr(options, name) == (values[0] if values else True)


def test_options_of_the_planner_reach_the_demos_sessions(tmp_path: Path) -> None:
    done = quorate("demo", "--protocol", "aby", "--sharings", "A", "--offline-weight", "0.5", cwd=tmp_path)
    assert "predictions that differ  0" in done.stdout, done
    done = quorate("demo", "--protocol", "aby", "--offline-weight", "little")
    assert done.returncode == 2 and "offline_weight must be a number from 0" in done.stderr


@pytest.mark.parametrize(
    ("argument", "words"),
    [("--max-memroy=1GB", "did you mean --max-memory?"), ("--max_memory", "did you mean --max-memory?"),
     ("--thread", "did you mean --threads?"), ("-strict", "did you mean --strict?"),
     ("--inputs", "did you mean --input?"), ("--shadow", "qr.local(shadow=...)"), ("--seed", "qr.local(seed=...)")],
    ids=str,
)  # fmt: skip
def test_a_slip_does_not_go_to_the_script(
    tmp_path: Path, argument: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        _options(["run", script(tmp_path), argument, "1"])
    assert words in (said := capsys.readouterr().err) and "goes after --" in said
    assert _options(["run", "x.py", "--", argument]).arguments == [argument]


def test_other_options_are_the_scripts() -> None:
    own = ["--depth", "3", "--format", "csv", "-n", "4", "--model=x", "-1.5", "file.csv"]
    assert _options(["explain", "x.py", *own]).arguments == own


@pytest.mark.parametrize("place", places(), ids=str)
def test_run_starts_a_process_for_each(tmp_path: Path, place: Place) -> None:
    which = ["--protocol", place.protocol, "--parties", str(place.parties)]
    done = quorate("run", script(tmp_path), *which, "--depth", "3", "file.csv")
    assert done.returncode == 0, done.stderr
    wanted = {f"[party {i}] {i} ['--depth', '3', 'file.csv'] [4 9]" for i in range(place.parties)}
    assert set(done.stdout.splitlines()) == wanted


def test_what_follows_two_dashes_is_the_scripts(tmp_path: Path) -> None:
    done = quorate("run", script(tmp_path), "--", "--parties", "5", "--protocol")
    assert done.returncode == 0, done.stderr
    assert "[party 2] 2 ['--parties', '5', '--protocol'] [4 9]" in done.stdout
    assert len(done.stdout.splitlines()) == 3


def test_run_on_a_simulated_network_is_one_process(tmp_path: Path) -> None:
    done = quorate("run", script(tmp_path), "--network", "10,100", "--model", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "every party, 0 to 2 ['--model', 'x'] [4 9]\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--parties", "4"], "3, 5 or 7"), (["--protocol", "bgw"], "bgw"), (["--network", "dsl"], "dsl")],
    ids=str,
)
def test_run_refuses_what_cannot_be(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = quorate("run", script(tmp_path), *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_run_reports_a_failure(tmp_path: Path) -> None:
    done = quorate("run", script(tmp_path, "    if mpc.me == 1: raise KeyError('no such record')\n    x.reveal()\n"))
    assert done.returncode == 1
    assert "[party 1] KeyError: 'no such record'" in done.stdout
    assert "party 1" in done.stdout.replace("[party 1]", "")


def test_an_error_of_ours_is_one_line_with_the_users_place(tmp_path: Path) -> None:
    done = quorate("run", script(tmp_path, "    (x + [1, 2, 3]).reveal()\n"), "--network", "lan")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("quorate: script.py:7: ShapeError: operands could not be broadcast")


def test_ctrl_c_stops_every_process(tmp_path: Path) -> None:
    body = "    time.sleep(1000)\n"
    command = [QUORATE, "run", script(tmp_path, body)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert "[4 9]" in process.stdout.readline()
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 130
    assert time.monotonic() - pressed < 30
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_a_killed_party_ends_the_run(tmp_path: Path) -> None:
    body = (
        "    if mpc.me == 2:\n        import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n    (x + x).reveal()\n"
    )
    done = quorate("run", script(tmp_path, body))
    assert done.returncode in (1, 3)
    assert "party 2" in done.stdout.replace("[party 2]", "")
    assert "PeerLost" in done.stdout


@pytest.mark.parametrize("command", ["explain", "explain --json", "run", "run --network lan", "protocols"])
def test_whoever_reads_the_output_may_leave(command: str, tmp_path: Path) -> None:
    """As in `quorate explain SCRIPT | head -1`: it ends without a traceback."""
    (tmp_path / "prints.py").write_text(PRODUCT)
    arguments = [*command.split(), *([] if command == "protocols" else [str(tmp_path / "prints.py")])]
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(
        [QUORATE, *arguments], stdout=write, stderr=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS, check=False
    )
    os.close(write)
    assert "Traceback" not in ended.stderr and "BrokenPipe" not in ended.stderr, ended.stderr
    assert ended.returncode in ((0, cli.UNREAD) if command == "run" else (cli.UNREAD,)), ended
