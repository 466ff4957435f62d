"""`benches/replay.py`: a party computes again, alone, against the record of what it received."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate import _quorate

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    sys.modules.pop("replay", None)
    import replay

    return replay


pytestmark = pytest.mark.skipif(
    not hasattr(_quorate, "Recording"), reason="the module is built without the feature replay"
)


@pytest.mark.parametrize(("family", "party"), [("rss", 2), ("aby", 1), ("spdz2k", 0), ("pika", 1)])
def test_a_party_alone_sends_what_it_sent_among_others(
    replay: ModuleType, family: str, party: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("QUORATE_INSECURE_DEALER", "QUORATE_INSECURE_BASE_OTS"):
        monkeypatch.delenv(name, raising=False)  # the parties do what they do in the wheel
    x, y = np.arange(20), np.arange(20)[::-1]
    options = {"malicious": True} if family == "pika" else {}

    def ask(mpc: qr.Session) -> Any:
        a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
        assert np.array_equal((a * b).reveal(), x * y)
        return (a < b).reveal()

    program = replay.Program(ask, x < y, family, party, options)
    taken, (frames, size) = replay.replays(program, family, party, [1, 2], 1)
    assert [len(each) for each in taken.values()] == [1, 1] and 0 < frames < size


def test_another_program_is_no_replay(replay: ModuleType) -> None:
    values = iter([3, 3, 4])

    def ask(mpc: qr.Session) -> Any:
        mpc.input([next(values)] * 5, owner=0).reveal()

    with pytest.raises(replay.Differs, match=r"with 2 threads the party sent other messages to party 2 in run 2"):
        replay.replays(replay.Program(ask, None), "rss", 0, [1, 2], 1)


def test_a_wrong_result_is_an_error(replay: ModuleType) -> None:
    program = replay.Program(lambda mpc: mpc.input([1], owner=0).reveal(), [2])
    with pytest.raises(replay.Differs, match="a wrong result"):
        replay.replays(program, "rss", 0, [1], 1)


def test_the_serial_share_is_that_of_amdahls_law(replay: ModuleType) -> None:
    seconds = {w: 3 * (0.25 + 0.75 / w) for w in (1, 2, 4)}
    assert replay.serial_share(seconds) == pytest.approx(0.25)
    assert replay.speedup(0.25, 4) == pytest.approx(3 / seconds[4])
    assert (replay.serial_share({1: 1.0, 2: 1.2}), replay.serial_share({1: 1.0, 2: 0.4})) == (1, 0)
    taken = {w: [replay.Replayed(0, 0, each), replay.Replayed(0, 0, each)] for w, each in seconds.items()}
    assert replay.shown(replay.row("some", taken, "whole")) == (
        "| some | whole | 3.000 | 1.875 | 1.312 | 0.62 | 0.44 | 0.25 | 2.9, 3.4, 3.8 |"
    )
