"""The campaigns that a server answers for, by their hashes: read from the store when they are first asked for."""

from __future__ import annotations

import threading
import time
import urllib.parse
from collections.abc import Callable

from quorate.campaigns import Intake, Refused, Store, find_hash
from quorate_client import ServiceKey
from quorate_client.keys import from_text

__all__ = ["Registry"]

#: Campaigns that are held in memory, and bytes of their JSON; the others are read again. A list of clients takes three
#: times its JSON.
_MOST, _MOST_BYTES = 1000, 1 << 25


class Registry:
    """The intakes of a server.

    Args:
        store: the store.
        me: the number of this server.
        service_key: its keys.
        clock: its clock, in seconds since 1970.
    """

    def __init__(self, store: Store, me: int, service_key: ServiceKey, clock: Callable[[], float] = time.time) -> None:
        self.store, self.me, self.clock = store, me, clock
        self._service_key = service_key
        self._intakes: dict[str, Intake] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def held(self, text: str) -> Intake | None:
        """Returns the intake of a campaign if it is in memory; takes no time."""
        return self._intakes.get(text)

    def intake(self, text: str) -> Intake:
        """Returns the intake of a campaign.

        Args:
            text: its hash, as base64url.

        Raises:
            Refused: there is no such campaign.
            StoreError: the store cannot be read.
        """
        held = self._intakes.get(text)
        if held is not None:
            return held
        try:
            found = find_hash(self.store, from_text(text))
        except (ValueError, Refused):
            raise Refused(
                404, "this server does not run this campaign", "compare the hash with that of its file"
            ) from None
        made = Intake(self.store, found.campaign, self.me, self._service_key, self.clock)
        with self._lock:
            if (meanwhile := self._intakes.get(text)) is not None:
                return meanwhile
            self._bytes += len(made.campaign.json)
            while self._intakes and (len(self._intakes) >= _MOST or self._bytes > _MOST_BYTES):
                self._bytes -= len(self._intakes.pop(next(iter(self._intakes))).campaign.json)
            self._intakes[text] = made
            return made

    def prefix(self, intake: Intake) -> str:
        """Returns the path of this server's address in a campaign, which comes before `/campaigns`; often empty."""
        return urllib.parse.urlsplit(intake.campaign.servers[self.me].url).path
