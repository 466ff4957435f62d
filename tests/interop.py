"""Builds the release of the last tag, and tests parties, servers and clients of it beside those of this tree.

    make interop                       # TAG=v0.2.0 for another one; WHEEL=file for a wheel that was built elsewhere

The wheel and its environment are kept in target/interop, by tag and commit, so they are made once. Without a tag it
says so, and ends with status 0.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "target" / "interop"


def git(*arguments: str) -> str:
    """Returns what git prints, or nothing if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()


def wheel_of(tag: str, commit: str) -> Path:
    """Returns the wheel of a tag, built by its own Makefile from its own files."""
    kept = KEPT / f"{tag.replace('/', '-')}-{commit[:12]}"
    if not (found := list(kept.glob("*.whl"))):
        print(f"builds the wheel of {tag}, once: this takes some minutes", flush=True)
        source = kept / "source"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        archive = kept / "source.tar"
        subprocess.run(["git", "archive", f"--output={archive}", commit], cwd=ROOT, check=True)
        subprocess.run(["tar", "-xf", archive, "-C", source], check=True)
        make = ["make", "--silent", f"PYTHON={sys.executable}", "wheel"]
        # Crates of others are built once for both.
        environment = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
        subprocess.run(make, cwd=source, env=environment, check=True)
        for built in source.glob("dist/quorate_mpc-*.whl"):
            found.append(shutil.move(built, kept))
        shutil.copy(source / "requirements" / "service.txt", kept)
        shutil.rmtree(source)
        archive.unlink()
    return Path(found[0])


def environment_of(wheel: Path, requirements: Path) -> Path:
    """Returns an environment with the wheel and what servers need; its `quorate` is apart from this tree."""
    place = wheel.parent / f"environment-{wheel.stat().st_mtime_ns}"
    if not (place / "whole").exists():
        venv.create(place, with_pip=True, clear=True)
        pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "--requirement", requirements], check=True)
        subprocess.run([*pip, "--no-deps", wheel], check=True)
        command = place / "quorate"
        command.write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {shlex.quote(str(place))}/bin/quorate "$@"\n')
        command.chmod(0o755)
        (place / "whole").touch()
    return place


def main() -> int:
    parser = argparse.ArgumentParser(description="tests of the last release beside this tree")
    parser.add_argument("--tag", default="", help="the release (default: the last tag before this commit)")
    parser.add_argument("--wheel", type=Path, help="its wheel, instead of building one")
    options, others = parser.parse_known_args()
    if options.wheel:
        KEPT.mkdir(parents=True, exist_ok=True)
        wheel = Path(shutil.copy2(options.wheel, KEPT))
        place, what = environment_of(wheel, ROOT / "requirements" / "service.txt"), wheel.name
    else:
        tag = options.tag or git("describe", "--tags", "--abbrev=0")
        commit = git("rev-parse", "--verify", "--quiet", f"{tag}^{{commit}}") if tag else ""
        if not commit:
            print(f"no release to compare with: {f'{tag} is not a tag' if tag else 'this history has no tag'}")
            return 1 if options.tag else 0
        wheel = wheel_of(tag, commit)
        place, what = environment_of(wheel, wheel.with_name("service.txt")), f"{tag}, commit {commit[:12]}"
    print(f"tests this tree beside {what}", flush=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_releases.py", *others]
    return subprocess.run(pytest, cwd=ROOT, env={**os.environ, "QUORATE_EARLIER": str(place)}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
