"""`qr.session()`: a session as the command line describes it, so that one script runs under every command."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from quorate._families import DEFAULT
from quorate._session._options import LOCAL, OPTIONS, named
from quorate.session import Session, connect, local

__all__ = ["Settings", "session", "settings"]


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


settings = Settings()


@named(*OPTIONS, *LOCAL)
def session(**options: Any) -> Session:
    """Opens the session that the command line describes.

    It takes the options of `qr.local`. Options of the command line override them.

    Under `quorate party` this process is one party. Under `quorate run` it is one of several processes on this machine,
    one for each party. Under `quorate explain` nothing is sent, and `reveal` returns placeholders without values.
    Otherwise all parties run in this process.
    """
    chosen = {**options, **settings.options}
    if settings.config is not None:
        return connect(settings.config, **chosen)
    opened = local(settings.protocol, settings.parties, settings.network, **chosen)
    if settings.explain:
        from quorate._command._explain import Explaining

        return Explaining(opened)
    return opened
