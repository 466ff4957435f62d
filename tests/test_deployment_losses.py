"""Three processes over TLS on the loopback: parties that are lost, cut off, silent or never there."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploying import Deployment, Ended, error_of, wires
from test_deployment import INPUTS, LONG, PRODUCT, statuses


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


def who_is_left(deployment: Deployment, phase: str, lost: int, happens: Any) -> list[Ended]:
    running = deployment.start_all(deployment.script(LONG[phase]))
    for party in running:
        party.wait_for("running")
    started = time.monotonic()
    happens(running[lost])
    ended = [party.end() for me, party in enumerate(running) if me != lost]
    assert time.monotonic() - started < deployment.limits["peer_timeout_s"] + 30
    return ended


def assert_all_name(ended: list[Ended], lost: int, phase: str) -> None:
    for e in ended:
        assert e.status == 3, e
        message = error_of(e)
        assert f"party {lost}" in message, message
        assert "PeerLost" in message or "PeerTimeout" in message, message
        assert f"{phase} phase" in message, message


# Each pair of the three occurs.
@pytest.mark.parametrize(
    ("how", "lost", "phase"),
    [("KILL", 0, "offline"), ("KILL", 2, "online"), ("STOP", 0, "online"), ("STOP", 2, "offline")],
)
def test_a_party_is_lost(deployment: Deployment, how: str, lost: int, phase: str) -> None:
    ended = who_is_left(deployment, phase, lost, lambda party: party.signal(signal.Signals[f"SIG{how}"]))
    assert_all_name(ended, lost, phase)


@pytest.mark.parametrize("phase", ["offline", "online"])
def test_a_party_is_cut_off(deployment: Deployment, phase: str) -> None:
    with wires(deployment) as made:
        script = deployment.script(LONG[phase])
        running = deployment.start_all(script)
        for party in running:
            party.wait_for("running")
        started = time.monotonic()
        for wire in made:
            wire.cut()
        ended = [party.end() for party in running]
        assert time.monotonic() - started < 20
    for e in ended:
        assert e.status == 3, e
        assert f"{phase} phase" in error_of(e)


@pytest.mark.parametrize("how", ["killed", "frozen", "never there"])
def test_a_party_does_not_come_up(deployment: Deployment, how: str) -> None:
    deployment.limits["connect_timeout_s"] = 3.0
    script = deployment.script(PRODUCT)
    sleeper = deployment.folder / "sleeper.py"
    sleeper.write_text("import time\nprint('up')\ntime.sleep(100)\n")
    if how != "never there":
        last = deployment.start(2, sleeper)
        last.wait_for("up")
        last.signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    running = [deployment.start(me, script) for me in (0, 1)]
    for party in running:
        ended = party.end()
        assert ended.status == 3, ended
        assert ended.seconds < 20
        assert "party 2" in error_of(ended)


def test_a_party_that_is_there_and_sends_nothing(deployment: Deployment) -> None:
    """Its heartbeats go on. The others end, and can ask again, even with a limit of zero."""
    body = (
        INPUTS
        + """
x = secret(0, 3)
x.reveal()
if mpc.me == 1:
    time.sleep(4.0)
for _ in range(5):
    try:
        print((x * x).reveal())
        break
    except qr.QuorateError as error:
        print(type(error).__name__, error)
"""
    )
    script = deployment.script(body)
    deployment.limits["stall_timeout_s"] = 2.5
    running = [deployment.start(0, script)]
    deployment.limits["stall_timeout_s"] = 0.0
    running += [deployment.start(me, script) for me in (1, 2)]
    ended = [party.end() for party in running]
    assert statuses(ended) == [0, 0, 0], ended
    lines = [e.out.splitlines() for e in ended]
    assert lines[0][0].startswith("PeerTimeout party 1, whose connection is alive, sent nothing"), lines[0]
    assert "stall_timeout_s in [limits] of party.toml" in lines[0][0]
    assert "as party 0 reports" in lines[2][0], lines[2]
    assert lines[2][0].startswith("PeerTimeout party 1 "), lines[2]
    assert lines[1][0].startswith("PeerTimeout party 0 stopped the run: it got nothing"), lines[1]
    assert [own[-1] for own in lines] == ["[0 1 4]"] * 3


@pytest.mark.parametrize("whose", [0, 1], ids=["a peer's", "this party's own"])
def test_a_name_that_does_not_resolve(deployment: Deployment, whose: int) -> None:
    deployment.limits["connect_timeout_s"] = 2.0
    deployment.addresses[whose] = "nowhere.invalid:9000"  # a name that no name service has
    config = deployment.config(1)
    config.write_text("".join(line for line in config.read_text().splitlines(True) if not line.startswith("listen")))
    ended = deployment.start(1, deployment.script(PRODUCT), config=config).end()
    assert ended.status == 2, ended
    line = 1 + config.read_text().splitlines().index('address = "nowhere.invalid:9000"')
    for words in ("ConfigError", f"party1.toml, line {line}:", f"the address of party {whose}, does not resolve"):
        assert words in error_of(ended)


def test_a_party_that_accepts_and_is_silent(deployment: Deployment) -> None:
    deployment.limits["connect_timeout_s"] = 3.0
    script = deployment.script(PRODUCT)
    with socket.create_server(("127.0.0.1", deployment.ports[2])):
        for ended in [p.end() for p in [deployment.start(me, script) for me in (0, 1)]]:
            assert ended.status == 3, ended
            assert "party 2" in error_of(ended)


def test_after_a_lost_party_the_session_is_over(deployment: Deployment) -> None:
    body = (
        INPUTS
        + """
x = secret(0, 3)
x.reveal()
print("running")
time.sleep(60 if mpc.me == 1 else 1)
for _ in range(2):
    try:
        (x * x).reveal()
    except qr.QuorateError as error:
        print(type(error).__name__)
        print(error, file=sys.stderr)
"""
    )
    running = deployment.start_all(deployment.script(body))
    for party in running:
        party.wait_for("running")
    running[1].signal(signal.SIGKILL)
    for me in (0, 2):
        ended = running[me].end()
        assert ended.status == 0, ended
        assert ended.out.split()[1] in ("PeerLost", "PeerTimeout")
        assert ended.out.split()[2] == "SessionClosed"
