"""Which processes keep a lock: `flock` has no question for that, and the process that took a lock may have ended."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["Holder", "holders", "kept_by"]

_PROC = Path("/proc")


class Holder(NamedTuple):
    """A process that keeps a lock.

    Attributes:
        number: its number.
        name: the name of its program, of at most 15 characters. Its arguments are not shown, since some may be secret.
    """

    number: int
    name: str


def holders(lock: os.stat_result) -> list[Holder]:
    """Returns the other processes of this user that keep a lock of a file; none where the system does not tell.

    Args:
        lock: the status of the file.
    """
    found: list[Holder] = []
    numbers = sorted(int(one.name) for one in _PROC.glob("[0-9]*") if one.name.isdigit())
    for number in numbers:
        with contextlib.suppress(OSError):  # it is another user's, or has ended
            if number != os.getpid() and _keeps(_PROC / str(number), lock):
                name = (_PROC / str(number) / "comm").read_text(encoding="utf-8", errors="replace").strip()
                found.append(Holder(number, "".join(one if one.isprintable() else "?" for one in name)))
    return found


def _keeps(process: Path, lock: os.stat_result) -> bool:
    """Whether a process has a descriptor with the lock; one that only opened the file has none."""
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(OSError):
            if os.path.samestat(descriptor.stat(), lock):
                told = (process / "fdinfo" / descriptor.name).read_text(encoding="ascii", errors="replace")
                if any(line.startswith("lock:") and "FLOCK" in line for line in told.splitlines()):
                    return True
    return False


def kept_by(found: list[Holder]) -> str:
    """Names processes in a sentence.

    >>> kept_by([Holder(7, "python3"), Holder(9, "sleep")])
    'process 7 (python3) and process 9 (sleep)'
    """
    return " and ".join(f"process {one.number} ({one.name})" for one in found)
