"""Files of a log of reveals: read while sessions append to them, and put aside."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from quorate import _quorate
from quorate._syncing import sync_folder
from quorate.auditing._chain import Broken, Chain, Line, lines_of, linked
from quorate.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["log_of", "read", "rotated"]

#: Seconds to wait for a session that holds the lock.
_PATIENCE_S = 10.0


def log_of(config: Path) -> Path:
    """Returns the log that a party.toml names.

    Raises:
        ConfigError: the file cannot be used, or names none.
    """
    _quorate.read_config(str(config))
    audit = tomllib.loads(config.read_text(encoding="utf-8")).get("audit")
    if audit is None:
        raise ConfigError(f"{config} names no log of reveals: add `audit`, or name the log's file")
    return config.parent / str(audit)


def read(file: Path) -> Iterator[Line]:
    """Reads the lines that the file has now; sessions may append others meanwhile.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        with file.open("rb") as opened:
            with _locked(opened, file, alone=False):
                until = os.fstat(opened.fileno()).st_size
            yield from lines_of(opened, until)
    except OSError as error:
        raise ConfigError(f"the log {file} cannot be read: {error.strerror}") from None


def rotated(file: Path) -> tuple[Path, str]:
    """Puts a log aside, under its name and the time. Sessions continue in a new file, which begins with a link to it.

    Returns:
        The file that was put aside, and its head.

    Raises:
        ConfigError: the log is empty or another user's, cannot be locked, or cannot be put aside.
    """
    try:
        with file.open("rb") as opened:
            chain = Chain()
            until = os.fstat(opened.fileno()).st_size
            until = _walk(opened, file, chain, (0, until), has_end=True)  # most of it without the lock
            with _locked(opened, file, alone=True):
                status = os.fstat(opened.fileno())
                _walk(opened, file, chain, (until, status.st_size), has_end=False)
                if os.geteuid() not in (0, status.st_uid):
                    raise ConfigError(
                        f"the log {file} belongs to the user {status.st_uid}: put it aside as that user or as root, "
                        "since sessions could not append to a file of another user"
                    )
                if status.st_size == 0:
                    raise ConfigError(f"the log {file} is empty: there is nothing to put aside")
                if not os.path.samestat(status, file.stat()):
                    raise ConfigError(f"the log {file} was put aside by another program: try again")
                return _replaced(file, status, chain), chain.head
    except OSError as error:
        raise ConfigError(f"the log {file} cannot be put aside: {error.strerror}") from None


def _walk(opened: BinaryIO, file: Path, chain: Chain, span: tuple[int, int], *, has_end: bool) -> int:
    """Adds the lines of a span of bytes to the chain.

    Args:
        opened, file: the file, and its name.
        chain: the lines before.
        span: where to begin, and to stop.
        has_end: whether to stop before a line that has no end yet.

    Returns:
        The byte after the last line that was added.
    """
    begin, until = span
    opened.seek(begin)
    for line in lines_of(opened, until):
        if has_end and not line.has_end:
            break
        begin = line.ends_at
        with contextlib.suppress(Broken):  # `quorate audit verify` finds it in the file that is put aside
            chain.add(line, file)
    return begin


def _replaced(file: Path, status: os.stat_result, chain: Chain) -> Path:
    """Gives the log another name, and puts a file with one line in its place, at once."""
    now = datetime.datetime.now(datetime.timezone.utc)
    aside = file.with_name(f"{file.name}.{now:%Y%m%dT%H%M%S}Z")
    for number in range(2, 100):
        if not aside.exists():
            break
        aside = file.with_name(f"{file.name}.{now:%Y%m%dT%H%M%S}Z-{number}")
    said = {"event": "continued", "process": os.getpid(), "file": aside.name}
    fields = json.dumps({"time": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z", **said})
    descriptor, following = tempfile.mkstemp(".new", f".{file.name}.", file.parent)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            if os.geteuid() == 0:
                os.fchown(opened.fileno(), status.st_uid, status.st_gid)
            os.fchmod(opened.fileno(), status.st_mode & 0o777)
            opened.write(linked(fields.removesuffix("}"), chain))
            opened.flush()
            os.fsync(opened.fileno())
        os.link(file, aside)
        os.replace(following, file)
    except BaseException:
        Path(following).unlink(missing_ok=True)
        raise
    sync_folder(file.parent)
    return aside


@contextlib.contextmanager
def _locked(opened: BinaryIO, file: Path, *, alone: bool) -> Iterator[None]:
    """Holds the lock that sessions take to append a line.

    Raises:
        ConfigError: a session keeps it; or this system has no such lock, and it is wanted `alone`.
    """
    try:
        import fcntl
    except ImportError:
        if alone:
            raise ConfigError("a log is put aside on Unix only; elsewhere, rename it between sessions") from None
        yield
        return
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(opened.fileno(), (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                raise ConfigError(f"a session keeps the lock of {file}: continue it if it is suspended") from None
            time.sleep(0.002)
    try:
        yield
    finally:
        fcntl.flock(opened.fileno(), fcntl.LOCK_UN)
