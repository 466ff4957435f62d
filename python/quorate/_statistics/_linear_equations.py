"""Exact solution of small systems of linear equations, by minors.

By Cramer's rule x_i = det(A_i) / det(A), where A_i has the right side in place of column i. All these determinants are
minors of the matrix [A | b]. Laplace's expansion by rows gives minors of r + 1 rows from those of r: D(S) = sum over c
in S of +- a_rc D(S without c). So det(A) takes n 2^(n-1) products, and each right side about n 2^(n-1) more; they are n
deep. They are computed on integers, in the bits that their proven ranges take. Nothing is rounded before the one
division at the end, no matter how badly the matrix is conditioned, and no pivots are needed. Matrices whose minors and
quotients take more than 120 bits are refused (`_minors_room`).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._source import at
from quorate._statistics._minors_room import check_room, magnitude, whole_of
from quorate._statistics._ranges import in_room
from quorate.dtypes import real
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["det", "inv", "solve"]

# The largest size of a matrix; the number of products, n 2^(n-1), is too large beyond it.
_MOST = 10


def det(a: SecretArray) -> SecretArray:
    """Returns the determinant: of integers an integer, of fixed point rounded down to a multiple of 2^-16."""
    size = _square("det", a)
    if size == 0:
        return a._session.constant(1, a.dtype)
    whole = whole_of(a)
    of_a = magnitude(whole)
    check_room("det", a)
    whole = in_room("numpy.linalg.det", whole, max(math.factorial(size) * of_a**size, of_a))
    exact = _minors(whole, whole[:0])[0].reshape(())
    return _scaled(exact, size * a.dtype.frac) if a.dtype.frac else exact


def solve(a: Any, b: Any, what: str = "solve") -> SecretArray:
    """Solves a @ x = b, for b of one axis, or of two axes with a system in each column."""
    a, b = _both(a, b)
    size = _square(what, a)
    if b.ndim not in (1, 2) or len(b) != size:
        raise ShapeError(at(f"numpy.linalg.solve: shapes {a.shape} and {b.shape}: b is ({size},) or ({size}, m)"))
    if 0 in b.shape:
        return b.astype(real)
    whole, right = whole_of(a), whole_of(b.reshape(size, -1))
    down, up = max(b.dtype.frac - a.dtype.frac, 0), max(a.dtype.frac - b.dtype.frac, 0)
    most = check_room(what, a, b)
    whole, right = (in_room(f"numpy.linalg.{what}", x, max(most, magnitude(x)), 0) for x in (whole, right))
    below, above = _minors(whole, right.T)
    signs = np.array([(-1) ** (size - 1 - i) << up for i in range(size)])
    # The minors without the last column come first. A solution stands in a column, whose digits are judged together.
    found = (above[:, ::-1] * signs).T / (below * (1 << down))
    return found.reshape(b.shape)


def inv(a: SecretArray) -> SecretArray:
    """Returns the inverse, by `solve` for the unit matrix."""
    size = _square("inv", a)
    return solve(a, np.eye(size, dtype=np.int64), "inv")


def _both(a: Any, b: Any) -> tuple[SecretArray, SecretArray]:
    from quorate.array import SecretArray

    mpc = next(v for v in (a, b) if isinstance(v, SecretArray))._session
    one, other = (v if isinstance(v, SecretArray) else mpc.constant(v) for v in (a, b))
    return one, other


def _square(what: str, a: SecretArray) -> int:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(at(f"numpy.linalg.{what} of a secret takes one square matrix, not shape {a.shape}"))
    if len(a) > _MOST:
        raise ShapeError(
            at(f"numpy.linalg.{what} of a secret takes up to {_MOST} rows, not {len(a)}: it works by minors")
        )
    return len(a)


def _minors(a: SecretArray, right: SecretArray) -> tuple[SecretArray, SecretArray]:
    """Returns det(a) and, for each right side b, the determinants of [a without column i | b], from the last i down.

    Rows of `right` are right sides. Minors are indexed by their columns, in the order of `itertools.combinations`;
    where b is a column, it is the last one. Each expansion adds the last row, so a column's sign follows from the
    number of columns behind it.
    """
    without, with_it = a[0], right[:, :1]
    for row in range(1, len(a)):
        own = right[:, row : row + 1] * without
        with_it = _expanded(a[row], with_it, row, row) + own if len(right) else right[:, :0]
        without = _expanded(a[row], without, row + 1, row)
    return without, with_it


def _expanded(row: SecretArray, known: SecretArray, columns: int, place: int) -> SecretArray:
    """Returns minors with one more row, from the `known` ones along the last axis, for all sets of `columns` columns.

    `place` is the position of the last column in a minor of all these rows, which determines signs.
    """
    size = len(row)
    smaller = {found: i for i, found in enumerate(itertools.combinations(range(size), columns - 1))}
    sets = list(itertools.combinations(range(size), columns))
    rest = np.array([[smaller[s[:i] + s[i + 1 :]] for i in range(columns)] for s in sets])
    signs = np.array([(-1) ** (place - i) for i in range(columns)])
    return (row[np.array(sets)] * known[..., rest] * signs).sum(axis=-1)


def _scaled(x: SecretArray, frac: int) -> SecretArray:
    """Returns an integer divided by 2^frac, rounded down to a multiple of 2^-16."""
    drop = frac - real.frac
    return (x >> drop).astype(real) / (1 << real.frac) if drop >= 0 else x.astype(real) / (1 << frac)
