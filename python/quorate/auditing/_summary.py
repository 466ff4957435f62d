"""A sentence on the chain of one log."""

from __future__ import annotations

from pathlib import Path

from quorate.auditing._chain import Broken, Chain
from quorate.auditing._files import read

__all__ = ["summary"]

#: Bytes of a log that is read while somebody waits for a page.
_MOST_BYTES = 64 << 20


def summary(file: Path) -> str:
    """Returns what the chain of a log says: the first line that is broken, or how many follow each other.

    Raises:
        ConfigError: the file cannot be read.
    """
    if file.exists() and file.stat().st_size > _MOST_BYTES:
        return f"the log has more than {_MOST_BYTES >> 20} MiB: run `quorate audit verify {file}`"
    chain, count = Chain(), 0
    try:
        for line in read(file):
            count += 1
            chain.add(line, file)
    except Broken as broken:
        return str(broken)
    if chain.first is None:
        return "no line has the hash of another one, so nothing was verified"
    return f"{count} lines, each of which follows the one before it; head {chain.head}"
