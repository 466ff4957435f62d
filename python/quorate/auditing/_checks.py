"""Verdicts on chains, for pages: a log of any length is verified in the background, and its progress is stated."""

from __future__ import annotations

import datetime
import functools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from quorate.auditing._acts import acts_of, count_of_acts, name_of_acts
from quorate.auditing._chain import Broken, Chain, Line
from quorate.auditing._files import read
from quorate.errors import QuorateError

if TYPE_CHECKING:
    from quorate.campaigns import Store

__all__ = ["Check", "Verdict", "check_of_acts", "check_of_log"]

#: Seconds that a page waits for a verdict, and lines after which other threads have their turn for `_PAUSE_S`.
_PATIENCE_S, _LINES, _PAUSE_S = 1.0, 2000, 0.001

#: A verification that took longer than a page waits is repeated after this many times its own length.
_REST = 9


class Verdict(NamedTuple):
    """What the chain of a log shows.

    Attributes:
        is_whole: whether each line follows the one before it, from number 1 on or from a `continued` line on. None if
            nothing was verified.
        text: a sentence about it.
    """

    is_whole: bool | None
    text: str


class Check:
    """Verifies one log, again and again, in a thread of its own while it takes. At most one line's end is in memory.

    Args:
        file: the log, as sentences name it.
        lines: reads its lines.
        size: returns its length now.
        at: returns where a line ends, in the unit of `size`.
        clock: a clock in seconds that is not set back.
        is_all: as for `Chain`.
    """

    def __init__(
        self,
        file: Path,
        lines: Callable[[], Iterator[Line]],
        size: Callable[[], int],
        at: Callable[[Line], int],
        clock: Callable[[], float] = time.monotonic,
        is_all: bool = False,
    ) -> None:
        self._is_all = is_all
        self._file, self._lines, self._size, self._at, self._clock = file, lines, size, at, clock
        self._mutex = threading.Lock()
        self._over = threading.Event()
        self._running: threading.Thread | None = None
        self._share = 0.0
        self._last: tuple[Verdict, str] | None = None  # the last one, and when it was made
        self._trouble: QuorateError | None = None
        self._again_at = 0.0

    def verdict(self) -> Verdict:
        """Returns the verdict on the log as it is now; or, of a long one, the last verdict and how far the next one is.

        Raises:
            ConfigError, StoreError: the log cannot be read.
        """
        with self._mutex:
            if self._running is None and self._clock() >= self._again_at:
                self._running = threading.Thread(target=self._run, name="quorate audit", daemon=True)
                self._running.start()
            running = self._running
        if running is not None:
            running.join(_PATIENCE_S)
        with self._mutex:
            if self._trouble is not None:
                raise self._trouble
            if self._last is None:
                return Verdict(
                    None, f"It is being verified, and {self._share:.0%} of it has been read: look again later"
                )
            (is_whole, text), at = self._last
            if self._running is None and self._again_at == 0.0:
                return Verdict(is_whole, text)
            more = (
                ""
                if self._running is None
                else f"; it is being verified again, and {self._share:.0%} of it has been read"
            )
            return Verdict(is_whole, f"{text}; as of {at}{more}")

    def close(self) -> None:
        """Ends a verification that runs."""
        self._over.set()

    def _run(self) -> None:
        begun, at = self._clock(), f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        made: Verdict | None = None
        trouble: QuorateError | None = None
        try:
            made = self._verified()
        except QuorateError as error:
            trouble = error
        except Exception as error:  # the page must not say for ever that it is being verified
            made = Verdict(False, f"it could not be verified: {type(error).__name__}")
        finally:
            with self._mutex:
                took = self._clock() - begun
                self._last = self._last if made is None else (made, at)
                self._trouble, self._running, self._share = trouble, None, 0.0
                self._again_at = 0.0 if took < _PATIENCE_S else self._clock() + _REST * took

    def _verified(self) -> Verdict | None:
        """Verifies the log as far as it alone can show it; returns None if it is told to end."""
        chain, count, unnumbered, size = Chain(self._is_all), 0, 0, max(self._size(), 1)
        try:
            for line in self._lines():
                count, unnumbered = count + 1, unnumbered + (line.number is None)
                chain.add(line, self._file)
                if count % _LINES == 0:
                    self._share = min(self._at(line) / size, 1.0)
                    if self._over.wait(_PAUSE_S):
                        return None
        except Broken as broken:
            return Verdict(False, f"the chain is broken: {broken}")
        return _of(chain, count, unnumbered)


def check_of_log(file: Path) -> Check:
    """Returns what verifies a log of reveals."""
    return Check(file, lambda: read(file), lambda: _size_of(file), lambda line: line.ends_at)


def _size_of(file: Path) -> int:
    """Returns the bytes of a log; 0 if it is not there or cannot be read, which `read` says."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def check_of_acts(store: Store) -> Check:
    """Returns what verifies the acts of operators at a store."""
    lines, size = functools.partial(acts_of, store), functools.partial(count_of_acts, store)
    return Check(name_of_acts(store), lines, size, lambda line: line.place, is_all=True)


def _of(chain: Chain, count: int, unnumbered: int) -> Verdict:
    """Returns the verdict on a chain that is not broken."""
    if chain.first is None:
        return Verdict(None, "no line has the hash of another one, so nothing was verified")
    begin = chain.first.number
    text = f"{count} lines, each of which follows the one before it; the first number is {begin}, the last number is "
    text += f"{chain.number}; lines without a number: {unnumbered}; head {chain.head}"
    if begin == 1:
        return Verdict(True, text)
    if chain.first.is_continued:
        return Verdict(True, f"{text}; an earlier file has the lines before it: give both to `quorate audit verify`")
    return Verdict(False, f"lines are missing at the beginning: {text}")
