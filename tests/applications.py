"""Sessions that applications are tested in: every protocol, and one with more parties."""

from __future__ import annotations

import quorate as qr
from protocols import USUAL, Place

SESSIONS = [*USUAL, Place("rss", 5)]


def opened(place: Place, **options: object) -> qr.Session:
    """A session of a protocol and so many parties."""
    return qr.local(place.protocol, parties=place.parties, **options)
