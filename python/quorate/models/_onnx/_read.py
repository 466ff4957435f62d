"""ONNX files: read, checked, and refused before anything is made of them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quorate.errors import ModelError

_ANY = 3  # for a batch of any size: more than 1, so that nothing takes it for an axis that is no batch
_FLOATS = (1, 11)  # TensorProto.FLOAT, DOUBLE
_WHOLE = (6, 7)  # TensorProto.INT32, INT64


@dataclasses.dataclass
class Source:
    """A checked model: its nodes in order, constants by name, and its one input and one output."""

    nodes: list[Any]
    constants: dict[str, np.ndarray]
    input: str
    sizes: tuple[int, ...]
    """Of the input, the batch first."""
    is_open: bool
    """Whether the file leaves the batch's size open; in `sizes` is a number that stands for any."""
    output: str
    opsets: dict[str, int]
    is_index: bool = False
    """Whether inputs are whole numbers, which rows of tables are looked up by."""
    tables: dict[Any, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict)
    """Constants that are looked up in, and rows of them in double precision: one array for what is alike."""


def read(model: Any, shape: Sequence[int] | None, output: str | None) -> Source:
    """A model from a path or an `onnx.ModelProto`.

    Raises:
        ModelError: no such file, a file that is cut off or no ONNX, missing external data, an input that has not one
            known size and a floating-point type, several inputs or outputs.
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
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        names = ", ".join(repr(value.name) for value in inputs) or "none"
        raise ModelError(f"from_onnx: a network has one input; this one's are {names}: make the others constants")
    opsets = {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import}
    name, nodes = inputs[0].name, list(graph.node) if output is None else _needed(graph.node, output)
    is_index = _is_index(onnx, inputs[0], nodes)
    batch, sizes = _sizes(inputs[0], shape, 1 if is_index else 2)
    known = (batch or _ANY, *sizes)
    return Source(nodes, constants, name, known, batch is None, _output(graph, output), opsets, is_index)


def _needed(nodes: Sequence[Any], output: str) -> list[Any]:
    """Those on which a value depends; what is behind it may be of any kind."""
    needed, found = {output}, []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(_taken(node))
            found.append(node)
    return found[::-1]


def _taken(node: Any) -> set[str]:
    """What a node takes, and what the graphs within it do."""
    inner = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    within = (set(_taken(n)) for graph in inner for n in graph.node)
    return set(node.input).union(*within, *({value.name for value in graph.output} for graph in inner))


def _loaded(onnx: Any, path: Any) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"from_onnx takes a path or an onnx.ModelProto, not {type(path).__name__}")
    file = Path(path)
    if not file.is_file():
        raise ModelError(f"from_onnx: there is no file {str(file)!r}")
    try:
        proto = onnx.load(str(file), load_external_data=False)
    except Exception as error:
        raise ModelError(f"from_onnx: {str(file)!r} is cut off, or no ONNX model ({type(error).__name__})") from error
    _load_external(onnx, proto, file)
    return proto


def _load_external(onnx: Any, proto: Any, file: Path) -> None:
    """Weights in files of their own, beside the model."""
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
    """Weights in other files that were not read: ONNX would look for them where the process happens to be.

    Raises:
        ModelError: naming one.
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
    try:
        onnx.checker.check_model(proto)
        for tensor in proto.graph.initializer:
            onnx.numpy_helper.to_array(tensor)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"from_onnx: the model is not valid ONNX, or cut off: {first}") from error


def _is_index(onnx: Any, value: Any, nodes: Sequence[Any]) -> bool:
    """Whether an input is of whole numbers: by its type, or as all that takes it makes such of it first."""
    kind = value.type.tensor_type.elem_type
    if kind in _WHOLE:
        return True
    if kind not in _FLOATS:
        types = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
        name = types.get(kind, f"of type {kind}, which ONNX does not have")
        raise ModelError(
            f"from_onnx: the input {value.name!r} is {name}; networks with inputs of float32 or float64 are supported, "
            "and of int32 or int64 where tables are looked up by them: export it so, without quantisation or half "
            "precision"
        )
    return _is_cast(value.name, nodes)


def _is_cast(name: str, nodes: Sequence[Any]) -> bool:
    """Whether a value is nothing but cast to whole numbers, if only in the end."""
    takers = [node for node in nodes if name in _taken(node)]
    to = [next((a.i for a in node.attribute if a.name == "to"), 0) for node in takers if node.op_type == "Cast"]
    return 0 < len(takers) == len(to) and all(
        kind in _WHOLE or (kind in _FLOATS and _is_cast(node.output[0], nodes))
        for kind, node in zip(to, takers, strict=True)
    )


def _sizes(value: Any, shape: Sequence[int] | None, least: int) -> tuple[int | None, tuple[int, ...]]:
    """Of the batch, None where it is open, and of one input, which have so many axes at least."""
    dims = list(value.type.tensor_type.shape.dim)
    if len(dims) < least:
        raise ModelError(f"from_onnx: the input {value.name!r} has {len(dims)} axes; the first one is the batch")
    named = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None for d in dims]
    if shape is not None:
        given = [int(n) for n in shape]
        if len(given) != len(named) - 1 or any(k not in (None, n) for k, n in zip(named[1:], given, strict=True)):
            known = tuple("?" if n is None else n for n in named[1:])
            raise ModelError(f"from_onnx: shape={tuple(given)} is not that of one input of the model, {known}")
        named[1:] = given
    unknown = [i for i, n in enumerate(named) if i > 0 and n is None]
    if unknown:
        what = ", ".join(f"{i} ({dims[i].dim_param or 'no name'})" for i in unknown)
        known = tuple("?" if n is None else n for n in named[1:])
        raise ModelError(
            f"from_onnx: sizes of the input {value.name!r} are not known along axis {what}: give shape= of one input, "
            f"without the batch, as it will be: {known}"
        )
    return named[0], tuple(n for n in named[1:] if n is not None)


def _output(graph: Any, output: str | None) -> str:
    names = [value.name for value in graph.output]
    if output is not None:
        made = {name for node in graph.node for name in node.output}
        if output not in made:
            raise ModelError(f"from_onnx: output={output!r} is no value of the model; its outputs are {names}")
        return output
    if len(names) != 1:
        raise ModelError(f"from_onnx: the model has the outputs {', '.join(map(repr, names))}: say which, output=...")
    return str(names[0])
