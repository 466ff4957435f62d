"""`make demo-service`: the survey of examples/service, its check of the result, and what it leaves when it is ended."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "service"
FEW = ["--clients", "6"]
SOON = 240


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("service_demo", FOLDER / "demo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def started(folder: Path, path: str | None = None) -> subprocess.Popen[str]:
    """Starts the demonstration, whose temporary files are in a folder."""
    environment = {**os.environ, "TMPDIR": str(folder), "PATH": path or os.environ["PATH"]}
    command = [sys.executable, str(FOLDER / "demo.py"), *FEW]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )


def left(folder: Path) -> list[str]:
    """Returns the files in a folder, and the processes that have it in their environment."""
    found = [str(path) for path in folder.rglob("*")]
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
    return found


def node(folder: Path, script: str) -> str:
    """Returns a PATH on which `node` is this script, and on which there is no browser."""
    own = folder / "bin"
    own.mkdir()
    (own / "node").write_text(f"#!/bin/sh\n{script}\n")
    (own / "node").chmod(0o755)
    return str(own)


def test_a_survey_of_six_clients(tmp_path: Path) -> None:
    run = started(tmp_path)
    out, err = run.communicate(timeout=SOON)
    assert run.returncode == 0, err
    rows = {found[1]: (found[2], found[3]) for found in re.finditer(r"^ +(\w[\w ]+?)  +(\d+)  +(\d+)$", out, re.M)}
    assert rows.keys() == {"mean", "highest", "clients", "clients above the mean"}
    assert all(one == other for one, other in rows.values())
    assert rows["clients"][0] == "6"
    assert "all results agree" in out
    kinds = r"5 in Python, 1 in JavaScript \((the form|Node v\d+)|6 in Python, 0 in JavaScript \(All clients"
    assert re.search(kinds, out), out
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "line"), [(signal.SIGTERM, "keys of three servers"), (signal.SIGINT, "three servers take packets")]
)
def test_it_leaves_nothing_if_it_is_ended(tmp_path: Path, number: signal.Signals, line: str) -> None:
    run = started(tmp_path)
    assert run.stdout is not None
    while line not in (said := run.stdout.readline()):
        assert said, run.communicate()
    time.sleep(0.2)  # servers, or clients, are under way
    assert len(left(tmp_path)) > 3
    run.send_signal(number)
    out, err = run.communicate(timeout=SOON)
    assert (run.returncode, err) == (130, "told to end; all processes have ended, and the files are removed\n"), out
    assert left(tmp_path) == []


def test_files_of_servers_in_containers(tmp_path: Path) -> None:
    """deploy/compose.yaml shows each server, and the clients, one of these folders."""
    hosts = ["one", "two", "three"]
    command = [sys.executable, str(FOLDER / "prepare.py"), str(tmp_path), "--clients", "4"]
    command += [word for host in hosts for word in ("--server", host)]
    subprocess.run(command, check=True, timeout=SOON, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for number in range(3):
        own = tmp_path / f"server{number}"
        assert own.stat().st_mode & 0o777 == 0o700
        keys = {path.name for path in own.glob("*.key")}
        assert keys == {f"party{number}.key", "service.key", "store.key", "tls.key"}
        party = (own / "party.toml").read_text()
        assert 'listen = "0.0.0.0:9000"' in party and all(f'address = "{host}:9000"' in party for host in hosts)
        assert 'listen = "0.0.0.0:9443"' in (own / "serve.toml").read_text()
    client = tmp_path / "client"
    assert {path.name for path in client.iterdir()} == {"asked.json", "wages.json"}
    asked = json.loads((client / "asked.json").read_text())
    assert [one["invitation"].partition(".")[0] for one in asked] == ["0", "1", "2", "3"]
    assert '"https://two:9443"' in (client / "wages.json").read_text()
    before = (client / "wages.json").read_bytes()
    subprocess.run(command, check=True, timeout=SOON)  # containers are started again
    assert (client / "wages.json").read_bytes() == before


def test_clients_that_fail_end_it(tmp_path: Path) -> None:
    path = node(tmp_path, 'if [ "$1" = --version ]; then echo v22.1.0; else echo "no such module" >&2; exit 3; fi')
    (tmp_path / "files").mkdir()
    run = started(tmp_path / "files", path)
    _, err = run.communicate(timeout=SOON)
    assert (run.returncode, "node clients.mjs" in err, "ended with 3: no such module" in err) == (1, True, True), err
    assert left(tmp_path / "files") == []


@pytest.mark.parametrize(
    ("script", "sentence"),
    [("echo v18.2.1", "this is v18.2.1."), ("exit 1", "this is another program."), ("echo 30", "another program.")],
)
def test_an_old_node_is_stated(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, sentence: str
) -> None:
    monkeypatch.setenv("PATH", node(tmp_path, script))
    command, said = demo.node()
    assert command is None
    assert said.startswith("All clients are Python: Node 20 or later is needed")
    assert said.endswith(sentence)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.node() == (None, "All clients are Python: Node is not installed.")
    assert demo.browser() == (None, "The form is left out: Chromium is not installed.")
    others, said = demo.javascript()
    assert others is None
    assert said == "All clients are Python: Node is not installed; The form is left out: Chromium is not installed."


def test_a_browser_is_used_with_playwright(demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(node(tmp_path, "echo v22.1.0"))
    (own / "node").rename(own / "google-chrome")
    monkeypatch.setenv("PATH", str(own))
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: name)
    assert demo.browser() == (str(own / "google-chrome"), "the form in Chromium")
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda _: None)
    assert demo.browser()[0] is None
    assert "playwright is not installed" in demo.browser()[1]


def test_a_wrong_result_is_one(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    right = {"mean": 20, "highest": 30, "clients": 3}
    values, told = [10, 20, 30], [False, False, True]
    assert demo.compare(values, [right] * 3, told)
    for wrong in ({**right, "mean": 21}, {**right, "highest": 29}, {**right, "clients": 2}, {}):
        assert not demo.compare(values, [right, right, wrong], told)
    for others in ([True, False, True], [False, True, False], [False, False]):
        assert not demo.compare(values, [right] * 3, others)
    assert "30" in capsys.readouterr().out


def test_a_wrong_result_is_the_exit_status(
    demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py", *FEW])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    for is_right, status in ((True, 0), (False, 1)):
        monkeypatch.setattr(demo, "survey", lambda *_, found=is_right: found)
        assert demo.main() == status
    assert "results differ" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["2", "-1", "10001", "some"])
def test_numbers_of_clients_that_do_not_run(
    demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], count: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py", "--clients", count])
    with pytest.raises(SystemExit) as ended:
        demo.main()
    assert ended.value.code == 2
    assert "--clients" in capsys.readouterr().err
