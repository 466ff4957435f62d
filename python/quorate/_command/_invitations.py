"""Invitations of a campaign: each server's file of its secrets, and the texts that the files are joined to.

A server's file is JSON that states the campaign and the server, so that files in another order, or of another campaign,
make no invitations that nobody can use.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate_client import Campaign

__all__ = ["joined", "of_server"]


def of_server(campaign: Campaign, server: int, secrets: Sequence[bytes]) -> str:
    """Returns the text of a server's file: its secret for each invitation, in order."""
    from quorate_client.keys import to_text

    fields = {"campaign": campaign.hash.hex(), "server": server, "servers": len(campaign.servers)}
    return json.dumps({**fields, "secrets": [to_text(secret) for secret in secrets]}, indent=1) + "\n"


def joined(files: Sequence[Path]) -> list[str]:
    """Returns the text of each invitation, in order, from the files of all servers, in any order.

    Raises:
        ConfigError: a file cannot be read, is of another campaign, or is missing; no secret is quoted.
    """
    from quorate_client import Invitation

    parts = [_read(file) for file in files]
    campaign, servers, count = parts[0][:3]
    by_server: dict[int, list[bytes]] = {}
    for file, (*of, server, secrets) in zip(files, parts, strict=True):
        if of != [campaign, servers, count]:
            raise ConfigError(f"{file} is of another campaign than {files[0]}: give the files of one")
        if server in by_server:
            raise ConfigError(f"{file}: there are two files of server {server}: give one of each server")
        by_server[server] = secrets
    missing = [str(server) for server in range(servers) if server not in by_server]
    if missing:
        raise ConfigError(f"the file of server {', '.join(missing)} is missing: give those of all {servers} servers")
    ordered = [by_server[server] for server in range(servers)]
    return [Invitation(place, secrets).to_text() for place, secrets in enumerate(zip(*ordered, strict=True))]


def _read(file: Path) -> tuple[str, int, int, int, list[bytes]]:
    """Returns a file's campaign, number of servers, number of invitations, server and secrets."""
    from quorate_client.invitation import SECRET_BYTES
    from quorate_client.keys import from_text

    try:
        fields: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        campaign, server, servers = fields["campaign"], fields["server"], fields["servers"]
        secrets = [from_text(secret) for secret in fields["secrets"]]
        if not all(isinstance(number, int) for number in (server, servers)) or not 0 <= server < servers <= 255:
            raise ValueError
        if not isinstance(campaign, str) or any(len(secret) != SECRET_BYTES for secret in secrets):
            raise ValueError
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        what = "is no file of a server's part of invitations"
        raise ConfigError(f"{file} {what}: `quorate campaign approve --invitations FILE` writes them") from None
    return campaign, servers, len(secrets), server, secrets
