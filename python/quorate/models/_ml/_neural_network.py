"""Networks in files with operators of `ai.onnx.ml`: the network itself, and the names of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError

_PASSED = ("Cast", "Reshape", "Identity", "Squeeze", "ZipMap")
_MODELS = ("Linear", "SVM", "TreeEnsemble")
_MOVED = (
    "Cast",
    "Reshape",
    "Identity",
    "Squeeze",
    "Concat",
    "Flatten",
    "Shape",
    "Constant",
    "ConstantOfShape",
    "Gather",
)


def network_of(onnx: Any, proto: Any, output: str | None) -> tuple[Any, str | None, Sequence[Any] | None]:
    """Returns the network in ONNX's own operators, the value to compute, and the classes if a label follows from it."""
    graph = proto.graph
    made = {name: node for node in graph.node for name in node.output}
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    wanted, classes = output, None
    for name in [value.name for value in graph.output] if output is None else [output]:
        found, names = _decided(made, constants, name)
        if names is not None or (wanted is None and len(graph.output) == 1):
            wanted, classes = found, names
            break
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    del changed.graph.node[:]
    needed = {value.name for value in graph.output} if wanted is None else {wanted}
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            for made_of in reversed(_rewritten(onnx, node, changed.graph)):
                changed.graph.node.insert(0, made_of)
    if wanted is not None:
        del changed.graph.output[:]
        changed.graph.output.append(onnx.helper.make_tensor_value_info(wanted, onnx.TensorProto.FLOAT, [None, None]))
    left = sorted({node.op_type for node in changed.graph.node if node.domain == "ai.onnx.ml"})
    if left:
        if before := _before_models(changed.graph.node):
            models = ", ".join(name for name in left if name.startswith(_MODELS))
            raise ModelError(
                f"from_onnx: not supported is {models} behind {', '.join(before)}, that is behind steps that are not "
                "linear, such as the products of PolynomialFeatures: convert the last step of the pipeline by itself, "
                "and give it the records that the steps before it make, pipeline[:-1].transform(X)"
            )
        raise ModelError(
            f"from_onnx: not supported is what the file computes of {', '.join(left)}: models that join several others "
            "(AdaBoost, votes, calibrations of several folds), or a model of what a network gives; import the parts by "
            "themselves, or the estimator by from_sklearn, which takes VotingClassifier and CalibratedClassifierCV"
        )
    return changed, wanted, classes


def _before_models(nodes: Sequence[Any]) -> list[str]:
    """Returns ONNX's own operators whose results reach a model of `ai.onnx.ml`, without those that only move numbers.

    What comes of a model is left out: votes and calibrations join several models.
    """
    found: set[str] = set()
    of: dict[str, set[str]] = {}
    modelled: set[str] = set()
    for node in nodes:
        before = set().union(*(of.get(name, set()) for name in node.input))
        is_behind = bool(modelled.intersection(node.input))
        if node.domain == "ai.onnx.ml" and node.op_type.startswith(_MODELS):
            found |= before
            is_behind = True
        elif node.domain != "ai.onnx.ml" and node.op_type not in _MOVED:
            before |= {node.op_type}
        if is_behind:
            modelled.update(node.output)
        else:
            of.update(dict.fromkeys(node.output, before))
    return sorted(found)


def _decided(made: Any, constants: Any, name: str) -> tuple[str, Sequence[Any] | None]:
    """Returns the value whose largest element is a label, and the classes by place; or the value itself and None."""
    classes = None
    while name in made:
        node = made[name]
        if node.op_type in _PASSED:
            name = node.input[0]
        elif node.op_type in ("ArrayFeatureExtractor", "Gather") and node.input[0] in constants:
            classes, name = constants[node.input[0]].reshape(-1), node.input[1]
        elif node.op_type == "ArgMax":
            known = None if classes is None else [_text(value) for value in classes.tolist()]
            return node.input[0], known
        else:
            break
    return name, None


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _rewritten(onnx: Any, node: Any, graph: Any) -> list[Any]:
    """Rewrites a node of `ai.onnx.ml` before a network in ONNX's own operators, if it can be."""
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.domain != "ai.onnx.ml":
        return [node]
    if node.op_type == "Scaler":
        between = f"{node.output[0]} less its offset"
        names = [f"{node.output[0]} {what}" for what in ("offset", "scale")]
        for name, what in zip(names, ("offset", "scale"), strict=True):
            given = np.asarray(attrs.get(what, [float(what == "scale")]), np.float32)
            graph.initializer.append(onnx.numpy_helper.from_array(given, name))
        return [
            onnx.helper.make_node("Sub", [node.input[0], names[0]], [between], name=node.name),
            onnx.helper.make_node("Mul", [between, names[1]], [node.output[0]], name=node.name),
        ]
    replaced = attrs.get("replaced_value_float", np.nan)
    if node.op_type == "Imputer" and replaced != replaced:  # records have no missing values
        return [onnx.helper.make_node("Identity", [node.input[0]], [node.output[0]], name=node.name)]
    if node.op_type == "ArrayFeatureExtractor":
        return [onnx.helper.make_node("Gather", list(node.input), list(node.output), axis=-1, name=node.name)]
    return [node]
