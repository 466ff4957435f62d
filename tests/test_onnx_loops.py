"""Loops and conditions within a file whose steps depend on no input."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnx_nets import compare, floats, model_of, random_number, whole
from quorate.errors import ModelError
from quorate.models import from_onnx


def graph(nodes: list[tuple], inputs: list[tuple], outputs: list[tuple], constants: dict[str, Any]) -> onnx.GraphProto:
    value = helper.make_tensor_value_info
    made = [helper.make_node(op, i, o, name=f"inner_{op}_{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    ends = [[value(*entry) for entry in entries] for entries in (inputs, outputs)]
    return helper.make_graph(made, "inner", *ends, tensors)


def recurrent(r: np.random.Generator, *, going: list[tuple] | None = None, last: str = "Tanh") -> onnx.ModelProto:
    """Returns a Loop that carries a state through series, with the weights outside of it; all states are added up."""
    body = graph(
        [
            ("Gather", ["t", "i"], ["row"], {"axis": 0}),
            ("MatMul", ["row", "w"], ["a"], {}),
            ("MatMul", ["h", "u"], ["b"], {}),
            ("Add", ["a", "b"], ["c"], {}),
            (last, ["c"], ["h_out"], {}),
            ("Identity", ["h_out"], ["each"], {}),
            *(going or [("Less", ["i", "four"], ["go_out"], {})]),
        ],
        [("i", 7, []), ("go", 9, []), ("h", 1, ["n", 3])],
        [("go_out", 9, []), ("h_out", 1, ["n", 3]), ("each", 1, ["n", 3])],
        {"four": np.int64(4)},
    )
    w = {"w": floats(r, 2, 3), "u": floats(r, 3, 3) / 2, "three": whole(3), "first": whole(0), "many": np.int64(9)}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("Shape", ["x"], ["n"], {"end": 1}),
        ("Concat", ["n", "three"], ["sizes"], {"axis": 0}),
        ("ConstantOfShape", ["sizes"], ["zeros"], {}),
        ("Loop", ["many", "", "zeros"], ["state", "states"], {"body": body}),
        ("ReduceMean", ["states", "first"], ["mean"], {"keepdims": 0}),
        ("Add", ["state", "mean"], ["y"], {}),
    ]
    proto = model_of(nodes, (6, 2), w)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, ["n", 3]))
    return proto


def test_a_loop_takes_its_steps_one_after_the_other() -> None:
    """It ends by a condition on the number of steps, before the series ends."""
    r = random_number(0)
    model = compare(recurrent(r), floats(r, 2, 6, 2), bits=28)
    assert [step["kind"] for step in model.shape.steps].count("tanh") == 5


def test_loops_that_depend_on_inputs_are_refused() -> None:
    by_state = [("Identity", ["h_out"], ["go_out"], {})]
    with pytest.raises(ModelError, match=r"Loop \(Loop_4\): which steps it takes depends on the input"):
        from_onnx(recurrent(random_number(0), going=by_state), bound=1.0)
    with pytest.raises(ModelError, match=r"a node that is not supported .*\n  Cos \(inner_Cos_4\)$"):
        from_onnx(recurrent(random_number(0), last="Cos"), bound=1.0)
    endless = [("Identity", ["go"], ["go_out"], {})]
    proto = recurrent(random_number(0), going=endless)
    assert sum(step["kind"] == "tanh" for step in _steps(proto, 6)) == 6
    with pytest.raises(ModelError, match="not supported"):  # a series of 6 steps has no seventh
        from_onnx(proto, bound=1.0)


def _steps(proto: onnx.ModelProto, count: int) -> Any:
    """Returns the loop with at most `steps` steps."""
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for tensor in changed.graph.initializer:
        if tensor.name == "many":
            tensor.CopyFrom(numpy_helper.from_array(np.int64(count), "many"))
    return from_onnx(changed, bound=0.1).shape.steps


@pytest.mark.parametrize("chosen", [True, False])
def test_a_condition_that_is_known_chooses_a_branch(chosen: bool) -> None:
    r = random_number(1)
    branches = {
        "then_branch": graph([("Mul", ["x", "two"], ["p"], {})], [], [("p", 1, ["n", 4])], {"two": np.float32(2)}),
        "else_branch": graph([("Neg", ["x"], ["q"], {})], [], [("q", 1, ["n", 4])], {}),
    }
    nodes = [("If", ["c"], ["a"], branches), ("Relu", ["a"], ["y"], {})]
    model = compare(model_of(nodes, (4,), {"c": np.array(chosen)}), floats(r, 2, 4))
    assert [step["kind"] for step in model.shape.steps] == ["scale", "relu"]
    depends = [("Cast", ["x"], ["c"], {"to": 9}), *nodes]
    with pytest.raises(ModelError, match=r"Cast \(Cast_0\): to another type"):
        from_onnx(model_of(depends, (4,), {}), bound=1.0)


@pytest.mark.parametrize("few", [1, 2])
def test_a_condition_on_how_few_inputs_there_are_is_refused(few: int) -> None:
    """Steps are made once, for any number of inputs; branches that do the same may differ in their moves."""
    r = random_number(3)
    twice = [("Mul", ["x", "factor"], ["q"], {})]
    other = graph(twice, [], [("q", 1, ["n", 4])], {"factor": np.float32(2)})
    moves = [("Mul", ["x", "factor"], ["m"], {}), ("Reshape", ["m", "wide"], ["w"], {})]
    moved = graph([*moves, ("Reshape", ["w", "flat"], ["q"], {})], [], [("q", 1, ["n", 4])], {
        "factor": np.float32(2), "wide": whole(few, 2, 2), "flat": whole(few, 4)
    })  # fmt: skip
    thrice = graph(twice, [], [("q", 1, ["n", 4])], {"factor": np.float32(3)})
    clipped = graph([("Clip", ["x", "", "most"], ["q"], {})], [], [("q", 1, ["n", 4])], {"most": np.float32(99)})
    unknown = graph([("Det", ["x"], ["q"], {})], [], [("q", 1, ["n", 4])], {})

    def network(then: onnx.GraphProto) -> onnx.ModelProto:
        nodes = [
            ("Shape", ["x"], ["n"], {"end": 1}),
            ("Equal", ["n", "few"], ["c"], {}),
            ("If", ["c"], ["y"], {"then_branch": then, "else_branch": other}),
        ]
        return model_of(nodes, (4,), {"few": whole(few)})

    compare(network(moved), floats(r, few, 4))
    for wrong, words in ((thrice, r"Mul \(inner_Mul_0\)"), (clipped, "Mul"), (unknown, "which branch an If takes")):
        with pytest.raises(ModelError, match=f"{words}.* goes by the number of inputs"):
            from_onnx(network(wrong), bound=1.0)


def test_what_one_input_cannot_be_told_of_is_no_matter_of_branches() -> None:
    """An axis of one place may be any axis; a branch that takes another axis is the same for all."""
    rest = [[("p", 1, ["n", 3])], {}]
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("Reshape", ["t", "wide"], ["w"], {}),
        ("ReduceMax", ["w", "first"], ["m"], {"keepdims": 0}),
        ("Reshape", ["m", "flat"], ["a"], {}),
        ("Shape", ["x"], ["s"], {"start": 1, "end": 2}),
        ("Equal", ["s", "four"], ["c"], {}),
        ("If", ["c"], ["y"], {f"{way}_branch": graph([(op, ["a"], ["p"], {})], [], *rest) for way, op in
                              (("then", "Relu"), ("else", "Neg"))}),
    ]  # fmt: skip
    constants = {"wide": whole(4, -1), "flat": whole(-1, 3), "four": whole(4), "first": whole(0)}
    compare(model_of(nodes, (4, 3), constants, 18), floats(random_number(5), 3, 4, 3))
    nodes[4] = ("Shape", ["a"], ["s"], {"start": 0, "end": 1})
    with pytest.raises(ModelError, match="which branch the If of 'y' takes of 1 inputs cannot be told"):
        from_onnx(model_of(nodes, (4, 3), {**constants, "four": whole(1)}, 18), bound=1.0)


def test_a_named_output_needs_what_graphs_within_take() -> None:
    """The nodes that follow it may be of any kind."""
    branch = graph([("Mul", ["a", "a"], ["p"], {})], [], [("p", 1, ["n", 4])], {})
    nodes = [
        ("Neg", ["x"], ["a"], {}),
        ("If", ["c"], ["b"], {"then_branch": branch, "else_branch": branch}),
        ("Cos", ["b"], ["y"], {}),
    ]
    proto = model_of(nodes, (4,), {"c": np.array(True)})
    with pytest.raises(ModelError, match=r"Cos \(Cos_2\)"):
        from_onnx(proto, bound=1.0)
    x = floats(random_number(2), 2, 4)
    assert np.allclose(from_onnx(proto, bound=9.0, output="b").predict_clear(x), np.square(x.astype(np.float64)))
