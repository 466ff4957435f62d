"""Tables of modules and pages of the documentation name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import test_guards

ROOT = Path(__file__).resolve().parent.parent

#: Titles of a column of a table in a module's documentation that names its files.
COLUMNS = {"file", "files", "module", "modules"}

#: Files of the reader's own, and patterns.
EXAMPLES = {"a.rs", "a/b.rs", "compile.py", "salaries.py", "tests/test_numpy*.py"}


def named_in(lines: list[str]) -> list[str]:
    """Returns the names in the columns of files of all tables."""
    names: list[str] = []
    columns: list[int] | None = None
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = [place for place, title in enumerate(cells) if title in COLUMNS]
        else:
            names += [name for place in columns for name in re.findall(r"`([^`]+)`", cells[place])]
    return names


def is_module(file: Path, name: str) -> bool:
    """Returns whether a name in the documentation of a file is that of a module or folder beside or under it."""
    under = file.parent if file.name in ("lib.rs", "mod.rs") else file.with_suffix("")
    path = name.removesuffix(".rs").replace("::", "/")
    return any((folder / f"{path}{end}").exists() for folder in (under, file.parent) for end in ("", ".rs"))


def test_tables_of_modules_name_files() -> None:
    looked_at, missing = 0, []
    for file in test_guards.tracked(".rs"):
        lines = [line[3:].strip() for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("//!")]
        for name in named_in(lines):
            looked_at += 1
            if not is_module(file, name):
                missing.append(f"{file.relative_to(ROOT)}: {name}")
    assert looked_at >= 150, f"looked at {looked_at} names only"
    assert missing == []


def test_pages_name_files() -> None:
    files = [f"/{file.relative_to(ROOT)}" for file in [*test_guards.tracked(".rs", ".py"), test_guards.ME]]
    pages = [page for page in test_guards.tracked(".md") if page.name != "CHANGELOG.md"]
    assert sum("decisions" in page.parts for page in pages) >= 98
    looked_at, missing = 0, []
    for page in pages:
        for name in re.findall(r"`([\w/.*-]+\.(?:rs|py))`", page.read_text(encoding="utf-8")):
            looked_at += 1
            if name not in EXAMPLES and "NAME" not in name and not any(file.endswith(f"/{name}") for file in files):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert looked_at >= 180, f"looked at {looked_at} names only"
    assert missing == []


def test_names_of_no_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").touch()
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "two.rs").touch()
    table = ["| what | file |", "|---|---|", "| a, `b` | `one` |", "| c | `one::two`, `gone` |"]
    names = named_in(["| what | costs |", "| `a` | `b` |", "", *table])
    assert names == ["one", "one::two", "gone"]
    assert [is_module(tmp_path / "lib.rs", name) for name in names] == [True, True, False]
    assert named_in([]) == []
