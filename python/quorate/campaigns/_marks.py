"""The marks between which a server keeps its pool: `[[pool]]` in `serve.toml`, a table for each approved program."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorate.errors import ConfigError
from quorate_client.job import Parameter, canonical, is_parameter

__all__ = ["MOST_STARTS", "Marks", "marks_of"]

#: Starts of a program for which a pool may be made.
MOST_STARTS = 1 << 16

_MOST_TABLES = 64
_MOST_TIMEOUT_S = 7 * 86_400
_HASH = re.compile(r"[0-9a-f]{64}")
_KEYS = ("program", "low", "high", "parameters", "form", "timeout_s")
_ENTRY = b"quorate/job/marks/1\0"


@dataclasses.dataclass(frozen=True)
class Marks:
    """The marks of a program with some parameters.

    Attributes:
        program: the SHA-256 of the program's file, 64 hexadecimal digits.
        low: correlations are made when those for fewer starts are left.
        high: they are made until those for this number of starts are left. At other servers than server 0 it is the
            most that they agree to.
        parameters: the arguments of the program.
        forms: the form of each party's rows that the program reads, as `--form` has it: "0=114x30:fixed64.16".
        timeout_s: the seconds after which a making is ended.
    """

    program: str
    low: int
    high: int
    parameters: Mapping[str, Parameter]
    forms: tuple[str, ...] = ()
    timeout_s: int = 3600

    @property
    def entry(self) -> bytes:
        """The name by which servers speak of the program with these parameters and forms, 32 bytes."""
        stated = {"program": self.program, "parameters": dict(self.parameters), "form": list(self.forms)}
        return hashlib.sha256(_ENTRY + canonical(stated)).digest()


def marks_of(tables: Any, file: Path) -> tuple[Marks, ...]:
    """Reads the tables.

    Args:
        tables: what the file has under `pool`.
        file: the file, for messages.

    Raises:
        ConfigError: a key is missing, unknown or wrong, or two tables are for the same program and parameters.
    """
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise ConfigError(f"{file}: `pool` must be a list of tables, as in [[pool]]")
    if len(tables) > _MOST_TABLES:
        raise ConfigError(f"{file}: there are {len(tables)} tables [[pool]], and at most {_MOST_TABLES} are kept")
    read = tuple(_read(one, file) for one in tables)
    if len({one.entry for one in read}) < len(read):
        raise ConfigError(f"{file}: two tables [[pool]] are for the same program, parameters and form: join them")
    return read


def _read(table: Mapping[str, Any], file: Path) -> Marks:
    for name in table:
        if name not in _KEYS:
            raise ConfigError(f"{file}: there is no key `pool.{name}`; there are {', '.join(_KEYS)}")
    program, parameters = table.get("program"), table.get("parameters", {})
    if not isinstance(program, str) or not _HASH.fullmatch(program):
        raise ConfigError(f"{file}: `pool.program` must be the hash of a program, as `quorate program list` prints it")
    if not isinstance(parameters, dict) or not all(is_parameter(value) for value in parameters.values()):
        raise ConfigError(f"{file}: `pool.parameters` must be a table of integers and texts, as a job states them")
    forms = table.get("form", [])
    if not isinstance(forms, list) or not all(isinstance(one, str) and one for one in forms):
        raise ConfigError(f'{file}: `pool.form` must be a list of texts, as in ["0=114x30:fixed64.16"]')
    low, high = (_integer(table, name, MOST_STARTS, file) for name in ("low", "high"))
    if low > high:
        raise ConfigError(f"{file}: `pool.low` is above `pool.high`")
    timeout_s = _integer(table, "timeout_s", _MOST_TIMEOUT_S, file) if "timeout_s" in table else 3600
    return Marks(program, low, high, dict(parameters), tuple(forms), timeout_s)


def _integer(table: Mapping[str, Any], name: str, most: int, file: Path) -> int:
    value = table.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigError(f"{file}: `pool.{name}` must be an integer from 1 to {most}")
    return value
