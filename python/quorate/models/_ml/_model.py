"""Models from files with operators of `ai.onnx.ml`, or networks with labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._ensemble import PlainBoosting, PlainForest, encode_boosting, encode_forest, encode_means
from quorate.models._linear import Bounds, PlainLinear, encode_linear
from quorate.models._ml._values import (
    TEXT,
    Chain,
    Features,
    Label,
    NeuralError,
    Numbers,
    Opaque,
    Pairs,
    Place,
    Risen,
    Scores,
    Trees,
)
from quorate.models._ml._walk import walked
from quorate.models._model import Model
from quorate.models._onnx._layout import Unsupported
from quorate.models._pipeline import Before
from quorate.models._sklearn import read_behind
from quorate.models._tree import PlainTree

_TYPES = {1: np.float32, 11: np.float64, 6: None, 7: None, 8: None}  # TensorProto.FLOAT, DOUBLE, INT32, INT64, STRING


@dataclasses.dataclass(frozen=True)
class Stated:
    """The options of `from_onnx` about inputs and labels."""

    bound: Any = None
    sample: Any = None
    labels: Sequence[Any] | None = None
    output: Any = None
    shape: Sequence[int] | None = None
    inputs: Mapping[str, Any] | None = None
    bits: int | None = None
    weight_bits: int | None = None
    tolerance: float | None = None


def is_ml(proto: Any) -> bool:
    """Returns whether a file has operators of `ai.onnx.ml`."""
    return any(node.domain == "ai.onnx.ml" for node in proto.graph.node)


def model_of(onnx: Any, proto: Any, stated: Stated) -> Model:
    """Returns the model in a file.

    Raises:
        ModelError: nodes are not supported; the message names all of them.
        NeuralError: the file is a network.
    """
    graph = proto.graph
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    features, dtype = _features(inputs)
    opsets = {of.domain or "ai.onnx": of.version for of in proto.opset_import}
    values = walked(graph.node, {**constants, **features}, dtype, opsets)
    names = [value.name for value in graph.output]
    if stated.output is not None:
        if stated.output not in values:
            raise ModelError(
                f"from_onnx: output={stated.output[:80]!r} is no value of the model; its outputs are {names}"
            )
        names = [stated.output]
    try:
        made = _of_outputs([values[name] for name in names], stated)
    except Unsupported as fault:
        raise ModelError(f"from_onnx: {fault}") from fault
    return dataclasses.replace(made, _scales=False)  # the file itself computes in float32, which the margin includes


def _features(inputs: Sequence[Any]) -> tuple[dict[str, Features], np.dtype]:
    """Returns the features of each input, and the precision that the file computes in."""
    widths, kinds = [], []
    for value in inputs:
        dims = value.type.tensor_type.shape.dim
        kind = value.type.tensor_type.elem_type
        if len(dims) != 2 or dims[1].dim_value < 1 or kind not in _TYPES:
            raise ModelError(
                f"from_onnx: the input {value.name[:80]!r} is no table of records: (records, features) of float, "
                "double, int64 or string, whose number of features the file states"
            )
        widths.append(int(dims[1].dim_value))
        kinds.append(kind)
    named = tuple(value.name for value in inputs) if len(inputs) > 1 and max(widths) == 1 else None
    all_of = Before.nothing(sum(widths), named)
    dtype = np.dtype(np.float64 if 11 in kinds else np.float32)
    all_of = dataclasses.replace(all_of, dtype=dtype, roundings=1)
    found, at = {}, 0
    for value, width, kind in zip(inputs, widths, kinds, strict=True):
        places = np.arange(at, at + width)
        if kind == 8:
            all_of.columns.encoded.update(places.tolist())
        chains = tuple(Chain(int(place)) for place in places)
        found[value.name] = Features(all_of.kept(places), chains, TEXT if kind == 8 else "real")
        at += width
    return found, dtype


def _of_outputs(outputs: Sequence[Any], stated: Stated) -> Model:
    """Returns the model whose label, or whose numbers, are a file's outputs."""
    label = next((value for value in outputs if isinstance(value, (Label, Place))), None)
    if label is not None:
        others = [value.of if isinstance(value, Scores) else value for value in outputs if value is not label]
        return _classifier(_named(label, stated), others, stated)
    if any(isinstance(value, Opaque) for value in outputs):
        raise NeuralError
    if stated.labels is not None:
        raise Unsupported("labels= are of classifiers, and this model has no label among its outputs")
    if len(outputs) != 1:
        raise Unsupported("several outputs, of which none is a label: say which, output=")
    found = outputs[0].of if isinstance(outputs[0], Scores) else outputs[0]
    if isinstance(found, Numbers):
        if isinstance(found.of, Trees):
            return _of_trees(found.of, (), found.targets, stated)
        return _linear(found.of, found.features, "regression", (), stated, targets=found.targets)
    if isinstance(found, Features):
        targets = () if found.width == 1 else (found.width,)
        return _linear(_as_they_are(found), found, "regression", (), stated, targets=targets)
    if isinstance(found, Risen):
        raise NeuralError
    raise Unsupported("an output that is neither a label nor numbers: name another one, output=")


def _named(label: Label | Place, stated: Stated) -> Label:
    if isinstance(label, Place):
        width = (label.of.features if isinstance(label.of, Risen) else label.of).width
        label = Label(label.of, tuple(range(width)))
    if stated.labels is None:
        return label
    if len(stated.labels) != len(label.classes):
        raise Unsupported(f"{len(stated.labels)} labels for {len(label.classes)} classes")
    return dataclasses.replace(label, classes=tuple(np.asarray(stated.labels).tolist()))


def _classifier(label: Label, others: Sequence[Any], stated: Stated) -> Model:
    of, classes = label.of, label.classes
    if len(classes) < 2:
        raise Unsupported(f"one class, {str(classes)[:80]}: there is nothing to predict")
    if isinstance(of, Trees):
        return _of_trees(of, classes, None, stated)
    if isinstance(of, Pairs):
        return _linear(of.decisions, of.features, "votes", classes, stated)
    features = of.features if isinstance(of, Risen) else of
    if features.width != len(classes):
        raise Unsupported(f"{features.width} decisions for {len(classes)} classes")
    functions = {value.function for value in [of, *others] if isinstance(value, Risen) and value.features == features}
    if len(classes) > 2:
        link = "softmax" if "softmax" in functions else "sigmoids" if isinstance(of, Risen) else None
        return _linear(_as_they_are(features), features, "linear", classes, stated, link=link)
    return _of_two(features, functions, classes, stated)


def _of_two(features: Features, functions: set[str], classes: tuple[Any, ...], stated: Stated) -> Model:
    """Decides between two classes by the difference of their decisions, or by one if they are opposite."""
    before = features.before
    opposite = (before.matrix[0] == -before.matrix[1]).all() and before.shift[0] == -before.shift[1]
    half = opposite and "softmax" not in functions
    link = "logistic" if "softmax" in functions or ("logistic" in functions and opposite) else None
    row = np.array([[-0.5, 0.5]]) if half else np.array([[-1.0, 1.0]])
    plain = PlainLinear.direct(row, np.zeros(1), before.dtype)
    return _linear(plain, features, "linear", classes, stated, link=link)


def _as_they_are(features: Features) -> PlainLinear:
    return PlainLinear.direct(np.eye(features.width), np.zeros(features.width), features.before.dtype)


def _linear(
    plain: PlainLinear, features: Features, kind: str, classes: tuple[Any, ...], stated: Stated, **public: Any
) -> Model:
    def read(_: Any, bounds: Bounds, before: Before | None) -> Model:
        return Model(*encode_linear(plain.after(before), kind, classes, bounds, **public))

    return read_behind(None, features.before.of_columns(), _largest(stated.bound), stated.sample, read)


def _largest(bound: Any) -> Any:
    """Returns the largest magnitude that a bound allows."""
    if bound is None:
        return None
    try:
        ends = np.abs(np.asarray(bound, np.float64)).reshape(-1)
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.size not in (1, 2) or not np.isfinite(ends).all() or not ends.any():
        raise Unsupported(
            f"bound={str(bound)[:80]} is no magnitude above 0, nor (lowest, highest): of features that differ in size "
            "give sample= records like those to come"
        )
    return float(ends.max())


def _of_trees(trees: Trees, classes: tuple[Any, ...], targets: tuple[int, ...] | None, stated: Stated) -> Model:
    """Returns a forest or boosting over the columns that its trees compare."""
    chains = trees.features.chains
    assert chains is not None  # noqa: S101 - without them there are no trees
    places = np.array([chain.place for chain in chains], np.int64)
    before = trees.features.before.picked(places).of_columns()

    def read(_: Any, __: Bounds, behind: Before | None) -> Model:
        assert behind is not None and behind.selected is not None  # noqa: S101 - columns are picked
        plain = _over(trees.plain, behind.selected)
        if isinstance(plain, PlainBoosting):
            return Model(*encode_boosting(plain, classes, behind.features, trees.link, targets))
        if targets is not None:
            return Model(*encode_means(plain, behind.features, targets))
        return Model(*encode_forest(plain, classes, behind.features))

    return read_behind(None, before, None, None, read)


def _over(plain: PlainForest | PlainBoosting, selected: np.ndarray) -> PlainForest | PlainBoosting:
    """Replaces the trees' features by their places among columns."""

    def over(tree: PlainTree) -> PlainTree:
        return dataclasses.replace(tree, feature=np.where(tree.feature < 0, -1, selected[tree.feature]))

    if isinstance(plain, PlainForest):
        return dataclasses.replace(plain, trees=[over(tree) for tree in plain.trees])
    return dataclasses.replace(plain, trees=[[over(tree) for tree in stage] for stage in plain.trees])
