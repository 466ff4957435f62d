"""The end of a command by SIGTERM: it unwinds as by an exception, and is over in time whatever it does then.

The handler works for the first process of a container, too, where signals without one have no effect.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

from quorate._session._signals import TERMINATED, Terminated

__all__ = ["END_S", "end_in_time"]

#: Seconds from SIGTERM to the end of the process. Service managers and containers wait for 10 s and more.
END_S = 1.8

_is_leaving = threading.Event()


def end_in_time(always: bool = False) -> None:
    """Lets SIGTERM raise `Terminated` in the main thread, and end this process after `END_S` seconds at the latest.

    Does nothing if SIGTERM has another handler already, and in other threads than the main one.

    Args:
        always: whether the time holds also where another handler has taken this one's place. Otherwise such a handler,
            which is the user's, decides alone what happens.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    # The byte is written as soon as the signal arrives, also while the main thread is in a call that takes long.
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch, args=(told, always), name="quorate end", daemon=True).start()


def _forget() -> None:
    """Keeps signals of a forked process from its parent's pipe."""
    signal.set_wakeup_fd(-1)


def _leave(_: int, __: FrameType | None) -> None:
    """Unwinds once: what runs then is not cut short by a second signal. It ends in time without `_watch`, too."""
    if not _is_leaving.is_set():
        _is_leaving.set()
        threading.Thread(target=_end, name="quorate end", daemon=True).start()
        raise Terminated(TERMINATED)


def _watch(told: int, always: bool) -> None:
    while number := os.read(told, 1):
        if number[0] == signal.SIGTERM and (always or signal.getsignal(signal.SIGTERM) is _leave):
            _end()


def _end() -> None:
    time.sleep(END_S)
    os._exit(TERMINATED)
