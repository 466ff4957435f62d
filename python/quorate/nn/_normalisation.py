"""Normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
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

    Squares, one root for each line, and products. `eps` is rounded to a unit of the dtype, one at least.

    The inverse root is within 2 units of 2^-f, so a line whose standard deviation is s is off by up to 2^(1 - f) s of
    itself: with 16 fractional bits 0.1 % at 30, 1 % at 300. Scale larger numbers down first.

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
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    made = centred * rsqrt(variance + max(float(eps), 2.0**-x.dtype.frac))
    made = made if weight is None else made * weight
    return made if bias is None else made + bias
