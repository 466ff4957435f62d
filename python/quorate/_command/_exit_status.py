"""The exit statuses of the `quorate` command."""

from __future__ import annotations

import signal

from quorate.errors import CheatingDetected, ConfigError, PeerEnded, PeerLost, PeerTimeout

__all__ = ["CHEATED", "FAILED", "INTERRUPTED", "MISUSED", "OK", "PEER_ENDED", "PEER_LOST", "UNREAD", "exit_status"]

OK, FAILED, MISUSED, PEER_LOST, CHEATED, PEER_ENDED = 0, 1, 2, 3, 4, 5
INTERRUPTED = 128 + signal.SIGINT
UNREAD = 141  # the status that shells report for SIGPIPE


def exit_status(error: BaseException) -> int:
    """Returns the documented exit status for an error.

    >>> exit_status(PeerLost("party 1 is gone"))
    3
    >>> exit_status(PeerEnded("party 1 stopped the run: its user interrupted it"))
    5
    """
    if isinstance(error, CheatingDetected):
        return CHEATED
    if isinstance(error, (PeerLost, PeerTimeout)):
        return PEER_LOST
    if isinstance(error, PeerEnded):
        return PEER_ENDED
    return MISUSED if isinstance(error, ConfigError) else FAILED
