"""`quorate kept`: what a party's store has of kept values, also where some of it does not open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import quorate as qr
from keeping import Offices, offices
from quorate import cli
from quorate.errors import KeptError


@pytest.fixture
def here(tmp_path: Path) -> Offices:
    made = offices(tmp_path)
    with made.session() as mpc:
        x, y = mpc.input([1, 2, 3], owner=0, dtype=qr.int(32)), mpc.input(1.5, owner=2)
        mpc.keep("model", {"weights": x * y.astype(qr.int(32)), "bias": y}, config=made.configs)
        mpc.keep("table", x, config=made.configs)
        mpc.keep("table", x + 1, config=made.configs)
    return made


def said(here: Offices, capsys: Any, *arguments: str, party: int = 0) -> str:
    assert cli.main(["kept", *arguments, "--config", str(here.configs[party])]) == 0
    return str(capsys.readouterr().out)


def test_values_are_listed_with_what_they_depend_on(here: Offices, capsys: Any) -> None:
    lines = said(here, capsys, "list").splitlines()
    assert [line.partition(": since 20")[0] for line in lines if not line.startswith(" ")] == [
        "model, version 1",
        "table, version 2",
    ]
    assert [line for line in lines if line.startswith(" ")] == [
        "  weights: int(32)[3], depends on party 0, party 2",
        "  bias: fixed(64, 16), depends on party 2",
        "  int(32)[3], depends on party 0",
    ]
    listed = json.loads(said(here, capsys, "list", "--json"))
    assert [(one["name"], one["version"], one["state"]) for one in listed] == [
        ("model", 1, "current"),
        ("table", 2, "current"),
    ]
    assert listed[0]["arrays"][0] == {
        "name": "weights",
        "dtype": "int(32)",
        "shape": [3],
        "depends_on": "party 0, party 2",
    }


def test_one_that_does_not_open_hides_no_other_and_can_be_erased(here: Offices, capsys: Any) -> None:
    (key,) = here.sql(1, "SELECT id FROM kept WHERE name = 'table'")
    (here.folder(1) / "store.db.kept" / f"{key[0].hex()}.key").unlink()
    lines = said(here, capsys, "list", party=1)
    assert "weights: int(32)[3]" in lines and "table, version 2" in lines and "does not open: the key" in lines
    assert "why" in json.loads(said(here, capsys, "list", "--json", party=1))[1]
    with here.session() as mpc, pytest.raises(KeptError, match=r"some are at party 0, 2: .* \(here: the key .*table|k"):
        mpc.kept("table", config=here.configs)
    assert said(here, capsys, "erase", "table", party=1) == ""
    assert "table" not in said(here, capsys, "list", party=1)
    assert not here.sql(1, "SELECT * FROM kept_chunks WHERE id = ?", key[0])
    here.keep("table", [7])
    assert here.kept("table").tolist() == [7]


def test_what_is_erased_at_one_party_is_of_no_use_at_others(here: Offices, capsys: Any) -> None:
    said(here, capsys, "erase", "model", party=2)
    with here.session() as mpc, pytest.raises(KeptError, match="whole; some are at party 0, 1: keep it again"):
        mpc.kept("model", config=here.configs)


def test_what_is_not_there_is_not_erased(here: Offices, capsys: Any) -> None:
    assert cli.main(["kept", "erase", "mode", "--config", str(here.configs[0])]) == 2
    assert "there is no kept value 'mode' here: `quorate kept list` shows what there is" in capsys.readouterr().err
