"""Campaigns on deployments for tests, by the commands of docs/clients.md: servers and parties are processes."""

from __future__ import annotations

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import quorate_client
import warm
from clients import certificate
from deploying import Deployment, free_ports
from quorate_client.keys import to_text
from warm import QUORATE, Command


def quorate(folder: Path, *arguments: str, command: str = QUORATE) -> str:
    if command == QUORATE:
        done = warm.quorate(*arguments, cwd=folder)
    else:
        done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


class Survey:
    """A campaign on a deployment.

    Args:
        folder: where its files are.
        clients: how many clients are listed.
        slot: the slot `people`, in TOML.
        protocol, parties, options: those of the family.
        command: the `quorate` that all servers begin with; `commands` has that of each.
    """

    def __init__(
        self,
        folder: Path,
        clients: int,
        slot: str,
        protocol: str = "rss",
        parties: int = 3,
        options: dict[str, str] | None = None,
        command: str = QUORATE,
    ) -> None:
        self.folder, self.parties, self.ports = folder, parties, free_ports(parties)
        self.protocol, self.deployment, self.pins = protocol, Deployment(folder, parties), list[str]()
        self.commands = self.deployment.commands = dict.fromkeys(range(parties), command)
        self.configs = [self._server(party) for party in range(parties)]
        self.keys = [folder / f"client{i}.key" for i in range(clients)]
        points = [to_text(quorate_client.new_key(key).id) for key in self.keys]
        (folder / "wages.toml").write_text(self._campaign(points, slot, options or {}))
        quorate(folder, "campaign", "create", "wages.toml", "--out", "wages.json", "--any-program", command=command)
        for party in range(parties):
            assert "ANY" in self.told(party, "approve", "wages.json")
        self.serving = [self.serve(party) for party in range(parties)]

    def told(self, party: int, *arguments: str) -> str:
        """Runs a command on campaigns with the configuration of a server, and returns what it prints."""
        config = ("--config", str(self.configs[party]))
        return quorate(self.folder, "campaign", *arguments, *config, command=self.commands[party])

    def _server(self, party: int) -> Path:
        own = self.folder / f"server{party}"
        quorate(self.folder, "campaign", "key", "--dir", str(own), command=self.commands[party])
        pem, pin = certificate(own)
        self.pins.append(to_text(pin))
        config = own / "party.toml"
        text = self.deployment.config(party).read_text().replace('"party', '"../party')
        config.write_text(text.replace('protocol = "rss"', f'protocol = "{self.protocol}"'))
        (own / "serve.toml").write_text(
            f'listen = "127.0.0.1:{self.ports[party]}"\nstore = "packets.db"\nstore_key = "store.key"\n'
            f'service_key = "service.key"\ncertificate = "{pem.name}"\nkey = "{pem.name}"\n'
        )
        return config

    def _campaign(self, clients: list[str], slot: str, options: dict[str, str]) -> str:
        text = f"""
            name = "wages"
            id = "{to_text(secrets.token_bytes(16))}"
            protocol = "{self.protocol}"
            options = {{{", ".join(f'{name} = "{value}"' for name, value in options.items())}}}
            at_least = 3
            closes = "2099-12-31T18:00:00Z"
            clients = {json.dumps(clients)}
            [[slots]]
            name = "people"
            {slot}
        """
        for party in range(self.parties):
            public = json.loads((self.folder / f"server{party}" / "service.pub").read_text())
            text += f"""
            [[servers]]
            url = "https://127.0.0.1:{self.ports[party]}"
            certificate = "{self.pins[party]}"
            seal = "{public["seal"]}"
            sign = "{public["sign"]}"
            """
        return text

    def serve(self, party: int) -> Command | subprocess.Popen[str]:
        command = [self.commands[party], "serve", "--config", str(self.configs[party])]
        process: Command | subprocess.Popen[str]
        if self.commands[party] == QUORATE:
            process = Command(command, self.folder)
        else:
            process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "serves clients at https://127.0.0.1:" in process.stderr.readline()
        return process

    def place(self, number: int) -> int:
        """Returns the place of a client in the list."""
        loaded = quorate_client.Campaign.load(self.folder / "wages.json")
        place = loaded.client_index(quorate_client.ClientKey.load(self.keys[number]).id)
        assert place is not None
        return place

    def client(self, number: int) -> quorate_client.Client:
        return quorate_client.client(self.folder / "wages.json", key=self.keys[number])

    def close(self) -> None:
        for party in range(self.parties):
            self.told(party, "close", "wages")

    def run(self, script: str, *arguments: str, lies: dict[int, str] | None = None) -> list[Any]:
        """Runs a program at all parties. Those that lie run something before it."""
        parties = []
        for i, config in enumerate(self.configs):
            own = self.deployment.script((lies or {}).get(i, "") + script)
            own = own.rename(config.with_name(own.name))  # the session has the script's name
            parties.append(self.deployment.start(i, own, *arguments, config=config))
        return [party.end() for party in parties]

    def stop(self) -> None:
        for process in self.serving:
            process.kill()
            process.communicate()
        self.deployment.stop()
