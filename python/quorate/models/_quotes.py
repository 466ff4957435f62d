"""How messages quote what users gave: never in full, as that may be a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorate.errors import ModelError

_MOST = 120
QUOTES = ("'", '"')


def short(given: object, most: int = _MOST) -> str:
    """Returns a text as messages show it: cut off if it is long.

    >>> short("model.onnx"), short("x" * 1000, 10)
    ('model.onnx', 'xxxxxxxxxx ... (1000 characters)')
    """
    text = str(given)
    return text if len(text) <= most else f"{text[:most]} ... ({len(text)} characters)"


def path(given: object) -> str:
    """Returns how a message quotes what should be a path but may be a model."""
    if isinstance(given, (bytes, bytearray)):
        return f"what was given, {len(given)} bytes,"
    text = str(given)
    if len(text) > 4 * _MOST or len(text.splitlines()) > 1:
        return f"what was given, a text of {len(text)} characters,"
    return repr(text)


def file_of(importer: str, given: Any) -> Path:
    """Returns the file that a path names.

    Raises:
        ModelError: there is no such file; the message does not repeat a text that is no path.
    """
    file = Path(given)
    try:
        found = file.is_file()
    except (OSError, ValueError):  # too long for a path, or with a character that no path has
        found = False
    if not found:
        name = path(given)
        raise ModelError(f"{importer}: {'there is no file ' + name if name[0] in QUOTES else name + ' is no path'}")
    return file
