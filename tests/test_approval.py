"""Parties run only approved programs, and log what is revealed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploying import Deployment, Ended, error_of
from protocols import USUAL, Place
from warm import quorate

BODY = """
x = mpc.input(lambda: [3, 5, 8], owner=0, shape=3, dtype=qr.int(64))
y = mpc.input(lambda: [1, 2, 4], owner=1, shape=3, dtype=qr.int(64))
print((x * y).sum().reveal())
print(x.max().reveal(to=1))
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """Three parties."""
    made = Deployment(tmp_path)
    yield made
    made.stop()


# The output of `explain` for a text, wherever the file is.
EXPLAINED: dict[tuple[str, ...], str] = {}


def approval(script: Path, *options: str) -> str:
    """Returns the approval of a person who has read the plan."""
    asked = (script.read_text(), *options)
    if asked not in EXPLAINED:
        ended = quorate("explain", str(script), *options, check=True)
        EXPLAINED[asked] = ended.stdout.splitlines()[-1].removeprefix("to approve all of it: --approve ")
    return EXPLAINED[asked]


def run(deployment: Deployment, script: Path, *own: str) -> list[Ended]:
    """Runs all parties; party 0 gets these arguments."""
    parties = [deployment.start(me, script, *(own if me == 0 else ())) for me in range(3)]
    return [party.end() for party in parties]


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_what_was_approved_runs_and_is_logged(deployment: Deployment) -> None:
    hashes = approval(deployment.script(BODY))
    log = deployment.folder / "audit.jsonl"
    log.write_text('{"cut off": ')
    ended = run(deployment, deployment.script(BODY), "--approve", hashes, "--audit", str(log))
    assert [(e.status, e.out.split()) for e in ended] == [(0, ["45", "None"]), (0, ["45", "8"]), (0, ["45", "None"])]
    cut, *written = log.read_text().splitlines()
    assert cut == '{"cut off": '
    entries = [json.loads(line) for line in written]
    assert [(e["event"], e["run"], e["approved"]) for e in entries] == [
        ("begun", 1, True), ("revealed", 1, True), ("begun", 2, True), ("revealed", 2, True),
    ]  # fmt: skip
    assert ",".join(e["program"] for e in entries[::2]) == hashes
    assert entries[1]["reveals"] == [
        {"what": "sum of (3,) int(64) at script.py:6", "shape": [], "dtype": "int(64)", "to": "all",
         "depends_on": [0, 1], "inputs_of": []}
    ]  # fmt: skip
    assert (entries[3]["reveals"][0]["to"], entries[3]["reveals"][0]["depends_on"]) == ([1], [0])
    for entry in entries:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])
        assert (entry["party"], entry["protocol"]) == (0, "rss") and entry["process"] > 0
    assert "45" not in json.dumps([e["reveals"] for e in entries])


# A change of a party's script, and the message of the refusal.
OTHERS: dict[str, tuple[str, str, str]] = {
    "one more reveal": (
        "x.max().reveal(to=1)",
        "mpc.reveal_all(x.max(), y.max(), to=1)",
        r"the same without the reveal of max of \(3,\) int\(64\) at script.py:7 to party 1 is approved",
    ),
    "another run": (
        "print(x.max().reveal(to=1))",
        "print(x.max().reveal(to=1), x[0].reveal(to=2))",
        "as run 3 something",
    ),
    "the same run again": (
        "print((x * y).sum().reveal())",
        "s = (x * y).sum(); print(s.reveal(), s.reveal())",
        "this is approved as run 1 of the session, once, and not as run 2",
    ),
    "another recipient": ("to=1", "to=2", r"the reveal of max of .* is approved to party 1, not to party 2"),
    "one recipient more": ("to=1", "to=[1, 2]", r"the reveal of max of .* is approved to party 1, not to parties 1, 2"),
    "all parties": ("to=1", "to=None", r"the reveal of max of .* is approved to party 1, not to all parties"),
    "another shape": ("x.max()", "x[:2].max()", "as run 2 something else is"),
    "another operation": ("(x * y).sum()", "(x * y).max()", "what is approved has other operations"),
    "another public number": ("(x * y)", "(x * y * 2)", "what is approved has other operations"),
    "another input": ("x.max()", "y.max()", "as run 2 something else is"),
    "another bound": ("dtype=qr.int(64))", "dtype=qr.int(64), bound=9)", "bounds"),
    "more rows": ("[3, 5, 8], owner=0, shape=3", "[3], owner=0, shape=1", "shapes"),
    "an owner": ("owner=1", "owner=2", "inputs"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_whatever_else_is_refused_before_anything_is_sent(deployment: Deployment, what: str) -> None:
    old, new, words = OTHERS[what]
    assert old in BODY
    hashes, log = approval(deployment.script(BODY)), deployment.folder / "audit.jsonl"
    ended = run(deployment, deployment.script(BODY.replace(old, new, 1)), "--approve", hashes, "--audit", str(log))
    assert [e.status for e in ended] == [2, 5, 5], ended
    said = error_of(ended[0])
    assert "NotApproved: this run is not approved, so nothing of it is sent: program " in said
    assert re.search(words, said), said
    last = lines(log)[-1]
    assert (last["event"], last["approved"]) == ("refused", False) and last["program"] in said
    assert last["reveals"][0]["what"] in said
    runs = sum(e["event"] == "revealed" for e in lines(log))
    for e in ended:
        assert len(e.out.split()) <= runs * 2, "nothing of the run was shown to anybody"


def test_other_lines_and_values_change_nothing(deployment: Deployment) -> None:
    hashes = approval(deployment.script(BODY))
    moved = "\n\n" + BODY.replace("[3, 5, 8]", "[4, 5, 9]")
    config = deployment.config(0)
    config.write_text(f"approve = {json.dumps(hashes.split(','))}\n" + config.read_text())
    script = deployment.script(moved)  # written once: a party may be reading it
    parties = [deployment.start(0, script, config=config)]
    parties += [deployment.start(me, script) for me in (1, 2)]
    ended = [party.end() for party in parties]
    assert [(e.status, e.out.split()[:1]) for e in ended] == [(0, ["50"])] * 3, ended


def test_an_approval_is_for_its_protocol_and_for_one_session(deployment: Deployment) -> None:
    script = deployment.script(BODY)
    hashes = approval(script)
    assert hashes != approval(script, "--protocol", "spdz2k", "--parties", "3") != approval(script, "--parties", "5")
    assert hashes != approval(script, "--trunc", "probabilistic")
    text = script.read_text().splitlines()
    again = deployment.folder / "again.py"
    again.write_text("\n".join([*text[:2], "for _ in range(2):", *(f"    {line}" for line in text[2:])]))
    ended = run(deployment, again, "--approve", hashes)
    assert [e.status for e in ended] == [2, 5, 5]
    assert "approved for the first session of a process, and this one is session 2" in error_of(ended[0])
    # Opening a copy of the configuration is no first session either.
    copied = [
        "import shutil",
        "from quorate._session._settings import settings",
        "copy = shutil.copy(settings.config, f'{settings.config}.copy')",
        "for opened in (qr.session, lambda: qr.connect(copy)):",
        *(f"    {line}".replace("qr.session()", "opened()") for line in text[2:]),
    ]
    (deployment.folder / "copied.py").write_text("\n".join([*text[:2], *copied]))
    ended = run(deployment, deployment.folder / "copied.py", "--approve", hashes)
    assert "this one is session 2" in error_of(ended[0]), ended
    assert [e.status for e in run(deployment, again, "--approve", approval(again))] == [0, 0, 0]


def test_what_owners_tell_of_their_data_is_approved_too(deployment: Deployment) -> None:
    """Facts told in runs of their own are shown by `explain`: three rows were approved, and two are another program."""
    body = """
rows = mpc.announce(ROWS, owner=0)
frame = mpc.input_frame({"a": [1] * 4} if mpc.me in (None, 1) else None, owner=1, columns={"a": qr.int(8)})
x = mpc.input(lambda: [3] * rows, owner=0, shape=rows, dtype=qr.int(32), bound=9)
print((x.sum() + frame["a"].sum()).reveal())
"""
    hashes = approval(deployment.script(body.replace("ROWS", "3")))
    assert hashes.count(",") == 2
    ended = run(deployment, deployment.script(body.replace("ROWS", "3")), "--approve", hashes)
    assert [(e.status, e.out.strip()) for e in ended] == [(0, "13")] * 3, ended
    ended = run(deployment, deployment.script(body.replace("ROWS", "2")), "--approve", hashes)
    assert ended[0].status == 2 and "NotApproved" in error_of(ended[0])


def test_nothing_is_approved_by_an_empty_list(deployment: Deployment) -> None:
    config = deployment.config(0)
    config.write_text("approve = []\n" + config.read_text())
    script = deployment.script(BODY)
    parties = [deployment.start(0, script, config=config), *(deployment.start(me, script) for me in (1, 2))]
    first, *_ = [party.end() for party in parties]
    assert first.status == 2 and "nothing is approved" in error_of(first)


@pytest.mark.parametrize("text", ['"abc"', '["abc"]', "3", '"' + "g" * 64 + '"'])
def test_what_is_no_hash_is_refused(deployment: Deployment, text: str) -> None:
    config = deployment.config(0)
    config.write_text(f"approve = {text}\n" + config.read_text())
    script = deployment.script(BODY)
    ended = deployment.start(0, script, config=config).end()
    assert ended.status == 2 and "ConfigError" in error_of(ended), ended
    assert f"approve = {text}" in ended.err and "`quorate explain` prints it" in ended.err, ended
    if text == '"abc"':
        ended = deployment.start(0, script, "--approve", "abc").end()
        assert ended.status == 2
        assert '--approve: "abc" cannot be approved: a hash is 64 digits from 0 to 9 and a to f' in error_of(ended)


@pytest.mark.parametrize("place", ["missing/audit.jsonl", ".", "/dev/full"])
def test_a_log_that_cannot_be_written_stops_the_party_before_the_run(deployment: Deployment, place: str) -> None:
    if place == "/dev/full" and not os.path.exists(place):
        pytest.skip("no device that is full")
    config = deployment.config(0)
    config.write_text(f'audit = "{place}"\n' + config.read_text())
    script = deployment.script(BODY)
    deployment.limits["connect_timeout_s"] = 5.0
    parties = [deployment.start(0, script, config=config), *(deployment.start(me, script) for me in (1, 2))]
    ended = [party.end() for party in parties]
    assert ended[0].status == 2, ended[0]
    assert re.search(r"ConfigError: the audit log .* cannot be written: .*; a run that is not", error_of(ended[0]))
    assert all(e.status in (1, 3) and not e.out for e in ended[1:]), "nobody got anything"


def test_a_run_that_stops_is_in_the_log(deployment: Deployment) -> None:
    body = """
x = mpc.input(lambda: [3, 5, 8], owner=0, shape=3, dtype=qr.int(64))
print(x.sum().reveal(), flush=True)
if mpc.me == 2:
    time.sleep(3); import os; os._exit(9)
x.max().reveal()
"""
    log = deployment.folder / "audit.jsonl"
    ended = run(deployment, deployment.script(body), "--audit", "audit.jsonl")
    assert [e.status for e in ended] == [3, 3, 9], ended
    entries = lines(log)
    assert [(e["event"], e["run"], e["approved"]) for e in entries] == [
        ("begun", 1, False), ("revealed", 1, False), ("begun", 2, False), ("stopped", 2, False),
    ]  # fmt: skip
    assert "party 2" in entries[-1]["why"]
    assert entries[-1]["reveals"] == entries[-2]["reveals"]
    run(deployment, deployment.script("mpc.input(lambda: [1], 0, 1, qr.bit).reveal()"), "--audit", "audit.jsonl")
    more = lines(log)
    assert more[:4] == entries and len(more) == 6, "lines are added"
    assert more[-1]["reveals"][0]["inputs_of"] == [0]


VARIED = """
x = mpc.input(lambda: [3, 5, 8, 1], owner=0, shape=4, dtype=qr.int(32), bound=100)
y = mpc.input(lambda: [1.5, 2, 4, 0.25], owner=1, shape=4, dtype=qr.fixed(32, 8), bound=100)
keys, rows = mpc.sort(x, y)
mixed = mpc.shuffle(y * 2)
mpc.reveal_all(keys[1], (x * y).sum(), qr.sigmoid(rows), x.argmax(), to=1)
mpc.reveal_all(mixed.sum(), mpc.where(x < 5, x // 2, x % 3).max(), x.to("A") + 1)
print(qr.lookup(x, lambda v: v * v, domain=(0, 9)).sum().reveal())
"""


@pytest.mark.parametrize("place", USUAL, ids=str)
def test_what_is_explained_is_what_runs_on_every_family(place: Place, tmp_path: Path) -> None:
    """The local session of `explain` builds the program that a deployment builds."""
    deployment = Deployment(tmp_path, place.parties)
    try:
        deployment.limits = {"connect_timeout_s": 60.0, "peer_timeout_s": 20.0}
        script = deployment.script(VARIED)
        hashes = approval(script, "--protocol", place.protocol, "--parties", str(place.parties))
        for me in range(place.parties):
            config = deployment.config(me)
            text = config.read_text().replace('protocol = "rss"', f'protocol = "{place.protocol}"')
            config.write_text(f"approve = {json.dumps(hashes)}\n{text}")
        parties = [
            deployment.start(me, script, config=deployment.folder / f"party{me}.toml") for me in range(place.parties)
        ]
        assert [(e.status, e.out.strip()) for e in (p.end() for p in parties)] == [(0, "99")] * place.parties
    finally:
        deployment.stop()
