"""Batch and layer normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._arrays._proven_ranges import between
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import fixed, real
from quorate.errors import RangeError, ShapeError
from quorate.functions import rsqrt
from quorate.nn._layout import check_broadcasts, session_of, shape_of, whole

__all__ = ["batch_norm", "layer_norm"]


def batch_norm(
    x: SecretArray,
    mean: Any,
    variance: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    eps: float = 1e-5,
    axis: int = 1,
) -> SecretArray:
    """Returns (x - mean) / sqrt(variance + eps) times weight, plus bias, with one number of each for each channel.

    If the variance is secret, the protocol computes a root for each channel. A party that has the variance can fold the
    factor into the weights of the layer before, at no cost. The root is within 2 units of 2^-f, so with a secret
    variance v results have a relative error of up to 2^(1 - f) sqrt(v).

    Args:
        x: numbers with channels along `axis`.
        mean: the mean of each channel, secret or public, as are the variance, the weight and the bias.
        variance: the variance of each channel.
        weight: the factor of each channel; 1 if not given.
        bias: the summand of each channel; 0 if not given.
        eps: added to the variance; below 2^-16 it is rounded to a unit of the variance's dtype, and may vanish.
        axis: the axis of the channels.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([[1.0, 4.0]], owner=0)
        ...     print(qr.nn.batch_norm(x, [1.0, 2.0], [4.0, 4.0], eps=0).reveal())
        [[0. 1.]]
    """
    session_of("batch_norm", x)
    axis = whole("axis", axis)
    if not -len(x.shape) <= axis < len(x.shape):
        raise ShapeError(at(f"batch_norm along axis {axis} of an array of shape {x.shape}"))
    sizes = [1] * len(x.shape)
    sizes[axis] = x.shape[axis]
    for what, value in (("mean", mean), ("variance", variance), ("weight", weight), ("bias", bias)):
        if value is not None and shape_of(value) != (x.shape[axis],):
            raise ShapeError(at(f"batch_norm of {x.shape[axis]} channels, and a {what} of shape {shape_of(value)}"))

    def placed(value: Any) -> Any:
        return (value if isinstance(value, SecretArray) else np.asarray(value)).reshape(*sizes)

    if isinstance(variance, SecretArray):
        factor: Any = rsqrt(variance + float(eps))
    else:
        spread = np.asarray(variance, dtype=np.float64) + float(eps)
        if not (spread > 0).all():
            raise RangeError(at("batch_norm: variances and eps are above 0 together"))
        factor = 1.0 / np.sqrt(spread)
    if weight is not None:
        factor = factor * (weight if isinstance(weight, SecretArray) else np.asarray(weight, dtype=np.float64))
    made = (x - placed(mean)) * placed(factor)
    return made if bias is None else made + placed(bias)


def layer_norm(x: SecretArray, weight: Any = None, bias: Any = None, *, eps: float = 2**-16) -> SecretArray:
    """Returns (x - mean) / sqrt(variance + eps) times weight, plus bias, along the last axis of fixed point.

    A line is the numbers along the last axis. Each line is first multiplied by a power of two that brings its deviation
    to a common size. It takes some comparisons and a root for each line, and two products for each number. With 16 bits
    after the point, results have a relative error of 2^-12. The rounding of the line's mean adds one unit divided by
    the line's deviation.

    Each square is rounded by itself, to a unit, in two cases: x has no bound, or the squares that its bound allows have
    no room in a stated dtype. This matters for deviations below 0.1. The squares must also fit that dtype:
    `qr.fixed(64, 16)` holds squares of deviations up to 10^4. State a bound or a wider dtype.

    Args:
        x: fixed point, or integers.
        weight: the factor of each number of a line, secret or public.
        bias: the summand of each number of a line, secret or public.
        eps: at least a unit of the dtype.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.layer_norm(mpc.input([[1.0, 3.0, 5.0]], owner=0)).reveal().round(2))
        [[-1.22  0.    1.22]]
    """
    session_of("layer_norm", x)
    if not x.shape or x.shape[-1] == 0:
        raise ShapeError(at(f"layer_norm of an array of shape {x.shape}: there is nothing along its last axis"))
    for name, value in (("a weight", weight), ("a bias", bias)):
        if value is not None:
            check_broadcasts("layer_norm", name, value, x.shape)
    if not 0 <= eps < 2**16:
        raise RangeError(at(f"layer_norm: eps={eps} is not a small number above 0"))
    dtype = x.dtype
    if dtype.kind == "fixed" and dtype.bits < 64:
        x = x.astype(fixed(64, dtype.frac))
    if dtype.grows and dtype.frac > real.frac:  # small numbers; lines are scaled to one size anyway
        x = x.astype(fixed(dtype.bits, real.frac)).astype(real)
    centred = x - x.mean(axis=-1, keepdims=True)
    made = _normalised(centred, max(float(eps), 2.0**-centred.dtype.frac))
    if dtype.kind == "fixed" and math.sqrt(x.shape[-1]) * 2**dtype.frac < 2 ** (dtype.bits - 2):
        made = made.astype(dtype) if dtype.bits < 64 else made
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


_MOST = 118  # the most bits of a number: a dtype's 120, less the sign and a doubling


_MEAN = 32  # the largest mean of squares of a line that is scaled to one size; the least is an eighth


def _normalised(x: SecretArray, eps: float) -> SecretArray:
    """Returns lines divided by the root of the mean of their squares plus eps.

    A line is first multiplied by a power of two that brings the mean of its squares, with eps, between 1/8 and 32,
    where an inverse root is precise. Comparisons select the power, so it is a constant for derivatives.
    """
    n, frac = x.shape[-1], x.dtype.frac
    x, by, is_huge = _of_one_size(x, eps)
    row = x.reshape(-1, 1, n)
    squares = (row @ row.transpose(0, 2, 1)).reshape(*x.shape[:-1], 1)
    squares = between(squares, 0, 2 * _MEAN * n << frac)
    added = by * by * eps
    added = added if is_huge is None else x._session.where(is_huge, 0.0, added)
    spread = between(squares * (1 / n) + added, max(1 << frac >> 4, 1), 2 * _MEAN << frac)
    return x * rsqrt(spread)


def _of_one_size(x: SecretArray, eps: float) -> tuple[SecretArray, SecretArray, SecretArray | None]:
    """Returns lines times powers of two, these powers, and the lines that were divided before because they are large.

    The sum of the squares of a line, at most 2^top units, is compared with powers of two and raised towards 2^top in
    steps by powers of 4 (`rises`). The line is multiplied by the roots of these powers.
    """
    mpc, n, frac = x._session, x.shape[-1], x.dtype.frac
    squares, finer, top = _squares(x)
    added = max(round(eps * 2.0**frac * n * 4.0**finer), 1)
    top = max(top, added.bit_length()) + 1
    if top > _MOST - 4:
        raise RangeError(at(f"layer_norm of numbers of {x.dtype}: squares have no room; state a bound="))
    bits = min(top + top // 2 + 4, 120)
    s = between((squares + added * 2.0**-frac).astype(fixed(max(bits, squares.dtype.bits), frac)), added, 1 << top)
    least, is_huge = math.floor((math.log2(_MEAN * n) - (top - frac - 2 * finer)) / 2), None
    fall = max(2 - frac - least, 0)  # so that the least factor has two bits
    if fall:
        is_huge = s >= math.ldexp(1.0, top - 2 * fall - frac)
        s = mpc.where(is_huge, s * 4.0**-fall + 2.0**-frac, s)
        x = mpc.where(is_huge, x * 2.0**-fall, x)
        top, least, added = top - 2 * fall, least + fall, min(added, 1 << max(top - 4 * fall, 0))
        s = between(s, added, (1 << top) + 1)
    most = 1 << max((top + frac + 1) // 2 - finer, 1)  # rounding of squares takes away at most what `added` adds
    x = between(x, -most, most)
    by = mpc.constant(np.full((*x.shape[:-1], 1), 2.0**least), fixed(max(min(x.dtype.bits, 64), 2 * frac), frac))
    for rise in _rises(top, added):
        is_small = s < math.ldexp(1.0, top - rise - frac)
        s = between(mpc.where(is_small, s * (1 << rise), s), added, 1 << top)
        by = mpc.where(is_small, by * (1 << (rise // 2)), by)
    by = between(by, 1 << (least + frac), 1 << (frac + frac // 2 + 3))  # the largest factor is that of a line of zeros
    whole = math.isqrt(2 * _MEAN * n << 2 * frac) + 1
    return between(x * by, -whole, whole), by, is_huge


def _rises(top: int, least: int) -> list[int]:
    """Returns the even exponents by which numbers from `least` to 2^top are raised above 2^(top - 6).

    Each step halves the logarithm of the range.
    """
    rises, span = [], top - least.bit_length() + 1
    while span > 6:
        rises.append(min(2 * ((span + 3) // 4), 2 * ((_MOST - top) // 2)))
        span = max(rises[-1], span - rises[-1])
    return rises


def _squares(x: SecretArray) -> tuple[SecretArray, int, int]:
    """Returns the sum of the squares of each line times 4^finer, `finer`, and bits that bound the sum.

    Where room for it is proven, the line is multiplied by 2^finer, and the sum is rounded once.
    """
    n, count = x.shape[-1], (x.shape[-1] - 1).bit_length()
    low, high = x._session._native.range(x._node)
    most = max(-low, high).bit_length()
    is_known = most < x.dtype.bits
    for bits in (x.dtype.bits, *((96, 120) if x.dtype.grows else ())):
        finer = min((bits - 2 - count) // 2 - most, 8)
        if is_known and finer >= (4 if x.dtype.grows and bits < 120 else 0):
            row = (x * (1 << finer)).reshape(-1, 1, n)
            sums = (row @ row.transpose(0, 2, 1)).reshape(*x.shape[:-1], 1)
            return sums, finer, 2 * (most + finer) + count - x.dtype.frac
    most = most if is_known else x.dtype.bits // 2  # squares that leave the dtype are wrong in any case
    sums = (x * x).sum(axis=-1, keepdims=True)
    return sums, 0, min(2 * most + count - x.dtype.frac, sums.dtype.bits - 1)
