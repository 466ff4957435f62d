"""The operators of ONNX that compute, each as steps; `OPERATORS` is the list that `quorate models` prints."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Tensor, Turned, batch_first, turned
from quorate.models._onnx._lower import Lower, Lowering, Node, Unsupported
from quorate.models._onnx._patterns import Patterns
from quorate.models._onnx._simplify import HIDES


@dataclasses.dataclass(frozen=True)
class Operator:
    """One operator.

    Attributes:
        lower: makes steps of a node.
        limits: the unsupported uses; empty if there are none.
        turned: whether it takes arrays whose batch is not the first axis.
        each: whether it computes each element by itself, so that it gets arrays and constants with the batch first.
    """

    lower: Lower
    limits: str
    turned: bool = False
    each: bool = False


OPERATORS: dict[str, Operator] = {}
"""The operators that `from_onnx` takes, by name."""


def operator(*names: str, limits: str = "", turned: bool = False, each: bool = False) -> Callable[[Lower], Lower]:
    """Registers a function for these operators."""

    def enter(lower: Lower) -> Lower:
        OPERATORS.update((name, Operator(lower, limits, turned, each)) for name in names)
        return lower

    return enter


# ---- windows --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Windows:
    """Windows on images of two axes; a series has one row."""

    x: Tensor
    is_series: bool
    size: list[int]
    stride: list[int]
    dilation: list[int]
    pads: list[list[int]]

    def back(self, lowering: Lowering, made: Tensor) -> Tensor:
        """Removes the row that a series got."""
        return lowering.reshape(made, (*made.shape[:2], made.shape[3])) if self.is_series else made


def windows_of(lowering: Lowering, node: Node, size: Sequence[int] | None, *, transposed: bool = False) -> Windows:
    """Returns the windows that the attributes describe; `size` is given if the filters have it."""
    x = node.tensor()
    axes = len(x.shape) - 2
    if axes not in (1, 2):
        raise Unsupported(f"of an array of shape {x.shape}: images (batch, channels, rows, columns) and series are")
    sizes = [int(n) for n in (size if size is not None else node.attrs["kernel_shape"])]
    stride = [int(n) for n in node.attrs.get("strides", [1] * axes)]
    dilation = [int(n) for n in node.attrs.get("dilations", [1] * axes)]
    spans = [d * (n - 1) + 1 for d, n in zip(dilation, sizes, strict=True)]
    given = [int(n) for n in node.attrs.get("pads", [0] * 2 * axes)]
    if min(given, default=0) < 0:
        raise Unsupported("pads below 0")
    pads = [[given[i], given[i + axes]] for i in range(axes)]
    automatic = node.attrs.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        if transposed:
            raise Unsupported(f"auto_pad={automatic!r}: pads are")
        for i, n in enumerate(x.shape[2:]):
            more = (math.ceil(n / stride[i]) - 1) * stride[i] + spans[i] - n
            if size is None and more < -1:  # onnxruntime begins windows within the image, TensorFlow at its edge
                raise Unsupported(f"auto_pad={automatic!r} where strides leave {-more} elements out: pads are")
            more = max(more, 0)
            pads[i] = [more // 2, more - more // 2] if automatic == "SAME_UPPER" else [more - more // 2, more // 2]
    elif automatic == "VALID":
        pads = [[0, 0]] * axes
    if axes == 1:
        x = lowering.reshape(x, (*x.shape[:2], 1, x.shape[2]))
        return Windows(x, True, [1, *sizes], [1, *stride], [1, *dilation], [[0, 0], *pads])
    return Windows(x, False, sizes, stride, dilation, pads)


def _filters(node: Node, w: Windows | None = None) -> np.ndarray:
    filters = node.weights(1)
    if filters is None:
        raise Unsupported("it has no filters")
    return filters[:, :, None, :] if w is not None and w.is_series else filters


@operator("Conv", limits="one or two axes, constant filters")
def _conv(lowering: Lowering, node: Node) -> Tensor:
    w = windows_of(lowering, node, _filters(node).shape[2:])
    attrs = {"stride": w.stride, "dilation": w.dilation, "pads": w.pads, "groups": int(node.attrs.get("group", 1))}
    return w.back(lowering, lowering.emit("conv", w.x, attrs, _filters(node, w), node.weights(2)))


@operator("ConvTranspose", limits="one or two axes, constant filters, no output_shape, no auto_pad")
def _conv_transpose(lowering: Lowering, node: Node) -> Tensor:
    if "output_shape" in node.attrs:
        raise Unsupported("output_shape: pads and output_padding are")
    w = windows_of(lowering, node, _filters(node).shape[2:], transposed=True)
    more = [int(n) for n in node.attrs.get("output_padding", [0] * (1 if w.is_series else 2))]
    more = [0, *more] if w.is_series else more
    if any(over >= max(ends) for over, *ends in zip(more, w.stride, w.dilation, strict=True)):
        raise Unsupported(f"output_padding={more}, which is below strides or dilations")
    alike = all(before == after for before, after in w.pads)
    attrs = {
        "stride": w.stride,
        "dilation": w.dilation,
        "padding": [before if alike else 0 for before, _ in w.pads],
        "more": more,
        "groups": int(node.attrs.get("group", 1)),
    }
    made = lowering.emit("conv_transpose", w.x, attrs, _filters(node, w), node.weights(2))
    if not alike:
        ranges = [[before, n - after, 1] for (before, after), n in zip(w.pads, made.shape[2:], strict=True)]
        made = lowering.emit("slice", made, {"axes": [2, 3], "ranges": ranges})
    return w.back(lowering, made)


def _pooled(lowering: Lowering, node: Node, kind: str) -> Tensor:
    w = windows_of(lowering, node, None)
    if any(d != 1 for d in w.dilation):
        raise Unsupported(f"dilations={w.dilation}")
    for n, span, pads in zip(w.x.shape[2:], w.size, w.pads, strict=True):
        if span > n + sum(pads):
            raise Unsupported(f"a window of {span} does not fit into {n} with {sum(pads)} around it")
        if max(pads) >= span:
            raise Unsupported(f"a window of {span} lies outside of the image, in pads of {max(pads)}")
    attrs: dict[str, Any] = {"size": w.size, "stride": w.stride, "pads": w.pads}
    ceil = bool(node.attrs.get("ceil_mode", 0))
    if kind == "avg_pool":
        attrs["include"] = bool(node.attrs.get("count_include_pad", 0))
    if ceil or kind == "max_pool":  # older descriptions of means have none
        attrs["ceil"] = ceil
    return w.back(lowering, lowering.emit(kind, w.x, attrs))


@operator("MaxPool", limits="one or two axes, no dilations, not the positions")
def _max_pool(lowering: Lowering, node: Node) -> Tensor:
    return _pooled(lowering, node, "max_pool")


@operator("AveragePool", limits="one or two axes, no dilations")
def _average_pool(lowering: Lowering, node: Node) -> Tensor:
    return _pooled(lowering, node, "avg_pool")


@operator("GlobalAveragePool")
def _global_average(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    return lowering.emit("mean", x, {"axes": list(range(2, len(x.shape))), "keepdims": True})


@operator("GlobalMaxPool")
def _global_max(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    size = [1, math.prod(x.shape[2:])]
    flat = lowering.reshape(x, (*x.shape[:2], *size))
    made = lowering.emit("max_pool", flat, {"size": size, "stride": size, "pads": [[0, 0], [0, 0]], "ceil": False})
    return lowering.reshape(made, (*x.shape[:2], *[1] * (len(x.shape) - 2)))


# ---- products and sums ----------------------------------------------------------------------------------------------


@operator("Gemm", limits="A not transposed, constant B and C", turned=True)
def _gemm(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, w = node.array(), node.weights(1)
    if w is None or node.attrs.get("transA", 0):
        raise Unsupported("transA=1")
    w = (w.T if node.attrs.get("transB", 0) else w) * float(node.attrs.get("alpha", 1.0))
    c = node.weights(2)
    if c is not None:
        if c.ndim == 2 and c.shape[0] != 1:
            raise Unsupported(f"C of shape {c.shape}: one row is")
        c = np.broadcast_to(c.reshape(-1), w.shape[1:]) * float(node.attrs.get("beta", 1.0))
    return _by_matrix(lowering, x, w, c)


def _by_matrix(lowering: Lowering, x: Tensor | Turned, w: np.ndarray, c: np.ndarray | None = None) -> Tensor | Turned:
    lowering.axis(-1, x)
    return turned(lowering.emit("matmul", batch_first(x), None, w, c), x.layout)


@operator("MatMul", limits="with a constant matrix, or of two arrays with the batch alike", turned=True)
def _matmul(lowering: Lowering, node: Node) -> Tensor | Turned:
    if not isinstance(node.value(0), (Tensor, Turned)):
        return _from_left(lowering, node)
    x, w = node.array(), node.value(1)
    if not isinstance(w, (Tensor, Turned)):
        if np.ndim(w) != 2:
            raise Unsupported(f"by a constant of shape {np.shape(w)}")
        return _by_matrix(lowering, x, np.asarray(w, np.float64))
    rank = len(x.shape)
    if len(w.shape) != rank or rank < 3 or x.layout != w.layout or x.layout.axis >= rank - 2:
        places = f"axes {x.layout.axis} and {w.layout.axis}"
        raise Unsupported(f"of shapes {x.shape} and {w.shape}, with the batch at {places}: before the last two, alike")
    return turned(lowering.emit("matmul2", [batch_first(x), batch_first(w)]), x.layout)


def _from_left(lowering: Lowering, node: Node) -> Tensor | Turned:
    """Multiplies a constant matrix by each matrix of an array: the transposed product of transposed factors."""
    w, x = np.asarray(node.value(0), np.float64), node.array(1)
    rank = len(x.shape)
    if w.ndim != 2 or rank < 3 or x.layout.axis >= rank - 2:
        raise Unsupported(f"a constant of shape {w.shape} times an array of shape {x.shape}")
    inner = batch_first(x)
    turn = [*range(len(inner.shape) - 2), len(inner.shape) - 1, len(inner.shape) - 2]
    made = lowering.emit("matmul", lowering.emit("transpose", inner, {"axes": turn}), None, w.T)
    return turned(lowering.emit("transpose", made, {"axes": turn}), x.layout)


def _affine(lowering: Lowering, x: Tensor, factor: np.ndarray | float, offset: np.ndarray | float) -> Tensor:
    """Adds a step for factor x + offset: public for one number, else with secret weights."""
    factor, offset = np.asarray(factor, np.float64), np.asarray(offset, np.float64)
    is_mask = np.ndim(offset) > 0 and not np.isnan(offset).any() and (offset < np.inf).all()
    if not (np.isfinite(factor).all() and (is_mask or np.isfinite(offset).all())):
        raise Unsupported("a constant that is not finite")
    for constant in (factor, offset):
        if constant.ndim > len(x.shape):
            raise Unsupported(f"a constant of shape {constant.shape}, which puts an axis before the batch")
        if constant.ndim == len(x.shape) and constant.shape[0] != 1 and constant.size > 1:
            raise Unsupported(f"a constant of shape {constant.shape}, which tells records of a batch apart")
    if factor.size == 1 and offset.size == 1:
        if not factor.any():
            raise Unsupported("a factor of 0")
        return _scaled(lowering, x, float(factor.ravel()[0]), float(offset.ravel()[0]))
    wide = np.broadcast_shapes(x.shape, factor.shape, offset.shape)
    axes = [axis for axis, n in enumerate(wide) if n != x.shape[axis]]
    if axes and offset.size > 1 and (not offset.any() or (offset <= offset.max() - HIDES).any()):
        # Repeated alone: masks and zeros, which repeat lines too, leave no step in the end.
        x = lowering.emit("repeat", x, {"axes": axes, "times": [wide[axis] for axis in axes]})
    return lowering.emit("affine", x, None, factor, offset if offset.any() else None)


def _scaled(lowering: Lowering, x: Tensor, factor: float, offset: float) -> Tensor:
    """Adds a multiple plus an offset. A multiple of a multiple becomes one step, as for a mean times its count."""
    before = lowering.steps[x.place - 1] if x.place else None
    if before is not None and before.kind == "scale" and not offset and not before.attrs["offset"]:
        x, factor = Tensor(before.inputs[0], x.shape), factor * before.attrs["factor"]
        if factor == 1.0:
            return x
    return lowering.emit("scale", x, {"factor": factor, "offset": offset})


@operator("Add", limits="arrays that both have the batch, or a constant", each=True)
def _add(lowering: Lowering, node: Node) -> Tensor:
    one, other = node.value(0), node.value(1)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return Patterns(lowering).total(one, other, 1.0) or lowering.emit("add", [one, other])
    return _affine(lowering, one, 1.0, other) if isinstance(one, Tensor) else _affine(lowering, other, 1.0, one)


@operator("Sum", limits="arrays that all have the batch", each=True)
def _many(lowering: Lowering, node: Node) -> Tensor:
    made = node.tensor()
    for place in range(1, len(node.values)):
        made = lowering.emit("add", [made, node.tensor(place)])
    return made


@operator("Sub", limits="arrays that both have the batch, or a constant", each=True)
def _sub(lowering: Lowering, node: Node) -> Tensor:
    one, other = node.value(0), node.value(1)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return Patterns(lowering).total(one, other, -1.0) or lowering.emit("sub", [one, other])
    if isinstance(one, Tensor):
        return _affine(lowering, one, 1.0, -np.asarray(other, np.float64))
    return _affine(lowering, other, -1.0, one)


@operator("Mul", limits="arrays that both have the batch, or a constant", each=True)
def _mul(lowering: Lowering, node: Node) -> Tensor:
    one, other = node.value(0), node.value(1)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return Patterns(lowering).product(one, other) or lowering.emit("mul", [one, other])
    return _affine(lowering, one, other, 0.0) if isinstance(one, Tensor) else _affine(lowering, other, one, 0.0)


@operator("Div", limits="by what is proven, or by a sample=, not to be 0", each=True)
def _div(lowering: Lowering, node: Node) -> Tensor:
    one, other = node.value(0), node.value(1)
    if isinstance(other, Tensor):
        if isinstance(one, Tensor):
            return Patterns(lowering).quotient(one, other) or quotient(lowering, one, other)
        return _affine(lowering, lowering.emit("inverse", other), one, 0.0)
    divisor = node.weights(1)
    if divisor is None or not divisor.all():
        raise Unsupported("by 0")
    return _affine(lowering, one, 1.0 / divisor, 0.0)


def quotient(lowering: Lowering, one: Tensor, other: Tensor) -> Tensor:
    """Divides one array by another, whose elements may each divide several of the first."""
    shape = np.broadcast_shapes(one.shape, other.shape)
    axes = [axis for axis, n in enumerate(shape) if n != one.shape[axis]]
    if axes:
        one = lowering.emit("repeat", one, {"axes": axes, "times": [shape[axis] for axis in axes]})
    return lowering.emit("quotient", [one, other])


@operator("Pow", limits="to the power of 2, 3, 0.5, -0.5, 1 or -1", each=True)
def _pow(lowering: Lowering, node: Node) -> Tensor:
    x, power = node.tensor(), node.weights(1)
    exponent = math.nan if power is None or power.size != 1 else float(power.ravel()[0])
    if abs(exponent) == 0.5:
        root = lowering.emit("sqrt", x)
        return root if exponent > 0 else lowering.emit("inverse", root)
    if abs(exponent) == 1:
        return x if exponent > 0 else lowering.emit("inverse", x)
    if exponent not in (2, 3):
        raise Unsupported(f"to the power of {exponent}")
    square = lowering.emit("mul", [x, x])
    return square if exponent == 2 else lowering.emit("mul", [square, x])


@operator(
    "Where", limits="constants that are finite, but those that a constant condition puts before a softmax", each=True
)
def _where(lowering: Lowering, node: Node) -> Tensor:
    if isinstance(node.value(0), Tensor):
        return _blended(lowering, node)
    chosen, one, other = node.known(0), node.value(1), node.value(2)
    if chosen is None:
        raise Unsupported("without a condition")
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        of, less = (one, other) if chosen.all() else (other, one)
        if chosen.any() != chosen.all() or of.shape != np.broadcast_shapes(of.shape, less.shape, chosen.shape):
            raise Unsupported("of two arrays that depend on the input, by places")
        return of
    keeps, x, constant = (chosen, one, other) if isinstance(one, Tensor) else (~chosen, other, one)
    values = np.asarray(constant, np.float64)
    offset = np.where(keeps, 0.0, values)
    return _affine(lowering, x, keeps.astype(np.float64), offset)


def _blended(lowering: Lowering, node: Node) -> Tensor:
    """Blends by a condition that depends on the input and is 1 or 0: c a + (1 - c) b."""
    condition, one, other = node.tensor(0), node.value(1), node.value(2)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return lowering.emit("blend", [condition, one, other])
    if isinstance(one, Tensor):
        condition, one, other = _affine(lowering, condition, -1.0, 1.0), other, one
    values = np.asarray(one, np.float64)
    if not np.isfinite(values).all():
        raise Unsupported("a constant that is not finite, by a condition that depends on the input")
    if not isinstance(other, Tensor):
        less = np.asarray(other, np.float64)
        return _affine(lowering, condition, values - less, less)
    if not values.any():
        return lowering.emit("mul", [_affine(lowering, condition, -1.0, 1.0), other])
    apart = lowering.emit("mul", [condition, _affine(lowering, other, -1.0, values)])
    return lowering.emit("add", [other, apart])


@operator("Neg", each=True)
def _neg(lowering: Lowering, node: Node) -> Tensor:
    return _affine(lowering, node.tensor(), -1.0, 0.0)


@operator("BatchNormalization", limits="constant parameters, no training mode")
def _batch_norm(lowering: Lowering, node: Node) -> Tensor:
    if node.attrs.get("training_mode", 0):
        raise Unsupported("training mode")
    if not node.attrs.get("spatial", 1):
        raise Unsupported("spatial=0, with parameters for each element")
    x = node.tensor()
    found = [node.weights(i) for i in range(1, 5)]
    weight, bias, mean, variance = (np.zeros(0) if v is None else v for v in found)
    factor = weight / np.sqrt(variance + float(node.attrs.get("epsilon", 1e-5)))
    sizes = (-1,) + (1,) * (len(x.shape) - 2)
    return _affine(lowering, x, factor.reshape(sizes), (bias - mean * factor).reshape(sizes))


def _epsilon(node: Node) -> float:
    """Returns the number that is added to variances."""
    epsilon = float(node.attrs.get("epsilon", 1e-5))
    if not 0 < epsilon < math.inf:
        raise Unsupported(f"epsilon={epsilon}: lines of equal numbers have no result")
    return epsilon


def _normalised(lowering: Lowering, x: Tensor, lines: tuple[int, ...], epsilon: float) -> Tensor:
    """Normalises an array's lines, in the shape `lines`; the result lacks the factor of the root of their length."""
    if lines[-1] == 1:
        raise Unsupported("of lines of one number, which leave nothing of it")
    return lowering.reshape(lowering.emit("normalise", lowering.reshape(x, lines), {"epsilon": epsilon}), x.shape)


@operator(
    "LayerNormalization",
    limits="epsilon above 0, constant scale and bias, not the mean and deviation",
    turned=True,
)
def _layer_norm(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, scale, bias = node.array(), node.weights(1), node.weights(2)
    axis = int(node.attrs.get("axis", -1))
    first, inner = lowering.axis(axis, x), batch_first(x)
    if axis % len(x.shape) < x.layout.axis:
        raise Unsupported(
            f"axis={axis} of an array of shape {x.shape}: axis {x.layout.axis}, the batch, lies behind it"
        )
    line = inner.shape[first:]
    n = math.prod(line)
    made = _normalised(lowering, inner, (*inner.shape[:first], n), _epsilon(node))
    factor = np.broadcast_to(np.ones(1) if scale is None else scale, line) * math.sqrt(n)
    made = _affine(lowering, made, factor, np.broadcast_to(np.zeros(1) if bias is None else bias, line))
    return turned(made, x.layout)


@operator("InstanceNormalization", "GroupNormalization", limits="epsilon above 0, constant scale and bias")
def _channels_norm(lowering: Lowering, node: Node) -> Tensor:
    x, scale, bias = node.tensor(), node.weights(1), node.weights(2)
    channels = x.shape[1]
    groups = int(node.attrs["num_groups"]) if node.operator == "GroupNormalization" else channels
    if scale is None or bias is None or channels % groups:
        raise Unsupported(f"without scale or bias, or of {groups} groups of {channels} channels")
    n = math.prod(x.shape[1:]) // groups
    made = _normalised(lowering, x, (x.shape[0], groups, n), _epsilon(node))
    each = [np.repeat(values, channels // values.size) for values in (scale, bias)]  # of groups before operator set 21
    sizes = (channels,) + (1,) * (len(x.shape) - 2)
    return _affine(lowering, made, each[0].reshape(sizes) * math.sqrt(n), each[1].reshape(sizes))


# ---- activations ----------------------------------------------------------------------------------------------------


@operator("Relu", limits="", each=True)
def _relu(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("relu", node.tensor())


@operator("LeakyRelu", each=True)
def _leaky_relu(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("leaky_relu", node.tensor(), {"slope": float(node.attrs.get("alpha", 0.01))})


@operator("Elu", limits="alpha from 0 on", each=True)
def _elu(lowering: Lowering, node: Node) -> Tensor:
    alpha = float(node.attrs.get("alpha", 1.0))
    if not 0 <= alpha < math.inf:
        raise Unsupported(f"alpha={alpha}")
    return lowering.emit("elu", node.tensor(), {"alpha": alpha})


@operator("Celu", limits="alpha above 0", each=True)
def _celu(lowering: Lowering, node: Node) -> Tensor:
    """Lowers Celu to alpha elu(x / alpha)."""
    alpha = float(node.attrs.get("alpha", 1.0))
    if not 0 < alpha < math.inf:
        raise Unsupported(f"alpha={alpha}")
    made = lowering.emit("elu", _affine(lowering, node.tensor(), 1 / alpha, 0.0), {"alpha": 1.0})
    return _affine(lowering, made, alpha, 0.0)


@operator("Selu", limits="alpha from 0 on", each=True)
def _selu(lowering: Lowering, node: Node) -> Tensor:
    alpha, gamma = (
        float(node.attrs.get("alpha", 1.67326319217681884765625)),
        node.attrs.get("gamma", 1.05070102214813232421875),
    )
    if not 0 <= alpha < math.inf:
        raise Unsupported(f"alpha={alpha}")
    return _affine(lowering, lowering.emit("elu", node.tensor(), {"alpha": alpha}), gamma, 0.0)


@operator("PRelu", limits="constant slopes", each=True)
def _prelu(lowering: Lowering, node: Node) -> Tensor:
    x, slope = node.tensor(), node.weights(1)
    if slope is None or slope.ndim > len(x.shape) or (slope.ndim == len(x.shape) and slope.shape[0] != 1):
        raise Unsupported("slopes that tell records of a batch apart")
    return lowering.emit("prelu", x, None, slope)


@operator("Clip", limits="constant limits", each=True)
def _clip(lowering: Lowering, node: Node) -> Tensor:
    limits: dict[str, float | None] = {}
    for place, (name, attr) in enumerate((("low", "min"), ("high", "max")), 1):
        value = node.known(place, attr)
        limit = None if value is None else float(value.ravel()[0])
        limits[name] = None if limit == {"low": -math.inf, "high": math.inf}[name] else limit
        if not math.isfinite(limits[name] or 0.0):
            raise Unsupported(f"{attr}={limit}")
    if limits["low"] is not None and limits["high"] is not None:
        limits["low"] = min(limits["low"], limits["high"])  # if they cross, all results are the upper limit
    return lowering.emit("clip", node.tensor(), limits)


@operator("Sigmoid", "Tanh", limits="", each=True)
def _saturating(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit(node.operator.lower(), node.tensor())


@operator("Softmax", limits="not along the batch", turned=True)
def _softmax(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    lines, axis = softmax_lines(lowering, node)
    made = lowering.emit("softmax", lines, {"axis": axis - len(lines.shape)})
    return turned(lowering.reshape(made, batch_first(x).shape), x.layout)


def softmax_lines(lowering: Lowering, node: Node) -> tuple[Tensor, int]:
    """Returns an array with the batch first, and the axis of its lines; its shape may differ from the file's.

    Before operator set 13 all axes from the stated one on are one line.
    """
    x = node.array()
    stated = int(node.attrs.get("axis", -1 if node.opset >= 13 else 1))
    axis, inner = lowering.axis(stated, x), batch_first(x)
    if node.opset >= 13 or stated % len(x.shape) == len(x.shape) - 1:
        return inner, axis
    if x.layout.axis > stated % len(x.shape):
        raise Unsupported(
            f"axis={stated} of an array of shape {x.shape}, whose axes from there on are one line in operator set "
            f"{node.opset}: axis {x.layout.axis} is the batch"
        )
    return lowering.reshape(inner, (*inner.shape[:axis], math.prod(inner.shape[axis:]))), axis


@operator("Gelu", limits="", each=True)
def _gelu(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    if node.attrs.get("approximate", "none") == "none":
        return lowering.emit("gelu", x)
    cube = lowering.emit("mul", [lowering.emit("mul", [x, x]), x])
    inner = lowering.emit("add", [x, _affine(lowering, cube, 0.044715, 0.0)])
    risen = lowering.emit("tanh", _affine(lowering, inner, math.sqrt(2 / math.pi), 0.0))
    return lowering.emit("mul", [_affine(lowering, x, 0.5, 0.0), _affine(lowering, risen, 1.0, 1.0)])


@operator("Erf", each=True)
def _erf(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("erf", node.tensor())


@operator("HardSigmoid", "HardSwish", each=True)
def _hard(lowering: Lowering, node: Node) -> Tensor:
    x, swish = node.tensor(), node.operator == "HardSwish"
    alpha = 1 / 6 if swish else float(node.attrs.get("alpha", 0.2))
    line = _affine(lowering, x, alpha, 0.5 if swish else float(node.attrs.get("beta", 0.5)))
    made = lowering.emit("clip", line, {"low": 0.0, "high": 1.0})
    return lowering.emit("mul", [x, made]) if swish else made
