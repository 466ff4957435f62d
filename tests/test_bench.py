"""`quorate bench`: names, table, JSON, picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from quorate import cli
from quorate._bench import _applications, _measurements, _scaling, _services
from quorate._bench._measurements import Asked
from quorate._families import FAMILIES
from quorate.errors import ConfigError

KEYS = {
    "workload", "protocol", "k", "parties", "batch", "link", "threads_per_party", "input_timed", "reveal_timed",
    "skipped", "runs", "seconds", "offline", "online", "bytes_per_party", "rounds", "results_per_second", "chain",
    "peers", "target", "target_reached", "processor_seconds",
}  # fmt: skip


def skipped_row() -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(KEYS)
    row |= {"workload": "edabit", "k": 64, "parties": 7, "batch": 1_000_000, "link": "memory", "peers": []}
    return row | {"skipped": "skipped: predicted to hold 5.0 GiB"}


def measured_row() -> dict[str, Any]:
    phase = {
        "seconds": {"median": 0.02, "min": 0.019}, "rounds": 8, "bytes_per_party": 5e6, "wire_bytes_per_party": 6e6,
    }  # fmt: skip
    peers = [{"name": "Peer", "seconds": 0.069, "bytes_per_party": 3.9e6, "note": "with care"}]
    peers += [{"name": "Other", "seconds": None, "bytes_per_party": None, "note": "cannot"}]
    row = skipped_row() | {"skipped": None, "runs": 5, "seconds": {"median": 0.02, "min": 0.019}, "offline": phase}
    return row | {"bytes_per_party": 5e6, "rounds": 8, "results_per_second": 5e7, "peers": peers}


def test_lines_of_the_table() -> None:
    assert _measurements.line(skipped_row()).endswith("skipped: predicted to hold 5.0 GiB")
    text = _measurements.line(measured_row())
    assert "1,000,000" in text and "20 ms" in text
    assert text.endswith("Peer 69 ms 3.9 MB (with care); Other (cannot)")


def test_a_row_says_whether_its_target_was_reached() -> None:
    row = measured_row() | {"target": "25 ms, 2.6 MB", "target_reached": False}
    assert "target 25 ms, 2.6 MB: missed;" in _measurements.line(row)
    assert "target 25 ms, 2.6 MB: reached;" in _measurements.line(row | {"target_reached": True})


def test_names_places_and_protocols_are_checked_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\"nope\".*less-than-full"):
        _measurements.run(["nope"], Asked("rss"), None, None)
    with pytest.raises(ConfigError, match="bgw"):
        _measurements.run([], Asked("bgw"), None, None)
    with pytest.raises(ConfigError, match=r'no benchmarks for protocol "bgw"; there are some for rss, aby, .*ot$'):
        _measurements.run(["mul"], Asked("bgw"), None, None)
    with pytest.raises(ConfigError, match="another protocol than aby"):
        _measurements.run(["edabit"], Asked("aby"), None, None)
    with pytest.raises(ConfigError, match="another protocol than ot"):
        _measurements.run(["mul"], Asked("ot"), None, None)
    with pytest.raises(ConfigError, match="does not exist"):
        _measurements.run([], Asked("rss"), tmp_path / "no" / "rows.json", None)


def test_a_run_prints_and_writes_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _measurements.run(["chain"], Asked("rss"), tmp_path / "rows.json", None) == 0
    written = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert written["format"] == 1 and written["machine"]["cores"] > 0
    assert [(row["parties"], row["link"]) for row in written["rows"]] == [
        (n, link) for n in (3, 5, 7) for link in ("memory", "loopback TLS")
    ]
    for row in written["rows"]:
        assert set(row) == KEYS
        assert row["online"]["rounds"] == row["chain"]["length"] > 0 and row["offline"] is None
        assert row["seconds"]["min"] > 0 and row["input_timed"] is row["reveal_timed"] is False
    printed = capsys.readouterr().out
    assert printed.count("a round, beside a bare round trip") == 6 and "inputs are shared before" in printed


def test_applications_are_rows_of_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_applications, "MOST", 3.0)
    assert _measurements.run(["nearest", "powmod"], Asked("rss"), tmp_path / "rows.json", None) == 0
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert [(row["workload"], row["link"]) for row in rows] == [
        (name, link) for name in ("nearest", "powmod") for link in _applications.LINKS
    ]
    assert all(set(row) == KEYS for row in rows)
    assert rows[0]["seconds"]["min"] > 0 and rows[0]["input_timed"] and rows[0]["bytes_per_party"] > 1000
    assert rows[0]["rounds"] == rows[0]["offline"]["rounds"] + rows[0]["online"]["rounds"]
    assert rows[-1]["skipped"].startswith("skipped: predicted to take") and rows[-1]["seconds"] is None
    with pytest.raises(ConfigError, match="protocol"):
        _measurements.run(["psi"], Asked("bgw"), None, None)


def test_options_parties_and_links_are_those_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("spdz2k", (2, 4), ("memory", "lan"), {"mac": 48, "bits": "paper"})
    assert _measurements.run(["chain"], asked, tmp_path / "rows.json", None) == 0
    written = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert written["options"] == {"mac": "48", "bits": "paper"}
    assert [(row["parties"], row["link"]) for row in written["rows"]] == [
        (n, link) for n in (2, 4) for link in ("memory", "LAN")
    ]
    # A chain is over Z_2^64.
    assert all("mac=64" in row["skipped"] and set(row) == KEYS for row in written["rows"])
    assert "mac=48" in capsys.readouterr().out
    for wrong, message in (
        (Asked("spdz2k", options={"mac": 32}), "allow_weak"),
        (Asked("rss", options={"mac": "48"}), "rss has no option mac=48"),
        (Asked("spdz2k", options={"mac": "40"}), "mac must be"),
        (Asked("spdz2k", parties=(1,)), "2 or more"),
        (Asked("spdz2k", links=("radio",)), "radio.*memory, tls, lan, wan, or RTT_MS/MBIT"),
    ):
        with pytest.raises(ConfigError, match=message):
            _measurements.run(["chain"], wrong, None, None)
    with pytest.raises(ConfigError, match="no links 'tls'"):
        _measurements.run(["svm"], Asked("spdz2k", links=("tls",)), None, None)


def test_links_that_applications_do_not_have_are_refused_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ConfigError, match="no links 'tls': memory, lan, wan"):
        _measurements.run(["chain", "svm"], Asked("spdz2k", links=("memory", "tls")), None, None)
    with pytest.raises(ConfigError, match='no applications for protocol "ot"'):
        _measurements.run(["ot-bit-triples", "svm"], Asked("ot"), None, None)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["mul", "--links", "memory,tls", "--parties", "3", "--rings", "64", "--batches", "10"],
        ["ot-bit-triples", "--protocol", "ot", "--links", "memory", "--batches", "1000"],
        ["mul", "--protocol", "pika", "--malicious", "yes", "--links", "memory", "--rings", "64", "--batches", "10"],
        ["mul", "--protocol", "pika", "--malicious=yes", "--links", "memory", "--rings", "64", "--batches", "10"],
        ["mul", "--protocol", "pika", "--malicious", "no", "--links", "memory", "--rings", "64", "--batches", "10"],
        ["--malicious", "--protocol", "pika", "mul", "--links", "memory", "--rings", "64", "--batches", "10"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_what_the_help_offers_is_measured(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *arguments, "--json", str(tmp_path / "rows.json")]) == 0
    document = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    rows = document["rows"]
    assert len(rows) == (2 if "memory,tls" in arguments else 1)
    assert all(row["skipped"] is None and row["batch"] in (10, 1000) for row in rows)
    is_malicious = any(argument.startswith("--malicious") for argument in arguments) and "no" not in arguments
    assert document["options"] == ({"malicious": "yes"} if is_malicious else {})
    assert "malicious=yes" in capsys.readouterr().out or not is_malicious


def test_rings_and_batches_are_narrowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("rss", (3,), ("memory",), rings=(64,), batches=(7, 3))
    assert _measurements.run(["mul"], asked, tmp_path / "rows.json", None) == 0
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert [(row["k"], row["batch"]) for row in rows] == [(64, 3), (64, 7)]
    with pytest.raises(ConfigError, match="there is k = 32, 64"):
        _measurements.run(["mul"], Asked("rss", (3,), rings=(48,)), None, None)
    with pytest.raises(SystemExit):
        cli.main(["bench", "mul", "--batches", "0"])
    assert "numbers from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize(("protocol", "parties"), [("rss", 3), ("aby", 2), ("pika", 3)])
def test_sigmoids_go_the_way_of_sessions(protocol: str, parties: int) -> None:
    """Rounds are those of `qr.sigmoid` for numbers of the range, minus sharing and opening."""
    asked = Asked(protocol, (parties,), ("memory",), rings=(64,), batches=(5,))
    [row] = _measurements.measurements(["sigmoid"], asked, [])
    with qr.local(protocol) as mpc:
        factors = [mpc.input(np.ones(5), owner=i, dtype=qr.fixed(64, 12), bound=2.8) for i in (0, 1)]
        x = factors[0] * factors[1]  # inputs of no owner, below 8
        mpc.reveal_all(x)
        plan = mpc.explain(qr.sigmoid(x))
        opened = mpc.explain(x)
    assert row["online"]["rounds"] == plan.online.rounds - opened.online.rounds


@pytest.mark.parametrize("name", ["tree", "svm"])
def test_models_are_measured_among_any_number(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"tree": lambda: [_applications._tree(3, 4, 2)], "svm": lambda: [_applications._svm(3, 20, 2)]}
    monkeypatch.setattr(_applications, "_MADE", small)
    arguments = ["bench", name, "--protocol", "spdz2k", "--parties", "2,3", "--links", "memory,lan"]
    assert cli.main([*arguments, "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert [(row["parties"], row["link"]) for row in rows] == [
        (n, link) for n in (2, 3) for link in ("memory", "1 Gbit/s, 1 ms")
    ]
    assert all(row["batch"] == 2 and row["online"]["bytes_per_party"] > 100 for row in rows)
    assert all("MP-SPDZ" in [peer["name"] for peer in row["peers"]] for row in rows)
    assert cli.main([*arguments, "--mac", "48"]) == 0
    assert "at most 32 bits" in capsys.readouterr().out


def test_images_are_measured_by_batches() -> None:
    rows = list(_applications.rows(["mnist"], Asked("rss", links=("memory",))))
    assert [row["batch"] for row in rows] == [1, 10, 50]
    assert all(row["skipped"] is None and row["k"] == 40 for row in rows)
    assert rows[1]["bytes_per_party"] < 3_500_000


def test_a_quantised_network_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_applications, "_MADE", {"mobilenet": lambda: [_applications._mobilenet(0.25, 32, [])]})
    [row] = _applications.rows(["mobilenet"], Asked("rss", links=("memory",)))
    assert (row["skipped"], row["batch"]) == (None, 1)
    assert 30 < row["k"] < 50
    assert row["rounds"] > 500


def test_a_training_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_applications, "_MADE", {"train": lambda: [_applications._train(16, 3, 8)]})
    [row] = _applications.rows(["train"], Asked("rss", links=("memory",)))
    assert row["skipped"] is None
    assert row["batch"] == 16
    assert row["online"]["rounds"] > 100


def test_a_picture_of_every_workload(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _measurements._draw([measured_row(), measured_row() | {"workload": "mul", "parties": 3}], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_scaling_is_a_table_a_document_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_scaling, "BATCHES", (1, 50))
    monkeypatch.setattr(_scaling, "PARTIES", (3, 5, 7))
    monkeypatch.setattr(_scaling, "RUNS", 1)
    json_path, plot_path = tmp_path / "scaling.json", tmp_path / "scaling.png"
    assert _measurements.run(["scaling"], Asked("rss"), json_path, plot_path) == 0
    rows = json.loads(json_path.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 2 * (2 * 5 + 3) and all(row["seconds"] > 0 for row in rows)
    assert len(capsys.readouterr().out.splitlines()) >= len(rows) + 3
    assert plot_path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match="aby"):
        _measurements.run(["scaling"], Asked("aby"), None, None)


# ---- what outlives a session ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", FAMILIES)
def test_packets_of_clients_and_kept_values_are_measured(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"CLIENTS": 3, "VALUES": 2, "ELEMENTS": 10}.items():
        monkeypatch.setattr(_services, name, value)
    asked = Asked(protocol, links=("memory",))
    assert _measurements.run(["kept", "clients"], asked, tmp_path / "rows.json", None) == 0
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert all(set(row) == KEYS for row in rows)
    by_name = {row["workload"]: row for row in rows}
    kept = ["kept: keeping", "kept: reading", "kept: a sum"]
    clients = ["clients: storing", "clients: reading", "clients: a sum"]
    may_cheat = protocol == "spdz2k"
    assert list(by_name) == [*(kept[:1] if may_cheat else kept), *clients]
    storing, reading = by_name["clients: storing"], by_name["clients: reading"]
    assert storing["runs"] == storing["parties"] and storing["rounds"] == storing["bytes_per_party"] == 0
    assert reading["runs"] == (1 if may_cheat else _services.RUNS) and reading["batch"] == 3
    assert reading["rounds"] > 0 and reading["bytes_per_party"] > 0
    if may_cheat:
        assert "may cheat" in by_name["kept: keeping"]["skipped"]
    else:
        assert by_name["kept: reading"]["batch"] == 10 and by_name["kept: keeping"]["rounds"] > 0


def test_clients_have_the_links_of_applications(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match="no links 'tls': memory, lan, wan"):
        _measurements.run(["clients"], Asked("rss", links=("tls",)), None, None)
    with pytest.raises(ConfigError, match='no applications for protocol "ot"'):
        _measurements.run(["kept"], Asked("ot"), None, None)
    assert capsys.readouterr().out == ""


def test_a_wrong_sum_of_what_clients_gave_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CLIENTS": 2, "VALUES": 2}.items():
        monkeypatch.setattr(_services, name, value)
    packets = _services._packets
    monkeypatch.setattr(_services, "_packets", lambda campaign, key, values: packets(campaign, key, values // 2))
    with pytest.raises(qr.QuorateError, match="wrong result"):
        list(_services.rows(["clients"], Asked("rss", links=("memory",))))
