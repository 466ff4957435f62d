"""Keras models are imported if keras is installed; otherwise a module stands in for it."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import quorate as qr
from onnx_nets import floats, model_of, random_number, whole
from quorate.errors import ModelError


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ModelError, match="keras is not installed: pip install keras tensorflow tf2onnx"):
        qr.models.from_keras(object(), bound=1.0)


class Model:
    """A stand-in for `keras.Model` with a convolution, channels last, and a dense layer, as tf2onnx writes them."""

    def __init__(self) -> None:
        r = random_number(0)
        self.filters, self.matrix = floats(r, 2, 1, 3, 3), floats(r, 18, 3)
        self.inputs, self.file = ["a tensor"], Path()

    def export(self, filepath: str, format: str, verbose: bool, **more: Any) -> None:
        assert format == "onnx" and not verbose and more == {"input_signature": self.inputs}
        nodes = [
            ("Transpose", ["x"], ["a"], {"perm": [0, 3, 1, 2]}),
            ("Conv", ["a", "filters"], ["b"], {}),
            ("Relu", ["b"], ["c"], {}),
            ("Transpose", ["c"], ["d"], {"perm": [0, 2, 3, 1]}),
            ("Reshape", ["d", "flat"], ["e"], {}),
            ("MatMul", ["e", "matrix"], ["y"], {}),
        ]
        constants = {"filters": self.filters, "matrix": self.matrix, "flat": whole(-1, 18)}
        self.file = Path(filepath)
        onnx.save(model_of(nodes, (5, 5, 1), constants, 15), filepath)


class Unbuilt(Model):
    def export(self, *_: Any, **__: Any) -> None:
        raise ValueError("The model provided has never called.")


def test_a_model_is_exported_and_taken_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", types.SimpleNamespace(Model=Model))
    module = Model()
    model = qr.models.from_keras(module, bound=1.0, labels=["a", "b", "c"])
    assert model.shape.sizes == (5, 5, 1)
    assert model.shape.labels == ("a", "b", "c")
    assert not module.file.parent.exists()  # no weights are left on the disk
    x = np.random.default_rng(1).uniform(-1, 1, (2, 5, 5, 1))
    windows = np.lib.stride_tricks.sliding_window_view(x[..., 0], (3, 3), axis=(1, 2))
    sums = np.maximum(np.einsum("nhwij,fij->nhwf", windows, module.filters[:, 0].astype(float)), 0)
    with qr.local("rss") as mpc:
        found = model.decision_function(mpc, x)
    assert np.abs(found - sums.reshape(2, -1) @ module.matrix.astype(float)).max() <= model.error_bound
    with pytest.raises(ModelError, match="not float"):
        qr.models.from_keras(1.0, bound=1.0)
    with pytest.raises(ModelError, match="cannot export this model to ONNX: The model provided has never called"):
        qr.models.from_keras(Unbuilt(), bound=1.0)


@pytest.mark.parametrize("name", ["dense", "images", "series", "words", "whole"])
def test_models_predict_as_in_keras(name: str) -> None:
    keras = pytest.importorskip("keras", reason="keras is not installed")
    pytest.importorskip("tf2onnx", reason="tf2onnx is not installed")
    layers = keras.layers
    built = {
        "dense": [keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dropout(0.5), layers.Dense(3)],
        "images": [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(2),
            layers.UpSampling2D(2),
            layers.Activation("elu"),
            layers.DepthwiseConv2D(3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ],
        "series": [keras.Input((4, 2)), layers.LSTM(3), layers.Dense(2)],
        "words": [keras.Input((4,)), layers.Embedding(9, 3), layers.LSTM(3), layers.Dense(2)],
        "whole": [keras.Input((4,), dtype="int32"), layers.Embedding(9, 3), layers.GlobalAveragePooling1D()],
    }[name]
    keras.utils.set_random_seed(0)
    module = keras.Sequential(built)
    r, sizes = np.random.default_rng(0), (3, *module.input_shape[1:])
    looks_up = name in ("words", "whole")
    x = r.integers(0, 9, sizes) if looks_up else r.uniform(-1, 1, sizes)
    model = qr.models.from_keras(module, **({} if looks_up else {"bound": 1.0}))
    assert model.shape.sizes == module.input_shape[1:]
    with qr.local("rss") as mpc:
        found = model.decision_function(mpc, x)
    assert np.abs(found - np.asarray(module(x))).max() <= model.error_bound + 1e-5
