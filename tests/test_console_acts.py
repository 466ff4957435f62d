"""What operators do at the console: what is approved is what was shown, and each act is recorded with it."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from consoling import SUMS, Desk, desk
from jobbing import PARAMETERS, approval, wait_until
from quorate.auditing import acts
from quorate.campaigns import Refused, StoreError
from quorate.campaigns import approved as campaigns
from quorate.console import Operator, _acts, _plans, add_operator, operators, propose_program, remove_operator
from quorate.console._acts import Acts
from quorate.console._plans import Plans
from quorate.console._source import lines_of
from quorate.errors import ConfigError
from quorate.jobs import approve, approved, code_of, isolated, read_approval
from quorate_client import ClientKey, ServiceKey
from quorate_client.keys import to_text

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    with desk(folder, audit=folder / "audit.jsonl") as made:
        made.sign_in()
        yield made


@pytest.fixture
def inside(shared: Desk) -> Iterator[Desk]:
    """The console for an operator who has signed in; nothing waits, and nothing of the test before is approved."""
    with shared.store() as store:
        tables = ("proposals", "programs", "jobs", "uses", "acts")
        for table in tables:
            store.write(lambda c, t=table: c.execute(f"DELETE FROM {t}")).result()
        store.write(lambda c: c.execute("UPDATE campaigns SET ended_at = 1")).result()
    yield shared


def decided(own: Desk) -> list[tuple[str, str, str, str]]:
    """Returns the acts at the console, but for sign-ins, the newest first."""
    with own.store() as store:
        told = [one for one in acts(store) if one.act != "signed in" and not one.operator.startswith("shell:")]
        return [(one.operator, one.act, one.kind, one.name) for one in told]


def approve_at(own: Desk, path: str, shown: str = "", **changed: str) -> tuple[int, str]:
    """Presses Approve; returns the status, and what a page of an error says."""
    fields = {"csrf": own.csrf(), "read": "yes", "shown": shown or own.shown(path), **changed}
    answer = own.post(f"{path}/approve", fields)
    return answer.status, html.unescape(answer.body.decode())


# ---- programs ------------------------------------------------------------------------------------------------------


def test_a_program_is_approved_as_it_was_shown(inside: Desk, tmp_path: Path) -> None:
    program, path = inside.program(tmp_path, times=7, runs='["' + "a" * 64 + '"]')
    text = html.unescape(inside.get(path).body.decode())
    hashes = [program.hash.hex(), "a" * 64, to_text(inside.net.key.id), inside.net.deployment.hash.hex()]
    terms = ["7 in all, 12 within any 24 hours", "an integer from 1 to 1,000", "one of: north, south"]
    for part in (*hashes, *terms, "is code with the rights of", 'return {"total": (each[0] + each[1] + each[2])'):
        assert part in text
    assert approve_at(inside, path)[0] == 303
    with inside.store() as store:
        (kept,) = [one for one in approved(store) if one.revoked_at is None]
        assert (kept.name, kept.hash, kept.terms) == ("sums.py", program.hash, program.terms)
        assert code_of(store, kept.hash) == program.code == SUMS.encode()
        assert not store.read(lambda c: c.execute("SELECT * FROM proposals").fetchall())
    assert decided(inside) == [("ada", "approved", "program", "sums.py")]
    assert approve_at(inside, path, "0" * 64)[0] == 404


def test_approve_needs_the_tick_and_what_was_shown(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path)
    for changed in ({"read": ""}, {"read": "no"}):
        status, text = approve_at(inside, path, **changed)
        assert status == 409 and "you have not said that you read it" in text
    for shown in ("0" * 64, "é", inside.shown(path)[:-1]):
        status, text = approve_at(inside, path, shown)
        assert status == 409 and "what this page showed has changed" in text
    with inside.store() as store:
        assert not approved(store)
    assert not decided(inside)


def test_a_cookie_without_the_token_does_nothing(inside: Desk, tmp_path: Path) -> None:
    """Another user of the operator's machine may get the cookie at another port of the same name."""
    mark = tmp_path / "ran"
    _, path = inside.program(tmp_path, f"open({str(mark)!r}, 'w').close()\n{SUMS}")
    program = read_approval(approval(tmp_path, "# other\n" + SUMS, inside.net.key))
    with inside.store() as store:
        approve(store, program)
        other = add_operator(store, "bob")
    shown, paths = inside.shown(path), [f"{path}/{act}" for act in ("plan", "approve", "refuse")]
    fields = {"csrf": inside.csrf(), "read": "yes", "run": "yes", "sure": "yes", "shown": shown}
    fields |= {"parameter.rows": "5", "parameter.region": "north"}
    for token in ("", "é", inside.token[:-1], other):
        for one in (*paths, f"/programs/{program.hash.hex()}/revoke"):
            answer = inside.post(one, {**fields, "token": token})
            assert answer.status == 403 and b"the token in this form is not yours" in answer.body
    assert not mark.exists() and not decided(inside) and inside.get(path).status == 200
    with inside.store() as store:
        remove_operator(store, "bob")
        assert [one.hash for one in approved(store) if one.revoked_at is None] == [program.hash]


def test_a_proposal_that_was_replaced_is_not_approved(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path, times=1)
    shown = inside.shown(path)
    _, other = inside.program(tmp_path, times=1000)
    assert other != path and inside.get(path).status == 404
    status, text = approve_at(inside, path, shown)
    assert status == 404 and "does not wait any more" in text
    status, text = approve_at(inside, other, shown)
    assert status == 409 and "has changed since" in text
    with inside.store() as store:
        assert not approved(store)


def test_terms_that_were_replaced_meanwhile_are_shown_first(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path, times=1)
    shown = inside.shown(path)
    with inside.store() as store:
        approve(store, read_approval(approval(tmp_path, SUMS, inside.net.key, times=5)))
    status, text = approve_at(inside, path, shown)
    assert status == 409 and "look at it again, and then decide" in text
    page = inside.get(path).body.decode()
    assert "Approving it replaces these terms" in page and "5 in all" in page
    assert approve_at(inside, path)[0] == 303
    with inside.store() as store:
        assert [one.terms.times for one in approved(store)] == [1]


@pytest.mark.parametrize("column", ["code", "text", "name", "kind", "subject"])
def test_a_proposal_that_was_altered_in_the_store_is_refused(column: str, inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path)
    shown = inside.shown(path)
    value = {"kind": "campaign", "name": "x.py"}.get(column, b"{}")
    with inside.store() as store:
        store.write(lambda c: c.execute(f"UPDATE proposals SET {column} = ?", (value,))).result()
        assert inside.get(path).status == 409
        status, text = approve_at(inside, path, shown)
        assert status == 409 and "altered in this server's store" in text
        assert not approved(store)


def test_an_act_without_its_record_is_undone(inside: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, path = inside.program(tmp_path)

    def failing(*_: object) -> None:
        raise StoreError("no record")

    monkeypatch.setattr(_acts, "record", failing)
    assert approve_at(inside, path)[0] == 503
    with inside.store() as store:
        assert not approved(store) and not acts(store)
    assert inside.get(path).status == 200


def test_an_operator_who_is_removed_within_the_act_does_nothing(inside: Desk, tmp_path: Path) -> None:
    """The operator is looked up in the transaction of the act, not only when the request begins."""
    _, path = inside.program(tmp_path)
    with inside.store() as store:
        gone = Operator("ada", b"x" * 32, 0)  # the row of "ada" has another token
        with pytest.raises(Refused, match="you are no operator of this server any more"):
            inside.console._server.config.app._acts.approve(
                gone, bytes.fromhex(path.rpartition("/")[2]), inside.shown(path)
            )
        assert not approved(store)


def test_a_server_without_jobs_approves_no_program(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path)
    settings, key = inside.net.servers[0].settings, inside.net.servers[0].key
    with inside.store() as store:
        (ada,) = operators(store)
        own = Acts(store, settings, key, None)
        with pytest.raises(Refused, match=r"add \[jobs\] to serve.toml, and start it again"):
            own.approve(ada, bytes.fromhex(path.rpartition("/")[2]), inside.shown(path))
        assert not approved(store)
    assert approve_at(inside, path)[0] == 303, "one with jobs does"


def test_a_program_that_was_altered_in_the_store_is_not_shown(inside: Desk, tmp_path: Path) -> None:
    file = approval(tmp_path, SUMS, inside.net.key)
    with inside.store() as store:
        approve(store, read_approval(file))
        program = read_approval(file).hash
        store.write(lambda c: c.execute("UPDATE programs SET code = ?", (b"x",))).result()
        answer = inside.get(f"/programs/{program.hex()}")
        assert answer.status == 409 and b"approve its file again" in answer.body
        store.write(lambda c: c.execute("DELETE FROM programs")).result()
        approve(store, read_approval(file))
    assert inside.get(f"/programs/{program.hex()}").status == 200


def test_refuse_removes_a_proposal_and_says_so(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path)
    assert inside.post(f"{path}/refuse", {"csrf": inside.csrf()}).status == 303
    assert inside.get(path).status == 404 and decided(inside) == [("ada", "refused", "program", "sums.py")]
    assert inside.post(f"{path}/refuse", {"csrf": inside.csrf()}).status == 404
    with inside.store() as store:
        assert not approved(store)


def test_revoke_refuses_jobs_that_wait(inside: Desk, tmp_path: Path) -> None:
    program = read_approval(approval(tmp_path, SUMS, inside.net.key))
    with inside.store() as store:
        approve(store, program)
    inside.net.program = program.hash.hex()
    job = inside.net.queued(servers=(0,))
    path = f"/programs/{program.hash.hex()}"
    assert inside.post(f"{path}/revoke", {"csrf": inside.csrf()}).status == 303
    assert inside.net.jobs(0).queue.job(job).state == "refused"
    assert decided(inside) == [("ada", "revoked", "program", "sums.py")]
    body = inside.get(path).body
    assert b"<dd>revoked" in body and b"<button" not in body.partition(b"<main")[2]
    assert inside.post(f"{path}/revoke", {"csrf": inside.csrf()}).status == 404


# ---- campaigns -----------------------------------------------------------------------------------------------------


def test_a_campaign_is_shown_approved_and_closed(inside: Desk) -> None:
    campaign, path = inside.campaign(name="pay", id="A" * 22)
    with inside.store() as store:
        fields = json.loads(campaign.json)
    text = html.unescape(inside.get(path).body.decode())
    for part in (campaign.hash.hex(), "ANY: each program", "3 invitations", "1 clients, before a program runs",
                 fields["closes"], "salary", "from 0 to 63", "https://survey.example"):  # fmt: skip
        assert part in text
    assert inside.post(f"{path}/plan", {"csrf": inside.csrf(), "run": "yes"}).status == 409
    assert approve_at(inside, path)[0] == 303
    own = f"/campaigns/{campaign.hash.hex()}"
    assert b"<dd>open</dd>" in inside.get(own).body
    assert inside.post(f"{own}/close", {"csrf": inside.csrf()}).status == 409
    assert inside.post(f"{own}/close", {"csrf": inside.csrf(), "sure": "yes"}).status == 303
    assert b"<dd>closed</dd>" in inside.get(own).body
    assert inside.post(f"{own}/close", {"csrf": inside.csrf(), "sure": "yes"}).status == 409
    acted = [("ada", "closed", "campaign", "pay"), ("ada", "approved", "campaign", "pay")]
    assert decided(inside) == acted
    with inside.store() as store:
        (kept,) = [one for one in campaigns(store) if one.ended_at is None]
        assert kept.campaign == campaign and kept.closed_at is not None


def test_a_campaign_is_shown_with_all_keys(inside: Desk) -> None:
    """Who proposes could list keys of their own as clients, so that one victim is alone among them."""
    listed = [ClientKey.generate() for _ in range(3)]
    campaign, path = inside.campaign(listed, id="F" * 21 + "A")
    clients = [to_text(client.id) for client in listed]
    text = inside.get(path).body.decode()
    keys = [to_text(key) for one in campaign.servers for key in (one.certificate, one.seal, one.sign)]
    assert len(keys) == 9
    for part in (*clients, *keys, campaign.id):
        assert f"<code>{part}</code>" in text


def test_campaigns_that_do_not_fit_are_not_approved(inside: Desk) -> None:
    servers = [server.fields("") for server in inside.net.servers]
    other = [{**servers[0], "sign": to_text(ServiceKey.generate().sign)}, *servers[1:]]
    strange = [{**servers[0], "certificate": to_text(bytes(32))}, *servers[1:]]
    for fields, what in (
        ({"servers": other}, "other keys for server 0"),
        ({"servers": strange}, "another certificate for server 0"),
        ({"protocol": "pika"}, "the campaign is for pika, and this party runs rss"),
    ):
        _, path = inside.campaign(id="B" * 21 + "A", **fields)
        status, text = approve_at(inside, path)
        assert status == 409 and what in text
        assert inside.get(path).status == 200
    assert not decided(inside)


# ---- plans ---------------------------------------------------------------------------------------------------------


def plan(own: Desk, path: str, **parameters: str) -> str:
    fields = {"csrf": own.csrf(), "run": "yes", **{f"parameter.{name}": value for name, value in parameters.items()}}
    answer = own.post(f"{path}/plan", fields)
    assert answer.status == 200
    return html.unescape(answer.body.decode())


def test_a_plan_says_what_is_revealed_to_whom_and_of_whose_data(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path)
    text = plan(inside, path, rows="5", region="north")
    row = text.partition("<caption>What run 1 reveals")[2].partition("</tbody>")[0]
    for part in ("sum of (5,) int(32) at sums.py:8", "<td>all parties</td>", "<td>parties 0, 1, 2</td>"):
        assert part in row
    run = text.partition("<dt>Run</dt><dd><code>")[2][:64]
    assert "24 B sent by the busiest party, 2 rounds" in text and "The terms allow any run." in text
    _, path = inside.program(tmp_path, runs=json.dumps([run]))
    assert "The terms allow this run." in plan(inside, path, rows="5", region="north")
    text = plan(inside, path, rows="6", region="north")
    assert "The terms do not allow these runs" in text and 'value="6"' in text
    assert {act for _, act, _, _ in decided(inside)} == {"executed for its plan"}


def test_no_plan_is_made_without_the_tick_or_outside_of_the_terms(inside: Desk, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w').close()\n{SUMS}"
    _, path = inside.program(tmp_path, code)
    fields = {"csrf": inside.csrf(), "parameter.rows": "5", "parameter.region": "north"}
    assert inside.post(f"{path}/plan", fields).status == 409
    for rows, region, what in (
        ("0", "north", "rows is 0, and at least 1 is approved here"),
        ("1001", "north", "rows is 1001, and at most 1000"),
        ("x", "north", "must be an integer"),
        ("9" * 400, "north", "must be an integer"),
        ("5", "west", "parameter region must be one of north, south"),
        ("5", SCRIPT, "parameter region must be one of"),
    ):
        assert what in plan(inside, path, rows=rows, region=region)
    assert not mark.exists() and not decided(inside)
    assert "sum of" in plan(inside, path, rows="5", region="north")
    assert mark.exists()


COUNT = """def program(mpc, campaign):
    people = mpc.campaign(campaign)
    return {"mean": (people["age"].sum() // people.present.sum()).reveal()}
"""


def test_a_plan_reads_a_campaign_that_is_approved(inside: Desk, tmp_path: Path) -> None:
    _, path = inside.program(tmp_path, COUNT, more='[parameters.campaign]\ntype = "campaign"\n')
    assert "0000' is approved here" in plan(inside, path, campaign="0" * 64)
    made, own = inside.campaign(name="ages", id="E" * 21 + "A")
    assert approve_at(inside, own)[0] == 303
    assert f'<option value="{made.hash.hex()}">ages' in inside.get(path).body.decode()
    text = plan(inside, path, campaign=made.hash.hex())
    last = text.rpartition("<caption>What run")[2].partition("</tbody>")[0]
    assert "reveals, to whom, of whose data" in last and "clients" in last


NO_PLAN = {
    "raises": ("raise ValueError('a value of an owner')", "the program raises ValueError"),
    "exits": ("import os\nos._exit(0)", "has reported no plan"),
    "silent": ("import sys\nsys.exit(1)", "has reported no plan"),
    "forged": ("import os, sys\nos.write(int(sys.argv[-1]), b'{\"plans\": 5}')\nos._exit(0)", "has reported no plan"),
    "other": ("import os, sys\nos.write(int(sys.argv[-1]), b'[]')\nos._exit(0)", "has reported no plan"),
    "deep": ("import os, sys\nos.write(int(sys.argv[-1]), b'[' * 60000)\nos._exit(0)", "has reported no plan"),
    "endless": ("import os, sys\nwhile True: os.write(int(sys.argv[-1]), b'x' * 65536)", "more than 4 MiB"),
    "slow": ("import subprocess, time\nsubprocess.Popen(['sleep', '98765'])\ntime.sleep(98765)", "not made within 3 s"),
}


@pytest.mark.parametrize("case", NO_PLAN)
def test_programs_that_make_no_plan(case: str, inside: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_plans, "LIMIT_S", 3.0 if case == "slow" else 30.0)
    code, what = NO_PLAN[case]
    _, path = inside.program(tmp_path, f"{code}\ndef program(mpc):\n    pass\n", more="")
    text = plan(inside, path)
    alert = text.partition('role="alert">')[2].partition("</p>")[0]
    assert what in alert and "a value of an owner" not in alert
    if case == "slow":
        running = [Path(f"/proc/{one}/cmdline") for one in os.listdir("/proc") if one.isdigit()]
        for file in running:
            with contextlib.suppress(OSError):
                assert b"98765" not in file.read_bytes().split(b"\0")


LIMITS = """import os, resource
limits = [resource.getrlimit(one)[1] for one in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE)]
rows = [os.environ.get("QUORATE_SECRET"), *limits]
open({mark!r}, "w").write(f"{{rows}} {{os.getpid()}}")
{then}
def program(mpc):
    pass
"""


def test_a_plans_process_is_limited(inside: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORATE_SECRET", "a-secret")
    mark = tmp_path / "mark"
    _, path = inside.program(tmp_path, LIMITS.format(mark=str(mark), then=""), more="")
    plan(inside, path)
    assert mark.read_text().startswith(f"[None, {8 << 30}, {64 << 20}]")


def test_a_plans_process_ends_with_the_server(inside: Desk, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program, _ = inside.program(tmp_path, LIMITS.format(mark=str(mark), then="import time; time.sleep(98)"), more="")
    with inside.store() as store:
        spec = Plans(store, inside.net.servers[0].settings)._spec(program, {}, tmp_path)
    read, write = os.pipe()
    process = subprocess.Popen(isolated(_plans._MAIN, str(write)), stdin=subprocess.PIPE, pass_fds=(write,))
    assert process.stdin is not None
    process.stdin.write(spec)
    process.stdin.flush()
    wait_until(mark.exists)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(10) != 0
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("changed", [{"seconds": float("inf")}, {"seconds": float("nan")}, {"bytes": -1}])
def test_numbers_of_a_plan_are_finite(changed: dict[str, float]) -> None:
    numbers = {"seconds": 1, "bytes": 1, "rounds": 1, "memory": 1}
    told = {"program": "x", "reveals": [], "remarks": [], "text": "", **numbers}
    assert _plans.Planned.of(told).seconds == 1
    with pytest.raises(ValueError):
        _plans.Planned.of({**told, **changed})


def test_a_forged_plan_is_text(inside: Desk, tmp_path: Path) -> None:
    texts = {"program": SCRIPT, "reveals": [[SCRIPT] * 6], "remarks": [SCRIPT], "text": SCRIPT}
    fake = {**texts, "seconds": 1e300, "bytes": 1, "rounds": 1, "memory": 1}
    told = json.dumps({"plans": [fake]})
    code = f"import os, sys\nos.write(int(sys.argv[-1]), {told.encode()!r})\nos._exit(0)\n"
    _, path = inside.program(tmp_path, f"{code}def program(mpc):\n    pass\n", more="")
    answer = inside.post(f"{path}/plan", {"csrf": inside.csrf(), "run": "yes"})
    assert answer.status == 200 and b"<script" not in answer.body and b"&lt;script&gt;" in answer.body
    assert "can forge the one" in answer.body.decode()


def test_one_plan_is_made_at_a_time(inside: Desk, tmp_path: Path) -> None:
    program, _ = inside.program(tmp_path)
    with inside.store() as store:
        plans, noted = Plans(store, inside.net.servers[0].settings), list[int]()
        assert plans._busy.acquire(blocking=False)
        with pytest.raises(Refused, match="another plan is being made: wait a minute"):
            plans.make(program, {"rows": 5, "region": "north"}, lambda: noted.append(1))
        assert not noted, "what was refused is not recorded as executed"
        plans._busy.release()
        assert len(plans.make(program, {"rows": 5, "region": "north"}, lambda: noted.append(1))) == len(noted) == 1


# ---- what is written is text ---------------------------------------------------------------------------------------


def test_names_and_texts_of_others_are_escaped(inside: Desk, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    more = f'[parameters.region]\ntype = "text"\nvalues = [{json.dumps(SCRIPT)}]\n'
    file = approval(tmp_path, f"# {SCRIPT}\ndef program(mpc, region):\n    pass\n", inside.net.key, name, more)
    program = read_approval(file)
    with inside.store() as store:
        path = f"/proposals/{propose_program(store, program).id.hex()}"
    _, campaign = inside.campaign(name="pay", id="C" * 21 + "A", slots=[
        {"name": "x", "per_client": 1, "columns": [{"name": "y", "dtype": "bit", "shape": []}]}])  # fmt: skip
    (inside.net.servers[0].settings.audit or Path()).write_text(
        f'{SCRIPT}\n{{"event": "{SCRIPT}", "reveals": [{{}}]}}\n[]\n'
    )
    pages = [path, campaign, "/proposals", "/audit"]
    seen = b"".join(inside.get(one).body for one in pages)
    assert approve_at(inside, path)[0] == 303
    assert approve_at(inside, campaign)[0] == 303
    inside.net.program = program.hash.hex()
    job = inside.net.queued(inside.net.request(region=SCRIPT), (0,))
    pages = ["/", "/programs", f"/programs/{program.hash.hex()}", "/campaigns", "/jobs", f"/jobs/{job.hex()}", "/acts"]
    seen += b"".join(inside.get(one).body for one in pages)
    assert seen.count(b"&lt;script&gt;alert(1)") >= 8 and seen.count(b"&lt;img src=x") >= 5
    assert b"<script" not in seen.lower() and b"<img" not in seen.lower() and b"onerror=alert(1)>" not in seen


def test_what_a_reader_would_overlook_is_marked(inside: Desk, tmp_path: Path) -> None:
    code = SUMS.replace("import quorate", 'x = "\u202e\u2066# \u200b"  # \u0430\nimport quorate')
    _, path = inside.program(tmp_path, code)
    text = inside.get(path).body.decode()
    for number in ("202E", "2066", "200B"):
        assert f"<mark>U+{number}</mark>" in text
    assert "Characters beyond ASCII" in text and "line 2" in " ".join(text.split())
    assert not any(one in text for one in "\u202e\u2066\u200b")


@pytest.mark.parametrize("number", [0x3164, 0xFFA0, 0x115F, 0x1160, 0x2800, 0x17B4, 0xFE0F, 0xE0100, 0x034F, 0x180E])
def test_characters_that_are_shown_as_nothing_are_marked(number: int) -> None:
    (line,) = lines_of(f"if x, {chr(number)} in y: # Größe".encode())
    assert line.parts == (("if x, ", False), (f"U+{number:04X}", True), (" in y: # Größe", False))


def test_names_and_plans_are_marked_too(inside: Desk, tmp_path: Path) -> None:
    file = approval(tmp_path, SUMS, inside.net.key, more=PARAMETERS)
    program = dataclasses.replace(read_approval(file), name="su\u3164ms\u202e<b>.py")
    with inside.store() as store:
        path = f"/proposals/{propose_program(store, program).id.hex()}"
    for text in (inside.get("/proposals").body.decode(), inside.get(path).body.decode()):
        assert "su[U+3164]ms[U+202E]&lt;b&gt;.py" in text and "\u3164" not in text and "\u202e" not in text
    text = plan(inside, path, rows="5", region="north")
    assert "at su[U+3164]ms[U+202E]" in text and "\u3164" not in text


def test_lines_are_those_that_python_counts() -> None:
    code = b"\xef\xbb\xbfa = 1\rb = 2\r\nc = '\x0c\x0b\x1c'\nd = '\xe2\x80\xa8\xc2\x85'\x00"
    lines = lines_of(code)
    assert [line.number for line in lines] == [1, 2, 3, 4]
    assert "".join(text for text, _ in lines[3].parts) == "d = 'U+2028U+0085'U+0000"
    assert [text for text, is_mark in lines[2].parts if is_mark] == ["U+000C", "U+000B", "U+001C"]


@pytest.mark.parametrize(
    "first", [b"# -*- coding: utf-7 -*-", b"# coding: latin-1", b"#!x\n# vim: set fileencoding=cp037 :"]
)
def test_programs_in_other_encodings_are_not_shown(first: bytes, inside: Desk, tmp_path: Path) -> None:
    file = approval(tmp_path, "def program(mpc):\n    pass\n", inside.net.key, more="")
    (tmp_path / "sums.py").write_bytes(first + b"\ndef program(mpc):\n    pass\n")
    with inside.store() as store, pytest.raises(ConfigError, match=r"UTF-8|no Python program"):
        propose_program(store, read_approval(file))


def test_long_programs_and_too_many_proposals_are_refused(
    inside: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = read_approval(approval(tmp_path, f"{SUMS}#{'x' * 300_000}\n", inside.net.key))
    with inside.store() as store, pytest.raises(ConfigError, match="approve it by `quorate program approve`"):
        propose_program(store, program)
    monkeypatch.setattr("quorate.console._proposals.MOST", 1)
    inside.program(tmp_path)
    inside.program(tmp_path, times=3)  # in place of the one before
    with pytest.raises(ConfigError, match="1 proposals wait at this server: approve or refuse some"):
        inside.program(tmp_path, SUMS + "#\n")


# ---- jobs ----------------------------------------------------------------------------------------------------------


def test_jobs_are_shown_without_results(inside: Desk, tmp_path: Path) -> None:
    program = read_approval(approval(tmp_path, SUMS, inside.net.key, more=PARAMETERS))
    with inside.store() as store:
        approve(store, program)
    inside.net.program = program.hash.hex()
    job = inside.net.queued(servers=(0,))
    queue = inside.net.jobs(0).queue
    before = inside.get(f"/jobs/{job.hex()}").body.decode()
    assert "<dd>queued</dd>" in before and "no start counts" in before and "<dd>north</dd>" in before
    queue.start(job)
    measured = {"seconds": 12.25, "bytes": 4_000_000, "rounds": 31, "predicted_seconds": 11.5, "predicted_rounds": 31}
    with inside.store() as store:
        sealed = store.job_key.seal(b'{"total":"A-SECRET-RESULT"}', job)
    queue.ended(job, "done", result=sealed, measured=json.dumps(measured).encode())
    pages = {one: inside.get(one).body.decode() for one in ("/", "/jobs", f"/jobs/{job.hex()}", "/metrics")}
    assert "A-SECRET-RESULT" not in "".join(pages.values())
    own = pages[f"/jobs/{job.hex()}"]
    assert (
        "<dd>done</dd>" in own and "12.2 s" in own and "11.5 s" in own and "4.00 MB" in own.replace("4 MB", "4.00 MB")
    )
    assert "belongs to its requester" in own and job.hex()[:16] in pages["/jobs"] and "11.5 s" in pages["/jobs"]
    assert job.hex()[:8] in pages["/metrics"] and time.strftime("%d %b", time.gmtime()) in pages["/metrics"]
    assert not inside.net.jobs(0).queue.last(5)[0].result


def test_costs_that_lack_a_number_break_no_page(inside: Desk, tmp_path: Path) -> None:
    program = read_approval(approval(tmp_path, SUMS, inside.net.key, more=PARAMETERS))
    with inside.store() as store:
        approve(store, program)
    inside.net.program = program.hash.hex()
    job = inside.net.queued(servers=(0,))
    queue = inside.net.jobs(0).queue
    queue.start(job)
    queue.ended(job, "done", measured=b'{"rounds": 1}')
    assert {inside.get(path).status for path in ("/", "/jobs", f"/jobs/{job.hex()}", "/metrics")} == {200}
