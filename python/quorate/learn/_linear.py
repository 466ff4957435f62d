"""Linear and logistic regression: networks without hidden layers."""

from __future__ import annotations

from typing import Any

from quorate.learn._estimator import Classifier, Estimator
from quorate.learn._schedule import ALPHA, EPOCHS, Schedule, epochs_of

__all__ = ["LinearRegression", "LogisticRegression"]


class _Linear:
    """The attributes `coef_` and `intercept_`, in scikit-learn's shapes."""

    _parameters: list[Any]
    _shape: Any

    def _name(self) -> None:
        [(weights, intercepts)] = self._shape.layers(self._parameters)
        self.coef_ = weights.T if self._shape.link != "identity" else weights.reshape(-1)
        self.intercept_ = 0.0 if intercepts is None else intercepts


class LogisticRegression(_Linear, Classifier):
    """Logistic regression on secret records, of two classes or, by softmax, of more.

    `fit` reveals nothing: `coef_` (1 or classes, features) and `intercept_` are secret arrays. Public are the schedule
    (number, size and order of batches, factors of steps), classes and shapes.

    Args:
        classes: the possible labels, whole numbers: 3 for 0, 1 and 2, or [1, 2, 5]. Not needed if labels are bits. A
            secret label that is not one of them counts as the first of two classes; with more classes it counts as none
            of them. No error reports it, because labels are secret.
        epochs: the number of passes over all records.
        max_iter: scikit-learn's name for `epochs`.
        batch_size: the number of records of a step. Larger batches make fewer steps.
        learning_rate: the factor of the mean gradient of a batch in a step.
        momentum: the fraction of a step that is added to the next one, 0 to 0.999.
        alpha: adds alpha / 2 times the sum of squared weights to the loss; intercepts do not count.
        C: scikit-learn's name for 1 / (alpha records): the weight of the losses of all records relative to half of the
            squared weights. scikit-learn's default is 1.
        fit_intercept: whether the model has an intercept.
        shuffle: whether each epoch uses a new order of records. The order is public.
        random_state: the seed of the orders. It is public.
        weight_bound: weights never leave [-weight_bound, weight_bound]. If the steps of the training cannot reach the
            bound, this is proven; otherwise each step clips weights (`weights_clipped_`).
        fraction_bits: the training computes in `qr.fixed(64, fraction_bits)`, 12 to 24.
        verbose: whether each epoch is announced on stderr.

    Attributes:
        coef_, intercept_: the learnt parameters, secret.
        classes_: the labels.
        n_features_in_, n_iter_: the numbers of features and of epochs.
        weights_clipped_: whether steps clip weights.

    Error: each step rounds to fixed point; `fit_clear` does not. Rounds of a step: see `explain`.

    Source: stochastic gradient descent with momentum; B. T. Polyak, 1964.

    Example:
        >>> import numpy as np, quorate as qr
        >>> x, y = np.array([[-1.0, 2.0], [-2.0, 1.0], [1.0, -1.0], [2.0, -2.0]]), np.array([0, 0, 1, 1])
        >>> with qr.local("rss") as mpc:
        ...     ours = mpc.input(x[:2], owner=0, bound=4), mpc.input(y[:2], owner=0)
        ...     theirs = mpc.input(x[2:], owner=1, bound=4), mpc.input(y[2:], owner=1)
        ...     X, Y = mpc.concatenate([ours[0], theirs[0]]), mpc.concatenate([ours[1], theirs[1]])
        ...     model = qr.learn.LogisticRegression(classes=2, batch_size=2, epochs=5).fit(X, Y)
        ...     print(model.predict(X).reveal(), model.reveal(to=0).predict([[3.0, -3.0]]))
        [0 0 1 1] [1]
    """

    def __init__(
        self,
        classes: Any = None,
        *,
        epochs: int = EPOCHS,
        max_iter: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        alpha: float = ALPHA,
        C: float | None = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: int = 0,
        weight_bound: float = 32.0,
        fraction_bits: int = 20,
        verbose: bool = False,
    ) -> None:
        schedule = Schedule(
            epochs_of(epochs, max_iter), batch_size, learning_rate, momentum, alpha, bool(shuffle), random_state, C
        )
        super().__init__(schedule, weight_bound, fraction_bits, verbose)
        self._given_classes, self._intercepts = classes, bool(fit_intercept)


class LinearRegression(_Linear, Estimator):
    """Linear regression on secret records: least squares by gradient descent, ridge with `alpha`.

    Scale features and targets to about 1: the largest features determine how small steps must be to converge. `fit`
    reveals nothing: `coef_` (features,) and `intercept_` (1,) are secret arrays.

    Args:
        epochs: the number of passes over all records.
        max_iter: scikit-learn's name for `epochs`.
        batch_size: the number of records of a step. Larger batches make fewer steps.
        learning_rate: the factor of the mean gradient of a batch in a step.
        momentum: the fraction of a step that is added to the next one, 0 to 0.999.
        alpha: adds alpha / 2 times the sum of squared weights to the loss; intercepts do not count.
        fit_intercept: whether the model has an intercept.
        shuffle: whether each epoch uses a new order of records. The order is public.
        random_state: the seed of the orders. It is public.
        weight_bound: weights never leave [-weight_bound, weight_bound]. If the steps of the training cannot reach the
            bound, this is proven; otherwise each step clips weights (`weights_clipped_`).
        fraction_bits: the training computes in `qr.fixed(64, fraction_bits)`, 12 to 24.
        verbose: whether each epoch is announced on stderr.

    Attributes:
        coef_, intercept_: the learnt parameters, secret.
        n_features_in_, n_iter_: the numbers of features and of epochs.
        weights_clipped_: whether steps clip weights.

    Error: each step rounds to fixed point; `fit_clear` does not.

    Source: stochastic gradient descent with momentum; B. T. Polyak, 1964.

    Example:
        >>> import numpy as np, quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     X = mpc.input([[0.0], [1.0], [2.0], [3.0]], owner=0, bound=4)
        ...     y = mpc.input([1.0, 3.0, 5.0, 7.0], owner=1, bound=8)
        ...     model = qr.learn.LinearRegression(batch_size=4, epochs=60, momentum=0.5).fit(X, y)
        ...     print(model.predict(X).reveal().round(1))
        [1. 3. 5. 7.]
    """

    def __init__(
        self,
        *,
        epochs: int = EPOCHS,
        max_iter: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.1,
        momentum: float = 0.9,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: int = 0,
        weight_bound: float = 32.0,
        fraction_bits: int = 20,
        verbose: bool = False,
    ) -> None:
        schedule = Schedule(
            epochs_of(epochs, max_iter), batch_size, learning_rate, momentum, alpha, bool(shuffle), random_state
        )
        super().__init__(schedule, weight_bound, fraction_bits, verbose)
        self._intercepts = bool(fit_intercept)
