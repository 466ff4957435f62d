"""Packets of clients: whatever is wrong is refused by name, also under a right signature."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from typing import Any

import pytest

import clients
from quorate_client import (
    Campaign,
    Invitation,
    KeyFileError,
    ServiceKey,
    WireError,
    keys,
    statements,
    tagged,
    wire,
    words,
)
from quorate_client.keys import ClientKey, to_text
from quorate_client.statements import Hello, Receipt, Status

KEY, OTHER = ClientKey.generate(), ClientKey.generate()
CAMPAIGN, SERVERS = clients.made("rss", 3, [KEY.id, OTHER.id])
INVITED, INVITED_SERVERS = clients.made("rss", 3, [], invitations=5)
SECRETS = [[bytes([server, place]) * 16 for place in range(5)] for server in range(3)]
INVITATION = Invitation(3, tuple(own[3] for own in SECRETS))
PLACE = CAMPAIGN.client_index(KEY.id) or 0


def packets(
    of: Campaign = CAMPAIGN, key: ClientKey = KEY, invitation: Invitation | None = None, **changes: Any
) -> list[bytes]:
    """Returns packets whose signatures are right, whatever the header says."""
    place = PLACE if invitation is None else invitation.place
    header = wire.Header(of.hash, key.id, place, 0, 0, 7, 3, 1, wire.VALUES, (0, 2))
    header = dataclasses.replace(header, **changes)
    contents = {}
    if header.kind == wire.VALUES:
        slot = of.slots[0]
        seeds = wire.fresh_seeds(header.receivers)
        encoded = words.encode(slot, {"salary": 5})
        contents = words.split(slot, encoded, header.receivers, seeds, header.context) if header.receivers else {}
        contents = {server: content for server, content in contents.items() if server < len(of.servers)}
    return wire.make_packets(of, key, header, contents, invitation)


def test_a_good_packet_is_read() -> None:
    for server, body in enumerate(packets()):
        packet = wire.unpack(CAMPAIGN, server, body)
        assert (packet.header.number, packet.header.base, packet.header.receivers) == (7, 3, (0, 2))
        assert len(wire.open_part(SERVERS[server], packet)) == (32, 0, 4)[server]
        assert len(body) == wire.packet_bytes(CAMPAIGN, packet.header, server)
    assert wire.HEADER_BYTES == 163
    withdrawn = packets(kind=wire.WITHDRAWN, receivers=())
    assert [len(body) for body in withdrawn] == [163 + 64 + 32] * 3
    assert wire.open_part(SERVERS[0], wire.unpack(CAMPAIGN, 0, withdrawn[0])) == b""


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("campaign", {"campaign": bytes(32)}),
        ("campaign", {"campaign": INVITED.hash}),
        ("client", {"client": KEY.id[:64] + bytes([KEY.id[64] ^ 1])}),
        ("client", {"client": bytes(65)}),
        ("client", {"client": ClientKey.generate().id}),
        ("place", {"place": 1 - PLACE}),
        ("place", {"place": (1 << 32) - 1}),
        ("slot", {"slot": 1}),
        ("item", {"item": 1}),
        ("number", {"number": 0, "base": 0}),
        ("number", {"number": 1 << 53}),
        ("base", {"base": 7}),
        ("base", {"base": (1 << 64) - 1}),
        ("at_least", {"at_least": 0}),
        ("at_least", {"at_least": 3}),
        ("kind", {"kind": 2, "receivers": ()}),
        ("receivers", {"receivers": (0,)}),
        ("receivers", {"receivers": (0, 1, 2)}),
        ("receivers", {"receivers": (0, 3)}),
        ("receivers", {"receivers": (1, 7)}),
        ("receivers", {"receivers": ()}),
        ("receivers", {"receivers": (0, 1), "kind": wire.WITHDRAWN}),
        ("signature", {"client": OTHER.id, "place": 1 - PLACE}),
    ],
)
def test_a_wrong_field_is_named(field: str, changes: dict[str, Any]) -> None:
    for server, body in enumerate(packets(**changes)):
        with pytest.raises(WireError) as error:
            wire.unpack(CAMPAIGN, server, body)
        assert error.value.field == field
        assert str(error.value).endswith(".")


@pytest.mark.parametrize("server", [0, 1, 2])
def test_each_byte_of_a_packet_matters(server: int) -> None:
    body = packets()[server]
    wire.unpack(CAMPAIGN, server, body)
    seen = set()
    for place in range(len(body)):
        changed = bytearray(body)
        changed[place] ^= 1 << place % 8
        with pytest.raises(WireError) as error:
            wire.unpack(CAMPAIGN, server, bytes(changed))
        seen.add(error.value.field)
    assert {"version", "campaign", "client", "place", "slot", "signature", "tag", "receivers", "kind"} <= seen


@pytest.mark.parametrize("server", [0, 1, 2])
def test_a_packet_has_one_length(server: int) -> None:
    body = packets()[server]
    for length in range(len(body)):
        with pytest.raises(WireError) as error:
            wire.unpack(CAMPAIGN, server, body[:length])
        assert error.value.field == "length"
    for more in (1, 32, 1 << 20):
        with pytest.raises(WireError) as error:
            wire.unpack(CAMPAIGN, server, body + bytes(more))
        assert error.value.field == "length"


def test_a_packet_is_for_its_server() -> None:
    campaign, servers = clients.made("rss", 7, [KEY.id])
    bodies = packets(campaign, receivers=(0, 1, 2, 3), place=0)
    for body, server in ((bodies[5], 6), (bodies[0], 1)):
        with pytest.raises(WireError) as error:
            wire.unpack(campaign, server, body)
        assert error.value.field == "signature"
    packet = wire.unpack(campaign, 0, bodies[0])
    for key in (servers[1], ServiceKey.generate()):
        with pytest.raises(WireError, match="cannot be opened") as error:
            wire.open_part(key, packet)
        assert error.value.field == "part"


@pytest.mark.parametrize("other", [{"protocol": "pika"}, {"again": 1}, {"id": to_text(bytes(15) + b"\1")}])
def test_a_packet_is_for_its_campaign(other: dict[str, Any]) -> None:
    fields = json.loads(CAMPAIGN.json) | other
    campaign = type(CAMPAIGN).from_json(clients.canonical(fields))
    with pytest.raises(WireError) as error:
        wire.unpack(campaign, 0, packets()[0])
    assert error.value.field == "campaign"


def test_a_part_is_for_its_header() -> None:
    body = packets()[0]
    packet = wire.Packet.of(0, body)
    changes = {"number": 8, "base": 4, "at_least": 2, "nonce": bytes(32)}
    for name, value in changes.items():
        header = dataclasses.replace(packet.header, **{name: value})
        unsigned = dataclasses.replace(packet, header=header)
        again = header.pack() + KEY.sign(unsigned.signed) + packet.tag + bytes(packet.sealed)
        with pytest.raises(WireError) as error:
            wire.open_part(SERVERS[0], wire.unpack(CAMPAIGN, 0, again))
        assert error.value.field == "part"


def test_what_server_2_of_pika_gets_depends_on_the_coins_alone() -> None:
    campaign, _ = clients.made("pika", 3, [KEY.id])
    slot = campaign.slots[0]
    header = wire.Header(campaign.hash, KEY.id, 0, 0, 0, 1, 0, 1, wire.VALUES, (0, 1), bytes(32))
    seen = set()
    for value in range(20):
        encoded = words.encode(slot, {"salary": value})
        contents = words.split(slot, encoded, (0, 1), [bytes(32)], header.context)
        body = wire.make_packets(campaign, KEY, header, contents)[2]
        wire.unpack(campaign, 2, body)
        seen.add(body[: wire.HEADER_BYTES] + body[wire.HEADER_BYTES + keys.SIGNATURE_BYTES :])  # but the signature
    assert len(seen) == 1


# ---- invitations -----------------------------------------------------------------------------------------------


def test_an_invitation_is_shown_to_each_server_by_its_own_secret() -> None:
    bodies = packets(INVITED, invitation=INVITATION)
    for server, body in enumerate(bodies):
        packet = wire.unpack(INVITED, server, body, SECRETS[server].__getitem__)
        assert packet.header.place == 3
        for wrong in (SECRETS[(server + 1) % 3], SECRETS[server][::-1], [bytes(32)] * 5):
            if wrong[3] == SECRETS[server][3]:
                continue
            with pytest.raises(WireError) as error:
                wire.unpack(INVITED, server, body, wrong.__getitem__)
            assert error.value.field == "tag"
    with pytest.raises(TypeError, match="secret="):
        wire.unpack(INVITED, 0, bodies[0])


def test_a_place_beyond_the_invitations_is_refused_before_a_secret_is_sought() -> None:
    def never(place: int) -> bytes:
        raise AssertionError(place)

    body = packets(INVITED, invitation=dataclasses.replace(INVITATION, place=5))[0]
    with pytest.raises(WireError) as error:
        wire.unpack(INVITED, 0, body, never)
    assert error.value.field == "place"


def test_listed_clients_show_no_invitation() -> None:
    header = wire.Packet.of(0, packets()[0]).header
    body = wire.make_packets(CAMPAIGN, KEY, dataclasses.replace(header, kind=1, receivers=()), {}, INVITATION)[0]
    with pytest.raises(WireError) as error:
        wire.unpack(CAMPAIGN, 0, body)
    assert error.value.field == "tag"


def test_the_text_of_an_invitation() -> None:
    assert Invitation.from_text(f" {INVITATION.to_text()}\n") == INVITATION
    secret = to_text(INVITATION.secrets[0])
    for text in (
        "",
        "3",
        f"x.{secret}",
        f"-1.{secret}",
        f"3.{secret[:-1]}",
        f"3.{secret}.",
        f"3.{secret}=",
        "3..",
        secret,
    ):
        with pytest.raises(KeyFileError) as error:
            Invitation.from_text(text)
        assert secret not in str(error.value)
    assert secret not in repr(INVITATION)


# ---- statements ------------------------------------------------------------------------------------------------


def test_a_receipt_is_for_one_packet_of_one_server() -> None:
    bodies = packets()
    packet = wire.unpack(CAMPAIGN, 1, bodies[1])
    receipt = Receipt.of(packet, 1_700_000_000, SERVERS[1])
    assert Receipt.from_json(receipt.to_json()) == receipt
    assert receipt.confirms(packet, CAMPAIGN.servers[1].sign)
    assert not receipt.confirms(packet, CAMPAIGN.servers[0].sign)
    assert not receipt.confirms(packet, CAMPAIGN.servers[1].seal)
    assert not receipt.confirms(wire.unpack(CAMPAIGN, 0, bodies[0]), CAMPAIGN.servers[1].sign)
    assert not receipt.confirms(wire.unpack(CAMPAIGN, 1, packets()[1]), CAMPAIGN.servers[1].sign)
    for name, value in vars(receipt).items():
        other = value + 1 if isinstance(value, int) else value[:-1] + bytes([value[-1] ^ 1])
        assert not dataclasses.replace(receipt, **{name: other}).confirms(packet, CAMPAIGN.servers[1].sign)


def test_a_hello_states_the_campaign() -> None:
    for server, key in enumerate(SERVERS):
        hello = Hello.of(CAMPAIGN, server, key)
        assert Hello.from_json(hello.to_json()) == hello
        assert hello.differs(CAMPAIGN, server) is None
        assert hello.differs(CAMPAIGN, (server + 1) % 3) == "server"
        assert Hello.of(CAMPAIGN, server, ServiceKey.generate()).differs(CAMPAIGN, server) == "signature"


@pytest.mark.parametrize(
    "change",
    [
        {"slot": -1},
        {"slot": 65536},
        {"slot": True},
        {"slot": "0"},
        {"number": 1 << 53},
        {"number": 1.0},
        {"server": None},
        {"time": []},
        {"digest": ""},
        {"digest": to_text(bytes(33))},
        {"client": to_text(bytes(64))},
        {"signature": to_text(bytes(65))},
        {"campaign": 7},
    ],
)
def test_malformed_receipts_are_refused(change: dict[str, Any]) -> None:
    packet = wire.unpack(CAMPAIGN, 1, packets()[1])
    fields = json.loads(Receipt.of(packet, 1, SERVERS[1]).to_json())
    Receipt.from_json(json.dumps(fields).encode())
    with pytest.raises(WireError) as error:
        Receipt.from_json(json.dumps(fields | change).encode())
    assert error.value.field == "receipt"
    with pytest.raises(WireError):
        Receipt.from_json(json.dumps({key: value for key, value in fields.items() if key not in change}).encode())


def test_a_status_is_read_without_trust() -> None:
    items = (statements.ItemStatus(0, 1, 7, "in"), statements.ItemStatus(1, 0, 9, "absent", "too few clients"))
    status = Status(True, items)
    assert Status.from_json(status.to_json()) == status
    fields = json.loads(status.to_json())
    fields["items"][0]["why"] = "\x1b[2J" + "x" * 1000
    assert Status.from_json(json.dumps(fields).encode()).items[0].why == "[2J" + "x" * 296
    for bad in (b"", b"[]", b"{}", b'{"closed":true,"items":[1]}', b'{"closed":true,"items":[{"slot":0}]}'):
        with pytest.raises(WireError):
            Status.from_json(bad)


def test_a_request_is_of_one_client_at_one_server_in_one_hour() -> None:
    now = time.time()
    text = statements.sign_request(KEY, CAMPAIGN.hash, 1, int(now))
    statements.check_request(KEY.id, CAMPAIGN.hash, 1, text, now + 299)
    for client, campaign, server, field in (
        (OTHER.id, CAMPAIGN.hash, 1, "signature"),
        (KEY.id, INVITED.hash, 1, "signature"),
        (KEY.id, CAMPAIGN.hash, 0, "signature"),
    ):
        with pytest.raises(WireError) as error:
            statements.check_request(client, campaign, server, text, now)
        assert error.value.field == field
    for off in (-302, 302, 10**9):
        with pytest.raises(WireError) as error:
            statements.check_request(KEY.id, CAMPAIGN.hash, 1, text, now + off)
        assert error.value.field == "time"
    later = text.replace(str(int(now)), str(int(now) + 1))
    signature = text.partition(".")[2]
    for bad in (
        later,
        "",
        ".",
        f".{signature}",
        f"-1.{signature}",
        f"{int(now)}.",
        f"{int(now)}.{signature}=",
        "9" * 5000,
    ):
        with pytest.raises(WireError):
            statements.check_request(KEY.id, CAMPAIGN.hash, 1, bad, now)


def test_labels_keep_signatures_apart() -> None:
    labels = [value for module in (wire, statements) for name, value in vars(module).items() if name.endswith("_LABEL")]
    labels += [words._LABEL, tagged._WORDS_LABEL, b"quorate/campaign/1\0"]
    assert len(labels) == len(set(labels)) == 10
    for label in labels:
        assert label.endswith(b"\0")
        assert not any(other != label and other.startswith(label) for other in labels)


def test_signatures_are_strict() -> None:
    message = os.urandom(10)
    signature = KEY.sign(message)
    assert keys.verify(KEY.id, message, signature)
    for bad in (b"", bytes(64), b"\xff" * 64, signature[:-1], signature + b"\0", signature[32:] + signature[:32]):
        assert not keys.verify(KEY.id, message, bad)
    assert not keys.verify(bytes(65), message, signature)
