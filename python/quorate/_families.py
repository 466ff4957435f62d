"""The families of protocols, as the native module describes them: names, numbers of parties, sharings and options."""

from __future__ import annotations

import dataclasses
from typing import Any

from quorate import _quorate

__all__ = ["DEFAULT", "FAMILIES", "Choice", "Family", "choices", "description", "listed"]


@dataclasses.dataclass(frozen=True)
class Choice:
    """An option that only some families have.

    Attributes:
        name: its name.
        values: its possible values, of which the first is the default.
        help: a line that says what it chooses.
    """

    name: str
    values: tuple[str, ...]
    help: str

    @property
    def listed(self) -> str:
        """Its values, listed for a sentence."""
        return listed(self.values)

    @property
    def is_switch(self) -> bool:
        """Whether its values are no and yes."""
        return self.values == ("no", "yes")


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of protocols, with one security model.

    Attributes:
        name: the name that `qr.local` takes.
        about: a line that says who computes, and who may cheat.
        parties: the numbers of parties that it is tested with, the usual one first.
        takes: the numbers of parties that it runs with, in words.
        sharings: the sharings that the planner chooses from.
        options: the family's own options, which other families may lack.
        has_secrets: whether its pools hold keys, so that each is made in one session.
    """

    name: str
    about: str
    parties: tuple[int, ...]
    takes: str
    sharings: tuple[str, ...]
    options: tuple[Choice, ...]
    has_secrets: bool


def _read() -> dict[str, Family]:
    def one(entry: dict[str, Any]) -> Family:
        options = tuple(Choice(name, tuple(values), text) for name, values, text in entry["options"])
        lists = {key: tuple(entry[key]) for key in ("parties", "sharings")}
        return Family(**{**entry, **lists, "options": options})

    return {entry["name"]: one(entry) for entry in _quorate.families()}


FAMILIES = _read()
"""All families by name; the first is the default."""

DEFAULT = next(iter(FAMILIES))


def choices() -> dict[str, Choice]:
    """Returns the options that only some families have, by name."""
    return {option.name: option for family in reversed(FAMILIES.values()) for option in family.options}


def listed(names: tuple[str, ...], last: str = "or") -> str:
    """Joins names as in "a, b or c"."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def description() -> str:
    """Returns the text of `quorate protocols`: all families, with their parties, sharings and options."""
    lines = []
    for family in FAMILIES.values():
        lines += [f"{family.name}: {family.about}", f"  parties: {family.takes}"]
        lines += [f"  sharings: {'+'.join(family.sharings)}"]
        lines += [f"  {option.name}={option.listed}: {option.help}" for option in family.options]
    return "\n".join(lines)
