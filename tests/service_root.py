"""The root file system of deploy/Dockerfile, made without Docker: Debian from debootstrap, then the Dockerfile's lines.

Debian comes in place of the base image, and its Python in place of the image's. The first stage is what `make wheel`
has made here. What was made is kept in target/image, by the hash of all that it is made from.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
KEPT = ROOT / "target" / "image"
MIRROR = "http://deb.debian.org/debian"
SUITE = "bookworm"
#: `docker run --init` brings tini from outside of the image; here it is Debian's.
PACKAGES = ("ca-certificates", "python3", "python3-venv", "tini")


def stages() -> list[list[str]]:
    """Returns the instructions of each stage of the Dockerfile, each in one line."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]
    starts = [at for at, line in enumerate(lines) if line.startswith("FROM ")]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


class Image(NamedTuple):
    """How the Dockerfile says that a container starts."""

    user: int
    group: int
    environment: dict[str, str]
    folder: str
    entrypoint: list[str]
    command: list[str]
    health: list[str]
    signal: str


def image() -> Image:
    """Reads the last stage; an instruction that is not there is an error."""
    said: dict[str, str] = {}
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    for line in stages()[-1]:
        what, _, rest = line.partition(" ")
        said[what] = rest
        for name, value in re.findall(r"(\w+)=(\S+)", rest) if what == "ENV" else ():
            environment[name] = value.replace("$PATH", environment["PATH"])
    user, group = map(int, said["USER"].split(":"))
    health = json.loads(said["HEALTHCHECK"].partition("CMD ")[2])
    return Image(
        user, group, environment, said["WORKDIR"], json.loads(said["ENTRYPOINT"]), json.loads(said["CMD"]), health,
        said["STOPSIGNAL"],
    )  # fmt: skip


def wheel() -> Path:
    """Returns the newest wheel in dist/ for this machine."""
    found = sorted(ROOT.glob(f"dist/quorate_mpc-*{platform.machine()}.whl"), key=lambda file: file.stat().st_mtime)
    if not found:
        sys.exit(f"dist/ has no wheel of Quorate for {platform.machine()}: run `make wheel`")
    later = [file for file in ROOT.glob("python/quorate*/**/*.py") if file.stat().st_mtime > found[-1].stat().st_mtime]
    if later:
        print(f"{found[-1].relative_to(ROOT)} is older than {later[0].relative_to(ROOT)}: `make wheel` makes a new one")
    return found[-1]


def make(debootstrap: str) -> Path:
    """Returns the file system, which is made if no earlier one was made from the same."""
    built, copied = wheel(), [ROOT / "requirements/service.txt", DEPLOY / "healthy.py", DEPLOY / "Dockerfile"]
    told = hashlib.sha256(" ".join([MIRROR, SUITE, *PACKAGES]).encode())
    base = made(KEPT / f"base-{told.hexdigest()[:16]}", lambda root: bootstrap(root, debootstrap))
    for file in (Path(__file__), built, *copied):
        told.update(hashlib.sha256(file.read_bytes()).digest())
    return made(KEPT / f"root-{told.hexdigest()[:16]}", lambda root: follow(root, base, built))


def made(root: Path, how: Callable[[Path], None]) -> Path:
    """Makes a folder beside its place and moves it there, so that one that is there is whole; removes older ones."""
    if not root.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{root.name.partition('-')[0]}-*"):
            shutil.rmtree(old)
        partial = root.with_suffix(".partial")
        if partial.exists():
            shutil.rmtree(partial)
        how(partial)
        partial.rename(root)
    return root


def bootstrap(root: Path, debootstrap: str) -> None:
    """Makes Debian, with what the base image has."""
    include = f"--include={','.join(PACKAGES)}"
    subprocess.run([debootstrap, "--variant=minbase", include, SUITE, str(root), MIRROR], check=True)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")


def follow(root: Path, base: Path, built: Path) -> None:
    """Follows the instructions RUN and COPY of the last two stages."""
    subprocess.run(["cp", "--archive", str(base), str(root)], check=True)
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(Path("/", name), root / name)
    (root / "etc/hosts").touch()
    (root / "opt/demo").mkdir()  # where compose.yaml mounts the demonstration
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    for instruction in (line for stage in stages()[1:] for line in stage):
        what, _, rest = instruction.partition(" ")
        if what == "RUN":
            inside = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", str(root)]
            subprocess.run([*inside, "sh", "-ec", rest], check=True, env=proxies | image().environment)
        elif what == "COPY" and not rest.startswith("--from=packages "):
            copy(root, rest, built)
        elif what not in ("COPY", "FROM", "ENV", "USER", "WORKDIR", *CONTAINERS):
            sys.exit(f"this program does not know the instruction {what} of the Dockerfile: teach it")


#: Instructions that say how containers start, and make no files.
CONTAINERS = ("EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD")


def copy(root: Path, rest: str, built: Path) -> None:
    """Copies as an instruction COPY says; the stage `wheel` has one wheel in its dist/."""
    source, target = rest.split()[-2:]
    into = root / target.lstrip("/")
    if rest == f"--from=wheel /src/dist/ {target}":
        into.mkdir(parents=True)
        shutil.copy(built, into)
    else:
        shutil.copy(ROOT / source, into)
        os.chmod(into, 0o644)
