"""Operators that are computed by several steps, and outputs without a type: random shapes, against onnxruntime."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, one, random_number, whole
from quorate._families import DEFAULT, FAMILIES
from quorate.errors import ModelError

CASES: dict[str, Callable[[np.random.Generator], Any]] = {}


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


@case
def CumSum(r):
    return one("CumSum", (int(r.integers(1, 9)), 3), {"a": whole(1)})


@case
def CumSum_of_the_last_axis(r):
    return one("CumSum", (2, int(r.integers(2, 9))), {"a": np.array(-1)}, reverse=1)


@case
def CumSum_without_itself(r):
    return one("CumSum", (int(r.integers(2, 9)),), {"a": whole(1)}, exclusive=1, reverse=int(r.integers(2)))


@case
def CumSum_of_steps_first(r):
    turn = {"perm": [1, 0, 2]}
    nodes = [("Transpose", ["x"], ["t"], turn), ("CumSum", ["t", "a"], ["s"], {}), ("Transpose", ["s"], ["y"], turn)]
    return Net(nodes, (5, 2), {"a": whole(0)})


@case
def ReduceProd(r):
    return one("ReduceProd", (3, int(r.integers(1, 6)), 2), {"a": whole(2)}, keepdims=0)


@case
def ReduceProd_of_axes(r):
    return one("ReduceProd", (2, 3, 2), {"a": whole(1, -1)})


@case
def ReduceProd_before_18(r):
    return one("ReduceProd", (3, 4), opset=13, axes=[1], keepdims=0)


@case
def ReduceLogSumExp(r):
    return one("ReduceLogSumExp", (3, int(r.integers(1, 6))), {"a": whole(2)}, keepdims=int(r.integers(2)))


@case
def ReduceLogSumExp_of_axes(r):
    return one("ReduceLogSumExp", (3, 2, 4), {"a": whole(-1, 1)}, keepdims=0)


@case
def ReduceLogSumExp_of_large_ones(r):
    nodes = [("Mul", ["x", "f"], ["a"], {}), ("ReduceLogSumExp", ["a", "d"], ["y"], {})]
    return Net(nodes, (6,), {"f": np.float32(40), "d": whole(1)})


@case
def Celu(r):
    return one("Celu", (9,), alpha=float(r.choice([0.3, 1.0, 2.5])))


@case
def Erf(r):
    return one("Erf", (3, 5))


@case
def Erf_of_large_ones(r):
    return Net([("Mul", ["x", "f"], ["a"], {}), ("Erf", ["a"], ["y"], {})], (9,), {"f": np.float32(30)})


@case
def Erf_beside_a_gelu(r):
    nodes = [
        ("Mul", ["x", "root"], ["a"], {}),
        ("Erf", ["a"], ["erf"], {}),
        ("Add", ["erf", "one"], ["b"], {}),
        ("Mul", ["x", "b"], ["c"], {}),
        ("Mul", ["c", "half"], ["gelu"], {}),
        ("Add", ["gelu", "erf"], ["y"], {}),
    ]
    return Net(nodes, (4,), {"root": np.float32(0.5**0.5), "one": np.float32(1), "half": np.float32(0.5)})


@case
def Softmax_of_several_axes(r):
    return one("Softmax", (2, 3), opset=11, axis=1)


@case
def Softmax_of_the_last_two(r):
    return one("Softmax", (4, 2, 3), opset=9, axis=-2)


@case
def LogSoftmax_of_several_axes(r):
    return one("LogSoftmax", (2, 3), opset=11, axis=1)


@case
def Softmax_of_heads(r):
    """The batch is behind an axis of heads, and before the lines."""
    nodes = [("Transpose", ["x"], ["a"], {"perm": [1, 0, 2, 3]}), ("Softmax", ["a"], ["b"], {"axis": 2})]
    return Net([*nodes, ("Transpose", ["b"], ["y"], {"perm": [1, 0, 2, 3]})], (2, 3, 2), {}, 11)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(2))
def test_operators(name: str, seed: int) -> None:
    r = random_number(seed)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 2, *net.sizes))


@pytest.mark.parametrize("protocol", [name for name in FAMILIES if name != DEFAULT])
@pytest.mark.parametrize("name", ["CumSum", "ReduceProd", "ReduceLogSumExp", "Erf"])
def test_operators_of_other_families(protocol: str, name: str) -> None:
    r = random_number(5)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 1, *net.sizes), protocol)


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
def test_halves_round_to_the_even_number() -> None:
    """Halves are exact in fixed point; the proven error is that of numbers near to them."""
    nodes = [("Round", ["x"], ["y"], {})]
    proto = model_of(nodes, (40,), {})
    x = np.concatenate([np.arange(-20, 20) / 2, np.arange(-20, 20) / 4 + 0.1])[None].astype(np.float32).reshape(2, 40)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    model = qr.models.from_onnx(proto, bound=10.0)
    assert (model.predict_clear(x) == want).all() and model.error_bound == 1
    assert qr.models.NetworkShape(**json.loads(json.dumps(model.shape.describe()))) == model.shape
    for protocol in FAMILIES:
        with qr.local(protocol) as mpc:
            assert (model.predict(mpc, x) == want).all()


@pytest.mark.parametrize("bits", [12, 24])
def test_the_error_function_is_within_its_bound(bits: int) -> None:
    x = np.linspace(-5, 5, 1500).reshape(-1, 3)
    model = qr.models.from_onnx(model_of([("Erf", ["x"], ["y"], {})], (3,), {}), bound=5.0, bits=bits)
    want = np.reshape([math.erf(value) for value in x.ravel()], x.shape)
    assert np.abs(model.predict_clear(x) - want).max() < 1e-15
    with qr.local("rss") as mpc:
        off = np.abs(model.predict(mpc, x) - want).max()
    assert off <= model.error_bound < 2.0 ** (4 - bits) + 4e-4
    assert bits < 24 or off < 12 * 2.0**-16


def test_logarithms_in_units_above_1_are_off_by_those() -> None:
    """Between e^-40 and e^40 a scale has room for one unit that is far above 1."""
    nodes = [("Mul", ["x", "f"], ["a"], {}), ("Exp", ["a"], ["b"], {}), ("Log", ["b"], ["y"], {})]
    x = np.float32([[-1, 0, 1, 0.5]])
    with pytest.warns(qr.ModelWarning, match="as far as that is proven"):
        model = qr.models.from_onnx(model_of(nodes, (4,), {"f": np.float32(40)}), bound=1.0)
    with qr.local("rss", check=False) as mpc:
        off = np.abs(model.predict(mpc, x) - 40 * x)
    assert 20 < off.max() <= model.error_bound


@pytest.mark.parametrize("kind", ["shape", "type"])
def test_outputs_without_a_shape_or_a_type(kind: str) -> None:
    """Nodes determine both, and onnxruntime takes such files."""
    proto = model_of([("Relu", ["x"], ["a"], {}), ("Neg", ["a"], ["y"], {})], (3,), {})
    if kind == "type":
        proto.graph.output[0].ClearField("type")
    else:
        proto.graph.output[0].type.tensor_type.ClearField("shape")
    before = proto.SerializeToString()
    compare(proto, floats(random_number(0), 2, 3))
    assert proto.SerializeToString() == before


def test_operators_that_are_not_supported_are_computed_in_the_clear(tmp_path: Path) -> None:
    """The message names them, and each of the two parts of the network is imported as it says."""
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Sin", ["a"], ["b"], {}), ("Sigmoid", ["b"], ["y"], {})]
    proto, x = model_of(nodes, (3,), {"w": floats(random_number(0), 3, 4)}), floats(random_number(1), 2, 3)
    with pytest.raises(ModelError, match=r"Sin \(Sin_1\)\nWhat stands before .* output=(?s:.*)extract_model"):
        qr.models.from_onnx(proto, bound=4.0)
    whole_file, part = tmp_path / "whole.onnx", tmp_path / "part.onnx"
    onnx.save(proto, whole_file)
    onnx.utils.extract_model(str(whole_file), str(part), ["b"], ["y"])
    with qr.local("rss") as mpc:
        before = qr.models.from_onnx(proto, bound=4.0, output="a").predict(mpc, x)
        given = np.sin(before).astype(np.float32)
        found = qr.models.from_onnx(part, bound=1.0).predict(mpc, given)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    assert np.abs(found - want).max() < 1e-4


REFUSED: dict[str, tuple[Net, str]] = {
    "sums of records": (one("CumSum", (4,), {"a": whole(0)}), "axis 0 of an array"),
    "no sum": (one("CumSum", (1,), {"a": whole(1)}, exclusive=1), "which are 0"),
    "an activation that falls": (one("Celu", (4,), alpha=-1.0), "alpha=-1"),
    "a product of records": (one("ReduceProd", (4,), {"a": whole(0)}), "axes 0 of an array"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_differ_from_the_file_is_refused(name: str) -> None:
    net, words = REFUSED[name]
    with pytest.raises(ModelError, match=words):
        qr.models.from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0)
