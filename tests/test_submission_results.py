"""Results for clients, and what becomes of their packets."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from campaigning import CLOSES, Servers
from protocols import Place, among
from quorate._command._explain import Book, Explaining
from quorate.tables._submissions import Submissions
from quorate_client import wire, words
from quorate_client.keys import to_text
from quorate_client.statements import sign_request
from submitting import CHEATING, COLUMNS, HERE, Out, closed, person, served, states


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    import quorate.campaigns as campaigns

    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


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
    looks = 1 if place in CHEATING else 2
    with served(tmp_path, place, slots=with_results(), again=looks - 1) as servers:
        for i in (0, 1, 3):
            servers.give(i, values=person(i))
        servers.give(1, 2, person(5))
        file, settings = closed(servers)
        for _ in range(looks):
            with among(place) as mpc:
                given = mpc.campaign(file, config=settings)
                results = results_of(mpc, given)
                given.answer(results)
                with pytest.raises(qr.SubmissionError, match="were given results in this session"):
                    given.answer(results)
        for client, number, values in ((0, 1, person(0)), (1, 2, person(5)), (3, 1, person(3))):
            every = received(servers, client, number)
            assert len(every) == looks
            for found in every:
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


def test_a_run_that_fails_leaves_open_what_becomes_of_packets(tmp_path: Path) -> None:
    """Only that there are too few clients is final."""
    with served(tmp_path, Place("rss", 3), at_least=2) as servers:
        servers.give(0, values=person(0))
        servers.give(1, values=person(1))
        file, settings = closed(servers)

        def said() -> list[str]:
            found = []
            for client in range(2):
                key = servers.clients[client]
                servers.open(0)
                signature = sign_request(key, servers.campaign.hash, 0, int(servers.clock.now))
                found.append(servers.intakes[0].status(to_text(key.id), signature).items[0].outcome)
                servers.stores[0].close()
            return found

        with among(Place("rss", 3)) as mpc:
            tell = mpc._tell

            def cut(array: qr.SecretArray, what: str) -> Any:
                if "outside the bounds" in what:
                    raise qr.PeerLost("party 1 is gone")
                return tell(array, what)

            mpc._tell = cut  # type: ignore[method-assign]
            with pytest.raises(qr.PeerLost):
                mpc.campaign(file, config=settings)
        assert said() == ["stored", "stored"]
        with among(Place("rss", 3)) as mpc:
            mpc.campaign(file, config=settings)
        assert said() == ["in", "in"]
