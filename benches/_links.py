"""The links that `paper_networks.py` and `paper_mobilenet.py` name."""

from __future__ import annotations

from typing import Any

import quorate as qr

LINKS = ("memory", "lan", "wan")


def network(link: str) -> Any:
    """Returns the argument of `network=`: a preset, or a round trip in ms and Mbit/s, as in "70/100"."""
    if "/" not in link:
        return None if link == "memory" else link
    rtt_ms, mbit = map(float, link.split("/"))
    return qr.Network(rtt_ms=rtt_ms, mbit=mbit)
