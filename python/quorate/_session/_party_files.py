"""The files of the parties of this process, for methods of sessions that use the parties' stores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quorate._source import at
from quorate.errors import ConfigError

if TYPE_CHECKING:
    from quorate.session import Session

__all__ = ["PartyFile", "PartyFiles", "party_files"]

PartyFile = str | os.PathLike[str]
PartyFiles = PartyFile | Sequence[PartyFile] | None


def party_files(session: Session, call: str, config: PartyFiles) -> Mapping[int, PartyFile]:
    """Returns the file of each party of this process; none in a program that is explained.

    Args:
        session: the session.
        call: the method that asks, for messages.
        config: a party's `party.toml`, beside which is its `serve.toml`; by default that of the session. In a local
            session a list of them, one for each party.

    Raises:
        ConfigError: files are missing, or there are too many.
    """
    if session._nothing_is_sent:
        return {}
    if not session.is_local:
        own = config or session._config
        if not isinstance(own, (str, os.PathLike)):
            raise ConfigError(at(f"{call}: give config=, the `party.toml` beside the server's `serve.toml`"))
        return {int(session.me): own}
    if config is None or isinstance(config, (str, os.PathLike)) or len(config) != session.parties:
        what = f"a list of {session.parties} files `party.toml`, one for each party"
        raise ConfigError(at(f"{call}: in a local session give config=, {what}"))
    return dict(enumerate(config))
