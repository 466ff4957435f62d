"""Inputs that are whole numbers, by which rows of tables are looked up: what they may be, and the look-up on secrets.

Element by element an input is below the number of rows of each table in which it, or what is moved of it, is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quorate
from quorate._stated import stated
from quorate.errors import ModelError, RangeError
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._numerics import as_float64
from quorate.models._onnx._steps import Step, clear

Rows = NDArray[np.int64]
"""For each element of an input, how many rows there are: the least of all tables in which it is looked up."""


def rows_of(steps: Sequence[Step], sizes: Sequence[int]) -> Rows:
    """For inputs of these sizes. Elements that no table is looked up by may be what any other may."""
    count = int(np.prod(sizes, dtype=np.int64))
    places: dict[int, Array] = {0: np.arange(1.0, count + 1).reshape(1, *sizes)}  # 0 is what is padded with
    found = np.full(count + 1, np.iinfo(np.int64).max)
    for place, step in enumerate(steps, 1):
        if step.kind == "embedding" and step.weights is not None:
            np.minimum.at(found, places[step.inputs[0]].astype(np.int64).ravel(), len(step.weights))
        elif step.kind in MOVES and step.inputs[0] in places:
            places[place] = clear(step, [places[i] for i in step.inputs])
    inputs = found[1:]
    known = inputs < np.iinfo(np.int64).max
    if not known.any():
        raise ModelError("from_onnx: the input is of whole numbers, and none of them is looked up in a table")
    return np.where(known, inputs, inputs[known].max()).reshape(sizes)


def are_looked_up(steps: Iterable[Any], has_rows: bool) -> bool:
    """Whether steps look rows up by such inputs, or what is moved of them, alone, and take these nowhere else."""
    found = {0} if has_rows else set()
    for place, step in enumerate(steps, 1):
        taken = [i in found for i in step["inputs"]]
        if step["kind"] in MOVES and all(taken):
            found.add(place)
        elif any(taken) != (step["kind"] == "embedding"):
            return False
    return True


def checked(X: Any, rows: Rows, what: str) -> Array:
    """The numbers, if each is one of a row.

    Raises:
        RangeError: naming the first that is not, and what it may be.
    """
    values = as_float64(X, what)
    if values.shape[1:] != rows.shape:
        return values  # whoever asks says what shapes are
    bad = ~((values >= 0) & (values < rows) & (values == np.floor(values)))
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        most = int(rows[place[1:]]) - 1
        raise RangeError(
            f"{what}: {values[place]:.16g} at index {place}; it is the number of a row of a table, and these are whole "
            f"numbers from 0 to {most}; negative ones do not count from the end"
        )
    return values


def check_bound(bound: Any, rows: Rows) -> None:
    """Refuses a bound that says something else than the tables.

    Raises:
        ModelError: saying what they say.
    """
    most = int(rows.max()) - 1
    if bound is not None and np.asarray(bound).ravel().tolist() not in ([most], [0, most]):
        raise ModelError(
            f"from_onnx: bound={bound!r}, and inputs are numbers of rows, from 0 to {most}: leave bound= out, since "
            "tables say it"
        )


def drawn(rows: Rows, count: int) -> Array:
    """Inputs at random."""
    return np.random.default_rng(0).integers(0, rows, (count, *rows.shape)).astype(np.float64)


def shared(mpc: Any, X: Array | None, most: int, owner: int, shape: tuple[int, ...]) -> Any:
    """Inputs as secrets of no more bits than the largest has: each of these is compared with each row's number."""
    units = None if X is None else X.astype(np.int64)
    dtype = quorate.uint(max(most.bit_length(), 1))
    return mpc.input(units, owner=owner, shape=shape, dtype=dtype, bound=most)


class Lookups:
    """Rows by secret numbers: which row it is, is found out once for all tables that the same numbers are for."""

    def __init__(self, mpc: Any, steps: Sequence[dict[str, Any]], ring: int) -> None:
        self._mpc, self._ring = mpc, ring
        self._hot: dict[int, Any] = {}
        self._depths: dict[int, int] = {}
        for step in steps:
            if step["kind"] == "embedding":
                place = step["inputs"][0]
                self._depths[place] = max(step["weights"][0], self._depths.get(place, 0))

    def rows(self, step: dict[str, Any], index: Any, table: Any) -> Any:
        """Those of a table; zeros where there is no such row. What `qr.nn.embedding` makes."""
        place, (rows, columns) = step["inputs"][0], step["weights"]
        if place not in self._hot:
            depth = self._depths[place]
            hot = self._mpc.one_hot(index, depth).reshape(index.size, depth)
            self._hot[place] = hot.astype(quorate.int(self._ring))
        hot = self._hot[place]
        made = (hot if hot.shape[1] == rows else hot[:, :rows]) @ table
        return stated(made, step["width"]).reshape(*index.shape, columns)
