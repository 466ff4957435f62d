"""Exact steps from floating point to integers: order-preserving encodings and quantisation by powers of two."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError, RangeError
from quorate.models._quotes import short

ORDERED_BOUND = {32: 0x7F800000, 64: 0x7FF0000000000000}
"""The largest magnitude that `encode_ordered` returns, by bits: that of infinity, which a threshold may be."""

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]


def finite_float64(values: object, what: str) -> NDArray[np.float64]:
    """Converts to float64; raises `RangeError`, naming the first place, if a value is not a finite number.

    >>> finite_float64([1, 2.5], "records")
    array([1. , 2.5])
    """
    array = as_float64(values, what)
    bad = ~np.isfinite(array)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise RangeError(f"{what}: {array[place]} at index {place}; impute or drop such values first")
    return array


def as_float64(values: object, what: str) -> NDArray[np.float64]:
    """Converts to float64, whatever the numbers are; raises `RangeError` if these are no array of numbers."""
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise TypeError("complex numbers")
        return given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise RangeError(f"{what}: not a rectangular array of numbers ({short(error)})") from None


def each_feature(bounds: object, features: int) -> NDArray[np.float64]:
    """Returns a bound for each feature, from one number for all or one for each.

    Raises:
        ModelError: the bounds are neither.
    """
    try:
        return np.broadcast_to(finite_float64(bounds, "bounds"), (features,))
    except (ValueError, RangeError) as error:
        raise ModelError(f"bounds: one positive number, or one per feature ({features}): {error}") from error


def to_float32(values: object, what: str) -> NDArray[np.float32]:
    """Rounds to float32 as scikit-learn's trees do with records; raises `RangeError` where that is not finite."""
    if isinstance(values, np.ndarray) and values.dtype == np.float32:
        narrow = values
    else:
        wide = finite_float64(values, what)
        with np.errstate(over="ignore"):
            narrow = wide.astype(np.float32)
    bad = ~np.isfinite(narrow)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise RangeError(f"{what}: the value at index {place} is not a finite float32; rescale the feature")
    return narrow


def round_down_to_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is at most each value; minus infinity below the range of float32.

    For a float32 `x` and a float64 `t`, `x <= t` exactly when `x <= round_down_to_float32(t)`.

    >>> round_down_to_float32(np.array([0.1])) <= 0.1
    array([ True])
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = values.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > values, below, nearest)


def encode_ordered(values: NDArray[np.floating]) -> Integers:
    """Integers in the order of float32 or float64 values, both zeros being 0; magnitudes are at most `ORDERED_BOUND`.

    The bits of a float, without the sign, grow with its magnitude; a negative one is minus those bits. Infinities
    keep their place in the order; NaN has none and raises `RangeError`.

    >>> encode_ordered(np.array([-0.0, 0.0, 1.0, -1.0], dtype=np.float32)).tolist()
    [0, 0, 1065353216, -1065353216]
    """
    if values.dtype not in (np.float32, np.float64):
        raise TypeError(f"encode_ordered takes float32 or float64, not {values.dtype}")
    if np.isnan(values).any():
        raise RangeError("NaN has no place in the order of numbers; impute or drop such values first")
    integer = np.int32 if values.dtype == np.float32 else np.int64
    bits = np.ascontiguousarray(values).view(integer).reshape(values.shape).astype(np.int64)
    magnitude = bits & int(np.iinfo(integer).max)
    return np.where(bits < 0, -magnitude, magnitude)


def exponent_above(magnitude: float) -> int:
    """The least e with `magnitude <= 2**e`; 0 for a magnitude of 0.

    >>> exponent_above(4254.0), exponent_above(4096.0), exponent_above(0.25)
    (13, 12, -2)
    """
    if magnitude == 0:
        return 0
    mantissa, exponent = math.frexp(magnitude)
    return exponent - 1 if mantissa == 0.5 else exponent


def quantise(values: NDArray[np.float64], shift: int | NDArray[np.int64]) -> Integers:
    """`values * 2**shift` to the nearest integer, ties to even; exact but for that rounding.

    The caller makes sure that results stay below 2**62.

    >>> quantise(np.array([0.3, -2.0]), 4).tolist()
    [5, -32]
    """
    return np.rint(np.ldexp(values, shift)).astype(np.int64)


def quantise_wide(values: NDArray[np.float64], shift: NDArray[np.int64]) -> np.ndarray:
    """Returns `values * 2**shift` rounded to the nearest integer, as Python's integers of any size.

    >>> quantise_wide(np.array([0.75]), np.array([80])) == 3 << 78
    array([ True])
    """
    return np.array([int(value) for value in np.rint(np.ldexp(values, shift))], object)


def gamma(operations: int, dtype: np.dtype) -> float:
    """Higham's constant: a bound on the relative error after `operations` roundings.

    A sum of products is off by at most gamma times the sum of the products' magnitudes.
    """
    unit = float(np.finfo(dtype).eps) / 2
    return operations * unit / (1 - operations * unit)
