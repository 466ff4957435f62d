"""Comparison of secret columns with words and dates: words are compared as codes, dates as days."""

from __future__ import annotations

import datetime
import numbers
from typing import Any

import numpy as np

from quorate._source import at
from quorate._values._columns import days
from quorate.errors import DtypeError, RangeError

__all__ = ["coded"]

_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def coded(op: str, x: Any, y: Any) -> Any:
    """Returns the other operand of a comparison with x; texts and dates become the numbers that x has for them.

    Raises:
        DtypeError: x is not a column of words, or of dates; or the comparison orders words.
        RangeError: x has no such word.
    """
    # Secret operands are not converted: numpy would probe them for half a dozen attributes.
    given = None if op not in _COMPARISONS or isinstance(y, type(x)) else _texts_or_dates(y)
    if given is None:
        return y
    column = x._session._native.column(x._node)
    dates = given.dtype.kind == "M" or not all(isinstance(one, str) for one in given.ravel().tolist())
    if column is None:
        hint = "qr.days(date) is the number of a date" if dates else "columns of words are those of mpc.input_frame"
        raise DtypeError(at(f"compare: {x.dtype} of plain numbers with {'dates' if dates else 'texts'}: {hint}"))
    name, words = column
    if not words:
        return days(given)
    if dates:
        raise DtypeError(at(f"compare: column {name!r} has words, and is compared with dates"))
    if op not in ("eq", "ne"):
        raise DtypeError(
            at(
                f"compare: words are equal or not; < of column {name!r} compares places in its list: "
                f"x < frame.code({name!r}, word)"
            )
        )
    return _codes(name, words, given)


def _texts_or_dates(value: Any) -> np.ndarray | None:
    if isinstance(value, numbers.Number):
        return None
    # pandas' timestamps are dates already, and their to_numpy drops time zones.
    is_column = hasattr(value, "to_numpy") and not isinstance(value, datetime.date)
    try:
        plain = value.to_numpy() if is_column else np.asarray(value)
    except (ValueError, TypeError):  # ragged lists, lists of secrets
        return None
    if not isinstance(plain, np.ndarray) or plain.size == 0:
        return None
    if plain.dtype.kind in "UM":
        return plain
    texts = plain.dtype.kind == "O" and all(isinstance(v, (str, datetime.date)) for v in plain.ravel().tolist())
    return plain if texts else None


def _codes(name: str, words: list[str], given: np.ndarray) -> np.ndarray:
    codes = {word: code for code, word in enumerate(words)}
    texts = [str(one) for one in given.ravel().tolist()]
    for text in texts:
        if text not in codes:
            known = ", ".join(map(repr, words))
            raise RangeError(at(f"compare: column {name!r} has no word {text!r}; it has {known}"))
    return np.array([codes[text] for text in texts], np.int64).reshape(given.shape)
