"""The summary of `make test` counts the results of the test runners; a suite that ran nothing has not passed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def run_all() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_all", Path(__file__).with_name("run_all.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rust_results_add_up(run_all: ModuleType) -> None:
    lines = [
        "running 3 tests",
        "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s",
    ]
    assert run_all.count_rust(lines) == (16, 2, 1)
    assert run_all.count_rust([]) == (0, 0, 0)


def test_pytest_counts_are_read_from_its_last_line(run_all: ModuleType) -> None:
    assert run_all.count_pytest(["143 passed in 37.76s"]) == (143, 0, 0)
    assert run_all.count_pytest(["1 failed", "2 failed, 9 passed, 1 skipped, 3 errors in 0.72s (0:01:02)"]) == (9, 5, 1)
    assert run_all.count_pytest(["no tests ran in 0.01s"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("passed", "failed", "status", "good"), [(5, 0, 0, True), (5, 0, 1, False), (5, 1, 0, False), (0, 0, 0, False)]
)
def test_what_counts_as_success(run_all: ModuleType, passed: int, failed: int, status: int, good: bool) -> None:
    assert run_all.Outcome("rust", passed, failed, 0, 1.0, status, []).good is good


def test_all_commands_of_a_suite_run_and_none_is_forgotten(run_all: ModuleType) -> None:
    def result(passed: int, status: int) -> list[str]:
        said = f"test result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured"
        return [sys.executable, "-c", f"print({said!r}); raise SystemExit({status})"]

    assert run_all.run("rust", [result(3, 0), result(4, 0)], run_all.count_rust).good
    for statuses in ((1, 0), (0, 1)):
        outcome = run_all.run("rust", [result(3 + status, status) for status in statuses], run_all.count_rust)
        assert (outcome.passed, outcome.status, outcome.good) == (7, 1, False)


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        ("FAILED tests/test_guards.py::test_lines_stay_short - AssertionError: [...]", True),
        ("ERROR tests/test_guards.py::test_lines_stay_short", True),
        ("test offline::masks ... FAILED", True),
        ("error: could not compile `quorate-rss` (lib test) due to 1 previous error", True),
        ("test offline::masks ... ok", False),
        ("1 failed, 9 passed in 0.72s", False),
    ],
)
def test_what_failed_is_named_at_the_end(run_all: ModuleType, line: str, failure: bool) -> None:
    assert bool(run_all.FAILURE.match(line)) is failure


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ("--crate-name all --test -C opt-level=1 -C metadata=2", " -C opt-level=0"),
        ("--crate-name quorate_ring --test -C opt-level=2", ""),
        ("--crate-name quorate_rss --crate-type lib -C opt-level=1", ""),
        ("-vV", ""),
    ],
)
def test_tests_are_compiled_without_optimisation_and_libraries_with_it(given: str, added: str) -> None:
    command = [ROOT / "tests" / "rustc_for_tests.sh", "echo", *given.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == given + added + "\n"


def features(*options: str) -> dict[str, set[str]]:
    """Returns the features of each crate that cargo builds with these options, once for each way in which it does."""
    command = ["cargo", "tree", "--locked", "--offline", "--prefix=none", "--format={p}|{f}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        crate, _, named = line.removesuffix(" (*)").partition("|")
        found.setdefault(crate, set()).add(named)
    return found


def test_the_module_for_tests_is_built_from_what_the_rust_tests_are_built_from(run_all: ModuleType) -> None:
    """A feature that only tests enable in a library makes cargo compile all crates above it a second time."""
    in_tests = features(*run_all.FEATURES, "--edges=normal,build,dev")
    in_module = features("--package=quorate-python", "--features=testing", "--edges=normal,build")
    assert len(in_module) > 60
    assert not {crate: named - in_tests[crate] for crate, named in in_module.items() if named - in_tests[crate]}
