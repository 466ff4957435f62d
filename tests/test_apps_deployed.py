"""Applications between processes: each party has only its own values, and all run one program."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import LIMIT_SECONDS, QUORATE, Deployment, error_of

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_the_example_of_two_matches() -> None:
    command = [QUORATE, "run", "match.py", "--customers", "60"]
    done = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    told = re.findall(r"\[party (\d)\] ([a-z, ]+): (.+)", done.stdout)
    assert sorted(party for party, what, _ in told if "spent" in what) == ["0", "1"]
    assert len({rest for _, what, rest in told if "spent" in what}) == 1
    assert [party for party, what, _ in told if "first of them" in what] == ["1"]
    assert len(re.findall(r"\[party 1\] the most similar", done.stdout)) == done.stdout.count("the most similar") == 1


ROLES = """
me = mpc.me
a = (lambda: [30, 10, 20]) if me == 0 else None
b = [20, 99, 30, 5] if me == 2 else np.zeros(4)
who = dict(owners=(0, 2), sizes=(3, 4), bits=7)
print("set", qr.apps.psi(mpc, a, b, reveal_to=2, **who))
print("all", qr.apps.psi(mpc, a, b, cardinality=True, reveal_to=None, payload=[1, 2, 4] if me == 0 else None,
                         payload_owner=0, payload_dtype=qr.int(8), **who))
faces = [[1, 9], [4, 4], [8, 0]] if me == 1 else None
print("near", qr.apps.nearest(mpc, faces, [7, 2] if me == 0 else None, owners=(1, 0), shapes=((3, 2), (2,)),
                              dtype=qr.uint(4), distance=False))
"""


def test_values_come_from_their_owners_and_results_go_where_they_should(deployment: Deployment) -> None:
    ended = deployment.run(deployment.script(ROLES))
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    lines = [e.out.split("\n")[:3] for e in ended]
    assert lines == [
        ["set None", "all (2, 5)", "near 2"],
        ["set None", "all (2, 5)", "near None"],
        ["set [20 30]", "all (2, 5)", "near None"],
    ]


def test_a_duplicate_is_named_to_its_owner_alone(deployment: Deployment) -> None:
    script = deployment.script(
        "a, b = [[7, 4711, 4711, 8], [1]] if mpc.me == 0 else [None, [1]]\n"
        "qr.apps.psi(mpc, a, b, sizes=(4, 1), bits=16)"
    )
    ended = deployment.run(script)
    assert "element 4711 is more than once" in error_of(ended[0])
    for peer in ended[1:]:
        assert peer.status == 5
        assert "party 0" in error_of(peer)
        assert "4711" not in peer.err
