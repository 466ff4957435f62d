"""Which pool a session uses: the folder of a party's correlations, and the key under which it is sealed."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

from quorate import _quorate
from quorate._source import at
from quorate._syncing import sync_folder
from quorate.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PoolFolder", "PoolHeld", "pool_of"]

_KEY_BYTES = 32

#: How file systems without hard links refuse one: FAT, many FUSE and SMB mounts.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclasses.dataclass(frozen=True)
class PoolHeld:
    """What a pool has.

    Attributes:
        id: its name, the same at all parties.
        state: "free"; where parties may cheat, "idle", "in use", or "dead: " and the reason.
        lots: by name, the bundles that are left, the places that were used or given up, the bytes of a bundle on the
            disk of this party, and the number of correlations in it by kind.
    """

    id: str
    state: str
    lots: dict[str, tuple[int, int, int, dict[str, int]]]

    def left(self, lot: str) -> int:
        """Returns the bundles that are left in a lot."""
        return self.lots[lot][0] if lot in self.lots else 0

    def can_stop(self) -> bool:
        """Whether a making that is interrupted can go on later."""
        return self.state == "free"

    def takes_more(self) -> bool:
        """Whether correlations can be made for this pool, or for a new one in its place."""
        return self.state != "idle" or not any(lot[0] for lot in self.lots.values())


@dataclasses.dataclass(frozen=True)
class PoolFolder:
    """A pool of one party.

    Attributes:
        folder: the folder.
        key_file: the file of its key.
    """

    folder: Path
    key_file: Path

    def key(self) -> bytes:
        """Returns the key.

        Raises:
            ConfigError: the file cannot be read, others may read it, or it does not hold 32 bytes.
        """
        try:
            with self.key_file.open("rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    raise ConfigError(f"others may read the key {self.key_file}: run `chmod 600 {self.key_file}`")
                key = file.read()
        except FileNotFoundError:
            raise ConfigError(
                f"there is no key {self.key_file} of the pool {self.folder}: `quorate preprocess` makes pools and keys"
            ) from None
        except OSError as error:
            raise ConfigError(f"the pool's key {self.key_file} cannot be read: {error.strerror}") from None
        if len(key) != _KEY_BYTES:
            what = f"has {len(key)} bytes instead of {_KEY_BYTES}"
            raise ConfigError(f"the pool's key {self.key_file} {what}: it is another file")
        return key

    def held(self) -> PoolHeld | None:
        """Returns what the pool has, also while another process uses it; None if there is none.

        Raises:
            ConfigError: the key or the pool's files cannot be read.
        """
        told = _quorate.pool_levels(str(self.folder), self.key())
        return None if told is None else PoolHeld(**told)

    def is_used(self) -> bool:
        """Whether a process uses the pool now, by the lock that the native module takes."""
        try:
            import fcntl

            with (self.folder / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # it ends with the file
        except BlockingIOError:
            return True
        except (ImportError, OSError):
            return False
        return False

    def make_key(self) -> None:
        """Makes the file of the key, unless there is one. A process that ends midway leaves no part of the file.

        Raises:
            ConfigError: it cannot be written, or there is a pool whose key is gone.
        """
        if self.key_file.exists():
            return
        if (self.folder / "pool").exists():
            raise ConfigError(
                f"the key {self.key_file} of the pool {self.folder} is gone: put it back, or remove the pool's folder "
                "at all parties"
            )
        try:
            self.key_file.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # another process has made it in the meantime
                _write_whole(self.key_file, secrets.token_bytes(_KEY_BYTES))
        except OSError as error:
            raise ConfigError(f"the pool's key {self.key_file} cannot be written: {error.strerror}") from None


def _write_whole(path: Path, data: bytes) -> None:
    """Writes a new file that its owner alone may read: a file beside it first, which then gets its name."""
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        _write_synced(descriptor, data)
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _write_in_place(path, data)
    finally:
        os.unlink(beside)
    sync_folder(path.parent)


def _write_synced(descriptor: int, data: bytes) -> None:
    """Writes a file to the disk, and closes it."""
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write_in_place(path: Path, data: bytes) -> None:
    """Writes a new file where the file system has no hard links. A process that is killed midway leaves a part of it,
    which `PoolFolder.key` refuses; a write that fails leaves nothing.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _write_synced(descriptor, data)
    except OSError:
        os.unlink(path)
        raise


def pool_of(config: str | os.PathLike[str], pool: str | os.PathLike[str] | None) -> PoolFolder | None:
    """Returns the pool of a party: the one that is given, or that of its file, or None.

    Args:
        config: the party's `party.toml`. Its `pool` and `pool_key` are relative to it.
        pool: a folder, relative to the working folder.

    Raises:
        ConfigError: the file states something else than texts.
    """
    fields, beside = _fields(config), Path(config).parent
    stated, key = (_text(config, fields, name) for name in ("pool", "pool_key"))
    if pool is None and stated is None:
        return None
    folder = Path(pool) if pool is not None else beside / str(stated)
    return PoolFolder(folder, beside / key if key is not None else folder.with_name(f"{folder.name}.key"))


def _fields(config: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the fields of a file; none where the native module will say what is wrong with it."""
    try:
        return tomllib.loads(Path(config).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _text(config: str | os.PathLike[str], fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise ConfigError(at(f"{os.fspath(config)}: `{name}` must be a text, the path of a file or folder"))
