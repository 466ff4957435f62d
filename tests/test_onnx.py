"""Networks from ONNX files: whole networks against onnxruntime, the shapes that parties exchange, and refusals."""

from __future__ import annotations

import json
import warnings
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
from onnx_nets import attention, autoencoder, compare, deep, floats, model_of, of_sums, random_number, small, whole
from quorate._families import FAMILIES
from quorate.errors import ModelError, ModelWarning, RangeError, ShapeError
from quorate.models import NetworkShape, from_onnx, operators
from quorate.models._onnx._operators_movement import OPERATORS


@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize("build", [small, attention, autoencoder])
def test_whole_networks(build: Any, protocol: str) -> None:
    r = random_number(3)
    proto = build(r)
    sizes = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim[1:]]
    compare(proto, floats(r, 1, *sizes), protocol)


@pytest.mark.parametrize("trunc", ["exact", "probabilistic"])
@pytest.mark.parametrize("build", [small, attention, autoencoder])
def test_every_layer_is_within_its_bound_and_its_range(build: Any, trunc: str) -> None:
    """Inputs are at the corners of their range, where ranges of layers are largest."""
    r = random_number(4)
    model = from_onnx(build(r), bound=1.0)
    x = np.sign(r.normal(size=(6, *model.shape.sizes)))
    report = model.report(x, trunc=trunc)
    assert all(measured <= proven for _, measured, proven in report.layers), report
    assert report.largest_error <= report.error_bound == model.error_bound
    assert report.agreement == 1.0 and "100.00%" in str(report)
    with qr.local("rss", trunc=trunc) as mpc:
        arrays = model.shape.program(mpc, model._secrets, [x], len(x), (0, 1))
        units = mpc.reveal_all(*arrays[1:], units=True)
    for step, found in zip(model.shape.steps, units, strict=True):
        assert np.abs(found).max() <= 2 ** step["bits"], step


def test_factors_are_folded_into_weights_and_maxima_come_before_activations() -> None:
    kinds = [step["kind"] for step in from_onnx(small(random_number(0)), bound=1.0).shape.steps]
    assert "affine" not in kinds
    assert kinds.index("max_pool") < len(kinds) - 1 - kinds[::-1].index("relu")


def test_labels_are_those_of_the_largest_output() -> None:
    r = random_number(6)
    proto, x = small(r), floats(r, 12, 1, 8, 8)
    model = from_onnx(proto, bound=float(np.abs(x).max()), labels=["a", "b", "c"])
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    with qr.local("rss") as mpc:
        assert (model.predict(mpc, x) == np.array(["a", "b", "c"])[want.argmax(axis=1)]).all()
        assert np.abs(model.decision_function(mpc, x) - want).max() < 1e-3
        with pytest.raises(ModelError, match="no predict_proba"):
            model.predict_proba(mpc, x)
    assert (model.predict_clear(x) == np.array(["a", "b", "c"])[want.argmax(axis=1)]).all()


@pytest.mark.filterwarnings("error::quorate.RangeWarning")
@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize(("bound", "bits"), [(1.0, 24), (0.01, 30), (1e9, 8), (4e9, 24), (2.0**36, 30)])
def test_secret_outputs_have_room_in_the_ring_of_reals(bound: float, bits: int, protocol: str) -> None:
    """The network has a ring of few bits, and its outputs have another unit than reals."""
    model = from_onnx(model_of([("Relu", ["x"], ["y"], {})], (3,), {}), bound=bound, bits=bits)
    x = np.array([[bound, bound / 2, -bound]])
    with qr.local(protocol, strict=True) as mpc:
        made = model.predict(mpc, x, reveal=False)
        assert model.shape.ring < 64 and made.dtype == qr.fixed(64, 16)
        assert np.abs(made.reveal() - model.predict_clear(x)).max() <= model.error_bound + 2**-16


def test_secret_outputs_that_reals_do_not_hold_are_revealed_or_divided() -> None:
    large, x = 2.0**60, np.array([[2.0**60, 2.0**59, -(2.0**60)]])
    model = from_onnx(model_of([("Relu", ["x"], ["y"], {})], (3,), {}), bound=large)
    by = {"c": np.float32(2.0**40)}
    divided = from_onnx(model_of([("Div", ["x", "c"], ["a"], {}), ("Relu", ["a"], ["y"], {})], (3,), by), bound=large)
    with qr.local("rss") as mpc:
        with pytest.raises(ModelError, match="reveal them, or let the network divide them"):
            model.predict(mpc, x, reveal=False)
        assert np.abs(model.predict(mpc, x) - model.predict_clear(x)).max() <= model.error_bound
        small = divided.predict(mpc, x, reveal=False).reveal()
    assert np.abs(small - divided.predict_clear(x)).max() <= divided.error_bound + 2**-16


def test_secret_outputs_beyond_the_ring_of_reals_are_refused() -> None:
    model = from_onnx(model_of([("Relu", ["x"], ["y"], {})], (3,), {}), bound=1e15)
    x = np.array([[1e15, 5e14, -1e15]])
    with qr.local("rss") as mpc:
        with pytest.raises(
            ModelError, match=r"reveal=False gives fixed\(64, 16\), and outputs may be as large as 2\^50"
        ):
            model.predict(mpc, x, reveal=False)
        assert np.abs(model.predict(mpc, x) - model.predict_clear(x)).max() <= model.error_bound


def test_ties_are_named_in_a_local_session() -> None:
    proto = model_of([("MatMul", ["x", "w"], ["y"], {})], (2,), {"w": np.eye(2, dtype=np.float32)})
    model = from_onnx(proto, bound=1.0, labels=[0, 1])
    with qr.local("rss") as mpc, pytest.warns(ModelWarning, match="1 of 2 inputs"):
        model.predict(mpc, [[0.5, 0.5], [0.5, 0.75]])


def test_deep_networks_need_a_sample_and_say_so() -> None:
    r = random_number(9)
    proto, x = deep(r, 12), r.uniform(-1, 1, size=(6, 1, 6, 6))
    with pytest.warns(ModelWarning, match="off the clear network's, as far as that is proven"):
        lost = from_onnx(proto, bound=1.0)
    model = from_onnx(proto, bound=1.0, sample=x[:3])
    assert any(step["kind"] == "clip" for step in model.shape.steps)
    largest = np.abs(model.predict_clear(x)).max()
    assert lost.report(x).largest_error > largest / 16
    report = model.report(x)
    assert report.agreement == 1.0 and report.largest_error < largest / 1000, report


def test_inputs_that_a_sample_did_not_reach_are_clipped_and_do_not_wrap() -> None:
    r = random_number(10)
    proto = deep(r, 6)
    x = r.uniform(-1, 1, size=(4, 1, 6, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = from_onnx(proto, bound=1.0, sample=x / 50)
    with qr.local("rss") as mpc:  # which checks values for wraps
        got = model.predict(mpc, x)
        units = mpc.reveal_all(*model.shape.program(mpc, model._secrets, [x], len(x), (0, 1))[1:], units=True)
    assert np.abs(got).max() < np.abs(model.predict_clear(x)).max()
    for step, found in zip(model.shape.steps, units, strict=True):
        assert np.abs(found).max() <= 2 ** step["bits"], step


def test_fewer_bits_cost_less_and_are_less_precise() -> None:
    proto = small(random_number(0))
    costs, errors = [], []
    for bits in (14, 24):
        model = from_onnx(proto, bound=1.0, bits=bits)
        with qr.local("rss") as mpc:
            model.predict(mpc, np.zeros((1, 1, 8, 8)))
            costs.append(max(mpc.stats().online.bytes_sent))
        errors.append(model.error_bound)
    assert costs[0] < 0.95 * costs[1] and errors[0] > 100 * errors[1]
    with pytest.raises(ModelError, match="tolerance"):
        from_onnx(proto, bound=1.0, bits=12, tolerance=1e-6)
    with pytest.raises(ModelError, match="between 8 and 30"):
        from_onnx(proto, bound=1.0, bits=40)
    with pytest.raises(ModelError, match="weight_bits=5 is no whole number between 6 and 30"):
        from_onnx(proto, bound=1.0, weight_bits=5)


@pytest.mark.filterwarnings("ignore::quorate.ModelWarning", "ignore::quorate.RangeWarning")  # of few bits
@pytest.mark.parametrize("seed", range(12))
def test_nothing_can_wrap_in_the_ring_of_a_network(seed: int) -> None:
    """A strict session refuses values that are not proven to fit; inputs are at the corners of their range."""
    r = random_number(100 + seed)
    bits, weight_bits = int(r.integers(8, 31)), int(r.integers(6, 31))
    model = from_onnx(of_sums(r), bound=1.0, bits=bits, weight_bits=weight_bits)
    x = np.where(r.random((2, *model.shape.sizes)) < 0.5, -1.0, 1.0)
    with qr.local("rss", strict=True, trunc=("exact", "probabilistic")[seed % 2]) as mpc:
        arrays = model.shape.program(mpc, model._secrets, [x], len(x), (0, 1))
        units = mpc.reveal_all(*arrays[1:], units=True)
    for step, found in zip(model.shape.steps, units, strict=True):
        assert np.abs(found).max() <= 2 ** step["bits"] <= 2 ** (model.shape.ring - 1), step
    outputs = np.ldexp(units[model.shape.output - 1].astype(float), -model.shape.unit)
    assert np.abs(outputs - model.predict_clear(x)).max() <= model.error_bound


def test_sums_are_divided_behind_a_maximum_of_a_window_and_before_what_does_not_pick() -> None:
    w = {"w1": np.ones((1, 1, 3, 3), np.float32), "w2": np.ones((16, 2), np.float32)}
    ends = [("Flatten", ["c"], ["d"], {}), ("Gemm", ["d", "w2"], ["y"], {})]
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}

    def kinds(middle: tuple, **options: int) -> list[tuple[str, int]]:
        nodes = [("Conv", ["x", "w1"], ["a"], {"pads": [1, 1, 1, 1]}), ("Relu", ["a"], ["b"], {}), middle, *ends]
        shape = from_onnx(model_of(nodes, (1, 8, 8), w), bound=1.0, **options).shape
        return [(s["kind"], s.get("down", s.get("up", 0))) for s in shape.steps]

    behind = kinds(("MaxPool", ["b"], ["c"], pool))
    assert [kind for kind, _ in behind] == ["conv", "max_pool", "relu", "reshape", "rescale", "matmul"]
    assert behind[0][1] == 0 and behind[4][1] < 0
    before = kinds(("AveragePool", ["b"], ["c"], pool))
    assert [kind for kind, _ in before[:3]] == ["conv", "relu", "avg_pool"] and before[0][1] > 0


# ---- among parties --------------------------------------------------------------------------------------------------

ROLES = """
import json, warnings
warnings.simplefilter("error")
if mpc.me == 2:
    mine = qr.models.from_onnx("net.onnx", bound=2.0, labels=["a", "b", "c"])
else:
    mine = qr.models.NetworkShape(**json.load(open("shape.json")))
x = np.load("x.npy") if mpc.me == 0 else None
print(mine.predict(mpc, x, model_owner=2, data_owner=0, rows=3))
print(mine.decision_function(mpc, x, model_owner=2, data_owner=0, reveal_to=1, rows=3) is None)
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_parties_without_the_model_need_its_shape_alone(deployment: Deployment) -> None:
    r = random_number(7)
    proto, x = small(r), np.clip(floats(r, 3, 1, 8, 8), -2, 2)
    onnx.save(proto, str(deployment.folder / "net.onnx"))
    np.save(deployment.folder / "x.npy", x)
    model = from_onnx(str(deployment.folder / "net.onnx"), bound=2.0, labels=["a", "b", "c"])
    (deployment.folder / "shape.json").write_text(json.dumps(model.shape.describe()))
    ended = deployment.run(deployment.script(ROLES))
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    assert [e.out.splitlines() for e in ended] == [
        [str(model.predict_clear(x)), "True"],
        ["None", "False"],
        ["None", "True"],
    ]


def test_a_shape_tells_powers_of_two_and_no_weights() -> None:
    r = random_number(8)
    proto = small(r)
    model = from_onnx(proto, bound=1.0)
    described = model.shape.describe()
    assert NetworkShape(**json.loads(json.dumps(described))).describe() == described
    for tensor in proto.graph.initializer:  # other weights of the same size give the same shape
        if numpy_helper.to_array(tensor).dtype == np.float32:
            values = numpy_helper.to_array(tensor) * np.float32(0.99)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    other = from_onnx(proto, bound=1.0).shape.describe()
    numbers = ("width", "reach", "down", "bits", "up", "times", "plus")
    for mine, others in zip(described["steps"], other["steps"], strict=True):
        plain = [{k: v for k, v in step.items() if k not in numbers} for step in (mine, others)]
        assert plain[0] == plain[1]
        assert all(
            isinstance(v, (int, str, list, bool, type(None))) for k, v in mine.items() if k not in ("times", "plus")
        )
    assert "conv" in str(model.shape) and "4x1x3x3" in str(model.shape)
    with pytest.raises(ModelError, match="not the shape of a network"):
        NetworkShape(**{**described, "steps": [{"kind": "exec", "inputs": [0]}]})


# ---- what is refused ------------------------------------------------------------------------------------------------


def relu(kind: int = TensorProto.FLOAT, sizes: tuple = ("n", 4)) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "net", [value("x", kind, sizes)], [value("y", kind, sizes)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def test_all_unsupported_nodes_are_named_at_once() -> None:
    nodes = [
        ("Cos", ["x"], ["a"], {}),
        ("Relu", ["a"], ["b"], {}),
        ("NonZero", ["x"], ["c"], {}),
        ("Sinh", ["x"], ["d"], {}),
        ("Unsqueeze", ["x", "k"], ["e"], {}),
        ("MaxPool", ["e"], ["f", "places"], {"kernel_shape": [1]}),
        ("Neg", ["places"], ["g"], {}),
        ("TopK", ["x", "many"], ["y", "z"], {}),
    ]
    with pytest.raises(ModelError) as error:
        from_onnx(model_of(nodes, (4,), {"k": whole(1), "many": whole(0)}), bound=1.0)
    text = str(error.value)
    assert "5 nodes that are not supported" in text
    for name in ("Cos (Cos_0)", "NonZero (NonZero_2)", "Sinh (Sinh_3)"):
        assert name in text
    assert "Neg (Neg_6): it takes an output of MaxPool (MaxPool_5)" in text
    assert "TopK (TopK_7): k=0 of 4 elements" in text and "Relu" not in text


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(3))
def test_broken_files_are_refused_in_words(seed: int, tmp_path: Path) -> None:
    """Files with changed or missing bytes are read, or refused with a `ModelError`."""
    r, path = random_number(seed), tmp_path / "net.onnx"
    raw = (small, attention, autoencoder)[seed](r).SerializeToString()
    refused = 0
    for _ in range(60):
        broken = bytearray(raw)
        for place in r.integers(len(raw), size=3):
            broken[place] = int(r.integers(256))
        path.write_bytes(broken)
        try:
            from_onnx(path, bound=1.0)
        except ModelError as error:
            refused += 1
            assert str(error).startswith("from_onnx: ")
    assert refused > 20


@pytest.mark.parametrize("kind", ["FLOAT16", "INT8", "UINT8", "BFLOAT16"])
def test_inputs_of_other_types_are_refused(kind: str) -> None:
    with pytest.raises(ModelError, match=f"the input 'x' is {kind.lower()}; networks with inputs of float32"):
        from_onnx(relu(getattr(TensorProto, kind)), bound=1)
    exported = from_onnx(relu(TensorProto.FLOAT), bound=1)
    assert exported.predict_clear(np.ones((1, *exported.shape.sizes))).min() >= 0


def test_sizes_that_are_not_known_are_asked_for() -> None:
    proto = relu(sizes=("n", 3, "height", None))
    with pytest.raises(ModelError, match=r"axis 2 \(height\), 3 \(no name\): give shape=.*\(3, '\?', '\?'\)"):
        from_onnx(proto, bound=1.0)
    assert from_onnx(proto, bound=1.0, shape=(3, 5, 6)).shape.sizes == (3, 5, 6)
    with pytest.raises(ModelError, match=r"shape=\(2, 5, 6\) is not that of one input"):
        from_onnx(proto, bound=1.0, shape=(2, 5, 6))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file"):
        from_onnx(str(tmp_path / "none.onnx"), bound=1.0)
    with pytest.raises(ModelError, match="takes a path"):
        from_onnx(b"bytes", bound=1.0)
    whole_file = small(random_number(0)).SerializeToString()
    path = tmp_path / "cut.onnx"
    for size in (0, 1, 10, len(whole_file) // 2, len(whole_file) - 3):
        path.write_bytes(whole_file[:size])
        with pytest.raises(ModelError, match="cut off"):
            from_onnx(path, bound=1.0)


def test_weights_in_other_files_are_read_or_named(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    proto = small(random_number(0))
    sizes = {"save_as_external_data": True, "location": "net.data", "size_threshold": 0}
    onnx.save(proto, str(path), **sizes)
    assert from_onnx(path, bound=1.0).error_bound == from_onnx(small(random_number(0)), bound=1.0).error_bound
    data = tmp_path / "net.data"
    data.write_bytes(data.read_bytes()[:40])
    with pytest.raises(ModelError, match=r"cannot be read|cut off"):
        from_onnx(path, bound=1.0)
    data.unlink()
    with pytest.raises(ModelError, match=r"files that are not there: net\.data"):
        from_onnx(path, bound=1.0)
    onnx.save(small(random_number(0)), str(path), **sizes)
    apart = onnx.load(str(path), load_external_data=False)
    with pytest.raises(ModelError, match="in another file: give the path of the model, beside which it lies"):
        from_onnx(apart, bound=1.0)
    for given in (path, onnx.load(str(path))):
        assert from_onnx(given, bound=1.0).error_bound == from_onnx(small(random_number(0)), bound=1.0).error_bound


def test_nothing_is_read_from_the_folder_where_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "other").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    monkeypatch.chdir(tmp_path)

    def outside(**entries: str) -> onnx.TensorProto:
        tensor = onnx.TensorProto(name="c", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        return tensor

    value = helper.make_tensor_value_info
    ends = [value("x", 1, ["n", 4])], [value("y", 1, ["n", 4])]
    add = helper.make_node("Add", ["x", "c"], ["y"])
    within = helper.make_node("Constant", [], ["c"])
    within.attribute.add(name="value", type=onnx.AttributeProto.TENSOR, t=outside(location="other"))
    constant = helper.make_model(helper.make_graph([within, add], "net", *ends))
    weights = helper.make_model(helper.make_graph([add], "net", *ends, [outside(location="other")]))
    (tmp_path / "models/net.onnx").write_bytes(constant.SerializeToString())
    for model in (tmp_path / "models/net.onnx", constant, weights):
        with pytest.raises(ModelError, match="is in another file"):
            from_onnx(model, bound=1.0)
    weights.graph.initializer[0].CopyFrom(outside(location="other", offset="-4"))
    (tmp_path / "net.onnx").write_bytes(weights.SerializeToString())
    with pytest.raises(ModelError, match="cannot be read"):
        from_onnx(tmp_path / "net.onnx", bound=1.0)


def test_a_tolerance_is_met_with_more_bits() -> None:
    proto = small(random_number(0))
    fine = from_onnx(proto, bound=2.0)
    with pytest.raises(ModelError, match=r"more than the tolerance .*: state more bits= and weight_bits="):
        from_onnx(proto, bound=2.0, bits=12, weight_bits=12, tolerance=2 * fine.error_bound)
    assert from_onnx(proto, bound=2.0, bits=24, weight_bits=24, tolerance=2 * fine.error_bound).shape == fine.shape


def test_bounds_are_stated() -> None:
    proto = relu()
    with pytest.raises(ModelError, match="how large inputs are"):
        from_onnx(proto)
    for bad in (0, -1, (1, 0), (1, 2, 3)):
        with pytest.raises(ModelError, match="no magnitude above 0"):
            from_onnx(proto, bound=bad)
    with pytest.raises(ModelError, match="sample has shape"):
        from_onnx(proto, sample=np.ones((1, 5)))
    with pytest.raises(ModelError, match=r"from -3 to 1, beyond bound=1.*state a larger bound, or scale"):
        from_onnx(proto, bound=1, sample=[[0.5, -3, 1, 1]])
    for bound, sample in ((3, [[0.5, -3, 1, 1]]), (1, [[0.5 / 3, -1, 1 / 3, 1 / 3]])):
        assert from_onnx(proto, bound=bound, sample=sample).predict_clear(sample).min() == 0
    with pytest.raises(ModelError, match=r"is beyond 2\^100 or below its inverse; rescale the inputs"):
        from_onnx(proto, bound=1e31)
    assert from_onnx(proto, bound=1e31 / 1e30).shape.high == 10
    for bits in (7, 31, 24.5, "24"):
        with pytest.raises(ModelError, match="no whole number between 8 and 30"):
            from_onnx(proto, bound=1, bits=bits)
    shape = from_onnx(proto, sample=[[0.5, -3, 1, 1]]).shape
    assert (shape.low, shape.high) == (-6, 6)


def test_a_layer_that_nothing_bounds_is_named_with_what_would_do() -> None:
    nodes = [("Mul", ["x", "w"], ["a"], {}), ("Sigmoid", ["a"], ["y"], {})]
    proto = model_of(nodes, (2,), {"w": np.array([1e20, 1], np.float32)})
    with pytest.raises(ModelError, match=r"Sigmoid \(Sigmoid_1\): its results may be as large as 1e\+20.*give sample="):
        from_onnx(proto, bound=1.0)
    with pytest.raises(ModelError, match=r"use fewer bits=, or scale the weights"):
        from_onnx(proto, sample=np.ones((1, 2)))
    small = model_of(nodes, (2,), {"w": np.array([1e20 * 1e-18, 1], np.float32)})
    assert from_onnx(small, sample=np.ones((1, 2))).predict_clear(np.ones((1, 2))).argmax() == 0
    with pytest.raises(ModelError, match="weights that are not finite"):
        from_onnx(
            model_of([("MatMul", ["x", "w"], ["y"], {})], (2,), {"w": np.full((2, 2), np.nan, np.float32)}), bound=1
        )


def test_inputs_of_the_wrong_shape_or_scale_are_refused_before_anything_is_sent() -> None:
    model = from_onnx(small(random_number(0)), bound=(0.0, 1.0))
    with pytest.raises(qr.RangeError, match="complex numbers"):
        model.predict_clear(np.zeros((1, *model.shape.sizes)) + 1j)
    with qr.local("rss") as mpc:
        with pytest.raises(ShapeError, match=r"\(1, 8, 8\); the network takes \(batch, 1, 8, 8\)"):
            model.predict(mpc, np.zeros((1, 8, 8)))
        for value in (255.0, -0.1):
            with pytest.raises(RangeError, match=r"between 0 and 1: scale them"):
                model.predict(mpc, np.full((1, 1, 8, 8), value))
        with pytest.raises(RangeError, match="nan"):
            model.predict(mpc, np.full((1, 1, 8, 8), np.nan))
        with pytest.raises(ModelError, match="party 0 owns the model"):
            model.shape.predict(mpc, np.zeros((1, 1, 8, 8)))
        with pytest.raises(ModelError, match="party 1 owns the inputs: give them as X"):
            model.predict(mpc, rows=1)
        assert max(mpc.stats().online.bytes_sent) == 0
        scaled = np.full((1, 1, 8, 8), 255.0) / 255
        assert np.abs(model.predict(mpc, scaled) - model.predict_clear(scaled)).max() <= model.error_bound + 2**-16


# ---- what is written ------------------------------------------------------------------------------------------------


def test_the_page_and_the_command_list_all_operators() -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "networks.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {OPERATORS[name].limits} |" for name in sorted(OPERATORS)]
    table = "\n".join(["| operator | limits |", "|---|---|", *rows])
    assert page.partition("<!-- operators:begin -->\n")[2].partition("\n<!-- operators:end -->")[0] == table
    assert all(f"\n  {name} " in f"{operators()} \n".replace("\n", " \n") for name in OPERATORS)


def test_padding_with_zeros_hides_sizes_and_changes_nothing_else() -> None:
    """The padding that record 0075 advises."""
    r = np.random.default_rng(5)
    own = {"w": floats(r, 4, 1, 3, 3), "o": floats(r, 4), "m": floats(r, 4 * 36, 3)}
    padded = {
        "w": np.concatenate([own["w"], np.zeros((2, 1, 3, 3), np.float32)]),
        "o": np.concatenate([own["o"], np.zeros(2, np.float32)]),
        "m": np.concatenate([own["m"], np.zeros((2 * 36, 3), np.float32)]),
    }
    nodes = [
        ("Conv", ["x", "w", "o"], ["a"], {}),
        ("Relu", ["a"], ["b"], {}),
        ("Flatten", ["b"], ["c"], {}),
        ("MatMul", ["c", "m"], ["y"], {}),
    ]
    x = r.uniform(0, 1, (2, 1, 8, 8)).astype(np.float32)
    models = [from_onnx(model_of(nodes, (1, 8, 8), w), bound=1.0) for w in (own, padded)]
    with qr.local("rss", check=False) as mpc:
        found = [model.predict(mpc, x) for model in models]
    assert (found[0] == found[1]).all()
    ours, wider = (json.dumps(model.shape.describe()["steps"]) for model in models)
    assert ours != wider
    for own_size, size in (("[4, 1, 3, 3]", "[6, 1, 3, 3]"), ('"offsets": [4]', '"offsets": [6]'), ("144", "216")):
        ours = ours.replace(own_size, size)
    assert ours == wider
