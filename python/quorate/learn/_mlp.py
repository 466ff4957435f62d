"""Dense networks with hidden layers that learn from secret records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate.errors import ConfigError
from quorate.learn._dense_network import ACTIVATIONS
from quorate.learn._estimator import Classifier, Estimator
from quorate.learn._schedule import ALPHA, EPOCHS, Schedule, epochs_of

__all__ = ["MLPClassifier", "MLPRegressor"]


def _sizes(given: Any) -> tuple[int, ...]:
    sizes = tuple(given) if isinstance(given, Sequence) else (given,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in sizes)
    if not whole or not sizes:
        raise ConfigError(at(f"hidden_layer_sizes must be whole numbers above 0, such as (32,), not {given!r}"))
    return tuple(int(n) for n in sizes)


def _activation(given: Any) -> str:
    if given not in ACTIVATIONS:
        raise ConfigError(at(f"activation must be one of {', '.join(ACTIVATIONS)}, not {given!r}"))
    return str(given)


class MLPClassifier(Classifier):
    """A dense network that learns classes from secret records, by the log loss.

    `fit` reveals nothing: `coefs_` and `intercepts_` are secret arrays. Public are sizes, classes and the schedule
    (number, size and order of batches, factors of steps).

    Args:
        hidden_layer_sizes: the numbers of units of the hidden layers.
        classes: the possible labels, whole numbers: 3 for 0, 1 and 2, or [1, 2, 5]. Not needed if labels are bits. A
            secret label that is not one of them counts as the first of two classes; with more classes it counts as none
            of them. No error reports it, because labels are secret.
        activation: "relu", "tanh", "logistic" or "identity".
        epochs: the number of passes over all records.
        max_iter: scikit-learn's name for `epochs`.
        batch_size: the number of records of a step. Larger batches make fewer steps.
        learning_rate: the factor of the mean gradient of a batch in a step.
        momentum: the share of a step that is repeated in the next one, 0 to 0.999.
        alpha: adds alpha / 2 times the sum of squared weights to the loss; intercepts do not count.
        shuffle: whether each epoch uses a new order of records. The order is public.
        random_state: the seed of the initial weights, which are drawn as in scikit-learn, and of the orders. Public.
        weight_bound: weights never leave [-weight_bound, weight_bound]. If the steps of the training cannot reach the
            bound, this is proven; otherwise each step clips weights (`weights_clipped_`). With two or more hidden
            layers, a smaller bound such as 2 is needed to prove that no number wraps.
        fraction_bits: the training computes in `qr.fixed(64, fraction_bits)`, 12 to 24.
        verbose: whether each epoch is announced on stderr.

    Attributes:
        coefs_, intercepts_: secret weights (inputs, outputs) and intercepts (outputs,) of each layer.
        classes_: the labels.
        n_features_in_, n_iter_: the numbers of features and of epochs.
        weights_clipped_: whether steps clip weights.

    Error: each step rounds to fixed point; `fit_clear` does not.

    Source: back-propagation with momentum; D. E. Rumelhart, G. E. Hinton, R. J. Williams, 1986.

    Example:
        >>> import numpy as np, quorate as qr
        >>> x, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])
        >>> with qr.local("rss") as mpc:
        ...     X, Y = mpc.input(x, owner=0, bound=1), mpc.input(y, owner=1)
        ...     model = qr.learn.MLPClassifier((8,), classes=2, batch_size=4, epochs=25, learning_rate=0.5)
        ...     print(model.fit(X, Y).predict(X).reveal())
        [0 1 1 0]
    """

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (32,),
        classes: Any = None,
        *,
        activation: str = "relu",
        epochs: int = EPOCHS,
        max_iter: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.05,
        momentum: float = 0.9,
        alpha: float = ALPHA,
        shuffle: bool = True,
        random_state: int = 0,
        weight_bound: float = 8.0,
        fraction_bits: int = 20,
        verbose: bool = False,
    ) -> None:
        schedule = Schedule(
            epochs_of(epochs, max_iter), batch_size, learning_rate, momentum, alpha, bool(shuffle), random_state
        )
        super().__init__(schedule, weight_bound, fraction_bits, verbose)
        self._hidden, self._activation = _sizes(hidden_layer_sizes), _activation(activation)
        self._given_classes = classes


class MLPRegressor(Estimator):
    """A dense network that learns numbers from secret records, by Huber's loss.

    Scale features and targets to about 1. `fit` reveals nothing: `coefs_` and `intercepts_` are secret arrays.

    Args:
        hidden_layer_sizes: the numbers of units of the hidden layers.
        error_bound: the loss is half the square of an error up to this bound, and linear beyond. So no record moves
            weights further than one with this error, and nothing wraps.
        activation: "relu", "tanh", "logistic" or "identity".
        epochs: the number of passes over all records.
        max_iter: scikit-learn's name for `epochs`.
        batch_size: the number of records of a step. Larger batches make fewer steps.
        learning_rate: the factor of the mean gradient of a batch in a step.
        momentum: the share of a step that is repeated in the next one, 0 to 0.999.
        alpha: adds alpha / 2 times the sum of squared weights to the loss; intercepts do not count.
        shuffle: whether each epoch uses a new order of records. The order is public.
        random_state: the seed of the initial weights, which are drawn as in scikit-learn, and of the orders. Public.
        weight_bound: weights never leave [-weight_bound, weight_bound]. If the steps of the training cannot reach the
            bound, this is proven; otherwise each step clips weights (`weights_clipped_`). With two or more hidden
            layers, a smaller bound such as 2 is needed to prove that no number wraps.
        fraction_bits: the training computes in `qr.fixed(64, fraction_bits)`, 12 to 24.
        verbose: whether each epoch is announced on stderr.

    Attributes:
        coefs_, intercepts_: secret weights (inputs, outputs) and intercepts (outputs,) of each layer.
        n_features_in_, n_iter_: the numbers of features and of epochs.
        weights_clipped_: whether steps clip weights.

    Error: each step rounds to fixed point; `fit_clear` does not.

    Source: back-propagation with momentum; D. E. Rumelhart, G. E. Hinton, R. J. Williams, 1986. P. J. Huber, 1964.

    Example:
        >>> import numpy as np, quorate as qr
        >>> x = np.linspace(-1, 1, 8).reshape(-1, 1)
        >>> with qr.local("rss") as mpc:
        ...     X, Y = mpc.input(x, owner=0, bound=1), mpc.input(np.abs(x[:, 0]), owner=1, bound=1)
        ...     model = qr.learn.MLPRegressor((4,), batch_size=8, learning_rate=0.5, momentum=0.5)
        ...     print(np.abs(model.fit(X, Y).predict(X).reveal() - np.abs(x[:, 0])).max() < 0.2)
        True
    """

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (32,),
        *,
        error_bound: float = 8.0,
        activation: str = "relu",
        epochs: int = EPOCHS,
        max_iter: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        alpha: float = ALPHA,
        shuffle: bool = True,
        random_state: int = 0,
        weight_bound: float = 8.0,
        fraction_bits: int = 20,
        verbose: bool = False,
    ) -> None:
        schedule = Schedule(
            epochs_of(epochs, max_iter), batch_size, learning_rate, momentum, alpha, bool(shuffle), random_state
        )
        super().__init__(schedule, weight_bound, fraction_bits, verbose)
        self._hidden, self._activation = _sizes(hidden_layer_sizes), _activation(activation)
        known = isinstance(error_bound, (int, float)) and not isinstance(error_bound, bool)
        if not known or not 0 < error_bound <= 1 << 20:
            raise ConfigError(at(f"error_bound must be a number above 0, at most 2^20, not {error_bound!r}"))
        self._error_bound = float(error_bound)
