"""What reaches a server from requesters and from server 0: signed requests, and signed calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from quorate.campaigns import Refused
from quorate.jobs._queue import Queue
from quorate_client import JobRequest, StandingRequest, WireError
from quorate_client.job import Call, read_call
from quorate_client.keys import SIGNATURE_BYTES, from_text

__all__ = ["Calls", "id_of"]


Asked = TypeVar("Asked", JobRequest, StandingRequest)


class Calls:
    """Reads what is sent to one server.

    Args:
        queue: the jobs.
        deployment: the hash of the deployment.
        me: the index of this server.
        clock: its clock, in seconds since 1970.
    """

    def __init__(self, queue: Queue, deployment: bytes, me: int, clock: Callable[[], float]) -> None:
        self._queue, self.deployment, self.me, self._clock = queue, deployment, me, clock

    def request(self, read: Callable[[bytes], Asked], body: bytes, signature: str) -> tuple[Asked, bytes]:
        """Reads a request, and checks the servers that it is for and the signature of its requester.

        Raises:
            Refused: it is malformed, for other servers, or not signed by its requester.
        """
        try:
            request = read(body)
        except WireError as error:
            raise Refused(400, _sentence(error), "sign a new request") from None
        self._queue.check_deployment(request)
        try:
            raw = from_text(signature[:100])
        except ValueError:
            raw = b""
        if len(raw) != SIGNATURE_BYTES or not request.is_by(raw):
            raise Refused(401, "the request's signature does not fit", "sign the request with the requester's key")
        return request, raw

    def called(self, method: str, path: str, signature: str) -> Call:
        """Reads the header of a call.

        Raises:
            Refused: it has another form, or its time is not this server's.
        """
        try:
            return read_call(self.deployment, self.me, method, path, signature, self._clock())
        except WireError as error:
            time_here = f"; this server's time is {int(self._clock())}" if error.field == "time" else ""
            raise Refused(401, f"{_sentence(error)}{time_here}", "sign the call again") from None

    def of_key(self, requester: str, path: str, signature: str) -> bytes:
        """Returns the public key in the path of a GET that this key signed.

        Raises:
            Refused: it is no key, or did not sign the call.
        """
        try:
            point = from_text(requester)
        except ValueError:
            raise Refused(400, "the public key is not base64url", "send 65 bytes without padding") from None
        if not self.called("GET", path, signature).is_by(point):
            raise Refused(401, "the call's signature does not fit", "sign the call with this key")
        return point


def id_of(text: str, unknown: Refused) -> bytes:
    """Returns the bytes of an id in a path.

    Raises:
        Refused: `unknown`, if the text is none.
    """
    try:
        return from_text(text)
    except ValueError:
        raise unknown from None


def _sentence(error: WireError) -> str:
    return str(error).rstrip(".")
