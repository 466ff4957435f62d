"""Default names of sessions: of scripts and packages, numbered, and reserved while a session is opened."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from quorate._session import _names
from quorate._session._settings import settings
from quorate.session import Session

PARTIES = 20


class Opened:
    """Stands for an open session."""


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings, "script", "program.py")
    yield
    assert not _names._reserved


def test_threads_of_one_script_get_different_names() -> None:
    names, opened = [], [Opened() for _ in range(PARTIES)]
    together = threading.Barrier(PARTIES)

    def connect(session: Any) -> None:
        together.wait()
        with _names.chosen(None) as name:
            names.append(name.name)
            together.wait()  # all are connecting
            name.bind(session)

    threads = [threading.Thread(target=connect, args=(session,)) for session in opened]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names) == sorted(["program.py", *(f"program.py {number}" for number in range(2, PARTIES + 1))])
    for session in opened:
        _names.free(session)
    with _names.chosen(None) as name:
        assert name.name == "program.py"


def test_a_name_is_free_again_if_its_session_did_not_open() -> None:
    with pytest.raises(KeyboardInterrupt), _names.chosen(None):
        raise KeyboardInterrupt
    with _names.chosen(None) as name:
        assert name.name == "program.py"


class Broken:
    """A native session whose end fails: in the process that opened it, or in a fork."""

    parties, me, protocol, whole_bits = 3, 0, "rss", 64

    def __init__(self, forked: bool) -> None:
        self.forked = forked

    def is_forked(self) -> bool:
        return self.forked

    def close(self, gave_up: bool) -> None:
        raise RuntimeError("it does not end")


@pytest.mark.parametrize("forked", [False, True])
def test_a_name_is_free_again_after_an_end_that_fails(forked: bool) -> None:
    session = Session(Broken(forked))  # type: ignore[arg-type]
    with _names.chosen(None) as first:
        first.bind(session)
    with pytest.raises(RuntimeError, match="end"):
        session.close()
    with _names.chosen(None) as second:
        assert second.name == ("program.py 2" if forked else "program.py")
    _names.free(session)


@pytest.mark.parametrize("base", ["n" * 64, "\u00e4" * 32, "n" * 60])
def test_numbered_names_have_at_most_64_bytes(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    monkeypatch.setattr(settings, "session", base)
    with ExitStack() as opening:
        names = [opening.enter_context(_names.chosen(None)).name for _ in range(101)]
    assert len(set(names)) == 101 and max(len(name.encode()) for name in names) <= 64
    assert names[0] == base and names[100].endswith(" 101")


NAMED = "from quorate._session._names import default\nprint(default())\n"


def test_a_package_that_runs_has_its_own_name(tmp_path: Path) -> None:
    for package in ("one", "two"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "__main__.py").write_text(NAMED)
    (tmp_path / "one" / "part.py").write_text(NAMED)

    def name(*how: str) -> str:
        paths = os.pathsep.join([str(tmp_path), *sys.path])
        ended = subprocess.run(
            [sys.executable, *how],
            env={**os.environ, "PYTHONPATH": paths},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    assert name("-m", "one") == "one"
    assert name("-m", "two") == "two"
    assert name("-m", "one.part") == name(str(tmp_path / "one" / "part.py")) == "part.py"
