"""Parts of arrays as numpy arrays and as bytes. Words of more than 64 bits are Python's integers."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from quorate import dtypes

__all__ = ["bounds_of", "bytes_of", "drawn", "from_bytes", "negated", "to_bytes", "wipe"]

_WIDE = 16  # bytes of a word of more than 64 bits


def bounds_of(words: dtypes.Dtype) -> tuple[int, int]:
    """Returns the smallest and the largest word."""
    return 0, (1 << words.bits) - 1


def bytes_of(words: dtypes.Dtype, elements: int) -> int:
    """Returns the bytes of a part of `elements` words."""
    if words.kind == "bit":
        return -(-elements // 8)
    return elements * (8 if words.bits <= 64 else _WIDE)


def to_bytes(part: Any, words: dtypes.Dtype) -> bytes:
    """Returns a part, an array or a scalar, as bytes."""
    if words.kind == "bit":
        return np.packbits(np.asarray(part, np.bool_).reshape(-1), bitorder="little").tobytes()
    if words.bits <= 64:
        return np.ascontiguousarray(part, "<u8").tobytes()
    return b"".join(int(word).to_bytes(_WIDE, "little") for word in np.asarray(part, object).reshape(-1))


def from_bytes(data: bytes | memoryview, words: dtypes.Dtype, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Returns the part that `to_bytes` wrote."""
    if words.kind == "bit":
        elements = int(np.prod(shape, dtype=np.int64))
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=elements, bitorder="little")
        return bits.astype(np.bool_).reshape(shape)
    if words.bits <= 64:
        return np.frombuffer(data, "<u8").astype(np.uint64, copy=False).reshape(shape)
    numbers = [int.from_bytes(data[at : at + _WIDE], "little") for at in range(0, len(data), _WIDE)]
    wide: npt.NDArray[Any] = np.empty(len(numbers), object)
    wide[:] = numbers
    return wide.reshape(shape)


def drawn(words: dtypes.Dtype, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Returns uniform words."""
    elements = int(np.prod(shape, dtype=np.int64))
    part = from_bytes(secrets.token_bytes(bytes_of(words, elements)), words, (elements,))
    return (part if words.kind == "bit" else part & _mask(words)).reshape(shape)


def negated(part: npt.NDArray[Any], words: dtypes.Dtype) -> npt.NDArray[Any]:
    """Returns what gives 0 when it is added to `part`."""
    if words.kind == "bit":
        return part.copy()
    flat = part.reshape(-1)
    negative = np.uint64(0) - flat if words.bits <= 64 else -flat
    return (negative & _mask(words)).reshape(part.shape)


def wipe(parts: Iterable[Any]) -> None:
    """Overwrites parts with zeros, as far as numpy holds them."""
    for part in parts:
        if isinstance(part, np.ndarray) and part.flags.writeable:
            part.fill(0)


def _mask(words: dtypes.Dtype) -> Any:
    mask = (1 << words.bits) - 1
    return np.uint64(mask) if words.bits <= 64 else mask
