"""The temporary folders of jobs: each is removed with its job, or by the next start of a server that was killed.

A folder's name has a mark of the server's store, and the processes of its job hold a lock of it. Other users of a
shared folder for temporary files may put there what they like: nothing is removed that is not this user's own folder,
of this server, without a process. No link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import stat
import tempfile
import threading
from pathlib import Path

from quorate.campaigns import Store, holders, kept_by
from quorate.jobs._events import about

__all__ = ["Folder", "remove_left"]

LOG = logging.getLogger("quorate.serve")

#: Seconds between looks at folders whose processes still run; the processes of a killed server's jobs end in 6 s.
_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 600.0

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """The folder of one job, which this user alone can enter.

    Attributes:
        name: its path.
        lock: a descriptor that has its lock. The processes of the job inherit it.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, store: Store) -> None:
        self._made = tempfile.TemporaryDirectory(prefix=_prefix(store), ignore_cleanup_errors=True)
        self.name = self._made.name
        try:
            self.lock = os.open(self.name, _OPEN)
        except OSError:
            self._made.cleanup()
            raise
        with contextlib.suppress(OSError):  # a file system without such locks: then none is removed later
            fcntl.flock(self.lock, fcntl.LOCK_EX)

    def cleanup(self) -> None:
        """Removes it."""
        os.close(self.lock)
        self._made.cleanup()


def _prefix(store: Store) -> str:
    """Returns how the names of this server's folders begin: its mark is of the store's path and inode."""
    path = store.path.resolve()
    mark = hashlib.sha256(f"{path}\0{path.stat().st_ino}".encode()).hexdigest()[:16]
    return f"quorate-job-{mark}-"


def remove_left(store: Store, over: threading.Event) -> None:
    """Removes the folders that a killed server of this store has left. Those whose processes still run are waited for.

    The caller serves the store, so no other process does.

    Args:
        store: the store.
        over: set when this server ends; then this returns.
    """
    above, pause_s = tempfile.gettempdir(), _PAUSE_S
    try:
        parent = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        prefix, told = _prefix(store), set[str]()
        names = sorted(one for one in os.listdir(parent) if one.startswith(prefix))
        while names := [one for one in names if not _settled(parent, Path(above) / one, told)]:
            if over.wait(pause_s):
                break
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    finally:
        os.close(parent)


def _settled(parent: int, path: Path, told: set[str]) -> bool:
    """Removes a folder if it may be; returns False if a process has it still. `told` has those that the log names."""
    try:
        if not _is_own(parent, path.name):
            return True  # without a line in the log, which strangers could fill
        outcome = _remove(parent, path.name)
    except FileNotFoundError:
        return True
    except BlockingIOError as running:
        if path.name not in told:
            told.add(path.name)
            text = "the folder %s of a job stays until %s of that job has ended"
            LOG.warning(text, path, running.strerror, extra=about("job.folder_kept"))
        return False
    except (OSError, RecursionError) as error:
        outcome = f"it cannot be removed: {getattr(error, 'strerror', None) or type(error).__name__}"
    if outcome:
        LOG.warning("the folder %s of a job stays: %s", path, outcome, extra=about("job.folder_kept"))
    else:
        LOG.info("removed the folder %s, which a job has left", path, extra=about("job.folder_removed"))
    return True


def _is_own(parent: int, name: str) -> bool:
    """Whether a name is that of a folder, and no link, that this user made."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _remove(parent: int, name: str) -> str:
    """Removes a folder, unless another user made it; returns why it stays if it does, for the log.

    Raises:
        BlockingIOError: a process of the job still runs; its text names the process.
        OSError: it, or something in it, cannot be opened or removed.
    """
    folder = os.open(name, _OPEN, dir_fd=parent)
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
            return "other users may enter it"
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(errno.EAGAIN, kept_by(holders(status)) or "a process") from None
        _empty(folder)
        os.rmdir(name, dir_fd=parent)
    finally:
        os.close(folder)
    return ""


def _open_up(name: str, parent: int) -> None:
    """Lets this user enter and change a folder; does nothing to a link."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if stat.S_ISDIR(os.fstat(found).st_mode):
            os.chmod(f"/proc/self/fd/{found}", 0o700)  # such a descriptor has no `fchmod`
    finally:
        os.close(found)


def _empty(folder: int) -> None:
    """Removes what is in an open folder, also in folders that a program has closed. Links are not followed."""
    for _, folders, _, at in os.fwalk(".", follow_symlinks=False, dir_fd=folder):
        for one in folders:  # before it is entered
            _open_up(one, at)
    for _, folders, files, at in os.fwalk(".", topdown=False, follow_symlinks=False, dir_fd=folder):
        for file in files:
            os.unlink(file, dir_fd=at)
        for one in folders:
            if stat.S_ISLNK(os.stat(one, dir_fd=at, follow_symlinks=False).st_mode):
                os.unlink(one, dir_fd=at)
            else:
                os.rmdir(one, dir_fd=at)
