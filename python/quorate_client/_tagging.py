"""The parameters of a slot whose words have tags, since servers of the campaign may cheat.

They are functions of the campaign alone, so that clients and servers compute them alike.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from quorate_client._slots import Slot
from quorate_client.errors import CampaignError

if TYPE_CHECKING:
    from quorate_client.campaign import Campaign

__all__ = ["ATTEMPTS", "SEED_BYTES", "Tagging"]

SEED_BYTES = 32

#: How often servers may try to enter a packet: each try takes masks of its own.
ATTEMPTS = 16

#: By the option `mac`: bits of statistical security, and bits of the widest ring.
_SECURITY = {"64": (57, 120), "48": (42, 32), "32": (26, 32)}

#: 2^20 packets, and what else a bound loses.
_SLACK_BITS = 25
_MOST_CHI_BITS = 63
_LIMB_BITS = 32


@dataclasses.dataclass(frozen=True)
class Tagging:
    """The parameters of a slot.

    Attributes:
        slot: the slot.
        holders: the number of servers that hold words: the first ones of the campaign.
        k: the most bits of an element, among columns and results.
        c: bits of what is checked beyond the low bits; a key has one bit more.
        w: bits of a coefficient of a check.
        rows: rows of a check, each with a mask of its own.
        widest: bits of the widest ring.
    """

    slot: Slot
    holders: int
    k: int
    c: int
    w: int
    rows: int
    widest: int

    @staticmethod
    def of(campaign: Campaign, slot: Slot) -> Tagging:
        """Returns the parameters of a slot of a campaign whose servers may cheat.

        Raises:
            CampaignError: `mac` has another value, or elements have more bits than it is for.
        """
        mac, k = campaign.options.get("mac", "64"), max(column.dtype.bits for column in slot.layout)
        if mac not in _SECURITY:
            raise CampaignError(f"options.mac: choose {' or '.join(map(repr, _SECURITY))}.")
        security, widest = _SECURITY[mac]
        if k > widest:
            raise CampaignError(
                f'slots: {slot.name} has an element of {k} bits, and mac = "{mac}" is for elements of up to {widest} '
                'bits. Choose narrower dtypes, or mac = "64".'
            )
        c = security + _SLACK_BITS
        rows = -(-c // min(_MOST_CHI_BITS, widest - k + 1))
        return Tagging(slot, campaign.holders, k, c, -(-c // rows), rows, widest)

    @property
    def bits_low(self) -> int:
        """Bits of a word that servers input: K."""
        return self.k + self.w - 1

    @property
    def bits(self) -> int:
        """Bits of a word: L."""
        return self.bits_low + self.c

    @property
    def limbs(self) -> int:
        """Limbs of 32 bits of a word; at least three."""
        return -(-self.bits // _LIMB_BITS)

    @property
    def words(self) -> int:
        """Words of a holder: one for each element of the slot's layout, then the masks of all attempts."""
        return self.slot.elements + ATTEMPTS * self.rows

    @property
    def words_bytes(self) -> int:
        """Bytes of a holder's words, and of the tags of each other holder."""
        return self.words * self.limbs * (_LIMB_BITS // 8)

    def masks(self, attempt: int) -> slice:
        """Returns which words are the masks of an attempt, from 0 to 15: one for each row."""
        first = self.slot.elements + attempt * self.rows
        return slice(first, first + self.rows)

    def content_bytes(self, server: int) -> int:
        """Returns the bytes of the content of a server's part; 0 if the server is no holder."""
        if server >= self.holders:
            return 0
        values = self.slot.bytes if server == self.holders - 1 else 0
        return SEED_BYTES + values + (self.holders - 1) * self.words_bytes
