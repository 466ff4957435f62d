"""Methods of secret arrays that summarise many numbers: positions of extremes, products, powers, variances, medians."""

from __future__ import annotations

import fractions
import numbers
import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate._display._text_tables import counted
from quorate._sorting import _selection
from quorate._source import at
from quorate._statistics import _moments
from quorate._values._axes import Axes, lined_up, one_axis
from quorate.errors import DtypeError, RangeError, ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Summaries"]

# A float next to a fraction with a denominator up to this is read as that fraction.
_SIMPLE = 1000


class Summaries:
    """The reductions of `SecretArray` besides sums and extremes."""

    __slots__ = ()

    def _all(self) -> SecretArray:
        return cast("SecretArray", self)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> SecretArray:
        """Returns the index of the first maximum, as int(64); log2(n) comparisons deep.

        Rounds: rss 100, aby 70, spdz2k 80, pika 80 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.argmax().reveal(), x.argmax(axis=0).reveal())
            3 [0 1]
        """
        return self._all()._reduce("argmax", axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> SecretArray:
        """Returns the index of the first minimum, as int(64); log2(n) comparisons deep.

        Rounds: rss 100, aby 70, spdz2k 80, pika 80 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.argmin().reveal(), x.argmin(axis=0).reveal())
            1 [1 0]
        """
        return self._all()._reduce("argmin", axis, keepdims)

    def __pow__(self, exponent: Any, modulus: Any = None) -> SecretArray:
        """Raises to a public whole power by squaring: `x ** 3` is two products deep. Results wrap in the dtype.

        Rounds: rss 2, aby 2, spdz2k 2, pika 2.

        Raises:
            DtypeError: the exponent is secret, or not a whole number from 0 on.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3, -2], owner=0) ** 3).reveal())
            [27 -8]
        """
        x = self._all()
        if modulus is not None or not isinstance(exponent, numbers.Real):
            raise DtypeError(at("** takes one public whole number: multiply, or see apps.powmod for secret exponents"))
        if exponent < 0 or float(exponent) % 1 != 0:
            raise DtypeError(at(f"** takes a whole number from 0 on, not {exponent}: qr.sqrt, qr.rsqrt, qr.reciprocal"))
        wanted = int(float(exponent))
        if wanted == 0:
            return x._session.constant(np.ones(x.shape, np.int64), x.dtype)
        power = x
        for digit in f"{wanted:b}"[1:]:
            power = power * power
            power = power * x if digit == "1" else power
        return power

    def prod(
        self, axis: Axes = None, keepdims: bool = False, *, dtype: Any = None, initial: Any = None, where: Any = True
    ) -> SecretArray:
        """Returns the product over one, several or all axes; log2(n) products deep.

        Results wrap in the k bits of the dtype. The product of no elements is 1.

        Rounds: rss 10, aby 10, spdz2k 10, pika 10 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[3, 1], [2, 5]], owner=0).prod(axis=0).reveal())
            [6 5]
        """
        x = self._all()._typed(dtype)
        x = x.astype(x._session._whole) if x.dtype.kind == "bit" else x
        product = self._of(x._which(where, 1), "prod", operator.mul, axis, keepdims, 1)
        return product if initial is None else product * initial

    def _which(self, where: Any, nothing: int) -> SecretArray:
        """Returns the elements that public or secret bits select, and `nothing` in place of the others."""
        x = self._all()
        return x if where is True else x._session.where(where, x, nothing)

    def any(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns a bit: whether any element is not zero.

        It takes log2(n) rounds. Numbers take a test for equality with 0 first.

        Rounds: rss 10, aby 10, spdz2k 10, pika 10 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3, -5], owner=0) < 0).any().reveal())
            True
        """
        return self._of(self._truth(), "any", operator.or_, axis, keepdims, 0)

    def all(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns a bit: whether no element is zero.

        It takes log2(n) rounds. Numbers take a test for equality with 0 first.

        Rounds: rss 10, aby 10, spdz2k 10, pika 10 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print((mpc.input([3, -5], owner=0) < 0).all().reveal())
            False
        """
        return self._of(self._truth(), "all", operator.and_, axis, keepdims, 1)

    def _truth(self) -> SecretArray:
        x = self._all()
        return x if x.dtype.kind == "bit" else x != 0

    @staticmethod
    def _of(x: SecretArray, what: str, op: Any, axis: Axes, keepdims: bool, nothing: int) -> SecretArray:
        """Reduces axes by `op`; returns `nothing` for axes without elements."""
        if isinstance(axis, tuple):
            return one_axis(what, x, axis, keepdims, lambda y: Summaries._of(y, what, op, -1, False, nothing))
        rows, _ = lined_up(what, x, axis)
        if len(rows):
            return x._folded(what, op, axis, keepdims)
        empty = x._session.constant(np.full(rows.shape[1:], nothing), x.dtype)
        kept = None if axis is None else operator.index(axis) % x.ndim
        return empty.reshape([1 if kept in (None, d) else n for d, n in enumerate(x.shape)]) if keepdims else empty

    def var(self, axis: Axes = None, keepdims: bool = False, *, ddof: int = 0, dtype: Any = None) -> SecretArray:
        """Returns the variance: the sum of squared deviations from the mean, divided by n - ddof.

        For fixed point the mean is rounded down to a multiple of 2^-f, so each deviation is off by less than 2^-f.
        Squares and the quotient are rounded, too. The squares, and their sum, must fit the dtype. For integers and bits
        the result is a real: the exact variance, rounded down to a multiple of 2^-16.

        Rounds: rss 63, aby 49, spdz2k 54, pika 54.

        Integers convert to reals first where n^2 times the largest square may take more than 103 bits, as with int(64)
        without `bound=`. Numbers beyond 2^43 then raise `RangeError` in a local session; in a deployment a
        `RangeWarning` says that they may wrap.

        Raises:
            ShapeError: there are `ddof` elements or fewer.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([1.0, 2.0, 6.0], owner=0)
            ...     print(x.var().reveal().round(3), x.var(ddof=1).reveal())
            4.667 7.0
        """
        x = self._all()._typed(dtype)
        if x.dtype.kind != "fixed":
            return _moments.var(x, axis, keepdims, operator.index(ddof))
        off = x - x.mean(axis, keepdims=True)
        squares = (off * off).sum(axis, keepdims)
        count = x.size // max(squares.size, 1)
        if count <= ddof:
            raise ShapeError(at(f"var: of {counted(count, 'element')} there is no variance where ddof is {ddof}"))
        return squares / (count - ddof)

    def std(self, axis: Axes = None, keepdims: bool = False, *, ddof: int = 0, dtype: Any = None) -> SecretArray:
        """Returns the standard deviation, the root of `var`, within 2 units of 2^-f (of 2^-16 if f is larger than 16).

        It is computed as the root of the sum of squared deviations, divided by the root of n - ddof. Two cases take the
        root of the rounded `var` instead, which is coarse below 0.01. One is a stated dtype without `bound=` whose
        squares have no room in 103 bits. The other is rings of 32 bits (`mac=48`).

        Rounds: rss 108, aby 90, spdz2k 96, pika 96.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([2.0, 4.0, 4.0, 6.0], owner=0).std(ddof=1).reveal().round(3))
            1.633
        """

        return _moments.std(self._all()._typed(dtype), axis, keepdims, operator.index(ddof))

    def ptp(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns the largest element less the smallest. `max` and `min` run in parallel.

        Rounds: rss 100, aby 70, spdz2k 80, pika 80 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7], owner=0).ptp().reveal())
            12
        """
        x = self._all()
        return x.max(axis, keepdims) - x.min(axis, keepdims)

    def quantile(self, q: Any, axis: Axes = None, keepdims: bool = False, *, method: str = "linear") -> SecretArray:
        """Returns the quantiles at public q from 0 to 1, linear between neighbours as in numpy.

        Several q give results along new first axes.

        It sorts only as far as necessary, as `partition` does. Between two elements of fixed point the error is at most
        2^-f. For integers the result is the element itself where q falls on one. Between two integers it is a real
        within 2^-16, also for fractions such as 1/3. If q has more digits than there is room for, it is rounded to the
        nearest fraction that has room. For int(64) without a `bound=` this moves the result by at most 2^-38 of the
        distance between the two integers.

        Rounds: rss 169, aby 135, spdz2k 537, pika 138 for 1000 elements.

        Raises:
            RangeError: q is below 0 or above 1, or the method is not "linear".
            ShapeError: there are no elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([4.0, 1.0, 3.0], owner=0).quantile([0.5, 0.75]).reveal())
            [3.  3.5]
        """
        x = self._all()
        if method != "linear":
            raise RangeError(at(f"quantile: the method is 'linear', not {method!r}: x.partition(k)[k] is an element"))
        if isinstance(axis, tuple):
            reduced = one_axis("quantile", x, axis, False, lambda rows: rows.quantile(q, -1))
            gone = [a % x.ndim for a in axis]
            kept_sizes = [1 if a in gone else n for a, n in enumerate(x.shape)]
            return reduced.reshape([*np.shape(q), *kept_sizes]) if keepdims else reduced
        rows, _ = lined_up("quantile", x, axis)
        if len(rows) == 0:
            raise ShapeError(at("quantile: there are no elements"))
        places = [self._place(one, len(rows)) for one in np.ravel(q).tolist()]
        needed = [k for below, part in places for k in (below, below + bool(part))]
        ordered = _selection.partitioned("quantile", [rows], needed)[0]
        found = [self._between(ordered, below, part) for below, part in places]
        if keepdims:
            kept = None if axis is None else operator.index(axis) % x.ndim
            found = [y.reshape([1 if kept in (None, d) else n for d, n in enumerate(x.shape)]) for y in found]
        if np.ndim(q) == 0:
            return found[0]
        several: SecretArray = x._session.stack(found)
        return several if np.ndim(q) == 1 else several.reshape([*np.shape(q), *several.shape[1:]])

    @staticmethod
    def _place(q: float, count: int) -> tuple[int, fractions.Fraction]:
        """Returns the index of the element below the quantile, and the exact fraction of the way to the next.

        The positions are numpy's, but exact: 0.1 counts as one tenth, and 1 / 3 as one third, not as the nearest float.
        """
        if not 0 <= q <= 1:
            raise RangeError(at(f"quantile: q is from 0 to 1, not {q}"))
        near = fractions.Fraction(q).limit_denominator(_SIMPLE)
        place = (near if float(near) == q else fractions.Fraction(repr(q))) * (count - 1)
        return int(place), place - int(place)

    @staticmethod
    def _between(ordered: SecretArray, below: int, part: fractions.Fraction) -> SecretArray:
        if part == 0:
            return ordered[below]
        low, high = ordered[below], ordered[below + 1]
        if low.dtype.kind == "fixed":
            return low + (high - low) * float(part)

        return _moments.between("quantile", low, high, part)

    def median(self, axis: Axes = None, keepdims: bool = False) -> SecretArray:
        """Returns the middle element, or the mean of the two middle ones; the same as `quantile(0.5)`.

        Rounds: rss 160, aby 128, spdz2k 449, pika 130 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([4, 1, 3], owner=0).median().reveal())
            3
        """
        return self.quantile(0.5, axis, keepdims)
