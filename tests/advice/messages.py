"""Messages that advise a reader, collected from the sources: strings of Python and Rust with an imperative."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / "python" / "quorate"
CRATES = ROOT / "crates"

VERBS = (
    "add|allow|approve|ask|call|check|choose|clip|close|compare|compute|connect|convert|copy|correct|cut|"
    "decompose|del|divide|do|drop|encode|enlarge|exchange|explain|export|fill|fit|fold|free|give|guard|impute|import|"
    "input|insert|install|interrupt|keep|leave|let|list|look|lower|make|mask|measure|move|multiply|name|"
    "normalise|number|open|pad|pass|pick|pip|prepare|put|raise|read|rebuild|record|reduce|reload|remove|"
    "rename|repeat|replace|report|rescale|reshape|resize|restart|return|reveal|round|run|say|scale|see|select|"
    "send|set|shift|shorten|sort|split|standardise|start|state|stop|take|tell|train|transpose|trim|try|turn|"
    "update|use|wait|widen|write"
)

# A verb that begins a clause, before its object or end. It is no attribute, keyword or name in quotes, nor the verb of
# a function that speaks, as in "sort: ...".
_CLAUSE = r"(?:^\W*|[:;,.]\s+|\(|\b(?:or|and|first|instead|so|then|there)\s+)"
IMPERATIVE = re.compile(rf"{_CLAUSE}(?:{VERBS})(?=[\s,;.)]|$)", re.IGNORECASE)

#: The character that stands for a part that is filled in.
HOLE = "\x00"


class Message(NamedTuple):
    """A string with an imperative, as its source has it.

    Attributes:
        place: file and line of its first appearance.
        text: with a hole for each part that is filled in.
    """

    place: str
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Returns a pattern of the messages that are made of it."""
        return re.compile(".*?".join(map(re.escape, self.text.strip().split(HOLE))), re.DOTALL)

    @property
    def shown(self) -> str:
        return self.text.replace(HOLE, "{}")


# A statement of SQL, or the part of one behind a part that is filled in. Its verb has upper-case letters alone.
_STATEMENT = re.compile(r"\W*(?:CREATE|DELETE|DROP|INSERT|SELECT|UPDATE|WHERE)\s")


def is_statement(text: str) -> bool:
    """Returns whether a string is SQL, which no reader sees."""
    return _STATEMENT.match(text) is not None


def _is_advice(text: str) -> bool:
    return len(text.split()) > 1 and IMPERATIVE.search(text) is not None and not is_statement(text)


# ---- Python --------------------------------------------------------------------------------------------------------


# Fields that `format` fills in later.
_FORMATTED = re.compile(r"\{\w*(?:![rs])?\}")


def _template(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _FORMATTED.sub(HOLE, node.value)
    if isinstance(node, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
        return _FORMATTED.sub(HOLE, "".join(parts))
    return None


def _skipped(tree: ast.AST) -> set[int]:
    """Returns nodes that are no messages: docstrings, help of the command line, and parts of another string."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr)):
            skipped.update(id(part) for part in ast.walk(node))
        if isinstance(node, ast.JoinedStr):
            # A string in a hole may be a message of its own.
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            skipped.update(map(id, parts))
            specs = [part.format_spec for part in node.values if isinstance(part, ast.FormattedValue)]
            skipped.update(id(part) for spec in specs if spec is not None for part in ast.walk(spec))
        if isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "description", "metavar"):
            skipped.update(id(part) for part in ast.walk(node))
    return skipped


def _strings(path: Path) -> Iterator[Message]:
    """Yields all strings of a file that may be messages."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = _skipped(tree)
    for node in ast.walk(tree):
        text = None if id(node) in skipped else _template(node)
        if text is not None:
            yield Message(f"{path.relative_to(ROOT)}:{node.lineno}", text)  # type: ignore[attr-defined]


def _of_python(path: Path) -> Iterator[Message]:
    return (string for string in _strings(path) if _is_advice(string.text))


def statements() -> list[Message]:
    """Returns the strings of Python that are left out because they are SQL."""
    return [string for path in sorted(PYTHON.rglob("*.py")) for string in _strings(path) if is_statement(string.text)]


# ---- Rust ----------------------------------------------------------------------------------------------------------

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# Messages that only a defect shows, to developers of this repository.
_DEFECT = re.compile(r"(?:expect|panic!|unreachable!|assert\w*!|debug_assert\w*!)\([^;\"]*$")


def _of_rust(path: Path) -> Iterator[Message]:
    source = path.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
    source = re.sub(r"^\s*//.*$|'(?:\"|\\\\\")'", lambda m: " " * len(m[0]), source, flags=re.MULTILINE)
    for found in _STRING.finditer(source):
        if _DEFECT.search(source[max(0, found.start() - 200) : found.start()]):
            continue
        text = re.sub(r"\\\n\s*", "", found[1]).replace('\\"', '"').replace("\\n", "\n")
        text = re.sub(r"\{[^{}]*\}", HOLE, text)
        if _is_advice(text):
            yield Message(f"{path.relative_to(ROOT)}:{source[: found.start()].count(chr(10)) + 1}", text)


@functools.cache
def messages() -> list[Message]:
    """Returns all messages, each text once."""
    found: dict[str, Message] = {}
    for path in sorted(PYTHON.rglob("*.py")):
        for message in _of_python(path):
            found.setdefault(message.text, message)
    for path in sorted(CRATES.glob("*/src/**/*.rs")):
        if path.name != "tests.rs" and not {"tests", "testing", "bench"} & set(path.parts):
            for message in _of_rust(path):
                found.setdefault(message.text, message)
    return list(found.values())
