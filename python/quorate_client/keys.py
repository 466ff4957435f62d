"""Keys of clients and servers: P-256, for signatures (ECDSA) and for sealed parts (HPKE).

**Source**: RFC 9180, base mode, DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM; FIPS 186-5, ECDSA with SHA-256.
**Deviation**: what RFC 9180 calls associated data is part of `info` here, which is bound to the ciphertext as well.

A public key is the uncompressed point: 65 bytes, the first of them 4. A signature is r and s, 64 bytes, big-endian.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
import stat
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from quorate_client.errors import KeyFileError

__all__ = [
    "POINT_BYTES",
    "SEAL_BYTES",
    "SIGNATURE_BYTES",
    "ClientKey",
    "ServiceKey",
    "from_text",
    "is_point",
    "new_key",
    "seal",
    "to_text",
    "verify",
    "write_private",
]

POINT_BYTES = 65
SIGNATURE_BYTES = 64

#: Bytes that sealing adds: the encapsulated key, and the tag of AES-GCM.
SEAL_BYTES = POINT_BYTES + 16

_SUITE = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_HASH = ec.ECDSA(hashes.SHA256())

# The curve of FIPS 186-5: y^2 = x^3 - 3x + _B mod _P.
_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


def to_text(data: bytes) -> str:
    """Returns base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_text(text: str) -> bytes:
    """Returns the bytes of base64url without padding.

    Raises:
        ValueError: other characters, or a text that `to_text` does not return.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError("the text is not base64url without padding")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError("the text is not base64url without padding") from None
    if to_text(data) != text:
        raise ValueError("the last character of the base64url text has bits that are not used; they must be 0")
    return data


def is_point(point: bytes) -> bool:
    """Whether the 65 bytes are a point of P-256, uncompressed. The group has no points of small order."""
    if len(point) != POINT_BYTES or point[0] != 4:
        return False
    x, y = int.from_bytes(point[1:33], "big"), int.from_bytes(point[33:], "big")
    return x < _P and y < _P and (y * y - (x * x * x - 3 * x + _B)) % _P == 0


def _public(point: bytes) -> ec.EllipticCurvePublicKey:
    if not is_point(point):
        raise KeyFileError("A public key must be the 65 bytes of an uncompressed point of P-256.")
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)


def _point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def verify(point: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is one of `message` under the public key `point`."""
    if len(signature) != SIGNATURE_BYTES or not is_point(point):
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        _public(point).verify(utils.encode_dss_signature(r, s), message, _HASH)
    except InvalidSignature:
        return False
    return True


def _signed(key: ec.EllipticCurvePrivateKey, message: bytes) -> bytes:
    r, s = utils.decode_dss_signature(key.sign(message, _HASH))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def seal(point: bytes, info: bytes, plain: bytes | bytearray | memoryview) -> bytes:
    """Encrypts `plain` to the public key `point`: 65 bytes of encapsulated key, then the ciphertext and its tag.

    Raises:
        KeyFileError: `point` is not a point of P-256.
    """
    return _SUITE.encrypt(plain, _public(point), info)


class ClientKey:
    """A client's private key. Its public point is the client's identity.

    Attributes:
        id: the public point, 65 bytes.
    """

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        if not isinstance(key.curve, ec.SECP256R1):
            raise KeyFileError(f"A client's key must be on the curve P-256, not {key.curve.name}.")
        self._key = key
        self.id = _point(key)

    def __repr__(self) -> str:
        return f"ClientKey({to_text(self.id)})"

    @staticmethod
    def generate() -> ClientKey:
        """Returns a new key."""
        return ClientKey(ec.generate_private_key(ec.SECP256R1()))

    def sign(self, message: bytes) -> bytes:
        """Returns the signature of a message that begins with its label."""
        return _signed(self._key, message)

    def mac(self, message: bytes | memoryview) -> bytes:
        """Returns 32 bytes that only this key's owner can compute from the message, or compare with a guess of it."""
        secret = self._key.private_numbers().private_value.to_bytes(32, "big")
        keyed = HKDF(hashes.SHA256(), 32, salt=None, info=b"quorate/client/mac/1\0").derive(secret)
        mac = hmac.HMAC(keyed, hashes.SHA256())
        mac.update(message)
        return mac.finalize()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the key to a new file that only its owner can read (PEM, mode 0600).

        Raises:
            KeyFileError: the file exists, or cannot be written.
        """
        write_private(Path(path), _pem(self._key))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ClientKey:
        """Reads a key that `save` wrote.

        Raises:
            KeyFileError: the file cannot be read, others may read it, or it holds no key on P-256.
        """
        return ClientKey(_keys(Path(path), 1)[0])


class ServiceKey:
    """A server's two private keys: `seal` opens what is sealed to it, `sign` signs its receipts.

    Attributes:
        seal: the public point of the first, 65 bytes.
        sign: the public point of the second, 65 bytes.
    """

    def __init__(self, seal_key: ec.EllipticCurvePrivateKey, sign_key: ec.EllipticCurvePrivateKey) -> None:
        if not all(isinstance(key.curve, ec.SECP256R1) for key in (seal_key, sign_key)):
            raise KeyFileError("Both keys of a server must be on the curve P-256.")
        self._seal, self._sign = seal_key, sign_key
        self.seal, self.sign = _point(seal_key), _point(sign_key)
        if self.seal == self.sign:
            raise KeyFileError("The two keys of a server must differ.")

    def __repr__(self) -> str:
        return f"ServiceKey(seal={to_text(self.seal)}, sign={to_text(self.sign)})"

    @staticmethod
    def generate() -> ServiceKey:
        """Returns two new keys."""
        return ServiceKey(ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1()))

    def sign_message(self, message: bytes) -> bytes:
        """Returns the signature of a message that begins with its label."""
        return _signed(self._sign, message)

    def open(self, info: bytes, sealed: bytes | bytearray | memoryview) -> bytes:
        """Decrypts what `seal` made under the same `info`.

        Raises:
            ValueError: it was sealed to another key, under another `info`, or was changed.
        """
        try:
            return _SUITE.decrypt(sealed, self._seal, info)
        except (InvalidTag, ValueError):
            raise ValueError("the part was sealed to another key or for another header, or was changed") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes both keys to a new file that only its owner can read (PEM, mode 0600).

        Raises:
            KeyFileError: the file exists, or cannot be written.
        """
        write_private(Path(path), _pem(self._seal) + _pem(self._sign))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ServiceKey:
        """Reads the keys that `save` wrote.

        Raises:
            KeyFileError: the file cannot be read, others may read it, or it does not hold two keys on P-256.
        """
        seal_key, sign_key = _keys(Path(path), 2)
        return ServiceKey(seal_key, sign_key)


def new_key(path: str | os.PathLike[str]) -> ClientKey:
    """Makes a client's key, writes it to a new file of mode 0600, and returns it.

    Raises:
        KeyFileError: the file exists, or cannot be written.
    """
    key = ClientKey.generate()
    key.save(path)
    return key


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write_private(path: Path, data: bytes) -> None:
    """Writes a new file of mode 0600, and syncs it and its folder.

    Raises:
        KeyFileError: the file exists, or cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyFileError(f"{path} exists. Keys are not overwritten; name another file.") from None
    except OSError as error:
        raise KeyFileError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise KeyFileError(f"{path} cannot be written: {error.strerror}.") from None


def _keys(path: Path, count: int) -> list[ec.EllipticCurvePrivateKey]:
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyFileError(f"Others may read {path}. Run `chmod 600 {path}`, or make a new key.")
            text = file.read(1 << 16)
    except OSError as error:
        raise KeyFileError(f"The key file {path} cannot be read: {error.strerror}.") from None
    blocks = re.findall(rb"-{5}BEGIN PRIVATE KEY-{5}.+?-{5}END PRIVATE KEY-{5}\n?", text, re.DOTALL)
    try:
        keys = [load_pem_private_key(block, None) for block in blocks]
    except Exception:  # the library raises several types, and their texts may quote the file
        keys = []
    on_curves = [key for key in keys if isinstance(key, ec.EllipticCurvePrivateKey)]
    if len(on_curves) != count or len(blocks) != count:
        wanted = "one private key" if count == 1 else f"{count} private keys"
        raise KeyFileError(f"{path} must hold {wanted} on P-256 (PEM, PKCS #8), and nothing else.")
    return on_curves
