"""Reading numbers from CSV files; errors name line and column of a cell that is not a number."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from quorate._display._text_tables import counted
from quorate._source import at
from quorate._values._frames import inexact, of_one_type
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError

__all__ = [
    "Column",
    "delimiter_of",
    "is_number",
    "lines_of",
    "listed",
    "positions",
    "read_csv",
    "same_length",
]

_CHUNK = 1 << 15
_DELIMITERS = ",;\t|"
_TOO_LONG = "too long beside reals or negative numbers: give them apart, or scale them"
_WORDS = {"true": True, "false": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,640}\Z")  # int() takes 640 digits under any limit that Python allows
_PADDED = re.compile(r"[+-]?0[0-9]+\Z")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def read_csv(
    path: Path, columns: Sequence[str | int] | None, header: bool | None, delimiter: str | None
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    """Returns the wanted columns and their names; the names are None without a header.

    Raises:
        DtypeError, RangeError: a cell is not a number, or is missing; the message names line and column, with lines
            counted from 1.
        ShapeError: a line has another number of cells than the first.
        ConfigError: the file cannot be read, or lacks a column.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ConfigError(at(f"{path}: delimiter must be one character between cells, such as ';', not {delimiter!r}"))
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter or delimiter_of(path, first), strict=True)
            return _parse(path, reader, columns, header)
    except UnicodeDecodeError as error:
        raise ConfigError(at(f"{path}: not a text file in UTF-8 ({error.reason})")) from None
    except csv.Error as error:
        raise ShapeError(at(f"{path}: not a table of cells: {error}")) from None


def delimiter_of(path: Path, first: str) -> str:
    """Returns the character between cells, from the file's suffix and its first line."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    outside = re.sub(r'"[^"]*"', "", first)
    return max(_DELIMITERS, key=outside.count)


def lines_of(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yields the lines that are not blank, with their numbers in the file."""
    for cells in reader:
        if any(cell.strip() for cell in cells) or len(cells) > 1:
            yield reader.line_num, cells


def _parse(
    path: Path, reader: Any, columns: Sequence[str | int] | None, header: bool | None
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    lines = lines_of(reader)
    first = next(lines, None)
    if first is None:
        raise ShapeError(at(f"{path}: the file is empty"))
    titled = header if header is not None else not all(is_number(cell) for cell in first[1])
    names = tuple(cell.strip() for cell in first[1]) if titled else None
    wanted = positions(path, columns, names, len(first[1]))
    parsers = [Column(path, names[i] if names else str(i)) for i in wanted]
    pending = [] if titled else [first]
    while chunk := pending + list(islice(lines, _CHUNK)):
        pending = []
        same_length(path, chunk, len(first[1]))
        numbers = [number for number, _ in chunk]
        for place, parser in zip(wanted, parsers, strict=True):
            parser.add([cells[place].strip() for _, cells in chunk], numbers)
    return [parser.whole() for parser in parsers], names and tuple(names[i] for i in wanted)


def same_length(path: Path, lines: Sequence[tuple[int, list[str]]], count: int) -> None:
    """Raises a `ShapeError` for a line that has another number of cells."""
    for number, cells in lines:
        if len(cells) != count:
            raise ShapeError(
                at(f"{path}: line {number} has {counted(len(cells), 'cell')}, the first line {count}: make them alike")
            )


def is_number(cell: str) -> bool:
    """Returns whether a cell of the first line is no column's name."""
    text = cell.strip()
    return bool(_REAL.match(text)) or text.lower() in (*_WORDS, "nan", "inf", "-inf", "")


def listed(columns: Any) -> list[str | int] | None:
    """Returns the requested columns as a list; None for all.

    >>> listed("age"), listed(None)
    (['age'], None)

    Raises:
        ConfigError: one is neither a name nor a number.
    """
    if columns is None:
        return None
    several = isinstance(columns, Iterable) and not isinstance(columns, str)
    found = list(columns) if several else [columns]
    for column in found:
        if isinstance(column, (bool, np.bool_)) or not isinstance(column, (str, int, np.integer)):
            raise ConfigError(at(f"columns: {column!r} is no column: give names, or whole numbers from 0"))
    return found


def positions(
    path: Path, columns: Sequence[str | int] | None, names: Sequence[str] | None, count: int
) -> Sequence[int]:
    """Returns the positions of the wanted columns, which are given by name or by number from 0.

    Raises:
        ConfigError: there is no such column, or two have that name.
    """
    if columns is None:
        return range(count)
    found = []
    for column in columns:
        if isinstance(column, str):
            places = [i for i, name in enumerate(names or ()) if name == column]
            if len(places) != 1:
                known = ", ".join(map(repr, names)) if names else "no names: give numbers, from 0"
                many = "several columns" if places else "no column"
                raise ConfigError(at(f"{path} has {many} {column!r}; it has {known}"))
            found.append(places[0])
        elif not 0 <= column < count:
            raise ConfigError(at(f"{path} has no column {column}: it has {count}, numbered from 0"))
        else:
            found.append(int(column))
    return found


def _advice(cell: str) -> str:
    """Returns advice on a cell that is not a number."""
    if re.match(r"[-+0-9. ,]*[0-9],[0-9]", cell):
        return "decimals need a point, and thousands nothing between them"
    mark = next((mark for mark in ";\t| ," if mark in cell and _REAL.match(cell.partition(mark)[0])), None)
    if mark is None:
        return (
            "encode it, or leave the column out; words and dates go in by "
            "mpc.input_frame(lambda: pandas.read_csv(path), owner=0, columns={...})"
        )
    return f"are cells divided by {mark!r}? State delimiter="


def _is_long(part: np.ndarray) -> bool:
    """Returns whether integers are too long to stand beside reals of their own column."""
    return part.dtype.kind == "i" and part.size > 0 and max(int(part.max()), -int(part.min())) > 1 << 53


class Column:
    """A column that is being read: words true and false, integers, or reals. Later cells may widen its type."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._parts: list[np.ndarray] = []

    def add(self, cells: list[str], numbers: list[int]) -> None:
        self._refuse_padded(cells, numbers)
        for convert in (self._integers, self._reals, self._words):
            part = convert(cells)
            if part is not None:
                self._parts.append(part)
                return
        self._refuse(cells, numbers)

    def _refuse_padded(self, cells: list[str], numbers: list[int]) -> None:
        """Refuses numbers with leading zeros, which are identifiers: as numbers, 00491 and 491 would be the same."""
        place = next((i for i, cell in enumerate(cells) if cell[:1] in "0+-" and _PADDED.match(cell)), None)
        if place is not None:
            raise DtypeError(
                at(
                    f"{self._path}: line {numbers[place]}, column {self._name!r}: {cells[place][:24]!r} begins with 0, "
                    "and as a number would be equal to a text without it. If these are identifiers, leave the column "
                    "out and give them as texts, qr.apps.psi(mpc, texts, ..., texts=True); if they are numbers, write "
                    "them without leading zeros"
                )
            )

    @staticmethod
    def _integers(cells: list[str]) -> np.ndarray | None:
        if not all(map(_INTEGER.match, cells)):
            return None
        try:
            return np.array([int(cell) for cell in cells], np.int64)
        except OverflowError:
            return None

    @staticmethod
    def _reals(cells: list[str]) -> np.ndarray | None:
        if not all(map(_REAL.match, cells)):
            return None
        if all(map(_INTEGER.match, cells)):  # integers beyond int64
            whole = list(map(int, cells))
            return np.array(whole, np.uint64) if min(whole) >= 0 and max(whole) < 1 << 64 else None
        long = [int(cell) for cell in cells if len(cell) > 15 and _INTEGER.match(cell)]
        if any(float(value) != value for value in long):
            return None
        reals = np.array([float(cell) for cell in cells])
        return reals if np.isfinite(reals).all() else None

    @staticmethod
    def _words(cells: list[str]) -> np.ndarray | None:
        words = [_WORDS.get(cell.lower()) for cell in cells]
        return None if None in words else np.array(words, bool)

    def _refuse(self, cells: list[str], numbers: list[int]) -> None:
        """Raises an error for the first cell that is not a number, or has another type than the column's first cell."""
        words = [cell.lower() in _WORDS for cell in cells]
        for cell, number, word in zip(cells, numbers, words, strict=True):
            place = f"{self._path}: line {number}, column {self._name!r}"
            if cell == "" or cell.lower() in ("nan", "na", "null", "none"):
                raise RangeError(at(f"{place}: the value is missing: fill it in, or drop the record"))
            if not _REAL.match(cell) and not word:
                if cell.lower().lstrip("+-") in ("inf", "infinity"):
                    raise RangeError(at(f"{place}: {cell} is not finite"))
                shown = cell if len(cell) <= 20 else cell[:20] + "..."
                raise DtypeError(at(f"{place}: {shown!r} is not a number: {_advice(cell)}"))
            if word != words[0]:
                raise DtypeError(at(f"{place}: true and false stand beside numbers: write 1 and 0"))
            if not word and self._reals([cell]) is None and self._integers([cell]) is None:
                raise RangeError(at(f"{place}: {cell[:24]} does not fit 64 bits: scale or split it"))
        raise RangeError(at(f"{self._path}: column {self._name!r} has integers that are {_TOO_LONG}"))

    def take(self) -> np.ndarray:
        """Returns the cells that were added last, and forgets them."""
        return self._parts.pop()

    def sum_up(self) -> None:
        """Forgets the cells so far, but those that decide which types hold the column, alone or beside others."""
        for kind in {part.dtype.kind for part in self._parts}:
            same = [part for part in self._parts if part.dtype.kind == kind]
            others = [part for part in self._parts if part.dtype.kind != kind]
            self._parts = [*others, _summary(np.concatenate(same))]

    def whole(self) -> np.ndarray:
        """Returns the whole column, in the narrowest type that holds it."""
        if not self._parts:
            return np.zeros(0, np.int64)
        kinds = {part.dtype.kind for part in self._parts}
        if "b" in kinds and len(kinds) > 1:
            raise DtypeError(at(f"{self._path}: column {self._name!r} has true and false beside numbers"))
        mixes = "f" in kinds and ("u" in kinds or any(map(_is_long, self._parts)))
        is_negative = any(part.dtype.kind == "i" and part.size > 0 and part.min() < 0 for part in self._parts)
        if mixes or ("u" in kinds and is_negative):
            raise RangeError(at(f"{self._path}: column {self._name!r} has integers that are {_TOO_LONG}"))
        return np.concatenate(of_one_type(self._parts, [""] * len(self._parts), str(self._path)))


def _summary(cells: np.ndarray) -> np.ndarray:
    """Returns some cells that no other type holds if it does not hold all of them.

    >>> _summary(np.array([3, -5, 2**53 + 1, 2**60])).tolist()
    [-5, 1152921504606846976, 9007199254740993]
    """
    if cells.dtype.kind in "bf":
        return cells[:1].copy()
    return np.concatenate([[cells.min(), cells.max()], cells[inexact(cells)][:1]]).astype(cells.dtype)
