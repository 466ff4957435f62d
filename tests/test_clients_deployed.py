"""From a person's campaign to a result, by the commands of docs/clients.md: servers and parties are processes."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate_client
from clients import certificate
from deploying import Deployment, free_ports
from quorate_client.keys import to_text
from warm import QUORATE

PARTIES = 3
SCRIPT = """
people = mpc.campaign("wages.json")
mean = people["salary"].sum() // people.present.sum()
people.answer({"above_mean": people["salary"] > mean})
print("mean", mean.reveal(), "of", people.present.sum().reveal())
"""


def quorate(folder: Path, *arguments: str) -> str:
    command = [QUORATE, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


class Survey:
    """A campaign on a deployment of three servers."""

    def __init__(self, folder: Path, clients: int) -> None:
        self.folder, self.ports = folder, free_ports(PARTIES)
        self.deployment, self.pins = Deployment(folder, PARTIES), list[str]()
        self.configs = [self._server(party) for party in range(PARTIES)]
        self.keys = [folder / f"client{i}.key" for i in range(clients)]
        points = [quorate(folder, "campaign", "client-key", str(key)) for key in self.keys]
        (folder / "wages.toml").write_text(self._campaign(points))
        quorate(folder, "campaign", "create", "wages.toml", "--out", "wages.json", "--any-program")
        for config in self.configs:
            assert "ANY" in quorate(folder, "campaign", "approve", "wages.json", "--config", str(config))
        self.serving = [self.serve(config) for config in self.configs]

    def _server(self, party: int) -> Path:
        own = self.folder / f"server{party}"
        quorate(self.folder, "campaign", "key", "--dir", str(own))
        pem, pin = certificate(own)
        self.pins.append(to_text(pin))
        config = own / "party.toml"
        config.write_text(self.deployment.config(party).read_text().replace('"party', '"../party'))
        (own / "serve.toml").write_text(
            f'listen = "127.0.0.1:{self.ports[party]}"\nstore = "packets.db"\nstore_key = "store.key"\n'
            f'service_key = "service.key"\ncertificate = "{pem.name}"\nkey = "{pem.name}"\n'
        )
        return config

    def _campaign(self, clients: list[str]) -> str:
        text = f"""
            name = "wages"
            id = "{to_text(secrets.token_bytes(16))}"
            protocol = "rss"
            at_least = 3
            closes = "2099-12-31T18:00:00Z"
            clients = {json.dumps(clients)}
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
        for party in range(PARTIES):
            public = json.loads((self.folder / f"server{party}" / "service.pub").read_text())
            text += f"""
            [[servers]]
            url = "https://127.0.0.1:{self.ports[party]}"
            certificate = "{self.pins[party]}"
            seal = "{public["seal"]}"
            sign = "{public["sign"]}"
            """
        return text

    def serve(self, config: Path) -> subprocess.Popen[str]:
        command = [QUORATE, "serve", "--config", str(config)]
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "serves clients at https://127.0.0.1:" in process.stderr.readline()
        return process

    def client(self, number: int) -> quorate_client.Client:
        return quorate_client.client(self.folder / "wages.json", key=self.keys[number])

    def run(self) -> list[Any]:
        script = self.deployment.script(SCRIPT)
        parties = [self.deployment.start(i, script, config=config) for i, config in enumerate(self.configs)]
        return [party.end() for party in parties]

    def stop(self) -> None:
        for process in self.serving:
            process.kill()
            process.communicate()
        self.deployment.stop()


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Survey]:
    made = Survey(tmp_path, 5)
    yield made
    made.stop()


def test_a_survey_from_its_campaign_to_its_results(survey: Survey) -> None:
    salaries = [52_000, 48_000, 90_000, 61_000]
    for number, salary in enumerate(salaries):
        assert len(survey.client(number).submit({"salary": salary})) == PARTIES
    survey.client(3).withdraw()
    early = survey.run()
    assert all(ended.status == 1 and "takes packets until 2099-12-31" in ended.err for ended in early), early
    survey.serving[1].send_signal(signal.SIGTERM)  # a server may restart at any time
    assert survey.serving[1].wait(10) == 0
    survey.serving[1].communicate()
    survey.serving[1] = survey.serve(survey.configs[1])
    for config in survey.configs:
        quorate(survey.folder, "campaign", "close", "wages", "--config", str(config))
    with pytest.raises(quorate_client.Refused, match="closed"):
        survey.client(4).submit({"salary": 1})
    mean = sum(salaries[:3]) // 3
    for ended in survey.run():
        assert (ended.status, ended.out) == (0, f"mean {mean} of 3\n"), ended
    for number, salary in enumerate(salaries[:3]):
        assert survey.client(number).result()["above_mean"] == (salary > mean)
        assert [status.items[0].outcome for status in survey.client(number).status()] == ["in"] * PARTIES
    for number in (3, 4):
        with pytest.raises(quorate_client.NoResult):
            survey.client(number).result()
    again = survey.run()
    assert all(ended.status == 1 and "packets are spent" in ended.err for ended in again), again
    assert "looks 1 of 1" in quorate(survey.folder, "campaign", "list", "--config", str(survey.configs[0]))
    quorate(survey.folder, "campaign", "end", "wages", "--config", str(survey.configs[0]))
    assert np.all(survey.client(0).result()["above_mean"] == (mean < 52_000))  # results outlive the packets
