"""The user's line: the innermost frame outside this package."""

from __future__ import annotations

import os
import sys
from types import FrameType

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OURS: dict[str, bool] = {}


def line() -> tuple[str, int]:
    """File name (without its folder) and line number of the user's call."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        ours = _OURS.get(name)
        if ours is None:
            ours = _OURS[name] = os.path.abspath(name).startswith(_HERE)
        if not ours or frame.f_back is None:
            return os.path.basename(name), frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


def at(message: str) -> str:
    """The message with the place of the user's call, as the native module's messages have it."""
    file, number = line()
    return f"{message} (at {file}:{number})"
