"""Campaigns for tests of programs: what clients give, and the servers of one campaign in a process."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quorate as qr
from campaigning import Servers
from protocols import FORMS, Place, places
from quorate.campaigns import History
from quorate_client.families import FAMILIES

COLUMNS = [
    {"name": "salary", "dtype": "int(32)", "low": "-10", "high": "100000"},
    {"name": "age", "dtype": "uint(16)", "shape": [2]},
    {"name": "rate", "dtype": "fixed(64, 16)", "low": "-1.5", "high": "1.5"},
    {"name": "owns", "dtype": "bit", "shape": [3]},
    {"name": "code", "dtype": "int(64)"},
]

HERE = [place for place in places() if place.protocol in FAMILIES] + FORMS

#: Places where parties may cheat.
CHEATING = [Place("spdz2k", 2), Place("spdz2k", 3), *FORMS]


def person(i: int) -> dict[str, Any]:
    return {
        "salary": 50_000 + i,
        "age": [31 + i, 65_535],
        "rate": i / 8 - 1.5,
        "owns": [i % 2 == 0, True, i == 3],
        "code": -(1 << 63) + i,
    }


class Out:
    """Clients who state no bounds: packets are made for a campaign without them, and signed for the real one."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers

    def give(self, client: int, values: dict[str, Any], **fields: Any) -> None:
        real = self.servers.campaign
        slots = tuple(
            dataclasses.replace(
                slot,
                columns=tuple(
                    dataclasses.replace(column, lowest=column.dtype.lowest, highest=column.dtype.highest)
                    for column in slot.columns
                ),
            )
            for slot in real.slots
        )
        free = dataclasses.replace(real, slots=slots)
        self.servers.campaign = free
        try:
            bodies = self.servers.packets(client, values=values, campaign=real.hash, **fields)
        finally:
            self.servers.campaign = real
        for intake, body in zip(self.servers.intakes, bodies, strict=True):
            intake.packet(body)


@contextlib.contextmanager
def served(folder: Path, place: Place, clients: int = 6, **changed: Any) -> Iterator[Servers]:
    slots = changed.pop("slots", [{"name": "people", "per_client": 1, "columns": [dict(c) for c in COLUMNS]}])
    options = {name: {True: "yes"}.get(value, value) for name, value in place.options}
    fields = {"options": options, "slots": slots, **changed}
    servers = Servers.of(folder, place.protocol, clients, n=place.parties, **fields)
    try:
        yield servers
    finally:
        servers.close()


def closed(servers: Servers) -> tuple[Path, list[Path]]:
    """Ends the time for packets; returns the campaign's file and the settings of all servers."""
    settings = [servers.settings(i) for i in range(servers.n)]
    servers.close()
    file = servers.folder / "campaign.json"
    file.write_bytes(servers.campaign.json)
    return file, settings


def histories(servers: Servers) -> list[History]:
    found = []
    for i in range(servers.n):
        servers.open(i)
        query = "SELECT looks, list_hash FROM campaigns"
        looks, list_hash = servers.stores[i].read(lambda c: c.execute(query).fetchone())  # noqa: B023
        found.append(History(looks, list_hash or b""))
        servers.stores[i].close()
    return found


def states(mpc: qr.Session) -> list[Any]:
    return [state for bound in mpc._campaigns.bound.values() for state in bound.states.values()]
