"""Writing results to files."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate._display._text_tables import counted
from quorate._session._placeholder import Placeholder
from quorate._session._settings import settings
from quorate._source import at
from quorate._values._frames import pyarrow
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.tables._read import Table

__all__ = ["output", "suffix_of_results", "write"]

_SUFFIXES = (".csv", ".json", ".parquet", ".arrow", ".feather")


def suffix_of_results(path: Path) -> str:
    """Returns the suffix, which selects the format of results.

    Raises:
        ConfigError: the suffix is unknown, or the path is a folder.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: results are written to {', '.join(_SUFFIXES)}")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder: name a file")
    return path.suffix.lower()


def write(result: Any, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> bool:
    """Writes revealed numbers or labels to a file; does nothing for None, the result at parties that learn nothing.

    CSV and JSON write reals with all digits needed to read the same float64 again, and bits as 0 and 1. Parquet and
    Arrow have columns of the array's own dtype. JSON refuses NaN and infinity. The file is written completely or not at
    all.

    Args:
        result: an array of up to two dimensions, with a row for each element of the first; a `Table`; or a mapping from
            names to columns. JSON takes any number of dimensions.
        path: .csv, .json, .parquet, .arrow or .feather; the last three need pyarrow.
        names: names of the columns. CSV then has a header, and JSON is `{"name": [...]}` instead of nested lists.

    Returns:
        Whether there was something to write.

    Raises:
        ConfigError: the suffix is unknown, the folder does not exist, or names do not fit; for JSON, Parquet and Arrow
            also if two columns have one name.
        ShapeError, DtypeError: the result is not a table of values.
        RangeError: JSON cannot hold NaN or infinity.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write([[1, 0.1], [2, 0.25]], folder + "/scores.csv", names=["id", "score"])
        ...     print(Path(folder, "scores.csv").read_text(), end="")
        id,score
        1.0,0.1
        2.0,0.25
    """
    if result is None or _is_placeholder(result):
        return False
    file = Path(path)
    suffix = suffix_of_results(file)
    columns, named = _columns(result, names, nested=suffix == ".json")
    if not file.parent.is_dir():
        raise ConfigError(at(f"{file}: there is no folder {file.parent}"))
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".quorate-", suffix=suffix, delete=False) as new:
        try:
            _fill(new, suffix, columns, named)
            new.close()
            os.replace(new.name, file)
        except BaseException:
            new.close()
            os.unlink(new.name)
            raise
    return True


def _fill(new: Any, suffix: str, columns: Any, names: Sequence[str] | None) -> None:
    if suffix == ".json":
        named = _numbered(columns, names) if names else None
        for column in [columns] if named is None else named.values():
            _check_finite(column)
        values = _plain(columns) if named is None else {name: _plain(column) for name, column in named.items()}
        new.write((json.dumps(values, allow_nan=False) + "\n").encode())
    elif suffix == ".csv":
        new.write(_csv_text(columns, names).encode())
    else:
        pa = pyarrow(f"writing {suffix}")
        table = pa.table(
            {name: pa.array(np.ascontiguousarray(column)) for name, column in _numbered(columns, names).items()}
        )
        if suffix == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, new)
        else:
            from pyarrow import feather

            feather.write_feather(table, new)


def output(result: Any, names: Sequence[str] | None = None) -> None:
    """Outputs a script's result: to the file that `--output FILE` names or, without it, to stdout as CSV.

    Call it at every party: those that did not learn the result have None, and write nothing. The same script then works
    by itself, and under `quorate run`, `party` and `explain`.

    Args:
        result: as for `write`; a script may output only one result to a file.
        names: names of the columns.

    Raises:
        ConfigError: the script has already output a result, which this one would replace.

    Example:
        >>> output([1.5, 2.25], names=["score"])
        score
        1.5
        2.25
    """

    if result is None or _is_placeholder(result):
        return
    if settings.output is None:
        sys.stdout.write(_csv_text(*_columns(result, names, nested=False)))
        return
    if settings.written:
        raise ConfigError(at("output was called before, and --output names one file: give both results as one table"))
    write(result, settings.output, names)
    settings.written = True


def _is_placeholder(result: Any) -> bool:
    if isinstance(result, Mapping):
        return any(column is None or _is_placeholder(column) for column in result.values())

    return isinstance(result, Placeholder)


# ---- columns ------------------------------------------------------------------------------------------------------


def _columns(result: Any, names: Sequence[str] | None, nested: bool) -> tuple[Any, Sequence[str] | None]:
    """Returns columns and their names; with `nested` and without names, the array as it is."""
    if isinstance(result, Mapping):
        if names is not None:
            raise ConfigError(at("names: the mapping has names for its columns already"))
        columns, names = [_values(column) for column in result.values()], [str(name) for name in result]
        if any(column.ndim != 1 for column in columns) or len({len(column) for column in columns}) != 1:
            raise ShapeError(at(f"columns must be equally long lists: {[column.shape for column in columns]}"))
        return columns, names
    if isinstance(result, Table):
        names = result.names if names is None else names
    array = _values(result)
    if names is None and nested:
        return array, None
    if array.ndim > 2:
        raise ShapeError(at(f"a result of shape {array.shape} is not a table; reshape it, or write .json"))
    columns = list(np.atleast_1d(array).T) if array.ndim == 2 else [np.atleast_1d(array)]
    if names is not None and (isinstance(names, str) or len(names) != len(columns)):
        raise ConfigError(
            at(f"names: a list of {counted(len(columns), 'name')} is needed, one for each column, not {names!r}")
        )
    return columns, None if names is None else [str(name) for name in names]


def _values(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biufU" and not all(isinstance(v, str) for v in array.ravel().tolist()):
        raise DtypeError(at(f"results are numbers or labels, not {array.dtype}"))
    return array


def _plain(column: np.ndarray | list[np.ndarray]) -> Any:
    """Returns Python's own values, bits as 0 and 1."""
    array = np.asarray(column)
    return (array.astype(np.int64) if array.dtype.kind == "b" else array).tolist()


def _csv_text(columns: Sequence[np.ndarray], names: Sequence[str] | None) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if names is not None:
        writer.writerow(names)
    cells = [[repr(v) if isinstance(v, float) else v for v in _plain(column)] for column in columns]
    writer.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _numbered(columns: Sequence[np.ndarray], names: Sequence[str] | None) -> dict[str, Any]:
    found = names or [str(place) for place in range(len(columns))]
    if len(set(found)) != len(found):
        twice = next(name for place, name in enumerate(found) if name in found[:place])
        raise ConfigError(at(f"names: two columns have one name, {twice!r}, of which one would be lost"))
    return dict(zip(found, columns, strict=True))


def _check_finite(values: np.ndarray) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise RangeError(at(f"JSON has no {values[place]} (at index {place}): replace it, or write .csv"))
