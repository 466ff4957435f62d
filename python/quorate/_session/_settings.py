"""What the command line states for the sessions that a script opens: protocol, parties, files, options."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from quorate._families import DEFAULT

__all__ = ["Settings", "settings"]


@dataclasses.dataclass
class Settings:
    """The settings of the command line. The defaults hold for a script that is run by itself: a local session.

    Every session has a copy, of what the command line stated when it was opened.
    """

    protocol: str = DEFAULT
    parties: int | None = None
    network: str | None = None
    config: str | None = None
    explained: Any = None  # under `quorate explain`, the book of the plans that the script's sessions make
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    inputs: dict[int, str] = dataclasses.field(default_factory=dict)
    forms: dict[int, str] = dataclasses.field(default_factory=dict)
    output: Path | None = None
    written: bool = False
    approve: list[str] | None = None
    audit: str | None = None
    session: str | None = None
    script: str | None = None
    pool: str | None = None
    making: Any = None  # under `quorate preprocess`, the supply of the pools that the script's sessions fill

    def copied(self) -> Settings:
        """Returns a copy, which later changes do not change."""
        options, inputs, forms = dict(self.options), dict(self.inputs), dict(self.forms)
        return dataclasses.replace(self, options=options, inputs=inputs, forms=forms)


settings = Settings()
