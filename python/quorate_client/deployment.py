"""Deployments that run jobs: the servers, as their requesters and the servers themselves list them.

A person writes TOML, one file for all. Its hash is part of all that is signed for jobs, so nothing that is signed for
one deployment is of use at another one.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import sys
import urllib.parse
from pathlib import Path

from quorate_client._fields import Table
from quorate_client.campaign import Server, check_distinct, read_server
from quorate_client.errors import CampaignError
from quorate_client.keys import to_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Deployment"]

_LABEL = b"quorate/job/deployment/1\0"
_LEAST_SERVERS, _MOST_SERVERS = 2, 255


@dataclasses.dataclass(frozen=True)
class Deployment:
    """A deployment, checked.

    Attributes:
        protocol: the family of protocols that its parties run.
        servers: the servers, in the order of the parties. Their addresses have no path.
    """

    protocol: str
    servers: tuple[Server, ...]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Deployment:
        """Reads a file, TOML: `protocol` and a `[[servers]]` for each party.

        Raises:
            CampaignError: the file cannot be read, or a field is missing, unknown or wrong.
        """
        try:
            table = Table("", tomllib.loads(Path(path).read_text(encoding="utf-8")))
            return _read(table)
        except OSError as error:
            raise CampaignError(f"The list of servers {path} cannot be read: {error.strerror}.") from None
        except CampaignError as error:
            raise CampaignError(f"{path}: {error}") from None
        except ValueError as error:
            raise CampaignError(f"{path} is not TOML: {error}.") from None

    @functools.cached_property
    def json(self) -> bytes:
        """The canonical JSON: keys sorted, no spaces."""
        servers = [
            {"url": server.url, **{key: to_text(getattr(server, key)) for key in ("certificate", "seal", "sign")}}
            for server in self.servers
        ]
        fields = {"protocol": self.protocol, "servers": servers}
        return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()

    @functools.cached_property
    def hash(self) -> bytes:
        """SHA-256 of a label and the canonical JSON, 32 bytes."""
        return hashlib.sha256(_LABEL + self.json).digest()


def _read(table: Table) -> Deployment:
    protocol = table.text("protocol", 40)
    servers = tuple(read_server(one) for one in table.tables("servers"))
    table.done()
    if not _LEAST_SERVERS <= len(servers) <= _MOST_SERVERS:
        raise CampaignError(f"servers: list {_LEAST_SERVERS} to {_MOST_SERVERS} servers, not {len(servers)}.")
    for index, server in enumerate(servers):
        if urllib.parse.urlsplit(server.url).path:
            raise CampaignError(f"servers[{index}].url: {server.url} has a path. Servers of jobs have none: remove it.")
    check_distinct(servers)
    return Deployment(protocol, servers)
