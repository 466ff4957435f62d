"""Warnings about answers; those of several batches are joined and given once."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Hashable
from contextvars import Token
from typing import Any

from quorate._source import at, warn
from quorate.errors import ModelWarning

Words = Callable[..., str | None]
_Pending = dict[Hashable, tuple[tuple[float, ...], Words]]

_PENDING: contextvars.ContextVar[_Pending | None] = contextvars.ContextVar("pending", default=None)


def tell(what: Hashable, words: Words, *found: float, add: Callable[[Any], float] = sum) -> None:
    """Warns (`ModelWarning`) at the user's line; inside `AddedUp` once for all answers, at its end.

    Args:
        what: the key of the notice: numbers with the same key are joined.
        words: returns the text for these numbers, or `None` for no warning.
        found: the numbers of this answer alone.
        add: joins the numbers of two answers: `sum` or `max`.
    """
    pending = _PENDING.get()
    if pending is None:
        _say(words(*found))
        return
    if what in pending:
        found = tuple(add(pair) for pair in zip(pending[what][0], found, strict=True))
    pending[what] = found, words


class AddedUp:
    """Joins the warnings about answers that are parts of one, and gives them at the end; after an error it gives none.

    It is no generator: the exit of one would have a frame of the standard library between it and the user's line.
    """

    def __enter__(self) -> None:
        self._pending: _Pending = {}
        self._token: Token[_Pending | None] = _PENDING.set(self._pending)

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        _PENDING.reset(self._token)
        if kind is None:
            for found, words in self._pending.values():
                _say(words(*found))


def _say(text: str | None) -> None:
    if text is not None:
        warn(at(text), ModelWarning)
