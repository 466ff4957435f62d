"""Texts as numbers, for set intersection: the first bits of SHA-256.

In sets of n and m texts, some pair of different texts has the same number with probability at most n m / 2^bits. That
is 10^-7 for two sets of a million at 63 bits. Both owners compute the numbers by themselves, so equal texts must be
identical. Values that are not texts are refused, and so are texts of one set with the same hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate._source import at
from quorate.errors import ConfigError, DtypeError, RangeError

__all__ = ["LEAST_BITS", "Texts"]

LEAST_BITS = 62
"""The least number of bits; with fewer, different texts are likely to have the same number."""

# A prefix of all hashed texts, which separates these hashes from those of other programs.
_PURPOSE = b"quorate private set intersection 1\0"


class Texts:
    """The texts that this party has, by their numbers."""

    def __init__(self, bits: Any) -> None:
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not LEAST_BITS <= bits <= 64:
            raise ConfigError(at(f"psi: texts are hashed to {LEAST_BITS} to 64 bits, not {bits!r}"))
        self._bits = int(bits)
        self._known: dict[int, str] = {}

    def numbers(self, values: Any, here: bool) -> Any:
        """Returns the numbers of a set of texts, given as `psi` takes sets. At other parties only its size counts."""
        if values is None or (not here and callable(values)):
            return None
        if callable(values):
            given: Callable[[], Any] = values
            return lambda: self._hashed(given())
        return self._hashed(values) if here else np.zeros(len(values), np.int64)

    def _hashed(self, values: Any) -> np.ndarray:
        if isinstance(values, (str, bytes)):
            raise DtypeError(at("psi: a set of texts is a list of them, not one text"))
        texts = values.tolist() if hasattr(values, "tolist") else list(values)
        empty = next((i for i, text in enumerate(texts) if isinstance(text, str) and not text.strip()), None)
        if empty is not None:  # files hold missing texts as empty ones, which would match each other
            raise RangeError(at(f"psi: element {empty} of a set is an empty text: leave out what is missing"))
        return np.array([self._number(text) for text in texts], np.uint64)

    def _number(self, text: Any) -> int:
        if not isinstance(text, str):
            raise DtypeError(at(f"psi: texts=True takes texts, and one of the elements is {type(text).__name__}"))
        if text.endswith("\0"):
            raise DtypeError(at("psi: a text ends in a character of code 0, which arrays of texts do not keep"))
        try:
            digest = hashlib.sha256(_PURPOSE + text.encode()).digest()
        except UnicodeEncodeError:
            raise DtypeError(at("psi: a text has half of a character (a lone surrogate)")) from None
        number = int.from_bytes(digest[:8], "big") >> (64 - self._bits)
        if self._known.setdefault(number, text) != text:
            raise RangeError(at("psi: two different texts have one hash: number the elements instead"))
        return number

    def back(self, answer: Any) -> Any:
        """Returns the texts of shared numbers, sorted, if this party has them; else the numbers."""
        if not isinstance(answer, np.ndarray) or any(number not in self._known for number in answer.tolist()):
            return answer
        return np.array(sorted(self._known[number] for number in answer.tolist()), dtype=str)
