"""A walk through the nodes of a file with operators of `ai.onnx.ml`, which finds the values of its outputs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from quorate.errors import ModelError
from quorate.models._ml import _linear, _trees
from quorate.models._ml._values import (
    REAL,
    TEXT,
    WHOLE,
    Chain,
    Features,
    Label,
    NeuralError,
    Numbers,
    Opaque,
    Place,
    Risen,
    Scores,
    Value,
    joined,
)
from quorate.models._onnx._constants import evaluated
from quorate.models._onnx._layout import Unsupported
from quorate.models._pipeline import knowing

_FLOATS, _WHOLE, _STRING = (1, 11), (6, 7), 8  # TensorProto.FLOAT, DOUBLE; INT32, INT64
_FAR = 64.0  # times a scaler's divisor: the assumed distance of records from its offset, without a bound
_FOUND = (Label, Scores, Risen, Place, Numbers, Opaque)


@dataclasses.dataclass
class Node:
    """A node with its inputs."""

    operator: str
    values: list[Value]
    attrs: dict[str, Any]
    dtype: np.dtype

    def known(self, place: int, attr: str | None = None) -> np.ndarray:
        """Returns an input that is a constant, or in older operator sets an attribute."""
        value = self.values[place] if place < len(self.values) else self.attrs.get(attr or "")
        if value is None or isinstance(value, (Features, *_FOUND)):
            raise Unsupported(f"its input {place} is no constant")
        return np.asarray(value)

    def features(self, place: int = 0) -> Features:
        """Returns an input of numbers for each record, which are linear in its features."""
        value = self.values[place] if place < len(self.values) else None
        if isinstance(value, Features):
            return value
        if isinstance(value, Risen):
            raise NeuralError
        raise Unsupported(f"its input {place} is not computed of the features alone")


Rule = Callable[[Node], list[Value]]


def walked(nodes: Sequence[Any], values: dict[str, Value], dtype: np.dtype, opsets: dict[str, int]) -> dict[str, Value]:
    """Returns all values, by name.

    Raises:
        ModelError: nodes are not supported; the message names all of them.
    """
    import onnx

    faults: list[str] = []
    lost: set[str] = set()
    for number, proto in enumerate(nodes):
        attrs = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        node = Node(proto.op_type, [values.get(i) if i else None for i in proto.input], _decoded(onnx, attrs), dtype)
        if lost.intersection(proto.input):
            lost.update(proto.output)
            continue
        try:
            values.update(zip(proto.output, _made(proto, node, opsets), strict=False))
        except NeuralError:
            values.update((name, Opaque()) for name in proto.output)
        except Unsupported as fault:
            faults.append(f"{proto.op_type} ({proto.name or f'number {number}'}): {fault}")
            lost.update(proto.output)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"{type(error).__name__}: {error}"[:200]
            faults.append(f"{proto.op_type} ({proto.name or f'number {number}'}): its attributes do not fit: {what}")
            lost.update(proto.output)
    if faults:
        many = "a node that is" if len(faults) == 1 else f"{len(faults)} nodes that are"
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise ModelError(f"from_onnx: the model has {many} not supported (see `quorate models`):{listed}")
    return values


def _decoded(onnx: Any, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns attributes as Python's and numpy's values: texts for bytes, and arrays for tensors."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, onnx.TensorProto):
            return onnx.numpy_helper.to_array(value)
        return [plain(part) for part in value] if isinstance(value, list) and value else value

    return {name: plain(value) for name, value in attrs.items()}


def _made(proto: Any, node: Node, opsets: dict[str, int]) -> list[Value]:
    given = [value for value in node.values if value is not None]
    domain = proto.domain if proto.domain != "ai.onnx" else ""
    rule = RULES.get((domain, node.operator))
    if not any(isinstance(value, (Features, *_FOUND)) for value in given):
        if domain:
            raise Unsupported("of constants alone")
        return evaluated(proto, node.values, opsets)
    if any(isinstance(value, Opaque) for value in given):
        return [Opaque()] * len(proto.output)
    if rule is not None:
        return rule(node)
    if domain and any(isinstance(value, Features) for value in given):
        raise Unsupported(_HINTS.get(node.operator, f"operators that {domain} has beside those"))
    raise NeuralError


_HINTS = {
    "Normalizer": "of features: transform the records before they are input, and fit the pipeline on those",
    "LabelEncoder": "of features: encode categories by OneHotEncoder",
    "Imputer": "for missing values that are not nan",
}


# ---- features -------------------------------------------------------------------------------------------------------


def _same(node: Node) -> list[Value]:
    return [node.values[0]]


def _cast(node: Node) -> list[Value]:
    """Casts numbers; whole ones are for encoders of categories."""
    value, to = node.values[0], int(node.attrs["to"])
    if not isinstance(value, Features):
        return [value]
    if value.kind == TEXT and to != _STRING:
        raise Unsupported("texts as numbers")
    if to in _WHOLE and value.kind == REAL:
        return [dataclasses.replace(value, kind=WHOLE)]
    if to in _FLOATS and value.kind == WHOLE:
        raise Unsupported("numbers that were rounded to whole ones")
    if to in (_STRING, *_WHOLE) or to == (1 if node.dtype == np.float32 else 11):
        return [value]
    raise Unsupported("to another precision than that of the inputs")


def _shaped(node: Node) -> list[Value]:
    """Reshapes, with one row for each record."""
    value = node.values[0]
    if not isinstance(value, Features):
        return [value]
    shape = [] if node.operator in ("Flatten", "Squeeze") else node.known(1, "shape").reshape(-1).tolist()
    if shape and not (len(shape) == 2 and shape[0] in (-1, 0) and shape[1] in (-1, value.width)):
        raise NeuralError
    return [value]


def _scaler(node: Node) -> list[Value]:
    """Subtracts an offset and multiplies by a scale.

    Without a bound, the distance of records from the offset is guessed from the scale.
    """
    x = node.features()
    if node.dtype != np.float32:
        raise Unsupported("of float64, which it rounds to float32: convert the pipeline for float32")
    offset = np.asarray(node.attrs.get("offset", 0.0), np.float64)
    scale = np.asarray(node.attrs.get("scale", 1.0), np.float64)
    with np.errstate(divide="ignore"):
        far = np.broadcast_to(np.abs(offset) + _FAR / np.abs(scale), (x.width,))
    x = dataclasses.replace(x, before=knowing(x.before, far))
    return [x.scaled("sub", offset, node.dtype).scaled("mul", scale, node.dtype)]


def _elementwise(node: Node) -> list[Value]:
    """Computes features with constants, and functions of numbers with 1, such as 1 less a share."""
    operator = node.operator.lower()
    first, second = node.values
    if isinstance(first, Features) and not isinstance(second, (Features, *_FOUND)):
        return [first.scaled(operator, _row(second, first), node.dtype)]
    if isinstance(second, Features) and not isinstance(first, (Features, *_FOUND)):
        turned = second
        if operator == "sub":
            turned, operator = second.scaled("mul", np.array(-1.0), node.dtype), "add"
        if operator == "div":
            raise NeuralError
        return [turned.scaled(operator, _row(first, second), node.dtype)]
    risen = next((value for value in (first, second) if isinstance(value, Risen)), None)
    ones = [value for value in (first, second) if not isinstance(value, (Features, *_FOUND)) and np.all(value == 1)]
    made = None if risen is None or not ones else _ONES.get((operator, risen.function))
    if risen is None or made is None or (operator != "add" and risen is first):
        raise NeuralError
    is_turned = made == "logistic"  # 1 less the logistic function of z, and 1 / (1 + e^z), are that of -z
    features = risen.features.scaled("mul", np.array(-1.0), node.dtype) if is_turned else risen.features
    return [Risen(made, features)]


_ONES = {("sub", "logistic"): "logistic", ("add", "exp"): "1 + exp", ("div", "1 + exp"): "logistic"}
"""The results for a function of some numbers and 1, by operator and function."""


def _row(constant: Any, x: Features) -> np.ndarray:
    """Returns a number for each of the features, or one for all."""
    values = np.asarray(constant)
    if values.size not in (1, x.width) or values.ndim > 2:
        raise NeuralError
    return values


def _product(node: Node) -> list[Value]:
    x, matrix = node.features(), node.known(1)
    if matrix.ndim != 2:
        raise NeuralError
    alpha, beta = (float(node.attrs.get(name, 1.0)) for name in ("alpha", "beta"))
    if node.attrs.get("transA", 0):
        raise NeuralError
    w = (matrix.T if node.attrs.get("transB", 0) else matrix) * alpha
    made = x.product(w, node.dtype)
    if len(node.values) > 2 and node.values[2] is not None:
        made = made.scaled("add", _row(node.known(2) * beta, made), node.dtype)
    return [made]


def _concat(node: Node) -> list[Value]:
    parts = node.values
    if all(isinstance(part, Features) for part in parts):
        if node.attrs["axis"] not in (1, 2, -1):
            raise NeuralError
        return [joined(parts)]
    risen: list[Any] = [part.of if isinstance(part, Scores) else part for part in parts]
    if all(isinstance(part, Risen) and part.function == "logistic" for part in risen):
        return [Risen("logistic", joined([part.features for part in risen]))]
    raise NeuralError


def _picked(node: Node) -> list[Value]:
    """Takes columns by their numbers, or classes by theirs."""
    value = node.values[0]
    if isinstance(node.values[1], Place):
        classes = node.known(0).reshape(-1)
        return [Label(node.values[1].of, tuple(classes.tolist()))]
    if node.operator == "Gather" and node.attrs.get("axis", 0) not in (1, -1):
        raise NeuralError
    return [_columns(value, node.known(1).reshape(-1).tolist())]


def _columns(value: Value, places: list[int]) -> Value:
    """Takes some columns of features, or of logistic functions."""
    if isinstance(value, Features):
        return value.kept(places)
    inner = value.of if isinstance(value, Scores) else value
    if isinstance(inner, Risen) and inner.function == "logistic":
        return Risen("logistic", inner.features.kept(places))
    if isinstance(inner, Features):
        return inner.kept(places)
    return Opaque()


def _slice(node: Node) -> list[Value]:
    value = node.values[0]
    inner = value.of if isinstance(value, Scores) else value
    features = inner.features if isinstance(inner, Risen) else inner
    if not isinstance(features, Features):
        return [Opaque()]
    starts, ends = (node.known(i, name).reshape(-1).tolist() for i, name in ((1, "starts"), (2, "ends")))
    given = node.known(3, "axes").reshape(-1).tolist() if len(node.values) > 3 or "axes" in node.attrs else [0]
    steps = node.known(4).reshape(-1).tolist() if len(node.values) > 4 else [1]
    if len(given) != 1 or given[0] not in (1, -1) or len(steps) != 1:
        raise NeuralError
    return [_columns(value, list(range(features.width))[starts[0] : ends[0] : steps[0]])]


def _split(node: Node) -> list[Value]:
    x = node.features()
    if node.attrs.get("axis", 0) not in (1, -1):
        raise NeuralError
    sizes = node.known(1, "split").reshape(-1).tolist()
    ends = np.cumsum([0, *sizes])
    return [x.kept(range(a, b)) for a, b in itertools.pairwise(ends)]


def _one_hot(node: Node) -> list[Value]:
    """Adds a column for each category of each feature, which the records' owner computes."""
    x = node.features()
    texts = node.attrs.get("cats_strings") or ()
    categories = tuple(texts) or tuple(int(value) for value in node.attrs.get("cats_int64s") or ())
    if not categories:
        raise Unsupported("without categories")
    if x.chains is None or any(chain.steps for chain in x.chains):
        raise Unsupported("behind steps that change features: encode the features themselves")
    columns, places, made = x.before.columns, [], []
    for chain in x.chains:
        feature, what = columns.all[chain.place]
        if what != ("value",):
            raise Unsupported("of columns that were encoded before")
        columns.encoded.add(feature)
        if not node.attrs.get("zeros", 1):
            columns.must_be(feature, categories)
        for category in categories:
            places.append(columns.add(feature, ("in", category)))
            made.append(Chain(places[-1]))
    return [Features(x.before.picked(np.array(places, np.int64)), tuple(made))]


def _imputer(node: Node) -> list[Value]:
    """Returns records unchanged: missing values are refused."""
    x, replaced = node.features(), node.attrs.get("replaced_value_float", np.nan)
    if replaced == replaced or "replaced_value_int64" in node.attrs:
        raise Unsupported("for missing values that are not nan")
    return [x]


# ---- models ---------------------------------------------------------------------------------------------------------


def _classes(attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    for name in ("classlabels_strings", "classlabels_int64s", "classlabels_ints"):
        if attrs.get(name):
            return tuple(attrs[name])
    raise Unsupported("without class labels")


def _classifier(make: Callable[[Mapping[str, Any], tuple[Any, ...], Features, np.dtype], list[Value]]) -> Rule:
    return lambda node: make(node.attrs, _classes(node.attrs), _real(node), _dtype(node))


def _regressor(make: Callable[[Mapping[str, Any], Features, np.dtype], list[Value]]) -> Rule:
    return lambda node: make(node.attrs, _real(node), _dtype(node))


def _dtype(node: Node) -> np.dtype:
    """Returns the precision: trees compare their inputs as they are; linear models and SVMs round them to float32."""
    return node.dtype if node.operator.startswith("TreeEnsemble") else np.dtype(np.float32)


def _real(node: Node) -> Features:
    x = node.features()
    if x.kind != REAL:
        raise Unsupported("it computes with categories")
    return x


def _largest(node: Node) -> list[Value]:
    value = node.values[0]
    inner = value.of if isinstance(value, Scores) else value
    if node.attrs.get("axis", 0) not in (1, -1) or node.attrs.get("select_last_index", 0):
        raise Unsupported("along another axis than classes', or the last of equal ones")
    if not isinstance(inner, (Features, Risen)):
        return [Opaque()]
    return [Place(inner)]


def _risen(function: str) -> Rule:
    def rule(node: Node) -> list[Value]:
        value = node.values[0]
        inner = value.of if isinstance(value, Scores) else value
        if isinstance(inner, Features) and node.attrs.get("axis", -1) in (1, -1):
            return [Risen(function, inner)]
        return [Opaque()]

    return rule


def _normalizer(node: Node) -> list[Value]:
    """Keeps probabilities that add up to 1; no question asks for other scores."""
    value = node.values[0]
    if isinstance(value, Features):
        raise Unsupported(_HINTS["Normalizer"])
    inner = value.of if isinstance(value, Scores) else value
    if isinstance(inner, Risen) and inner.function == "softmax" and node.attrs.get("norm", "MAX") == "L1":
        return [value]
    return [Opaque()]


def _renamed(node: Node) -> list[Value]:
    """Renames labels by a table."""
    value = node.values[0]
    if not isinstance(value, Label):
        raise Unsupported(_HINTS["LabelEncoder"])
    kinds = ("strings", "int64s", "floats", "tensor")
    keys, values = (
        next(
            (
                list(np.asarray(node.attrs[f"{what}_{kind}"]).tolist())
                for kind in kinds
                if f"{what}_{kind}" in node.attrs
            ),
            [],
        )
        for what in ("keys", "values")
    )
    table = dict(zip(keys, values, strict=True))
    if not all(name in table for name in value.classes):
        raise Unsupported("a label that its keys do not have")
    return [dataclasses.replace(value, classes=tuple(table[name] for name in value.classes))]


ML = "ai.onnx.ml"
RULES: dict[tuple[str, str], Rule] = {
    **{("", name): _same for name in ("Identity",)},
    (ML, "ZipMap"): _same,
    ("", "Cast"): _cast,
    **{("", name): _shaped for name in ("Reshape", "Flatten", "Squeeze")},
    **{("", name): _elementwise for name in ("Add", "Sub", "Mul", "Div")},
    **{("", name): _product for name in ("MatMul", "Gemm")},
    ("", "Concat"): _concat,
    (ML, "FeatureVectorizer"): lambda node: _concat(dataclasses.replace(node, attrs={"axis": 1})),
    ("", "Gather"): _picked,
    (ML, "ArrayFeatureExtractor"): _picked,
    ("", "Slice"): _slice,
    ("", "Split"): _split,
    ("", "ArgMax"): _largest,
    ("", "Sigmoid"): _risen("logistic"),
    ("", "Exp"): _risen("exp"),
    ("", "Softmax"): _risen("softmax"),
    (ML, "Scaler"): _scaler,
    (ML, "Imputer"): _imputer,
    (ML, "OneHotEncoder"): _one_hot,
    (ML, "Normalizer"): _normalizer,
    (ML, "LabelEncoder"): _renamed,
    (ML, "LinearClassifier"): _classifier(_linear.classifier),
    (ML, "LinearRegressor"): _regressor(_linear.regressor),
    (ML, "SVMClassifier"): _classifier(_linear.svm_classifier),
    (ML, "SVMRegressor"): _regressor(_linear.svm_regressor),
    (ML, "TreeEnsembleClassifier"): _classifier(_trees.classifier),
    (ML, "TreeEnsembleRegressor"): _regressor(_trees.regressor),
}
