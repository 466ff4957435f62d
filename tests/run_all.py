"""Runs all tests, of Rust and Python, and prints one summary; the exit status is 0 only if all passed and some ran."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# The features of the module for the Python tests: all crates are built once for both. Examples, which `cargo test`
# would link as well, have no tests; `make lint` compiles them.
FEATURES = ["--workspace", "--features", "quorate-python/testing"]
CARGO_TEST = ["cargo", "test", *FEATURES, "--locked", "--no-fail-fast"]
# Tests of published circuits count as skipped where the circuits are not there.
CIRCUITS = ROOT.parent / "shared" / "data" / "circuits"
PUBLISHED = [[*CARGO_TEST, "--tests", "--", "--ignored", "published"]] if CIRCUITS.is_dir() else []
RUST = [[*CARGO_TEST, "--tests"], *PUBLISHED, [*CARGO_TEST, "--doc"]]

# The Rust suites and their processes compute no base OTs twice; see `crates/ot/src/testing/remembered.rs`.
os.environ.setdefault("QUORATE_INSECURE_BASE_OTS", "1")

# Tests are compiled without optimisation, what they test with it. A wrapper that the environment names stays.
os.environ.setdefault("RUSTC_WRAPPER", str(ROOT / "tests" / "rustc_for_tests.sh"))
# Unoptimised futures take more of a thread's stack. Python tests that limit a process's memory have the usual stacks.
# Tests of connections wait, so that more of them run at a time than there are cores.
FOR_CARGO = {"RUST_MIN_STACK": str(16 << 20), "RUST_TEST_THREADS": str(max(4, os.cpu_count() or 1))}

# Three at a time: most tests wait for a thread half of the time.
PYTEST = ["-q", "--durations=0", "--durations-min=5", "-n", "3", "--dist", "worksteal"]

RUST_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped)\b")

# The form in which either suite names failures; they are named again at the end of the output.
FAILURE = re.compile(r"^(?:FAILED|ERROR) \S+::|^test \S.* \.\.\. FAILED$|^error: could not compile")


class Outcome(NamedTuple):
    """The result of one suite."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    status: int
    failures: list[str]

    @property
    def good(self) -> bool:
        """Returns whether the suite succeeded; a suite that ran no test did not."""
        return self.status == 0 and self.failed == 0 and self.passed > 0


def count_rust(lines: list[str]) -> tuple[int, int, int]:
    """Sums the result lines of all test binaries."""
    found = [tuple(map(int, match.groups())) for line in lines if (match := RUST_RESULT.match(line))]
    return (sum(f[0] for f in found), sum(f[1] for f in found), sum(f[2] for f in found))


def count_pytest(lines: list[str]) -> tuple[int, int, int]:
    """Reads pytest's last line, such as `3 failed, 40 passed, 1 skipped in 2.10s`."""
    last = next((line for line in reversed(lines) if " in " in line and PYTEST_COUNT.search(line)), "")
    counts = {name.rstrip("s"): int(number) for number, name in PYTEST_COUNT.findall(last)}
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0), counts.get("skipped", 0)


def run(name: str, commands: list[list[str]], count: Callable[[list[str]], tuple[int, int, int]]) -> Outcome:
    """Runs all commands in order at the root of the repository, and returns the first status that is not 0.

    Their output is shown as it comes, each line with the suite's name.
    """
    start, status = time.monotonic(), 0
    lines: list[str] = []
    for command in commands:
        print(f"{name} | {' '.join(command)}", flush=True)
        environment = {**(FOR_CARGO if command[0] == "cargo" else {}), **os.environ}
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as process:
            for line in process.stdout or ():
                sys.stdout.write(f"{name} | {line}")
                sys.stdout.flush()
                lines.append(line.rstrip("\n"))
        status = status or process.returncode
    failures = [line for line in lines if FAILURE.match(line)]
    return Outcome(name, *count(lines), time.monotonic() - start, status, failures)


def main() -> int:
    """Runs both suites side by side, since each alone leaves a core idle at times.

    With `--build` it only builds the Rust tests.
    """
    if sys.argv[1:] == ["--build"]:
        return subprocess.run([*CARGO_TEST, "--tests", "--no-run", "--quiet"], cwd=ROOT).returncode
    python = [sys.executable, "-m", "pytest", *PYTEST]
    with ThreadPoolExecutor() as pool:
        suites = [pool.submit(run, "rust", RUST, count_rust), pool.submit(run, "python", [python], count_pytest)]
        outcomes = [suite.result() for suite in suites]
    print("\n== summary")
    for o in outcomes:
        print(
            f"{o.name:8} {'ok' if o.good else 'FAILED':8} {o.passed:5} passed {o.failed:4} failed "
            f"{o.skipped:4} skipped {o.seconds:7.1f} s"
        )
        for failure in o.failures:
            print(f"{o.name:8} {failure}")
    return 0 if all(o.good for o in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
