"""Files that are larger than memory: `mpc.read` reads them in parts, and runs keep to their limit on memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment, error_of
from quorate._families import FAMILIES
from quorate.tables import _csv, _csv_parts, _rows
from quorate.tables._rows import FileRows

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

MB = 10**6
#: The families that read files in parts: in the other one, parties may cheat.
STREAMING = [name for name in FAMILIES if name != "spdz2k"]
COUNT = 30_000


def numbers(count: int = COUNT) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(count)
    return {
        "a": rng.integers(-1000, 1000, count),
        "b": rng.integers(-1000, 1000, count),
        "group": rng.integers(0, 5, count),
        "real": rng.uniform(-5, 5, count).round(3),
        "bit": rng.random(count) < 0.3,
    }


def written(path: Path, columns: dict[str, np.ndarray], rows: int) -> Path:
    """Writes a file whose row groups, or record batches, have this many rows."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=rows)
    elif path.suffix == ".arrow":
        feather.write_feather(table, path, chunksize=rows)
    else:
        texts = [",".join(map(str, row)) for row in zip(*(v.tolist() for v in columns.values()), strict=True)]
        path.write_text("\n".join([",".join(columns), *texts]) + "\n", encoding="utf-8")
    return path


Program = Callable[[qr.Session, Callable[..., qr.SecretArray]], qr.SecretArray]

#: Programs of columns that are read, and numpy's results.
PROGRAMS: dict[str, tuple[Program, Callable[[dict[str, np.ndarray]], Any]]] = {
    "sum": (lambda mpc, read: read("a").sum(), lambda x: x["a"].sum()),
    "mean": (lambda mpc, read: read("real").mean(), lambda x: x["real"].mean()),
    "variance": (lambda mpc, read: read("real", bound=5).var(), lambda x: x["real"].var()),
    "squares": (lambda mpc, read: (lambda a: (a * a).sum())(read("a")), lambda x: (x["a"] ** 2).sum()),
    "count": (lambda mpc, read: (read("a") < 5).sum(), lambda x: (x["a"] < 5).sum()),
    "bits": (lambda mpc, read: read("bit").sum(), lambda x: x["bit"].sum()),
    "compare": (lambda mpc, read: (read("a") < read("b", owner=1)).sum(), lambda x: (x["a"] < x["b"]).sum()),
    "product": (lambda mpc, read: read("a").dot(read("b", owner=1)), lambda x: x["a"] @ x["b"]),
    "column": (lambda mpc, read: (read(["a", "b"])[:, 1] < 7).sum(), lambda x: (x["b"] < 7).sum()),
    "two columns": (
        lambda mpc, read: (read(["a", "b", "group"])[:, 1:] < 2).sum(),
        lambda x: (x["b"] < 2).sum() + (x["group"] < 2).sum(),
    ),
    "sizes": (
        lambda mpc, read: (read("group", bound=(0, 4)).reshape(-1, 1) == np.arange(5)).sum(axis=0),
        lambda x: np.bincount(x["group"], minlength=5),
    ),
    "groups": (
        lambda mpc, read: mpc.group_by(read("group", bound=(0, 4)), 5).sum(read("a", owner=1)),
        lambda x: np.bincount(x["group"], x["a"], minlength=5),
    ),
    "linear": (
        lambda mpc, read: (read(["a", "b"], bound=1000) @ np.array([3, -2]) > 7).sum(),
        lambda x: (3 * x["a"] - 2 * x["b"] > 7).sum(),
    ),
    "classes": (
        lambda mpc, read: (read(["a", "b"], bound=1000) @ np.array([[3, 1, 0], [-2, 1, 5]]) > 7).sum(axis=0),
        lambda x: (np.stack([x["a"], x["b"]], 1) @ np.array([[3, 1, 0], [-2, 1, 5]]) > 7).sum(axis=0),
    ),
    "both": (
        lambda mpc, read: (lambda a: (a < 5).sum() + a.sum())(read("a")),
        lambda x: (x["a"] < 5).sum() + x["a"].sum(),
    ),
    "largest": (lambda mpc, read: read("a", bound=1000).max(), lambda x: x["a"].max()),
    "place": (lambda mpc, read: (read(["a", "b"], bound=1000)[:, 1] * 2).argmin(), lambda x: x["b"].argmin()),
    "product of reals": (
        lambda mpc, read: read("real", bound=5).dot(read("real", owner=1, bound=5)),
        lambda x: ((np.rint(x["real"] * 2**16) / 2**16) ** 2).sum(),
    ),
    "rows": (
        lambda mpc, read: (read(["a", "b"], bound=1000) * np.array([3, -2]) < np.array([7, 9])).sum(axis=0),
        lambda x: np.array([(3 * x["a"] < 7).sum(), (-2 * x["b"] < 9).sum()]),
    ),
    "order": (lambda mpc, read: read("a", bound=1000).sort()[:3], lambda x: np.sort(x["a"])[:3]),
}


@pytest.mark.parametrize(
    ("suffix", "protocol"), [(".arrow", "rss"), (".csv", "rss"), *((".parquet", protocol) for protocol in STREAMING)]
)
def test_results_are_those_of_whole_files(tmp_path: Path, protocol: str, suffix: str, monkeypatch: Any) -> None:
    """With a limit and without, in the rounds and bytes of the plan, from batches that are shorter than pieces.

    Families ask for ranges of rows, and files do not know whom they answer.
    """
    monkeypatch.setattr(_csv_parts, "_BATCH", 700)
    columns = numbers(15_000)
    path = written(tmp_path / f"x{suffix}", columns, 1000)
    some = ["mean", "compare", "sizes", "linear", "place", "product of reals", "rows"]
    names = PROGRAMS if suffix == ".parquet" and protocol == "rss" else some
    for name in names:
        program, expected = PROGRAMS[name]
        for limit in (None, "4MB"):
            with qr.local(protocol, max_memory=limit) as mpc:

                def read(columns: Any, owner: int = 0, **how: Any) -> qr.SecretArray:
                    return mpc.read(path, owner=owner, columns=columns, **how)

                made = program(mpc, read)
                plan, before = mpc.explain(made), mpc.stats()
                if plan.refusal is not None:
                    assert limit is not None and name == "order", plan.refusal
                    continue
                result = made.reveal()
                np.testing.assert_allclose(result, expected(columns), atol=2**-10, err_msg=f"{name} under {limit}")
                stats = mpc.stats()
                for phase in ("offline", "online"):
                    planned, measured, old = (getattr(of, phase) for of in (plan, stats, before))
                    assert planned.rounds == measured.rounds - old.rounds, name
                    sent = [new - was for new, was in zip(measured.bytes_sent, old.bytes_sent, strict=True)]
                    assert list(planned.bytes_sent) == sent, name


# Runs a program of a file's columns in three parties; prints how much the process grew, and the plan.
SCRIPT = """
import sys
import numpy as np
import quorate as qr

def peak():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(status.read().split("VmHWM:")[1].split()[0]) * 1024

path, limit, small = sys.argv[1:]
with qr.local("rss", max_memory=limit) as mpc:
    few = mpc.read(small, owner=0, columns="c0")  # loads pyarrow
    mpc.explain((few < 2).sum()), (few < 2).sum().reveal()  # and measures the machine
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peaks:
        peaks.write("5")
    before = peak()
    PROGRAM
    plan = mpc.explain(made)
    result = np.asarray(made.reveal()).tolist()
    print(peak() - before, plan.memory_bytes, result)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of a process as Linux tells it")
@pytest.mark.parametrize(
    "program",
    [
        "x = mpc.read(path, owner=0); made = x.sum(axis=0)",
        "x = mpc.read(path, owner=0, columns='c3'); made = (x < 5).sum()",
        "x = mpc.read(path, owner=0, bound=8); made = (x @ np.arange(8) > 50).sum()",
        "x = mpc.read(path, owner=0); made = x.astype(qr.real).mean(axis=0)",
        "x = mpc.read(path, owner=0, bound=8); made = (x * np.arange(8) < np.arange(8) + 9).sum(axis=0)",
        "x = mpc.read(path, owner=0, columns='c3', bound=8); made = (x * 3).max()",
    ],
)
def test_files_of_four_times_the_limit(tmp_path: Path, program: str) -> None:
    rows, limit = 750_000, 12
    columns = {f"c{i}": (np.arange(rows) * (i + 1)) % 8 for i in range(8)}
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=1 << 18)
    table = np.stack(list(columns.values()), axis=1)
    assert table.nbytes >= 4 * limit * MB
    parquet.write_table(pa.table({"c0": [1, 2, 3]}), tmp_path / "small.parquet")
    arguments = [str(tmp_path / "x.parquet"), f"{limit}MB", str(tmp_path / "small.parquet")]
    command = [sys.executable, "-c", SCRIPT.replace("PROGRAM", program), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    grew, planned, result = run.stdout.split(maxsplit=2)
    assert int(planned) <= limit * MB
    assert int(grew) <= 3 * limit * MB + 45 * MB, f"{int(grew) / MB:.0f} MB, planned {int(planned) / MB:.0f} MB a party"
    wanted = {
        "+ 9": (table * np.arange(8) < np.arange(8) + 9).sum(axis=0),
        "sum(axis=0)": table.sum(axis=0),
        "< 5": (columns["c3"] < 5).sum(),
        "> 50": (table @ np.arange(8) > 50).sum(),
        ".max()": 3 * columns["c3"].max(),
        "mean": table.mean(axis=0),
    }
    np.testing.assert_allclose(eval(result), next(v for k, v in wanted.items() if k in program), atol=2**-10)


@pytest.mark.parametrize("compared", [False, True])
def test_sums_of_groups_are_planned_within_the_limit(compared: bool) -> None:
    with qr.local("rss", max_memory="24MB") as mpc, mpc._without_values():
        keys = mpc.read(owner=0, columns="a", shape=1_500_000, dtype=qr.int(64), bound=(0, 6))
        values = mpc.read(owner=1, columns="b", shape=1_500_000, dtype=qr.int(64), bound=1000)
        sums = mpc.group_by(keys, 7).sum(values)
        plan = mpc.explain(sums > 100 if compared else sums)
        assert plan.refusal is None and plan.memory_bytes < 24 * MB


def test_no_value_stays_between_runs(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", numbers(), 5000)
    with qr.local("rss") as mpc:
        x = mpc.read(path, owner=0, columns="a")
        given = mpc.input(numbers()["a"], owner=0)
        before = mpc.explain(mpc.input([1], owner=0)).memory_bytes
        first = [int(x.sum().reveal()), int((x < 5).sum().reveal())]
        assert mpc.explain(mpc.input([1], owner=0)).memory_bytes < before + 10_000
        given.sum().reveal()
        assert mpc.explain(mpc.input([1], owner=0)).memory_bytes > before + 15 * COUNT
        assert [int(x.sum().reveal()), int((x < 5).sum().reveal())] == first
        y = x + 1  # a result that is held
        assert (y.reveal() == numbers()["a"] + 1).all() and (y.reveal() == x.reveal() + 1).all()


@pytest.mark.parametrize("change", ["longer", "newer", "gone"])
def test_a_file_that_changes_ends_the_run(tmp_path: Path, change: str) -> None:
    path = written(tmp_path / "x.parquet", numbers(300_000), 70_000)
    with qr.local("rss") as mpc:
        x = mpc.read(path, owner=1, columns="a")
        if change == "longer":
            written(path, numbers(300_001), 70_000)
        elif change == "newer":
            written(path, numbers(300_000), 70_000)
        else:
            path.unlink()
        with pytest.raises(qr.ConfigError, match=r"x\.parquet changed while it was read: leave it as it is"):
            x.sum().reveal()
        # The session goes on.
        assert mpc.input([1, 2], owner=0).sum().reveal() == 3


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_file_that_changes_while_it_is_parsed_says_so(tmp_path: Path, suffix: str, monkeypatch: Any) -> None:
    """Not what the parser says of it, which may be nothing."""
    path = written(tmp_path / f"x{suffix}", numbers(100), 30)
    parts = {".csv": _csv_parts.CsvParts, ".parquet": _rows._ParquetParts}[suffix]

    def fails(self: Any, *given: Any) -> Any:
        if changes:
            path.write_text("b\n2\n", encoding="utf-8")
        raise StopIteration

    rows = FileRows(path)
    for method in ("batch", "__init__"):
        monkeypatch.setattr(parts, method, fails)
        for changes, error in ((False, StopIteration), (True, qr.ConfigError)):
            rows._batches.clear()
            with pytest.raises(error, match="changed while it was read" if changes else None):
                rows(0, 1) if method == "batch" else FileRows(path)
        written(path, numbers(100), 30)


def test_errors_of_files_have_words(tmp_path: Path, monkeypatch: Any) -> None:
    path = written(tmp_path / "x.parquet", numbers(100), 30)
    with qr.local("rss") as mpc:
        x = mpc.read(path, owner=0, columns="a")

        def fails(self: Any, start: int, stop: int) -> Any:
            raise StopIteration

        monkeypatch.setattr(FileRows, "__call__", fails)
        with pytest.raises(qr.QuorateError, match="StopIteration"):
            x.sum().reveal()


@pytest.mark.skipif(not hasattr(os, "utime") or sys.platform == "win32", reason="times of status change are of Unix")
def test_a_file_of_the_same_length_and_time_is_seen_to_change(tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", {"a": np.array([1, 2, 3])}, 3)
    rows, before = FileRows(path), path.stat()
    with path.open("r+", encoding="utf-8") as file:
        file.write("a\n7")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns and path.stat().st_size == before.st_size
    with pytest.raises(qr.ConfigError, match="changed while it was read"):
        rows(0, 3)


LARGE = 2**63 + 5

#: Columns of which some batches have integers that no float64, or no int64, holds. Batches have 3 rows.
MIXED: dict[str, list[list[Any]]] = {
    "negative and beyond int64, in one column": [[-1, 1, 1, 1, 1, LARGE]],
    "beyond int64 and negative, in one column": [[LARGE, 1, 1, 1, 1, -1]],
    "negative and beyond int64, in two columns": [[-1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, LARGE]],
    "beyond int64 and not negative": [[0, 1, 1, 1, 1, LARGE]],
    "too long beside reals of the column": [[2**53 + 1, 1, 1, 1, 1, 0.5]],
    "too long beside reals of another column": [[2**53 + 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.5]],
    "too low beside reals of another column": [[-(2**53) - 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.5]],
    "long, but a real, beside reals of another column": [[2**60, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.5]],
    "neither the least nor the largest, beside reals": [[1, 2**53 + 1, 2**60, 1, -(2**60), 1], [1, 1, 1, 1, 1, 0.5]],
    "the least beside reals": [[-(2**63), 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.5]],
    "beyond int64 beside reals": [[1, 1, 1, 1, 1, LARGE], [0.5, 1, 1, 1, 1, 1]],
    "the largest beside reals": [[2**64 - 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0.5]],
    "true beside numbers": [["true", "true", "true", 1, 1, 1]],
    "true beside a column of numbers": [["true"] * 6, [1, 1, 1, 1, 1, 0.5]],
}


@pytest.mark.parametrize("name", MIXED)
def test_batches_of_several_types_are_read_as_the_whole_file_is(tmp_path: Path, name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(_csv_parts, "_BATCH", 3)
    monkeypatch.setattr(_csv, "_CHUNK", 3)
    columns = MIXED[name]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path = tmp_path / "x.csv"
    path.write_text("\n".join([",".join("abc"[: len(columns)]), *lines]) + "\n", encoding="utf-8")
    try:
        whole = qr.read(path).array
    except (qr.RangeError, qr.DtypeError) as error:
        with pytest.raises(type(error), match=re.escape(str(error).partition(" (at ")[0])):
            FileRows(path)
        return
    rows = FileRows(path)
    assert rows.kind == whole.dtype.kind
    for start, stop in ((0, rows.shape[0] * rows.shape[1]), (0, 3), (2, 5)):
        kind, packed = rows(start, stop)
        found = np.frombuffer(packed, {"f": "f8", "i": "i8", "u": "u8", "?": "?"}[kind])
        assert found.tolist() == whole.ravel()[start:stop].tolist()


def test_rows_of_several_batches_are_never_rounded(tmp_path: Path) -> None:
    """Batches of Parquet have types of their own, where one has integers beyond int64."""
    table = pa.table({"a": pa.array([-1, 1, 1, 1], pa.int64()), "b": pa.array([1, 1, 1, LARGE], pa.uint64())})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    with pytest.raises(qr.RangeError, match="negative numbers and ones beyond int64"):
        qr.read(tmp_path / "x.parquet")
    rows = FileRows(tmp_path / "x.parquet")
    assert [rows(0, 4)[0], rows(4, 8)[0]] == ["i", "u"]
    with pytest.raises(qr.RangeError, match="negative numbers and ones beyond int64"):
        rows(0, 8)
    with qr.local("rss") as mpc, pytest.raises(qr.RangeError):
        mpc.read(tmp_path / "x.parquet", owner=0, shape=(4, 2), dtype=qr.uint(64))


def test_messages_name_the_method(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"a\n{LARGE}\n", encoding="utf-8")
    for protocol in FAMILIES:
        with qr.local(protocol) as mpc:
            for method in ("read", "input_file"):
                with pytest.raises(qr.ShapeError, match=rf"\b{method}: numbers beyond int64: state dtype"):
                    getattr(mpc, method)(tmp_path / "x.csv", owner=0)


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    rows = 200_000
    table = pa.table({f"c{i}": np.random.default_rng(i).integers(0, 2**60, rows) for i in range(20)})
    parquet.write_table(table, tmp_path / "x.parquet", compression="none")
    feather.write_feather(table, tmp_path / "x.arrow")
    for name in ("x.parquet", "x.arrow"):
        script = (
            "import sys, pyarrow as pa, quorate as qr; found = qr.read(sys.argv[1], columns=['c7', 'c3']);"
            "print(pa.default_memory_pool().max_memory(), found.names, found.array[:2].tolist())"
        )
        run = subprocess.run([sys.executable, "-c", script, str(tmp_path / name)], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        most, rest = run.stdout.split(maxsplit=1)
        assert int(most) < 10 * 8 * rows, name
        first = np.stack([table["c7"].to_numpy()[:2], table["c3"].to_numpy()[:2]], axis=1)
        assert rest.strip() == f"('c7', 'c3') {first.tolist()}"


def test_columns_that_share_a_name_are_read_by_number(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])], names=["a", "b", "a"])
    for name, write in (("x.parquet", parquet.write_table), ("x.arrow", feather.write_feather)):
        write(table, tmp_path / name)
        assert qr.read(tmp_path / name, columns=[2, 1]).array.tolist() == [[5, 3], [6, 4]]
        with pytest.raises(
            qr.ConfigError, match=r"several columns have one name: rename them, or read it with qr\.read"
        ):
            FileRows(tmp_path / name)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_ranges_are_those_of_the_whole_table(tmp_path: Path, suffix: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(_csv_parts, "_BATCH", 300)
    monkeypatch.setattr(_rows, "BATCH", 256)
    columns = numbers(3000)
    path = written(tmp_path / f"x{suffix}", columns, 1000)
    rows = FileRows(path, ["b", "real", "a"])
    whole = np.stack([columns["b"], columns["real"], columns["a"]], axis=1).ravel()
    assert rows.shape == (3000, 3)
    coins = np.random.default_rng(1)
    for start, length in zip(coins.integers(0, 9000, 200), coins.integers(0, 2500, 200), strict=True):
        stop = min(int(start + length), 9000)
        kind, packed = rows(int(start), stop)
        assert np.array_equal(np.frombuffer(packed, {"f": "f8", "i": "i8"}[kind]), whole[start:stop])


def test_values_are_checked_before_anything_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with qr.local("rss") as mpc:
        for values, words, how in (
            ([1.0] * 70_000 + [None], "the value of column 'a' in row 70000 is missing", {}),
            ([1.0] * 70_000 + [float("inf")], "the value of column 'a' in row 70000 is infinite", {}),
            ([1] * 70_000 + [300], r"300 \(index 70000\)", {"bound": 200}),
            ([1] * 70_000 + [300], r"300 \(index 70000\)", {"dtype": qr.int(8)}),
            (["x"], "are not numbers", {}),
        ):
            parquet.write_table(pa.table({"a": values}), path)
            with pytest.raises((qr.RangeError, qr.DtypeError), match=words):
                mpc.read(path, owner=0, columns="a", **how)
        # What was refused left no trace.
        parquet.write_table(pa.table({"a": [1, 2, 3]}), path)
        x, y = mpc.read(path, owner=0, columns="a"), mpc.input([1, 1, 1], owner=1)
        assert (x + y).reveal().tolist() == [2, 3, 4]
        (tmp_path / "x.csv").write_text("a\n" + "1\n" * 40_000 + "x\n")
        with pytest.raises(qr.DtypeError, match="line 40002, column 'a': 'x' is not a number"):
            mpc.read(tmp_path / "x.csv", owner=0)


def test_where_parties_may_cheat_files_are_shared_once(tmp_path: Path) -> None:
    """An owner who shared them twice could share different values."""
    path = written(tmp_path / "x.parquet", numbers(100), 30)
    shares = []
    for opens in ("read", "input_file"):
        with qr.local("spdz2k", max_memory="2GB") as mpc:
            x = getattr(mpc, opens)(path, owner=0, columns="a")
            plan = mpc.explain((x < 5).sum(), x.sum())
            shares.append(sum(step.what.startswith("input") for step in plan.steps))
            x[:1].reveal()
            shares.append(sum(step.what.startswith("input") for step in mpc.explain(x.sum()).steps))
    assert shares == [1, 0, 1, 0]
    with qr.local("rss") as mpc:
        x = mpc.read(path, owner=0, columns="a")
        x[:1].reveal()
        assert any(step.what.startswith("input") for step in mpc.explain(x.sum()).steps)


def test_results_that_leave_their_dtype_are_found(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [2**40, 2**40, 5]}), tmp_path / "x.parquet")
    with qr.local("rss") as mpc:
        x = mpc.read(tmp_path / "x.parquet", owner=0, columns="a")
        for _ in range(2):
            with pytest.raises(qr.RangeError):
                (x * x).reveal()
            assert x.sum().reveal() == 2**41 + 5


READS = """
import quorate as qr
with qr.session() as mpc:
    x = mpc.read(owner=0, columns="a")
    y = mpc.read(owner=1, columns=["a", "b"], shape=(30_000, 2), dtype=qr.int(64))
    qr.output([int((x < 5).sum().reveal()), *y.sum(axis=0).reveal().tolist()])
"""


def test_parties_of_a_deployment_read_their_own_files(tmp_path: Path) -> None:
    columns = numbers()
    for me in (0, 1):
        written(tmp_path / f"{me}.parquet", columns, 5000)
    (tmp_path / "reads.py").write_text(READS)
    deployment = Deployment(tmp_path)
    mine = {0: ["--input", "0.parquet"], 1: ["--input", "1.parquet"], 2: []}
    ended = [p.end() for p in [deployment.start(me, tmp_path / "reads.py", *mine[me]) for me in range(3)]]
    assert [e.status for e in ended] == [0, 0, 0], [error_of(e) for e in ended if e.status]
    wanted = [(columns["a"] < 5).sum(), columns["a"].sum(), columns["b"].sum()]
    for end in ended:
        assert [int(n) for n in re.findall(r"-?\d+", end.out)][-3:] == wanted


# ---- more than 2^32 - 1 elements -----------------------------------------------------------------------------------

LONG = 5 * 10**9


@pytest.mark.parametrize("protocol", STREAMING)
def test_plans_of_more_elements_than_32_bits_number(protocol: str) -> None:
    with qr.local(protocol, max_memory="100MB") as mpc, mpc._without_values():
        x, bits = (mpc.read(owner=0, columns="a", shape=LONG, dtype=dtype) for dtype in (qr.int(64), qr.bit))
        for made in (x.sum(), (x < 5).sum(), bits.sum(), (x * x).sum()):
            plan = mpc.explain(made)
            assert plan.refusal is None, plan.refusal
            assert plan.memory_bytes <= 100 * MB
        less, more = (
            max(mpc.explain((mpc.read(owner=0, columns="a", shape=n, dtype=qr.int(64)) < 5).sum()).online.bytes_sent)
            for n in (LONG // 10, LONG)
        )
        assert more / less == pytest.approx(10, rel=0.01)


def test_what_numbers_its_elements_takes_fewer() -> None:
    with qr.local("rss", max_memory="100MB") as mpc, mpc._without_values():
        x = mpc.read(owner=0, columns="a", shape=LONG, dtype=qr.int(64))
        for refused in (
            lambda: x[::2],
            lambda: x.sort(),
            lambda: x.max(),
            lambda: x.cumsum(),
            lambda: x.reshape(2, -1).T,
        ):
            with pytest.raises((qr.ShapeError, qr.ConfigError)):
                refused()
        with pytest.raises(qr.ShapeError, match="at most 2"):
            mpc.read(owner=0, columns="a", shape=2**50, dtype=qr.int(64))
