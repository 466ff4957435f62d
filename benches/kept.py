#!/usr/bin/env python3
"""Measures values that outlive a session: keeping one, and reading it in a later session, all parties in this process.

    .venv/bin/python benches/kept.py
    .venv/bin/python benches/kept.py --family aby --elements 100000

For each step: seconds, rounds, and bytes that a party sends, at most; the last row is an input of the same size by one
party, for comparison. Parties share the cores and the disk of this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import quorate as qr

#: Families that keep values, and their numbers of parties.
FAMILIES = {"rss": 3, "aby": 2, "pika": 3}


def offices(folder: Path, protocol: str, parties: int) -> list[Path]:
    """Writes the files of all parties: a store and its key for each."""
    configs = []
    for party in range(parties):
        own = folder / f"party{party}"
        own.mkdir()
        (own / "store.key").write_bytes(os.urandom(32))
        (own / "store.key").chmod(0o600)
        (own / "serve.toml").write_text('store = "store.db"\nstore_key = "store.key"\n')
        listed = '[[party]]\naddress = "127.0.0.1:1"\ncertificate = "none.crt"\n' * parties
        config = own / "party.toml"
        config.write_text(f'protocol = "{protocol}"\nme = {party}\n{listed}')
        configs.append(config)
    return configs


class Steps:
    """Prints what each step of a session took."""

    def __init__(self, mpc: qr.Session) -> None:
        self._mpc = mpc
        self._rounds, self._sent, self._began = 0, 0, time.perf_counter()
        self._note()

    def _note(self) -> tuple[float, int, int]:
        took, stats = time.perf_counter() - self._began, self._mpc.stats()
        phases = (stats.offline, stats.online)
        rounds, sent = sum(phase.rounds for phase in phases), sum(max(phase.bytes_sent) for phase in phases)
        row = took, rounds - self._rounds, sent - self._sent
        self._rounds, self._sent, self._began = rounds, sent, time.perf_counter()
        return row

    def show(self, name: str) -> None:
        """Prints what was done since the last call."""
        took, rounds, sent = self._note()
        print(f"| {name} | {took:.2f} | {rounds} | {sent / 1e6:.1f} |")


def main() -> None:
    """Measures a family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=sorted(FAMILIES), default="rss")
    parser.add_argument("--elements", type=int, default=1_000_000)
    options = parser.parse_args()
    parties = FAMILIES[options.family]
    values = np.arange(options.elements) - options.elements // 2
    with tempfile.TemporaryDirectory() as folder:
        configs = offices(Path(folder), options.family, parties)
        print(f"| {options.family}, {options.elements:,} of int(64) | s | rounds | MB |\n|---|---|---|---|")
        with qr.local(options.family, parties=parties) as mpc:
            x = mpc.input(values, owner=0, dtype=qr.int(64))
            mpc.reveal_all(x[:0])
            steps = Steps(mpc)
            mpc.keep("values", x, config=configs)
            steps.show("keep")
            mpc.keep("values", x, config=configs)
            steps.show("keep, replacing it")
        with qr.local(options.family, parties=parties) as mpc:
            steps = Steps(mpc)
            y = mpc.kept("values", config=configs)
            steps.show("kept")
            assert y.sum().reveal() == values.sum()
            steps.show("its first use, a sum")
            assert mpc.input(values, owner=0, dtype=qr.int(64)).sum().reveal() == values.sum()
            steps.show("the same of an input of one party")


if __name__ == "__main__":
    main()
