"""Stores of kept values that cannot be read for a while, or are of another release; and many who read at once."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keeping import Offices, offices
from quorate.campaigns import StoreError
from quorate.campaigns._sealing import KeptKeys
from quorate.errors import KeptError
from quorate.kept import Versions, _form

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
        patch.setattr(Versions, "held", lambda self: [][1:] if self._me else _raise(error))
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
            with pytest.raises(KeptError, match="was written by a newer release: install that one, or"):
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
