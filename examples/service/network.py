"""Three servers on this machine and the processes around them: all are ended together, and their files removed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prepare import HERE, make_campaign, make_servers

PARTIES = 3
STARTED_S, COMMAND_S, PROGRAM_S, END_S = 60, 120, 300, 5


class Failed(Exception):
    """A process of the demonstration failed; the message has what it said."""


class Interrupts:
    """A handler of signals that end the demonstration: raises KeyboardInterrupt, after what is held."""

    def __init__(self):
        self._is_held = self._is_told = False

    def __call__(self, *_):
        self._is_told = True
        if not self._is_held:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def held(self):
        """Lets a signal wait for the end of this context."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._is_told:
            raise KeyboardInterrupt


class Network:
    """The servers of one campaign in a temporary folder; a context that ends all its processes.

    Args:
        clients: the number of invitations.
        interrupts: the handler of signals.
    """

    def __init__(self, clients, interrupts):
        self.clients, self._interrupts = clients, interrupts
        self._stack = contextlib.ExitStack()
        self._processes = []

    def __enter__(self):
        made = tempfile.TemporaryDirectory(prefix="quorate-demo-")
        self.folder = Path(self._stack.enter_context(made))
        self._stack.callback(self._end)
        # What processes of this demonstration share, and what they leave, is in its folder.
        self._environment = {**os.environ, "XDG_RUNTIME_DIR": made.name, "TMPDIR": made.name}
        return self

    def __exit__(self, *_):
        with self._interrupts.held():
            self._stack.close()

    def start(self, *command):
        """Starts a process that ends with this context."""
        with self._interrupts.held():
            log = self.folder / f"log{len(self._processes)}.txt"
            with log.open("w") as errors:
                process = subprocess.Popen(
                    list(map(str, command)), cwd=self.folder, env=self._environment, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
                )  # fmt: skip
            process.log = log
            self._processes.append(process)
        return process

    def commands(self, commands):
        """Runs commands of `quorate` side by side, each a list of arguments, and returns what each prints."""
        return [self.ended(process, COMMAND_S) for process in [self.quorate(*one) for one in commands]]

    def quorate(self, *arguments):
        """Starts a command of `quorate`."""
        return self.start(sys.executable, "-m", "quorate.cli", *arguments)

    def ended(self, process, within_s):
        """Waits for a process, and returns what it prints."""
        try:
            out, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            raise Failed(f"{_name(process)} did not end within {within_s} s") from None
        if process.returncode:
            raise failure(process)
        return out.strip()

    def _end(self):
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # a browser is a process of its own
        until = time.monotonic() + END_S
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()

    # ---- the steps -----------------------------------------------------------------------------------------------

    def make_files(self):
        """Makes keys, settings and a campaign, and returns the invitations."""
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2 * PARTIES + 1)]
        self.page = addresses.pop()  # where the form is served
        both = [(address, address) for address in addresses]
        served = addresses[PARTIES:]
        self.configs = make_servers(self.commands, self.folder, both[:PARTIES], both[PARTIES:])
        self.campaign = self.folder / "wages.json"
        origins = [f"http://{self.page}"]
        return make_campaign(self.commands, self.folder, self.configs, served, self.clients, origins)

    def serve(self):
        """Starts the servers, and waits until they take packets."""
        serving = [self.quorate("serve", "--config", config) for config in self.configs]
        until = time.monotonic() + STARTED_S
        while not all("serves clients at" in server.log.read_text() for server in serving):
            for server in serving:
                if server.poll() is not None:
                    raise failure(server)
            if time.monotonic() > until:
                raise Failed(f"the servers did not start within {STARTED_S} s")
            time.sleep(0.05)
        return serving

    def close_campaign(self):
        """Closes the campaign at all servers."""
        self.commands(["campaign", "close", "wages", "--config", config] for config in self.configs)

    def run_program(self):
        """Runs the program at all parties, and returns what each of them reveals."""
        script = HERE / "wages.py"
        parties = [self.quorate("party", script, "--config", config, "--", self.campaign) for config in self.configs]
        words = [self.ended(party, PROGRAM_S).split() for party in parties]
        return [dict(zip(said[::2], map(int, said[1::2]), strict=True)) for said in words]


def _name(process):
    return " ".join(Path(word).name for word in process.args[:6])


def failure(process):
    """Returns the error for a process that has ended."""
    said = process.log.read_text().strip() or "it printed no reason"
    return Failed(f"{_name(process)} ended with {process.returncode}: {said[-2000:]}")


def free_ports(count):
    """Returns ports of the loopback that are free now. If another process takes one, the server reports it."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in opened:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in opened]
