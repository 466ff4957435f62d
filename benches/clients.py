#!/usr/bin/env python3
"""Measures clients of a campaign: servers over HTTPS on the loopback, a process for each, and clients here.

    .venv/bin/python benches/clients.py
    .venv/bin/python benches/clients.py --clients 10000 --values 10
    .venv/bin/python benches/clients.py --family spdz2k
    .venv/bin/python benches/clients.py --requests 2000

Every client has a key of its own, and gives its values as `quorate_client` does: it compares the campaign at each
server, and sends one packet to each. The first table gives, by the number of clients that submit at once, the seconds
until all servers have confirmed all packets, a client's median and 99th percentile, and milliseconds of processor time
for a packet at a server, and for a client. Then the campaign is closed, and the packets are read in a local session of
the servers; the second table gives seconds of `Session.campaign` and of a sum, and what a party sends meanwhile.

With `--requests`, another table gives signed requests for the state of a client's packets, to all servers in turn, by
the number in flight: requests a second, the median and the 99th percentile, over a connection for each request and over
kept ones, and the processor time of a request at a server.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
import json
import os
import resource
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import quorate as qr
import quorate_client
from quorate_client._https import Links
from quorate_client.keys import to_text
from quorate_client.statements import sign_request

#: Names of families: protocol, number of servers, and options.
FAMILIES: dict[str, tuple[str, int, dict[str, str]]] = {
    "rss": ("rss", 3, {}),
    "aby": ("aby", 2, {}),
    "pika": ("pika", 3, {}),
    "pika-malicious": ("pika", 3, {"malicious": "yes"}),
    "spdz2k": ("spdz2k", 2, {}),
    "spdz2k-3": ("spdz2k", 3, {}),
}
QUORATE = str(Path(sys.executable).with_name("quorate"))


def command(folder: Path, *arguments: str) -> str:
    """Runs a command of `quorate` in a folder, and returns what it prints."""
    done = subprocess.run([QUORATE, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def free_ports(count: int) -> list[int]:
    """Returns ports of the loopback that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Survey:
    """A campaign for `clients` clients of `values` integers each, and its running servers."""

    def __init__(self, folder: Path, family: str, check: str, clients: int, values: int) -> None:
        self.folder = folder
        protocol, self.parties, options = FAMILIES[family]
        self.keys = [quorate_client.ClientKey.generate() for _ in range(clients)]
        ports = free_ports(2 * self.parties)
        servers, self.configs = [], []
        for party in range(self.parties):
            own = folder / f"server{party}"
            command(folder, "keygen", "--party", str(party), "--dir", ".")
            command(folder, "campaign", "key", "--dir", str(own), "--host", "127.0.0.1")
            (own / "party.toml").write_text(
                f'me = {party}\nprotocol = "{protocol}"\nkey = "../party{party}.key"\n'
                + "".join(
                    f'[[party]]\naddress = "127.0.0.1:{ports[self.parties + i]}"\ncertificate = "../party{i}.crt"\n'
                    for i in range(self.parties)
                )
            )
            (own / "serve.toml").write_text(
                f'listen = "127.0.0.1:{ports[party]}"\nstore = "packets.db"\nstore_key = "store.key"\n'
                'service_key = "service.key"\ncertificate = "tls.crt"\nkey = "tls.key"\n'
            )
            self.configs.append(own / "party.toml")
            public = json.loads((own / "service.pub").read_text())
            servers.append({"url": f"https://127.0.0.1:{ports[party]}", **public})
        column = {"name": "x", "dtype": "int(64)", "shape": [values], "low": "0", "high": "1000000"}
        campaign = {
            "name": "bench", "id": to_text(secrets.token_bytes(16)), "protocol": protocol, "options": options,
            "program": "", "at_least": 1, "closes": "2099-12-31T00:00:00Z", "again": 0, "check": check, "origins": [],
            "servers": servers, "clients": sorted(to_text(key.id) for key in self.keys), "invitations": 0,
            "slots": [{"name": "people", "per_client": 1, "columns": [column]}],
        }  # fmt: skip
        self.file = folder / "bench.json"
        self.file.write_text(json.dumps(campaign, separators=(",", ":"), sort_keys=True))
        self.campaign = quorate_client.Campaign.load(self.file)
        for config in self.configs:
            command(folder, "campaign", "approve", str(self.file), "--config", str(config))
        self.processes = [self._serve(config) for config in self.configs]

    def _serve(self, config: Path) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([QUORATE, "serve", "--config", str(config)], stderr=subprocess.PIPE)
        if process.stderr is None or b"serves clients" not in process.stderr.readline():
            raise SystemExit(f"the server of {config} did not start")
        return process

    def server_seconds(self) -> float:
        """Returns the processor seconds of all servers so far."""
        used = 0
        for process in self.processes:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            used += int(fields[11]) + int(fields[12])
        return used / os.sysconf("SC_CLK_TCK")

    def submit(self, number: int, values: np.ndarray) -> float:
        """Gives a client's values, and returns the seconds that it took."""
        key, start = self.keys[number], time.perf_counter()
        client = quorate_client.client(self.campaign, key=key, store=self.folder / "outbox")
        client.submit({"x": values}, wait_s=600)
        return time.perf_counter() - start

    def ask(self, number: int, links: Links) -> float:
        """Asks a server for the state of a client's packets, and returns the seconds that it took."""
        key, server, campaign = self.keys[number % len(self.keys)], number % self.parties, self.campaign
        path = f"/campaigns/{to_text(campaign.hash)}/packets/{to_text(key.id)}"
        start = time.perf_counter()
        headers = {"Quorate-Signature": sign_request(key, campaign.hash, server, int(time.time()))}
        answer = links.ask(server, campaign.servers[server], "GET", path, headers)
        if answer.status != 200:
            raise SystemExit(f"a server answered {answer.status} to a request for a state")
        return time.perf_counter() - start

    def stop(self) -> None:
        """Ends the servers."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
            process.wait()


def own_seconds() -> float:
    """Returns the processor seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def given(survey: Survey, numbers: range, at_once: int, values: np.ndarray) -> str:
    """Submits packets, and returns a row of the table."""
    start, servers, own = time.perf_counter(), survey.server_seconds(), own_seconds()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        seconds = list(pool.map(lambda number: survey.submit(number, values), numbers))
    wall, count = time.perf_counter() - start, len(numbers)
    at_server = (survey.server_seconds() - servers) / count / survey.parties
    at_client = (own_seconds() - own) / count
    quantiles = statistics.quantiles(seconds, n=100)
    return (
        f"| {at_once:>5} | {count:>7} | {wall:>7.1f} | {statistics.median(seconds) * 1e3:>6.1f} | "
        f"{quantiles[98] * 1e3:>6.1f} | {at_server * 1e3:>6.2f} | {at_client * 1e3:>6.2f} |"
    )


def asked(survey: Survey, requests: int, at_once: int, is_kept: bool) -> str:
    """Makes requests, and returns a row of the table."""
    start, servers, own = time.perf_counter(), survey.server_seconds(), threading.local()

    def ask(number: int) -> float:
        if not is_kept:
            with Links() as links:
                return survey.ask(number, links)
        if not hasattr(own, "links"):
            own.links = Links()
        return survey.ask(number, own.links)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        seconds = list(pool.map(ask, range(requests)))
    wall, quantiles = time.perf_counter() - start, statistics.quantiles(seconds, n=100)
    at_server = (survey.server_seconds() - servers) / requests
    return (
        f"| {at_once:>5} | {'kept' if is_kept else 'new':>4} | {requests:>7} | {requests / wall:>6.0f} | "
        f"{statistics.median(seconds) * 1e3:>6.1f} | {quantiles[98] * 1e3:>6.1f} | {at_server * 1e3:>6.2f} |"
    )


def main() -> None:
    """Measures, and prints the tables."""
    parser = argparse.ArgumentParser(description="Measures clients of a campaign.")
    parser.add_argument("--family", choices=FAMILIES, default="rss")
    parser.add_argument("--check", choices=("bound", "none"), default="bound")
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--at-once", default="1,10,100")
    parser.add_argument("--requests", type=int, default=0, help="also measures this number of requests for states")
    options = parser.parse_args()
    groups = [int(text) for text in options.at_once.split(",")]
    values, each = np.arange(options.values), options.clients // len(groups)
    with tempfile.TemporaryDirectory() as folder:
        survey = Survey(Path(folder), options.family, options.check, each * len(groups), options.values)
        try:
            print(f"{options.values} values of 64 bits a client\n")
            print("| at once | clients | all, s | p50, ms | p99, ms | server, ms CPU | client, ms CPU |")
            print("|---|---|---|---|---|---|---|")
            for place, at_once in enumerate(groups):
                print(given(survey, range(place * each, (place + 1) * each), at_once, values), flush=True)
            if options.requests:
                print("\n| in flight | connections | requests | a second | p50, ms | p99, ms | server, ms CPU |")
                print("|---|---|---|---|---|---|---|")
                for at_once, is_kept in itertools.product(groups, (False, True)):
                    print(asked(survey, options.requests, at_once, is_kept), flush=True)
        finally:
            survey.stop()
        for config in survey.configs:
            command(Path(folder), "campaign", "close", "bench", "--config", str(config))
        protocol, parties, family_options = FAMILIES[options.family]
        with qr.local(protocol, parties=parties, **family_options) as mpc:
            start = time.perf_counter()
            people = mpc.campaign(survey.file, config=survey.configs)
            read, start = time.perf_counter() - start, time.perf_counter()
            total = int(people["x"].sum().reveal())
            if total != each * len(groups) * int(values.sum()):
                raise SystemExit(f"the sum is {total}, which is wrong")
            summed, stats = time.perf_counter() - start, mpc.stats()
            sent = max(map(sum, zip(stats.offline.bytes_sent, stats.online.bytes_sent, strict=True)))
            print("\n| values in all | campaign, s | sum, s | sent, MB a party |\n|---|---|---|---|")
            print(f"| {people['x'].size} | {read:.2f} | {summed:.2f} | {sent / 1e6:.1f} |")


if __name__ == "__main__":
    main()
