"""A trained model as a program over secret records."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from quorate.errors import ModelError, ShapeError
from quorate.models import _linear, _tree
from quorate.models._backend import Array, Backend, Clear, Secret
from quorate.models._linear import LinearSecrets
from quorate.models._numerics import ORDERED_BOUND
from quorate.models._shape import Shape
from quorate.models._tree import TreeSecrets

Secrets = TreeSecrets | LinearSecrets

DATA_OWNER = "data owner"
"""The default for `reveal_to`: whose records these are."""


@dataclasses.dataclass(frozen=True, repr=False)
class Model:
    """What `from_sklearn` returns: a public shape and secret parameters.

    Attributes:
        shape: what the other parties may know; give it to them.
        margin_bound: of a linear model: predictions equal the estimator's for every record whose margin exceeds it.
            The margin is the magnitude of the decision (binary), the smallest of them (one against one), or the
            distance between the two largest (one against the rest). A tree's is 0: its predictions are always equal.
            It is computed from the secret weights and stays with the model's owner.
    """

    shape: Shape
    _secrets: Secrets
    margin_bound: float = 0.0

    def __repr__(self) -> str:
        return f"Model({self.shape})"

    def predict(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
    ) -> Any:
        """Predicts the classes of `data_owner`'s records with `model_owner`'s model, showing neither.

        All records are scored in one batch: rounds do not grow with their number.

        Args:
            mpc: a session.
            X: the records, (records, features), at their owner and in a local session; elsewhere None, or any array
                of that shape, of which nothing but the shape is used.
            model_owner: the party that has the model.
            data_owner: the party that has the records.
            reveal_to: the party that learns the predictions: the records' owner unless stated; None for all.
            rows: the number of records, where X is None.

        Returns:
            An array of labels, or None at a party that does not learn them.

        Raises:
            RangeError: a record has a value that is not finite or exceeds the model's bounds.
            ShapeError: X does not have a row per record and a column per feature.
            ModelError: the records or the model are not where they are said to be.
        """
        return predict(mpc, self.shape, self._secrets, X, model_owner, data_owner, reveal_to, rows)

    def predict_clear(self, X: Any) -> np.ndarray:
        """The same integer computation without protection, for comparison: no session, nothing is secret."""
        records = encode_records(self.shape, X)
        index = run(Clear(), self.shape, self._secrets, records, records.shape[0], 0, 0)
        return decode(self.shape, index)


def encode_records(shape: Shape, X: Any) -> np.ndarray:
    """The integers that stand for records; raises before anything is sent if they cannot."""
    values = X if isinstance(X, np.ndarray) else np.asarray(X)
    if values.ndim != 2 or values.shape[1] != shape.features or values.shape[0] == 0:
        raise ShapeError(f"records have shape {values.shape}; the model takes (records, {shape.features})")
    return _tree.encode_records(values) if shape.kind == "tree" else _linear.encode_records(values, shape)


def run(
    on: Backend, shape: Shape, secrets: Secrets | None, records: Any, rows: int, model_owner: int, data_owner: int
) -> Array:
    """The program of a model: bits of the index for a tree, the index otherwise."""
    size = (rows, shape.features)
    if shape.kind == "tree":
        x = on.integers(records, data_owner, size, _tree.ring_bits(shape.features), ORDERED_BOUND)
        return _tree.run_tree(on, shape, secrets if isinstance(secrets, TreeSecrets) else None, x, model_owner)
    x = on.integers(records, data_owner, size, _linear.DECISION_BITS, 1 << (shape.data_bits or 0))
    return _linear.run_linear(on, shape, secrets if isinstance(secrets, LinearSecrets) else None, x, model_owner)


def decode(shape: Shape, index: np.ndarray) -> np.ndarray:
    """Labels from what `run` computes."""
    numbers = np.asarray(index).astype(np.int64)
    if shape.kind == "tree":
        numbers = (numbers << np.arange(shape.label_bits)[:, None]).sum(axis=0)
    return np.asarray(shape.classes)[numbers]


def predict(
    mpc: Any,
    shape: Shape,
    secrets: Secrets | None,
    X: Any,
    model_owner: int,
    data_owner: int,
    reveal_to: int | str | None,
    rows: int | None,
) -> Any:
    """`Model.predict` and `Shape.predict`: at each party the same program, with the values that it has."""
    me = mpc.me
    learner = data_owner if reveal_to == DATA_OWNER else reveal_to
    if secrets is None and me in (None, model_owner):
        raise ModelError(f"party {model_owner} owns the model: call predict on what from_sklearn returned there")
    if X is None and me in (None, data_owner):
        raise ModelError(f"party {data_owner} owns the records: give them as X there")
    count = rows if X is None else np.shape(X)[0] if np.ndim(X) else 0
    if count is None or count < 1 or (rows is not None and rows != count):
        raise ShapeError(f"{count} records, rows={rows}: a party without the records states their number as rows=")
    records = encode_records(shape, X) if me in (None, data_owner) else None
    mine = secrets if me in (None, model_owner) else None
    result = run(Secret(mpc), shape, mine, records, count, model_owner, data_owner).reveal(learner)
    return decode(shape, result) if isinstance(result, np.ndarray) else result
