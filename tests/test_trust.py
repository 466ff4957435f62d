"""Checks on numbers: options that parties share, bounds, rounding, shadows, seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as npst
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quorate as qr
from deploying import Deployment
from protocols import Place, among, places, stated
from quorate.plan import Truncations


def here() -> int:
    return sys._getframe(1).f_lineno


def test_parties_that_choose_differently_are_told_what_differs(tmp_path: Path) -> None:
    made = Deployment(tmp_path)
    script = made.script("print(mpc.input([1] if mpc.me == 0 else None, owner=0, shape=1, dtype=qr.int(8)).reveal())")
    made.config(0)
    files = [made.config(me) for me in range(3)]
    for me, network in enumerate(("wan", "wan", "lan")):
        files[me].write_text(f'network = "{network}"\n' + files[me].read_text())
    try:
        started = [made.start(me, script, "--session", "one", config=files[me]) for me in range(3)]
        ended = [party.end() for party in started]
    finally:
        made.stop()
    assert [e.status for e in ended] == [1, 1, 1], ended
    assert "party 2 chose network=0.106 ms 1000 Mbit/s, this party network=46 ms 76 Mbit/s" in ended[0].err
    assert "Give the same options at every party" in ended[0].err
    assert "party 0 chose network=46 ms" in ended[2].err


@pytest.mark.parametrize("network", ["dsl", "1"])
def test_a_network_that_no_name_says_is_refused(tmp_path: Path, network: str) -> None:
    made = Deployment(tmp_path)
    file = made.config(0)
    file.write_text(f'network = "{network}"\n' + file.read_text())
    ended = made.start(0, made.script("pass"), config=file).end()
    assert ended.status == 2
    assert f'network "{network}" is not known' in ended.err


# ---- truncation by choice -------------------------------------------------------------------------------------------


def units(value: np.ndarray, frac: int) -> np.ndarray:
    return np.rint(np.asarray(value) * 2.0**frac).astype(np.int64)


@pytest.fixture(scope="module", params=places(), ids=str)
def rounding(request: pytest.FixtureRequest) -> Iterator[qr.Session]:
    """Yields sessions that round products either way."""
    with among(request.param, trunc="probabilistic") as mpc:
        yield mpc


@given(st.data(), st.sampled_from([(64, 16), (40, 12), (16, 4), (20, 18)]))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_products_are_at_most_a_unit_off(rounding: qr.Session, data: st.DataObject, kind: tuple[int, int]) -> None:
    bits, frac = kind
    largest = int(2.0 ** ((bits - 2) / 2))  # so that products are just within the domain
    shape = (3, 4)
    a = data.draw(npst.arrays(np.int64, shape, elements=st.integers(-largest, largest)))
    b = data.draw(npst.arrays(np.int64, shape, elements=st.integers(-largest, largest)))
    dtype = qr.fixed(bits, frac)
    x, y = (rounding.input(v / 2.0**frac, owner=i, dtype=dtype) for i, v in enumerate((a, b)))
    product = units((x * y).reveal(), frac)
    whole = a.astype(object) * b.astype(object)
    assert ((product == whole >> frac) | (product == -(-whole >> frac))).all()


def test_rounding_is_unbiased_and_whole_results_stay_whole(rounding: qr.Session) -> None:
    x = rounding.input(np.full(4000, 0.25), owner=0, dtype=qr.fixed(32, 8), bound=1)
    small = rounding.input(np.full(4000, 0.01171875), owner=1, dtype=qr.fixed(32, 8), bound=1)
    up = units((x * small).reveal(), 8)  # 3/4 of a unit
    assert set(up) == {0, 1}
    assert 0.70 < up.mean() < 0.80
    assert (units((x * 4.0).reveal(), 8) == 256).all()
    assert 0.70 < units((x * 0.01171875).reveal(), 8).mean() < 0.80  # multiples of inputs, too


def test_matrix_products_and_conversions_round_once(rounding: qr.Session) -> None:
    a, b = np.linspace(-3, 3, 12).reshape(3, 4), np.linspace(-5, 4, 8).reshape(4, 2)
    dtype = qr.fixed(48, 16)
    x, y = (rounding.input(v, owner=i, dtype=dtype, bound=8) for i, v in enumerate((a, b)))
    exact = units(a, 16) @ units(b, 16)
    got = units((x @ y).reveal(), 16)
    assert ((got == exact >> 16) | (got == -(-exact >> 16))).all()
    narrow = units(x.astype(qr.fixed(48, 8)).reveal(), 8)
    assert ((narrow == units(a, 16) >> 8) | (narrow == -(-units(a, 16) >> 8))).all()
    assert (x.astype(qr.int(48)).reveal() == np.floor(units(a, 16) / 65536)).all()  # integers are exact
    assert ((x >> 3).reveal() == (units(a, 16) >> 3) / 65536).all()


def test_the_plan_says_what_is_rounded_how_and_what_it_risks() -> None:
    with stated(trunc="probabilistic") as mpc:
        proven = mpc.input([1.5, 2.0], owner=0, dtype=qr.fixed(32, 8), bound=100)
        plan = mpc.explain(proven * proven)
        assert plan.truncations == Truncations(0, 2, 0, 0.0)
        assert "2 down or up, at most a unit off; the program fails with probability 0\n" in str(plan)
        edge = mpc.input([1.5], owner=0, dtype=qr.fixed(32, 8), bound=150)  # 150^2 2^16 > 2^30
        assert mpc.explain(edge * edge).truncations == Truncations(1, 0, 0, 0.0)
        unknown = mpc.input([1.5], owner=0, dtype=qr.fixed(32, 8))
        plan = mpc.explain(unknown * unknown, unknown.astype(qr.fixed(32, 4)))
        assert plan.truncations == Truncations(1, 1, 1, 0.0)
        assert "if what is without stated bounds (1 product) stays below a quarter of its ring" in str(plan)
        whole = mpc.input([3], owner=0)
        plan = mpc.explain(whole * whole)
        assert "rounds fixed point" not in str(plan)
    with stated() as mpc:
        x = mpc.input([1.5], owner=0)
        plan = mpc.explain(x * x)
        assert plan.truncations == Truncations(1, 0, 0, 0.0)
        assert "rounds fixed point: 1 down, exactly" in str(plan)


@pytest.mark.parametrize("place", places(5), ids=str)
def test_rounding_either_way_costs_less_and_what_was_planned(place: Place) -> None:
    costs = {}
    for trunc in ("exact", "probabilistic"):
        with among(place, trunc=trunc) as mpc:
            x, y = (mpc.input(np.ones(1000), owner=i, bound=100) for i in range(2))
            product = x * y
            plan = mpc.explain(product)
            product.reveal()
            stats = mpc.stats()
        for phase in ("offline", "online"):
            planned, measured = getattr(plan, phase), getattr(stats, phase)
            assert (planned.rounds, planned.bytes_sent) == (measured.rounds, measured.bytes_sent)
        costs[trunc] = stats
    exact, either = costs["exact"], costs["probabilistic"]
    assert either.online.rounds < exact.online.rounds
    assert sum(either.online.bytes_sent) < sum(exact.online.bytes_sent)
    assert sum(either.offline.bytes_sent) <= sum(exact.offline.bytes_sent)


# ---- numpy beside the protocol --------------------------------------------------------------------------------------


def test_a_shadow_that_agrees_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(4, 3)) * 50, rng.integers(-1000, 1000, 12).reshape(4, 3)
    for trunc in ("exact", "probabilistic"):
        with stated(shadow=True, trunc=trunc) as mpc:
            x, y = mpc.input(a, owner=0), mpc.input(b, owner=1)
            z = mpc.where(x < 0, x * x, qr.sigmoid(x)) @ a.T
            assert np.abs(z.reveal() - np.where(a < 0, a * a, 1 / (1 + np.exp(-a))) @ a.T).max() < 0.1
            assert (y.sort(axis=0).cumsum(axis=0).reveal() == np.cumsum(np.sort(b, axis=0), axis=0)).all()
            assert (y // 7).reveal().tolist() == (b // 7).tolist()
            assert (y.argmax(axis=1) == 2).reveal().tolist() == (b.argmax(axis=1) == 2).tolist()
            assert ((y ^ 5).bits()[..., 0]).reveal().tolist() == ((b ^ 5) & 1 == 1).tolist()
            assert mpc.reveal_all((x / 3.0).max(), y.astype(qr.fixed(64, 16)).mean(), to=1)[1] is not None
            assert mpc.stats().insecure == ("shadow: intermediate values were opened in this process",)
            assert "INSECURE, shadow" in str(mpc.stats())


def test_a_shuffle_keeps_its_rows_under_a_shadow() -> None:
    with stated(shadow=True) as mpc:
        x, y = mpc.input(np.arange(8).reshape(4, 2), owner=0), mpc.input(np.arange(4) % 2 == 0, owner=1)
        rows, flags = mpc.reveal_all(*mpc.shuffle(x, y))
        assert sorted(rows[:, 0].tolist()) == [0, 2, 4, 6]
        assert (flags == (rows[:, 0] % 4 == 0)).all()


def test_a_product_that_left_its_dtype_is_found_where_it_happened() -> None:
    with stated(shadow=True) as mpc:
        x = mpc.input([1.0, 3e7], owner=0)
        square, line = x * x, here()
        later = (square + 1).sum()
        with pytest.raises(qr.ShadowError, match="before its fractional bits are dropped, it does not") as caught:
            later.reveal()
        error = caught.value
        assert error.line == (__file__.rsplit("/", 1)[-1], line)
        assert (error.index, error.numpy) == ((1,), "900000000000000")
        assert error.protocol in str(error)
        assert f"test_trust.py:{line}" in str(error)
        assert x.reveal().tolist() == [1.0, 3e7]  # the session goes on


def test_probabilistic_rounding_beyond_a_quarter_of_the_ring_is_no_defect() -> None:
    values = [2.0**15.4] * 60  # products between a quarter of the ring and its half: wrong with half the masks
    for parties in (3, 5):
        with stated("rss", parties=parties, shadow=True, trunc="probabilistic") as mpc:
            product = mpc.input(values, owner=0) * mpc.input(values, owner=1)
            with pytest.raises(qr.ShadowError, match='quarter of its ring, where trunc="probabilistic" is wrong'):
                product.reveal()
            assert mpc.input([2.0**46.5], owner=0).astype(qr.fixed(64, 8)).reveal() == 2.0**46.5 // 2**-8 / 2**8


def test_integers_that_wrap_differ_from_exact_ones() -> None:
    with stated(shadow=True) as mpc:
        x = mpc.input([1 << 62, 3], owner=0)
        for wrong, index in ((x + x, (0,)), (x * 5, (0,)), (x.cumsum() + x, (0,)), (x << 2, (0,))):
            with pytest.raises(qr.ShadowError, match=r"does not fit int.64") as caught:
                wrong.reveal()
            assert caught.value.index == index
        byte = mpc.input([200], owner=0, dtype=qr.uint(8))
        with pytest.raises(qr.ShadowError, match="numpy 400"):
            (byte + byte).reveal()
        assert byte.astype(qr.int(8)).reveal() == [-56]  # wraps in numpy, too


def test_stated_saturation_is_told_not_refused() -> None:
    with stated(shadow=True) as mpc:
        x = mpc.input([-1.0, 1.0, 1e9], owner=0)
        with pytest.warns(qr.RangeWarning, match="1 of its arguments are outside its domain"):
            assert qr.log(x).reveal()[1] == pytest.approx(0, abs=1e-4)
        with pytest.warns(qr.RangeWarning, match="1 of its results do not fit"):
            qr.exp(x).reveal()
        with pytest.warns(qr.RangeWarning, match="1 of its divisors are 0"):
            (x / mpc.input([1.0, 0.0, 2.0], owner=1)).reveal()


def test_a_wrong_protocol_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with stated(shadow=True) as mpc:
        x = mpc.input([3, 5], owner=0)
        y = x - 1
        run = mpc._shadow._session._native  # type: ignore[union-attr]

        class Off:
            def __getattr__(self, name: str) -> Any:
                return getattr(run, name)

            def run(self, *request: Any) -> Any:
                values = run.run(*request)
                kind, data = values[-1]
                return [*values[:-1], (kind, np.add(np.frombuffer(data, "<i8"), [0, 1]).tobytes())]

        monkeypatch.setattr(mpc, "_native", Off())
        with pytest.raises(qr.ShadowError, match="the protocol has 5, numpy 4; report this as a defect"):
            y.reveal()


@pytest.mark.parametrize(("name", "value"), [("shadow", True), ("seed", 3)])
def test_what_is_for_local_sessions_only(name: str, value: Any) -> None:
    with pytest.raises(qr.ConfigError, match=f"{name}=.*local sessions only.*secret|value of the program"):
        qr.connect("party.toml", **{name: value})


# ---- seeds ----------------------------------------------------------------------------------------------------------


def test_one_seed_gives_one_run_and_says_so() -> None:
    results = []
    for seed in (11, 11, 12, None):
        with stated(seed=seed, trunc="probabilistic") as mpc:
            x = mpc.input(np.linspace(0, 1, 500), owner=0, bound=1)
            results.append((x * x).reveal().tolist())
            insecure = mpc.stats().insecure
        assert insecure == (() if seed is None else ("seed: every share and mask grows from a seed that was given",))
    assert results[0] == results[1]
    assert results[0] != results[2]
    assert results[3] not in results[:3]


# ---- strict ---------------------------------------------------------------------------------------------------------


def test_strict_programs_name_the_line_and_clip_helps() -> None:
    with stated(strict=True) as mpc:
        x = mpc.input([3.0, 4.0], owner=0, bound=1000)
        y = mpc.input([1.5, 8.0], owner=1, bound=1000)
        ratio, line = x / y, here() + 2
        with pytest.raises(qr.RangeError, match=rf"mul may leave fixed\(64, 16\).*test_trust.py:{line}"):
            ratio * ratio
        assert (ratio.clip(-100, 100) * 10).reveal().tolist() == pytest.approx([20, 5], abs=1e-3)
        assert (qr.exp(y.clip(-3, 3)) * 100).shape == (2,)


def test_strict_deployments_refuse_before_anything_is_sent(tmp_path: Path) -> None:
    made = Deployment(tmp_path)
    script = made.script(
        "x = mpc.input([1] if mpc.me == 0 else None, owner=0, shape=1, dtype=qr.int(8), bound=100)\n"
        "print((x + x).reveal())"
    )
    try:
        loose, strict = made.run(script), made.run(script, "--strict")
    finally:
        made.stop()
    assert [e.status for e in loose] == [0, 0, 0], loose
    assert [e.status for e in strict] == [1, 1, 1], strict
    assert all("script.py:5: RangeError: add may leave int(8)" in e.err for e in strict), strict


def test_bounds_make_every_comparison_cheaper() -> None:
    with stated() as mpc:
        free = mpc.input(np.arange(64), owner=0)
        small = mpc.input(np.arange(64), owner=0, bound=100)
        operations = (
            lambda x: x < x[::-1],
            lambda x: x == x[::-1],
            lambda x: x.max(),
            lambda x: x.sort(),
            lambda x: x.argmin(),
        )
        for operation in operations:
            dear, cheap = mpc.explain(operation(free)), mpc.explain(operation(small))
            assert sum(cheap.online.bytes_sent) < sum(dear.online.bytes_sent)
            assert cheap.online.rounds < dear.online.rounds


# ---- forms ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parties", [3, 5, 7])
@pytest.mark.parametrize("forms", ["edabits", "randbits"])
def test_every_form_is_right_at_the_ends_of_the_range(parties: int, forms: str) -> None:
    with stated("rss", parties=parties, forms=forms) as mpc:
        for k in (3, 33, 60, 64):
            low, high = -(1 << (k - 1)), (1 << (k - 1)) - 1
            a = np.repeat(np.array([low, low + 1, -1, 0, 1, high - 1, high]), 7)
            b = np.tile(np.array([low, low + 1, -1, 0, 1, high - 1, high]), 7)
            x, y = (mpc.input(v, owner=i, dtype=qr.int(k)) for i, v in enumerate((a, b)))
            wide = x.astype(qr.int(64))
            less, same, negative, widened = mpc.reveal_all(x < y, x == y, x < 0, wide)
            assert (less == (a < b)).all()
            assert (same == (a == b)).all()
            assert (negative == (a < 0)).all()
            assert (widened == a).all()


@pytest.mark.parametrize("network", ["lan", "wan"])
@pytest.mark.parametrize("parties", [3, 5, 7])
def test_the_form_that_is_predicted_to_be_faster_is_taken(parties: int, network: str) -> None:
    for batch in (1, 10, 100, 1000, 10_000)[:: 1 if parties < 7 else 2]:
        seconds = {}
        for forms in ("auto", "edabits", "randbits"):
            with stated("rss", parties=parties, network=network, forms=forms) as mpc:
                x = mpc.input(lambda n=batch: np.zeros(n, int), owner=0, shape=batch, dtype=qr.int(64))
                plan = mpc.explain(x < 0, network=network)
                seconds[forms] = plan.offline.network_seconds + plan.online.network_seconds
        assert seconds["auto"] <= 1.0001 * min(seconds["edabits"], seconds["randbits"]), (batch, seconds)


def test_the_form_that_is_taken_waits_less_and_costs_what_was_planned() -> None:
    """Rounds are the time of a run on such a network: 0.26 s against 0.58 s. No clock is read."""
    rounds = {}
    for forms in ("auto", "edabits"):
        with stated("rss", parties=5, network="wan", forms=forms) as mpc:
            x = mpc.input(np.arange(-5, 5), owner=0)
            negative = x < 0
            plan = mpc.explain(negative)
            assert negative.reveal().sum() == 5
            stats = mpc.stats()
            for phase in ("offline", "online"):
                planned, measured = getattr(plan, phase), getattr(stats, phase)
                assert (planned.rounds, planned.bytes_sent) == (measured.rounds, measured.bytes_sent)
            rounds[forms] = stats.offline.rounds + stats.online.rounds
    assert 2 * rounds["auto"] < rounds["edabits"]


# ---- faults seen elsewhere ------------------------------------------------------------------------------------------


def test_products_that_overflow_are_warned_of() -> None:
    with stated() as mpc:
        x = mpc.input([40_000.0], owner=0, bound=50_000)
        with pytest.warns(qr.RangeWarning, match=r"mul may leave fixed\(64, 16\)"):
            x * x
        with pytest.warns(qr.RangeWarning, match="matmul may leave"):
            x @ x
        assert mpc.explain(x.clip(-100, 100) * x).online.rounds > 0  # without a warning, which would be an error here
