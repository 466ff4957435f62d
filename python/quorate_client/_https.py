"""HTTPS to a server whose certificate is pinned: TLS 1.3, the certificate compared before anything is sent.

A connection serves the requests of one call. No session is resumed, so there are no tickets and no early data.
Redirects and proxies are not followed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import http.client
import json
import socket
import ssl
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from quorate_client.campaign import Server
from quorate_client.errors import OtherCampaign, Refused, Unreachable
from quorate_client.statements import printable

__all__ = ["Answer", "Links"]


#: Seconds for each step of a connection, and for the whole body of an answer.
_TIMEOUT_S = 30.0
_ANSWER_S = 120.0
_HUNG_UP = (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


@dataclasses.dataclass(frozen=True)
class Answer:
    """A server's answer.

    Attributes:
        status: the HTTP status.
        data: the body.
        retry_after_s: the header Retry-After in seconds, or None.
    """

    status: int
    data: bytes
    retry_after_s: float | None

    def problem(self) -> dict[str, object]:
        """Returns the fields of a problem (RFC 9457); empty if the body is none."""
        try:
            fields = json.loads(self.data.decode("utf-8"))
        except (ValueError, RecursionError):
            return {}
        return fields if isinstance(fields, dict) else {}

    def raise_for(self, server: int, name: str) -> None:
        """Raises unless the status is 200 or 201.

        Raises:
            Unreachable: the server may take it later: 408, 425, 429, 5xx.
            Refused: any other status.
        """
        if self.status in (200, 201):
            return
        fields = self.problem()
        texts = [fields.get(key) for key in ("what", "do")]
        said = "; ".join(printable(text, 300) for text in texts if isinstance(text, str) and text)
        message = f"{name} answered {self.status}{': ' if said else ''}{said}."
        if self.status in (408, 425, 429) or self.status >= 500:
            raise Unreachable(server, message, self.status, self.retry_after_s)
        raise Refused(server, self.status, message)


class _Pinned(http.client.HTTPConnection):
    def __init__(self, host: str, port: int, certificate: bytes, timeout_s: float) -> None:
        super().__init__(host, port, timeout=timeout_s, blocksize=1 << 20)
        self._certificate = certificate
        self.secured: ssl.SSLSocket | None = None

    def connect(self) -> None:
        super().connect()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the pin takes the place of names and authorities
        plain: socket.socket = self.sock
        try:
            secured = context.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        found = hashlib.sha256(secured.getpeercert(binary_form=True) or b"").digest()
        if not hmac.compare_digest(found, self._certificate):
            secured.close()
            raise _OtherCertificate
        self.sock = self.secured = secured


class _OtherCertificate(Exception):
    pass


def _read(response: http.client.HTTPResponse, most: int) -> bytes:
    """Returns a body, or the first bytes beyond `most`. A server that sends it slowly is left after a time."""
    data, until = bytearray(), time.monotonic() + _ANSWER_S
    while len(data) <= most and (part := response.read1(1 << 16)):
        data += part
        if time.monotonic() > until:
            raise TimeoutError(f"the answer took longer than {_ANSWER_S:.0f} s")
    return bytes(data)


class Links:
    """Connections to servers that are kept for some requests in a row, so that each takes one handshake.

    Arguments:
        timeout_s: seconds for each step of a connection.
    """

    def __init__(self, timeout_s: float = _TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._kept: dict[int, _Pinned] = {}
        self._used: _Pinned | None = None

    def __enter__(self) -> Links:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()

    def cut(self) -> None:
        """Ends the request that is under way, from another thread; it raises there, as if the server had hung up."""
        used = self._used
        secured = None if used is None else used.secured
        if secured is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(secured, socket.SHUT_RDWR)  # TLS's own belongs to the thread that reads

    def ask(
        self,
        index: int,
        server: Server,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        most: int = 1 << 20,
    ) -> Answer:
        """Sends a request to a server and returns its answer, whatever its status.

        Arguments:
            index: the server's index, for errors.
            server: the server.
            method: "GET" or "POST"; a request may arrive twice if a kept connection fails.
            path: the path, from "/campaigns" on; that of the server's address comes before it.
            headers: headers besides the usual ones.
            body: the body, if there is one.
            most: the most bytes of the answer.

        Raises:
            OtherCampaign: the server has another certificate; nothing was sent.
            Unreachable: there was no answer, or a malformed or too long one.
        """
        name = f"Server {index} ({server.url})"
        whole = urllib.parse.urlsplit(server.url).path + path
        try:
            connection, response = self._response(index, server, method, whole, body, headers)
            data = _whole(connection, response, most)
            self._used = None
        except _OtherCertificate:
            raise OtherCampaign(
                index,
                f"{name} has another certificate than the list of servers states. Nothing was sent; ask its operator.",
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = printable(str(error), 200) or type(error).__name__
            raise Unreachable(index, f"{name} cannot be reached: {reason}.") from None
        if len(data) > most:
            raise Unreachable(index, f"{name} answered with more than {most} bytes.")
        if connection.sock is not None:
            self._kept[index] = connection
        wait = response.getheader("Retry-After", "")
        waits = wait.isascii() and wait.isdigit() and len(wait) <= 6
        return Answer(response.status, data, float(wait) if waits else None)

    def _response(self, index: int, server: Server, *request: Any) -> tuple[_Pinned, http.client.HTTPResponse]:
        """Sends a request over the kept connection if there is one; the server may have closed it meanwhile."""
        kept = self._kept.pop(index, None)
        if kept is not None:
            self._used = kept
            with contextlib.suppress(OSError, http.client.HTTPException):
                return kept, _sent(kept, *request)
        parts = urllib.parse.urlsplit(server.url)
        connection = self._used = _Pinned(parts.hostname or "", parts.port or 443, server.certificate, self._timeout_s)
        connection.connect()
        return connection, _sent(connection, *request)


def _sent(connection: _Pinned, *request: Any) -> http.client.HTTPResponse:
    try:
        with contextlib.suppress(*_HUNG_UP):  # the answer may say why
            connection.request(*request)
        return connection.getresponse()
    except BaseException:
        connection.close()
        raise


def _whole(connection: _Pinned, response: http.client.HTTPResponse, most: int) -> bytes:
    """Reads a body; the connection stays open if more may come over it."""
    data = None
    try:
        data = _read(response, most)
        return data
    finally:
        is_whole = data is not None and len(data) <= most and not response.length
        response.close()
        if response.will_close or not is_whole:
            connection.close()
