"""A making: the run of a program's plan, in which the servers make correlations for their pools.

Server 0 proposes it, by the entry of `[[pool]]` and a number of starts. Each server has the entry's program and
parameters from its own settings, so nothing but their names goes from server to server. A making is a row among the
jobs: it takes a job's place, is watched, limited and cancelled as one, and counts no use.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import secrets
from collections.abc import Mapping

from quorate.campaigns import Marks, Refused
from quorate_client.job import Parameter, canonical
from quorate_client.keys import from_text, to_text

__all__ = ["Making", "asked_in"]

_ID = b"quorate/job/making/1\0"
_NONCE_BYTES = 16
_HASH_BYTES = 32


@dataclasses.dataclass(frozen=True)
class Making:
    """A making on which the servers agree.

    Attributes:
        deployment: the hash of the deployment.
        requester: the public key of server 0, which proposed it.
        entry: the name of the program with its parameters and forms: see `Marks`.
        program, parameters, forms: those of the entry.
        times: the number of starts for which all pools are to have correlations.
        nonce: 16 bytes, by which makings that are otherwise alike differ.
    """

    deployment: bytes
    requester: bytes
    entry: bytes
    program: str
    parameters: Mapping[str, Parameter]
    forms: tuple[str, ...]
    times: int
    nonce: bytes

    @staticmethod
    def of(deployment: bytes, requester: bytes, marks: Marks, times: int, nonce: bytes | None = None) -> Making:
        """Returns the making of an entry, with a new nonce unless one is given."""
        own = secrets.token_bytes(_NONCE_BYTES) if nonce is None else nonce
        return Making(deployment, requester, marks.entry, marks.program, marks.parameters, marks.forms, times, own)

    @functools.cached_property
    def id(self) -> bytes:
        """The id, the same at all servers: it names the session."""
        parts = (self.deployment, self.entry, self.times.to_bytes(4, "little"), self.nonce)
        return hashlib.sha256(_ID + b"".join(parts)).digest()

    @property
    def path(self) -> str:
        """The path by which server 0 asks other servers for it."""
        return f"/makings/{to_text(self.entry)}/{self.times}/{to_text(self.nonce)}"

    @functools.cached_property
    def json(self) -> bytes:
        """What the store keeps."""
        fields = dataclasses.asdict(self)
        return canonical({name: _shown(value) for name, value in fields.items()})

    @staticmethod
    def from_json(data: bytes) -> Making:
        """Reads what the store keeps."""
        fields = json.loads(data)
        for name in ("deployment", "requester", "entry", "nonce"):
            fields[name] = from_text(fields[name])
        return Making(**{**fields, "forms": tuple(fields["forms"])})


def _shown(value: object) -> object:
    return to_text(value) if isinstance(value, bytes) else value


def asked_in(entry: str, times: str, nonce: str) -> tuple[bytes, int, bytes]:
    """Reads the parts of a path of `Making.path`.

    Raises:
        Refused: they have another form.
    """
    try:
        read = from_text(entry), int(times), from_text(nonce)
    except ValueError:
        read = b"", 0, b""
    if (
        (len(read[0]), len(read[2])) != (_HASH_BYTES, _NONCE_BYTES)
        or str(read[1]) != times
        or not 0 < read[1] < 1 << 32
    ):
        raise Refused(404, "this path names no making", "update all servers to one release")
    return read
