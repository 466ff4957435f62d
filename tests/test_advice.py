"""The advice in messages works: each program is refused or warned of, and is right once the message is followed.

Messages are collected from the sources (`advice/messages.py`). Every string that advises a reader has a case here, is
followed by a test of its own (`follows`), or is named below with the test that follows it.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import quorate as qr
import test_advice_alone  # noqa: F401 - it notes which messages its tests follow
from advice import arrays, functions, importers, ranges, tables
from advice.case import FOLLOWED, Case, check, followed, parts
from advice.elsewhere import ELSEWHERE, IN_CRATES, NO_ADVICE, listed
from advice.heard import heard, unheard
from advice.messages import HOLE, is_statement, messages, statements

CASES: list[Case] = [*ranges.RANGES, *arrays.CASES, *functions.CASES, *importers.CASES, *tables.CASES]
TESTS = Path(__file__).resolve().parent


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{i}-{case.of[:48]}") for i, case in enumerate(CASES)])
def test_what_a_message_advises_gives_the_right_result(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_every_message_that_advises_is_followed() -> None:
    """The list of messages and the cases agree: a message without a case fails, and a case without a message."""
    named = [part for case in CASES for part in parts(case.of)]
    known = [*named, *FOLLOWED, *(part.replace("{}", HOLE) for part in [*ELSEWHERE, *IN_CRATES, *NO_ADVICE])]
    gone = [f"no message has {part.replace(HOLE, '{}')!r}" for part in known if not followed(part)]
    left = [message for message in messages() if not any(part in message.text for part in known)]
    unlike = [*gone, *(f"no case follows {message.place}: {message.shown!r}" for message in left)]
    assert not unlike, "\n".join(unlike)
    advice = [m for m in messages() if not any(part.replace("{}", HOLE) in m.text for part in NO_ADVICE)]
    assert len(advice) >= 300, "the sources have many messages that advise"
    print(
        f"{len(advice)} messages with an imperative, {len(CASES)} programs and {len(FOLLOWED)} tests that follow them"
    )


def test_statements_of_sql_are_no_messages() -> None:
    """SQLite itself reads each string that is left out, so none is prose."""
    assert len(statements()) >= 40
    connection = sqlite3.connect(":memory:")
    for string in statements():
        text = string.text.strip().replace(HOLE, "x")
        whole = re.sub(r"^(?:x )?WHERE", "SELECT 1 FROM x WHERE", text)
        try:
            connection.execute(f"EXPLAIN {whole}")
        except sqlite3.Error as error:  # no such table, or no value for a parameter
            assert re.search("no such (?:table|index)|number of bindings", str(error)), (string, error)
    for prose in ("SELECT a row of the table: it has one", "DELETE it, and send the packet again"):
        with pytest.raises(sqlite3.Error, match=r"syntax error|unrecognized token"):
            connection.execute(f"EXPLAIN {prose}")
    for prose in ("Select a row", "select a row", "insert it first", "\0 where it is open", "SELECTED twice", "UPDATE"):
        assert not is_statement(prose), prose


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_what_follows_a_message_elsewhere_is_there(test: str) -> None:
    """That it meets the message is looked at when it runs (`heard`)."""
    file, _, named = test.partition("::")
    name, _, words = named.partition(" @ ")
    source = (TESTS / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {name}\b", source, re.MULTILINE)
    assert words in source and listed(file, f"{name}[{words}]")


@pytest.mark.parametrize(("file", "error"), IN_CRATES.values())
def test_what_a_crate_meets_is_there(file: str, error: str) -> None:
    assert error in (TESTS.parent / file).read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::quorate.InputWarning")
def test_a_message_that_is_not_met_is_said() -> None:
    part = "Give the same options at every party"
    [message] = followed(part)
    with heard() as texts, pytest.raises(qr.ConfigError):
        raise qr.ConfigError(message.shown)
    assert not unheard([part], texts)
    with heard() as texts:
        warnings.warn(message.shown, qr.InputWarning, stacklevel=1)
        subprocess.run([sys.executable, "-c", f"print({message.shown!r})"], check=True, capture_output=True)
    assert not unheard([part], texts)
    with heard() as texts:
        pass
    assert unheard([part], texts) == [part]
