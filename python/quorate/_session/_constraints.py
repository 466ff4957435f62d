"""The constraints of a party's command line on its runs: approved programs, and an audit log."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from quorate._session._settings import settings

__all__ = ["constraints"]

# The places of sessions with peers among those of this process, for all configuration files together: those that were
# opened, and those that are being opened. An approval is for one session, and a script could copy its file to get
# another one; so this is no session's own. Threads that open sessions at the same time get different places.
_taken: set[int] = set()
_lock = threading.Lock()


@contextlib.contextmanager
def constraints(session: str, is_default: bool) -> Iterator[dict[str, Any]]:
    """Gives the name and the constraints of the session that is opened in the `with`, for the native module.

    If it cannot be opened, the next one has its place.
    """
    with _lock:
        before = next(place for place in range(len(_taken) + 1) if place not in _taken)
        _taken.add(before)
    limits = {"approve": settings.approve, "audit": settings.audit, "sessions_before": before}
    try:
        yield {**limits, "session": session, "is_default": is_default}
    except BaseException:
        with _lock:
            _taken.discard(before)
        raise
