"""Functions that move elements: numpy moves their positions, and the elements follow. All local."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from quorate import _source
from quorate._source import at
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Rearrangement", "moved", "shaped"]


def _numbered(values: list[Any]) -> list[np.ndarray]:
    """Returns an array of positions for each array, numbered from 1 on through all arrays."""
    numbered, taken = [], 1
    for value in values:
        size = int(np.prod(value.shape, dtype=np.int64))
        numbered.append(np.arange(taken, taken + size, dtype=np.int64).reshape(value.shape))
        taken += size
    if taken >= 1 << 32:
        raise ShapeError(at("arrays of 2**32 elements or more cannot be moved about"))
    return numbered


def moved(function: Callable[..., Any], arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a numpy function that only moves elements, and may insert zeros, to secret arrays.

    `arrays` is its first argument: one array, or a list of them, of which at least one is secret. The function may
    return one array, or several in a list or a tuple.
    """
    from quorate.array import SecretArray

    given = arrays if isinstance(arrays, list) else [arrays]
    secret = next(value for value in given if isinstance(value, SecretArray))
    values = [value if isinstance(value, SecretArray) else np.asarray(value) for value in given]
    try:
        places = function(_numbered(values) if isinstance(arrays, list) else _numbered(values)[0], *args, **kwargs)
    except (ValueError, IndexError) as error:
        raise ShapeError(at(f"{error}; shapes are {', '.join(str(tuple(v.shape)) for v in values)}")) from None
    flat = [secret.ravel()] if len(values) == 1 else [v.reshape(-1) for v in values]
    listed = places if isinstance(places, (list, tuple)) else [places]
    if all(np.asarray(p).size == 0 or np.asarray(p).min() > 0 for p in listed):
        row, first = (flat[0] if len(flat) == 1 else secret._session.concatenate(flat)), 1
    else:
        zero = np.zeros(1, bool if secret.dtype.kind == "bit" else np.int64)
        row, first = secret._session.concatenate([zero, *flat]), 0
    picked = [row[np.asarray(p) - first] for p in listed]
    return type(places)(picked) if isinstance(places, (list, tuple)) else picked[0]


def shaped(function: Callable[..., Any], shape: tuple[int, ...], *args: Any, **kwargs: Any) -> tuple[int, ...]:
    """Returns the shape of a numpy function's result for an array of this shape, without using memory for elements."""
    try:
        made: tuple[int, ...] = function(np.broadcast_to(np.int8(0), shape), *args, **kwargs).shape
    except (ValueError, TypeError) as error:
        raise ShapeError(at(f"{error}; the shape is {shape}")) from None
    return made


def _whole_numbers(what: str, given: tuple[Any, ...]) -> list[int]:
    """Returns sizes or axes, given one by one or as a sequence, as a list."""
    listed = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list, np.ndarray)) else given
    try:
        return [operator.index(n) for n in listed]
    except TypeError:
        raise ShapeError(at(f"{what} takes whole numbers, not {listed!r}")) from None


class Rearrangement:
    """The methods of `SecretArray` that move elements, as numpy's methods of the same names."""

    __slots__ = ()

    def _moved(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> SecretArray:
        return cast("SecretArray", moved(function, self, *args, **kwargs))

    def reshape(self, *shape: Any) -> SecretArray:
        """Returns the elements in another shape; one size of -1 is inferred. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.reshape(4, -1).shape, x.reshape(-1).reveal())
            (4, 1) [3 1 2 5]
        """
        wanted = _whole_numbers("reshape", shape)
        x = cast("SecretArray", self)
        return x._new(x._session._native.reshape(x._node, wanted, _source.line()))

    def transpose(self, *axes: Any) -> SecretArray:
        """Permutes the axes; reverses their order if none is named. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.transpose(1, 0)[0].reveal())
            [3 2]
        """
        named = None if axes in ((), (None,)) else _whole_numbers("transpose", axes)
        x = cast("SecretArray", self)
        return x._new(x._session._native.transpose(x._node, named, _source.line()))

    @property
    def T(self) -> SecretArray:
        """The transpose. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.T[0].reveal())
            [3 2]
        """
        return self.transpose()

    def ravel(self) -> SecretArray:
        """Returns the elements along one axis. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     x = mpc.input([[3, 1], [2, 5]], owner=0)
            ...     print(x.ravel().reveal())
            [3 1 2 5]
        """
        return cast("SecretArray", self).reshape(-1)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> SecretArray:
        """Removes all axes of size 1, or those that are named. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[[3], [1]]], owner=0).squeeze().reveal())
            [3 1]
        """
        x = cast("SecretArray", self)
        return x.reshape(shaped(np.squeeze, x.shape, axis))

    def swapaxes(self, axis1: int, axis2: int) -> SecretArray:
        """Exchanges two axes. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[3, 1]], owner=0).swapaxes(0, 1).shape)
            (2, 1)
        """
        x = cast("SecretArray", self)
        axes = list(range(x.ndim))
        shaped(np.swapaxes, x.shape, axis1, axis2)  # raises the error for wrong axes
        axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
        return x.transpose(axes)

    def repeat(self, repeats: Any, axis: int | None = None) -> SecretArray:
        """Repeats each element `repeats` times, along an axis or of the flattened array. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([3, 1], owner=0).repeat(2).reveal())
            [3 3 1 1]
        """
        return self._moved(np.repeat, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SecretArray:
        """Returns a diagonal: elements whose column is their row plus `offset`. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[3, 1], [2, 5]], owner=0).diagonal().reveal())
            [3 5]
        """
        return self._moved(np.diagonal, offset, axis1, axis2)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SecretArray:
        """Returns the sum of a diagonal. Local.

        Example:
            >>> import quorate as qr
            >>> with qr.local("rss") as mpc:
            ...     print(mpc.input([[3, 1], [2, 5]], owner=0).trace().reveal())
            8
        """
        return self.diagonal(offset, axis1, axis2).sum(axis=-1)
