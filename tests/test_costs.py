"""Predicted seconds against measured ones; pictures and tables of costs; a measured network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import quorate as qr
from protocols import USUAL, Place, among
from warm import quorate

ROOT = Path(__file__).resolve().parent.parent
RNG = np.random.default_rng(11)
TWO = Place("aby", 2)


def two(mpc: qr.Session, count: int) -> tuple[qr.SecretArray, qr.SecretArray]:
    x, y = (mpc.input(RNG.integers(-(10**6), 10**6, count), owner=p) for p in (0, 1))
    return x, y


@pytest.mark.parametrize(
    "name",
    ["matrices", "less-than", "less-than of five parties", "argmax of two", "equality with MACs", "far network"],
)
def test_seconds_are_predicted_in_their_order_of_magnitude(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prediction is wrong if it is off by a factor of ten, however busy the machine is.

    The benchmark measures how near predictions are.
    """
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    import predictions

    ratios = [predicted / took for predicted, took in predictions.measured(predictions.WORKLOADS[name], 2)]
    assert max(ratios) >= 1 / 10, ratios
    assert min(ratios) <= 10, ratios


def test_statistics_have_predicted_beside_measured() -> None:
    with qr.local() as mpc:
        x, y = two(mpc, 100)
        z = x < y
        plan = mpc.explain(z)
        z.reveal()
        stats = mpc.stats()
    assert stats.predicted is not None
    for name in ("offline", "online"):
        measured, predicted, planned = (getattr(of, name) for of in (stats, stats.predicted, plan))
        assert measured.rounds == predicted.rounds == planned.rounds
        assert tuple(measured.bytes_sent) == predicted.bytes_sent == planned.bytes_sent
    assert [line.line for line in plan.lines] == list(stats.by_line)
    for planned, line in zip(plan.lines, stats.by_line.values(), strict=True):
        assert (line.rounds, line.bytes_sent) == (line.predicted.rounds, line.predicted.bytes_sent)
        assert (planned.rounds, planned.bytes_sent, planned.text) == (line.rounds, line.bytes_sent, line.text)
        assert line.seconds >= line.busy_seconds * 0.5 >= 0
    text = str(stats)
    assert "z = x < y" in text
    assert "predicted" in text
    assert "z = x &lt; y" in stats._repr_html_()


def test_lines_say_what_they_draw_and_hold() -> None:
    with qr.local(parties=5) as mpc:
        x, y = two(mpc, 1000)
        plan = mpc.explain(x < y)
    drawn = [line for line in plan.lines if line.correlations]
    assert len(drawn) == 1
    assert drawn[0].correlations == plan.correlations
    assert drawn[0].text == "plan = mpc.explain(x < y)"
    # Two inputs of 6 shares of 8 bytes, and the comparison's correlations.
    assert plan.memory_bytes >= 2 * 6 * 8 * 1000
    assert plan.memory_bytes >= drawn[0].memory_bytes
    makes = [line for line in str(plan).splitlines() if line.startswith("makes ")]
    assert len(makes) == 1
    assert f"of {len(plan.correlations)} kind" in makes[0]
    made = sum(plan.correlations.values())
    assert f"{made:,} correlation" in makes[0]
    assert f"  {made:,}  " in str(plan).split("online, by line")[1]
    table = plan.correlation_table()
    assert all(table.count(f"{kind} ") >= 2 for kind in plan.correlations)
    assert table.count("all lines") == len(plan.correlations)


@pytest.mark.parametrize(
    ("place", "options"),
    [*((place, {}) for place in USUAL), (TWO, {"sharings": "Y"}), (TWO, {"max_memory": "1GB"})],
    ids=str,
)
def test_a_measured_network_is_the_simulated_one(place: Place, options: dict[str, str]) -> None:
    with among(place, network=qr.Network(rtt_ms=10, mbit=200), **options) as mpc:
        network = mpc.measure_network()
        # A busy machine delays single messages: shared memory would show 0.1 ms and 10,000 Mbit/s.
        assert 8 < network.rtt_ms < 200
        assert 10 < network.mbit < 2000
        plan = mpc.explain(mpc.input([1], owner=0), network=network)
        assert plan.online.network_seconds >= plan.online.rounds * 0.004


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_plans_are_drawn(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"plan.{suffix}"
    quorate("explain", "examples/score.py", "--network", "wan", "--plot", str(picture), cwd=ROOT, check=True)
    data = picture.read_bytes()
    assert data.startswith({"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!doctype html>"}[suffix])
    if suffix != "png":
        assert b"score.py:" in data
        assert b"offline phase" in data


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    with qr.local() as mpc:
        plan = mpc.explain(mpc.input([1], owner=0))
    with pytest.raises(qr.ConfigError, match=r"\.png, \.svg"):
        plan.plot(tmp_path / "plan.gif")


def test_correlations_are_listed_where_asked() -> None:
    shown = [
        quorate("explain", "examples/score.py", "--protocol", "aby", *more, cwd=ROOT, check=True)
        for more in ([], ["--correlations"])
    ]
    assert ["drawn by" in done.stdout for done in shown] == [False, True]


def test_plans_as_json() -> None:
    done = quorate("explain", "examples/score.py", "--json", cwd=ROOT, check=True)
    (plan,) = json.loads(done.stdout)
    assert plan["online"]["rounds"] > 0
    assert plan["seconds"] == pytest.approx(plan["offline"]["seconds"] + plan["online"]["seconds"])
    assert {"line", "text", "rounds", "bytes_sent", "correlations", "memory_bytes"} <= set(plan["lines"][0])
