"""What is known of the other servers: the health of each, and why jobs wait for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from quorate.jobs._terms import time_text

__all__ = ["PeerState", "waits_for"]


@dataclasses.dataclass(frozen=True)
class PeerState:
    """The health of another server, as this one sees it.

    Attributes:
        server: its number.
        state: "unknown" before the first answer, "up", "unreachable", or "differs" if it answers and something does not
            fit, such as its release, its list of servers or its clock.
        since: when the state began, in seconds since 1970; of an unreachable server, when it last answered.
        detail: a sentence on what is wrong and what to do; empty if nothing is.
        round_trip_s: seconds of the last question and its answer; None before the first one.
    """

    server: int
    state: str
    since: float
    detail: str
    round_trip_s: float | None = None


def waits_for(peers: Sequence[PeerState]) -> str:
    """Returns why no job can start now, for its requester; an empty text if the servers are all there.

    >>> waits_for([PeerState(1, "up", 0.0, ""), PeerState(2, "unreachable", 86_400.0, "...")])
    'server 2 does not answer since 1970-01-02T00:00:00Z'
    """
    reasons = [
        f"server {one.server} does not answer since {time_text(one.since)}"
        for one in peers
        if one.state == "unreachable"
    ]
    return ", ".join(reasons)
