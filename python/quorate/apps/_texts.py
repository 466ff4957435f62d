"""Texts as numbers, for set intersection: the first bits of SHA-256.

Two texts of n and m that are different are taken for equal with probability n m / 2^bits at most: 10^-7 for two sets of
a million at 63 bits. Both owners compute the same numbers by themselves, so the texts must be alike to the letter; what
is no text is refused, and so are texts of one set that hash alike.
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
"""Fewer bits make equal numbers of different texts likely."""

# What is hashed begins so: nobody else's hashes of the same texts are alike.
_PURPOSE = b"quorate private set intersection 1\0"


class Texts:
    """The texts that this party has, by their numbers."""

    def __init__(self, bits: Any) -> None:
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not LEAST_BITS <= bits <= 64:
            raise ConfigError(at(f"psi: texts are hashed to {LEAST_BITS} to 64 bits, not {bits!r}"))
        self._bits = int(bits)
        self._known: dict[int, str] = {}

    def numbers(self, values: Any, here: bool) -> Any:
        """The numbers of a set of texts, given as `psi` takes sets; not at its owner, the size alone counts."""
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
        if empty is not None:  # as missing ones are in files; they would match each other
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
        """The texts of shared numbers, in their order, where this party has them; else the numbers."""
        if not isinstance(answer, np.ndarray) or any(number not in self._known for number in answer.tolist()):
            return answer
        return np.array(sorted(self._known[number] for number in answer.tolist()), dtype=str)
