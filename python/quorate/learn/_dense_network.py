"""Dense networks, including linear models, which have no hidden layers: their public shape, and their evaluation.

The evaluation is written once, for secret arrays and for numpy's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._clear import _kernels as kernels
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import fixed
from quorate.errors import ConfigError
from quorate.functions import relu, sigmoid, softmax, tanh

__all__ = ["ACTIVATIONS", "Shape", "Trained"]

ACTIVATIONS = ("relu", "tanh", "logistic", "identity")

Reals = NDArray[np.float64]

# The dtype in which real functions compute.
_FUNCTIONS = fixed(64, 16)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The public attributes of a network.

    Attributes:
        sizes: the numbers of features, of units of each hidden layer, and of scores.
        activation: the function between layers.
        classes: the labels of a classifier; None for a regression.
        intercepts: whether layers have intercepts.
        error_bound: the bound to which errors of scores are limited; None for no limit.
    """

    sizes: tuple[int, ...]
    activation: str
    classes: tuple[int, ...] | None = None
    intercepts: bool = True
    error_bound: float | None = None

    @property
    def link(self) -> str:
        """The function from scores to outputs: "identity", "logistic" for two classes, "softmax" for more."""
        if self.classes is None:
            return "identity"
        return "logistic" if len(self.classes) == 2 else "softmax"

    def initial(self, generator: np.random.Generator) -> list[Reals]:
        """Returns initial weights (inputs, outputs) and intercepts of each layer.

        They are 0 without hidden layers, else drawn as by scikit-learn (Glorot and Bengio, 2010).
        """
        drawn: list[Reals] = []
        for inputs, outputs in pairwise(self.sizes):
            factor = 2.0 if self.activation == "logistic" else 6.0
            most = 0.0 if len(self.sizes) == 2 else (factor / (inputs + outputs)) ** 0.5
            drawn.append(generator.uniform(-most, most, (inputs, outputs)))
            if self.intercepts:
                drawn.append(generator.uniform(-most, most, outputs))
        return drawn

    def layers(self, parameters: list[Any]) -> list[tuple[Any, Any]]:
        """Returns the weights and intercepts of each layer; the intercepts are None where there are none."""
        if not self.intercepts:
            return [(weights, None) for weights in parameters]
        return list(zip(parameters[::2], parameters[1::2], strict=True))

    def scores(self, x: Any, layers: list[tuple[Any, Any]]) -> list[Any]:
        """Returns the sums of each layer, before its activation; the last ones are the scores."""
        sums: list[Any] = []
        for weights, intercepts in layers:
            made = (self.activated(sums[-1]) if sums else x) @ weights
            sums.append(made if intercepts is None else made + intercepts)
        return sums

    def activated(self, sums: Any) -> Any:
        """Returns the outputs of a layer between others."""
        return _applied(self.activation, sums)

    def errors(self, scores: Any, targets: Any) -> Any:
        """Returns outputs less targets."""
        return self.outputs(scores) - targets

    def slopes(self, errors: Any) -> Any:
        """Returns the gradient of each record's loss by its scores."""
        return errors if self.error_bound is None else errors.clip(-self.error_bound, self.error_bound)

    def outputs(self, scores: Any) -> Any:
        """Returns probabilities, or for a regression the scores themselves."""
        return _applied(self.link, scores)


_SECRET: dict[str, Callable[[SecretArray], SecretArray]] = {"tanh": tanh, "logistic": sigmoid, "softmax": softmax}
_CLEAR: dict[str, Callable[[Reals], Reals]] = {
    "relu": kernels.FUNCTIONS["relu"],
    "tanh": np.tanh,
    "logistic": kernels.sigmoid,
    "softmax": kernels.softmax,
}


def _applied(name: str, x: Any) -> Any:
    """Applies an activation or a link to secret numbers, in their dtype, or to numpy's."""
    if name == "identity":
        return x
    if not isinstance(x, SecretArray):
        return _CLEAR[name](x)
    if name == "relu":
        return relu(x)
    # Real functions take at most 16 fractional bits.
    return _SECRET[name](x.astype(_FUNCTIONS) if x.dtype.frac > _FUNCTIONS.frac else x).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model in the clear, as `reveal` of an estimator and `fit_clear` return it.

    Attributes:
        coefs: the weights of each layer, (inputs, outputs).
        intercepts: the intercepts of each layer, (outputs,); zeros where none were learnt.
        classes: the labels of a classifier; None for a regression.
        shape: sizes of layers, activation and classes.

    Example:
        >>> import numpy as np, quorate as qr
        >>> x, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
        >>> model = qr.learn.LogisticRegression(classes=2, batch_size=4).fit_clear(x, y)
        >>> model.predict([[3.0], [-3.0]])
        array([1, 0])
    """

    coefs: tuple[Reals, ...]
    intercepts: tuple[Reals, ...]
    shape: Shape

    @property
    def classes(self) -> tuple[int, ...] | None:
        """The labels, in the order of scores and probabilities."""
        return self.shape.classes

    @property
    def coef_(self) -> Reals:
        """Weights in scikit-learn's shape: (1 or classes, features), for a linear regression (features,).

        Raises:
            AttributeError: there are hidden layers, whose weights are `coefs`.
        """
        self._is_linear("coef_", "coefs")
        return self.coefs[0].reshape(-1) if self.shape.classes is None else self.coefs[0].T

    @property
    def intercept_(self) -> Reals:
        """Intercepts, (outputs,).

        Raises:
            AttributeError: there are hidden layers, whose intercepts are `intercepts`.
        """
        self._is_linear("intercept_", "intercepts")
        return self.intercepts[0]

    def _is_linear(self, name: str, instead: str) -> None:
        if len(self.coefs) > 1:
            raise AttributeError(f"a network with hidden layers has no {name!r}: see {instead}", name=name)

    def score(self, x: Any, y: Any) -> float:
        """Returns the fraction of correct labels, or R squared for a regression."""
        predicted, wanted = self.predict(x), np.asarray(y)
        if self.classes is not None:
            return float((predicted == wanted).mean())
        return float(1 - ((wanted - predicted) ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum())

    def decision_function(self, x: Any) -> Reals:
        """Returns scores of records (records, features): (records,) for one output, else (records, outputs)."""
        layers = list(zip(self.coefs, self.intercepts, strict=True))
        scores: Reals = self.shape.scores(np.asarray(x, float), layers)[-1]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, x: Any) -> Reals:
        """Returns a column of probabilities for each class.

        Raises:
            ConfigError: the model is a regression.
        """
        if self.classes is None:
            raise ConfigError(at("predict_proba: a regression has no probabilities"))
        scores = self.decision_function(x)
        given: Reals = self.shape.outputs(scores if scores.ndim == 2 else scores[:, None])
        return given if given.shape[1] > 1 else np.hstack([1 - given, given])

    def predict(self, x: Any) -> NDArray[Any]:
        """Returns labels, or numbers for a regression."""
        scores = self.decision_function(x)
        if self.classes is None:
            return scores
        places: Any = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(np.array(self.classes)[places])
