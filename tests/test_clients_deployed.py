"""From a person's campaign to a result, by the commands of docs/clients.md: servers and parties are processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import quorate_client
from surveys import Survey, quorate

PARTIES = 3
SCRIPT = """
people = mpc.campaign("wages.json")
mean = people["salary"].sum() // people.present.sum()
people.answer({"above_mean": people["salary"] > mean})
print("mean", mean.reveal(), "of", people.present.sum().reveal())
"""


SLOT = """
            [[slots.columns]]
            name = "salary"
            dtype = "int(32)"
            low = "0"
            high = "1000000"
            [[slots.results]]
            name = "above_mean"
            dtype = "bit"
"""


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[Survey]:
    made = Survey(tmp_path, 5, SLOT)
    yield made
    made.stop()


def test_a_survey_from_its_campaign_to_its_results(survey: Survey) -> None:
    salaries = [52_000, 48_000, 90_000, 61_000]
    for number, salary in enumerate(salaries):
        assert len(survey.client(number).submit({"salary": salary})) == PARTIES
    survey.client(3).withdraw()
    early = survey.run(SCRIPT)
    assert all(ended.status == 1 and "takes packets until 2099-12-31" in ended.err for ended in early), early
    survey.serving[1].send_signal(signal.SIGTERM)  # a server may restart at any time
    assert survey.serving[1].wait(10) == 143
    survey.serving[1].communicate()
    survey.serving[1] = survey.serve(1)
    survey.close()
    with pytest.raises(quorate_client.Refused, match="closed"):
        survey.client(4).submit({"salary": 1})
    mean = sum(salaries[:3]) // 3
    for ended in survey.run(SCRIPT):
        assert (ended.status, ended.out) == (0, f"mean {mean} of 3\n"), ended
    for number, salary in enumerate(salaries[:3]):
        assert survey.client(number).result()["above_mean"] == (salary > mean)
        assert [status.items[0].outcome for status in survey.client(number).status()] == ["in"] * PARTIES
    for number in (3, 4):
        with pytest.raises(quorate_client.NoResult):
            survey.client(number).result()
    again = survey.run(SCRIPT)
    assert all(ended.status == 1 and "packets are spent" in ended.err for ended in again), again
    assert "looks 1 of 1" in quorate(survey.folder, "campaign", "list", "--config", str(survey.configs[0]))
    quorate(survey.folder, "campaign", "end", "wages", "--config", str(survey.configs[0]))
    assert np.all(survey.client(0).result()["above_mean"] == (mean < 52_000))  # results outlive the packets
