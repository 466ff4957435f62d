"""Applications on every protocol, number of parties and mix of sharings that can run them give one result."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import places
from quorate._families import FAMILIES

MIXES = ("auto", "A", "B", "Y", "A+B", "A+Y", "B+Y", "A+B+Y")
SESSIONS: dict[str, dict[str, Any]] = {
    **{str(place): {"protocol": place.protocol, "parties": place.parties} for place in places()},
    **{f"{protocol} bounded": {"protocol": protocol, "max_memory": "1GB"} for protocol in FAMILIES},
    **{
        f"{protocol} {mix}": {"protocol": protocol, "sharings": mix}
        for protocol, family in FAMILIES.items()
        if "Y" in family.sharings
        for mix in MIXES
    },
}


@functools.cache
def drawn() -> dict[str, np.ndarray]:
    """Draws the parties' values, which include the ends of every range."""
    rng = np.random.default_rng(9)
    common = rng.choice(2**20, 6, replace=False)
    return {
        "a": np.unique([0, 2**20 - 1, *common, *rng.choice(2**20, 5)]),
        "b": np.unique([2**20 - 1, *common, *rng.choice(2**20, 9)]),
        "database": np.concatenate([rng.integers(-100, 100, (7, 3)), [[-128, 127, 0], [127, -128, 0]]]),
        "queries": np.concatenate([rng.integers(-100, 100, (3, 3)), [[-128, 127, 1]]]),
        "base": np.array([0, 1, 255, 77, 200]),
        "exponent": np.array([0, 255, 3, 130, 91]),
        "modulus": np.array([1, 7, 251, 255, 0]),
    }


def matched(mpc: qr.Session) -> list[Any]:
    a, b = drawn()["a"], drawn()["b"]
    paid = np.arange(len(b)) * 100
    both = qr.apps.psi(mpc, a, b, bits=20)
    count, total = qr.apps.psi(mpc, a, b, bits=20, cardinality=True, payload=paid, payload_owner=1)
    return [both.tolist(), int(count), int(total)]


def matched_clear() -> list[Any]:
    a, b = drawn()["a"], drawn()["b"]
    met = np.isin(b, a)
    return [np.intersect1d(a, b).tolist(), int(met.sum()), int((np.arange(len(b)) * 100)[met].sum())]


def nearest(mpc: qr.Session) -> list[Any]:
    index, far = qr.apps.nearest(mpc, drawn()["database"], drawn()["queries"], dtype=qr.int(8))
    return [index.tolist(), far.tolist()]


def nearest_clear() -> list[Any]:
    far = ((drawn()["database"][:, None] - drawn()["queries"]) ** 2).sum(axis=2)
    return [far.argmin(axis=0).tolist(), far.min(axis=0).tolist()]


def powers(mpc: qr.Session) -> list[Any]:
    given = [drawn()[name] for name in ("base", "exponent", "modulus")]
    secret = [mpc.input(values, owner=i % 2, dtype=qr.uint(8)) for i, values in enumerate(given)]
    known = qr.apps.powmod(mpc, secret[0], given[1], 251)
    return [qr.apps.powmod(mpc, *secret).reveal().tolist(), known.reveal().tolist()]


def powers_clear() -> list[Any]:
    base, exponent, modulus = (drawn()[name].tolist() for name in ("base", "exponent", "modulus"))
    every = [pow(*three) if three[2] else 0 for three in zip(base, exponent, modulus, strict=True)]
    return [every, [pow(b, e, 251) for b, e in zip(base, exponent, strict=True)]]


APPLICATIONS: dict[str, tuple[Callable[[qr.Session], list[Any]], Callable[[], list[Any]]]] = {
    "psi": (matched, matched_clear),
    "nearest": (nearest, nearest_clear),
    "powmod": (powers, powers_clear),
}


@pytest.mark.parametrize("where", SESSIONS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_results_are_those_of_every_other_protocol(application: str, where: str) -> None:
    secretly, clear = APPLICATIONS[application]
    with qr.local(**SESSIONS[where]) as mpc:
        assert secretly(mpc) == clear()


def test_every_protocol_is_among_them() -> None:
    """The list includes every application of the package."""
    with pytest.raises(qr.ConfigError) as caught:
        qr.local("none of them")
    known = re.search(r"this release has (.*?)( \(at|$)", str(caught.value))
    assert known is not None
    protocols = set(re.findall(r"\w+", known[1])) - {"and", "or"}
    assert protocols == {options["protocol"] for options in SESSIONS.values()}, str(caught.value)
    assert set(qr.apps.__all__) == set(APPLICATIONS)
