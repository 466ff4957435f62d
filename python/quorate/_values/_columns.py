"""Columns of a party's own table as numbers, and errors that name the row of a value that does not fit."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate.dtypes import Dtype, check, uint
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError

__all__ = ["Kind", "checked", "column", "days", "described", "is_date", "kept"]

Kind = Dtype | Sequence[str] | type[datetime.date]

_EPOCH = np.datetime64("1970-01-01", "D")
_DAYS = int_dtype(32)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATES = "dates are datetime.date, datetime64 or texts such as 2000-01-31"
_MOST_EXACT = 1 << 53  # floats hold all whole numbers up to here exactly


def is_date(one: Any) -> bool:
    """Whether a value is a date without a time of day, which would be lost; midnight counts as no time of day."""
    if isinstance(one, str):
        return _DATE.fullmatch(one) is not None
    if isinstance(one, datetime.datetime):
        return one != one or (one.tzinfo is None and one.time() == datetime.time())
    return one is None or isinstance(one, datetime.date)


def _day(one: Any) -> Any:
    """Returns the date of a midnight, and None for pandas' missing date."""
    if not isinstance(one, datetime.datetime):
        return one
    return one.date() if one == one else None


def days(date: Any) -> Any:
    """Returns the days from 1970-01-01 to a date, or to each of several, as columns of dates hold them.

    >>> days("1970-01-31"), days(datetime.date(2000, 1, 1))
    (30, 10957)

    Raises:
        DtypeError: a value is not a date, or is missing.
    """
    given = np.asarray(date)
    if given.dtype.kind == "M":
        whole = given.astype("datetime64[D]")
        fine = bool((np.isnat(given) | (whole == given)).all())
    else:
        fine = all(is_date(one) for one in np.ravel(given).tolist())
    if not fine:
        raise DtypeError(
            at(f"{_DATES}, not numbers or times of day: give date.date(), or values.astype('datetime64[D]') of many")
        )
    if given.dtype.kind == "O":
        given = np.array([_day(one) for one in given.ravel().tolist()], object).reshape(given.shape)
    try:
        found = np.asarray(given, dtype="datetime64[D]")
    except (ValueError, TypeError) as error:
        raise DtypeError(at(f"{_DATES}: {error}")) from None
    if np.isnat(found).any():
        raise DtypeError(at("a date is missing: fill it in, or drop the row"))
    counted = (found - _EPOCH).astype(np.int64)
    return counted if counted.ndim else int(counted)


def checked(name: Any, kind: Any) -> Kind:
    """Returns the stated content of a column, checked.

    Raises:
        ConfigError: it is not a dtype, a list of words or `datetime.date`; or the name is not a text.
    """
    if not isinstance(name, str) or not _is_text(name):
        raise ConfigError(at(f"input_frame: names of columns are texts, not {name!r}"))
    if kind is datetime.date:
        return datetime.date
    if isinstance(kind, (list, tuple)):
        if not kind or not all(isinstance(word, str) for word in kind) or len(set(kind)) < len(kind):
            raise ConfigError(at(f"input_frame: the words of column {name!r} are texts, each of them once"))
        strange = [word for word in kind if not _is_text(word)]
        if strange:
            problem = f"{strange[0]!r} is no word: leave out '\\0' and half characters"
            raise ConfigError(at(f"input_frame: column {name!r}: {problem}"))
        return tuple(kind)
    return check(kind)


def _is_text(word: str) -> bool:
    """Whether a word is valid Unicode, which all parties encode alike, without zeros, which numpy drops at the end."""
    return "\0" not in word and not any("\ud800" <= letter <= "\udfff" for letter in word)


def kept(kind: Kind) -> tuple[Dtype, int | None]:
    """Returns the dtype and the bound of a column."""
    if isinstance(kind, Dtype):
        return kind, None
    if isinstance(kind, type):
        return _DAYS, None
    return uint(max((len(kind) - 1).bit_length(), 1)), len(kind) - 1


def described(name: str, kind: Kind) -> tuple[str, list[str] | None]:
    """Returns a column's name and words for the program: an empty list for dates, None for numbers."""
    if isinstance(kind, Dtype):
        return name, None
    return name, [] if isinstance(kind, type) else list(kind)


def column(table: Any, name: str, kind: Kind) -> np.ndarray:
    """Returns a column of the owner's table as numbers that fit. Error messages are shown to the owner alone.

    Raises:
        ConfigError: the table has no such column.
        RangeError, DtypeError: a value does not have the stated type; the message names its row.
        ShapeError: the column does not have one axis.
    """
    try:
        found = table[name]
    except (KeyError, IndexError, TypeError):
        raise ConfigError(at(f"input_frame: the table has no column {name!r}")) from None
    except Exception as error:  # each library raises its own errors
        raise ConfigError(at(f"input_frame: the table has no column {name!r} ({error})")) from None
    of = f"input_frame: column {name!r}"
    if isinstance(kind, Dtype):
        return _numbers(found, of, kind, name)
    plain = found.to_numpy() if hasattr(found, "to_numpy") else np.asarray(found)
    _one_axis(plain, of)
    return _dates(plain, of, name) if isinstance(kind, type) else _codes(plain, of, kind)


def _one_axis(values: np.ndarray, of: str) -> None:
    if values.ndim != 1:
        raise ShapeError(at(f"{of} has shape {values.shape}; one axis is wanted"))


def _whole(array: np.ndarray, of: str, dtype: Dtype, name: str) -> np.ndarray:
    """Converts whole floats to integers: a column with a missing value is read as floats, which have 53 bits."""
    whole = f"{dtype} holds whole numbers: round the column, or name a dtype=qr.fixed(k, f) for it"
    _refuse(array % 1 != 0, array, of, f"{{}} is not whole, and {whole}")
    reads = f"pandas.read_csv(path, dtype={{{{{name!r}: 'Int64'}}}})"
    lost = f"may have lost digits: it was read as a float, which has 53 bits; read whole numbers, {reads}"
    _refuse(np.abs(array) >= _MOST_EXACT, array, of, f"{{}} {lost}")
    return array.astype(np.int64)


def _numbers(found: Any, of: str, dtype: Dtype, name: str) -> np.ndarray:
    from quorate._values._public_numbers import as_numbers

    array = as_numbers(found, of)
    _one_axis(array, of)
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, of, "{} is missing or infinite: fill it in, or drop the row")
        if dtype.kind != "fixed":
            array = _whole(array, of, dtype, name)
    if dtype.kind == "bit":
        _refuse((array != 0) & (array != 1), array, of, "{} is no bit: bits are 0 or 1, False or True")
        return array
    low = -(1 << dtype.bits - 1) if dtype.kind != "uint" else 0
    high = (1 << dtype.bits - (dtype.kind != "uint")) - 1
    if array.dtype.kind == "f":
        units = np.rint(np.ldexp(array, dtype.frac))
        outside = (units < low) | (units >= high + 1)
    else:
        # Python's integers, one by one, where bounds may exceed numpy's.
        first, last = -((-low) >> dtype.frac), high >> dtype.frac
        outside = np.array([not first <= int(v) <= last for v in array.tolist()], bool)
    one = 1 << dtype.frac
    shown = f"{low // one} to {'below ' * bool(dtype.frac)}{(high + bool(dtype.frac)) // one}"
    _refuse(outside, array, of, f"{{}} does not fit {dtype}, which holds {shown}: name a wider dtype")
    return array


def _refuse(bad: np.ndarray, values: np.ndarray, of: str, problem: str) -> None:
    """Refuses a column with bad values; the message names the first bad row.

    Raises:
        RangeError: a value is bad.
    """
    if np.any(bad):
        row = int(np.argmax(bad))
        raise RangeError(at(f"{of}, row {row}: {problem.format(values.tolist()[row])}"))


def _dates(plain: np.ndarray, of: str, name: str) -> np.ndarray:
    try:
        return np.asarray(days(plain)).reshape(-1)
    except DtypeError:
        for row, one in enumerate(plain if plain.dtype.kind == "M" else plain.tolist()):
            missing = one is None or one != one
            try:
                days(one)
            except DtypeError:
                problem = (
                    f"{one!r} is none: {_DATES}; of times of day, write frame[{name!r}] = frame[{name!r}].dt.date first"
                )
                if missing:
                    problem = "the date is missing: fill it in, or drop the row"
                raise DtypeError(at(f"{of}, row {row}: {problem}")) from None
        raise


def _codes(plain: np.ndarray, of: str, words: Sequence[str]) -> np.ndarray:
    codes, given = {word: code for code, word in enumerate(words)}, plain.tolist()
    found = [codes.get(word, -1) if isinstance(word, str) else -1 for word in given]
    if -1 in found:
        row = found.index(-1)
        raise RangeError(at(f"{of}, row {row}: {given[row]!r} is none of the words agreed on: {list(words)}"))
    return np.array(found, np.int64)
