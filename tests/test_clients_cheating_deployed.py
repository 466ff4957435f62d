"""Fifty clients with a thousand values each, at servers that are processes; two clients lie, and one server may."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quorate_client import tagged, words
from surveys import Survey

CLIENTS, VALUES = 50, 1000
SLOT = f"""
            [[slots.columns]]
            name = "readings"
            dtype = "int(32)"
            shape = [{VALUES}]
            [[slots.columns]]
            name = "age"
            dtype = "uint(16)"
            low = "0"
            high = "120"
"""
SCRIPT = """
people = mpc.campaign("wages.json")
present = people.present.reveal()
print(*np.flatnonzero(present), *people["readings"].sum(axis=1).reveal(), people["age"].sum().reveal())
"""

#: What a server does that inputs another part of one value of the client at place 7 than it was given.
LIE = """
import quorate.campaigns as campaigns
class Lying(campaigns.Proofs):
    def words(self):
        found = super().words()
        found[7, 500] ^= 1
        return found
campaigns.Proofs = Lying
"""


def values_of(client: int) -> dict[str, Any]:
    return {"readings": np.arange(VALUES) * (client - 20), "age": client % 120}


def cheat(survey: Survey, client: int, monkeypatch: pytest.MonkeyPatch, *, tags: bool) -> None:
    """Submits a packet whose parts do not fit together, or a value that is out of its bounds."""
    with monkeypatch.context() as patched:
        if tags:
            split = tagged.split

            def torn(*arguments: Any) -> dict[int, Any]:
                contents = {server: bytearray(content) for server, content in split(*arguments).items()}
                contents[0][-5000] ^= 1
                return {server: bytes(content) for server, content in contents.items()}

            patched.setattr(tagged, "split", torn)
            survey.client(client).submit(values_of(client))
        else:
            patched.setattr(words, "_check_range", lambda *_: None)
            survey.client(client).submit({**values_of(client), "age": 121})


@pytest.mark.parametrize(
    ("protocol", "parties", "options", "liar"),
    [
        ("rss", 3, {}, None),
        ("aby", 2, {}, None),
        ("spdz2k", 2, {}, 1),
        ("pika", 3, {"malicious": "yes"}, 0),
    ],
    ids=["rss", "aby", "spdz2k", "pika-malicious"],
)
def test_lies_cost_those_they_are_about(
    tmp_path: Path,
    protocol: str,
    parties: int,
    options: dict[str, str],
    liar: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survey = Survey(tmp_path, CLIENTS, SLOT, protocol, parties, options)
    try:
        cheats, honest = [11, 30], [i for i in range(CLIENTS) if i not in (11, 30, 42)]  # 42 gives nothing
        for client in cheats:
            cheat(survey, client, monkeypatch, tags=liar is not None)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda client: survey.client(client).submit(values_of(client)), honest))
        survey.close()
        places = {survey.place(client): client for client in honest}
        if liar is not None:
            places.pop(7, None)
        sums = [0] * CLIENTS
        for place, client in places.items():
            sums[place] = int(values_of(client)["readings"].sum())
        wanted = [*sorted(places), *sums, sum(client % 120 for client in places.values())]
        arguments = ["--malicious"] if options else []
        for ended in survey.run(SCRIPT, *arguments, lies={} if liar is None else {liar: LIE}):
            assert ended.status == 0 and [int(text) for text in ended.out.split()] == wanted, ended
        for client in cheats:
            outcomes = {status.items[0].outcome for status in survey.client(client).status()}
            assert outcomes == {"refused" if liar is None else "absent"}
    finally:
        survey.stop()
