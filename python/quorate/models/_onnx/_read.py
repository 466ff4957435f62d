"""Reading of ONNX files: they are checked, and refused before anything is computed."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._onnx._file_inputs import FLOATS, WHOLE, Entry, constant_of, entries, is_index, split
from quorate.models._quotes import file_of, short


@dataclasses.dataclass
class Source:
    """A checked model: its nodes in order, constants by name, inputs and outputs."""

    nodes: list[Any]
    constants: dict[str, np.ndarray]
    entries: list[Entry]
    """The inputs that questions give, secret ones first."""
    is_open: bool
    """Whether the file leaves the batch's size open; the sizes of entries then have a number that stands for any."""
    outputs: list[str]
    opsets: dict[str, int]
    replaced: Callable[[int], dict[str, np.ndarray]] = lambda _: {}
    """Returns the constants in place of inputs, for a batch of some size."""
    tables: dict[Any, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict)
    """Tables for look-ups, and their rows in double precision: one array for equal rows."""

    @property
    def batch(self) -> int:
        """The number of inputs."""
        return self.entries[0].sizes[0]

    def of(self, many: int) -> Source:
        """Returns the model for a batch of `many` inputs."""
        found = [dataclasses.replace(entry, sizes=(many, *entry.sizes[1:])) for entry in self.entries]
        return dataclasses.replace(self, entries=found, constants={**self.constants, **self.replaced(many)})


def read(
    model: Any,
    shape: Any = None,
    output: str | Sequence[str] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> Source:
    """Reads a model from a path or an `onnx.ModelProto`.

    Raises:
        ModelError: there is no such file, it is cut off or not ONNX, or external data are missing; an input has no
            known size or is not of numbers; or there are several outputs and none is chosen.
    """
    try:
        import onnx
    except ImportError as error:
        raise ModelError("from_onnx: onnx is not installed: pip install onnx") from error
    proto = model if isinstance(model, onnx.ModelProto) else _loaded(onnx, model)
    if not proto.graph.node:
        raise ModelError("from_onnx: the model has no nodes: the file is cut off, or no ONNX model")
    _refuse_external(onnx, proto.graph)
    _check(onnx, proto)
    graph = proto.graph
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    outputs = _outputs(graph, output)
    nodes = list(graph.node) if output is None else _needed(graph.node, outputs)
    taken = {name for node in nodes for name in _taken(node)}.union(outputs)
    left, roles = split(onnx, graph, taken.__contains__, inputs)
    indices = {value.name: is_index(value, lambda name: _is_cast(name, nodes)) for value in left}
    batch, found = entries(left, shape, indices, roles)
    word = left[0].type.tensor_type.shape.dim[0].dim_param
    fixed = {value.name: value for value in graph.input if not isinstance(roles.get(value.name, ""), str)}

    def replaced(many: int) -> dict[str, np.ndarray]:
        return {name: constant_of(onnx, value, roles[name], many, word) for name, value in fixed.items()}

    opsets = {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}
    source = Source(nodes, constants, found, batch is None, outputs, opsets, replaced)
    return source.of(source.batch)


def _needed(nodes: Sequence[Any], outputs: Sequence[str]) -> list[Any]:
    """Returns the nodes on which values depend; nodes behind these may be of any kind."""
    needed, found = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(_taken(node))
            found.append(node)
    return found[::-1]


def _taken(node: Any) -> set[str]:
    """Returns the names of a node's inputs, and of those of the graphs within it."""
    inner = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    within = (set(_taken(n)) for graph in inner for n in graph.node)
    return set(node.input).union(*within, *({value.name for value in graph.output} for graph in inner))


def _loaded(onnx: Any, path: Any) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"from_onnx takes a path or an onnx.ModelProto, not {type(path).__name__}")
    file = file_of("from_onnx", path)
    try:
        proto = onnx.load(str(file), load_external_data=False)
    except Exception as error:
        raise ModelError(f"from_onnx: {str(file)!r} is cut off, or no ONNX model ({type(error).__name__})") from error
    _load_external(onnx, proto, file)
    return proto


def _load_external(onnx: Any, proto: Any, file: Path) -> None:
    """Loads weights from files of their own beside the model."""
    helper = onnx.external_data_helper
    outside = [tensor for tensor in proto.graph.initializer if helper.uses_external_data(tensor)]
    missing = set()
    for tensor in outside:
        location = Path(next((entry.value for entry in tensor.external_data if entry.key == "location"), ""))
        if location.is_absolute() or ".." in location.parts:
            raise ModelError(f"from_onnx: {str(file)!r} names weights outside of its folder, {str(location)!r}")
        if not (file.parent / location).is_file():
            missing.add(str(location))
    if missing:
        raise ModelError(
            f"from_onnx: {str(file)!r} keeps weights in files that are not there: {', '.join(sorted(missing))}; put "
            f"them into {str(file.parent)!r}"
        )
    try:
        for tensor in outside:
            helper.load_external_data_for_tensor(tensor, str(file.parent))
    except Exception as error:
        raise ModelError(f"from_onnx: weights beside {str(file)!r} cannot be read: {error}") from error


def _refuse_external(onnx: Any, graph: Any) -> None:
    """Refuses weights in other files that were not read: ONNX would look for them in the current directory.

    Raises:
        ModelError: there are such weights; the message names one.
    """
    tensors = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            tensors += [attribute.t, *attribute.tensors]
            for inner in (attribute.g, *attribute.graphs):
                _refuse_external(onnx, inner)
    for tensor in tensors:
        if onnx.external_data_helper.uses_external_data(tensor):
            raise ModelError(
                f"from_onnx: {tensor.name or 'a constant'!r} is in another file: give the path of the model, beside "
                "which it lies, or read it by onnx.load; constants within nodes must be in the model itself"
            )


def _check(onnx: Any, proto: Any) -> None:
    """Refuses what ONNX's own checks refuse, except outputs whose type or shape is not stated: nodes determine it."""
    try:
        onnx.checker.check_model(_with_stated_outputs(onnx, proto))
        for tensor in proto.graph.initializer:
            onnx.numpy_helper.to_array(tensor)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"from_onnx: the model is not valid ONNX, or cut off: {short(first, 300)}") from None


def _with_stated_outputs(onnx: Any, proto: Any) -> Any:
    """Returns the model, or a copy in which each output states some type and shape."""

    def is_open(value: Any) -> bool:
        kind = value.type.WhichOneof("value")
        return kind is None or (kind == "tensor_type" and not value.type.tensor_type.HasField("shape"))

    if not any(map(is_open, proto.graph.output)):
        return proto
    copied = onnx.ModelProto()
    copied.CopyFrom(proto)
    for value in filter(is_open, copied.graph.output):
        kind = value.type.tensor_type.elem_type or onnx.TensorProto.FLOAT
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, kind, []))
    return copied


def _is_cast(name: str, nodes: Sequence[Any]) -> bool:
    """Returns whether a value is only cast to whole numbers, directly or in the end."""
    takers = [node for node in nodes if name in _taken(node)]
    to = [next((a.i for a in node.attribute if a.name == "to"), 0) for node in takers if node.op_type == "Cast"]
    return 0 < len(takers) == len(to) and all(
        kind in WHOLE or (kind in FLOATS and _is_cast(node.output[0], nodes))
        for kind, node in zip(to, takers, strict=True)
    )


def _outputs(graph: Any, output: str | Sequence[str] | None) -> list[str]:
    names = [value.name for value in graph.output]
    if output is not None:
        wanted = [output] if isinstance(output, str) else list(output)
        made = {name for node in graph.node for name in node.output}
        for name in wanted:
            if name not in made:
                raise ModelError(f"from_onnx: output={name!r} is no value of the model; its outputs are {names}")
        if not wanted or len(set(wanted)) < len(wanted):
            raise ModelError(f"from_onnx: output={output!r}: name one value, or each of several once, of {names}")
        return wanted
    if len(names) != 1:
        raise ModelError(
            f"from_onnx: the model has the outputs {', '.join(map(repr, names))}: say which, output=..., one name or a "
            "list"
        )
    return [str(name) for name in names]
