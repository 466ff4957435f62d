"""A planned network on whole numbers in the clear: its results equal the program's up to a few units of functions.

Sums are in double precision, which is exact up to 53 bits. Where the protocols approximate (functions, roots), the
function itself is taken and rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.models._layers import _kernels as kernels
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._onnx._array_facts import FRACTION
from quorate.models._onnx._run import Secrets
from quorate.models._onnx._steps import FUNCTIONS, WEIGHTED, alone, multiples, placed

_ONE = 2.0**FRACTION


def simulated(steps: Sequence[dict[str, Any]], secrets: Secrets, entered: Sequence[Array]) -> list[Array]:
    """Returns the first input and the result of every public step, in units, as `run` computes them on secrets."""
    arrays, number = [entered[0]], 0
    for step in steps:
        if step["kind"] == "input":
            arrays.append(entered[step["number"]])
            continue
        given = [arrays[i] for i in step["inputs"]]
        if step["kind"] in WEIGHTED:
            arrays.append(_weighted(step, given[0], *secrets[step.get("same", number)]))
            number += "same" not in step
        else:
            arrays.append(_made(step, given))
    return arrays


def _weighted(step: dict[str, Any], x: Array, w: Array, b: Array | None) -> Array:
    kind = step["kind"]
    if kind == "embedding":
        made = w[x.astype(np.int64)].astype(np.float64)
        return made if b is None else made + b
    down = 2.0 ** -step["down"]
    if kind == "prelu":
        return np.where(x > 0, x, _times(x * w, down))
    made = multiples(kind, step, x, w.astype(np.float64))
    return _times(made if b is None else made + placed(kind, b), down)


def _times(x: Array, factor: float) -> Array:
    """Multiplies by a public number: rounds down if it has at most 16 fractional bits, else to the nearest."""
    return np.floor(x * factor + (0.0 if factor * _ONE == round(factor * _ONE) else 0.5))


def _made(step: dict[str, Any], given: list[Array]) -> Array:
    kind, x = step["kind"], given[0]
    if kind == "concat":
        return np.asarray(kernels.move(kind, step)(given))
    if kind in MOVES:
        return np.asarray(kernels.move(kind, step)(x))
    if len(given) > 1:
        return np.asarray(_PAIRED[kind](*given))
    if kind in FUNCTIONS:
        return np.rint(alone(kind, step, x / _ONE) * _ONE)
    if kind == "normalise":
        return _normalised(step, x)
    if kind in _REALS:
        with np.errstate(all="ignore"):
            return np.floor(_REALS[kind](step, x / _ONE) * _ONE)
    return _alone(kind, step, x)


_PAIRED: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mul": lambda x, y: np.floor(x * y / _ONE),
    "matmul2": lambda x, y: np.floor(x @ y / _ONE),
    "blend": lambda share, x, y: y + np.floor(share * (x - y) / _ONE),
}


def _alone(kind: str, step: dict[str, Any], x: Array) -> Array:
    """Computes steps that keep the unit, or change it by a public number."""
    if kind == "rescale":
        return _times(x, 2.0 ** step["up"])
    if kind == "scale":
        return _times(x, step["times"]) + step["plus"] * _ONE
    if kind == "leaky_relu":
        return np.where(x > 0, x, _times(x, step["slope"]))
    if kind == "mean":
        count = math.prod(x.shape[axis] for axis in step["axes"])
        return _times(x.sum(axis=tuple(step["axes"]), keepdims=step["keepdims"]), 1 / count)
    if kind == "avg_pool":
        return np.floor(alone(kind, step, x) + 0.5)
    if kind == "clip":
        ends = {name: None if step[name] is None else step[name] * _ONE for name in ("low", "high")}
        return alone(kind, ends, x)
    if kind == "top":
        return _top(step, x)
    return alone(kind, step, x)


def _top(step: dict[str, Any], x: Array) -> Array:
    axis = step["axis"]
    places = np.argsort(-x if step["largest"] else x, axis=axis, kind="stable")
    first = np.take(places, range(step["count"]), axis=axis)
    return np.asarray(first * _ONE if step["places"] else np.take_along_axis(x, first, axis=axis), np.float64)


def _inverse(step: dict[str, Any], x: Array) -> Array:
    most = math.inf if step["most"] is None else step["most"]
    return np.clip(1 / x, -most, most)


_REALS: dict[str, Callable[[dict[str, Any], Array], Array]] = {
    "exp": lambda step, x: np.exp(x + step["plus"]),
    "log": lambda step, x: np.log(np.maximum(x, (step["floor"] or 1) / _ONE)) + step["plus"],
    "inverse": _inverse,
    "sqrt": lambda _, x: np.sqrt(np.maximum(x, 0)),
    "floor": lambda step, x: np.rint(x) if step.get("nearest") else np.floor(x),
    "compare": lambda step, x: {"gt": x > 0, "ge": x >= 0, "eq": x == 0}[step["than"]].astype(np.float64),
}


def _normalised(step: dict[str, Any], x: Array) -> Array:
    n = x.shape[-1]
    d = _times(x * n - x.sum(axis=-1, keepdims=True), 2.0 ** -step["down"])
    v = np.floor((d * d).sum(axis=-1, keepdims=True) * 2.0 ** (step["finer"] - FRACTION)) + step["added"]
    small = []
    for rise in step["rises"]:
        small.append(v < 2.0 ** (step["top"] - rise))
        v = np.where(small[-1], v * 2.0**rise, v)
    r = np.floor(_ONE / np.sqrt((_times(v, 2.0 ** -step["cut"]) + 1) / _ONE))
    for rise, is_small in zip(step["rises"], small, strict=True):
        r = np.where(is_small, r * 2.0 ** (rise // 2), r)
    return np.floor(d * r / _ONE)
