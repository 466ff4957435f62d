"""ONNX models of few operators and small networks for the tests, and their comparison with onnxruntime."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import quorate as qr


def random_number(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def model_of(
    nodes: list[tuple],
    sizes: tuple[int, ...],
    constants: dict[str, np.ndarray],
    opset: int = 20,
    batch: Any = "n",
    kind: int = onnx.TensorProto.FLOAT,
) -> onnx.ModelProto:
    """Returns a model. Nodes are (operator, inputs, outputs, attributes); the input is "x" and the output "y"."""
    made = [helper.make_node(op, i, o, name=f"{op}_{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    value = helper.make_tensor_value_info
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(made, "net", [value("x", kind, [batch, *sizes])], [value("y", 1, None)], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(proto)  # infers the output's shape


def compare(proto: onnx.ModelProto, x: np.ndarray, protocol: str = "rss", **options: Any) -> Any:
    stated = {"bound": float(np.abs(x).max())} if x.dtype.kind == "f" else {}
    model = qr.models.from_onnx(proto, **stated, **options)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    with qr.local(protocol) as mpc:
        got = model.predict(mpc, x)
    assert got.shape == want.shape
    rounding = 1e-5 * max(1.0, float(np.abs(want).max(initial=0.0)))  # the rounding of onnxruntime, in float32
    assert np.abs(got - want).max(initial=0.0) <= model.error_bound + rounding
    assert model.error_bound < 0.05 * max(1.0, float(np.abs(want).max(initial=0.0)))
    assert np.abs(model.predict_clear(x) - want).max(initial=0.0) <= rounding
    return model


def floats(r: np.random.Generator, *shape: int) -> np.ndarray:
    return r.normal(size=shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclasses.dataclass
class Net:
    nodes: list[tuple]
    sizes: tuple[int, ...]
    constants: dict[str, np.ndarray]
    opset: int = 20


def one(op: str, sizes: tuple[int, ...], constants: dict | None = None, opset: int = 20, **attrs: Any) -> Net:
    return Net([(op, ["x", *(constants or {})], ["y"], attrs)], sizes, constants or {}, opset)


def small(r: np.random.Generator) -> onnx.ModelProto:
    """Convolutions with batch norms and a residual sum, on pictures of 8 x 8."""
    w = {
        "w1": floats(r, 4, 1, 3, 3),
        "w2": floats(r, 4, 4, 3, 3) / 4,
        "b1": floats(r, 4),
        "s": floats(r, 4),
        "o": floats(r, 4),
        "m": floats(r, 4),
        "v": np.abs(floats(r, 4)) + 0.5,
        "w3": floats(r, 4, 3),
        "b3": floats(r, 3),
    }
    same = {"auto_pad": "SAME_UPPER"}
    nodes = [
        ("Conv", ["x", "w1", "b1"], ["a"], same),
        ("BatchNormalization", ["a", "s", "o", "m", "v"], ["b"], {}),
        ("Relu", ["b"], ["c"], {}),
        ("Conv", ["c", "w2"], ["d"], same),
        ("Add", ["c", "d"], ["e"], {}),
        ("Relu", ["e"], ["f"], {}),
        ("MaxPool", ["f"], ["g"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("GlobalAveragePool", ["g"], ["h"], {}),
        ("Flatten", ["h"], ["i"], {}),
        ("Gemm", ["i", "w3", "b3"], ["j"], {}),
        ("Softmax", ["j"], ["y"], {}),
    ]
    return model_of(nodes, (1, 8, 8), w)


def block(given: str, beside: str) -> list[tuple]:
    """Returns nodes of a block: attention of two heads, a residual sum, and a layer that widens; the output is y."""
    nodes: list[tuple] = []
    for name, turn in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [("MatMul", [given, name], [f"{name}1"], {}), ("Reshape", [f"{name}1", "heads"], [f"{name}2"], {})]
        nodes += [("Transpose", [f"{name}2"], [f"{name}3"], {"perm": turn})]
    nodes += [
        ("MatMul", ["q3", "k3"], ["s1"], {}),
        ("Mul", ["s1", "scale"], ["s2"], {}),
        ("Softmax", ["s2"], ["s3"], {"axis": -1}),
        ("MatMul", ["s3", "v3"], ["a1"], {}),
        ("Transpose", ["a1"], ["a2"], {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["a2", "whole"], ["a3"], {}),
        ("MatMul", ["a3", "o"], ["a4"], {}),
        ("Add", ["a4", beside], ["b1"], {}),
        ("MatMul", ["b1", "u"], ["b2"], {}),
        ("Gelu", ["b2"], ["b3"], {}),
        ("MatMul", ["b3", "d"], ["b4"], {}),
        ("Add", ["b4", "b1"], ["y"], {}),
    ]
    return nodes


def attention(r: np.random.Generator) -> onnx.ModelProto:
    """A block of a transformer: attention in two heads, a residual sum, GELU."""
    w = {name: floats(r, 6, 6) / 2 for name in ("q", "k", "v", "o")}
    w.update(u=floats(r, 6, 8) / 2, d=floats(r, 8, 6) / 2, heads=whole(0, 4, 2, 3), whole=whole(0, 4, 6))
    w["scale"] = np.float32(3**-0.5)
    return model_of(block("x", "x"), (4, 6), w)


def autoencoder(r: np.random.Generator) -> onnx.ModelProto:
    w = {"w1": floats(r, 3, 1, 3, 3), "w2": floats(r, 3, 1, 2, 2)}
    nodes = [
        ("Conv", ["x", "w1"], ["a"], {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("Tanh", ["a"], ["b"], {}),
        ("ConvTranspose", ["b", "w2"], ["c"], {"strides": [2, 2]}),
        ("Sigmoid", ["c"], ["y"], {}),
    ]
    return model_of(nodes, (1, 6, 6), w)


def deep(r: np.random.Generator, layers: int) -> onnx.ModelProto:
    """Returns many convolutions, each followed by ReLU; proven bounds grow by four bits in each."""
    nodes, w, before = [], {}, "x"
    for i in range(layers):
        w[f"w{i}"] = floats(r, 8, 8 if i else 1, 3, 3) * np.float32((2 / (72 if i else 9)) ** 0.5)
        nodes += [
            ("Conv", [before, f"w{i}"], [f"a{i}"], {"auto_pad": "SAME_UPPER"}),
            ("Relu", [f"a{i}"], [f"b{i}"], {}),
        ]
        before = f"b{i}"
    return model_of([*nodes, ("GlobalAveragePool", [before], ["y"], {})], (1, 6, 6), w)


def of_sums(r: np.random.Generator) -> onnx.ModelProto:
    """Returns layers in any order, on pictures of 8 x 8, without real functions, which take a ring of 64 bits."""
    nodes, w, last, channels, size = [], {}, "x", 1, 8
    for i, kind in enumerate(r.choice(["Conv", "Relu", "MaxPool", "AveragePool", "LeakyRelu", "Clip", "Add"], 5)):
        given, attrs, halves = [last], {}, {"kernel_shape": [2, 2], "strides": [2, 2]}
        if kind == "Conv":
            out = int(r.integers(1, 4))
            w[f"w{i}"] = floats(r, out, channels, 3, 3) * float(r.choice([0.01, 1, 50]))
            w[f"b{i}"] = floats(r, out) * float(r.choice([0, 1, 100]))
            given, attrs, channels = [last, f"w{i}", f"b{i}"], {"pads": [1, 1, 1, 1]}, out
        elif kind.endswith("Pool"):
            if size == 1:
                continue
            attrs, size = halves, size // 2
        elif kind == "Clip":
            w |= {f"low{i}": np.float32(0), f"high{i}": np.float32(6)}
            given += [f"low{i}", f"high{i}"]
        elif kind == "Add":
            given = [last, last]
        last = f"y{i}"
        nodes.append((str(kind), given, [last], attrs))
    nodes[-1] = (*nodes[-1][:2], ["y"], nodes[-1][3])
    return model_of(nodes, (1, 8, 8), w)
