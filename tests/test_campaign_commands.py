"""The commands of operators, from keys to the end of a campaign, and what they refuse before they change anything."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import quorate_client
from campaigning import campaign_of
from quorate._command._campaign_summary import summary
from quorate._command._invitations import joined, of_server
from quorate.errors import ConfigError
from quorate_client import Campaign, ClientKey, Invitation, NotStored, ServiceKey, wire
from quorate_client._https import Links
from quorate_client.keys import to_text
from serving import SOON
from warm import QUORATE, Command, quorate


def command(folder: Path, *arguments: str, fails: str = "") -> str:
    done = quorate(*arguments, cwd=folder)
    assert (done.returncode == 0) == (not fails), done.stderr
    assert fails in done.stderr
    return done.stdout


def configured(folder: Path) -> int:
    """Makes keys and configurations of party 0 by commands, and returns the port of its server."""
    command(folder, "campaign", "key", "--dir", "keys", "--host", "127.0.0.1", "--host", "one.example")
    command(folder, "campaign", "key", "--dir", "keys", fails="keys are not overwritten")
    for name in ("service.key", "store.key", "tls.key"):
        assert (folder / "keys" / name).stat().st_mode & 0o777 == 0o600
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    parties = "".join(f'[[party]]\naddress = "127.0.0.1:{9000 + i}"\ncertificate = "{i}.crt"\n' for i in range(3))
    (folder / "party.toml").write_text(f'me = 0\nprotocol = "rss"\nkey = "0.key"\n{parties}')
    files = {"store": "store.db"} | {f"{n}_key": f"keys/{n}.key" for n in ("store", "service")}
    files |= {"certificate": "keys/tls.crt", "key": "keys/tls.key", "listen": f"127.0.0.1:{port}"}
    (folder / "serve.toml").write_text("".join(f'{name} = "{value}"\n' for name, value in files.items()))
    return port


def campaign_in_toml(folder: Path, port: int) -> str:
    """Returns a campaign for a new client whose key is in me.key. Servers 1 and 2 are keys alone."""
    person = command(folder, "campaign", "client-key", "me.key").strip()
    own = json.loads((folder / "keys" / "service.pub").read_text())
    others = [ServiceKey.generate() for _ in range(2)]
    keys = [{"certificate": to_text(bytes([i]) * 32), "seal": to_text(o.seal), "sign": to_text(o.sign)} for i, o in
            enumerate(others)]  # fmt: skip
    servers = "".join(
        f'[[servers]]\nurl = "https://127.0.0.1:{port + i}"\n' + "".join(f'{n} = "{v}"\n' for n, v in key.items())
        for i, key in enumerate([own, *keys])
    )
    return (
        f'name = "ages"\nid = "{to_text(bytes(16))}"\nprotocol = "rss"\nat_least = 1\n'
        f'closes = "2099-01-01T00:00:00Z"\nclients = ["{person}"]\n'
        f'{servers}[[slots]]\nname = "person"\n[[slots.columns]]\nname = "age"\ndtype = "uint(7)"\n'
    )


def test_an_operator_from_keys_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "ages.toml").write_text(campaign_in_toml(tmp_path, configured(tmp_path)))
    create = ("campaign", "create", "ages.toml", "--out", "ages.json")
    command(tmp_path, *create, fails="does not name a program")
    absent = ("campaign", "create", "ages.toml", "--any-program", "--out", "none/ages.json")
    command(tmp_path, *absent, fails="there is no folder none")
    digest = command(tmp_path, *create, "--any-program").strip()
    command(tmp_path, *create, "--any-program", fails="is not changed once it was handed out")
    approve = ("campaign", "approve", "ages.json", "--config", "party.toml")
    command(tmp_path, *approve, "--invitations", "secrets", fails="lists its clients: leave --invitations out")
    toml = ("campaign", "approve", "ages.toml", "--config", "party.toml")
    command(tmp_path, *toml, fails="`quorate campaign create ages.toml --out FILE` makes that file")
    assert command(tmp_path, "campaign", "list", "--config", "party.toml") == ""  # nothing was approved
    agreed_to = command(tmp_path, *approve)
    assert digest in agreed_to and "program: ANY" in agreed_to
    with running(tmp_path) as server:
        commands_beside_a_server(tmp_path)
        command(tmp_path, *approve, fails="a hash is approved once")
        server.send_signal(signal.SIGTERM)
        assert server.wait(SOON) == 143
        lines = server.stderr.read().splitlines()
        assert [line.rpartition(" ")[2] for line in lines] in (["ended"], ["stored", "ended"]), "no error is logged"


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Command]:
    server = Command([QUORATE, "serve", "--config", "party.toml"], folder)
    try:
        assert "serves clients at" in server.stderr.readline()
        yield server
    finally:
        server.kill()
        server.wait()


def commands_beside_a_server(folder: Path) -> None:
    campaign = Campaign.from_json((folder / "ages.json").read_bytes())
    key = ClientKey.load(folder / "me.key")
    at = f"/campaigns/{to_text(campaign.hash)}/packets"

    def give(number: int) -> int:
        header = wire.Header(campaign.hash, key.id, 0, 0, 0, number, 0, 1, 0, (1, 2))
        body = wire.make_packets(campaign, key, header, {1: bytes(32), 2: bytes(1)})[0]
        return Links().ask(0, campaign.servers[0], "POST", at, {}, body).status

    deadline = time.monotonic() + SOON
    while Links().ask(0, campaign.servers[0], "GET", "/readyz", {}).status != 200:
        assert time.monotonic() < deadline
    assert give(1) == 201
    with pytest.raises(NotStored):
        quorate_client.client(campaign, key=folder / "me.key").submit({"age": 4}, wait_s=0)
    assert "ages  open" in command(folder, "campaign", "list", "--config", "serve.toml")
    exported = json.loads(command(folder, "campaign", "export", "ages", "--config", "party.toml"))
    assert [p["number"] for p in exported["packets"]] == [1] and "sealed" not in exported["packets"][0]
    assert "ages  closed" in command(folder, "campaign", "close", "ages", "--config", "party.toml")
    assert give(2) == 410
    assert "ages  ended" in command(folder, "campaign", "end", "ages", "--config", "party.toml")


def test_invitations_are_written_for_their_operator(tmp_path: Path) -> None:
    text = campaign_in_toml(tmp_path, configured(tmp_path))
    listed = next(line for line in text.splitlines() if line.startswith("clients"))
    (tmp_path / "ages.toml").write_text(text.replace(listed, "invitations = 3"))
    command(tmp_path, "campaign", "create", "ages.toml", "--out", "ages.json", "--any-program")
    approve = ("campaign", "approve", "ages.json", "--config", "party.toml", "--invitations", "secrets")
    (tmp_path / "secrets").write_text("")
    command(tmp_path, *approve, fails="secrets exists; files of secrets are not overwritten")
    command(tmp_path, *approve[:-1], "none/secrets", fails="there is no folder none")
    assert command(tmp_path, "campaign", "list", "--config", "party.toml") == ""  # nothing was approved
    (tmp_path / "secrets").unlink()
    command(tmp_path, *approve)
    stated = json.loads((tmp_path / "secrets").read_text())
    assert (stated["server"], stated["servers"], len(stated["secrets"])) == (0, 3, 3)
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o600
    (tmp_path / "serve.toml").write_text((tmp_path / "serve.toml").read_text().replace("keys/tls.crt", "other.crt"))
    from quorate.serve._certificates import self_signed

    (tmp_path / "other.crt").write_bytes(self_signed()[0])
    command(tmp_path, *approve[:-2], fails="does not have this server's certificate at place 0")


def test_invitations_are_joined_from_the_servers_files(tmp_path: Path) -> None:
    servers = [ServiceKey.generate() for _ in range(3)]
    campaign, secrets = campaign_of(servers, 11), [[os.urandom(32) for _ in range(11)] for _ in servers]
    for server, own in enumerate(secrets):
        (tmp_path / f"s{server}").write_text(of_server(campaign, server, own))
    join = ("campaign", "invitations", "s2", "s0", "s1", "--out")  # the order of the files is of no account
    command(tmp_path, *join, "all.txt")
    invited = [Invitation.from_text(line) for line in (tmp_path / "all.txt").read_text().splitlines()]
    assert invited == [Invitation(place, tuple(own[place] for own in secrets)) for place in range(11)]
    assert (tmp_path / "all.txt").stat().st_mode & 0o777 == 0o600
    (tmp_path / "each").mkdir()
    command(tmp_path, *join, "each")
    names = [f"invitation-{place:02}.txt" for place in range(11)]
    assert sorted(file.name for file in (tmp_path / "each").iterdir()) == names
    for place, name in enumerate(names):
        assert Invitation.from_text((tmp_path / "each" / name).read_text()) == invited[place]
        assert (tmp_path / "each" / name).stat().st_mode & 0o777 == 0o600
    command(tmp_path, *join, "all.txt", fails="all.txt exists; files of secrets are not overwritten")
    command(tmp_path, *join, "each", fails="exists")


def test_invitations_of_other_servers_or_campaigns_are_not_joined(tmp_path: Path) -> None:
    servers = [ServiceKey.generate() for _ in range(3)]
    files = [tmp_path / str(server) for server in range(3)]
    for server, file in enumerate(files):
        file.write_text(of_server(campaign_of(servers, 2), server, [bytes(32)] * 2))
    with pytest.raises(ConfigError, match="the file of server 1 is missing: give those of all 3 servers"):
        joined([files[2], files[0]])
    with pytest.raises(ConfigError, match="there are two files of server 0"):
        joined([files[0], files[1], files[0]])
    files[1].write_text(of_server(campaign_of(servers, 2, again=1), 1, [bytes(32)] * 2))
    with pytest.raises(ConfigError, match="is of another campaign than"):
        joined(files)
    secret = to_text(b"\1" * 32)
    for text in ("", "[]", "{}", f'{{"campaign": "", "server": 3, "servers": 3, "secrets": ["{secret}"]}}', secret):
        files[1].write_text(text)
        with pytest.raises(ConfigError, match="is no file of a server's part of invitations") as error:
            joined(files)
        assert secret not in str(error.value)
    files[1].unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        joined(files)


def test_an_operator_reads_all_that_a_campaign_states() -> None:
    servers = [ServiceKey.generate() for _ in range(3)]
    bounded = {"name": "pay", "dtype": "fixed(64, 16)", "shape": [2, 3], "low": "-0.5"}
    results = [{"name": "rank", "dtype": "uint(8)"}]
    slot = {"name": "people", "per_client": 4, "columns": [bounded, {"name": "free", "dtype": "bit"}]}
    programs = f"{'ab' * 32},{'cd' * 32}"
    fields = {
        "check": "none",
        "options": {"forms": "auto"},
        "again": 2,
        "program": programs,
        "slots": [{**slot, "results": results}],
    }
    text = summary(campaign_of(servers, 5, **fields))
    for stated in (
        f"program: {'ab' * 32}\n", f"program: {'cd' * 32}\n", "options: forms=auto", "server 2: https://127.0.0.1:9002",
        "5 invitations, at least 1", "looks at results: 3", "check: none", "https://survey.example",
        "slot people, packets of a client: 4", "column pay fixed(64, 16)[2, 3], from -0.5 to the highest",
        "column free bit, any bit", "result for each client: rank uint(8)",
    ):  # fmt: skip
        assert stated in text


def test_cryptography_that_is_missing_or_too_old_is_told_with_what_to_install(tmp_path: Path) -> None:
    calls = ("qr.client('a', key='b')", "sys.exit(main(['campaign', 'client-key', 'me.key']))")
    lacks = ("sys.modules['cryptography'] = None", "sys.modules['cryptography.hazmat.primitives.hpke'] = None")
    for lack, call in itertools.product(lacks, calls):
        program = f"import sys; {lack}\nimport quorate as qr\nfrom quorate.cli import main\n{call}"
        line = [sys.executable, "-P", "-c", program]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert done.returncode != 0 and "cryptography, 47 or later: pip install 'cryptography>=47'" in done.stderr


def test_commands_name_what_is_wrong(tmp_path: Path) -> None:
    command(tmp_path, "serve", "--config", "none.toml", fails="there is no file none.toml")
    command(tmp_path, "campaign", "list", "--config", "none.toml", fails="there is no file none.toml")
    command(tmp_path, "campaign", "create", "none.toml", "--out", "x", fails="none.toml cannot be read")
    blocked = "import sys; sys.modules['fastapi'] = None\nfrom quorate.cli import main\n"
    program = f"{blocked}sys.exit(main(['serve', '--config', 'x']))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 2 and "needs fastapi, from the extra `serve`: pip install" in done.stderr


def test_importing_quorate_needs_no_extra() -> None:
    program = (
        "import sys\nfor name in ('cryptography', 'fastapi', 'uvicorn', 'quorate_client'): sys.modules[name] = None\n"
        "import quorate, quorate.cli"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True, timeout=60)
