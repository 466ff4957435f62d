"""Replacement of elements: `x.at[i].set(v)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _source
from quorate._arrays._indexing import positions
from quorate._source import at
from quorate.errors import ShapeError

if TYPE_CHECKING:
    from quorate.array import SecretArray

__all__ = ["Picked"]


class Picked:
    """Elements of an array, picked by an index for replacement."""

    def __init__(self, array: SecretArray) -> None:
        self._array = array
        self._places: np.ndarray | None = None

    def __getitem__(self, key: Any) -> Picked:
        picked = Picked(self._array)
        picked._places = positions(self._array, key).copy()  # the index may change before `set`
        return picked

    def set(self, value: Any) -> SecretArray:
        """Returns the array with the picked elements replaced by `value`, which broadcasts."""
        if self._places is None:
            raise ShapeError(at("pick elements first: x.at[i].set(v)"))
        array = self._array
        index = np.ascontiguousarray(self._places).tobytes()
        operand = array._operand(value, "set")
        native = array._session._native
        return array._new(native.set_at(array._node, index, self._places.shape, operand, _source.line()))

    def add(self, value: Any) -> SecretArray:
        """Returns the array with `value`, which broadcasts, added to the picked elements.

        Raises:
            ShapeError: an element is picked twice.
        """
        if self._places is None:
            raise ShapeError(at("pick elements first: x.at[i].add(v)"))
        if np.unique(self._places).size < self._places.size:
            raise ShapeError(at("an element is picked twice: add up what is added to it first"))
        index = np.ascontiguousarray(self._places).tobytes()
        array = self._array
        picked = array._new(array._session._native.gather(array._node, index, self._places.shape, _source.line()))
        return self.set(picked + value)
