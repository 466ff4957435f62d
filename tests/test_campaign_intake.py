"""The intake: what is stored, and each packet that is refused, by name and without a trace."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigning import CLOSES, NOW, VALUES, Servers, campaign_of, text_of_time
from quorate.campaigns import Intake, Refused, approve, close, end
from quorate_client import ClientKey, ServiceKey, wire, words
from quorate_client.families import FAMILIES
from quorate_client.invitation import Invitation
from quorate_client.keys import seal, to_text
from quorate_client.statements import CLOCK_S, Hello, ItemStatus, Receipt, Status, sign_request


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers.of(tmp_path, slots=[person(2)])
    yield made
    made.close()


@pytest.fixture
def invited(tmp_path: Path) -> Iterator[Servers]:
    made = Servers.of(tmp_path, invited=True)
    yield made
    made.close()


def person(per_client: int = 1) -> dict[str, Any]:
    columns = [
        {"name": "age", "dtype": "uint(7)", "shape": []},
        {"name": "salary", "dtype": "int(64)", "shape": [2]},
        {"name": "flags", "dtype": "bit", "shape": [11]},
    ]
    return {"name": "person", "per_client": per_client, "columns": columns}


def held(servers: Servers, server: int = 0) -> list[tuple[int, int, int]]:
    """Returns (place, item, number) of what a server has stored."""
    query = "SELECT place, item, number FROM packets ORDER BY place, item, number"
    return servers.stores[server].read(lambda c: c.execute(query).fetchall())


def parts(servers: Servers, server: int = 0) -> int:
    (count,) = servers.stores[server].read(lambda c: c.execute("SELECT count(*) FROM parts").fetchone())
    return int(count)


def refused(servers: Servers, body: bytes, status: int, match: str = ".", server: int = 0) -> Refused:
    """Checks that a packet is refused and leaves no trace."""
    before = held(servers, server), parts(servers, server)
    with pytest.raises(Refused, match=match) as error:
        servers.intakes[server].packet(body)
    assert error.value.status == status
    assert (held(servers, server), parts(servers, server)) == before
    return error.value


def status(servers: Servers, client: int = 0, server: int = 0) -> Status:
    key = servers.clients[client]
    signature = sign_request(key, servers.campaign.hash, server, int(servers.clock.now))
    return servers.intakes[server].status(to_text(key.id), signature)


# ---- what is stored ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", FAMILIES)
def test_a_packet_is_confirmed_by_each_server_once_it_is_stored(tmp_path: Path, protocol: str) -> None:
    servers = Servers.of(tmp_path, protocol)
    for i, body in enumerate(servers.packets(1)):
        receipt = servers.intakes[i].packet(body)
        packet = wire.unpack(servers.campaign, i, body)
        assert receipt.confirms(packet, servers.services[i].sign)
        assert not receipt.confirms(packet, servers.services[i - 1].sign)
        assert receipt.time == NOW
        assert held(servers, i) == [(1, 0, 1)]
        assert parts(servers, i) == (i < 2)  # the third server computes with no part of this packet
    servers.close()


def test_parts_at_rest_are_encrypted(servers: Servers) -> None:
    contents = {}
    for i, body in enumerate(servers.give(0)):
        packet = wire.unpack(servers.campaign, i, body)
        contents[i] = wire.open_part(servers.services[i], packet)
    assert contents[0] and contents[1]
    servers.close()
    files = [f for f in servers.folder.rglob("*") if f.is_file()]
    assert len(files) >= 6
    for file in files:
        data = file.read_bytes()
        assert contents[0] not in data and contents[1] not in data, file


def test_a_packet_that_is_sent_again_is_stored_once(servers: Servers) -> None:
    body = servers.packets(0)[0]
    first = servers.intakes[0].packet(body)
    servers.clock.now += 100
    again = servers.intakes[0].packet(body)
    assert dataclasses.replace(again, signature=b"") == dataclasses.replace(first, signature=b"")
    assert held(servers) == [(0, 0, 1)]


def test_a_lost_receipt_is_given_after_the_closing(servers: Servers) -> None:
    body, other = servers.packets(0)[0], servers.packets(1)[0]
    first = servers.intakes[0].packet(body)
    servers.clock.now = CLOSES + 10
    assert servers.intakes[0].packet(body).time == first.time
    refused(servers, other, 410, "closed and takes no packets")
    refused(servers, body[:200] + b"\1" + body[201:], 403, "signature")


def test_the_newest_and_its_base_are_kept(servers: Servers) -> None:
    def give(number: int, base: int) -> list[tuple[int, int, int]]:
        servers.intakes[0].packet(servers.packets(0, number, base=base)[0])
        return held(servers)

    assert give(1, 0) == [(0, 0, 1)]
    assert give(2, 1) == [(0, 0, 1), (0, 0, 2)]
    assert give(3, 1) == [(0, 0, 1), (0, 0, 3)]  # 2 did not reach all servers
    assert give(5, 3) == [(0, 0, 3), (0, 0, 5)]
    assert give(9, 0) == [(0, 0, 9)]
    assert parts(servers) == 1


def test_items_and_clients_do_not_replace_each_other(servers: Servers) -> None:
    for client, item in [(0, 0), (0, 1), (1, 0), (2, 1)]:
        servers.intakes[0].packet(servers.packets(client, item=item)[0])
    assert held(servers) == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (2, 1, 1)]


def test_a_packet_may_be_withdrawn_and_given_again(servers: Servers) -> None:
    servers.give(0)
    servers.give(0, 2, kind=wire.WITHDRAWN)
    assert held(servers) == [(0, 0, 1), (0, 0, 2)]
    assert parts(servers) == 1
    servers.give(0, 3, VALUES)
    assert held(servers) == [(0, 0, 2), (0, 0, 3)]


# ---- what is refused -----------------------------------------------------------------------------------------------


def test_other_bytes_under_one_number_are_refused_by_name(servers: Servers) -> None:
    first = servers.give(0)
    error = refused(servers, servers.packets(0)[0], 409, "another packet with number 1 is stored")
    assert error.do == "send the bytes that were sent first, or values under a higher number"
    servers.intakes[0].packet(first[0])
    servers.give(0, 2)


def test_one_header_with_another_part_is_refused(servers: Servers) -> None:
    """A client that signs two parts under one header would be at both numbers, or at none."""
    key, campaign = servers.clients[0], servers.campaign
    fields = {"place": 0, "slot": 0, "item": 0, "number": 1, "base": 0, "at_least": 1, "kind": 0}
    header = wire.Header(campaign.hash, key.id, receivers=(0, 1), **fields)
    first, second = (
        wire.make_packets(campaign, key, header, {0: seed, 1: bytes(campaign.slots[0].bytes)})[0]
        for seed in (b"\1" * 32, b"\2" * 32)
    )
    servers.intakes[0].packet(first)
    refused(servers, second, 409, "another packet with number 1")


def test_older_numbers_are_refused(servers: Servers) -> None:
    old = servers.packets(0, 1)[0], servers.packets(0, 2, base=0)[0]
    servers.intakes[0].packet(old[0])
    servers.intakes[0].packet(servers.packets(0, 3, base=1)[0])
    assert servers.intakes[0].packet(old[0]).number == 1  # it is kept, as the base of number 3
    refused(servers, old[1], 409, "older than number 3")
    servers.intakes[0].packet(servers.packets(0, 4, base=3)[0])


def test_packets_after_the_closing_time_are_refused(servers: Servers) -> None:
    body = servers.packets(0)[0]
    servers.clock.now = CLOSES
    refused(servers, body, 410, "closed and takes no packets any more: ask its operators")
    servers.anew(name="later", closes=text_of_time(CLOSES + 60)).give(0)
    servers.clock.now = CLOSES - 1
    servers.intakes[0].packet(body)


def test_packets_after_an_operator_closed_are_refused(servers: Servers) -> None:
    close(servers.stores[0], servers.campaign.hash, NOW)
    refused(servers, servers.packets(0)[0], 410, "closed")


def test_the_closing_is_checked_in_the_transaction_of_the_packet(servers: Servers) -> None:
    """A packet whose check began before the closing must not be stored after it."""
    offer = servers.intakes[0].check(servers.packets(0)[0])
    close(servers.stores[0], servers.campaign.hash, NOW)
    with pytest.raises(Refused, match="closed"):
        servers.intakes[0].store(offer).result()
    assert held(servers) == []


def test_packets_of_an_ended_campaign_are_refused(servers: Servers) -> None:
    body = servers.give(0)[0]
    end(servers.stores[0], servers.campaign.hash, NOW)
    with pytest.raises(Refused, match="closed"):
        servers.intakes[0].packet(body)


def test_a_campaign_that_is_not_approved_takes_no_packets(servers: Servers) -> None:
    other = campaign_of(servers.services, servers.clients, name="other", id=to_text(b"\1" * 16))
    asked = dataclasses.replace(servers, campaign=other, intakes=[])
    asked.intakes.append(Intake(servers.stores[0], other, 0, servers.services[0], servers.clock))
    body = asked.packets(0)[0]
    refused(asked, body, 404, "is not approved here: ask its operators to approve it")
    approve(servers.stores[0], other, 0, servers.services[0])
    asked.intakes[0].packet(body)


def test_strangers_are_refused(servers: Servers) -> None:
    refused(servers, servers.packets(0, key=ClientKey.generate())[0], 403, "not listed")


def test_places_of_others_are_refused(servers: Servers) -> None:
    refused(servers, servers.packets(0, place=1)[0], 403, "another place than the client has")


def test_what_another_client_signed_is_refused(servers: Servers) -> None:
    body = bytearray(servers.packets(0)[0])
    other = servers.packets(1)[0]
    body[wire.HEADER_BYTES : wire.HEADER_BYTES + 64] = other[wire.HEADER_BYTES : wire.HEADER_BYTES + 64]
    refused(servers, bytes(body), 403, "signature fits neither")


def test_every_changed_byte_is_refused(servers: Servers) -> None:
    body = servers.packets(0)[0]
    assert len(body) == 372
    for at in range(len(body)):
        changed = bytearray(body)
        changed[at] ^= 1
        refused(servers, bytes(changed), servers_status(at))
    for length in (0, 1, wire.HEADER_BYTES - 1, wire.HEADER_BYTES, len(body) - 1):
        refused(servers, body[:length], 400, "bytes")
    refused(servers, body + b"\0", 400, "bytes")


def servers_status(at: int) -> Any:
    """Returns any of the statuses that fit: which field is wrong depends on the byte."""

    class AnyOf(int):
        def __eq__(self, other: object) -> bool:
            return other in (400, 403, 404)

        __hash__ = int.__hash__

    return AnyOf(at)


def test_packets_of_other_servers_are_refused(servers: Servers) -> None:
    bodies = servers.packets(0)
    for i, body in enumerate(bodies):
        for j in range(3):
            if i != j:
                refused(servers, body, servers_status(0), server=j)


@pytest.mark.parametrize(
    ("fields", "status", "match"),
    [
        ({"campaign": bytes(32)}, 404, "for another campaign"),
        ({"slot": 0, "item": 2}, 400, "item 2, and a client gives 2"),
        ({"number": 0, "base": 0}, 400, "numbered from 1"),
        ({"number": 2**53, "base": 0}, 400, "numbered from 1 to"),
        ({"number": 2, "base": 2}, 400, "base must be below"),
        ({"at_least": 0}, 400, "at_least must be 1 to 3"),
        ({"at_least": 4}, 400, "at_least must be 1 to 3"),
        ({"receivers": (0,)}, 400, "not shared between these servers"),
        ({"receivers": (0, 1, 2)}, 400, "not shared between these servers"),
        ({"receivers": (1, 7)}, 400, "not shared between these servers"),
        ({"kind": 1, "receivers": (0, 1)}, 400, "no receivers"),
        ({"kind": 2, "receivers": ()}, 400, "of kind 2"),
    ],
)
def test_headers_that_the_campaign_does_not_allow(servers: Servers, fields: Any, status: int, match: str) -> None:
    body = servers.packets(0, **fields)[0] if 7 not in fields.get("receivers", ()) else with_mask(servers, 0b10000010)
    refused(servers, body, status, match)


def with_mask(servers: Servers, mask: int) -> bytes:
    body = bytearray(servers.packets(0)[0])
    body[wire.HEADER_BYTES - 33] = mask
    return bytes(body)


def test_another_slot_is_refused(servers: Servers) -> None:
    body = bytearray(servers.packets(0)[0])
    at = 4 + 32 + 65 + 4
    assert struct.unpack_from("<H", body, at) == (0,)
    struct.pack_into("<H", body, at, 1)
    refused(servers, bytes(body), 400, "for slot 1, and the campaign has 1")


@pytest.mark.parametrize("receivers", [(1, 2), (0, 2), (0, 1)])
def test_padding_bits_that_are_not_zero_are_refused(servers: Servers, receivers: tuple[int, ...]) -> None:
    campaign, key = servers.campaign, servers.clients[0]
    last = receivers[-1]
    fields = {"place": 0, "slot": 0, "item": 0, "number": 1, "base": 0, "at_least": 1, "kind": 0}
    for at, bit in [(0, 0x80), (18, 0x08)]:  # above 7 bits of the age, and above 11 flags
        content = bytearray(campaign.slots[0].bytes)
        content[at] = bit
        header = wire.Header(campaign.hash, key.id, receivers=receivers, **fields)
        body = wire.make_packets(campaign, key, header, {receivers[0]: bytes(32), last: bytes(content)})[last]
        refused(servers, body, 400, "unused bits of the words must be 0", server=last)


def test_parts_sealed_for_another_header_are_refused(servers: Servers) -> None:
    """The signature fits, so the client did this itself; or somebody moved a part that a client had sealed."""
    first, second = (wire.unpack(servers.campaign, 0, servers.packets(0, number)[0]) for number in (1, 2))
    moved = dataclasses.replace(second, sealed=first.sealed)
    signature = servers.clients[0].sign(moved.signed)
    body = b"".join((moved.header.pack(), signature, moved.tag, moved.sealed))
    refused(servers, body, 400, "cannot be opened")


def test_parts_sealed_to_another_server_are_refused(servers: Servers) -> None:
    packet = wire.unpack(servers.campaign, 0, servers.packets(0)[0])
    sealed = seal(servers.services[1].seal, b"quorate/client/part/1\0\0" + packet.header.pack(), bytes(32))
    changed = dataclasses.replace(packet, sealed=sealed)
    signature = servers.clients[0].sign(changed.signed)
    refused(servers, b"".join((changed.header.pack(), signature, bytes(32), sealed)), 400, "cannot be opened")


def test_packets_of_a_campaign_do_not_fit_another(tmp_path: Path) -> None:
    one = Servers.of(tmp_path / "one", clients=2)
    other = Servers.of(tmp_path / "other", clients=2)
    body = one.packets(0)[0]
    refused(other, body, 404, "for another campaign")
    moved = bytearray(body)
    moved[4:36] = other.campaign.hash
    refused(other, bytes(moved), 403, "not listed")
    one.intakes[0].packet(body)
    one.close()
    other.close()


def test_a_client_replaces_60_packets_an_hour(servers: Servers) -> None:
    bodies = [servers.packets(0, number)[0] for number in range(1, 64)]
    for body in bodies[:61]:
        servers.intakes[0].packet(body)
    servers.clock.now += 600
    error = refused(servers, bodies[61], 429, "replaced 60 packets within an hour")
    assert error.retry_after == 3000
    servers.intakes[0].packet(bodies[60])  # what is stored is confirmed
    servers.intakes[0].packet(servers.packets(1)[0])  # others are not concerned
    servers.intakes[0].packet(servers.packets(0, item=1)[0])  # a first packet does not count
    servers.clock.now += 3000
    servers.intakes[0].packet(bodies[61])


def test_refused_packets_do_not_count(servers: Servers) -> None:
    servers.intakes[0].packet(servers.packets(0, 9)[0])
    for _ in range(70):
        refused(servers, servers.packets(0, 5)[0], 409, "older")
    servers.intakes[0].packet(servers.packets(0, 10)[0])


# ---- invitations ---------------------------------------------------------------------------------------------------


def test_an_invitation_belongs_to_the_first_key_that_shows_it(invited: Servers) -> None:
    invitation = invited.invitation(1)
    first, second = ClientKey.generate(), ClientKey.generate()
    for i, body in enumerate(invited.packets(1, key=first, invitation=invitation)):
        invited.intakes[i].packet(body)
    refused(invited, invited.packets(1, 2, key=second, invitation=invitation)[0], 403, "used with another key")
    invited.intakes[0].packet(invited.packets(1, 2, key=first, invitation=invitation)[0])
    other = invited.packets(2, key=first, invitation=invited.invitation(2))[0]
    refused(invited, other, 403, "this key was used with another invitation")
    invited.intakes[0].packet(invited.packets(2, key=second, invitation=invited.invitation(2))[0])


def test_a_binding_lasts_longer_than_the_process_and_the_packet(invited: Servers) -> None:
    invitation, key = invited.invitation(1), ClientKey.generate()
    invited.intakes[0].packet(invited.packets(1, key=key, invitation=invitation)[0])
    invited.intakes[0].packet(invited.packets(1, 2, key=key, invitation=invitation, kind=wire.WITHDRAWN)[0])
    invited.stores[0].close()
    invited.open(0)
    refused(invited, invited.packets(1, 3, invitation=invitation)[0], 403, "used with another key")


def test_a_packet_that_is_refused_binds_nothing(invited: Servers) -> None:
    invitation = invited.invitation(0)
    bad = invited.packets(0, at_least=9, invitation=invitation)[0]
    refused(invited, bad, 400, "at_least")
    other = ClientKey.generate()
    invited.intakes[0].packet(invited.packets(0, key=other, invitation=invitation)[0])


@pytest.mark.parametrize("changed", ["secret", "place", "of another server", "none"])
def test_wrong_invitations_are_refused(invited: Servers, changed: str) -> None:
    good = invited.invitation(1)
    wrong = {
        "secret": Invitation(1, (bytes(32), *good.secrets[1:])),
        "place": Invitation(1, invited.invitation(2).secrets),
        "of another server": Invitation(1, good.secrets[1:] + good.secrets[:1]),
        "none": None,
    }[changed]
    if wrong is None:
        body = bytearray(invited.packets(1, invitation=good)[0])
        body[wire.HEADER_BYTES + 64 : wire.HEADER_BYTES + 96] = bytes(32)
    else:
        body = bytearray(invited.packets(1, invitation=wrong)[0])
    refused(invited, bytes(body), 403, "does not show the invitation")
    refused(invited, invited.packets(0, place=3, invitation=good)[0], 403, "has 3 invitations")


def test_an_invitation_that_was_not_used_has_nothing_to_withdraw(invited: Servers) -> None:
    body = invited.packets(1, kind=wire.WITHDRAWN)[0]
    refused(invited, body, 403, "nothing to withdraw")
    invited.give(1)
    invited.give(1, 2, kind=wire.WITHDRAWN)


def test_invitations_differ_by_server_place_and_campaign(invited: Servers, tmp_path: Path) -> None:
    other = Servers.of(tmp_path / "other", invited=True)
    secrets = [s for servers in (invited, other) for place in range(3) for s in servers.invitation(place).secrets]
    assert len(set(secrets)) == len(secrets) == 18
    assert all(len(s) == 32 for s in secrets)
    other.close()


def test_tags_in_campaigns_that_list_clients_are_refused(servers: Servers) -> None:
    body = bytearray(servers.packets(0)[0])
    body[wire.HEADER_BYTES + 64] = 1
    refused(servers, bytes(body), 403, "the campaign lists its clients")


# ---- hello and status ----------------------------------------------------------------------------------------------


def test_a_server_says_which_campaign_it_runs(servers: Servers) -> None:
    for i, intake in enumerate(servers.intakes):
        hello = Hello.from_json(intake.hello())
        assert hello.differs(servers.campaign, i) is None
        assert hello.differs(servers.campaign, (i + 1) % 3) == "server"


def test_a_client_hears_what_is_stored(servers: Servers) -> None:
    servers.give(0)
    servers.give(0, 2)
    servers.give(0, 3, item=1)
    assert status(servers) == Status(False, (ItemStatus(0, 0, 2, "stored"), ItemStatus(0, 1, 3, "stored")))
    assert status(servers, 1) == Status(False, ())
    servers.clock.now = CLOSES
    assert status(servers).closed
    end(servers.stores[0], servers.campaign.hash, servers.clock.now)
    assert status(servers) == Status(True, ())


def test_a_client_with_an_invitation_hears_its_own(invited: Servers) -> None:
    invited.give(0)
    assert [item.number for item in status(invited).items] == [1]
    with pytest.raises(Refused, match="no place in the campaign") as error:
        status(invited, 1)
    assert error.value.status == 404


def test_only_the_client_hears_of_its_packets(servers: Servers) -> None:
    servers.give(0)
    key, campaign, now = servers.clients[0], servers.campaign.hash, int(NOW)
    client = to_text(key.id)

    def ask(signature: str, whose: str = client) -> Refused:
        with pytest.raises(Refused) as error:
            servers.intakes[0].status(whose, signature)
        return error.value

    wrong = [
        sign_request(servers.clients[1], campaign, 0, now),
        sign_request(key, campaign, 1, now),
        sign_request(key, bytes(32), 0, now),
        sign_request(key, campaign, 0, now).replace(f"{now}.", f"{now + 1}."),
        f"{now}.",
        "",
        "x" * 10_000,
    ]
    for signature in wrong:
        assert ask(signature).status == 401
    late = ask(sign_request(key, campaign, 0, now - CLOCK_S - 1))
    assert (late.status, f"this server's time is {now}" in late.what) == (401, True)
    assert ask(sign_request(key, campaign, 0, now), "no base64 !").status == 400
    assert ask(sign_request(key, campaign, 0, now), to_text(servers.clients[1].id)).status == 401
    assert ask(sign_request(key, campaign, 0, now), to_text(bytes(65))).status == 401
    servers.intakes[0].status(client, sign_request(key, campaign, 0, now - CLOCK_S))


# ---- approval ------------------------------------------------------------------------------------------------------


def test_approving_again_changes_nothing(servers: Servers) -> None:
    servers.give(0)
    assert approve(servers.stores[0], servers.campaign, 0, servers.services[0]) is False
    assert held(servers) == [(0, 0, 1)]
    servers.stores[0].close()
    servers.open(0)
    servers.intakes[0].packet(servers.packets(0, 2)[0])


def test_campaigns_for_other_servers_are_not_approved(servers: Servers) -> None:
    for me, service in [(1, servers.services[0]), (0, ServiceKey.generate())]:
        with pytest.raises(Refused, match=f"other keys for server {me} than this server's"):
            approve(servers.stores[0], servers.campaign, me, service)
    with pytest.raises(Refused, match="has 3 servers, and this is party 3"):
        approve(servers.stores[0], servers.campaign, 3, servers.services[0])
    others = [ServiceKey.generate() for _ in range(4)]
    for name, listed in (("own_keys", 0), ("five_servers", 3)):
        keys = [*others[:listed], servers.services[0], *others[listed:]]
        assert approve(servers.stores[0], campaign_of(keys, servers.clients, name=name), listed, servers.services[0])


def test_two_open_campaigns_of_one_name_are_refused(servers: Servers) -> None:
    fields = {"name": servers.campaign.name, "id": to_text(b"\1" * 16), "slots": [person()]}
    other = campaign_of(servers.services, servers.clients, **fields)
    assert other.hash != servers.campaign.hash
    with pytest.raises(Refused, match="another campaign named 'salaries' is approved here"):
        approve(servers.stores[0], other, 0, servers.services[0])
    renamed = campaign_of(servers.services, servers.clients, **{**fields, "name": "another_name"})
    assert approve(servers.stores[0], renamed, 0, servers.services[0]) is True
    end(servers.stores[0], servers.campaign.hash)
    assert approve(servers.stores[0], other, 0, servers.services[0]) is True
    with pytest.raises(Refused, match="was ended here, and a hash is approved once: make a new campaign"):
        approve(servers.stores[0], servers.campaign, 0, servers.services[0])
    end(servers.stores[0], other.hash)
    new = campaign_of(servers.services, servers.clients, **{**fields, "id": to_text(b"\2" * 16)})
    assert approve(servers.stores[0], new, 0, servers.services[0]) is True


def test_receipts_are_json_that_clients_read(servers: Servers) -> None:
    receipt = servers.intakes[2].packet(servers.packets(0)[2])
    assert Receipt.from_json(receipt.to_json()) == receipt


def test_lengths_are_those_of_all_packets(servers: Servers) -> None:
    kinds = [{"receivers": r} for r in ((0, 1), (0, 2), (1, 2))] + [{"kind": wire.WITHDRAWN}]
    for i, intake in enumerate(servers.intakes):
        seen = {len(servers.packets(0, **fields)[i]) for fields in kinds}
        assert seen <= intake.lengths
        assert len(intake.lengths) == 3  # of a seed, of words, and of a packet without a part
    assert words.SEED_BYTES == 32
