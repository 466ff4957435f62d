"""Columns that a record's owner computes of each record in the clear, as the model's public shape requires.

A column is a feature and what is made of it:

| what | the column |
|---|---|
| `("value",)` | the feature itself |
| `("square",)` | its square |
| `("in", a, b, ...)` | 1 where the feature is one of these values, else 0 |
| `("out", a, b, ...)` | 1 where it is none of them, else 0 |

Columns are public, and so are the values of categories; how a model uses the columns is not.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.errors import ModelError, RangeError
from quorate.models._numerics import Integers, each_feature, finite_float64

Column = tuple[int, tuple[Any, ...]]
Floats = NDArray[np.float64]

VALUE, SQUARE = ("value",), ("square",)


@dataclasses.dataclass
class Columns:
    """The columns over some features: first each feature itself, then those that steps of a pipeline added."""

    features: int
    all: list[Column] = dataclasses.field(default_factory=list)
    known: dict[int, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    """For features that must have one of some values: these values."""
    encoded: set[int] = dataclasses.field(default_factory=set)
    """Features that are categories, even if no column is one of their categories."""
    numbers: set[int] = dataclasses.field(default_factory=set)
    """Features that a selection was given as numbers, whether it kept them or not."""

    def __post_init__(self) -> None:
        self.all = [(feature, VALUE) for feature in range(self.features)]

    def add(self, feature: int, what: tuple[Any, ...]) -> int:
        """Adds a column and returns its place."""
        self.all.append((feature, what))
        return len(self.all) - 1

    def must_be(self, feature: int, values: tuple[Any, ...]) -> None:
        """Refuses records with any other value; if several encoders refuse values, each of them does."""
        before = self.known.get(feature, values)
        self.known[feature] = tuple(value for value in before if value in values)


def plain(value: Any) -> Any:
    """Returns a category as the other parties learn it: a text, a number or a truth value.

    Raises:
        ModelError: it is none of these.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (str, int, float)) or value != value:
        raise ModelError(f"a category {value!r} is not supported: texts, numbers and truth values are, none missing")
    return value


def pairs(name: str, given: Any) -> tuple[tuple[int, tuple[Any, ...]], ...]:
    """Returns features and their values as pairs of tuples, from lists too.

    Raises:
        ModelError: these are no such pairs.
    """
    try:
        return tuple((int(feature), tuple(what)) for feature, what in given)
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"this is not the shape of a model: {name} are pairs of a feature and a list: {error}"
        ) from error


def problem(columns: tuple[Column, ...], known: tuple[tuple[int, tuple[Any, ...]], ...], features: int) -> str | None:
    """Returns what is wrong with a shape's columns, None if nothing is."""
    for feature, what in columns:
        if not 0 <= feature < features:
            return f"a column is made of feature {feature} of {features}"
        if what not in (VALUE, SQUARE, ("out",)) and not (len(what) > 1 and what[0] in ("in", "out")):
            return f"a column is {what!r}, not ('value',), ('square',), ('in', ...) or ('out', ...)"
    if any(not 0 <= feature < features or not values for feature, values in known):
        return f"known are values of features 0 to {features - 1}"
    for value in (value for _, values in (*columns, *known) for value in values):
        if not isinstance(value, (str, int, float)) or value != value:
            return f"a category is {value!r}, no text, number or truth value"
    return None if columns else "it has no columns"


def derived(columns: tuple[Column, ...], known: tuple[tuple[int, tuple[Any, ...]], ...], records: np.ndarray) -> Floats:
    """Returns the columns of records, (records, columns).

    Raises:
        RangeError: a value is not a finite number where one is needed, or none of a feature's categories.
    """
    codes: dict[int, Integers] = {}
    places: dict[int, dict[Any, int]] = {}
    for feature, values in [*known, *((feature, what[1:]) for feature, what in columns if what[0] in ("in", "out"))]:
        place = places.setdefault(feature, {})
        for value in values:
            place.setdefault(value, len(place))
    for feature, place in places.items():
        codes[feature] = _codes(records[:, feature].tolist(), place, feature)
    for feature, values in known:
        if not (there := _among(codes[feature], places[feature], values)).all():
            row = int(np.argmin(there))
            some = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
            raise RangeError(
                f"records: {records[row : row + 1, feature].tolist()[0]!r} at record {row}, feature {feature}, is none "
                f"of the categories that the model knows: {some}"
            )
    made = np.empty((len(records), len(columns)))
    for at, (feature, what) in enumerate(columns):
        if what[0] in ("in", "out"):
            made[:, at] = _among(codes[feature], places[feature], what[1:]) == (what[0] == "in")
        else:
            numbers = finite_float64(records[:, feature], f"records, feature {feature}")
            made[:, at] = numbers**2 if what == SQUARE else numbers
    return made


def _codes(values: list[Any], place: dict[Any, int], feature: int) -> Integers:
    """Returns the place of each value, -1 for others. Equality is Python's and scikit-learn's: 3.0 is 3, no text is 3.

    Missing values are refused: a step of the pipeline may have filled them in before they were encoded.
    """
    codes = np.full(len(values), -1)
    texts = not place or any(isinstance(value, str) for value in place)
    for row, value in enumerate(values):
        same = value is not None and value == value
        # pandas' NA is neither true nor false.
        if not isinstance(same, (bool, np.bool_)) or not same:
            raise RangeError(f"records: {value!r} at record {row}, feature {feature}; impute or drop such values first")
        if isinstance(value, str) and not texts:  # an imputer before the encoder would have read it as a number
            raise RangeError(
                f"records: {value!r} at record {row}, feature {feature}, is a text; categories are numbers"
            )
        try:
            codes[row] = place.get(value, -1)
        except TypeError as error:
            raise RangeError(
                f"records: {value!r} at record {row}, feature {feature}, is no text, number or truth value"
            ) from error
    return codes


def _among(codes: Integers, place: dict[Any, int], values: tuple[Any, ...]) -> NDArray[np.bool_]:
    """Returns which records have one of these values."""
    there = np.zeros(len(place) + 1, bool)
    there[[place[value] for value in values]] = True  # the last entry is for values without a place
    return there[codes]


def bounds_of_columns(columns: tuple[Column, ...], bounds: Any, features: int) -> Floats:
    """Returns the largest magnitude of each column: the bound of its feature, or 1 for categories."""
    each = each_feature(bounds, features)
    return np.array([each[feature] if what == VALUE else 1.0 for feature, what in columns])


def bounds_of_sample(columns: tuple[Column, ...], sample: Any, features: int) -> Floats:
    """Returns twice the largest magnitude in a sample of each feature that is used as a number; 1 for the others.

    Raises:
        ModelError: the sample is no array of records.
    """
    records = sample if isinstance(sample, np.ndarray) else np.asarray(sample)
    if records.ndim != 2 or records.shape[1] != features or records.shape[0] == 0:
        raise ModelError(f"sample has shape {records.shape}; records like those to come are (records, {features})")
    bounds = np.ones(features)
    try:
        for feature in {feature for feature, what in columns if what == VALUE}:
            bounds[feature] = 2 * np.abs(finite_float64(records[:, feature], f"sample, feature {feature}")).max()
    except RangeError as error:
        raise ModelError(str(error)) from error
    return bounds
