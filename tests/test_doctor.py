"""`quorate doctor`: what it says of deployments that work, and of those where something is wrong."""

from __future__ import annotations

import datetime
import json
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from deploying import Deployment, free_ports
from quorate import cli
from quorate._command import _doctor, _doctor_certificates, _doctor_files
from quorate._command._doctor_files import disk, expiry, listens, party_of
from quorate._command._doctor_links import Seen
from quorate._command._findings import Findings
from quorate._families import FAMILIES
from quorate.errors import ConfigError
from warm import QUORATE, Command, quorate


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties, whose configurations are written."""
    made = Deployment(tmp_path)
    for me in range(3):
        made.config(me)
    yield made
    made.stop()


def file(deployment: Deployment, me: int) -> Path:
    return deployment.folder / f"party{me}.toml"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def doctors(deployment: Deployment, *parties: int, wait: float = 30, status: int = 0) -> list[dict[str, Any]]:
    """Runs the command at these parties at the same time; returns what each prints, and checks the status of all."""
    command = [QUORATE, "doctor", "--json", "--wait", f"{wait}"]
    running = [Command([*command, str(file(deployment, me))], deployment.folder) for me in parties]
    ended = [(*process.communicate(timeout=240), process.returncode) for process in running]
    assert all(err == "" and code == status for _, err, code in ended), ended
    return [json.loads(out) for out, _, _ in ended]


def said(told: dict[str, Any], about: str, state: str = "ok") -> list[str]:
    return [one["says"] for one in told["findings"] if (one["about"], one["state"]) == (about, state)]


#: The first and the last family that three parties run.
OF_THREE = [name for name, family in FAMILIES.items() if 3 in family.parties][::2]

# ---- deployments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", OF_THREE)
def test_a_deployment_that_works(deployment: Deployment, protocol: str) -> None:
    for me in range(3):
        change(file(deployment, me), '"rss"', f'"{protocol}"')
        text = file(deployment, me).read_text()
        file(deployment, me).write_text(f'approve = ["{"ab" * 32}"]\naudit = "audit{me}.jsonl"\n{text}')
    for me, told in enumerate(doctors(deployment, 0, 1, 2)):
        assert (told["ok"], told["fault"], told["party"], told["protocol"]) == (True, None, me, protocol)
        assert told["reaches"] == [[True] * 3] * 3 and told["rtt_ms"] > 0 and told["mbit_per_s"] > 0
        assert max(told["clocks_s"]) - min(told["clocks_s"]) < 5 and told["clocks_s"][me] == 0
        assert len(said(told, "certificates")) == 3 and len(said(told, "address")) == 2
    assert not list(deployment.folder.glob("audit*"))  # nothing that this command reveals is logged or approved


def test_a_party_that_does_not_run_is_named_by_the_others(deployment: Deployment) -> None:
    for told in doctors(deployment, 0, 1, wait=20, status=1):
        port = deployment.ports[2]
        text = f"party 2 does not listen at 127.0.0.1:{port}: start `quorate doctor` there, or open the port"
        assert told["fault"] == text and told["ok"] is False
        assert f"party {1 - told['party']} listens at 127.0.0.1:{deployment.ports[1 - told['party']]}" in said(
            told, "address"
        )
        (line,) = [one for one in told["findings"] if one["says"] == text]
        assert line["party"] == 2


def test_an_address_that_only_higher_parties_need(deployment: Deployment) -> None:
    (closed,) = free_ports(1)
    change(file(deployment, 0), f":{deployment.ports[2]}", f":{closed}")
    for told in doctors(deployment, 0, 1, 2):
        assert told["ok"] and told["reaches"] == [[True, True, False], [True] * 3, [True] * 3]
        assert "party 0 does not reach party 2 at its address; that is needed by parties with higher numbers alone" in (
            said(told, "address")
        )


def test_an_address_that_is_needed_and_closed(deployment: Deployment) -> None:
    (closed,) = free_ports(1)
    change(file(deployment, 2), f":{deployment.ports[0]}", f":{closed}")
    first, _, third = doctors(deployment, 0, 1, 2, wait=20, status=1)
    assert third["fault"].startswith(f"party 0 does not listen at 127.0.0.1:{closed}: start `quorate doctor` there")
    assert f"party 2 listens at 127.0.0.1:{deployment.ports[2]}" in said(first, "address")
    assert "party 2" in first["fault"] and "check the address and the firewall" in first["fault"]


def test_another_program_at_a_peers_address(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", deployment.ports[1])):
        (told,) = doctors(deployment, 0, wait=20, status=1)
    assert said(told, "address") == [f"party 1 listens at 127.0.0.1:{deployment.ports[1]}"]
    assert told["fault"].startswith("party 2 does not listen at")


def test_other_certificates_keys_protocols_and_options(deployment: Deployment) -> None:
    other = deployment.folder / "other"
    other.mkdir()
    quorate("keygen", "--party", "1", "--dir", str(other), check=True)
    change(file(deployment, 0), '"party1.crt"', '"other/party1.crt"')
    first, second, _ = doctors(deployment, 0, 1, 2, wait=20, status=1)
    assert "do not accept each other's certificates" in first["fault"]
    assert second["fault"].startswith("party 0 ") and "do not accept each other's certificates" in second["fault"]
    change(file(deployment, 0), '"other/party1.crt"', '"party1.crt"')

    change(file(deployment, 1), '"rss"', '"pika"')
    # Who hears of it first ends, and others may find it gone.
    faults = [told["fault"] for told in doctors(deployment, 0, 1, 2, wait=100, status=1)]
    assert any("pika" in fault and "rss" in fault for fault in faults), faults

    change(file(deployment, 1), 'key = "party1.key"', 'key = "other/party1.key"')
    (told,) = doctors(deployment, 1, wait=20, status=1)
    assert "other/party1.key" in told["fault"] and "does not belong to the certificate" in told["fault"]


def test_a_host_that_has_no_address(deployment: Deployment) -> None:
    change(file(deployment, 0), f"127.0.0.1:{deployment.ports[1]}", f"absent.invalid:{deployment.ports[1]}")
    (told,) = doctors(deployment, 0, wait=20, status=1)
    assert told["fault"].startswith("party 1 has the address absent.invalid:")
    assert "whose host name does not resolve: correct it, or look at the name service here" in told["fault"]


def test_for_people_it_ends_with_one_sentence(deployment: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    assert cli.main(["doctor", str(file(deployment, 0)), "--wait", "2"]) == 1
    assert time.monotonic() - begun < 40
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok       configuration  party 0 of 3, rss, release ")
    assert lines[-2:] == ["", f"party 1 does not listen at 127.0.0.1:{deployment.ports[1]}: start `quorate doctor` "
                          "there, or open the port"]  # fmt: skip
    assert cli.main(["doctor", str(file(deployment, 0)), "--alone"]) == 0
    assert capsys.readouterr().out.endswith("\nno fault found\n")


# ---- this party alone ----------------------------------------------------------------------------------------------


WHOLE = """me = 0
protocol = "aby"
key = "x.key"
[[party]]
address = "a:1"
certificate = "x.crt"
[[party]]
address = "b:1"
certificate = "y.crt"
"""


def test_files_that_are_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "party.toml"
    for text, words in (
        (None, "cannot be read"),
        ("me =", "expected"),
        ("me = 0", "missing field `protocol`"),
        (WHOLE.replace("me = 0", "me = 4"), "`me` is 4, and the number of parties"),
        (WHOLE.replace("a:1", "a"), "has no port"),
        (WHOLE + "more = 1\n", "more"),
    ):
        if text is not None:
            path.write_text(text)
        assert cli.main(["doctor", str(path), "--json"]) == 1
        assert words in json.loads(capsys.readouterr().out)["fault"]
    for wait in ("0", "x", "nan", "4000"):
        with pytest.raises(SystemExit):
            cli.main(["doctor", str(path), "--wait", wait])


def dated(deployment: Deployment, number: int, begin: int, end: int) -> None:
    """Replaces a party's key and certificate by ones that are valid from and to these days from now."""
    key, now = ed25519.Ed25519PrivateKey.generate(), datetime.datetime.now(datetime.timezone.utc)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"quorate party {number}")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now + datetime.timedelta(days=begin))
    builder = builder.not_valid_after(now + datetime.timedelta(days=end))
    certificate = builder.sign(key, None).public_bytes(Encoding.PEM)
    (deployment.folder / f"party{number}.crt").write_bytes(certificate)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = deployment.folder / f"party{number}.key"
    path.write_bytes(private)
    path.chmod(0o600)


def test_dates_are_told_and_change_nothing(deployment: Deployment) -> None:
    """Sessions accept what is pinned, whatever its dates."""
    for number, (begin, end) in enumerate([(-20, -10), (-20, 10), (10, 400)]):
        dated(deployment, number, begin, end)
    told = doctors(deployment, 0, 1, 2)[0]
    first, second, third = said(told, "certificates", "warning")
    assert told["ok"] and "sessions accept it, since it is pinned and dates are ignored" in first
    assert second.startswith("that of party 1 is dated to ") and second.endswith(
        "sessions accept it after that too, since it is pinned"
    )
    assert third.startswith("that of party 2 is dated to ") and "dates are ignored" in third


def test_certificates_that_cannot_be_read(deployment: Deployment) -> None:
    (deployment.folder / "party1.crt").write_text("no certificate")
    found = Findings(None)
    for number in range(3):
        expiry(party_of(file(deployment, 0)), number, found)
    assert found.fault is not None and found.fault.startswith("the certificate of party 1, ")


def test_disks(deployment: Deployment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = file(deployment, 0).read_text()
    file(deployment, 0).write_text(f'audit = "absent/audit.jsonl"\n{text}')
    (deployment.folder / "serve.toml").write_text('store = "packets.db"\n')
    found = Findings(None)
    disk(party_of(file(deployment, 0)), found)
    assert found.fault is not None and "absent of the log of reveals cannot be used: No such file" in found.fault
    (deployment.folder / "absent").mkdir()
    usage = shutil.disk_usage(deployment.folder)._replace(free=5 << 20)
    monkeypatch.setattr(_doctor_files.shutil, "disk_usage", lambda _: usage)
    found = Findings(sys.stdout)
    disk(party_of(file(deployment, 0)), found)
    assert capsys.readouterr().out.count("warning") == 2
    assert [one["state"] for one in found.as_list()] == ["warning"] * 2
    assert found.as_list()[1]["says"] == "the store has 5 MiB left on its disk: free some space"


def test_ports(deployment: Deployment) -> None:
    def finding(listen: str | None = None) -> dict[str, Any]:
        text = deployment.config(0).read_text()
        (line,) = [one for one in text.splitlines() if one.startswith("listen")]
        file(deployment, 0).write_text(text.replace(line, f'listen = "{listen}"' if listen else ""))
        found = Findings(None)
        listens(party_of(file(deployment, 0)), found)
        return found.as_list()[-1]

    port = deployment.ports[0]
    assert finding()["says"] == f"this party can listen at 127.0.0.1:{port}"
    assert finding(f"[::1]:{port}")["state"] == "ok"
    assert finding(f"192.0.2.1:{port}")["state"] == "fault"  # no interface has it, and it is stated
    deployment.addresses[0] = f"192.0.2.1:{port}"
    assert f"so this party listens on all, at port {port}" in finding()["says"]
    with socket.create_server(("0.0.0.0", port)):
        assert finding()["says"] == f"this party cannot listen at port {port} of any interface"
        assert finding(f"127.0.0.1:{port}")["state"] == "warning"
        told = doctors(deployment, 0, wait=2, status=1)[0]
        assert "is in use" in told["fault"]


# ---- what all parties told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clocks", "state", "words"),
    [
        ([0, 0.4, -0.3], "ok", "they differ by at most 700 ms"),
        ([0, 0.4, 9], "warning", "the clock of party 2 is 8.6 s ahead of the others'"),
        (
            [0, -400, 0.1],
            "fault",
            "the clock of party 1 is 400 s behind the others': let it follow a time server",
        ),
        ([0, 12], "warning", "the clocks of the two parties are 12 s apart: let both follow a time server (NTP)"),
        ([0, -900], "fault", "the clocks of the two parties are 900 s apart"),
    ],
)
def test_clocks(clocks: list[float], state: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = Findings(sys.stdout)
    _doctor._clocks([Seen("0.2.0", clock, ()) for clock in clocks], found)
    (one,) = found.as_list()
    assert one["state"] == state and one["says"].startswith(words)
    assert capsys.readouterr().out == f"{state:8} clocks         {one['says']}\n"


def test_releases(capsys: pytest.CaptureFixture[str]) -> None:
    found = Findings(sys.stdout)
    _doctor._releases([Seen("0.2.0", 0, ()), Seen("0.3.0", 0, ())], found)
    assert found.fault is None
    assert capsys.readouterr().out == (
        "ok       releases       the parties run different releases (party 0 0.2.0, party 1 0.3.0), which have one "
        "wire version\n"
    )


def test_what_is_next_while_a_certificate_is_replaced(deployment: Deployment) -> None:
    folder = deployment.folder
    assert cli.main(["keygen", "--party", "1", "--dir", str(folder), "--renew"]) == 0
    both = 'certificate = ["party1.crt", "party1.new.crt"]'
    change(file(deployment, 0), 'certificate = "party1.crt"', both)
    change(file(deployment, 1), 'certificate = "party1.crt"', both)
    for told in doctors(deployment, 0, 1, 2):
        assert said(told, "certificates", "warning") == [
            "party 1 shows the first of its two certificates; add the second one at party 2"
        ]
    change(file(deployment, 2), 'certificate = "party1.crt"', both)
    for told in doctors(deployment, 0, 1, 2):
        (text,) = said(told, "certificates", "warning")
        assert text.endswith("and all parties list the second one: it can change its key now")
        assert len(said(told, "certificates")) == 4 and told["wire_version"] >= 6
    change(file(deployment, 1), 'key = "party1.key"', 'key = "party1.new.key"')
    change(file(deployment, 0), both, 'certificate = "party1.new.crt"')
    for me, told in enumerate(doctors(deployment, 0, 1, 2)):
        (text,) = said(told, "certificates", "warning")
        assert text.startswith("party 1 shows its new certificate, so the old one can be dropped at parties 1 and 2")
        assert ("party1.crt" in text) == (me > 0)


def test_a_certificate_of_another_kind_is_found_by_its_key(deployment: Deployment) -> None:
    party = party_of(file(deployment, 0))
    assert _doctor_certificates.shown(party) == deployment.folder / "party0.crt"
    change(file(deployment, 0), 'key = "party0.key"', 'key = "party1.key"')
    assert _doctor_certificates.shown(party_of(file(deployment, 0))) is None
    seen = [Seen("0.2.0", 0, (), 0, ((1, 2), (3, 0))), Seen("0.2.0", 0, (), 3, ((1, 0), (3, 0)))]
    found = Findings(None)
    _doctor_certificates.replaced(party, seen, found)
    assert found.as_list() == [], "party 0 cannot tell which one it shows"


def test_addresses_that_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    found = Findings(sys.stdout)
    _doctor._reached([Seen("0.2.0", 0, (True, False)), Seen("0.2.0", 0, (False, True))], found)
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("party 0 does not reach party 1 at its address; that is needed by parties with higher "
                          "numbers alone")  # fmt: skip
    assert second.startswith("warning") and second.endswith("at its address: open the port of party 0 to party 1")


def test_addresses_of_other_forms() -> None:
    assert _doctor_files.place_of("[::1]:9000") == ("::1", 9000)
    for address in ("one.example", ":9000", "one.example:0", "one.example:x", "one.example:70000"):
        with pytest.raises(ConfigError, match="is not of the form host:port"):
            _doctor_files.place_of(address)
