"""Private set intersection, against Python's sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import quorate as qr
from applications import SESSIONS, opened
from protocols import USUAL
from quorate._sorting._odd_even_merge import layers

MANY = 40


@pytest.fixture(scope="module", params=SESSIONS, ids=str)
def mpc(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param) as session:
        yield session


@pytest.fixture(scope="module", params=USUAL, ids=str)
def smallest(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    with opened(request.param) as session:
        yield session


def merged(x: np.ndarray, network: Any) -> np.ndarray:
    met, order = network
    for low, high in met:
        assert len({*low, *high}) == 2 * len(low), "an element meets two others in one layer"
        x[low], x[high] = np.minimum(x[low], x[high]), np.maximum(x[low], x[high])
    return x[order]


def count_of(m: int, n: int) -> int:
    """Counts the comparisons of Batcher's merge, by the recursion of Knuth's section 5.3.4."""
    if m * n <= 1:
        return m * n
    halves = count_of((m + 1) // 2, (n + 1) // 2) + count_of(m // 2, n // 2)
    return halves + (m + n - 1) // 2 if m % 2 or n % 2 else halves + (m + n) // 2 - 1


@pytest.mark.parametrize("m", range(18))
def test_the_network_merges_all_sorted_zeros_and_ones(m: int) -> None:
    for n in range(18):
        network = layers(m, n)
        assert sorted(network[1].tolist()) == list(range(m + n))
        assert sum(len(low) for low, _ in network[0]) == count_of(m, n)
        assert len(network[0]) <= 1 + max(m, n, 1).bit_length()
        for zeros_m in range(m + 1):
            for zeros_n in range(n + 1):
                bits = np.concatenate([np.arange(m) >= zeros_m, np.arange(n) >= zeros_n]).astype(int)
                assert (np.diff(merged(bits, network)) >= 0).all()


def test_merging_large_arrays_takes_n_log_n() -> None:
    network = layers(4096, 4096)
    assert sum(len(low) for low, _ in network[0]) == 12 * 4096 + 1
    assert len(network[0]) == 13
    rng = np.random.default_rng(1)
    a, b = np.sort(rng.integers(0, 10**6, 5000)), np.sort(rng.integers(0, 10**6, 777))
    x = np.concatenate([a, b])
    np.testing.assert_array_equal(merged(x.copy(), layers(5000, 777)), np.sort(x))


def test_random_sets_of_all_sizes(smallest: qr.Session) -> None:
    rng = np.random.default_rng(7)
    for case in range(MANY):
        bits = int(rng.choice([3, 5, 8, 31, 32, 62, 63]))
        sizes = rng.integers(0, min(40, 2**bits) + 1, 2)
        domain = min(int(rng.choice([40, 80, 2000])), 2**bits)
        base = int(rng.integers(0, 2**bits - domain + 1, dtype=np.uint64))
        a, b = (base + rng.choice(domain, min(n, domain), replace=False) for n in sizes)
        got = qr.apps.psi(smallest, a, b, bits=bits)
        assert got.tolist() == sorted({*a.tolist()} & {*b.tolist()}), (case, a, b)
        assert got.dtype == np.int64


def test_random_sizes_and_sums(smallest: qr.Session) -> None:
    rng = np.random.default_rng(8)
    for case in range(MANY // 2):
        a, b = (rng.choice(60, int(n), replace=False) for n in rng.integers(0, 41, 2))
        side = int(rng.integers(2))
        worth = rng.integers(-1000, 1000, len((a, b)[side]))
        common = {*a.tolist()} & {*b.tolist()}
        total = sum(w for x, w in zip((a, b)[side].tolist(), worth.tolist(), strict=True) if x in common)
        owners = (smallest.parties - 1, 1 % (smallest.parties - 1))
        wants: dict[str, Any] = {"bits": 6, "payload": worth, "payload_owner": owners[side], "owners": owners}
        assert qr.apps.psi(smallest, a, b, cardinality=True, **wants) == (len(common), total), case
        if case % 5 == 0:
            assert qr.apps.psi(smallest, a, b, bits=6, cardinality=True) == len(common)
            assert qr.apps.psi(smallest, a, b, **wants) == total


def test_sets_with_a_form(mpc: qr.Session) -> None:
    whole = np.arange(0, 60, 3)
    assert qr.apps.psi(mpc, whole, whole, bits=6).tolist() == whole.tolist()
    assert qr.apps.psi(mpc, whole, whole + 1, bits=6).tolist() == []
    assert qr.apps.psi(mpc, [5], [5], bits=3).tolist() == [5]
    assert qr.apps.psi(mpc, [5], [4], bits=3).tolist() == []
    assert qr.apps.psi(mpc, [0], [0, 1], bits=1).tolist() == [0]
    assert qr.apps.psi(mpc, [], [3, 4], bits=8).tolist() == []
    assert qr.apps.psi(mpc, [], [], bits=8).tolist() == []
    assert qr.apps.psi(mpc, [3], [], bits=8, cardinality=True) == 0
    assert qr.apps.psi(mpc, [3], [], bits=8, payload=[7], payload_owner=0) == 0
    assert qr.apps.psi(mpc, [7], range(64), bits=6).tolist() == [7]
    assert qr.apps.psi(mpc, lambda: [1, 2], lambda: np.array([2, 3]), bits=8, sizes=(2, 2)).tolist() == [2]
    top = [2**64 - 1, 2**63, 0, 2**63 - 1]
    got = qr.apps.psi(mpc, top, top[1:], bits=64)
    assert (got.dtype, got.tolist()) == (np.uint64, sorted(top[1:]))


def test_sums_of_reals_and_of_narrow_integers(mpc: qr.Session) -> None:
    got = qr.apps.psi(mpc, [4, 2, 9], [9, 4], bits=4, payload=[0.5, 2.25, -1.75], payload_owner=0, cardinality=True)
    assert got == (2, -1.25)
    assert qr.apps.psi(mpc, [4, 2], [2, 4], bits=4, payload=[100, 20], payload_dtype=qr.uint(7)) == 120


def test_padded_sets_and_duplicates(mpc: qr.Session) -> None:
    a, b = [9, 4, 4, 1], [4, 7, 9, 9, 9]
    assert qr.apps.psi(mpc, a, b, bits=4, duplicates="remove").tolist() == [4, 9]
    assert qr.apps.psi(mpc, [9, 4], [4, 7], bits=4, sizes=(5, 8), padded=True).tolist() == [4]
    assert qr.apps.psi(mpc, [], [4, 7], bits=4, sizes=(3, 2), padded=True, cardinality=True) == 0
    full = list(range(16))
    assert qr.apps.psi(mpc, full, full, bits=4, sizes=(40, 40), padded=True).tolist() == full
    got = qr.apps.psi(mpc, [3, 1], [5, 3], bits=3, sizes=(4, 4), padded=True, payload=[10, 20], cardinality=True)
    assert got == (1, 20)


def test_who_learns_what(mpc: qr.Session) -> None:
    for to in (0, [0, 1], "owners", None):
        assert qr.apps.psi(mpc, [1, 2], [2], bits=2, reveal_to=to).tolist() == [2]
    values, found = qr.apps.psi(mpc, [1, 2, 3, 6], [2, 4, 6, 7], bits=3, reveal_to="nobody")
    assert isinstance(values, qr.SecretArray)
    seen, bits = mpc.reveal_all(values, found)
    assert sorted(zip(seen.tolist(), bits.tolist(), strict=True)) == [(0, False), (0, False), (2, True), (6, True)]
    number = qr.apps.psi(mpc, [1, 2, 3, 6], [2, 4, 6, 7], bits=3, cardinality=True, reveal_to="nobody")
    assert (number > 1).reveal()


def test_positions_say_nothing(smallest: qr.Session) -> None:
    places = np.zeros(4, int)
    for _ in range(80):
        _, found = qr.apps.psi(smallest, [1, 2, 3, 4], [4, 5, 6, 7], bits=3, reveal_to="nobody")
        places += found.reveal()
    assert places.sum() == 80
    assert places.min() > 0 and places.max() < 52  # fails by chance less than once in 10^9 runs


def test_what_is_no_set(mpc: qr.Session) -> None:
    psi = qr.apps.psi
    refused: list[tuple[type[Exception], str, Any, Any, dict[str, Any]]] = [
        (qr.RangeError, r"element 5 is more than once in the set of party 0", [5, 1, 5], [1], {}),
        (qr.RangeError, r"element -3 is not from 0 to 2\^8 - 1", [1], [-3, 2], {}),
        (qr.RangeError, r"element 256 is not from 0", [256], [1], {}),
        (qr.DtypeError, "whole numbers", [0.5], [1], {}),
        (qr.DtypeError, "whole numbers", [True], [1], {}),
        (qr.ShapeError, "arrays of dimension 1", [[1, 2]], [1], {}),
        (qr.ShapeError, "but .5,. was stated", [1], [2], {"sizes": (5, 1)}),
        (qr.ShapeError, "3 elements, more than the 2", [1, 2, 3], [2], {"sizes": (2, 1), "padded": True}),
        (qr.ShapeError, "whole numbers from 0 on", [1], [2], {"sizes": (-1, 1)}),
        (qr.ConfigError, "sizes are those of both", [1], [2], {"sizes": 5}),
        (qr.ConfigError, "party 1 is here", [1], None, {"sizes": (1, 1)}),
        (qr.ConfigError, "1 to 64", [1], [2], {"bits": 65}),
        (qr.ConfigError, "1 to 64", [1], [2], {"bits": 64, "padded": True}),
        (qr.ConfigError, "duplicates are to", [1], [2], {"duplicates": "keep"}),
        (qr.ConfigError, "which of the duplicates", [1], [2], {"duplicates": "remove", "payload": [1]}),
        (qr.ConfigError, "has no set|owner 2 does not exist", [1], [2], {"payload": [1], "payload_owner": 2}),
        (qr.ShapeError, "payload of shape", [1], [2, 3], {"payload": [1]}),
        (qr.DtypeError, "payload is of numbers", [1], [2], {"payload": [1], "payload_dtype": qr.bit}),
        (qr.ConfigError, "owner 9 does not exist", [1], [2], {"owners": (0, 9)}),
        (qr.ConfigError, "two parties' numbers", [1], [2], {"owners": 3}),
        (qr.ConfigError, "reveal_to is", [1], [2], {"reveal_to": 17}),
        (qr.ConfigError, "reveal_to is", [1], [2], {"reveal_to": "everybody"}),
    ]
    for error, words, a, b, options in refused:
        with pytest.raises(error, match=words):
            psi(mpc, a, b, **{"bits": 8, **options})
    with pytest.raises(qr.DtypeError, match="secret array already"):
        psi(mpc, mpc.input([1], owner=0), [1])
    assert psi(mpc, [1], [1], bits=8).tolist() == [1]


def test_narrow_elements_cost_less(smallest: qr.Session) -> None:
    def cost(**options: Any) -> int:
        values, found = qr.apps.psi(smallest, np.arange(100), np.arange(100), reveal_to="nobody", **options)
        return sum(smallest.explain(values, found).online.bytes_sent)

    assert 2 * cost(bits=16) < cost(bits=32) * 1.2 < cost(bits=63) < cost(bits=64) / 1.3
    assert cost(bits=16) < cost(bits=16, padded=True) < 1.2 * cost(bits=16)
