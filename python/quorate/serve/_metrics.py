"""Metrics for the operator, in the OpenMetrics format: counts, times and sizes, never a value or a name.

Labels come from closed lists, or from what the operator approved. A client or stranger cannot add one. They are served
on an address of the loopback alone, without TLS, apart from what strangers reach.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import socketserver
import threading
import time
import wsgiref.simple_server
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cryptography import x509
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, make_wsgi_app
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from quorate._quorate import __version__
from quorate.campaigns import Settings, Store, StoreError, counts
from quorate.errors import ConfigError
from quorate.jobs import Jobs, PeerState, Pools, Queue

__all__ = ["Metrics"]

_PACKETS = "/campaigns/{campaign}/packets"
_METHODS = ("GET", "POST", "OPTIONS")

#: The fates of packets, by the status of the answer.
_OUTCOMES = {
    201: "stored",
    400: "malformed",
    401: "unsigned",
    403: "no_right",
    404: "not_approved",
    408: "slow",
    409: "conflict",
    410: "closed",
    411: "length",
    413: "length",
    429: "too_many",
    503: "busy",
    507: "disk_full",
}
_ERROR = "error"

#: Bounds of the seconds of a job and of an answer.
_JOB_S = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_ANSWER_S = (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)

_JOB_STATES = ("queued", "running", "done", "failed", "cancelled", "refused", "expired")


class Metrics(Collector):
    """The metrics of one server. What the store holds is counted when it is asked for.

    Args:
        settings: the server's settings.
        store: its store.
        ready: whether requests should be sent to this server.
    """

    def __init__(self, settings: Settings, store: Store, ready: Callable[[], bool]) -> None:
        self._settings, self._store, self._ready = settings, store, ready
        self._queue: Queue | None = None
        self._pools: Pools | None = None
        self._peers: Callable[[], list[PeerState]] = list
        self._expires = _expires_at(settings.certificate)
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "quorate_http_requests",
            "Answers, by the route in its general form",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "quorate_http_seconds", "From a request to its answer", ("route",), buckets=_ANSWER_S,
            registry=self._registry,
        )  # fmt: skip
        self._packets = Counter(
            "quorate_packets", "Packets that arrived, by their fate", ("outcome",), registry=self._registry
        )
        for outcome in {*_OUTCOMES.values(), _ERROR}:
            self._packets.labels(outcome)
        self._jobs = Histogram(
            "quorate_job_seconds",
            "From the start of a job's process to its end, by the first 16 digits of the program's hash",
            ("program", "state"),
            buckets=_JOB_S,
            registry=self._registry,
        )
        self._registry.register(self)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answer.

        Args:
            method: the request's method; all but a few are one.
            route: the route with names of its parameters, such as "/campaigns/{campaign}"; "none" for other paths.
            status: the answer's status.
            seconds: from the request to the end of the answer.
        """
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if route == _PACKETS and method == "POST":
            self._packets.labels(_OUTCOMES.get(status, _ERROR)).inc()

    def job_ended(self, program: bytes, state: str, seconds: float) -> None:
        """Counts a job's process that has ended.

        Args:
            program: the program's hash.
            state: the job's next state; "queued" if the servers did not connect.
            seconds: how long the process ran.
        """
        self._jobs.labels(program.hex()[:16], state).observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """Yields what is counted when it is asked for; a store that cannot be read has no counts."""
        yield InfoMetricFamily("quorate_build", "The release", value={"version": __version__})
        yield GaugeMetricFamily("quorate_ready", "1 if requests should be sent to this server", value=self._ready())
        yield GaugeMetricFamily(
            "quorate_certificate_expiry_timestamp_seconds", "When the TLS certificate expires", value=self._expires
        )
        yield from self._of_peers()
        try:
            free = shutil.disk_usage(self._settings.store.parent).free
            yield GaugeMetricFamily("quorate_store_free_bytes", "Space that is left on the store's disk", value=free)
            yield from self._of_campaigns()
            yield from self._of_jobs()
            yield from self._of_pools()
        except (OSError, StoreError):  # the server's log has it
            return

    def _of_peers(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "quorate_peer_up", "1 if another server answers, and nothing differs", labels=("server",)
        )
        name = "quorate_peer_round_trip_seconds"
        taken = GaugeMetricFamily(name, "Of the last question to another server", labels=("server",))
        for one in self._peers():
            up.add_metric((str(one.server),), one.state == "up")
            if one.round_trip_s is not None:
                taken.add_metric((str(one.server),), one.round_trip_s)
        yield from (up, taken) if up.samples else ()

    def _of_campaigns(self) -> Iterator[Metric]:
        held = counts(self._store, time.time())
        family = GaugeMetricFamily("quorate_campaigns", "Campaigns in the store", labels=("state",))
        for state, number in held.campaigns.items():
            family.add_metric((state,), number)
        yield family
        yield GaugeMetricFamily("quorate_submissions", "Clients' items that have a packet", value=held.submissions)

    def _of_jobs(self) -> Iterator[Metric]:
        if self._queue is None:
            return
        held = self._queue.counts()
        family = GaugeMetricFamily("quorate_jobs", "Jobs in the store", labels=("program", "state"))
        for program in sorted({program for program, _ in held}):
            for state in _JOB_STATES:
                family.add_metric((program.hex()[:16], state), held.get((program, state), 0))
        yield family
        waiting = sum(number for (_, state), number in held.items() if state == "queued")
        yield GaugeMetricFamily("quorate_job_queue_length", "Jobs that wait", value=waiting)
        halted = self._queue.is_halted()
        yield GaugeMetricFamily("quorate_jobs_halted", "1 after cheating was detected", value=halted)

    def _of_pools(self) -> Iterator[Metric]:
        levels = [] if self._pools is None else self._pools.levels()
        if not levels:
            return
        labels = ("program", "entry")
        starts = GaugeMetricFamily(
            "quorate_pool_starts", "Starts for which this party's pool has correlations", labels=labels
        )
        low = GaugeMetricFamily("quorate_pool_low_starts", "The level below which more are made", labels=labels)
        last = GaugeMetricFamily(
            "quorate_pool_making_failed", "1 if the last making of correlations failed", labels=labels
        )
        for level in levels:
            of = (level.marks.program[:16], level.marks.entry.hex()[:16])
            low.add_metric(of, level.marks.low)
            if level.starts is not None:
                starts.add_metric(of, level.starts)
            if level.last is not None:
                last.add_metric(of, level.last.state == "failed")
        yield from (starts, low, last)

    def listen(self, host: str, port: int, jobs: Jobs | None, peers: Callable[[], list[PeerState]]) -> Listener:
        """Serves the metrics.

        Args:
            host, port: where to listen.
            jobs: the server's jobs, if it runs any.
            peers: returns the states of the other servers.

        Raises:
            ConfigError: nothing can listen there.
        """
        self._queue, self._peers = None if jobs is None else jobs.queue, peers
        self._pools = None if jobs is None else jobs.pools
        try:
            return Listener(host, port, make_wsgi_app(self._registry))
        except OSError as error:
            raise ConfigError(f"metrics cannot be served on {host}:{port}: {error.strerror or error}") from None


class _Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Takes a few connections at a time: one more ends the oldest, so that a silent one keeps nobody out."""

    daemon_threads = True
    most = 16

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own."""
        with self._lock:
            self._open[request] = None
            oldest = next(iter(self._open)) if len(self._open) > self.most else None
            if oldest is not None:
                del self._open[oldest]
        if oldest is not None:
            with contextlib.suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: a connection that was cut is no error of this server."""


class _Handler(wsgiref.simple_server.WSGIRequestHandler):
    timeout = 10.0

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


class Listener:
    """What answers for the metrics.

    Args:
        host, port: where to listen.
        app: what makes the answers, by WSGI.

    Raises:
        OSError: nothing can listen there.
    """

    def __init__(self, host: str, port: int, app: Any) -> None:
        self._server = _Server((host, port))
        self._server.set_app(app)
        self._thread = threading.Thread(target=self._server.serve_forever, name="quorate metrics", daemon=True)
        self._thread.start()
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Ends it, within half a second. Answers that are under way are cut off with the process."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _expires_at(certificate: Path) -> float:
    """Returns when a certificate expires, in seconds since 1970."""
    return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc.timestamp()
