"""Only `crates/protocols` and the families themselves know which families there are; all else reads descriptors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import quorate as qr
from quorate._families import DEFAULT, FAMILIES, choices, table

ROOT = Path(__file__).resolve().parent.parent

#: What may name a family: its crates, the list of all, figures that are of one, the command that picks a default.
KNOWING = ("crates/protocols/", "crates/bench/src/peers.rs", "python/quorate/_scaling.py")


def code(text: str) -> str:
    """Rust without comments, and without the tests at its end."""
    return re.sub(r"//[^\n]*", "", text.split("#[cfg(test)]\nmod ")[0])


def naming_rust() -> Iterator[str]:
    words = "|".join([*FAMILIES, *(name.capitalize() for name in FAMILIES)])
    named = re.compile(rf'"(?:{"|".join(FAMILIES)})"|\bquorate_(?:{"|".join(FAMILIES)})\b|\bProtocol::(?:{words})\b')
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text()
        is_test = place.endswith("tests.rs") or f"#[cfg(test)]\nmod {path.stem};" in _parent(path)
        if place.split("/")[1] not in FAMILIES and not place.startswith(KNOWING) and not is_test:
            yield from (f"{place}: {found}" for found in named.findall(code(text)))


def _parent(path: Path) -> str:
    """The text that declares the module."""
    parents = (path.with_name("lib.rs"), path.with_name("mod.rs"), path.parent.with_suffix(".rs"))
    return "".join(parent.read_text() for parent in parents if parent.exists())


def naming_python() -> Iterator[str]:
    for path in sorted(ROOT.glob("python/quorate/**/*.py")):
        place = path.relative_to(ROOT).as_posix()
        names = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        found = [f"{place}: {name}" for name in names if name in FAMILIES]
        yield from (found if not place.startswith(KNOWING) else ())


def test_nothing_else_names_a_family() -> None:
    assert [*naming_rust(), *naming_python()] == []


def test_the_first_family_is_the_default_and_every_one_opens() -> None:
    assert next(iter(FAMILIES)) == DEFAULT
    for name, family in FAMILIES.items():
        for parties in family.parties:
            with qr.local(name, parties=parties) as mpc:
                assert (mpc.protocol, mpc.parties) == (name, parties)
        assert name in table() and family.takes in table()


@pytest.mark.parametrize("name", choices())
def test_options_go_to_the_families_that_have_them(name: str) -> None:
    option = choices()[name]
    for protocol, family in FAMILIES.items():
        for value in option.values:
            if option in family.options or value == option.values[0]:
                continue  # values of their own are tried by other tests, since keys take seconds
            with pytest.raises(qr.ConfigError, match=f'{protocol}" has no use for it'):
                qr.local(protocol, **{name: value})
        with pytest.raises(qr.ConfigError, match=option.values[1]):
            qr.local(protocol, **{name: "nothing of the kind"})
