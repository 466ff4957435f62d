"""Layers on numpy arrays, batch first: the clear network computes with them, and bounds are propagated with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float64]

_PATCHES = 1 << 22
"""The number of elements of patches that are in memory at a time."""


def conv(x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int], pads: Any, groups: int) -> Array:
    """Convolves images (batch, channels, rows, columns) with filters (filters, channels of a group, ...)."""
    (top, bottom), (left, right) = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    spans = [d * (s - 1) + 1 for d, s in zip(dilation, w.shape[2:], strict=True)]
    windows = sliding_window_view(padded, spans, axis=(2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    channels, rows, columns = windows.shape[1:4]
    each, size = w.shape[0] // groups, math.prod(w.shape[1:])
    turned = w.reshape(groups, each, size).swapaxes(1, 2)
    out = np.empty((len(x), w.shape[0], rows, columns))
    step = max(1, _PATCHES // max(1, channels * rows * columns * w.shape[2] * w.shape[3]))
    for first in range(0, len(x), step):
        part = windows[first : first + step]
        split = part.reshape(len(part), groups, channels // groups, rows, columns, *w.shape[2:])
        patches = split.transpose(0, 1, 3, 4, 2, 5, 6).reshape(len(part), groups, rows * columns, size)
        made = (patches @ turned).swapaxes(2, 3)
        out[first : first + step] = made.reshape(len(part), w.shape[0], rows, columns)
    return out


def conv_transpose(
    x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int], padding: Any, more: Any, groups: int
) -> Array:
    """Convolves transposed; filters are (channels, filters of a group, rows, columns)."""
    batch, channels, height, width = x.shape
    spread = np.zeros((batch, channels, (height - 1) * stride[0] + 1, (width - 1) * stride[1] + 1))
    spread[:, :, :: stride[0], :: stride[1]] = x
    each, rows, columns = w.shape[1:]
    turned = w.reshape(groups, channels // groups, each, rows, columns)[..., ::-1, ::-1]
    turned = turned.transpose(0, 2, 1, 3, 4).reshape(groups * each, channels // groups, rows, columns)
    full = [(d * (s - 1), d * (s - 1) + o) for d, s, o in zip(dilation, (rows, columns), more, strict=True)]
    made = conv(spread, turned, (1, 1), dilation, full, groups)
    (top, left), (down, across) = padding, (-p or None for p in padding)
    return made[:, :, top:down, left:across]


def max_pool(x: Array, size: Sequence[int], stride: Sequence[int], pads: Any, ceil: bool) -> Array:
    """Returns the largest element of each window."""
    (top, bottom), (left, right) = _reaching(x.shape[2:], size, stride, pads, ceil)
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=-np.inf)
    windows = sliding_window_view(padded, tuple(size), axis=(2, 3))[:, :, :: stride[0], :: stride[1]]
    return windows.max(axis=(4, 5))


def avg_pool(
    x: Array, size: Sequence[int], stride: Sequence[int], pads: Any, include: bool, ceil: bool = False
) -> Array:
    """Returns the mean of each window; with `ceil`, elements beyond the pads count in no mean."""
    reach = _reaching(x.shape[2:], size, stride, pads, ceil)

    def sums(values: Array, around: Any) -> Array:
        padded = np.pad(values, ((0, 0), (0, 0), *around))
        windows = sliding_window_view(padded, tuple(size), axis=(2, 3))
        return windows[:, :, :: stride[0], :: stride[1]].sum(axis=(4, 5))

    ones, beyond = np.ones((1, 1, *x.shape[2:])), reach
    if include:  # pads count as well
        ones = np.pad(ones, ((0, 0), (0, 0), *pads), constant_values=1)
        beyond = [(0, max(0, whole - pad)) for (_, whole), (_, pad) in zip(reach, pads, strict=True)]
    return sums(x, reach) / sums(ones, beyond)


def _reaching(sizes: Sequence[int], size: Sequence[int], stride: Sequence[int], pads: Any, ceil: bool) -> Any:
    """Returns pads that make the last windows whole; these begin within the image."""
    found = []
    for n, window, step, (before, after) in zip(sizes, size, stride, pads, strict=True):
        spare = n + before + after - window
        count = (-(-spare // step) if ceil else spare // step) + 1
        if ceil and (count - 1) * step >= n + before:
            count -= 1
        found.append((before, max(after, (count - 1) * step + window - n - before)))
    return found


def softmax(x: Array, axis: int) -> Array:
    """Returns the softmax along an axis."""
    risen = np.exp(x - x.max(axis=axis, keepdims=True))
    return risen / risen.sum(axis=axis, keepdims=True)


def erf(x: Array) -> Array:
    """Returns the error function of each element."""
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gelu(x: Array) -> Array:
    """Returns x times the normal distribution function at x."""
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def move(kind: str, attrs: dict[str, Any]) -> Callable[..., Any]:
    """Returns the numpy function for a step that moves elements; it takes one array, for `"concat"` a list of arrays.

    >>> move("slice", {"axes": [1], "ranges": [[2, None, -1]]})(np.array([[1, 2, 3, 4]]))
    array([[3, 2, 1]])
    """

    def sliced(x: Any) -> Any:
        key = [slice(None)] * x.ndim
        for axis, ends in zip(attrs["axes"], attrs["ranges"], strict=True):
            key[axis] = slice(*ends)
        return x[tuple(key)]

    def repeated(x: Any) -> Any:
        for axis, times in zip(attrs["axes"], attrs["times"], strict=True):
            x = np.repeat(x, times, axis=axis)
        return x

    return {
        "reshape": lambda x: x.reshape(len(x), *attrs["shape"]),
        "transpose": lambda x: x.transpose(attrs["axes"]),
        "slice": sliced,
        "gather": lambda x: np.take(x, np.asarray(attrs["indices"], np.int64), axis=attrs["axis"]),
        "concat": lambda arrays: np.concatenate(arrays, axis=attrs["axis"]),
        "pad": lambda x: np.pad(x, attrs["pads"], mode=attrs["mode"]),
        "repeat": repeated,
    }[kind]


MOVES = ("reshape", "transpose", "slice", "gather", "concat", "pad", "repeat")
