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
        )

    @property
    def warning(self) -> str | None:
        """A warning if the reveal shows a party's own input to others; None otherwise, and for announced values."""
        if not self.inputs_of or self.tells:
            return None
        others = "all parties" if self.to is None else _named(self.to, "")
        own = "inputs of their own" if len(self.inputs_of) > 1 else "an input of its own"
        return (
            f"WARNING: {self.line} reveals to {others} what {_named(self.inputs_of, '')} gave as {own}: as it is, in "
            f"part, in another order, or in a form that anybody undoes ({self.what})"
        )

    @property
    def remark(self) -> str:
        """A line that says what an owner announces."""
        return f"{self.line}: {_named(self.depends_on, 'nobody')} tells all parties {self.tells}"

    def row(self) -> list[str]:
        """Returns the reveal's row in the table of a plan."""
        return [
            self.line,
            str(self.shape),
            self.dtype,
            "all parties" if self.to is None else _named(self.to, ""),
            _named(self.depends_on, "nobody"),
            self.what,
        ]


def _named(parties: tuple[int, ...], nobody: str) -> str:
    if len(parties) == 1:
        return f"party {parties[0]}"
    return f"parties {', '.join(map(str, parties))}" if parties else nobody
