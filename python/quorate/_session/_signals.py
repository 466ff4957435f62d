"""Handling of SIGTERM: the party ends its sessions in order and tells its peers, as it does on Ctrl-C."""

from __future__ import annotations

import signal
import threading
import weakref
from types import FrameType
from typing import NoReturn

__all__ = ["TERMINATED", "Terminated", "Watch", "unwatch", "watch"]

TERMINATED = 128 + signal.SIGTERM
"""The exit status of a process that SIGTERM ended."""


class Watch:
    """What a session, or a command, holds while SIGTERM is to unwind the program."""


# Those that are held. A session that is dropped without being closed drops its own.
_held: weakref.WeakSet[Watch] = weakref.WeakSet()
_lock = threading.RLock()  # a session that a finalizer closes may be that of the thread that opens or closes one


class Terminated(SystemExit):
    """The exception that SIGTERM raises. Unless it is caught, the process ends with status `TERMINATED`."""


def _leave(_: int, __: FrameType | None) -> NoReturn:
    raise Terminated(TERMINATED)


def watch() -> Watch:
    """Lets SIGTERM unwind the program, so that sessions are closed in order. A user's own handler stays in place."""
    made = Watch()
    with _lock:
        _held.add(made)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _leave)
    return made


def unwatch(watch: Watch) -> None:
    """Ends a watch; after the last one SIGTERM has its previous effect again."""
    with _lock:
        _held.discard(watch)
        is_last = not _held
    ours = is_last and signal.getsignal(signal.SIGTERM) is _leave
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
