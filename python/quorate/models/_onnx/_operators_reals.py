"""The operators of ONNX that are real functions or comparisons, or depend on the order of numbers; each as steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate.models._onnx._layout import Tensor, Turned, batch_first, turned
from quorate.models._onnx._lower import Lowering, Node, Unsupported
from quorate.models._onnx._operators import _affine, _scaled, quotient, softmax_lines
from quorate.models._onnx._operators_indexing import OPERATORS, operator
from quorate.models._onnx._operators_sums import along

__all__ = ["OPERATORS"]

_BOTH = "arrays that both have the batch, or a constant"


@operator("Sqrt", limits="of numbers below 0 it is 0", each=True)
def _root(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("sqrt", node.tensor())


@operator("Log", limits="of what is proven, or by a sample=, to be above 0", each=True)
def _log(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("log", node.tensor())


@operator("Reciprocal", limits="of what is proven, or by a sample=, not to be 0", each=True)
def _inverse(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("inverse", node.tensor())


@operator("Exp", "Floor", each=True)
def _one(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit(node.operator.lower(), node.tensor())


@operator("Ceil", each=True)
def _ceil(lowering: Lowering, node: Node) -> Tensor:
    return _affine(lowering, lowering.emit("floor", _affine(lowering, node.tensor(), -1.0, 0.0)), -1.0, 0.0)


@operator("Round", limits="what is computed is off by some, so that near a half it may be either", each=True)
def _nearest(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("floor", node.tensor(), {"nearest": True})


@operator("Abs", each=True)
def _magnitude(lowering: Lowering, node: Node) -> Tensor:
    return _absolute(lowering, node.tensor())


def _absolute(lowering: Lowering, x: Tensor) -> Tensor:
    return lowering.emit("leaky_relu", x, {"slope": -1.0})


@operator("Softplus", each=True)
def _softplus(lowering: Lowering, node: Node) -> Tensor:
    """Lowers Softplus to relu(x) + log(1 + e^-|x|), where the logarithm's argument lies between 1 and 2."""
    x = node.tensor()
    power = lowering.emit("exp", _affine(lowering, _absolute(lowering, x), -1.0, 0.0))
    rest = lowering.emit("log", _affine(lowering, power, 1.0, 1.0))
    return lowering.emit("add", [lowering.emit("relu", x), rest])


@operator("Mish", each=True)
def _mish(lowering: Lowering, node: Node) -> Tensor:
    return lowering.emit("mul", [node.tensor(), lowering.emit("tanh", _softplus(lowering, node))])


@operator("Softsign", each=True)
def _softsign(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    return quotient(lowering, x, _affine(lowering, _absolute(lowering, x), 1.0, 1.0))


@operator("Sign", each=True)
def _sign(lowering: Lowering, node: Node) -> Tensor:
    x = node.tensor()
    above, below = (lowering.emit("compare", y, {"than": "gt"}) for y in (x, _affine(lowering, x, -1.0, 0.0)))
    return lowering.emit("sub", [above, below])


@operator("Max", "Min", limits=_BOTH, each=True)
def _largest(lowering: Lowering, node: Node) -> Tensor:
    is_max = node.operator == "Max"
    arrays = [value for value in node.values if isinstance(value, Tensor)]
    made = arrays[0]
    for other in arrays[1:]:
        made = lowering.emit("maximum" if is_max else "minimum", [made, other])
    for value in node.values:
        if not isinstance(value, Tensor):
            made = _beside_constant(lowering, made, np.asarray(value, np.float64), is_max)
    return made


def _beside_constant(lowering: Lowering, x: Tensor, constant: np.ndarray, is_max: bool) -> Tensor:
    """Adds a clip for one constant, and for several c + relu(x - c)."""
    if (constant == (-math.inf if is_max else math.inf)).all():
        return x
    if not np.isfinite(constant).all():
        raise Unsupported("a constant that is not finite")
    if constant.size == 1:
        limit = float(constant.ravel()[0])
        return lowering.emit("clip", x, {"low": limit, "high": None} if is_max else {"low": None, "high": limit})
    sign = 1.0 if is_max else -1.0
    above = lowering.emit("relu", _affine(lowering, x, sign, -sign * constant))
    return _affine(lowering, above, sign, constant)


# ---- comparisons ----------------------------------------------------------------------------------------------------

_COMPARED = "1 or 0; what is computed is off by some, so that near the limit it may be either"
_THAN = {
    "Equal": ("eq", 1.0),
    "Greater": ("gt", 1.0),
    "GreaterOrEqual": ("ge", 1.0),
    "Less": ("gt", -1.0),
    "LessOrEqual": ("ge", -1.0),
}


@operator(*_THAN, limits=_COMPARED, each=True)
def _compared(lowering: Lowering, node: Node) -> Tensor:
    (than, sign), one, other = _THAN[node.operator], node.value(0), node.value(1)
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        apart = lowering.emit("sub", [one, other] if sign > 0 else [other, one])
    elif isinstance(one, Tensor):
        apart = _affine(lowering, one, sign, -sign * np.asarray(other, np.float64))
    else:
        apart = _affine(lowering, other, -sign, sign * np.asarray(one, np.float64))
    return lowering.emit("compare", apart, {"than": than})


@operator("Not", each=True)
def _not(lowering: Lowering, node: Node) -> Tensor:
    return _affine(lowering, node.tensor(), -1.0, 1.0)


@operator("And", "Or", limits=_BOTH, each=True)
def _both(lowering: Lowering, node: Node) -> Tensor:
    one, other = node.value(0), node.value(1)
    is_and = node.operator == "And"
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return lowering.emit("mul" if is_and else "maximum", [one, other])
    x, known = (one, other) if isinstance(one, Tensor) else (other, one)
    values = np.asarray(known).astype(np.float64)
    if is_and:
        return _affine(lowering, x, values, 0.0)
    return _affine(lowering, x, 1 - values, values)


# ---- whole numbers and order ----------------------------------------------------------------------------------------

_DIVIDED = "by a constant; of others than whole numbers it may be off by the divisor near multiples"
_MOST_DIVISOR = 2**13
"""The largest divisor: half of its inverse is four units of the number that is rounded down."""


@operator("Mod", limits=_DIVIDED, each=True)
def _mod(lowering: Lowering, node: Node) -> Tensor:
    x, divisor = node.tensor(), node.weights(1)
    if divisor is None or not divisor.all() or not np.isfinite(divisor).all():
        raise Unsupported("by 0" if divisor is not None else "without a divisor")
    if not node.attrs.get("fmod", 0):
        return _remainder(lowering, x, divisor)
    negative = _affine(lowering, x, -1.0, 0.0)  # takes the sign of the dividend
    sides = [_remainder(lowering, lowering.emit("relu", side), np.abs(divisor)) for side in (x, negative)]
    return lowering.emit("sub", sides)


def _remainder(lowering: Lowering, x: Tensor, divisor: np.ndarray) -> Tensor:
    """Returns the remainder of x by a divisor, with the divisor's sign.

    A quotient of whole numbers is a whole number, or at least the divisor's inverse below the next one. So half of the
    inverse is added first: then rounding moves no quotient to another whole number.
    """
    is_far = bool((divisor == np.rint(divisor)).all() and np.abs(divisor).max() <= _MOST_DIVISOR)
    more = 0.5 / np.abs(divisor) if is_far and _is_whole(lowering, x.place) else 0.0
    whole = lowering.emit("floor", _affine(lowering, x, 1.0 / divisor, more), {"of_quotient": True})
    return lowering.emit("sub", [x, _affine(lowering, whole, divisor, 0.0)])


def _is_whole(lowering: Lowering, place: int) -> bool:
    """Returns whether an array has only whole numbers, judged by the steps that made it."""
    if not place:
        return False
    step = lowering.steps[place - 1]
    if step.kind in ("floor", "compare"):
        return True
    if step.kind == "top" and step.attrs["places"]:
        return True
    if step.kind == "scale" and not (float(step.attrs["factor"]).is_integer() and not step.attrs["offset"] % 1):
        return False
    is_kept = step.kind in ("scale", "relu", "add", "sub", "maximum", "minimum", "reshape", "transpose", "slice")
    return is_kept and all(_is_whole(lowering, of) for of in step.inputs)


def _ordered(lowering: Lowering, x: Tensor | Turned, axis: int, attrs: dict[str, Any]) -> Tensor | Turned:
    return turned(lowering.emit("top", batch_first(x), {"axis": lowering.axis(axis, x), **attrs}), x.layout)


@operator("TopK", limits="a constant k, not along the batch; of equal elements any comes first", turned=True)
def _top(lowering: Lowering, node: Node) -> list[Tensor | Turned]:
    x, count = node.array(), node.known(1, "k")
    if count is None or count.size != 1:
        raise Unsupported("without k")
    stated, k = int(node.attrs.get("axis", -1)), int(count.ravel()[0])
    if not 0 < k <= x.shape[stated]:
        raise Unsupported(f"k={k} of {x.shape[stated]} elements")
    attrs = {"count": k, "largest": bool(node.attrs.get("largest", 1))}
    return [_ordered(lowering, x, stated, {**attrs, "places": places}) for places in (False, True)]


@operator("ArgMax", "ArgMin", limits="not along the batch; select_last_index=0", turned=True)
def _place(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, stated = node.array(), int(node.attrs.get("axis", 0))
    if node.attrs.get("select_last_index", 0):
        raise Unsupported("select_last_index=1")
    attrs = {"count": 1, "largest": node.operator == "ArgMax", "places": True}
    made = _ordered(lowering, x, stated, attrs)
    if node.attrs.get("keepdims", 1):
        return made
    squeeze = Node("Squeeze", node.name, [made, np.array([stated])], {}, 1, 13)
    return OPERATORS["Squeeze"].lower(lowering, squeeze)


# ---- sums of functions ----------------------------------------------------------------------------------------------


def _reduced(lowering: Lowering, node: Node, name: str, x: Tensor | Turned) -> Tensor | Turned:
    """Applies the operator of that name, along the node's axes."""
    given = Node(name, node.name, [x, *node.values[1:]], node.attrs, 1, node.opset)
    return OPERATORS[name].lower(lowering, given)


@operator("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", limits="not of the batch", turned=True)
def _norm(lowering: Lowering, node: Node) -> Tensor | Turned:
    x = node.array()
    inner = batch_first(x)
    if node.operator == "ReduceL1":
        inner = _absolute(lowering, inner)
    elif node.operator != "ReduceLogSum":
        inner = lowering.emit("mul", [inner, inner])
    made = _reduced(lowering, node, "ReduceSum", turned(inner, x.layout))
    then = {"ReduceL2": "sqrt", "ReduceLogSum": "log"}.get(node.operator)
    return made if then is None else turned(lowering.emit(then, batch_first(made)), made.layout)


def _log_sum(lowering: Lowering, x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Returns an array less its largest element along axes, the logarithm of its powers' sum, and that element."""
    node = Node("ReduceMax", "", [x], {"axes": axes, "keepdims": 1}, 1, 13)
    largest = batch_first(OPERATORS["ReduceMax"].lower(lowering, node))
    less = lowering.emit("sub", [x, largest], {"most": 0.0})
    total = lowering.emit("mean", lowering.emit("exp", less), {"axes": axes, "keepdims": True})
    count = math.prod(x.shape[axis] for axis in axes)
    # The largest element adds 1, so the sum is at least 1, which bounds cannot show.
    sums = lowering.emit("clip", _scaled(lowering, total, float(count), 0.0), {"low": 1.0, "high": None})
    return less, lowering.emit("log", sums), largest


@operator("LogSoftmax", limits="not along the batch", turned=True)
def _log_softmax(lowering: Lowering, node: Node) -> Tensor | Turned:
    lines, axis = softmax_lines(lowering, node)
    less, log, _ = _log_sum(lowering, lines, [axis])
    x = node.array()
    return turned(lowering.reshape(lowering.emit("sub", [less, log]), batch_first(x).shape), x.layout)


@operator("ReduceLogSumExp", limits="not of the batch", turned=True)
def _log_sum_exp(lowering: Lowering, node: Node) -> Tensor | Turned:
    x, axes, layout = along(lowering, node)
    inner = batch_first(x)
    _, log, largest = _log_sum(lowering, inner, axes)
    made = lowering.emit("add", [log, largest])
    if not node.attrs.get("keepdims", 1):
        made = lowering.reshape(made, tuple(n for axis, n in enumerate(inner.shape) if axis not in axes))
    return turned(made, layout)
