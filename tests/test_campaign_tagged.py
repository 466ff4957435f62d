"""Packets with tags at the servers: what the intake stores and refuses, and what a run reads of them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaigning import CLOSES, Servers
from quorate.campaigns import Frozen, Refused, StoreError, TaggedParts, _tagged, agreed, freeze, present
from quorate_client import limbs, wire, words
from quorate_client.statements import Receipt

MALICIOUS = {"malicious": "yes"}
WEAK = {"mac": "32", "allow_weak": "yes"}
COLUMNS = [
    {"name": "age", "dtype": "uint(7)", "low": "0", "high": "63"},
    {"name": "salary", "dtype": "int(32)", "shape": [2]},
    {"name": "flags", "dtype": "bit", "shape": [11]},
]
RESULTS = [{"name": "mean", "dtype": "fixed(32, 8)", "shape": []}, {"name": "above", "dtype": "bit", "shape": [3]}]
SLOT = {"name": "person", "per_client": 2, "columns": COLUMNS, "results": RESULTS}
FAMILIES = [
    ("spdz2k", 2, {}),
    ("spdz2k", 3, {"mac": "48"}),
    ("spdz2k", 8, WEAK),
    ("pika", 3, MALICIOUS),
]


def of(folder: Path, protocol: str, n: int, options: dict[str, str], **changed: Any) -> Servers:
    changed = {"slots": [SLOT], "options": options, **changed}
    return Servers.of(folder, protocol, n=n, **changed)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = of(tmp_path, "spdz2k", 3, {})
    yield made
    made.close()


@contextlib.contextmanager
def restarted(servers: Servers) -> Iterator[list[Frozen]]:
    """Ends the servers' processes, and freezes what they have on their disks."""
    servers.close()
    servers.clock.now = CLOSES
    with contextlib.ExitStack() as stack:
        opened = [freeze(servers.campaign, servers.settings(i), servers.clock) for i in range(servers.n)]
        for one in opened:
            stack.callback(one.close)
        yield opened


def person(i: int) -> dict[str, Any]:
    return {"age": i, "salary": [-i, 2**31 - 1 - i], "flags": [i % 2 == 0] * 11}


def stored(servers: Servers, server: int) -> int:
    (count,) = servers.stores[server].read(lambda c: c.execute("SELECT count(*) FROM packets").fetchone())
    return int(count)


def changed(servers: Servers, server: int, change: Any, number: int = 1) -> bytes:
    """Returns a client's packet for a server, sealed and signed, whose content was changed before."""
    header = wire.Header(servers.campaign.hash, servers.clients[0].id, 0, 0, 0, number, 0, 1, 0, holders(servers))
    contents = wire.split(servers.campaign, header, words.encode(servers.campaign.slots[0], person(3)))
    contents[server] = bytes(change(bytearray(contents[server])))
    return wire.make_packets(servers.campaign, servers.clients[0], header, contents)[server]


def holders(servers: Servers) -> tuple[int, ...]:
    return tuple(range(servers.campaign.holders))


# ---- intake ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "n", "options"), FAMILIES)
def test_a_packet_is_confirmed_by_each_server(tmp_path: Path, protocol: str, n: int, options: dict[str, str]) -> None:
    servers = of(tmp_path, protocol, n, options)
    for i, body in enumerate(servers.packets(1, values=person(1))):
        assert len(body) in servers.intakes[i].lengths
        receipt = servers.intakes[i].packet(body)
        assert isinstance(receipt, Receipt)
        assert receipt.confirms(wire.unpack(servers.campaign, i, body), servers.services[i].sign)
        (parts,) = servers.stores[i].read(lambda c: c.execute("SELECT count(*) FROM parts").fetchone())
        assert parts == (i < servers.campaign.holders)
    for i, body in enumerate(servers.packets(1, 2, kind=wire.WITHDRAWN)):
        assert len(body) in servers.intakes[i].lengths
        servers.intakes[i].packet(body)
        assert stored(servers, i) == 2
    servers.close()


def test_a_server_takes_packets_of_two_lengths_for_each_slot(servers: Servers) -> None:
    campaign = servers.campaign
    assert [len(intake.lengths) for intake in servers.intakes] == [2, 2, 2]
    assert {len(body) for body in servers.packets(0, values=person(0))[:2]} == {max(servers.intakes[0].lengths)}
    assert max(servers.intakes[2].lengths) - max(servers.intakes[0].lengths) == campaign.slots[0].bytes
    pika = [max(wire.lengths(campaign, server)) for server in (3, 4)]  # servers that hold nothing
    assert pika == [wire.HEADER_BYTES + 64 + 32] * 2


@pytest.mark.parametrize("server", [0, 2])
def test_content_of_another_length_is_refused(servers: Servers, server: int) -> None:
    for change in (lambda c: c[:-1], lambda c: c + b"\0", lambda c: c[:32], lambda c: c[: len(c) // 2]):
        with pytest.raises(Refused, match=r"The packet has \d+ bytes, and this one takes") as error:
            servers.intakes[server].packet(changed(servers, server, change))
        assert error.value.status == 400
        assert stored(servers, server) == 0
    servers.intakes[server].packet(changed(servers, server, bytes))


def test_unused_bits_are_refused_by_name(servers: Servers) -> None:
    def with_bit(at: int, bit: int) -> Any:
        def change(content: bytearray) -> bytearray:
            content[at] ^= 1 << bit
            return content

        return change

    # The last holder: a seed, then the difference, with an age of 7 bits first; then tags of 154 bits in 160.
    for server, at, bit, message in [
        (2, 32, 7, "Column age: unused bits"),
        (2, 32 + 1 + 8 + 1, 3, "Column flags: unused bits"),
        (2, -1, 7, "tags for server 1"),
        (0, -1, 2, "tags for server 2"),
        (0, 32 + 19, 2, "tags for server 1"),
        (1, 32 + 19, 7, "tags for server 0"),
    ]:
        with pytest.raises(Refused, match=message) as error:
            servers.intakes[server].packet(changed(servers, server, with_bit(at, bit)))
        assert error.value.status == 400
        assert stored(servers, server) == 0
    # A bit below is a lie, which the servers' check finds, and not the intake.
    for number, (server, at, bit) in enumerate([(0, 32 + 19, 1), (2, -1, 1), (2, 32, 6)], 1):
        servers.intakes[server].packet(changed(servers, server, with_bit(at, bit), number))


def test_parts_are_for_all_holders(servers: Servers) -> None:
    for receivers in ((0,), (0, 1), (1, 2), (0, 2), ()):
        body = servers.packets(0, values=person(0))[0]
        header = wire.Header.unpack(body)
        other = wire.Header(**{**vars(header), "receivers": receivers})
        seed = dict.fromkeys(receivers, b"\x01" * 32)
        with pytest.raises(Refused, match="are not shared between these servers") as error:
            servers.intakes[0].packet(wire.make_packets(servers.campaign, servers.clients[0], other, seed)[0])
        assert error.value.status == 400


# ---- what a run reads ------------------------------------------------------------------------------------------


def totals(parts: list[TaggedParts]) -> np.ndarray:
    """Checks all tags of all rows; returns the low 64 bits that the words of elements add up to."""
    tagging, total = parts[0].tagging, 0
    rows = [list(part.chunks()) for part in parts]
    for chunks in zip(*rows, strict=True):
        assert len({(one.rows.start, one.rows.stop) for one in chunks}) == 1
        for j, i in itertools.permutations(range(len(chunks)), 2):
            kappas, pads = chunks[i].keys(j)
            tags = limbs.multiplied(chunks[j].own(), kappas[:, None], pads, tagging.bits)
            assert limbs.equal(tags, chunks[j].tags(i)).all()
    for some in rows:
        assert [one.rows.start for one in some[1:]] == [one.rows.stop for one in some[:-1]]
        own = np.concatenate([one.own() for one in some])
        assert own.shape == (len(parts[0]), tagging.words, tagging.limbs)
        low = own[:, : tagging.slot.elements, 0] | own[:, : tagging.slot.elements, 1].astype(np.uint64) << np.uint64(32)
        total = total + low
    return np.asarray(total)


def by_column(parts: list[TaggedParts]) -> dict[Any, np.ndarray]:
    slot, low, start, found = parts[0].tagging.slot, totals(parts), 0, {}
    for name, column in zip(slot.names, slot.layout, strict=True):
        some = low[:, start : start + column.elements] & np.uint64((1 << column.dtype.bits) - 1)
        found[name], start = some.reshape(-1, *column.shape), start + column.elements
    return found


@pytest.mark.parametrize(("protocol", "n", "options"), FAMILIES)
def test_all_holders_read_words_that_add_up_after_a_restart(
    tmp_path: Path, protocol: str, n: int, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = of(tmp_path, protocol, n, options)
    for client, item in [(0, 0), (0, 1), (2, 0)]:
        servers.give(client, values=person(10 * client + item), item=item)
    servers.give(1, values=person(50))
    servers.give(1, 2, kind=wire.WITHDRAWN)
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        assert present(chosen).tolist() == [True, True, False, False, True, False]
        parts = [one.tagged(0, chosen) for one in opened[: servers.campaign.holders]]
        values = by_column(parts)
        assert values["age"].tolist() == [0, 1, 0, 0, 20, 0]
        signed = values["salary"].astype(np.uint32).view(np.int32).tolist()
        assert [signed[i] for i in (0, 1, 4)] == [person(i)["salary"] for i in (0, 1, 20)]
        assert values["flags"].all(axis=1).tolist() == [True, False, False, False, True, False]
        context = wire.Header(servers.campaign.hash, servers.clients[2].id, 2, 0, 0, 1, 0, 1, 0, ()).context
        slot = servers.campaign.slots[0]
        masks = words.columns(slot.masks, words.masks(slot, servers.masks[2, 1], context))
        for column, mask in zip(slot.results, masks, strict=True):
            np.testing.assert_array_equal(values["result", 0, column.name][4], mask)
        before = totals(parts)
        monkeypatch.setattr(_tagged, "_BYTES", 1)  # a row at a time
        assert [len(list(part.chunks())) for part in parts] == [6] * len(parts)
        np.testing.assert_array_equal(totals(parts), before)


def test_rows_without_a_packet_are_zero(servers: Servers) -> None:
    servers.give(1, values=person(5))
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        for me, one in enumerate(opened):
            (chunk,) = one.tagged(0, chosen).chunks()
            other = (me + 1) % 3
            kappas, pads = chunk.keys(other)
            for array in (chunk.own(), chunk.tags(other), pads, kappas):
                assert array.dtype == np.uint32
                assert array.shape[0] == 6
                assert array.any(axis=tuple(range(1, array.ndim))).tolist() == [False, False, True, False, False, False]
            assert kappas.shape == (6, 4)


def test_rows_may_be_read_in_any_order(servers: Servers) -> None:
    for client in range(3):
        servers.give(client, values=person(client))
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        parts = opened[0].tagged(0, chosen)
        assert len(parts) == 6
        (whole,) = parts.chunks()
        for first, end in ((4, 6), (0, 1), (1, 5), (3, 3)):
            some = parts.rows(first, end)
            assert some.rows == slice(first, end)
            np.testing.assert_array_equal(some.own(), whole.own()[first:end])
            np.testing.assert_array_equal(some.tags(2), whole.tags(2)[first:end])
            np.testing.assert_array_equal(some.keys(1)[0], whole.keys(1)[0][first:end])
            np.testing.assert_array_equal(some.keys(1)[1], whole.keys(1)[1][first:end])


def test_only_the_packet_that_counts_is_read(servers: Servers) -> None:
    servers.give(0, values=person(1))
    for server, body in enumerate(servers.packets(0, 2, values=person(2), base=1)):
        if server != 1:
            servers.intakes[server].packet(body)
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        assert by_column([one.tagged(0, chosen) for one in opened])["age"].tolist() == [1, 0, 0, 0, 0, 0]
        newest = opened[0].record(0)[:, 1]
        opened[0].tagged(0, newest).rows(0, 6)
        with pytest.raises(Refused, match="names 1 packets that are not here"):
            opened[1].tagged(0, newest).rows(0, 6)
        opened[1].tagged(0, newest).rows(1, 6)


def test_calls_for_other_campaigns_are_refused(servers: Servers, tmp_path: Path) -> None:
    servers.give(0, values=person(1))
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        with pytest.raises(Refused, match="parts of this campaign have tags: call `tagged`"):
            opened[0].parts(0, chosen)
        with pytest.raises(Refused, match=r"is not np\.int32 of shape"):
            opened[0].tagged(0, chosen[1:])
    for name, options in (("pika", {}), ("malicious", MALICIOUS)):
        pika = of(tmp_path / name, "pika", 3, options)
        pika.give(0, values=person(1))
        with restarted(pika) as opened:
            chosen = agreed([one.record(0) for one in opened])
            for me in (0, 2) if name == "pika" else (2,):
                with pytest.raises(Refused, match=f"server {me} holds no parts with tags"):
                    opened[me].tagged(0, chosen)


@pytest.mark.parametrize(
    ("statement", "message"),
    [("UPDATE parts SET sealed = zeroblob(length(sealed))", "altered or moved"), ("DELETE FROM parts", "without its")],
)
def test_a_damaged_store_is_an_error(servers: Servers, statement: str, message: str) -> None:
    servers.give(0, values=person(1))
    servers.stores[0].write(lambda connection: connection.execute(statement)).result()
    with restarted(servers) as opened:
        chosen = agreed([one.record(0) for one in opened])
        with pytest.raises(StoreError, match=message):
            opened[0].tagged(0, chosen).rows(0, 6)


def test_parts_at_rest_are_encrypted(servers: Servers) -> None:
    body = servers.give(0, values=person(1))[0]
    content = wire.open_part(servers.services[0], wire.unpack(servers.campaign, 0, body))
    servers.close()
    data = b"".join(file.read_bytes() for file in (servers.folder / "server0").rglob("*") if file.is_file())
    assert content[:32] not in data
    assert content[32:64] not in data
    assert body[:163] in data  # the header is not secret
