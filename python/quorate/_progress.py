"""Progress of long runs on a terminal or in a notebook; silent in logs."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 70


class Progress:
    """Shows phase, share done and time left once a run has taken a second, and takes it away again."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = False
        self._notebook = _in_notebook()
        self._output: Any = None  # of a notebook: what is rewritten
        self._wanted = self._notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write("")

    def show(self, phase: str, share: float) -> None:
        """One line, rewritten in place.

        >>> Progress().show("online", 0.5)
        """
        elapsed = time.monotonic() - self._started
        if not self._wanted or elapsed < 1:
            return
        left = elapsed / share * (1 - share) if share > 0 else float("nan")
        filled = int(24 * share)
        bar = "#" * filled + "-" * (24 - filled)
        self._write(f"{phase:>8} [{bar}] {100 * share:3.0f} %  {elapsed:5.0f} s, {left:5.0f} s left ")
        self._shown = True

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
    """Whether a kernel runs this, whose outputs can be rewritten."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
