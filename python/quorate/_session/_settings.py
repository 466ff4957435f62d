"""What the command line states for the sessions that a script opens: protocol, parties, files, options."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from quorate._families import DEFAULT

__all__ = ["Settings", "settings"]


@dataclasses.dataclass
class Settings:
    """The settings of the command line. The defaults hold for a script that is run by itself: a local session."""

    protocol: str = DEFAULT
    parties: int | None = None
    network: str | None = None
    config: str | None = None
    explain: bool = False
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    inputs: dict[int, str] = dataclasses.field(default_factory=dict)
    forms: dict[int, str] = dataclasses.field(default_factory=dict)
    output: Path | None = None
    written: bool = False
    approve: list[str] | None = None
    audit: str | None = None
    session: str | None = None
    script: str | None = None


settings = Settings()
