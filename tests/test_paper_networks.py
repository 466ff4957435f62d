"""`benches/paper_networks.py` and `paper_mobilenet.py` on small networks, against the clear ones; pictures; limits."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocols import USUAL, Place, among

BENCHES = Path(__file__).resolve().parent.parent / "benches"


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.syspath_prepend(str(BENCHES))
    from _pika_networks import Lstm, Sensors

    return [Lstm(hidden=3), Sensors((6, 4, 3, 2))]


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    import _growth

    return _growth


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_networks_of_the_study_are_those_in_the_clear(place: Place, networks: list[Any]) -> None:
    with among(place) as mpc:
        weights = [net.share(mpc) for net in networks]
        for _ in range(2):
            found = mpc.reveal_all(*(net.ask(mpc, own) for net, own in zip(networks, weights, strict=True)))
            for net, result in zip(networks, found, strict=True):
                np.testing.assert_allclose(result, net.clear(), atol=net.close)
                assert np.abs(net.clear()).max() > 2 * net.close


def test_the_picture_of_growth_has_the_figures_of_the_page(growth: Any) -> None:
    found = list(growth.points(growth.PAGE))
    assert growth.Point(3, 10, "memory links", 0.039) in found
    assert growth.Point(5, 25, "", 55.5) in found
    assert {point.link for point in found} == {"", *growth.LINES}
    assert all(point.parties in growth.COLOURS and 0 < point.value < 100 for point in found)


def test_the_picture_of_growth_has_the_figures_of_every_depth(growth: Any, tmp_path: Path) -> None:
    found = growth.by_layers(growth.PAGE)
    assert list(found) == [4, 5, 6, 7, 8]
    assert all(0.001 < seconds < 0.1 and 0.5 < megabytes < 2 for seconds, megabytes in found.values())
    pytest.importorskip("matplotlib")
    growth.growth(argparse.Namespace(plot=tmp_path / "growth.png", page=growth.PAGE))
    assert (tmp_path / "growth.png").stat().st_size > 10_000


def test_a_page_without_figures_is_refused(growth: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("| parties | seconds |\n|---|---|\n| 3 | 1 |\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no table"):
        list(growth.points(page))


@pytest.fixture
def depth(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    import _depth

    r = np.random.default_rng(0)
    some = r.uniform(0, 1, (110, 1, 28, 28)), r.integers(0, 10, 110)
    monkeypatch.setattr(_depth._lenet, "mnist", lambda folder: some)
    monkeypatch.setattr(_depth, "DEPTHS", (4,))
    return _depth


def depth_asked(**other: Any) -> argparse.Namespace:
    common = {"data": Path(), "images": 2, "epochs": 0, "plot": None, "links": ["memory"], "most": 600.0}
    return argparse.Namespace(**{**common, "protocols": ["rss"], **other})


def test_normalisation_on_shares_is_that_in_the_clear(depth: Any) -> None:
    r = np.random.default_rng(1)
    for normalised in (False, True):
        net, x = depth._lenet.LeNet(4, normalised), r.uniform(0, 1, (1, 1, 28, 28))
        if normalised:
            net.seen = {i: [r.normal(size=len(m)), r.uniform(0.5, 4, len(m))] for i, (m, _) in net.seen.items()}
        _, found, _ = depth.answered(net.on_shares, x, "rss", "memory", 600)
        wanted = net.outputs(x)
        assert np.abs(found - wanted).max() < 0.03 < np.abs(wanted).max() / 10


def test_the_study_of_depth_has_every_figure_and_keeps_to_its_limits(
    depth: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    depth.depth(depth_asked(plot=tmp_path / "depth.png"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * (2 + 3)
    assert all(line.count("%") == 3 for line in lines[1:])
    assert (tmp_path / "depth.png").stat().st_size > 10_000
    depth.depth(depth_asked(most=0.0, links=["memory", "lan"]))
    lines = capsys.readouterr().out.splitlines()
    assert [sum(link in line for line in lines) for link in (" memory ", " lan ")] == [2 * 3, 2 * 3]
    assert sum("%" in line for line in lines) == 2 * 2  # in the clear alone


def test_confidence_is_that_of_the_label_that_is_given(depth: Any) -> None:
    outputs = np.log([[3.0, 1.0], [1.0, 4.0], [1.0, 1.0]])
    made = depth.Quality.of(outputs, outputs + 1, np.array([0, 0, 1]))
    assert made.right == pytest.approx(1 / 3)
    assert made.confidence == pytest.approx((0.75 + 0.8 + 0.5) / 3)


def test_mobilenets_are_run_on_families_that_are_asked_for_or_predicted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))
    import paper_mobilenet

    small = ["paper_mobilenet.py", "--widths", "0.25", "--resolutions", "32", "--modes", "exact", "--parties", "3"]
    monkeypatch.setattr("sys.argv", small)
    paper_mobilenet.main()
    [line] = capsys.readouterr().out.splitlines()[1:]
    assert line.split()[:3] == ["rss", "3", "memory"]
    assert float(line.split()[-1]) == 0
    monkeypatch.setattr("sys.argv", [*small, "--protocols", "rss,pika,aby", "--links", "lan", "--most", "0"])
    paper_mobilenet.main()
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [["rss", "3", "lan"], ["pika", "3", "lan"], ["aby", "2", "lan"]]
    assert all("not run: longer than 0 s" in line for line in lines)
