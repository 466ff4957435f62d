"""Patterns that no tracked file may contain; each guard states the number of places that it checked."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import mutants

ROOT = Path(__file__).resolve().parent.parent
ME = Path(__file__).resolve()

UNFINISHED = re.compile(r"\b(?:dbg|todo|unimplemented)!\s*[(\[{]|\bTO" + r"DO\b|\bFIX" + r"ME\b")
KEYS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE " + r"KEY-----")
UNBREAKABLE = re.compile(r"^\s*\|.*\|$|https?://")
DIRECTORIES = re.compile(r"(?<![\w.:/])/(?:home|root|Users)/\w")
# Bytes compared as a whole, which stops at the first difference.
COMPARED = re.compile(r"\[\.\.\] [!=]= \*?\w|[!=]= \[0; \w*BYTES\]|[!=]= [&*]*(?:hash|digest|compared|commitment)\b")
PROTOCOLS = (
    "aby", "additive", "authenticated", "crypto", "engine", "fss", "garble", "he", "ot", "pika", "ring", "rss",
    "spdz2k",
)  # fmt: skip


#: Phrases that say nothing without what stands before them: documentation of an item that begins with "The same", and
#: sentences like "The same of bits."; and "so many", for a number that has a name.
PHRASES = re.compile(
    r"(?:\A|\n)(?![ ]*(?://[/!]|#:))[^\n]*\n[ ]*(?://[/!]|#:) The same\b|\"\"\"The same\b"
    r"|\bThe same(?:(?:\s|//[/!]|#:)+(?:as|at|by|for|from|in|of|on|to|where|with)\b|[,.:;])"
    r"|\b[Ss]o(?:\s|//[/!]?|#:?)+many\b"
)


def tracked(*suffixes: str) -> list[Path]:
    """Returns the tracked files that exist, with one of `suffixes`."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in done.stdout.split("\0") if name.endswith(suffixes)]
    return [f for f in files if f.is_file() and f.resolve() != ME]


def hits(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    """`file:line: text` for each line that matches."""
    found = []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()}")
    return found


@pytest.mark.parametrize(
    ("pattern", "suffixes", "at_least"),
    [
        (UNFINISHED, (".rs", ".py"), 20),
        (KEYS, ("",), 30),
        (DIRECTORIES, (".rs", ".py", ".md", ".toml", ".yml", "Makefile"), 30),
    ],
    ids=["unfinished code", "private keys", "directories of somebody's machine"],
)
def test_no_tracked_file_contains(pattern: re.Pattern[str], suffixes: tuple[str, ...], at_least: int) -> None:
    files = tracked(*suffixes)
    assert len(files) >= at_least, f"looked at {len(files)} files only"
    assert hits(pattern, files) == []


def test_the_guards_would_speak(tmp_path: Path) -> None:
    sample = tmp_path / "sample.rs"
    sample.write_text("fn f() { to" + "do!() }\n", encoding="utf-8")
    assert UNFINISHED.search(sample.read_text(encoding="utf-8"))
    assert DIRECTORIES.search('path = "/' + 'home/somebody"')
    assert not DIRECTORIES.search("https://example.org/home and .venv/bin")


def phrases(text: str) -> list[str]:
    """Returns the last line of each phrase that says nothing alone."""
    return [found[0].splitlines()[-1].strip() for found in PHRASES.finditer(f"\n{text}")]


def test_sentences_stand_alone() -> None:
    files = tracked(".rs", ".py", ".pyi", ".md")
    assert len(files) > 1_200, f"looked at {len(files)} files only"
    found = {str(file.relative_to(ROOT)): phrases(file.read_text(encoding="utf-8")) for file in files}
    assert {file: texts for file, texts in found.items() if texts} == {}
    assert sum("The same" in file.read_text(encoding="utf-8") for file in files) >= 15


def test_phrases_that_say_nothing_alone_are_found() -> None:
    for bad in (
        "/// The same Delta, doubled.", "//! The same code.", "#: The same table.", '"""The same rows, sorted."""',
        "It ends. The same of bits.", "It ends. The same\n    /// for a matrix.", "The same, row by row.",
        "so many bytes", "So\n    /// many of them",
    ):  # fmt: skip
        assert len(phrases(f"fn f() {{}}\n    {bad}\n")) == 1, bad
    for good in ("/// It ends.\n/// The same Delta may be used again.", "The same holds for masks.", "also many"):
        assert phrases(f"fn f() {{}}\n{good}\n") == []


def compared(text: str) -> list[str]:
    """Returns the lines outside of tests in which hashes are compared otherwise than by `ct_eq`."""
    lines = text.split("#[cfg(test)]")[0].splitlines()
    return [line.strip() for line in lines if COMPARED.search(line) and not line.strip().startswith(("assert", "//"))]


def test_hashes_are_compared_in_constant_time() -> None:
    """The place of the first difference of two hashes depends on the secrets that they are of."""
    files = [f for f in tracked(".rs") if f.parts[-3:-1] != ("src", "testing") and f.name != "testing.rs"]
    files = [f for f in files for name in PROTOCOLS if f.is_relative_to(ROOT / "crates" / name / "src")]
    assert len(files) > 300, f"looked at {len(files)} files only"
    found = [f"{f.relative_to(ROOT)}: {line}" for f in files for line in compared(f.read_text(encoding="utf-8"))]
    assert found == []
    assert sum("ct_eq(" in f.read_text(encoding="utf-8") for f in files) > 10


@pytest.mark.parametrize("line", ["told[..] == hash", "if total != [0; BLOCK_BYTES]", "all(|x| x[..] == expected[..])"])
def test_comparisons_of_hashes_are_found(line: str) -> None:
    assert compared(f"    {line} {{\n") == [f"{line} {{"]


#: The number of places that are compiled for tests alone, by crate: modules `testing`, and modules that another file
#: replaces in tests (docs/decisions/0094); and the readers of fuzz targets. It only falls.
FOR_TESTS = {
    "authenticated": 2, "crypto": 2, "engine": 1, "gadgets": 1, "he": 1, "net": 1, "ot": 2, "pika": 1, "session": 1,
    "spdz2k": 2,
}  # fmt: skip

PLACE = re.compile(
    r'^(?:#\[cfg\((?:any\(test, )?feature = "(?:testing|readers)"\)?\)\]\n(?:pub )?(?:mod \w+|use \w+::Tape);'
    r'|#\[cfg_attr\([^\n]*feature = "testing"[^\n]*, path = "(?P<path>testing/\w+\.rs)"\)\]\nmod (?P<replaced>\w+);)$',
    re.MULTILINE,
)
FUNCTION = re.compile(
    r"^    pub(?:\(crate\))? (?:async |const )?fn (\w+)|^pub\(crate\) (?:const )?fn (\w+)", re.MULTILINE
)


def functions(file: Path) -> set[str]:
    """Returns the names of the functions that other modules can call."""
    return {found[1] or found[2] for found in FUNCTION.finditer(file.read_text(encoding="utf-8"))}


def test_what_is_compiled_for_tests_alone_does_not_grow() -> None:
    """All of it is whole modules, so that no function of a protocol has a line that a release does not have."""
    found: dict[str, int] = {}
    replaced = 0
    for file in tracked(".rs"):
        parts = file.relative_to(ROOT).parts
        if parts[0] == "crates" and parts[2] == "src":
            text = file.read_text(encoding="utf-8")
            places = text.count('feature = "testing"') + text.count('feature = "readers"')
            assert places == 0 or parts[3] == "lib.rs", f"{file} has a part for tests"
            modules = list(PLACE.finditer(text))
            assert len(modules) == places, f"{file}: a part for tests is not a module"
            found[parts[1]] = found.get(parts[1], 0) + places
            for module in modules:
                if module["path"]:
                    shipped, tests = file.parent / f"{module['replaced']}.rs", file.parent / module["path"]
                    assert functions(shipped) and functions(shipped) <= functions(tests), shipped
                    replaced += 1
    assert len(found) >= 18
    assert replaced == 4
    assert {crate: places for crate, places in found.items() if places} == FOR_TESTS


#: The files outside of modules of tests that differ in unit tests of their own crate, with the number of places: sizes
#: of parts, the instruction set, and constructors that only tests call. It only falls.
IN_UNIT_TESTS = {
    "he/src/coins.rs": 1, "ot/src/correlated.rs": 2, "ring/src/simd.rs": 1, "session/src/memory/schedule.rs": 2,
}  # fmt: skip

IN_UNIT_TEST = re.compile(
    r"cfg!\(test\)|#\[cfg\((?:any\()?test\b[^\]]*\]\n(?! *(?:#\[.*\n *)?(?:pub(?:\([^)]*\))? )?(?:mod|use) )"
)


def test_what_unit_tests_change_does_not_grow() -> None:
    crates = ROOT / "crates"
    files = [f for f in tracked(".rs") if f.is_relative_to(crates) and "src" in f.parts]
    assert len(files) > 500, f"looked at {len(files)} files only"
    found = {f.relative_to(crates).as_posix(): len(IN_UNIT_TEST.findall(f.read_text(encoding="utf-8"))) for f in files}
    assert {file: places for file, places in found.items() if places} == IN_UNIT_TESTS


def test_cargo_sets_nothing_insecure() -> None:
    settings = (ROOT / ".cargo" / "config.toml").read_text(encoding="utf-8")
    assert "rustflags" in settings
    assert "[env]" not in settings
    assert "INSECURE" not in settings


def test_files_stay_small() -> None:
    files = tracked(".rs", ".py")
    assert len(files) >= 20
    long = {str(f.relative_to(ROOT)): n for f in files if (n := len(f.read_text(encoding="utf-8").splitlines())) > 600}
    assert long == {}


def too_long(file: Path) -> list[str]:
    """`file:line` for each line that is too long; rows of Markdown's tables and URLs cannot be broken."""
    lines = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
    return [f"{file}:{n}" for n, text in lines if len(text) > 120 and not UNBREAKABLE.search(text)]


def test_lines_stay_short() -> None:
    """Formatters leave long strings, comments, macros and prose as they are."""
    files = [*tracked(".rs", ".py", ".md"), ME]
    assert len(files) >= 300, f"looked at {len(files)} files only"
    assert [line.removeprefix(f"{ROOT}/") for file in files for line in too_long(file)] == []


def test_long_lines_are_found(tmp_path: Path) -> None:
    sample = tmp_path / "sample.md"
    lines = ["ø" * 120, "ø" * 121, f"| a | {'b' * 120} |", f"see https://{'c' * 120}", f"|a| {'d' * 120}"]
    sample.write_text("\n".join(lines), encoding="utf-8")
    assert too_long(sample) == [f"{sample}:2", f"{sample}:5"]


def test_what_commands_write_by_default_is_not_tracked() -> None:
    """`quorate demo` draws into the directory where it is called."""
    assert (ROOT / "pyproject.toml") in tracked(".toml")
    assert [path.name for path in tracked(".png", ".svg", ".json") if path.parent == ROOT] == []
    ignored = subprocess.run(["git", "check-ignore", "quorate-demo.png"], cwd=ROOT, capture_output=True, check=False)
    assert ignored.returncode == 0


def test_mutations_are_in_their_places() -> None:
    """The code that `make mutants` breaks is found, though mutations do not run with each change."""
    mutations = mutants.read(mutants.TABLE.read_text(encoding="utf-8"))
    assert len(mutations) >= 220
    assert mutants.misplaced(mutations, ROOT) == []
    names = [mutation.name for mutation in mutations]
    assert sorted(set(names)) == sorted(names)
