"""`make audit` without and with a database, and the licences and duplicates that deny.toml allows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# In place of cargo-deny: it says how it was called; `fetch` ends as the first line, a check as the second.
FAKE = """#!/bin/sh
echo "cargo-deny $*"
case "$1" in
fetch) exit {fetch} ;;
*) exit {check} ;;
esac
"""


@pytest.mark.parametrize(
    ("fetch", "check", "has_copy", "status", "calls"),
    [
        (0, 0, False, 0, ["check advisories"]),
        (0, 1, False, 1, ["check advisories"]),
        (0, 8, True, 1, ["check advisories"]),
        (1, 0, False, 2, []),
        (1, 0, True, 0, ["--offline check advisories"]),
        (1, 4, True, 1, ["--offline check advisories"]),
    ],
)
def test_the_status_says_whether_there_was_a_database(
    fetch: int, check: int, has_copy: bool, status: int, calls: list[str], tmp_path: Path
) -> None:
    tool = tmp_path / "cargo-deny"
    tool.write_text(FAKE.format(fetch=fetch, check=check), encoding="utf-8")
    tool.chmod(0o755)
    home = tmp_path / "cargo"
    (home / "advisory-dbs" / "advisory-db-1").mkdir(parents=True)  # which a fetch that fails leaves behind
    if has_copy:
        (home / "advisory-dbs" / "advisory-db-1" / "crates").mkdir()
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "audit.py"), str(tool)],
        env={"CARGO_HOME": str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.splitlines() == [f"cargo-deny {call}" for call in calls]
    said = ended.stderr.splitlines()
    if fetch == 0:
        assert said == []
    elif has_copy:
        assert len(said) == 1 and "the copy in" in said[0] and str(home / "advisory-dbs") in said[0]
    else:
        assert len(said) == 1 and "is not on this machine" in said[0] and "https://github.com/rustsec" in said[0]


def test_every_duplicate_that_is_allowed_has_a_reason_and_exists() -> None:
    text = (ROOT / "deny.toml").read_text(encoding="utf-8")
    skipped = re.findall(r'^    \{ crate = "([\w-]+)@([\w.]+)", reason = "(.+)" \},$', text, re.MULTILINE)
    assert len(skipped) >= 1
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    for crate, version, reason in skipped:
        assert f'name = "{crate}"\nversion = "{version}"\n' in lock, f"{crate} {version} is gone: remove its line"
        assert lock.count(f'name = "{crate}"\n') > 1, crate
        assert len(reason) > 10, crate
