"""Convolutions, and linear layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate import _source
from quorate._source import at
from quorate.array import SecretArray, operand
from quorate.errors import ConfigError, ShapeError
from quorate.nn._layout import (
    as_given,
    channels_first,
    check_broadcasts,
    padding_of,
    pair,
    session_of,
    shape_of,
    transposed,
    whole,
)

__all__ = ["conv1d", "conv2d", "linear"]


def linear(x: Any, weight: Any, bias: Any = None) -> SecretArray:
    """Multiplies inputs by the transposed weights and adds the bias; weights are (outputs, inputs), as in PyTorch.

    It takes one product of matrices. Inputs are along the last axis of `x`.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     x, w = mpc.input([[1, 2]], owner=0), mpc.input([[3, 4], [5, 6]], owner=1)
        ...     print(qr.nn.linear(x, w, [10, 20]).reveal())
        [[21 37]]
    """
    session_of("linear", x, weight)
    product = _turned_product(x, weight)
    if bias is None:
        return product
    check_broadcasts("linear", "a bias", bias, product.shape)
    return product + bias


def _turned_product(x: Any, weight: Any) -> SecretArray:
    """Multiplies inputs by the transposed weights.

    Transposing many secret weights takes longer than the product. With few inputs, inputs and product are therefore
    transposed instead. The same applies to weights that are factors, because their transpose would not be a factor.
    """
    x = x if isinstance(x, SecretArray) else np.asarray(x)
    if isinstance(weight, SecretArray) and len(weight.shape) == 2 and x.shape[-1:] == weight.shape[1:]:
        outputs, inputs = weight.shape
        rows = math.prod(x.shape[:-1])
        if 0 < rows * (outputs + inputs) < outputs * inputs or weight._is_factor():
            few: SecretArray = weight @ x.reshape(rows, inputs).T
            return few.T.reshape(*x.shape[:-1], outputs)
    turned = weight.T if isinstance(weight, SecretArray) else np.asarray(weight).T
    product: SecretArray = x @ turned
    return product


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
) -> SecretArray:
    """Convolves images with filters as neural networks do: filters are not flipped.

    It takes one round, and those of a truncation where both are fixed point. With `rss` each party sends its share of
    the results, for filters of any size. With `aby` and `pika` each pixel and each weight is opened once. With `spdz2k`
    both factors of each product are opened, or each matrix once where matrix triples take less
    (`matrices="experimental"`). Public filters, or public images, need only local work. Each sum of fixed point is
    rounded down once. Results that the ring does not hold wrap, as in products of matrices.

    Args:
        x: images (batch, channels, rows, columns), or (batch, rows, columns, channels) where `layout` is "NHWC".
        weight: filters (filters, channels of a group, rows, columns), or with the channels last.
        bias: one number for each filter.
        stride: the distance between neighbouring windows: one number, or one for rows and one for columns.
        padding: zeros around images: one number, (rows, columns), ((above, below), (left, right)), "same" or "valid".
        dilation: the distance between neighbouring elements of a window.
        groups: the number of groups of channels, each of which has its own filters; the number of channels for a
            depthwise convolution.
        layout: "NCHW" or "NHWC".

    Raises:
        ShapeError: sizes do not fit each other, or a window does not fit the image.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     image = mpc.input(np.arange(9).reshape(1, 1, 3, 3), owner=0)
        ...     filters = mpc.input([[[[1, 0], [0, -1]]]], owner=1)
        ...     print(qr.nn.conv2d(image, filters).reveal()[0, 0])
        [[-4 -4]
         [-4 -4]]
    """
    session = session_of("conv2d", x, weight)
    images, filters = channels_first("conv2d", x, layout), channels_first("conv2d", weight, layout)
    steps, apart = pair("stride", stride), pair("dilation", dilation)
    rows, columns = shape_of(filters)[2:]
    height, width = shape_of(images)[2:]
    spans = apart[0] * (rows - 1) + 1, apart[1] * (columns - 1) + 1
    around = padding_of(padding, (height, width), spans, steps)
    lies = [steps, apart, (around[0][0], around[1][0]), (around[0][1], around[1][1])]
    native = session._native
    operands = operand(session, images, "conv2d"), operand(session, filters, "conv2d")
    number = whole("groups", groups)
    if number < 1:
        raise ShapeError(at(f"groups is at least 1; not {groups!r}"))
    made = SecretArray(session, native.conv(*operands, lies, number, _source.line()))
    return as_given(biased(made, bias, "conv2d"), layout)


def biased(result: SecretArray, bias: Any, what: str) -> SecretArray:
    """Adds a number for each filter."""
    if bias is None:
        return result
    if shape_of(bias) != result.shape[1:2]:
        raise ShapeError(at(f"{what} with {result.shape[1]} filters, and a bias of shape {shape_of(bias)}"))
    column = bias if isinstance(bias, SecretArray) else np.asarray(bias)
    return result + column.reshape(1, -1, 1, 1)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: int = 1,
    padding: Any = 0,
    dilation: int = 1,
    groups: int = 1,
    layout: str = "NCW",
) -> SecretArray:
    """Convolves series (batch, channels, steps) with filters (filters, channels of a group, steps).

    With `layout="NWC"` series are (batch, steps, channels), and filters (filters, steps, channels of a group). It is a
    `conv2d` of images of one row; `padding` is a number, (before, after), "same" or "valid".

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     series = mpc.input([[[1, 2, 4, 8]]], owner=0)
        ...     print(qr.nn.conv1d(series, [[[-1, 1]]]).reveal())
        [[[1 2 4]]]
    """
    if layout not in ("NCW", "NWC"):
        raise ConfigError(at(f"conv1d: layout {layout!r} is none of 'NCW', 'NWC'"))
    for value in (x, weight):
        if len(shape_of(value)) != 3:
            raise ShapeError(at(f"conv1d takes arrays of three axes; this one's shape is {shape_of(value)}"))
    series = (x, weight) if layout == "NCW" else (transposed(v, (0, 2, 1)) for v in (x, weight))
    images, filters = (v[:, :, None, :] if isinstance(v, SecretArray) else np.asarray(v)[:, :, None, :] for v in series)
    around = padding if isinstance(padding, str) else ((0, 0), pair("padding", padding, 0))
    made = conv2d(images, filters, bias, stride=(1, stride), padding=around, dilation=(1, dilation), groups=groups)
    made = made.reshape(made.shape[0], made.shape[1], made.shape[3])
    return made if layout == "NCW" else made.transpose(0, 2, 1)
