"""Files of a demonstration: keys and settings of servers, and one campaign that all of them approve.

    python prepare.py FOLDER --clients 6 --server server0 --server server1 --server server2

makes all files for servers of these names: FOLDER/server0 and so on has what one server has, and FOLDER/client what
clients get, with a salary for each in `asked.json`. A folder that is prepared stays as it is. Parties meet at port
9000, and clients come to port 9443. In an installation, each operator makes the keys of its own server.
"""

import argparse
import json
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

CAMPAIGN = """
name = "wages"
id = "{id}"
protocol = "rss"
program = "{program}"
at_least = 3
closes = "2099-12-31T18:00:00Z"
invitations = {clients}
origins = {origins}
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


def make_servers(run, folder, parties, clients):
    """Makes the keys of all servers, for each other and for clients, and their settings.

    Args:
        run: runs commands of `quorate` in `folder`, each a list of arguments, and returns what each prints.
        folder: where server0 and so on are made.
        parties: for each server where it listens for the other parties, and where they reach it; both HOST:PORT.
        clients: for each server where it listens for clients, and where clients reach it.

    Returns:
        The path of each `party.toml`.
    """
    folders = [folder / f"server{party}" for party in range(len(parties))]
    making = []
    for party, (own, (_, address)) in enumerate(zip(folders, clients, strict=True)):
        own.mkdir(mode=0o700)
        making.append(["keygen", "--party", party, "--dir", own])
        making.append(["campaign", "key", "--dir", own, "--host", address.rpartition(":")[0]])
    run(making)
    everyone = "".join(
        f'[[party]]\naddress = "{address}"\ncertificate = "party{party}.crt"\n'
        for party, (_, address) in enumerate(parties)
    )
    for party, (own, (sessions, _), (listen, _)) in enumerate(zip(folders, parties, clients, strict=True)):
        for other in folders:
            if other != own:
                shutil.copy(folders[party] / f"party{party}.crt", other)
        (own / "party.toml").write_text(
            f'me = {party}\nprotocol = "rss"\nkey = "party{party}.key"\nlisten = "{sessions}"\n{everyone}'
        )
        (own / "serve.toml").write_text(
            f'listen = "{listen}"\nstore = "packets.db"\nstore_key = "store.key"\n'
            'service_key = "service.key"\ncertificate = "tls.crt"\nkey = "tls.key"\n'
        )
    return [own / "party.toml" for own in folders]


def make_campaign(run, folder, configs, addresses, count, origins=()):
    """Makes a campaign of the program, by its hash, and lets all servers approve it.

    Args:
        run, folder: as in `make_servers`.
        configs: the path of each `party.toml`.
        addresses: where clients reach each server, HOST:PORT.
        count: the number of invitations.
        origins: origins of pages whose browsers may give values.

    Returns:
        The invitations. The campaign is `folder / "wages.json"`.
    """
    identity, toml, campaign = secrets.token_urlsafe(16), folder / "wages.toml", folder / "wages.json"

    def write(program):
        text = CAMPAIGN.format(id=identity, program=program, clients=count, origins=json.dumps(list(origins)))
        for address, config in zip(addresses, configs, strict=True):
            public = json.loads(config.with_name("service.pub").read_text())
            fields = "".join(f'{name} = "{value}"\n' for name, value in public.items())
            text += f'[[servers]]\nurl = "https://{address}"\n{fields}'
        toml.write_text(text)

    write("")
    plan = run([["explain", HERE / "wages.py", "--protocol", "rss", "--parties", len(configs), "--", toml]])[0]
    write(plan.splitlines()[-1].split()[-1])
    run([["campaign", "create", toml, "--out", campaign]])
    files = [folder / f"server{party}.secrets" for party in range(len(configs))]
    run(
        ["campaign", "approve", campaign, "--config", config, "--invitations", file]
        for config, file in zip(configs, files, strict=True)
    )
    run([["campaign", "invitations", *files, "--out", folder / "invitations.txt"]])
    return (folder / "invitations.txt").read_text().split()


def asked_of(invitations, values):
    """Returns what each client is asked to give, as clients.py, clients.mjs and form.py read it."""
    return [{"invitation": text, "values": {"salary": value}} for text, value in zip(invitations, values, strict=True)]


def main():
    parser = argparse.ArgumentParser(description="keys, settings and a campaign for a demonstration")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--server", action="append", required=True, help="a server's host; once for each, in order")
    options = parser.parse_args()
    folder, given = options.folder, options.folder / "client"
    if (given / "asked.json").exists():
        return

    def run(commands):
        command = [sys.executable, "-m", "quorate.cli"]
        done = [
            subprocess.run([*command, *map(str, one)], cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
            for one in commands
        ]
        return [one.stdout.strip() for one in done]

    addresses = [f"{host}:9443" for host in options.server]
    parties = [("0.0.0.0:9000", f"{host}:9000") for host in options.server]
    configs = make_servers(run, folder, parties, [("0.0.0.0:9443", address) for address in addresses])
    invitations = make_campaign(run, folder, configs, addresses, options.clients)
    given.mkdir(mode=0o700)
    shutil.copy(folder / "wages.json", given)
    for config in configs:
        shutil.copy(folder / "wages.json", config.parent)
    values = [25_000 + secrets.randbelow(100_000) for _ in invitations]
    (given / "asked.json").write_text(json.dumps(asked_of(invitations, values)))


if __name__ == "__main__":
    main()
