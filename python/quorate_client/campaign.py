"""Campaigns: what clients are asked for, by which servers, until when. A campaign's hash binds all that is sent.

A person writes TOML. The hash is of the canonical JSON: keys sorted, no spaces, integers and texts of ASCII only.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import itertools
import json
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Any

from quorate_client import families
from quorate_client._fields import Table, read_slot
from quorate_client._slots import Column, Dtype, Slot
from quorate_client._tagging import Tagging
from quorate_client.errors import CampaignError
from quorate_client.keys import POINT_BYTES, from_text, is_point, to_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Campaign", "Column", "Dtype", "Server", "Slot"]

_HASH = re.compile(r"[0-9a-f]{64}")
_LABEL = b"quorate/campaign/1\0"

#: Elements and bytes of a packet.
_MOST_ELEMENTS = 1 << 27
_MOST_BYTES = 128 << 20
_MOST_CLIENTS = 1 << 24
_MOST_SLOTS = 1 << 16

#: Packets of a campaign whose servers may cheat, in all: bounds on what stays unseen count them.
_MOST_TAGGED = 1 << 20
_ID_BYTES = 16

#: Characters of a name: fewer than digits of a hash, so that commands tell one from the other.
_MOST_NAME = 63

_URL = re.compile(r"https://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]{0,4}))?(?:/[A-Za-z0-9._~-]+)*")
_U32 = (1 << 32) - 1


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of a campaign.

    Attributes:
        url: where it is reached: https, without a slash at the end.
        certificate: SHA-256 of its TLS certificate (DER), 32 bytes.
        seal: the public key that parts are sealed to, 65 bytes.
        sign: the public key of its receipts, 65 bytes.
    """

    url: str
    certificate: bytes
    seal: bytes
    sign: bytes


@dataclasses.dataclass(frozen=True)
class Campaign:
    """A campaign, checked.

    Attributes:
        name: its name.
        id: 16 random bytes as base64url, by which campaigns that are otherwise alike differ.
        protocol: the family: "rss", "aby", "pika" or "spdz2k".
        options: the family's options, as a session takes them.
        program: the hashes of the runs that may reveal what depends on values, as `quorate explain` prints them, with
            commas between; "" for any run.
        at_least: the least number of clients with which the program runs.
        closes: the time after which no packet is taken, RFC 3339, UTC.
        again: how many more looks at results are allowed on the same list of clients.
        check: "bound" if the servers check bounds in the computation, "none" otherwise.
        keep: "yes" if a program may keep what it computes of values, for later programs, which the campaign does not
            limit; "no" otherwise.
        origins: origins of web pages that browsers may send packets from.
        servers: the servers, in the order of the session's parties.
        clients: public keys of the listed clients, in the order of their texts; empty if there are invitations.
        invitations: the number of invitations; 0 if clients are listed.
        slots: what each client gives.
    """

    name: str
    id: str
    protocol: str
    options: dict[str, str]
    program: str
    at_least: int
    closes: str
    again: int
    check: str
    keep: str
    origins: tuple[str, ...]
    servers: tuple[Server, ...]
    clients: tuple[bytes, ...]
    invitations: int
    slots: tuple[Slot, ...]

    @staticmethod
    def from_toml(path: str | os.PathLike[str]) -> Campaign:
        """Reads a campaign that a person wrote. Clients may be in any order.

        Raises:
            CampaignError: the file cannot be read, or a field is missing, unknown or wrong.
        """
        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise CampaignError(f"The campaign {path} cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise CampaignError(f"{path} is not TOML: {error}.") from None
        if "id" not in table:  # drawn once, by a person: a file must have one hash
            fresh = to_text(secrets.token_bytes(_ID_BYTES))
            raise CampaignError(f'{path}: this field is missing: id. Add a fresh one: id = "{fresh}"')
        clients = table.get("clients")
        if isinstance(clients, list) and all(isinstance(client, str) for client in clients):
            table["clients"] = sorted(clients)
        return _read(table)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Campaign:
        """Reads a campaign from a file: canonical JSON, or the TOML that a person wrote.

        Raises:
            CampaignError: the file cannot be read, or is no campaign.
        """
        data = _bytes(path)
        return Campaign.from_json(data) if data.startswith(b"{") else Campaign.from_toml(path)

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Campaign:
        """Reads the file that servers and clients get: canonical JSON.

        Raises:
            CampaignError: the file cannot be read, or is no such file.
        """
        data = _bytes(path)
        if not data.startswith(b"{"):
            raise CampaignError(
                f"{path} is not the file of a campaign that servers and clients get. If it is the TOML that a person "
                f"wrote, `quorate campaign create {path} --out FILE` makes that file."
            )
        return Campaign.from_json(data)

    @staticmethod
    def from_json(data: bytes) -> Campaign:
        """Reads canonical JSON.

        Raises:
            CampaignError: it is not JSON, not canonical, or a field is missing, unknown or wrong.
        """
        try:
            table = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            raise CampaignError("The campaign is not JSON in UTF-8.") from None
        if not isinstance(table, dict):
            raise CampaignError("The campaign's JSON must be an object.")
        campaign = _read(table)
        if campaign.json != data:
            raise CampaignError(
                "The campaign's JSON is not canonical: keys sorted, no spaces, all fields, clients in the order of "
                "their texts. Write it with `Campaign.json`."
            )
        return campaign

    @functools.cached_property
    def json(self) -> bytes:
        """The canonical JSON."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["servers"] = [
            {
                "url": server.url,
                **{key: to_text(getattr(server, key)) for key in ("certificate", "seal", "sign")},
            }
            for server in self.servers
        ]
        fields["clients"] = [to_text(client) for client in self.clients]
        fields["slots"] = [slot.fields() for slot in self.slots]
        if self.keep == "no":
            del fields["keep"]
        return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()

    @functools.cached_property
    def hash(self) -> bytes:
        """SHA-256 of a label and the canonical JSON, 32 bytes."""
        return hashlib.sha256(_LABEL + self.json).digest()

    @functools.cached_property
    def asked_hash(self) -> bytes:
        """The hash of the campaign without its program. Programs are hashed with it, so a campaign can name them."""
        return dataclasses.replace(self, program="").hash

    @property
    def programs(self) -> list[str]:
        """The hashes of the runs that may reveal what depends on values, in hexadecimal digits; empty for any run."""
        return self.program.split(",") if self.program else []

    @functools.cached_property
    def closes_at(self) -> float:
        """The closing time in seconds since 1970."""
        return _time(self.closes).timestamp()

    @property
    def most_clients(self) -> int:
        """The number of places: of listed clients, or of invitations."""
        return len(self.clients) or self.invitations

    def client_index(self, client: bytes) -> int | None:
        """Returns the place of a public key in the list of clients, or None."""
        return self._places.get(client)

    @functools.cached_property
    def _places(self) -> dict[bytes, int]:
        return {client: index for index, client in enumerate(self.clients)}

    def slot_index(self, name: str | None = None) -> int:
        """Returns the index of a slot; without a name, the campaign must have one slot.

        Raises:
            CampaignError: there is no such slot, or it must be named.
        """
        names = [slot.name for slot in self.slots]
        if name is None and len(names) == 1:
            return 0
        if name not in names:
            asked = "Name a slot" if name is None else f"The campaign has no slot {name!r}. Choose one"
            raise CampaignError(f"{asked} of: {', '.join(names)}.")
        return names.index(name)

    @property
    def is_tagged(self) -> bool:
        """Whether the family lets servers cheat, so that words have tags: see `tagged`."""
        return families.may_cheat(self.protocol, self.options)

    @property
    def receivers(self) -> int:
        """The number of servers that get a part of each value; of `rss`, all but the tolerated corruptions."""
        return families.receivers(self.protocol, len(self.servers))

    @property
    def holders(self) -> int:
        """The number of servers that may get parts: all, or the first ones."""
        return families.holders(self.protocol, len(self.servers))

    def takes_receivers(self, receivers: tuple[int, ...]) -> bool:
        """Whether values may be shared between these servers, in ascending order."""
        if self.protocol != "rss":
            return receivers == tuple(range(self.holders))
        within = all(0 <= server < len(self.servers) for server in receivers)
        return within and len(receivers) == self.receivers and list(receivers) == sorted(set(receivers))


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CampaignError(f"The campaign {path} cannot be read: {error.strerror}.") from None


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


def _read(fields: dict[str, Any]) -> Campaign:
    table = Table("", fields)
    protocol = _protocol(table)
    options = table.texts_by_name("options")
    _check_options(protocol, options)
    servers = tuple(read_server(one) for one in table.tables("servers"))
    _check_servers(protocol, servers)
    clients = _clients(table)
    invitations = table.integer("invitations", 0, _MOST_CLIENTS, 0)
    if bool(clients) == bool(invitations):
        raise CampaignError("clients, invitations: list clients or give a number of invitations, one of the two.")
    check = table.choice("check", ("bound", "none"), "bound")
    again = table.integer("again", 0, _U32, 0)
    slots = tuple(read_slot(one, check == "bound", again + 1) for one in table.tables("slots"))
    campaign = Campaign(
        name=table.name("name", _MOST_NAME),
        id=to_text(table.data("id", _ID_BYTES)),
        protocol=protocol,
        options=options,
        program=table.text("program", 6500, ""),
        at_least=table.integer("at_least", 1, _U32),
        closes=table.text("closes", 20),
        again=again,
        check=check,
        keep=table.choice("keep", ("no", "yes"), "no"),
        origins=tuple(table.texts("origins")),
        servers=servers,
        clients=clients,
        invitations=invitations,
        slots=slots,
    )
    table.done()
    _check(campaign)
    return campaign


def _protocol(table: Table) -> str:
    protocol = table.text("protocol", 40)
    if protocol not in families.FAMILIES:
        raise CampaignError(f"protocol: {protocol!r} is no family of protocols. Choose rss, aby, pika or spdz2k.")
    return protocol


def _check_options(protocol: str, options: dict[str, str]) -> None:
    """Checks the options that say who may cheat and how likely it stays unseen; servers check all of them."""
    malicious = options.get("malicious", "no")
    if malicious not in ("no", "yes"):
        raise CampaignError('options.malicious: choose "no" or "yes".')
    if malicious == "yes" and protocol != "pika":
        raise CampaignError('options.malicious: only `pika` has this option. Remove it, or choose "no".')
    if options.get("mac") == "32" and options.get("allow_weak") != "yes":
        raise CampaignError(
            'options.mac: "32" gives 26 bits of statistical security, and 40 are usual. Choose "48" or "64", or set '
            'allow_weak = "yes".'
        )


def read_server(table: Table) -> Server:
    """Reads the fields of a server.

    Raises:
        CampaignError: a field is missing, unknown or wrong.
    """
    url = table.text("url", 500)
    found = _URL.fullmatch(url)
    if not found or not 1 <= int(found[1] or 443) <= 0xFFFF:
        raise CampaignError(
            f"{table.at('url')}: {url!r} must be https://HOST, https://HOST:PORT or either with a path: no user, "
            "query, fragment or slash at the end."
        )
    server = Server(url, table.data("certificate", 32), table.point("seal"), table.point("sign"))
    table.done()
    return server


def _check_servers(protocol: str, servers: tuple[Server, ...]) -> None:
    numbers = families.FAMILIES[protocol]
    if len(servers) not in numbers:
        listed = " or ".join(", ".join(str(number) for number in numbers).rsplit(", ", 1))
        raise CampaignError(f"servers: {protocol} runs with {listed} servers, not {len(servers)}.")
    check_distinct(servers)


def check_distinct(servers: tuple[Server, ...]) -> None:
    """Checks that each server has an address, a certificate and keys of its own.

    Raises:
        CampaignError: two servers share one of them.
    """
    for key in ("url", "certificate"):
        if len({getattr(server, key) for server in servers}) != len(servers):
            raise CampaignError(f"servers: two servers have the same {key}. Each server is an operator's own.")
    if len({point for server in servers for point in (server.seal, server.sign)}) != 2 * len(servers):
        raise CampaignError("servers: a key stands twice. Each server has two keys of its own: seal and sign.")


def _clients(table: Table) -> tuple[bytes, ...]:
    texts = table.texts("clients")
    if len(texts) > _MOST_CLIENTS:
        raise CampaignError(f"clients: there are {len(texts)}, and at most {_MOST_CLIENTS} are supported.")
    if any(first >= second for first, second in itertools.pairwise(texts)):
        raise CampaignError("clients: each client stands once, in the order of the texts.")
    points = []
    for index, text in enumerate(texts):
        try:
            points.append(from_text(text))
        except ValueError as error:
            raise CampaignError(f"clients[{index}]: {error}.") from None
        if not is_point(points[-1]):
            raise CampaignError(f"clients[{index}]: this is no point of P-256 in {POINT_BYTES} bytes.")
    return tuple(points)


def _check(campaign: Campaign) -> None:
    try:
        canonical = _time(campaign.closes).strftime("%Y-%m-%dT%H:%M:%SZ") == campaign.closes
    except ValueError:
        canonical = False
    if any(not _HASH.fullmatch(program) for program in campaign.programs):
        raise CampaignError("program: write hashes of 64 digits as `quorate explain` prints them, with commas between.")
    if not canonical:
        raise CampaignError('closes: write a time in UTC, as in "2027-01-31T12:00:00Z".')
    if campaign.at_least > campaign.most_clients:
        raise CampaignError(
            f"at_least: {campaign.at_least} clients are demanded, and only {campaign.most_clients} are asked."
        )
    for index, origin in enumerate(campaign.origins):
        if not origin.startswith(("https://", "http://")) or "/" in origin.partition("://")[2]:
            raise CampaignError(f'origins[{index}]: write an origin, as in "https://example.org", without a path.')
    if not campaign.slots or len(campaign.slots) > _MOST_SLOTS:
        raise CampaignError(f"slots: there must be 1 to {_MOST_SLOTS}, not {len(campaign.slots)}.")
    if len({slot.name for slot in campaign.slots}) != len(campaign.slots):
        raise CampaignError("slots: two slots have the same name.")
    if campaign.is_tagged:
        _check_tagged(campaign)
    for index, slot in enumerate(campaign.slots):
        if slot.elements > _MOST_ELEMENTS:
            raise CampaignError(
                f"slots[{index}]: a packet has {slot.elements} elements, and at most {_MOST_ELEMENTS} are supported."
            )
        size = Tagging.of(campaign, slot).content_bytes(campaign.holders - 1) if campaign.is_tagged else slot.bytes
        if size > _MOST_BYTES:
            raise CampaignError(f"slots[{index}]: a packet has {size} bytes, and at most {_MOST_BYTES} are sent.")


def _check_tagged(campaign: Campaign) -> None:
    """Checks what the argument for servers that cheat asks for."""
    if campaign.again:
        raise CampaignError(
            "again: where servers may cheat, there is one look, since a server could have a client left out of another "
            "one. Choose 0, and make another campaign for other results."
        )
    packets = campaign.most_clients * sum(slot.per_client for slot in campaign.slots)
    if packets > _MOST_TAGGED:
        raise CampaignError(
            f"slots: clients may give {packets} packets in all, and where servers may cheat at most {_MOST_TAGGED} are "
            "supported. Make several campaigns."
        )
