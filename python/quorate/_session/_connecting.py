"""The native session of one party of a deployment."""

from __future__ import annotations

import os
from typing import Any

from quorate import _quorate
from quorate._session import _forks, _names, _signals
from quorate._session._constraints import constraints
from quorate._session._names import Chosen
from quorate._session._signals import Watch

__all__ = ["closed", "connected"]


#: The folder of a pool, its key, and "use" or "make".
Pool = tuple[str, bytes, str]


def connected(
    path: str | os.PathLike[str], options: dict[str, Any], name: Chosen, pool: Pool | None
) -> tuple[_quorate.Session, Watch]:
    """Connects this party. While the session is open, SIGTERM ends the process, and forks close its sockets."""
    _forks.watch()
    watches = _signals.watch()
    try:
        with constraints(name.name, name.is_default) as held:
            return _quorate.Session.connect(os.fspath(path), options, held, pool), watches
    except BaseException:
        _signals.unwatch(watches)
        raise


def closed(session: Any, watches: Watch | None) -> None:
    """Notes that a session is closed, and that it does not watch for SIGTERM any more."""
    _names.free(session)
    if watches is not None:
        _signals.unwatch(watches)
