"""Words with tags: the parts of a packet where servers may cheat. Each server can check what the others say they hold.

The parameters are those of `Tagging`: k, c, w, R rows, L bits, M elements, 16 attempts. A word has L bits, in limbs of
32 bits, little-endian, upper bits 0.

**Words** of holder j: one for each element of the slot's layout, then 16 R masks, by attempt, then by row. The holders'
words of an element add up to it mod 2^k, k being its own bits. Other bits of them are random.

**Seeds**: each holder i has one of 32 bytes, fresh for each packet. A stream is AES-256 in counter mode from 0. Its key
is HKDF-SHA256 of the seed, with a label, the packet's campaign, client, slot, item and number, and two bytes: a holder
j, and i. For j = i the stream is the words of i. For another j it is what i checks j with: a key of 16 bytes, taken mod
2^(c + 1), then a pad for each word, mod 2^L.

**Difference**: the values in the layout of `words`, less the streams' words. The last holder adds it, an integer from 0
to 2^k - 1, to its words mod 2^L.

**Tags** of j for another holder i: key times word plus pad, mod 2^L, for each word of j.

**Content** for j: its seed | the difference, if it is the last holder | for each other holder, ascending, the tags.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from quorate_client import limbs, words
from quorate_client._tagging import ATTEMPTS, SEED_BYTES, Tagging
from quorate_client.errors import WireError
from quorate_client.limbs import Limbs

__all__ = ["ATTEMPTS", "KEY_LIMBS", "Part", "Tagging", "check", "split"]

_WORDS_LABEL = b"quorate/client/words/1\0"
_KEY_BYTES = 16

#: Limbs of a key.
KEY_LIMBS = _KEY_BYTES // 4

#: Bytes that are drawn at a time.
_CHUNK = 1 << 20
_ZEROS = bytes(_CHUNK)


def split(
    tagging: Tagging, encoded: words.Words, seeds: Sequence[bytes], context: bytes
) -> dict[int, bytes | memoryview]:
    """Returns the content of each holder's part. The encoded values are overwritten.

    Arguments:
        tagging: the parameters.
        encoded: the values and masks, as `words.encode` and `words.mask` make them.
        seeds: a fresh seed for each holder.
        context: the campaign's hash, client, slot, item and number: `Header.context`.
    """
    own = [_own(tagging, seed, context, holder) for holder, seed in enumerate(seeds)]
    words.subtract(tagging.slot, encoded, _layout(tagging, own))
    own[-1] = _with_difference(tagging, own[-1], encoded)
    contents: dict[int, bytes | memoryview] = {}
    for holder, held in enumerate(own):
        content = np.empty(tagging.content_bytes(holder), np.uint8)
        content[:SEED_BYTES] = np.frombuffer(seeds[holder], np.uint8)
        if holder == tagging.holders - 1:
            content[SEED_BYTES : SEED_BYTES + encoded.size] = encoded
        for other in _others(tagging, holder):
            key, pads = _keys(tagging, seeds[other], context, holder, other)
            first = _first_tag(tagging, holder, other)
            tags = limbs.multiplied(held, limbs.from_ints([key], KEY_LIMBS)[0], pads, tagging.bits)
            content[first : first + tagging.words_bytes] = tags.reshape(-1).view(np.uint8)
        contents[holder] = content.data
    return contents


def check(tagging: Tagging, server: int, content: bytes | memoryview) -> None:
    """Checks the length and the unused bits of the content of a server's part.

    Raises:
        WireError: the content has another length, or a bit that is not used is 1.
    """
    wanted = tagging.content_bytes(server)
    if len(content) != wanted:
        raise WireError("content", f"The part has {len(content)} bytes of content, not {wanted}.")
    if server == tagging.holders - 1:
        words.check(tagging.slot, _difference(tagging, content))
    for other in _others(tagging, server) if wanted else ():
        if not limbs.is_clear(_tags(tagging, server, content, other), tagging.bits):
            raise WireError("tags", f"Unused bits of the tags for server {other} must be 0.")


class Part:
    """The part of one holder, as that holder reads it.

    Arguments:
        tagging: the parameters.
        server: the holder.
        content: the content of its part.
        context: the campaign's hash, client, slot, item and number: `Header.context`.

    Raises:
        WireError: as `check`.
    """

    def __init__(self, tagging: Tagging, server: int, content: bytes | memoryview, context: bytes) -> None:
        check(tagging, server, content)
        self._tagging, self._server, self._content, self._context = tagging, server, content, context

    def own(self) -> Limbs:
        """Returns this holder's words, of shape (words, limbs)."""
        held = _own(self._tagging, self._seed, self._context, self._server)
        if self._server != self._tagging.holders - 1:
            return held
        return _with_difference(self._tagging, held, _difference(self._tagging, self._content))

    def tags(self, other: int) -> Limbs:
        """Returns the tags of this holder's words that another holder can check, of shape (words, limbs)."""
        return _tags(self._tagging, self._server, self._content, other)

    def keys(self, other: int) -> tuple[int, Limbs]:
        """Returns what this holder checks another one's words with: a key, and pads of shape (words, limbs)."""
        return _keys(self._tagging, self._seed, self._context, other, self._server)

    @property
    def _seed(self) -> bytes:
        return bytes(self._content[:SEED_BYTES])


def _others(tagging: Tagging, server: int) -> list[int]:
    return [other for other in range(tagging.holders) if other != server]


def _first_tag(tagging: Tagging, server: int, other: int) -> int:
    """Returns where the tags for another holder begin in a server's content."""
    before = tagging.holders - 1 - _others(tagging, server).index(other)
    return tagging.content_bytes(server) - before * tagging.words_bytes


def _tags(tagging: Tagging, server: int, content: bytes | memoryview, other: int) -> Limbs:
    first, size = _first_tag(tagging, server, other), tagging.words * tagging.limbs
    return np.frombuffer(content, "<u4", size, first).reshape(tagging.words, tagging.limbs)


def _difference(tagging: Tagging, content: bytes | memoryview) -> words.Words:
    return np.frombuffer(content, np.uint8, tagging.slot.bytes, SEED_BYTES)


def _stream(seed: bytes, context: bytes, holder: int, verifier: int) -> CipherContext:
    info = _WORDS_LABEL + context + bytes([holder, verifier])
    key = HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(seed)
    return Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()


def _drawn(tagging: Tagging, stream: CipherContext) -> Limbs:
    """Returns the next words of a stream."""
    drawn: words.Words = np.empty(tagging.words_bytes, np.uint8)
    for start in range(0, drawn.size, _CHUNK):
        size = min(_CHUNK, drawn.size - start)
        drawn[start : start + size] = np.frombuffer(stream.update(_ZEROS[:size]), np.uint8)
    found: Limbs = drawn.view("<u4").reshape(tagging.words, tagging.limbs)
    limbs.clear(found, tagging.bits)
    return found


def _own(tagging: Tagging, seed: bytes, context: bytes, holder: int) -> Limbs:
    """Returns the words that a holder's seed expands to."""
    return _drawn(tagging, _stream(seed, context, holder, holder))


def _keys(tagging: Tagging, seed: bytes, context: bytes, holder: int, verifier: int) -> tuple[int, Limbs]:
    """Returns the key and the pads by which a verifier, who has the seed, checks a holder's words."""
    stream = _stream(seed, context, holder, verifier)
    key = int.from_bytes(stream.update(bytes(_KEY_BYTES)), "little") % (1 << (tagging.c + 1))
    return key, _drawn(tagging, stream)


def _layout(tagging: Tagging, own: Sequence[Limbs]) -> words.Words:
    """Returns the sums of the holders' words in the layout of `words`; upper bits of elements may be 1."""
    sums: npt.NDArray[np.uint64] = np.zeros(tagging.slot.elements, np.uint64)
    for held in own:
        sums += held[: sums.size, 0]
        sums += held[: sums.size, 1].astype(np.uint64) << np.uint64(32)
    laid: words.Words = np.empty(tagging.slot.bytes, np.uint8)
    start = 0
    for column, first, end in tagging.slot.places:
        elements = sums[start : start + column.elements]
        if column.dtype.kind == "bit":
            laid[first:end] = np.packbits((elements & np.uint64(1)).astype(np.uint8), bitorder="little")
        else:
            laid[first:end] = elements.astype(f"<u{column.dtype.word_bytes}").view(np.uint8)
        start += column.elements
    return laid


def _with_difference(tagging: Tagging, held: Limbs, difference: words.Words) -> Limbs:
    """Returns a holder's words plus the difference; masks stay as they are."""
    elements = [column.astype("<u8").reshape(-1) for column in words.columns(tagging.slot, difference)]
    whole = np.zeros((tagging.words, 2), "<u4")
    whole[: tagging.slot.elements] = np.concatenate(elements).view("<u4").reshape(-1, 2)
    return limbs.added(held, whole, tagging.bits)
