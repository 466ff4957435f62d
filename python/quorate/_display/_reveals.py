"""The reveals of a run, as plans show them: which values, to whom, and from whose inputs."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["RevealPlan"]


@dataclasses.dataclass(frozen=True)
class RevealPlan:
    """One value that a run reveals.

    Attributes:
        line: "file:number" of the line that reveals it.
        what: a description of the value, with the line that makes it.
        shape, dtype: the shape and dtype of the value.
        to: the parties that learn it; None for all.
        depends_on: the parties on whose inputs it may depend. No other input has any influence on it.
        inputs_of: the parties whose own inputs it shows to others: whole, in part, in another order, or in a form that
            anyone can undo.
        clients: whether it may depend on what clients of a campaign gave.
        inputs_of_clients: whether it shows what clients gave, as `inputs_of` says of parties.
        tells: a description of what its owner announces to all parties (`announce`, `input_frame`, `input_file`); empty
            otherwise.
    """

    line: str
    what: str
    shape: tuple[int, ...]
    dtype: str
    to: tuple[int, ...] | None
    depends_on: tuple[int, ...]
    inputs_of: tuple[int, ...] = ()
    tells: str = ""
    clients: bool = False
    inputs_of_clients: bool = False

    HEADS = ("reveals", "shape", "dtype", "to", "depends on inputs of", "value")

    @staticmethod
    def of(raw: dict[str, Any], place: tuple[str, int], tells: str = "") -> RevealPlan:
        """Makes the plan of a reveal from the native module's dictionary and the line that reveals."""
        return RevealPlan(
            line="{}:{}".format(*place),
            what=raw["what"],
            shape=tuple(raw["shape"]),
            dtype=raw["dtype"],
            to=None if raw["to"] is None else tuple(raw["to"]),
            depends_on=tuple(raw["depends_on"]),
            inputs_of=tuple(raw["inputs_of"]),
            tells=tells,
            clients=raw["clients"],
            inputs_of_clients=raw["inputs_of_clients"],
        )

    @property
    def warning(self) -> str | None:
        """A warning if the reveal shows a party's own input to others; None otherwise, and for announced values."""
        if not (self.inputs_of or self.inputs_of_clients) or self.tells:
            return None
        others = "all parties" if self.to is None else _named(self.to, "")
        is_one = len(self.inputs_of) == 1 and not self.inputs_of_clients
        own, whose = "an input of its own" if is_one else "inputs of their own", self._inputs_of()
        return (
            f"WARNING: {self.line} reveals to {others} what {whose} gave as {own}: as it is, in "
            f"part, in another order, or in a form that anyone can invert ({self.what})"
        )

    def _inputs_of(self) -> str:
        return _with_clients(self.inputs_of, self.inputs_of_clients, "")

    @property
    def remark(self) -> str:
        """A line that says what an owner announces."""
        if self.clients:
            return f"{self.line}: all parties learn {self.tells}"
        return f"{self.line}: {_named(self.depends_on, 'nobody')} tells all parties {self.tells}"

    def row(self) -> list[str]:
        """Returns the reveal's row in the table of a plan."""
        return [
            self.line,
            str(self.shape),
            self.dtype,
            "all parties" if self.to is None else _named(self.to, ""),
            _with_clients(self.depends_on, self.clients, "nobody"),
            self.what,
        ]


def _named(parties: tuple[int, ...], nobody: str) -> str:
    if len(parties) == 1:
        return f"party {parties[0]}"
    return f"parties {', '.join(map(str, parties))}" if parties else nobody


def _with_clients(parties: tuple[int, ...], clients: bool, nobody: str) -> str:
    if not clients:
        return _named(parties, nobody)
    return f"{_named(parties, '')} and clients" if parties else "clients"
