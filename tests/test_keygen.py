"""Another key and certificate of a party: beside the old ones, which stay, and good for sessions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploying import Deployment
from quorate import cli
from warm import quorate

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
    assert old == first != new and 'certificate = ["party1.crt", "party1.new.crt"]' in out
    assert f'key = "{tmp_path}/party1.new.key"' in out and f"erase\n   {tmp_path}/party1.key" in out
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
        assert f"{name} exists already and is not overwritten: if it is in use by now, rename it" in err
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    (tmp_path / "party1.crt").write_text("no certificate")
    assert keygen(tmp_path, "--renew") == 2
    assert "party1.crt cannot be read" in capsys.readouterr().err
    assert cli.main(["keygen", "--party", "-1", "--dir", str(tmp_path), "--renew"]) == 2


def listed(deployment: Deployment, me: int, lists: dict[int, list[str]], key: str) -> None:
    """Writes a party's file with these certificates of some parties, and this key."""
    file = deployment.config(me)
    text = file.read_text().replace(f'"party{me}.key"', f'"{key}"')
    for party, files in lists.items():
        text = text.replace(f'"party{party}.crt"', f"{files}".replace("'", '"'))
    file.write_text(text)


OLD, BOTH, NEW = ["party1.crt"], ["party1.crt", "party1.new.crt"], ["party1.new.crt"]

#: What each party's file lists for party 1, and whether party 1 has changed its key.
STEPS = [
    ((OLD, OLD, OLD), False),
    ((BOTH, OLD, OLD), False),
    ((BOTH, BOTH, BOTH), False),
    ((BOTH, BOTH, BOTH), True),
    ((NEW, BOTH, BOTH), True),
    ((NEW, NEW, NEW), True),
]


def test_sessions_run_at_every_step_of_a_renewal(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    across = deployment.script(
        """
        import os
        for turn in range(1000):
            is_over = int(os.path.exists("over")) if mpc.me == 0 else None
            print(f"turn {turn}", flush=True)
            if mpc.input(is_over, owner=0, shape=(), dtype=qr.int(32), bound=1).reveal():
                break
            time.sleep(0.1)
        """
    ).rename(tmp_path / "across.py")
    try:
        quorate("keygen", "--party", "1", "--dir", str(tmp_path), "--renew", check=True)
        short = deployment.script("print('up')")
        first = []
        for number, (lists, has_changed) in enumerate(STEPS):
            files = [tmp_path / f"party{me}.toml" for me in range(3)]
            for me in range(3):
                key = "party1.new.key" if has_changed and me == 1 else f"party{me}.key"
                listed(deployment, me, {1: lists[me]}, key)
            if not number:
                first = [deployment.start(me, across, config=files[me]) for me in range(3)]
                for party in first:
                    party.wait_for("turn 1\n")
            ended = [party.end() for party in [deployment.start(me, short, config=files[me]) for me in range(3)]]
            assert all((one.status, one.out) == (0, "up\n") for one in ended), (number, ended)
        (tmp_path / "over").touch()
        over = [party.end() for party in first]
        assert all(one.status == 0 for one in over), over
    finally:
        deployment.stop()


def test_a_key_that_is_not_listed_everywhere_and_one_that_was_dropped_are_refused(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        quorate("keygen", "--party", "1", "--dir", str(tmp_path), "--renew", check=True)
        deployment.limits["connect_timeout_s"] = 5.0
        script = deployment.script("print('up')")
        for key, of_others in (("party1.new.key", OLD), ("party1.key", NEW)):
            for me in range(3):
                listed(deployment, me, {1: BOTH if me == 1 else of_others}, key if me == 1 else f"party{me}.key")
            running = [deployment.start(me, script, config=tmp_path / f"party{me}.toml") for me in range(3)]
            refused = [party.end() for party in running]
            assert all(ended.status in (2, 3) for ended in refused), refused
            assert "accept each other's certificates" in refused[1].err
    finally:
        deployment.stop()


@pytest.mark.parametrize(
    ("certificates", "said"),
    [
        ('["party1.crt", "party0.crt"]', "parties 0 and 1 have the same certificate"),
        ('["party2.crt", "party0.crt"]', "parties 0 and 1 have the same certificate"),
        ("[]", "a list of two while one takes the other's place"),
        ('["party1.crt", "party1.new.crt", "party2.crt"]', "a list of two while one takes the other's place"),
        ('["party3.crt"]', "party1.key: does not belong to the certificate"),
        ('["party1.crt", "missing.crt"]', "missing.crt"),
    ],
)
def test_lists_that_cannot_be(certificates: str, said: str, tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    assert cli.main(["keygen", "--party", "3", "--dir", str(tmp_path)]) == 0
    file = deployment.config(1)
    file.write_text(file.read_text().replace('"party1.crt"', certificates))
    ended = deployment.start(1, deployment.script("print('up')"), config=file).end()
    assert ended.status == 2 and said in ended.err, ended
