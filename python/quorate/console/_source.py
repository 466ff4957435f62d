"""The text of a program as a page shows it: what a reader could overlook is marked.

Python reads a character that has no width, or that turns the direction of text round, like any other. A line that is
shown without them may be another one than Python reads.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import Any

__all__ = ["Line", "lines_of", "marked", "parts_of", "seen"]

#: Categories of characters that have no shape of their own: controls, formats, surrogates, private and unassigned ones,
#: and separators of lines.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")

#: Characters of other categories that are shown as nothing: those of Default_Ignorable_Code_Point (Unicode 16,
#: DerivedCoreProperties.txt) that no category above has, among them letters of Hangul without a shape; and the empty
#: pattern of Braille, a space of Ogham, and other blanks.
_BLANK = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
     0x1680, 0x1D159, *range(0xE0100, 0xE01F0))
)  # fmt: skip


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
    return [Line(number, parts_of(line), not line.isascii()) for number, line in enumerate(text.split("\n"), start=1)]


def seen(line: str) -> str:
    r"""Returns a text without an end of a line, with marks in place of characters that are not seen.

    >>> seen("\x1b[2J")
    'U+001B[2J'
    """
    return "".join(text for text, _ in parts_of(line))


def parts_of(line: str) -> tuple[tuple[str, bool], ...]:
    r"""Returns the parts of a text without an end of a line, each with whether it is a mark in place of a character.

    >>> parts_of("if x, \u3164:")
    (('if x, ', False), ('U+3164', True), (':', False))
    """
    parts: list[tuple[str, bool]] = []
    for character in line.expandtabs(4):
        category = unicodedata.category(character)
        is_mark = category in _UNSEEN or ord(character) in _BLANK or (category == "Zs" and character != " ")
        shown = f"U+{ord(character):04X}" if is_mark else character
        if parts and not is_mark and not parts[-1][1]:
            parts[-1] = (parts[-1][0] + shown, False)
        else:
            parts.append((shown, is_mark))
    return tuple(parts)


def marked(value: Any) -> Any:
    r"""Returns a value as pages show it: in a text, numbers in brackets stand for characters that would not be seen.

    >>> marked("pay\u2800\n")
    'pay[U+2800]\n'
    """
    if not isinstance(value, str) or hasattr(value, "__html__") or (value.isascii() and value.isprintable()):
        return value  # what has __html__ is a part of a page
    lines = (parts_of(line) for line in value.split("\n"))
    return "\n".join("".join(f"[{part}]" if is_mark else part for part, is_mark in line) for line in lines)
