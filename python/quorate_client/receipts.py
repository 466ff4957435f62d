"""Receipts as the form saves them: the header of a packet, and the signed statement of each server."""

from __future__ import annotations

import hashlib
import json

from quorate_client.campaign import Campaign
from quorate_client.errors import WireError
from quorate_client.keys import from_text
from quorate_client.statements import Receipt
from quorate_client.wire import Header

__all__ = ["check_receipt"]


def check_receipt(campaign: Campaign, saved: bytes) -> Header:
    """Returns the header of a packet after it has checked that each server of the campaign signed to have stored it.

    Args:
        campaign: the campaign.
        saved: the file that the form saved, as JSON.

    Raises:
        WireError: the file is no receipt, or a server has not signed it for this campaign and this packet.
    """
    try:
        table = json.loads(saved)
        packed, statements = from_text(table["header"]), list(table["receipts"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise WireError("receipt", "The file is not a receipt as the form saves it. Give that file.") from None
    header = Header.unpack(packed)
    if header.campaign != campaign.hash:
        raise WireError("campaign", "The receipt is of another campaign. Give the campaign that it is of.")
    if len(statements) != len(campaign.servers):
        count = f"{len(statements)} statements of {len(campaign.servers)} servers"
        raise WireError("receipts", f"The receipt has {count}. It proves nothing; ask the servers for their status.")
    digest = hashlib.sha256(packed).digest()
    item = (campaign.hash, header.client, header.slot, header.item, header.number, digest)
    for number, (server, fields) in enumerate(zip(campaign.servers, statements, strict=True)):
        receipt = Receipt.from_json(json.dumps(fields).encode())
        stated = (receipt.campaign, receipt.client, receipt.slot, receipt.item, receipt.number, receipt.digest)
        if stated != item or receipt.server != number or not receipt.is_by(server.sign):
            raise WireError(
                "signature",
                f"Server {number} has not signed this packet's receipt. It proves nothing; ask the servers for their "
                "status.",
            )
    return header
