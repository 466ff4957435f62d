"""Attempts to enter values where servers may cheat: what is on the disk first, and what a failure leaves behind."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
import quorate.campaigns as campaigns
import test_campaign_crashes as crashes
from campaigning import CLOSES, NOW, campaign_of
from lying import Lie, check, give_changed, holders, lie_at, read, revealed, slots, tag_off, tell, values_of
from protocols import Place, among
from quorate._command._explain import Book, Explaining
from quorate.campaigns import Proofs, Refused, Spent, Store, close
from quorate.campaigns import _attempts as attempts
from quorate.tables._tagged_entry import TaggedEntry
from quorate_client import wire
from quorate_client.errors import CampaignError
from submitting import CHEATING, closed, served, states

PLACE = Place("spdz2k", 2)


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


def on_disk(folder: Path, server: int, query: str) -> list[Any]:
    """Reads a server's store as another process does: what is not committed is not there."""
    with contextlib.closing(sqlite3.connect(folder / f"server{server}" / "store.db")) as connection:
        return connection.execute(query).fetchall()


def noting(monkeypatch: pytest.MonkeyPatch, look: Callable[[str], None]) -> None:
    """Has `look` called with the name of each step of the entry before the holders' inputs are made."""
    inputs = TaggedEntry._inputs

    def noted(self: TaggedEntry, name: str, *rest: Any) -> Any:
        look(name)
        return inputs(self, name, *rest)

    monkeypatch.setattr(TaggedEntry, "_inputs", noted)


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_attempts_and_verdicts_are_on_the_disk_first(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt before words are input, and each no before it is said."""
    with served(tmp_path, place, 4, slots=slots(place)) as servers:
        for i in (0, 1, 2):
            servers.give(i, values=values_of(i))
        last = holders(place) - 1
        give_changed(monkeypatch, servers, 3, tag_off(last, 0, 0, lambda tagging: 0))
        file, settings = closed(servers)
        lie_at(monkeypatch, {last: {1: Lie({0: 1})}})
        seen: dict[str, list[list[Any]]] = {}
        queries = [
            "SELECT made FROM attempts",
            "SELECT place, number FROM unfit ORDER BY place",
            "SELECT looks FROM campaigns",
        ]

        def look(name: str) -> None:
            seen[name] = [[on_disk(tmp_path, i, query) for query in queries] for i in range(holders(place))]

        noting(monkeypatch, look)
        with among(place) as mpc:
            read_here = mpc.campaign(file, config=settings)
            assert list(seen)[:2] == ["words", "seed of coins"]
            assert seen["words"] == [[[(1,)], [], [(0,)]]] * holders(place)
            said = [unfit for _, unfit, _ in seen["places that fit"]]
            assert said[0] == [(1, 1), (3, 1)]
            assert said[last] == []
            check(revealed(mpc, read_here), {i: values_of(i) for i in (0, 2)})
        assert on_disk(tmp_path, 0, queries[0]) == [(1,)]


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_what_a_server_found_unfit_stays_out(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the client replaced by it: a liar that made it unfit would choose between two values otherwise."""
    last = holders(place) - 1
    with served(tmp_path, place, 4, slots=slots(place)) as servers:
        for i in (0, 1, 2):
            servers.give(i, values=values_of(i + 9))
        for i in (0, 1):
            servers.give(i, 2, values_of(i), base=1)
        file, settings = closed(servers)
        with monkeypatch.context() as patched, among(place) as mpc:
            lie_at(patched, {last: {1: Lie({0: 1}), 2: Lie({0: 1})}})
            mpc.campaign(file, config=settings)  # nothing is revealed, so another session may read it
        wanted = {0: values_of(0)}
        with among(place) as mpc:
            mpc.campaign(file, config=settings)
            records = [state.record(0) for state in states(mpc)]
            assert not records[0][1:3].any() and records[last][1:3].any()

        def without(state: Any) -> Callable[[int], Any]:
            def record(slot: int) -> Any:
                found = np.array(state.record(slot))
                found[1, 1] = 0  # denies the newer one, as those do who found it unfit
                return found

            return record

        tell(monkeypatch, {last: {"record": without}})
        check(read(place, file, settings), wanted)


class Fails(Exception):
    """A server's own failure."""


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_a_failure_costs_an_attempt_and_no_value(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        for i in (0, 1):
            servers.give(i, values=values_of(i))
        file, settings = closed(servers)

        def fails(self: Proofs, *given: Any) -> Any:
            raise Fails

        shown: list[Any] = []
        for count, step in enumerate(("words", "shown", "fit"), 1):
            with monkeypatch.context() as patched, among(place) as mpc:
                patched.setattr(Proofs, step, fails)
                with pytest.raises(Fails):
                    mpc.campaign(file, config=settings)
                patched.undo()
                made = [on_disk(tmp_path, i, "SELECT made FROM attempts") for i in range(holders(place))]
                assert made == [[(count,)]] * holders(place)
                with pytest.raises(qr.SubmissionError, match=r"the entry of slot 'people' failed in this session"):
                    mpc.campaign(file)
                assert mpc.input([3], owner=0).sum().reveal() == 3
        words = Proofs.words

        def noted(self: Proofs) -> Any:
            shown.append(self._masks)
            return words(self)

        monkeypatch.setattr(Proofs, "words", noted)
        check(read(place, file, settings), {i: values_of(i) for i in (0, 1)})
        assert len({str(masks) for masks in shown}) == 1 and shown[0][0].start > shown[0][0].stop - shown[0][0].start


def test_sixteen_attempts_spend_the_packets(tmp_path: Path) -> None:
    with served(tmp_path, PLACE, 3, slots=slots(PLACE)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)
        for path in settings:
            state = campaigns.freeze(servers.campaign, path)
            with pytest.raises(Spent, match="they have masks for 16"):
                state.attempt(0, 17)
            state.attempt(0, 15)
            for number in (1, 14, 15):
                with pytest.raises(Spent, match=f"this server has made attempt {number} before"):
                    state.attempt(0, number)
            assert state.attempts(0) == 15
            state.close()
        with among(PLACE) as mpc:
            mpc.campaign(file, config=settings)
            assert {state.attempts(0) for state in states(mpc)} == {16}
        with among(PLACE) as mpc, pytest.raises(Spent, match=r"server 0 has entered them 16 times.*: make a new c"):
            mpc.campaign(file, config=settings)


def test_no_attempt_is_made_twice_by_two_runs(tmp_path: Path) -> None:
    """Also if one server noted it and the other one was killed before: each goes on from its own number."""
    with served(tmp_path, PLACE, 3, slots=slots(PLACE)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)
        state = campaigns.freeze(servers.campaign, settings[0])
        state.attempt(0, 1)
        state.close()
        with among(PLACE) as mpc:
            given = mpc.campaign(file, config=settings)
            assert [state.attempts(0) for state in states(mpc)] == [2, 1]
            check(revealed(mpc, given), {0: values_of(0)})


def test_cheating_halts_the_campaign_at_each_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of another kind does not; nor does an operator's word last for the next time."""
    with served(tmp_path, PLACE, 3, slots=slots(PLACE)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)
        for step in ("seed of coins", "places that fit", "places that count"):
            with monkeypatch.context() as patched, among(PLACE) as mpc:

                def caught(name: str, step: str = step) -> None:
                    if name == step:
                        raise qr.CheatingDetected("a check failed")

                noting(patched, caught)
                with pytest.raises(qr.CheatingDetected):
                    mpc.campaign(file, config=settings)
            for i in range(2):
                with pytest.raises(Refused, match="`quorate campaign resume salaries`"):
                    campaigns.freeze(servers.campaign, settings[i])
                servers.open(i)
                assert campaigns.resume(servers.stores[i], servers.campaign.hash)
                servers.stores[i].close()
        check(read(PLACE, file, settings), {0: values_of(0)})


def test_a_slot_is_read_before_anything_is_revealed(tmp_path: Path) -> None:
    more_columns = [{"name": "x", "dtype": "uint(7)"}]
    both = [*slots(PLACE), {"name": "more", "per_client": 1, "columns": more_columns}]
    with served(tmp_path, PLACE, 3, slots=both) as servers:
        servers.give(0, values=values_of(0))
        servers.give(0, values={"x": 5}, slot=1)
        file, settings = closed(servers)
        with among(PLACE) as mpc:
            people = mpc.campaign(file, "people", config=settings)
            more = mpc.campaign(file, "more")
            assert {tuple(state.attempts(slot) for slot in (0, 1)) for state in states(mpc)} == {(1, 1)}
            assert mpc.campaign(file, "people") is people
            assert len(more) == 3
        with among(PLACE) as mpc:
            people = mpc.campaign(file, "people", config=settings)
            assert people["wide"].sum().reveal() == values_of(0)["wide"]
            with pytest.raises(qr.SubmissionError, match=r"call it for all slots before the first result"):
                mpc.campaign(file, "more")
            assert {tuple(state.attempts(slot) for slot in (0, 1)) for state in states(mpc)} == {(2, 1)}
            assert mpc.campaign(file, "people") is people
        with among(PLACE) as mpc, pytest.raises(Spent, match="1 of 1 looks is used"):
            mpc.campaign(file, "more", config=settings)


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_a_second_look_is_refused_by_the_campaign(tmp_path: Path, place: Place) -> None:
    with pytest.raises(CampaignError, match="again"), served(tmp_path, place, 3, slots=slots(place), again=1):
        pass
    with served(tmp_path / "none", place, 3, slots=slots(place)) as servers:
        assert servers.campaign.again == 0


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_programs_do_not_depend_on_clients_or_attempts(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All runs of the entry, and the program's own, have the hashes that `quorate explain` shows without packets."""
    bounded = slots(place)
    bounded[0]["columns"][1].update(low="0", high="100")
    given = {i: values_of(i) | {"narrow": [i, 3]} for i in range(3)}
    with served(tmp_path, place, 4, slots=bounded) as servers:
        for i, values in given.items():
            servers.give(i, values=values)
        servers.give(2, 2, kind=wire.WITHDRAWN)
        file, settings = closed(servers)

    def programs(mpc: Any, plan: Callable[..., Any]) -> list[str]:
        found: list[str] = []
        tell_all, reveal_all, is_telling = mpc._tell, mpc.reveal_all, []

        def told(array: Any, what: str, beside: Any = ()) -> Any:
            found.append(plan(array, *(other.reshape(-1)[:0] for other in beside)).program)
            is_telling.append(True)
            try:
                return tell_all(array, what, beside)
            finally:
                is_telling.pop()

        def shown(*arrays: Any, **rest: Any) -> Any:
            if not is_telling:
                found.append(plan(*arrays).program)
            return reveal_all(*arrays, **rest)

        mpc._tell, mpc.reveal_all = told, shown
        read_here = mpc.campaign(file, config=settings if not isinstance(mpc, Explaining) else None)
        found.append(plan(read_here["wide"].sum(), read_here.present).program)
        return found

    with among(place) as local:
        explaining = Explaining(local, Book())
        explained = programs(explaining, explaining.explain)
        assert len(explained) == 8 and len(set(explained)) == 8
    for attempt in (1, 2, 3):
        with monkeypatch.context() as patched, among(place) as mpc:
            if attempt == 2:
                lie_at(patched, {0: {1: Lie({0: 1})}})  # from here on, one client less
            assert programs(mpc, mpc.explain) == explained, attempt
            assert {state.attempts(0) for state in states(mpc)[: holders(place)]} == {attempt}


CAMPAIGN = campaign_of(crashes.SERVICES, crashes.CLIENTS, protocol="spdz2k", slots=crashes.SLOTS)


def steps(machine: crashes.Machine) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yields what a server notes of an entry, in order, each with what is on the disk afterwards."""

    def store() -> Store:
        assert machine.store is not None
        return machine.store

    yield "start", machine.start
    yield "closed_at", lambda: close(store(), CAMPAIGN.hash, NOW)
    yield "made", lambda: attempts.attempt(store(), CAMPAIGN.hash, 0, 1)
    yield "unfit", lambda: attempts.note_unfit(store(), CAMPAIGN.hash, 0, [(0, 0, 7), (1, 0, 9)])
    yield "halted_at", lambda: attempts.halt(store(), CAMPAIGN.hash, NOW)


def noted(machine: crashes.Machine) -> list[str]:
    """Returns which steps are on the disk of a server."""
    assert machine.store is not None
    found = ["start"]
    closed_at, halted_at = machine.rows("SELECT closed_at, halted_at FROM campaigns")[0]
    unfit = attempts.unfit_items(machine.store, CAMPAIGN.hash, 0)
    assert unfit in (set(), {(0, 0), (1, 0)})
    made = attempts.attempts(machine.store, CAMPAIGN.hash, 0)
    return found + [
        name
        for name, is_there in (("closed_at", closed_at), ("made", made), ("unfit", unfit), ("halted_at", halted_at))
        if is_there
    ]


def test_a_kill_at_every_write_of_an_entry(tmp_path: Path) -> None:
    """What was confirmed is there, and nothing after it."""
    names = [name for name, _ in steps(crashes.Machine(tmp_path / "none", CAMPAIGN))]
    with crashes.fused():
        machine = crashes.Machine(tmp_path / "whole", CAMPAIGN)
        for _, step in steps(machine):
            step()
        machine.stop()
        writes = crashes.FUSE.seen
    cut = set()
    for at in range(writes):
        with crashes.fused():
            machine = crashes.Machine(tmp_path / str(at), CAMPAIGN)
            crashes.FUSE.left, done = at, 0
            for _, step in steps(machine):
                if not machine.survives(step):
                    break
                done += 1
            assert done < len(names)
            machine.copied()
            machine.start()
            found = noted(machine)
            assert found in (names[: max(done, 1)], names[: done + 1]), (at, found)
            cut.add(names[done])
            if len(found) == len(names):
                with pytest.raises(Refused, match="resume"):
                    attempts.check_not_halted(machine.store, CAMPAIGN.hash, "x")  # type: ignore[arg-type]
            if "made" in found:
                with pytest.raises(Spent):
                    attempts.attempt(machine.store, CAMPAIGN.hash, 0, 1)  # type: ignore[arg-type]
            machine.stop()
        shutil.rmtree(tmp_path / str(at))
    assert cut == set(names)
