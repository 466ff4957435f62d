"""What everybody may know of a model."""

from __future__ import annotations

import dataclasses
from typing import Any

from quorate.errors import ModelError

KINDS = ("tree", "linear", "votes")


@dataclasses.dataclass(frozen=True)
class Shape:
    """The public part of a model: all that the parties without the model need, and all that they learn.

    Everything else about the model stays secret: weights, thresholds, which features are used, what the leaves say,
    and the form of the tree within its depth or node count.

    Attributes:
        kind: `"tree"`; `"linear"`, one linear decision or the largest of several; `"votes"`, one against one.
        classes: the labels, in the model's order. Use neutral ones if the labels themselves are confidential.
        features: how many features a record has.
        depth: of a tree, if it is at most 12: the tree is padded to a complete one.
        nodes: of a deeper tree: the number of its inner nodes.
        scales: of a linear model: feature i is at most `2**scales[i]` in magnitude.
        data_bits: of a linear model: fractional bits of a scaled record.
        weight_bits: of a linear model: bits of a weight.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        if self.scales is not None:
            object.__setattr__(self, "scales", tuple(int(e) for e in self.scales))
        problem = self._problem()
        if problem:
            raise ModelError(f"this is not the shape of a model: {problem}")

    def _problem(self) -> str | None:
        if self.kind not in KINDS:
            return f"kind is {self.kind!r}, not one of {', '.join(KINDS)}"
        if len(self.classes) < 2:
            return f"{len(self.classes)} class, at least two are needed"
        if self.features < 1:
            return f"{self.features} features"
        if self.kind == "tree":
            if (self.depth is None) == (self.nodes is None):
                return "a tree has either a depth or a node count"
            if self.depth is not None and not 1 <= self.depth <= 12:
                return f"depth {self.depth} is not between 1 and 12; deeper trees give nodes"
            if self.nodes is not None and self.nodes < 1:
                return f"{self.nodes} nodes"
            return None
        if self.scales is None or len(self.scales) != self.features:
            return f"scales must be {self.features} exponents, one per feature"
        if self.data_bits is None or self.weight_bits is None or self.data_bits < 1 or self.weight_bits < 1:
            return "data_bits and weight_bits are missing or below 1"
        if self.data_bits + self.weight_bits + (self.features - 1).bit_length() > 61:
            return "data_bits, weight_bits and the sum over the features do not fit in 63 bits"
        return None

    def describe(self) -> dict[str, Any]:
        """The fields that say something, as plain values; `Shape(**described)` is the same shape.

        >>> Shape(**Shape("tree", classes=("a", "b"), features=2, nodes=40).describe()).nodes
        40
        """
        described = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in described.items()}

    @property
    def label_bits(self) -> int:
        """Bits of a class's index."""
        return (len(self.classes) - 1).bit_length()

    def predict(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = "data owner",
        rows: int | None = None,
    ) -> Any:
        """The part of `Model.predict` of a party that does not have the model."""
        from quorate.models._model import predict

        return predict(mpc, self, None, X, model_owner, data_owner, reveal_to, rows)
