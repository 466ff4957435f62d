"""Known answers of clients in `client_vectors.json`, which JavaScript's client checks as well.

`python tests/test_client_vectors.py` writes the file anew, after a change of the format or for new cases. Coins come
from here: seeds and nonces are arguments, and keys are made of small numbers. Sealing and signing draw their own, so
those bytes are checked by opening and verifying them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

import clients
from quorate_client import Campaign, ClientKey, Invitation, ServiceKey, keys, statements, tagged, wire, words
from quorate_client.campaign import Slot
from quorate_client.keys import from_text, to_text
from quorate_client.tagged import Tagging

FILE = Path(__file__).with_name("client_vectors.json")

COLUMNS = [
    {"name": "small", "dtype": "int(5)", "shape": [3], "low": "-7", "high": "8"},
    {"name": "flags", "dtype": "bit", "shape": [2, 5]},
    {"name": "wide", "dtype": "uint(64)", "shape": [2]},
    {"name": "price", "dtype": "fixed(40, 8)", "shape": [4], "low": "-100.5", "high": "100.5"},
    {"name": "odd", "dtype": "int(33)", "shape": []},
    {"name": "two", "dtype": "uint(16)", "shape": [2]},
]
RESULTS = [
    {"name": "mean", "dtype": "fixed(40, 8)", "shape": [2]},
    {"name": "above", "dtype": "bit", "shape": [3]},
    {"name": "rank", "dtype": "int(33)", "shape": []},
]
VALUES = {
    "small": [-7, 0, 8],
    "flags": [[1, 0, 1, 1, 0], [0, 0, 1, 0, 1]],
    "wide": [str(2**64 - 1), str(2**53 + 1)],
    "price": [0.001953125, 0.005859375, -100.5, 3.14159],
    "odd": str(-(2**32)),
    "two": [0, 65535],
}
REVEALED = {"mean": [-1.5, 2.25], "above": [1, 0, 1], "rank": str(-(2**32))}


class Form(NamedTuple):
    """What a vector's slot asks for, and what is given and revealed."""

    columns: list[dict[str, Any]]
    results: list[dict[str, Any]]
    values: dict[str, Any]
    revealed: dict[str, Any]


class Case(NamedTuple):
    """A campaign, and how a client gives values to it."""

    protocol: str
    parties: int
    receivers: tuple[int, ...]
    invited: bool
    options: Mapping[str, str] = types.MappingProxyType({})
    form: Form = Form(COLUMNS, RESULTS, VALUES, REVEALED)

    @property
    def is_tagged(self) -> bool:
        return self.protocol == "spdz2k" or "malicious" in self.options


#: Elements of few bits, which are checked in more rows.
NARROW = Form(
    [
        {"name": "small", "dtype": "int(5)", "shape": [3]},
        {"name": "flags", "dtype": "bit", "shape": [2, 5]},
        {"name": "price", "dtype": "fixed(12, 4)", "shape": [2]},
        {"name": "two", "dtype": "uint(16)", "shape": []},
    ],
    [
        {"name": "mean", "dtype": "fixed(12, 4)", "shape": [2]},
        {"name": "above", "dtype": "bit", "shape": [3]},
        {"name": "rank", "dtype": "int(9)", "shape": []},
    ],
    {"small": [-16, 0, 15], "flags": VALUES["flags"], "price": [-128, 0.0625], "two": 65535},
    {"mean": [-1.5, 2.25], "above": [1, 0, 1], "rank": "-256"},
)

PLAIN = [("rss", 3, (0, 2)), ("rss", 5, (1, 3, 4)), ("rss", 7, (0, 1, 4, 6)), ("aby", 2, (0, 1)), ("pika", 3, (0, 1))]
TAGGED = [
    Case("spdz2k", 2, (0, 1), False),
    Case("spdz2k", 3, (0, 1, 2), True, {"mac": "48"}, NARROW),
    Case("spdz2k", 4, (0, 1, 2, 3), False, {"mac": "32", "allow_weak": "yes"}, NARROW),
    Case("pika", 3, (0, 1), True, {"malicious": "yes", "mac": "64"}),
]
ALL = [*(Case(*case, invited) for case in PLAIN for invited in (False, True)), *TAGGED]


def key_of(number: int) -> ec.EllipticCurvePrivateKey:
    secret = int.from_bytes(hashlib.sha256(b"vectors %d" % number).digest(), "big") >> 1
    return ec.derive_private_key(secret, ec.SECP256R1())


def coins(label: str, size: int = 32) -> bytes:
    return hashlib.sha256(label.encode()).digest()[:size]


def client_key(index: int) -> ClientKey:
    return ClientKey(key_of(100 + index))


def service_key(index: int) -> ServiceKey:
    return ServiceKey(key_of(2 * index), key_of(2 * index + 1))


def jwk(key: ec.EllipticCurvePrivateKey) -> dict[str, str]:
    """Returns a private key as WebCrypto reads it."""
    numbers, point = key.private_numbers(), ClientKey(key).id
    private = to_text(numbers.private_value.to_bytes(32, "big"))
    return {"kty": "EC", "crv": "P-256", "d": private, "x": to_text(point[1:33]), "y": to_text(point[33:])}


def numbers(value: Any) -> Any:
    """Returns values with texts of integers as integers: JSON's numbers have 53 bits in JavaScript."""
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return int(value) if isinstance(value, str) else value


def campaign_of(case: Case) -> Campaign:
    servers = [clients.server_fields(index, service_key(index)) for index in range(case.parties)]
    listed = [] if case.invited else [client_key(index).id for index in range(4)]
    slots = [clients.SLOT, {"name": "all", "per_client": 3, "columns": case.form.columns, "results": case.form.results}]
    more: dict[str, Any] = {
        "again": 1 - case.is_tagged,
        "invitations": 6 if case.invited else 0,
        "options": dict(case.options),
        "origins": ["https://survey.example"],
        "slots": slots,
    }
    return Campaign.from_json(clients.canonical(clients.fields(servers, listed, protocol=case.protocol, **more)))


def invitation_of(campaign: Campaign) -> Invitation | None:
    secrets = tuple(coins(f"secret {server}") for server in range(len(campaign.servers)))
    return Invitation(5, secrets) if campaign.invitations else None


def header_of(campaign: Campaign, receivers: tuple[int, ...], kind: int) -> wire.Header:
    client = client_key(2).id
    place = 5 if campaign.invitations else campaign.client_index(client)
    assert place is not None
    item = (1, 2, 2**53 - 2, 2**40, 3)
    return wire.Header(campaign.hash, client, place, *item, kind, receivers, coins("nonce"))


def revealed(slot: Slot, values: dict[str, Any], context: bytes) -> dict[str, Any]:
    """Returns what servers reveal at the last look, and the values that are under it."""
    look = slot.looks - 1
    plain = Slot("plain", 1, slot.results)
    data = words.encode(plain, {name: numbers(value) for name, value in values.items()})
    less = np.zeros(plain.bytes, np.uint8)  # becomes 0 less the mask
    words.subtract(plain, less, words.masks(slot, coins("mask"), context)[look * plain.bytes :])
    words.subtract(plain, data, less)
    return {"look": look, "data": to_text(data.tobytes()), "values": values}


def tagging_of(campaign: Campaign) -> dict[str, Any]:
    """Returns the parameters of the slot by JavaScript's names, if its words have tags."""
    if not campaign.is_tagged:
        return {}
    tagging = Tagging.of(campaign, campaign.slots[1])
    same = {
        name: getattr(tagging, name) for name in ("k", "c", "w", "rows", "bits", "limbs", "words", "holders", "widest")
    }
    return {"tagging": {**same, "low": tagging.bits_low}}


def fixed_part(case: Case) -> dict[str, Any]:
    """Returns what follows from the coins alone."""
    campaign, receivers, parties = campaign_of(case), case.receivers, case.parties
    header, slot = header_of(campaign, receivers, wire.VALUES), campaign.slots[1]
    encoded = words.encode(slot, {name: numbers(value) for name, value in case.form.values.items()})
    words.mask(slot, encoded, coins("mask"), header.context)
    whole = to_text(encoded.tobytes())
    seeds = [coins(f"seed {receiver}") for receiver in (receivers if campaign.is_tagged else receivers[:-1])]
    if campaign.is_tagged:
        contents = tagged.split(Tagging.of(campaign, slot), encoded, seeds, header.context)
    else:
        contents = words.split(slot, encoded, receivers, seeds, header.context)
    invitation = invitation_of(campaign)
    return {
        **tagging_of(campaign),
        "campaign": campaign.json.decode(),
        "hash": to_text(campaign.hash),
        "client": jwk(key_of(102)),
        "invitation": invitation.to_text() if invitation else None,
        "servers": [jwk(key_of(2 * index)) for index in range(parties)],
        "slot": "all",
        "values": case.form.values,
        "mask": to_text(coins("mask")),
        "words": whole,
        "result": revealed(slot, case.form.revealed, header.context),
        "seeds": [to_text(seed) for seed in seeds],
        "contents": [to_text(bytes(contents.get(server, b""))) for server in range(parties)],
        "header": to_text(header.pack()),
        "withdrawn": to_text(header_of(campaign, (), wire.WITHDRAWN).pack()),
    }


def random_part(case: Case) -> dict[str, Any]:
    """Returns packets and statements, which have coins of their own."""
    campaign, parties = campaign_of(case), case.parties
    fixed = fixed_part(case)
    header = header_of(campaign, case.receivers, wire.VALUES)
    contents = {server: from_text(text) for server, text in enumerate(fixed["contents"]) if text}
    bodies = wire.make_packets(campaign, client_key(2), header, contents, invitation_of(campaign))
    made = [wire.Packet.of(server, body) for server, body in enumerate(bodies)]
    hellos = [statements.Hello.of(campaign, server, service_key(server)) for server in range(parties)]
    receipts = [statements.Receipt.of(packet, 1_800_000_000, service_key(packet.server)) for packet in made]
    place = (header.slot, header.item, header.number, fixed["result"]["look"], from_text(fixed["result"]["data"]))
    results = [
        statements.Result(campaign.hash, header.client, server, *place).by(service_key(server))
        for server in range(parties)
    ]
    return {
        "results": [statements.results_to_json([result]).decode() for result in results],
        "packets": [to_text(body) for body in bodies],
        "hellos": [hello.to_json().decode() for hello in hellos],
        "receipts": [receipt.to_json().decode() for receipt in receipts],
        "request": statements.sign_request(client_key(2), campaign.hash, 1, 1_800_000_000),
    }


STORED: list[dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else []


def test_there_is_a_vector_for_each_case() -> None:
    assert len(STORED) == len(ALL) == 14


@pytest.mark.parametrize("index", range(len(ALL)))
def test_what_follows_from_the_coins_is_as_it_was(index: int) -> None:
    fixed = fixed_part(ALL[index])
    assert {name: STORED[index][name] for name in fixed} == fixed


@pytest.mark.parametrize("index", range(len(ALL)))
def test_stored_packets_are_read_and_opened(index: int) -> None:
    stored = STORED[index]
    campaign = Campaign.from_json(stored["campaign"].encode())
    invitation = invitation_of(campaign)
    for server, text in enumerate(stored["packets"]):
        secret = None if invitation is None else [invitation.secrets[server]] * 6
        packet = wire.unpack(campaign, server, from_text(text), None if secret is None else secret.__getitem__)
        assert to_text(packet.header.pack()) == stored["header"]
        content = wire.open_part(service_key(server), packet)
        assert to_text(content) == stored["contents"][server]
        wire.check_content(campaign, packet, content)
        receipt = statements.Receipt.from_json(stored["receipts"][server].encode())
        assert receipt.confirms(packet, campaign.servers[server].sign)
        hello = statements.Hello.from_json(stored["hellos"][server].encode())
        assert hello.differs(campaign, server) is None
    statements.check_request(client_key(2).id, campaign.hash, 1, stored["request"], 1_800_000_000)


@pytest.mark.parametrize("index", range(len(ALL)))
def test_stored_results_are_read(index: int) -> None:
    stored = STORED[index]
    campaign = Campaign.from_json(stored["campaign"].encode())
    header = wire.Header.unpack(from_text(stored["header"]))
    data, seed = from_text(stored["result"]["data"]), from_text(stored["mask"])
    found = words.unmasked(campaign.slots[1], data, stored["result"]["look"], seed, header.context)
    assert {name: array.tolist() for name, array in found.items()} == {
        name: numbers(value) for name, value in stored["result"]["values"].items()
    }
    for server, text in enumerate(stored["results"]):
        (result,) = statements.results_from_json(text.encode())
        assert result.is_by(campaign.servers[server].sign)
        assert result.data == data


def test_hpke_opens_the_vector_of_the_standard() -> None:
    """RFC 9180 has none for P-256 with AES-256-GCM; this one was sealed by the key schedule written out below."""
    key, info, plain = service_key(0), b"info", b"plain text"
    sealed = sealed_by_hand(key.seal, info, plain, key_of(999))
    assert key.open(info, sealed) == plain
    assert len(sealed) == len(plain) + keys.SEAL_BYTES
    for other in (b"", b"info\0"):
        with pytest.raises(ValueError, match="another header"):
            key.open(other, sealed)


def sealed_by_hand(point: bytes, info: bytes, plain: bytes, ephemeral: ec.EllipticCurvePrivateKey) -> bytes:
    """RFC 9180, sections 4.1, 5.1 and 5.2, in base mode."""
    import hmac

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    kem, suite = b"KEM\0\x10", b"HPKE\0\x10\0\x01\0\x02"

    def extract(suite_id: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
        return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite_id + label + ikm, "sha256")

    def expand(suite_id: bytes, prk: bytes, label: bytes, text: bytes, size: int) -> bytes:
        labelled = size.to_bytes(2, "big") + b"HPKE-v1" + suite_id + label + text
        return hmac.digest(prk, labelled + b"\1", "sha256")[:size]

    enc = ClientKey(ephemeral).id
    shared = ephemeral.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point))
    secret = expand(kem, extract(kem, b"", b"eae_prk", shared), b"shared_secret", enc + point, 32)
    context = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    prk = extract(suite, secret, b"secret", b"")
    key, nonce = expand(suite, prk, b"key", context, 32), expand(suite, prk, b"base_nonce", context, 12)
    return enc + AESGCM(key).encrypt(nonce, plain, b"")


def main() -> None:
    """Writes the vectors. Those that are stored stay, if all that follows from their coins is as it was."""
    cases = [fixed_part(case) for case in ALL]
    for case, fixed, stored in itertools.zip_longest(ALL, cases, STORED):
        kept = stored is not None and {name: stored[name] for name in fixed if name in stored} == fixed
        fixed.update(stored if kept else random_part(case))
    FILE.write_text(json.dumps(cases, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
