"""Backends that run a model's program: over secret arrays in a session, or over numpy arrays in the clear.

A program is written once. It uses `@ <= > == & ^ ~`, `reshape`, `T`, slicing and `argmax`, which both kinds of array
have; all other operations are those of a backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from quorate._clear import _kernels as kernels
from quorate.errors import RangeError
from quorate.models._numerics import Integers

Array = Any

_FUNCTIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}  # scikit-learn's names, and this package's


class Backend(Protocol):
    """The operations of a program beyond the operators of its arrays."""

    def keep(self, name: str, share: Callable[[], Array]) -> Array:
        """Returns a parameter of the model, which `share` inputs at its first use in a session."""

    def integers(self, values: Any, owner: int, shape: tuple[int, ...], bits: int, bound: int) -> Array:
        """Inputs secret integers of `bits` bits, at most `bound` in magnitude."""

    def factor(self, array: Array) -> Array:
        """Returns the array as a factor of many products."""

    def units(self, values: Any, owner: int, shape: tuple[int, ...], fraction: int, bound: int) -> Array:
        """Inputs secret 64-bit numbers with `fraction` fractional bits.

        `values` and `bound` are in units of 2**-fraction.
        """

    def bits(self, values: Any, owner: int, shape: tuple[int, ...]) -> Array:
        """Inputs secret bits."""

    def one_hot(self, rows: Array) -> Array:
        """Returns rows in which one element is 1 and all others are 0, with a proof of this where parties may cheat."""

    def stack(self, arrays: list[Array], axis: int) -> Array:
        """Joins along a new axis."""

    def concatenate(self, arrays: list[Array]) -> Array:
        """Joins along the first axis."""

    def product(self, left: Array, right: Array, bound: int) -> Array:
        """Returns the matrix product; `bound` follows from its operands' bounds, and is checked in the clear."""

    def turned_product(self, left: Array, right: Array, bound: int) -> Array:
        """Returns the matrix product with the transposed `right`, which may be a factor."""

    def as_integers(self, bits: Array, width: int) -> Array:
        """Returns bits as the integers 0 and 1 of `width` bits."""

    def counts(self, units: Array, matrix: Integers, offset: Integers, bound: int) -> Array:
        """Returns `units @ matrix + offset` with a public matrix; results are between 0 and `bound`."""

    def largest(self, rows: Array, k: int) -> Array:
        """Returns the k-th largest of each row, (rows, 1)."""

    def shift_right(self, array: Array, bits: int) -> Array:
        """Returns units divided by 2**bits, rounded down exactly."""

    def activation(self, name: str, array: Array, fraction: int) -> Array:
        """Applies `"relu"` or `"identity"`, or with 16 fractional bits `"tanh"` or `"logistic"`."""


class Secret:
    """The backend over a session's secret arrays, for a model or for a shape that stands for one."""

    def __init__(self, mpc: Any, model: Any, model_owner: int) -> None:
        import quorate

        self._mpc = mpc
        self._quorate = quorate
        self._kept: dict[str, Array] = mpc._object_cache.of(model, model_owner)

    @property
    def whole(self) -> Any:
        """The dtype of counts and positions."""
        return self._mpc._whole

    @property
    def is_local(self) -> bool:
        """Whether one process has the values of all parties."""
        return bool(self._mpc.is_local)

    def constant(self, number: float, dtype: Any) -> Array:
        """Returns a public number as an array."""
        return self._mpc.constant(number, dtype=dtype)

    def columns(self, arrays: list[Array]) -> Array:
        """Joins along the second axis."""
        return self._mpc.concatenate(arrays, axis=1)

    def keep(self, name: str, share: Callable[[], Array]) -> Array:
        if name not in self._kept:
            self._kept[name] = share()
        return self._kept[name]

    def integers(self, values: Any, owner: int, shape: tuple[int, ...], bits: int, bound: int) -> Array:
        return self._mpc.input(values, owner=owner, shape=shape, dtype=self._quorate.int(bits), bound=bound)

    def factor(self, array: Array) -> Array:
        return array.as_factor()

    def units(self, values: Any, owner: int, shape: tuple[int, ...], fraction: int, bound: int) -> Array:
        if fraction == 0:
            return self.integers(values, owner, shape, 64, bound)
        reals = None if values is None else np.ldexp(np.asarray(values, np.float64), -fraction)
        dtype = self._quorate.fixed(64, fraction)
        return self._mpc.input(reals, owner=owner, shape=shape, dtype=dtype, bound=bound / (1 << fraction))

    def bits(self, values: Any, owner: int, shape: tuple[int, ...]) -> Array:
        return self._mpc.input(values, owner=owner, shape=shape, dtype=self._quorate.bit)

    def one_hot(self, rows: Array) -> Array:
        return rows.assert_one_hot(axis=-1)

    def stack(self, arrays: list[Array], axis: int) -> Array:
        return self._mpc.stack(arrays, axis=axis)

    def concatenate(self, arrays: list[Array]) -> Array:
        return self._mpc.concatenate(arrays)

    def product(self, left: Array, right: Array, bound: int) -> Array:
        return left @ right

    def turned_product(self, left: Array, right: Array, bound: int) -> Array:
        # A kept transpose would lose the facts proven of the input, so the input is transposed anew each time.
        return self._quorate.nn.linear(left, right) if right._is_factor() else left @ right.T

    def as_integers(self, bits: Array, width: int) -> Array:
        return bits.astype(self._quorate.int(width))

    def counts(self, units: Array, matrix: Integers, offset: Integers, bound: int) -> Array:
        return units @ matrix + offset

    def largest(self, rows: Array, k: int) -> Array:
        return rows.topk(k, axis=1)[0][:, k - 1 :]

    def shift_right(self, array: Array, bits: int) -> Array:
        return array >> bits

    def activation(self, name: str, array: Array, fraction: int) -> Array:
        if name == "identity":
            return array
        return getattr(self._quorate, _FUNCTIONS[name])(array)


class Clear:
    """The backend over numpy arrays, with the same integers; it checks every bound that a program states."""

    def keep(self, name: str, share: Callable[[], Array]) -> Array:
        return share()

    def integers(self, values: Any, owner: int, shape: tuple[int, ...], bits: int, bound: int) -> Array:
        array = np.asarray(values, dtype=np.int64 if bits <= 64 else object)
        if bound >= 1 << (bits - 1) or not 1 <= bits <= 120:
            raise RangeError(f"a bound of {bound} does not fit in {bits} bits")
        return _within(array.reshape(shape), bound)

    def factor(self, array: Array) -> Array:
        return array

    def units(self, values: Any, owner: int, shape: tuple[int, ...], fraction: int, bound: int) -> Array:
        return self.integers(values, owner, shape, 64, bound)

    def bits(self, values: Any, owner: int, shape: tuple[int, ...]) -> Array:
        return np.asarray(values, dtype=bool).reshape(shape)

    def one_hot(self, rows: Array) -> Array:
        return rows

    def stack(self, arrays: list[Array], axis: int) -> Array:
        return np.stack(arrays, axis=axis)

    def concatenate(self, arrays: list[Array]) -> Array:
        return np.concatenate(arrays)

    def product(self, left: Array, right: Array, bound: int) -> Array:
        ones = _ones(left) if left.shape[-1] == right.shape[0] and left.dtype == right.dtype else None
        return _within(left @ right if ones is None else right[ones], bound)

    def turned_product(self, left: Array, right: Array, bound: int) -> Array:
        return self.product(left, right.T, bound)

    def as_integers(self, bits: Array, width: int) -> Array:
        return bits.astype(np.int64)

    def counts(self, units: Array, matrix: Integers, offset: Integers, bound: int) -> Array:
        return _within(units @ matrix + offset, bound)

    def largest(self, rows: Array, k: int) -> Array:
        return np.partition(rows, -k, axis=1)[:, -k][:, None]

    def shift_right(self, array: Array, bits: int) -> Array:
        return array >> bits

    def activation(self, name: str, array: Array, fraction: int) -> Array:
        if name == "identity":
            return array
        function = kernels.FUNCTIONS[_FUNCTIONS[name]]
        if name == "relu":
            return function(array)
        return np.rint(np.ldexp(function(np.ldexp(array.astype(np.float64), -fraction)), fraction)).astype(np.int64)


def _ones(rows: Array) -> Array | None:
    """Returns the place of the 1 in each row of a matrix, or `None` unless each row has one 1 and all else is 0.

    A product with such rows selects: numpy multiplies matrices of integers one element after the other.
    """
    if rows.ndim != 2 or not rows.size or rows.sum() != len(rows):
        return None
    ones = rows.argmax(axis=1)
    is_one_hot = np.count_nonzero(rows) == len(rows) and bool((rows[np.arange(len(rows)), ones] == 1).all())
    return ones if is_one_hot else None


def _within(array: Array, bound: int) -> Array:
    if array.size and max(int(array.max()), -int(array.min())) > bound:
        raise RangeError(f"a value exceeds the stated bound {bound}")
    return array
