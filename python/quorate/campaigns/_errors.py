"""Errors of campaigns: packets that are refused, and stores that cannot be used."""

from __future__ import annotations

from quorate.errors import QuorateError, SubmissionError

__all__ = ["Lost", "Refused", "Spent", "StoreError", "StoreFull"]


class Refused(SubmissionError):
    """A message that a server does not take, or a campaign that cannot run.

    Attributes:
        status: the HTTP status that fits.
        what: what is wrong, as a sentence without secrets.
        do: what the sender can do about it.
        retry_after: seconds after which the message may be sent again unchanged, or None.
    """

    def __init__(self, status: int, what: str, do: str, retry_after: int | None = None) -> None:
        super().__init__(f"{what}: {do}")
        self.status, self.what, self.do, self.retry_after = status, what, do, retry_after


class Spent(Refused):
    """A campaign whose packets may not be computed on any more, because a result of them may have been seen."""

    def __init__(self, what: str, do: str) -> None:
        super().__init__(409, what, do)


class StoreError(QuorateError, OSError):
    """A store of packets that cannot be opened, read or written. What was asked for is not stored in part."""


class Lost(StoreError):
    """What is not in the store, or was altered: another look at the store does not help."""


class StoreFull(StoreError):
    """A disk without space for a packet. Nothing of the packet is stored; earlier packets are."""
