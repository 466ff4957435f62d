"""Names of the sessions with peers: given ones, and those of scripts."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from typing import Any

from quorate._session._settings import settings
from quorate._source import at
from quorate.errors import ConfigError

__all__ = ["bind", "chosen", "free"]

INTERACTIVE = "interactive"

# Characters of a default name, so that a number and a space fit behind it within 64 bytes.
_MOST_BYTES = 60

# The open sessions of this process whose names were not given in the script, by name.
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def chosen(given: str | None) -> tuple[str, bool]:
    """Returns the name of the session that is opened next, and whether it is a default.

    The command line's name takes precedence over the script's. Without either, the name is that of the script's file,
    or "interactive" where there is no script. Further sessions that are open at the same time are numbered.
    """
    if given is not None and not isinstance(given, str):
        raise ConfigError(at(f"session must be a text, the name of the session, not {given!r}"))
    base = settings.session if settings.session is not None else given
    if settings.session is None and given is not None:
        return given, False
    name = base if base is not None else default()
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(_open) + 2))
    return next(one for one in names if one not in _open), base is None


def bind(name: str, session: Any) -> None:
    """Notes that a session of this name is open."""
    _open[name] = session


def free(session: Any) -> None:
    """Notes that a session is closed."""
    for name in [name for name, other in _open.items() if other is session]:
        del _open[name]


def default() -> str:
    """Returns the name of the script that runs, without characters that no session's name has."""
    script = settings.script or getattr(sys.modules.get("__main__"), "__file__", None)
    name = Path(script).name if script else INTERACTIVE
    name = "".join(one if one.isalnum() or (one.isascii() and one.isprintable()) else "_" for one in name).strip()
    return name.encode()[:_MOST_BYTES].decode(errors="ignore").strip() or INTERACTIVE
