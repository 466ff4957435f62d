"""Networks with inputs of whole numbers that are row numbers of tables: tokens, categories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import quorate as qr
from deploying import Deployment
from onnx_nets import block, compare, floats, model_of, random_number, whole
from quorate._families import FAMILIES
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models import NetworkShape, from_onnx
from test_onnx_blocks import ranges_hold

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
CASES: dict[str, Callable[[np.random.Generator], tuple[onnx.ModelProto, np.ndarray]]] = {}


def case(build: Callable) -> Callable:
    CASES[build.__name__] = build
    return build


def tokens(nodes: list[tuple], sizes: tuple[int, ...], constants: dict, kind: int = INT64, **more: Any) -> Any:
    return model_of(nodes, sizes, constants, kind=kind, **more)


LOOK_UP = ("Gather", ["t", "x"], ["e"], {"axis": 0})


@case
def rows(r):
    """Returns a network as PyTorch writes `nn.Embedding`."""
    return tokens([("Gather", ["t", "x"], ["y"], {})], (5,), {"t": floats(r, 11, 4)}), r.integers(0, 11, (3, 5))


@case
def rows_for_a_batch_alone(r):
    return tokens([("Gather", ["t", "x"], ["y"], {})], (), {"t": floats(r, 8, 3)}), r.integers(0, 8, 6)


@case
def rows_of_a_table_of_one(r):
    return tokens([("Gather", ["t", "x"], ["y"], {})], (2,), {"t": floats(r, 1, 3)}), np.zeros((2, 2), np.int64)


@case
def cast_as_keras_does(r):
    nodes = [("Cast", ["x"], ["c"], {"to": INT32}), ("Gather", ["t", "c"], ["e"], {}), ("Neg", ["e"], ["y"], {})]
    return tokens(nodes, (2, 3), {"t": floats(r, 9, 4)}), r.integers(0, 9, (2, 2, 3))


@case
def means_of_words(r):
    w = {"t": floats(r, 20, 6), "w": floats(r, 6, 3), "b": floats(r, 3), "a": whole(1)}
    nodes = [
        LOOK_UP,
        ("MatMul", ["e", "w"], ["m"], {}),
        ("Add", ["m", "b"], ["n"], {}),
        ("Relu", ["n"], ["o"], {}),
        ("ReduceMean", ["o", "a"], ["y"], {"keepdims": 0}),
    ]
    return tokens(nodes, (7,), w, INT32), r.integers(0, 20, (4, 7)).astype(np.int32)


@case
def two_tables(r):
    """Returns two tables of different lengths with the same numbers: the limit of inputs is that of the shorter one."""
    w = {"t": floats(r, 12, 3), "u": floats(r, 9, 3)}
    nodes = [LOOK_UP, ("Gather", ["u", "x"], ["f"], {}), ("Mul", ["e", "f"], ["y"], {})]
    return tokens(nodes, (4,), w), r.integers(0, 9, (3, 4))


@case
def categories(r):
    """Returns columns with tables of their own, as for a table of records: each element has its own limit."""
    w = {f"t{i}": floats(r, n, 2) for i, n in enumerate((3, 40, 7))}
    w |= {f"i{i}": np.array(i) for i in range(3)} | {"w": floats(r, 6, 2)}
    nodes = [("Gather", ["x", f"i{i}"], [f"c{i}"], {"axis": 1}) for i in range(3)]
    nodes += [("Gather", [f"t{i}", f"c{i}"], [f"e{i}"], {}) for i in range(3)]
    nodes += [("Concat", ["e0", "e1", "e2"], ["e"], {"axis": -1}), ("MatMul", ["e", "w"], ["y"], {})]
    return tokens(nodes, (3,), w), np.stack([r.integers(0, n, 5) for n in (3, 40, 7)], axis=1)


@case
def moved_first(r):
    """Returns a network with the batch behind the steps, as recurrent layers have it, and padded by row 0."""
    w = {"t": floats(r, 10, 3), "p": whole(0, 0, 0, 1), "b": whole(1), "l": whole(5), "a": whole(1)}
    nodes = [
        ("Pad", ["x", "p"], ["c"], {}),
        ("Slice", ["c", "b", "l", "a"], ["d"], {}),
        ("Transpose", ["d"], ["g"], {"perm": [1, 0]}),
        ("Gather", ["t", "g"], ["f"], {"axis": -2}),
        ("Transpose", ["f"], ["y"], {"perm": [1, 0, 2]}),
    ]
    return tokens(nodes, (4,), w), r.integers(0, 10, (3, 4))


@case
def lstm(r):
    w = {"t": floats(r, 9, 3), "w": floats(r, 1, 16, 3), "r": floats(r, 1, 16, 4), "b": floats(r, 1, 32), "a": whole(0)}
    nodes = [
        LOOK_UP,
        ("Transpose", ["e"], ["s"], {"perm": [1, 0, 2]}),
        ("LSTM", ["s", "w", "r", "b"], ["", "last"], {"hidden_size": 4}),
        ("Squeeze", ["last", "a"], ["y"], {}),
    ]
    return tokens(nodes, (3,), w, opset=14), r.integers(0, 9, (2, 3))


@case
def transformer(r):
    """Returns a block of one transformer: positions, attention in two heads, normalised lines, GELU."""
    w = {name: floats(r, 6, 6) / 8 for name in ("q", "k", "v", "o")}
    w.update(t=floats(r, 30, 6), p=floats(r, 1, 8, 6), places=whole(0, 1, 2, 3), depth=np.float32(6**0.5))
    w.update(u=floats(r, 6, 8) / 4, d=floats(r, 8, 6) / 4, heads=whole(0, 4, 2, 3), whole=whole(0, 4, 6))
    w.update(scale=np.float32(3**-0.5), g=floats(r, 6), h=floats(r, 6))
    nodes: list[tuple] = [
        LOOK_UP,
        ("Mul", ["e", "depth"], ["e1"], {}),
        ("Gather", ["p", "places"], ["e2"], {"axis": 1}),
        ("Add", ["e1", "e2"], ["e3"], {}),
        ("LayerNormalization", ["e3", "g", "h"], ["n"], {"epsilon": 0.5}),
    ]
    nodes += block("n", "e3")
    return tokens(nodes, (4,), w), r.integers(0, 30, (2, 4))


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("protocol", FAMILIES)
@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_onnxruntime(name: str, protocol: str) -> None:
    proto, x = CASES[name](random_number(len(name)))
    model = compare(proto, x, protocol, **({"sample": x} if name == "transformer" else {}))
    assert NetworkShape(**json.loads(json.dumps(model.shape.describe()))) == model.shape


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_every_row_is_within_its_bound_and_its_range(seed: int) -> None:
    """Tables and positions have any size, in a session that refuses possible wraps."""
    r = random_number(seed)
    count, size, places = (int(r.integers(1, most)) for most in (70, 6, 5))
    scale = float(r.choice([1e-6, 1, 1e5]))
    w = {"t": floats(r, count, size) * np.float32(scale * r.choice([1e-3, 1, 1e3]))}
    w |= {"p": floats(r, places, size) * np.float32(scale), "f": floats(r, size), "w": floats(r, size, 2)}
    nodes = [LOOK_UP, ("Mul", ["e", "f"], ["m"], {}), ("Add", ["m", "p"], ["n"], {}), ("MatMul", ["n", "w"], ["y"], {})]
    model = from_onnx(tokens(nodes, (places,), w), bits=int(r.integers(8, 31)), weight_bits=int(r.integers(6, 31)))
    assert [step["kind"] for step in model.shape.steps if step["kind"] in ("embedding", "affine")] == ["embedding"]
    x = np.broadcast_to(np.arange(count)[:, None], (count, places))
    got = ranges_hold(model, x, ("exact", "probabilistic")[seed % 2])
    assert np.abs(got - model.predict_clear(x)).max() <= model.error_bound
    report = model.report(x)
    assert all(measured <= proven for _, measured, proven in report.layers), report


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning", "error::quorate.RangeWarning")
def test_positions_far_above_the_table_have_room() -> None:
    w = {"t": floats(random_number(0), 9, 2) * np.float32(1e-20), "p": floats(random_number(1), 3, 2)}
    nodes = [LOOK_UP, ("Add", ["e", "p"], ["y"], {})]
    model = from_onnx(tokens(nodes, (3,), w), weight_bits=30)
    x = np.array([[0, 4, 8], [1, 2, 3]])
    assert np.abs(ranges_hold(model, x, "exact") - model.predict_clear(x)).max() <= model.error_bound < 1e-15


def test_factors_and_offsets_of_columns_go_into_the_table() -> None:
    """A factor is also folded behind an offset by positions."""
    r = random_number(0)
    w = {"t": floats(r, 9, 2), "f": floats(r, 2), "o": floats(r, 2), "p": floats(r, 3, 2), "g": floats(r, 2)}
    nodes = [
        LOOK_UP,
        ("Mul", ["e", "f"], ["a"], {}),
        ("Add", ["a", "o"], ["b"], {}),
        ("Add", ["b", "p"], ["c"], {}),
        ("Mul", ["c", "g"], ["d"], {}),
        ("Sub", ["d", "o"], ["i"], {}),
        ("Add", ["i", "p"], ["y"], {}),
    ]
    model = compare(tokens(nodes, (3,), w), r.integers(0, 9, (2, 3)))
    assert [(step["kind"], step["offsets"]) for step in model.shape.steps] == [("embedding", [3, 2])]


def small(**options: Any) -> Any:
    w = {"t": floats(random_number(0), 10, 4), "u": floats(random_number(1), 1000, 4)}
    nodes = [
        ("Split", ["x"], ["a", "b"], {"axis": 1, "num_outputs": 2}),
        ("Gather", ["t", "a"], ["c"], {}),
        ("Gather", ["u", "b"], ["d"], {}),
        ("Add", ["c", "d"], ["s"], {}),
        ("Flatten", ["s"], ["y"], {}),
    ]
    return from_onnx(tokens(nodes, (2,), w), **options)


BAD = {
    "a row too many": ([[9, 999], [10, 0]], r"inputs: 10 at index \(1, 0\).* from 0 to 9;"),
    "a row too many of the other table": ([[9, 1000]], r"1000 at index \(0, 1\).* from 0 to 999;"),
    "from the end": ([[0, 5], [0, -1]], r"-1 at index \(1, 1\).*negative ones do not count from the end"),
    "between two rows": ([[0.5, 5]], r"0\.5 at index \(0, 0\).* whole numbers from 0 to 9"),
    "no number": ([[0, np.nan]], r"nan at index \(0, 1\).* whole numbers from 0 to 999"),
    "no row": ([[0, np.inf]], r"inf at index \(0, 1\)"),
    "beyond doubles": ([[0, 2**63 - 1]], r"9\.22.*e\+18 at index \(0, 1\)"),
    "words": ([["the", "cat"]], "not a rectangular array of numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_inputs_that_name_no_row_are_refused_before_anything_is_sent(name: str) -> None:
    values, words = BAD[name]
    model = small()
    with qr.local("rss") as mpc:
        for ask in (
            lambda: model.predict(mpc, values),
            lambda: model.predict_clear(values),
            lambda: model.report(values),
        ):
            with pytest.raises(RangeError, match=words):
                ask()
        assert max(mpc.stats().online.bytes_sent) == 0
    with pytest.raises(RangeError, match=words.replace("inputs", "sample")):
        small(sample=values)


def test_inputs_of_another_shape_are_refused() -> None:
    model, one = small(), from_onnx(CASES["rows_for_a_batch_alone"](random_number(0))[0])
    for asked, x, words in ((model, [0, 1], r"\(batch, 2\)"), (one, [[1], [2]], r"\(batch\)"), (model, [], r"\(batch")):
        with pytest.raises(ShapeError, match=words):
            asked.predict_clear(x)
    with pytest.raises(ModelError, match=r"sample has shape \(2,\); inputs are \(batch, 2\)"):
        small(sample=[1, 2])


def test_integers_and_floats_of_whole_numbers_are_as_good_from_files_and_in_batches(tmp_path: Path) -> None:
    model = small(labels=list(range(4 * 1)))
    r = random_number(2)
    x = np.stack([r.integers(0, 10, 7), r.integers(0, 1000, 7)], axis=1)
    np.save(tmp_path / "x.npy", x.astype(np.uint16))
    wanted = model.predict_clear(x)
    with qr.local("rss") as mpc:
        for given in (x, x.astype(np.float32), x.tolist(), str(tmp_path / "x.npy"), x.astype(object)):
            assert (model.predict(mpc, given, batch=3) == wanted).all()
        with pytest.raises(RangeError, match=r"index \(1, 0\).*of the batch that begins at record 3"):
            model.predict(mpc, np.where(np.arange(7)[:, None] == 4, 10, x), batch=3)


def test_a_limit_on_memory_says_how_many_are_looked_up_at_a_time() -> None:
    model = small()
    x = np.zeros((400, 2), np.int64)
    with qr.local("rss", max_memory="600kB") as mpc:
        refused = mpc.explain(model.decision_function(mpc, x, reveal=False)).refusal
        assert "max_memory" in (refused or "")
        found = model.decision_function(mpc, x)
    assert np.abs(found - model.predict_clear(x)).max() <= model.error_bound


def test_bounds_and_samples_go_by_the_tables() -> None:
    assert small().shape.table_rows == (10, 1000) and (small().shape.low, small().shape.high) == (0, 999)
    assert small(bound=(0, 999)).shape == small(bound=999).shape == small(sample=[[9, 999], [0, 1]]).shape
    for bound in (1000, (1, 999), (0, 10), 1.0, "many"):
        with pytest.raises(ModelError, match="from 0 to 999: leave bound= out"):
            small(bound=bound)


def test_a_table_is_shared_once_and_which_row_it_is_is_found_out_once() -> None:
    w = {"t": floats(random_number(0), 40, 3), "u": floats(random_number(1), 40, 3), "i": whole(1, 0)}
    first = [("Gather", ["t", "x"], ["y"], {})]
    more = [
        LOOK_UP,
        ("Gather", ["u", "x"], ["f"], {}),
        ("Gather", ["x", "i"], ["z"], {"axis": 1}),
        ("Gather", ["t", "z"], ["g"], {}),
        ("Sum", ["e", "f", "g"], ["y"], {}),
    ]
    models = [from_onnx(tokens(nodes, (2,), w)) for nodes in (first, more)]
    assert [step.get("same") for step in models[1].shape.steps if step["kind"] == "embedding"] == [None, None, 0]
    x, sent = np.array([[3, 39], [0, 1]]), []
    for model in models:
        with qr.local("rss") as mpc:
            assert np.abs(model.predict(mpc, x) - model.predict_clear(x)).max() <= model.error_bound
            before = mpc.stats().online.bytes_sent
            model.predict(mpc, x)
            sent.append([now - was for now, was in zip(mpc.stats().online.bytes_sent, before, strict=True)])
            assert sum(sent[-1]) < sum(before)  # the tables are held
    # Two look-ups by the same numbers, and one by these in another order: each is compared with each row twice.
    assert sum(sent[1]) < 2.5 * sum(sent[0])


ROLES = """
import json
mine = qr.models.from_onnx("net.onnx") if mpc.me == 2 else qr.models.NetworkShape(**json.load(open("shape.json")))
x = np.load("x.npy") if mpc.me == 0 else None
print(np.round(mine.predict(mpc, x, model_owner=2, data_owner=0, reveal_to=0, rows=4) @ np.ones(3), 3) if x is not None
      else mine.predict(mpc, x, model_owner=2, data_owner=0, reveal_to=0, rows=4))
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.stop()


def test_parties_without_the_model_need_its_shape_alone(deployment: Deployment) -> None:
    proto, x = CASES["means_of_words"](random_number(7))
    onnx.save(proto, str(deployment.folder / "net.onnx"))
    np.save(deployment.folder / "x.npy", x)
    model = from_onnx(proto)
    (deployment.folder / "shape.json").write_text(json.dumps(model.shape.describe()))
    ended = deployment.run(deployment.script(ROLES))
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    wanted = np.round(model.predict_clear(x) @ np.ones(3), 3)
    assert [e.out.strip() for e in ended] == [str(wanted), "None", "None"]


def test_a_shape_tells_sizes_and_powers_of_two_of_a_table() -> None:
    shape = small().shape
    assert "whole numbers (2,) between 0 and 999" in str(shape) and "1000x4" in str(shape)
    table = next(step for step in shape.steps if step["kind"] == "embedding")
    known = {"kind": "embedding", "inputs": [1], "weights": [10, 4], "offsets": None, "width": 24, "bits": 24}
    assert table == known
    described = shape.describe()
    for rows in (None, [10], [0, 5], [10, 2.5], [10, "9"], 2.5, 0, "10"):
        with pytest.raises(ModelError, match="not the shape of a network"):
            NetworkShape(**{**described, "table_rows": rows})
    for step in (
        {"kind": "relu", "inputs": [0], "bits": 4},
        {"kind": "concat", "inputs": [0, 3], "axis": 1, "bits": 24},
    ):
        with pytest.raises(ModelError, match="not the shape of a network"):
            NetworkShape(**{**described, "steps": [*described["steps"], step]})
    other = {"kind": "affine", "inputs": [3], "weights": [10, 4], "offsets": None, "width": 24, "bits": 24, "same": 0}
    with pytest.raises(ModelError, match="not the shape of a network: step"):
        NetworkShape(**{**described, "steps": [*described["steps"], other]})
    relu = from_onnx(model_of([("Relu", ["x"], ["y"], {})], (2,), {}), bound=1.0).shape.describe()
    assert "table_rows" not in relu and NetworkShape(**relu).table_rows is None  # as in older descriptions
    with pytest.raises(ModelError, match="not the shape of a network"):
        NetworkShape(**{**relu, "table_rows": 5})


def test_all_that_is_made_of_such_numbers_but_rows_is_named_at_once() -> None:
    w = {"t": floats(random_number(0), 9, 2), "v": floats(random_number(0), 9), "n": whole(*range(9)).reshape(3, 3)}
    w |= {"c": floats(random_number(0), 2, 9, 2), "one": whole(1), "m": floats(random_number(0), 3, 2)}
    w |= {"far": whole(100), "places": whole(0, 1, 2), "axes": whole(1).reshape(1, 1, 1)}
    nodes = [
        ("Cast", ["x"], ["a"], {"to": TensorProto.FLOAT}),
        ("MatMul", ["a", "m"], ["a1"], {}),
        ("Equal", ["x", "one"], ["d"], {}),
        ("Where", ["d", "a1", "m"], ["d1"], {}),
        ("ArgMax", ["x"], ["b"], {"axis": 1}),
        ("ReduceMax", ["x", "one"], ["b1"], {}),
        ("Gather", ["v", "x"], ["f"], {}),
        ("Gather", ["n", "x"], ["g"], {}),
        ("Gather", ["t", "x"], ["h"], {"axis": 1}),
        ("Gather", ["c", "x"], ["i"], {}),
        ("Add", ["x", "places"], ["o"], {}),
        ("Sub", ["x", "axes"], ["o1"], {}),
        ("Gather", ["x", "places"], ["o2"], {"axis": 1}),
        ("Mul", ["x", "o2"], ["o3"], {}),
        ("Add", ["x", "far"], ["p"], {}),
        ("Gather", ["t", "p"], ["q"], {}),
        ("Unsqueeze", ["p", "one"], ["r"], {}),
        LOOK_UP,
        ("Gather", ["e", "x"], ["j"], {}),
        ("Where", ["d", "e", "e"], ["k"], {}),
        ("Relu", ["e"], ["y"], {}),
    ]
    with pytest.raises(ModelError) as error:
        from_onnx(tokens(nodes, (3,), w))
    words = "it takes whole numbers of the input, which name rows of tables (Gather): nothing else is computed of them"
    assert str(error.value).splitlines()[1:] == [
        f"  MatMul (MatMul_1): {words}",
        f"  ArgMax (ArgMax_4): {words}",
        f"  ReduceMax (ReduceMax_5): {words}",
        "  Gather (Gather_6): axis=0 of a constant of shape (9,): rows of one of two axes, axis=0, are",
        "  Gather (Gather_7): of int64 (3, 3): tables of floating-point numbers that are not empty are",
        "  Gather (Gather_8): axis=1 of a constant of shape (9, 2): rows of one of two axes, axis=0, are",
        "  Gather (Gather_9): axis=0 of a constant of shape (2, 9, 2): rows of one of two axes, axis=0, are",
        "  Add (Add_10): a constant of shape (3,) beside whole numbers of the input: one number is",
        "  Sub (Sub_11): a constant of shape (1, 1, 1) beside whole numbers of the input: one number is",
        f"  Mul (Mul_13): {words}",
        "  Gather (Gather_15): of which an input of 0 names no row",
        f"  Unsqueeze (Unsqueeze_16): {words}",
        "  Gather (Gather_18): its input 0 is computed from the network's input, and is no constant",
        f"  Where (Where_19): {words}",
    ]


def test_a_network_that_looks_nothing_up_is_refused() -> None:
    nodes = [
        ("Identity", ["x"], ["same"], {}),
        ("Unsqueeze", ["x", "a"], ["moved"], {}),
        ("Less", ["x", "a"], ["less"], {}),
        ("Gather", ["t", "x"], ["y"], {}),
    ]
    proto = tokens(nodes, (3,), {"a": whole(2), "t": np.ones((3, 2), np.float32)})
    for output in ("same", "moved", "less"):
        with pytest.raises(ModelError, match=f"the output '{output}' is numbers of the input, which look up no row"):
            from_onnx(proto, output=output)


def test_numbers_of_floating_point_that_are_cast_first_name_rows_too() -> None:
    """Keras has such inputs of an `Embedding` if no type is stated."""
    nodes = [("Cast", ["x"], ["c"], {"to": INT32}), ("Gather", ["t", "c"], ["y"], {})]
    proto, x = model_of(nodes, (4,), {"t": floats(random_number(0), 6, 2)}), np.float32([[0, 5, 3, 1]])
    want = onnxruntime.InferenceSession(proto.SerializeToString()).run(["y"], {"x": x})[0]
    model = from_onnx(proto)
    assert model.shape.table_rows == 6
    with qr.local("pika") as mpc:
        assert np.abs(model.predict(mpc, x) - want).max() <= model.error_bound
    with pytest.raises(RangeError, match=r"0\.5 at index \(0, 1\)"):
        model.predict_clear([[0, 0.5, 3, 1]])


def of_keras(rows: int, name: str) -> tuple[list[tuple], dict[str, np.ndarray]]:
    """Returns nodes of Where(x < 0, x + rows, x), as Keras writes them with PyTorch and with TensorFlow."""
    w = {"zero": whole(0)[0], "rows": np.array(rows), "nil": np.float32(0)}
    if name == "torch":
        nodes = [
            ("Less", ["x", "zero"], ["is"], {}),
            ("Add", ["x", "rows"], ["more"], {}),
            ("Where", ["is", "more", "x"], ["i"], {}),
        ]
    else:
        nodes = [
            ("Add", ["x", "rows"], ["more"], {}),
            ("Cast", ["x"], ["real"], {"to": TensorProto.FLOAT}),
            ("Less", ["real", "nil"], ["is"], {}),
            ("Cast", ["is"], ["one"], {"to": INT64}),
            ("Mul", ["one", "more"], ["a"], {}),
            ("Not", ["is"], ["isnt"], {}),
            ("Cast", ["isnt"], ["other"], {"to": INT64}),
            ("Mul", ["x", "other"], ["b"], {}),
            ("Add", ["a", "b"], ["i"], {}),
        ]
    return nodes, w


@pytest.mark.parametrize("name", ["torch", "tensorflow"])
def test_numbers_that_might_count_from_the_end_are_what_they_are(name: str) -> None:
    nodes, w = of_keras(9, name)
    w["t"] = floats(random_number(0), 9, 2)
    proto = tokens([*nodes, ("Gather", ["t", "i"], ["y"], {})], (3,), w)
    model = compare(proto, np.array([[0, 8, 3], [7, 7, 0]]))
    assert [step["kind"] for step in model.shape.steps] == ["embedding"] and model.shape.table_rows == 9
    with pytest.raises(RangeError, match=r"-1 at index \(0, 1\)"):
        model.predict_clear([[0, -1, 3]])


FUNCTIONS = {
    "one row further": ([("Add", ["x", "one"], ["i"], {})], 8),
    "from the end": ([("Sub", ["x", "rows"], ["i"], {})], 9),
    "every other row": ([("Mul", ["x", "two"], ["i"], {})], 5),
    "unknown words in one row": (
        [("Greater", ["x", "four"], ["is"], {}), ("Where", ["is", "one", "x"], ["i"], {})],
        9,
    ),
    "none but two": ([("Equal", ["x", "two"], ["is"], {}), ("Cast", ["is"], ["i"], {"to": INT64})], 9),
    "back and forth": (
        [("Cast", ["x"], ["a"], {"to": TensorProto.FLOAT}), ("Cast", ["a"], ["i"], {"to": INT32})],
        9,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tables_take_in_what_is_computed_of_numbers_before(name: str) -> None:
    nodes, rows = FUNCTIONS[name]
    w = {"t": floats(random_number(0), 9, 2), "one": whole(1), "two": whole(2), "four": whole(4), "rows": whole(9)}
    proto = tokens([*nodes, ("Gather", ["t", "i"], ["y"], {})], (rows,), w)
    model = compare(proto, np.stack([np.arange(rows), np.arange(rows)[::-1]]))
    assert model.shape.table_rows == rows
    for wrong in (rows, -1):
        with pytest.raises(RangeError):
            model.predict_clear(np.full((1, rows), wrong))


def test_steps_do_not_go_by_the_number_of_records() -> None:
    nodes = [
        ("Shape", ["x"], ["s"], {"end": 1}),
        ("Cast", ["s"], ["n"], {"to": TensorProto.FLOAT}),
        LOOK_UP,
        ("Mul", ["e", "n"], ["y"], {}),
    ]
    with pytest.raises(ModelError, match="goes by the number of inputs"):
        from_onnx(tokens(nodes, (3,), {"t": floats(random_number(0), 9, 2)}))


@pytest.mark.filterwarnings("ignore::quorate.errors.ModelWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_computed_of_numbers_and_then_moved_is_where_the_file_has_it(name: str) -> None:
    """Moves that steps do not need, since they have the batch first anyhow, count as all others do."""
    first, rows = FUNCTIONS[name]
    r = random_number(12)
    x = r.integers(0, rows, (3, 2))
    w = {"t": floats(r, 9, 2), "one": whole(1), "two": whole(2), "four": whole(4), "rows": whole(9)}
    w |= {"flat": whole(-1), "pairs": whole(-1, 2), "axis": whole(1)}

    def network(*nodes: tuple, sizes: tuple[int, ...] = (2,), **more: Any) -> onnx.ModelProto:
        return tokens([*first, *nodes], sizes, w, opset=18, **more)

    flat = ("Reshape", ["i", "flat"], ["f"], {})
    means = ("ReduceMean", ["e", "axis"], ["m"], {"keepdims": 0}), ("Reshape", ["m", "pairs"], ["y"], {})
    compare(network(flat, ("Gather", ["t", "f"], ["e"], {}), *means), x)
    turn = ("Transpose", ["i"], ["f"], {"perm": [1, 0]})
    back = ("Transpose", ["e"], ["y"], {"perm": [1, 0, 2]})
    compare(network(turn, ("Gather", ["t", "f"], ["e"], {}), back), x)
    with pytest.raises(ModelError, match="the batch is a part of axis 0 of the output 'y'"):
        from_onnx(network(flat, ("Gather", ["t", "f"], ["y"], {})))
    apart = ("Sub", ["i", "f"], ["d"], {}), ("Gather", ["t", "d"], ["y"], {})
    with pytest.raises(ModelError, match="nothing else is computed of them"):
        from_onnx(network(turn, *apart, sizes=(3,), batch=3))


@pytest.mark.parametrize("few", [1, 2])
def test_few_records_name_rows_as_many_do(few: int) -> None:
    """The first rows of a table are no sample of it."""
    first, second = floats(random_number(0), 40, 2), floats(random_number(1), 40, 2)
    second[0] = first[0]

    def network(other: np.ndarray) -> onnx.ModelProto:
        value = helper.make_tensor_value_info("e", TensorProto.FLOAT, ["n", 3, 2])
        nodes = (helper.make_node("Gather", ["t", "x"], ["e"]), helper.make_node("Gather", ["u", "x"], ["e"]))
        then, otherwise = (helper.make_graph([node], "rows", [], [value]) for node in nodes)
        chosen = [
            ("Shape", ["x"], ["n"], {"end": 1}),
            ("Equal", ["n", "few"], ["c"], {}),
            ("If", ["c"], ["y"], {"then_branch": then, "else_branch": otherwise}),
        ]
        return tokens(chosen, (3,), {"t": first, "u": other, "few": whole(few)})

    compare(network(first.copy()), random_number(2).integers(0, 40, (few, 3)))
    with pytest.raises(ModelError, match="goes by the number of inputs"):
        from_onnx(network(second))


@pytest.mark.parametrize("kind", ["INT8", "UINT8", "INT16", "BOOL", "UINT64"])
def test_other_types_of_whole_numbers_are_refused(kind: str) -> None:
    nodes = [("Cast", ["x"], ["c"], {"to": INT32}), ("Gather", ["t", "c"], ["y"], {})]
    proto = tokens(nodes, (3,), {"t": np.ones((3, 2), np.float32)}, getattr(TensorProto, kind))
    with pytest.raises(ModelError, match=f"is {kind.lower()}; networks .* and of int32 or int64 where tables"):
        from_onnx(proto)
