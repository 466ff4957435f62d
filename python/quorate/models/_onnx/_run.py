"""The program of a planned network over secret arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import quorate
from quorate import functions, nn
from quorate._arrays._proven_ranges import stated
from quorate._arrays._rearrangement import moved
from quorate.models._layers import _kernels as kernels
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._onnx import _error_function as error_function
from quorate.models._onnx import _normalise as normalise
from quorate.models._onnx._array_facts import REALS_RING
from quorate.models._onnx._indices import Lookups
from quorate.models._onnx._plan import FRACTION, ROOM
from quorate.models._onnx._steps import IN_REALS, REALS, WEIGHTED, placed

Secrets = Sequence[tuple[Array, "Array | None"]]
"""For each weighted step, in order: the integers of its weights, and of its offsets."""


class Weights:
    """A network's secret numbers in a session: each step's are shared at their first use, and kept."""

    def __init__(self, mpc: Any, secrets: Secrets | None, owner: int, kept: dict[str, Any], ring: int) -> None:
        self._mpc, self._secrets, self._owner, self._kept = mpc, secrets, owner, kept
        self._dtype = quorate.fixed(ring, FRACTION)

    def of(self, number: int, step: dict[str, Any]) -> tuple[Any, Any]:
        """Returns the weights of a weighted step by its number, and its offsets or None."""
        name = f"step {number}"
        if name not in self._kept:
            self._kept[name] = self._shared(step, None if self._secrets is None else self._secrets[number])
        found: tuple[Any, Any] = self._kept[name]
        return found

    def _shared(self, step: dict[str, Any], secret: Any) -> tuple[Any, Any]:
        whole, offsets = (None, None) if secret is None else secret
        of, bits = step["weights"], self._dtype.bits
        if step["kind"] == "embedding":
            w = self._units(whole, of, step["width"])
        else:
            dtype, bound = quorate.int(bits), 1 << step["width"]
            w = self._mpc.input(whole, owner=self._owner, shape=of, dtype=dtype, bound=bound)
        if step["kind"] in ("matmul", "conv", "embedding"):
            w = w.as_factor()
        return w, None if step["offsets"] is None else self._units(offsets, step["offsets"], bits - ROOM)

    def _units(self, whole: Array | None, shape: Sequence[int], bits: int) -> Any:
        """Inputs integers as units of a step's result, at most 2^bits."""
        given, most = None if whole is None else np.ldexp(whole, -FRACTION), 2.0 ** (bits - FRACTION)
        return self._mpc.input(given, owner=self._owner, shape=shape, dtype=self._dtype, bound=most)


def run(mpc: Any, steps: Sequence[dict[str, Any]], weights: Weights, entered: Sequence[Any], ring: int) -> list[Any]:
    """Returns the first input and the result of every step, in a ring of `ring` bits."""
    arrays, number, lookups = [entered[0]], 0, Lookups(mpc, steps, ring)
    for step in steps:
        if step["kind"] == "input":
            arrays.append(entered[step["number"]])
            continue
        given = [arrays[i] for i in step["inputs"]]
        if step["kind"] in WEIGHTED:
            w, b = weights.of(step.get("same", number), step)
            number += "same" not in step
            if step["kind"] == "embedding":
                made = lookups.rows(step, given[0], w)
                made = made if b is None else made + b
            else:
                made = _weighted(mpc, step, given[0], w, b)
        else:
            made = _step(mpc, step, given)
        # Proven bounds on elements may be smaller than the ranges of whole arrays.
        arrays.append(stated(made, step["bits"]))
    return arrays


def _step(mpc: Any, step: dict[str, Any], given: list[Any]) -> Any:
    kind, x = step["kind"], given[0]
    if kind in IN_REALS and x.dtype.bits < REALS_RING:
        wide = _step(mpc, step, [x.astype(quorate.fixed(REALS_RING, FRACTION))])
        return stated(wide, step["bits"]).astype(x.dtype)
    if kind in MOVES:
        move = kernels.move(kind, step)
        if kind == "reshape":
            return x.reshape(x.shape[0], *step["shape"])
        return moved(move, given if kind == "concat" else x)
    if kind == "add":
        return x + given[1]
    if kind == "sub":
        return x - given[1]
    if kind == "mul":
        return x * given[1]
    if kind == "blend":
        return given[2] + x * (given[1] - given[2])
    if kind == "matmul2":
        return x @ given[1]
    if kind in ("maximum", "minimum"):
        return mpc.maximum(x, given[1]) if kind == "maximum" else mpc.minimum(x, given[1])
    if kind in REALS:
        return _real(mpc, kind, step, x)
    return _alone(mpc, kind, step, x)


def _real(mpc: Any, kind: str, step: dict[str, Any], x: Any) -> Any:
    if kind == "exp":
        return functions.exp(x + step["plus"] if step["plus"] else x)
    if kind == "log":
        floor = step["floor"]
        made = functions.log(x if floor is None else mpc.maximum(x, math.ldexp(floor, -FRACTION)))
        return made + step["plus"] if step["plus"] else made
    if kind == "inverse":
        made, most = functions.reciprocal(x), step["most"]
        return made if most is None else mpc.minimum(mpc.maximum(made, -most), most)
    if kind == "compare":
        made = {"gt": x.__gt__, "ge": x.__ge__, "eq": x.__eq__}[step["than"]](0)
        return made.astype(x.dtype)
    if kind == "top":
        return _top(step, x)
    if kind == "floor":
        return x.round() if step.get("nearest") else x // 1
    return functions.sqrt(x)


def _top(step: dict[str, Any], x: Any) -> Any:
    axis = step["axis"]
    if step["places"] and step["count"] == 1:
        places = (x.argmax if step["largest"] else x.argmin)(axis=axis, keepdims=True)
        return places.astype(x.dtype)
    values, places = x.topk(step["count"], axis, largest=step["largest"])
    return places.astype(x.dtype) if step["places"] else values


def _weighted(mpc: Any, step: dict[str, Any], x: Any, w: Any, b: Any) -> Any:
    kind, down = step["kind"], 2.0 ** -step["down"]
    if kind == "prelu":
        return mpc.where(x > 0, x, stated(x * w, step["reach"]) * down)
    made = _multiples(kind, step, x, w)
    made = stated(made if b is None else made + placed(kind, b), step["reach"])
    return made if step["down"] == 0 else made * down


def _multiples(kind: str, step: dict[str, Any], x: Any, w: Any) -> Any:
    if kind == "conv":
        stride, pads = tuple(step["stride"]), tuple(map(tuple, step["pads"]))
        return nn.conv2d(x, w, stride=stride, dilation=tuple(step["dilation"]), padding=pads, groups=step["groups"])
    if kind == "conv_transpose":
        return nn.conv_transpose2d(
            x,
            w,
            stride=tuple(step["stride"]),
            dilation=tuple(step["dilation"]),
            padding=tuple(step["padding"]),
            output_padding=tuple(step["more"]),
            groups=step["groups"],
        )
    if kind == "matmul":
        return (x.reshape(-1, x.shape[-1]) @ w).reshape(*x.shape[:-1], w.shape[-1])
    return x * w


def _alone(mpc: Any, kind: str, step: dict[str, Any], x: Any) -> Any:
    if kind == "rescale":
        return x * (1 << step["up"]) if step["up"] > 0 else x * 2.0 ** step["up"]
    if kind == "scale":
        times, plus = step["times"], step["plus"]
        made = -x if times == -1.0 else x if times == 1.0 else x * times
        return made + plus if plus else made
    if kind == "clip":
        made = x if step["low"] is None else mpc.maximum(x, step["low"])
        return made if step["high"] is None else mpc.minimum(made, step["high"])
    if kind in ("max_pool", "avg_pool"):
        size, stride, pads = tuple(step["size"]), tuple(step["stride"]), tuple(map(tuple, step["pads"]))
        if kind == "max_pool":
            return nn.max_pool2d(x, size, stride, pads, ceil_mode=step["ceil"])
        return nn.avg_pool2d(
            x, size, stride, pads, count_include_pad=step["include"], ceil_mode=step.get("ceil", False)
        )
    if kind == "mean":
        count = int(np.prod([x.shape[axis] for axis in step["axes"]]))
        made = x.sum(axis=tuple(step["axes"]), keepdims=step["keepdims"])
        return made if count == 1 else made * (1 / count)
    if kind == "softmax":
        seen = mpc.where(~np.asarray(step["hidden"]), x, step["below"]) if "hidden" in step else x
        return nn.softmax(seen, axis=step["axis"])
    if kind == "normalise":
        return normalise.normalised(mpc, step, x)
    if kind == "leaky_relu":
        return nn.leaky_relu(x, step["slope"])
    if kind == "elu":
        return nn.elu(x, step["alpha"])
    if kind == "erf":
        return error_function.erf(mpc, x)
    return {"relu": nn.relu, "sigmoid": nn.sigmoid, "tanh": nn.tanh, "gelu": nn.gelu}[kind](x)
