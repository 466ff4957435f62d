"""Jobs from an approval to a result, by the commands of docs/jobs.md: servers and jobs are processes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import re
import secrets
import shlex
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quorate_client
from jobbing import PARAMETERS, PROGRAM, Office, approval, quorate, wait_until
from quorate._command._jobs import _show_result
from quorate.jobs import _folders
from quorate_client import (
    Deployment,
    JobFailed,
    JobRefused,
    JobState,
    NoResult,
    NotStored,
    StandingRequest,
    schedules,
)
from quorate_client._https import Answer, Links
from quorate_client.job import sign_call
from quorate_client.jobs import program_hash
from quorate_client.keys import to_text
from quorate_client.schedule import occurrence_id

WAITS = """
import time
import numpy as np
import quorate as qr

def program(mpc, rows, region):
    x = mpc.input(np.arange(3) if mpc.me == 0 else None, shape=(3,), dtype=qr.int(32), bound=3, owner=0)
    print("has a session", flush=True)
    while True:
        (x + 1).reveal()
        time.sleep(0.05)
"""

PAGE = Path(__file__).parent.parent / "docs" / "jobs.md"
ASKED = {"rows": 3, "region": "north"}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    made = Office(folder)
    try:
        made.approve(approval(folder, PROGRAM, made.key))
        made.approve(approval(folder, WAITS, made.key, "waits", times=20, per_day=20))
        made.start()
        yield made
    finally:
        made.stop()


def states(office: Office, job: bytes) -> list[tuple[str, str]]:
    told = office.jobs().states(job)
    return [(one.state, one.why) if isinstance(one, JobState) else (type(one).__name__, "") for one in told]


def uses(office: Office, job: bytes) -> list[int]:
    query = f"SELECT job FROM uses WHERE hex(job) = '{job.hex().upper()}'"
    return [len(office.rows(party, query)) for party in range(3)]


def run(office: Office, *arguments: str, status: int = 0) -> str:
    command = ["job", *arguments, "--servers", "servers.toml", "--key", "me.key"]
    return quorate(office.folder, *command, status=status)


def in_session(office: Office) -> bytes:
    """Starts a job that does not end, and waits until its program has a session at all servers."""
    before = [office.log(party).count("has a session") for party in range(3)]
    job = office.jobs().ask(office.folder / "waits.py", ASKED)
    wait_until(lambda: all(office.log(party).count("has a session") > before[party] for party in range(3)))
    assert states(office, job) == [("running", "")] * 3
    return job


def test_a_program_runs_on_request(office: Office) -> None:
    out = run(office, "run", "sums.py", "--set", "rows=3", "--set", "region=north", "--out", "out.json")
    assert out == "" and json.loads((office.folder / "out.json").read_text()) == {
        "mine": 30,
        "region": "north",
        "total": 99,
    }
    (row,) = office.rows(0, "SELECT id, measured FROM jobs WHERE state = 'done'")
    job: bytes = row[0]  # type: ignore[index]
    measured = json.loads(row[1])  # type: ignore[index]
    assert measured["bytes"] == measured["predicted_bytes"] > 0 and measured["rounds"] == measured["predicted_rounds"]
    assert 0 < measured["seconds"] < 60
    assert uses(office, job) == [1, 1, 1] and states(office, job) == [("done", "")] * 3
    assert office.jobs().result(job).stated["mine"] == (1,)
    shown = run(office, "show", job.hex())
    assert shown.startswith("Server 0: done.\nServer 1: done.\nServer 2: done.\n{") and '"total": 99' in shown
    assert run(office, "list").count(f"{job.hex()}  done") == 3
    assert run(office, "send", job.hex()) == "all servers have the job\n"
    assert "1 of 12 used" in quorate(office.folder, "program", "list", "--config", office.config(2))
    assert f"{job.hex()}  done" in quorate(office.folder, "job", "list", "--config", office.config(2))
    for party in range(3):
        log = office.log(party)
        assert f"job {job.hex()} of sums.py starts for {to_text(office.key.id)}, parameters: region, rows, as" in log
        assert " 99" not in log


def test_a_program_runs_at_its_time(office: Office) -> None:
    """The newest time has come before the request is sent, and its day is not over."""
    now, listed = int(time.time()), office.jobs()
    request = StandingRequest.make(
        Deployment.load(office.servers),
        office.key.id,
        program_hash(office.folder / "sums.py"),
        ASKED,
        every=time.strftime("day %H:%M", time.gmtime(now)),
        time=now - 3600,
        since=now - 3600,
        until=now + 3600,
    )
    asks = schedules(office.servers, key=office.key_file)
    asks._keep(request)
    run(office, "send", request.id.hex())
    wait_until(lambda: all(isinstance(each, list) and each for each in asks.occurrences(request.id)))
    (job,) = {one["job"] for each in asks.occurrences(request.id) if isinstance(each, list) for one in each}
    assert job == occurrence_id(request.id, request.times.at_or_before(now))
    assert listed.wait(job).values["total"] == 99 and uses(office, job) == [1, 1, 1]
    assert run(office, "show", request.id.hex()).count(f"{job.hex()}  done") == 3
    assert run(office, "cancel", request.id.hex()) == "".join(f"Server {i}: cancelled.\n" for i in range(3))


def test_a_refusal_of_one_server_leaves_nothing_elsewhere(office: Office) -> None:
    narrow = approval(office.folder, PROGRAM, office.key, "narrow", PARAMETERS.replace("1000", "2"))
    (office.folder / "narrow.py").write_text(PROGRAM + "# narrow\n")
    wide = narrow.with_name("wide.toml")
    wide.write_text(narrow.read_text().replace("high = 2", "high = 1000"))
    office.approve(wide, 0, 2)
    office.approve(narrow, 1)
    text = run(office, "run", "narrow.py", "--set", "rows=3", "--set", "region=north", status=1)
    assert "Server 1 " in text and "rows is 3, and at most 2 are approved here; ask for fewer" in text
    for party in (0, 2):
        found = office.rows(party, "SELECT state FROM jobs ORDER BY number DESC LIMIT 1")
        assert found == [("cancelled",)]
    with pytest.raises(JobRefused) as error:
        office.jobs().ask(office.folder / "narrow.py", ASKED)
    assert error.value.servers == (1,)


def test_a_job_is_cancelled_while_it_runs(office: Office) -> None:
    job = in_session(office)
    assert run(office, "cancel", job.hex()).startswith("Server 0: running.")
    wait_until(lambda: not {state for state, _ in states(office, job)} & {"running", "queued"})
    assert ("cancelled", "") in states(office, job)
    with pytest.raises(JobFailed, match=r"Server \d: cancelled\. .*Ask the operator of server \d about job"):
        office.jobs().wait(job)


def test_a_job_that_takes_too_long_ends(office: Office) -> None:
    file = approval(office.folder, WAITS + "# short\n", office.key, "short", timeout_s=4)
    office.approve(file)
    with pytest.raises(JobFailed) as error:
        office.jobs().wait(office.jobs().ask(office.folder / "short.py", ASKED))
    assert error.value.why == "TimeLimit" and "longer than that server's approval allows" in str(error.value)


def test_runs_that_are_not_approved_reveal_nothing(office: Office) -> None:
    code = PROGRAM + "# one server approves other runs\n"
    file = approval(office.folder, code, office.key, "bound", runs=f'["{"ab" * 32}"]')
    other = file.with_name("free.toml")
    other.write_text(file.read_text().replace(f'["{"ab" * 32}"]', '"any"'))
    office.approve(file, 1)
    office.approve(other, 0, 2)
    with pytest.raises(JobFailed) as error:
        office.jobs().wait(office.jobs().ask(office.folder / "bound.py", ASKED))
    assert (error.value.server, error.value.why) == (1, "NotApproved")


def test_the_runs_that_explain_prints_are_those_that_run(office: Office) -> None:
    code = PROGRAM + "# exactly these runs\n"
    file = approval(office.folder, code, office.key, "exact")
    command = ["program", "explain", "exact.toml", "--set", "rows=3", "--set", "region=north"]
    line = quorate(office.folder, *command, "--config", office.config(0)).splitlines()[-1]
    runs = line.partition("runs = ")[2]
    file.write_text(file.read_text().replace('"any"', runs))
    office.approve(file)
    jobs = office.jobs()
    assert jobs.wait(jobs.ask(office.folder / "exact.py", ASKED)).values["total"] == 99
    with pytest.raises(JobFailed, match="NotApproved"):  # other rows are other runs
        jobs.wait(jobs.ask(office.folder / "exact.py", {**ASKED, "rows": 4}))


def test_two_jobs_that_are_given_one_turn_have_no_session(office: Office) -> None:
    """A lying server 0 starts one request at server 1 and another one at server 2."""
    jobs, key = office.jobs(), quorate_client.ServiceKey.load(office.folder / "server0" / "service.key")
    deployment = quorate_client.Deployment.load(office.servers)
    office.serving[0].send_signal(signal.SIGTERM)  # type: ignore[union-attr]
    assert office.serving[0].wait(10) == 143  # type: ignore[union-attr]
    asked = [jobs.make(office.folder / "sums.py", {**ASKED, "rows": rows}) for rows in (3, 4)]
    for job in asked:
        with pytest.raises(NotStored):
            jobs.send(job, wait_s=0)
    for server, job in zip((1, 2), asked, strict=True):
        path = f"/jobs/{to_text(job)}/start"
        header = {"Quorate-Signature": sign_call(key, deployment.hash, server, "POST", path, int(time.time()))}
        with Links() as links:
            assert links.ask(server, deployment.servers[server], "POST", path, header, b"").status == 200
    wait_until(lambda: states(office, asked[0])[1] == ("queued", "") == states(office, asked[1])[2])
    assert uses(office, asked[0]) == uses(office, asked[1]) == [0, 0, 0]
    for job in asked:
        jobs.cancel(job)
    office.start(0)


def test_a_server_that_is_down_gets_the_request_later(office: Office) -> None:
    office.serving[2].send_signal(signal.SIGTERM)  # type: ignore[union-attr]
    assert office.serving[2].wait(10) == 143  # type: ignore[union-attr]
    jobs = office.jobs()
    job = jobs.make(office.folder / "sums.py", ASKED)
    with pytest.raises(NotStored, match=f"quorate job send {job.hex()}") as error:
        jobs.send(job, wait_s=0)
    assert error.value.servers == (2,)
    assert "cannot be reached" in run(office, "show", job.hex(), status=3)
    office.start(2)
    assert run(office, "send", job.hex()) == "all servers have the job\n"
    assert jobs.wait(job).values["total"] == 99 and uses(office, job) == [1, 1, 1]


def test_a_server_that_is_killed_while_a_job_runs(office: Office) -> None:
    jobs = office.jobs()
    job = in_session(office)
    killed = office.serving[1]
    assert killed is not None
    with contextlib.closing(office.store(1)) as store:
        prefix = _folders._prefix(store)
    assert len([*Path(tempfile.gettempdir()).glob(f"{prefix}*")]) == 1
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    office.start(1)
    wait_until(lambda: all(state == "failed" for state, _ in states(office, job)), 20)
    assert states(office, job)[1] == ("failed", "Restarted")
    assert all(why in ("PeerLost", "PeerEnded") for _, why in (states(office, job)[0], states(office, job)[2]))
    assert uses(office, job) == [1, 1, 1]
    assert jobs.wait(jobs.ask(office.folder / "sums.py", ASKED)).values["total"] == 99
    wait_until(lambda: not [*Path(tempfile.gettempdir()).glob(f"{prefix}*")], 20)
    assert "which a job has left" in office.log(1)


def test_sigterm_ends_a_server_and_its_job(office: Office) -> None:
    job = in_session(office)
    server = office.serving[1]
    assert server is not None
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 143
    office.start(1)
    assert states(office, job)[1] == ("failed", "Stopped")


def block(language: str, start: str) -> str:
    """Returns a block of docs/jobs.md by its language and how it starts."""
    (found,) = re.findall(rf"```{language}\n({re.escape(start)}.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


def commands(start: str, campaign: str) -> list[list[str]]:
    """Returns the commands of the block that starts so, without `quorate` and the party's configuration."""
    lines = block("", start).replace("5f0c...", campaign).replace(" --config party.toml", "")
    return [shlex.split(line, comments=True)[1:] for line in lines.replace("\\\n", "").splitlines()]


def test_the_page_is_followed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of docs/jobs.md run as they are; keys, hashes and a campaign are filled in."""
    monkeypatch.chdir(office.folder)
    clients = [quorate_client.ClientKey.generate() for _ in range(3)]
    text = f"""
        name = "wages"
        id = "{to_text(secrets.token_bytes(16))}"
        protocol = "rss"
        at_least = 2
        closes = "2099-12-31T18:00:00Z"
        clients = {json.dumps([to_text(key.id) for key in clients])}
        [[slots]]
        name = "people"
        [[slots.columns]]
        name = "salary"
        dtype = "int(32)"
        low = "0"
        high = "1000000"
    """ + office.servers.read_text().partition("\n")[2]
    Path("campaign.toml").write_text(text)
    quorate(office.folder, "campaign", "create", "campaign.toml", "--out", "campaign.json", "--any-program")
    for party in range(3):
        quorate(office.folder, "campaign", "approve", "campaign.json", "--config", office.config(party))
    campaign = quorate_client.Campaign.load("campaign.json")
    for number, key in enumerate(clients):
        client = quorate_client.client(campaign, key=key, store=office.folder / f"client{number}")
        client.submit({"salary": 100 * number})
    Path("people.csv").write_text("a,b\n1,2\n")
    Path("wages.py").write_text(block("python", "# wages.py"))
    terms = block("toml", "# wages.toml").replace("BNc...", to_text(office.key.id))
    explain, approve, listed, _ = commands("quorate program explain", campaign.hash.hex())
    Path("wages.toml").write_text(terms.replace('["5f0c...,91ab..."]', '"any"'))
    plan = quorate(office.folder, *explain, "--config", office.config(0))
    (runs,) = re.findall(r"runs = (.*)$", plan.splitlines()[-1])
    Path("wages.toml").write_text(terms.replace('["5f0c...,91ab..."]', runs))
    for party in range(3):
        assert "0 of 12 used" in quorate(office.folder, *approve, "--config", office.config(party))
    asks: dict[str, Any] = {}
    exec(block("python", "import quorate_client\n\ndef mean"), asks)
    with pytest.raises(JobRefused, match="takes packets until 2099-12-31T18:00:00Z; ask after that"):
        asks["mean"](campaign.hash.hex())
    for party in range(3):
        quorate(office.folder, "campaign", "close", "wages", "--config", office.config(party))
    _, run_ = commands("quorate campaign client-key", campaign.hash.hex())
    assert json.loads(quorate(office.folder, *run_)) == {"mean": 100}
    assert "wages.py  approved" in quorate(office.folder, *listed, "--config", office.config(0))
    with pytest.raises(JobRefused, match=r"is spent \(1 of 1 look\); ask for another campaign"):
        asks["mean"](campaign.hash.hex())
    (schedule,) = commands("quorate job schedule", campaign.hash.hex())
    exec(block("python", "import quorate_client\n\ndef nightly"), asks)
    for asked in (quorate(office.folder, *schedule).strip(), asks["nightly"](campaign.hash.hex()).hex()):
        assert asks["results"](bytes.fromhex(asked)) == {}  # its first time has not come
        assert run(office, "list").count(f"{asked}  active every day 03:00, next 2") == 3
        assert run(office, "cancel", asked).count(": cancelled.") == 3


def test_results_that_differ_name_the_servers() -> None:
    from quorate_client.jobs import _results

    def told(*results: dict[str, Any] | None) -> list[JobState]:
        texts = [None if one is None else json.dumps(one).encode() for one in results]
        kinds = ["done" if one is not None else "queued" for one in results]
        return [JobState(b"", i, kinds[i], "", 0, 0, text) for i, text in enumerate(texts)]

    same = _results(told({"x": 1, "y": None}, {"x": 1, "y": 5}, {"x": 1, "y": None}))
    assert (same.values, same.stated) == ({"x": 1, "y": 5}, {"x": (0, 1, 2), "y": (1,)})
    for results, text in (
        (told({"x": 1}, {"x": 2}, {"x": 1}), "differ in 'x': server 0, 2 and server 1 state unlike values. Ask their"),
        (told({"x": 1}, {"y": 1}, {"x": 1}), "Servers 0 and 1 state results of unlike names. Ask their operators"),
        (told({"x": 1}, None, {"x": 1}), "The job has not ended at server 1: ask again later"),
        (told({"x": None}, {"x": None}), "No server states a value of 'x'"),
        (told({"x": True}, {"x": 1}), "The servers differ in 'x'"),
    ):
        with pytest.raises(NoResult, match=text.replace("(", r"\(")):
            _results(results)


def test_a_value_that_one_server_alone_states_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    result = quorate_client.JobResult({"x": 1}, {"x": (1,)})
    _show_result(result, 3)
    assert capsys.readouterr().err == "x is stated by server 1 alone\n"
    _show_result(result, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("told", [-10, 1 << 70, True, 1.5, "1"])
def test_a_lying_clock_of_one_server_leaves_the_others(
    office: Office, monkeypatch: pytest.MonkeyPatch, told: object
) -> None:
    real = Links.ask

    def ask(self: Links, server: int, *rest: Any) -> Answer:
        lie = Answer(401, json.dumps({"time": told}).encode(), None)
        return lie if server == 1 else real(self, server, *rest)

    monkeypatch.setattr(Links, "ask", ask)
    jobs = office.jobs()
    listed = jobs.listed()
    assert isinstance(listed[0], list) and isinstance(listed[1], quorate_client.Refused) and isinstance(listed[2], list)


def test_commands_run_side_by_side(office: Office) -> None:
    jobs = office.jobs()
    alone = run(office, "run", "sums.py", "--set", "rows=3", "--set", "region=north", "--no-wait").strip()
    assert jobs.wait(bytes.fromhex(alone)).values["total"] == 99
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        asked = list(pool.map(lambda rows: jobs.ask(office.folder / "sums.py", {**ASKED, "rows": rows}), (1, 2, 3)))
    assert [jobs.wait(job).values["total"] for job in asked] == [30, 63, 99]
