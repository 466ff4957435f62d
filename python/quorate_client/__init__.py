"""The client of servers that compute together: gives values to a campaign, and asks for runs of approved programs.

It needs numpy and cryptography (47 or later), and nothing else of Quorate.
"""

from __future__ import annotations

from quorate_client.campaign import Campaign
from quorate_client.client import Client, client
from quorate_client.deployment import Deployment
from quorate_client.errors import (
    CampaignError,
    ClientError,
    JobFailed,
    JobRefused,
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
from quorate_client.job import JobProgress, JobRequest, JobState
from quorate_client.jobs import JobResult, Jobs, jobs
from quorate_client.keys import ClientKey, ServiceKey, new_key
from quorate_client.receipts import check_receipt
from quorate_client.schedule import StandingRequest, StandingState
from quorate_client.schedules import Schedules, schedules
from quorate_client.statements import ItemStatus, Receipt, Status

__all__ = [
    "Campaign",
    "CampaignError",
    "Client",
    "ClientError",
    "ClientKey",
    "Deployment",
    "Invitation",
    "ItemStatus",
    "JobFailed",
    "JobProgress",
    "JobRefused",
    "JobRequest",
    "JobResult",
    "JobState",
    "Jobs",
    "KeyFileError",
    "NoResult",
    "NotStored",
    "OtherCampaign",
    "OutboxError",
    "Receipt",
    "Refused",
    "Schedules",
    "ServiceKey",
    "StandingRequest",
    "StandingState",
    "Status",
    "Unreachable",
    "ValuesError",
    "WireError",
    "check_receipt",
    "client",
    "jobs",
    "new_key",
    "schedules",
]
