"""Reading of TFLite files: they are checked, and refused before anything is computed."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._quotes import file_of

MAGIC = b"TFL3"
_MOST_BYTES = 1 << 30
_MOST_OPERATORS = 10_000
_MOST_TENSORS = 100_000
_MOST_ELEMENTS = 1 << 28
_TYPES: dict[str, Any] = {"UINT8": np.uint8, "INT8": np.int8, "INT32": np.int32}


@dataclasses.dataclass
class Tensor:
    """A value of the file, or a constant.

    Attributes:
        name: the name in the file.
        type: TFLite's name of the type.
        shape: the shape, with the batch.
        scales, zeros: the quantisation: none if it is not quantised, several along `axis`.
        data: the numbers of a constant.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    scales: np.ndarray
    zeros: np.ndarray
    axis: int
    data: np.ndarray | None


@dataclasses.dataclass
class Operator:
    """A node of the file: its operator's name, options by name, and places of tensors; -1 for one that is left out."""

    kind: str
    place: int
    options: dict[str, int]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclasses.dataclass
class Source:
    """A checked file."""

    tensors: list[Tensor]
    operators: list[Operator]
    input: int
    output: int


def read(model: Any, output: str | None = None) -> Source:
    """Reads a path or a file's bytes: the part that one value needs, the only output unless `output` names another.

    Raises:
        ModelError: there is no such file, it is cut off or not TFLite, it has several subgraphs or inputs, or there are
            several outputs and none is chosen.
    """
    try:
        import tflite
    except ImportError as error:
        raise ModelError("from_tflite: tflite is not installed: pip install tflite") from error
    data, what = _bytes(model)
    if len(data) < 8 or data[4:8] != MAGIC:
        raise ModelError(f"from_tflite: {what} is no TFLite model: bytes 4 to 8 of one are {MAGIC.decode()!r}")
    try:
        return _parsed(tflite, data, output)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"from_tflite: {what} is cut off, or no TFLite model ({type(error).__name__})") from error


def _bytes(model: Any) -> tuple[bytes, str]:
    if isinstance(model, (bytes, bytearray, memoryview)):
        data, what = bytes(model), "what was given"
    elif isinstance(model, (str, os.PathLike)):
        file = file_of("from_tflite", model)
        if file.stat().st_size > _MOST_BYTES:
            raise ModelError(f"from_tflite: {str(file)!r} has more than {_MOST_BYTES >> 20} MiB")
        data, what = file.read_bytes(), repr(str(file))
    else:
        raise ModelError(f"from_tflite takes a path or bytes, or a list of these, not {type(model).__name__}")
    if len(data) > _MOST_BYTES:
        raise ModelError(f"from_tflite: {what} has more than {_MOST_BYTES >> 20} MiB")
    return data, what


def _parsed(tflite: Any, data: bytes, output: str | None) -> Source:
    root = tflite.Model.GetRootAs(data, 0)
    if root.SubgraphsLength() != 1:
        raise ModelError(f"from_tflite: the model has {root.SubgraphsLength()} subgraphs; one is supported")
    graph = root.Subgraphs(0)
    for count, most, what in (
        (graph.OperatorsLength(), _MOST_OPERATORS, "operators"),
        (graph.TensorsLength(), _MOST_TENSORS, "tensors"),
    ):
        if count > most:
            raise ModelError(f"from_tflite: the model says that it has {count} {what}; {most} are supported")
    tensors = [_tensor(tflite, root, graph.Tensors(i)) for i in range(graph.TensorsLength())]
    operators = [_operator(tflite, root, graph.Operators(i), i, len(tensors)) for i in range(graph.OperatorsLength())]
    if not operators:
        raise ModelError("from_tflite: the model has no operators")
    inputs, outputs = (
        [_place(one(i), len(tensors)) for i in range(min(count, len(tensors)))]
        for count, one in ((graph.InputsLength(), graph.Inputs), (graph.OutputsLength(), graph.Outputs))
    )
    end = _output(tensors, operators, outputs, output)
    needed, taken = _needed(operators, end)
    given = [place for place in inputs if place in taken]
    if len(given) != 1:
        named = ", ".join(repr(tensors[place].name) for place in given) or "none"
        raise ModelError(f"from_tflite: the model takes {len(given)} inputs, {named}; one is supported")
    return Source(tensors, needed, given[0], end)


def _output(tensors: list[Tensor], operators: list[Operator], outputs: list[int], output: str | None) -> int:
    """Returns the tensor that is asked for."""
    names = [tensors[place].name for place in outputs]
    if output is None:
        if len(outputs) != 1:
            listed = ", ".join(map(repr, names)) or "none"
            raise ModelError(f"from_tflite: the model has the outputs {listed}: say which, output=...")
        return outputs[0]
    made = {place for operator in operators for place in operator.outputs if place >= 0}
    found = [place for place in made if tensors[place].name == output]
    if len(found) != 1:
        many = "no value" if not found else f"the name of {len(found)} values"
        raise ModelError(f"from_tflite: output={output!r} is {many} of the model; its outputs are {names}")
    return found[0]


def _needed(operators: list[Operator], end: int) -> tuple[list[Operator], set[int]]:
    """Returns the operators that a tensor depends on, and all their inputs; later operators may be of any kind."""
    taken, found = {end}, []
    for operator in reversed(operators):
        if taken.intersection(operator.outputs):
            taken.update(operator.inputs)
            found.append(operator)
    return found[::-1], taken


def _place(place: int, count: int) -> int:
    if not -1 <= place < count:
        raise ModelError(f"from_tflite: the model names tensor {place} of {count}: it is damaged")
    return int(place)


def _tensor(tflite: Any, root: Any, found: Any) -> Tensor:
    names = {number: name for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
    kind = names.get(found.Type(), f"type {found.Type()}")
    shape = tuple(int(n) for n in _list(found.ShapeLength(), found.ShapeAsNumpy))
    name = (found.Name() or b"").decode("utf-8", "replace")[:200]
    if any(n < 0 for n in shape) or math.prod(shape) > _MOST_ELEMENTS:
        raise ModelError(f"from_tflite: the tensor {name!r} has shape {shape}, which is not supported")
    quantisation = found.Quantization()
    scales, zeros, axis = np.zeros(0), np.zeros(0, np.int64), 0
    if quantisation is not None:
        scales = np.array(_list(quantisation.ScaleLength(), quantisation.ScaleAsNumpy), np.float64)
        zeros = np.array(_list(quantisation.ZeroPointLength(), quantisation.ZeroPointAsNumpy), np.int64)
        axis = int(quantisation.QuantizedDimension())
    return Tensor(name, kind, shape, scales, zeros, axis, _constant(root, found, name, kind, shape))


def _list(count: int, values: Any) -> Any:
    """Returns a vector of numbers; the reader returns 0 for an empty one."""
    return values() if count else ()


def _constant(root: Any, found: Any, name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray | None:
    if not 0 <= found.Buffer() < root.BuffersLength():
        raise ModelError(f"from_tflite: the tensor {name!r} has no buffer: the model is damaged")
    buffer = root.Buffers(found.Buffer())
    if kind not in _TYPES or not buffer.DataLength():
        return None
    raw, dtype = buffer.DataAsNumpy().tobytes(), np.dtype(_TYPES[kind]).newbyteorder("<")
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise ModelError(
            f"from_tflite: the tensor {name!r} of shape {shape} has {len(raw)} bytes: the model is damaged"
        )
    return np.frombuffer(raw, dtype).reshape(shape).astype(np.int64)


def _operator(tflite: Any, root: Any, found: Any, place: int, count: int) -> Operator:
    index = found.OpcodeIndex()
    if not 0 <= index < root.OperatorCodesLength():
        raise ModelError(f"from_tflite: operator {place} has no code: the model is damaged")
    code = root.OperatorCodes(index)
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    kind = tflite.BUILTIN_OPCODE2NAME.get(number, f"operator {number}")
    if kind == "CUSTOM":
        kind = f"CUSTOM {(code.CustomCode() or b'').decode('utf-8', 'replace')[:80]}"
    inputs = [_place(found.Inputs(i), count) for i in range(min(found.InputsLength(), count))]
    outputs = [_place(found.Outputs(i), count) for i in range(min(found.OutputsLength(), count))]
    return Operator(kind, place, _options(tflite, found), tuple(inputs), tuple(outputs))


_OPTIONS = {
    "Conv2DOptions": ("Padding", "StrideW", "StrideH", "DilationWFactor", "DilationHFactor", "FusedActivationFunction"),
    "DepthwiseConv2DOptions": (
        "Padding",
        "StrideW",
        "StrideH",
        "DilationWFactor",
        "DilationHFactor",
        "DepthMultiplier",
        "FusedActivationFunction",
    ),
    "Pool2DOptions": ("Padding", "StrideW", "StrideH", "FilterWidth", "FilterHeight", "FusedActivationFunction"),
    "AddOptions": ("FusedActivationFunction",),
    "FullyConnectedOptions": ("FusedActivationFunction", "WeightsFormat"),
}


def _options(tflite: Any, found: Any) -> dict[str, int]:
    names = {number: name for name, number in vars(tflite.BuiltinOptions).items() if isinstance(number, int)}
    name = names.get(found.BuiltinOptionsType(), "")
    table = found.BuiltinOptions()
    if name not in _OPTIONS or table is None:
        return {}
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    return {field: int(getattr(options, field)()) for field in _OPTIONS[name]}
