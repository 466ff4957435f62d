"""Jobs at the console: what one that waits will reveal and cost, and operators who cancel it."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from consoling import SUMS, Desk, desk
from jobbing import PARAMETERS, approval
from quorate.auditing import acts, check_of_acts
from quorate.campaigns import Refused
from quorate.console import Operator, _plans
from quorate.jobs import Program, approve, read_approval, revoke

REGIONS = SUMS.replace("rows, region):", "rows, region):\n    rows = rows + len(region)")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with desk(tmp_path_factory.mktemp("desk")) as made:
        made.sign_in()
        yield made


@pytest.fixture
def inside(shared: Desk) -> Desk:
    """The console for an operator who has signed in, at a server without jobs, whose acts begin afresh."""
    with shared.store() as store:
        for table in ("programs", "jobs", "uses", "acts"):
            store.write(lambda c, t=table: c.execute(f"DELETE FROM {t}")).result()
    return shared


def approved(own: Desk, folder: Path, code: str = SUMS, **terms: object) -> Program:
    program = read_approval(approval(folder, code, own.net.key, more=PARAMETERS, **terms))
    with own.store() as store:
        approve(store, program)
    own.net.program = program.hash.hex()
    return program


def asked(own: Desk, **parameters: object) -> tuple[bytes, str]:
    """Asks for a job; returns its id, and the path of its page."""
    job = own.net.queued(own.net.request(**(parameters or {"rows": 5, "region": "north"})), (0,))
    return job, f"/jobs/{job.hex()}"


def page(own: Desk, path: str) -> str:
    return html.unescape(own.get(path).body.decode())


def pressed(own: Desk, path: str, **fields: str) -> tuple[int, str]:
    answer = own.post(path, {"csrf": own.csrf(), **fields})
    return answer.status, html.unescape(answer.body.decode())


def done(own: Desk) -> list[tuple[str, str, str, str, bytes]]:
    with own.store() as store:
        told = [one for one in acts(store) if not one.operator.startswith("shell:") and one.act != "signed in"]
        return [(one.operator, one.act, one.kind, one.name, one.subject) for one in told]


# ---- what it will reveal -------------------------------------------------------------------------------------------


def test_the_page_of_a_job_that_waits_shows_what_it_will_reveal(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path, REGIONS)
    job, path = asked(inside, rows=3, region="south")
    before = page(inside, path)
    assert "What it will reveal" in before and "run 1 reveals" not in before and "Show the plan" in before
    answer = inside.post(f"{path}/plan", {"csrf": inside.csrf()})
    assert (answer.status, answer.headers["location"]) == (303, f"{path}#plan")
    shown = page(inside, path)
    assert "What run 1 reveals, to whom, of whose data" in shown
    assert "all parties" in shown and "parties 0, 1, 2" in shown
    for part in ("sent by the busiest party", "rounds", "The terms allow any run", "The plan was made"):
        assert part in shown
    assert "(8,)" in shown, "the plan is that of the job's own parameters: 3 rows and 5 letters"
    assert done(inside) == [("ada", "executed for its plan", "job", "sums.py", job)]


def test_a_plan_that_the_terms_do_not_allow_is_marked(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path, runs='["' + "a" * 64 + '"]')
    _, path = asked(inside)
    assert pressed(inside, f"{path}/plan")[0] == 303
    assert "The terms do not allow these runs" in page(inside, path)


def test_a_plan_of_terms_that_were_replaced_is_not_shown(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path)
    _, path = asked(inside)
    assert pressed(inside, f"{path}/plan")[0] == 303
    assert "run 1 reveals" in page(inside, path)
    approved(inside, tmp_path, times=11)
    assert "run 1 reveals" not in page(inside, path)


def test_a_job_without_a_plan_says_why(inside: Desk, tmp_path: Path) -> None:
    code = "def program(mpc, rows, region):\n    raise ValueError('A-SECRET')\n"
    program = approved(inside, tmp_path, code)
    _, path = asked(inside)
    status, text = pressed(inside, f"{path}/plan")
    assert status == 200 and "the program raises ValueError" in text and "A-SECRET" not in text
    assert "Cancel this job" in text
    with inside.store() as store:
        query = "UPDATE programs SET revoked_at = 1 WHERE hash = ?"  # `revoke` would refuse the job, too
        store.write(lambda c: c.execute(query, (program.hash,))).result()
    assert "is approved here for this key" in page(inside, path) and "Show the plan" not in page(inside, path)
    assert pressed(inside, f"{path}/plan")[0] == 403
    with inside.store() as store:
        store.write(lambda c: c.execute("UPDATE programs SET code = x'00', revoked_at = NULL")).result()
    assert "altered in this server's store" in page(inside, path) and pressed(inside, f"{path}/plan")[0] == 409


def test_the_program_of_a_job_runs_for_a_token_alone(inside: Desk, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    approved(inside, tmp_path, f"open({str(mark)!r}, 'w').close()\n{SUMS}")
    _, path = asked(inside)
    for token in ("", inside.token[:-1], "qo_" + "A" * 43):
        for act in ("plan", "cancel"):
            status, text = pressed(inside, f"{path}/{act}", token=token)
            assert status == 403 and "the token in this form is not yours" in text
    assert inside.post(f"{path}/plan", {"csrf": "x"}).status == 403
    assert inside.get(path).status == 200 and not mark.exists() and not done(inside)
    assert pressed(inside, f"{path}/plan")[0] == 303 and mark.exists()


def test_plans_of_the_last_jobs_are_kept(inside: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = approved(inside, tmp_path)
    with inside.store() as store:
        plans = _plans.Plans(store, inside.net.servers[0].settings)
    monkeypatch.setattr(plans, "make", lambda *_: [])
    for number in range(20):
        plans.make_for(bytes([number]), program, {}, list)
    kept = [plans.kept(bytes([number]), program) is not None for number in range(20)]
    assert kept == [False] * (20 - _plans._MOST_KEPT) + [True] * _plans._MOST_KEPT


# ---- cancelling ----------------------------------------------------------------------------------------------------


def test_an_operator_cancels_a_job_that_waits(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path)
    job, path = asked(inside)
    answer = inside.post(f"{path}/cancel", {"csrf": inside.csrf()})
    assert (answer.status, answer.headers["location"]) == (303, path)
    shown = page(inside, path)
    assert "<dd>cancelled</dd>" in shown and "Cancel this job" not in shown and "Show the plan" not in shown
    with pytest.raises(Refused, match="the job has ended here: cancelled"):
        inside.net.jobs(0).queue.check(job)
    assert inside.net.state(0, job).state == "cancelled"
    assert done(inside) == [("ada", "cancelled", "job", "sums.py", job)]
    status, text = pressed(inside, f"{path}/cancel")
    assert status == 409 and "this job has ended: cancelled" in text and len(done(inside)) == 1
    status, text = pressed(inside, f"{path}/plan")
    assert status == 409 and "it is cancelled" in text
    assert pressed(inside, f"/jobs/{'0' * 64}/cancel")[0] == 404
    with inside.store() as store:
        assert check_of_acts(store).verdict().is_whole


def test_an_operator_ends_a_job_that_runs(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path)
    job, path = asked(inside)
    queue = inside.net.jobs(0).queue
    queue.start(job)
    assert "Its start counts" in page(inside, path) and "Show the plan" not in page(inside, path)
    assert pressed(inside, f"{path}/cancel")[0] == 303
    found = queue.job(job)
    assert found is not None and (found.state, found.cancel) == ("running", 1)
    assert "It is told to end" in page(inside, path) and "Cancel this job" not in page(inside, path)
    queue.ended(job, "done", measured=json.dumps({"seconds": 1, "bytes": 2, "rounds": 3}).encode())
    assert pressed(inside, f"{path}/cancel")[0] == 409


def test_an_operator_who_was_removed_cancels_nothing(inside: Desk, tmp_path: Path) -> None:
    approved(inside, tmp_path)
    job, _ = asked(inside)
    with pytest.raises(Refused, match="you are no operator of this server any more"):
        inside.console._server.config.app._acts.cancel(Operator("ada", b"x" * 32, 0), job, "sums.py")
    found = inside.net.jobs(0).queue.job(job)
    assert found is not None and found.state == "queued"


def test_a_job_of_a_program_that_was_revoked_is_refused(inside: Desk, tmp_path: Path) -> None:
    program = approved(inside, tmp_path)
    _, path = asked(inside)
    with inside.store() as store:
        revoke(store, program.hash, time.time())
    assert "refused: Revoked" in page(inside, path) and "Show the plan" not in page(inside, path)
