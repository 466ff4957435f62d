"""Makes the root file system of deploy/Dockerfile without Docker, and runs what deploy/compose.yaml describes in it.

    make wheel && sudo .venv/bin/python tests/service_root.py        # three minutes; needs the network and debootstrap

Debian comes from debootstrap in place of the base image, and its Python in place of the image's. The instructions RUN
and COPY are those of the Dockerfile. Each process has the root read-only, another user, no capabilities, and the part
of the volume that its service in compose.yaml names. Containers' networks and limits are not made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
MIRROR = "http://deb.debian.org/debian"
ADDRESS = "127.77.0.{}"
SERVERS = ("server0", "server1", "server2")
HEALTHY = ("python", "-I", "/opt/quorate/healthy.py")
STARTED_S, END_S = 30, 10

#: Arguments: the root, the folder that is the volume here, the command.
CONFINED = """
set -e
mount --bind "$1" "$1"
mount -t proc none "$1/proc"
mount -t tmpfs -o mode=1777,size=256m,noexec,nosuid,nodev none "$1/tmp"
mount -t tmpfs none "$1/dev"
for device in null random urandom zero; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mount --bind "$2" "$1/var/lib/quorate"
mount -o remount,ro,bind "$1"
root=$1; shift 2
exec chroot "$root" setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env --ignore-environment PATH=/opt/quorate/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 \
    sh -c 'cd /var/lib/quorate; if touch /opt/any 2>/dev/null; then echo "the root can be written" >&2; exit 7; fi
           exec "$@"' sh "$@"
"""


def stages() -> list[list[str]]:
    """Returns the instructions of each stage of the Dockerfile, each in one line."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]
    starts = [at for at, line in enumerate(lines) if line.startswith("FROM ")]
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def make(root: Path, debootstrap: str) -> None:
    """Makes the file system, by the last two stages."""
    packages = "--include=python3,python3-venv,ca-certificates"
    subprocess.run([debootstrap, "--variant=minbase", packages, "bookworm", str(root), MIRROR], check=True)
    for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(Path("/", name), root / name)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    hosts = "".join(f"{ADDRESS.format(at + 1)} {name}\n" for at, name in enumerate(SERVERS))
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
    for instruction in (line for stage in stages()[1:] for line in stage):
        what, _, rest = instruction.partition(" ")
        if what == "RUN":
            inside = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", str(root)]
            subprocess.run([*inside, "sh", "-ec", rest], check=True)
        elif what == "COPY" and not rest.startswith("--from=packages "):
            copy(root, rest)
    shutil.copytree(ROOT / "examples" / "service", root / "opt/demo")


def copy(root: Path, rest: str) -> None:
    """Copies as an instruction COPY says; the stage `wheel` is what `make wheel` has made here."""
    source, target = rest.removeprefix("--from=wheel /src/").split()
    into = root / target.lstrip("/")
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, into)
    else:
        shutil.copy(ROOT / source, into)


class Containers:
    """Processes in the file system; `volume` has what the volume of compose.yaml has."""

    def __init__(self, root: Path, volume: Path) -> None:
        self.root, self.volume = root, volume
        self.services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]

    def start(self, service: str, *command: str) -> subprocess.Popen[str]:
        (mount,) = [one for one in self.services[service]["volumes"] if one["type"] == "volume"]
        part = self.volume / mount.get("volume", {}).get("subpath", "")
        private = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", CONFINED, "sh"]
        return subprocess.Popen([*private, str(self.root), str(part), *command], stdout=subprocess.PIPE, text=True)

    def run(self, service: str, *command: str) -> str:
        return self.ended(self.start(service, *command))

    def ended(self, process: subprocess.Popen[str]) -> str:
        out, _ = process.communicate(timeout=120)
        if process.returncode:
            raise SystemExit(f"a process ended with {process.returncode}: {process.args[-4:]}")  # type: ignore[index]
        return out

    def told(self, service: str) -> list[str]:
        """Returns the command of a service."""
        one = self.services[service]
        return [*one["entrypoint"], *one["command"]]


def survey(here: Containers) -> None:
    """Runs the services, and compares the result with that of the plain values."""
    here.run("prepare", *here.told("prepare"))
    for at, name in enumerate(SERVERS):  # all are on one machine, and its ports are shared
        for file in (here.volume / name).glob("*.toml"):
            file.write_text(file.read_text().replace("0.0.0.0", ADDRESS.format(at + 1)))
    with contextlib.ExitStack() as stack:
        for name in SERVERS:
            process = here.start(name, "quorate", "serve", "--config", "/var/lib/quorate/party.toml")
            stack.callback(end, process)
        until = time.monotonic() + STARTED_S
        for name in SERVERS:
            while here.start(name, *HEALTHY, f"https://{name}:9443/healthz").wait():
                if time.monotonic() > until:
                    raise SystemExit(f"{name} does not answer")
        here.run("client", *here.told("client"))
        for name in SERVERS:
            here.run(name, "quorate", "campaign", "close", "wages", "--config", "party.toml")
        command = ("quorate", "party", "/opt/demo/wages.py", "--config", "party.toml", "--", "wages.json")
        found = [here.ended(party) for party in [here.start(name, *command) for name in SERVERS]]
    asked = json.loads((here.volume / "client" / "asked.json").read_text())
    values = [one["values"]["salary"] for one in asked]
    wanted = f"mean {sum(values) // len(values)} highest {max(values)} clients {len(values)}\n"
    if found != [wanted] * len(SERVERS):
        raise SystemExit(f"the servers reveal {found}, and the result in the clear is {wanted}")
    print(f"{len(SERVERS)} servers, {len(values)} clients: {wanted}", end="")


def end(process: subprocess.Popen[str]) -> None:
    """Ends a server as Docker would, and checks its status."""
    inner = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for number in inner:
        os.kill(int(number), signal.SIGTERM)
    if process.wait(END_S):
        raise SystemExit(f"a server ended with {process.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description="the image's file system without Docker, and what runs in it")
    parser.add_argument("--debootstrap", default="debootstrap", help="the command (default: debootstrap)")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which(options.debootstrap) is None or not list(ROOT.glob("dist/quorate_mpc-*.whl")):
        sys.exit("this needs root, debootstrap, and a wheel in dist/: run `make wheel` first")
    with tempfile.TemporaryDirectory(prefix="quorate-root-") as made:
        root, volume = Path(made, "root"), Path(made, "volume")
        make(root, options.debootstrap)
        volume.mkdir(mode=0o700)
        os.chown(volume, 10001, 10001)
        survey(Containers(root, volume))


if __name__ == "__main__":
    main()
