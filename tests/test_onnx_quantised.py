"""Quantised ONNX files of onnxruntime's static quantisation, in both forms: its 8-bit numbers, bit for bit.

On processors without VNNI onnxruntime lets sums of uint8 times int8 saturate at 16 bits. The tests set its option
`session.x64quantprecision`, which makes it precise.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static

import quorate as qr
from protocols import USUAL, Place, among
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import QuantisedNetwork, QuantisedShape, from_onnx
from quorate.models._tflite import _affine, _kernels, _thresholds
from quorate.models._tflite._layers import Layer, Quantised

QDQ, OPERATORS = QuantFormat.QDQ, QuantFormat.QOperator
UINT8, INT8 = QuantType.QUInt8, QuantType.QInt8


class Calibration(CalibrationDataReader):
    def __init__(self, images: np.ndarray) -> None:
        self.rest: Iterator[dict[str, np.ndarray]] = iter({"x": images[i : i + 4]} for i in range(0, len(images), 4))

    def get_next(self) -> Any:
        return next(self.rest, None)


def network(residual: bool = False, last: str = "gemm") -> Any:
    """Convolutions, depthwise and of one pixel, ReLU and its clipped form, maxima, a sum, means, a dense layer."""
    r, f = np.random.default_rng(0), np.float32
    weights = {
        "w1": r.normal(size=(6, 3, 3, 3)).astype(f) * 0.3,
        "b1": r.normal(size=6).astype(f) * 0.1,
        "w2": r.normal(size=(6, 1, 3, 3)).astype(f) * 0.4,
        "b2": r.normal(size=6).astype(f) * 0.1,
        "w3": r.normal(size=(6, 6, 1, 1)).astype(f) * 0.4,
        "wd": r.normal(size=(6, 5)).astype(f),
        "bd": r.normal(size=5).astype(f),
        "lo": np.array(0, f),
        "hi": np.array(6, f),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2", "b2"], ["c2"], group=6, pads=[1, 1, 1, 1]),
        node("Clip", ["c2", "lo", "hi"], ["r2"]),
        node("Conv", ["r2", "w3"], ["c3"]),
    ]
    if residual:
        nodes += [node("Add", ["c3", "p1"], ["s"]), node("Relu", ["s"], ["c4"])]
    nodes += [
        node("GlobalAveragePool", ["c4" if residual else "c3"], ["g"]),
        node("Flatten", ["g"], ["flat"]),
    ]
    if last == "matmul":
        nodes.append(node("MatMul", ["flat", "wd"], ["y"]))
    else:
        nodes.append(node("Gemm", ["flat", "wd", "bd"], ["scores" if last == "softmax" else "y"]))
    if last == "softmax":
        nodes.append(node("Softmax", ["scores"], ["y"], axis=-1))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "net",
        [value("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [value("y", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(a, name) for name, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def images(count: int, low: float = -0.2, high: float = 1.2) -> np.ndarray:
    return np.random.default_rng(1).uniform(low, high, size=(count, 3, 8, 8)).astype(np.float32)


def quantised(folder: Path, proto: Any, **options: Any) -> Any:
    logging.getLogger().setLevel(logging.ERROR)
    before, after = folder / "real.onnx", folder / "whole.onnx"
    onnx.save(proto, before)
    quant_pre_process(str(before), str(before), skip_symbolic_shape=True)
    quantize_static(str(before), str(after), Calibration(images(12, 0, 1)), **options)
    return onnx.load(after)


def answers(proto: Any, X: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if X.dtype != np.int8:
        options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    return session.run(None, {session.get_inputs()[0].name: X})[0]


FORMS = [
    (QDQ, UINT8, UINT8, False, True, "gemm"),
    (QDQ, UINT8, INT8, True, False, "matmul"),
    (QDQ, INT8, INT8, True, True, "gemm"),
    (QDQ, INT8, INT8, False, False, "softmax"),
    (OPERATORS, UINT8, UINT8, True, True, "gemm"),
    (OPERATORS, UINT8, INT8, False, False, "gemm"),
    (OPERATORS, UINT8, INT8, True, True, "matmul"),
    (OPERATORS, UINT8, INT8, True, False, "softmax"),
]


@pytest.mark.parametrize(("form", "activations", "weights", "by_filter", "residual", "last"), FORMS)
def test_numbers_are_onnxruntimes(
    tmp_path: Path, form: Any, activations: Any, weights: Any, by_filter: bool, residual: bool, last: str
) -> None:
    proto = quantised(
        tmp_path,
        network(residual, last),
        quant_format=form,
        activation_type=activations,
        weight_type=weights,
        per_channel=by_filter,
    )
    assert any(node.op_type == "QLinearSoftmax" for node in proto.graph.node) == (
        form == OPERATORS and last == "softmax"
    )
    X = images(60)
    model, wanted = from_onnx(proto), answers(proto, X)
    assert isinstance(model, QuantisedNetwork)
    given = model.decision_function_clear(X)
    if last == "softmax":
        assert (given.argmax(axis=1) == wanted.argmax(axis=1)).mean() > 0.95  # the first of equal outputs
        given = np.exp(given) / np.exp(given).sum(axis=1, keepdims=True)
        assert np.abs(given - wanted).max() < 0.005  # the file quantises the shares once more
    else:
        assert (given == wanted).all()
    report = model.report(X[:3])
    assert report.largest_error == 0 and all(error == 0 for _, error, _ in report.layers)


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_every_family(tmp_path: Path, place: Place) -> None:
    proto = quantised(tmp_path, network(True), quant_format=QDQ, per_channel=True)
    X = images(2)
    model = from_onnx(proto, labels=list("abcde"))
    shape = QuantisedShape(**json.loads(json.dumps(model.shape.describe())))
    assert json.dumps(shape.describe()) == json.dumps(model.shape.describe())
    assert shape.channels == "first" and shape.type == "int8"
    with among(place) as mpc:
        assert (model.decision_function(mpc, X) == answers(proto, X)).all()
        assert (model.predict(mpc, X) == np.array(list("abcde"))[answers(proto, X).argmax(axis=1)]).all()


@pytest.mark.parametrize("form", [QDQ, OPERATORS])
def test_means_are_within_one(tmp_path: Path, form: Any) -> None:
    """Every fourth mean of four is a half: onnxruntime rounds halves to even numbers, and a shift rounds them up."""
    value = helper.make_tensor_value_info
    w = np.random.default_rng(0).normal(size=(3, 3, 1, 1)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("AveragePool", ["c"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    ends = [value(name, TensorProto.FLOAT, ["n", 3, size, size]) for name, size in (("x", 8), ("y", 4))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [numpy_helper.from_array(w, "w")])
    real = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    proto, X = quantised(tmp_path, real, quant_format=form, activation_type=UINT8), images(20)
    model = from_onnx(proto)
    off = np.abs(model.decision_function_clear(X) - answers(proto, X)) / model.shape.real[0]
    assert off.max() < 1.01 and (off > 0.5).mean() < 0.3
    assert model.report(X[:3]).largest_error <= 1


def qlinear(zero: Any, **more: Any) -> Any:
    """A convolution of 8-bit numbers, given as such."""
    kind = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}[type(zero)]
    weights = {
        "xs": np.float32(0.02),
        "xz": zero,
        "w": np.random.default_rng(0).integers(-100, 100, (4, 2, 3, 3)).astype(np.int8),
        "ws": np.full(4, 0.01, np.float32),
        "wz": np.zeros(4, np.int8),
        "ys": np.float32(0.05),
        "yz": zero,
        "b": np.array([5, -700, 30, 2], np.int32),
        **more,
    }
    node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "net",
        [value("x", kind, ["n", 2, 4, 4])],
        [value("y", kind, ["n", 4, 2, 2])],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("zero", [np.uint8(120), np.int8(-7)])
def test_inputs_and_outputs_may_be_whole_numbers(zero: Any) -> None:
    proto, low = qlinear(zero), 0 if zero.dtype == np.uint8 else -128
    X = np.random.default_rng(2).integers(low, low + 256, (5, 2, 4, 4)).astype(zero.dtype)
    model = from_onnx(proto)
    assert (model.decision_function_clear(X) == answers(proto, X)).all()
    with qr.local("rss", strict=True) as mpc:
        assert (model.decision_function(mpc, X) == answers(proto, X)).all()
        assert model.predict(mpc, X).tolist() == answers(proto, X).reshape(5, -1).argmax(axis=1).tolist()
        with pytest.raises(RangeError, match="whole numbers"):
            model.predict(mpc, X.astype(float))


def test_inputs_beyond_the_files_range_are_what_the_file_makes_of_them(tmp_path: Path) -> None:
    proto = quantised(tmp_path, network(), quant_format=QDQ)
    X = images(3) * 100
    model = from_onnx(proto)
    assert (model.decision_function_clear(X) == answers(proto, X)).all()
    with qr.local("rss") as mpc:
        with pytest.raises(RangeError, match="impute"):
            model.predict(mpc, X * np.nan)
        with pytest.raises(ShapeError, match="3, 8, 8"):
            model.predict(mpc, X[:, :2])


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    real = network()
    real.graph.node[1].op_type = "Sigmoid"
    proto = quantised(tmp_path, real, quant_format=QDQ)
    with pytest.raises(ModelError, match=r"Sigmoid.*of a quantised network(?s:.*)as it was before"):
        from_onnx(proto)
    assert from_onnx(real, bound=1.0).shape.sizes == (3, 8, 8)
    for damage in (
        {"xs": np.float32(0)},
        {"ys": np.float32(np.nan)},
        {"ys": np.array([1, 2], np.float32)},
        {"yz": np.uint8(3), "xz": np.uint8(3), "ws": np.ones(3, np.float32)},
        {"w": np.zeros((4, 3, 3, 3), np.int8)},
        {"b": np.zeros(3, np.int32)},
        {"ys": np.float32(1e-30)},
    ):
        with pytest.raises(ModelError):
            from_onnx(qlinear(np.uint8(1), **damage))


def test_sums_that_float32_rounds_are_off_by_one_and_no_more() -> None:
    """With these scales halves are nearly whole sums: no product and shift leaps exactly as float32 does."""
    r, nearly, looked = np.random.default_rng(3), 0, 0
    for _ in range(60):
        slope = float(np.float32(10 ** r.uniform(-4, -1.5)))
        multiplier, exponent = _kernels.quantised_multiplier(slope)
        zero = int(r.integers(0, 256))
        layer = Layer("conv", "", {}, Quantised(1.0, 0, 0), Quantised(1.0, zero, 0), (1, 1, 1), rounding="float32")
        leaps, first = _thresholds.thresholds(multiplier, exponent, zero, (0, 255), "float32")
        times, offsets, down = _thresholds.scaling_of(layer, multiplier, exponent)
        nearly += _affine.fit([(leaps, first)], slope) is None
        a = np.arange(leaps[0] - 50, leaps[-1] + 50)
        ours = np.clip((a * times + np.where(a < 0, offsets[0], offsets[-1])) >> down, 0, 255)
        off = np.abs(ours - _thresholds.clamped(layer, a, multiplier, exponent))
        assert off.max() <= 1 and off.mean() < 1e-4
        looked += len(a)
    assert nearly > 0 and looked > 1_000_000


def of_nodes(nodes: list[Any], constants: dict[str, Any], sizes: tuple[int, ...], results: tuple[int, ...]) -> Any:
    """Returns a file of these nodes from the real "x" to the real "y"."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(name, given, made, **attrs) for name, given, made, attrs in nodes],
        "net",
        [value("x", TensorProto.FLOAT, ["n", *sizes])],
        [value("y", TensorProto.FLOAT, ["n", *results])],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantiser(taken: str, made: str, by: str) -> list[Any]:
    """Returns QuantizeLinear and DequantizeLinear with the constants of that name."""
    return [
        ("QuantizeLinear", [taken, by, f"{by}0"], [f"{made}8"], {}),
        ("DequantizeLinear", [f"{made}8", by, f"{by}0"], [made], {}),
    ]


def test_a_real_value_may_be_quantised_in_several_ways() -> None:
    """Sums as they are, and behind a ReLU: each of the two has its own scale, zero point and limits."""
    r, f = np.random.default_rng(5), np.float32
    constants = {
        "in": f(0.02),
        "in0": np.uint8(128),
        "w8": r.integers(-90, 90, (6, 5)).astype(np.int8),
        "w": f(0.01),
        "w0": np.int8(0),
        "a": f(0.05),
        "a0": np.uint8(130),
        "b": f(0.011),
        "b0": np.uint8(0),
        "s": f(0.06),
        "s0": np.uint8(90),
    }
    nodes = [
        *quantiser("x", "q", "in"),
        ("DequantizeLinear", ["w8", "w", "w0"], ["real"], {}),
        ("MatMul", ["q", "real"], ["m"], {}),
        *quantiser("m", "one", "a"),
        ("Relu", ["m"], ["positive"], {}),
        *quantiser("positive", "other", "b"),
        ("Add", ["one", "other"], ["sum"], {}),
        *quantiser("sum", "y", "s"),
    ]
    proto, X = of_nodes(nodes, constants, (6,), (5,)), r.uniform(-2, 2, (40, 6)).astype(f)
    model, wanted = from_onnx(proto), answers(proto, X)
    assert len(np.unique(wanted)) > 20
    assert (model.decision_function_clear(X) == wanted).all()


def test_options_that_do_nothing_are_refused() -> None:
    proto = qlinear(np.uint8(3))
    for name, value in (("bound", 1.0), ("sample", np.zeros((1, 2, 4, 4))), ("bits", 16), ("tolerance", 0.1)):
        with pytest.raises(ModelError, match=rf"a quantised network.*{name}= would do nothing: leave it out; of use"):
            from_onnx(proto, **{name: value})
    with pytest.raises(ModelError, match=r"bound= and bits= would do nothing: leave them out; .* shape="):
        from_onnx(proto, bound=1.0, bits=16)
    assert from_onnx(proto, shape=(2, 4, 4)).shape.sizes == (2, 4, 4)


def test_sizes_that_are_open_are_stated(tmp_path: Path) -> None:
    proto = quantised(tmp_path, network(), quant_format=QDQ)
    sizes = proto.graph.input[0].type.tensor_type.shape.dim
    sizes[2].dim_param, sizes[3].dim_param = "rows", "columns"
    with pytest.raises(ModelError, match="give shape= of one input where sizes are open"):
        from_onnx(proto)
    assert from_onnx(proto, shape=(3, 8, 8)).shape.sizes == (3, 8, 8)


def test_squeeze_takes_the_axes_that_it_names() -> None:
    """It takes axes of one element behind the batch; other axes, and the batch, are refused."""
    f = np.float32
    constants = {"in": f(0.02), "in0": np.uint8(128)}
    X = np.random.default_rng(0).uniform(-2, 2, (5, 3, 1, 1)).astype(f)
    for axes, sizes in (([2, 3], (3,)), ([-1, -2], (3,))):
        nodes = [*quantiser("x", "q", "in"), ("Squeeze", ["q", "axes"], ["y"], {})]
        proto = of_nodes(nodes, {**constants, "axes": np.array(axes)}, (3, 1, 1), sizes)
        assert (from_onnx(proto).decision_function_clear(X) == answers(proto, X)).all()
    for axes in ([1, 2], [0, 2], [0], [2]):
        nodes = [*quantiser("x", "q", "in"), ("Squeeze", ["q", "axes"], ["y"], {})]
        with pytest.raises(ModelError, match=r"Squeeze.*: (axes|of an array)"):
            from_onnx(of_nodes(nodes, {**constants, "axes": np.array(axes)}, (3, 1, 1), (3,)))


def test_what_a_file_computes_of_constants_is_run() -> None:
    """Scales by Constant, weights that the file quantises itself, and a limit that is a constant input."""
    r, f = np.random.default_rng(7), np.float32
    constants = {"in": f(0.02), "in0": np.uint8(128), "w": r.normal(size=(6, 5)).astype(f), "w0": np.int8(0)}
    step = helper.make_tensor("step", TensorProto.FLOAT, [], [0.02])
    nodes = [
        *quantiser("x", "q", "in"),
        ("Constant", [], ["step"], {"value": step}),
        ("Add", ["step", "step"], ["a"], {}),
        ("Constant", [], ["a0"], {"value": helper.make_tensor("zero", TensorProto.UINT8, [], [7])}),
        ("QuantizeLinear", ["w", "step", "w0"], ["w8"], {}),
        ("DequantizeLinear", ["w8", "step", "w0"], ["real"], {}),
        ("MatMul", ["q", "real"], ["m"], {}),
        ("Clip", ["m", "", "most"], ["limited"], {}),
        *quantiser("limited", "y", "a"),
    ]
    proto, X = of_nodes(nodes, constants, (6,), (5,)), r.uniform(-2, 2, (40, 6)).astype(f)
    fixed = onnx.ModelProto()
    fixed.CopyFrom(proto)
    fixed.graph.initializer.append(numpy_helper.from_array(f(1.5), "most"))
    proto.graph.input.append(helper.make_tensor_value_info("most", TensorProto.FLOAT, []))
    wanted = answers(fixed, X)
    assert wanted.max() == f(1.52) and len(np.unique(wanted)) > 20
    assert (from_onnx(fixed).decision_function_clear(X) == wanted).all()
    assert (from_onnx(proto, inputs={"most": 1.5}).decision_function_clear(X) == wanted).all()
    with pytest.raises(ModelError, match=r"of this file 'x', 'most': make constants of all inputs but one, inputs="):
        from_onnx(proto)
    with pytest.raises(ModelError, match=r"'public'.*is an array of constants, and 'secret'"):
        from_onnx(proto, inputs={"most": "public"})
    with pytest.raises(ModelError, match="inputs= names 'least'"):
        from_onnx(proto, inputs={"least": 1.5})
