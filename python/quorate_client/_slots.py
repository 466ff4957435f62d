"""Slots: the columns that a client gives, their dtypes, shapes and bounds, and where they lie in a packet's words."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

__all__ = ["Column", "Dtype", "Slot"]


@dataclasses.dataclass(frozen=True)
class Dtype:
    """The dtype of a column. Its text is as in a program: `int(32)`, `uint(16)`, `fixed(64, 16)` or `bit`.

    Attributes:
        kind: "int", "uint", "fixed" or "bit".
        bits: width in bits, at most 64.
        frac: bits after the point; 0 unless the kind is "fixed".
    """

    kind: str
    bits: int
    frac: int = 0

    def __str__(self) -> str:
        if self.kind == "bit":
            return "bit"
        return f"fixed({self.bits}, {self.frac})" if self.kind == "fixed" else f"{self.kind}({self.bits})"

    @property
    def lowest(self) -> int:
        """The lowest value, in units of the last bit."""
        return 0 if self.kind in ("uint", "bit") else -(1 << (self.bits - 1))

    @property
    def highest(self) -> int:
        """The highest value, in units of the last bit."""
        return self.lowest + (1 << self.bits) - 1

    @property
    def word_bytes(self) -> int:
        """Bytes of an element among a packet's words: 1, 2, 4 or 8. Bits are packed instead, eight a byte."""
        return next(size for size in (1, 2, 4, 8) if self.bits <= 8 * size)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a slot.

    Attributes:
        name: its name.
        dtype: its dtype.
        shape: its shape; () is one value.
        low: the stated lower bound, as written, or None.
        high: the stated upper bound, as written, or None.
        lowest: the lower bound in units of the last bit: the stated one, or the dtype's.
        highest: the upper bound in units of the last bit.
    """

    name: str
    dtype: Dtype
    shape: tuple[int, ...]
    low: str | None
    high: str | None
    lowest: int
    highest: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes among a packet's words."""
        return (self.elements + 7) // 8 if self.dtype.kind == "bit" else self.elements * self.dtype.word_bytes

    @property
    def is_bounded(self) -> bool:
        """Whether the bounds are narrower than the dtype."""
        return self.lowest > self.dtype.lowest or self.highest < self.dtype.highest

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the campaign's JSON."""
        bounds = {key: text for key, text in (("low", self.low), ("high", self.high)) if text is not None}
        return {"name": self.name, "dtype": str(self.dtype), "shape": list(self.shape), **bounds}


@dataclasses.dataclass(frozen=True)
class Slot:
    """What a client gives: the columns of one packet.

    Attributes:
        name: its name.
        per_client: the number of packets of a client: items 0, 1, ... of the slot.
        columns: the columns, in the order of a packet's words.
        results: what the program reveals to this client alone, as columns without bounds.
        looks: the number of times that results may be revealed: the campaign's `again` + 1; 0 without results.
    """

    name: str
    per_client: int
    columns: tuple[Column, ...]
    results: tuple[Column, ...] = ()
    looks: int = 0

    @functools.cached_property
    def masks(self) -> Slot:
        """The masks of results as a slot of their own: for each look, for each result, a column of its dtype."""
        return Slot(self.name, self.per_client, self.looks * self.results)

    @functools.cached_property
    def layout(self) -> tuple[Column, ...]:
        """All columns of a packet's words: those that the client gives, then the masks."""
        return self.columns + self.looks * self.results

    @functools.cached_property
    def names(self) -> tuple[str | tuple[str, int, str], ...]:
        """The names of `layout`: the column's, or ("result", look, name) of a mask."""
        masks = [("result", look, column.name) for look in range(self.looks) for column in self.results]
        return (*(column.name for column in self.columns), *masks)

    @functools.cached_property
    def elements(self) -> int:
        """Elements of a packet."""
        return sum(column.elements for column in self.layout)

    @functools.cached_property
    def bytes(self) -> int:
        """Bytes of a packet's words."""
        return sum(column.bytes for column in self.layout)

    @functools.cached_property
    def places(self) -> tuple[tuple[Column, int, int], ...]:
        """Each column of `layout` with the first byte and the byte after the last of its words."""
        ends, end = [], 0
        for column in self.layout:
            ends.append((column, end, end + column.bytes))
            end += column.bytes
        return tuple(ends)

    def fields(self) -> dict[str, Any]:
        """Returns the fields of the campaign's JSON."""
        columns = [column.fields() for column in self.columns]
        results = {"results": [column.fields() for column in self.results]} if self.results else {}
        return {"name": self.name, "per_client": self.per_client, "columns": columns, **results}
