"""Runs tests of threads under the thread sanitizer, which reports races: `make thread-sanitizer` calls it.

`python3 tests/thread_sanitizer.py engine` runs those of one crate. Everything is compiled with the sanitizer, the
standard library included, so that no report is false for lack of what the library does: no report is suppressed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "target" / "thread-sanitizer"

#: The status of a program in which a race was found.
FOUND = 66

#: One at a time: some have a time limit, and the sanitizer makes copies of long messages slow.
ALL_OTHERS = ["--test", "all", "--", "--skip", "workers", "--test-threads=1"]

#: Tests by crate: what `cargo test` is told to run. Sockets of other processes are not among them.
SUITES: dict[str, list[list[str]]] = {
    "net": [["--lib", "--", "mailbox", "memory", "interrupt", "shaped"], ["--test", "all", "--", "memory", "shaped"]],
    "engine": [["--lib"], ["--test", "all", "--", "workers"], ALL_OTHERS],
    "session": [["--lib", "--", "queue", "shared", "beside", "requests"]],
    "protocols": [["--test", "workers"]],
}

PASSED = re.compile(r"^test result: ok\. (\d+) passed", re.MULTILINE)


def environment(chosen: list[str]) -> dict[str, str]:
    """Returns the environment in which cargo builds and runs these tests with the sanitizer.

    Parties have three workers, but in tests of workers, which choose their number.
    """
    workers = {} if "workers" in chosen and "--skip" not in chosen else {"QUORATE_TEST_WORKERS": "3"}
    return {
        **os.environ,
        "RUSTC_BOOTSTRAP": "1",  # both options are unstable
        "RUSTFLAGS": "-Zsanitizer=thread",
        "CARGO_TARGET_DIR": str(BUILT),
        "QUORATE_INSECURE_BASE_OTS": "1",
        **workers,
        "TSAN_OPTIONS": f"exitcode={FOUND}",
        "RUST_MIN_STACK": str(16 << 20),
    }


def said(command: list[str]) -> str:
    """Returns what a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sees_a_race() -> bool:
    """Returns whether the sanitizer reports the race of tests/race.rs."""
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / "race"
    build = ["rustc", "--edition", "2024", "-Zsanitizer=thread", "-Cunsafe-allow-abi-mismatch=sanitizer"]
    subprocess.run([*build, "-o", str(program), "tests/race.rs"], cwd=ROOT, env=environment([]), check=True)
    ran = subprocess.run([str(program)], env=environment([]), capture_output=True, text=True, check=False)
    return ran.returncode == FOUND and "data race" in ran.stderr


def run(crate: str, chosen: list[str], host: str) -> int:
    """Runs tests of a crate. Returns how many passed, or 0 if one failed or a race was found."""
    command = ["cargo", "test", "--locked", "-Zbuild-std", "--target", host, "-p", f"quorate-{crate}", *chosen]
    print(" ".join(command), flush=True)
    with subprocess.Popen(command, cwd=ROOT, env=environment(chosen), stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout or ():
            sys.stdout.write(line)
            lines.append(line)
    passed = sum(map(int, PASSED.findall("".join(lines))))
    return passed if process.returncode == 0 else 0


def main() -> int:
    """Runs the suites of the crates that are named, or all."""
    if not (Path(said(["rustc", "--print", "sysroot"]).strip()) / "lib/rustlib/src/rust/library").is_dir():
        print("The standard library is compiled with the sanitizer, too. Install it: rustup component add rust-src")
        return 2
    if not sees_a_race():
        print("The sanitizer does not report the race of tests/race.rs, so it would report none.")
        return 1
    host = re.search(r"^host: (\S+)$", said(["rustc", "-vV"]), re.MULTILINE)
    assert host, "rustc names no host"
    crates = sys.argv[1:] or list(SUITES)
    passed = {(crate, *chosen): run(crate, chosen, host[1]) for crate in crates for chosen in SUITES[crate]}
    for suite, count in passed.items():
        print(f"{' '.join(suite):70} {f'{count} passed' if count else 'FAILED'}")
    return 0 if all(passed.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
