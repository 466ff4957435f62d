"""Operators that are real functions, comparisons, or go by order and places: random shapes, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quorate._families import DEFAULT, FAMILIES
from test_onnx_operators import Net, compare, floats, model_of, one, random_number, whole

CASES: dict[str, Callable[[np.random.Generator], Any]] = {}


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


def positive(r: np.random.Generator, *shape: int) -> np.ndarray:
    return r.uniform(0.5, 2, shape).astype(np.float32)


def behind(op: str, low: float, more: tuple = (), constants: dict | None = None, opset: int = 20, **attrs: Any) -> Net:
    """An operator on |x| + low."""
    nodes = [("Abs", ["x"], ["a"], {}), ("Add", ["a", "low"], ["b"], {}), (op, ["b", *more], ["y"], attrs)]
    return Net(nodes, (3, 4), {"low": np.float32(low), **(constants or {})}, opset)


@case
def Abs(r):
    return one("Abs", (3, 4))


@case
def Sqrt(r):
    return behind("Sqrt", 0.01)


@case
def Sqrt_of_squares(r):
    nodes = [("Mul", ["x", "x"], ["a"], {}), ("Add", ["a", "e"], ["b"], {}), ("Sqrt", ["b"], ["y"], {})]
    return Net(nodes, (5,), {"e": np.float32(1e-3)})


@case
def Log(r):
    return behind("Log", 0.1)


@case
def Exp(r):
    return one("Exp", (3, 4))


@case
def Exp_of_large_ones(r):
    return Net([("Mul", ["x", "f"], ["a"], {}), ("Exp", ["a"], ["y"], {})], (4,), {"f": np.float32(6)})


@case
def Reciprocal(r):
    return behind("Reciprocal", 0.25)


@case
def Div_of_both(r):
    nodes = [("Abs", ["x"], ["a"], {}), ("Add", ["a", "c"], ["b"], {}), ("Div", ["x", "b"], ["y"], {})]
    return Net(nodes, (3, 4), {"c": np.float32(0.5)})


@case
def Div_by_negative_ones(r):
    nodes = [("Abs", ["x"], ["a"], {}), ("Sub", ["c", "a"], ["b"], {}), ("Div", ["x", "b"], ["y"], {})]
    return Net(nodes, (4,), {"c": np.float32(-1)})


@case
def Div_of_a_line(r):
    nodes = [("ReduceL1", ["x", "a"], ["s"], {}), ("Add", ["s", "c"], ["b"], {}), ("Div", ["x", "b"], ["y"], {})]
    return Net(nodes, (3, 4), {"a": whole(2), "c": np.float32(1)})


@case
def Pow_of_minus_one(r):
    return behind("Pow", 0.5, ("p",), {"p": np.float32(-1)})


@case
def Softplus(r):
    return one("Softplus", (4,))


@case
def Mish(r):
    return one("Mish", (4,), opset=20)


@case
def Softsign(r):
    return one("Softsign", (4,))


@case
def LogSoftmax(r):
    return one("LogSoftmax", (3, 5), axis=2)


@case
def LogSoftmax_before_13(r):
    return one("LogSoftmax", (5,), opset=11, axis=1)


@case
def ReduceL2(r):
    return one("ReduceL2", (3, 4), {"a": whole(1)}, keepdims=0)


@case
def ReduceL1(r):
    return one("ReduceL1", (3, 4), opset=11, axes=[2])


@case
def ReduceSumSquare(r):
    return one("ReduceSumSquare", (3, 4), opset=13, axes=[1, 2], keepdims=0)


@case
def Softmax_as_it_is_computed(r):
    nodes = [
        ("ReduceMax", ["x"], ["m"], {"axes": [2]}),
        ("Sub", ["x", "m"], ["a"], {}),
        ("Exp", ["a"], ["e"], {}),
        ("ReduceSum", ["e", "l"], ["s"], {"keepdims": 1}),
        ("Div", ["e", "s"], ["y"], {}),
    ]
    return Net(nodes, (3, 5), {"l": whole(2)}, 13)


@case
def Max_of_many(r):
    nodes = [("Neg", ["x"], ["n"], {}), ("Max", ["x", "c", "n", "d"], ["y"], {})]
    return Net(nodes, (4,), {"c": floats(r, 4), "d": np.float32(-0.25)})


@case
def Min_of_many(r):
    nodes = [("Neg", ["x"], ["n"], {}), ("Min", ["c", "x", "n"], ["y"], {})]
    return Net(nodes, (4,), {"c": floats(r, 1, 4)})


@case
def Max_with_nothing(r):
    return Net([("Max", ["c", "x"], ["a"], {}), ("Relu", ["a"], ["y"], {})], (4,), {"c": np.float32(-np.inf)})


@case
def MatMul_from_the_left(r):
    return Net([("MatMul", ["w", "x"], ["y"], {})], (4, 3), {"w": floats(r, 5, 4)})


@case
def AveragePool_ceil(r):
    return one("AveragePool", (2, 7, 6), None, 19, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)


@case
def AveragePool_ceil_with_pads(r):
    pads = {"pads": [1, 1, 1, 0], "count_include_pad": 1}
    return one("AveragePool", (2, 8, 7), None, 19, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, **pads)


@case
def AveragePool_ceil_without_pads_counted(r):
    return one("AveragePool", (2, 8, 7), None, 19, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1])


@case
def TopK(r):
    return Net([("TopK", ["x", "k"], ["y", "i"], {"axis": 1})], (6, 3), {"k": whole(2)})


@case
def TopK_smallest_before_11(r):
    return Net([("TopK", ["x"], ["y", "i"], {"axis": 2, "k": 3})], (2, 5), {}, 9)


@case
def TopK_smallest(r):
    return Net([("TopK", ["x", "k"], ["y", "i"], {"largest": 0})], (5,), {"k": whole(5)})


@case
def GatherElements(r):
    """Indices as a file computes them, for as many records as there are."""
    rows = r.integers(-4, 4, size=(1, 2, 3))
    nodes = [
        ("Shape", ["x"], ["s"], {"start": 0, "end": 1}),
        ("Concat", ["s", "n"], ["t"], {"axis": 0}),
        ("Expand", ["i", "t"], ["j"], {}),
        ("GatherElements", ["x", "j"], ["y"], {"axis": 1}),
    ]
    return Net(nodes, (4, 3), {"i": rows, "n": whole(2, 3)})


def _scattered(r: np.random.Generator, data: str, updates: str, **attrs: Any) -> Net:
    constants = {"i": np.stack([r.permutation(4)[:2] for _ in range(3)]).T[None], "n": whole(2, 3), "m": whole(4, 3)}
    nodes = [
        ("Shape", ["x"], ["s"], {"start": 0, "end": 1}),
        ("Concat", ["s", "n"], ["t"], {"axis": 0}),
        ("Expand", ["i", "t"], ["j"], {}),
        ("Concat", ["s", "m"], ["v"], {"axis": 0}),
        ("Expand", ["c", "v"], ["d"], {}),
        ("Expand", ["c", "t"], ["u"], {}),
        ("Slice", ["x", "b", "e", "a"], ["p"], {}),
        ("ScatterElements", [data, "j", updates], ["y"], {"axis": 1, **attrs}),
    ]
    more = {"c": np.float32([[[0.5]]]), "b": whole(0), "e": whole(2), "a": whole(1)}
    return Net(nodes, (4, 3), constants | more)


@case
def ScatterElements(r):
    return _scattered(r, "x", "p")


@case
def ScatterElements_of_constants(r):
    return _scattered(r, "x", "u")


@case
def ScatterElements_into_constants(r):
    return _scattered(r, "d", "p")


@case
def ScatterElements_that_adds(r):
    return _scattered(r, "x", "p", reduction="add")


@case
def older_forms(r):
    nodes = [
        ("Unsqueeze", ["x"], ["a"], {"axes": [1]}),
        ("Split", ["a"], ["b", "c"], {"axis": 2, "split": [1, 3]}),
        ("ReduceSum", ["c"], ["d"], {"axes": [2], "keepdims": 0}),
        ("Squeeze", ["d"], ["e"], {"axes": [1]}),
        ("Squeeze", ["b"], ["f"], {"axes": [1, 2]}),
        ("Add", ["e", "f"], ["y"], {}),
    ]
    return Net(nodes, (4, 3), {}, 11)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_operators(name, seed):
    r = random_number(seed)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 2, *net.sizes))


@pytest.mark.parametrize("protocol", [name for name in FAMILIES if name != DEFAULT])
@pytest.mark.parametrize("name", ["Sqrt", "Log", "Exp", "Div_of_both", "TopK", "Max_of_many"])
def test_operators_of_other_families(protocol, name):
    r = random_number(5)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 1, *net.sizes), protocol)


def test_older_forms_in_what_is_computed_of_shapes() -> None:
    """As PyTorch wrote x.view(x.size(0), -1, 2) for operator set 11."""
    nodes: list[tuple] = [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "zero"], ["n"], {"axis": 0}),
        ("Unsqueeze", ["n"], ["u"], {"axes": [0]}),
        ("Split", ["s"], ["first", "rest"], {"axis": 0, "split": [1, 2]}),
        ("ReduceProd", ["rest"], ["count"], {"axes": [0], "keepdims": 0}),
        ("Div", ["count", "two"], ["half"], {}),
        ("Unsqueeze", ["half"], ["h"], {"axes": [0]}),
        ("Squeeze", ["u"], ["q"], {"axes": [0]}),
        ("Unsqueeze", ["q"], ["v"], {"axes": [0]}),
        ("Concat", ["v", "h", "twos"], ["shape"], {"axis": 0}),
        ("Reshape", ["x", "shape"], ["y"], {}),
    ]
    proto = model_of(nodes, (3, 4), {"zero": np.array(0), "two": np.array(2), "twos": whole(2)}, 11)
    for size in (2, 6, 2):
        proto.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    compare(proto, floats(random_number(0), 2, 3, 4))
