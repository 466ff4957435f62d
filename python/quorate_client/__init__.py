"""The client of a campaign: gives values to servers that compute on them together, none of which sees a value.

It needs numpy and cryptography (47 or later), and nothing else of Quorate.
"""

from __future__ import annotations

from quorate_client.campaign import Campaign
from quorate_client.client import Client, client
from quorate_client.errors import (
    CampaignError,
    ClientError,
    KeyFileError,
    NoResult,
    NotStored,
    OtherCampaign,
    OutboxError,
    Refused,
    Unreachable,
    ValuesError,
    WireError,
)
from quorate_client.invitation import Invitation
from quorate_client.keys import ClientKey, ServiceKey, new_key
from quorate_client.statements import ItemStatus, Receipt, Status

__all__ = [
    "Campaign",
    "CampaignError",
    "Client",
    "ClientError",
    "ClientKey",
    "Invitation",
    "ItemStatus",
    "KeyFileError",
    "NoResult",
    "NotStored",
    "OtherCampaign",
    "OutboxError",
    "Receipt",
    "Refused",
    "ServiceKey",
    "Status",
    "Unreachable",
    "ValuesError",
    "WireError",
    "client",
    "new_key",
]
