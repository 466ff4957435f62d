"""Runs what deploy/compose.yaml describes in the file system of deploy/Dockerfile, without Docker, and compares.

    make wheel && sudo make try-image        # needs debootstrap and iproute2; the network when something has changed

Each service is the first process of its namespaces of processes, mounts, networks and names, or the child of an init
there; it has the user, capabilities, mounts and networks that compose.yaml and the Dockerfile state. The commands after
the start are those of docs/service.md. Limits of memory and of processes, and filters of system calls, are not made.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from service_root import DEPLOY, ROOT, Image, image, make

STARTED_S, COMMAND_S = 60, 120
END_S = 6.0  # servers end within 2 s of their own; a busy machine lets them wait

#: What makes a container's mounts; arguments: the root, the folder that is its volume, that of the demonstration, the
#: file of names, options of tmpfs, then the command.
MOUNTS = """
set -e
mount --bind "$1" "$1"
mount -t proc none "$1/proc"
mount -t tmpfs -o "$5" none "$1/tmp"
mount -t tmpfs none "$1/dev"
for device in null random urandom zero; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mount --bind "$2" "$1/var/lib/quorate"
mount --bind "$3" "$1/opt/demo"
mount -o remount,ro,bind "$1/opt/demo"
mount --bind "$4" "$1/etc/hosts"
mount -o remount,ro,bind "$1"
root=$1; shift 5
exec chroot "$root" "$@"
"""

#: What each container is checked for, from within.
CONFINED = """
for place in / /opt /opt/demo /etc; do touch $place/any 2>/dev/null && { echo "$place can be written" >&2; exit 1; }
done
grep -q '^CapBnd:.0*$' /proc/self/status && grep -q '^CapEff:.0*$' /proc/self/status || { echo capabilities; exit 1; }
grep -q '^NoNewPrivs:.1$' /proc/self/status || { echo "new privileges are allowed"; exit 1; }
cp /bin/true /tmp/any && ! /tmp/any 2>/dev/null || { echo "/tmp runs programs"; exit 1; }
rm /tmp/any; id -u; id -g
"""


def run(*command: object, **options: Any) -> str:
    """Runs a command that has to succeed, and returns what it prints."""
    words = list(map(str, command))
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=COMMAND_S, check=False, **options)
    if done.returncode:
        raise SystemExit(f"a command ended with {done.returncode}: {shlex.join(words[-8:])}")
    return done.stdout


class Container:
    """A running service."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        self.name, self.process = name, process

    @property
    def first(self) -> int:
        """The number of the process that is the first one of its namespace, once it is there."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while not (found := children.read_text().split()):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} has ended with {self.process.returncode}")
            time.sleep(0.02)
        return int(found[0])


class Project:
    """The services of compose.yaml, on networks of this process's namespace."""

    def __init__(self, root: Path, folder: Path, *, init: bool) -> None:
        self.root, self.folder, self.init = root, folder, init
        self.image: Image = image()
        told = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
        self.services: dict[str, Any] = told["services"]
        self.running: dict[str, Container] = {}
        self.done: set[str] = set()
        self.names = folder / "hosts"
        self.wire(list(told["networks"]))

    def wire(self, networks: list[str]) -> None:
        """Makes a bridge for each network, and a namespace for each service, with an address on each of its own."""
        bridges = {name: f"10.77.{at}" for at, name in enumerate(networks)}
        for name in bridges:
            run("ip", "link", "add", name, "type", "bridge")
            run("ip", "link", "set", name, "up")
        hosts = ["127.0.0.1 localhost"]
        for at, (service, said) in enumerate(self.services.items()):
            run("ip", "netns", "add", service)
            run("ip", "-n", service, "link", "set", "lo", "up")
            for number, network in enumerate(said.get("networks", [])):
                near, address = f"v{at}.{number}", f"{bridges[network]}.{at + 2}"
                run("ip", "link", "add", near, "type", "veth", "peer", "name", f"eth{number}", "netns", service)
                run("ip", "link", "set", near, "master", network, "up")
                run("ip", "-n", service, "addr", "add", f"{address}/24", "dev", f"eth{number}")
                run("ip", "-n", service, "link", "set", f"eth{number}", "up")
                hosts.append(f"{address} {service}")
        # The first address of a name counts: that of `clients`, the network that all who ask for it are on.
        self.names.write_text("\n".join([hosts[0], *reversed(hosts[1:]), ""]))

    def confined(self, service: str) -> list[str]:
        """Returns what sets the user, rights and environment of a process, from what the files say."""
        said = self.services[service]
        assert said["cap_drop"] == ["ALL"] and said["read_only"] and "no-new-privileges:true" in said["security_opt"]
        user, group = said["user"].split(":")
        assert (int(user), int(group)) == (self.image.user, self.image.group)
        environment = {**self.image.environment, **said["environment"]}
        rights = ["--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        given = [f"{name}={value}" for name, value in environment.items()]
        start = ["env", "--ignore-environment", f"--chdir={self.image.folder}", *given]
        return ["setpriv", f"--reuid={user}", f"--regid={group}", *rights, *start]

    def start(self, service: str, *command: str) -> Container:
        """Starts a container of a service, with another command than its own if one is given."""
        said = self.services[service]
        (volume,) = [one for one in said["volumes"] if one["type"] == "volume"]
        (bound,) = [one for one in said["volumes"] if one["type"] == "bind"]
        part = self.folder / "volume" / volume.get("volume", {}).get("subpath", "")
        ((place, _, options),) = (mount.partition(":") for mount in said["tmpfs"])
        assert (place, volume["target"], bound["target"]) == ("/tmp", self.image.folder, "/opt/demo")
        own = [*said.get("entrypoint", self.image.entrypoint), *said.get("command", self.image.command)]
        private = ["ip", "netns", "exec", service, "unshare", "--mount", "--pid", "--uts", "--ipc", "--fork"]
        mounts = ["--kill-child", "sh", "-c", MOUNTS, "sh", self.root, part, DEPLOY / bound["source"], self.names]
        first = ["tini", "--"] if self.init else []
        words = [*private, *mounts, options, *self.confined(service), *first, *(command or own)]
        # unshare is this process's child, as `ip` becomes it, and the container's first process is its child.
        process = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True)
        return Container(service, process)

    def inside(self, container: Container, *command: str) -> subprocess.Popen[str]:
        """Starts a further process in a container, as `docker exec` does."""
        enter = ["nsenter", f"--target={container.first}", "--mount", "--pid", "--net", "--uts", "--ipc", "--root"]
        words = [*enter, *self.confined(container.name), *command]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd="/")

    def up(self, service: str) -> None:
        """Starts a service, after those that it depends on have reached the states that it names."""
        for other, said in self.services[service].get("depends_on", {}).items():
            if said["condition"] == "service_completed_successfully":
                self.complete(other)
            else:
                assert said["condition"] == "service_healthy"
                if other not in self.running:
                    self.up(other)
                self.wait(other)
        self.running[service] = self.start(service)

    def complete(self, service: str) -> str:
        """Runs a service to its end, once, and returns what it prints."""
        if service in self.done:
            return ""
        self.up(service)
        self.done.add(service)
        return ended(self.running.pop(service).process)

    def wait(self, service: str) -> None:
        """Waits until the image's check of health succeeds in a container, and the server is ready."""
        until, container = time.monotonic() + STARTED_S, self.running[service]
        while self.inside(container, *self.image.health).wait(COMMAND_S):
            if container.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{service} does not become healthy")
            time.sleep(0.2)
        ended(self.inside(container, *self.image.health, "https://127.0.0.1:9443/readyz"))
        if not self.inside(container, *self.image.health, "https://127.0.0.1:9443/nothing").wait(COMMAND_S):
            raise SystemExit("the check of health succeeds for a page that is not there")

    def down(self) -> float:
        """Ends all containers as the Dockerfile says, checks how they end, and returns the longest time in seconds."""
        longest = 0.0
        for name, container in list(self.running.items()):
            begun = time.monotonic()
            os.kill(container.first, getattr(signal, self.image.signal))
            status = container.process.wait(COMMAND_S)
            longest = max(longest, time.monotonic() - begun)
            del self.running[name]
            if status != 128 + signal.SIGTERM or longest > END_S:
                raise SystemExit(f"{name} ended with {status}, {longest:.1f} s after {self.image.signal}")
        return longest


def ended(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=COMMAND_S)
    if process.returncode:
        raise SystemExit(f"a process ended with {process.returncode}: {shlex.join(process.args[-6:])}")  # type: ignore
    return out


def commands(number: int) -> list[list[str]]:
    """Returns the commands that docs/service.md runs in the container of each server, in its order."""
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    found = re.findall(r"docker compose exec (?:-T )?server\$i (.*?)(?:;| &)", text)
    if len(found) != 2:
        raise SystemExit(f"docs/service.md has {len(found)} commands for all servers, and this program expects 2")
    return [shlex.split(line.replace("$i", str(number))) for line in found]


def survey(project: Project) -> None:
    """Runs the services to the result, and compares it with that of the plain values."""
    servers = [name for name in project.services if name.startswith("server")]
    given = json.loads(project.complete("client"))
    for name in servers:
        container = project.running[name]
        told = ended(project.inside(container, "sh", "-c", CONFINED)).split()
        assert told == [str(project.image.user), str(project.image.group)], told
    close, party = range(2)
    for at, name in enumerate(servers):
        ended(project.inside(project.running[name], *commands(at)[close]))
    parties = [project.inside(project.running[name], *commands(at)[party]) for at, name in enumerate(servers)]
    found = [ended(one) for one in parties]
    asked = json.loads((project.folder / "volume/client/asked.json").read_text())
    values = [one["values"]["salary"] for one in asked]
    wanted = f"mean {sum(values) // len(values)} highest {max(values)} clients {len(values)}\n"
    if found != [wanted] * len(servers) or given != {"given": len(values)}:
        raise SystemExit(f"the servers reveal {found} of {given}, and the result in the clear is {wanted}")
    how = "an init" if project.init else "no init"
    print(f"with {how}: {len(servers)} servers, {wanted}", end="")
    print(f"with {how}: all servers ended within {project.down():.1f} s of {project.image.signal}", flush=True)


@contextlib.contextmanager
def folder(image: Image) -> Iterator[Path]:
    """A folder with an empty volume, as Docker makes it: it belongs to the image's user."""
    with tempfile.TemporaryDirectory(prefix="quorate-image-") as made:
        volume = Path(made, "volume")
        volume.mkdir(mode=0o700)
        os.chown(volume, image.user, image.group)
        yield Path(made)


def main() -> None:
    parser = argparse.ArgumentParser(description="the image without Docker, and what runs in it")
    parser.add_argument("--debootstrap", default="debootstrap", help="the command (default: debootstrap)")
    parser.add_argument("--inside", metavar="ROOT", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--init", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run("mount", "-t", "tmpfs", "none", "/run")
        with folder(image()) as made:
            survey(Project(options.inside, made, init=options.init))
        return
    missing = [name for name in (options.debootstrap, "ip", "nsenter", "setpriv", "unshare") if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        sys.exit(f"`make try-image` runs as root and needs these commands: {' '.join(missing) or 'all are there'}")
    root = make(options.debootstrap)
    for init in ([], ["--init"]):
        private = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command = [*private, sys.executable, __file__, "--inside", str(root), *init]
        if subprocess.run(command, check=False).returncode:
            sys.exit(1)


if __name__ == "__main__":
    main()
