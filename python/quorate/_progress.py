"""Progress of long runs on a terminal or in a notebook; silent in logs."""

from __future__ import annotations

import sys
import time


class Progress:
    """Shows phase, share done and time left once a run has taken a second."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown = False
        self._wanted = "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r" + " " * 70 + "\r")
            sys.stderr.flush()

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
        sys.stderr.write(f"\r{phase:>8} [{bar}] {100 * share:3.0f} %  {elapsed:5.0f} s, {left:5.0f} s left ")
        sys.stderr.flush()
        self._shown = True
