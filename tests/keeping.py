"""Deployments whose parties keep values, for tests: a store for each party, and sessions in this process."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import quorate as qr
from quorate.session import Session

__all__ = ["Offices", "offices"]


@dataclasses.dataclass
class Offices:
    """The files of all parties of a deployment.

    Attributes:
        configs: each party's `party.toml`.
        protocol, parties, options: those of its sessions.
    """

    configs: list[Path]
    protocol: str
    parties: int
    options: dict[str, Any]

    def session(self, **more: Any) -> Session:
        """Opens a local session of all parties."""
        return qr.local(self.protocol, parties=self.parties, **self.options, **more)


def offices(folder: Path, protocol: str = "rss", parties: int = 3, options: dict[str, Any] | None = None) -> Offices:
    """Writes the files of all parties."""
    configs = []
    for party in range(parties):
        own = folder / f"office{party}"
        own.mkdir()
        key = own / "store.key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        listed = '[[party]]\naddress = "127.0.0.1:1"\ncertificate = "none.crt"\n' * parties
        config = own / "party.toml"
        config.write_text(f'protocol = "{protocol}"\nme = {party}\n{listed}')
        (own / "serve.toml").write_text('store = "store.db"\nstore_key = "store.key"\n')
        configs.append(config)
    return Offices(configs, protocol, parties, options or {})
