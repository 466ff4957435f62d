"""The outbox: packets on the client's disk until all servers have stored them, and the numbers that were used.

A folder of mode 0700 for each campaign and key. `SLOT.ITEM.json` is an item's state; `SLOT.ITEM.NUMBER.SERVER` is a
server's packet, sealed. A packet's files are synced before the state names them, and the state is replaced at once, so
that after a crash the same number has the same bytes or none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quorate_client.errors import OutboxError

__all__ = ["Item", "Outbox"]


@dataclasses.dataclass
class Item:
    """The state of an item of a slot.

    Attributes:
        slot: the index of the slot.
        item: the item.
        number: the last number that was used; 0 if none.
        base: the highest number that all servers have stored; 0 if none.
        masks: the seeds of the masks of results, as text, by number: of `base` and of later packets.
        mark: a keyed hash of the values of packet `number`, by which the same values are found again.
        greeted: whether all servers have stated the campaign since the packet was made.
        is_pending: whether packet `number` is to be sent.
        receipts: the receipts for packet `number`, as JSON, by server.
    """

    slot: int
    item: int
    number: int = 0
    base: int = 0
    masks: dict[str, str] = dataclasses.field(default_factory=dict)
    mark: str = ""
    greeted: bool = False
    is_pending: bool = False
    receipts: dict[str, str] = dataclasses.field(default_factory=dict)


class Outbox:
    """The packets of one key in one campaign, on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __repr__(self) -> str:
        return f"Outbox({str(self._folder)!r})"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes out of the folder, which is made if it does not exist.

        Raises:
            OutboxError: another process uses it, or it cannot be used.
        """
        with self._errors():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OutboxError(
                    f"Another client uses the outbox {self._folder}. Wait for it, or name another store."
                ) from None
            with self._errors():
                for path in self._folder.glob("new.*"):
                    path.unlink()
            yield
        finally:
            os.close(handle)

    def item(self, slot: int, item: int) -> Item:
        """Returns the state of an item.

        Raises:
            OutboxError: it cannot be read.
        """
        path = self._folder / f"{slot}.{item}.json"
        with self._errors():
            if not path.exists():
                return Item(slot, item)
            fields = path.read_bytes()
        try:
            read: dict[str, Any] = json.loads(fields)
            return Item(**read)
        except (ValueError, TypeError):
            raise OutboxError(f"{path} is damaged. Name another store; higher numbers are used there.") from None

    def pending(self) -> list[Item]:
        """Returns the items with a packet to be sent.

        Raises:
            OutboxError: a state cannot be read.
        """
        with self._errors():
            names = sorted(path.name.split(".") for path in self._folder.glob("[0-9]*.json"))
        items = [self.item(int(slot), int(item)) for slot, item, _ in names]
        return [item for item in items if item.is_pending]

    def keep(self, item: Item, packets: Sequence[bytes]) -> None:
        """Writes the packets of an item's number, then its state.

        Raises:
            OutboxError: they cannot be written.
        """
        for server, packet in enumerate(packets):
            self._write(self._path(item, server), packet)
        self.save(item)

    def packet(self, item: Item, server: int) -> bytes:
        """Returns the packet of a server.

        Raises:
            OutboxError: it cannot be read.
        """
        with self._errors():
            return self._path(item, server).read_bytes()

    def save(self, item: Item) -> None:
        """Replaces an item's state, and deletes packets that it no longer names.

        Raises:
            OutboxError: it cannot be written.
        """
        self._write(self._folder / f"{item.slot}.{item.item}.json", json.dumps(dataclasses.asdict(item)).encode())
        with self._errors():
            for path in self._folder.glob(f"{item.slot}.{item.item}.*.*"):
                number = path.name.split(".")[2]
                if number != str(item.number) or not item.is_pending:
                    path.unlink()

    def _path(self, item: Item, server: int) -> Path:
        return self._folder / f"{item.slot}.{item.item}.{item.number}.{server}"

    def _write(self, path: Path, data: bytes) -> None:
        new = path.with_name(f"new.{path.name}")
        with self._errors():
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutboxError(f"The outbox {self._folder} cannot be used: {error.strerror}.") from None
