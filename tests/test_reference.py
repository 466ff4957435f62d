"""The reference has every public name; its pages are in the navigation, and every option of a session is explained."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import quorate as qr
from quorate._options import LOCAL, OPTIONS
from quorate.cli import _parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
BLOCK = re.compile(r"^::: (?P<path>[\w.]+)$", re.MULTILINE)


def found(path: str) -> Any:
    """What a dotted path names."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(path)


def documented() -> dict[str, Any]:
    """What the pages name, by path; of a module, what it exports."""
    paths = [match["path"] for page in PAGES.glob("*.md") for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    things: dict[str, Any] = {}
    for path in paths:
        thing = found(path)
        if inspect.ismodule(thing):
            things.update({f"{path}.{name}": getattr(thing, name) for name in thing.__all__})
        things[path] = thing
    return things


def names() -> list[str]:
    """Public names, those of public modules among them."""
    modules = [name for name in qr.__all__ if inspect.ismodule(getattr(qr, name))]
    return [name for name in qr.__all__ if name != "__version__"] + [
        f"{module}.{name}" for module in modules for name in getattr(qr, module).__all__
    ]


@pytest.mark.parametrize("name", names())
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert any(thing is found(f"quorate.{name}") for thing in documented().values())


@pytest.mark.parametrize("owner", [qr.Session, qr.SecretArray, qr.Plan, qr.Stats, qr.Circuit, qr.Table, qr.Network])
def test_every_public_member_has_a_docstring(owner: type) -> None:
    """Only those are in the reference."""
    members = {name for name in dir(owner) if not name.startswith("_")}
    attributes = inspect.getdoc(owner) or ""
    for name in members:
        own = inspect.getdoc(inspect.getattr_static(owner, name))
        assert own or re.search(rf"\b{name}\b", attributes), f"{owner.__name__}.{name}"


def test_what_methods_return_is_in_the_reference() -> None:
    things = documented().values()
    for module in ("plan", "stats"):
        of = importlib.import_module(f"quorate.{module}")
        assert of.__all__
        assert [name for name in of.__all__ if getattr(of, name) not in things] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted(PAGES.glob("*.md"))
    assert len(pages) >= 9
    assert [page.name for page in pages if f"reference/{page.name}" not in navigation] == []


def test_every_option_of_a_session_is_explained() -> None:
    text = inspect.getdoc(qr.local) or ""
    assert [name for name in (*OPTIONS, *LOCAL) if not re.search(rf"`{name}=", text)] == []


def _row(action: argparse.Action) -> str:
    shown = action.option_strings[0] if action.option_strings else (action.metavar or action.dest).upper()
    if action.option_strings and action.nargs != 0:
        shown += f" {action.metavar or action.dest.upper()}"
    mandatory = " (mandatory)" if action.option_strings and action.required else ""
    text = (action.help or "").replace("%%", "%").replace("|", "&#124;")
    return f"| `{shown}` | {text}{mandatory} |"


def commands() -> str:
    """All commands with their arguments, from the parser; what sessions take, too, comes once at the end."""
    chosen = next(action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    texts = {entry.dest: entry.help or "" for entry in chosen._choices_actions}
    shared: dict[str, str] = {}
    pages = []
    for name, command in chosen.choices.items():
        actions = [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
        rows = [_row(action) for action in actions if action.dest not in OPTIONS]
        own = {action.dest: _row(action) for action in actions if action.dest in OPTIONS}
        shared.update(own)
        lines = [f"## quorate {name}", "", f"{texts[name][0].upper()}{texts[name][1:]}.", ""]
        lines += ["| | |", "|---|---|", *rows, ""] if rows else []
        lines += ["And [options of sessions](#options-of-sessions).", ""] if own else []
        pages.append("\n".join(lines))
    ending = ["## Options of sessions", "", "Where they go with the protocol.", "", "| | |", "|---|---|"]
    return "\n".join([*pages, *ending, *shared.values(), ""])


def test_the_page_of_the_command_is_what_is_so() -> None:
    page = (PAGES / "command.md").read_text(encoding="utf-8")
    assert page.partition("## ")[2] == commands().partition("## ")[2], "write it anew: .venv/bin/python " + __file__


if __name__ == "__main__":
    before = (PAGES / "command.md").read_text(encoding="utf-8").partition("## ")[0]
    (PAGES / "command.md").write_text(before + commands(), encoding="utf-8")
