"""The families of protocols, as far as clients and what parties store depend on them."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FAMILIES", "holders", "may_cheat", "receivers"]

#: The numbers of servers that each family runs with.
FAMILIES = {"rss": (3, 5, 7), "aby": (2,), "pika": (3,), "spdz2k": tuple(range(2, 9))}


def may_cheat(protocol: str, options: Mapping[str, str]) -> bool:
    """Returns whether servers may cheat with these options."""
    return protocol == "spdz2k" or options.get("malicious") == "yes"


def holders(protocol: str, servers: int) -> int:
    """Returns the number of servers that may hold parts of values, the first ones."""
    return 2 if protocol == "pika" else servers


def receivers(protocol: str, servers: int) -> int:
    """Returns the number of parts of a value: more than servers may be corrupt."""
    return (servers + 1) // 2 if protocol == "rss" else holders(protocol, servers)
