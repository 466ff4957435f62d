"""The table of fuzz/README.md, the targets, their first inputs and the readers in the code belong together."""

from __future__ import annotations

import re
from pathlib import Path

import fuzzing

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"

TARGETS = 30
MOST_BYTES = 200_000
ROW = re.compile(r"^\| [^|]+ \| (`[^|]+`) \| `(crates/[^|`]+\.rs)` \|(?: `(\w+)` \|)?$", re.MULTILINE)
# Functions that read bytes or texts of others, by the names that the project gives them.
READER = re.compile(
    r"fn (abort|accept|decode|from_bytes|from_str|header|numbers|parse|piece|read\w*|truncation|unpack)"
    r"(?:<[^(]*>)?\(([^)]*(?:: &(?:'\w+ )?\[u8(?:; \w+)?\]|: \[u8; \w+\]|text: &str)[^)]*)\) *->"
)
# These readers are called by one in the table, or call one with the bytes that they are given.
INNER = {
    "crates/circuits/src/bristol/read.rs": {"circuit"},
    "crates/fss/src/wire.rs": {"read"},
    "crates/he/src/dgk/public.rs": {"read"},
    "crates/he/src/paillier/public.rs": {"read"},
    "crates/he/src/scheme.rs": {"read", "read_key"},
    "crates/ot/src/base.rs": {"read_point"},
    "crates/python/src/circuit.rs": {"read"},
    "crates/ring/src/module.rs": {"unpack"},
}


def rows() -> list[tuple[str, str, str]]:
    """Returns the functions, the file and the target of each row; without a target, an empty text."""
    return ROW.findall((FUZZ / "README.md").read_text(encoding="utf-8"))


def names(functions: str) -> list[str]:
    """Returns the names of functions, without their types."""
    return [name.split("::")[-1] for name in re.findall(r"`([\w:]+)`", functions)]


def test_every_target_has_a_row_a_program_and_inputs() -> None:
    listed = {target for _, _, target in rows() if target}
    assert len(listed) == TARGETS
    assert listed == set(fuzzing.targets())
    assert listed == {file.stem for file in (FUZZ / "targets").glob("*.rs")}
    corpora = {folder.name: list(folder.iterdir()) for folder in (FUZZ / "corpus").iterdir()}
    assert listed == set(corpora)
    assert all(len(files) >= 2 for files in corpora.values()), corpora
    assert sum(file.stat().st_size for files in corpora.values() for file in files) < MOST_BYTES


def test_every_row_names_functions_that_exist() -> None:
    assert len(rows()) >= 49
    for functions, file, _ in rows():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert names(functions), functions
        for name in names(functions):
            assert re.search(rf"fn {name}\b", text), f"{file} has no {name}"


def test_every_reader_of_bytes_has_a_row() -> None:
    listed = {(file, name) for functions, file, _ in rows() for name in names(functions)}
    listed |= {(file, name) for file, inner in INNER.items() for name in inner}
    readers = set()
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        place = file.relative_to(ROOT).as_posix()
        if "testing" in place or place.endswith("tests.rs") or place.startswith("crates/bench/"):
            continue
        code = file.read_text(encoding="utf-8").split("#[cfg(test)]\n")[0]
        readers |= {(place, found[1]) for found in READER.finditer(code)}
    assert len(readers) >= 35
    assert readers - listed == set(), "give each a fuzz target, and a row in fuzz/README.md"


def test_the_instrumented_crates_are_those_with_targets() -> None:
    wrapper = (FUZZ / "instrumented.sh").read_text(encoding="utf-8")
    prefixes = {target.split("_")[0] for target in fuzzing.targets()}
    assert len(prefixes) == 11
    for prefix in prefixes:
        assert f"{prefix}_*" in wrapper, prefix
        assert f"quorate_{prefix} " not in wrapper, f"{prefix} is left out"
