"""Limits, errors and options on pages are those of the code: each test failed for a page that was wrong."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import quorate as qr
from quorate.dtypes import MOST_BITS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def text(page: str) -> str:
    """Returns a page as one line of words."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_pages_have_no_notes_of_their_writers() -> None:
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    assert len(pages) >= 100
    notes = re.compile(r"\b(?:MEASURED|UNMEASURED|TBD|XXX|WIP)\b")
    assert [page.name for page in pages if notes.search(page.read_text(encoding="utf-8"))] == []


def test_widths_are_those_of_dtypes() -> None:
    assert f"integers of k bits, 2 to {MOST_BITS} |" in text("arrays.md")
    assert f"without a sign, 1 to {MOST_BITS} |" in text("arrays.md")
    assert f"k outside 2 to {MOST_BITS} |" in text("errors.md")
    for dtype in (qr.int, qr.uint, qr.fixed):
        assert dtype(MOST_BITS).bits == MOST_BITS
        assert re.search(rf"\b{MOST_BITS}\b", inspect.getdoc(dtype) or "")
        with pytest.raises(qr.DtypeError, match=str(MOST_BITS)):
            dtype(MOST_BITS + 1)


def test_every_error_has_a_line_and_nothing_else_has() -> None:
    page, of_clients, _ = (DOCS / "errors.md").read_text(encoding="utf-8").partition("\n[Clients](clients.md) have")
    assert of_clients
    listed = re.findall(r"^\| `(\w+)` \| `\w+` \|", page, re.M)
    classes = {name: getattr(qr.errors, name) for name in qr.errors.__all__}
    errors = {name for name, one in classes.items() if not issubclass(one, Warning)} - {"QuorateError"}
    assert sorted(listed) == sorted(errors)
    warnings = {name for name, one in classes.items() if issubclass(one, Warning)}
    assert {name for name in warnings if f"`{name}`" in text("errors.md")} == warnings


def test_arrays_say_what_sessions_do_with_a_sum_that_wraps() -> None:
    assert "A local session refuses a sum that wraps" in text("arrays.md")
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError, match="200"):
        mpc.input([100, 100], owner=0, dtype=qr.int(8)).sum().reveal()


def test_arrays_say_how_dtypes_meet() -> None:
    assert "Two dtypes become [the narrowest that holds both]" in text("arrays.md")
    with qr.local("rss") as mpc:
        x, y = mpc.input([1], owner=0, dtype=qr.int(32)), mpc.input([1], owner=0, dtype=qr.uint(64))
        assert (x + y).dtype == qr.int(65)
        assert (x + y).reveal().dtype == object


def test_a_seed_is_for_local_sessions() -> None:
    assert "Only a local session can fix them, by `qr.local(..., seed=)`" in text("security/rss.md")
    with qr.local("rss", seed=7) as mpc:
        assert any(what.startswith("seed") for what in mpc.stats().insecure)
    with pytest.raises(qr.ConfigError, match="local sessions only"):
        qr.connect("party.toml", seed=7)
