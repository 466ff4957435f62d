"""What CI and `make` do where a browser, npm or the network is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import browser

HERE = Path(__file__).resolve().parent.parent


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("given", "seen"), [({}, "1"), ({"QUORATE_REQUIRE_BROWSER": "0"}, "0")])
def test_ci_needs_a_browser_unless_somebody_says_otherwise(tmp_path: Path, given: dict[str, str], seen: str) -> None:
    for name in ("cargo", "valgrind", "python"):
        command(tmp_path, name, "exit 0")
    command(tmp_path, "make", 'echo "$QUORATE_REQUIRE_BROWSER" >> "$SEEN"')
    (tmp_path / "dirname").symlink_to(shutil.which("dirname") or "")
    environment = {"PATH": str(tmp_path), "PYTHON": "python", "SEEN": str(tmp_path / "seen"), **given}
    subprocess.run([shutil.which("bash") or "", HERE / ".ci" / "run"], env=environment, check=True, timeout=60)
    assert (tmp_path / "seen").read_text().splitlines()[-2:] == [seen, seen]


@pytest.mark.parametrize(("required", "outcome"), [("1", pytest.fail.Exception), ("0", pytest.skip.Exception)])
def test_a_missing_browser(monkeypatch: pytest.MonkeyPatch, required: str, outcome: type[BaseException]) -> None:
    monkeypatch.setenv("QUORATE_REQUIRE_BROWSER", required)
    monkeypatch.setattr(browser.shutil, "which", lambda _: None)
    with pytest.raises(outcome):
        browser.chromium()


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_npm_is_asked_once(tmp_path: Path) -> None:
    command(tmp_path, "npm", f"echo asked >> {tmp_path}/asked; exit 1")
    stamps = tmp_path / "stamps"
    stamps.mkdir()
    make = ["make", "--silent", f"STAMPS={stamps}", "-o", f"{stamps}/demo", f"{stamps}/axe"]
    for _ in range(2):
        path = f"{tmp_path}:/usr/local/bin:/usr/bin:/bin"
        subprocess.run(make, cwd=HERE, env={"PATH": path}, check=True, timeout=60, capture_output=True)
    assert (tmp_path / "asked").read_text().splitlines() == ["asked"]
