"""Several programs on one deployment: sessions meet by their names, and share the ports of their parties."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import Deployment, Ended, Party, error_of, free_ports, wires

ROUNDS = 4

PRODUCT = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=3, dtype=qr.int(32), bound=9)
print((x * NUMBER).sum().reveal(), flush=True)
"""

HELD = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=3, dtype=qr.int(32), bound=9)
print("ready", x.sum().reveal(), flush=True)
while not (FOLDER / "go").exists():
    time.sleep(0.05)
print((x * 2).sum().reveal(), flush=True)
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def script(deployment: Deployment, name: str, body: str) -> Path:
    """Writes a script of one session under this name."""
    path = deployment.folder / name
    written = deployment.script(body)
    path.write_text(f"from pathlib import Path\nFOLDER = Path({str(deployment.folder)!r})\n{written.read_text()}")
    return path


def outputs(parties: list[Party]) -> list[tuple[int, str]]:
    return [(ended.status, ended.out.strip()) for ended in (party.end() for party in parties)]


def three_programs(deployment: Deployment, order: random.Random) -> None:
    """Starts three scripts at three parties in a random order, and checks all results."""
    scripts = [script(deployment, f"program{n}.py", PRODUCT.replace("NUMBER", str(n + 1))) for n in range(3)]
    starts = [(me, n) for me in range(3) for n in range(3)]
    order.shuffle(starts)
    configs = [deployment.config(me) for me in range(3)]
    running: dict[tuple[int, int], Party] = {}
    for me, n in starts:
        running[me, n] = deployment.start(me, scripts[n], config=configs[me])
        time.sleep(order.random() * 0.1)
    ended = {start: party.end() for start, party in running.items()}
    for (me, n), end in ended.items():
        assert (end.status, end.out.strip()) == (0, str(6 * (n + 1))), (starts, me, n, end)


@pytest.mark.parametrize("reconnect_s", [0.0, 3.0])
def test_three_programs_start_in_any_order(deployment: Deployment, reconnect_s: float) -> None:
    deployment.limits["reconnect_timeout_s"] = reconnect_s
    for number in range(ROUNDS // 2):
        three_programs(deployment, random.Random(f"{reconnect_s} {number}"))


def hold(deployment: Deployment, name: str) -> list[Party]:
    """Starts a program at all parties, which then have a session open."""
    parties = deployment.start_all(script(deployment, name, HELD))
    for party in parties:
        party.wait_for("ready 6")
    return parties


def test_a_second_program_runs_while_a_session_is_open(deployment: Deployment) -> None:
    held = hold(deployment, "held.py")
    second = deployment.start_all(script(deployment, "second.py", PRODUCT.replace("NUMBER", "5")))
    assert outputs(second) == [(0, "30")] * 3
    (deployment.folder / "go").touch()
    assert outputs(held) == [(0, "ready 6\n12")] * 3


def test_sessions_outlive_the_processes_that_have_the_ports(deployment: Deployment) -> None:
    first, second = hold(deployment, "first.py"), hold(deployment, "second.py")
    for party in first:
        party.kill()
    third = deployment.start_all(script(deployment, "third.py", PRODUCT.replace("NUMBER", "5")))
    assert outputs(third) == [(0, "30")] * 3
    (deployment.folder / "go").touch()
    assert outputs(second) == [(0, "ready 6\n12")] * 3


SHUT = """
import os, socket
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=3, dtype=qr.int(32), bound=9)
print("ready", x.sum().reveal(), flush=True)
while mpc.me == 0 and not (FOLDER / "shut").exists():
    time.sleep(0.01)
for name in os.listdir("/proc/self/fd") if mpc.me == 0 else ():
    try:
        found = socket.socket(fileno=os.dup(int(name)))
    except OSError:
        continue
    if found.family == socket.AF_INET and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        found.shutdown(socket.SHUT_RDWR)
        print("shut", flush=True)
while not (FOLDER / "go").exists():
    time.sleep(0.05)
print((x * 2).sum().reveal(), flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes do not share ports here")
def test_a_port_is_bound_anew_while_links_are_replaced(deployment: Deployment) -> None:
    """The socket that the processes of a party hold no longer listens when its owner ends."""
    deployment.limits |= {"peer_timeout_s": 20.0, "reconnect_timeout_s": 20.0}
    with wires(deployment) as made:
        first = hold(deployment, "first.py")
        second = deployment.start_all(script(deployment, "second.py", SHUT))
        for party in second:
            party.wait_for("ready 6")
        (deployment.folder / "shut").touch()
        second[0].wait_for("shut")
        assert sum(wire.reset() for wire in made) > 0
        first[0].kill()
        (deployment.folder / "go").touch()
        assert outputs(second) == [(0, "ready 6\nshut\n12"), *[(0, "ready 6\n12")] * 2]
        third = deployment.start_all(script(deployment, "third.py", PRODUCT.replace("NUMBER", "5")))
        assert outputs(third) == [(0, "30")] * 3


def test_a_suspended_process_that_has_the_port_leaves_links_alone(deployment: Deployment) -> None:
    deployment.limits |= {"peer_timeout_s": 20.0, "reconnect_timeout_s": 20.0}
    first, second = hold(deployment, "first.py"), hold(deployment, "second.py")
    first[0].signal(signal.SIGSTOP)
    third = script(deployment, "third.py", PRODUCT.replace("NUMBER", "5"))
    refused = deployment.start(0, third).end()
    assert refused.status == 2 and "in use by another process, which does not answer" in error_of(refused), refused
    first[0].signal(signal.SIGCONT)
    assert outputs(deployment.start_all(third)) == [(0, "30")] * 3
    first[0].signal(signal.SIGSTOP)
    (deployment.folder / "go").touch()
    assert outputs(second) == [(0, "ready 6\n12")] * 3
    first[0].signal(signal.SIGCONT)
    assert outputs(first) == [(0, "ready 6\n12")] * 3


def test_a_program_that_not_all_run_is_named(deployment: Deployment) -> None:
    held = hold(deployment, "held.py")
    deployment.limits["connect_timeout_s"] = 4.0
    lone = script(deployment, "lone.py", PRODUCT.replace("NUMBER", "5"))
    ended = deployment.start(1, lone).end()
    assert ended.status == 3, ended
    assert 'parties 0 and 2 run, but have not opened session "lone.py" within 4 s' in error_of(ended)
    assert "PeerTimeout" in error_of(ended)
    (deployment.folder / "go").touch()
    assert outputs(held) == [(0, "ready 6\n12")] * 3


def test_a_program_that_runs_twice_at_a_party_is_named(deployment: Deployment) -> None:
    held = hold(deployment, "held.py")
    again = deployment.start(1, deployment.folder / "held.py").end()
    assert again.status == 2, again
    assert 'session "held.py" is open at this party already, in process' in error_of(again)
    others = [deployment.start(me, deployment.folder / "held.py", "--session", "again") for me in range(3)]
    for party in others:
        party.wait_for("ready 6")
    (deployment.folder / "go").touch()
    assert outputs(held) + outputs(others) == [(0, "ready 6\n12")] * 6


def test_parties_with_other_options_open_other_sessions(deployment: Deployment) -> None:
    deployment.limits["connect_timeout_s"] = 6.0
    path = script(deployment, "options.py", PRODUCT.replace("NUMBER", "5"))
    configs = [deployment.config(me) for me in range(3)]
    choices = ([], ["--trunc", "probabilistic"])
    both = [deployment.start(me, path, *options, config=configs[me]) for options in choices for me in range(3)]
    assert outputs(both) == [(0, "30")] * 6
    running = [deployment.start(me, path, *choices[me == 1], config=configs[me]) for me in range(3)]
    told = [error_of(party.end()) for party in running]
    other = 'session "options.py" within 6 s, but one of this name with another protocol or other options'
    assert all(other in error for error in told), told
    for me, error in enumerate(told):
        assert f"This party has protocol=rss; trunc={['exact', 'probabilistic'][me == 1]}; " in error, error


FORKED = """
import os
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=3, dtype=qr.int(32), bound=9)
print("ready", x.sum().reveal(), flush=True)
forks, files = 0, []
while mpc.me == 1 and forks < FORKS and os.fork() == 0:
    forks += 1
    [os.fstat(one.fileno()) for one in files]
    files += [open(os.devnull) for _ in range(40)]  # these have the numbers of the sockets that were closed
if forks:
    sys.stdout.close()
    os.close(1), os.close(2)
    (FOLDER / f"forked{forks}").touch()
    time.sleep(60)
    os._exit(0)
while not (FOLDER / "go").exists():
    time.sleep(0.05)
print((x * 2).sum().reveal(), flush=True)
"""


@pytest.mark.parametrize("forks", [1, 3])
def test_a_fork_and_its_forks_keep_no_links_and_no_port(deployment: Deployment, forks: int) -> None:
    deployment.limits |= {"peer_timeout_s": 30.0, "reconnect_timeout_s": 30.0}
    parties = deployment.start_all(script(deployment, "forked.py", FORKED.replace("FORKS", str(forks))))
    for party in parties:
        party.wait_for("ready 6")
    end = time.monotonic() + 60
    while not all((deployment.folder / f"forked{number + 1}").exists() for number in range(forks)):
        assert time.monotonic() < end
        time.sleep(0.05)
    parties[1].kill()
    (deployment.folder / "go").touch()
    started = time.monotonic()
    for party in (parties[0], parties[2]):
        ended = party.end()
        assert ended.status == 3, ended
        assert "party 1" in error_of(ended), ended
    assert time.monotonic() - started < 15
    again = deployment.start_all(script(deployment, "again.py", PRODUCT.replace("NUMBER", "5")))
    assert outputs(again) == [(0, "30")] * 3


NAMES = """
with qr.session(GIVEN) as other:
    first, second = mpc.input(3, owner=1, dtype=qr.int(32)), other.input(2, owner=0, dtype=qr.int(32))
    print(int(second.reveal()), int(first.reveal()))
mpc.close()
with qr.session() as next_one:
    print(int(next_one.input(7, owner=0, dtype=qr.int(32)).reveal()))
"""


@pytest.mark.parametrize("given", ["", "session='other'"])
def test_sessions_of_one_script_are_numbered_or_named(deployment: Deployment, given: str) -> None:
    path = script(deployment, "names.py", NAMES.replace("GIVEN", given))
    assert outputs(deployment.start_all(path)) == [(0, "2 3\n7")] * 3


@pytest.mark.parametrize("name", ["''", "'a\\nb'", "'n' * 65", "7"])
def test_names_that_no_session_has(deployment: Deployment, name: str) -> None:
    path = script(deployment, "bad.py", f"pass\nwith qr.session(session={name}) as other:\n    pass")
    text = path.read_text().replace("with qr.session() as mpc:\n    pass", "if True:")
    path.write_text(text)
    ended: Ended = deployment.start(0, path).end()
    assert ended.status == 2, ended
    assert "ConfigError" in error_of(ended) and "session" in error_of(ended)


def many(rounds: int) -> None:
    """Runs the three programs many times, and prints how long it took."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        deployment, started = Deployment(Path(folder)), time.monotonic()
        try:
            for number in range(rounds):
                deployment.ports = free_ports(3) if number % 10 == 0 else deployment.ports
                deployment.addresses = [f"127.0.0.1:{port}" for port in deployment.ports]
                deployment.limits["reconnect_timeout_s"] = [0.0, 3.0][number % 2]
                three_programs(deployment, random.Random(number))
                deployment.running.clear()
                print(f"{number + 1} of {rounds} in {time.monotonic() - started:.0f} s", flush=True)
        finally:
            deployment.stop()


if __name__ == "__main__":
    many(int(sys.argv[1]))
