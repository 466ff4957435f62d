"""`spdz2k` with correlations that its parties make, as users run it; other tests have them from a dealer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate as qr

RNG = np.random.default_rng(11)
X, Y = RNG.integers(-100, 100, (2, 6))


@pytest.fixture(autouse=True)
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORATE_INSECURE_DEALER", raising=False)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "arithmetic": (lambda x, y: x * y + 3 * x - y, lambda x, y: x * y + 3 * x - y),
    "choice": (lambda x, y: (x < y) * (x - y) + y, np.minimum),
    "equality": (lambda x, y: (x == y).sum() + (x == x).sum(), lambda x, y: (x == y).sum() + 6),
    "order": (lambda x, y: x.sort(), lambda x, y: np.sort(x)),
    "matrix": (lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2), lambda x, y: x.reshape(2, 3) @ y.reshape(3, 2)),
    "quotient": (lambda x, y: x // 7, lambda x, y: x // 7),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right_and_cost_what_is_planned(name: str) -> None:
    program, clear = PROGRAMS[name]
    with qr.local("spdz2k", parties=2) as mpc:
        assert mpc.stats().security.startswith("malicious")
        x, y = mpc.input(X, owner=0), mpc.input(Y, owner=1)
        result = program(x, y)
        plan = mpc.explain(result)
        np.testing.assert_array_equal(result.reveal(), clear(X, Y))
        stats = mpc.stats()
    for planned, measured in ((plan.offline, stats.offline), (plan.online, stats.online)):
        assert (measured.rounds, measured.bytes_sent) == (planned.rounds, planned.bytes_sent)
    assert stats.offline.correlations == plan.correlations


@pytest.mark.parametrize("parties", [3, 4])
def test_more_parties(parties: int) -> None:
    with qr.local("spdz2k", parties=parties) as mpc:
        x = mpc.input(np.array([3, -5]), owner=0, dtype=qr.int(8))
        y = mpc.input(np.array([2, 9]), owner=parties - 1, dtype=qr.int(8))
        assert (x * y).reveal(to=parties - 1).tolist() == [6, -45]
        if parties == 3:
            assert (x < y).reveal().tolist() == [False, True]


def test_fixed_point_and_shuffles() -> None:
    with qr.local("spdz2k", parties=2) as mpc:
        x = mpc.input([1.5, -2.25, 8.0], owner=0, dtype=qr.fixed(32, 12))
        y = mpc.input([2.0, 3.0, 0.5], owner=1, dtype=qr.fixed(32, 12))
        np.testing.assert_allclose((x * y).reveal(), [3.0, -6.75, 4.0], atol=2**-11)
        assert sorted(mpc.shuffle(x).reveal().tolist()) == [-2.25, 1.5, 8.0]


@pytest.mark.parametrize(("mac", "weak", "bits"), [(64, False, 57), (48, False, 42), ("32", True, 26)])
def test_keys_of_every_length(mac: Any, weak: bool, bits: int) -> None:
    with qr.local("spdz2k", parties=2, mac=mac, allow_weak=weak) as mpc:
        assert f"{bits}-bit statistical" in mpc.stats().security
        x, y = (mpc.input(values, owner=i, dtype=qr.int(16)) for i, values in enumerate((X, Y)))
        np.testing.assert_array_equal((x * y).reveal(), X * Y)
        np.testing.assert_array_equal((x < y).reveal(), X < Y)


def test_short_keys_are_for_narrow_values_and_weak_ones_are_asked_for() -> None:
    with pytest.raises(qr.ConfigError, match=r"mac=32 gives 26 bits .* allow_weak"):
        qr.local("spdz2k", parties=2, mac=32)
    with qr.local("spdz2k", parties=2, mac=48) as mpc:
        x = mpc.input(X, owner=0, dtype=qr.int(64))
        with pytest.raises(qr.ConfigError, match="at most 32 bits"):
            (x * x).reveal()
        assert mpc.stats().online.bytes_sent == mpc.stats().offline.bytes_sent == (0, 0)
        y = mpc.input(X, owner=0, dtype=qr.int(32))
        np.testing.assert_array_equal((y * y).reveal(), X * X)


@pytest.mark.parametrize(("triples", "what"), [("t3", "t3"), ("bucket", "published"), ("twokeys", "twokeys")])
def test_triples_of_every_form(triples: str, what: str) -> None:
    with qr.local("spdz2k", parties=2, mac=48, triples=triples) as mpc:
        assert what in mpc.stats().security and "42-bit statistical" in mpc.stats().security
        x, y = (mpc.input(values, owner=i, dtype=qr.int(16)) for i, values in enumerate((X, Y)))
        np.testing.assert_array_equal((x * y).reveal(), X * Y)


@pytest.mark.parametrize("bits", ["elements", "paper"])
def test_other_forms_of_bits(bits: str) -> None:
    with qr.local("spdz2k", parties=2, bits=bits) as mpc:
        x, y = (mpc.input(values, owner=i, dtype=qr.int(8)) for i, values in enumerate((X, Y)))
        less, same = x < y, x == y
        np.testing.assert_array_equal(less.reveal(), X < Y)
        np.testing.assert_array_equal(same.reveal(), X == Y)
        if bits == "paper":
            np.testing.assert_array_equal((x // 4).reveal(), X // 4)
