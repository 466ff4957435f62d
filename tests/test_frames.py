"""Tables of secrets with named columns, and what owners tell of them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import Deployment
from protocols import FORMS, USUAL, Place, among

PEOPLE = {"age": [31, 44, 58], "town": ["Oslo", "Rome", "Oslo"], "since": ["2019-05-01", "1969-12-31", "2020-02-29"]}
FORM: dict[str, Any] = {"age": qr.int(16), "town": ["Rome", "Oslo", "Bern"], "since": datetime.date}


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_columns_have_names(place: Place) -> None:
    with among(place) as mpc:
        frame = mpc.input_frame(lambda: PEOPLE, owner=1, columns=FORM)
        assert (frame.columns, frame.shape, len(frame), list(frame)) == (tuple(FORM), (3, 3), 3, [*FORM])
        towns = frame.group_by("town")
        found = mpc.reveal_all(
            frame["age"],
            frame["town"],
            frame["since"],
            towns.size(),
            towns.sum(frame["age"]),
            frame["since"] < qr.days("1970-01-01"),
        )
        assert [x.tolist() for x in found] == [
            [31, 44, 58],
            [1, 0, 1],
            [18017, -1, 18321],
            [1, 2, 0],
            [44, 89, 0],
            [False, True, False],
        ]
        few = frame[["town", "age"]]
        assert few.columns == ("town", "age")
        assert few.words("town") == ("Rome", "Oslo", "Bern")
        assert few.code("town", "Bern") == 2


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(PEOPLE)
    table["since"] = pandas.to_datetime(table["since"])
    table["town"] = table["town"].astype("category")
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(table, owner=0, columns=FORM, rows=3)
        assert frame["since"].reveal().tolist() == [18017, -1, 18321]
        assert frame["town"].reveal().tolist() == [1, 0, 1]
        table.loc[1, "town"] = None
        with pytest.raises(qr.RangeError, match=r"column 'town', row 1: .* none of the words"):
            mpc.input_frame(table, owner=0, columns=FORM)


@pytest.mark.parametrize(
    ("table", "form", "message"),
    [
        (PEOPLE, None, "state the columns"),
        (PEOPLE, {"height": qr.int(8)}, "the table has no column 'height'"),
        (PEOPLE, {"town": ["Rome"]}, "column 'town', row 0: 'Oslo' is none of the words agreed on: .'Rome'."),
        (PEOPLE, {"town": []}, "are texts, each of them once"),
        (PEOPLE, {"town": ["Rome", "Rome"]}, "are texts, each of them once"),
        (PEOPLE, {"town": qr.int(8)}, "column 'town'.*numbers"),
        (PEOPLE, {"town": datetime.date}, "dates are datetime.date"),
        (PEOPLE, {"age": "int16"}, "not one of Quorate's"),
        (
            {"age": [1, 2], "since": ["2020-01-01"]},
            {"age": qr.int(8), "since": datetime.date},
            "different lengths: .1, 2.",
        ),
        ({"since": [None]}, {"since": datetime.date}, "a date is missing"),
        ({"since": 5}, {"since": qr.int(8)}, r"column 'since' has shape \(\); one axis is wanted"),
        ({"since": [[5]]}, {"since": qr.int(8)}, r"column 'since' has shape \(1, 1\); one axis is wanted"),
        (None, FORM, "party 0 is here: give its table"),
    ],
)
def test_what_is_refused(table: Any, form: Any, message: str) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.QuorateError, match=message):
        mpc.input_frame(table, owner=0, columns=form)


def test_names_and_words_that_are_not_there() -> None:
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(PEOPLE, owner=0, columns=FORM)
        with pytest.raises(qr.ConfigError, match="no column 'size'; there are 'age', 'town', 'since'"):
            frame["size"]
        with pytest.raises(qr.ConfigError, match="column 'age' has no words"):
            frame.group_by("age")
        with pytest.raises(qr.RangeError, match="no word 'Paris'; it has 'Rome'"):
            frame.code("town", "Paris")
        with pytest.raises(qr.ShapeError, match="has 3 rows, but rows=4"):
            mpc.input_frame(PEOPLE, owner=0, columns=FORM, rows=4)
        for bad in (-1, 2**31, 1.0, True):
            with pytest.raises(qr.RangeError, match=r"from 0 to 2.31 - 1"):
                mpc.announce(bad, owner=0)
        with pytest.raises(qr.ConfigError, match="give its number"):
            mpc.announce(owner=0)
        assert [mpc.announce(n, owner=1) for n in (0, 2**31 - 1)] == [0, 2**31 - 1]


def test_days() -> None:
    assert qr.days(datetime.date(1970, 1, 1)) == 0
    assert qr.days(["0001-01-01", "9999-12-31"]).tolist() == [-719162, 2932896]
    assert qr.days(np.array(["2000-03-01"], "datetime64[ns]")).tolist() == [11017]


@pytest.mark.parametrize(
    "no_date", ["31.1.2000", 20240131, "20240131", "2024", [1.0], np.datetime64("2000-03-01T23:59")]
)
def test_what_is_no_date_is_refused(no_date: object) -> None:
    with pytest.raises(qr.DtypeError, match="such as 2000-01-31"):
        qr.days(no_date)


SCRIPT = """
import datetime
form = {"age": qr.int(16), "town": ["Rome", "Oslo"]}
people = {0: {"age": [31, 44, 58], "town": ["Oslo", "Rome", "Oslo"]}, 2: {"age": [20], "town": ["Rome"]}}
one = mpc.input_frame(people.get(mpc.me), owner=0, columns=form)
other = mpc.input_frame(lambda: people[2], owner=2, columns=form)
both = mpc.concatenate([one["age"], other["age"]])
print(len(one), len(other), both.mean().reveal(to=1))
"""


def test_owners_tell_the_others_how_many_rows_they_have(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path)
    try:
        ended = deployment.run(deployment.script(SCRIPT))
    finally:
        deployment.stop()
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    assert [e.out.splitlines()[0] for e in ended] == ["3 1 None", "3 1 38.25", "3 1 None"]
