"""Which kind of model an ONNX file is: a network of real numbers, a quantised one, or one of `ai.onnx.ml`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from quorate.errors import ModelError
from quorate.models._ml import NeuralError, Stated, is_ml, model_of, network_of
from quorate.models._onnx import _read as read


@dataclasses.dataclass(frozen=True)
class File:
    """A network of real numbers: which value it computes, and its labels."""

    proto: Any
    output: str | None
    labels: Sequence[Any] | None


def _checked(onnx: Any, model: Any) -> Any:
    """A model from a path or an `onnx.ModelProto`, as far as ONNX itself can check it."""
    proto = model if isinstance(model, onnx.ModelProto) else read._loaded(onnx, model)
    if not proto.graph.node:
        raise ModelError("from_onnx: the model has no nodes: the file is cut off, or no ONNX model")
    read._refuse_external(onnx, proto.graph)
    read._check(onnx, proto)
    return proto


def opened(model: Any, stated: Stated) -> Any:
    """What a path or an `onnx.ModelProto` is: a `File`, or the model itself where it is of another kind."""
    try:
        import onnx
    except ImportError as error:
        raise ModelError("from_onnx: onnx is not installed; pip install onnx") from error
    proto = _checked(onnx, model)
    if not is_ml(proto):
        return File(proto, stated.output, stated.labels)
    try:
        return model_of(onnx, proto, stated)
    except NeuralError:
        changed, output, classes = network_of(onnx, proto, stated.output)
        return File(changed, output, classes if stated.labels is None else stated.labels)
