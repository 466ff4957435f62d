"""What a party's runs are held to, as its command line says: approval, and a log."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

__all__ = ["held", "opened"]

# Sessions that this process opened with each file: what a script was approved to do once it is not to do twice.
_opened: Counter[str] = Counter()


def held(path: str | os.PathLike[str]) -> dict[str, Any]:
    """For a session with the configuration `path`, as the native module takes it."""
    from quorate._script import settings

    before = _opened[os.path.realpath(path)]
    return {"approve": settings.approve, "audit": settings.audit, "sessions_before": before}


def opened(path: str | os.PathLike[str]) -> None:
    """There is a session with this configuration."""
    _opened[os.path.realpath(path)] += 1
