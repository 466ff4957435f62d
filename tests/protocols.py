"""Which protocol a test runs on, by the number of parties: what holds for one must hold for all."""

from __future__ import annotations

from typing import Any

import numpy as np

import quorate as qr
from quorate._public import as_numbers


def among(parties: int, **options: Any) -> qr.Session:
    """A local session of so many parties: two under `aby`, more under `rss`; see `stated`."""
    return stated("aby" if parties == 2 else "rss", parties=parties, **options)


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
