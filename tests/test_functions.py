"""Functions have at most 80 lines; the longer ones are listed, and the list only falls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_guards import ROOT, tracked

MOST_LINES = 80

#: The lines of the functions that are longer, from the signature to the last line; without docstrings.
LONGER = {
    "crates/graph/src/properties.rs: properties": 84,
}

FUNCTION = re.compile(
    r"^( *)(?:pub(?:\([^)]*\))? )?(?:default )?(?:const )?(?:async )?(?:unsafe )?(?:extern \"C\" )?fn (\w+)",
    re.MULTILINE,
)


def of_rust(text: str) -> Iterator[tuple[str, int]]:
    """Yields each function with its number of lines. In formatted code, its last line is indented as its first one."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if found := FUNCTION.match(line):
            end = at
            while not lines[end].endswith((";", "}")) or not re.match(rf"{found[1]}\S", lines[end]):
                end += 1
            yield found[2], end + 1 - at


def of_python(text: str) -> Iterator[tuple[str, int]]:
    """Yields each function with its number of lines, without its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            has_docstring = ast.get_docstring(node) is not None
            docstring = (first.end_lineno or 0) + 1 - first.lineno if has_docstring else 0
            yield node.name, (node.end_lineno or 0) + 1 - node.lineno - docstring


def lengths(file: Path) -> list[tuple[str, int]]:
    """Returns the functions of a file, with their numbers of lines."""
    text = file.read_text(encoding="utf-8")
    return list(of_rust(text) if file.suffix == ".rs" else of_python(text))


def test_functions_stay_short() -> None:
    found = [(file.relative_to(ROOT), *each) for file in tracked(".rs", ".py") for each in lengths(file)]
    assert len(found) > 12_000, f"looked at {len(found)} functions only"
    assert sum(str(file).endswith(".py") for file, _, _ in found) > 4_000
    longer = {f"{file}: {name}": lines for file, name, lines in found if lines > MOST_LINES}
    assert longer == LONGER, "split what is new; take off or correct what has become shorter"


def test_lengths_are_found() -> None:
    rust = """
impl A {
    pub(crate) async fn long<T>(
        x: T,
    ) -> T
    where
        T: B,
    {
        if x {
            y();
        }
    }

    fn short() {}
}

trait B {
    fn declared(
        x: u8,
    ) -> u8;
}

fn last() {
    fn inner() {
    }
}
"""
    assert list(of_rust(rust)) == [("long", 10), ("short", 1), ("declared", 3), ("last", 4), ("inner", 2)]
    python = 'def f(\n    x,\n):\n    """One.\n\n    Two.\n    """\n    async def g():\n        pass\n    return g\n'
    assert list(of_python(python)) == [("f", 6), ("g", 2)]
