"""The reference has every public name and agrees with the code; every option of a session is explained."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import quorate as qr
from quorate._families import DEFAULT, choices
from quorate._session._options import LOCAL, OPTIONS
from quorate.cli import _parser

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"

#: Options of modules for tests, in addition to those of releases, which pages describe.
OF_TESTS = {name for name, option in choices().items() if "INSECURE" in option.help}


def _loaded() -> ModuleType:
    """Loads the module that writes the pages."""
    spec = importlib.util.spec_from_file_location("pages", PAGES / "pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pages"] = module
    spec.loader.exec_module(module)
    return module


pages = _loaded()


def found(path: str) -> Any:
    """Returns the object of a dotted path."""
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
    """Returns the objects on the pages by path; for a module, its exports."""
    paths = [entry.path for entries in pages.PAGES.values() for entry in entries]
    things: dict[str, Any] = {}
    for path in paths:
        thing = found(path)
        if inspect.ismodule(thing):
            things.update({f"{path}.{name}": getattr(thing, name) for name in thing.__all__})
        things[path] = thing
    return things


def names() -> list[str]:
    """Returns public names, including those of public modules."""
    modules = [name for name in qr.__all__ if inspect.ismodule(getattr(qr, name))]
    return [name for name in qr.__all__ if name != "__version__"] + [
        f"{module}.{name}" for module in modules for name in getattr(qr, module).__all__
    ]


@pytest.mark.parametrize("name", names())
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert any(thing is found(f"quorate.{name}") for thing in documented().values())


@pytest.fixture(scope="module")
def package() -> Any:
    return pages.package()


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_is_what_is_so(name: str, package: Any) -> None:
    """Signatures and docstrings are those of the code."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page == pages.written(name, package), f"write them anew: .venv/bin/python {__file__}"


def test_a_page_shows_how_things_are_called(package: Any) -> None:
    sessions, arrays = pages.page("sessions", package), pages.page("arrays", package)
    assert '\n    protocol: str = "rss",\n' in sessions
    assert list(pages.COMPUTED.items()) == [("quorate._families.DEFAULT", f'"{DEFAULT}"')]
    assert "\n### Session.where\n\n```python3\nwhere(condition: Any, x: Any, y: Any) -> SecretArray\n```\n" in sessions
    assert "\n- `bound`: " in sessions and "\n**Raises**\n\n- `" in sessions
    assert "\n### SecretArray.\\_\\_lt\\_\\_\n" in arrays and "_new(" not in arrays
    shown = [part for name in pages.PAGES for part in re.findall(r"^#{2,3} .*", pages.page(name, package), re.M)]
    assert len(shown) >= 250
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("owner", [qr.Session, qr.SecretArray, qr.Plan, qr.Stats, qr.Circuit, qr.Table, qr.Network])
def test_every_public_member_has_a_docstring(owner: type) -> None:
    """The reference has only members with a docstring."""
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
    found = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    assert len(found) >= 100
    assert [page for page in found if f" {page}\n" not in navigation] == []


def test_every_option_of_a_session_is_explained() -> None:
    text = inspect.getdoc(qr.local) or ""
    wanted = [name for name in (*OPTIONS, *LOCAL) if name not in OF_TESTS]
    assert len(wanted) >= 15
    assert [name for name in wanted if not re.search(rf"`{name}=", text)] == []


def test_no_page_offers_what_modules_for_tests_have_alone() -> None:
    assert "offline" in OF_TESTS
    folders = (ROOT / "docs", PAGES, ROOT / "docs" / "protocols")
    found = [page for folder in folders for page in folder.glob("*.md")]
    assert len(found) >= 30
    assert [page.name for page in found if "insecure_dealer" in page.read_text(encoding="utf-8")] == []


def _row(action: argparse.Action) -> str:
    shown = action.option_strings[0] if action.option_strings else (action.metavar or action.dest).upper()
    if action.option_strings and action.nargs != 0:
        shown += f" {action.metavar or action.dest.upper()}"
    mandatory = " (mandatory)" if action.option_strings and action.required else ""
    text = (action.help or "").replace("%%", "%").replace("|", "&#124;")
    return f"| `{shown}` | {text}{mandatory} |"


def commands() -> str:
    """Returns all commands with their arguments, from the parser; those shared with sessions come once at the end."""
    chosen = next(action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    texts = {entry.dest: entry.help or "" for entry in chosen._choices_actions}
    shared: dict[str, str] = {}
    pages = []
    for name, command in chosen.choices.items():
        actions = [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
        rows = [_row(action) for action in actions if action.dest not in OPTIONS]
        own = {action.dest: _row(action) for action in actions if action.dest in set(OPTIONS) - OF_TESTS}
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
    of = pages.package()
    for each in pages.PAGES:
        (PAGES / f"{each}.md").write_text(pages.written(each, of), encoding="utf-8")
