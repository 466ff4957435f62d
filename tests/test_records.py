"""Each record of a decision has its number, date, status and sections in the same places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECORDS = Path(__file__).resolve().parent.parent / "docs" / "decisions"

HEAD = re.compile(
    r"# (\d{4}): \S[^\n]*[^.\n]\n\n- Date: 20\d\d-\d\d-\d\d\n- Status: accepted(?:; [^\n]+(?:\n  [^\n]+)*)?\n\n"
)
SECTIONS = ("Context", "Decision", "Consequences")


def faults(name: str, text: str) -> list[str]:
    """Returns what a record lacks; other sections may stand between the three or after them."""
    head = HEAD.match(text)
    if not head:
        return [f"{name} lacks the title, the date or the status"]
    found = [] if name.startswith(f"{head[1]}-") else ["its own number"]
    before, *parts = re.split(r"^## (.*)\n", text[head.end() :], flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    if before.strip() or [title for title in sections if title in SECTIONS] != [*SECTIONS]:
        found.append("its sections in order")
    found += [f"a text under {title}" for title, body in sections.items() if not body.strip()]
    return [f"{name} lacks {what}" for what in found]


def test_records_have_one_form() -> None:
    records = sorted(RECORDS.glob("[0-9]*.md"))
    assert len(records) >= 98, f"looked at {len(records)} records only"
    assert [fault for path in records for fault in faults(path.name, path.read_text(encoding="utf-8"))] == []
    numbers = [path.name[:4] for path in records]
    assert sorted(set(numbers)) == numbers


GOOD = """# 0007: A title

- Date: 2026-11-21
- Status: accepted

## Context

a

## Decision

b

## Consequences

c
"""


@pytest.mark.parametrize(
    ("old", "new", "lacks"),
    [
        ("# 0007: ", "# 0008: ", "its own number"),
        ("# 0007: ", "# ", "the title, the date or the status"),
        ("- Date: 2026-11-21\n", "", "the title, the date or the status"),
        ("Status: accepted", "Status: soon", "the title, the date or the status"),
        ("## Context\n\na\n\n", "", "its sections in order"),
        ("## Decision", "## Choice", "its sections in order"),
        ("\nc\n", "\n", "a text under Consequences"),
    ],
)
def test_faults_of_records_are_found(old: str, new: str, lacks: str) -> None:
    assert faults("0007-a-title.md", GOOD) == []
    assert GOOD.count(old) == 1
    assert faults("0007-a-title.md", GOOD.replace(old, new)) == [f"0007-a-title.md lacks {lacks}"]
