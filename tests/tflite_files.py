"""Small TFLite files, written with the builders of the `tflite` package, and random quantised networks."""

from __future__ import annotations

import dataclasses
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES = {"UINT8": np.uint8, "INT8": np.int8, "INT32": np.int32, "FLOAT32": np.float32}
OPTIONS = {
    "ADD": "AddOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "SOFTMAX": "SoftmaxOptions",
}
NONE, RELU, RELU6 = 0, 1, 3
SAME, VALID = 0, 1


@dataclasses.dataclass
class Written:
    """A tensor to write."""

    shape: tuple[int, ...]
    type: str
    scale: Any
    zero: int
    data: np.ndarray | None
    axis: int


@dataclasses.dataclass
class File:
    """A file under construction: operators in a chain, each on the last tensor, and sums of any two."""

    type: str = "UINT8"
    tensors: list[Written] = dataclasses.field(default_factory=list)
    operators: list[tuple[str, list[int], int, dict[str, int]]] = dataclasses.field(default_factory=list)
    outputs: list[int] = dataclasses.field(default_factory=list)
    """Tensors; by default the last result."""

    def tensor(
        self, shape: Any, scale: Any = None, zero: int = 0, data: Any = None, kind: str = "", axis: int = 0
    ) -> int:
        kind = kind or self.type
        values = None if data is None else np.asarray(data, TYPES[kind])
        self.tensors.append(Written(tuple(shape), kind, scale, zero, values, axis))
        return len(self.tensors) - 1

    def then(self, kind: str, shape: Any, scale: Any, zero: int, more: Any = (), **options: int) -> None:
        """Adds an operator on the last result and constants."""
        given = self.operators[-1][2] if self.operators else 0
        self.operators.append((kind, [given, *more], self.tensor(shape, scale, zero), options))

    @property
    def last(self) -> int:
        """The last result, or the input."""
        return self.operators[-1][2] if self.operators else 0

    def add(self, one: int, other: int, scale: float, zero: int, act: int = NONE) -> None:
        """Adds a sum of two tensors."""
        made = self.tensor(self.tensors[one].shape, scale, zero)
        self.operators.append(("ADD", [one, other], made, {"FusedActivationFunction": act}))

    def bytes(self) -> bytes:
        """Returns the file."""
        b = flatbuffers.Builder(1024)
        buffers = [self._buffer(b, None)]
        tensors = []
        for i, tensor in enumerate(self.tensors):
            place = 0
            if tensor.data is not None:
                place = len(buffers)
                buffers.append(self._buffer(b, tensor.data.tobytes()))
            tensors.append(self._tensor(b, i, tensor, place))
        codes = [self._code(b, kind) for kind, *_ in self.operators]
        operators = [self._operator(b, i, *operator) for i, operator in enumerate(self.operators)]
        outputs = self.outputs or [self.operators[-1][2]]
        ends = [b.CreateNumpyVector(np.array(n, np.int32)) for n in ([0], outputs)]
        vectors = [
            self._vector(b, tflite.SubGraphStartTensorsVector, tensors),
            self._vector(b, tflite.SubGraphStartOperatorsVector, operators),
        ]
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, vectors[0])
        tflite.SubGraphAddInputs(b, ends[0])
        tflite.SubGraphAddOutputs(b, ends[1])
        tflite.SubGraphAddOperators(b, vectors[1])
        graph = self._vector(b, tflite.ModelStartSubgraphsVector, [tflite.SubGraphEnd(b)])
        made = self._vector(b, tflite.ModelStartOperatorCodesVector, codes)
        held = self._vector(b, tflite.ModelStartBuffersVector, buffers)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, 3)
        tflite.ModelAddOperatorCodes(b, made)
        tflite.ModelAddSubgraphs(b, graph)
        tflite.ModelAddBuffers(b, held)
        b.Finish(tflite.ModelEnd(b), b"TFL3")
        return bytes(b.Output())

    def _buffer(self, b: Any, raw: bytes | None) -> int:
        data = None if raw is None else b.CreateByteVector(raw)
        tflite.BufferStart(b)
        if data is not None:
            tflite.BufferAddData(b, data)
        return int(tflite.BufferEnd(b))

    def _tensor(self, b: Any, place: int, tensor: Written, buffer: int) -> int:
        name = b.CreateString(f"t{place}")
        shape = b.CreateNumpyVector(np.array(tensor.shape, np.int32))
        quantisation = None
        if tensor.scale is not None:
            scales = b.CreateNumpyVector(np.atleast_1d(np.asarray(tensor.scale, np.float32)))
            zeros = b.CreateNumpyVector(np.full(np.size(tensor.scale), tensor.zero, np.int64))
            tflite.QuantizationParametersStart(b)
            tflite.QuantizationParametersAddScale(b, scales)
            tflite.QuantizationParametersAddZeroPoint(b, zeros)
            tflite.QuantizationParametersAddQuantizedDimension(b, tensor.axis)
            quantisation = tflite.QuantizationParametersEnd(b)
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, getattr(tflite.TensorType, tensor.type))
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddName(b, name)
        if quantisation is not None:
            tflite.TensorAddQuantization(b, quantisation)
        return int(tflite.TensorEnd(b))

    def _code(self, b: Any, kind: str) -> int:
        number = getattr(tflite.BuiltinOperator, kind)
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
        tflite.OperatorCodeAddBuiltinCode(b, number)
        return int(tflite.OperatorCodeEnd(b))

    def _operator(self, b: Any, place: int, kind: str, inputs: list[int], output: int, options: dict[str, int]) -> int:
        table = None
        if kind in OPTIONS:
            name = OPTIONS[kind]
            getattr(tflite, f"{name}Start")(b)
            for field, value in options.items():
                getattr(tflite, f"{name}Add{field}")(b, value)
            table = getattr(tflite, f"{name}End")(b)
        ends = [b.CreateNumpyVector(np.array(n, np.int32)) for n in (inputs, [output])]
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, place)
        tflite.OperatorAddInputs(b, ends[0])
        tflite.OperatorAddOutputs(b, ends[1])
        if table is not None:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, OPTIONS[kind]))
            tflite.OperatorAddBuiltinOptions(b, table)
        return int(tflite.OperatorEnd(b))

    def _vector(self, b: Any, start: Any, items: list[int]) -> Any:
        start(b, len(items))
        for item in reversed(items):
            b.PrependUOffsetTRelative(item)
        return b.EndVector()


def conv(file: File, r: np.random.Generator, sizes: Any, **options: Any) -> Any:
    """Adds a convolution of the last result, depthwise if `multiplier` is given; returns the sizes of its result."""
    rows, columns, channels = sizes
    multiplier, act = options.get("multiplier"), options.get("act", RELU6)
    stride, padding, window = options.get("stride", 1), options.get("padding", SAME), options.get("window", 3)
    filters = channels * multiplier if multiplier else options.get("filters", 4)
    shape = (1, window, window, filters) if multiplier else (filters, window, window, channels)
    signed = file.type == "INT8"
    low, high = (-127, 128) if signed else (0, 256)
    scale = r.uniform(0.002, 0.02, filters) if signed else float(r.uniform(0.002, 0.02))
    zero = 0 if signed else int(r.integers(90, 160))
    w = file.tensor(shape, scale, zero, r.integers(low, high, shape), axis=3 if multiplier else 0)
    given = file.tensors[file.operators[-1][2] if file.operators else 0].scale
    b = file.tensor((filters,), given * scale, 0, r.integers(-2000, 2000, filters), "INT32")
    places = [-(-n // stride) if padding == SAME else (n - window) // stride + 1 for n in (rows, columns)]
    target = (0.0235, -128 if signed else 0) if act != NONE else (0.1, -20 if signed else 110)
    fields = {"Padding": padding, "StrideW": stride, "StrideH": stride, "FusedActivationFunction": act}
    fields |= {"DilationWFactor": 1, "DilationHFactor": 1} | ({"DepthMultiplier": multiplier} if multiplier else {})
    kind = "DEPTHWISE_CONV_2D" if multiplier else "CONV_2D"
    file.then(kind, (1, *places, filters), *target, [w, b], **fields)
    return (*places, filters)


def pool(file: File, sizes: Any, kind: str, size: int, stride: int, padding: int = VALID) -> Any:
    """Adds a pool of the last result; returns the sizes of its result."""
    before = file.tensors[file.operators[-1][2]]
    places = [-(-n // stride) if padding == SAME else (n - size) // stride + 1 for n in sizes[:2]]
    fields = {"Padding": padding, "StrideW": stride, "StrideH": stride, "FilterWidth": size, "FilterHeight": size}
    file.then(kind, (1, *places, sizes[2]), before.scale, before.zero, **fields, FusedActivationFunction=NONE)
    return (*places, sizes[2])


def network(r: np.random.Generator, kind: str = "UINT8") -> bytes:
    """Returns a network of pictures of 7 x 6 x 2: all convolutions, both pools, a dense layer, a softmax."""
    file = File(kind)
    zero = -3 if kind == "INT8" else 128
    file.tensor((1, 7, 6, 2), 1 / 128, zero)
    sizes = conv(file, r, (7, 6, 2), stride=2)
    sizes = conv(file, r, sizes, multiplier=1)
    sizes = conv(file, r, sizes, window=1, filters=3, act=NONE)
    sizes = pool(file, sizes, "MAX_POOL_2D", 2, 1)
    sizes = pool(file, sizes, "AVERAGE_POOL_2D", 2, 1, SAME)
    sizes = conv(file, r, sizes, multiplier=2, window=2, padding=VALID, act=RELU)
    count = int(np.prod(sizes))
    before = file.tensors[file.operators[-1][2]]
    file.then("RESHAPE", (1, count), before.scale, before.zero, [file.tensor((2,), data=[1, count], kind="INT32")])
    signed = kind == "INT8"
    low, high = (-127, 128) if signed else (0, 256)
    w = file.tensor((5, count), 0.01, 0 if signed else 120, r.integers(low, high, (5, count)))
    b = file.tensor((5,), before.scale * 0.01, 0, r.integers(-3000, 3000, 5), "INT32")
    file.then("FULLY_CONNECTED", (1, 5), 0.05, 10, [w, b], FusedActivationFunction=NONE)
    file.then("SOFTMAX", (1, 5), 1 / 256, -128 if signed else 0, Beta=1)
    return file.bytes()


def residual(r: np.random.Generator, kind: str = "UINT8") -> bytes:
    """Returns a network of pictures of 7 x 6 x 2: convolutions, sums of their operands and results, and a mean."""
    file, signed = File(kind), kind == "INT8"
    file.tensor((1, 7, 6, 2), 1 / 128, -3 if signed else 128)
    sizes = conv(file, r, (7, 6, 2), stride=2, filters=3)
    first = file.last
    sizes = conv(file, r, sizes, filters=3, act=NONE)
    file.add(first, file.last, float(r.uniform(0.05, 0.08)), -30 if signed else 100)
    second = file.last
    sizes = conv(file, r, sizes, filters=3, window=1, act=NONE)
    file.add(file.last, second, 0.0235, -128 if signed else 0, RELU6)
    file.add(file.last, first, 0.0235, -128 if signed else 0, RELU)
    sizes = pool(file, sizes, "AVERAGE_POOL_2D", 4, 1, SAME)
    file.add(file.last, second, float(r.uniform(0.05, 0.08)), 7)
    return file.bytes()
