"""`benches/paper_networks.py`: its networks in small, against the clear ones; the figures that its picture has."""

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
