"""The options of a session: what there is, what each may be, and which this release does not have yet."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from quorate._source import at
from quorate.errors import ConfigError

__all__ = ["OPTIONS", "Options"]

# What sessions of every place have.
OPTIONS = ("strict", "threads", "max_memory")

# Options of later releases: the value that says what holds without them.
_UNCHANGED = {
    "seed": None,
    "shadow": False,
    "trunc": "exact",
    "forms": "auto",
    "malicious": False,
}


@dataclasses.dataclass(frozen=True)
class Options:
    """What local sessions and deployments can choose.

    Attributes:
        strict: refuse a program whose values may leave their dtype; inputs then need a bound.
        trunc: "exact" or "probabilistic", how products of fixed point are rounded.
        forms: "auto", "edabits" or "randbits", which of several protocols with one result run.
        threads: on which a party computes; each party may choose its own.
        max_memory: bytes that a party may use for what it holds and computes, as a number or as "4GB" (also kB, MB,
            KiB, MiB, GiB); None for no bound. Alike at all parties.
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
            elif name == "threads":
                chosen[name] = _threads(value)
            elif name == "max_memory":
                chosen[name] = _bytes(value)
            elif name not in _UNCHANGED or value != _UNCHANGED[name]:
                raise ConfigError(
                    at(f"this release has no option {name}={value!r}; the options here are {', '.join(known)}")
                )
        return Options(**chosen)

    @property
    def parts(self) -> dict[str, Any]:
        """As the native module takes them."""
        return dataclasses.asdict(self)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_MOST_THREADS = 256


def _threads(value: Any) -> int:
    text = value if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not text.isdecimal() or not 1 <= int(text) <= _MOST_THREADS:
        raise ConfigError(at(f"threads must be a whole number from 1 to {_MOST_THREADS}, not {value!r}"))
    return int(text)


def _bytes(value: Any) -> int | None:
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]i?)?b?", str(value).strip().lower())
    count = 0 if found is None or isinstance(value, bool) else int(float(found[1]) * _UNITS[found[2] or ""])
    if not 1 <= count < 2**63:
        raise ConfigError(
            at(f'max_memory must be a number of bytes, or a text such as "4GB" or "512MiB", not {value!r}')
        )
    return count
