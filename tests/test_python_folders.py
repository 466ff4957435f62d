"""The folders of the Python package import each other as docs/architecture.md lists them: downwards only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "quorate"
PAGE = ROOT / "docs" / "architecture.md"

#: Imports that go up, inside functions: operations of arrays return arrays.
UP = {
    ("_statistics", "array.py"),
    ("_statistics", "functions.py"),
    ("_arrays", "array.py"),
    ("array.py", "_numpy"),
}

#: What `import quorate` leaves for its first use.
LATER = {("__init__.py", name) for name in ("apps", "learn", "models", "nn")}


def listed() -> dict[str, str]:
    """Returns the rows of the page's list of folders, from the top: the name and its sentence."""
    text = PAGE.read_text(encoding="utf-8").partition("## The folders of the Python package")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", text, re.MULTILINE))


def folder(module: str) -> str:
    """Returns the folder of a module, or the file if it is in no folder."""
    first = module.split(".")[1] if "." in module else "__init__"
    return first if (PACKAGE / first).is_dir() else f"{first}.py"


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Yields the folders that a module imports, and where: at the top, in a function, or for types alone."""

    def of(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            inner = where
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                inner = "function"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inner = "types"
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, "imports here are absolute"
                names = [f"{child.module}.{alias.name}" for alias in child.names]
            else:
                names = []
            yield from ((folder(name), inner) for name in names if name.split(".")[0] == "quorate")
            yield from of(child, inner)

    yield from of(ast.parse(text), "top")


def wrong(places: list[str], used: dict[str, set[tuple[str, str]]]) -> list[str]:
    """Returns a line for each import that goes up, other than those that may; and for each that may and is gone."""
    found = {
        (name, target, where)
        for name, targets in used.items()
        for target, where in targets
        if target != name and places.index(target) < places.index(name)
    }
    lines = [f"{name} imports {target}, above it, at the top" for name, target, where in found if where == "top"]
    waiting = {(name, target) for name, target, where in found if where == "function"}
    lines += [f"{name} imports {target}, above it, in a function" for name, target in waiting - UP]
    lines += [f"{name} does not import {target} any more" for name, target in UP - waiting]
    for_types = {(name, target) for name, target, where in found if where == "types"}
    return sorted([*lines, *(f"{name} is not above {target}" for name, target in (LATER - for_types))])


def test_imports_go_down() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) >= 190, f"looked at {len(files)} files only"
    used: dict[str, set[tuple[str, str]]] = {}
    for file in files:
        name = file.relative_to(PACKAGE).parts[0]
        # The native module is below all others.
        targets = {(target, where) for target, where in imports(file.read_text()) if target != "_quorate.py"}
        used.setdefault(name, set()).update(targets)
    assert wrong(list(listed()), used) == []
    assert sum(map(len, used.values())) >= 200


def test_folders_are_listed_with_their_sentences() -> None:
    rows = listed()
    files = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    assert rows.keys() == files
    assert len(rows) >= 25
    for name, sentence in rows.items():
        path = PACKAGE / name / "__init__.py" if (PACKAGE / name).is_dir() else PACKAGE / name
        said = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
        assert said == sentence, name


def test_what_a_module_imports_is_seen() -> None:
    text = "import quorate\nfrom quorate.models._x import y\nif TYPE_CHECKING:\n    from quorate import array, _numpy\n"
    text += "def f():\n    from quorate._source import at\nimport os\n"
    assert list(imports(text)) == [
        ("__init__.py", "top"),
        ("models", "top"),
        ("array.py", "types"),
        ("_numpy", "types"),
        ("_source.py", "function"),
    ]


def test_the_comparison_sees_each_kind_of_difference() -> None:
    places = ["models", "nn", "apps", "learn", "__init__.py", "_numpy", "functions.py", "array.py", "_arrays"]
    places.append("_statistics")
    as_is: dict[str, set[tuple[str, str]]] = {"models": {("array.py", "top")}}
    for name, target in UP:
        as_is.setdefault(name, set()).add((target, "function"))
    as_is["__init__.py"] = {(target, "types") for _, target in LATER}
    assert wrong(places, as_is) == []
    assert wrong(places, as_is | {"functions.py": {("models", "top")}}) == [
        "functions.py imports models, above it, at the top"
    ]
    assert wrong(places, as_is | {"functions.py": {("models", "function")}}) == [
        "functions.py imports models, above it, in a function"
    ]
    assert wrong(places, as_is | {"array.py": set()}) == ["array.py does not import _numpy any more"]
