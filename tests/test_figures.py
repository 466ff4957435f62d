"""`make figures`: its measurements, and their place in the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))
    sys.modules.pop("figures", None)
    import figures

    return figures


def test_every_table_has_its_place_and_its_columns(figures: ModuleType) -> None:
    page = figures.PAGE.read_text(encoding="utf-8")
    assert len(figures.TABLES) >= 4
    for name, table in figures.TABLES.items():
        begin, end = figures.marks(name)
        inside = page.partition(begin)[2].partition(end)[0]
        assert figures.put(page, name, inside.strip("\n")) == page
        assert f"\n| {' | '.join(table.head)} |\n" in inside
        assert "Measured on " in inside


def test_a_table_says_where_beside_what_and_of_what_it_is(
    figures: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows() -> Iterator[Sequence[str]]:
        yield "a", "1"
        yield "b", "2"

    monkeypatch.setattr(figures, "TABLES", {"some": figures.Table(("what", "seconds"), rows, "Two parties.")})
    monkeypatch.setattr(figures._build_remarks, "remarks", lambda: [])
    monkeypatch.setattr(figures, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    begin, end = figures.marks("some")
    figures.PAGE.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["figures.py"])
    figures.main()
    written = figures.PAGE.read_text(encoding="utf-8")
    assert written.startswith(f"before\n{begin}\n\nTwo parties. Measured on ") and written.endswith(f"{end}\nafter\n")
    assert "\n| what | seconds |\n|---|---|\n| a | 1 |\n| b | 2 |\n" in written and "old" not in written
    about = " ".join(written.partition("| what")[0].split())
    assert re.search(r"cores; (other programs took \d+% of the processors meanwhile|the load)", about)
    assert re.search(r"; (commit [0-9a-f]{8}|no known commit).*, \d{4}-\d\d-\d\d, `make figures`\.", about)
    assert "| a | 1 |" in capsys.readouterr().out


def test_seconds_of_a_module_for_trying_out_are_not_written(
    figures: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures._build_remarks, "remarks", lambda: ["this build is for trying out"])
    monkeypatch.setattr(sys, "argv", ["figures.py", "--only", "spdz2k"])
    with pytest.raises(SystemExit):
        figures.main()
    assert "for trying out" in capsys.readouterr().err


def test_marks_that_are_missing_are_named(figures: ModuleType) -> None:
    with pytest.raises(ValueError, match="figures some: begin"):
        figures.put("nothing here", "some", "text")


def test_what_is_measured_is_a_row_of_the_benchmark(figures: ModuleType) -> None:
    row = figures.cell("random-bit", 32, 50, "spdz2k", mac=48, offline="protocol")
    assert (row["workload"], row["k"], row["batch"], row["parties"], row["link"]) == ("random-bit", 32, 50, 2, "memory")
    assert float(figures.seconds(row)) > 0 and figures.sent(row).endswith(" MB")
    for name in ("ot-cot", "ot-cot-malicious"):  # the first selects both
        assert figures.cell(name, 128, 1000, "ot")["workload"] == name
    compared = figures.comparisons(20)
    assert re.fullmatch(r"[\d.]+; [\d.]+", figures.seconds(compared, True)) and compared["bytes_per_party"] > 100
    assert figures.opening() > 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00723, "0.0072"), (93.94, "94"), (474.3, "474"), (1234.5, "1230"), (2.0, "2"), (0.27, "0.27")],
)
def test_digits(figures: ModuleType, value: float, shown: str) -> None:
    assert figures.number(value) == shown


def test_a_row_that_was_not_measured_says_why(figures: ModuleType) -> None:
    row: dict[str, Any] = {"skipped": "skipped: predicted to take 99 s", "seconds": None}
    assert figures.seconds(row) == "predicted to take 99 s"
    assert figures.sent(row) == ""
    assert figures.milliseconds(row) == "-"
