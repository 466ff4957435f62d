"""The malicious form of `pika`: the values of its options, and deployments of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment, Ended, error_of

X = np.array([0.5, 1.25, 2.5, 3.75, 0.125, 1, 2, 0.75])
Y = np.array([1.5, 2.25, 0.5, 3, 1, 2.5, 1.25, 0.75])

REALS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "quotient": (lambda x, y: x / y, lambda x, y: x / y),
    "reciprocal": (lambda x, y: 1 / y, lambda x, y: 1 / y),
    "root": (lambda x, y: qr.sqrt(x), lambda x, y: np.sqrt(x)),
    "inverse root": (lambda x, y: qr.rsqrt(y), lambda x, y: y**-0.5),
    "logarithm": (lambda x, y: qr.log(x), lambda x, y: np.log(x)),
    "power": (lambda x, y: qr.exp(-x), lambda x, y: np.exp(-x)),
    "logistic": (lambda x, y: qr.sigmoid(x - y), lambda x, y: 1 / (1 + np.exp(y - x))),
    "deviation": (lambda x, y: x.std(), lambda x, y: x.std()),
    "average": (lambda x, y: np.average(x, weights=y), lambda x, y: np.average(x, weights=y)),
    "softmax": (lambda x, y: qr.softmax(x), lambda x, y: np.exp(x) / np.exp(x).sum()),
}


@pytest.fixture(scope="module")
def short() -> Any:
    with qr.local("pika", malicious=True, mac=48) as mpc:
        yield mpc


@pytest.mark.filterwarnings("ignore::quorate.RangeWarning")
@pytest.mark.parametrize("name", REALS)
def test_short_keys_compute_in_wider_rings_on_the_way(short: qr.Session, name: str) -> None:
    """This holds for any bounds on operands: without bounds gadgets take up to 126 bits."""
    secret, clear = REALS[name]
    for bound in (None, 8):
        x, y = (short.input(v, owner=i, dtype=qr.fixed(32, 12), bound=bound) for i, v in enumerate((X, Y)))
        np.testing.assert_allclose(secret(x, y).reveal(), clear(X, Y), atol=4 * 2.0**-12)


def test_short_keys_refuse_wider_dtypes_where_the_line_is_built(short: qr.Session) -> None:
    x = short.input([3, -5, 7, 1], owner=0)
    assert x.dtype == qr.int(32)
    before = short.stats().online.rounds
    for wide in (
        lambda: short.input([1], owner=0, dtype=qr.int(64)),
        lambda: short.input([1.5], owner=0, dtype=qr.fixed(48, 16)),
        lambda: x.astype(qr.int(64)),
        lambda: x.mean(),
        lambda: x.var(),
        lambda: np.median(x),
        lambda: x / 2,
        lambda: qr.lookup(x.clip(0, 9), lambda v: v * 10**12, dtype=qr.int(64)),
    ):
        with pytest.raises(qr.DtypeError, match=r"too wide .* at most 32 bits .* or mac=64 .*test_pika\.py:\d+"):
            wide()
    assert short.stats().online.rounds == before
    # As the message and docs/protocols/pika.md state.
    assert x.astype(qr.fixed(32, 12)).mean().reveal() == pytest.approx(1.5, abs=2**-11)
    with qr.local("pika", malicious=True, mac=64) as mpc:
        assert mpc.input([3, -5, 7, 1], owner=0).mean().reveal() == pytest.approx(1.5, abs=2**-15)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def ended(deployment: Deployment, body: str, *options: list[str]) -> list[Ended]:
    """Returns how three parties end, each with options of its own."""
    script, parties = deployment.script(body), []
    for me, own in enumerate(options):
        text = deployment.config(me).read_text(encoding="utf-8")
        config = deployment.config(me, text.replace('"rss"', '"pika"'))
        parties.append(deployment.start(me, script, *own, config=config))
    return [party.end() for party in parties]


def test_parties_deployed_with_and_without_malice_meet_only_their_like(deployment: Deployment) -> None:
    body = """
x = mpc.input([0.5, -1.5] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.fixed(32, 8), bound=4)
y = mpc.input([1, 0] if mpc.me == 2 else None, owner=2, shape=2, dtype=qr.int(32), bound=3)
print(mpc.reveal_all(qr.sigmoid(x) * 256, y * y + 1), (y * 2).reveal(to=2), mpc.stats().security[:10])
"""
    malicious = ["--malicious", "--session", "one"]
    for me, party in enumerate(ended(deployment, body, malicious, malicious, malicious)):
        assert party.status == 0, party
        shown = "[2 0]" if me == 2 else "None"
        assert party.out.strip() == f"[array([159.,  47.]), array([2, 1])] {shown} malicious,"
    for party in ended(deployment, body, malicious, malicious, ["--session", "one"]):
        assert party.status == 1 and "ProgramMismatch" in error_of(party) and "malicious=" in error_of(party), party


def test_a_dealer_that_is_lost_ends_a_deployed_run(deployment: Deployment) -> None:
    body = """
x = mpc.input([1, 2] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(32), bound=9)
print((x * x).reveal(), flush=True)
if mpc.me == 2:
    import os
    os._exit(1)
(x < 2).reveal()
"""
    for party in ended(deployment, body, *[["--malicious"]] * 3)[:2]:
        assert party.status == 3 and "[1 4]" in party.out and "PeerLost: party 2 is gone" in error_of(party), party


def test_what_waits_for_the_check_counts() -> None:
    """Each product takes 48 bytes beside the 96 of its triple, as with `spdz2k`, which opens the same values."""
    with qr.local("pika", malicious=True) as mpc:
        x, y = (mpc.input(np.ones(200_000, dtype=int), owner=i, dtype=qr.int(32), bound=1) for i in (0, 1))
        taken = []
        for factors in (8, 16):
            product = x
            for _ in range(factors):
                product = product * y
            taken.append(mpc.explain(product.sum()).memory_bytes)
        assert taken[1] - taken[0] >= 8 * 200_000 * (96 + 48)
