"""The place of the batch in a file's arrays, and operators along axes, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
import pytest

from onnx_nets import Net, compare, floats, model_of, one, random_number, whole
from quorate.errors import ModelError
from quorate.models import from_onnx
from quorate.models._onnx._operators_movement import OPERATORS
from test_onnx_composed import CASES as COMPOSED
from test_onnx_operators import CASES as OTHERS
from test_onnx_reals import CASES as REALS

CASES: dict[str, Callable[[np.random.Generator], Net]] = {
    "Pow": lambda r: one("Pow", (3, 4), {"p": np.float32(2)}),
    "Pow_of_three": lambda r: one("Pow", (3, 4), {"p": np.float32(3)}),
    "Selu": lambda r: one("Selu", (5,)),
    "Gelu_by_tanh": lambda r: one("Gelu", (5,), approximate="tanh"),
    "Expand": lambda r: one("Expand", (1, 4), {"s": whole(1, 3, 1)}),
    "ReduceSum": lambda r: one("ReduceSum", (3, 4), {"a": whole(1)}),
    "ReduceMax": lambda r: one("ReduceMax", (3, 4, 2), {"a": whole(1, -1)}),
    "ReduceMax_without_axes_left": lambda r: one("ReduceMax", (3, 4), {"a": whole(2)}, keepdims=0),
    "ReduceMin": lambda r: one("ReduceMin", (3, 4), {"a": whole(-1)}, keepdims=0),
    "DepthToSpace": lambda r: one("DepthToSpace", (8, 2, 3), blocksize=2),
    "DepthToSpace_by_columns": lambda r: one("DepthToSpace", (8, 2, 3), blocksize=2, mode="CRD"),
    "SpaceToDepth": lambda r: one("SpaceToDepth", (2, 4, 6), blocksize=2),
    "InstanceNormalization": lambda r: one("InstanceNormalization", (3, 4, 4), {"s": floats(r, 3), "b": floats(r, 3)}),
    "GroupNormalization": lambda r: one(
        "GroupNormalization", (4, 3, 3), {"s": floats(r, 4), "b": floats(r, 4)}, opset=21, num_groups=2
    ),
    "Resize_linear": lambda r: one_resize(r, "half_pixel", 1.5, 2.0),
    "Resize_linear_by_corners": lambda r: one_resize(r, "align_corners", 2.0, 2.5),
    "Resize_linear_smaller": lambda r: one_resize(r, "asymmetric", 0.5, 2.0),
    "Einsum": lambda r: einsum("bthd,bshd->bhts", (2, 3, 4)),
    "Einsum_of_time_first": lambda r: einsum("bij,bkj->ikb", (3, 2), 2, 0, 1),
    "Einsum_outer": lambda r: einsum("bi,bj->bij", (3,)),
    "Einsum_of_a_matrix": lambda r: one("Einsum", (3, 4), {"w": floats(r, 5, 4)}, equation="b i j, k j -> b k i"),
    "RNN": lambda r: recurrent(r, "forward"),
    "RNN_both": lambda r: recurrent(r, "bidirectional"),
    "Where_of_one_everywhere": lambda r: Net(
        [("Neg", ["x"], ["a"], {}), ("Where", ["t", "a", "x"], ["b"], {}), ("Where", ["f", "x", "b"], ["y"], {})],
        (4,),
        {"t": np.array([True]), "f": np.array(False)},
    ),
    "Concat_of_a_constant": lambda r: Net(
        [
            ("Shape", ["x"], ["n"], {"end": 1}),
            ("Concat", ["n", "other"], ["sizes"], {"axis": 0}),
            ("Expand", ["token", "sizes"], ["each"], {}),
            ("Concat", ["each", "x", "x", "each"], ["y"], {"axis": 1}),
        ],
        (2, 3),
        {"token": floats(r, 1, 2, 3), "other": whole(1, 1)},
    ),
}


def one_resize(r: np.random.Generator, way: str, *scales: float) -> Net:
    attrs = {"mode": "linear", "coordinate_transformation_mode": way}
    return Net([("Resize", ["x", "", "s"], ["y"], attrs)], (2, 4, 4), {"s": np.float32([1, 1, *scales])})


def einsum(equation: str, sizes: tuple[int, ...], *back: int) -> Net:
    nodes = [("Mul", ["x", "c"], ["d"], {}), ("Einsum", ["x", "d"], ["e"], {"equation": equation})]
    nodes += [("Transpose", ["e"], ["y"], {"perm": list(back)})] if back else [("Neg", ["e"], ["y"], {})]
    return Net(nodes, sizes, {"c": np.float32(0.5)})


def recurrent(r: np.random.Generator, direction: str) -> Net:
    count = 2 if direction == "bidirectional" else 1
    w = {"w": floats(r, count, 3, 2) / 2, "r": floats(r, count, 3, 3) / 4, "b": floats(r, count, 6), "s": whole(0, -1)}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("RNN", ["t", "w", "r", "b"], ["", "last"], {"hidden_size": 3, "direction": direction}),
        ("Transpose", ["last"], ["l"], {"perm": [1, 0, 2]}),
        ("Reshape", ["l", "s"], ["y"], {}),
    ]
    return Net(nodes, (3, 2), w)


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CASES)
def test_operators_along_axes_are_onnxruntimes(name: str, seed: int) -> None:
    r = random_number(seed)
    net = CASES[name](r)
    x = floats(r, 2, *net.sizes)
    proto = model_of(net.nodes, net.sizes, net.constants, net.opset)
    if name == "GroupNormalization":  # ONNX infers no shape for it
        proto.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 1, ["n", *net.sizes]))
    compare(proto, x)


def test_every_operator_has_a_case() -> None:
    # in test_onnx_loops.py, in shapes that are computed, and in a test of its own of test_onnx_composed.py
    elsewhere = {"Loop", "If", "Constant", "Size", "Round"}
    assert set(OPERATORS) == {name.split("_")[0] for name in {**OTHERS, **CASES, **REALS, **COMPOSED}} | elsewhere


# ---- where the batch lies -------------------------------------------------------------------------------------------

Step = tuple[str, list[int]]


def moved(r: np.random.Generator, shape: list[int], batch: int) -> list[tuple[Step, Step]]:
    """Draws moves of an array and their inverses: turned, merged and split axes, including the batch's."""
    found: list[tuple[Step, Step]] = []
    for _ in range(int(r.integers(2, 7))):
        if r.random() < 0.5 or len(shape) < 2:
            order = r.permutation(len(shape)).tolist()
            found.append((("Transpose", order), ("Transpose", [order.index(i) for i in range(len(order))])))
            shape = [shape[i] for i in order]
            continue
        before, first = list(shape), int(r.integers(0, len(shape) - 1))
        whole_axis = shape[first] * shape[first + 1]
        small = [n for n in range(1, whole_axis + 1) if whole_axis % n == 0]
        n = int(r.choice(small))
        shape = [*shape[:first], *([whole_axis] if r.random() < 0.4 else [n, whole_axis // n]), *shape[first + 2 :]]
        found.append((("Reshape", list(shape)), ("Reshape", before)))
    return found


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("seed", range(40))
def test_arrays_that_are_turned_and_merged_come_back_as_they_were(seed: int, batch: int) -> None:
    """Any moves of axes are computed as the file has them, or refused; most are computed."""
    r = random_number(seed)
    sizes = (int(r.integers(2, 5)), int(r.integers(2, 5)))
    moves = moved(r, [batch, *sizes], batch)
    nodes: list[tuple] = []
    constants: dict[str, np.ndarray] = {"c": np.float32(0.25)}
    at = "x"

    def add(op: str, numbers: list[int]) -> None:
        nonlocal at
        made = f"v{len(nodes)}"
        if op == "Transpose":
            nodes.append((op, [at], [made], {"perm": numbers}))
        else:
            constants[f"s{len(nodes)}"] = whole(*numbers)
            nodes.append((op, [at, f"s{len(nodes)}"], [made], {}))
        at = made

    for (op, numbers), _ in moves:
        add(op, numbers)
    nodes += [("Add", [at, "c"], ["sum"], {}), ("Relu", ["sum"], ["positive"], {})]
    at = "positive"
    for _, (op, numbers) in moves[::-1]:
        add(op, numbers)
    nodes.append(("Neg", [at], ["y"], {}))
    proto = model_of(nodes, sizes, constants, batch=batch)
    x = floats(r, batch, *sizes)
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    try:
        model = from_onnx(proto, bound=10.0)
    except ModelError as error:
        assert "mixes the batch" in str(error)
        return
    assert np.abs(model.predict_clear(x) - want).max() < 1e-5
    more = floats(r, 5, *sizes)  # the same holds for more records
    assert np.abs(model.predict_clear(more) + np.maximum(more + 0.25, 0)).max() < 1e-5


def test_constants_that_are_alike_for_all_records_lie_beside_them() -> None:
    """Heads are beside the batch; a mask has the same rows for both."""
    r = random_number(0)
    rows = np.where(np.tri(3) > 0, 0, -np.inf).astype(np.float32)
    seen = np.zeros((3, 3), np.float32)
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        ("Reshape", ["t", "heads"], ["h"], {}),
        ("Transpose", ["h"], ["q"], {"perm": [1, 0, 2]}),
        ("Transpose", ["h"], ["k"], {"perm": [1, 2, 0]}),
        ("MatMul", ["q", "k"], ["a"], {}),
        ("Add", ["a", "mask"], ["b"], {}),
        ("Softmax", ["b"], ["c"], {"axis": -1}),
        ("MatMul", ["c", "q"], ["d"], {}),
        ("Transpose", ["d"], ["e"], {"perm": [1, 0, 2]}),
        ("Reshape", ["e", "rows"], ["f"], {}),
        ("Gemm", ["f", "w"], ["g"], {}),
        ("Reshape", ["g", "back"], ["i"], {}),
        ("Transpose", ["i"], ["y"], {"perm": [1, 0, 2]}),
    ]
    w = {"heads": whole(3, 4, 2), "rows": whole(6, 4), "back": whole(3, 2, 4), "w": floats(r, 4, 4)}
    x = floats(r, 2, 3, 4)
    model = compare(model_of(nodes, (3, 4), w | {"mask": np.stack([rows] * 4)}, batch=2), x)
    hidden = [step["hidden"] for step in model.shape.steps if "hidden" in step]
    assert np.shape(hidden[0]) == (1, 2, 3, 3)  # heads differ, and records do not
    apart = np.stack([rows, rows, seen, seen])
    with pytest.raises(ModelError, match=r"Add \(Add_5\): a constant of shape \(4, 3, 3\), which tells records"):
        from_onnx(model_of(nodes, (3, 4), w | {"mask": apart}, batch=2), bound=1.0)
    by_head = np.stack([rows, seen] * 2)
    compare(model_of(nodes, (3, 4), w | {"mask": by_head}, batch=2), x)


REFUSED: dict[str, tuple[list[tuple], dict[str, np.ndarray], str]] = {
    "records by each other": (
        [("Transpose", ["x"], ["t"], {"perm": [1, 2, 0]}), ("MatMul", ["x", "t"], ["y"], {})],
        {},
        r"with the batch at axes 0 and 2: before the last two, alike",
    ),
    "a matrix that sums records": (
        [("Transpose", ["x"], ["t"], {"perm": [1, 2, 0]}), ("MatMul", ["t", "w"], ["y"], {})],
        {"w": np.ones((2, 3), np.float32)},
        r"MatMul \(MatMul_1\): axis -1 of an array of shape \(3, 4, 2\): axis 2 is the batch",
    ),
    "shares among records": ([("Softmax", ["x"], ["y"], {"axis": 0})], {}, "it must lie behind the batch"),
    "shares among heads and records": (
        [("Reshape", ["x", "s"], ["t"], {}), ("Softmax", ["t"], ["y"], {"axis": 0})],
        {"s": whole(6, 4)},
        "axis 0 is the batch",
    ),
    "the largest record": ([("ReduceMax", ["x", "a"], ["y"], {})], {"a": whole(0)}, "it must lie behind the batch"),
    "lines of records": (
        [("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}), ("LayerNormalization", ["t", "s"], ["y"], {"axis": 0})],
        {"s": np.ones((3, 2, 4), np.float32)},
        "axis 1, the batch, lies behind it",
    ),
    "more records": ([("Expand", ["x", "s"], ["y"], {})], {"s": whole(2, 1, 1, 1)}, "puts axes before it"),
    "a sum of records": ([("Einsum", ["x", "x"], ["y"], {"equation": "bij,bij->ij"})], {}, "equation='bij,bij->ij'"),
    "a sum of one array": ([("Einsum", ["x", "x"], ["y"], {"equation": "bij,bkl->bik"})], {}, "equation="),
    "a diagonal": ([("Einsum", ["x", "x"], ["y"], {"equation": "bii,bjk->bijk"})], {}, "equation="),
    "the fourth power": ([("Pow", ["x", "p"], ["y"], {})], {"p": np.float32(4)}, "to the power of 4"),
    "a constant between": (
        [("Concat", ["x", "c", "x"], ["y"], {"axis": 1})],
        {"c": np.ones((1, 1, 4), np.float32)},
        "between",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_mix_records_is_refused(name: str) -> None:
    nodes, constants, words = REFUSED[name]
    made = [onnx.helper.make_node(op, i, o, name=f"{op}_{k}", **a) for k, (op, i, o, a) in enumerate(nodes)]
    tensors = [onnx.numpy_helper.from_array(array, key) for key, array in constants.items()]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(made, "net", [value("x", 1, [2, 3, 4])], [value("y", 1, ["a", "b", "c"])], tensors)
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(ModelError, match=words):
        from_onnx(proto, bound=1.0)
