"""Sessions that applications are tested in: every protocol, and one with more parties."""

from __future__ import annotations

import quorate as qr
from protocols import USUAL, Place
from quorate._families import FAMILIES

#: Where labels are cheap, a planner may compute all of a program in a constant number of rounds.
NO_ROUNDS = "rounds say nothing of what is cheaper where circuits are garbled"

SESSIONS = [*USUAL, Place("rss", 5)]


def garbles(mpc: qr.Session) -> bool:
    """Whether a planner may take labels there."""
    return "Y" in FAMILIES[mpc.protocol].sharings


def opened(place: Place, **options: object) -> qr.Session:
    """A session of a protocol and so many parties."""
    return qr.local(place.protocol, parties=place.parties, **options)
