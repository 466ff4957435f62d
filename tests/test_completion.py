"""Shell completion of the command: the scripts complete commands, options, protocols and files."""

from __future__ import annotations

import builtins
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from quorate._command._completion import SHELLS
from quorate._families import FAMILIES
from quorate.cli import _COMMANDS, main

pytest.importorskip("shtab")


def written(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_is_told_of_commands_options_and_protocols(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = written(shell, capsys)
    assert [word for word in (*_COMMANDS, *FAMILIES, "network", "max-memory") if word not in text] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["exp"], {"explain"}),
        (["run", "--protocol", ""], set(FAMILIES)),
        (["run", "script.py", "--protocol", "sp"], {"spdz2k"}),
        (["explain", "--max-m"], {"--max-memory"}),
        (["run", "salar"], {"salaries.py"}),
        (["run", "script.py", "--triples", "t"], {"t3", "twokeys"}),
    ],
    ids=lambda given: " ".join(sorted(given) if isinstance(given, set) else given),
)
def test_bash_completes(words: list[str], wanted: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "salaries.py").touch()
    (tmp_path / "completion").write_text(written("bash", capsys))
    line = " ".join(f"'{word}'" for word in ["quorate", *words])
    done = subprocess.run(
        ["bash", "--norc", "-c", f"""
        source completion
        COMP_WORDS=({line}); COMP_CWORD={len(words)}
        $(complete -p quorate | sed -E 's/.*-F ([^ ]+).*/\\1/') quorate '{words[-1]}' quorate
        printf '%s\\n' "${{COMPREPLY[@]}}"
        """],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {word.strip() for word in done.stdout.split()} == wanted


def test_without_shtab_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "shtab":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert main(["completion", "zsh"]) == 2
    assert "pip install shtab" in capsys.readouterr().err
