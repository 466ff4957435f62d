"""Rules of gradients for convolutions, and for the largest or smallest element along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import nn
from quorate._arrays._rearrangement import moved
from quorate.array import SecretArray
from quorate.learn._gradient_values import Factored, Given, Made
from quorate.learn._slopes import with_operand

__all__ = ["conv", "largest"]


def conv(made: Made, g: Factored) -> Given:
    """Returns the gradients of a convolution.

    By images it is the transposed convolution of g with the filters; by filters a convolution of images with g.
    """
    batch, groups, channels, count, *pairs = made.step.numbers
    image, window, stride, dilation, before, after = (tuple(pairs[i : i + 2]) for i in range(0, 12, 2))

    def by_images() -> Factored:
        g_by, filters = with_operand(made, g, 1)
        out = _secret(made, g_by.array, filters)
        full = nn.conv_transpose2d(out, filters, stride=stride, dilation=dilation, groups=groups)
        ends = [(0, max(b + n - size, 0)) for b, n, size in zip(before, image, full.shape[2:], strict=True)]
        padded = moved(lambda v: np.pad(v, [(0, 0), (0, 0), *ends]), full)
        rows, columns = (slice(b, b + n) for b, n in zip(before, image, strict=True))
        return g_by.of(padded[:, :, rows, columns])

    def by_filters() -> Factored:
        g_by, images = with_operand(made, g, 0)
        out = g_by.array
        # Images and channels exchange their roles.
        turned = images.reshape(batch, groups, channels, *image).transpose(2, 1, 0, 3, 4)
        turned = turned.reshape(channels, groups * batch, *image)
        slopes = out.reshape(batch, groups, count, *out.shape[2:]).transpose(1, 2, 0, 3, 4)
        slopes = _secret(made, slopes.reshape(groups * count, batch, *out.shape[2:]), turned)
        around = ((before[0], after[0]), (before[1], after[1]))
        found = nn.conv2d(turned, slopes, stride=dilation, dilation=stride, padding=around, groups=groups)
        return g_by.of(found[:, :, : window[0], : window[1]].transpose(1, 0, 2, 3))

    return [made.where(0, by_images), made.where(1, by_filters)]


def _secret(made: Made, values: Any, other: Any) -> Any:
    """Returns values, made secret if neither they nor `other` are."""
    if isinstance(values, SecretArray) or isinstance(other, SecretArray):
        return values
    return made.session.constant(np.asarray(values, float), dtype=made.result.dtype)


def largest(made: Made, g: Factored) -> Given:
    """Returns the gradient of a maximum or minimum: g, at the first of the largest or smallest elements."""

    def back() -> Factored:
        outer, length, inner = made.step.numbers
        rows = made.operand(0).reshape(outer, length, inner)
        places = (rows.argmax(axis=1) if made.step.op == "max" else rows.argmin(axis=1)).reshape(outer, inner)
        chosen = made.session.one_hot(places, length).transpose(0, 2, 1)
        even = g.even()
        slopes = even.array.reshape(outer, 1, inner)
        if even.is_public:
            slopes = made.session.constant(slopes.astype(float), dtype=made.result.dtype)
        return even.of(made.session.where(chosen, slopes, 0).reshape(made.shapes[0]))

    return [made.where(0, back)]
