"""The console's listener: HTTPS in a thread of its own, apart from the address that clients reach."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading

import uvicorn

from quorate.campaigns import ConsoleSettings
from quorate.console._acts import Acts
from quorate.console._app import Console
from quorate.console._pages import Pages
from quorate.console._plans import Plans
from quorate.errors import ConfigError
from quorate.jobs import about
from quorate.serve._listening import Listening, Loop
from quorate.serve._run import Beside, config_of, tls

__all__ = ["ConsoleListener", "begin"]

LOG = logging.getLogger("quorate.serve")

#: Connections in all, and of one address. Operators are few; behind a tunnel all have the loopback's address.
_CONNECTIONS, _OF_ONE = 64, 32
_KEEP_ALIVE_S, _END_S = 30, 1


class ConsoleListener:
    """The console of a server, which listens as soon as this exists.

    Args:
        own: where to listen.
        beside: the server.

    Raises:
        ConfigError: the certificate cannot be used, or nothing can listen there.
    """

    def __init__(self, own: ConsoleSettings, beside: Beside) -> None:
        settings, context = beside.settings, tls(own.certificate, own.key)
        self._plans = Plans(beside.store, settings)
        self._pages = Pages(beside.store, settings, beside.jobs, beside.ready, peers=beside.peers, plans=self._plans)
        queue = None if beside.jobs is None else beside.jobs.queue
        acts = Acts(beside.store, settings, beside.service_key, queue)
        self._app = app = Console(self._pages, acts, self._plans, _cookie_of(beside), own.names)
        self._socket = Listening(own.host, own.port, _CONNECTIONS, _OF_ONE)
        self.port: int = self._socket.getsockname()[1]
        self._server = uvicorn.Server(config_of(app, context, _KEEP_ALIVE_S, _END_S))
        self._thread = threading.Thread(target=self._run, name="quorate console", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        loop = Loop()
        try:
            loop.run_until_complete(self._server.serve([self._socket]))
        finally:
            with contextlib.suppress(Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            self._app.close()
            self._socket.close()

    def end(self) -> None:
        """Tells it to end; answers that take longer than a second are cut off."""
        self._plans.close()
        self._pages.close()
        self._server.should_exit = True

    def close(self) -> None:
        """Waits for its end."""
        self.end()
        self._thread.join(_END_S + 1.0)


def begin(beside: Beside) -> ConsoleListener:
    """Starts the console of a server whose settings have one."""
    own = beside.settings.console
    if own is None:
        raise ConfigError("serve.toml has no [console]: state where it listens")
    made = ConsoleListener(own, beside)
    fields = about("console.started", port=made.port)
    LOG.info("serves the console at https://%s:%s", own.host, made.port, extra=fields)
    return made


def _cookie_of(beside: Beside) -> str:
    """Returns the name of the cookie. Browsers send cookies to all ports of a host, so each server has its own name."""
    return f"__Host-quorate-{hashlib.sha256(beside.service_key.sign).hexdigest()[:16]}"
