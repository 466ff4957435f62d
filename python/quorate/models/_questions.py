"""What parties ask of a model: one signature, at the party that has the model and at those that know its shape."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quorate._explain import Placeholder
from quorate._progress import parts
from quorate._source import at, line
from quorate.array import SecretArray
from quorate.errors import ModelError, ModelWarning, RangeError, ShapeError
from quorate.models._notices import AddedUp
from quorate.models._records import PICTURES, check_dense, paths_of, read_array, records_of, rows_of
from quorate.tables._secret import Frame

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
    quiet: bool = False
    """Whether another model asks, which says itself how far its answers may be off."""
    dry: bool = False
    """Whether this is a dry run, in which nothing is revealed: of the records nothing but their number counts."""

    @property
    def learner(self) -> Any:
        """The party that learns the answer, None for all."""
        return self.data_owner if self.reveal_to == DATA_OWNER else self.reveal_to

    def has_records(self, mpc: Any) -> bool:
        """Whether this party gives the records."""
        return bool(mpc.me in (None, self.data_owner)) and not self.dry


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a question reveals, and how whoever learns it reads it."""

    arrays: tuple[Any, ...]
    read: Callable[..., Any]
    units: bool = False
    """Whether fixed point is revealed as whole numbers."""

    def revealed(self, mpc: Any, to: Any) -> Any:
        """The answer in the clear, None at a party that does not learn it; where nothing is run, its shape."""
        found = mpc.reveal_all(*self.arrays, to=to, units=self.units)
        if isinstance(found[0], Placeholder):
            with np.errstate(all="ignore"):
                made = self.read(*(np.zeros(array.shape, np.int64) for array in found))
            if isinstance(made, dict):
                return {name: Placeholder(values.shape) for name, values in made.items()}
            return Placeholder(made.shape)
        return None if found[0] is None else self.read(*found)


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
        batch: int | None = None,
    ) -> Any:
        """Predicts for `data_owner`'s records with `model_owner`'s model, showing neither.

        All records are scored together, and rounds do not grow with their number, unless `batch=` says how many at a
        time, or the session's `max_memory=` has no room for all: then memory does not grow with it either, and a
        terminal shows how far it is and the time left.

        Args:
            mpc: a session.
            X: the records, (records, features), at their owner and in a local session; elsewhere None, or any array
                of that shape, of which nothing but the shape is used. The path of a `.npy` file is as good, and a
                quantised network takes paths of pictures; of what is scored in batches no more than a batch is read.
            model_owner: the party that has the model.
            data_owner: the party that has the records.
            reveal_to: the party that learns the predictions: the records' owner unless stated; None for all.
            rows: the number of records, where X is None.
            reveal: False reveals nothing, and gives a secret array that the program goes on with. Labels that are
                whole numbers come as these, two truth values as bits, all others as their places in `shape.classes`;
                of labels that are predicted each for itself bits; of a regression `qr.fixed(64, 16)`.

            batch: how many records are scored at a time; all parties say the same. None: all at once, or as many as
                the session's `max_memory=` has room for. A record that does not fit ends the question when its batch
                comes.

        What is secret of a model is shared by the first question that a session asks it, and used by all further ones;
        it goes with the model, the shape that stands for it at other parties, or the session. So all parties ask the
        same model, or keep the `Shape` as long as its owner keeps the model.

        Returns:
            An array of labels, of a regression of numbers, or None at a party that does not learn them; with
            `reveal=False` a secret array.

        Raises:
            RangeError: a record has a value that is not finite or exceeds the model's bounds.
            ShapeError: X does not have a row per record and a column per feature, or is sparse.
            ModelError: the records or the model are not where they are said to be, X is a table that names its
                columns otherwise than `shape.names`, or in another order, or a file that cannot be read.
        """
        return self._ask("predict", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal), batch)

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
        batch: int | None = None,
    ) -> Any:
        """The classes' probabilities, (records, classes), for the same arguments as `predict`.

        They say what the decisions of the model are: the logistic function or the shares that turn decisions into
        probabilities can be undone. So the decisions are what is revealed, of several classes only their
        differences, and the rest is computed where they arrive. With `reveal=False` it is computed on secrets, as
        `qr.fixed(64, 16)`: each probability is within `margin_bound` and 2^-14.

        Raises:
            ModelError: this model has no probabilities.
        """
        return self._ask("predict_proba", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal), batch)

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
        batch: int | None = None,
    ) -> Any:
        """The decisions, (records,) or (records, classes), for the same arguments as `predict`.

        Each is within `margin_bound` of the estimator's. They say more about the model than classes do. With
        `reveal=False` they are `qr.fixed(64, 16)`, rounded down.

        Raises:
            ModelError: this model has no such decisions.
        """
        return self._ask("decision_function", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal), batch)

    def _ask(self, question: str, mpc: Any, asked: Asked, batch: int | None) -> Any:
        """All at once, or one batch after another."""
        if not hasattr(mpc, "is_local"):
            raise ModelError(
                at(
                    f"{question}: the first argument is a session, in which parties compute, as in "
                    f"model.{question}(mpc, X); this is a {type(mpc).__name__}"
                )
            )
        given = asked.X.values() if isinstance(asked.X, dict) else [asked.X]
        if any(isinstance(values, (SecretArray, Frame)) for values in given):
            raise ModelError(
                at(
                    f"{question}: X is secret, and a model takes one owner's plain records, which it rounds itself as "
                    f"exactly as it needs: give them as X at party {asked.data_owner} (data_owner=), elsewhere X=None "
                    "and rows=. Of features that several owners have, one of them gives all to a model; to compute "
                    "with secret features take weights as an input, mpc.input(weights, owner=...), and write x @ w + b"
                )
            )
        if (paths := paths_of(asked.X)) is not None:
            is_array = isinstance(asked.X, (str, Path)) and paths[0].suffix.lower() not in PICTURES
            asked = dataclasses.replace(asked, X=read_array(paths[0]) if is_array else self._pictures_of(paths))
        if asked.has_records(mpc):
            check_dense(asked.X)
        if mpc.is_local and getattr(self, "_scales", False) and getattr(asked.X, "dtype", None) == np.float32:
            text = (
                f"{question}: X is of float32, in which the estimator's own steps would compute, and be off by more "
                "than the margin; here it counts as float64: compare with the estimator's answers for X.astype(float)"
            )
            warnings.warn_explicit(at(text), ModelWarning, *line())
        if batch is None:
            count = 0 if mpc._options.max_memory is None or not asked.reveal else _count(asked)
            if count < 2 or asked.rows not in (None, count) or self._has_room(question, mpc, asked, count):
                return self._answer(question, mpc, asked)
            return self._in_pieces(question, mpc, asked, count)
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise ModelError(f"{question}: batch={batch!r} is no number of records: 1 or more, or None for all at once")
        if not asked.reveal:
            raise ModelError(
                f"{question}: batch= is for what is revealed; with reveal=False ask for a part of X at a time"
            )
        count = _count(asked)
        if count <= batch or asked.rows not in (None, count):
            return self._answer(question, mpc, asked)
        return self._some_at_a_time(question, mpc, asked, count, batch)

    def _in_pieces(self, question: str, mpc: Any, asked: Asked, count: int) -> Any:
        """As many records at a time as `max_memory=` has room for.

        All parties find the same number: their limit is the same, and so are their dry runs.
        """
        batch = -(-count // 2)  # all at once have no room
        while batch > 1 and not self._has_room(question, mpc, asked, batch):
            batch = -(-batch // 2)
        batch -= batch // 8  # what a run leaves in the session counts in the next one
        return self._some_at_a_time(question, mpc, asked, count, batch)

    def _some_at_a_time(self, question: str, mpc: Any, asked: Asked, count: int, batch: int) -> Any:
        with AddedUp(), parts(range(0, count, batch)) as firsts:
            answers = []
            for first in firsts:
                try:
                    answers.append(self._answer(question, mpc, _some(asked, first, min(first + batch, count))))
                except (RangeError, ShapeError) as error:
                    raise type(error)(f"{error}; of the batch that begins at record {first}") from error
        return _joined(answers)

    def _has_room(self, question: str, mpc: Any, asked: Asked, rows: int) -> bool:
        """Whether `max_memory=` is not what refuses this question about so many records at once.

        What it would reveal is explained, to whom it would. No record is read for that.
        """
        dry = dataclasses.replace(asked, X=None, rows=rows, quiet=True, dry=True)
        with mpc._without_values():
            made = self._made(question, mpc, dry)
        return "max_memory" not in (mpc.explain(*made.arrays, to=asked.learner).refusal or "")

    def _answer(self, question: str, mpc: Any, asked: Asked) -> Any:
        """One question about all of these records at once."""
        made = self._made(question, mpc, asked)
        answer = made.revealed(mpc, asked.learner) if asked.reveal else made
        if not asked.quiet:
            self._tell_how_far(question, mpc, asked)
        return answer

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        """The program: an `Answer` that is to be revealed, or with `reveal=False` the secret array."""
        raise NotImplementedError

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        """Says how far answers may be off, to whom that is known."""

    def _pictures_of(self, paths: list[Path]) -> Any:
        """The same, where none of them is an array."""
        for path in paths:
            if path.suffix.lower() in (".npy", ".npz"):
                raise ModelError(
                    f"X: {path} is in a list, which is of pictures: of one file of an array give its path alone, and "
                    "of several the array, numpy.concatenate([numpy.load(path) for path in paths])"
                )
        return self._pictures(paths)

    def _pictures(self, paths: list[Path]) -> Any:
        """What files of pictures are as X."""
        raise ModelError(
            f"X: {paths[0]} is no array: a model takes numbers, scaled as they were for training; "
            "numpy.asarray(PIL.Image.open(path)) are those of a picture, (rows, columns, channels)"
        )


def _count(asked: Asked) -> int:
    """How many records there are; 0 where it is not said."""
    return (asked.rows or 0) if asked.X is None else records_of(asked.X)


def _some(asked: Asked, first: int, last: int) -> Asked:
    """The same question for a part of the records."""
    X = None if asked.X is None else rows_of(asked.X, first, last)
    return dataclasses.replace(asked, X=X, rows=last - first)


def _joined(found: list[Any]) -> Any:
    """Answers one after the other; None at a party that does not learn them, and of what is not run the shape."""
    if isinstance(found[0], Placeholder):
        return Placeholder((sum(part.shape[0] for part in found), *found[0].shape[1:]))
    if isinstance(found[0], dict):
        return {name: _joined([part[name] for part in found]) for name in found[0]}
    return None if found[0] is None else np.concatenate(found)
