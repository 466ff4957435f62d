"""What a requester sees while a job runs: one line on a terminal, which is rewritten and goes with the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from quorate_client.job import PHASES, JobState

__all__ = ["Line", "line_of"]


def line_of(states: Sequence[JobState]) -> str:
    """Returns how far a job is: at the server that is behind the others, or that says what it waits for.

    >>> line_of([JobState(bytes(32), 0, "queued", "", 0, 0, waits="server 2 does not answer since ...")])
    'queued: server 2 does not answer since ...'
    """
    running = [one for one in states if one.progress is not None]
    if running:
        told = min(
            (one.progress for one in running if one.progress), key=lambda at: (at.run, _place(at.phase), at.permille)
        )
        return f"running: {told}"
    words = [one.state for one in states]
    waits = next((one.waits for one in states if one.waits), "")
    word = next((word for word in ("queued", "running") if word in words), "")
    return f"{word}: {waits}" if waits else word


def _place(phase: str) -> int:
    return PHASES.index(phase)


class Line:
    """A line on the standard error output; nothing is written where that is no terminal.

    Arguments:
        wanted: whether to show it at all.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and bool(getattr(sys.stderr, "isatty", lambda: False)())
        self._width = 0

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._write("")

    def show(self, states: Sequence[JobState]) -> None:
        """Shows how far a job is."""
        self._write(line_of(states))

    def _write(self, text: str) -> None:
        if not self._wanted or not (text or self._width):
            return
        sys.stderr.write(f"\r{text.ljust(self._width)}" + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)
