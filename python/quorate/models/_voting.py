"""Models of one owner that vote, or whose probabilities or numbers are averaged; each member's answer stays secret."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quorate as qr
from quorate.errors import ModelError
from quorate.models import _secret_answers
from quorate.models._answer_warnings import Words, tell
from quorate.models._answers import named
from quorate.models._backend import Array, Secret
from quorate.models._model import (
    COARSE,
    COARSE_NUMBERS,
    NOBODY_STATED,
    Model,
    because,
    clear_numbers,
    coarse,
    encode_records,
    tied,
    units_of,
)
from quorate.models._questions import DATA_OWNER, Answer, Asked, Questions
from quorate.models._shape import Shape

HOW = ("votes", "probabilities", "numbers")

_UNIT = 2.0**-16
_OF_PROBABILITIES = 2.0**-14
"""How far secret probabilities may be off in addition to a member's own margin."""


@dataclasses.dataclass(frozen=True)
class VotingShape(Questions):
    """The public part of a `VotingModel`: the shapes of its members, and how they are joined.

    Attributes:
        members: the members' shapes.
        how: `"votes"`, the label that most members give, the first of equally frequent ones; `"probabilities"`, the
            largest mean; `"numbers"`, means of a regression.
        weights: the weight of each member; whole numbers for votes.
        classes: the labels, in order; none for a regression.
    """

    members: tuple[Shape, ...]
    how: str
    weights: tuple[float, ...]
    classes: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        members = tuple(m if isinstance(m, Shape) else Shape(**m) for m in self.members)
        for name, value in (("members", members), ("weights", tuple(self.weights)), ("classes", tuple(self.classes))):
            object.__setattr__(self, name, value)
        if (problem := self._problem()) is not None:
            raise ModelError(f"this is not the shape of a vote: {problem}")

    def _problem(self) -> str | None:
        if self.how not in HOW:
            return f"how is {self.how!r}, not one of {', '.join(HOW)}"
        if not all(isinstance(w, (int, float)) and 0 <= w < float("inf") for w in self.weights):
            return f"weights are {self.weights}, not numbers from 0"
        if not self.members or len(self.weights) != len(self.members) or not sum(self.weights):
            return f"{len(self.members)} members and weights {self.weights}: one for each, none negative, not all 0"
        if self.how == "votes" and any(w != int(w) or w > 1 << 20 for w in self.weights):
            return f"weights of votes are whole numbers up to 2**20, so that equal votes are equal, not {self.weights}"
        if (self.how == "numbers") == bool(self.classes):
            return "votes and probabilities have classes, and means of numbers have none"
        classes = tuple(range(len(self.classes)))
        for member in self.members:
            if self.how != "numbers" and member.classes != classes:
                return f"members predict the places of classes, {classes}, and one predicts {member.classes}"
            if self.how == "numbers" and member.targets != ():
                return "of numbers every member predicts one"
            if self.how == "probabilities" and member.link in (None, "sigmoids"):
                return f"a member of kind {member.kind!r} has no probabilities"
        return None

    def describe(self) -> dict[str, Any]:
        """Returns the fields as plain values; `VotingShape(**described)` is the same shape."""
        return {**dataclasses.asdict(self), "members": [member.describe() for member in self.members]}

    kind = "voting"
    multilabel = None

    @property
    def label_bits(self) -> int:
        """Bits of a class's index."""
        return (len(self.classes) - 1).bit_length()

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, self.members, self, asked)


@dataclasses.dataclass(frozen=True, repr=False)
class VotingModel(Questions):
    """A model that joins several, as `from_sklearn` returns it for a VotingClassifier or VotingRegressor.

    It has the same methods as a `Model`. A CalibratedClassifierCV of several folds becomes one, too.

    Attributes:
        members: the models.
        shape: what the other parties may know; give it to them.
        margin_bound: for votes: the largest of the members' margins. For probabilities: the distance between the two
            largest means below which a prediction may differ from the estimator's. For numbers: their largest distance
            from the estimator's.
    """

    members: tuple[Model, ...]
    shape: VotingShape
    margin_bound: float

    @classmethod
    def of(
        cls, members: Sequence[Model], how: str, weights: Sequence[float] | None, classes: tuple[Any, ...]
    ) -> VotingModel:
        """Makes the model, with its margin.

        Raises:
            ModelError: weights or members do not fit.
        """
        given = (1.0,) * len(members) if weights is None else tuple(float(w) for w in weights)
        shape = VotingShape(tuple(member.shape for member in members), how, given, classes)
        shares = np.array(given) / sum(given)
        if how != "votes":
            for member in members:
                _secret_answers.check_numbers(member.shape, units_of(member._secrets))
        if how == "votes":
            margin = max(member.margin_bound for member in members)
        else:
            own = _OF_PROBABILITIES if how == "probabilities" else _UNIT
            # Shares of nearest points are exact, except for ties in distance, of which users are warned.
            margins = [0.0 if member.shape.kind == "neighbors" else member.margin_bound for member in members]
            off = sum(share * (margin + own) for share, margin in zip(shares, margins, strict=True))
            if _times(given) is None:
                reach = 1.0 if how == "probabilities" else _largest(members)
                off += len(members) * reach * _UNIT  # shares have 16 fractional bits
            off += (len(members) + 1) * _UNIT  # of products or of the quotient
            margin = float(off) * (2 if how == "probabilities" else 1)
        return cls(tuple(members), shape, margin)

    @property
    def _guessed(self) -> bool:
        """Whether no bounds were stated for the features of one of the members."""
        return any(member._guessed for member in self.members)

    @property
    def _scales(self) -> bool:
        """Whether steps of one of the members compute with records before it decides."""
        return any(member._scales for member in self.members)

    def __repr__(self) -> str:
        return f"VotingModel({self.shape})"

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        return program(question, mpc, self, self.members, self.shape, asked)

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        if self.shape.how == "votes":  # members warn for themselves
            return
        labels = question == "predict" and self.shape.how == "probabilities"
        if not mpc.is_local:
            if mpc.me == asked.model_owner:
                self._name_margin(question, labels)
            return
        for member in self.members:
            if member.shape.kind == "neighbors":
                member._name_ties(asked.X)
        means = self._clear(asked.X)
        if labels:
            largest = np.partition(means, -2, axis=1)
            close = int((largest[:, -1] - largest[:, -2] <= self.margin_bound).sum())
            self._tell("ties", question, tied(self.margin_bound), close, len(means))
        elif self.shape.how == "numbers":
            words = coarse(question, True, self.margin_bound)
            self._tell("errors", question, words, float(np.abs(means).max()), add=max)
        elif self.margin_bound > COARSE:
            self._warn(question, f"probabilities may be off by up to {min(self.margin_bound / 2, 1):.3g}")

    def _name_margin(self, question: str, labels: bool) -> None:
        """Warns the models' owner how far answers may be off; the owner does not learn for which records."""
        if self.shape.how == "numbers":
            if any(member._may_be_off() for member in self.members):
                self._warn(question, f"numbers are within {self.margin_bound:.3g} of the estimator's")
        elif self.margin_bound > (COARSE_NUMBERS if self._guessed else COARSE):
            may = ", and means closer to a tie may be decided otherwise" if labels else ""
            self._warn(question, f"mean probabilities are within {self.margin_bound / 2:.3g} of the estimator's{may}")

    def _warn(self, question: str, what: str) -> None:
        self._tell("margin", question, lambda: what)

    def _tell(self, notice: str, question: str, words: Words, *found: float, add: Any = sum) -> None:
        why = NOBODY_STATED if self._guessed else "scale the features alike before training, or state tighter bounds"
        tell((id(self), notice), because(question, words, why), *found, add=add)

    def predict_clear(self, X: Any) -> np.ndarray:
        """Predicts in the clear, for comparison; probabilities and numbers are joined in double precision."""
        shape = self.shape
        if shape.how != "votes":
            means = self._clear(X)
            return means if shape.how == "numbers" else np.asarray(shape.classes)[means.argmax(axis=1)]
        labels = np.stack([member.predict_clear(X) for member in self.members], axis=1)
        counts = (labels[:, :, None] == np.arange(len(shape.classes))) * np.array(shape.weights)[:, None]
        return np.asarray(shape.classes)[counts.sum(axis=1).argmax(axis=1)]

    def _clear(self, X: Any) -> NDArray[np.float64]:
        """Returns the means, computed in the clear."""
        question = "predict_proba" if self.shape.how == "probabilities" else "predict"
        found = [clear_numbers(question, member, X) for member in self.members]
        return np.average(found, axis=0, weights=self.shape.weights)


def _largest(members: Sequence[Model]) -> float:
    """Returns a bound on the numbers that members predict, by the bits of their decisions."""
    units = [_secret_answers.units_of_62(m.shape, units_of(m._secrets)).min() for m in members]
    return float(np.ldexp(1.0, 62 - int(min(units))))


def program(question: str, mpc: Any, model: Any, members: Sequence[Questions], shape: VotingShape, asked: Asked) -> Any:
    """Builds the program, the same at each party, from the members' answers as secret arrays."""
    if question == "decision_function" or (question == "predict_proba" and shape.how != "probabilities"):
        raise ModelError(f"a model of kind {shape.kind!r} that joins {shape.how} has no {question}")
    if not asked.reveal and asked.reveal_to != DATA_OWNER:
        raise ModelError(f"{question}: reveal=False reveals to nobody; leave reveal_to={asked.reveal_to!r} out")
    if model is shape and mpc.me in (None, asked.model_owner):
        raise ModelError(
            f"party {asked.model_owner} owns the models: call {question} on what from_sklearn returned there"
        )
    if asked.X is not None and asked.has_records(mpc):
        for member in shape.members:  # checks the records before the first member is part of the program
            encode_records(member, asked.X)
    quiet = shape.how != "votes" or asked.quiet
    hidden = dataclasses.replace(asked, reveal=False, reveal_to=DATA_OWNER, quiet=quiet)
    each = "predict_proba" if shape.how == "probabilities" else "predict"
    found = [member._answer(each, mpc, hidden) for member in members]
    if shape.how == "votes":
        result = _most(found, [int(w) for w in shape.weights], len(shape.classes))
    else:
        result = _mean(found, shape.weights)
        if question == "predict" and shape.how == "probabilities":
            two = len(shape.classes) == 2
            result = result[:, 1] > result[:, 0] if two else result.argmax(axis=1)
    labels = question == "predict" and shape.how != "numbers"
    if not asked.reveal:
        return _secret_answers.labels(Secret(mpc, model, asked.model_owner), shape, result) if labels else result
    return Answer((result,), functools.partial(named, shape.classes) if labels else np.asarray)


_MOST_TIMES = 64


def _times(weights: Sequence[float]) -> list[int] | None:
    """Returns how often each value counts in a plain mean that equals the weighted one; None above 64 values."""
    least = min(w for w in weights if w > 0)
    times = [round(w / least) for w in weights]
    exact = all(t * least == w for t, w in zip(times, weights, strict=True))
    return times if exact and sum(times) <= _MOST_TIMES else None


def _mean(values: list[Array], weights: Sequence[float]) -> Array:
    """Returns the weighted mean: with one rounding for whole multiples, else with shares that are rounded, too."""
    times = _times(weights)
    if times is not None:
        return np.stack([value for value, t in zip(values, times, strict=True) for _ in range(t)]).mean(axis=0)
    parts = [value * (w / sum(weights)) for value, w in zip(values, weights, strict=True)]
    return sum(parts[1:], start=parts[0])


def _most(labels: list[Array], weights: list[int], classes: int) -> Array:
    """Returns the place of the label with most votes, the first of equal ones."""
    whole = qr.int((2 * sum(weights)).bit_length() + 2)
    if classes == 2:
        votes = [label.astype(whole) * weight for label, weight in zip(labels, weights, strict=True)]
        return sum(votes[1:], start=votes[0]) * 2 > sum(weights)
    counts = []
    for place in range(classes):
        votes = [(label == place).astype(whole) * weight for label, weight in zip(labels, weights, strict=True)]
        counts.append(sum(votes[1:], start=votes[0]).reshape(-1, 1))
    return np.concatenate(counts, axis=1).argmax(axis=1)
