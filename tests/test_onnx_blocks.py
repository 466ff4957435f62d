"""Blocks of networks: normalised lines, recurrent layers, transformers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, one, random_number, whole
from quorate._families import FAMILIES
from quorate.errors import ModelError
from quorate.models import NetworkShape, from_onnx

# ---- normalised lines -----------------------------------------------------------------------------------------------


def hard_lines(r: np.random.Generator, n: int) -> np.ndarray:
    """Returns lines (1, 6, n) within 1 that vary much, hardly, in one element, or not at all."""
    base = float(r.uniform(-0.9, 0.9))
    kinds = [r.uniform(-1, 1, n), base + r.normal(size=n) * 1e-3, np.full(n, base), np.sign(r.normal(size=n))]
    return np.clip(np.stack([*kinds, np.eye(n)[0] * 2 - 1, base + np.eye(n)[0] * 1e-5])[None], -1, 1)


def ranges_hold(model: Any, x: np.ndarray, trunc: str) -> np.ndarray:
    """Returns the outputs of a session that refuses possible wraps; checks that every number is in the stated range."""
    with qr.local("rss", strict=True, trunc=trunc) as mpc:
        arrays = model.shape.program(mpc, model._secrets, [x], len(x), (0, 1))
        units = mpc.reveal_all(*arrays[1:], units=True)
    for step, found in zip(model.shape.steps, units, strict=True):
        assert np.abs(found).max() <= 2 ** step["bits"], step
    return np.asarray(np.ldexp(units[model.shape.output - 1].astype(np.float64), -model.shape.unit))


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_normalised_lines_are_within_their_bound_whatever_they_are(seed: int) -> None:
    r = random_number(seed)
    n, bits = int(r.integers(2, 40)), int(r.integers(8, 31))
    scale, epsilon = float(r.choice([1e-3, 1, 50])), float(r.choice([1e-12, 1e-5, 1e-3, 1]))
    w = {"s": floats(r, n), "b": floats(r, n)}
    net = one("LayerNormalization", (6, n), w, epsilon=epsilon)
    model = from_onnx(model_of(net.nodes, net.sizes, net.constants), bound=scale, bits=bits)
    x = hard_lines(r, n) * scale
    got = ranges_hold(model, x, ("exact", "probabilistic")[seed % 2])
    assert np.abs(got - model.predict_clear(x)).max() <= model.error_bound


@pytest.mark.parametrize("options", [{}, {"shadow": True}], ids=["check", "shadow"])
def test_lost_digits_are_named_outside_of_networks_only(options: dict[str, Any]) -> None:
    r = random_number(2)
    n, bits = int(r.integers(2, 40)), int(r.integers(8, 31))
    scale, epsilon = float(r.choice([1e-3, 1, 50])), float(r.choice([1e-12, 1e-5, 1e-3, 1]))
    w = {"s": floats(r, n), "b": floats(r, n)}
    net = one("LayerNormalization", (6, n), w, epsilon=epsilon)
    model = from_onnx(model_of(net.nodes, net.sizes, net.constants), bound=scale, bits=bits)
    with qr.local("rss", **options) as mpc, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", qr.RangeWarning)
        model.decision_function(mpc, hard_lines(r, n) * scale)
        assert not [one for one in said if "exact result" in str(one.message)]
        small = mpc.input([0.001, 0.002], owner=0, dtype=qr.fixed(64, 16))
        (small * small).reveal()
        assert [one for one in said if "exact result" in str(one.message)]


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_sample_bounds_the_error_of_lines_that_vary_about_as_much(seed: int) -> None:
    r = random_number(seed)
    n = int(r.integers(4, 40))
    net = one("LayerNormalization", (6, n), {"s": floats(r, n)}, epsilon=1e-9)
    proto = model_of(net.nodes, net.sizes, net.constants)
    sample = r.uniform(-1, 1, (3, 6, n))
    model = from_onnx(proto, bound=1.0, sample=sample)
    assert model.error_bound < 0.01 < from_onnx(proto, bound=1.0).error_bound
    x = np.concatenate([hard_lines(r, n), sample / 3])
    got = ranges_hold(model, x, "exact")  # where lines hardly vary, numbers do not wrap
    varies = x.std(axis=-1) >= sample.std(axis=-1).min() / 4
    assert varies.any() and not varies.all()
    assert np.abs(got - model.predict_clear(x))[varies].max() <= model.error_bound


def test_normalised_lines_that_nothing_is_known_of_are_named() -> None:
    net = one("LayerNormalization", (4,), {"s": np.ones(4, np.float32)})
    proto = model_of(net.nodes, net.sizes, net.constants)
    with pytest.warns(qr.errors.ModelWarning, match="give sample= inputs like those to come"):
        from_onnx(proto, bound=1e5)
    with pytest.raises(ModelError, match="more than the tolerance"):
        from_onnx(proto, bound=1.0, tolerance=1e-6)
    refused = {"lines of one number": {}, "behind the batch": {"axis": 0}, "have no result": {"epsilon": 0.0}}
    for words, more in refused.items():
        sizes = (1,) if words.startswith("lines") else (4,)
        net = one("LayerNormalization", sizes, {"s": np.ones(1, np.float32)}, **more)
        with pytest.raises(ModelError, match=words):
            from_onnx(model_of(net.nodes, net.sizes, net.constants), bound=1.0)


# ---- recurrent layers -----------------------------------------------------------------------------------------------


def series(r: np.random.Generator, op: str, steps: int = 3, **attrs: Any) -> Net:
    """Returns a network from a series, (batch, steps, 2), to the last state (batch, 3)."""
    gates = {"LSTM": 4, "GRU": 3}[op]
    w = {"w": floats(r, 1, gates * 3, 2), "r": floats(r, 1, gates * 3, 3), "b": floats(r, 1, gates * 6), "a": whole(0)}
    nodes = [
        ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
        (op, ["t", "w", "r", "b"], ["", "last"], {"hidden_size": 3, **attrs}),
        ("Squeeze", ["last", "a"], ["y"], {}),
    ]
    return Net(nodes, (steps, 2), w, 14)


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("bits", [10, 24, 30])
@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_recurrent_layers_are_within_their_bound_at_the_corners_of_inputs(op: str, bits: int) -> None:
    r = random_number(bits)
    net = series(r, op, linear_before_reset=1) if op == "GRU" else series(r, op)
    model = from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=4.0, bits=bits)
    x = np.where(r.random((4, 3, 2)) < 0.5, -4.0, 4.0)
    got = ranges_hold(model, x, ("exact", "probabilistic")[bits % 4 // 2])
    assert np.abs(got - model.predict_clear(x)).max() <= model.error_bound


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_small_weights_keep_the_bound_of_a_long_series(op: str) -> None:
    """The error of one step fades if rows of recurrent weights add up to less than 1."""
    bounds = []
    for steps in (10, 50):
        net = series(random_number(2), op, steps=steps, **({"linear_before_reset": 1} if op == "GRU" else {}))
        net.constants |= {name: net.constants[name] * np.float32(0.1) for name in "wrb"}
        bounds.append(from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0).error_bound)
    assert bounds[0] <= bounds[1] <= min(1.1 * bounds[0], 0.001)


def test_steps_of_a_series_have_the_same_weights_and_divide_their_sums_once() -> None:
    net = series(random_number(1), "LSTM", steps=4)
    model = from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0)
    steps = model.shape.steps
    assert len(model._secrets) == 2 and sum("same" in step for step in steps) == 2
    # Numbers that are not added up are cut, or divided, in the functions' units.
    assert sum(step["kind"] == "matmul" for step in steps) == 4
    assert not any(step["kind"] == "rescale" and step["up"] < 0 for step in steps)
    described = model.shape.describe()
    assert NetworkShape(**described).describe() == described
    for same in (0, 2, -1, True, "1"):  # the first one has other sizes, as it has no state
        broken = [step | {"same": same} if "same" in step else step for step in described["steps"]]
        with pytest.raises(ModelError, match=r"not the shape of a network: step .* has the same="):
            NetworkShape(**{**described, "steps": broken})


def test_layers_of_series_follow_each_other_and_either_layout_is_the_same() -> None:
    r = random_number(2)
    w = {name: floats(r, 1, 12, 3) / 4 for name in ("w", "r", "u", "q")}
    w |= {"a": whole(1), "i": np.array(-1)}
    lstm = [("LSTM", ["t", "w", "r"], ["k"], {"hidden_size": 3}), ("Squeeze", ["k", "a"], ["m"], {})]
    gru = [("LSTM", ["m", "u", "q"], ["n"], {"hidden_size": 3}), ("Squeeze", ["n", "a"], ["o"], {})]
    last = [("Gather", ["o", "i"], ["y"], {"axis": 0})]
    time_first = model_of([("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}), *lstm, *gru, *last], (4, 3), w, 14)
    x = floats(r, 2, 4, 3)
    model = compare(time_first, x)
    w["a"] = whole(2)
    batch_first = [
        ("LSTM", ["x", "w", "r"], ["k"], {"hidden_size": 3, "layout": 1}),
        ("Squeeze", ["k", "a"], ["m"], {}),
        ("LSTM", ["m", "u", "q"], ["n"], {"hidden_size": 3, "layout": 1}),
        ("Squeeze", ["n", "a"], ["o"], {}),
        ("Gather", ["o", "i"], ["y"], {"axis": 1}),
    ]
    other = from_onnx(model_of(batch_first, (4, 3), w, 14), bound=float(np.abs(x).max()))
    assert np.array_equal(other.predict_clear(x), model.predict_clear(x))


def test_states_that_a_file_makes_of_the_number_of_series_are_zeros() -> None:
    """PyTorch's exporter writes such states if the batch is open."""
    net = series(random_number(3), "LSTM")
    turn, (_, given, out, attrs), squeeze = net.nodes
    w = net.constants | {"one": whole(1), "three": whole(3)}
    nodes = [
        turn,
        ("Shape", ["t"], ["n"], {"start": 1, "end": 2}),
        ("Concat", ["one", "n", "three"], ["sizes"], {"axis": 0}),
        ("ConstantOfShape", ["sizes"], ["zeros"], {}),
        ("LSTM", [*given, "", "zeros", "zeros"], out, attrs),
        squeeze,
    ]
    model = from_onnx(model_of(nodes, net.sizes, w, 15), bound=1.0, bits=30)
    plain = from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0, bits=30)
    assert model.shape.describe() == plain.shape.describe()


REFUSED = {
    "direction='both'": {"direction": "both"},
    "without weights, or with those of other directions than 2": {"direction": "bidirectional"},
    "clip=": {"clip": 3.0},
    "activations=": {"activations": ["Sigmoid", "Relu", "Tanh"]},
    "input_forget=1": {"input_forget": 1},
    "hidden_size=4 with weights of 3": {"hidden_size": 4},
}


@pytest.mark.parametrize("words", REFUSED)
def test_other_recurrent_layers_are_refused_by_name(words: str) -> None:
    net = series(random_number(0), "LSTM", **REFUSED[words])
    net.nodes[2], net.constants["a"] = ("Gather", ["last", "a"], ["y"], {"axis": 0}), np.array(0)
    with pytest.raises(ModelError, match=rf"LSTM \(LSTM_1\): {words}"):
        from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0)


def test_series_whose_batch_is_elsewhere_are_refused_in_words() -> None:
    def refused(nodes: list[tuple], words: str, **more: np.ndarray) -> None:
        net = series(random_number(0), "LSTM")
        with pytest.raises(ModelError, match=words):
            from_onnx(model_of(nodes, net.sizes, net.constants | more, net.opset), bound=1.0)

    turn, (_, given, _, attrs), squeeze = series(random_number(0), "LSTM").nodes
    refused([("LSTM", ["x", *given[1:]], ["", "last"], attrs), squeeze], "a Transpose with perm=.1, 0, 2. come before")
    refused([turn, ("MaxPool", ["t"], ["y"], {"kernel_shape": [1]})], "the batch is axis 1 of its input 0: of this op")
    refused([turn, ("Add", ["t", "x"], ["y"], {})], r"Add \(Add_1\): of shapes .* with the batch elsewhere")
    state = {"h": np.arange(6, dtype=np.float32).reshape(1, 2, 3)}
    started = ("LSTM", [*given, "", "h"], ["", "last"], attrs)
    refused([turn, started, squeeze], "an initial state that tells records of a batch apart", **state)
    started_short = np.ones((1, 1, 2), np.float32)
    refused([turn, started, squeeze], r"an initial state of shape \(1, 1, 2\) of 3", h=started_short)
    computed = ("LSTM", [*given, "", "t"], ["", "last"], attrs)
    refused([turn, computed, squeeze], r"an initial state of shape \(3, 3, 2\), with the batch as axis 1")
    lengths = ("LSTM", [*given, "n"], ["", "last"], attrs)
    refused([turn, lengths, squeeze], "series that end before others", n=np.array([2, 3], np.int32))
    holes = ("LSTM", [*given, "", "", "", "p"], ["", "last"], attrs)
    refused([turn, holes, squeeze], "peepholes", p=np.ones((1, 9), np.float32))


@pytest.mark.parametrize("batch", ["n", 5])
def test_slices_of_the_batch_are_refused_wherever_it_lies(batch: Any) -> None:
    net = series(random_number(0), "LSTM", steps=3)
    turn, squeeze = net.nodes[0], ("Squeeze", ["s", "a"], ["y"], {})
    layer = (net.nodes[1][0], net.nodes[1][1], ["all", "last"], net.nodes[1][3])

    def model(start: int, end: int) -> Any:
        w = net.constants | {"from": whole(start), "to": whole(end), "axis": whole(1)}
        nodes = [turn, layer, ("Slice", ["last", "from", "to", "axis"], ["s"], {}), squeeze]
        return from_onnx(model_of(nodes, net.sizes, w, net.opset, batch), bound=0.1)

    for start, end in ((0, 3), (0, 4), (1, 5), (-3, 2**62), *([] if batch == 5 else [(0, 5), (0, 100), (-100, 2**62)])):
        with pytest.raises(ModelError, match=r"Slice \(Slice_2\): of the batch"):
            model(start, end)
    assert model(0, 2**31 - 1).predict_clear(np.zeros((5, 3, 2))).shape == (5, 3)


@pytest.mark.parametrize("start", [-100, -4, -3, -1, 2, 9])
def test_slices_that_go_backwards_begin_within_the_array(start: int) -> None:
    x = floats(random_number(0), 2, 3)
    for end in (-100, -4, -3, 1):
        w = {"s": whole(start), "e": whole(end), "a": whole(1), "t": whole(-1)}
        proto = model_of([("Slice", ["x", *w], ["y"], {})], (3,), w)
        want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
        if want.size:
            assert np.array_equal(from_onnx(proto, bound=4.0).predict_clear(x), want)
        else:
            with pytest.raises(ModelError, match="is empty"):
                from_onnx(proto, bound=4.0)


# ---- whole networks -------------------------------------------------------------------------------------------------


def transformer(r: np.random.Generator) -> onnx.ModelProto:
    """Returns a block that normalises before attention in two heads and before GELU; its output is the mean of rows."""
    w = {name: floats(r, 4, 4) / 2 for name in ("q", "k", "v", "o")}
    w |= {"u": floats(r, 4, 6) / 2, "d": floats(r, 6, 4) / 2, "e": floats(r, 4, 3)}
    w |= {name: 1 + floats(r, 4) / 4 for name in ("s1", "s2")} | {name: floats(r, 4) / 4 for name in ("t1", "t2")}
    w |= {"heads": whole(0, 3, 2, 2), "flat": whole(0, 3, 4), "scale": np.float32(2**-0.5), "rows": whole(1)}
    nodes: list[tuple] = [("LayerNormalization", ["x", "s1", "t1"], ["n1"], {})]
    for name, turn in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [("MatMul", ["n1", name], [f"{name}1"], {}), ("Reshape", [f"{name}1", "heads"], [f"{name}2"], {})]
        nodes += [("Transpose", [f"{name}2"], [f"{name}3"], {"perm": turn})]
    nodes += [
        ("MatMul", ["q3", "k3"], ["a1"], {}),
        ("Mul", ["a1", "scale"], ["a2"], {}),
        ("Softmax", ["a2"], ["a3"], {"axis": -1}),
        ("MatMul", ["a3", "v3"], ["a4"], {}),
        ("Transpose", ["a4"], ["a5"], {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["a5", "flat"], ["a6"], {}),
        ("MatMul", ["a6", "o"], ["a7"], {}),
        ("Add", ["a7", "x"], ["b"], {}),
        ("LayerNormalization", ["b", "s2", "t2"], ["n2"], {}),
        ("MatMul", ["n2", "u"], ["c1"], {}),
        ("Gelu", ["c1"], ["c2"], {}),
        ("MatMul", ["c2", "d"], ["c3"], {}),
        ("Add", ["c3", "b"], ["c4"], {}),
        ("ReduceMean", ["c4", "rows"], ["c5"], {"keepdims": 0}),
        ("MatMul", ["c5", "e"], ["y"], {}),
    ]
    return model_of(nodes, (3, 4), w)


def of_series(r: np.random.Generator) -> onnx.ModelProto:
    """Returns an LSTM over four steps; a dense layer and a softmax make a class of its last state."""
    net = series(r, "LSTM", steps=4)
    w = net.constants | {"m": floats(r, 3, 3) * 3, "b2": floats(r, 3)}
    w |= {name: w[name] / 2 for name in ("w", "r", "b")}
    nodes = [*net.nodes[:2], ("Squeeze", ["last", "a"], ["h"], {}), ("Gemm", ["h", "m", "b2"], ["z"], {})]
    return model_of([*nodes, ("Softmax", ["z"], ["y"], {"axis": 1})], net.sizes, w, net.opset)


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize("build", [transformer, of_series])
def test_blocks_of_networks_on_every_family(build: Any, protocol: str) -> None:
    r = random_number(5)
    proto = build(r)
    sizes = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim[1:]]
    x = floats(r, 2, *sizes)
    model = from_onnx(proto, sample=x, labels=["a", "b", "c"])
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    with qr.local(protocol) as mpc:
        got = model.decision_function(mpc, x)
        assert (model.predict(mpc, x) == np.array(["a", "b", "c"])[want.argmax(axis=1)]).all()
    assert np.abs(got - want).max() <= min(model.error_bound, 0.002)
