"""The client without the core: its wheel, in an environment that has no Quorate, gives packets to servers."""

from __future__ import annotations

import ast
import contextlib
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import test_guards
from campaigning import VALUES
from serving import network

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "python" / "quorate_client"
LICENCES = {"LICENSE", "LICENSE-APACHE", "LICENSE-MIT"}

#: What the wheel needs, with what these need, as far as this environment has them.
NEEDED = ("cffi", "cryptography", "numpy", "pycparser", "tomli", "typing-extensions")

SCRIPT = """
import importlib, json, pkgutil, sys
import quorate_client

for module in pkgutil.walk_packages(quorate_client.__path__, "quorate_client."):
    importlib.import_module(module.name)
client = quorate_client.client(sys.argv[1], key=sys.argv[2])
receipts = client.submit(json.loads(sys.argv[3]))
assert not [name for name in sys.modules if name.partition(".")[0] == "quorate"]
try:
    import quorate
except ModuleNotFoundError:
    print(json.dumps([receipt.number for receipt in receipts]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the wheel, without the network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install -r requirements/dev.txt")
    folder = tmp_path_factory.mktemp("dist")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(folder)]
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", *offline, str(ROOT / "clients" / "python")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


def bare_environment(folder: Path) -> Path:
    """Returns the Python of a new environment with `NEEDED` alone: links to those of the one that runs the tests."""
    venv.create(folder, with_pip=False)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    for name in NEEDED:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for first in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (packages / first).exists():
                (packages / first).symlink_to(Path(str(distribution.locate_file(first))))
    return folder / "bin" / "python"


def imported(text: str) -> set[str]:
    """Returns the packages that a module imports anywhere, in functions too, or names in `import_module`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("quorate_client" if node.level else str(node.module).partition(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            found.add(ast.unparse(node.args[0]).strip("'\"").partition(".")[0])
    return found


def test_the_client_imports_its_dependencies_alone() -> None:
    files = sorted(SOURCES.rglob("*.py"))
    assert len(files) >= 20
    used = set().union(*(imported(file.read_text(encoding="utf-8")) for file in files))
    assert used - sys.stdlib_module_names == {"quorate_client", "cryptography", "numpy", "tomli"}


@pytest.mark.parametrize(
    "text",
    [
        "import quorate as qr",
        "def f():\n    from quorate.errors import ConfigError",
        "import importlib\nimportlib.import_module('quorate.session')",
        "__import__('quorate')",
    ],
)
def test_imports_of_the_core_are_found(text: str) -> None:
    assert "quorate" in imported(text)


def test_the_wheel_has_the_sources_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if ".dist-info/" not in name]
        inside = {name.removeprefix("quorate_client/"): opened.read(name) for name in names}
        (metadata,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        fields = opened.read(metadata).decode()
    tracked = [path for path in test_guards.tracked("") if path.is_relative_to(SOURCES)]
    wanted = {str(path.relative_to(SOURCES)): path.read_bytes() for path in tracked}
    assert "py.typed" in inside and len(names) == len(inside)
    assert inside == wanted | {name: (ROOT / name).read_bytes() for name in LICENCES}
    stated = sorted(line.removeprefix("Requires-Dist: ") for line in fields.splitlines() if "Requires-Dist" in line)
    assert stated == ["cryptography>=47", "numpy>=1.24", "tomli>=2; python_version < '3.11'"]
    assert f"\nVersion: {importlib.metadata.version('quorate-mpc')}\n" in fields
    assert wheel.name.endswith("-py3-none-any.whl")


def test_it_gives_a_packet_without_the_core(wheel: Path, tmp_path: Path) -> None:
    python = bare_environment(tmp_path / "environment")
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    done = subprocess.run([*pip, "install", "--quiet", "--no-index", str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # its dependencies are there, and it needs no others
    with network(tmp_path) as net:
        campaign, key = tmp_path / "wages.json", tmp_path / "me.key"
        campaign.write_bytes(net.campaign.json)
        net.keys[0].save(key)
        command = [str(python), "-I", "-c", SCRIPT, str(campaign), str(key), json.dumps(VALUES)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        told = json.loads(run.stdout)  # empty if there were a `quorate` to import
        assert len(told) == 3
        for server in net.servers:
            with contextlib.closing(server.store()) as store:
                assert store.read(lambda c: c.execute("SELECT number FROM packets").fetchall()) == [(told[0],)]
