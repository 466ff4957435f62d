"""Operators that are real functions or comparisons, or depend on order: random shapes, against onnxruntime."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, one, random_number, whole
from quorate._families import DEFAULT, FAMILIES
from quorate.errors import ModelError, ModelWarning

CASES: dict[str, Callable[[np.random.Generator], Any]] = {}


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


def positive(r: np.random.Generator, *shape: int) -> np.ndarray:
    return r.uniform(0.5, 2, shape).astype(np.float32)


def behind(op: str, low: float, more: tuple = (), constants: dict | None = None, opset: int = 20, **attrs: Any) -> Net:
    """Returns an operator on |x| + low."""
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
def Pad_with_a_constant(r):
    return one("Pad", (3, 4), {"p": whole(0, 1, 0, 0, 0, 2), "v": np.float32(-1.5)})


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
    """Returns GatherElements with indices that the file computes, for the number of records."""
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
def ReduceLogSum(r):
    nodes = [("Abs", ["x"], ["a"], {}), ("Add", ["a", "c"], ["b"], {}), ("ReduceLogSum", ["b", "d"], ["y"], {})]
    return Net(nodes, (3, 4), {"c": np.float32(0.5), "d": whole(1)})


@case
def Squeeze_and_others_before_13(r):
    nodes = [
        ("Unsqueeze", ["x"], ["a"], {"axes": [1]}),
        ("Split", ["a"], ["b", "c"], {"axis": 2, "split": [1, 3]}),
        ("ReduceSum", ["c"], ["d"], {"axes": [2], "keepdims": 0}),
        ("Squeeze", ["d"], ["e"], {"axes": [1]}),
        ("Squeeze", ["b"], ["f"], {"axes": [1, 2]}),
        ("Add", ["e", "f"], ["y"], {}),
    ]
    return Net(nodes, (4, 3), {}, 11)


@case
def Floor(r):
    return one("Floor", (4, 5))


@case
def Ceil(r):
    return one("Ceil", (4, 5))


@case
def Sign(r):
    return one("Sign", (4, 5))


@case
def Mod(r):
    return one("Mod", (4, 5), {"c": np.float32([0.75, -0.5, 2, 1, 3])}, fmod=1)


@case
def Mod_of_whole_numbers(r):
    nodes = [("Floor", ["x"], ["a"], {}), ("Cast", ["a"], ["b"], {"to": 7}), ("Mod", ["b", "c"], ["d"], {})]
    return Net([*nodes, ("Cast", ["d"], ["y"], {"to": 1})], (4, 5), {"c": whole(-2, 2, 3, 1, 5)})


@case
def Cast_to_whole_numbers(r):
    nodes = [("Neg", ["x"], ["n"], {}), ("Cast", ["n"], ["a"], {"to": 6}), ("Cast", ["a"], ["y"], {"to": 1})]
    return Net(nodes, (4, 5), {})


def _compared(op: str, *inputs: str) -> Net:
    nodes = [("Neg", ["x"], ["n"], {}), (op, list(inputs), ["b"], {}), ("Cast", ["b"], ["y"], {"to": 1})]
    return Net(nodes, (4,), {"c": np.float32([0.5, 0, -1, 9])})


@case
def Greater(r):
    return _compared("Greater", "x", "c")


@case
def GreaterOrEqual(r):
    return _compared("GreaterOrEqual", "c", "x")


@case
def Less(r):
    return _compared("Less", "x", "n")


@case
def LessOrEqual(r):
    return _compared("LessOrEqual", "c", "x")


@case
def Equal_of_whole_numbers(r):
    nodes = [("Floor", ["x"], ["a"], {}), ("Equal", ["a", "c"], ["b"], {}), ("Cast", ["b"], ["y"], {"to": 1})]
    return Net(nodes, (4, 5), {"c": np.float32([0, -1, 1, 0, 0])})


def _joined(op: str) -> Net:
    nodes = [
        ("Greater", ["x", "c"], ["a"], {}),
        ("Less", ["x", "d"], ["b"], {}),
        (op, ["a", "b"], ["e"], {}),
        (op, ["e", "t"], ["f"], {}),
        ("Not", ["f"], ["g"], {}),
        ("Cast", ["g"], ["y"], {"to": 1}),
    ]
    return Net(nodes, (4,), {"c": np.float32(0), "d": np.float32(0.5), "t": np.array([True, False, True, False])})


@case
def And(r):
    return _joined("And")


@case
def Or(r):
    return _joined("Or")


@case
def Not(r):
    return Net([("Greater", ["x", "c"], ["a"], {}), ("Not", ["a"], ["b"], {}), ("Where", ["b", "x", "c"], ["y"], {})],
               (4,), {"c": np.float32(0.25)})  # fmt: skip


@case
def Where_by_the_input(r):
    nodes = [
        ("Neg", ["x"], ["n"], {}),
        ("Less", ["x", "c"], ["a"], {}),
        ("Where", ["a", "x", "n"], ["b"], {}),
        ("Where", ["a", "d", "b"], ["e"], {}),
        ("Where", ["a", "e", "zero"], ["f"], {}),
        ("Where", ["a", "d", "zero"], ["g"], {}),
        ("Sum", ["e", "f", "g"], ["y"], {}),
    ]
    return Net(nodes, (3, 4), {"c": np.float32(0.25), "d": floats(r, 4), "zero": np.float32(0)})


@case
def ArgMax(r):
    return Net([("ArgMax", ["x"], ["a"], {"axis": -1}), ("Cast", ["a"], ["y"], {"to": 1})], (3, 5), {})


@case
def ArgMin(r):
    nodes = [("ArgMin", ["x"], ["a"], {"axis": 1, "keepdims": 0}), ("Cast", ["a"], ["y"], {"to": 1})]
    return Net(nodes, (3, 5), {})


@case
def TopK_places(r):
    nodes = [("TopK", ["x", "k"], ["v", "a"], {"axis": 1}), ("Cast", ["a"], ["y"], {"to": 1})]
    return Net(nodes, (6, 3), {"k": whole(2)})


JUMPS = (
    "Floor",
    "Ceil",
    "Sign",
    "Mod",
    "Cast",
    "Greater",
    "Less",
    "Equal",
    "And",
    "Or",
    "Not",
    "Where",
    "Arg",
    "TopK_p",
)
"""Functions that jump; no error is proven near the jump."""


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(JUMPS)])
@pytest.mark.parametrize("seed", range(2))
def test_operators(name, seed):
    r = random_number(seed)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 2, *net.sizes))


@pytest.mark.filterwarnings("error::quorate.RangeWarning", "ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(JUMPS)])
@pytest.mark.parametrize("seed", range(2))
def test_operators_that_jump(name, seed):
    """They are exact unless a number is within its error of a jump, where they are off by one."""
    r = random_number(seed)
    net = CASES[name](r)
    proto, x = model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 2, *net.sizes)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    model = qr.models.from_onnx(proto, bound=float(np.abs(x).max()))
    with qr.local("rss") as mpc:
        got = model.predict(mpc, x)
    assert np.abs(model.predict_clear(x) - want).max() < 1e-5
    assert np.abs(got - want).max() < 1e-5 and model.error_bound >= np.abs(got - want).max()


def test_a_number_on_the_limit_is_compared_as_it_is() -> None:
    """If an input has few digits, nothing is rounded, and the bound shows it."""
    nodes = [("Equal", ["x", "c"], ["a"], {}), ("Cast", ["a"], ["y"], {"to": 1})]
    proto = model_of(nodes, (4,), {"c": np.float32([0.5, 0, -1, 1])})
    model = qr.models.from_onnx(proto, bound=1.0)
    with qr.local("rss") as mpc:
        assert model.predict(mpc, [[0.5, 0.25, -1.0, 0.5]]).tolist() == [[1, 0, 1, 0]]
    assert model.error_bound == 1


def test_what_may_be_divided_by_0_is_refused_without_a_sample_in_words() -> None:
    proto = model_of([("Div", ["c", "x"], ["y"], {})], (2,), {"c": np.float32(1)})
    with pytest.raises(qr.ModelError, match=r"Div \(Div_0\): .* it may divide by 0, .* give sample= inputs like those"):
        qr.models.from_onnx(proto, bound=4.0)
    x = np.array([[1.0, -2.0], [4.0, 0.5]])
    model = qr.models.from_onnx(proto, bound=4.0, sample=x)
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - 1 / x).max() <= model.error_bound < 0.01
        beyond = model.predict(mpc, [[0.0, 1e-6]])  # nearer to 0 than the sample; nothing wraps
    assert np.abs(beyond).max() <= 32


def test_a_logarithm_is_of_what_a_sample_reached() -> None:
    proto = model_of([("Log", ["x"], ["y"], {})], (2,), {})
    with pytest.raises(qr.ModelError, match=r"Log \(Log_0\): .* it may take the logarithm of 0"):
        qr.models.from_onnx(proto, bound=(0, 4))
    x = np.array([[0.25, 2.0], [4.0, 0.5]])
    model = qr.models.from_onnx(proto, bound=(0, 4), sample=x)
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - np.log(x)).max() <= model.error_bound < 0.001
        assert np.isfinite(model.predict(mpc, [[0.0, 1e-6]])).all()


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**-8, 1.0, 2.0**10, 2.0**18])
@pytest.mark.parametrize("op", ["Sqrt", "Log", "Reciprocal"])
def test_functions_are_within_their_bound_whatever_the_scale(op: str, scale: float) -> None:
    r = random_number(3)
    nodes = [
        ("Mul", ["x", "s"], ["a"], {}),
        ("Relu", ["a"], ["b"], {}),
        ("Add", ["b", "c"], ["d"], {}),
        (op, ["d"], ["y"], {}),
    ]
    proto = model_of(nodes, (16,), {"s": np.float32(scale), "c": np.float32(scale / 16)})
    x = floats(r, 4, 16)
    model = qr.models.from_onnx(proto, bound=4.0)
    want = model.predict_clear(x)
    with qr.local("rss") as mpc:
        off = np.abs(model.predict(mpc, x) - want).max()
    assert off <= model.error_bound < 0.02 * np.abs(want).max()


@pytest.mark.parametrize("protocol", [name for name in FAMILIES if name != DEFAULT])
@pytest.mark.parametrize("name", ["Sqrt", "Log", "Exp", "Div_of_both", "TopK", "Max_of_many"])
def test_operators_of_other_families(protocol, name):
    r = random_number(5)
    net = CASES[name](r)
    compare(model_of(net.nodes, net.sizes, net.constants, net.opset), floats(r, 1, *net.sizes), protocol)


def test_older_forms_in_what_is_computed_of_shapes() -> None:
    """PyTorch wrote x.view(x.size(0), -1, 2) so for operator set 11."""
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


def _remainders(divisor: float, whole_numbers: bool) -> Any:
    before = [("Floor", ["x"], ["a"], {})] if whole_numbers else [("Identity", ["x"], ["a"], {})]
    return model_of([*before, ("Mod", ["a", "c"], ["y"], {"fmod": 1})], (60,), {"c": np.float32(divisor)})


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("divisor", [49, 0.3, 3, 0.1, 7.5, 5000])
def test_remainders_of_multiples_are_0(divisor: float) -> None:
    """This includes all divisors in the clear: 49 times the inverse of 49 is below 1."""
    x = np.float32(divisor) * np.arange(-30, 30, dtype=np.float32)[None]
    proto = _remainders(divisor, False)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    model = qr.models.from_onnx(proto, bound=float(np.abs(x).max()) + 1)
    assert np.abs(model.predict_clear(x) - want).max() < 1e-9 * divisor
    assert model.error_bound >= divisor  # the session's error there


@pytest.mark.parametrize("divisor", [49, 3, -7, 8192, 1])
def test_remainders_of_whole_numbers_are_exact(divisor: float) -> None:
    around = np.arange(-20, 20)[None] * abs(divisor)
    x = np.concatenate([around, np.arange(-10, 10)[None]], axis=1).astype(np.float32)
    proto = _remainders(divisor, True)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = qr.models.from_onnx(proto, bound=float(np.abs(x).max()) + 1)
        assert (model.predict_clear(x) == want).all()
        with qr.local("rss", check=False) as mpc:
            assert np.abs(model.predict(mpc, x) - want).max() < 1e-3


def test_a_sample_that_comes_to_0_is_told_so() -> None:
    """The error does not ask for a sample that was given, but names the inputs at fault."""
    proto = model_of([("Reciprocal", ["x"], ["y"], {})], (2,), {})
    with pytest.raises(ModelError, match=r"proven it may divide by 0.*give sample= inputs like those to come"):
        qr.models.from_onnx(proto, bound=1.0)
    with pytest.raises(ModelError, match=r"in the sample as well, it may divide by 0.*leave inputs out of the sample"):
        qr.models.from_onnx(proto, sample=[[0.0, 1.0], [0.5, 1.0]])
    assert qr.models.from_onnx(proto, sample=[[0.5, 1.0]]).predict_clear([[0.5, 1.0]]).tolist() == [[2.0, 1.0]]
