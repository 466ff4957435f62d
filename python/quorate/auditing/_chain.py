"""The chain of a log of reveals: each line has a number and the hash of the line before, as sessions write them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["Broken", "Chain", "Line", "after", "line_of", "lines_of", "linked"]

_BLOCK = 1 << 20
_TAIL = 1024

#: The first fields of a line that continues a log, and the last ones of any. Text of users cannot look like them: its
#: quotes are escaped.
_CONTINUED = re.compile(rb'\{"time": "[0-9TZ:.-]{20,30}", "event": "continued", "process": \d+, "file": ')
_FIELDS = re.compile(rb', "sequence": (\d{1,19}), "previous": "([0-9a-f]{64})"\}\Z')

ZEROS = "0" * 64


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a file.

    Attributes:
        place: its place in the file, from 1.
        digest: the SHA-256 of its bytes, without the end of the line.
        number: its number; None if it has none.
        previous: the hash that it states of the line before; None if it states none.
        is_whole: whether it ends as a line of a log does.
        has_end: whether the end of the line is there.
        ends_at: the byte of the file after it.
        is_continued: whether it says that it continues a log that was put aside.
    """

    place: int
    digest: str
    number: int | None
    previous: str | None
    is_whole: bool
    has_end: bool
    ends_at: int
    is_continued: bool


class Broken(Exception):
    """A line does not follow the line before it. The text is a sentence that names it."""


def lines_of(file: BinaryIO, until: int, place: int = 0) -> Iterator[Line]:
    """Reads the lines of a file from its position on. At most a block is in memory, however long a line is.

    Args:
        file: an open file.
        until: the byte at which to stop. A line that is cut there counts, and has no end.
        place: the place of the line before the position.
    """
    digest, tail, at = hashlib.sha256(), b"", file.tell()
    while at < until:
        block = file.read(min(_BLOCK, until - at))
        if not block:
            break
        *ended, rest = block.split(b"\n")
        for part in ended:
            digest.update(part)
            place, at = place + 1, at + len(part) + 1
            yield _line(place, digest.hexdigest(), (tail + part)[-_TAIL:], True, at)
            digest, tail = hashlib.sha256(), b""
        digest.update(rest)
        tail, at = (tail + rest)[-_TAIL:], at + len(rest)
    if tail:
        yield _line(place + 1, digest.hexdigest(), tail, False, at)


def line_of(data: bytes, place: int) -> Line:
    """Returns a line that is in memory.

    Args:
        data: its bytes, without the end of the line.
        place: its place.
    """
    return _line(place, hashlib.sha256(data).hexdigest(), data[-_TAIL:], True, 0)


def _line(place: int, digest: str, tail: bytes, has_end: bool, ends_at: int) -> Line:
    fields = _FIELDS.search(tail)
    number, previous = (int(fields[1]), fields[2].decode()) if fields else (None, None)
    is_continued = number is not None and _CONTINUED.match(tail) is not None
    return Line(place, digest, number, previous, tail.endswith(b"}"), has_end, ends_at, is_continued)


class Chain:
    """What the lines so far have come to.

    Args:
        is_all: whether no line was put aside, and lines without a number come before all others, as with acts.

    Attributes:
        head: the hash of the last line; zeros before the first one.
        number: the number of the last line, where lines without one count after one that has; None before that.
        first: the first line that has a number.
    """

    def __init__(self, is_all: bool = False) -> None:
        self._is_all = is_all
        self.head = ZEROS
        self.number: int | None = None
        self.first: Line | None = None
        self._any = False

    def add(self, line: Line, file: Path) -> None:
        """Adds the next line.

        Raises:
            Broken: it does not follow the line before it. It is added all the same.
        """
        head, before, any_before = self.head, self.number, self._any
        self.head, self._any = line.digest, True
        at = f"line {line.place} of {file}"
        if line.number is None:
            if self._is_all and before is not None:
                raise Broken(f"{at} has no number, and lines before it have one: it was inserted or changed")
            self.number = None if before is None else before + 1
            return
        self.number, due = line.number, (before or 0) + 1
        if self.first is None:
            self.first = line
            if self._is_all and line.number != 1:
                raise Broken(
                    f"{at} is the first one with a number, {line.number} instead of 1: those before were removed"
                )
            if not any_before and line.number > 1:  # of a file before, which is not looked at
                head, due = str(line.previous), line.number
        if line.previous == ZEROS != head:
            raise Broken(f"{at} begins a chain of its own: lines before it may have been removed")
        if line.previous != head:
            raise Broken(
                f"{at} does not follow the line before it: that line was changed, or lines were removed or inserted"
            )
        if line.number != due:
            raise Broken(f"{at} has the number {line.number} where {due} is due: another program wrote it")


def after(last: bytes | None) -> Chain:
    """Returns the chain whose last line is this one.

    Args:
        last: its bytes, without the end of the line; None for a chain without lines.
    """
    chain = Chain()
    if last is not None:
        with contextlib.suppress(Broken):  # whether it follows the line before is for who verifies
            chain.add(line_of(last, 1), Path())
    return chain


def linked(fields: str, chain: Chain) -> bytes:
    """Returns the line that follows the chain, with its end.

    Args:
        fields: the line as JSON, without its last brace.
        chain: the lines before.
    """
    return f'{fields}, "sequence": {(chain.number or 0) + 1}, "previous": "{chain.head}"}}\n'.encode()
