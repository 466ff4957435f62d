"""The options of a session, and checks of their values."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from quorate import _source
from quorate._families import Choice, choices
from quorate._source import at
from quorate.errors import ConfigError, CostWarning

__all__ = ["LOCAL", "OPTIONS", "Options", "named"]

Function = TypeVar("Function", bound=Callable[..., Any])

# The options of all sessions, including those that only some families have; and the options of local sessions alone.
OPTIONS = ("strict", "trunc", "threads", "max_memory", "sharings", "offline_weight", *choices())
LOCAL = ("seed", "shadow", "check")

_LOCAL_ONLY = {
    "seed": "with known coins whoever knows the seed sees every secret",
    "shadow": "it opens every value of the program on the way",
    "check": "it takes the values of all parties",
}


def named(*options: str) -> Callable[[Function], Function]:
    """Names the options of a function that takes `**options` in its signature, for completion and help."""

    def with_names(function: Function) -> Function:
        signature = inspect.signature(function)
        stated = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in options]
        function.__signature__ = signature.replace(parameters=[*stated, *own])  # type: ignore[attr-defined]
        return function

    return with_names


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a session.

    Attributes:
        strict: refuse a program whose values may leave their dtype; inputs then need a bound.
        trunc: "exact" or "probabilistic", how products of fixed point are rounded.
        threads: the threads on which a party computes; each party may choose its own number. None means the cores of
            the machine, divided among the parties of this process, but no more than 8.
        max_memory: bytes that a party may use for the values that it holds and computes, as a number or as "4GB" (also
            4e9, kB, MB, KiB, MiB, GiB). None means the free memory where the parties run. It must be the same at all
            parties. Large steps run in pieces; steps that cannot be cut and do not fit are refused before anything is
            sent.
        sharings: "auto", or the sharings that the planner may use, as in "A+Y".
        offline_weight: for the planner, the weight of a second of the offline phase relative to one online.
        family: the options that only some families have, by name; only those that were given.
        seed: the seed of all random numbers; None for the operating system's. Local sessions only.
        shadow: whether numpy runs beside the protocol. Local sessions only.
        check: whether a run first checks that values fit their dtypes. Local sessions only.
    """

    strict: bool = False
    trunc: str = "exact"
    threads: int | None = None
    max_memory: int | None = None
    sharings: str = "auto"
    offline_weight: float = 1.0
    family: dict[str, str] = dataclasses.field(default_factory=dict)
    seed: int | None = None
    shadow: bool = False
    check: bool = True

    @staticmethod
    def of(given: dict[str, Any], places: tuple[str, ...], local: bool) -> Options:
        """Makes options from keyword arguments.

        Args:
            given: the keyword arguments of the caller.
            places: the names of the caller's other arguments, for the message that refuses an option.
            local: whether all parties are in this process.

        Raises:
            ConfigError: an option is unknown, or not for deployments. The message lists the options, or gives the
                reason.
        """
        known = OPTIONS + (LOCAL if local else ())
        chosen: dict[str, Any] = {"family": {}}
        own = choices()
        for name, value in given.items():
            if name in own:
                chosen["family"][name] = _choice(own[name], value)
            elif name in known:
                chosen[name] = _CHECKS[name](name, value)
            elif name in LOCAL and value in (None, False):
                continue
            elif name in LOCAL:
                raise ConfigError(at(f"{name}={value!r} is for local sessions only: {_LOCAL_ONLY[name]}"))
            else:
                there = ", ".join(places + known)
                raise ConfigError(at(f"this release has no option {name}={value!r}; the options here are {there}"))
        return Options(**chosen)

    @property
    def parts(self) -> dict[str, Any]:
        """The options in the form that the native module takes."""
        return {name: value for name, value in dataclasses.asdict(self).items() if name not in LOCAL}

    @property
    def insecure(self) -> tuple[str, ...]:
        """Descriptions of the protections that these options switch off."""
        found = []
        if self.seed is not None:
            found.append("seed: every share and mask grows from a seed that was given")
        if self.shadow:
            found.append("shadow: intermediate values were opened in this process")
        return tuple(found)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ConfigError(at(f"{name} must be True or False, not {value!r}"))
    return bool(value)


def _choice(option: Choice, value: Any) -> str:
    """Checks the value of a family's option. Switches may be True or False, and numbers need no quotes."""
    if option.is_switch and isinstance(value, (bool, np.bool_)):
        return option.values[bool(value)]
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    name: str = _one_of(*option.values)(option.name, str(value) if number else value)
    return name


def _one_of(*names: str) -> Any:
    def check(name: str, value: Any) -> str:
        if value not in names:
            there = " or ".join(f'"{known}"' for known in names)
            raise ConfigError(at(f"{name} must be {there}, not {value!r}"))
        return str(value)

    return check


def _seed(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ConfigError(at(f"{name} must be a whole number from 0 on, or None, not {value!r}"))
    return int(value)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_MOST_THREADS = 256
_MOST_WEIGHT = 1e6


def _threads(_: str, value: Any) -> int | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else str(value)
    if isinstance(value, bool) or not text.isdecimal() or not 1 <= int(text) <= _MOST_THREADS:
        raise ConfigError(at(f"threads must be a whole number from 1 to {_MOST_THREADS}, or None, not {value!r}"))
    cores = os.cpu_count() or 1
    if int(text) > cores:
        there = "one core" if cores == 1 else f"{cores} cores"
        said = at(f"threads={text}: this machine has {there}, and more threads than cores only cost time")
        _source.warn(said, CostWarning)
    return int(text)


def _bytes(_: str, value: Any) -> int | None:
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]+)?(?:e\+?[0-9]{1,2})?) ?([kmg]i?)?b?", str(value).strip().lower())
    count = 0 if found is None or isinstance(value, bool) else int(float(found[1]) * _UNITS[found[2] or ""])
    if not 1 <= count < 2**63:
        raise ConfigError(
            at(f'max_memory must be a number of bytes, or a text such as "4GB" or "512MiB", not {value!r}')
        )
    return count


def _sharings(name: str, value: Any) -> str:
    if value != "auto" and not (isinstance(value, str) and re.fullmatch(r"[ABY](\+[ABY]){0,2}", value)):
        raise ConfigError(at(f'{name} must be "auto", or some of A, B and Y as in "A+Y", not {value!r}'))
    return value


def _weight(name: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 0 <= number <= _MOST_WEIGHT:
        raise ConfigError(at(f"{name} must be a number from 0 to {_MOST_WEIGHT:.0f}, not {value!r}"))
    return number


def _number(value: Any) -> float | None:
    """Returns a number, also from the command line's text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


_CHECKS = {
    "sharings": _sharings,
    "offline_weight": _weight,
    "strict": _flag,
    "threads": _threads,
    "max_memory": _bytes,
    "trunc": _one_of("exact", "probabilistic"),
    "seed": _seed,
    "shadow": _flag,
    "check": _flag,
}
