"""Servers and clients that lie when values are entered: a value is what its client gave, or absent, never another."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
import quorate.campaigns as campaigns
from campaigning import CLOSES
from lying import (
    Contents,
    Lie,
    check,
    give_changed,
    holders,
    input_otherwise,
    lie_at,
    read,
    revealed,
    slots,
    tag_off,
    tell,
    values_of,
)
from protocols import Place, among
from quorate.campaigns import History, Refused
from quorate.tables._tagged_entry import TaggedEntry
from quorate_client import wire
from quorate_client.tagged import Tagging
from submitting import CHEATING, closed, served, states

#: All places where servers may cheat, and one whose rings are narrow: more rows of coins, of a bit each.
PLACES = [*CHEATING, Place("spdz2k", 2, (("mac", "48"),))]


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


def tagging_of(servers: Any) -> Tagging:
    return Tagging.of(servers.campaign, servers.campaign.slots[0])


def lies_of(tagging: Tagging) -> tuple[dict[int, Lie], set[int]]:
    """Returns a lie for each of some clients, and those that change no value."""
    mask, low, bits = tagging.slot.elements, tagging.bits_low, tagging.bits
    lies = [
        Lie({0: 1}),
        Lie({0: 1 << tagging.k - 1}),
        Lie({1: 1}),
        Lie({2: 1 << 7}),
        Lie({2: 1 << 8}),
        Lie({2: 1 << low - 1}),
        Lie({3: 1}),
        Lie({4: 1}),  # the mask of a result
        Lie({0: 1, 1: -1}),
        Lie({1: 3, 2: -3}),
        Lie({mask: 1}),
        Lie({mask: 1, mask + 1: 1}),
        Lie({0: 1, mask: -1}),
        Lie({0: 1}, silent=True),
        Lie({mask: 1}, silent=True),
        Lie({0: 1}, upper=True),
        Lie({0: 1 << tagging.k - 1}, upper=True),
        Lie({mask: 1}, upper=True),
        Lie(shown={0: 1}),
        Lie(shown={0: 1 << low - 1}),
        Lie(shown={0: 1 << low}),
        Lie(shown={0: 1 << bits - 1}),
        Lie(shown={1: 1}),
        Lie(shown={1: 1 << bits - 1}),
        Lie(shown={0: 1 << low, 1: 1 << low}),
        Lie(swaps=True),
        Lie(copies=0),
        *(Lie(shown={i: 1 << bits}) for i in (0, 1) if bits % 32),  # a bit that is not used
    ]
    # The last one is caught if the verifier's key is odd. It changes no word that is input.
    harmless = Lie({2: 1 << 8}), Lie({2: 1 << low - 1}), Lie(shown={0: 1 << bits - 1})
    return dict(enumerate(lies, 1)), {i for i, lie in enumerate(lies, 1) if lie in harmless}


@pytest.mark.parametrize("is_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_holder_that_lies_about_words_loses_the_place(
    tmp_path: Path, place: Place, is_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lie for each client; values of the others are right."""
    with served(tmp_path, place, 34, slots=slots(place)) as servers:
        lies, harmless = lies_of(tagging_of(servers))
        given = {i: values_of(i) for i in range(31)}
        assert (len(harmless), max(lies)) in ((3, 27), (3, 29))
        for i, values in given.items():
            servers.give(i, values=values)
        servers.give(31, values=values_of(31))
        servers.give(31, 2, kind=wire.WITHDRAWN)
        lies[31] = lies[32] = Lie({0: 1, 3: 1})  # of a packet that was withdrawn, and of none
        file, settings = closed(servers)
        lie_at(monkeypatch, {holders(place) - 1 if is_last else 0: lies})
        wanted = {i: values for i, values in given.items() if i not in lies or i in harmless}
        check(read(place, file, settings), wanted, maybe=harmless)


def test_two_holders_whose_lies_cancel_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("spdz2k", 3)
    with served(tmp_path, place, 8, slots=slots(place)) as servers:
        mask, bits = tagging_of(servers).slot.elements, tagging_of(servers).bits
        given = {i: values_of(i) for i in range(7)}
        for i, values in given.items():
            servers.give(i, values=values)
        file, settings = closed(servers)
        added: list[dict[int, int]] = [{0: 1}, {3: 1}, {mask: 1}, {0: 9, mask: 5}]
        one = {i: Lie(words) for i, words in enumerate(added, 1)}
        other = {i: Lie({at: -by for at, by in words.items()}) for i, words in enumerate(added, 1)}
        one[5], other[5] = Lie(shown={0: 1 << bits - 1}), Lie(shown={0: 1 << bits - 1})
        says = dict.fromkeys(range(8), True)  # each covers the other
        lie_at(monkeypatch, {0: one, 2: other}, {0: says, 2: says})
        check(read(place, file, settings), given, maybe=range(1, 6))


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_verdicts_that_are_lies(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A no makes a place absent, whoever says it; a yes helps nobody else's key. No client ends the session."""
    last = holders(place) - 1
    with served(tmp_path, place, 8, slots=slots(place)) as servers:
        for i in (0, 1, 5):
            servers.give(i, values=values_of(i))
        give_changed(monkeypatch, servers, 2, tag_off(0, last, 0, lambda tagging: 0))  # the liar finds it unfit
        give_changed(monkeypatch, servers, 3, tag_off(last, 0, 0, lambda tagging: 0))
        one, other = (tag_off(*pair, 1, lambda tagging: 0) for pair in ((0, last), (last, 0)))
        give_changed(monkeypatch, servers, 4, lambda *given: (one(*given), other(*given)))
        file, settings = closed(servers)
        says = {1: False, 2: True, 3: True, 4: True, 6: True, 7: False}
        lie_at(monkeypatch, {}, {last: says})
        check(read(place, file, settings), {i: values_of(i) for i in (0, 2, 5)})


@pytest.mark.parametrize(("place", "party"), [(place, p) for place in CHEATING for p in {0, holders(place) - 1}])
@pytest.mark.parametrize("call", [1, 2], ids=["before bounds", "after bounds"])
def test_another_list_of_places_ends_the_session_and_halts_the_campaign(
    tmp_path: Path, place: Place, party: int, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = slots(place)
    one[0]["columns"][1].update(low="0", high="100")
    with served(tmp_path, place, 5, slots=one) as servers:
        for i in (0, 1, 2):
            servers.give(i, values=values_of(i) | {"narrow": [1, 2]})
        file, settings = closed(servers)

        def without_one(places: Any) -> Any:
            places[1] ^= True
            return places

        with monkeypatch.context() as patched, among(place) as mpc:
            input_otherwise(patched, "places that count", party, without_one, call)
            with pytest.raises(qr.CheatingDetected):
                mpc.campaign(file, config=settings)
        with (
            among(place) as mpc,
            pytest.raises(Refused, match=r"caught cheating .* `quorate campaign resume salaries`"),
        ):
            mpc.campaign(file, config=settings)
        for i in range(servers.n):
            servers.open(i)
            assert campaigns.resume(servers.stores[i], servers.campaign.hash)
            assert not campaigns.resume(servers.stores[i], servers.campaign.hash)
            servers.stores[i].close()
        check(read(place, file, settings), {i: values_of(i) | {"narrow": [1, 2]} for i in (0, 1, 2)})


def test_a_place_that_all_state_although_nobody_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a holder inputs for a place without a packet is no value, as all parties state that it does not count."""
    place = Place("spdz2k", 2)
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)

        def with_one(places: Any) -> Any:
            places[2] = True
            return places

        input_otherwise(monkeypatch, "places that count", 1, with_one)
        with among(place) as mpc, pytest.raises(qr.CheatingDetected):
            mpc.campaign(file, config=settings)


def test_a_seed_that_is_chosen_leaves_coins_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, drawn = Place("spdz2k", 2), []
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)
        combinations = TaggedEntry._combinations

        def noting(self: TaggedEntry, held: Any) -> Any:
            found = combinations(self, held)
            drawn.append(found[0])
            return found

        monkeypatch.setattr(TaggedEntry, "_combinations", noting)
        for _ in range(2):
            with monkeypatch.context() as patched, among(place) as mpc:
                input_otherwise(patched, "seed of coins", 1, np.zeros_like)
                mpc.campaign(file, config=settings)
    assert not (drawn[0] == drawn[1]).any() and drawn[0].all()


def altered(record: Any, other: dict[int, Any]) -> Callable[[int], Any]:
    """Returns a server's record with rows of its own."""

    def told(slot: int) -> Any:
        found = np.array(record(slot))
        for row, change in other.items():
            found[row] = change(found[row])
        return found

    return told


def older(row: Any) -> Any:
    """Denies the newest packet of a row."""
    assert row[0, 0] == 1 and row[1, 0] == 2
    return np.stack([row[0], np.zeros_like(row[1])])


def changed(word: int, value: int | None = None) -> Callable[[Any], Any]:
    """States the last packet of a row with another word: by default a random one."""

    def change(row: Any) -> Any:
        row = row.copy()
        last = int(row[:, 0].argmax())
        row[last, word] = secrets.randbits(31) if value is None else value
        return row

    return change


@pytest.mark.parametrize(
    ("place", "party"), [(place, party) for place in CHEATING for party in (0, place.parties - 1)], ids=str
)
def test_records_that_are_lies(tmp_path: Path, place: Place, party: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A packet that a client replaced or withdrew does not come back, in this session and in the next one."""
    with served(tmp_path, place, 12, slots=slots(place)) as servers:
        for i in range(10):
            servers.give(i, values=values_of(i + 20))
        for i in (0, 1, 5, 7):
            servers.give(i, 2, values_of(i), base=1)
        for i in (6, 8):
            servers.give(i, 2, kind=wire.WITHDRAWN, base=1)
        file, settings = closed(servers)
        other = {
            1: older,
            2: changed(0, 9),  # a newer packet that nobody else has
            3: changed(3),  # another header of this number
            4: changed(10, 1),  # withdrawn
            5: changed(11, 12),  # another number of clients
            6: older,
            7: lambda row: np.zeros_like(row),
            8: changed(10, 0),  # not withdrawn
            9: changed(1, 5),  # the upper word of its number
            10: changed(0, 1),  # of a client that gave nothing
        }
        tell(monkeypatch, {party: {"record": lambda state: altered(state.record, other)}})
        for _ in range(2 if place.protocol == "pika" else 1):
            with among(place) as mpc:
                mpc.campaign(file, config=settings)
        check(read(place, file, settings), {0: values_of(0)})


def always(told: Any) -> Callable[[Any], Any]:
    """Returns what tells the same, whatever the state is."""
    return lambda state: told


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_numbers_of_attempts_that_are_lies(tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holder has a number of its own, so a lie tells nobody others' masks twice; 16 and more refuse service."""
    last = holders(place) - 1
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        for i in (0, 1):
            servers.give(i, values=values_of(i))
        file, settings = closed(servers)
        numbers = [16, 2**31 - 1, -(2**31), -1, 0, 15] if place == CHEATING[0] else [16, 15]
        made = []
        for number in numbers:
            told = {"attempts": always(lambda slot, n=number: n), "attempt": always(lambda slot, n: None)}
            with monkeypatch.context() as patched, among(place) as mpc:
                tell(patched, {last: told})
                if number not in (0, 15):
                    with pytest.raises(qr.SubmissionError, match=f"spent: server {last} has entered them"):
                        mpc.campaign(file, config=settings)
                    continue
                given = mpc.campaign(file, config=settings)
                made.append(states(mpc)[0].attempts(0))
                if number == numbers[-1]:
                    check(revealed(mpc, given), {i: values_of(i) for i in (0, 1)})
        assert made == list(range(1, len(made) + 1))


@pytest.mark.parametrize("party", [0, 1])
def test_histories_that_are_lies(tmp_path: Path, party: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A party can refuse service; it cannot have others look twice."""
    place = Place("spdz2k", 2)
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        servers.give(0, values=values_of(0))
        file, settings = closed(servers)
        for looks in (1, 2, 2**32 - 1):
            with monkeypatch.context() as patched, among(place) as mpc:
                tell(patched, {party: {"history": always(History(looks, os.urandom(32)))}})
                with pytest.raises(qr.SubmissionError, match=f"as server {party} says"):
                    mpc.campaign(file, config=settings)
        check(read(place, file, settings), {0: values_of(0)})
        tell(monkeypatch, {party: {"history": always(History(0, b""))}})
        with among(place) as mpc, pytest.raises(qr.SubmissionError, match=f"as server {1 - party} says"):
            mpc.campaign(file, config=settings)


def reseeded(holder: int) -> Callable[[Tagging, Contents], None]:
    def change(tagging: Tagging, contents: Contents) -> None:
        contents[holder][:32] = np.frombuffer(os.urandom(32), np.uint8)

    return change


def another_difference(tagging: Tagging, contents: Contents) -> None:
    """Changes the difference alone: the last holder's words do not fit their tags any more."""
    contents[tagging.holders - 1][32] ^= 1


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_clients_that_lie_are_absent_and_the_session_goes_on(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = holders(place) - 1
    pairs = [(0, last), (last, 0)]
    with served(tmp_path, place, 24, slots=slots(place)) as servers:
        mask = tagging_of(servers).slot.elements
        rows = tagging_of(servers).rows
        out: list[Callable[[Tagging, Contents], object]] = []
        for of, by in pairs:
            out += [
                tag_off(of, by, 0, lambda t: 0),
                tag_off(of, by, 3, lambda t: 0),
                tag_off(of, by, mask, lambda t: t.bits - 1),
                tag_off(of, by, mask + rows - 1, lambda t: 0),
            ]
        out += [reseeded(0), reseeded(last), another_difference]
        maybe = [tag_off(of, by, 0, top) for of, by in pairs for top in (lambda t: t.bits - 1, lambda t: t.bits - 2)]
        fine = [tag_off(0, last, mask + rows, lambda t: 0)]  # of a mask of another attempt
        for client, change in enumerate([*out, *maybe, *fine]):
            give_changed(monkeypatch, servers, client, change)
        count = len(out) + len(maybe) + len(fine)
        for client in (count, count + 1):
            servers.give(client, values=values_of(client))
        file, settings = closed(servers)
        with among(place) as mpc:
            given = mpc.campaign(file, config=settings)
            unsure = range(len(out), len(out) + len(maybe))
            check(revealed(mpc, given), {i: values_of(i) for i in range(len(out), count + 2)}, unsure)
            assert mpc.input([3], owner=0).sum().reveal() == 3
            assert (given["narrow"][count:, 0] < 255).reveal().tolist() == [True] * (24 - count)


@pytest.mark.parametrize("place", CHEATING, ids=str)
def test_bits_that_are_not_used_are_refused_at_the_intake(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = holders(place) - 1
    with served(tmp_path, place, 3, slots=slots(place)) as servers:
        bits = tagging_of(servers).bits
        assert bits % 32

        def unused(tagging: Tagging, contents: Contents) -> None:
            contents[0][-1] |= 0x80  # the highest bit of the last tag

        def padded(tagging: Tagging, contents: Contents) -> None:
            flag = next(at for column, at, _ in tagging.slot.places if column.name == "flag")
            contents[last][32 + flag] |= 0x80

        for change, said in (
            (unused, "Unused bits of the tags for server"),
            (padded, "Column flag: unused bits of the words"),
        ):
            with pytest.raises(Refused, match=said):
                give_changed(monkeypatch, servers, 1, change)
        servers.give(1, 2, values_of(1))


def test_many_clients_of_whom_some_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand packets, of which every tenth has a tag that does not fit."""
    place, clients, each = Place("spdz2k", 2), 20, 50
    with served(tmp_path, place, clients, slots=slots(place, per_client=each)) as servers:
        for row in range(clients * each):
            client, item = divmod(row, each)
            if row % 10 == 3:
                bad = tag_off(row // 10 % 2, 1 - row // 10 % 2, row % 3, lambda tagging: 0)
                give_changed(monkeypatch, servers, client, bad, values=values_of(row), item=item)
            else:
                servers.give(client, values=values_of(row), item=item)
        file, settings = closed(servers)
        check(read(place, file, settings), {row: values_of(row) for row in range(clients * each) if row % 10 != 3})
