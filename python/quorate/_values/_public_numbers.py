"""Conversion of public numbers for a program."""

from __future__ import annotations

import contextlib
import decimal
import numbers
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from quorate._source import at
from quorate._values._frames import WORDS, is_frame, of_frame
from quorate.dtypes import MOST_BITS, Dtype, bit, real
from quorate.dtypes import int as int_dtype
from quorate.errors import DtypeError, RangeError, ShapeError

Packed = tuple[str, tuple[int, ...], bytes]

_FLOAT = struct.Struct("<d")


def as_numbers(values: Any, what: str) -> np.ndarray:
    """Returns an array of bool, int64 or float64, or of uint64 or Python's integers where a value needs it.

    A data frame gives (rows, columns).

    Raises:
        ShapeError: a list is ragged.
        DtypeError: the values are not numbers.
        RangeError: an integer has more than 120 bits.
    """
    if is_frame(values):
        return of_frame(values, what)[0]
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DtypeError(at(f"{what}: some values are masked; fill or drop them first"))
    try:
        array = np.asarray(values)
        is_new = type(values) in (list, tuple)  # do not copy it again: memory that is freed is not wiped
    except ValueError as error:
        raise ShapeError(at(f"{what}: the values do not form an array; are all rows equally long? ({error})")) from None
    if _lost_integers(values, array):
        array = np.asarray(values, dtype=object)
    if array.dtype == object:
        array = _of_objects(array, what)
        if array.dtype == object:
            return array
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        return array.astype(np.uint64)
    if array.dtype.kind in "iu":
        return array if is_new and array.dtype == np.int64 else array.astype(np.int64)
    if array.dtype.kind == "f":
        if array.dtype.itemsize > 8 and array.size and not np.array_equal(array.astype(np.float64), array):
            raise RangeError(at(f"{what}: values need more than 64-bit floats; round them first"))
        return array if is_new and array.dtype == np.float64 else array.astype(np.float64)
    raise DtypeError(at(f"{what}: values of numpy dtype {array.dtype} are not numbers: {_instead(array.dtype.kind)}"))


def _instead(kind: str) -> str:
    if kind in "UMm":
        return (
            f"give integers, reals or booleans; {WORDS}, and beside its columns they are frame.code('town', 'Oslo') "
            "and qr.days(date)"
        )
    return "give integers, reals or booleans"


def _lost_integers(values: Any, array: np.ndarray) -> bool:
    """Whether numpy converted large integers to floats, as it does with [2**63, 1]."""
    if isinstance(values, (np.ndarray, np.generic)) or array.dtype.kind != "f" or not array.size:
        return False
    return bool(np.abs(array).max() >= 2.0**63)


def _of_objects(array: np.ndarray, what: str) -> np.ndarray:
    """Converts an array of objects to int64, uint64, float64 or bool; integers beyond 64 bits stay Python's."""
    flat = array.ravel().tolist()
    if any(isinstance(v, (list, tuple, np.ndarray)) for v in flat):
        raise ShapeError(at(f"{what}: the rows are not equally long: make them so, for instance by padding"))
    if flat and all(isinstance(v, (bool, np.bool_)) for v in flat):
        return array.astype(bool)
    if flat and all(isinstance(v, numbers.Integral) for v in flat):
        low, high = min(map(int, flat)), max(map(int, flat))
        if low >= 0 and high < 1 << 64:
            return array.astype(np.uint64)
        if low < -(1 << (MOST_BITS - 1)) or high >= 1 << MOST_BITS:
            raise RangeError(at(f"{what}: an integer does not fit {MOST_BITS} bits: scale or split the values"))
        if low < -(1 << 63) or high >= 1 << 63:
            return np.array([int(v) for v in flat], dtype=object).reshape(array.shape)
        return array.astype(np.int64)
    strange = next((i for i, v in enumerate(flat) if not isinstance(v, (numbers.Real, decimal.Decimal))), None)
    if strange is not None:
        kind = type(flat[strange]).__name__
        hint = _instead("U" if kind in _TEXTS else "")
        raise DtypeError(at(f"{what}: the values are not numbers ({kind} at index {strange}): {hint}"))
    return array.astype(np.float64)


def pack(array: np.ndarray) -> Packed:
    """Packs an array as kind, shape and little-endian bytes."""
    kind = {"b": "?", "i": "i", "u": "u", "f": "f", "O": "w"}[array.dtype.kind]
    if kind == "w":
        return kind, array.shape, b"".join(int(v).to_bytes(16, "little", signed=True) for v in array.ravel())
    return kind, array.shape, np.ascontiguousarray(array).tobytes()


def packed(values: Any, what: str) -> Packed:
    """Packs public numbers as `pack(as_numbers(values, what))` does; single numbers of Python without numpy."""
    kind = type(values)
    if kind is float:
        return "f", (), _FLOAT.pack(values)
    if kind is bool:
        return "?", (), bytes((values,))
    if kind is int and -(1 << 63) <= values < 1 << 63:
        return "i", (), values.to_bytes(8, "little", signed=True)
    return pack(as_numbers(values, what))


@contextlib.contextmanager
def wiped(array: np.ndarray, *, is_ours: bool) -> Iterator[tuple[str, bytearray]]:
    """Yields kind and bytes of secret values, and wipes the bytes at the end, with `is_ours` the array, too.

    Integers of more than 64 bits are Python's, and cannot be wiped.
    """
    if array.dtype.kind == "O":
        kind, _, packed = pack(array)
        values = bytearray(packed)
    else:
        kind = {"b": "?"}.get(array.dtype.kind, array.dtype.kind)
        values = bytearray(array.nbytes)
        np.frombuffer(values, array.dtype)[:] = array.ravel()
    try:
        yield kind, values
    finally:
        values[:] = bytes(len(values))
        if is_ours:
            array.fill(0)


_TEXTS = ("str", "date", "datetime", "Timestamp")
_NUMPY: dict[str, str] = {"i": "<i8", "u": "<u8", "f": "<f8", "?": "?"}


def unpack(kind: str, data: bytes) -> np.ndarray:
    """Returns the numbers that `pack` packed, along one axis; those of 128 bits as Python's integers."""
    if kind != "w":
        return np.frombuffer(data, dtype=_NUMPY[kind])
    words = [int.from_bytes(data[i : i + 16], "little", signed=True) for i in range(0, len(data), 16)]
    wide = np.empty(len(words), dtype=object)
    wide[:] = words
    return wide


def natural_dtype(array: np.ndarray, whole: Dtype = int_dtype(64)) -> Dtype:  # noqa: B008
    """Returns the dtype that an array gets if the user names none; integers get `whole`.

    Raises:
        RangeError: an integer does not fit int64.
    """
    if array.dtype.kind in "uO":
        low, high = int(array.min()), int(array.max())
        bits = 64 if high < 1 << 64 and low >= 0 else 96 if max(-low, high) < 1 << 95 else MOST_BITS
        wanted = f"uint({bits})" if low >= 0 else f"int({bits})"
        shown = high if high >= 1 << 63 else low
        raise RangeError(at(f"{shown} does not fit 64 bits with a sign: name dtype=qr.{wanted}, or scale the values"))
    return {"b": bit, "i": whole, "f": real}[array.dtype.kind]
