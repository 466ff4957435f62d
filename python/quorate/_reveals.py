"""What a run reveals, as plans show it: to whom, and of whose inputs."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["RevealPlan"]


@dataclasses.dataclass(frozen=True)
class RevealPlan:
    """One value that a run reveals.

    Attributes:
        line: "file:number" of the line that reveals it.
        what: the value in words, with the line that makes it.
        shape, dtype: of it.
        to: the parties that learn it; None for all.
        depends_on: the parties on whose inputs it may depend. No other input has any influence on it.
        inputs_of: the parties of whose own inputs there are elements in it though others learn it: as they are, in
            part, in another order, or in a form that anybody undoes.
        tells: what its owner means to tell all parties (`announce`, `input_frame`, `input_file`); empty otherwise.
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
        """From the native module's dictionary, and the line that reveals."""
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
        """That inputs are revealed which are nobody else's to know; None where there are none, or they are told."""
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
        """What an owner means to tell, in a line."""
        return f"{self.line}: {_named(self.depends_on, 'nobody')} tells all parties {self.tells}"

    def row(self) -> list[str]:
        """In the table of a plan."""
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
