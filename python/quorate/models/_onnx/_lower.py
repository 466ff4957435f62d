"""Lowering of an ONNX file's nodes to steps; unsupported nodes are collected and named all at once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._layers._kernels import MOVES
from quorate.models._onnx._constants import evaluated
from quorate.models._onnx._index_functions import NUMBER, RECKONED, constant, kind, rows_at
from quorate.models._onnx._layout import (
    Layout,
    Tensor,
    Turned,
    Unsupported,
    batch_first,
    constant_beside,
    reshaped,
    turned,
)
from quorate.models._onnx._read import Source
from quorate.models._onnx._same_network import apart, compute_alike
from quorate.models._onnx._steps import Step, clear

__all__ = ["Lower", "Lowering", "Node", "Unsupported", "Value", "lower"]

Value = Any
"""A `Tensor`, a `Turned`, a known numpy array, or None for an optional input that is left out."""


@dataclasses.dataclass
class Node:
    """A node of the file with its inputs."""

    operator: str
    name: str
    values: list[Value]
    attrs: dict[str, Any]
    outputs: int
    opset: int

    def value(self, place: int) -> Value:
        """Returns an input; None if there is none."""
        return self.values[place] if place < len(self.values) else None

    def tensor(self, place: int = 0) -> Tensor:
        """Returns an input that depends on the network's and has the batch first."""
        value = self.array(place)
        if isinstance(value, Turned):
            raise Unsupported(_turns(place, value))
        return value

    def array(self, place: int = 0) -> Tensor | Turned:
        """Returns an input that depends on the network's, with its batch at any axis."""
        value = self.value(place)
        if not isinstance(value, (Tensor, Turned)):
            raise Unsupported(f"its input {place} is a constant")
        return value

    def known(self, place: int, attr: str | None = None) -> np.ndarray | None:
        """Returns an input that is a constant, or in older operator sets an attribute; None if it is left out."""
        value = self.value(place)
        if isinstance(value, (Tensor, Turned)):
            raise Unsupported(f"its input {place} is computed from the network's input, and is no constant")
        if value is None and attr is not None and attr in self.attrs:
            return np.asarray(self.attrs[attr])
        return None if value is None else np.asarray(value)

    def weights(self, place: int) -> np.ndarray | None:
        """Returns a constant input in double precision."""
        value = self.known(place)
        return None if value is None else value.astype(np.float64)


def _turns(place: int, value: Turned) -> str:
    part = f"a part of axis {value.layout.axis}" if value.layout.parts else f"axis {value.layout.axis}"
    return f"the batch is {part} of its input {place}: of this operator it must be the first axis (Transpose)"


@dataclasses.dataclass
class Lowering:
    """The steps so far."""

    source: Source
    steps: list[Step] = dataclasses.field(default_factory=list)
    shapes: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    """The shapes of the input, and of the result of every step."""
    name: str = ""
    indices: set[int] = dataclasses.field(default_factory=set)
    """The arrays of row numbers: inputs by which tables are looked up, and moved copies of them."""
    reckoned: dict[int, tuple[Tensor, tuple[Any, ...]]] = dataclasses.field(default_factory=dict)
    """For arrays that are computed of row numbers: the array of these, and the function."""
    branches: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """The branches that nodes took, by the name of their first output; nodes within loops have several."""

    def __post_init__(self) -> None:
        for number, entry in enumerate(self.source.entries):
            if number:
                self.steps.append(Step("input", (), {"number": number}, name=f"the input {entry.name!r}"))
            self.shapes.append(entry.sizes)
            self.indices.update([number] if entry.is_index else [])

    @property
    def batch(self) -> int:
        """The size of the batch that the file states; any other does as well."""
        return self.source.batch

    def entered(self) -> dict[str, Tensor | Turned]:
        """Returns the inputs by name: array 0 is the first, and the first steps make the others."""
        found = enumerate(self.source.entries)
        return {entry.name: turned(Tensor(i, entry.sizes), Layout(entry.axis)) for i, entry in found}

    def emit(
        self,
        kind: str,
        inputs: Tensor | Sequence[Tensor],
        attrs: dict[str, Any] | None = None,
        weights: np.ndarray | None = None,
        offsets: np.ndarray | None = None,
    ) -> Tensor:
        """Adds a step."""
        given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        are_indices = [t.place in self.indices for t in given]
        is_taken = kind in ("embedding", "reckoned") or (kind in MOVES and all(are_indices))
        if any(self.is_number(t) for t in given) and not is_taken:
            raise Unsupported(LOOKED_UP)
        step = Step(kind, tuple(t.place for t in given), attrs or {}, weights, offsets, self.name)
        few = min(self.batch, _FEW)
        try:
            with np.errstate(all="ignore"):
                made = clear(step, [np.zeros((few, *t.shape[1:])) for t in given])
        except ValueError as error:
            raise Unsupported(str(error)) from error
        if made.ndim == 0 or made.shape[0] != few:
            raise Unsupported(f"its result of shape {made.shape} does not have the batch as its first axis")
        shape = (self.batch, *made.shape[1:])
        if 0 in shape:
            raise Unsupported(f"its result of shape {shape} is empty")
        self.steps.append(step)
        self.shapes.append(shape)
        self.indices.update([len(self.steps)] if kind in MOVES and any(are_indices) else [])
        return Tensor(len(self.steps), shape)

    def is_number(self, value: Value) -> bool:
        """Returns whether a value is an array of row numbers, or computed of such."""
        if not isinstance(value, (Tensor, Turned)):
            return False
        return batch_first(value).place in self.indices or batch_first(value).place in self.reckoned

    def number(self, value: Tensor | Turned) -> tuple[Tensor | Turned, tuple[Any, ...]]:
        """Returns the array of row numbers that a value is computed of, with the value's layout, and the function."""
        index, of = self.reckoned.get(batch_first(value).place, (batch_first(value), NUMBER))
        return turned(index, value.layout), of

    def reckon(self, operator: str, given: Sequence[Value], attrs: dict[str, Any]) -> Tensor | Turned:
        """Adds a function of each row number, which tables take in."""
        index, _ = self.number(next(value for value in given if self.is_number(value)))
        of: list[tuple[Any, ...]] = []
        for value in given:
            if self.is_number(value):
                other, part = self.number(value)
                if other != index:
                    raise Unsupported(LOOKED_UP)
                of.append(part)
            elif isinstance(value, (Tensor, Turned)):
                raise Unsupported(LOOKED_UP)
            elif operator == "Equal" and np.size(value) > 1:
                return self._hot(index, of[0] if of else NUMBER, np.asarray(value))
            else:
                of.append(constant(value, len(index.shape)))
        if operator == "Cast":
            if of == [NUMBER] and attrs["to"] in (6, 7):
                return index
            of.append(kind(attrs["to"]))
        tensor = self.emit("reckoned", batch_first(index), {"of": (operator, *of)})
        self.reckoned[tensor.place] = batch_first(index), (operator, *of)
        return turned(tensor, index.layout)

    def _hot(self, index: Tensor | Turned, of: tuple[Any, ...], values: np.ndarray) -> Tensor | Turned:
        """Compares row numbers in a last axis of one place with constants: looks up a table of ones and zeros."""
        line = values.ravel()
        is_line = values.shape[-1:] == line.shape and len(index.shape) > 1 and index.shape[-1] == 1
        if of != NUMBER or not is_line or values.ndim > len(index.shape) or line.min() < 0 or index.layout != Layout():
            raise Unsupported(f"constants of shape {values.shape} beside whole numbers of shape {index.shape}")
        inner = batch_first(index)
        rows = (np.arange(int(line.max()) + 1)[:, None] == line).astype(np.float64)
        return self.emit("embedding", self.reshape(inner, inner.shape[:-1]), None, rows)

    def table(self, constant: np.ndarray, of: tuple[Any, ...]) -> np.ndarray:
        """Returns a constant's rows for a function of numbers, in double precision; one array serves all look-ups."""
        known, key = self.source.tables, (id(constant), of)
        if key not in known:
            known[key] = constant, rows_at(of, constant).astype(np.float64)
        return known[key][1]

    def sized(self) -> list[tuple[Step, tuple[int, ...]]]:
        """Returns each step, with the sizes of its result for one input."""
        return [(step, shape[1:]) for step, shape in zip(self.steps, self.shapes[1:], strict=True)]

    def axis(self, axis: int, x: Tensor | Turned, what: str = "axis") -> int:
        """Returns the place of an axis other than the batch when the batch is first."""
        found = axis + len(x.shape) if axis < 0 else axis
        if not 0 <= found < len(x.shape) or found == x.layout.axis:
            where = "it must lie behind the batch" if isinstance(x, Tensor) else f"axis {x.layout.axis} is the batch"
            raise Unsupported(f"{what} {axis} of an array of shape {x.shape}: {where}")
        return x.layout.first(found)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """Reshapes to a shape that includes the batch, which stays first."""
        if tuple(shape) == x.shape:
            return x
        return self.emit("reshape", x, {"shape": [int(n) for n in shape[1:]]})

    def first(self, x: Tensor | Turned) -> Tensor | Turned:
        """Moves the batch first if the file has one record and a first axis of one place: then both are the same."""
        if isinstance(x, Tensor) or self.batch != 1 or x.shape[0] != 1:
            return x
        return self.reshape(x.tensor, x.shape)

    def to(self, x: Tensor | Turned, sizes: Sequence[int]) -> Tensor | Turned:
        """Reshapes to sizes that the file states."""
        layout, shape = reshaped(x, sizes)
        return turned(self.reshape(batch_first(x), shape), layout)


_INSTEAD = (
    "What stands before an operator that is not supported is computed by output=, the name of a value there. For what "
    "stands behind it, compute the operator in the clear and import that part alone (onnx.utils.extract_model)"
)
LOOKED_UP = "it takes whole numbers of the input, which name rows of tables (Gather): nothing else is computed of them"
_LONGEST = 4096  # the longest loop
_FEW = 4  # inputs that a step is tried with: other batches give the same sizes
_MANY = 1021  # inputs: a number that no size of a network equals by chance

Lower = Callable[[Lowering, Node], Any]


def lower(source: Source, operators: dict[str, Any]) -> tuple[list[Step], list[int]]:
    """Returns the steps of a model, and the places of its outputs.

    Raises:
        ModelError: nodes are not supported (all are named), or numbers depend on the number of inputs.
    """
    made, places = _made(source, operators)
    if source.is_open:  # sizes in the file may equal the number that stands for any batch by chance
        for many in (source.batch + 1, _MANY):
            other, ends = _made(source.of(many), operators)
            if (name := apart((made, places), (other, ends))) is not None:
                raise _goes_by_the_number(name)
        for few in (1, 2):  # which may be lowered in another way
            _check_few((made, places), source.of(few), operators)
    return made.steps, places


def _goes_by_the_number(name: str) -> ModelError:
    return ModelError(f"from_onnx: {name} goes by the number of inputs, of which any may be given")


def _check_few(one: tuple[Lowering, list[int]], source: Source, operators: dict[str, Any]) -> None:
    """Refuses a network that computes something else for few inputs.

    Its arrays may be moved in another way: an axis of one place can often be part of several axes, so that there are
    several ways, or none.
    """
    lowering = Lowering(source)
    try:
        other = _made_by(lowering, operators)
    except ModelError:
        for made, taken in one[0].branches.items():
            if made not in lowering.branches:
                raise ModelError(
                    f"from_onnx: which branch the If of {made!r} takes of {source.batch} inputs cannot be told, nor "
                    "what nodes before it make: export the network for a batch of one size"
                ) from None
            if taken != lowering.branches[made]:
                raise _goes_by_the_number("which branch an If takes") from None
        return
    name = apart(one, other)
    if name is not None and not compute_alike(one, other, source):
        raise _goes_by_the_number(name)


def _made(source: Source, operators: dict[str, Any]) -> tuple[Lowering, list[int]]:
    return _made_by(Lowering(source), operators)


def _made_by(lowering: Lowering, operators: dict[str, Any]) -> tuple[Lowering, list[int]]:
    source = lowering.source
    values: dict[str, Value] = {**source.constants, **lowering.entered()}
    walk = _Walk(lowering, operators)
    walk.through(source.nodes, values)
    if walk.faults:
        many = "a node that is" if len(walk.faults) == 1 else f"{len(walk.faults)} nodes that are"
        listed = "".join(f"\n  {fault}" for fault in walk.faults)
        instead = f"\n{_INSTEAD}" if walk.has_unknown else ""
        raise ModelError(f"from_onnx: the model has {many} not supported (see `quorate models`):{listed}{instead}")
    return lowering, [_place(lowering, name, values.get(name)) for name in source.outputs]


def _place(lowering: Lowering, name: str, result: Value) -> int:
    """Returns the place of an output, with the batch first."""
    if isinstance(result, Turned):
        result = lowering.first(result)
    if isinstance(result, Turned):
        if result.layout.parts:
            raise ModelError(
                f"from_onnx: the batch is a part of axis {result.layout.axis} of the output {name!r}: export a network "
                "whose outputs have it as an axis, or name a value that has, output="
            )
        result = result.tensor
    if not isinstance(result, Tensor):
        raise ModelError(f"from_onnx: the output {name!r} does not depend on the input")
    if lowering.is_number(result):
        raise ModelError(f"from_onnx: the output {name!r} is numbers of the input, which look up no row")
    return result.place


@dataclasses.dataclass
class _Walk:
    """A walk through nodes in their order that collects unsupported ones."""

    lowering: Lowering
    operators: dict[str, Any]
    faults: list[str] = dataclasses.field(default_factory=list)
    poisoned: set[str] = dataclasses.field(default_factory=set)
    """Values that depend on a node that is not supported."""
    unmade: dict[str, str] = dataclasses.field(default_factory=dict)
    has_unknown: bool = False
    """Whether there are nodes of operators that are not known."""

    def through(self, nodes: Sequence[Any], values: dict[str, Value]) -> None:
        """Adds the results of nodes to the values."""
        for number, proto in enumerate(nodes):
            name = proto.name or f"number {number}"
            made: list[Value] = []
            try:
                made = self._node(proto, name, values)
            except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
                self.faults.append(f"{proto.op_type} ({name}): its attributes and inputs do not go together: {error!r}")
            except Unsupported as fault:
                self.faults.append(f"{proto.op_type} ({name}){': ' if str(fault) else ''}{fault}")
                self.has_unknown |= not str(fault)
            if made:
                values.update(zip(proto.output, made, strict=False))
                self.unmade.update((o, f"{proto.op_type} ({name})") for o in proto.output[len(made) :] if o)
            else:
                self.poisoned.update(proto.output)

    def _node(self, proto: Any, name: str, values: dict[str, Value]) -> list[Value]:
        """Returns the results of a node; nothing if one of its inputs was not made."""
        if proto.domain not in ("", "ai.onnx"):
            raise Unsupported(f"operators of {proto.domain!r} are not known")
        of_numbers = any(self.lowering.is_number(values.get(name)) for name in proto.input)
        takes = proto.op_type in self.operators or (of_numbers and proto.op_type in RECKONED)
        if not takes and not _is_known(proto, values, self.poisoned):
            raise Unsupported(LOOKED_UP if of_numbers else "")
        for taken in self.unmade.keys() & set(proto.input):
            raise Unsupported(f"it takes an output of {self.unmade[taken]} that is not computed")
        if self.poisoned.intersection(proto.input):
            return []
        if proto.op_type in ("Loop", "If"):
            return self._control(proto, [values[i] if i else None for i in proto.input], values)
        return _lowered(self.lowering, proto, name, values, self.operators)

    def _control(self, proto: Any, given: list[Value], values: dict[str, Value]) -> list[Value]:
        """Lowers a branch, or all steps of a loop; the condition must not depend on the input."""
        graphs = {attr.name: attr.g for attr in proto.attribute if attr.HasField("g")}
        if proto.op_type == "If":
            taken = "then_branch" if _fixed(given[0]) else "else_branch"
            self.lowering.branches.setdefault(proto.output[0], []).append(taken)
            return self._inner(graphs[taken], values, [])
        most, going, *state = given
        limit = math.inf if most is None else _fixed(most)
        scans: list[list[Value]] = [[] for _ in graphs["body"].output[1 + len(state) :]]
        step = 0
        while step < limit and (going is None or _fixed(going)):
            if step == _LONGEST:
                raise Unsupported(f"of more than {_LONGEST} steps")
            made = self._inner(graphs["body"], values, [np.array(step), np.array(True), *state])
            if not made:
                return []
            going, state = made[0], made[1 : 1 + len(state)]
            for rows, row in zip(scans, made[1 + len(state) :], strict=True):
                rows.append(row)
            step += 1
        return [*state, *map(self._stacked, scans)]

    def _inner(self, graph: Any, values: dict[str, Value], given: list[Value]) -> list[Value]:
        """Returns the outputs of a graph within the model, or nothing if one is not made; it sees the outer values."""
        import onnx

        own = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        inside = {**values, **own, **{value.name: x for value, x in zip(graph.input, given, strict=True)}}
        before, has_unknown = len(self.faults), self.has_unknown
        self.through(graph.node, inside)
        self.has_unknown = has_unknown  # output= names no value within it
        names = [value.name for value in graph.output]
        if len(self.faults) > before or self.poisoned.intersection(names):
            return []
        return [inside[name] for name in names]

    def _stacked(self, rows: list[Value]) -> Value:
        """Joins the results of each step along a first axis of steps."""
        if not rows:
            raise Unsupported("without a step")
        if not any(isinstance(row, (Tensor, Turned)) for row in rows):
            return np.stack(rows)
        first = np.array([0])
        each = [
            row[None]
            if isinstance(row, np.ndarray)
            else self.operators["Unsqueeze"].lower(self.lowering, Node("Unsqueeze", "", [row, first], {}, 1, 13))
            for row in rows
        ]
        return self.operators["Concat"].lower(self.lowering, Node("Concat", "", each, {"axis": 0}, 1, 13))


def _fixed(value: Value) -> Any:
    """Returns a number of steps or a condition; it must be known."""
    if isinstance(value, (Tensor, Turned)):
        raise Unsupported("which steps it takes depends on the input")
    return np.asarray(value).ravel()[0]


def _is_known(proto: Any, values: dict[str, Value], poisoned: set[str]) -> bool:
    """Returns whether all inputs of a node are constants."""
    return not any(name in poisoned or isinstance(values.get(name), (Tensor, Turned)) for name in proto.input if name)


def _lowered(
    lowering: Lowering, proto: Any, name: str, values: dict[str, Value], operators: dict[str, Any]
) -> list[Value]:
    import onnx

    given = [values[i] if i else None for i in proto.input]
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
    attrs = {k: v.decode() if isinstance(v, bytes) else v for k, v in attrs.items()}
    if proto.op_type == "Shape" and isinstance(given[0], (Tensor, Turned)):
        sizes = np.asarray(given[0].shape, np.int64)
        return [sizes[attrs.get("start", 0) : attrs.get("end")]]
    if proto.op_type == "Size" and isinstance(given[0], (Tensor, Turned)):
        return [np.asarray(math.prod(given[0].shape), np.int64)]
    if not any(isinstance(value, (Tensor, Turned)) for value in given):
        return evaluated(proto, given, lowering.source.opsets)
    lowering.name = f"{proto.op_type} ({name})"
    if proto.op_type in RECKONED and any(map(lowering.is_number, given)):
        return [lowering.reckon(proto.op_type, given, attrs)]
    opset = lowering.source.opsets.get("ai.onnx", 1)
    node = Node(proto.op_type, name, given, attrs, len(proto.output), opset)
    operator, layout = operators[proto.op_type], Layout()
    if operator.each:
        node.values, layout = _aligned(lowering, given)
    if not operator.turned:
        node.values = [lowering.first(x) if isinstance(x, Turned) else x for x in node.values]
    for place, value in enumerate(node.values):
        if isinstance(value, Turned) and not operator.turned:
            raise Unsupported(_turns(place, value))
    made = operator.lower(lowering, node)
    return [turned(made, layout)] if operator.each else made if isinstance(made, list) else [made]


def _aligned(lowering: Lowering, given: list[Value]) -> tuple[list[Value], Layout]:
    """Returns inputs of an elementwise operator with the batch first, and the batch's place in the file."""
    arrays = [value for value in given if isinstance(value, (Tensor, Turned))]
    rank, layout = max(np.ndim(x) if isinstance(x, np.ndarray) else len(x.shape) for x in given if x is not None), None
    made = list(given)
    for place, x in enumerate(given):
        if isinstance(x, (Tensor, Turned)):
            more = rank - len(x.shape)
            here, stored = dataclasses.replace(x.layout, axis=x.layout.axis + more), batch_first(x)
            if layout not in (None, here):
                raise Unsupported(f"of shapes {' and '.join(str(a.shape) for a in arrays)}, with the batch elsewhere")
            layout = here
            if more:
                stored = lowering.reshape(stored, (stored.shape[0], *[1] * more, *stored.shape[1:]))
            made[place] = stored
    assert layout is not None  # noqa: S101 - something depends on the input
    for place, value in enumerate(given):
        if isinstance(value, np.ndarray):
            made[place] = constant_beside(value, rank, layout, lowering.batch)
    return made, layout
