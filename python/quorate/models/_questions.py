"""What parties ask of a model: one signature, at the party that has the model and at those that know its shape."""

from __future__ import annotations

import dataclasses
from typing import Any

DATA_OWNER = "data owner"
"""The default for `reveal_to`: whose records these are."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments of a question."""

    X: Any
    model_owner: int
    data_owner: int
    reveal_to: int | str | None
    rows: int | None
    reveal: bool


class Questions:
    """The questions. Every party calls the same one: the model's owner on the model, others on its `Shape`."""

    def predict(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
        *,
        reveal: bool = True,
    ) -> Any:
        """Predicts for `data_owner`'s records with `model_owner`'s model, showing neither.

        All records are scored in one batch: rounds do not grow with their number.

        Args:
            mpc: a session.
            X: the records, (records, features), at their owner and in a local session; elsewhere None, or any array
                of that shape, of which nothing but the shape is used.
            model_owner: the party that has the model.
            data_owner: the party that has the records.
            reveal_to: the party that learns the predictions: the records' owner unless stated; None for all.
            rows: the number of records, where X is None.
            reveal: False reveals nothing, and gives a secret array that the program goes on with. Labels that are
                whole numbers come as these, two truth values as bits, all others as their places in `shape.classes`;
                of labels that are predicted each for itself bits; of a regression `qr.fixed(64, 16)`.

        What is secret of a model is shared by the first question that a session asks it, and used by all further ones;
        it goes with the model, the shape that stands for it at other parties, or the session. So all parties ask the
        same model, or keep the `Shape` as long as its owner keeps the model.

        Returns:
            An array of labels, of a regression of numbers, or None at a party that does not learn them; with
            `reveal=False` a secret array.

        Raises:
            RangeError: a record has a value that is not finite or exceeds the model's bounds.
            ShapeError: X does not have a row per record and a column per feature, or is sparse.
            ModelError: the records or the model are not where they are said to be, or X is a table that names its
                columns otherwise than `shape.names`, or in another order.
        """
        return self._answer("predict", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal))

    def predict_proba(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
        *,
        reveal: bool = True,
    ) -> Any:
        """The classes' probabilities, (records, classes), for the same arguments as `predict`.

        They say what the decisions of the model are: the logistic function or the shares that turn decisions into
        probabilities can be undone. So the decisions are what is revealed, of several classes only their
        differences, and the rest is computed where they arrive. With `reveal=False` it is computed on secrets, as
        `qr.fixed(64, 16)`: each probability is within `margin_bound` and 2^-14.

        Raises:
            ModelError: this model has no probabilities.
        """
        return self._answer("predict_proba", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal))

    def decision_function(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
        *,
        reveal: bool = True,
    ) -> Any:
        """The decisions, (records,) or (records, classes), for the same arguments as `predict`.

        Each is within `margin_bound` of the estimator's. They say more about the model than classes do. With
        `reveal=False` they are `qr.fixed(64, 16)`, rounded down.

        Raises:
            ModelError: this model has no such decisions.
        """
        return self._answer("decision_function", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal))

    def _answer(self, question: str, mpc: Any, asked: Asked) -> Any:
        raise NotImplementedError
