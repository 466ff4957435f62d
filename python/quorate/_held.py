"""What a party's runs are held to, as its command line says: approval, and a log."""

from __future__ import annotations

from typing import Any

__all__ = ["held", "opened"]

# Sessions that this process has opened, whatever their files are called: what was approved once is not to be done
# twice, and a script can copy a file.
_before = 0


def held() -> dict[str, Any]:
    """For the session that is opened next, as the native module takes it."""
    from quorate._script import settings

    return {"approve": settings.approve, "audit": settings.audit, "sessions_before": _before}


def opened() -> None:
    """There is another session with peers."""
    global _before
    _before += 1
