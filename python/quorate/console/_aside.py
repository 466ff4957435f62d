"""Threads for what may wait for a disk, so that the thread that answers requests never does."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar

from quorate.campaigns import Refused

__all__ = ["Aside"]

P = ParamSpec("P")
T = TypeVar("T")

_Call = tuple["Future[Any]", Callable[[], Any]]


class Aside:
    """A few threads. They do not keep the process alive: one that a disk keeps must not hold up its end.

    Args:
        threads: how many.
        limit_s: seconds that a caller waits; None for any. What runs then still goes on, and what waits does not begin.
    """

    def __init__(self, threads: int, limit_s: float | None) -> None:
        self._calls = queue.SimpleQueue["_Call | None"]()
        self._limit_s, self._threads, self._is_over = limit_s, threads, False
        for _ in range(threads):
            threading.Thread(target=self._work, name="quorate console", daemon=True).start()

    def _work(self) -> None:
        while (one := self._calls.get()) is not None:
            future, call = one
            if self._is_over:
                future.cancel()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)

    async def run(self, call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Calls a function in one of the threads, and returns what it returns.

        Raises:
            Refused: it takes too long, or the threads are closed.
        """
        if self._is_over:
            raise Refused(503, "this server is about to end", "try later")
        made = Future[T]()
        self._calls.put((made, functools.partial(call, *given, **named)))
        future = asyncio.wrap_future(made)
        done, _ = await asyncio.wait([future], timeout=self._limit_s)
        if not done:
            future.cancel()
            raise Refused(503, "the store or a file has not answered in time", "try again, and look at its disk", 10)
        return future.result()

    def close(self) -> None:
        """Begins nothing that waits, and does not wait for what runs."""
        self._is_over = True
        for _ in range(self._threads):
            self._calls.put(None)
