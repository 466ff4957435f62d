"""`benches/paper_pika.py`: the paper's tables beside ours, for small batches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).resolve().parent.parent / "benches"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHES))
    import paper_pika

    monkeypatch.setattr(paper_pika, "NETWORKS", {"LAN": None})
    monkeypatch.setattr(paper_pika, "DOMAINS", range(16, 18))
    yield paper_pika
    sys.modules.pop("paper_pika")


def test_sigmoids_stand_beside_the_papers(script: Any) -> None:
    lines = list(script.table_1(1, 10))
    found = {tuple(line.split()[:2]): line.split()[2:] for line in lines}
    assert found[("LAN", "Pika")] == ["0.0007", "0.001"]
    assert all(float(seconds) > 0 for seconds in found[("LAN", "ours")])
    # 16 bits of X and 32 of V, and the result to the others; 184 bytes and 176 by the dealer.
    dealt = lines[-1].split()[-1]
    assert lines[-1].startswith("MB     ours, P2") and float(dealt) == pytest.approx(10 * 360 / 1e6, rel=0.08)


def test_domains_and_two_parties(script: Any) -> None:
    assert [line.split()[0] for line in script.table_5(1, 70)][2:] == ["16", "17"]
    assert any(line.startswith("LAN    ours") for line in script.table_8(1, 1))
