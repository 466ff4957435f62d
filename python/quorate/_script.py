"""`qr.session()`: protocol and place from the command line, so that one script serves all of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from quorate._families import DEFAULT
from quorate._options import LOCAL, OPTIONS, named
from quorate.session import Session, connect, local

__all__ = ["Settings", "session", "settings"]


@dataclasses.dataclass
class Settings:
    """What the command line said; a script that is run by itself gets a local session of the first family."""

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
    """The session that the command line asks for, with the options of `qr.local`; the command line's go before.

    Under `quorate party` this process is one party; under `quorate run`, one of several processes here; under
    `quorate explain` nothing is sent and `reveal` returns placeholders; otherwise all parties run in this process.
    """
    chosen = {**options, **settings.options}
    if settings.config is not None:
        return connect(settings.config, **chosen)
    opened = local(settings.protocol, settings.parties, settings.network, **chosen)
    if settings.explain:
        from quorate._explain import Explaining

        return Explaining(opened)
    return opened
