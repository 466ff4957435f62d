"""Multiplication triples of two parties three ways: alike results, at what each way is predicted to cost."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment, error_of
from foretold import ran

RNG = np.random.default_rng(11)
WAYS = ("ot", "paillier", "dgk")
#: Bytes of a ciphertext, and of answers in one over 64 bits.
CIPHERTEXT = {"paillier": (768, 15), "dgk": (384, 1)}


def made(plan: qr.Plan) -> dict[str, int]:
    return {name: count for name, count in plan.correlations.items() if name.startswith("triple mod")}


@pytest.mark.parametrize("way", WAYS)
def test_products_are_right_at_the_foreseen_cost(way: str) -> None:
    x, y = RNG.integers(-(2**30), 2**30, (2, 13))
    small, reals = x % 4 - 2, x / 2**30
    with qr.local("aby", triples=way, sharings="A") as mpc:
        a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
        ((product, dot, inner), plan) = ran(mpc, a * b, a.dot(b), (a * b).sum())
        assert (product == x * y).all() and dot == inner == x @ y
        # The product is one node, whoever uses it.
        assert made(plan) == {"triple mod 2^64": 2 * 13}
        c = mpc.input(small, owner=1, dtype=qr.int(4), bound=2)
        ((square, fixed), plan) = ran(mpc, c * c, mpc.input(reals, owner=0) * mpc.input(reals, owner=1))
        assert (square == small * small).all() and np.allclose(fixed, reals**2, atol=2**-14)
        assert len(made(plan)) == 2


def test_ways_differ_in_the_offline_phase_of_triples_alone() -> None:
    x, y = RNG.integers(-1000, 1000, (2, 9))
    plans = {}
    for way in WAYS:
        with qr.local("aby", triples=way, sharings="A") as mpc:
            a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
            matrix = mpc.input(x.reshape(3, 3), owner=0) @ mpc.input(y.reshape(3, 3), owner=1)
            plans[way] = mpc.explain(a * b)
            (values, least), others = ran(mpc, matrix, mpc.where(a < b, a, b))
            assert (values == x.reshape(3, 3) @ y.reshape(3, 3)).all() and (least == np.minimum(x, y)).all()
            plans[way, "others"] = others
            assert not made(others)
    for way, (ciphertext, pack) in CIPHERTEXT.items():
        assert list(plans[way].online.bytes_sent) == list(plans["ot"].online.bytes_sent)
        assert plans[way].offline.rounds == plans["ot"].offline.rounds == 2
        # Five triples are under party 0's key and four under party 1's.
        sent = [2 * own + -(-theirs // pack) for own, theirs in ((5, 4), (4, 5))]
        assert list(plans[way].offline.bytes_sent) == [ciphertext * count for count in sent]
        assert plans[way, "others"].offline.bytes_sent == plans["ot", "others"].offline.bytes_sent
        # What takes long is foretold to.
        assert plans[way].offline.seconds > 10 * plans["ot"].offline.seconds


@pytest.mark.parametrize("way", WAYS[1:])
def test_triples_are_made_on_the_way_where_memory_is_short(way: str) -> None:
    x = RNG.integers(-1000, 1000, 11)
    with qr.local("aby", triples=way, max_memory="60MB") as mpc:
        a = mpc.input(x, owner=0)
        ((result,), plan) = ran(mpc, a * a)
        assert (result == x * x).all() and plan.memory_bytes > {"paillier": 14e6, "dgk": 1e6}[way]


def test_tables_of_powers_count_as_memory() -> None:
    with qr.local("aby", triples="paillier", max_memory="10MB") as mpc:
        triple = mpc.input([1, 2], owner=0) * 3
        with pytest.raises(qr.ConfigError, match="max_memory"):
            triple.reveal()


def test_a_session_with_ciphertexts_is_used_again_and_repeats_with_a_seed() -> None:
    x, y = RNG.integers(-1000, 1000, (2, 5))
    with qr.local("aby", triples="dgk", seed=3, shadow=True) as mpc:
        a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
        for power in (2, 3):
            a = a * b
            assert (a.reveal() == x * y ** (power - 1)).all()
        assert "DGK with 3072 bits" in mpc.stats().security and "DGK" in mpc.explain(a * b).security
    with qr.local("aby") as mpc:
        assert "DGK" not in mpc.explain(mpc.input(x, owner=0)).security


def test_the_planner_knows_what_ciphertexts_take() -> None:
    x, y = RNG.integers(-1000, 1000, (2, 200))
    with qr.local("aby", triples="paillier", offline_weight=1) as mpc:
        a, b = mpc.input(x, owner=0, bound=1000), mpc.input(y, owner=1, bound=1000)
        ((product,), plan) = ran(mpc, a * b)
        assert (product == x * y).all()
        assert not made(plan), "garbled multiplications are faster than Paillier's triples"


def test_what_is_no_way_is_refused() -> None:
    for given in ("rsa", None, True, "OT"):
        with pytest.raises(qr.ConfigError, match='triples must be "ot" or "paillier" or "dgk"'):
            qr.local("aby", triples=given)
    for way in WAYS[1:]:
        with pytest.raises(qr.ConfigError, match=f'triples="{way}" is for the protocol "aby"; "rss" has no use'):
            qr.local("rss", triples=way)
    with qr.local("rss", triples="ot") as mpc:
        assert mpc.input([2], owner=0).reveal() == [2]


def test_what_is_no_way_is_refused_before_anybody_is_met(tmp_path: Path) -> None:
    file = Deployment(tmp_path, parties=3).config(0)
    started = time.monotonic()
    with pytest.raises(qr.ConfigError, match='triples="dgk" is for the protocol "aby"'):
        qr.connect(file, triples="dgk")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("way", WAYS[1:])
def test_seconds_of_ciphertexts_are_foretold_within_a_factor_of_two(way: str) -> None:
    """Those in which the parties compute. Others take caches from some of the runs, not from all."""
    ratios = []
    with qr.local("aby", triples=way) as mpc:
        for _ in range(3):
            x, y = (mpc.input(np.arange(60), owner=owner) for owner in (0, 1))
            product = x * y
            plan, before = mpc.explain(product), mpc.stats()
            product.reveal()
            made = mpc.stats().offline.compute_seconds - before.offline.compute_seconds
            ratios.append(plan.offline.compute_seconds / made)
    assert max(ratios) >= 1 / 2 and min(ratios) <= 2, ratios


def test_parties_choose_alike(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, parties=2)
    script = deployment.script(
        "x = mpc.input([3, -4] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(64))\nprint((x * x).reveal())"
    )
    files = [deployment.config(me) for me in range(2)]
    for file in files:
        file.write_text(file.read_text().replace('"rss"', '"aby"'))
    try:
        for ways, right in ((("dgk", "dgk"), True), (("paillier", "ot"), False)):
            started = [deployment.start(me, script, "--triples", way, config=files[me]) for me, way in enumerate(ways)]
            ended = [party.end() for party in started]
            assert [e.status for e in ended] == ([0, 0] if right else [1, 1]), ended
            if right:
                assert all("[ 9 16]" in e.out for e in ended)
                continue
            assert "party 1 chose triples=ot, this party triples=paillier" in error_of(ended[0])
            assert "party 0 chose triples=paillier, this party triples=ot" in error_of(ended[1])
    finally:
        deployment.stop()
