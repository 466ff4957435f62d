"""The table of fuzz/README.md, the targets, their first inputs and the readers in the code belong together."""

from __future__ import annotations

import re
from pathlib import Path

import fuzzing

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"

TARGETS = 31
MOST_BYTES = 200_000
ROW = re.compile(r"^\| [^|]+ \| (`[^|]+`) \| `(crates/[^|`]+\.rs)` \|(?: `(\w+)` \|)?$", re.MULTILINE)
# Functions that read bytes or texts of others, by the names that the project gives them.
READER = re.compile(
    r"fn (abort|accept|decode|from_bytes|from_str|header|named|numbers|parse|piece|protocol|read\w*|truncation|unpack)"
    r"(?:<[^(]*>)?\(([^)]*(?:: &(?:'\w+ )?\[u8(?:; \w+)?\]|: \[u8; \w+\]|\b(?:text|name): &str)[^)]*)\) *->"
    r"|fn (new)\(name: &str\) *->"
)
# Calls that take bytes from a connection, for which the name of the function around them does not matter.
TAKES = re.compile(r"\.(?:peek|read|read_exact)\((?:&mut |room|self\.channel)|(?<!fn )\brec(?:eive|vmsg)\(")
FUNCTION = re.compile(r"\bfn (\w+)")
# These readers are called by one in the table, or call one with the bytes that they are given; or drop the bytes; or
# read what this party has sealed itself.
INNER = {
    "crates/authenticated/src/forward.rs": {"unpack"},
    "crates/authenticated/src/packed.rs": {"unpack"},
    "crates/authenticated/src/secrets.rs": {"unpack"},
    "crates/circuits/src/bristol/read.rs": {"circuit"},
    "crates/engine/src/packed.rs": {"unpack"},
    "crates/engine/src/rates.rs": {"from_bytes"},
    "crates/fss/src/wire.rs": {"read"},
    "crates/gadgets/src/family/pools.rs": {"unpack"},
    "crates/he/src/dgk/public.rs": {"read"},
    "crates/he/src/paillier/public.rs": {"read"},
    "crates/he/src/scheme.rs": {"read", "read_key"},
    "crates/net/src/tcp/callers.rs": {"hang_up", "has_spoken", "without_answer"},
    "crates/net/src/tcp/connect.rs": {"is_open"},
    "crates/net/src/tcp/handshake.rs": {"linger", "read_some"},
    "crates/net/src/tcp/link.rs": {"read_once"},
    "crates/net/src/tcp/neighbours.rs": {"ask", "receive"},
    "crates/net/src/tcp/wire.rs": {"discard", "receive"},
    "crates/net/src/release.rs": {"named"},
    "crates/ot/src/base.rs": {"read_point"},
    "crates/pool/src/disk.rs": {"read", "read_at"},
    "crates/pool/src/folder.rs": {"read", "read_at"},
    "crates/protocols/src/lib.rs": {"named"},
    "crates/python/src/circuit.rs": {"read"},
    "crates/ring/src/module.rs": {"unpack"},
}


def rows() -> list[tuple[str, str, str]]:
    """Returns the functions, the file and the target of each row; without a target, an empty text."""
    return ROW.findall((FUZZ / "README.md").read_text(encoding="utf-8"))


def names(functions: str) -> list[str]:
    """Returns the names of functions, without their types."""
    return [name.split("::")[-1] for name in re.findall(r"`([\w:]+)`", functions)]


def readers_in(code: str) -> list[str]:
    """Returns the functions that are given bytes or a text, and called as readers are."""
    return [found[1] or found[3] for found in READER.finditer(code)]


def takers_in(code: str) -> list[str]:
    """Returns, for each call that takes bytes from a connection, the function around it."""
    return [FUNCTION.findall(code, 0, found.start())[-1] for found in TAKES.finditer(code)]


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
    assert len(rows()) >= 60
    for functions, file, _ in rows():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert names(functions), functions
        for name in names(functions):
            assert re.search(rf"fn {name}\b", text), f"{file} has no {name}"


def test_every_reader_of_bytes_has_a_row() -> None:
    listed = {(file, name) for functions, file, _ in rows() for name in names(functions)}
    listed |= {(file, name) for file, inner in INNER.items() for name in inner}
    readers: set[tuple[str, str]] = set()
    taking: set[tuple[str, str]] = set()
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        place = file.relative_to(ROOT).as_posix()
        if "testing" in place or place.endswith("tests.rs") or place.startswith("crates/bench/"):
            continue
        code = file.read_text(encoding="utf-8").split("#[cfg(test)]\n")[0]
        readers |= {(place, found) for found in readers_in(code)}
        if place.startswith("crates/net/"):
            taking |= {(place, found) for found in takers_in(code)}
    assert len(readers) >= 45 and len(taking) >= 12, f"looked at {len(readers)} and {len(taking)} functions only"
    assert (readers | taking) - listed == set(), "give each a fuzz target, and a row in fuzz/README.md"


def test_readers_of_any_name_are_found() -> None:
    text = """
        pub fn new(name: &str) -> Result<Name, Fault> { }
        fn new(fullname: &str) -> Name { }
        fn read<'a>(me: usize, bytes: &'a [u8]) -> Option<&'a [u8]> { }
        fn next(&self) -> Option<Caller> { (&*self.stream).read_exact(&mut reply).ok()?; receive(&self.stream) }
        fn receive(stream: &Stream) -> Option<u8> { }
    """
    assert readers_in(text) == ["new", "read"]
    assert takers_in(text) == ["next", "next"]


def test_the_instrumented_crates_are_those_with_targets() -> None:
    wrapper = (FUZZ / "instrumented.sh").read_text(encoding="utf-8")
    prefixes = {target.split("_")[0] for target in fuzzing.targets()}
    assert len(prefixes) == 11
    for prefix in prefixes:
        assert f"{prefix}_*" in wrapper, prefix
        assert f"quorate_{prefix} " not in wrapper, f"{prefix} is left out"
