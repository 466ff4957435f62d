"""Search for the nearest record of a database, by minimum squared Euclidean distance.

Source: section VI-C of aby. For a record s and a query c, |s - c|^2 = |s|^2 - 2 s.c + |c|^2. The owners compute squares
of lengths themselves, so that only the products s.c cost. |c|^2 is the same for all records, so the tournament omits
it.
Deviation: coordinates are shifted by the middle of their range, and squares by half of theirs. Distances do not change,
and the proven ranges of all intermediate values, and hence the comparisons, are the narrowest.
Model: that of the session. An owner's |s|^2 is an input like any other; no protocol compares it with the record.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from quorate._display._text_tables import counted
from quorate._session._arguments import checked_bound
from quorate._session._placeholder import Placeholder
from quorate._source import at
from quorate._values._public_numbers import natural_dtype
from quorate.apps._roles import Answer, learners, of_owner, parties_of, revealed, sizes_of
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check, fixed, uint
from quorate.dtypes import int as int_dtype
from quorate.errors import ConfigError, DtypeError, RangeError, ShapeError
from quorate.session import Session

__all__ = ["nearest"]

QUERY_OWNER = "query owner"
"""The default for `reveal_to`: the party that owns the query."""


def nearest(
    mpc: Session,
    database: Any = None,
    query: Any = None,
    *,
    owners: tuple[int, int] = (0, 1),
    shapes: tuple[Any, Any] = (None, None),
    dtype: Dtype | None = None,
    bound: float | None = None,
    index: bool = True,
    distance: bool = True,
    reveal_to: Answer = QUERY_OWNER,
) -> Any:
    """Finds the record of a database nearest to a query, and its squared distance, without showing database or query.

    The result is exact. Of several equally near records it is the first, as with `numpy.argmin`.

    Args:
        mpc: a session.
        database: (records, coordinates), at its owner and in a local session, or a callable that returns it, which is
            called there only. Elsewhere None, or any array, of which only the shape is used.
        query: (coordinates,), or (queries, coordinates) for several at once, given in the same way as the database.
        owners: the party that has the database, and the party that has the query.
        shapes: the public shapes of the database and of the query; mandatory where these are not given.
        dtype: the dtype of coordinates: `qr.int(k)`, `qr.uint(k)`, or `qr.fixed(k, f)`, to whose multiples of 2^-f
            reals are rounded. Without it the values' own dtype where they are given, else int(64).
        bound: the largest magnitude of a coordinate. Distances are computed in the fewest bits that bound and dtype
            allow. Without a bound, and with a dtype too wide for exact distances, coordinates are limited so that
            distances fit 64 bits.
        index: whether to reveal the index of the nearest record.
        distance: whether to reveal its squared distance from the query.
        reveal_to: the party, or the parties, that learn the result; by default the query's owner. `"owners"` means both
            owners, None all parties. With `"nobody"` the result stays secret, for further computation.

    Returns:
        The index and the squared distance, as a pair of scalars, or of arrays for several queries; or only one of the
        two. None at parties that do not learn it. Secret arrays for `"nobody"`.

    Rounds and bytes:
        One product of matrices, then records - 1 comparisons and selections for each query, log2(records) of them one
        after another. Online (`mpc.explain` has the offline phase, too), for 512 records of 4 coordinates up to 10,000,
        one query: rss 75 rounds, 20 kB; aby 56 rounds, 21 kB; spdz2k 68 rounds, 32 kB; pika 56 rounds, 16 kB.

    Raises:
        RangeError: at the owner alone: a coordinate does not fit the dtype or the bound.
        ShapeError, DtypeError, ConfigError: an argument is unsuitable; found before anything is sent.

    Example:
        >>> import quorate as qr
        >>> with qr.local("rss") as mpc:
        ...     faces = [[1, 9], [4, 4], [8, 0]]
        ...     print(*qr.apps.nearest(mpc, faces, [7, 2], dtype=qr.uint(8)))
        2 5
    """
    owned = parties_of(mpc, "nearest", owners)
    to = learners(mpc, "nearest", owned[1] if reveal_to == QUERY_OWNER else reveal_to, owned)
    if not (index or distance):
        raise ConfigError(at("nearest: ask for the index, the distance, or both"))
    if not isinstance(shapes, (tuple, list)) or len(shapes) != 2:
        raise ConfigError(at(f"nearest: shapes are those of the database and of the query, not {shapes!r}"))
    given = [of_owner(mpc, "nearest", values, owner) for values, owner in zip((database, query), owned, strict=True)]
    records = sizes_of("nearest", given[0], database, shapes[0], (2,))
    asked = sizes_of("nearest", given[1], query, shapes[1], (1, 2))
    if records[0] == 0 or records[1] == 0 or records[1] != asked[-1]:
        raise ShapeError(
            at(f"nearest: records of shape {records} and a query of shape {asked}: coordinates must match")
        )
    form = _Form.of(_coordinate_dtype(given, dtype), bound, records[1])
    held = _Side.input(mpc, form, given[0], owned[0], records)
    wished = _Side.input(mpc, form, given[1], owned[1], asked)
    place, far = _closest(form, held, wished, bool(index), bool(distance))
    wanted = [found.reshape(asked[:-1]) for found in (place, far) if found is not None]
    if not to:
        return tuple(wanted) if len(wanted) > 1 else wanted[0]
    values = revealed(mpc, wanted, to)
    if values is None:
        return None
    if index and not isinstance(values[0], Placeholder):
        values[0] = values[0].astype(np.int64)
    return tuple(values) if len(values) > 1 else values[0]


def _coordinate_dtype(given: list[np.ndarray | None], dtype: Any) -> Dtype:
    if dtype is None:
        known = [natural_dtype(values) for values in given if values is not None and values.dtype.kind in "iuf"]
        return next((found for found in known if found.kind == "fixed"), int_dtype(64))
    wanted = check(dtype)
    if wanted.kind == "bit":
        raise DtypeError(at("nearest: coordinates are numbers: state dtype=qr.int(k), qr.uint(k) or qr.fixed(k, f)"))
    return wanted


@dataclasses.dataclass(frozen=True)
class _Form:
    """The encoding of coordinates as integers: x 2^frac - middle, whose magnitude is at most `reach`.

    Attributes:
        dtype: the stated dtype of coordinates.
        low, high: the least and largest coordinate, in units of 2^-frac.
        coordinates: the number of coordinates of a record.
    """

    dtype: Dtype
    low: int
    high: int
    coordinates: int

    @staticmethod
    def of(dtype: Dtype, bound: Any, coordinates: int) -> _Form:
        signed = dtype.kind != "uint"
        low = -(1 << (dtype.bits - 1)) if signed else 0
        high = (1 << (dtype.bits - signed)) - 1
        bound = checked_bound(bound)
        if bound is not None:
            units = bound << dtype.frac if isinstance(bound, int) else math.ceil(bound * 2.0**dtype.frac)
            low, high = max(low, -units), min(high, units)
        form = _Form(dtype, low, high, coordinates)
        if form.bits > 64 and bound is not None:
            raise RangeError(
                at(
                    f"nearest: squared distances of {counted(coordinates, 'coordinate')} up to {bound} in {dtype} do "
                    "not fit 64 bits: use fewer fractional bits, or a smaller bound="
                )
            )
        if form.bits <= 64:
            return form
        # The largest range whose distances fit; for a dtype without a sign it begins at 0.
        most = math.isqrt(((1 << 63) - 8) // (5 * coordinates))
        return _Form(dtype, -most, most, coordinates) if signed else _Form(dtype, 0, 2 * most, coordinates)

    @property
    def middle(self) -> int:
        return (self.low + self.high + 1) // 2

    @property
    def reach(self) -> int:
        return max(self.high - self.middle, self.middle - self.low, 1)

    @property
    def square(self) -> int:
        """The largest square of a length."""
        return self.coordinates * self.reach**2

    @property
    def half(self) -> int:
        """The number by which squares of lengths are shifted."""
        return (self.square + 1) // 2

    @property
    def bits(self) -> int:
        """The bits of a difference of two scores, each up to half + 2 square in magnitude; its sign compares them."""
        return max((2 * (self.half + 2 * self.square)).bit_length() + 1, 2 * self.dtype.frac + 1)

    def units(self, values: np.ndarray, owner: int) -> np.ndarray:
        """Returns the shifted integers, at their owner."""
        if values.dtype.kind == "f" and self.dtype.kind != "fixed":
            raise DtypeError(at(f"nearest: real numbers do not go into {self.dtype}: name dtype=qr.fixed(k, f)"))
        if values.dtype.kind not in "iuf":
            raise DtypeError(at("nearest: coordinates are numbers"))
        with np.errstate(all="ignore"):
            scaled = values.astype(np.float64) * 2.0**self.dtype.frac if self.dtype.frac else values
            outside = ~((scaled >= self.low - 0.5) & (scaled <= self.high + 0.5))
        if outside.any():
            place = tuple(int(i) for i in np.argwhere(outside)[0])
            least, most = (end / 2**self.dtype.frac if self.dtype.frac else end for end in (self.low, self.high))
            raise RangeError(
                at(
                    f"nearest: coordinate {values[place]} (index {place}) of party {owner} is not from {least} to "
                    f"{most}: see dtype= and bound="
                )
            )
        whole = np.rint(scaled) if scaled.dtype.kind == "f" else scaled
        return np.clip(whole.astype(np.int64), self.low, self.high) - self.middle


@dataclasses.dataclass(frozen=True)
class _Side:
    """One owner's shifted input: coordinates, with a row for each record or query, and squares of lengths."""

    rows: SecretArray
    squares: SecretArray

    @staticmethod
    def input(mpc: Session, form: _Form, values: np.ndarray | None, owner: int, shape: tuple[int, ...]) -> _Side:
        size = (math.prod(shape[:-1]), shape[-1])
        units = squares = None
        if values is not None:
            units = form.units(values, owner).reshape(size)
            squares = (units**2).sum(axis=1) - form.half
        dtype = int_dtype(form.bits)
        return _Side(
            mpc.input(units, owner=owner, shape=size, dtype=dtype, bound=form.reach),
            mpc.input(squares, owner=owner, shape=size[:1], dtype=dtype, bound=form.half),
        )


def _closest(
    form: _Form, database: _Side, query: _Side, index: bool, distance: bool
) -> tuple[SecretArray | None, SecretArray | None]:
    """Returns, for each query, the first nearest record and its squared distance; None for one that is not wanted."""
    scores = database.squares.reshape(-1, 1) - (database.rows @ query.rows.T) * 2
    best, place = first_smallest(scores, index)
    if not distance:
        return place, None
    far = best + query.squares + 2 * form.half
    if form.dtype.kind == "fixed":
        # A product by one unit makes fixed point of the same integers.
        far = far * far._session.constant(2.0 ** (-2 * form.dtype.frac), fixed(form.bits, 2 * form.dtype.frac))
    return place, far


def first_smallest(values: SecretArray, places: bool) -> tuple[SecretArray, SecretArray | None]:
    """Returns the smallest element of each column and, with `places`, the number of the first row that has it.

    It is a tournament, log2(rows) comparisons and selections deep. Of equal candidates the left one wins.
    """
    mpc, count = values._session, len(values)
    narrow = uint(max((count - 1).bit_length(), 1))
    standing: SecretArray | None = None
    while (rows := len(values)) > 1:
        pairs = rows // 2
        better = values[1 : 2 * pairs : 2] < values[0 : 2 * pairs : 2]
        left = [values[2 * pairs :]] if rows % 2 else []
        if places and standing is None:
            first = better.astype(narrow) + np.arange(0, 2 * pairs, 2)[:, None]
            last = np.full((rows % 2, values.shape[1]), rows - 1)
            standing = mpc.concatenate([first, last])
        elif standing is not None:
            chosen = mpc.where(better, standing[1 : 2 * pairs : 2], standing[0 : 2 * pairs : 2])
            standing = mpc.concatenate([chosen, standing[2 * pairs :]] if rows % 2 else [chosen])
        values = mpc.concatenate([mpc.where(better, values[1 : 2 * pairs : 2], values[0 : 2 * pairs : 2]), *left])
    if places and standing is None:
        standing = mpc.constant(np.zeros(values.shape, np.int64), narrow)
    return values[0], None if standing is None else standing[0]
