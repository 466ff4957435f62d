"""The crates depend on each other exactly as docs/architecture.md draws it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DRAWING = ROOT / "docs" / "architecture.md"
PREFIX = "quorate-"

#: Crates of tests alone: an adversary, and the sources of families compiled with it; threads whose order tests choose,
#: and sources compiled with them; a family that hides nothing. They are not drawn.
ATTACKED = {"attacked-authenticated", "attacked-spdz2k", "attacked-pika"}
SCHEDULED = {"scheduled-engine", "scheduled-net"}
FOR_TESTS = {"cheats", "clear", "scheduled-session", "scheduled-sync"} | ATTACKED | SCHEDULED

Arrows = dict[str, set[str]]


def drawn_arrows(text: str) -> Arrows:
    """Reads the mermaid drawing: `a --> b` is an arrow, `a["label"]` declares a crate without arrows of its own."""
    block = re.search(r"```mermaid\n(.*?)```", text, re.DOTALL)
    assert block, "docs/architecture.md has no mermaid drawing"
    arrows: Arrows = {}
    for line in block.group(1).splitlines()[1:]:
        if arrow := re.fullmatch(r"\s*(\w+) --> (\w+)\s*", line):
            source, target = (name.rstrip("_") for name in arrow.groups())  # `graph` is a word of mermaid's
            arrows.setdefault(source, set()).add(target)
            arrows.setdefault(target, set())
        elif node := re.fullmatch(r'\s*(\w+)\["\w+"\]\s*', line):
            arrows.setdefault(node.group(1).rstrip("_"), set())
        else:
            assert not line.strip(), f"a line of the drawing that this test cannot read: {line!r}"
    return arrows


def built_arrows(metadata: dict) -> Arrows:
    """The normal and build dependencies between the workspace's crates; development dependencies may go anywhere."""
    members = set(metadata["workspace_members"])
    packages = [p for p in metadata["packages"] if p["id"] in members]
    names = {p["name"] for p in packages}
    return {
        p["name"].removeprefix(PREFIX): {
            d["name"].removeprefix(PREFIX) for d in p["dependencies"] if d["name"] in names and d["kind"] != "dev"
        }
        for p in packages
    }


def differences(drawn: Arrows, built: Arrows) -> list[str]:
    """Returns a line for each difference between the two."""
    lines = [f"crate {c} exists and is not drawn" for c in sorted(built.keys() - drawn.keys())]
    lines += [f"crate {c} is drawn and does not exist" for c in sorted(drawn.keys() - built.keys())]
    for crate in sorted(built.keys() & drawn.keys()):
        lines += [f"new arrow {crate} -> {t}" for t in sorted(built[crate] - drawn[crate])]
        lines += [f"drawn arrow {crate} -> {t} is not in the code" for t in sorted(drawn[crate] - built[crate])]
    return lines


@pytest.fixture(scope="module")
def metadata() -> dict:
    """Returns cargo's metadata of the workspace, without its dependencies."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_crates_depend_as_drawn(metadata: dict) -> None:
    folders = {p.parent.name for p in (ROOT / "crates").glob("*/Cargo.toml")}
    built = built_arrows(metadata)
    assert len(built) >= len(folders) >= 8, f"saw {len(built)} crates of {len(folders)} folders: {sorted(folders)}"
    ships = {crate: targets for crate, targets in built.items() if crate not in FOR_TESTS}
    assert not differences(drawn_arrows(DRAWING.read_text(encoding="utf-8")), ships)


def test_nothing_that_ships_depends_on_a_crate_of_tests(metadata: dict) -> None:
    built = built_arrows(metadata)
    assert built.keys() >= FOR_TESTS
    for crate, targets in built.items():
        assert crate in FOR_TESTS or not targets & FOR_TESTS, crate
    reached, new = set(), {"python"}
    while new:
        reached, new = reached | new, {target for crate in new for target in built[crate]} - reached
    assert {*(crate.removeprefix("attacked-") for crate in ATTACKED), "adversary"} <= reached
    assert not reached & FOR_TESTS
    assert not built["clear"] & FOR_TESTS and built["clear"] <= built["rss"], "a template needs no more than a family"


def test_crates_of_tests_have_the_sources_and_the_dependencies_of_those_that_ship(metadata: dict) -> None:
    packages = {p["name"].removeprefix(PREFIX): p for p in metadata["packages"]}
    library = {
        crate: next((Path(t["src_path"]) for t in package["targets"] if "lib" in t["kind"]), None)
        for crate, package in packages.items()
    }

    def needed(crate: str) -> set[str]:
        found = (d for d in packages[crate]["dependencies"] if d["kind"] is None)
        return {(d["rename"] or d["name"]) for d in found}

    for crate in sorted(ATTACKED | SCHEDULED):
        ships = crate.split("-", 1)[1]
        paths = [library[name] for name in (ships, crate)]
        assert None not in paths and len({path.resolve() for path in paths if path}) == 1
        assert needed(crate) - {PREFIX + "adversary"} == needed(ships) - {PREFIX + "adversary"}


def test_every_crate_is_named_after_its_folder(metadata: dict) -> None:
    for package in metadata["packages"]:
        assert package["name"] == PREFIX + Path(package["manifest_path"]).parent.name


def test_no_cycle_is_drawn() -> None:
    left = drawn_arrows(DRAWING.read_text(encoding="utf-8"))
    assert len(left) >= 8
    while left:
        leaves = {c for c, targets in left.items() if not targets & left.keys()}
        assert leaves, f"a cycle among {sorted(left)}"
        left = {c: t for c, t in left.items() if c not in leaves}


def test_every_crate_has_a_line_in_the_table() -> None:
    text = DRAWING.read_text(encoding="utf-8")
    crates = drawn_arrows(text).keys()
    assert len(crates) >= 20, f"looked at {len(crates)} crates only"
    assert [crate for crate in crates if f"| `crates/{crate}` |" not in text] == []


def test_the_comparison_sees_each_kind_of_difference() -> None:
    drawn = {"a": {"b"}, "b": set(), "old": set()}
    assert differences(drawn, {"a": {"b"}, "b": set(), "old": set()}) == []
    assert differences(drawn, {"a": {"b"}, "b": {"a"}, "old": set()}) == ["new arrow b -> a"]
    assert differences(drawn, {"a": set(), "b": set(), "old": set()}) == ["drawn arrow a -> b is not in the code"]
    assert differences(drawn, {"a": {"b"}, "b": set()}) == ["crate old is drawn and does not exist"]
    assert differences({"a": {"b"}, "b": set()}, drawn) == ["crate old exists and is not drawn"]


#: The folders of `crates/session/src`, from the top: a file may use items of its own folder and of folders below.
FOLDERS = ("session", "party", "plan", "run", "memory", "pool", "work")


def folders_used(text: str) -> set[str]:
    """Returns the folders that a file of the crate uses, in any way to write it."""
    grouped = [name for group in re.findall(r"crate::\{([^}]*)\}", text) for name in re.findall(r"(\w+)", group)]
    return {*re.findall(r"crate::(\w+)", text), *grouped} & set(FOLDERS)


def test_no_arrow_between_the_folders_of_session_goes_up() -> None:
    assert folders_used("use crate::{plan, work::Work};\nlet x = crate::party::y;") == {"plan", "work", "party"}
    source = ROOT / "crates" / "session" / "src"
    assert {path.parent.relative_to(source).parts[0] for path in source.glob("*/*.rs")} == set(FOLDERS)
    arrows = 0
    for path in source.rglob("*.rs"):
        folder = path.relative_to(source).parts[0]
        above = set(FOLDERS[: FOLDERS.index(folder)]) if folder in FOLDERS else set()
        used = folders_used(path.read_text())
        arrows += len(used - {folder})
        assert not used & above, f"{path.relative_to(source)} uses what is above it"
        assert "super::super::" not in path.read_text(), path
    assert arrows > 60


def features(*chosen: str) -> set[str]:
    """Returns the crates of the workspace that cargo builds for these arguments, each with its features."""
    command = ["cargo", "tree", *chosen, "--prefix", "none", "--format", "{p} {f}", "--locked"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.removesuffix(" (*)") for line in lines if line.startswith(PREFIX)}


def test_no_wheel_has_what_only_tests_and_benchmarks_use() -> None:
    shipped = features("--package", "quorate-python", "--edges", "normal,build")
    assert len(shipped) > 15
    assert not [line for line in shipped if re.search(r"testing|readers|replay", line)]


def test_the_module_for_tests_is_built_from_what_the_rust_tests_are() -> None:
    """A crate with other features is built twice, with all that stand on it: the session is the slowest to build."""
    tests = features("--workspace", "--features", "quorate-python/testing", "--edges", "normal,build,dev")
    module = features("--package", "quorate-python", "--features", "testing", "--edges", "normal,build")
    assert len(module) > 15
    assert sorted(module - tests) == []
