"""Kept values at their stores: processes that end at any write, disks that fail, files that were altered, locks."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploying import Deployment, error_of
from fuse import Killed
from keeping import Offices, in_memory, offices
from quorate._session import _keeping
from quorate.campaigns import StoreError, _store
from quorate.errors import KeptError
from quorate.kept import Version, Versions, _versions

OLD, NEW = np.arange(20), np.arange(20) * 3 - 7


@pytest.fixture
def folder() -> Iterator[Path]:
    with in_memory() as made:
        yield made


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Offices:
    """Two parties, whose values are stored in several chunks."""
    monkeypatch.setattr(_versions, "_CHUNK", 64)
    monkeypatch.setattr(_versions, "_CHUNKS", 2)
    return offices(folder, "aby", 2)


class Fuse:
    """Ends the process at the n-th commit or sync: it does not happen, or it does and nothing after it."""

    def __init__(self) -> None:
        self.left, self.seen = 10**9, 0

    def burn(self) -> None:
        self.seen += 1
        self.left -= 1
        if self.left < 0:
            raise Killed

    @contextlib.contextmanager
    def lit(self, left: int) -> Iterator[None]:
        self.left, self.seen, sync, fuse = left, 0, os.fsync, self

        class Fused(sqlite3.Connection):
            def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    fuse.burn()
                done = super().execute(sql, *parameters)
                if sql == "COMMIT":
                    fuse.burn()
                return done

        def synced(file: int) -> None:
            self.burn()
            sync(file)

        def connect(path: Path) -> sqlite3.Connection:
            return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Fused)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", synced)
            patch.setattr(_store, "_connect", connect)
            patch.setattr(threading, "excepthook", lambda _: None)  # the writer's thread ends as the process does
            yield


def in_order(order: int) -> Callable[..., Any]:
    """Returns `party_files` with the parties in an order, in which they write."""
    real = _keeping.party_files
    return lambda *arguments: dict(list(real(*arguments).items())[::order])


@pytest.mark.filterwarnings("ignore:keep of 'x'. an older version is still at party:RuntimeWarning")
@pytest.mark.parametrize("order", [1, -1])
def test_a_kill_at_any_write_leaves_the_old_value_or_the_new_one(
    here: Offices, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    here.keep("x", OLD)
    fuse, seen, before, at = Fuse(), [], OLD, 0
    monkeypatch.setattr(_keeping, "party_files", in_order(order))
    while True:
        new = before + 1 + at
        with fuse.lit(at), contextlib.suppress(Killed, KeptError, StoreError):
            here.keep("x", new)
        if fuse.left >= 0:
            break
        found = here.kept("x")
        assert np.array_equal(found, before) or np.array_equal(found, new), (at, found)
        here.settle("x")
        here.assert_one("x")
        seen.append(np.array_equal(found, new))
        before, at = found, at + (1 if order == 1 else 3)
    assert fuse.seen > 40 and 0 < seen.index(True) < len(seen) - 3
    assert all(seen[seen.index(True) :]), "a value that counted counts no more"
    assert np.array_equal(here.kept("x"), new)


def test_a_kill_while_a_value_is_forgotten(here: Offices) -> None:
    fuse, at = Fuse(), 0
    while True:
        here.keep("x", OLD)
        with fuse.lit(at), contextlib.suppress(Killed, KeptError, StoreError), here.session() as mpc:
            mpc.forget("x", config=here.configs)
        if fuse.left >= 0:
            break
        with here.session() as mpc:
            try:
                assert np.array_equal(mpc.kept("x", config=here.configs).reveal(), OLD)
            except KeptError as error:
                assert re.search("no party has|there is no version", str(error))
        with here.session() as mpc:
            mpc.forget("x", config=here.configs)
        here.assert_one("x", 0)
        at += 2
    assert at > 15


def failing(monkeypatch: pytest.MonkeyPatch, party: int, at: int) -> list[int]:
    """Lets the store of a party fail from the n-th write on. Returns a list that gets an item with each write."""
    write, seen = Versions._write, list[int]()

    def failed(self: Versions, statement: str, *values: Any) -> None:
        if self._me == party:
            seen.append(1)
            if len(seen) > at:
                raise StoreError("the disk is full")
        write(self, statement, *values)

    monkeypatch.setattr(Versions, "_write", failed)
    return seen


@pytest.mark.parametrize("party", [0, 1, 2])
def test_a_store_that_fails_at_one_party(folder: Path, party: int) -> None:
    here = offices(folder)
    here.keep("x", OLD)
    outcomes, before = list[str](), OLD
    for at in range(20):
        with pytest.MonkeyPatch.context() as patch, here.session() as mpc:
            seen = failing(patch, party, at)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    mpc.keep("x", mpc.input(NEW + at, owner=0), config=here.configs)
                outcomes.append("kept")
            except KeptError as error:
                assert f"keep of 'x' at party {party}: the disk is full" in str(error)
                outcomes.append("old")
            except RuntimeWarning as warning:
                assert f"keep of 'x': an older version is still at party {party}: the disk is full" in str(warning)
                outcomes.append("new")
            others = [other for other in range(3) if other != party]
            assert [len(here.rows(other, "kept")) for other in others] == [1, 1], "others wait for the failed one"
            patch.undo()
            # All heard of it, so the session goes on.
            found = mpc.kept("x", config=here.configs).reveal()
            assert np.array_equal(found, before if outcomes[-1] == "old" else NEW + at)
        now = here.kept("x")
        assert np.array_equal(now, before if outcomes[-1] == "old" else NEW + at)
        before = now
        here.settle("x")
        here.assert_one("x")
        if outcomes[-1] == "kept":
            break
    assert len(seen) == at and outcomes == sorted(outcomes, key=["old", "new", "kept"].index)
    assert set(outcomes) == {"old", "new", "kept"}


# ---- stores that were altered ------------------------------------------------------------------------------------


def sql(statement: str, *more: str) -> Callable[[Offices, int], None]:
    def alter(here: Offices, party: int) -> None:
        for one in (statement, *more):
            here.sql(party, one)

    return alter


def in_key_file(change: Callable[[Path], object]) -> Callable[[Offices, int], None]:
    def alter(here: Offices, party: int) -> None:
        id_, *_ = next(row for row in here.rows(party, "kept") if row[1] == "x")
        change(here.folder(party) / "store.db.kept" / f"{id_.hex()}.key")

    return alter


def other_key(file: Path) -> None:
    [other] = [one for one in file.parent.iterdir() if one != file]
    file.write_bytes(other.read_bytes())


OF_X = "id = (SELECT id FROM kept WHERE name = 'x')"

ALTERED: dict[str, Callable[[Offices, int], None]] = {
    "a bit of a chunk": sql(f"UPDATE kept_chunks SET sealed = CAST(sealed || x'00' AS BLOB) WHERE {OF_X} AND at = 1"),
    "a chunk cut": sql(f"UPDATE kept_chunks SET sealed = substr(sealed, 1, 20) WHERE {OF_X} AND at = 1"),
    "an empty chunk": sql(f"UPDATE kept_chunks SET sealed = x'' WHERE {OF_X} AND at = 2"),
    "chunks exchanged": sql(
        f"UPDATE kept_chunks SET at = 9 WHERE {OF_X} AND at = 0",
        f"UPDATE kept_chunks SET at = 0 WHERE {OF_X} AND at = 1",
        f"UPDATE kept_chunks SET at = 1 WHERE {OF_X} AND at = 9",
    ),
    "a chunk of another value": sql(
        "UPDATE kept_chunks SET sealed = (SELECT sealed FROM kept_chunks AS o, kept WHERE o.id = kept.id AND "
        f"kept.name = 'y' AND o.at = 0) WHERE {OF_X} AND at = 0"
    ),
    "a chunk gone": sql(f"DELETE FROM kept_chunks WHERE {OF_X} AND at = 2"),
    "fewer chunks": sql(
        f"DELETE FROM kept_chunks WHERE {OF_X} AND at = 2", "UPDATE kept SET chunks = 2 WHERE name = 'x'"
    ),
    "no chunks": sql(f"DELETE FROM kept_chunks WHERE {OF_X}", "UPDATE kept SET chunks = 0 WHERE name = 'x'"),
    "the form": sql("UPDATE kept SET form = (SELECT form FROM kept WHERE name = 'y') WHERE name = 'x'"),
    "the number": sql("UPDATE kept SET version = 7 WHERE name = 'x'"),
    "another value's row": sql(
        *(f"UPDATE kept SET name = '{to}' WHERE name = '{name}'" for name, to in (("x", "z"), ("y", "x"), ("z", "y")))
    ),
    "the row gone": sql(f"DELETE FROM kept_chunks WHERE {OF_X}", "DELETE FROM kept WHERE name = 'x'"),
    "the key gone": in_key_file(Path.unlink),
    "an empty key": in_key_file(lambda file: file.write_bytes(b"")),
    "another version's key": in_key_file(other_key),
}


@pytest.fixture
def two(here: Offices) -> Offices:
    """Two kept values."""
    with here.session() as mpc:
        for name, values in {"x": OLD, "y": NEW}.items():
            mpc.keep(name, mpc.input(values, owner=0), config=here.configs)
    return here


def state(here: Offices, party: int) -> Any:
    return here.rows(party, "kept"), here.rows(party, "kept_chunks"), here.keys(party)


@contextlib.contextmanager
def altered(here: Offices, party: int, alter: Callable[[Offices, int], None]) -> Iterator[None]:
    """Alters a party's store, and checks afterwards that nothing was deleted anywhere."""
    own = here.folder(party)
    shutil.copytree(own, own.with_name("copy"))
    alter(here, party)
    before = [state(here, one) for one in range(here.parties)]
    yield
    assert [state(here, one) for one in range(here.parties)] == before
    shutil.rmtree(own)
    own.with_name("copy").rename(own)


@pytest.mark.parametrize("what", ALTERED)
def test_what_does_not_open_is_not_stated(two: Offices, what: str) -> None:
    party = len(what) % 2
    said = f"there is no version of 'x' that all parties have whole; some are at party {1 - party}: keep it again, or"
    with altered(two, party, ALTERED[what]), two.session() as mpc:
        with pytest.raises(KeptError, match=said):
            mpc.kept("x", config=two.configs)
        with pytest.raises(KeptError, match=said):  # all have heard, so it may be asked again
            mpc.kept("x", config=two.configs)
    assert np.array_equal(two.kept("x"), OLD) and np.array_equal(two.kept("y"), NEW)
    ALTERED[what](two, party)
    two.keep("x", NEW)
    assert np.array_equal(two.kept("x"), NEW), "the advice does not help"


def test_a_store_that_was_rolled_back_and_one_that_is_gone(two: Offices) -> None:
    shutil.copytree(two.folder(0), two.folder(0).with_name("earlier"))
    two.keep("x", NEW)

    def roll_back(here: Offices, party: int) -> None:
        shutil.rmtree(here.folder(party))
        shutil.copytree(here.folder(party).with_name("earlier"), here.folder(party))

    what = "no version of 'x' that all parties have whole; some are at party 0, 1: keep it again, or"
    with altered(two, 0, roll_back), two.session() as mpc, pytest.raises(KeptError, match=what):
        mpc.kept("x", config=two.configs)
    assert np.array_equal(two.kept("x"), NEW)

    def begin_anew(here: Offices, party: int) -> None:
        for file in here.folder(party).glob("store.db*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        with Versions(here.configs[party], party, "x"):
            pass

    what = "no version of 'x' that all parties have whole; some are at party 0: keep it again, or"
    with altered(two, 1, begin_anew), two.session() as mpc, pytest.raises(KeptError, match=what):
        mpc.kept("x", config=two.configs)
    assert np.array_equal(two.kept("x"), NEW) and np.array_equal(two.kept("y"), NEW)


def test_stores_of_other_keys_and_files_of_other_parties(two: Offices) -> None:
    def wrong(match: str) -> None:
        with two.session() as mpc:
            for call in ("kept", "forget", "keep"):
                given = (mpc.input([1], owner=0),) if call == "keep" else ()
                with pytest.raises(KeptError, match=rf"{call} of 'x' at party 1: .*{match}"):
                    getattr(mpc, call)("x", *given, config=two.configs)

    key = two.folder(1) / "store.key"
    own, serve = key.read_bytes(), two.folder(1) / "serve.toml"
    key.write_bytes(bytes(32))
    wrong("was made with another key")
    key.unlink()
    wrong("store.key.* cannot be read")
    key.write_bytes(own)
    key.chmod(0o600)
    text = serve.read_text()
    serve.write_text("store = 3")
    wrong("serve.toml")
    serve.unlink()
    wrong("serve.toml")
    serve.write_text(text)
    (two.folder(1) / "store.db").rename(two.folder(1) / "other.db")
    (two.folder(1) / "store.db").mkdir()
    wrong("store.db")
    (two.folder(1) / "store.db").rmdir()
    (two.folder(1) / "other.db").rename(two.folder(1) / "store.db")
    two.configs.reverse()
    with (
        two.session() as mpc,
        pytest.raises(KeptError, match="is that of party 1, and this is party 0: name its own file"),
    ):
        mpc.kept("x", config=two.configs)
    two.configs.reverse()
    assert np.array_equal(two.kept("x"), OLD)


@pytest.mark.parametrize("elements", [0, 7, 8, 9, 32, 33])
def test_values_of_any_number_of_chunks(here: Offices, elements: int) -> None:
    here.keep("x", np.arange(elements))
    assert here.kept("x").tolist() == list(range(elements))
    assert len(here.rows(1, "kept_chunks")) == -(-elements // 8)


def test_a_party_without_parts_states_versions_too(folder: Path) -> None:
    here = offices(folder)
    here.keep("x", OLD)
    assert here.rows(2, "kept_chunks") == [] != here.rows(1, "kept_chunks")
    here.sql(2, "UPDATE kept SET chunks = 1")
    with here.session() as mpc, pytest.raises(KeptError, match="some are at party 0, 1: keep it again"):
        mpc.kept("x", config=here.configs)


# ---- calls that stop, and calls at once ----------------------------------------------------------------------------


STOPS = [("__init__", 1), ("held", 0), ("add", 1), ("make_current", 0), ("make_current", 1)]


@pytest.mark.parametrize(("method", "party"), STOPS)
def test_an_interrupted_keep_is_settled_by_another_session(here: Offices, method: str, party: int) -> None:
    here.keep("x", OLD)
    real = getattr(Versions, method)

    def interrupted(self: Versions, *arguments: Any, **options: Any) -> Any:
        if (arguments[1] if method == "__init__" else self._me) == party and (
            method != "make_current" or any(row[3] == "pending" for row in here.rows(party, "kept"))
        ):
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    over = "the last call for kept value 'x' has stopped in this session, so parties may be at .*: open another session"
    with here.session() as mpc:
        x = mpc.input(NEW, owner=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Versions, method, interrupted)
            with pytest.raises(KeyboardInterrupt) as raised:
                mpc.keep("x", x, config=here.configs)
        with pytest.raises(KeptError, match=rf"{over} \(at test_kept_crashes"):
            mpc.keep("x", x, config=here.configs)
        for call in (mpc.kept, mpc.forget):
            with pytest.raises(KeptError, match=rf"{over} \(at test_kept_crashes"):
                call("x", config=here.configs)
        mpc.keep("y", x, config=here.configs)
        found = here.kept("x")  # while the first session is open, and its error is looked at
        assert raised.value is not None
        assert np.array_equal(found, NEW if method == "make_current" else OLD)
        here.settle("x")
        assert [row[3] for row in here.rows(0, "kept")] == ["current"] * 2


def test_a_name_that_another_process_works_on(here: Offices) -> None:
    here.keep("x", OLD)
    said = "of 'x' at party 1: this process works on this kept value in the store .* already: wait until it has ended"
    with here.session() as mpc:
        x = mpc.input(NEW, owner=0)
        with Versions(here.configs[1], 1, "x"):
            before = [state(here, one) for one in range(2)]
            for call, given in (("keep", (x,)), ("kept", ()), ("forget", ())):
                with pytest.raises(KeptError, match=f"{call} {said}"):
                    getattr(mpc, call)("x", *given, config=here.configs)
            assert [state(here, one) for one in range(2)] == before
            mpc.keep("y", x, config=here.configs)
        assert np.array_equal(mpc.kept("x", config=here.configs).reveal(), OLD), "waiting does not help"
        mpc.keep("x", x, config=here.configs)
    assert np.array_equal(here.kept("x"), NEW)


def test_sessions_at_once(here: Offices) -> None:
    here.keep("x", OLD)
    kept, refused, wrong = list[int](), list[str](), list[BaseException]()

    def work(number: int) -> None:
        try:
            with here.session() as mpc:
                mpc.keep(f"own{number}", mpc.input([number], owner=0), config=here.configs)
                for i in range(6):
                    value = 100 * number + i
                    try:
                        mpc.keep("x", mpc.input([value], owner=0), config=here.configs)
                        kept.append(value)
                        mpc.kept("x", config=here.configs)
                    except KeptError as error:
                        refused.append(str(error))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and kept, (wrong, kept)
    assert all("works on this kept value" in error for error in refused)
    [last] = here.kept("x").tolist()
    assert last in {max(value for value in kept if value // 100 == number) for number in {v // 100 for v in kept}}
    assert [here.kept(f"own{number}").tolist() for number in (1, 2)] == [[1], [2]]
    assert all(sorted(row[1] for row in here.rows(party, "kept")) == ["own1", "own2", "x"] for party in range(2))


def test_forgotten_values_are_gone(two: Offices) -> None:
    kept = two.rows(0, "kept_chunks")
    files = [two.folder(0) / "store.db.kept" / key for key in two.keys(0)]
    assert len(files) == 2 and kept
    with two.session() as mpc:
        x = mpc.kept("x", config=two.configs)
        mpc.forget("x", config=two.configs)
        assert np.array_equal(x.reveal(), OLD), "an array of the session is gone"
        with pytest.raises(KeptError, match="no party has a value 'x': keep it first"):
            mpc.kept("x", config=two.configs)
        mpc.forget("x", config=two.configs)
        mpc.forget("never.kept", config=two.configs)
    two.assert_one("y")
    assert np.array_equal(two.kept("y"), NEW)
    with two.session() as mpc, pytest.raises(KeptError, match="no party has a value 'x'"):
        mpc.kept("x", config=two.configs)


def test_keys_are_overwritten_before_they_are_removed(two: Offices, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, unlink = dict[str, bytes](), Path.unlink

    def removed(self: Path, missing_ok: bool = False) -> None:
        if self.suffix == ".key":
            seen[str(self)] = self.read_bytes()
        unlink(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", removed)
    two.keep("x", NEW)
    with two.session() as mpc:
        mpc.forget("y", config=two.configs)
    assert len(seen) == 4 and all(set(data) == {0} for data in seen.values())


def test_a_version_that_is_not_there_is_refused(two: Offices) -> None:
    with Versions(two.configs[0], 0, "x") as versions:
        [version] = versions.held()
        with pytest.raises(StoreError, match="is not in the store any more"):
            versions.form(Version(2, bytes(16)))
        with pytest.raises(StoreError, match="is not in the store any more"):
            versions.make_current(Version(2, bytes(16)))
        assert versions.held() == [version]


# ---- deployments of processes --------------------------------------------------------------------------------------


class Processes:
    """A deployment whose parties have stores."""

    def __init__(self, folder: Path) -> None:
        self.deployment, self.configs = Deployment(folder), list[Path]()
        for party in range(3):
            own = folder / f"office{party}"
            own.mkdir()
            (own / "store.key").write_bytes(os.urandom(32))
            (own / "store.key").chmod(0o600)
            (own / "serve.toml").write_text('store = "store.db"\nstore_key = "store.key"\n')
            config = own / "party.toml"
            config.write_text(self.deployment.config(party).read_text().replace('"party', '"../party'))
            self.configs.append(config)

    def start(self, body: str) -> list[Any]:
        script = self.deployment.script(body)
        return [self.deployment.start(i, script, config=config) for i, config in enumerate(self.configs)]

    def run(self, body: str) -> list[Any]:
        return [party.end() for party in self.start(body)]


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    made = Processes(folder)
    try:
        yield made
    finally:
        made.deployment.stop()


LOOP = """
for i in range({first}, {first} + 200):
    mpc.keep("x", mpc.input(lambda: [i] * 3, owner=0, shape=3, dtype=qr.int(64)))
    print("kept", i, flush=True)
"""


def test_processes_that_are_killed_at_random_moments(processes: Processes) -> None:
    rng, first = random.Random(), 0
    for _ in range(3):
        parties = processes.start(LOOP.format(first=first))
        parties[0].wait_for(f"kept {first}\n")
        time.sleep(rng.uniform(0, 0.3))
        for party in rng.sample(parties, 3):
            party.kill()
            time.sleep(rng.choice([0, 0.01, 0.05]))
        said = [line.split() for party in parties for line in party.end().out.splitlines()]
        last = max(int(words[1]) for words in said if len(words) == 2)
        ended = processes.run('print(mpc.kept("x").reveal())')
        assert [e.status for e in ended] == [0, 0, 0], ended
        values = {tuple(map(int, re.findall(r"\d+", e.out))) for e in ended}
        assert values <= {(last,) * 3, (last + 1,) * 3} and len(values) == 1, (values, last)
        all_of_them = Offices(processes.configs, "rss", 3, {})
        all_of_them.settle("x")
        all_of_them.assert_one("x")
        first = last + 2


def test_a_party_without_a_store_is_named_at_all(processes: Processes) -> None:
    serve = processes.configs[1].with_name("serve.toml")
    serve.rename(serve.with_name("gone"))
    body = """
for call in (lambda: mpc.keep("x", mpc.input(lambda: [5], owner=0, shape=1, dtype=qr.int(64))),
             lambda: mpc.kept("x"), lambda: mpc.forget("x")):
    try:
        call()
        print("done")
    except qr.errors.KeptError as error:
        print(error)
"""
    ended = processes.run(body)
    assert [e.status for e in ended] == [0, 0, 0], ended
    for party, end in enumerate(ended):
        lines = end.out.splitlines()
        assert len(lines) == 3
        for call, line in zip(("keep", "kept", "forget"), lines, strict=True):
            where = r"at party 1: .*serve\.toml" if party == 1 else ".*not at party 1, whose own error says why"
            assert re.match(rf"{call} of 'x'(: | ){where}", line), (party, line)
    serve.with_name("gone").rename(serve)
    keep = 'mpc.keep("x", mpc.input(lambda: [5], owner=0, shape=1, dtype=qr.int(64)))'
    ended = processes.run(f'{keep}\nprint(mpc.kept("x").reveal())')
    assert [(e.status, e.out) for e in ended] == [(0, "[5]\n")] * 3, ended
    ended = processes.run('print(mpc.kept("none").reveal())')
    assert all("KeptError: kept: no party has a value 'none': keep it first" in error_of(e) for e in ended), ended
