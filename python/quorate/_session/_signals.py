"""Handling of SIGTERM: the party ends its sessions in order and tells its peers, as it does on Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

__all__ = ["TERMINATED", "Terminated", "unwatch", "watch"]

TERMINATED = 128 + signal.SIGTERM
"""The exit status of a process that SIGTERM ended."""

# The number of deployment sessions that are open in this process.
_open = 0


class Terminated(SystemExit):
    """The exception that SIGTERM raises. Unless it is caught, the process ends with status `TERMINATED`."""


def _leave(_: int, __: FrameType | None) -> NoReturn:
    raise Terminated(TERMINATED)


def watch() -> None:
    """Lets SIGTERM unwind the program, so that sessions are closed in order. A user's own handler stays in place."""
    global _open
    _open += 1
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


def unwatch() -> None:
    """Counts a session that was closed; after the last one SIGTERM has its previous effect again."""
    global _open
    _open -= 1
    ours = _open == 0 and signal.getsignal(signal.SIGTERM) is _leave
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
