"""Normalisations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._source import at
from quorate._stated import between
from quorate.array import SecretArray
from quorate.dtypes import fixed
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
    """(x - mean) / sqrt(variance + eps) times weight, plus bias: one number of each for each channel.

    Where the variance is secret, its root is taken under the protocol, one for each channel; whoever knows it folds the
    factor into the layer before, at no cost. The root is within 2 units of 2^-f, so with a secret variance v results
    are off by up to 2^(1 - f) sqrt(v) of themselves.

    Args:
        x: channels lie along `axis`.
        mean: of each channel, secret or public; so are the variance, the weight and the bias.
        variance: see `mean`.
        weight: see `mean`; 1 where it is not given.
        bias: see `mean`; 0 where it is not given.
        eps: added to the variance; below 2^-16 it is rounded to a unit of the variance's dtype, and may vanish.
        axis: of the channels.

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
    """Along the last axis: (x - mean) / sqrt(variance + eps) times weight, plus bias. Of fixed point.

    Lines are brought to one size by powers of two, whatever they deviate by: some comparisons and a root for each line,
    some choices and a product for each number. With 16 bits after the point results are within 2^-12 of themselves, and
    what the mean of a line is rounded by, a unit, beside its deviation. Where nothing bounds x, or so that squares have
    no room in a stated dtype, squares are rounded one by one, to a unit, which counts beside deviations below 0.1.

    Args:
        x: of fixed point, or integers.
        weight: of each number of a line, secret or public.
        bias: as the weight.
        eps: is rounded to a unit of the dtype, one at least.

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
    made, factor = _of_one_size(x - x.mean(axis=-1, keepdims=True), float(eps))
    if weight is None or isinstance(weight, SecretArray):
        made = made * factor
        made = made if weight is None else made * weight
    else:
        made = made * (factor * np.asarray(weight, dtype=np.float64))
    return made if bias is None else made + bias


_MOST = 118  # bits of what dtypes hold, but for a sign and the double


def _of_one_size(x: SecretArray, eps: float) -> tuple[SecretArray, float]:
    """Lines over the root of the mean of their squares and eps, but for a public factor.

    Squares s of a line x 2^finer are brought between 2^(top - 6) and 2^top units by powers of 4, and the line by powers
    of 2 with them, so that the inverse root is precise.
    """
    mpc, n, frac = x._session, x.shape[-1], x.dtype.frac
    squares, finer, top = _squares(x)
    added = max(round(max(eps * 2.0**frac, 1.0) * n * 4.0**finer), 1)
    top = max(top, added.bit_length()) + 1
    if top > _MOST - 4:
        raise RangeError(at(f"layer_norm of numbers of {x.dtype}: squares have no room; state a bound="))
    rises, span = [], top - added.bit_length() + 1
    while span > 6:
        rises.append(min(2 * ((span + 3) // 4), 2 * ((_MOST - top) // 2)))
        span = max(rises[-1], span - rises[-1])
    bits = max(top + max(rises, default=0) + 2, squares.dtype.bits)
    s = between((squares + added * 2.0**-frac).astype(fixed(bits, frac)), added, 1 << top)
    most = 1 << max((top + frac + 1) // 2 - finer, 1)  # squares are rounded down by no more than is added
    for rise in rises:
        is_small = s < math.ldexp(1.0, top - rise - frac)
        s = between(mpc.where(is_small, s * (1 << rise), s), added, 1 << top)
        x = between(mpc.where(is_small, x * (1 << (rise // 2)), x), -most, most)
    down = top - frac - 4
    near = (s * 2.0**-down).astype(fixed(max(min(x.dtype.bits, 64), 2 * frac), frac))
    near = between(near + 2.0**-frac, max(1 << frac >> 2, 1), (1 << (frac + 4)) + 2)
    return x * rsqrt(near), math.sqrt(n) * 2.0 ** (finer - down / 2)


def _squares(x: SecretArray) -> tuple[SecretArray, int, int]:
    """The sum of the squares of each line times 4^finer, that number, and bits above the sum.

    Where it is known that there is room, the line is multiplied by 2^finer, and the sum is rounded once.
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
