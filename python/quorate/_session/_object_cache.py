"""Secret arrays that a session holds for a user's objects, while both exist."""

from __future__ import annotations

import threading
import weakref
from typing import Any

__all__ = ["ObjectCache"]


class ObjectCache:
    """Values held for objects, by the identity of the object: equal objects have separate entries."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[weakref.ref[Any], dict[str, Any]]] = {}
        self._lock = threading.RLock()  # entries may be dropped while one is added, by the same thread

    def of(self, thing: Any, party: int) -> dict[str, Any]:
        """Returns the dictionary held for an object and a party, to read and change. It is dropped with the object."""
        key, found = (id(thing), party), self._found
        with self._lock:
            if key not in found:
                found[key] = weakref.ref(thing, lambda _: found.pop(key, None)), {}
            return found[key][1]

    def clear(self) -> None:
        """Drops all entries."""
        with self._lock:
            self._found.clear()

    def __len__(self) -> int:
        return len(self._found)
