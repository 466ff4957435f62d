"""Layouts of images, and checks of the arguments that describe windows on them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ConfigError, DtypeError, ShapeError
from quorate.session import Session

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]
"""Zeros before and after, for rows and for columns."""

_LAYOUTS = ("NCHW", "NHWC")


def session_of(what: str, *values: Any) -> Session:
    """Returns the session of the first secret array."""
    for value in values:
        if isinstance(value, SecretArray):
            return value._session
    raise DtypeError(at(f"{what} takes a secret array: for public numbers use numpy, or mpc.constant"))


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of a secret array or of public numbers."""
    try:
        return value.shape if isinstance(value, SecretArray) else np.shape(value)
    except ValueError:
        raise ShapeError(at("the values do not form an array; are all rows equally long?")) from None


def check_broadcasts(what: str, name: str, value: Any, shape: tuple[int, ...]) -> None:
    """Raises `ShapeError` unless a value broadcasts to a shape without enlarging it."""
    given = shape_of(value)
    if len(given) > len(shape) or any(n not in (1, m) for n, m in zip(given[::-1], shape[::-1], strict=False)):
        raise ShapeError(at(f"{what}: {name} of shape {given} does not broadcast to {shape}"))


def channels_first(what: str, x: Any, layout: str) -> Any:
    """Returns images, or filters, with channels before rows and columns."""
    if layout not in _LAYOUTS:
        raise ConfigError(at(f"{what}: layout {layout!r} is none of {', '.join(map(repr, _LAYOUTS))}"))
    if len(shape_of(x)) != 4:
        raise ShapeError(at(f"{what} takes arrays of four axes, {layout}; this one's shape is {shape_of(x)}"))
    given = x if isinstance(x, SecretArray) else np.asarray(x)
    return given if layout == "NCHW" else transposed(given, (0, 3, 1, 2))


def as_given(x: SecretArray, layout: str) -> SecretArray:
    """Returns images of layout "NCHW" in the requested layout."""
    return x if layout == "NCHW" else x.transpose(0, 2, 3, 1)


def transposed(x: Any, axes: tuple[int, ...]) -> Any:
    """Returns a secret array, or public numbers, with the axes in this order."""
    return x.transpose(*axes) if isinstance(x, SecretArray) else np.transpose(x, axes)


def whole(what: str, value: Any) -> int:
    """Returns a whole number as an int.

    Raises:
        ShapeError: it is something else.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise ShapeError(at(f"{what}: {value!r} is no whole number")) from None


def pair(what: str, value: Any, least: int = 1) -> Pair:
    """Returns numbers for rows and for columns, from one number for both or one for each."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    both = (value, value) if not isinstance(value, Sequence) else tuple(value)
    if len(both) != 2:
        raise ShapeError(at(f"{what} is one number, or two: of rows and of columns; not {value!r}"))
    found = whole(what, both[0]), whole(what, both[1])
    if min(found) < least:
        raise ShapeError(at(f"{what} is at least {least}; not {value!r}"))
    return found


def padding_of(value: Any, sizes: Pair, spans: Pair, stride: Pair) -> Padding:
    """Returns the zeros that `padding=` puts around images of the given sizes, for windows of the given spans.

    `"valid"` means none. `"same"` makes the number of windows the size of the image divided by the stride, rounded up.
    An odd zero goes below and to the right, as with TensorFlow and ONNX's SAME_UPPER.
    """
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if value == "valid":
        return (0, 0), (0, 0)
    if value == "same":
        rows, columns = (
            max((-(-size // step) - 1) * step + span - size, 0)
            for size, span, step in zip(sizes, spans, stride, strict=True)
        )
        return (rows // 2, rows - rows // 2), (columns // 2, columns - columns // 2)
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, Sequence) for v in value):
        if len(value) != 2:
            raise ShapeError(at(f"padding is two pairs, of rows and of columns; not {value!r}"))
        return pair("padding", value[0], 0), pair("padding", value[1], 0)
    if isinstance(value, str):
        raise ShapeError(at(f"padding {value!r} is neither 'same' nor 'valid'; or give numbers"))
    rows, columns = pair("padding", value, 0)
    return (rows, rows), (columns, columns)
