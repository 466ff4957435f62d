"""The places where tests run: every protocol of the package, with every number of parties that it is tested with.

Properties of one family must hold for all, so a new family is tested everywhere once it is listed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import quorate as qr
from quorate._families import FAMILIES
from quorate._values._public_numbers import as_numbers


class Place(NamedTuple):
    """A protocol with a number of parties."""

    protocol: str
    parties: int
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "-".join([self.protocol, str(self.parties), *(name for name, _ in self.options)])


def places(most: int = 7) -> list[Place]:
    """Returns every protocol with its tested numbers of parties up to `most`, at least with its usual number."""
    return [
        Place(name, parties)
        for name, family in FAMILIES.items()
        for parties in family.parties
        if parties <= max(most, family.parties[0])
    ]


def usual(protocol: str) -> Place:
    """Returns a protocol with its usual number of parties."""
    return Place(protocol, FAMILIES[protocol].parties[0])


USUAL = [usual(name) for name in FAMILIES]
"""Every protocol, with its usual number of parties."""

FORMS = [Place("pika", 3, (("malicious", True),))]
"""Forms of families that count as protocols of their own."""


def among(place: Place, **options: Any) -> qr.Session:
    """Opens a local session there; see `stated`."""
    return stated(place.protocol, parties=place.parties, **dict(place.options), **options)


def stated(protocol: str = "rss", **options: Any) -> qr.Session:
    """Opens a local session in which reals have the dtype fixed(64, 16), unless a test names another one.

    Such tests compare values that wrap, too. So values are not checked against their dtypes unless `check=True` is
    given.
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
