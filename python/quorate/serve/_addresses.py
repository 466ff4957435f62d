"""Addresses of senders, as limits count them."""

from __future__ import annotations

import ipaddress

__all__ = ["holder_of"]

#: Bits of an IPv6 address that name a network; whoever has one address of a network has all of them.
_NETWORK_BITS = 64


def holder_of(address: str) -> str:
    """Returns what limits count for an address: an IPv4 address itself, and the network of an IPv6 address.

    Args:
        address: the address, as a socket states it. An IPv4 address may be mapped into IPv6.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, _NETWORK_BITS), strict=False))
