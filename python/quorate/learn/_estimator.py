"""The base classes of estimators: fit, predict and reveal, with the conventions of scikit-learn."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype, fixed, real
from quorate.errors import ConfigError, DtypeError
from quorate.learn import _data
from quorate.learn._cost import TrainingPlan, planned
from quorate.learn._dense_network import Reals, Shape, Trained
from quorate.learn._params import Params, sessionless
from quorate.learn._schedule import Schedule
from quorate.learn._steps import Steps, clear_step, nothing_of
from quorate.lookups import lookup
from quorate.session import Network, Session

__all__ = ["Classifier", "Estimator"]

Fitted = TypeVar("Fitted", bound="Estimator")

_FRACTIONS = (12, 24)
_HIGHEST_BOUND = 1 << 20


class Estimator(Params):
    """A dense network that learns by stochastic gradient descent."""

    _hidden: tuple[int, ...] = ()
    _activation = "identity"
    _intercepts = True
    _error_bound: float | None = None
    _shape: Shape
    _parameters: list[SecretArray]

    def __init__(self, schedule: Schedule, weight_bound: Any, fraction_bits: Any, verbose: Any) -> None:
        self._schedule, self._verbose = schedule, bool(verbose)
        low, high = _FRACTIONS
        if isinstance(fraction_bits, bool) or not isinstance(fraction_bits, int) or not low <= fraction_bits <= high:
            raise ConfigError(at(f"fraction_bits must be a whole number from {low} to {high}, not {fraction_bits!r}"))
        known = isinstance(weight_bound, (int, float)) and not isinstance(weight_bound, bool)
        if not known or not 0 < weight_bound <= _HIGHEST_BOUND:
            raise ConfigError(at(f"weight_bound must be a number above 0, at most 2^20, not {weight_bound!r}"))
        self._dtype: Dtype = fixed(64, fraction_bits)
        self._weight_bound = float(weight_bound)

    # ---- learning ---------------------------------------------------------------------------------------------------

    @sessionless
    def fit(self: Fitted, X: Any, y: Any) -> Fitted:
        """Learns from secret records. Reveals nothing.

        Every step is a run of its own, which all parties start; the parameters stay secret between steps.

        Args:
            X: a secret array (records, features). Features need a proven range: by `bound=` of the inputs, or by
                `X.clip(low, high)`.
            y: a secret label or number for each record.

        Returns:
            The estimator itself.

        Raises:
            RangeError: the ranges of X and y do not prove that no number wraps. NaN and infinity are refused earlier,
                by the input.
            ShapeError, DtypeError: X and y are not secret, or differ in length; or `batch_size` is more than the number
                of records.
            ConfigError: the classes are not stated.
        """
        x, t, shape = self._given(X, y)
        rows = x.shape[0]
        generator = self._schedule.generator()
        steps = self._steps(x, shape)
        state = steps.begin(x, self._initial(shape, generator), self._schedule.steps(rows).total())
        for epoch, order in enumerate(self._schedule.batches(rows, generator)):
            self._say(f"epoch {epoch + 1} of {self._schedule.epochs}")
            batches = [(x[places], t[places]) for places in order]
            after = steps.step(state, *batches[0])  # its ranges are proven before anything is sent
            nothing_of([array for batch in batches for array in batch]).reveal()
            for place, batch in enumerate(batches):
                state = steps.step(state, *batch) if place else after
                nothing_of([*state.parameters, *state.velocities]).reveal()
        self._shape, self._parameters, self.n_features_in_ = shape, state.parameters, x.shape[1]
        self.n_iter_, self.weights_clipped_ = self._schedule.epochs, steps.clips
        self._name()
        return self

    @sessionless
    def explain(self, X: Any, y: Any, network: str | Network | None = None) -> TrainingPlan:
        """Predicts the cost of `fit` for these arrays, by dry runs. Nothing is sent.

        As with `fit`, every party calls it.
        """
        x, t, shape = self._given(X, y)
        rows = x.shape[0]
        generator = self._schedule.generator()
        initial, counts = self._initial(shape, generator), self._schedule.steps(rows)
        order = next(self._schedule.batches(rows, generator))
        batches = {len(places): (x[places], t[places]) for places in order}
        steps = self._steps(x, shape)
        plans, done, state = [], [x, t], steps.begin(x, initial, counts.total())
        for size, count in counts.items():
            first = state
            state = steps.step(first, *batches[size])
            before = [*batches[size], *first.parameters, *first.velocities]
            after = nothing_of([*state.parameters, *state.velocities])
            plans.append((count, planned(x._session, after, before, network)))
        return TrainingPlan(planned(x._session, nothing_of(done), [], network), tuple(plans), self._schedule.epochs)

    def _program(self, X: Any, y: Any) -> list[SecretArray]:
        """Returns the parameters after the whole schedule, as one program that was not run yet."""
        x, t, shape = self._given(X, y)
        generator = self._schedule.generator()
        steps = self._steps(x, shape)
        state = steps.begin(x, self._initial(shape, generator), self._schedule.steps(x.shape[0]).total())
        for order in self._schedule.batches(x.shape[0], generator):
            for places in order:
                state = steps.step(state, x[places], t[places])
        return state.parameters

    def fit_clear(self, X: Any, y: Any) -> Trained:
        """Trains in float64 on public records, by the same steps as `fit`; the results differ by rounding only.

        Returns:
            The trained model; the estimator does not change.

        Raises:
            ShapeError, RangeError: X and y are not numbers for the same records, or a label is not one of the classes.
        """
        x = _data.clear_records(X)
        shape = self._shape_for(x.shape, np.asarray(y))
        t = _data.clear_targets(x, y, shape.classes)
        generator = self._schedule.generator()
        initial, schedule = self._initial(shape, generator), self._schedule.of(len(x))
        state: tuple[list[Reals], list[Reals]] = (initial, [np.zeros_like(w) for w in initial])
        for order in self._schedule.batches(len(x), generator):
            for places in order:
                state = clear_step(shape, schedule, self._weight_bound, state, x[places], t[places])
        return _trained(shape, state[0])

    def _given(self, X: Any, y: Any) -> tuple[SecretArray, SecretArray, Shape]:
        """Returns records and targets, in the dtype of the training, and the network for them."""
        x = _data.records(X, "fit")
        shape = self._shape_for(x.shape, y)
        return x.astype(self._dtype), _data.targets(x, y, shape.classes, self._dtype), shape

    def _shape_for(self, records: tuple[int, ...], y: Any) -> Shape:
        self._schedule.check(records[0])
        classes = self._classes_for(y)
        outputs = 1 if classes is None or len(classes) == 2 else len(classes)
        sizes = (records[1], *self._hidden, outputs)
        return Shape(sizes, self._activation, classes, self._intercepts, self._error_bound)

    def _classes_for(self, y: Any) -> tuple[int, ...] | None:
        """Returns the labels that y may have; None for a regression."""
        return None

    def _initial(self, shape: Shape, generator: np.random.Generator) -> list[Reals]:
        """Returns the initial weights, rounded to the dtype's units."""
        unit = 2.0**-self._dtype.frac
        return [np.rint(weights / unit) * unit for weights in shape.initial(generator)]

    def _steps(self, x: SecretArray, shape: Shape) -> Steps:
        return Steps(x._session, shape, self._schedule.of(x.shape[0]), self._dtype, self._weight_bound)

    def _say(self, text: str) -> None:
        if self._verbose:
            sys.stderr.write(f"{type(self).__name__}: {text}\n")

    def _name(self) -> None:
        """Sets the learnt parameters under scikit-learn's names."""
        layers = self._shape.layers(self._parameters)
        self.coefs_ = [weights for weights, _ in layers]
        self.intercepts_ = [intercepts for _, intercepts in layers]

    def _adopted_by(self, session: Session) -> Estimator:
        self._check_fitted("adopt")
        made = copy.copy(self)
        made._parameters = session.adopt(self._parameters)
        made._name()
        return made

    # ---- asking -----------------------------------------------------------------------------------------------------

    def _scores(self, X: Any, what: str) -> SecretArray:
        self._check_fitted(what)
        x = _data.records(X, what, self.n_features_in_)
        if x._session is not self._parameters[0]._session:
            raise ConfigError(at(f"{what}: the model was fitted in another session; reveal it there"))
        scores: SecretArray = self._shape.scores(x.astype(self._dtype), self._shape.layers(self._parameters))[-1]
        return scores

    def _check_fitted(self, what: str) -> None:
        if not hasattr(self, "_parameters"):
            raise ConfigError(at(f"{what}: this {type(self).__name__} is not fitted yet: call fit(X, y) first"))

    @sessionless
    def predict(self, X: Any) -> SecretArray:
        """Returns secret predictions for secret records (records, features): numbers, or labels from a classifier.

        Raises:
            ConfigError: the estimator is not fitted, or was fitted in another session.
            ShapeError: the records have another number of features.
        """
        return self._scores(X, "predict").reshape(-1)

    @sessionless
    def score(self, X: Any, y: Any) -> SecretArray:
        """Returns R squared of predictions, as a secret number.

        It is 1 - (sum of squared errors) / (sum of squared deviations of y from its mean). Known ranges of X and y
        (`bound=`, `clip`) reduce its cost. It is undefined if all elements of y are equal.

        Args:
            X: secret records (records, features).
            y: a secret number for each record.

        Raises:
            ConfigError: the estimator is not fitted, or was fitted in another session.
            ShapeError, DtypeError: X and y are not secret, or differ in length.
        """
        predicted = self.predict(X).astype(real)
        wanted = _data.column(X, y, "score").astype(real)
        errors, deviations = predicted - wanted, wanted - wanted.mean()
        return 1 - (errors * errors).mean() / (deviations * deviations).mean()

    def reveal(self, to: int | Sequence[int] | None = None) -> Trained | None:
        """Opens the learnt parameters, to all parties or to some. No other method of an estimator reveals anything.

        Parameters disclose information about the records that they were learnt from.

        Args:
            to: the party, or the parties, that learn them; None for all.

        Returns:
            The model in the clear; None at parties that do not learn it.

        Raises:
            ConfigError: the estimator is not fitted, or `to` is not a party.
        """
        self._check_fitted("reveal")
        session = self._parameters[0]._session
        found = session.reveal_all(*self._parameters, to=to)
        return None if any(value is None for value in found) else _trained(self._shape, found)


def _trained(shape: Shape, parameters: list[Reals]) -> Trained:
    layers = shape.layers(parameters)
    sizes = shape.sizes[1:]
    intercepts = tuple(np.zeros(n) if b is None else b for n, (_, b) in zip(sizes, layers, strict=True))
    return Trained(tuple(w for w, _ in layers), intercepts, shape)  # under `explain`, values are placeholders


class Classifier(Estimator):
    """An estimator whose outputs are probabilities of classes."""

    _given_classes: Any = None

    def _classes_for(self, y: Any) -> tuple[int, ...]:
        return _data.classes_of(self._given_classes, y)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of scores and probabilities."""
        self._check_fitted("classes_")
        return np.array(self._shape.classes)

    @sessionless
    def decision_function(self, X: Any) -> SecretArray:
        """Returns secret scores: (records,) for two classes, else (records, classes)."""
        scores = self._scores(X, "decision_function")
        return scores.reshape(-1) if scores.shape[1] == 1 else scores

    @sessionless
    def predict_proba(self, X: Any) -> SecretArray:
        """Returns secret probabilities (records, classes)."""
        given = self._shape.outputs(self._scores(X, "predict_proba"))
        return given if given.shape[1] > 1 else given._session.concatenate([1 - given, given], axis=1)

    @sessionless
    def predict(self, X: Any) -> SecretArray:
        """Returns secret labels for secret records (records, features), as whole numbers.

        Raises:
            ConfigError: the estimator is not fitted, or was fitted in another session.
            ShapeError: the records have another number of features.
        """
        scores = self._scores(X, "predict")
        classes = self._shape.classes or ()
        if len(classes) == 2:
            return (scores.reshape(-1) > 0) * (classes[1] - classes[0]) + classes[0]
        places = scores.argmax(axis=1)
        return places if classes == tuple(range(len(classes))) else lookup(places, np.array(classes))

    @sessionless
    def score(self, X: Any, y: Any) -> SecretArray:
        """Returns the fraction of records whose label is predicted correctly, as a secret number.

        Args:
            X: secret records (records, features).
            y: a secret label for each record, whole numbers or bits.

        Raises:
            ConfigError: the estimator is not fitted, or was fitted in another session.
            ShapeError, DtypeError: X and y are not secret, or differ in length.
        """
        predicted = self.predict(X)
        labels = _data.column(X, y, "score")
        if labels.dtype.kind == "fixed":
            raise DtypeError(at(f"score: labels are whole numbers or bits, not {labels.dtype}: convert with astype"))
        return (predicted == labels).mean()
