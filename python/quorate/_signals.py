"""SIGTERM: a party that is told to end says goodbye to its peers first, as it does on Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

__all__ = ["TERMINATED", "Terminated", "unwatch", "watch"]

TERMINATED = 128 + signal.SIGTERM
"""The exit status of a process that was told to end."""

# Sessions of deployments that are open in this process.
_open = 0


class Terminated(SystemExit):
    """What SIGTERM raises: the process ends with `TERMINATED` unless somebody catches it."""


def _leave(_: int, __: FrameType | None) -> NoReturn:
    raise Terminated(TERMINATED)


def watch() -> None:
    """From now on SIGTERM unwinds the program, so that sessions are left in order, unless the user has a handler."""
    global _open
    _open += 1
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)


def unwatch() -> None:
    """A session less; after the last one SIGTERM does what it did before."""
    global _open
    _open -= 1
    ours = _open == 0 and signal.getsignal(signal.SIGTERM) is _leave
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
