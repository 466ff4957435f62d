"""Clients of campaigns, who give values to a deployment and take no part in the computation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate_client import Campaign, Client, ClientKey, Invitation

__all__ = ["client"]


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
        CampaignError: the campaign cannot be read, or the key or invitation is not for it.
        KeyFileError: the key or invitation cannot be read.

    Example:
        >>> import quorate as qr
        >>> def give() -> None:
        ...     client = qr.client("wages.json", key="me.key")
        ...     client.submit({"salary": 52_000, "ages": [31, 44]})
    """
    import quorate_client  # needs a package of the extra `serve`

    return quorate_client.client(campaign, key=key, invitation=invitation, store=store)
