"""Stores of kept values that cannot be read for a while, or are of another release; and many who read at once."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keeping import Offices, offices
from quorate.campaigns import StoreError
from quorate.campaigns._sealing import KeptKeys
from quorate.errors import ConfigError, KeptError
from quorate.kept import PartyStores, Versions, _form

OLD, NEW = np.arange(20), np.arange(20) * 3 - 7


@pytest.fixture
def here(tmp_path: Path) -> Offices:
    return offices(tmp_path)


@pytest.mark.parametrize("party", [0, 2])
def test_a_store_that_cannot_be_read_now_erases_nothing(
    here: Offices, monkeypatch: pytest.MonkeyPatch, party: int
) -> None:
    """A party has made a version current, others have it as pending; then the first one's disk fails for a while."""
    here.keep("x", OLD)
    here.keep("x", NEW)
    for other in {0, 1, 2} - {party}:
        here.sql(other, "UPDATE kept SET state = 'pending'")
    before = [here.rows(one, "kept") for one in range(3)]
    real = KeptKeys.load

    def failing(self: Any, version: bytes) -> Any:
        if self._folder.parent == here.folder(party):
            raise StoreError("the key cannot be read: Input/output error")
        return real(self, version)

    with here.session() as mpc:
        x = mpc.input([5], owner=0)
        with monkeypatch.context() as patch:
            patch.setattr(KeptKeys, "load", failing)
            for call, given in (("keep", (x,)), ("kept", ()), ("forget", ())):
                with pytest.raises(KeptError, match=f"{call} of 'x' at party {party}: the key cannot be read"):
                    getattr(mpc, call)("x", *given, config=here.configs)
        assert [here.rows(one, "kept") for one in range(3)] == before
        assert np.array_equal(mpc.kept("x", config=here.configs).reveal(), NEW)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), MemoryError(), sqlite3.OperationalError("locked")])
def test_any_failure_of_a_store_is_told(here: Offices, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    here.keep("x", OLD)
    with here.session() as mpc, monkeypatch.context() as patch:
        patch.setattr(Versions, "held", lambda self: [] if self._me else _raise(error))
        with pytest.raises(KeptError, match="kept of 'x' at party 0: the store failed: "):
            mpc.kept("x", config=here.configs)


def _raise(error: Exception) -> Any:
    raise error


def test_a_form_of_a_newer_release_is_named(here: Offices, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_form, "_FORMAT", 2)
        here.keep("x", OLD)
    with here.session() as mpc:
        x = mpc.input([5], owner=0)
        for call, given in (("keep", (x,)), ("kept", ())):
            with pytest.raises(
                KeptError, match="was written by a newer release: install that one, or run `quorate kept erase`"
            ):
                getattr(mpc, call)("x", *given, config=here.configs)


def test_many_read_a_value_at_once(here: Offices) -> None:
    here.keep("x", OLD)
    with here.session() as one, here.session() as other:
        stack = contextlib.ExitStack()
        with stack:
            for party, config in enumerate(here.configs):
                stack.enter_context(Versions(config, party, "x", is_shared=True))
            assert np.array_equal(one.kept("x", config=here.configs).reveal(), OLD)
            with pytest.raises(KeptError, match="works on this kept value"):
                other.keep("x", other.input(NEW, owner=0), config=here.configs)
            with pytest.raises(KeptError, match="works on this kept value"):
                other.forget("x", config=here.configs)
        other.keep("x", other.input(NEW, owner=0), config=here.configs)
    assert np.array_equal(here.kept("x"), NEW)


def test_stores_that_changed_their_parties_are_not_read(here: Offices) -> None:
    """Parties 0 and 2 of three are renumbered; party 2 had no part."""
    here.keep("x", OLD)
    for config in (here.configs[0], here.configs[2]):
        text = config.read_text()
        config.write_text(text.replace("me = 0", "me = #").replace("me = 2", "me = 0").replace("me = #", "me = 2"))
    exchanged = [here.configs[2], here.configs[1], here.configs[0]]
    with here.session() as mpc:
        with pytest.raises(KeptError, match=r"some are at party 1: keep it again \(here: .* or is another party's"):
            mpc.kept("x", config=exchanged)
        with pytest.warns(
            RuntimeWarning, match="keep of 'x': a version that not all parties have is erased at party 1"
        ):
            mpc.keep("x", mpc.input(NEW, owner=0), config=exchanged)
    with here.session() as mpc:
        assert np.array_equal(mpc.kept("x", config=exchanged).reveal(), NEW)


def test_another_process_has_the_lock(here: Offices) -> None:
    here.keep("x", OLD)
    code = "import sys; from quorate.kept import Versions; held = Versions(sys.argv[1], 1, 'x'); print(1, flush=True)"
    code += "; input()"
    command = [sys.executable, "-c", code, str(here.configs[1])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "1\n"
        said = (
            f"at party 1: process {other.pid} works on this kept value in the store .*: wait for it, or stop it first"
        )
        with here.session() as mpc:
            for call, given in (("keep", (mpc.input(NEW, owner=0),)), ("kept", ()), ("forget", ())):
                with pytest.raises(KeptError, match=f"{call} of 'x' {said}"):
                    getattr(mpc, call)("x", *given, config=here.configs)
        other.communicate("\n")
    assert np.array_equal(here.kept("x"), OLD)


def test_versions_of_any_number_are_agreed_on(here: Offices, monkeypatch: pytest.MonkeyPatch) -> None:
    agree = PartyStores.agree
    for number in ((1 << 32) - 1, 1 << 32, (1 << 62) + 5):
        with here.session() as mpc, monkeypatch.context() as patch:
            patch.setattr(PartyStores, "agree", lambda self, n=number: dataclasses.replace(agree(self), number=n))
            mpc.keep("x", mpc.input([number % 1000], owner=0), config=here.configs)
        assert {row[2] for party in range(3) for row in here.rows(party, "kept")} == {number + 1}
        assert here.kept("x").tolist() == [number % 1000]


def test_a_pending_version_that_all_have_is_read_and_then_replaced(here: Offices) -> None:
    here.keep("x", OLD)
    for party in range(3):
        here.sql(party, "UPDATE kept SET state = 'pending'")
    assert np.array_equal(here.kept("x"), OLD)
    assert here.rows(0, "kept")[0][3] == "pending", "reading changes nothing"
    here.keep("x", NEW)
    here.assert_one("x")
    assert np.array_equal(here.kept("x"), NEW)


def test_a_reader_of_the_file_delays_no_call(here: Offices) -> None:
    """A backup that reads for long keeps the log from being emptied."""
    here.keep("x", OLD)
    with contextlib.closing(sqlite3.connect(here.folder(0) / "store.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM kept").fetchone()
        begun = time.monotonic()
        here.keep("x", NEW)
        assert time.monotonic() - begun < 8, "the busy time of the store"
    assert np.array_equal(here.kept("x"), NEW)


def test_a_strict_session_may_keep_what_it_could_not_read(here: Offices) -> None:
    with here.session() as mpc:
        mpc.keep("x", mpc.input([1, 2**40], owner=0), config=here.configs)
    with here.session(strict=True) as mpc:
        with pytest.raises(ConfigError, match="keep it again, clipped or from inputs with bounds"):
            mpc.kept("x", config=here.configs)
        mpc.keep("x", mpc.input([3], owner=0, bound=9), config=here.configs)
        assert mpc.kept("x", config=here.configs).reveal().tolist() == [3]
