"""Signed statements beside packets: a server's receipts and hello, and a client's request for its status.

Each signature is over a label and fields of fixed length; integers are little-endian. JSON has bytes as base64url.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from quorate_client.campaign import Campaign
from quorate_client.errors import WireError
from quorate_client.keys import POINT_BYTES, SIGNATURE_BYTES, ClientKey, ServiceKey, from_text, to_text, verify
from quorate_client.wire import MOST_NUMBER, Packet

__all__ = [
    "CLOCK_S",
    "Hello",
    "ItemStatus",
    "Receipt",
    "Result",
    "Status",
    "check_request",
    "printable",
    "results_from_json",
    "results_to_json",
    "sign_request",
]

#: Seconds that the time of a signed request may be off.
CLOCK_S = 300

_REQUEST_LABEL = b"quorate/client/request/1\0"
_RECEIPT_LABEL = b"quorate/server/receipt/1\0"
_HELLO_LABEL = b"quorate/server/hello/1\0"
_RESULT_LABEL = b"quorate/server/result/1\0"
_HASH_BYTES = 32

_MOST = {
    "slot": 0xFFFF,
    "item": 0xFFFF,
    "number": MOST_NUMBER,
    "server": 255,
    "servers": 255,
    "time": MOST_NUMBER,
    "look": (1 << 32) - 1,
}
_SIZES = {"client": POINT_BYTES, "signature": SIGNATURE_BYTES}


@dataclasses.dataclass(frozen=True)
class Receipt:
    """A server's signed statement that it has stored a packet.

    Attributes:
        campaign: the campaign's hash.
        client: the client's public key.
        slot: the index of the slot.
        item: the item.
        number: the packet's number.
        digest: SHA-256 of the header.
        part: SHA-256 of the server's sealed part.
        server: the server's index.
        time: when it was stored, in seconds since 1970.
        signature: the server's signature, 64 bytes.
    """

    campaign: bytes
    client: bytes
    slot: int
    item: int
    number: int
    digest: bytes
    part: bytes
    server: int
    time: int
    signature: bytes = b""

    def __repr__(self) -> str:
        item = f"slot={self.slot}, item={self.item}, number={self.number}"
        return f"Receipt(server={self.server}, {item}, time={self.time})"

    @staticmethod
    def of(packet: Packet, time: int, key: ServiceKey) -> Receipt:
        """Returns the signed receipt of the packet's server."""
        header = packet.header
        item = (header.slot, header.item, header.number)
        hashes = (header.digest, packet.part_digest)
        receipt = Receipt(header.campaign, header.client, *item, *hashes, packet.server, time)
        return dataclasses.replace(receipt, signature=key.sign_message(receipt.signed))

    @property
    def signed(self) -> bytes:
        """What the server signs."""
        item = struct.pack("<HHQ", self.slot, self.item, self.number)
        last = struct.pack("<BQ", self.server, self.time)
        return b"".join((_RECEIPT_LABEL, self.campaign, self.client, item, self.digest, self.part, last))

    def to_json(self) -> bytes:
        """Returns JSON."""
        return _to_json(self)

    @staticmethod
    def from_json(data: bytes) -> Receipt:
        """Reads a receipt. Its signature is not checked: see `confirms`.

        Raises:
            WireError: the bytes are no receipt.
        """
        return _from_json(Receipt, data)

    def is_by(self, point: bytes) -> bool:
        """Whether it is signed under the public key `point`: that of the server `server` in the campaign."""
        return verify(point, self.signed, self.signature)

    def confirms(self, packet: Packet, point: bytes) -> bool:
        """Whether the receipt is for this packet, and signed under the public key `point`."""
        header = packet.header
        own = (self.campaign, self.client, self.slot, self.item, self.number, self.digest, self.part, self.server)
        item = (header.slot, header.item, header.number)
        asked = (header.campaign, header.client, *item, header.digest, packet.part_digest, packet.server)
        return own == asked and self.is_by(point)


@dataclasses.dataclass(frozen=True)
class Hello:
    """A server's signed statement of the campaign that it runs, before a client sends anything.

    Attributes:
        campaign: the campaign's hash.
        server: the server's index.
        protocol: the family.
        servers: the number of servers.
        certificate: SHA-256 of the server's TLS certificate (DER).
        signature: the server's signature, 64 bytes.
    """

    campaign: bytes
    server: int
    protocol: str
    servers: int
    certificate: bytes
    signature: bytes = b""

    @staticmethod
    def of(campaign: Campaign, server: int, key: ServiceKey) -> Hello:
        """Returns the signed statement of a server."""
        own = campaign.servers[server].certificate
        hello = Hello(campaign.hash, server, campaign.protocol, len(campaign.servers), own)
        return dataclasses.replace(hello, signature=key.sign_message(hello.signed))

    @property
    def signed(self) -> bytes:
        """What the server signs."""
        numbers = bytes((self.server, self.servers))
        return b"".join((_HELLO_LABEL, self.campaign, numbers, self.certificate, self.protocol.encode()))

    def to_json(self) -> bytes:
        """Returns JSON."""
        return _to_json(self)

    @staticmethod
    def from_json(data: bytes) -> Hello:
        """Reads a statement. Its signature is not checked: see `differs`.

        Raises:
            WireError: the bytes are no statement.
        """
        return _from_json(Hello, data)

    def differs(self, campaign: Campaign, server: int) -> str | None:
        """Returns the first field that differs from what server `server` of the campaign must state, or None."""
        own = campaign.servers[server]
        asked = Hello(campaign.hash, server, campaign.protocol, len(campaign.servers), own.certificate, self.signature)
        for name, value in vars(asked).items():
            if getattr(self, name) != value:
                return name
        return None if verify(own.sign, self.signed, self.signature) else "signature"


@dataclasses.dataclass(frozen=True)
class ItemStatus:
    """What a server has of an item of a client.

    Attributes:
        slot: the index of the slot.
        item: the item.
        number: the number of the newest packet that the server has; after a run, of the packet that all servers have.
        outcome: "stored" before a run; afterwards "in", "withdrawn", "refused" or "absent".
        why: the reason, as text; empty if there is none to give.
    """

    slot: int
    item: int
    number: int
    outcome: str
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Status:
    """What a server states to a client about the client's packets. It is not signed.

    Attributes:
        closed: whether the server takes no packets any more.
        items: the items of which the server has a packet.
    """

    closed: bool
    items: tuple[ItemStatus, ...]

    def to_json(self) -> bytes:
        """Returns JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":")).encode()

    @staticmethod
    def from_json(data: bytes) -> Status:
        """Reads a status; texts lose characters other than printable ASCII.

        Raises:
            WireError: the bytes are no status.
        """
        try:
            fields = json.loads(data.decode("utf-8"))
            items = tuple(
                ItemStatus(
                    slot=int(_field("slot", item)),
                    item=int(_field("item", item)),
                    number=int(_field("number", item)),
                    outcome=printable(item["outcome"], 20),
                    why=printable(item["why"], 300),
                )
                for item in fields["items"]
            )
            return Status(fields["closed"] is True, items)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WireError("status", "The server's answer is no status.") from None


@dataclasses.dataclass(frozen=True)
class Result:
    """A server's signed statement of a client's results under their masks, of one look.

    Attributes:
        campaign: the campaign's hash.
        client: the client's public key.
        server: the server's index.
        slot: the index of the slot.
        item: the item.
        number: the number of the packet that went into the run, whose masks the results have.
        look: the look, from 0.
        data: the results plus masks mod 2^k (bits: xor), packed in the layout of words.
        signature: the server's signature, 64 bytes.
    """

    campaign: bytes
    client: bytes
    server: int
    slot: int
    item: int
    number: int
    look: int
    data: bytes
    signature: bytes = b""

    def by(self, key: ServiceKey) -> Result:
        """Returns the statement signed."""
        return dataclasses.replace(self, signature=key.sign_message(self.signed))

    @property
    def signed(self) -> bytes:
        """What the server signs."""
        place = struct.pack("<BHHQI", self.server, self.slot, self.item, self.number, self.look)
        return b"".join((_RESULT_LABEL, self.campaign, self.client, place, hashlib.sha256(self.data).digest()))

    def is_by(self, point: bytes) -> bool:
        """Whether it is signed under the public key `point`."""
        return verify(point, self.signed, self.signature)


def results_to_json(results: Sequence[Result]) -> bytes:
    """Returns the JSON of a client's results at a server."""
    return b'{"results":[%b]}' % b",".join(_to_json(result) for result in results)


def results_from_json(data: bytes) -> tuple[Result, ...]:
    """Reads a client's results at a server. Their signatures are not checked: see `Result.is_by`.

    Raises:
        WireError: the bytes are no list of results.
    """
    try:
        return tuple(_from_fields(Result, fields) for fields in json.loads(data.decode("utf-8"))["results"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise WireError("results", "The server's answer is no list of results.") from None


def printable(text: Any, most: int) -> str:
    """Returns the printable ASCII characters of a text from a server, at most `most` of them."""
    if not isinstance(text, str):
        raise ValueError("this is no text")
    return "".join(letter for letter in text[:most] if " " <= letter <= "~")


_Statement = TypeVar("_Statement", Receipt, Hello, Result)


def _to_json(statement: Receipt | Hello | Result) -> bytes:
    fields = {name: to_text(value) if isinstance(value, bytes) else value for name, value in vars(statement).items()}
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def _from_json(kind: type[_Statement], data: bytes) -> _Statement:
    try:
        return _from_fields(kind, json.loads(data.decode("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise WireError(kind.__name__.lower(), f"The server's answer is no {kind.__name__.lower()}.") from None


def _from_fields(kind: type[_Statement], fields: Mapping[str, Any]) -> _Statement:
    read: dict[str, Any] = {field.name: _field(field.name, fields) for field in dataclasses.fields(kind)}
    return kind(**read)


def _field(name: str, fields: Mapping[str, Any]) -> int | bytes | str:
    value = fields[name]
    if name in _MOST:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST[name]:
            raise ValueError
        return value
    if name == "protocol":
        if not isinstance(value, str) or not value.isascii() or len(value) > 40:
            raise ValueError
        return value
    data = from_text(value)
    if name != "data" and len(data) != _SIZES.get(name, _HASH_BYTES):
        raise ValueError
    return data


def _request(campaign: bytes, server: int, client: bytes, time: int) -> bytes:
    return b"".join((_REQUEST_LABEL, campaign, bytes([server]), client, struct.pack("<Q", time)))


def sign_request(key: ClientKey, campaign: bytes, server: int, time: int) -> str:
    """Returns the header `Quorate-Signature` of a request for the client's status at a server: TIME.SIGNATURE.

    Arguments:
        key: the client's key.
        campaign: the campaign's hash.
        server: the index of the server that is asked; the signature is of no use at another one.
        time: seconds since 1970.
    """
    return f"{time}.{to_text(key.sign(_request(campaign, server, key.id, time)))}"


def check_request(client: bytes, campaign: bytes, server: int, text: str, now: float) -> None:
    """Checks the header `Quorate-Signature` of a request to this server.

    Raises:
        WireError: another form, a time more than 300 s off, or another signature.
    """
    time, _, signature = text.partition(".")
    if not (time.isascii() and time.isdigit() and len(time) <= 12) or len(signature) > 100:
        raise WireError("request", "The header Quorate-Signature must be TIME.SIGNATURE.")
    if abs(int(time) - now) > CLOCK_S:
        raise WireError("time", f"The request's time is more than {CLOCK_S} s off. Set the clock.")
    try:
        raw = from_text(signature)
    except ValueError:
        raise WireError("request", "The header Quorate-Signature must be TIME.SIGNATURE.") from None
    if not verify(client, _request(campaign, server, client, int(time)), raw):
        raise WireError("signature", "The request's signature does not fit.")
