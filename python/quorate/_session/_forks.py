"""Forks of the process: they do not keep the links and ports of their parent."""

from __future__ import annotations

import contextlib
import os

from quorate import _quorate

__all__ = ["watch"]

_watches = False


def watch() -> None:
    """Lets forks of this process close the sockets that they inherit. Otherwise these outlive the parent in a fork."""
    global _watches
    if not _watches and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_inherited)
    _watches = True


def _close_inherited() -> None:
    for number in _quorate.inherited_sockets():
        with contextlib.suppress(OSError):
            os.close(number)
