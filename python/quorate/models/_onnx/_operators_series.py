"""Recurrent layers of ONNX, unrolled: every step of a series has the same weights.

In a step, one product of matrices serves all gates that take the same numbers: the given ones and the state side by
side. Its sums are divided once, to the unit that functions take. If the first state is 0, its part is left out in the
first step.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate._clear._kernels import Array
from quorate.models._onnx._layout import Layout, Tensor, Turned, batch_first
from quorate.models._onnx._lower import Lowering, Node, Unsupported
from quorate.models._onnx._operators_sums import OPERATORS, operator

__all__ = ["OPERATORS", "operator"]

_LIMITS = "batch after time (Transpose) or layout=1, constant weights"

_DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


@dataclasses.dataclass
class Recurrent:
    """A recurrent layer as the file has it, in one direction.

    Attributes:
        x: (batch, steps, inputs).
        backward: whether its steps go from the last to the first.
        hidden: the size of the hidden state.
        weight, inner: (gates, hidden, inputs) and (gates, hidden, hidden).
        bias, inner_bias: (gates, hidden).
        states: the first states, (batch, hidden); None where they are 0.
    """

    lowering: Lowering
    x: Tensor
    backward: bool
    hidden: int
    weight: Array
    inner: Array
    bias: Array
    inner_bias: Array
    states: list[Tensor | None]

    @property
    def steps(self) -> list[int]:
        """The steps in the order of computation."""
        steps = list(range(self.x.shape[1]))
        return steps[::-1] if self.backward else steps

    def given(self, step: int, of: Tensor | None = None) -> Tensor:
        """Returns the input of a step, (batch, numbers)."""
        x = self.x if of is None else of
        taken = x if x.shape[1] == 1 else self.lowering.emit("slice", x, {"axes": [1], "ranges": [[step, step + 1, 1]]})
        return self.lowering.reshape(taken, (x.shape[0], x.shape[2]))

    def part(self, x: Tensor, place: int) -> Tensor:
        """Returns one gate of several that lie side by side."""
        ends = [place * self.hidden, (place + 1) * self.hidden, 1]
        return self.lowering.emit("slice", x, {"axes": [1], "ranges": [ends]})

    def sums(self, gates: list[int]) -> Gates:
        """Returns the sums of some gates' weights, before any function."""
        w, r = (np.concatenate(list(m[gates])).T for m in (self.weight, self.inner))
        return Gates(self.lowering, w, np.concatenate([w, r]), (self.bias + self.inner_bias)[gates].ravel())

    def whole(self, states: list[Tensor]) -> Tensor:
        """Returns all hidden states by time, (batch, steps, 1, hidden)."""
        by_time = states[::-1] if self.backward else states
        rows = [self.lowering.reshape(h, (h.shape[0], 1, 1, self.hidden)) for h in by_time]
        return _joined(self.lowering, rows, 1)


def _joined(lowering: Lowering, parts: list[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else lowering.emit("concat", parts, {"axis": axis})


@dataclasses.dataclass
class Gates:
    """The weights that all steps share, as matrices: without a state and with one."""

    lowering: Lowering
    alone: Array
    both: Array
    offsets: Array

    def of(self, x: Tensor, h: Tensor | None) -> Tensor:
        """Multiplies the input and the state by the weights, and adds the offsets."""
        if h is None:
            return self.lowering.emit("matmul", x, None, self.alone, self.offsets)
        return self.lowering.emit(
            "matmul", self.lowering.emit("concat", [x, h], {"axis": 1}), None, self.both, self.offsets
        )


def _recurrent(lowering: Lowering, node: Node, gates: int, functions: list[str], states: int) -> list[Recurrent]:
    """Checks a node, and returns a layer for each direction."""
    directions = _DIRECTIONS.get(node.attrs.get("direction", "forward"))
    if directions is None:
        raise Unsupported(f"direction={node.attrs['direction']!r}")
    functions, count = functions * len(directions), len(directions)
    named = [f.decode() if isinstance(f, bytes) else f for f in node.attrs.get("activations", functions)]
    if [name.lower() for name in named] != [name.lower() for name in functions]:
        raise Unsupported(f"activations={named}; {functions} are")
    if node.attrs.get("clip", 0):
        raise Unsupported(f"clip={node.attrs['clip']}")
    x, w, r = _batch_first(node), node.weights(1), node.weights(2)
    if w is None or r is None or w.ndim != 3 or r.ndim != 3 or w.shape[0] != count or r.shape[0] != count:
        raise Unsupported(f"without weights, or with those of other directions than {count}")
    hidden = r.shape[2]
    if w.shape[1] != gates * hidden or r.shape[1] != gates * hidden or w.shape[2] != x.shape[2]:
        raise Unsupported(f"weights of shapes {w.shape} and {r.shape} on series of {x.shape[2]} numbers")
    if node.attrs.get("hidden_size", hidden) != hidden:
        raise Unsupported(f"hidden_size={node.attrs['hidden_size']} with weights of {hidden} hidden numbers")
    lengths = node.known(4)
    if lengths is not None and (lengths != x.shape[1]).any():
        raise Unsupported("series that end before others")
    both = node.weights(3)
    both = np.zeros((count, 2, gates, hidden)) if both is None else both.reshape(count, 2, gates, hidden)
    w, r = w.reshape(count, gates, hidden, -1), r.reshape(count, gates, hidden, hidden)
    layers = [
        Recurrent(lowering, x, backward, hidden, w[i], r[i], both[i, 0], both[i, 1], [])
        for i, backward in enumerate(directions)
    ]
    for i, layer in enumerate(layers):
        layer.states = [_begun(layer, node, place, i, count) for place in range(states)]
    return layers


def _begun(layer: Recurrent, node: Node, place: int, direction: int, count: int) -> Tensor | None:
    """Returns a first state: the same constant for every series, or an array that depends on the input."""
    value, axis = node.value(5 + place), 0 if int(node.attrs.get("layout", 0)) else 1
    if not isinstance(value, (Tensor, Turned)):
        return _first(layer, _of_direction(node, place, direction, count), place)
    if value.layout != Layout(axis) or len(value.shape) != 3 or value.shape[1 - axis] != count:
        raise Unsupported(f"an initial state of shape {value.shape}, with the batch as axis {value.layout.axis}")
    inner = batch_first(value)  # (batch, directions, hidden)
    if inner.shape[2] != layer.hidden:
        raise Unsupported(f"an initial state of shape {value.shape} of {layer.hidden} hidden numbers")
    ends = [direction, direction + 1, 1]
    taken = inner if count == 1 else layer.lowering.emit("slice", inner, {"axes": [1], "ranges": [ends]})
    return layer.lowering.reshape(taken, (inner.shape[0], inner.shape[2]))


def _of_direction(node: Node, place: int, direction: int, count: int) -> Array | None:
    """Returns the first states of one direction, from those of all directions in the node's layout."""
    given, axis = node.weights(5 + place), int(node.attrs.get("layout", 0))
    if given is None or count == 1:
        return given
    if given.ndim != 3 or given.shape[axis] != count:
        raise Unsupported(f"an initial state of shape {given.shape} of {count} directions")
    return given.take([direction], axis=axis)


def _batch_first(node: Node) -> Tensor:
    x, layout = node.array(), int(node.attrs.get("layout", 0))
    if len(x.shape) != 3:
        raise Unsupported(f"of an array of shape {x.shape}")
    if layout == 0 and isinstance(x, Turned) and x.layout == Layout(1):
        return x.tensor
    if layout == 1 and isinstance(x, Tensor):
        return x
    raise Unsupported(
        f"layout={layout}, where axis {x.layout.axis} of what it takes is the batch: the network's first axis must "
        "be the batch, and a Transpose with perm=[1, 0, 2] come before a layer of layout=0 (PyTorch's batch_first=True)"
    )


def _first(layer: Recurrent, given: Array | None, place: int) -> Tensor | None:
    """Returns a first state that is the same for every series: a product with zeros, with the state as its offsets."""
    if given is None or not given.any():
        return None
    if given.ndim != 3 or given.shape[-1] != layer.hidden:
        raise Unsupported(f"an initial state of shape {given.shape} of {layer.hidden} hidden numbers")
    rows = given.reshape(-1, layer.hidden)
    if (rows != rows[0]).any():
        raise Unsupported(f"an initial state that tells records of a batch apart (its input {5 + place})")
    x = layer.given(layer.steps[0])
    return layer.lowering.emit("matmul", x, None, np.zeros((x.shape[1], layer.hidden)), rows[0])


Done = tuple[Recurrent, list[Tensor], list[Tensor]]
"""A layer in one direction, its hidden states in the order of its steps, and its last states."""


def _results(lowering: Lowering, node: Node, done: list[Done]) -> list[Tensor | Turned]:
    """Returns Y and the last states, each with an axis of directions."""
    made = [_joined(lowering, [layer.whole(states) for layer, states, _ in done], 2)]
    for each in zip(*(last for *_, last in done), strict=True):
        rows = [lowering.reshape(state, (state.shape[0], 1, state.shape[1])) for state in each]
        made.append(_joined(lowering, rows, 1))
    if int(node.attrs.get("layout", 0)) == 1:
        return list(made)
    return [Turned(tensor, Layout(2 if place == 0 else 1)) for place, tensor in enumerate(made)]


@operator("LSTM", limits=f"{_LIMITS}, no peepholes, no clip", turned=True)
def _lstm(lowering: Lowering, node: Node) -> Any:
    layers = _recurrent(lowering, node, 4, ["Sigmoid", "Tanh", "Tanh"], 2)
    peepholes = node.weights(7)
    if peepholes is not None and peepholes.any():
        raise Unsupported("peepholes")
    if node.attrs.get("input_forget", 0):
        raise Unsupported("input_forget=1")
    return _results(lowering, node, [_long_short(lowering, layer) for layer in layers])


def _long_short(lowering: Lowering, layer: Recurrent) -> Done:
    gates, (h, c), states = layer.sums([0, 1, 2, 3]), layer.states, []
    for step in layer.steps:
        sums = gates.of(layer.given(step), h)
        ends = [0, 3 * layer.hidden, 1]
        both = lowering.emit("sigmoid", lowering.emit("slice", sums, {"axes": [1], "ranges": [ends]}))
        enter, show, keep = (layer.part(both, place) for place in range(3))
        cell = lowering.emit("mul", [enter, lowering.emit("tanh", layer.part(sums, 3))])
        c = cell if c is None else lowering.emit("add", [lowering.emit("mul", [keep, c]), cell])
        h = lowering.emit("mul", [show, lowering.emit("tanh", c)])
        states.append(h)
    assert c is not None  # noqa: S101 - a step has made it
    return layer, states, [states[-1], c]


@operator("GRU", limits=f"{_LIMITS}, no clip", turned=True)
def _gru(lowering: Lowering, node: Node) -> Any:
    layers = _recurrent(lowering, node, 3, ["Sigmoid", "Tanh"], 1)
    after = bool(node.attrs.get("linear_before_reset", 0))
    return _results(lowering, node, [_gated(lowering, layer, after) for layer in layers])


@operator("RNN", limits=f"{_LIMITS}, Tanh, no clip", turned=True)
def _rnn(lowering: Lowering, node: Node) -> Any:
    done = []
    for layer in _recurrent(lowering, node, 1, ["Tanh"], 1):
        gates, (h,), states = layer.sums([0]), layer.states, []
        for step in layer.steps:
            h = lowering.emit("tanh", gates.of(layer.given(step), h))
            states.append(h)
        done.append((layer, states, [states[-1]]))
    return _results(lowering, node, done)


def _gated(lowering: Lowering, layer: Recurrent, after: bool) -> Done:
    new = _AfterReset(layer) if after else _BeforeReset(layer)
    gates, (h,), states = layer.sums([0, 1]), layer.states, []
    for step in layer.steps:
        x = layer.given(step)
        both = lowering.emit("sigmoid", gates.of(x, h))
        keep, reset = (layer.part(both, place) for place in range(2))
        made = lowering.emit("tanh", new.of(step, x, h, reset))
        if h is None:
            h = lowering.emit("mul", [lowering.emit("scale", keep, {"factor": -1.0, "offset": 1.0}), made])
        else:
            h = lowering.emit("blend", [keep, h, made])
        states.append(h)
    return layer, states, [states[-1]]


class _BeforeReset:
    """W x + R (r h) + b: the state is reset before the product."""

    def __init__(self, layer: Recurrent) -> None:
        self._gates = layer.sums([2])

    def of(self, step: int, x: Tensor, h: Tensor | None, reset: Tensor) -> Tensor:
        return self._gates.of(x, None if h is None else self._gates.lowering.emit("mul", [reset, h]))


class _AfterReset:
    """W x + b + r (R h + c): the state is reset behind the product, as in PyTorch."""

    def __init__(self, layer: Recurrent) -> None:
        self._layer, self._inner = layer, np.ascontiguousarray(layer.inner[2].T)
        self._given = layer.lowering.emit("matmul", layer.x, None, layer.weight[2].T, layer.bias[2])

    def of(self, step: int, x: Tensor, h: Tensor | None, reset: Tensor) -> Tensor:
        emit, offsets = self._layer.lowering.emit, self._layer.inner_bias[2]
        given = self._layer.given(step, self._given)
        if h is not None:
            return emit("add", [given, emit("mul", [reset, emit("matmul", h, None, self._inner, offsets)])])
        return given if not offsets.any() else emit("add", [given, emit("affine", reset, None, offsets)])
