"""Functions that files apply to an input's whole numbers before a look-up; the table takes them in.

Keras lets negative numbers count from the end: it looks up by Where(x < 0, x + rows, x). The program need not compute
such a function f of each number. Instead it looks up in a table whose rows are those of the file's table at f(0), f(1)
and so on. Row x of it is row f(x) of the file's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Unsupported

NUMBER = ("x",)
"""The input's number itself. Other functions are (operator, operands, ...), or ("", a constant)."""

RECKONED: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Mod": np.mod,
    "Abs": np.abs,
    "Max": np.maximum,
    "Min": np.minimum,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Equal": np.equal,
    "Not": np.logical_not,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Where": np.where,
    "Cast": lambda x, to: x.astype(to),
}
"""Operators by name, for whole numbers that are far from the limits of their types."""


def constant(value: Any, axes: int) -> tuple[Any, ...]:
    """Returns a constant that is the same for every number, of an array of at most `axes` axes."""
    if np.size(value) != 1 or np.ndim(value) > axes:
        raise Unsupported(f"a constant of shape {np.shape(value)} beside whole numbers of the input: one number is")
    return "", np.asarray(value).ravel()[0]


def kind(to: int) -> tuple[Any, ...]:
    """Returns a type of numbers, by its number in ONNX."""
    import onnx

    return "", onnx.helper.tensor_dtype_to_np_dtype(to)


def computed(of: tuple[Any, ...], x: np.ndarray) -> Any:
    """Applies a function to each number."""
    if of == NUMBER:
        return x
    return RECKONED[of[0]](*(computed(part, x) for part in of[1:])) if of[0] else of[1]


def rows_at(of: tuple[Any, ...], table: np.ndarray) -> np.ndarray:
    """Returns the rows at a function's values for 0, 1 and so on, up to the first value without a row.

    It returns the table itself if these are all its rows in order.
    """
    count = len(table)
    places = np.broadcast_to(computed(of, np.arange(count)), count)
    known = (places >= -count) & (places < count)
    found = count if known.all() else int(np.argmin(known))
    return table if (places == np.arange(count)).all() else table[places[:found]]
