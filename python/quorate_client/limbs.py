"""Arithmetic mod 2^bits on arrays of words: the last axis has a word's limbs of 32 bits, the lowest first.

Unused bits of the last limb are 0 in what is taken and returned. Words are worked on a few thousand at a time, so that
only arguments and results take memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["Limbs", "added", "clear", "combined", "equal", "from_ints", "is_clear", "multiplied", "to_ints"]

Limbs = npt.NDArray[np.uint32]

#: Words that are worked on at a time: their copies in 64 bits fit into a core's cache.
_CHUNK = 1 << 12

_BITS, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)
_PIECE_BITS = 16
_PIECE = np.uint64((1 << _PIECE_BITS) - 1)


def _unused(limbs: int, bits: int) -> int:
    """Returns the mask of the unused bits of the last limb."""
    return ((1 << 32 * limbs) - (1 << bits)) >> 32 * (limbs - 1)


def clear(words: Limbs, bits: int) -> None:
    """Clears the unused bits of words in place."""
    words[..., -1] &= np.uint32(0xFFFFFFFF ^ _unused(words.shape[-1], bits))


def is_clear(words: Limbs, bits: int) -> bool:
    """Returns whether all unused bits are 0."""
    return not np.any(words[..., -1] & np.uint32(_unused(words.shape[-1], bits)))


def equal(first: Limbs, second: Limbs) -> npt.NDArray[np.bool_]:
    """Returns which words are equal: an array of the words' shape without its last axis."""
    found: npt.NDArray[np.bool_] = (first == second).all(axis=-1)
    return found


def to_ints(words: Limbs) -> list[int]:
    """Returns words of shape (n, limbs) as Python's integers."""
    width, data = 4 * words.shape[-1], np.ascontiguousarray(words, "<u4").tobytes()
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]


def from_ints(numbers: Iterable[int], limbs: int) -> Limbs:
    """Returns integers from 0 to 2^(32 limbs) - 1 as words of shape (n, limbs)."""
    data = b"".join(number.to_bytes(4 * limbs, "little") for number in numbers)
    return np.frombuffer(data, "<u4").reshape(-1, limbs).copy()


def added(first: Limbs, second: Limbs, bits: int) -> Limbs:
    """Returns the sums of words mod 2^bits.

    Arguments:
        first: words of any shape.
        second: as many words; they may have fewer limbs.
        bits: the width of `first`.
    """
    limbs, less = first.shape[-1], second.shape[-1]
    a, b = first.reshape(-1, limbs), second.reshape(-1, less)
    sums = np.empty_like(a)
    for start in range(0, len(a), _CHUNK):
        part = slice(start, start + _CHUNK)
        total = np.zeros(len(a[part]), np.uint64)
        for i in range(limbs):
            total >>= _BITS  # the carry
            total += a[part, i]
            if i < less:
                total += b[part, i]
            sums[part, i] = total & _LOW
    clear(sums, bits)
    return sums.reshape(first.shape)


def multiplied(words: Limbs, factors: Limbs, addends: Limbs, bits: int) -> Limbs:
    """Returns `words * factors + addends` mod 2^bits.

    Arguments:
        words: words of shape (..., limbs).
        factors: one factor of shape (limbs of a factor,), or factors whose axes but the last broadcast to those of
            `words`.
        addends: words of the shape of `words`.
        bits: the width of words and addends.
    """
    limbs, lead = words.shape[-1], words.shape[:-1]
    a, c = words.reshape(-1, limbs), addends.reshape(-1, limbs)
    is_one = factors.ndim == 1
    b = factors if is_one else np.broadcast_to(factors, (*lead, factors.shape[-1])).reshape(-1, factors.shape[-1])
    found = np.empty_like(a)
    for start in range(0, len(a), _CHUNK):
        part = slice(start, start + _CHUNK)
        wide = b.astype(np.uint64) if is_one else np.ascontiguousarray(b[part].T, np.uint64)
        found[part] = _multiplied(a[part], wide, c[part]).T
    clear(found, bits)
    return found.reshape(words.shape)


def _multiplied(words: Limbs, factors: npt.NDArray[np.uint64], addends: Limbs) -> npt.NDArray[np.uint64]:
    """Schoolbook multiplication; the first axis of the factors and of the result is that of limbs."""
    a, sums = np.ascontiguousarray(words.T, np.uint64), np.ascontiguousarray(addends.T, np.uint64)
    limbs = len(a)
    for j in range(min(len(factors), limbs)):
        carry = np.zeros(a.shape[1], np.uint64)
        for i in range(limbs - j):
            total = a[i] * factors[j]  # with both addends below: at most 2^64 - 1
            total += sums[i + j]
            total += carry
            np.bitwise_and(total, _LOW, out=sums[i + j])
            np.right_shift(total, _BITS, out=carry)
    return sums


def combined(coefficients: npt.NDArray[np.uint64], words: Limbs, bits: int) -> Limbs:
    """Returns sums of words with coefficients, mod 2^bits: those of each row of words, by the same coefficients.

    Arguments:
        coefficients: integers of up to 64 bits, of shape (sums, m).
        words: words of shape (rows, m, limbs).
        bits: the width of words.

    Returns:
        Words of shape (rows, sums, limbs).
    """
    rows, m, limbs = words.shape
    digits = np.zeros((rows, len(coefficients), 2 * limbs), np.uint64)  # in base 2^16; carries are done at the end
    pieces = -(-int(coefficients.max(initial=0)).bit_length() // _PIECE_BITS)
    length = min(m, _CHUNK) or 1
    step = max(1, _CHUNK // length)
    for start in range(0, m, length):
        part = slice(start, start + length)
        for first in range(0, rows, step):
            chunk = words[first : first + step, part].astype(np.uint64)
            for piece in range(pieces):
                scale = (coefficients[:, part] >> np.uint64(_PIECE_BITS * piece)) & _PIECE
                # A product has 48 bits, and at most 2^12 of them are added.
                _add(digits[first : first + step], scale @ chunk, piece)
    return _carried(digits, bits)


def _add(digits: npt.NDArray[np.uint64], sums: npt.NDArray[np.uint64], piece: int) -> None:
    """Adds sums of limbs, times 2^(16 piece), to digits in base 2^16."""
    for i in range(sums.shape[-1]):
        for at in range(piece + 2 * i, min(piece + 2 * i + 4, digits.shape[-1])):
            digits[..., at] += sums[..., i] >> np.uint64(_PIECE_BITS * (at - piece - 2 * i)) & _PIECE


def _carried(digits: npt.NDArray[np.uint64], bits: int) -> Limbs:
    halves = np.empty(digits.shape, "<u2")
    carry = np.zeros(digits.shape[:-1], np.uint64)
    for at in range(digits.shape[-1]):
        carry += digits[..., at]
        halves[..., at] = carry & _PIECE
        carry >>= np.uint64(_PIECE_BITS)
    found = halves.view("<u4")
    clear(found, bits)
    return found
