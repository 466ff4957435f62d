"""The settings of a server for clients: `serve.toml`, beside the `party.toml` of the party that it serves.

`party.toml` says who this party is; the native module reads it for sessions, and this module reads its number and
protocol.
`serve.toml` says where clients reach the server and where packets are kept. Paths are relative to the file that they
stand in. An unknown key in `serve.toml` is an error.
"""

from __future__ import annotations

import dataclasses
import hashlib
import ipaddress
import math
import os
import re
import ssl
import sys
from pathlib import Path
from typing import Any

from quorate._families import FAMILIES
from quorate.campaigns._marks import Marks, marks_of
from quorate.campaigns._sealing import KEY_BYTES
from quorate.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["MOST_AT_ONCE", "ConsoleSettings", "Limits", "Settings", "certificate_hash", "read_store_key", "store_of"]

FILE = "serve.toml"

#: The default of `peer_timeout_s` in `party.toml`, as in sessions.
PEER_TIMEOUT_S = 10.0

#: Jobs that may run at the same time, at most.
MOST_AT_ONCE = 16

#: A name or an address of a host, as browsers send it.
_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\]")


@dataclasses.dataclass(frozen=True)
class Limits:
    """What clients may take of a server.

    Attributes:
        connections: open connections in all.
        connections_per_address: open connections of one IPv4 address, or of one IPv6 network of 64 bits.
        memory_bytes: bodies of requests that are held at the same time.
        results_days: days that results for clients are kept after the end of their campaign.
    """

    connections: int = 1000
    connections_per_address: int = 200
    memory_bytes: int = 1 << 28
    results_days: int = 30


@dataclasses.dataclass(frozen=True)
class ConsoleSettings:
    """Where operators reach the console.

    Attributes:
        host, port: where to listen.
        names: names of the host by which browsers may call it, beside those of the loopback.
        certificate, key: files of the TLS certificate and its key, in PEM.
    """

    host: str
    port: int
    names: tuple[str, ...]
    certificate: Path
    key: Path


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of one party's server.

    Attributes:
        me: the number of the party.
        protocol: the family that the party's deployment runs.
        host, port: where to listen.
        certificate, key: files of the TLS certificate and its key, in PEM. They are not the party's own: a process that
            strangers reach should not hold the key of the party's sessions.
        store: the file of packets.
        store_key: the file of the key that encrypts them.
        service_key: the file of the keys that clients seal to and that sign receipts.
        limits: what clients may take.
        party: the file of the party, `party.toml`.
        parties: the number of parties.
        jobs: the file that lists the servers of jobs, if this server runs any.
        metrics: an address of the loopback where metrics are served, if they are.
        at_once: jobs that may run at the same time.
        peer_timeout_s: seconds after which a server that does not answer is unreachable.
        console: where operators reach the console, if there is one.
        audit: the party's audit log, if `party.toml` names one.
        marks: the marks between which the pool is kept, for each program.
    """

    me: int
    protocol: str
    host: str
    port: int
    certificate: Path
    key: Path
    store: Path
    store_key: Path
    service_key: Path
    limits: Limits
    party: Path = Path("party.toml")
    parties: int = 0
    jobs: Path | None = None
    metrics: tuple[str, int] | None = None
    at_once: int = 1
    peer_timeout_s: float = PEER_TIMEOUT_S
    console: ConsoleSettings | None = None
    audit: Path | None = None
    marks: tuple[Marks, ...] = ()

    @staticmethod
    def read(config: str | os.PathLike[str]) -> Settings:
        """Reads a `serve.toml` and the file of the party that it names; or a `party.toml` and `serve.toml` beside it.

        Raises:
            ConfigError: a file cannot be read, or a key is missing, unknown or wrong; the message names it.
        """
        serve, party = _files(config)
        me, protocol = party.integer("me", 0, 255), party.text("protocol")
        parties = party.fields.get("party")
        if not isinstance(parties, list) or me >= len(parties):
            raise ConfigError(f"{party.file}: there must be a [[party]] for each party, and party {me} is this one")
        host, port = serve.address("listen")
        limits = _File(serve.file, serve.fields.pop("limits", {}), "limits.")
        names = [field.name for field in dataclasses.fields(Limits)]
        stated = {name: limits.integer(name, 1, 1 << 62) for name in names if name in limits.fields}
        limits.done(names)
        names = ["certificate", "key", "store", "store_key", "service_key"]
        certificate, key, store, store_key, service_key = (serve.path(name) for name in names)
        jobs, at_once = _jobs(serve) if "jobs" in serve.fields else (None, 1)
        if at_once > 1 and "pool" in party.fields:
            what = f"{party.file} has a `pool`, and one process uses a pool at a time"
            raise ConfigError(f"{serve.file}: `jobs.at_once` must be 1: {what}")
        metrics = serve.loopback("metrics") if "metrics" in serve.fields else None
        console = _console(serve, certificate, key) if "console" in serve.fields else None
        audit = party.path("audit") if "audit" in party.fields else None
        marks = _marks(serve, party, protocol) if "pool" in serve.fields else ()
        serve.done(["listen", *names, "party", "limits", "jobs", "pool", "metrics", "console"])
        where, keys = (me, protocol, host, port, certificate, key), (store, store_key, service_key)
        timeout, limits_ = _peer_timeout_s(party), Limits(**stated)
        told: dict[str, Any] = {"at_once": at_once, "peer_timeout_s": timeout, "console": console, "audit": audit}
        told["marks"] = marks
        return Settings(*where, *keys, limits_, party.file, len(parties), jobs, metrics, **told)


def _console(serve: _File, certificate: Path, key: Path) -> ConsoleSettings:
    """Returns the table [console]. Its certificate and key are the server's, unless it names others."""
    table = _File(serve.file, serve.fields.pop("console"), "console.")
    host, port = table.address("listen")
    names = table.fields.pop("names", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        raise ConfigError(
            f'{serve.file}: `console.names` must be a list of names of hosts, without ports, as in ["one.localhost"]'
        )
    if ("certificate" in table.fields) != ("key" in table.fields):
        raise ConfigError(f"{serve.file}: `console.certificate` and `console.key` go together: name both, or neither")
    if "certificate" in table.fields:
        certificate, key = table.path("certificate"), table.path("key")
    table.done(["listen", "names", "certificate", "key"])
    return ConsoleSettings(host, port, tuple(name.lower() for name in names), certificate, key)


def store_of(config: str | os.PathLike[str]) -> tuple[int, Path, Path]:
    """Returns a party's number, its store and the file of the store's key. Other keys of the files are not read.

    Args:
        config: the files that `Settings.read` takes.

    Raises:
        ConfigError: a file cannot be read, or a key is missing or wrong; the message names it.
    """
    serve, party = _files(config)
    return party.integer("me", 0, 255), serve.path("store"), serve.path("store_key")


def _jobs(serve: _File) -> tuple[Path, int]:
    """Reads the table of jobs: the list of servers, and how many jobs may run at the same time."""
    table = _File(serve.file, serve.fields.pop("jobs"), "jobs.")
    jobs = table.path("servers")
    at_once = table.integer("at_once", 1, MOST_AT_ONCE) if "at_once" in table.fields else 1
    table.done(["servers", "at_once"])
    if at_once > 1 and not sys.platform.startswith("linux"):
        what = "processes share the port of their party on Linux only"
        raise ConfigError(f"{serve.file}: `jobs.at_once` must be 1 on this system: {what}")
    return jobs, at_once


def _marks(serve: _File, party: _File, protocol: str) -> tuple[Marks, ...]:
    """Reads the marks of the pool."""
    marks = marks_of(serve.fields.pop("pool"), serve.file)
    if marks and "pool" not in party.fields:
        raise ConfigError(
            f'{serve.file} has [[pool]], and {party.file} has no pool: name its folder, as in pool = "pool"'
        )
    if len(marks) > 1 and FAMILIES[protocol].has_secrets:
        what = f"a pool of {protocol} is made in one session, so [[pool]] may stand once"
        raise ConfigError(f"{serve.file}: {what}: leave the program that is asked for most")
    return marks


def _peer_timeout_s(party: _File) -> float:
    """Returns the time-out of sessions, which holds for servers too. Other limits are those of sessions alone."""
    limits = party.fields.get("limits", {})
    value = limits.get("peer_timeout_s", PEER_TIMEOUT_S) if isinstance(limits, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ConfigError(f"{party.file}: `limits.peer_timeout_s` must be a positive number of seconds")
    return float(value)


def _files(config: str | os.PathLike[str]) -> tuple[_File, _File]:
    """Returns the `serve.toml` and the `party.toml` of a party, of which either is given."""
    given = _File(Path(config))
    serve = _File(given.file.parent / FILE) if "protocol" in given.fields else given
    party_file = serve.path("party") if "party" in serve.fields else serve.file.parent / "party.toml"
    return serve, given if serve is not given else _File(party_file)


class _File:
    """A table of a TOML file, from which fields are taken."""

    def __init__(self, file: Path, fields: Any = None, prefix: str = "") -> None:
        self.file, self._prefix = file, prefix
        if fields is None:
            try:
                fields = tomllib.loads(file.read_text(encoding="utf-8"))
            except FileNotFoundError:
                raise ConfigError(f"there is no file {file}: write it as the page on clients describes") from None
            except (OSError, ValueError) as error:
                raise ConfigError(f"{file} cannot be read: {error}") from None
        if not isinstance(fields, dict):
            name = prefix.rstrip(".")
            raise ConfigError(f"{file}: `{name}` must be a table, as in [{name}]")
        self.fields: dict[str, Any] = dict(fields)

    def _take(self, name: str) -> Any:
        if name not in self.fields:
            raise ConfigError(f"{self.file}: `{self._prefix}{name}` is missing")
        return self.fields.pop(name)

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str) or not value:
            raise ConfigError(f"{self.file}: `{self._prefix}{name}` must be a text")
        return value

    def integer(self, name: str, least: int, most: int) -> int:
        value = self._take(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{self.file}: `{self._prefix}{name}` must be an integer from {least} to {most}")
        return value

    def path(self, name: str) -> Path:
        return self.file.parent / self.text(name)

    def address(self, name: str) -> tuple[str, int]:
        host, _, port = self.text(name).rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ConfigError(f'{self.file}: `{self._prefix}{name}` must be HOST:PORT, as in "0.0.0.0:8443"')
        return host.strip("[]"), int(port)

    def loopback(self, name: str) -> tuple[str, int]:
        host, port = self.address(name)
        try:
            if ipaddress.ip_address(host).is_loopback:
                return host, port
        except ValueError:
            pass
        raise ConfigError(
            f"{self.file}: `{name}` is {host}, and metrics are served without TLS: write a loopback address, as in "
            '"127.0.0.1:9100", and let an agent on this machine forward them'
        )

    def done(self, known: list[str]) -> None:
        if self.fields:
            name, others = next(iter(self.fields)), ", ".join(known)
            raise ConfigError(f"{self.file}: there is no key `{self._prefix}{name}`; there are {others}")


def read_store_key(file: Path) -> bytes:
    """Reads the key of a store.

    Raises:
        ConfigError: the file cannot be read, others may read it, or it does not hold 32 bytes.
    """
    try:
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"others may read the key {file}: run `chmod 600 {file}`")
        key = file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the store's key {file} cannot be read: {error.strerror}; `quorate campaign key` makes one"
        ) from None
    if len(key) != KEY_BYTES:
        raise ConfigError(f"the store's key {file} has {len(key)} bytes instead of {KEY_BYTES}: it is another file")
    return key


def certificate_hash(file: Path) -> bytes:
    """Returns the SHA-256 of a server's certificate (DER): what a campaign states.

    Args:
        file: PEM; the first certificate in it is the server's.

    Raises:
        ConfigError: the file cannot be read.
    """
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    try:
        text = file.read_text(encoding="ascii")
        first = text[text.index(begin) : text.index(end) + len(end)]
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).digest()
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate {file} cannot be read: {error}") from None
