"""What supervisors see: exit statuses tell whose fault an end is, and SIGTERM ends a process within two seconds."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import LIMIT_SECONDS, Deployment, Ended, error_of
from serving import as_process, network
from warm import QUORATE

SOON_S = 6.0  # END_S, and what a busy machine takes besides
TOLD = (143, -signal.SIGTERM)  # before Python has started, the system ends the process

PRODUCTS = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=(3,), dtype=qr.int(64), bound=9)
print("connected", flush=True)
{}
while True:
    (x * x).reveal()
    time.sleep(0.05)
"""

#: What a script may do when it is told to end.
MOMENTS = {
    "in runs": "",
    "in Python": "while True: pass",
    "in a call that waits": "time.sleep(100)",
    "deaf": """
while True:
    try:
        time.sleep(100)
    except BaseException:
        print("does not listen", flush=True)
""",
    "in a call that does not return": """
import ctypes
libc, awaited, number = ctypes.CDLL(None), (ctypes.c_ulong * 16)(), ctypes.c_int()
libc.sigemptyset(awaited)
libc.sigaddset(awaited, signal.SIGUSR1)
libc.sigwait(awaited, ctypes.byref(number))
""",
    "in what cleans up": """
try:
    time.sleep(100)
finally:
    time.sleep(100)
""",
}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


def begun(deployment: Deployment, own: str) -> None:
    """Starts all parties, and waits until they are connected; party 1 does something of its own."""
    lines = own.strip("\n").replace("\n", "\n    ")
    script = deployment.script(PRODUCTS.format(f"if mpc.me == 1:\n    {lines or 'pass'}"))
    for party in deployment.start_all(script):
        party.wait_for("connected")


def others(deployment: Deployment) -> list[Ended]:
    return [deployment.running[party].end() for party in (0, 2)]


@pytest.mark.parametrize(
    ("own", "status", "word"),
    [
        ("raise KeyError('absent')", 1, "PeerEnded: party 1 stopped the run"),
        ("(x + [1, 2]).reveal()", 1, "PeerEnded: party 1 stopped the run"),
        ("sys.exit(7)", 7, "PeerEnded: party 1 stopped the run"),
    ],
)
def test_a_peer_that_ends_in_order_is_told_from_an_own_error(
    deployment: Deployment, own: str, status: int, word: str
) -> None:
    begun(deployment, own)
    assert deployment.running[1].end().status == status
    for ended in others(deployment):
        assert ended.status == 5 and word in error_of(ended), ended


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_peer_that_is_told_to_end(deployment: Deployment, number: int, status: int) -> None:
    begun(deployment, "")
    deployment.running[1].signal(number)
    assert deployment.running[1].end().status == status
    for ended in others(deployment):
        assert ended.status == 5 and "PeerEnded: party 1 stopped the run" in error_of(ended)


def test_a_peer_that_is_gone_is_lost(deployment: Deployment) -> None:
    begun(deployment, "")
    deployment.running[1].kill()
    for ended in others(deployment):
        assert ended.status == 3 and "PeerLost" in error_of(ended), ended


# ---- SIGTERM at any moment -----------------------------------------------------------------------------------------


def told(process: subprocess.Popen[str]) -> int:
    """Tells a process to end, checks that it does in time, and returns its status."""
    begun_at = time.monotonic()
    process.send_signal(signal.SIGTERM)
    status = process.wait(LIMIT_SECONDS)
    assert time.monotonic() - begun_at < SOON_S
    return status


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_party_ends_in_time_whatever_its_script_does(deployment: Deployment, moment: str) -> None:
    begun(deployment, MOMENTS[moment])
    time.sleep(0.2)  # it does what it does
    begun_at = time.monotonic()
    deployment.running[1].signal(signal.SIGTERM)
    ended = deployment.running[1].end()
    assert ended.status == 143, ended
    assert time.monotonic() - begun_at < SOON_S
    assert all(other.status in (3, 5) for other in others(deployment))


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 0.6, 1.0, 2.0])
def test_a_party_and_a_server_end_in_time_while_they_start(tmp_path: Path, seconds: float) -> None:
    deployment = Deployment(tmp_path)
    script = deployment.script("pass")
    party = [QUORATE, "party", str(script), "--config", str(deployment.config(0))]
    with network(tmp_path / "served") as net:
        server = net.servers[0]
        server.stop()
        with as_process(server):
            pass  # writes the files
        serve = [QUORATE, "serve", "--config", str(server.folder / "party.toml")]
        for command in (party, serve):
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) as process:
                time.sleep(seconds)
                assert told(process) in TOLD, command


@functools.cache
def first_process() -> tuple[str, ...]:
    """Returns a command that runs another one as the first process of a name space; none where that is not allowed."""
    command = ("unshare", *(() if os.geteuid() == 0 else ("-Ur",)), "-fp", "--mount-proc", "--kill-child")
    if shutil.which("unshare") is None:
        return ()
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if done.returncode == 0 else ()


@pytest.mark.parametrize("moment", ["serves", "connects", "deaf"])
def test_the_first_process_of_a_container_ends_in_time(tmp_path: Path, moment: str) -> None:
    """The system ignores signals to it that have no handler, and nothing reaps it but its parent."""
    if not first_process():
        pytest.skip("this system allows no name spaces of processes (unshare -fp --mount-proc)")
    deployment = Deployment(tmp_path)
    script = deployment.folder / "script.py"
    body = MOMENTS["deaf"] if moment == "deaf" else "with qr.session() as mpc:\n    pass\n"
    script.write_text(f"import time\nimport quorate as qr\nprint('begun', flush=True)\n{body}")
    command = [QUORATE, "party", str(script), "--config", str(deployment.config(0))]
    word = "begun"
    if moment == "serves":
        with network(tmp_path / "served") as net:
            net.servers[0].stop()
            with as_process(net.servers[0]):
                pass
        word, config = "serves clients at", str(net.servers[0].folder / "party.toml")
        command = [QUORATE, "serve", "--config", config]
    log = tmp_path / "log"
    with log.open("w") as file, subprocess.Popen([*first_process(), *command], stdout=file, stderr=file) as parent:
        deadline = time.monotonic() + LIMIT_SECONDS
        while word not in log.read_text():
            assert parent.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        time.sleep(0.5)
        child = int(Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()[0])
        begun_at = time.monotonic()
        os.kill(child, signal.SIGTERM)
        assert parent.wait(LIMIT_SECONDS) == 143
        assert time.monotonic() - begun_at < SOON_S
