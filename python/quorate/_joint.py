"""Functions of a session on several arrays, or on one and public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import _source
from quorate._network import lined_up
from quorate._source import at
from quorate.array import SecretArray
from quorate.dtypes import Dtype, check
from quorate.dtypes import int as int_dtype
from quorate.errors import DtypeError, ShapeError

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["Joint"]


class Joint:
    """What `Session` computes on arrays."""

    def _session(self) -> Session:
        return cast("Session", self)

    def _array(self, node: int) -> SecretArray:
        return SecretArray(self._session(), node)

    def where(self, condition: Any, x: Any, y: Any) -> SecretArray:
        """X where the condition's bit is 1, y elsewhere; 1 round after the condition.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([3, -5], owner=0)
            ...     print(mpc.where(x < 0, 0, x).reveal())
            [3 0]
        """
        bit, one, other = (self._session()._operand(value, "where") for value in (condition, x, y))
        return self._array(self._session()._native.select(bit, one, other, _source.line()))

    def minimum(self, x: Any, y: Any) -> SecretArray:
        """The smaller of x and y, element by element; a comparison and 1 round.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.minimum(mpc.input([3, -5], owner=0), 0).reveal())
            [ 0 -5]
        """
        return self._smaller("minimum", x, y, x, y)

    def maximum(self, x: Any, y: Any) -> SecretArray:
        """The larger of x and y, element by element; a comparison and 1 round.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.maximum(mpc.input([3, -5], owner=0), 0).reveal())
            [3 0]
        """
        return self._smaller("maximum", x, y, y, x)

    def _smaller(self, what: str, x: Any, y: Any, one: Any, other: Any) -> SecretArray:
        """`one` where x < y, `other` elsewhere."""
        if not isinstance(x, SecretArray) and not isinstance(y, SecretArray):
            raise DtypeError(at(f"{what}: neither operand is secret; use numpy's, or mpc.constant"))
        return self.where(x < y if isinstance(x, SecretArray) else y > x, one, other)

    def one_hot(self, index: SecretArray, depth: int) -> SecretArray:
        """Bits along a new last axis of `depth`: 1 at the position that `index` names, none where it is out of range.

        `depth` tests for equality side by side, for each element.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.one_hot(mpc.input([2, 0], owner=0), 3).reveal().astype(int))
            [[0 0 1]
             [1 0 0]]
        """
        if not isinstance(index, SecretArray) or index.dtype.kind == "fixed":
            raise DtypeError(at("one_hot takes a secret array of integers"))
        if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)) or depth < 0:
            raise ShapeError(at(f"one_hot: depth must be a whole number from 0 on, not {depth!r}"))
        whole = index.astype(int_dtype(64)) if index.dtype.kind == "bit" else index
        most = (1 << (whole.dtype.bits - (whole.dtype.kind == "int"))) - 1
        known = min(int(depth), most + 1)
        hot = whole.reshape(*whole.shape, 1) == np.arange(known)
        if known == depth:
            return hot
        return self.concatenate([hot, np.zeros((*whole.shape, int(depth) - known), bool)], axis=-1)

    def take(self, x: Any, index: SecretArray, axis: int | None = None) -> SecretArray:
        """The elements at secret positions along an axis, or of the flattened array; 0 where one is out of range.

        Every position is compared with all n of the axis, and a product with the resulting bits picks: the work is n
        for each element. Positions do not count from the end.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, i = mpc.input([30, 10, 20], owner=0), mpc.input([2, 0], owner=1)
            ...     print(mpc.take(x, i).reveal())
            [20 30]
        """
        if not isinstance(x, SecretArray):
            x = self._session().constant(x)
        lined, _ = lined_up(x, axis)
        count, rest = len(lined), lined.shape[1:]
        hot = self.one_hot(index, count).reshape(index.size, count)
        picked = hot @ lined.reshape(count, math.prod(rest))
        if x.dtype.kind == "bit":
            picked = picked != 0
        picked = picked.reshape(*index.shape, *rest)
        if axis is None or axis % x.ndim == 0:
            return picked
        at_front = list(range(index.ndim))
        moved = [index.ndim + d for d in range(len(rest))]
        place = axis % x.ndim
        return picked.transpose(*moved[:place], *at_front, *moved[place:])

    def concatenate(self, arrays: Sequence[Any], axis: int = 0) -> SecretArray:
        """Arrays one after another along an axis. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([1, 2], owner=0), mpc.input([3], owner=1)
            ...     print(mpc.concatenate([x, y, [4]]).reveal())
            [1 2 3 4]
        """
        return self._join(arrays, axis, stack=False)

    def stack(self, arrays: Sequence[Any], axis: int = 0) -> SecretArray:
        """Arrays side by side along a new axis. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x, y = mpc.input([1, 2], owner=0), mpc.input([3, 4], owner=1)
            ...     print(mpc.stack([x, y], axis=1).reveal())
            [[1 3]
             [2 4]]
        """
        return self._join(arrays, axis, stack=True)

    def _join(self, arrays: Sequence[Any], axis: int, stack: bool) -> SecretArray:
        what = "stack" if stack else "concatenate"
        parts = [self._session()._operand(array, what) for array in arrays]
        if not any(isinstance(array, SecretArray) for array in arrays):
            raise DtypeError(at(f"{what}: none of the arrays is secret; use numpy's, or mpc.constant"))
        return self._array(self._session()._native.join(parts, int(axis), stack, _source.line()))

    def from_bits(self, bits: SecretArray, dtype: Dtype) -> SecretArray:
        """Numbers from their bits along the last axis, lowest first: undoes `bits()`. 1 round.

        The last axis has as many elements as the dtype has bits; of fixed point they are those of x 2^f.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([5, -1], owner=0, dtype=qr.int(4))
            ...     print(mpc.from_bits(x.bits()[:, ::-1], qr.uint(4)).reveal())
            [10 15]
        """
        if not isinstance(bits, SecretArray):
            raise DtypeError(at("from_bits takes a secret array of bits"))
        parts = check(dtype).parts
        return self._array(self._session()._native.from_bits(bits._node, parts, _source.line()))
