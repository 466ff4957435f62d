"""The arguments that all applications share: the owners of data, and the parties that learn results."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate._source import at
from quorate._values._public_numbers import as_numbers
from quorate.array import SecretArray
from quorate.errors import ConfigError, DtypeError, ShapeError
from quorate.session import Session

__all__ = ["NOBODY", "OWNERS", "Answer", "is_here", "learners", "of_owner", "parties_of", "revealed", "sizes_of"]

OWNERS = "owners"
"""A value of `reveal_to`: both owners of the data."""

NOBODY = "nobody"
"""A value of `reveal_to`: the result stays secret, for further computation."""

Answer = int | str | None | Sequence[int]


def parties_of(mpc: Session, what: str, owners: Any) -> tuple[int, int]:
    """Returns the two owners' numbers.

    Raises:
        ConfigError: they are not two of the session's parties.
    """
    try:
        first, second = (mpc._owner(owner) for owner in owners)
    except (TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(at(f"{what}: owners are two parties' numbers, such as (0, 1), not {owners!r}")) from None
    return first, second


def is_here(mpc: Session, owner: int) -> bool:
    """Whether this process has the owner's values."""
    return mpc.me == owner


def of_owner(mpc: Session, what: str, values: Any, owner: int) -> np.ndarray | None:
    """Returns the owner's values, at the owner; None elsewhere, and where nothing is computed.

    Raises:
        ConfigError: the owner gave no values.
        DtypeError: they are secret already, or not numbers.
    """
    if isinstance(values, SecretArray):
        raise DtypeError(at(f"{what} takes its owners' values themselves; this is a secret array already"))
    if not is_here(mpc, owner):
        return None
    values = values() if callable(values) else values
    if values is None:
        if mpc._nothing_is_sent:
            return None
        raise ConfigError(at(f"{what}: party {owner} is here: give its values"))
    return as_numbers(values, what)


def sizes_of(what: str, own: np.ndarray | None, values: Any, stated: Any, axes: Sequence[int]) -> tuple[int, ...]:
    """Returns the public shape of an owner's array: as stated, or that of the values.

    Args:
        what: the name of the application.
        own: the values at their owner.
        values: the caller's argument; at other parties only its shape is used.
        stated: the stated shape, or None.
        axes: the allowed numbers of axes.

    Raises:
        ConfigError: the shape is not stated, and no values are given here.
        ShapeError: stated and actual shape differ, or the number of axes is not allowed.
    """
    shape = None
    if own is not None:
        shape = own.shape
    elif values is not None and not callable(values):
        shape = np.shape(values)
    if stated is not None:
        wanted = _whole(what, stated)
        if shape is not None and shape != wanted:
            raise ShapeError(at(f"{what}: the values have shape {shape}, but {wanted} was stated"))
        shape = wanted
    if shape is None:
        raise ConfigError(at(f"{what}: this party does not have all values: state their sizes"))
    if len(shape) not in axes:
        counts = " or ".join(map(str, axes))
        raise ShapeError(at(f"{what}: values of shape {shape}: it takes arrays of dimension {counts}"))
    return tuple(shape)


def _whole(what: str, stated: Any) -> tuple[int, ...]:
    sizes = (stated,) if isinstance(stated, numbers.Integral) else stated
    try:
        listed = tuple(sizes)
    except TypeError:
        listed = (-1,)
    if any(isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0 for n in listed):
        raise ShapeError(at(f"{what}: sizes are whole numbers from 0 on, not {stated!r}"))
    return tuple(int(n) for n in listed)


def learners(mpc: Session, what: str, reveal_to: Answer, owners: tuple[int, int]) -> list[int | None]:
    """Returns the parties that learn the result: [None] for all, an empty list for `NOBODY`.

    Raises:
        ConfigError: `reveal_to` is something else.
    """
    if reveal_to is None:
        return [None]
    if isinstance(reveal_to, str):
        known: dict[str, list[int | None]] = {OWNERS: [*dict.fromkeys(owners)], NOBODY: []}
        if reveal_to in known:
            return known[reveal_to]
    listed: list[Any] = []
    if isinstance(reveal_to, numbers.Integral):
        listed = [reveal_to]
    elif isinstance(reveal_to, Sequence) and not isinstance(reveal_to, str):
        listed = [*reveal_to]
    whole = all(isinstance(party, numbers.Integral) and not isinstance(party, bool) for party in listed)
    if not listed or not whole or not all(0 <= party < mpc.parties for party in listed):
        raise ConfigError(
            at(
                f"{what}: reveal_to is a party's number (0 to {mpc.parties - 1}), several of them, {OWNERS!r}, "
                f"{NOBODY!r}, or None for all, not {reveal_to!r}"
            )
        )
    return [*dict.fromkeys(int(party) for party in listed)]


def revealed(mpc: Session, arrays: Sequence[SecretArray], to: list[int | None]) -> list[Any] | None:
    """Reveals arrays and returns their values; None at parties that do not learn them.

    Under `quorate explain` the values are placeholders.
    """
    found = None
    for party in to:
        values = mpc.reveal_all(*arrays, to=party)
        if all(value is not None for value in values):
            found = values
    return found
