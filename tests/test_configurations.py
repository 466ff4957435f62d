"""Configuration files that cannot work are refused before anything is sent, and the fault is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import Deployment

PRODUCT = """
x = mpc.input([1, 2, 3] if mpc.me == 0 else None, owner=0, shape=(3,), dtype=qr.int(64), bound=9)
print(x.reveal())
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """A deployment that is removed afterwards."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


GOOD = 'me = 0\nprotocol = "rss"\nkey = "party0.key"\n'
PARTY = '[[party]]\naddress = "127.0.0.1:{}"\ncertificate = "party{}.crt"\n'
PARTIES = "".join(PARTY.format(9000 + i, i) for i in range(3))

BAD_FILES = {
    "a misspelt key": (GOOD.replace("protocol", "protocl") + PARTIES, ["protocl", "expected", "protocol"]),
    "a misspelt limit": (GOOD + PARTIES + "[limits]\npeer_timeout = 3\n", ["peer_timeout", "peer_timeout_s"]),
    "a misspelt address": (GOOD + PARTIES.replace("address", "adress", 1), ["adress", "address"]),
    "no key": ('me = 0\nprotocol = "rss"\n' + PARTIES, ["key"]),
    "me out of range": (GOOD.replace("me = 0", "me = 3") + PARTIES, ["me", "parties in the file is 3"]),
    "me negative": (GOOD.replace("me = 0", "me = -1") + PARTIES, ["me", "-1"]),
    "four parties": (GOOD + PARTIES + PARTY.format(9003, 0), ["3, 5 or 7", "4"]),
    "another protocol": (GOOD.replace("rss", "bgw") + PARTIES, ["bgw", "rss"]),
    "no file of the key": (GOOD.replace("party0.key", "other.key") + PARTIES, ["other.key"]),
    "no file of a certificate": (GOOD + PARTIES.replace("party2.crt", "other.crt"), ["other.crt"]),
    "the certificate as key": (GOOD.replace("party0.key", "party0.crt") + PARTIES, ["party0.crt"]),
    "another party's key": (GOOD.replace("party0.key", "party1.key") + PARTIES, ["key", "certificate"]),
    "one certificate twice": (GOOD + PARTIES.replace("party2.crt", "party1.crt"), ["certificate"]),
    "an address without a port": (GOOD + PARTIES.replace(":9001", ""), ["127.0.0.1", "port"]),
    "a limit of zero": (GOOD + PARTIES + "[limits]\npeer_timeout_s = 0\n", ["peer_timeout_s", "positive"]),
    "a limit below zero": (GOOD + PARTIES + "[limits]\nstall_timeout_s = -1\n", ["stall_timeout_s", "positive", "-1"]),
    "a limit of words": (GOOD + PARTIES + '[limits]\npeer_timeout_s = "long"\n', ["peer_timeout_s"]),
    "no TOML": ("me = = 0\n", ["TOML"]),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_configurations(deployment: Deployment, case: str) -> None:
    text, words = BAD_FILES[case]
    ended = deployment.start(0, deployment.script(PRODUCT), config=deployment.config(0, text)).end()
    assert ended.status == 2, ended
    assert ended.seconds < 15
    for word in ["ConfigError", *words]:
        assert word in ended.err, ended.err
