"""The operators of ONNX that only move elements, each as steps."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from quorate.models._onnx._lower import Lowering, Node, Tensor, Turned, Unsupported, turned
from quorate.models._onnx._operators_series import OPERATORS, operator

__all__ = ["OPERATORS"]

_BEYOND_ANY = (1 << 31) - 1  # where slices end that take all of an axis, whatever its size


@operator("Identity", turned=True)
@operator("Dropout", limits="no training mode", turned=True)
@operator("Cast", limits="to floating-point numbers", turned=True)
def _same(lowering: Lowering, node: Node) -> Tensor | Turned:
    if node.operator == "Cast" and node.attrs.get("to") not in (1, 11):
        raise Unsupported("to another type than float32 or float64")
    training = node.known(2) if node.operator == "Dropout" else None
    if training is not None and training.any():
        raise Unsupported("training mode: export the network as it predicts")
    return node.array()


@operator("Constant", "Shape", limits="")
def _known(lowering: Lowering, node: Node) -> Tensor:
    raise Unsupported("of what is not known")  # what is known was computed before


@operator("Flatten", limits="axis=1")
def _flatten(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    if lowering.axis(int(node.attrs.get("axis", 1)), x) != 1:
        raise Unsupported(f"axis={node.attrs['axis']} of an array of shape {x.shape}")
    return lowering.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


@operator("Reshape", limits="the batch stays the axis that it is", turned=True)
def _reshape(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, wanted = node.array(), node.known(1, "shape")
    if wanted is None:
        raise Unsupported("without a shape")
    sizes = [int(n) for n in wanted.ravel()]
    if not node.attrs.get("allowzero", 0):
        sizes = [x.shape[i] if n == 0 and i < len(x.shape) else n for i, n in enumerate(sizes)]
    if -1 in sizes:
        rest = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = math.prod(x.shape) // max(rest, 1)
    if isinstance(x, Tensor):
        return lowering.reshape(x, sizes)
    if tuple(sizes[: x.batch + 1]) != x.shape[: x.batch + 1]:
        raise Unsupported(f"shape={sizes} of an array of shape {x.shape}, whose batch is axis {x.batch}")
    inner = (x.tensor.shape[0], *sizes[: x.batch], *sizes[x.batch + 1 :])
    return Turned(lowering.reshape(x.tensor, inner), x.batch)


@operator("Squeeze", limits="axes behind the batch", turned=True)
def _squeeze(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes = node.array(), node.known(1, "axes")
    if axes is None:
        raise Unsupported("without axes, which may take the batch away")
    inner, count = x.tensor if isinstance(x, Turned) else x, len(x.shape)
    made = np.squeeze(np.empty(inner.shape, np.bool_), tuple(lowering.axis(int(a), x, "axes") for a in axes.ravel()))
    before = sum(int(a) % count < x.batch for a in axes.ravel())
    return turned(lowering.reshape(inner, made.shape), x.batch - before)


@operator("Unsqueeze", limits="axes behind the batch")
def _unsqueeze(lowering: Lowering, node: Node) -> Tensor:
    x, axes = node.tensor(), node.known(1, "axes")
    made = np.expand_dims(np.empty(x.shape, np.bool_), tuple(int(a) for a in (() if axes is None else axes.ravel())))
    if axes is not None and any(int(a) in (0, -made.ndim) for a in axes.ravel()):
        raise Unsupported("of an axis before the batch")
    return lowering.reshape(x, made.shape)


@operator("Transpose", limits="the batch stays the first axis, or a LSTM or GRU takes it", turned=True)
def _transpose(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    order = [int(n) for n in node.attrs.get("perm", reversed(range(len(x.shape))))]
    if sorted(order) != list(range(len(x.shape))):
        raise Unsupported(f"perm={order} of an array of shape {x.shape}")
    batch = order.index(x.batch)
    if batch and len(x.shape) < 3:
        raise Unsupported(f"perm={order} moves the batch")
    inner = [0, *(lowering.axis(axis, x) for axis in order if axis != x.batch)]
    made = x.tensor if isinstance(x, Turned) else x
    if inner != list(range(len(inner))):
        made = lowering.emit("transpose", made, {"axes": inner})
    return turned(made, batch)


@operator("Concat", limits="along an axis behind the batch, no constants")
def _concat(lowering: Lowering, node: Node) -> Tensor:
    parts = [node.tensor(i) for i in range(len(node.values))]
    axis = lowering.axis(int(node.attrs["axis"]), parts[0])
    return parts[0] if len(parts) == 1 else lowering.emit("concat", parts, {"axis": axis})


@operator("Pad", limits='with zeros, or mode "reflect" or "edge"; not the batch')
def _pad(lowering: Lowering, node: Node) -> Tensor:
    x, pads, value = node.tensor(), node.known(1, "pads"), node.known(2, "value")
    mode = node.attrs.get("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise Unsupported(f"mode={mode!r}")
    if mode == "constant" and value is not None and value.any():
        raise Unsupported(f"with {value.ravel()[0]} in place of 0")
    if pads is None:
        raise Unsupported("without pads")
    given, axes = [int(n) for n in pads.ravel()], node.known(3)
    places = range(len(x.shape)) if axes is None else [int(a) % len(x.shape) for a in axes.ravel()]
    around = [[0, 0] for _ in x.shape]
    for i, place in enumerate(places):
        around[place] = [given[i], given[i + len(given) // 2]]
    if around[0] != [0, 0] or min(map(min, around)) < 0:
        raise Unsupported(f"pads={given}")
    return lowering.emit("pad", x, {"pads": around, "mode": mode})


@operator("Slice", limits="constant ends, not of the batch", turned=True)
def _slice(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    starts, ends = node.known(1, "starts"), node.known(2, "ends")
    if starts is None or ends is None:
        raise Unsupported("without ends")
    axes, steps = node.known(3, "axes"), node.known(4)
    places = range(starts.size) if axes is None else [int(a) for a in axes.ravel()]
    jumps = [1] * starts.size if steps is None else [int(s) for s in steps.ravel()]
    taken: dict[str, list[Any]] = {"axes": [], "ranges": []}
    for place, start, end, step in zip(places, starts.ravel(), ends.ravel(), jumps, strict=True):
        axis = place + len(x.shape) if place < 0 else place
        first, last, _ = _ends(int(start), int(end), step, x.shape[axis])
        if axis == x.batch:
            to_any = end == x.shape[axis] or end >= (_BEYOND_ANY if lowering.source.is_open else x.shape[axis])
            if step != 1 or first != 0 or (start and lowering.source.is_open) or not to_any:
                raise Unsupported("of the batch")
            continue
        taken["axes"].append(lowering.axis(axis, x))
        taken["ranges"].append([first, last, step])
    inner = x.tensor if isinstance(x, Turned) else x
    return turned(lowering.emit("slice", inner, taken), x.batch) if taken["axes"] else x


def _ends(start: int, end: int, step: int, size: int) -> tuple[int, int | None, int]:
    """The ends of a slice as Python has them, from ONNX's, which go beyond the array for all of it.

    Backwards from before the array ONNX begins at its first element, and Python has none.
    """
    first, last, _ = slice(max(start, -(1 << 60)), max(end, -(1 << 60)), step).indices(size)
    return max(first, 0), None if last < 0 else last, step


@operator("Split", limits="along an axis behind the batch")
def _split(lowering: Lowering, node: Node) -> list[Tensor]:
    x = node.tensor()
    axis, sizes = lowering.axis(int(node.attrs.get("axis", 0)), x), node.known(1, "split")
    if sizes is None:
        each = -(-x.shape[axis] // node.outputs)
        sizes = np.array([min(each, x.shape[axis] - i * each) for i in range(node.outputs)])
    ends = [0, *np.cumsum(sizes.ravel()).tolist()]
    return [lowering.emit("slice", x, {"axes": [axis], "ranges": [[first, last, 1]]}) for first, last in pairwise(ends)]


@operator("Tile", limits="constant repeats, 1 of the batch")
def _tile(lowering: Lowering, node: Node) -> Tensor:
    made, repeats = node.tensor(), node.known(1)
    if repeats is None or repeats.size != len(made.shape) or repeats.ravel()[0] != 1:
        raise Unsupported(f"by {None if repeats is None else repeats.tolist()}")
    for axis, times in enumerate(repeats.ravel().tolist()):
        if times != 1:
            indices = list(range(made.shape[axis])) * times
            made = lowering.emit("gather", made, {"axis": axis, "indices": indices})
    return made


@operator("Gather", limits="constant indices, not along the batch", turned=True)
def _gather(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, indices = node.array(), node.known(1)
    if indices is None:
        raise Unsupported("without indices")
    axis = lowering.axis(int(node.attrs.get("axis", 0)), x)
    made = lowering.emit(
        "gather", x.tensor if isinstance(x, Turned) else x, {"axis": axis, "indices": indices.tolist()}
    )
    return turned(made, x.batch + (indices.ndim - 1 if axis <= x.batch else 0))


_NEAREST = "nearest neighbours, by whole numbers, as half_pixel and round_prefer_*, or asymmetric and floor"


@operator("Resize", "Upsample", limits=_NEAREST)
def _resize(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    if node.attrs.get("mode", "nearest") != "nearest":
        raise Unsupported(f"mode={node.attrs['mode']!r}")
    way = node.attrs.get("coordinate_transformation_mode", "half_pixel")
    rounds = node.attrs.get("nearest_mode", "round_prefer_floor")
    is_middle = way == "half_pixel" and rounds in ("round_prefer_floor", "round_prefer_ceil")
    is_first = node.operator == "Upsample" or node.opset < 11 or (way, rounds) == ("asymmetric", "floor")
    if not (is_middle or is_first):
        raise Unsupported(f"coordinate_transformation_mode={way!r} with nearest_mode={rounds!r}")
    if node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported(f"keep_aspect_ratio_policy={node.attrs['keep_aspect_ratio_policy']!r}")
    scales = _scales(node, x)
    if scales is None or (scales != np.rint(scales)).any() or (scales < 1).any() or scales[0] != 1:
        raise Unsupported("without scales" if scales is None else f"by {scales.tolist()}")
    axes = [i for i, s in enumerate(scales) if s != 1]
    return lowering.emit("repeat", x, {"axes": axes, "times": [int(scales[i]) for i in axes]}) if axes else x


def _scales(node: Node, x: Tensor) -> np.ndarray | None:
    """By how much each axis is enlarged, 1 of those that the file leaves out."""
    has_roi = node.operator == "Resize" and node.opset >= 11
    given, sizes = node.known(2 if has_roi else 1, "scales"), node.known(3)
    axes = np.asarray(node.attrs.get("axes", range(len(x.shape))))
    if sizes is not None and sizes.size:
        given = sizes / np.asarray(x.shape)[axes]
    if given is None or given.size == 0:
        return None
    if given.shape != axes.shape:
        raise Unsupported(f"by {given.tolist()} along the axes {axes.tolist()}")
    scales = np.ones(len(x.shape))
    scales[axes] = given
    return scales
