"""The wire version: what standard programs send is recorded for it, so a change of that without a new version fails.

`python tests/test_wire.py` records what is sent now, after the version in `crates/net/src/tcp/hello.rs` was raised.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate._quorate import WIRE_VERSION

RECORD = Path(__file__).with_name("wire.json")

#: A session of each family and each model of security; without what depends on measured prices.
SESSIONS: dict[str, dict[str, Any]] = {
    "rss": {"protocol": "rss"},
    "rss of five": {"protocol": "rss", "parties": 5},
    "aby": {"protocol": "aby", "sharings": "A+B"},
    "aby, garbled": {"protocol": "aby", "sharings": "Y"},
    "spdz2k": {"protocol": "spdz2k", "offline": "protocol"},
    "pika": {"protocol": "pika"},
    "pika, malicious": {"protocol": "pika", "malicious": True},
}


def sent(options: dict[str, Any]) -> dict[str, Any]:
    """Runs products, comparisons, a maximum, a division and a matrix product; returns rounds and bytes by phase."""
    with qr.local(**options) as mpc:
        whole = [
            mpc.input(np.arange(-20, 20) if owner == 0 else np.arange(40), owner=owner, dtype=qr.int(32), bound=100)
            for owner in (0, 1)
        ]
        x, y = whole
        fixed = mpc.input(np.linspace(1, 9, 4), owner=1, dtype=qr.fixed(64, 16), bound=10)
        mpc.reveal_all((x * y).sum(), (x < y).sum(), x.max(), 1 / fixed, x.reshape(4, 10) @ y.reshape(10, 4))
        stats = mpc.stats()
    phases = {"offline": stats.offline, "online": stats.online}
    return {name: [phase.rounds, *phase.bytes_sent] for name, phase in phases.items()}


@pytest.mark.parametrize("name", SESSIONS)
def test_messages_change_with_the_wire_version_only(name: str) -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["wire_version"] == WIRE_VERSION, "the version was raised: record what is sent (see this file)"
    assert set(record["sent"]) == set(SESSIONS)
    assert sent(SESSIONS[name]) == record["sent"][name], (
        "what parties send has changed: raise the wire version, say so in CHANGELOG.md, and record it (see this file)"
    )


if __name__ == "__main__":
    now = {"wire_version": WIRE_VERSION, "sent": {name: sent(options) for name, options in SESSIONS.items()}}
    RECORD.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
