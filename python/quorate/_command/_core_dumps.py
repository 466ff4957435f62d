"""Parties and servers leave no core dump when they crash: it would have keys and shares, and stay on the disk."""

from __future__ import annotations

import contextlib

__all__ = ["forbid_core_dumps"]


def forbid_core_dumps() -> None:
    """Sets the limit of core dumps to zero for this process and those that it starts. Does nothing on Windows."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
