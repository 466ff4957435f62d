"""The kind of model in an ONNX file: a network of real numbers, a quantised one, or one of `ai.onnx.ml`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from quorate.errors import ModelError
from quorate.models._ml import NeuralError, Stated, is_ml, model_of
from quorate.models._ml import network_of as neural
from quorate.models._model import _TREES
from quorate.models._onnx import _read as read
from quorate.models._onnx._quantised import is_quantised, lowered
from quorate.models._tflite._model import QuantisedNetwork, network_of

_OF_TREES = ("labels", "output", "sample", "tolerance")
_OF_QUANTISED = ("labels", "output", "shape", "inputs")


@dataclasses.dataclass(frozen=True)
class File:
    """A network of real numbers: the value to compute, and its labels."""

    proto: Any
    output: str | None
    labels: Sequence[Any] | None


def _checked(onnx: Any, model: Any) -> Any:
    """Returns the model of a path or an `onnx.ModelProto`, after ONNX's own checks."""
    proto = model if isinstance(model, onnx.ModelProto) else read._loaded(onnx, model)
    if not proto.graph.node:
        raise ModelError("from_onnx: the model has no nodes: the file is cut off, or no ONNX model")
    read._refuse_external(onnx, proto.graph)
    read._check(onnx, proto)
    return proto


def opened(model: Any, stated: Stated) -> Any:
    """Opens a path or an `onnx.ModelProto`: returns a `File`, or the model itself if it is of another kind."""
    try:
        import onnx
    except ImportError as error:
        raise ModelError("from_onnx: onnx is not installed; pip install onnx") from error
    proto = _checked(onnx, model)
    is_other = is_quantised(proto) or is_ml(proto)
    if is_other and not (stated.output is None or isinstance(stated.output, str)):
        raise ModelError("from_onnx: several outputs are computed of networks of real numbers: name one, output=...")
    if is_quantised(proto):
        return _quantised(onnx, proto, stated)
    if not is_ml(proto):
        return File(proto, stated.output, stated.labels)
    try:
        return _ml_model(onnx, proto, stated)
    except NeuralError:
        changed, output, classes = neural(onnx, proto, stated.output)
        return File(changed, output, classes if stated.labels is None else stated.labels)


def _refuse_unused(kind: str, stated: Stated, used: Sequence[str]) -> None:
    """Refuses options that do nothing for a file of this kind.

    Raises:
        ModelError: there are such options; the message names all of them.
    """
    unused = [
        f"{of.name}="
        for of in dataclasses.fields(Stated)
        if of.name not in used and getattr(stated, of.name) is not None
    ]
    if unused:
        raise ModelError(
            f"from_onnx: the file is {kind}, for which {' and '.join(unused)} would do nothing: leave "
            f"{'it' if len(unused) == 1 else 'them'} out; of use are {', '.join(f'{name}=' for name in used)}"
        )


def _ml_model(onnx: Any, proto: Any, stated: Stated) -> Any:
    """Returns a model of `ai.onnx.ml`. For trees a sample is accepted, though it is not used."""
    made = model_of(onnx, proto, stated)
    if made.shape.kind in _TREES:
        _refuse_unused("a model of trees, which compare features exactly", stated, _OF_TREES)
    _refuse_unused("a model of ai.onnx.ml", stated, (*_OF_TREES, "bound"))
    return made


def _quantised(onnx: Any, proto: Any, stated: Stated) -> QuantisedNetwork:
    """Returns a network of 8-bit numbers; its file has the ranges of inputs."""
    _refuse_unused("a quantised network, which says itself how large numbers are", stated, _OF_QUANTISED)
    file, output, is_real = lowered(onnx, proto, stated.output, stated.shape, stated.inputs)
    if output.place == 0 or file.first is None:
        raise ModelError("from_onnx: the output is the input itself: there is nothing to compute")
    layers = file.layers[: output.place]
    real = (output.by.scale, output.by.zero) if is_real else None
    public = {"channels": "first", "given": file.given, "real": real}
    try:
        return network_of(layers, file.first, file.sizes, "exact", stated.labels, **public)
    except ModelError as error:
        raise ModelError(str(error).replace("from_tflite:", "from_onnx:")) from None
