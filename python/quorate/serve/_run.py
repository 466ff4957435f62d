"""`quorate serve`: the server's process, from its settings to its end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import importlib.util
import os
import resource
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import uvicorn

from quorate._quorate import __version__
from quorate.campaigns import (
    SERVE,
    Settings,
    Store,
    StoreError,
    approved,
    certificate_hash,
    expire,
    read_store_key,
)
from quorate.errors import ConfigError
from quorate.jobs import Jobs, PeerState, about
from quorate.serve._app import make_app
from quorate.serve._listening import Listening, Loop, Patient
from quorate.serve._peers import Peers
from quorate.serve._problems import LOG
from quorate.serve._registry import Registry
from quorate_client import ServiceKey

if TYPE_CHECKING:
    from quorate.serve._metrics import Listener, Metrics

__all__ = ["Beside", "Closing", "Serving", "serve", "tls"]

_END_S = 1  # seconds for answers that are under way when the server is told to end
_KEEP_ALIVE_S = 5
_OWN_DESCRIPTORS = 100  # of the store, the interpreter, and connections that are being closed


@dataclasses.dataclass(frozen=True)
class Beside:
    """What a listener beside the server works with.

    Attributes:
        settings, service_key: those of the server.
        store: its store.
        jobs: its jobs, if it runs any.
        ready: whether requests should be sent to it.
        peers: the health of the other servers.
    """

    settings: Settings
    service_key: ServiceKey
    store: Store
    jobs: Jobs | None
    ready: Callable[[], bool]
    peers: Callable[[], list[PeerState]]


class Closing(Protocol):
    """A listener beside the server."""

    def end(self) -> None:
        """Tells it to end, and does not wait for that."""

    def close(self) -> None:
        """Ends it."""


class Serving:
    """A server with its store and its socket, ready to run.

    Args:
        settings: the server's settings.
        console: starts the console, if the settings have one.

    Raises:
        ConfigError: a file cannot be used, or the address is in use.
        StoreError: the store cannot be used.
    """

    def __init__(self, settings: Settings, console: Callable[[Beside], Closing] | None = None) -> None:
        service_key = ServiceKey.load(settings.service_key)
        context = tls(settings.certificate, settings.key)
        limits = settings.limits
        _allow_descriptors(limits.connections + _OWN_DESCRIPTORS)
        with contextlib.ExitStack() as undo:
            self._store = Store(settings.store, read_store_key(settings.store_key), SERVE)
            undo.callback(self._store.close)
            metrics = None if settings.metrics is None else _metrics(settings, self._store, self._is_ready)
            on_end = None if metrics is None else metrics.job_ended
            self._jobs = None if settings.jobs is None else Jobs(self._store, settings, service_key, on_end=on_end)
            self._peers = None if self._jobs is None else self._watched(self._jobs, settings, service_key)
            self._socket = Listening(settings.host, settings.port, limits.connections, limits.connections_per_address)
            undo.callback(self._socket.close)
            registry = Registry(self._store, settings.me, service_key)
            answered = None if metrics is None else metrics.answered
            jobs = None if self._jobs is None or self._peers is None else (self._jobs, self._peers)
            self._app = make_app(registry, limits.memory_bytes, self._is_ready, jobs, answered)
            hourly = {"callback_notify": self._expire, "timeout_notify": 3600}
            config = config_of(self._app, context, _KEEP_ALIVE_S, _END_S, **hourly)
            self._server = _Server(config, self._end_others)
            self._listener: Listener | None = None
            self._console: Closing | None = None
            if console is not None and settings.console is not None:
                beside = Beside(settings, service_key, self._store, self._jobs, self._is_ready, self.peers)
                self._console = console(beside)
                undo.callback(self._console.close)
            if metrics is not None and settings.metrics is not None:
                self._listener = metrics.listen(*settings.metrics, self._jobs, self.peers)
            undo.pop_all()
        self._days = limits.results_days
        self.port: int = self._socket.getsockname()[1]
        _warn_of_certificates(self._store, settings)

    def _watched(self, jobs: Jobs, settings: Settings, service_key: ServiceKey) -> Peers:
        """Returns what watches the other servers, which jobs wait for."""

        def state() -> tuple[bool, str]:
            try:
                return self._store.broken is None, jobs.word()
            except StoreError:
                return False, "accepts"

        timeout = settings.peer_timeout_s
        peers = Peers(jobs.deployment, service_key, settings.me, timeout, state, jobs.peers_changed)
        jobs.hear(peers.peers)
        return peers

    def peers(self) -> list[PeerState]:
        """Returns the health of the other servers; none where no jobs run."""
        return [] if self._peers is None else self._peers.peers()

    def _is_ready(self) -> bool:
        return self._store.broken is None and not self._server.should_exit

    async def _expire(self) -> None:
        """Removes results that no client has to fetch any more."""
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, expire, self._store, self._days, time.time())
        except StoreError as error:
            LOG.error("%s", error, extra=about("store.error"))

    def _end_others(self) -> None:
        for other in (self._peers, self._jobs, self._console):
            if other is not None:
                other.end()

    def run(self) -> int | None:
        """Serves until `stop` is called, or SIGTERM or SIGINT arrives in the main thread. Returns the signal."""
        loop = Loop()
        try:
            if self._jobs is not None:
                self._jobs.begin()
            if self._peers is not None:
                self._peers.begin()
            loop.run_until_complete(self._server.serve([self._socket]))
        finally:
            self._app.close()
            for beside in (self._listener, self._console):
                if beside is not None:
                    beside.close()
            with contextlib.suppress(Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            self._socket.close()
            if self._jobs is not None:
                self._jobs.stop()
            self._store.close()
        return self._server.signal

    def stop(self) -> None:
        """Lets `run` end, within two seconds; answers that take longer are cut off."""
        self._server.should_exit = True

    @property
    def metrics_port(self) -> int | None:
        """The port of the metrics, if they are served."""
        return None if self._listener is None else self._listener.port

    @property
    def is_started(self) -> bool:
        """Whether it takes connections."""
        return self._server.started


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ending = ending
        self.signal: int | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what runs beside the answers at the same time as these."""
        self._ending()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Ends on SIGTERM and SIGINT, and does not raise them again: the store is to be closed after this.

        Once one has arrived, no further one has an effect.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._told) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items() if self.signal is None else ():
                signal.signal(number, handler)

    def _told(self, number: int, _: object) -> None:
        self.signal = self.signal or number
        self.should_exit = True


def _metrics(settings: Settings, store: Store, ready: Callable[[], bool]) -> Metrics:
    """Returns the metrics.

    Raises:
        ConfigError: the library for them is missing.
    """
    if importlib.util.find_spec("prometheus_client") is None:
        raise ConfigError("`metrics` in serve.toml needs prometheus-client: pip install prometheus-client")
    from quorate.serve._metrics import Metrics

    return Metrics(settings, store, ready)


def _allow_descriptors(wanted: int) -> None:
    """Raises the limit of open files, so that connections up to their own limit leave some for the store."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        text = "the system allows %s open files, and the limit of connections needs %s"
        LOG.warning(text, hard, wanted, extra=about("server.few_files", allowed=hard, needed=wanted))
        wanted = hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def config_of(app: Any, context: ssl.SSLContext, keep_alive_s: int, end_s: int, **more: Any) -> uvicorn.Config:
    """Returns the settings of a listener over TLS, without logs of accesses, headers of proxies, or WebSockets.

    Args:
        app: the application.
        context: its TLS.
        keep_alive_s: seconds that a connection may be idle.
        end_s: seconds for answers that are under way at the end.
        more: further settings of uvicorn.
    """
    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=keep_alive_s,
        timeout_graceful_shutdown=end_s,
        **more,
    )
    config.load()
    config.ssl = context
    return config


def tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """Returns TLS 1.3 without tickets, so that no session is resumed and no data comes early.

    Raises:
        ConfigError: a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        files = f"{certificate} and its key {key}"
        raise ConfigError(f"the TLS certificate {files} cannot be used: {error.strerror or error}") from None
    return context


def _warn_of_certificates(store: Store, settings: Settings) -> None:
    own = certificate_hash(settings.certificate)
    for one in approved(store):
        if one.state(time.time()) == "open" and one.campaign.servers[settings.me].certificate != own:
            text = "campaign %s states another certificate than this server's: its clients stop"
            fields = about("campaign.other_certificate", campaign=one.campaign.hash.hex()[:16])
            LOG.warning(text, one.campaign.name, extra=fields)


def _settle() -> None:
    """Takes what was loaded out of the collector's sight, for the rest of the process.

    The collector looks at old objects once those that have become old since are a quarter of all. Beside some 70,000
    objects of libraries, a cycle of a connection would wait for long.
    """
    gc.collect()
    gc.freeze()


def serve(config: str | os.PathLike[str], console: Callable[[Beside], Closing] | None = None) -> int:
    """Runs the server of a `serve.toml` or `party.toml` until it is told to end. Returns the exit status.

    Args:
        config: the file.
        console: as for `Serving`.

    Raises:
        ConfigError, StoreError: as for `Serving`.
    """
    settings = Settings.read(config)
    serving = Serving(settings, console)
    where = (settings.host, serving.port, settings.me)
    fields = about("server.started", server=settings.me, port=serving.port, version=__version__)
    LOG.info("serves clients at https://%s:%s, as server %s", *where, extra=fields)
    if settings.metrics is not None:
        at = (settings.metrics[0], serving.metrics_port)
        LOG.info("serves metrics at http://%s:%s/metrics", *at, extra=about("server.metrics"))
    _settle()
    number = serving.run()
    LOG.info("has ended", extra=about("server.ended"))
    return 0 if number is None else 128 + number
