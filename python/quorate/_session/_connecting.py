"""The native session of one party of a deployment."""

from __future__ import annotations

import os
from typing import Any

from quorate import _quorate
from quorate._session import _forks, _names, _signals
from quorate._session._constraints import constraints, count_opened
from quorate._session._names import Chosen

__all__ = ["closed", "connected"]


def connected(path: str | os.PathLike[str], options: dict[str, Any], name: Chosen) -> _quorate.Session:
    """Connects this party. While the session is open, SIGTERM ends the process, and forks close its sockets."""
    _forks.watch()
    _signals.watch()
    try:
        native = _quorate.Session.connect(os.fspath(path), options, constraints(name.name, name.is_default))
    except BaseException:
        _signals.unwatch()
        raise
    count_opened()
    return native


def closed(session: Any, watches: bool) -> bool:
    """Notes that a session is closed, and that it does not watch for SIGTERM any more."""
    _names.free(session)
    if watches:
        _signals.unwatch()
    return False
