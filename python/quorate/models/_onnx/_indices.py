"""Inputs that are row numbers of tables: their limits, and the look-up on secrets.

Each element of an input is below the number of rows of each table in which it, or a moved copy of it, is looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quorate
from quorate._arrays._proven_ranges import stated
from quorate.errors import ModelError, RangeError
from quorate.models._layers._kernels import MOVES, Array
from quorate.models._numerics import as_float64
from quorate.models._onnx._steps import Step, clear
from quorate.models._quotes import short

Rows = NDArray[np.int64]
"""For each element of an input the number of rows: the least of all tables in which it is looked up."""


def rows_of(steps: Sequence[Step], sizes: Mapping[int, Sequence[int]]) -> dict[int, Rows]:
    """Returns the rows for the inputs of these numbers and sizes.

    An element that is looked up in no table may be as large as any other element of the input.

    Raises:
        ModelError: an input is looked up in no table.
    """
    counts = [0, *np.cumsum([np.prod(of, dtype=np.int64) for of in sizes.values()]).tolist()]
    starts = {
        number: np.arange(1.0 + before, 1.0 + after).reshape(1, *of)  # 0 stands for padding
        for (number, of), (before, after) in zip(sizes.items(), pairwise(counts), strict=True)
    }
    places: dict[int, Array] = {0: starts[0]} if 0 in starts else {}
    found = np.full(counts[-1] + 1, np.iinfo(np.int64).max)
    for place, step in enumerate(steps, 1):
        if step.kind == "input" and step.attrs["number"] in starts:
            places[place] = starts[step.attrs["number"]]
        elif not step.inputs or step.inputs[0] not in places:
            continue
        elif step.kind == "embedding" and step.weights is not None:
            np.minimum.at(found, places[step.inputs[0]].astype(np.int64).ravel(), len(step.weights))
        elif step.kind in MOVES:
            places[place] = clear(step, [places[i] for i in step.inputs])
    return {number: _filled(found[start.astype(np.int64)][0]) for number, start in starts.items()}


def _filled(rows: Rows) -> Rows:
    known = rows < np.iinfo(np.int64).max
    if not known.any():
        raise ModelError("from_onnx: an input is of whole numbers, and none of them is looked up in a table")
    return np.where(known, rows, rows[known].max())


def are_looked_up(steps: Iterable[Any], numbers: Collection[int]) -> bool:
    """Returns whether steps use the inputs of these numbers, or moved copies of them, only to look rows up."""
    found = {0} if 0 in numbers else set()
    for place, step in enumerate(steps, 1):
        taken = [i in found for i in step["inputs"]]
        if step["kind"] == "input":
            found.update([place] if step["number"] in numbers else [])
        elif step["kind"] in MOVES and all(taken):
            found.add(place)
        elif any(taken) != (step["kind"] == "embedding"):
            return False
    return True


def checked(X: Any, rows: Rows, what: str) -> Array:
    """Returns the numbers, if each is the number of a row.

    Raises:
        RangeError: a number is not; the message names the first, and the allowed range.
    """
    values = as_float64(X, what)
    if values.shape[1:] != rows.shape:
        return values  # the caller reports wrong shapes
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
    """Refuses a bound that contradicts the tables.

    Raises:
        ModelError: the bound is another one; the message gives the tables'.
    """
    most = int(rows.max()) - 1
    if bound is not None and np.asarray(bound).ravel().tolist() not in ([most], [0, most]):
        raise ModelError(
            f"from_onnx: bound={short(bound)}, and inputs are numbers of rows, from 0 to {most}: leave bound= out, "
            "since tables say it"
        )


def drawn(rows: Rows, count: int) -> Array:
    """Returns random inputs."""
    return np.random.default_rng(0).integers(0, rows, (count, *rows.shape)).astype(np.float64)


def shared(mpc: Any, X: Array | None, most: int, owner: int, shape: tuple[int, ...]) -> Any:
    """Inputs row numbers with no more bits than the largest has, as each is compared with each row's number."""
    units = None if X is None else X.astype(np.int64)
    dtype = quorate.uint(max(most.bit_length(), 1))
    return mpc.input(units, owner=owner, shape=shape, dtype=dtype, bound=most)


class Lookups:
    """Look-ups of rows by secret numbers; the rows for the same numbers are found once for all tables."""

    def __init__(self, mpc: Any, steps: Sequence[dict[str, Any]], ring: int) -> None:
        self._mpc, self._ring = mpc, ring
        self._hot: dict[int, Any] = {}
        self._depths: dict[int, int] = {}
        for step in steps:
            if step["kind"] == "embedding":
                place = step["inputs"][0]
                self._depths[place] = max(step["weights"][0], self._depths.get(place, 0))

    def rows(self, step: dict[str, Any], index: Any, table: Any) -> Any:
        """Returns the rows of a table, as `qr.nn.embedding` does; zeros if there is no such row."""
        place, (rows, columns) = step["inputs"][0], step["weights"]
        if place not in self._hot:
            depth = self._depths[place]
            hot = self._mpc.one_hot(index, depth).reshape(index.size, depth)
            self._hot[place] = hot.astype(quorate.int(self._ring))
        hot = self._hot[place]
        made = (hot if hot.shape[1] == rows else hot[:, :rows]) @ table
        return stated(made, step["width"]).reshape(*index.shape, columns)
