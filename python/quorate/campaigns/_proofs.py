"""What servers that may cheat show each other, so that each sees that the others input what the client gave them.

**Source**: docs/security/clients.md, "Entry where servers may cheat". Pure functions of a server's own words, tags and
keys, of coins, and of what the others show. A *combination* of a place's words is the sum of its words times a row of
coins, plus the mask of that row. **Notation** as in `quorate_client.tagged`: K low bits of a word are input, L bits are
all; R rows of coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quorate.campaigns._tagged import TaggedParts, TaggedRows
from quorate_client import limbs
from quorate_client.limbs import Limbs
from quorate_client.tagged import Tagging

__all__ = ["Proofs", "shown_bits", "shown_words"]

_WORD_BITS, _LIMB_BITS = 64, 32


class Proofs:
    """The proofs of one entry at one server.

    Args:
        parts: this server's parts of the packets that count.
        me: this server.
        attempts: of each holder the number of its attempt, from 0. The masks of an attempt are used in no other one.
    """

    def __init__(self, parts: TaggedParts, me: int, attempts: Sequence[int]) -> None:
        self._parts, self._me, self._tagging = parts, me, parts.tagging
        self._masks = [self._tagging.masks(attempt) for attempt in attempts]

    def words(self) -> npt.NDArray[Any]:
        """Returns the words that this server inputs: the low K bits of each, of shape (places, values + R)."""
        tagging = self._tagging
        count = tagging.slot.elements + tagging.rows
        found = np.empty((len(self._parts), count), object if tagging.bits_low > _WORD_BITS else np.uint64)
        for rows in self._parts.chunks():
            own = rows.own()
            chosen = np.concatenate([own[:, : tagging.slot.elements], own[:, self._masks[self._me]]], axis=1)
            found[rows.rows] = _low(chosen, tagging.bits_low)
        return found

    def shown(self, coins: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Returns what this server shows: its combinations, and for each other holder their tags.

        Args:
            coins: of shape (R, values).

        Returns:
            Words of `shown_bits` bits, of shape (places, R, `shown_words`).
        """
        found = np.empty((len(self._parts), self._tagging.rows, shown_words(self._tagging)), np.uint64)
        for rows in self._parts.chunks():
            words = [rows.own(), *(rows.tags(other) for other in self._others)]
            shown = [_packed(self._tagging, self._combined(coins, each, self._me)) for each in words]
            found[rows.rows] = np.concatenate(shown, axis=-1)
        return found

    def fit(
        self, coins: npt.NDArray[np.uint64], lows: Sequence[npt.NDArray[Any]], shown: Sequence[npt.NDArray[Any]]
    ) -> npt.NDArray[np.bool_]:
        """Returns for which places all that the other holders show fits this server's keys.

        Args:
            coins: of shape (R, values).
            lows: of each holder the low K bits of its combinations, as they were opened, of shape (places, R).
            shown: of each holder what it shows (`shown`).
        """
        found = np.empty(len(self._parts), bool)
        for rows in self._parts.chunks():
            each = [self._fits(coins, rows, other, lows[other], shown[other]) for other in self._others]
            found[rows.rows] = np.logical_and.reduce(each)
        return found

    def _fits(
        self,
        coins: npt.NDArray[np.uint64],
        rows: TaggedRows,
        other: int,
        lows: npt.NDArray[Any],
        shown: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.bool_]:
        bits, each = self._tagging.bits, shown_words(self._tagging) // self._tagging.holders
        place = 1 + self._me - (self._me > other)  # of the tags for this server, behind the combinations
        taken = (shown[rows.rows, :, i * each : (i + 1) * each] for i in (0, place))
        combinations, tags = (_taken(self._tagging, part) for part in taken)
        limb_count = self._tagging.limbs
        is_word = ~(_unused(combinations, bits) | _unused(tags, bits))
        combinations, tags = combinations[..., :limb_count], tags[..., :limb_count]
        is_alike = _low(combinations, self._tagging.bits_low) == lows[rows.rows]
        keys, pads = rows.keys(other)
        wanted = limbs.multiplied(combinations, keys[:, None], self._combined(coins, pads, other), bits)
        fits: npt.NDArray[np.bool_] = (is_word & is_alike & limbs.equal(wanted, tags)).all(axis=1)
        return fits

    @property
    def _others(self) -> list[int]:
        return [other for other in range(self._tagging.holders) if other != self._me]

    def _combined(self, coins: npt.NDArray[np.uint64], words: Limbs, holder: int) -> Limbs:
        """Returns combinations of a holder's words, or of their tags or pads, with the masks of its attempt."""
        values, bits = words[:, : self._tagging.slot.elements], self._tagging.bits
        return limbs.added(limbs.combined(coins, values, bits), words[:, self._masks[holder]], bits)


def shown_bits(tagging: Tagging) -> int:
    """Returns the bits of a word that a server shows: 64, or 32 where the family's rings have no more."""
    return min(_WORD_BITS, tagging.widest)


def shown_words(tagging: Tagging) -> int:
    """Returns how many words a server shows for a row of coins: a combination, and its tags for other holders."""
    return tagging.holders * -(-tagging.limbs * _LIMB_BITS // shown_bits(tagging))


def _packed(tagging: Tagging, words: Limbs) -> npt.NDArray[np.uint64]:
    """Returns the limbs of words as words that are shown; an odd one is the last."""
    if shown_bits(tagging) == _LIMB_BITS:
        return words.astype(np.uint64)
    even = np.zeros((*words.shape[:-1], words.shape[-1] + words.shape[-1] % 2), np.uint32)
    even[..., : words.shape[-1]] = words
    return even.view("<u8")


def _taken(tagging: Tagging, packed: npt.NDArray[Any]) -> Limbs:
    """Undoes `_packed`, but for an upper limb."""
    wide = np.ascontiguousarray(packed, "<u8" if shown_bits(tagging) == _WORD_BITS else "<u4")
    return wide.view("<u4")


def _unused(words: Limbs, bits: int) -> npt.NDArray[np.bool_]:
    """Returns which words have a bit above `bits`."""
    whole, rest = divmod(bits, _LIMB_BITS)
    used = np.zeros(words.shape[-1], np.uint32)
    used[:whole] = (1 << _LIMB_BITS) - 1
    if rest:
        used[whole] = (1 << rest) - 1
    return np.asarray((words & ~used).any(axis=-1), bool)


def _low(words: Limbs, bits: int) -> npt.NDArray[Any]:
    """Returns the low bits of words as integers: of 64 bits, or objects where they have more."""
    if bits <= _WORD_BITS:
        pairs = words[..., 0] | words[..., 1].astype(np.uint64) << np.uint64(_LIMB_BITS)
        return pairs & np.uint64((1 << bits) - 1)
    low = words[..., : -(-bits // _LIMB_BITS)].copy()
    limbs.clear(low, bits)
    found = np.empty(low.shape[:-1], object)
    found.reshape(-1)[:] = limbs.to_ints(low.reshape(-1, low.shape[-1]))
    return found
