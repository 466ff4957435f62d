"""Text files of numbers that are read in parts: where every few thousand lines begin, found in one pass."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from quorate._source import at
from quorate._values._frames import joined
from quorate.errors import ConfigError, ShapeError
from quorate.tables._csv import Column, delimiter_of, is_number, lines_of, positions, same_length

__all__ = ["CsvParts"]

_BATCH = 1 << 15


class CsvParts:
    """The wanted columns of a text file. The whole file is parsed once, and nothing of it kept but where it is cut."""

    def __init__(self, file: Path, wanted: Sequence[str | int] | None) -> None:
        self._file = file
        self.names: tuple[str, ...] | None = None
        self.starts = [0]
        # For each batch, the byte where it begins.
        self._places: list[int] = []
        self._delimiter, self._count = ",", 0
        self._wanted: Sequence[int] = ()
        self.columns = 0
        try:
            self.kind = self._parse_all(wanted)
        except UnicodeDecodeError as error:
            raise ConfigError(at(f"{file}: not a text file in UTF-8 ({error.reason})")) from None
        except csv.Error as error:
            raise ShapeError(at(f"{file}: not a table of cells: {error}")) from None

    def _parse_all(self, wanted: Sequence[str | int] | None) -> str:
        with self._file.open("rb") as opened:
            text = _Text(opened, 0)
            first = next(text, None)
            if first is None:
                raise ShapeError(at(f"{self._file}: the file is empty"))
            self._delimiter = delimiter_of(self._file, first)
            opened.seek(0)
            text = _Text(opened, 0)
            lines = lines_of(csv.reader(text, delimiter=self._delimiter, strict=True))
            head = next(lines, None)
            if head is None:
                raise ShapeError(at(f"{self._file}: the file is empty"))
            titled = not all(is_number(cell) for cell in head[1])
            names = tuple(cell.strip() for cell in head[1]) if titled else None
            self._count = len(head[1])
            self._wanted = positions(self._file, wanted, names, self._count)
            self.columns = len(self._wanted)
            self.names = names and tuple(names[place] for place in self._wanted)
            parsers = self._parsers()
            pending = [] if titled else [head]
            place = text.read if titled else 0
            while chunk := pending + list(islice(lines, _BATCH - len(pending))):
                pending = []
                self._places.append(place)
                self.starts.append(self.starts[-1] + len(chunk))
                place = text.read
                self._add(chunk, parsers)
                for parser in parsers:
                    parser.sum_up()
        # What no type holds is refused as where the file is read whole.
        found = [parser.whole() for parser in parsers]
        most = max(map(len, found), default=0)
        return joined([np.resize(cells, most) for cells in found], self.names, str(self._file)).dtype.kind

    def batch(self, number: int) -> np.ndarray:
        """Returns the rows of a batch, as an array of shape (rows, columns)."""
        start = self._places[number]
        with self._file.open("rb") as opened:
            opened.seek(start)
            reader = csv.reader(_Text(opened, start), delimiter=self._delimiter, strict=True)
            chunk = list(islice(lines_of(reader), self.starts[number + 1] - self.starts[number]))
        parsers = self._parsers()
        self._add(chunk, parsers)
        return joined([parser.whole() for parser in parsers], self.names, str(self._file))

    def _parsers(self) -> list[Column]:
        names = self.names or tuple(map(str, self._wanted))
        return [Column(self._file, name) for name in names]

    def _add(self, chunk: list[tuple[int, list[str]]], parsers: list[Column]) -> None:
        same_length(self._file, chunk, self._count)
        numbers = [number for number, _ in chunk]
        for place, parser in zip(self._wanted, parsers, strict=True):
            parser.add([cells[place].strip() for _, cells in chunk], numbers)


class _Text:
    """The lines of a text from a byte on, with the number of bytes that were read."""

    def __init__(self, opened: BinaryIO, start: int) -> None:
        self._opened, self.read = opened, start

    def __iter__(self) -> _Text:
        return self

    def __next__(self) -> str:
        line: Any = self._opened.readline()
        if not line:
            raise StopIteration
        text = line.decode("utf-8-sig" if self.read == 0 else "utf-8")
        self.read += len(line)
        return text
