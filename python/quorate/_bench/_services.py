"""Benchmarks of what outlives a session: packets of clients, and kept values: `quorate bench clients kept`."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._bench._applications import Asked, links_of
from quorate._bench._rows import filled, phases, summary
from quorate.clients import require_cryptography
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, QuorateError
from quorate.session import Network, Session, local

if TYPE_CHECKING:
    from quorate_client import Campaign, ClientKey, ServiceKey

__all__ = ["NAMES", "rows"]

NAMES = ("clients", "kept")

#: Clients, the values of each, elements that are kept, and runs.
CLIENTS, VALUES, ELEMENTS, RUNS = 1000, 10, 1_000_000, 3

#: Clients whose packets arrive together.
_AT_ONCE = 100

_LARGEST = 1_000_000

Row = dict[str, Any]
Opened = Callable[[], Session]


def rows(names: Sequence[str], asked: Asked) -> Iterator[Row]:
    """Yields rows for packets of clients and for kept values, in the format of the other workloads.

    Raises:
        ConfigError: at once, if there is no such protocol or link, or `cryptography` is missing. Without names nothing
            is checked.
    """
    if not names:
        return iter(())
    require_cryptography()
    return _measurements(names, asked, links_of(asked))


def _measurements(names: Sequence[str], asked: Asked, links: dict[str, Network | None]) -> Iterator[Row]:
    measure = {"clients": _clients, "kept": _kept}
    for name, parties, (link, network) in itertools.product(names, asked.parties or (None,), links.items()):

        def opened(parties: int | None = parties, network: Network | None = network) -> Session:
            return local(asked.protocol, parties=parties, network=network, check=False, **asked.options)

        with tempfile.TemporaryDirectory(prefix="quorate-bench-") as folder:
            yield from measure[name](Path(folder), opened, link)


class _Timed:
    """Times steps of sessions, of which several runs make one row."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[list[np.ndarray], list[float]]] = {}

    @contextlib.contextmanager
    def step(self, name: str, mpc: Session) -> Iterator[None]:
        """Times a block."""
        before, started = phases(mpc), time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        taken, walls = self._taken.setdefault(name, ([], []))
        taken.append(phases(mpc) - before)
        walls.append(seconds)

    def rows(self, mpc: Session, batch: int, link: str) -> Iterator[Row]:
        """Yields a row for each step."""
        for name, (taken, walls) in self._taken.items():
            yield filled(name, mpc, (64, batch), link, None, summary(taken, walls), [])


def _files(folder: Path, mpc: Session) -> list[Path]:
    """Writes the files of all servers, each with a key of its store; returns their `party.toml`."""
    configs = []
    for party in range(mpc.parties):
        own = folder / f"server{party}"
        own.mkdir()
        key = os.open(own / "store.key", os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(key, "wb") as file:
            file.write(os.urandom(32))
        names = ("certificate", "key", "service_key")
        (own / "serve.toml").write_text(
            'listen = "127.0.0.1:1"\nstore = "store.db"\nstore_key = "store.key"\n'
            + "".join(f'{name} = "{name}"\n' for name in names)
        )
        listed = '[[party]]\naddress = "127.0.0.1:1"\ncertificate = "none.crt"\n' * mpc.parties
        configs.append(own / "party.toml")
        configs[-1].write_text(f'protocol = "{mpc.protocol}"\nme = {party}\n{listed}')
    return configs


# ---- packets of clients --------------------------------------------------------------------------------------------


def _clients(folder: Path, opened: Opened, link: str) -> Iterator[Row]:
    """Measures how servers take packets, without HTTPS; then how a program reads them, and their sum.

    A campaign of servers that do not cheat is read in `RUNS` sessions; where they may cheat, it can be read once.
    """
    from quorate_client import Campaign, ClientKey, ServiceKey

    with opened() as mpc:
        services = [ServiceKey.generate() for _ in range(mpc.parties)]
        keys = [ClientKey.generate() for _ in range(CLIENTS)]
        configs, fields = _files(folder, mpc), _stated(mpc, services, keys)
        campaign = Campaign.from_json(json.dumps(fields, separators=(",", ":"), sort_keys=True).encode())
        file = folder / "campaign.json"
        file.write_bytes(campaign.json)
        values, timed = np.random.default_rng(9).integers(0, _LARGEST, (CLIENTS, VALUES)), _Timed()
        packets = [_packets(campaign, key, own) for key, own in zip(keys, values, strict=True)]
        for server, (config, service) in enumerate(zip(configs, services, strict=True)):
            _give(campaign, server, service, config.parent, [each[server] for each in packets], timed, mpc)
    for _ in range(campaign.again + 1):
        with opened() as mpc:
            with timed.step("clients: reading", mpc):
                people = mpc.campaign(file, config=configs)
            with timed.step("clients: a sum", mpc):
                total = people["x"].sum().reveal()
        if total != values.sum():
            raise QuorateError(f"wrong result {total}; please report this defect")
    yield from timed.rows(mpc, CLIENTS, link)


def _stated(mpc: Session, services: list[ServiceKey], keys: list[ClientKey]) -> dict[str, Any]:
    """Returns the fields of a campaign that checks bounds and lists all clients."""
    from quorate_client.families import may_cheat
    from quorate_client.keys import to_text

    options = {name: value for name, value in mpc._options.family.items() if value != "no"}
    column = {"name": "x", "dtype": "int(64)", "shape": [VALUES], "low": "0", "high": str(_LARGEST)}
    places = [
        {"url": f"https://127.0.0.1:{server + 1}", "certificate": to_text(bytes([server]) * 32),
         "seal": to_text(key.seal), "sign": to_text(key.sign)}
        for server, key in enumerate(services)
    ]  # fmt: skip
    return {
        "name": "bench",
        "id": to_text(os.urandom(16)),
        "protocol": mpc.protocol,
        "options": options,
        "program": "",
        "at_least": 1,
        "closes": "2099-12-31T00:00:00Z",
        "again": 0 if may_cheat(mpc.protocol, options) else RUNS - 1,
        "check": "bound",
        "origins": [],
        "servers": places,
        "clients": sorted(to_text(key.id) for key in keys),
        "invitations": 0,
        "slots": [{"name": "people", "per_client": 1, "columns": [column]}],
    }


def _packets(campaign: Campaign, key: ClientKey, values: np.ndarray) -> list[bytes]:
    """Returns a client's packets for all servers."""
    from quorate_client import wire, words

    place = campaign.client_index(key.id)
    if place is None:
        raise LookupError("a client that was just listed")
    receivers = tuple(range(campaign.receivers))
    header = wire.Header(campaign.hash, key.id, place, 0, 0, 1, 0, 1, wire.VALUES, receivers)
    encoded = words.encode(campaign.slots[0], {"x": values})
    return wire.make_packets(campaign, key, header, wire.split(campaign, header, encoded), None)


def _give(
    campaign: Campaign,
    server: int,
    service: ServiceKey,
    folder: Path,
    packets: list[bytes],
    timed: _Timed,
    mpc: Session,
) -> None:
    """Has a server check, store and confirm packets, of `_AT_ONCE` clients at a time; closes the campaign there."""
    from quorate.campaigns import Intake, Store, approve, close

    with contextlib.closing(Store(folder / "store.db", (folder / "store.key").read_bytes())) as store:
        approve(store, campaign, server, service)
        intake = Intake(store, campaign, server, service)
        with timed.step("clients: storing", mpc):
            for first in range(0, len(packets), _AT_ONCE):
                offers = [intake.check(packet) for packet in packets[first : first + _AT_ONCE]]
                stored = [intake.store(offer) for offer in offers]  # they share syncs of the disk
                for offer, future in zip(offers, stored, strict=True):
                    intake.receipt(offer, future.result())
        close(store, campaign.hash)


# ---- kept values ---------------------------------------------------------------------------------------------------


def _kept(folder: Path, opened: Opened, link: str) -> Iterator[Row]:
    """Measures how a session keeps a value, and how later ones read it and use it in a sum."""
    values, timed = np.arange(ELEMENTS) - ELEMENTS // 2, _Timed()
    with opened() as mpc:
        configs = _files(folder, mpc)
        x = mpc.input(values, owner=0, dtype=int_dtype(64))
        mpc.reveal_all(x[:0])
        try:
            for _ in range(RUNS):
                with timed.step("kept: keeping", mpc):
                    mpc.keep("values", x, config=configs)
        except ConfigError as error:  # families whose parties may cheat keep nothing
            yield filled("kept: keeping", mpc, (64, ELEMENTS), link, f"skipped: {error}", None, [])
            return
    for _ in range(RUNS):
        with opened() as mpc:
            with timed.step("kept: reading", mpc):
                y = mpc.kept("values", config=configs)
            with timed.step("kept: a sum", mpc):
                total = y.sum().reveal()
        if total != values.sum():
            raise QuorateError(f"wrong result {total}; please report this defect")
    yield from timed.rows(mpc, ELEMENTS, link)
