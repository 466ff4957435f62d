"""Too little memory: pieces that fit, a refusal before anything is sent, an error during the run; never a backtrace."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from quorate._families import FAMILIES

MB = 10**6

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says what is free")

# From this point on, the process may use this much more address space.
HEAD = """
import resource
import numpy as np
import quorate as qr

def allow(megabytes):
    with open("/proc/self/status", encoding="ascii") as status:
        size = int(status.read().split("VmSize:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size + megabytes * 10**6, resource.RLIM_INFINITY))

"""


def printed(folder: Path, text: str) -> str:
    """Returns the output of a script that ends well without complaints."""
    script = folder / "short.py"
    script.write_text(HEAD + text, encoding="utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert not run.stderr, run.stderr
    return run.stdout


SUMS = """
x = np.random.default_rng(1).integers(0, 500, 4000)
with qr.local("PROTOCOL") as mpc:
    a = mpc.input(x, owner=0)
    planned = mpc.explain((a[:, None] == np.arange(500)).sum(0)).memory_bytes
    allow(MEGABYTES)
    little = mpc.explain((a[:, None] == np.arange(500)).sum(0)).memory_bytes
    counts = (a[:, None] == np.arange(500)).sum(0).reveal()
    assert (counts == np.bincount(x, minlength=500)).all()
    print(planned, little)
"""


@linux
def test_what_is_free_is_the_limit(tmp_path: Path) -> None:
    """As a whole it would take a gigabyte in three parties."""
    text = SUMS.replace("PROTOCOL", "rss").replace("MEGABYTES", "450")
    planned, little = map(int, printed(tmp_path, text).split())
    assert planned > 200 * MB > little * 1.1


REFUSED = """
with qr.local("rss") as mpc:
    x = mpc.input(np.arange(10**6), owner=0)
    x.sum().reveal()
    allow(200)
    rounds = mpc.stats().online.rounds
    shuffled = mpc.shuffle(x)
    plan = mpc.explain(shuffled)
    try:
        shuffled.reveal()
    except qr.ResourceError as error:
        assert isinstance(error, MemoryError) and plan.refusal.split(":")[0][:40] == str(error)[:40]
        print(error)
    assert mpc.stats().online.rounds == rounds
    assert (x[:3] * 2).reveal().tolist() == [0, 2, 4]
"""


@linux
def test_what_cannot_fit_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    message = printed(tmp_path, REFUSED)
    needs = r"shuffle .*, which does not run in pieces, needs (\d+) MB at each party"
    found = re.search(needs + r" .*3 parties in this process has (\d+) MB", message)
    assert found, message
    assert int(found[1]) > int(found[2]) > 10


# From its first progress report on, the process gets no more memory. The program would run for minutes.
MIDST = """
with qr.local("rss", check=False) as mpc:
    x, y = mpc.input(np.arange(10**6), owner=0), mpc.input(np.arange(10**6), owner=1)
    (x[:5] * y[:5]).reveal()
    for _ in range(1000):
        x = x * y + 1
    from quorate._display import _progress
    _progress.Progress.show = lambda self, *told: allow(0)
    try:
        x.reveal()
    except qr.ResourceError as error:
        print(error)
    allow(2000)
    try:
        mpc.input([1], owner=0).reveal()
    except qr.SessionClosed as error:
        print(error)
with qr.local("rss") as mpc:
    print(mpc.input([17], owner=0).reveal())
"""


@linux
def test_memory_that_runs_out_in_the_midst_ends_the_session(tmp_path: Path) -> None:
    first, second, third = printed(tmp_path, MIDST).splitlines()
    assert re.match(r"out of memory: .* could not be had; the plan of this run is \d+ MB at each party", first), first
    assert "ran out of memory" in second
    assert third == "[17]"


INPUTS = """
values = np.zeros(10**7)
with qr.local("rss") as mpc:
    allow(100)
    for give in (lambda: mpc.input(values, owner=0), lambda: mpc.constant(values)):
        try:
            give()
        except MemoryError as error:
            print(type(error).__name__)
    assert mpc.input([5], owner=0).reveal().tolist() == [5]
"""


@linux
def test_values_without_room_are_an_error(tmp_path: Path) -> None:
    names = printed(tmp_path, INPUTS).split()
    assert len(names) == 2 and set(names) <= {"ResourceError", "MemoryError", "_ArrayMemoryError"}


def test_large_sums_need_no_limit() -> None:
    """They run in pieces as with `max_memory`, without the option; the plan shows it, here and at any party."""
    for protocol in FAMILIES:
        with qr.local(protocol, sharings="A") as mpc:
            rows = 40_000 if protocol == "rss" else 3_000  # gigabytes, whole
            x = mpc.input(np.arange(rows) % 500, owner=0)
            plan = mpc.explain((x[:, None] == np.arange(500)).sum(0), network="lan")
            assert plan.refusal is None
            if protocol == "rss":
                assert plan.memory_bytes < 1600 * MB  # correlations included


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path)
    yield deployment
    deployment.stop()


# Party 1 has little memory; its way to compute does not change what the others do.
APART = """
x = mpc.input(np.arange(4 * 10**6) if mpc.me == 0 else None, owner=0, shape=(4 * 10**6,), dtype=qr.int(64))
few = (x[:4] + 1).reveal()
# The shuffle takes 200 MB: more than what threads of the first run may still give back.
if mpc.me == 1:
    allow(60)
try:
    mpc.shuffle(x).reveal()
except qr.ResourceError as error:
    print(error)
print((x[:3] * 2).reveal().tolist(), few.tolist())
"""


@linux
def test_all_parties_refuse_what_one_of_them_cannot_hold(deployment: Deployment) -> None:
    script = deployment.script(APART)
    lines = script.read_text(encoding="utf-8")
    script.write_text(HEAD + lines, encoding="utf-8")
    for me, ended in enumerate(deployment.run(script)):
        assert ended.status == 0, f"party {me}: {ended.err}"
        assert re.search(r"needs \d+ MB at each party .* but party 1 has \d+ MB", ended.out), ended.out
        assert "[0, 2, 4] [1, 2, 3, 4]" in ended.out
