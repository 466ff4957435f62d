"""Every Python example of the documentation runs by itself, as it is pasted, and prints the output beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quorate.cli import main

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:python|py)\b[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

#: Comments that begin so state the output; all others explain.
PRINTED = re.compile(r"#\s+((?:[\[({0-9-]|True|False|fixed|Table).*)$")


class Example(NamedTuple):
    """A block of a page."""

    page: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}-{self.number}"


def examples() -> list[Example]:
    """Returns the examples of all pages, in their order."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        Example(str(page.relative_to(ROOT)), number, text)
        for page in pages
        for number, text in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1)
    ]


def test_the_pages_have_examples() -> None:
    found = [example.page for example in examples()]
    assert len(found) >= 25
    assert {"README.md", "docs/index.md", "docs/quickstart.md", "docs/models.md", "docs/coming-from.md"} <= set(found)


@pytest.mark.parametrize("example", examples(), ids=str)
def test_an_example_runs_by_itself(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = example.text.splitlines()
    checked: list[int] = []

    def printing(*what: Any, **how: Any) -> None:
        """Prints, and compares the output with the comment behind the line."""
        number = sys._getframe(1).f_lineno
        beside = PRINTED.search(lines[number - 1])
        if beside:
            checked.append(number)
            text = " ".join(" ".join(map(str, what)).split())
            assert " ".join(beside[1].split()).startswith(text), f"prints {text}"
        print(*what, **how)

    exec(compile(example.text, str(example), "exec"), {"__name__": "__main__", "print": printing})
    wanted = [n for n, line in enumerate(lines, start=1) if "print(" in line and PRINTED.search(line)]
    assert sorted(set(checked)) == wanted
    capsys.readouterr()


def test_the_first_program_runs_everywhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "salaries.py"
    script.write_text(next(example.text for example in examples() if example.page == "docs/quickstart.md"))
    assert main(["run", str(script)]) == 0
    said = [line.partition("] ")[2] for line in capfd.readouterr().out.splitlines()]
    assert len(said) == 3
    assert len(set(said)) == 1
    assert re.fullmatch(r"in all: [0-9]{5} highest: [0-9]{4}", said[0])
    assert main(["explain", str(script), "--network", "wan"]) == 0
    assert "--- run 1 of 1 ---" in capfd.readouterr().out
