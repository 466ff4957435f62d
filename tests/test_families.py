"""Only `crates/protocols` and the families themselves name families; all other code reads descriptors."""

from __future__ import annotations

import ast
import re
import subprocess
import time
from pathlib import Path

import pytest

import quorate as qr
from deploying import Deployment, error_of
from quorate._families import DEFAULT, FAMILIES, choices, description
from quorate.cli import main

ROOT = Path(__file__).resolve().parent.parent

#: Paths that may name a family: its crates, shares that two families have, the list of all, figures of one family, the
#: command with a default.
KNOWING = (
    "crates/authenticated/",
    "crates/protocols/",
    "crates/bench/src/peers.rs",
    "python/quorate/_bench/_scaling.py",
)


def code(text: str) -> str:
    """Returns Rust code without comments, and without the module of tests at its end."""
    return re.sub(r"//[^\n]*", "", text.split("#[cfg(test)]\nmod tests {")[0])


def names_in_rust(text: str) -> list[str]:
    """Yields places where Rust names a family: as text, crate or variant, or by the number of parties."""
    words = "|".join([*FAMILIES, *(name.capitalize() for name in FAMILIES)])
    named = rf'"(?:{"|".join(FAMILIES)})"|\bquorate_(?:{"|".join(FAMILIES)})\b|\bProtocol::(?:{words}|\*)'
    numbers = r"\bparties (?:==|!=) [0-9]+|\bmatch \w*\.?parties\b"
    return re.findall(f"{named}|{numbers}", code(text))


def names_in_python(text: str) -> list[str]:
    """Yields places where Python has a family's name outside of docstrings."""
    constants = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return [value for value in constants if value in FAMILIES]


def lists_in_python(text: str) -> list[str]:
    """Yields lists and tuples of two or more families' names: written by hand, they miss the next family."""
    rows = [node.elts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.List | ast.Tuple)]
    names = [[item.value for item in row if isinstance(item, ast.Constant)] for row in rows if len(row) > 1]
    return [str(row) for row in names if len(row) > 1 and set(row) <= set(FAMILIES)]


def _is_test(path: Path) -> bool:
    """Returns whether a module is declared for tests only."""
    parents = (path.with_name("lib.rs"), path.with_name("mod.rs"), path.parent.with_suffix(".rs"))
    declared = "".join(parent.read_text() for parent in parents if parent.exists())
    return path.name == "tests.rs" or f"#[cfg(test)]\nmod {path.stem};" in declared


def test_the_search_finds_what_it_looks_for() -> None:
    planted = 'use quorate_rss::Rss;\nlet p = Protocol::Aby; // "aby"\nif parties == 2 { "rss" }\nmatch cell.parties {}'
    assert names_in_rust(planted) == ["quorate_rss", "Protocol::Aby", "parties == 2", '"rss"', "match cell.parties"]
    assert names_in_rust('let x = 1;\n#[cfg(test)]\nmod tests {\n "rss" }') == []
    assert names_in_rust('#[cfg(test)]\nmod flow;\nlet x = "rss";') == ['"rss"']
    assert names_in_python('"""Of rss."""\nx = "rss"') == ["rss"]
    assert lists_in_python('for p in ("rss", "aby"): f(["rss"], ["aby", 2])') == ["['rss', 'aby']"]


def test_nothing_else_names_a_family() -> None:
    found, files = [], 0
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        place = path.relative_to(ROOT).as_posix()
        if place.split("/")[1] not in FAMILIES and not place.startswith(KNOWING) and not _is_test(path):
            files += 1
            found += [f"{place}: {name}" for name in names_in_rust(path.read_text())]
    for path in sorted(ROOT.glob("python/quorate/**/*.py")):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(KNOWING):
            files += 1
            found += [f"{place}: {name}" for name in names_in_python(path.read_text())]
    for path in sorted(ROOT.glob("tests/*.py")):
        if path.name != Path(__file__).name:
            files += 1
            found += [f"tests/{path.name}: {row}" for row in lists_in_python(path.read_text())]
    assert found == []
    assert files > 250


def test_the_first_family_is_the_default_and_every_one_opens() -> None:
    assert next(iter(FAMILIES)) == DEFAULT
    for name, family in FAMILIES.items():
        for parties in family.parties:
            with qr.local(name, parties=parties) as mpc:
                assert (mpc.protocol, mpc.parties) == (name, parties)
        assert name in description() and family.takes in description()


def test_the_family_that_hides_nothing_is_for_tests_alone() -> None:
    assert 'name: "clear"' in (ROOT / "crates" / "clear" / "src" / "lib.rs").read_text()
    assert "clear" not in FAMILIES
    with pytest.raises(qr.ConfigError, match="clear"):
        qr.local("clear", parties=1)


def test_the_command_prints_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols"]) == 0
    printed = capsys.readouterr().out
    assert all(family.name in printed and family.about in printed for family in FAMILIES.values())
    assert all(option.name in printed and option.listed in printed for option in choices().values())


@pytest.mark.parametrize("name", choices())
def test_options_go_to_the_families_that_have_them(name: str) -> None:
    option = choices()[name]
    for protocol, family in FAMILIES.items():
        for value in option.values:
            if option in family.options or value == option.values[0]:
                continue  # other tests try values of their own
            with pytest.raises(qr.ConfigError, match=f'{protocol}" has no use for it'):
                qr.local(protocol, **{name: value})
        with pytest.raises(qr.ConfigError, match=option.values[1]):
            qr.local(protocol, **{name: "nothing of the kind"})


def test_options_of_another_family_are_refused_before_anybody_is_met(tmp_path: Path) -> None:
    file = Deployment(tmp_path, parties=2).config(0)
    file.write_text(file.read_text().replace('"rss"', '"aby"'))
    started = time.monotonic()
    with pytest.raises(qr.ConfigError, match='forms="masked" is for the protocol "rss"'):
        qr.connect(file, forms="masked")
    assert time.monotonic() - started < 20  # other parties may wait


def test_parties_choose_their_familys_options_alike(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    script = deployment.script(
        "x = mpc.input([3, -4] if mpc.me == 0 else None, owner=0, shape=2, dtype=qr.int(64))\nprint((x * x).reveal())"
    )
    try:
        for forms, right in ((["masked"] * 3, True), (["masked", "masked", "auto"], False)):
            started = [
                deployment.start(me, script, "--session", "one", "--forms", form) for me, form in enumerate(forms)
            ]
            ended = [party.end() for party in started]
            assert [e.status for e in ended] == [0 if right else 1] * 3, ended
            if right:
                assert all("[ 9 16]" in e.out for e in ended)
                continue
            assert "party 2 chose forms=auto, this party forms=masked" in error_of(ended[0])
            assert "party 0 chose forms=masked, this party forms=auto" in error_of(ended[2])
    finally:
        deployment.stop()


@pytest.mark.parametrize("features", [[], ["--features", "testing"]])
def test_only_what_is_built_for_tests_has_a_dealer_that_hides_nothing(features: list[str]) -> None:
    tree = [
        "cargo",
        "tree",
        "--locked",
        "--package",
        "quorate-python",
        "--edges",
        "normal",
        "--format",
        "{p} [{f}]",
        *features,
    ]
    built = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "quorate-rss" in built
    # Wheels have the features of pyproject.toml, and no others.
    assert 'features = ["pyo3/extension-module"]' in (ROOT / "pyproject.toml").read_text()
    assert "maturin build --release --out dist\n" in (ROOT / "Makefile").read_text()
    for crate in ("quorate-spdz2k", "quorate-ot", "quorate-engine", "quorate-crypto"):
        assert bool(re.search(rf"{crate} .*\[testing\]", built)) == bool(features), crate
