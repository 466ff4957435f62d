"""Writes LICENSE-CRATES: which crates the native module is made of, and the text of each one's licences.

`make wheel` runs it, and the wheel carries the file beside Quorate's own licences. It reads `cargo metadata --locked`,
so that the list is of what `Cargo.lock` names, and the crates' own files, as cargo unpacked them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
MODULE = "quorate-python"

#: How files with a licence are called.
TEXTS = re.compile(r"^(?:licen[cs]e|copying|unlicense|notice)(?:[-_.].*)?$", re.IGNORECASE)
#: What stands in for the text of a crate that ships none, where its terms may be Apache-2.0: this project's copy.
APACHE = "Apache-2.0"

HEAD = """\
Quorate's native module is built from the crates below, each under its own licence, and Rust's standard library,
which is licensed under MIT or Apache-2.0 (https://www.rust-lang.org/policies/licenses). Quorate itself is licensed as
the file LICENSE says. Made from Cargo.lock by crates/python/tools/licences.py.
"""


@dataclasses.dataclass(frozen=True)
class Crate:
    """A crate of others that the module contains.

    Attributes:
        name, version: as in Cargo.lock.
        terms: an SPDX expression.
        source: where its code is.
        texts: of its licence files, by their names.
    """

    name: str
    version: str
    terms: str
    source: str
    texts: dict[str, str]


def host() -> str:
    """The target that cargo builds for."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in said.splitlines() if line.startswith("host:"))


def metadata() -> dict[str, Any]:
    """What cargo says of the workspace."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the list of licences needs cargo's metadata:\n{done.stderr}")
    return json.loads(done.stdout)


def crates(of: dict[str, Any]) -> list[Crate]:
    """The crates of others that the module is built from with any features of the workspace, by name and version.

    Macros and build scripts run while it is compiled, and are not in it.
    """
    packages = {package["id"]: package for package in of["packages"]}
    nodes = {node["id"]: node for node in of["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] == MODULE]
    reached: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in reached or any("proc-macro" in target["kind"] for target in packages[key]["targets"]):
            continue
        reached.add(key)
        uses = nodes[key]["deps"]
        waiting += [use["pkg"] for use in uses if any(kind["kind"] is None for kind in use["dep_kinds"])]
    others = [packages[key] for key in reached if packages[key]["source"] is not None]
    return sorted(map(_crate, others), key=lambda crate: (crate.name, crate.version))


def _crate(package: dict[str, Any]) -> Crate:
    folder = Path(package["manifest_path"]).parent
    files = {file.name: file for file in sorted(folder.iterdir()) if file.is_file() and TEXTS.match(file.name)}
    if package["license_file"]:
        named = folder / package["license_file"]
        files.setdefault(named.name, named)
    texts = {name: file.read_text(encoding="utf-8", errors="replace").strip() for name, file in files.items()}
    terms = package["license"] or "see its licence file"
    if not texts and APACHE in terms:
        texts["LICENSE-APACHE, of this project"] = (ROOT / "LICENSE-APACHE").read_text(encoding="utf-8").strip()
    source = package["repository"] or f"https://crates.io/crates/{package['name']}"
    return Crate(package["name"], package["version"], terms.replace("/", " OR "), source, texts)


def document(found: list[Crate]) -> str:
    """The list, and after it each text once, with the crates that it is of.

    Raises:
        SystemExit: a crate has no text, which its licence demands of whoever passes it on.
    """
    without = [f"{crate.name} {crate.version} ({crate.terms})" for crate in found if not crate.texts]
    if without:
        sys.exit(f"no licence text in {', '.join(without)}: add one to crates/python/tools/licences.py")
    users: dict[str, list[str]] = {}
    for crate in found:
        for name, text in crate.texts.items():
            users.setdefault(text, []).append(f"{crate.name} {crate.version}: {name}")
    listed = [f"{crate.name} {crate.version}  {crate.terms}  {crate.source}" for crate in found]
    rule = "-" * 100
    parts = ["\n".join([rule, *of, rule, "", text, ""]) for text, of in users.items()]
    return "\n".join([HEAD, *listed, "", *parts])


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "LICENSE-CRATES")
    out = parser.parse_args().out
    found = crates(metadata())
    out.write_text(document(found), encoding="utf-8")
    print(f"wrote {out.name}: licences of {len(found)} crates")


if __name__ == "__main__":
    main()
