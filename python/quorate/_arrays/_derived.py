"""Methods of secret arrays that are composed of simpler operations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from quorate import _source
from quorate._arrays import _prefix
from quorate._families import FAMILIES
from quorate._source import at
from quorate._statistics import _moments
from quorate._values._axes import Axes, lined_up, whole_axis
from quorate.dtypes import Dtype
from quorate.errors import ConfigError, RangeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Derived"]


class Derived:
    """The methods of `SecretArray` that are composed of its operators."""

    __slots__ = ()

    def _me(self) -> SecretArray:
        return cast("SecretArray", self)

    def __abs__(self) -> SecretArray:
        """Returns magnitudes, in a comparison and 1 round. The magnitude of the lowest integer wraps, as in numpy.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(abs(mpc.input([3, -5], owner=0)).reveal())
            [3 5]
        """
        x = self._me()
        return x if x.dtype.kind in ("bit", "uint") else x._session.where(x < 0, -x, x)

    def clip(self, min: Any = None, max: Any = None) -> SecretArray:
        """Limits values to `min` and `max`, each of which is public, secret or None; 2 comparisons deep.

        Rounds: rss 19, aby 14, spdz2k 15, pika 15.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7], owner=0).clip(0, 4).reveal())
            [3 0 4]
        """
        x = self._me()
        if min is not None:
            x = x._session.maximum(x, min)
        return x if max is None else x._session.minimum(x, max)

    def mean(self, axis: Axes = None, keepdims: bool = False, *, dtype: Dtype | None = None) -> SecretArray:
        """Returns the mean over one, several or all axes, rounded down to a multiple of 2^-f.

        The mean of integers and bits is a real, rounded down to a multiple of 2^-16. Their sums never wrap, since they
        get enough bits for the elements' range; without a `bound=` this takes a conversion of each element. Sums of
        fixed point wrap if they do not fit the dtype; the number of elements need not fit it. With `dtype=` the
        elements convert first.

        The mean costs as much as `sum() // n`: a truncation where n is a power of two, otherwise a conversion into a
        wider ring and a truncation.

        Rounds: rss 26, aby 20, spdz2k 22, pika 22. This is for 1000 elements; 1024 take fewer.

        Raises:
            DtypeError: the sum of integers takes more than 104 bits.
            ShapeError: there are no elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[1.5, 2.0], [4.5, 3.0]], owner=0).mean(axis=0).reveal())
            ...     print(mpc.input([1, 2, 4, 6], owner=0).mean().reveal())
            [3.  2.5]
            3.25
        """
        x = self._me()._typed(dtype)
        if x.dtype.kind != "fixed":
            return _moments.mean(x, axis, keepdims)
        return x._reduce("mean", axis, keepdims)

    def round(self, decimals: int = 0) -> SecretArray:
        """Rounds to whole numbers, halves to even as in numpy, in the same dtype. Integers and bits stay as they are.

        For fixed point it takes the most significant bit of f + 1 bits, as a comparison does, and then a truncation.

        Rounds: rss 20, aby 16, spdz2k 16, pika 16.

        Raises:
            RangeError: `decimals` is not 0: fixed point is binary. `(x * 100).round()` rounds hundredths.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([2.5, 3.5, -0.75, 1.25], owner=0).round().reveal())
            [ 2.  4. -1.  1.]
        """
        if decimals is not None and operator.index(decimals) != 0:
            raise RangeError(at(f"round: decimals must be 0, not {decimals}: (x * 100).round() rounds hundredths"))
        x = self._me()
        return x if x.dtype.frac == 0 else x._new(x._session._native.round(x._node, _source.line()))

    def __round__(self, ndigits: int | None = None) -> SecretArray:
        return self.round(0 if ndigits is None else ndigits)

    def cumsum(self, axis: int | None = None, *, dtype: Dtype | None = None) -> SecretArray:
        """Returns cumulative sums along an axis or of the flattened array. Local (of bits: 1 round).

        They have the elements' dtype and wrap in its k bits, as `sum` does; with `dtype=` the elements convert first.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1. This is for bits; sums of numbers are local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7], owner=0).cumsum().reveal())
            [ 3 -2  5]
        """
        x = self._me()._typed(dtype)
        wanted = whole_axis("cumsum", axis)
        return x._new(x._session._native.cumsum(x._node, wanted, _source.line()))

    def cumprod(self, axis: int | None = None, *, dtype: Dtype | None = None) -> SecretArray:
        """Returns cumulative products along an axis or of the flattened array; log2(n) products deep.

        They have the elements' dtype and wrap in its k bits, as `prod` does; with `dtype=` the elements convert first.
        It takes n log2(n) / 2 products in all. `np.maximum.accumulate(x)` works in the same way.

        Rounds: rss 10, aby 10, spdz2k 10, pika 10 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7], owner=0).cumprod().reveal())
            [   3  -15 -105]
        """
        x = self._me()._typed(dtype)
        x = x.astype(x._session._whole) if x.dtype.kind == "bit" else x
        return _prefix.scanned("cumprod", operator.mul, x, axis)

    def assert_one_hot(self, axis: int = -1) -> SecretArray:
        """Returns the integers with a proof that, in each row along an axis, one element is 1 and all others are 0.

        Where parties may cheat (`spdz2k`, malicious `pika`), the owner of the inputs proves this. Later inputs of the
        program are sent only after the proof was checked. It takes a product for each element, two rounds, and a check.
        Rows that are computed from inputs of several owners are refused. So are rows of party 2 of `pika`, which deals
        the correlations. In semi-honest protocols nothing is proven, and it costs nothing.

        Use the returned array: the proof runs where a result needs it, and delays later inputs of the same request
        until then. The rows of the original array remain unproven.

        Raises:
            CheatingDetected: during the run: a row is not one-hot. An owner's mistake raises it, too.
            ConfigError: the rows are an input of the dealing party; or, during the run, no single party can prove them.
            DtypeError: the elements are not integers.
            ShapeError: rows are empty, or have more elements than the dtype has values.

        Example:
            >>> import quorate as qr
            >>> with qr.local("spdz2k") as mpc:
            ...     choice = mpc.input([[0, 1, 0], [1, 0, 0]], owner=0).assert_one_hot()
            ...     x = mpc.input([5, 7, 9], owner=1)
            ...     print((choice @ x).reveal())
            [7 5]
        """
        x = self._me()
        proven = x._new(x._session._native.assert_one_hot(x._node, operator.index(axis), _source.line()))
        return x if proven._node == x._node else proven

    def as_factor(self) -> SecretArray:
        """Returns the array as a factor: numbers, such as weights, that a session multiplies by many times.

        With semi-honest `pika`, a product by a factor sends only the other operand. The masked factor is sent and
        opened once, in the first product that needs it. While the factor lives, party 2 keeps its mask, and parties 0
        and 1 keep the opened values.

        This applies to products of matrices, convolutions, and element-wise products of up to some thousand elements,
        in the array's own dtype. Slices, transposes (except by `qr.nn.linear`) and conversions by `astype` of a factor
        are not factors. If a product is cut along a factor for lack of memory, the pieces of the factor are not
        factors, either. Reals with neither a dtype nor a bound are multiplied in a larger dtype, so state one of them.
        In other protocols, for bits, and under `max_memory=`, the array itself is returned.

        Rounds: pika 1, when it is first needed.

        Example:
            >>> import quorate as qr
            >>> with qr.local("pika") as mpc:
            ...     w = mpc.input([[1, 2], [3, 4]], owner=0).as_factor()
            ...     for question in ([1, 1], [2, 0]):
            ...         print((mpc.input(question, owner=1) @ w).reveal())
            [4 6]
            [2 4]
        """
        x = self._me()
        factor = x._new(x._session._native.as_factor(x._node, _source.line()))
        return x if factor._node == x._node else factor

    def _is_factor(self) -> bool:
        """Whether the array is a factor, of which products send nothing."""
        return bool(self._me()._session._native.is_factor(self._me()._node))

    def bits(self) -> SecretArray:
        """Returns the k bits of each element along a new last axis, lowest first; of fixed point the bits of x 2^f.

        Negative numbers are in two's complement. It takes about log2(k) rounds.

        Rounds: rss 8, aby 7, spdz2k 7, pika 7.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([5, -1], owner=0, dtype=qr.int(4)).bits().reveal().astype(int))
            [[1 0 1 0]
             [1 1 1 1]]
        """
        x = self._me()
        return x._new(x._session._native.bits(x._node, _source.line()))

    def _folded(self, name: str, op: Callable[[Any, Any], Any], axis: int | None, keepdims: bool) -> SecretArray:
        """Reduces an axis by `op` as a tree: halves are combined until one element is left."""
        x = self._me()
        rows, _ = lined_up(name, x, axis)
        if len(rows) == 0:
            return x._reduce(name, axis, keepdims)  # raises the error for an empty axis
        while len(rows) > 1:
            half = len(rows) // 2
            met = op(rows[:half], rows[half : 2 * half])
            rows = met if len(rows) % 2 == 0 else x._session.concatenate([met, rows[2 * half :]])
        if not keepdims:
            return rows[0]
        kept = None if axis is None else axis % x.ndim
        return rows.reshape([1 if kept in (None, d) else n for d, n in enumerate(x.shape)])

    def to(self, sharing: str) -> SecretArray:
        """Converts the values to the sharing "A" (arithmetic), "B" (Boolean) or "Y" (Yao).

        In A the parties hold summands in Z_2^k, in B xor shares of bits, in Y labels of garbled circuits.

        An operation whose secret operands were all put into one sharing by `to` runs in that sharing, if the sharing
        supports it. For other operations the planner, which predicts costs, chooses a sharing. Under `max_memory=`
        everything stays in A.

        Rounds: about log2(k) from A to B, 1 back, 2 messages into Y; none where the values are in the sharing already.

        Raises:
            ConfigError: the name is unknown, or the session's protocol does not have the sharing.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     print((x.to("A") + 1).reveal())
            [ 4 -4]
        """
        x = self._me()
        having = [name for name, family in FAMILIES.items() if sharing in family.sharings]
        if having and x._session.protocol not in having:
            others = " or ".join(f'qr.local("{name}")' for name in having)
            raise ConfigError(at(f'the protocol "{x._session.protocol}" has no sharing "{sharing}": use {others}'))
        return x._new(x._session._native.to(x._node, str(sharing), _source.line()))
