"""`mpc.me` lets one script serve local sessions and deployments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import quorate as qr
from quorate._session._all_parties import Everyone
from test_cli import quorate

BOTH = """
import quorate as qr

def secret(owner):
    return [owner + 1, 10 * owner] if mpc.me == owner else None

with qr.session() as mpc:
    x, y = (mpc.input(secret(owner), owner=owner, shape=2, dtype=qr.int(64)) for owner in (0, 1))
    result = (x + y).reveal(to=1)
    if mpc.me == 1:
        print("party 1 has", result.tolist())
    if mpc.me != 1:
        print("another party has", result)
"""


def test_the_same_script_runs_locally_and_between_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BOTH, "both.py", "exec"), {})
    assert capsys.readouterr().out == "party 1 has [3, 10]\n"
    script = tmp_path / "both.py"
    script.write_text(BOTH)
    done = quorate("run", str(script))
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert lines == [
        "[party 0] another party has None",
        "[party 1] party 1 has [3, 10]",
        "[party 2] another party has None",
    ]


def test_values_that_are_left_out_are_asked_for() -> None:
    with qr.local("aby") as mpc, pytest.raises(qr.ConfigError, match="party 1 is here, as every party is in a local"):
        mpc.input([1] if mpc.me == 5 else None, owner=1, shape=1, dtype=qr.int(8))


@pytest.mark.parametrize("number", [0, 2, np.int64(1)])
def test_everyone_equals_each(number: int) -> None:
    me = Everyone(3)
    assert me == number
    assert number == me
    assert (me != number) is False
    assert me in (None, number)


@pytest.mark.parametrize("other", [None, -1, 3, True, "0", 0.0, Everyone(2)])
def test_everyone_equals_nothing_else(other: object) -> None:
    assert Everyone(3) != other


def test_everyone_names_no_file() -> None:
    me = Everyone(3)
    for use in (lambda: f"party{me}.csv", lambda: "party{}.csv".format(me), lambda: f"{me:>3}"):  # noqa: UP032
        with pytest.raises(TypeError, match=r"every party, 0 to 2: a text with it.* mpc\.me == 0 .*mpc\.is_local"):
            use()
    assert f"{me!r}" == str(me) == "every party, 0 to 2"


@pytest.mark.parametrize(
    "use", [hash, bool, int, lambda me: [1, 2][me], lambda me: me < 1, lambda me: me + 1, lambda me: {0: 1}[me]]
)
def test_everyone_is_no_number(use: object) -> None:
    with pytest.raises(TypeError, match=r"every party, 0 to 2 and no number: compare it .*mpc\.is_local"):
        use(Everyone(3))  # type: ignore[operator]
