"""Builds the fuzz targets (fuzz/README.md) and runs each for a while: `make adversary` calls it.

`python3 tests/fuzzing.py --seconds 600 engine_frame` runs one target.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
BUILT = ROOT / "target" / "fuzz"

BIN = re.compile(r'^\[\[bin\]\]\nname = "(\w+)"\npath = "targets/(\w+)\.rs"$', re.MULTILINE)
DONE = re.compile(r"^#\d+\s+DONE\s+cov: (\d+)", re.MULTILINE)
UNITS = re.compile(r"^stat::number_of_executed_units:\s*(\d+)$", re.MULTILINE)


def targets() -> list[str]:
    """Returns the names of the programs in fuzz/Cargo.toml."""
    return [name for name, file in BIN.findall((FUZZ / "Cargo.toml").read_text(encoding="utf-8")) if name == file]


def lock() -> None:
    """Gives the targets the versions in Cargo.lock; cargo adds those of libFuzzer."""
    ours, theirs = ROOT / "Cargo.lock", FUZZ / "Cargo.lock"
    if not theirs.exists() or theirs.stat().st_mtime < ours.stat().st_mtime:
        shutil.copyfile(ours, theirs)


def build() -> None:
    """Builds all targets, with instrumented crates."""
    lock()
    env = {**os.environ, "CARGO_TARGET_DIR": str(BUILT), "RUSTC_WRAPPER": str(FUZZ / "instrumented.sh")}
    subprocess.run(["cargo", "build", "--bins"], cwd=FUZZ, env=env, check=True)


def run(target: str, seconds: int) -> str | None:
    """Runs a target. Returns a line with its figures, or none if it failed."""
    found, failed = BUILT / "corpus" / target, BUILT / "failed" / target
    for folder in (found, failed):
        folder.mkdir(parents=True, exist_ok=True)
    command = [
        str(BUILT / "debug" / target),
        str(found),
        str(FUZZ / "corpus" / target),
        f"-max_total_time={seconds}",
        f"-artifact_prefix={failed}/",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-max_len=4096",
        "-print_final_stats=1",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode != 0:
        print(ended.stderr[-6000:])
        return None
    (covered,), (units,) = DONE.findall(ended.stderr)[-1:] or ["0"], UNITS.findall(ended.stderr)[-1:] or ["0"]
    return f"{target:20} {int(units):>10} inputs  {int(covered):>6} branches"


def main() -> int:
    """Runs the targets that the command names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    options = parser.parse_args()
    known = targets()
    if unknown := set(options.targets) - set(known):
        print(f"fuzz/Cargo.toml has no target {', '.join(sorted(unknown))}: it has {', '.join(known)}")
        return 2
    build()
    failed = []
    for target in options.targets or known:
        line = run(target, options.seconds)
        print(line or f"{target:20} FAILED: target/fuzz/failed/{target}", flush=True)
        if line is None:
            failed.append(target)
    print(f"{len(options.targets or known) - len(failed)} targets passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
