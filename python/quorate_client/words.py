"""Words: the values of a slot as ring elements in bytes, and their additive parts for the servers.

**Layout**: columns in order. An element of k bits takes 1, 2, 4 or 8 bytes, the least that hold it: the element mod
2^k, little-endian, upper bits 0. Bits are packed, eight a byte, the lowest first, and the padding is 0.

**Masks**: where a slot has results, mask words follow the columns: for each look, for each result, uniform words in the
layout of its dtype. They are one stream of a seed that the client keeps. The servers reveal result + mask (bits: xor).

**Parts**: of the receivers s_0 < ... < s_m, each but the last gets a seed of 32 bytes, and the last gets words: the
value less all streams. Bits are combined by xor, other elements mod 2^k. Any m of the m + 1 parts are uniform.

**Stream**: AES-256 in counter mode from 0, in the layout of the words with the unused bits cleared. Its key is
HKDF-SHA256 of the seed, with a label, the packet's campaign, client, slot, item and number, and the receiver's index;
255 for masks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from quorate_client._slots import Column, Slot
from quorate_client.errors import ValuesError, WireError

__all__ = [
    "SEED_BYTES",
    "Words",
    "check",
    "columns",
    "content_bytes",
    "decode",
    "encode",
    "mask",
    "masks",
    "own_words",
    "split",
    "stream",
    "subtract",
    "unmasked",
]

SEED_BYTES = 32
_LABEL = b"quorate/client/stream/1\0"
_MASKS = 255

#: Elements that are converted, and bytes that are drawn, at a time.
_CHUNK = 1 << 20
_ZEROS = bytes(_CHUNK)

Words = npt.NDArray[np.uint8]


def encode(slot: Slot, values: Mapping[str, Any]) -> Words:
    """Returns the words of a packet's values: bytes in the layout of this module. Those of masks are 0: see `mask`.

    Integers are taken exactly; real numbers of a fixed-point column are rounded to its nearest step, ties to even.

    Raises:
        ValuesError: a column is missing or unknown, or its values have another shape or type, do not fit its dtype or
            bounds, or are not finite. The message names the column, and never a value.
    """
    for name in values:
        if name not in [column.name for column in slot.columns]:
            listed = ", ".join(column.name for column in slot.columns)
            raise ValuesError(f"Slot {slot.name} has no column {name!r}. Give values for: {listed}.")
    words: Words = np.zeros(slot.bytes, np.uint8)
    for column, first, end in slot.places[: len(slot.columns)]:
        if column.name not in values:
            raise ValuesError(f"Slot {slot.name}: values of column {column.name} are missing. Give them as well.")
        flat = _array(column, values[column.name]).reshape(-1)
        for start in range(0, column.elements, _CHUNK):
            _write(column, _units(column, flat[start : start + _CHUNK], start), start, words[first:end])
    return words


def masks(slot: Slot, seed: bytes, context: bytes) -> Words:
    """Returns the mask words of a packet's results, in the layout of `slot.masks`."""
    return stream(slot.masks, seed, context, _MASKS)


def mask(slot: Slot, words: Words, seed: bytes, context: bytes) -> None:
    """Writes the masks of a packet's results behind the words of its values."""
    words[slot.bytes - slot.masks.bytes :] = masks(slot, seed, context)


def _refused(column: Column, problem: str) -> ValuesError:
    return ValuesError(f"Column {column.name} ({column.dtype}): {problem}")


def _array(column: Column, value: Any) -> npt.NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise _refused(column, "a masked array has no values where it is masked. Fill them before.")
    try:
        array = np.asarray(value)
        if array.dtype.kind == "f" and not hasattr(value, "dtype"):
            array = np.asarray(value, dtype=object)  # numpy turns [-1, 2**63] into floats, and loses digits
    except (ValueError, TypeError, OverflowError):
        raise _refused(column, "the values are no array: lists must have equal lengths.") from None
    if array.shape != column.shape:
        raise _refused(column, f"the values have shape {array.shape}. Give them in shape {column.shape}.")
    if array.dtype.kind not in "biufO":
        raise _refused(column, f"values of type {array.dtype.name} are not supported. Give numbers.")
    if array.dtype.kind == "b" and column.dtype.kind != "bit":
        raise _refused(column, "the values are truth values. Give numbers, or make it a column of bits.")
    if array.dtype.kind == "f" and column.dtype.kind != "fixed":
        raise _refused(column, "the values are real numbers. Give integers, or make it a column of fixed point.")
    return array


def _units(column: Column, chunk: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
    """Returns elements in units of the last bit, as integers of numpy; `start` is the place of the first one."""
    kind = chunk.dtype.kind
    if kind == "O":
        return _units_of_objects(column, chunk, start)
    if kind == "f":
        finite = np.isfinite(chunk)
        if not finite.all():
            raise _refused(column, f"{_place(column, start + int(finite.argmin()))} is infinite or not a number.")
        with np.errstate(over="ignore"):  # infinity is refused below
            chunk = np.rint(np.ldexp(chunk.astype(np.float64), column.dtype.frac))
    scale = column.dtype.frac if kind in "iu" else 0
    for place in (int(chunk.argmin()), int(chunk.argmax())):
        unit = float(chunk[place]) if kind == "f" else int(chunk[place]) << scale
        _check_range(column, unit, start + place)
    if kind == "f":
        return chunk.astype(np.int64)
    return chunk.astype(np.int64) << scale if scale else chunk


def _units_of_objects(column: Column, chunk: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
    units = []
    for index, value in enumerate(chunk.tolist()):
        if isinstance(value, (bool, np.bool_)) and column.dtype.kind != "bit":
            raise _refused(column, f"{_place(column, start + index)} is a truth value. Give numbers.")
        if isinstance(value, (int, np.integer, np.bool_)):
            exact = Fraction(int(value))
        elif column.dtype.kind == "fixed" and isinstance(value, (float, np.floating, Decimal, Fraction)):
            if not math.isfinite(value):
                raise _refused(column, f"{_place(column, start + index)} is infinite or not a number.")
            exact = Fraction(float(value) if isinstance(value, np.floating) else value)
        else:
            wanted = "a number" if column.dtype.kind == "fixed" else "an integer"
            raise _refused(column, f"{_place(column, start + index)} is not {wanted}.")
        unit = round(exact * (1 << column.dtype.frac))
        _check_range(column, unit, start + index)
        units.append(unit % (1 << 64))
    return np.array(units, np.uint64)


def _check_range(column: Column, unit: int | float, place: int) -> None:
    if column.lowest <= unit <= column.highest:
        return
    bound, side = (column.low, "below") if unit < column.lowest else (column.high, "above")
    of = f"the bound {bound}" if bound is not None else f"what {column.dtype} holds"
    raise _refused(column, f"{_place(column, place)} is {side} {of}.")


def _place(column: Column, flat: int) -> str:
    if not column.shape:
        return "the value"
    return f"the element at {tuple(int(index) for index in np.unravel_index(flat, column.shape))}"


def _write(column: Column, units: npt.NDArray[Any], start: int, words: Words) -> None:
    if column.dtype.kind == "bit":
        packed = np.packbits(units.astype(np.uint8), bitorder="little")
        words[start // 8 : start // 8 + packed.size] = packed
        return
    target = _view(column, words)[start : start + units.size]
    np.copyto(target, units, casting="unsafe")
    _clear(column, target)


def _view(column: Column, words: Words) -> npt.NDArray[Any]:
    """Returns the elements of a column's bytes as unsigned integers; bits stay bytes."""
    return words if column.dtype.kind == "bit" else words.view(f"<u{column.dtype.word_bytes}")


def _unused(column: Column) -> int:
    """Returns the mask of an element's upper bits, or of the padding in the last byte of bits."""
    if column.dtype.kind == "bit":
        return 0xFF ^ ((1 << ((column.elements - 1) % 8 + 1)) - 1)
    return (1 << 8 * column.dtype.word_bytes) - (1 << column.dtype.bits)


def _clear(column: Column, elements: npt.NDArray[Any]) -> None:
    """Clears unused bits of elements, or of a column of packed bits."""
    if unused := _unused(column):
        last = elements[-1:] if column.dtype.kind == "bit" else elements
        last &= last.dtype.type((1 << 8 * last.itemsize) - 1 - unused)


def check(slot: Slot, words: Words) -> None:
    """Checks the length and the unused bits of words.

    Raises:
        WireError: `words` has another length, or a bit of the padding is 1.
    """
    if words.size != slot.bytes:
        raise WireError("words", f"The part has {words.size} bytes of words, and the slot has {slot.bytes}.")
    for column, first, end in slot.places:
        elements = _view(column, words[first:end])
        last = elements[-1:] if column.dtype.kind == "bit" else elements
        for chunk in _chunks(last) if _unused(column) else ():
            if np.any(chunk & last.dtype.type(_unused(column))):
                raise WireError("words", f"Column {column.name}: unused bits of the words must be 0.")


def _chunks(elements: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    return (elements[start : start + _CHUNK] for start in range(0, elements.size, _CHUNK))


def columns(slot: Slot, words: Words) -> list[npt.NDArray[Any]]:
    """Returns the elements of each column of `slot.layout` in its shape: uint64 of 0 to 2^k - 1, or bool for bits.

    Raises:
        WireError: `words` has another length, or a bit of the padding is 1.
    """
    check(slot, words)
    found = []
    for column, first, end in slot.places:
        elements: npt.NDArray[Any]
        if column.dtype.kind == "bit":
            elements = np.unpackbits(words[first:end], count=column.elements, bitorder="little").astype(bool)
        else:
            elements = _view(column, words[first:end]).astype(np.uint64)
        found.append(elements.reshape(column.shape))
    return found


def stream(slot: Slot, seed: bytes, context: bytes, label: int) -> Words:
    """Returns the words that a seed expands to.

    Arguments:
        slot: the layout.
        seed: 32 bytes.
        context: the campaign's hash, client, slot, item and number: `Header.context`.
        label: the index of the server that has the seed.
    """
    info = _LABEL + context + bytes([label])
    key = HKDF(hashes.SHA256(), 32, salt=None, info=info).derive(seed)
    drawn = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    words: Words = np.empty(slot.bytes, np.uint8)
    for start in range(0, slot.bytes, _CHUNK):
        size = min(_CHUNK, slot.bytes - start)
        words[start : start + size] = np.frombuffer(drawn.update(_ZEROS[:size]), np.uint8)
    for column, first, end in slot.places:
        _clear(column, _view(column, words[first:end]))
    return words


def subtract(slot: Slot, words: Words, less: Words) -> None:
    """Subtracts words from words in place."""
    for column, first, end in slot.places:
        target, other = _view(column, words[first:end]), _view(column, less[first:end])
        if column.dtype.kind == "bit":
            target ^= other
        else:
            target -= other
            _clear(column, target)


def split(
    slot: Slot, words: Words, receivers: Sequence[int], seeds: Sequence[bytes], context: bytes
) -> dict[int, bytes | memoryview]:
    """Returns the content of each receiver's part. The words are overwritten.

    Arguments:
        slot: the layout.
        words: the value, as `encode` returns it.
        receivers: indices of servers, ascending.
        seeds: a fresh seed for each receiver but the last.
        context: the campaign's hash, client, slot, item and number: `Header.context`.
    """
    contents: dict[int, bytes | memoryview] = {}
    for receiver, seed in zip(receivers[:-1], seeds, strict=True):
        subtract(slot, words, stream(slot, seed, context, receiver))
        contents[receiver] = seed
    contents[receivers[-1]] = words.data
    return contents


def content_bytes(slot: Slot, receivers: Sequence[int], server: int) -> int:
    """Returns the bytes of the content of a server's part; 0 if the server is no receiver."""
    if server not in receivers:
        return 0
    return slot.bytes if server == receivers[-1] else SEED_BYTES


def decode(column: Column, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the values of elements mod 2^k: int64, uint64, float64 for fixed point, or bool for bits.

    Fixed point of more than 53 bits is rounded to the nearest float64.
    """
    if column.dtype.kind in ("bit", "uint"):
        return elements
    shift = np.int64(64 - column.dtype.bits)
    signed: npt.NDArray[Any] = (elements << shift.astype(np.uint64)).astype(np.int64) >> shift
    if column.dtype.kind == "int":
        return signed
    reals: npt.NDArray[Any] = np.ldexp(signed.astype(np.float64), -column.dtype.frac)
    return reals


def unmasked(slot: Slot, data: bytes, look: int, seed: bytes, context: bytes) -> dict[str, npt.NDArray[Any]]:
    """Returns the results of one look from the masked words that the servers reveal.

    Raises:
        WireError: `data` has another length, or a bit of the padding is 1.
    """
    results = Slot(slot.name, slot.per_client, slot.results)
    words: Words = np.frombuffer(data, np.uint8).copy()
    check(results, words)
    subtract(results, words, masks(slot, seed, context)[look * results.bytes : (look + 1) * results.bytes])
    found = zip(results.columns, columns(results, words), strict=True)
    return {column.name: decode(column, elements) for column, elements in found}


def own_words(slot: Slot, content: bytes, receivers: Sequence[int], server: int, context: bytes) -> Words:
    """Returns the words of a server's part: expanded from its seed, read, or zeros if the server is no receiver.

    Raises:
        WireError: the content has another length, or a bit of the padding is 1.
    """
    wanted = content_bytes(slot, receivers, server)
    if len(content) != wanted:
        raise WireError("content", f"The part has {len(content)} bytes of content, not {wanted}.")
    if server not in receivers:
        return np.zeros(slot.bytes, np.uint8)
    if server != receivers[-1]:
        return stream(slot, content, context, server)
    words = np.frombuffer(content, np.uint8)
    check(slot, words)
    return words
