"""Files that parties input: which party has which, and the shape and dtype that other parties learn of it."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import dtypes
from quorate._source import at
from quorate._values._public_numbers import as_numbers, natural_dtype
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.tables._csv import listed
from quorate.tables._read import read

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["MINE", "Files", "Form", "parse_form", "parse_owned"]

Columns = str | int | Sequence[str | int] | None

MINE = -1
"""The owner of a file in the settings of one party's process: that party, whatever its number."""

_TOO_MANY = 1 << 32
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
        raise ConfigError(f"{text!r}: an array holds at most 2^32 - 1 elements")
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

        session = cast("Session", self)
        number = session._owner(owner)
        here = session.me == number
        form = _form(session._settings.forms, number, columns)
        known = session._nothing_is_sent and form is not None  # then the values are not needed
        owned = number if session.is_local else MINE
        given = session._settings.inputs.get(owned, None if known else path) if here else None
        values: Any = None
        if given is not None:
            values = read(given, columns)
        elif here and not (session._nothing_is_sent and (shape is not None or form is not None)):
            raise ConfigError(at(f"input_file: party {number} has no file: {_how(session.is_local, number)}"))
        if shape is None:
            told = _told(session, _form_of(values, dtype) if values is not None else form if here else None, number)
            if form is not None and (form.shape, dtype or form.dtype) != (told.shape, dtype or told.dtype):
                raise ShapeError(at(f"input_file: party {number} has {told}, and --form {number}= expects {form}"))
            shape, dtype = told.shape, dtype or told.dtype
        elif values is None and dtype is None:
            raise ConfigError(at(f"input_file: shape= is stated for party {number}'s file: state dtype=, too"))
        return session.input(values, owner=number, shape=shape, dtype=dtype, bound=bound, bound_check=bound_check)


_KINDS = ("bit", "int", "uint", "fixed")


def _told(session: Session, own: Form | None, owner: int) -> Form:
    """Returns the form of the owner's data, which the owner announces in one run.

    Raises:
        RangeError: the announcement is not a form, so its owner cheats.
    """
    words = None
    if own is not None:
        first, second = (*own.shape, 0)[:2]
        dtype = own.dtype
        words = [len(own.shape), first, second, _KINDS.index(dtype.kind), dtype.bits, dtype.frac]
    told = session.input(words, owner=owner, shape=(6,), dtype=dtypes.int(64), bound=1 << 33)
    shown = session._tell(told, "the form of its file: its shape and dtype")
    if session._nothing_is_sent:
        return cast("Form", own)
    axes, first, second, kind, bits, frac = map(int, shown)
    if axes in (1, 2) and first >= 0 and second >= 0 and 0 <= kind < len(_KINDS):
        form = parse_form(f"{first}{f'x{second}' * (axes - 1)}:{_KINDS[kind]}{bits * (kind > 0) or ''}{_dot(frac)}")
        if form is not None:
            return form
    raise RangeError(at(f"input_file: party {owner} tells no form of a file"))


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
    return _form_of(read(text, columns))


def _form_of(values: Any, dtype: Dtype | None = None) -> Form:
    array = as_numbers(values, "input_file")
    if dtype is not None:
        return Form(array.shape, check(dtype))
    if array.dtype.kind == "u":
        raise ShapeError(at("input_file: numbers beyond int64: state dtype=qr.uint(64)"))
    return Form(array.shape, natural_dtype(array))
