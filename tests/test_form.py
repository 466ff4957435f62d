"""The form in Chromium, against real servers: from an invitation to stored packets, and what goes wrong in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import clients
from browser import browser
from forming import DONE, Person, link, send, state, survey

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COLUMNS = [
    {"name": "salary", "dtype": "int(32)", "low": "0", "high": "1000000"},
    {"name": "rate", "dtype": "fixed(32, 8)", "low": "-1.5", "high": "1.5"},
    {"name": "owns", "dtype": "bit"},
    {"name": "ages", "dtype": "uint(8)", "shape": [2]},
    {"name": "hours", "dtype": "int(16)", "shape": [20]},
]
GIVEN = {
    "salary": "52000", "rate": "-0.25", "owns": "Yes", "ages, number 1": "31", "ages, number 2": "44",
    "hours": "\n".join(str(i - 10) for i in range(20)),
}  # fmt: skip
MEANT = {"salary": 52000, "rate": -64, "owns": 1, "ages": [31, 44], "hours": [i - 10 for i in range(20)]}


def slots(*columns: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [{"name": "person", "per_client": 1, "columns": [dict(column) for column in columns], **more}]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.mark.parametrize(("protocol", "parties", "options"), clients.ALL)
def test_answers_reach_the_servers_of_each_family(
    tmp_path: Path, chromium: Browser, protocol: str, parties: int, options: dict[str, str]
) -> None:
    fields = {"protocol": protocol, "parties": parties, "options": options, "slots": slots(*COLUMNS)}
    if options.get("mac") == "32":
        fields["slots"] = slots(*COLUMNS[:1])
    with survey(tmp_path, **fields) as made:
        person = Person(chromium, made.campaign)
        page = person.opened(link(made))
        send(page, {name: text for name, text in GIVEN.items() if name == "salary" or len(fields["slots"][0]["columns"]) > 1})
        state(page, DONE)
        assert made.values(person.packets) == {
            name: value for name, value in MEANT.items() if name in {c["name"] for c in fields["slots"][0]["columns"]}
        }
        assert person.told == []
        person.context.close()
