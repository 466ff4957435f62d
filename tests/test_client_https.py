"""Clients against servers over HTTPS: nothing leaves before all servers agree, packets are kept until all have stored
them, and what a server answers is checked."""

from __future__ import annotations

import dataclasses
import json
import os
import ssl
import stat
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clients
import quorate_client
from quorate_client import (
    ClientKey,
    Invitation,
    NoResult,
    NotStored,
    OtherCampaign,
    Refused,
    Unreachable,
    statements,
    wire,
)
from quorate_client.keys import to_text

KEY = ClientKey.generate()
OTHER = ClientKey.generate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    running: list[clients.Server] = []

    def started(protocol: str = "rss", parties: int = 3, **other: Any) -> Any:
        listed = [] if "invitations" in other else [KEY, OTHER]
        campaign, servers = clients.started(tmp_path, protocol, parties, listed, **other)
        running.extend(servers)
        return campaign, servers

    yield started
    for server in running:
        server.stop()


def opened(campaign: Any, servers: Any) -> Any:
    """Returns the values that the servers' newest packets add up to, by column."""
    total: Any = None
    for server in servers:
        body = server.packets[max(server.packets)]
        packet = wire.unpack(campaign, server.index, body, server.secret)
        slot = campaign.slots[packet.header.slot]
        own = clients.elements(campaign, packet, wire.open_part(server.key, packet))
        total = own if total is None else [a ^ b if a.dtype == bool else a + b for a, b in zip(total, own, strict=True)]
    return [
        a if a.dtype == bool else a & np.uint64((1 << c.dtype.bits) - 1)
        for a, c in zip(total, slot.columns, strict=True)
    ]


@pytest.mark.parametrize(("protocol", "parties", "options"), clients.ALL)
def test_values_reach_all_servers_and_add_up(
    start: Any, tmp_path: Path, protocol: str, parties: int, options: dict[str, str]
) -> None:
    campaign, servers = start(protocol, parties, options=options)
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    receipts = client.submit({"salary": 52000})
    assert [receipt.server for receipt in receipts] == list(range(parties))
    assert int(opened(campaign, servers)[0]) == 52000
    assert len({receipt.digest for receipt in receipts}) == 1
    if protocol == "pika":
        assert max(len(body) for body in servers[2].packets.values()) == wire.HEADER_BYTES + 64 + 32


def test_a_second_value_has_a_higher_number_and_the_first_as_base(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    first = client.submit({"salary": 1})[0].number
    second = client.submit({"salary": 1})[0].number
    gone = client.withdraw()[0].number
    assert first < second < gone
    headers = [wire.Header.unpack(body) for body in servers[0].packets.values()]
    assert [header.base for header in headers] == [0, first, second]
    assert [header.kind for header in headers] == [0, 0, 1]
    assert len({header.nonce for header in headers}) == 3


def test_status_says_what_is_stored_and_takes_a_servers_clock_once(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    number = client.submit({"salary": 1})[0].number
    servers[1].clock = 5000
    found = client.status()
    assert [one.items[0].number for one in found] == [number] * 3
    assert [one.items[0].outcome for one in found] == ["stored"] * 3
    assert sum("/packets/" in request for request in servers[1].requests) == 2


def test_invitations_are_shown_by_tags(start: Any, tmp_path: Path) -> None:
    campaign, servers = start(invitations=4)
    secrets = [[os.urandom(32) for _ in range(4)] for _ in servers]
    for server, own in zip(servers, secrets, strict=True):
        server.secret = own.__getitem__
    invitation = Invitation(2, tuple(own[2] for own in secrets))
    client = quorate_client.client(campaign, key=KEY, invitation=invitation.to_text(), store=tmp_path / "box")
    client.submit({"salary": 7})
    assert int(opened(campaign, servers)[0]) == 7
    for server, own in zip(servers, secrets, strict=True):
        assert own[2] not in next(iter(server.packets.values()))


# ---- before the first packet -----------------------------------------------------------------------------------


def other_hello(campaign: Any, server: Any, change: str) -> bytes:
    hello = json.loads(statements.Hello.of(campaign, server.index, server.key).to_json())
    other = {"campaign": to_text(bytes(32)), "server": 0, "protocol": "aby", "servers": 5}
    other |= {"certificate": to_text(bytes(32)), "signature": to_text(bytes(64))}
    return json.dumps(hello | {change: other[change]}).encode()


@pytest.mark.parametrize("change", ["campaign", "server", "protocol", "servers", "certificate", "signature"])
def test_another_statement_stops_the_client_with_nothing_sent(start: Any, tmp_path: Path, change: str) -> None:
    campaign, servers = start()
    servers[2].hello = other_hello(campaign, servers[2], change)
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(OtherCampaign, match=f"states another {change}") as error:
        client.submit({"salary": 1})
    assert error.value.server == 2
    assert all(server.bytes == 0 for server in servers)


def test_a_server_without_the_campaign_stops_the_client(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    other, _ = clients.made("rss", 3, [KEY.id])
    servers[1].campaign = other
    with pytest.raises(OtherCampaign, match="does not run this campaign"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 1})
    assert all(server.bytes == 0 for server in servers)


def test_another_certificate_hears_nothing_at_all(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[0].stop()
    servers[0].file, _ = clients.certificate(tmp_path)
    servers[0].start(campaign)
    with pytest.raises(OtherCampaign, match="another certificate"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 1})
    assert servers[0].requests == []
    assert all(server.bytes == 0 for server in servers)


def test_older_tls_is_not_spoken(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[1].stop()
    servers[1].tls = ssl.TLSVersion.TLSv1_2
    servers[1].start(campaign)
    with pytest.raises(NotStored, match=r"Server 1 .* cannot be reached"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 1}, wait_s=0)
    assert all(server.bytes == 0 for server in servers)


def test_wrong_values_are_refused_before_anything_is_sent(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    for values in ({"salary": -1}, {"salary": 1.5}, {}, {"salary": 1, "age": 2}, {"salary": [1]}):
        with pytest.raises(quorate_client.ValuesError):
            client.submit(values)
    with pytest.raises(quorate_client.ValuesError, match="at_least"):
        client.submit({"salary": 1}, at_least=3)
    with pytest.raises(quorate_client.CampaignError, match="item="):
        client.submit({"salary": 1}, item=1)
    with pytest.raises(quorate_client.CampaignError, match="no slot"):
        client.submit({"salary": 1}, slot="house")
    assert all(server.requests == [] for server in servers)
    assert not (tmp_path / "box").exists()


# ---- servers that are down, refuse, or lie ---------------------------------------------------------------------


@pytest.mark.parametrize("down", [0, 1, 2])
def test_a_packet_is_kept_and_sent_again_as_it_was(start: Any, tmp_path: Path, down: int) -> None:
    campaign, servers = start()
    servers[down].answers = [(503, {"what": "the disk is full"}, {"Retry-After": "600"})]
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(NotStored, match=rf"2 of 3 servers. Server {down} .* the disk is full. .*resume") as error:
        client.submit({"salary": 5})
    assert error.value.servers == (down,)
    before = [dict(server.packets) for server in servers]
    again = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")  # a new process
    again.submit({"salary": 5})
    assert [server.packets for server in servers if server.index != down] == [
        one for index, one in enumerate(before) if index != down
    ]
    assert int(opened(campaign, servers)[0]) == 5
    assert sum("POST" in request for server in servers for request in server.requests) == 4


def test_nothing_is_sent_before_all_servers_were_asked(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[2].stop()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(NotStored, match="0 of 3 servers"):
        client.submit({"salary": 5}, wait_s=0)
    assert all(server.bytes == 0 for server in servers)
    servers[2].start(campaign)
    assert client.resume() == 1
    assert client.resume() == 0
    assert int(opened(campaign, servers)[0]) == 5


def test_a_call_waits_for_a_server_that_comes_back(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[1].answers = [(503, {}, {}), (429, {}, {"Retry-After": "1"})]
    quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 5}, wait_s=20)
    assert int(opened(campaign, servers)[0]) == 5


def test_other_values_take_the_place_of_a_packet_that_waits(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[1].answers = [(503, {}, {})]
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(NotStored):
        client.submit({"salary": 5}, wait_s=0)
    client.submit({"salary": 6})
    assert int(opened(campaign, servers)[0]) == 6
    assert len(servers[1].packets) == 1
    assert client.resume() == 0


def test_the_outbox_is_private_and_holds_no_value(start: Any, tmp_path: Path) -> None:
    campaign, servers = start(slots=[{**clients.SLOT, "columns": [{"name": "x", "dtype": "uint(64)", "shape": [4]}]}])
    servers[1].answers = [(503, {}, {})]
    value = 0x1122334455667788
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(NotStored):
        client.submit({"x": [value] * 4}, wait_s=0)
    files = [path for path in (tmp_path / "box").rglob("*") if path.is_file()]
    assert len(files) == 5
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert value.to_bytes(8, "little") not in path.read_bytes()
    client.resume()
    kept = [path.name for path in (tmp_path / "box").rglob("*") if path.is_file()]
    assert sorted(kept) == ["0.0.json", "lock"]


def test_a_refusal_names_the_server_and_its_reason(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[1].answers = [(410, {"what": "the campaign is closed", "do": "ask \x1b[31mits operators"}, {})]
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with pytest.raises(Refused, match=r"Server 1 .* answered 410: the campaign is closed; ask \[31mits operators"):
        client.submit({"salary": 5})
    assert client.resume() == 0
    client.submit({"salary": 5})
    assert len(servers[0].packets) == 2  # fresh coins under a higher number


@pytest.mark.parametrize("change", ["digest", "part", "server", "number", "client", "signature", "time"])
def test_a_false_receipt_is_none(start: Any, tmp_path: Path, change: str) -> None:
    campaign, servers = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    servers[1].answers = [(503, {}, {})]
    with pytest.raises(NotStored):
        client.submit({"salary": 5}, wait_s=0)
    body = next((tmp_path / "box").rglob("0.0.*.1")).read_bytes()
    receipt = json.loads(quorate_client.Receipt.of(wire.Packet.of(1, body), 7, servers[1].key).to_json())
    wrong = {"digest": to_text(bytes(32)), "part": to_text(bytes(32)), "server": 0, "number": 3, "time": 8}
    wrong |= {"client": to_text(OTHER.id), "signature": to_text(bytes(64))}
    servers[1].receipt = json.dumps(receipt | {change: wrong[change]}).encode()
    with pytest.raises(NotStored, match="without a valid receipt"):
        client.resume(wait_s=0)
    servers[1].receipt = json.dumps(receipt).encode()
    assert client.resume() == 1


@pytest.mark.parametrize("receipt", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"campaign": 1}'])
def test_an_answer_that_is_no_receipt_is_none(start: Any, tmp_path: Path, receipt: bytes) -> None:
    campaign, servers = start()
    servers[0].receipt = receipt or b" "
    with pytest.raises(NotStored, match="without a valid receipt"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 5}, wait_s=0)


def test_answers_without_end_are_cut(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[0].receipt = bytes(2 << 20)
    with pytest.raises(NotStored, match="more than 1048576 bytes"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 5}, wait_s=0)


def test_a_redirection_is_not_followed(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    servers[0].answers = [(307, {}, {"Location": f"https://127.0.0.1:{servers[1].port}/"})]
    with pytest.raises(Refused, match="answered 307"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 5})


def test_two_processes_do_not_share_an_outbox(start: Any, tmp_path: Path) -> None:
    campaign, _ = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    with client._outbox.locked(), pytest.raises(quorate_client.OutboxError, match="Another client"):
        client.submit({"salary": 5})


def test_a_lost_outbox_does_not_reuse_a_number(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    first = quorate_client.client(campaign, key=KEY, store=tmp_path / "one").submit({"salary": 5})[0].number
    second = quorate_client.client(campaign, key=KEY, store=tmp_path / "two").submit({"salary": 5})[0].number
    assert second > first
    assert len(servers[0].packets) == 2


def test_a_large_packet(start: Any, tmp_path: Path) -> None:
    count = 1_000_003
    columns = [{"name": "x", "dtype": "uint(64)", "shape": [count]}, {"name": "b", "dtype": "bit", "shape": [count]}]
    campaign, servers = start(slots=[{**clients.SLOT, "columns": columns}])
    x = np.random.default_rng(1).integers(0, 1 << 64, count, np.uint64, endpoint=False)
    quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"x": x, "b": x % 2 == 1})
    found = opened(campaign, servers)
    assert np.array_equal(found[0], x)
    assert np.array_equal(found[1], x % 2 == 1)


def test_a_server_that_sends_slowly_is_left(start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, servers = start()
    monkeypatch.setattr("quorate_client._https._ANSWER_S", -1.0)
    with pytest.raises(NotStored, match="the answer took longer"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").submit({"salary": 5}, wait_s=0)
    assert all(server.bytes == 0 for server in servers)


def test_memory_is_a_few_times_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 500_000
    slots = [{**clients.SLOT, "columns": [{"name": "x", "dtype": "uint(64)", "shape": [count]}]}]
    campaign, _ = clients.made("rss", 5, [KEY.id], slots=slots)
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    monkeypatch.setattr(client, "_greet", lambda links: [Unreachable(0, "no server")])
    x = np.zeros(count, np.uint64)
    tracemalloc.start()
    with pytest.raises(NotStored, match="no server"):
        client.submit({"x": x}, wait_s=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2 * x.nbytes < peak < 5 * x.nbytes


# ---- results ---------------------------------------------------------------------------------------------------

ANSWER = [{**clients.SLOT, "results": [{"name": "mean", "dtype": "fixed(40, 8)", "shape": [2]}]}]


def revealed(campaign: Any, server: Any, number: int, look: int, value: list[float]) -> statements.Result:
    """Returns a result plus the mask that the servers' parts of a packet add up to."""
    total: Any = 0
    for one in (0, 1, 2):
        body = server.others[one].packets[(campaign.client_index(KEY.id), 0, 0, number)]
        packet = wire.unpack(campaign, one, body)
        own = clients.elements(campaign, packet, wire.open_part(server.others[one].key, packet))
        total = total + own[1 + look].astype(object)
    raw = [round(real * 256) + int(mask) & (1 << 40) - 1 for real, mask in zip(value, total, strict=True)]
    data = np.array(raw, "<u8").tobytes()
    unsigned = statements.Result(campaign.hash, KEY.id, server.index, 0, 0, number, look, data)
    return unsigned.by(server.key)


def told(campaign: Any, servers: Any, number: int, values: dict[int, list[float]]) -> None:
    for server in servers:
        server.others = servers
        results = [revealed(campaign, server, number, look, value) for look, value in values.items()]
        server.results = statements.results_to_json(results)


def test_a_result_is_read_by_the_client_that_has_its_mask(start: Any, tmp_path: Path) -> None:
    campaign, servers = start(slots=ANSWER, again=1)
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    first = client.submit({"salary": 1})[0].number
    with pytest.raises(NoResult, match=r"Server 0 .* has no result of look 0"):
        client.result()
    told(campaign, servers, first, {0: [1.5, -2.25]})
    assert client.result()["mean"].tolist() == [1.5, -2.25]
    with pytest.raises(NoResult, match="look 1"):
        client.result(look=1)
    told(campaign, servers, first, {0: [1.5, -2.25], 1: [3, 4]})
    assert client.result()["mean"].tolist() == [3, 4]
    assert client.result(look=0)["mean"].tolist() == [1.5, -2.25]
    servers[2].answers = [(503, {}, {})]
    with pytest.raises(NotStored):
        client.submit({"salary": 2}, wait_s=0)  # the earlier packet may still be the one that is agreed
    assert client.result()["mean"].tolist() == [3, 4]
    with pytest.raises(NoResult, match="no mask of packet"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "other").result()


def test_unlike_or_unsigned_results_are_not_used(start: Any, tmp_path: Path) -> None:
    campaign, servers = start(slots=ANSWER)
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    number = client.submit({"salary": 1})[0].number
    told(campaign, servers, number, {0: [1.5, 0]})
    good = servers[2].results
    lie = revealed(campaign, servers[2], number, 0, [1.5, 0.25])
    servers[2].results = statements.results_to_json([lie])
    with pytest.raises(NoResult, match="Servers 0 and 2 state unlike results"):
        client.result()
    for change in ({"data": b"1"}, {"number": 3}, {"server": 0}, {"signature": bytes(64)}, {"client": OTHER.id}):
        servers[2].results = statements.results_to_json([dataclasses.replace(lie, **change)])
        with pytest.raises(NoResult, match="without a valid signature"):
            client.result()
    for bad in (b"", b"{}", b'{"results":1}', b'{"results":[{}]}'):
        servers[2].results = bad
        with pytest.raises(NoResult, match="no list of results"):
            client.result()
    servers[2].results = statements.results_to_json([])
    with pytest.raises(NoResult, match=r"Server 2 .* has no result"):
        client.result()
    servers[2].results = good
    assert client.result()["mean"].tolist() == [1.5, 0]
    for server in servers:
        short = statements.Result(campaign.hash, KEY.id, server.index, 0, 0, number, 0, bytes(15)).by(server.key)
        server.results = statements.results_to_json([short])
    with pytest.raises(NoResult, match="another length"):
        client.result()


def test_a_slot_without_results_says_so(start: Any, tmp_path: Path) -> None:
    campaign, _ = start()
    with pytest.raises(quorate_client.CampaignError, match="no results"):
        quorate_client.client(campaign, key=KEY, store=tmp_path / "box").result()


# ---- opening a client ------------------------------------------------------------------------------------------


def test_a_client_is_for_its_campaign(tmp_path: Path) -> None:
    campaign, _ = clients.made("rss", 3, [OTHER.id])
    invited, _ = clients.made("rss", 3, [], invitations=2)
    good = Invitation(1, (bytes(32),) * 3)
    for key, one, invitation, text in (
        (KEY, campaign, None, "does not list this key"),
        (OTHER, campaign, good, "takes no invitations"),
        (KEY, invited, None, "Give yours"),
        (KEY, invited, Invitation(2, good.secrets), "another campaign"),
        (KEY, invited, Invitation(1, good.secrets[1:]), "another campaign"),
    ):
        with pytest.raises(quorate_client.CampaignError, match=text):
            quorate_client.client(one, key=key, invitation=invitation, store=tmp_path)
    with pytest.raises(quorate_client.KeyFileError, match="store="):
        quorate_client.client(campaign, key=OTHER)


def test_a_client_reads_files(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    (tmp_path / "campaign.json").write_bytes(campaign.json)
    KEY.save(tmp_path / "my.key")
    client = quorate_client.client(tmp_path / "campaign.json", key=tmp_path / "my.key")
    client.submit({"salary": 9})
    assert int(opened(campaign, servers)[0]) == 9
    assert (tmp_path / "my.key.outbox").is_dir()
    assert to_text(KEY.id) in repr(client)
    with pytest.raises(quorate_client.CampaignError, match="cannot be read"):
        quorate_client.client(tmp_path / "none.json", key=KEY)


def test_a_status_that_is_refused_says_so(start: Any, tmp_path: Path) -> None:
    campaign, servers = start()
    client = quorate_client.client(campaign, key=KEY, store=tmp_path / "box")
    servers[0].clock = -(1 << 40)
    with pytest.raises(Refused, match="answered 401"):
        client.status()
    servers[0].stop()
    with pytest.raises(Unreachable):
        client.status()
