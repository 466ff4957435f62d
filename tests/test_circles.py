"""Files of a crate import one another in a circle only where they are one idea."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"

Module = tuple[str, ...]
Arrows = dict[Module, set[Module]]

#: The circles that there may be, by crate: the files, without `src/` and `.rs`, and the one idea that they are.
ALLOWED: dict[str, dict[str, str]] = {
    "authenticated": {"party source": "a party holds what makes its correlations, which sends as that party"},
    "bench": {
        "cell error set": "a cell is a workload of a set; an error names the cell or set that it is about",
        "operands task": "a task and the operands that it runs on",
    },
    "crypto": {
        "half_gates tccr wide": "half gates and their hash, in one block or in several at once",
        "prg tape": "the generator, and the reading of its stream at any place",
    },
    "engine": {
        "calibrate rates": "the rates of a machine, and their measurement",
        "lane_table probe": "the messages of lanes, and their replacement in tests",
    },
    "fss": {
        "hash kernel": "the hash of trees, in several blocks at once",
        "kernel/check kernel/portable": "the portable kernel, and its hash of the verified form",
        "keys wire": "keys, and their bytes",
    },
    "gadgets": {
        "real/fine_quotient real/long_quotient real/quotient": "the quotient of reals: one digit, two digits, or more",
    },
    "graph": {
        "dtype error keep": "what a dtype refuses is a fault; a fault and its advice name dtypes",
        "graph in_bits ready repetitions": "a graph, and what it remembers of its steps: circuits and counts",
        "hash node": "a node, and the hash of what makes it",
    },
    "ring": {
        "limbs vector word": "vectors, and the words of one or several limbs that they hold",
        "memory shortage": "large allocations, and what happens where memory is short",
    },
}

#: What is no code: strings (raw ones, too), characters and comments.
_NO_CODE = re.compile(r'r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TEST = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:mod (\w+)\s*;)?")
_PATH = re.compile(r"(?<![\w:$])(?:crate|super|self)(?:(?:::\w+)+(?:::\{)?|::\{)")


def end_of_item(text: str, start: int) -> int:
    """Returns the end of the item that begins at `start`: a semicolon, or the brace that closes its first one."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == ";" and depth == 0:
            return at + 1
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if text[at] == "}" and depth == 0:
            return at + 1
    return len(text)


def code_of(text: str) -> tuple[str, set[str]]:
    """Returns a file's code without strings, comments and tests, and the names of its modules of tests."""
    text, tests = _NO_CODE.sub(" ", text), set()
    while found := _TEST.search(text):
        if found.group(1):
            tests.add(found.group(1))
        end = found.end() if found.group(1) else end_of_item(text, found.end())
        text = text[: found.start()] + text[end:]
    return text, tests


def group_end(text: str, start: int) -> int:
    """Returns the place behind the brace that closes the group whose first character is at `start`."""
    depth, at = 1, start
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def parts(group: str) -> Iterator[str]:
    """Yields the parts of a group of paths, which are separated by commas; groups within it stay whole."""
    depth, part = 0, ""
    for letter in group:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    yield part.strip()


def paths_in(tree: str) -> Iterator[str]:
    """Yields the paths of a tree such as `crate::{a::B, c::{D, self}}`."""
    head, brace, group = tree.partition("::{")
    if not brace:
        yield tree.split(" as ")[0].strip()
        return
    for part in parts(group[: group_end(group, 0) - 1]):
        yield from paths_in(f"{head}::{part}") if part not in ("", "self") else (head,)


def used(code: str, module: Module) -> Iterator[Module]:
    """Yields the absolute path of everything that a module's code names by `crate::`, `self::` or `super::`."""
    for found in _PATH.finditer(code):
        tree = found.group()
        if tree.endswith("{"):
            tree += code[found.end() : group_end(code, found.end())]
        for path in paths_in(re.sub(r"\s+", " ", tree)):
            names = path.split("::")
            base = () if names[0] == "crate" else module
            while names and names[0] in ("crate", "self", "super"):
                base = base[:-1] if names.pop(0) == "super" else base
            yield (*base, *names)


def modules_of(source: Path) -> dict[Module, str]:
    """Returns the code of each module of a crate that has a file, without the files of tests."""
    found: dict[Module, str] = {}
    tests: set[Module] = set()
    for path in sorted(source.rglob("*.rs")):
        names = path.relative_to(source).with_suffix("").parts
        module = names[:-1] if names[-1] in ("mod", "lib", "main") else names
        found[module], of_tests = code_of(path.read_text(encoding="utf-8"))
        tests |= {(*module, name) for name in of_tests}
    return {m: code for m, code in found.items() if not any(m[: len(test)] == test for test in tests)}


def arrows_of(modules: dict[Module, str]) -> Arrows:
    """Returns the other modules that each uses. A module may use those that it is a part of, which is no arrow."""
    arrows: Arrows = {}
    for module, code in modules.items():
        arrows[module] = set()
        for path in used(code, module):
            target = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in modules), ())
            if target != module[: len(target)]:
                arrows[module].add(target)
    return arrows


def circles_of(arrows: Arrows) -> set[frozenset[Module]]:
    """Returns the sets of modules that reach one another."""
    reached = {module: set(targets) for module, targets in arrows.items()}
    for through in arrows:
        for targets in reached.values():
            if through in targets:
                targets |= reached[through]
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in arrows
        if module in reached[module]
    }


def shown(circle: frozenset[Module]) -> str:
    """Returns the names of a circle's files, in order."""
    return " ".join(sorted("/".join(module) for module in circle))


def test_files_import_one_another_only_where_they_are_one_idea() -> None:
    files = arrows = 0
    differences: list[str] = []
    for crate in sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml")):
        found = arrows_of(modules_of(CRATES / crate / "src"))
        files, arrows = files + len(found), arrows + sum(map(len, found.values()))
        circles, allowed = {shown(circle) for circle in circles_of(found)}, ALLOWED.get(crate, {}).keys()
        differences += [f"{crate}: a new circle of files: {circle}" for circle in sorted(circles - allowed)]
        differences += [f"{crate}: a listed circle is gone: {circle}" for circle in sorted(allowed - circles)]
    assert not differences, "\n".join(differences)
    assert files >= 500 and arrows >= 1500, f"looked at {files} files with {arrows} arrows"
    assert all(reason for circles in ALLOWED.values() for reason in circles.values())


def test_the_search_reads_all_ways_to_write_an_import() -> None:
    text = """
        use crate::{a::B, c::{self, D as E}}; // use crate::comment;
        use super::next::f; /* crate::block */
        const S: &str = "crate::string";
        #[cfg(test)]
        mod tests;
        #[cfg(test)]
        mod more { use crate::unit; fn f() { } }
        fn g() -> crate::inline::T { self::child::h() }
    """
    code, tests = code_of(text)
    assert tests == {"tests"}
    paths = {"::".join(path) for path in used(code, ("x", "y"))}
    assert paths == {"a::B", "c", "c::D", "x::next::f", "inline::T", "x::y::child::h"}


def test_the_search_finds_circles() -> None:
    modules = {
        ("a",): "use crate::b::f;",
        ("b",): "use crate::c::g;",
        ("c",): "use super::a::h;",
        ("d",): "use crate::a::h; use crate::d::inner::i;",
        ("d", "inner"): "use super::J;",
    }
    assert {shown(circle) for circle in circles_of(arrows_of(modules))} == {"a b c"}
