"""A verdict on the chain of one log, for a page."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from quorate.auditing._chain import Broken, Chain
from quorate.auditing._files import read

__all__ = ["Verdict", "summary"]

#: Bytes of a log that is read while somebody waits for a page.
_MOST_BYTES = 64 << 20


class Verdict(NamedTuple):
    """What the chain of a log shows.

    Attributes:
        is_whole: whether each line follows the one before it, from number 1 on or from a `continued` line on. None if
            nothing was verified.
        text: a sentence about it.
    """

    is_whole: bool | None
    text: str


def summary(file: Path) -> Verdict:
    """Verifies the chain of a log as far as one file can show it.

    Raises:
        ConfigError: the file cannot be read.
    """
    if file.exists() and file.stat().st_size > _MOST_BYTES:
        what = f"nothing was verified: the log has more than {_MOST_BYTES >> 20} MiB"
        return Verdict(None, f"{what}; run `quorate audit verify {file}`")
    chain, count, unnumbered = Chain(), 0, 0
    try:
        for line in read(file):
            count, unnumbered = count + 1, unnumbered + (line.number is None)
            chain.add(line, file)
    except Broken as broken:
        return Verdict(False, f"the chain is broken: {broken}")
    if chain.first is None:
        return Verdict(None, "no line has the hash of another one, so nothing was verified")
    begin = chain.first.number
    text = f"{count} lines, each of which follows the one before it; the first number is {begin}, the last number is "
    text += f"{chain.number}; lines without a number: {unnumbered}; head {chain.head}"
    if begin == 1:
        return Verdict(True, text)
    if chain.first.is_continued:
        return Verdict(True, f"{text}; an earlier file has the lines before it: give both to `quorate audit verify`")
    return Verdict(False, f"lines are missing at the beginning: {text}")
