"""The operations of a program in numpy, on exact integers in ring units: the results that a protocol may have."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate._clear import _kernels as kernels
from quorate._clear._integers import exact, limits
from quorate._clear._steps import Step
from quorate.dtypes import Dtype
from quorate.errors import QuorateError

if TYPE_CHECKING:
    from quorate import _quorate

__all__ = ["SMALL_BY_NATURE", "Span", "encoded", "ordered", "shuffled", "span"]

Operand = tuple[np.ndarray, Dtype]

# Sums and products beyond this use Python's integers.
_SAFE = 1 << 62


@dataclasses.dataclass
class Span:
    """The interval of right results of an operation, in ring units.

    Attributes:
        low, high: the ends of the interval.
        nearest: numpy's result.
        wide: where a value is too wide for its ring before its fractional bits are dropped; where rounding may go
            either way, beyond a quarter of the ring.
        saturates: why some results are the stated saturation; empty if none is.
        exact: the results before rounding, where rounding may lose many of their digits.
    """

    low: np.ndarray
    high: np.ndarray
    nearest: np.ndarray
    wide: np.ndarray | None = None
    saturates: str = ""
    exact: np.ndarray | None = None

    @staticmethod
    def exactly(values: np.ndarray) -> Span:
        """Returns the interval of a single right result."""
        return Span(values, values, values)


def encoded(values: np.ndarray, dtype: Dtype) -> Span:
    """Returns the units of an input: integers exactly, reals rounded to the nearest unit."""
    if values.dtype.kind != "f":
        return Span.exactly(_wide(exact(values), 1 << dtype.frac) << dtype.frac)
    with np.errstate(all="ignore"):
        units = np.rint(values * 2.0**dtype.frac)
    return Span.exactly(_integers(units))


def _size(array: np.ndarray) -> int:
    return max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0


def _wide(array: np.ndarray, growth: int) -> np.ndarray:
    """Returns the array in a type that holds results `growth` times as large."""
    return array if array.dtype == object or _size(array) * growth < _SAFE else array.astype(object)


def _integers(reals: np.ndarray) -> np.ndarray:
    """Returns floats with whole values as exact integers."""
    if not reals.size or float(np.abs(reals).max()) < _SAFE:
        return reals.astype(np.int64)
    return np.array([int(v) for v in reals.ravel()], dtype=object).reshape(reals.shape)


def _pair(a: np.ndarray, b: np.ndarray, growth: int) -> tuple[np.ndarray, np.ndarray]:
    return (a, b) if growth < _SAFE else (a.astype(object), b.astype(object))


def span(step: Step, operands: list[Operand], either_way: bool) -> Span:
    """Returns the right results of a step on these operands.

    Raises:
        QuorateError: this module does not define the operation, which would remain unchecked.
    """
    if step.op in ("mul", "matmul", "conv"):
        return _product(step, operands, either_way)
    if step.op == "astype":
        return _converted(step, operands[0], either_way)
    if step.op == "scale":
        return _scaled(step, operands[0][0], either_way)
    if step.op in _REAL:
        return _real(step, *operands[0])
    if step.op == "divide":
        return _quotient(step, operands)
    if step.op == "softmax":
        return _softmax(step, operands[0])
    if step.op not in _EXACT:
        raise QuorateError(f"shadow: nothing says what {step.what} means in numpy; please report this defect")
    found = Span.exactly(_EXACT[step.op](step, *(value for value, _ in operands)))
    if step.op == "floor_div" and step.dtype.kind == "fixed":
        found.exact = np.asarray(operands[0][0], float) / np.asarray(step.divisors, float)
    return found


def coarse(
    op: str, exact: np.ndarray, result: np.ndarray, magnitudes: np.ndarray | None = None
) -> tuple[tuple[int, ...], int] | None:
    """Returns the first number of a column that loses digits, and the extra bits that would keep it.

    A column is all numbers with the same last index, or an array of one axis. It loses digits where the errors add up
    to more than 2^-8 of the magnitudes, or where more than half of at least 16 numbers lose more than 2^-8 of
    themselves. Of functions that are nearly 0 for many arguments, an array counts as a whole, and only its sums. The
    result is None if no column loses digits. Where `magnitudes` are given, the loss is compared with them and not with
    the exact results.
    """
    as_a_whole = op in SMALL_BY_NATURE
    width = exact.shape[-1] if exact.ndim > 1 and not as_a_whole else 1
    columns = exact.reshape(-1, width)
    off = np.abs(result.astype(float).reshape(columns.shape) - columns)
    # Rounding causes no larger error: results further off were saturated or wrapped, which other checks report.
    off = np.where(off > _MOST_ROUNDED, 0, off)
    each = np.abs(exact if magnitudes is None else magnitudes).reshape(columns.shape)
    sums, sizes, counted = off.sum(axis=0), each.sum(axis=0), columns != 0
    count = counted.sum(axis=0)
    mostly = (count >= _MANY) & (2 * (counted & (off * _SHARE > each)).sum(axis=0) > count)
    if as_a_whole:
        mostly = np.zeros_like(mostly)
    lost = np.flatnonzero((sums * _SHARE > sizes) | mostly)
    if not len(lost):
        return None
    column = int(lost[0])
    missing = math.log2(max(sums[column], np.count_nonzero(columns[:, column]))) - math.log2(sizes[column])
    if mostly[column]:
        usual = each[:, column][each[:, column] != 0]
        missing = max(missing, -math.log2(float(np.median(usual))))
    row = int(np.flatnonzero(off[:, column] * _SHARE > np.abs(columns[:, column]))[0])
    place = np.unravel_index(row * width + column, exact.shape) if exact.ndim else ()
    return tuple(int(i) for i in place), min(max(0, math.ceil(missing + math.log2(_SHARE))) + 4, _MOST_POWER)


def shuffled(before: np.ndarray, after: np.ndarray, rows: int) -> Span:
    """Returns the interval for a shuffle: any order of the same rows is right."""
    old, new = (sorted(map(tuple, value.reshape(rows, -1).tolist())) for value in (before, after))
    return Span.exactly(after if old == new else before)


def ordered(column: np.ndarray, key: np.ndarray, descending: bool) -> np.ndarray:
    """Returns the rows of a column in the order of a key; equal keys keep their order."""
    keys = key.reshape(-1).tolist()
    order = sorted(range(len(keys)), key=lambda row: -keys[row] if descending else keys[row])
    return column[np.array(order, int)]


# ---- exact ----------------------------------------------------------------------------------------------------------


def _product(step: Step, operands: list[Operand], either_way: bool) -> Span:
    (a, of_a), (b, of_b) = operands
    terms = _terms(step)
    a, b = _pair(a, b, _size(a) * _size(b) * max(terms, 1))
    if step.op == "matmul":
        batch, m, k, n = step.numbers
        whole = np.matmul(a.reshape(batch, m, k), b.reshape(batch, k, n)).reshape(step.shape)
    elif step.op == "conv":
        whole = _convolved(step.numbers, a, b).reshape(step.shape)
    else:
        whole = a * b
    if not (of_a.kind == of_b.kind == "fixed"):
        return Span.exactly(whole)
    down = of_a.frac + of_b.frac - step.dtype.frac
    wide = _too_wide(whole, step.dtype, either_way)
    return dataclasses.replace(_cut(whole, down, either_way), wide=wide, exact=np.asarray(whole, float) / 2.0**down)


def _terms(step: Step) -> int:
    """Returns the number of products that are summed for an element."""
    if step.op == "matmul":
        return step.numbers[2]
    return math.prod(step.numbers[i] for i in (2, 6, 7)) if step.op == "conv" else 1


def _convolved(numbers: list[int], images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    batch, groups, channels, count, height, width, rows, columns, *pairs = numbers
    stride, apart, before, after = (pairs[i : i + 2] for i in range(0, 8, 2))
    images = images.reshape(batch, groups * channels, height, width)
    filters = filters.reshape(groups * count, channels, rows, columns)
    return kernels.conv(images, filters, stride, apart, list(zip(before, after, strict=True)), groups)


def _cut(whole: np.ndarray, bits: int, either_way: bool) -> Span:
    """Drops the lowest bits: rounded down, or with `either_way` down or up."""
    low = whole >> bits
    return Span(low, -(-whole >> bits) if either_way else low, low)


def _too_wide(whole: np.ndarray, dtype: Dtype, either_way: bool) -> np.ndarray:
    """Returns where a truncation protocol fails: outside the ring or, with `either_way`, outside a quarter of it."""
    low, high = (end // 2 if either_way else end for end in limits(dtype))
    return np.asarray((whole < low) | (whole > high))


def _converted(step: Step, operand: Operand, either_way: bool) -> Span:
    value, before = operand
    down = before.frac - step.dtype.frac
    if down > 0:
        found = _cut(value, down, either_way and step.dtype.kind == "fixed")
        # A user who converts states which bits are dropped.
        found.exact = np.asarray(value, float) / 2.0**down if step.grows else None
        return found
    value = _wide(value, 1 << -down) << -down
    if "fixed" in (before.kind, step.dtype.kind):
        return Span.exactly(value)
    low, high = limits(step.dtype)  # integers wrap, as in numpy
    if value.size and (value.min() < low or value.max() > high):
        value = (value.astype(object) - low) % (1 << step.dtype.bits) + low
    return Span.exactly(value)


def _scaled(step: Step, value: np.ndarray, either_way: bool) -> Span:
    """Multiplies by reals, rounded to the nearest, or either way; saturated beyond the limits."""
    if step.scaling is None:
        raise ValueError("a scaling names what it multiplies by")
    x, by = value.astype(object), step.scaling
    most = limits(step.dtype)[1]
    beyond = np.asarray((abs(x) > by.limits) & (by.limits < most)).astype(bool)
    instead = np.where((x > 0) == (by.reals > 0), *(np.asarray(end, object) for end in (most, -most)))
    ends = [np.where(beyond, instead, np.asarray(end, object)) for end in by.ends(x, either_way)]
    why = f"{int(beyond.sum())} of its results do not fit {step.dtype}" if beyond.any() else ""
    exact = np.asarray(x, float) * by.reals
    return Span(np.minimum.reduce(ends), np.maximum.reduce(ends), ends[0], saturates=why, exact=exact)


def _lines(step: Step, value: np.ndarray) -> np.ndarray:
    """Returns the value in three axes, of which axis 1 is the one that the step runs along."""
    outer, length, inner = step.numbers
    return value.reshape(outer, length, inner)


def _sum(step: Step, value: np.ndarray) -> np.ndarray:
    return _lines(step, _wide(value, step.numbers[1])).sum(axis=1).reshape(step.shape)


def _cumsum(step: Step, value: np.ndarray) -> np.ndarray:
    return np.cumsum(_lines(step, _wide(value, step.numbers[1])), axis=1).reshape(step.shape)


def _along(reduce: Callable[..., Any]) -> Callable[[Step, np.ndarray], np.ndarray]:
    def compute(step: Step, value: np.ndarray) -> np.ndarray:
        return np.asarray(reduce(_lines(step, value), axis=1)).reshape(step.shape)

    return compute


def _compose(step: Step, bits: np.ndarray) -> np.ndarray:
    width = step.dtype.bits
    weights = np.array([1 << j for j in range(width)], dtype=object)
    if step.dtype.kind != "uint":
        weights[-1] = -weights[-1]
    return (bits.reshape(-1, width).astype(object) @ weights).reshape(step.shape)


def _circuit(step: Step, *bits: np.ndarray) -> np.ndarray:
    batch = math.prod(step.shape[:-1])
    circuit = cast("_quorate.Circuit", step.circuit)
    raw = circuit.evaluate(batch, [x.astype(np.uint8).tobytes() for x in bits])
    return np.frombuffer(raw, np.uint8).astype(np.int64).reshape(step.shape)


def _bits(step: Step, value: np.ndarray) -> np.ndarray:
    width = step.shape[-1]
    return ((value.astype(object)[..., None] >> np.arange(width).astype(object)) & 1).reshape(step.shape)


def _submitted(step: Step, *parts: np.ndarray) -> np.ndarray:
    total = sum((part.astype(object) for part in parts[1:]), start=parts[0].astype(object))
    bits = step.dtype.bits
    low = 0 if step.dtype.kind in ("uint", "bit") else -(1 << (bits - 1))
    return np.asarray((total - low) % (1 << bits) + low)


def _divided(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns quotients and remainders; both are 0 where the divisor is 0."""
    zero = np.asarray(b == 0).astype(bool)
    x, y = a.astype(object), np.where(zero, 1, b).astype(object)
    return np.where(zero, 0, x // y), np.where(zero, 0, x % y)


def _lookup(step: Step, value: np.ndarray) -> np.ndarray:
    first, entries = cast("tuple[int, np.ndarray]", step.table)
    return np.asarray(entries[(np.clip(value, first, first + len(entries) - 1) - first).astype(np.int64)])


def _truth(result: Any) -> np.ndarray:
    return np.asarray(result).astype(np.int64)


_EXACT: dict[str, Callable[..., np.ndarray]] = {
    "add": lambda _, a, b: _wide(a, 2) + _wide(b, 2),
    "sub": lambda _, a, b: _wide(a, 2) - _wide(b, 2),
    "neg": lambda _, a: -_wide(a, 2),
    "sum": _sum,
    "cumsum": _cumsum,
    "shl": lambda step, a: _wide(a, 1 << step.numbers[0]) << step.numbers[0],
    "shr": lambda step, a: a >> step.numbers[0],
    "floor_div": lambda step, a: a.astype(object) // step.divisors.astype(object),
    "remainder": lambda step, a, _: a.astype(object) % step.divisors.astype(object),
    "quotient": lambda _, a, b: _divided(a, b)[0],
    "modulo": lambda _, a, b: _divided(a, b)[1],
    "lt": lambda _, a, b: _truth(a < b),
    "eq": lambda _, a, b: _truth(a == b),
    "and": lambda _, a, b: a & b,
    "or": lambda _, a, b: a | b,
    "xor": lambda _, a, b: a ^ b,
    "not": lambda _, a: 1 - a,
    "select": lambda _, bit, a, b: np.asarray(np.where(np.asarray(bit == 1), a, b)),
    "other": lambda _, a, b, one: np.asarray(np.where(np.asarray(one == a), b, a)),
    "gather": lambda step, a: a.ravel()[step.index].reshape(step.shape),
    "reshape": lambda step, a: a.reshape(step.shape),
    "broadcast": lambda step, a: np.broadcast_to(a, step.shape),
    "concat": lambda step, *parts: np.concatenate([part.ravel() for part in parts]).reshape(step.shape),
    "max": _along(np.max),
    "min": _along(np.min),
    "argmax": _along(np.argmax),
    "argmin": _along(np.argmin),
    "cast": lambda step, a: a << step.dtype.frac,
    "bits": _bits,
    "from_bits": _compose,
    "compose": _compose,
    "circuit": _circuit,
    "to": lambda step, a: a,
    "as_factor": lambda step, a: a,
    "assert_one_hot": lambda step, a: a,
    "assert_within": lambda step, a, outside: a,
    "behind": lambda step, a, *proofs: a,
    "submitted": _submitted,
    "masked": _submitted,
    "lookup": _lookup,
}

# ---- within a stated error ------------------------------------------------------------------------------------------

# The largest error that docstrings of real functions state: units, or this share of the result.
_ERROR_UNITS, _ERROR_SHARE = 4, 2.0**-24
# Rounding may lose 1 / 256 of a column's magnitudes.
_SHARE = 256.0
_MOST_ROUNDED = 8.0
# The least number of numbers of a column of which most are looked at.
_MANY = 16
# The largest exponent of a factor that advice names, by which a double can be divided.
_MOST_POWER = 1000
# Logarithms are within 2^-24.
_LOG_ERROR_BITS = 24


# Functions that are nearly 0 for many arguments.
SMALL_BY_NATURE = ("softmax", "exp", "sigmoid", "log")

# Functions that `_kernels` computes in double precision.
_REAL = ("sigmoid", "tanh", "gelu", "exp", "log", "sqrt", "rsqrt", "reciprocal")

# Results outside of a function's domain, in multiples of the dtype's largest number.
_OUTSIDE = {"log": -1, "sqrt": 0, "rsqrt": 1, "reciprocal": 1}


def _near(real_units: np.ndarray, step: Step, outside: np.ndarray, instead: int) -> Span:
    """Returns the interval around reals in ring units: within the stated error, saturated where the dtype ends."""
    most = limits(step.dtype)[1]
    beyond = ~outside & (np.abs(np.where(outside, 0.0, real_units)) > float(most) * (1 + _ERROR_SHARE))
    meant = np.clip(np.where(outside, 0.0, real_units), -float(most), float(most))
    least = max(_ERROR_UNITS, 2.0 ** (step.dtype.frac - _LOG_ERROR_BITS)) if step.op == "log" else _ERROR_UNITS
    slack = np.maximum(least, np.abs(meant) * _ERROR_SHARE)
    low, high = (_integers(np.floor(meant - slack)), _integers(np.ceil(meant + slack)))
    nearest, why = _integers(np.rint(meant)), ""
    if outside.any():
        ends = (low, high, nearest)
        shifts = (-_ERROR_UNITS, _ERROR_UNITS, 0)
        low, high, nearest = (
            np.where(outside, instead + by, end.astype(object)) for end, by in zip(ends, shifts, strict=True)
        )
        why = f"{int(outside.sum())} of its arguments are outside its domain"
    elif beyond.any():
        why = f"{int(beyond.sum())} of its results do not fit {step.dtype}"
    return Span(low, high, nearest, saturates=why)


def _real(step: Step, value: np.ndarray, before: Dtype) -> Span:
    x = value.astype(np.float64) / 2.0**before.frac
    with np.errstate(all="ignore"):
        units = kernels.FUNCTIONS[step.op](x) * 2.0**step.dtype.frac
    outside = np.isnan(units) | (np.isinf(units) & (step.op != "exp"))
    found = _near(units, step, outside, _OUTSIDE.get(step.op, 0) * limits(step.dtype)[1])
    if step.op in ("rsqrt", "reciprocal", "exp", "sigmoid", "log"):
        found.exact = np.where(outside, 0.0, units)
    return found


def _quotient(step: Step, operands: list[Operand]) -> Span:
    (x, of_x), (y, of_y) = operands
    x, y = x.astype(object) << (step.dtype.frac + of_y.frac - of_x.frac), y.astype(object)
    most = limits(step.dtype)[1]
    zero = np.asarray(y == 0).astype(bool)
    sign = np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(object)
    whole = np.asarray(x // np.where(zero, 1, y), object)
    beyond = np.asarray((whole > most) | (whole < -most)).astype(bool) & ~zero
    whole = np.where(zero, np.asarray(sign * most, object), np.asarray(np.clip(whole, -most, most), object))
    slack = np.maximum(np.asarray(abs(whole) // (1 << 24), object), _ERROR_UNITS)
    slack = np.where(zero, 0, np.asarray(slack, object))
    why = f"{int(zero.sum())} of its divisors are 0" if zero.any() else ""
    if beyond.any():
        why = why or f"{int(beyond.sum())} of its results do not fit {step.dtype}"
    exact = np.where(zero, 0.0, np.asarray(x, float) / np.asarray(np.where(zero, 1, y), float))
    return Span(whole - slack, whole + slack, whole, saturates=why, exact=exact)


def _softmax(step: Step, operand: Operand) -> Span:
    value, before = operand
    x = _lines(step, value.astype(np.float64) / 2.0**before.frac)
    shares = kernels.softmax(x, 1) if x.size else x
    units = shares.reshape(step.shape) * 2.0**step.dtype.frac
    return dataclasses.replace(_near(units, step, np.zeros(step.shape, bool), 0), exact=units)
