"""What `quorate doctor` finds: lines for people, or a list for machines, and the first fault."""

from __future__ import annotations

import dataclasses
from typing import Any, TextIO

__all__ = ["Finding", "Findings"]


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        about: what was looked at, in a word.
        state: "ok", "warning" or "fault".
        says: the finding, in a sentence.
        party: the party that it is about, if it is about one.
    """

    about: str
    state: str
    says: str
    party: int | None


class Findings:
    """Findings in their order.

    Args:
        out: where each is printed at once, if anywhere.
    """

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._all: list[Finding] = []

    @property
    def fault(self) -> str | None:
        """The first fault, or None."""
        return next((one.says for one in self._all if one.state == "fault"), None)

    def good(self, about: str, says: str, party: int | None = None) -> None:
        """Adds what is as it should be."""
        self._add(Finding(about, "ok", says, party))

    def doubtful(self, about: str, says: str, party: int | None = None) -> None:
        """Adds what works and may cease to."""
        self._add(Finding(about, "warning", says, party))

    def wrong(self, about: str, says: str, party: int | None = None) -> None:
        """Adds what does not work."""
        self._add(Finding(about, "fault", says, party))

    def _add(self, finding: Finding) -> None:
        self._all.append(finding)
        if self._out is not None:
            print(f"{finding.state:8} {finding.about:14} {finding.says}", file=self._out, flush=True)

    def as_list(self) -> list[dict[str, Any]]:
        """Returns the findings as JSON has them."""
        return [dataclasses.asdict(one) for one in self._all]
