"""`qr.session()`: a session as the command line describes it, so that one script runs under every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorate._session._options import LOCAL, OPTIONS, named
from quorate._session._settings import settings
from quorate.session import Session, connect, local

__all__ = ["session"]


@named(*OPTIONS, *LOCAL)
def session(session: str | None = None, **options: Any) -> Session:
    """Opens the session that the command line describes.

    It takes the options of `qr.local`. Options of the command line override them. Under `quorate party`, `session` is
    the session's name (see `qr.connect`); elsewhere it has no effect.

    Under `quorate party` this process is one party. Under `quorate run` it is one of several processes on this machine,
    one for each party. Under `quorate explain` nothing is sent, and `reveal` returns placeholders without values.
    Otherwise all parties run in this process.
    """
    chosen = {**options, **settings.options}
    if settings.config is not None and settings.making is not None:
        from quorate._command._preprocess import Preprocessing

        return Preprocessing(connect(settings.config, session, **chosen), settings.making)
    if settings.config is not None and settings.explained is None:
        return connect(settings.config, session, **chosen)
    opened = local(settings.protocol, settings.parties, settings.network, **chosen)
    if settings.explained is not None:
        from quorate._command._explain import Explaining

        opened._config = None if settings.config is None else Path(settings.config)
        return Explaining(opened, settings.explained)
    return opened
