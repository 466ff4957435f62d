"""`quorate audit`: chains of logs that are whole, altered, cut off and put aside, also while sessions append."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from deploying import Deployment
from quorate import cli
from quorate._command import _audit
from quorate.auditing import Verdict, _checks, _files, check_of_log
from quorate.errors import ConfigError

ZEROS = "0" * 64


def digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def chained(count: int, number: int = 1, head: str = ZEROS) -> list[str]:
    """Lines of a log, as the format describes them."""
    lines = []
    for place in range(number, number + count):
        lines.append(f'{{"event": "begun", "run": {place}, "sequence": {place}, "previous": "{head}"}}')
        head = digest(lines[-1])
    return lines


def write(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def verdict(file: Path) -> Verdict:
    return check_of_log(file).verdict()


def verify(*words: object) -> int:
    return cli.main(["audit", "verify", *map(str, words)])


def test_a_whole_chain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = chained(7)
    first, second = write(tmp_path / "1", lines[:4]), write(tmp_path / "2", lines[4:])
    assert verify(first, second) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "7 lines, the last of which has number 7: each follows the one before it"
    assert out[1] == f"head {digest(lines[6])}" and "note the head elsewhere" in out[2]
    for head in (digest(lines[6]), digest(lines[2]).upper()):
        assert verify(first, second, "--head", head) == 0  # the log has grown since
        assert "note" not in capsys.readouterr().out
    assert verify(second, "--head", digest(lines[3])) == 0
    assert f"the first number is 5: an earlier file has the head {digest(lines[3])}" in capsys.readouterr().out
    assert verify(second, first) == 1
    assert "line 1 of" in capsys.readouterr().out


def test_a_log_whose_beginning_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = chained(7)
    log = write(tmp_path / "log", lines[4:])
    for heads in ([], ["--head", digest(lines[6])]):
        assert verify(log, *heads) == 1
        out = capsys.readouterr().out
        assert "the first number is 5" in out and "lines are missing before those of" in out and "\nhead" not in out
    assert verify(log, "--head", digest(lines[3]), "--head", digest(lines[6])) == 0
    assert verify(log, "--head", digest(lines[3]), "--head", digest("x")) == 1
    assert verdict(log).is_whole is False and "missing at the beginning" in verdict(log).text


def test_a_log_that_continues_another_needs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", chained(3))
    assert cli.main(["audit", "rotate", str(log)]) == 0
    aside, head = capsys.readouterr().out.splitlines()
    assert verify(aside, log) == 0 and verify(log, "--head", head.removeprefix("head ")) == 0
    capsys.readouterr()
    assert verify(log) == 1 and "the file that was put aside before it" in capsys.readouterr().out
    assert verdict(log).is_whole and "an earlier file has the lines before it" in verdict(log).text


def test_a_verdict_states_the_numbers_and_lines_without_one(tmp_path: Path) -> None:
    lines = chained(3)
    whole = verdict(write(tmp_path / "log", [*lines, '{"event": "begun"}']))
    assert whole.is_whole and "the first number is 1, the last number is 4; lines without a number: 1" in whole.text
    assert verdict(write(tmp_path / "log", [lines[0], lines[2]])).is_whole is False
    none = verdict(write(tmp_path / "log", ["{}"]))
    assert none.is_whole is None and "nothing was verified" in none.text and verify(tmp_path / "log") == 1
    with pytest.raises(ConfigError, match="cannot be read"):
        verdict(tmp_path / "none")


def test_a_long_log_is_verified_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page says how far it is, and shows the last verdict with its time; a change is found by the next one."""
    log, now = write(tmp_path / "log", chained(3000)), 100.0
    check = _checks.Check(
        log, lambda: _files.read(log), lambda: log.stat().st_size, lambda line: line.ends_at, lambda: now
    )
    begin, goes_on = threading.Event(), threading.Event()

    def waiting(*_: object) -> bool:
        begin.set()
        return not goes_on.wait(10)

    monkeypatch.setattr(check._over, "wait", waiting)
    monkeypatch.setattr(_checks, "_PATIENCE_S", 0.05)
    told = r"It is being verified, and [67]\d% of it has been read: look again later"
    assert re.fullmatch(told, check.verdict().text)
    assert check.verdict().is_whole is None and begin.is_set()
    running = check._running
    now = 101.0  # it took a second
    goes_on.set()
    assert running is not None
    running.join(10)
    first = check.verdict()
    assert first.is_whole and "3000 lines" in first.text and re.search(r"; as of \d{4}-.*Z$", first.text)
    write(log, [*chained(3000)[:2998], "{}", chained(3000)[2999]])
    assert check.verdict() == first, "it rests for nine times as long as it took"
    now = 110.5
    goes_on.clear()
    again = check.verdict()
    assert again.is_whole and re.search(r"as of .*Z; it is being verified again, and [67]\d% of it has", again.text)
    running = check._running
    goes_on.set()
    assert running is not None
    running.join(10)
    assert (ended := check.verdict()).is_whole is False and "line 3000 of" in ended.text


def test_lines_of_a_log_are_not_all_in_memory(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as file:
        head = ZEROS
        for number in range(1, 31):
            line = f'{{"what": "{"x" * (1 << 20)}", "sequence": {number}, "previous": "{head}"}}'
            file.write(f"{line}\n")
            head = digest(line)
    tracemalloc.start()
    try:
        check = check_of_log(log)
        while (told := check.verdict()).is_whole is None:
            pass
        assert told.is_whole and "30 lines" in told.text
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


ALTERED: list[tuple[Callable[[list[str]], object], str]] = [
    (lambda lines: lines.__setitem__(2, lines[2].replace('"run": 3', '"run": 8')), "line 4 of .* does not follow"),
    (lambda lines: lines.__setitem__(2, lines[2][:20]), "line 4 of .* does not follow"),
    (lambda lines: lines.pop(3), "line 4 of .* does not follow the line before it: .* removed or inserted"),
    (lambda lines: lines.insert(3, lines[3]), "line 5 of .* does not follow"),
    (lambda lines: lines.insert(3, "{}"), "line 5 of .* does not follow"),
    (lambda lines: lines.insert(0, "{}"), "line 2 of .* begins a chain of its own"),
    (lambda lines: lines.__setitem__(slice(1, 3), [lines[2], lines[1]]), "line 2 of .* does not follow"),
    (lambda lines: lines.extend(chained(2)), "line 7 of .* begins a chain of its own: lines before it may have been"),
    (lambda lines: lines.extend(chained(1, 9, digest(lines[-1]))), "line 7 of .* has the number 9 where 7 is due"),
    (lambda lines: lines.__setitem__(0, lines[0].replace(ZEROS, "1" * 64)), "line 1 of .* does not follow"),
]


@pytest.mark.parametrize(("alter", "said"), ALTERED, ids=range(len(ALTERED)))
def test_what_was_altered(
    alter: Callable[[list[str]], object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = chained(6)
    alter(lines)
    assert verify(write(tmp_path / "log", lines)) == 1
    out = capsys.readouterr().out
    assert re.search(said, out.splitlines()[-1]), out
    assert "head " not in out


def test_what_was_removed_at_the_end_is_found_by_a_noted_head_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = chained(6)
    log = write(tmp_path / "log", lines[:4])
    assert verify(log) == 0
    assert verify(log, "--head", digest(lines[5])) == 1
    assert "has the head" in capsys.readouterr().out
    rewritten = [line.replace('"begun"', '"other"') for line in chained(1)]
    log = write(tmp_path / "log", [*rewritten, *chained(5, 2, digest(rewritten[0]))])
    assert verify(log) == 0, "whoever may write the file can write another chain"
    assert verify(log, "--head", digest(lines[5])) == 1
    assert verify(write(tmp_path / "none", []), "--head", digest(lines[5])) == 1
    with pytest.raises(SystemExit):
        verify(log, "--head", "12")
    assert "64 hexadecimal digits" in capsys.readouterr().err


def test_lines_that_were_cut_off_and_those_of_older_releases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = ['{"event": "begun", "run": 1}', '{"event": "revealed", "run": 1}']
    cut = '{"event": "beg'
    lines = [*old, *chained(2, 1, digest(old[-1]))]
    lines += [cut, *chained(2, 4, digest(cut))]
    log = write(tmp_path / "log", lines)
    assert verify(log) == 0
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first == f"lines 1 to 2 of {log} have no number: an older release wrote them"
    assert second == f"line 5 of {log} was cut off: a crash, a full disk, or it is being written"
    assert rest[0].startswith("7 lines, the last of which has number 5")
    log.write_text(log.read_text() + '{"event"')
    assert verify(log) == 0
    assert f"line 8 of {log} was cut off" in capsys.readouterr().out
    assert verify(write(tmp_path / "old", old)) == 1
    assert "so nothing was verified" in capsys.readouterr().out
    assert verify(tmp_path / "missing") == 2
    assert "missing cannot be read: No such file" in capsys.readouterr().err


def test_a_line_may_be_longer_than_memory_should_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = ZEROS
    with (tmp_path / "log").open("w") as file:
        for number in range(1, 4):
            line = f'{{"what": "{"x" * 3_000_000}", "sequence": {number}, "previous": "{head}"}}'
            file.write(line + "\n")
            head = digest(line)
    assert verify(tmp_path / "log", "--head", head) == 0


def test_a_log_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log", chained(3))
    log.chmod(0o640)
    heads = []
    for _ in range(3):
        assert cli.main(["audit", "rotate", str(log)]) == 0
        aside, head = capsys.readouterr().out.splitlines()
        heads.append(head.removeprefix("head "))
        assert re.fullmatch(rf"{log}\.\d{{8}}T\d{{6}}Z(-\d)?", aside)
        (line,) = log.read_text().splitlines()
        assert json.loads(line)["event"] == "continued" and json.loads(line)["file"] == Path(aside).name
        assert log.stat().st_mode & 0o777 == 0o640
    aside = sorted(path for path in tmp_path.iterdir() if path != log)
    assert len(aside) == 3 and aside[0].read_text().splitlines() == chained(3)
    assert all(verify(*aside, log, "--head", head) == 0 for head in heads)
    assert verify(aside[0], log) == 1
    log.write_text("")
    assert cli.main(["audit", "rotate", str(log)]) == 2
    assert "is empty: there is nothing to put aside" in capsys.readouterr().err
    for words in ([], [str(log), "--config", "party.toml"]):
        assert cli.main(["audit", "rotate", *words]) == 2
        assert "name the log to put aside" in capsys.readouterr().err


def test_a_log_is_put_aside_by_its_owner_or_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log", chained(3))
    monkeypatch.setattr("os.geteuid", lambda: log.stat().st_uid + 1)
    assert cli.main(["audit", "rotate", str(log)]) == 2
    assert "put it aside as that user or as root" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["log"] and log.read_text().splitlines() == chained(3)


def test_what_a_killed_rotation_left_does_not_stop_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, both may have the same number."""
    log = write(tmp_path / "log", chained(3))
    (tmp_path / f".log.{os.getpid()}.new").write_text("")
    assert cli.main(["audit", "rotate", str(log)]) == 0

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.link", interrupted)
    before = sorted(os.listdir(tmp_path))
    with contextlib.suppress(KeyboardInterrupt):
        cli.main(["audit", "rotate", str(log)])
    assert sorted(os.listdir(tmp_path)) == before


def test_a_log_whose_lock_is_kept_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log", chained(3))
    monkeypatch.setattr(_files, "_PATIENCE_S", 0.05)
    with log.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for command in ("rotate", "verify"):
            assert cli.main(["audit", command, str(log)]) == 2
            assert f"a session keeps the lock of {log}" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["log"]


def test_logs_that_cannot_be_put_aside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = Deployment(tmp_path)
    assert cli.main(["audit", "rotate", "--config", str(deployment.config(1))]) == 2
    assert "party1.toml names no log of reveals: add `audit`, or name the log's file" in capsys.readouterr().err
    log = write(tmp_path / "log", chained(3))
    monkeypatch.setattr("os.path.samestat", lambda *_: False)
    assert cli.main(["audit", "rotate", str(log)]) == 2
    assert f"the log {log} was put aside by another program: try again" in capsys.readouterr().err
    assert log.read_text().splitlines() == chained(3)
    assert cli.main(["audit", "rotate", str(tmp_path / "missing")]) == 2
    assert "missing cannot be put aside: No such file" in capsys.readouterr().err


def test_sessions_append_while_their_log_is_put_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deployment = Deployment(tmp_path)
    script = deployment.script(
        """
        x = mpc.input([1, 2] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(32), bound=10)
        for turn in range(30):
            print((x * turn).sum().reveal(), flush=True)
            time.sleep(0.02)
        """
    )
    log = tmp_path / "audit.jsonl"
    try:
        for me in range(3):
            file = deployment.config(me)
            file.write_text((f'audit = "{log.name}"\n' if me == 1 else "") + file.read_text())
        names = ("one", "two")
        running = [
            deployment.start(me, script, "--session", name, config=tmp_path / f"party{me}.toml")
            for me in range(3)
            for name in names
        ]
        for party in running:
            party.wait_for("0\n")
        for _ in range(3):
            assert cli.main(["audit", "rotate", "--config", str(tmp_path / "party1.toml")]) == 0
        assert all(party.end().status == 0 for party in running)
    finally:
        deployment.stop()
    capsys.readouterr()
    files = [*sorted(tmp_path.glob("audit.jsonl.*")), log]
    assert len(files) == 4 and verify(*files) == 0, capsys.readouterr().out
    events = [json.loads(line)["event"] for file in files for line in file.read_text().splitlines()]
    assert {event: events.count(event) for event in events} == {"begun": 60, "revealed": 60, "continued": 3}
    assert f"{len(events)} lines, the last of which has number {len(events)}" in capsys.readouterr().out


def test_a_log_is_put_aside_once_it_is_larger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A timer may run it often: it fails only if it has to."""
    log = tmp_path / "log"

    def rotate(size: str) -> str:
        assert cli.main(["audit", "rotate", str(log), "--if-larger", size]) == 0
        return capsys.readouterr().out

    assert "stays" in rotate("100MB"), "no session has begun it"
    write(log, chained(3))
    size = log.stat().st_size
    for most in (f"{size}", f"{size}B", "1kB", "1kiB", "1T"):
        assert rotate(most).endswith(" and stays\n") and len([*tmp_path.iterdir()]) == 1
    aside, head = rotate(f"{size - 1}").splitlines()
    assert Path(aside).stat().st_size == size and head.startswith("head ")
    assert "stays" in rotate(f"{size}") and verify(aside, log) == 0
    for wrong in ("", "MB", "-1", "1.5MB", "10XB", "iB", "5iB", "1" * 16):
        with pytest.raises(SystemExit):
            cli.main(["audit", "rotate", str(log), f"--if-larger={wrong}"])
        assert "as in 100MB, 2GiB or 5000000" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"), [("5", 5), ("5 kB", 5000), ("5kiB", 5120), ("2GiB", 2 << 30), ("100MB", 10**8), ("1T", 10**12)]
)
def test_sizes(text: str, size: int) -> None:
    assert _audit._size(text) == size
