"""Look-ups of secret numbers in tables: any function of bounded numbers, rounded correctly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from quorate import _source, dtypes
from quorate._clear import _operations
from quorate._clear._integers import limits
from quorate._display._text_tables import counted
from quorate._source import at
from quorate._values._public_numbers import as_numbers, pack
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.errors import DtypeError, RangeError, RangeWarning, ShapeError

__all__ = ["lookup"]

# The largest table that is made from a proven range alone, without a stated domain.
_MOST_WITHOUT_DOMAIN = 1 << 20
# The most bits of a position in a table, and the most entries.
_MOST_BITS = 26
_MOST_ENTRIES = 1 << _MOST_BITS
# Entries below 12 bits with 16 fractional ones get more, so that the largest has 24 (docs/decisions/0077).
_FEWEST_BITS, _ENOUGH_BITS = 12, 24

Domain = tuple[float, float]


def lookup(
    x: SecretArray | Sequence[SecretArray],
    fn: Callable[..., Any] | Any,
    domain: Domain | Sequence[Domain] | None = None,
    dtype: Dtype | None = None,
    *,
    input_bits: int | None = None,
) -> SecretArray:
    """Looks up secret numbers in a table: fn(x) for a function, fn[x - domain[0]] for an array of entries.

    The function is called while the program is built, on all numbers of the domain: on an array of them, or one by one
    if it takes no arrays. Its results are rounded to the nearest unit of `dtype` (halves to even), so a look-up is
    within half a unit. The table is public: it is part of the program, and of the hash by which parties compare their
    programs.

    Numbers below the domain give the entry of its lowest number, numbers above it that of its highest. This takes two
    comparisons unless the range of `x` is proven to lie within the domain.

    For several arrays, `fn` is a function of several numbers or an array with an axis for each, and each has its own
    domain. A table that is itself secret is a secret array of one axis. Positions in it count from 0, and a position
    out of range gives 0, at the cost of `mpc.take`.

    Rounds do not depend on the number of elements: 2 with `pika` and `aby`, and those of the comparisons. `mpc.explain`
    predicts bytes. For each number that is looked up in a table of 2^n entries, `pika` deals a key of 16 (n - 5) bytes
    to two parties. With `aby` the two parties make the key themselves (320 bytes each for 16 bits). With `rss` and
    `spdz2k` bytes grow with 2^(n/2). Work grows with 2^n.

    Rounds: rss 20, aby 9, spdz2k 17, pika 10. This is for numbers of 64 bits in a table of 256 entries, with the
    comparisons.

    Args:
        x: secret numbers: integers, fixed point or bits; or several arrays, whose shapes broadcast.
        fn: a function, or the entries of all numbers of the domain in order, or a secret array of entries.
        domain: the lowest number, and the end of the domain, which does not belong to it, as in `range`. Without it the
            domain of a function is the proven range of `x` (by `bound=`, or by the operations before it), at most 2^20
            units. The domain of an array is 0 to its length.
        dtype: the dtype of the result. Without it the dtype of `x`; `qr.bit` where all entries are booleans.
        input_bits: looks up only this number of leading bits of the domain's numbers, at most 26. Lower bits are
            dropped first, exactly and towards minus infinity, and fn gets numbers without them. It takes a truncation,
            and allows a smaller table.

    Returns:
        An array of the shape of `x`.

    Raises:
        DtypeError: `x` is not a secret array; or it has integers, results are reals, and no `dtype` is given.
        RangeError: an entry is not a finite number or does not fit `dtype`; the function fails; the domain is empty or
            has more than 2^26 units.
        ShapeError: an array does not have one entry for each number of the domain.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([1, 3, 200], owner=0, dtype=qr.uint(8))
        ...     print(qr.lookup(x, lambda v: v * v % 251).reveal())
        [  1   9  91]
    """
    arrays = [x] if isinstance(x, SecretArray) else list(x) if isinstance(x, (list, tuple)) else []
    if not arrays or not all(isinstance(array, SecretArray) for array in arrays):
        raise DtypeError(at("lookup takes a secret array: for public numbers call the function itself"))
    if isinstance(fn, SecretArray):
        return _in_secrets(arrays, fn, domain)
    domains = [domain] * len(arrays) if domain is None or isinstance(x, SecretArray) else list(domain)
    if len(domains) != len(arrays):
        raise ShapeError(
            at(f"lookup of {counted(len(arrays), 'array')}, and {counted(len(domains), 'domain')}: state one for each")
        )
    sizes = None if callable(fn) else as_numbers(fn, "lookup").shape
    if sizes == ():
        raise DtypeError(at(f"lookup of {fn!r}: give a function, an array of entries, or a secret array"))
    if sizes is not None and len(sizes) != len(arrays):
        raise ShapeError(
            at(f"lookup in an array of shape {sizes}: it has an axis for each of {counted(len(arrays), 'array')}")
        )
    counts = sizes or [None] * len(arrays)
    axes = [_Axis.of(a, of, count, input_bits) for a, of, count in zip(arrays, domains, counts, strict=True)]
    count = math.prod(axis.count for axis in axes)
    if count > _MOST_ENTRIES:
        raise RangeError(
            at(
                f"lookup in a table of {count} entries, with all of which each number meets: the table alone takes "
                f"{count / 2**27:.0f} GB, and a number up to {count / 2**26:.0f} s; state a smaller domain=, or look "
                "up fewer bits (input_bits=12)"
            )
        )
    values = _values(fn, axes)
    first = arrays[0]
    to = _dtype_of(values, first.dtype) if dtype is None else check(dtype)
    entries = pack(_encoded(values, to, axes))
    if len(axes) == 1:
        index, lowest = axes[0].units(first), axes[0].first
    else:
        index, lowest = _joint(arrays, axes), 0
    native = first._session._native
    return first._new(native.lookup(index._node, lowest, entries, to.parts, _source.line()))


class _Axis:
    """The numbers of one argument for which a table has entries.

    Attributes:
        first, count: the first number, in units of the table, and the number of entries.
        dropped: the bits of `x` below a unit of the table.
        frac: fractional bits of `x`.
    """

    def __init__(self, frac: int, ends: tuple[int, int], dropped: int) -> None:
        self.frac, self.dropped = frac, dropped
        self.first = ends[0] >> dropped
        self.count = (ends[1] >> dropped) - self.first + 1

    @staticmethod
    def of(x: SecretArray, domain: Any, count: int | None, input_bits: int | None) -> _Axis:
        """Returns the axis for a domain, for `count` entries of an array, or else for the proven range of `x`."""
        low, high = x._session._native.range(x._node)
        if domain is None and count is not None and x.dtype.kind != "fixed":
            domain = (0, count)
        if domain is not None:
            ends = _ends(domain, x.dtype)
            if count is None:  # the table omits numbers outside the proven range of x
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
            if not 1 <= input_bits <= _MOST_BITS:
                raise RangeError(at(f"input_bits={input_bits}: look-ups take from 1 to {_MOST_BITS} bits"))
            dropped = max((ends[1] - ends[0]).bit_length() - input_bits, 0)
        axis = _Axis(x.dtype.frac, ends, dropped)
        if count is not None and axis.count != count:
            raise ShapeError(
                at(
                    f"lookup in an array of {counted(count, 'entry')}: the domain has {counted(axis.count, 'number')}, "
                    "and each has one"
                )
            )
        return axis

    def numbers(self) -> np.ndarray:
        """Returns the numbers in the user's units."""
        units = (np.arange(self.count, dtype=np.int64) + self.first) << self.dropped
        return units / 2.0**self.frac if self.frac else units

    def units(self, x: SecretArray) -> SecretArray:
        """Returns the argument without its dropped bits, which is looked up."""
        return x >> self.dropped if self.dropped else x

    def place(self, x: SecretArray) -> SecretArray:
        """Returns the position of each number on this axis, as an integer."""
        unit = Fraction(1 << self.dropped, 1 << self.frac)
        low, high = float(self.first * unit), float((self.first + self.count - 1) * unit)
        if not self.frac:
            return (self.units(x.clip(int(low), int(high))) - self.first).astype(dtypes.int(32))
        wide = max(x.dtype.bits, min(self.count.bit_length() + self.dropped + 2 * self.frac + 2, dtypes.MOST_BITS))
        inside = x.clip(low, high + (1 - 2**-self.dropped) * float(unit)).astype(dtypes.fixed(wide, self.frac))
        whole = ((inside - low) * (1 << self.frac)).astype(dtypes.int(40))
        return self.units(whole)


def _joint(arrays: list[SecretArray], axes: list[_Axis]) -> SecretArray:
    """Returns positions in a table of several axes, flattened with the last axis fastest."""
    arrays = [x._session._places(x) for x in arrays]  # a joint position has no single owner who could prove it
    index = axes[0].place(arrays[0])
    for x, axis in zip(arrays[1:], axes[1:], strict=True):
        index = index * axis.count + axis.place(x)
    return index


def _in_secrets(arrays: list[SecretArray], table: SecretArray, domain: Any) -> SecretArray:
    """Looks up positions in a secret table."""
    if len(arrays) > 1 or table.ndim != 1:
        raise ShapeError(at("lookup in a secret table takes one array of positions, and a table of one axis"))
    if domain is not None:
        raise RangeError(at("lookup in a secret table: positions count from 0, and take no domain="))
    (x,) = arrays
    return x._session.take(table, x)


def _ends(domain: Any, dtype: Dtype) -> tuple[int, int]:
    """Returns the first and the last unit of a domain."""
    try:
        low, end = map(Fraction, domain)
    except (TypeError, ValueError, OverflowError):
        raise RangeError(at(f"domain={domain!r}: give its lowest number, and the number at which it ends")) from None
    first, last = math.ceil(low * 2**dtype.frac), math.ceil(end * 2**dtype.frac) - 1
    if last < first:
        raise RangeError(at(f"domain={domain!r} has no number of {dtype}: its end must lie above its lowest number"))
    return first, last


def _values(fn: Any, axes: list[_Axis]) -> np.ndarray:
    """Returns the function's results for all numbers, the last argument running fastest; or the array's entries."""
    if not callable(fn):
        return as_numbers(fn, "lookup").ravel()
    numbers = _points(axes)
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(fn(*numbers))
        if values.shape == () and values.dtype.kind in "biuf":
            values = np.full(numbers[0].shape, values)
        if values.shape == numbers[0].shape:
            return as_numbers(values, "lookup")
    except Exception:
        values = None  # the function takes single numbers, as those of math do
    each = [_entry(fn, point) for point in zip(*(part.tolist() for part in numbers), strict=True)]
    return as_numbers(np.array(each, dtype=object), "lookup")


def _points(axes: list[_Axis]) -> list[np.ndarray]:
    """Returns all combinations of the axes' numbers: an array for each axis."""
    return [part.ravel() for part in np.meshgrid(*(axis.numbers() for axis in axes), indexing="ij")]


def _shown(point: Sequence[float]) -> str:
    return str(point[0]) if len(point) == 1 else str(tuple(point))


def _entry(fn: Any, point: tuple[float, ...]) -> Any:
    try:
        return fn(*point)
    except Exception as error:  # whatever the user's function raises
        reason = f"{type(error).__name__}: {error}"
        raise RangeError(
            at(f"lookup: the function has no value at {_shown(point)} ({reason}): state a domain= where it has one")
        ) from error


def _dtype_of(values: np.ndarray, of: Dtype) -> Dtype:
    """Returns the dtype of results where none is stated."""
    if values.dtype == np.bool_:
        return dtypes.bit
    if of.kind == "fixed":
        return of
    if values.dtype.kind == "f":
        raise DtypeError(
            at(f"lookup of integers with real results: state their dtype=, for instance qr.{_fine(values)}")
        )
    low, high = int(values.min()), int(values.max())
    fits = [dtype for dtype in (of, dtypes.int(64)) if dtype.kind != "bit" and _holds(dtype, low, high)]
    if not fits:
        raise RangeError(at(f"lookup: entries from {low} to {high} do not fit {of}: state a wider dtype="))
    return fits[0]


def _fine(values: np.ndarray) -> Dtype:
    """Returns the dtype of reals for these values: small ones get more fractional bits."""
    exponent = math.frexp(float(np.abs(values).max()))[1]
    frac = 16 if exponent + 16 >= _FEWEST_BITS else min(_ENOUGH_BITS - exponent, dtypes.MOST_FRACTIONAL_BITS)
    width = next((width for width in dtypes.USUAL_WIDTHS if width > exponent + frac), dtypes.MOST_BITS)
    return dtypes.fixed(width, frac)


def _warn_of_lost(values: np.ndarray, units: np.ndarray, dtype: Dtype) -> None:
    """Warns of entries that lose more than 2^-8 of themselves, all together."""
    exact = values * 2.0**dtype.frac
    found = _operations.coarse("lookup", exact, units) if units.size else None
    finer = _fine(values)
    if found is None or finer.frac <= max(dtype.frac, 16):  # values of a coarse dtype are so by choice
        return
    place = found[0]
    text = (
        f"lookup: the entry {float(values[place]):.6g} becomes {float(units[place]) / 2**dtype.frac:.6g} in {dtype}: "
        f"state dtype=qr.{finer}"
    )
    _source.warn(at(text), RangeWarning)


def _holds(dtype: Dtype, low: int, high: int) -> bool:
    least, most = limits(dtype)
    return least <= low and high <= most


def _encoded(values: np.ndarray, dtype: Dtype, axes: list[_Axis]) -> np.ndarray:
    """Returns the entries in units of the result, rounded to the nearest."""

    def refused(where: np.ndarray, why: str) -> RangeError:
        place = int(np.argmax(where))
        point = [part[place].item() for part in _points(axes)]
        return RangeError(at(f"lookup: the entry of {_shown(point)} is {values[place]}, {why}"))

    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise refused(~np.isfinite(values), "not a finite number: state a domain= where the function has values")
        if dtype.kind != "fixed" and (values != np.rint(values)).any():
            raise refused(values != np.rint(values), f"not a number of {dtype}: state dtype=, or round the results")
    units = _operations.encoded(values, dtype).nearest
    if values.dtype.kind == "f" and dtype.kind == "fixed":
        _warn_of_lost(values, units, dtype)
    least, most = limits(dtype)
    outside = np.asarray((units < least) | (units > most))
    if outside.any():
        raise refused(outside, f"which does not fit {dtype}: state a wider dtype=, or a smaller domain=")
    return units
