"""Numbers that can be trusted: options that parties share, bounds, rounding, shadows, seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploying import Deployment


def test_parties_that_choose_differently_are_told_what_differs(tmp_path: Path) -> None:
    made = Deployment(tmp_path)
    script = made.script("print(mpc.input([1] if mpc.me == 0 else None, owner=0, shape=1, dtype=qr.int(8)).reveal())")
    made.config(0)
    files = [made.config(me) for me in range(3)]
    for me, network in enumerate(("wan", "wan", "lan")):
        files[me].write_text(f'network = "{network}"\n' + files[me].read_text())
    try:
        ended = [party.end() for party in [made.start(me, script, config=files[me]) for me in range(3)]]
    finally:
        made.stop()
    assert [e.status for e in ended] == [1, 1, 1], ended
    assert "party 2 chose network=0.106 ms 1000 Mbit/s, this party network=46 ms 76 Mbit/s" in ended[0].err
    assert "Give the same options at every party" in ended[0].err
    assert "party 0 chose network=46 ms" in ended[2].err


@pytest.mark.parametrize("network", ["dsl", "1"])
def test_a_network_that_no_name_says_is_refused(tmp_path: Path, network: str) -> None:
    made = Deployment(tmp_path)
    file = made.config(0)
    file.write_text(f'network = "{network}"\n' + file.read_text())
    ended = made.start(0, made.script("pass"), config=file).end()
    assert ended.status == 2
    assert f'network "{network}" is not known' in ended.err
