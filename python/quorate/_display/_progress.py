"""Progress of long runs, on a terminal or in a notebook; nothing is printed to logs."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from quorate import _source
from quorate._display._text_tables import number_bytes
from quorate._source import at
from quorate.errors import CostWarning

_WIDTH = 70
_MUCH_BYTES = 100 * 10**9
_HEARD_S = 0.5

#: Takes the number of a run of this process, its phase, the share of the phase that is done, and seconds of the run.
Listener = Callable[[int, str, float, float], None]

_listener: Listener | None = None
_runs = itertools.count(1)


def listen(listener: Listener | None) -> None:
    """Has the progress of this process's runs told to a function, at most twice a second for each run."""
    global _listener
    _listener = listener


@dataclasses.dataclass
class _Whole:
    """A sequence of runs whose progress is shown as a whole."""

    done: int
    count: int
    started: float


_whole: ContextVar[_Whole | None] = ContextVar("_whole", default=None)


@contextmanager
def parts(of: Sequence[Any]) -> Iterator[Iterator[Any]]:
    """Iterates over parts. Within the `with`, runs show the progress of the whole sequence instead of their own.

    >>> with parts(range(0, 10, 4)) as firsts:
    ...     list(firsts)
    [0, 4, 8]
    """
    whole = _Whole(0, len(of), time.monotonic())

    def each() -> Iterator[Any]:
        for part in of:
            yield part
            whole.done += 1

    token = _whole.set(whole)
    try:
        yield each()
    finally:
        _whole.reset(token)


class Progress:
    """Shows phase, share done and time left once a run has taken a second, and clears the line afterwards."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = False
        self._warned = False
        self._run = next(_runs)
        self._heard = -_HEARD_S
        self._notebook = _in_notebook()
        self._output: Any = None  # the notebook's output, which is rewritten
        self._wanted = self._notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write("")

    def show(self, phase: str, share: float, predicted_bytes: int | None = None) -> None:
        """Rewrites the line in place. Warns, once the bytes are known, of a run that is predicted to send many.

        >>> Progress().show("online", 0.5)
        """
        if not self._warned and (predicted_bytes or 0) > _MUCH_BYTES:
            self._warned = True
            text = at(
                f"reveal: this run is predicted to send {number_bytes(predicted_bytes or 0)} from one party; Ctrl-C "
                "ends it at all parties, and mpc.explain(...) of the same arrays shows which lines send how much"
            )
            _source.warn(text, CostWarning)
        self._tell(phase, share)
        started, whole = self._started, _whole.get()
        if whole is not None:
            # The offline phase counts as the first half of a run.
            started, share = whole.started, (whole.done + ((phase == "online") + share) / 2) / whole.count
            phase = f"{whole.done + 1}/{whole.count}"
        elapsed = time.monotonic() - started
        if not self._wanted or elapsed < 1:
            return
        left = elapsed / share * (1 - share) if share > 0 else float("nan")
        filled = int(24 * share)
        bar = "#" * filled + "-" * (24 - filled)
        self._write(f"{phase:>8} [{bar}] {100 * share:3.0f} %  {elapsed:5.0f} s, {left:5.0f} s left ")
        self._shown = True

    def _tell(self, phase: str, share: float) -> None:
        """Tells the listener, if there is one."""
        now = time.monotonic()
        if _listener is not None and now >= self._heard + _HEARD_S:
            self._heard = now
            _listener(self._run, phase, share, now - self._started)

    def _write(self, line: str) -> None:
        if not self._notebook:
            sys.stderr.write(f"\r{line}" if line else "\r" + " " * _WIDTH + "\r")
            sys.stderr.flush()
            return
        from IPython.display import display

        shown = {"text/plain": line, "text/html": f"<pre>{line}</pre>" if line else ""}
        if self._output is None:
            self._output = display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)


def _in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, whose outputs can be rewritten."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
