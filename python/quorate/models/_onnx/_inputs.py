"""The public part of a network's inputs, and how they become arrays of the program."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import quorate
from quorate._arrays._proven_ranges import stated
from quorate.errors import ModelError, RangeError, ShapeError
from quorate.models._layers._kernels import Array
from quorate.models._numerics import exponent_above, finite_float64
from quorate.models._onnx._indices import Rows, checked, shared
from quorate.models._onnx._plan import FRACTION


@dataclasses.dataclass(frozen=True)
class Input:
    """One of a network's inputs.

    Attributes:
        sizes: the sizes of one input, without the batch.
        low, high: the ends of the range of its numbers.
        bits: the number of its bits.
        table_rows: as in `NetworkShape`.
        name: the name of one of several inputs; "" if there is one alone.
        is_public: whether all parties give it.
    """

    sizes: tuple[int, ...]
    low: float
    high: float
    bits: int
    table_rows: int | tuple[int, ...] | None = None
    name: str = ""
    is_public: bool = False

    @staticmethod
    def described(public: Mapping[str, Any], bits: int) -> Input:
        """Returns an input from the result of `describe`.

        Raises:
            ModelError: `public` is no such result.
        """
        try:
            made = Input(**{**public, "bits": bits})
            rows = made.table_rows
            return dataclasses.replace(
                made,
                sizes=tuple(int(n) for n in made.sizes),
                table_rows=tuple(rows) if isinstance(rows, list) else rows,
                low=float(made.low),
                high=float(made.high),
            )
        except (TypeError, ValueError) as error:
            raise ModelError(f"this is not the shape of a network: an input is {dict(public)}") from error

    def describe(self) -> dict[str, Any]:
        """Returns the fields as plain values."""
        found = {k: v for k, v in dataclasses.asdict(self).items() if v is not None and k != "bits"}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}

    @property
    def has_counts(self) -> bool:
        """Whether `table_rows`, if there are any, are positive counts, one for each element."""
        if self.table_rows is None:
            return True
        count = math.prod(self.sizes)
        listed = self.table_rows if isinstance(self.table_rows, tuple) else (self.table_rows,) * count
        return len(listed) == count and all(type(n) is int and n > 0 for n in listed)

    @property
    def unit(self) -> int:
        """The unit: numbers are kept as whole multiples of 2^-unit."""
        if self.table_rows is not None:
            return 0
        return self.bits - exponent_above(max(abs(self.low), abs(self.high)))

    @property
    def what(self) -> str:
        """The name of the input in errors."""
        return f"the input {self.name!r}" if self.name else "inputs"

    def rows(self) -> Rows | None:
        """Returns the number of rows for each element."""
        if self.table_rows is None:
            return None
        return np.broadcast_to(np.asarray(self.table_rows, np.int64), math.prod(self.sizes)).reshape(self.sizes)

    def encode(self, X: Any) -> Array:
        """Returns the units that stand for X; invalid numbers raise before anything is sent."""
        rows = self.rows()
        values = finite_float64(X, self.what) if rows is None else checked(X, rows, self.what)
        if values.ndim != len(self.sizes) + 1 or values.shape[1:] != self.sizes or len(values) == 0:
            sizes = ", ".join(map(str, ("batch", *self.sizes)))
            have = "has" if self.name else "have"
            raise ShapeError(f"{self.what} {have} shape {values.shape}; the network takes ({sizes})")
        if rows is not None:
            return values
        beyond = (values < self.low) | (values > self.high)
        if beyond.any():
            place = tuple(int(i) for i in np.argwhere(beyond)[0])
            raise RangeError(
                f"{self.what}: {values[place]} at index {place}; the network takes numbers between {self.low:g} and "
                f"{self.high:g}: scale them as they were for training, or let the model's owner state a larger bound: "
                "from_onnx(..., bound=)"
            )
        return np.rint(np.ldexp(values, self.unit))

    def array(self, mpc: Any, X: Any, owner: int, count: int, ring: int) -> Any:
        """Returns the array of the program: a constant if all parties give the input, otherwise a secret.

        Args:
            mpc: a session.
            X: the numbers, None at a party that does not have them.
            owner: the owner of a secret input.
            count: the number of inputs.
            ring: the bits of all other numbers.
        """
        shape, units = (count, *self.sizes), None if X is None else self.encode(X)
        if self.is_public:
            return self._known(mpc, np.zeros(shape) if units is None else units, ring)
        if self.table_rows is not None:
            return shared(mpc, units, int(np.max(self.table_rows)) - 1, owner, shape)
        x = mpc.input(
            None if units is None else np.ldexp(units, -FRACTION),
            owner=owner,
            shape=shape,
            dtype=quorate.fixed(ring, FRACTION),
            bound=math.ldexp(1.0, self.bits - FRACTION),
        )
        return stated(x, self.bits, math.floor(math.ldexp(self.low, self.unit)))

    def _known(self, mpc: Any, units: Array, ring: int) -> Any:
        if self.table_rows is not None:
            bits = max((int(np.max(self.table_rows)) - 1).bit_length(), 1)
            return mpc.constant(units.astype(np.int64), quorate.uint(bits))
        return mpc.constant(np.ldexp(units, -FRACTION), quorate.fixed(ring, FRACTION))


def listed(X: Any, inputs: Sequence[Input], what: str = "X") -> list[Any]:
    """Returns X's array for each input, None where there is none.

    X is an array if the network has one input, and a dictionary by name if it has several.

    Raises:
        ModelError: X is no dictionary, or has other names.
    """
    if X is None:
        return [None] * len(inputs)
    names = [one.name for one in inputs]
    if len(inputs) == 1 and (not names[0] or not isinstance(X, Mapping)):
        return [X]
    if not isinstance(X, Mapping):
        raise ModelError(
            f"{what}: the network has the inputs {', '.join(map(repr, names))}: give a dictionary of arrays by name"
        )
    wrong = [name for name in X if name not in names]
    if wrong:
        raise ModelError(f"{what}: the network has no input {wrong[0]!r}; it has {', '.join(map(repr, names))}")
    return [X.get(name) for name in names]
