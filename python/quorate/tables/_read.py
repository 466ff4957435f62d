"""Reading files as tables of numbers."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate._source import at
from quorate._values._frames import joined, of_frame, pyarrow
from quorate.errors import ConfigError, ShapeError
from quorate.tables._csv import listed, positions, read_csv

__all__ = ["Table", "kind_of_file", "read"]

_TEXT = (".csv", ".tsv", ".txt", ".data")
_ARROW = (".arrow", ".feather", ".ipc")
_PARQUET = (".parquet", ".pq")


@dataclasses.dataclass(frozen=True, repr=False)
class Table:
    """Numbers with names for their columns. A table may be given wherever an array of numbers may.

    Attributes:
        array: (rows, columns), or (rows,) for one column.
        names: the names of the columns; None where the file has none.
    """

    array: np.ndarray
    names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"Table(shape={self.array.shape}, dtype={self.array.dtype}, names={self.names})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype, copy=True) if copy or dtype is not None else self.array

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `array`."""
        return self.array.shape


def read(
    path: str | os.PathLike[str],
    columns: str | int | Sequence[str | int] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Table:
    r"""Reads the numbers of a file: CSV (.csv, .tsv, .txt, .data), Parquet (.parquet), Arrow (.arrow, .feather, .ipc).

    Columns of integers, reals, and true and false become int64, float64 and bool. Columns of several types together
    become the type that holds them all. No value is rounded or filled in. Of Parquet and Arrow files only the wanted
    columns are read.

    Args:
        path: the file; its suffix selects the format. Parquet and Arrow need pyarrow (`pip install pyarrow`).
        columns: names, or numbers from 0, of the wanted columns in this order; a single name or number gives an array
            of shape (rows,).
        header: for CSV, whether the first line names the columns. If not stated, it does if one of its cells is not a
            number.
        delimiter: for CSV, the character between cells. If not stated, it is the most frequent of comma, semicolon, tab
            and bar in the first line.

    Raises:
        ConfigError: there is no such file, column or suffix, or pyarrow is not installed.
        DtypeError: a column does not consist of numbers; the message names it.
        RangeError: a value is missing or not finite; the message names its line or row, and its column.
        ShapeError: lines are not equally long.

    Example:
        >>> from pathlib import Path; import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "ages.csv").write_text("age,score\n31,0.5\n44,0.25\n")
        ...     print(read(Path(folder, "ages.csv")).names, read(Path(folder, "ages.csv"), columns="age").array)
        ('age', 'score') [31 44]
    """
    file = Path(path)
    if not file.is_file():
        raise ConfigError(at(f"there is no file {file}"))
    alone = isinstance(columns, (str, int, np.integer))
    wanted = listed(columns)
    if kind_of_file(file) == "text":
        found, names = read_csv(file, wanted, header, delimiter)
        array = joined(found, names, str(file))
    else:
        array, names = of_frame(_selected(file, wanted), str(file))
    if len(array) == 0:
        raise ShapeError(at(f"{file}: the table has no rows"))
    return Table(array[:, 0] if alone else array, names)


def kind_of_file(file: Path) -> str:
    """Returns the format of a file, from its suffix: "text", "parquet" or "arrow".

    Raises:
        ConfigError: the suffix is none of the known ones.
    """
    suffix = file.suffix.lower()
    for kind, suffixes in (("text", _TEXT), ("parquet", _PARQUET), ("arrow", _ARROW)):
        if suffix in suffixes:
            return kind
    known = ", ".join((*_TEXT, *_PARQUET, *_ARROW))
    raise ConfigError(at(f"{file}: what is in it? Its suffix is none of {known}"))


def _selected(file: Path, wanted: Sequence[str | int] | None) -> Any:
    """Returns the wanted columns as a pyarrow table; others are not read."""
    pa = pyarrow(f"reading {file.name}")
    try:
        if file.suffix.lower() in _PARQUET:
            from pyarrow import parquet

            names = parquet.read_schema(file).names
            places = list(positions(file, wanted, names, len(names)))
            if len(set(names)) < len(names):  # columns are asked for by name
                return parquet.ParquetFile(file).read().select(places)
            read: Any = parquet.read_table
        else:
            from pyarrow import feather

            names, read = _arrow_names(file), feather.read_table
            places = list(positions(file, wanted, names, len(names)))
            if len(set(names)) < len(names):
                return read(file).select(places)
        table = read(file, columns=list(dict.fromkeys(names[place] for place in places)))
    except pa.ArrowException as error:
        raise ConfigError(at(f"{file}: {error}")) from None
    return table.select([names[place] for place in places])


def _arrow_names(file: Path) -> list[str]:
    import pyarrow as pa

    with pa.OSFile(str(file)) as opened:
        try:
            return list(pa.ipc.open_file(opened).schema.names)
        except pa.ArrowInvalid:  # the first version of Feather
            from pyarrow import feather

            return list(feather.read_table(file).column_names)
