"""Limits on connections: how many there are, in all and of one address, and how long a request may take to begin.

Connections are counted when they are accepted, before anything is computed for TLS.
"""

from __future__ import annotations

import asyncio
import collections
import socket
import ssl
import sys
import traceback
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from quorate.errors import ConfigError
from quorate.serve._addresses import holder_of

__all__ = ["Listening", "Loop", "Patient"]

_HANDSHAKE_S = 10.0  # from the connection to the end of the TLS handshake
_HEAD_S = 10.0  # from the end of the handshake, or of the last answer, to the end of the next request's head
_LIFE_S = 3600.0  # of a connection
_BACKLOG = 512


class _Counted(socket.socket):
    """A connection that leaves its places when it is closed."""

    places: list[tuple[collections.Counter[str], str]]

    def close(self) -> None:
        for counter, name in self.places:
            counter[name] -= 1
            if not counter[name]:
                del counter[name]
        self.places = []
        super().close()


class Listening(socket.socket):
    """A listening socket that closes connections beyond its limits as soon as it accepts them.

    Args:
        host, port: where to listen.
        most: open connections in all.
        most_of_one: open connections of one IPv4 address, or of one IPv6 network of 64 bits.

    Raises:
        ConfigError: nothing can listen there.
    """

    def __init__(self, host: str, port: int, most: int, most_of_one: int) -> None:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            super().__init__(family, kind, protocol)
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(address)
            self.listen(_BACKLOG)
        except OSError as error:
            raise ConfigError(f"this server cannot listen on {host}:{port}: {error.strerror or error}") from None
        self.setblocking(False)
        self._most, self._most_of_one = most, most_of_one
        self._open: collections.Counter[str] = collections.Counter()
        self._all: collections.Counter[str] = collections.Counter()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accepts a connection.

        Raises:
            ConnectionAbortedError: there are too many; this one is closed.
        """
        connection, address = super().accept()
        name = holder_of(str(address[0]))
        if self._all["all"] >= self._most or self._open[name] >= self._most_of_one:
            connection.close()
            raise ConnectionAbortedError
        counted = _Counted(fileno=connection.detach())
        counted.places = [(self._all, "all"), (self._open, name)]
        for counter, one in counted.places:
            counter[one] += 1
        return counted, address


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose TLS handshakes end in time, and leave nothing in memory if they fail."""

    async def create_server(self, *args: Any, **settings: Any) -> asyncio.Server:  # type: ignore[override]
        """Listens, as in the base class."""
        if isinstance(settings.get("ssl"), ssl.SSLContext):
            settings["ssl_handshake_timeout"] = _HANDSHAKE_S
        return await super().create_server(*args, **settings)

    def _make_ssl_transport(self, *args: Any, **settings: Any) -> asyncio.Transport:
        """Begins a handshake. asyncio's own method; where it has another name, failures wait for the collector."""
        waiter = settings.get("waiter")
        if waiter is not None:
            waiter.add_done_callback(self._handshaken)
        made: asyncio.Transport = super()._make_ssl_transport(*args, **settings)  # type: ignore[misc]
        return made

    def _handshaken(self, waiter: asyncio.Future[None]) -> None:
        error = None if waiter.cancelled() else waiter.exception()
        if error is not None:
            self.call_soon(_clear, error)  # after the task that waits for the handshake has raised it


def _clear(error: BaseException | None) -> None:
    """Clears the frames that raised an error.

    They hold the error and their connection, whose TLS buffers of 300 kB would wait for the collector of cycles.
    """
    if error is not None:
        traceback.clear_frames(error.__traceback__)


class Patient(H11Protocol):
    """HTTP/1.1 on connections whose requests begin in time, and which do not live for ever."""

    _head: asyncio.TimerHandle | None = None
    _life: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the timers."""
        self.access_log = False  # paths name clients
        super().connection_made(transport)
        self._life = self.loop.call_later(_LIFE_S, transport.abort)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the timers."""
        super().connection_lost(exc)
        for timer in (self._head, self._life):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Takes bytes; the timer of a head runs until the head is complete."""
        super().data_received(data)
        if self._is_answering():
            if self._head is not None:
                self._head.cancel()
                self._head = None
        elif self._head is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """Waits for the next request."""
        super().on_response_complete()
        if self._head is None and not self._is_answering() and not self.transport.is_closing():
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Refuses bytes that are no request."""
        super().send_400_response(msg)
        self.loop.call_soon(_clear, sys.exc_info()[1])

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._head = self.loop.call_later(_HEAD_S, self.transport.abort)
