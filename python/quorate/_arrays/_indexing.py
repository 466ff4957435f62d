"""Indices of arrays: the elements that they pick, as strides or as positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._arrays._unsupported import NO_INDEX
from quorate._source import at
from quorate.errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["positions", "strided"]

# The error for an index out of bounds: a `ShapeError`, its name in tracebacks, and an `IndexError`, as numpy's.
_INDEX_ERROR = type("ShapeError", (ShapeError, IndexError), {"__module__": ShapeError.__module__})

# What numpy's basic indexing takes.
_BASIC = (int, np.integer, slice, type(None), type(Ellipsis))


def positions(x: SecretArray, key: Any) -> np.ndarray:
    """Returns the positions of the elements that an index picks; they may be the index itself."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, type(x)) for k in keys):
        raise DtypeError(at(NO_INDEX))
    if x.size >= 1 << 32:
        raise ShapeError(at("arrays of 2**32 elements or more cannot be indexed"))
    if x.ndim == 1 and type(key) is np.ndarray and key.dtype == np.uint32 and (key < x.size).all():
        return key
    return _picked(np.arange(x.size, dtype=np.uint32).reshape(x.shape), key)


def strided(x: SecretArray, key: Any) -> tuple[int, list[tuple[int, int]], tuple[int, ...]] | None:
    """Returns what slices and whole numbers pick: its first position, (count, step) by axis, and its shape.

    Takes no time by element. Returns None for other indices, and where nothing is picked.
    """
    keys = key if isinstance(key, tuple) else (key,)
    is_basic = all(isinstance(k, _BASIC) and not isinstance(k, bool) for k in keys)
    if not is_basic or not 0 < x.size < 1 << 32:
        return None
    sizes = [1]
    for length in x.shape[:0:-1]:
        sizes.insert(0, sizes[0] * length)
    # One byte stands for all elements. They are never read: an index with an ellipsis gives a view.
    places = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), x.shape, sizes[: x.ndim])
    picked = _picked(places, keys if any(k is Ellipsis for k in keys) else (*keys, Ellipsis))
    if picked.size == 0:
        return None
    start = picked.__array_interface__["data"][0] - places.__array_interface__["data"][0]
    return start, list(zip(picked.shape, picked.strides, strict=True)), picked.shape


def _picked(places: np.ndarray, key: Any) -> np.ndarray:
    """Applies an index to positions."""
    try:
        return np.asarray(places[key])
    except IndexError as error:
        raise _INDEX_ERROR(at(f"{error}; sizes are {places.shape}")) from None
    except ValueError as error:  # a step of 0
        raise ShapeError(at(f"{error}; sizes are {places.shape}")) from None
