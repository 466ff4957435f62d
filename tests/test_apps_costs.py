"""The costs that docstrings of applications state for each protocol are those of dry runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._families import FAMILIES
from quorate._session._array_methods import ArrayMethods
from test_rounds import COLUMNS, PINNED, are_alike


def nearest(mpc: qr.Session) -> qr.Plan:
    """512 records of 4 coordinates, one query."""
    records, query = np.ones((512, 4), np.int64), np.ones(4, np.int64)
    dtype, secret = qr.int(16), "nobody"
    index, distance = qr.apps.nearest(mpc, records, query, dtype=dtype, bound=10_000, reveal_to=secret)
    return mpc.explain(index, distance, to=1)


def psi(mpc: qr.Session) -> qr.Plan:
    """two sets of 4,096 elements of 32 bits."""
    shared = qr.apps.psi(mpc, np.arange(4096), np.arange(4096), bits=32, reveal_to="nobody")
    return mpc.explain(*shared, to=[0, 1])


def powers(mpc: qr.Session, modulus: Any) -> qr.Plan:
    """A secret base of 32 bits to the power of a secret exponent of 8 bits."""
    base = mpc.input([12345], owner=0, dtype=qr.uint(32))
    exponent = mpc.input([77], owner=1, dtype=qr.uint(8))
    return mpc.explain(qr.apps.powmod(mpc, base, exponent, modulus))


def by_secret(mpc: qr.Session) -> qr.Plan:
    return powers(mpc, mpc.input([99991], owner=0, dtype=qr.uint(32)))


def by_public(mpc: qr.Session) -> qr.Plan:
    return powers(mpc, 99991)


#: For each application the function, its dry run, and the beginning of the sentence.
STATED: dict[str, tuple[Any, Callable[[qr.Session], qr.Plan]]] = {
    "512 records of 4 coordinates up to 10,000, one query:": (qr.apps.nearest, nearest),
    "two sets of 4,096 elements of 32 bits:": (qr.apps.psi, psi),
    "modulo a secret number of 32 bits:": (qr.apps.powmod, by_secret),
    "modulo a public one of 17 bits:": (qr.apps.powmod, by_public),
}


def size(count: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.{0 if count >= 10 * unit else 1}f} {name}"
    return f"{count:.0f} B"


def figures(name: str) -> dict[str, str]:
    """Returns online rounds, and bytes of the busiest party, of each protocol."""
    found = {}
    for family in FAMILIES:
        with warnings.catch_warnings(), qr.local(family, **PINNED.get(family, {})) as mpc:
            warnings.simplefilter("ignore", qr.RangeWarning)
            plan = STATED[name][1](mpc)
        found[family] = f"{family} {plan.online.rounds} rounds, {size(max(plan.online.bytes_sent))}"
    return found


@pytest.mark.parametrize("name", STATED)
def test_docstrings_say_what_every_protocol_takes(name: str) -> None:
    text = " ".join((inspect.getdoc(STATED[name][0]) or "").split())
    found = figures(name)
    _, begins, rest = text.partition(f"{name} ")
    assert begins, name
    for said, (family, is_so) in zip(rest.split("; ")[: len(found)], found.items(), strict=True):
        decides = "sharings" in COLUMNS[family]
        said = said[: len(is_so)]
        assert said == is_so or (decides and are_alike(said, is_so)), f"{name} {'; '.join(found.values())}"


def test_an_and_of_a_circuit_takes_as_many_bits_as_is_said() -> None:
    text = " ".join((inspect.getdoc(ArrayMethods.run_circuit) or "").split())
    both = qr.Circuit.from_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
    for family, bits in {"rss": 1, "aby": 2, "spdz2k": 2, "pika": 2}.items():
        with qr.local(family, **PINNED.get(family, {})) as mpc:
            x, y = (mpc.input(np.ones((80_000, 1), bool), owner=owner) for owner in (0, 1))
            made = mpc.run_circuit(both, x, y)
            plan = mpc.explain(~made)  # a reveal belongs to the line of its operand
        sent = max(plan.lines[1].bytes_sent)  # inputs, the circuit, the reveal
        assert round(sent / 10_000, 1) == bits, family
        assert f"{family} {bits} bit" in text


if __name__ == "__main__":
    for sentence in STATED:
        print(figures(sentence))
