"""What parties ask of a model: one signature, at the party that has the model and at those that know its shape."""

from __future__ import annotations

from typing import Any

DATA_OWNER = "data owner"
"""The default for `reveal_to`: whose records these are."""


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

        Returns:
            An array of labels, of a regression of numbers, or None at a party that does not learn them.

        Raises:
            RangeError: a record has a value that is not finite or exceeds the model's bounds.
            ShapeError: X does not have a row per record and a column per feature, or is sparse.
            ModelError: the records or the model are not where they are said to be, or X is a table that names its
                columns otherwise than `shape.names`, or in another order.
        """
        return self._answer("predict", mpc, X, model_owner, data_owner, reveal_to, rows)

    def predict_proba(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
    ) -> Any:
        """The classes' probabilities, (records, classes), for the same arguments as `predict`.

        They say what the decisions of the model are: the logistic function or the shares that turn decisions into
        probabilities can be undone. So the decisions are what is revealed, of several classes only their
        differences, and the rest is computed where they arrive.

        Raises:
            ModelError: this model has no probabilities.
        """
        return self._answer("predict_proba", mpc, X, model_owner, data_owner, reveal_to, rows)

    def decision_function(
        self,
        mpc: Any,
        X: Any = None,
        model_owner: int = 0,
        data_owner: int = 1,
        reveal_to: int | str | None = DATA_OWNER,
        rows: int | None = None,
    ) -> Any:
        """The decisions, (records,) or (records, classes), for the same arguments as `predict`.

        Each is within `margin_bound` of the estimator's. They say more about the model than classes do.

        Raises:
            ModelError: this model has no such decisions.
        """
        return self._answer("decision_function", mpc, X, model_owner, data_owner, reveal_to, rows)

    def _answer(self, question: str, mpc: Any, *rest: Any) -> Any:
        """`rest`: the other arguments, in order."""
        raise NotImplementedError
