"""The exit statuses of the `quorate` command."""

from __future__ import annotations

from quorate.errors import CheatingDetected, ConfigError, PeerLost, PeerTimeout

__all__ = ["CHEATED", "FAILED", "MISUSED", "OK", "PEER_LOST", "UNREAD", "exit_status"]

OK, FAILED, MISUSED, PEER_LOST, CHEATED = 0, 1, 2, 3, 4
UNREAD = 141  # the status that shells report for SIGPIPE


def exit_status(error: BaseException) -> int:
    """Returns the documented exit status for an error.

    >>> exit_status(PeerLost("party 1 is gone"))
    3
    """
    if isinstance(error, CheatingDetected):
        return CHEATED
    if isinstance(error, (PeerLost, PeerTimeout)):
        return PEER_LOST
    return MISUSED if isinstance(error, ConfigError) else FAILED
