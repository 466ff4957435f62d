"""Networks of several inputs, each secret, public or constant, and of several outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import quorate as qr
from deploying import Deployment
from onnx_nets import floats, random_number, whole
from quorate._families import FAMILIES
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import NetworkShape, from_onnx
from test_onnx import relu

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def network(
    nodes: list[tuple],
    inputs: dict[str, tuple[int, list[Any]]],
    constants: dict[str, np.ndarray],
    outputs: tuple[str, ...] = ("y",),
    opset: int = 17,
) -> onnx.ModelProto:
    """Returns a network. Nodes are (operator, inputs, outputs, attributes); inputs are their types and sizes."""
    made = [helper.make_node(op, i, o, name=f"{op}_{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    value = helper.make_tensor_value_info
    given = [value(name, *of) for name, of in inputs.items()]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(made, "net", given, [value(name, FLOAT, None) for name in outputs], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.shape_inference.infer_shapes(proto)


def masked(r: np.random.Generator) -> onnx.ModelProto:
    """Returns two products of inputs of different sizes, one of which is masked."""
    nodes = [
        ("MatMul", ["x", "w"], ["a"], {}),
        ("Mul", ["a", "mask"], ["b"], {}),
        ("MatMul", ["u", "v"], ["c"], {}),
        ("Add", ["b", "c"], ["d"], {}),
        ("Relu", ["d"], ["y"], {}),
    ]
    inputs = {"mask": (FLOAT, ["n", 3]), "x": (FLOAT, ["n", 5]), "u": (FLOAT, ["n", 2])}
    return network(nodes, inputs, {"w": floats(r, 5, 3), "v": floats(r, 2, 3)})


def given(r: np.random.Generator, count: int = 4) -> dict[str, np.ndarray]:
    mask = r.integers(0, 2, (count, 3)).astype(np.float32)
    return {"x": floats(r, count, 5), "u": 100 * floats(r, count, 2), "mask": mask}


BOUNDS = {"x": 5.0, "u": 500.0, "mask": (0, 1)}


def wanted(proto: onnx.ModelProto, feeds: dict[str, np.ndarray], *names: str) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(list(names) or None, feeds)


@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize("inputs", [None, {"mask": "public", "x": "secret"}])
def test_inputs_are_secret_or_public(protocol: str, inputs: Any) -> None:
    r = random_number(1)
    proto, x = masked(r), given(r)
    model = from_onnx(proto, bound=BOUNDS, inputs=inputs)
    [want] = wanted(proto, x)
    with qr.local(protocol) as mpc:
        got = model.predict(mpc, x)
    assert np.abs(got - want).max() <= model.error_bound + 1e-4 < 0.01
    assert np.abs(model.predict_clear(x) - want).max() < 1e-4
    if protocol == next(iter(FAMILIES)):
        with qr.local(protocol) as mpc:
            assert np.array_equal(model.predict(mpc, x, batch=3), got)
        assert model.report(x).largest_error <= model.error_bound


def test_an_input_in_its_own_units_keeps_its_digits() -> None:
    r = random_number(2)
    proto, x = masked(r), given(r)
    x["u"] = x["u"] / 1e6
    model = from_onnx(proto, bound={**BOUNDS, "u": 5e-4})
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - wanted(proto, x)[0]).max() < 1e-5


def test_a_public_input_costs_no_message() -> None:
    r = random_number(3)
    proto, x = masked(r), given(r)
    sent = []
    for inputs in ({}, {"mask": "public"}):
        with qr.local("rss") as mpc:
            from_onnx(proto, bound=BOUNDS, inputs=inputs).predict(mpc, x)
            sent.append(mpc.stats().online.bytes_sent)
    assert sent[1] < sent[0]


def test_inputs_become_constants_of_as_many_records_as_there_are() -> None:
    r = random_number(4)
    proto, x = masked(r), given(r)
    x["mask"][:] = x["mask"][:1]
    model = from_onnx(proto, bound={"x": 5.0, "u": 500.0}, inputs={"mask": x["mask"][:1]})
    two = {name: x[name] for name in ("x", "u")}
    with qr.local("rss") as mpc:
        got = model.predict(mpc, two)
    assert np.abs(got - wanted(proto, x)[0]).max() <= model.error_bound + 1e-4
    assert "mask" not in str(model.shape) and "mask" not in json.dumps(model.shape.describe())
    one = from_onnx(proto, bound=5.0, inputs={"mask": x["mask"][:1], "u": np.zeros((1, 2))})
    with qr.local("rss") as mpc:  # the only input that is left: by name or alone
        assert np.array_equal(one.predict(mpc, x["x"]), one.predict(mpc, {"x": x["x"]}))


def test_a_state_has_its_batch_elsewhere() -> None:
    """A network that continues from its last state takes a state for each record, with records as the first axis."""
    r = random_number(5)
    w = {"w": floats(r, 1, 16, 3), "r": floats(r, 1, 16, 4)}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("LSTM", ["t", "w", "r", "", "", "h", "c"], ["all", "h1", "c1"], {"hidden_size": 4}),
        ("Squeeze", ["h1", "zero"], ["y"], {}),
    ]
    inputs = {"x": (FLOAT, ["n", 2, 3]), "h": (FLOAT, [1, "n", 4]), "c": (FLOAT, [1, "n", 4])}
    proto = network(nodes, inputs, w | {"zero": whole(0)}, ("y", "c1"))
    x = {"x": floats(r, 3, 2, 3), "h": floats(r, 1, 3, 4), "c": floats(r, 1, 3, 4)}
    model = from_onnx(proto, bound=4.0, output=["y", "c1"])
    asked = {name: values if name == "x" else values.swapaxes(0, 1) for name, values in x.items()}
    with qr.local("rss") as mpc:
        got = model.predict(mpc, asked)
    first, second = wanted(proto, x, "y", "c1")
    assert np.abs(got["y"] - first).max() < 1e-3 and np.abs(got["c1"] - second.swapaxes(0, 1)).max() < 1e-3
    assert got["c1"].shape == (3, 1, 4)


@pytest.mark.parametrize("operator", ["GRU", "RNN"])
def test_states_of_both_directions_depend_on_inputs(operator: str) -> None:
    r = random_number(13)
    gates = {"GRU": 3, "RNN": 1}[operator]
    w = {"w": floats(r, 2, 3 * gates, 2) / 2, "r": floats(r, 2, 3 * gates, 3) / 4, "s": whole(0, -1)}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("Transpose", ["u"], ["h"], {"perm": [1, 0, 2]}),
        (operator, ["t", "w", "r", "", "", "h"], ["", "last"], {"hidden_size": 3, "direction": "bidirectional"}),
        ("Transpose", ["last"], ["l"], {"perm": [1, 0, 2]}),
        ("Reshape", ["l", "s"], ["y"], {}),
    ]
    proto = network(nodes, {"x": (FLOAT, ["n", 3, 2]), "u": (FLOAT, ["n", 2, 3])}, w)
    x = {"x": floats(r, 4, 3, 2), "u": floats(r, 4, 2, 3)}
    model = from_onnx(proto, bound=4.0)
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - wanted(proto, x)[0]).max() <= model.error_bound + 1e-5 < 0.05


def test_tokens_beside_numbers() -> None:
    r = random_number(6)
    nodes = [
        ("Gather", ["t", "i"], ["e"], {}),
        ("ReduceMean", ["e"], ["m"], {"axes": [1], "keepdims": 0}),
        ("Concat", ["x", "m"], ["a"], {"axis": 1}),
        ("MatMul", ["a", "w"], ["y"], {}),
    ]
    inputs = {"x": (FLOAT, ["n", 2]), "i": (INT64, ["n", 4])}
    proto = network(nodes, inputs, {"t": floats(r, 9, 3), "w": floats(r, 5, 2)})
    x = {"x": floats(r, 3, 2), "i": r.integers(0, 9, (3, 4))}
    for roles in ({}, {"i": "public"}):
        model = from_onnx(proto, bound={"x": 5.0}, inputs=roles)
        with qr.local("rss") as mpc:
            assert np.abs(model.predict(mpc, x) - wanted(proto, x)[0]).max() <= model.error_bound + 1e-5
            with pytest.raises(RangeError, match=r"input 'i': 9 at index .*whole numbers from 0 to 8"):
                model.predict(mpc, {**x, "i": x["i"] * 0 + 9})


def test_an_input_that_nothing_depends_on_is_not_asked_for() -> None:
    r = random_number(14)
    nodes = [("Mul", ["u", "v"], ["dead"], {}), ("Mul", ["x", "v"], ["y"], {})]
    proto = network(nodes, {name: (FLOAT, ["n", 3]) for name in ("x", "u", "v")}, {})
    x = {"x": floats(r, 2, 3), "v": floats(r, 2, 3)}
    model = from_onnx(proto, bound=4.0)
    with qr.local("rss") as mpc:
        assert np.abs(model.predict(mpc, x) - x["x"] * x["v"]).max() < 1e-4
        with pytest.raises(ModelError, match="has no input 'u'; it has 'x', 'v'"):
            model.predict(mpc, {**x, "u": x["x"]})


def two_outputs(r: np.random.Generator) -> onnx.ModelProto:
    nodes = [
        ("MatMul", ["x", "w"], ["a"], {}),
        ("Relu", ["a"], ["b"], {}),
        ("MatMul", ["b", "v"], ["y"], {}),
        ("Sigmoid", ["y"], ["z"], {}),
    ]
    w = {"w": floats(r, 4, 3), "v": floats(r, 3, 2)}
    return network(nodes, {"x": (FLOAT, ["n", 4])}, w, ("a", "y", "z"))


def test_several_outputs_are_a_dictionary() -> None:
    r = random_number(7)
    proto, x = two_outputs(r), floats(r, 3, 4)
    model = from_onnx(proto, bound=4.0, output=["z", "a"])
    want = dict(zip(("z", "a"), wanted(proto, {"x": x}, "z", "a"), strict=True))
    with qr.local("rss") as mpc:
        whole_batch, parts = model.predict(mpc, x), model.predict(mpc, x, batch=2)
        secret = model.predict(mpc, x, reveal=False)
        revealed = {name: array.reveal() for name, array in secret.items()}
        planned = mpc.explain(*secret.values())
    assert list(whole_batch) == ["z", "a"] and planned.online.rounds > 0
    for name, values in want.items():
        assert np.abs(whole_batch[name] - values).max() <= model.error_bound + 1e-5
        assert np.array_equal(parts[name], whole_batch[name])
        assert np.abs(revealed[name] - values).max() < 1e-3
        assert np.abs(model.predict_clear(x)[name] - values).max() < 1e-5
    report = model.report(x)
    assert report.largest_error <= report.error_bound == model.error_bound
    with pytest.raises(ModelError, match="labels= are of one output"):
        from_onnx(proto, bound=4.0, output=["z", "a"], labels=["u", "v"])
    assert from_onnx(proto, bound=4.0, output="y", labels=["u", "v"]).predict_clear(x).shape == (3,)


def test_a_shape_has_all_inputs_and_outputs() -> None:
    r = random_number(8)
    shape = from_onnx(masked(r), bound=BOUNDS, inputs={"mask": "public"}).shape
    assert NetworkShape(**json.loads(json.dumps(shape.describe()))) == shape
    assert "'mask' (3,) between 0 and 1 that all parties give" in str(shape)
    several = from_onnx(two_outputs(r), bound=4.0, output=["y", "a"]).shape
    assert NetworkShape(**json.loads(json.dumps(several.describe()))) == several
    assert "is the output 'y'" in str(several)
    described = shape.describe()
    unnumbered = [{k: v for k, v in step.items() if k != "number"} for step in described["steps"]]
    for wrong in (
        {"inputs": []},
        {"inputs": [{"name": "u"}] * 2},
        {"outputs": [{"name": "y"}]},
        {"steps": unnumbered},
    ):
        with pytest.raises(ModelError, match="not the shape of a network"):
            NetworkShape(**{**described, **wrong})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such input": ({"inputs": {"musk": "public"}}, "inputs= names 'musk'; the model's inputs are 'mask', 'x', 'u'"),
    "another role": ({"inputs": {"mask": "open"}}, "an input is 'secret', 'public', or an array"),
    "nothing secret": ({"inputs": dict.fromkeys(("mask", "x", "u"), "public")}, "none of the inputs .* is secret"),
    "another shape": ({"inputs": {"mask": np.ones((1, 4))}}, r"shape \(1, 4\) for 'mask', which has"),
    "words": ({"inputs": {"mask": np.array([["a", "b", "c"]])}}, "no numbers for 'mask'"),
    "an unknown bound": ({"bound": {"y": 1.0}}, "bound= names 'y'"),
    "a bound missing": ({"bound": {"x": 1.0}}, "state how large inputs are"),
    "one sample for all": ({"sample": np.ones((2, 5))}, "sample= of several inputs is a dictionary"),
    "a sample missing": ({"sample": {"x": np.ones((2, 5))}}, "sample= gives nothing for 'mask'"),
    "a shape of nothing": ({"shape": {"y": (2,)}}, "shape= names 'y'"),
    "no output": ({"output": ["y", "q"]}, "output='q' is no value"),
    "twice": ({"output": ["y", "y"]}, "name one value, or each of several once"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_said_of_inputs_is_checked(name: str) -> None:
    options, words = REFUSED[name]
    with pytest.raises(ModelError, match=words):
        from_onnx(masked(random_number(0)), **{"bound": 5.0, **options})


def test_questions_name_inputs() -> None:
    r = random_number(9)
    model, x = from_onnx(masked(r), bound=BOUNDS), given(r)
    with qr.local("rss") as mpc:
        with pytest.raises(ModelError, match="has the inputs 'mask', 'x', 'u': give a dictionary"):
            model.predict(mpc, x["x"])
        with pytest.raises(ModelError, match="has no input 'y'"):
            model.predict(mpc, {**x, "y": x["x"]})
        with pytest.raises(ModelError, match="party 1 owns the input 'u': give it there"):
            model.predict(mpc, {name: x[name] for name in ("x", "mask")})
        assert model.predict(mpc, x).shape == (4, 3)
        with pytest.raises(ShapeError, match="other numbers of records"):
            model.predict(mpc, {**x, "u": x["u"][:2]})
        with pytest.raises(RangeError, match=r"the input 'mask': 2\.0 at index"):
            model.predict(mpc, {**x, "mask": x["mask"] * 0 + 2})
        with pytest.raises(ModelError, match="X is secret"):
            model.predict(mpc, {**x, "u": mpc.input(x["u"], owner=1)})


def test_what_messages_about_inputs_advise_works() -> None:
    r = random_number(11)
    nodes = [("Mul", ["x", "u"], ["a"], {}), ("Mul", ["a", "rate"], ["y"], {})]
    inputs = {"x": (FLOAT, ["n", 3]), "u": (FLOAT, [1, 3]), "rate": (FLOAT, [])}
    proto, x = network(nodes, inputs, {}), floats(r, 2, 3)
    with pytest.raises(ModelError, match=r"the input 'rate' has 0 axes.*or give it as a constant, inputs="):
        from_onnx(proto, bound=4.0, inputs={"u": np.ones((1, 3))})
    with pytest.raises(ModelError, match=r"which axis of the input 'u' .* give it as a constant.*or name that axis"):
        from_onnx(proto, bound=4.0, inputs={"rate": 0.5})
    constant = from_onnx(proto, bound=4.0, inputs={"rate": 0.5, "u": np.full((1, 3), 2.0)})
    inputs["u"] = (FLOAT, ["n", 3])
    named = from_onnx(network(nodes, inputs, {}), bound=4.0, inputs={"rate": 0.5})
    with qr.local("rss") as mpc:
        assert np.abs(constant.predict(mpc, x) - x).max() < 1e-5
        assert np.abs(named.predict(mpc, {"x": x, "u": x * 0 + 2}) - x).max() < 1e-5
    with pytest.raises(ModelError, match=r"sample= gives other numbers of records: give the same number of records"):
        from_onnx(network(nodes, inputs, {}), sample={"x": x, "u": x[:1]}, inputs={"rate": 0.5})
    same = from_onnx(network(nodes, inputs, {}), sample={"x": x, "u": x}, inputs={"rate": 0.5})
    assert np.abs(same.predict_clear({"x": x, "u": x}) - x * x / 2).max() < 1e-6


def test_an_output_in_which_records_lie_side_by_side_is_cut_off_before() -> None:
    nodes = [("Relu", ["x"], ["a"], {}), ("Reshape", ["a", "s"], ["y"], {})]
    proto = network(nodes, {"x": (FLOAT, ["n", 3])}, {"s": whole(1, -1)})
    with pytest.raises(ModelError, match=r"a part of axis 1 of the output 'y': .*, or name a value that has, output="):
        from_onnx(proto, bound=4.0)
    assert from_onnx(proto, bound=4.0, output="a").predict_clear(np.ones((2, 3))).shape == (2, 3)


def test_several_outputs_are_named_once() -> None:
    proto = two_outputs(random_number(12))
    with pytest.raises(ModelError, match=r"name one value, or each of several once, of .*'a', 'y', 'z'"):
        from_onnx(proto, bound=4.0, output=["y", "y"])
    assert len(from_onnx(proto, bound=4.0, output=["a", "y"]).predict_clear(np.ones((2, 4)))) == 2
    assert from_onnx(proto, bound=4.0, output="y").predict_clear(np.ones((2, 4))).shape == (2, 2)


ROLES = """
import json, pathlib
import numpy as np, quorate as qr
folder = pathlib.Path(__file__).parent
mask = np.load(folder / "mask.npy")
if mpc.me == 0:
    model = qr.models.from_onnx(folder / "net.onnx", bound={"x": 5.0, "u": 500.0, "mask": (0, 1)},
                                inputs={"mask": "public"})
    print(model.predict(mpc, {"mask": mask}, rows=2))
else:
    shape = qr.models.NetworkShape(**json.loads((folder / "shape.json").read_text()))
    mine = {name: np.load(folder / f"{name}.npy") for name in ("x", "u")} if mpc.me == 1 else {}
    found = shape.predict(mpc, {"mask": mask, **mine}, rows=2)
    print(found if found is None else found.round(2).tolist())
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_all_parties_give_what_is_public(deployment: Deployment) -> None:
    r = random_number(10)
    proto, x = masked(r), given(r, 2)
    onnx.save(proto, str(deployment.folder / "net.onnx"))
    for name, values in x.items():
        np.save(deployment.folder / f"{name}.npy", values)
    model = from_onnx(proto, bound=BOUNDS, inputs={"mask": "public"})
    (deployment.folder / "shape.json").write_text(json.dumps(model.shape.describe()))
    ended = deployment.run(deployment.script(ROLES))
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    found = json.loads(ended[1].out)
    assert np.abs(np.array(found) - wanted(proto, x)[0]).max() < 0.02
    assert [ended[0].out.strip(), ended[2].out.strip()] == ["None", "None"]


def test_what_is_public_of_a_constant_is_what_the_documentation_says() -> None:
    """Places, and a factor of one element up to a power of two, are in the shape; factors of several are not."""
    nodes = [
        ("Relu", ["x"], ["a"], {}),
        ("Mul", ["a", "rate"], ["b"], {}),
        ("Tanh", ["b"], ["t"], {}),
        ("Gather", ["t", "places"], ["d"], {"axis": 1}),
        ("Mul", ["d", "line"], ["y"], {}),
    ]
    inputs = {"x": (FLOAT, ["n", 4]), "rate": (FLOAT, []), "places": (INT64, [3]), "line": (FLOAT, [3])}
    constants = {"rate": 0.40625, "places": np.array([3, 0, 2]), "line": np.array([0.28125, 0.71875, 0.53125])}
    model = from_onnx(network(nodes, inputs, {}), bound=1.0, inputs=constants)
    x = np.array([[0.5, -1.0, 0.25, 1.0]])
    assert np.allclose(model.predict_clear(x), np.tanh(0.40625 * np.maximum(x, 0))[:, [3, 0, 2]] * constants["line"])
    described = json.dumps(model.shape.describe())
    assert str(2 * 0.40625) in described and "[3, 0, 2]" in described
    assert not any(str(value) in described for value in constants["line"])


def test_several_inputs_and_outputs_are_named() -> None:
    proto = relu()
    proto.graph.output.append(helper.make_tensor_value_info("x", 1, ["n", 4]))
    with pytest.raises(ModelError, match="outputs 'y', 'x': say which"):
        from_onnx(proto, bound=1.0)
    assert len(from_onnx(proto, bound=1.0, output="y").shape.steps) == 1
    with pytest.raises(ModelError, match="no value of the model"):
        from_onnx(proto, bound=1.0, output="z")
    proto.graph.input.append(helper.make_tensor_value_info("u", 1, ["n", 4]))  # an unused input
    assert from_onnx(proto, bound=1.0, output="y").predict_clear(-np.ones((2, 4))).tolist() == [[0] * 4] * 2
