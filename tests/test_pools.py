"""Pools of deployments: made by `quorate preprocess`, used by scripts, each correlation once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploying import Deployment, Ended, Party, error_of
from quorate._session._pools import PoolFolder, pool_of
from quorate.errors import ConfigError
from warm import QUORATE

FAMILIES = {"rss": 3, "aby": 2, "pika": 3}

#: Two runs, the first of which twice, with products, comparisons and a division.
SCRIPT = """
x = mpc.input([3, -1, 4, 1] if mpc.me == 0 else None, owner=0, shape=4, dtype=qr.int(32), bound=100)
w = mpc.input([2, 7, -1, 8] if mpc.me == 1 else None, owner=1, shape=4, dtype=qr.int(32), bound=100)
for _ in range(2):
    above = ((x * w) // 3 > 0).sum().reveal()
    print("above", above)
print("least", (x - w).min().reveal())
offline = mpc.stats().offline
print("offline", offline.correlations, max(offline.bytes_sent))
"""
RIGHT = ["above 2", "above 2", "least -8"]


class Pooled:
    """A deployment whose parties have a folder for a pool each."""

    def __init__(self, folder: Path, protocol: str) -> None:
        self.folder, self.count = folder, FAMILIES[protocol]
        self.deployment = Deployment(folder, self.count)
        self.configs = []
        for me in range(self.count):
            text = self.deployment.config(me).read_text()
            self.configs.append(self.deployment.config(me, text.replace('"rss"', f'"{protocol}"')))
        self.pools = [folder / f"pool{me}" for me in range(self.count)]
        self.script = self.deployment.script(SCRIPT)

    def start(self, command: str, me: int, *arguments: str, pool: bool = True) -> Party:
        given = ["--pool", str(self.pools[me])] if pool else []
        whole = [QUORATE, command, str(self.script), "--config", str(self.configs[me]), *given, *arguments]
        party = Party(whole, self.folder, warm=True)
        self.deployment.running.append(party)
        return party

    def run(self, command: str, *arguments: str) -> list[Ended]:
        started = [self.start(command, me, *arguments) for me in range(self.count)]
        return [party.end() for party in started]

    def make(self, times: int) -> list[Ended]:
        return self.run("preprocess", "--times", str(times))

    def use(self) -> list[Ended]:
        return self.run("party")


@pytest.fixture(params=FAMILIES)
def pooled(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pooled]:
    made = Pooled(tmp_path, request.param)
    yield made
    made.deployment.stop()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pooled]:
    made = Pooled(tmp_path, "aby")
    yield made
    made.deployment.stop()


def is_right(ended: list[Ended]) -> bool:
    return all(one.status == 0 and one.out.splitlines()[:3] == RIGHT for one in ended)


def test_a_pool_serves_as_many_starts_as_it_was_made_for_and_says_how_to_make_more(pooled: Pooled) -> None:
    for ended in pooled.make(2):
        assert ended.status == 0, ended.err
        assert "made correlations of 6 runs" in ended.out and "enough for 2 starts" in ended.out
    for _ in range(2):
        used = pooled.use()
        assert is_right(used), used
        for one in used:  # what is sent before values is that places are reserved: a byte to each other party and run
            assert int(one.out.rsplit(maxsplit=1)[1]) <= 3 * (pooled.count - 1), one.out
    refused = pooled.use()
    assert all("above" not in one.out and one.status != 0 for one in refused), refused
    said = [one.err for one in refused if "PoolExhausted" in one.err]
    assert said and all("Make more with `quorate preprocess` for this script at all parties" in text for text in said)
    assert all(one.status == 0 for one in pooled.make(1))
    assert is_right(pooled.use())


def test_making_goes_on_where_it_was(pair: Pooled) -> None:
    assert all(one.status == 0 for one in pair.make(3))
    assert is_right(pair.use())
    for ended in pair.make(3):
        assert ended.status == 0 and "made correlations of 3 runs" in ended.out, ended
    for ended in pair.make(2):
        assert ended.status == 0 and "made correlations of 0 runs" in ended.out, ended


def test_a_script_that_fails_makes_nothing(pair: Pooled) -> None:
    pair.script = pair.deployment.script(SCRIPT + "raise SystemExit(7)")
    assert [one.status for one in pair.make(1)] == [7, 7]
    assert not any(pool.glob("*.ledger") for pool in pair.pools if list(pool.glob("*.ledger")))


def test_a_script_may_not_depend_on_what_it_reveals(pair: Pooled) -> None:
    pair.script = pair.deployment.script(SCRIPT.replace('print("above", above)', "above > 0"))
    for ended in pair.make(1):
        assert ended.status == 2 and "nothing is computed" in ended.err, ended


def test_a_script_without_correlations(pair: Pooled) -> None:
    pair.script = pair.deployment.script("print(mpc.input(3, owner=0, shape=(), dtype=qr.int(8)).reveal())")
    for ended in pair.make(5):
        assert ended.status == 0 and "nothing was made" in ended.out


def test_all_parties_use_a_pool_or_none_does(pair: Pooled) -> None:
    pair.make(1)
    started = [pair.start("party", 0), pair.start("party", 1, pool=False)]
    for ended, theirs in zip([party.end() for party in started], ("none", "use"), strict=True):
        assert ended.status != 0 and f"chose pool={theirs}" in ended.err, ended


def test_the_file_of_a_party_names_its_pool(pair: Pooled) -> None:
    for me, config in enumerate(pair.configs):
        config.write_text(f'pool = "pool{me}"\npool_key = "key{me}"\n' + config.read_text())
    started = [pair.start("preprocess", me, "--times", "1", pool=False) for me in range(2)]
    assert [party.end().status for party in started] == [0, 0]
    assert (pair.folder / "key0").stat().st_mode & 0o777 == 0o600 and (pair.folder / "key1").is_file()
    started = [pair.start("party", me, pool=False) for me in range(2)]
    assert is_right([party.end() for party in started])


def test_a_pool_is_of_one_process_and_of_one_folder(pair: Pooled) -> None:
    pair.make(2)
    copied = pair.folder / "copied"
    shutil.copytree(pair.pools[0], copied)
    own, pair.pools[0] = pair.pools[0], copied
    shutil.copy(own.with_name("pool0.key"), copied.with_name("copied.key"))
    started = [pair.start("party", me) for me in range(2)]
    first = started[0].end()
    assert first.status == 2 and "was copied, restored from a backup" in error_of(first)
    started[1].kill()
    pair.pools[0] = own
    waits = pair.start("party", 0)  # it has its pool open, and waits for party 1
    pair.deployment.wait_until_listening(0)
    second = pair.start("party", 0, "--session", "other").end()
    assert second.status == 2 and "in use by another process" in error_of(second)
    other = pair.start("party", 1)
    assert is_right([waits.end(), other.end()])


def test_pools_that_were_not_made_together(pair: Pooled) -> None:
    pair.make(1)
    for file in (pair.pools[1], pair.pools[1].with_name("pool1.key")):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    for ended in pair.use():
        assert ended.status != 0, ended
    (pair.folder / "pool1.key").write_bytes(bytes(32))
    (pair.folder / "pool1.key").chmod(0o600)
    said = [ended.err for ended in pair.use()]
    assert any("not at 1" in text for text in said), said


def test_other_options_need_another_pool(pair: Pooled) -> None:
    pair.make(1)
    for ended in pair.run("party", "--trunc", "probabilistic"):
        assert ended.status == 2 and "give this session another pool" in ended.err, ended


def test_malicious_protocols_have_none_and_garbled_circuits_none(pair: Pooled) -> None:
    pair.script = pair.deployment.script(
        "x = mpc.input([3], owner=0, shape=1, dtype=qr.int(32))\nprint((x.to('Y') > 2).reveal())"
    )
    for ended in pair.make(1):
        assert ended.status != 0 and "no pool can hold" in ended.err, ended


def test_a_key_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = PoolFolder(tmp_path / "pool", tmp_path / "pool.key")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(ConfigError, match="No space left"):
            pool.make_key()
    assert list(tmp_path.iterdir()) == []
    pool.make_key()
    assert len(pool.key()) == 32 and list(tmp_path.iterdir()) == [pool.key_file]


def test_the_key_of_a_pool(tmp_path: Path) -> None:
    config = tmp_path / "party.toml"
    config.write_text("")
    assert pool_of(config, None) is None
    pool = pool_of(config, tmp_path / "pool")
    assert pool == PoolFolder(tmp_path / "pool", tmp_path / "pool.key")
    with pytest.raises(ConfigError, match="`quorate preprocess` makes pools and keys"):
        pool.key()
    pool.make_key()
    key = pool.key()
    assert len(key) == 32 and pool.key_file.stat().st_mode & 0o777 == 0o600
    pool.make_key()
    assert pool.key() == key, "an existing key is kept"
    pool.key_file.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        pool.key()
    pool.key_file.chmod(0o600)
    pool.key_file.write_bytes(key[:31])
    with pytest.raises(ConfigError, match="31 bytes instead of 32"):
        pool.key()
    pool.key_file.unlink()
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "pool").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"is gone: put it back, or remove the pool's folder"):
        pool.make_key()
    config.write_text("pool = 3\n")
    with pytest.raises(ConfigError, match="`pool` must be a text"):
        pool_of(config, None)
    config.write_text('pool = "p"\npool_key = "k"\n')
    assert pool_of(config, None) == PoolFolder(tmp_path / "p", tmp_path / "k")
    assert pool_of(config, "q") == PoolFolder(Path("q"), tmp_path / "k")


def test_a_pool_has_a_folder(pair: Pooled) -> None:
    ended = pair.start("preprocess", 0, "--times", "1", pool=False).end()
    assert ended.status == 2 and "name the folder of the pool: --pool DIR" in ended.err


@pytest.mark.parametrize("times", ["0", "-1", "65537"])
def test_times_have_bounds(pair: Pooled, times: str) -> None:
    ended = pair.start("preprocess", 0, "--times", times).end()
    assert ended.status == 2 and "--times must be from 1 to 65536" in ended.err


def test_a_key_is_made_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = PoolFolder(tmp_path / "pool", tmp_path / "pool.key")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with monkeypatch.context() as patched:
        synced = [lambda _: None, refuse]
        patched.setattr(os, "fsync", lambda descriptor: synced.pop(0)(descriptor))
        with pytest.raises(ConfigError, match="cannot be written"):
            pool.make_key()
    assert list(tmp_path.iterdir()) == [], "a part of a key is left"
    pool.make_key()
    assert len(pool.key()) == 32 and pool.key_file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [pool.key_file]
    key = pool.key()
    _write_whole_again(pool, monkeypatch)
    assert pool.key() == key, "another process's key is kept"


def _write_whole_again(pool: PoolFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the key as a process does that saw none before another one made it."""
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path != pool.key_file and exists(path))
    pool.make_key()


def test_scripts_with_equal_runs_share_what_is_made(pair: Pooled) -> None:
    assert all(one.status == 0 for one in pair.make(1))
    pair.script = pair.deployment.script("# another script\n" + SCRIPT)
    for ended in pair.make(1):
        assert "made correlations of 0 runs" in ended.out
        assert "enough for 1 starts, if no other script uses them" in ended.out


def test_files_that_are_put_back_into_a_pool_are_refused(pair: Pooled) -> None:
    pair.make(2)
    backup = pair.folder / "backup"
    shutil.copytree(pair.pools[0], backup)
    assert is_right(pair.use())
    for name in os.listdir(backup):
        (pair.pools[0] / name).write_bytes((backup / name).read_bytes())  # as `cp -a backup/. pool/` does
    refused = pair.start("party", 0).end()
    assert refused.status == 2 and "was copied, restored from a backup" in error_of(refused)
