"""Lowering of a TFLite file's operators to layers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._tflite._kernels import quantised_multiplier, sum_multipliers
from quorate.models._tflite._layers import Layer, Quantised
from quorate.models._tflite._read import Operator, Source, Tensor

_SAME, _VALID = 0, 1
_ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
_FLOATS = ("FLOAT32", "FLOAT16", "FLOAT64")


class Unsupported(Exception):
    """The reason why an operator is not supported."""


@dataclasses.dataclass(frozen=True)
class Lowering:
    """The function that makes an operator a layer, and the limits of its support."""

    lower: Callable[[Source, Operator, Quantised, tuple[int, ...]], Layer]
    limits: str
    takes: int = 1
    """The number of its inputs that depend on the network's."""


def quantised(tensor: Tensor) -> Quantised:
    """Returns the quantisation of a tensor."""
    if tensor.type not in ("UINT8", "INT8"):
        raise Unsupported(f"{tensor.name!r} is {tensor.type.lower()}, not uint8 or int8")
    low = 0 if tensor.type == "UINT8" else -128
    if len(tensor.scales) != 1 or not 0 < tensor.scales[0] < math.inf:
        raise Unsupported(f"{tensor.name!r} has {len(tensor.scales)} scales, of which one above 0 is supported")
    zero = int(tensor.zeros[0]) if len(tensor.zeros) else 0
    if not low <= zero <= low + 255:
        raise Unsupported(f"{tensor.name!r} has the zero point {zero}, which is no {tensor.type.lower()}")
    return Quantised(float(tensor.scales[0]), zero, low)


def lowered(source: Source) -> tuple[list[Layer], Quantised, tuple[int, ...], bool]:
    """Returns the layers, the input's quantisation, its sizes, and whether a softmax follows.

    Sizes are without the batch, channels last.

    Raises:
        ModelError: operators are not supported (all are named), or inputs are not quantised.
    """
    first = source.tensors[source.input]
    if first.type in _FLOATS:
        raise ModelError(
            f"from_tflite: the input {first.name!r} is {first.type.lower()}: the network is not quantised; convert it "
            "with full integer quantisation, inputs and outputs included, or export it to ONNX for from_onnx"
        )
    unsupported = _unsupported(source)
    try:
        known = quantised(first)
    except Unsupported as error:
        raise ModelError(f"from_tflite: the input: {error}") from error
    if not first.shape or first.shape[0] != 1 or len(first.shape) not in (2, 4) or 0 in first.shape:
        raise ModelError(f"from_tflite: the input has shape {first.shape}; (1, n) or (1, rows, columns, channels) are")
    layers: list[Layer] = []
    places, softmax, at = {source.input: 0}, False, source.input
    for operator in source.operators:
        name = f"{operator.kind} (operator {operator.place})"
        if operator.kind not in OPERATORS and operator.kind != "SOFTMAX":
            continue
        try:
            given = _given(operator, None if unsupported else places)
            before = source.tensors[operator.inputs[0]]
            at = operator.outputs[0]
            if operator.kind == "SOFTMAX":
                if operator is not source.operators[-1] or (not unsupported and given != [len(layers)]):
                    raise Unsupported("it is not the last operator, on what the one before it gives")
                softmax = True
                continue
            layer = OPERATORS[operator.kind].lower(source, operator, quantised(before), _inner(before.shape))
            if _inner(source.tensors[at].shape) != layer.sizes:
                raise Unsupported(f"the file says that it gives {source.tensors[at].shape}, and it does not")
            layer.name, layer.inputs = name, tuple(given)
            layers.append(layer)
            places[at] = len(layers)
        except Unsupported as error:
            unsupported.append(f"{name}: {error}")
    if unsupported:
        raise ModelError("from_tflite: not supported are\n  " + "\n  ".join(unsupported))
    if at != source.output:
        raise ModelError("from_tflite: the model's output is not what its last operator gives")
    return layers, known, first.shape[1:], softmax


def _given(operator: Operator, places: dict[int, int] | None) -> list[int]:
    """Returns the places of an operator's inputs; 0 if an operator before it is not supported."""
    count = 1 if operator.kind == "SOFTMAX" else OPERATORS[operator.kind].takes
    if len(operator.inputs) < count or len(operator.outputs) != 1:
        raise Unsupported(f"it has {len(operator.inputs)} inputs and {len(operator.outputs)} outputs")
    if operator.kind == "ADD" and len(operator.inputs) != count:
        raise Unsupported(f"it has {len(operator.inputs)} inputs")
    if operator.outputs[0] < 0 or (places is not None and operator.outputs[0] in places):
        raise Unsupported("it gives no tensor, or one that is given before it: the model is damaged")
    if places is None:
        return [0] * count
    if not all(tensor in places for tensor in operator.inputs[:count]):
        raise Unsupported("it takes what no operator before it gives")
    return [places[tensor] for tensor in operator.inputs[:count]]


def _inner(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns sizes without the batch, channels first."""
    return (shape[3], shape[1], shape[2]) if len(shape) == 4 else shape[1:]


def _unsupported(source: Source) -> list[str]:
    """Returns the operators whose kinds are not supported."""
    return [
        f"{operator.kind} (operator {operator.place})"
        for operator in source.operators
        if operator.kind not in OPERATORS and operator.kind != "SOFTMAX"
    ]


def _option(operator: Operator, name: str) -> int:
    if name not in operator.options:
        raise Unsupported("its options are missing")
    return operator.options[name]


def _positive(operator: Operator, *names: str) -> tuple[int, ...]:
    values = tuple(_option(operator, name) for name in names)
    if not all(1 <= value <= 1 << 16 for value in values):
        raise Unsupported(f"{', '.join(names)} are {values}")
    return values


def _lies(operator: Operator, sizes: tuple[int, ...], window: tuple[int, int], dilation: tuple[int, int]) -> Any:
    """Returns the stride, the padding and the number of windows."""
    stride = _positive(operator, "StrideH", "StrideW")
    padding = _option(operator, "Padding")
    if padding not in (_SAME, _VALID):
        raise Unsupported(f"padding {padding}")
    pads, counts = [], []
    for size, span, step, apart in zip(sizes[1:], window, stride, dilation, strict=True):
        reach = apart * (span - 1) + 1
        count = -(-size // step) if padding == _SAME else -(-(size - reach + 1) // step)
        if count < 1:
            raise Unsupported(f"a window of {reach} does not fit into {size}")
        around = max((count - 1) * step + reach - size, 0) if padding == _SAME else 0
        pads.append((around // 2, around - around // 2))
        counts.append(count)
    return stride, tuple(pads), tuple(counts)


def _clamps(operator: Operator, target: Quantised) -> tuple[int, int]:
    """Returns the limits of an activation, as `CalculateActivationRangeQuantized` does."""
    name = _ACTIVATIONS.get(_option(operator, "FusedActivationFunction"))
    if name is None:
        raise Unsupported(f"activation {operator.options['FusedActivationFunction']}")

    def number(value: float) -> int:
        ratio = float(np.float32(value) / np.float32(target.scale))
        return target.zero + math.floor(abs(ratio) + 0.5) * (1 if ratio >= 0 else -1)

    ends = {"NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}[name]
    low = target.low if ends[0] is None else max(target.low, number(ends[0]))
    high = target.high if ends[1] is None else min(target.high, number(ends[1]))
    if low > high:
        raise Unsupported(f"{name} leaves no number between {target.low} and {target.high}")
    return low, high


def _weights(source: Source, operator: Operator, now: Quantised, axis: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Returns filters less their zero points, offsets, and the tensor with the scale of each filter along `axis`."""
    if len(operator.inputs) < 2 or operator.inputs[1] < 0:
        raise Unsupported("it has no weights")
    w = source.tensors[operator.inputs[1]]
    if w.data is None:
        raise Unsupported("its weights are no constant")
    if w.type != ("UINT8" if now.low == 0 else "INT8"):
        raise Unsupported(f"weights of {w.type.lower()} do not go with its input")
    if w.data.ndim <= axis:
        raise Unsupported(f"weights of shape {w.shape}")
    count = w.data.shape[axis]
    if len(w.scales) not in (1, count) or not ((w.scales > 0) & np.isfinite(w.scales)).all():
        raise Unsupported(f"weights with {len(w.scales)} scales")
    if len(w.scales) > 1 and (w.axis != axis or w.type == "UINT8"):
        raise Unsupported("weights of several scales along another axis than the outputs', or of uint8")
    zeros = w.zeros if len(w.zeros) else np.zeros(1, np.int64)
    if len(zeros) > 1 and (len(zeros) != count or zeros.any()):
        raise Unsupported("weights with several zero points")
    if not (-128 <= zeros[0] <= 255):
        raise Unsupported(f"weights with the zero point {zeros[0]}")
    offsets = np.zeros(count, np.int64)
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        b = source.tensors[operator.inputs[2]]
        if b.data is None or b.type != "INT32" or b.data.shape != (count,):
            raise Unsupported(f"an offset of {b.type.lower()} and shape {b.shape}; int32, one for each output, is")
        offsets = b.data
    return w.data - zeros[0], offsets, w


def _multipliers(now: Quantised, w: Tensor, target: Quantised, count: int, per_filter: bool) -> tuple[Any, Any]:
    """Returns the factors of sums.

    The product of scales is rounded to float32 if one scale serves all filters.
    """
    scales = np.broadcast_to(w.scales, (count,))
    if per_filter:
        real = [now.scale * float(scale) / target.scale for scale in scales]
    else:
        real = [float(np.float32(now.scale) * np.float32(w.scales[0])) / target.scale] * count
    found = {value: quantised_multiplier(value) for value in set(real)}
    if any(exponent > 8 for _, exponent in found.values()):
        raise Unsupported("its scales make sums more than 256 times larger")
    pairs = np.array([found[value] for value in real], np.int64)
    return pairs[:, 0], pairs[:, 1]


def _target(source: Source, operator: Operator, now: Quantised) -> Quantised:
    target = quantised(source.tensors[operator.outputs[0]])
    if target.low != now.low:
        raise Unsupported("it takes uint8 and gives int8, or the other way round")
    return target


def _conv(source: Source, operator: Operator, now: Quantised, sizes: tuple[int, ...]) -> Layer:
    depthwise = operator.kind == "DEPTHWISE_CONV_2D"
    w, offsets, tensor = _weights(source, operator, now, 3 if depthwise else 0)
    if w.ndim != 4 or len(sizes) != 3:
        raise Unsupported(f"filters {w.shape} on images {sizes}")
    if depthwise:
        groups, count = sizes[0], w.shape[3]
        if w.shape[0] != 1 or count % groups or _option(operator, "DepthMultiplier") != count // groups:
            raise Unsupported(f"filters {w.shape} on {groups} channels")
        filters = w.transpose(3, 0, 1, 2)
    else:
        if not w.shape[3] or sizes[0] % w.shape[3] or w.shape[0] % (sizes[0] // w.shape[3]):
            raise Unsupported(f"filters {w.shape} on {sizes[0]} channels")
        groups, count = sizes[0] // w.shape[3], w.shape[0]
        filters = w.transpose(0, 3, 1, 2)
    dilation = _positive(operator, "DilationHFactor", "DilationWFactor")
    window = (filters.shape[2], filters.shape[3])
    stride, pads, places = _lies(operator, sizes, window, (dilation[0], dilation[1]))
    target = _target(source, operator, now)
    attrs = {"stride": stride, "dilation": dilation, "pads": pads, "groups": groups}
    factors = _multipliers(now, tensor, target, count, now.low != 0)
    clamps = _clamps(operator, target)
    layer = Layer("conv", "", attrs, now, target, (count, *places), np.ascontiguousarray(filters), offsets)
    layer.multipliers, layer.exponents, layer.clamps = *factors, clamps
    return layer


def _dense(source: Source, operator: Operator, now: Quantised, sizes: tuple[int, ...]) -> Layer:
    w, offsets, tensor = _weights(source, operator, now, 0)
    if operator.options.get("WeightsFormat", 0):
        raise Unsupported("weights in another order than the default")
    if w.ndim != 2 or len(sizes) != 1 or w.shape[1] != sizes[0]:
        raise Unsupported(f"weights {w.shape} on {sizes}; flatten before it")
    target = _target(source, operator, now)
    factors = _multipliers(now, tensor, target, len(w), len(tensor.scales) > 1)
    layer = Layer("dense", "", {}, now, target, (len(w),), w, offsets)
    layer.multipliers, layer.exponents, layer.clamps = *factors, _clamps(operator, target)
    return layer


def _pool(source: Source, operator: Operator, now: Quantised, sizes: tuple[int, ...]) -> Layer:
    if len(sizes) != 3:
        raise Unsupported(f"it pools images, not {sizes}")
    size = _positive(operator, "FilterHeight", "FilterWidth")
    stride, pads, places = _lies(operator, sizes, (size[0], size[1]), (1, 1))
    target = _same(source, operator, now)
    kind = "avg_pool" if operator.kind == "AVERAGE_POOL_2D" else "max_pool"
    clamps = _clamps(operator, target)
    if clamps != (target.low, target.high):
        raise Unsupported("an activation after a pool, which clamps there")
    attrs = {"size": size, "stride": stride, "pads": pads}
    if kind == "avg_pool":
        attrs["of"] = sizes[1:]
    return Layer(kind, "", attrs, now, target, (sizes[0], *places), clamps=clamps)


def _reshape(source: Source, operator: Operator, now: Quantised, sizes: tuple[int, ...]) -> Layer:
    shape = source.tensors[operator.outputs[0]].shape
    if not shape or shape[0] != 1 or len(shape) not in (2, 4) or math.prod(shape) != math.prod(sizes):
        raise Unsupported(f"of {sizes} into {shape}: the batch of 1 stays the first axis, of two or four")
    return Layer("reshape", "", {"shape": shape[1:]}, now, _same(source, operator, now), _inner(shape))


def _add(source: Source, operator: Operator, now: Quantised, sizes: tuple[int, ...]) -> Layer:
    other = source.tensors[operator.inputs[1]]
    if other.data is not None or source.tensors[operator.inputs[0]].data is not None:
        raise Unsupported("of a constant")
    if _inner(other.shape) != sizes:
        raise Unsupported(f"of arrays of shapes {source.tensors[operator.inputs[0]].shape} and {other.shape}")
    second, target = quantised(other), _target(source, operator, now)
    if second.low != now.low:
        raise Unsupported("of uint8 and int8")
    multipliers, exponents = sum_multipliers(now.scale, second.scale, target.scale)
    if max(exponents) > 0:
        raise Unsupported("its result has a scale 2^19 times as small as what it takes")
    layer = Layer("add", "", {}, now, target, sizes, clamps=_clamps(operator, target), second=second)
    layer.multipliers, layer.exponents = np.array(multipliers, np.int64), np.array(exponents, np.int64)
    return layer


def _same(source: Source, operator: Operator, now: Quantised) -> Quantised:
    target = _target(source, operator, now)
    if (target.scale, target.zero) != (now.scale, now.zero):
        raise Unsupported("its result is quantised otherwise than its input")
    return target


OPERATORS = {
    "ADD": Lowering(_add, "two arrays of one shape, no constants", 2),
    "CONV_2D": Lowering(_conv, "constant filters; uint8, or int8 with a scale for each filter; padding SAME or VALID"),
    "DEPTHWISE_CONV_2D": Lowering(_conv, "as CONV_2D"),
    "FULLY_CONNECTED": Lowering(_dense, "a constant matrix, on arrays of two axes"),
    "AVERAGE_POOL_2D": Lowering(_pool, "no activation"),
    "MAX_POOL_2D": Lowering(_pool, "no activation"),
    "RESHAPE": Lowering(_reshape, "into two or four axes, of which the first is the batch"),
    "SQUEEZE": Lowering(_reshape, "as RESHAPE"),
}
"""The operators that `from_tflite` takes, in addition to a SOFTMAX as the last operator."""
