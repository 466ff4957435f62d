"""Where a model's program runs: over secret arrays in a session, or over numpy arrays in the clear.

A program is written once with `@ <= > == & ^ ~`, `reshape`, `T`, slicing and `argmax`, which both kinds of array have,
and takes the rest from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from quorate.errors import RangeError
from quorate.models._numerics import Integers

Array = Any


class Backend(Protocol):
    """What a program needs beyond the operators of its arrays."""

    def keep(self, name: str, share: Callable[[], Array]) -> Array:
        """A parameter of the model, which is shared when it is first asked for in a session."""

    def integers(self, values: Any, owner: int, shape: tuple[int, ...], bits: int, bound: int) -> Array:
        """Secret integers of `bits` bits, at most `bound` in magnitude."""

    def factor(self, array: Array) -> Array:
        """The same secret numbers, as a factor of many products."""

    def units(self, values: Any, owner: int, shape: tuple[int, ...], fraction: int, bound: int) -> Array:
        """Secret 64-bit numbers with `fraction` fractional bits, given, and bounded, in units of the last one."""

    def bits(self, values: Any, owner: int, shape: tuple[int, ...]) -> Array:
        """Secret bits."""

    def one_hot(self, rows: Array) -> Array:
        """Rows of which one element is 1 and all others are 0; where parties may cheat, proven to be such."""

    def stack(self, arrays: list[Array], axis: int) -> Array:
        """Joins along a new axis."""

    def concatenate(self, arrays: list[Array]) -> Array:
        """Joins along the first axis."""

    def product(self, left: Array, right: Array, bound: int) -> Array:
        """The matrix product; `bound` is what follows from its operands' bounds, and is checked in the clear."""

    def turned_product(self, left: Array, right: Array, bound: int) -> Array:
        """The same by the transposed of `right`, which may be a factor."""

    def as_integers(self, bits: Array, width: int) -> Array:
        """The integers 0 and 1 of `width` bits."""

    def counts(self, units: Array, matrix: Integers, offset: Integers, bound: int) -> Array:
        """`units @ matrix + offset` with a public matrix; results are between 0 and `bound`."""

    def largest(self, rows: Array, k: int) -> Array:
        """The k-th largest of each row, (rows, 1)."""

    def shift_right(self, array: Array, bits: int) -> Array:
        """Units divided by 2**bits, rounded down exactly."""

    def activation(self, name: str, array: Array, fraction: int) -> Array:
        """`"relu"` or `"identity"`; with 16 fractional bits `"tanh"` or `"logistic"`."""


class Secret:
    """Programs over a session's secret arrays, of a model or a shape that stands for one."""

    def __init__(self, mpc: Any, model: Any, model_owner: int) -> None:
        import quorate

        self._mpc = mpc
        self._quorate = quorate
        self._kept: dict[str, Array] = mpc._kept.of(model, model_owner)

    @property
    def whole(self) -> Any:
        """The dtype of counts and positions."""
        return self._mpc._whole

    @property
    def is_local(self) -> bool:
        """Whether one process knows everything."""
        return bool(self._mpc.is_local)

    def constant(self, number: float, dtype: Any) -> Array:
        """A public number."""
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
        # What is known of an input is not known of the transposed one, once that is held: it is turned anew.
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
        known = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}
        return getattr(self._quorate, known[name])(array)


class Clear:
    """The same integers with numpy; every bound that a program states is checked."""

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
        return _within(left @ right, bound)

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
        if name == "relu":
            return np.maximum(array, 0)
        x = np.ldexp(array.astype(np.float64), -fraction)
        y = np.tanh(x) if name == "tanh" else 0.5 + 0.5 * np.tanh(0.5 * x)
        return np.rint(np.ldexp(y, fraction)).astype(np.int64)


def _within(array: Array, bound: int) -> Array:
    if array.size and max(int(array.max()), -int(array.min())) > bound:
        raise RangeError(f"a value exceeds the stated bound {bound}")
    return array
