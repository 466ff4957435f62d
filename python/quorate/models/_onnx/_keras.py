"""Import of Keras models, by way of ONNX."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from quorate.errors import ModelError
from quorate.models._onnx._model import Network, from_onnx
from quorate.models._quotes import short


def from_keras(model: Any, **options: Any) -> Network:
    """Makes a Keras model into a model that computes on secret inputs, by exporting it to ONNX.

    Needs `keras` 3.9 or later with a backend that exports (TensorFlow with `tf2onnx`, or PyTorch), and `onnx`. Inputs
    have the model's own layout, which is channels last by default.

    Args:
        model: a built `keras.Model` of one input, whose first axis is the batch.
        options: those of `from_onnx`: `bound=` or `sample=`, `labels=`, `bits=`, `weight_bits=`, `tolerance=`.

    Raises:
        ModelError: keras is not installed, this is no model, keras cannot export it (its reason is given), or
            `from_onnx` does not take the exported file.

    Example:
        >>> import quorate as qr
        >>> import keras  # doctest: +SKIP
        >>> layers = [keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)]
        ... # doctest: +SKIP
        >>> model = qr.models.from_keras(keras.Sequential(layers), bound=1.0)  # doctest: +SKIP
    """
    try:
        import keras
        import onnx  # noqa: F401 - which from_onnx reads with
    except ImportError as error:
        needed = "pip install keras tensorflow tf2onnx onnx"
        raise ModelError(f"from_keras: {error.name} is not installed: {needed}") from error
    if not isinstance(model, keras.Model):
        raise ModelError(f"from_keras takes a keras.Model, not {type(model).__name__}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        inputs = getattr(model, "inputs", None)  # a model built by calls alone has none, and keras finds them
        stated = {"input_signature": list(inputs)} if inputs else {}
        try:
            model.export(str(file), format="onnx", verbose=False, **stated)
        except Exception as error:
            raise ModelError(f"from_keras: keras cannot export this model to ONNX: {short(error, 300)}") from error
        return from_onnx(file, **options)
