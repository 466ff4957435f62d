"""Invitations: a place in a campaign for a client that is not listed, with a secret for each server."""

from __future__ import annotations

import dataclasses

from quorate_client.errors import KeyFileError
from quorate_client.keys import from_text, to_text

__all__ = ["SECRET_BYTES", "Invitation"]

SECRET_BYTES = 32


@dataclasses.dataclass(frozen=True)
class Invitation:
    """An invitation. Each secret is made by its server, and is known to that server and the invited client alone.

    Attributes:
        place: the invitation's index.
        secrets: the secret for each server, 32 bytes.
    """

    place: int
    secrets: tuple[bytes, ...] = dataclasses.field(repr=False)

    def to_text(self) -> str:
        """Returns the text that is handed out: the place and the secrets as base64url, joined by points."""
        return ".".join((str(self.place), *(to_text(secret) for secret in self.secrets)))

    @staticmethod
    def from_text(text: str) -> Invitation:
        """Reads what `to_text` returned.

        Raises:
            KeyFileError: the text is no invitation. The message does not quote it.
        """
        place, *secrets = text.strip().split(".")
        try:
            found = tuple(from_text(secret) for secret in secrets)
        except ValueError:
            found = ()
        numbered = place.isascii() and place.isdigit() and len(place) <= 10
        if not numbered or not found or any(len(secret) != SECRET_BYTES for secret in found):
            raise KeyFileError("The invitation must be PLACE.SECRET.SECRET..., as handed out. Copy it whole.")
        return Invitation(int(place), found)
