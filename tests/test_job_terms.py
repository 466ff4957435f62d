"""What an approval covers: each limit at its edge and beyond, and approvals that cannot be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigning import CLOSES, campaign_of
from jobbing import PARAMETERS, approval
from queueing import CODE, KEY, NOW, OTHER, SERVICES, Office
from quorate.campaigns import Refused, close, end
from quorate.campaigns import approve as approve_campaign
from quorate.errors import ConfigError
from quorate.jobs import approved, read_approval, revoke
from quorate_client import Campaign
from quorate_client.keys import to_text

DAY = 86_400


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path)
    yield made
    made.close()


# ---- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"rows": 1, "region": "north"}, ""),
        ({"rows": 1000, "region": "south"}, ""),
        ({"rows": 0, "region": "north"}, "rows is 0, and at least 1 is approved here: ask for such a value"),
        ({"rows": 1001, "region": "north"}, "rows is 1001, and at most 1000 are approved here: ask for fewer"),
        ({"rows": "5", "region": "north"}, "parameter rows must be an integer: ask for such a value"),
        ({"rows": 5, "region": "west"}, "parameter region must be one of north, south"),
        ({"rows": 5, "region": 5}, "parameter region must be one of north, south"),
        ({"rows": 5}, "parameter region is missing: state all parameters of the program"),
        ({"rows": 5, "region": "north", "x": 1}, "the program has no parameter x: its parameters are: region, rows"),
    ],
)
def test_parameters_at_their_limits(office: Office, parameters: dict[str, Any], text: str) -> None:
    if not text:
        assert office.state(office.submit(**parameters)) == ("queued", "")
    else:
        refusal = office.refusal(lambda: office.submit(**parameters))
        assert (refusal.status, str(refusal)[: len(text)]) == (409, text)


def test_unknown_programs_and_unlisted_keys_are_refused_alike(office: Office) -> None:
    unknown = office.refusal(lambda: office.submit(program="ab" * 32))
    unlisted = office.refusal(lambda: office.submit(key=OTHER))
    assert unknown.status == unlisted.status == 403
    assert unknown.what.replace("ab" * 32, "H") == unlisted.what.replace(office.program, "H")
    assert unlisted.what == f"no program with the hash {office.program} is approved here for this key"
    assert unlisted.do == "compare the file with this server's operator, line ends too, and ask for an approval"


# ---- how often -----------------------------------------------------------------------------------------------------


def run(office: Office, **fields: Any) -> bytes:
    """Asks for a job, and starts and ends it."""
    job = office.submit(**fields)
    assert office.queue.start(job) is not None
    office.queue.ended(job, "done", result=b"sealed")
    return job


def test_a_program_starts_as_often_as_was_approved(tmp_path: Path) -> None:
    office = Office(tmp_path, times=2)
    run(office)
    waits = office.submit()
    refusal = office.refusal(office.submit)
    assert str(refusal) == "2 of 2 uses are used, with 1 that waits: ask this server's operator to approve more"
    office.queue.cancel(waits)
    run(office)
    assert str(office.refusal(office.submit)).startswith("2 of 2 uses are used: ask")
    office.approve(times=3)  # a new approval replaces the terms, and its uses stay
    assert office.uses == 2
    run(office)
    office.clock.now += 400 * DAY
    assert "3 of 3 uses are used" in str(office.refusal(office.submit))
    office.close()


def test_a_program_starts_as_often_a_day_as_was_approved(tmp_path: Path) -> None:
    office = Office(tmp_path, per_day=1)
    run(office)
    office.clock.now += DAY - 1
    text = "this program starts once in 24 hours here, next after 2027-01-16T08:00:00Z: ask then, or ask this server's"
    assert str(office.refusal(office.submit)).startswith(text)
    office.clock.now += 1
    job = office.submit()
    assert "and jobs that wait take the next ones" in str(office.refusal(office.submit))
    assert office.queue.start(job) is not None
    office.clock.now = NOW  # a clock that was set back does not give a start
    assert "in 24 hours here" in str(office.refusal(office.submit))
    office.close()


def test_what_changed_meanwhile_is_refused_at_the_start(tmp_path: Path) -> None:
    office = Office(tmp_path)
    jobs = [office.submit() for _ in range(3)]
    office.approve(more=PARAMETERS.replace("high = 1000", "high = 4"))
    with pytest.raises(Refused, match="rows is 5, and at most 4 are approved here"):
        office.queue.start(jobs[0])
    assert office.state(jobs[0]) == ("refused", "NotCovered")
    office.approve(requesters=json.dumps([to_text(OTHER.id)]))
    with pytest.raises(Refused, match="is approved here for this key") as error:
        office.queue.start(jobs[1])
    assert error.value.status == 409 and office.state(jobs[1]) == ("refused", "NotCovered")
    assert office.uses_of() == 0
    office.close()


def test_revoked_programs_refuse_jobs_that_wait(office: Office) -> None:
    job, runs = office.submit(), office.submit()
    office.queue.start(runs)
    assert revoke(office.store, bytes.fromhex(office.program), NOW) == 1
    assert office.state(job) == ("refused", "Revoked") and office.state(runs) == ("running", "")
    assert office.refusal(office.submit).status == 403
    again = office.refusal(lambda: revoke(office.store, bytes.fromhex(office.program), NOW))
    assert again.do == "`quorate program list` lists those"
    assert [one.revoked_at for one in approved(office.store)] == [int(NOW)]
    office.approve()
    office.submit()


# ---- campaigns -----------------------------------------------------------------------------------------------------

OF_CAMPAIGN = """
[parameters.campaign]
type = "campaign"
values = {values}
"""
CODE_OF_CAMPAIGN = "def program(mpc, campaign):\n    return None\n"


def campaign_in(office: Office, **fields: Any) -> Campaign:
    campaign = campaign_of(SERVICES, [KEY], **fields)
    approve_campaign(office.store, campaign, 0, SERVICES[0], NOW)
    return campaign


def test_campaigns_at_their_limits(office: Office) -> None:
    campaign = campaign_in(office)
    text = campaign.hash.hex()
    office.program = office.approve(CODE_OF_CAMPAIGN, OF_CAMPAIGN.format(values=f'["{text}", "{"cd" * 32}"]'))

    def refused(value: object = text) -> str:
        return str(office.refusal(lambda: office.submit(campaign=value)))

    assert refused() == f"campaign {text[:16]} takes packets until {campaign.closes}: ask after that"
    assert refused("ab" * 32).startswith(f"parameter campaign must be one of {text}, {'cd' * 32}")
    assert refused("cd" * 32) == f"campaign {'cd' * 8} is not approved here: ask this server's operator to approve it"
    assert "must be the hash of a campaign" in refused("north") and "must be the hash" in refused(5)
    office.clock.now = CLOSES
    job = office.submit(campaign=text)
    started = office.queue.start(job)
    assert started is not None and started.campaigns == {"campaign": campaign.json}
    office.queue.ended(job, "done")
    office.store.write(lambda c: c.execute("UPDATE campaigns SET looks = 1")).result()
    assert refused() == f"campaign {text[:16]} is spent (1 of 1 look): ask for another campaign"
    end(office.store, campaign.hash, NOW)
    assert "was ended here, and its packets are erased: ask for another campaign" in refused()


def test_a_campaign_that_is_spent_meanwhile_refuses_its_job(office: Office) -> None:
    campaign = campaign_in(office)
    close(office.store, campaign.hash, NOW)
    office.program = office.approve(CODE_OF_CAMPAIGN, OF_CAMPAIGN.format(values="[]"))
    job = office.submit(campaign=campaign.hash.hex())
    office.store.write(lambda c: c.execute("UPDATE campaigns SET looks = 1")).result()
    with pytest.raises(Refused, match="is spent"):
        office.queue.start(job)
    assert office.state(job) == ("refused", "NotCovered") and office.uses_of() == 0


def test_jobs_on_one_campaign_wait_for_each_other(tmp_path: Path) -> None:
    """The second one would run on the same packets before the look of the first one is counted."""
    office = Office(tmp_path, at_once=3)
    campaigns = [campaign_in(office, name=name) for name in ("one", "two")]
    office.clock.now = CLOSES
    office.program = office.approve(CODE_OF_CAMPAIGN, OF_CAMPAIGN.format(values="[]"))
    one, two = (campaign.hash.hex() for campaign in campaigns)
    first, second, third = (office.submit(campaign=text) for text in (one, one, two))
    assert office.queue.start(first) is not None
    refusal = office.refusal(lambda: office.queue.start(second))
    assert (refusal.status, refusal.what) == (425, "another job works on the same campaign here")
    assert office.queue.start(third) is not None  # which is not in its way
    office.store.write(lambda c: c.execute("UPDATE campaigns SET looks = 1 WHERE name = 'one'")).result()
    office.queue.ended(first, "done")
    with pytest.raises(Refused, match="is spent"):
        office.queue.start(second)
    assert office.state(second) == ("refused", "NotCovered") and office.uses_of() == 2
    office.close()


# ---- reading an approval -------------------------------------------------------------------------------------------


def test_an_approval_is_kept_with_the_bytes_of_its_program(tmp_path: Path) -> None:
    file = approval(tmp_path, CODE, KEY, runs=f'["{"ab" * 32},{"cd" * 32}"]')
    (tmp_path / "people.csv").write_text("a\n1\n")
    file.write_text(f'input = "people.csv"\n{file.read_text()}\n[options]\nstrict = true\n')
    found = read_approval(file)  # the program would end this process
    assert found.hash == hashlib.sha256(CODE.encode()).digest()
    assert found.terms.input == str(tmp_path / "people.csv") and found.terms.options == {"strict": True}
    assert type(found.terms).of(json.loads(found.terms.json)) == found.terms


def test_a_file_that_is_edited_after_its_approval_does_not_run(office: Office) -> None:
    (office.folder / "sums.py").write_text("def program(mpc, rows, region):\n    return 'other'\n")
    started = office.queue.start(office.submit())
    assert started is not None and started.program.code == CODE.encode()


def test_a_program_that_was_altered_in_the_store_does_not_start(office: Office) -> None:
    job = office.submit()
    office.store.write(lambda c: c.execute("UPDATE programs SET code = ?", (b"other",))).result()
    with pytest.raises(Refused, match="altered in this server's store: ask its operator to approve it") as error:
        office.queue.start(job)
    assert error.value.status == 409
    assert office.state(job) == ("refused", "NotCovered") and office.uses_of() == 0


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("def program(mpc, rows):\n    pass\n", "the parameters of `program` are rows, and those of the approval are"),
        ("def program(mpc, rows, region, x):\n    pass\n", "the parameters of `program` are region, rows, x"),
        ("def program(mpc, rows, region=1):\n    pass\n", "has defaults, *, ** or positional arguments: name each"),
        ("def program(mpc, rows, *region):\n    pass\n", "has defaults, *, ** or positional arguments"),
        ("def program(mpc, *, rows, region=2):\n    pass\n", "has defaults, *, ** or positional arguments"),
        ("def program(mpc, rows, **region):\n    pass\n", "has defaults, *, ** or positional arguments"),
        ("def program(mpc, /, rows, region):\n    pass\n", "has defaults, *, ** or positional arguments"),
        ("def program():\n    pass\n", "has no argument: the first one is the session, as in program(mpc)"),
        ("def other():\n    pass\n", "there must be one `def program(mpc, ...)` at top level, not 0"),
        ("async def program(mpc):\n    pass\n", "at top level, not 0"),
        ("if True:\n    def program(mpc):\n        pass\n", "at top level, not 0"),
        (CODE + CODE, "at top level, not 2"),
        ("def program(:\n", "is no Python program"),
        ("\0", "is no Python program"),
    ],
)
def test_programs_with_other_arguments_are_not_approved(tmp_path: Path, code: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_approval(approval(tmp_path, code, KEY))
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("times = 12\n", "", "times: this field is missing"),
        ("per_day = 12\n", "", "per_day: this field is missing"),
        ("timeout_s = 60\n", "", "timeout_s: this field is missing"),
        ("times = 12", "times = 0", "times: write an integer from 1 to"),
        ("times = 12", "times = true", "times: write an integer from 1 to"),
        ('runs = "any"\n', "", "runs: this field is missing"),
        ('runs = "any"', "runs = []", 'runs: list what `quorate explain` prints after --approve, or write "any"'),
        ('runs = "any"', 'runs = ["abc"]', "runs: list what `quorate explain` prints"),
        ('runs = "any"', 'runs = ["any"]', "runs: list what `quorate explain` prints"),
        ("requesters = ", "requesters = []  # ", "requesters: list one public key or more"),
        ("requesters = ", 'requesters = ["!"]  # ', "requesters: list one public key or more"),
        ("requesters = ", 'requesters = ["AA"]  # ', "requesters: list one public key or more"),
        ('runs = "any"', 'runs = "any"\nextra = 1', "extra: there is no such field"),
        ('runs = "any"', 'runs = "any"\ninput = "absent.csv"', "input: there is no file"),
        ('runs = "any"', 'runs = "any"\noptions = 1', "options: write a table, as in [options]"),
        ('runs = "any"', 'runs = "any"\n[options]\nsession = "x"', "this release has no option session="),
        ('runs = "any"', 'runs = "any"\n[options]\nmalicous = true', "this release has no option malicous="),
        ('runs = "any"', 'runs = "any"\n[options]\nshadow = true', "is for local sessions only"),
        ("low = 1\n", "", "parameters.rows.low: this field is missing"),
        ("low = 1\n", "low = 1001\n", "parameters.rows: low is above high"),
        ("high = 1000", "high = 1000\nvalues = [1]", "parameters.rows.values: there is no such field"),
        ('values = ["north", "south"]', "", "parameters.region.values: list the texts that are allowed"),
        ('values = ["north", "south"]', 'values = ["é"]', "write printable ASCII characters only"),
        ('values = ["north", "south"]', f'values = ["{"a" * 257}"]', "a text has at most 256 characters"),
        ('type = "text"', 'type = "campaign"', "parameters.region.values: write hashes of campaigns"),
        ('type = "text"', 'type = "real"', "parameters.region.type: choose 'integer' or 'text' or 'campaign'"),
        ("[parameters.region]", '["parameters"."a b"]', "a name is that of a function's argument"),
        ("[parameters.rows]", "[parameters]\nx = 1\n[parameters.rows]", "parameters: write a table for each"),
        ('program = "sums.py"', 'program = "absent.py"', "absent.py cannot be read"),
        ('program = "sums.py"', "program = ", "is not TOML"),
    ],
)
def test_approvals_that_cannot_be_read_name_the_field(tmp_path: Path, before: str, after: str, text: str) -> None:
    file = approval(tmp_path, CODE, KEY)
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    with pytest.raises(ConfigError) as error:
        read_approval(file)
    assert text in str(error.value)


def test_an_approval_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"the approval .* cannot be read: No such file"):
        read_approval(tmp_path / "absent.toml")
