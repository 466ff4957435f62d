"""Messages between clients and servers: packets and their sealed parts. Integers are little-endian.

**Header** (H), 163 bytes: `QRC1` | campaign hash 32 | client 65 | place u32 | slot u16 | item u16 | number u64 | base
u64 | at_least u32 | kind u8 | receivers u8, bit i for server i | nonce 32. Kind 0 has values; kind 1 withdraws and has
no receivers. All servers get the same header, and nothing in it depends on the values.

**Packet** for server i: H | signature 64 | tag 32 | sealed part. The client signs a label, H, i u8 and SHA-256 of the
sealed part. The tag is HMAC-SHA256 of a label and H under the invitation's secret for this server, or 32 zeros if the
campaign lists its clients.

**Sealed part**: the content that `split` returns, by HPKE, whose `info` is a label, i u8 and H. It is empty for a
server that is no receiver. The content is that of `tagged` where servers may cheat, and otherwise that of `words`.

Every length is checked before anything is read. `WireError.field` names what is wrong.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import secrets
import struct
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from quorate_client import tagged, words
from quorate_client._slots import Slot
from quorate_client.campaign import Campaign
from quorate_client.errors import WireError
from quorate_client.invitation import Invitation
from quorate_client.keys import SEAL_BYTES, SIGNATURE_BYTES, ClientKey, ServiceKey, is_point, seal, verify

__all__ = [
    "HEADER_BYTES",
    "MOST_NUMBER",
    "VALUES",
    "WITHDRAWN",
    "Header",
    "Packet",
    "check_content",
    "check_header",
    "fresh_seeds",
    "lengths",
    "make_packets",
    "open_part",
    "packet_bytes",
    "split",
    "unpack",
]

#: Kinds of packets.
VALUES, WITHDRAWN = 0, 1

#: The largest number of a packet: JavaScript's numbers are exact up to here.
MOST_NUMBER = (1 << 53) - 1

_MAGIC = b"QRC1"
_LAYOUT = struct.Struct("<4s32s65sIHHQQIBB32s")
TAG_BYTES = 32
_NO_TAG = bytes(TAG_BYTES)
_PART_LABEL = b"quorate/client/part/1\0"
_PACKET_LABEL = b"quorate/client/packet/1\0"
_TAG_LABEL = b"quorate/client/invitation/1\0"

HEADER_BYTES = _LAYOUT.size
NONCE_BYTES = 32


@dataclasses.dataclass(frozen=True)
class Header:
    """What the packets of all servers have alike.

    Attributes:
        campaign: the campaign's hash, 32 bytes.
        client: the client's public key, 65 bytes.
        place: the client's index in the campaign's list, or the invitation's index.
        slot: the index of the slot.
        item: the index of the packet among those of its client and slot.
        number: larger for each new packet of the item, 1 to 2^53 - 1.
        base: the highest number that the client has receipts for from all servers; 0 if none.
        at_least: the least number of clients with which this client agrees to a run.
        kind: `VALUES` or `WITHDRAWN`.
        receivers: the servers that the value is shared between, ascending; () if withdrawn.
        nonce: 32 random bytes, fresh for each number.
    """

    campaign: bytes
    client: bytes
    place: int
    slot: int
    item: int
    number: int
    base: int
    at_least: int
    kind: int
    receivers: tuple[int, ...]
    nonce: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(NONCE_BYTES))

    def pack(self) -> bytes:
        """Returns the 163 bytes."""
        mask = sum(1 << server for server in self.receivers)
        integers = (self.place, self.slot, self.item, self.number, self.base, self.at_least)
        return _LAYOUT.pack(_MAGIC, self.campaign, self.client, *integers, self.kind, mask, self.nonce)

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.pack()).digest()

    @property
    def context(self) -> bytes:
        """What streams are bound to: campaign, client, slot, item and number."""
        return self.campaign + self.client + struct.pack("<HHQ", self.slot, self.item, self.number)

    @staticmethod
    def unpack(data: bytes | memoryview) -> Header:
        """Reads a header. Its fields are not compared with a campaign: see `check_header`.

        Raises:
            WireError: fewer than 163 bytes, or another version.
        """
        if len(data) < HEADER_BYTES:
            raise WireError("length", f"The packet has {len(data)} bytes, and its header takes {HEADER_BYTES}.")
        magic, campaign, client, place, slot, item, number, base, at_least, kind, mask, nonce = _LAYOUT.unpack_from(
            data
        )
        if magic != _MAGIC:
            raise WireError("version", "This is no packet of this version. Use a client of the server's version.")
        receivers = tuple(server for server in range(8) if mask >> server & 1)
        return Header(campaign, client, place, slot, item, number, base, at_least, kind, receivers, nonce)


def check_header(campaign: Campaign, header: Header) -> Slot:
    """Compares a header with the campaign; returns its slot.

    Raises:
        WireError: a field that the campaign does not allow.
    """
    if header.campaign != campaign.hash:
        raise WireError("campaign", "The packet is for another campaign. Compare the campaign's hash.")
    if header.slot >= len(campaign.slots):
        raise WireError("slot", f"The packet is for slot {header.slot}, and the campaign has {len(campaign.slots)}.")
    slot = campaign.slots[header.slot]
    if header.item >= slot.per_client:
        raise WireError("item", f"The packet is for item {header.item}, and a client gives {slot.per_client}.")
    if not 1 <= header.number <= MOST_NUMBER:
        raise WireError("number", f"Packets are numbered from 1 to {MOST_NUMBER}.")
    if header.base >= header.number:
        raise WireError("base", "The packet's base must be below its number.")
    if not 1 <= header.at_least <= campaign.most_clients:
        raise WireError("at_least", f"at_least must be 1 to {campaign.most_clients}, the number of clients.")
    _check_receivers(campaign, header)
    _check_place(campaign, header)
    return slot


def _check_receivers(campaign: Campaign, header: Header) -> None:
    if header.kind not in (VALUES, WITHDRAWN):
        raise WireError("kind", f"The packet is of kind {header.kind}, and there are {VALUES} and {WITHDRAWN}.")
    if header.kind == WITHDRAWN and header.receivers:
        raise WireError("receivers", "A packet that withdraws has no receivers.")
    if header.kind == VALUES and not campaign.takes_receivers(header.receivers):
        raise WireError("receivers", f"Values in `{campaign.protocol}` are not shared between these servers.")


def _check_place(campaign: Campaign, header: Header) -> None:
    if not is_point(header.client):
        raise WireError("client", "The client's public key is no point of P-256.")
    if campaign.invitations:
        if header.place >= campaign.invitations:
            raise WireError("place", f"The campaign has {campaign.invitations} invitations, not {header.place + 1}.")
        return
    place = campaign.client_index(header.client)
    if place is None:
        raise WireError("client", "The client is not listed in the campaign.")
    if place != header.place:
        raise WireError("place", "The packet names another place than the client has in the campaign's list.")


@dataclasses.dataclass(frozen=True)
class Packet:
    """What one server gets.

    Attributes:
        server: the server's index.
        header: the header.
        signature: the client's signature, 64 bytes.
        tag: what shows an invitation, 32 bytes.
        sealed: the sealed part; empty if the server is no receiver.
    """

    server: int
    header: Header
    signature: bytes
    tag: bytes
    sealed: bytes | memoryview

    @staticmethod
    def of(server: int, body: bytes | memoryview) -> Packet:
        """Takes a server's packet apart without any check but its header's: see `unpack`."""
        header, view = Header.unpack(body), memoryview(body)[HEADER_BYTES:]
        signature, tag = bytes(view[:SIGNATURE_BYTES]), bytes(view[SIGNATURE_BYTES : SIGNATURE_BYTES + TAG_BYTES])
        return Packet(server, header, signature, tag, view[SIGNATURE_BYTES + TAG_BYTES :])

    @property
    def part_digest(self) -> bytes:
        """SHA-256 of the sealed part."""
        return hashlib.sha256(self.sealed).digest()

    @property
    def signed(self) -> bytes:
        """What the client signs."""
        return _PACKET_LABEL + self.header.pack() + bytes([self.server]) + self.part_digest


def unpack(
    campaign: Campaign, server: int, body: bytes | memoryview, secret: Callable[[int], bytes] | None = None
) -> Packet:
    """Reads the packet that server `server` got, and checks all of it but the sealed part, in this order: length and
    header, tag, signature.

    Arguments:
        campaign: the campaign.
        server: the index of this server.
        body: the packet.
        secret: returns this server's secret for an invitation's index; needed if the campaign has invitations.

    Raises:
        WireError: the packet is refused; `field` names why.
    """
    header = Header.unpack(body)
    check_header(campaign, header)
    wanted = packet_bytes(campaign, header, server)
    if len(body) != wanted:
        raise WireError("length", f"The packet has {len(body)} bytes, and this one takes {wanted}.")
    packet = Packet.of(server, body)
    _check_tag(campaign, packet, secret)
    if not verify(header.client, packet.signed, packet.signature):
        raise WireError("signature", "The client's signature fits neither this packet nor this server.")
    return packet


def _check_tag(campaign: Campaign, packet: Packet, secret: Callable[[int], bytes] | None) -> None:
    if not campaign.invitations:
        if packet.tag != _NO_TAG:
            raise WireError("tag", "The packet shows an invitation, and the campaign lists its clients.")
        return
    if secret is None:
        raise TypeError("unpack() needs secret= for a campaign with invitations")
    if not hmac.compare_digest(packet.tag, _tag(secret(packet.header.place), packet.header)):
        raise WireError("tag", "The packet does not show the invitation that it names. Compare the invitation's text.")


def _tag(secret: bytes, header: Header) -> bytes:
    return hmac.digest(secret, _TAG_LABEL + header.pack(), "sha256")


def packet_bytes(campaign: Campaign, header: Header, server: int) -> int:
    """Returns the bytes of a server's packet, which follow from its header."""
    slot = campaign.slots[header.slot]
    if not campaign.is_tagged:
        return _around(words.content_bytes(slot, header.receivers, server))
    return _around(tagged.Tagging.of(campaign, slot).content_bytes(server) if header.receivers else 0)


def lengths(campaign: Campaign, server: int) -> frozenset[int]:
    """Returns the lengths that packets for a server may have."""
    if campaign.is_tagged:
        contents = [tagged.Tagging.of(campaign, slot).content_bytes(server) for slot in campaign.slots]
    else:
        contents = [words.SEED_BYTES, *(slot.bytes for slot in campaign.slots)]
    return frozenset(map(_around, (0, *contents)))


def _around(content: int) -> int:
    return HEADER_BYTES + SIGNATURE_BYTES + TAG_BYTES + (SEAL_BYTES + content if content else 0)


def _part_info(header: Header, server: int) -> bytes:
    return _PART_LABEL + bytes([server]) + header.pack()


def open_part(key: ServiceKey, packet: Packet) -> bytes:
    """Returns the content of an unpacked packet. It is not checked: see `check_content`.

    Raises:
        WireError: the part was sealed to another key or for another header, or was changed.
    """
    if not packet.sealed:
        return b""
    try:
        return key.open(_part_info(packet.header, packet.server), packet.sealed)
    except ValueError as error:
        raise WireError("part", f"The part cannot be opened: {error}.") from None


def check_content(campaign: Campaign, packet: Packet, content: bytes) -> None:
    """Checks the content of an unpacked packet's part: lengths, and bits that are not used.

    Raises:
        WireError: the content has another length, or a bit that is not used is 1.
    """
    header, slot = packet.header, campaign.slots[packet.header.slot]
    if campaign.is_tagged and header.receivers:
        tagged.check(tagged.Tagging.of(campaign, slot), packet.server, content)
    elif packet.server in header.receivers[-1:]:  # a seed is right by its length, which its packet's length implies
        words.check(slot, np.frombuffer(content, np.uint8))


def make_packets(
    campaign: Campaign,
    key: ClientKey,
    header: Header,
    contents: Mapping[int, bytes | memoryview],
    invitation: Invitation | None = None,
) -> list[bytes]:
    """Returns the packet of each server, sealed and signed.

    Arguments:
        campaign: the campaign.
        key: the client's key.
        header: the header.
        contents: what `split` returns; empty if the packet withdraws.
        invitation: the invitation, if the campaign has invitations.
    """
    packets = []
    for index, server in enumerate(campaign.servers):
        sealed = seal(server.seal, _part_info(header, index), contents[index]) if index in contents else b""
        tag = _NO_TAG if invitation is None else _tag(invitation.secrets[index], header)
        unsigned = Packet(index, header, b"", tag, sealed)
        packets.append(b"".join((header.pack(), key.sign(unsigned.signed), tag, sealed)))
    return packets


def split(campaign: Campaign, header: Header, encoded: words.Words) -> dict[int, bytes | memoryview]:
    """Returns the content of each receiver's part, with fresh seeds. The encoded values are overwritten.

    Arguments:
        campaign: the campaign.
        header: the header; its kind is `VALUES`.
        encoded: the values and masks, as `words.encode` and `words.mask` make them.
    """
    slot, seeds = campaign.slots[header.slot], fresh_seeds(header.receivers)
    if campaign.is_tagged:
        seeds.append(secrets.token_bytes(words.SEED_BYTES))
        return tagged.split(tagged.Tagging.of(campaign, slot), encoded, seeds, header.context)
    return words.split(slot, encoded, header.receivers, seeds, header.context)


def fresh_seeds(receivers: Sequence[int]) -> list[bytes]:
    """Returns a fresh seed for each receiver but the last."""
    return [secrets.token_bytes(words.SEED_BYTES) for _ in receivers[:-1]]
