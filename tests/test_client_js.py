"""JavaScript's client: its own tests, and packets from Node to servers that Python plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import clients
from quorate_client import ClientKey, statements, wire
from quorate_client.keys import to_text

FOLDER = Path(__file__).resolve().parent.parent / "clients" / "js"
NODE = shutil.which("node")

SCRIPT = """
const { client, keyFromJwk, toText, idOf } = await import(process.argv[1]);
const { campaign, jwk, values } = JSON.parse(process.argv[2]);
const me = await client({ campaign, key: await keyFromJwk(jwk) });
const receipts = await me.submit(values);
const again = await me.submit(values);
const status = await me.status();
console.log(JSON.stringify({ receipts, again, status }));
"""


def node_is_new_enough() -> bool:
    if NODE is None:
        return False
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.lstrip("v").partition(".")[0]) >= 20


pytestmark = pytest.mark.skipif(not node_is_new_enough(), reason="needs Node 20 or later")


def test_its_own_tests_pass() -> None:
    run = subprocess.run([str(NODE), "--test"], cwd=FOLDER, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout[-4000:]
    assert "# fail 0" in run.stdout
    assert int(run.stdout.partition("# pass ")[2].split()[0]) > 80


@pytest.mark.parametrize(("protocol", "parties", "options"), clients.ALL)
def test_its_packets_reach_servers_of_python(
    tmp_path: Path, protocol: str, parties: int, options: dict[str, str]
) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    from test_client_vectors import jwk

    secret = ec.generate_private_key(ec.SECP256R1())
    key = ClientKey(secret)
    campaign, servers = clients.started(tmp_path, protocol, parties, [key], options=options)
    try:
        given = {"campaign": campaign.json.decode(), "jwk": jwk(secret), "values": {"salary": 52000}}
        module = (FOLDER / "quorate.js").as_uri()
        arguments = [str(NODE), "--input-type=module", "-e", SCRIPT, module, json.dumps(given)]
        insecure = {**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0", "NODE_NO_WARNINGS": "1"}
        run = subprocess.run(arguments, capture_output=True, text=True, timeout=60, env=insecure)
        assert run.returncode == 0, run.stderr[-2000:]
        told = json.loads(run.stdout)
    finally:
        for server in servers:
            server.stop()
    total: Any = 0
    for server in servers:
        body = server.packets[max(server.packets)]
        packet = wire.unpack(campaign, server.index, body)
        total = total + int(clients.elements(campaign, packet, wire.open_part(server.key, packet))[0])
        receipt = statements.Receipt.from_json(json.dumps(told["again"][server.index]).encode())
        assert receipt.confirms(packet, campaign.servers[server.index].sign)
        assert packet.header.base == told["receipts"][server.index]["number"] < packet.header.number
    assert total % (1 << 32) == 52000
    assert [len(one["items"]) for one in told["status"]] == [2] * parties
    assert to_text(key.id) == told["receipts"][0]["client"]
