"""Look-ups of secret numbers in public tables: any function of a bounded number, rounded correctly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from quorate import _clear, _source, dtypes
from quorate._public import as_numbers, pack
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.errors import DtypeError, RangeError, ShapeError

__all__ = ["lookup"]

# What is tabulated of a number whose range alone says where it lies.
_MOST_WITHOUT_DOMAIN = 1 << 20
# The most entries of a table.
_MOST_ENTRIES = 1 << 26


def lookup(
    x: SecretArray,
    fn: Callable[[Any], Any] | Any,
    domain: tuple[float, float] | None = None,
    dtype: Dtype | None = None,
    *,
    input_bits: int | None = None,
) -> SecretArray:
    """The entry of each number in a table: fn(x) for any function, or fn[x - domain[0]] for an array.

    The function is called while the program is built, on all numbers of the domain: on an array of them, or on one
    after the other where it takes no arrays. Its results are rounded to the nearest unit of `dtype` (halves to even),
    so that a look-up is within half a unit. The table is part of the program, and of the hash by which parties compare
    their programs; whoever has the program knows it.

    A number below the domain has the entry of its lowest number, one above that of its highest. Where the range of `x`
    is not proven to lie within, that takes two comparisons.

    Rounds do not grow with the number of elements. What a look-up of n bits costs is `mpc.explain`'s to say; in most
    families bytes and time grow with 2^(n/2) and 2^n.

    Args:
        x: secret numbers: integers, fixed point or bits.
        fn: a function of one argument, or the entries of all numbers of the domain in order.
        domain: the lowest number, and the one before which the domain ends, as of `range`. Without it all that `x` is
            proven to be (by `bound=`, or what it is made of), at most 2^20 units; of an array, 0 to its length.
        dtype: of the result. Without it that of `x`; `qr.bit` where all entries are booleans.
        input_bits: look up so many bits of the domain's numbers only: what is below them is dropped first, exactly and
            towards minus infinity, and fn gets numbers without it. Costs a truncation, and saves a larger table.

    Returns:
        An array of the shape of `x`.

    Raises:
        DtypeError: `x` is no secret array; real results and integers without a `dtype`.
        RangeError: an entry is not a finite number or does not fit `dtype`; the function fails; the domain is empty or
            has more than 2^26 units.
        ShapeError: an array that has not one entry for each number of the domain.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([1, 3, 200], owner=0, dtype=qr.uint(8))
        ...     print(qr.lookup(x, lambda v: v * v % 251).reveal())
        [  1   9  91]
    """
    if not isinstance(x, SecretArray):
        raise DtypeError(at("lookup takes a secret array: for public numbers call the function itself"))
    native = x._session._native
    numbers = _Numbers.of(x, fn, domain, input_bits)
    values = numbers.entries(fn)
    to = _dtype_of(values, x.dtype) if dtype is None else check(dtype)
    entries = _encoded(values, to, numbers)
    if numbers.dropped:
        x = x._new(native.shift(x._node, False, numbers.dropped, _source.line()))
    node = native.lookup(x._node, numbers.first, pack(entries), to.parts, _source.line())
    return x._new(node)


class _Numbers:
    """The numbers that a table has entries of.

    Attributes:
        first, count: the first one, in units of what is looked up, and how many there are.
        dropped: bits of `x` below such a unit.
        frac: fractional bits of `x`.
    """

    def __init__(self, dtype: Dtype, ends: tuple[int, int], dropped: int) -> None:
        self.frac, self.dropped = dtype.frac, dropped
        self.first = ends[0] >> dropped
        self.count = (ends[1] >> dropped) - self.first + 1

    @staticmethod
    def of(x: SecretArray, fn: Any, domain: tuple[float, float] | None, input_bits: int | None) -> _Numbers:
        """Those of a domain, or of all that `x` may be; ends in units of `x`, both included."""
        low, high = x._session._native.range(x._node)
        if domain is None and not callable(fn) and x.dtype.kind != "fixed":
            domain = (0, len(as_numbers(fn, "lookup")))
        if domain is not None:
            ends = _ends(domain, x.dtype)
            if callable(fn):  # those that no number can have are not tabulated
                ends = (min(max(ends[0], low), ends[1]), max(min(ends[1], high), ends[0]))
        elif high - low < _MOST_WITHOUT_DOMAIN:
            ends = (low, high)
        else:
            raise RangeError(
                at(
                    f"lookup of {x.dtype}, of which nothing more is proven, would take {high - low + 1} entries: state "
                    "domain=(lowest, end), or bound= of the input"
                )
            )
        dropped = 0
        if input_bits is not None:
            if not 1 <= input_bits <= 26:
                raise RangeError(at(f"input_bits={input_bits}: look-ups take from 1 to 26 bits"))
            dropped = max((ends[1] - ends[0]).bit_length() - input_bits, 0)
        numbers = _Numbers(x.dtype, ends, dropped)
        if numbers.count > _MOST_ENTRIES:
            raise RangeError(
                at(
                    f"lookup in a table of {numbers.count} entries, of which each number is compared with all: the "
                    f"table alone takes {numbers.count >> 27} GB, and a number about {numbers.count / 2**26:.0f} s; "
                    "state a smaller domain=, or look up fewer bits (input_bits=20)"
                )
            )
        return numbers

    def entries(self, fn: Any) -> np.ndarray:
        """What the function makes of them, or the array's values."""
        if not callable(fn):
            values = as_numbers(fn, "lookup")
            if values.shape != (self.count,):
                raise ShapeError(
                    at(
                        f"lookup in an array of shape {values.shape}: the domain has {self.count} numbers, and each "
                        "has one entry"
                    )
                )
            return values
        numbers = self.numbers()
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(fn(numbers))
            if values.shape == () and values.dtype.kind in "biuf":
                values = np.full(numbers.shape, values)
            if values.shape == numbers.shape:
                return as_numbers(values, "lookup")
        except Exception:
            values = None  # a function of one number, as those of math
        return as_numbers(np.array([self._entry(fn, v) for v in numbers.tolist()], dtype=object), "lookup")

    def numbers(self) -> np.ndarray:
        """The numbers in the user's units."""
        units = (np.arange(self.count, dtype=np.int64) + self.first) << self.dropped
        return units / 2.0**self.frac if self.frac else units

    @staticmethod
    def _entry(fn: Any, number: float) -> Any:
        try:
            return fn(number)
        except Exception as error:  # whatever the user's function raises
            reason = f"{type(error).__name__}: {error}"
            raise RangeError(
                at(f"lookup: the function has no value at {number} ({reason}): state a domain= where it has one")
            ) from error


def _ends(domain: tuple[float, float], dtype: Dtype) -> tuple[int, int]:
    """The first and the last unit of a domain."""
    try:
        low, end = map(Fraction, domain)
    except (TypeError, ValueError, OverflowError):
        raise RangeError(at(f"domain={domain!r}: give its lowest number, and the number at which it ends")) from None
    first, last = math.ceil(low * 2**dtype.frac), math.ceil(end * 2**dtype.frac) - 1
    if last < first:
        raise RangeError(at(f"domain={domain!r} has no number of {dtype}: its end must lie above its lowest number"))
    return first, last


def _dtype_of(values: np.ndarray, of: Dtype) -> Dtype:
    """The type of results without a stated one."""
    if values.dtype == np.bool_:
        return dtypes.bit
    if of.kind == "fixed":
        return of
    if values.dtype.kind == "f":
        raise DtypeError(at("lookup of integers with real results: state their dtype=, for instance qr.fixed(64, 16)"))
    low, high = int(values.min()), int(values.max())
    fits = [dtype for dtype in (of, dtypes.int(64)) if dtype.kind != "bit" and _holds(dtype, low, high)]
    if not fits:
        raise RangeError(at(f"lookup: entries from {low} to {high} do not fit {of}: state a wider dtype="))
    return fits[0]


def _holds(dtype: Dtype, low: int, high: int) -> bool:
    least, most = _clear.limits(dtype)
    return least <= low and high <= most


def _encoded(values: np.ndarray, dtype: Dtype, numbers: _Numbers) -> np.ndarray:
    """Entries in units of the result, rounded to the nearest."""

    def refused(where: np.ndarray, why: str) -> RangeError:
        place = int(np.argmax(where))
        return RangeError(at(f"lookup: the entry of {numbers.numbers()[place]} is {values[place]}, {why}"))

    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise refused(~np.isfinite(values), "not a finite number: state a domain= where the function has values")
        if dtype.kind != "fixed" and (values != np.rint(values)).any():
            raise refused(values != np.rint(values), f"not a number of {dtype}: state dtype=, or round the results")
    units = _clear.encoded(values, dtype).nearest
    least, most = _clear.limits(dtype)
    outside = np.asarray((units < least) | (units > most))
    if outside.any():
        raise refused(outside, f"which does not fit {dtype}: state a wider dtype=, or a smaller domain=")
    return units
