"""What users are told of answers: of batches one after another, added up and said once."""

from __future__ import annotations

import contextvars
import warnings
from collections.abc import Callable, Hashable
from contextvars import Token
from typing import Any

from quorate._source import at, line
from quorate.errors import ModelWarning

Words = Callable[..., str | None]
_Pending = dict[Hashable, tuple[tuple[float, ...], Words]]

_PENDING: contextvars.ContextVar[_Pending | None] = contextvars.ContextVar("pending", default=None)


def tell(what: Hashable, words: Words, *found: float, add: Callable[[Any], float] = sum) -> None:
    """A `ModelWarning` at the user's line; inside of `AddedUp` at its end, once of all answers.

    Args:
        what: which notice it is: found numbers of the same one are joined.
        words: what to say of these numbers; `None` for nothing.
        found: numbers that belong to this answer alone.
        add: how two answers' numbers become one: `sum` or `max`.
    """
    pending = _PENDING.get()
    if pending is None:
        _say(words(*found))
        return
    if what in pending:
        found = tuple(add(pair) for pair in zip(pending[what][0], found, strict=True))
    pending[what] = found, words


class AddedUp:
    """Within it answers are parts of one, of which users are told at the end; of what fails they are told nothing.

    Not a generator: its exit would have a frame of the standard library between it and the user's line.
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
        warnings.warn_explicit(at(text), ModelWarning, *line())
