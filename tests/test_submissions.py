"""Programs over what clients gave, on every family: packets of real clients at stores of all servers, one process."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import quorate as qr
from campaigning import CLOSES, Servers
from protocols import FORMS, Place, among, places
from quorate._command._explain import Book, Explaining
from quorate.campaigns import History
from quorate.tables import _submissions
from quorate.tables._submissions import Submissions
from quorate_client import wire, words
from quorate_client.campaign import FAMILIES
from quorate_client.errors import CampaignError
from quorate_client.keys import to_text
from quorate_client.statements import sign_request

COLUMNS = [
    {"name": "salary", "dtype": "int(32)", "low": "-10", "high": "100000"},
    {"name": "age", "dtype": "uint(16)", "shape": [2]},
    {"name": "rate", "dtype": "fixed(64, 16)", "low": "-1.5", "high": "1.5"},
    {"name": "owns", "dtype": "bit", "shape": [3]},
    {"name": "code", "dtype": "int(64)"},
]
HERE = [place for place in places() if place.protocol in FAMILIES]


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
    servers = Servers.of(folder, place.protocol, clients, n=place.parties, slots=slots, **changed)
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


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    import quorate.campaigns as campaigns

    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


def histories(servers: Servers) -> list[History]:
    found = []
    for i in range(servers.n):
        servers.open(i)
        query = "SELECT looks, list_hash FROM campaigns"
        looks, list_hash = servers.stores[i].read(lambda c: c.execute(query).fetchone())  # noqa: B023
        found.append(History(looks, list_hash or b""))
        servers.stores[i].close()
    return found


@pytest.mark.parametrize("place", HERE, ids=str)
def test_values_arrive_as_they_were_given(tmp_path: Path, place: Place) -> None:
    rng = np.random.default_rng(place.parties)
    with served(tmp_path, place) as servers:
        several = place.protocol == "rss"

        def receivers() -> tuple[int, ...] | None:
            t = place.parties // 2
            return tuple(sorted(rng.choice(place.parties, t + 1, replace=False).tolist())) if several else None

        for i in (0, 1, 3):
            servers.give(i, values=person(i), receivers=receivers())
        servers.give(1, 2, person(9), receivers=receivers())  # another value
        servers.give(4, values=person(4))
        servers.give(4, 2, kind=wire.WITHDRAWN)
        for intake, body in list(zip(servers.intakes, servers.packets(5, values=person(5)), strict=True))[:-1]:
            intake.packet(body)  # one server lacks it
        for intake, body in list(zip(servers.intakes, servers.packets(3, 2, person(8)), strict=True))[1:]:
            intake.packet(body)  # one server lacks it, and the one before counts
        file, settings = closed(servers)
        with among(place) as mpc:
            given = mpc.campaign(file, config=settings)
            assert (given.columns, len(given)) == (tuple(c["name"] for c in COLUMNS), 6)
            assert repr(given).startswith("Submissions(6 places; salary: int(32), age: uint(16)")
            assert all(state.history.looks == 0 for state in states(mpc))
            shown = dict(zip(given, mpc.reveal_all(*(given[name] for name in given)), strict=True))
            counts = given.present.reveal()
            total = given["salary"].sum().reveal()
        wanted = {0: person(0), 1: person(9), 3: person(3)}
        assert counts.tolist() == [i in wanted for i in range(6)]
        for name, values in shown.items():
            rows = [wanted[i][name] if i in wanted else np.zeros(np.shape(person(0)[name])) for i in range(6)]
            np.testing.assert_array_equal(values, np.array(rows).astype(values.dtype) if name != "code" else rows)
        assert total == 50_000 * 3 + 12
        assert {history.looks for history in histories(servers)} == {1}


def states(mpc: qr.Session) -> list[Any]:
    return [state for bound in mpc._campaigns.bound.values() for state in bound.states.values()]


@pytest.mark.parametrize("place", [place for place in HERE if place.parties < 5], ids=str)
def test_values_outside_their_bounds_count_as_absent(tmp_path: Path, place: Place) -> None:
    with served(tmp_path, place) as servers:
        out = Out(servers)
        servers.give(0, values=person(0))
        for i, change in enumerate(
            [{"salary": -11}, {"salary": 100_001}, {"rate": 1.5 + 2**-16}, {"salary": -(1 << 31)}]
        ):
            out.give(i + 1, {**person(1), **change})
        servers.give(5, values={**person(5), "salary": -10, "rate": 1.5})
        file, settings = closed(servers)
        with among(place) as mpc:
            given = mpc.campaign(file, config=settings)
            assert all(state.history.looks == 0 for state in states(mpc))  # bits about bounds are no look
            assert mpc.reveal_all(given.present)[0].tolist() == [True, False, False, False, False, True]
            assert given["salary"].reveal().tolist() == [50_000, 0, 0, 0, 0, -10]
            assert given["code"].reveal()[1:5].tolist() == [0] * 4  # columns without bounds, too


def test_every_value_of_a_ring_is_accepted_within_bounds_only(tmp_path: Path) -> None:
    column = {"name": "x", "dtype": "int(6)", "low": "-3", "high": "19"}
    slots = [{"name": "one", "per_client": 64, "columns": [column]}]
    with served(tmp_path, Place("rss", 3), 1, slots=slots) as servers:
        out = Out(servers)
        for item, value in enumerate(range(-32, 32)):
            out.give(0, {"x": value}, item=item)
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            wanted = [-3 <= value <= 19 for value in range(-32, 32)]
            assert given.present.reveal().tolist() == wanted
            found = (given["x"] < 0).reveal().tolist()  # relies on the range, which now holds
            assert found == [-3 <= value < 0 for value in range(-32, 32)]


def test_a_campaign_needs_its_number_of_clients(tmp_path: Path) -> None:
    with served(tmp_path, Place("rss", 3), at_least=3) as servers:
        for i in range(3):
            servers.give(i, values=person(i))
        servers.give(0, 2, {**person(0), "salary": 7}, at_least=4)  # asks for more than there are
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc, pytest.raises(qr.SubmissionError, match=r"2 clients, and .* asks for 3"):
            mpc.campaign(file, config=settings)
        assert {history.looks for history in histories(servers)} == {0}


def test_the_number_of_clients_is_counted_again_after_bounds(tmp_path: Path) -> None:
    with served(tmp_path, Place("aby", 2), at_least=3) as servers:
        for i in range(2):
            servers.give(i, values=person(i))
        Out(servers).give(2, {**person(2), "salary": -11})
        file, settings = closed(servers)
        with among(Place("aby", 2)) as mpc, pytest.raises(qr.SubmissionError, match=r"2 clients, and .* asks for 3"):
            mpc.campaign(file, config=settings)
        assert {history.looks for history in histories(servers)} == {0}


def test_unchecked_columns_keep_what_was_given(tmp_path: Path) -> None:
    with served(tmp_path, Place("pika", 3), check="none") as servers:
        Out(servers).give(0, {**person(0), "salary": -(1 << 31)})
        file, settings = closed(servers)
        with among(Place("pika", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            assert given["salary"].reveal()[0] == -(1 << 31)
            assert (given["salary"] < 0).reveal()[0]  # nothing is taken to be proven


def test_results_are_looked_at_as_often_as_the_campaign_allows(tmp_path: Path) -> None:
    with served(tmp_path, Place("rss", 3), again=1) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        for _ in range(3):
            with among(Place("rss", 3)) as mpc:
                mpc.campaign(file, config=settings)  # reading is no look
        for look in (1, 2):
            with among(Place("rss", 3)) as mpc:
                given = mpc.campaign(file, config=settings)
                assert mpc.input([3], owner=0).reveal() == 3
                assert {state.history.looks for state in states(mpc)} == {look - 1}
                given["salary"].sum().reveal(to=1)
                given["salary"].max().reveal()  # the session looks once
                assert {state.history.looks for state in states(mpc)} == {look}
        with among(Place("rss", 3)) as mpc, pytest.raises(qr.SubmissionError, match=r"look.*: make a new campaign"):
            mpc.campaign(file, config=settings)
        new = dataclasses.replace(servers, stores=[], intakes=[])
        for i in range(3):
            new.open(i)
        new = new.anew(name="again", slots=[{"name": "people", "per_client": 1, "columns": [dict(COLUMNS[0])]}])
        new.give(0, values={"salary": 7})
        file, settings = closed(new)
        with among(Place("rss", 3)) as mpc:
            assert mpc.campaign(file, config=settings)["salary"].sum().reveal() == 7


def test_approvals_do_not_depend_on_who_took_part(tmp_path: Path) -> None:
    """The plan without any packet, and those of two lists of clients, have one hash."""
    programs = []
    with served(tmp_path / "none", Place("rss", 3)) as none:
        pass
    for clients in ([], [0, 3], [1, 2, 4, 5]):
        servers = dataclasses.replace(none, folder=tmp_path / str(len(clients)), stores=[], intakes=[])
        for i in range(3):
            servers.open(i)
        for client in clients:
            servers.give(client, values=person(client))
        file, settings = closed(servers)
        with qr.local("rss") as local:
            mpc: qr.Session = local if clients else Explaining(local, Book())
            given = mpc.campaign(file, config=settings if clients else None)
            plan = mpc.explain(given["salary"].sum())
            programs.append(plan.program)
            if not clients:
                assert not states(mpc)
                told = [
                    line for plan in mpc._book.plans for line in str(plan).splitlines() if "all parties learn" in line
                ]
                assert "which packets of slot 'people' have values outside the bounds" in told[-1]
            reveal = plan.reveals[0]
            assert (reveal.depends_on, reveal.clients, reveal.inputs_of_clients) == ((), True, False)
            assert "clients" in str(plan) and "WARNING" not in str(plan)
            shown = str(mpc.explain(given["salary"]))
            assert "reveals to all parties what clients gave as inputs of their own" in shown
    assert len(set(programs)) == 1


def test_a_campaign_is_for_one_family_its_options_and_its_parties(tmp_path: Path) -> None:
    with served(tmp_path, Place("rss", 3)) as servers:
        file, settings = closed(servers)
        for place, said in [
            (Place("rss", 5), "is for rss with 3 parties, and this is rss with 5"),
            (Place("aby", 2), "is for rss with 3 parties, and this is aby with 2"),
            (FORMS[0], "in which parties may cheat"),
        ]:
            with among(place) as mpc, pytest.raises(qr.ConfigError, match=said):
                mpc.campaign(file, config=settings)
        with among(Place("rss", 3)) as mpc:
            for wrong in (None, settings[0], settings[:2]):
                with pytest.raises(qr.ConfigError, match="a list of 3 files"):
                    mpc.campaign(file, config=wrong)
            with pytest.raises(CampaignError, match="no slot 'houses'"):
                mpc.campaign(file, slot="houses", config=settings)
    with served(tmp_path / "options", Place("rss", 3), options={"forms": "edabits"}) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        said = r"is for sessions with \{'forms': 'edabits'\}, and this one has \{\}: open it with those options"
        with among(Place("rss", 3)) as mpc, pytest.raises(qr.ConfigError, match=said):
            mpc.campaign(file, config=settings)
        with among(Place("rss", 3), forms="edabits") as mpc:
            assert mpc.campaign(file, config=settings)["salary"].sum().reveal() == 50_000


def test_a_party_without_a_configuration_is_asked_for_it() -> None:
    party: Any = SimpleNamespace(is_local=False, me=1, _config=None, _nothing_is_sent=False)
    with pytest.raises(qr.ConfigError, match=r"give config=, the `party\.toml` beside"):
        _submissions._settings(party, None)
    assert _submissions._settings(party, "here.toml") == {1: "here.toml"}
    party._config = "own.toml"
    assert _submissions._settings(party, None) == {1: "own.toml"}


def test_parties_with_unlike_campaigns_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all parties learn has the hash of each party's file; here party 1 tells that of another one."""
    with served(tmp_path, Place("rss", 3)) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        other = dataclasses.replace(servers.campaign, program="0" * 64)
        assert (other.hash == servers.campaign.hash, other.asked_hash) == (False, servers.campaign.asked_hash)
        with among(Place("rss", 3)) as mpc:
            tell = mpc._tell

            def told(values: qr.SecretArray, what: str) -> np.ndarray:
                table = np.array(tell(values, what), np.int32)
                table[1, :8] = np.frombuffer(other.hash, "<i4")
                return table

            with monkeypatch.context() as patched:
                patched.setattr(mpc, "_tell", told)
                with pytest.raises(qr.SubmissionError, match=r"party 1 has another .*: compare the files' hashes"):
                    mpc.campaign(file, config=settings)
        with among(Place("rss", 3)) as mpc:
            assert mpc.campaign(file, config=settings)["salary"].sum().reveal() == 50_000


def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    with served(tmp_path, Place("rss", 3)) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            with pytest.raises(qr.ConfigError, match="no column 'wage'; there are 'salary', 'age'"):
                given["wage"]
            assert list(given) == list(given.columns)


def test_two_slots_share_a_look_and_a_branch_reads_them(tmp_path: Path) -> None:
    slots = [
        {"name": "people", "per_client": 1, "columns": [{"name": "age", "dtype": "uint(7)"}]},
        {
            "name": "houses",
            "per_client": 2,
            "columns": [{"name": "rooms", "dtype": "int(16)", "low": "0", "high": "9"}],
        },
    ]
    with served(tmp_path, Place("rss", 3), slots=slots) as servers:
        servers.give(0, values={"age": 40})
        servers.give(1, values={"rooms": 3}, slot=1, item=1)
        servers.give(1, values={"rooms": 4}, slot=1, item=0)
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            people = mpc.campaign(file, "people", config=settings)
            houses = mpc.campaign(file, "houses")
            assert mpc.campaign(file, "people") is people
            assert (people["age"].sum().reveal(), houses["rooms"].max().reveal(), len(houses)) == (40, 4, 12)
            with mpc.branch("one") as own:
                assert own.adopt(houses["rooms"]).sum().reveal() == 7
            assert {state.history.looks for state in states(mpc)} == {1}
            with pytest.raises(CampaignError, match="people, houses"):
                mpc.campaign(file)


def test_two_sessions_at_once_look_once(tmp_path: Path) -> None:
    """Both have seen no look when they begin; the mark of the first stops the second before anything is sent."""
    with served(tmp_path, Place("rss", 3)) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("rss", 3)) as one:
            first = one.campaign(file, config=settings)
            with among(Place("rss", 3)) as other, pytest.raises(qr.QuorateError, match=r"runs a program"):
                other.campaign(file, config=settings)
            assert first["salary"].sum().reveal() == 50_000


def test_a_campaign_that_names_its_program_runs_no_other(tmp_path: Path) -> None:
    """The hash does not depend on the campaign's own `program`, so `explain` of a draft gives it."""
    with served(tmp_path / "draft", Place("rss", 3)) as draft:
        file, _ = closed(draft)
    with qr.local("rss") as local:
        mpc = Explaining(local, Book())
        program = mpc.explain(mpc.campaign(file)["salary"].sum()).program
    final = dataclasses.replace(draft.campaign, program=f"{'0' * 64},{program}")
    servers = dataclasses.replace(draft, folder=tmp_path / "final", campaign=final, stores=[], intakes=[])
    for i in range(3):
        servers.open(i)
    servers.give(0, values=person(0))
    file, settings = closed(servers)
    with qr.local("rss") as mpc:
        given = mpc.campaign(file, config=settings)
        with pytest.raises(qr.NotApproved, match="does not name its program"):
            given["salary"].max().reveal()
        with pytest.raises(qr.NotApproved, match="does not name its program"):
            mpc.run_async(given["salary"])
        assert mpc.input([3], owner=0).sum().dtype == qr.int(64)
    assert {history.looks for history in histories(servers)} == {0}
    with qr.local("rss") as mpc:
        assert mpc.campaign(file, config=settings)["salary"].sum().reveal() == 50_000


RESULTS = [
    {"name": "rank", "dtype": "int(32)"},
    {"name": "share", "dtype": "fixed(64, 16)", "shape": [2]},
    {"name": "above", "dtype": "bit"},
    {"name": "code", "dtype": "uint(16)"},
]


def with_results() -> list[dict[str, Any]]:
    return [{"name": "people", "per_client": 1, "columns": [dict(c) for c in COLUMNS], "results": RESULTS}]


def results_of(mpc: qr.Session, given: Any) -> dict[str, qr.SecretArray]:
    return {
        "rank": given["salary"] - 60_000,
        "share": mpc.stack([given["rate"], -given["rate"]], axis=1),
        "above": given["salary"] > 50_001,
        "code": given["age"][:, 0] + mpc.constant(7, qr.uint(16)),
    }


def received(servers: Servers, client: int, number: int = 1) -> list[dict[str, Any]]:
    """Returns the results of a client, by look, with its mask taken off; all servers must state the same ones."""
    key, slot = servers.clients[client], servers.campaign.slots[0]
    stated = []
    for i in range(servers.n):
        servers.open(i)
        signature = sign_request(key, servers.campaign.hash, i, int(servers.clock.now))
        stated.append([(r.look, r.number, r.data) for r in servers.intakes[i].results(to_text(key.id), signature)])
        servers.stores[i].close()
    assert all(one == stated[0] for one in stated)
    header = wire.Header(servers.campaign.hash, key.id, client, 0, 0, number, 0, 1, 0, ())
    seed = servers.masks.get((client, number))
    assert all(of == number for _, of, _ in stated[0])
    return [words.unmasked(slot, data, look, seed, header.context) for look, _, data in stated[0] if seed]


@pytest.mark.parametrize("place", HERE, ids=str)
def test_clients_get_results_that_they_alone_can_read(tmp_path: Path, place: Place) -> None:
    with served(tmp_path, place, slots=with_results(), again=1) as servers:
        for i in (0, 1, 3):
            servers.give(i, values=person(i))
        servers.give(1, 2, person(5))
        file, settings = closed(servers)
        for _ in range(2):
            with among(place) as mpc:
                given = mpc.campaign(file, config=settings)
                results = results_of(mpc, given)
                given.answer(results)
                with pytest.raises(qr.SubmissionError, match="were given results in this session"):
                    given.answer(results)
        for client, number, values in ((0, 1, person(0)), (1, 2, person(5)), (3, 1, person(3))):
            looks = received(servers, client, number)
            assert len(looks) == 2
            for found in looks:
                assert found["rank"] == values["salary"] - 60_000
                assert found["share"].tolist() == [values["rate"], -values["rate"]]
                assert found["above"] == (values["salary"] > 50_001)
                assert found["code"] == values["age"][0] + 7
        assert received(servers, 2) == received(servers, 4) == []


def test_what_servers_keep_is_masked_and_empty_for_absent_clients(tmp_path: Path) -> None:
    """The words that all parties learn: noise for those that count, zeros for others, whatever they would get."""
    with served(tmp_path, Place("rss", 3), slots=with_results()) as servers:
        servers.give(0, values=person(0))
        Out(servers).give(1, {**person(1), "salary": -11})
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            shown: list[dict[str, Any]] = []
            for state in states(mpc):
                state.results = lambda slot, look, words, values: shown.append(values)
            reveal_all, rounds = mpc.reveal_all, list[int]()

            def noting(*arrays: qr.SecretArray) -> list[Any]:
                rounds.append(mpc.explain(*arrays).online.rounds)
                return reveal_all(*arrays)

            mpc.reveal_all = noting  # type: ignore[assignment, method-assign]
            given.answer(results_of(mpc, given))
            # Results are computed and kept, then opened: an opening that is repeated opens the same numbers.
            assert len(rounds) == 2 and rounds[0] > 4 and rounds[1] == 2, rounds
        for values in shown:
            for name, array in values.items():
                assert not array[1:].any(), (name, array)
                if name != "above":
                    assert array[0].any() and array.dtype == np.uint64
        rank = words.decode(servers.campaign.slots[0].results[0], shown[0]["rank"][:1])
        assert rank != person(0)["salary"] - 60_000


def test_results_that_were_not_opened_are_opened_again(tmp_path: Path) -> None:
    """An opening that fails may be repeated: it opens the same words, and nothing is computed anew."""
    with served(tmp_path, Place("rss", 3), slots=with_results()) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            results = results_of(mpc, given)
            reveal_all, calls = mpc.reveal_all, iter([True, False])

            def interrupted(*arrays: qr.SecretArray) -> list[Any]:
                if next(calls):
                    return reveal_all(*arrays)
                raise KeyboardInterrupt

            mpc.reveal_all = interrupted  # type: ignore[assignment, method-assign]
            with pytest.raises(KeyboardInterrupt):
                given.answer(results)
            mpc.reveal_all = reveal_all  # type: ignore[method-assign]
            gc.collect()
            mpc.input([1], owner=0).reveal()  # a run forgets the values of arrays that are gone
            assert mpc.explain(*given._entry.shown).online.rounds == 2  # masks come in, and sums are opened
            kept, broken = states(mpc)[1].results, [True]

            def failing(*arguments: Any) -> None:
                if broken.pop():
                    raise OSError("the disk is full")

            states(mpc)[1].results = failing
            with pytest.raises(OSError, match="disk"):
                given.answer(results)
            first, again = mpc.reveal_all(*given._entry.shown), mpc.explain(*given._entry.shown)
            assert again.online.rounds == 1  # values that exist are opened
            states(mpc)[1].results = kept
            given.answer(results)
            for before, after in zip(first, mpc.reveal_all(*given._entry.shown), strict=True):
                np.testing.assert_array_equal(before, after)
            with pytest.raises(qr.SubmissionError, match="were given results"):
                given.answer(results)
        assert received(servers, 0)[0]["rank"] == person(0)["salary"] - 60_000


def test_looks_begin_where_something_is_shown(tmp_path: Path) -> None:
    """Computing what `answer` opens shows nothing, so a failure there costs no look."""
    with served(tmp_path, Place("rss", 3), slots=with_results()) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            given = mpc.campaign(file, config=settings)
            mpc.reveal_all(given["salary"][:0])
            assert {state.history.looks for state in states(mpc)} == {0}
            with mpc.branch("one") as own:
                given["salary"].sum().reveal()
                with pytest.raises(qr.ConfigError, match="a branch cannot give results"):
                    Submissions(given.present, {}, None).answer({})
                assert own is not None
            given.answer(results_of(mpc, given))


def test_what_became_of_each_packet(tmp_path: Path) -> None:
    with served(tmp_path, Place("rss", 3)) as servers:
        servers.give(0, values=person(0))
        servers.give(1, values=person(1), at_least=4)  # four are here before bounds are checked, and three after
        Out(servers).give(2, {**person(2), "salary": -11})
        servers.give(3, values=person(3))
        servers.intakes[0].packet(servers.packets(3, 2, person(8))[0])  # one server alone has the correction
        file, settings = closed(servers)
        with among(Place("rss", 3)) as mpc:
            assert mpc.campaign(file, config=settings).present.reveal().tolist() == [1, 0, 0, 1, 0, 0]
        said = {}
        for client in range(4):
            key = servers.clients[client]
            servers.open(0)
            signature = sign_request(key, servers.campaign.hash, 0, int(servers.clock.now))
            said[client] = servers.intakes[0].status(to_text(key.id), signature).items[0]
            servers.stores[0].close()
        assert [(said[i].outcome, said[i].number) for i in range(4)] == [
            ("in", 1), ("absent", 1), ("refused", 1), ("in", 1),
        ]  # fmt: skip
        assert "fewer clients took part" in said[1].why and "out of the bounds" in said[2].why


def test_the_hash_of_a_run_names_the_slot(tmp_path: Path) -> None:
    """A campaign that names a run over one slot lets no run read another slot of the same form."""
    column = {"name": "x", "dtype": "int(32)"}
    slots = [{"name": name, "per_client": 1, "columns": [dict(column)]} for name in ("open", "closed")]
    with served(tmp_path, Place("aby", 2), slots=slots) as servers:
        file, _ = closed(servers)
    programs = []
    for slot in ("open", "closed"):
        with qr.local("aby") as local:
            mpc = Explaining(local, Book())
            programs.append(mpc.explain(mpc.campaign(file, slot)["x"].sum()).program)
    assert programs[0] != programs[1]


def test_results_are_those_that_the_campaign_lists(tmp_path: Path) -> None:
    with served(tmp_path, Place("aby", 2), slots=with_results()) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("aby", 2)) as mpc:
            given = mpc.campaign(file, config=settings)
            results = results_of(mpc, given)
            for changed, error, said in [
                ({"rank": None}, qr.ConfigError, "'rank' of slot 'people' is missing"),
                ({"rank": given["code"]}, qr.DtypeError, r"'rank' is a secret array of int\(32\)"),
                ({"share": given["rate"]}, qr.ShapeError, r"'share' has shape \(6, 2\), and here is one of \(6,\)"),
                ({"wages": given["salary"]}, qr.ConfigError, "no result 'wages'; it has 'rank', 'share'"),
            ]:
                with pytest.raises(error, match=said):
                    given.answer({**results, **changed})  # type: ignore[arg-type]
            assert {state.history.looks for state in states(mpc)} == {0}
    with served(tmp_path / "none", Place("aby", 2)) as servers:
        servers.give(0, values=person(0))
        file, settings = closed(servers)
        with among(Place("aby", 2)) as mpc, pytest.raises(qr.ConfigError, match="lists no results"):
            mpc.campaign(file, config=settings).answer({})
