"""Quantised networks from ONNX files, as onnxruntime's static quantisation writes them: layers of `_tflite`.

Two forms are read. In one (QDQ) real operators stand between `DequantizeLinear` and `QuantizeLinear`. In the other
(QOperator) operators such as `QLinearConv` take 8-bit numbers. Both mean the same: sums of 32 bits, which a product in
float32 turns into 8 bits.

**Source**: onnxruntime, `mlas/lib/quantize.cpp`, `qladd.cpp`, `qlgavgpool.cpp`, `providers/cpu/quantization`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._onnx._constants import evaluated
from quorate.models._onnx._file_inputs import only_input
from quorate.models._onnx._layout import Unsupported
from quorate.models._tflite._kernels import Integers, quantised_multiplier
from quorate.models._tflite._layers import Layer, Quantised

_MOST_BIAS = 1e-6  # largest relative distance of an offset's scale from that of its sums


@dataclasses.dataclass(frozen=True)
class Array:
    """8-bit numbers that depend on the input: the result of a layer, or the input itself."""

    place: int
    by: Quantised
    sizes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Real:
    """The real numbers that 8-bit ones stand for."""

    of: Array


@dataclasses.dataclass(frozen=True)
class Last:
    """A last softmax of outputs, which is left to the party that learns them."""

    of: Real


@dataclasses.dataclass(frozen=True)
class Pending:
    """A layer whose results are real numbers, until the 8-bit numbers for them are known."""

    layer: Layer
    factors: np.ndarray
    """The factors that make sums real, one for each filter; none for a sum of arrays."""
    low: float = -math.inf
    high: float = math.inf


@dataclasses.dataclass(frozen=True)
class Constant:
    """Whole numbers that are known, and the scale and zero point of the real ones."""

    whole: Integers
    scale: np.ndarray
    zero: np.ndarray
    axis: int


@dataclasses.dataclass
class File:
    """The known values of a file, and the layers so far."""

    values: dict[str, Any]
    layers: list[Layer] = dataclasses.field(default_factory=list)
    given: tuple[float, int] | None = None
    first: Quantised | None = None
    sizes: tuple[int, ...] = ()
    name: str = ""

    def emit(self, layer: Layer) -> Array:
        """Adds a layer."""
        layer.name, layer.rounding = self.name, "float32"
        self.layers.append(layer)
        return Array(len(self.layers), layer.target, layer.sizes)

    def number(self, name: str, missing: Any = None) -> Any:
        """Returns a constant of one number."""
        found = self.values.get(name) if name else missing
        if found is None or np.size(found) != 1:
            raise Unsupported("a scale or a zero point that is no constant of one number")
        return np.asarray(found).reshape(-1)[0]

    def quantised(self, scale: str, zero: str) -> Quantised:
        """Returns the quantisation by a scale and a zero point, whose type is that of the numbers."""
        point = self.number(zero, np.uint8(0))
        if point.dtype not in (np.uint8, np.int8):
            raise Unsupported(f"numbers of {point.dtype}; uint8 and int8 are")
        by = float(np.float32(self.number(scale)))
        if not 0 < by < math.inf:
            raise Unsupported(f"the scale {by}")
        return Quantised(by, int(point), 0 if point.dtype == np.uint8 else -128)


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of the file."""

    operator: str
    inputs: list[str]
    attrs: dict[str, Any]

    def input(self, place: int) -> str:
        """Returns the name of an input, empty if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else ""


Rule = Callable[[File, Node], Any]


def is_quantised(proto: Any) -> bool:
    """Returns whether a file is a quantised network."""
    return any(n.op_type in ("QuantizeLinear", "QLinearConv", "QLinearMatMul", "QGemm") for n in proto.graph.node)


def lowered(
    onnx: Any, proto: Any, wanted: str | None, shape: Sequence[int] | None, said: Mapping[str, Any] | None
) -> tuple[File, Array, bool]:
    """Lowers a file: returns its layers, its output, and whether that is given as real numbers.

    Args:
        onnx: the package.
        proto: the file.
        wanted: the name of an output, if there are several.
        shape: the shape of one input, if the file leaves it open.
        said: the roles that the model's owner gives to inputs, by name.

    Raises:
        ModelError: nodes are not supported; the message names all of them.
    """
    graph = proto.graph
    file = File({tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer})
    entry = only_input(onnx, graph, file.values, said or {})
    file.sizes = _sizes(entry, shape)
    file.values[entry.name] = _first(onnx, file, entry)
    opsets = {of.domain or "ai.onnx": of.version for of in proto.opset_import}
    names = [value.name for value in graph.output]
    if wanted is None and len(names) != 1:
        raise ModelError(f"from_onnx: the model has the outputs {', '.join(map(repr, names))}: say which, output=...")
    faults: list[str] = []
    lost: set[str] = set()
    for number, proto_node in enumerate(graph.node):
        attrs = {a.name: onnx.helper.get_attribute_value(a) for a in proto_node.attribute}
        node = Node(proto_node.op_type, list(proto_node.input), attrs)
        file.name = f"{node.operator} ({proto_node.name or f'number {number}'})"
        if lost.intersection(node.inputs):
            lost.update(proto_node.output)
            continue
        try:
            file.values.update(zip(proto_node.output, _made(file, node, proto_node, opsets), strict=False))
        except (Unsupported, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
            what = str(fault) if isinstance(fault, Unsupported) else f"its attributes do not fit: {fault!r}"[:200]
            faults.append(f"{file.name}: {what}")
            lost.update(proto_node.output)
    name = names[0] if wanted is None else wanted
    if faults and name in lost:
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise ModelError(
            f"from_onnx: not supported in a quantised network are{listed}\nImport the file as it was before it was "
            "quantised, of which many more operators are supported (`quorate models`), or name a value before these, "
            "output=..."
        )
    found = file.values.get(name)
    if isinstance(found, Last):
        found = found.of
    if isinstance(found, Real):
        return file, found.of, True
    if not isinstance(found, Array):
        raise ModelError(f"from_onnx: the output {name[:80]!r} is no 8-bit number, nor what one stands for")
    return file, found, False


def _made(file: File, node: Node, proto: Any, opsets: dict[str, int]) -> Sequence[Any]:
    """Returns the results of a node. Nodes of constants are evaluated, except for weights, whose scales are needed."""
    given = [file.values.get(name) if name else None for name in node.inputs]
    known = all(isinstance(value, np.ndarray) for name, value in zip(node.inputs, given, strict=True) if name)
    if known and node.operator != "DequantizeLinear":
        return evaluated(proto, given, opsets)
    if node.operator not in RULES:
        raise Unsupported("no operator of a quantised network")
    return [RULES[node.operator](file, node)]


def _sizes(value: Any, shape: Sequence[int] | None) -> tuple[int, ...]:
    dims = [d.dim_value for d in value.type.tensor_type.shape.dim][1:]
    given = dims if shape is None else [int(n) for n in shape]
    known = len(given) == len(dims) and all(a in (0, b) for a, b in zip(dims, given, strict=True))
    if not known or len(given) not in (1, 3) or min(given) < 1:
        raise ModelError(
            f"from_onnx: inputs of a quantised network are (batch, numbers) or (batch, channels, rows, columns); "
            f"the file says {tuple(dims)} behind the batch: give shape= of one input where sizes are open"
        )
    return tuple(given)


def _first(onnx: Any, file: File, value: Any) -> Any:
    """Returns the input: real numbers, which are quantised first, or 8-bit ones, whose users state the scale."""
    kinds = {onnx.TensorProto.UINT8: 0, onnx.TensorProto.INT8: -128}
    kind = value.type.tensor_type.elem_type
    if kind in kinds:
        file.first = Quantised(1.0, 0, kinds[kind])
        return Array(0, file.first, file.sizes)
    if kind != onnx.TensorProto.FLOAT:
        raise ModelError("from_onnx: inputs of a quantised network are float32, uint8 or int8")
    return "input"


# ---- what quantises -------------------------------------------------------------------------------------------------


def _quantise(file: File, node: Node) -> Any:
    value = file.values.get(node.input(0))
    by = file.quantised(node.input(1), node.input(2))
    if isinstance(value, str):
        if file.given is not None and file.given != (by.scale, by.zero):
            raise Unsupported("the input is quantised in two ways")
        file.given, file.first = (by.scale, by.zero), by
        return Array(0, by, file.sizes)
    if isinstance(value, Last):  # the file's own quantisation of it is left to the learner, too
        return value
    if isinstance(value, Pending):
        return _placed(file, value, by)
    if isinstance(value, Real):
        same = (value.of.by.scale, value.of.by.zero, value.of.by.low) == (by.scale, by.zero, by.low)
        return value.of if same else _placed(file, _as_it_is(value.of), by)
    raise Unsupported("of a constant, or of numbers that are not quantised before")


def _dequantise(file: File, node: Node) -> Any:
    value = file.values.get(node.input(0))
    if isinstance(value, Last):
        return value
    if isinstance(value, Array):
        by = file.quantised(node.input(1), node.input(2))
        if value.place == 0 and file.given is None:
            value = Array(0, by, value.sizes)
            file.first = by
        return Real(value)
    if isinstance(value, np.ndarray):
        scale = np.asarray(file.values[node.input(1)], np.float32).reshape(-1)
        zero = file.values[node.input(2)] if node.input(2) else np.zeros(1)
        return Constant(
            value.astype(np.int64), scale, np.asarray(zero, np.int64).reshape(-1), node.attrs.get("axis", 1)
        )
    raise Unsupported("of numbers that are not quantised")


def _placed(file: File, pending: Pending, by: Quantised) -> Array:
    """Adds a layer with results in these 8-bit numbers."""
    layer = dataclasses.replace(pending.layer)  # each of its users has its own numbers
    layer.target = by
    step = np.float32(by.scale)
    if layer.kind == "add":
        layer.multipliers, layer.exponents = np.zeros(3, np.int64), np.zeros(3, np.int64)
    else:
        pairs = [quantised_multiplier(float(factor / step)) for factor in pending.factors]
        if any(exponent > 8 for _, exponent in pairs):
            raise Unsupported("its scales make sums more than 256 times larger")
        layer.multipliers, layer.exponents = np.array(pairs, np.int64).T
    ends = [
        math.nan if math.isinf(end) else float(np.rint(np.float32(end) / step)) for end in (pending.low, pending.high)
    ]
    low = by.low if math.isnan(ends[0]) else max(by.low, min(int(ends[0]) + by.zero, by.high))
    high = by.high if math.isnan(ends[1]) else min(by.high, max(int(ends[1]) + by.zero, by.low))
    layer.clamps = (low, max(low, high))
    return file.emit(layer)


def _as_it_is(x: Array) -> Pending:
    """Returns an array itself, to be given by other 8-bit numbers: a layer with windows of one element."""
    if len(x.sizes) == 1:
        weights = np.eye(x.sizes[0], dtype=np.int64)
        layer = Layer("dense", "", {}, x.by, x.by, x.sizes, weights, np.zeros(len(weights), np.int64))
    else:
        layer = _windows(x, np.ones((x.sizes[0], 1, 1, 1), np.int64), [1, 1], [[0, 0], [0, 0]], [1, 1], x.sizes[0])
    layer.inputs = (x.place,)
    return Pending(layer, np.full(x.sizes[0], np.float32(x.by.scale)))


def _windows(x: Array, w: Integers, stride: Any, pads: Any, dilation: Any, groups: int) -> Layer:
    channels, sizes = x.sizes[0], x.sizes[1:]
    if len(x.sizes) != 3 or w.ndim != 4 or w.shape[1] * groups != channels or w.shape[0] % groups:
        raise Unsupported(f"filters {w.shape} in {groups} groups on images {x.sizes}")
    counts = []
    for size, span, step, apart, around in zip(sizes, w.shape[2:], stride, dilation, pads, strict=True):
        counts.append((size + sum(around) - apart * (span - 1) - 1) // step + 1)
    if min(counts) < 1:
        raise Unsupported(f"windows {w.shape[2:]} do not fit into {sizes}")
    attrs = {"stride": tuple(stride), "dilation": tuple(dilation), "pads": tuple(map(tuple, pads)), "groups": groups}
    zeros = np.zeros(len(w), np.int64)
    return Layer("conv", "", attrs, x.by, x.by, (w.shape[0], *counts), w, zeros, inputs=(x.place,))


# ---- layers ---------------------------------------------------------------------------------------------------------


def _array(file: File, name: str) -> Array:
    value = file.values.get(name)
    if isinstance(value, (Array, Real)):
        return value.of if isinstance(value, Real) else value
    raise Unsupported("what it takes is no array of 8-bit numbers")


def _constant(file: File, name: str) -> Constant:
    value = file.values.get(name)
    if not isinstance(value, Constant):
        raise Unsupported("its weights are no constant of 8-bit numbers")
    return value


def _less_zero(w: Constant, axis: int, count: int) -> Integers:
    """Returns weights less their zero point, along an axis of outputs."""
    if len(w.zero) not in (1, count) or len(w.scale) not in (1, count):
        raise Unsupported(f"weights with {len(w.scale)} scales for {count} outputs")
    if max(len(w.zero), len(w.scale)) > 1 and w.axis % w.whole.ndim != axis:
        raise Unsupported("weights with scales along another axis than outputs'")
    return w.whole - w.zero.reshape([-1 if i == axis else 1 for i in range(w.whole.ndim)])


def _factors(x: Array, w: Constant, count: int) -> np.ndarray:
    return np.broadcast_to(np.float32(x.by.scale) * w.scale.astype(np.float32), (count,)).astype(np.float32)


def _offsets(file: File, name: str, factors: np.ndarray) -> Integers:
    """Returns offsets as whole numbers in the unit of the sums."""
    if not name:
        return np.zeros(len(factors), np.int64)
    value = file.values.get(name)
    if isinstance(value, Constant):
        if value.zero.any() or (np.abs(value.scale / factors - 1) > _MOST_BIAS).any():
            raise Unsupported("an offset in other units than its sums")
        value = value.whole
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.size not in (1, len(factors)):
        raise Unsupported("an offset that is no constant of whole numbers, one for each output")
    return np.broadcast_to(value.astype(np.int64).reshape(-1), (len(factors),))


def _lies(node: Node, x: Array, window: Sequence[int]) -> tuple[list[int], list[list[int]], list[int]]:
    """Returns strides, pads and dilations."""
    stride = [int(n) for n in node.attrs.get("strides", [1, 1])]
    dilation = [int(n) for n in node.attrs.get("dilations", [1, 1])]
    auto = node.attrs.get("auto_pad", b"NOTSET").decode()
    pads = [int(n) for n in node.attrs.get("pads", [0, 0, 0, 0])]
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        around = []
        for size, span, step, apart in zip(x.sizes[1:], window, stride, dilation, strict=True):
            more = max((-(-size // step) - 1) * step + apart * (span - 1) + 1 - size, 0)
            around.append([more // 2, more - more // 2] if auto == "SAME_UPPER" else [more - more // 2, more // 2])
    elif len(pads) != 4 or auto not in ("NOTSET", "VALID"):
        raise Unsupported("windows of other than two axes")
    else:
        around = [[pads[0], pads[2]], [pads[1], pads[3]]]
    return stride, around, dilation


def _convolved(file: File, node: Node, x: Array, w: Constant, offset: str) -> Pending:
    whole = _less_zero(w, 0, len(w.whole))
    stride, pads, dilation = _lies(node, x, whole.shape[2:])
    layer = _windows(x, whole, stride, pads, dilation, int(node.attrs.get("group", 1)))
    factors = _factors(x, w, len(whole))
    layer.offsets = _offsets(file, offset, factors)
    return Pending(layer, factors)


def _conv(file: File, node: Node) -> Pending:
    return _convolved(file, node, _array(file, node.input(0)), _constant(file, node.input(1)), node.input(2))


def _dense(file: File, x: Array, w: Constant, turned: bool, offset: str) -> Pending:
    """Returns a product with a matrix, which is (outputs, numbers) if it is `turned`."""
    if w.whole.ndim != 2 or len(x.sizes) != 1:
        raise Unsupported(f"a matrix of shape {w.whole.shape} on inputs of {x.sizes}; flatten before it")
    axis = 0 if turned else 1
    whole = _less_zero(w, axis, w.whole.shape[axis])
    whole = whole if turned else whole.T
    if whole.shape[1] != x.sizes[0]:
        raise Unsupported(f"a matrix of shape {w.whole.shape} on inputs of {x.sizes}")
    factors = _factors(x, w, len(whole))
    offsets = _offsets(file, offset, factors)
    layer = Layer("dense", "", {}, x.by, x.by, (len(whole),), whole, offsets, inputs=(x.place,))
    return Pending(layer, factors)


def _gemm(file: File, node: Node) -> Pending:
    if node.attrs.get("transA", 0) or node.attrs.get("alpha", 1.0) != 1 or node.attrs.get("beta", 1.0) != 1:
        raise Unsupported("transA, or an alpha or beta other than 1")
    x, w = _array(file, node.input(0)), _constant(file, node.input(1))
    return _dense(file, x, w, bool(node.attrs.get("transB", 0)), node.input(2))


def _matmul(file: File, node: Node) -> Pending:
    return _dense(file, _array(file, node.input(0)), _constant(file, node.input(1)), False, "")


def _add(file: File, node: Node) -> Pending:
    x, y = (_array(file, name) for name in node.inputs[:2])
    return _sum(x, y)


def _sum(x: Array, y: Array) -> Pending:
    if x.sizes != y.sizes:
        raise Unsupported(f"of arrays of {x.sizes} and {y.sizes}")
    if x.by.low != y.by.low:
        raise Unsupported("of uint8 and int8")
    layer = Layer("add", "", {}, x.by, x.by, x.sizes, second=y.by, inputs=(x.place, y.place))
    return Pending(layer, np.zeros(0))


def _means(file: File, node: Node) -> Pending:
    x = _array(file, node.input(0))
    if len(x.sizes) != 3 or node.attrs.get("channels_last", 0):
        raise Unsupported(f"of an array of {x.sizes}, or with channels last")
    is_global = "Global" in node.operator
    size = list(x.sizes[1:]) if is_global else [int(n) for n in node.attrs["kernel_shape"]]
    stride, pads, dilation = ([1, 1], [[0, 0]] * 2, [1, 1]) if is_global else _lies(node, x, size)
    if any(map(any, pads)) and not node.attrs.get("count_include_pad", 0):
        raise Unsupported("means that leave out what lies around an image (count_include_pad=0)")
    if node.attrs.get("ceil_mode", 0):
        raise Unsupported("ceil_mode")
    layer = _windows(x, np.ones((x.sizes[0], 1, *size), np.int64), stride, pads, dilation, x.sizes[0])
    return Pending(layer, np.full(x.sizes[0], np.float32(x.by.scale) / np.float32(math.prod(size))))


def _activation(file: File, node: Node) -> Any:
    """Adds limits to a pending layer."""
    value = file.values.get(node.input(0))
    pending = _as_it_is(value.of) if isinstance(value, Real) else value
    if not isinstance(pending, Pending):
        raise Unsupported("of numbers that are not quantised before it")
    low, high = 0.0, math.inf
    if node.operator == "Clip":
        low, high = (float(file.number(node.input(i), np.float32(end))) for i, end in ((1, -math.inf), (2, math.inf)))
    return dataclasses.replace(pending, low=max(pending.low, low), high=min(pending.high, high))


def _max_pool(file: File, node: Node) -> Any:
    value = file.values.get(node.input(0))
    x = _array(file, node.input(0))
    if len(x.sizes) != 3 or node.attrs.get("ceil_mode", 0) or node.attrs.get("dilations", [1, 1]) != [1, 1]:
        raise Unsupported(f"of an array of {x.sizes}, with ceil_mode or dilations")
    size = [int(n) for n in node.attrs["kernel_shape"]]
    stride, pads, _ = _lies(node, x, size)
    counts = [(n + sum(p) - k) // s + 1 for n, p, k, s in zip(x.sizes[1:], pads, size, stride, strict=True)]
    attrs = {"size": tuple(size), "stride": tuple(stride), "pads": tuple(map(tuple, pads))}
    made = file.emit(_moved("max_pool", attrs, x, (x.sizes[0], *counts)))
    return Real(made) if isinstance(value, Real) else made


def _moved(kind: str, attrs: dict[str, Any], x: Array, sizes: tuple[int, ...]) -> Layer:
    return Layer(kind, "", attrs, x.by, x.by, sizes, clamps=(x.by.low, x.by.high), inputs=(x.place,))


def _reshape(file: File, node: Node) -> Any:
    value = file.values.get(node.input(0))
    x = _array(file, node.input(0))
    count = math.prod(x.sizes)
    if node.operator == "Flatten":
        shape = [count] if node.attrs.get("axis", 1) == 1 else []
    elif node.operator == "Squeeze":
        shape = _squeezed(file, node, x)
    else:
        given = np.asarray(file.values[node.input(1)]).reshape(-1).tolist()
        shape = [count // max(1, -math.prod(given[1:])) if n == -1 else n for n in given[1:]]
        shape = [x.sizes[i] if n == 0 and i < len(x.sizes) else n for i, n in enumerate(shape)]
    if len(shape) not in (1, 3) or math.prod(shape) != count:
        raise Unsupported(f"of an array of {x.sizes}, into other than one or three axes behind the batch")
    if tuple(shape) == x.sizes:
        return value
    made = file.emit(_moved("reshape", {"shape": tuple(shape), "first": True}, x, tuple(shape)))
    return Real(made) if isinstance(value, Real) else made


def _squeezed(file: File, node: Node, x: Array) -> list[int]:
    """Returns sizes without the axes that the node names, or without all axes of one element."""
    given = node.attrs.get("axes", file.values.get(node.input(1)))
    sizes = [0, *x.sizes]  # 0 stands for any batch
    if given is None:
        axes = {axis for axis, size in enumerate(sizes) if size == 1}
    else:
        axes = {int(axis) + len(sizes) if axis < 0 else int(axis) for axis in np.asarray(given).reshape(-1)}
    if not all(0 < axis < len(sizes) and sizes[axis] == 1 for axis in axes):
        raise Unsupported(f"axes {sorted(axes)} of an array of {x.sizes} behind the batch: those of one element are")
    return [size for axis, size in enumerate(sizes) if axis and axis not in axes]


def _softmax(file: File, node: Node) -> Last:
    value = file.values.get(node.input(0))
    if not isinstance(value, Real) or node.attrs.get("axis", -1) not in (-1, 1):
        raise Unsupported("other than as the last operator, behind DequantizeLinear")
    return Last(value)


# ---- the other form -------------------------------------------------------------------------------------------------


def _stated(file: File, node: Node, first: int) -> Array:
    """Returns an array; the scale and zero point stated behind it must be those that it was made with."""
    x, by = _array(file, node.input(first)), file.quantised(node.input(first + 1), node.input(first + 2))
    if x.place == 0 and file.given is None:
        file.first = by
        return Array(0, by, x.sizes)
    if (x.by.scale, x.by.zero) != (by.scale, by.zero):
        raise Unsupported("it takes numbers by another scale than they were given by")
    return x


def _weights(file: File, node: Node, first: int, axis: int) -> Constant:
    whole, scale, zero = (np.asarray(file.values[node.input(first + i)]) for i in range(3))
    return Constant(
        whole.astype(np.int64), scale.astype(np.float32).reshape(-1), zero.astype(np.int64).reshape(-1), axis
    )


def _qlinear_conv(file: File, node: Node) -> Array:
    made = _convolved(file, node, _stated(file, node, 0), _weights(file, node, 3, 0), node.input(8))
    return _placed(file, made, file.quantised(node.input(6), node.input(7)))


def _qlinear_matmul(file: File, node: Node) -> Array:
    made = _dense(file, _stated(file, node, 0), _weights(file, node, 3, 1), False, "")
    return _placed(file, made, file.quantised(node.input(6), node.input(7)))


def _qgemm(file: File, node: Node) -> Array:
    if node.attrs.get("transA", 0) or node.attrs.get("alpha", 1.0) != 1:
        raise Unsupported("transA, or an alpha other than 1")
    turned = bool(node.attrs.get("transB", 0))
    w = _weights(file, node, 3, 0 if turned else 1)
    made = _dense(file, _stated(file, node, 0), w, turned, node.input(6))
    return _placed(file, made, file.quantised(node.input(7), node.input(8)))


def _qlinear_add(file: File, node: Node) -> Array:
    made = _sum(_stated(file, node, 0), _stated(file, node, 3))
    return _placed(file, made, file.quantised(node.input(6), node.input(7)))


def _qlinear_means(file: File, node: Node) -> Array:
    _stated(file, node, 0)
    return _placed(file, _means(file, node), file.quantised(node.input(3), node.input(4)))


def _qlinear_softmax(file: File, node: Node) -> Last:
    """Reads a softmax of 8-bit numbers; as in the other form, the learner computes it, and real numbers at once."""
    x = _stated(file, node, 0)
    if len(x.sizes) != 1 or node.attrs.get("axis", -1) not in (-1, 1):
        raise Unsupported(f"of an array of {x.sizes} behind the batch, which must have one axis")
    file.quantised(node.input(3), node.input(4))
    return Last(Real(x))


RULES: dict[str, Rule] = {
    "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise,
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _add,
    "GlobalAveragePool": _means,
    "AveragePool": _means,
    "Relu": _activation,
    "Clip": _activation,
    "MaxPool": _max_pool,
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze"), _reshape),
    "Identity": lambda file, node: file.values[node.input(0)],
    "Softmax": _softmax,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QGemm": _qgemm,
    "QLinearAdd": _qlinear_add,
    "QLinearGlobalAveragePool": _qlinear_means,
    "QLinearAveragePool": _qlinear_means,
    "QLinearSoftmax": _qlinear_softmax,
}
"""The operators of quantised networks that are supported."""
