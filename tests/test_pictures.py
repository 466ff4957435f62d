"""Plans folded by line, and pictures: several runs on the same scales, dark on white in any user's style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._bench import _measurements
from quorate._display import _plots

matplotlib = pytest.importorskip("matplotlib")


def plans() -> list[qr.Plan]:
    """Returns a long and a short plan."""
    with qr.local("rss") as mpc:
        x, y = (mpc.input(np.arange(8), owner=owner) for owner in (0, 1))
        return [mpc.explain(x.sort(), network="wan"), mpc.explain(x + y, network="wan")]


def test_steps_of_one_line_are_one_row() -> None:
    with qr.local("rss") as mpc:
        x = mpc.input(np.arange(8), owner=0)
        plan = mpc.explain((x * x).topk(4)[0])
    rows = plan._step_rows()
    here = [step.line for step in plan.steps]
    assert len(rows) == len(set(here)) == 2
    assert len(plan.steps) > 10
    assert rows[0][0].startswith("input of (8,) int(64)")
    assert ": mul, " in rows[1][0]
    assert " lt" in rows[1][0]
    sent = sum(np.array(step.bytes_sent) for step in plan.steps if step.line == here[-1])
    assert rows[1][1] == " ".join(f"{n:,}" for n in sent)
    assert rows[1][2] == str(plan.online.rounds)


def test_sharings_of_a_folded_row_are_counted() -> None:
    with qr.local("aby", network="wan", offline_weight=0) as mpc:
        x = mpc.input(np.arange(50), owner=0)
        plan = mpc.explain((x * x).max(), (x < 3))
    rows = plan._step_rows()
    assert "sharing" in plan._step_heads()
    several = [(steps, row[-1]) for steps, row in zip(plan._folded(), rows, strict=True) if len(steps) > 1]
    assert len(several) == 1
    steps, text = several[0]
    chosen = [step.sharing for step in steps if step.sharing is not None]
    assert len(chosen) >= 2
    assert text == ", ".join(f"{chosen.count(name)} in {name}" for name in sorted(set(chosen)))


def test_runs_share_their_scales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(_plots, "save", lambda figure, *_: figures.append(figure))
    both = plans()
    _plots.draw_plans(both, tmp_path / "plans.png")
    axes = figures[0].axes
    times, sent = axes[0::2], axes[1::2]
    assert len({panel.get_xlim() for panel in times}) == 1
    assert len({panel.get_xlim() for panel in sent}) == 1
    assert times[0].get_xlim()[1] >= max(plan.seconds for plan in both)
    assert "1 round online" in times[1].get_xlabel() or "2 rounds online" in times[1].get_xlabel()


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_pictures_are_dark_on_white_in_a_dark_style(tmp_path: Path, suffix: str) -> None:
    drawn = []
    for style in ("default", "dark_background"):
        with matplotlib.style.context(style):
            path = tmp_path / f"{style}{suffix}"
            _plots.draw_plans(plans(), path)
        drawn.append(path.read_text(encoding="utf-8"))
    assert all("fill: #ffffff" in text for text in drawn)
    assert drawn[1].count("fill: #ffffff") == drawn[0].count("fill: #ffffff")


def test_peers_are_labelled() -> None:
    from matplotlib.figure import Figure

    panel = Figure().subplots()
    peers = [{"name": "MP-SPDZ", "seconds": 0.3}, {"name": "ABY", "seconds": None}]
    row = {"k": 64, "parties": 3, "link": "memory", "batch": 100, "seconds": {"median": 0.2}, "peers": peers}
    _measurements._draw_panel(panel, "mul", [row])
    assert [text.get_text() for text in panel.texts] == ["MP-SPDZ"]
