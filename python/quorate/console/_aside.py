"""Threads for what may wait for a disk, so that the thread that answers requests never does."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from quorate.campaigns import Refused

__all__ = ["Aside"]

P = ParamSpec("P")
T = TypeVar("T")


class Aside:
    """A few threads.

    Args:
        threads: how many.
        limit_s: seconds that a caller waits; None for any. What runs then still goes on, and what waits does not begin.
    """

    def __init__(self, threads: int, limit_s: float | None) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(threads, "quorate console")
        self._limit_s = limit_s

    async def run(self, call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Calls a function in one of the threads, and returns what it returns.

        Raises:
            Refused: it takes too long.
        """
        future = asyncio.wrap_future(self._pool.submit(call, *given, **named))
        done, _ = await asyncio.wait([future], timeout=self._limit_s)
        if not done:
            future.cancel()
            raise Refused(503, "the store or a file has not answered in time", "try again, and look at its disk", 10)
        return future.result()

    def close(self) -> None:
        """Begins nothing that waits, and does not wait for what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)
