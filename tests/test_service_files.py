"""The files of deploy/: their settings for security, the tools that check them, and a server that runs as confined."""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import test_guards
import try_image
from clients import certificate
from deploying import free_ports
from service_root import image, stages
from serving import network
from warm import QUORATE

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "quorate"
USER = 10001


def tool(name: str) -> str:
    """Returns the path of a tool, also of one that `make linters` has installed, or skips the test."""
    found = shutil.which(name, path=f"{ROOT / 'target' / 'linters' / 'bin'}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed: `make linters` installs those that need no root")
    return found


def checked(*command: str | Path) -> str:
    """Runs a command that has to succeed, and returns all that it prints."""
    done = subprocess.run(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


# ---- the image ------------------------------------------------------------------------------------------------------


def test_the_image_runs_as_a_user_without_a_shell_or_the_build() -> None:
    *_, last = stages()
    assert len(stages()) == 3
    assert f"USER {USER}:{USER}" in last
    after = last[last.index(f"USER {USER}:{USER}") :]
    assert not [line for line in after if line.startswith(("RUN", "COPY", "ADD", "USER root"))]
    assert [line for line in last if line.startswith("COPY")] == [
        "COPY --from=packages /opt/quorate /opt/quorate",
        "COPY deploy/healthy.py /opt/quorate/healthy.py",
    ]
    assert any(line.startswith("HEALTHCHECK ") and "/opt/quorate/healthy.py" in line for line in last)
    assert 'CMD ["serve", "--config", "/var/lib/quorate/party.toml"]' in last


def test_what_make_try_image_reads() -> None:
    """`make try-image` takes how containers start from the Dockerfile, and its commands from docs/service.md."""
    said = image()
    assert (said.user, said.group, said.folder, said.signal) == (USER, USER, "/var/lib/quorate", "SIGTERM")
    assert said.environment["PATH"].split(":")[:2] == ["/opt/quorate/bin", "/usr/local/sbin"]
    assert [*said.entrypoint, *said.command] == ["quorate", "serve", "--config", "/var/lib/quorate/party.toml"]
    assert said.health == ["python", "-I", "/opt/quorate/healthy.py"]
    assert [command[:2] for command in try_image.commands(1)] == [["quorate", "campaign"], ["quorate", "party"]]


def test_packages_of_the_image_are_compared_with_hashes() -> None:
    (install,) = [line for line in stages()[1] if "--requirement" in line]
    assert "--require-hashes --only-binary :all:" in install
    assert install.count("pip install") == install.count("--no-index") + install.count("--require-hashes") == 2
    text = (ROOT / "requirements" / "service.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==\S+.*\\$", text, re.M)
    assert {"numpy", "cryptography", "fastapi", "uvicorn"} <= set(pins)
    assert len(pins) == len(re.findall(r"^\S.*==", text, re.M)), "a package has no hash"


def test_the_build_gets_sources_alone() -> None:
    """Keys of an operator may lie in the checkout: what is not named does not reach a layer."""
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    named = [rule[1:] for rule in rules if rule.startswith("!")]
    assert rules[1 : len(named) + 1] == [f"!{name}" for name in named], "what is excluded comes last"
    assert {"**/*.key", "**/*.pem", "**/*.crt"} <= set(rules[len(named) + 1 :])
    tracked = {str(path.relative_to(ROOT)) for path in test_guards.tracked("")}
    for name in named:
        assert any(path == name or path.startswith(f"{name}/") for path in tracked), f"{name} is not tracked"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (sources,) = re.findall(r"^RUST_SOURCES := .*?\) (.*)$", makefile, re.M)
    assert {Path(source).parts[0] for source in sources.split()} <= set(named)


def test_secrets_are_in_no_file() -> None:
    files = [path for path in test_guards.tracked("") if path.is_relative_to(DEPLOY)]
    assert len(files) >= 10
    for file in files:
        assert not re.search(r"(?i)password|\btoken:|BEGIN |[A-Za-z0-9_-]{43}", file.read_text(encoding="utf-8")), file


def test_hadolint_has_nothing_to_say() -> None:
    assert checked(tool("hadolint"), DEPLOY / "Dockerfile") == ""


# ---- compose --------------------------------------------------------------------------------------------------------


def compose() -> dict[str, Any]:
    found = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_all_containers_are_confined() -> None:
    services = compose()["services"]
    assert set(services) == {"prepare", "server0", "server1", "server2", "client"}
    for name, service in services.items():
        assert (service["init"], service["read_only"], service["cap_drop"]) == (True, True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["user"] == f"{USER}:{USER}", name
        assert all("noexec,nosuid,nodev" in mount for mount in service["tmpfs"]), name
        assert not {"privileged", "cap_add", "devices", "pid", "ipc", "ports"} & set(service), name
        assert not [mount for mount in service["volumes"] if mount["type"] == "bind" and not mount["read_only"]], name


def test_a_server_sees_its_own_files_alone() -> None:
    services = compose()["services"]
    for name in ("server0", "server1", "server2", "client"):
        (own,) = [mount for mount in services[name]["volumes"] if mount["type"] == "volume"]
        assert own["volume"] == {"subpath": name}
    assert services["prepare"]["network_mode"] == "none"
    assert services["client"]["networks"] == ["clients"]
    assert all(network["internal"] for network in compose()["networks"].values())


def test_paths_of_compose_exist() -> None:
    services = compose()["services"]
    build = services["prepare"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    sources = {mount["source"] for one in services.values() for mount in one["volumes"] if mount["type"] == "bind"}
    assert sources and all((DEPLOY / source / "prepare.py").is_file() for source in sources)


def test_compose_reads_the_file() -> None:
    """By the library by which Docker reads it: it refuses what is no part of the format."""
    read = yaml.safe_load(checked(tool("compose-spec"), DEPLOY / "compose.yaml"))
    assert set(read["services"]) == set(compose()["services"]) and read["name"] == "quorate"
    for name, service in read["services"].items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["image"] == "quorate:local", name


# ---- systemd --------------------------------------------------------------------------------------------------------


def unit(folder: Path) -> Path:
    """Writes the unit as systemd would read it here, with a program that exists."""
    text = (DEPLOY / "quorate@.service").read_text(encoding="utf-8")
    assert text.count("/opt/quorate/bin/quorate") == 1
    made = folder / "quorate@one.service"
    made.write_text(text.replace("/opt/quorate/bin/quorate", shutil.which("true") or "true"))
    return made


def test_the_unit_is_confined() -> None:
    text = (DEPLOY / "quorate@.service").read_text(encoding="utf-8")
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    for name in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "RestrictSUIDSGID"):
        assert settings[name] == "yes", name
    assert (settings["User"], settings["ProtectSystem"], settings["CapabilityBoundingSet"]) == ("quorate", "strict", "")
    assert (settings["StateDirectory"], settings["StateDirectoryMode"]) == ("quorate/%i", "0700")
    assert settings["SystemCallFilter"] == "~@privileged" and "SystemCallFilter=@system-service" in text
    assert settings["LimitCORE"] == "0"


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    assert checked(analyze, "verify", "--man=no", unit(tmp_path)) == ""
    checked(analyze, "security", "--offline=true", "--threshold=20", unit(tmp_path))  # 2.0 of 10; without any: 9.6


# ---- Helm -----------------------------------------------------------------------------------------------------------


def test_helm_lints_and_renders_the_chart() -> None:
    helm = tool("helm")
    assert "0 chart(s) failed" in checked(helm, "lint", "--strict", CHART)
    rendered = checked(helm, "template", "one", CHART, "--set", "image.digest=sha256:0123")
    documents = [one for one in yaml.safe_load_all(rendered) if one]
    found = {one["kind"]: one for one in documents}
    assert set(found) == {"Service", "StatefulSet"}
    services = {one["metadata"]["name"]: one["spec"]["ports"] for one in documents if one["kind"] == "Service"}
    assert services == {
        "one-clients": [{"name": "clients", "port": 9443, "targetPort": "clients"}],
        "one-parties": [{"name": "parties", "port": 9000, "targetPort": "parties"}],
    }
    assert found["StatefulSet"]["spec"]["serviceName"] in services
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    assert pod["securityContext"]["runAsUser"] == USER
    for container in (*pod["initContainers"], *pod["containers"]):
        confined = {"drop": ["ALL"]}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": confined,
        }  # fmt: skip
        assert container["image"] == "registry.example/quorate@sha256:0123"
        assert container["resources"]["limits"]["memory"]
    (server,) = pod["containers"]
    assert server["livenessProbe"]["tcpSocket"] == {"port": "clients"}
    probes = [server[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness")]
    assert [probe["path"] for probe in probes] == ["/healthz", "/readyz"]
    assert {(probe["scheme"], probe["port"]) for probe in probes} == {("HTTPS", "clients")}
    assert {"name": "XDG_RUNTIME_DIR", "value": "/run/quorate/own"} in server["env"]
    assert found["StatefulSet"]["spec"]["replicas"] == 1


def test_kubernetes_knows_all_that_the_chart_renders(tmp_path: Path) -> None:
    """By the schemas of a release: a field with a wrong name would be ignored, such as one that confines a pod."""
    helm, validate = tool("helm"), tool("kubernetes-validate")
    given = ["--set", "image.digest=sha256:0123", "--set", "services.parties.loadBalancerSourceRanges={192.0.2.0/24}"]
    more = ["--set", "persistence.storageClass=fast", "--set", "imagePullSecrets[0].name=one"]
    rendered = checked(helm, "template", "one", CHART, *given, *more)
    (tmp_path / "all.yaml").write_text(rendered)
    assert checked(validate, "--strict", tmp_path / "all.yaml").count("passed for resource") == 3
    (tmp_path / "wrong.yaml").write_text(rendered.replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))
    wrong = subprocess.run([validate, "--strict", tmp_path / "wrong.yaml"], capture_output=True, text=True, check=False)
    assert wrong.returncode and "readOnlyRootFileSystem" in wrong.stdout + wrong.stderr


def test_the_chart_has_the_settings_of_security() -> None:
    text = (CHART / "templates" / "statefulset.yaml").read_text(encoding="utf-8")
    assert text.count('include "quorate.confined"') == 2 == text.count("volumeMounts:")
    for line in ("runAsNonRoot: true", "automountServiceAccountToken: false", "defaultMode: 0400", "replicas: 1 "):
        assert line in text, line
    helpers = (CHART / "templates" / "_helpers.tpl").read_text(encoding="utf-8")
    for line in ("allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true", "capabilities: {drop: [ALL]}"):
        assert line in helpers, line
    assert yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))["ports"] == {
        "clients": 9443, "parties": 9000,
    }  # fmt: skip
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert version is not None and {chart["version"], chart["appVersion"]} == {version[1]}


# ---- what runs ------------------------------------------------------------------------------------------------------


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def is_healthy(port: int, path: str = "/healthz") -> bool:
    command = [sys.executable, "-I", str(DEPLOY / "healthy.py"), f"https://127.0.0.1:{port}{path}"]
    proxies = {"HTTPS_PROXY": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"}
    return subprocess.run(command, timeout=30, env={**os.environ, **proxies}, check=False).returncode == 0


@contextlib.contextmanager
def answering(folder: Path, status: int) -> Iterator[int]:
    """A server over HTTPS that answers everything with a status; yields its port."""
    file, _ = certificate(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=functools.partial(server.serve_forever, 0.05), daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_check_of_health(tmp_path: Path) -> None:
    with network(tmp_path) as net:
        assert is_healthy(net.servers[0].port)
        assert not is_healthy(net.servers[0].port, "/nothing")
    assert not is_healthy(net.servers[0].port)
    for status, answer in ((200, True), (204, False), (503, False)):
        with answering(tmp_path, status) as port:
            assert is_healthy(port) == answer
    with socket.create_server(("127.0.0.1", 0)) as silent:
        healthy = module(DEPLOY / "healthy.py")
        healthy.SECONDS = 0.2
        assert not healthy.is_healthy(f"https://127.0.0.1:{silent.getsockname()[1]}/")


#: Arguments: the folder of the server, the command `quorate`, the folder of Python's installation.
CONFINED = f"""
set -e
mount --bind "$1" /mnt
mount -t tmpfs -o mode=1777,size=16m,noexec,nosuid,nodev none /tmp
case "$3" in /root/*)                # others may not enter it: only the installation is shown there
    mkdir /tmp/python
    mount --bind "$3" /tmp/python
    mount -t tmpfs -o mode=0755 none /root
    mkdir -p "$3"
    mount --move /tmp/python "$3"
    rmdir /tmp/python
esac
mount -o remount,ro,bind /
exec setpriv --reuid={USER} --regid={USER} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    sh -c 'if touch /var/tmp/any 2>/dev/null; then echo "the root can be written" >&2; exit 7; fi
           exec "$0" serve --config /mnt/party.toml' "$2"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_a_server_runs_with_a_read_only_root_and_no_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the image without `--init`: another user, no capabilities, and the first process of its namespace."""
    unshare = tool("unshare")
    tool("setpriv")
    for folder in (ROOT, *ROOT.parents):
        if not folder.stat().st_mode & 0o001:
            pytest.skip(f"another user cannot enter {folder}")
    if {str(folder) for folder in ROOT.parents} & {"/tmp", "/mnt"}:
        pytest.skip(f"{ROOT} is in a folder that the server gets anew")
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "service"))
    prepare = module(ROOT / "examples" / "service" / "prepare.py")

    def run(commands: list[list[Any]]) -> list[str]:
        return [checked(QUORATE, *map(str, one)) for one in commands]

    ports = free_ports(4)
    both = [(f"127.0.0.1:{port}", f"127.0.0.1:{port}") for port in ports]
    own = prepare.make_servers(run, tmp_path, both[:3], both[3:] * 3)[0].parent
    for path in (own, *own.iterdir()):
        os.chown(path, USER, USER)
    private = [unshare, "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    probe = subprocess.run([*private, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"namespaces cannot be made here: {probe.stderr.strip()}")
    command = [*private, "sh", "-c", CONFINED, "sh", str(own), QUORATE, sys.base_prefix]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd="/")
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        assert "serves clients at https://127.0.0.1:" in said, said + server.stderr.read()
        assert is_healthy(ports[3])
        (inner,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        status = Path(f"/proc/{inner}/status").read_text()
        assert re.search(rf"^Uid:\t{USER}\t{USER}\t", status, re.M)
        assert re.search(r"^CapBnd:\t0+$", status, re.M) and re.search(r"^NoNewPrivs:\t1$", status, re.M)
        assert (own / "packets.db").stat().st_uid == USER
        os.kill(int(inner), signal.SIGTERM)
        assert server.wait(60) == 143
    finally:
        server.kill()
        server.communicate()
