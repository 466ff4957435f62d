"""Deployments whose parties keep values, for tests: a store for each party, and sessions in this process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import quorate as qr
from quorate.kept import PartyStores
from quorate.session import Session

__all__ = ["Offices", "in_memory", "offices"]

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None

TABLE = {"kept": "id, name, version, state, chunks", "kept_chunks": "id, at"}


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
        return qr.local(self.protocol, parties=self.parties, **{**self.options, **more})

    def keep(self, name: str, values: Any, **how: Any) -> None:
        """Keeps an input of party 0 in a session of its own."""
        with self.session() as mpc:
            mpc.keep(name, mpc.input(values, owner=0, **how), config=self.configs)

    def kept(self, name: str, **options: Any) -> Any:
        """Reveals a kept value, or all arrays of one, in a session of its own."""
        with self.session(**options) as mpc:
            found = mpc.kept(name, config=self.configs)
            if isinstance(found, dict):
                return dict(zip(found, mpc.reveal_all(*found.values()), strict=True))
            return found.reveal()

    def folder(self, party: int) -> Path:
        """Returns where a party's files are."""
        return self.configs[party].parent

    def keys(self, party: int) -> list[str]:
        """Returns the names of a party's files of keys of kept values."""
        return sorted(file.name for file in self.folder(party).glob("store.db.kept/*"))

    def sql(self, party: int, statement: str, *values: Any) -> list[Any]:
        """Reads or changes a party's store behind its back."""
        with contextlib.closing(sqlite3.connect(self.folder(party) / "store.db", isolation_level=None)) as store:
            return store.execute(statement, values).fetchall()

    def rows(self, party: int, table: str) -> list[Any]:
        """Returns the rows of `kept` or `kept_chunks`."""
        return self.sql(party, f"SELECT {TABLE[table]} FROM {table} ORDER BY id")

    def settle(self, name: str) -> None:
        """Has all parties agree on a version, and erase all others, as the next `keep` would."""
        places = dict(enumerate(self.configs))
        with self.session() as mpc, PartyStores(mpc, name, "keep", places) as stores:
            stores.agree()

    def assert_one(self, name: str, count: int = 1) -> None:
        """Checks that parties have one current version, the same one, and that nothing is left of others."""
        versions = set()
        for party in range(self.parties):
            rows = self.rows(party, "kept")
            assert [(row[1], row[3]) for row in rows] == [(name, "current")] * count, (party, rows)
            versions |= {row[0] for row in rows}
            ids = {row[0] for row in rows}
            assert {row[0] for row in self.rows(party, "kept_chunks")} <= ids
            assert self.keys(party) == sorted(f"{id_.hex()}.key" for id_ in ids)
        assert len(versions) == count


def offices(folder: Path, protocol: str = "rss", parties: int = 3, options: dict[str, Any] | None = None) -> Offices:
    """Writes the files of all parties."""
    configs = []
    for party in range(parties):
        own = folder / f"office{party}"
        own.mkdir(parents=True)
        key = own / "store.key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        listed = '[[party]]\naddress = "127.0.0.1:1"\ncertificate = "none.crt"\n' * parties
        config = own / "party.toml"
        config.write_text(f'protocol = "{protocol}"\nme = {party}\n{listed}')
        (own / "serve.toml").write_text('store = "store.db"\nstore_key = "store.key"\n')
        configs.append(config)
    return Offices(configs, protocol, parties, options or {})


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    """Makes a folder whose files need not wait for a disk."""
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
