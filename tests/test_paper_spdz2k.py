"""`benches/paper_spdz2k.py`: the paper's tables beside ours, for few elements and small models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHES = Path(__file__).resolve().parent.parent / "benches"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    monkeypatch.delenv("QUORATE_INSECURE_DEALER", raising=False)
    import paper_spdz2k

    small: dict[str, Any] = {"MULTIPLICATIONS": 8, "COMPARISONS": 8, "TRIPLES": 16, "THREADS": (1, 2)}
    for name, value in (small | {"NETWORKS": {"memory": None}, "LAN": None, "RINGS": (32,)}).items():
        monkeypatch.setattr(paper_spdz2k, name, value)
    yield paper_spdz2k
    sys.modules.pop("paper_spdz2k")


def columns(lines: list[str], start: str) -> list[str]:
    found = [line for line in lines if line.startswith(start)]
    assert len(found) == 1, lines
    return found[0].removeprefix(start).split()


def test_operations_stand_beside_the_papers(script: Any) -> None:
    measuring = script.Measuring(1, 60, None)
    rates = columns(list(script.table_i(measuring)), "Comparison")
    assert rates[:3] == ["32", "9,153", "1,769"] and all(float(rate.replace(",", "")) > 0 for rate in rates[3:])
    # The paper's protocols cost what its table states.
    lines = list(script.table_iv(measuring))
    assert columns(lines, "Comparison    32 paper SPDZ2k")[:3] == ["0", "60", "33"]
    assert columns(lines, "Comparison    32 ours, paper")[:3] == ["0", "60", "33"]
    assert columns(lines, "Equality      32 ours, paper")[:3] == ["0", "31", "33"]
    assert columns(lines, "Comparison    32 ours, auto")[2:4] == ["0", "1"], "an edaBit, no random bits"
    assert columns(list(script.table_v(measuring)), "Equality      32 paper SPDZ2k") == ["486", "kB", "24", "B"]
    found = list(script.figure_9(measuring))
    assert all(float(rate.replace(",", "")) > 0 for rate in columns(found, "memory")[1:])


def test_models_stand_beside_the_papers_and_what_is_missing_is_said(script: Any, tmp_path: Path) -> None:
    import paper_models

    rng = np.random.default_rng(3)
    table = rng.normal(size=(50, 4))
    table[:, 3] = table[:, 0] > table[:, 1]
    tasks = [
        paper_models.tree("Diabetes", 2, table),
        paper_models.svm("ALOI", rng.normal(size=(3, 6)), rng.normal(size=3), rng.normal(size=(5, 6))),
    ]
    measuring = script.Measuring(1, 60, tmp_path)
    missing = [task for task in [*measuring.trees(), *measuring.svms()] if isinstance(task, str)]
    assert len(missing) == 5 and all("left out" in line and "--data" in line for line in missing)
    measuring.trees, measuring.svms = lambda: tasks[:1], lambda: tasks[1:]
    lines = list(script.table_of_models("some", [*tasks, *missing], measuring))
    assert len(lines) == 2 + 8 + 5
    figures = [line.split() for line in lines[2:10]]
    assert all(float(figure.replace(",", "")) > 0 for row in figures for figure in row[-3:])
    # Three nodes choose among three features, with a proof.
    counts = columns(list(script.table_iv(measuring)), "Diabetes      32 ours, auto")
    assert counts[0] == "9"
