"""Parties whose scripts state different things about one value: each difference is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import Deployment, Ended, error_of


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


def warned(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if "InputWarning" in line]


def test_values_of_a_party_that_does_not_own_them_are_named(deployment: Deployment) -> None:
    body = """
for _ in range(3):
    x = mpc.input([10 * mpc.me] * 3, owner=1)
y = mpc.input(lambda: [7.5], owner=2, shape=1, dtype=qr.fixed(32, 8))
z = mpc.input([True] if mpc.me == 0 else None, owner=0, shape=1, dtype=qr.bit)
print(*mpc.reveal_all(x, y, z))
"""
    ended = deployment.run(deployment.script(body))
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert {e.out.strip() for e in ended} == {"[10 10 10] [7.5] [ True]"}
    assert [len(warned(e)) for e in ended] == [1, 0, 1], ended
    said = warned(ended[2])[0]
    assert "script.py:5: InputWarning" in said and "party 1 owns this input" in said
    advice = re.search(r"Say (values=None, .*) here", said)
    assert advice is not None
    followed = body.replace("[10 * mpc.me] * 3, owner=1", "**own(), owner=1")
    own = f"def own(): return dict(values=[10] * 3) if mpc.me == 1 else dict({advice[1]})"
    ended = deployment.run(deployment.script(own + followed))
    assert {e.out.strip() for e in ended} == {"[10 10 10] [7.5] [ True]"}
    assert [warned(e) for e in ended] == [[], [], []]


DIFFERENT = {
    "public numbers": (
        "x + (5 if mpc.me == 2 else 4)",
        r"it is constant of \(2,\) int\(64\) at script.py:5 at both, with other public numbers",
    ),
    "a shape of a stranger's values": (
        "mpc.input([1, 2] if mpc.me < 2 else [1, 2, 3], owner=0) + 1",
        r"(\(2,\).*\(3,\)|\(3,\).*\(2,\)) int\(64\) from party 0 at script.py:5",
    ),
    "a dtype of a stranger's values": (
        "mpc.input([1, 2] if mpc.me < 2 else [1.0, 2.0], owner=0) * 1",
        r"(int\(64\).*fixed\(64, 16\)|fixed\(64, 16\).*int\(64\)) from party 0 at script.py:5",
    ),
    "a function": (
        "qr.lookup(x, lambda v: 3 * v + mpc.me // 2, domain=(0, 9))",
        r"it is lookup of \(2,\) int\(64\) at script.py:5 at both, with",
    ),
    "an operation": (
        "x * x if mpc.me < 2 else x + x",
        r"here it is (mul|add) of \(2,\) int\(64\) at script.py:5, at party \d (add|mul) of \(2,\) int\(64\) at",
    ),
    "an end": (
        "x + x; mpc.me < 2 and y - x; y.reveal()",
        r"goes on with sub of \(2,\) int\(64\) at script.py:5",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_both_sides_of_a_difference_are_shown(deployment: Deployment, what: str) -> None:
    line, words = DIFFERENT[what]
    body = f"x = mpc.input([1, 2] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(64))\ny = {line}\ny.reveal()"
    ended = deployment.run(deployment.script(body))
    assert [e.status for e in ended] == [1, 1, 1], ended
    for e in ended:
        assert "ProgramMismatch" in error_of(e)
        assert re.search(words, error_of(e)), error_of(e)
