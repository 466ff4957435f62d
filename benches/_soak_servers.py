"""Servers of a soak as processes: they are started, told to end and killed; and what they take of the machine."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from _soak_clock import Clock

from quorate import _quorate
from quorate.campaigns import Store
from quorate_client import ServiceKey

#: Seconds in which a server has to be ready, on a busy machine.
READY_S = 600.0

#: Days that servers keep results, so that they expire within a soak.
RESULTS_DAYS = 3


@dataclasses.dataclass(frozen=True)
class Sample:
    """What a server takes at one moment.

    Attributes:
        requests: requests that all servers together have answered so far.
        life: the number of its process, from 0.
        memory: the resident memory, in bytes; None while it is down, as the next two.
        descriptors, threads: their numbers.
        store: bytes of the store's folder on the disk, with its write-ahead log.
        log: bytes of the write-ahead log.
        files: the number of files in that folder.
        left: the number of folders of jobs in its temporary folder.
    """

    requests: int
    life: int
    memory: int | None
    descriptors: int | None
    threads: int | None
    store: int
    log: int
    files: int
    left: int


class Server:
    """A server: its files, and its process while it is up."""

    def __init__(self, folder: Path, me: int, port: int, clock: Clock) -> None:
        self.me, self.port, self._clock = me, port, clock
        self.folder = folder / f"server{me}"
        self.config, self.log = self.folder / "party.toml", self.folder / "log"
        self.store_file = self.folder / "store" / "packets.db"
        self.process: subprocess.Popen[bytes] | None = None
        self.lives = self.kills = self.ends = 0
        self._mutex = threading.Lock()  # one start or end at a time

    def write(self, ports: list[int]) -> dict[str, str]:
        """Writes its keys and configuration; returns what campaigns and the list of servers state of it."""
        from quorate.cli import main as quorate

        _quorate.keygen(str(self.folder.parent), self.me)
        if quorate(["campaign", "key", "--dir", str(self.folder), "--host", "127.0.0.1"]) != 0:
            raise SystemExit("the keys of a server cannot be made")
        (self.folder / "tmp").mkdir()
        parties = "".join(
            f'[[party]]\naddress = "127.0.0.1:{port}"\ncertificate = "../party{i}.crt"\n'
            for i, port in enumerate(ports)
        )
        limits = "[limits]\nconnect_timeout_s = 10.0\npeer_timeout_s = 10.0\nreconnect_timeout_s = 5.0\n"
        self.config.write_text(f'me = {self.me}\nprotocol = "rss"\nkey = "../party{self.me}.key"\n{parties}{limits}')
        (self.folder / "serve.toml").write_text(
            f'listen = "127.0.0.1:{self.port}"\nstore = "store/packets.db"\nstore_key = "store.key"\n'
            'service_key = "service.key"\ncertificate = "tls.crt"\nkey = "tls.key"\n'
            f'[jobs]\nservers = "../servers.toml"\n[limits]\nresults_days = {RESULTS_DAYS}\n'
        )
        public = json.loads((self.folder / "service.pub").read_text())
        return {"url": f"https://127.0.0.1:{self.port}", **public}

    def opened(self) -> Store:
        """Opens the store beside the server, as the operator's commands do."""
        return Store(self.store_file, (self.folder / "store.key").read_bytes(), None)

    def key(self) -> ServiceKey:
        """Returns its keys."""
        return ServiceKey.load(self.folder / "service.key")

    def start(self) -> None:
        """Starts its process, and returns once it takes requests."""
        with self._mutex:
            command = [sys.executable, str(Path(__file__).with_name("_soak_clock.py")), str(self._clock.file)]
            environment = {**os.environ, "TMPDIR": str(self.folder / "tmp")}
            begun = self.log.stat().st_size if self.log.exists() else 0
            with self.log.open("ab") as log:
                arguments = ["serve", "--config", str(self.config)]
                self.process = subprocess.Popen([*command, *arguments], stdout=log, stderr=log, env=environment)
            self.lives += 1
            until = time.monotonic() + READY_S
            while b"serves clients at" not in self._logged(begun):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"server {self.me} did not start: {self._logged(begun)[-2000:].decode()}")
                time.sleep(0.05)

    def _logged(self, begun: int) -> bytes:
        with self.log.open("rb") as log:
            log.seek(begun)
            return log.read()

    def end(self, *, kill: bool) -> None:
        """Ends its process, by SIGKILL or SIGTERM, and waits for that."""
        with self._mutex:
            if self.process is None:
                return
            process, self.process = self.process, None
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            status = process.wait(30)
            self.kills, self.ends = self.kills + kill, self.ends + (not kill)
            if not kill and status != 143:
                raise SystemExit(f"server {self.me} ended on SIGTERM with status {status} instead of 143")

    def sample(self, requests: int) -> Sample:
        """Measures it."""
        process, life = self.process, self.lives
        taken: tuple[int | None, ...] = (None, None, None)
        if process is not None:
            taken = _taken(process.pid) or taken
        files = _sizes(self.store_file.parent)
        log = files.get(f"{self.store_file.name}-wal", 0)
        left = sum(1 for _ in (self.folder / "tmp").glob("quorate-job-*"))
        return Sample(requests, life, *taken, sum(files.values()), log, len(files), left)


def _taken(process: int) -> tuple[int, int, int] | None:
    """Returns resident bytes, open descriptors and threads of a process; None if it has ended."""
    own = Path(f"/proc/{process}")
    try:
        lines = (own / "status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        descriptors = len(list((own / "fd").iterdir()))
        return int(fields["VmRSS"].split()[0]) * 1024, descriptors, int(fields["Threads"])
    except (OSError, KeyError):
        return None


def _sizes(folder: Path) -> dict[str, int]:
    """Returns the bytes on the disk of all files below a folder; some may vanish meanwhile."""
    found = {}
    for path in folder.rglob("*"):
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file():
            found[str(path.relative_to(folder))] = status.st_blocks * 512
    return found


def free_ports(count: int) -> list[int]:
    """Returns ports of the loopback that are free now, and which the system gives to no outgoing connection."""
    sockets: list[socket.socket] = []
    port = 15_000 + os.getpid() % 10_000
    while len(sockets) < count:
        port += 1
        try:
            sockets.append(socket.create_server(("127.0.0.1", port)))
        except OSError:
            continue
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
