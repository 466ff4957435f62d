"""Which build of the native module this is: as fast as it gets, or for trying out."""

from __future__ import annotations

from quorate._quorate import OPTIMISED

__all__ = ["remarks"]

SLOW = "this build is for trying out, and its seconds are not Quorate's: `make build` makes the fast one (6 min)"


def remarks() -> list[str]:
    """What whoever reads seconds has to know of this build, in lines; none of one that is as fast as it gets."""
    return [] if OPTIMISED else [SLOW]
