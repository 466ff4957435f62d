"""Large steps under a limit on memory: they run in pieces, with the same results, in the same rounds, as planned."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from protocols import Place, among

MB = 10**6

# Memory of a process beside its parties: numpy arrays of the interpreter, and freed memory that allocators keep.
SLACK = 45 * MB

# Runs one operation in three parties, and prints how many bytes the process grew since its inputs were given. The plan
# is that of another session, made afterwards: the first plan of a process measures the machine, in memory that is no
# party's.
SCRIPT = """
import sys
import numpy as np
import quorate as qr

def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024

count, limit = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(1)
INPUTS
with qr.local("rss", max_memory=limit) as mpc:
    a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
    before = peak()
    result = (OPERATION).reveal()
    grew, stats = peak() - before, mpc.stats()
with qr.local("rss", max_memory=limit) as mpc:
    a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
    plan = mpc.explain(OPERATION)
print(grew, plan.memory_bytes)
for phase in ("offline", "online"):
    planned, measured = getattr(plan, phase), getattr(stats, phase)
    assert (planned.rounds, tuple(planned.bytes_sent)) == (measured.rounds, tuple(measured.bytes_sent)), phase
EXPECTED
"""

INTEGERS = "x, y = rng.integers(-(2**62), 2**62, (2, count))"
REALS = "x, y = rng.uniform(-30, 30, (2, count)).round(4)"
SUM_OF_BITS = "sum(int(np.bitwise_count(v)) for v in x.view(np.uint64))"


@pytest.mark.parametrize(
    ("inputs", "operation", "expected", "count", "limit"),
    [
        (INTEGERS, "a < b", "assert (result == (x < y)).all()", 10**6, 75),
        (INTEGERS, "a // 1000", "assert (result == x // 1000).all()", 3 * 10**5, 40),
        (INTEGERS, "mpc.where(a < b, a, b)", "assert (result == np.minimum(x, y)).all()", 3 * 10**5, 45),
        (INTEGERS, "a.max()", "assert result == x.max()", 10**6, 60),
        (INTEGERS, "a.argmin()", "assert result == x.argmin()", 3 * 10**5, 40),
        (INTEGERS, "a.bits().sum()", f"assert result == {SUM_OF_BITS}", 10**5, 40),
        (INTEGERS, "mpc.take(a[:200] >> 12, b[:2000] & 255).sum()", "pass", 10**4, 25),
        (
            "x, y = rng.integers(-1000, 1000, (count, 10)), rng.integers(-1000, 1000, (10, 10))",
            "a @ b",
            "assert (result == x @ y).all()",
            2 * 10**5,
            120,
        ),
        (REALS, "a * b", "assert np.abs(result - x * y).max() < 0.01", 10**6, 150),
        (REALS, "qr.sigmoid(a)", "assert np.abs(result - 1 / (1 + np.exp(-x))).max() < 2**-15", 2 * 10**5, 35),
    ],
)
def test_a_million_elements_stay_within_the_limit(
    tmp_path: Path, inputs: str, operation: str, expected: str, count: int, limit: int
) -> None:
    text = SCRIPT.replace("INPUTS", inputs).replace("OPERATION", operation).replace("EXPECTED", expected)
    script = tmp_path / "limited.py"
    script.write_text(text, encoding="utf-8")
    command = [sys.executable, str(script), str(count), f"{limit}MB"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    grew, planned = map(int, run.stdout.split())
    assert planned <= limit * MB
    assert grew <= 3 * planned + SLACK, f"{grew / MB:.0f} MB, planned {planned / MB:.0f} MB a party"


# Looks up numbers of 16 bits, whose keys have 2^16 leaves each. Prints how much the process grew since its inputs were
# given, and the plan.
LOOKUPS = """
import sys
import numpy as np
import quorate as qr

def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024

count, protocol, options = int(sys.argv[1]), sys.argv[2], dict(pair.split("=") for pair in sys.argv[3:])
entries = np.random.default_rng(1).integers(-(2**31), 2**31, 2**16)
x = np.random.default_rng(2).integers(-(2**15), 2**15, count)

def looked_up(mpc):
    secret = mpc.input(x, owner=0, dtype=qr.int(16))
    return qr.lookup(secret, entries, domain=(-(2**15), 2**15), dtype=qr.int(32))

with qr.local(protocol, **options) as mpc:
    found = looked_up(mpc)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peaks:
        peaks.write("5")
    before = peak()
    assert (found.reveal() == entries[x + 2**15]).all()
    grew = peak() - before
with qr.local(protocol, **options) as mpc:
    print(grew, mpc.explain(looked_up(mpc)).memory_bytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts peaks anew")
@pytest.mark.parametrize(
    ("protocol", "parties", "count", "limit", "whole"),
    [
        # Bits of all leaves at two parties.
        (["pika"], 3, 20_000, 30, 2 * 2**16 * 20_000 // 8),
        (["aby"], 2, 20_000, 140, 2 * 2**16 * 20_000 // 8),
        # Values with tags of 128 bits.
        (["pika", "malicious=yes"], 3, 2_000, 80, 2 * 32 * 2**16 * 2_000),
    ],
)
def test_keys_of_large_domains_take_no_memory(
    tmp_path: Path, protocol: list[str], parties: int, count: int, limit: int, whole: int
) -> None:
    script = tmp_path / "lookups.py"
    script.write_text(LOOKUPS, encoding="utf-8")
    command = [sys.executable, str(script), str(count), *protocol, f"max_memory={limit}MB"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    grew, planned = map(int, run.stdout.split())
    assert planned <= limit * MB
    assert grew <= min(parties * planned + SLACK, whole // 2), f"{grew / MB:.0f} MB, planned {planned / MB:.0f} MB"


def test_a_number_is_looked_up_in_little_memory() -> None:
    """It takes the memory of a few numbers, not of a whole stream of them."""
    limits = {"rss": 2, "pika": 2, "aby": 2, "spdz2k": 8}
    for protocol, megabytes in limits.items():
        with qr.local(protocol, max_memory=megabytes * MB) as mpc:
            found = qr.lookup(mpc.input([7], owner=0, dtype=qr.int(16)), lambda i: i * i % 251)
            plan = mpc.explain(found)
            assert plan.refusal is None and plan.memory_bytes <= megabytes * MB
            if protocol != "spdz2k":  # makes a stock
                assert found.reveal() == [49]
    with qr.local("pika", malicious=True, max_memory=80 * MB) as mpc:
        assert qr.lookup(mpc.input([7], owner=0, dtype=qr.int(16)), lambda i: i * i % 251).reveal() == [49]


Operation = Callable[[Any, Any, Any], Any]

OPERATIONS: dict[str, Operation] = {
    "compare": lambda mpc, a, b: a < b,
    "equal": lambda mpc, a, b: a == b,
    "and": lambda mpc, a, b: a & b,
    "quotient": lambda mpc, a, b: a // 7,
    "remainder": lambda mpc, a, b: a[:1000] % np.arange(1, 1001),
    "shift": lambda mpc, a, b: a >> 3,
    "magnitude": lambda mpc, a, b: abs(a),
    "clip": lambda mpc, a, b: a.clip(-50, 50),
    "choose": lambda mpc, a, b: mpc.where(a < b, a, b + 1),
    "convert": lambda mpc, a, b: a.astype(qr.fixed(64, 16)),
    "bits": lambda mpc, a, b: a.bits().sum(axis=0),
    "count": lambda mpc, a, b: (a.reshape(-1, 1) < b[:9]).sum(axis=1),
    "chain": lambda mpc, a, b: ((a + 1) * (b - 1) * (a - b)).sum(),
    "matrix": lambda mpc, a, b: a.reshape(-1, 4) @ b[:12].reshape(4, 3),
    "turned": lambda mpc, a, b: b[:12].reshape(3, 4) @ a.reshape(4, -1),
    "largest": lambda mpc, a, b: a.max(),
    "lanes": lambda mpc, a, b: a.reshape(4, -1).argmax(axis=0),
    "sort": lambda mpc, a, b: a.sort(),
    "take": lambda mpc, a, b: mpc.take(a[:40], b % 50),
    "shuffle": lambda mpc, a, b: mpc.shuffle(a).sum(),
    "softmax": lambda mpc, a, b: qr.softmax(a.astype(qr.fixed(64, 8)).reshape(-1, 4)),
}


@pytest.mark.parametrize(
    ("name", "parties"), [(name, 3) for name in OPERATIONS] + [(name, 5) for name in ["turned", "largest", "shuffle"]]
)
def test_results_are_those_without_a_limit(name: str, parties: int) -> None:
    """Under any limit a program is refused in words, or has the same result, and the plan's rounds and bytes."""
    rng = np.random.default_rng(len(name))
    x, y = rng.integers(-100, 100, (2, 4096))

    def run(limit: int | None) -> tuple[Any, int, Any]:
        with qr.local("rss", parties=parties, max_memory=limit) as mpc:
            a, b = mpc.input(x, owner=0), mpc.input(y, owner=1)
            z = OPERATIONS[name](mpc, a, b)
            plan = mpc.explain(z)
            if plan.refusal is not None:
                with pytest.raises(qr.ConfigError, match="max_memory is"):
                    z.reveal()
                return None, plan.memory_bytes, plan
            result = z.reveal()
            stats = mpc.stats()
            for phase in ("offline", "online"):
                planned, measured = getattr(plan, phase), getattr(stats, phase)
                assert planned.rounds == measured.rounds
                assert tuple(planned.bytes_sent) == tuple(measured.bytes_sent)
            return result, plan.memory_bytes, plan

    expected, whole, free = run(None)
    limits = [int(whole * share) for share in (0.99, 0.5, 0.2, 0.1)]
    results = [(limit, *run(limit)) for limit in limits]
    ran = [(limit, result, planned) for limit, result, planned, plan in results if plan.refusal is None]
    for limit, result, planned in ran:
        assert planned <= limit
        np.testing.assert_array_equal(result, expected)
    assert ran or name == "shuffle", f"{name} did not run in pieces, within less than {whole} bytes"
    # Values of some are made within others' pieces, in other lanes. Sorts are networks where memory is scarce.
    if name not in ("bits", "count", "chain", "take", "sort"):
        assert {plan.online.rounds for _, _, _, plan in results if plan.refusal is None} <= {free.online.rounds}


def test_a_shuffle_says_that_it_runs_whole() -> None:
    with qr.local("rss", max_memory="40MB") as mpc:
        x = mpc.input(np.arange(500_000), owner=0)
        with pytest.raises(qr.ConfigError, match=r"shuffle of .*, which does not run in pieces, needs \d+ MB"):
            mpc.shuffle(x).reveal()


def test_what_waits_for_its_check_is_counted() -> None:
    # In the paper's form each of three signs of 64 bits opens two bits of 24 bytes in each of 124 ANDs.
    each = 3 * 124 * 2 * 24
    with qr.local("spdz2k", parties=2, bits="paper", max_memory="1MB") as mpc:
        lists = [mpc.input(np.arange(count), owner=0) for count in (2000, 4000)]
        fewer, more = (mpc.explain(a < a[::-1]).memory_bytes for a in lists)
    assert 2000 * each < more - fewer < 2500 * each


# Compares under a limit that holds some of the correlations at a time. Prints how much the process grew, and the plan.
TURNS = """
import numpy as np
import quorate as qr

def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024

with qr.local("spdz2k", parties=2, mac=48, max_memory="150 MB") as mpc:
    a, b = (mpc.input(np.arange(3000) % 100, owner=owner, dtype=qr.int(32)) for owner in (0, 1))
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peaks:
        peaks.write("5")
    before = peak()
    assert not (a < b).reveal().any()
    print(peak() - before, mpc.explain(a < b).memory_bytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts peaks anew")
def test_correlations_made_in_turns_keep_to_the_limit() -> None:
    run = subprocess.run([sys.executable, "-c", TURNS], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    grew, planned = map(int, run.stdout.split())
    assert planned <= 150 * MB
    assert grew <= 2 * planned + SLACK, f"{grew / MB:.0f} MB, planned {planned / MB:.0f} MB a party"


@pytest.mark.parametrize(
    ("place", "count", "limit", "options"),
    [(Place("rss", 3), 300_000, "36 MB", {}), (Place("spdz2k", 2), 3000, "150 MB", {"offline": "protocol", "mac": 48})],
    ids=str,
)
def test_correlations_that_are_made_while_a_run_goes_on_count_as_offline(
    place: Place, count: int, limit: str, options: dict[str, Any]
) -> None:
    shares = []
    for max_memory in (None, limit):
        with among(place, max_memory=max_memory, **options) as mpc:
            dtype = qr.int(32)
            a, b = (mpc.input(np.arange(count) % 100, owner=owner, dtype=dtype) for owner in (0, 1))
            plan = mpc.explain(a < b)
            assert not (a < b).reveal().any()
            stats = mpc.stats()
        planned, took = plan.offline.compute_seconds, stats.offline.compute_seconds
        shares.append((planned / (planned + plan.online.compute_seconds), took / (took + stats.online.compute_seconds)))
    (whole, whole_took), (turns, turns_took) = shares
    assert turns > 0.3 * whole, shares
    assert turns_took > 0.3 * whole_took, shares


def test_pieces_are_as_small_as_turns_of_their_correlations_have_to_be() -> None:
    def needed(limit: str) -> tuple[int, str | None]:
        with qr.local("spdz2k", parties=2, max_memory=limit) as mpc:
            a = mpc.input(np.arange(20_000), owner=0)
            plan = mpc.explain(a < a[::-1])
            return plan.memory_bytes, plan.refusal

    least, refusal = needed("1 MB")
    assert refusal is not None
    for limit in (least + MB, 2 * least):
        taken, refusal = needed(f"{limit // MB} MB")
        assert refusal is None and taken <= limit
    # Takes little by itself, but needs a whole batch of triples.
    with qr.local("spdz2k", parties=2, max_memory="80 MB") as mpc:
        a, b = (mpc.input(np.arange(4200), owner=owner) for owner in (0, 1))
        assert mpc.explain((a + b) * (a - b)).refusal is None


@pytest.mark.parametrize(
    ("parties", "options"), [(2, {}), (3, {}), (2, {"mac": 48}), (2, {"matrices": "experimental"})], ids=str
)
def test_bits_are_held_with_each_peer_and_products_hold_what_they_open(parties: int, options: dict[str, Any]) -> None:
    count = 10**5
    with qr.local("spdz2k", parties=parties, max_memory="1 GB", **options) as mpc:
        dtype = qr.int(32 if "mac" in options else 64)
        x, y = (mpc.input(np.arange(count) % 30000, owner=owner, dtype=dtype) for owner in (0, 1))
        (x[:1] + y[:1]).reveal()
        fewer, more = (mpc.explain(reveals).memory_bytes for reveals in (x + y, x * y))
        assert more - fewer > count * (8 + 3 * parties) * (16 if "mac" in options else 32)
        bits = mpc.input(np.arange(count) % 3 == 0, owner=0)
        bits[:1].reveal()
        # A MAC and a key of 16 bytes with each peer; the program keeps them.
        assert mpc.explain(x + y).memory_bytes - fewer >= count * 32 * (parties - 1)


def test_what_a_held_value_is_revealed_with_is_counted() -> None:
    with qr.local("spdz2k", parties=2, max_memory="1 GB") as mpc:
        x = mpc.input(np.arange(10**5), owner=0)
        y = x + 1
        y.reveal()
        taken = mpc.explain(y).memory_bytes
    # Shares and tags of both, the opened values as share and as number, and the values that wait for the check.
    each = 2 * 32 + 2 * 8 + 24
    assert 10**5 * each <= taken < 10**5 * (each + 2)


#: Operations on an array of 20 columns, and a public number for each of them.
ROWS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda mpc, x, row: x + row,
    "difference": lambda mpc, x, row: row - x,
    "product": lambda mpc, x, row: x * row,
    "compare": lambda mpc, x, row: x < row,
    "equal": lambda mpc, x, row: x == row,
    "choose": lambda mpc, x, row: mpc.where(x < 5, x, row),
    "quotient": lambda mpc, x, row: x // row,
    "remainder": lambda mpc, x, row: x % row,
    "multiple": lambda mpc, x, row: x * (row / 7),
    "divide": lambda mpc, x, row: x / row,
    "bits": lambda mpc, x, row: x & row,
}

# Builds and plans one of them on 10^6 rows that are read in parts; prints how much the process grew.
BUILT = """
import sys
import numpy as np
import quorate as qr
sys.path.insert(0, "TESTS")
from test_memory import ROWS

def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024

row = np.arange(20) * 3 + 1
with qr.local("rss", max_memory="200MB") as mpc, mpc._without_values():
    few, many = (
        mpc.read(owner=0, columns=list(map(str, row)), shape=(rows, 20), dtype=qr.int(64), bound=1000)
        for rows in (10, 10**6)
    )
    mpc.explain(few.sum())  # measures the machine
    before = peak()
    for name in sys.argv[1:]:
        plan = mpc.explain(ROWS[name](mpc, many, row).sum(axis=0))
        # The bits of all elements are held between two steps.
        assert name == "bits" or plan.refusal is None and plan.memory_bytes <= 200 * 10**6, plan.refusal
    print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of a process as Linux tells it")
def test_a_public_row_takes_the_memory_of_a_row() -> None:
    """While a program is built and planned; one number for each element took 160 MB, and four times that at first."""
    script = BUILT.replace("TESTS", str(Path(__file__).parent))
    run = subprocess.run([sys.executable, "-c", script, *ROWS], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 20 * MB, f"{int(run.stdout) / MB:.0f} MB"


@pytest.mark.parametrize("place", [Place("rss", 3), Place("aby", 2), Place("spdz2k", 2), Place("pika", 3)], ids=str)
def test_public_rows_and_columns_mean_what_numpy_means(place: Place) -> None:
    x = np.random.default_rng(7).integers(-50, 50, (3, 4, 2))
    for shape in ((4, 1), (2,), (3, 1, 2)):
        row = np.arange(int(np.prod(shape))).reshape(shape) * 3 + 1
        with among(place) as mpc:
            secret = mpc.input(x, owner=0, bound=50)
            for name, made in ROWS.items():
                result, wanted = made(mpc, secret, row).reveal(), made(np, x, row)
                np.testing.assert_allclose(result, wanted, atol=2**-12, err_msg=f"{name} with {shape}")
