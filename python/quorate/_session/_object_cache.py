"""Secret arrays that a session holds for a user's objects, while both exist."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

from quorate.errors import ConfigError

__all__ = ["ObjectCache"]


class ObjectCache:
    """Values held for objects, by the identity of the object: equal objects have separate entries."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[weakref.ref[Any], dict[str, Any]]] = {}
        self._lock = threading.RLock()  # entries may be dropped while one is added, by the same thread
        self._before: tuple[dict[tuple[int, int], tuple[weakref.ref[Any], dict[str, Any]]], Callable[[Any], Any]]
        self._before = {}, lambda value: value

    def follow(self, other: ObjectCache, adopt: Callable[[Any], Any]) -> None:
        """Begins with what `other` holds now; `adopt` makes its arrays arrays of this session, when they are used."""
        found = other._found.copy()  # at once: objects that die meanwhile drop their entries
        self._before = {key: (ref, dict(held)) for key, (ref, held) in found.items()}, adopt

    def of(self, thing: Any, party: int) -> dict[str, Any]:
        """Returns the dictionary held for an object and a party, to read and change. It is dropped with the object."""
        key, found = (id(thing), party), self._found
        with self._lock:
            if key not in found:
                held = self._of_before(thing, key)
                found[key] = weakref.ref(thing, lambda _: found.pop(key, None)), held
            return found[key][1]

    def _of_before(self, thing: Any, key: tuple[int, int]) -> dict[str, Any]:
        held: dict[str, Any] = {}
        before, adopt = self._before
        ref, values = before.get(key, (None, {}))
        if ref is not None and ref() is thing:  # an object that is gone may have left its number to another one
            for name, value in values.items():
                with contextlib.suppress(ConfigError):  # what this session does not have is shared again
                    held[name] = adopt(value)
        return held

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            self._found.clear()
            self._before = {}, lambda value: value

    def __len__(self) -> int:
        return len(self._found)
