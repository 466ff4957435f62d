"""Pools whose parties have renewed a certificate, and what `quorate pool list` prints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import Ended, error_of
from quorate import _quorate
from quorate._session._pools import PoolFolder
from test_pools import Pooled, is_right
from warm import QUORATE, Command


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pooled]:
    made = Pooled(tmp_path, "aby")
    yield made
    made.deployment.stop()


def command(pair: Pooled, *arguments: str) -> Ended:
    process = Command([QUORATE, "pool", *arguments], pair.folder, {})
    out, err = process.communicate(timeout=60)
    return Ended(process.returncode, out, err, 0.0)


def rebind(pair: Pooled, me: int, old: Path) -> Ended:
    return command(pair, "rebind", str(old), str(pair.configs[me]), "--pool", str(pair.pools[me]))


def renew(pair: Pooled) -> list[Path]:
    """Has party 0 show a new certificate, which both list alone; returns the files from before."""
    old = [Path(shutil.copy(config, config.with_suffix(".old.toml"))) for config in pair.configs]
    (pair.folder / "new").mkdir()
    _quorate.keygen(str(pair.folder / "new"), 0)
    for config in pair.configs:
        text = config.read_text().replace('"party0.crt"', '"new/party0.crt"')
        config.write_text(text.replace('key = "party0.key"', 'key = "new/party0.key"'))
    return old


def test_a_pool_is_used_on_after_a_certificate_was_renewed(pair: Pooled) -> None:
    assert all(one.status == 0 for one in pair.make(3))
    assert is_right(pair.use())
    before = [PoolFolder(pool, pool.with_name(f"{pool.name}.key")).held() for pool in pair.pools]
    old = renew(pair)
    for ended in pair.use():
        assert ended.status == 2 and "after a change of certificates run `quorate pool rebind`" in error_of(ended)
    first = rebind(pair, 0, old[0])
    assert first.status == 0 and "is bound to the certificates of" in first.out, first
    started = [pair.start("party", me) for me in range(2)]  # one party alone does not get far
    assert started[1].end().status == 2
    started[0].kill()
    again = rebind(pair, 0, old[0])
    assert again.status == 0 and "was bound already" in again.out, again
    assert rebind(pair, 1, old[1]).status == 0
    assert [PoolFolder(pool, pool.with_name(f"{pool.name}.key")).held() for pool in pair.pools] == before
    assert is_right(pair.use())
    left = [PoolFolder(pool, pool.with_name(f"{pool.name}.key")).held() for pool in pair.pools]
    assert [sum(lot[0] for lot in one.lots.values()) for one in left if one is not None] == [3, 3]
    listed = command(pair, "list", "--config", str(pair.configs[0]), "--pool", str(pair.pools[0]))
    assert listed.status == 0 and listed.out.count(" left ") == len(before[0].lots if before[0] else ()), listed.out


def test_what_is_not_rebound(pair: Pooled) -> None:
    nothing = rebind(pair, 0, pair.configs[0])
    assert nothing.status == 2 and "there is no key" in nothing.err
    assert all(one.status == 0 for one in pair.make(1))
    old = renew(pair)
    files = {file.name: file.read_bytes() for file in pair.pools[0].iterdir()}
    others = pair.folder / "others.toml"
    (pair.folder / "third").mkdir()
    _quorate.keygen(str(pair.folder / "third"), 1)
    others.write_text(old[0].read_text().replace('"party1.crt"', '"third/party1.crt"'))
    refused = rebind(pair, 0, others)
    assert refused.status == 2 and "with other certificates of the parties" in refused.err
    other_party = rebind(pair, 0, old[1])
    assert other_party.status == 2 and "name the party.toml from before the change" in other_party.err
    waits = pair.start("party", 0, "--session", "waits")
    waits.kill()
    assert {file.name: file.read_bytes() for file in pair.pools[0].iterdir()} == files
    pair.pools[0].rename(pair.folder / "elsewhere")
    gone = rebind(pair, 0, old[0])
    assert gone.status == 2 and "there is no pool in" in gone.err and not pair.pools[0].exists()


def test_a_pool_in_use_is_not_rebound_and_is_listed(pair: Pooled) -> None:
    assert all(one.status == 0 for one in pair.make(1))
    old = Path(shutil.copy(pair.configs[0], pair.folder / "old.toml"))
    waits = pair.start("party", 0)  # it has its pool open, and waits for party 1
    pair.deployment.wait_until_listening(0)
    refused = rebind(pair, 0, old)
    assert refused.status == 2 and "in use by another process" in refused.err
    listed = command(pair, "list", "--config", str(pair.configs[0]), "--pool", str(pair.pools[0]))
    assert listed.status == 0 and "a process uses it" in listed.out and " 2 left " in listed.out, listed
    waits.kill()
    none = command(pair, "list", "--config", str(pair.configs[0]), "--pool", str(pair.folder / "none"))
    assert none.status == 0 and "there is no pool in" in none.out
    unnamed = command(pair, "list", "--config", str(pair.configs[0]))
    assert unnamed.status == 2 and "name the folder of the pool" in unnamed.err
