"""A clock for simulated days: the system's, and seconds ahead of it that all processes of a soak read from one file.

Run as a program, it starts `quorate` with this clock in the place of `time.time`, without a change of the product:

    python benches/_soak_clock.py CLOCK serve --config party.toml
"""

from __future__ import annotations

import mmap
import struct
import sys
import time
from pathlib import Path

_SECONDS = struct.Struct("<d")


class Clock:
    """Seconds since 1970, as far ahead as the file says. One process sets it, others read it."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(bytes(_SECONDS.size))
        with file.open("r+b") as opened:
            self._shared = mmap.mmap(opened.fileno(), _SECONDS.size)
        self._system = time.time
        self.file = file

    @property
    def ahead(self) -> float:
        """Seconds ahead of the system's clock."""
        seconds: float = _SECONDS.unpack_from(self._shared)[0]
        return seconds

    @ahead.setter
    def ahead(self, seconds: float) -> None:
        _SECONDS.pack_into(self._shared, 0, seconds)

    def __call__(self) -> float:
        return self._system() + self.ahead

    def install(self) -> None:
        """Makes this the clock of the process. Modules that keep `time.time` at import must not be imported before."""
        time.time = self


def main() -> int:
    """Runs `quorate` with the clock of the file that is the first argument."""
    Clock(Path(sys.argv[1])).install()
    from quorate.cli import main as quorate

    return quorate(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
