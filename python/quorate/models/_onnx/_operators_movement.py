"""The operators of ONNX that only move elements, each as steps."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Layout, Tensor, Turned, batch_first, constant_beside, turned
from quorate.models._onnx._lower import Lowering, Node, Unsupported
from quorate.models._onnx._operators_series import OPERATORS, operator

__all__ = ["OPERATORS", "operator"]

_WHOLE = (6, 7)  # TensorProto.INT32, INT64
_BEYOND_ANY = 10**9  # ends of slices from here on take all of an axis of any size


@operator("Cast", limits="to float32 or float64; to whole numbers; what is 1 or 0 to any type", turned=True)
def _cast(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, to = node.array(), node.attrs.get("to")
    place = batch_first(x).place
    made = lowering.steps[place - 1].kind if place else "input"
    if to in (1, 11) or made == "compare" or (to in _WHOLE and made in ("floor", "top")):
        return x
    if to not in _WHOLE:
        raise Unsupported("to another type than float32, float64, int32 or int64")
    inner = batch_first(x)  # towards 0
    negative = lowering.emit("scale", inner, {"factor": -1.0, "offset": 0.0})
    sides = [lowering.emit("floor", lowering.emit("relu", side)) for side in (inner, negative)]
    return turned(lowering.emit("sub", sides), x.layout)


@operator("Identity", turned=True)
@operator("Dropout", limits="no training mode", turned=True)
def _same(lowering: Lowering, node: Node) -> Tensor | Turned:
    training = node.known(2) if node.operator == "Dropout" else None
    if training is not None and training.any():
        raise Unsupported("training mode: export the network as it predicts")
    return node.array()


@operator("Constant", "Shape", "Size", limits="")
@operator("Loop", "If", limits="which steps they take depends on no input")
def _known(lowering: Lowering, node: Node) -> Tensor:
    raise Unsupported("of what is not known")  # constants were computed before


@operator("Flatten", limits="no record beside another", turned=True)
def _flatten(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    axis = int(node.attrs.get("axis", 1))
    axis = axis + len(x.shape) if axis < 0 else axis
    return lowering.to(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@operator("Reshape", limits="what lies before the batch and behind it stays there", turned=True)
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
    return lowering.to(x, sizes)


@operator("Squeeze", limits="not the batch", turned=True)
def _squeeze(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes = node.array(), node.known(1, "axes")
    if axes is None and lowering.batch == 1:
        raise Unsupported("without axes, which take the batch of one away")
    if axes is None:
        axes = np.array([axis for axis, n in enumerate(x.shape) if n == 1 and axis != x.layout.axis])
    inner = batch_first(x)
    made = np.squeeze(np.empty(inner.shape, np.bool_), tuple(lowering.axis(int(a), x, "axes") for a in axes.ravel()))
    before = sum(int(a) % len(x.shape) < x.layout.axis for a in axes.ravel())
    layout = dataclasses.replace(x.layout, axis=x.layout.axis - before)
    return turned(lowering.reshape(inner, made.shape), layout)


@operator("Unsqueeze", limits="", turned=True)
def _unsqueeze(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes = node.array(), node.known(1, "axes")
    if axes is None:
        raise Unsupported("without axes")
    count = len(x.shape) + axes.size
    new = {int(a) % count for a in axes.ravel()}
    old = [axis for axis in range(count) if axis not in new]
    layout = dataclasses.replace(x.layout, axis=old[x.layout.axis])
    inner, parts = batch_first(x), x.layout.parts
    others = iter(n for axis, n in enumerate(x.shape) if axis != x.layout.axis)
    sizes = [inner.shape[0]]
    for axis in range(count):
        sizes += parts if axis == layout.axis else [1] if axis in new else [next(others)]
    return turned(lowering.reshape(inner, sizes), layout)


@operator("Transpose", limits="", turned=True)
def _transpose(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    order = [int(n) for n in node.attrs.get("perm", reversed(range(len(x.shape))))]
    if sorted(order) != list(range(len(x.shape))):
        raise Unsupported(f"perm={order} of an array of shape {x.shape}")
    inner, batch = [0], x.layout.axis
    for axis in order:
        inner += range(batch + 1, batch + 1 + len(x.layout.parts)) if axis == batch else [lowering.axis(axis, x)]
    made = batch_first(x)
    if inner != list(range(len(inner))):
        made = lowering.emit("transpose", made, {"axes": inner})
    return turned(made, dataclasses.replace(x.layout, axis=order.index(batch)))


@operator("Concat", limits="not along the batch; constants before or behind what depends on the input", turned=True)
def _concat(lowering: Lowering, node: Node) -> Tensor | Turned:
    parts = [value for value in node.values if isinstance(value, (Tensor, Turned))]
    if len({part.layout for part in parts}) > 1:
        parts = [lowering.first(part) for part in parts]
    layout, rank = parts[0].layout, len(parts[0].shape)
    if any(part.layout != layout or len(part.shape) != rank for part in parts):
        raise Unsupported(f"of shapes {' and '.join(str(p.shape) for p in parts)}, with the batch elsewhere")
    axis = lowering.axis(int(node.attrs["axis"]), parts[0])
    given = [batch_first(part) for part in parts]
    made = given[0] if len(given) == 1 else lowering.emit("concat", given, {"axis": axis})
    if len(parts) < len(node.values):
        made = _between_constants(lowering, node, made, layout, axis)
    return turned(made, layout)


def _between_constants(lowering: Lowering, node: Node, made: Tensor, layout: Layout, axis: int) -> Tensor:
    """Puts constants beside an array: it is padded with zeros, to which they are added."""
    rank = len(made.shape) - len(layout.parts)
    depends = [isinstance(value, (Tensor, Turned)) for value in node.values]
    first, last = depends.index(True), len(depends) - depends[::-1].index(True)
    if not all(depends[first:last]):
        raise Unsupported("with a constant between arrays that depend on the input")
    zeros, around = np.zeros((1, *made.shape[1:])), [[0, 0] for _ in made.shape]
    sides: list[list[np.ndarray]] = [[], []]
    for place, value in enumerate(node.values):
        if not depends[place]:
            if np.ndim(value) != rank:
                raise Unsupported(f"with a constant of shape {np.shape(value)}")
            beside = constant_beside(np.asarray(value, np.float64), rank, layout, lowering.batch)
            sides[place >= last].append(beside)
            around[axis][place >= last] += beside.shape[axis]
    offsets = np.concatenate([*sides[0], zeros, *sides[1]], axis=axis)
    wider = lowering.emit("pad", made, {"pads": around, "mode": "constant"})
    return lowering.emit("affine", wider, None, np.ones(1), offsets) if offsets.any() else wider


@operator("Expand", limits="not the batch, and no more axes", turned=True)
def _expand(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, wanted = node.array(), node.known(1)
    sizes = (1,) * len(x.shape) if wanted is None else tuple(int(n) for n in wanted.ravel())
    if len(sizes) > len(x.shape):
        raise Unsupported(f"of an array of shape {x.shape} to {sizes}, which puts axes before it")
    made = np.broadcast_shapes(x.shape, sizes)
    if made[x.layout.axis] != x.shape[x.layout.axis]:
        raise Unsupported(f"of the batch, from {x.shape} to {made}")
    axes = [axis for axis, n in enumerate(made) if n != x.shape[axis]]
    if not axes:
        return x
    repeats = {"axes": [lowering.axis(axis, x) for axis in axes], "times": [made[axis] for axis in axes]}
    return turned(lowering.emit("repeat", batch_first(x), repeats), x.layout)


@operator("Pad", limits='with a finite constant, or mode "reflect" or "edge"; not the batch')
def _pad(lowering: Lowering, node: Node) -> Tensor:
    x, pads, value = node.tensor(), node.known(1, "pads"), node.known(2, "value")
    mode = node.attrs.get("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise Unsupported(f"mode={mode!r}")
    put = float(value.ravel()[0]) if mode == "constant" and value is not None and value.size else 0.0
    if not math.isfinite(put):
        raise Unsupported(f"with {put} in place of 0")
    if pads is None:
        raise Unsupported("without pads")
    given, axes = [int(n) for n in pads.ravel()], node.known(3)
    places = range(len(x.shape)) if axes is None else [int(a) % len(x.shape) for a in axes.ravel()]
    around = [[0, 0] for _ in x.shape]
    for i, place in enumerate(places):
        around[place] = [given[i], given[i + len(given) // 2]]
    if around[0] != [0, 0] or min(map(min, around)) < 0:
        raise Unsupported(f"pads={given}")
    made = lowering.emit("pad", x, {"pads": around, "mode": mode})
    if not put:
        return made
    offsets = np.pad(np.zeros((1, *x.shape[1:])), around, constant_values=put)
    return lowering.emit("affine", made, None, np.ones(1), offsets)


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
        is_one = lowering.batch == 1 and not lowering.source.is_open and starts.size == len(x.layout.parts) == 1
        if axis == x.layout.axis and is_one:
            x = _part(lowering, x, [first, last, step])
            continue
        if axis == x.layout.axis:
            to_any = end == x.shape[axis] or end >= (_BEYOND_ANY if lowering.source.is_open else x.shape[axis])
            if step != 1 or first != 0 or (start and lowering.source.is_open) or not to_any:
                raise Unsupported("of the batch")
            continue
        taken["axes"].append(lowering.axis(axis, x))
        taken["ranges"].append([first, last, step])
    return turned(lowering.emit("slice", batch_first(x), taken), x.layout) if taken["axes"] else x


def _part(lowering: Lowering, x: Tensor | Turned, ends: list[int | None]) -> Tensor | Turned:
    """Takes a part of the axes that share the batch's axis, for a file of one record."""
    layout, place = x.layout, x.layout.axis + 1
    made = lowering.emit("slice", batch_first(x), {"axes": [place], "ranges": [ends]})
    count = made.shape[place]
    if count == 1:
        made = lowering.reshape(made, (*made.shape[:place], *made.shape[place + 1 :]))
    of = {"before": count} if layout.before != 1 else {"after": count}
    return turned(made, dataclasses.replace(layout, **of))


def _ends(start: int, end: int, step: int, size: int) -> tuple[int, int | None, int]:
    """Returns the ends of a slice as in Python, from ONNX's, which may lie beyond the array.

    A backward slice that starts before the array begins at its first element in ONNX, and is empty in Python.
    """
    first, last, _ = slice(max(start, -(1 << 60)), max(end, -(1 << 60)), step).indices(size)
    return max(first, 0), None if last < 0 else last, step


@operator("Split", limits="not along the batch", turned=True)
def _split(lowering: Lowering, node: Node) -> list[Tensor | Turned]:
    x, stated = node.array(), int(node.attrs.get("axis", 0))
    axis, sizes, count = lowering.axis(stated, x), node.known(1, "split"), x.shape[stated]
    if sizes is None:
        each = -(-count // node.outputs)
        sizes = np.array([min(each, count - i * each) for i in range(node.outputs)])
    ends = pairwise([0, *np.cumsum(sizes.ravel()).tolist()])
    parts = ({"axes": [axis], "ranges": [[first, last, 1]]} for first, last in ends)
    return [turned(lowering.emit("slice", batch_first(x), part), x.layout) for part in parts]


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


_GATHERED = "constant indices, not along the batch; or rows of a constant of two axes by an input's numbers"


@operator("Gather", limits=_GATHERED, turned=True)
def _gather(lowering: Lowering, node: Node) -> Tensor | Turned:
    if lowering.is_number(node.value(1)):
        return _embedding(lowering, node)
    x, indices = node.array(), node.known(1)
    if indices is None:
        raise Unsupported("without indices")
    stated = int(node.attrs.get("axis", 0))
    axis = lowering.axis(stated, x)
    made = lowering.emit("gather", batch_first(x), {"axis": axis, "indices": indices.tolist()})
    more = indices.ndim - 1 if stated % len(x.shape) < x.layout.axis else 0
    return turned(made, dataclasses.replace(x.layout, axis=x.layout.axis + more))


def _embedding(lowering: Lowering, node: Node) -> Tensor | Turned:
    """Looks up rows of a table by numbers of the input."""
    table, indices, axis = node.known(0), node.array(1), int(node.attrs.get("axis", 0))
    assert table is not None  # noqa: S101 - no optional input
    if table.ndim != 2 or axis not in (0, -2):
        raise Unsupported(f"axis={axis} of a constant of shape {table.shape}: rows of one of two axes, axis=0, are")
    if table.dtype.kind != "f" or 0 in table.shape:
        raise Unsupported(f"of {table.dtype} {table.shape}: tables of floating-point numbers that are not empty are")
    index, of = lowering.number(indices)
    rows = lowering.table(table, of)
    if not len(rows):
        raise Unsupported("of which an input of 0 names no row")
    return turned(lowering.emit("embedding", batch_first(index), None, rows), index.layout)


@operator("DepthToSpace", "SpaceToDepth", limits="")
def _depth(lowering: Lowering, node: Node) -> Tensor:
    x, size = node.tensor(), int(node.attrs["blocksize"])
    n, channels, rows, columns = x.shape
    if node.operator == "SpaceToDepth":
        if rows % size or columns % size:
            raise Unsupported(f"blocksize={size} of an array of shape {x.shape}")
        made = lowering.reshape(x, (n, channels, rows // size, size, columns // size, size))
        made = lowering.emit("transpose", made, {"axes": [0, 3, 5, 1, 2, 4]})
        return lowering.reshape(made, (n, channels * size**2, rows // size, columns // size))
    mode = node.attrs.get("mode", "DCR")
    orders = {
        "DCR": ([size, size, channels // size**2], [0, 3, 4, 1, 5, 2]),
        "CRD": ([channels // size**2, size, size], [0, 1, 4, 2, 5, 3]),
    }
    if mode not in orders or channels % size**2:
        raise Unsupported(f"mode={mode!r}, blocksize={size} of an array of shape {x.shape}")
    parts, axes = orders[mode]
    made = lowering.emit("transpose", lowering.reshape(x, (n, *parts, rows, columns)), {"axes": axes})
    return lowering.reshape(made, (n, channels // size**2, rows * size, columns * size))


_SIZES = "linear, or nearest by whole numbers (half_pixel, round_prefer_*; asymmetric, floor)"


@operator("Resize", "Upsample", limits=_SIZES)
def _resize(lowering: Lowering, node: Node) -> Tensor:
    x, mode = node.tensor(), node.attrs.get("mode", "nearest")
    is_old = node.operator == "Upsample" or node.opset < 11
    way = "asymmetric" if is_old else node.attrs.get("coordinate_transformation_mode", "half_pixel")
    if node.attrs.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported(f"keep_aspect_ratio_policy={node.attrs['keep_aspect_ratio_policy']!r}")
    scales = _scales(node, x)
    if scales is None or scales[0] != 1:
        raise Unsupported("without scales" if scales is None else f"by {scales.tolist()}")
    if mode == "linear" and not node.attrs.get("antialias", 0):
        return _linear(lowering, x, scales, way)
    if mode != "nearest":
        raise Unsupported(f"mode={mode!r}")
    rounds = "floor" if is_old else node.attrs.get("nearest_mode", "round_prefer_floor")
    is_middle = way == "half_pixel" and rounds in ("round_prefer_floor", "round_prefer_ceil")
    if not (is_middle or (way, rounds) == ("asymmetric", "floor")):
        raise Unsupported(f"coordinate_transformation_mode={way!r} with nearest_mode={rounds!r}")
    if (scales != np.rint(scales)).any() or (scales < 1).any():
        raise Unsupported(f"by {scales.tolist()}")
    axes = [i for i, s in enumerate(scales) if s != 1]
    return lowering.emit("repeat", x, {"axes": axes, "times": [int(scales[i]) for i in axes]}) if axes else x


def _linear(lowering: Lowering, x: Tensor, scales: np.ndarray, way: str) -> Tensor:
    """Resizes by a product along each axis with the shares of the two elements around each point."""
    for axis, scale in enumerate(scales):
        if scale == 1:
            continue
        size = x.shape[axis]
        # Scales are float32: 0.7 times 10 has to be 7.
        exact = size * scale
        count = round(exact) if abs(exact - round(exact)) < 1e-6 * size else math.floor(exact)
        at = {
            "half_pixel": (np.arange(count) + 0.5) / scale - 0.5,
            "pytorch_half_pixel": (np.arange(count) + 0.5) / scale - 0.5 if count > 1 else np.zeros(1),
            "asymmetric": np.arange(count) / scale,
            "align_corners": np.linspace(0, size - 1, count),
        }.get(way)
        if at is None or count < 1:
            raise Unsupported(f"coordinate_transformation_mode={way!r} with mode='linear', by {scales.tolist()}")
        near = np.maximum(0, 1 - np.abs(np.clip(at, 0, size - 1) - np.arange(size)[:, None]))
        turn = [i for i in range(len(x.shape)) if i != axis] + [axis]
        back = [turn.index(i) for i in range(len(turn))]
        made = lowering.emit("matmul", lowering.emit("transpose", x, {"axes": turn}), None, near)
        x = lowering.emit("transpose", made, {"axes": back})
    return x


def _scales(node: Node, x: Tensor) -> np.ndarray | None:
    """Returns the factor by which each axis is enlarged, 1 for axes that the file leaves out."""
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
