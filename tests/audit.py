"""Looks up the dependencies of Cargo.lock in the database of known vulnerabilities: `make audit`.

`python3 tests/audit.py target/tools/bin/cargo-deny`. The exit status is 0 if none is known, 1 if some are, and 2 if the
database is absent.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ABSENT = (
    "make audit: the advisory database is not on this machine and cannot be fetched: run it where "
    "https://github.com/rustsec/advisory-db can be reached, or copy {place} from a machine where it ran."
)
OLD = "make audit: the advisory database cannot be fetched; the copy in {place} is used, which may be old."


def main(tool: str) -> int:
    """Fetches the database, and looks dependencies up in it or in an earlier copy."""
    place = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "advisory-dbs"
    fetched = subprocess.run([tool, "fetch", "db"], cwd=ROOT, capture_output=True, check=False)
    if fetched.returncode == 0:
        return checked(tool, "check", "advisories")
    if any(place.glob("*/crates")):
        print(OLD.format(place=place), file=sys.stderr)
        return checked(tool, "--offline", "check", "advisories")
    print(ABSENT.format(place=place), file=sys.stderr)
    return 2


def checked(tool: str, *words: str) -> int:
    """Runs a check, which prints what it finds. Returns 1 if there is anything, else 0."""
    return min(subprocess.run([tool, *words], cwd=ROOT, check=False).returncode, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
