"""The options of a session: what there is, what each may be, and which this release does not have yet."""

from __future__ import annotations

import dataclasses
from typing import Any

from quorate._source import at
from quorate.errors import ConfigError

__all__ = ["OPTIONS", "Options"]

# What sessions of every place have.
OPTIONS = ("strict",)

# Options of later releases: the value that says what holds without them.
_UNCHANGED = {
    "seed": None,
    "shadow": False,
    "trunc": "exact",
    "forms": "auto",
    "threads": 1,
    "max_memory": None,
    "malicious": False,
}


@dataclasses.dataclass(frozen=True)
class Options:
    """What local sessions and deployments can choose.

    Attributes:
        strict: refuse a program whose values may leave their dtype; inputs then need a bound.
        trunc: "exact" or "probabilistic", how products of fixed point are rounded.
        forms: "auto", "edabits" or "randbits", which of several protocols with one result run.
        threads: on which a party computes.
        max_memory: bytes that a party may use; None for no bound.
    """

    strict: bool = False
    trunc: str = "exact"
    forms: str = "auto"
    threads: int = 1
    max_memory: int | None = None

    @staticmethod
    def of(given: dict[str, Any], known: tuple[str, ...]) -> Options:
        """From keyword arguments.

        Args:
            given: what a caller passed.
            known: the names to list where one is refused.

        Raises:
            ConfigError: naming the options that there are.
        """
        chosen: dict[str, Any] = {}
        for name, value in given.items():
            if name == "strict":
                chosen[name] = bool(value)
            elif name not in _UNCHANGED or value != _UNCHANGED[name]:
                raise ConfigError(
                    at(f"this release has no option {name}={value!r}; the options here are {', '.join(known)}")
                )
        return Options(**chosen)

    @property
    def parts(self) -> dict[str, Any]:
        """As the native module takes them."""
        return dataclasses.asdict(self)
