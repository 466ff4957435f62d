"""Constants and axes of one place that make an array wider, sizes that files state as scales, and numbers of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import quorate as qr

X = np.random.default_rng(3).normal(size=(6, 1))


def model(nodes: list[Any], sizes: tuple[int, ...], constants: dict[str, Any], rank: int = 2) -> onnx.ModelProto:
    given = helper.make_tensor_value_info("x", 1, ["n", *sizes])
    made = helper.make_tensor_value_info("y", 1, ["n", *(f"size {i}" for i in range(1, rank))])
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "wide", [given], [made], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def alike(proto: onnx.ModelProto, x: np.ndarray) -> None:
    ours = qr.models.from_onnx(proto, bound=4.0).predict_clear(x)
    x = x.astype(np.float32)
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    assert ours.shape == expected.shape and np.abs(ours - expected).max() < 1e-4


def test_zeros_that_repeat_elements_do() -> None:
    node = helper.make_node
    alike(model([node("Add", ["x", "c"], ["y"])], (1,), {"c": np.zeros(4, np.float32)}), X)
    nodes = [node("Add", ["x", "c"], ["a"]), node("ReduceSum", ["a", "axes"], ["y"], keepdims=1)]
    alike(model(nodes, (1,), {"c": np.zeros((1, 4), np.float32), "axes": np.array([1])}), X)


def test_a_scale_of_float32_gives_the_stated_size() -> None:
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
    for size, scale in ((10, 0.7), (5, 1.4), (10, 2.3), (4, 1.5)):
        proto = model(nodes, (1, size), {"scales": np.array([1, 1, scale], np.float32)}, 3)
        alike(proto, np.random.default_rng(4).normal(size=(3, 1, size)))


def test_axes_of_one_place_are_not_multiplied_as_longer_ones() -> None:
    proto = model([helper.make_node("Einsum", ["x", "c"], ["y"], equation="bij,ijk->bk")], (1, 4), {
        "c": np.ones((4, 1, 3), np.float32)
    })  # fmt: skip
    with pytest.raises(qr.ModelError, match="axes of one place"):
        qr.models.from_onnx(proto, bound=1.0)


@pytest.mark.parametrize("most", [4, 5, 100])
def test_what_goes_by_the_number_of_inputs_is_refused(most: int) -> None:
    node = helper.make_node
    branches = {
        name: helper.make_graph(
            [node("Identity", [of], [name])], name, [], [helper.make_tensor_value_info(name, 1, ["n", 1])]
        )
        for name, of in (("one", "a"), ("two", "b"))
    }
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Neg", ["x"], ["b"]),
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["n"]),
        node("Less", ["n", "most"], ["few"]),
        node("If", ["few"], ["c"], then_branch=branches["one"], else_branch=branches["two"]),
        node("Add", ["a", "b"], ["d"]),
        node("Add", ["c", "d"], ["y"]),
    ]
    proto = model(nodes, (1,), {"zero": np.array(0), "most": np.array(most)})
    with pytest.raises(qr.ModelError, match="number of inputs"):
        qr.models.from_onnx(proto, bound=4.0)
