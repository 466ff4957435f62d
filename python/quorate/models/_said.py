"""What messages say of what was given: never all of it, as that may be a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorate.errors import ModelError

_MOST = 120
QUOTES = ("'", '"')


def short(given: object, most: int = _MOST) -> str:
    """As a message shows it: cut off where it is long.

    >>> short("model.onnx"), short("x" * 1000, 10)
    ('model.onnx', 'xxxxxxxxxx ... (1000 characters)')
    """
    text = str(given)
    return text if len(text) <= most else f"{text[:most]} ... ({len(text)} characters)"


def path(given: object) -> str:
    """How a message calls what should be a path, where it may be a model."""
    if isinstance(given, (bytes, bytearray)):
        return f"what was given, {len(given)} bytes,"
    text = str(given)
    if len(text) > 4 * _MOST or len(text.splitlines()) > 1:
        return f"what was given, a text of {len(text)} characters,"
    return repr(text)


def file_of(importer: str, given: Any) -> Path:
    """The file that a path names.

    Raises:
        ModelError: there is none; a text that is no path is not repeated.
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
