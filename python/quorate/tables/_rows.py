"""Files that are read in parts: of their rows, a few batches are in memory at a time."""

from __future__ import annotations

import bisect
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from quorate._source import at
from quorate._values._frames import of_frame, of_one_type, pyarrow
from quorate.errors import ConfigError, ShapeError
from quorate.tables._csv import listed, positions
from quorate.tables._csv_parts import CsvParts
from quorate.tables._read import kind_of_file

__all__ = ["FileRows"]

BATCH = 1 << 16
"""The largest number of rows that are decoded at a time."""

_KEPT = 4  # decoded batches: pieces of a program read rows nearly in order
_CURSORS = 4  # places in a Parquet file from which batches are decoded one after another


T = TypeVar("T")


class Parts(Protocol):
    """A file that is read batch by batch."""

    names: tuple[str, ...] | None
    starts: list[int]
    """The first row of each batch, and the number of rows."""
    columns: int
    kind: str
    """The type of all values together: "b" for true and false, "i" for integers, "u" beyond int64, "f" for reals."""

    def batch(self, number: int) -> np.ndarray:
        """Returns the rows of a batch, as an array of shape (rows, columns)."""
        ...


class FileRows:
    """The wanted columns of a file, read in parts.

    Attributes:
        shape: (rows, columns), or (rows,) for one column that is given alone.
        kind: the type of all values together, as in `Parts`.
        names: the names of the columns; None where the file has none.
    """

    def __init__(self, path: str | os.PathLike[str], columns: str | int | Sequence[str | int] | None = None) -> None:
        self._file = Path(path)
        if not self._file.is_file():
            raise ConfigError(at(f"there is no file {self._file}"))
        self._state = _state(self._file)
        self._lock = threading.Lock()
        self._batches: OrderedDict[int, np.ndarray] = OrderedDict()
        wanted = listed(columns)
        kinds: dict[str, Callable[[Path, Sequence[str | int] | None], Parts]]
        kinds = {"text": CsvParts, "parquet": _ParquetParts, "arrow": _ArrowParts}
        opens = kinds[kind_of_file(self._file)]
        self._parts = self._unchanged(lambda: opens(self._file, wanted))
        self.names, self.kind = self._parts.names, self._parts.kind
        rows = self._parts.starts[-1]
        if rows == 0:
            raise ShapeError(at(f"{self._file}: the table has no rows"))
        alone = isinstance(columns, (str, int, np.integer))
        self.shape: tuple[int, ...] = (rows,) if alone else (rows, self._parts.columns)
        self._batch(0)  # types that are no numbers are found before anybody is told of the file

    def __call__(self, start: int, stop: int) -> tuple[str, bytearray]:
        """Returns the elements from `start` to `stop`, row by row, as their kind and bytes.

        Raises:
            ConfigError: the file changed since it was opened.
            RangeError, DtypeError: a value is missing, or is not a number.
        """
        width = self._parts.columns
        with self._lock:
            self._check()
            rows = self._rows(start // width, -(-stop // width))
            values = rows.ravel()[start % width : start % width + stop - start]
            packed = bytearray(values.nbytes)
            np.frombuffer(packed, values.dtype)[:] = values
            if rows.base is None:
                rows.fill(0)
        return {"b": "?"}.get(values.dtype.kind, values.dtype.kind), packed

    def _rows(self, first: int, end: int) -> np.ndarray:
        starts = self._parts.starts
        number = bisect.bisect_right(starts, first) - 1
        if end <= starts[number + 1]:
            return self._batch(number)[first - starts[number] : end - starts[number]]
        found = []
        while first < end:
            start, stop = starts[number], min(end, starts[number + 1])
            # A copy, since the batch is wiped when it makes room for others.
            found.append(self._batch(number)[first - start : stop - start].copy())
            first, number = stop, number + 1
        # Batches may have integers only, or some beyond int64.
        alike = of_one_type(found, [""] * len(found), str(self._file))
        whole = np.concatenate(alike)
        for part in (*found, *alike):
            part.fill(0)
        return whole

    def _batch(self, number: int) -> np.ndarray:
        if number in self._batches:
            self._batches.move_to_end(number)
            return self._batches[number]
        batch = self._unchanged(lambda: self._parts.batch(number))
        self._batches[number] = batch
        if len(self._batches) > _KEPT:
            self._batches.popitem(last=False)[1].fill(0)
        return batch

    def _unchanged(self, reads: Callable[[], T]) -> T:
        """Returns what is read. If the file changed meanwhile, whatever came of it, that is the error."""
        try:
            found = reads()
        except Exception:
            self._check()
            raise
        self._check()
        return found

    def _check(self) -> None:
        if _state(self._file) != self._state:
            raise ConfigError(
                at(f"{self._file} changed while it was read: leave it as it is until the session ends, or read a copy")
            )


def _state(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino


class _Columns:
    """What the formats of Arrow have in common: the wanted columns, and their types."""

    def __init__(self, file: Path, schema: Any, wanted: Sequence[str | int] | None) -> None:
        pa = pyarrow(f"reading {file.name}")
        self._file = file
        names = list(schema.names)
        self._places = list(positions(file, wanted, names, len(names)))
        self.names: tuple[str, ...] | None = tuple(names[place] for place in self._places)
        self.columns = len(self._places)
        if self.columns == 0:
            raise ShapeError(at(f"{file}: the table has no columns"))
        if len(set(names)) < len(names):
            raise ConfigError(at(f"{file}: several columns have one name: rename them, or read it with qr.read"))
        types = [schema.field(place).type for place in self._places]
        self.kind = (
            "f"
            if any(pa.types.is_floating(kind) for kind in types)
            else "b"
            if all(pa.types.is_boolean(kind) for kind in types)
            else "i"
        )

    def _numbers(self, table: Any, first: int) -> np.ndarray:
        """Returns the numbers of some rows, in an array of their own."""
        array = of_frame(table.select(list(self.names or ())), str(self._file), first)[0]
        return array if array.flags.writeable and array.flags.owndata else array.copy()


class _ParquetParts(_Columns):
    """A Parquet file: batches of its row groups, decoded in order from several places."""

    def __init__(self, file: Path, wanted: Sequence[str | int] | None) -> None:
        pa = pyarrow(f"reading {file.name}")
        from pyarrow import parquet

        try:
            # Pages are read when they are decoded, not a whole row group ahead.
            self._opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        except pa.ArrowException as error:
            raise ConfigError(at(f"{file}: {error}")) from None
        super().__init__(file, self._opened.schema_arrow, wanted)
        self.starts, self._groups = [0], []
        for group in range(self._opened.num_row_groups):
            rows = self._opened.metadata.row_group(group).num_rows
            for within in range(0, rows, BATCH):
                self._groups.append((group, within // BATCH))
                self.starts.append(self.starts[-1] + min(BATCH, rows - within))
        # The next batch of each cursor, and its iterator.
        self._cursors: OrderedDict[int, Iterator[Any]] = OrderedDict()

    def batch(self, number: int) -> np.ndarray:
        pa = pyarrow(f"reading {self._file.name}")
        group, place = self._groups[number]
        before = [at for at in self._cursors if number - place <= at <= number]
        at_ = max(before, default=None)
        batches = self._batches(group) if at_ is None else self._cursors.pop(at_)
        try:
            for _ in range(number - place if at_ is None else at_, number):
                next(batches)
            table = pa.Table.from_batches([next(batches)])
        except pa.ArrowException as error:
            raise ConfigError(at(f"{self._file}: {error}")) from None
        if len(table) != self.starts[number + 1] - self.starts[number]:
            raise ConfigError(at(f"{self._file}: its row groups have other lengths than it says"))
        if number + 1 < len(self._groups) and self._groups[number + 1][0] == group:
            self._cursors[number + 1] = batches
        if len(self._cursors) > _CURSORS:
            self._cursors.popitem(last=False)
        return self._numbers(table, self.starts[number])

    def _batches(self, group: int) -> Iterator[Any]:
        return iter(
            self._opened.iter_batches(
                batch_size=BATCH, row_groups=[group], columns=list(dict.fromkeys(self.names or ())), use_threads=False
            )
        )


class _ArrowParts(_Columns):
    """An Arrow file: its record batches, of which only the wanted columns are read."""

    def __init__(self, file: Path, wanted: Sequence[str | int] | None) -> None:
        pa = pyarrow(f"reading {file.name}")
        try:
            schema = pa.ipc.open_file(pa.OSFile(str(file))).schema
        except pa.ArrowException as error:
            raise ConfigError(at(f"{file}: {error}")) from None
        super().__init__(file, schema, wanted)
        options = pa.ipc.IpcReadOptions(included_fields=sorted(set(self._places)), use_threads=False)
        self._opened = pa.ipc.open_file(pa.OSFile(str(file)), options=options)
        self.starts = [0]
        for number in range(self._opened.num_record_batches):
            self.starts.append(self.starts[-1] + self._opened.get_batch(number).num_rows)

    def batch(self, number: int) -> np.ndarray:
        pa = pyarrow(f"reading {self._file.name}")
        try:
            table = pa.Table.from_batches([self._opened.get_batch(number)])
        except pa.ArrowException as error:
            raise ConfigError(at(f"{self._file}: {error}")) from None
        return self._numbers(table, self.starts[number])
