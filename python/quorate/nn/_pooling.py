"""Pooling, and layers that only move elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import DtypeError, ShapeError
from quorate.nn._layout import Pair, as_given, channels_first, padding_of, pair, session_of, whole

__all__ = ["avg_pool2d", "flatten", "global_avg_pool2d", "max_pool2d", "upsample"]


_AROUND, _BEYOND = -1, -2
"""Positions of elements of windows outside of the image: in the zeros around it, and beyond these zeros."""


def _windows(size: int, window: int, stride: int, around: Pair, ceil: bool) -> np.ndarray:
    """Returns the positions of each window's elements along an axis: a row for each window."""
    spare = size + sum(around) - window
    if spare < 0:
        raise ShapeError(at(f"a window of {window} does not fit into {size} and the padding {around}"))
    count = (math.ceil(spare / stride) if ceil else spare // stride) + 1
    if ceil and (count - 1) * stride >= size + around[0]:
        count -= 1  # no window begins after the image
    places = np.arange(count)[:, None] * stride + np.arange(window) - around[0]
    inside = (places >= 0) & (places < size)
    return np.where(inside, places, np.where(places < size + around[1], _AROUND, _BEYOND))


def _lies(x: SecretArray, size: Any, stride: Any, padding: Any, ceil: bool) -> list[np.ndarray]:
    """Returns the windows along rows, and along columns."""
    window = pair("size", size)
    steps = window if stride is None else pair("stride", stride)
    sizes = (x.shape[2], x.shape[3])
    around = padding_of(padding, sizes, window, steps)
    return [_windows(sizes[d], window[d], steps[d], around[d], ceil) for d in (0, 1)]


def max_pool2d(
    x: SecretArray, size: Any, stride: Any = None, padding: Any = 0, *, ceil_mode: bool = False, layout: str = "NCHW"
) -> SecretArray:
    """Returns the largest element of each window; elements outside of an image do not count.

    It works first along rows, then along columns. Overlapping windows of size k take about log2(k) comparisons for each
    pixel along an axis instead of k - 1. Exact, also for integers.

    Args:
        x: images.
        size: the size of windows: one number, or one for rows and one for columns.
        stride: the distance between neighbouring windows; their size if not given.
        padding: as in `conv2d`.
        ceil_mode: whether a window may begin within the image and end outside.
        layout: "NCHW" or "NHWC".

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.arange(16).reshape(1, 1, 4, 4), owner=0)
        ...     print(qr.nn.max_pool2d(x, 2).reveal()[0, 0])
        [[ 5  7]
         [13 15]]
    """
    session_of("max_pool2d", x)
    images = channels_first("max_pool2d", x, layout)
    lies = _lies(images, size, stride, padding, ceil_mode)
    if any((places < 0).all(axis=1).any() for places in lies):
        raise ShapeError(at("max_pool2d: a window lies outside of the image; use less padding"))
    for axis, places in ((3, lies[1]), (2, lies[0])):
        images = _largest(images, axis, places)
    return as_given(images, layout)


def _largest(x: SecretArray, axis: int, places: np.ndarray) -> SecretArray:
    """Returns the largest element of each window along an axis."""
    count, window = places.shape
    inside = places.max(axis=1, keepdims=True)  # a position inside the window replaces those outside of the image
    places = np.where(places < 0, inside, places)
    doublings = _doublings(places, x.shape[axis])
    if doublings is None:
        each = x[(slice(None),) * axis + (places,)]
        return each.max(axis=axis + 1) if window > 1 else each.reshape(*x.shape[:axis], count, *x.shape[axis + 1 :])
    for step in doublings:
        left, right = _from(x, axis, step), _until(x, axis, step)
        x = x._session.maximum(left, right)
    return x[(slice(None),) * axis + (places[:, 0],)]


def _from(x: SecretArray, axis: int, step: int) -> SecretArray:
    return x[(slice(None),) * axis + (slice(step, None),)]


def _until(x: SecretArray, axis: int, step: int) -> SecretArray:
    return x[(slice(None),) * axis + (slice(None, -step),)]


def _doublings(places: np.ndarray, size: int) -> list[int] | None:
    """Returns the shifts after which each position has the largest element of its window.

    It returns `None` where separate windows take no more comparisons.
    """
    count, window = places.shape
    if window < 2 or (np.diff(places, axis=1) != 1).any():
        return None  # windows at the edge repeat positions
    steps, covered = [], 1
    while covered < window:
        steps.append(min(covered, window - covered))
        covered += steps[-1]
    taken, left = 0, size
    for step in steps:
        left -= step
        taken += left
    return steps if taken < count * (window - 1) else None


def avg_pool2d(
    x: SecretArray,
    size: Any,
    stride: Any = None,
    padding: Any = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> SecretArray:
    """Returns the mean of each window of fixed point: the sum of the window times a public number, rounded once.

    The sums are local. Zeros outside of an image count as elements, as in PyTorch. With `count_include_pad=False` they
    do not, as in TensorFlow and by default in ONNX.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.arange(16.0).reshape(1, 1, 4, 4), owner=0)
        ...     print(qr.nn.avg_pool2d(x, 2).reveal()[0, 0])
        [[ 2.5  4.5]
         [10.5 12.5]]
    """
    session_of("avg_pool2d", x)
    images = channels_first("avg_pool2d", x, layout)
    if images.dtype.kind != "fixed":
        raise DtypeError(at("avg_pool2d of integers has no dtype: convert them first, x.astype(qr.fixed(64, 16))"))
    lies = _lies(images, size, stride, padding, ceil_mode)
    counts = []
    for d, axis in ((1, 3), (0, 2)):
        places, shape = lies[d], images.shape
        within = np.where(places < 0, shape[axis], places)  # the position after the last one holds a zero
        if (places < 0).any():
            zeros = np.zeros((*shape[:axis], 1, *shape[axis + 1 :]))
            images = images._session.concatenate([images, zeros], axis=axis)
        images = images[(slice(None),) * axis + (within,)].sum(axis=axis + 1)
        counts.append((places != _BEYOND if count_include_pad else places >= 0).sum(axis=1))
    elements = counts[1][:, None] * counts[0][None, :]
    if (elements == 0).any():
        raise ShapeError(at("avg_pool2d: a window lies outside of the image; use less padding"))
    factors = 1.0 / elements
    return as_given(images * (factors.flat[0] if (factors == factors.flat[0]).all() else factors), layout)


def global_avg_pool2d(x: SecretArray, *, layout: str = "NCHW") -> SecretArray:
    """Returns the mean of all pixels of each channel; rows and columns remain as axes of size 1.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input(np.arange(8.0).reshape(1, 2, 2, 2), owner=0)
        ...     print(qr.nn.global_avg_pool2d(x).reveal().tolist())
        [[[[1.5]], [[5.5]]]]
    """
    session_of("global_avg_pool2d", x)
    images = channels_first("global_avg_pool2d", x, layout)
    return as_given(avg_pool2d(images, images.shape[2:]), layout)


def upsample(x: SecretArray, factor: Any, *, layout: str = "NCHW") -> SecretArray:
    """Repeats each pixel `factor` times in rows and in columns (nearest neighbour). Local.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.upsample(mpc.input([[[[1, 2]]]], owner=0), (1, 2)).reveal())
        [[[[1 1 2 2]]]]
    """
    session_of("upsample", x)
    images = channels_first("upsample", x, layout)
    rows, columns = pair("factor", factor)
    down, across = (np.repeat(np.arange(n), f) for n, f in zip(images.shape[2:], (rows, columns), strict=True))
    return as_given(images[:, :, down][:, :, :, across], layout)


def flatten(x: SecretArray, axis: int = 1) -> SecretArray:
    """Joins all axes from `axis` on into one. Local.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     print(qr.nn.flatten(mpc.input(np.arange(6).reshape(1, 2, 3), owner=0)).shape)
        (1, 6)
    """
    session_of("flatten", x)
    place = whole("axis", axis)
    place += len(x.shape) if place < 0 else 0
    if not 0 <= place <= len(x.shape):
        raise ShapeError(at(f"flatten from axis {axis} of an array of shape {x.shape}"))
    return x.reshape(*x.shape[:place], math.prod(x.shape[place:]))
