"""The distribution: its name and version, licences of its parts, and packages that messages say to install."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import quorate as qr
from test_guards import tracked

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = "quorate-mpc"
ME = Path(__file__).resolve()

_WORD = r"(?:'[^'\s]+'|[\w./*\[\],>=<~-]+)"
INSTALLS = re.compile(rf"pip install ({_WORD}(?: {_WORD})*)")


def installed(text: str) -> list[str]:
    """Returns the requirements that a line says to install."""
    given = [word.strip("'\"") for match in INSTALLS.findall(text) for word in match.split()]
    return [word for word in given if not word.startswith("-")]


def registered(requirement: str) -> str:
    """Returns the name that a registry would look up; none for a file or a folder."""
    is_place = "/" in requirement or requirement.endswith((".whl", "."))
    return "" if is_place else re.split(r"[\[>=<~!]", requirement)[0].lower()


def test_nothing_says_to_install_what_somebody_else_calls_quorate() -> None:
    """`quorate` on the registry is another program, and Quorate is not registered there."""
    history = ROOT / "CHANGELOG.md"
    files = [file for file in tracked(".py", ".md", ".rs", ".toml", ".pyi", "Makefile") if file not in (ME, history)]
    said = {
        f"{file.relative_to(ROOT)}: {requirement}": registered(requirement)
        for file in files
        for requirement in installed(file.read_text(encoding="utf-8"))
    }
    assert len(said) >= 12, said
    assert [where for where, name in said.items() if name.startswith("quorate")] == []


def test_what_is_said_to_be_missing_is_what_is_imported() -> None:
    """Every message of the package names libraries that this project can use."""
    used = {registered(wanted) for extra in PROJECT["optional-dependencies"].values() for wanted in extra}
    used |= {"torch", "onnxscript", "keras", "tensorflow", "tf2onnx", "pillow"}
    files = [file for file in tracked(".py") if ROOT / "python" in file.parents]
    said = [requirement for file in files for requirement in installed(file.read_text(encoding="utf-8"))]
    assert len(files) >= 200 and len(said) >= 15, f"looked at {len(said)} messages in {len(files)} files only"
    named = set(map(registered, said))
    assert {"onnx", "tflite", "scikit-learn", "matplotlib", "pyarrow", "shtab", "pillow"} <= named <= used


def test_installs_are_found() -> None:
    assert installed("see: pip install 'quorate[onnx]'") == ["quorate[onnx]"]
    assert installed("pip install torch onnxscript onnx\n") == ["torch", "onnxscript", "onnx"]
    assert [*map(registered, installed("pip install --upgrade dist/quorate_mpc-*.whl shtab; x"))] == ["", "shtab"]
    assert registered("quorate[onnx]>=0.2") == "quorate"


def test_the_changelog_begins_with_this_version_or_the_next_one() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *older = re.findall(r"^## \[(.*?)\](.*)$", text, re.M)
    assert [version for version, _ in older] == sorted({version for version, _ in older}, reverse=True)
    if first[0] != "Unreleased":
        assert first[0] == qr.__version__ and re.fullmatch(r" - \d{4}-\d{2}-\d{2}", first[1])


def test_the_name_and_the_version_are_alike_everywhere() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    ours = {crate["version"] for crate in lock if crate["name"].startswith("quorate-")}
    changelog = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert PROJECT["name"] == NAME
    assert PROJECT["scripts"] == {"quorate": "quorate.cli:main"}
    assert ours == {workspace}
    assert changelog[0] == workspace
    assert len(changelog) >= 2
    assert qr.__version__ == workspace
    assert importlib.metadata.version(NAME) == workspace


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "crates/python/tools/licences.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = module
    spec.loader.exec_module(module)
    return module


def test_the_wheel_has_the_licence_of_every_crate_in_it(
    licences: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compares with `cargo tree`."""
    out = tmp_path / "LICENSE-CRATES"
    monkeypatch.setattr(sys, "argv", ["licences.py", "--out", str(out)])
    licences.main()
    text = out.read_text(encoding="utf-8")
    tree = [
        "cargo",
        "tree",
        "--locked",
        "--package",
        licences.MODULE,
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "none",
    ]
    lines = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = {" ".join(line.split()[:2]).replace(" v", " ") for line in lines if line and "(/" not in line}
    listed = dict(re.findall(r"^([\w-]+ [\w.+-]+)  (.*)  https?://\S+$", text, re.M))
    assert len(wanted) >= 50
    assert wanted <= set(listed)  # more if a feature would add a crate
    assert all(re.search(r"MIT|Apache-2.0|BSD|ISC|Zlib", terms) for terms in listed.values())
    assert [name for name in wanted if f"\n{name}: " not in text] == []
    assert "Permission is hereby granted" in text and "Redistributions in binary form" in text


def test_the_wheel_takes_the_list_along() -> None:
    assert "LICENSE-CRATES" in PROJECT["license-files"]
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nwheel:")[2].partition("\n\n")[0]
    assert recipe.index("crates/python/tools/licences.py") < recipe.index("maturin build")


def test_a_crate_without_a_text_is_named(licences: ModuleType) -> None:
    bare = licences.Crate("bare", "1.0.0", "MIT", "https://example.org", {})
    with pytest.raises(SystemExit, match=r"no licence text in bare 1\.0\.0 \(MIT\)"):
        licences.document([bare])
