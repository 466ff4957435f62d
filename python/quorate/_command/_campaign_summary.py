"""What an operator agrees to by approving a campaign, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorate_client import Campaign
    from quorate_client.campaign import Column

__all__ = ["summary"]


def summary(campaign: Campaign) -> str:
    """Returns all that a campaign states, but for keys and certificates; a line for each field, column and server."""
    who = f"{campaign.invitations} invitations" if campaign.invitations else f"{len(campaign.clients)} listed clients"
    options = ", ".join(f"{name}={value}" for name, value in campaign.options.items()) or "none"
    programs = campaign.programs or ["ANY: each program that the operators start may read the values"]
    lines = [
        f"campaign {campaign.name}",
        f"  hash: {campaign.hash.hex()}",
        *(f"  program: {program}" for program in programs),
        f"  protocol: {campaign.protocol}, {len(campaign.servers)} servers; options: {options}",
        *(f"  server {index}: {server.url}" for index, server in enumerate(campaign.servers)),
        f"  clients: {who}, at least {campaign.at_least}",
        f"  closes: {campaign.closes}; looks at results: {campaign.again + 1}; check: {campaign.check}",
        f"  values may be kept for later programs: {campaign.keep}",
        f"  web pages that may send packets: {', '.join(campaign.origins) or 'none'}",
    ]
    for slot in campaign.slots:
        lines.append(f"  slot {slot.name}, packets of a client: {slot.per_client}")
        lines += [f"    column {_typed(column)}, {_bounds(column)}" for column in slot.columns]
        lines += [f"    result for each client: {_typed(column)}" for column in slot.results]
    return "\n".join(lines)


def _typed(column: Column) -> str:
    return f"{column.name} {column.dtype}{list(column.shape) if column.shape else ''}"


def _bounds(column: Column) -> str:
    if not column.is_bounded:
        return f"any {column.dtype}"
    return f"from {column.low or 'the lowest'} to {column.high or 'the highest'}"
