"""Secret arrays that a session holds for objects of its user, as long as both are there."""

from __future__ import annotations

import weakref
from typing import Any

__all__ = ["Kept"]


class Kept:
    """What belongs to objects, by the objects themselves: two that are equal have nothing in common."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], tuple[weakref.ref[Any], dict[str, Any]]] = {}

    def of(self, thing: Any, party: int) -> dict[str, Any]:
        """What is held for an object and a party, to read and to add to. It goes when the object goes."""
        key, found = (id(thing), party), self._found
        if key not in found:
            found[key] = weakref.ref(thing, lambda _: found.pop(key, None)), {}
        return found[key][1]

    def clear(self) -> None:
        """Lets go of all."""
        self._found.clear()

    def __len__(self) -> int:
        return len(self._found)
