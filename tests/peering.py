"""The health of other servers without a network: the answer of one is what the other gets. Time is a test's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from campaigning import Clock
from jobbing import listed_servers
from quorate.campaigns import Refused
from quorate.serve._peers import Peers
from quorate_client import Deployment, ServiceKey
from quorate_client._https import Answer
from quorate_client.keys import to_text

ACCEPTS = (True, "accepts")


class Ring:
    """Peers of one deployment without a network: the answer of one is what the other gets. Time is a test's."""

    def __init__(self, folder: Path, servers: int = 3, timeout_s: float = 10.0) -> None:
        self.keys = [ServiceKey.generate() for _ in range(servers)]
        self.deployment = self.listed(folder / "servers.toml")
        self.clock, self.steady, self.changes = Clock(), [0.0], 0
        self.timeout_s = timeout_s
        self.behind: dict[int, Callable[[str], Answer]] = {}
        self.all = [self.made(server) for server in range(servers)]

    def listed(self, file: Path, **changed: str) -> Deployment:
        fields = [
            {
                "url": f"https://server{i}.example:9443",
                "certificate": to_text(bytes([i]) * 32),
                "seal": to_text(key.seal),
                "sign": to_text(key.sign),
            }
            for i, key in enumerate(self.keys)
        ]
        fields[-1].update(changed)
        file.write_text(listed_servers("rss", fields))
        return Deployment.load(file)

    def made(self, server: int, deployment: Deployment | None = None, **given: Any) -> Peers:
        """Returns what one server has, whose calls go to the others of this ring."""
        made = Peers(
            deployment or self.deployment,
            self.keys[server],
            server,
            self.timeout_s,
            given.get("state", lambda: ACCEPTS),
            self.changed,
            given.get("clock", self.clock),
            lambda: self.steady[0],
        )
        for peer in made._peers.values():
            peer.links = Line(self, peer.server)  # type: ignore[assignment]
        return made

    def changed(self) -> None:
        self.changes += 1

    def told(self, asker: int, server: int) -> tuple[str, str]:
        """Has one server ask another one; returns the state and the detail that it has of it."""
        self.all[asker].ask(server)
        return self.seen(asker, server)

    def seen(self, asker: int, server: int) -> tuple[str, str]:
        self.all[asker].settle()
        state = next(one for one in self.all[asker].peers() if one.server == server)
        return state.state, state.detail


class Line:
    """A connection to one server of a ring."""

    def __init__(self, ring: Ring, server: int) -> None:
        self.ring, self.server, self.cuts = ring, server, 0

    def ask(self, *given: Any) -> Answer:
        header = given[4]["Quorate-Signature"]
        if self.server in self.ring.behind:
            return self.ring.behind[self.server](header)
        try:
            return Answer(200, self.ring.all[self.server].answer(header), None)
        except Refused as error:
            fields = {"what": error.what, "time": int(self.ring.all[self.server]._clock())}
            return Answer(error.status, json.dumps(fields).encode(), None)

    def cut(self) -> None:
        self.cuts += 1


__all__ = ["ACCEPTS", "Ring"]
