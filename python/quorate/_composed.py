"""Methods of secret arrays that are made of simpler operations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from quorate import _network, _scans, _source
from quorate._families import FAMILIES
from quorate._public import whole_axis
from quorate._source import at
from quorate._summaries import Axes
from quorate.dtypes import Dtype
from quorate.errors import ConfigError, RangeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Composed"]


class Composed:
    """What `SecretArray` adds to its operators."""

    __slots__ = ()

    def _me(self) -> SecretArray:
        return cast("SecretArray", self)

    def __abs__(self) -> SecretArray:
        """Magnitudes: a comparison and 1 round. That of the lowest integer wraps, as numpy's does.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(abs(mpc.input([3, -5], owner=0)).reveal())
            [3 5]
        """
        x = self._me()
        return x if x.dtype.kind in ("bit", "uint") else x._session.where(x < 0, -x, x)

    def clip(self, min: Any = None, max: Any = None) -> SecretArray:
        """Values no lower than `min` and no higher than `max`, each public, secret or None; 2 comparisons deep.

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
        """Mean over an axis or all, rounded down to a multiple of 2^-f; of integers and bits a real, 2^-16.

        Of fixed point the sum must fit the dtype, or it wraps; their number need not. Of integers nothing wraps: sums
        get the bits that the elements' range takes, which without a `bound=` is a conversion for each. With `dtype=`
        the elements convert first. Costs what `sum() // n` does: a truncation for 2^m elements, a conversion into a
        wider ring more for other numbers.

        Rounds: rss 26, aby 20, spdz2k 22, pika 22. Of 1000; of 1024 fewer.

        Raises:
            DtypeError: integers whose sum takes more than 104 bits.
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
            from quorate import _exact

            return _exact.mean(x, axis, keepdims)
        return x._reduce("mean", axis, keepdims)

    def round(self, decimals: int = 0) -> SecretArray:
        """Rounded to whole numbers, halves to the even one as in numpy; the dtype stays. Integers and bits as they are.

        Of fixed point: an MSB of f + 1 bits and a truncation, in turn.

        Rounds: rss 20, aby 16, spdz2k 16, pika 16.

        Raises:
            RangeError: `decimals` is not 0: the digits of fixed point are binary. `x * 100` rounds hundredths.

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
        """Sums of all elements up to each, along an axis or of the flattened array. Local (of bits: 1 round).

        They have the elements' dtype and wrap in its k bits, as `sum` does; with `dtype=` the elements convert first.

        Rounds: rss 1, aby 1, spdz2k 1, pika 1. Of bits; of numbers it is local.

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
        """Products of all elements up to each, along an axis or of the flattened array: log2(n) products deep.

        They have the elements' dtype and wrap in its k bits, as `prod` does; with `dtype=` the elements convert first.
        n log2(n) / 2 products in all. `np.maximum.accumulate(x)` is made in this way, too.

        Rounds: rss 10, aby 10, spdz2k 10, pika 10 for 1000 elements.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, -5, 7], owner=0).cumprod().reveal())
            [   3  -15 -105]
        """
        x = self._me()._typed(dtype)
        x = x.astype(x._session._whole) if x.dtype.kind == "bit" else x
        return _scans.scanned("cumprod", operator.mul, x, axis)

    def assert_one_hot(self, axis: int = -1) -> SecretArray:
        """The same integers, of which one in each row along an axis is 1 and all others are 0: a choice of one.

        Where parties may cheat (`spdz2k`, malicious `pika`) this is proven by whoever input the numbers, and what is
        input behind it in the program is not sent before the proof was checked. It takes a product for each element,
        two rounds, and a check. Rows that are computed from inputs of several owners are refused, and so are those of
        the party of `pika` that deals (2). Where all follow the protocol it costs nothing.

        Use the array that this returns: the proof runs where a result needs it, and holds back what is input behind it
        in the same request. The rows of the array before it are not proven.

        Raises:
            CheatingDetected: when it runs: a row is something else, for a mistake, too.
            ConfigError: who deals input the rows; when it runs: nobody can prove them.
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
        node = x._session._native.assert_one_hot(x._node, operator.index(axis), _source.line())
        return x if node == x._node else x._new(node)

    def as_factor(self) -> SecretArray:
        """The same numbers, by which products are to be taken again and again: weights that a session holds.

        On semi-honest `pika` a product by the array that this returns sends the other operand alone. What products
        would send of these numbers is sent when it is first needed (the elements); party 2 keeps a mask of theirs, and
        parties 0 and 1 what was opened below it, as long as the array lives. That holds for products of matrices,
        convolutions, and element-wise products of up to some thousand elements, in the array's own dtype: what is made
        of it by slicing, transposing (but by `qr.nn.linear`) or `astype` is none, nor are its pieces where memory has a
        product cut along it. Reals with neither a dtype nor a bound are multiplied in a larger dtype, so state one.
        Elsewhere, of bits, and under `max_memory=`, it is the array itself.

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
        node = x._session._native.as_factor(x._node, _source.line())
        return x if node == x._node else x._new(node)

    def _is_factor(self) -> bool:
        """Whether products by it send nothing of it."""
        return bool(self._me()._session._native.is_factor(self._me()._node))

    def bits(self) -> SecretArray:
        """The k bits of each element along a new last axis, lowest first; of fixed point, those of x 2^f.

        Negative numbers are in two's complement. About log2(k) rounds.

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
        """`op` between all elements of an axis: halves meet until one is left."""
        x = self._me()
        rows, _ = _network.lined_up(name, x, axis)
        if len(rows) == 0:
            return x._reduce(name, axis, keepdims)  # which says that there is no value
        while len(rows) > 1:
            half = len(rows) // 2
            met = op(rows[:half], rows[half : 2 * half])
            rows = met if len(rows) % 2 == 0 else x._session.concatenate([met, rows[2 * half :]])
        if not keepdims:
            return rows[0]
        kept = None if axis is None else axis % x.ndim
        return rows.reshape([1 if kept in (None, d) else n for d, n in enumerate(x.shape)])

    def to(self, sharing: str) -> SecretArray:
        """The same values in the sharing "A" (arithmetic), "B" (Boolean) or "Y" (Yao), where a protocol has several.

        Steps whose secret operands are all in one sharing by `to` stay in it, as far as it has them; elsewhere the
        planner decides. Under `max_memory=` everything stays in A.

        Rounds: about log2(k) from A to B, 1 back, 2 messages into Y; none where the values are in it already.

        Raises:
            ConfigError: another name, or a sharing that the session's protocol has not.

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
