"""Columns of numbers from pandas, pyarrow, and other libraries with Arrow's C interface, such as polars.

The libraries are imported only when one of their objects is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError

__all__ = ["WORDS", "inexact", "is_frame", "joined", "number_column", "of_frame", "of_one_type", "pyarrow"]

WORDS = (
    "words and dates go in by mpc.input_frame(table, owner=0, "
    "columns={'town': ['Rome', 'Oslo'], 'since': datetime.date})"
)
_INSTEAD = f"leave it out, or encode it; {WORDS}"


def pyarrow(purpose: str) -> Any:
    """Returns the module pyarrow.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import pyarrow as module
    except ImportError as error:
        raise ConfigError(at(f"{purpose} needs pyarrow, which is not installed: pip install pyarrow")) from error
    return module


def is_frame(values: Any) -> bool:
    """Whether an object is a table or a column of one of these libraries.

    >>> is_frame([1, 2]), is_frame(np.ones(3))
    (False, False)
    """
    return _of_pandas(values) or (not isinstance(values, type) and (_streams(values) or _exports(values)))


def _of_pandas(values: Any) -> bool:
    kind = type(values)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series", "Index")


def _streams(values: Any) -> bool:
    return hasattr(type(values), "__arrow_c_stream__")


def _exports(values: Any) -> bool:
    return hasattr(type(values), "__arrow_c_array__")


def of_frame(values: Any, what: str, first: int = 0) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Returns the numbers of a table, (rows, columns), and the columns' names; or those of one column, and None.

    `first` is the number of the first row, for messages about a part of a table.

    Raises:
        DtypeError: a column does not consist of numbers; the message names it.
        RangeError: a value is missing, NaN or infinite; the message names column and row, with rows counted from 0.
    """
    if _of_pandas(values):
        if type(values).__name__ != "DataFrame":
            return number_column(_pandas_column(values, what), _named(values.name), what), None
        names = tuple(str(name) for name in values.columns)
        found = [_pandas_column(values.iloc[:, i], what) for i in range(len(names))]
    else:
        table = _arrow_table(values, what)
        if not hasattr(table, "column_names"):
            return number_column(_arrow_column(table, "", what), "", what), None
        names = tuple(table.column_names)
        found = [_arrow_column(column, _named(n), what, first) for n, column in zip(names, table.columns, strict=True)]
    columns = [number_column(column, _named(name), what, first) for name, column in zip(names, found, strict=True)]
    return joined(columns, names, what), names


def _named(name: Any) -> str:
    return "" if name is None else f" of column {str(name)!r}"


# ---- one column -------------------------------------------------------------------------------------------------


def number_column(column: np.ndarray, of: str, what: str, first: int = 0) -> np.ndarray:
    """Returns the column as bool, int64, uint64 or finite float64; `of` names it in errors."""
    if column.dtype.kind == "b":
        return column
    if column.dtype.kind in "iu":
        large = column.dtype == np.uint64 and column.size and int(column.max()) > np.iinfo(np.int64).max
        return column if large else column.astype(np.int64)
    if column.dtype.kind != "f":
        raise DtypeError(at(f"{what}: the values{of} are not numbers (numpy dtype {column.dtype}): {_INSTEAD}"))
    wide = column.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(wide))
    if len(bad):
        problem = "is missing (NaN)" if np.isnan(wide[bad[0]]) else "is infinite"
        raise RangeError(at(f"{what}: the value{of} in row {first + bad[0]} {problem}: fill it in, or drop the row"))
    return wide


def _refuse_missing(missing: np.ndarray, of: str, what: str, first: int = 0) -> None:
    if missing.any():
        row = first + int(np.flatnonzero(missing)[0])
        raise RangeError(at(f"{what}: the value{of} in row {row} is missing: fill it in, or drop the row"))


def _pandas_column(series: Any, what: str) -> np.ndarray:
    """Returns the numbers of a pandas series, from numpy's types, pandas' own nullable types, or Arrow's."""
    from pandas.api import types

    of, dtype = _named(series.name), series.dtype
    categories = type(dtype).__name__ == "CategoricalDtype"
    kinds = {types.is_bool_dtype: bool, types.is_integer_dtype: None, types.is_float_dtype: np.float64}
    target = next((t for test, t in kinds.items() if not categories and test(dtype)), object)
    if target is object:
        raise DtypeError(at(f"{what}: the values{of} are not numbers (dtype {dtype}): {_INSTEAD}"))
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    _refuse_missing(np.asarray(series.isna()), of, what)
    if target is None:
        target = np.uint64 if types.is_unsigned_integer_dtype(dtype) else np.int64
    return series.to_numpy(dtype=target)


def _arrow_table(values: Any, what: str) -> Any:
    """Returns a pyarrow table or column; objects of other libraries are read by Arrow's C interface."""
    pa = pyarrow(f"{what} from {type(values).__module__.partition('.')[0]}")
    if isinstance(values, (pa.Table, pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, pa.RecordBatch):
        return pa.Table.from_batches([values])
    columns = pa.chunked_array(values) if _streams(values) else pa.chunked_array([pa.array(values)])
    if not pa.types.is_struct(columns.type):
        return columns
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(chunk) for chunk in columns.chunks])


def _arrow_column(column: Any, of: str, what: str, first: int = 0) -> np.ndarray:
    pa = pyarrow(what)
    kind = column.type
    if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DtypeError(at(f"{what}: the values{of} are not numbers (Arrow type {kind}): {_INSTEAD}"))
    _refuse_missing(column.is_null().to_numpy(zero_copy_only=False), of, what, first)
    return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)


# ---- columns together ---------------------------------------------------------------------------------------------


def joined(columns: Sequence[np.ndarray], names: Sequence[str] | None, what: str) -> np.ndarray:
    """Joins columns into one array: bool if all are, integers if none is real, float64 otherwise; without rounding.

    >>> joined([np.array([1, 2]), np.array([True, False])], None, "input").tolist()
    [[1, 1], [2, 0]]
    """
    if not columns:
        raise ShapeError(at(f"{what}: the table has no columns"))
    of = [_named(names[place] if names is not None else place) for place in range(len(columns))]
    return np.stack(of_one_type(columns, of, what), axis=1)


def of_one_type(parts: Sequence[np.ndarray], of: Sequence[str], what: str) -> list[np.ndarray]:
    """Returns parts in the type that holds all of them, without rounding; `of` names each part in errors.

    >>> [part.dtype.kind for part in of_one_type([np.array([1, 2]), np.array([0.5])], ["", ""], "input")]
    ['f', 'f']

    Raises:
        RangeError: no type holds all of them.
    """
    kinds = {part.dtype.kind for part in parts}
    if kinds == {"b"}:
        return list(parts)
    if "f" in kinds:
        for part, name in zip(parts, of, strict=True):
            if part.dtype.kind in "iu" and inexact(part).any():
                raise RangeError(
                    at(f"{what}: integers{name} are too long to stand beside reals: give them apart, or scale them")
                )
        return [part.astype(np.float64, copy=False) for part in parts]
    if "u" in kinds:
        if any(part.size and part.dtype.kind == "i" and int(part.min()) < 0 for part in parts):
            raise RangeError(at(f"{what}: negative numbers and ones beyond int64 do not go into one array"))
        return [part.astype(np.uint64, copy=False) for part in parts]
    return [part.astype(np.int64, copy=False) for part in parts]


def inexact(integers: np.ndarray) -> np.ndarray:
    """Returns, for each integer, whether float64 does not hold it.

    >>> inexact(np.array([1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1])).tolist()
    [False, False, True, False, True]
    """
    wide = integers.astype(np.float64)
    beyond = wide >= float(np.iinfo(integers.dtype).max)  # rounded up to 2^63 or 2^64, which have no integer
    found: np.ndarray = beyond | (np.where(beyond, 0, wide).astype(integers.dtype) != integers)
    return found
