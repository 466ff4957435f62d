"""Layer normalisations and GELU that files write as several nodes, and attention as exporters write it."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import onnxruntime
import pytest

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, random_number, whole
from quorate._families import DEFAULT, FAMILIES
from quorate.errors import ModelError
from quorate.models import from_onnx
from test_onnx_operators import causal

MEAN = "m=ReduceMean(x,last)"
SQUARES = f"{MEAN} d=Sub(x,m) s=Mul(d,d) v=ReduceMean(s,last)"
ROOT = "w=Add(v,e) r=Sqrt(w)"
ENDS = "o=Mul(n,g) y=Add(o,b)"
PLAIN = f"{SQUARES} {ROOT} i=Reciprocal(r) xi=Mul(x,i)"
KERAS = f"{SQUARES} {ROOT} i=Reciprocal(r) ig=Mul(i,g) xg=Mul(x,ig)"

WRITTEN = {
    "root": f"{SQUARES} {ROOT} n=Div(d,r) {ENDS}",
    "power": f"{MEAN} d=Sub(x,m) s=Pow(d,two) v=ReduceMean(s,last) {ROOT} n=Div(d,r) {ENDS}",
    "two means": f"{SQUARES} k=ReduceMean(x,other) c=Sub(x,k) {ROOT} n=Div(c,r) {ENDS}",
    "inverse": f"{SQUARES} {ROOT} i=Reciprocal(r) n=Mul(d,i) {ENDS}",
    "one by root": f"{SQUARES} {ROOT} i=Div(one,r) n=Mul(d,i) {ENDS}",
    "inverse power": f"{SQUARES} w=Add(v,e) i=Pow(w,half) n=Mul(d,i) {ENDS}",
    "axes that come back": f"{MEAN} d=Sub(x,m) s=Mul(d,d) u=ReduceSum(s,last) u7=Div(u,seven) v=Unsqueeze(u7,last) "
    f"{ROOT} i=Reciprocal(r) n=Mul(i,d) {ENDS}",
    "turned around": f"{MEAN} d=Sub(m,x) s=Mul(d,d) v=ReduceMean(s,last) {ROOT} n=Div(d,r) {ENDS}",
    "keras": f"{KERAS} nm=Neg(m) t=Mul(nm,ig) u=Add(t,b) y=Add(xg,u)",
    "tensorflow": f"{KERAS} t=Mul(m,ig) u=Sub(b,t) y=Add(xg,u)",
    "keras without a factor": f"{PLAIN} nm=Neg(m) t=Mul(nm,i) u=Add(t,b) y=Add(xi,u)",
    "tensorflow without a factor": f"{PLAIN} t=Mul(m,i) u=Sub(b,t) y=Add(xi,u)",
    "moments": f"{MEAN} d=Sub(x,m) s=Mul(x,x) q=ReduceMean(s,last) mm=Mul(m,m) v=Sub(q,mm) {ROOT} n=Div(d,r) {ENDS}",
    "root mean square": f"s=Pow(x,two) v=ReduceMean(s,last) {ROOT} i=Reciprocal(r) n=Mul(x,i) {ENDS}",
    "gelu": "a=Div(x,root2) f=Erf(a) p=Add(f,one) q=Mul(x,p) y=Mul(q,point5)",
    "gelu halved before": "a=Div(x,root2) f=Erf(a) p=Add(f,one) q=Mul(point5,p) y=Mul(x,q)",
    "gelu of half": "h=Mul(x,point5) a=Div(x,root2) f=Erf(a) p=Add(one,f) y=Mul(p,h)",
}
"""Nodes in their order; `keepdims` has its default."""


def nodes_of(text: str) -> list[tuple]:
    found: list[tuple] = []
    for made, op, given in re.findall(r"(\w+)=(\w+)\(([\w,]+)\)", text):
        found.append((op, given.split(","), [made], {"keepdims": 0} if made == "u" and op == "ReduceSum" else {}))
    return found


def constants(r: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    numbers = {
        "e": 1e-3,
        "two": 2,
        "one": 1,
        "half": -0.5,
        "root2": math.sqrt(2),
        "point5": 0.5,
        "eight": 8,
        "seven": 7,
    }
    w = {name: np.float32(value) for name, value in numbers.items()}
    return w | {"last": whole(-1), "other": whole(2), "g": floats(r, n), "b": floats(r, n)}


def used(nodes: list[tuple], w: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value for name, value in w.items() if any(name in node[1] for node in nodes)}


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_out_is_one_step(name: str) -> None:
    r = random_number(3)
    nodes, n = nodes_of(WRITTEN[name]), 8
    x = floats(r, 2, 3, n)
    model = compare(model_of(nodes, (3, n), used(nodes, constants(r, n))), x, sample=x)
    kinds = [step["kind"] for step in model.shape.steps if step["kind"] != "rescale"]
    if name.startswith("gelu"):
        assert kinds == ["gelu"]
    elif name != "root mean square":  # which is computed with negatives beside the lines
        assert kinds == ["normalise", "affine"]


@pytest.mark.parametrize("name", ["root", "keras", "root mean square"])
def test_lines_may_be_of_channels(name: str) -> None:
    """Channels are turned, so that they are lines."""
    r = random_number(4)
    nodes = nodes_of(WRITTEN[name])
    w = constants(r, 4) | {"last": whole(1)}
    w |= {"g": w["g"].reshape(4, 1, 1), "b": w["b"].reshape(4, 1, 1)}
    x = floats(r, 2, 4, 3, 2)
    compare(model_of(nodes, (4, 3, 2), used(nodes, w)), x, sample=x)
    if name == "root":
        w["last"] = whole(1, 3)
        compare(model_of(nodes, (4, 3, 2), used(nodes, w)), x, sample=x)


def mutated(r: np.random.Generator, nodes: list[tuple], w: dict[str, np.ndarray]) -> None:
    """Returns a changed pattern: another input, operator or number."""
    place = int(r.integers(0, len(nodes)))
    op, given, out, attrs = nodes[place]
    before = ["x", *(o for node in nodes[:place] for o in node[2])]
    way = r.random()
    if way < 0.5:
        given = list(given)
        given[int(r.integers(0, len([i for i in given if i != "last"])))] = str(r.choice(before))
    elif way < 0.7 and op in ("Add", "Sub", "Mul", "Div"):
        op = str(r.choice(["Add", "Sub", "Mul"]))
    elif way < 0.8 and op in ("Add", "Sub", "Mul", "Div"):
        given = given[::-1]
    else:
        name = str(r.choice(list(w)))
        w[name] = (
            whole(int(r.choice([1, -2]))) if name in ("last", "other") else w[name] * np.float32(r.choice([-1, 0.7]))
        )
    nodes[place] = (op, given, out, attrs)


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_nearly_written_so_is_refused_or_computed_as_it_is(name: str) -> None:
    r = random_number(len(name))
    right = 0
    plain = onnxruntime.SessionOptions()  # its own fusions take m - x for x - m
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for _ in range(40):
        nodes, w = nodes_of(WRITTEN[name]), constants(r, 8)
        mutated(r, nodes, w)
        x = floats(r, 2, 8, 8)
        proto = model_of(nodes, (8, 8), used(nodes, w))
        try:
            model = from_onnx(proto, bound=8.0)
        except ModelError as error:
            known = ("not supported", "no scale gives them room", "valid", "as far as that is proven")
            assert any(words in str(error) for words in known)
            continue
        want = onnxruntime.InferenceSession(proto.SerializeToString(), plain).run(["y"], {"x": x})[0]
        assert np.allclose(model.predict_clear(x), want, rtol=1e-4, atol=1e-4), nodes
        right += 1
    assert right >= 2


# ---- attention as exporters write it --------------------------------------------------------------------------------


def steps_first(r: np.random.Generator, mask: bool) -> Net:
    """Returns `torch.nn.MultiheadAttention` of two heads: heads are beside the batch, then steps are."""
    w = {"in": floats(r, 8, 24) / 3, "bias": floats(r, 24), "out": floats(r, 8, 8) / 3, "last": floats(r, 8)}
    w |= {"three": whole(4, -1, 3, 8), "zero": whole(0), "second": whole(-2), "heads": whole(4, -1, 4)}
    w |= {"rows": whole(-1, 8), "back": whole(4, -1, 8), "scale": np.float32(0.5)}
    w |= {f"i{k}": np.array(k) for k in range(3)}
    nodes: list[tuple] = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("MatMul", ["t", "in"], ["a"], {}),
        ("Add", ["a", "bias"], ["b"], {}),
        ("Reshape", ["b", "three"], ["c"], {}),
        ("Unsqueeze", ["c", "zero"], ["d"], {}),
        ("Transpose", ["d"], ["e"], {"perm": [3, 1, 2, 0, 4]}),
        ("Squeeze", ["e", "second"], ["f"], {}),
        *(("Gather", ["f", f"i{k}"], [name], {"axis": 0}) for k, name in enumerate("qkv")),
        *(("Reshape", [name, "heads"], [f"{name}1"], {}) for name in "qkv"),
        ("Transpose", ["q1"], ["q2"], {"perm": [1, 0, 2]}),
        ("Transpose", ["v1"], ["v2"], {"perm": [1, 0, 2]}),
        ("Mul", ["q2", "scale"], ["q3"], {}),
        ("Transpose", ["k1"], ["k2"], {"perm": [1, 2, 0]}),
        ("MatMul", ["q3", "k2"], ["g"], {}),
        *([("Add", ["g", "mask"], ["h"], {})] if mask else [("Identity", ["g"], ["h"], {})]),
        ("Softmax", ["h"], ["s"], {"axis": -1}),
        ("MatMul", ["s", "v2"], ["u"], {}),
        ("Transpose", ["u"], ["o1"], {"perm": [1, 0, 2]}),
        ("Reshape", ["o1", "rows"], ["o2"], {}),
        ("Gemm", ["o2", "out", "last"], ["o3"], {"transB": 1}),
        ("Reshape", ["o3", "back"], ["o4"], {}),
        ("Transpose", ["o4"], ["y"], {"perm": [1, 0, 2]}),
    ]
    hidden = np.where(np.tri(4) > 0, 0, -np.inf).astype(np.float32)[None]
    return Net(nodes, (4, 8), w | ({"mask": hidden} if mask else {}))


def scaled_dot_product(r: np.random.Generator) -> Net:
    """Returns `torch.nn.functional.scaled_dot_product_attention`: keys are turned as one array of batch and heads."""
    w = {name: floats(r, 8, 8) / 2 for name in "qkvo"} | {"root": np.float32([2**-0.25])}
    w |= {
        "split": whole(0, 4, 2, 4),
        "flat": whole(-1, 4, 8),
        "one": whole(-1),
        "two": whole(-2),
        "none": whole(-(2**63)),
    }
    w |= {"end": whole(2**63 - 1)}
    nodes: list[tuple] = []
    for name in "qkv":
        nodes += [("MatMul", ["x", name], [f"{name}1"], {}), ("Reshape", [f"{name}1", "split"], [f"{name}2"], {})]
        nodes += [("Transpose", [f"{name}2"], [f"{name}3"], {"perm": [0, 2, 1, 3]})]
    nodes += [
        ("Shape", ["k3"], ["n"], {"start": 0}),
        ("Slice", ["n", "one", "end"], ["n1"], {}),
        ("Slice", ["n", "two", "one"], ["n2"], {}),
        ("Slice", ["n", "none", "two"], ["n3"], {}),
        ("Concat", ["one", "n2", "n1"], ["to"], {"axis": 0}),
        ("Reshape", ["k3", "to"], ["k4"], {}),
        ("Transpose", ["k4"], ["k5"], {"perm": [0, 2, 1]}),
        ("Concat", ["n3", "n1", "n2"], ["from"], {"axis": 0}),
        ("Reshape", ["k5", "from"], ["k6"], {}),
        ("Mul", ["q3", "root"], ["q4"], {}),
        ("Mul", ["k6", "root"], ["k7"], {}),
        ("MatMul", ["q4", "k7"], ["a"], {}),
        ("Softmax", ["a"], ["s"], {"axis": -1}),
        ("MatMul", ["s", "v3"], ["u"], {}),
        ("Transpose", ["u"], ["o1"], {"perm": [2, 0, 1, 3]}),
        ("Reshape", ["o1", "rows"], ["o2"], {}),
        ("Gemm", ["o2", "o"], ["o3"], {}),
        ("Reshape", ["o3", "steps"], ["o4"], {}),
        ("Transpose", ["o4"], ["y"], {"perm": [1, 0, 2]}),
    ]
    return Net(nodes, (4, 8), w | {"rows": whole(-1, 8), "steps": whole(4, -1, 8)})


OTHERS = [name for name in FAMILIES if name != DEFAULT]

ATTENTION: dict[str, Any] = {
    "heads beside the batch": lambda r: steps_first(r, False),
    "heads beside the batch, masked": lambda r: steps_first(r, True),
    "scaled dot product": scaled_dot_product,
}


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize(
    ("name", "protocol"),
    [*((name, DEFAULT) for name in ATTENTION), *(("heads beside the batch, masked", family) for family in OTHERS)],
)
def test_attention_is_computed_as_exporters_write_it(name: str, protocol: str) -> None:
    r = random_number(6)
    net = ATTENTION[name](r)
    x = floats(r, 2, *net.sizes)
    proto = model_of(net.nodes, net.sizes, net.constants)
    model = compare(proto, x, protocol)
    assert model.report(x, protocol).largest_error < 0.001
    kinds = [step["kind"] for step in model.shape.steps]
    assert kinds.count("matmul2") == 2 and kinds.count("softmax") == 1
    with qr.local(protocol) as mpc:
        one = model.predict(mpc, x[:1])
    assert np.abs(one - model.predict_clear(x)[:1]).max() <= model.error_bound


@pytest.mark.parametrize("name", ["heads beside the batch", "scaled dot product"])
def test_attention_of_one_record_is_that_of_each(name: str) -> None:
    """In a file with a batch of one, the batch cannot be distinguished from an axis of one place."""
    r = random_number(7)
    net = ATTENTION[name](r)
    single = {
        key: np.where(value == -1, {"three": 1, "heads": 2, "rows": 4, "back": 1}.get(key, -1), value)
        if key in ("three", "heads", "rows", "back")
        else value
        for key, value in net.constants.items()
    }
    x = floats(r, 3, *net.sizes)
    model = from_onnx(model_of(net.nodes, net.sizes, single, batch=1), bound=4.0)
    whole_batch = model_of(net.nodes, net.sizes, net.constants)
    want = onnxruntime.InferenceSession(whole_batch.SerializeToString()).run(["y"], {"x": x})[0]
    assert np.abs(model.predict_clear(x) - want).max() < 1e-5


BEHIND = {
    "nothing": [("Identity", ["b"], ["y"], {})],
    "a reshape": [("Reshape", ["b", "s"], ["y"], {})],
    "a mean": [("ReduceMean", ["b", "t"], ["y"], {})],
    "a product": [("MatMul", ["b", "w"], ["y"], {})],
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("by", ["Add", "Where"])
def test_masks_that_repeat_lines(by, behind):
    """One line of scores, with a mask for each of three lines."""
    mask = causal(4, -np.inf)[:3]
    masked = ("Add", ["x", "m"], ["a"], {}) if by == "Add" else ("Where", ["c", "v", "x"], ["a"], {})
    nodes = [masked, ("Softmax", ["a"], ["b"], {}), *BEHIND[behind]]
    constants = {"m": mask, "c": mask < 0, "v": np.float32(-np.inf), "s": whole(0, 12), "t": whole(1)}
    compare(
        model_of(nodes, (1, 4), constants | {"w": floats(random_number(4), 4, 2)}), floats(random_number(3), 2, 1, 4)
    )
