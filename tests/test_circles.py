"""Files of a crate import one another in a circle only where they are one idea.

An arrow goes from a file to the file that defines what it names: by `crate::`, `super::` or `self::`, by a module's
bare name or an imported one, through re-exports and globs. A file and a part of it (`a` and `a/b`) are one room: they
may name one another, unless the way back leads through a third file. What a file names only to hand it on is no arrow.

The search does not see calls of methods whose type a file does not name, nor what macros of other files expand to. It
leaves out what only tests have, and takes each file at its own place: `#[path]`, by which a build for tests replaces a
file by another (such as `mod` items with `cfg(feature = "testing")`), is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"

Module = tuple[str, ...]
Arrows = dict[Module, set[Module]]

#: The circles that there may be, by crate: the files, without `src/` and `.rs`, and the one idea that they are.
ALLOWED: dict[str, dict[str, str]] = {
    "aby": {"setup yao/ahead yao/circuits": "a party holds what it garbled ahead, which is garbled as that party"},
    "authenticated": {"party source": "a party holds what makes its correlations, which sends as that party"},
    "bench": {
        "cell error set": "a cell is a workload of a set; an error names the cell or set that it is about",
        "operands task": "a task and the operands that it runs on",
    },
    "crypto": {
        "half_gates tccr wide": "half gates and their hash, in one block or in several at once",
        "prg seed tape": "seeds, their generators, and the stand-in for the tapes that replace both in tests",
    },
    "engine": {
        "calibrate rates": "the rates of a machine, and their measurement",
        "crew scheduler": "the schedulers of a party's workers, and what they share",
    },
    "fss": {
        "hash kernel kernel/check kernel/grow kernel/portable kernel/sums": (
            "the hash of trees, and its kernels: the hash chooses a kernel, and each runs with its keys"
        ),
        "keys wire": "keys, and their bytes",
    },
    "gadgets": {
        "compare convert decompose equality extremum floor_div int_div int_div/digits int_div/magnitudes lib "
        "order real/cubic real/float real/local real/onehot scale select trunc_prob truncate widen": (
            "the gadgets, which call one another as methods of the trait `Gadgets` in `lib.rs`"
        ),
        "functions real real/bounded real/fine_quotient real/logarithm real/long_quotient real/power real/quotient "
        "real/roots real/softmax": "the functions of reals, which are methods of the trait `Functions`",
    },
    "graph": {
        "build build/coerce build/linear": "the builder, whose methods fill several files",
        "dtype error keep": "what a dtype refuses is a fault; a fault and its advice name dtypes",
        "graph in_bits ready repetitions": "a graph, and what it remembers of its steps: circuits and counts",
        "hash node": "a node, and the hash of what makes it",
    },
    "session": {"party/job party/part": "requests are commands; a request may make a branch, which takes commands"},
    "ot": {"softspoken softspoken/check softspoken/columns": "a batch of extended OTs: its columns, and their check"},
    "ring": {
        "limbs vector word": "vectors, and the words of one or several limbs that they hold",
        "memory shortage": "large allocations, and what happens where memory is short",
    },
}

#: What is no code: strings (raw ones, too), characters and comments.
_NO_CODE = re.compile(r'r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TEST = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:mod (\w+)\s*;)?")
_ITEM = re.compile(
    r"(?:fn|struct|enum|union|trait|impl|mod|use|const|static|type|unsafe|async|extern|let|macro_rules)\b"
)
_FIELD = re.compile(r"\w+\s*:(?!:)")
_USE = re.compile(r"(?:\b(pub)(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:$])\$?\w+(?:\s*::\s*\w+)+")
_DEFINED = re.compile(
    r"\b(?:fn|struct|enum|union|trait|const(?!\s+(?:unsafe\s+)?fn\b)|static(?:\s+mut)?|type|mod|macro_rules!)\s+(\w+)"
)


def end_of_item(text: str, start: int) -> int:
    """Returns the end of what begins at `start`.

    An item or statement ends at its semicolon, or at the brace that closes its first one. A field, a variant or an arm
    may also end at a comma, or before what closes the list of them.
    """
    is_item, is_field = _ITEM.match(text, start), _FIELD.match(text, start)
    opening, closing = ("{([<", "})]>") if is_field else ("{([", "})]")
    depth = 0
    for at in range(start, len(text)):
        if depth == 0 and (text[at] == ";" or (text[at] == "," and not is_item)):
            return at + 1
        if text[at] in closing and text[at - 1 : at + 1] not in ("->", "=>"):
            if depth == 0:
                return at
            depth -= 1
            if depth == 0 and text[at] == "}":
                return at + 1
        depth += text[at] in opening
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


def parts(group: str) -> Iterator[str]:
    """Yields the parts of a group of paths, which are separated by commas; groups within it stay whole."""
    depth, part = 0, ""
    for letter in group:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield part
            part = ""
        else:
            part += letter
    yield part


def imports_in(tree: str) -> Iterator[tuple[str, str]]:
    """Yields the paths of a tree such as `crate::{a::B, c::{D as E, self}}`, each with the name that it gets."""
    head, brace, group = tree.partition("{")
    if brace:
        for part in filter(None, map(str.strip, parts(group.rstrip()[:-1]))):
            yield from imports_in(head + part)
        return
    path, _, name = re.sub(r"\s*::\s*", "::", tree.strip()).partition(" as ")
    path = path.strip().removesuffix("::self")
    yield path, name.strip() or path.rpartition("::")[2]


class Files:
    """The code of each module of a crate that has a file, without the files of tests, and what its names stand for."""

    def __init__(self, code: dict[Module, str]) -> None:
        self.modules = code.keys()
        self.code = {module: _USE.sub(" ", text) for module, text in code.items()}
        self.defined = {module: set(_DEFINED.findall(text)) for module, text in self.code.items()}
        self.imports: dict[Module, dict[str, Module]] = {module: {} for module in code}
        self.globs: dict[Module, list[Module]] = {module: [] for module in code}
        self.exported: dict[Module, set[str]] = {module: set() for module in code}
        for module, text in code.items():
            for public, tree in _USE.findall(text):
                for path, name in imports_in(tree):
                    self._add(module, bool(public), path, name)

    def _add(self, module: Module, public: bool, path: str, name: str) -> None:
        target = self.absolute(module, path.split("::"))
        if target and name == "*":
            self.globs[module].append(target[:-1])
        elif target:
            self.imports[module][name] = target
            if public:
                self.exported[module].add(name)

    def absolute(self, module: Module, names: list[str]) -> Module | None:
        """Returns the path from the crate's root of what a module calls `names`, and `None` for another crate's."""
        first = names[0].lstrip("$")
        if first in ("crate", "self", "super"):
            base = () if first == "crate" else module
            while names and names[0].lstrip("$") in ("crate", "self", "super"):
                base, names = base[:-1] if names[0] == "super" else base, names[1:]
            return (*base, *names)
        if (*module, first) in self.modules:
            return (*module, *names)
        known = self.imports.get(module, {}).get(first)
        return (*known, *names[1:]) if known else None

    def home(self, path: Module, seen: frozenset[Module] = frozenset()) -> Module | None:
        """Returns the module whose file defines what is at `path`; `None` if that is a module, or nothing known."""
        module = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in self.modules)
        rest = path[len(module) :]
        if not rest or path in seen:
            return None
        if rest[0] in self.defined[module]:
            return module
        if rest[0] in self.imports[module]:
            return self.home((*self.imports[module][rest[0]], *rest[1:]), seen | {path})
        homes = (self.home((*glob, *rest), seen | {path}) for glob in self.globs[module])
        return next((home for home in homes if home is not None), None)

    def used(self, module: Module) -> Iterator[Module]:
        """Yields the absolute path of everything of this crate that a module's file names outside re-exports."""
        code = self.code[module]
        for name, path in self.imports[module].items():
            is_of_a_part = path[: len(module)] == module
            if not (name in self.exported[module] and is_of_a_part) or re.search(rf"\b{name}\b", code):
                yield path
        for found in _PATH.findall(code):
            if target := self.absolute(module, re.split(r"\s*::\s*", found)):
                yield target
        words = set(re.findall(r"\w+", code)) if self.globs[module] else set()
        for glob in self.globs[module]:
            yield from ((*glob, word) for word in words)


def files_of(source: Path) -> Files:
    """Returns the files of a crate."""
    found: dict[Module, str] = {}
    tests: set[Module] = set()
    for path in sorted(source.rglob("*.rs")):
        names = path.relative_to(source).with_suffix("").parts
        module = names[:-1] if names[-1] in ("mod", "lib", "main") else names
        found[module], of_tests = code_of(path.read_text(encoding="utf-8"))
        tests |= {(*module, name) for name in of_tests}
    return Files({m: code for m, code in found.items() if not any(m[: len(test)] == test for test in tests)})


def arrows_of(files: Files) -> Arrows:
    """Returns the other modules whose files each uses.

    A file and a part of it are one room: an arrow between them counts only where the way back leads through a third.
    """
    arrows: Arrows = {}
    for module in files.modules:
        homes = {files.home(path) for path in files.used(module)}
        arrows[module] = {home for home in homes if home is not None} - {module}

    def leads_back(start: Module, end: Module) -> bool:
        seen, open_ = {start}, [other for other in arrows[start] if other != end]
        while open_:
            at = open_.pop()
            if at not in seen:
                seen.add(at)
                open_ += arrows[at]
        return end in seen

    def is_in_one_room(a: Module, b: Module) -> bool:
        return a[: len(b)] == b or b[: len(a)] == a

    return {m: {t for t in targets if not is_in_one_room(m, t) or leads_back(t, m)} for m, targets in arrows.items()}


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
    return " ".join(sorted("/".join(module) or "lib" for module in circle))


def test_files_import_one_another_only_where_they_are_one_idea() -> None:
    files = arrows = 0
    differences: list[str] = []
    for crate in sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml")):
        found = arrows_of(files_of(CRATES / crate / "src"))
        files, arrows = files + len(found), arrows + sum(map(len, found.values()))
        circles, allowed = {shown(circle) for circle in circles_of(found)}, ALLOWED.get(crate, {}).keys()
        differences += [f"{crate}: a new circle of files: {circle}" for circle in sorted(circles - allowed)]
        differences += [f"{crate}: a listed circle is gone: {circle}" for circle in sorted(allowed - circles)]
    assert not differences, "\n".join(differences)
    assert files >= 500 and arrows >= 1500, f"looked at {files} files with {arrows} arrows"
    assert all(reason for circles in ALLOWED.values() for reason in circles.values())


def read(texts: dict[str, str]) -> Files:
    """Returns the files of a crate whose texts are given by their modules' paths."""
    return Files({tuple(filter(None, name.split("::"))): code_of(text)[0] for name, text in texts.items()})


def test_the_search_reads_all_ways_to_write_an_import() -> None:
    text = """
        use crate::{a::B, c::{self, D as E}}; // use crate::comment;
        use super::next::f; /* crate::block */
        use child::{k, self as other};
        const S: &str = "crate::string";
        #[cfg(test)]
        mod tests;
        #[cfg(test)]
        mod more { use crate::unit; fn f() { } }
        fn g() -> crate::inline::T { self::child::h(); child::i(); c::j(E::new()) + other::l()
            crate
                ::broken
                ::over_lines() }
    """
    code, tests = code_of(text)
    assert tests == {"tests"}
    files = Files({("x", "y"): code, ("x", "y", "child"): ""})
    paths = {"::".join(path) for path in files.used(("x", "y"))}
    assert paths - {"c", "x::y::child"} == {"a::B", "c::D", "c::D::new", "c::j", "x::next::f", "inline::T"} | {
        f"x::y::child::{name}" for name in "hikl"
    } | {"broken::over_lines"}


def test_the_search_leaves_out_what_only_tests_have() -> None:
    cases = {
        "struct S { #[cfg(test)] seen: Map<crate::A, crate::B>, kept: u8 }": "struct S {  kept: u8 }",
        "struct S { #[cfg(test)] pub seen: crate::A }\nfn f() { }": "struct S { }\nfn f() { }",
        "enum E { #[cfg(test)] A(crate::A), B }": "enum E {  B }",
        "enum E { #[cfg(test)] A { a: crate::A }, B }": "enum E { , B }",
        "match e { #[cfg(test)] A(a) if a < 1 => crate::a(a, 1), B => 1 }": "match e {  B => 1 }",
        "#[cfg(test)] fn f<A, B>(a: [A; 2]) -> B { crate::a(a) } fn g() { }": " fn g() { }",
        "#[cfg(test)] let a: [u8; 2] = crate::a(); b()": " b()",
    }
    for text, kept in cases.items():
        assert re.sub(r"[ \n]+", " ", code_of(text)[0]) == re.sub(r"[ \n]+", " ", kept), text


def test_the_search_finds_where_a_re_exported_name_is_defined() -> None:
    files = read(
        {
            "": "mod a; mod b; mod c; pub use b::{B, inner::J as K}; pub use c::*; pub const HERE: u8 = 1;",
            "a": "use crate::{B, HERE, K}; use crate::In; fn f() { crate::b::J::new() }",
            "b": "mod inner; pub use inner::J; pub struct B;",
            "b::inner": "pub struct J; use super::*; fn f() -> B { }",
            "c": "pub struct In;",
        }
    )
    arrows = arrows_of(files)
    assert arrows[("a",)] == {("b",), ("b", "inner"), ("c",)}
    assert {files.home(path) for path in files.used(("a",))} == {*arrows[("a",)], ()}
    assert files.home(("b", "inner", "B")) == ("b",)


def test_the_search_finds_circles() -> None:
    files = read(
        {
            "a": "use crate::b::f; pub fn h() { }",
            "b": "use crate::c::g; pub fn f() { }",
            "c": "use super::a::h; pub fn g() { }",
            "d": "mod inner; use crate::a::h; use inner::i; pub struct J;",
            "d::inner": "use super::J; pub fn i() { }",
            "e": "mod one; mod two; use one::f; use two::g; pub struct J;",
            "e::one": "use super::{J, two::g}; pub fn f() { }",
            "e::two": "use super::J; pub fn g() { }",
        }
    )
    assert {shown(circle) for circle in circles_of(arrows_of(files))} == {"a b c", "e e/one e/two"}
