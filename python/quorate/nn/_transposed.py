"""Transposed convolutions, computed as convolutions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate._arrays._rearrangement import moved
from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ShapeError
from quorate.nn._convolution import biased, conv2d
from quorate.nn._layout import Pair, as_given, channels_first, pair, session_of, shape_of, transposed, whole

__all__ = ["conv_transpose2d"]


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> SecretArray:
    """Computes the transposed convolution; filters are (channels, filters of a group, rows, columns), as in PyTorch.

    With `layout="NHWC"`, as in TFLite, images are (batch, rows, columns, channels), and filters (filters of a group,
    rows, columns, channels).

    It is computed as a convolution, at its cost. Results whose positions leave the same remainder modulo the stride
    form a convolution, whose filter is a part of the given filter, flipped. So no zeros are inserted between pixels,
    unless strides and dilations are both above 1.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x = mpc.input([[[[1, 2]]]], owner=0)
        ...     print(qr.nn.conv_transpose2d(x, [[[[1, 10]]]], stride=(1, 2)).reveal())
        [[[[ 1 10  2 20]]]]
    """
    session_of("conv_transpose2d", x, weight)
    images, filters = (channels_first("conv_transpose2d", v, layout) for v in (x, weight))
    filters = filters if layout == "NCHW" else transposed(filters, (1, 0, 2, 3))
    steps, apart = pair("stride", stride), pair("dilation", dilation)
    more, around = pair("output_padding", output_padding, 0), pair("padding", padding, 0)
    channels, each, *window = shape_of(filters)
    if whole("groups", groups) < 1 or channels % groups or channels != shape_of(images)[1]:
        raise ShapeError(
            at(
                f"conv_transpose2d of images {shape_of(images)} and filters {shape_of(filters)} in {groups} groups: "
                "both have as many channels, a multiple of the groups"
            )
        )
    for step, distance, over in zip(steps, apart, more, strict=True):
        if over >= max(step, distance):
            raise ShapeError(at(f"output_padding {output_padding!r} is below the stride or the dilation"))
    split = steps if apart == (1, 1) else (1, 1)
    if split != steps:
        images = _placed(lambda v: _spread(v, steps), images)
    sizes = shape_of(images)[2:]
    axes = [_Axis.of(sizes[d], window[d], split[d], apart[d], around[d], more[d]) for d in (0, 1)]
    parts = _placed(lambda v: _turned(v, axes, groups), filters)
    if min(axis.results for axis in axes) < 1:
        raise ShapeError(at(f"conv_transpose2d: a padding of {padding!r} leaves nothing"))
    rows, columns = (axis.within for axis in axes)
    zeros = axes[0].zeros, axes[1].zeros
    made = conv2d(images[:, :, rows, columns], parts, padding=zeros, dilation=apart, groups=groups)
    if split != (1, 1):
        count, down, across = made.shape[0], *made.shape[2:]
        made = made.reshape(count, groups * each, *split, down, across).transpose(0, 1, 4, 2, 5, 3)
        made = made.reshape(count, groups * each, down * split[0], across * split[1])
    made = biased(made[:, :, : axes[0].results, : axes[1].results], bias, "conv_transpose2d")
    return as_given(made, layout)


@dataclasses.dataclass(frozen=True)
class _Axis:
    """The parallel convolutions that make a transposed convolution along an axis: one for each residue of its stride.

    Result q takes elements u of the filter and pixels i with q + padding = u + stride i. Results q = m stride + r, of
    one r, take pixels m + e and elements `taken[r][e]`, for e from `first` on.

    Attributes:
        taken: a row for each r: positions of elements in the filter, -1 for none.
        first: the least e.
        results: the number of results.
        pixels: the number of pixels.
        apart: the dilation, which is 1 unless the stride is 1.
    """

    taken: np.ndarray
    first: int
    results: int
    pixels: int
    apart: int

    @staticmethod
    def of(pixels: int, window: int, stride: int, apart: int, padding: int, more: int) -> _Axis:
        results = (pixels - 1) * stride + apart * (window - 1) + 1 + more - 2 * padding
        if stride == 1:  # q + padding = apart u + i
            return _Axis(np.arange(window)[::-1][None], padding - apart * (window - 1), results, pixels, apart)
        begins = [divmod(padding + r, stride) for r in range(stride)]
        ends = [lead - (window - 1 - u) // stride for lead, u in begins]
        first, last = min(ends), max(lead for lead, _ in begins)
        taken = np.array([[u + stride * (lead - e) for e in range(first, last + 1)] for lead, u in begins])
        return _Axis(np.where((taken >= 0) & (taken < window), taken, -1), first, results, pixels, 1)

    @property
    def zeros(self) -> Pair:
        """The zeros before and after the pixels that are used."""
        before, after = self._ends
        return max(before, 0), max(after, 0)

    @property
    def within(self) -> slice:
        """The pixels that are used; a padding beyond the window's span leaves some out."""
        before, after = self._ends
        return slice(max(-before, 0), self.pixels - max(-after, 0))

    @property
    def _ends(self) -> Pair:
        places = -(-self.results // len(self.taken))
        last = self.first + self.apart * (self.taken.shape[1] - 1)
        return -self.first, places - 1 + last - (self.pixels - 1)


def _placed(put: Callable[[np.ndarray], np.ndarray], values: Any) -> Any:
    """Applies a function that moves elements and inserts zeros, to secrets or public numbers."""
    return moved(put, values) if isinstance(values, SecretArray) else put(np.asarray(values))


def _spread(values: np.ndarray, steps: Pair) -> np.ndarray:
    """Inserts zeros between the pixels of images."""
    batch, channels, rows, columns = values.shape
    wide = np.zeros((batch, channels, (rows - 1) * steps[0] + 1, (columns - 1) * steps[1] + 1), values.dtype)
    wide[:, :, :: steps[0], :: steps[1]] = values
    return wide


def _turned(values: np.ndarray, axes: list[_Axis], groups: int) -> np.ndarray:
    """Returns the filters of the convolution: from each given filter one for each residue of result positions."""
    channels, each = values.shape[:2]
    down, across = (axis.taken for axis in axes)
    padded = np.pad(values, ((0, 0), (0, 0), (0, 1), (0, 1)))  # position -1 holds a zero
    parts = padded[:, :, down[:, None, :, None], across[None, :, None, :]]
    parts = parts.reshape(groups, channels // groups, each, *parts.shape[2:]).swapaxes(1, 2)
    kinds = len(down) * len(across)
    parts = parts.transpose(0, 1, 3, 4, 2, 5, 6)
    return parts.reshape(groups * each * kinds, channels // groups, down.shape[1], across.shape[1])
