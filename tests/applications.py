"""Sessions that applications are tested in: every protocol that runs them."""

from __future__ import annotations

import quorate as qr

SMALLEST = {"rss": 3}
"""Protocols, and how many parties each has at least."""

SESSIONS = [*SMALLEST.items(), ("rss", 5)]


def opened(case: tuple[str, int], **options: object) -> qr.Session:
    """A session of a protocol and so many parties."""
    protocol, parties = case
    return qr.local(protocol, parties=parties, **options)
