"""Networks with large proven bounds: errors measured on a sample, and the warnings about them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper

import quorate as qr
from onnx_nets import attention, autoencoder, deep, floats, model_of, of_sums, random_number, small
from quorate.errors import ModelWarning
from quorate.models import from_onnx
from quorate.models._onnx._integer_run import simulated
from quorate.models._onnx._measured_errors import BEYOND


def lines(r: np.random.Generator) -> Any:
    """Returns real functions of numbers of several sizes, and normalised lines."""
    w = {"w": floats(r, 6, 6) / 2, "one": np.float32(1), "few": np.array([2]), "s": np.ones(6, np.float32)}
    nodes = [
        ("MatMul", ["x", "w"], ["a"], {}),
        ("Abs", ["a"], ["b"], {}),
        ("Add", ["b", "one"], ["c"], {}),
        ("Sqrt", ["c"], ["d"], {}),
        ("Log", ["c"], ["e"], {}),
        ("Exp", ["a"], ["f"], {}),
        ("Div", ["e", "d"], ["g"], {}),
        ("Add", ["g", "f"], ["h"], {}),
        ("LayerNormalization", ["h", "s"], ["i"], {}),
        ("LeakyRelu", ["i"], ["y"], {"alpha": 0.3}),
    ]
    return model_of(nodes, (4, 6), w)


NETWORKS: list[tuple[Callable[..., Any], tuple[int, ...], int]] = [
    (small, (1, 8, 8), 0),
    (lambda r: deep(r, 6), (1, 6, 6), 0),
    (of_sums, (), 0),
    (attention, (4, 6), 100),
    (autoencoder, (1, 6, 6), 100),
    (lines, (4, 6), 100),
]


@pytest.mark.parametrize("case", range(len(NETWORKS)))
def test_what_is_simulated_is_what_parties_compute(case: int) -> None:
    """Results are equal to the unit without real functions, else to some units."""
    build, sizes, most = NETWORKS[case]
    r = random_number(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        proto = build(r)
        dims = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim][1:]
        x = r.uniform(-1, 1, size=(3, *(sizes or dims)))
        model = from_onnx(proto, bound=1.0, sample=x)
    ours = simulated(model.shape.steps, model._secrets, [model.shape.all_inputs[0].encode(x)])
    with qr.local("rss", check=False) as mpc:
        arrays = model.shape.program(mpc, model._secrets, [x], len(x), (0, 1))
        theirs = mpc.reveal_all(*arrays[1:], units=True)
    assert len(theirs) == len(model.shape.steps) > 2
    for step, a, b in zip(model.shape.steps, ours[1:], theirs, strict=True):
        apart = np.abs(a - b.astype(np.float64)).max()
        assert apart <= max(1.0, most * max(1.0, np.abs(a).max() * 2.0**-16)), (step["kind"], apart)


def told(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = call()
    return made, [str(w.message) for w in found if w.category is ModelWarning]


def scores(r: np.random.Generator) -> Any:
    """Returns twelve convolutions, and an output for each of eight classes."""
    proto = deep(r, 12)
    proto.graph.node[-1].output[0] = "means"
    proto.graph.node.append(helper.make_node("Flatten", ["means"], ["y"]))
    return proto


def test_a_sample_of_which_all_agree_says_nothing() -> None:
    r = random_number(9)
    proto, x = scores(r), r.uniform(-1, 1, size=(6, 1, 6, 6))
    _, said = told(lambda: from_onnx(proto, bound=1.0))
    assert len(said) == 1 and "give sample=" in said[0] and "of the inputs, and look at model.report(X)" in said[0]
    model, said = told(lambda: from_onnx(proto, bound=1.0, sample=x, labels=range(8)))
    assert said == [] and model._measured.alike == 6
    assert model.error_bound > 1000 * model._measured.error > 0
    report = model.report(x)
    assert abs(report.largest_error - model._measured.error) <= 1e-3 * report.largest_error


def test_a_sample_of_which_some_differ_is_counted_once() -> None:
    """The warning states what `report` measures for these inputs, except for ties."""
    r = random_number(2)
    proto, x = scores(r), r.uniform(-1, 1, size=(24, 1, 6, 6))
    widths = {"bits": 10, "weight_bits": 7}
    model, said = told(lambda: from_onnx(proto, bound=1.0, sample=x, labels=range(8), **widths))
    report = model.report(x)
    assert 0 < report.agreement < 1
    assert len(said) == 1
    found = re.search(r"Of 24 inputs of the sample, (\d+) have the largest output .* at most ([\d.e-]+) off", said[0])
    assert found is not None
    # The mean's factor has 17 bits on shares, which may change labels that are nearly tied.
    assert abs(int(found[1]) - 24 * report.agreement) <= 2
    assert abs(float(found[2]) - report.largest_error) <= 0.02 * report.largest_error


def test_ties_of_such_networks_are_named_by_what_was_measured() -> None:
    r = random_number(9)
    proto, x = scores(r), r.uniform(-1, 1, size=(6, 1, 6, 6))
    model, _ = told(lambda: from_onnx(proto, bound=1.0, sample=x, labels=list("abcdefgh")))
    outputs = np.sort(model._clear(x)[-1], axis=-1)
    close = int((outputs[..., -1] - outputs[..., -2] <= 2 * BEYOND * model._measured.deciding).sum())
    assert close < 6 < model.margin_bound * 1e9
    with qr.local("rss") as mpc:
        labels, said = told(lambda: model.predict(mpc, x))
    assert (labels == model.predict_clear(x)).all()
    assert len(said) == (close > 0)


def test_one_output_is_compared_by_its_size() -> None:
    r, w = random_number(3), {}
    nodes, last = [], "x"
    for i in range(9):
        w[f"w{i}"] = floats(r, 8, 8) if i < 8 else floats(r, 8, 1)
        nodes += [("MatMul", [last, f"w{i}"], [f"m{i}"], {}), ("Relu", [f"m{i}"], [f"r{i}" if i < 8 else "y"], {})]
        last = f"r{i}"
    proto, x = model_of(nodes, (8,), w), r.uniform(-1, 1, size=(9, 8))
    model, said = told(lambda: from_onnx(proto, bound=1.0, sample=x))
    assert said == []
    model, said = told(lambda: from_onnx(proto, bound=1.0, sample=x, bits=8, weight_bits=6))
    wrong = np.abs(model.report(x).largest_error)
    assert (len(said) == 1) == (wrong > 2.0**-8 * np.abs(model.predict_clear(x)).max())


def chain(r: np.random.Generator, plus: np.ndarray) -> Any:
    """Returns nine products and a final sum: two outputs."""
    w: dict[str, np.ndarray] = {"plus": plus.astype(np.float32)}
    nodes, last = [], "x"
    for i in range(9):
        w[f"w{i}"] = floats(r, 8, 8) if i < 8 else floats(r, 8, 2)
        nodes += [("MatMul", [last, f"w{i}"], [f"m{i}"], {}), ("Relu", [f"m{i}"], [f"r{i}"], {})]
        last = f"r{i}"
    return model_of([*nodes, ("Add", [last, "plus"], ["y"], {})], (8,), w)


def test_wrong_numbers_of_several_columns_are_no_secret() -> None:
    """The first column is always the largest; its place means nothing for a regression."""
    r = random_number(3)
    proto, x = chain(r, np.array([1000.0, 0.0])), r.uniform(-1, 1, size=(9, 8))
    few = {"bits": 8, "weight_bits": 6}
    model, said = told(lambda: from_onnx(proto, bound=1.0, sample=x, **few))
    assert (model.predict_clear(x).argmax(axis=1) == 0).all() and model._measured.alike < 9
    assert len(said) == 1 and "have the outputs, within 1/256, of the clear network" in said[0]
    _, said = told(lambda: from_onnx(proto, bound=1.0, sample=x, labels=["a", "b"], **few))
    assert said == []


def test_all_of_several_outputs_count() -> None:
    """With few bits the first output is right, the second is not."""
    r = random_number(3)
    proto, x = chain(r, np.zeros(2)), r.uniform(-1, 1, size=(9, 8))
    proto.graph.node.append(helper.make_node("Relu", ["x"], ["first"]))
    asked = {"bits": 8, "weight_bits": 6, "bound": 1.0, "sample": x}
    model, said = told(lambda: from_onnx(proto, output=["first", "y"], **asked))
    assert model._measured.alike < 9 and len(said) == 1
