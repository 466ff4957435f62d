"""The steps of a network, on arrays whose first axis is the batch, and their computation in the clear."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.models._layers import _kernels as kernels
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._onnx import _normalise as normalise
from quorate.models._onnx._index_functions import computed

WEIGHTED = ("conv", "conv_transpose", "matmul", "affine", "prelu", "embedding")
"""Steps with secret weights: multiples of the first operand or rows that it names, then an offset (except prelu)."""

FUNCTIONS = ("sigmoid", "tanh", "gelu", "erf", "elu", "softmax")
"""Functions that are computed with 16 fractional bits."""

PAIRED = ("add", "sub", "mul", "matmul2")
"""Steps on two arrays that depend on the input."""

ALONE = ("scale", "rescale", "relu", "leaky_relu", "clip", "max_pool", "avg_pool", "mean", "normalise")
"""Steps on one array with public numbers."""

REALS = ("sqrt", "exp", "log", "inverse", "quotient", "compare", "floor", "top", "maximum", "minimum")
"""Real functions of one array or of two, and steps that depend on the order of numbers."""

IN_REALS = (*FUNCTIONS, "sqrt", "exp", "log", "inverse", "floor", "normalise")
"""Steps that are computed in a ring of 64 bits, whatever the network's ring."""

KINDS = (*WEIGHTED, *FUNCTIONS, *MOVES, *PAIRED, *ALONE, *REALS, "blend", "input")
"""All kinds of steps that a program may have."""


_ROUNDED = 2.0**-51
"""Relative error of a product by the inverse of a divisor, so that a quotient of 1 may come out below it."""


@dataclasses.dataclass
class Step:
    """One step on real numbers.

    Attributes:
        kind: one of `KINDS`.
        inputs: the numbers of the arrays that it takes; 0 is the network's first input, and step i makes array i + 1.
            Steps of kind "input" take none: they are the further inputs.
        attrs: the public part of the step.
        weights, offsets: the secret numbers, if it has some.
        name: the name of the node in the file.
    """

    kind: str
    inputs: tuple[int, ...]
    attrs: dict[str, Any] = dataclasses.field(default_factory=dict)
    weights: Array | None = None
    offsets: Array | None = None
    name: str = ""


def multiples(kind: str, attrs: dict[str, Any], x: Array, w: Array) -> Array:
    """Returns the part of a weighted step that is linear in its weights."""
    if kind == "embedding":
        return w[x.astype(np.int64)]
    if kind == "conv":
        return kernels.conv(x, w, attrs["stride"], attrs["dilation"], attrs["pads"], attrs["groups"])
    if kind == "conv_transpose":
        more = attrs["more"]
        return kernels.conv_transpose(x, w, attrs["stride"], attrs["dilation"], attrs["padding"], more, attrs["groups"])
    return x @ w if kind == "matmul" else x * w


def placed(kind: str, offsets: Any) -> Any:
    """Returns offsets in a shape that broadcasts against the step's result."""
    return offsets.reshape(1, -1, 1, 1) if kind in ("conv", "conv_transpose") else offsets


def clear(step: Step, arrays: Sequence[Array]) -> Array:
    """Computes a step on arrays in the clear, in double precision."""
    kind, attrs = step.kind, step.attrs
    if kind == "concat":
        return np.asarray(kernels.move(kind, attrs)(list(arrays)))
    x = arrays[0]
    if kind in MOVES:
        return np.asarray(kernels.move(kind, attrs)(x))
    if kind == "reckoned":  # a program has no such step
        return np.asarray(computed(attrs["of"], x))
    if kind == "blend":  # x of the first array, and 1 - x of the second
        return x * arrays[1] + (1 - x) * arrays[2]
    if step.weights is not None:
        if kind == "prelu":
            return np.where(x > 0, x, x * step.weights)
        made = multiples(kind, attrs, x, step.weights)
        return made if step.offsets is None else made + placed(kind, step.offsets)
    if len(arrays) == 2:
        paired: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "matmul2": np.matmul}
        paired |= {"quotient": np.divide, "maximum": np.maximum, "minimum": np.minimum}
        return np.asarray(paired[kind](x, arrays[1]))
    return alone(kind, attrs, x)


def alone(kind: str, attrs: dict[str, Any], x: Array) -> Array:
    """Computes steps of one operand and public numbers."""
    if kind == "scale":
        return x * attrs["factor"] + attrs["offset"]
    if kind == "relu":
        return np.maximum(x, 0)
    if kind == "elu":
        return np.where(x > 0, x, attrs["alpha"] * np.expm1(np.minimum(x, 0)))
    if kind == "leaky_relu":
        return np.where(x > 0, x, x * attrs["slope"])
    if kind == "clip":
        low, high = attrs["low"], attrs["high"]
        above = x if low is None else np.maximum(x, low)
        return above if high is None else np.minimum(above, high)
    if kind == "max_pool":
        return kernels.max_pool(x, attrs["size"], attrs["stride"], attrs["pads"], attrs["ceil"])
    if kind == "avg_pool":
        return kernels.avg_pool(
            x, attrs["size"], attrs["stride"], attrs["pads"], attrs["include"], attrs.get("ceil", False)
        )
    if kind == "mean":
        return x.mean(axis=tuple(attrs["axes"]), keepdims=attrs["keepdims"])
    if kind == "normalise":
        return normalise.lines(x, attrs["epsilon"])
    if kind == "compare":
        return np.asarray({"gt": np.greater, "ge": np.greater_equal, "eq": np.equal}[attrs["than"]](x, 0), np.float64)
    if kind == "top":
        return _top(attrs, x)
    if kind == "softmax":
        seen = x if "hidden" not in attrs else np.where(attrs["hidden"], -np.inf, x)
        return kernels.softmax(seen, attrs["axis"])
    functions: dict[str, Any] = {"sigmoid": kernels.sigmoid, "tanh": np.tanh, "gelu": kernels.gelu, "erf": kernels.erf}
    functions |= {"sqrt": lambda x: np.sqrt(np.maximum(x, 0)), "exp": np.exp, "log": np.log, "floor": np.floor}
    functions |= {"inverse": np.reciprocal}
    if kind == "floor" and attrs.get("nearest"):
        return np.rint(x)
    if kind == "floor" and attrs.get("of_quotient"):
        x = np.where(np.abs(x - np.rint(x)) <= _ROUNDED * np.abs(x), np.rint(x), x)
    return np.asarray(functions[kind](x))


def _top(attrs: dict[str, Any], x: Array) -> Array:
    """Returns the largest or the smallest elements along an axis, or their places; of equal ones the first is first."""
    axis = attrs["axis"]
    order = np.argsort(-x if attrs["largest"] else x, axis=axis, kind="stable")
    places = np.take(order, range(attrs["count"]), axis=axis)
    return places.astype(np.float64) if attrs["places"] else np.take_along_axis(x, places, axis=axis)


def run_clear(steps: Sequence[Step], given: Sequence[Array]) -> list[Array]:
    """Returns the first input, and the result of every step."""
    arrays = [given[0]]
    for step in steps:
        is_input = step.kind == "input"
        arrays.append(given[step.attrs["number"]] if is_input else clear(step, [arrays[i] for i in step.inputs]))
    return arrays
