"""Where tests run: every protocol that the package offers, with every number of parties that it is tested with. What
holds for one must hold for all, so a new family is tested everywhere by being there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import quorate as qr
from quorate._families import FAMILIES
from quorate._public import as_numbers


class Place(NamedTuple):
    """A protocol, and so many parties."""

    protocol: str
    parties: int
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "-".join([self.protocol, str(self.parties), *(name for name, _ in self.options)])


def places(most: int = 7) -> list[Place]:
    """Every protocol with every number of parties that it is tested with, up to `most`; at least with its usual one."""
    return [
        Place(name, parties)
        for name, family in FAMILIES.items()
        for parties in family.parties
        if parties <= max(most, family.parties[0])
    ]


def usual(protocol: str) -> Place:
    """A protocol with its usual number of parties."""
    return Place(protocol, FAMILIES[protocol].parties[0])


USUAL = [usual(name) for name in FAMILIES]
"""Every protocol, with its usual number of parties."""

FORMS = [Place("pika", 3, (("malicious", True),))]
"""Forms of families that are protocols of their own."""


def among(place: Place, **options: Any) -> qr.Session:
    """A local session there; see `stated`."""
    return stated(place.protocol, parties=place.parties, **dict(place.options), **options)


def stated(protocol: str = "rss", **options: Any) -> qr.Session:
    """A local session in which reals have the stated dtype fixed(64, 16), where a test does not name another.

    What wraps is part of what such tests compare, so values are not held to their dtypes unless `check=True` is asked
    for.
    """
    session = qr.local(protocol, **{"check": False, **options})
    given = session.input

    def stating(values: Any = None, *rest: Any, dtype: Any = None, **named: Any) -> qr.SecretArray:
        known = isinstance(values, (list, tuple, float, np.ndarray, np.generic))
        if dtype is None and known and as_numbers(values, "input").dtype.kind == "f":
            dtype = qr.fixed(64, 16)
        return given(values, *rest, dtype=dtype, **named)

    session.input = stating  # type: ignore[method-assign]
    return session
