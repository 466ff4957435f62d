"""Three processes over TLS on the loopback: what works, and what fails with the right error."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from deploying import LIMIT_SECONDS, QUORATE, Deployment, Ended, error_of, free_ports, wires

SCORE = Path(__file__).resolve().parent.parent / "examples" / "score.py"

PRODUCT = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=(3,), dtype=qr.int(64), bound=9)
y = mpc.input([4, 5, 6] if mpc.me == 1 else None, owner=1, shape=(3,), dtype=qr.int(64), bound=9)
print((x * y).reveal())
"""

INPUTS = """
def secret(owner, n):
    return mpc.input(np.arange(n) if mpc.me == owner else None, owner=owner, shape=(n,), dtype=qr.int(64), bound=n)
"""

# Prints "running" once the run is in a phase.
TELLING = """
from quorate._display._progress import Progress
told = []
def show(self, phase, share, predicted):
    if phase == {phase!r} and share > 0.01 and not told:
        told.append(phase)
        print("running\\n", end="")  # in one piece: a signal may follow at once
Progress.show = show
"""

# Much work in one phase, so that a fault falls into that phase.
LONG = {
    # Truncations take random bits in every form.
    "offline": INPUTS
    + TELLING.format(phase="offline")
    + "x = secret(0, 250_000)\nsum(x >> i for i in range(1, 63)).sum().reveal()",
    "online": INPUTS
    + TELLING.format(phase="online")
    + "x, y = secret(0, 1_000_000), secret(1, 1_000_000)\nfor _ in range(400): x = x * y\nx.sum().reveal()",
}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties, whose processes start warm."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def as_started(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties, whose processes start and end as those of users."""
    made = Deployment(tmp_path, warm=False)
    yield made
    made.stop()


def statuses(ended: list[Ended]) -> list[int]:
    return [e.status for e in ended]


# ---- what works ----------------------------------------------------------------------------------------------------


def test_keygen_then_a_configuration_by_hand_then_a_run(tmp_path: Path) -> None:
    made = Deployment(tmp_path, warm=False)
    prints = []
    for me in range(3):
        command = [QUORATE, "keygen", "--party", str(me), "--dir", str(tmp_path / "keys")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
        prints.append(done.stdout.strip())
    assert len(set(prints)) == 3
    assert ((tmp_path / "keys" / "party0.key").stat().st_mode & 0o077) == 0
    parties = "".join(
        f'[[party]]\naddress = "127.0.0.1:{port}"\ncertificate = "keys/party{i}.crt"\n'
        for i, port in enumerate(made.ports)
    )
    script = made.script(PRODUCT)
    for me in range(3):
        made.config(me, f'me = {me}\nprotocol = "rss"\nkey = "keys/party{me}.key"\n{parties}')
    running = [made.start(me, script, config=tmp_path / f"party{me}.toml") for me in range(3)]
    ended = [party.end() for party in running]
    assert statuses(ended) == [0, 0, 0], ended
    assert {e.out.strip() for e in ended} == {"[ 4 10 18]"}


def test_keygen_keeps_a_key_that_is_there(tmp_path: Path) -> None:
    command = [QUORATE, "keygen", "--party", "0", "--dir", str(tmp_path)]
    subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True)
    key = (tmp_path / "party0.key").read_bytes()
    again = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert again.returncode == 2 and not again.stdout
    assert "party0.key" in again.stderr
    assert (tmp_path / "party0.key").read_bytes() == key


def clear_predictions(kind: str, records: int) -> list[int]:
    X, y = load_breast_cancer(return_X_y=True)
    estimator: Any = DecisionTreeClassifier(random_state=0) if kind == "tree" else SVC(kernel="linear")
    return estimator.fit(X[:400], y[:400]).predict(X[400 : 400 + records]).tolist()


def test_the_main_job_in_three_processes(as_started: Deployment) -> None:
    ended = as_started.run(SCORE, "--model", "svm", "--save", "predicted.npy")
    assert statuses(ended) == [0, 0, 0], ended
    assert np.load(as_started.folder / "predicted.npy").tolist() == clear_predictions("svm", 169)
    assert ["records scored" in e.out for e in ended] == [False, True, False]


@pytest.mark.parametrize("parties", [None, 5])
def test_the_main_job_by_quorate_run(tmp_path: Path, parties: int | None) -> None:
    how_many = [] if parties is None else ["--parties", str(parties)]
    command = [QUORATE, "run", str(SCORE), *how_many, "--records", "40", "--save", "predicted.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.load(tmp_path / "predicted.npy").tolist() == clear_predictions("tree", 40)
    assert "[party 1] 40 records scored" in done.stdout


def test_a_result_for_one_party_and_one_for_some(deployment: Deployment) -> None:
    body = "x = secret(0, 3)\nprint((x * x).reveal(to=2), mpc.reveal_all(x, x + 1, to=(2, 0)), mpc.me)"
    script = deployment.script(INPUTS + body)
    some = "[array([0, 1, 2]), array([1, 2, 3])]"
    shown = [f"None {some} 0", "None [None, None] 1", f"[0 1 4] {some} 2"]
    assert [e.out.strip() for e in deployment.run(script)] == shown


def test_values_at_a_party_that_does_not_own_them_stay_there(deployment: Deployment) -> None:
    script = deployment.script("x = mpc.input(np.full(3, 10 * mpc.me), owner=1)\nprint(x.reveal())")
    assert {e.out.strip() for e in deployment.run(script)} == {"[10 10 10]"}


def test_callables_are_called_at_the_owner_only(deployment: Deployment) -> None:
    body = "def read():\n    print('read')\n    return [7]\n"
    script = deployment.script(body + "print(mpc.input(read, owner=2, shape=(1,), dtype=qr.int(8)).reveal())")
    assert [e.out.split() for e in deployment.run(script)] == [["[7]"], ["[7]"], ["read", "[7]"]]
    given = deployment.run(deployment.script("print(mpc.input([7], owner=2, shape=(1,), dtype=qr.int(8)).reveal())"))
    assert [e.out.strip() for e in given] == ["[7]"] * 3
    said = ["or give a callable with them, which is called at the owner alone" in e.err for e in given]
    assert said == [True, True, False]


def test_who_computes_is_waited_for(deployment: Deployment) -> None:
    deployment.limits["peer_timeout_s"] = 2.0
    busy = "end = time.monotonic() + 3.5\nwhile time.monotonic() < end: sum(range(100000))\n"
    body = f"{PRODUCT}if mpc.me == 2:\n    time.sleep(3.5)\n{PRODUCT}if mpc.me == 0:\n"
    body += "".join(f"    {line}\n" for line in busy.splitlines()) + PRODUCT
    ended = deployment.run(deployment.script(body))
    assert statuses(ended) == [0, 0, 0], ended
    assert all(e.out.count("[ 4 10 18]") == 3 and e.seconds > 7 for e in ended)


def test_a_long_run_is_waited_for(deployment: Deployment) -> None:
    deployment.limits["peer_timeout_s"] = 2.0
    body = INPUTS + "x, y = secret(0, 700_000), secret(1, 700_000)\nprint((x - y).sum().reveal())"
    with wires(deployment, rate=1e6):
        ended = deployment.run(deployment.script(body))
    assert statuses(ended) == [0, 0, 0], ended
    assert all(e.out.strip() == "0" and e.seconds > 4 for e in ended)


def test_who_is_done_stays_until_the_others_have_everything(as_started: Deployment) -> None:
    body = INPUTS + "x = secret(0, 1_000_000).reveal(to=1)\nprint('done', None if x is None else x[-1])"
    with wires(as_started, rate=6e5):
        ended = as_started.run(as_started.script(body))
    assert statuses(ended) == [0, 0, 0], ended
    assert ended[1].out.strip() == "done 999999"
    assert ended[0].seconds > 8


def test_arrays_may_die_at_different_times_at_different_parties(as_started: Deployment) -> None:
    body = (
        INPUTS
        + """
kept = []
x = secret(0, 5)
for i in range(6):
    y = x * (i + 1)
    if mpc.me == 1: kept.append(y)
    print(y.sum().reveal())
    if mpc.me == 2 and i % 2: del y
    x = x + 1
"""
    )
    ended = as_started.run(as_started.script(body))
    assert statuses(ended) == [0, 0, 0], ended
    wanted = [str(sum(v + i for v in range(5)) * (i + 1)) for i in range(6)]
    assert all(e.out.split() == wanted for e in ended)


def test_files_that_are_not_there(deployment: Deployment) -> None:
    script = deployment.script(PRODUCT)
    ended = deployment.start(0, script, config=deployment.folder / "nowhere.toml").end()
    assert ended.status == 2
    assert "nowhere.toml" in error_of(ended)
    ended = deployment.start(0, deployment.folder / "nowhere.py").end()
    assert ended.status == 2
    assert "nowhere.py" in error_of(ended)


def test_a_port_in_use(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", deployment.ports[0])):
        ended = deployment.start(0, deployment.script(PRODUCT)).end()
    assert ended.status == 2, ended
    assert str(deployment.ports[0]) in error_of(ended)
    assert "in use" in error_of(ended)


def test_two_parties_with_one_number(deployment: Deployment) -> None:
    """Party 2's operator uses party 1's configuration with its ports, but the key of party 2."""
    script = deployment.script(PRODUCT)
    text = Path(deployment.config(1)).read_text().replace('key = "party1.key"', 'key = "party2.key"')
    ended = deployment.start(2, script, config=deployment.config(9, text)).end()
    assert ended.status == 2, ended
    assert "party2.key" in error_of(ended)


def test_files_that_name_different_protocols(deployment: Deployment) -> None:
    """Options differ too; those that only one protocol has follow from its choice.

    By default these would be different sessions; a name makes them one.
    """
    script = deployment.script(PRODUCT)
    other = deployment.config(2).read_text().replace('protocol = "rss"', 'protocol = "pika"')
    named = ["--session", "one"]
    running = [deployment.start(me, script, *named) for me in (0, 1)]
    running.append(deployment.start(2, script, *named, "--trunc", "probabilistic", config=deployment.config(2, other)))
    ended = [party.end() for party in running]
    assert statuses(ended) == [1, 1, 1], ended
    ours, theirs = "protocol=rss, trunc=exact", "protocol=pika, trunc=probabilistic"
    for e in ended[:2]:
        assert "ProgramMismatch" in error_of(e) and f"party 2 chose {theirs}, this party {ours}." in error_of(e)
    assert f"party 0 chose {ours}, this party {theirs}." in error_of(ended[2])


def test_a_number_taken_twice_over_the_network(deployment: Deployment) -> None:
    """Two machines have the key of party 1: the second one to connect gets an error, and so does its peer."""
    script = deployment.script(PRODUCT)
    first, one = deployment.start(0, script), deployment.start(1, script)
    deployment.wait_until_listening(0, 1)
    time.sleep(3.0)  # party 1 calls as soon as it listens
    text = Path(deployment.config(1)).read_text()
    elsewhere = text.replace(f'listen = "127.0.0.1:{deployment.ports[1]}"', 'listen = "127.0.0.1:0"')
    two = deployment.start(1, script, config=deployment.config(9, elsewhere)).end()
    assert two.status == 2, two
    assert "party 1" in error_of(two)
    told = first.end()
    assert told.status == 2, told
    assert "party 1" in error_of(told)
    assert one.end().status in (2, 3)


def test_two_processes_of_one_party(deployment: Deployment) -> None:
    script = deployment.script(PRODUCT)
    first = deployment.start(1, script)
    deployment.wait_until_listening(1)
    again = deployment.start(1, script).end()
    assert again.status == 2, again
    assert "is open at this party already, in process" in error_of(again)
    first.signal(signal.SIGINT)
    assert first.end().status == 130


def test_keys_that_are_no_keys_are_made_anew(deployment: Deployment) -> None:
    script, key = deployment.script(PRODUCT), deployment.folder / "party0.key"
    kept = key.read_bytes()

    def told() -> str:
        ended = deployment.start(0, script).end()
        assert ended.status == 2, ended
        return error_of(ended)

    key.chmod(0o644)
    assert "can be read by other users; run chmod 600 on it" in told()
    key.chmod(0o600)
    key.write_text("-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n".format("PRIVATE KEY"))
    assert "is not a usable key; make one with `quorate keygen`" in told()
    key.unlink()
    assert "make keys with `quorate keygen`" in told()
    key.write_bytes(kept)
    key.chmod(0o600)
    assert statuses(deployment.run(script)) == [0, 0, 0]


def test_who_leaves_before_all_are_there_is_named(as_started: Deployment) -> None:
    script = as_started.script(PRODUCT)
    running = [as_started.start(me, script) for me in (0, 1)]
    as_started.wait_until_listening(0, 1)
    time.sleep(1)
    running[0].kill()
    assert "had not come: start party 2, or look at party 0's output" in error_of(running[1].end())
    running[0].end()
    assert statuses(as_started.run(script)) == [0, 0, 0]


def test_two_processes_with_one_configuration(deployment: Deployment) -> None:
    script = deployment.script(PRODUCT)
    twin = Path(deployment.config(2)).read_text()
    twin = re.sub(r"listen = .*", f'listen = "127.0.0.1:{free_ports(1)[0]}"', twin)
    running = [deployment.start(0, script), deployment.start(2, script)]
    running.append(deployment.start(2, script, config=deployment.config(9, twin)))
    said = [party.end().err for party in running]
    assert any("two processes run as party 2" in err and "each party runs once" in err for err in said), said
    assert statuses(deployment.run(script)) == [0, 0, 0]


def test_sizes_of_what_others_have_are_stated(deployment: Deployment) -> None:
    ended = deployment.run(deployment.script("print(mpc.input([4, 5] if mpc.me == 1 else None, owner=1).reveal())"))
    for e in (ended[0], ended[2]):
        assert "state shape= and dtype= at all parties; how many rows there are can be told" in error_of(e)
    told = (
        "values = [4, 5] if mpc.me == 1 else None\n"
        "rows = mpc.announce(lambda: len(values), owner=1)\n"
        "print(mpc.input(values, owner=1, shape=(rows,), dtype=qr.int(64)).reveal())"
    )
    assert [e.out.strip() for e in deployment.run(deployment.script(told))] == ["[4 5]"] * 3
    sets = "print(qr.apps.psi(mpc, [10, 20] if mpc.me == 0 else None, [20, 30] if mpc.me == 1 else None{}))"
    ended = deployment.run(deployment.script(sets.format("")))
    assert "psi: this party does not have all values: state their sizes" in error_of(ended[2])
    ended = deployment.run(deployment.script(sets.format(", sizes=(2, 2), reveal_to=0")))
    assert ended[0].out.strip() == "[20]", ended


def test_a_certificate_that_is_not_pinned(deployment: Deployment) -> None:
    deployment.limits["connect_timeout_s"] = 12.0
    script = deployment.script(PRODUCT)
    others = [deployment.start(me, script) for me in (0, 2)]
    deployment.wait_until_listening(0, 2)
    from quorate import _quorate

    impostor = deployment.folder / "impostor"
    _quorate.keygen(str(impostor), 1)
    text = Path(deployment.config(1)).read_text()
    text = text.replace("party1.key", "impostor/party1.key").replace("party1.crt", "impostor/party1.crt")
    stranger = deployment.start(1, script, config=deployment.config(8, text)).end()
    assert stranger.status in (2, 3), stranger
    told = [party.end() for party in others]
    for rest in told:
        assert rest.status in (2, 3), rest
        assert "[ 4 10 18]" not in rest.out
        assert re.search("certificate|left while party|is gone|party 1 did not connect", error_of(rest))
    assert "certificate" in error_of(stranger)
    assert any("certificate" in error_of(rest) for rest in told)


# ---- scripts that differ -------------------------------------------------------------------------------------------


def test_scripts_that_differ(deployment: Deployment) -> None:
    body = PRODUCT.replace("x * y", "x * y if mpc.me != 1 else x + y")
    ended = deployment.run(deployment.script(body))
    assert statuses(ended) == [1, 1, 1], ended
    for e in ended:
        assert "ProgramMismatch" in error_of(e)
        assert "script.py:6" in error_of(e), error_of(e)
    assert "add of" in error_of(ended[1])
    assert "mul of" in error_of(ended[0])
    ended = deployment.run(deployment.script(f"{PRODUCT}(x if mpc.me != 1 else y).reveal()"))
    for e in ended:
        assert "reveals other values" in error_of(e) and "start the script anew everywhere" in error_of(e)
    assert statuses(deployment.run(deployment.script(f"{PRODUCT}x.reveal()"))) == [0, 0, 0]


@pytest.mark.parametrize(
    "change",
    ["shape=(3,)", "dtype=qr.int(64)", "owner=1, shape"],
    ids=["a shape", "a dtype", "an owner"],
)
def test_declarations_that_differ(deployment: Deployment, change: str) -> None:
    other = {"shape=(3,)": "shape=(4,)", "dtype=qr.int(64)": "dtype=qr.int(32)", "owner=1, shape": "owner=0, shape"}
    script = deployment.script(PRODUCT)
    changed = deployment.folder / "other.py"
    changed.write_text(script.read_text().replace(change, other[change]))
    scripts = [script, script, changed]
    running = [deployment.start(me, path, "--session", "one") for me, path in enumerate(scripts)]
    ended = [party.end() for party in running]
    assert statuses(ended) == [1, 1, 1], ended
    for e in ended:
        assert "ProgramMismatch" in e.err, e.err
        assert ".py:" in error_of(e), error_of(e)
        assert "[ 4 10 18]" not in e.out


def test_results_for_different_parties(deployment: Deployment) -> None:
    body = PRODUCT.replace("reveal()", "reveal(to=0 if mpc.me == 2 else None)")
    ended = deployment.run(deployment.script(body))
    assert statuses(ended) == [1, 1, 1], ended
    assert all("ProgramMismatch" in error_of(e) and "reveals" in error_of(e) for e in ended)
    assert all("here it is the reveal of mul of (3,) int(64) at " in error_of(e) for e in ended), ended
    assert ", to party 0. Run" in error_of(ended[2])


def test_who_leaves_early_is_reported_to_who_waits(as_started: Deployment) -> None:
    body = f"{PRODUCT}if mpc.me != 1:\n    (x + y).reveal()"
    ended = as_started.run(as_started.script(body))
    assert ended[1].status == 0
    for e in (ended[0], ended[2]):
        assert e.status == 1, e
        assert "ProgramMismatch" in error_of(e)
        assert "party 1 left" in error_of(e)
        assert e.seconds < 15


def test_a_script_that_fails_takes_the_others_along(as_started: Deployment) -> None:
    body = f"{PRODUCT}if mpc.me == 2:\n    raise ValueError('no such record')\n(x + y).reveal()"
    ended = as_started.run(as_started.script(body))
    assert ended[2].status == 1
    assert "no such record" in ended[2].err
    for e in ended[:2]:
        assert e.status == 5, e
        assert "party 2" in error_of(e)
        assert e.seconds < 15


def test_a_script_chooses_its_status(as_started: Deployment) -> None:
    assert statuses(as_started.run(as_started.script(PRODUCT + "sys.exit(7 if mpc.me == 1 else 0)"))) == [0, 7, 0]


def test_a_bad_input_stops_all_and_shows_its_value_to_its_owner_only(deployment: Deployment) -> None:
    body = PRODUCT.replace("[4, 5, 6]", "[4, 5, 4711]").replace("dtype=qr.int(64)", "dtype=qr.int(12)")
    ended = deployment.run(deployment.script(body))
    assert statuses(ended) == [5, 1, 5], ended
    assert "RangeError" in error_of(ended[1])
    assert "4711" in error_of(ended[1])
    for e in (ended[0], ended[2]):
        assert "party 1" in error_of(e)
        assert "4711" not in e.err + e.out


# ---- interruptions -------------------------------------------------------------------------------------------------


def test_ctrl_c_at_one_party_ends_all(as_started: Deployment) -> None:
    running = as_started.start_all(as_started.script(LONG["offline"]))
    for party in running:
        party.wait_for("running")
    started = time.monotonic()
    running[1].signal(signal.SIGINT)
    interrupted = running[1].end()
    assert interrupted.status == 130, interrupted
    assert "interrupted" in interrupted.err
    for party in (running[0], running[2]):
        ended = party.end()
        assert ended.status in (3, 5), ended
        assert "party 1" in error_of(ended)
    assert time.monotonic() - started < 20


def test_ctrl_c_while_waiting_for_the_others(as_started: Deployment) -> None:
    lonely = as_started.start(0, as_started.script(PRODUCT))
    as_started.wait_until_listening(0)
    started = time.monotonic()
    lonely.signal(signal.SIGINT)
    assert lonely.end().status == 130
    assert time.monotonic() - started < 20


def test_a_session_goes_on_after_an_aborted_run(deployment: Deployment) -> None:
    body = (
        INPUTS
        + TELLING.format(phase="online")
        + """
x, y = secret(0, 2_000_000), secret(1, 2_000_000)
try:
    (x < y).sum().reveal()
except (KeyboardInterrupt, qr.RunAborted) as error:
    print(type(error).__name__)
print((x[:4] * y[:4]).reveal())
"""
    )
    running = deployment.start_all(deployment.script(body))
    for party in running:
        party.wait_for("running")
    running[2].signal(signal.SIGINT)
    ended = [party.end() for party in running]
    assert statuses(ended) == [0, 0, 0], ended
    assert [e.out.split("\n")[1] for e in ended] == ["PeerEnded", "PeerEnded", "KeyboardInterrupt"]
    assert all("[0 1 4 9]" in e.out for e in ended)
