"""Public numbers on their way into a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._source import at
from quorate.dtypes import Dtype, bit, fixed
from quorate.dtypes import int as int_dtype
from quorate.errors import DtypeError, RangeError, ShapeError

Packed = tuple[str, tuple[int, ...], bytes]


def as_numbers(values: Any, what: str) -> np.ndarray:
    """An array of bool, int64 or float64.

    Raises:
        ShapeError: a ragged list.
        DtypeError: not numbers.
        RangeError: integers beyond 64 bits.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DtypeError(f"{what}: some values are masked; fill or drop them first")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ShapeError(at(f"{what}: the values do not form an array; are all rows equally long? ({error})")) from None
    if array.dtype == object:
        raise _why_object(array, what)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise RangeError(at(f"{what}: {int(array.max())} does not fit 64 bits with a sign: scale or split the values"))
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        if array.dtype.itemsize > 8 and array.size and not np.array_equal(array.astype(np.float64), array):
            raise RangeError(at(f"{what}: values need more than 64-bit floats; round them first"))
        return array.astype(np.float64)
    raise DtypeError(
        at(f"{what}: values of numpy dtype {array.dtype} are not numbers; give integers, reals or booleans")
    )


def _why_object(array: np.ndarray, what: str) -> Exception:
    flat = array.ravel().tolist()
    if any(isinstance(v, (list, tuple, np.ndarray)) for v in flat):
        return ShapeError(at(f"{what}: the rows are not equally long: make them so, for instance by padding"))
    big = next((v for v in flat if isinstance(v, int)), None)
    if big is not None and all(isinstance(v, (int, float)) for v in flat):
        return RangeError(at(f"{what}: an integer does not fit 64 bits with a sign: scale or split the values"))
    return DtypeError(at(f"{what}: the values are not numbers: give integers, reals or booleans"))


def pack(array: np.ndarray) -> Packed:
    """Kind, shape and little-endian bytes."""
    kind = {"b": "?", "i": "i", "f": "f"}[array.dtype.kind]
    return kind, array.shape, np.ascontiguousarray(array).tobytes()


def natural_dtype(array: np.ndarray) -> Dtype:
    """The dtype that an array gets if the user names none."""
    return {"b": bit, "i": int_dtype(64), "f": fixed(64, 16)}[array.dtype.kind]
