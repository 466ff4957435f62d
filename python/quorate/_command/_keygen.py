"""`quorate keygen`: the key and certificate of a party, and another pair beside them that is to take their place."""

from __future__ import annotations

import hashlib
import os
import ssl
import tempfile
from pathlib import Path

from quorate import _quorate
from quorate.errors import ConfigError

__all__ = ["der_of", "keygen", "renewed"]


def keygen(folder: Path, party: int, renew: bool) -> str:
    """Makes a key and a certificate, and returns what the command prints.

    Raises:
        ConfigError: `party` is no number of a party, a file is there already, or cannot be written.
    """
    if party < 0:
        raise ConfigError(f"parties are numbered from 0; {party} is not a party")
    return renewed(folder, party) if renew else str(_quorate.keygen(str(folder), party))


def renewed(folder: Path, party: int) -> str:
    """Makes a new key and certificate beside those that are there; returns both fingerprints and what to do.

    Raises:
        ConfigError: there is no certificate to replace, a new file is there already, or cannot be written.
    """
    before, key, certificate = (folder / f"party{party}.{end}" for end in ("crt", "new.key", "new.crt"))
    old = _fingerprint(before)
    for file in (key, certificate):
        if file.exists():
            raise ConfigError(
                f"{file} exists already and is not overwritten: if it is in use by now, rename it to the name without "
                "`.new`, also in party.toml, before you renew it; otherwise move it away"
            )
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".renewed-") as made:
            new = _quorate.keygen(made, party)
            for made_file, file in ((f"party{party}.key", key), (f"party{party}.crt", certificate)):
                os.link(Path(made) / made_file, file)  # fails if the file is there by now
    except OSError as error:
        raise ConfigError(f"no new key can be written to {folder}: {error.strerror or error}") from None
    return "\n".join(
        [
            f"old {old}",
            f"new {new}",
            "",
            f"1. Send {certificate.name} to the other parties, and compare the new fingerprint by another channel.",
            f"2. All parties, you too, list both for party {party} in party.toml, the new one last:",
            f'   certificate = ["{before.name}", "{certificate.name}"], with the folders of the files.',
            f'3. Run `quorate doctor party.toml` at all parties. Once all list both, you set key = "{key}".',
            f"4. Once sessions that began before that have ended, all list {certificate.name} alone, and you erase",
            f"   {before.with_suffix('.key')}. Sessions run at every step.",
        ]
    )


def der_of(certificate: Path) -> bytes:
    """Returns the bytes of a certificate, which is a file in PEM.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    return ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii").strip())


def _fingerprint(certificate: Path) -> str:
    """Returns the fingerprint of a certificate, as `keygen` prints it: groups of four digits of the SHA-256.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        digest = hashlib.sha256(der_of(certificate)).hexdigest()
    except FileNotFoundError:
        raise ConfigError(
            f"there is no certificate {certificate} to renew: leave --renew out to make the first one"
        ) from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"the certificate {certificate} cannot be read: {error}") from None
    return ":".join(digest[at : at + 4] for at in range(0, len(digest), 4))
