"""The log of servers: one event a line for machines, joined by ids, and without a value that clients gave."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quorate_client
from campaigning import VALUES
from jobbing import Office, approval
from quorate_client.keys import to_text
from serving import as_process, network
from warm import QUORATE

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

SAYS = """
import sys
import warnings
import numpy as np
import quorate as qr

def program(mpc, rows, region):
    print('{"event": "forged"}', flush=True)
    print("on stderr", file=sys.stderr, flush=True)
    x = mpc.input(np.arange(3) if mpc.me == 0 else None, shape=(3,), dtype=qr.int(32), bound=3, owner=0)
    print("without an end: ", (x + 1).sum().reveal(), end="")
    if region == "south":
        raise ValueError("a message\\nof two lines")
    return 1
"""


def lines(text: str) -> list[dict[str, Any]]:
    """Returns the objects of a log, after checks that hold for each line."""
    found = [json.loads(line) for line in text.splitlines()]
    for one in found:
        assert TIME.fullmatch(one["time"]) and one["level"] in ("debug", "info", "warning", "error", "critical")
        assert re.fullmatch(r"[a-z_.]+", one["event"]) and one["message"]
    return found


def named(found: list[dict[str, Any]], event: str) -> list[dict[str, Any]]:
    return [one for one in found if one["event"] == event]


# ---- servers as processes ------------------------------------------------------------------------------------------


def test_packets_have_one_id_at_all_servers_and_no_value(tmp_path: Path) -> None:
    secret = {**VALUES, "salary": [8_123_456_789, -7_654_321_098_765], "age": 61}
    with network(tmp_path) as net:
        serving = net.servers[0].serving
        assert serving is not None
        intake = serving._app._registry.intake(to_text(net.campaign.hash))
        for server in net.servers:
            server.stop()
        with (
            as_process(net.servers[0], "--log", "json", "--log-level", "debug") as first,
            as_process(net.servers[1], "--log", "json") as second,
            as_process(net.servers[2]) as third,
        ):
            quorate_client.client(net.campaign, key=net.keys[0], store=tmp_path / "client").submit(secret)
            net.servers[0].ask("POST", f"{net.path}/packets", bytes(max(intake.lengths)))
            for process in (first, second, third):
                process.send_signal(signal.SIGTERM)
                assert process.wait(10) == 143
        texts = [(server.folder / "log").read_text() for server in net.servers]
        found = [lines(text) for text in texts[:2]]
        traces = [[one["trace"] for one in named(each, "packet.stored")] for each in found]
        assert len(traces[0]) == 1 and traces[0] == traces[1] and f"packet {traces[0][0]} is stored" in texts[2]
        assert traces[0][0].startswith(f"{net.campaign.hash.hex()[:16]}-")
        assert [one["status"] for one in named(found[0], "packet.refused")] == [400]
        assert [each[0]["event"] for each in found] == ["server.started"] * 2
        assert [each[-1]["event"] for each in found] == ["server.ended"] * 2
        for text in texts:
            for key in net.keys:
                assert to_text(key.id)[:12] not in text and key.id.hex()[:24] not in text
            for number in (*secret["salary"], secret["salary"][1] & (1 << 64) - 1):
                assert str(number) not in text and f"{abs(number):x}" not in text


def test_jobs_have_one_id_at_all_servers_and_programs_write_no_lines(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.options = ["--log", "json"]
    try:
        office.approve(approval(tmp_path, SAYS, office.key))
        office.start()
        jobs = office.jobs()
        job = jobs.ask(tmp_path / "sums.py", {"rows": 3, "region": "north"})
        jobs.wait(job)
        failing = jobs.ask(tmp_path / "sums.py", {"rows": 3, "region": "south"})
        with pytest.raises(quorate_client.JobFailed):
            jobs.wait(failing)
    finally:
        office.stop()
    for party in range(3):
        found = lines(office.log(party))
        mine = [one for one in found if one.get("trace") == job.hex()]
        assert (mine[0]["event"], mine[-1]["event"], mine[-1]["state"]) == ("job.started", "job.ended", "done")
        assert mine[-1]["seconds"] > 0 and mine[-1]["level"] == "info"
        printed = [one["message"].partition(" prints: ")[2] for one in named(mine, "job.output")]
        assert printed == ['{"event": "forged"}', "on stderr", "without an end:  6"]
        assert named(found, "forged") == []
        of_failure = [one for one in found if one.get("trace") == failing.hex()]
        assert (of_failure[-1]["why"], of_failure[-1]["level"]) == ("ProgramError", "warning")
        assert any("of two lines" in one["message"] for one in named(of_failure, "job.output"))


def test_a_server_that_does_not_start_says_so_in_a_line(tmp_path: Path) -> None:
    command = [QUORATE, "serve", "--config", str(tmp_path / "party.toml"), "--log", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    (line,) = lines(done.stderr)
    assert (done.returncode, line["event"], line["level"]) == (2, "server.failed", "critical")
    assert "there is no file" in line["message"]
    done = subprocess.run(command[:-2], capture_output=True, text=True, timeout=60)
    assert done.stderr.startswith("quorate: there is no file")


# ---- lines of other libraries, and of errors -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "json"])
def test_errors_are_logged_by_type_and_place(form: str) -> None:
    code = f"""
import asyncio, logging, threading, warnings
from quorate.serve import _logs
_logs.begin({form!r}, "debug")
logging.getLogger("uvicorn.error").info("not of interest")
try:
    raise ValueError("secret one")
except ValueError:
    logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=True)
async def fails():
    raise ValueError("secret two")
async def main():
    asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
asyncio.run(main())
def thread():
    raise ValueError("secret three")
one = threading.Thread(target=thread); one.start(); one.join()
warnings.warn("a warning")
logging.getLogger("quorate.serve").info("two\\nlines %s", 1)
raise ValueError("secret four")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "secret" not in done.stderr and "not of interest" not in done.stderr
    assert len(done.stderr.splitlines()) == 6
    assert done.stderr.count("ValueError at ") == 4
    if form == "json":
        events = [one["event"] for one in lines(done.stderr)]
        assert events == ["uvicorn.error", "asyncio", "quorate.serve", "py.warnings", "quorate.serve", "quorate.serve"]
