"""Programs over what clients gave, on every family: packets of real clients at stores of all servers, one process."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import quorate as qr
from campaigning import CLOSES
from protocols import FORMS, Place, among
from quorate._command._explain import Book, Explaining
from quorate._session._party_files import party_files
from quorate_client import wire
from quorate_client.errors import CampaignError
from submitting import CHEATING, COLUMNS, HERE, Out, closed, histories, person, served, states


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    import quorate.campaigns as campaigns

    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


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
            intake.packet(body)  # one server lacks it: the one before counts, unless servers may cheat
        file, settings = closed(servers)
        with among(place) as mpc:
            given = mpc.campaign(file, config=settings)
            assert (given.columns, len(given)) == (tuple(c["name"] for c in COLUMNS), 6)
            assert repr(given).startswith("Submissions(6 places; salary: int(32), age: uint(16)")
            assert all(state.history.looks == 0 for state in states(mpc))
            shown = dict(zip(given, mpc.reveal_all(*(given[name] for name in given)), strict=True))
            counts = given.present.reveal()
            total = given["salary"].sum().reveal()
        wanted = {0: person(0), 1: person(9), **({} if place in CHEATING else {3: person(3)})}
        assert counts.tolist() == [i in wanted for i in range(6)]
        for name, values in shown.items():
            rows = [wanted[i][name] if i in wanted else np.zeros(np.shape(person(0)[name])) for i in range(6)]
            np.testing.assert_array_equal(values, np.array(rows).astype(values.dtype) if name != "code" else rows)
        assert total == sum(one["salary"] for one in wanted.values())
        assert {history.looks for history in histories(servers)} == {1}


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
            (FORMS[0], r"is for sessions with \{\}, and this one has \{'malicious': 'yes'\}"),
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
        party_files(party, "campaign", None)
    assert party_files(party, "campaign", "here.toml") == {1: "here.toml"}
    party._config = "own.toml"
    assert party_files(party, "campaign", None) == {1: "own.toml"}


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
