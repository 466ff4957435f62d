"""Parts of the packets that count, from a server's store."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quorate.campaigns._agreed import DIGEST, Words, numbers, present
from quorate.campaigns._errors import Refused
from quorate.campaigns._sealing import place_of_part
from quorate.campaigns._store import Store
from quorate_client import Campaign, wire

__all__ = ["LIST", "Reader"]

LIST = "give the list that `agreed` returned"


class Reader:
    """Reads the packets of a slot that a list names.

    Args:
        store: the store.
        campaign: the campaign.
        slot: the index of the slot.
        words: the list: `np.int32[rows, 12]`.

    Raises:
        StoreError: the campaign's key cannot be read.
    """

    def __init__(self, store: Store, campaign: Campaign, slot: int, words: Words) -> None:
        self.campaign, self.slot, self.words = campaign, campaign.slots[slot], words
        self._store, self._index = store, slot
        self._key = store.keys.load(campaign.hash)

    def read(self, first: int, end: int) -> Iterator[tuple[int, wire.Header, bytes | None]]:
        """Yields row, header and content of the packets with values from row `first` to before row `end`.

        The content is None where this server is no receiver. All packets of these rows are in memory.

        Raises:
            Refused: the list names a packet that is not here. It is raised after the others were read.
            StoreError: a part does not open, or the store cannot be read.
        """
        words, each = self.words[first:end], self.slot.per_client
        is_missing, order = present(words), numbers(words)
        query = """SELECT place, item, number, header, digest, parts.sealed FROM packets
            LEFT JOIN parts USING (campaign, slot, place, item, number)
            WHERE campaign = ? AND slot = ? AND (place, item) >= (?, ?) AND (place, item) < (?, ?)
            ORDER BY place, item, number"""
        values = (self.campaign.hash, self._index, *divmod(first, each), *divmod(end, each))
        for place, item, number, header, digest, sealed in self._store.read(
            lambda c: c.execute(query, values).fetchall()
        ):
            at = int(place) * each + int(item) - first
            if not is_missing[at] or number != order[at] or digest != words[at, DIGEST].tobytes():
                continue
            is_missing[at] = False
            head = wire.Header.unpack(header)
            bound_to = place_of_part(self.campaign.hash, place, head.client, self._index, item, number, digest)
            yield first + at, head, None if sealed is None else self._key.open_part(sealed, bound_to)
        if is_missing.any():
            raise Refused(409, f"the agreed list names {np.count_nonzero(is_missing)} packets that are not here", LIST)
