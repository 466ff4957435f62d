"""Exceptions of clients. Each message says what happened, where, and what to do; none contains a value or a secret."""

from __future__ import annotations

__all__ = [
    "CampaignError",
    "ClientError",
    "JobFailed",
    "JobRefused",
    "KeyFileError",
    "NoResult",
    "NotStored",
    "OtherCampaign",
    "OutboxError",
    "Refused",
    "Unreachable",
    "ValuesError",
    "WireError",
]


class ClientError(Exception):
    """The base class of all errors that a client raises on purpose."""


class CampaignError(ClientError, ValueError):
    """A campaign that cannot be read, or that contradicts itself; the message names the field."""


class KeyFileError(ClientError, ValueError):
    """A key, or a file of keys, that cannot be used."""


class ValuesError(ClientError, ValueError):
    """Values that do not fit their column; the message names the column. Nothing was sent."""


class WireError(ClientError, ValueError):
    """Bytes of a packet, a part or a receipt that are refused.

    Attributes:
        field: the part of the message that is wrong, for example "number".
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class OtherCampaign(ClientError):
    """A server that has another certificate, or states another campaign than the client's. Nothing was sent to it.

    Attributes:
        server: the server's index.
    """

    def __init__(self, server: int, message: str) -> None:
        super().__init__(message)
        self.server = server


class Refused(ClientError):
    """A packet or a request that a server refused; sending it again does not help.

    Attributes:
        server: the server's index.
        status: the HTTP status.
    """

    def __init__(self, server: int, status: int, message: str) -> None:
        super().__init__(message)
        self.server, self.status = server, status


class Unreachable(ClientError, ConnectionError):
    """A server that did not answer, or cannot take a packet at present.

    Attributes:
        server: the server's index.
        status: the HTTP status, if there was an answer.
        retry_after_s: the seconds that the server asks to wait, if it does.
    """

    def __init__(
        self, server: int, message: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.server, self.status, self.retry_after_s = server, status, retry_after_s


class NotStored(ClientError, TimeoutError):
    """A packet that not all servers have stored yet. It is kept, and the next call sends the same bytes again.

    Attributes:
        servers: the indices of the servers that lack it.
    """

    def __init__(self, servers: tuple[int, ...], message: str) -> None:
        super().__init__(message)
        self.servers = servers


class NoResult(ClientError, LookupError):
    """A result that is not there yet, that cannot be read, or on which the servers do not agree."""


class OutboxError(ClientError, OSError):
    """A folder of unsent packets that cannot be used."""


class JobRefused(ClientError):
    """A job that one or more servers refused, each for a reason of its own. It is cancelled at others that answer.

    Attributes:
        servers: the indices of the servers that refused.
        reasons: what each of them said, in the same order; then which servers did not confirm the cancellation, if any.
    """

    def __init__(self, servers: tuple[int, ...], reasons: tuple[str, ...]) -> None:
        super().__init__("The job was refused, and is cancelled where servers answer. " + " ".join(reasons))
        self.servers, self.reasons = servers, reasons


class JobFailed(ClientError, RuntimeError):
    """A job that ended without a result at a server.

    Attributes:
        server: the server's index.
        state: the state there: "failed", "refused", "cancelled" or "expired".
        why: the server's word for the reason, empty for some states; `quorate_client.job.WHY` explains the words.
    """

    def __init__(self, server: int, state: str, why: str, message: str) -> None:
        super().__init__(message)
        self.server, self.state, self.why = server, state, why
