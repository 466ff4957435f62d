"""Tables of secret columns: names, agreed words as codes, dates as days; the owner tells how many rows there are."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate._public import as_numbers
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check, uint
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError

if TYPE_CHECKING:
    from quorate._counts import Groups
    from quorate.session import Session

__all__ = ["Announcing", "Frame", "days"]

Kind = Dtype | Sequence[str] | type[datetime.date]

_EPOCH = np.datetime64("1970-01-01", "D")
_DAYS = int_dtype(32)
# What may be announced fits the integers of every family.
_MOST = (1 << 31) - 1


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def _is_date(one: Any) -> bool:
    """Whether it is a whole date; times of day would be lost."""
    if isinstance(one, str):
        return _DATE.fullmatch(one) is not None
    return one is None or (isinstance(one, datetime.date) and not isinstance(one, datetime.datetime))


def _are_days(given: np.ndarray) -> bool:
    whole = given.astype("datetime64[D]")
    return bool((np.isnat(given) | (whole == given)).all())


def days(date: Any) -> Any:
    """Days from 1970-01-01 to a date, or to each of several: how columns of dates are kept.

    >>> days("1970-01-31"), days(datetime.date(2000, 1, 1))
    (30, 10957)

    Raises:
        DtypeError: it is no date, or one is missing.
    """
    given = np.asarray(date)
    if not (_are_days(given) if given.dtype.kind == "M" else all(_is_date(one) for one in np.ravel(given).tolist())):
        raise DtypeError(
            at("dates are datetime.date, datetime64 or texts such as 2000-01-31, not numbers or times of day")
        )
    try:
        found = np.asarray(date, dtype="datetime64[D]")
    except (ValueError, TypeError) as error:
        raise DtypeError(at(f"dates are datetime.date, datetime64 or texts such as 2000-01-31: {error}")) from None
    if np.isnat(found).any():
        raise DtypeError(at("a date is missing: fill it in, or drop the row"))
    counted = (found - _EPOCH).astype(np.int64)
    return counted if counted.ndim else int(counted)


class Frame:
    """Named columns of secrets, all of one length. Made by `Session.input_frame`.

    `frame["age"]` is a secret array, `frame[["age", "town"]]` a frame of fewer columns.

    Attributes:
        columns: the names, in their order.
    """

    def __init__(self, mpc: Session, rows: int, arrays: Mapping[str, SecretArray], kinds: Mapping[str, Kind]) -> None:
        self._mpc, self._rows, self._arrays, self._kinds = mpc, rows, dict(arrays), dict(kinds)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._rows, len(self._arrays)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __repr__(self) -> str:
        named = ", ".join(f"{name}: {array.dtype}" for name, array in self._arrays.items())
        return f"Frame({self._rows} rows; {named})"

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, list):
            return Frame(self._mpc, self._rows, {n: self[n] for n in key}, {n: self._kinds[n] for n in key})
        self._known(key)
        return self._arrays[key]

    def _known(self, name: Any) -> None:
        if name not in self._arrays:
            raise ConfigError(at(f"there is no column {name!r}; there are {', '.join(map(repr, self._arrays))}"))

    def words(self, column: str) -> tuple[str, ...]:
        """The agreed words of a column, in the order of their codes.

        Raises:
            ConfigError: there is no such column, or it has no words.
        """
        self._known(column)
        kind = self._kinds[column]
        if isinstance(kind, (Dtype, type)):
            raise ConfigError(at(f"column {column!r} has no words: it is {kind!r}"))
        return tuple(kind)

    def code(self, column: str, word: str) -> int:
        """The code of a word: `frame["town"] == frame.code("town", "Oslo")`."""
        words = self.words(column)
        if word not in words:
            raise RangeError(at(f"column {column!r} has no word {word!r}; it has {', '.join(map(repr, words))}"))
        return words.index(word)

    def group_by(self, column: str) -> Groups:
        """Sums, means and sizes for each word of a column, in the words' order; see `Session.group_by`."""
        return self._mpc.group_by(self[column], len(self.words(column)))


class Announcing:
    """What a `Session` does with what an owner tells of its data, and with tables of named columns."""

    def announce(self, number: int | Callable[[], int] | None = None, owner: int | None = None) -> int:
        """A whole number from 0 to 2^31 - 1 that its owner tells all parties, such as how many rows it has.

        It is an input that is revealed at once: a run of its own, which the plan and `stats` show.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     rows = mpc.announce(3, owner=0)
            ...     print(mpc.input([30, 40, 50], owner=0, shape=(rows,)).sum().reveal())
            120
        """
        return self._announced(number, owner, "a number that it announces")

    def _announced(self, number: int | Callable[[], int] | None, owner: int | None, what: str) -> int:
        """`what` it is, for plans."""
        session = cast("Session", self)
        party = session._owner(owner)
        here = session.me in (None, party)
        value = (number() if callable(number) else number) if here else None
        if here and value is None:
            raise ConfigError(at(f"announce: party {party} is here: give its number"))
        if here and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= _MOST):
            raise RangeError(at(f"announce: a whole number from 0 to 2^31 - 1, not {value!r}"))
        told = session.input(value, owner=party, shape=(), dtype=int_dtype(32), bound=_MOST)
        shown = session._tell(told, what)
        known = int(cast("int", value if session._nothing_is_sent else shown))
        if known < 0:  # whoever cheats may input any number
            raise RangeError(at(f"announce: party {party} told {known}, and not a whole number from 0 on"))
        return known

    def input_frame(
        self,
        values: Any = None,
        owner: int | None = None,
        columns: Mapping[str, Kind] | None = None,
        rows: int | None = None,
    ) -> Frame:
        """A party's secret table.

        Its columns are agreed: all parties state their names and what they are. How many rows there are the owner tells
        (`announce`), unless `rows` states it.

        Args:
            values: at its owner, a data frame of pandas, polars or pyarrow, a dict of columns, or a callable that gives
                one; what others give is not looked at. Columns that are not asked for stay where they are.
            owner: the party whose table it is.
            columns: of each column its dtype; or a list of the words that it may have, which become codes from 0 on; or
                `datetime.date`, which becomes days from 1970-01-01 (`qr.days`), as int(32).
            rows: how many rows, if all know that.

        Raises:
            ConfigError: the table lacks a column, or columns are not stated.
            RangeError: a word that was not agreed on, or a number that does not fit.
            ShapeError: columns that are not equally long, or not `rows` long.

        Example:
            >>> import quorate as qr
            >>> people = {"age": [31, 44, 58], "town": ["Oslo", "Rome", "Oslo"]}
            >>> with qr.local("rss") as mpc:
            ...     frame = mpc.input_frame(people, owner=0, columns={"age": qr.int(16), "town": ["Rome", "Oslo"]})
            ...     print(frame)
            ...     old = frame["age"] * (frame["town"] == frame.code("town", "Oslo"))
            ...     print(old.sum().reveal(), frame.group_by("town").mean(frame["age"]).reveal())
            Frame(3 rows; age: int(16), town: uint(1))
            89 [44.  44.5]
        """
        session = cast("Session", self)
        party = session._owner(owner)
        if not columns:
            raise ConfigError(at('input_frame: state the columns, such as columns={"age": qr.int(16)}'))
        kinds = {name: _checked(name, kind) for name, kind in columns.items()}
        here = session.me in (None, party)
        table = (values() if callable(values) else values) if here else None
        given = None
        if table is not None:
            given = {name: _column(table, name, kind) for name, kind in kinds.items()}
            for name, found in given.items():
                if np.ndim(found) != 1:
                    text = f"input_frame: column {name!r} has shape {np.shape(found)}; one axis is wanted"
                    raise ShapeError(at(text))
            lengths = {len(column) for column in given.values()}
            if len(lengths) > 1:
                raise ShapeError(at(f"input_frame: columns of different lengths: {sorted(lengths)}"))
            own = lengths.pop()
            if rows is not None and rows != own:
                raise ShapeError(at(f"input_frame: the table has {own} rows, but rows={rows} was stated"))
        elif here and not (session._nothing_is_sent and rows is not None):
            raise ConfigError(at(f"input_frame: party {party} is here: give its table"))
        count = rows
        if count is None:
            count = session._announced(own if given is not None else None, party, "its number of rows")
        arrays = {}
        for name, kind in kinds.items():
            dtype, bound = _kept(kind)
            column = None if given is None else given[name]
            arrays[name] = session.input(column, owner=party, shape=(count,), dtype=dtype, bound=bound)
        return Frame(session, count, arrays, kinds)


def _checked(name: str, kind: Any) -> Kind:
    """What a column is said to be.

    Raises:
        ConfigError: neither a dtype, nor words, nor dates.
    """
    if kind is datetime.date:
        return datetime.date
    if isinstance(kind, (list, tuple)):
        if not kind or not all(isinstance(word, str) for word in kind) or len(set(kind)) < len(kind):
            raise ConfigError(at(f"input_frame: the words of column {name!r} are texts, each of them once"))
        return tuple(kind)
    return check(kind)


def _kept(kind: Kind) -> tuple[Dtype, int | None]:
    """Dtype and bound of a column."""
    if isinstance(kind, Dtype):
        return kind, None
    if isinstance(kind, type):
        return _DAYS, None
    return uint(max((len(kind) - 1).bit_length(), 1)), len(kind) - 1


def _column(table: Any, name: str, kind: Kind) -> np.ndarray:
    """A column of the owner's table as numbers."""
    try:
        column = table[name]
    except (KeyError, IndexError, TypeError):
        raise ConfigError(at(f"input_frame: the table has no column {name!r}")) from None
    except Exception as error:  # other libraries have errors of their own
        raise ConfigError(at(f"input_frame: the table has no column {name!r} ({error})")) from None
    if isinstance(kind, Dtype):
        return as_numbers(column, f"input_frame: column {name!r}")
    plain = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if isinstance(kind, type):
        return np.asarray(days(plain)).reshape(-1)
    codes = {word: code for code, word in enumerate(kind)}
    words = plain.tolist()
    found = [codes.get(word, -1) if isinstance(word, str) else -1 for word in words]
    if -1 in found:
        row = found.index(-1)
        raise RangeError(
            at(f"input_frame: column {name!r}, row {row}: {words[row]!r} is none of the words agreed on: {list(kind)}")
        )
    return np.array(found, np.int64)
