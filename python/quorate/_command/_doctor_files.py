"""What a party's own files and machine say: its configuration, the dates of certificates, its disk and its port."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import json
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quorate import _quorate
from quorate._command._findings import Findings
from quorate.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Party", "disk", "expiry", "listens", "party_of", "place_of"]

_DAYS = 30
_LEAST_FREE = 1 << 30


@dataclasses.dataclass(frozen=True)
class Party:
    """One party's configuration, as far as it is looked at here; a session reads the file itself.

    Attributes:
        file: the party.toml.
        me: its number.
        protocol: the family.
        addresses: where the parties are reached, in their order.
        certificates: the files of their certificates, one or two for each.
        listen: where this party listens, if that is stated.
        fields: all fields of the file.
    """

    file: Path
    me: int
    protocol: str
    addresses: tuple[str, ...]
    certificates: tuple[tuple[Path, ...], ...]
    listen: str | None
    fields: dict[str, Any]

    @property
    def peers(self) -> list[tuple[int, str]]:
        """The other parties' numbers and addresses."""
        return [(number, address) for number, address in enumerate(self.addresses) if number != self.me]

    @contextlib.contextmanager
    def for_doctor(self, wait_s: float) -> Iterator[Path]:
        """Writes a configuration that waits as long as is asked, and keeps no approvals and no log of reveals.

        What this command reveals is in this package: clocks, releases and addresses that were reached.
        """
        fields = {name: value for name, value in self.fields.items() if name not in ("approve", "audit")}
        folder = self.file.absolute().parent
        fields["key"] = str(folder / fields.get("key", ""))
        limits = {**fields.pop("limits", {}), "connect_timeout_s": wait_s}
        stated = zip(fields.pop("party"), self.certificates, strict=True)
        parties = [{**one, "certificate": [str(file.absolute()) for file in files]} for one, files in stated]
        tables = [("[limits]", limits), *(("[[party]]", one) for one in parties)]
        with tempfile.TemporaryDirectory(prefix="quorate-doctor-") as made:
            path = Path(made) / "party.toml"
            path.write_text("\n".join([*_lines(fields), *(line for t, f in tables for line in (t, *_lines(f)))]) + "\n")
            yield path


def _lines(fields: dict[str, Any]) -> list[str]:
    """Returns fields as TOML; texts, numbers and lists of JSON are the same in it."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]


def party_of(file: Path) -> Party:
    """Reads a party.toml, as a session does.

    Raises:
        ConfigError: it cannot be used; or it has an address of another form.
    """
    me, protocol, _ = _quorate.read_config(str(file))
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    addresses = tuple(str(one["address"]) for one in fields["party"])
    certificates = tuple(_files(file.parent, one["certificate"]) for one in fields["party"])
    listen = fields.get("listen")
    for address in (*addresses, *([] if listen is None else [listen])):
        place_of(address)
    return Party(file, me, protocol, addresses, certificates, listen, fields)


def _files(folder: Path, stated: str | list[str]) -> tuple[Path, ...]:
    """Returns the files of a party's certificates: one, or a list of them."""
    return tuple(folder / one for one in ([stated] if isinstance(stated, str) else stated))


def place_of(address: str) -> tuple[str, int]:
    """Returns host and port of an address.

    Raises:
        ConfigError: it has another form.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ConfigError(f"the address {address!r} is not of the form host:port")
    return host.strip("[]"), int(port)


def expiry(party: Party, number: int, found: Findings) -> None:
    """Looks at the dates of a party's certificates. Sessions do not: the certificates themselves are pinned."""
    try:
        from cryptography import x509
    except ImportError:
        if number == party.me:
            found.good("certificates", "their dates are not read: pip install cryptography")
        return
    for file in party.certificates[number]:
        try:
            certificate = x509.load_pem_x509_certificate(file.read_bytes())
        except (OSError, ValueError) as error:
            found.wrong("certificates", f"the certificate of party {number}, {file}, cannot be read: {error}", number)
            continue
        _dates(certificate.not_valid_before_utc, certificate.not_valid_after_utc, number, found)


def _dates(begin: datetime.datetime, end: datetime.datetime, number: int, found: Findings) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    text = f"that of party {number} is dated to {end:%Y-%m-%d}"
    if end < now or now < begin:
        found.doubtful(
            "certificates",
            f"{text}, and this is {now:%Y-%m-%d}; sessions accept it, since it is pinned and dates are ignored",
            number,
        )
    elif end - now < datetime.timedelta(days=_DAYS):
        found.doubtful("certificates", f"{text}; sessions accept it after that too, since it is pinned", number)
    else:
        found.good("certificates", text, number)


def disk(party: Party, found: Findings) -> None:
    """Looks at the free space where this party's store and log of reveals are."""
    places = {"log of reveals": party.fields.get("audit")}
    with contextlib.suppress(OSError, ValueError):
        serve = party.file.with_name("serve.toml")
        places["store"] = tomllib.loads(serve.read_text(encoding="utf-8")).get("store")
    for name, place in places.items():
        if not isinstance(place, str):
            continue
        folder = (party.file.parent / place).parent
        try:
            free = shutil.disk_usage(folder).free
        except OSError as error:
            found.wrong("disk", f"the folder {folder} of the {name} cannot be used: {error.strerror}", party.me)
            continue
        if free < _LEAST_FREE:
            found.doubtful("disk", f"the {name} has {free >> 20} MiB left on its disk: free some space", party.me)
        else:
            found.good("disk", f"the {name} has {free >> 30} GiB left on its disk", party.me)


def listens(party: Party, found: Findings) -> None:
    """Looks whether this party's port is free to listen at; on every interface where none has the address."""
    stated = party.listen or party.addresses[party.me]
    host, port = place_of(stated)
    try:
        _bind(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            found.doubtful(
                "port",
                f"port {port} is in use: by a session of this party, which shares it, or by another program",
                party.me,
            )
            return
        if party.listen is not None or error.errno not in (errno.EADDRNOTAVAIL, socket.EAI_NONAME):
            found.wrong("port", f"this party cannot listen at {stated}: {error.strerror or error}", party.me)
            return
        with contextlib.suppress(OSError):
            _bind("", port)
            found.good("port", f"no interface here has {host}, so this party listens on all, at port {port}", party.me)
            return
        found.wrong("port", f"this party cannot listen at port {port} of any interface", party.me)
        return
    found.good("port", f"this party can listen at {stated}", party.me)


def _bind(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(1)
