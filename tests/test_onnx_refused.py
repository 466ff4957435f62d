"""Refusals of `from_onnx`, if its result would differ from the file's or there would be none; and their reasons."""

from __future__ import annotations

import numpy as np
import pytest

import quorate as qr
from onnx_nets import Net, compare, floats, model_of, one, random_number, whole

REFUSED: dict[str, tuple[Net, str]] = {
    **{
        f"half_pixel with nearest_mode={way}": (
            Net([("Resize", ["x", "", "s"], ["y"], {"nearest_mode": way})], (2, 2), {"s": np.float32([1, 2, 2])}),
            "nearest_mode",
        )
        for way in ("floor", "ceil")
    },
    "sizes that keep the aspect": (
        Net(
            [("Resize", ["x", "", "", "n"], ["y"], {"keep_aspect_ratio_policy": "not_larger"})],
            (2, 2),
            {"n": whole(1, 4, 8)},
        ),
        "keep_aspect_ratio_policy",
    ),
    "the first record": (one("Slice", (4,), {"s": whole(0), "e": whole(1), "a": whole(0)}), "of the batch"),
    "records side by side": (
        one("Reshape", (4,), {"s": whole(1, -1)}),
        "the batch is a part of axis 1 of the output 'y'",
    ),
    "nothing": (one("Slice", (4,), {"s": whole(2), "e": whole(1), "a": whole(1)}), "is empty"),
    "a mask without a softmax": (one("Add", (2,), {"m": np.float32([0, -np.inf])}), "where Softmax follows"),
    "a mask that may hide nothing": (
        Net(
            [("Mul", ["x", "f"], ["a"], {}), ("Add", ["a", "m"], ["b"], {}), ("Softmax", ["b"], ["y"], {})],
            (2,),
            {"f": np.float32(1e5), "m": np.float32([0, -1e4])},
        ),
        "nothing is hidden by it: mask with -inf",
    ),
    "a choice that may lie among the others": (
        Net(
            [("Sub", ["x", "far"], ["a"], {}), ("Where", ["c", "a", "v"], ["b"], {}), ("Softmax", ["b"], ["y"], {})],
            (2,),
            {"far": np.float32(20000), "c": np.array([True, False]), "v": np.float32(-1e4)},
        ),
        "as large as -10000, and other numbers as small as -20001",
    ),
    "a mask that only raises": (
        Net(
            [("Add", ["x", "a"], ["b"], {}), ("Add", ["b", "m"], ["c"], {}), ("Softmax", ["c"], ["y"], {})],
            (2,),
            {"a": np.float32([0, 20000]), "m": np.float32([20000, 0])},
        ),
        "nothing is hidden by it",
    ),
    "a choice by the input": (
        Net([("Where", ["c", "x", "x"], ["y"], {})], (2,), {"c": np.array([True, False])}),
        "two arrays that depend",
    ),
    "more padding than a stride": (
        one(
            "ConvTranspose", (1, 3, 3), {"w": np.ones((1, 1, 2, 2), np.float32)}, strides=[2, 1], output_padding=[1, 1]
        ),
        "below strides",
    ),
    "records more than once": (one("Tile", (4,), {"t": whole(2, 1)}), r"by \[2, 1\]"),
    "an Elu that does not rise": (one("Elu", (4,), alpha=-1.0), "alpha=-1"),
    "noise": (
        Net(
            [("Dropout", ["x", "ratio", "training"], ["a"], {}), ("Neg", ["a"], ["y"], {})],
            (4,),
            {"ratio": np.float32(0.5), "training": np.array(True)},
        ),
        "training mode",
    ),
    "nothing but infinity": (one("Clip", (4,), {"low": np.float32(np.inf)}), "min=inf"),
    "a window of padding": (one("AveragePool", (1, 4, 4), kernel_shape=[1, 2], pads=[1, 0, 0, 0]), "outside"),
    "windows that begin where runtimes do not agree": (
        one("AveragePool", (1, 6, 6), kernel_shape=[1, 2], strides=[3, 2], auto_pad="SAME_UPPER"),
        "strides leave 2 elements out",
    ),
    "a window that does not fit": (one("MaxPool", (2, 2), kernel_shape=[3], ceil_mode=1), "does not fit"),
    "the number of records": (
        Net(
            [
                ("Shape", ["x"], ["s"], {"end": 1}),
                ("Cast", ["s"], ["n"], {"to": 1}),
                ("Div", ["x", "n"], ["y"], {}),
            ],
            (4,),
            {},
        ),
        "goes by the number of inputs",
    ),
    "shares of more than a line, before operator set 13": (
        Net(
            [
                ("Transpose", ["x"], ["a"], {"perm": [1, 2, 0]}),
                ("Softmax", ["a"], ["b"], {"axis": 1}),
                ("Transpose", ["b"], ["y"], {"perm": [2, 0, 1]}),
            ],
            (4, 5),
            {},
            11,
        ),
        r"axis=1 of an array of shape \(4, 5, 3\), .* one line in operator set 11: axis 2 is the batch",
    ),
    "an array that no memory holds": (one("Pad", (4,), {"p": whole(0, 0, 0, 10**13)}), "go together: MemoryError"),
    "as many rows as stand for any number": (one("Reshape", (4,), {"s": whole(3, -1)}), "mixes the batch"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_differ_from_the_file_is_refused(name):
    net, words = REFUSED[name]
    with pytest.raises(qr.ModelError, match=words):
        qr.models.from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0)


# What its message advises, in place of what is refused.
INSTEAD = {
    "noise": {"training": np.array(False)},
    "a mask that only raises": {"m": np.float32([0, -np.inf])},
}


@pytest.mark.parametrize("name", INSTEAD)
def test_what_is_refused_works_as_its_message_has_it(name):
    net, words = REFUSED[name]
    with pytest.raises(qr.ModelError, match=words):
        qr.models.from_onnx(model_of(net.nodes, net.sizes, net.constants, net.opset), bound=1.0)
    followed = model_of(net.nodes, net.sizes, {**net.constants, **INSTEAD[name]}, net.opset)
    compare(followed, floats(random_number(1), 3, *net.sizes))


def test_networks_of_any_number_of_inputs_are_tried_with_few(monkeypatch):
    """The check whether steps depend on that number uses 1021, for which no arrays are made."""
    tried, clear = set(), qr.models._onnx._lower.clear
    monkeypatch.setattr(
        "quorate.models._onnx._lower.clear", lambda step, arrays: tried.update(map(len, arrays)) or clear(step, arrays)
    )
    nodes = [("Conv", ["x", "w"], ["a"], {}), ("Relu", ["a"], ["b"], {}), ("Flatten", ["b"], ["y"], {})]
    model = qr.models.from_onnx(model_of(nodes, (1, 4, 4), {"w": np.ones((2, 1, 3, 3), np.float32)}), bound=1.0)
    assert tried == {1, 2, 3, 4}
    assert model.predict_clear(np.ones((9, 1, 4, 4))).shape == (9, 8)
