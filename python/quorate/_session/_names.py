"""Names of the sessions with peers: given ones, and those of scripts."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from quorate._session._settings import settings
from quorate._source import at
from quorate.errors import ConfigError

__all__ = ["Chosen", "chosen", "free"]

INTERACTIVE = "interactive"

# Characters of a default name, so that a number and a space fit behind it within 64 bytes.
_MOST_BYTES = 60

# The open sessions of this process whose names were not given in the script, by name.
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


class Chosen(NamedTuple):
    """A session's name: whether it is the default, and whether the script has left it open."""

    name: str
    is_default: bool
    is_numbered: bool

    def bind(self, session: Any) -> None:
        """Notes that a session of this name is open."""
        if self.is_numbered:
            _open[self.name] = session


def chosen(given: str | None) -> Chosen:
    """Returns the name of the session that is opened next.

    The command line's name takes precedence over the script's. Without either, the name is that of the script's file,
    or "interactive" where there is no script. Further sessions that are open at the same time are numbered.
    """
    if given is not None and not isinstance(given, str):
        raise ConfigError(at(f"session must be a text, the name of the session, not {given!r}"))
    if settings.session is None and given is not None:
        return Chosen(given, is_default=False, is_numbered=False)
    base = default() if settings.session is None else settings.session
    names = (base if number == 1 else f"{base} {number}" for number in range(1, len(_open) + 2))
    name = next(one for one in names if one not in _open)
    return Chosen(name, is_default=settings.session is None, is_numbered=True)


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
