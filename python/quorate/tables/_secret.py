"""Tables of secret columns: words as codes of an agreed list, dates as days. The owner announces the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from quorate._source import at
from quorate._values._columns import Kind, checked, column, days, described, kept
from quorate.array import SecretArray
from quorate.dtypes import Dtype
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError

if TYPE_CHECKING:
    from quorate._statistics._counts import Groups
    from quorate.session import Session

__all__ = ["Announcing", "Frame", "days"]

# The largest number that may be announced; it fits the integers of every family.
_MOST = (1 << 31) - 1


# Attributes of pandas' data frames, and what to write here instead.
_OF_FRAMES = {
    "groupby": 'frame.group_by("town").mean(frame["age"])',
    "merge": 'mpc.join(frame["id"], other["id"], other["age"])',
    "join": 'mpc.join(frame["id"], other["id"], other["age"])',
    "query": 'where rows count, (frame["age"] > 40) * frame["income"]',
    "loc": 'frame["age"][:2] of public rows',
    "iloc": 'frame["age"][:2] of public rows',
    "head": 'frame["age"][:2] of public rows',
    "sort_values": 'mpc.sort(frame["age"], frame["income"])',
    "to_numpy": 'np.stack([frame["age"], frame["income"]], axis=1)',
    "values": 'np.stack([frame["age"], frame["income"]], axis=1)',
}


def _instead(name: str, columns: list[str]) -> str:
    if name in columns:
        return f": write frame[{name!r}]"
    if name in _OF_FRAMES:
        return f": write {_OF_FRAMES[name]}"
    if not name.startswith("_") and hasattr(SecretArray, name):
        return f", but their columns do: frame[{columns[0]!r}].{name}" if columns else ""
    return f"; columns are {', '.join(map(repr, columns))}, as in frame[{columns[0]!r}]" if columns else ""


def _no_name(key: Any) -> str:
    if isinstance(key, SecretArray):
        return (
            "how many rows a secret picks would be told: rows stay, and those that count are weighed with the bits, "
            '(frame["age"] > 40) * frame["income"], or mpc.where'
        )
    return f'a frame is indexed by names of columns, not {key!r}; public rows are frame["age"][:2]'


class Frame:
    """Named columns of secrets, all of one length. Made by `Session.input_frame`.

    `frame["age"]` is a secret array, `frame[["age", "town"]]` a frame of fewer columns. Columns of words and dates are
    compared with words and dates, as in `frame["town"] == "Oslo"`. A column of words can be combined only with columns
    of the same words in the same order; others raise `DtypeError`. Results of arithmetic, such as `x + 0`, are plain
    numbers and no longer words or dates.

    Attributes:
        columns: the names, in their order.
    """

    def __init__(self, mpc: Session, rows: int, arrays: Mapping[str, SecretArray], kinds: Mapping[str, Kind]) -> None:
        self._mpc, self._rows, self._arrays, self._kinds = mpc, rows, dict(arrays), dict(kinds)

    def _adopted_by(self, session: Session) -> Frame:
        return Frame(session, self._rows, session.adopt(self._arrays), self._kinds)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
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
        if not isinstance(key, str):
            raise DtypeError(at(_no_name(key)))
        self._known(key)
        return self._arrays[key]

    def __getattr__(self, name: str) -> NoReturn:
        arrays = self.__dict__.get("_arrays", {})
        raise AttributeError(f"frames have no {name!r}{_instead(name, list(arrays))}", name=name)

    def _known(self, name: Any) -> None:
        if name not in self._arrays:
            raise ConfigError(at(f"there is no column {name!r}; there are {', '.join(map(repr, self._arrays))}"))

    def words(self, column: str) -> tuple[str, ...]:
        """Returns the agreed words of a column, in the order of their codes.

        Raises:
            ConfigError: there is no such column, or it has no words.
        """
        self._known(column)
        kind = self._kinds[column]
        if isinstance(kind, (Dtype, type)):
            raise ConfigError(at(f"column {column!r} has no words: it is {kind!r}"))
        return tuple(kind)

    def code(self, column: str, word: str) -> int:
        """Returns the code of a word, its place in the list: `frame["size"] < frame.code("size", "large")`."""
        words = self.words(column)
        if word not in words:
            raise RangeError(at(f"column {column!r} has no word {word!r}; it has {', '.join(map(repr, words))}"))
        return words.index(word)

    def group_by(self, column: str) -> Groups:
        """Groups rows by the words of a column, in the words' order: sums, means and sizes; see `Session.group_by`."""
        return self._mpc.group_by(self[column], len(self.words(column)))


class Announcing:
    """The methods of `Session` that announce public facts about data, and that input tables of named columns."""

    def announce(self, number: int | Callable[[], int] | None = None, owner: int | None = None) -> int:
        """Announces a whole number from 0 to 2^31 - 1 that one party has, such as its number of rows, to all parties.

        `number`, or a callable that returns it, is used at the owner only. It is an input that is revealed at once, in
        a run of its own, which the plan and `stats` show.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     rows = mpc.announce(3, owner=0)
            ...     print(mpc.input([30, 40, 50], owner=0, shape=(rows,)).sum().reveal())
            120
        """
        return self._announced(number, owner, "a number that it announces")

    def _announced(self, number: int | Callable[[], int] | None, owner: int | None, what: str) -> int:
        """Announces a number; plans show `what`, its description."""
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
        if known < 0:  # an owner that cheats may input any number
            raise RangeError(at(f"announce: party {party} told {known}, and not a whole number from 0 on"))
        return known

    def input_frame(
        self,
        values: Any = None,
        owner: int | None = None,
        columns: Mapping[str, Kind] | None = None,
        rows: int | None = None,
        bound_check: str = "proven",
    ) -> Frame:
        """Inputs a party's table as secret columns.

        The parties agree on the columns: all state their names and types. The owner announces the number of rows
        (`announce`), unless `rows` states it.

        Args:
            values: at its owner, a data frame of pandas, polars or pyarrow, a dict of columns, or a callable that
                returns one. Values of other parties are ignored. Columns that are not listed in `columns` are not
                input.
            owner: the party whose table it is.
            columns: for each column its dtype; or a list of the words that it may have, which become codes from 0 on;
                or `datetime.date`, which becomes days from 1970-01-01 (`qr.days`), as int(32). Names and words are part
                of the program that parties agree on (`ProgramMismatch`).
            rows: the number of rows, if all parties know it.
            bound_check: as in `input`, for the codes of words.

        Raises:
            ConfigError: the table lacks a column, or columns are not stated.
            RangeError: a word is not in the agreed list, or a number does not fit; the message names column and row.
            DtypeError: a value of a column of dates is not a date, or is missing.
            ShapeError: columns are not equally long, or not `rows` long.

        Example:
            >>> import quorate as qr
            >>> people = {"age": [31, 44, 58], "town": ["Oslo", "Rome", "Oslo"]}
            >>> with qr.local("rss") as mpc:
            ...     frame = mpc.input_frame(people, owner=0, columns={"age": qr.int(16), "town": ["Rome", "Oslo"]})
            ...     print(frame)
            ...     old = frame["age"] * (frame["town"] == "Oslo")
            ...     print(old.sum().reveal(), frame.group_by("town").mean(frame["age"]).reveal())
            Frame(3 rows; age: int(16), town: uint(1))
            89 [44.  44.5]
        """
        session = cast("Session", self)
        party = session._owner(owner)
        is_trusted = session._is_trusted(bound_check, "input_frame")
        if not columns:
            raise ConfigError(at('input_frame: state the columns, such as columns={"age": qr.int(16)}'))
        kinds = {name: checked(name, kind) for name, kind in columns.items()}
        here = session.me in (None, party)
        table = (values() if callable(values) else values) if here else None
        given = None
        if table is not None:
            given = {name: column(table, name, kind) for name, kind in kinds.items()}
            lengths = {len(values) for values in given.values()}
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
            dtype, bound = kept(kind)
            own_values = None if given is None else given[name]
            form = (count,), dtype, bound
            arrays[name] = session._input(own_values, party, *form, described(name, kind), is_trusted)
        return Frame(session, count, arrays, kinds)
