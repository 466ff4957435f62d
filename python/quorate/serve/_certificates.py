"""A certificate for a server whose clients pin it: P-256, self-signed."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quorate.errors import ConfigError

__all__ = ["self_signed"]

#: A campaign states the certificate, so the certificate must outlive it.
_YEARS = 20


def self_signed(hosts: Sequence[str] = ()) -> tuple[bytes, bytes, bytes]:
    """Returns a new certificate (PEM), the SHA-256 of its DER, and its private key (PEM).

    Args:
        hosts: names and addresses that it is for.

    Raises:
        ConfigError: a host is neither an address nor a name in ASCII.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "quorate")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=365 * _YEARS))
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pin = hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), pin, private


def _name(host: str) -> x509.GeneralName:
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    try:
        return x509.DNSName(host)
    except ValueError:
        raise ConfigError(f"{host!r} is no host: write an address, or a name in ASCII") from None
