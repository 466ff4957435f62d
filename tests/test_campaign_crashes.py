"""Servers that are killed: at every statement and sync of a campaign's life, and at random ones of random orders.

A kill is simulated: the n-th statement of the store, or sync of a key's file, does not happen, the files are copied as
they are, and the next process gets the copies.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from campaigning import NOW, STORE_KEY, Clock, campaign_of
from fuse import FUSE, Killed, fused
from quorate.campaigns import (
    Frozen,
    History,
    Intake,
    Refused,
    Spent,
    Store,
    StoreError,
    agreed,
    approve,
    close,
    end,
    find,
    present,
)
from quorate_client import Campaign, ClientKey, ServiceKey, wire

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SERVICES = [ServiceKey.generate() for _ in range(2)]
CLIENTS = sorted((ClientKey.generate() for _ in range(2)), key=lambda key: key.id)
COLUMNS = [{"name": "x", "dtype": "uint(7)", "shape": [3]}]
SLOTS = [{"name": "one", "per_client": 1, "columns": COLUMNS}]


class Machine:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path, campaign: Campaign) -> None:
        self.folder, self.campaign, self.clock, self.lives = folder, campaign, Clock(), 0
        (folder / "0").mkdir(parents=True)
        self.store: Store | None = None

    def start(self) -> None:
        """Starts the server; a crash may come on the way."""
        self.store = Store(self.folder / str(self.lives) / "store.db", STORE_KEY, None)
        with contextlib.suppress(Refused):  # it was ended
            approve(self.store, self.campaign, 1, SERVICES[1], NOW)
        self.intake = Intake(self.store, self.campaign, 1, SERVICES[1], self.clock)

    def survives(self, action: Callable[[], object]) -> bool:
        """Does something, and returns whether the server is alive afterwards."""
        try:
            action()
        except Killed:
            return False
        except StoreError:
            if not FUSE.is_blown:
                raise
            return False
        return True

    def copied(self) -> None:
        """Takes the files as a kill leaves them."""
        last = self.folder / str(self.lives)
        self.lives += 1
        shutil.copytree(last, self.folder / str(self.lives), ignore=shutil.ignore_patterns("*.lock", "*-shm"))
        FUSE.left, FUSE.is_blown = None, False
        self.stop()

    def stop(self) -> None:
        if self.store is not None:
            with contextlib.suppress(StoreError):
                self.store.close()
            self.store = None

    def rows(self, query: str) -> list[Any]:
        assert self.store is not None
        return self.store.read(lambda connection: connection.execute(query).fetchall())

    def held(self) -> dict[tuple[int, int], bytes]:
        """Returns the digests of stored packets by place and number, after a check that each has its part."""
        packets = self.rows("SELECT place, number, digest, kind FROM packets")
        parts = self.rows("SELECT place, number FROM parts")
        assert sorted(parts) == sorted((place, number) for place, number, _, kind in packets if kind == wire.VALUES)
        return {(place, number): digest for place, number, digest, _ in packets}


def campaign(**fields: Any) -> Campaign:
    return campaign_of(SERVICES, CLIENTS, protocol="aby", slots=SLOTS, again=1, **fields)


CAMPAIGN = campaign()
BODIES: dict[tuple[int, int, int, int, int], bytes] = {}


def body(client: int, number: int, base: int, kind: int, variant: int) -> bytes:
    """Returns one packet for server 1; equal arguments give equal bytes."""
    known = BODIES.get((client, number, base, kind, variant))
    if known is None:
        receivers = (0, 1) if kind == wire.VALUES else ()
        key = CLIENTS[client]
        place = CAMPAIGN.client_index(key.id)
        assert place is not None
        header = wire.Header(CAMPAIGN.hash, key.id, place, 0, 0, number, base, 1, kind, receivers)
        contents: dict[int, bytes | memoryview] = {0: bytes(32), 1: bytes(3)} if receivers else {}
        known = wire.make_packets(CAMPAIGN, key, header, contents)[1]
        BODIES[client, number, base, kind, variant] = known
    return known


def life(machine: Machine, done: list[str]) -> Iterator[Callable[[], object]]:
    """Yields the steps of a campaign, from its approval to its end; each may be repeated after a kill."""
    first, second = body(0, 1, 0, 0, 0), body(0, 2, 1, 0, 0)

    def give(data: bytes) -> None:
        if "closed" not in done:
            machine.intake.packet(data)

    def frozen() -> Frozen:
        assert machine.store is not None
        close(machine.store, CAMPAIGN.hash, NOW)
        done.append("closed")
        return Frozen(machine.store, CAMPAIGN, 1, find(machine.store, CAMPAIGN.hash.hex()).history)

    def seen() -> None:
        one = frozen()
        if one.history.looks == 0:
            one.seen(1, bytes(32))
        done.append("seen")

    def outcomes() -> None:
        one = frozen()
        words = agreed([one.record(0)])
        one.outcomes(0, words, nobody := np.zeros(len(words), np.bool_), nobody, present(words))

    def ended() -> None:
        assert machine.store is not None
        end(machine.store, CAMPAIGN.hash, NOW)

    yield machine.start
    yield lambda: give(first)
    yield lambda: give(second)
    yield lambda: give(body(1, 5, 0, 0, 0))
    yield lambda: give(body(1, 6, 5, wire.WITHDRAWN, 0))
    yield seen
    yield outcomes
    yield ended


def whole_life(machine: Machine) -> None:
    """Lives through all steps; a kill is followed by a start, and the step that it cut off is done again."""
    done: list[str] = []
    for number, step in enumerate(life(machine, done)):
        while not machine.survives(step):
            machine.copied()
            while step != machine.start and not machine.survives(machine.start):
                machine.copied()
            confirmed = [(0, 1), (0, 2), (1, 5), (1, 6)][: max(number - 1, 0)]
            if 0 < number < 7:  # from the first packet to before the end
                assert set(machine.held()) >= set(confirmed)
        if number == 5:
            assert machine.rows("SELECT looks FROM campaigns") == [(1,)]


def test_a_kill_at_every_write_of_a_campaigns_life(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        with fused():
            machine = Machine(folder / "whole", CAMPAIGN)
            whole_life(machine)
            machine.stop()
            writes = FUSE.seen
        assert writes > 60
        for at in range(writes):
            with fused():
                machine = Machine(folder / str(at), CAMPAIGN)
                FUSE.left = at
                whole_life(machine)
                assert machine.lives == 1, f"nobody was killed at write {at}"
                states = machine.rows("SELECT closed_at, ended_at, looks FROM campaigns")
                assert states == [(int(NOW), int(NOW), 1)], at
                found = machine.rows("SELECT place, number, outcome FROM outcomes ORDER BY place")
                assert found == [(0, 2, "in"), (1, 6, "withdrawn")], at
                assert machine.held() == {}
                assert list(machine.folder.rglob(f"{machine.lives}/**/*.key")) == []
                machine.stop()
            shutil.rmtree(folder / str(at))
    finally:
        shutil.rmtree(folder)


class Packets(RuleBasedStateMachine):
    """Packets in any order, with kills and closings; compared with a model of a few lines."""

    @initialize()
    def begin(self) -> None:
        self.context = contextlib.ExitStack()
        self.context.enter_context(fused())
        folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.context.callback(shutil.rmtree, folder)
        self.machine = Machine(folder / "server", CAMPAIGN)
        self.machine.start()
        self.model: dict[tuple[int, int], bytes] = {}
        self.is_closed = False

    def teardown(self) -> None:
        self.machine.stop()
        self.context.close()

    def expected(self, client: int, number: int, base: int, digest: bytes) -> dict[tuple[int, int], bytes] | int:
        """Returns what a server has after a packet, or the status of its refusal."""
        own = {n: d for (c, n), d in self.model.items() if c == client}
        if own.get(number) == digest:
            return self.model
        if self.is_closed:
            return 410
        if own and (number in own or number < max(own)):
            return 409
        kept = {(c, n): d for (c, n), d in self.model.items() if c != client or n == base}
        return {**kept, (client, number): digest}

    @rule(
        client=st.integers(0, 1),
        number=st.integers(1, 6),
        base=st.integers(0, 5),
        kind=st.integers(0, 1),
        variant=st.integers(0, 1),
        kill=st.none() | st.integers(0, 12),
    )
    def give(self, client: int, number: int, base: int, kind: int, variant: int, kill: int | None) -> None:
        base = min(base, number - 1)
        data = body(client, number, base, kind, variant)
        digest = wire.Header.unpack(data).digest
        after = self.expected(client, number, base, digest)
        FUSE.left = kill
        try:
            self.machine.intake.packet(data)
            assert isinstance(after, dict), "the packet was to be refused"
            self.model = after
        except Refused as error:
            assert error.status == after
        except StoreError:
            assert FUSE.is_blown
        if FUSE.is_blown:
            self.start_again()
            held = self.machine.held()
            if held != self.model:
                assert held == after
                self.model = held
        FUSE.left = None

    @rule(kill=st.none() | st.integers(0, 8))
    def close(self, kill: int | None) -> None:
        FUSE.left = kill
        store = self.machine.store
        assert store is not None
        if self.machine.survives(lambda: close(store, CAMPAIGN.hash, NOW)):
            self.is_closed = True
        else:
            self.start_again()
            was = self.is_closed
            self.is_closed = self.machine.rows("SELECT closed_at FROM campaigns") != [(None,)]
            assert self.is_closed or not was
        FUSE.left = None

    @rule()
    def start_again(self) -> None:
        self.machine.copied()
        self.machine.start()

    @invariant()
    def what_is_stored_is_what_the_model_has(self) -> None:
        assert self.machine.held() == self.model

    @invariant()
    def two_packets_of_an_item_at_most(self) -> None:
        numbers = [sorted(n for c, n in self.model if c == client) for client in range(2)]
        assert all(len(one) <= 2 for one in numbers)


Packets.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestPackets = Packets.TestCase


def test_two_runs_of_one_store_mark_one_look(tmp_path: Path) -> None:
    """A second run cannot begin while the first goes on; if it did, the mark would be set once all the same."""
    machine = Machine(tmp_path / "server", CAMPAIGN)
    machine.start()
    machine.clock.now = NOW
    assert machine.store is not None
    close(machine.store, CAMPAIGN.hash, NOW)
    beside = Store(machine.store.path, STORE_KEY, None)
    first, second = (Frozen(store, CAMPAIGN, 1, History(0, b"")) for store in (machine.store, beside))
    first.seen(1, bytes(32))
    with pytest.raises(Spent, match="another run of this campaign has seen a result meanwhile"):
        second.seen(1, bytes(32))
    with pytest.raises(Spent):
        second.seen(2, b"\1" * 32)
    second.seen(2, bytes(32))
    with pytest.raises(Spent):
        first.seen(2, bytes(32))
    beside.close()
    machine.stop()
