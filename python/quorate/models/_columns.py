"""What a record's owner computes of each record in the clear, as the model's public shape asks for it.

A column is a feature and what is made of it:

| what | the column |
|---|---|
| `("value",)` | the feature itself |
| `("square",)` | its square |
| `("in", a, b, ...)` | 1 where the feature is one of these values, else 0 |
| `("out", a, b, ...)` | 1 where it is none of them, else 0 |

All of this is public, and so are the values of categories; what a model makes of the columns is not.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError, RangeError
from quorate.models._numerics import finite_float64

Column = tuple[int, tuple[Any, ...]]
Floats = NDArray[np.float64]

VALUE, SQUARE = ("value",), ("square",)


@dataclasses.dataclass
class Columns:
    """The columns of some features, first each feature itself, and those that steps of a pipeline asked for."""

    features: int
    all: list[Column] = dataclasses.field(default_factory=list)
    known: dict[int, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    """Of features that must have one of some values: these."""

    def __post_init__(self) -> None:
        self.all = [(feature, VALUE) for feature in range(self.features)]

    def add(self, feature: int, what: tuple[Any, ...]) -> int:
        """The place of one more column."""
        self.all.append((feature, what))
        return len(self.all) - 1


def plain(value: Any) -> Any:
    """A category as it is said to the other parties: a text, a number or a truth value.

    Raises:
        ModelError: it is none of these.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or value != value or not isinstance(value, (str, int, float)):
        raise ModelError(f"a category {value!r} is not supported: texts, numbers and truth values are, none missing")
    return value


def problem(columns: tuple[Column, ...], known: tuple[tuple[int, tuple[Any, ...]], ...], features: int) -> str | None:
    """What is wrong with a shape's columns."""
    for feature, what in columns:
        if not 0 <= feature < features:
            return f"a column is made of feature {feature} of {features}"
        if what not in (VALUE, SQUARE) and not (len(what) > 1 and what[0] in ("in", "out")):
            return f"a column is {what!r}, not ('value',), ('square',), ('in', ...) or ('out', ...)"
    if any(not 0 <= feature < features or not values for feature, values in known):
        return f"known are values of features 0 to {features - 1}"
    return None if columns else "it has no columns"


def derived(columns: tuple[Column, ...], known: tuple[tuple[int, tuple[Any, ...]], ...], records: np.ndarray) -> Floats:
    """The columns of records, (records, columns).

    Raises:
        RangeError: a value is not a finite number where one is needed, or none of a feature's categories.
    """
    texts = {feature: records[:, feature].tolist() for feature, what in columns if what[0] in ("in", "out")}
    for feature, values in known:
        for row, value in enumerate(texts.get(feature) or records[:, feature].tolist()):
            if not _is_one_of(value, values):
                some = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
                raise RangeError(
                    f"records: {value!r} at record {row}, feature {feature}, is none of the categories that the model "
                    f"knows: {some}"
                )
    made = np.empty((len(records), len(columns)))
    for place, (feature, what) in enumerate(columns):
        if what[0] in ("in", "out"):
            there = [_is_one_of(value, what[1:]) for value in texts[feature]]
            made[:, place] = np.array(there) == (what[0] == "in")
        else:
            numbers = finite_float64(records[:, feature], f"records, feature {feature}")
            made[:, place] = numbers**2 if what == SQUARE else numbers
    return made


def _is_one_of(value: Any, values: tuple[Any, ...]) -> bool:
    """Equal as Python has it, and as scikit-learn does: 3.0 is 3, and no text is a number."""
    return any(value == other for other in values)


def bounds_of_columns(columns: tuple[Column, ...], bounds: Any, features: int) -> Floats:
    """The largest magnitude of each column, where those of the features are given: one for all, or one for each."""
    try:
        each = np.broadcast_to(finite_float64(bounds, "bounds"), (features,))
    except (ValueError, RangeError) as error:
        raise ModelError(f"bounds: one positive number, or one per feature ({features}): {error}") from error
    powers = {VALUE: 1, SQUARE: 2}
    return np.array([each[feature] ** powers.get(what, 0) for feature, what in columns])


def bounds_of_sample(columns: tuple[Column, ...], sample: Any, features: int) -> Floats:
    """Twice the largest magnitude of each feature of which numbers are taken, in some records; 1 of the others.

    Raises:
        ModelError: these are no records.
    """
    records = sample if isinstance(sample, np.ndarray) else np.asarray(sample)
    if records.ndim != 2 or records.shape[1] != features or records.shape[0] == 0:
        raise ModelError(f"sample has shape {records.shape}; records like those to come are (records, {features})")
    bounds = np.ones(features)
    try:
        for feature in {feature for feature, what in columns if what in (VALUE, SQUARE)}:
            bounds[feature] = 2 * np.abs(finite_float64(records[:, feature], f"sample, feature {feature}")).max()
    except RangeError as error:
        raise ModelError(str(error)) from error
    return bounds
