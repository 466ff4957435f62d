"""Results for the clients of a campaign: opened under masks that the clients drew, and kept for them.

**Source**: "Results for clients" in docs/security/clients.md. A mask is a word of a client's packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorate import _source
from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ConfigError, DtypeError, ShapeError, SubmissionError

if TYPE_CHECKING:
    from quorate.tables._entry import Entry
    from quorate_client.campaign import Column

__all__ = ["answer"]


def answer(entry: Entry, present: SecretArray, results: Mapping[str, SecretArray]) -> None:
    """Gives clients their results; see `Submissions.answer`."""
    session, names = entry.session, [column.name for column in entry.slot.results]
    if not names:
        raise ConfigError(at(f"answer: the campaign lists no results of slot {entry.slot.name!r}"))
    for name in results:
        if name not in names:
            known = ", ".join(map(repr, names))
            raise ConfigError(at(f"answer: slot {entry.slot.name!r} has no result {name!r}; it has {known}"))
    values = [_checked(entry, column, results) for column in entry.slot.results]
    if entry.has_answered:
        raise SubmissionError(at(f"answer: clients of slot {entry.slot.name!r} were given results in this session"))
    if entry.shown is None:
        counted = [_counted(present, value) for value in values]
        # Values that were drawn at random must not be drawn again under the same masks, so a run of its own computes
        # them. It shows nothing, and the next one, which may be repeated, opens what this one has left.
        session.reveal_all(*(value.reshape(-1)[:0] for value in counted))
        entry.shown = [_masked(value, mask) for value, mask in zip(counted, entry.masks(), strict=True)]
    entry.keep(dict(zip(names, session.reveal_all(*entry.shown), strict=True)))
    entry.has_answered = True


def _masked(value: SecretArray, mask: SecretArray) -> SecretArray:
    session = value._session
    return SecretArray(session, session._native.masked(value._node, mask._node, _source.line()))


def _checked(entry: Entry, column: Column, results: Mapping[str, SecretArray]) -> SecretArray:
    value, dtype, shape = results.get(column.name), entry.dtype(column), (entry.places, *column.shape)
    if value is None:
        raise ConfigError(at(f"answer: result {column.name!r} of slot {entry.slot.name!r} is missing"))
    if not isinstance(value, SecretArray) or value.dtype != dtype:
        raise DtypeError(at(f"answer: result {column.name!r} is a secret array of {dtype}"))
    if value.shape != shape:
        raise ShapeError(at(f"answer: result {column.name!r} has shape {shape}, and here is one of {value.shape}"))
    return value


def _counted(present: SecretArray, value: SecretArray) -> SecretArray:
    """Returns zeros in place of results of clients that do not count: they have no mask."""
    counts = present.reshape(-1, *(1,) * (value.ndim - 1))
    return counts & value if value.dtype.kind == "bit" else present._session.where(counts, value, 0)
