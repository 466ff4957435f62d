"""Tables of secrets with named columns, and facts that owners tell about them."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as qr
from deploying import ended_of
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


def test_floats_that_are_whole_are_whole_numbers() -> None:
    """pandas reads a column with a gap as floats; long numbers may differ from the file's."""
    with qr.local("rss") as mpc:
        ids = mpc.input_frame({"id": [3.0, -(2.0**53) + 1]}, owner=0, columns={"id": qr.int(64)})["id"]
        assert ids.reveal().tolist() == [3, 1 - 2**53]


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(PEOPLE)
    table["since"] = pandas.to_datetime(table["since"])
    table["town"] = table["town"].astype("category")
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(table, owner=0, columns=FORM, rows=3)
        assert frame["since"].reveal().tolist() == [18017, -1, 18321]
        assert frame["town"].reveal().tolist() == [1, 0, 1]
        table["since"] = list(table["since"])
        stamps = {"since": [pandas.Timestamp(day) for day in PEOPLE["since"]]}
        for days in (table, stamps):
            again = mpc.input_frame(days, owner=0, columns={"since": datetime.date})["since"]
            assert again.reveal().tolist() == [18017, -1, 18321]
            assert (again < pandas.Timestamp("2019-05-01")).reveal().tolist() == [False, True, False]
            with pytest.raises(qr.DtypeError, match="not numbers or times of day"):
                again < pandas.Timestamp("2019-05-01", tz="UTC")  # noqa: B015
        for odd, message in (
            (pandas.NaT, "row 3: the date is missing"),
            (pandas.Timestamp("2020-01-01 10:00"), "row 3: Timestamp"),
            (pandas.Timestamp("2020-01-01", tz="Europe/Rome"), "row 3: Timestamp"),
        ):
            with pytest.raises(qr.DtypeError, match=f"column 'since', {message}"):
                mpc.input_frame({"since": [*stamps["since"], odd]}, owner=0, columns={"since": datetime.date})
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
        ({"town": ["a"]}, {"town": ["a", "a\0"]}, r"column 'town': 'a.x00' is no word"),
        ({"town": ["a"]}, {"town": ["a", "\ud800"]}, r"column 'town': '.ud800' is no word"),
        ({"\ud800": [1]}, {"\ud800": qr.int(8)}, "names of columns are texts"),
        (PEOPLE, {"town": qr.int(8)}, "column 'town'.*numbers"),
        (PEOPLE, {"town": datetime.date}, "dates are datetime.date"),
        (PEOPLE, {"age": "int16"}, "not one of Quorate's"),
        (
            {"age": [1, 2], "since": ["2020-01-01"]},
            {"age": qr.int(8), "since": datetime.date},
            "different lengths: .1, 2.",
        ),
        ({"since": [None]}, {"since": datetime.date}, "column 'since', row 0: the date is missing"),
        ({"since": ["2020-02-28", "2020-02-30"]}, {"since": datetime.date}, "'since', row 1: '2020-02-30' is none"),
        ({"since": [np.datetime64("NaT")]}, {"since": datetime.date}, "'since', row 0: the date is missing"),
        ({"age": [1, 40000]}, {"age": qr.int(16)}, "'age', row 1: 40000 does not fit int.16., .* -32768 to 32767"),
        ({"age": [-1]}, {"age": qr.uint(16)}, "'age', row 0: -1 does not fit uint.16., which holds 0 to 65535"),
        ({"age": [0, 2**70]}, {"age": qr.int(64)}, "'age', row 1: 1180591620717411303424 does not fit"),
        ({"bmi": [1, 128.0]}, {"bmi": qr.fixed(16, 8)}, "'bmi', row 1: 128.0 does not fit fixed.16, 8."),
        ({"bmi": [1, 128]}, {"bmi": qr.fixed(16, 8)}, "'bmi', row 1: 128 does not fit fixed.16, 8."),
        ({"age": [1, 2, 2.5]}, {"age": qr.int(16)}, "'age', row 2: 2.5 is not whole"),
        ({"id": [1.0, 2.0**53]}, {"id": qr.int(64)}, r"'id', row 1: 9007199254740992.0 may have lost digits.*Int64"),
        ({"age": [1, float("nan")]}, {"age": qr.int(16)}, "'age', row 1: nan is missing or infinite"),
        ({"bmi": [float("inf")]}, {"bmi": qr.real}, "'bmi', row 0: inf is missing or infinite"),
        ({"sick": [0, 1, 2]}, {"sick": qr.bit}, "'sick', row 2: 2 is no bit"),
        ({7: [1]}, {7: qr.int(8)}, "names of columns are texts, not 7"),
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


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_words_and_dates_are_compared(place: Place) -> None:
    with among(place) as mpc:
        frame = mpc.input_frame(PEOPLE, owner=1, columns=FORM)
        town, since = frame["town"], frame["since"]
        found = mpc.reveal_all(
            town == "Oslo",
            np.str_("Rome") != town,
            town == ["Oslo", "Oslo", "Bern"],
            np.array(["Rome", "Rome", "Oslo"]) == town,
            town[::-1].reshape(3, 1) == ["Rome", "Oslo"],
            since < datetime.date(2019, 5, 2),
            np.datetime64("2019-05-01") >= since,
            since == "2020-02-29",
            mpc.concatenate([since, since])[2:4] > datetime.date(2000, 1, 1),
            mpc.take(town, mpc.input([1, 5], owner=0)) == "Rome",
        )
        assert [x.astype(int).tolist() for x in found] == [
            [1, 0, 1],
            [1, 0, 1],
            [1, 0, 0],
            [0, 1, 1],
            [[0, 1], [1, 0], [0, 1]],
            [1, 1, 0],
            [1, 1, 0],
            [0, 0, 1],
            [1, 1],
            [1, 1],
        ]


def test_words_and_dates_that_do_not_compare() -> None:
    day = datetime.date(2020, 1, 1)
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(PEOPLE, owner=0, columns=FORM)
        age, town, since = (frame[name] for name in FORM)
        refused: list[tuple[Any, type[Exception], str]] = [
            (
                lambda: town == "Paris",
                qr.RangeError,
                "column 'town' has no word 'Paris'; it has 'Rome', 'Oslo', 'Bern'",
            ),
            (lambda: town < "Oslo", qr.DtypeError, r"x < frame.code\('town', word\)"),
            (lambda: town == day, qr.DtypeError, "'town' has words, and is compared with dates"),
            (lambda: age < day, qr.DtypeError, r"plain numbers with dates: qr.days\(date\)"),
            (lambda: town + 0 == "Oslo", qr.DtypeError, "plain numbers with texts: columns of words"),
            (lambda: since == "Oslo", qr.DtypeError, "such as 2000-01-31"),
        ]
        for comparison, error, message in refused:
            with pytest.raises(error, match=message):
                comparison()
        assert (town < frame.code("town", "Oslo")).reveal().tolist() == [False, True, False]


@pytest.mark.parametrize("place", [*USUAL, *FORMS], ids=str)
def test_codes_of_other_words_never_meet(place: Place) -> None:
    with among(place) as mpc:
        one = mpc.input_frame({"town": ["Rome", "Oslo"]}, owner=0, columns={"town": ["Rome", "Oslo", "Bern"]})
        form = {"town": ["Oslo", "Rome", "Bern"], "n": qr.int(16)}
        other = mpc.input_frame({"town": ["Oslo", "Rome"], "n": [1, 2]}, owner=1, columns=form)
        a, b, n = one["town"], other["town"], other["n"]
        meetings: list[Any] = [
            lambda: mpc.join(a, b, n),
            lambda: a == b,
            lambda: a[::-1].reshape(2, 1) != b,
            lambda: a < b,
            lambda: a - b,
            lambda: mpc.concatenate([a, b]),
            lambda: np.stack([a, b]),
            lambda: np.tile(a, 2) == np.repeat(b, 2),
            lambda: mpc.where(n > 1, a, b),
            lambda: mpc.maximum(a, b),
            lambda: a.at[0].set(b[0]),
            lambda: mpc.sort(n, a)[-1] == b,
            lambda: mpc.shuffle(a) == b,
            lambda: a.astype(qr.int(64)) == b,
            lambda: a.max() == b[0],
            lambda: a.topk(1)[0] == b[0],
            lambda: mpc.take(a, n) == b,
            lambda: mpc.join(n, n, a).values[0] == b,
            lambda: mpc.group_sums(a, n).keys == b,
        ]
        for meeting in meetings:
            with pytest.raises(qr.DtypeError, match=r"code 0 is '(Rome|Oslo)' in column 'town' and '(Rome|Oslo)'"):
                meeting()
        same = mpc.input_frame({"city": ["Oslo", "Rome"]}, owner=1, columns={"city": ["Rome", "Oslo", "Bern"]})["city"]
        found = mpc.join(a, same, n)
        assert found.values[0].reveal().tolist() == [2, 1]
        assert (a == same).reveal().tolist() == [False, False]
        assert (a + 0 == b).reveal().tolist() == [True, True]  # as numbers, for codes and texts alike


def test_columns_that_are_numbers_side_by_side() -> None:
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(PEOPLE, owner=0, columns=FORM)
        with pytest.raises(qr.DtypeError, match=r"'town' of the words 'Rome', .* column 'since' of dates; x . 0 is"):
            np.column_stack([frame["town"], frame["since"]])
        rows = np.column_stack([frame["age"], frame["town"] + 0, frame["since"] + 0])
        assert rows.reveal().tolist() == [[31, 1, 18017], [44, 0, -1], [58, 1, 18321]]


def test_what_pandas_has_and_frames_have_not() -> None:
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(PEOPLE, owner=0, columns=FORM)
        for name, message in {
            "groupby": "frame.group_by",
            "merge": "mpc.join",
            "mean": r"but their columns do: frame\['age'\].mean",
            "age": r"write frame\['age'\]",
            "nothing": "columns are 'age', 'town', 'since'",
        }.items():
            with pytest.raises(AttributeError, match=f"frames have no '{name}'.*{message}"):
                getattr(frame, name)
        with pytest.raises(qr.DtypeError, match="how many rows a secret picks would be told"):
            frame[frame["age"] > 40]
        for key in (0, slice(2), np.array([True, False, True])):
            with pytest.raises(qr.DtypeError, match=r"public rows are frame\[.age.\]\[:2\]"):
                frame[key]


@pytest.mark.parametrize("words", [["Oslo", "Rome"], pytest.importorskip("pandas").DataFrame({"a": ["x", "y"]})])
def test_words_that_go_in_as_numbers(words: Any) -> None:
    with qr.local("rss") as mpc, pytest.raises(qr.DtypeError, match=r"words and dates go in by mpc\.input_frame"):
        mpc.input(words, owner=0)


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
    ended = ended_of(tmp_path, SCRIPT)
    assert [e.status for e in ended] == [0, 0, 0], [e.err for e in ended]
    assert [e.out.splitlines()[0] for e in ended] == ["3 1 None", "3 1 38.25", "3 1 None"]


UNTOLD = """
values = [3, 4, 5] if mpc.me == 0 else None
if mpc.me != 0:
    try:
        mpc.input(values, owner=0)
    except qr.ConfigError as error:
        said = str(error)
        assert "rows = mpc.announce(lambda: len(values), owner=0) and shape=(rows,)" in said, said
rows = mpc.announce(lambda: len(values), owner=0)
print(mpc.input(values, owner=0, shape=(rows,), dtype=qr.int(16)).sum().reveal())
"""


def test_who_has_no_values_is_told_of_announce(tmp_path: Path) -> None:
    ended = ended_of(tmp_path, UNTOLD)
    assert [(e.status, e.out.strip()) for e in ended] == [(0, "12")] * 3, [e.err for e in ended]


AGREED = """
mine = mpc.me < 2
name, words = %s
frame = mpc.input_frame({"town": ["Rome", "Oslo"]}, owner=0, columns={name: words}, rows=2)
print((frame[name] == 0).sum().reveal())
"""


@pytest.mark.parametrize(
    ("form", "theirs"),
    [
        ('"town", ["Rome", "Oslo"] if mine else ["Oslo", "Rome"]', "column 'town' of the words 'Oslo', 'Rome'"),
        ('"town" if mine else "city", ["Rome", "Oslo"]', "column 'city' of the words 'Rome', 'Oslo'"),
    ],
    ids=["words", "names"],
)
def test_parties_agree_on_words_and_names(tmp_path: Path, form: str, theirs: str) -> None:
    ended = ended_of(tmp_path, AGREED % form)
    messages = [e.err for e in ended]
    assert all(e.status != 0 and e.out == "" and "ProgramMismatch" in e.err for e in ended), messages
    assert "column 'town' of the words 'Rome', 'Oslo'" in messages[0] and theirs in messages[0], messages


def test_approvals_cover_words_and_names() -> None:
    def program(form: dict[str, Any]) -> str:
        with qr.local("rss") as mpc:
            frame = mpc.input_frame({name: ["Rome"] for name in form}, owner=0, columns=form, rows=1)
            return mpc.explain(*(frame[name] for name in form)).program

    forms = [{"a": ["Rome", "Oslo"]}, {"a": ["Rome", "Bern"]}, {"b": ["Rome", "Oslo"]}, {"a": ["Rome", "Oslo", "Bern"]}]
    programs = [program(form) for form in forms]
    assert len({*programs}) == len(forms) and programs[0] == program(forms[0])


def test_nothing_is_the_first_word() -> None:
    with qr.local("rss") as mpc:
        frame = mpc.input_frame(PEOPLE, owner=0, columns=FORM)
        found = mpc.join(mpc.input([44, 7], owner=1), frame["age"], frame["town"])
        assert (found.values[0] == "Rome").reveal().tolist() == [True, True]
        assert (found.matched & (found.values[0] == "Rome")).reveal().tolist() == [True, False]
