"""Remarks about the build of the native module: an optimised one, or one for trying out."""

from __future__ import annotations

from quorate._quorate import OPTIMISED

__all__ = ["remarks"]

SLOW = "this build is for trying out, and its seconds are not Quorate's: `make build` makes the fast one (5 min)"


def remarks() -> list[str]:
    """Returns the lines that warn readers of timings about a slow build; none for an optimised build."""
    return [] if OPTIMISED else [SLOW]
