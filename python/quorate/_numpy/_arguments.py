"""The secret arrays among the arguments of a numpy function, and their session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quorate._source import at
from quorate.array import SecretArray
from quorate.errors import ConfigError

__all__ = ["secrets_in", "session_of"]


def secrets_in(values: Any) -> Iterator[SecretArray]:
    """Yields all secret arrays among arguments, also those in lists, tuples and dictionaries."""
    for value in values:
        if isinstance(value, SecretArray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from secrets_in(value)
        elif isinstance(value, dict):
            yield from secrets_in(value.values())


def session_of(*values: Any) -> Any:
    """Returns the session of the secret arrays among arguments.

    Raises:
        ConfigError: the arrays belong to several sessions.
    """
    found = {id(x._session): x._session for x in secrets_in(values)}
    if len(found) > 1:
        raise ConfigError(at("the arrays belong to different sessions"))
    return next(iter(found.values()))
