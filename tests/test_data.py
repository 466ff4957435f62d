"""Tables and files as inputs, results as files: values survive the round trip, and refusals name the place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate as qr
from deploying import Deployment, error_of
from quorate._command._file_options import of_party
from quorate._values._public_numbers import as_numbers
from quorate.tables._inputs import Form, parse_form
from warm import quorate

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "table.py"

pd = pytest.importorskip("pandas", reason="pandas is among the development requirements: make test installs it")
pa = pytest.importorskip("pyarrow", reason="pyarrow is among the development requirements: make test installs it")


class Streamed:
    """A stand-in for a table of an unknown library, such as polars, with only Arrow's C interface."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def csv(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


# ---- from memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"], ids=str
)
def test_numpy_numbers_of_every_kind(kind: str) -> None:
    values = np.array([[0, 1], [1, 1]], kind)
    with qr.local("rss") as mpc:
        x = mpc.input(values, owner=0)
        assert x.dtype == {"b": qr.bit, "f": qr.fixed(64, 16)}.get(values.dtype.kind, qr.int(64))
        assert (x.reveal() == values).all()


FRAMES: dict[str, tuple[dict[str, Any], Any]] = {
    "integers": ({"a": np.array([1, -2], np.int8), "b": np.array([3, 4], np.uint16)}, qr.int(64)),
    "integers and reals": ({"a": [1, 2], "b": [0.5, -0.25]}, qr.fixed(64, 16)),
    "Booleans": ({"a": [True, False], "b": [False, False]}, qr.bit),
    "Booleans and integers": ({"a": [True, False], "b": [7, 8]}, qr.int(64)),
    "short reals": ({"a": np.array([0.5, 2], np.float32)}, qr.fixed(64, 16)),
}


@pytest.mark.parametrize("name", FRAMES, ids=str)
def test_tables_of_every_library(name: str) -> None:
    columns, dtype = FRAMES[name]
    wanted = np.stack([np.asarray(c) for c in columns.values()], axis=1)
    frame = pd.DataFrame(columns)
    table = pa.table(columns)
    nullable = pd.DataFrame({n: pd.array(c) for n, c in columns.items()})  # Int64, Float64, boolean
    given = [frame, table, Streamed(table), table.to_batches()[0], nullable, frame.astype("Float64"), frame.iloc[::-1]]
    with qr.local("rss") as mpc:
        for place, values in enumerate(given):
            x = mpc.input(values, owner=0)
            assert x.dtype == (qr.fixed(64, 16) if place == 5 else dtype), place
            assert (x.reveal() == (wanted[::-1] if place == 6 else wanted)).all(), place


def test_columns_alone() -> None:
    values = [1.5, -2.0, 0.25]
    series = pd.Series(values, name="a", index=[5, 1, 2])
    array = pa.array(values)
    for column in (series, pd.Index(values), array, pa.chunked_array([array[:1], array[1:]]), Streamed(series)):
        assert as_numbers(column, "input").tolist() == values
    assert as_numbers(pd.Series([1, 2], dtype="UInt8"), "input").dtype == np.int64
    assert as_numbers(pd.Series([2**63], dtype="UInt64"), "input").tolist() == [2**63]
    assert as_numbers(pd.Series([1, 2], dtype="int64[pyarrow]"), "input").tolist() == [1, 2]
    assert as_numbers(pd.Series([True], dtype="boolean"), "input").tolist() == [True]


def test_polars() -> None:
    polars = pytest.importorskip("polars", reason="polars is not among the development requirements")
    assert as_numbers(polars.DataFrame({"a": [1, 2], "b": [0.5, 1]}), "input").tolist() == [[1, 0.5], [2, 1]]
    assert as_numbers(polars.Series([True, False]), "input").tolist() == [True, False]


BAD_COLUMNS: list[tuple[Any, type[Exception], str]] = [
    (["x", "y"], qr.DtypeError, "column 'b' are not numbers"),
    (pd.Series(["x", "y"], dtype="category"), qr.DtypeError, "column 'b' are not numbers .*category"),
    (pd.Series([1, 2], dtype="category"), qr.DtypeError, "column 'b' are not numbers .*category"),
    (pd.to_datetime(["2020-01-01", "2021-01-01"]), qr.DtypeError, "column 'b' are not numbers .*datetime"),
    (pd.to_timedelta([1, 2]), qr.DtypeError, "column 'b' are not numbers .*timedelta"),
    (pd.Series([1, "y"], dtype=object), qr.DtypeError, "column 'b' are not numbers .*object"),
    (pd.Series([1j, 2j]), qr.DtypeError, "column 'b' are not numbers .*complex"),
    ([0.5, np.nan], qr.RangeError, r"column 'b' in row 1 is missing \(NaN\)"),
    ([np.inf, 1.0], qr.RangeError, "column 'b' in row 0 is infinite"),
    (pd.Series([1, None], dtype="Int64"), qr.RangeError, "column 'b' in row 1 is missing"),
    (pd.Series([None, True], dtype="boolean"), qr.RangeError, "column 'b' in row 0 is missing"),
    (pd.Series([1, None], dtype="int64[pyarrow]"), qr.RangeError, "column 'b' in row 1 is missing"),
]


@pytest.mark.parametrize(("column", "error", "words"), BAD_COLUMNS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_bad_column_is_named(column: Any, error: type[Exception], words: str) -> None:
    with qr.local("rss") as mpc:
        with pytest.raises(error, match=words) as caught:
            mpc.input(pd.DataFrame({"a": [1.0, 2.0], "b": column}), owner=0)
        assert "test_data.py" in str(caught.value)
        assert mpc.stats().online.rounds == 0


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (pa.table({"a": [1], "b": ["x"]}), qr.DtypeError, r"column 'b' are not numbers \(Arrow type string\)"),
        (pa.table({"a": [1, None]}), qr.RangeError, "column 'a' in row 1 is missing"),
        (pa.table({"a": [1.0, float("nan")]}), qr.RangeError, "column 'a' in row 1 is missing"),
        (pa.array([1, None]), qr.RangeError, "row 1 is missing"),
        (pa.array([b"x"]), qr.DtypeError, "not numbers"),
        (pd.DataFrame({"a": [2**60 + 1], "b": [0.5]}), qr.RangeError, "column 'a' are too long to stand beside reals"),
        (pd.DataFrame({"a": [2**63], "b": [-1]}), qr.RangeError, "beyond int64"),
        (pd.DataFrame(), qr.ShapeError, "no columns"),
    ],
    ids=str,
)
def test_bad_tables(table: Any, error: type[Exception], words: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(error, match=words):
        mpc.input(table, owner=0)


def test_a_frame_elsewhere_is_not_looked_at() -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.ShapeError, match="stated"):
        mpc.input(pd.DataFrame({"a": [1, 2]}), owner=0, shape=(2, 2))


# ---- CSV ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b\n1,2\n3,4\n", ("a", "b"), [[1, 2], [3, 4]]),
        ("1,2\n3,4", None, [[1, 2], [3, 4]]),
        ("1;2.5\n3;4\n", None, [[1, 2.5], [3, 4]]),
        ("a\tb\n1\t2\n", ("a", "b"), [[1, 2]]),
        ("a|b\n1|2\n", ("a", "b"), [[1, 2]]),
        ('"a, b","c ""d"""\n"1","-2e-3"\n', ("a, b", 'c "d"'), [[1, -0.002]]),
        ("\ufeffa,b\r\n 1 , +2 \r\n\r\n3,4\r\n", ("a", "b"), [[1, 2], [3, 4]]),
        ("x\ntrue\nFALSE\n", ("x",), [[True], [False]]),
        ("x,y\ntrue,3\nfalse,4\n", ("x", "y"), [[1, 3], [0, 4]]),
        (f"x\n{2**64 - 1}\n0\n", ("x",), [[2**64 - 1], [0]]),
        (f"{-(2**63)}\n{2**63 - 1}\n", None, [[-(2**63)], [2**63 - 1]]),
        ("x\n.5\n5.\n1E3\n", ("x",), [[0.5], [5.0], [1000.0]]),
    ],
    ids=range(12),
)  # fmt: skip
def test_csv(tmp_path: Path, text: str, names: tuple[str, ...] | None, rows: list[list[Any]]) -> None:
    table = qr.read(csv(tmp_path, text))
    assert table.names == names
    assert table.array.tolist() == rows
    assert table.array.dtype == (np.uint64 if rows[0] == [2**64 - 1] else np.array(rows).dtype)


def test_columns_are_chosen_by_name_and_number(tmp_path: Path) -> None:
    path = csv(tmp_path, "id,city,age\n1,Rome,30\n2,Oslo,40\n")
    assert qr.read(path, columns=["age", "id"]).array.tolist() == [[30, 1], [40, 2]]
    assert qr.read(path, columns=2).array.tolist() == [30, 40]
    assert qr.read(path, columns="age").names == ("age",)
    assert qr.read(csv(tmp_path, "1,2\n3,4\n"), columns=[1], header=True).names == ("2",)
    assert qr.read(csv(tmp_path, "1 2\n3 4\n"), delimiter=" ", header=False).shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "options", "error", "words"),
    [
        ("a,b\n1,2\n3,4o\n", {}, qr.DtypeError, "data.csv: line 3, column 'b': '4o' is not a number"),
        ("1,2\n3,\n", {}, qr.RangeError, "line 2, column '1': the value is missing"),
        ("a\n1\nNaN\n", {}, qr.RangeError, "line 3, column 'a': the value is missing"),
        ("a\n1\n-inf\n", {}, qr.RangeError, "line 3, column 'a': -inf is not finite"),
        ("a\n1\n1e999\n", {}, qr.RangeError, "line 3, column 'a': 1e999 does not fit"),
        ("a\n1_000\n", {}, qr.DtypeError, "line 2, column 'a': '1_000' is not a number"),
        ("a\n0x10\n", {}, qr.DtypeError, "'0x10' is not a number"),
        ('a,b\n"1,234",2\n', {}, qr.DtypeError, "'1,234' is not a number: decimals need a point"),
        ("a;b\n-1,5;2\n", {}, qr.DtypeError, "'-1,5' is not a number: decimals need a point"),
        ("1,5;2,5\n1,5;2,5\n", {}, qr.DtypeError, "'5;2' .* divided by ';'. State delimiter="),
        ("a b\n1 2\n", {}, qr.DtypeError, "'1 2' .* divided by ' '. State delimiter="),
        ("a,b\n1,2\n", {"delimiter": ";"}, qr.DtypeError, "'1,2' is not a number: decimals"),
        (f"a\n{2**63}\n-1\n", {}, qr.RangeError, "too long beside reals or negative"),
        ('a,b\n"1\n",2\n3,x\n', {}, qr.DtypeError, "line 4, column 'b': 'x'"),
        (f"a\n{2**64}\n", {}, qr.RangeError, "line 2, column 'a': 18446744073709551616 does not fit"),
        (f"a\n{2**60 + 1}\n0.5\n", {}, qr.RangeError, "too long beside reals"),
        ("a\n1\n" + "7" * 5000 + "\n", {}, qr.RangeError, "line 3, column 'a': 7{24} does not fit"),
        ("a\n1\ntrue\n", {}, qr.DtypeError, "line 3, column 'a': true and false stand beside numbers"),
        ("a,b\n1,2\n3\n", {}, qr.ShapeError, "line 3 has 1 cell, the first line 2"),
        ("a,b\n", {}, qr.ShapeError, "no rows"),
        ("", {}, qr.ShapeError, "is empty"),
        ("a,a\n1,2\n", {"columns": ["a"]}, qr.ConfigError, "several columns 'a'"),
        ("a,b\n1,2\n", {"columns": ["c"]}, qr.ConfigError, "no column 'c'; it has 'a', 'b'"),
        ("1,2\n", {"columns": ["c"]}, qr.ConfigError, "no names: give numbers"),
        ("1,2\n", {"columns": [2]}, qr.ConfigError, "no column 2: it has 2"),
        ('1,"2\n', {}, qr.ShapeError, "not a table of cells"),
        ("a,b\n1,2\n3,4\n", {"header": False}, qr.DtypeError, "line 1, column '0': 'a'"),
    ],
    ids=range(27),
)  # fmt: skip
def test_bad_csv(tmp_path: Path, text: str, options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        qr.read(csv(tmp_path, text), **options)


@pytest.mark.parametrize("columns", [[None], slice(0, 1), [True], True, [1.0], 1.5, ["a", object()]], ids=range(7))
def test_what_is_no_column(tmp_path: Path, columns: Any) -> None:
    path = csv(tmp_path, "a,b\n1,2\n")
    with pytest.raises(qr.ConfigError, match="is no column: give names, or whole numbers from 0"):
        qr.read(path, columns=columns)
    with pytest.raises(qr.ConfigError, match="is no column"), qr.local("rss") as mpc:
        mpc.input_file(path, owner=0, columns=columns)


@pytest.mark.parametrize("delimiter", ["||", "", "\n", '"', 3])
def test_what_is_no_delimiter(tmp_path: Path, delimiter: Any) -> None:
    with pytest.raises(qr.ConfigError, match="delimiter must be one character"):
        qr.read(csv(tmp_path, "a||b\n1||2\n"), delimiter=delimiter)


def test_columns_wider_than_a_chunk(tmp_path: Path) -> None:
    lines = ["0"] * 40000
    path = csv(tmp_path, "\n".join([*lines, "0.5"]))
    assert qr.read(path).array.sum() == 0.5
    with pytest.raises(qr.DtypeError, match="line 40001, column '0': true and false stand beside"):
        qr.read(csv(tmp_path, "\n".join([*lines, "true"])))
    with pytest.raises(qr.DtypeError, match="line 40001, column '0': 'x'"):
        qr.read(csv(tmp_path, "\n".join([*lines, "x"])))
    assert int(qr.read(csv(tmp_path, "\n".join([*lines, str(2**63)]))).array.max()) == 2**63
    with pytest.raises(qr.RangeError, match="too long beside reals"):
        qr.read(csv(tmp_path, "\n".join([str(2**60), *lines, "0.5"])))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(qr.ConfigError, match="there is no file"):
        qr.read(tmp_path / "none.csv")
    with pytest.raises(qr.ConfigError, match="suffix"):
        qr.read(csv(tmp_path, "1", "data.xlsx"))
    for name in ("bad.parquet", "bad.arrow"):
        with pytest.raises(qr.ConfigError, match=name):
            qr.read(csv(tmp_path, "no such thing at all", name))
    (tmp_path / "latin.csv").write_bytes(b"caf\xe9\n1\n")
    with pytest.raises(qr.ConfigError, match="UTF-8"):
        qr.read(tmp_path / "latin.csv")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qr.write({"a": [1]}, tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(qr.ConfigError, match=r"pip install pyarrow"):
        qr.read(tmp_path / "data.parquet")
    assert qr.read(csv(tmp_path, "a\n1\n")).shape == (1, 1)


def test_the_package_imports_neither_pandas_nor_pyarrow() -> None:
    code = "import quorate, sys; print([m for m in ('pandas', 'pyarrow', 'sklearn', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---- there and back ----------------------------------------------------------------------------------------------

whole = st.integers(-(2**63), 2**63 - 1)
real = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(*[st.lists(st.tuples(cell, cell), min_size=1, max_size=5) for cell in (whole, real, st.booleans())]),
    st.sampled_from([".csv", ".json", ".parquet", ".arrow"]),
    st.booleans(),
)
def test_what_is_written_is_read_again(tmp_path_factory: Any, rows: list[Any], suffix: str, named: bool) -> None:
    path = tmp_path_factory.mktemp("out") / f"data{suffix}"
    array = np.array(rows)
    names = ["first", "second, of two"] if named else None
    assert qr.write(array, path, names=names)
    if suffix == ".json":
        read = json.loads(path.read_text())
        assert np.array_equal(np.stack(list(read.values()), axis=1) if named else read, array)
        return
    read = qr.read(path, header=named)
    assert np.array_equal(read.array, array)
    assert read.names == (tuple(names) if names else None if suffix == ".csv" else ("0", "1"))


def test_labels_scalars_and_names(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    qr.write({"id": [1, 2], "class": np.array(["good", 'so "so", really'])}, path)
    assert path.read_text() == 'id,class\n1,good\n2,"so ""so"", really"\n'
    qr.write(np.float64(0.1), path)
    assert path.read_text() == "0.1\n"
    qr.write(np.array([True, False]), path, names=["hit"])
    assert path.read_text() == "hit\n1\n0\n"
    qr.write(qr.read(path), path.with_suffix(".json"))
    assert path.with_suffix(".json").read_text() == '{"hit": [1, 0]}\n'
    qr.write(np.zeros((2, 1, 2)), path.with_suffix(".json"))
    assert json.loads(path.with_suffix(".json").read_text()) == [[[0, 0]], [[0, 0]]]
    assert not qr.write(None, tmp_path / "nothing.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "out.json"]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", ["?", "i1", "i8", "u8", "f4", "f8", "U"])
def test_columns_keep_their_dtypes(tmp_path: Path, suffix: str, kind: str) -> None:
    path = tmp_path / f"out{suffix}"
    full = np.array([[0, 1], [2**64 - 1 if kind == "u8" else 1, 0]], object).astype(kind)
    for array in (full, full[:0]):
        qr.write(array, path)
        read = pd.read_parquet(path) if suffix == ".parquet" else pd.read_feather(path)
        assert read.shape == array.shape and (read.to_numpy() == array).all()
        assert kind == "U" or all(dtype == array.dtype for dtype in read.dtypes)


@pytest.mark.parametrize(
    ("result", "name", "names", "words"),
    [
        ([1], "out.txt", None, "written to .csv"),
        ([1], "nowhere/out.csv", None, "no folder"),
        ([[1, 2]], "out.csv", ["a"], "a list of 2 names"),
        ([[1, 2]], "out.csv", "ab", "a list of 2 names"),
        ([[1, 2]], "out.parquet", ["a", "a"], "one name"),
        ({"a": [1], "b": [1, 2]}, "out.csv", None, "equally long"),
        ({"a": [1]}, "out.csv", ["b"], "already"),
        (np.zeros((1, 1, 1)), "out.csv", None, "not a table"),
        ([object()], "out.csv", None, "numbers or labels"),
        (np.array([b"x"]), "out.json", None, "numbers or labels"),
        ([[1, 2]], "out.json", ["a", "a"], "one name, 'a'"),
        ([[1.0], [np.nan]], "out.json", None, r"JSON has no nan \(at index \(1, 0\)\)"),
        ({"a": [np.inf]}, "out.json", None, "JSON has no inf"),
        ([1], "", None, "is a folder"),
    ],
    ids=range(14),
)
def test_results_that_cannot_be_written(tmp_path: Path, result: Any, name: str, names: Any, words: str) -> None:
    tmp_path = tmp_path / "folder.csv"
    tmp_path.mkdir()
    with pytest.raises(qr.QuorateError, match=words):
        qr.write(result, tmp_path / name, names=names)
    assert list(tmp_path.iterdir()) == []


# ---- the command line --------------------------------------------------------------------------------------------

SUMS = """
import quorate as qr
with qr.session() as mpc:
    x = mpc.input_file(owner=0, columns=["age", "bmi"], dtype=qr.fixed(64, 16))
    y = mpc.input_file(owner=1)
    total = x.sum(axis=1) + y.reshape(-1).astype(qr.fixed(64, 16))
    qr.output(total.reveal(to=2), names=["total"])
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the script and two files."""
    csv(tmp_path, SUMS, "sums.py")
    csv(tmp_path, "id,age,bmi,city\n1,30,20.5,Rome\n2,41,33.25,Oslo\n", "people.csv")
    qr.write({"points": [3, 4]}, tmp_path / "points.parquet")
    return tmp_path


BOTH = ("--input", "0=people.csv", "--input", "1=points.parquet")


def without_times(plan: str) -> list[str]:
    """Returns the text of a plan without its seconds, which each process prices by a measurement."""
    return re.sub(r"[0-9.e-]+ (ns|us|ms|s)\b", "", plan).split()


def test_every_command_takes_the_same_script(files: Path) -> None:
    done = quorate("run", "sums.py", *BOTH, "--output", "out.csv", cwd=files)
    assert (done.returncode, done.stderr) == (0, "")
    assert (files / "out.csv").read_text() == "total\n53.5\n78.25\n"
    done = quorate("run", "sums.py", *BOTH, "--network", "lan", "--output", "out.json", cwd=files)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((files / "out.json").read_text()) == {"total": [53.5, 78.25]}
    shown = quorate("explain", "sums.py", *BOTH, "--output", "never.csv", cwd=files)
    assert shown.returncode == 0 and "run 3 of 3" in shown.stdout and not (files / "never.csv").exists()
    forms = quorate("explain", "sums.py", "--form", "0=2x4:fixed64.16", "--form", "1=2x1:int64", cwd=files)
    assert without_times(forms.stdout) == without_times(shown.stdout)


def test_run_gives_a_file_to_its_owner_alone() -> None:
    files = {"inputs": {0: "people.csv", 1: "points.parquet"}, "forms": {2: "2x4:int64"}, "output": None}
    stated = ["--form", "2=2x4:int64"]
    assert [of_party(files, party, 3) for party in range(3)] == [
        ["--input", "people.csv", *stated],
        ["--input", "points.parquet", *stated],
        stated,
    ]


def test_a_deployment(files: Path) -> None:
    deployment = Deployment(files)
    files_of = {
        0: ["--input", "people.csv"],
        1: ["--input", "points.parquet", "--form", "0=2x4:int64"],
        2: ["--form", "0=people.csv", "--form", "1=points.parquet", "--output", "out.json"],
    }
    parties = [deployment.start(me, files / "sums.py", *arguments) for me, arguments in files_of.items()]
    ended = [party.end() for party in parties]
    assert [e.status for e in ended] == [0, 0, 0], ended
    assert [e.out for e in ended] == ["", "", ""]
    assert json.loads((files / "out.json").read_text()) == {"total": [53.5, 78.25]}


def test_a_form_that_is_not_the_files(files: Path) -> None:
    deployment = Deployment(files)
    parties = [
        deployment.start(0, files / "sums.py", "--input", "people.csv"),
        deployment.start(1, files / "sums.py", "--input", "points.parquet"),
        deployment.start(2, files / "sums.py", "--form", "0=3x4:int64"),
    ]
    ended = [party.end() for party in parties]
    assert all(e.status != 0 for e in ended)
    words = "ShapeError: input_file: party 0 has 2x2 of fixed(64, 16), and --form 0= expects 3x2 of int(64)"
    assert words in error_of(ended[2]), ended[2]


def test_a_bad_cell_is_shown_to_its_owner_alone(files: Path) -> None:
    csv(files, "id,age,bmi,city\n1,30,20.5,Rome\n2,secret,33.25,Oslo\n", "people.csv")
    deployment = Deployment(files)
    mine = {0: ["--input", "people.csv"], 1: ["--input", "points.parquet"], 2: []}
    ended = [p.end() for p in [deployment.start(me, files / "sums.py", *mine[me]) for me in range(3)]]
    assert "people.csv: line 3, column 'age': 'secret' is not a number" in error_of(ended[0])
    assert all(e.status != 0 and "secret" not in e.err + e.out for e in ended[1:])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "sums.py", "--input", "people.csv"], "OWNER=FILE"),
        (["run", "sums.py", "--input", "0=none.csv"], "there is no file none.csv"),
        (["run", "sums.py", "--input", "0=people.csv", "--input", "0=people.csv"], "party 0 has two"),
        (["run", "sums.py", "--input", "3=people.csv"], "parties 0 to 2"),
        (["run", "sums.py", *BOTH, "--output", "out.xls"], "out.xls"),
        (["run", "sums.py", *BOTH, "--output", "none/out.csv"], "no folder"),
        (["run", "sums.py", "--form", "0=4 by 4"], "neither a file nor a form"),
        (["run", "sums.py", "--input", "0=people.csv", "--form", "0=2x4:int64"], "both --input and --form"),
        (["run", "sums.py", "--form", "0=2x4:int999"], "--form 0='2x4:int999': there is no such dtype"),
        (["explain", "sums.py", "--form", "0=2x4:int640"], "--form 0='2x4:int640': there is no such dtype"),
        (["explain", "sums.py", "--form", "0=99999999999x99999999999:int64"], "at most 2^48 elements"),
        (["run", "sums.py", *BOTH, "--output", "folder.csv"], "folder.csv is a folder"),
        (["run", "sums.py", "--form", "0=2x4:bit3"], "bit"),
        (["run", "sums.py", "--input", "0=people.csv", "--network", "lan"], "party 1 has no file"),
    ],
    ids=str,
)
def test_bad_options(files: Path, arguments: list[str], words: str) -> None:
    (files / "folder.csv").mkdir()
    done = quorate(*arguments, cwd=files)
    assert done.returncode == 2, done
    assert words in done.stderr and "Traceback" not in done.stderr


def test_messages_about_files_are_followed(files: Path) -> None:
    for arguments, told in (
        (["--input", "people.csv"], "give OWNER=FILE, such as --input 0=data.csv"),
        (["--input", "0=people.csv", "--network", "lan"], "party 1 has no file: --input 1=FILE on the command line"),
    ):
        assert told in quorate("run", "sums.py", *arguments, cwd=files).stderr
    assert quorate("run", "sums.py", *BOTH, "--output", "out.csv", cwd=files).returncode == 0


def test_a_party_without_its_file_is_told(files: Path) -> None:
    deployment = Deployment(files)
    mine = {0: ["--input", "people.csv"], 1: [], 2: []}
    ended = [p.end() for p in [deployment.start(me, files / "sums.py", *mine[me]) for me in range(3)]]
    assert "party 1 has no file: --input FILE on the command line" in error_of(ended[1])


def test_forms() -> None:
    assert parse_form("7:bit") == Form((7,), qr.bit)
    assert parse_form("2x3:uint8") == Form((2, 3), qr.uint(8))
    assert parse_form("2x3:int") == Form((2, 3), qr.int(64))
    assert parse_form("2x3:fixed") == Form((2, 3), qr.fixed(64, 16))
    assert Form((9, 4), qr.bit).selected("a").shape == (9,)
    assert Form((9, 4), qr.bit).selected(["a", 2]).shape == (9, 2)
    assert Form((9, 4), qr.bit).selected(None).shape == Form((9, 4), qr.bit).shape


def test_a_large_form_takes_no_room(files: Path) -> None:
    done = quorate("explain", "sums.py", "--form", "0=10000000x4:fixed64.16", "--form", "1=10000000:int64", cwd=files)
    assert done.returncode == 0, done
    assert "run 3 of 3" in done.stdout


def test_two_results_do_not_go_into_one_file(tmp_path: Path) -> None:
    csv(tmp_path, "import quorate as qr\nqr.output([1])\nqr.output([2])\n", "twice.py")
    assert quorate("run", "twice.py", "--network", "lan", cwd=tmp_path).stdout == "1\n2\n"
    done = quorate("run", "twice.py", "--network", "lan", "--output", "out.csv", cwd=tmp_path)
    assert done.returncode == 2 and "twice.py:3" in done.stderr
    assert (tmp_path / "out.csv").read_text() == "1\n"


def test_the_example(tmp_path: Path) -> None:
    made = subprocess.run([sys.executable, str(EXAMPLE), "--make", "."], cwd=tmp_path, check=True)
    assert made.returncode == 0
    weights, patients = qr.read(tmp_path / "weights.csv").array[:, 0], qr.read(tmp_path / "patients.csv").array
    inputs = ("--input", "0=weights.csv", "--input", "1=patients.csv")
    done = quorate("run", str(EXAMPLE), *inputs, "--output", "scores.csv", cwd=tmp_path)
    assert done.returncode == 0, done
    scores = qr.read(tmp_path / "scores.csv")
    assert scores.names == ("score", "upper half")
    assert np.abs(scores.array[:, 0] - patients @ weights).max() < 30 * 12 * 2.0**-16
    assert scores.array[:, 1].sum() == len(patients) // 2
    alone = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    assert alone.stdout == (tmp_path / "scores.csv").read_text()


def test_identifiers_keep_their_zeros(tmp_path: Path) -> None:
    """The texts 00491 and 491 differ; as numbers they would be equal."""
    path = tmp_path / "ids.csv"
    path.write_text("id,age\n491,31\n00491,44\n")
    with pytest.raises(qr.DtypeError, match=r"line 3, column 'id': '00491' begins with 0.*texts=True"):
        qr.read(path)
    assert qr.read(path, columns="age").array.tolist() == [31, 44]
    path.write_text("x\n0\n-0\n0.5\n00.25\n")
    assert qr.read(path).array[:, 0].tolist() == [0, 0, 0.5, 0.25]
    mine, theirs = (["491", "00491"], ["00491", "12"])  # the message's advice
    with qr.local("rss") as mpc:
        assert qr.apps.psi(mpc, mine, theirs, texts=True).tolist() == ["00491"]
