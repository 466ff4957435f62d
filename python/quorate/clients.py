"""Clients of campaigns, who give values to a deployment and take no part in the computation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate_client import Campaign, Client, ClientKey, Invitation

__all__ = ["client", "require_cryptography"]


def require_cryptography() -> None:
    """Checks that the package `cryptography` is there, and new enough for the sealed packets of clients.

    Raises:
        ConfigError: it is not.
    """
    try:
        from cryptography.hazmat.primitives.hpke import KEM

        KEM.P256  # noqa: B018 - earlier releases have another module of this name, or other curves
    except (ImportError, AttributeError):
        raise ConfigError(
            "clients of campaigns need the package cryptography, 47 or later: pip install 'cryptography>=47'"
        ) from None


def client(
    campaign: Campaign | str | os.PathLike[str],
    *,
    key: ClientKey | str | os.PathLike[str],
    invitation: Invitation | str | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Client:
    """Returns a client of a campaign, `quorate_client.client`. Nothing is sent. Experimental.

    It needs the package `cryptography`, and nothing of Quorate but `quorate_client`.

    Args:
        campaign: the campaign, or the file that `quorate campaign create` wrote.
        key: the client's key, or the file that `quorate campaign client-key` wrote.
        invitation: the invitation or its text, if the campaign has invitations.
        store: a folder for packets that not all servers have stored; by default beside the key's file.

    Raises:
        ConfigError: `cryptography` is missing or too old.
        CampaignError: the campaign cannot be read, or the key or invitation is not for it.
        KeyFileError: the key or invitation cannot be read.

    Example:
        >>> import quorate as qr
        >>> def give() -> None:
        ...     client = qr.client("wages.json", key="me.key")
        ...     client.submit({"salary": 52_000, "ages": [31, 44]})
    """
    require_cryptography()
    import quorate_client

    return quorate_client.client(campaign, key=key, invitation=invitation, store=store)
