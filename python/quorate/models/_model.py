"""A trained model as a program over secret records."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from quorate._values._frames import is_frame
from quorate.errors import ModelError, ShapeError
from quorate.models import _columns, _ensemble, _linear, _neighbors, _neural_network, _secret_answers, _tree
from quorate.models._answer_warnings import Words, tell
from quorate.models._answers import as_reals, decode, decode_numbers, margins, shares
from quorate.models._backend import Array, Backend, Clear, Secret
from quorate.models._questions import DATA_OWNER, Answer, Asked, Questions
from quorate.models._records import check_dense, records_of
from quorate.models._shape import Shape
from quorate.tables._read import Table

Secrets = _tree.TreeSecrets | _linear.LinearSecrets | _ensemble.EnsembleSecrets | _neural_network.NetworkSecrets

_TREES = ("tree", "forest", "boosting")
COARSE = 0.01
"""The margin of decisions above which users are warned, wherever the bounds come from."""
FINE = 1e-6
"""The margin of decisions above which users are warned if no bounds were stated."""
COARSE_NUMBERS = 1e-3
"""The margin of numbers, relative to the largest of them, above which users are warned."""
NOBODY_STATED = (
    f"the size of features is not stated, and each may reach {_linear.DEFAULT_BOUND:.0f}: give "
    "from_sklearn(..., bounds=), or from_onnx(..., bound=), their largest magnitudes, or sample= records like those to "
    "come"
)
_UNIT_BOUND = 1 << 30
_PIECE = 1 << 13  # records that are answered in the clear at a time: all nodes of all trees have values for each


@dataclasses.dataclass(frozen=True, repr=False)
class Model(Questions):
    """A trained model: a public shape and secret parameters, as `from_sklearn` returns it.

    Attributes:
        shape: what the other parties may know; give it to them.
        margin_bound: predictions equal the estimator's for every record whose margin exceeds this. It is 0 for a tree,
            and for a forest whose leaves are pure: their predictions are always equal. The margin of a binary model is
            the magnitude of the decision. With one against one, or several labels, it is the smallest magnitude of the
            decisions. Otherwise it is the distance between the two largest decisions (for a forest: of the mean class
            fractions). For a regression, `margin_bound` bounds the distance of each number from the estimator's. It is
            computed from the secret weights and stays with the model's owner.
    """

    shape: Shape
    _secrets: Secrets
    margin_bound: float = 0.0
    _guessed: bool = False
    """Whether no bounds were stated for the features."""
    _scales: bool = False
    """Whether an estimator's steps compute with records before it decides, in float32 if these are of float32."""

    def __repr__(self) -> str:
        return f"Model({self.shape})"

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, self.shape, self._secrets, asked)

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        if self.margin_bound == 0:
            return
        labels = question == "predict" and self.shape.targets is None
        if not mpc.is_local:
            if mpc.me == asked.model_owner:
                self._name_margin(question, labels)
        elif labels or self.shape.kind == "neighbors":  # exact unless two points are equally far
            self._name_ties(asked.X, question)
        else:
            self._name_errors(question, asked.X)

    def _name_margin(self, question: str, labels: bool) -> None:
        """Warns the model's owner how far answers may be off; the owner does not learn for which records."""
        if self.shape.targets is not None and self.shape.kind != "neighbors":
            if self._may_be_off():
                self._warn(question, f"numbers are within {self.margin_bound:.3g} of the estimator's")
        elif self.margin_bound > (FINE if self._guessed else COARSE):
            labels = labels or self.shape.kind == "neighbors"
            may = ", and predictions closer to a tie may differ" if labels else ""
            self._warn(question, f"decisions are within {self.margin_bound:.3g} of the estimator's{may}")

    def _may_be_off(self) -> bool:
        """Returns whether numbers may be off by much, compared with the intercepts, which the model's owner has."""
        secrets = self._secrets
        if self.shape.kind != "regression" or not isinstance(secrets, _linear.LinearSecrets):
            return self._guessed
        largest = float(np.abs(as_reals(secrets.intercepts, secrets.units)).max())
        return self.margin_bound > max(FINE if self._guessed else COARSE, COARSE_NUMBERS * largest)

    def _name_ties(self, X: Any, question: str = "predict") -> None:
        """Warns how many of these records may get another class than the estimator's; for local sessions only."""
        units = self._secrets.units  # type: ignore[union-attr]
        close = margins(self.shape, self._clear(X), units) <= self.margin_bound
        self._tell("ties", question, tied(self.margin_bound), int(close.sum()), len(close))

    def _name_errors(self, question: str, X: Any) -> None:
        """Warns how far these numbers, decisions or probabilities may be off, if that is much for their size."""
        words = coarse(question, self.shape.targets is not None, self.margin_bound)
        self._tell("errors", question, words, float(np.abs(clear_numbers(question, self, X)).max()), add=max)

    def _warn(self, question: str, what: str) -> None:
        self._tell("margin", question, lambda: what)

    def _tell(self, notice: str, question: str, words: Words, *found: float, add: Any = sum) -> None:
        why = "scale the features alike before training, or state tighter bounds"
        if self.shape.kind in _TREES:
            why = "the estimator adds up rounded numbers, in an order of its own"
        if self._guessed:
            why = NOBODY_STATED
        tell((id(self), notice), because(question, words, why), *found, add=add)

    def predict_clear(self, X: Any) -> np.ndarray:
        """Predicts in the clear by the same integer computation, for comparison; it needs no session.

        The last of 16 fractional bits of tanh and logistic may differ, since numpy computes them here.
        """
        if self.shape.targets is not None:
            return clear_numbers("predict", self, X)
        return decode(self.shape, choose(Clear(), self.shape, self._clear(X), self._secrets, 0))

    def _clear(self, X: Any) -> np.ndarray:
        """Returns what `run` returns, computed in the clear."""
        records = encode_records(self.shape, X)
        parts = [records[first : first + _PIECE] for first in range(0, max(len(records), 1), _PIECE)]
        found = [run(Clear(), self.shape, self._secrets, part, len(part), 0, 0) for part in parts]
        return np.concatenate(found, axis=1 if self.shape.kind == "tree" else 0)


def tied(margin: float) -> Words:
    """Returns the words of the warning about records close to a tie, given their number and that of all records."""

    def words(close: int, records: int) -> str | None:
        return (
            f"{close} of {records} records are no further from a tie than {margin:.3g}, the margin within which a "
            "prediction may differ from the estimator's"
            if close
            else None
        )

    return words


def coarse(question: str, numbers: bool, margin: float) -> Words:
    """Returns the words of the warning about answers that may be off by much, given the largest answer."""

    def words(largest: float) -> str | None:
        if question == "predict_proba":
            # The slope of the logistic function is at most 1/4. So is that of softmax: its margin covers two decisions.
            return f"probabilities may be off by up to {min(margin / 4, 1):.3g}" if margin > COARSE else None
        if margin <= max(0.0 if numbers else COARSE, COARSE_NUMBERS * largest):
            return None
        name = "numbers" if numbers else "decisions"
        return f"{name} are within {margin:.3g} of the estimator's, and the largest of these is {largest:.3g}"

    return words


def because(question: str, words: Words, why: str) -> Words:
    """Adds the question and the reason to a warning's words, if there are any."""

    def whole(*found: float) -> str | None:
        what = words(*found)
        return None if what is None else f"{question}: {what}; {why}"

    return whole


def clear_numbers(question: str, model: Model, X: Any) -> np.ndarray:
    """Returns the numbers that a model answers, computed in the clear."""
    shape, secrets, on = model.shape, model._secrets, Clear()
    decisions = model._clear(X)
    if shape.kind == "neighbors":
        if shape.targets is None:
            return shares(votes(on, shape, decisions, secrets, 0))
        known = _of(_linear.LinearSecrets, secrets)
        return _neighbors.means(shape, _neighbors.sums(on, shape, decisions, known, 0), known.value_units)
    return decode_numbers(question, shape, decisions, secrets.units)  # type: ignore[union-attr]


def encode_records(shape: Shape, X: Any) -> np.ndarray:
    """Returns the integers that stand for records; invalid records raise before anything is sent."""
    check_dense(X)
    mixed = None if shape.columns is None else object  # numpy makes a list's numbers texts if one item is a text
    values = X if isinstance(X, np.ndarray) else np.asarray(X, mixed)
    if values.ndim != 2 or values.shape[1] != shape.features or values.shape[0] == 0:
        raise ShapeError(f"records have shape {values.shape}; the model takes (records, {shape.features})")
    _check_names(shape, X)
    if shape.columns is not None:
        values = _columns.derived(shape.columns, shape.known or (), values)
    return _tree.encode_records(values, shape) if shape.kind in _TREES else _linear.encode_records(values, shape)


def _names_of(X: Any) -> list[str] | None:
    """Returns the column names of a table of any library, if all are texts as scikit-learn requires; else None."""
    if isinstance(X, Table):
        names = list(X.names or ())
    elif is_frame(X):  # asks the type, as a column may have the name of an attribute
        known = next((name for name in ("column_names", "columns") if hasattr(type(X), name)), None)
        names = [] if known is None else list(getattr(X, known))
    else:
        return None
    return names if names and all(isinstance(name, str) for name in names) else None


def _check_names(shape: Shape, X: Any) -> None:
    """Refuses a table whose columns differ from the model's in name or order.

    Raises:
        ModelError: the columns differ; the message names those at fault.
    """
    names, wanted = _names_of(X), shape.names
    if names is None or wanted is None or tuple(names) == wanted:
        return
    faults = [
        f"{what} {', '.join(map(repr, found[:5]))}{' and others' if len(found) > 5 else ''}"
        for what, found in (
            ("there is no column", [name for name in wanted if name not in names]),
            ("the model does not know", [name for name in names if name not in wanted]),
        )
        if found
    ]
    if not faults:
        place = next(i for i, (have, want) in enumerate(zip(names, wanted, strict=True)) if have != want)
        faults = [f"column {place} is {names[place]!r} where the model has {wanted[place]!r}"]
    raise ModelError(
        f"the records' columns are not those that the model was fitted on: {'; '.join(faults)}. "
        "Select them in the order of model.shape.names"
    )


def run(
    on: Backend, shape: Shape, secrets: Secrets | None, records: Any, rows: int, model_owner: int, data_owner: int
) -> Array:
    """Runs a model's program: returns the bits of the index for a tree, else the decisions, (records, decisions)."""
    size = (rows, shape.width)
    if shape.kind in _TREES:
        tree, ensemble = _of(_tree.TreeSecrets, secrets), _of(_ensemble.EnsembleSecrets, secrets)
        mine = tree or ensemble
        nodes = None if mine is None else mine.nodes
        chosen = _tree.choose_features(on, shape, nodes, _ensemble.trees_of(shape), model_owner)
        x = _tree.input_records(on, shape, records, rows, data_owner)
        if shape.kind == "tree":
            return _tree.run_tree(on, shape, tree, chosen, x, model_owner)
        return _ensemble.run_ensemble(on, shape, ensemble, chosen, x, model_owner)
    largest = 1 << (shape.data_bits or 0)
    if shape.kind == "network":
        x = on.units(records, data_owner, size, _neural_network.fraction_of(shape), largest)
        return _neural_network.run_network(on, shape, _of(_neural_network.NetworkSecrets, secrets), x, model_owner)
    x = on.integers(records, data_owner, size, shape.decision_bits, largest)
    return _linear.run_linear(on, shape, _of(_linear.LinearSecrets, secrets), x, model_owner)


def _of(kind: Any, secrets: Secrets | None) -> Any:
    return secrets if isinstance(secrets, kind) else None


def choose(on: Backend, shape: Shape, decisions: Array, secrets: Secrets | None, owner: int) -> Array:
    """Returns the array that gives the predicted class."""
    if shape.kind == "neighbors":
        return votes(on, shape, decisions, secrets, owner).argmax(axis=1)
    return decisions if shape.kind == "tree" else _linear.choose(on, shape, decisions)


def units_of(secrets: Any) -> Any:
    """Returns the units of a model's numbers: of the neighbors' values if there are any, else of the decisions."""
    own = getattr(secrets, "value_units", None)
    return secrets.units if own is None else own


def votes(on: Backend, shape: Shape, decisions: Array, secrets: Secrets | None, owner: int) -> Array:
    """Counts how many of the nearest points are of each class."""
    return _neighbors.votes(on, shape, decisions, _of(_linear.LinearSecrets, secrets), owner)


def program(question: str, mpc: Any, model: Model | Shape, shape: Shape, secrets: Secrets | None, asked: Asked) -> Any:
    """Builds the program of a question, the same at each party, with the values that this party has."""
    me, X, rows = mpc.me, asked.X, asked.rows
    model_owner, data_owner = asked.model_owner, asked.data_owner
    _check_question(question, shape)
    if not asked.reveal and asked.reveal_to != DATA_OWNER:
        raise ModelError(f"{question}: reveal=False reveals to nobody; leave reveal_to={asked.reveal_to!r} out")
    if secrets is None and me in (None, model_owner):
        raise ModelError(f"party {model_owner} owns the model: call {question} on what from_sklearn returned there")
    if X is None and asked.has_records(mpc):
        raise ModelError(f"party {data_owner} owns the records: give them as X there")
    count = rows if X is None else records_of(X)
    if count is None or count < 1 or (rows is not None and rows != count):
        raise ShapeError(f"{count} records, rows={rows}: a party without the records states their number as rows=")
    records = encode_records(shape, X) if asked.has_records(mpc) else None
    mine = secrets if me in (None, model_owner) else None
    on = Secret(mpc, model, model_owner)
    decisions = run(on, shape, mine, records, count, model_owner, data_owner)
    if not asked.reveal:
        return _hidden(question, on, shape, mine, decisions, model_owner)
    return _shown(question, on, shape, mine, decisions, model_owner)


def _hidden(question: str, on: Secret, shape: Shape, mine: Secrets | None, decisions: Array, owner: int) -> Array:
    """Returns the answer as a secret array."""
    if question == "predict" and shape.targets is None:
        return _secret_answers.labels(on, shape, choose(on, shape, decisions, mine, owner))
    if question == "predict_proba" and shape.kind == "neighbors":
        return (votes(on, shape, decisions, mine, owner) / (shape.neighbors or 1)).astype(_secret_answers.ANSWERS)
    units = None if mine is None else units_of(mine)
    if shape.kind == "neighbors":
        found = _neighbors.sums(on, shape, decisions, _of(_linear.LinearSecrets, mine), owner)[:, :-1]
        means = _secret_answers.numbers(on, shape, found, units, owner) / (shape.neighbors or 1)
        return means.astype(_secret_answers.ANSWERS).reshape(means.shape[0], *(shape.targets or ()))
    if question == "predict_proba":
        return _secret_answers.probabilities(on, shape, decisions, units, owner)
    numbers = _secret_answers.numbers(on, shape, decisions, units, owner)
    shown = (shape.targets or ()) if shape.targets is not None else (shape.decisions,)[: shape.decisions != 1]
    return numbers.reshape(numbers.shape[0], *shown)


def _shown(question: str, on: Secret, shape: Shape, mine: Secrets | None, decisions: Array, owner: int) -> Answer:
    """Returns the arrays to reveal, and how the party that learns them decodes the answer."""
    if question == "predict" and shape.targets is None:
        return Answer((choose(on, shape, decisions, mine, owner),), functools.partial(decode, shape))
    is_local = on.is_local
    if question == "predict_proba" and shape.kind == "neighbors":

        def of_votes(result: np.ndarray) -> np.ndarray:
            _name_equally_far(is_local, question, shape, result.sum(axis=1))
            return shares(result)

        return Answer((votes(on, shape, decisions, mine, owner),), of_votes)
    if question == "predict_proba" and shape.link == "softmax":
        decisions = decisions - decisions[:, :1]  # shares follow from differences, so only these are revealed
    given = None if mine is None else units_of(mine)
    size = (shape.decisions if shape.kind != "neighbors" else (shape.targets or (1,))[0],)
    units = on.keep("units", lambda: on.integers(given, owner, size, 32, _UNIT_BOUND))
    if shape.kind == "neighbors":
        decisions = _neighbors.sums(on, shape, decisions, _of(_linear.LinearSecrets, mine), owner)

    def of_numbers(result: np.ndarray, known: np.ndarray) -> np.ndarray:
        if shape.kind == "neighbors":
            _name_equally_far(is_local, question, shape, result[:, -1])
            return _neighbors.means(shape, result, known)
        return decode_numbers(question, shape, result, known)

    return Answer((decisions, units), of_numbers, units=True)


def _name_equally_far(is_local: bool, question: str, shape: Shape, counts: np.ndarray) -> None:
    """Warns the learner, in a deployment, of records for which more points counted than `neighbors`."""
    if is_local:  # a local session warns of ties itself
        return

    def words(more: int, records: int) -> str | None:
        return (
            f"{question}: for {more} of {records} records points are equally far, and more than {shape.neighbors} "
            "count, where scikit-learn takes some of them: the answers may differ from the estimator's"
            if more
            else None
        )

    tell((id(shape), "equally far"), words, int((counts > (shape.neighbors or 0)).sum()), len(counts))


def _check_question(question: str, shape: Shape) -> None:
    if shape.link == "sigmoids" and question != "predict":
        raise ModelError(
            f"a CalibratedClassifierCV of several classes has no {question} here: its probabilities are shares of "
            "logistic functions, of which the decisions would tell more; ask predict, or import a LogisticRegression"
        )
    if question == "predict_proba" and shape.link is None:
        raise ModelError("this model has no predict_proba: it predicts classes or numbers; see `quorate models`")
    if question == "decision_function" and (shape.kind not in ("linear", "boosting") or shape.targets is not None):
        raise ModelError(f"a model of kind {shape.kind!r} has no decision_function; see `quorate models`")
