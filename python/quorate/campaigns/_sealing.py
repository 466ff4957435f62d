"""Encryption at rest: a random key for each campaign and kept value, in a file of its own, under the store's key.

AES-256-GCM with random nonces of 96 bits. Associated data binds each ciphertext to its place in the store, so a part
that is moved to another row does not open. When a campaign has ended, or a value is forgotten, the key's file is
overwritten and removed: parts that are left on the disk, or in copies of the store, do not open any more.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import struct
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from quorate._syncing import sync_folder
from quorate.campaigns._errors import Lost, StoreError

__all__ = ["KEY_BYTES", "CampaignKey", "CampaignKeys", "JobKey", "KeptKey", "KeptKeys", "place_of_part"]

KEY_BYTES = 32
_NONCE_BYTES = 12
_CHECK = b"quorate/store/check/1\0"
_CAMPAIGN = b"quorate/store/campaign/1\0"
_PARTS = b"quorate/store/parts/1\0"
_INVITATIONS = b"quorate/store/invitations/1\0"
_JOBS = b"quorate/store/jobs/1\0"
_KEPT = b"quorate/store/kept/1\0"


def place_of_part(
    campaign: bytes, place: int, client: bytes, slot: int, item: int, number: int, digest: bytes
) -> bytes:
    """Returns what a part at rest is bound to: its row, its client, and the SHA-256 of its packet's header."""
    return campaign + client + struct.pack("<IHHQ", place, slot, item, number) + digest


def _seal(cipher: AESGCM, plain: bytes | bytearray, place: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, plain, place)


def _open(cipher: AESGCM, sealed: bytes, place: bytes) -> bytes | None:
    try:
        return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place)
    except (InvalidTag, ValueError):
        return None


class CampaignKey:
    """The key of one campaign's parts and invitations.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        def derived(label: bytes) -> bytes:
            return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=label).derive(key)

        self._parts = AESGCM(derived(_PARTS))
        self._invitations = derived(_INVITATIONS)

    def seal_part(self, part: bytes, place: bytes) -> bytes:
        """Seals a part of a packet for its place: `place_of_part`."""
        return _seal(self._parts, part, place)

    def open_part(self, sealed: bytes, place: bytes) -> bytes:
        """Opens a part of a packet.

        Raises:
            StoreError: the part was altered, or belongs to another place.
        """
        part = _open(self._parts, sealed, place)
        if part is None:
            raise StoreError("a part in the store was altered or moved: restore this server's store and its keys")
        return part

    def invitation(self, place: int) -> bytes:
        """Returns this server's secret for an invitation: 32 bytes, which tell nothing about those of other places."""
        return hmac.digest(self._invitations, place.to_bytes(4, "little"), "sha256")


class JobKey:
    """The key of the results of jobs, derived from the store's key.

    Args:
        store_key: 32 bytes.
    """

    def __init__(self, store_key: bytes) -> None:
        self._cipher = AESGCM(HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=_JOBS).derive(store_key))

    def seal(self, result: bytes, job: bytes) -> bytes:
        """Seals a result for its job."""
        return _seal(self._cipher, result, job)

    def open(self, sealed: bytes, job: bytes) -> bytes:
        """Opens the result of a job.

        Raises:
            StoreError: the result was altered, or belongs to another job.
        """
        result = _open(self._cipher, sealed, job)
        if result is None:
            raise StoreError("a result in the store was altered or moved: restore this server's store")
        return result


class KeptKey:
    """The key of one version of a kept value.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, plain: bytes | bytearray, place: bytes) -> bytes:
        """Seals bytes for their place."""
        return _seal(self._cipher, plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Opens what was sealed for this place.

        Raises:
            Lost: it was altered, or belongs to another place.
        """
        plain = _open(self._cipher, sealed, place)
        if plain is None:
            raise Lost("a kept value in the store was altered, or is another party's: keep it again")
        return plain


class _KeyFiles:
    """Files of keys in a folder beside the store, each sealed under the store's key."""

    #: What a sealed key is bound to besides its owner, and what is lost without it.
    _LABEL: bytes
    _LOST: str

    def __init__(self, folder: Path, store_key: bytes) -> None:
        self._folder = folder
        self._cipher = AESGCM(store_key)

    def _file(self, owner: bytes) -> Path:
        return self._folder / f"{owner.hex()}.key"

    def create(self, owner: bytes) -> None:
        """Writes a new key for an owner that has nothing yet.

        Raises:
            StoreError: the file cannot be written.
        """
        sealed = _seal(self._cipher, os.urandom(KEY_BYTES), self._LABEL + owner)
        file = self._file(owner)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(self._folder.parent)
            temporary = file.with_suffix(".new")
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
                out.write(sealed)
                out.flush()
                os.fsync(out.fileno())
            temporary.rename(file)
            sync_folder(self._folder)
        except OSError as error:
            raise StoreError(f"the key {file} cannot be written: {error.strerror}") from None

    def _key(self, owner: bytes) -> bytes:
        """Reads the key of an owner.

        Raises:
            StoreError: there is no such file, or it is another owner's or was altered.
        """
        file = self._file(owner)
        try:
            key = _open(self._cipher, file.read_bytes(), self._LABEL + owner)
        except OSError as error:
            kind = Lost if isinstance(error, FileNotFoundError) else StoreError
            raise kind(f"the key {file} cannot be read ({error.strerror}), so {self._LOST}") from None
        if key is None:
            raise Lost(f"the key {file} was altered, or belongs elsewhere or to another store: restore it")
        return key

    def erase(self, owner: bytes) -> None:
        """Overwrites and removes the key of an owner; what is gone already stays gone.

        Raises:
            StoreError: the file cannot be overwritten.
        """
        file = self._file(owner)
        try:
            with contextlib.suppress(FileNotFoundError):
                file.with_suffix(".new").unlink(missing_ok=True)  # a crash may have left it; nothing is sealed under it
                with open(os.open(file, os.O_WRONLY), "wb") as out:
                    out.write(bytes(file.stat().st_size))
                    out.flush()
                    os.fsync(out.fileno())
                file.unlink()
                sync_folder(self._folder)
        except OSError as error:
            raise StoreError(f"the key {file} cannot be erased ({error.strerror}): remove it by hand") from None


class CampaignKeys(_KeyFiles):
    """The files of the campaigns' keys.

    Args:
        folder: the folder; it is created with the first key.
        store_key: 32 bytes, under which the files are sealed.
    """

    _LABEL = _CAMPAIGN
    _LOST = "this campaign's packets are lost: end it, and ask the clients again in a new campaign"

    def mark(self) -> bytes:
        """Returns a mark for a new store, by which its key is recognised."""
        return _seal(self._cipher, b"", _CHECK)

    def made(self, mark: bytes) -> bool:
        """Returns whether this store's key made the mark."""
        return _open(self._cipher, mark, _CHECK) is not None

    def load(self, campaign: bytes) -> CampaignKey:
        """Reads the key of a campaign.

        Raises:
            StoreError: there is no such file, or it is another campaign's or was altered.
        """
        return CampaignKey(self._key(campaign))


class KeptKeys(_KeyFiles):
    """The files of the keys of kept values, one for each version.

    Args:
        folder: the folder; it is created with the first key.
        store_key: 32 bytes, under which the files are sealed.
    """

    _LABEL = _KEPT
    _LOST = "this version of a kept value is lost: keep it again"

    def load(self, version: bytes) -> KeptKey:
        """Reads the key of a version.

        Raises:
            StoreError: there is no such file, or it is another version's or was altered.
        """
        return KeptKey(self._key(version))
