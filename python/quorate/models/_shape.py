"""The public part of a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from quorate._display._text_tables import counted
from quorate.errors import ModelError
from quorate.models import _columns
from quorate.models._questions import Asked, Questions

ACTIVATIONS = ("relu", "identity", "tanh", "logistic")
LINKS = ("share", "logistic", "softmax", "sigmoids")
_OF_NUMBERS = ("forest", "boosting", "network", "neighbors")
NARROW, WIDE = 64, 120
"""Bits of linear decisions: the usual number, and that for features without stated bounds."""


@dataclasses.dataclass(frozen=True)
class Shape(Questions):
    """The public part of a model: all that the parties without the model need, and all that they learn.

    Everything else about the model stays secret: weights, thresholds, which features are used, the values of leaves,
    and the form of the tree within its depth or node count.

    Attributes:
        kind: `"tree"`; `"forest"` and `"boosting"`, sums over trees; `"linear"`, one linear decision or the largest of
            several; `"votes"`, one against one; `"neighbors"`, votes or means of the nearest points; `"regression"`,
            linear numbers; `"network"`, layers of neurons.
        classes: the labels, in the model's order; none for a regression. Use neutral ones if the labels themselves are
            confidential.
        features: the number of features of a record.
        depth: for trees that are made complete: up to 12 for one tree, up to 8 for several.
        nodes: for deeper trees: the number of inner nodes, or the largest such number of several trees.
        trees: the number of trees of a forest, or of stages of boosting.
        scales: for models other than trees: feature i is at most `2**scales[i]` in magnitude.
        data_bits: for models other than trees: fractional bits of a scaled record. For a linear model whose features
            have no stated bounds it is 61, and its decisions have 120 bits.
        weight_bits: for a linear model: bits of a weight.
        targets: for a regression of any kind but `"tree"`, `"linear"` and `"votes"`: the shape of the prediction for
            one record, `()` or `(targets,)`.
        layers: for a network: the number of neurons of each hidden layer.
        activation: for a network: the activation of the hidden layers.
        layer_scales: for a network with tanh or logistic: weights of hidden layer l are at most `2**layer_scales[l]`.
        multilabel: for a network: whether each label is predicted independently of the others.
        link: how `predict_proba` follows from the decisions, if it does. `"sigmoids"`: as shares of logistic functions;
            no method returns these.
        float64: for trees: whether records are compared as float64, in rings of 64 bits, and not rounded to float32.
        names: the names of the features, in order, if the estimator was fitted on a table that has them. Records with
            names must have the same ones; records without names are accepted. Names are public, as class labels are.
        columns: the columns that the records' owner computes from each record before it is input; not set if these are
            the features themselves: `(feature, ("value",))`, `(feature, ("square",))`, `(feature, ("in", a, b))`, which
            is 1 for these categories and else 0, and `(feature, ("out", a, b))`, the opposite. `scales` are then those
            of the columns.
        known: the features whose value must be one of these categories: `(feature, (a, b))`.
        points: for nearest neighbors: the number of records that the model has.
        neighbors: for nearest neighbors: the number of points that vote.

    >>> Shape("tree", classes=(0, 1), features=30, depth=5).describe()["depth"]
    5
    """

    kind: str
    classes: tuple[Any, ...]
    features: int
    depth: int | None = None
    nodes: int | None = None
    scales: tuple[int, ...] | None = None
    data_bits: int | None = None
    weight_bits: int | None = None
    trees: int | None = None
    targets: tuple[int, ...] | None = None
    layers: tuple[int, ...] | None = None
    activation: str | None = None
    layer_scales: tuple[int, ...] | None = None
    multilabel: bool | None = None
    link: str | None = None
    float64: bool | None = None
    names: tuple[str, ...] | None = None
    columns: tuple[_columns.Column, ...] | None = None
    known: tuple[tuple[int, tuple[Any, ...]], ...] | None = None
    points: int | None = None
    neighbors: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        for name in ("scales", "targets", "layers", "layer_scales"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(int(e) for e in getattr(self, name)))
        if self.names is not None:
            object.__setattr__(self, "names", tuple(map(str, self.names)))
        for name in ("columns", "known"):
            if (pairs := getattr(self, name)) is not None:
                object.__setattr__(self, name, _columns.pairs(name, pairs))
        problem = self._problem()
        if problem:
            raise ModelError(f"this is not the shape of a model: {problem}")

    def _problem(self) -> str | None:
        if self.kind not in _CHECKS:
            return f"kind is {self.kind!r}, not one of {', '.join(_CHECKS)}"
        if self.kind == "regression" or (self.targets is not None and self.kind in _OF_NUMBERS):
            if self.targets is None or self.classes or len(self.targets) > 1 or min(self.targets, default=1) < 1:
                return f"a regression has targets () or (number,) and no classes, not {self.targets} and {self.classes}"
        elif self.targets is not None:
            return f"a model of kind {self.kind!r} has classes and no targets"
        elif len(self.classes) < (1 if self.multilabel else 2):
            return f"{len(self.classes)} class, at least two are needed"
        if self.features < 1:
            return counted(self.features, "feature")
        if self.names is not None and len(self.names) != self.features:
            return f"{counted(len(self.names), 'name')} for {counted(self.features, 'feature')}"
        if self.columns is not None or self.known is not None:
            problem = _columns.problem(self.columns or (), self.known or (), self.features)
            if problem is not None:
                return problem
        if self.link is not None and self.link not in LINKS:
            return f"link is {self.link!r}, not one of {', '.join(LINKS)}"
        return _CHECKS[self.kind](self)

    def describe(self) -> dict[str, Any]:
        """Returns the fields that are set, as plain values; `Shape(**described)` is the same shape.

        >>> Shape(**Shape("tree", classes=("a", "b"), features=2, nodes=40).describe()).nodes
        40
        """
        return {k: _listed(v) for k, v in dataclasses.asdict(self).items() if v is not None}

    @property
    def width(self) -> int:
        """The number of columns that a record is input as: its features, unless `columns` is set."""
        return self.features if self.columns is None else len(self.columns)

    def column(self, place: int) -> str:
        """Returns the name of a column, in words."""
        feature, what = (place, _columns.VALUE) if self.columns is None else self.columns[place]
        return f"{'the square of ' if what == _columns.SQUARE else ''}feature {feature}"

    @property
    def label_bits(self) -> int:
        """Bits of a class's index."""
        return (len(self.classes) - 1).bit_length()

    @property
    def decisions(self) -> int:
        """The number of decisions for a record.

        >>> Shape("votes", classes=(1, 2, 3, 4), features=1, scales=(0,), data_bits=9, weight_bits=9).decisions
        6
        """
        if self.kind == "neighbors":
            return self.points or 0
        if self.targets is not None:
            return self.targets[0] if self.targets else 1
        classes = len(self.classes)
        if self.kind == "votes":
            return classes * (classes - 1) // 2
        return 1 if classes == 2 and not self.multilabel else classes

    @property
    def decision_bits(self) -> int:
        """Bits of the dtype of linear decisions.

        >>> Shape("linear", classes=(0, 1), features=4, scales=(13,) * 4, data_bits=61, weight_bits=54).decision_bits
        120
        """
        return NARROW if self._product_bits <= NARROW - 3 or self.kind == "neighbors" else WIDE

    @property
    def _product_bits(self) -> int:
        """Bits of a sum of products of a record and weights."""
        return (self.data_bits or 0) + (self.weight_bits or 0) + (self.width - 1).bit_length()

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        from quorate.models._model import program

        return program(question, mpc, self, self, None, asked)


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _tree_problem(shape: Shape) -> str | None:
    most = 12 if shape.kind == "tree" else 8
    if (shape.depth is None) == (shape.nodes is None):
        return "a tree has either a depth or a node count"
    if shape.depth is not None and not 1 <= shape.depth <= most:
        return f"depth {shape.depth} is not between 1 and {most}; deeper trees give nodes"
    if shape.nodes is not None and shape.nodes < 1:
        return f"{shape.nodes} nodes"
    return None


def _trees_problem(shape: Shape) -> str | None:
    if shape.trees is None or shape.trees < 1:
        return f"{shape.trees} trees"
    return _tree_problem(shape)


def _scales_problem(shape: Shape) -> str | None:
    if shape.scales is None or len(shape.scales) != shape.width:
        return f"scales must be {shape.width} exponents, one per {'feature' if shape.columns is None else 'column'}"
    return None


def _linear_problem(shape: Shape) -> str | None:
    if (problem := _scales_problem(shape)) is not None:
        return problem
    if shape.data_bits is None or shape.weight_bits is None or shape.data_bits < 1 or shape.weight_bits < 1:
        return "data_bits and weight_bits are missing or below 1"
    if max(shape.data_bits, shape.weight_bits) > 61 or shape._product_bits > shape.decision_bits - 3:
        return f"data_bits, weight_bits and the sum over the features do not fit in {shape.decision_bits - 1} bits"
    return None


def _neighbors_problem(shape: Shape) -> str | None:
    if shape.points is None or shape.neighbors is None or not 1 <= shape.neighbors <= shape.points:
        return f"{shape.neighbors} neighbors of {shape.points} points"
    return _linear_problem(shape)


def _network_problem(shape: Shape) -> str | None:
    if (problem := _scales_problem(shape)) is not None:
        return problem
    if shape.layers is None or min(shape.layers, default=1) < 1:
        return f"layers are {shape.layers}; give the number of neurons of each hidden layer"
    if shape.activation not in ACTIVATIONS:
        return f"activation is {shape.activation!r}, not one of {', '.join(ACTIVATIONS)}"
    if shape.data_bits is None or not 1 <= shape.data_bits <= 60 - (shape.width - 1).bit_length():
        return f"data_bits is {shape.data_bits}, which leaves nothing for the weights"
    scaled = shape.activation in ("tanh", "logistic")
    if (shape.layer_scales is not None) != scaled or len(shape.layer_scales or shape.layers) != len(shape.layers):
        return "layer_scales must be an exponent per hidden layer with tanh and logistic, and None with the others"
    return None


_CHECKS: dict[str, Callable[[Shape], str | None]] = {
    "tree": _tree_problem,
    "forest": _trees_problem,
    "boosting": _trees_problem,
    "linear": _linear_problem,
    "votes": _linear_problem,
    "neighbors": _neighbors_problem,
    "regression": _linear_problem,
    "network": _network_problem,
}
