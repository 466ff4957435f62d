"""Deployments on this machine: keys, configurations, processes of parties, and wires between them that can be cut."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from quorate import _quorate
from warm import QUORATE, Command

LIMIT_SECONDS = 60.0  # beyond this a process counts as hung


class Ended(NamedTuple):
    """The result of a party's process that has ended."""

    status: int
    out: str
    err: str
    seconds: float


class Party:
    """A running `quorate party`, in a process that starts warm or as users start it."""

    def __init__(self, command: list[str], folder: Path, *, warm: bool = False) -> None:
        self.started = time.monotonic()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        pipes = {"text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process: Any = (
            Command(command, folder, environment)
            if warm
            else subprocess.Popen(command, cwd=folder, env=environment, **pipes)
        )
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Returns once the party has printed `text`."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while text not in self.seen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen!r}"
            ready, _, _ = select.select([self.process.stdout], [], [], 0.1)
            if ready:
                piece = os.read(self.process.stdout.fileno(), 65536).decode()
                assert piece, f"the party ended: {self.seen!r} {self.process.stderr.read()!r}"
                self.seen += piece

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> Ended:
        """Waits for the end, within a limit."""
        try:
            out, err = self.process.communicate(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"the party did not end; it printed {self.seen + out!r} {err!r}") from None
        return Ended(self.process.returncode, self.seen + out, err, time.monotonic() - self.started)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()


class Deployment:
    """Keys, configurations and processes of parties on the loopback."""

    def __init__(self, folder: Path, parties: int = 3, *, warm: bool = True) -> None:
        self.folder, self.warm = folder, warm
        self.ports = free_ports(parties)
        self.running: list[Party] = []
        self.commands: dict[int, str] = {}  # of parties that have another installation of `quorate`
        # On a busy machine a working party may be silent for two seconds.
        self.limits = {"connect_timeout_s": 20.0, "peer_timeout_s": 5.0, "reconnect_timeout_s": 3.0}
        self.addresses = [f"127.0.0.1:{port}" for port in self.ports]
        for party in range(parties):
            _quorate.keygen(str(folder), party)

    def script(self, body: str) -> Path:
        """Writes a script of one session, with `body` indented in it."""
        path = self.folder / "script.py"
        lines = [f"    {line}".rstrip() for line in body.strip("\n").splitlines()]
        head = ["import sys, time, signal", "import numpy as np, quorate as qr", "with qr.session() as mpc:"]
        path.write_text("\n".join([*head, *lines, ""]))
        return path

    def config(self, me: int, text: str | None = None) -> Path:
        """This party's file; `text` replaces all of it."""
        path = self.folder / f"party{me}.toml"
        entries = "".join(
            f'[[party]]\naddress = "{address}"\ncertificate = "party{i}.crt"\n'
            for i, address in enumerate(self.addresses)
        )
        limits = "".join(f"{name} = {value}\n" for name, value in self.limits.items())
        listen = f'listen = "127.0.0.1:{self.ports[me]}"\n' if me < len(self.ports) else ""
        whole = f'me = {me}\nprotocol = "rss"\nkey = "party{me}.key"\n{listen}{entries}[limits]\n{limits}'
        path.write_text(whole if text is None else text)
        return path

    def start(self, me: int, script: Path, *arguments: str, config: Path | None = None) -> Party:
        quorate = self.commands.get(me, QUORATE)
        command = [quorate, "party", str(script), "--config", str(config or self.config(me)), *arguments]
        party = Party(command, self.folder, warm=self.warm and quorate == QUORATE)
        self.running.append(party)
        return party

    def wait_until_listening(self, *parties: int) -> None:
        """Returns once these parties wait for the others."""
        deadline = time.monotonic() + LIMIT_SECONDS
        for me in parties:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[me]), 1):
                    break
                assert time.monotonic() < deadline, f"party {me} does not listen"
                time.sleep(0.05)

    def start_all(self, script: Path, *arguments: str) -> list[Party]:
        return [self.start(me, script, *arguments) for me in range(len(self.ports))]

    def run(self, script: Path, *arguments: str) -> list[Ended]:
        """Runs all parties to their ends."""
        return [party.end() for party in self.start_all(script, *arguments)]

    def stop(self) -> None:
        for party in self.running:
            party.kill()
        for party in self.running:
            party.process.communicate()


def ended_of(folder: Path, body: str) -> list[Ended]:
    """Returns how three parties end that run a script in processes of their own."""
    deployment = Deployment(folder)
    try:
        return deployment.run(deployment.script(body))
    finally:
        deployment.stop()


def free_ports(count: int) -> list[int]:
    """Returns unused ports, outside the range from which the system takes ports for outgoing connections.

    Processes of tests that run side by side choose from ranges of their own: until a party listens, its port looks
    unused to others.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
    ports: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(ports) < count:
            port = random.SystemRandom().randrange(20_000, 21_000) + 1_000 * worker
            opened = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # in use: another one
                opened.bind(("127.0.0.1", port))
                ports.append(port)
    return ports


class Wire:
    """A wire between a new port and another one, which can be cut: then nothing arrives and nothing closes.

    With `rate`, at most this number of bytes a second goes in each direction, with little buffered in between. With
    `delay`, every byte takes this number of seconds more in each direction, for any number under way.
    """

    def __init__(self, target: int, rate: float | None = None, delay: float = 0.0) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._target, self._rate, self._delay = target, rate, delay
        if rate is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self._cut = threading.Event()
        self._over = threading.Event()
        self._carried: list[socket.socket] = []
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                if self._listener.fileno() < 0:
                    return
                near.close()
                continue
            self._carried += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for data in self._arriving(source):
                if self._cut.is_set():
                    self._over.wait()
                    return
                sink.sendall(data)
                if self._rate is not None:
                    time.sleep(len(data) / self._rate)
            sink.shutdown(socket.SHUT_WR)

    def _arriving(self, source: socket.socket) -> Iterator[bytes]:
        """Yields the bytes of the source after their time on the way."""
        if not self._delay:
            yield from iter(lambda: source.recv(1 << 14), b"")
            return
        under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def take_in() -> None:
            data = b"?"
            while data:
                try:
                    data = source.recv(1 << 14)
                except OSError:
                    data = b""
                under_way.put((time.monotonic() + self._delay, data))

        threading.Thread(target=take_in, daemon=True).start()
        while True:
            due, data = under_way.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                return
            yield data

    def cut(self) -> None:
        self._cut.set()

    def reset(self) -> int:
        """Closes all connections, and loses what is under way; new ones work. Returns the number of connections."""
        count = 0
        while self._carried:
            end = self._carried.pop()
            with contextlib.suppress(OSError):  # closed already
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
                count += 1
        return count // 2

    def close(self) -> None:
        self._over.set()
        self._listener.close()


def error_of(ended: Ended) -> str:
    """Returns the one line that the command line prints for an error."""
    lines = [line for line in ended.err.splitlines() if line.startswith("quorate: ")]
    assert len(lines) == 1, ended.err
    assert not re.search(r"panicked|stack backtrace|Traceback", ended.err), ended.err
    return lines[0]


@contextlib.contextmanager
def wires(deployment: Deployment, rate: float | None = None) -> Iterator[list[Wire]]:
    """Routes all connections over wires that can be cut."""
    made = [Wire(port, rate) for port in deployment.ports]
    deployment.addresses = [f"127.0.0.1:{wire.port}" for wire in made]
    try:
        yield made
    finally:
        for wire in made:
            wire.close()
