"""The user's line: the innermost frame outside of this package, and outside of numpy, which calls this package."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from types import FrameType

import numpy as np

_HERE = tuple(os.path.dirname(os.path.abspath(str(file))) + os.sep for file in (__file__, np.__file__))
_OURS: dict[str, bool] = {"<__array_function__ internals>": True}  # where numpy before 1.25 calls this package
# The full paths of files, to show the text of lines; the program has file names without folders.
_FILES: dict[tuple[str, int], str] = {}


def line() -> tuple[str, int]:
    """Returns file name (without folder) and line number of the user's call; in a notebook the cell, as in `In[3]`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        ours = _OURS.get(name)
        if ours is None:
            ours = _OURS[name] = os.path.abspath(name).startswith(_HERE)
        if not ours or frame.f_back is None:
            place = _cell(name) or os.path.basename(name), frame.f_lineno
            _FILES[place] = name
            return place
        frame = frame.f_back
    return "<unknown>", 0


def _cell(name: str) -> str | None:
    """Returns a notebook's name for the cell that it compiled under the file name `name`; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    naming = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = naming(name) if naming is not None else None
    return None if named is None else str(named[1])


def text(place: tuple[str, int]) -> str:
    """Returns the text of a line that `line` returned; empty where its file cannot be read."""
    return linecache.getline(_FILES.get(place, ""), place[1]).strip()


def at(message: str) -> str:
    """Returns the message with the place of the user's call, in the format of the native module's messages."""
    file, number = line()
    return f"{message} (at {file}:{number})"


def warn(message: str, category: type[Warning]) -> None:
    """Warns of something at the user's call."""
    warnings.warn_explicit(message, category, *line())
