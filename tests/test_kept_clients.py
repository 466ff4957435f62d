"""What clients gave, kept for later programs: only if the campaign says so, and as a look of one of its programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import quorate as qr
from campaigning import CLOSES
from protocols import Place, among
from quorate._command._campaign_summary import summary
from quorate_client import Campaign, CampaignError
from submitting import closed, histories, served

PLACE = Place("rss", 3)
SLOTS = [{"name": "people", "per_client": 1, "columns": [{"name": "salary", "dtype": "int(32)"}]}]


@pytest.fixture(autouse=True)
def after_the_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    import quorate.campaigns as campaigns

    freeze = campaigns.freeze
    monkeypatch.setattr(campaigns, "freeze", lambda campaign, own: freeze(campaign, own, lambda: CLOSES + 1))


def fields(**more: Any) -> dict[str, Any]:
    slots = [{**SLOTS[0], "columns": [dict(SLOTS[0]["columns"][0])]}]
    return {"slots": slots, "check": "none", **more}


def test_a_campaign_lets_programs_keep_what_clients_gave(tmp_path: Path) -> None:
    with served(tmp_path, PLACE, 3, **fields(keep="yes")) as servers:
        for i in range(3):
            servers.give(i, values={"salary": 1000 + i})
        assert "values may be kept for later programs: yes" in summary(servers.campaign)
        file, settings = closed(servers)
        with among(PLACE) as mpc:
            given = mpc.campaign(file, config=settings)["salary"]
            mpc.keep("sum", {"total": given.sum(), "each": given}, config=settings)
        assert {history.looks for history in histories(servers)} == {1}, "the last party sees masked values"
        with among(PLACE) as mpc:
            kept = mpc.kept("sum", config=settings)
            plan = mpc.explain(kept["total"])
            assert (plan.reveals[0].clients, plan.reveals[0].depends_on) == (True, ())
            assert mpc.explain(kept["each"]).reveals[0].inputs_of_clients
            assert not plan.reveals[0].inputs_of_clients
            mpc.keep("twice", kept["total"] * 2, config=settings)
            assert kept["total"].reveal() == 3003
        with among(PLACE) as mpc:
            assert mpc.kept("twice", config=settings).reveal() == 6006
        assert {history.looks for history in histories(servers)} == {1}, "the campaign does not count later programs"


def test_a_campaign_that_says_nothing_lets_no_program_keep(tmp_path: Path) -> None:
    with served(tmp_path, PLACE, 2, **fields()) as servers:
        for i in range(2):
            servers.give(i, values={"salary": i})
        file, settings = closed(servers)
        with among(PLACE) as mpc:
            given = mpc.campaign(file, config=settings)["salary"]
            own = mpc.input([1, 2], owner=0)
            refused = pytest.raises(qr.ConfigError, match="'salaries' does not let programs keep values: reveal")
            with refused:
                mpc.keep("each", given, config=settings)
            with refused:
                mpc.keep("product", {"a": own, "b": given * own.sum()}, config=settings)
            mpc.reveal_all(given[:0])
            with mpc.branch("one") as beside, refused:
                beside.keep("each", beside.adopt(given), config=settings)
            mpc._campaigns.close()  # as a branch that outlives its session finds it
            with refused:
                mpc.keep("each", given, config=settings)
            mpc._campaigns.read.clear()
            with pytest.raises(qr.ConfigError, match="which this session has not read, does not let programs keep"):
                mpc.keep("each", given, config=settings)
            mpc.keep("own", own * 2, config=settings)
        assert {history.looks for history in histories(servers)} == {0}


def test_kept_values_of_clients_meet_a_campaign_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with served(tmp_path / "one", PLACE, 1, **fields(keep="yes")) as first:
        first.give(0, values={"salary": 7})
        file, settings = closed(first)
        with among(PLACE) as mpc:
            mpc.keep("seven", mpc.campaign(file, config=settings)["salary"], config=settings)
    with served(tmp_path / "other", PLACE, 1, **fields()) as second:
        second.give(0, values={"salary": 8})
        strict, others = closed(second)
        with among(PLACE) as mpc:
            seven = mpc.kept("seven", config=settings)
            eight = mpc.campaign(strict, config=others)["salary"]
            with pytest.raises(qr.ConfigError, match="does not let programs keep"):
                mpc.keep("both", seven + eight, config=settings)


def test_only_the_programs_of_a_campaign_keep(tmp_path: Path) -> None:
    with served(tmp_path, PLACE, 1, **fields(keep="yes", program="ab" * 32)) as servers:
        servers.give(0, values={"salary": 7})
        file, settings = closed(servers)
        with among(PLACE) as mpc:
            given = mpc.campaign(file, config=settings)["salary"]
            with pytest.raises(qr.NotApproved, match="the campaign does not name its program"):
                mpc.keep("seven", given, config=settings)
        with among(PLACE) as mpc, pytest.raises(qr.KeptError, match="no party has a value 'seven'"):
            mpc.kept("seven", config=settings)
        assert {history.looks for history in histories(servers)} == {0}


def test_the_field_is_yes_or_left_out(tmp_path: Path) -> None:
    with served(tmp_path, PLACE, 1, **fields(keep="yes")) as servers:
        text = servers.campaign.json
        assert Campaign.from_json(text).keep == "yes"
        assert Campaign.from_json(text.replace(b'"keep":"yes",', b"")).keep == "no"
        assert Campaign.from_json(text.replace(b'"keep":"yes",', b"")).hash != servers.campaign.hash
        for other in (b'"keep":"no",', b'"keep":"maybe",', b'"keep":true,'):
            with pytest.raises(CampaignError):
                Campaign.from_json(text.replace(b'"keep":"yes",', other))
