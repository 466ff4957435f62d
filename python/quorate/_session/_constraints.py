"""The constraints of a party's command line on its runs: approved programs, and an audit log."""

from __future__ import annotations

from typing import Any

from quorate._session._settings import settings

__all__ = ["constraints", "count_opened"]

# The number of sessions with peers that this process has opened before, for all configuration files together. An
# approval is for one session, and a script could copy its file to get another one.
_before = 0


def constraints(session: str, is_default: bool) -> dict[str, Any]:
    """Returns the name and the constraints of the session that is opened next, for the native module."""
    limits = {"approve": settings.approve, "audit": settings.audit, "sessions_before": _before}
    return {**limits, "session": session, "is_default": is_default}


def count_opened() -> None:
    """Counts a session with peers that was opened."""
    global _before
    _before += 1
