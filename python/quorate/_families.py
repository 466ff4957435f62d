"""The families of protocols, as the native module describes them: names, numbers of parties, sharings, own options."""

from __future__ import annotations

import dataclasses
from typing import Any

from quorate import _quorate

__all__ = ["DEFAULT", "FAMILIES", "Choice", "Family", "choices", "listed", "table"]


@dataclasses.dataclass(frozen=True)
class Choice:
    """An option that some families have of their own.

    Attributes:
        name: how it is called.
        values: what it may be; the first holds where nothing is asked for.
        help: what it chooses, in a line.
    """

    name: str
    values: tuple[str, ...]
    help: str

    @property
    def listed(self) -> str:
        """Its values, as a sentence has them."""
        return listed(self.values)

    @property
    def is_switch(self) -> bool:
        """Whether it is off or on."""
        return self.values == ("no", "yes")


@dataclasses.dataclass(frozen=True)
class Family:
    """One security model.

    Attributes:
        name: as `qr.local` takes it.
        about: who computes, and who may cheat, in a line.
        parties: numbers of parties that it is tested with, the usual one first.
        takes: the numbers of parties that it runs with, in words.
        sharings: those that programs are planned over.
        options: its own.
    """

    name: str
    about: str
    parties: tuple[int, ...]
    takes: str
    sharings: tuple[str, ...]
    options: tuple[Choice, ...]


def _read() -> dict[str, Family]:
    def one(entry: dict[str, Any]) -> Family:
        options = tuple(Choice(name, tuple(values), text) for name, values, text in entry["options"])
        lists = {key: tuple(entry[key]) for key in ("parties", "sharings")}
        return Family(**{**entry, **lists, "options": options})

    return {entry["name"]: one(entry) for entry in _quorate.families()}


FAMILIES = _read()
"""By name, the one first that holds where none is named."""

DEFAULT = next(iter(FAMILIES))


def choices() -> dict[str, Choice]:
    """The options that some family has of its own, by name."""
    return {option.name: option for family in reversed(FAMILIES.values()) for option in family.options}


def listed(names: tuple[str, ...], last: str = "or") -> str:
    """ "a, b or c"."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def table() -> str:
    """What there is, for `quorate protocols`."""
    lines = []
    for family in FAMILIES.values():
        lines += [f"{family.name}: {family.about}", f"  parties: {family.takes}"]
        lines += [f"  sharings: {'+'.join(family.sharings)}"]
        lines += [f"  {option.name}={option.listed}: {option.help}" for option in family.options]
    return "\n".join(lines)
