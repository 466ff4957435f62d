"""Three servers on this machine and the processes around them: all are ended together, and their files removed."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTIES = 3
STARTED_S, COMMAND_S, PROGRAM_S, END_S = 60, 120, 300, 5

CAMPAIGN = """
name = "wages"
id = "{id}"
protocol = "rss"
program = "{program}"
at_least = 3
closes = "2099-12-31T18:00:00Z"
invitations = {clients}
[[slots]]
name = "people"
[[slots.columns]]
name = "salary"
dtype = "int(32)"
low = "0"
high = "1000000"
[[slots.results]]
name = "above_mean"
dtype = "bit"
"""


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

    def command(self, *arguments, within_s=COMMAND_S):
        """Runs a command of `quorate` to its end, and returns what it prints."""
        return self.ended(self.quorate(*arguments), within_s)

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
                process.terminate()
        until = time.monotonic() + END_S
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()

    # ---- the steps -----------------------------------------------------------------------------------------------

    def make_keys(self):
        """Makes the keys of all servers, for each other and for clients, and their settings."""
        ports = free_ports(2 * PARTIES)
        making = [self.quorate("keygen", "--party", party, "--dir", ".") for party in range(PARTIES)]
        hosts = ("--host", "127.0.0.1")
        making += [self.quorate("campaign", "key", "--dir", f"server{party}", *hosts) for party in range(PARTIES)]
        for process in making:
            self.ended(process, COMMAND_S)
        everyone = "".join(
            f'[[party]]\naddress = "127.0.0.1:{ports[party]}"\ncertificate = "../party{party}.crt"\n'
            for party in range(PARTIES)
        )
        self.configs, self.urls = [], []
        for party in range(PARTIES):
            config, port = self.folder / f"server{party}" / "party.toml", ports[PARTIES + party]
            config.write_text(f'me = {party}\nprotocol = "rss"\nkey = "../party{party}.key"\n{everyone}')
            config.with_name("serve.toml").write_text(
                f'listen = "127.0.0.1:{port}"\nstore = "packets.db"\nstore_key = "store.key"\n'
                'service_key = "service.key"\ncertificate = "tls.crt"\nkey = "tls.key"\n'
            )
            self.configs.append(config)
            self.urls.append(f"https://127.0.0.1:{port}")

    def make_campaign(self):
        """Makes a campaign of the program that is named by its hash, approves it, and returns the invitations."""
        identity, toml = secrets.token_urlsafe(16), self.folder / "wages.toml"

        def write(program):
            text = CAMPAIGN.format(id=identity, program=program, clients=self.clients)
            for url, config in zip(self.urls, self.configs, strict=True):
                public = json.loads(config.with_name("service.pub").read_text())
                fields = "".join(f'{name} = "{value}"\n' for name, value in public.items())
                text += f'[[servers]]\nurl = "{url}"\n{fields}'
            toml.write_text(text)

        write("")
        plan = self.command("explain", HERE / "wages.py", "--protocol", "rss", "--parties", PARTIES, "--", toml)
        write(plan.splitlines()[-1].split()[-1])
        self.command("campaign", "create", toml, "--out", "wages.json")
        self.campaign = self.folder / "wages.json"
        files = [f"server{party}.secrets" for party in range(PARTIES)]
        for process in [
            self.quorate("campaign", "approve", "wages.json", "--config", config, "--invitations", file)
            for config, file in zip(self.configs, files, strict=True)
        ]:
            self.ended(process, COMMAND_S)
        self.command("campaign", "invitations", *files, "--out", "invitations.txt")
        return (self.folder / "invitations.txt").read_text().split()

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
        for process in [self.quorate("campaign", "close", "wages", "--config", config) for config in self.configs]:
            self.ended(process, COMMAND_S)

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
