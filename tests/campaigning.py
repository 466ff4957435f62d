"""Campaigns for tests: servers with stores in a folder, clients with keys, and packets from one to the others."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from quorate.campaigns import Intake, Store, approve, invitations
from quorate_client import Campaign, ClientKey, ServiceKey, wire, words
from quorate_client.invitation import Invitation
from quorate_client.keys import to_text, write_private

STORE_KEY = bytes(range(32))
NOW = 1_800_000_000.0  # the clock of tests: a time in 2027
CLOSES = NOW + 86_400

AGES = {"name": "age", "dtype": "uint(7)", "low": "0", "high": "63"}
SALARY = {"name": "salary", "dtype": "int(64)", "shape": [2]}
FLAGS = {"name": "flags", "dtype": "bit", "shape": [11]}


def text_of_time(time: float) -> str:
    return datetime.datetime.fromtimestamp(time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def numbers_of(protocol: str) -> int:
    return {"rss": 3, "aby": 2, "pika": 3, "spdz2k": 2}[protocol]


def campaign_of(services: list[ServiceKey], clients: list[ClientKey] | int, **changed: Any) -> Campaign:
    """Returns a campaign of these servers, for listed clients or a number of invitations."""
    servers = [
        {
            "url": f"https://127.0.0.1:{9000 + i}",
            "certificate": to_text(bytes([i]) * 32),
            "seal": to_text(service.seal),
            "sign": to_text(service.sign),
        }
        for i, service in enumerate(services)
    ]
    listed = [] if isinstance(clients, int) else sorted(to_text(client.id) for client in clients)
    fields = {
        "name": "salaries",
        "id": to_text(bytes(16)),
        "protocol": "rss",
        "options": {},
        "program": "",
        "at_least": 1,
        "closes": text_of_time(CLOSES),
        "again": 0,
        "check": "bound",
        "origins": ["https://survey.example"],
        "servers": servers,
        "clients": listed,
        "invitations": clients if isinstance(clients, int) else 0,
        "slots": [{"name": "person", "per_client": 1, "columns": [AGES, SALARY, FLAGS]}],
        **changed,
    }
    for slot in fields["slots"]:
        for column in [*slot["columns"], *slot.get("results", [])]:
            column.setdefault("shape", [])
    return Campaign.from_json(json.dumps(fields, separators=(",", ":"), sort_keys=True).encode())


VALUES = {"age": 40, "salary": [1, -2], "flags": [True] * 11}


@dataclasses.dataclass
class Servers:
    """The servers of one campaign, without a network."""

    folder: Path
    campaign: Campaign
    services: list[ServiceKey]
    clients: list[ClientKey]
    clock: Clock
    stores: list[Store] = dataclasses.field(default_factory=list)
    intakes: list[Intake] = dataclasses.field(default_factory=list)
    masks: dict[tuple[int, int], bytes] = dataclasses.field(default_factory=dict)

    @staticmethod
    def of(folder: Path, protocol: str = "rss", clients: int = 3, invited: bool = False, **changed: Any) -> Servers:
        services = [ServiceKey.generate() for _ in range(changed.pop("n", numbers_of(protocol)))]
        keys = sorted((ClientKey.generate() for _ in range(clients)), key=lambda key: to_text(key.id))
        campaign = campaign_of(services, clients if invited else keys, protocol=protocol, **changed)
        made = Servers(folder, campaign, services, keys, Clock())
        for i in range(len(services)):
            made.open(i)
        return made

    def open(self, server: int) -> None:
        """Opens a server's store, again if it was closed."""
        store = Store(self.folder / f"server{server}" / "store.db", STORE_KEY)
        approve(store, self.campaign, server, self.services[server], self.clock.now)
        intake = Intake(store, self.campaign, server, self.services[server], self.clock)
        self.stores[server : server + 1] = [store]
        self.intakes[server : server + 1] = [intake]

    def settings(self, server: int) -> Path:
        """Writes the configuration of a server, and returns its `serve.toml`."""
        folder = self.folder / f"server{server}"
        entries = [f'[[party]]\naddress = "127.0.0.1:{9100 + i}"\ncertificate = "party.crt"\n' for i in range(self.n)]
        head = f'me = {server}\nprotocol = "{self.campaign.protocol}"\nkey = "party.key"\n'
        (folder / "party.toml").write_text(head + "".join(entries))
        for name, data in (("store.key", STORE_KEY), ("service.key", None)):
            if not (folder / name).exists():
                if data is None:
                    self.services[server].save(folder / name)
                else:
                    write_private(folder / name, data)
        file = folder / "serve.toml"
        file.write_text(
            f'listen = "127.0.0.1:{9000 + server}"\nstore = "store.db"\nstore_key = "store.key"\n'
            'service_key = "service.key"\ncertificate = "serve.crt"\nkey = "serve.key"\n'
        )
        return file

    def anew(self, **changed: Any) -> Servers:
        """Returns these servers with a campaign of another `id`, which they approve in the same stores."""
        listed = 0 if self.campaign.invitations else self.clients
        fields = {"protocol": self.campaign.protocol, "id": to_text(os.urandom(16)), **changed}
        campaign = campaign_of(self.services, listed or self.campaign.invitations, **fields)
        made = dataclasses.replace(self, campaign=campaign, stores=list(self.stores), intakes=[], masks={})
        for i, store in enumerate(made.stores):
            approve(store, campaign, i, self.services[i], self.clock.now)
            made.intakes.append(Intake(store, campaign, i, self.services[i], self.clock))
        return made

    @property
    def n(self) -> int:
        return len(self.services)

    def invitation(self, place: int) -> Invitation:
        return Invitation(place, tuple(invitations(store, self.campaign)[place] for store in self.stores))

    def packets(
        self,
        client: int,
        number: int = 1,
        values: dict[str, Any] | None = None,
        *,
        receivers: tuple[int, ...] | None = None,
        invitation: Invitation | None = None,
        key: ClientKey | None = None,
        **fields: Any,
    ) -> list[bytes]:
        """Returns the packets of a client for all servers; `fields` are those of the header."""
        slot = self.campaign.slots[fields.get("slot", 0)]
        kind = fields.setdefault("kind", wire.VALUES)
        to = receivers if receivers is not None else () if kind else tuple(range(self.campaign.receivers))
        own = key or self.clients[client]
        fields = {"slot": 0, "item": 0, "base": number - 1, "at_least": 1, "place": client, **fields}
        campaign = fields.pop("campaign", self.campaign.hash)
        header = wire.Header(campaign=campaign, client=own.id, number=number, receivers=to, **fields)
        contents: dict[int, Any] = {}
        if kind == wire.VALUES:
            encoded = words.encode(slot, VALUES if values is None else values)
            if slot.results:
                self.masks[client, number] = seed = os.urandom(32)
                words.mask(slot, encoded, seed, header.context)
            contents = wire.split(self.campaign, header, encoded)
        if invitation is None and self.campaign.invitations:
            invitation = self.invitation(client)
        return wire.make_packets(self.campaign, own, header, contents, invitation)

    def give(self, client: int, number: int = 1, values: dict[str, Any] | None = None, **fields: Any) -> list[bytes]:
        """Sends a client's packets to all servers, and returns them."""
        bodies = self.packets(client, number, values, **fields)
        for intake, body in zip(self.intakes, bodies, strict=True):
            intake.packet(body)
        return bodies

    def close(self) -> None:
        for store in self.stores:
            store.close()


def combined(parts: list[dict[Any, np.ndarray]], campaign: Campaign, slot: int = 0) -> dict[Any, np.ndarray]:
    """Returns the values that parts of all servers add up to, as unsigned numbers below 2^k."""
    out = {}
    layout = campaign.slots[slot]
    for name, column in zip(layout.names, layout.layout, strict=True):
        each = [part[name] for part in parts]
        if column.dtype.kind == "bit":
            out[name] = np.logical_xor.reduce(each)
        else:
            out[name] = np.add.reduce(each) & np.uint64((1 << column.dtype.bits) - 1)
    return out
