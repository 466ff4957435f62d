"""The campaigns that a server holds in memory: how many, of how many bytes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from campaigning import STORE_KEY, campaign_of
from quorate.campaigns import Store, approve
from quorate.serve import _registry
from quorate.serve._registry import Registry
from quorate_client import Campaign, ClientKey, ServiceKey
from quorate_client.keys import to_text

SERVICES = [ServiceKey.generate() for _ in range(3)]


def campaigns_of(store: Store, sizes: list[int]) -> list[Campaign]:
    """Approves campaigns with these numbers of clients."""
    made = []
    for number, size in enumerate(sizes):
        keys = [ClientKey.generate() for _ in range(size)]
        made.append(campaign_of(SERVICES, keys, name=f"c{number}", id=to_text(bytes([number]) * 16)))
        approve(store, made[-1], 0, SERVICES[0])
    return made


def asked(registry: Registry, campaigns: list[Campaign]) -> list[bool]:
    """Asks for campaigns in turn; returns which of them are held then."""
    for one in campaigns:
        assert registry.intake(to_text(one.hash)).campaign == one
    return [registry.held(to_text(one.hash)) is not None for one in campaigns]


def test_campaigns_beyond_a_number_of_bytes_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Store(tmp_path / "store.db", STORE_KEY)) as store:
        made = campaigns_of(store, [40, 40, 40, 1])
        registry = Registry(store, 0, SERVICES[0])
        monkeypatch.setattr(_registry, "_MOST_BYTES", len(made[0].json) + len(made[1].json) + len(made[3].json) // 2)
        assert asked(registry, made[:3]) == [False, True, True]
        assert asked(registry, [made[1], made[2], made[3]]) == [False, True, True]
        for _ in range(5):  # counts do not drift
            assert asked(registry, made)[2:] == [True, True]
        monkeypatch.setattr(_registry, "_MOST_BYTES", 10)
        assert asked(registry, [made[0]]) == [True]  # one of any size is held
        assert asked(registry, [made[0], made[3]]) == [False, True]


def test_no_more_campaigns_are_held_than_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_MOST", 2)
    with contextlib.closing(Store(tmp_path / "store.db", STORE_KEY)) as store:
        registry = Registry(store, 0, SERVICES[0])
        assert asked(registry, campaigns_of(store, [1, 1, 1])) == [False, True, True]
