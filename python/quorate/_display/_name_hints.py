"""Hints for names that do not exist: what to write instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["no_attribute", "no_name"]

_OF_ARRAYS = {
    "item": "reveal() gives the value",
    "tolist": "reveal().tolist() gives the values",
}
_MADE_BY_SESSIONS = (
    "a session makes them: mpc.input(values, owner=0) of a party's values, mpc.constant(values) of public ones"
)
_OF_THE_PACKAGE = {
    "array": _MADE_BY_SESSIONS,
    "asarray": _MADE_BY_SESSIONS,
    "bool": "the dtype of truth values is qr.bit",
    "float": "the dtype of real numbers is fixed point: qr.fixed(64, 16)",
}


def _near(name: str, known: Iterable[str]) -> str | None:
    """Returns a hint with the most similar known name. None for names that begin with "_", as numpy probes them."""
    if name.startswith("_"):
        return None
    import difflib  # not before a name is missing: it takes time

    close = difflib.get_close_matches(name, [other for other in known if not other.startswith("_")], 1, 0.75)
    return f"did you mean {close[0]!r}?" if close else None


def no_attribute(array: Any, name: str) -> AttributeError:
    """Returns the error for an attribute that secret arrays do not have."""
    if name in _OF_ARRAYS:
        return AttributeError(f"secret arrays have no {name!r} in this release: {_OF_ARRAYS[name]}", name=name)
    hint = _near(name, dir(type(array)))
    return AttributeError(f"secret arrays have no {name!r}" + (f": {hint}" if hint else ""), name=name)


def no_name(name: str, known: Iterable[str], methods: Iterable[str]) -> AttributeError:
    """Returns the error for a name that the package does not have; `methods` are those of sessions."""
    hint = _OF_THE_PACKAGE.get(name)
    if hint is None and not name.startswith("_") and name in methods:
        hint = f"it is a method of sessions: mpc.{name}"
    hint = hint or _near(name, known)
    return AttributeError(f"quorate has no {name!r}" + (f": {hint}" if hint else ""), name=name)
