"""Breaks the code in places that security rests on, one at a time, and reports what no test notices.

    make mutants                   # every mutation of tests/mutations.txt
    make mutants ONLY="tls stock"  # those whose names have one of these words

Each mutation is made in a copy of the working tree under target/, where the tests that have to notice it are run. This
takes long: it is not part of the tests, and CI does not run it. A survivor wants a test.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutations.txt"
COPY = ROOT / "target" / "mutants"

# A mutation that makes the parties wait for each other is noticed too: the tests time out.
LONGEST_SECONDS = 900

PASSED = re.compile(r"^(?:test result: ok\. )?(\d+) passed", re.MULTILINE)
FAILED = re.compile(r"^(?:test (\S+)(?: - should panic)? \.\.\. FAILED$|FAILED (\S+))", re.MULTILINE)

# The tests of the native module are in Python: they run with the module that is built in the copy.
PYTEST = "pytest "


class Edit(NamedTuple):
    """Lines that are in a file exactly once, and the lines that replace them."""

    file: str
    old: list[str]
    new: list[str]

    def count(self, text: str) -> int:
        """Counts how often the lines are in a text."""
        return f"\n{text}".count("\n".join(["", *self.old, ""]))

    def apply(self, text: str) -> str:
        """Returns the text with the replacement."""
        return f"\n{text}".replace("\n".join(["", *self.old, ""]), "\n".join(["", *self.new, ""]))[1:]


class Mutation(NamedTuple):
    """A fault, and the arguments of the `cargo test` that has to notice it; or `pytest` with its arguments."""

    name: str
    tests: str
    edits: list[Edit]


def git(*arguments: str, where: Path = ROOT) -> str:
    """Runs git, and returns its output."""
    done = subprocess.run(["git", *arguments], cwd=where, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def copy_of_the_tree() -> None:
    """Brings the copy to the state of the working tree, including files that git does not track yet."""
    git("status")  # `stash` refuses if files are newer than git's record of them.
    state = git("stash", "create") or git("rev-parse", "HEAD")
    if not (COPY / ".git").exists():
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(COPY), state)
    git("checkout", "--force", "--detach", state, where=COPY)
    git("clean", "--force", "-d", where=COPY)
    for name in git("ls-files", "--others", "--exclude-standard").splitlines():
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, COPY / name)


def read(text: str) -> list[Mutation]:
    """Reads the mutations of a table."""
    mutations: list[Mutation] = []
    for line in text.splitlines():
        sign, rest = line[:1], line[1:]
        if sign == "=":
            mutations.append(Mutation(rest.strip(), "", []))
        elif sign == "$":
            mutations[-1] = mutations[-1]._replace(tests=rest.strip())
        elif sign == "@":
            mutations[-1].edits.append(Edit(rest.strip(), [], []))
        elif sign != "#" and mutations and mutations[-1].edits:
            edit = mutations[-1].edits[-1]
            edit.old.extend([] if sign == "+" else [rest])
            edit.new.extend([] if sign == "-" else [rest])
    for edit in (edit for mutation in mutations for edit in mutation.edits):
        while edit.old and edit.new and not edit.old[-1] and not edit.new[-1]:
            # An empty line between two mutations.
            edit.old.pop()
            edit.new.pop()
    return mutations


def misplaced(mutations: list[Mutation], tree: Path) -> list[str]:
    """Returns the mutations that lack a part, and the edits whose lines are not in their file exactly once."""
    found = [
        f"{mutation.name}: no tests, or no edits" for mutation in mutations if not (mutation.tests and mutation.edits)
    ]
    for mutation in mutations:
        for edit in mutation.edits:
            times = edit.count((tree / edit.file).read_text(encoding="utf-8"))
            if times != 1 or edit.old == edit.new:
                found.append(f"{mutation.name}: its lines are {times} times in {edit.file}")
    return found


def run(command: list[str]) -> tuple[int, str]:
    """Runs a command in the copy, and tests until one fails; returns the status and the output."""
    # Builds of dependencies are shared with the working tree. A mutation changes a line or two.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target"), "CARGO_INCREMENTAL": "1"}
    environment |= {"PYTHONPATH": str(COPY / "python")}
    environment.setdefault("QUORATE_INSECURE_BASE_OTS", "1")
    said: list[str] = []
    with subprocess.Popen(
        command,
        cwd=COPY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        end = threading.Timer(LONGEST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        end.start()
        for line in process.stdout or ():
            said.append(line)
            if FAILED.match(line):
                os.killpg(process.pid, signal.SIGKILL)
        end.cancel()
    return process.returncode, "".join(said)


def cargo(tests: str, *more: str) -> list[str]:
    """Returns the command of these tests of crates."""
    what, _, which = tests.partition(" -- ")
    return ["cargo", "test", "--locked", *what.split(), *more, "--", *which.split()]


def build(tests: str) -> tuple[int, str]:
    """Builds these tests in the copy, or the native module; returns the status and the output."""
    if not tests.startswith(PYTEST):
        return run(cargo(tests, "--no-run"))
    status, said = run(["cargo", "build", "--locked", "-p", "quorate-python", "--features", "testing"])
    if status == 0:
        [module] = [path for path in (ROOT / "target" / "debug").glob("lib_quorate.*") if path.suffix != ".d"]
        shutil.copy2(module, COPY / "python" / "quorate" / "_quorate.abi3.so")
    return status, said


def test(tests: str) -> tuple[int, str]:
    """Runs these tests, which are built, in the copy until one fails; returns the status and the output."""
    if not tests.startswith(PYTEST):
        return run(cargo(tests))
    python = str(ROOT / ".venv" / "bin" / "python")
    return run([python, "-m", "pytest", "-q", "-x", *shlex.split(tests.removeprefix(PYTEST))])


def check_unbroken(mutations: list[Mutation]) -> list[str]:
    """Returns the commands that fail, or run no test, without a mutation."""
    wrong = []
    for tests in sorted({mutation.tests for mutation in mutations}):
        build(tests)
        status, said = test(tests)
        ran = sum(int(count) for count in PASSED.findall(said))
        print(f"unbroken: {ran} tests pass: {tests}", flush=True)
        if status != 0 or ran == 0:
            wrong.append(f"{tests}: status {status}, {ran} passed\n{said[-2000:]}")
    return wrong


def try_one(mutation: Mutation) -> tuple[str, str]:
    """Makes a mutation, runs its tests, and takes it back.

    Returns `caught`, `survived` or `does not build`, and which test caught it.
    """
    before = {edit.file: (COPY / edit.file).read_text(encoding="utf-8") for edit in mutation.edits}
    try:
        for edit in mutation.edits:
            file = COPY / edit.file
            file.write_text(edit.apply(file.read_text(encoding="utf-8")), encoding="utf-8")
        built, said = build(mutation.tests)
        if built != 0:
            print(said[-3000:])
            return "does not build", ""
        status, said = test(mutation.tests)
        found = FAILED.search(said)
        return ("survived", "") if status == 0 else ("caught", found[1] or found[2] if found else said[-300:])
    finally:
        for name, text in before.items():
            (COPY / name).write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """Tries the mutations that are asked for; the exit status is 0 only if all were caught."""
    everything = read(TABLE.read_text(encoding="utf-8"))
    chosen = [m for m in everything if not words or any(word in m.name for word in words)]
    chosen.sort(key=lambda m: (m.edits[0].file, m.tests))  # The next one finds most of what it needs already built.
    if not chosen:
        print("no mutation has such a name")
        return 2
    wrong = misplaced(everything, ROOT)
    if not wrong:
        copy_of_the_tree()
        wrong = check_unbroken(chosen)
    if wrong:
        print("\n".join(["refused:", *wrong]))
        return 2
    results: dict[str, list[str]] = {}
    for mutation in chosen:
        result, by = try_one(mutation)
        print(f"{result}: {mutation.name}" + (f" (by {by})" if by else ""), flush=True)
        results.setdefault(result, []).append(mutation.name)
    counts = ", ".join(f"{len(names)} {result}" for result, names in results.items())
    print(f"{len(chosen)} of {len(everything)} mutations: {counts}")
    return 0 if set(results) == {"caught"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
