"""Parts with tags, as a run takes them: arrays of a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from quorate.campaigns._errors import StoreError
from quorate.campaigns._parts import Reader
from quorate_client.limbs import Limbs, from_ints
from quorate_client.tagged import KEY_LIMBS, Part, Tagging

__all__ = ["TaggedParts", "TaggedRows"]

#: Bytes of contents that are read at a time, or those of one row.
_BYTES = 1 << 26


class TaggedRows:
    """A server's parts of some rows of a slot. Arrays are made when asked for, with zeros where no packet counts.

    Attributes:
        rows: which rows these are.
        tagging: the parameters of the slot.
    """

    def __init__(self, rows: slice, tagging: Tagging, parts: dict[int, Part]) -> None:
        self.rows, self.tagging = rows, tagging
        self._parts = parts

    def own(self) -> Limbs:
        """Returns this server's words, of shape (rows, words, limbs)."""
        return self._filled(Part.own)

    def tags(self, other: int) -> Limbs:
        """Returns the tags of this server's words that another holder can check, of shape (rows, words, limbs)."""
        return self._filled(lambda part: part.tags(other))

    def keys(self, other: int) -> tuple[Limbs, Limbs]:
        """Returns what this server checks another holder's words with.

        Returns:
            A key for each row, of shape (rows, 4), and pads of shape (rows, words, limbs).
        """
        kept = np.zeros((self.rows.stop - self.rows.start, KEY_LIMBS), np.uint32)

        def pads(row: int, part: Part) -> Limbs:
            key, found = part.keys(other)
            kept[row] = from_ints([key], KEY_LIMBS)[0]
            return found

        return kept, self._filled_by_row(pads)

    def _filled(self, of: Callable[[Part], Limbs]) -> Limbs:
        return self._filled_by_row(lambda _, part: of(part))

    def _filled_by_row(self, of: Callable[[int, Part], Limbs]) -> Limbs:
        shape = (self.rows.stop - self.rows.start, self.tagging.words, self.tagging.limbs)
        found = np.zeros(shape, np.uint32)
        for row, part in self._parts.items():
            found[row] = of(row, part)
        return found


class TaggedParts:
    """A server's parts of the packets of a slot that count.

    `Frozen.tagged` returns it.

    Attributes:
        tagging: the parameters of the slot.
    """

    def __init__(self, reader: Reader, me: int) -> None:
        self.tagging = Tagging.of(reader.campaign, reader.slot)
        self._reader, self._me = reader, me

    def __len__(self) -> int:
        """Returns the rows of the slot."""
        return len(self._reader.words)

    def chunks(self) -> Iterator[TaggedRows]:
        """Yields all rows in order, as many at a time as have 64 MiB of contents.

        Raises:
            Refused, StoreError: as `rows`.
        """
        step = max(1, _BYTES // self.tagging.content_bytes(self._me))
        for first in range(0, len(self), step):
            yield self.rows(first, min(first + step, len(self)))

    def rows(self, first: int, end: int) -> TaggedRows:
        """Reads the parts from row `first` to before row `end`.

        Raises:
            Refused: the list names a packet that is not here.
            StoreError: a part is missing or does not open, or the store cannot be read.
        """
        parts = {}
        for row, header, content in self._reader.read(first, end):
            if content is None:  # all holders are receivers of all packets
                raise StoreError("the store has a packet without its part: restore this server's store")
            parts[row - first] = Part(self.tagging, self._me, content, header.context)
        return TaggedRows(slice(first, end), self.tagging, parts)
