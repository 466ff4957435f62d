"""Results for single clients: kept under their masks, once for each look, and given to their client alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate_client
from campaigning import CLOSES, Servers, combined
from quorate.campaigns import Frozen, History, Refused, agreed, approve, close, end, expire, freeze
from quorate_client import NoResult, wire, words
from quorate_client.keys import to_text
from quorate_client.statements import sign_request
from serving import network

RESULTS = [
    {"name": "bonus", "dtype": "fixed(32, 8)", "shape": [2]},
    {"name": "won", "dtype": "bit", "shape": [3]},
    {"name": "rank", "dtype": "uint(5)", "shape": []},
    {"name": "total", "dtype": "int(64)", "shape": []},
]
SLOT = {
    "name": "person",
    "per_client": 2,
    "columns": [{"name": "x", "dtype": "int(32)", "shape": []}],
    "results": RESULTS,
}
NAMES = [column["name"] for column in RESULTS]


def revealed(opened: list[Frozen], look: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns the agreed list, and results plus masks: what a run would reveal. The results depend on the row."""
    chosen = agreed([one.record(0) for one in opened])
    slot = opened[0].campaign.slots[0]
    masks = combined([one.parts(0, chosen) for one in opened], opened[0].campaign)
    out = {}
    for column in slot.results:
        mask = masks["result", look, column.name]
        if column.dtype.kind == "bit":
            out[column.name] = mask ^ truth(len(chosen), look)[column.name]
        else:
            ring = np.uint64((1 << column.dtype.bits) - 1)
            out[column.name] = (mask + truth(len(chosen), look)[column.name]) & ring
    return chosen, out


def truth(rows: int, look: int) -> dict[str, np.ndarray]:
    row = np.arange(rows, dtype=np.uint64) + np.uint64(look)
    return {
        "bonus": np.stack([row * np.uint64(256), np.uint64(2**32) - np.uint64(128) * (row + np.uint64(1))], axis=1),
        "won": np.stack([row % 2 == 0, row % 3 == 0, row > 9], axis=1),
        "rank": row % np.uint64(32),
        "total": np.uint64(2**64 - 1) - row,
    }


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers.of(tmp_path, slots=[SLOT], again=1)
    for client, item in ((0, 0), (0, 1), (2, 1)):
        made.give(client, 1 + item, {"x": 5}, item=item)
    made.clock.now = CLOSES
    yield made
    made.close()


@contextlib.contextmanager
def frozen(servers: Servers) -> Iterator[list[Frozen]]:
    opened = [freeze(servers.campaign, servers.settings(i), servers.clock) for i in range(servers.n)]
    yield opened
    for one in opened:
        one.close()


def asked(servers: Servers, client: int, server: int = 0) -> list[Any]:
    key = servers.clients[client]
    signature = sign_request(key, servers.campaign.hash, server, int(servers.clock.now))
    return servers.intakes[server].results(to_text(key.id), signature)


def test_each_client_gets_its_own_results_signed(servers: Servers) -> None:
    with frozen(servers) as opened:
        for look in (0, 1):
            chosen, values = revealed(opened, look)
            for one in opened:
                one.results(0, look, chosen, values)
    assert asked(servers, 1) == []
    for server in range(3):
        found = asked(servers, 0, server)
        assert [(r.item, r.number, r.look) for r in found] == [(0, 1, 0), (0, 1, 1), (1, 2, 0), (1, 2, 1)]
        assert all(r.is_by(servers.services[server].sign) for r in found)
        assert [r.data for r in found] == [r.data for r in asked(servers, 0)]
    last = asked(servers, 2)[1]
    assert (last.item, last.look) == (1, 1)
    slot, seed = servers.campaign.slots[0], servers.masks[2, 2]
    header = wire.Header(servers.campaign.hash, servers.clients[2].id, 2, 0, 1, 2, 0, 1, 0, ())
    plain = words.unmasked(slot, last.data, 1, seed, header.context)
    row = 2 * 2 + 1 + 1
    assert plain["bonus"].tolist() == [row, -(row + 1) / 2]
    assert plain["won"].tolist() == [True, True, False]
    assert (int(plain["rank"]), int(plain["total"])) == (row, -1 - row)


def test_a_mask_hides_one_result(servers: Servers) -> None:
    with frozen(servers) as opened:
        chosen, values = revealed(opened, 0)
        opened[0].results(0, 0, chosen, values)
        opened[0].results(0, 0, chosen, values)  # as after a crash
        changed = {**values, "rank": values["rank"] ^ np.uint64(1)}
        with pytest.raises(Refused, match="other results of look 0 are kept already"):
            opened[0].results(0, 0, chosen, changed)
        less = chosen.copy()
        less[0] = 0
        with pytest.raises(Refused, match="other results of look 0 are kept already"):
            opened[0].results(0, 0, less, values)
        with pytest.raises(Refused, match="no masks for look 2: it has 2 looks"):
            opened[0].results(0, 2, chosen, values)
        assert len(asked(servers, 0)) == 2
        opened[0].results(0, 1, *revealed(opened, 1))
    assert [result.look for result in asked(servers, 0)] == [0, 1, 0, 1]


def test_results_of_another_form_are_refused(servers: Servers) -> None:
    with frozen(servers) as opened:
        chosen, values = revealed(opened, 0)
        wrong = [
            (
                {name: values[name] for name in NAMES[1:]},
                "not those of slot person: give these: bonus, won, rank, total",
            ),
            ({**values, "other": values["rank"]}, "not those of slot person"),
            ({**values, "rank": values["rank"][:3]}, r"result rank is not uint64 of shape \(6,\)"),
            ({**values, "rank": values["rank"].astype(np.int64)}, "result rank is not uint64"),
            ({**values, "won": values["won"].astype(np.uint64)}, "result won is not bool"),
            ({**values, "rank": values["rank"] + np.uint64(32)}, "result rank has words of more than 5 bits"),
        ]
        for bad, match in wrong:
            with pytest.raises(Refused, match=match):
                opened[0].results(0, 0, chosen, bad)
        assert asked(servers, 0) == []
        opened[0].results(0, 0, chosen, {**values, "rank": (values["rank"] + np.uint64(32)) % np.uint64(32)})
    assert len(asked(servers, 0)) == 2


def test_only_the_client_gets_its_results(servers: Servers) -> None:
    key, other = servers.clients[0], servers.clients[1]
    signature = sign_request(other, servers.campaign.hash, 0, int(servers.clock.now))
    with pytest.raises(Refused) as error:
        servers.intakes[0].results(to_text(key.id), signature)
    assert error.value.status == 401


def test_results_outlive_the_packets_for_some_days(servers: Servers) -> None:
    with frozen(servers) as opened:
        chosen, values = revealed(opened, 0)
        opened[0].results(0, 0, chosen, values)
    store, now = servers.stores[0], servers.clock.now
    assert expire(store, 30, now + 10**9) == 0  # the campaign has not ended
    end(store, servers.campaign.hash, now)
    assert len(asked(servers, 0)) == 2
    assert expire(store, 30, now + 30 * 86_400) == 0
    assert expire(store, 30, now + 30 * 86_400 + 1) == 3
    assert asked(servers, 0) == []


def test_clients_fetch_their_results_over_https(tmp_path: Path) -> None:
    with network(tmp_path, slots=[{**SLOT, "per_client": 1}]) as net:
        clients = [
            quorate_client.client(net.campaign, key=key, store=tmp_path / f"box{i}") for i, key in enumerate(net.keys)
        ]
        clients[1].submit({"x": -4})
        with pytest.raises(NoResult):
            clients[1].result()
        with contextlib.ExitStack() as stack:
            opened = []
            for server in net.servers:
                store = server.store()
                stack.callback(store.close)
                assert not approve(store, net.campaign, server.me, server.key)
                close(store, net.campaign.hash)
                opened.append(Frozen(store, net.campaign, server.me, History(0, b"")))
            chosen, values = revealed(opened, 0)
            for one in opened[:2]:
                one.results(0, 0, chosen, values)
            with pytest.raises(NoResult):
                clients[1].result()
            opened[2].results(0, 0, chosen, values)
            for one in opened:
                end(one._store, one.campaign.hash)
        found = clients[1].result()
        assert found["bonus"].tolist() == [1, -1] and int(found["total"]) == -2
        with pytest.raises(NoResult):
            clients[0].result()
