"""Sessions of operators, in memory: they end with the server. And the limit of failed sign-ins.

A cookie has 32 random bytes, and is found by its hash. It is bound to nothing of the browser.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import math
import secrets
import threading
import time
from collections.abc import Callable

from quorate.console._operators import Operator

__all__ = ["IDLE_S", "LIFE_S", "Failures", "Session", "Sessions"]

#: Seconds after which a session ends: without a request, and at most.
IDLE_S, LIFE_S = 15 * 60, 8 * 3600

#: Sessions of one operator; a further one ends the one that was idle for longest.
MOST_OF_ONE = 5

#: Failed sign-ins of an address within a minute, and addresses that are counted.
MOST_FAILURES, _WITHIN_S, _MOST_ADDRESSES = 10, 60.0, 10_000


@dataclasses.dataclass
class Session:
    """A session of an operator who has signed in.

    Attributes:
        operator: who.
        csrf: what each form of its pages repeats.
        begun, seen: when it began and when it was last used, on a clock that is not set back.
    """

    operator: Operator
    csrf: str
    begun: float
    seen: float


class Sessions:
    """The sessions of one server.

    Args:
        clock: a clock in seconds that is not set back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[bytes, Session] = {}
        self._lock = threading.Lock()

    def open(self, operator: Operator) -> str:
        """Begins a session, and returns its cookie."""
        cookie, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._drop(now)
            own = sorted((one.seen, key) for key, one in self._sessions.items() if one.operator.name == operator.name)
            for _, key in own[: max(len(own) - MOST_OF_ONE + 1, 0)]:
                del self._sessions[key]
            self._sessions[_key(cookie)] = Session(operator, secrets.token_urlsafe(32), now, now)
        return cookie

    def find(self, cookie: str) -> Session | None:
        """Returns the session of a cookie and counts it as used; None if there is none any more."""
        now = self._clock()
        with self._lock:
            self._drop(now)
            found = self._sessions.get(_key(cookie))
            if found is not None:
                found.seen = now
        return found

    def close(self, cookie: str) -> None:
        """Ends a session."""
        with self._lock:
            self._sessions.pop(_key(cookie), None)

    def _drop(self, now: float) -> None:
        for key, one in [*self._sessions.items()]:
            if now - one.seen > IDLE_S or now - one.begun > LIFE_S:
                del self._sessions[key]


class Failures:
    """Counts failed sign-ins by address. Tokens cannot be guessed: the limit keeps the log and the store from load.

    Args:
        clock: a clock in seconds that is not set back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: dict[str, collections.deque[float]] = {}
        self._lock = threading.Lock()

    def wait_s(self, address: str) -> int:
        """Returns the seconds until an address may try again; 0 if it may now."""
        with self._lock:
            times = self._at.get(address)
            if times is None or len(times) < MOST_FAILURES:
                return 0
            return max(0, math.ceil(times[0] + _WITHIN_S - self._clock()))

    def count(self, address: str) -> None:
        """Counts a failure."""
        with self._lock:
            while len(self._at) >= _MOST_ADDRESSES:
                del self._at[next(iter(self._at))]
            self._at.setdefault(address, collections.deque(maxlen=MOST_FAILURES)).append(self._clock())


def _key(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
