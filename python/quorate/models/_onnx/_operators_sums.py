"""The operators of ONNX that sum, or take the largest, along axes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from quorate.models._onnx._layout import Layout, Tensor, Turned, batch_first, turned
from quorate.models._onnx._lower import Lowering, Node, Unsupported
from quorate.models._onnx._operators import OPERATORS, operator

__all__ = ["OPERATORS", "operator"]


def along(lowering: Lowering, node: Node) -> tuple[Tensor | Turned, list[int], Layout]:
    """Returns an array, the axes to reduce when the batch is first, and the place of the result's batch."""
    x, axes = node.array(), node.known(1, "axes")
    if axes is None or axes.size == 0:
        raise Unsupported("of all axes, the batch too")
    places = {int(axis) % len(x.shape) for axis in axes.ravel()}
    inner = sorted(lowering.axis(int(axis), x, "axes") for axis in axes.ravel())
    before = 0 if node.attrs.get("keepdims", 1) else sum(axis < x.layout.axis for axis in places)
    return x, inner, dataclasses.replace(x.layout, axis=x.layout.axis - before)


@operator("ReduceMean", "ReduceSum", limits="not of the batch", turned=True)
def _reduce_mean(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes, layout = along(lowering, node)
    inner = batch_first(x)
    made = lowering.emit("mean", inner, {"axes": axes, "keepdims": bool(node.attrs.get("keepdims", 1))})
    if node.operator == "ReduceSum":
        count = math.prod(inner.shape[axis] for axis in axes)
        made = lowering.emit("scale", made, {"factor": float(count), "offset": 0.0})
    return turned(made, layout)


@operator("ReduceMax", "ReduceMin", limits="not of the batch", turned=True)
def _reduce_max(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes, layout = along(lowering, node)
    inner, negative = batch_first(x), {"factor": -1.0, "offset": 0.0}
    others = [axis for axis in range(len(inner.shape)) if axis not in axes]
    size = [1, math.prod(inner.shape[axis] for axis in axes)]
    kept = [inner.shape[axis] for axis in others[1:]]
    made = _turned_to(lowering, inner, [*others, *axes])
    made = lowering.reshape(made, (inner.shape[0], math.prod(kept), *size))
    if node.operator == "ReduceMin":
        made = lowering.emit("scale", made, negative)
    made = lowering.emit("max_pool", made, {"size": size, "stride": size, "pads": [[0, 0], [0, 0]], "ceil": False})
    if node.operator == "ReduceMin":
        made = lowering.emit("scale", made, negative)
    if node.attrs.get("keepdims", 1):
        kept = [1 if axis in axes else n for axis, n in enumerate(inner.shape)][1:]
    return turned(lowering.reshape(made, (inner.shape[0], *kept)), layout)


@operator("ReduceProd", limits="not of the batch", turned=True)
def _reduce_product(lowering: Lowering, node: Node) -> Tensor | Turned:
    """Lowers a product along axes to products of halves."""
    x, axes, layout = along(lowering, node)
    inner = batch_first(x)
    others = [axis for axis in range(len(inner.shape)) if axis not in axes]
    kept = [inner.shape[axis] for axis in others[1:]]
    made = _turned_to(lowering, inner, [*others, *axes])
    made = lowering.reshape(made, (inner.shape[0], *kept, math.prod(inner.shape[axis] for axis in axes)))
    last = len(made.shape) - 1
    while (count := made.shape[last]) > 1:
        half = count // 2
        one, other = (_between(lowering, made, last, first, first + half) for first in (0, half))
        paired = lowering.emit("mul", [one, other])
        if count % 2:
            paired = lowering.emit("concat", [paired, _between(lowering, made, last, count - 1, count)], {"axis": last})
        made = paired
    if node.attrs.get("keepdims", 1):
        kept = [1 if axis in axes else n for axis, n in enumerate(inner.shape)][1:]
    return turned(lowering.reshape(made, (inner.shape[0], *kept)), layout)


def _between(lowering: Lowering, x: Tensor, axis: int, first: int, end: int) -> Tensor:
    if (first, end) == (0, x.shape[axis]):
        return x
    return lowering.emit("slice", x, {"axes": [axis], "ranges": [[first, end, 1]]})


@operator("CumSum", limits="a constant axis, not along the batch", turned=True)
def _running_sum(lowering: Lowering, node: Node) -> Tensor | Turned:
    """Lowers sums of all elements up to each to log2(n) sums of the array and itself, moved by 1, 2, 4 and so on."""
    x, stated = node.array(), node.known(1)
    if stated is None or stated.size != 1:
        raise Unsupported("without an axis")
    axis, made = lowering.axis(int(stated.ravel()[0]), x), batch_first(x)
    count, is_back = made.shape[axis], bool(node.attrs.get("reverse", 0))

    def moved(array: Tensor, by: int) -> Tensor:
        kept = _between(lowering, array, axis, *((by, count) if is_back else (0, count - by)))
        pads = [[0, 0]] * len(array.shape)
        pads[axis] = [0, by] if is_back else [by, 0]
        return lowering.emit("pad", kept, {"pads": pads, "mode": "constant"})

    if node.attrs.get("exclusive", 0):
        if count == 1:
            raise Unsupported("exclusive sums of one element, which are 0")
        made = moved(made, 1)
    by = 1
    while by < count:
        made, by = lowering.emit("add", [made, moved(made, by)]), 2 * by
    return turned(made, x.layout)


def _turned_to(lowering: Lowering, x: Tensor, order: list[int]) -> Tensor:
    return x if order == list(range(len(order))) else lowering.emit("transpose", x, {"axes": order})


@operator("Einsum", limits="two arrays, or one and constants of which it sums axes; the batch is kept")
def _einsum(lowering: Lowering, node: Node) -> Tensor | Turned:
    given, _, out = str(node.attrs["equation"]).replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != 2 or len(node.values) != 2 or not out or any(len(set(t)) < len(t) for t in (*terms, out)):
        raise Unsupported(f"equation={node.attrs['equation']!r}")
    pairs = sorted(zip(terms, node.values, strict=True), key=lambda pair: not isinstance(pair[1], Tensor))
    (a, x), (b, y) = pairs
    batch = a[0]
    summed = [letter for letter in a if letter in b and letter not in out]
    shared = [letter for letter in a if letter in b and letter in out]
    left = [letter for letter in a if letter not in b]
    right = [letter for letter in b if letter not in a]
    is_pair = isinstance(y, Tensor)
    is_whole = set(left) | set(right) | set(shared) == set(out) and "." not in given
    if not is_whole or batch not in out or (b[0] != batch if is_pair else shared or not summed):
        raise Unsupported(f"equation={node.attrs['equation']!r}")
    of_y, of_x = (
        dict(zip(b, np.shape(y) if not is_pair else y.shape, strict=True)),
        dict(zip(a, x.shape, strict=True)),
    )
    if any(of_y[letter] != of_x[letter] for letter in set(a) & set(b)):
        raise Unsupported(f"equation={node.attrs['equation']!r} of axes of one place that are repeated")
    sizes = of_y | of_x

    def count(letters: list[str]) -> int:
        return math.prod(sizes[letter] for letter in letters)

    def side(letters: str, value: Tensor, order: list[str]) -> Tensor:
        return _turned_to(lowering, value, [letters.index(letter) for letter in order])

    n, shared = x.shape[0], shared[1:]
    if is_pair:
        one = lowering.reshape(
            side(a, x, [batch, *shared, *left, *summed]), (n, count(shared), count(left), count(summed))
        )
        other = side(b, y, [batch, *shared, *summed, *right])
        other = lowering.reshape(other, (n, count(shared), count(summed), count(right)))
        made, order = lowering.emit("matmul2", [one, other]), [batch, *shared, *left, *right]
    else:
        one = lowering.reshape(side(a, x, [*left, *summed]), (n, count(left[1:]), count(summed)))
        matrix = np.asarray(y, np.float64).transpose([b.index(letter) for letter in (*summed, *right)])
        matrix = matrix.reshape(count(summed), count(right))
        made, order = lowering.emit("matmul", one, None, matrix), [*left, *right]
    made = lowering.reshape(made, tuple(sizes[letter] for letter in order))
    others = [letter for letter in out if letter != batch]
    made = _turned_to(lowering, made, [order.index(letter) for letter in (batch, *others)])
    return turned(made, Layout(out.index(batch)))
