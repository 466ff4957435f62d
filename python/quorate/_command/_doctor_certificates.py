"""Certificates that are being replaced: which of two each party shows, who lists both, and what is to be done next."""

from __future__ import annotations

import base64
import hashlib
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quorate._command._findings import Findings
from quorate._command._keygen import der_of

if TYPE_CHECKING:
    from quorate._command._doctor_files import Party
    from quorate._command._doctor_links import Seen

__all__ = ["MOST", "marks", "replaced", "shown"]

#: The certificates that a party may have.
MOST = 2

_MARK_BYTES = 6
#: What stands before the key of 32 bytes in a certificate of `quorate keygen`.
_ED25519 = bytes.fromhex("302a300506032b6570032100")


def marks(party: Party) -> list[int]:
    """Returns, in numbers of 48 bits, the certificate that this party shows, and those that it lists, `MOST` for each.

    A number is the beginning of the certificate's SHA-256; 0: there is none, or it is not known.
    """
    own = shown(party)
    listed = [[_mark(file) for file in files] for files in party.certificates]
    return [0 if own is None else _mark(own), *(one for row in listed for one in [*row, 0][:MOST])]


def _mark(file: Path) -> int:
    try:
        return int.from_bytes(hashlib.sha256(der_of(file)).digest()[:_MARK_BYTES], "big")
    except (OSError, ValueError):
        return 0


def shown(party: Party) -> Path | None:
    """Returns which of this party's certificates belongs to its key; None if that cannot be told."""
    key = party.file.parent / str(party.fields.get("key", ""))
    return next((file for file in party.certificates[party.me] if _match(file, key)), None)


def _match(certificate: Path, key: Path) -> bool:
    try:
        # The last field of a key that `quorate keygen` makes is its public half.
        lines = [line for line in key.read_text(encoding="ascii").splitlines() if not line.startswith("-----")]
        if _ED25519 + base64.b64decode("".join(lines))[-32:] in der_of(certificate):
            return True
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError):  # an ssl.SSLError is an OSError
        return False
    return True


def replaced(party: Party, seen: Sequence[Seen], found: Findings) -> None:
    """Says of each party that has two certificates, in the file of any party, what is to be done next."""
    for number, one in enumerate(seen):
        lists = [[mark for mark in other.lists[number] if mark] for other in seen if other.lists]
        both = next((marks for marks in lists if len(marks) == MOST), None)
        if both is None or one.shows not in both:
            continue
        old, new = both
        late = [other for other, marks in enumerate(lists) if new not in marks]
        if one.shows == new:
            who = _named([other for other, marks in enumerate(lists) if old in marks])
            text = f"party {number} shows its new certificate, so the old one can be dropped at {who}"
            files = [str(file) for file in party.certificates[number] if _mark(file) == old]
            text += f": here it is {files[0]}" if files else ""
            text += ". Wait for the end of sessions that began before it changed"
        elif late:
            text = f"party {number} shows the first of its two certificates; add the second one at {_named(late)}"
        else:
            text = (
                f"party {number} shows the first of its two certificates, and all parties list the second one: it can "
                "change its key now"
            )
        found.doubtful("certificates", text, number)


def _named(parties: Sequence[int]) -> str:
    """Names parties.

    >>> _named([1]), _named([0, 2])
    ('party 1', 'parties 0 and 2')
    """
    *first, last = map(str, parties)
    return f"parties {', '.join(first)} and {last}" if first else f"party {last}"
