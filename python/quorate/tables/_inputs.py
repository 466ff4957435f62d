"""Files that parties input: which party has which, and the shape and dtype that other parties learn of it."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import _source, dtypes
from quorate._session._arguments import as_shape, checked_bound
from quorate._source import at
from quorate._values._public_numbers import as_numbers, natural_dtype
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.tables._csv import listed
from quorate.tables._read import Table, read
from quorate.tables._rows import FileRows

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["MINE", "Files", "Form", "parse_form", "parse_owned"]

Columns = str | int | Sequence[str | int] | None

MINE = -1
"""The owner of a file in the settings of one party's process: that party, whatever its number."""

_TOO_MANY = (1 << 48) + 1
_FORM = re.compile(r"(\d+(?:x\d+)*):(int|uint|fixed|bit)(\d+)?(?:\.(\d+))?\Z")


@dataclasses.dataclass(frozen=True)
class Form:
    """The shape and dtype of a file whose values this party does not have."""

    shape: tuple[int, ...]
    dtype: Dtype

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape))} of {self.dtype}"

    def selected(self, columns: Columns) -> Form:
        """Returns the form of some of its columns."""
        if columns is None or len(self.shape) != 2:
            return self
        wanted = listed(columns) or []
        rest = () if isinstance(columns, (str, int, np.integer)) else (len(wanted),)
        return Form((self.shape[0], *rest), self.dtype)


def parse_form(text: str) -> Form | None:
    """Parses a form from a command line, such as `114x30:fixed64.16`; returns None if it is a file's name instead.

    >>> parse_form("114x30:int32")
    Form(shape=(114, 30), dtype=int(32))
    >>> parse_form("114:fixed64.16").dtype, parse_form("form.csv")
    (fixed(64, 16), None)

    Raises:
        ConfigError: there is no such dtype, or the shape is too large for an array.
    """
    match = _FORM.match(text)
    if match is None:
        return None
    size, kind, bits, frac = match.groups()
    shape = tuple(int(n) for n in size.split("x"))
    if (frac is not None and kind != "fixed") or (bits is not None and kind == "bit"):
        raise ConfigError(f"{text!r}: {kind} takes no such number of bits")
    if math.prod(shape) >= _TOO_MANY:
        raise ConfigError(f"{text!r}: an array holds at most 2^48 elements")
    widths = [int(n) for n in (bits, frac) if n is not None]
    try:
        dtype = dtypes.bit if kind == "bit" else getattr(dtypes, kind)(*widths)
        # The dtype of reals without a stated dtype, as the owner of such a file gets it.
        return Form(shape, dtypes.real if dtype == dtypes.real else dtype)
    except DtypeError:
        known = "int2 to int64, uint1 to uint64, fixed64.16 and the like with fewer fractional bits than bits, and bit"
        raise ConfigError(f"{text!r}: there is no such dtype; there are {known}") from None


def parse_owned(texts: Sequence[str], option: str) -> dict[int, str]:
    """Parses texts `OWNER=WHAT` into a dictionary by owner.

    >>> parse_owned(["0=data.csv"], "--input")
    {0: 'data.csv'}

    Raises:
        ConfigError: a text has another form, or an owner occurs twice.
    """
    found: dict[int, str] = {}
    for text in texts:
        owner, equals, what = text.partition("=")
        if not equals or not owner.isdigit() or not what:
            raise ConfigError(f"{option} {text}: give OWNER=FILE, such as {option} 0=data.csv")
        if int(owner) in found:
            raise ConfigError(f"{option}: party {owner} has two; one file for each party")
        found[int(owner)] = what
    return found


class Files:
    """The methods of `Session` that read files."""

    def input_file(
        self,
        path: str | os.PathLike[str] | None = None,
        owner: int | None = None,
        columns: Columns = None,
        shape: Sequence[int] | int | None = None,
        dtype: Dtype | None = None,
        bound: float | tuple[float, float] | None = None,
        bound_check: str = "proven",
    ) -> SecretArray:
        r"""Inputs a party's file as a secret array.

        The file is the one that the command line names for the owner (`quorate run --input 0=data.csv`, `quorate party
        --input data.csv`), else `path`. It is read at its owner alone.

        Where the script does not state `shape=`, the owner announces shape and dtype, which are public. The
        announcement is an input that is revealed to all before the program goes on, in a run that the plan and `stats`
        show. The shape and dtype together are the form of the file. A party that expects a certain form can have the
        announcement compared with it (`--form 0=114x30:fixed64.16`, or a file of the same form).

        Args:
            path: the file, if the command line names none.
            owner: the party that has the file.
            columns: the columns to read, as in `qr.read`; all if not stated.
            shape: the shape, if the script states it; then nothing is announced, and `dtype` must be stated, too.
            dtype: the dtype; state it if the file may hold whole numbers on one day and reals on another.
            bound: as in `input`.
            bound_check: as in `input`.

        Raises:
            ConfigError: there is no file, or the script states a shape without a dtype.
            ShapeError: the owner announces another form than the command line expects.
            RangeError, DtypeError, ShapeError: as for `qr.read` and `input`.

        Example:
            >>> import quorate as qr, tempfile
            >>> from pathlib import Path
            >>> with tempfile.TemporaryDirectory() as folder, qr.local("rss") as mpc:
            ...     _ = Path(folder, "ages.csv").write_text("age,score\n31,0.5\n44,0.25\n")
            ...     print(mpc.input_file(Path(folder, "ages.csv"), owner=0, columns=["age"]).sum().reveal())
            75
        """

        return _given(
            cast("Session", self), "input_file", read, path, owner, columns, (shape, dtype), bound, bound_check
        )

    def read(
        self,
        path: str | os.PathLike[str] | None = None,
        owner: int | None = None,
        columns: Columns = None,
        shape: Sequence[int] | int | None = None,
        dtype: Dtype | None = None,
        bound: float | tuple[float, float] | None = None,
        bound_check: str = "proven",
    ) -> SecretArray:
        r"""Inputs a party's file as a secret array that is never whole in memory: for files that are larger than it.

        Arguments, form and errors are those of `input_file`. The owner reads the whole file to check every value, and
        then again in parts, when steps of a run need them: only the wanted columns, in batches of at most 65,536 rows
        of a Parquet or text file, or the record batches of an Arrow file. The file must not change until the session
        ends.

        The parties hold no shares of the array between runs. Every run that depends on it reads and shares it anew.
        Within a run it is whole where that fits in `max_memory=` or, without it, in a gigabyte a party. Otherwise steps
        read it piece by piece. Steps that go element by element can do so, such as comparisons, products, functions and
        models, and so can sums, means and counts of their results, and `x.reshape(-1, 1)` compared with public numbers.
        If several steps of a run read it, each of them shares it by itself. For orders, extremes along an axis and
        shuffles it is whole. So are results that the program holds.

        Where parties may cheat ("spdz2k", malicious "pika"), the array is like one of `input_file`: an owner who
        shared it twice could share different values.

        Example:
            >>> import quorate as qr, tempfile
            >>> from pathlib import Path
            >>> with tempfile.TemporaryDirectory() as folder, qr.local("rss") as mpc:
            ...     _ = Path(folder, "ages.csv").write_text("age,score\n31,0.5\n44,0.25\n")
            ...     ages = mpc.read(Path(folder, "ages.csv"), owner=0, columns="age")
            ...     print((ages < 40).sum().reveal(), ages.mean().reveal())
            1 37.5
        """
        session = cast("Session", self)
        opens = FileRows if session._native.streams() and session._shadow is None else read
        return _given(session, "read", opens, path, owner, columns, (shape, dtype), bound, bound_check)


def _given(
    session: Session,
    what: str,
    opens: Callable[[Any, Columns], Table | FileRows],
    path: Any,
    owner: int | None,
    columns: Columns,
    stated: tuple[Sequence[int] | int | None, Dtype | None],
    bound: float | tuple[float, float] | None,
    bound_check: str,
) -> SecretArray:
    """Inputs a party's file, which `opens` reads or, for `Session.read`, opens."""
    number = session._owner(owner)
    here, (shape, dtype) = session.me == number, stated
    form = _form(session._settings.forms, number, columns)
    known = session._nothing_is_sent and form is not None  # then the values are not needed
    owned = number if session.is_local else MINE
    given = session._settings.inputs.get(owned, None if known else path) if here else None
    values: Any = None
    if given is not None:
        values = opens(given, columns)
    elif here and not (session._nothing_is_sent and (shape is not None or form is not None)):
        raise ConfigError(at(f"{what}: party {number} has no file: {_how(session.is_local, number)}"))
    if shape is None:
        told = _told(
            session, what, _form_of(values, what, dtype) if values is not None else form if here else None, number
        )
        if form is not None and (form.shape, dtype or form.dtype) != (told.shape, dtype or told.dtype):
            raise ShapeError(at(f"{what}: party {number} has {told}, and --form {number}= expects {form}"))
        shape, dtype = told.shape, dtype or told.dtype
    elif values is None and dtype is None:
        raise ConfigError(at(f"{what}: shape= is stated for party {number}'s file: state dtype=, too"))
    if opens is FileRows:
        dtype = dtype or _form_of(values, what).dtype
        return _read_in_parts(session, values, number, shape, dtype, bound, bound_check)
    return session.input(values, owner=number, shape=shape, dtype=dtype, bound=bound, bound_check=bound_check)


def _read_in_parts(
    session: Session,
    rows: FileRows | None,
    owner: int,
    shape: Sequence[int] | int,
    dtype: Dtype,
    bound: float | tuple[float, float] | None,
    bound_check: str,
) -> SecretArray:
    """Makes an input that its owner reads in parts: `rows` is the file there, None elsewhere."""
    is_trusted, size, wanted = session._is_trusted(bound_check, "read"), as_shape(shape), check(dtype)
    if rows is not None and rows.shape != size:
        raise ShapeError(at(f"read: the values have shape {rows.shape}, but shape={size} was stated"))
    width = math.prod(size[1:])
    source = None if rows is None else (rows, max(1, (1 << 16) // width) * width)
    given = (owner, list(size), wanted.parts, checked_bound(bound), None, None, is_trusted, True, source)
    return SecretArray(session, session._native.input(*given, _source.line()))


_TYPES = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}
_KINDS = ("bit", "int", "uint", "fixed")


def _told(session: Session, what: str, own: Form | None, owner: int) -> Form:
    """Returns the form of the owner's data, which the owner announces in one run.

    Raises:
        RangeError: the announcement is not a form, so its owner cheats.
    """
    words = None
    if own is not None:
        first, second = (*own.shape, 0)[:2]
        dtype = own.dtype
        words = [len(own.shape), first, second, _KINDS.index(dtype.kind), dtype.bits, dtype.frac]
    told = session.input(words, owner=owner, shape=(6,), dtype=dtypes.int(64), bound=1 << 48)
    shown = session._tell(told, "the form of its file: its shape and dtype")
    if session._nothing_is_sent:
        return cast("Form", own)
    axes, first, second, kind, bits, frac = map(int, shown)
    if axes in (1, 2) and first >= 0 and second >= 0 and 0 <= kind < len(_KINDS):
        form = parse_form(f"{first}{f'x{second}' * (axes - 1)}:{_KINDS[kind]}{bits * (kind > 0) or ''}{_dot(frac)}")
        if form is not None:
            return form
    raise RangeError(at(f"{what}: party {owner} tells no form of a file"))


def _dot(frac: int) -> str:
    return f".{frac}" if frac else ""


def _how(local: bool, owner: int) -> str:
    return f"--input {owner}=FILE on the command line" if local else "--input FILE on the command line"


def _form(forms: Mapping[int, str], owner: int, columns: Columns) -> Form | None:
    """Returns the form that the command line states for another party's file: in words, or by a file of that form."""
    text = forms.get(owner)
    if text is None:
        return None
    stated = parse_form(text)
    if stated is not None:
        return stated.selected(columns)
    if not Path(text).is_file():
        raise ConfigError(at(f"--form {owner}={text}: neither a file nor a form such as 114x30:fixed64.16"))
    return _form_of(read(text, columns), f"--form {owner}={text}")


def _form_of(values: Any, what: str, dtype: Dtype | None = None) -> Form:
    array = np.empty(0, _TYPES[values.kind]) if isinstance(values, FileRows) else as_numbers(values, what)
    shape = values.shape if isinstance(values, FileRows) else array.shape
    if dtype is not None:
        return Form(shape, check(dtype))
    if array.dtype.kind == "u":
        raise ShapeError(at(f"{what}: numbers beyond int64: state dtype=qr.uint(64)"))
    return Form(shape, natural_dtype(array))
