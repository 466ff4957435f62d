"""Another key and certificate of a party: beside the old ones, which stay, and good for sessions."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from deploying import Deployment
from quorate import cli
from warm import QUORATE

FINGERPRINT = r"(?:[0-9a-f]{4}:){15}[0-9a-f]{4}"


def keygen(folder: Path, *options: str) -> int:
    return cli.main(["keygen", "--party", "1", "--dir", str(folder), *options])


def test_a_renewed_key_stands_beside_the_old_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keygen(tmp_path) == 0
    first = capsys.readouterr().out.strip()
    files = {name: (tmp_path / name).read_bytes() for name in ("party1.key", "party1.crt")}
    assert keygen(tmp_path, "--renew") == 0
    out = capsys.readouterr().out
    old, new = re.findall(rf"^(?:old|new) ({FINGERPRINT})$", out, re.MULTILINE)
    assert old == first != new and "party1.new.crt" in out and "certificate of party 1" in out
    assert {name: (tmp_path / name).read_bytes() for name in files} == files
    assert (tmp_path / "party1.new.key").stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "party1.crt", "party1.key", "party1.new.crt", "party1.new.key",
    ]  # fmt: skip


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keygen(tmp_path, "--renew") == 2
    assert "to renew: leave --renew out to make the first one" in capsys.readouterr().err
    assert keygen(tmp_path) == 0
    for name in ("party1.new.key", "party1.new.crt"):
        (tmp_path / name).write_text("mine")
        assert keygen(tmp_path, "--renew") == 2
        err = capsys.readouterr().err
        assert f"{name} exists already and is not overwritten; move it away to make a new one" in err
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    (tmp_path / "party1.crt").write_text("no certificate")
    assert keygen(tmp_path, "--renew") == 2
    assert "party1.crt cannot be read" in capsys.readouterr().err
    assert cli.main(["keygen", "--party", "-1", "--dir", str(tmp_path), "--renew"]) == 2


def test_sessions_take_the_renewed_key_once_all_have_it(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        subprocess.run(
            [QUORATE, "keygen", "--party", "1", "--dir", str(tmp_path), "--renew"], check=True, capture_output=True
        )
        deployment.limits["connect_timeout_s"] = 5.0
        files = [deployment.config(me) for me in range(3)]

        def change(me: int) -> None:
            text = files[me].read_text().replace("party1.crt", "party1.new.crt").replace("party1.key", "party1.new.key")
            files[me].write_text(text)

        script = deployment.script("print('up')")
        change(1)
        refused = [party.end() for party in [deployment.start(me, script, config=files[me]) for me in range(3)]]
        assert all(ended.status in (2, 3) for ended in refused), refused
        change(0)
        change(2)
        agreed = [party.end() for party in [deployment.start(me, script, config=files[me]) for me in range(3)]]
        assert all(ended.status == 0 for ended in agreed), agreed
    finally:
        deployment.stop()
