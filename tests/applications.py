"""Sessions in which applications are tested: every protocol, and one with more parties."""

from __future__ import annotations

import quorate as qr
from protocols import USUAL, Place
from quorate._families import FAMILIES

#: If labels are cheap, a planner may compute a whole program on labels, in a constant number of rounds.
NO_ROUNDS = "rounds say nothing of what is cheaper where circuits are garbled"

SESSIONS = [*USUAL, Place("rss", 5)]


def garbles(mpc: qr.Session) -> bool:
    """Returns whether a planner may compute on labels there."""
    return "Y" in FAMILIES[mpc.protocol].sharings


def opened(place: Place, **options: object) -> qr.Session:
    """Opens a session of a protocol with this number of parties."""
    return qr.local(place.protocol, parties=place.parties, **options)
