"""Questions that parties ask of a model, with one signature at the model's owner and at parties that have its shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quorate._display._progress import parts
from quorate._session._placeholder import Placeholder
from quorate._source import at, warn
from quorate.array import SecretArray
from quorate.errors import ModelError, ModelWarning, RangeError, ShapeError
from quorate.models._answer_warnings import AddedUp
from quorate.models._records import PICTURES, check_dense, paths_of, read_array, records_of, rows_of
from quorate.tables._secret import Frame

DATA_OWNER = "data owner"
"""The default of `reveal_to`: the owner of the records."""


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
    """Whether another model asks, which itself warns how far its answers may be off."""
    dry: bool = False
    """Whether this is a dry run, in which nothing is revealed: of the records only the number counts."""

    @property
    def learner(self) -> Any:
        """The party that learns the answer; None for all."""
        return self.data_owner if self.reveal_to == DATA_OWNER else self.reveal_to

    def has_records(self, mpc: Any) -> bool:
        """Returns whether this party gives the records."""
        return bool(mpc.me in (None, self.data_owner)) and not self.dry


@dataclasses.dataclass(frozen=True)
class Answer:
    """The arrays that a question reveals, and how the party that learns them reads the answer."""

    arrays: tuple[Any, ...]
    read: Callable[..., Any]
    units: bool = False
    """Whether fixed point is revealed as integers."""

    def revealed(self, mpc: Any, to: Any) -> Any:
        """Reveals the answer: None at a party that does not learn it, and placeholders if nothing is run."""
        found = mpc.reveal_all(*self.arrays, to=to, units=self.units)
        if isinstance(found[0], Placeholder):
            with np.errstate(all="ignore"):
                made = self.read(*(np.zeros(array.shape, np.int64) for array in found))
            if isinstance(made, dict):
                return {name: Placeholder(values.shape) for name, values in made.items()}
            return Placeholder(made.shape)
        return None if found[0] is None else self.read(*found)


class Questions:
    """The questions of a model.

    All parties call the same question: the model's owner on the model, others on its `Shape`.
    """

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

        All records are scored together, and rounds do not grow with their number. With `batch=`, or if the session's
        `max_memory=` has no room for all, records are scored in batches. Then memory does not grow with their number,
        and a terminal shows the progress and the time left.

        Args:
            mpc: a session.
            X: the records, (records, features), at their owner and in a local session; elsewhere None, or any array of
                that shape, of which only the shape is used. The path of a `.npy` file is accepted too, and a quantised
                network takes paths of pictures. If records are scored in batches, one batch of a file is read at a
                time.
            model_owner: the party that has the model.
            data_owner: the party that has the records.
            reveal_to: the party that learns the predictions: by default the records' owner; None for all.
            rows: the number of records, where X is None.
            reveal: False reveals nothing, and returns a secret array for the rest of the program. Labels that are whole
                numbers keep their values, True and False become bits, and all others become their places in
                `shape.classes`. Labels of a multilabel model are bits; numbers of a regression are `qr.fixed(64, 16)`.
                Labels of networks from ONNX and TFLite always become their places in `shape.labels`.
            batch: the number of records that are scored at a time, the same at all parties. None: all at once, or as
                many as fit in the session's `max_memory=`. An invalid record raises its error when its batch comes.
                With `reveal=False` pass a part of X at a time instead.

        The first call in a session shares the model's secrets, and all further calls use these shares. A party frees
        its shares when its `Model`, or the `Shape` that stands for it, is deleted, or when the session ends. So keep
        these objects at all parties for as long as the owner keeps the model.

        Returns:
            An array of labels, or of numbers for a regression; a dictionary by name, for a network with several
            outputs. None at a party that does not learn them. With `reveal=False` secret arrays.

        Raises:
            RangeError: a record has a value that is not finite or exceeds the model's bounds.
            ShapeError: X does not have a row per record and a column per feature, or is sparse.
            ModelError: the records or the model are missing at the party that should have them; X is a table whose
                columns differ from `shape.names` in name or order; or X is a file that cannot be read.
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
        """Returns the classes' probabilities, (records, classes), for the arguments of `predict`.

        Decisions are the scores that `decision_function` returns. Probabilities disclose them, since the logistic
        function or softmax that makes probabilities from decisions can be inverted. So the decisions are revealed (for
        several classes only their differences), and the party that learns them computes the probabilities. With
        `reveal=False` these are computed on secrets, as `qr.fixed(64, 16)`: each is within `margin_bound` plus 2^-14.

        Raises:
            ModelError: this model has no probabilities. Networks from ONNX and TFLite have none.
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
        """Returns the decisions, (records,) or (records, classes), for the arguments of `predict`.

        Each is within `margin_bound` of the estimator's. For networks they are the outputs, within `error_bound` of the
        clear network's. Decisions reveal more about the model than classes do. With `reveal=False` they are
        `qr.fixed(64, 16)`, rounded down.

        Raises:
            ModelError: this model has no such decisions, or `reveal=False` is given for a quantised network.
        """
        return self._ask("decision_function", mpc, Asked(X, model_owner, data_owner, reveal_to, rows, reveal), batch)

    def _ask(self, question: str, mpc: Any, asked: Asked, batch: int | None) -> Any:
        """Answers all records at once, or one batch after another."""
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
            warn(at(text), ModelWarning)
        if batch is None:
            count = 0 if mpc._options.max_memory is None or not asked.reveal else _count(asked)
            if count < 2 or asked.rows not in (None, count) or self._fits_memory(question, mpc, asked, count):
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
        """Answers in batches that `max_memory=` has room for.

        All parties find the same batch size: their limit is the same, and so are their dry runs.
        """
        batch = -(-count // 2)  # there is no room for all at once
        while batch > 1 and not self._fits_memory(question, mpc, asked, batch):
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

    def _fits_memory(self, question: str, mpc: Any, asked: Asked, rows: int) -> bool:
        """Returns whether `max_memory=` has room for a question about `rows` records; other refusals do not count.

        It explains what the question would reveal, and to whom. It reads no record.
        """
        dry = dataclasses.replace(asked, X=None, rows=rows, quiet=True, dry=True)
        with mpc._without_values():
            made = self._made(question, mpc, dry)
        return "max_memory" not in (mpc.explain(*made.arrays, to=asked.learner).refusal or "")

    def _answer(self, question: str, mpc: Any, asked: Asked) -> Any:
        """Answers one question about all of these records at once."""
        with mpc._errors_are_stated():  # models say how far answers may be off
            made = self._made(question, mpc, asked)
        answer = made.revealed(mpc, asked.learner) if asked.reveal else made
        if not (asked.quiet or mpc._nothing_is_sent):
            self._tell_how_far(question, mpc, asked)
        return answer

    def _made(self, question: str, mpc: Any, asked: Asked) -> Any:
        """Builds the program: an `Answer` to reveal, or with `reveal=False` the secret array."""
        raise NotImplementedError

    def _tell_how_far(self, question: str, mpc: Any, asked: Asked) -> None:
        """Warns how far answers may be off, at the parties that can compute it."""

    def _pictures_of(self, paths: list[Path]) -> Any:
        """Returns the pictures at these paths as X; refuses arrays in a list."""
        for path in paths:
            if path.suffix.lower() in (".npy", ".npz"):
                raise ModelError(
                    f"X: {path} is in a list, which is of pictures: of one file of an array give its path alone, and "
                    "of several the array, numpy.concatenate([numpy.load(path) for path in paths])"
                )
        return self._pictures(paths)

    def _pictures(self, paths: list[Path]) -> Any:
        """Reads files of pictures as X; a model that takes numbers refuses them."""
        raise ModelError(
            f"X: {paths[0]} is no array: a model takes numbers, scaled as they were for training; "
            "numpy.asarray(PIL.Image.open(path)) are those of a picture, (rows, columns, channels)"
        )


def _count(asked: Asked) -> int:
    """Returns the number of records; 0 if it is not stated."""
    return (asked.rows or 0) if asked.X is None else records_of(asked.X)


def _some(asked: Asked, first: int, last: int) -> Asked:
    """Returns the question for the records from `first` to `last`."""
    X = None if asked.X is None else rows_of(asked.X, first, last)
    return dataclasses.replace(asked, X=X, rows=last - first)


def _joined(found: list[Any]) -> Any:
    """Joins the answers of batches: None at a party that does not learn them, a placeholder if nothing is run."""
    if isinstance(found[0], Placeholder):
        return Placeholder((sum(part.shape[0] for part in found), *found[0].shape[1:]))
    if isinstance(found[0], dict):
        return {name: _joined([part[name] for part in found]) for name in found[0]}
    return None if found[0] is None else np.concatenate(found)
