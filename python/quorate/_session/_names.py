"""Names of the sessions with peers: given ones, and those of scripts."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

from quorate._session._settings import settings
from quorate._source import at
from quorate.errors import ConfigError

__all__ = ["Chosen", "chosen", "free"]

INTERACTIVE = "interactive"

# The most bytes of a name, with the number behind it.
_MOST_BYTES = 64

# The open sessions of this process whose names were not given in the script, by name; and the names of sessions that
# are being opened.
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_reserved: set[str] = set()

# Held while a name is chosen: threads that open sessions at the same time get different ones.
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class Chosen(NamedTuple):
    """A session's name: whether it is the default, and whether the script has left it open.

    It is reserved until the end of the `with` in which the session is opened.
    """

    name: str
    is_default: bool
    is_numbered: bool

    def __enter__(self) -> Chosen:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_numbered:
            with _lock:
                _reserved.discard(self.name)

    def bind(self, session: Any) -> None:
        """Notes that a session of this name is open."""
        if self.is_numbered:
            with _lock:
                _open[self.name] = session


def chosen(given: str | None) -> Chosen:
    """Returns the name of the session that is opened next, and reserves it.

    The command line's name takes precedence over the script's. Without either, the name is that of the script's file,
    or "interactive" where there is no script. Further sessions that are open at the same time are numbered.
    """
    if given is not None and not isinstance(given, str):
        raise ConfigError(at(f"session must be a text, the name of the session, not {given!r}"))
    if settings.session is None and given is not None:
        return Chosen(given, is_default=False, is_numbered=False)
    base = default() if settings.session is None else settings.session
    with _lock:
        taken = {*_open, *_reserved}
        names = (_numbered(base, number) for number in range(1, len(taken) + 2))
        name = next(one for one in names if one not in taken)
        _reserved.add(name)
    return Chosen(name, is_default=settings.session is None, is_numbered=True)


def _numbered(base: str, number: int) -> str:
    if number == 1:
        return base
    end = f" {number}"
    return _cut(base, _MOST_BYTES - len(end)) + end


def _cut(name: str, most_bytes: int) -> str:
    return name.encode()[:most_bytes].decode(errors="ignore").strip()


def free(session: Any) -> None:
    """Notes that a session is closed."""
    with _lock:
        for name in [name for name, other in _open.items() if other is session]:
            del _open[name]


def default() -> str:
    """Returns the name of the script or the package that runs, without characters that no session's name has."""
    main = sys.modules.get("__main__")
    script = settings.script or getattr(main, "__file__", None)
    package = None if settings.script else getattr(getattr(main, "__spec__", None), "parent", None)
    name = Path(script).name if script else INTERACTIVE
    if package and name == "__main__.py":  # of `python -m package`
        name = package
    name = "".join(one if one.isalnum() or (one.isascii() and one.isprintable()) else "_" for one in name).strip()
    return _cut(name, _MOST_BYTES) or INTERACTIVE
