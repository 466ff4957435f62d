"""Dense networks, including linear models, which have no hidden layers: their public shape, and their evaluation."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype, fixed
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

    def scores(self, x: SecretArray, parameters: list[SecretArray]) -> list[SecretArray]:
        """Returns the sums of each layer, before its activation; the last ones are the scores."""
        sums: list[SecretArray] = []
        for weights, intercepts in self.layers(parameters):
            inputs = self._activated(sums[-1]) if sums else x
            sums.append(inputs @ weights if intercepts is None else inputs @ weights + intercepts)
        return sums

    def _activated(self, x: SecretArray) -> SecretArray:
        if self.activation == "relu":
            return relu(x)
        if self.activation == "identity":
            return x
        return real({"tanh": tanh, "logistic": sigmoid}[self.activation], x, x.dtype)

    def errors(self, scores: SecretArray, targets: SecretArray) -> SecretArray:
        """Returns outputs less targets."""
        return self.outputs(scores, scores.dtype) - targets

    def slopes(self, errors: SecretArray) -> SecretArray:
        """Returns the gradient of each record's loss by its scores."""
        return errors if self.error_bound is None else errors.clip(-self.error_bound, self.error_bound)

    def outputs(self, scores: SecretArray, dtype: Dtype) -> SecretArray:
        """Returns probabilities, or for a regression the scores themselves."""
        if self.link == "identity":
            return scores
        return real({"logistic": sigmoid, "softmax": softmax}[self.link], scores, dtype)


def real(function: Any, x: SecretArray, dtype: Dtype) -> SecretArray:
    """Applies a real function, which takes at most 16 fractional bits."""
    made: SecretArray = function(x.astype(_FUNCTIONS) if x.dtype.frac > _FUNCTIONS.frac else x)
    return made.astype(dtype)


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
        """Returns the share of right labels, or R squared for a regression."""
        predicted, wanted = self.predict(x), np.asarray(y)
        if self.classes is not None:
            return float((predicted == wanted).mean())
        return float(1 - ((wanted - predicted) ** 2).sum() / ((wanted - wanted.mean()) ** 2).sum())

    def decision_function(self, x: Any) -> Reals:
        """Returns scores of records (records, features): (records,) for one output, else (records, outputs)."""
        layers = list(zip(self.coefs, self.intercepts, strict=True))
        scores = plain_scores(self.shape.activation, np.asarray(x, float), layers)[-1]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, x: Any) -> Reals:
        """Returns a column of probabilities for each class.

        Raises:
            ConfigError: the model is a regression.
        """
        if self.classes is None:
            raise ConfigError(at("predict_proba: a regression has no probabilities"))
        scores = self.decision_function(x)
        given = plain_outputs(self.shape.link, scores if scores.ndim == 2 else scores[:, None])
        return given if given.shape[1] > 1 else np.hstack([1 - given, given])

    def predict(self, x: Any) -> NDArray[Any]:
        """Returns labels, or numbers for a regression."""
        scores = self.decision_function(x)
        if self.classes is None:
            return scores
        places: Any = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(np.array(self.classes)[places])


def plain_scores(activation: str, x: Reals, layers: list[tuple[Reals, Reals]]) -> list[Reals]:
    """Computes `Shape.scores` of public numbers."""
    sums: list[Reals] = []
    for weights, intercepts in layers:
        sums.append((plain_activated(activation, sums[-1]) if sums else x) @ weights + intercepts)
    return sums


def plain_activated(activation: str, x: Reals) -> Reals:
    """Applies an activation to public numbers."""
    functions: dict[str, Any] = {
        "relu": lambda v: np.maximum(v, 0),
        "tanh": np.tanh,
        "logistic": _sigmoid,
        "identity": lambda v: v,
    }
    return np.asarray(functions[activation](x))


def plain_slope(activation: str, x: Reals) -> Reals:
    """Returns the derivative of an activation for public numbers."""
    y = plain_activated(activation, x)
    slopes = {"relu": lambda: (x > 0) * 1.0, "tanh": lambda: 1 - y * y, "logistic": lambda: y * (1 - y)}
    return np.asarray(slopes[activation]()) if activation in slopes else np.ones_like(x)


def plain_outputs(link: str, scores: Reals) -> Reals:
    """Computes `Shape.outputs` of public numbers."""
    if link == "softmax":
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
    return _sigmoid(scores) if link == "logistic" else scores


def plain_errors(shape: Shape, scores: Reals, targets: Reals) -> Reals:
    """Computes `Shape.errors` of public numbers, limited to the error bound."""
    errors = plain_outputs(shape.link, scores) - targets
    return errors if shape.error_bound is None else errors.clip(-shape.error_bound, shape.error_bound)


def _sigmoid(x: Reals) -> Reals:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))
