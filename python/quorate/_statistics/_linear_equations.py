"""Exact solution of small systems of linear equations, by minors.

By Cramer's rule x_i = det(A_i) / det(A), where A_i has the right side in place of column i. All these determinants are
minors of the matrix [A | b]. Laplace's expansion by rows gives minors of r + 1 rows from those of r: D(S) = sum over c
in S of +- a_rc D(S without c). So det(A) takes n 2^(n-1) products, and each right side about n 2^(n-1) more; they are n
deep. They are computed on integers, in the bits that their proven ranges take. Nothing is rounded before the one
division at the end, no matter how badly the matrix is conditioned, and no pivots are needed. Determinants that 104 bits
do not hold are refused.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._source import at
from quorate._statistics._ranges import in_room, reach, units, within_dtype
from quorate.dtypes import MOST_BITS, real
from quorate.errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["det", "inv", "solve"]

# The largest size of a matrix; the number of products, n 2^(n-1), is too large beyond it.
_MOST = 10

# Hints advise at least this many fractional bits of inputs.
_FEWEST_FRAC = 8

# Expressions with the same result, on numbers that are n times smaller.
_OF_MEANS = {
    "inv": "np.linalg.inv(X.T @ X / n) / n",
    "solve": "np.linalg.solve(X.T @ X / n, X.T @ y / n)",
}


def det(a: SecretArray) -> SecretArray:
    """Returns the determinant: of integers an integer, of fixed point rounded down to a multiple of 2^-16."""
    size = _square("det", a)
    if size == 0:
        return a._session.constant(1, a.dtype)
    whole = _whole(a)
    of_a = _magnitude(whole)
    _Room.of("det", a).check()
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
    whole, right = _whole(a), _whole(b.reshape(size, -1))
    down, up = max(b.dtype.frac - a.dtype.frac, 0), max(a.dtype.frac - b.dtype.frac, 0)
    room = _Room.of(what, a, b)
    most = room.check()
    whole, right = (in_room(f"numpy.linalg.{what}", x, max(most, _magnitude(x)), 0) for x in (whole, right))
    below, above = _minors(whole, right.T)
    signs = np.array([(-1) ** (size - 1 - i) << up for i in range(size)])
    # The minors without the last column come first.
    found = (above[:, ::-1] * signs) / (below * (1 << down))
    return found.T.reshape(b.shape)


def inv(a: SecretArray) -> SecretArray:
    """Returns the inverse, by `solve` for the unit matrix."""
    size = _square("inv", a)
    return solve(a, np.eye(size, dtype=np.int64), "inv")


@dataclasses.dataclass(frozen=True)
class _Room:
    """The size of the numbers that minors need.

    Attributes:
        what: the name of numpy's function.
        rows: the rows of the matrix.
        parts: for the matrix, and for a right side: fractional bits, the largest magnitude in units, and whether it is
            secret.
    """

    what: str
    rows: int
    parts: tuple[tuple[int, int, bool], ...]

    @staticmethod
    def of(what: str, *arrays: SecretArray) -> _Room:
        is_secret = arrays[0]._session._native.is_secret
        return _Room(
            what, len(arrays[0]), tuple((x.dtype.frac, _magnitude(_whole(x)), is_secret(x._node)) for x in arrays)
        )

    def most(self) -> tuple[int, int]:
        """Returns the largest magnitudes of the matrix's determinant, and of the numbers that it divides."""
        (frac, of_a, _), *right = self.parts
        below, above = of_a**self.rows, 0
        if right:
            (other, of_b, _), minors = right[0], of_a ** (self.rows - 1)
            below, above = below << max(other - frac, 0), minors * of_b << max(frac - other, 0)
        return math.factorial(self.rows) * below, math.factorial(self.rows) * above

    def bits(self) -> int:
        """Returns the bits of the largest number. Quotients by 1 or more have fractional bits beside the dividend's."""
        below, above = (most.bit_length() + 1 for most in self.most())
        return max(below, above + real.frac + 1) if len(self.parts) > 1 else below + real.frac

    def check(self) -> int:
        """Returns the largest magnitude of the computation.

        Raises:
            DtypeError: there is no room for it; the message names inputs for which there is.
        """
        if self.bits() <= MOST_BITS:
            return max(self.most())
        frac = max(f for f, _, secret in self.parts if secret)
        bound = max(math.ceil(units / 2**f) for f, units, secret in self.parts if secret)
        raise DtypeError(
            at(
                f"numpy.linalg.{self.what}: {self.rows} rows of magnitudes up to {bound} with {frac} fractional bits "
                f"take {self.bits()} bits, and dtypes have up to {MOST_BITS}: {self._instead(frac, bound)}"
            )
        )

    def _instead(self, frac: int, bound: int) -> str:
        """Describes inputs for which there is room: with smaller bounds, or with fewer fractional bits."""
        largest = {f: self._largest(f) for f in range(frac + 1)}
        said = []
        if largest[frac] >= 1:
            said.append(f"a bound up to mpc.input(..., bound={largest[frac]})")
        fewer = next((f for f in range(frac - 1, _FEWEST_FRAC - 1, -1) if largest[f] >= bound), frac)
        if fewer < frac:
            bits = next(b for b in (8, 16, 32, 64, MOST_BITS) if b > (bound << fewer).bit_length())
            said.append(f"fewer fractional bits, mpc.input(..., dtype=qr.fixed({bits}, {fewer}), bound={bound})")
        instead = "state " + " or ".join(said) if said else "solve smaller systems"
        if self.what not in _OF_MEANS:
            return instead
        return f"where the matrix is a sum over n rows, take its mean, {_OF_MEANS[self.what]}; else {instead}"

    def _largest(self, frac: int) -> int:
        """Returns the largest bound for which there is room with `frac` fractional bits; 0 if there is none."""

        def fits(bound: int) -> bool:
            parts = tuple((min(f, frac), bound << min(f, frac), True) if s else (f, u, s) for f, u, s in self.parts)
            return dataclasses.replace(self, parts=parts).bits() <= MOST_BITS

        bits = next(b for b in range(MOST_BITS) if not fits(1 << b))
        if bits == 0:
            return 0
        found = 1 << bits - 1
        for bit in range(bits - 2, -1, -1):
            found += 1 << bit if fits(found + (1 << bit)) else 0
        return found


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


def _whole(x: SecretArray) -> SecretArray:
    """Returns integers, or fixed point times 2^f, with a proven range."""
    return within_dtype(units(x))


def _magnitude(x: SecretArray) -> int:
    low, high = reach(x)
    return max(-low, high)


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
