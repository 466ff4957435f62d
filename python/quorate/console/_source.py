"""The text of a program as a page shows it: what a reader could overlook is marked.

Python reads a character that has no width, or that turns the direction of text round, like any other. A line that is
shown without them may be another one than Python reads.
"""

from __future__ import annotations

import dataclasses
import unicodedata

__all__ = ["Line", "lines_of"]

#: Categories of characters that have no shape of their own: controls, formats, surrogates, private and unassigned ones,
#: and separators of lines.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a program.

    Attributes:
        number: from 1 on, as Python counts.
        parts: texts, each with whether it is a mark in place of a character.
        is_foreign: whether it has characters beyond ASCII, which may look like others.
    """

    number: int
    parts: tuple[tuple[str, bool], ...]
    is_foreign: bool


def lines_of(code: bytes) -> list[Line]:
    r"""Returns the lines of a program.

    >>> [(line.number, line.parts) for line in lines_of(b"a\r\n\tb")]
    [(1, (('a', False),)), (2, (('    b', False),))]
    >>> lines_of("x = '\u202e'".encode())[0].parts
    (("x = '", False), ('U+202E', True), ("'", False))
    """
    text = code.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return [Line(number, _parts(line), not line.isascii()) for number, line in enumerate(text.split("\n"), start=1)]


def _parts(line: str) -> tuple[tuple[str, bool], ...]:
    parts: list[tuple[str, bool]] = []
    for character in line.expandtabs(4):
        category = unicodedata.category(character)
        is_mark = category in _UNSEEN or (category == "Zs" and character != " ")
        shown = f"U+{ord(character):04X}" if is_mark else character
        if parts and not is_mark and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + shown, False)
        else:
            parts.append((shown, is_mark))
    return tuple(parts)
