"""Every operator that `from_onnx` takes, on random shapes, against onnxruntime: within the proven bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, one, random_number, whole
from quorate._families import DEFAULT, FAMILIES

CASES: dict[str, Callable[[np.random.Generator], Any]] = {}


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


@case
def Conv(r):
    groups, each = int(r.integers(1, 3)), int(r.integers(1, 3))
    sizes = (groups * each, int(r.integers(6, 9)), int(r.integers(6, 9)))
    w = {"w": floats(r, groups * 2, each, int(r.integers(1, 4)), int(r.integers(1, 4))), "b": floats(r, groups * 2)}
    pads = r.integers(0, 2, size=4).tolist()
    return one("Conv", sizes, w, group=groups, strides=r.integers(1, 3, size=2).tolist(), pads=pads, dilations=[1, 2])


@case
def Conv_of_series(r):
    return one("Conv", (2, 9), {"w": floats(r, 3, 2, 3)}, pads=[1, 0], strides=[2])


@case
def Conv_same(r):
    return one("Conv", (2, 7, 6), {"w": floats(r, 3, 2, 3, 2)}, auto_pad="SAME_LOWER", strides=[2, 1])


@case
def Conv_depthwise(r):
    return one("Conv", (4, 5, 5), {"w": floats(r, 4, 1, 3, 3)}, group=4, auto_pad="SAME_UPPER")


@case
def ConvTranspose(r):
    w = {"w": floats(r, 4, 2, 3, 2), "b": floats(r, 4)}
    return one("ConvTranspose", (4, 4, 5), w, group=2, strides=[2, 2], pads=[1, 0, 1, 0], output_padding=[1, 0])


@case
def ConvTranspose_uneven(r):
    return one("ConvTranspose", (2, 4, 3), {"w": floats(r, 2, 3, 3, 3)}, strides=[1, 2], pads=[0, 1, 1, 0])


@case
def Gemm(r):
    return one("Gemm", (7,), {"w": floats(r, 5, 7), "c": floats(r, 5)}, transB=1, alpha=0.5, beta=2.0)


@case
def MatMul(r):
    return one("MatMul", (3, 6), {"w": floats(r, 6, 4)})


@case
def MatMul_of_both(r):
    return Net([("Transpose", ["x"], ["t"], {"perm": [0, 2, 1]}), ("MatMul", ["x", "t"], ["y"], {})], (3, 5), {})


@case
def Add(r):
    return one("Add", (3, 4), {"c": floats(r, 3, 1)})


@case
def Add_of_both(r):
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Relu", ["a"], ["b"], {}), ("Add", ["b", "x"], ["y"], {})]
    return Net(nodes, (5,), {"w": 20 * floats(r, 5, 5)})


@case
def Sub(r):
    return Net([("Sub", ["c", "x"], ["y"], {})], (3, 4), {"c": floats(r, 4)})


@case
def Sub_of_both(r):
    return Net([("Sigmoid", ["x"], ["a"], {}), ("Sub", ["a", "x"], ["y"], {})], (5,), {})


@case
def Mul(r):
    return one("Mul", (3, 4), {"c": floats(r, 1, 3, 4)})


@case
def Mul_of_both(r):
    return Net([("Sigmoid", ["x"], ["a"], {}), ("Mul", ["a", "x"], ["y"], {})], (5,), {})


@case
def Mul_by_a_number(r):
    return one("Mul", (4,), {"c": np.float32(-0.3)})


@case
def Div(r):
    return one("Div", (4,), {"c": np.abs(floats(r, 4)) + 1})


@case
def Sum(r):
    return Net([("Relu", ["x"], ["a"], {}), ("Tanh", ["x"], ["b"], {}), ("Sum", ["a", "b", "x"], ["y"], {})], (5,), {})


@case
def Neg(r):
    return one("Neg", (4,))


@case
def BatchNormalization(r):
    w = {"s": floats(r, 3), "b": floats(r, 3), "m": floats(r, 3), "v": np.abs(floats(r, 3)) + 0.1}
    return one("BatchNormalization", (3, 4, 2), w)


@case
def LayerNormalization(r):
    n = int(r.integers(2, 20))
    return one("LayerNormalization", (3, n), {"s": floats(r, n), "b": floats(r, n)})


@case
def LayerNormalization_of_axes(r):
    return one("LayerNormalization", (2, 3, 4), {"s": floats(r, 3, 4)}, axis=-2, epsilon=1e-3)


def recurrent(r: np.random.Generator, op: str, start: bool = False, **attrs: Any) -> Net:
    """Returns a layer as PyTorch writes it with the batch first: the last state of each series beside all states."""
    gates, steps, inputs, hidden = {"LSTM": 4, "GRU": 3}[op], int(r.integers(1, 4)), 2, 3
    w = {
        "w": floats(r, 1, gates * hidden, inputs),
        "r": floats(r, 1, gates * hidden, hidden),
        "b": floats(r, 1, 2 * gates * hidden),
        "a": whole(1),
    }
    given, out = ["t", "w", "r", "b"], ["all", "last"]
    if start:
        given += ["", "h"] + ["c"] * (op == "LSTM")
        w |= {name: np.tile(floats(r, 1, 1, hidden), (1, 2, 1)) for name in given[5:]}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        (op, given, out + ["cell"] * (op == "LSTM"), {"hidden_size": hidden, **attrs}),
        ("Squeeze", ["all", "a"], ["s"], {}),
        ("Transpose", ["s"], ["u"], {"perm": [1, 0, 2]}),
        ("Transpose", ["cell" if op == "LSTM" else "last"], ["v"], {"perm": [1, 0, 2]}),
        ("Concat", ["u", "v"], ["y"], {"axis": 1}),
    ]
    return Net(nodes, (steps, inputs), w, 14)


def both_ways(r: np.random.Generator, op: str, gates: int, **attrs: Any) -> Net:
    """Returns a layer in two directions, as PyTorch writes it, with first states: all states, and the last ones."""
    w = {"w": floats(r, 2, gates * 2, 2), "r": floats(r, 2, gates * 2, 2), "b": floats(r, 2, gates * 4)}
    w |= {"s": whole(0, 0, -1), "n": whole(0, 1, 4)}
    given = ["t", "w", "r", "b", "", "h"] + ["c"] * (op == "LSTM")
    w |= {name: np.tile(floats(r, 2, 1, 2), (1, 2, 1)) for name in given[5:]}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        (op, given, ["all", "last"], {"hidden_size": 2, "direction": "bidirectional", **attrs}),
        ("Transpose", ["all"], ["u"], {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["u", "s"], ["v"], {}),
        ("Transpose", ["v"], ["p"], {"perm": [1, 0, 2]}),
        ("Transpose", ["last"], ["e"], {"perm": [1, 0, 2]}),
        ("Reshape", ["e", "n"], ["f"], {}),
        ("Concat", ["p", "f"], ["y"], {"axis": 1}),
    ]
    return Net(nodes, (int(r.integers(1, 4)), 2), w, 14)


@case
def LSTM_both_ways(r):
    return both_ways(r, "LSTM", 4)


@case
def GRU_both_ways(r):
    return both_ways(r, "GRU", 3, linear_before_reset=1)


@case
def LSTM_backward(r):
    return recurrent(r, "LSTM", start=True, direction="reverse")


@case
def GRU_backward(r):
    return recurrent(r, "GRU", direction="reverse")


@case
def LSTM(r):
    return recurrent(r, "LSTM")


@case
def LSTM_from_a_state(r):
    return recurrent(r, "LSTM", start=True)


@case
def GRU(r):
    return recurrent(r, "GRU", linear_before_reset=1)


@case
def GRU_reset_before(r):
    return recurrent(r, "GRU")


@case
def GRU_from_a_state(r):
    return recurrent(r, "GRU", start=True, linear_before_reset=1)


@case
def Relu(r):
    return one("Relu", (4, 3))


@case
def LeakyRelu(r):
    return one("LeakyRelu", (4, 3), alpha=0.2)


@case
def Elu(r):
    return one("Elu", (9,), alpha=float(r.choice([0.0, 0.3, 1.0, 2.5])))


@case
def PRelu(r):
    return one("PRelu", (4, 3, 2), {"s": floats(r, 4, 1, 1)})


@case
def Clip(r):
    return one("Clip", (4, 3), {"low": np.float32(-0.3), "high": np.float32(0.7)})


@case
def Clip_above(r):
    return Net([("Clip", ["x", "", "high"], ["y"], {})], (6,), {"high": np.float32(0.4)})


@case
def Clip_far(r):
    return one("Clip", (4,), {"low": np.float32(60), "high": np.float32(70)})


@case
def Sigmoid(r):
    return one("Sigmoid", (9,))


@case
def Tanh(r):
    return one("Tanh", (9,))


@case
def Softmax(r):
    return one("Softmax", (4, 5), axis=1)


@case
def Softmax_before_13(r):
    return one("Softmax", (5,), opset=11)


def causal(n: int, hides: float) -> np.ndarray:
    return np.triu(np.full((n, n), hides, np.float32), 1)


@pytest.mark.parametrize("hides", [-np.inf, np.finfo(np.float32).min, -1e9, -1e4])
@pytest.mark.parametrize("axes", [2, 3])
def test_masks_before_a_softmax(hides, axes):
    r = random_number(3)
    mask = {"m": causal(4, hides) if axes == 2 else np.stack([causal(4, hides) + 1, causal(4, hides) - 1])}
    net = Net([("Add", ["m", "x"], ["a"], {}), ("Softmax", ["a"], ["y"], {})], (2, 4, 4), mask)
    x = floats(r, 2, 2, 4, 4)
    model = compare(model_of(net.nodes, net.sizes, net.constants), x)
    assert [step["kind"] for step in model.shape.steps][-1] == "softmax" and "hidden" in model.shape.steps[-1]
    assert qr.models.NetworkShape(**json.loads(json.dumps(model.shape.describe()))) == model.shape


@case
def Where(r):
    return Net([("Where", ["c", "x", "v"], ["y"], {})], (3, 4), {"c": r.random((3, 4)) < 0.5, "v": floats(r, 4)})


@case
def Where_that_hides(r):
    nodes = [("Where", ["c", "v", "x"], ["a"], {}), ("Softmax", ["a"], ["y"], {})]
    return Net(nodes, (4, 4), {"c": causal(4, 1) > 0, "v": np.float32(-np.inf)})


@case
def Gelu(r):
    return one("Gelu", (9,))


@case
def Erf(r):
    c = {"c": np.float32(2**0.5), "h": np.float32(0.5), "o": np.float32(1)}
    nodes = [("Div", ["x", "c"], ["a"], {}), ("Erf", ["a"], ["b"], {}), ("Add", ["b", "o"], ["d"], {})]
    return Net([*nodes, ("Mul", ["x", "d"], ["e"], {}), ("Mul", ["e", "h"], ["y"], {})], (6,), c)


@case
def HardSigmoid(r):
    return one("HardSigmoid", (6,), alpha=0.3, beta=0.4)


@case
def HardSwish(r):
    return one("HardSwish", (6,))


@case
def MaxPool(r):
    return one("MaxPool", (2, 7, 8), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=1)


@case
def MaxPool_of_series(r):
    return one("MaxPool", (2, 7), kernel_shape=[3])


@case
def AveragePool(r):
    pads = r.integers(0, 2, size=4).tolist()
    return one("AveragePool", (2, 7, 6), kernel_shape=[3, 2], pads=pads, count_include_pad=int(r.integers(2)))


@case
def GlobalAveragePool(r):
    return one("GlobalAveragePool", (3, 4, 5))


@case
def GlobalMaxPool(r):
    return one("GlobalMaxPool", (3, 4, 5))


@case
def GlobalMaxPool_of_series(r):
    return one("GlobalMaxPool", (3, 5))


@case
def ReduceMean(r):
    return one("ReduceMean", (3, 4, 5), {"a": whole(-1, 1)}, keepdims=0)


@case
def Flatten(r):
    return one("Flatten", (3, 4, 5))


@case
def Reshape(r):
    return one("Reshape", (3, 4), {"s": whole(0, 2, -1)})


@case
def Shape(r):
    nodes = [("Shape", ["x"], ["s"], {}), ("Gather", ["s", "i"], ["n"], {"axis": 0})]
    nodes += [("Concat", ["n", "m"], ["t"], {"axis": 0}), ("Reshape", ["x", "t"], ["y"], {})]
    return Net(nodes, (3, 4), {"i": whole(0), "m": whole(-1)})


@case
def Transpose(r):
    return one("Transpose", (3, 4, 2), perm=[0, 3, 1, 2])


@case
def Concat(r):
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Concat", ["x", "a"], ["y"], {"axis": -1})]
    return Net(nodes, (4,), {"w": 9 * floats(r, 4, 3)})


@case
def Squeeze(r):
    return one("Squeeze", (1, 4, 1), {"a": whole(1, -1)})


@case
def Unsqueeze(r):
    return one("Unsqueeze", (4,), {"a": whole(1, 3)})


@case
def Identity(r):
    return Net([("Identity", ["x"], ["a"], {}), ("Relu", ["a"], ["y"], {})], (4,), {})


@case
def Dropout(r):
    return Net([("Relu", ["x"], ["a"], {}), ("Dropout", ["a"], ["y", "mask"], {})], (4,), {})


@case
def Cast(r):
    return Net([("Cast", ["x"], ["a"], {"to": 1}), ("Neg", ["a"], ["y"], {})], (4,), {})


@case
def Constant(r):
    value = numpy_helper.from_array(floats(r, 4))
    return Net([("Constant", [], ["c"], {"value": value}), ("Add", ["x", "c"], ["y"], {})], (4,), {})


@case
def Pad(r):
    return one("Pad", (3, 4), {"p": whole(0, 1, 2, 0, 0, 1)})


@case
def Pad_by_reflection(r):
    return one("Pad", (3, 4), {"p": whole(0, 1, 2, 0, 0, 1)}, mode="reflect")


@case
def Slice(r):
    return one("Slice", (5, 6), {"s": whole(1, -1), "e": whole(4, -100), "a": whole(1, 2), "t": whole(1, -2)})


@case
def Split(r):
    nodes = [("Split", ["x", "s"], ["a", "b", "c"], {"axis": 1}), ("Concat", ["c", "a"], ["y"], {"axis": 1})]
    return Net(nodes, (6, 2), {"s": whole(1, 2, 3)})


@case
def Tile(r):
    return one("Tile", (2, 3, 1), {"t": whole(1, 2, 1, 3)})


@case
def Gather(r):
    return one("Gather", (5, 3), {"i": np.array([[4, 0], [1, 1]])}, axis=1)


@case
def Resize(r):
    return Net([("Resize", ["x", "", "s"], ["y"], {})], (2, 3, 2), {"s": np.array([1, 1, 2, 3], np.float32)})


@case
def Resize_of_axes(r):
    scales = {"s": np.array([1, 3, 1, 2], np.float32)}
    return Net([("Resize", ["x", "", "s"], ["y"], {"axes": [0, 3, 1, 2]})], (2, 3, 2), scales)


@case
def Resize_of_the_last_axes(r):
    return Net([("Resize", ["x", "", "", "n"], ["y"], {"axes": [-1, 2]})], (2, 3, 2), {"n": whole(6, 3)})


@case
def Resize_of_set_10(r):
    return one("Resize", (2, 3, 2), {"s": np.array([1, 1, 2, 3], np.float32)}, opset=10)


@case
def Upsample(r):
    return one("Upsample", (2, 3, 2), {"s": np.array([1, 1, 2, 2], np.float32)}, opset=9)


@case
def LeakyRelu_of_a_steep_slope(r):
    return one("LeakyRelu", (4,), alpha=1e6)


def test_outputs_that_are_left_out_count():
    nodes = [("Split", ["x"], ["", "", "c"], {"axis": 1, "num_outputs": 3}), ("Relu", ["c"], ["y"], {})]
    graph = model_of([("Relu", ["x"], ["y"], {})], (6,), {}).graph
    graph.ClearField("node")
    graph.node.extend(helper.make_node(op, i, o, **a) for op, i, o, a in nodes)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    x = floats(random_number(0), 2, 6)
    assert np.allclose(qr.models.from_onnx(proto, bound=4.0).predict_clear(x), np.maximum(x[:, 4:], 0))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_operators(name, seed):
    r = random_number(seed)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 2, *net.sizes))


@pytest.mark.parametrize("protocol", [name for name in FAMILIES if name != DEFAULT])
@pytest.mark.parametrize(
    "name", ["Conv", "ConvTranspose", "Gemm", "PRelu", "MaxPool", "Softmax", "Mul_of_both", "GRU", "Where_that_hides"]
)
def test_operators_of_other_families(protocol, name):
    r = random_number(5)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 1, *net.sizes), protocol)


@pytest.mark.filterwarnings("error::quorate.RangeWarning", "ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize(
    ("low", "high", "bound", "bits"),
    [(1.5, 1.25, 1.0, 24), (-0.001, 0.001, 1.0, 24), (-0.0055, 0.0055, 1.0, 8), (0.25, 0.5, 2.0**-7, 12)],
)
def test_limits_that_cross_lie_far_within_or_beyond_all_inputs(low, high, bound, bits):
    proto = model_of([("Clip", ["x", "l", "h"], ["y"], {})], (4,), {"l": np.float32(low), "h": np.float32(high)})
    x = (np.array([[1, -1, 0.5, 0]]) * bound).astype(np.float32)
    model = qr.models.from_onnx(proto, bound=bound, bits=bits)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - want).max() <= model.error_bound + 1e-7


@pytest.mark.filterwarnings("error:.*may leave", "ignore::quorate.errors.ModelWarning")
def test_ranges_of_what_is_cut_out_are_those_of_its_elements():
    nodes = [("Add", ["x", "c"], ["a"], {}), ("Relu", ["a"], ["b"], {}), ("Mul", ["a", "b"], ["y"], {})]
    proto = model_of(nodes, (2,), {"c": np.float32([-100, -99.5])})
    x = np.array([[1, 1], [-1, -1]], np.float32)
    with qr.local("rss") as mpc:
        assert (qr.models.from_onnx(proto, bound=1.0, bits=30, weight_bits=6).predict(mpc, x) == 0).all()
