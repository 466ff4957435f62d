"""A closed campaign as a run takes it: records, parts that add up to the values, looks, outcomes, and its end."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaigning import (
    AGES,
    CLOSES,
    FLAGS,
    NOW,
    SALARY,
    STORE_KEY,
    VALUES,
    Servers,
    campaign_of,
    combined,
    text_of_time,
)
from quorate.campaigns import (
    SERVE,
    Frozen,
    History,
    Refused,
    Spent,
    Store,
    StoreError,
    agreed,
    close,
    end,
    freeze,
    hash_of_list,
    present,
)
from quorate.errors import ConfigError
from quorate_client import wire
from quorate_client.keys import to_text
from quorate_client.statements import sign_request


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers.of(tmp_path, again=1)
    yield made
    made.close()


@contextlib.contextmanager
def frozen(servers: Servers) -> Iterator[list[Frozen]]:
    """All servers' frozen campaigns, beside the servers that go on."""
    servers.clock.now = max(servers.clock.now, CLOSES)
    with contextlib.ExitStack() as stack:
        opened = [freeze(servers.campaign, servers.settings(i), servers.clock) for i in range(servers.n)]
        for one in opened:
            stack.callback(one.close)
        yield opened


def run(opened: list[Frozen], slot: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns the agreed list and the values that all parts add up to."""
    chosen = agreed([one.record(slot) for one in opened])
    return chosen, combined([one.parts(slot, chosen) for one in opened], opened[0].campaign, slot)


PEOPLE = [
    {"age": 0, "salary": [-(2**63), 2**63 - 1], "flags": [True, False] * 5 + [True]},
    {"age": 63, "salary": [0, -1], "flags": [False] * 11},
    {"age": 17, "salary": [5, 6], "flags": [True] * 11},
]


@pytest.mark.parametrize(("protocol", "n"), [("rss", 3), ("rss", 5), ("aby", 2), ("pika", 3)])
def test_parts_of_all_servers_add_up_to_the_values(tmp_path: Path, protocol: str, n: int) -> None:
    servers = Servers.of(tmp_path, protocol, n=n)
    receivers = {5: (1, 3, 4), 3: (0, 2) if protocol == "rss" else (0, 1), 2: (0, 1)}[n]
    for i, values in enumerate(PEOPLE):
        servers.give(i, values=values, receivers=receivers if i == 1 else None)
    with frozen(servers) as opened:
        chosen, values = run(opened)
        assert present(chosen).all()
        assert values["age"].tolist() == [p["age"] for p in PEOPLE]
        np.testing.assert_array_equal(values["salary"].astype(np.int64), [p["salary"] for p in PEOPLE])
        np.testing.assert_array_equal(values["flags"], [p["flags"] for p in PEOPLE])
        each = [one.parts(0, chosen) for one in opened]
        for column, dtype in (("age", np.uint64), ("salary", np.uint64), ("flags", np.bool_)):
            assert {part[column].dtype for part in each} == {np.dtype(dtype)}
        if protocol == "pika":  # the third server has no part of anything
            assert not any(part.any() for part in each[2].values())
    servers.close()


def test_rows_without_an_agreed_packet_are_zero(servers: Servers) -> None:
    servers.give(0)
    servers.give(1)
    servers.give(1, 2, kind=wire.WITHDRAWN)
    servers.intakes[0].packet(servers.packets(2)[0])  # at one server only
    with frozen(servers) as opened:
        chosen, values = run(opened)
        assert present(chosen).tolist() == [True, False, False]
        assert chosen.any(axis=1).tolist() == [True, True, False]
        assert values["age"].tolist() == [40, 0, 0]
        for one in opened:
            assert not any(part[1:].any() for part in one.parts(0, chosen).values())


def test_the_base_is_taken_where_the_newest_did_not_reach_all(servers: Servers) -> None:
    servers.give(0, values={**VALUES, "age": 1})
    for server, number in [(0, 2), (0, 3), (1, 3)]:
        body = servers.packets(0, number, {**VALUES, "age": number}, base=1)[server]
        servers.intakes[server].packet(body)
    with frozen(servers) as opened:
        chosen, values = run(opened)
        assert chosen[0, 0] == 1
        assert values["age"].tolist() == [1, 0, 0]


def test_items_and_slots_have_rows_of_their_own(tmp_path: Path) -> None:
    columns = [{"name": "x", "dtype": "fixed(32, 8)", "shape": [2, 2]}]
    slots = [
        {"name": "one", "per_client": 1, "columns": columns},
        {"name": "many", "per_client": 3, "columns": columns},
    ]
    servers = Servers.of(tmp_path, slots=slots, clients=2)
    servers.give(0, values={"x": [[0.5, 1], [2, -3]]})
    for item in (0, 2):
        servers.give(1, values={"x": [[item, 1], [1, 1]]}, slot=1, item=item)
    with frozen(servers) as opened:
        assert (opened[0].rows(0), opened[0].rows(1)) == (2, 6)
        _, values = run(opened, 0)
        assert values["x"][0].tolist() == [[128, 256], [512, 2**32 - 768]]
        chosen, values = run(opened, 1)
        assert present(chosen).tolist() == [False, False, False, True, False, True]
        assert values["x"][:, 0, 0].tolist() == [0, 0, 0, 0, 0, 512]
    servers.close()


def test_many_packets_are_read_in_pages(tmp_path: Path) -> None:
    slots = [{"name": "many", "per_client": 300, "columns": [dict(AGES)]}]
    servers = Servers.of(tmp_path, "aby", clients=2, slots=slots)
    for server, store in enumerate(servers.stores):
        offers = [
            servers.intakes[server].check(servers.packets(1, 1, {"age": item % 64}, item=item)[server])
            for item in range(300)
        ]
        for future in [servers.intakes[server].store(offer) for offer in offers]:
            future.result()
        assert store.read(lambda c: c.execute("SELECT count(*) FROM packets").fetchone()) == (300,)
    with frozen(servers) as opened:
        assert (opened[0].record(0)[300:, 0, 0] == 1).all()
        assert not opened[0].record(0)[:300].any()
    servers.close()


def test_a_campaign_that_is_open_is_not_run(servers: Servers) -> None:
    for now in (NOW, CLOSES - 1):
        servers.clock.now = now
        with pytest.raises(Refused, match=f"takes packets until {servers.campaign.closes}: run after that, or close"):
            freeze(servers.campaign, servers.settings(0), servers.clock)
    servers.give(0)  # a refusal closes nothing
    close(servers.stores[0], servers.campaign.hash, servers.clock.now)
    freeze(servers.campaign, servers.settings(0), servers.clock).close()


def test_freezing_closes_for_ever_also_if_the_clock_goes_back(servers: Servers) -> None:
    with frozen(servers):
        pass
    servers.clock.now = NOW
    for intake, body in zip(servers.intakes, servers.packets(0), strict=True):
        with pytest.raises(Refused, match="closed"):
            intake.packet(body)
    with frozen(servers) as opened:
        assert not opened[0].record(0).any()


def test_a_campaign_that_is_not_approved_is_refused_by_name(servers: Servers) -> None:
    other = campaign_of(servers.services, servers.clients, id=to_text(b"\1" * 16))
    with pytest.raises(Refused, match=f"no campaign '{other.hash.hex()}' is approved here"):
        freeze(other, servers.settings(0), servers.clock)


def test_a_second_run_on_a_campaign_is_refused_while_the_first_goes_on(servers: Servers) -> None:
    with frozen(servers), pytest.raises(StoreError, match="runs a program on a campaign of the store"):
        freeze(servers.campaign, servers.settings(0), servers.clock)
    with frozen(servers):
        pass


def test_an_ended_campaign_leaves_no_lock_behind(servers: Servers) -> None:
    """Else the folder of a store has one more file for each campaign, for ever."""
    folder = servers.stores[0].path.parent

    def locks() -> list[str]:
        return [file.name for file in folder.glob("*.run-*.lock")]

    with frozen(servers):
        assert len(locks()) == 1
        end(servers.stores[0], servers.campaign.hash)  # while a program has the lock
        assert locks() == []
        with pytest.raises(Refused, match="was ended"):
            freeze(servers.campaign, servers.settings(0), servers.clock)
    Store(servers.stores[0].path, STORE_KEY, None).close()  # a run that was refused may have left one
    assert locks() == []


# ---- looks ---------------------------------------------------------------------------------------------------------


def test_looks_are_marked_and_last(servers: Servers) -> None:
    servers.give(0)
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        one = hash_of_list(servers.campaign.hash, [chosen])
        assert opened[0].history == History(0, b"")
        opened[0].seen(1, one)
        assert opened[0].history == History(1, one)
    with frozen(servers) as opened:
        assert [o.history.looks for o in opened] == [1, 0, 0]
        for looks, list_hash in [(1, one), (2, bytes(32)), (3, one), (0, one)]:
            with pytest.raises(Spent):
                opened[0].seen(looks, list_hash)
        assert opened[0].history == History(1, one)
        for o in opened:
            o.seen(2, one)  # at servers that missed the first look, too: it is set, not counted
    with frozen(servers) as opened:
        assert {o.history for o in opened} == {History(2, one)}


def test_a_mark_is_on_the_disk_when_seen_returns(servers: Servers) -> None:
    with frozen(servers) as opened:
        opened[0].seen(1, bytes(32))
        beside = Store(servers.stores[0].path, STORE_KEY, None)
        assert beside.read(lambda c: c.execute("SELECT looks FROM campaigns").fetchone()) == (1,)
        beside.close()


# ---- outcomes and the end ------------------------------------------------------------------------------------------


def outcome(servers: Servers, client: int, server: int = 0) -> list[tuple[str, str]]:
    key = servers.clients[client]
    signature = sign_request(key, servers.campaign.hash, server, int(servers.clock.now))
    found = servers.intakes[server].status(to_text(key.id), signature)
    return [(item.outcome, item.why) for item in found.items]


def test_clients_hear_what_became_of_their_packets(tmp_path: Path) -> None:
    servers = Servers.of(tmp_path, clients=5)
    for client in (0, 1, 2):
        servers.give(client)
    servers.give(2, 2, kind=wire.WITHDRAWN)
    servers.intakes[0].packet(servers.packets(3)[0])
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        for one in opened:
            bad = np.array([False, True, False, False, False])
            one.outcomes(0, chosen, np.zeros(5, np.bool_), bad, present(chosen) & ~bad)
        assert outcome(servers, 0) == [("in", "")]
        for one in opened:
            end(one._store, one.campaign.hash)
    assert outcome(servers, 0, 2) == [("in", "")]
    assert outcome(servers, 1) == [("refused", "a value was out of the bounds that the campaign states")]
    assert outcome(servers, 2) == [("withdrawn", "the client withdrew it before the closing")]
    (absent,) = outcome(servers, 3)
    assert absent[0] == "absent" and absent[1].startswith("not all servers had it at the closing")
    assert outcome(servers, 4) == []
    servers.close()


def test_clients_hear_of_the_packet_that_all_servers_have(servers: Servers) -> None:
    servers.give(0, 1)
    servers.intakes[0].packet(servers.packets(0, 2)[0])  # a newer one, at one server only
    servers.give(1)
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        nobody = np.zeros(3, np.bool_)
        for one in opened:
            one.outcomes(0, chosen, nobody, nobody, np.array([True, False, False]))
    key = servers.clients[0]
    for server, intake in enumerate(servers.intakes):
        signature = sign_request(key, servers.campaign.hash, server, int(servers.clock.now))
        (item,) = intake.status(to_text(key.id), signature).items
        assert (item.number, item.outcome) == (1, "in")
    assert outcome(servers, 1) == [("absent", "fewer clients took part than it demands")]


def test_an_ended_campaign_has_neither_packets_nor_key(servers: Servers) -> None:
    servers.give(0)
    key = servers.stores[0].path.with_name("store.db.keys") / f"{servers.campaign.hash.hex()}.key"
    copy = key.read_bytes()
    assert len(copy) == 60
    with frozen(servers) as opened:
        end(opened[0]._store, opened[0].campaign.hash)
    assert not key.exists()
    for table in ("packets", "parts"):
        query = f"SELECT count(*) FROM {table}"
        assert servers.stores[0].read(lambda c, query=query: c.execute(query).fetchone()) == (0,)
    with pytest.raises(Refused, match="was ended, and its packets are erased"):
        freeze(servers.campaign, servers.settings(0), servers.clock)


def test_a_key_whose_erasure_was_cut_off_is_erased_at_the_next_start(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = servers.stores[0].path.with_name("store.db.keys") / f"{servers.campaign.hash.hex()}.key"

    def killed(campaign: bytes) -> None:
        raise KeyboardInterrupt

    with frozen(servers) as opened:
        monkeypatch.setattr(opened[0]._store.keys, "erase", killed)
        with pytest.raises(KeyboardInterrupt):
            end(opened[0]._store, opened[0].campaign.hash)
    assert key.exists()
    Store(servers.stores[0].path, STORE_KEY, None).close()
    assert not key.exists()


# ---- what was altered ----------------------------------------------------------------------------------------------


def change(servers: Servers, statement: str, *values: Any) -> None:
    servers.stores[0].write(lambda c: c.execute(statement, values)).result()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE parts SET sealed = substr(sealed, 2)",
        "UPDATE parts SET sealed = (SELECT sealed FROM parts WHERE place = 1)",
        "UPDATE packets SET header = (SELECT header FROM packets WHERE place = 1)",
    ],
)
def test_parts_that_were_altered_or_moved_do_not_open(servers: Servers, statement: str) -> None:
    servers.give(0)
    servers.give(1)
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        change(servers, f"{statement} WHERE place = 0")
        with pytest.raises(StoreError, match="was altered or moved"):
            opened[0].parts(0, chosen)
        opened[1].parts(0, chosen)


def test_lists_that_are_not_of_this_server_are_refused(servers: Servers) -> None:
    servers.give(0)
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        more = chosen.copy()
        more[1] = chosen[0]
        with pytest.raises(Refused, match="names 1 packets that are not here"):
            opened[0].parts(0, more)
        other = chosen.copy()
        other[0, 2] ^= 1
        with pytest.raises(Refused, match="names 1 packets that are not here"):
            opened[0].parts(0, other)
        for wrong in (chosen[:2], chosen.astype(np.int64), chosen[:, :11]):
            with pytest.raises(Refused, match=r"is not np.int32 of shape \(3, 12\): give the list that `agreed`"):
                opened[0].parts(0, wrong)
        assert opened[0].parts(0, chosen)["age"].shape == (3,)


def test_keys_that_are_lost_or_moved_are_named(servers: Servers, tmp_path: Path) -> None:
    folder = servers.stores[0].path.with_name("store.db.keys")
    key = folder / f"{servers.campaign.hash.hex()}.key"
    copy = key.read_bytes()
    with frozen(servers) as opened:
        chosen, _ = run(opened)
        key.write_bytes(copy[:-1] + bytes([copy[-1] ^ 1]))
        with pytest.raises(StoreError, match="was altered, or belongs elsewhere or to another store"):
            opened[0].parts(0, chosen)
        key.unlink()
        with pytest.raises(StoreError, match="so this campaign's packets are lost"):
            opened[0].parts(0, chosen)
        key.write_bytes(copy)
        opened[0].parts(0, chosen)
        key.unlink()
        for one in opened:
            end(one._store, one.campaign.hash)
    new = servers.anew(closes=text_of_time(CLOSES + 60))
    new.give(0)
    close(new.stores[0], new.campaign.hash)
    with contextlib.closing(freeze(new.campaign, new.settings(0), new.clock)) as again:
        assert again.parts(0, again.record(0)[:, 0])["salary"].any()


def test_a_key_that_cannot_be_erased_is_removed_by_hand(servers: Servers) -> None:
    key = servers.stores[0].path.with_name("store.db.keys") / f"{servers.campaign.hash.hex()}.key"
    key.unlink()
    key.mkdir()
    with frozen(servers) as opened:
        with pytest.raises(StoreError, match=r"cannot be erased \(Is a directory\): remove it by hand"):
            end(opened[0]._store, opened[0].campaign.hash)
        key.rmdir()
        end(opened[0]._store, opened[0].campaign.hash)
    Store(servers.stores[0].path, STORE_KEY, None).close()


# ---- settings ------------------------------------------------------------------------------------------------------


def test_settings_are_found_beside_the_party(servers: Servers) -> None:
    from quorate.campaigns import Settings

    serve = servers.settings(1)
    found = Settings.read(serve)
    assert found == Settings.read(serve.with_name("party.toml"))
    assert (found.me, found.protocol, found.host, found.port) == (1, "rss", "127.0.0.1", 9001)
    assert found.certificate == serve.with_name("serve.crt") and found.key == serve.with_name("serve.key")
    serve.with_name("other.toml").write_text(serve.with_name("party.toml").read_text().replace("me = 1", "me = 2"))
    serve.write_text(serve.read_text() + 'party = "other.toml"\n')
    assert Settings.read(serve).me == 2
    with serve.open("a") as file:
        file.write("[limits]\nconnections = 7\n")
    assert Settings.read(serve).limits.connections == 7


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("listen = 5", "`listen` must be a text"),
        ('listen = "8443"', "`listen` must be HOST:PORT"),
        ('listen = "a:99999"', "`listen` must be HOST:PORT"),
        ("storage = 1", "no key `storage`; there are listen, certificate"),
        ('certificate = ""', "`certificate` must be a text"),
        ("limits = 3", r"`limits` must be a table, as in \[limits\]"),
        ("[limits]\nconnections = 0", "`limits.connections` must be an integer from 1"),
        ("[limits]\nbodies = 0", "no key `limits.bodies`; there are connections"),
        ('[jobs]\nservers = "x"\nat_once = 17', "`jobs.at_once` must be an integer from 1 to 16"),
        ('[jobs]\nservers = "x"\nat_once = true', "`jobs.at_once` must be an integer from 1 to 16"),
        ('[jobs]\nservers = "x"\nbeside = 2', "no key `jobs.beside`; there are servers, at_once"),
        ("listen", "cannot be read"),
    ],
)
def test_settings_that_are_wrong_are_named(servers: Servers, text: str, match: str) -> None:
    serve = servers.settings(0)
    key = text.split(" ")[0]
    rest = [line for line in serve.read_text().splitlines() if not line.startswith(f"{key} =")]
    serve.write_text("\n".join([*rest, text]))
    with pytest.raises(ConfigError, match=match):
        freeze(servers.campaign, serve, servers.clock)


def test_the_time_out_of_peers_is_that_of_sessions(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate.campaigns import Settings

    serve = servers.settings(0)
    assert (Settings.read(serve).peer_timeout_s, Settings.read(serve).at_once) == (10.0, 1)
    party = serve.with_name("party.toml")
    text = party.read_text()
    party.write_text(f"{text}[limits]\nconnect_timeout_s = 5\npeer_timeout_s = 2\n")
    assert Settings.read(serve).peer_timeout_s == 2.0
    for wrong in ("0", "-1", "true", '"2"', "inf", "nan"):
        party.write_text(f"{text}[limits]\npeer_timeout_s = {wrong}\n")
        with pytest.raises(ConfigError, match=r"party.toml: `limits.peer_timeout_s` must be a positive number"):
            Settings.read(serve)
    party.write_text(f"{text}limits = 3\n" if "[[" not in text else f"limits = 3\n{text}")
    with pytest.raises(ConfigError, match=r"`limits.peer_timeout_s` must be a positive number"):
        Settings.read(serve)
    party.write_text(text)
    with serve.open("a") as file:
        file.write('[jobs]\nservers = "x"\nat_once = 2\n')
    assert Settings.read(serve).at_once == 2
    party, text = serve.with_name("party.toml"), serve.with_name("party.toml").read_text()
    party.write_text('pool = "pool"\n' + text)
    with pytest.raises(ConfigError, match=r"`jobs.at_once` must be 1: .*party.toml has a `pool`"):
        Settings.read(serve)
    party.write_text(text)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ConfigError, match="must be 1 on this system: processes share the port of their party on Linux"):
        Settings.read(serve)


def test_keys_that_others_may_read_are_refused(servers: Servers) -> None:
    serve = servers.settings(0)
    serve.with_name("store.key").chmod(0o640)
    with pytest.raises(ConfigError, match="others may read the key") as error:
        freeze(servers.campaign, serve, servers.clock)
    advised = re.search("`(chmod 600 .*)`", str(error.value))
    assert advised is not None
    subprocess.run(shlex.split(advised[1]), check=True)
    with pytest.raises(Refused, match="takes packets until"):
        freeze(servers.campaign, serve, servers.clock)
    serve.with_name("store.key").unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        freeze(servers.campaign, serve, servers.clock)
    assert (SERVE, FLAGS["name"], SALARY["name"]) == ("serve", "flags", "salary")
